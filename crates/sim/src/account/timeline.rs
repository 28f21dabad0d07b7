//! What goes into the time series and the power meter: the state of the device over time and the
//! energy of operations.

use super::Account;
use super::watch::{Pending, Watch};
use crate::metrics::counters::{Phase, Work};
use crate::metrics::exact::Exact;
use crate::metrics::meter::MeterReport;
use crate::metrics::series::Counts;
use crate::observe::{Event, Observer, PowerSamples};
use crate::parts::layer::MergeCounts;
use crate::sets::{Operation, Segment};
use flashyard_core::command::{Op, Purpose};
use flashyard_core::units::{DieId, Time};

/// Figures of the FTL that the time series shows.
pub(crate) struct FtlFigures {
    /// Free blocks of all planes.
    pub(crate) free_blocks: u64,
    /// What translation layers did in measured phases.
    pub(crate) merges: MergeCounts,
}

impl FtlFigures {
    /// Those of a device without flash.
    pub(crate) fn none() -> Self {
        Self { free_blocks: 0, merges: MergeCounts::default() }
    }
}

/// How the device was, until the instant to which time goes on.
#[derive(Clone, Copy)]
pub(crate) struct Passed {
    /// Outstanding requests.
    pub(crate) outstanding: u64,
    /// The part of time, and whether there were requests or work of the device's own.
    pub(crate) phase: Phase,
    pub(crate) active: bool,
}

impl Account {
    /// Time goes on to `now`. Until then the device was so, and its counts stayed as they are. What
    /// operations have begun and is not recorded has begun at `pending` or later.
    #[inline]
    pub(crate) fn time_passes(
        &mut self,
        now: Time,
        passed: Passed,
        ftl: impl Fn() -> FtlFigures,
        pending: impl FnOnce() -> Time,
    ) {
        if self.records_power() {
            let power = self.background_power(passed);
            self.record_time(now, passed.outstanding, power, ftl, pending);
        }
    }

    #[cold]
    pub(super) fn record_time(
        &mut self,
        now: Time,
        outstanding: u64,
        power: Exact,
        ftl: impl Fn() -> FtlFigures,
        pending: impl FnOnce() -> Time,
    ) {
        let ends = self.meter().is_some_and(|meter| meter.ends_period(now));
        let counts = if ends { Some(self.counts(&ftl())) } else { None };
        let Some(watch) = self.watch.as_deref_mut() else { return };
        let Watch { meter, observers, pending: link, .. } = watch;
        if let Some(meter) = meter {
            let pending = if ends { link.since(now).min(pending()) } else { now };
            let accesses = counts.map_or(0, |counts| counts.accesses_pj);
            meter.advance(now, power, pending, accesses, &mut told(observers));
        }
        if let Some(mut series) = self.take_series() {
            series.advance(now, outstanding, power, || self.counts(&ftl()));
            self.set_series(Some(series));
        }
        self.record_link(now);
    }

    /// The last sample of the power meter.
    pub(super) fn finish_meter(&mut self, ftl: &FtlFigures) -> Option<MeterReport> {
        let accesses = self.accesses_pj(&ftl.merges);
        let meter = self.take_meter()?;
        let observers = &mut self.watch.as_mut()?.observers;
        Some(meter.finish(accesses, &mut told(observers)))
    }

    /// A measured phase is over: all that has begun is recorded.
    pub(super) fn rest_meter(&mut self) {
        let Some(watch) = self.watch.as_deref_mut() else { return };
        let Watch { meter: Some(meter), observers, .. } = watch else { return };
        meter.rest(&mut told(observers));
    }

    /// Puts the energy of data that the link has carried by now where it belongs.
    pub(super) fn record_link(&mut self, now: Time) {
        let Some(watch) = self.watch.as_deref_mut() else { return };
        let mut link = std::mem::take(&mut watch.pending.link);
        link.retain(|&(from, until, pj)| {
            if until <= now {
                watch.took(from, until, pj);
            }
            until > now
        });
        watch.pending.link = link;
    }

    /// Puts an energy that was taken evenly between two instants of the past where it belongs.
    pub(super) fn record(&mut self, from: Time, until: Time, pj: u128) {
        if let Some(watch) = &mut self.watch {
            watch.took(from, until, pj);
        }
    }

    /// Time goes on to `now`. Until then so many requests were outstanding, and a device without
    /// flash took so much power.
    pub(crate) fn level_held(&mut self, now: Time, outstanding: u64, power_mw: u64) {
        if self.records_power() {
            let power = [u128::from(power_mw) * 1_000, 0, 0];
            self.record_time(now, outstanding, power, FtlFigures::none, || now);
        }
    }

    /// What the time series counts.
    pub(super) fn counts(&self, ftl: &FtlFigures) -> Counts {
        let accesses_pj = self.accesses_pj(&ftl.merges);
        let mut counts = Counts { accesses_pj, free_blocks: ftl.free_blocks, ..Counts::default() };
        for work in &self.totals.work {
            let gc = Purpose::ALL.into_iter().filter(|p| p.is_gc() && *p != Purpose::Fold);
            counts.fold_programs += work.get(Op::Program, Purpose::Fold).pages;
            counts.host_programs += work.get(Op::Program, Purpose::Host).pages;
            counts.gc_programs += gc.map(|gc| work.get(Op::Program, gc).pages).sum::<u64>();
            counts.programs += work.of_op(Op::Program).pages;
            counts.erases += work.of_op(Op::Erase).pages;
        }
        counts
    }

    /// Puts the energy of an operation that is over into the time series and the power meter; it
    /// worked on this many planes.
    pub(crate) fn record_operation(&mut self, die: DieId, operation: &Operation, planes: u64) {
        for (segment, from, span) in operation.segments() {
            let until = from + span;
            match segment {
                Segment::Lead | Segment::Out => self.record_transfer(from, until),
                Segment::Array => self.record_array(die, operation, planes, until, None),
                Segment::Retry => {
                    let again = u128::from(operation.retries());
                    let energy = self.array_pj(operation, planes) * again;
                    self.record(from, until, energy);
                }
            }
        }
    }

    /// Energy of the arrays of so many planes, of a read for one sense.
    fn array_pj(&self, operation: &Operation, planes: u64) -> u128 {
        let (op, time) = (operation.op(), operation.array());
        let slc = operation.slc();
        let work = Work::of_arrays(&self.config.geometry, op, planes, time, slc);
        work.array_pj(&self.config.energy, op, slc)
    }

    /// Puts the energy of a stretch of time on the channel there.
    fn record_transfer(&mut self, from: Time, until: Time) {
        let transfer_mw = u128::from(self.config.energy.transfer_mw);
        self.record(from, until, u128::from(until.since(from).as_ns()) * transfer_mw);
    }

    /// A bus carries a request between two instants, the first of which may lie ahead.
    pub(crate) fn bus_carries(&mut self, from: Time, until: Time) {
        if self.records_power() && until > from {
            self.watch.as_mut().expect("it records").pending.bus.push((from, until));
        }
    }

    /// Puts the energy of bus requests that are over where it belongs.
    pub(crate) fn record_bus(&mut self, now: Time) {
        let Some(watch) = self.watch.as_deref_mut() else { return };
        let mut bus = std::mem::take(&mut watch.pending.bus);
        bus.retain(|&(from, until)| {
            if until <= now {
                self.record_transfer(from, until);
            }
            until > now
        });
        if let Some(watch) = &mut self.watch {
            watch.pending.bus = bus;
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
        let all = u128::from(operation.array().as_ns());
        let (suspends, done) = (done.is_some(), done.unwrap_or(operation.array().as_ns()));
        let energy = self.array_pj(operation, planes);
        let Some(watch) = &mut self.watch else { return };
        // Reads that run while another operation is suspended were not suspended themselves.
        let known = watch.pending.suspended_on(die);
        let before = if operation.suspensions() > 0 { *known } else { 0 };
        let done = done.max(before);
        if suspends {
            *known = done;
        }
        let share = |ns: u64| (energy * u128::from(ns)).checked_div(all).unwrap_or(energy);
        let earlier = if before == 0 { 0 } else { share(before) };
        let from = Time::from_ns(until.as_ns() - (done - before));
        watch.took(from, until, share(done) - earlier);
    }

    /// The operation of a die is suspended: what it has done counts. It works on so many planes.
    pub(crate) fn record_suspended(
        &mut self,
        now: Time,
        die: DieId,
        operation: &Operation,
        planes: u64,
    ) {
        let left = operation.array_end().since(now).min(operation.array());
        let done = operation.array().as_ns() - left.as_ns();
        self.record_array(die, operation, planes, now, Some(done));
    }
}

/// Tells observers of samples of the power meter.
fn told(observers: &mut [Box<dyn Observer>]) -> impl FnMut(&PowerSamples) {
    |samples| {
        for observer in observers.iter_mut() {
            Event::from(samples).tell(observer.as_mut());
        }
    }
}

impl Watch {
    /// An energy was taken evenly between two instants, by now both past.
    fn took(&mut self, from: Time, until: Time, pj: u128) {
        if let Some(series) = &mut self.series {
            series.took(from, until, pj);
        }
        if let Some(meter) = &mut self.meter {
            meter.took(from, until, pj);
        }
    }
}

impl Pending {
    /// The earliest instant from which on data has been on the link or a bus that is not recorded;
    /// `now` where there is none.
    fn since(&self, now: Time) -> Time {
        let on_link = self.link.iter().map(|&(from, ..)| from);
        on_link.chain(self.bus.iter().map(|&(from, _)| from)).fold(now, Time::min)
    }

    /// Array time of the suspended operation of a die that is recorded already.
    fn suspended_on(&mut self, die: DieId) -> &mut u64 {
        let die = die.index();
        if self.suspended.len() <= die {
            self.suspended.resize(die + 1, 0);
        }
        &mut self.suspended[die]
    }
}
