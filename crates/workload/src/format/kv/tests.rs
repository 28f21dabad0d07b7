//! Rows worked out by hand, and whole traces against a naive table of objects.

use std::collections::BTreeMap;

use RequestOp::{Read, Trim, Write};
use flashyard_core::request::RequestOp;

use super::*;
use crate::RequestSource;
use crate::format::ObjectOptions;
use crate::input::Input;
use crate::random::SplitMix64;
use crate::trace::{BadRows, ObjectFull, Trace, TraceKeys, TraceOptions};

const HEADER: &str = "time,op,key,bytes";

/// A request: time in nanoseconds, operation, first sector, sectors.
type Asked = (u64, RequestOp, u64, u32);

fn options(capacity_sectors: u64, evicts: bool) -> ReaderOptions<'static> {
    let capacity_sectors = Some(capacity_sectors);
    let objects = ObjectOptions { capacity_sectors, align_sectors: 8, evicts };
    ReaderOptions { objects, ..ReaderOptions::default() }
}

/// The requests of a line.
fn asked(reader: &mut dyn Format, line: &str) -> Result<Vec<Asked>, RowError> {
    let mut records = match reader.parse(line.as_bytes())? {
        Parsed::Request(record) => vec![record],
        Parsed::Header | Parsed::Other => return Ok(Vec::new()),
    };
    records.extend(std::iter::from_fn(|| reader.next_of_line()));
    Ok(records.iter().map(|r| (r.time_ns, r.op, r.first_sector, r.sectors)).collect())
}

#[track_caller]
fn check(reader: &mut dyn Format, line: &str, expected: &[Asked]) {
    assert_eq!(asked(reader, line).as_deref(), Ok(expected), "{line}");
}

#[track_caller]
fn refused(reader: &mut dyn Format, line: &str, what: &str) {
    let error = asked(reader, line).unwrap_err();
    assert!(error.what.starts_with(what), "{error:?}");
    assert!(!error.fix.is_empty());
}

#[test]
fn objects_are_placed_first_fit_on_whole_pages() {
    // 80 sectors: 10 pages of 4 KiB.
    let mut reader = reader(&options(80, false));
    let reader = &mut *reader;
    check(reader, HEADER, &[]);
    // 9,000 bytes are 18 sectors in pages 0 to 2; the next object starts at page 3.
    check(reader, "0.5,put,a,9000", &[(500_000_000, Write, 0, 18)]);
    check(reader, "1,put,b,4096", &[(1_000_000_000, Write, 24, 8)]);
    check(reader, "2,put,c,16384", &[(2_000_000_000, Write, 32, 32)]);
    check(reader, "3,get,a,9000", &[(3_000_000_000, Read, 0, 18)]);
    check(reader, "3,get,c,", &[(3_000_000_000, Read, 32, 32)]);
    // In place where the size is the same.
    check(reader, "4,put,b,4096", &[(4_000_000_000, Write, 24, 8)]);
    // A delete trims whole pages.
    check(reader, "5,delete,a,", &[(5_000_000_000, Trim, 0, 24)]);
    // Free: pages 0 to 2, 8 and 9. Page 3 joins the first three when b goes.
    check(reader, "6,put,b,16384", &[(6_000_000_000, Trim, 24, 8), (6_000_000_000, Write, 0, 32)]);
    // Two pages, then five, of which two are at hand: the rest has no room.
    check(reader, "7,put,d,4096", &[(7_000_000_000, Write, 64, 8)]);
    refused(
        reader,
        "8,put,e,4097",
        "the device is full, object \"e\" needs 4097 bytes and 4096 are free",
    );
    check(reader, "8,get,b,", &[(8_000_000_000, Read, 0, 32)]);
}

#[test]
fn an_object_that_fits_no_hole_is_spread_over_several() {
    let mut reader = reader(&options(40, false));
    let reader = &mut *reader;
    check(reader, HEADER, &[]);
    for (at, key) in ["a", "b", "c", "d", "e"].iter().enumerate() {
        let write = (0, Write, 8 * at as u64, 8);
        check(reader, &format!("0,put,{key},4096"), &[write]);
    }
    check(reader, "0,delete,b,", &[(0, Trim, 8, 8)]);
    check(reader, "0,delete,d,", &[(0, Trim, 24, 8)]);
    // 4,608 bytes: a page, and a sector of the next.
    check(reader, "0,put,f,4608", &[(0, Write, 8, 8), (0, Write, 24, 1)]);
    check(reader, "0,get,f,4608", &[(0, Read, 8, 8), (0, Read, 24, 1)]);
    check(reader, "0,delete,f,4608", &[(0, Trim, 8, 8), (0, Trim, 24, 8)]);
}

#[test]
fn the_oldest_objects_make_room_where_they_may() {
    let mut reader = reader(&options(32, true));
    let reader = &mut *reader;
    check(reader, HEADER, &[]);
    for (at, key) in ["a", "b", "c", "d"].iter().enumerate() {
        check(reader, &format!("0,put,{key},4096"), &[(0, Write, 8 * at as u64, 8)]);
    }
    // Its put makes a the youngest; its get does not.
    check(reader, "1,put,a,4096", &[(1_000_000_000, Write, 0, 8)]);
    check(reader, "1,get,b,", &[(1_000_000_000, Read, 8, 8)]);
    let trims = [(2_000_000_000, Trim, 8, 8), (2_000_000_000, Trim, 16, 8)];
    check(reader, "2,put,e,8192", &[&trims[..], &[(2_000_000_000, Write, 8, 16)]].concat());
    // b was evicted: a miss.
    check(reader, "3,get,b,4096", &[]);
    check(reader, "3,delete,c,", &[]);
    refused(
        reader,
        "4,put,f,16385",
        "object \"f\" of 16385 bytes is larger than the device, 16384",
    );
    check(reader, "5,get,d,", &[(5_000_000_000, Read, 24, 8)]);
    let all = [(6_000_000_000, Trim, 24, 8), (6_000_000_000, Trim, 0, 8)];
    // d is older than a, and a than e, whose own room goes first.
    let own = [(6_000_000_000, Trim, 8, 16)];
    let write = [(6_000_000_000, Write, 0, 32)];
    check(reader, "6,put,e,16384", &[&own[..], &all, &write].concat());
}

#[test]
fn columns_are_found_by_name_and_times_have_the_unit_of_theirs() {
    for (header, row, time_ns) in [
        ("time,op,key,bytes", "1.5,put,a,512", 1_500_000_000),
        ("Timestamp_ms,Operation,Object_ID,Size", "1.5,STORE,a,512", 1_500_000),
        ("other,size_bytes,block_hash,action,ts_us", "x,512,a,save,7", 7_000),
        ("arrival_ns , id , event , nbytes , more", " 9 , a , offload , 512 , ", 9),
        ("time_s,command,chunk_id,length,", "2,set,a,512,", 2_000_000_000),
    ] {
        let mut reader = reader(&options(80, false));
        check(&mut *reader, header, &[]);
        check(&mut *reader, row, &[(time_ns, Write, 0, 1)]);
        assert!(recognises(header.as_bytes()));
    }
    for header in ["time,op,key", "time,op,key,bytes,size", "time_min,op,key,bytes"] {
        assert!(Header::of(header.as_bytes()).is_err(), "{header}");
    }
}

#[test]
fn lines_of_json_are_read_like_rows() {
    let mut reader = reader(&options(80, false));
    let reader = &mut *reader;
    let put = r#"{"time_ms": 2, "op": "put", "key": "a b", "bytes": 513, "tokens": [1, 2]}"#;
    check(reader, put, &[(2_000_000, Write, 0, 2)]);
    let number = r#"{"op":"store","id":17,"size":512,"time_ms":3,"tier":"nvme","phase":"decode"}"#;
    check(reader, number, &[(3_000_000, Write, 8, 1)]);
    let get = r#"{"op":"load","id":17,"time_ms":4,"size":null}"#;
    check(reader, get, &[(4_000_000, Read, 8, 1)]);
    let sample = [put.as_bytes(), number.as_bytes(), get.as_bytes()];
    assert_eq!(FormatInfo::detect(&sample).unwrap().name, "kv");
    refused(reader, r#"{"op":"get","time":1}"#, "there is no key");
    refused(reader, r#"{"op":"get","key":"a b","time":1"#, "no } where one belongs");
    refused(reader, r#"{"op":"get","op":"put"}"#, "two members mean the same, the second is op");
}

#[test]
fn tiers_of_memory_are_passed_over_and_phases_are_streams() {
    let mut reader = reader(&options(80, false));
    let reader = &mut *reader;
    check(reader, "time,op,key,bytes,tier,phase", &[]);
    check(reader, "0,put,a,4096,GPU,prefill", &[]);
    check(reader, "1,put,a,4096,ssd,prefill", &[(1_000_000_000, Write, 0, 8)]);
    check(reader, "2,get,a,4096,dram,decode", &[]);
    check(reader, "3,get,a,4096,NVMe,decode", &[(3_000_000_000, Read, 0, 8)]);
    assert_eq!(reader.stream_names(), ["prefill", "decode"]);
    refused(reader, "4,get,a,4096,tape,decode", "the tier is not known, \"tape\"");
}

#[test]
fn a_column_of_streams_that_is_named_has_to_be_there() {
    for split in ["phase", "tier"] {
        let options = ReaderOptions { split: Some(split), ..options(80, false) };
        let what = format!("there is no column {split} to make streams of");
        refused(&mut *reader(&options), HEADER, &what);
        refused(&mut *reader(&options), r#"{"op":"put","key":1,"time":1,"bytes":1}"#, &what);
        let mut reader = reader(&options);
        check(&mut *reader, "time,op,key,bytes,tier,phase", &[]);
        check(&mut *reader, "1,put,a,4096,ssd,prefill", &[(1_000_000_000, Write, 0, 8)]);
        let name = if split == "tier" { "ssd" } else { "prefill" };
        assert_eq!(reader.stream_names(), [name]);
    }
}

#[test]
fn wrong_rows_are_refused() {
    let mut reader = reader(&options(80, false));
    let reader = &mut *reader;
    refused(reader, "0,put,a,4096", "the first line is no header, no column is the time, \"0,put");
    let twice = "time,op,key,id,bytes";
    refused(reader, twice, "the first line is no header, a column before \"id\" means the same");
    // The header is needed: nobody is told to skip it.
    assert!(reader.needs_header());
    check(reader, HEADER, &[]);
    check(reader, "0,put,a,4096", &[(0, Write, 0, 8)]);
    refused(reader, "0,put,a", "3 columns instead of 4");
    refused(reader, "0,copy,a,4096", "unknown operation, \"copy\"");
    refused(reader, "x,put,a,4096", "time is not a number, \"x\"");
    refused(reader, "-1,put,a,4096", "time is negative, \"-1\"");
    refused(reader, "0,put,a,", "there is no bytes");
    refused(reader, "0,put,a,0", "bytes is 0");
    refused(reader, "0,put,a,4.5", "bytes is not a number, \"4.5\"");
    refused(reader, "0,get,b,", "there is no object \"b\"");
    refused(reader, "0,delete,b,", "there is no object \"b\"");
    refused(reader, "0,get,a,4095", "object \"a\" has 4096 bytes, not 4095");
    refused(
        reader,
        "0,put,b,18446744073709551615",
        "the device is full, object \"b\" needs 184467",
    );
}

#[test]
fn times_may_have_exponents_and_lines_of_json_are_no_headers() {
    let lines = "{\"time\":1e-05,\"op\":\"put\",\"key\":\"a\",\"bytes\":4096}\n\
                 {\"time_ms\":2.5E3,\"op\":\"get\",\"key\":\"a\"}\n";
    let open = |text: &str| {
        let keys = TraceKeys { rebase: false, ..TraceKeys::default() };
        Trace::open(Input::memory("t", text.as_bytes()), &keys, &TraceOptions::default()).unwrap()
    };
    let mut trace = open(lines);
    let times = std::iter::from_fn(|| trace.next_request().unwrap()).map(|r| r.arrival.as_ns());
    assert_eq!(times.collect::<Vec<_>>(), [10_000, 2_500_000_000]);
    let wrong = lines.replace("1e-05", "e-05");
    assert_eq!(
        open(&wrong).next_request().unwrap_err().to_string(),
        format!("t:1: time is not a number, \"e-05\"; {TIME_FIX}")
    );
}

#[test]
fn rows_without_a_key_are_refused() {
    let mut reader = reader(&options(80, false));
    let reader = &mut *reader;
    check(reader, HEADER, &[]);
    for row in ["0,put,,4096", "0,get, ,", "0,delete,,"] {
        refused(reader, row, "key is empty or null");
    }
    refused(reader, r#"{"time":0,"op":"put","key":null,"bytes":4096}"#, "key is empty or null");
    refused(reader, r#"{"time":0,"op":"put","key":"","bytes":4096}"#, "key is empty or null");
    let named = r#"{"time":0,"op":"put","key":"null","bytes":4096}"#;
    check(reader, named, &[(0, Write, 0, 8)]);
    check(reader, "1,get,null,", &[(1_000_000_000, Read, 0, 8)]);
}

#[test]
fn messages_name_the_line_and_rows_may_be_left_out() {
    let text = format!("{HEADER}\n0,put,a,4096\n1,put,b,4096\n2,get,b,\n3,get,a,\n");
    let trace = |keys: TraceKeys| {
        let options = TraceOptions { capacity_sectors: Some(8), ..TraceOptions::default() };
        Trace::open(Input::memory("t", text.as_bytes()), &keys, &options).unwrap()
    };
    let all = |keys| {
        let mut trace = trace(keys);
        let ops: Vec<_> = std::iter::from_fn(|| trace.next_request().unwrap()).collect();
        (ops.iter().map(|r| (r.op, r.first_sector)).collect::<Vec<_>>(), trace.stats())
    };
    let mut strict = trace(TraceKeys::default());
    strict.next_request().unwrap();
    assert_eq!(
        strict.next_request().unwrap_err().to_string(),
        "t:3: the device is full, object \"b\" needs 4096 bytes and 0 are free; give the device more \
         capacity, or set trace.object_full = \"evict_oldest\""
    );
    let (ops, stats) = all(TraceKeys { bad_rows: BadRows::Skip, ..TraceKeys::default() });
    assert_eq!((ops, stats.bad_rows), (vec![(Write, 0), (Read, 0)], 2));
    let (ops, stats) =
        all(TraceKeys { object_full: ObjectFull::EvictOldest, ..Default::default() });
    assert_eq!(ops, [(Write, 0), (Trim, 0), (Write, 0), (Read, 0)]);
    // The header and the miss, which is the get of b.
    assert_eq!((stats.requests, stats.other_rows), (4, 2));
}

#[test]
fn misses_evictions_and_rows_of_memory_are_counted_apart() {
    let text = format!(
        "{HEADER},tier\n0,put,a,4096,ssd\n1,put,b,4096,ssd\n2,put,c,5000,ssd\n3,get,a,,ssd\n\
         3,get,x,,ssd\n4,delete,a,,ssd\n5,get,c,,gpu\n6,get,c,,ssd\n"
    );
    let open = |text: &str, object_full| {
        let keys = TraceKeys { object_full, ..TraceKeys::default() };
        let options = TraceOptions { capacity_sectors: Some(16), ..TraceOptions::default() };
        let mut trace = Trace::open(Input::memory("t", text.as_bytes()), &keys, &options).unwrap();
        while trace.next_request().unwrap().is_some() {}
        trace
    };
    let trace = open(&text, ObjectFull::EvictOldest);
    assert_eq!(
        trace.notes(),
        [
            "1 line is a header",
            "1 row is of a tier of memory",
            "2 gets missed: their objects were never put or no longer there",
            "1 delete missed: the object was never put or no longer there",
            "2 objects, 8192 bytes in all, were evicted to make room",
        ]
    );
    assert_eq!(trace.stats().other_rows, 5);
    let plain = open(&text[..text.find("1,put").unwrap()], ObjectFull::Error);
    assert_eq!(plain.notes(), ["1 line is a header"]);
}

#[test]
fn requests_end_below_2_to_the_32_sectors() {
    let mut reader = reader(&ReaderOptions::default());
    check(&mut *reader, HEADER, &[]);
    // 2^41 bytes are 2^32 sectors; the most pages of 8 sectors in a request are 2^29 - 1.
    let write = [(0, Write, 0, u32::MAX - 7), (0, Write, (1 << 32) - 8, 8)];
    check(&mut *reader, "0,put,a,2199023255552", &write);
}

/// A naive store: what is where, sector by sector.
#[derive(Default)]
struct Naive {
    sizes: BTreeMap<u64, u64>,
    owners: BTreeMap<u64, u64>,
}

impl Naive {
    /// Takes what a row became, and checks that it reaches its object and nothing else.
    fn check(&mut self, op: &str, key: u64, bytes: u64, requests: &[Asked]) {
        let sectors = |op: RequestOp| {
            let of_op = requests.iter().filter(move |request| request.1 == op);
            of_op.flat_map(|&(_, _, first, count)| first..first + u64::from(count))
        };
        let trimmed: Vec<u64> = sectors(Trim).collect();
        for sector in &trimmed {
            let owner = self.owners.remove(sector);
            assert!(owner.is_none_or(|owner| owner == key), "{op} {key} trims of {owner:?}");
        }
        let (moved, wanted) = match op {
            "put" => (sectors(Write).collect::<Vec<u64>>(), bytes.div_ceil(512)),
            "get" => (sectors(Read).collect(), self.sizes[&key].div_ceil(512)),
            _ => (Vec::new(), 0),
        };
        assert_eq!(moved.len() as u64, wanted, "every byte once");
        for sector in moved {
            let owner = self.owners.insert(sector, key);
            let allowed = if op == "get" { Some(key) } else { owner.filter(|owner| *owner == key) };
            assert_eq!(owner, allowed, "{op} {key} reaches sector {sector}");
        }
        match op {
            "put" => self.sizes.insert(key, bytes),
            "get" => None,
            _ => self.sizes.remove(&key),
        };
        let held: u64 = self.sizes.values().map(|bytes| bytes.div_ceil(512)).sum();
        assert_eq!(self.owners.len() as u64, held, "bytes are neither lost nor left");
    }
}

#[test]
fn objects_never_overlap_and_no_byte_is_lost() {
    for seed in 0..60 {
        let mut random = SplitMix64::new(seed);
        let capacity = 8 * (1 + random.below(100));
        let mut reader = reader(&options(capacity, false));
        check(&mut *reader, HEADER, &[]);
        let mut naive = Naive::default();
        for _ in 0..300 {
            let key = random.below(12);
            let op = ["put", "put", "get", "delete"][random.below_usize(4)];
            let bytes = 1 + random.below(3) * random.below(20_000);
            let stated = if op == "put" { bytes.to_string() } else { String::new() };
            match asked(&mut *reader, &format!("0,{op},{key},{stated}")) {
                Ok(requests) => {
                    assert!(requests.iter().all(|r| r.2 + u64::from(r.3) <= capacity));
                    naive.check(op, key, bytes, &requests);
                }
                Err(error) if op == "put" => {
                    let pages = |bytes: u64| bytes.div_ceil(4_096);
                    let others = naive.sizes.iter().filter(|(other, _)| **other != key);
                    let used: u64 = others.map(|(_, bytes)| pages(*bytes)).sum();
                    assert!(used + pages(bytes) > capacity / 8, "{error:?}");
                }
                Err(_) => assert!(!naive.sizes.contains_key(&key)),
            }
        }
    }
}
