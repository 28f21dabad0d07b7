//! Wrong input: exit status 2, one message that names place, reason and remedy, and no output.

use crate::support::{Folder, Ran, TRACE};
use flate2::Compression;
use flate2::write::GzEncoder;
use std::io::Write;

/// The options that would write files.
const OUTPUTS: [&str; 5] = ["--json", "--out", "results", "--commands", "commands.csv"];

/// A run refuses these arguments with this one line, whatever output is asked for, and leaves none.
#[track_caller]
fn run_refuses(folder: &Folder, args: &[&str], message: &str) {
    let args = [&["run"], args, &OUTPUTS].concat();
    assert_refused(folder, &args, &[message]);
}

/// The command refuses these arguments; each message is one line, or the beginning of one that
/// ends in "...".
#[track_caller]
fn assert_refused(folder: &Folder, args: &[&str], messages: &[&str]) {
    let before = folder.files();
    let ran = folder.run(args);
    assert_eq!(ran.status, Some(2), "{args:?}: {ran:?}");
    assert_messages(&ran, messages);
    assert_eq!(folder.files(), before, "{args:?} left or changed a file");
}

#[track_caller]
fn assert_messages(ran: &Ran, messages: &[&str]) {
    assert_eq!(ran.stdout, "", "{ran:?}");
    let stderr = ran.stderr.strip_prefix("error: ").expect("an error is called one");
    let lines: Vec<&str> = stderr.lines().collect();
    assert_eq!(lines.len(), messages.len(), "{stderr}");
    for (line, message) in lines.iter().zip(messages) {
        match message.strip_suffix("...") {
            Some(start) => assert!(line.starts_with(start), "expected {start}\n   found {line}"),
            None => assert_eq!(line, message),
        }
    }
}

#[test]
fn unknown_names_are_refused_with_the_nearest_known_one() {
    let folder = Folder::new();
    let device = "dsr: no such device preset or file; did you mean drs?";
    run_refuses(&folder, &["dsr", "movie"], device);
    run_refuses(&folder, &["qqqq.gz", "movie"], "qqqq.gz: no such device preset or file; ...");
    let workload = "moovie: no such workload or file; did you mean movie?";
    run_refuses(&folder, &["drs", "moovie"], workload);
    let either = "moovie: no such device, workload or file; did you mean movie?";
    run_refuses(&folder, &["moovie"], either);
    run_refuses(&folder, &["none.toml"], "none.toml: cannot be read, ...");
    run_refuses(&folder, &["drs", "none.toml"], "none.toml: cannot be read, ...");
}

#[test]
fn unknown_keys_and_words_are_refused_with_the_nearest_known_one() {
    let folder = Folder::new();
    let check = |setting: &str, message: &str| {
        let message = format!("--set {setting}: {message}");
        run_refuses(&folder, &["--set", setting], &message);
    };
    check("queue.dept=4", "queue.dept: unknown key; did you mean queue.depth?");
    check("depth=4", "depth: unknown key; did you mean queue.depth?");
    check("generator.request=4", "generator.request: unknown key; did you mean ...");
    check("zzzzzz=4", "zzzzzz: unknown key; ...");
    check("queue.depth", "KEY=VALUE is needed, such as queue.depth=64");
    check("policy.command=drz", "policy.command: drz is not one of fifo, rcf, ...");
    check("map.batch_update=yes", "map.batch_update: yes is neither true nor false");
    check("trace.fold=", "trace.fold:  is not one of error, modulo, mirror, renumber");
}

#[test]
fn numbers_out_of_range_are_refused_with_the_range() {
    let folder = Folder::new();
    let check = |setting: &str, message: &str| {
        run_refuses(&folder, &["--set", setting], &format!("--set {setting}: {message}"));
    };
    let channels = "is not a whole number (channels) from 1 to 1024";
    for wrong in ["0", "1025", "-1", "1.5", "99999999999999999999", "one", ""] {
        let message = format!("geometry.channels: {wrong} {channels}");
        check(&format!("geometry.channels={wrong}"), &message);
    }
    check("geometry.channels=1e3", "geometry.channels: 1e3: e3 is no unit, and the key is in ...");
    check("queue.depth=0", "queue.depth: 0 is not a whole number (slots) from 1 to 1000000");
    check("nand.read_us=0.0001", "nand.read_us: 0.0001 is not a number (us) from 0.001 to ...");
}

#[test]
fn devices_that_cannot_exist_are_refused() {
    let folder = Folder::new();
    let check = |settings: &[&str], message: &str| {
        let args: Vec<&str> = settings.iter().flat_map(|setting| ["--set", setting]).collect();
        run_refuses(&folder, &args, &format!("device drs: {message}"));
    };
    let line = "map.cache_bytes: 31 is smaller than a line (8 entries of 4 bytes = 32)";
    check(&["map.cache_bytes=31"], line);
    let units =
        "geometry: 9448928051200 mapping units are more than 32 bits count (4294967294); make ...";
    check(&["geometry.channels=1024", "geometry.ways=1024"], units);
    let room = "geometry.blocks_per_plane: 20 blocks leave no room to write: ...";
    check(&["geometry.blocks_per_plane=20"], room);
    check(&["map.entries_per_line=7"], "map.entries_per_line: 7 does not divide the 1024 ...");
    check(
        &["gc.reserve_blocks=17", "gc.soft_free_blocks=16"],
        "gc.reserve_blocks: 17 is above gc.soft_free_blocks = 16; ...",
    );
}

#[test]
fn all_problems_of_a_device_file_are_reported_together_with_their_lines() {
    let file = "[geometry]\nchannels = 0\nwayz = 2\n\n[map]\nhazards = \"orders\"\n[nnd]\nx = 1\n";
    let folder = Folder::with("mine.toml", file);
    let args = [&["run", "mine.toml", "movie", "--set", "queue.depth=0"], &OUTPUTS[..]].concat();
    let messages = [
        "mine.toml:2: geometry.channels: 0 is not a whole number (channels) from 1 to 1024",
        "mine.toml:3: geometry.wayz: unknown key; did you mean geometry.ways?",
        "mine.toml:6: map.hazards: orders is not one of order, ignore; did you mean order?",
        "mine.toml:7: [nnd]: unknown section; did you mean nand?",
        "--set queue.depth=0: queue.depth: 0 is not a whole number (slots) from 1 to 1000000",
    ];
    assert_refused(&folder, &args, &messages);
}

#[test]
fn a_device_that_contradicts_itself_is_refused_with_every_reason() {
    let file = "base = \"none\"\n[geometry]\npage_bytes = 1000\n[gc]\nhard_free_blocks = 20\n\
                soft_free_blocks = 16\n[map]\ncache_bytes = 1\n";
    let folder = Folder::with("mine.toml", file);
    let args = [&["run", "mine.toml", "movie"], &OUTPUTS[..]].concat();
    let messages = [
        "device mine.toml: geometry.page_bytes: 1000 is not a multiple of the sector of 512 bytes \
         (geometry.page_bytes: mine.toml:3)",
        "device mine.toml: map.entries_per_line: 8 does not divide the 250 entries of a map page",
        "device mine.toml: gc.hard_free_blocks: 20 is above gc.soft_free_blocks = 16; ...",
    ];
    assert_refused(&folder, &args, &messages);
}

#[test]
fn device_files_that_are_no_toml_are_refused() {
    let check = |contents: &[u8], message: &str| {
        let folder = Folder::with("mine.toml", contents);
        run_refuses(&folder, &["mine.toml", "movie"], &format!("mine.toml{message}"));
    };
    check(b"[queue]\ndepth = = 3\n", ":2: ...");
    check(b"[queue]\ndepth = 3\ndepth = 4\n", ":3: ...");
    check(b"\x7fELF\xff\xfe", ": cannot be read, ...");
}

/// Runs a trace of these bytes, which must be refused with this message.
#[track_caller]
fn trace_refused(contents: impl AsRef<[u8]>, settings: &[&str], message: &str) {
    let folder = Folder::with("t.txt", contents);
    let mut args = vec!["t.txt"];
    args.extend(settings.iter().flat_map(|setting| ["--set", setting]));
    run_refuses(&folder, &args, &format!("t.txt{message}"));
}

#[test]
fn wrong_rows_are_refused_with_their_line() {
    let check = |row: &str, message: &str| {
        trace_refused(format!("{TRACE}{row}\n"), &[], &format!(":6: {message}"));
    };
    let columns = "a row is time ns, device, first sector, sectors, operation between blanks";
    check("90000000 0 12", &format!("3 columns instead of 5; {columns}"));
    check("90000000 0 12 8 1 7", &format!("6 columns instead of 5; {columns}"));
    let whole = "a whole number from 0 to 18446744073709551615 belongs there";
    check("90000000 0 -8 8 1", &format!("first sector is negative, \"-8\"; {whole}"));
    let large = format!("time is too large, \"99999999999999999999\"; {whole}");
    check("99999999999999999999 0 8 8 1", &large);
    check("90000000 0 8 4294967296 1", "sectors is too large, \"4294967296\"; a request has ...");
    check("90000000 0 8 0 1", "sectors is 0; a request has at least one sector: take the row out");
    check("90000000 0 8 8 2", "unknown operation, \"2\"; the operations of this format are ...");
    check("90000000 0 eight 8 1", &format!("first sector is not a number, \"eight\"; {whole}"));
    check("90000000 65536 8 8 1", "device is too large, \"65536\"; it ends at 65535");
    check("\u{1b}[2J 0 8 8 1", &format!("time is not a number, \"\\x1b[2J\"; {whole}"));
}

#[test]
fn a_row_that_was_cut_off_is_refused_in_every_format() {
    for format in flashyard_workload::FORMATS.iter() {
        let whole = format.example.repeat(3);
        let cut = &whole[..whole.len() - 6];
        let cut = cut.rfind(['\t', ',', ' ']).map_or(cut, |at| &cut[..at]);
        let line = whole.lines().count();
        let settings = ["trace.fold=modulo", "trace.time_order=sort"];
        trace_refused(cut, &settings, &format!(":{line}: ..."));
    }
}

#[test]
fn files_that_are_no_trace_are_refused() {
    let empty = ": there are no requests in it; give a trace with one request a line";
    trace_refused("", &[], empty);
    trace_refused("\n \r\n\t\n", &[], empty);
    let names: Vec<&str> =
        flashyard_workload::FormatInfo::all().map(|format| format.name).collect();
    let formats = format!("set trace.format to one of {}, or to its ...", names.join(", "));
    let elf = format!(": its format is not known, it starts with \"\\x7fELF\\x02\"; {formats}");
    trace_refused(b"\x7fELF\x02\n\0\0\xff\n", &[], &elf);
    trace_refused(vec![0xa5; 100_000], &[], ": its format is not known, it starts with ...");
    trace_refused("just a note\n", &[], ": its format is not known, it starts with ...");
    let endless = format!("{TRACE}{}", "7".repeat(70_000));
    trace_refused(endless, &[], ":6: the line is longer than 65536 bytes; ...");
}

#[test]
fn compressed_files_that_were_cut_short_are_refused() {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(TRACE.as_bytes()).unwrap();
    let whole = encoder.finish().unwrap();
    for lost in [1, 8, 9, whole.len() - 3] {
        let message = ": the compressed data ends early, after line ...";
        trace_refused(&whole[..whole.len() - lost], &[], message);
    }
    trace_refused(
        b"\x28\xb5\x2f\xfd\x24",
        &[],
        ": the compressed data ends early, after line 0...",
    );
}

#[test]
fn time_that_runs_backwards_is_refused_with_the_key_that_helps() {
    let rows = "9000 0 0 8 1\n8000 0 0 8 1\n7000 0 0 8 1\n";
    let fix = "set trace.time_order = \"sort\" to sort the rows, or \"join_epochs\" if the clock was \
               set while recording";
    trace_refused(rows, &[], &format!(":2: time steps back by 1 us; {fix}"));
    let narrow = ["trace.time_order=sort", "trace.sort_window=1"];
    let message = ":3: time steps back by 1 us, too far for a window of 1 request; \
                   trace.sort_window = 2 reaches this row";
    trace_refused(rows, &narrow, message);
}

#[test]
fn addresses_past_the_end_of_the_device_are_refused_with_the_key_that_helps() {
    let rows = "0 0 0 8 1\n1 0 67373449 8 1\n";
    let fix = "set trace.fold to renumber, modulo or mirror, or give the device more capacity";
    let message =
        format!(":2: the request ends behind the device, sector 67373457 of 67373456; {fix}");
    trace_refused(rows, &[], &message);
    let message = ":1: the request is larger than the device, 4294967295 sectors of 67373456; \
                   give the device more capacity";
    trace_refused("0 0 0 4294967295 0\n", &["trace.fold=modulo"], message);
    let message = ":1: first sector is too large, 18446744073709551615 with ...";
    trace_refused("0 0 18446744073709551615 8 0\n", &["trace.fold=modulo"], message);
}

#[test]
fn times_too_late_to_simulate_are_refused() {
    let rows = "0 0 0 8 1\n18446744073709551615 0 8 8 1\n";
    trace_refused(rows, &[], ":2: ...");
    trace_refused(&rows[10..], &["trace.rebase=false"], ":1: ...");
}

#[test]
fn energy_that_does_not_fit_is_no_panic() {
    let folder = Folder::new();
    for settings in [
        ["energy.standby_mw=1000000", "geometry.channels=32"],
        ["energy.program_mw=1000000", "nand.program_us=4000000"],
    ] {
        let ran = folder.run(&["run", "--json", "--set", settings[0], "--set", settings[1]]);
        assert!(matches!(ran.status, Some(1 | 2)), "{settings:?}: {ran:?}");
        assert_eq!(ran.stdout, "");
    }
}

#[test]
fn keys_that_contradict_each_other_are_refused() {
    let folder = Folder::with("t.txt", TRACE);
    let both = ["t.txt", "--set", "trace.duration_ms=5", "--set", "trace.time_scale=2"];
    let message = "trace.duration_ms: there is a duration and a scale; set only one of ...";
    run_refuses(&folder, &both, message);
    let mean = "generator.write_kib: no such mean with these shares, 16384 KiB; choose ...";
    run_refuses(&folder, &["movie", "--set", "generator.write_kib=16384"], mean);
}

#[test]
fn workload_files_with_problems_are_refused_with_their_lines() {
    let check = |text: &str, message: &str| {
        let folder = Folder::with("w.toml", text);
        run_refuses(&folder, &["drs", "w.toml"], message);
    };
    let neither = "w.toml: none of trace.path, [generator], [pattern], [mix], [profile], [files] and [raw] says where requests come from";
    check("title = \"nothing\"\n", neither);
    let both = "w.toml: [trace] and [generator] exclude each other";
    check("[trace]\npath = \"t.txt\"\n[generator]\nbase = \"movie\"\n", both);
    let base = "w.toml:2: generator.base: moovie is not a built-in workload; did you mean movie?";
    check("[generator]\nbase = \"moovie\"\n", base);
    let quotes = "w.toml:2: trace.path: a string in quotes is needed";
    let found = format!("{quotes}\n{neither}");
    let folder = Folder::with("w.toml", "[trace]\npath = 7\n");
    let args = [&["run", "drs", "w.toml"], &OUTPUTS[..]].concat();
    assert_refused(&folder, &args, &found.lines().collect::<Vec<_>>());
    let key = "w.toml:2: generator.request: unknown key; did you mean ...";
    check("[generator]\nrequest = 7\n", key);
    let lines =
        "w.toml:3: initial.map_lines: each needs slpn (a page number) and may have dirty ...";
    check("[generator]\nrequests = 7\n[[initial.map_lines]]\nslpn = -8\n", lines);
    check("[trace]\npath = \"none.txt\"\n", "none.txt: cannot be read, ...");
    let format = "trace.format: there is no format \"csv\"; the formats are ...";
    check("[trace]\npath = \"w.toml\"\nformat = \"csv\"\n", format);
    let columns = "trace.format: there is no column size; name the columns in ...";
    let text = "[trace]\npath = \"w.toml\"\nformat = \"comma; time:s op:R/W offset:B\"\n";
    check(text, columns);
    let missing = "none.toml: cannot be read, ...";
    check("[trace]\npath = \"w.toml\"\nformat = \"none.toml\"\n", missing);
}

#[test]
fn initial_map_lines_that_do_not_fit_are_refused() {
    let check = |lines: &str, message: &str| {
        let text = format!("[generator]\nrequests = 3\n{lines}");
        let folder = Folder::with("w.toml", text);
        run_refuses(&folder, &["drs", "w.toml"], message);
    };
    let line = |slpn: u64| format!("[[initial.map_lines]]\nslpn = {slpn}\n");
    check(&line(9), "initial line 9: must be a multiple of 8 inside the device");
    check(&(line(8) + &line(8)), "initial line 8 is given twice");
    check(&line(1 << 32), "initial line 4294967296: the last page of the device is 8421681");
    let many: String = (0..33).map(|place| line(place * 8)).collect();
    check(&many, "33 initial lines are more than the cache's 32");
}

#[test]
fn a_seed_for_a_trace_is_refused() {
    let folder = Folder::with("t.txt", TRACE);
    let message = "--seed: a trace has no seed; it is for generated workloads";
    run_refuses(&folder, &["t.txt", "--seed", "3"], message);
    let args = ["compare", "t.txt", "--seed", "3", "--vary", "queue.depth=1,2"];
    assert_refused(&folder, &args, &[message]);
}

#[test]
fn standard_input_is_refused_where_it_would_be_read_twice() {
    let folder = Folder::new();
    let refused = |args: &[&str], message: &str| {
        let ran = folder.run_with_input(args, TRACE.as_bytes());
        assert_eq!(ran.status, Some(2), "{ran:?}");
        assert_messages(&ran, &[message]);
    };
    let compare =
        "compare reads the workload once a run, standard input can be read only once: ...";
    refused(&["compare", "-", "--vary", "queue.depth=1,2"], compare);
    let join = "standard input: trace.time_order = \"join_epochs\" reads the trace twice, ...";
    refused(&["run", "-", "--set", "trace.time_order=join_epochs"], join);
    let stretch = "standard input: trace.duration_ms reads the trace twice, ...";
    refused(&["run", "-", "--set", "trace.duration_ms=5"], stretch);
    refused(&["trace", "info", "-", "--set", "trace.duration_ms=5"], stretch);
}

#[test]
fn comparisons_check_every_value_before_the_first_run() {
    let folder = Folder::new();
    let check = |vary: &str, message: &str| {
        let args = ["compare", "movie", "--json", "--vary", vary];
        assert_refused(&folder, &args, &[message]);
    };
    let needed = "--vary queue.depth: KEY=A,B,C is needed, such as queue.depth=1,16,256";
    check("queue.depth", needed);
    let range = "queue.depth: 0 is not a whole number (slots) from 1 to 1000000";
    check("queue.depth=1,0", &format!("--vary queue.depth=0: {range}"));
    let key = "queue.dept: unknown key; did you mean queue.depth?";
    check("queue.dept=1,2", &format!("--vary queue.dept=1: {key}"));
    check("map.cache_bytes=1024,16", "device drs: map.cache_bytes: 16 is smaller than a line ...");
}

#[test]
fn a_study_without_its_traces_is_refused_with_their_names() {
    let folder = Folder::with("traces/log121_Movie.txt", TRACE);
    let args = ["reproduce", "drs", "--json", "--traces", "traces"];
    let message = "traces: missing log152_YouTube.txt, log176_Booting.txt, log191_facebook.txt, \
                   log171_angrybird.txt, log132_radio.txt, log240_RadioMessage.txt, \
                   log250_RadioWebBrowse.txt (plain, .gz or .zst)";
    assert_refused(&folder, &args, &[message]);
    std::fs::create_dir(folder.path("empty")).unwrap();
    let args = ["reproduce", "drs", "--json", "--traces", "empty"];
    assert_refused(&folder, &args, &["empty: missing log121_Movie.txt, log152_YouTube.txt, ..."]);
    let args = ["reproduce", "drs", "--device", "dsr"];
    assert_refused(&folder, &args, &["dsr: no such device preset or file; did you mean drs?"]);
    let args = ["reproduce", "drs", "--set", "geometry.channels=0"];
    assert_refused(&folder, &args, &["--set geometry.channels=0: geometry.channels: 0 is not ..."]);
}

#[test]
fn trace_statistics_refuse_what_runs_refuse() {
    let folder = Folder::with("t.txt", format!("{TRACE}1 0 0 8 1\n"));
    let message = "t.txt:6: time steps back by 8.999 ms; set trace.time_order = \"sort\" ...";
    assert_refused(&folder, &["trace", "info", "t.txt"], &[message]);
    assert_refused(&folder, &["trace", "info", "x.txt"], &["x.txt: no such workload or file; ..."]);
}

#[test]
fn wrong_arguments_end_with_status_2_and_the_usage() {
    let folder = Folder::new();
    for args in [
        &["simulate"][..],
        &["run", "--depth", "3"],
        &["run", "drs", "movie", "more"],
        &["run", "--seed", "-1"],
        &["run", "--set"],
        &["compare", "movie"],
        &["reproduce", "dsr"],
        &["trace", "info"],
        &["trace", "convert"],
        &["list", "traces"],
        &[],
    ] {
        let ran = folder.run(args);
        assert_eq!(ran.status, Some(2), "{args:?}: {ran:?}");
        assert_eq!(ran.stdout, "");
        assert!(ran.stderr.contains("--help") || ran.stderr.contains("Usage"), "{ran:?}");
    }
}

#[test]
fn a_run_that_fails_leaves_earlier_results_alone() {
    let folder = Folder::with("t.txt", format!("{TRACE}oops\n"));
    for name in ["results/summary.json", "results/requests.parquet", "commands.csv"] {
        folder.write(name, "earlier results");
    }
    run_refuses(&folder, &["t.txt"], "t.txt:6: 1 columns instead of 5; ...");
}

#[test]
fn a_run_that_fails_makes_no_folder() {
    let folder = Folder::with("t.txt", "0 0 0 8 1\noops\n");
    assert_eq!(folder.run(&["run", "t.txt", "--out", "results"]).status, Some(2));
    assert!(!folder.path("results").exists());
}

#[test]
fn results_that_cannot_be_written_are_an_error_that_names_the_path() {
    let folder = Folder::with("file", "not a folder");
    for option in [&["--out", "file"][..], &["--commands", "none/commands.csv"]] {
        let ran = folder.run(&[&["run", "movie"], option].concat());
        assert_eq!(ran.status, Some(1), "{ran:?}");
        assert_eq!(ran.stdout, "", "{ran:?}");
        assert!(ran.stderr.starts_with(&format!("error: {}", option[1])), "{ran:?}");
    }
    assert_eq!(folder.read("file"), b"not a folder");
    assert_eq!(folder.files().len(), 1);
}

#[test]
fn results_go_to_files_of_their_own() {
    let folder = Folder::with("t.txt", "0 0 0 8 1\n");
    folder.write("d.toml", "base = \"drs\"\n");
    folder.write("w.toml", "[trace]\npath = \"t.txt\"\n");
    let run = |args: &[&str]| folder.run(&[&["run", "d.toml", "w.toml"], args].concat());
    let read = "it is read, too; write to another file";
    let twice = "another result is written to this file; choose a different one";
    for (args, path, what) in [
        (&["--commands", "t.txt"][..], "t.txt", read),
        (&["--save", "./d.toml"], "./d.toml", read),
        (&["--timeline", "w.toml"], "w.toml", read),
        (&["--commands", "c.csv", "--power", "./c.csv"], "./c.csv", twice),
        (&["--out", "o", "--commands", "o/requests.parquet"], "o/requests.parquet", twice),
    ] {
        let ran = run(args);
        assert_eq!((ran.status, ran.stderr), (Some(2), format!("error: {path}: {what}\n")));
    }
    assert_eq!(folder.files().len(), 3);
    assert_eq!(run(&["--save", "s"]).status, Some(0));
    assert_eq!(run(&["--restore", "s", "--save", "s"]).status, Some(0), "a device goes on");
    assert_eq!(run(&["--commands", "/dev/null", "--power", "/dev/null"]).status, Some(0));
}

#[test]
fn messages_lead_to_what_helps() {
    let folder = Folder::with("h.csv", "when,where,size,op,asu\n0,8,4096,R,0.1\n");
    folder.write("t.txt", "0 0 0 8 1\n");
    let lines = "[trace]\npath = \"t.txt\"\n[[initial.buffer_lines]]\npage = 1\n";
    folder.write("lines.toml", lines);
    let check = |args: &[&str], fix: &str| {
        let ran = folder.run(args);
        assert_eq!(ran.status, Some(2), "{ran:?}");
        assert!(ran.stderr.trim_end().ends_with(fix), "{ran:?}");
    };
    let header = "if the line is a header, set trace.skip_lines = 1";
    check(&["run", "drs", "h.csv", "--set", "trace.format=spc"], header);
    folder.write("kv.csv", "time,ts,op,key,bytes\n0,0,put,a,4096\n");
    let names = "docs/TRACES.md lists the names";
    check(&["run", "drs", "kv.csv", "--set", "trace.format=kv"], names);
    check(&["run", "ros", "lines.toml"], "set buffer.initial = \"empty\"");
    let empty = ["run", "ros", "lines.toml", "--set", "buffer.initial=empty"];
    assert_eq!(folder.run(&empty).status, Some(0));
    let set = "policy.command=reads_first";
    check(&["run", "drs", "t.txt", "--set", set], "; did you mean rcf?");
}
