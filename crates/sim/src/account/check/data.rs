//! The checker's account of data: what a host read returns is what was promised, bit by bit.
//!
//! Each version of a logical unit has a pattern of its own: the words of a shift register of 64
//! bits with linear feedback, which begins with a number that belongs to unit and version. The
//! array keeps that number for each physical unit: a program stores it, a copy takes it along, an
//! erase clears it. A read is promised the pattern of what its unit holds when it begins. When it
//! is over, the pattern of what the array holds then, with the bits that errors turn, is compared
//! with that.

use super::Checker;
use crate::random::{STEP, TurnedBits, mix};
use flashyard_core::units::{Lpn, Ppn};

/// The number of an erased unit, whose bits are all set.
const ERASED: u64 = 0;

/// The number with which the pattern of a version of a logical unit begins, never [`ERASED`].
const fn first_word(lpn: Lpn, version: u64) -> u64 {
    match mix((lpn.get() as u64).wrapping_mul(STEP) ^ mix(version.wrapping_add(STEP))) {
        ERASED => 1,
        number => number,
    }
}

/// The words of a pattern. The register takes 64 steps from word to word (Marsaglia, Journal of
/// Statistical Software 8 (14), 2003: xorshift by 13, 7 and 17; its period is 2^64 - 1).
fn pattern(first: u64) -> impl Iterator<Item = u64> {
    let mut register = first;
    std::iter::repeat_with(move || {
        register ^= register << 13;
        register ^= register >> 7;
        register ^= register << 17;
        if first == ERASED { u64::MAX } else { register }
    })
}

/// What a read was promised.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Promise {
    ppn: Ppn,
    first: u64,
}

/// What the array holds, by the number with which the pattern of each physical unit begins.
#[derive(Clone, Debug)]
pub(super) struct DataAccount {
    held: Vec<u64>,
    unit_bytes: u32,
}

impl DataAccount {
    /// An erased array.
    pub(super) fn new(units: usize, unit_bytes: u32) -> Self {
        Self { held: vec![ERASED; units], unit_bytes }
    }

    /// A version of a logical unit is on flash.
    pub(super) fn store(&mut self, ppn: Ppn, lpn: Lpn, version: u64) {
        self.held[ppn.index()] = first_word(lpn, version);
    }

    /// A copy carries whatever its source holds.
    pub(super) fn copy(&mut self, from: Ppn, to: Ppn) {
        self.held[to.index()] = self.held[from.index()];
    }

    /// A unit has been erased.
    pub(super) fn erase(&mut self, ppn: Ppn) {
        self.held[ppn.index()] = ERASED;
    }

    /// What a read of a physical unit must return: a version of a logical unit, or nothing but set
    /// bits.
    pub(super) fn promise(ppn: Ppn, version: Option<(Lpn, u64)>) -> Promise {
        let first = version.map_or(ERASED, |(lpn, version)| first_word(lpn, version));
        Promise { ppn, first }
    }

    /// Whether a physical unit holds this version of a logical one.
    pub(super) fn holds(&self, ppn: Ppn, lpn: Lpn, version: u64) -> bool {
        self.held[ppn.index()] == first_word(lpn, version)
    }

    /// How many bits that a read returns now are other than promised, where `errors` turns some.
    fn wrong_bits(&self, promise: Promise, errors: Option<TurnedBits>) -> u64 {
        if self.held[promise.ppn.index()] == promise.first {
            // One pattern: what is wrong are the bits that errors turn, each of them once.
            return errors.map_or(0, |TurnedBits { mut before, bits, .. }| {
                let of_unit = u64::from(self.unit_bytes) * 8;
                let mut turned = 0;
                before.pass(bits, |bit| turned += u64::from(bit < of_unit));
                turned
            });
        }
        let mut turned = Vec::new();
        if let Some(TurnedBits { mut before, bits, .. }) = errors {
            before.pass(bits, |bit| turned.push(bit));
        }
        let mut turned = turned.into_iter().peekable();
        let held = pattern(self.held[promise.ppn.index()]);
        let mut wrong = 0;
        for (at, (held, promised)) in (0..self.unit_bytes / 8).zip(held.zip(pattern(promise.first)))
        {
            let mut read = held;
            while let Some(bit) = turned.next_if(|bit| bit / 64 == u64::from(at)) {
                read ^= 1 << (bit % 64);
            }
            wrong += u64::from((read ^ promised).count_ones());
        }
        wrong
    }
}

impl Checker {
    /// The data of a read has come over the channel: the device counted so many wrong bits, and
    /// they are all that is wrong.
    pub(super) fn compare(&self, promise: Promise, errors: Option<TurnedBits>) {
        let wrong = self.data.wrong_bits(promise, errors);
        let injected = errors.map_or(0, |errors| errors.count);
        let ppn = promise.ppn;
        assert_eq!(wrong, injected, "{ppn:?} has {wrong} wrong bits, {injected} were injected");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{DeviceKeys, Settings};
    use crate::random::BitErrors;
    use std::panic::{AssertUnwindSafe, catch_unwind};

    const BITS: u64 = 4_096 * 8;

    fn account() -> DataAccount {
        let mut data = DataAccount::new(8, 4_096);
        data.store(Ppn::new(3), Lpn::new(70), 5);
        data
    }

    fn promise(ppn: u32, lpn: u32, version: u64) -> Promise {
        DataAccount::promise(Ppn::new(ppn), Some((Lpn::new(lpn), version)))
    }

    /// About half of the bits of two patterns differ, as of two sides of a coin.
    #[test]
    fn another_unit_version_or_state_is_found() {
        let mut data = account();
        assert_eq!(data.wrong_bits(promise(3, 70, 5), None), 0);
        let half = |wrong: u64| assert!(wrong.abs_diff(BITS / 2) < 600, "{wrong} wrong bits");
        half(data.wrong_bits(promise(3, 70, 6), None));
        half(data.wrong_bits(promise(3, 71, 5), None));
        half(data.wrong_bits(promise(4, 70, 5), None));
        data.copy(Ppn::new(3), Ppn::new(4));
        assert_eq!(data.wrong_bits(promise(4, 70, 5), None), 0, "a copy carries its data");
        data.erase(Ppn::new(3));
        half(data.wrong_bits(promise(3, 70, 5), None));
        assert_eq!(data.wrong_bits(DataAccount::promise(Ppn::new(3), None), None), 0);
    }

    /// Errors turn so many different bits, whatever the pattern.
    #[test]
    fn injected_errors_are_all_found() {
        let (data, mut errors) = (account(), BitErrors::new(2_000_000));
        let mut all = 0;
        for _ in 0..200 {
            let before = errors;
            let count = errors.pass(BITS, |_| ());
            let turned = TurnedBits { before, bits: BITS, count };
            assert_eq!(data.wrong_bits(promise(3, 70, 5), Some(turned)), count);
            all += count;
        }
        assert!(all > 10_000, "{all} errors");
    }

    #[test]
    fn what_is_wrong_besides_the_errors_ends_the_run() {
        let settings = Settings::new(DeviceKeys::default()).expect("a device");
        let mut checker = Checker::new(&settings);
        checker.data.store(Ppn::new(3), Lpn::new(70), 5);
        let passes = |checker: &Checker, promise, errors| {
            catch_unwind(AssertUnwindSafe(|| checker.compare(promise, errors))).is_ok()
        };
        assert!(passes(&checker, promise(3, 70, 5), None));
        assert!(!passes(&checker, promise(3, 70, 4), None));
        let before = BitErrors::new(2_000_000);
        let bits = u64::from(settings.geometry.unit_bytes()) * 8;
        let count = before.clone().pass(bits, |_| ());
        let turned = |count| Some(TurnedBits { before, bits, count });
        assert!(passes(&checker, promise(3, 70, 5), turned(count)));
        assert!(!passes(&checker, promise(3, 70, 5), turned(count + 1)));
        assert!(!passes(&checker, promise(3, 70, 4), turned(count)));
    }
}
