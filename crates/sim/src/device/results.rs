//! Sums over a run, and the report made from them.

use super::finish::queue_wait;
use super::state::Pending;
use super::{Device, SimError};
use crate::config::MultiPlane;
use crate::metrics::backlog::Backlog;
use crate::metrics::counters::{Phase, Tally, Work};
use crate::metrics::histogram::Histogram;
use crate::metrics::parts::Parts;
use crate::report::{
    EnergyReport, FlashReport, GcReport, LatencyReport, MapReport, Report, Tails, Throughput,
    Verdict, WaitReport, Wear, WorkloadReport,
};
use flashyard_core::command::{Op, Purpose};
use flashyard_core::request::{RequestOp, SECTOR_BYTES};
use flashyard_core::units::Time;
use std::collections::BTreeMap;

/// What the map cache did.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct MapTotals {
    pub(super) lookups: u64,
    pub(super) hits: u64,
    pub(super) misses: u64,
    pub(super) dirty_evictions: u64,
    pub(super) stalls: u64,
    pub(super) hazards_ignored: u64,
}

/// Sums of the waiting times that the published comparison uses.
#[derive(Clone, Copy, Debug, Default)]
struct Waits {
    count: u64,
    queue_ns: u128,
    own_ns: u128,
    latency_ns: u128,
}

/// Everything that is summed up during a run.
#[derive(Debug)]
pub(super) struct Totals {
    /// By operation; the last is all of them.
    latency: [Histogram; 5],
    parts: [Parts; 4],
    waits: [Waits; 4],
    sectors: [u64; 4],
    pub(super) work: [Tally; 3],
    pub(super) attributed: Tally,
    pub(super) unattributed: Tally,
    pub(super) map: MapTotals,
    pub(super) gc_jobs: u64,
    pub(super) gc_valid: u64,
    pub(super) gc_superseded: u64,
    pub(super) gc_lines_updated: u64,
    pub(super) room_waits: u64,
    pub(super) suspensions: u64,
    pub(super) padded_units: u64,
    pub(super) partial_writes_read: u64,
    pub(super) rekeys: u64,
    pub(super) unmapped_reads: u64,
    pub(super) data_hazards_ignored: u64,
    pub(super) hazard_picks: u64,
    backlog: Backlog,
    first_arrival: Option<Time>,
    last_arrival: Time,
    last_completion: Time,
}

impl Default for Totals {
    fn default() -> Self {
        Self {
            latency: [true, true, false, false, false].map(Histogram::new),
            parts: [Parts::default(); 4],
            waits: [Waits::default(); 4],
            sectors: [0; 4],
            work: [Tally::default(); 3],
            attributed: Tally::default(),
            unattributed: Tally::default(),
            map: MapTotals::default(),
            gc_jobs: 0,
            gc_valid: 0,
            gc_superseded: 0,
            gc_lines_updated: 0,
            room_waits: 0,
            suspensions: 0,
            padded_units: 0,
            partial_writes_read: 0,
            rekeys: 0,
            unmapped_reads: 0,
            data_hazards_ignored: 0,
            hazard_picks: 0,
            backlog: Backlog::default(),
            first_arrival: None,
            last_arrival: Time::ZERO,
            last_completion: Time::ZERO,
        }
    }
}

impl Totals {
    pub(super) fn arrival(&mut self, pending: &Pending, outstanding: u64) {
        let arrival = pending.request.arrival;
        let first = *self.first_arrival.get_or_insert(arrival);
        self.last_arrival = arrival;
        self.backlog.sample(arrival.since(first).as_ns(), outstanding);
        self.sectors[pending.request.op as usize] += u64::from(pending.request.sectors);
    }

    pub(super) fn answered(&mut self, request: &Pending, now: Time) {
        let class = request.request.op as usize;
        let latency = now.since(request.request.arrival).as_ns();
        self.latency[class].record(latency, &request.parts);
        self.latency[4].record(latency, &request.parts);
        self.parts[class].merge(&request.parts);
        let waits = &mut self.waits[class];
        waits.count += 1;
        waits.queue_ns += u128::from(queue_wait(request.first_slot, request.request.arrival, now));
        waits.own_ns += u128::from(request.own.as_ns());
        waits.latency_ns += u128::from(latency);
        self.last_completion = now;
    }
}

impl Device {
    /// Nothing is left to do: makes the report, or an error where requests are unanswered.
    pub(super) fn finish_run(mut self) -> Result<Report, SimError> {
        if self.outstanding > 0 {
            let unanswered = self.pending.iter().filter(|request| request.answered.is_none());
            let order = unanswered.map(|request| request.order).min().unwrap_or(self.arrived);
            return Err(SimError::Stuck { order, requests: self.outstanding });
        }
        assert_eq!(self.graph.live(), 0, "sets are left over");
        assert!(
            self.planes.iter().all(|plane| plane.job.is_none()),
            "a block is left half collected"
        );
        let mut all = self.totals.attributed;
        all.merge(&self.totals.unattributed);
        let mut phases = Tally::default();
        self.totals.work.iter().for_each(|work| phases.merge(work));
        assert_eq!(all, phases, "work is attributed or unattributed, once");
        if let Some(checker) = self.checker.take() {
            self.map.audit();
            checker.finish(&self.map);
        }
        self.report(&all).ok_or(SimError::TooMuchEnergy)
    }

    fn report(&self, all: &Tally) -> Option<Report> {
        let totals = &self.totals;
        let count = |op: RequestOp| totals.latency[op as usize].count();
        let first = totals.first_arrival.unwrap_or_default();
        let read_write =
            |make: &dyn Fn(usize) -> Tails| BTreeMap::from([("read", make(0)), ("write", make(1))]);
        let names = RequestOp::ALL.iter().map(|op| op.name()).chain(["all"]);
        let energy_pj = self.energy(all, first)?;
        Some(Report {
            workload: WorkloadReport {
                requests: self.arrived,
                reads: count(RequestOp::Read),
                writes: count(RequestOp::Write),
                trims: count(RequestOp::Trim),
                flushes: count(RequestOp::Flush),
                first_ns: first.as_ns(),
                last_ns: totals.last_arrival.as_ns(),
            },
            latency_ns: names
                .zip(&totals.latency)
                .map(|(name, histogram)| (name, LatencyReport::of(histogram)))
                .collect(),
            latency_parts_ns: BTreeMap::from([
                ("read", totals.parts[0]),
                ("write", totals.parts[1]),
            ]),
            latency_parts_tail_ns: read_write(&|class| Tails {
                p99: totals.latency[class].tail_parts(9_900),
                p999: totals.latency[class].tail_parts(9_990),
            }),
            waits_ns: (self.dies.len() == 1).then(|| self.waits()),
            throughput: self.throughput(first),
            flash: self.flash(all),
            map: self.map_report(),
            gc: GcReport {
                jobs: totals.gc_jobs,
                valid_pages_copied: totals.gc_valid,
                copies_superseded: totals.gc_superseded,
                cached_entries_updated: totals.gc_lines_updated,
                programs_that_waited_for_room: totals.room_waits,
            },
            energy_pj,
            wear: Wear::of(self.map.blocks.erase_counts()),
            verdict: self.verdict(first),
        })
    }

    fn waits(&self) -> BTreeMap<&'static str, WaitReport> {
        let mean = |sum: u128, count: u64| (count > 0).then(|| sum as f64 / count as f64);
        let report = |classes: &[usize]| {
            let mut sum = Waits::default();
            for &class in classes {
                let waits = &self.totals.waits[class];
                sum.count += waits.count;
                sum.queue_ns += waits.queue_ns;
                sum.own_ns += waits.own_ns;
                sum.latency_ns += waits.latency_ns;
            }
            let flash = sum.latency_ns.saturating_sub(sum.queue_ns + sum.own_ns);
            WaitReport {
                request_queue_mean: mean(sum.queue_ns, sum.count),
                own_commands_mean: mean(sum.own_ns, sum.count),
                flash_queue_mean: mean(flash, sum.count),
            }
        };
        BTreeMap::from([("read", report(&[0])), ("write", report(&[1])), ("all", report(&[0, 1]))])
    }

    fn throughput(&self, first: Time) -> Throughput {
        let makespan = self.totals.last_completion.as_ns().saturating_sub(first.as_ns());
        let per_second =
            |amount: u64| (makespan > 0).then(|| amount as f64 * 1e9 / makespan as f64);
        let bytes = |op: RequestOp| self.totals.sectors[op as usize] * u64::from(SECTOR_BYTES);
        Throughput {
            makespan_ns: makespan,
            iops: per_second(self.arrived),
            read_bytes_per_s: per_second(bytes(RequestOp::Read)),
            write_bytes_per_s: per_second(bytes(RequestOp::Write)),
        }
    }

    fn flash(&self, all: &Tally) -> FlashReport {
        let by_purpose = |count: &dyn Fn(Work) -> u64| -> BTreeMap<_, BTreeMap<_, _>> {
            let counts = |op: Op| {
                let named = |p: &Purpose| (p.name(), count(all.get(op, *p)));
                Purpose::ALL.iter().map(named).collect()
            };
            [("reads", Op::Read), ("programs", Op::Program), ("erases", Op::Erase)]
                .into_iter()
                .map(|(name, op)| (name, counts(op)))
                .collect()
        };
        let phases = Phase::ALL.iter().map(|phase| {
            let work = &self.totals.work[*phase as usize];
            let ops = Op::ALL.iter().map(|op| (op.name(), work.of_op(*op).ops)).collect();
            (phase.name(), ops)
        });
        let programs = all.of_op(Op::Program).pages;
        let programmed = programs * u64::from(self.settings.geometry.page_bytes);
        let written = self.totals.sectors[RequestOp::Write as usize] * u64::from(SECTOR_BYTES);
        let host = all.get(Op::Program, Purpose::Host).pages;
        FlashReport {
            pages: by_purpose(&|work| work.pages),
            array_ops: by_purpose(&|work| work.ops),
            phases: phases.collect(),
            write_amplification: (written > 0).then(|| programmed as f64 / written as f64),
            programs_per_host_page: (host > 0).then(|| programs as f64 / host as f64),
            padded_units: self.totals.padded_units,
            partial_writes_read: self.totals.partial_writes_read,
            suspensions: self.totals.suspensions,
        }
    }

    fn map_report(&self) -> MapReport {
        let map = &self.totals.map;
        MapReport {
            lookups: map.lookups,
            hits: map.hits,
            misses: map.misses,
            dirty_evictions: map.dirty_evictions,
            batch_cleaned: self.cache.as_ref().map_or(0, |cache| cache.batch_cleaned),
            stalls: map.stalls,
            hazards_ignored: map.hazards_ignored,
            data_hazards_ignored: self.totals.data_hazards_ignored,
            commands_moved: self.totals.rekeys,
            hazard_picks: self.totals.hazard_picks,
        }
    }

    /// Energy on either axis; none where it does not fit 64 bits.
    fn energy(&self, all: &Tally, first: Time) -> Option<EnergyReport> {
        let keys = &self.settings.keys.energy;
        let end = u128::from(self.now.as_ns().saturating_sub(first.as_ns()));
        let standby = end * u128::from(keys.standby_mw) * self.dies.len() as u128;
        let array = |op: Op| -> u128 {
            Purpose::ALL.iter().map(|purpose| all.array_pj(keys, op, *purpose)).sum()
        };
        let purpose = |purpose: Purpose| {
            let arrays: u128 = Op::ALL.iter().map(|op| all.array_pj(keys, *op, purpose)).sum();
            arrays + all.transfer_pj(keys, purpose)
        };
        let transfers = Purpose::ALL.iter().map(|purpose| all.transfer_pj(keys, *purpose)).sum();
        let attributed = self.totals.attributed.energy_pj(keys);
        let background = self.totals.unattributed.energy_pj(keys);
        let mut by_purpose: BTreeMap<_, _> =
            Purpose::ALL.iter().map(|p| (p.name(), purpose(*p))).collect();
        by_purpose.insert("standby", standby);
        let by_resource = BTreeMap::from([
            ("array_read", array(Op::Read)),
            ("array_program", array(Op::Program)),
            ("array_erase", array(Op::Erase)),
            ("channel", transfers),
            ("standby", standby),
        ]);
        let total = attributed + background + standby;
        assert_eq!(total, by_resource.values().sum::<u128>(), "energy by resource adds up");
        assert_eq!(total, by_purpose.values().sum::<u128>(), "energy by purpose adds up");
        let total = u64::try_from(total).ok()?;
        let narrow = |pj: u128| u64::try_from(pj).expect("no part exceeds the total");
        let counts = |axis: BTreeMap<&'static str, u128>| {
            axis.into_iter().map(|(name, pj)| (name, narrow(pj))).collect()
        };
        Some(EnergyReport {
            total,
            attributed: narrow(attributed),
            unattributed: narrow(background + standby),
            by_resource: counts(by_resource),
            by_purpose: counts(by_purpose),
        })
    }

    /// Later arrivals found far more requests than earlier ones, or more were left at the end than
    /// the device could work on, and took long.
    fn queue_grew(&self, span: u64) -> bool {
        let drain =
            self.totals.last_completion.as_ns().saturating_sub(self.totals.last_arrival.as_ns());
        let overfull = self.totals.backlog.most() > self.settings.keys.queue.depth;
        self.totals.backlog.grew() || (overfull && u128::from(drain) * 10 > u128::from(span))
    }

    fn verdict(&self, first: Time) -> Verdict {
        let span = self.totals.last_arrival.since(first).as_ns();
        let work = |phase: Phase| {
            let work = &self.totals.work[phase as usize];
            Op::ALL
                .iter()
                .map(|op| work.of_op(*op))
                .map(|op| op.array_ns + op.transfer_ns)
                .sum::<u64>()
        };
        let busy = u128::from(work(Phase::Foreground)) + u128::from(work(Phase::Idle));
        let keys = &self.settings.keys;
        let at_once = match keys.nand.multi_plane {
            MultiPlane::None => self.dies.len(),
            MultiPlane::SamePage | MultiPlane::Any => self.planes.len(),
        };
        let capacity = u128::from(span) * at_once as u128;
        Verdict {
            initial_state: keys.state.initial.word(),
            initial_write_amplification: self.made.write_amplification,
            initial_error: self.made.error,
            gc_ran: self.totals.gc_jobs > 0,
            offered_load: (capacity > 0).then(|| busy as f64 / capacity as f64),
            queue_grew: self.queue_grew(span),
            most_outstanding: self.totals.backlog.most(),
            unmapped_reads: self.totals.unmapped_reads,
            unmapped_read_cost: keys.nand.unmapped_read.word(),
            folded_requests: 0,
        }
    }
}
