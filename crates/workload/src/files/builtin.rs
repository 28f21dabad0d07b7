//! The built-in workloads of file systems: those of the energy study of Park et al., on both
//! layouts.

use super::keys::{FilesKeys, Layout, Stage};
use flashyard_core::quantity::Ppm;

/// A built-in workload of a file system.
#[derive(Clone, Copy, Debug)]
pub struct BuiltInFiles {
    /// What a user calls it.
    pub name: &'static str,
    /// What it is.
    pub title: &'static str,
    /// The parameters of the stage that is measured.
    pub keys: FilesKeys,
    /// The stages before it, which are not measured.
    pub before: &'static [Stage],
}

impl BuiltInFiles {
    /// The built-in workload of this name.
    pub fn from_name(name: &str) -> Option<&'static Self> {
        BUILT_IN_FILES.iter().find(|built_in| built_in.name == name)
    }
}

const VARMAIL: FilesKeys = FilesKeys {
    layout: Layout::Ext2,
    stage: Stage::Mail,
    files: 12_288,
    mean_kib: 128,
    min_kib: 4,
    max_kib: 1_024,
    io_kib: 16,
    updates: 30,
    loops: 10_000,
    fsync: true,
    threads: 1,
    request_kib: 128,
    area_mib: 0,
    batch_kib: 512,
    segment_kib: 512,
    checkpoint_writes: 1_000,
    clean_percent: Ppm::from_percent(10),
};

/// Files of 8 MiB each.
const FILESERVER: FilesKeys = FilesKeys {
    stage: Stage::Read,
    files: 1_024,
    mean_kib: 8_192,
    min_kib: 8_192,
    max_kib: 8_192,
    threads: 50,
    ..VARMAIL
};

/// Every built-in workload of a file system, in the order of `flashyard list workloads`.
pub const BUILT_IN_FILES: &[BuiltInFiles] = &[
    BuiltInFiles {
        name: "varmail-ext2",
        title: "mail files on an ext2-like layout: create, append, fsync, read, delete",
        keys: VARMAIL,
        before: &[Stage::Write],
    },
    BuiltInFiles {
        name: "varmail-lfs",
        title: "the same on a log of segments",
        keys: FilesKeys { layout: Layout::Log, ..VARMAIL },
        before: &[Stage::Write],
    },
    BuiltInFiles {
        name: "fileserver-ext2",
        title: "50 threads that read files of 8 MiB on an ext2-like layout after random updates",
        keys: FILESERVER,
        before: &[Stage::Write, Stage::Update],
    },
    BuiltInFiles {
        name: "fileserver-lfs",
        title: "the same on a log of segments",
        keys: FilesKeys { layout: Layout::Log, ..FILESERVER },
        before: &[Stage::Write, Stage::Update],
    },
];
