//! `blkparse`: what blkparse prints of a block trace of Linux, in its default format.
//!
//! Source: blktrace (`blkparse_fmt.c`, blkparse(1)) and `kernel/trace/blktrace.c`. An event is
//! `major,minor cpu sequence time pid action rwbs`, then what the action says: for requests
//! `sector + sectors [process]`, with the error instead of the process for completions, and an
//! elapsed time in brackets before it with `-t`.
//!
//! Of the actions, Q is the event `queue`, D `issue`, C `complete`; the sectors are those of the
//! chosen line, on the device that it names. All other actions (remaps, which stand before the Q of
//! the device below; merges, splits, plugs, messages), the lines of the other two events and the
//! summary at the end are counted and passed over. So are, of the chosen event, lines without
//! sectors that are no flushes: commands passed through to the device, and completions of flushes
//! whose flag older kernels do not keep.
//!
//! RWBS holds F where a flush comes first; R, W, D (discard) or N (nothing, which with F is a
//! flush); F for force unit access; then A (readahead), S (synchronous), M (metadata), and of old
//! kernels B (barrier) and E (secure), which are not used. A write of no sectors behind F is a
//! flush.
//! Tools that print the operations of the kernel by the same letters write FF for a flush, DE for a
//! secure erase and WZ for write zeroes: all of them are understood. Operations of zones are
//! refused.
//!
//! A completion names no process, and its CPU and process number are those of whom it interrupts.

use flashyard_core::request::{Request, RequestOp};

use super::fields::{seconds, sector_count, whole};
use super::kernel::{
    Asked, EVENTS, Origin, Reader, Requests, Rows, SPLITS, Step, column, device_number, is_device,
    process, rwbs,
};
use super::write::{self, Holds, Seconds, Writer, put};
use super::{Format, FormatInfo, Parsed, ReaderOptions, RowError};
use crate::error::quoted;
use crate::format::Event;
use crate::number::{decimal, integer};

/// The registry entry.
pub(super) const INFO: FormatInfo = FormatInfo {
    name: "blkparse",
    doc: "blkparse text of Linux block traces",
    columns: COLUMNS,
    example: "  8,16   5        1     0.000000000 18615  A   R 1444645666 + 256 <- (8,17) 32\n\
              \x20 8,16   5        2     0.000001850 18615  Q   R 1444645666 + 256 [java]\n\
              \x20 8,16   5        4     0.000008750 18615  P   N [java]\n\
              \x20 8,16   5        0     0.000012990     0  m   N cfq18615S / insert_request\n\
              \x20 8,16   5        6     0.000031865 18615  D   R 1444645666 + 256 [java]\n\
              \x20 8,16   1        7     0.000402210   421  Q FWS [jbd2/sdb1-8]\n\
              \x20 8,16   5        8     0.001866003     0  C   R 1444645666 + 256 [0]\n",
    recognises,
    events: &EVENTS,
    splits: SPLITS,
    tick_ns: 0,
    reader,
    writer: Some(writer),
};

const COLUMNS: &str = "major,minor, CPU, sequence, time s, process number, action, RWBS, \
                       sector + sectors [process] between blanks";

/// The columns that every event has.
const COLUMN_COUNT: usize = 7;

/// The actions that blkparse prints beside those that are requests.
const OTHER_ACTIONS: &[&[u8]] =
    &[b"A", b"B", b"F", b"G", b"I", b"M", b"P", b"S", b"T", b"U", b"UT", b"X", b"m"];

/// What an action says; `None` where there is no such action.
fn step(action: &[u8]) -> Option<Step> {
    Some(match action {
        b"Q" => Step::Of(Event::Queue),
        b"D" => Step::Of(Event::Issue),
        b"C" => Step::Of(Event::Complete),
        b"R" => Step::GivenBack,
        other => OTHER_ACTIONS.contains(&other).then_some(Step::Other)?,
    })
}

/// What lines of the summary start with.
const SUMMARY: &[&[u8]] = &[
    b"CPU",
    b"Total (",
    b"Throughput ",
    b"Events (",
    b"Skips: ",
    b"Input file ",
    b"Read",
    b"IO ",
    b"PC Read",
];

#[derive(Debug)]
struct Blkparse;

fn reader(options: &ReaderOptions<'_>) -> Box<dyn Format> {
    Box::new(Reader::new(Blkparse, options))
}

/// The columns that every event has, and what follows them.
fn columns(line: &[u8]) -> ([&[u8]; COLUMN_COUNT], &[u8]) {
    let mut rest = line;
    let columns = std::array::from_fn(|_| column(&mut rest));
    (columns, rest)
}

fn recognises(line: &[u8]) -> bool {
    let ([device, cpu, sequence, time, pid, action, rwbs], _) = columns(line);
    is_device(device)
        && [cpu, sequence, pid].iter().all(|column| integer(column).is_ok())
        && decimal(time, 9).is_ok()
        && step(action).is_some()
        && !rwbs.is_empty()
}

/// What a line of a request asks for, by its letters and what follows them; `None` where it is no
/// request.
fn asked(letters: &[u8], mut rest: &[u8]) -> Result<Option<Asked>, RowError> {
    let letters = rwbs(letters)?;
    let sector = column(&mut rest);
    let has_sectors = column(&mut rest) == b"+";
    Ok(match letters.on_sectors() {
        Some(op) if has_sectors => {
            let sectors = sector_count("sectors", column(&mut rest))?;
            let first_sector = whole("sector", sector)?;
            Some(Asked { op, flags: letters.flags, first_sector, sectors })
        }
        _ => letters.is_flush().then_some(Asked::FLUSH),
    })
}

impl Rows for Blkparse {
    fn read(&mut self, line: &[u8], requests: &mut Requests) -> Result<Parsed, RowError> {
        let (columns, rest) = columns(line);
        if !is_device(columns[0]) {
            let text = line.trim_ascii();
            if SUMMARY.iter().any(|start| text.starts_with(start)) {
                return Ok(Parsed::Other);
            }
            let what = format!("neither an event nor a line of the summary, {}", quoted(text));
            return Err(RowError { what, fix: format!("an event is {COLUMNS}") });
        }
        let found = columns.iter().filter(|column| !column.is_empty()).count();
        if found < COLUMN_COUNT {
            let fix = format!("an event is {COLUMNS}");
            return Err(RowError { what: format!("{found} columns instead of 7 or more"), fix });
        }
        let [device, cpu, _, time, pid, action, letters] = columns;
        let step = step(action).ok_or_else(|| RowError {
            what: format!("unknown action, {}", quoted(action)),
            fix: "the actions are those of blkparse(1): Q, D, C, A, B, F, G, I, M, P, R, S, T, U, \
                  UT, X and m"
                .to_owned(),
        })?;
        requests.look(step, || Some((device_number(device), asked(letters, rest).ok().flatten()?)));
        if !matches!(step, Step::Of(_)) {
            return Ok(Parsed::Other);
        }
        let process = process(rest)?;
        if !requests.is_chosen(step) {
            return Ok(Parsed::Other);
        }
        let Some(asked) = asked(letters, rest)? else { return Ok(Parsed::Other) };
        let time_ns = seconds("time", time)?;
        let origin = Origin { device, cpu, pid, process };
        requests.request(time_ns, (device_number(device), asked), origin)
    }
}

/// Writes a Q line a request; each stream is a device, `0,` and its number.
#[derive(Debug)]
struct BlkparseWriter {
    sequence: u64,
}

fn writer() -> Box<dyn Writer> {
    Box::new(BlkparseWriter { sequence: 0 })
}

impl Writer for BlkparseWriter {
    fn holds(&self) -> Holds {
        Holds {
            ops: &RequestOp::ALL,
            streams: write::Streams::Appearance,
            flush_ranges: false,
            ..Holds::READS_AND_WRITES
        }
    }

    fn row(&mut self, request: &Request, out: &mut Vec<u8>) {
        let Request { arrival, stream, first_sector, sectors, op, .. } = request;
        self.sequence += 1;
        let (sequence, seconds) = (self.sequence, Seconds(*arrival));
        put(out, format_args!("0,{stream} 0 {sequence} {seconds} 0 Q "));
        match op {
            RequestOp::Read => put(out, format_args!("R {first_sector} + {sectors} [0]\n")),
            RequestOp::Write => put(out, format_args!("W {first_sector} + {sectors} [0]\n")),
            RequestOp::Trim => put(out, format_args!("D {first_sector} + {sectors} [0]\n")),
            RequestOp::Flush => out.extend_from_slice(b"FN [0]\n"),
        }
    }
}

// A file read with one event gives the same numbers and bytes as the following, where E is Q, D or
// C, for the operations W, R and D:
//   awk -v E=Q '$6 == E && $9 == "+" { o = substr($7, 1 + ($7 ~ /^F/), 1); n[o]++;
//       b[o] += $10 * 512 } END { for (o in n) print o, n[o], b[o] }' FILE
#[cfg(test)]
mod tests {
    use flashyard_core::request::Flags;

    use super::super::tests::{parse, refused};
    use super::*;
    use crate::RequestSource;
    use crate::format::Record;
    use crate::input::Input;
    use crate::trace::{Trace, TraceKeys, TraceOptions};
    use RequestOp::{Flush, Read, Trim, Write};

    const ROW: &str = "  8,16   5        2     1.000001850 18615  Q   R 1444645666 + 256 [java]";

    fn open(event: Event, split: Option<&'static str>) -> Box<dyn Format> {
        reader(&ReaderOptions { event, split, ..ReaderOptions::default() })
    }

    /// The requests of some rows.
    fn requests(reader: &mut dyn Format, rows: &[&str]) -> Vec<Record> {
        let parsed = rows.iter().map(|row| reader.parse(row.as_bytes()).unwrap());
        parsed
            .filter_map(|parsed| match parsed {
                Parsed::Request(record) => Some(record),
                Parsed::Header | Parsed::Other => None,
            })
            .collect()
    }

    #[test]
    fn rows_are_read_exactly() {
        let record = parse(&INFO, ROW).unwrap();
        assert_eq!(record.time_ns, 1_000_001_850);
        assert_eq!((record.first_sector, record.sectors), (1_444_645_666, 256));
        assert_eq!((record.op, record.flags, record.stream), (Read, Flags::NONE, 0));
        let elapsed = ROW.replace("[java]", "(   12345) [a [b] c]");
        assert_eq!(parse(&INFO, &elapsed), parse(&INFO, ROW));
    }

    #[test]
    fn the_event_chooses_the_lines() {
        let rows: Vec<&str> = INFO.example.lines().collect();
        let read = |event| requests(&mut *open(event, None), &rows);
        let times = |event| read(event).iter().map(|record| record.time_ns).collect::<Vec<_>>();
        assert_eq!(times(Event::Queue), [1_850, 402_210]);
        assert_eq!(times(Event::Issue), [31_865]);
        assert_eq!(times(Event::Complete), [1_866_003]);
        let ops: Vec<RequestOp> = read(Event::Queue).iter().map(|record| record.op).collect();
        assert_eq!(ops, [Read, Flush]);
    }

    #[test]
    fn a_request_that_is_issued_again_counts_once() {
        let issue = "8,16 5 6 0.1 18615 D WS 64 + 8 [java]";
        let (again, back) = (issue.replace("0.1", "0.3"), "8,16 5 7 0.2 0 R WS 64 + 8 [0]");
        let other = back.replace("64", "72");
        let done = back.replace(" R ", " C ");
        for (rows, times) in [
            (&[issue, back, &again][..], &[100_000_000][..]),
            (&[issue, &other, &again], &[100_000_000, 300_000_000]),
            (&[issue, back, &done, &again], &[100_000_000, 300_000_000]),
        ] {
            let found = requests(&mut *open(Event::Issue, None), rows);
            let found: Vec<u64> = found.iter().map(|record| record.time_ns).collect();
            assert_eq!(found, times, "{rows:?}");
        }
    }

    #[test]
    fn letters_become_operations_and_flags() {
        let (fua, preflush) = (Flags::FUA, Flags::PREFLUSH);
        for (letters, op, flags) in [
            ("R", Read, Flags::NONE),
            ("RA", Read, Flags::NONE),
            ("RM", Read, Flags::NONE),
            ("W", Write, Flags::NONE),
            ("WSM", Write, Flags::NONE),
            ("WBS", Write, Flags::NONE),
            ("WFS", Write, fua),
            ("FW", Write, preflush),
            ("FWFSM", Write, preflush.with(fua)),
            ("D", Trim, Flags::NONE),
            ("DS", Trim, Flags::NONE),
            ("DE", Trim, Flags::NONE),
            ("WZS", Trim, Flags::ZEROES),
        ] {
            let record = parse(&INFO, &ROW.replace(" R ", &format!(" {letters} "))).unwrap();
            assert_eq!((record.op, record.flags, record.sectors), (op, flags, 256), "{letters}");
        }
    }

    #[test]
    fn requests_without_sectors_are_flushes_where_the_letters_say_so() {
        for letters in ["FN", "FWS", "FW", "F", "FF", "FFS", "FS"] {
            for rest in ["[java]", "0 [0]", "(   123) [java]"] {
                let row = format!("8,0 1 2 0.5 3 Q {letters} {rest}");
                let record = parse(&INFO, &row).unwrap();
                assert_eq!((record.op, record.flags), (Flush, Flags::NONE), "{row}");
                assert_eq!((record.first_sector, record.sectors), (0, 0));
            }
        }
        for rest in ["W [java]", "N [java]", "R 36 (12 00 00 00 24 00) [smartctl]", "N 0 [x]"] {
            let row = format!("8,0 1 2 0.5 3 Q {rest}");
            let parsed = open(Event::Queue, None).parse(row.as_bytes());
            assert_eq!(parsed, Ok(Parsed::Other), "{row}");
        }
    }

    #[test]
    fn other_lines_are_passed_over() {
        let mut reader = open(Event::Queue, None);
        for line in [
            "  8,16   5      324     3.832956675     0  C  WS 1950885322 [0]",
            "  8,16   5        1     0.000000000 18615  A   R 1444645666 + 256 <- (8,17) 144",
            "  8,16   5        0     0.000018113     0  m   N cfq1211A / resid=-123",
            "  8,16   5       24     0.1 18615  UT   N [java] 2",
            "  8,0    3       12     0.1 697  X   R 3 / 6 [kworker]",
            "CPU0 (8,16):",
            " Reads Queued:           0,        0KiB\t Writes Queued:           0,        0KiB",
            " Read depth:            24        \t Write depth:            33",
            " PC Reads Queued:        0,        0KiB\t PC Writes Queued:      0,        0KiB",
            " IO unplugs:             0        \t Timer unplugs:           0",
            "Total (sda):",
            "Throughput (R/W): 317KiB/s / 260KiB/s",
            "Events (8,16): 17181 entries",
            "Skips: 0 forward (0 -   0.0%)",
            "Input file sda.blktrace.0 added",
        ] {
            assert_eq!(reader.parse(line.as_bytes()), Ok(Parsed::Other), "{line}");
        }
        assert_eq!(
            reader.passed_over(),
            [(Event::Queue, 0), (Event::Issue, 0), (Event::Complete, 1)]
        );
    }

    #[test]
    fn streams_are_values_of_the_chosen_column() {
        let rows = [
            "8,16 5 1 0.1 300 Q R 0 + 8 [b c]",
            "8,0  5 2 0.2 200 Q R 0 + 8 [a]",
            "8,16 0 3 0.3 200 Q R 0 + 8 [a]",
        ];
        for (split, streams, names) in [
            (None, [0, 1, 0], vec!["8,16", "8,0"]),
            (Some("device"), [0, 1, 0], vec!["8,16", "8,0"]),
            (Some("cpu"), [0, 0, 1], vec!["5", "0"]),
            (Some("pid"), [0, 1, 1], vec!["300", "200"]),
            (Some("process"), [0, 1, 1], vec!["b c", "a"]),
        ] {
            let mut reader = open(Event::Queue, split);
            let found: Vec<u16> =
                requests(&mut *reader, &rows).iter().map(|record| record.stream).collect();
            assert_eq!(
                (found, reader.stream_names()),
                (streams.to_vec(), names.into_iter().map(str::to_owned).collect())
            );
        }
    }

    #[test]
    fn completions_name_no_process() {
        let row = b"8,16 5 1 0.1 0 C R 0 + 8 [0]";
        let error = open(Event::Complete, Some("process")).parse(row).unwrap_err();
        assert_eq!(error.what, "completions name no process, so it cannot make streams");
        assert!(open(Event::Complete, Some("pid")).parse(row).is_ok());
    }

    #[test]
    fn a_trace_without_the_event_says_which_events_it_has() {
        let text = "8,0 0 1 0.1 9 D R 0 + 8 [a]\n8,0 0 2 0.2 9 D R 0 + 8 [a]\n\
                    8,0 0 3 0.3 0 C R 0 + 8 [0]\nCPU0 (8,0):\n";
        let input = Input::memory("t", text.as_bytes());
        let mut trace =
            Trace::open(input, &TraceKeys::default(), &TraceOptions::default()).unwrap();
        assert_eq!(
            trace.next_request().unwrap_err().to_string(),
            "t: there are no requests in it, but 4 lines of something else (issue 2, complete 1) \
             and 0 that cannot be read; choose another trace.event or trace.format"
        );
    }

    #[test]
    fn wrong_rows_are_refused() {
        refused(&INFO, "  8,16   5", "2 columns instead of 7 or more");
        refused(&INFO, "  8,1", "1 columns instead of 7 or more");
        refused(&INFO, "  8", "neither an event nor a line of the summary, \"8\"");
        refused(&INFO, "java (18615, 0)", "neither an event nor");
        refused(&INFO, &ROW.replace(" Q ", " K "), "unknown action, \"K\"");
        refused(&INFO, &ROW.replace("java]", "ja"), "the line is cut short, it ends with");
        refused(&INFO, &ROW.replace(" + 256 [java]", ""), "the line is cut short");
        refused(&INFO, "8,16 5 8 0.5 0 C R 1444645666 + 256", "the line is cut short");
        refused(&INFO, &ROW.replace(" R ", " ZA "), "unknown operation, \"ZA\"");
        refused(&INFO, &ROW.replace(" R ", " RX "), "unknown operation, \"RX\"");
        refused(&INFO, &ROW.replace("256", "0"), "sectors is 0");
        refused(&INFO, &ROW.replace("256", "x"), "sectors is not a number, \"x\"");
        refused(&INFO, &ROW.replace("1444645666", "-4"), "sector is negative, \"-4\"");
        refused(&INFO, &ROW.replace("1.000001850", "1.5s"), "time is not a number, \"1.5s\"");
    }
}
