//! What goes into the time series: the state of the device over time and the energy of operations.

use super::Account;
use crate::ftl::layer::MergeCounts;
use crate::metrics::series::{Counts, MIB_BITS};
use crate::sets::Operation;
use flashyard_core::command::{Op, Purpose};
use flashyard_core::units::{DieId, Span, Time};

/// Figures of the FTL that the time series shows.
pub(crate) struct FtlFigures {
    /// Free blocks of all planes.
    pub(crate) free_blocks: u64,
    /// What translation layers did in measured phases.
    pub(crate) merges: MergeCounts,
}

impl Account {
    /// Time goes on to `now`. Until then so many requests were outstanding, the device was `active`
    /// or not, and its counts stayed as they are.
    #[inline]
    pub(crate) fn time_passes(
        &mut self,
        now: Time,
        outstanding: u64,
        active: bool,
        ftl: impl FnOnce() -> FtlFigures,
    ) {
        if self.has_series() {
            self.advance_series(now, outstanding, active, ftl);
        }
    }

    #[cold]
    fn advance_series(
        &mut self,
        now: Time,
        outstanding: u64,
        active: bool,
        ftl: impl FnOnce() -> FtlFigures,
    ) {
        if let Some(mut series) = self.take_series() {
            let power = self.background_uw_mib(active);
            series.advance(now, outstanding, power, || self.counts(&ftl()));
            self.set_series(Some(series));
        }
    }

    /// Time goes on to `now`. Until then so many requests were outstanding, and a device without
    /// flash took so much power.
    pub(crate) fn level_held(&mut self, now: Time, outstanding: u64, power_mw: u64) {
        if let Some(series) = self.series() {
            let power = u128::from(power_mw * 1_000) << MIB_BITS;
            series.advance(now, outstanding, power, Counts::default);
        }
    }

    /// What the time series counts.
    pub(super) fn counts(&self, ftl: &FtlFigures) -> Counts {
        let accesses_pj = self.accesses_pj(&ftl.merges);
        let mut counts = Counts { accesses_pj, free_blocks: ftl.free_blocks, ..Counts::default() };
        for work in &self.totals.work {
            let gc = Purpose::ALL.into_iter().filter(|purpose| purpose.is_gc());
            counts.host_programs += work.get(Op::Program, Purpose::Host).pages;
            counts.gc_programs += gc.map(|gc| work.get(Op::Program, gc).pages).sum::<u64>();
            counts.programs += work.of_op(Op::Program).pages;
            counts.erases += work.of_op(Op::Erase).pages;
        }
        counts
    }

    /// Puts the energy of an operation that is over into the time series; it worked on this many
    /// planes.
    pub(crate) fn record_operation(&mut self, die: DieId, operation: &Operation, planes: u64) {
        self.record_array(die, operation, planes, operation.array_end, None);
        let transfer_mw = u128::from(self.config.energy.transfer_mw);
        let Some(series) = self.series() else { return };
        for (from, ns) in
            [(operation.lead_from, operation.lead_ns), (operation.out_from, operation.out_ns)]
        {
            // The parts of an operation that is sent request by request are recorded one by one.
            if ns > 0 && from < Time::MAX {
                series.took(from, from + Span::from_ns(ns), u128::from(ns) * transfer_mw);
            }
        }
    }

    /// Puts the energy of a bus request into the time series.
    pub(crate) fn record_transfer(&mut self, from: Time, until: Time) {
        let transfer_mw = u128::from(self.config.energy.transfer_mw);
        if let Some(series) = self.series() {
            series.took(from, until, u128::from(until.since(from).as_ns()) * transfer_mw);
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
        let keys = &self.config.energy;
        let (op, all) = (operation.op, u128::from(operation.array.as_ns()));
        let (suspends, done) = (done.is_some(), done.unwrap_or(operation.array.as_ns()));
        let pages = match op {
            Op::Program => planes * u64::from(self.config.geometry.program_pages),
            Op::Read | Op::Erase => planes,
        };
        let energy = match keys.page_pj(op) {
            0 => u128::from(planes) * all * u128::from(keys.array_mw(op)),
            pj => u128::from(pages) * u128::from(pj),
        };
        let Some(series) = self.series() else { return };
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

    /// The operation of a die is suspended: what it has done counts. It works on so many planes.
    pub(crate) fn record_suspended(
        &mut self,
        now: Time,
        die: DieId,
        operation: &Operation,
        planes: u64,
    ) {
        let left = operation.array_end.since(now).min(operation.array);
        let done = operation.array.as_ns() - left.as_ns();
        self.record_array(die, operation, planes, now, Some(done));
    }
}
