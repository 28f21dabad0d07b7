//! Energy of a run: by what took it, by what for, by phase; its mean and its highest power.
//!
//! Operations are counted where they end (`metrics::counters`). What is there at all times
//! (standby, controller, DRAM, buffer) is power x time from the first arrival of a phase to the end
//! of its work, and accesses to memory are counts x energy. All sums are exact; the one division,
//! of a power by bytes, is rounded down once.

use super::Device;
use crate::account::energy::{Accesses, Background};
use crate::flash::Operation;
use crate::metrics::counters::{Phase, Tally};
use crate::metrics::series::{MIB_BITS, SeriesReport};
use crate::report::{Counts, EnergyReport, PowerReport};
use flashyard_core::command::{Op, Purpose};
use flashyard_core::units::{DieId, Span, Time};
use std::collections::BTreeMap;

impl Device {
    /// Time goes on to `now` while no request is outstanding.
    pub(super) fn rest_until(&mut self, now: Time) {
        if self.account.totals.has_begun() {
            let ns = now.since(self.now).as_ns();
            let (phase, busy) = (self.phase(), self.sets.graph.live() > 0);
            self.account.totals.energy.quiet_ns[phase as usize][usize::from(busy)] += ns;
        }
        self.see_accesses();
        self.account.totals.energy.quiet_until = now;
    }

    /// Accesses since the last look, made when nothing was outstanding and nothing is now, belong
    /// to the current phase; all others are of the foreground.
    pub(super) fn see_accesses(&mut self) {
        let keys = &self.settings.keys.energy;
        if keys.dram_access_pj == 0 && keys.search_pj == 0 {
            return;
        }
        let (all, phase) = (self.accesses(), self.phase());
        let quiet = self.account.totals.energy.quiet_until == self.now;
        let totals = &mut self.account.totals.energy;
        let seen = std::mem::replace(&mut totals.seen, all);
        if quiet {
            let sum = &mut totals.quiet[phase as usize];
            sum.tables += all.tables - seen.tables;
            sum.searches += all.searches - seen.searches;
        }
    }

    /// All accesses until now.
    fn accesses(&self) -> Accesses {
        let mut work = self.account.totals.attributed;
        work.merge(&self.account.totals.unattributed);
        let searches = self.account.totals.gc_searches + self.merges().searches;
        Accesses { tables: self.table_accesses(&work), searches }
    }

    /// Power of standby, controller and memory at this moment, in microwatts times bytes of a MiB.
    pub(super) fn background_uw_mib(&self) -> u128 {
        if !self.account.totals.has_begun() {
            return 0;
        }
        let keys = &self.settings.keys.energy;
        let active = self.host.outstanding > 0 || self.sets.graph.live() > 0;
        let controller = if active { keys.controller_active_mw } else { keys.controller_idle_mw };
        let standby = keys.standby_mw * self.flash.dies() as u64;
        let power = u128::from((standby + controller) * 1_000) + u128::from(self.account.dram_uw);
        (power << MIB_BITS) + self.settings.buffer_uw_mib()
    }

    /// Energy of accesses to tables and to the write buffer and of searches in a phase, with all
    /// accesses until now.
    fn accesses_of(&self, phase: Phase, all: Accesses) -> [u128; 3] {
        let keys = &self.settings.keys.energy;
        let unit = u64::from(self.settings.geometry.unit_bytes());
        let (get, put) = keys.buffer_pj(unit);
        let (totals, buffer) = (&self.account.totals.energy, &self.account.totals.buffer);
        let host = |count: u64| if phase == Phase::Foreground { u128::from(count) } else { 0 };
        let gets = host(buffer.read_hits) + u128::from(totals.flushed[phase as usize]);
        let puts = host(buffer.write_hits + buffer.write_misses + buffer.allocated_units);
        let mut own = totals.quiet[phase as usize];
        if phase == Phase::Foreground {
            let sum = |count: fn(&Accesses) -> u64| totals.quiet.iter().map(count).sum::<u64>();
            own.tables += all.tables - sum(|quiet| quiet.tables);
            own.searches += all.searches - sum(|quiet| quiet.searches);
        }
        [
            u128::from(own.tables) * u128::from(keys.dram_access_pj),
            gets * u128::from(get) + puts * u128::from(put),
            u128::from(own.searches) * u128::from(keys.search_pj),
        ]
    }

    /// Energy of all accesses to memory until now.
    pub(super) fn accesses_pj(&self) -> u128 {
        let all = self.accesses();
        Phase::ALL.iter().flat_map(|phase| self.accesses_of(*phase, all)).sum()
    }

    /// Energy besides operations by phase.
    fn background(&self) -> [Background; 3] {
        let keys = &self.settings.keys.energy;
        let quiet = &self.account.totals.energy.quiet_ns;
        let foreground = self.account.totals.work_ns() - quiet.iter().flatten().sum::<u64>();
        let accesses = self.accesses();
        let dram = u128::from(self.account.dram_uw) << MIB_BITS;
        let powers = [dram, self.settings.buffer_uw_mib()];
        // Of DRAM and buffer, times bytes of a MiB.
        let mut fj = [0; 2];
        Phase::ALL.map(|phase| {
            let [still, mut active] = quiet[phase as usize];
            if phase == Phase::Foreground {
                active = foreground;
            }
            let time = u128::from(still + active);
            let [tables, buffer, search] = self.accesses_of(phase, accesses);
            let whole = |fj: u128| (fj >> MIB_BITS) / 1_000;
            let before = fj.map(whole);
            for (fj, uw) in fj.iter_mut().zip(powers) {
                // What does not fit is refused when it is narrowed.
                *fj = fj.saturating_add(time.saturating_mul(uw));
            }
            Background {
                standby: time * u128::from(keys.standby_mw) * self.flash.dies() as u128,
                controller: u128::from(active) * u128::from(keys.controller_active_mw)
                    + u128::from(still) * u128::from(keys.controller_idle_mw),
                dram: whole(fj[0]) - before[0] + tables,
                buffer,
                buffer_standby: whole(fj[1]) - before[1],
                search,
            }
        })
    }

    /// Energy on each axis; none where it does not fit 64 bits.
    pub(super) fn energy(&self, all: &Tally) -> Option<EnergyReport> {
        let keys = &self.settings.keys.energy;
        let background = self.background();
        let sum = |part: fn(&Background) -> u128| background.iter().map(part).sum::<u128>();
        let others = [
            ("standby", sum(|phase| phase.standby)),
            ("controller", sum(|phase| phase.controller)),
            ("dram", sum(|phase| phase.dram)),
            ("buffer", sum(|phase| phase.buffer)),
            ("buffer_standby", sum(|phase| phase.buffer_standby)),
            ("search", sum(|phase| phase.search)),
        ];
        let array = |op: Op| -> u128 {
            Purpose::ALL.iter().map(|purpose| all.array_pj(keys, op, *purpose)).sum()
        };
        let purpose = |purpose: Purpose| {
            let arrays: u128 = Op::ALL.iter().map(|op| all.array_pj(keys, *op, purpose)).sum();
            arrays + all.transfer_pj(keys, purpose)
        };
        let transfers = Purpose::ALL.iter().map(|purpose| all.transfer_pj(keys, *purpose)).sum();
        let resources = [
            ("array_read", array(Op::Read)),
            ("array_program", array(Op::Program)),
            ("array_erase", array(Op::Erase)),
            ("channel", transfers),
        ];
        let purposes = Purpose::ALL.iter().map(|p| (p.name(), purpose(*p)));
        let phases = Phase::ALL.iter().zip(&background).map(|(phase, others)| {
            let work = self.account.totals.work[*phase as usize].energy_pj(keys);
            (phase.name(), work + others.total())
        });
        let attributed = self.account.totals.attributed.energy_pj(keys);
        let rest = others.iter().map(|(_, pj)| pj).sum::<u128>();
        let unattributed = self.account.totals.unattributed.energy_pj(keys) + rest;
        let total = attributed + unattributed;
        let narrow = |pj: u128| u64::try_from(pj).ok();
        let axis = |parts: &mut dyn Iterator<Item = (&'static str, u128)>| -> Option<Counts> {
            let parts: BTreeMap<_, u128> = parts.collect();
            assert_eq!(total, parts.values().sum::<u128>(), "energy adds up over {parts:?}");
            parts.into_iter().map(|(name, pj)| Some((name, narrow(pj)?))).collect()
        };
        Some(EnergyReport {
            total: narrow(total)?,
            attributed: narrow(attributed)?,
            unattributed: narrow(unattributed)?,
            by_resource: axis(&mut resources.into_iter().chain(others))?,
            by_purpose: axis(&mut purposes.chain(others))?,
            by_phase: axis(&mut { phases })?,
        })
    }

    /// Mean power over the time of all work, and the highest of a bin.
    pub(super) fn power(
        &self,
        energy: &EnergyReport,
        series: Option<&SeriesReport>,
    ) -> PowerReport {
        let span = self.account.totals.work_ns();
        // The last bin may be cut short to almost nothing.
        let peak = series.and_then(|series| {
            let whole = series.bins.len().saturating_sub(1).max(1);
            let powers = series.bins.iter().take(whole).filter_map(|bin| bin.mean_mw);
            powers.max_by(f64::total_cmp)
        });
        PowerReport {
            span_ns: span,
            mean_mw: (span > 0).then(|| energy.total as f64 / span as f64),
            peak_mw: peak,
            waits: self.account.totals.energy.power_waits,
            waited_ns: self.account.totals.energy.power_waited_ns,
        }
    }

    /// Puts the energy of an operation that is over into the time series; it worked on this many
    /// planes.
    pub(super) fn record_operation(&mut self, die: DieId, operation: &Operation, planes: u64) {
        self.record_array(die, operation, planes, operation.array_end, None);
        let transfer_mw = u128::from(self.settings.keys.energy.transfer_mw);
        let Some(series) = &mut self.account.series else { return };
        for (from, ns) in
            [(operation.lead_from, operation.lead_ns), (operation.out_from, operation.out_ns)]
        {
            if ns > 0 {
                series.took(from, from + Span::from_ns(ns), u128::from(ns) * transfer_mw);
            }
        }
    }

    /// The array of a die has worked on its operation until an instant: to the end, or for `done`
    /// nanoseconds in all until it was suspended.
    fn record_array(
        &mut self,
        die: DieId,
        operation: &Operation,
        planes: u64,
        until: Time,
        done: Option<u64>,
    ) {
        let keys = &self.settings.keys.energy;
        let (op, all) = (operation.op, u128::from(operation.array.as_ns()));
        let (suspends, done) = (done.is_some(), done.unwrap_or(operation.array.as_ns()));
        let pages = match op {
            Op::Program => planes * u64::from(self.settings.geometry.program_pages),
            Op::Read | Op::Erase => planes,
        };
        let energy = match keys.page_pj(op) {
            0 => u128::from(planes) * all * u128::from(keys.array_mw(op)),
            pj => u128::from(pages) * u128::from(pj),
        };
        let Some(series) = &mut self.account.series else { return };
        // Reads that run while another operation is suspended were not suspended themselves.
        let known = series.suspended(die.index());
        let before = if operation.suspensions > 0 { *known } else { 0 };
        let done = done.max(before);
        if suspends {
            *known = done;
        }
        let share = |ns: u64| (energy * u128::from(ns)).checked_div(all).unwrap_or(energy);
        let earlier = if before == 0 { 0 } else { share(before) };
        let from = Time::from_ns(until.as_ns() - (done - before));
        series.took(from, until, share(done) - earlier);
    }

    /// The operation of a die is suspended: what it has done counts.
    pub(super) fn record_suspended(&mut self, die: DieId, operation: &Operation) {
        if self.account.series.is_none() {
            return;
        }
        let mut planes = 0;
        self.for_riders(operation.leader, |device, set| {
            planes += u64::from(device.sets[set].page_units > 0);
        });
        let left = operation.array_end.since(self.now).min(operation.array);
        let done = operation.array.as_ns() - left.as_ns();
        self.record_array(die, operation, planes, self.now, Some(done));
    }
}
