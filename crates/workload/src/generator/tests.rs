//! What the built-in workloads promise.

use flashyard_core::key::{Kind, Value};
use flashyard_core::quantity::{Bytes, Micro, Milli};
use flashyard_core::units::Span;

use super::*;
use crate::Info;

fn info(keys: &GeneratorKeys, seed: u64) -> Info {
    Info::collect(&mut Generator::new(keys, seed, None).unwrap()).unwrap()
}

fn requests(keys: &GeneratorKeys, seed: u64, capacity: Option<u64>) -> Vec<Request> {
    let mut generator = Generator::new(keys, seed, capacity).unwrap();
    std::iter::from_fn(|| generator.next_request().unwrap()).collect()
}

#[track_caller]
fn within(name: &str, found: Option<f64>, expected: f64, share: f64) {
    let found = found.expect("the figure is defined");
    let off = found / expected - 1.0;
    assert!(off.abs() <= share, "{name}: {found} instead of {expected}");
}

#[test]
fn long_runs_have_the_published_means() {
    for built_in in BUILT_IN {
        let keys = GeneratorKeys { requests: 200_000, ..built_in.keys };
        let (info, published) = (info(&keys, 1), built_in.published);
        within(built_in.name, info.requests_per_s, published.requests_per_s, 0.0001);
        within(built_in.name, info.write_percent, published.write_percent, 0.01);
        within(built_in.name, info.read_kib_mean, published.read_kib, 0.02);
        within(built_in.name, info.write_kib_mean, published.write_kib, 0.02);
    }
}

#[test]
fn runs_of_the_published_length_are_close_to_it() {
    for built_in in BUILT_IN {
        let (info, published) = (info(&built_in.keys, 0), built_in.published);
        assert_eq!(info.requests, built_in.keys.requests);
        within(built_in.name, info.requests_per_s, published.requests_per_s, 0.0001);
        within(built_in.name, info.write_percent, published.write_percent, 0.05);
        // Means of a hundred requests are left to chance.
        let enough = |count| if count > 1_000 { 0.05 } else { 0.2 };
        if info.reads > 100 {
            within(built_in.name, info.read_kib_mean, published.read_kib, enough(info.reads));
        }
        if info.writes > 100 {
            within(built_in.name, info.write_kib_mean, published.write_kib, enough(info.writes));
        }
    }
}

#[test]
fn bursts_are_as_strong_as_in_the_traces() {
    for built_in in BUILT_IN {
        for seed in 0..3 {
            let found = info(&built_in.keys, seed).dispersion[1].index.unwrap();
            let ratio = found / built_in.measured.dispersion[1];
            assert!((0.5..=2.0).contains(&ratio), "{}: {found}", built_in.name);
        }
    }
}

#[test]
fn a_seed_is_a_stream() {
    let keys = &BUILT_IN[0].keys;
    assert_eq!(requests(keys, 7, None), requests(keys, 7, None));
    assert_ne!(requests(keys, 7, None), requests(keys, 8, None));
}

#[test]
fn the_stream_never_changes() {
    let first: Vec<(u64, u64, u32, &str)> = requests(&BUILT_IN[3].keys, 1, None)[..4]
        .iter()
        .map(|r| (r.arrival.as_ns(), r.first_sector, r.sectors, r.op.name()))
        .collect();
    let expected = [
        (0, 52_163_072, 16, "write"),
        (2_221_955, 52_163_072, 24, "write"),
        (3_707_022, 52_163_088, 8, "write"),
        (8_071_709, 52_163_096, 8, "write"),
    ];
    assert_eq!(first, expected);
}

#[test]
fn requests_stay_on_small_devices() {
    for sectors in [2_048, 10_000, 1_000_000] {
        let keys = GeneratorKeys::default();
        for request in requests(&keys, 3, Some(sectors)) {
            assert!(request.end_sector().unwrap() <= sectors && request.sectors > 0);
        }
    }
}

#[test]
fn a_key_of_one_part_leaves_the_others_alone() {
    let keys =
        GeneratorKeys { read_pace_us: Span::ZERO, write_pace_us: Span::ZERO, ..BUILT_IN[3].keys };
    let sizes = GeneratorKeys { write_kib: Bytes::from_bytes(20 * 1_024), ..keys };
    let (first, second) = (requests(&keys, 1, None), requests(&sizes, 1, None));
    let times = |requests: &[Request]| -> Vec<_> {
        requests.iter().map(|request| (request.arrival, request.op)).collect()
    };
    assert!(times(&first) == times(&second));
    assert_ne!(first, second);
}

#[test]
fn long_writes_are_followed_by_longer_gaps() {
    let requests = requests(&BUILT_IN[3].keys, 1, None);
    let gap_ms = |pages: std::ops::RangeInclusive<u32>| {
        let gaps = requests.windows(2).filter(|pair| {
            pair[0].op == RequestOp::Write && pages.contains(&(pair[0].sectors / PAGE_SECTORS))
        });
        let mut gaps: Vec<u64> =
            gaps.map(|pair| pair[1].arrival.as_ns() - pair[0].arrival.as_ns()).collect();
        gaps.sort_unstable();
        gaps[gaps.len() / 2] as f64 / 1e6
    };
    // Medians in the trace: 1.1 and 4.4 ms.
    within("one page", Some(gap_ms(1..=1)), 1.1, 0.25);
    within("5 to 16 pages", Some(gap_ms(5..=16)), 4.4, 0.25);
}

#[test]
fn the_share_of_writes_grows() {
    let keys = GeneratorKeys {
        requests: 100_000,
        write_growth: Milli::from_thousandths(1_000),
        write_percent: Ppm::from_percent(40),
        ..GeneratorKeys::default()
    };
    let requests = requests(&keys, 1, None);
    let share = |part: &[Request]| {
        let writes = part.iter().filter(|request| request.op == RequestOp::Write).count();
        Some(writes as f64 / part.len() as f64)
    };
    within("first half", share(&requests[..50_000]), 0.2, 0.1);
    within("second half", share(&requests[50_000..]), 0.6, 0.1);
}

#[test]
fn every_key_does_something() {
    for key in GeneratorKeys::KEYS {
        let mut keys = GeneratorKeys::default();
        let Kind::Number { scale, min, max, .. } = key.kind else {
            panic!("{} is no number", key.name)
        };
        let flip = key.flip.parse::<u64>().unwrap() * scale;
        assert!((min..=max).contains(&flip), "{}", key.name);
        let default = keys.get(key.name).unwrap();
        let Value::Number(number) = default else { panic!("{}", key.name) };
        assert!((min..=max).contains(&number), "{}", key.name);
        assert!(keys.set(key.name, Value::Number(flip)));
        let plain = GeneratorKeys::default();
        assert_ne!(requests(&keys, 0, None), requests(&plain, 0, None), "{}", key.name);
    }
}

#[test]
fn parameters_that_do_not_fit_are_refused() {
    let refused =
        |keys: GeneratorKeys, capacity| Generator::new(&keys, 0, capacity).unwrap_err().to_string();
    let small =
        GeneratorKeys { read_kib: Bytes::from_bytes(5 * 1_024), ..GeneratorKeys::default() };
    assert_eq!(
        refused(small, None),
        "generator.read_kib: no such mean with these shares, 5 KiB; choose 6.44 to 79.64 KiB, or \
         change generator.read_single_percent or the largest size"
    );
    assert_eq!(
        refused(GeneratorKeys::default(), Some(1_000)),
        "generator.span_mib: the largest request does not fit, 512 KiB in 500 KiB; give the device \
         more capacity, or lower generator.read_max_kib and generator.write_max_kib"
    );
    let slow = GeneratorKeys {
        requests_per_s: Micro::from_millionths(1),
        requests: 1_000_000,
        ..GeneratorKeys::default()
    };
    let mut generator = Generator::new(&slow, 0, None).unwrap();
    let error = std::iter::repeat_with(|| generator.next_request()).find_map(Result::err).unwrap();
    assert!(error.to_string().starts_with("generator.requests_per_s: "), "{error}");
}
