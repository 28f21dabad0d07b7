//! Pages for programs: which open block a program fills, and when it may open another one.

use crate::config::GcStart;
use crate::ftl::Ftl;
use crate::ftl::lent::Binding;
use crate::handle::SetId;
use crate::parts::blocks::Frontier;
use crate::sets::{Sets, Stage};
use flashyard_core::units::{PlaneId, Ppn};

impl Ftl {
    /// The frontier that a program's command writes to.
    #[inline]
    pub(crate) fn frontier(&self, set: SetId, sets: &Sets) -> Frontier {
        let state = &sets[set];
        match sets.stage(set) {
            Stage::Program => Frontier::HostData(state.stream),
            Stage::CopyProgram => {
                let source = state.source.expect("a copy has a source");
                self.map.blocks.copy_frontier(self.geometry.block_of(source))
            }
            _ => Frontier::HostMap,
        }
    }

    /// Takes the page of a program that is about to start.
    pub(in crate::ftl) fn bind_unit(&mut self, set: SetId, sets: &Sets) -> Binding {
        let (plane, stage) = (sets.plane(set), sets.stage(set));
        let frontier = self.frontier(set, sets);
        if self.free_blocks(plane) <= self.held_in_reserve(stage, frontier)
            && !self.may_fill_open_block(plane, stage, frontier)
        {
            return Binding::Full;
        }
        let Some((ppn, opened)) = self.map.blocks.take_unit(plane, frontier) else {
            return Binding::Full;
        };
        if sets[set].request.is_some() || sets[set].buffered.is_some() {
            self.page_mut().plane_mut(plane).rounds_without_room = 0;
        }
        if opened { Binding::NewBlock(ppn) } else { Binding::Page(ppn) }
    }

    /// Takes one more unit of the program unit that a frontier is in.
    pub(crate) fn take_beside(&mut self, plane: PlaneId, frontier: Frontier) -> Ppn {
        let (ppn, _) =
            self.map.blocks.take_unit(plane, frontier).expect("its program unit has room");
        ppn
    }

    /// Leaves the rest of the program unit that a frontier is in empty, behind `taken` units.
    pub(crate) fn pad(&mut self, plane: PlaneId, frontier: Frontier, taken: u32) {
        self.map.blocks.pad(plane, frontier, taken);
    }

    /// Blocks held in reserve: with at most so many free ones a program opens none.
    fn held_in_reserve(&self, stage: Stage, frontier: Frontier) -> u64 {
        match frontier {
            Frontier::HostData(_) => self.gc.reserve_blocks,
            Frontier::HostMap if self.rewrites_for_erase(stage) => 0,
            Frontier::HostMap if !self.study.map_as_data => self.gc.reserve_blocks / 2,
            Frontier::HostMap if stage == Stage::Writeback => self.gc.reserve_blocks,
            _ => 0,
        }
    }

    /// Whether a command rewrites a map page that the erase of a victim waits for.
    fn rewrites_for_erase(&self, stage: Stage) -> bool {
        self.study.erase_after_map && stage == Stage::RewriteProgram
    }

    /// Whether a program may fill the open block of its frontier when no new block may be opened.
    /// If copies of garbage collection fill the same block, map pages may while no block is free
    /// for the copies only if they are rewrites that a job itself needs; host data may only while
    /// no job is under way and `gc.start = "needed"`.
    fn may_fill_open_block(&self, plane: PlaneId, stage: Stage, frontier: Frontier) -> bool {
        let kept_for_copies = match frontier {
            Frontier::HostMap => {
                let of_job = stage == Stage::RewriteProgram && self.study.overdraws();
                self.free_blocks(plane) == 0 && !of_job
            }
            _ => self.gc.start == GcStart::Early || self.is_busy(plane),
        };
        self.map.blocks.has_open_block(plane, frontier)
            && !(kept_for_copies && self.map.blocks.copies_share(frontier))
    }

    /// Whether a program that found no room is one that garbage collection needs to go on, so that
    /// the plane cannot make room any more.
    pub(super) fn blocks_collection(&self, stage: Stage) -> bool {
        let blocks = stage == Stage::CopyProgram || self.rewrites_for_erase(stage);
        // Otherwise a job finds room for its copies with one free block.
        assert!(!blocks || self.study.overdraws(), "no room to copy");
        blocks
    }
}
