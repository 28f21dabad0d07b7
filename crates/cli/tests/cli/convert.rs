//! `flashyard trace convert`: what comes out is what went in, but for what is said to be lost.

use crate::support::{Folder, Ran, TRACE, without_names};
use flashyard_workload::FormatInfo;

const FEW: [&str; 2] = ["--set", "generator.requests=2000"];

fn convert(folder: &Folder, args: &[&str]) -> Ran {
    folder.run(&[&["trace", "convert"], args].concat())
}

/// Converts, and gives back the bytes that were written.
#[track_caller]
fn converted(folder: &Folder, args: &[&str], out: &str) -> Vec<u8> {
    convert(folder, &[args, &[out]].concat()).text();
    folder.read(out)
}

/// The rows of a trace in the format `ssdsim`.
fn rows(text: &[u8]) -> Vec<[u64; 5]> {
    let text = std::str::from_utf8(text).unwrap();
    let row = |line: &str| {
        let numbers: Vec<u64> = line.split(' ').map(|number| number.parse().unwrap()).collect();
        numbers.try_into().unwrap()
    };
    text.lines().map(row).collect()
}

#[test]
fn a_generated_workload_survives_every_format() {
    let folder = Folder::new();
    let plain = converted(&folder, &["facebook", FEW[0], FEW[1]], "plain.ssdsim");
    assert_eq!(rows(&plain).len(), 2_000);
    for format in FormatInfo::all().filter(|format| format.writer.is_some()) {
        let there = format!("there-{}", format.name);
        let args = ["facebook", FEW[0], FEW[1], "--to", format.name, &there];
        let ran = convert(&folder, &args);
        assert_eq!(ran.status, Some(0), "{ran:?}");
        let bytes = folder.read(&there).len();
        let name = format.name;
        assert_eq!(ran.stdout, format!("{there}: 2000 requests as {name}, {bytes} bytes\n"));
        let set = format!("trace.format={name}");
        let as_they_are = "trace.tick_us=0.001";
        let args = [&there, "--set", &set, "--set", as_they_are, "--to", "ssdsim"];
        let back = converted(&folder, &args, "back");
        // The unit of the times, from what is said to be lost.
        let unit: u64 = match ran.stderr.split_once("rounded down to ") {
            Some((_, rest)) => rest.split(' ').next().unwrap().parse().unwrap(),
            None => 1,
        };
        let mut expected = rows(&plain);
        for row in &mut expected {
            row[0] -= row[0] % unit;
        }
        assert_eq!(rows(&back), expected, "{name}");
    }
}

#[test]
fn a_run_of_the_binary_trace_is_the_run_of_its_source() {
    let folder = Folder::with("t.txt", TRACE);
    let run = |workload: &str| folder.run(&["run", "drs", workload, "--json"]).json();
    converted(&folder, &["t.txt"], "t.fyt");
    assert_eq!(without_names(run("t.fyt")), without_names(run("t.txt")));
    let args = ["facebook", "--device", "drs", "--seed", "7", FEW[0], FEW[1]];
    converted(&folder, &args, "generated.fyt.zst");
    let source = ["run", "drs", "facebook", "--seed", "7", FEW[0], FEW[1], "--json"];
    let mut runs = [run("generated.fyt.zst"), folder.run(&source).json()];
    for run in &mut runs {
        // Where the requests come from is all that differs.
        for (object, names) in
            [("provenance", &["command", "seed"][..]), ("workload", &["name", "plan", "settings"])]
        {
            for name in names {
                let removed = run[object].as_object_mut().unwrap().remove(*name);
                assert!(removed.is_some(), "{object} has {name}");
            }
        }
    }
    assert_eq!(runs[0], runs[1]);
}

#[test]
fn text_to_binary_and_back_is_the_same_text() {
    for format in flashyard_workload::FORMATS.iter().filter(|format| format.writer.is_some()) {
        let folder = Folder::with("example", format.example);
        let set = format!("trace.format={}", format.name);
        let once = converted(&folder, &["example", "--set", &set, "--to", format.name], "once");
        converted(&folder, &["example", "--set", &set], "x.fyt");
        let twice = converted(&folder, &["x.fyt", "--to", format.name], "twice");
        assert_eq!(twice, once, "{}", format.name);
    }
    let folder = Folder::with("t.ssdsim", TRACE);
    converted(&folder, &["t.ssdsim"], "t.fyt.gz");
    assert_eq!(converted(&folder, &["t.fyt.gz"], "again.ssdsim"), TRACE.as_bytes());
}

#[test]
fn a_format_of_the_users_own_is_written_and_read_back() {
    let folder = Folder::with("t.ssdsim", TRACE);
    let own = "tab header base=64; at_ns:- time:ns op:rd/wr device:id offset:sector size:B";
    let written = converted(&folder, &["t.ssdsim", "--to", own], "own.txt");
    let text = String::from_utf8(written).unwrap();
    assert_eq!(text.lines().count(), 1 + TRACE.lines().count(), "{text}");
    let set = format!("trace.format={own}");
    converted(&folder, &["own.txt", "--set", &set], "again.ssdsim");
    assert_eq!(folder.read("again.ssdsim"), TRACE.as_bytes());
    let large = "comma; time:ns op:R/W offset:KiB size:B";
    let ran = convert(&folder, &["t.ssdsim", "x", "--to", large]);
    assert_eq!(ran.status, Some(2), "{ran:?}");
    let message = "column offset is in units of 1024 B; a sector has 512 B: take units of B or";
    assert!(ran.stderr.contains(message), "{}", ran.stderr);
}

#[test]
fn names_of_streams_that_a_clip_leaves_out_are_told() {
    let folder = Folder::with("t.csv", "1,hm,0,Read,0,512,1\n2,hm,1,Read,0,512,1\n");
    converted(&folder, &["t.csv"], "t.fyt");
    let note = "note: names of streams, if any, stand at the end of the trace, which was not read";
    for (limit, told) in [("0", false), ("1", true)] {
        let set = format!("trace.request_limit={limit}");
        let ran = convert(&folder, &["t.fyt", "out.fyt", "--set", &set]);
        assert_eq!(ran.status, Some(0), "{ran:?}");
        assert_eq!(ran.stderr.contains(note), told, "{}", ran.stderr);
    }
}

#[test]
fn merged_workloads_are_streams_in_the_order_of_their_names() {
    let folder = Folder::with("a", "0 3 0 8 1\n20 3 8 8 0\n30 4 16 8 1\n");
    folder.write("b", "7 9 100 8 0\n27 9 108 8 1\n");
    let merged = converted(&folder, &["b", "a", "b"], "m.ssdsim");
    let expected = "0 0 100 8 0\n0 1 0 8 1\n0 2 100 8 0\n\
                    20 0 108 8 1\n20 1 8 8 0\n20 2 108 8 1\n30 1 16 8 1\n";
    assert_eq!(String::from_utf8(merged).unwrap(), expected);
    let own_clocks = ["b", "a", "--set", "trace.rebase=false"];
    let expected = "0 1 0 8 1\n7 0 100 8 0\n20 1 8 8 0\n27 0 108 8 1\n30 1 16 8 1\n";
    let merged = converted(&folder, &own_clocks, "m.ssdsim");
    assert_eq!(String::from_utf8(merged).unwrap(), expected);
    let named = converted(&folder, &["b", "a"], "m.fyt");
    assert!(named.ends_with(b"\x02\0\0\0\0\0\xff\0\x01\0b\x01\0a"), "the names of the streams");
}

/// Two streams whose requests come at times of their own: a trace has them under their names, each
/// with the requests that it has in a run.
#[test]
fn streams_of_a_file_are_those_of_its_trace() {
    let stream = |name: &str, base: &str, rate: u32| {
        format!(
            "[[stream]]\nname = \"{name}\"\npacing = \"open\"\n[stream.pattern]\nbase = \"{base}\"\n\
             requests = 300\narrival = \"poisson\"\nrate_per_s = {rate}\n"
        )
    };
    let file = stream("log", "random-write", 500) + &stream("queries", "random-read", 900);
    let folder = Folder::with("two.toml", &file);
    let args = ["two.toml", "--device", "drs", "--seed", "7"];
    let found = rows(&converted(&folder, &args, "two.ssdsim"));
    assert_eq!(found.len(), 600);
    assert!(found.is_sorted_by_key(|row| row[0]));
    // Column 4 is 0 for a write.
    assert!(found.iter().all(|row| row[1] == row[4]), "log writes, and queries reads");
    let named = converted(&folder, &args, "two.fyt");
    assert!(named.ends_with(b"\x03\0log\x07\0queries"), "the names of the streams");
    let run =
        |workload: &[&str]| folder.run(&[&["run", "drs", "--json"], workload].concat()).json();
    let (own, trace) = (run(&["two.toml", "--seed", "7"]), run(&["two.fyt"]));
    assert_eq!(own["latency_ns"], trace["latency_ns"]);
}

#[test]
fn copies_of_a_generated_workload_differ_and_the_first_is_the_workload() {
    let folder = Folder::new();
    let alone = rows(&converted(&folder, &["facebook", FEW[0], FEW[1]], "a.ssdsim"));
    let two = rows(&converted(&folder, &["facebook", "facebook", FEW[0], FEW[1]], "b.ssdsim"));
    let of = |stream: u64| two.iter().filter(move |row| row[1] == stream).copied();
    assert!(of(0).eq(alone.iter().copied()));
    assert_eq!(of(1).count(), alone.len());
    assert!(!of(1).map(|row| row[2]).eq(alone.iter().map(|row| row[2])));
    for rows in [alone, two] {
        assert!(rows.is_sorted_by_key(|row| row[0]));
    }
}

const TRIMS: [&str; 7] = [
    "random-write",
    "--set",
    "pattern.requests=400",
    "--set",
    "pattern.trim_percent=40",
    "--seed",
    "3",
];

#[test]
fn what_does_not_fit_is_an_error_or_left_out_and_counted() {
    let folder = Folder::new();
    let refused = convert(&folder, &[&TRIMS[..], &["t.spc"]].concat());
    assert_eq!(refused.status, Some(2), "{refused:?}");
    assert!(refused.stderr.starts_with("error: t.spc: request "), "{refused:?}");
    assert!(refused.stderr.contains(": the format spc has no trims; "), "{refused:?}");
    assert!(folder.files().is_empty());
    converted(&folder, &TRIMS, "all.fyt");
    let info = folder.run(&["trace", "info", "all.fyt", "--json"]).json();
    let trims = info["trims"].as_u64().unwrap();
    assert!(trims > 100, "the workload has trims");
    let ran = convert(&folder, &[&TRIMS[..], &["t.spc", "--lossy"]].concat());
    let bytes = folder.read("t.spc").len();
    let kept = 400 - trims;
    assert_eq!(
        ran.stdout,
        format!("t.spc: {kept} requests as spc, {bytes} bytes; {trims} requests left out\n")
    );
    let lost = format!("lost: {trims} requests were left out: spc has no trims\n");
    assert!(ran.stderr.ends_with(&lost), "{ran:?}");
    assert!(ran.stderr.starts_with("note: random-write: a run issues its requests in its own"));
    assert_eq!(std::str::from_utf8(&folder.read("t.spc")).unwrap().lines().count() as u64, kept);
}

#[test]
fn standard_input_and_output_are_pipes() {
    let folder = Folder::new();
    let args = ["trace", "generate", "-", "-", "--to", "ssdsim"];
    let ran = folder.run_with_input(&args, TRACE.as_bytes());
    assert_eq!((ran.status, ran.stdout.as_str()), (Some(0), TRACE));
    let bytes = TRACE.len();
    assert_eq!(ran.stderr, format!("standard output: 5 requests as ssdsim, {bytes} bytes\n"));
    assert!(folder.files().is_empty());
}

#[test]
#[cfg(unix)]
fn devices_and_directories_are_not_replaced() {
    use std::os::unix::net::UnixListener;
    let folder = Folder::with("t.ssdsim", TRACE);
    let socket = folder.path("socket.spc");
    let _listener = UnixListener::bind(&socket).unwrap();
    std::fs::create_dir(folder.path("folder.spc")).unwrap();
    for out in ["socket.spc", "folder.spc"] {
        let ran = convert(&folder, &["t.ssdsim", out]);
        assert_eq!(ran.status, Some(2), "{ran:?}");
        assert!(ran.stderr.contains("it is there and is no file"), "{}", ran.stderr);
    }
    assert!(!std::fs::metadata(&socket).unwrap().is_file());
}

#[test]
fn wrong_conversions_are_refused() {
    let folder = Folder::with("t.ssdsim", TRACE);
    folder.write("w.toml", "[trace]\npath = \"t.ssdsim\"\n");
    folder.write("u.ssdsim", "0 0 0 8 1\n5 0 0 8\n");
    let before = folder.files();
    let refused = |args: &[&str], message: &str| {
        let ran = convert(&folder, args);
        assert_eq!(ran.status, Some(2), "{args:?}: {ran:?}");
        assert_eq!(ran.stdout, "", "{ran:?}");
        match message.strip_suffix("...") {
            Some(start) => {
                assert!(ran.stderr.starts_with(&format!("error: {start}")), "{}", ran.stderr);
            }
            None => assert_eq!(ran.stderr, format!("error: {message}\n")),
        }
        assert_eq!(folder.files(), before, "{args:?} left or changed a file");
    };
    refused(&["t.ssdsim", "x.csv"], "x.csv: its name does not say the format; add --to with ...");
    refused(&["t.ssdsim", "-"], "-: its name does not say the format; add --to with ...");
    let ran = convert(&folder, &["t.ssdsim", "x.csv"]);
    let (_, listed) = ran.stderr.trim_end().split_once("one of ").expect("a list of formats");
    assert!(listed.split(", ").eq(FormatInfo::writable()), "{listed}");
    let near = "--to spcc: there is no such format; did you mean spc?";
    refused(&["t.ssdsim", "x", "--to", "spcc"], near);
    let same = "t.ssdsim: it is read, too; write to another file";
    refused(&["t.ssdsim", "t.ssdsim"], same);
    refused(&["w.toml", "t.ssdsim"], same);
    refused(&["facebook", "w.toml", "./t.ssdsim"], "./t.ssdsim: it is read, too; ...");
    refused(&["u.ssdsim", "x.fyt"], "u.ssdsim:2: 4 columns instead of 5; ...");
    refused(&["u.ssdsim", "facebook", "x.fyt"], "u.ssdsim:2: 4 columns instead of 5; ...");
    let raw = "raw-1-256-128: its raw operations name places of a device; flashyard trace convert \
               raw-1-256-128 raw.fyt --device framework writes them to a trace";
    refused(&["raw-1-256-128", "x.fyt"], raw);
    refused(&["moovie", "x.fyt"], "moovie: no such workload or file; did you mean movie?");
    refused(&["x.fyt"], "x.fyt: a workload and a file to write are needed");
    let twice = "-: standard input can be read only once: save it to a file";
    refused(&["-", "-", "x.fyt"], twice);
    let seed = "--seed: a trace has no seed; it is for generated workloads";
    refused(&["t.ssdsim", "x.fyt", "--seed", "1"], seed);
    let section = "--set queue.depth=3: only ...";
    refused(&["t.ssdsim", "x.fyt", "--set", "queue.depth=3"], section);
    let endless = ["random-read", "x.fyt", "--set", "pattern.requests=0"];
    refused(&endless, "pattern.requests: 0 has no end...");
    let timed = ["random-read", "x.fyt", "--set", "pattern.arrival=poisson"];
    refused(&timed, "pattern.arrival: poisson changes nothing, ...");
    let none = ["facebook", "x.fyt", "--set", "trace.fold=modulo"];
    refused(&none, "--set trace.fold=modulo: it would change nothing: ...");
}

/// Appends and actions go to the zones of the device that is named, as in a run on it.
#[test]
fn zones_are_those_of_the_device() {
    let folder = Folder::new();
    let keys = ["pattern.append=true", "pattern.zones=4", "pattern.requests=8"];
    let keys: Vec<_> = keys.iter().flat_map(|key| ["--set", key]).collect();
    let args = [&["random-write", "--device", "zn540-zns"], &keys[..]].concat();
    converted(&folder, &args, "z.fyt");
    let zones = |args: &[&str]| folder.run(&[&["run", "zn540-zns"], args].concat()).json();
    let own = zones(&[&["random-write", "--json", "--set", "stream.depth=1"], &keys[..]].concat());
    let there = zones(&["z.fyt", "--json", "--set", "stream.pacing=closed"]);
    assert_eq!(own["zones"]["appends"], 8);
    assert_eq!(there["zones"], own["zones"]);
}

#[test]
fn a_binary_trace_that_was_cut_is_refused() {
    let folder = Folder::with("t.txt", TRACE);
    let whole = converted(&folder, &["t.txt"], "t.fyt");
    folder.write("t.fyt", &whole[..whole.len() - 24]);
    let ran = folder.run(&["run", "t.fyt"]);
    assert_eq!(ran.status, Some(2));
    assert_eq!(
        ran.stderr,
        "error: t.fyt: there is no end behind record 5; the file was cut short: fetch or write it \
         again\n"
    );
}
