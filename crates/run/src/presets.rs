//! What comes with the program: files of devices, one line each, and workloads.

use flashyard_workload::{
    BUILT_IN, BUILT_IN_FILES, BUILT_IN_MIXES, BUILT_IN_PATTERNS, BUILT_IN_RAW,
};

/// Name and text of every preset, in the order of `flashyard list devices`.
pub const DEVICES: &[(&str, &str)] = &[
    ("drs", include_str!("../devices/drs.toml")),
    ("drs-k16", include_str!("../devices/drs-k16.toml")),
    ("ftl-study", include_str!("../devices/ftl-study.toml")),
    ("ros", include_str!("../devices/ros.toml")),
    ("ros-full", include_str!("../devices/ros-full.toml")),
    ("cache-aware", include_str!("../devices/cache-aware.toml")),
    ("cache-aware-full", include_str!("../devices/cache-aware-full.toml")),
    ("embedded-2x2", include_str!("../devices/embedded-2x2.toml")),
    ("small-full", include_str!("../devices/small-full.toml")),
    ("toy", include_str!("../devices/toy.toml")),
    ("framework", include_str!("../devices/framework.toml")),
    ("mqsim-default", include_str!("../devices/mqsim-default.toml")),
    ("emmc-5.1", include_str!("../devices/emmc-5.1.toml")),
    ("ufs-3.1", include_str!("../devices/ufs-3.1.toml")),
    ("sata-mlc", include_str!("../devices/sata-mlc.toml")),
    ("nvme-tlc", include_str!("../devices/nvme-tlc.toml")),
    ("nvme-enterprise", include_str!("../devices/nvme-enterprise.toml")),
    ("nvme-qlc", include_str!("../devices/nvme-qlc.toml")),
    ("drive-old", include_str!("../devices/drive-old.toml")),
    ("drive-mlc", include_str!("../devices/drive-mlc.toml")),
    ("drive-slc", include_str!("../devices/drive-slc.toml")),
    ("drive-tgn", include_str!("../devices/drive-tgn.toml")),
    ("wd1600bekt", include_str!("../devices/wd1600bekt.toml")),
    ("nvme-client", include_str!("../devices/nvme-client.toml")),
    ("pm9a3", include_str!("../devices/pm9a3.toml")),
    ("pe8110", include_str!("../devices/pe8110.toml")),
    ("micron-7450-pro", include_str!("../devices/micron-7450-pro.toml")),
    ("samsung-980-pro", include_str!("../devices/samsung-980-pro.toml")),
    ("zn540", include_str!("../devices/zn540.toml")),
    ("zn540-zns", include_str!("../devices/zn540-zns.toml")),
    ("nvme-a", include_str!("../devices/nvme-a.toml")),
    ("nvme-b", include_str!("../devices/nvme-b.toml")),
    ("nvme-xl-flash", include_str!("../devices/nvme-xl-flash.toml")),
];

/// The device that measurements are fitted with if none is named. It is a drive of today.
pub const FITTED_DEVICE: &str = "nvme-tlc";

/// The device if none is named.
pub const DEFAULT_DEVICE: &str = "drs";

/// The workload if none is named.
pub const DEFAULT_WORKLOAD: &str = "facebook";

/// The workload if only this device is named. The usual one does not fit the toy.
pub fn default_workload(device: &str) -> &'static str {
    if device == "toy" { "toy-write" } else { DEFAULT_WORKLOAD }
}

/// The text of a preset.
pub fn device(name: &str) -> Option<&'static str> {
    DEVICES.iter().find(|(known, _)| *known == name).map(|(_, text)| *text)
}

/// Every built-in workload: the section that has its keys, its name and its title.
pub fn built_in() -> impl Iterator<Item = (&'static str, &'static str, &'static str)> {
    let generators = BUILT_IN.iter().map(|one| ("generator", one.name, one.title));
    let patterns = BUILT_IN_PATTERNS.iter().map(|one| ("pattern", one.name, one.title));
    let mixes = BUILT_IN_MIXES.iter().map(|one| ("mix", one.name, one.title));
    let files = BUILT_IN_FILES.iter().map(|one| ("files", one.name, one.title));
    let raw = BUILT_IN_RAW.iter().map(|one| ("raw", one.name, one.title));
    generators.chain(patterns).chain(mixes).chain(files).chain(raw)
}

/// The names of all built-in workloads.
pub fn built_in_names() -> impl Iterator<Item = &'static str> {
    built_in().map(|(_, name, _)| name)
}
