//! The SLC cache of each plane: which writes go to blocks with one bit a cell, and which of these
//! is folded next.

use super::base::Base;
use crate::handle::SetId;
use crate::parts::blocks::Frontier;
use crate::sets::{Sets, Stage};
use flashyard_core::units::{BlockId, PlaneId, Ppn, Time};

/// Free blocks of a plane that a fold needs where its erase gives none back, and where it does.
pub(super) const FREE_TO_FOLD: [u64; 2] = [2, 1];

impl Base {
    /// Where a write of host data goes: to the cache while that has room, or to blocks with all
    /// bits a cell. Where writes wait for room it is the cache too, unless it has nothing that
    /// could be folded.
    #[inline(never)]
    pub(super) fn frontier_of_write(&self, set: SetId, sets: &Sets) -> Frontier {
        let plane = sets.plane(set);
        if self.has_cache_room(plane) || self.waits_on(plane) {
            Frontier::Slc
        } else {
            Frontier::HostData(sets[set].stream())
        }
    }

    /// The frontier that a program which has its unit goes to.
    pub(crate) fn frontier_of_bound(&self, set: SetId, sets: &Sets) -> Frontier {
        if self.slc.is_none() || sets.stage(set) != Stage::Program {
            return self.frontier(set, sets);
        }
        let state = &sets[set];
        if self.is_slc(state.ppn()) { Frontier::Slc } else { Frontier::HostData(state.stream()) }
    }

    /// Whether the cache of a plane takes a write now.
    fn has_cache_room(&self, plane: PlaneId) -> bool {
        let blocks = &self.map.blocks;
        blocks.has_open_block(plane, Frontier::Slc) || blocks.may_cache(plane)
    }

    /// Whether a write would wait for room in the cache of a plane.
    fn waits_on(&self, plane: PlaneId) -> bool {
        self.slc.as_ref().is_some_and(|slc| slc.waits) && self.map.blocks.has_folds(plane)
    }

    /// Whether a program that has found no room waits for the cache.
    pub(super) fn waits_for_cache(&self, set: SetId, sets: &Sets) -> bool {
        self.slc.is_some()
            && sets.stage(set) == Stage::Program
            && self.frontier_of_write(set, sets) == Frontier::Slc
    }

    /// Whether a physical unit lies in a block that is used with one bit a cell.
    #[inline]
    pub(crate) fn is_slc(&self, ppn: Option<Ppn>) -> bool {
        let in_cache = |ppn: Ppn| self.map.blocks.is_slc(self.geometry.block_of(ppn));
        self.slc.is_some() && ppn.is_some_and(in_cache)
    }

    /// Whether the next program of a set goes to such a block.
    pub(crate) fn binds_slc(&self, set: SetId, sets: &Sets) -> bool {
        self.slc.is_some() && self.frontier(set, sets) == Frontier::Slc
    }

    /// The units that one program of a set writes.
    pub(crate) fn program_units(&self, ppn: Option<Ppn>) -> u32 {
        match ppn {
            Some(ppn) if self.slc.is_some() => {
                self.map.blocks.program_units_of(self.geometry.block_of(ppn))
            }
            _ => self.geometry.program_units(),
        }
    }

    /// A program unit is over: its plane may have a block to fold.
    pub(super) fn note_fold(&mut self, ppn: Ppn) {
        if self.is_slc(Some(ppn))
            && let Some(slc) = &mut self.slc
        {
            slc.idle.note(self.geometry.plane_of(ppn));
        }
    }

    /// Whether planes fold because the device has been idle for long enough.
    pub(super) fn folds_idle(&self, now: Time) -> bool {
        self.slc.as_ref().is_some_and(|slc| slc.idle.is_long_enough(now))
    }

    /// The block of a plane that is folded next, one whose erase gives the plane a free block if it
    /// must be one that `frees`; none where copies would not leave garbage collection a free block.
    pub(super) fn next_fold(&self, plane: PlaneId, frees: bool) -> Option<BlockId> {
        let blocks = &self.map.blocks;
        let block = blocks.next_fold(plane, frees)?;
        let needed = FREE_TO_FOLD[usize::from(blocks.fold_frees(block))];
        let fits = blocks.valid_units(block) == 0 || self.free_blocks(plane) >= needed;
        fits.then_some(block)
    }
}
