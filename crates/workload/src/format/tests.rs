//! Tests over all formats, and what the tests of each share.

use super::*;
use crate::random::SplitMix64;
use flashyard_core::request::RequestOp;

#[track_caller]
pub(super) fn parse(info: &FormatInfo, row: &str) -> Result<Record, RowError> {
    match (info.reader)(&ReaderOptions::default()).parse(row.as_bytes())? {
        Parsed::Request(record) => Ok(record),
        Parsed::Header | Parsed::Other => panic!("the row holds no request: {row}"),
    }
}

/// The row is refused for a reason that starts with `what`, and the message says what to do.
#[track_caller]
pub(super) fn refused(info: &FormatInfo, row: &str, what: &str) {
    let error = parse(info, row).expect_err("the row is wrong");
    assert!(error.what.starts_with(what), "{error:?}");
    assert!(!error.fix.is_empty());
}

/// The files of a directory of this crate that end in `extension`, without it.
fn stems(directory: &str, extension: &str) -> Vec<String> {
    let folder = format!("{}/{directory}", env!("CARGO_MANIFEST_DIR"));
    let names = std::fs::read_dir(folder).unwrap();
    let names = names.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut stems: Vec<String> =
        names.filter_map(|name| Some(name.strip_suffix(extension)?.to_owned())).collect();
    stems.sort();
    stems
}

#[test]
fn every_file_of_the_directories_is_registered() {
    let mut written = stems("src/format", ".rs");
    let others = ["binary", "buffer", "fields", "interface", "kernel", "mod", "tests"];
    written.retain(|name| !others.contains(&name.as_str()));
    let known: Vec<&str> = WRITTEN.iter().map(|info| info.name).collect();
    assert_eq!(written, known, "add the format to `formats!` in format/mod.rs, in this order");
    let known: Vec<&str> = columns::formats().iter().map(|info| info.name).collect();
    let described = stems("formats", ".toml");
    assert_eq!(described, known, "add it to `described!` in format/columns/mod.rs, in this order");
}

#[test]
fn every_example_is_detected_and_read() {
    for info in FORMATS.iter() {
        let lines: Vec<&[u8]> = info.example.lines().map(str::as_bytes).collect();
        // A format that is found by its name alone recognises nothing.
        if info.name == "dtrs" {
            assert!(!lines.iter().any(|line| (info.recognises)(line)));
        } else {
            assert_eq!(FormatInfo::detect(&lines).unwrap().name, info.name);
        }
        let mut reader = (info.reader)(&ReaderOptions::default());
        for line in lines {
            reader.parse(line).unwrap();
        }
        assert!(info.example.ends_with('\n') && !info.doc.is_empty() && !info.columns.is_empty());
    }
}

#[test]
fn one_spoilt_line_does_not_hide_the_format() {
    let lines = [&b"1,hm,0,Wri"[..], b"1,hm,0,Write,0,512,1", b"1,hm,0,Read,0,512,1"];
    assert_eq!(FormatInfo::detect(&lines).unwrap().name, "msr");
    assert!(FormatInfo::detect(&lines[..1]).is_none());
    assert!(FormatInfo::detect(&[b"\x7fELF\x02\x01", b"\0\0\0"]).is_none());
    assert!(FormatInfo::detect(&[b"0.000 0 11562803200 4096 7"]).is_none());
}

#[test]
fn the_output_of_biosnoop_bt_is_known() {
    for header in ["TIME(ms)     COMM             PID    LAT(ms)", "TIME(ms) DISK COMM PID LAT(ms)"]
    {
        let text = format!("Attaching 4 probes...\n{header}\n611 bash 4179 10\n").into_bytes();
        let mut lines = Lines::new("t", Box::new(std::io::Cursor::new(text)));
        let message = resolve(&mut lines, None).unwrap_err().to_string();
        assert_eq!(
            message,
            "t: it is what biosnoop.bt of bpftrace prints, which names no sectors and no sizes; \
             record with biosnoop of bcc, or with blktrace"
        );
    }
}

#[test]
fn mutated_rows_never_panic() {
    let mut random = SplitMix64::new(1);
    for info in FORMATS.iter() {
        let rows: Vec<&[u8]> = info.example.lines().map(str::as_bytes).collect();
        let mut reader = (info.reader)(&ReaderOptions::default());
        for _ in 0..20_000 {
            let mut row = rows[random.below_usize(rows.len())].to_vec();
            for _ in 0..=random.below(4) {
                mutate(&mut row, &mut random);
            }
            let _ = (info.recognises)(&row);
            if let Ok(Parsed::Request(record)) = reader.parse(&row) {
                assert!(record.sectors > 0 || record.op == RequestOp::Flush);
            }
        }
    }
}

fn mutate(row: &mut Vec<u8>, random: &mut SplitMix64) {
    const SPICE: &[u8] = b"0123456789-+.,\t eE\0\xff\r9999999999";
    let at = random.below_usize(row.len() + 1);
    match random.below(3) {
        0 => row.truncate(at),
        1 => row.insert(at, SPICE[random.below_usize(SPICE.len())]),
        _ => {
            if let Some(byte) = row.get_mut(at) {
                *byte = SPICE[random.below_usize(SPICE.len())];
            }
        }
    }
}
