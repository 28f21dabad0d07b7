//! The transforms: each against a computation over a list, and worked examples.

use flashyard_core::quantity::{Bytes, Micro};
use flashyard_core::units::Span;
use std::collections::BTreeMap;

use flashyard_core::request::RequestOp;

use super::*;
use crate::RequestSource;
use crate::random::SplitMix64;
use flashyard_core::request::Request;

/// A row of an `ssdsim` trace.
#[derive(Clone, Copy, Debug)]
struct Written {
    time_ns: u64,
    device: u16,
    first: u64,
    sectors: u32,
    read: bool,
}

fn text(rows: &[Written]) -> String {
    let row = |row: &Written| {
        let Written { time_ns, device, first, sectors, read } = *row;
        format!("{time_ns} {device} {first} {sectors} {}\n", u8::from(read))
    };
    rows.iter().map(row).collect::<Vec<_>>().concat()
}

/// Rows out of order by up to 20 places, over a sparse address space.
fn random_rows(random: &mut SplitMix64, count: u64) -> Vec<Written> {
    let row = |n: u64| Written {
        time_ns: 5_000_000 + n * 1_000 + random.below(20_000),
        device: u16::try_from(random.below(6)).unwrap(),
        first: random.below(8) * 1_000_000_007 + random.below(20_000),
        sectors: u32::try_from(1 + random.below(700)).unwrap(),
        read: random.happens(400_000),
    };
    (0..count).map(row).collect()
}

fn open(text: &str, keys: &TraceKeys, capacity_sectors: Option<u64>) -> Result<Trace, String> {
    let options = TraceOptions { capacity_sectors, ..Default::default() };
    Trace::open(Input::memory("t.txt", text.as_bytes()), keys, &options)
        .map_err(|error| error.to_string())
}

/// The requests and what is said about them.
fn read(
    text: &str,
    keys: &TraceKeys,
    capacity_sectors: Option<u64>,
) -> Result<(Vec<Request>, Trace), String> {
    let mut trace = open(text, keys, capacity_sectors)?;
    let mut requests = Vec::new();
    while let Some(request) = trace.next_request().map_err(|error| error.to_string())? {
        requests.push(request);
    }
    assert_eq!(trace.next_request().unwrap(), None, "it has ended");
    Ok((requests, trace))
}

fn sorted() -> TraceKeys {
    TraceKeys { time_order: TimeOrder::Sort, ..TraceKeys::default() }
}

/// Filter, sort and clip over a list.
fn naive(rows: &[Written], keys: &TraceKeys) -> Vec<Written> {
    let bytes = |row: &Written| u64::from(row.sectors) * 512;
    let mut left: Vec<Written> = rows
        .iter()
        .filter(|row| match keys.keep_ops {
            KeepOps::Reads => row.read,
            KeepOps::Writes => !row.read,
            _ => true,
        })
        .filter(|row| (keys.first_stream..=keys.last_stream).contains(&u64::from(row.device)))
        .filter(|row| bytes(row) >= keys.min_kib.bytes())
        .filter(|row| keys.max_kib.is_zero() || bytes(row) <= keys.max_kib.bytes())
        .filter(|row| row.first >= keys.from_sector)
        .filter(|row| keys.to_sector == 0 || row.first < keys.to_sector)
        .copied()
        .collect();
    left.sort_by_key(|row| row.time_ns);
    let start_ns = left.first().map_or(0, |row| row.time_ns);
    left.retain(|row| row.time_ns - start_ns >= keys.start_ms.as_ns());
    left.retain(|row| keys.end_ms.is_zero() || row.time_ns - start_ns < keys.end_ms.as_ns());
    let limit = if keys.request_limit == 0 { u64::MAX } else { keys.request_limit };
    let skip = usize::try_from(keys.first_request).unwrap();
    left.into_iter().skip(skip).take(usize::try_from(limit).unwrap()).collect()
}

fn random_keys(random: &mut SplitMix64, count: u64) -> TraceKeys {
    let mut some = |bound: u64| random.below(2) * random.below(bound);
    let (first_stream, min_kib, from_sector) = (some(3), some(100_000), some(1_000_010_000));
    let (start_ms, first_request) = (some(count * 300), some(count / 4));
    TraceKeys {
        keep_ops: [KeepOps::All, KeepOps::Reads, KeepOps::Writes][random.below_usize(3)],
        first_stream,
        last_stream: if random.happens(500_000) { 4 } else { 65_535 },
        min_kib: Bytes::from_bytes(min_kib),
        max_kib: Bytes::from_bytes(random.below(2) * (min_kib + random.below(200_000))),
        from_sector,
        to_sector: random.below(2) * (from_sector + 3_000_000_000 + random.below(5_000_000_000)),
        start_ms: Span::from_ns(start_ms),
        end_ms: Span::from_ns(random.below(2) * (start_ms + 1 + random.below(count * 1_000))),
        first_request,
        request_limit: random.below(2) * (1 + random.below(count)),
        ..sorted()
    }
}

#[test]
fn filter_sort_and_clip_are_those_of_a_list() {
    let mut random = SplitMix64::new(11);
    let (mut some, mut none) = (0, 0);
    for _ in 0..300 {
        let rows = random_rows(&mut random, 300);
        let keys = random_keys(&mut random, 300);
        let expected = naive(&rows, &keys);
        let Ok((requests, trace)) = read(&text(&rows), &keys, None) else {
            assert!(expected.is_empty(), "{keys:?}");
            none += 1;
            continue;
        };
        some += 1;
        let first_ns = expected[0].time_ns;
        let expected = expected
            .iter()
            .map(|row| (row.time_ns - first_ns, row.first, row.sectors, row.device, row.read));
        let found = requests.iter().map(|request| {
            let read = request.op == RequestOp::Read;
            let Request { first_sector, sectors, stream, .. } = *request;
            (request.arrival.as_ns(), first_sector, sectors, stream, read)
        });
        assert!(found.eq(expected), "{keys:?}");
        let stats = trace.stats();
        assert_eq!(requests.len() as u64, stats.requests - stats.clipped, "{keys:?}");
        let ends_early = !keys.end_ms.is_zero() || keys.request_limit > 0;
        assert!(ends_early || stats.requests + stats.filtered == 300, "{keys:?}");
    }
    assert!(some > 100 && none > 3, "{some} and {none}");
}

#[test]
fn a_clipped_trace_is_scaled_by_its_own_span() {
    let mut random = SplitMix64::new(12);
    for order in [TimeOrder::Sort, TimeOrder::JoinEpochs] {
        let rows = random_rows(&mut random, 200);
        let clip = TraceKeys { start_ms: Span::from_us(50), request_limit: 60, ..sorted() };
        let expected = naive(&rows, &clip);
        let keys = TraceKeys { time_order: order, duration_ms: Span::from_ms(7), ..clip };
        let (requests, _) = read(&text(&rows), &keys, None).unwrap();
        let (first, last) = (expected[0].time_ns, expected[59].time_ns);
        let scaled = expected.iter().map(|row| (row.time_ns - first) * 7_000_000 / (last - first));
        assert!(requests.iter().map(|request| request.arrival.as_ns()).eq(scaled));
    }
}

#[test]
fn nothing_behind_the_end_of_a_clip_is_read() {
    let rows = "10 0 0 8 1\n20 0 8 8 1\n30 0 16 8 1\nno row\n";
    let limit = TraceKeys { request_limit: 2, ..TraceKeys::default() };
    assert_eq!(read(rows, &limit, None).unwrap().0.len(), 2);
    let end = TraceKeys { end_ms: Span::from_ns(20), ..TraceKeys::default() };
    assert_eq!(read(rows, &end, None).unwrap().0.len(), 2);
    assert!(read(rows, &TraceKeys::default(), None).is_err());
}

#[test]
fn a_trace_of_which_nothing_is_left_is_refused() {
    let rows = "10 0 0 8 1\n20 0 8 8 0\n";
    let refused = |keys: TraceKeys| read(rows, &keys, None).unwrap_err();
    let plain = TraceKeys::default();
    assert_eq!(
        refused(TraceKeys { keep_ops: KeepOps::Trims, ..plain }),
        "t.txt: no request is left of it: 2 requests were filtered out: 2 by trace.keep_ops; \
         filter less"
    );
    assert_eq!(
        refused(TraceKeys {
            start_ms: Span::from_ns(5),
            end_ms: Span::from_ns(10),
            first_request: 1,
            ..plain
        }),
        "t.txt: no request is left of it: 1 come before trace.start_ms, 0 were passed over by \
         trace.first_request, and the next one comes after trace.end_ms; clip less, or not at all"
    );
    assert_eq!(
        refused(TraceKeys { first_stream: 4, last_stream: 3, ..plain }),
        "trace.first_stream: nothing lies between it and trace.last_stream; set it below \
         trace.last_stream"
    );
    for keys in [
        TraceKeys { min_kib: Bytes::from_bytes(2), max_kib: Bytes::from_bytes(1), ..plain },
        TraceKeys { from_sector: 2, to_sector: 2, ..plain },
        TraceKeys { start_ms: Span::from_ns(2), end_ms: Span::from_ns(2), ..plain },
    ] {
        assert!(refused(keys).contains(": nothing lies between it and trace."));
    }
}

/// Renumbering, sector by sector over a list: chunks have the numbers of their first use.
fn naive_places(rows: &[Written], chunk: u64) -> (Vec<Vec<u64>>, usize) {
    let mut numbers: BTreeMap<u64, u64> = BTreeMap::new();
    let places = rows.iter().map(|row| {
        let sectors = row.first..row.first + u64::from(row.sectors);
        let place = |sector: u64| {
            let next = numbers.len() as u64;
            *numbers.entry(sector / chunk).or_insert(next) * chunk + sector % chunk
        };
        sectors.map(place).collect()
    });
    let places = places.collect();
    (places, numbers.len())
}

#[test]
fn renumbered_sectors_are_those_of_a_list() {
    let mut random = SplitMix64::new(13);
    for chunk_kib in [4, 128, 1_024] {
        let rows = random_rows(&mut random, 400);
        let keys = TraceKeys { fold: Fold::Renumber, chunk_kib, ..sorted() };
        let (expected, chunks) = naive_places(&naive(&rows, &keys), 2 * chunk_kib);
        // It does just fit, and without a capacity nothing is different.
        let capacity = chunks as u64 * 2 * chunk_kib;
        let (requests, trace) = read(&text(&rows), &keys, Some(capacity)).unwrap();
        assert_eq!(read(&text(&rows), &keys, None).unwrap().0, requests);
        let mut parts = requests.iter().peekable();
        for (row, expected) in naive(&rows, &keys).iter().zip(&expected) {
            let mut found = Vec::new();
            let time = parts.peek().unwrap().arrival;
            while found.len() < expected.len() {
                let part = parts.next().unwrap();
                assert_eq!((part.arrival, part.stream), (time, row.device));
                assert_ne!(found.last().map(|last| last + 1), Some(part.first_sector));
                found.extend(part.first_sector..part.end_sector().unwrap());
            }
            assert_eq!(&found, expected);
        }
        assert_eq!(parts.next(), None);
        assert!(expected.iter().flatten().all(|&sector| sector < capacity));
        assert_eq!(trace.addresses.footprint(), Some((chunks as u64, chunk_kib)));
        assert_eq!(trace.stats().added, requests.len() as u64 - 400);
        assert_eq!(trace.stats().folded, 0);
        assert!(chunk_kib > 4 || trace.stats().added > 0, "some are split");
    }
}

#[test]
fn a_footprint_that_does_not_fit_is_told_in_full() {
    let rows = "0 0 0 8 1\n1 0 5000 8 1\n2 0 250 8 1\n3 0 7000 600 1\n";
    let keys = TraceKeys { fold: Fold::Renumber, ..TraceKeys::default() };
    assert_eq!(
        read(rows, &keys, Some(600)).unwrap_err(),
        "t.txt:3: the device has no room for the chunk of this request: the trace touches 6 chunks \
         of 128 KiB, 0.75 MiB; give the device more capacity, lower trace.chunk_kib, or set \
         trace.renumber_wrap = true"
    );
    let (requests, trace) = read(rows, &keys, Some(6 * 256)).unwrap();
    // 250 to 257 is cut between the chunks 0 and 1, of the numbers 0 and 2; 27 to 29 are adjacent.
    assert_eq!((requests.len(), trace.stats().added), (5, 1));
    assert_eq!(
        read(rows, &keys, Some(255)).unwrap_err(),
        "trace.chunk_kib: a chunk is larger than the device, 256 sectors of 255; lower it"
    );
}

/// The chunks 0, 19, 1, 27 and 28 have the numbers 0 to 4; the device has room for two of them.
#[test]
fn wrapped_chunks_share_the_device() {
    let rows = "0 0 0 8 1\n1 0 5000 8 1\n2 0 252 8 1\n3 0 7000 400 1\n";
    let keys = TraceKeys { fold: Fold::Renumber, renumber_wrap: true, ..TraceKeys::default() };
    let (requests, trace) = read(rows, &keys, Some(600)).unwrap();
    let found: Vec<_> = requests.iter().map(|part| (part.first_sector, part.sectors)).collect();
    // 252 to 259: 4 sectors of chunk 0, 4 of chunk 1, number 2, at 0. 7000 is 88 in chunk 27.
    let expected = [(0, 8), (256 + 136, 8), (252, 4), (0, 4), (256 + 88, 168), (0, 232)];
    assert_eq!(found, expected);
    assert_eq!(trace.stats().folded, 2);
    assert_eq!(
        trace.notes(),
        [
            "5 chunks of 128 KiB were numbered in the order of first use, 0.625 MiB in all; 2 \
             requests were moved",
            "2 requests over chunks that are not adjacent were split into 4",
            "2 requests share chunks of the device: it has room for 2 of them",
        ]
    );
}

#[test]
fn mirrored_and_widened_requests_stay_on_the_device() {
    let mut random = SplitMix64::new(14);
    let rows = random_rows(&mut random, 500);
    for fold in [Fold::Modulo, Fold::Mirror] {
        let keys = TraceKeys { fold, align_kib: 8, ..sorted() };
        let (requests, trace) = read(&text(&rows), &keys, Some(100_000)).unwrap();
        assert_eq!(requests.len(), 500);
        let mut folded = 0;
        for (row, request) in naive(&rows, &keys).iter().zip(&requests) {
            let first = row.first / 16 * 16;
            let end = (row.first + u64::from(row.sectors)).div_ceil(16) * 16;
            assert_eq!(u64::from(request.sectors), end - first);
            assert!(request.end_sector().unwrap() <= 100_000);
            assert!(end > 100_000 || request.first_sector == first);
            folded += u64::from(end > 100_000);
        }
        assert_eq!(trace.stats().folded, folded);
    }
}

/// Every transform on seven rows, computed by hand.
#[test]
fn the_notes_of_a_worked_example_are_exact() {
    // Filtered out: the write, 1 KiB and sector 9000. Left in order of time: 1 ms (cut off),
    // 1.5 ms, 2 ms (a step back of 0.5 ms), 4 ms (cut off).
    let rows = "1000000 0 0 8 1\n1200000 0 64 8 0\n2000000 0 4090 32 1\n1500000 0 2000 8 1\n\
                2100000 0 64 2 1\n2200000 0 9000 8 1\n4000000 0 100 8 1\n";
    let keys = TraceKeys {
        keep_ops: KeepOps::Reads,
        min_kib: Bytes::from_bytes(2 * 1_024),
        to_sector: 4_100,
        start_ms: Span::from_us(300),
        end_ms: Span::from_ms(2),
        align_kib: 16,
        fold: Fold::Mirror,
        time_scale: Micro::from_millionths(1_500_000),
        time_quantum_us: Span::from_us(400),
        ..sorted()
    };
    let (requests, trace) = read(rows, &keys, Some(3_200)).unwrap();
    let found: Vec<_> = requests
        .iter()
        .map(|request| (request.arrival.as_ns(), request.first_sector, request.sectors))
        .collect();
    // 4090 to 4121 becomes 4064 to 4127, of which the mirror image is 2272 to 2335.
    assert_eq!(found, [(0, 1_984, 32), (400_000, 2_272, 64)]);
    assert_eq!(
        trace.notes(),
        [
            "3 requests were filtered out: 1 by trace.keep_ops, 1 by trace.min_kib, 1 by their \
             address; 1 that was kept ends behind trace.to_sector",
            "1 row is earlier than the row before it, by at most 500 us: sorted",
            "2 requests were taken of the trace: without 1 before trace.start_ms, what is behind \
             trace.end_ms, where 1 had been read",
            "2 requests were widened to multiples of 16 KiB, by 56 sectors in all",
            "1 request was mirrored at the end of the device, sector 3200",
            "times were multiplied by 1.5: 500 us became 400 us",
            "times were rounded down to multiples of 400 us, by at most 350 us",
            "the first request, recorded at 1.5 ms, arrives at 0",
        ]
    );
}

#[test]
fn joined_and_stretched_times_are_told() {
    const HOUR_NS: u64 = 3_600_000_000_000;
    let times = [1_000_000, 2_000_000, 5 * HOUR_NS, 5 * HOUR_NS + 500_000, 2 * HOUR_NS];
    let rows = times.map(|time| format!("{time} 0 8 8 1\n")).concat();
    let keys = TraceKeys {
        time_order: TimeOrder::JoinEpochs,
        duration_ms: Span::from_ms(7),
        ..TraceKeys::default()
    };
    let (requests, trace) = read(&rows, &keys, None).unwrap();
    // 1, 2, 3, 3.5 and 4.5 ms on the joined clock.
    assert_eq!(requests.last().unwrap().arrival.as_ns(), 7_000_000);
    assert_eq!(
        trace.notes(),
        [
            "3 runs of the clock were joined, 1 ms apart: run 2 moved back by 17999.997 s, run 3 \
             moved back by 7199.995 s",
            "1 row is earlier than the row before it, by at most 10800 s: sorted",
            "times were scaled from 3.5 ms to 7 ms, a factor of 2",
            "the first request, recorded at 1 ms, arrives at 0",
        ]
    );
    let plain = "0 0 8 8 1\n5 0 8 8 0\n";
    assert_eq!(read(plain, &TraceKeys::default(), Some(64)).unwrap().1.notes(), [""; 0]);
}

#[test]
fn the_streams_of_a_trace_are_found_and_kept() {
    let mut random = SplitMix64::new(15);
    let rows = random_rows(&mut random, 500);
    let keys = TraceKeys { fold: Fold::Renumber, request_limit: 400, ..sorted() };
    let input = || Input::memory("t.txt", text(&rows).into_bytes());
    let options = TraceOptions::default();
    let streams = find_streams(input(), &keys, &options).unwrap();
    let (whole, whole_trace) = read(&text(&rows), &keys, None).unwrap();
    let mut merged = Vec::new();
    for (number, stream) in (0..).zip(&streams) {
        assert_eq!((stream.number, &stream.name), (number, &number.to_string()));
        let mut trace = open(&text(&rows), &keys, None).unwrap();
        trace.keep_stream(stream.number);
        let mut own = Vec::new();
        while let Some(request) = trace.next_request().unwrap() {
            assert_eq!(request.stream, stream.number);
            own.push(request);
        }
        assert_eq!(own.len() as u64, stream.requests);
        assert!(own.iter().eq(whole.iter().filter(|request| request.stream == stream.number)));
        assert_eq!(trace.notes(), whole_trace.notes());
        merged.extend(own);
    }
    assert_eq!((streams.len(), merged.len()), (6, whole.len()));
}

#[test]
fn moved_requests_are_counted_in_their_own_stream() {
    let rows = "0 0 0 8 1\n1 1 500 8 1\n2 1 600 8 1\n3 0 700 8 1\n";
    let keys = TraceKeys { fold: Fold::Modulo, ..TraceKeys::default() };
    for (stream, folded) in [(0, 1), (1, 2)] {
        let mut trace = open(rows, &keys, Some(100)).unwrap();
        trace.keep_stream(stream);
        while trace.next_request().unwrap().is_some() {}
        assert_eq!(trace.stats().folded, folded);
    }
}

#[test]
fn a_trace_of_too_many_streams_or_read_once_is_not_split() {
    let find = |rows: &str, keys: &TraceKeys| {
        let input = Input::memory("t.csv", rows.as_bytes());
        find_streams(input, keys, &TraceOptions::default()).map_err(|error| error.to_string())
    };
    let plain = TraceKeys::default();
    let many = (0..300).map(|unit| format!("{unit},8,512,R,1\n")).collect::<Vec<_>>().concat();
    assert_eq!(
        find(&many, &plain).unwrap_err(),
        "t.csv: trace.split makes more than 256 streams, 300; choose another column, or keep fewer \
         of them with trace.first_stream and trace.last_stream"
    );
    let fewer = TraceKeys { first_stream: 40, last_stream: 295, ..plain };
    assert_eq!(find(&many, &fewer).unwrap().len(), 256);
    let once = Input::reader("standard input", Box::new(std::io::empty()));
    assert_eq!(
        find_streams(once, &plain, &TraceOptions::default()).unwrap_err().to_string(),
        "standard input: trace.split reads the trace once for each stream, and this input can be \
         read only once; save it to a file first"
    );
}
