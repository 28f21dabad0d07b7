//! `flashyard fit` and `board`: keys that made measurements are found again, cells that were held
//! out are met, and wrong input is refused.

use crate::schema::Schema;
use crate::support::{Folder, repository_file};
use serde_json::Value;
use std::path::Path;

/// A drive that is no preset: what it "measures" is a run of it.
const DRIVE: [&str; 4] = [
    "nand.read_us=72",
    "interface.link_latency_ns=4000",
    "nand.spread_percent=20",
    "map.store=resident",
];

/// A CSV file of runs of the drive at some depths.
fn measured(folder: &Folder, depths: &[u32]) -> String {
    let mut text = String::from("# a drive\nblock_bytes,queue_depth,iops,mean_us,p50_us,p99_us\n");
    for depth in depths {
        let depth = format!("stream.depth={depth}");
        let mut args = vec!["run", "embedded-2x2", "random-read", "--json", "--seed", "5"];
        for set in DRIVE.iter().copied().chain(["pattern.requests=30000", depth.as_str()]) {
            args.extend(["--set", set]);
        }
        let report: Value = folder.run(&args).json();
        let latency = &report["latency_ns"]["read"];
        let us = |name: &str| latency[name].as_f64().unwrap() / 1e3;
        text += &format!(
            "4096,{},{},{},{},{}\n",
            depth.trim_start_matches("stream.depth="),
            report["throughput"]["iops"],
            us("mean"),
            us("p50"),
            us("p99")
        );
    }
    text
}

/// The text of a file that the command wrote.
fn text(folder: &Folder, name: &str) -> String {
    String::from_utf8(folder.read(name)).unwrap()
}

fn fit(folder: &Folder, more: &[&str]) -> Value {
    let args = [
        "fit",
        "m.csv",
        "embedded-2x2",
        "--json",
        "--requests",
        "20000",
        "--evaluations",
        "240",
        "--set",
        "map.store=resident",
        "--key",
        "nand.read_us=20..200",
        "--key",
        "interface.link_latency_ns=500..20000",
        "--key",
        "nand.spread_percent=1..100",
    ];
    let found = folder.run(&[&args[..], more].concat()).json();
    Schema::of("fit").check("fit", &found);
    found
}

#[test]
fn keys_that_made_the_measurements_are_found_again() {
    let folder = Folder::new();
    folder.write("m.csv", measured(&folder, &[1, 4, 16]));
    let found = fit(&folder, &["--hold-out", "queue_depth=4", "-o", "new.toml"]);
    let key = |name: &str| -> f64 {
        let keys = found["keys"].as_array().unwrap();
        let key = keys.iter().find(|key| key["key"] == name).unwrap();
        key["fitted"].as_str().unwrap().parse().unwrap()
    };
    assert!((key("nand.read_us") / 72.0 - 1.0).abs() < 0.03, "{}", found["keys"]);
    let held_out = &found["held_out"];
    assert_eq!(held_out["cells"].as_array().unwrap().len(), 1);
    assert!(held_out["median_error_mean"].as_f64().unwrap() < 0.02, "{held_out}");
    assert!(held_out["median_error_p99"].as_f64().unwrap() < 0.05, "{held_out}");
    // The file that was written is the device that was fitted.
    let ran = folder.run(&["run", "new.toml", "random-read", "--json", "--set", "stream.depth=1"]);
    let report = ran.json();
    let us = report["device"]["nand"]["read_us"].as_f64().unwrap();
    assert!((us - key("nand.read_us")).abs() < 1e-9, "{us}");
}

/// Reads, and writes in the states that the cells name: what a fit says of them are runs of the
/// whole device of the file that it writes.
#[test]
fn what_is_modelled_is_what_the_file_does() {
    let folder = Folder::new();
    let cells = [
        ("randwrite", "random-write", 16, "steady", 2000),
        ("write", "sequential-write", 4, "fresh", 2000),
        ("randread", "random-read", 8, "sequential", 0),
    ];
    let mut text = "pattern,block_bytes,queue_depth,state,mean_us\n".to_string();
    for (pattern, _, depth, state, _) in cells {
        text += &format!("{pattern},4096,{depth},{state},1000\n");
    }
    folder.write("m.csv", text);
    let resident = ["--set", "map.store=resident"];
    let fit = ["fit", "m.csv", "embedded-2x2", "--json", "--requests", "8000", "-o", "new.toml"];
    let key = ["--evaluations", "10", "--key", "nand.program_us=300..900"];
    let found = folder.run(&[&fit[..], &key, &resident].concat()).json();
    for (place, (_, workload, depth, state, warm_up)) in cells.into_iter().enumerate() {
        let state = if state == "sequential" { "full" } else { state };
        let set = [
            format!("stream.depth={depth}"),
            format!("state.initial={state}"),
            format!("pattern.requests={}", 8000 + warm_up),
            "pattern.align_kib=4".to_string(),
            "pattern.size_kib=4".to_string(),
            format!("metrics.skip_requests={warm_up}"),
        ];
        let mut args = vec!["run", "new.toml", workload, "--json", "--seed", "1"];
        args.extend(set.iter().flat_map(|key| ["--set", key]));
        let ran = folder.run(&args).json();
        let class = if warm_up == 0 { "read" } else { "write" };
        let mean_us = ran["latency_ns"][class]["mean"].as_f64().unwrap() / 1e3;
        let modelled = &found["training"]["cells"][place]["figures"][0]["modelled"];
        assert!((modelled.as_f64().unwrap() / mean_us - 1.0).abs() < 1e-9, "{modelled} {mean_us}");
    }
}

/// Reads of one size do not say what a write takes, nor how bytes cross the link: these keys stay,
/// with a range in the output and in the file.
#[test]
fn keys_that_no_cell_tells_stay_with_a_range() {
    let folder = Folder::new();
    folder
        .write("m.csv", "block_bytes,queue_depth,iops,mean_us\n4096,1,12500,79\n4096,8,90000,88\n");
    let fit =
        ["fit", "m.csv", "--json", "--requests", "800", "--evaluations", "20", "-o", "n.toml"];
    let found = folder.run(&fit).json();
    Schema::of("fit").check("fit", &found);
    let untold: Vec<&str> = found["untold"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["key"].as_str().unwrap())
        .collect();
    assert!(untold.contains(&"nand.program_us") && untold.contains(&"buffer.bytes"), "{untold:?}");
    let file = text(&folder, "n.toml");
    assert!(
        file.contains("program_us = 1198.83 # no cell tells it: 441.025 to 3258.758"),
        "{file}"
    );
    // A mechanism that nothing asks for is not in the file.
    assert!(!file.contains("write_tail_ns"), "{file}");
}

/// A key that no read depends on, and two that only add up.
#[test]
fn keys_that_the_cells_cannot_tell_apart_are_named() {
    let folder = Folder::new();
    folder.write("m.csv", measured(&folder, &[1]));
    let found = fit(&folder, &["--key", "nand.program_us=100..2000"]);
    let groups = found["not_told_apart"].as_array().unwrap();
    let has = |names: &[&str]| {
        groups.iter().any(|group| {
            let group: Vec<&str> =
                group.as_array().unwrap().iter().filter_map(Value::as_str).collect();
            names.iter().all(|name| group.contains(name))
        })
    };
    assert!(has(&["nand.program_us"]), "{groups:?}");
    // Array and link add up: they are named, or the smaller one is known to half of it at best.
    let keys = found["keys"].as_array().unwrap();
    let link = keys.iter().find(|key| key["key"] == "interface.link_latency_ns").unwrap();
    let is_vague = link["standard_error"].as_f64().is_none_or(|error| error > 0.5);
    assert!(has(&["interface.link_latency_ns"]) || is_vague, "{groups:?} {link}");
}

#[test]
fn a_board_holds_out_each_cell_once() {
    let folder = Folder::new();
    folder.write("m.csv", measured(&folder, &[1, 2, 4]));
    let args = [
        "board",
        ".",
        "--device",
        "embedded-2x2",
        "--json",
        "--requests",
        "1000",
        "--evaluations",
        "60",
        "--set",
        "map.store=resident",
        "--key",
        "nand.read_us=20..200",
    ];
    let board: Value = folder.run(&args).json();
    Schema::of("board").check("board", &board);
    let drives = board["drives"].as_array().unwrap();
    assert_eq!(drives.len(), 1);
    assert_eq!(drives[0]["cells"].as_array().unwrap().len(), 3);
    assert_eq!(drives[0]["between"], serde_json::json!([false, true, false]));
}

/// Rows that need zones are for devices with zones, the others for those without; a note says how
/// many are passed over, and with none left there is nothing to fit to. Reads in order of several
/// zones are streams in parts of a device.
#[test]
fn rows_of_zones_are_for_devices_with_zones() {
    let folder = Folder::new();
    let rows = "pattern,block_bytes,zones,queue_depth,mean_us\n\
                append,4096,1,1,15\nzonewrite,4096,1,1,11\nrandread,4096,4,1,42\n";
    folder.write("m.csv", rows);
    let ran = folder.run(&["fit", "m.csv"]);
    assert_eq!(ran.status, Some(2), "{ran:?}");
    folder.write("m.csv", format!("{rows}randread,4096,1,1,80\n"));
    let fit = ["fit", "m.csv", "--requests", "200", "--evaluations", "1"];
    let ran = folder.run(&[&fit[..], &["--key", "nand.read_us=20..200"]].concat());
    assert!(ran.stderr.contains("m.csv: 1 row is passed over: of several zones"), "{ran:?}");
    assert!(ran.stderr.contains("2 rows are passed over: the device has no zones"), "{ran:?}");
    folder.write("m.csv", rows.replace("randread", "read"));
    let ran = folder.run(&[&fit[..], &["--key", "nand.read_us=20..200"]].concat());
    assert_eq!(ran.status, Some(0), "{ran:?}");
    assert!(!ran.stderr.contains("of several zones"), "{ran:?}");
    let zoned = ["--key", "firmware.write_ns=1000..9000", "--json"];
    let ran = folder.run(&[&fit[..2], &["zn540-zns"], &fit[2..], &zoned].concat());
    assert!(ran.stderr.contains("1 row is passed over: the device has zones"), "{ran:?}");
    assert_eq!(ran.json()["training"]["cells"].as_array().unwrap().len(), 2);
}

/// A load into zones is of its own kind, and several zones at once are one.
#[test]
fn loads_into_zones_are_held_apart() {
    let folder = Folder::new();
    let zone = |first: u64, append: bool| {
        format!(
            "[[stream]]\nname = \"zone-{first}\"\ndepth = 4\n[stream.pattern]\n\
             base = \"sequential-write\"\nrequests = 100\nsize_kib = 4\nzones = 1\n\
             first_zone = {first}\nappend = {append}\n"
        )
    };
    let marked = |text: &str| {
        folder.write("zones.toml", text);
        let text = folder.run(&["run", "zn540-zns", "zones.toml"]).text();
        let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
        words.contains("not under a load like this")
    };
    assert!(!marked(&zone(0, true)));
    assert!(!marked(&(zone(0, true) + &zone(1, true))));
    // Writes were measured one at a time.
    assert!(marked(
        &zone(0, false).replace("depth = 4", "depth = 1").replace("size_kib = 4", "size_kib = 512")
    ));
    assert!(!marked(&zone(0, false).replace("depth = 4", "depth = 1")));
}

/// Devices with names on measurements of others: one that has the name of the drive alone, or all.
/// Nothing is fitted, and the page has a plot of the drive.
#[test]
fn named_devices_run_anyones_measurements() {
    let folder = Folder::new();
    folder.write(
        "mine/nvme-b.csv",
        "pattern,block_bytes,queue_depth,mean_us,p99_us\nwrite,4096,1,9,9\n",
    );
    let args = ["board", "--against", "mine", "--requests", "500", "-o", "page", "--json"];
    let board = folder.run(&args).json();
    Schema::of("board").check("board", &board);
    assert!(board["drives"].as_array().unwrap().is_empty());
    let devices = board["devices"].as_array().unwrap();
    assert_eq!(devices.len(), 1, "{devices:?}");
    assert_eq!(devices[0]["device"], "nvme-b");
    assert!(devices[0]["median_error_mean"].as_f64().unwrap() < 0.1, "{devices:?}");
    assert!(text(&folder, "page/BOARD.md").contains("(board-nvme-b.svg)"));
    assert!(text(&folder, "page/board-nvme-b.svg").starts_with("<svg"));
    folder.write("other/x.csv", "drive,queue_depth,mean_us\nsome drive,1,60\n");
    let board = folder.run(&["board", "--against", "other", "--requests", "500"]).text();
    assert!(board.contains("samsung-980-pro") && board.contains("zn540"), "{board}");
}

/// docs/BOARD.md says of devices with names what the command prints now.
#[test]
fn the_page_of_the_board_is_that_of_the_presets() {
    let folder = Folder::new();
    let measurements = concat!(env!("CARGO_MANIFEST_DIR"), "/../../measurements");
    folder.run(&["board", "--against", measurements, "-o", "."]).text();
    let part = |text: &str| {
        let from = text.find("## Devices with names").expect("a heading");
        let to = text.find("## Cells that a fit did not see").unwrap_or(text.len());
        text[from..to].trim_end().to_string()
    };
    let (page, file) = (text(&folder, "BOARD.md"), repository_file("docs/BOARD.md"));
    assert!(part(&page) == part(&file), "docs/BOARD.md is out of date: {}", part(&page));
    let is_plot = |name: &&str| Path::new(name).extension().is_some_and(|kind| kind == "svg");
    for name in part(&page).split(['(', ')']).filter(is_plot) {
        let drawn = text(&folder, name);
        assert!(drawn == repository_file(&format!("docs/{name}")), "docs/{name} is out of date");
    }
}

#[test]
fn wrong_measurements_are_refused() {
    let folder = Folder::with("m.csv", "block_bytes,queue_depth,mean_us\n4096,1,50\n");
    let refused = |args: &[&str]| {
        let ran = folder.run(&[&["fit"], args].concat());
        assert_eq!(ran.status, Some(2), "{ran:?}");
        ran.stderr
    };
    assert!(refused(&["none.csv"]).contains("none.csv: cannot be read"));
    assert!(refused(&["m.csv", "--hold-out", "queue_dept=1"]).contains("queue_depth"));
    assert!(refused(&["m.csv", "--hold-out", "queue_depth=2"]).contains("no cell is like this"));
    assert!(refused(&["m.csv", "--hold-out", "queue_depth=1"]).contains("no cell is left"));
    assert!(refused(&["m.csv", "--key", "nand.read_us"]).contains("nand.read_us=20..200"));
    assert!(refused(&["m.csv", "--key", "nand.reed_us=1..2"]).contains("nand.read_us"));
    assert!(refused(&["m.csv", "-o", "x.txt"]).contains(".toml"));
    for requests in ["0", "10000001", "18446744073709551615"] {
        let said = refused(&["m.csv", "--requests", requests]);
        let range = format!("'{requests}' for '--requests <N>': {requests} is not in 1..=10000000");
        assert!(said.contains(&range), "{said}");
    }
    folder.write("m.csv", "pattern,state,mean_us\nwrite,old,1\n");
    assert!(refused(&["m.csv"]).contains("m.csv:2 state.initial=old"));
    folder.write("m.csv", "block_bytes,mean\n4096,1\n");
    assert!(refused(&["m.csv"]).contains("no such column \"mean\""));
    folder.write("m.csv", "block_bytes,mean_us\n4096,-1\n");
    assert!(refused(&["m.csv"]).contains("m.csv:2"));
    folder.write("m.csv", "queue_depth,mean_us,mean_us\n1,80,160\n");
    assert!(refused(&["m.csv"]).contains("two columns are called \"mean_us\""));
    folder.write("m.csv", "queue_depth,mean_us,read_mean_us\n1,80,160\n");
    assert!(refused(&["m.csv"]).contains("two of this: read mean"));
    folder.write("m.csv", "queue_depth,mean_us,write_mean_us\n1,80,160\n");
    assert!(refused(&["m.csv"]).contains("it has no writes: write mean"));
    folder.write("m.csv", "pattern,read_percent,write_mean_us\nrandrw,100,160\n");
    assert!(refused(&["m.csv"]).contains("it has no writes: write mean"));
    folder.write("m.csv", "pattern,mean_us\nrw,80\n");
    assert!(refused(&["m.csv"]).contains("pattern: \"rw\" is none of"));
    folder.write("m.csv", "queue_depth,rate_per_s,mean_us\n4,1000,80\n");
    assert!(refused(&["m.csv"]).contains("in its place"));
    folder.write("m.csv", "writes_per_s_asked,write_mean_us\n1000,80\n");
    assert!(refused(&["m.csv"]).contains("5000 writes a second"));
    folder.write("m.csv", "queue_depth,mean_us\n1,80\n");
    let key = "nand.read_us=20..200";
    assert!(refused(&["m.csv", "--key", key, "--key", key]).contains("named twice"));
    assert!(refused(&["m.csv", "--key", key, "--set", "nand.read_us=45"]).contains("--set"));
    assert!(refused(&["m.csv", "--key", "geometry.ways=3..3"]).contains("powers of two"));
}

/// The firmware of a fit is one core in place of the six of the device: the file has all of its
/// times, a sixth each, and does what the figures say. With `--key` the cores stay.
#[test]
fn a_firmware_of_one_core_is_that_of_the_file() {
    let folder = Folder::new();
    let cells = "block_bytes,queue_depth,mean_us\n4096,1,79\n4096,64,190\n";
    folder.write("m.csv", cells);
    folder.write("d.toml", "base = \"nvme-tlc\"\n[geometry]\nblocks_per_plane = 84\n");
    let fit = ["fit", "m.csv", "d.toml", "--json", "--requests", "2000", "--evaluations", "12"];
    let found = folder.run(&[&fit[..], &["-o", "n.toml"]].concat()).json();
    let run = ["run", "n.toml", "random-read", "--json", "--seed", "1"];
    let set = ["state.initial=full", "stream.depth=64", "pattern.requests=2000"];
    let set: Vec<&str> = set.iter().flat_map(|set| ["--set", set]).collect();
    let ran = folder.run(&[&run[..], &set].concat()).json();
    let mean_us = ran["latency_ns"]["read"]["mean"].as_f64().unwrap() / 1e3;
    let modelled = found["training"]["cells"][1]["figures"][0]["modelled"].as_f64().unwrap();
    assert!((modelled / mean_us - 1.0).abs() < 1e-9, "{modelled} {mean_us}");
    let file = text(&folder, "n.toml");
    for line in ["cores = 1 # formula", "unit_ns = 84 # no cell", "trim_ns = 1667 # formula"] {
        assert!(file.contains(line), "{line}: {file}");
    }
    let key = ["--key", "nand.read_us=20..200", "--key", "firmware.spread_percent=1..50"];
    folder.run(&[&fit[..], &key, &["-o", "k.toml"]].concat()).json();
    let file = text(&folder, "k.toml");
    assert!(!file.contains("cores") && !file.contains("unit_ns"), "{file}");
}

/// Rates alone are fitted to; keys that choose alone have no slopes; and what a fit makes of a
/// device that was held against a drive was not.
#[test]
fn a_fit_to_rates_by_counts_of_a_named_device() {
    let folder = Folder::new();
    folder.write("m.csv", "queue_depth,iops\n1,9000\n64,150000\n");
    let fit = ["fit", "m.csv", "samsung-980-pro", "--requests", "1000", "--evaluations", "20"];
    let found = folder.run(&[&fit[..], &["--key", "geometry.ways=1..4", "-o", "n.toml"]].concat());
    let said = found.text();
    assert!(said.contains("median error: rates "), "{said}");
    let file = text(&folder, "n.toml");
    assert!(!file.contains("held") && file.contains("ways = 1 # fitted"), "{file}");
}
