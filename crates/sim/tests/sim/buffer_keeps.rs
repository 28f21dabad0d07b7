//! What the buffer keeps: of reads, and without power.

use crate::common::phases::latency;
use crate::common::{buffered, flush, read, record, request, write};
use flashyard_core::request::{Flags, Request, RequestOp};
use flashyard_sim::config::Settings;
use flashyard_sim::report::Report;

/// A die that reads in 60 us and programs in 700 us and nothing else, and a buffer with a put of 30
/// us and a get of 10 us.
fn slow(keys: &[&str]) -> Settings {
    let slow = ["buffer.write_ns=30000", "buffer.read_ns=10000"];
    buffered(&[&slow, keys].concat())
}

/// Latencies in microseconds, and the report.
fn run(settings: &Settings, requests: &[Request]) -> (Vec<u64>, Report) {
    let (report, run) = record(settings, &[], requests);
    (run.requests.iter().map(|done| latency(done) / 1_000).collect(), report)
}

fn with(flags: Flags, request: Request) -> Request {
    request.with(flags)
}

/// What is promised is kept when it has been put; without the key each promise takes a program.
#[test]
fn promises_of_a_buffer_that_keeps_what_it_holds_wait_for_puts_alone() {
    let requests = [
        write(0, 0),
        flush(10),
        with(Flags::FUA, write(100, 1)),
        with(Flags::PREFLUSH, write(200, 2)),
        with(Flags::PREFLUSH, write(210, 3)),
        flush(300),
    ];
    for policy in ["fifo", "cache-read-aware", "is", "ris", "ros"] {
        let policy = format!("host.policy={policy}");
        let keeps = slow(&["buffer.volatile=false", &policy]);
        let (latencies, report) = run(&keeps, &requests);
        // The last put begins behind the one before: 20 us later than it is asked for.
        assert_eq!(latencies, [30, 20, 30, 30, 50, 0], "{policy}");
        assert_eq!((report.buffer.flushed_units, report.buffer.dirty_at_end), (0, 4));
        let (latencies, report) = run(&slow(&[&policy]), &requests);
        assert!(latencies[1..].iter().all(|&us| us >= 700), "{policy} {latencies:?}");
        assert_eq!(report.buffer.flushed_units, 4);
    }
}

/// A put is over at 30 us, its program at 730 us, a map command of a trim at 60 us.
#[test]
fn programs_that_a_write_asks_for_and_trims_are_not_put() {
    let through = slow(&["buffer.volatile=false", "buffer.acknowledge=program"]);
    assert_eq!(run(&through, &[write(0, 0), flush(40)]).0, [730, 0]);
    assert_eq!(run(&through, &[write(0, 0), flush(10)]).0, [730, 20]);
    let map = ["map.store=line_cache", "map.cache_bytes=32", "buffer.volatile=false"];
    let cached = slow(&map);
    let trim = request(0, RequestOp::Trim, 5, 1);
    assert_eq!(run(&cached, &[trim, flush(10)]).0, [60, 50]);
    assert_eq!(run(&cached, &[trim, with(Flags::PREFLUSH, write(10, 9))]).0, [60, 80]);
}

/// Where nobody asks for a promise the key changes nothing.
#[test]
fn without_promises_it_does_not_matter_whether_the_buffer_is_volatile() {
    let requests: Vec<_> = (0..200).map(|lpn| write(lpn * 37, lpn * 7 % 90)).collect();
    let full = ["buffer.bytes=65536", "buffer.eviction=full"];
    let kept = slow(&[&full[..], &["buffer.volatile=false"]].concat());
    let (volatile, kept) = (run(&slow(&full), &requests), run(&kept, &requests));
    assert_eq!(format!("{volatile:?}"), format!("{kept:?}"));
}

/// A full device and two lines of the buffer, which take no time, and what is kept of reads.
fn two_lines(allocate: &str, keys: &[&str], requests: &[Request]) -> (Vec<u64>, Report) {
    let allocate = format!("buffer.read_allocate={allocate}");
    let base = [
        "state.initial=full",
        "buffer.bytes=8192",
        "buffer.eviction=full",
        "buffer.write_ns=0",
        "buffer.read_ns=0",
        &allocate,
    ];
    let (latencies, report) = run(&slow(&[&base[..], keys].concat()), requests);
    let buffer = &report.buffer;
    let gone = buffer.flushed_units + buffer.trimmed_units + buffer.dirty_at_end;
    assert_eq!(buffer.dirtied_units, gone, "{buffer:?}");
    (latencies, report)
}

/// Units 1 and 2 fill the buffer. The read of 3 is answered as if nothing was kept; 1 is programmed
/// behind it, until 770 us, and 3 takes its line.
#[test]
fn a_read_displaces_the_dirty_line_that_goes_first() {
    let requests = [write(0, 1), write(0, 2), read(10, 3), read(1_000, 3), read(2_000, 1)];
    for after in ["buffer.after_flush=clean", "buffer.after_flush=free"] {
        let (latencies, report) = two_lines("displace", &[after], &requests);
        assert_eq!(latencies, [0, 0, 60, 0, 60], "{after}");
        assert_eq!(report.buffer.read_hits, 1);
        // 1 comes back for 2, which was used before 3.
        assert_eq!((report.buffer.allocated_units, report.buffer.flushed_units), (2, 2));
    }
    for (allocate, again) in [("clean", 60), ("never", 60)] {
        let (latencies, report) = two_lines(allocate, &[], &requests);
        assert_eq!(latencies, [0, 0, 60, again, 0], "{allocate}");
        assert_eq!((report.buffer.allocated_units, report.buffer.flushed_units), (0, 0));
    }
}

/// 1 was written, then 2 was read. Of the two 1 goes first, though it is dirty.
#[test]
fn a_dirty_line_goes_before_a_clean_one_that_was_used_since() {
    let requests = [write(0, 1), read(10, 2), read(200, 3), read(1_000, 2), read(1_000, 3)];
    for after in ["buffer.after_flush=clean", "buffer.after_flush=free"] {
        let (latencies, report) = two_lines("displace", &[after], &requests);
        assert_eq!((latencies, report.buffer.flushed_units), (vec![0, 60, 60, 0, 0], 1), "{after}");
    }
    let (latencies, report) = two_lines("clean", &[], &requests);
    assert_eq!((latencies, report.buffer.flushed_units), (vec![0, 60, 60, 60, 0], 0));
    // Used again, 1 goes last, and 2 makes way at once.
    let used = [write(0, 1), read(10, 2), write(100, 1), read(200, 3), read(1_000, 3)];
    let (latencies, report) = two_lines("displace", &[], &used);
    assert_eq!((latencies[4], report.buffer.flushed_units), (0, 0));
}

/// While the unit that a read has found waits for its line, something newer comes. A write of it
/// takes the line.
#[test]
fn a_unit_that_is_changed_while_it_waits_for_a_line_is_not_kept() {
    let full = [write(0, 1), write(0, 2), read(10, 3)];
    for change in [write(100, 3), request(100, RequestOp::Trim, 3, 1)] {
        let (latencies, report) = two_lines("displace", &[], &[&full[..], &[change]].concat());
        assert_eq!(report.buffer.allocated_units, 0, "{change:?}");
        let waits = if change.op == RequestOp::Write { 670 } else { 0 };
        assert_eq!((latencies[3], report.buffer.flushed_units), (waits, 1));
    }
    let (_, report) = two_lines("displace", &[], &[&full[..], &[read(50, 3)]].concat());
    assert_eq!(report.buffer.allocated_units, 1, "it is kept once");
}

/// Nobody waits for a line of a unit that was read, so it waits only while one comes for it.
#[test]
fn a_unit_for_which_no_flush_may_begin_is_not_kept() {
    let requests = [write(0, 1), write(0, 2), read(10, 3), read(10, 4)];
    for (width, kept) in [("buffer.flush_width=1", 1), ("buffer.flush_width=2", 2)] {
        let (_, report) = two_lines("displace", &["geometry.ways=2", width], &requests);
        assert_eq!(report.buffer.flushed_units, kept, "{width}");
    }
}

/// What was never written is no contents of flash.
#[test]
fn nothing_is_kept_of_what_was_never_written() {
    let fresh = ["state.initial=fresh"];
    let (_, report) = two_lines("displace", &fresh, &[write(0, 1), write(0, 2), read(10, 3)]);
    assert_eq!((report.buffer.allocated_units, report.buffer.flushed_units), (0, 0));
}
