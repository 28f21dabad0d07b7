//! Right input: what may be named, and that the same work gives the same results however it is
//! named.

use crate::support::{Folder, Ran, TRACE, finish, int, without_command, without_names};
use flashyard_workload::format::{Parsed, ReaderOptions};
use flashyard_workload::{
    BUILT_IN, BUILT_IN_FILES, BUILT_IN_MIXES, BUILT_IN_PATTERNS, BUILT_IN_RAW, FORMATS, FormatInfo,
};
use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::Value;
use std::io::Write;

/// A few requests only, for tests that look at something else than results.
const FEW: [&str; 2] = ["--set", "generator.requests=50"];

fn gzip(text: &str) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(text.as_bytes()).unwrap();
    encoder.finish().unwrap()
}

/// Runs with --json.
#[track_caller]
fn json(folder: &Folder, args: &[&str]) -> Value {
    folder.run(&[&["run", "--json"], args].concat()).json()
}

/// The names that the table of a run begins with.
#[track_caller]
fn names(ran: Ran) -> String {
    ran.text().lines().next().expect("a table has lines").to_string()
}

#[test]
fn run_alone_simulates_the_default_workload_on_the_default_device() {
    let folder = Folder::new();
    let ran = folder.run(&["run"]);
    assert!(ran.stderr.contains(" requests in "), "the remark on speed: {}", ran.stderr);
    let text = ran.text();
    assert!(text.starts_with("device drs, workload facebook\n"), "{text}");
    for word in ["latency  ", "IOPS", "write amplification", "map cache", "energy", "verdict  "] {
        assert!(text.contains(word), "{word} is missing in {text}");
    }
    let named = without_command(json(&folder, &["drs", "facebook", "--seed", "1"]));
    assert_eq!(without_command(json(&folder, &[])), named);
}

#[test]
fn one_argument_alone_is_recognised_by_what_it_is() {
    let folder = Folder::with("t.txt", TRACE);
    folder.write("mine.toml", "[queue]\ndepth = 4\n");
    folder.write("few.toml", "title = \"few\"\n\n  [generator]\nrequests = 9\n");
    folder.write("trace.toml", "[trace]\npath = \"t.txt\"\n");
    let check = |name: &str, expected: &str| {
        let few: &[&str] = if expected.ends_with("t.txt") { &[] } else { &FEW };
        let ran = folder.run(&[&["run", name], few].concat());
        assert_eq!(names(ran), expected);
    };
    check("embedded-2x2", "device embedded-2x2, workload facebook");
    check("mine.toml", "device mine.toml, workload facebook");
    let toy = names(folder.run(&["run", "toy"]));
    assert_eq!(toy, "device toy, workload toy-write");
    check("movie", "device drs, workload movie");
    check("few.toml", "device drs, workload few.toml");
    check("trace.toml", "device drs, workload t.txt");
    check("t.txt", "device drs, workload t.txt");
    let ran = folder.run_with_input(&["run", "-"], TRACE.as_bytes());
    assert_eq!(names(ran), "device drs, workload -");
    let ran = folder.run(&["run", "mine.toml", "t.txt"]);
    assert_eq!(names(ran), "device mine.toml, workload t.txt");
}

#[test]
fn everything_that_list_names_can_be_run() {
    let folder = Folder::new();
    let all = folder.run(&["list"]).text();
    for kind in ["devices", "policies", "workloads", "formats"] {
        let listed = folder.run(&["list", kind]).text();
        assert!(all.contains(listed.trim_end()), "list shows {kind}");
    }
    let first_words = |kind: &str| -> Vec<String> {
        let text = folder.run(&["list", kind]).text();
        let rows = text.lines().skip(1).filter(|line| !line.starts_with(' '));
        let words = rows.filter_map(|line| line.split_whitespace().next());
        words.map(String::from).collect()
    };
    for device in first_words("devices") {
        if device == "toy" {
            // The requests of `movie` do not fit it.
            json(&folder, &[&device, "--check"]);
            continue;
        }
        json(&folder, &[&device, "movie", FEW[0], FEW[1]]);
    }
    let workloads = first_words("workloads");
    let others =
        BUILT_IN_PATTERNS.len() + BUILT_IN_MIXES.len() + BUILT_IN_FILES.len() + BUILT_IN_RAW.len();
    assert_eq!(workloads.len(), BUILT_IN.len() + others);
    assert_eq!(first_words("formats").len(), FormatInfo::all().count());
    for workload in workloads {
        let is_pattern = BUILT_IN_PATTERNS.iter().any(|built_in| built_in.name == workload);
        if BUILT_IN_RAW.iter().any(|built_in| built_in.name == workload) {
            json(&folder, &["framework", &workload, "--check", "--set", "raw.requests=50"]);
            continue;
        }
        if BUILT_IN_FILES.iter().any(|built_in| built_in.name == workload) {
            json(&folder, &[&workload, "--set", "files.files=20", "--set", "files.loops=20"]);
            continue;
        }
        let is_mix = BUILT_IN_MIXES.iter().any(|built_in| built_in.name == workload);
        let few = match (is_pattern, is_mix) {
            (true, _) => "pattern.requests=50",
            (_, true) => "mix.requests=50",
            _ => FEW[1],
        };
        json(&folder, &[&workload, "--set", few]);
    }
    for setting in policies(&folder) {
        let mut args = vec!["small-full", "movie", FEW[0], FEW[1], "--check", "--set", &setting];
        if setting.starts_with("channel.arbitration") {
            args.extend(["--set", "bus.precision=requests"]);
        }
        json(&folder, &args);
    }
}

/// The policies that are listed, as settings. Each table has its key in the title.
fn policies(folder: &Folder) -> Vec<String> {
    let text = folder.run(&["list", "policies"]).text();
    let mut settings = Vec::new();
    let mut key = "";
    // Lines that go on are indented.
    for line in text.lines().filter(|line| !line.is_empty() && !line.starts_with(' ')) {
        match line.split_once(" policies (") {
            Some((_, rest)) => key = rest.trim_end_matches(')'),
            None => settings.push(format!("{key}={}", line.split_whitespace().next().unwrap())),
        }
    }
    assert!(settings.contains(&"policy.command=fot".to_string()), "{settings:?}");
    assert!(settings.contains(&"host.policy=idle".to_string()), "{settings:?}");
    settings
}

/// The rows of a format's example that are requests.
fn requests_in(format: &FormatInfo) -> u64 {
    let mut reader = (format.reader)(&ReaderOptions::default());
    let parsed = format.example.lines().map(|line| reader.parse(line.as_bytes()).unwrap());
    parsed.filter(|parsed| matches!(parsed, Parsed::Request(_))).count() as u64
}

#[test]
fn the_example_of_every_format_is_read_as_detected_and_as_named() {
    // The rows of `dtrs` look like those of another format: it is found by its name only.
    for format in FORMATS.iter().filter(|format| format.name != "dtrs") {
        let folder = Folder::with("t.txt", format.example);
        folder
            .write("w.toml", format!("[trace]\npath = \"t.txt\"\nformat = \"{}\"\n", format.name));
        let fold = ["--set", "trace.fold=modulo"];
        let detected = json(&folder, &[&["t.txt"], &fold[..]].concat());
        let named = json(&folder, &[&["w.toml"], &fold[..]].concat());
        assert_eq!(int(&detected, "workload.requests"), requests_in(format), "{}", format.name);
        assert_eq!(without_command(detected), without_command(named), "{}", format.name);
    }
}

#[test]
fn the_same_trace_gives_the_same_results_however_it_comes() {
    let folder = Folder::with("t.txt", TRACE);
    folder.write("t.gz", gzip(TRACE));
    folder.write("misnamed.csv", gzip(TRACE));
    let (first, second) = TRACE.split_at(TRACE.find("1200000").unwrap());
    folder.write("members.gz", [gzip(first), gzip(second)].concat());
    folder.write("dos.txt", TRACE.replace('\n', "\r\n"));
    folder.write("blanks.txt", format!("\n{}", TRACE.replace('\n', "\n\n").trim_end()));
    let plain = without_names(json(&folder, &["t.txt"]));
    assert_eq!(int(&plain, "workload.requests"), 5);
    for name in ["t.gz", "misnamed.csv", "members.gz", "dos.txt", "blanks.txt"] {
        assert_eq!(without_names(json(&folder, &[name])), plain, "{name}");
    }
    for input in [TRACE.as_bytes().to_vec(), gzip(TRACE)] {
        let ran = folder.run_with_input(&["run", "--json", "-"], &input);
        assert_eq!(without_names(ran.json()), plain);
    }
}

#[test]
fn a_workload_file_finds_its_trace_beside_itself() {
    let folder = Folder::with("sub/t.txt", "9000 0 0 8 1\n8000 0 0 8 1\n");
    folder.write("sub/w.toml", "[trace]\npath = \"t.txt\"\ntime_order = \"sort\"\n");
    let run = json(&folder, &["sub/w.toml"]);
    assert_eq!(run["workload"]["name"], "sub/t.txt");
    let direct = json(&folder, &["sub/t.txt", "--set", "trace.time_order=sort"]);
    assert_eq!(without_command(run), without_command(direct));
    let absolute = folder.path("sub/t.txt").display().to_string();
    folder.write("abs.toml", format!("[trace]\npath = \"{absolute}\"\ntime_order = \"sort\"\n"));
    assert_eq!(json(&folder, &["abs.toml"])["workload"]["name"], absolute.as_str());
}

#[test]
fn a_users_own_columns_are_read_from_a_file_and_from_the_command_line() {
    let folder = Folder::with("sub/t.csv", "when;what;at;much\n9.5;R;8;8\n9.75;W;16;4\n");
    let columns = "[\"time:ms\", \"op:R/W\", \"offset:sector\", \"size:KiB\"]";
    let text = format!("delimiter = \"semicolon\"\nheader = 1\ncolumns = {columns}\n");
    folder.write("sub/own.toml", text);
    folder.write("sub/w.toml", "[trace]\npath = \"t.csv\"\nformat = \"own.toml\"\n");
    let file = json(&folder, &["sub/w.toml"]);
    assert_eq!(int(&file, "workload.reads"), 1);
    assert_eq!(int(&file, "workload.last_ns"), 250_000);
    let line = "semicolon header; time:ms op:R/W offset:sector size:KiB";
    for format in ["sub/own.toml", line] {
        let run = json(&folder, &["sub/t.csv", "--set", &format!("trace.format={format}")]);
        assert_eq!(without_command(run), without_command(file.clone()), "{format}");
    }
}

#[test]
fn a_workload_file_changes_what_its_base_has() {
    let folder = Folder::new();
    let check = |text: &str, args: &[&str]| {
        folder.write("w.toml", text);
        let run = json(&folder, &["w.toml"]);
        assert_eq!(run["workload"]["name"], "w.toml");
        assert_eq!(without_names(run), without_names(json(&folder, args)), "{text}");
    };
    // The base counts wherever it stands, and the keys of the file go before those of the base.
    let movie = ["movie", "--set", "generator.requests=50", "--set", "generator.read_kib=16.5"];
    check("[generator]\nbase = \"movie\"\nrequests = 50\nread_kib = 16.5\n", &movie);
    check("[generator]\nrequests = 50\nread_kib = 16.5\nbase = \"movie\"\n", &movie);
    check("[generator]\nrequests = 50\n", &["facebook", FEW[0], FEW[1]]);
    let seeds = [1, 2].map(|seed: u32| {
        let run = json(&folder, &["w.toml", "--seed", &seed.to_string()]);
        assert_eq!(int(&run, "provenance.seed"), u64::from(seed));
        run["provenance"]["workload_sha256"].to_string()
    });
    assert_ne!(seeds[0], seeds[1], "a seed makes other requests");
}

#[test]
fn initial_map_lines_are_in_the_cache_when_the_run_starts() {
    let folder = Folder::with("t.txt", "0 0 64 8 1\n");
    let hits = |lines: &str| {
        folder.write("w.toml", format!("[trace]\npath = \"t.txt\"\n{lines}"));
        let run = json(&folder, &["w.toml"]);
        [int(&run, "map.hits"), int(&run, "map.misses"), int(&run, "map.dirty_evictions")]
    };
    assert_eq!(hits(""), [0, 1, 0]);
    assert_eq!(hits("[[initial.map_lines]]\nslpn = 8\n"), [1, 0, 0]);
    // 32 dirty lines: the least recently used one, named first, has to be written back.
    let others = |from: u64| -> String {
        let line = |place| format!("[[initial.map_lines]]\nslpn = {}\ndirty = true\n", place * 8);
        (from..from + 32).map(line).collect()
    };
    assert_eq!(hits(&others(2)), [0, 1, 1]);
    assert_eq!(hits(&others(1)), [1, 0, 0]);
}

#[test]
fn settings_go_before_files_and_the_last_one_counts() {
    let folder = Folder::with("mine.toml", "[queue]\ndepth = 4\n[nand]\nread_us = 50\n");
    let depth = |args: &[&str]| {
        let run = json(&folder, &[&["mine.toml", "movie", FEW[0], FEW[1]], args].concat());
        assert_eq!(int(&run, "device.nand.read_us"), 50);
        int(&run, "device.queue.depth")
    };
    assert_eq!(depth(&[]), 4);
    assert_eq!(depth(&["--set", "queue.depth=8"]), 8);
    assert_eq!(depth(&["--set", "queue.depth=8", "--set", " queue.depth = 1_6 "]), 16);
}

#[test]
fn settings_change_results_and_the_hash_of_what_they_belong_to() {
    let folder = Folder::new();
    let hashes = |run: &Value| {
        ["device_sha256", "workload_sha256"].map(|name| run["provenance"][name].to_string())
    };
    let base = json(&folder, &["movie"]);
    let slow = json(&folder, &["movie", "--set", "nand.read_us=120"]);
    assert!(
        slow["latency_ns"]["read"]["mean"].as_f64() > base["latency_ns"]["read"]["mean"].as_f64()
    );
    assert_ne!(hashes(&slow)[0], hashes(&base)[0]);
    assert_eq!(hashes(&slow)[1], hashes(&base)[1]);
    let more = json(&folder, &["movie", "--set", "generator.write_percent=50"]);
    assert!(int(&more, "workload.writes") > int(&base, "workload.writes"));
    assert_eq!(hashes(&more)[0], hashes(&base)[0]);
    assert_ne!(hashes(&more)[1], hashes(&base)[1]);
}

#[test]
fn checking_changes_no_byte_of_the_results() {
    let folder = Folder::new();
    for device in ["drs", "drs-k16", "embedded-2x2", "small-full"] {
        let run = |args: &[&str]| {
            let out = if args.is_empty() { "plain" } else { "checked" };
            let commands = format!("{out}.csv");
            let work = ["run", device, "radiowb", "--set", "generator.requests=1500"];
            let files = ["--out", out, "--commands", &commands];
            let text = folder.run(&[&work, &files[..], args].concat()).text();
            let requests = folder.read(&format!("{out}/requests.parquet"));
            let summary = folder.read(&format!("{out}/summary.json"));
            let summary = without_command(serde_json::from_slice(&summary).unwrap());
            (text, requests, folder.read(&commands), summary)
        };
        assert!(run(&[]) == run(&["--check"]), "{device}: --check moves results");
    }
}

#[test]
fn trace_statistics_are_those_of_the_file() {
    let folder = Folder::with("t.txt", TRACE);
    let info = folder.run(&["trace", "info", "t.txt", "--json"]).json();
    for (name, value) in
        [("requests", 5), ("reads", 3), ("writes", 2), ("trims", 0), ("flushes", 0)]
    {
        assert_eq!(int(&info, name), value, "{name}");
    }
    assert_eq!(int(&info, "read_bytes"), (8 + 16 + 8) * 512);
    assert_eq!(int(&info, "write_bytes"), (64 + 24) * 512);
    assert_eq!(int(&info, "duration_ns"), 9_000_000);
    assert_eq!(int(&info, "highest_sector"), 65_543);
    assert_eq!(int(&info, "streams"), 2);
    assert_eq!(int(&info, "footprint_pages"), 8 + 1 + 3 + 1);
    let table = folder.run(&["trace", "info", "t.txt"]).text();
    assert!(table.lines().next().unwrap().starts_with("requests "), "{table}");
    // Statistics need no device: an address that no device has is fine.
    folder.write("far.txt", "0 0 99999999999 8 1\n");
    assert_eq!(int(&folder.run(&["trace", "info", "far.txt", "--json"]).json(), "requests"), 1);
    let generated = folder.run(&["trace", "info", "movie", "--json"]).json();
    assert_eq!(int(&generated, "requests"), int(&json(&folder, &["movie"]), "workload.requests"));
}

#[test]
fn folded_requests_are_counted() {
    let folder = Folder::with("t.txt", "0 0 0 8 1\n1 0 67373456 8 1\n2 0 67373452 8 1\n");
    let run = json(&folder, &["t.txt", "--set", "trace.fold=modulo", "--check"]);
    assert_eq!(int(&run, "verdict.folded_requests"), 2);
    let text = folder.run(&["run", "t.txt", "--set", "trace.fold=modulo"]).text();
    let verdict = crate::support::said(&text, "verdict");
    let clause = "! requests were folded into the device, so that different addresses of the trace \
                  are one (66.7 % of them)";
    assert!(verdict.contains(clause), "{verdict}");
}

/// Four requests of one second and one of the next.
const SECONDS: &str = "Timestamp,Offset,Size,IOType,VolumeID\n\
    5,8,8,1,7\n5,64,8,0,7\n5,8,8,0,9\n5,8,8,0,9\n6,8,8,1,9\n";

#[test]
fn arrivals_are_spread_inside_the_ticks_of_a_slow_clock() {
    let folder = Folder::with("t.csv", SECONDS);
    let of = ["t.csv", "--set", "trace.format=tencent", "--check"];
    let run = json(&folder, &of);
    assert_eq!(int(&run, "verdict.spread_requests"), 3, "the first of a tick stays");
    let warnings = run["verdict"]["warnings"].to_string();
    assert!(warnings.contains("spread inside the ticks of the trace's clock"), "{warnings}");
    let ran = folder.run(&[&["run"], &of[..]].concat());
    let note = "workload: the clock of the trace ticks every 1 s: arrivals are spread evenly \
                inside the ticks, 3 of them moved by up to 750 ms (trace.tick_us)";
    assert!(ran.stderr.contains(note), "{ran:?}");
    assert!(ran.stderr.contains("workload: 1 line is a header"), "{ran:?}");
    let clause = "arrivals were spread inside the ticks of the trace's clock, which does not say when \
                  in a tick they came (60.0 % of them)";
    assert!(crate::support::said(&ran.text(), "verdict").contains(clause));
    let off = json(&folder, &[&of[..], &["--set", "trace.tick_us=0.001"]].concat());
    assert_eq!(int(&off, "verdict.spread_requests"), 0);
    // Streams that are made of one trace count each arrival once.
    let split = json(&folder, &[&of[..], &["--set", "trace.split=volume"]].concat());
    assert_eq!(int(&split, "verdict.spread_requests"), 3);
}

#[test]
fn a_slow_clock_that_no_format_tells_of_is_remarked() {
    let rows = |n: u64| format!("{} 0 {} 8 1\n", n / 5 * 1_000_000_000, n * 8);
    let folder = Folder::with("t.txt", (0..40).map(rows).collect::<String>());
    let remark = "the clock of the trace is coarse: 32 of the first 40 requests come at the time \
                  of the one before";
    let plain = folder.run(&["run", "drs", "t.txt"]);
    assert!(plain.stderr.contains(remark), "{plain:?}");
    assert!(plain.stderr.contains("trace.tick_us = 1000000 spreads them"), "{plain:?}");
    for tick in ["1000000", "0.001"] {
        let set = format!("trace.tick_us={tick}");
        let ran = folder.run(&["run", "drs", "t.txt", "--set", &set]);
        assert!(!ran.stderr.contains("coarse"), "{ran:?}");
    }
}

#[test]
fn a_run_whose_requests_are_all_skipped_says_so() {
    let folder = Folder::with("t.txt", "0 0 0 8 1\n1 0 64 8 1\n2 0 128 8 1\n");
    let run = |skip: &str| {
        let set = format!("metrics.skip_requests={skip}");
        crate::support::said(&folder.run(&["run", "t.txt", "--set", &set]).text(), "verdict")
    };
    let clause =
        |skip| format!("no latency counts: metrics.skip_requests is {skip}, and 3 requests");
    for skip in ["3", "99"] {
        assert!(run(skip).contains(&clause(skip)), "{skip}");
    }
    assert!(!run("2").contains("no latency counts"));
    let vary = ["compare", "t.txt", "--vary", "metrics.skip_requests=0,3"];
    let table = folder.run(&vary).text();
    let said = format!("! metrics.skip_requests=3: {}", clause("3"));
    let verdict = crate::support::said(&table, "verdict");
    assert!(verdict.contains(&said) && !table.contains("buffer"), "{table}");
    let vary = ["compare", "ros", "t.txt", "--vary", "host.policy=is,ros"];
    let table = folder.run(&vary).text();
    assert!(table.contains("\nbuffer read hits "), "{table}");
}

#[test]
fn help_names_the_exit_statuses_and_version_the_version() {
    let folder = Folder::new();
    let help = folder.run(&["--help"]).text();
    assert!(help.contains("Exit status: 0 success; 1 the simulation failed"), "{help}");
    let version = folder.run(&["--version"]).text();
    let version = version.strip_prefix(concat!("flashyard ", env!("CARGO_PKG_VERSION")));
    let commit = version.expect("the version of the manifest").trim_end();
    // A development build names no commit; one for release from its repository does.
    if !commit.is_empty() {
        let (hash, date) = commit[2..commit.len() - 1].split_once(' ').expect("hash and date");
        assert!(hash.len() >= 9 && hash.chars().all(|c| c.is_ascii_hexdigit()), "{commit}");
        assert_eq!(date.split('-').count(), 3, "{commit}");
    }
}

#[test]
fn a_workload_file_may_be_written_in_any_way_that_toml_has() {
    let folder = Folder::new();
    let expected = without_names(json(&folder, &["movie"]));
    for text in ["generator.base = \"movie\"\n", "[ generator ]\nbase = \"movie\"\n"] {
        folder.write("w.toml", text);
        for args in [&["w.toml"][..], &["drs", "w.toml"]] {
            assert_eq!(without_names(json(&folder, args)), expected, "{text}");
        }
    }
}

#[cfg(unix)]
mod unix {
    use super::*;
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;
    use std::os::unix::fs::PermissionsExt;
    use std::process::Stdio;

    #[test]
    fn a_reader_that_stops_early_is_no_panic() {
        let folder = Folder::new();
        for args in [&["list", "keys"][..], &["run", "--json"]] {
            let (reader, writer) = std::io::pipe().unwrap();
            drop(reader);
            let child = folder.command(args).stdout(writer).stderr(Stdio::piped()).spawn();
            let output = child.unwrap().wait_with_output().unwrap();
            let stderr = String::from_utf8(output.stderr).unwrap();
            assert!(!stderr.contains("panicked"), "{args:?}: {stderr}");
            assert!(!stderr.contains("error"), "{args:?}: {stderr}");
        }
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn results_that_cannot_be_printed_are_an_error() {
        let folder = Folder::new();
        for args in [&["list", "keys"][..], &["run", "--json"]] {
            let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
            let child = folder.command(args).stdout(full).stderr(Stdio::piped()).spawn();
            let output = child.unwrap().wait_with_output().unwrap();
            assert_eq!(output.status.code(), Some(1), "{args:?}: {output:?}");
        }
    }

    #[test]
    fn a_path_need_not_be_text() {
        let folder = Folder::new();
        let out = OsStr::from_bytes(b"results\xff");
        let mut command = folder.command(&["run", "movie", "--out"]);
        finish(command.arg(out), None).text();
        assert_eq!(folder.files().len(), 3);
    }

    #[test]
    fn files_have_the_mode_of_any_new_file() {
        let folder = Folder::with("other", "");
        folder.run(&["run", "movie", "--out", "results", "--commands", "commands.csv"]).text();
        let mode = |name| std::fs::metadata(folder.path(name)).unwrap().permissions().mode();
        for name in ["results/summary.json", "results/requests.parquet", "commands.csv"] {
            assert_eq!(mode(name), mode("other"), "{name}");
        }
    }
}

/// The lines of a run's figures by their first words, for a layer of the study's device.
#[track_caller]
fn figures(set: &str) -> Vec<String> {
    let args = ["run", "ftl-study", "oltp", "--set", "mix.requests=3000", "--set", set];
    let text = Folder::new().run(&args).text();
    text.lines().map(str::to_string).collect()
}

#[test]
fn a_run_prints_merges_map_cache_and_memory_where_there_are_such() {
    let starts = |lines: &[String], word: &str| lines.iter().any(|line| line.starts_with(word));
    for (set, memory, [merges, collection, cache]) in [
        ("ftl.scheme=fast", "91.0 KiB of tables, ", [true, false, false]),
        ("ftl.scheme=page", "1.50 MiB of tables, ", [false, true, false]),
        ("map.store=cmt", " of tables, 32.0 KiB of map cache, ", [false, true, true]),
    ] {
        let lines = figures(set);
        assert_eq!(starts(&lines, "merges  "), merges, "{set}: {lines:#?}");
        assert_eq!(starts(&lines, "collection  "), collection, "{set}: {lines:#?}");
        assert_eq!(starts(&lines, "map cache  "), cache, "{set}: {lines:#?}");
        let line = lines.iter().find(|line| line.starts_with("memory  ")).expect("a line");
        assert!(line.contains(memory) && line.ends_with(" accesses"), "{line}");
        let verdict = crate::support::said(&lines.join("\n"), "verdict");
        assert_eq!(verdict.contains("and garbage collection did not run: "), !merges, "{verdict}");
        assert_eq!(verdict.contains("and merges began on the way: "), merges, "{verdict}");
    }
}
