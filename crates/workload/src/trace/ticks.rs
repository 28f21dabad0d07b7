//! Clocks that tick slowly: the requests of a tick are spread inside it.

use super::rows::Row;
use crate::error::readable_ns;
use crate::format::RowError;

/// Requests of one tick, at most: 128 MiB of rows.
const ROWS_MAX: usize = 1 << 22;

/// Requests that are looked at to tell how fine a clock is.
const SAMPLE: u32 = 4_096;

/// Fewer requests say nothing about a clock.
const LEAST_SAMPLE: u32 = 16;

/// The shortest tick that is worth a note.
const COARSE_NS: u64 = 1_000_000;

/// A tick that no clock exceeds; a multiple of it comes of seconds without a request.
const SECOND_NS: u64 = 1_000_000_000;

/// Spreads the rows of a tick evenly over it: of n rows the k-th, from 0, comes k / n of the tick
/// after its start, rounded down to nanoseconds.
#[derive(Debug)]
pub(super) struct Ticks {
    tick_ns: u64,
    /// The rows of one tick, of which `handed` have been handed out.
    rows: Vec<Row>,
    handed: usize,
    /// The first row of the next tick.
    following: Option<Row>,
    ended: bool,
    /// How far the row that was handed out last was moved.
    moved_ns: u64,
    spread: u64,
    max_moved_ns: u64,
}

impl Ticks {
    /// A tick is longer than a nanosecond.
    pub(super) const fn new(tick_ns: u64) -> Self {
        let rows = Vec::new();
        Self {
            tick_ns,
            rows,
            handed: 0,
            following: None,
            ended: false,
            moved_ns: 0,
            spread: 0,
            max_moved_ns: 0,
        }
    }

    /// Whether a row is needed before one can be handed out.
    pub(super) fn needs_more(&mut self) -> bool {
        if self.handed < self.rows.len() && (self.following.is_some() || self.ended) {
            return false;
        }
        if self.handed == self.rows.len() {
            self.rows.clear();
            self.handed = 0;
            self.rows.extend(self.following.take());
        }
        !self.ended
    }

    /// Takes the next row in order of time.
    pub(super) fn push(&mut self, row: Row) -> Result<(), RowError> {
        let tick = |row: &Row| row.record.time_ns / self.tick_ns;
        match self.rows.first() {
            Some(first) if tick(first) != tick(&row) => self.following = Some(row),
            _ if self.rows.len() == ROWS_MAX => {
                let long = readable_ns(self.tick_ns);
                return Err(RowError {
                    what: format!("more than {ROWS_MAX} requests of one tick of {long}"),
                    fix: "lower trace.tick_us; 0.001 leaves the times alone".to_owned(),
                });
            }
            _ => self.rows.push(row),
        }
        Ok(())
    }

    /// There are no more rows.
    pub(super) const fn end(&mut self) {
        self.ended = true;
    }

    /// The next row, at its time; `None` at the end.
    pub(super) fn pop(&mut self) -> Option<Row> {
        let mut row = *self.rows.get(self.handed)?;
        let recorded = row.record.time_ns;
        let part = self.handed as u128 * u128::from(self.tick_ns) / self.rows.len() as u128;
        let part = u64::try_from(part).expect("a part of a tick");
        let time_ns = (recorded - recorded % self.tick_ns).saturating_add(part);
        row.record.time_ns = time_ns;
        self.handed += 1;
        self.moved_ns = time_ns.abs_diff(recorded);
        Some(row)
    }

    /// The row that was handed out last becomes a request.
    pub(super) fn used(&mut self) {
        self.spread += u64::from(self.moved_ns > 0);
        self.max_moved_ns = self.max_moved_ns.max(self.moved_ns);
    }

    /// How many rows are held.
    pub(super) fn held(&self) -> u64 {
        (self.rows.len() - self.handed) as u64 + u64::from(self.following.is_some())
    }

    /// How many requests come at another time than the recorded one.
    pub(super) const fn spread(&self) -> u64 {
        self.spread
    }

    /// What it has done.
    pub(super) fn note(&self) -> Option<String> {
        let (tick, most) = (readable_ns(self.tick_ns), readable_ns(self.max_moved_ns));
        (self.spread > 0).then(|| {
            format!(
                "the clock of the trace ticks every {tick}: arrivals are spread evenly inside the \
                 ticks, {} of them moved by up to {most} (trace.tick_us)",
                self.spread
            )
        })
    }
}

/// Looks at the first requests of a trace whose times are left alone, to tell how fine its clock
/// is.
#[derive(Clone, Copy, Debug)]
pub(super) struct Coarse {
    /// Requests to look at.
    left: u32,
    seen: u32,
    last_ns: u64,
    /// The greatest common divisor of all steps; 0 where there was none.
    step_ns: u64,
    /// Requests that come at the time of the one before.
    shared: u32,
}

impl Coarse {
    /// One that looks only if `active`.
    pub(super) const fn new(active: bool) -> Self {
        let left = if active { SAMPLE } else { 0 };
        Self { left, seen: 0, last_ns: 0, step_ns: 0, shared: 0 }
    }

    /// Looks at a request, which is not earlier than the one before.
    #[inline]
    pub(super) fn look(&mut self, time_ns: u64) {
        if self.left > 0 {
            self.sample(time_ns);
        }
    }

    fn sample(&mut self, time_ns: u64) {
        if self.seen > 0 {
            let step = time_ns - self.last_ns;
            self.shared += u32::from(step == 0);
            self.step_ns = divisor(self.step_ns, step);
        }
        (self.last_ns, self.left, self.seen) = (time_ns, self.left - 1, self.seen + 1);
    }

    /// What is to be said where at least half of the requests share their time with another and all
    /// times are whole milliseconds apart.
    pub(super) fn note(&self) -> Option<String> {
        let Self { seen, shared, step_ns, .. } = *self;
        if seen < LEAST_SAMPLE || 2 * shared < seen || step_ns < COARSE_NS {
            return None;
        }
        let tick_ns = if step_ns.is_multiple_of(SECOND_NS) { SECOND_NS } else { step_ns };
        let tick = readable_ns(tick_ns);
        let tick_us = tick_ns as f64 / 1e3;
        Some(format!(
            "the clock of the trace is coarse: {shared} of the first {seen} requests come at the \
             time of the one before, and times are multiples of {tick} apart; trace.tick_us = \
             {tick_us} spreads them"
        ))
    }
}

/// The greatest common divisor.
const fn divisor(mut a: u64, mut b: u64) -> u64 {
    while b > 0 {
        (a, b) = (b, a % b);
    }
    a
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::Record;
    use crate::random::SplitMix64;
    use flashyard_core::request::{Flags, RequestOp};

    fn row(time_ns: u64, line: u64) -> Row {
        let (op, flags) = (RequestOp::Read, Flags::NONE);
        let record =
            Record { time_ns, first_sector: 0, sectors: 1, stream: 0, op, flags, placement: None };
        Row { record, line }
    }

    fn spread(times: &[u64], tick_ns: u64) -> Vec<u64> {
        let mut ticks = Ticks::new(tick_ns);
        let mut rows = times.iter().zip(0..).map(|(&time, line)| row(time, line));
        let mut out: Vec<Row> = Vec::new();
        loop {
            while ticks.needs_more() {
                match rows.next() {
                    Some(row) => ticks.push(row).unwrap(),
                    None => ticks.end(),
                }
            }
            let Some(row) = ticks.pop() else { break };
            out.push(row);
        }
        assert!(out.iter().map(|row| row.line).eq(0..times.len() as u64), "in their order");
        out.iter().map(|row| row.record.time_ns).collect()
    }

    #[test]
    fn the_requests_of_a_tick_are_evenly_apart() {
        assert_eq!(spread(&[], 10), []);
        assert_eq!(spread(&[7], 10), [0]);
        assert_eq!(spread(&[20, 20, 20, 20], 10), [20, 22, 25, 27]);
        assert_eq!(spread(&[0, 0, 10, 30, 30, 39], 10), [0, 5, 10, 30, 33, 36]);
        let last = u64::MAX - u64::MAX % 1_000;
        assert_eq!(spread(&[last, last], 1_000), [last, last + 500]);
    }

    #[test]
    fn spread_requests_stay_in_order_and_in_their_tick() {
        let mut random = SplitMix64::new(4);
        for tick in [2, 3, 1_000, 1_000_000_007] {
            let mut times: Vec<u64> = (0..3_000).map(|_| random.below(300 * tick)).collect();
            times.sort_unstable();
            let spread = spread(&times, tick);
            assert!(spread.is_sorted());
            assert!(times.iter().zip(&spread).all(|(a, b)| a / tick == b / tick));
        }
    }

    fn note(times: impl Iterator<Item = u64>) -> Option<String> {
        let mut coarse = Coarse::new(true);
        times.for_each(|time| coarse.look(time));
        coarse.note()
    }

    #[test]
    fn coarse_clocks_are_noticed() {
        let second = note((0..100).map(|n| 5_000_000_000 * (1 + n / 10)));
        assert_eq!(
            second.unwrap(),
            "the clock of the trace is coarse: 90 of the first 100 requests come at the time of \
             the one before, and times are multiples of 1 s apart; trace.tick_us = 1000000 spreads \
             them"
        );
        let jiffy = note((0..100).map(|n| 4_000_000 * (n / 3))).unwrap();
        assert!(jiffy.contains("trace.tick_us = 4000 "), "{jiffy}");
        assert_eq!(note((0..100).map(|n| 1_000_000 * n)), None, "few share a time");
        assert_eq!(note((0..100).map(|n| 999_999 * (n / 10))), None, "a fine clock");
        assert_eq!(note((0..100).map(|_| 5)), None, "one burst");
        assert_eq!(note((0..15).map(|n| 1_000_000_000 * (n / 5))), None, "too few to tell");
    }
}
