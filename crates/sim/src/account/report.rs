//! The results of a run as plain data. Serialised, it is most of the `--json` contract.

pub use super::placed::{CopiedTo, HandleReport};
pub use super::streams::StreamReport;
use super::{PhaseReport, Utilisation};
use crate::config::Settings;
use crate::metrics::drift::Third;
use crate::metrics::histogram::Histogram;
use crate::metrics::meter::MeterReport;
use crate::metrics::parts::Parts;
use crate::metrics::series::SeriesReport;
use crate::parts::blocks::Blocks;
pub use crate::zones::ZonesReport;
use serde::Serialize;
use std::collections::BTreeMap;

/// Counts by name.
pub type Counts = BTreeMap<&'static str, u64>;

/// What a run found. Times in nanoseconds, energies in picojoules.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// What arrived.
    pub workload: WorkloadReport,
    /// Latencies by class: read, write, trim, flush, all.
    pub latency_ns: BTreeMap<&'static str, LatencyReport>,
    /// The distribution of the latencies of each class, in nanoseconds: upper bounds of the buckets
    /// that hold some, with the number of requests in each.
    #[serde(skip)]
    pub latency_buckets: BTreeMap<&'static str, Vec<(u64, u64)>>,
    /// What the latencies of each class but all are made of, summed over requests.
    pub latency_parts_ns: BTreeMap<&'static str, Parts>,
    /// The same for the slowest requests.
    pub latency_parts_tail_ns: BTreeMap<&'static str, Tails>,
    /// The waiting times of the published comparison; one-die devices only.
    pub waits_ns: Option<BTreeMap<&'static str, WaitReport>>,
    /// Work over time.
    pub throughput: Throughput,
    /// Flash operations.
    pub flash: FlashReport,
    /// Bus requests, where channels carry them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bus: Option<BusReport>,
    /// The map and its cache.
    pub map: MapReport,
    /// The tables of the translation layer.
    pub memory: MemoryReport,
    /// The write buffer.
    pub buffer: BufferReport,
    /// Garbage collection.
    pub gc: GcReport,
    /// The SLC cache, where there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub slc: Option<SlcReport>,
    /// By placement handle, where there are several; behind them what data of several share.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub placement: Option<Vec<HandleReport>>,
    /// Zones, where there are any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub zones: Option<ZonesReport>,
    /// Energy.
    pub energy_pj: EnergyReport,
    /// Power.
    pub power: PowerReport,
    /// Erases a block.
    pub wear: Wear,
    /// What a reader must know before trusting the rest.
    pub verdict: Verdict,
    /// By stream, where a phase has several.
    pub streams: BTreeMap<String, StreamReport>,
    /// All phases, measured or not.
    pub phases: Vec<PhaseReport>,
    /// How busy dies and channels were.
    pub utilisation: Utilisation,
    /// What happened over time, where bins are asked for.
    pub series: Option<SeriesReport>,
}

impl Verdict {
    /// Whether requests come at times of their own and need more of the device than it has.
    pub fn is_overloaded(&self) -> bool {
        self.own_times && self.offered_load.is_some_and(|load| load > 1.0)
    }
}

impl Report {
    /// Takes the time series away, and what comes of it: the report is then that of a run without
    /// `metrics.bin_ms`.
    pub fn forget_series(&mut self) {
        self.series = None;
        self.power.peak_mw = None;
        self.streams.values_mut().for_each(|stream| stream.bin_bytes = None);
        for row in self.placement.iter_mut().flatten() {
            (row.bin_host_bytes, row.bin_media_bytes) = (None, None);
        }
    }
}

/// What channels carried as bus requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct BusReport {
    /// Status requests, in all phases.
    pub status_requests: u64,
    /// Those whose answer was that the die is busy.
    pub busy_answers: u64,
}

/// What went through the SLC cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct SlcReport {
    /// Pages of host data that were programmed with one bit a cell.
    pub cached_pages: u64,
    /// Pages of host data that were programmed with all bits a cell.
    pub direct_pages: u64,
    /// Pages that host reads sensed with one bit a cell ...
    pub read_hits: u64,
    /// ... and with all.
    pub read_misses: u64,
    /// Blocks that were folded.
    pub folds: u64,
    /// Their units that were valid then, and so were copied.
    pub folded_units: u64,
    /// Blocks that were erased after use with one bit a cell.
    pub erased_blocks: u64,
    /// Blocks that hold data with one bit a cell at the end ...
    pub blocks_at_end: u64,
    /// ... and the units that these hold.
    pub units_at_end: u64,
}

/// What arrived.
#[derive(Clone, Debug, Serialize)]
pub struct WorkloadReport {
    /// Requests of all kinds.
    pub requests: u64,
    /// Reads.
    pub reads: u64,
    /// Writes.
    pub writes: u64,
    /// Trims.
    pub trims: u64,
    /// Flushes.
    pub flushes: u64,
    /// First arrival.
    pub first_ns: u64,
    /// Last arrival.
    pub last_ns: u64,
}

/// The latencies of a class; nulls where it is empty. Mean, minimum and maximum are exact,
/// percentiles too high by less than 1 %.
#[derive(Clone, Debug, Serialize)]
pub struct LatencyReport {
    /// Requests.
    pub count: u64,
    /// Exact mean.
    pub mean: Option<f64>,
    /// Exact minimum.
    pub min: Option<u64>,
    /// Nearest-rank percentiles.
    pub p50: Option<u64>,
    /// 90 %.
    pub p90: Option<u64>,
    /// 95 %.
    pub p95: Option<u64>,
    /// 99 %.
    pub p99: Option<u64>,
    /// 99.9 %.
    pub p999: Option<u64>,
    /// 99.99 %.
    pub p9999: Option<u64>,
    /// Exact maximum.
    pub max: Option<u64>,
}

impl LatencyReport {
    /// The figures of a histogram.
    pub fn of(histogram: &Histogram) -> Self {
        Self {
            count: histogram.count(),
            mean: histogram.mean(),
            min: histogram.min(),
            p50: histogram.percentile(5_000),
            p90: histogram.percentile(9_000),
            p95: histogram.percentile(9_500),
            p99: histogram.percentile(9_900),
            p999: histogram.percentile(9_990),
            p9999: histogram.percentile(9_999),
            max: histogram.max(),
        }
    }
}

/// Latency parts of the slowest requests: those in or above the percentile's bucket.
#[derive(Clone, Debug, Serialize)]
pub struct Tails {
    /// The slowest 1 %.
    pub p99: Parts,
    /// The slowest 0.1 %.
    pub p999: Parts,
}

/// Mean waiting times (QWT) as Lee et al., IEEE Access 2021, define them.
#[derive(Clone, Debug, Serialize)]
pub struct WaitReport {
    /// From arrival to the first slot.
    pub request_queue_mean: Option<f64>,
    /// Own commands on the die.
    pub own_commands_mean: Option<f64>,
    /// The rest of the latency.
    pub flash_queue_mean: Option<f64>,
}

/// Work over time.
#[derive(Clone, Debug, Serialize)]
pub struct Throughput {
    /// Last completion - first arrival.
    pub makespan_ns: u64,
    /// Requests a second.
    pub iops: Option<f64>,
    /// Bytes read by the host a second.
    pub read_bytes_per_s: Option<f64>,
    /// Bytes written by the host a second.
    pub write_bytes_per_s: Option<f64>,
    /// Both.
    pub bytes_per_s: Option<f64>,
}

/// Flash operations.
#[derive(Clone, Debug, Serialize)]
pub struct FlashReport {
    /// Pages read and programmed, blocks erased, by purpose.
    #[serde(flatten)]
    pub pages: BTreeMap<&'static str, Counts>,
    /// Array operations by purpose.
    pub array_ops: BTreeMap<&'static str, Counts>,
    /// Array operations by phase: foreground, idle, post.
    pub phases: BTreeMap<&'static str, Counts>,
    /// Bytes programmed for all purposes / bytes the host wrote.
    pub write_amplification: Option<f64>,
    /// What it is made of, which adds up to it: units programmed for the host, by garbage
    /// collection, for the map, by merges and by wear levelling, and padding of any of these.
    pub write_amplification_by: BTreeMap<&'static str, Option<f64>>,
    /// Programs for all purposes / programs of host data.
    pub programs_per_host_page: Option<f64>,
    /// Mapping units left empty because a program was not filled.
    pub padded_units: u64,
    /// The same, by the cause of the program; asked: a request asked for it, by a flush, a
    /// preflush, FUA or `buffer.acknowledge = "program"`.
    pub padded_units_by: BTreeMap<&'static str, u64>,
    /// Writes of parts of units that had to read the unit first.
    pub partial_writes_read: u64,
    /// Suspensions of programs and erases.
    pub suspensions: u64,
    /// Bits that host reads found wrong, where there are such errors.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bit_errors: Option<u64>,
    /// Reads that sensed their pages again, where there is read retry ...
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retried_reads: Option<u64>,
    /// ... and senses of pages after the first one, by purpose.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retries: Option<Counts>,
}

/// The map and its cache.
#[derive(Clone, Debug, Serialize)]
pub struct MapReport {
    /// Translations that went through the cache.
    pub lookups: u64,
    /// Found there, ready or being fetched.
    pub hits: u64,
    /// Fetched.
    pub misses: u64,
    /// Misses that had to write a map page first.
    pub dirty_evictions: u64,
    /// Lines cleaned along with others of their map page.
    pub batch_cleaned: u64,
    /// Attempts to translate that found every line being fetched.
    pub stalls: u64,
    /// Map operations that did not wait for a write that made them stale.
    pub hazards_ignored: u64,
    /// Reads that overtook an earlier write of their page.
    pub data_hazards_ignored: u64,
    /// Commands that moved while they waited.
    pub commands_moved: u64,
    /// Picks of the host policy that the device replaced by an earlier conflicting request.
    pub hazard_picks: u64,
}

/// The tables of the translation layer.
#[derive(Clone, Debug, Serialize)]
pub struct MemoryReport {
    /// Bytes of the tables that are always in memory.
    pub table_bytes: u64,
    /// Bytes of the map cache.
    pub cache_bytes: u64,
    /// Bytes of the write buffer.
    pub buffer_bytes: u64,
    /// Entries of tables and map cache that were looked up or changed.
    pub table_accesses: u64,
}

/// The write buffer; zeros where there is none.
#[derive(Clone, Debug, Serialize)]
pub struct BufferReport {
    /// Mapping units that fit.
    pub units: u64,
    /// Page accesses of reads that it served ...
    pub read_hits: u64,
    /// ... and those that it did not.
    pub read_misses: u64,
    /// Page accesses of writes that replaced what a line held ...
    pub write_hits: u64,
    /// ... and those that took another line.
    pub write_misses: u64,
    /// Page accesses of writes that waited for a line.
    pub stalls: u64,
    /// Units that became dirty.
    pub dirtied_units: u64,
    /// Dirty units whose program began.
    pub flushed_units: u64,
    /// Dirty units that were trimmed.
    pub trimmed_units: u64,
    /// Units that stayed, clean, after a read of flash.
    pub allocated_units: u64,
    /// Share of the page accesses of reads that it served.
    pub hit_ratio_read: Option<f64>,
    /// Share of the page accesses of writes that replaced what a line held.
    pub hit_ratio_write: Option<f64>,
    /// Time of the port in gets of requests ...
    pub get_ns: u64,
    /// ... in puts ...
    pub put_ns: u64,
    /// ... and in gets of flushes.
    pub flush_get_ns: u64,
    /// Time of gets, of both kinds, that passed beside a put ...
    pub hidden_read_ns: u64,
    /// ... and its share of the time of all gets.
    pub hidden_read_ratio: Option<f64>,
    /// Dirty units at the end.
    pub dirty_at_end: u64,
    /// Reading ahead; none where the device does not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub read_ahead: Option<ReadAheadReport>,
}

/// What was read ahead of runs of reads.
#[derive(Clone, Debug, Serialize)]
pub struct ReadAheadReport {
    /// Units that the device began to read ahead.
    pub units: u64,
    /// Those of them that no request has read: they made way, were written or trimmed before, or
    /// are there still.
    pub unread_units: u64,
    /// Page accesses of reads that found their unit read ahead ...
    pub hits: u64,
    /// ... and those of them that waited for it, since it was being read.
    pub waits: u64,
    /// Energy of the flash and its channels for what no request has read: its share of the energy
    /// of all that was read ahead.
    pub unread_pj: u64,
}

/// Garbage collection.
#[derive(Clone, Debug, Serialize)]
pub struct GcReport {
    /// Victims.
    pub jobs: u64,
    /// Looks at candidates for them.
    pub searches: u64,
    /// Their valid pages when they were chosen.
    pub valid_pages_copied: u64,
    /// Copies whose source was superseded meanwhile.
    pub copies_superseded: u64,
    /// Moved pages whose map entry was cached.
    pub cached_entries_updated: u64,
    /// Programs that had to wait for an erase.
    pub programs_that_waited_for_room: u64,
    /// Merges of log blocks.
    pub merges: MergeReport,
}

/// Merges of log blocks; zeros where there are none.
#[derive(Clone, Debug, Serialize)]
pub struct MergeReport {
    /// Log blocks that became data blocks as they were.
    pub switch: u64,
    /// Log blocks that were completed by copies.
    pub partial: u64,
    /// Data blocks that were gathered into a free block.
    pub full: u64,
    /// Log blocks that were erased without a valid page.
    pub dead: u64,
}

/// Energy in picojoules; attributed + flushed + unattributed = total = the sum over each axis.
#[derive(Clone, Debug, Serialize)]
pub struct EnergyReport {
    /// All of it.
    pub total: u64,
    /// Of requests: their own commands and the garbage collection that they triggered.
    pub attributed: u64,
    /// Of writes that were answered before: their flushes from the write buffer.
    pub flushed: u64,
    /// Background work, standby, controller and memory.
    pub unattributed: u64,
    /// By what took it.
    pub by_resource: Counts,
    /// By what for.
    pub by_purpose: Counts,
    /// By when: while requests were outstanding, between them, after the last one.
    pub by_phase: Counts,
    /// Of the link, by the class of requests whose data crossed it: read, write.
    pub link: Counts,
}

/// Power in milliwatts.
#[derive(Clone, Debug, Serialize)]
pub struct PowerReport {
    /// From the first arrival to the end of all work, over measured phases.
    pub span_ns: u64,
    /// All energy over that time.
    pub mean_mw: Option<f64>,
    /// The highest mean of a bin of the time series.
    pub peak_mw: Option<f64>,
    /// All energy over the megabytes (10^6 bytes) that the host read and wrote, in joules.
    pub j_per_mb: Option<f64>,
    /// How often a die waited for power ...
    pub waits: u64,
    /// ... and how long all of them did.
    pub waited_ns: u64,
    /// Sleep, on a device that may sleep.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sleep: Option<SleepReport>,
    /// The power meter, where there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub meter: Option<MeterReport>,
}

/// How the device slept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct SleepReport {
    /// Time at the level of `[sleep]` ...
    pub asleep_ns: u64,
    /// ... and at that of `[deep_sleep]`.
    pub deep_asleep_ns: u64,
    /// Both, and the ways there and back.
    pub dozed_ns: u64,
    /// How often the device woke.
    pub wakes: u64,
}

/// Erases a block.
#[derive(Clone, Debug, Serialize)]
pub struct Wear {
    /// Of the least erased block.
    pub erases_min: u32,
    /// Mean over all blocks.
    pub erases_mean: f64,
    /// Of the most erased block.
    pub erases_max: u32,
    /// Jobs that moved data that is never written out of blocks that are hardly erased.
    pub levelling_jobs: u64,
    /// Blocks that are bad from the start; their erases do not count above.
    pub factory_bad_blocks: u64,
    /// Blocks that wore out.
    pub grown_bad_blocks: u64,
    /// Number of blocks by how often they were erased.
    #[serde(skip)]
    pub blocks_by_erases: BTreeMap<u32, u64>,
    /// What the flash bears; none where no cycles are known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub endurance: Option<Endurance>,
}

/// Days of a year as data sheets have it.
pub const YEAR_DAYS: f64 = 365.0;

/// What the blocks of a device bear, if wear is even and the whole life is like the run.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Endurance {
    /// Erases of a block: `nand.endurance_cycles` or, where blocks do not wear out,
    /// `nand.rated_cycles`.
    pub cycles: u64,
    /// Bytes that may be programmed: those of the blocks that are not bad from the start, times
    /// these erases.
    pub flash_bytes: f64,
    /// Bytes that the host may write: these over the write amplification of the run; none where
    /// the host wrote nothing.
    pub host_bytes: Option<f64>,
    /// The same as writes of the whole capacity a day, for five years of 365 days.
    pub writes_a_day: Option<f64>,
    /// The same as seconds of the load of the run, without a pause.
    pub life_s: Option<f64>,
}

/// Adds so many blocks that were erased so often.
fn add(blocks_by_erases: &mut BTreeMap<u32, u64>, (count, blocks): (u32, u64)) {
    if blocks > 0 {
        *blocks_by_erases.entry(count).or_default() += blocks;
    }
}

impl Wear {
    /// The figures of a device with such blocks.
    pub(crate) fn of_device(blocks: &Blocks, settings: &Settings) -> Self {
        let planes = settings.geometry.all_planes();
        Self {
            factory_bad_blocks: u64::from(settings.factory_bad_blocks) * u64::from(planes),
            grown_bad_blocks: blocks.grown_bad(),
            ..Self::of(blocks.usable_erase_counts())
        }
    }

    /// The figures of blocks that were erased this often.
    pub fn of(erases: impl Iterator<Item = u32>) -> Self {
        let (mut least, mut most, mut sum, mut blocks) = (u32::MAX, 0, 0u64, 0u64);
        let mut blocks_by_erases = BTreeMap::new();
        // Most blocks were erased as often as the one before.
        let mut alike = (0, 0);
        for count in erases {
            if count != alike.0 {
                add(&mut blocks_by_erases, alike);
                alike = (count, 0);
            }
            alike.1 += 1;
            (least, most) = (least.min(count), most.max(count));
            sum += u64::from(count);
            blocks += 1;
        }
        add(&mut blocks_by_erases, alike);
        Self {
            erases_min: if blocks > 0 { least } else { 0 },
            erases_mean: sum as f64 / blocks.max(1) as f64,
            erases_max: most,
            levelling_jobs: 0,
            factory_bad_blocks: 0,
            grown_bad_blocks: 0,
            blocks_by_erases,
            endurance: None,
        }
    }
}

/// What a reader must know before trusting the rest.
#[derive(Clone, Debug, Serialize)]
pub struct Verdict {
    /// What the device held when the run started.
    pub initial_state: &'static str,
    /// The write amplification that goes with a steady state ...
    pub initial_write_amplification: Option<f64>,
    /// ... and its relative error, where it was found by simulating a small pool.
    pub initial_error: Option<f64>,
    /// Places for units beyond those that the host sees, as a share of these ...
    pub over_provisioning: f64,
    /// ... and without those that garbage collection leaves empty when it takes a victim and those
    /// of map pages; none of schemes with log blocks.
    pub effective_over_provisioning: Option<f64>,
    /// Whether garbage collection ran.
    pub gc_ran: bool,
    /// Time that dies were taken before the last answer / (dies x time of arrivals); above 1 the
    /// device cannot keep up.
    pub offered_load: Option<f64>,
    /// Whether every request came at a time of its own, so that the load was offered and did not
    /// follow from answers.
    #[serde(skip)]
    pub own_times: bool,
    /// The first and the last third of the measured requests; none of fewer than three.
    pub thirds: Option<[Third; 2]>,
    /// Whether later arrivals found far more requests than earlier ones.
    pub queue_grew: bool,
    /// The most requests that an arrival found.
    pub most_outstanding: u64,
    /// Writes that begin or end inside a mapping unit.
    pub partial_writes: u64,
    /// Page accesses that read a never-written page ...
    pub unmapped_reads: u64,
    /// ... and what one costs: array or zero.
    pub unmapped_read_cost: &'static str,
    /// Requests whose address was folded into the device; filled in by whoever read the workload.
    pub folded_requests: u64,
    /// Requests that arrive at another time inside the tick of their trace's clock than at its
    /// start; filled in by whoever read the workload.
    pub spread_requests: u64,
}
