//! Presets: each runs, is listed and is in the README; the numbers of products have sources.

use crate::support::{Folder, int, repository_file};

/// Names of the presets, as `list devices` shows them.
fn listed(folder: &Folder) -> Vec<String> {
    let text = folder.run(&["list", "devices"]).text();
    // Long titles go on in lines that begin with spaces.
    let is_row = |line: &&str| !line.is_empty() && !line.starts_with(' ') && *line != "devices";
    let rows = text.lines().filter(is_row);
    let names: Vec<_> = rows.filter_map(|row| row.split_whitespace().next()).collect();
    assert!(names.contains(&"drs") && names.contains(&"mqsim-default"), "{text}");
    names.into_iter().map(ToString::to_string).collect()
}

/// Reads and writes under the checker, which panics at the first broken rule.
#[test]
fn every_preset_runs_under_the_checker() {
    let folder = Folder::new();
    for device in listed(&folder) {
        let work = ["run", &device, "mixed-70-30", "--set", "pattern.requests=600"];
        let run = folder.run(&[&work[..], &["--check", "--json"]].concat()).json();
        let counts = ["all", "read", "write"].map(|c| int(&run, &format!("latency_ns.{c}.count")));
        assert_eq!(counts[0], 600, "{device}");
        assert!(counts[1] > 0 && counts[1] + counts[2] == 600 && counts[2] > 0, "{device}");
        // Below a die's capacity, and above nothing.
        assert!(run["utilisation"]["dies"]["max"].as_f64().unwrap() <= 1.0, "{device}");
        assert!(run["utilisation"]["dies"]["mean"].as_f64().unwrap() > 0.0, "{device}");
    }
}

#[test]
fn the_readme_and_the_reference_name_every_preset() {
    let folder = Folder::new();
    let readme = repository_file("README.md");
    let reference = repository_file("docs/DEVICES.md");
    for device in listed(&folder) {
        let name = format!("`{device}`");
        assert!(readme.contains(&name), "README.md does not name {name}");
        assert!(reference.contains(&name), "docs/DEVICES.md does not name {name}");
    }
}

/// The older presets are published devices or no products; their head says what is.
const WITHOUT_LINE_SOURCES: [&str; 4] = ["drs", "drs-k16", "embedded-2x2", "small-full"];

#[test]
fn every_number_of_a_product_has_a_source() {
    let folder = Folder::new();
    let devices: Vec<_> = listed(&folder)
        .into_iter()
        .filter(|name| !WITHOUT_LINE_SOURCES.contains(&name.as_str()))
        .collect();
    assert!(devices.len() >= 7, "{devices:?}");
    for device in devices {
        let text = repository_file(&format!("crates/cli/devices/{device}.toml"));
        let section = text.find("\n[").expect("a section");
        for line in text[section..].lines().filter(|line| line.contains('=')) {
            let source = line.split_once('#').map_or("", |(_, comment)| comment.trim());
            assert!(source.len() > 2, "devices/{device}.toml: no source beside {line:?}");
        }
    }
}

/// What a device of this name holds, in bytes, within a hundredth.
#[test]
fn presets_have_the_size_of_their_name() {
    let folder = Folder::new();
    for (device, gigabytes) in [
        ("emmc-5.1", 64.0),
        ("ufs-3.1", 256.0),
        ("sata-mlc", 512.0),
        ("nvme-tlc", 1_000.0),
        ("nvme-enterprise", 8_000.0),
        ("nvme-qlc", 2_000.0),
        ("pm9a3", 960.0),
        ("pe8110", 960.0),
        ("micron-7450-pro", 960.0),
        ("mqsim-default", 549.756 * 0.93),
    ] {
        let work = ["run", device, "random-read", "--set", "pattern.requests=1", "--json"];
        let keys = folder.run(&work).json()["device"].clone();
        let of = |path: &str| int(&keys, path) as f64;
        let planes = ["channels", "ways", "dies_per_way", "planes"];
        let planes: f64 = planes.iter().map(|axis| of(&format!("geometry.{axis}"))).product();
        let pages = of("geometry.blocks_per_plane") * of("geometry.pages_per_block");
        let spare = keys["ftl"]["over_provisioning_percent"].as_f64().expect("a number");
        let bytes = planes * pages * of("geometry.page_bytes") / (1.0 + spare / 100.0);
        let share = bytes / 1e9 / gigabytes;
        assert!((0.99..1.01).contains(&share), "{device}: {share} of {gigabytes} GB");
    }
}
