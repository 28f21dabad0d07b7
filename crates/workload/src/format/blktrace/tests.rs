//! Records, made by hand byte for byte, and files of them.

use std::io::Cursor;

use RequestOp::{Flush, Read, Trim, Write};

use super::*;
use crate::RequestSource;
use crate::format::Record;
use crate::input::Input;
use crate::random::SplitMix64;
use crate::trace::{BadRows, TimeOrder, Trace, TraceKeys, TraceOptions};

/// The action of a request that the driver gave back.
const REQUEUE: u32 = 6;

/// A record: time, sector, bytes, category and action, CPU and what follows.
#[derive(Clone, Copy)]
struct Made<'a> {
    time: u64,
    sector: u64,
    bytes: u32,
    category: u32,
    action: u32,
    cpu: u32,
    follows: &'a [u8],
}

const QUEUED: u32 = 0x110;
const MADE: Made<'static> = Made {
    time: 5_000,
    sector: 2_048,
    bytes: 4_096,
    category: QUEUED | category::WRITE,
    action: 1,
    cpu: 3,
    follows: &[],
};

impl Made<'_> {
    fn bytes(&self, order: Order) -> Vec<u8> {
        let mut out = Vec::new();
        let mut put = |value: u64, width: usize| match order {
            Order::Little => out.extend(&value.to_le_bytes()[..width]),
            Order::Big => out.extend(&value.to_be_bytes()[8 - width..]),
        };
        for (value, width) in [
            (u64::from(MAGIC | VERSION), 4),
            (77, 4),
            (self.time, 8),
            (self.sector, 8),
            (u64::from(self.bytes), 4),
            (u64::from(self.category << 16 | self.action), 4),
            (4_011, 4),
            (0x0080_0011, 4),
            (u64::from(self.cpu), 4),
            (0, 2),
            (self.follows.len() as u64, 2),
        ] {
            put(value, width);
        }
        assert_eq!(out.len(), RECORD_BYTES);
        out.extend(self.follows);
        out
    }
}

fn open(event: Event, split: Option<&'static str>) -> Box<dyn Format> {
    reader(&ReaderOptions { event, split, ..ReaderOptions::default() })
}

fn parse(made: &Made<'_>) -> Result<Parsed, RowError> {
    let event = match made.action {
        7 => Event::Issue,
        8 => Event::Complete,
        _ => Event::Queue,
    };
    open(event, None).parse(&made.bytes(Order::Little))
}

fn trace(name: &str, bytes: &[u8], keys: TraceKeys) -> Result<Trace, WorkloadError> {
    let options = TraceOptions { format: Some(name.to_owned()), ..TraceOptions::default() };
    let options = if name.is_empty() { TraceOptions::default() } else { options };
    Trace::open(Input::memory("t", bytes), &keys, &options)
}

fn message(bytes: &[u8]) -> String {
    let mut trace = match trace("", bytes, TraceKeys::default()) {
        Ok(trace) => trace,
        Err(error) => return error.to_string(),
    };
    loop {
        match trace.next_request() {
            Ok(Some(_)) => {}
            Ok(None) => panic!("nothing is wrong"),
            Err(error) => return error.to_string(),
        }
    }
}

#[test]
fn a_record_is_read_exactly_in_both_byte_orders() {
    let (op, flags) = (Write, Flags::NONE);
    let expected = Record {
        time_ns: 5_000,
        first_sector: 2_048,
        sectors: 8,
        stream: 0,
        op,
        flags,
        placement: None,
    };
    for order in [Order::Little, Order::Big] {
        let mut reader = open(Event::Queue, None);
        assert_eq!(reader.parse(&MADE.bytes(order)), Ok(Parsed::Request(expected)));
        assert_eq!(reader.stream_names(), ["8,17"]);
    }
    for (split, name) in [("device", "8,17"), ("cpu", "3"), ("pid", "4011")] {
        let mut reader = open(Event::Queue, Some(split));
        reader.parse(&MADE.bytes(Order::Big)).unwrap();
        assert_eq!(reader.stream_names(), [name]);
    }
}

#[test]
fn categories_become_operations_and_flags() {
    use category::{DISCARD, FLUSH, FUA, WRITE};
    for (bits, bytes, op, flags, sectors) in [
        (1, 4_096, Read, Flags::NONE, 8),
        (WRITE, 512, Write, Flags::NONE, 1),
        (WRITE, 513, Write, Flags::NONE, 2),
        (WRITE | FUA, 512, Write, Flags::FUA, 1),
        (WRITE | FLUSH, 512, Write, Flags::PREFLUSH, 1),
        (WRITE | FLUSH | FUA, 512, Write, Flags::PREFLUSH.with(Flags::FUA), 1),
        (WRITE | FLUSH, 0, Flush, Flags::NONE, 0),
        (FLUSH, 0, Flush, Flags::NONE, 0),
        (WRITE | DISCARD, 1 << 20, Trim, Flags::NONE, 2_048),
        (1 | FUA, 512, Read, Flags::NONE, 1),
    ] {
        let made = Made { category: QUEUED | bits, bytes, ..MADE };
        let Ok(Parsed::Request(record)) = parse(&made) else { panic!("{bits:x}") };
        assert_eq!((record.op, record.flags, record.sectors), (op, flags, sectors), "{bits:x}");
    }
    for category in [QUEUED, QUEUED | WRITE] {
        assert_eq!(parse(&Made { category, bytes: 0, ..MADE }), Ok(Parsed::Other));
    }
}

#[test]
fn the_event_chooses_the_records_and_the_rest_is_passed_over() {
    let mut reader = open(Event::Issue, None);
    let mut read = |made: Made<'_>| reader.parse(&made.bytes(Order::Little));
    let issue = Made { action: 7, category: 0x140 | category::WRITE, ..MADE };
    assert!(matches!(read(issue), Ok(Parsed::Request(_))));
    let of_a_group = Made { action: 7 | CGROUP, follows: &[1; 8], ..issue };
    assert!(matches!(read(of_a_group), Ok(Parsed::Request(_))));
    for made in [
        MADE,
        Made { action: 8, ..MADE },
        Made { action: 2, ..MADE },
        Made { action: 15, follows: &[9; 16], ..MADE },
        Made { action: 0, category: category::NOTIFY, follows: b"dd\0\0", ..MADE },
        Made { action: 2, category: category::NOTIFY, follows: b"cfq", ..MADE },
        Made { action: 7, category: 0x240, ..MADE },
    ] {
        assert_eq!(read(made), Ok(Parsed::Other));
    }
    let error = read(Made { action: 20, ..MADE }).unwrap_err();
    assert_eq!(error.what, "unknown action, 20");
    let seen = [(Event::Queue, 1), (Event::Issue, 0), (Event::Complete, 1)];
    assert_eq!(reader.passed_over(), seen);
}

#[test]
fn a_request_that_is_issued_again_counts_once() {
    let category = 0x140 | category::WRITE;
    let record = |time, action| Made { time, category, action, ..MADE }.bytes(Order::Little);
    let read = |actions: &[u32]| {
        let records = actions.iter().enumerate().map(|(at, &action)| record(at as u64, action));
        let bytes: Vec<u8> = records.flatten().collect();
        let keys = TraceKeys { event: Event::Issue, ..TraceKeys::default() };
        let mut trace = trace("", &bytes, keys).unwrap();
        let found = std::iter::from_fn(|| trace.next_request().unwrap());
        (found.map(|request| request.arrival.as_ns()).collect::<Vec<_>>(), trace.notes())
    };
    let (times, notes) = read(&[7, REQUEUE, 7, REQUEUE, 7, 8, 7]);
    assert_eq!(times, [0, 6]);
    let expected = [
        "3 records hold no request of the chosen event",
        "2 requests were issued again, as the driver had given them back: counted once",
    ];
    assert_eq!(notes, expected);
    assert_eq!(read(&[7, REQUEUE, 8, 7]).0, [0, 3]);
    assert_eq!(read(&[7, 7]).0, [0, 1]);
}

#[test]
fn files_are_detected_and_what_follows_records_is_passed_over() {
    let longest = vec![b'x'; 65_535];
    for order in [Order::Little, Order::Big] {
        let mut bytes = Vec::new();
        for n in 0..40_u64 {
            let follows = if n % 3 == 0 { &longest[..] } else { b"\n\n" };
            bytes.extend(Made { time: 1_000 + n, sector: 8 * n, follows, ..MADE }.bytes(order));
        }
        for name in ["", "blktrace"] {
            let mut trace = trace(name, &bytes, TraceKeys::default()).unwrap();
            let requests: Vec<_> = std::iter::from_fn(|| trace.next_request().unwrap()).collect();
            let found: Vec<(u64, u64)> =
                requests.iter().map(|r| (r.arrival.as_ns(), r.first_sector)).collect();
            let expected: Vec<(u64, u64)> = (0..40).map(|n| (n, 8 * n)).collect();
            assert_eq!(found, expected);
            assert_eq!(trace.format_name(), "blktrace");
        }
    }
}

#[test]
fn the_example_has_the_requests_that_it_says() {
    let mut trace = trace("", INFO.example.as_bytes(), TraceKeys::default()).unwrap();
    let mut next =
        || trace.next_request().unwrap().map(|r| (r.arrival.as_ns(), r.op, r.first_sector));
    assert_eq!(next(), Some((0, Write, 2_048)));
    assert_eq!(next(), Some((768, Read, 64)));
    assert_eq!(next(), None);
    assert_eq!(trace.stream_names(), ["259,0"]);
    assert_eq!(trace.notes()[0], "2 records hold no request of the chosen event");
    assert_eq!(
        message(&INFO.example.as_bytes()[..64]),
        "t: there are no requests in it, but 1 record of something else and 0 that cannot be read; \
         choose another trace.event or trace.format"
    );
}

#[test]
fn times_that_step_back_are_an_error_unless_sorted() {
    let record = |time| Made { time, ..MADE }.bytes(Order::Little);
    let bytes = [record(7_000), record(5_000)].concat();
    assert_eq!(
        message(&bytes),
        "t:record 2: time steps back by 2 us; set trace.time_order = \"sort\" to sort the rows, or \
         \"join_epochs\" if the clock was set while recording"
    );
    let keys = TraceKeys { time_order: TimeOrder::Sort, ..TraceKeys::default() };
    let mut sorted = trace("", &bytes, keys).unwrap();
    let times = std::iter::from_fn(|| sorted.next_request().unwrap());
    assert_eq!(times.map(|r| r.arrival.as_ns()).collect::<Vec<_>>(), [0, 2_000]);
}

#[test]
fn damage_is_named_by_record() {
    let good = MADE.bytes(Order::Little);
    let with = |bytes: &[u8]| message(&[&good[..], bytes].concat());
    let shown = with(&[1; 60]);
    let expected = "t:record 2: it starts with the bytes 01 01 01 01 instead of 0x65617407; ";
    assert!(shown.starts_with(expected), "{shown}");
    let shown = with(&good[..47]);
    assert!(shown.starts_with("t:record 2: 47 bytes are left of it instead of 48; "), "{shown}");
    let long = Made { follows: b"abc", ..MADE }.bytes(Order::Little);
    let shown = with(&long[..50]);
    assert!(shown.starts_with("t:record 2: 50 bytes are left of it instead of 51; "), "{shown}");
    let shown = with(&MADE.bytes(Order::Big));
    assert!(shown.contains("its byte order is not that of the first record"), "{shown}");
    let mut newer = good.clone();
    newer[0] = 8;
    assert_eq!(
        message(&newer),
        "t:record 1: records of version 8, and version 7 is read; make text of it: blkparse -i \
         FILE -o TEXT"
    );
    let mut odd = good.clone();
    odd[28] = 99;
    let shown = with(&odd);
    assert!(shown.starts_with("t:record 2: unknown action, 99; "), "{shown}");
    let keys = TraceKeys { bad_rows: BadRows::Skip, ..TraceKeys::default() };
    let mut skipping = trace("", &[&odd[..], &good].concat(), keys).unwrap();
    assert!(skipping.next_request().unwrap().is_some());
    assert_eq!(skipping.stats().bad_rows, 1);
    let notes = skipping.notes();
    assert!(notes[0].starts_with("1 row cannot be read and was left out, first t:record 1: "));
}

#[test]
fn damage_never_panics() {
    let mut random = SplitMix64::new(11);
    let whole = INFO.example.as_bytes().repeat(3);
    for _ in 0..5_000 {
        let mut bytes = whole.clone();
        for _ in 0..=random.below(5) {
            let at = random.below_usize(bytes.len());
            bytes[at] = u8::try_from(random.below(256)).unwrap();
        }
        bytes.truncate(random.below_usize(bytes.len() + 1));
        let keys = TraceKeys { bad_rows: BadRows::Skip, ..TraceKeys::default() };
        let Ok(mut trace) = trace("blktrace", &bytes, keys) else { continue };
        while let Ok(Some(request)) = trace.next_request() {
            assert!(request.sectors > 0 || request.op == Flush);
        }
    }
}

#[test]
fn keys_and_formats_that_do_not_fit_are_refused() {
    let good = MADE.bytes(Order::Little);
    let keys = TraceKeys { skip_lines: 1, ..TraceKeys::default() };
    let shown = trace("", &good, keys).unwrap_err().to_string();
    assert_eq!(shown, "trace.skip_lines: a binary trace has no lines, 1; take the key out");
    let shown = trace("blkparse", &good, TraceKeys::default()).unwrap_err().to_string();
    assert_eq!(
        shown,
        "t: it is a binary trace of blktrace, it starts with the bytes 0x65617400; take \
         trace.format out, or set it to blktrace"
    );
    let text = trace("blktrace", b"1 0 8 8 1\n", TraceKeys::default()).unwrap().next_request();
    let shown = text.unwrap_err().to_string();
    assert!(shown.starts_with("t:record 1: it starts with the bytes 31 20 30 20 instead of"));
    assert!(message(b"eat 1 2 3\n").contains("its format is not known"));
    for version in VERSIONS {
        let magic = (MAGIC | u32::from(version)).to_be_bytes();
        let mut lines = Lines::new("t", Box::new(Cursor::new(magic)));
        assert!(is_next(&mut lines).unwrap());
    }
}

#[test]
fn a_file_beside_those_of_other_cpus_is_refused() {
    let folder = std::env::temp_dir().join(format!("flashyard-blktrace-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let good = MADE.bytes(Order::Little);
    let open = |name: &str| {
        let path = folder.join(name).display().to_string();
        let (keys, options) = (TraceKeys::default(), TraceOptions::default());
        Trace::open(Input::path(&path), &keys, &options).map_err(|error| error.to_string())
    };
    for (name, bytes) in [
        ("sda.blktrace.0", &good[..]),
        ("sda.blktrace.1", b""),
        ("sdb.blktrace.2", &good),
        ("sda.bin", &good),
    ] {
        std::fs::write(folder.join(name), bytes).unwrap();
    }
    let alone = ["sda.blktrace.0", "sdb.blktrace.2", "sda.bin"].map(|name| open(name).is_ok());
    std::fs::write(folder.join("sda.blktrace.10.gz"), b"x").unwrap();
    std::fs::write(folder.join("sda.blktrace.2"), &good).unwrap();
    let refused = open("sda.blktrace.0").unwrap_err();
    let merged = open("sda.bin").is_ok();
    std::fs::remove_dir_all(&folder).unwrap();
    assert_eq!(alone, [true; 3]);
    assert!(merged);
    let expected = "it holds the requests of CPU 0 only, and 2 files of other CPUs lie beside it, \
                    the first is sda.blktrace.2; merge them: blkparse -i sda -d sda.bin -O; or";
    assert!(refused.contains(expected), "{refused}");
}
