//! `why`: cases whose answer is known by construction, and sums that have to agree with `run`.

use crate::support::{Folder, int, quantity};
use serde_json::Value;
use std::collections::BTreeSet;

/// tR = 100 us, tPROG = 1000 us, tBERS = 5000 us, one die, no transfer time, the map in memory.
const DEVICE: &[&str] = &[
    "--set",
    "geometry.blocks_per_plane=512",
    "--set",
    "nand.read_us=100",
    "--set",
    "nand.program_us=1000",
    "--set",
    "nand.erase_us=5000",
    "--set",
    "map.store=resident",
];

/// A trace of the format `ssdsim` from times in microseconds, pages and whether they are read.
fn trace(requests: &[(u64, u64, bool)]) -> String {
    let line = |(us, page, reads): &(u64, u64, bool)| {
        format!("{} 0 {} 8 {}\n", us * 1_000, page * 8, u8::from(*reads))
    };
    requests.iter().map(line).collect()
}

/// Explains a request of a trace on the device above with more settings.
#[track_caller]
fn why(requests: &[(u64, u64, bool)], order: usize, more: &[&str]) -> Value {
    let folder = Folder::with("t.txt", trace(requests));
    let order = order.to_string();
    let mut args = vec!["why", "drs", "t.txt", "--json", "--request", &order];
    args.extend(DEVICE);
    for setting in more {
        args.extend(["--set", setting]);
    }
    let run = folder.run(&args).json();
    adds_up(&run);
    run
}

/// The times of each request add up to its latency and parts, and those of all to the rows.
#[track_caller]
fn adds_up(run: &Value) {
    let list = |value: &Value| value.as_array().expect("a list").clone();
    let rows = list(&run["rows"]);
    let sum = |items: &[Value]| items.iter().map(|item| int(item, "ns")).sum::<u64>();
    assert_eq!(sum(&rows), int(run, "latency_ns"));
    let parts = run["parts_ns"].as_object().expect("parts");
    for (name, ns) in parts {
        let of: Vec<_> = rows.iter().filter(|row| row["part"] == **name).cloned().collect();
        assert_eq!(sum(&of), ns.as_u64().unwrap(), "{name}");
    }
    for row in rows.iter().filter(|row| row["part"].as_str().unwrap().starts_with("die_")) {
        assert!(row["op"].is_string(), "nobody is to blame for {row}");
    }
    for request in list(&run["slowest"]) {
        let steps = list(&request["steps"]);
        assert_eq!(sum(&steps), int(&request, "latency_ns"));
        for (name, ns) in request["parts_ns"].as_object().expect("parts") {
            let of: Vec<_> = steps.iter().filter(|step| step["part"] == **name).cloned().collect();
            assert_eq!(sum(&of), ns.as_u64().unwrap(), "{name} of {request}");
        }
        for step in steps {
            let span = (int(&step, "from_ns"), int(&step, "until_ns"));
            assert!(span.1 - span.0 >= int(&step, "ns"), "{step}");
            assert!(span.0 >= int(&request, "arrival_ns"), "{step}");
            assert!(span.1 <= int(&request, "completion_ns"), "{step}");
        }
    }
}

/// The rows of a run as part, operation, purpose, suspension and microseconds.
fn rows(run: &Value) -> Vec<(String, String, String, String, u64)> {
    let text = |value: &Value| value.as_str().unwrap_or("-").to_string();
    let row = |row: &Value| {
        let ns = int(row, "ns");
        assert_eq!(ns % 1_000, 0);
        let words = ["part", "op", "purpose", "suspension"].map(|name| text(&row[name]));
        let [part, op, purpose, suspension] = words;
        (part, op, purpose, suspension, ns / 1_000)
    };
    run["rows"].as_array().unwrap().iter().map(row).collect()
}

/// A row as [`rows`] has it.
fn row(
    part: &str,
    op: &str,
    purpose: &str,
    suspension: &str,
    us: u64,
) -> (String, String, String, String, u64) {
    (part.to_string(), op.to_string(), purpose.to_string(), suspension.to_string(), us)
}

/// The die programs from 0 to 1000, the read arrives at 300.
#[test]
fn a_read_in_the_middle_of_a_program_waits_for_all_that_is_left_of_it() {
    let run = why(&[(0, 0, false), (300, 1, true)], 1, &[]);
    let own = row("array", "read", "host", "-", 100);
    assert_eq!(rows(&run), [row("die_program", "program", "host", "never", 700), own]);
    let step = &run["slowest"][0]["steps"][0];
    assert_eq!((int(step, "from_ns"), int(step, "until_ns")), (300_000, 1_000_000));
    assert_eq!((int(step, "request"), int(step, "die")), (0, 0));
    assert_eq!(run["dies"][0]["ns"], 700_000);
}

/// The program is suspended at 100, the array free at 120, the first read over at 220. Then 900 us
/// of the program are left: it ends at 1120. The second read came at 500.
#[test]
fn a_program_that_has_used_up_its_suspension_makes_reads_wait() {
    let keys =
        ["policy.command=rcf", "nand.program_suspends=1", "nand.suspend_us=20", "nand.resume_us=0"];
    let requests = [(0, 0, false), (100, 1, true), (500, 2, true)];
    let first = why(&requests, 1, &keys);
    let own = row("array", "read", "host", "-", 100);
    let leaves = row("die_program", "program", "host", "under_way", 20);
    assert_eq!(rows(&first), [own.clone(), leaves]);
    let second = why(&requests, 2, &keys);
    assert_eq!(rows(&second), [row("die_program", "program", "host", "used_up", 620), own]);
    let finding = second["finding"].as_str().unwrap();
    assert!(finding.contains("that had used up their 1 suspension"), "{finding}");
    // The program itself waited for the first read while it was suspended.
    let program = why(&requests, 0, &keys);
    let own = row("array", "program", "host", "-", 1_000);
    let suspended = row("die_program", "program", "host", "-", 20);
    assert_eq!(rows(&program), [own, row("die_read", "read", "host", "-", 100), suspended]);
}

/// Pulses of 300 us, counted back from the end: the program is suspended at 400, when 600 us of it
/// are left. The read that comes at 210 begins at 420. The one at 1050 meets the last 90 us.
#[test]
fn a_read_in_a_pulse_waits_for_its_end() {
    let keys = [
        "policy.command=rcf",
        "nand.program_suspends=9",
        "nand.suspend_us=20",
        "nand.resume_us=0",
        "nand.pulse_us=300",
    ];
    let requests = [(0, 0, false), (210, 1, true), (1_050, 2, true)];
    let own = row("array", "read", "host", "-", 100);
    let leaves = row("die_program", "program", "host", "under_way", 20);
    let wait = |suspension: &str, us| row("die_program", "program", "host", suspension, us);
    assert_eq!(rows(&why(&requests, 1, &keys)), [wait("pulse", 190), own.clone(), leaves]);
    assert_eq!(rows(&why(&requests, 2, &keys)), [own, wait("about_to_end", 70)]);
}

/// Each page is sensed again once, which takes 105 us: the first read itself, and the second
/// behind it.
#[test]
fn a_page_that_is_sensed_again_is_named() {
    let keys = [
        "state.initial=full",
        "retry.chance_percent=100",
        "retry.again_percent=0",
        "retry.step_us=5",
    ];
    let requests = [(0, 0, true), (50, 1, true)];
    let first = why(&requests, 0, &keys);
    let (sense, again) =
        (row("array", "read", "host", "-", 100), row("retry", "read", "host", "-", 105));
    assert_eq!(rows(&first), [again.clone(), sense.clone()]);
    let second = why(&requests, 1, &keys);
    assert_eq!(rows(&second), [row("die_read", "read", "host", "-", 155), again, sense]);
}

/// Two reads of one map page that is not cached: the first fetches it, the second waits for that.
#[test]
fn a_miss_of_the_map_cache_is_named() {
    let requests = [(0, 0, true), (50, 1, true)];
    let run = why(&requests, 0, &["map.store=line_cache"]);
    let own = row("array", "read", "host", "-", 100);
    assert_eq!(rows(&run), [row("own_map", "read", "map_fetch", "-", 100), own]);
    let run = why(&requests, 1, &["map.store=line_cache"]);
    let row = run["rows"].as_array().unwrap().iter().find(|row| row["part"] == "delaying").unwrap();
    assert_eq!((int(row, "ns"), row["waits_for"].as_str()), (50_000, Some("map_fetch")));
    assert_eq!((row["op"].as_str(), row["purpose"].as_str()), (Some("read"), Some("map_fetch")));
}

/// The tail that `why` explains is that of the report, whatever the device.
#[test]
fn the_parts_are_those_of_the_run() {
    let folder = Folder::new();
    let cases: &[&[&str]] = &[
        &["small-full", "mixed-70-30", "pattern.requests=3000"],
        &[
            "small-full",
            "mixed-70-30",
            "pattern.requests=3000",
            "nand.program_suspends=2",
            "nand.erase_suspends=3",
            "policy.command=rcf",
            "nand.cache_read=true",
        ],
        &["drs", "facebook", "generator.requests=1500"],
        &["embedded-2x2", "mixed-70-30", "pattern.requests=3000", "buffer.bytes=262144"],
        &["drive-mlc", "mixed-70-30", "pattern.requests=1000"],
        &["embedded-2x2", "mixed-70-30", "pattern.requests=2000", "bus.precision=requests"],
        &["nvme-tlc", "mixed-70-30", "pattern.requests=3000"],
        &["wd1600bekt", "mixed-70-30", "pattern.requests=300"],
    ];
    for case in cases {
        let mut inputs = case[..2].to_vec();
        case[2..].iter().for_each(|setting| inputs.extend(["--set", setting]));
        let run = folder.run(&[&["run", "--json"], &inputs[..]].concat()).json();
        for class in ["read", "write"] {
            let asked = ["why", "--json", "--class", class];
            let why = folder.run(&[&asked[..], &inputs].concat()).json();
            adds_up(&why);
            assert_eq!(why["parts_ns"], run["latency_parts_tail_ns"][class]["p99"], "{case:?}");
            assert_eq!(why["percentile_ns"], run["latency_ns"][class]["p99"], "{case:?}");
            assert!(int(&why, "requests") > 0 && int(&why, "of") > 0);
        }
    }
}

#[test]
fn garbage_collection_and_flushes_are_named_with_their_causes() {
    let folder = Folder::new();
    let work = ["why", "small-full", "random-write", "--set", "pattern.requests=3000", "--json"];
    let run = folder.run(&work).json();
    let finding = run["finding"].as_str().unwrap();
    assert!(finding.contains("garbage collection, which began at 12 free blocks"), "{finding}");
    let steps = run["slowest"][0]["steps"].as_array().unwrap();
    let copy = steps.iter().find(|step| step["victim"].is_u64()).expect("a step behind a job");
    assert!(int(copy, "free_blocks") <= 12 && int(copy, "valid") > 0, "{copy}");
    // Twenty writes fill a buffer of four units: the last waits for lines, behind flushes.
    let writes: Vec<_> = (0..20).map(|page| (page, page, false)).collect();
    let keys = ["buffer.bytes=16384", "buffer.access_ns=0", "buffer.ps_per_byte=0"];
    let run = why(&writes, 19, &keys);
    let flush = run["rows"].as_array().unwrap().iter().find(|row| row["part"] == "flush");
    assert!(int(flush.expect("it waits for a line"), "ns") >= 1_000_000, "{run}");
    let reads = [(0, 0, false), (0, 1, false), (0, 2, false), (0, 3, false), (10, 9, true)];
    let run = why(&reads, 4, &keys);
    let words = run["rows"][0]["words"].as_str().unwrap();
    assert!(words.contains("programs of buffer flushes"), "{words}");
}

#[test]
fn a_comparison_says_what_the_second_value_does() {
    let requests = [(0, 0, false), (300, 1, true)];
    let folder = Folder::with("t.txt", trace(&requests));
    let vary = ["why", "drs", "t.txt", "--class", "read", "--vary", "nand.program_us=1000,500"];
    let text = folder.run(&[&vary[..], DEVICE].concat()).text();
    let first = text.lines().take(3).collect::<Vec<_>>().join(" ");
    let said = "with nand.program_us=500 p99 of reads falls from 800 us to 300 us: 500 us less behind \
                programs of other requests that cannot be suspended";
    assert!(first.starts_with(said), "{text}");
    let runs = folder.run(&[&vary[..], DEVICE, &["--json"]].concat()).json();
    let settings: Vec<_> = runs.as_array().unwrap().iter().map(|run| &run["setting"]).collect();
    assert_eq!(settings, ["nand.program_us=1000", "nand.program_us=500"]);
}

#[test]
fn the_text_fits_a_screen() {
    let folder = Folder::new();
    for args in [
        &["why", "drs", "facebook", "--set", "generator.requests=1500"][..],
        &["why", "small-full", "mixed-70-30", "--set", "pattern.requests=3000", "--slowest", "3"],
        &[
            "why",
            "small-full",
            "mixed-70-30",
            "--set",
            "pattern.requests=2000",
            "--vary",
            "gc.preemptible=true,false",
        ],
    ] {
        let text = folder.run(args).text();
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
        assert!(text.lines().count() <= 60, "{text}");
    }
}

/// Where no request was chosen, no figure of one is said.
#[test]
fn a_class_without_a_request_has_no_figure() {
    let folder = Folder::with("t.txt", trace(&[(0, 0, true)]));
    for (args, said) in [
        (&["--class", "write"][..], "p99 of writes: no such request was answered\n"),
        (&["--class", "trim", "--slowest", "3"], "the mean of the slowest 3: no such request"),
        (&["--class", "write", "--vary", "queue.depth=1,4"], "p99 of writes: no such request"),
    ] {
        let text = folder.run(&[&["why", "drs", "t.txt"], args].concat()).text();
        assert!(text.starts_with(said) && !text.contains("0 ns"), "{text}");
    }
}

/// There may be fewer requests than were asked for.
#[test]
fn the_slowest_are_at_most_all() {
    let folder = Folder::with("t.txt", trace(&[(0, 0, true), (900, 8, true)]));
    let text = |most: &str| folder.run(&["why", "drs", "t.txt", "--slowest", most]).text();
    assert!(text("10000000000").starts_with("the mean of all 2 requests is "));
    assert!(text("2").starts_with("the mean of the slowest 2 is "));
}

#[test]
fn what_cannot_be_explained_is_refused() {
    let folder = Folder::with("t.txt", trace(&[(0, 0, true)]));
    for (args, said) in [
        (&["--request", "1"][..], "--request 1: the workload has 1 requests, numbered from 0"),
        (&["--above", "99"], "a percentile such as p50, p99 or p99.9 is needed"),
        (&["--above", "p100"], "not in p0.01..p99.99"),
        (&["--vary", "queue.depth=1"], "why compares two values, and there are 1"),
        (&["--vary", "queue.depth"], "KEY=A,B"),
        (&["--slowest", "0"], "0 is not in 1.."),
    ] {
        let ran = folder.run(&[&["why", "drs", "t.txt"], args].concat());
        assert_eq!(ran.status, Some(2), "{ran:?}");
        assert!(ran.stderr.contains(said) && ran.stdout.is_empty(), "{ran:?}");
    }
    let ran = folder.run(&["why", "drs", "-"]);
    assert_eq!(ran.status, Some(2));
    assert!(ran.stderr.contains("why reads the workload once a run"), "{ran:?}");
}

/// The rows of a run as part, what was waited for, operation, purpose and microseconds.
fn ways(run: &Value) -> Vec<(String, String, String, String, u64)> {
    let text = |value: &Value| value.as_str().unwrap_or("-").to_string();
    let row = |row: &Value| {
        let [part, via, op, purpose] =
            ["part", "waits_for", "op", "purpose"].map(|name| text(&row[name]));
        (part, via, op, purpose, int(row, "ns") / 1_000)
    };
    run["rows"].as_array().unwrap().iter().map(row).collect()
}

/// A buffer of one unit. The write at 100 wants its line, which the flush of the first write has
/// from 100 to 1100; the one at 200 wants it next, and gets it when the flush of the second one is
/// over at 2100. The read at 300 waits for the third write.
#[test]
fn a_wait_for_a_line_of_the_buffer_goes_on_with_the_flushes() {
    let times = ["buffer.access_ns=0", "buffer.ps_per_byte=0"];
    let keys = [&["buffer.bytes=4096", "buffer.eviction=full"], &times[..]].concat();
    let requests = [(0, 0, false), (100, 1, false), (200, 2, false), (300, 2, true)];
    let behind = |part, via, us| row(part, via, "program", "host", us);
    let run = why(&requests, 1, &keys);
    assert_eq!(ways(&run), [behind("flush", "line", 1_000)]);
    let run = why(&requests, 2, &keys);
    assert_eq!(ways(&run), [behind("flush", "line", 1_900)]);
    let steps = run["slowest"][0]["steps"].as_array().unwrap();
    let spans: Vec<_> = steps.iter().map(|step| int(step, "ns") / 1_000).collect();
    assert_eq!(spans, [900, 1_000]);
    let said = "for room in the write buffer, behind programs of buffer flushes, which make room";
    assert!(run["finding"].as_str().unwrap().contains(said), "{}", run["finding"]);
    let run = why(&requests, 3, &keys);
    assert_eq!(ways(&run), [behind("delaying", "order", 1_800)]);
}

/// Three dies, one of which may work at a time, each for 1000 us: the third has its power when the
/// first and then the second are done.
#[test]
fn a_wait_for_power_goes_on_with_the_dies_that_have_it() {
    let keys = ["geometry.channels=4", "energy.max_active_dies=1"];
    let requests = [(0, 0, false), (100, 1, false), (200, 2, false)];
    let run = why(&requests, 2, &keys);
    let own = row("array", "-", "program", "host", 1_000);
    assert_eq!(ways(&run), [row("bus", "power", "program", "host", 1_800), own]);
    let steps = run["slowest"][0]["steps"].as_array().unwrap();
    let dies: Vec<_> = steps.iter().map(|step| (int(step, "die"), int(step, "ns"))).collect();
    assert_eq!(dies, [(0, 800_000), (1, 1_000_000), (2, 1_000_000)]);
}

/// One slot, or one request that is started at a time: the third write starts at 2000 when the
/// second is over, which had started when the first was. Of a request of two pages, the second page
/// waits for the slot of the first.
#[test]
fn a_full_queue_is_told_by_the_commands_that_fill_it() {
    let requests = [(0, 0, false), (100, 1, false), (200, 2, false)];
    let own = row("array", "-", "program", "host", 1_000);
    for key in ["queue.depth=1", "host.dispatch_width=1"] {
        let run = why(&requests, 2, &[key]);
        let behind = row("host_queue", "start", "program", "host", 1_800);
        assert_eq!(ways(&run), [behind, own.clone()], "{key}");
    }
    let folder = Folder::with("t.txt", "0 0 0 16 0\n");
    let args = ["why", "drs", "t.txt", "--json", "--request", "0", "--set", "queue.depth=1"];
    let run = folder.run(&[&args[..], DEVICE].concat()).json();
    adds_up(&run);
    let words = run["rows"][0]["words"].as_str().unwrap();
    assert!(ways(&run).contains(&row("slot", "slot", "program", "host", 1_000)), "{run}");
    assert!(words.contains("of its own other pages") || words.contains("its own"), "{words}");
}

/// The place of a request is free when its answer has crossed the link, after its last command.
#[test]
fn a_started_request_is_followed_to_its_answer() {
    let args = ["why", "nvme-tlc", "mixed-70-30", "--json", "--slowest", "30"];
    let keys = ["--set", "pattern.requests=600", "--set", "host.dispatch_width=3"];
    let run = Folder::new().run(&[&args[..], &keys].concat()).json();
    adds_up(&run);
    let rows = run["rows"].as_array().unwrap();
    let behind = rows.iter().filter(|row| row["waits_for"] == "start" && row["op"].is_string());
    let ns: u64 = behind.map(|row| int(row, "ns")).sum();
    assert!(3 * ns > int(&run, "latency_ns"), "{ns} of {}", run["latency_ns"]);
}

/// Reads go first without a limit: the write of 100 lets the read of 200 pass when the die is free.
#[test]
fn being_overtaken_is_told() {
    let requests = [(0, 0, false), (100, 1, false), (200, 2, true)];
    let run = why(&requests, 1, &["policy.command=rcf"]);
    let rows = run["rows"].as_array().unwrap();
    let read = rows.iter().find(|row| row["op"] == "read").unwrap();
    assert_eq!((int(read, "ns"), &read["part"]), (100_000, &"die_read".into()));
    assert_eq!(read["words"], "behind reads of later requests, which went first");
}

/// Zeroes over units 0 to 2 of which two are written in part: with one slot the program of unit 0,
/// nothing of unit 1, which is over as soon as it has the slot, and the program of unit 2 follow
/// one another, and a read waits for both programs.
#[test]
fn a_slot_that_is_given_on_at_once_is_that_of_the_one_before() {
    let rows = "8,0 0 1 0.000000000 1 Q WZ 4 + 16 [x]\n8,0 0 2 0.000000001 1 Q R 64 + 8 [x]\n";
    let folder = Folder::with("z.txt", rows);
    let keys = ["--set", "trace.format=blkparse", "--set", "queue.depth=1", "--json"];
    let run = folder.run(&[&["why", "drs", "z.txt"], DEVICE, &keys].concat()).json();
    adds_up(&run);
    let behind = run["rows"].as_array().unwrap().iter().filter(|row| row["op"] == "program");
    let behind: Vec<_> = behind.map(|row| (&row["waits_for"], int(row, "ns"))).collect();
    assert_eq!(behind, [(&Value::from("start"), 1_999_999)]);
}

/// A trim takes the link twice, for 1 us each, and nothing in between.
#[test]
fn a_request_without_commands_has_its_answer_in_its_span() {
    let folder = Folder::with("z.txt", "8,0 0 1 0.000000000 1 Q D 0 + 8 [x]\n");
    let keys = ["--set", "trace.format=blkparse", "--set", "interface.link_latency_ns=1000"];
    let run = folder.run(&[&["why", "drs", "z.txt", "--json"], DEVICE, &keys].concat()).json();
    adds_up(&run);
    let steps = run["slowest"][0]["steps"].as_array().unwrap();
    let spans = steps.iter().map(|step| ["from_ns", "until_ns", "ns"].map(|of| int(step, of)));
    assert_eq!(spans.collect::<Vec<_>>(), [[0, 2_000, 2_000]]);
}

/// A request in a long queue has a step for each command before it; so few are listed.
#[test]
fn long_chains_are_few() {
    let requests: Vec<_> = (0..500).map(|page| (0, page, true)).collect();
    let folder = Folder::with("t.txt", trace(&requests));
    let args = ["why", "drs", "t.txt", "--json", "--slowest", "100"];
    let run = folder.run(&[&args[..], DEVICE].concat()).json();
    adds_up(&run);
    let slowest = run["slowest"].as_array().unwrap();
    let steps = slowest.iter().map(|one| one["steps"].as_array().unwrap().len());
    let steps: Vec<usize> = steps.collect();
    assert!((2..100).contains(&steps.len()) && steps[0] > 400, "{steps:?}");
    assert!((19_000..=20_000).contains(&steps.iter().sum::<usize>()), "{steps:?}");
}

/// What has the same words is one row; so the first line names what most of the time went to.
#[test]
fn rows_differ_in_their_words() {
    let runs: [(&[&str], &str); 4] = [
        (&["embedded-2x2", "random-read"], "of the map"),
        (&["embedded-2x2", "random-write"], "of map write-backs"),
        (&["embedded-2x2", "mixed-70-30", "--set", "policy.command=fifo"], "of the map"),
        (&["nvme-tlc", "mixed-70-30", "--capacity", "8GB"], "of other requests"),
    ];
    for (args, among) in runs {
        let requests = ["--set", "pattern.requests=2000", "--json"];
        let run = Folder::new().run(&[&["why"], args, &requests].concat()).json();
        let rows = run["rows"].as_array().unwrap();
        let words = rows.iter().map(|row| (row["part"].as_str(), row["words"].as_str().unwrap()));
        let words: Vec<_> = words.collect();
        assert!(words.iter().any(|(_, words)| words.contains(among)), "{words:?}");
        assert_eq!(words.iter().collect::<BTreeSet<_>>().len(), rows.len(), "{words:?}");
    }
}

/// The first line of a comparison names a change in the direction of the figure: fewer reads wait
/// for their turn, but more time has no known cause.
#[test]
fn a_fall_is_not_explained_by_more_time() {
    let args = ["why", "embedded-2x2", "random-read", "--set", "pattern.requests=500"];
    let run = Folder::new().run(&[&args[..], &["--vary", "queue.depth=1,2"]].concat());
    let text = run.text();
    let first = text.split("\nqueue.depth").next().unwrap().replace('\n', " ");
    assert!(first.contains(" falls from "), "{first}");
    assert!(first.contains(" less "), "{first}");
}

/// A layer over all planes merges on all planes for a write to one of them. Each command of a merge
/// names its merge, and the merge names the request whose write needed it.
#[test]
fn merges_on_other_planes_have_their_cause() {
    let folder = Folder::new();
    let keys = [
        "ftl.log_span=superblock",
        "geometry.channels=2",
        "state.initial=full",
        "pattern.requests=150",
    ];
    let mut args = vec!["why", "small-full", "random-write", "--json", "--slowest", "10"];
    args.extend(["--ftl", "bast"]);
    for key in keys {
        args.extend(["--set", key]);
    }
    let run = folder.run(&args).json();
    adds_up(&run);
    let slowest = run["slowest"].as_array().unwrap();
    let steps = slowest.iter().flat_map(|one| one["steps"].as_array().unwrap());
    let is_merge =
        |step: &&Value| step["command"].as_str().is_some_and(|name| name.starts_with('L'));
    let merges: Vec<_> = steps.filter(is_merge).collect();
    let dies: std::collections::BTreeSet<_> = merges.iter().map(|step| int(step, "die")).collect();
    assert!(dies.len() > 1, "{dies:?}");
    for step in merges {
        assert!(step["request"].is_u64(), "{step}");
    }
}

/// A workload of two streams, a reader and a writer.
const TWO: &str = "[[stream]]\nname = \"reader\"\npattern = { requests = 400, read_percent = 100 }\n\
                   [[stream]]\nname = \"writer\"\npattern = { requests = 300, read_percent = 0 }\n";

/// The tail of each stream is that of the report of the stream, and each is explained.
#[test]
fn each_stream_is_explained_by_itself() {
    let folder = Folder::with("two.toml", TWO);
    let args = ["small-full", "two.toml", "--json"];
    let run = folder.run(&[&["run"], &args[..]].concat()).json();
    let why = folder.run(&[&["why"], &args[..], &["--by", "stream", "--above", "p90"]].concat());
    let sides = why.json();
    let sides = sides.as_array().unwrap();
    let names: Vec<_> = sides.iter().map(|side| side["stream"].as_str().unwrap()).collect();
    assert_eq!(names, ["reader", "writer"]);
    for side in sides {
        adds_up(side);
        let of = &run["streams"][side["stream"].as_str().unwrap()]["latency_ns"]["all"];
        assert_eq!((&side["of"], &side["percentile_ns"]), (&of["count"], &of["p90"]));
        let op = if side["stream"] == "reader" { "read" } else { "write" };
        let slowest = side["slowest"].as_array().unwrap();
        assert!(!slowest.is_empty() && slowest.iter().all(|one| one["op"] == op), "{side}");
    }
    let text =
        folder.run(&["compare", "small-full", "two.toml", "--vary", "queue.depth=1,8"]).text();
    let tables: Vec<_> = text.split("\nstream ").collect();
    assert!(tables[1].starts_with("reader\n") && tables[1].contains("read p99"), "{text}");
    assert!(tables[2].starts_with("writer\n") && !tables[2].contains("read p99"), "{text}");
    let vary = ["compare", "small-full", "two.toml", "--vary", "queue.depth=1,8"];
    let by = [&vary[..], &["--by", "stream"]].concat();
    let text = folder.run(&by).text();
    let runs = folder.run(&[&by[..], &["--json"]].concat()).json();
    for (place, depth) in ["1", "8"].iter().enumerate() {
        let table = text.split_once(&format!("\nqueue.depth={depth}\n")).expect("a table").1;
        let words = |name: &str| -> Vec<&str> {
            let line = table.lines().find(|line| line.starts_with(name)).expect(name);
            line[name.len()..].split_whitespace().collect()
        };
        assert_eq!(words("stream "), ["reader", "writer"]);
        assert_eq!(words("read mean ")[2..], ["-"], "the writer reads nothing: {text}");
        assert_eq!(words("write mean ")[..1], ["-"], "the reader writes nothing: {text}");
        for (column, stream) in [(0, "reader"), (1, "writer")] {
            let mean = runs[place]["streams"][stream]["latency_ns"]["all"]["mean"].as_f64();
            let cells = &words("all mean ")[2 * column..2 * column + 2];
            let shown = 1e9 * quantity(cells);
            assert!((shown - mean.unwrap()).abs() < 5e-3 * shown, "{cells:?}: {mean:?}");
        }
    }
    let one = ["compare", "small-full", "mixed-70-30", "--vary", "queue.depth=1,8"];
    let alone = folder.run(&[&one[..], &["--by", "stream"]].concat());
    assert!(alone.status == Some(2) && alone.stdout.is_empty(), "{alone:?}");
    assert!(alone.stderr.contains("the workload mixed-70-30 has one stream"), "{alone:?}");
    let alone = folder.run(&["why", "small-full", "mixed-70-30", "--by", "stream"]);
    assert_eq!(alone.status, Some(2));
    assert!(alone.stderr.contains("the workload has one stream"), "{alone:?}");
}

/// Where copies of handles went: those of the report of the same run, in bytes and in words;
/// nothing where there is one handle.
#[test]
fn copies_of_handles_are_told_by_the_units_that_they_went_to() {
    const STREAMS: &str = "[[stream]]\nname = \"a\"\npattern = { requests = 12000, read_percent = 0 }\n\
                           [[stream]]\nname = \"b\"\npattern = { requests = 8000, read_percent = 0 }\n";
    let folder = Folder::with("two.toml", STREAMS);
    let told = |keys: &[&str]| {
        let keys: Vec<_> = keys.iter().flat_map(|key| ["--set", key]).collect();
        let args = [&["small-full", "two.toml"], &keys[..]].concat();
        let run = folder.run(&[&["run", "--json"], &args[..]].concat()).json();
        let why = folder.run(&[&["why", "--json"], &args[..]].concat()).json();
        let text = folder.run(&[&["why"], &args[..]].concat()).text();
        let mut kinds = Vec::new();
        for row in run["placement"].as_array().into_iter().flatten() {
            for to in row["copied_to"].as_array().unwrap() {
                kinds.push((row["handle"].as_u64(), to["handle"].as_u64(), int(to, "bytes")));
            }
        }
        kinds.sort_by_key(|kind| std::cmp::Reverse(kind.2));
        let copies = why["copies"].as_array().cloned().unwrap_or_default();
        let kind =
            |of: &Value| (of["from"].as_u64(), of["to"].as_u64(), of["bytes"].as_u64().unwrap());
        assert_eq!(copies.iter().map(kind).collect::<Vec<_>>(), kinds);
        let words: Vec<_> = copies.iter().map(|of| of["words"].as_str().unwrap()).collect();
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(words.iter().all(|words| text.contains(words)), "{text}");
        assert_eq!(text.contains("garbage collection of the whole run"), !copies.is_empty());
        let apart = words.iter().map(|words| words.split_once(" of ").unwrap().1.to_string());
        let (mut apart, kinds): (Vec<_>, Vec<_>) = (apart.collect(), kinds);
        assert!(kinds.iter().all(|kind| kind.2 > 0));
        apart.sort_unstable();
        apart
    };
    assert!(told(&[]).is_empty());
    let shared = "went into units that copies of all handles share";
    assert_eq!(
        told(&["placement.handles=2"]),
        [
            format!("copies of handle 0 {shared}"),
            format!("copies of handle 1 {shared}"),
            "copies out of shared units stayed in shared units".to_string(),
        ]
    );
    assert_eq!(
        told(&["placement.handles=2", "ftl.generations=0"]),
        [
            "copies of handle 1 went into units of handle 0",
            "copies out of shared units went into units of handle 0"
        ]
    );
    assert_eq!(
        told(&["placement.handles=2", "placement.isolation=persistent"]),
        ["copies of handle 0 stayed in units of it", "copies of handle 1 stayed in units of it"]
    );
}

/// Polls are rows of the command log: as many as the report counts.
#[test]
fn polls_are_in_the_command_log() {
    let folder = Folder::new();
    let work = ["run", "embedded-2x2", "mixed-70-30", "--set", "pattern.requests=500", "--json"];
    let polled = ["--set", "bus.precision=requests", "--set", "bus.readiness=polled"];
    let run = folder.run(&[&work[..], &polled, &["--commands", "c.csv"]].concat()).json();
    let text = String::from_utf8(folder.read("c.csv")).unwrap();
    let polls = text.lines().filter(|line| line.split(',').nth(3) == Some("poll")).count() as u64;
    assert_eq!(polls, int(&run, "bus.status_requests"));
    assert!(polls > 0);
    let columns = text.lines().map(|line| line.split(',').count());
    assert!(columns.into_iter().all(|count| count == 14));
}

/// Where a stream has a limit of its rate, that is named; and firmware follows the link.
#[test]
fn limits_of_rates_are_named_and_firmware_follows_the_link() {
    let folder = Folder::new();
    let why = |device: &str, set: &[&str]| {
        let set = set.iter().chain(&["pattern.requests=500"]).flat_map(|key| ["--set", *key]);
        let args: Vec<&str> = ["why", device, "random-read"].into_iter().chain(set).collect();
        folder.run(&args).text()
    };
    let limited = why("embedded-2x2", &["stream.rate_limit_iops=1000"]);
    let words = limited.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("or for the rate limit of its stream"), "{limited}");
    let free = why("embedded-2x2", &["stream.depth=64"]);
    assert!(!free.contains("rate limit"), "{free}");

    let set = ["--set", "interface.submit_ns=3000", "--set", "pattern.requests=500"];
    let args = [&["why", "nvme-tlc", "random-read", "--json"][..], &set].concat();
    let found = folder.run(&args).json();
    let slowest = &found["slowest"][0];
    let steps: Vec<(u64, u64, u64, &str)> = slowest["steps"]
        .as_array()
        .expect("steps")
        .iter()
        .map(|step| {
            let part = step["part"].as_str().expect("a part");
            (int(step, "from_ns"), int(step, "until_ns"), int(step, "ns"), part)
        })
        .collect();
    let [link, firmware] = ["link", "firmware"].map(|of| {
        steps.iter().find(|step| step.3 == of).unwrap_or_else(|| panic!("{of}: {steps:?}"))
    });
    assert_eq!((link.1 - link.0, link.1), (link.2, firmware.0), "{steps:?}");
}
