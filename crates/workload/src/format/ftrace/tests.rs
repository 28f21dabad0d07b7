//! Lines of the tracer, and traces that begin with them.

use flashyard_core::request::{Flags, RequestOp};

use super::super::tests::{parse, refused};
use super::*;
use crate::RequestSource;
use crate::format::Record;
use crate::input::Input;
use crate::trace::{Trace, TraceKeys, TraceOptions};
use RequestOp::{Flush, Read, Trim, Write};

const ROW: &str = "  dd-4011  [001] d..1. 81.250100: block_bio_queue: 8,0 WS 2048 + 16 [dd]";
const ISSUE: &str = "  my task-7 (   7) [012] .... 3.000000001: block_rq_issue: 259,0 R \
                     4096 () 80 + 8 none,0,0 [my task]";
const COMPLETE: &str =
    "<idle>-0 [000] d.h1. 4.5: block_rq_complete: 8,16 WFS () 4096 + 1 be,0,4 [0]";

/// What the rows hold under an event and a column of streams.
fn read(event: Event, split: Option<&'static str>, rows: &[&str]) -> (Vec<Record>, Vec<String>) {
    let mut reader = reader(&ReaderOptions { event, split, ..ReaderOptions::default() });
    let mut records = Vec::new();
    for row in rows {
        if let Parsed::Request(record) = reader.parse(row.as_bytes()).unwrap() {
            records.push(record);
        }
    }
    (records, reader.stream_names())
}

fn record(time_ns: u64, op: RequestOp, flags: Flags, range: (u64, u32)) -> Record {
    let (first_sector, sectors) = range;
    Record { time_ns, first_sector, sectors, stream: 0, op, flags, placement: None }
}

#[test]
fn each_event_is_read_exactly() {
    let rows = [ROW, ISSUE, COMPLETE];
    let queue = record(81_250_100_000, Write, Flags::NONE, (2_048, 16));
    assert_eq!(read(Event::Queue, None, &rows), (vec![queue], vec!["8,0".to_owned()]));
    let issue = record(3_000_000_001, Read, Flags::NONE, (80, 8));
    assert_eq!(read(Event::Issue, None, &rows), (vec![issue], vec!["259,0".to_owned()]));
    let complete = record(4_500_000_000, Write, Flags::FUA, (4_096, 1));
    assert_eq!(read(Event::Complete, None, &rows), (vec![complete], vec!["8,16".to_owned()]));
}

#[test]
fn lines_of_trace_cmd_and_of_older_kernels_are_read() {
    for row in [
        "           dd-4011  [001]    81.250100: block_bio_queue:      8,0 WS 2048 + 16 [dd]",
        "dd-4011 [001] 81.250100: block_bio_queue: 8,0 WS 2048 + 16 [dd]\t",
        "a-b [3] c-4011 [001] .N.. 81.250100: block_bio_queue: 8,0 WS 2048 + 16 [a-b [3] c]",
    ] {
        assert_eq!(parse(&INFO, row), parse(&INFO, ROW), "{row}");
    }
    let old = "dd-1 [000] d... 3.000000001: block_rq_issue: 259,0 R 0 () 80 + 8 [dd]";
    assert_eq!(read(Event::Issue, None, &[old]), read(Event::Issue, None, &[ISSUE]));
}

#[test]
fn letters_and_lengths_decide_what_a_request_is() {
    for (details, expected) in [
        ("8,0 D 4096 () 8 + 8 [x]", Some((Trim, Flags::NONE, (8, 8)))),
        ("8,0 WZ 4096 () 8 + 8 [x]", Some((Trim, Flags::ZEROES, (8, 8)))),
        ("8,0 FF 0 () 0 + 0 [x]", Some((Flush, Flags::NONE, (0, 0)))),
        ("8,0 FF 0 () 18446744073709551615 + 0 [x]", Some((Flush, Flags::NONE, (0, 0)))),
        ("8,0 FWFS 4096 () 8 + 8 [x]", Some((Write, Flags::FUA.with(Flags::PREFLUSH), (8, 8)))),
        ("8,0 WSU 4096 () 8 + 8 [x]", Some((Write, Flags::NONE, (8, 8)))),
        ("8,0 N 36 (12 00 00 00 24 00) 0 + 0 [smartctl]", None),
        ("8,0 R 36 () 0 + 0 [smartctl]", None),
        ("8,0 FWS 0 () 0 + 0 [x]", Some((Flush, Flags::NONE, (0, 0)))),
    ] {
        let row = format!("x-1 [000] .... 1.0: block_rq_issue: {details}");
        let expected = expected.map(|(op, flags, range)| record(1_000_000_000, op, flags, range));
        let found = read(Event::Issue, None, &[&row]).0;
        assert_eq!(found, expected.into_iter().collect::<Vec<_>>(), "{row}");
    }
}

#[test]
fn streams_are_values_of_the_chosen_column() {
    let other = "worker-9 [000] .... 82.0: block_bio_queue: 8,16 R 0 + 8 [dd]";
    for (split, names) in [
        (None, vec!["8,0", "8,16"]),
        (Some("device"), vec!["8,0", "8,16"]),
        (Some("cpu"), vec!["1", "0"]),
        (Some("pid"), vec!["4011", "9"]),
        (Some("process"), vec!["dd"]),
    ] {
        let (records, found) = read(Event::Queue, split, &[ROW, other]);
        assert_eq!(found, names);
        let streams: Vec<u16> = records.iter().map(|record| record.stream).collect();
        assert_eq!(streams, if names.len() == 2 { [0, 1] } else { [0, 0] });
    }
}

#[test]
fn other_lines_are_passed_over() {
    let mut reader = reader(&ReaderOptions::default());
    for line in [
        "# tracer: nop",
        "# entries-in-buffer/entries-written: 3/3   #P:4",
        "##### CPU 2 buffer started ####",
        "cpus=4",
        "CPU 3 is empty",
        " => blk_mq_submit_bio",
        "<stack trace>",
        "fio-2222  [000] d..2. 1234.000000: <stack trace>",
        "fio-2222  [000] d..2. 1234.000000: <user stack trace>",
        " =>  <00007f0e8d2ff5a7>",
        "version = 7",
        "dd-1 [000] .... 1.0: block_plug: [dd]",
        "dd-1 [000] d... 1.0: sched_switch: prev_comm=dd prev_pid=1 ==> next_comm=x",
        ISSUE,
        COMPLETE,
    ] {
        assert_eq!(reader.parse(line.as_bytes()), Ok(Parsed::Other), "{line}");
    }
    let seen = [(Event::Queue, 0), (Event::Issue, 1), (Event::Complete, 1)];
    assert_eq!(reader.passed_over(), seen);
}

#[test]
fn a_request_that_is_issued_again_counts_once() {
    let issue = ISSUE.replace("3.000000001", "3.5");
    let back = "x-7 [012] .... 3.1: block_rq_requeue: 259,0 R () 80 + 8 none,0,0 [0]";
    let elsewhere = back.replace("259,0", "8,0");
    let done = back.replace("requeue", "complete");
    for (rows, times) in [
        (&[ISSUE, back, &issue][..], &[3_000_000_001][..]),
        (&[ISSUE, &elsewhere, &issue], &[3_000_000_001, 3_500_000_000]),
        (&[ISSUE, back, &done, &issue], &[3_000_000_001, 3_500_000_000]),
    ] {
        let found = read(Event::Issue, None, rows).0;
        let found: Vec<u64> = found.iter().map(|record| record.time_ns).collect();
        assert_eq!(found, times, "{rows:?}");
    }
}

#[test]
fn what_a_machine_of_many_cpus_and_stacks_print_first_is_recognised() {
    use std::fmt::Write as _;
    let mut text = String::from("version = 7\n");
    for cpu in 1..24 {
        writeln!(text, "CPU {cpu} is empty").unwrap();
    }
    text += "cpus=24\n";
    let stack = "fio-2222 [000] d..2. 81.250101: <stack trace>\n".to_owned()
        + &" => blk_mq_submit_bio\n".repeat(30);
    for text in [format!("{text}{ROW}\n"), format!("{ROW}\n{stack}")] {
        let input = Input::memory("t", text.as_bytes());
        let mut trace =
            Trace::open(input, &TraceKeys::default(), &TraceOptions::default()).unwrap();
        assert_eq!(trace.format_name(), "ftrace");
        assert_eq!(trace.next_request().unwrap().unwrap().first_sector, 2_048);
        assert!(trace.next_request().unwrap().is_none());
    }
    for line in ["CPU 3", "cpus", "version 7", "stack trace>", "a <stack trace>"] {
        assert!(!recognises(line.as_bytes()), "{line}");
    }
}

#[test]
fn a_trace_of_issues_says_which_event_to_choose() {
    let text = format!("# tracer: nop\n{ISSUE}\n");
    let trace = |event| {
        let keys = TraceKeys { event, ..TraceKeys::default() };
        let input = Input::memory("t", text.as_bytes());
        Trace::open(input, &keys, &TraceOptions::default()).unwrap()
    };
    assert_eq!(
        trace(Event::Queue).next_request().unwrap_err().to_string(),
        "t: there are no requests in it, but 2 lines of something else (issue 1) and 0 that \
         cannot be read; choose another trace.event or trace.format"
    );
    assert!(trace(Event::Issue).next_request().unwrap().is_some());
}

#[test]
fn wrong_rows_are_refused() {
    refused(&INFO, "dd-4011 [001] d..1. 81.25", "4 columns instead of 6 or more, \"dd-4011");
    let shown = "no time: and event: behind a task and its [CPU], \"dd-4011";
    refused(&INFO, ROW.trim().strip_suffix(" [dd]").unwrap().replace(':', "").as_str(), shown);
    refused(&INFO, "CPU:1 [LOST 54 EVENTS]", "events were lost here, \"CPU:1 [LOST 54");
    refused(&INFO, "CPU:1 [EVENTS DROPPED]", "events were lost here");
    refused(&INFO, &ROW.replace(" [dd]", ""), "the line is cut short, it ends with");
    refused(&INFO, &ROW.replace("8,0", "sda"), "no device, \"sda\"");
    refused(&INFO, &ROW.replace("WS", "ZRS"), "unknown operation, \"ZRS\"");
    refused(&INFO, &ROW.replace("81.250100", "81250100"), "time has no decimal point");
    refused(&INFO, &ROW.replace("81.250100", "81.2x"), "time is not a number, \"81.2x\"");
    refused(&INFO, &ROW.replace(" +", ""), "there is no + behind the sector, \"16\"");
    refused(&INFO, &ROW.replace("2048", "-8"), "sector is negative, \"-8\"");
    refused(&INFO, &ROW.replace("16 ", "4294967296 "), "sectors is too large");
}

#[test]
fn an_issue_has_its_command_between_brackets() {
    let options = ReaderOptions { event: Event::Issue, ..ReaderOptions::default() };
    let error = reader(&options).parse(ISSUE.replace("()", "").as_bytes()).unwrap_err();
    assert!(error.what.starts_with("there is no (command), \"80 + 8"), "{error:?}");
}
