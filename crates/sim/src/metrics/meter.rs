//! The power meter: the energy of each period of measured time, exactly, in bounded memory.
//!
//! What an operation takes is known when it is over. So a period is open until nothing that has
//! begun in it is left; then its sample is handed out and forgotten. Periods in which nothing
//! happens are handed out as a run.

use super::exact::{Exact, MIB_BITS, add, picojoules, spread};
use crate::observe::PowerSamples;
use crate::saved::{Reader, RestoreError, Saved, Writer};
use flashyard_core::units::Time;
use serde::Serialize;
use std::collections::VecDeque;

/// A power meter under way. Its time is measured time: phases that are not measured leave no gap.
#[derive(Clone, Debug)]
pub struct Meter {
    period: u64,
    /// Energy of the open periods; the last one is under way.
    open: VecDeque<Exact>,
    /// The number of the first of them.
    first: u64,
    /// Measured time that is accounted for.
    elapsed: u64,
    /// When the current phase began, and what had elapsed by then.
    start: Time,
    before: u64,
    /// Energy of all periods that are not open, in the units of [`Exact`] and in picojoules.
    closed: Exact,
    closed_pj: u64,
    /// Energy of accesses to memory that is accounted for, in picojoules.
    accesses_pj: u128,
    samples: u64,
    /// The highest energy of a whole period.
    peak_pj: Option<u64>,
    /// Whether it has seen all energy since the first measured phase.
    whole: bool,
}

impl Meter {
    /// A meter with a period in nanoseconds.
    pub fn new(period_ns: u64) -> Self {
        Self {
            period: period_ns,
            open: VecDeque::from([[0; 3]]),
            first: 0,
            elapsed: 0,
            start: Time::ZERO,
            before: 0,
            closed: [0; 3],
            closed_pj: 0,
            accesses_pj: 0,
            samples: 0,
            peak_pj: None,
            whole: true,
        }
    }

    /// The period in nanoseconds.
    pub const fn period_ns(&self) -> u64 {
        self.period
    }

    /// The same on a device that took energy before: so much for accesses to memory.
    pub fn from_now_on(&mut self, accesses_pj: u128) {
        self.accesses_pj = accesses_pj;
        self.whole = false;
    }

    /// The device takes energy at no time of its own, which samples lack.
    pub const fn misses(&mut self) {
        self.whole = false;
    }

    /// A measured phase begins.
    pub const fn begin(&mut self, now: Time) {
        self.start = now;
        self.before = self.elapsed;
    }

    /// Whether time until `now` ends a period.
    #[inline]
    pub fn ends_period(&self, now: Time) -> bool {
        self.place(now) >= self.end_of_open()
    }

    /// Time goes on to `now`. Until then the device took this power besides operations, and all
    /// that has not been recorded yet has begun at `pending` or later. By now accesses to memory
    /// have taken `accesses_pj`; it counts if a period ends.
    pub fn advance(
        &mut self,
        now: Time,
        power_uw: Exact,
        pending: Time,
        accesses_pj: u128,
        sink: &mut dyn FnMut(&PowerSamples),
    ) {
        let to = self.place(now);
        if to >= self.end_of_open() {
            self.access(accesses_pj);
            let pending = if pending < self.start { self.before } else { self.place(pending) };
            while to >= self.end_of_open() {
                self.spend(self.end_of_open(), power_uw);
                self.open.push_back([0; 3]);
                self.settle(pending, sink);
                if self.open.len() == 1 {
                    self.skip(to.min(pending), power_uw, sink);
                }
            }
        }
        self.spend(to, power_uw);
    }

    /// An energy that was taken evenly between two instants, by now both past: each period gets its
    /// share by time, and together they get all of it.
    pub fn took(&mut self, from: Time, until: Time, pj: u128) {
        spread((self.place(from), self.place(until)), self.period, pj, |number, share| {
            let place = number.checked_sub(self.first).expect("the period is open");
            let place = usize::try_from(place).expect("few periods are open");
            self.open[place][0] += share;
        });
    }

    /// All that has begun is recorded.
    pub fn rest(&mut self, sink: &mut dyn FnMut(&PowerSamples)) {
        self.settle(self.elapsed, sink);
    }

    /// The last sample. Nothing is left to be recorded.
    pub fn finish(mut self, accesses_pj: u128, sink: &mut dyn FnMut(&PowerSamples)) -> MeterReport {
        self.access(accesses_pj);
        while self.open.len() > 1 {
            self.close(self.period, sink);
        }
        let rest = self.elapsed - self.first * self.period;
        if rest > 0 || self.open[0] != [0; 3] {
            self.close(rest, sink);
        }
        MeterReport {
            period_ns: self.period,
            samples: self.samples,
            energy_pj: self.closed_pj,
            peak_mw: self.peak_pj.map(|pj| pj as f64 / self.period as f64),
            whole: self.whole,
        }
    }

    fn place(&self, time: Time) -> u64 {
        self.before.saturating_add(time.since(self.start).as_ns())
    }

    fn end_of_open(&self) -> u64 {
        (self.first + self.open.len() as u64) * self.period
    }

    fn access(&mut self, accesses_pj: u128) {
        let before = std::mem::replace(&mut self.accesses_pj, accesses_pj);
        let last = self.open.back_mut().expect("a period is open");
        last[0] += (accesses_pj - before) * 1_000;
    }

    fn spend(&mut self, to: u64, power_uw: Exact) {
        let ns = u128::from(to - self.elapsed);
        let last = self.open.back_mut().expect("a period is open");
        add(last, power_uw.map(|uw| ns.saturating_mul(uw)));
        self.elapsed = to;
    }

    /// Hands out the periods that end by `until`, which is not behind the open one.
    fn settle(&mut self, until: u64, sink: &mut dyn FnMut(&PowerSamples)) {
        while self.open.len() > 1 && (self.first + 1) * self.period <= until {
            self.close(self.period, sink);
        }
    }

    /// The open period is the only one, has just begun, and so does a run of periods in which the
    /// device takes nothing but this power, until `until`. Where all of them are equal they are
    /// handed out together.
    fn skip(&mut self, until: u64, power_uw: Exact, sink: &mut dyn FnMut(&PowerSamples)) {
        let count = until.saturating_sub(self.elapsed) / self.period;
        let energy = power_uw.map(|uw| uw.saturating_mul(u128::from(self.period)));
        let whole = [1_000, 1_000 << MIB_BITS, 1_000 << MIB_BITS];
        if count < 2 || energy.iter().zip(whole).any(|(energy, whole)| energy % whole > 0) {
            return;
        }
        let pj = narrow(energy);
        add(&mut self.closed, energy.map(|energy| energy.saturating_mul(u128::from(count))));
        self.hand_out(count, self.period, pj, sink);
        self.elapsed += count * self.period;
    }

    /// The first open period is over and was so long.
    fn close(&mut self, span: u64, sink: &mut dyn FnMut(&PowerSamples)) {
        let energy = self.open.pop_front().expect("a period is open");
        let before = narrow(self.closed);
        add(&mut self.closed, energy);
        // Rounded as of the end of each period, so that no energy is lost.
        self.hand_out(1, span, narrow(self.closed) - before, sink);
    }

    fn hand_out(&mut self, count: u64, span: u64, pj: u64, sink: &mut dyn FnMut(&PowerSamples)) {
        sink(&PowerSamples {
            start_ns: self.first * self.period,
            samples: count,
            span_ns: span,
            energy_pj: pj,
        });
        if span == self.period {
            self.peak_pj = self.peak_pj.max(Some(pj));
        }
        self.samples += count;
        self.first += count;
        self.closed_pj = self.closed_pj.saturating_add(pj.saturating_mul(count));
    }
}

fn narrow(energy: Exact) -> u64 {
    u64::try_from(picojoules(energy)).unwrap_or(u64::MAX)
}

/// What a power meter has found.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct MeterReport {
    /// The period.
    pub period_ns: u64,
    /// How many samples there are; the last one may be cut short.
    pub samples: u64,
    /// Their sum.
    pub energy_pj: u64,
    /// The highest mean power of a whole period.
    pub peak_mw: Option<f64>,
    /// Whether they are of the whole measured time.
    #[serde(skip)]
    pub whole: bool,
}

/// The phase is over, and no period but the last one is open.
impl Saved for Meter {
    fn save(&self, to: &mut Writer<'_>) {
        assert_eq!(self.open.len(), 1, "a meter is saved at rest");
        [self.period, self.elapsed, self.closed_pj, self.samples].save(to);
        self.peak_pj.save(to);
        self.whole.save(to);
        [self.open[0], self.closed].save(to);
        self.accesses_pj.save(to);
    }

    fn load(&mut self, from: &mut Reader<'_>) -> Result<(), RestoreError> {
        let (mut counts, mut energies) = ([0u64; 4], [[0u128; 3]; 2]);
        counts.load(from)?;
        self.peak_pj.load(from)?;
        self.whole.load(from)?;
        energies.load(from)?;
        self.accesses_pj.load(from)?;
        [self.period, self.elapsed, self.closed_pj, self.samples] = counts;
        self.closed = energies[1];
        self.first = self.elapsed.checked_div(self.period).ok_or(RestoreError::Corrupt)?;
        self.open = VecDeque::from([energies[0]]);
        Ok(())
    }
}
