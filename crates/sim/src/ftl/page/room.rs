//! Planes and pages for programs: where writes go, which open block a program fills, and when it
//! may open another one.

use super::PageFtl;
use crate::config::GcStart;
use crate::ftl::base::Base;
use crate::ftl::lent::{Room, Wrote};
use crate::ftl::placement::Placement;
use crate::handle::SetId;
use crate::parts::blocks::Frontier;
use crate::sets::{Sets, Stage};
use flashyard_core::units::{PlaneId, Ppn};

impl PageFtl {
    /// The plane with the fewest unfinished host programs, in the order of striping from the one
    /// after the last choice on; planes that hold all the data they can, then those without room
    /// for data of this frontier come last.
    pub(super) fn least_busy_plane(&mut self, base: &Base, frontier: Frontier) -> PlaneId {
        let count = base.geometry.all_planes();
        let (blocks, most) = (&base.map.blocks, base.plane_valid_units);
        let reserve = base.gc.reserve_blocks;
        let load = |plane: PlaneId| {
            let writes = self.planes[plane.index()].writes;
            let valid = blocks.valid_of_plane(plane) + writes;
            let short = u64::from(blocks.free_blocks(plane)) <= reserve
                && !blocks.has_open_block(plane, frontier);
            (valid.saturating_sub(most), short, writes)
        };
        let first = self.next_stripe;
        let mut best = base.stripes[(first % count) as usize];
        let mut best_at = first;
        let mut least = load(best);
        for at in first + 1..first + count {
            if least == (0, false, 0) {
                break;
            }
            let plane = base.stripes[(at % count) as usize];
            let own = load(plane);
            if own < least {
                (best, best_at, least) = (plane, at, own);
            }
        }
        self.next_stripe = (best_at + 1) % count;
        best
    }

    /// Another plane for a program of host data, where its own holds more valid data than it can
    /// collect and allocation is dynamic.
    pub(super) fn other_plane(&mut self, base: &Base, set: SetId, sets: &Sets) -> Option<PlaneId> {
        let plane = sets.plane(set);
        if !base.dynamic || !base.is_full(plane) || sets.stage(set) != Stage::Program {
            return None;
        }
        // One that is full sends the write on, which then goes round in circles.
        let mut other = self.least_busy_plane(base, base.frontier(set, sets));
        if base.is_full(other) {
            other = base.emptiest_plane();
        }
        if other == plane || base.is_full(other) {
            return None;
        }
        self.plane_mut(plane).writes -= 1;
        self.plane_mut(other).writes += 1;
        Some(other)
    }

    /// A program has found no room, and no block gains. Where jobs begin when a program needs them,
    /// the reserve says when that is: the program opens a block of it, if there is one.
    pub(super) fn overdraw(&mut self, plane: PlaneId, base: &Base) -> Room {
        if base.gc.start == GcStart::Early || base.free_blocks(plane) == 0 {
            return Room::None;
        }
        self.plane_mut(plane).overdraws = true;
        Room::Elsewhere(plane)
    }

    /// Blocks of a plane held in reserve: with at most so many free ones a program opens none.
    #[inline]
    pub(super) fn held(&self, base: &Base, plane: PlaneId, stage: Stage, at: Frontier) -> u64 {
        let held = base.held_in_reserve(stage, at);
        if base.slc.is_none() || matches!(stage, Stage::CopyProgram | Stage::FoldProgram) {
            return held;
        }
        held.max(self.held_for_fold(base, plane))
    }

    /// Whether a program may fill the open block of its frontier when no new block may be opened.
    /// If copies of garbage collection fill the same block, map pages may while no block is free
    /// for the copies only if they are rewrites that a job itself needs; host data may only while
    /// no job is under way and `gc.start = "needed"`.
    pub(super) fn may_fill_open_block(
        &self,
        base: &Base,
        plane: PlaneId,
        stage: Stage,
        frontier: Frontier,
    ) -> bool {
        let kept_for_copies = match frontier {
            Frontier::HostMap => {
                let of_job = stage == Stage::RewriteProgram && base.study.overdraws();
                base.free_blocks(plane) == 0 && !of_job
            }
            _ => base.gc.start == GcStart::Early || self.is_busy(plane),
        };
        base.map.blocks.has_open_block(plane, frontier)
            && !(kept_for_copies && base.map.blocks.copies_share(frontier))
    }
}

impl Wrote {
    /// The open blocks that the data go to.
    pub(super) fn frontier(self, base: &Base) -> Frontier {
        Frontier::HostData(match self {
            Self::Identified(place) => base.placement.handle_of(place),
            Self::Flushed(handle) => handle,
        })
    }
}

impl Base {
    /// Where data of several handles are kept apart: whose data the block of a copy's source holds,
    /// and to whose open block it went.
    #[inline]
    pub(super) fn rows_of_copy(&self, from: Ppn, to: Ppn) -> Option<(u8, u8)> {
        let [from, to] = [from, to].map(|ppn| self.geometry.block_of(ppn));
        let blocks = &self.map.blocks;
        blocks.placed_in(from).map(|row| (row, blocks.filled_by(to)))
    }

    /// Whether a plane holds as many valid units as it can collect.
    pub(super) fn is_full(&self, plane: PlaneId) -> bool {
        self.map.blocks.valid_of_plane(plane) >= self.plane_valid_units
    }

    /// The plane with the fewest valid units.
    fn emptiest_plane(&self) -> PlaneId {
        let emptiest = self.planes().min_by_key(|plane| self.map.blocks.valid_of_plane(*plane));
        emptiest.expect("a device has planes")
    }

    /// Blocks held in reserve: with at most so many free ones a program opens none.
    pub(super) fn held_in_reserve(&self, stage: Stage, frontier: Frontier) -> u64 {
        match frontier {
            Frontier::HostData(_) => self.gc.reserve_blocks,
            // It may open one where host data may not, and leaves collection the one that it needs.
            Frontier::Journal => (self.gc.reserve_blocks / 2).max(1),
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

    /// Whether a program that found no room is one that garbage collection needs to go on, so that
    /// the plane cannot make room any more.
    pub(super) fn blocks_collection(&self, stage: Stage) -> bool {
        let copies = matches!(stage, Stage::CopyProgram | Stage::FoldProgram);
        let blocks = copies || self.rewrites_for_erase(stage);
        // Otherwise a job finds room for its copies with one free block.
        assert!(!blocks || self.study.overdraws(), "no room to copy");
        blocks
    }

    /// Whether the blocks of a plane that are not worn out have room for its valid units and for
    /// garbage collection.
    pub(super) fn can_hold(&self, plane: PlaneId) -> bool {
        let planes = if self.map.blocks.are_united() { self.geometry.all_planes() } else { 1 };
        let dense = self.geometry.units_per_block() - self.geometry.program_units() + 1;
        let lost = self.map.blocks.worn_out(plane).saturating_mul(dense);
        let most = self.plane_valid_units.saturating_sub(lost).saturating_mul(planes);
        self.map.blocks.valid_of_plane(plane) <= most
    }
}
