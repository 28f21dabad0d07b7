//! `flashyard list ftls`: sizes of tables, and reasons why a device cannot run a layer.

use crate::support::{Folder, int};

/// The line of a layer.
#[track_caller]
fn line<'a>(text: &'a str, name: &str) -> &'a str {
    let found = text.lines().find(|line| line.starts_with(name));
    found.unwrap_or_else(|| panic!("no line of {name} in\n{text}"))
}

#[test]
fn what_is_listed_is_what_a_run_with_these_settings_reports() {
    let folder = Folder::with("t.txt", "0 0 0 8 0\n");
    let device = ["--set", "geometry.blocks_per_plane=300"];
    let text = folder.run(&[&["list", "ftls", "drs"][..], &device].concat()).text();
    assert!(text.starts_with("device drs\n"), "{text}");
    for (name, set) in [("page", "map.store=resident"), ("line cache", "map.store=line_cache")] {
        let args = [&["run", "--json", "t.txt", "--set", set][..], &device].concat();
        let memory = folder.run(&args).json()["memory"].take();
        let [tables, cache] = ["table_bytes", "cache_bytes"].map(|field| int(&memory, field));
        let line = line(&text, name);
        let numbers: Vec<u64> =
            line.split_whitespace().filter_map(|word| word.parse().ok()).collect();
        assert_eq!(numbers, [tables, cache], "{line}");
        assert!(line.contains(set) && line.ends_with("runs"), "{line}");
    }
}

#[test]
fn a_layer_that_a_device_cannot_run_is_listed_with_the_reason() {
    let text = Folder::new().run(&["list", "ftls", "nvme-tlc"]).text();
    let line = line(&text, "fast");
    assert!(line.contains("refused: ftl.mapping_unit_bytes: "), "{line}");
    for runs in ["page", "line cache", "dftl"] {
        assert!(self::line(&text, runs).ends_with("runs"), "a buffer goes before any page map");
    }
}

#[test]
fn every_layer_runs_on_the_device_of_the_study() {
    let folder = Folder::new();
    let text = folder.run(&["list", "ftls", "ftl-study"]).text();
    for name in ["page", "line cache", "dftl", "block", "bast", "fast", "last"] {
        let line = line(&text, name);
        assert!(line.ends_with("  runs"), "{line}");
        // What selects it does run.
        let words = line.split_whitespace();
        let set = words.filter(|word| word.starts_with("ftl.") || word.starts_with("map."));
        let set: Vec<&str> = set.flat_map(|setting| ["--set", setting]).collect();
        let args = ["run", "--check", "--json", "ftl-study", "oltp", "--set", "mix.requests=300"];
        let run = folder.run(&[&args[..], &set].concat()).json();
        assert_eq!(int(&run, "workload.requests"), 300, "{line}");
    }
    let layers = text.lines().filter(|line| line.ends_with("  runs")).count();
    assert_eq!(layers + 2, text.lines().count(), "{text}");
}

#[test]
fn devices_are_for_ftls_only_and_bad_ones_are_refused() {
    let folder = Folder::new();
    for (args, what) in [
        (&["list", "keys", "drs"][..], "list: only ftls takes a device and --set"),
        (&["list", "policies", "--set", "queue.depth=1"], "list: only ftls takes a device"),
        (&["list", "ftls", "dsr"], "dsr: no such device preset or file; did you mean drs?"),
        (&["list", "ftls", "--set", "queue.deep=1"], "queue.deep"),
    ] {
        let ran = folder.run(args);
        assert_eq!((ran.status, ran.stdout.as_str()), (Some(2), ""), "{ran:?}");
        assert!(ran.stderr.contains(what), "{ran:?}");
    }
}
