//! Twins beside what they were fitted to.

use flashyard_core::quantity::Micro;
use std::sync::Arc;

use flashyard_core::request::{Request, RequestOp};
use flashyard_core::units::Time;

use super::*;
use crate::error::WorkloadError;
use crate::generator::{BuiltIn, Generator};
use crate::info::Info;
use crate::random::SplitMix64;
use crate::{RequestSource, SourceStats};

struct Fixed<'a>(std::slice::Iter<'a, Request>);

impl RequestSource for Fixed<'_> {
    fn next_request(&mut self) -> Result<Option<Request>, WorkloadError> {
        Ok(self.0.next().copied())
    }

    fn stats(&self) -> SourceStats {
        SourceStats { clock_epochs: 1, ..SourceStats::default() }
    }
}

fn requests(mut source: impl RequestSource) -> Vec<Request> {
    let mut all = Vec::new();
    while let Some(request) = source.next_request().unwrap() {
        all.push(request);
    }
    all
}

fn built_in(name: &str) -> Vec<Request> {
    requests(Generator::new(&BuiltIn::from_name(name).unwrap().keys, 1, None).unwrap())
}

fn fit(requests: &[Request]) -> Arc<Profile> {
    Arc::new(Profile::fit(&mut Fixed(requests.iter())).unwrap().unwrap())
}

fn twin(profile: &Arc<Profile>, keys: &ProfileKeys, seed: u64) -> Vec<Request> {
    requests(Twin::new(Arc::clone(profile), keys, seed, None).unwrap())
}

fn info(requests: &[Request]) -> Info {
    Info::collect(&mut Fixed(requests.iter())).unwrap()
}

/// The sizes of an operation, sorted.
fn sizes(requests: &[Request], op: RequestOp) -> Vec<u32> {
    let of_op = requests.iter().filter(|request| request.op == op);
    let mut sizes: Vec<u32> = of_op.map(|request| request.sectors).collect();
    sizes.sort_unstable();
    sizes
}

#[test]
fn a_twin_has_the_counts_the_sizes_and_the_duration_of_its_trace_exactly() {
    for name in ["facebook", "movie"] {
        let trace = built_in(name);
        let profile = fit(&trace);
        assert_eq!(profile.check(), Ok(()));
        for seed in [1, 2] {
            let twin = twin(&profile, &ProfileKeys::default(), seed);
            for op in RequestOp::ALL {
                assert_eq!(sizes(&twin, op), sizes(&trace, op), "{name}");
            }
            let span =
                |all: &[Request]| all[all.len() - 1].arrival.as_ns() - all[0].arrival.as_ns();
            assert_eq!(span(&twin), span(&trace), "{name}");
            assert!(twin.is_sorted_by_key(|request| request.arrival));
        }
    }
}

#[test]
fn a_twin_is_near_its_trace_in_what_is_not_exact() {
    let trace = built_in("facebook");
    let found = info(&trace);
    let profile = fit(&trace);
    for seed in [1, 2] {
        let twin = info(&twin(&profile, &ProfileKeys::default(), seed));
        let near = |what: &str, a: f64, b: f64, share: f64| {
            assert!((b / a - 1.0).abs() < share, "{what}: {a} and {b}");
        };
        // The bounds that fitted twins of recorded traces are held to.
        let shares = [&found, &twin].map(|info| info.sequential_percent.unwrap());
        assert!((shares[0] - shares[1]).abs() < 2.0, "{shares:?}");
        near("footprint", found.footprint_mib, twin.footprint_mib, 0.1);
        let [a, b] = [&found, &twin].map(|info| info.interarrival_cv.unwrap());
        near("variation", a, b, 0.15);
        for (a, b) in found.dispersion.iter().zip(&twin.dispersion) {
            let [a, b] = [a, b].map(|dispersion| dispersion.index.unwrap());
            near("dispersion", a, b, 0.15);
        }
    }
}

#[test]
fn the_seed_shuffles_and_only_it_does() {
    let profile = fit(&built_in("facebook"));
    let keys = ProfileKeys::default();
    assert_eq!(twin(&profile, &keys, 3), twin(&profile, &keys, 3));
    assert_ne!(twin(&profile, &keys, 3), twin(&profile, &keys, 4));
}

#[test]
fn twins_of_other_lengths_keep_the_rate() {
    let trace = built_in("facebook");
    let profile = fit(&trace);
    let rate = info(&trace).requests_per_s.unwrap();
    for count in [1, 2, 500, 12_345] {
        let keys = ProfileKeys { requests: count, ..ProfileKeys::default() };
        let twin = twin(&profile, &keys, 1);
        assert_eq!(twin.len() as u64, count);
        if count >= 500 {
            let found = info(&twin).requests_per_s.unwrap();
            // One request in 500 more or less than the gaps between them.
            assert!((found / rate - 1.0).abs() < 0.005, "{found} {rate}");
        }
    }
    let keys =
        ProfileKeys { time_scale: Micro::from_millionths(500_000), ..ProfileKeys::default() };
    let last = |all: Vec<Request>| all[all.len() - 1].arrival.as_ns();
    let half = last(twin(&profile, &keys, 1));
    assert_eq!(half, last(twin(&profile, &ProfileKeys::default(), 1)) / 2);
}

#[test]
fn no_address_of_the_trace_is_in_its_profile() {
    let trace = built_in("facebook");
    let shift = 12_345 << 20;
    let moved =
        trace.iter().map(|request| (*request).over(request.first_sector + shift, request.sectors));
    let (mut here, mut there) = (fit(&trace), fit(&moved.collect::<Vec<_>>()));
    // The span from 0 is all that tells where a trace was.
    Arc::make_mut(&mut here).span_sectors = 0;
    Arc::make_mut(&mut there).span_sectors = 0;
    assert_eq!(here, there);
}

#[test]
fn trims_and_flushes_are_fitted_too() {
    let mut random = SplitMix64::new(4);
    let trace: Vec<Request> = (0..2_000_u64)
        .map(|n| {
            let op = RequestOp::ALL[random.below_usize(4)];
            let sectors = if op == RequestOp::Flush { 0 } else { 8 };
            let first_sector = if op == RequestOp::Flush { 0 } else { 8 * random.below(100_000) };
            let arrival = Time::from_us(n * 700 + random.below(500));
            Request::new(op, first_sector, sectors).at(arrival)
        })
        .collect();
    let twin = twin(&fit(&trace), &ProfileKeys::default(), 1);
    for op in RequestOp::ALL {
        assert_eq!(sizes(&twin, op), sizes(&trace, op), "{}", op.name());
    }
}

#[test]
fn a_profile_does_not_grow_with_its_trace() {
    // Every size, place and gap is new: nothing can be counted together.
    let mut random = SplitMix64::new(9);
    let mut bytes = Vec::new();
    for count in [10_000_u64, 40_000] {
        let mut arrival = 0;
        let trace: Vec<Request> = (0..count)
            .map(|_| {
                let bits = random.below(34);
                arrival += random.below(1 << bits);
                Request::new(
                    RequestOp::ALL[random.below_usize(3)],
                    random.below(1 << 36),
                    1 + u32::try_from(random.below(1 << 15)).unwrap(),
                )
                .at(Time::from_ns(arrival))
            })
            .collect();
        let profile = fit(&trace);
        assert_eq!(profile.check(), Ok(()));
        bytes.push(profile.to_toml().len());
    }
    assert!(bytes[1] < 2 * bytes[0] && bytes[1] < 400_000, "{bytes:?}");
}

#[test]
fn a_trace_of_one_request_has_a_twin_and_an_empty_one_has_none() {
    let one = &built_in("facebook")[..1];
    let profile = fit(one);
    assert_eq!(twin(&profile, &ProfileKeys::default(), 1).len(), 1);
    let keys = ProfileKeys { requests: 2, ..ProfileKeys::default() };
    let error = Twin::new(profile, &keys, 1, None).unwrap_err().to_string();
    assert!(error.starts_with("profile.requests: 2 requests cannot"), "{error}");
    assert_eq!(Profile::fit(&mut Fixed([].iter())).unwrap(), None);
}

#[test]
fn a_twin_stays_on_its_device() {
    let trace = built_in("facebook");
    let profile = fit(&trace);
    let error = Twin::new(Arc::clone(&profile), &ProfileKeys::default(), 1, Some(1 << 20));
    let error = error.unwrap_err().to_string();
    assert!(error.contains("the device has 512; set it to 512 or less"), "{error}");
    let keys = ProfileKeys { span_mib: 512, ..ProfileKeys::default() };
    let twin = requests(Twin::new(profile, &keys, 1, Some(1 << 20)).unwrap());
    assert!(twin.iter().all(|request| request.end_sector().unwrap() <= 1 << 20));
}

#[test]
fn tables_that_do_not_fit_each_other_are_refused() {
    let good = fit(&built_in("facebook"));
    let refused = |change: fn(&mut Profile), expected: &str| {
        let mut bad = Profile::clone(&good);
        change(&mut bad);
        let error = bad.check().unwrap_err();
        assert!(error.starts_with(expected), "{error}");
    };
    refused(|bad| bad.version = 9, "version: 9, but this program knows 1");
    refused(|bad| bad.size_bounds.reverse(), "size_bounds: the bounds do not ascend");
    refused(|bad| bad.symbols[3][0] = 4, "symbols: there is no such class in [4");
    refused(|bad| bad.first = 60_000, "first: there is no symbol 60000");
    refused(|bad| bad.gaps[0].bounds_ns.reverse(), "gaps: bounds_ns of class 0");
    refused(|bad| drop(bad.gaps.remove(0)), "gaps: class 0 is missing");
    refused(|bad| bad.sizes[0].sectors[0][0] = 0, "sizes: 0 sectors do not fit");
    refused(|bad| bad.sizes[0].sectors[0][1] = 1 << 62, "sizes: op = 0: [");
    refused(|bad| bad.span_sectors = u64::MAX, "span_sectors: ");
    refused(|bad| drop(bad.sizes.remove(1)), "sizes: op = 1 has none");
    refused(|bad| bad.places[0].ranks[0][0] = 500, "places: ranks of op = 0, kind = 0: [500");
    refused(|bad| bad.phase[0].moves[0][2] += 1, "phase 0: ");
    refused(|bad| bad.phase[0].moves[0].push(7), "phase 0: moves: [0, ");
    refused(|bad| bad.phase[0].segments[0].counts.fill(0), "phase 0: segments: a row has");
    refused(|bad| bad.phase[0].segments[0].duration_ns = u64::MAX, "phase: they last");
}

#[test]
fn more_classes_of_gaps_than_those_of_this_program_can_be_made() {
    let trace = built_in("facebook");
    let mut profile = Profile::clone(&fit(&trace));
    // Further bounds, and what was in the last class is in the class behind them.
    profile.gap_bounds_ns.extend((40..55).map(|bits| 1 << bits));
    let (last, new) = (profile.gaps.last().unwrap().class, profile.gap_bounds_ns.len() as u64);
    profile.gaps.last_mut().unwrap().class = new;
    let classes = profile.symbols.iter_mut().map(|symbol| &mut symbol[2]);
    classes.filter(|class| **class == last).for_each(|class| *class = new);
    assert_eq!(profile.check(), Ok(()));
    assert_eq!(twin(&Arc::new(profile), &ProfileKeys::default(), 1).len(), trace.len());
}

#[test]
fn times_that_have_no_room_are_refused_however_small_their_scale() {
    let mut profile = Profile::clone(&fit(&built_in("facebook")));
    profile.phase[0].segments[0].duration_ns = 1 << 61;
    assert_eq!(profile.check(), Ok(()));
    let requests = profile.requests() * 20;
    for time_scale in [0, 1] {
        let keys = ProfileKeys {
            requests,
            time_scale: Micro::from_millionths(time_scale),
            ..ProfileKeys::default()
        };
        let error = Twin::new(Arc::new(profile.clone()), &keys, 1, None).unwrap_err().to_string();
        assert!(error.starts_with("profile.requests: the last request arrives past"), "{error}");
    }
}

#[test]
fn the_last_sectors_and_the_largest_requests_can_be_fitted() {
    let request = |n: u64, first_sector, sectors| {
        Request::new(RequestOp::ALL[1 + usize::from(n % 2 == 1)], first_sector, sectors)
            .at(Time::from_us(n * 1_000))
    };
    // More than 8 EiB: fitted, but said to be too far.
    let far = fit(&[request(0, 8, 8), request(1, u64::MAX - 8, 8)]);
    assert!(far.check().unwrap_err().starts_with("span_sectors: "), "{:?}", far.check());
    let huge: Vec<_> = (0..20).map(|n| request(n, n << 20, u32::MAX)).collect();
    let profile = fit(&huge);
    assert_eq!(profile.check(), Ok(()));
    let twin = twin(&profile, &ProfileKeys::default(), 1);
    assert!(twin.iter().all(|request| request.sectors == u32::MAX));
}

/// Writes of these sizes at random places of 8 GiB, with gaps of any length up to twice the mean.
fn writes(count: u64, mean_us: u64, sectors: impl Fn(u64) -> u32) -> Vec<Request> {
    let mut random = SplitMix64::new(11);
    let mut arrival_us = 0;
    let request = |n| {
        arrival_us += random.below(2 * mean_us);
        Request::new(RequestOp::Write, 8 * random.below(1 << 21), sectors(n))
            .at(Time::from_us(arrival_us))
    };
    (0..count).map(request).collect()
}

#[test]
fn joined_sizes_of_whole_pages_are_whole_pages() {
    let trace = writes(4_000, 5_000, |n| 8 * (1 + u32::try_from(n % 1_999).unwrap()));
    let twin = twin(&fit(&trace), &ProfileKeys::default(), 1);
    let sum = |all: &[Request]| all.iter().map(|request| f64::from(request.sectors)).sum::<f64>();
    assert!(twin.iter().all(|request| request.sectors % 8 == 0 && request.first_sector % 8 == 0));
    // Rounded by half a page at most, twice, of a thousand pages.
    assert!((sum(&twin) / sum(&trace) - 1.0).abs() < 0.001);
}

#[test]
fn requests_that_outrun_every_device_do_not_wait_for_it() {
    // A hundred times as much work as time: 0.14 s, less than requests may be late.
    let trace = writes(7_000, 20, |_| 24);
    let twin = twin(&fit(&trace), &ProfileKeys::default(), 1);
    let [a, b] = [&trace, &twin].map(|all| info(all).dispersion[0].index.unwrap());
    // A Poisson process has 1, these gaps a third of that.
    assert!(a < 1.0 && b < 2.0, "{a} {b}");
}
