//! The studies that come with the program, one line each.

/// The studies that come with the program: name and experiment file.
pub const STUDIES: &[(&str, &str)] = &[
    ("drs", include_str!("../experiments/drs.toml")),
    ("energy", include_str!("../experiments/energy.toml")),
    ("ros", include_str!("../experiments/ros.toml")),
    ("cache-aware", include_str!("../experiments/cache-aware.toml")),
    ("framework", include_str!("../experiments/framework.toml")),
    ("drives", include_str!("../experiments/drives.toml")),
    ("zns", include_str!("../experiments/zns.toml")),
    ("crossings", include_str!("../experiments/crossings.toml")),
    ("fdp", include_str!("../experiments/fdp.toml")),
    ("power", include_str!("../experiments/power.toml")),
];
