//! The keys of `[files]`.

use flashyard_core::key::Kind;
use flashyard_core::quantity::Ppm;
use flashyard_core::{choice, keys};

choice! {
    /// How the file system places files.
    pub enum Layout {
        /// In place, in block groups (as ext2): a file in one piece where there is room, and
        /// inodes, bitmaps and directories at fixed places.
        Ext2 = "ext2",
        /// In a log of segments (LFS): all data, inodes and the inode map are appended.
        Log = "log",
    }
}

choice! {
    /// What the host does with the files. A stage begins in the state that the stages before it
    /// leave.
    pub enum Stage {
        /// It writes all files, one after the other.
        Write = "write",
        /// It overwrites random parts of the files, one part of each file in turn. Before: write.
        Update = "update",
        /// It reads all files, each from its start to its end. Before: write, update.
        Read = "read",
        /// It creates, appends to, reads and deletes files, with fsync (varmail). Before: write.
        Mail = "mail",
    }
}

const PARK: &str = "Park, Kim, Urgaonkar, Lee, Seo, 2011";

/// Few files, so that the tests of the keys are quick.
const FEW: &[&str] = &["files.files=60", "files.loops=100"];
const FEW_IN_LOG: &[&str] = &["files.files=60", "files.layout=log", "files.loops=1500"];
const FEW_READ: &[&str] = &["files.files=60", "files.stage=read"];

/// A size, in KiB.
const fn kib(max: u64) -> Kind {
    Kind::Number { unit: "KiB, a multiple of 4", scale: 1, min: 4, max }
}

keys! {
    /// Keys of `[files]`.
    pub struct FilesKeys {
        /// How the file system places files.
        layout: Layout = Layout::Ext2 => {
            kind: Kind::Choice(Layout::WORDS), source: PARK, flip: "log", with: FEW,
        },
        /// What the host does with the files.
        stage: Stage = Stage::Mail => {
            kind: Kind::Choice(Stage::WORDS), source: PARK, flip: "read", with: FEW,
        },
        /// How many files there are.
        files: u64 = 12_288 => {
            kind: Kind::count("files", 1, 1_000_000),
            source: "Park, Kim, Urgaonkar, Lee, Seo, 2011: 1.5 GB of files of 128 KB",
            flip: "61", with: FEW,
        },
        /// Mean of the sizes of files, which are distributed exponentially. Sizes below `min_kib`
        /// and above `max_kib` are drawn again.
        mean_kib: u64 = 128 => {
            kind: kib(1 << 20), source: "Park, Kim, Urgaonkar, Lee, Seo, 2011: 128 KB",
            flip: "64", with: FEW,
        },
        /// The least size of a file. If it is `max_kib`, all files have it.
        min_kib: u64 = 4 => {
            kind: kib(1 << 20), source: "assumed: a block", flip: "64", with: FEW,
        },
        /// The greatest size of a file.
        max_kib: u64 = 1_024 => {
            kind: kib(1 << 20), source: "assumed: eight times the mean", flip: "128", with: FEW,
        },
        /// Bytes that are appended at a time, or overwritten.
        io_kib: u64 = 16 => {
            kind: kib(1 << 20), source: "Park, Kim, Urgaonkar, Lee, Seo, 2011: 16 KB",
            flip: "8", with: FEW,
        },
        /// Stages `update` and `read`: how many parts of each file are overwritten, each at a
        /// random multiple of `io_kib`.
        updates: u64 = 30 => {
            kind: Kind::count("updates", 0, 1_000_000),
            source: "Park, Kim, Urgaonkar, Lee, Seo, 2011: about 30",
            flip: "3", with: &["files.files=60", "files.layout=log", "files.stage=read"],
        },
        /// Stage `mail`: how often the host creates a file and appends to it, reads one and appends
        /// to it, reads one, and deletes one.
        loops: u64 = 10_000 => {
            kind: Kind::count("loops", 1, 1_000_000_000),
            source: "assumed", flip: "10", with: FEW,
        },
        /// Stage `mail`: whether the host waits until what it appended is durable (fsync).
        fsync: bool = true => {
            kind: Kind::Bool, source: "FileBench: varmail", flip: "false", with: FEW,
        },
        /// Stage `read`: threads, each a stream of its own. Thread t of n reads the files t, t + n,
        /// t + 2 n and so on.
        threads: u64 = 1 => {
            kind: Kind::count("threads", 1, 1_024),
            source: "Park, Kim, Urgaonkar, Lee, Seo, 2011: 50 in fileserver, nothing about varmail",
            flip: "4", with: FEW_READ,
        },
        /// The largest request of the file system.
        request_kib: u64 = 128 => {
            kind: kib(1 << 20), source: "assumed: read-ahead of Linux",
            flip: "16", with: FEW,
        },
        /// The part of the device that the file system has, from its start. 0: four times the
        /// files, or the device if that is smaller.
        area_mib: u64 = 0 => {
            kind: Kind::count("MiB", 0, 1 << 24), source: "assumed", flip: "20",
            with: FEW_IN_LOG,
        },
        /// Data after which the file system writes what it has collected, without fsync.
        batch_kib: u64 = 512 => {
            kind: kib(1 << 20), source: "assumed: a segment", flip: "64",
            with: &["files.files=60", "files.stage=update"],
        },
        /// `layout = "log"`: size of a segment.
        segment_kib: u64 = 512 => {
            kind: kib(1 << 20), source: "Rosenblum, Ousterhout, TOCS 1992: 512 KB", flip: "256",
            with: &["files.files=60", "files.layout=log", "files.loops=3000", "files.area_mib=30"],
        },
        /// `layout = "log"`: writes of the file system after which it writes a checkpoint. The
        /// original writes one every 30 s; a generator knows no times. 0: none.
        checkpoint_writes: u64 = 1_000 => {
            kind: Kind::count("writes", 0, 1_000_000_000), source: "assumed", flip: "50",
            with: FEW_IN_LOG,
        },
        /// `layout = "log"`: share of free segments below which the cleaner copies the live blocks
        /// of the segments that have fewest.
        clean_percent: Ppm = Ppm::from_percent(10) => {
            kind: Kind::percent(0, 900_000), source: "assumed", flip: "40",
            with: &["files.files=60", "files.layout=log", "files.loops=3000", "files.area_mib=30"],
        },
    }
}
