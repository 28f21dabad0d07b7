//! Utilisation and the time series, against what observers saw.

use crate::common::phases::{Bench, latency, pacing, stream};
use crate::common::{Random, collecting, record, request, settings};
use flashyard_core::command::{Op, Purpose};
use flashyard_core::request::{Request, RequestOp};
use flashyard_core::units::Time;
use flashyard_sim::config::Settings;
use flashyard_sim::device::PhaseKeys;
use flashyard_sim::metrics::series::{BinReport, SeriesReport};
use flashyard_sim::report::Report;
use flashyard_sim::stream::Pacing;

const READ: RequestOp = RequestOp::Read;
const WRITE: RequestOp = RequestOp::Write;

fn mixed(settings: &Settings, seed: u64, count: u64) -> Vec<Request> {
    let mut random = Random(seed);
    let pages = u64::from(settings.exported_units) - 3;
    (0..count)
        .map(|at| {
            let op = random.pick(&[READ, WRITE, WRITE, RequestOp::Trim]);
            let length = u32::try_from(1 + random.below(3)).unwrap();
            request(at * 700, op, random.below(pages), length)
        })
        .collect()
}

fn outstanding(series: &SeriesReport) -> u128 {
    series.bins.iter().map(|bin| bin.outstanding_ns).sum()
}

/// Little's law without a tolerance: the integral of the outstanding requests over time is the sum
/// of their latencies, in an open and in a closed loop, whatever the bins.
#[test]
fn the_integral_of_outstanding_requests_is_the_sum_of_latencies() {
    for (bin, kind, link) in
        [("0.5", Pacing::Open, "0"), ("20", Pacing::Closed, "0"), ("3", Pacing::Think, "2000")]
    {
        let link = format!("interface.link_latency_ns={link}");
        let settings = collecting(&[&format!("metrics.bin_ms={bin}"), &link]);
        let lists = [mixed(&settings, 1, 500), mixed(&settings, 2, 400)];
        let mut bench = Bench::new(&settings);
        let mut sum = 0u128;
        for _ in 0..2 {
            let streams = lists.iter().map(|list| stream(pacing(kind, 5), list));
            let done = bench.run(streams.collect());
            sum += done.iter().map(|done| u128::from(latency(done))).sum::<u128>();
        }
        let series = bench.finish().series.expect("bins are asked for");
        assert!(series.bins.len() > 10, "{}", series.bins.len());
        assert_eq!(outstanding(&series), sum, "bins of {bin} ms");
    }
}

/// A closed loop of five reads is never without five.
#[test]
fn bins_show_the_depth_of_a_closed_loop() {
    let settings = collecting(&["metrics.bin_ms=1"]);
    let reads: Vec<_> = (0..2_000).map(|at| request(0, READ, at * 7 % 900, 1)).collect();
    let mut bench = Bench::new(&settings);
    bench.run(vec![stream(pacing(Pacing::Closed, 5), &reads)]);
    let series = bench.finish().series.unwrap();
    assert_eq!(series.bin_ns, 1_000_000);
    let whole = &series.bins[..series.bins.len() - 2];
    assert!(whole.len() > 20);
    assert!(whole.iter().all(|bin| bin.outstanding_mean == Some(5.0)));
}

#[track_caller]
fn check_sums(report: &Report) {
    let series = report.series.as_ref().unwrap();
    let sum = |field: fn(&BinReport) -> u64| series.bins.iter().map(field).sum::<u64>();
    let count = |class: &str| report.latency_ns[class].count;
    assert_eq!(sum(|bin| bin.reads), count("read"));
    assert_eq!(sum(|bin| bin.writes), count("write"));
    assert_eq!(sum(|bin| bin.trims), count("trim"));
    let ops = &report.flash.array_ops;
    assert_eq!(sum(|bin| bin.host_programs), ops["programs"]["host"]);
    assert_eq!(sum(|bin| bin.gc_programs), ops["programs"]["gc"] + ops["programs"]["map_gc"]);
    assert_eq!(sum(|bin| bin.erases), ops["erases"].values().sum());
    assert!(sum(|bin| bin.erases) > 50, "garbage was collected");
    let max = series.bins.iter().filter_map(|bin| bin.latency_max_ns).max();
    assert_eq!(max, report.latency_ns["all"].max);
    let bins = &series.bins;
    let read = |bin: &BinReport| (bin.reads, bin.read_latency_mean_ns, bin.read_latency_max_ns);
    check_latencies(report, "read", bins.iter().map(read));
    let write = |bin: &BinReport| (bin.writes, bin.write_latency_mean_ns, bin.write_latency_max_ns);
    check_latencies(report, "write", bins.iter().map(write));
    let seconds = report.throughput.makespan_ns as f64 / 1e9;
    let bytes = report.throughput.write_bytes_per_s.unwrap() * seconds;
    assert!((sum(|bin| bin.write_bytes) as f64 - bytes).abs() < 1e-6 * bytes);
}

/// Latencies of a class by bin (requests, mean, greatest) come to those of the report.
#[track_caller]
fn check_latencies(
    report: &Report,
    class: &str,
    bins: impl Iterator<Item = (u64, Option<f64>, Option<u64>)>,
) {
    let (mut sum, mut max) = (0.0, None);
    for (count, mean, most) in bins {
        assert_eq!((mean.is_some(), most.is_some()), (count > 0, count > 0));
        sum += mean.unwrap_or(0.0) * count as f64;
        max = max.max(most);
    }
    let of_class = &report.latency_ns[class];
    assert_eq!(max, of_class.max);
    let all = of_class.mean.unwrap() * of_class.count as f64;
    assert!((sum - all).abs() < 1e-9 * all, "{class}: {sum} and {all}");
}

/// The bins of a series add up to the report, and only measured time is in them.
#[test]
fn bins_add_up_to_the_report() {
    let settings = collecting(&["metrics.bin_ms=2"]);
    let (a, b) = (mixed(&settings, 1, 900), mixed(&settings, 2, 800));
    let keys = pacing(Pacing::Closed, 8);
    for measure in [false, true] {
        let mut bench = Bench::new(&settings);
        bench.phase(&PhaseKeys { measure, ..PhaseKeys::default() }, vec![stream(keys, &a)]);
        bench.run(vec![stream(keys, &b)]);
        let report = bench.finish();
        check_sums(&report);
        let series = report.series.as_ref().unwrap();
        // Of the time after the last answer, garbage collection takes a few milliseconds.
        let time = series.bins.len() as u64 * series.bin_ns;
        let makespan = report.throughput.makespan_ns;
        let phases = 1 + u64::from(measure);
        assert!((makespan..makespan + phases * 40_000_000).contains(&time), "{time} {makespan}");
    }
}

/// Opening a block takes one free block, an erase gives one back. A fresh device that was filled
/// once has as many free blocks as were never written.
#[test]
fn free_blocks_are_those_at_the_end_of_each_bin() {
    let settings = settings(&[
        "geometry.blocks_per_plane=512",
        "geometry.pages_per_block=16",
        "ftl.over_provisioning_percent=30",
        "map.store=resident",
        "metrics.bin_ms=11.2",
        "nand.program_us=700",
    ]);
    let writes: Vec<_> = (0..3_200).map(|at| request(0, WRITE, at, 1)).collect();
    let mut bench = Bench::new(&settings);
    bench.run(vec![stream(pacing(Pacing::Closed, 1), &writes)]);
    let series = bench.finish().series.unwrap();
    // 16 programs of 700 us are a bin; the first of them opens a block.
    for (opened, bin) in (1..).zip(&series.bins[..200]) {
        assert_eq!(bin.free_blocks, 512 - opened);
        let programs = if opened == 1 { 15 } else { 16 };
        assert_eq!(bin.host_programs, programs, "the last one ends with the bin");
    }
}

/// Without bins there is no series.
#[test]
fn a_series_is_made_only_where_it_is_asked_for() {
    let settings = collecting(&[]);
    let (report, _) = record(&settings, &[], &mixed(&settings, 1, 10));
    assert_eq!(report.series, None);
}

/// Reads one after the other: the die is always busy, its channel during the transfers.
#[test]
fn utilisation_is_the_share_of_busy_time() {
    let settings = settings(&[
        "geometry.blocks_per_plane=512",
        "geometry.ways=2",
        "nand.read_us=100",
        "channel.ps_per_byte=15625",
        "map.store=resident",
    ]);
    let requests: Vec<_> = (0..10).map(|at| request(at * 164, READ, 2 * at, 1)).collect();
    let (report, _) = record(&settings, &[], &requests);
    let dies = &report.utilisation.dies;
    assert_eq!((dies.min, dies.mean, dies.max), (Some(0.0), Some(0.5), Some(1.0)));
    let channels = &report.utilisation.channels;
    assert_eq!((channels.min, channels.max), (Some(64.0 / 164.0), Some(64.0 / 164.0)));
    let (report, _) = record(&settings, &[], &[]);
    assert_eq!(report.utilisation.dies.mean, None);
}

/// The load that the verdict tells is the busy time of the table over the time of arrivals, however
/// many planes an operation has.
#[test]
fn the_load_of_the_verdict_is_the_busy_time_of_the_table() {
    for planes in ["1", "4"] {
        let planes = format!("geometry.planes={planes}");
        let settings = settings(&[
            "geometry.blocks_per_plane=512",
            "geometry.ways=2",
            "nand.multi_plane=any",
            "channel.ps_per_byte=15625",
            "map.store=resident",
            &planes,
        ]);
        let requests: Vec<_> = (0..40)
            .map(|at| request(at * 700, if at % 2 == 0 { WRITE } else { READ }, 5 * at, 4))
            .collect();
        let (report, _) = record(&settings, &[], &requests);
        let (verdict, span) = (&report.verdict, 39.0 * 700_000.0);
        let busy = report.utilisation.dies.mean.unwrap() * report.throughput.makespan_ns as f64;
        let offered = verdict.offered_load.unwrap() * span;
        assert!((busy - offered).abs() < 1e-6 * busy, "{planes}: {busy} and {offered} ns a die");
        assert!(busy > 0.2 * span);
    }
}

/// Collection in the background goes on long before the first request arrives, in a time that no
/// share is of.
#[test]
fn dies_are_never_busy_for_longer_than_there_was_time() {
    let settings = settings(&[
        "geometry.blocks_per_plane=64",
        "geometry.pages_per_block=16",
        "ftl.over_provisioning_percent=60",
        "map.store=resident",
        "state.initial=aged",
        "gc.timing=background",
        "gc.idle_us=10",
        "gc.background_free_blocks=12",
    ]);
    let requests: Vec<_> = (0..20).map(|at| request(1_000_000 + at, READ, at, 1)).collect();
    let (report, recorded) = record(&settings, &[], &requests);
    let first = requests[0].arrival;
    assert!(recorded.commands.iter().filter(|command| command.end < first).count() > 20);
    assert!(report.utilisation.dies.max.unwrap() <= 1.0, "{:?}", report.utilisation.dies);
}

/// What the command log says, cut at the last completion of each phase.
#[test]
fn utilisation_agrees_with_the_command_log() {
    let settings = collecting(&[]);
    let requests = mixed(&settings, 5, 1_500);
    let (report, recorded) = record(&settings, &[], &requests);
    let end = recorded.requests.iter().map(|done| done.completion).max().unwrap();
    let mut busy = [0u64; 4];
    let mut after = 0;
    for command in &recorded.commands {
        let until = command.end.min(end);
        after += u64::from(command.end > end);
        if command.start < until {
            busy[command.die.index()] += until.since(command.start).as_ns();
        }
    }
    assert!(after > 0, "garbage collection goes on after the last answer");
    let makespan = report.throughput.makespan_ns as f64;
    let shares = busy.map(|ns| ns as f64 / makespan);
    let least = shares.iter().copied().fold(f64::INFINITY, f64::min);
    let most = shares.iter().copied().fold(0.0, f64::max);
    let dies = &report.utilisation.dies;
    assert_eq!((dies.min, dies.max), (Some(least), Some(most)));
    assert!(most < 1.0 && least > 0.3, "{dies:?}");
    let mean = busy.iter().sum::<u64>() as f64 / (4.0 * makespan);
    assert_eq!(dies.mean, Some(mean));
    // A page is on its channel for 10.24 us; none of the commands after the end is counted.
    let transfers = recorded.commands.iter().filter(|command| {
        command.op == Op::Read && command.end <= end
            || command.op == Op::Program && command.start + transfer() <= end
    });
    let found = report.utilisation.channels.mean.unwrap() * 2.0 * makespan;
    let expected = transfers.count() as f64 * transfer().as_ns() as f64;
    // One transfer a channel may be cut by the end.
    assert!((found - expected).abs() <= 2.0 * transfer().as_ns() as f64 + 1.0);
    let copies = recorded.commands.iter().filter(|command| command.purpose == Purpose::Gc);
    assert!(copies.count() > 100);
}

fn transfer() -> flashyard_core::units::Span {
    Time::from_ns(10_240).since(Time::ZERO)
}
