//! `ftrace`: block events in the text of the kernel's tracer: the files `trace` and `trace_pipe`,
//! and `trace-cmd report`.
//!
//! Source: `include/trace/events/block.h` for what events print, `print_trace_line` and
//! `trace_print_context` of `kernel/trace` for what stands before them, Documentation/trace/ftrace.
//! A line is `task-pid [cpu] flags seconds: event: details`; the flags and `(tgid)` before the CPU
//! may be missing. Details of the events that are requests are
//!
//! * `block_bio_queue`: `major,minor rwbs sector + sectors [process]`, the event `queue`;
//! * `block_rq_issue`: `major,minor rwbs bytes (command) sector + sectors priority [process]`, the
//!   event `issue`; older kernels print no priority;
//! * `block_rq_complete`: the same without bytes, with the error in place of the process, the event
//!   `complete`.
//!
//! These are Q, D and C of `blkparse`, and the letters mean the same. Requests without sectors that
//! are no flushes (commands passed through) are passed over, and so are all other events, comments
//! and lines of stacks. A line that says that events were lost is refused: what is missing there
//! is unknown.
//!
//! Times are decimal seconds of a clock that counts time. The clocks `counter` and `x86-tsc` print
//! whole numbers, which are refused, as is the option `latency-format`.

use flashyard_core::request::{Flags, RequestOp};

use super::fields::{seconds, sector_count_or_none, whole};
use super::kernel::{Origin, Rwbs, SPLITS, Streams, column, is_device, process, rwbs};
use super::{Event, Format, FormatInfo, Parsed, ReaderOptions, Record, RowError};
use crate::error::quoted;
use crate::number::{decimal, split_blanks};

/// The registry entry.
pub(super) const INFO: FormatInfo = FormatInfo {
    name: "ftrace",
    doc: "block events of Linux's ftrace, trace_pipe or trace-cmd report",
    columns: COLUMNS,
    example: "# tracer: nop\n\
              #\n\
              #           TASK-PID     CPU#  |||||  TIMESTAMP  FUNCTION\n\
              \x20             dd-4011    [001] ..... 81.250100: block_bio_queue: 8,0 WS 2048 + 16 \
              [dd]\n\
              \x20             dd-4011    [001] ..... 81.250103: block_plug: [dd]\n\
              \x20             dd-4011    [001] d..1. 81.250130: block_rq_issue: 8,0 WS 8192 () \
              2048 + 16 be,0,4 [dd]\n\
              \x20         <idle>-0       [000] d.h1. 81.250900: block_rq_complete: 8,0 WS () 2048 \
              + 16 be,0,4 [0]\n\
              \x20    kworker/1:2-77      [001] ..... 81.251000: block_bio_queue: 8,0 R 64 + 8 \
              [kworker/1:2]\n",
    recognises,
    events: &[Event::Queue, Event::Issue, Event::Complete],
    splits: SPLITS,
    tick_ns: 0,
    reader,
    writer: None,
};

const COLUMNS: &str = "task-pid, [CPU], flags, time s:, event:, device, RWBS, sector + sectors \
                       [process] between blanks";

/// The events of requests.
const EVENTS: [(Event, &[u8]); 3] = [
    (Event::Queue, b"block_bio_queue"),
    (Event::Issue, b"block_rq_issue"),
    (Event::Complete, b"block_rq_complete"),
];

/// What stands before the details of an event.
#[derive(Clone, Copy, Debug)]
struct Head<'a> {
    pid: &'a [u8],
    cpu: &'a [u8],
    time: &'a [u8],
    event: &'a [u8],
}

/// The number of the process in what stands before the CPU: `task-pid`, perhaps with `(tgid)`.
fn pid(before: &[u8]) -> Option<&[u8]> {
    let text = before.trim_ascii_end();
    let text = match text.strip_suffix(b")") {
        Some(group) => group[..memchr::memrchr(b'(', group)?].trim_ascii_end(),
        None => text,
    };
    let pid = &text[memchr::memrchr(b'-', text)? + 1..];
    (!pid.is_empty() && pid.iter().all(u8::is_ascii_digit)).then_some(pid)
}

/// The number in `[003]`, without zeros in front.
fn cpu(text: &[u8]) -> Option<&[u8]> {
    let number = text.strip_prefix(b"[")?.strip_suffix(b"]")?;
    let digits = !number.is_empty() && number.iter().all(u8::is_ascii_digit);
    let zeros = number.iter().take_while(|&&byte| byte == b'0').count();
    digits.then(|| &number[zeros.min(number.len() - 1)..])
}

/// The parts of a line, and what follows the event; `None` where it has not the shape of one.
fn split(line: &[u8]) -> Option<(Head<'_>, &[u8])> {
    let mut rest = line;
    // Names of tasks may hold blanks and brackets: the CPU is the first one that follows a number.
    let (pid, cpu) = loop {
        let text = column(&mut rest);
        if text.is_empty() {
            return None;
        }
        let before = &line[..line.len() - rest.len() - text.len()];
        if let Some(found) = cpu(text).and_then(|cpu| Some((pid(before)?, cpu))) {
            break found;
        }
    };
    let mut time = column(&mut rest);
    if !time.ends_with(b":") {
        time = column(&mut rest);
    }
    let event = column(&mut rest).strip_suffix(b":")?;
    Some((Head { pid, cpu, time: time.strip_suffix(b":")?, event }, rest))
}

/// Whether a line is a comment as the tracer writes it.
fn is_comment(line: &[u8]) -> bool {
    let starts = [&b"# tracer:"[..], b"# entries-in-buffer", b"#  ", b"##### CPU"];
    line == b"#" || starts.iter().any(|start| line.starts_with(start))
}

/// Whether a line says what `trace-cmd report` prints of the machine. One of many CPUs has a line
/// for each CPU without events, before the first event.
fn is_of_machine(text: &[u8]) -> bool {
    text.starts_with(b"cpus=")
        || text.starts_with(b"version = ")
        || (text.starts_with(b"CPU ") && text.ends_with(b" is empty"))
}

/// Whether a line is of a stack: a function, or the title, which may stand behind task and time.
fn is_of_stack(text: &[u8]) -> bool {
    let titles = [&b"<stack trace>"[..], b"<user stack trace>"];
    text.starts_with(b"=> ")
        || titles.iter().filter_map(|title| text.strip_suffix(*title)).any(|before| {
            let before = before.trim_ascii_end();
            before.is_empty() || before.ends_with(b":")
        })
}

/// Lines between the events that say nothing of requests.
fn is_beside(line: &[u8]) -> bool {
    let text = line.trim_ascii();
    text.starts_with(b"#") || is_of_stack(text) || is_of_machine(text)
}

fn recognises(line: &[u8]) -> bool {
    let text = line.trim_ascii();
    is_comment(line.trim_ascii_end())
        || is_of_stack(text)
        || is_of_machine(text)
        || split(line).is_some_and(|(head, _)| {
            decimal(head.time, 9).is_ok() && head.time.contains(&b'.') && !head.event.is_empty()
        })
}

#[derive(Debug)]
struct Ftrace {
    /// The place of the chosen event in [`EVENTS`].
    chosen: usize,
    streams: Streams,
    /// Lines of each of [`EVENTS`].
    seen: [u64; EVENTS.len()],
}

fn reader(options: &ReaderOptions<'_>) -> Box<dyn Format> {
    let chosen = EVENTS.iter().position(|(event, _)| *event == options.event);
    Box::new(Ftrace {
        chosen: chosen.expect("the event is one of the format's"),
        streams: Streams::new(options.event, options.split),
        seen: [0; EVENTS.len()],
    })
}

/// Why a line that is no event is refused.
fn refusal(line: &[u8]) -> RowError {
    let text = line.trim_ascii();
    let lost = memchr::memmem::find(text, b"EVENTS").is_some();
    if text.starts_with(b"CPU:") && lost {
        let fix = "record with a larger buffer_size_kb; or leave the line out, and with it what \
                   was lost, by trace.bad_rows = \"skip\"";
        let what = format!("events were lost here, {}", quoted(text));
        return RowError { what, fix: fix.to_owned() };
    }
    let what = match split_blanks::<1>(line).1 {
        found @ 0..6 => format!("{found} columns instead of 6 or more, {}", quoted(text)),
        _ => format!("no time: and event: behind a task and its [CPU], {}", quoted(text)),
    };
    RowError { what, fix: format!("an event is {COLUMNS}") }
}

/// The time of an event, in nanoseconds.
fn time_ns(text: &[u8]) -> Result<u64, RowError> {
    if text.contains(&b'.') {
        return seconds("time", text);
    }
    let fix = "times are decimal seconds: record with trace_clock set to local, global, mono or \
               boot, and without latency-format";
    let what = format!("time has no decimal point, {}", quoted(text));
    Err(RowError { what, fix: fix.to_owned() })
}

/// Takes the command between brackets off the front of `rest`; it may hold blanks.
fn command(rest: &mut &[u8]) -> Result<(), RowError> {
    let text = rest.trim_ascii_start();
    let end = memchr::memchr(b')', text).filter(|_| text.starts_with(b"("));
    let end = end.ok_or_else(|| RowError {
        what: format!("there is no (command), {}", quoted(text)),
        fix: "an event of a request has its command between round brackets, or ()".to_owned(),
    })?;
    *rest = &text[end + 1..];
    Ok(())
}

/// Sector and sectors at the front of `rest`; no address where there are no sectors.
fn range(rest: &mut &[u8]) -> Result<(u64, u32), RowError> {
    let sector = column(rest);
    let plus = column(rest);
    if plus != b"+" {
        let what = format!("there is no + behind the sector, {}", quoted(plus));
        return Err(RowError { what, fix: format!("an event is {COLUMNS}") });
    }
    match sector_count_or_none("sectors", column(rest))? {
        // Kernels give the address of such requests as 0 or as the largest number.
        0 => Ok((0, 0)),
        sectors => Ok((whole("sector", sector)?, sectors)),
    }
}

/// What an event asks for; `None` where it is no request.
fn asked(letters: Rwbs, sectors: u32) -> Option<(RequestOp, Flags)> {
    match letters.on_sectors() {
        Some(op) if sectors > 0 => Some((op, letters.flags)),
        _ if letters.is_flush() => Some((RequestOp::Flush, Flags::NONE)),
        _ => None,
    }
}

impl Ftrace {
    /// The request of a line of the chosen event.
    fn request(&mut self, head: Head<'_>, mut rest: &[u8]) -> Result<Parsed, RowError> {
        let process = process(rest)?;
        let device = column(&mut rest);
        if !is_device(device) {
            let fix = "a device is major,minor, as in 8,0".to_owned();
            return Err(RowError { what: format!("no device, {}", quoted(device)), fix });
        }
        let letters = rwbs(column(&mut rest))?;
        let time_ns = time_ns(head.time)?;
        let event = EVENTS[self.chosen].0;
        if event == Event::Issue {
            whole("bytes", column(&mut rest))?;
        }
        if event != Event::Queue {
            command(&mut rest)?;
        }
        let (first_sector, sectors) = range(&mut rest)?;
        let Some((op, flags)) = asked(letters, sectors) else { return Ok(Parsed::Other) };
        let Head { pid, cpu, .. } = head;
        let stream = self.streams.number(Origin { device, cpu, pid, process })?;
        Ok(Parsed::Request(Record { time_ns, first_sector, sectors, stream, op, flags }))
    }
}

impl Format for Ftrace {
    fn parse(&mut self, line: &[u8]) -> Result<Parsed, RowError> {
        let Some((head, rest)) = split(line) else {
            return if is_beside(line) { Ok(Parsed::Other) } else { Err(refusal(line)) };
        };
        match EVENTS.iter().position(|(_, name)| *name == head.event) {
            Some(at) if at == self.chosen => self.request(head, rest),
            Some(at) => {
                self.seen[at] += 1;
                Ok(Parsed::Other)
            }
            None => Ok(Parsed::Other),
        }
    }

    fn passed_over(&self) -> Vec<(Event, u64)> {
        EVENTS.iter().zip(self.seen).map(|((event, _), seen)| (*event, seen)).collect()
    }

    fn stream_names(&self) -> Vec<String> {
        self.streams.list()
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{parse, refused};
    use super::*;
    use crate::RequestSource;
    use crate::input::Input;
    use crate::trace::{Trace, TraceKeys, TraceOptions};
    use RequestOp::{Flush, Read, Trim, Write};

    const ROW: &str = "  dd-4011  [001] d..1. 81.250100: block_bio_queue: 8,0 WS 2048 + 16 [dd]";
    const ISSUE: &str = "  my task-7 (   7) [012] .... 3.000000001: block_rq_issue: 259,0 R \
                         4096 () 80 + 8 none,0,0 [my task]";
    const COMPLETE: &str =
        "<idle>-0 [000] d.h1. 4.5: block_rq_complete: 8,16 WFS () 4096 + 1 be,0,4 [0]";

    /// What the rows hold under an event and a column of streams.
    fn read(
        event: Event,
        split: Option<&'static str>,
        rows: &[&str],
    ) -> (Vec<Record>, Vec<String>) {
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
        Record { time_ns, first_sector, sectors, stream: 0, op, flags }
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
            let expected =
                expected.map(|(op, flags, range)| record(1_000_000_000, op, flags, range));
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
}
