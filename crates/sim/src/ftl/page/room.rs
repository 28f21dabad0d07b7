//! Pages for programs: which open block a program fills, and when it may open another one.

use super::PageFtl;
use crate::config::GcStart;
use crate::ftl::base::Base;
use crate::ftl::placement::Placement;
use crate::parts::blocks::Frontier;
use crate::sets::Stage;
use flashyard_core::units::PlaneId;

impl PageFtl {
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

impl Base {
    /// Blocks held in reserve: with at most so many free ones a program opens none.
    pub(super) fn held_in_reserve(&self, stage: Stage, frontier: Frontier) -> u64 {
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

    /// Whether a program that found no room is one that garbage collection needs to go on, so that
    /// the plane cannot make room any more.
    pub(super) fn blocks_collection(&self, stage: Stage) -> bool {
        let blocks = stage == Stage::CopyProgram || self.rewrites_for_erase(stage);
        // Otherwise a job finds room for its copies with one free block.
        assert!(!blocks || self.study.overdraws(), "no room to copy");
        blocks
    }
}
