//! The pipeline from bytes to requests.

use flashyard_core::quantity::Micro;
use flashyard_core::units::Span;
use std::io::{Cursor, Write};

use flashyard_core::key::{Key, Kind, Value};
use flashyard_core::request::RequestOp;

use super::*;
use crate::RequestSource;
use crate::SourceStats;
use crate::format::{FORMATS, FormatInfo, Parsed, ReaderOptions};
use crate::random::SplitMix64;
use flashyard_core::request::Request;
use flashyard_core::units::Time;

type Read = Result<Vec<Request>, String>;

fn drain(trace: Result<Trace, WorkloadError>) -> Read {
    let mut trace = trace.map_err(|error| error.to_string())?;
    let mut requests = Vec::new();
    while let Some(request) = trace.next_request().map_err(|error| error.to_string())? {
        requests.push(request);
    }
    Ok(requests)
}

fn read_on(text: &[u8], keys: &TraceKeys, capacity_sectors: Option<u64>) -> Read {
    let options = TraceOptions { capacity_sectors, ..Default::default() };
    drain(Trace::open(Input::memory("t.txt", text), keys, &options))
}

fn read(text: &str, keys: &TraceKeys) -> Read {
    read_on(text.as_bytes(), keys, None)
}

/// Arrivals in nanoseconds of an `ssdsim` trace with a request at each of these times.
fn arrivals(times: &[u64], keys: &TraceKeys) -> Result<Vec<u64>, String> {
    let rows = times.iter().map(|time| format!("{time} 0 8 8 1\n"));
    let text = rows.collect::<Vec<_>>().concat();
    Ok(read(&text, keys)?.iter().map(|request| request.arrival.as_ns()).collect())
}

fn keys(time_order: TimeOrder) -> TraceKeys {
    TraceKeys { time_order, ..TraceKeys::default() }
}

fn gzip(text: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(text).unwrap();
    encoder.finish().unwrap()
}

/// The rows of the example that are requests.
fn example_requests(info: &FormatInfo) -> usize {
    let mut reader = (info.reader)(&ReaderOptions::default());
    let is_request = |line: &&str| matches!(reader.parse(line.as_bytes()), Ok(Parsed::Request(_)));
    info.example.lines().filter(is_request).count()
}

/// What messages say of a format that has no name.
const OWN: &str = "its columns, as in \"comma header; time:s op:R/W offset:B size:B\"";

/// The names of all formats, as messages list them.
fn format_names() -> String {
    FormatInfo::all().map(|info| info.name).collect::<Vec<_>>().join(", ")
}

#[test]
fn every_format_reads_its_example() {
    for info in FORMATS.iter() {
        let crlf = info.example.replace('\n', "\r\n");
        let blank_lines = format!("\n{}\n \t\n", info.example);
        let unended = info.example.trim_end();
        let expected = read(info.example, &TraceKeys::default()).unwrap();
        assert_eq!(expected.len(), example_requests(info));
        assert_eq!(expected[0].arrival, Time::ZERO);
        for text in [&crlf, &blank_lines, unended] {
            assert_eq!(read(text, &TraceKeys::default()).unwrap(), expected, "{text:?}");
        }
        let packed = gzip(info.example.as_bytes());
        assert_eq!(read_on(&packed, &TraceKeys::default(), None).unwrap(), expected);
    }
}

#[test]
fn wrong_input_is_refused_with_file_line_and_reason() {
    let refused = |text: &[u8]| read_on(text, &TraceKeys::default(), None).unwrap_err();
    assert_eq!(
        refused(b"1 0 8 8 1\n\n2 0 8 8 1\n3 0 8\n"),
        "t.txt:4: 3 columns instead of 5; a row is time ns, device, first sector, sectors, \
         operation between blanks"
    );
    assert_eq!(
        refused(b"1 0 8 8 1\r\n2 0 -8 8 1\r\n"),
        "t.txt:2: first sector is negative, \"-8\"; a whole number from 0 to \
         18446744073709551615 belongs there"
    );
    assert_eq!(
        refused(b"1 0 8 8 1\n2 0 99999999999999999999 8 1\n"),
        "t.txt:2: first sector is too large, \"99999999999999999999\"; a whole number from 0 to \
         18446744073709551615 belongs there"
    );
    assert_eq!(
        refused(b"1 0 8 8 1\n2 0 18446744073709551615 8 1\n"),
        "t.txt:2: first sector is too large, 18446744073709551615 with 8 sectors; requests end at \
         sector 18446744073709551615 at most"
    );
    let empty = "t.txt: there are no requests in it; give a trace with one request a line";
    assert_eq!(refused(b""), empty);
    assert_eq!(refused(b"\n\r\n  \n"), empty);
    assert_eq!(refused(&gzip(b"")), empty);
    assert_eq!(
        refused(b"\x7fELF\x02\x01\x01\0\0\n\xff\xfe"),
        format!(
            "t.txt: its format is not known, it starts with \
             \"\\x7fELF\\x02\\x01\\x01\\x00\\x00\"; set trace.format to one of {}, or to {OWN}",
            format_names()
        )
    );
}

#[test]
fn each_format_refuses_a_row_that_was_cut() {
    for info in FORMATS.iter() {
        let row = info.example.lines().last().unwrap();
        let cut = &row[..row.len() / 2];
        let text = format!("{}{cut}", info.example);
        let line = text.lines().count();
        let options = TraceOptions { format: Some(info.name.to_owned()), ..Default::default() };
        let keys = keys(TimeOrder::Sort);
        let trace = Trace::open(Input::memory("t.txt", text.as_bytes()), &keys, &options);
        let message = drain(trace).unwrap_err();
        assert!(message.starts_with(&format!("t.txt:{line}: ")), "{message}");
        assert!(message.contains("columns instead of"), "{message}");
    }
}

#[test]
fn a_compressed_file_that_was_cut_is_refused() {
    let rows = (0..50_000).map(|n| format!("{} 0 {} 8 1\n", n * 1_000, n * 7919));
    let text = rows.collect::<Vec<_>>().concat();
    let whole = gzip(text.as_bytes());
    let message = read_on(&whole[..whole.len() / 2], &TraceKeys::default(), None).unwrap_err();
    let (start, end) = message.split_once("line ").unwrap();
    assert_eq!(start, "t.txt: the compressed data ends early, after ");
    let (line, fix) = end.split_once("; ").unwrap();
    assert!(line.parse::<u64>().unwrap() > 1_000, "{message}");
    assert_eq!(
        fix,
        "the file was cut short, or has other bytes behind its end: fetch or compress it again"
    );
    let message = read_on(&whole[..12], &TraceKeys::default(), None).unwrap_err();
    assert!(message.contains("ends early, after line 0"), "{message}");
    let longer = [&whole[..], b"others"].concat();
    let message = read_on(&longer, &TraceKeys::default(), None).unwrap_err();
    assert!(message.ends_with(&format!("after line 50000; {fix}")), "{message}");
}

#[test]
fn the_format_key_overrides_detection() {
    let keys = TraceKeys::default();
    let open = |name: &str| {
        let text = Box::new(Cursor::new(b"1 0 8 8 1\n".to_vec()));
        {
            let options = TraceOptions { format: Some(name.to_owned()), ..Default::default() };
            drain(from_reader("pipe", text, &keys, &options))
        }
    };
    assert_eq!(open("ssdsim").unwrap().len(), 1);
    assert!(open("spc").unwrap_err().starts_with("pipe:1: 1 columns instead of 5; "));
    assert_eq!(
        open("iometer").unwrap_err(),
        format!(
            "trace.format: there is no format \"iometer\"; the formats are {}; or give {OWN}",
            format_names()
        )
    );
}

#[test]
fn steps_back_are_errors_unless_asked_for() {
    assert_eq!(
        arrivals(&[5_000, 3_500], &TraceKeys::default()).unwrap_err(),
        "t.txt:2: time steps back by 1.5 us; set trace.time_order = \"sort\" to sort the rows, or \
         \"join_epochs\" if the clock was set while recording"
    );
    let sorted = arrivals(&[5_000, 3_500, 6_000], &keys(TimeOrder::Sort)).unwrap();
    assert_eq!(sorted, [0, 1_500, 2_500]);
    let narrow = TraceKeys { sort_window: 1, ..keys(TimeOrder::Sort) };
    assert_eq!(
        arrivals(&[5_000, 6_000, 7_000, 4_000], &narrow).unwrap_err(),
        "t.txt:4: time steps back by 2 us, too far for a window of 1 request; trace.sort_window \
         = 3 reaches this row"
    );
}

#[test]
fn steps_back_are_counted_in_the_order_of_the_file() {
    let text = b"50 0 8 8 1\n20 0 8 8 1\n60 0 8 8 1\n50 0 8 8 1\n";
    let mut trace = Trace::open(
        Input::memory("t", &text[..]),
        &keys(TimeOrder::Sort),
        &TraceOptions::default(),
    )
    .unwrap();
    while trace.next_request().unwrap().is_some() {}
    let expected = SourceStats {
        requests: 4,
        steps_back: 2,
        max_back_ns: 30,
        clock_epochs: 1,
        ..SourceStats::default()
    };
    assert_eq!(trace.stats(), expected);
    assert_eq!(trace.format_name(), "ssdsim");
}

#[test]
fn epochs_are_joined_and_then_scaled() {
    const HOUR_NS: u64 = 3_600_000_000_000;
    let times = [1_000, 2_000, 5 * HOUR_NS, 3_000, 5 * HOUR_NS + 500, 2 * HOUR_NS];
    let joined = arrivals(&times, &keys(TimeOrder::JoinEpochs)).unwrap();
    assert_eq!(joined, [0, 1_000, 2_000, 1_002_000, 1_002_500, 2_002_500]);
    let scaled = TraceKeys { duration_ms: Span::from_us(4_005), ..keys(TimeOrder::JoinEpochs) };
    assert_eq!(arrivals(&times, &scaled).unwrap().last(), Some(&4_005_000));
}

#[test]
fn two_passes_need_input_that_can_be_read_twice() {
    let refused = |keys| {
        let text = Box::new(Cursor::new(b"1 0 8 8 1\n".to_vec()));
        drain(from_reader("standard input", text, &keys, &TraceOptions::default())).unwrap_err()
    };
    assert_eq!(
        refused(keys(TimeOrder::JoinEpochs)),
        "standard input: trace.time_order = \"join_epochs\" reads the trace twice, and this input \
         can be read only once; save it to a file first"
    );
    let message = refused(TraceKeys { duration_ms: Span::from_ns(1), ..TraceKeys::default() });
    assert!(message.starts_with("standard input: trace.duration_ms reads"), "{message}");
}

#[test]
fn times_are_rebased_scaled_and_rounded() {
    let times = [1_000_000, 1_001_999, 1_003_000];
    let with = |keys| arrivals(&times, &keys).unwrap();
    let plain = TraceKeys::default();
    assert_eq!(with(plain), [0, 1_999, 3_000]);
    let recorded = TraceKeys { rebase: false, ..plain };
    assert_eq!(with(recorded), times);
    let origin = |origin_s| TraceKeys { origin_s, ..recorded };
    assert_eq!(with(origin(Span::from_us(999))), [1_000, 2_999, 4_000]);
    assert_eq!(
        arrivals(&times, &origin(Span::from_ns(1_000_001))).unwrap_err(),
        "t.txt:1: the request is earlier than trace.origin_s, 1000000 ns; lower the key"
    );
    assert_eq!(
        arrivals(&times, &TraceKeys { origin_s: Span::from_ns(1), ..plain }).unwrap_err(),
        "trace.origin_s: the first request arrives at 0, whatever the origin; set trace.rebase = \
         false, or take the key out"
    );
    assert_eq!(
        with(TraceKeys { time_scale: Micro::from_millionths(500_000), ..plain }),
        [0, 999, 1_500]
    );
    assert_eq!(with(TraceKeys { time_quantum_us: Span::from_us(1), ..plain }), [0, 1_000, 3_000]);
    assert_eq!(with(TraceKeys { duration_ms: Span::from_us(1), ..plain }), [0, 666, 1_000]);
    let both =
        TraceKeys { duration_ms: Span::from_us(1), time_scale: Micro::from_millionths(2), ..plain };
    assert_eq!(
        arrivals(&times, &both).unwrap_err(),
        "trace.duration_ms: there is a duration and a scale; set only one of trace.time_scale and \
         trace.duration_ms"
    );
    let far = TraceKeys { time_scale: Micro::from_millionths(1_000_000_000_000), ..plain };
    for (keys, last) in [(far, u64::MAX), (plain, (1 << 62) + 1)] {
        assert_eq!(
            arrivals(&[0, last], &keys).unwrap_err(),
            format!(
                "t.txt:2: the time is too large, {last} ns; arrivals end at 146 years; lower \
                 trace.time_scale or trace.duration_ms"
            )
        );
    }
}

#[test]
fn requests_behind_the_end_are_refused_or_folded() {
    let text = b"0 0 96 8 1\n1 0 104 8 1\n2 0 198 8 0\n";
    let plain = TraceKeys::default();
    assert_eq!(
        read_on(text, &plain, Some(104)).unwrap_err(),
        "t.txt:2: the request ends behind the device, sector 112 of 104; set trace.fold to \
         renumber, modulo or mirror, or give the device more capacity"
    );
    let modulo = TraceKeys { fold: Fold::Modulo, ..plain };
    let options = TraceOptions { capacity_sectors: Some(104), ..Default::default() };
    let mut trace = Trace::open(Input::memory("t", &text[..]), &modulo, &options).unwrap();
    let mut starts = Vec::new();
    while let Some(request) = trace.next_request().unwrap() {
        starts.push(request.first_sector);
    }
    assert_eq!((starts, trace.stats().folded), (vec![96, 0, 94], 2));
    assert_eq!(
        read_on(text, &modulo, Some(7)).unwrap_err(),
        "t.txt:1: the request is larger than the device, 8 sectors of 7; give the device more \
         capacity"
    );
    assert!(read_on(text, &modulo, Some(0)).unwrap_err().starts_with("trace.fold: the device has"));
}

#[test]
fn every_key_does_something() {
    for key in TraceKeys::KEYS {
        let mut plain = TraceKeys::default();
        for setting in key.with {
            let (name, value) = setting.strip_prefix("trace.").unwrap().split_once('=').unwrap();
            set(&mut plain, TraceKeys::KEYS.iter().find(|key| key.name == name).unwrap(), value);
        }
        let mut flipped = plain;
        set(&mut flipped, key, key.flip);
        let read = |keys| read_on(key_trace(key.name).as_bytes(), keys, Some(64 << 20));
        assert_ne!(read(&plain), read(&flipped), "{}", key.name);
    }
}

fn set(keys: &mut TraceKeys, key: &Key, text: &str) {
    let value = match key.kind {
        Kind::Bool => Value::Bool(text.parse().unwrap()),
        Kind::Choice(words) => {
            Value::Choice(words.iter().position(|&word| word == text).expect("a word of the key"))
        }
        Kind::Number { scale, min, max, .. } => {
            let number = text.parse::<f64>().unwrap() * scale as f64;
            let number = format!("{number}").parse().expect("scaled numbers are whole");
            assert!((min..=max).contains(&number), "{} = {text}", key.name);
            Value::Number(number)
        }
        Kind::List { .. } => unreachable!("traces have no keys that are lists"),
    };
    assert!(keys.set(key.name, value));
}

#[test]
fn mutated_traces_never_panic() {
    let mut random = SplitMix64::new(9);
    let (orders, folds) = (TimeOrder::ALL, Fold::ALL);
    for round in 0..4_000 {
        let info = &FORMATS[random.below_usize(FORMATS.len())];
        let mut text = info.example.repeat(3).into_bytes();
        for _ in 0..random.below(6) {
            let at = random.below_usize(text.len());
            text[at] = u8::try_from(random.below(256)).unwrap();
        }
        if random.happens(300_000) {
            text = gzip(&text);
            text.truncate(random.below_usize(text.len() + 1));
        }
        let keys = TraceKeys {
            time_order: orders[random.below_usize(orders.len())],
            sort_window: 1 + random.below(4),
            duration_ms: Span::from_ns(random.below(2) * random.below(1_000_000)),
            fold: folds[random.below_usize(folds.len())],
            renumber_wrap: random.happens(500_000),
            align_kib: random.below(2) * random.below(64),
            end_ms: Span::from_ns(random.below(2) * random.below(2_000_000_000)),
            ..TraceKeys::default()
        };
        let capacity = random.happens(500_000).then(|| random.below(100_000));
        if let Ok(requests) = read_on(&text, &keys, capacity) {
            assert!(requests.is_sorted_by_key(|request| request.arrival), "round {round}");
            assert!(requests.iter().all(|r| r.sectors > 0 || r.op == RequestOp::Flush));
        }
    }
}

#[test]
fn a_request_behind_the_last_sector_is_a_row_that_cannot_be_read() {
    let text = "1 0 8 8 1\n2 0 18446744073709551615 8 1\n3 0 16 8 1\n";
    let keys = TraceKeys { bad_rows: BadRows::Skip, ..TraceKeys::default() };
    let mut trace =
        Trace::open(Input::memory("t", text.as_bytes()), &keys, &TraceOptions::default()).unwrap();
    let sectors: Vec<u64> =
        std::iter::from_fn(|| trace.next_request().unwrap()).map(|r| r.first_sector).collect();
    assert_eq!(sectors, [8, 16]);
    assert_eq!((trace.stats().requests, trace.stats().bad_rows), (2, 1));
}

#[test]
fn the_mark_in_front_of_utf_8_text_is_passed_over() {
    for info in FORMATS.iter() {
        let marked = format!("\u{feff}{}", info.example);
        let keys = TraceKeys::default();
        assert_eq!(read(&marked, &keys), read(info.example, &keys), "{}", info.name);
    }
    let header = "\u{feff}Timestamp,Offset,Size,IOType,VolumeID\n7,8,8,0,1\n";
    assert_eq!(read(header, &TraceKeys::default()).unwrap().len(), 1);
}

#[test]
fn a_file_that_is_missing_is_told_from_one_that_can_be_read_once() {
    for keys in [
        keys(TimeOrder::JoinEpochs),
        TraceKeys { duration_ms: Span::from_ns(1), ..Default::default() },
    ] {
        let missing = Trace::open(Input::path("no such file"), &keys, &TraceOptions::default());
        let message = missing.unwrap_err().to_string();
        assert!(message.starts_with("no such file: cannot be read, "), "{message}");
    }
}

#[test]
fn a_time_that_is_too_large_as_recorded_names_the_origin() {
    let keys = TraceKeys { rebase: false, ..TraceKeys::default() };
    let message = arrivals(&[1 << 63], &keys).unwrap_err();
    assert!(message.contains("with trace.origin_s"), "{message}");
    let origin = TraceKeys { origin_s: Span::from_ns(1 << 63), ..keys };
    assert_eq!(arrivals(&[1 << 63, (1 << 63) + 5], &origin).unwrap(), [0, 5]);
}
