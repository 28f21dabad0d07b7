//! Progress of building a device, told to the program that waits for it.

use std::fmt;

/// How far a device has been built.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Building {
    /// Units that have been written, each time they were.
    pub done: u64,
    /// How many there are.
    pub of: u64,
}

/// Units between two calls.
const STEP: u64 = 1 << 20;

/// Counts units that were written and tells how far that is, about once a million of them and at
/// the end.
pub struct Meter<'a> {
    building: Building,
    /// At how many units it tells next.
    next: u64,
    tell: &'a mut dyn FnMut(Building),
}

impl fmt::Debug for Meter<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.building.fmt(f)
    }
}

impl<'a> Meter<'a> {
    /// Nothing has been written, of so many units in all.
    pub fn new(of: u64, tell: &'a mut dyn FnMut(Building)) -> Self {
        Self { building: Building { done: 0, of }, next: STEP.min(of), tell }
    }

    /// So many more have been written.
    #[inline]
    pub fn count(&mut self, units: u64) {
        self.building.done += units;
        if self.building.done >= self.next {
            self.step();
        }
    }

    #[cold]
    fn step(&mut self) {
        let Building { done, of } = self.building;
        self.next = if done < of { (done + STEP).min(of) } else { u64::MAX };
        (self.tell)(self.building);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(of: u64, counts: &[u64]) -> Vec<u64> {
        let mut told = Vec::new();
        let mut tell = |building: Building| {
            assert_eq!(building.of, of);
            told.push(building.done);
        };
        let mut meter = Meter::new(of, &mut tell);
        for &units in counts {
            meter.count(units);
        }
        told
    }

    #[test]
    fn it_tells_once_a_step_and_at_the_end() {
        assert_eq!(told(5, &[1, 1, 1, 1, 1]), [5]);
        assert_eq!(told(3 * STEP / 2, &[STEP / 2; 3]), [STEP, 3 * STEP / 2]);
        assert_eq!(told(4 * STEP, &[3 * STEP, STEP - 1, 1]), [3 * STEP, 4 * STEP]);
        assert_eq!(told(0, &[0]), [0]);
    }
}
