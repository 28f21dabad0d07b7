//! `--bus FILE` and `--microcode FILE`: rows that sum up to the results, programs that take the
//! times that they take, and what is refused.

use crate::support::{Folder, int, repository_file, sum};
use serde_json::Value;
use std::collections::BTreeMap;

const PROGRAMS: &str = "crates/core/src/bus/microcode/standard.asm";

/// A device that translates, on channels that carry requests.
const REQUESTS: [&str; 8] = [
    "--set",
    "bus.precision=requests",
    "--set",
    "channel.ps_per_byte=10000",
    "--set",
    "channel.command_ns=300",
    "--set",
    "geometry.ways=2",
];

/// The rows of a log by column.
fn rows(folder: &Folder, name: &str) -> Vec<BTreeMap<String, String>> {
    let text = String::from_utf8(folder.read(name)).expect("text");
    let mut lines = text.lines();
    let header: Vec<_> = lines.next().expect("a header").split(',').map(str::to_owned).collect();
    let row = |line: &str| {
        let cells: Vec<_> = line.split(',').map(str::to_owned).collect();
        assert_eq!(cells.len(), header.len(), "{line}");
        header.iter().cloned().zip(cells).collect()
    };
    lines.map(row).collect()
}

/// What the rows of a log add up to is what the results say; `page` is the bytes of a page.
#[track_caller]
fn check_log(run: &Value, rows: &[BTreeMap<String, String>], page: u64) {
    let number = |row: &BTreeMap<String, String>, column: &str| {
        row[column].parse::<u64>().unwrap_or_else(|_| panic!("{column}: {row:?}"))
    };
    let of = |kind: &'static str| rows.iter().filter(move |row| row["kind"] == kind);
    let bytes = |kind| of(kind).map(|row| number(row, "bytes")).sum::<u64>();
    let flash = &run["flash"];
    assert_eq!(bytes("ID"), sum(&flash["programs"]) * page, "data of programs");
    assert_eq!(bytes("OD"), sum(&flash["reads"]) * page, "data of reads");
    assert_eq!(of("EA").count() as u64, sum(&flash["erases"]), "erases");
    assert_eq!(of("RA").count() as u64, sum(&flash["array_ops"]["reads"]), "reads");
    assert_eq!(of("PA").count() as u64, sum(&flash["array_ops"]["programs"]), "programs");
    assert_eq!(of("ST").count() as u64, int(run, "bus.status_requests"), "status requests");
    let busy = of("ST").filter(|row| row["answer"] == "busy").count() as u64;
    assert_eq!(busy, int(run, "bus.busy_answers"), "busy answers");
    let mut free: BTreeMap<u64, u64> = BTreeMap::new();
    for row in rows {
        let (start, end) = (number(row, "start_ns"), number(row, "end_ns"));
        let before = free.insert(number(row, "channel"), end).unwrap_or(0);
        assert!(start >= before && end >= start, "two requests at a time: {row:?}");
        assert_eq!(row["answer"].is_empty(), row["kind"] != "ST", "{row:?}");
    }
}

#[test]
fn the_log_of_bus_requests_adds_up_to_the_results() {
    let folder = Folder::new();
    let raw = ["run", "framework", "raw-1-256-128", "--set", "raw.requests=500"];
    let small = ["--set", "geometry.blocks_per_plane=64"];
    let log = ["--bus", "bus.csv", "--json", "--check"];
    let run = folder.run(&[&raw[..], &small, &log].concat()).json();
    let logged = rows(&folder, "bus.csv");
    check_log(&run, &logged, 16_384);
    assert!(logged.iter().any(|row| row["kind"] == "OD" && row["offset"] == "12288"), "chunks");
    let mixed = ["run", "small-full", "mixed-70-30", "--set", "pattern.requests=2500"];
    let small = ["--set", "geometry.blocks_per_plane=40"];
    let run = folder.run(&[&mixed[..], &REQUESTS, &small, &log].concat()).json();
    assert!(int(&run, "gc.jobs") > 10, "{}", run["gc"]);
    check_log(&run, &rows(&folder, "bus.csv"), int(&run, "device.geometry.page_bytes"));
}

/// Status requests that take no time are logged too, with the command that they ask about.
#[test]
fn requests_that_take_no_time_are_logged() {
    let folder = Folder::new();
    let work = ["run", "drs", "facebook", "--set", "generator.requests=4", "--json"];
    let bus = ["--set", "bus.precision=requests", "--set", "bus.status_ns=0", "--bus", "bus.csv"];
    let run = folder.run(&[&work[..], &bus].concat()).json();
    let rows = rows(&folder, "bus.csv");
    let asked = rows.iter().filter(|row| row["kind"] == "ST");
    let commands = |stage: &str| asked.clone().filter(|row| row["stage"] == stage).count();
    assert_eq!(asked.clone().count() as u64, int(&run, "bus.status_requests"));
    assert!(commands("MRf") > 0 && commands("DP") > 0);
    assert!(asked.clone().all(|row| row["start_ns"] == row["end_ns"]));
}

/// By hand: die 1 could be asked from 60300 on, when the data of die 0 have the bus, and the next
/// read of die 0 activated from 91390 on, when they have left it.
#[test]
fn questions_keep_their_turn_while_the_bus_is_busy() {
    let device = "base = \"none\"\ngeometry = { ways = 3, blocks_per_plane = 16, pages_per_block = 8 }\n\
                  nand = { read_us = 50, program_us = 200 }\nmap = { store = \"resident\" }\n\
                  channel = { ps_per_byte = 10000, command_ns = 300, arbitration = \"in_order\" }\n\
                  bus = { precision = \"requests\" }\nftl = { scheme = \"none\" }\n";
    let folder = Folder::with("d.toml", device);
    folder.write("w.toml", "[raw]\npath = \"w.csv\"\n");
    folder.write(
        "w.csv",
        "arrival_us,op,die,block,page\n0,read,0,0,0\n10,read,1,0,0\n20,read,0,0,1\n",
    );
    for readiness in ["ideal", "polled"] {
        let readiness = format!("bus.readiness={readiness}");
        let log = ["--set", &readiness, "--bus", "bus.csv"];
        folder.run(&[&["run", "d.toml", "w.toml"], &log[..]].concat()).text();
        let rows = rows(&folder, "bus.csv");
        let sent = |row: &BTreeMap<String, String>| {
            format!("{} {} {}", row["request"], row["kind"], row["start_ns"])
        };
        assert_eq!(
            rows[3..6].iter().map(sent).collect::<Vec<_>>(),
            ["0 OD 50430", "1 ST 91390", "2 RA 91520"],
            "{readiness}"
        );
    }
}

#[test]
fn a_device_without_bus_requests_has_nothing_to_log_or_program() {
    for option in ["--bus", "--microcode"] {
        let folder = Folder::with("programs.asm", repository_file(PROGRAMS));
        let file = if option == "--bus" { "bus.csv" } else { "programs.asm" };
        let refused = folder.run(&["run", "drs", "movie", option, file]);
        assert_eq!(refused.status, Some(2), "{refused:?}");
        let what = format!("{option}: the channels of the device carry no bus requests");
        assert!(refused.stderr.contains(&what), "{refused:?}");
        assert!(refused.stdout.is_empty() && folder.files().len() == 1, "{refused:?}");
    }
}

/// The results, without what names programs and files.
fn results(mut run: Value) -> Value {
    run["device"].take();
    run["provenance"].take();
    run
}

#[test]
fn the_standard_programs_of_a_file_are_those_of_the_framework() {
    let folder = Folder::with("programs.asm", repository_file(PROGRAMS));
    let run = ["run", "small-full", "mixed-70-30", "--set", "pattern.requests=900"];
    let run = [&run[..], &REQUESTS, &["--json", "--check"]].concat();
    let file = ["--microcode", "programs.asm"];
    for set in ["framework", "sdr-50", "nv-ddr-200"] {
        let timing = format!("bus.timing={set}");
        let standard = folder.run(&[&run[..], &["--set", &timing]].concat()).json();
        let timing = format!("bus.microcode.timing={set}");
        let own = folder.run(&[&run[..], &file, &["--set", &timing]].concat()).json();
        assert_eq!(own["device"]["bus"]["timing"], "microcode");
        assert_eq!(results(own), results(standard), "{set}");
    }
    // Two cycles more for each byte of data, as by a slower chip.
    let text = repository_file(PROGRAMS).replace("WAIT tCCS", "WAIT tCCS\n        WAIT 50");
    folder.write("slow.asm", text);
    let mean = |file: &str| {
        let run = folder.run(&[&run[..], &["--microcode", file]].concat()).json();
        run["latency_ns"]["all"]["mean"].as_f64().expect("a mean")
    };
    assert!(mean("slow.asm") > mean("programs.asm"), "waits take time");
}

/// The standard programs with a line changed, and what is said of which line.
#[track_caller]
fn check_refused(from: &str, to: &str, line: &str, what: &str) {
    let text = repository_file(PROGRAMS);
    assert!(text.contains(from), "{from}");
    let text = text.replacen(from, to, 1);
    let at = 1 + text.lines().position(|known| known.contains(line)).expect("the line");
    let folder = Folder::with("mine.asm", text);
    let run = ["run", "drs", "movie", "--microcode", "mine.asm"];
    let refused = folder.run(&[&run[..], &REQUESTS].concat());
    assert_eq!(refused.status, Some(2), "{refused:?}");
    let expected = format!("mine.asm: line {at}: {what}");
    assert!(refused.stderr.contains(&expected), "{expected}\n{refused:?}");
    assert!(refused.stdout.is_empty(), "{refused:?}");
}

#[test]
fn a_wrong_program_is_refused_with_its_line() {
    let outside = "the program goes on outside of its instructions";
    check_refused("SND r1", "WAIT 1 ; last", "last", outside);
    check_refused("DOUT len", "DOUT len\n        DOUT len ; more", "more", "waits for");
    let enabled = "answers while the chip is still enabled";
    check_refused(
        "WAIT tADL\n        CE-\n        SND r0",
        "WAIT tADL\n        SND r0 ; on",
        "; on",
        enabled,
    );
    check_refused("DIN len", "DIM len ; typo", "typo", "DIM is no instruction");
    check_refused("DSP EA,", "DSP XX,", "DSP XX,", "no line has the label XX");
}
