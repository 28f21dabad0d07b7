//! Pacing: garbage collection that copies a little for each program, not a whole victim at once.
//!
//! The spare space of a plane is a number of units: its free blocks, what is left of its open
//! blocks, and the units of the current victim that are already copied (the victim's erase will
//! free them). Every program lowers it by one; the walk over a victim raises it. While it is below
//! its target, each unit that a program writes owes copies. A die whose next command of a request
//! is a program of a plane that owes a whole program unit of copies serves garbage collection
//! first; reads are not held up.
//!
//! A victim with v valid units in the L that are left of it takes v copies and yields L - v. Each
//! unit then owes v / (L - v) copies, which keeps the spare space where it is. With
//! `gc.pacing = "spare"` that ratio grows as the spare space falls below its target, and is doubled
//! where free blocks would fall to `gc.reserve_blocks`. So the spare space comes to its target
//! under any load that garbage collection can keep up with, and stays there.
//!
//! A soft zone (`gc.soft_zone_blocks`) lies above the target: there garbage collection already
//! works, and a unit owes the share of those copies that is gone of the zone. A load that leaves
//! the dies time so keeps the spare space at the upper end of the zone, where it waits for few
//! copies; a burst uses the zone up before it waits for all of them.

use crate::config::{GcPacing, Settings};
use flashyard_core::units::{DieId, PlaneId};

/// Owed copies are counted in parts of a unit: so many make one.
const ONE: u64 = 1 << 16;

/// By how many times its least the ratio grows at most.
const MOST: u64 = 4;

/// What programs owe, by plane, and what has gone before garbage collection, by die.
#[derive(Clone, Debug)]
pub(super) struct Pacing {
    rule: GcPacing,
    /// Copies for each unit, under `tokens`.
    tokens: u64,
    /// Commands of requests that go before a command of garbage collection at most; 0: any number.
    most_passed: u64,
    /// Whether reads suspend operations of a die while writes wait.
    pub(super) suspends: bool,
    /// The spare space below which garbage collection works: the target and the soft zone; units.
    pub(super) begins: u64,
    /// The spare space that planes are kept at, and how far below it the ratio is doubled; units.
    target: u64,
    slope: u64,
    /// Units of a program.
    batch: u64,
    owed: Vec<u64>,
    passed: Vec<u64>,
}

impl Pacing {
    /// The pacing of a device; none where garbage collection is not paced.
    pub(super) fn new(settings: &Settings) -> Option<Box<Self>> {
        let (gc, geometry) = (&settings.keys.gc, &settings.geometry);
        if gc.pacing == GcPacing::None {
            return None;
        }
        let block = u64::from(geometry.units_per_block());
        let target = settings.spare_target();
        Some(Box::new(Self {
            rule: gc.pacing,
            tokens: gc.copies_per_program,
            most_passed: gc.reads_before_copy,
            suspends: gc.suspend_while_short,
            begins: target + block * gc.soft_zone_blocks,
            target,
            slope: block * gc.soft_free_blocks.saturating_sub(gc.reserve_blocks).max(1),
            batch: u64::from(geometry.program_units()),
            owed: vec![0; geometry.all_planes() as usize],
            passed: vec![0; geometry.dies() as usize],
        }))
    }

    /// The same at the start of a phase: what is owed from before it is forgotten.
    pub(super) fn begin_phase(&mut self) {
        self.owed.fill(0);
        self.passed.fill(0);
    }

    /// A program of a plane with this much spare space begins, whose victim needs `ratio` copies
    /// for each unit.
    pub(super) fn owe(&mut self, plane: PlaneId, ratio: u64, spare: u64) {
        let more = self.rate(ratio, spare).saturating_mul(self.batch);
        let owed = &mut self.owed[plane.index()];
        *owed = if spare >= self.begins { 0 } else { owed.saturating_add(more) };
    }

    /// A copy has been programmed.
    pub(super) fn paid(&mut self, plane: PlaneId) {
        let owed = &mut self.owed[plane.index()];
        *owed = owed.saturating_sub(ONE);
    }

    /// Copies that a unit owes, in parts, where the victim needs `ratio` of them and the plane has
    /// this much spare space.
    fn rate(&self, ratio: u64, spare: u64) -> u64 {
        if spare >= self.target {
            let all = if self.rule == GcPacing::Tokens { self.tokens * ONE } else { ratio };
            let gone = u128::from(self.begins.saturating_sub(spare));
            let zone = u128::from(self.begins - self.target).max(1);
            return u64::try_from(u128::from(all) * gone / zone).unwrap_or(u64::MAX);
        }
        if self.rule == GcPacing::Tokens {
            return self.tokens * ONE;
        }
        let short = u128::from(self.target.saturating_sub(spare));
        let more = (short * u128::from(ONE) / u128::from(self.slope)).min(u128::from(MOST * ONE));
        let rate = u128::from(ratio) * (u128::from(ONE) + more) / u128::from(ONE);
        u64::try_from(rate).unwrap_or(u64::MAX)
    }

    /// Whether a plane owes a program unit of copies.
    pub(super) fn owes(&self, plane: PlaneId) -> bool {
        self.owed[plane.index()] >= self.batch * ONE
    }

    /// Whether as many commands of requests as may have gone before garbage collection of a die.
    pub(super) fn is_due(&self, die: DieId) -> bool {
        self.most_passed > 0 && self.passed[die.index()] >= self.most_passed
    }

    /// A die takes a command, which ends the turn of requests or goes before garbage collection.
    pub(super) fn note_turn(&mut self, die: DieId, ends: bool) {
        let passed = &mut self.passed[die.index()];
        *passed = if ends { 0 } else { *passed + 1 };
    }
}

/// Copies that each unit written has to bring, in parts, where a victim gains `gain` units by
/// `valid` copies. A victim without anything to gain, which wear levelling takes, is copied unit by
/// unit.
pub(super) fn ratio(valid: u64, gain: u64) -> u64 {
    (valid * ONE).checked_div(gain).unwrap_or(ONE)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A plane that is kept at 100 units, with a zone of 40 above them.
    fn paced(rule: GcPacing, zone: u64) -> Pacing {
        Pacing {
            rule,
            tokens: 6,
            most_passed: 0,
            suspends: true,
            begins: 100 + zone,
            target: 100,
            slope: 50,
            batch: 1,
            owed: vec![0],
            passed: vec![0],
        }
    }

    /// In the zone a unit owes all copies x what is gone of the zone: none at its upper end, half
    /// in the middle, all at the target, where the rule goes on without a step.
    #[test]
    fn a_zone_owes_the_share_of_it_that_is_gone() {
        for (rule, all) in [(GcPacing::Spare, 3 * ONE), (GcPacing::Tokens, 6 * ONE)] {
            let zone = paced(rule, 40);
            let rates = [140, 130, 120, 100].map(|spare| zone.rate(3 * ONE, spare));
            assert_eq!(rates, [0, all / 4, all / 2, all]);
            let below = zone.rate(3 * ONE, 99);
            assert!(below >= all && below < all + all / 20, "{below}");
            for spare in 0..100 {
                let without = paced(rule, 0);
                assert_eq!(zone.rate(3 * ONE, spare), without.rate(3 * ONE, spare));
            }
        }
    }
}
