//! What a person reads: everything fits 80 columns, the verdict comes first, and every class of
//! requests is there.

use crate::support::{Folder, int, said, sum};

/// Columns of a terminal.
const COLUMNS: usize = 80;

#[track_caller]
fn fits(text: &str, of: &str) {
    for line in text.lines() {
        assert!(line.chars().count() <= COLUMNS, "{of}: {line}");
    }
    assert!(!text.contains('\u{1b}'), "{of}: a pipe has no colour");
}

/// A database's pattern in short: writes, a flush behind every fourth, trims.
const WAL: &str = "requests = 400\nread_percent = 40\nflush_every = 4\ntrim_percent = 10\n\
                   range_percent = 10\n";

#[test]
fn summaries_fit_a_terminal() {
    let folder = Folder::new();
    let few = ["--set", "generator.requests=300"];
    for device in ["drs", "ros-full", "cache-aware-full", "small-full", "nvme-tlc", "wd1600bekt"] {
        let args = [&["run", device, "movie"][..], &few].concat();
        fits(&folder.run(&args).text(), device);
    }
    let vary = ["--vary", "policy.command=fifo,rcf,drs", "--vary", "queue.depth=1,16"];
    fits(&folder.run(&[&["compare", "drs", "movie"][..], &vary, &few].concat()).text(), "compare");
    fits(&folder.run(&["trace", "info", "movie"]).text(), "trace info");
    for study in ["drs", "cache-aware", "energy"] {
        let few = ["--requests", "40", "--replicas", "0"];
        fits(&folder.run(&[&["reproduce", study][..], &few].concat()).text(), study);
    }
}

#[test]
fn the_verdict_comes_first_and_marks_what_matters() {
    let folder = Folder::new();
    let text = folder.run(&["run", "small-full", "random-write"]).text();
    let verdict = text.find("\nverdict ").expect("a verdict");
    assert!(verdict < text.find("\nlatency ").expect("latencies"), "{text}");
    let fresh = folder.run(&["run", "drs", "movie"]).text();
    assert!(said(&fresh, "verdict").starts_with("! the device starts fresh and "), "{fresh}");
    let work = ["--set", "pattern.requests=2000", "--set", "state.initial=steady"];
    let steady = folder.run(&[&["run", "small-full", "random-write"][..], &work].concat()).text();
    assert!(!said(&steady, "verdict").contains("the device starts full"), "{steady}");
}

/// A closed loop offers no more than the device can do.
#[test]
fn a_closed_loop_is_busy_and_not_overloaded() {
    let folder = Folder::new();
    let text =
        folder.run(&["run", "wd1600bekt", "random-read", "--set", "pattern.requests=500"]).text();
    let verdict = said(&text, "verdict");
    assert!(!verdict.contains("overloaded") && verdict.contains("the arm is busy"), "{verdict}");
    assert_eq!(
        verdict.split_once("the arm is busy ").unwrap().1.split_once(" of").unwrap().0,
        said(&text, "busy").trim_start_matches("arm ").split_once(" of").unwrap().0
    );
}

/// Beside requests that come at times of their own a closed loop still offers no more than the
/// device can do, and its queue does not grow, however short the run is.
#[test]
fn a_closed_loop_beside_an_open_stream_is_not_overloaded() {
    let folder = Folder::with(
        "mix.toml",
        "[phase]\ntime_ms = 2000\n[[stream]]\nname = \"batch\"\ndepth = 32\n[stream.pattern]\n\
         base = \"random-read\"\nrequests = 0\n[[stream]]\nname = \"probe\"\npacing = \"open\"\n\
         [stream.pattern]\nbase = \"random-read\"\narrival = \"constant\"\nrate_per_s = 10\n\
         requests = 0\n",
    );
    let text = folder.run(&["run", "wd1600bekt", "mix.toml"]).text();
    let verdict = said(&text, "verdict");
    assert!(!verdict.contains("overloaded") && verdict.contains("the arm is busy"), "{verdict}");
    let deep = ["--set", "stream.depth=512", "--set", "pattern.requests=5000"];
    let run = folder.run(&[&["run", "small-full", "random-read", "--json"][..], &deep].concat());
    assert_eq!(run.json()["verdict"]["queue_grew"], false);
}

/// Where there is no steady state, none is recommended.
#[test]
fn a_state_that_is_recommended_can_be_made() {
    let folder = Folder::new();
    let few = ["--set", "pattern.requests=2000", "--capacity", "1GB"];
    for (more, state) in [(&[][..], "aged"), (&["--set", "map.store=resident"], "steady")] {
        let run = |set: &[&str]| {
            folder.run(&[&["run", "drs", "random-write"][..], &few, more, set].concat())
        };
        let verdict = said(&run(&[]).text(), "verdict");
        assert!(verdict.contains(&format!("(--set state.initial={state} makes one)")), "{verdict}");
        run(&["--set", &format!("state.initial={state}")]).text();
    }
}

/// A steady state of skewed writes is not called one of uniform writes.
#[test]
fn a_steady_state_is_that_of_its_writes() {
    let folder = Folder::new();
    let state = |keys: &[&str]| {
        let small =
            ["state.initial=steady", "pattern.requests=100", "geometry.blocks_per_plane=300"];
        let set = small.iter().chain(keys).flat_map(|key| ["--set", *key]);
        let args: Vec<&str> =
            ["run", "small-full", "random-write"].into_iter().chain(set).collect();
        said(&folder.run(&args).text(), "verdict")
    };
    assert!(state(&[]).contains("steady for uniform random writes (write amplification"));
    let skew = state(&["state.hot_units_percent=20", "state.hot_writes_percent=80"]);
    assert!(
        skew.contains("steady for random writes, 80 % of them to 20 % of the units ("),
        "{skew}"
    );
}

/// Flushes and trims have latencies, parts that add up to them, and rows, as a whole and by stream.
#[test]
fn every_class_of_requests_is_told_of() {
    let folder = Folder::with("wal.toml", format!("[pattern]\n{WAL}"));
    let run = folder.run(&["run", "cache-aware-full", "wal.toml", "--json", "--check"]).json();
    for class in ["read", "write", "trim", "flush"] {
        let latency = &run["latency_ns"][class];
        let count = int(latency, "count");
        assert!(count > 0, "{class}");
        let total = sum(&run["latency_parts_ns"][class]) as f64;
        let mean = latency["mean"].as_f64().unwrap();
        assert!((total / count as f64 - mean).abs() <= 1e-9 * mean, "{class}: {total} of {count}");
        let tail = sum(&run["latency_parts_tail_ns"][class]["p99"]) as f64;
        assert!(tail > 0.0 && tail <= total, "{class}");
    }
    let text = folder.run(&["run", "cache-aware-full", "wal.toml"]).text();
    for row in ["read ", "write ", "trim ", "flush ", "all "] {
        assert!(text.lines().any(|line| line.starts_with(row)), "{row} in {text}");
    }
    assert!(text.contains("flush, mean") && text.contains("trim, mean"), "{text}");
    let stream = |name: &str| format!("[[stream]]\nname = \"{name}\"\n[stream.pattern]\n{WAL}");
    folder.write("two.toml", stream("log") + &stream("other"));
    let run = folder.run(&["run", "cache-aware-full", "two.toml", "--json"]).json();
    let all =
        |stream: &str, class: &str| int(&run["streams"][stream]["latency_ns"][class], "count");
    for class in ["read", "write", "trim", "flush", "all"] {
        let streams = all("log", class) + all("other", class);
        assert_eq!(streams, int(&run["latency_ns"][class], "count"), "{class}");
    }
    let text = folder.run(&["run", "cache-aware-full", "two.toml"]).text();
    fits(&text, "streams");
    let rows = |class: &str| {
        let has = |line: &&str| line.split_whitespace().any(|word| word == class);
        text.lines().filter(|line| line.contains("  ")).filter(has).count()
    };
    assert!(rows("flush") >= 3 && rows("trim") >= 3, "{text}");
}

/// Percentiles that lie among the ten slowest requests are marked.
#[test]
fn a_summary_marks_percentiles_of_few_requests() {
    let folder = Folder::new();
    let args = ["run", "embedded-2x2", "random-read", "--set", "pattern.requests=2000"];
    let text = folder.run(&args).text();
    let row = text.lines().find(|line| line.starts_with("read ")).expect("a row of reads");
    let cells: Vec<&str> = row.split_whitespace().collect();
    // read, 2,000, then values with units: mean, p50, p99, p99.9, p99.99, max.
    let marked: Vec<bool> = cells[3..].iter().step_by(2).map(|unit| unit.ends_with('*')).collect();
    assert_eq!(marked, [false, false, false, true, true, false], "{text}");
    assert!(text.contains("* fewer than 10 requests took longer"), "{text}");
}

/// If requests arrive faster than the device can serve them, its queue grows until the last
/// arrival.
#[test]
fn an_overloaded_device_has_no_queue_that_did_not_grow() {
    let folder = Folder::new();
    // Two reads, 25 us apart, on four dies that take longer for one: too few to see a queue grow.
    let text = folder
        .run(&[
            "run",
            "embedded-2x2",
            "random-read",
            "--set",
            "pattern.requests=2",
            "--set",
            "stream.pacing=open",
            "--set",
            "pattern.rate_per_s=40000",
            "--set",
            "pattern.arrival=constant",
        ])
        .text();
    let verdict = said(&text, "verdict");
    assert!(verdict.contains("! overloaded:") && !verdict.contains("did not grow"), "{verdict}");
}

/// Steady is the state of uniform random writes: with skew the run goes to another one, and says
/// so. A run that settles first has thirds alike.
#[test]
fn a_run_that_goes_to_another_state_is_marked_until_it_settles_first() {
    let folder = Folder::new();
    let set = [
        "pattern.access=hot_cold",
        "pattern.hot_units_percent=10",
        "pattern.hot_accesses_percent=90",
        "pattern.requests=60000",
        "gc.policy=cost_benefit",
        "state.initial=steady",
    ];
    let set: Vec<&str> = set.iter().flat_map(|key| ["--set", *key]).collect();
    let load = [&["run", "small-full", "random-write"][..], &set].concat();
    let skewed = said(&folder.run(&load).text(), "verdict");
    assert!(skewed.contains("! the first and the last third of the run differ:"), "{skewed}");
    assert!(skewed.contains("the device starts steady for uniform random writes"), "{skewed}");
    let settled = folder.run(&[&load[..], &["--settle", "--json"]].concat()).json();
    let [first, last] = [0, 1].map(|third| {
        settled["verdict"]["thirds"][third]["write_amplification"].as_f64().expect("writes")
    });
    assert!((first / last - 1.0).abs() < 0.05, "{first} and {last}");
    let phases = settled["phases"].as_array().expect("a list");
    assert_eq!((phases.len(), &phases[0]["ended_by"]), (2, &"stable".into()));
    let refused = folder.run(&["run", "small-full", "random-read", "--settle"]);
    let said = "--settle: the workload writes nothing";
    assert!(refused.status == Some(2) && refused.stderr.contains(said), "{refused:?}");
}

/// Writes of parts of units are told of: a drive reads the rest, and a device that ignores it is
/// marked.
#[test]
fn partial_writes_are_told_of() {
    let folder = Folder::with("t.txt", "0 0 3 8 0\n1 0 0 16 0\n2 0 8 8 0\n3 0 6 2 0\n");
    let of = |device: &str| {
        let args = ["run", device, "t.txt", "--set", "trace.format=disksim"];
        said(&folder.run(&args).text(), "verdict")
    };
    let drive = of("nvme-tlc");
    let read = "50.0 % of the writes are not whole mapping units, and the device reads the rest";
    assert!(drive.contains(read), "{drive}");
    let study = of("drs");
    let marked = "! writes of parts of mapping units cost as much as whole ones, and no read";
    assert!(study.contains(marked) && study.contains("(50.0 % of the writes)"), "{study}");
}
