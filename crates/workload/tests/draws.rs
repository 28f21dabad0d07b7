//! The same requests on every machine: checksums of the first requests of patterns and mixes.
//!
//! The values are those of `draws.py` beside this file, a program of its own written from the draw
//! order in `docs/WORKLOADS.md`; `zipf`, which draws by rejection, is left to its own tests.

use flashyard_core::quantity::{Bytes, Micro, Ppm, Sectors};
use flashyard_core::request::{Request, RequestOp};
use flashyard_workload::RequestSource;
use flashyard_workload::mix::{BuiltInMix, Mix};
use flashyard_workload::pattern::{Access, Arrival, Pattern, PatternKeys, SizeRule};

const SEED: u64 = 7;
const CAPACITY: u64 = 3_000_001;
const COUNT: u64 = 2_000;

/// Fowler, Noll and Vo's hash 1a, a word at a time.
fn checksum(source: &mut dyn RequestSource) -> u64 {
    let mut total = 0xcbf2_9ce4_8422_2325_u64;
    for _ in 0..COUNT {
        let request = source.next_request().unwrap().unwrap();
        for word in words(&request) {
            total = (total ^ word).wrapping_mul(0x0000_0100_0000_01b3);
        }
    }
    total
}

fn words(request: &Request) -> [u64; 4] {
    let op = match request.op {
        RequestOp::Read => 0,
        RequestOp::Write => 1,
        RequestOp::Trim => 2,
        RequestOp::Flush => 3,
    };
    [request.arrival.as_ns(), request.first_sector, u64::from(request.sectors), op]
}

#[track_caller]
fn pattern(expected: u64, change: impl FnOnce(&mut PatternKeys)) {
    let mut keys = PatternKeys::default();
    change(&mut keys);
    let mut pattern = Pattern::new(&keys, SEED, Some(CAPACITY)).unwrap();
    assert_eq!(checksum(&mut pattern), expected, "{keys:?}");
}

/// Reads of 4 to 64 KiB, writes of 8 to 128.
fn sizes(keys: &mut PatternKeys, rule: SizeRule) {
    keys.sizes = rule;
    keys.max_size_kib = Sectors::from_kib(64);
    keys.write_size_kib = Sectors::from_kib(8);
    keys.write_max_size_kib = Sectors::from_kib(128);
    keys.write_large_percent = Ppm::from_percent(30);
    keys.mean_kib = Bytes::from_bytes(12 * 1_024);
    keys.write_mean_kib = Bytes::from_bytes(40 * 1_024);
    keys.read_percent = Ppm::from_percent(50);
}

#[test]
fn places_are_the_same_everywhere() {
    pattern(0x60e8_7ceb_6a8b_04d5, |_| ());
    pattern(0x0387_7b2f_4ca2_9615, |keys| {
        sizes(keys, SizeRule::Uniform);
        keys.access = Access::Sequential;
        keys.read_percent = Ppm::ALL;
    });
    pattern(0x68b9_b4f3_c819_da25, |keys| keys.access = Access::Strided);
    pattern(0xf437_a4b5_bf05_c915, |keys| keys.access = Access::HotCold);
    pattern(0xf205_94c6_0852_0195, |keys| keys.access = Access::SelfSimilar);
    pattern(0x2f68_fd95_718d_c972, |keys| {
        sizes(keys, SizeRule::Uniform);
        keys.sequential_percent = Ppm::from_percent(60);
        keys.read_percent = Ppm::from_percent(70);
    });
}

#[test]
fn operations_and_sizes_are_the_same_everywhere() {
    pattern(0xe2c5_76fa_56ba_f465, |keys| {
        keys.read_percent = Ppm::from_percent(50);
        keys.trim_percent = Ppm::from_percent(10);
        keys.flush_every = 3;
    });
    pattern(0x4dde_4a30_cb90_c105, |keys| sizes(keys, SizeRule::Two));
    pattern(0xa7cc_48d1_18e3_81bd, |keys| sizes(keys, SizeRule::Geometric));
    pattern(0xee7a_35cf_d17c_436d, |keys| sizes(keys, SizeRule::Pareto));
}

#[test]
fn arrivals_are_the_same_everywhere() {
    pattern(0x5e26_c8e4_6159_dbf0, |keys| {
        keys.arrival = Arrival::Constant;
        keys.rate_per_s = Micro::from_millionths(30_000_000_000);
    });
    pattern(0xecd0_5383_b87d_6020, |keys| keys.arrival = Arrival::Poisson);
    pattern(0xdcc9_427c_86b1_6b61, |keys| keys.arrival = Arrival::Mmpp);
    pattern(0xceb7_551b_abec_7192, |keys| keys.arrival = Arrival::OnOff);
    pattern(0xaa9a_8b72_7ef4_2a81, |keys| keys.arrival = Arrival::Pareto);
}

#[test]
fn mixes_are_the_same_everywhere() {
    for (name, expected) in [
        ("oltp", 0x3e2f_b13a_8514_aaa8),
        ("olap-clustered", 0x78c6_a496_364d_29b1),
        ("oltp-scattered", 0xdef6_3e4a_1eda_a240),
    ] {
        let keys = BuiltInMix::from_name(name).unwrap().keys;
        let mut mix = Mix::new(&keys, SEED, Some(CAPACITY)).unwrap();
        assert_eq!(checksum(&mut mix), expected, "{name}");
    }
}
