//! Descriptors, and rows read by them.

use flashyard_core::request::{Flags, Request, RequestOp};

use super::super::tests::{parse, refused};
use super::super::write::TraceWriter;
use super::super::{Parsed, Record, RowError};
use super::*;
use crate::format::Event;
use crate::random::SplitMix64;

fn shipped_format(name: &str) -> &'static FormatInfo {
    FormatInfo::from_name(name).unwrap()
}

#[track_caller]
fn layout(text: &str) -> Layout {
    grammar::inline(text).unwrap()
}

fn options(event: Event, split: Option<&str>) -> ReaderOptions<'_> {
    ReaderOptions { event, split, ..ReaderOptions::default() }
}

/// Reads rows one after the other.
#[track_caller]
fn rows(layout: &Layout, options: &ReaderOptions<'_>, rows: &[&str]) -> Vec<Record> {
    let mut reader = layout.reader(options);
    let mut records = Vec::new();
    for row in rows {
        if let Parsed::Request(record) = reader.parse(row.as_bytes()).unwrap() {
            records.push(record);
        }
    }
    records
}

/// Reads one row for its arrival.
fn row(layout: &Layout, row: &str) -> Result<Record, RowError> {
    let mut reader = layout.reader(&options(layout.events[0], None));
    match reader.parse(row.as_bytes())? {
        Parsed::Request(record) => Ok(record),
        Parsed::Header | Parsed::Other => panic!("the row holds no request: {row}"),
    }
}

fn record(time_ns: u64, range: (u64, u32), stream: u16, op: RequestOp) -> Record {
    let (first_sector, sectors) = range;
    Record { time_ns, first_sector, sectors, stream, op, flags: Flags::NONE, placement: None }
}

#[test]
fn every_shipped_descriptor_is_right_and_has_a_source() {
    for (name, text) in SHIPPED {
        let layout = file::parse(&format!("{name}.toml"), text).unwrap();
        assert_eq!(layout.name, *name);
        assert!(text.contains("\nsource = "), "{name}");
    }
}

/// The document shows every shipped descriptor as one line, which reads rows as the file does.
#[test]
fn shipped_descriptors_are_documented() {
    let document = include_str!("../../../../../docs/TRACES.md");
    for (name, text) in SHIPPED {
        let start = format!("| `{name}` | `");
        let mut lines = document.lines().filter_map(|line| line.strip_prefix(&start));
        let shown = lines.find_map(|line| line.strip_suffix("` |"));
        let shown = grammar::inline(shown.unwrap_or_else(|| panic!("{name} is not documented")));
        let (shown, file) = (shown.unwrap(), file::parse(name, text).unwrap());
        assert_eq!(shown.columns, file.columns, "{name}");
        assert_eq!((&shown.header, shown.base), (&file.header, file.base), "{name}");
        assert_eq!((shown.delimiter, shown.more), (file.delimiter, file.more), "{name}");
    }
}

/// The example of a user's own descriptor, as a file and as one line.
#[test]
fn the_documented_example_is_right() {
    let document = include_str!("../../../../../docs/TRACES.md");
    let text = document.split("# disk.toml\n").nth(1).and_then(|rest| rest.split("```").next());
    let file = file::parse("disk.toml", text.expect("an example")).unwrap();
    let line = document.split("In one line that is `").nth(1).expect("one line").split('`').next();
    let line = layout(&line.unwrap().replace('\n', " "));
    assert_eq!(file.name, "disk");
    for layout in [file, line] {
        let text = ["when,took,...", "100,30,10.0.0.7,sda,WS,x,2056,4,more"];
        let expected = record(70_000, (8, 8), 0, RequestOp::Write);
        assert_eq!(rows(&layout, &ReaderOptions::default(), &text), [expected]);
    }
}

/// Rows in the public layouts, with values worked out by hand. The published files of each, where
/// at hand, were compared with one-liners such as
/// `zcat rsrch_1.csv.gz | awk -F, '{n[$4]++; b[$4] += $6} END {for (k in n) print k, n[k], b[k]}'`
/// (42 reads of 568320 B and 13738 writes of 171211264 B in all).
#[test]
fn rows_of_the_shipped_formats_are_read_exactly() {
    use RequestOp::{Read, Write};
    let check = |name: &str, row: &str, expected: Record| {
        assert_eq!(parse(shipped_format(name), row), Ok(expected), "{name}");
    };
    let time_ns = 12_816_638_529_551_466_300;
    let row = "128166385295514663,hm,7,Write,9056014336,2048,2833";
    check("msr", row, record(time_ns, (17_687_528, 4), 0, Write));
    check("msr", "1,hm,0,read,0,512,1", record(100, (0, 1), 0, Read));
    let row = "0.107 3 11562991616 4096 1";
    check("heimdall", row, record(107_000, (22_583_968, 8), 3, Read));
    check("heimdall", "1017.077 0 512 1024 0", record(1_017_077_000, (1, 2), 0, Write));
    let row = "1456095145.133076000,0.000806000,R,4,899056122368,131072";
    check("systor17", row, record(1_456_095_145_132_270_000, (1_755_968_989, 256), 4, Read));
    let row = "kworker/u17:0-21454,8388608,W,65006504,8,832636.2457430001";
    check("pixel6a", row, record(832_636_245_743_000, (65_006_504, 8), 0, Write));
    let row = "89966527950584 4253 nfsd 508516672 8 W 6 0 88b93b628d84082186026d9da044f173";
    check("fiu", row, record(89_966_527_950_584, (508_516_672, 8), 0, Write));
    check("fiu", "7 0 swapper 8 16 R 6 0 -", record(7, (8, 16), 0, Read));
    let row = "419,W,8792731648,16384,1577808000000046";
    check("alibaba", row, record(1_577_808_000_000_046_000, (17_173_304, 32), 0, Write));
    let row = "1538323200,12910952,128,0,1063";
    check("tencent", row, record(1_538_323_200_000_000_000, (12_910_952, 128), 0, Read));
    check("tencent", "1,8,8,1,1063", record(1_000_000_000, (8, 8), 0, Write));
    check("dtrs", "979 5 287641400 128 1", record(979_000, (287_641_400, 128), 5, Read));
}

#[test]
fn wrong_rows_are_refused() {
    let msr = shipped_format("msr");
    refused(msr, "128166385295514663,hm,0,Wri", "4 columns instead of 7");
    refused(msr, "1,hm,0,Trim,0,512,1", "unknown operation, \"Trim\"");
    refused(msr, "1,hm,0,Read,-512,512,1", "offset is negative, \"-512\"");
    refused(msr, "1,hm,0,Read,0,0,1", "size is 0");
    refused(msr, "1,hm,0,Read,0,18446744073709551615,1", "size is too large");
    refused(msr, "1,hm,0,Read,0,2199023255553,1", "size is too large");
    refused(msr, "184467440737095517,hm,0,Read,0,512,1", "time is too large");
    refused(shipped_format("heimdall"), "0.1 65536 0 512 1", "device is too large, \"65536\"");
    refused(shipped_format("heimdall"), "0.1 x 0 512 1", "device is not a number, \"x\"");
    refused(shipped_format("fiu"), "7 0 swapper 8 16 R 6 0", "8 columns instead of 9");
    refused(shipped_format("tencent"), "1,8,8,2,7", "unknown operation, \"2\"");
    refused(shipped_format("tencent"), "1,8,4294967296,1,7", "size is too large");
    let text = "comma; time:s op:R/W offset:B size:B response?:s x?:-";
    let error = row(&layout(text), "1,R,0").unwrap_err();
    assert_eq!(error.what, "3 columns instead of 4 to 6");
    assert!(row(&layout(text), "1,R,0,1").is_ok());
    let error = row(&layout("pipe; time:s op:R/W offset:B size:B ..."), "1|R|0").unwrap_err();
    assert_eq!(error.what, "3 columns instead of at least 4");
    let error = row(&layout("pipe; time:s op:R/W//F offset:B size:B ..."), "1|X|0|1|").unwrap_err();
    assert_eq!(error.fix, "the operations of this format are R (read), W (write), F (flush)");
}

#[test]
fn the_arrival_of_systor17_is_the_end_less_the_response_time() {
    let systor = file::parse("systor17", SHIPPED.iter().find(|s| s.0 == "systor17").unwrap().1);
    let systor = systor.unwrap();
    let text = "10.5,0.25,R,0,0,512";
    let time = |event| rows(&systor, &options(event, None), &[text])[0].time_ns;
    assert_eq!(time(Event::Queue), 10_250_000_000);
    assert_eq!(time(Event::Complete), 10_500_000_000);
    // Without a response time only the end is known.
    let unknown = "10.5,,R,0,0,512";
    let error = row(&systor, unknown).unwrap_err();
    assert_eq!(error.what, "response is empty, \"\"");
    assert!(error.fix.contains("trace.event") && error.fix.contains("trace.bad_rows"));
    assert_eq!(rows(&systor, &options(Event::Complete, None), &[unknown]).len(), 1);
    assert!(systor.recognises(unknown.as_bytes()));
    let error = row(&systor, "1.0,1.000000001,R,0,0,512").unwrap_err();
    assert_eq!(error.what, "response reaches back before time 0, \"1.000000001\"");
}

#[test]
fn the_end_of_msr_is_the_arrival_and_the_response_time() {
    let msr = file::parse("msr", SHIPPED.iter().find(|s| s.0 == "msr").unwrap().1).unwrap();
    assert_eq!(msr.events, [Event::Queue, Event::Complete]);
    let text = ["1000,hm,0,Read,0,512,23"];
    assert_eq!(rows(&msr, &options(Event::Complete, None), &text)[0].time_ns, 102_300);
    let late = "184467440737095516,hm,0,Read,0,512,1";
    let error = msr.reader(&options(Event::Complete, None)).parse(late.as_bytes()).unwrap_err();
    assert_eq!(error.what, "response is too large, \"1\"");
}

#[test]
fn headers_are_no_requests_wherever_they_stand() {
    let named = layout("comma header=Time,Kind,At,Len; time:s op:R/W offset:B size:B");
    let text = ["Time,Kind,At,Len", "1,R,0,512", " time,kind,at,len", "2,W,0,512"];
    assert_eq!(rows(&named, &ReaderOptions::default(), &text).len(), 2);
    assert!(named.recognises(b"TIME,KIND,AT,LEN"));
    let counted = layout("comma header=2; time:s op:R/W offset:B size:B");
    let text = ["# anything", "a,b", "1,R,0,512"];
    assert_eq!(rows(&counted, &ReaderOptions::default(), &text).len(), 1);
    let one = layout("comma header; time:s op:R/W offset:B size:B");
    let mut reader = one.reader(&ReaderOptions::default());
    assert_eq!(reader.parse(b"time,op,offset,size"), Ok(Parsed::Header));
    assert_eq!(
        reader.parse(b"time,op,offset,size").unwrap_err().what,
        "time is not a number, \"time\""
    );
}

#[test]
fn a_file_and_one_line_say_the_same() {
    let text = "name = \"mine\"\ndelimiter = \"semicolon\"\nheader = 1\nbase = 8\n\
                columns = [\"disk:id\", \"-\", \"time:ms\", \"op:bit0=write\",\n  \
                \"offset:sector\", \"size:KiB\", \"...\"]\n";
    let file = file::parse("d.toml", text).unwrap();
    let line = layout(
        "semicolon header base=8; disk:id - time:ms op:bit0=write offset:sector size:KiB ...",
    );
    assert_eq!((&file.name[..], &line.name[..]), ("mine", "columns"));
    let text = ["no,row", "3;x;1.5;1;108;4", " 4 ; ; 2 ; 2 ;8;1;more;more"];
    let expected = [
        record(1_500_000, (100, 8), 3, RequestOp::Write),
        record(2_000_000, (0, 2), 4, RequestOp::Read),
    ];
    assert_eq!(rows(&file, &ReaderOptions::default(), &text), expected);
    assert_eq!(rows(&line, &ReaderOptions::default(), &text), expected);
    let error =
        row(&layout("comma base=8; time:s op:R/W offset:B size:B"), "1,R,7,512").unwrap_err();
    assert_eq!(error.what, "offset is below the base of 8, 7");
}

#[test]
fn delimiters_of_all_kinds_separate() {
    for (word, row) in [
        ("comma", "1,R, 512 ,512"),
        ("blank", "  1 \t R 512\t\t512 "),
        ("tab", "1\tR\t512 \t512"),
        ("semicolon", "1;R;512;512"),
        ("pipe", "1|R|512|512"),
        (":", "1:R:512:512"),
        ("@", "1@R@512@512"),
    ] {
        let layout = layout(&format!("{word}; time:s op:R/W offset:B size:B"));
        let expected = record(1_000_000_000, (1, 1), 0, RequestOp::Read);
        assert_eq!(self::row(&layout, row), Ok(expected), "{word}");
    }
    // An empty column counts, but not between blanks.
    let error = row(&layout("tab; time:s op:R/W offset:B size:B"), "1\t\tR\t0\t512").unwrap_err();
    assert_eq!(error.what, "5 columns instead of 4");
}

#[test]
fn each_choice_of_a_column_makes_its_streams() {
    let text = ["1 web 1 9 R 0 1", "2 hm 0 8 R 0 1", "3 web 0 9 R 0 1", "4 hm 0 9 R 0 1"];
    let layout = layout("blank; time:s host:stream disk:id pid:number op:R/W offset:B size:B");
    assert_eq!(layout.splits, ["host and disk", "host", "disk", "pid"]);
    let check = |split: Option<&str>, expected: [u16; 4], names: &[&str]| {
        let mut reader = layout.reader(&options(Event::Queue, split));
        for (row, expected) in text.iter().zip(expected) {
            let Ok(Parsed::Request(record)) = reader.parse(row.as_bytes()) else { panic!("{row}") };
            assert_eq!(record.stream, expected, "{split:?} {row}");
        }
        assert_eq!(reader.stream_names(), names, "{split:?}");
    };
    check(None, [0, 1, 2, 1], &["web,1", "hm,0", "web,0"]);
    check(Some("host and disk"), [0, 1, 2, 1], &["web,1", "hm,0", "web,0"]);
    check(Some("host"), [0, 1, 0, 1], &["web", "hm"]);
    check(Some("disk"), [1, 0, 0, 0], &[]);
    check(Some("pid"), [0, 1, 0, 0], &["9", "8"]);
}

#[test]
fn streams_end_at_65536() {
    let layout = layout("blank; time:s host:stream op:R/W offset:B size:B");
    let mut reader = layout.reader(&ReaderOptions::default());
    for host in 0..=65_535 {
        reader.parse(format!("1 {host} R 0 1").as_bytes()).unwrap();
    }
    reader.parse(b"1 0 R 0 1").unwrap();
    let error = reader.parse(b"1 65536 R 0 1").unwrap_err();
    assert_eq!(error.what, "more than 65536 values of host make streams, \"65536\"");
}

#[test]
fn placement_identifiers_are_read_and_written_back() {
    let layout = layout("comma; time:ns op:R/W offset:sector size:sector pid?:placement");
    let placed = |text: &str| row(&layout, text).map(|record| record.placement);
    assert_eq!(placed("5,W,8,8,3"), Ok(Some(3)));
    assert_eq!((placed("5,W,8,8,"), placed("5,W,8,8")), (Ok(None), Ok(None)));
    assert!(placed("5,W,8,8,65536").unwrap_err().what.contains("pid"));
    let needed = self::layout("comma; time:ns op:R/W offset:sector size:sector pid:placement");
    assert!(row(&needed, "5,W,8,8,").is_err());
    let mut writer = TraceWriter::described(
        "copy",
        "comma; time:ns op:R/W offset:sector size:sector pid:placement",
        false,
    )
    .unwrap()
    .unwrap();
    let request = Request::new(RequestOp::Write, 8, 8).of_stream(2);
    let mut text = Vec::new();
    for request in [request.placed(Some(3)), request] {
        writer.push(&request, &mut text).unwrap();
    }
    assert_eq!(String::from_utf8(text).unwrap(), "0,W,8,8,3\n0,W,8,8,2\n");
    assert_eq!(writer.losses().placements, 0);
    let mut without =
        TraceWriter::described("copy", "comma; time:ns op:R/W offset:sector size:sector", false)
            .unwrap()
            .unwrap();
    without.push(&request.placed(Some(3)), &mut Vec::new()).unwrap();
    assert_eq!(without.losses().placements, 1);
    assert!(without.notes().iter().any(|note| note.contains("placement identifiers of 1 request")));
}

#[test]
fn flushes_may_have_no_range_and_flags_are_kept() {
    let layout = layout("comma; time:ns op:rwbs offset:sector size:sector");
    let flush = |range| Ok(record(1, range, 0, RequestOp::Flush));
    assert_eq!(row(&layout, "1,FF,,"), flush((0, 0)));
    assert_eq!(row(&layout, "1,F,9,0"), flush((9, 0)));
    assert_eq!(row(&layout, "1,F,9,8"), flush((9, 8)));
    assert_eq!(row(&layout, "1,FWS,9,0"), flush((9, 0)), "a write of nothing behind a flush");
    assert_eq!(row(&layout, "1,FWS,9,1").unwrap().flags, Flags::PREFLUSH);
    assert_eq!(row(&layout, "1,WFS,9,0").unwrap_err().what, "size is 0");
    assert_eq!(row(&layout, "1,WFS,9,1").unwrap().flags, Flags::FUA);
    assert_eq!(row(&layout, "1,D,9,1").unwrap().op, RequestOp::Trim);
    assert_eq!(row(&layout, "1,D,9,0").unwrap_err().what, "size is 0");
}

#[test]
fn formats_that_look_alike_are_told_apart() {
    let found = |rows: &[&[u8]]| FormatInfo::detect(rows).map(|info| info.name);
    // Milliseconds with a point and whole sectors in bytes, or nanoseconds and sectors.
    assert_eq!(found(&[b"0.000 0 11562803200 4096 1"]), Some("heimdall"));
    assert_eq!(found(&[b"26214000 0 303574 7 0"]), Some("ssdsim"));
    assert_eq!(found(&[b"26214000 0 1024 512 0"]), Some("ssdsim"));
    // DiskSim: sectors, seldom multiples of 512 of them.
    assert_ne!(found(&[b"7961.833 0 20228336 8 0"]), Some("heimdall"));
    assert_eq!(found(&[b"5 0 280605840 2 1"]), Some("ssdsim"), "dtrs is found by name only");
    assert_eq!(found(&[b"1538323200,12910952,128,0,1063"]), Some("tencent"));
    assert_eq!(found(&[b"0,303567,3584,w,0.000000"]), Some("spc"));
}

#[test]
fn columns_are_found_at_any_place() {
    let mut random = SplitMix64::new(8);
    let layout = layout("pipe; - time:s op:R/W offset:B size:B - - ...");
    for _ in 0..5_000 {
        let mut field = || "\u{7f}\u{fc}{".repeat(random.below_usize(9));
        let row = format!("{}|1|R|512|1024|{}|{}|{}", field(), field(), field(), field());
        let expected = record(1_000_000_000, (1, 2), 0, RequestOp::Read);
        assert_eq!(self::row(&layout, &row), Ok(expected), "{row}");
        let error = self::row(&layout, &row.replacen('|', "", 2)).unwrap_err();
        assert_eq!(error.what, "6 columns instead of at least 7", "{row}");
    }
}

/// Worked out with 128 bits and without any code of the reader.
#[test]
fn units_and_widening_agree_with_plain_arithmetic() {
    let mut random = SplitMix64::new(3);
    let times = [("s", 1_000_000_000_u128), ("ms", 1_000_000), ("us", 1_000), ("100ns", 100)];
    let units = [("B", 1_u128), ("512B", 512), ("sector", 512), ("KiB", 1 << 10), ("100B", 100)];
    let units = [&units[..], &[("4KiB", 4 << 10), ("MiB", 1 << 20), ("3B", 3)]].concat();
    for _ in 0..5_000 {
        let (time_word, tick) = times[random.below_usize(times.len())];
        let (offset_word, offset_unit) = units[random.below_usize(units.len())];
        let (size_word, size_unit) = units[random.below_usize(units.len())];
        let text = format!("comma; op:R/W size:{size_word} time:{time_word} offset:{offset_word}");
        let (whole, part) = (u128::from(random.below(1_000_000_000)), random.below(100));
        let (offset_bits, size_bits) = (4 + random.below(40), 1 + random.below(20));
        let offset = random.below(1 << offset_bits);
        let size = 1 + random.below(1 << size_bits);
        let row = format!("W,{size},{whole}.{part:02},{offset}");
        let start = u128::from(offset) * offset_unit;
        let end = start + u128::from(size) * size_unit;
        let first = start / 512;
        let sectors = u32::try_from(end.div_ceil(512) - first);
        let read = self::row(&layout(&text), &row);
        let Ok(sectors) = sectors else {
            assert!(read.unwrap_err().what.starts_with("size is too large"), "{text}: {row}");
            continue;
        };
        let time_ns = u64::try_from((whole * 100 + u128::from(part)) * tick / 100).unwrap();
        let first = u64::try_from(first).unwrap();
        assert_eq!(
            read,
            Ok(record(time_ns, (first, sectors), 0, RequestOp::Write)),
            "{text}: {row}"
        );
    }
}

#[test]
fn descriptors_with_faults_are_refused() {
    let check = |text: &str, expected: &str| {
        let fault = grammar::inline(text).unwrap_err();
        assert_eq!(fault.what, expected, "{text}");
        assert!(!fault.fix.is_empty());
    };
    let rest = "op:R/W offset:B size:B";
    check("time:s op:R/W", "the descriptor has no \";\", \"time:s op:R/W\"");
    check(&format!("; time:s {rest}"), "there is no delimiter");
    check(&format!("colon; time:s {rest}"), "unknown delimiter, \"colon\"");
    check(&format!("-; time:s {rest}"), "unknown delimiter, \"-\"");
    check(&format!("comma blank; time:s {rest}"), "there is a second delimiter, \"blank\"");
    check(&format!("comma header header=2; time:s {rest}"), "there is a second header");
    check(&format!("comma heeder=2; time:s {rest}"), "unknown word, \"heeder=2\"");
    check(&format!("comma base=x; time:s {rest}"), "base is no number, x");
    check(&format!("comma; {rest}"), "there is no column of a time");
    check(&format!("comma; response:s {rest}"), "there is no column of a time");
    check("comma; time:s op:R/W offset:B size:-", "there is no column size");
    check("comma; time:s offset:B size:B", "there is no column op");
    check(&format!("comma; time:min {rest}"), "column time has no such unit of time, \"min\"");
    check(&format!("comma; time {rest}"), "a column has no type, \"time\"");
    check(&format!("comma; :s {rest}"), "a column has no such name, \"\"");
    check(&format!("comma; a-b:text {rest}"), "a column has no such name, \"a-b\"");
    check(&format!("comma; host:word {rest}"), "column host has no such type, \"word\"");
    check(&format!("comma; time:s time:s {rest}"), "there are two columns of one name, time");
    check(&format!("comma; ... time:s {rest}"), "there is a column behind \"...\"");
    check("comma; time:s op:R offset:B size:B", "op has no such form, \"R\"");
    for unit in ["", "kB", "0B", "2sector", "1025MiB", "99999999999999999999B"] {
        let what = format!("column size has no such unit, \"{unit}\"");
        check(&format!("comma; time:s op:R/W offset:B size:{unit}"), &what);
    }
    let many = "- ".repeat(257);
    check(&format!("comma; {many}"), "there are more than 256 columns");
}

#[test]
fn descriptor_files_with_faults_are_refused_with_their_lines() {
    let check = |text: &str, expected: &str| {
        let error = file::parse("d.toml", text).unwrap_err().to_string();
        assert!(error.starts_with(expected), "{error}");
        assert!(error.contains("; "), "{error}");
    };
    check(
        "delimiter = \"comma\"\ncolumns = [\n  \"time:s\",\n  \"op:R\",\n]\n",
        "d.toml:4: op has",
    );
    check("delimiter = \"comma\"\n\ncolumns = 3\n", "d.toml:3: columns: a list of strings");
    check("columns = [\"time:s\",\n7]\n", "d.toml:2: columns: a list of strings");
    check("name = 3\n", "d.toml:1: name: a string is needed; ");
    check("\ndelimeter = \"comma\"\n", "d.toml:2: delimeter: unknown key; ");
    check("header = true\n", "d.toml:1: header: a string or a whole number");
    check("header = -1\n", "d.toml:1: header: a string or a whole number");
    check("base = -1\n", "d.toml:1: base: a whole number");
    check("detect = 1\n", "d.toml:1: detect: true or false");
    check("\nname 3\n", "d.toml:2: ");
    check("delimiter = \"comma\"\ncolumns = []\n", "d.toml: there is no column op; ");
    let missing = own("none/such.toml").unwrap().unwrap_err().to_string();
    assert!(missing.starts_with("none/such.toml: cannot be read, "), "{missing}");
    assert!(own("msr").is_none());
    let inline = own("comma; time:s").unwrap().unwrap_err().to_string();
    assert!(inline.starts_with("trace.format: there is no column op; "), "{inline}");
}

/// Descriptors and rows with bytes changed at random are read or refused, and never a panic.
#[test]
fn mutated_descriptors_never_panic() {
    let mut random = SplitMix64::new(11);
    let line = "comma header=2 base=3; time:ms. end?:s response:us op:R|RA/W/D/F offset:4KiB \
                size:B host:stream disk:id pid:number - x:text ...";
    let spice = b"0123456789:;?./|=-BKMis \tbit\n\"[],";
    let mut read = 0;
    for round in 0..20_000 {
        let shipped = SHIPPED[random.below_usize(SHIPPED.len())].1;
        let mut text = if round % 2 == 0 { line.as_bytes() } else { shipped.as_bytes() }.to_vec();
        for _ in 0..=random.below(3) {
            let at = random.below_usize(text.len());
            match random.below(3) {
                0 => drop(text.remove(at)),
                1 => text.insert(at, spice[random.below_usize(spice.len())]),
                _ => text[at] = spice[random.below_usize(spice.len())],
            }
        }
        let text = String::from_utf8_lossy(&text);
        let layout = if round % 2 == 0 {
            grammar::inline(&text).ok()
        } else {
            file::parse("d.toml", &text).ok()
        };
        let Some(layout) = layout else { continue };
        read += 1;
        for &event in &layout.events {
            let mut reader = layout.reader(&options(event, layout.splits().last().copied()));
            for row in ["1.5,2,3,RA,4,5,a,6,7,8,9", "1,hm,0,Read,512,512,5", "1 2 3 4 1", "", ",,"]
            {
                layout.recognises(row.as_bytes());
                if let Ok(Parsed::Request(record)) = reader.parse(row.as_bytes()) {
                    assert!(record.sectors > 0 || record.op == RequestOp::Flush);
                }
            }
        }
    }
    assert!(read > 2_000, "{read} descriptors were still right");
}
