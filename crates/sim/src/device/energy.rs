//! Energy of a run: by what took it, by what for, by phase; its mean and its highest power.
//!
//! Operations are counted where they end (`metrics::counters`). What is there at all times (standby,
//! controller, DRAM) is power x time from the first arrival of a phase to the end of its work, and
//! accesses to memory are counts x energy. All sums are exact; the one division, of the power of
//! DRAM in microwatts, is rounded down once.

use super::Device;
use super::state::Operation;
use crate::metrics::counters::{Phase, Tally};
use crate::metrics::series::SeriesReport;
use crate::report::{Counts, EnergyReport, PowerReport};
use crate::saved::saved;
use flashyard_core::command::{Op, Purpose};
use flashyard_core::units::{DieId, Span, Time};
use std::collections::BTreeMap;

/// What energy is made of besides operations.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct EnergyTotals {
    /// Page accesses that were translated.
    pub(super) translations: u64,
    /// Units that flushes got from the write buffer, by phase.
    pub(super) flushed: [u64; 3],
    /// Time without outstanding requests by phase, without and with work of the device's own.
    quiet_ns: [[u64; 2]; 3],
    /// Dies that waited for power, and how long in all.
    pub(super) power_waits: u64,
    pub(super) power_waited_ns: u64,
}

saved!(EnergyTotals { translations, flushed, quiet_ns, power_waits, power_waited_ns });

/// Energy of a phase besides operations, in picojoules.
#[derive(Clone, Copy, Default)]
struct Background {
    standby: u128,
    controller: u128,
    dram: u128,
    buffer: u128,
}

impl Background {
    fn total(&self) -> u128 {
        self.standby + self.controller + self.dram + self.buffer
    }
}

impl Device {
    /// Time goes on to `now` while no request is outstanding.
    pub(super) fn rest_until(&mut self, now: Time) {
        if self.totals.has_begun() {
            let ns = now.since(self.now).as_ns();
            let (phase, busy) = (self.phase(), self.graph.live() > 0);
            self.totals.energy.quiet_ns[phase as usize][usize::from(busy)] += ns;
        }
    }

    /// Power of standby, controller and DRAM at this moment, in microwatts.
    pub(super) fn background_uw(&self) -> u64 {
        if !self.totals.has_begun() {
            return 0;
        }
        let keys = &self.settings.keys.energy;
        let active = self.outstanding > 0 || self.graph.live() > 0;
        let controller = if active { keys.controller_active_mw } else { keys.controller_idle_mw };
        let standby = keys.standby_mw * self.dies.len() as u64;
        ((standby + controller) * 1_000).saturating_add(self.settings.dram_uw())
    }

    /// Energy of accesses to the mapping tables and to the write buffer by phase.
    fn accesses_of(&self, phase: Phase) -> (u128, u128) {
        let keys = &self.settings.keys.energy;
        let unit = u64::from(self.settings.geometry.unit_bytes());
        let (get, put) = keys.buffer_pj(unit);
        let (totals, buffer) = (&self.totals.energy, &self.totals.buffer);
        let host = |count: u64| if phase == Phase::Foreground { u128::from(count) } else { 0 };
        let gets = host(buffer.read_hits) + u128::from(totals.flushed[phase as usize]);
        let puts = host(buffer.write_hits + buffer.write_misses);
        let tables = host(totals.translations) * u128::from(keys.dram_access_pj);
        (tables, gets * u128::from(get) + puts * u128::from(put))
    }

    /// Energy of all accesses to memory until now.
    pub(super) fn accesses_pj(&self) -> u128 {
        let phases = Phase::ALL.map(|phase| self.accesses_of(phase));
        phases.iter().map(|(tables, buffer)| tables + buffer).sum()
    }

    /// Energy besides operations by phase.
    fn background(&self) -> [Background; 3] {
        let keys = &self.settings.keys.energy;
        let quiet = &self.totals.energy.quiet_ns;
        let foreground = self.totals.work_ns() - quiet.iter().flatten().sum::<u64>();
        let mut fj = 0;
        Phase::ALL.map(|phase| {
            let [still, mut active] = quiet[phase as usize];
            if phase == Phase::Foreground {
                active = foreground;
            }
            let time = u128::from(still + active);
            let (tables, buffer) = self.accesses_of(phase);
            let before = fj / 1_000;
            fj += time * u128::from(self.settings.dram_uw());
            Background {
                standby: time * u128::from(keys.standby_mw) * self.dies.len() as u128,
                controller: u128::from(active) * u128::from(keys.controller_active_mw)
                    + u128::from(still) * u128::from(keys.controller_idle_mw),
                dram: fj / 1_000 - before + tables,
                buffer,
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
            let work = self.totals.work[*phase as usize].energy_pj(keys);
            (phase.name(), work + others.total())
        });
        let attributed = self.totals.attributed.energy_pj(keys);
        let rest = others.iter().map(|(_, pj)| pj).sum::<u128>();
        let unattributed = self.totals.unattributed.energy_pj(keys) + rest;
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
        let span = self.totals.work_ns();
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
            waits: self.totals.energy.power_waits,
            waited_ns: self.totals.energy.power_waited_ns,
        }
    }

    /// Puts the energy of an operation that is over into the time series; it worked on this many
    /// planes.
    pub(super) fn record_operation(&mut self, die: DieId, operation: &Operation, planes: u64) {
        self.record_array(die, operation, planes, operation.array_end, operation.array);
        self.recorded_ns[die.index()] = 0;
        let transfer_mw = u128::from(self.settings.keys.energy.transfer_mw);
        let Some(series) = &mut self.series else { return };
        for (from, ns) in
            [(operation.lead_from, operation.lead_ns), (operation.out_from, operation.out_ns)]
        {
            if ns > 0 {
                series.took(from, from + Span::from_ns(ns), u128::from(ns) * transfer_mw);
            }
        }
    }

    /// The array of a die has worked until an instant, and done so much of its operation by then.
    fn record_array(
        &mut self,
        die: DieId,
        operation: &Operation,
        planes: u64,
        until: Time,
        done: Span,
    ) {
        let keys = &self.settings.keys.energy;
        let (op, all) = (operation.op, u128::from(operation.array.as_ns()));
        let pages = match op {
            Op::Program => planes * u64::from(self.settings.geometry.program_pages),
            Op::Read | Op::Erase => planes,
        };
        let energy = match keys.page_pj(op) {
            0 => u128::from(planes) * all * u128::from(keys.array_mw(op)),
            pj => u128::from(pages) * u128::from(pj),
        };
        let before = &mut self.recorded_ns[die.index()];
        let done = done.as_ns().max(*before);
        let (span, last) = (Span::from_ns(done - *before), std::mem::replace(before, done));
        let share = |ns: u64| if all == 0 { 0 } else { energy * u128::from(ns) / all };
        if let Some(series) = &mut self.series {
            let from = Time::from_ns(until.as_ns() - span.as_ns());
            series.took(from, until, share(done) - share(last));
        }
    }

    /// The operation of a die is suspended: what it has done counts.
    pub(super) fn record_suspended(&mut self, die: DieId, operation: &Operation) {
        if self.series.is_none() {
            return;
        }
        let mut planes = 0;
        self.for_riders(operation.leader, |device, set| {
            planes += u64::from(device.sets[set as usize].page_units > 0);
        });
        let left = operation.array_end.since(self.now).min(operation.array);
        let done = Span::from_ns(operation.array.as_ns() - left.as_ns());
        self.record_array(die, operation, planes, self.now, done);
    }
}
