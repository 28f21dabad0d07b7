//! `flashyard list ftls`: sizes of tables, and reasons why a device cannot run a layer.

use crate::support::{Folder, int};

/// The line of a layer, and those below it.
#[track_caller]
fn lines<'a>(text: &'a str, name: &str) -> (&'a str, String) {
    let mut all = text.lines().skip_while(|line| !line.starts_with(&format!("{name} ")));
    let line = all.next().unwrap_or_else(|| panic!("no line of {name} in\n{text}"));
    let below: Vec<&str> = all.take_while(|line| line.starts_with(' ')).map(str::trim).collect();
    (line, below.join(" "))
}

fn line<'a>(text: &'a str, name: &str) -> &'a str {
    lines(text, name).0
}

#[test]
fn what_is_listed_is_what_a_run_with_these_settings_reports() {
    let folder = Folder::with("t.txt", "0 0 0 8 0\n");
    let device = ["--set", "geometry.blocks_per_plane=300"];
    let text = folder.run(&[&["list", "ftls", "drs"][..], &device].concat()).text();
    assert!(text.starts_with("device drs\n"), "{text}");
    for (name, set) in [("page", "map.store=resident"), ("line-cache", "map.store=line_cache")] {
        let args = [&["run", "--json", "t.txt", "--set", set][..], &device].concat();
        let memory = folder.run(&args).json()["memory"].take();
        let [tables, cache] = ["table_bytes", "cache_bytes"].map(|field| int(&memory, field));
        let line = line(&text, name);
        let numbers: Vec<u64> =
            line.split_whitespace().filter_map(|word| word.parse().ok()).collect();
        assert_eq!(numbers, [tables, cache], "{line}");
        let own = name == "line-cache";
        assert!(line.ends_with(if own { "is the device's own" } else { "runs" }), "{line}");
        assert!(own || lines(&text, name).1.contains(&format!("sets: {set}")), "{text}");
    }
}

#[test]
fn a_layer_that_a_device_cannot_run_is_listed_with_the_reason() {
    let folder = Folder::new();
    let few = ["--set", "ftl.over_provisioning_percent=0.5"];
    let text = folder.run(&[&["list", "ftls", "small-full"][..], &few].concat()).text();
    let (line, below) = lines(&text, "fast");
    assert!(line.ends_with("refused"), "{line}");
    assert!(below.contains("refused: ") && below.contains("fast needs 2 log blocks"), "{below}");
    let text = folder.run(&["list", "ftls", "nvme-tlc"]).text();
    for runs in ["line-cache", "dftl", "block", "bast", "fast", "last"] {
        assert!(self::line(&text, runs).ends_with("  runs"), "{text}");
    }
    let (_, below) = lines(&text, "fast");
    assert!(below.contains("nand.one_shot=false nand.program_us=399.61"), "{below}");
}

#[test]
fn every_layer_runs_on_the_device_of_the_study() {
    let folder = Folder::new();
    let text = folder.run(&["list", "ftls", "ftl-study"]).text();
    let mut own = 0;
    for name in ["page", "line-cache", "dftl", "block", "bast", "fast", "last"] {
        let line = line(&text, name);
        own += usize::from(line.ends_with("  is the device's own"));
        assert!(line.ends_with("  runs") || line.ends_with("  is the device's own"), "{line}");
        // What selects it does run.
        let args = ["run", "--check", "--json", "ftl-study", "oltp", "--set", "mix.requests=300"];
        let run = folder.run(&[&args[..], &["--ftl", name]].concat()).json();
        assert_eq!(int(&run, "workload.requests"), 300, "{line}");
    }
    assert_eq!(own, 1, "{text}");
    let layers = text.lines().filter(|line| !line.starts_with(' ')).count();
    assert_eq!(layers, 2 + 7, "{text}");
}

#[test]
fn devices_are_for_ftls_only_and_bad_ones_are_refused() {
    let folder = Folder::new();
    for (args, what) in [
        (&["list", "devices", "drs"][..], "list: only ftls takes a device and --set"),
        (&["list", "policies", "--set", "queue.depth=1"], "list: only ftls takes a device"),
        (&["list", "ftls", "dsr"], "dsr: no such device preset or file; did you mean drs?"),
        (&["list", "ftls", "--set", "queue.deep=1"], "queue.deep"),
    ] {
        let ran = folder.run(args);
        assert_eq!((ran.status, ran.stdout.as_str()), (Some(2), ""), "{ran:?}");
        assert!(ran.stderr.contains(what), "{ran:?}");
    }
}

/// Gupta et al. compare DFTL with FAST on equal memory.
#[test]
fn a_map_cache_that_nobody_gave_a_size_makes_dftl_as_large_as_fast() {
    let folder = Folder::new();
    let memory = |args: &[&str]| {
        let all = ["run", "small-full", "random-read", "--set", "pattern.requests=10", "--json"];
        let run = folder.run(&[&all[..], args].concat()).json();
        [int(&run, "memory.table_bytes"), int(&run, "memory.cache_bytes")]
    };
    let fast = memory(&["--ftl", "fast"]);
    assert_eq!(fast[1], 0);
    let dftl = memory(&["--ftl", "dftl"]);
    // Whole entries of 8 bytes.
    assert_eq!(dftl[1], (fast[0] - dftl[0]) / 8 * 8);
    let text = folder.run(&["list", "ftls", "small-full"]).text();
    let numbers = |name: &str| -> Vec<u64> {
        line(&text, name).split_whitespace().filter_map(|word| word.parse().ok()).collect()
    };
    assert_eq!((numbers("dftl"), numbers("fast")), (dftl.to_vec(), fast.to_vec()));
    for order in [
        ["--ftl", "dftl", "--set", "map.cache_bytes=2KiB"],
        ["--set", "map.cache_bytes=2KiB", "--ftl", "dftl"],
    ] {
        assert_eq!(memory(&order)[1], 2_048);
    }
}
