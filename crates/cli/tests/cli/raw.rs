//! Raw operations at the command line: workload files, lists, replacements that are told, and what
//! is refused.

use crate::support::{Folder, int};

/// The device `framework`, smaller.
const SMALL: [&str; 4] =
    ["--set", "geometry.blocks_per_plane=16", "--set", "geometry.pages_per_block=8"];

#[test]
fn a_list_is_done_operation_by_operation() {
    let folder = Folder::with("w.toml", "[raw]\npath = \"ops.csv\"\n");
    folder.write(
        "ops.csv",
        "arrival_us,op,die,block,page\n0,p,0,3,0\n0,p,3,2,0\n9000,r,0,3,0\n9000,e,3,2\n",
    );
    let phases = ["bus.precision=phases", "channel.arbitration=commands_first"];
    let mut args = vec!["run", "framework", "w.toml", "--check", "--set", "ftl.none.order=checked"];
    args.extend(phases.iter().flat_map(|setting| ["--set", setting]));
    let run = folder.run(&[&args[..], &["--json"]].concat()).json();
    let latency = |class: &str| int(&run, &format!("latency_ns.{class}.max"));
    assert_eq!(latency("read"), 360 + 75_000 + 163_840);
    // Two programs share the channel; the second waits for the data of the first.
    assert_eq!(latency("write"), 2 * (360 + 163_840) + 1_500_000);
    // The command of the read goes first.
    assert_eq!(latency("trim"), 2 * 360 + 5_000_000);
    assert_eq!(int(&run, "flash.array_ops.erases.host"), 1);
    folder.write("ops.csv", "0,p,0,3,1\n");
    let refused = folder.run(&args);
    assert_eq!(refused.status, Some(2), "{refused:?}");
    let what = "request 0 programs page 1 of block 3 of die 0, where page 0 comes next";
    assert!(refused.stderr.contains(what), "{refused:?}");
    folder.write("ops.csv", "0,p,4,3,1\n");
    let refused = folder.run(&args);
    assert!(refused.stderr.contains("ops.csv:1: die is not below 4"), "{refused:?}");
}

#[test]
fn appended_operations_run_under_the_checker_and_replacements_are_told() {
    let folder = Folder::with(
        "w.toml",
        "[raw]\nbase = \"raw-1-256-128\"\nplacement = \"append\"\nrequests = 6_000\n\
         erase_weight = 32\n[stream]\npacing = \"fast\"\n",
    );
    let args = ["run", "framework", "w.toml", "--check", "--set", "ftl.none.order=checked"];
    let run = folder.run(&[&args[..], &SMALL, &["--json"]].concat()).json();
    assert_eq!(int(&run, "latency_ns.all.count"), 6_000);
    assert!(int(&run, "flash.array_ops.erases.host") > 400, "{run}");
    let changes = run["workload"]["changes"].as_array().expect("a list");
    let told = |what: &str| changes.iter().any(|note| note.as_str().unwrap().contains(what));
    assert!(told("nothing was programmed on the die"), "{changes:?}");
    // A phase behind another one begins with blocks that hold something.
    let phase = "[[phase]]\nrequests = 900\n[phase.raw]\nplacement = \"append\"\n";
    folder.write("w.toml", format!("{phase}{phase}erased = false\n"));
    let run = folder.run(&[&args[..], &SMALL, &["--json"]].concat()).json();
    assert_eq!(int(&run, "latency_ns.all.count"), 1_800);
    folder.write("w.toml", format!("{phase}{phase}"));
    let refused = folder.run(&[&args[..], &SMALL].concat());
    assert_eq!(refused.status, Some(2), "{refused:?}");
    assert!(refused.stderr.contains("which is not erased"), "{refused:?}");
}

/// The random times follow the seed of the run, and each stream has its own.
#[test]
fn spaced_streams_follow_the_seed() {
    let folder = Folder::new();
    let run = |args: &[&str]| {
        let all = [&["run", "framework", "raw-1-256-512", "--set", "raw.requests=300"], args];
        folder.run(&[&all.concat()[..], &["--json"]].concat()).json()["throughput"].clone()
    };
    assert_eq!(run(&[]), run(&["--seed", "1"]));
    assert_ne!(run(&[]), run(&["--seed", "2"]));
    assert_ne!(run(&[]), run(&["--set", "stream.gap_seed=2"]));
}

/// `trace info` takes no device: it says how a trace of the operations is made, and that works.
#[test]
fn a_trace_of_raw_operations_has_statistics() {
    let folder = Folder::new();
    let few = ["--set", "raw.requests=300"];
    let ran = folder.run(&[&["trace", "info", "raw-1-256-128"][..], &few].concat());
    let command = "flashyard trace convert raw-1-256-128 raw.fyt --device framework";
    let said = ran.stderr.contains(&format!("{command} writes them to a trace"));
    assert!(ran.status == Some(2) && said, "{ran:?}");
    let words: Vec<&str> = command.split(' ').skip(1).chain(few).collect();
    folder.run(&words).text();
    let info = folder.run(&["trace", "info", "raw.fyt", "--json"]).json();
    let all = ["reads", "writes", "trims"].map(|kind| info[kind].as_u64().expect("a number"));
    assert_eq!(all.iter().sum::<u64>(), 300);
}

#[test]
fn what_makes_no_sense_is_refused() {
    let refused = |args: &[&str], what: &str| {
        let folder = Folder::with("w.toml", "[raw]\npath = \"ops.csv\"\nrequests = 5\n");
        folder.write("ops.csv", "");
        let ran = folder.run(&[&["run"], args].concat());
        assert_eq!(ran.status, Some(2), "{args:?}: {ran:?}");
        assert!(ran.stderr.contains(what), "{args:?}: {}", ran.stderr);
    };
    refused(&["drs", "raw-1-256-128"], "take the device framework, or set ftl.scheme = \"none\"");
    refused(&["framework", "w.toml"], "raw.path: the file lists the operations");
    let set = |key: &'static str| ["framework", "raw-1-256-128", "--set", key];
    refused(&set("raw.requests=0"), "raw.requests: 0 has no end");
    refused(
        &set("stream.pacing=open"),
        "stream.pacing: \"open\" issues operations at recorded times",
    );
    refused(&set("stream.gap_max_us=50"), "stream.gap_max_us: 50 is below gap_min_us = 100");
    refused(&set("ftl.copyback=true"), "ftl.copyback");
    refused(&set("buffer.bytes=65536"), "buffer.bytes: ftl.scheme = \"none\" has no write buffer");
    refused(&set("raw.range_percent=0.01"), "raw.range_percent: no block");
}

/// Below saturation the streams of a case study get what they ask for, and a burst more.
#[test]
fn a_burst_lasts_as_long_as_it_is_said() {
    let stream = |name: &str, burst: &str| {
        format!(
            "[[stream]]\nname = \"{name}\"\ngap_min_us = 8000\ngap_max_us = 12000\n{burst}\
             [stream.raw]\nbase = \"raw-1-256-256\"\nrequests = 0\n"
        )
    };
    let burst =
        "burst_from_ms = 1000\nburst_until_ms = 2000\nburst_min_us = 2000\nburst_max_us = 3000\n";
    let text = format!("[phase]\ntime_ms = 3000\n{}{}", stream("a", burst), stream("b", ""));
    let folder = Folder::with("w.toml", &text);
    let run = folder.run(&["run", "framework", "w.toml", "--json", "--check"]).json();
    let count = |name: &str| int(&run, &format!("streams.{name}.latency_ns.all.count"));
    // 100 a second, and 400 in the burst.
    assert!((580..620).contains(&count("a")), "{}", count("a"));
    assert!((290..310).contains(&count("b")), "{}", count("b"));
}
