//! Describing a device by what a person knows: units, bases, capacities, layers, names, lists.

use crate::support::{Folder, Ran, int, repository_file};
use serde_json::Value;

/// Names of the presets.
fn presets(folder: &Folder) -> Vec<String> {
    let listed = folder.run(&["list", "devices", "--json"]).json();
    let names = listed["devices"].as_array().expect("a list").iter();
    let names: Vec<String> = names.map(|row| row["name"].as_str().unwrap().to_string()).collect();
    assert!(names.len() > 20, "{names:?}");
    names
}

/// A short run as JSON.
fn run(folder: &Folder, args: &[&str]) -> Value {
    let short = ["random-read", "--set", "pattern.requests=20", "--json"];
    folder.run(&[&["run"], args, &short].concat()).json()
}

/// What a refused run says.
#[track_caller]
fn refused(folder: &Folder, args: &[&str]) -> String {
    let Ran { status, stdout, stderr } = folder.run(args);
    assert_eq!((status, stdout.as_str()), (Some(2), ""), "{stderr}");
    stderr
}

#[test]
fn values_with_units_are_the_plain_numbers() {
    let folder = Folder::new();
    folder.write("plain.toml", "[nand]\nread_us = 45\n[buffer]\nbytes = 33_554_432\n");
    folder.write("units.toml", "[nand]\nread_us = \"45us\"\n[buffer]\nbytes = \"32MiB\"\n");
    let hash = |args: &[&str]| run(&folder, args)["provenance"]["device_sha256"].to_string();
    assert_eq!(hash(&["plain.toml"]), hash(&["units.toml"]));
    let set = ["drs", "--set", "nand.read_us=0.045ms", "--set", "buffer.bytes=32 MiB"];
    let plain = ["drs", "--set", "nand.read_us=45", "--set", "buffer.bytes=33554432"];
    assert_eq!(hash(&set), hash(&plain));
    folder.write("w.toml", "[pattern]\nrequests = \"0.02k\"\nsize_kib = \"8KiB\"\n");
    let workload = folder.run(&["run", "drs", "w.toml", "--json"]).json();
    assert_eq!(int(&workload, "latency_ns.all.count"), 20);
    folder.write("bad.toml", "[nand]\nread_us = \"4KiB\"\n[queue]\ndepth = 3us\n");
    assert!(
        refused(&folder, &["run", "bad.toml"]).contains("a value with a unit stands in quotes")
    );
    folder.write("bad.toml", "[nand]\nread_us = \"4KiB\"\n");
    let said = refused(&folder, &["run", "bad.toml"]);
    assert!(said.contains("bad.toml:2: nand.read_us: 4KiB: KiB is a unit of size"), "{said}");
    assert!(said.contains("the key is in us; its units are ps, ns, us"), "{said}");
}

#[test]
fn a_file_starts_from_its_base_and_says_where_a_key_stands() {
    let folder = Folder::new();
    folder.write("sub/slow.toml", "base = \"nvme-tlc\"\n[nand]\nread_us = 90\n");
    folder.write("mine.toml", "base = \"sub/slow.toml\"\n[queue]\ndepth = 8\n");
    folder.write("sub/own.toml", "[queue]\ndepth = 8\n");
    let base = run(&folder, &["nvme-tlc"]);
    let mine = run(&folder, &["mine.toml"]);
    assert_eq!(int(&mine, "device.nand.read_us"), 90);
    assert_eq!(int(&mine, "device.queue.depth"), 8);
    assert_eq!(mine["device"]["geometry"], base["device"]["geometry"]);
    // A file without a base starts from a drive of today, and one with "none" from the defaults.
    assert_eq!(run(&folder, &["sub/own.toml"])["device"]["geometry"], base["device"]["geometry"]);
    folder.write("bare.toml", "base = \"none\"\n");
    assert_eq!(run(&folder, &["bare.toml"])["device"], run(&folder, &["drs"])["device"]);

    folder.write("sub/bad.toml", "base = \"nvme-tlc\"\n[nand]\nreed_us = 90\n");
    folder.write("mine.toml", "base = \"sub/bad.toml\"\n[queue]\ndept = 8\n");
    let said = refused(&folder, &["run", "mine.toml"]);
    for line in ["sub/bad.toml:3: nand.reed_us: unknown key", "mine.toml:3: queue.dept: unknown"] {
        assert!(said.contains(line), "{said}");
    }
    folder.write("sub/gc.toml", "base = \"drs\"\n[gc]\nhard_free_blocks = 20\n");
    folder.write("mine.toml", "base = \"sub/gc.toml\"\n[gc]\nsoft_free_blocks = 16\n");
    let said = refused(&folder, &["run", "mine.toml"]);
    let places = "(gc.hard_free_blocks: sub/gc.toml:3; gc.soft_free_blocks: mine.toml:3)";
    assert!(said.contains(places), "{said}");
}

#[test]
fn bases_in_a_circle_and_bases_that_are_nowhere_are_refused() {
    let folder = Folder::new();
    folder.write("a.toml", "base = \"b.toml\"\n");
    folder.write("b.toml", "title = \"b\"\nbase = \"./a.toml\"\n");
    let said = refused(&folder, &["run", "a.toml"]);
    let circle = "b.toml:2: base: ./a.toml is based on itself: a.toml -> b.toml -> ./a.toml";
    assert!(said.contains(circle), "{said}");
    let check = |base: &str, expected: &str| {
        folder.write("c.toml", format!("base = {base}\n"));
        let said = refused(&folder, &["run", "c.toml"]);
        assert!(said.contains(expected), "{said}");
    };
    check("\"nvme-tlk\"", "c.toml:1: base: nvme-tlk: no such device preset or file; did you mean");
    check("\"tlc\"", "did you mean nvme-tlc?");
    check("\"none.toml\"", "c.toml:1: base: none.toml: cannot be read");
    check("7", "c.toml:1: base: a string in quotes is needed");
}

/// The shown file is the device, has lines that fit, and is shown as itself.
#[test]
fn what_is_shown_of_a_preset_is_the_preset() {
    let folder = Folder::new();
    for preset in presets(&folder) {
        let text = folder.run(&["show", &preset]).text();
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
        folder.write("shown.toml", &text);
        // `show --all` has every key.
        let every = folder.run(&["show", &preset, "--all"]).text();
        let again = folder.run(&["show", "shown.toml", "--all"]).text();
        let values = |text: &str| -> Vec<String> {
            let lines = text.lines().filter(|line| !line.starts_with('#'));
            lines.map(|line| line.split(" # ").next().unwrap().to_string()).collect()
        };
        assert_eq!(values(&every), values(&again), "{preset}");
        assert!(values(&every).len() > 30, "{every}");
        let file = repository_file(&format!("crates/run/devices/{preset}.toml"));
        let comments = file.lines().filter(|line| line.contains(" # ")).count();
        let shown = text.lines().filter(|line| line.contains("# ")).count();
        assert!(shown >= comments, "{preset}: {shown} of {comments} comments");
    }
    // The effective device is the same, too.
    folder.write("shown.toml", folder.run(&["show", "nvme-tlc"]).text());
    let [own, shown] =
        ["nvme-tlc", "shown.toml"].map(|device| run(&folder, &[device])["device"].clone());
    assert_eq!(own, shown);
}

#[test]
fn what_is_shown_has_settings_and_says_so() {
    let folder = Folder::new();
    let set = ["--set", "nand.read_us=50us", "--ftl", "fast", "--capacity", "250GB"];
    let text = folder.run(&[&["show", "nvme-tlc"], &set[..]].concat()).text();
    assert!(text.contains("read_us = 50 # set by --set\n"), "{text}");
    assert!(text.contains("scheme = \"fast\" # --ftl fast: how pages are mapped\n"), "{text}");
    folder.write("mine.toml", &text);
    let device = |args: &[&str]| run(&folder, args)["device"].clone();
    assert_eq!(device(&["mine.toml"]), device(&[&["nvme-tlc"], &set[..]].concat()));
}

#[test]
fn what_is_shown_of_a_workload_makes_the_same_requests() {
    let folder = Folder::new();
    for (name, requests) in [
        ("facebook", "generator.requests=50"),
        ("mixed-70-30", "pattern.requests=50"),
        ("fin2", "mix.requests=50"),
    ] {
        folder.write("w.toml", folder.run(&["show", name, "--set", requests]).text());
        let hash = |args: &[&str]| {
            let run = folder.run(&[&["run", "drs"], args, &["--json"]].concat()).json();
            run["provenance"]["workload_sha256"].to_string()
        };
        assert_eq!(hash(&["w.toml"]), hash(&[name, "--set", requests]), "{name}");
    }
}

/// Small versions of the presets run each layer under the checker, or refuse it in one line.
#[test]
fn every_preset_runs_every_layer_or_says_why_not() {
    let folder = Folder::new();
    let mut ran = 0;
    let presets = presets(&folder);
    for preset in &presets {
        for layer in ["page", "line-cache", "dftl", "block", "bast", "fast", "last"] {
            let args = ["run", preset, "mixed-70-30", "--ftl", layer, "--check"];
            let small = ["--capacity", "2GiB", "--set", "pattern.requests=40"];
            // The states of some presets take long to make; a disk has none.
            let fresh: &[&str] = match preset.as_str() {
                "wd1600bekt" => &[],
                _ => &["--set", "state.initial=fresh"],
            };
            let done = folder.run(&[&args[..], &small, fresh].concat());
            let errors = done.stderr.lines().filter(|line| !line.starts_with("note: "));
            match done.status {
                Some(0) => ran += 1,
                status => {
                    assert_eq!(status, Some(2), "{preset} {layer}: {}", done.stderr);
                    assert_eq!(errors.count(), 1, "{preset} {layer}: {}", done.stderr);
                }
            }
        }
    }
    assert!(ran > presets.len() * 4, "{ran} runs");
}

#[test]
fn a_layer_says_what_it_changes_and_why() {
    let folder = Folder::new();
    let args = ["run", "nvme-tlc", "random-write", "--ftl", "fast", "--capacity", "4GiB"];
    let done = folder.run(&[&args[..], &["--set", "pattern.requests=20"]].concat());
    assert_eq!(done.status, Some(0), "{}", done.stderr);
    for note in [
        "note: --ftl fast: nand.program_order = ascending: the layer leaves pages of a block out",
        "note: --ftl fast: nand.program_us = 399.61: a page takes its share of the 3 of a word line",
        "note: capacity of at least 4.295 GB: geometry.",
    ] {
        assert!(done.stderr.contains(note), "{}", done.stderr);
    }
    let said = refused(&folder, &["run", "nvme-tlc", "--ftl", "fats"]);
    assert!(said.contains("--ftl fats: fats: no such translation layer; did you mean fast?"));
    let said = refused(&folder, &["run", "wd1600bekt", "--ftl", "fast"]);
    assert!(said.contains("a disk has no translation layer"), "{said}");
}

#[test]
fn a_capacity_is_held_and_can_stand_in_a_file() {
    let folder = Folder::with("mine.toml", "base = \"ufs-3.1\"\ncapacity = \"8GB\"\n");
    let geometry = |args: &[&str]| run(&folder, args)["device"]["geometry"].clone();
    let file = geometry(&["mine.toml"]);
    assert_eq!(file, geometry(&["ufs-3.1", "--capacity", "8GB"]));
    assert_eq!(file, geometry(&["ufs-3.1", "--set", "capacity=8_000_000_000"]));
    assert_ne!(file, geometry(&["ufs-3.1"]));
    let said = refused(&folder, &["run", "ufs-3.1", "--capacity", "8us"]);
    assert!(said.contains("--capacity 8us: 8us: us is a unit of time"), "{said}");
}

/// A smaller drive keeps its dies while 64 blocks of a plane hold it. The verdict tells of others.
#[test]
fn a_capacity_that_takes_dies_is_marked() {
    let folder = Folder::new();
    let load = |size| {
        let run = ["run", "nvme-tlc", "random-read", "--set", "pattern.requests=50"];
        folder.run(&[&run[..], &["--capacity", size]].concat()).text()
    };
    assert!(!load("64GB").contains("number of dies"));
    let small = load("8GB").split_whitespace().collect::<Vec<_>>().join(" ");
    let marked = "! the capacity changes the number of dies:";
    assert!(small.contains(marked) && small.contains("(2 dies in place of 16)"), "{small}");
}

/// What a family of firmware sets is printed, and a value that is given wins, the default too.
#[test]
fn families_of_firmware_print_what_runs() {
    let folder = Folder::new();
    let keys = |set: &[&str]| {
        let run = run(&folder, &[&["micron-7450-pro"], set].concat());
        ["program_suspends", "erase_suspends"].map(|key| int(&run, &format!("device.nand.{key}")))
    };
    assert_eq!(keys(&[]), [4, 8]);
    assert_eq!(keys(&["--set", "nand.program_suspends=0"]), [0, 8]);
}

/// What is shown of a workload has no keys of a device, and the other way round: neither is taken
/// and forgotten.
#[test]
fn what_is_shown_is_not_what_the_option_is_for() {
    let folder = Folder::new();
    let devices = "it is for devices, and toy-write is a workload; show a device with it";
    for (name, options, said) in [
        ("toy-write", &["--set", "nand.read_us=5"][..], devices),
        ("toy-write", &["--ftl", "dftl"], devices),
        ("toy-write", &["--capacity", "1TB"], devices),
        ("toy-write", &["--set", "nand.reed_us=5"], "did you mean nand.read_us"),
        ("toy", &["--set", "pattern.requests=5"], "it is for workloads, and toy is a device"),
        // The kind of workload that a run of this device has if it is given none.
        ("drs", &["--set", "generator.requests=5"], "it is for workloads, and drs is a device"),
        ("drs", &["--set", "phase.time_ms=5"], "it is for workloads, and drs is a device"),
    ] {
        let stderr = refused(&folder, &[&["show", name], options].concat());
        assert!(stderr.contains(said), "{name} {options:?}: {stderr}");
    }
    let phases = ["show", "varmail-ext2", "--set", "files.threads=3"];
    assert!(folder.run(&phases).text().contains("threads = 3"));
}

#[test]
fn thresholds_may_be_shares_of_the_spare_space() {
    let folder = Folder::new();
    let set = ["--set", "gc.soft_free_blocks=30% of spare"];
    let text = folder.run(&[&["show", "nvme-tlc"], &set[..]].concat()).text();
    let spare = text.split("% of the ").nth(1).and_then(|rest| rest.split(' ').next());
    let spare: u64 = spare.and_then(|number| number.parse().ok()).expect("a number");
    let blocks = (spare * 3).div_ceil(10);
    let line = format!("soft_free_blocks = {blocks} # 30 % of the {spare} spare blocks of a plane");
    assert!(text.contains(&line), "{text}");
    folder.write("mine.toml", "base = \"nvme-tlc\"\n[gc]\nsoft_free_blocks = \"30% of spare\"\n");
    let run = run(&folder, &["mine.toml"]);
    assert_eq!(run["device"]["gc"]["soft_free_blocks"].as_u64(), Some(blocks));
    folder.write("mine.toml", "[gc]\nsoft_free_blocks = \"130% of spare\"\n");
    let said = refused(&folder, &["run", "mine.toml"]);
    assert!(said.contains("mine.toml:2: gc.soft_free_blocks: 130%"), "{said}");
    // Thresholds that take the spare space are warned of.
    let eaten = ["run", "small-full", "random-write", "--set", "pattern.requests=20", "--json"];
    let warnings = |set: &[&str]| {
        folder.run(&[&eaten[..], set].concat()).json()["verdict"]["warnings"].to_string()
    };
    let what = "take more than half of the spare space";
    assert!(!warnings(&[]).contains(what));
    // A load that leaves no idle time keeps what the hard threshold says.
    let soft = ["--set", "gc.soft_free_blocks=80% of spare"];
    assert!(!warnings(&soft).contains(what));
    let hard = ["--set", "gc.hard_free_blocks=70% of spare"];
    assert!(warnings(&[soft, hard].concat()).contains(what));
}

#[test]
fn words_of_the_field_lead_to_keys_and_names() {
    let folder = Folder::new();
    for (set, key) in [
        ("dftl=1", "map.store = cmt"),
        ("wl=1", "wear.dynamic"),
        ("op=7", "ftl.over_provisioning_percent"),
        ("overprovisioning=7", "ftl.over_provisioning_percent"),
        ("qd=7", "stream.depth"),
        ("cache=7", "buffer.bytes"),
        ("gc_threshold=7", "gc.soft_percent"),
        ("mlc=2", "nand.bits_per_cell"),
        ("trim=1", "pattern.trim_percent"),
        ("nand=1", "`flashyard list keys nand` lists its keys"),
    ] {
        let said = refused(&folder, &["run", "--set", set]);
        assert!(said.contains(key) && said.contains("flashyard list keys"), "{set}: {said}");
        let word = set.split('=').next().unwrap();
        let listed = folder.run(&["list", "keys", word]).text();
        assert!(word == "nand" || listed.contains(key), "{word}: {listed}");
    }
    assert!(refused(&folder, &["run", "tlc"]).contains("did you mean nvme-tlc?"));
    assert!(refused(&folder, &["run", "drs", "randread"]).contains("did you mean random-read?"));
    assert!(refused(&folder, &["list", "keys", "xyzzy"]).contains("sections: device, geometry"));
}

#[test]
fn lists_and_help_fit_a_terminal_of_80_columns() {
    let folder = Folder::new();
    let commands = "|run|compare|reproduce|trace|trace info|trace convert|trace fit|fit|board|import|list|show";
    let mut all: Vec<Vec<&str>> = Vec::new();
    for command in commands.split('|') {
        for help in ["--help", "-h"] {
            all.push(command.split_whitespace().chain([help]).collect());
        }
    }
    let lists =
        "|devices|policies|workloads|formats|ftls|ftls nvme-tlc|keys|keys gc|keys dftl|keys cache";
    all.extend(
        lists
            .split('|')
            .map(|list| ["list"].into_iter().chain(list.split_whitespace()).collect::<Vec<_>>()),
    );
    for args in all {
        let text = folder.run(&args).text();
        let wide = text.lines().find(|line| line.chars().count() > 80);
        assert_eq!(wide, None, "flashyard {}", args.join(" "));
        assert!(text.lines().count() > 3, "flashyard {}", args.join(" "));
    }
}

#[test]
fn lists_are_data_too() {
    let folder = Folder::new();
    let all = folder.run(&["list", "--json"]).json();
    for field in [
        "devices",
        "command_policies",
        "host_policies",
        "bus_policies",
        "victim_rules",
        "workloads",
        "formats",
    ] {
        let rows = all[field].as_array().unwrap_or_else(|| panic!("{field}"));
        assert!(rows.iter().all(|row| row["name"].is_string() && row["what"].is_string()));
        assert!(rows.len() > 1, "{field}");
    }
    let keys = folder.run(&["list", "keys", "wear", "--json"]).json();
    let gap = &keys["keys"][1];
    assert_eq!(gap["key"], "wear.static_gap");
    assert_eq!((&gap["unit"], &gap["default"]), (&"erases".into(), &"0".into()));
    let ftls = folder.run(&["list", "ftls", "ftl-study", "--json"]).json();
    assert_eq!(ftls["ftls"].as_array().map(Vec::len), Some(7));
    assert!(ftls["ftls"][0]["refused"].is_null());
}
