//! The figures that expressions and tables name. docs/STUDIES.md lists them.

use flashyard_core::request::{Request, RequestOp, SECTOR_BYTES};
use flashyard_run::headline;
use flashyard_run::points::made::Made;
use flashyard_sim::report::Report;
use std::ops::Range;

/// A figure of a run.
#[derive(Debug)]
pub struct Metric {
    /// As expressions and the output have it.
    pub name: &'static str,
    /// What it is, with its unit.
    pub what: &'static str,
    of: fn(&Report) -> Option<f64>,
}

/// A figure of the cuts that are made of a run.
#[derive(Debug)]
pub struct CutMetric {
    /// As expressions and the output have it.
    pub name: &'static str,
    /// What it is, with its unit.
    pub what: &'static str,
    of: fn(&Made) -> f64,
}

/// A figure of a workload. It does not depend on the device.
pub(crate) struct WorkloadMetric {
    pub(crate) name: &'static str,
    #[cfg_attr(not(test), expect(dead_code, reason = "the documentation is tested against it"))]
    pub(crate) what: &'static str,
    /// Not a number where it is not defined.
    of: fn(&[Request]) -> f64,
}

macro_rules! metrics {
    ($type:ident, $input:ty: $($name:literal, $what:literal, $of:expr;)+) => {
        &[$($type { name: $name, what: $what, of: |report: $input| $of(report) }),+]
    };
}

/// Every figure of a run.
pub const METRICS: &[Metric] = metrics! { Metric, &Report:
    "read", "mean latency of reads, ns", |report| raw(report, "read.mean_us");
    "write", "mean latency of writes, ns", |report| raw(report, "write.mean_us");
    "io", "mean latency of all requests, ns", |report| raw(report, "all.mean_us");
    "flush", "mean latency of flushes, ns", |report| raw(report, "flush.mean_us");
    "read_p99", "99th percentile of the latencies of reads, ns", |report| raw(report, "read.p99_us");
    "io_p99", "99th percentile of the latencies of all requests, ns", |report| raw(report, "all.p99_us");
    "write_p50", "median of the latencies of writes, ns", |report| raw(report, "write.p50_us");
    "write_p90", "90th percentile of the latencies of writes, ns", |report| raw(report, "write.p90_us");
    "reads", "reads whose latency counts", |report| raw(report, "read.count");
    "writes", "writes whose latency counts", |report| raw(report, "write.count");
    "queue_wait", "mean wait of all requests for the first slot, ns (one die)", |report| wait(report, 0);
    "own_time", "mean time of a request's own commands, ns (one die)", |report| wait(report, 1);
    "flash_wait", "mean rest of the latency, ns (one die)", |report| wait(report, 2);
    "rate", "requests a second", |report| raw(report, "iops");
    "outstanding", "requests outstanding on average (Little's law: rate x mean latency of all requests)", outstanding;
    "grew", "1 where the queue grew, else 0", |report| raw(report, "queue_grew");
    "bandwidth", "reads and writes answered, MB/s, without the first tenth of the time series", bandwidth;
    "first_before", "reads and writes of the first of several streams, MB/s, in the first third of the time series", |report| third(report, 0, 0);
    "first_during", "the same in its middle third", |report| third(report, 0, 1);
    "first_after", "the same in its last third", |report| third(report, 0, 2);
    "second_before", "reads and writes of the second stream, MB/s, in the first third", |report| third(report, 1, 0);
    "second_during", "the same of the second stream in the middle third", |report| third(report, 1, 1);
    "second_after", "the same of the second stream in the last third", |report| third(report, 1, 2);
    "knee", "megabytes that reads and writes moved before the first bin of the time series with less than half the mean rate of the first five bins", knee;
    "makespan", "first arrival to last answer, ns", |report| raw(report, "makespan_s");
    "hidden", "share of the port time of gets that passes beside a put", |report| raw(report, "buffer_hidden_reads");
    "read_hits", "share of the page accesses of reads that the buffer serves", |report| raw(report, "buffer_read_hits");
    "write_hits", "share of the page accesses of writes that replace a line of the buffer", |report| raw(report, "buffer_write_hits");
    "flushed", "units flushed from the buffer", |report: &Report| whole(report.buffer.flushed_units);
    "wa", "bytes programmed / bytes written by the host", |report| raw(report, "wa");
    "programs", "pages programmed / host pages programmed", |report: &Report| report.flash.programs_per_host_page;
    "map_misses", "misses of the map cache", |report| raw(report, "map_misses");
    "dirty_evictions", "misses of the map cache that wrote a map page first", |report: &Report| whole(report.map.dirty_evictions);
    "stalls", "translations that found every line being fetched", |report: &Report| whole(report.map.stalls);
    "hazard_picks", "picks of the host policy that conflicted with an earlier request", |report: &Report| whole(report.map.hazard_picks);
    "collections", "blocks collected", |report| raw(report, "gc_victims");
    "looks", "candidates looked at for victims", |report: &Report| whole(report.gc.searches);
    "switch_merges", "switch merges", |report| raw(report, "merges_switch");
    "partial_merges", "partial merges", |report| raw(report, "merges_partial");
    "full_merges", "full merges", |report| raw(report, "merges_full");
    "dead_logs", "log blocks erased without a merge", |report: &Report| whole(report.gc.merges.dead);
    "erases", "blocks erased", |report| raw(report, "erases");
    "table_bytes", "bytes of the tables of the translation layer", |report: &Report| whole(report.memory.table_bytes);
    "table_accesses", "entries looked up or changed", |report: &Report| whole(report.memory.table_accesses);
    "mb_per_s", "bytes that reads and writes moved over the makespan, MB/s", |report| headline::named("mb_per_s").value(report);
    "watts", "mean power until the end of all work, W", |report| headline::named("power_w").value(report);
    "j_per_mb", "all energy over the megabytes that reads and writes moved, J/MB", |report| raw(report, "j_per_gb");
    "energy", "all energy, pJ", |report| raw(report, "energy_mj");
    "post_energy", "energy of array operations after the last request, pJ", |report| whole(Parts::of(report).post);
    "host_read_energy", "energy of host reads, pJ", |report| whole(Parts::of(report).host[0]);
    "host_write_energy", "energy of host programs, pJ", |report| whole(Parts::of(report).host[1]);
    "copy_read_energy", "energy of reads of collection, merges and wear levelling, pJ", |report| whole(Parts::of(report).copy[0]);
    "copy_write_energy", "energy of their programs, pJ", |report| whole(Parts::of(report).copy[1]);
    "map_read_energy", "energy of reads of map pages, pJ", |report| whole(Parts::of(report).map[0]);
    "map_write_energy", "energy of programs of map pages, pJ", |report| whole(Parts::of(report).map[1]);
    "erase_energy", "energy of erases, pJ", |report| whole(Parts::of(report).erase);
    "other_energy", "energy of all that is no operation of the array, pJ", |report| whole(Parts::of(report).other);
    "search_energy", "energy of looks at candidates, pJ", |report| resource(report, "search");
    "dram_energy", "energy of DRAM, pJ", |report| resource(report, "dram");
    "buffer_energy", "energy of accesses of the buffer, pJ", |report| resource(report, "buffer");
    "buffer_standby", "standby energy of the buffer, pJ", |report| resource(report, "buffer_standby");
    "link_energy", "energy of data on the link to the host, pJ", |report| resource(report, "link");
    "reclaim_energy", "energy of garbage collection and merges besides their operations, pJ", |report| resource(report, "reclaim");
    "sleep_energy", "energy of sleep and of the ways there and back, pJ", |report| resource(report, "sleep");
};

/// Every figure of the cuts that are made of a run.
pub const CUTS: &[CutMetric] = metrics! { CutMetric, &Made:
    "cuts", "cuts that were made", |made: &Made| made.cuts as f64;
    "breaking", "cuts that broke a promise", |made: &Made| made.breaking as f64;
    "lost_units", "units of which something was lost, of all cuts", |made: &Made| made.lost_units as f64;
    "broken_units", "units with a broken promise, of all cuts", |made: &Made| made.broken_units as f64;
    "needed", "energy that saving everything takes at the worst cut, pJ", |made: &Made| made.needed_pj as f64;
    "saved_units", "units that a capacitor saved out of the buffer, the most of a cut", |made: &Made| made.saved_units as f64;
    "recovery", "time of a recovery, the median of all cuts, ns", |made: &Made| made.recovery_ns(50) as f64;
    "recovery_most", "the longest recovery, ns", |made: &Made| made.recovery_ns(100) as f64;
    "recovery_reads", "pages that the recovery with the most reads has read", |made: &Made| made.recovery_reads as f64;
};

/// The place of a figure of a run by its name: those of [`METRICS`], the columns of sweeps, and
/// [`CUTS`].
pub(crate) fn place(name: &str) -> Option<usize> {
    names().position(|known| known == name)
}

/// The names of all figures of a run.
pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    let own = METRICS.iter().map(|metric| metric.name);
    let all = own.chain(headline::ALL.iter().map(|one| &*one.name));
    all.chain(CUTS.iter().map(|metric| metric.name))
}

/// All figures of a run by place, and of its cuts where some were made; not a number where one is
/// not defined.
pub(crate) fn all_of(report: &Report, made: Option<&Made>) -> Vec<f64> {
    let own = METRICS.iter().map(|metric| metric.value(report));
    let all = own.chain(headline::ALL.iter().map(|column| column.value(report)));
    let all = all.chain(CUTS.iter().map(|metric| made.map(|made| metric.value(made))));
    all.map(|value| value.unwrap_or(f64::NAN)).collect()
}

impl CutMetric {
    /// The figure.
    pub(crate) fn value(&self, made: &Made) -> f64 {
        (self.of)(made)
    }
}

/// Every figure of a workload.
pub(crate) const WORKLOAD_METRICS: &[WorkloadMetric] = metrics! { WorkloadMetric, &[Request]:
    "requests", "requests", |all: &[Request]| all.len() as f64;
    "size_kib", "mean size, KiB", |all| size(all, |_| true);
    "read_kib", "mean size of reads, KiB", |all| size(all, |op| op == RequestOp::Read);
    "write_kib", "mean size of writes, KiB", |all| size(all, |op| op == RequestOp::Write);
    "write_share", "share of writes", share_of_writes;
    "random_share", "share of requests that do not start where the one before ended", share_of_random;
    "per_second", "requests over the time from the first arrival to the last, a second", |all: &[Request]| all.len() as f64 / seconds(all);
    "gap_ms", "mean time from one arrival to the next, the first from time 0, ms", gap_ms;
    "hours", "time of the last arrival, h", |all: &[Request]| last_ns(all) / 3.6e12;
};

impl Metric {
    /// Returns the figure of a run, if it is defined.
    fn value(&self, report: &Report) -> Option<f64> {
        (self.of)(report)
    }
}

impl WorkloadMetric {
    /// Returns the figure of a workload, if it is defined.
    pub(crate) fn value(&self, requests: &[Request]) -> Option<f64> {
        Some((self.of)(requests)).filter(|value| value.is_finite())
    }
}

#[expect(clippy::unnecessary_wraps, reason = "a count is a figure that every run has")]
const fn whole(count: u64) -> Option<f64> {
    Some(count as f64)
}

/// Megabytes a second of reads and writes, without the first tenth of the series.
fn bandwidth(report: &Report) -> Option<f64> {
    let bins = &report.series.as_ref()?.bins;
    let bytes: Vec<u64> = bins.iter().map(|bin| bin.read_bytes + bin.write_bytes).collect();
    rate(&bytes, report, |count| count / 10..count)
}

/// Megabytes that were moved before the rate fell to less than half of what it was at first.
fn knee(report: &Report) -> Option<f64> {
    const FIRST: usize = 5;
    let bins = &report.series.as_ref()?.bins;
    let bytes: Vec<u64> = bins.iter().map(|bin| bin.read_bytes + bin.write_bytes).collect();
    let first: u64 = bytes.get(..FIRST)?.iter().sum();
    let is_slow = |bytes: &u64| *bytes * 2 * (FIRST as u64) < first;
    let fast = bytes.iter().position(is_slow).unwrap_or(bytes.len());
    Some(bytes[..fast].iter().sum::<u64>() as f64 / 1e6)
}

/// Megabytes a second of a stream, by its place in the order of names, in a third of the series.
fn third(report: &Report, stream: usize, third: usize) -> Option<f64> {
    let bytes = report.streams.values().nth(stream)?.bin_bytes.as_ref()?;
    rate(bytes, report, |count| count * third / 3..count * (third + 1) / 3)
}

/// The bytes of some bins over their time, in megabytes a second. A last bin counts if the run
/// fills half of it.
fn rate(bytes: &[u64], report: &Report, bins: impl Fn(usize) -> Range<usize>) -> Option<f64> {
    let bin_ns = report.series.as_ref()?.bin_ns;
    let full = (report.throughput.makespan_ns + bin_ns / 2) / bin_ns;
    let bins = bins(bytes.len().min(usize::try_from(full).ok()?));
    let ns = bin_ns * bins.len() as u64;
    (ns > 0).then(|| bytes[bins].iter().sum::<u64>() as f64 * 1e3 / ns as f64)
}

/// A figure that tables of points have, too, in the unit of reports.
fn raw(report: &Report, name: &str) -> Option<f64> {
    headline::named(name).raw(report)
}

fn outstanding(report: &Report) -> Option<f64> {
    Some(report.throughput.iops? * raw(report, "all.mean_us")? / 1e9)
}

fn wait(report: &Report, which: usize) -> Option<f64> {
    let waits = &report.waits_ns.as_ref()?["all"];
    [waits.request_queue_mean, waits.own_commands_mean, waits.flash_queue_mean][which]
}

fn operations(report: &Report, kind: &str) -> u64 {
    report.flash.array_ops[kind].values().sum()
}

fn resource(report: &Report, name: &str) -> Option<f64> {
    report.energy_pj.by_resource.get(name).map(|&pj| pj as f64)
}

/// The energy of a run by its purpose, in picojoules.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Parts {
    pub(crate) post: u64,
    pub(crate) host: [u64; 2],
    pub(crate) copy: [u64; 2],
    pub(crate) map: [u64; 2],
    pub(crate) erase: u64,
    /// What is no operation of the array: controller, DRAM, standby, searches, channel, buffer.
    pub(crate) other: u64,
}

impl Parts {
    /// Operations of a kind cost the same each where energies are given by operation, so energy is
    /// operations x energy.
    pub(crate) fn of(report: &Report) -> Self {
        let flash = &report.flash;
        let kinds = [("reads", "read"), ("programs", "program"), ("erases", "erase")];
        let each = kinds.map(|(plural, single)| {
            // A disk has no arrays.
            let energy = report.energy_pj.by_resource.get(format!("array_{single}").as_str());
            energy.copied().unwrap_or(0).checked_div(operations(report, plural)).unwrap_or(0)
        });
        let of = |kind: usize, purposes: &[&str]| {
            let counts = &flash.array_ops[kinds[kind].0];
            each[kind] * purposes.iter().filter_map(|purpose| counts.get(purpose)).sum::<u64>()
        };
        let pair = |purposes: &[&str]| [0, 1].map(|kind| of(kind, purposes));
        let post = &flash.phases["post"];
        let parts = Self {
            post: (0..3).map(|kind| each[kind] * post[kinds[kind].1]).sum(),
            host: pair(&["host"]),
            copy: pair(&["gc", "merge", "wear", "fold"]),
            map: pair(&["map_fetch", "map_writeback", "map_gc"]),
            erase: operations(report, "erases") * each[2],
            other: 0,
        };
        let array: u64 = [parts.host, parts.copy, parts.map].iter().flatten().sum();
        Self { other: report.energy_pj.total - array - parts.erase, ..parts }
    }
}

fn size(all: &[Request], is_counted: impl Fn(RequestOp) -> bool) -> f64 {
    let counted = || all.iter().filter(|request| is_counted(request.op));
    let sectors: u64 = counted().map(|request| u64::from(request.sectors)).sum();
    sectors as f64 * f64::from(SECTOR_BYTES) / 1024.0 / counted().count() as f64
}

fn share_of_writes(all: &[Request]) -> f64 {
    let writes = all.iter().filter(|request| request.op == RequestOp::Write).count();
    writes as f64 / all.len() as f64
}

fn share_of_random(all: &[Request]) -> f64 {
    let follows = all
        .windows(2)
        .filter(|pair| pair[0].first_sector + u64::from(pair[0].sectors) == pair[1].first_sector);
    1.0 - follows.count() as f64 / all.len() as f64
}

fn last_ns(all: &[Request]) -> f64 {
    all.last().map_or(f64::NAN, |request| request.arrival.as_ns() as f64)
}

fn seconds(all: &[Request]) -> f64 {
    let ends = all.first().zip(all.last());
    ends.map_or(f64::NAN, |(first, last)| last.arrival.since(first.arrival).as_ns() as f64 / 1e9)
}

fn gap_ms(all: &[Request]) -> f64 {
    last_ns(all) / 1e6 / all.len() as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    use flashyard_core::units::Time;

    /// Two requests of 4 and 8 KiB, the second behind the first.
    #[test]
    fn figures_of_a_workload_are_counted_as_the_papers_do() {
        let request = |ms: u64, first_sector, sectors, op| {
            Request::new(op, first_sector, sectors).at(Time::from_us(ms * 1_000))
        };
        let requests =
            [request(100, 8, 8, RequestOp::Write), request(200, 16, 16, RequestOp::Read)];
        let of = |name: &str| {
            let metric = WORKLOAD_METRICS.iter().find(|metric| metric.name == name);
            metric.expect("a figure").value(&requests)
        };
        let expected = [
            ("requests", 2.0),
            ("size_kib", 6.0),
            ("read_kib", 8.0),
            ("write_kib", 4.0),
            ("write_share", 0.5),
            ("random_share", 0.5),
            ("per_second", 20.0),
            ("gap_ms", 100.0),
            ("hours", 0.2 / 3_600.0),
        ];
        assert_eq!(expected.len(), WORKLOAD_METRICS.len());
        for (name, value) in expected {
            assert!(of(name).is_some_and(|found| (found - value).abs() < 1e-12), "{name}");
        }
        assert!(size(&[], |_| true).is_nan());
    }

    #[test]
    fn names_are_unique_and_documented() {
        let docs = include_str!("../../../docs/STUDIES.md");
        let all = METRICS.iter().map(|metric| (metric.name, metric.what));
        let all = all.chain(CUTS.iter().map(|metric| (metric.name, metric.what)));
        let all = all.chain(WORKLOAD_METRICS.iter().map(|metric| (metric.name, metric.what)));
        let all: Vec<_> = all.collect();
        for (place, (name, what)) in all.iter().enumerate() {
            assert!(all[..place].iter().all(|(other, _)| other != name), "{name} twice");
            assert!(docs.contains(&format!("| `{name}` | {what} |")), "STUDIES.md: {name}, {what}");
        }
    }
}
