//! Programs and erases that were under way when the power failed.

use super::stopped::{Charge, Stopped};
use crate::account::durable::Durable;
use crate::config::Fault;
use crate::handle::SetId;
use crate::random::{STEP, mix};
use crate::sets::{Operation, Place, Stage};
use flashyard_core::command::Op;
use flashyard_core::units::{BlockId, DieId, Ppn, Span, Time};
use std::collections::BTreeSet;

/// A program that was under way when the power failed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Torn {
    pub(crate) ppn: Ppn,
    /// The logical unit and the version that it was to have, plus one each; none of another page.
    pub(super) unit: Option<(u32, u64)>,
    /// What was left of its time in the array; none where that had not begun.
    left: Option<Span>,
    /// When it would have ended; never where that is not known.
    end: Time,
    /// Whether it leads its operation.
    leads: bool,
    /// What it is for.
    pub(super) stage: Stage,
}

impl Torn {
    /// Whether it had begun in the array.
    pub(super) const fn has_begun(&self) -> bool {
        self.left.is_some()
    }
}

impl Stopped<'_> {
    /// Operations under way in the array of each die, or suspended.
    fn under_way(&self) -> impl Iterator<Item = (Place, &Operation)> {
        let places = [Place::Array, Place::Suspended];
        (0..self.settings.geometry.dies())
            .flat_map(move |die| places.map(|place| (DieId::new(die), place)))
            .map(|(die, place)| (place, self.flash.operation(die, place)))
            .filter(|(_, operation)| operation.serves())
    }

    /// What is left of the time of an operation in the array, none where that has not begun; and
    /// when it would end.
    fn left_of(&self, place: Place, operation: &Operation) -> (Option<Span>, Time) {
        if place == Place::Suspended {
            return (Some(operation.array()), Time::MAX);
        }
        let end = operation.array_end();
        if operation.works_from(self.now).is_some_and(|from| from > self.now) || end == Time::MAX {
            return (None, end);
        }
        (Some(end.since(self.now)), end)
    }

    pub(super) fn programs_under_way(&self, durable: &Durable) -> Vec<Torn> {
        let mut torn = Vec::new();
        for (place, operation) in self.under_way().filter(|(_, one)| one.op() == Op::Program) {
            let (left, end) = self.left_of(place, operation);
            let mut next = operation.leader();
            let mut leads = true;
            while let Some(set) = next {
                next = self.sets[set].rider();
                let stage = self.sets.stage(set);
                for (ppn, unit) in self.units_of(set, durable) {
                    torn.push(Torn { ppn, unit, left, end, leads, stage });
                    leads = false;
                }
            }
        }
        torn
    }

    /// The units that the program of a set fills, and what is written to each: a merge task fills
    /// a program by itself.
    fn units_of(&self, set: SetId, durable: &Durable) -> Vec<(Ppn, Option<(u32, u64)>)> {
        let copies = self.ftl.task_copies(set, self.sets);
        let copies = copies.map(|(from, to)| (to, Self::copy_of(from, durable)));
        let alone = || self.sets[set].ppn().map(|ppn| (ppn, self.unit_of(set, durable)));
        let copies: Vec<_> = copies.collect();
        if copies.is_empty() { alone().into_iter().collect() } else { copies }
    }

    /// The logical unit that a program writes, and its version.
    fn unit_of(&self, set: SetId, durable: &Durable) -> Option<(u32, u64)> {
        let state = &self.sets[set];
        match self.sets.stage(set) {
            // A later change has been committed.
            Stage::Program if state.is_superseded() => None,
            Stage::Program => Some((state.lpn().get(), self.sets.number(set) + 1)),
            Stage::CopyProgram | Stage::FoldProgram | Stage::MergeProgram => {
                Self::copy_of(state.source()?, durable)
            }
            _ => None,
        }
    }

    /// What a copy of a unit holds.
    fn copy_of(from: Ppn, durable: &Durable) -> Option<(u32, u64)> {
        let (owner, version) = (durable.owner[from.index()], durable.version[from.index()]);
        owner.checked_sub(1).map(|lpn| (lpn, version))
    }

    /// How many erases were under way, and the blocks of them that cannot be read any more: each
    /// with the chance of the share of its time that has passed.
    pub(super) fn erases_under_way(&self, seed: u64) -> (u64, Vec<BlockId>) {
        let (mut count, mut gone) = (0, Vec::new());
        for (place, operation) in self.under_way().filter(|(_, one)| one.op() == Op::Erase) {
            let (left, end) = self.left_of(place, operation);
            let mut next = operation.leader();
            while let Some(set) = next {
                next = self.sets[set].rider();
                let Some(ppn) = self.sets[set].ppn() else { continue };
                let block = self.settings.geometry.block_of(ppn);
                count += 1;
                let all = u128::from(operation.array().as_ns().max(1));
                let left = left.map_or(all, |left| u128::from(left.as_ns()));
                let drawn = mix(seed ^ u64::from(block.get()).wrapping_mul(STEP));
                let reaches = (u128::from(drawn) * all) >> 64;
                if reaches >= left || self.ends_on_the_rail(end) {
                    gone.push(block);
                }
            }
        }
        (count, gone)
    }

    /// Whether what would end at an instant ends before the dies stop.
    fn ends_on_the_rail(&self, end: Time) -> bool {
        end < Time::MAX && end <= self.now.saturating_add(self.settings.keys.power.rail_ms)
    }

    /// Programs under way that the rail or the capacitor lets end are over. Returns the others.
    pub(super) fn end_programs(
        &self,
        programs: Vec<Torn>,
        durable: &mut Durable,
        charge: &mut Charge,
    ) -> Vec<Torn> {
        let mut ends = false;
        let mut torn = Vec::new();
        for program in programs {
            if program.leads {
                let slc = self.ftl.is_slc(Some(program.ppn));
                let price = self.program_pj(slc);
                let array = self.flash.array_time(Op::Program, Some(program.ppn), slc);
                let all = u128::from(array.as_ns().max(1));
                let left = program.left.map_or(all, |left| u128::from(left.as_ns()).min(all));
                ends = self.ends_on_the_rail(program.end) || charge.pays(price * left / all);
            }
            match program.unit {
                Some((lpn, version)) if ends => {
                    durable.holds(program.ppn.get(), (lpn + 1, version), self.now);
                }
                None if ends => {}
                _ => torn.push(program),
            }
        }
        torn
    }

    /// Interrupted programs destroy what else is on their word line. Returns the units that were
    /// there, with their versions plus one.
    pub(super) fn destroy_paired(
        &self,
        torn: &[Torn],
        durable: &mut Durable,
    ) -> BTreeSet<(u32, u64)> {
        let power = &self.settings.keys.power;
        let mut gone = BTreeSet::new();
        if !power.paired_pages || power.fault == Fault::BitCorruption {
            return gone;
        }
        for ppn in self.on_word_lines(torn) {
            if let Some(lpn) = durable.owner[ppn.index()].checked_sub(1) {
                gone.insert((lpn, durable.version[ppn.index()]));
            }
            durable.holds_nothing(ppn.get());
        }
        gone
    }

    /// The physical units before interrupted programs on their word lines.
    pub(super) fn on_word_lines(&self, torn: &[Torn]) -> Vec<Ppn> {
        let (nand, geometry) = (&self.settings.keys.nand, &self.settings.geometry);
        let mut all = Vec::new();
        if nand.one_shot || nand.bits_per_cell < 2 {
            return all;
        }
        let bits = u32::try_from(nand.bits_per_cell).expect("the key's range fits 32 bits");
        let units = geometry.units_per_page;
        let shares = |torn: &&Torn| torn.left.is_some() && !self.ftl.is_slc(Some(torn.ppn));
        for program in torn.iter().filter(shares) {
            let (block, page) = (
                geometry.block_of(program.ppn),
                geometry.unit_in_block(program.ppn) / (units * geometry.joined),
            );
            let first = page / bits * bits * units * geometry.joined;
            let before = first..page * units * geometry.joined;
            all.extend(before.map(|unit| geometry.unit_of(block, unit)));
        }
        all
    }
}
