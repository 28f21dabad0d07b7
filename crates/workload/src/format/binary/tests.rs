//! The binary format against its page in docs/TRACES.md, and against damage.

use std::io::Read;

use super::*;
use crate::RequestSource;
use crate::format::write::TraceWriter;
use crate::input::Input;
use crate::pack::{Packer, Packing};
use crate::random::SplitMix64;
use crate::trace::{BadRows, Trace, TraceKeys, TraceOptions};
use flashyard_core::units::Time;

fn request(arrival_ns: u64, first_sector: u64, sectors: u32, op: RequestOp) -> Request {
    let arrival = Time::from_ns(arrival_ns);
    Request::new(op, first_sector, sectors).at(arrival).of_stream(0x0201)
}

fn some() -> Vec<Request> {
    vec![
        request(5, 0x0807_0605_0403_0201, 8, RequestOp::Read),
        request(5, 16, 1, RequestOp::Write),
        request(70, 0, u32::MAX, RequestOp::Trim).with(Flags::ZEROES),
        request(71, 0, 0, RequestOp::Flush).with(Flags::FUA.with(Flags::PREFLUSH)),
    ]
}

fn written(requests: &[Request], names: &[String], known: bool) -> Vec<u8> {
    let mut writer = TraceWriter::new("out", &INFO, false).unwrap();
    let mut out = Vec::new();
    for request in requests {
        writer.push(request, &mut out).unwrap();
    }
    writer.finish(names, &mut out).unwrap();
    if known {
        let header = writer.header();
        out[..header.len()].copy_from_slice(&header);
    }
    out
}

fn names() -> Vec<String> {
    vec!["data".to_owned(), "log".to_owned()]
}

fn drain(trace: Result<Trace, WorkloadError>) -> Result<Vec<Request>, String> {
    let mut trace = trace.map_err(|error| error.to_string())?;
    let mut requests = Vec::new();
    while let Some(request) = trace.next_request().map_err(|error| error.to_string())? {
        requests.push(request);
    }
    Ok(requests)
}

fn raw() -> TraceKeys {
    TraceKeys { rebase: false, ..TraceKeys::default() }
}

fn read(bytes: &[u8]) -> Result<Vec<Request>, String> {
    let format = Some(INFO.name.to_owned());
    let options = TraceOptions { format, ..TraceOptions::default() };
    drain(Trace::open(Input::memory("t", bytes), &raw(), &options))
}

#[test]
fn the_layout_is_the_documented_one() {
    let mut expected = vec![0x89, b'F', b'Y', b'T', 0x0d, 0x0a, 0x1a, 0x0a];
    expected.extend([1, 0, 64, 0, 24, 0, 0, 0]);
    expected.extend([4, 0, 0, 0, 0, 0, 0, 0]);
    expected.extend([5, 0, 0, 0, 0, 0, 0, 0]);
    expected.extend([0; 32]);
    expected.extend([5, 0, 0, 0, 0, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8]);
    expected.extend([8, 0, 0, 0, 1, 2, 0, 0]);
    expected.extend([5, 0, 0, 0, 0, 0, 0, 0, 16, 0, 0, 0, 0, 0, 0, 0]);
    expected.extend([1, 0, 0, 0, 1, 2, 1, 0]);
    expected.extend([70, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
    expected.extend([255, 255, 255, 255, 1, 2, 2, 4]);
    expected.extend([71, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
    expected.extend([0, 0, 0, 0, 1, 2, 3, 3]);
    expected.extend([4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
    expected.extend([2, 0, 0, 0, 0, 0, 255, 0]);
    expected.extend([4, 0, b'd', b'a', b't', b'a', 3, 0, b'l', b'o', b'g']);
    assert_eq!(written(&some(), &names(), true), expected);
    assert_eq!(read(&expected).unwrap(), some());
    expected[16..24].fill(0xff);
    assert_eq!(written(&some(), &names(), false), expected, "an unknown number is all ones");
    assert_eq!(read(&expected).unwrap(), some());
}

#[test]
fn every_cut_and_every_excess_is_noticed() {
    for known in [false, true] {
        let whole = written(&some(), &names(), known);
        for length in 0..whole.len() {
            let message = read(&whole[..length]).expect_err("it was cut");
            assert!(message.starts_with("t: "), "{message}");
        }
        let more = [&whole[..], b"x"].concat();
        assert!(read(&more).unwrap_err().starts_with("t: there is something behind its end; "));
    }
}

/// The message about the file of [`some`] with other bytes at `at`.
fn with(at: usize, bytes: &[u8]) -> String {
    let mut file = written(&some(), &names(), true);
    file[at..at + bytes.len()].copy_from_slice(bytes);
    read(&file).expect_err("it was damaged")
}

/// Where record number `number` starts, counted from 0.
const fn record(number: usize) -> usize {
    HEADER_BYTES + RECORD_BYTES * number
}

/// Other bytes at each place are refused with this message.
#[track_caller]
fn all_refused(cases: &[(usize, &[u8], String)]) {
    for (at, bytes, message) in cases {
        assert_eq!(with(*at, bytes), *message, "at {at}");
    }
}

#[test]
fn every_field_of_a_record_is_checked() {
    all_refused(&[
        (
            record(1) + 22,
            &[4],
            "t:record 2: unknown operation, 4; the operations are 0 read, 1 write, 2 trim and 3 \
             flush"
                .to_owned(),
        ),
        (
            record(1) + 23,
            &[24],
            "t:record 2: unknown flags, 24; the flags are the sum of 1 fua, 2 preflush and 4 \
             zeroes, and for zones one of 8 append, 16 reset, 32 finish, 64 open and 128 close"
                .to_owned(),
        ),
        (
            record(1) + 16,
            &[0],
            "t:record 2: sectors is 0; a request has at most 4294967295 sectors, and 0 only in a \
             flush"
                .to_owned(),
        ),
        (
            record(1) + 8,
            &[0xff; 8],
            "t:record 2: first sector is too large, 18446744073709551615 with 1 sectors; requests \
             end at sector 18446744073709551615 at most"
                .to_owned(),
        ),
        (
            record(2),
            &[4],
            "t:record 3: time steps back by 1 ns; set trace.time_order = \"sort\" to sort the \
             rows, or \"join_epochs\" if the clock was set while recording"
                .to_owned(),
        ),
    ]);
}

#[test]
fn header_and_end_are_checked() {
    let end = record(4);
    let remade = "write it again with flashyard trace convert";
    let cut = "the file was cut short: fetch or write it again";
    let cases: &[(usize, &[u8], String)] = &[
        (
            8,
            &[2, 0],
            "t: its version is 2, and only version 1 is known; use a newer flashyard, or write \
             it in another format"
                .to_owned(),
        ),
        (
            12,
            &[32],
            format!(
                "t: the header says 64 bytes of header and 32 a record, not 64 and 24; {remade}"
            ),
        ),
        (14, &[1], format!("t: a reserved byte of the header is 1, not 0; {remade}")),
        (63, &[9], format!("t: a reserved byte of the header is 9, not 0; {remade}")),
        (16, &[5], format!("t: its header says 5 records, and it has 4; {cut}")),
        (24, &[6], format!("t: the first record is of 5 ns, and the header says 6 ns; {remade}")),
        (record(3) + 22, &[0xff], format!("t: its end says 71 records, and it has 3; {cut}")),
        (end, &[3], format!("t: its end says 3 records, and it has 4; {cut}")),
        (end + 8, &[1], format!("t: its end record is damaged; {remade}")),
        (end + 18, &[1, 1], format!("t: its end record is damaged; {remade}")),
        (end + 24, &[200], format!("t: the name of stream 0 is cut; {cut}")),
        (end + 26, &[0xff], format!("t: the name of stream 0 is not UTF-8; {remade}")),
    ];
    all_refused(cases);
    let lacks = "t: it is not of the format flashyard, whose first bytes it lacks; take \
                 trace.format out";
    assert_eq!(read(b"1 0 8 8 1\n").unwrap_err(), lacks);
    let text = [b"\x89FYT\n\x1a\n", &written(&some(), &[], true)[8..]].concat();
    let message = drain(Trace::open(Input::memory("t", text), &raw(), &TraceOptions::default()));
    assert!(
        message.unwrap_err().starts_with("t: its format is not known"),
        "line ends were changed"
    );
}

#[test]
fn damage_never_panics() {
    let mut random = SplitMix64::new(5);
    let whole = written(&some(), &names(), true);
    for _ in 0..20_000 {
        let mut file = whole.clone();
        for _ in 0..=random.below(3) {
            let at = random.below_usize(file.len());
            file[at] = [0, 1, 0x7f, 0xff][random.below_usize(4)];
        }
        if let Ok(requests) = read(&file) {
            assert_eq!(requests.len(), 4, "none is lost in silence");
        }
    }
}

/// Hands out as many bytes a call as the generator says, as a pipe does.
struct Pieces(Vec<u8>, usize, SplitMix64);

impl Read for Pieces {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let most = buffer.len().min(self.0.len() - self.1);
        let count = most.min(1 + self.2.below_usize(9_999));
        buffer[..count].copy_from_slice(&self.0[self.1..self.1 + count]);
        self.1 += count;
        Ok(count)
    }
}

#[test]
fn long_traces_are_read_in_any_pieces_and_any_packing() {
    let mut random = SplitMix64::new(6);
    let requests: Vec<Request> = (0..30_000)
        .map(|n| request(n * 7, random.below(1 << 40), 8, RequestOp::ALL[random.below_usize(3)]))
        .collect();
    let whole = written(&requests, &names(), false);
    let pieces = Pieces(whole.clone(), 0, SplitMix64::new(1));
    let input = Input::reader("pipe", Box::new(pieces));
    assert!(drain(Trace::open(input, &raw(), &TraceOptions::default())).unwrap() == requests);
    for packing in [Packing::Plain, Packing::Gzip, Packing::Zstd] {
        let mut packer = Packer::new(packing, Vec::new());
        std::io::Write::write_all(&mut packer, &whole).unwrap();
        let input = Input::memory("t", packer.finish().unwrap());
        let mut trace = Trace::open(input, &raw(), &TraceOptions::default()).unwrap();
        assert_eq!(trace.format_name(), "flashyard");
        let read = std::iter::from_fn(|| trace.next_request().unwrap());
        assert!(read.eq(requests.iter().copied()), "{packing:?}");
        assert_eq!(trace.stream_names(), names());
    }
    for (number, request) in requests.iter().enumerate() {
        let at = HEADER_BYTES + RECORD_BYTES * number;
        let one = OneRecord.parse(&whole[at..at + RECORD_BYTES]).unwrap();
        let Parsed::Request(record) = one else { panic!("a record is a request") };
        assert_eq!(record.time_ns, request.arrival.as_ns(), "a record stands in its place");
        assert_eq!(record.first_sector, request.first_sector);
    }
}

#[test]
fn compressed_data_that_ends_early_is_told_from_other_cuts() {
    let requests: Vec<Request> =
        (0..30_000).map(|n| request(n, n * n * n, 8, RequestOp::Read)).collect();
    let mut packer = Packer::new(Packing::Gzip, Vec::new());
    std::io::Write::write_all(&mut packer, &written(&requests, &[], true)).unwrap();
    let packed = packer.finish().unwrap();
    let message = read(&packed[..packed.len() / 2]).unwrap_err();
    assert!(message.starts_with("t: the compressed data ends early, after record "), "{message}");
}

#[test]
fn records_that_cannot_be_read_may_be_left_out() {
    let mut file = written(&some(), &[], true);
    file[HEADER_BYTES + RECORD_BYTES + OP] = 9;
    let keys = TraceKeys { bad_rows: BadRows::Skip, ..raw() };
    let input = Input::memory("t", file);
    let mut trace = Trace::open(input, &keys, &TraceOptions::default()).unwrap();
    let left: Vec<Request> = std::iter::from_fn(|| trace.next_request().unwrap()).collect();
    assert_eq!(left, [&some()[..1], &some()[2..]].concat());
    assert_eq!(trace.stats().bad_rows, 1);
    assert!(trace.notes()[0].contains("t:record 2: unknown operation, 9"), "{:?}", trace.notes());
}

#[test]
fn keys_of_text_are_refused() {
    let open = |keys: &TraceKeys, split: Option<&str>| {
        let split = split.map(str::to_owned);
        let options = TraceOptions { split, ..TraceOptions::default() };
        let input = Input::memory("t", written(&some(), &[], true));
        Trace::open(input, keys, &options).expect_err("the key means nothing here").to_string()
    };
    assert_eq!(
        open(&TraceKeys { skip_lines: 3, ..raw() }, None),
        "trace.skip_lines: a binary trace has no lines, 3; take the key out"
    );
    assert_eq!(
        open(&TraceKeys { event: Event::Complete, ..raw() }, None),
        "trace.event: flashyard has no time of the event, complete; it has queue"
    );
    assert!(open(&raw(), Some("asu")).starts_with("trace.split: flashyard has no column"));
}

#[test]
fn its_streams_can_be_told_apart() {
    let requests = [7, 1, 0, 1].map(|stream| request(5, 16, 1, RequestOp::Write).of_stream(stream));
    let split = Some("stream".to_owned());
    let options = TraceOptions { split, ..TraceOptions::default() };
    let input = Input::memory("t", written(&requests, &names(), true));
    let found = crate::trace::find_streams(input, &raw(), &options).unwrap();
    let found: Vec<_> =
        found.iter().map(|found| (found.number, found.name.as_str(), found.requests)).collect();
    assert_eq!(found, [(0, "data", 1), (1, "log", 2), (7, "7", 1)]);
}

#[test]
fn names_are_known_once_the_end_has_been_read() {
    for (request_limit, unread) in [(0, false), (2, true)] {
        let keys = TraceKeys { request_limit, ..raw() };
        let input = Input::memory("t", written(&some(), &names(), true));
        let mut trace = Trace::open(input, &keys, &TraceOptions::default()).unwrap();
        while trace.next_request().unwrap().is_some() {}
        assert_eq!(trace.may_have_more_names(), unread);
        assert_eq!(trace.stream_names().is_empty(), unread);
    }
}
