//! Workload files with patterns, several streams and phases: what they do, how keys of their parts
//! are set, and what is said about wrong ones.

use crate::support::{Folder, int, repository_file, without_command, without_names};
use serde_json::Value;

/// A small device that works on four requests at once.
const DEVICE: &str = "embedded-2x2";

/// Two streams, both closed loops.
const TWO: &str = r#"
[[stream]]
name = "log"
depth = 1
[stream.pattern]
base = "sequential-write"
requests = 40

[[stream]]
name = "queries"
pacing = "open"
[stream.pattern]
arrival = "poisson"
rate_per_s = 2_000
requests = 200
"#;

/// Three phases: a built-in workload, one that is written out, and two streams.
const PHASES: &str = r#"
[[phase]]
name = "fill"
measure = false
workload = "sequential-write"
requests = 20

[[phase]]
measure = false
[phase.pattern]
base = "random-write"
requests = 100
[phase.stream]
depth = 4

[[phase]]
name = "measured"
workload = "two.toml"
"#;

fn folder() -> Folder {
    let folder = Folder::with("two.toml", TWO);
    folder.write("phases.toml", PHASES);
    folder
}

#[track_caller]
fn json(folder: &Folder, args: &[&str]) -> Value {
    folder.run(&[&["run", "--json", "--check", DEVICE], args].concat()).json()
}

#[test]
fn a_built_in_pattern_is_a_closed_loop_of_its_depth() {
    let folder = Folder::new();
    for (name, reads, writes) in [("random-read", 300, 0), ("sequential-write", 0, 300)] {
        let run = json(&folder, &[name, "--set", "pattern.requests=300"]);
        assert_eq!(int(&run, "workload.reads"), reads);
        assert_eq!(int(&run, "workload.writes"), writes);
        assert_eq!(int(&run, "verdict.most_outstanding"), 31, "{name}: an arrival finds 31 others");
        let deeper = ["--set", "pattern.requests=300", "--set", "stream.depth=7"];
        let run = json(&folder, &[&[name], &deeper[..]].concat());
        assert_eq!(int(&run, "verdict.most_outstanding"), 6, "{name}");
    }
}

#[test]
fn a_pattern_in_a_file_starts_from_random_reads_or_from_its_base() {
    let folder = Folder::new();
    let check = |text: &str, args: &[&str]| {
        folder.write("w.toml", text);
        let expected = without_names(json(&folder, args));
        assert_eq!(without_names(json(&folder, &["w.toml"])), expected, "{text}");
    };
    check("[pattern]\nrequests = 99\n", &["random-read", "--set", "pattern.requests=99"]);
    let depth = ["mixed-70-30", "--set", "pattern.requests=99", "--set", "stream.depth=3"];
    check("[pattern]\nrequests = 99\nbase = \"mixed-70-30\"\n[stream]\ndepth = 3\n", &depth);
    check("stream.depth = 3\npattern = { base = \"mixed-70-30\", requests = 99 }\n", &depth);
    let mix = ["fin2", "--set", "mix.requests=99", "--set", "stream.depth=3"];
    check("[mix]\nbase = \"fin2\"\nrequests = 99\n[stream]\ndepth = 3\n", &mix);
    check("[mix]\nrequests = 9\n", &["oltp", "--set", "mix.requests=9"]);
    // A closed loop of a generated workload, and only its beginning.
    let closed = ["movie", "--set", "stream.pacing=closed", "--set", "phase.requests=77"];
    check(
        "[generator]\nbase = \"movie\"\n[stream]\npacing = \"closed\"\n[phase]\nrequests = 77\n",
        &closed,
    );
    assert_eq!(int(&json(&folder, &closed), "workload.requests"), 77);
}

#[test]
fn a_mix_is_an_open_loop_whose_requests_are_those_of_the_seed() {
    let folder = Folder::new();
    let run = json(&folder, &["olap", "--set", "mix.requests=5", "--seed", "42"]);
    let workload = &run["workload"];
    assert_eq!(workload["plan"][0]["streams"][0]["origin"], "mix");
    assert_eq!(workload["settings"]["interarrival_ms"], 155.56);
    // The first and the fifth of the published study's queries.
    assert_eq!(int(&run, "workload.reads"), 5);
    assert_eq!(int(&run, "workload.first_ns") / 1_000, 210_489);
    assert_eq!(int(&run, "workload.last_ns") / 1_000, 778_471);
    let other = json(&folder, &["olap", "--set", "mix.requests=5", "--seed", "43"]);
    assert_ne!(int(&other, "workload.first_ns"), int(&run, "workload.first_ns"));
}

#[test]
fn streams_have_their_own_requests_and_results() {
    let folder = folder();
    let run = json(&folder, &["two.toml"]);
    assert_eq!(int(&run, "workload.requests"), 240);
    assert_eq!(int(&run, "streams.log.requests"), 40);
    assert_eq!(int(&run, "streams.log.latency_ns.write.count"), 40);
    assert_eq!(int(&run, "streams.queries.latency_ns.read.count"), 200);
    let plan = &run["workload"]["plan"][0]["streams"];
    assert_eq!(plan[0]["name"], "log");
    assert_eq!(plan[0]["stream"]["pacing"], "closed");
    assert_eq!(plan[0]["settings"]["size_kib"], 128);
    assert_eq!(plan[1]["stream"]["pacing"], "open");
    assert_eq!(plan[1]["settings"]["arrival"], "poisson");
    let text = folder.run(&["run", DEVICE, "two.toml"]).text();
    let row = |name: &str| text.lines().find(|line| line.starts_with(name)).map(String::from);
    assert!(row("log ").is_some_and(|row| row.contains(" 40 ")), "{text}");
    assert!(row("queries ").is_some_and(|row| row.contains(" 200 ")), "{text}");
}

/// Where some phase has several streams, a stream counts in phases that it has to itself, before
/// and after. Its rate is that of its own time: in a closed loop depth / mean latency.
#[test]
fn a_stream_counts_in_every_phase_that_it_is_in() {
    let folder = Folder::new();
    let stream = |name: &str, requests: u64| {
        format!(
            "[[phase.stream]]\nname = \"{name}\"\ndepth = 1\n\
             [phase.stream.pattern]\nrequests = {requests}\nread_percent = 100\n"
        )
    };
    let phases = [stream("y", 500), stream("x", 100) + &stream("y", 300), stream("y", 1000)];
    let phases = phases.map(|streams| format!("[[phase]]\n{streams}"));
    folder.write("p.toml", phases.concat());
    let run = json(&folder, &["p.toml", "--set", "metrics.bin_ms=20"]);
    assert_eq!(int(&run, "workload.requests"), 1900);
    assert_eq!(int(&run, "streams.y.requests"), 1800);
    assert_eq!(int(&run, "streams.x.requests"), 100);
    let sum = |list: &Value| list.as_array().unwrap().iter().filter_map(Value::as_u64).sum::<u64>();
    let of = |name: &str| sum(&run["streams"][name]["bin_bytes"]);
    assert_eq!((of("x"), of("y")), (100 * 4096, 1800 * 4096));
    for name in ["x", "y"] {
        let stream = &run["streams"][name];
        let mean_ns = stream["latency_ns"]["all"]["mean"].as_f64().unwrap();
        let requests = stream["requests"].as_f64().unwrap();
        let active_ns = stream["active_ns"].as_f64().unwrap();
        assert!((requests * mean_ns / active_ns - 1.0).abs() < 1e-9, "{name}: {stream}");
    }
}

/// A stream that offers more than the device can do beside a closed loop: its queue grows with the
/// length of the run, however long the loop goes on. One that offers less has no such queue.
#[test]
fn the_queue_of_an_open_stream_is_judged_alone() {
    let folder = Folder::new();
    let grew = |rate: u64, requests: u64, beside: u64| {
        folder.write(
            "m.toml",
            format!(
                "[[stream]]\nname = \"open\"\npacing = \"open\"\n\
                 [stream.pattern]\nrequests = {requests}\narrival = \"poisson\"\n\
                 rate_per_s = {rate}\n\
                 [[stream]]\nname = \"closed\"\ndepth = 40\n\
                 [stream.pattern]\nrequests = {beside}\n"
            ),
        );
        json(&folder, &["m.toml"])["verdict"]["queue_grew"].as_bool().unwrap()
    };
    assert!(grew(40_000, 4_000, 10_000));
    assert!(grew(40_000, 8_000, 20_000));
    assert!(!grew(1_000, 500, 10_000));
}

/// A long request behind few small ones: the dies are as busy as the utilisation says, which counts
/// the time after the last arrival.
#[test]
fn the_verdict_says_how_busy_the_dies_were() {
    let folder = Folder::new();
    let mut rows: Vec<String> =
        (0..20).map(|n| format!("{} 0 {} 8 1", n * 1_000_000, 8 * n)).collect();
    rows.push("20000000 0 80000 512 0\n".to_string());
    folder.write("t.ssdsim", rows.join("\n"));
    let run = json(&folder, &["t.ssdsim"]);
    let busy = run["utilisation"]["dies"]["mean"].as_f64().unwrap();
    assert!(run["verdict"]["offered_load"].as_f64().unwrap() > 1.2 * busy);
    let text = folder.run(&["run", DEVICE, "t.ssdsim"]).text();
    let said = format!("the dies are busy {:.1} % of the time", 100.0 * busy);
    assert!(text.contains(&said), "{said}: {text}");
}

#[test]
fn phases_follow_one_another_and_only_measured_ones_count() {
    let folder = folder();
    let run = json(&folder, &["phases.toml"]);
    let phases = run["phases"].as_array().expect("a list");
    let found: Vec<(&str, bool, u64)> = phases
        .iter()
        .map(|phase| {
            let name = phase["name"].as_str().unwrap();
            (name, phase["measured"].as_bool().unwrap(), int(phase, "requests"))
        })
        .collect();
    assert_eq!(found, [("fill", false, 20), ("phase 2", false, 100), ("measured", true, 240)]);
    assert_eq!(int(&run, "workload.requests"), 240);
    assert_eq!(run["workload"]["plan"][1]["streams"][0]["stream"]["depth"], 4);
    let text = folder.run(&["run", DEVICE, "phases.toml"]).text();
    assert!(text.contains("\nphase 2 ") && text.contains("\nmeasured "), "{text}");
    assert!(text.contains("\nqueries "), "{text}");
}

#[test]
fn a_file_of_one_measured_phase_gives_the_results_of_its_workload() {
    let folder = folder();
    folder.write("one.toml", "[[phase]]\nname = \"phase 1\"\nworkload = \"two.toml\"\n");
    let expected = without_names(json(&folder, &["two.toml"]));
    assert_eq!(without_names(json(&folder, &["one.toml"])), expected);
}

#[test]
fn keys_of_every_part_can_be_set() {
    let folder = folder();
    let set = |file: &str, setting: &str| json(&folder, &[file, "--set", setting]);
    let run = set("two.toml", "stream.log.depth=9");
    assert_eq!(run["workload"]["plan"][0]["streams"][0]["stream"]["depth"], 9);
    let run = set("two.toml", "stream.queries.pattern.requests=11");
    assert_eq!(int(&run, "streams.queries.requests"), 11);
    assert_eq!(int(&run, "streams.log.requests"), 40);
    assert_eq!(int(&set("two.toml", "phase.requests=50"), "workload.requests"), 50);
    let phases = |run: &Value| -> Vec<u64> {
        run["phases"].as_array().unwrap().iter().map(|phase| int(phase, "requests")).collect()
    };
    assert_eq!(phases(&set("phases.toml", "phase.1.requests=7")), [7, 100, 240]);
    assert_eq!(phases(&set("phases.toml", "phase.2.pattern.requests=8")), [20, 8, 240]);
    assert_eq!(
        phases(&set("phases.toml", "phase.3.stream.log.pattern.requests=9")),
        [20, 100, 209]
    );
    assert_eq!(int(&set("phases.toml", "phase.2.measure=true"), "workload.requests"), 340);
}

#[test]
fn every_stream_has_a_seed_of_its_own_and_the_same_seed_gives_the_same_bytes() {
    let twin = "[[stream]]\nname = \"a\"\npattern.requests = 60\n\
                [[stream]]\nname = \"b\"\npattern.requests = 60\n";
    let folder = Folder::with("twins.toml", twin);
    let starts = |seed: &str| {
        let files = ["--out", "results", "--seed", seed];
        folder.run(&[&["run", DEVICE, "twins.toml"], &files[..]].concat()).text();
        folder.read("results/requests.parquet")
    };
    assert!(starts("1") == starts("1"));
    assert!(starts("1") != starts("2"));
    let hash = |text: &str| {
        folder.write("w.toml", text);
        json(&folder, &["w.toml"])["provenance"]["workload_sha256"].clone()
    };
    // The hash is that of the streams' hashes: two alike would not change with their order.
    let a = hash(
        "[[stream]]\nname = \"a\"\npattern.requests = 60\n[[stream]]\nname = \"b\"\npattern.requests = 50\n",
    );
    let b = hash(
        "[[stream]]\nname = \"a\"\npattern.requests = 50\n[[stream]]\nname = \"b\"\npattern.requests = 60\n",
    );
    assert_ne!(a, b);
    let run = json(&folder, &["twins.toml", "--seed", "5"]);
    assert_eq!(int(&run, "provenance.seed"), 5);
    assert_eq!(
        without_command(run),
        without_command(json(&folder, &["twins.toml", "--seed", "5"]))
    );
}

#[test]
fn a_trace_can_be_a_stream_and_a_phase() {
    let folder = Folder::with("traces/t.txt", "0 0 0 8 1\n1000000 0 64 8 0\n");
    folder.write(
        "w.toml",
        "[[stream]]\nname = \"recorded\"\ntrace.path = \"traces/t.txt\"\n\
         [[stream]]\nname = \"noise\"\npattern.requests = 5\n",
    );
    let run = json(&folder, &["w.toml"]);
    assert_eq!(int(&run, "streams.recorded.requests"), 2);
    assert_eq!(run["workload"]["plan"][0]["streams"][0]["from"], "traces/t.txt");
    folder.write(
        "p.toml",
        "[[phase]]\nworkload = \"traces/t.txt\"\n[[phase]]\nworkload = \"w.toml\"\n",
    );
    let run = json(&folder, &["p.toml", "--set", "phase.1.trace.time_scale=0.5"]);
    assert_eq!(int(&run, "workload.requests"), 2 + 7);
    assert_eq!(run["provenance"]["seed"], 1, "one of the streams is generated");
}

/// A file with this text is refused with these lines.
#[track_caller]
fn refused(text: &str, messages: &[&str]) {
    let folder = folder();
    folder.write("w.toml", text);
    refused_args(&folder, &["w.toml"], messages);
}

#[track_caller]
fn refused_args(folder: &Folder, args: &[&str], messages: &[&str]) {
    let ran = folder.run(&[&["run", "--json", DEVICE], args].concat());
    assert_eq!((ran.status, ran.stdout.as_str()), (Some(2), ""), "{ran:?}");
    let lines: Vec<&str> = ran.stderr.trim_start_matches("error: ").lines().collect();
    assert_eq!(lines, messages);
}

#[test]
fn wrong_patterns_are_refused() {
    refused(
        "[pattern]\nacess = \"zipf\"\naccess = \"zip\"\nsize_kib = 0.3\nread_percent = 101\n",
        &[
            "w.toml:2: pattern.acess: unknown key; did you mean pattern.access?",
            "w.toml:3: pattern.access: zip is not one of uniform, sequential, zipf, fio_zipf, \
             hot_cold, strided, self_similar, zoned; did you mean zipf?",
            "w.toml:4: pattern.size_kib: 0.3 is not a number (KiB) from 0.5 to 1048576 in steps of 0.5",
            "w.toml:5: pattern.read_percent: 101 is not a number (%) from 0 to 100 in steps of 0.0001",
        ],
    );
    refused(
        "[pattern]\nbase = \"random-reed\"\n",
        &[
            "w.toml:2: pattern.base: random-reed is not a built-in pattern; did you mean random-read?",
        ],
    );
    refused(
        "[pattern]\ntrim_percent = 1\n",
        &[
            "pattern.trim_percent: reads and trims are 101 % together; lower pattern.read_percent or \
           pattern.trim_percent to 100 % in all",
        ],
    );
    refused(
        "[pattern]\narrival = \"constant\"\n",
        &["pattern.arrival: constant changes nothing, pacing = \"closed\" issues requests when \
           others are answered; set the stream's pacing to open or think"],
    );
    refused(
        "[pattern]\nrequests = 0\n",
        &["pattern.requests: 0 has no end, and neither has the phase; set a number, or requests, \
           time_ms or stable_percent of the phase"],
    );
    refused(
        "[phase]\nstable_percent = 1\n[pattern]\nrequests = 0\n",
        &[
            "pattern.requests: 0 has no end, and stable_percent of the phase does not end it, because \
           nothing writes; set a number, or requests or time_ms of the phase",
        ],
    );
    refused(
        "[pattern]\n[generator]\n[trace]\npath = \"x\"\n",
        &["w.toml: [trace], [generator] and [pattern] exclude each other"],
    );
}

#[test]
fn wrong_streams_are_refused() {
    refused(
        "[[stream]]\nname = \"a\"\ndepht = 3\n[stream.pattern]\nrequest = 5\n[stream.patern]\n",
        &[
            "w.toml:3: depht: unknown key; did you mean depth?",
            "w.toml:5: pattern.request: unknown key; did you mean pattern.requests?",
            "w.toml:6: [patern]: unknown section; did you mean pattern?",
        ],
    );
    refused(
        "[[stream]]\n[stream.pattern]\n[[stream]]\nname = \"a b\"\npattern.requests = 1\n\
         [[stream]]\nname = \"c\"\npattern.requests = 1\n[[stream]]\nname = \"c\"\npattern.requests = 1\n",
        &[
            "w.toml:1: name: each stream has one, of letters, digits, - and _",
            "w.toml:3: name: each stream has one, of letters, digits, - and _",
            "w.toml:9: name: there are two streams c",
        ],
    );
    refused(
        "[[stream]]\nname = \"a\"\n",
        &[
            "w.toml:1: none of trace.path, [generator], [pattern], [mix], [profile], [files] and [raw] says where requests \
             come from",
        ],
    );
    refused(
        "[pattern]\n[[stream]]\nname = \"a\"\n[stream.trace]\npath = \"x\"\n[stream.pattern]\n",
        &[
            "w.toml: [pattern] and [[stream]] exclude each other",
            "w.toml:2: [trace] and [pattern] exclude each other",
        ],
    );
    refused(
        "[pattern]\n[stream]\npacing = \"close\"\ndepth = 0\n",
        &[
            "w.toml:3: stream.pacing: close is not one of open, closed, think, fast, spaced; \
             did you mean closed?",
            "w.toml:4: stream.depth: 0 is not a whole number (requests) from 1 to 65536",
        ],
    );
    refused(
        "[[streams]]\nname = \"a\"\n[generator]\n",
        &["w.toml:1: [[streams]]: unknown section; did you mean stream?"],
    );
}

#[test]
fn wrong_phases_are_refused() {
    refused(
        "[[phase]]\nworkload = \"random-read\"\nmesure = false\n[[phase]]\nworkload = 3\n\
         [[phase]]\nname = \"x\"\n[[phase]]\nworkload = \"movie\"\n[phase.stream]\ndepth = 3\n",
        &[
            "w.toml:3: mesure: unknown key; did you mean measure?",
            "w.toml:5: workload: a string in quotes is needed",
            "w.toml:6: none of trace.path, [generator], [pattern], [mix], [profile], [files] and [raw] says where requests \
             come from",
            "w.toml:8: [stream] and workload exclude each other",
        ],
    );
    refused(
        "[generator]\n[[phase]]\nworkload = \"movie\"\n[phase.pattern]\n",
        &[
            "w.toml: [generator] and [[phase]] exclude each other",
            "w.toml:2: [pattern] and workload exclude each other",
        ],
    );
    refused(
        "[[phase]]\nworkload = \"moovie\"\n",
        &["moovie: no such workload or file; did you mean movie?"],
    );
    let nested = "phases.toml: a phase cannot use a file that has [phase]; write it into the phase";
    refused("[[phase]]\nworkload = \"phases.toml\"\n", &[nested]);
    let itself = "w.toml: a phase cannot use a file that has [phase]; write it into the phase";
    refused("[[phase]]\nworkload = \"w.toml\"\n", &[itself]);
}

#[test]
fn settings_that_reach_nothing_are_refused() {
    let folder = folder();
    let check = |file: &str, setting: &str, message: &str| {
        let message = format!("--set {setting}: {message}");
        refused_args(&folder, &[file, "--set", setting], &[&message]);
    };
    let idle = "it would change nothing: the workload is";
    check("movie", "pattern.requests=3", &format!("{idle} generated"));
    check("random-read", "generator.requests=3", &format!("{idle} a pattern"));
    check("two.toml", "stream.log.trace.fold=modulo", &format!("{idle} a pattern"));
    let near = "did you mean stream.log.depth?";
    check("two.toml", "stream.lag.depth=3", &format!("stream.lag.depth: unknown key; {near}"));
    let near = "did you mean phase.1.requests?";
    check("phases.toml", "phase.4.requests=3", &format!("phase.4.requests: unknown key; {near}"));
}

#[test]
fn an_endless_pattern_ends_with_its_phase() {
    let folder = Folder::new();
    let endless = ["random-write", "--set", "pattern.requests=0"];
    for (limit, by) in [("phase.requests=70", "requests"), ("phase.time_ms=30", "time")] {
        let run = json(&folder, &[&endless[..], &["--set", limit]].concat());
        assert_eq!(run["phases"][0]["ended_by"], by);
        assert_eq!(int(&run, "workload.requests") == 70, by == "requests");
    }
    let args = [&["trace", "info"], &endless[..]].concat();
    assert_eq!(folder.run(&args).status, Some(2));
    folder.write("w.toml", "[pattern]\nrequests = 0\n[phase]\nrequests = 9\n");
    let ran = folder.run(&["trace", "info", "w.toml"]);
    let message = "error: pattern.requests: 0 has no end; set a number\n";
    assert_eq!((ran.status, ran.stderr.as_str()), (Some(2), message));
}

#[test]
fn a_run_of_which_nothing_is_measured_says_so() {
    let folder = Folder::new();
    let few = ["random-write", "--set", "pattern.requests=20", "--set", "phase.measure=false"];
    let run = json(&folder, &few);
    assert_eq!(int(&run, "workload.requests"), 0);
    assert_eq!(int(&run["phases"][0], "requests"), 20);
    let text = folder.run(&[&["run", DEVICE], &few[..]].concat()).text();
    assert!(text.ends_with("nothing was measured: set measure = true in a phase\n"), "{text}");
}

#[test]
fn streams_that_the_device_paces_have_no_statistics() {
    let folder = folder();
    let refused = |args: &[&str], message: &str| {
        let ran = folder.run(args);
        assert_eq!((ran.status, ran.stderr), (Some(2), format!("error: {message}\n")));
    };
    let closed = "two.toml: of several streams each needs requests at times of its own; the pacing \
                  of log is closed, not open";
    refused(&["trace", "info", "two.toml"], closed);
    refused(&["trace", "convert", "two.toml", "two.fyt"], closed);
    refused(&["trace", "fit", "two.toml", "--out", "twin.toml"], closed);
    let phases = "phases.toml: it has several phases, and the device decides when each begins; give \
                  each a file of its own";
    refused(&["trace", "info", "phases.toml"], phases);
    // The pacing of a stream of several can be set.
    let open = ["trace", "info", "two.toml", "--json", "--set", "stream.log.pacing=open"];
    assert_eq!(int(&folder.run(&open).json(), "writes"), 40);
    let info =
        folder.run(&["trace", "info", "random-read", "--set", "pattern.requests=9", "--json"]);
    assert_eq!(int(&info.json(), "reads"), 9);
}

#[test]
fn the_examples_of_the_document_run() {
    let document = repository_file("docs/WORKLOADS.md");
    let folder = Folder::new();
    let blocks: Vec<&str> = document.split("```toml\n").skip(1).collect();
    assert!(blocks.len() >= 3, "the document has examples");
    let mut names = Vec::new();
    for block in blocks {
        let text = block.split("```").next().expect("a block ends");
        let name = text.strip_prefix("# ").and_then(|rest| rest.lines().next());
        let name = name.expect("an example starts with the name of its file");
        folder.write(name, text);
        let raw = text.contains("[raw]") || text.contains(".raw]");
        names.push((name, if raw { "framework" } else { DEVICE }));
    }
    for block in document.split("```text\n# ").skip(1) {
        let name = block.lines().next().expect("an example starts with the name of its file");
        let text = block.split("```").next().expect("a block ends");
        folder.write(name, text.split_once('\n').expect("rows").1);
    }
    for (name, device) in names {
        let run = folder.run(&["run", device, name, "--json"]).json();
        assert!(int(&run, "workload.requests") > 0, "{name}");
    }
}
