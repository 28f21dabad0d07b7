//! Data under the checker: patterns that come back as they were written, and bit errors that are
//! all found. The checker ends a run when a bit is wrong that no error turned, or the other way
//! round; here the errors must be as many as they should be and change nothing else.

use crate::common::phases::latency;
use crate::common::{Random, keys, read, record, request, seeds, try_record, write};
use crate::generators::devices::{Family, case};
use flashyard_core::command::{Op, Purpose};
use flashyard_core::request::{Request, RequestOp};
use flashyard_sim::config::Settings;
use flashyard_sim::report::Report;

/// The settings with so many errors in 10^9 bits.
fn with_errors(settings: &Settings, ppb: u64) -> Settings {
    let mut keys = settings.keys.clone();
    keys.nand.bit_errors_ppb = ppb;
    Settings::new(keys).expect("errors rule out no device")
}

/// The errors of a report, and the report without them.
#[track_caller]
fn taken(mut report: Report) -> (u64, String) {
    let errors = report.flash.bit_errors.take().expect("errors are counted");
    (errors, format!("{report:?}"))
}

/// Buffers, maps on flash, log blocks, garbage collection, suspended operations, several planes.
#[test]
fn errors_are_found_on_every_device_and_change_nothing_else() {
    let (mut errors, mut copied) = (0, 0);
    for seed in seeds(0..90) {
        let family = [Family::Any, Family::LogBlocks, Family::Cached][(seed % 3) as usize];
        let (settings, requests) = case(family, seed + 90_000);
        let turned = with_errors(&settings, 300_000);
        match (try_record(&settings, &[], &requests), try_record(&turned, &[], &requests)) {
            (Ok((without, _)), Ok((with, _))) => {
                assert_eq!(without.flash.bit_errors, None, "seed {seed}");
                copied += with.gc.valid_pages_copied;
                let (found, rest) = taken(with);
                assert!(rest == format!("{without:?}"), "seed {seed}");
                errors += found;
            }
            (Err(without), Err(with)) => assert_eq!(with.to_string(), without.to_string()),
            (without, with) => panic!("seed {seed}: {without:?} {with:?}"),
        }
    }
    assert!(errors > 10_000 && copied > 3_000, "{errors} errors, {copied} copies");
}

/// Two channels of two dies, with so little spare space that reads find what was copied.
fn small(more: &[&str]) -> Settings {
    let base = [
        "map.store=resident",
        "policy.command=fifo",
        "geometry.channels=2",
        "geometry.ways=2",
        "geometry.blocks_per_plane=64",
        "geometry.pages_per_block=8",
        "channel.ps_per_byte=10000",
        "channel.command_ns=300",
        "state.initial=full",
        "nand.bit_errors_ppb=1000000",
    ];
    Settings::new(keys(&[&base, more].concat())).expect("a device")
}

fn mixed(settings: &Settings, seed: u64, count: u64, ops: &[RequestOp]) -> Vec<Request> {
    let (mut random, pages) = (Random(seed), settings.capacity_sectors() / 8);
    let mut one = |at: u64| request(at * 100, random.pick(ops), random.below(pages), 1);
    (0..count).map(&mut one).collect()
}

/// The number of errors in n bits has the mean n p and, nearly, the same variance.
#[test]
fn so_many_bits_are_wrong_as_the_key_says() {
    for ppb in [1_000, 1_000_000, 10_000_000] {
        let settings = with_errors(&small(&[]), ppb);
        let ops = [RequestOp::Read, RequestOp::Read, RequestOp::Write];
        let (report, run) = record(&settings, &[], &mixed(&settings, ppb, 4_000, &ops));
        let reads = |done: &&flashyard_sim::observe::CommandDone| {
            (done.op, done.purpose) == (Op::Read, Purpose::Host)
        };
        let bits = run.commands.iter().filter(reads).count() as f64 * 4_096.0 * 8.0;
        let (found, expected) = (taken(report).0 as f64, bits * ppb as f64 / 1e9);
        assert!(expected > 50.0, "{expected}");
        let far = (found - expected).abs() / expected.sqrt();
        assert!(far < 3.5, "{ppb}: {found} errors, not {expected}");
    }
}

/// Errors belong to the bits in the order in which they are read, so precisions that read equally
/// often find equally many.
#[test]
fn every_precision_of_the_bus_carries_data_and_errors() {
    let requests = "bus.precision=requests";
    let precisions = [
        &["bus.precision=command"][..],
        &["bus.precision=phases"],
        &[requests],
        &[requests, "bus.readiness=polled", "bus.chunk_bytes=1024"],
        &[requests, "bus.timing=framework", "channel.arbitration=framework"],
        &[requests, "bus.timing=framework", "channel.arbitration=sequential"],
    ];
    let found = precisions.map(|precision| {
        let settings = small(precision);
        let all = mixed(&settings, 5, 3_000, &[RequestOp::Read, RequestOp::Write]);
        let report = record(&settings, &[], &all).0;
        assert!(report.gc.valid_pages_copied > 500, "{precision:?}: {:?}", report.gc);
        taken(report).0
    });
    assert!(found[0] > 30_000 && found.iter().all(|errors| *errors == found[0]), "{found:?}");
}

/// Without translation reads find what was programmed last, or the bits of an erased page.
#[test]
fn raw_operations_carry_data() {
    let ops = [RequestOp::Read, RequestOp::Write, RequestOp::Trim];
    for seed in 0..8 {
        let settings = small(&["ftl.scheme=none", "state.initial=fresh"]);
        let mut random = Random(seed);
        let mut one = |at: u64| {
            let (op, block) = (random.pick(&ops), random.below(6));
            let (page, pages) = if op == RequestOp::Trim { (0, 8) } else { (random.below(8), 1) };
            request(at * random.pick(&[1, 400]), op, block * 8 + page, pages)
        };
        let mut all: Vec<_> = (0..2_000).map(&mut one).collect();
        all.sort_by_key(|request| request.arrival);
        let (errors, _) = taken(record(&settings, &[], &all).0);
        assert!(errors > 15_000, "{errors}");
    }
}

/// The buffer has no errors, and neither has what was never written; errors cost no time.
#[test]
fn reads_of_flash_alone_have_errors() {
    let fresh = "state.initial=fresh";
    let settings = small(&[fresh]);
    assert_eq!(taken(record(&settings, &[], &[read(0, 3)]).0).0, 0);
    let (report, run) = record(&settings, &[], &[write(0, 3), read(2_000, 3)]);
    assert!(report.flash.bit_errors > Some(0));
    assert_eq!(latency(&run.requests[1]), 300 + 40_960 + 60_000);
    let buffered = small(&[fresh, "buffer.bytes=65536"]);
    assert_eq!(taken(record(&buffered, &[], &[write(0, 3), read(2_000, 3)]).0).0, 0);
}
