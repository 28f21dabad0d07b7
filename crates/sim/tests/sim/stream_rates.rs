//! What is said and limited of each of several streams: rates, slowdown, bytes over time.

use crate::common::phases::{Bench, device, mixed, named, pacing};
use crate::common::request;
use flashyard_core::request::RequestOp;
use flashyard_core::units::Span;
use flashyard_sim::metrics::parts::{Part, Parts};
use flashyard_sim::stream::{Pacing, StreamKeys};

const READ: RequestOp = RequestOp::Read;
const WRITE: RequestOp = RequestOp::Write;

/// When the request of a number is fetched, in nanoseconds.
type Fetched = fn(u64) -> u64;

/// A stream gets exactly its rate: request k is fetched when the k before it are paid for, less
/// what may be saved up. The other stream has no limit and does not wait; the wait counts as one in
/// the queue of the host.
#[test]
fn a_rate_limit_is_kept_to_the_nanosecond() {
    let settings = device(&["geometry.channels=2"]);
    // Each stream has a die of its own.
    let list =
        |first: u64| (0..40).map(|at| request(0, READ, first + 2 * at, 1)).collect::<Vec<_>>();
    let (limited, free) = (list(0), list(1));
    let fast = pacing(Pacing::Fast, 1);
    let limit = |mb_per_s, iops, burst_ns| StreamKeys {
        rate_limit_mb_per_s: mb_per_s,
        rate_limit_iops: iops,
        rate_limit_burst_ms: burst_ns,
        ..fast
    };
    // 4,096 bytes at 10 MB/s take 409,600 ns; 3,000 requests a second are one in 333,333.3 ns.
    let cases: [(StreamKeys, Fetched); 4] = [
        (limit(10, 0, Span::ZERO), |k| k * 409_600),
        (limit(0, 3_000, Span::ZERO), |k| (k * 1_000_000_000).div_ceil(3_000)),
        (limit(10, 3_000, Span::ZERO), |k| k * 409_600),
        (limit(0, 1_000, Span::from_ms(5)), |k| k.saturating_sub(5) * 1_000_000),
    ];
    for (keys, fetched) in cases {
        let mut bench = Bench::new(&settings);
        let streams = vec![named("limited", keys, &limited), named("free", fast, &free)];
        let mut done = bench.run(streams);
        done.sort_by_key(|done| done.completion);
        let of = |stream| done.iter().filter(move |done| done.request.stream == stream);
        let mut busy = 0;
        for (k, done) in (0..).zip(of(0)) {
            busy = fetched(k).max(busy) + 164_000;
            let end = done.completion.as_ns();
            // Without a burst each is over before the next one is fetched.
            assert!(
                end == busy || !keys.rate_limit_burst_ms.is_zero(),
                "request {k}: {end}, not {busy}"
            );
            assert!(end >= fetched(k) + 164_000, "request {k}: {end}");
            assert!(done.parts.get(Part::HostQueue) >= fetched(k), "{:?}", done.parts);
        }
        assert!(of(1).all(|done| done.parts.get(Part::HostQueue) == 0));
        let report = bench.finish();
        assert_eq!(report.streams["limited"].rate_limited_ns, fetched(39));
        assert_eq!(report.streams["free"].rate_limited_ns, 0);
    }
}

/// The slowdown is 1 where a request never waits, and what the parts of the latencies say where it
/// does; the bytes of streams in the bins of the series add up to theirs.
#[test]
fn slowdown_and_series_of_streams() {
    let settings = device(&["metrics.bin_ms=2", "interface.link_latency_ns=700"]);
    let alone: Vec<_> = (0..10).map(|at| request(5_000 * at, READ, at, 1)).collect();
    let after: Vec<_> = (0..10).map(|at| request(5_000 * at + 2_500, WRITE, at, 1)).collect();
    let open = StreamKeys::default();
    let mut bench = Bench::new(&settings);
    bench.run(vec![named("alone", open, &alone), named("after", open, &after)]);
    let report = bench.finish();
    assert_eq!(report.streams["alone"].slowdown, Some(1.0));
    assert_eq!(report.streams["after"].slowdown, Some(1.0));

    let mut bench = Bench::new(&settings);
    let mixed = mixed(&settings, 3, 200);
    let done = bench.run(vec![named("alone", open, &alone), named("mixed", open, &mixed)]);
    let report = bench.finish();
    let bins = &report.series.as_ref().unwrap().bins;
    for (stream, name) in ["alone", "mixed"].into_iter().enumerate() {
        let of = || done.iter().filter(|done| usize::from(done.request.stream) == stream);
        let sum = |part: fn(&Parts) -> u64| of().map(|done| part(&done.parts)).sum::<u64>() as f64;
        let found = &report.streams[name];
        assert_eq!(found.slowdown, Some(sum(Parts::total) / sum(Parts::own)));
        assert!(found.slowdown > Some(1.2), "{:?}", found.slowdown);
        let bytes = found.bin_bytes.as_ref().unwrap();
        assert_eq!(bytes.len(), bins.len());
        let moved: u64 = of().map(|done| u64::from(done.request.sectors) * 512).sum();
        assert_eq!(bytes.iter().sum::<u64>(), moved);
    }
    let all = |at: usize| -> u64 {
        report.streams.values().map(|stream| stream.bin_bytes.as_ref().unwrap()[at]).sum()
    };
    for (at, bin) in bins.iter().enumerate() {
        assert_eq!(all(at), bin.read_bytes + bin.write_bytes, "bin {at}");
    }
}
