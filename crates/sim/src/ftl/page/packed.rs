//! Copies of garbage collection where room is scarce.
//!
//! A program takes the copies that wait for it, and leaves the rest of its program unit empty.
//! Where a policy programs one copy before the others are read, a victim with few invalid units can
//! take more program units than the plane has left. So once that could happen, the copies of a
//! program unit begin together, and none of them is programmed before all are read.

use super::PageFtl;
use super::job::JobStep;
use crate::ftl::base::Base;
use crate::ftl::lent::Lent;
use crate::sets::Wait;
use flashyard_core::graph::EdgeKind;
use flashyard_core::units::PlaneId;

impl PageFtl {
    /// Whether the copies of a plane's job could run out of room if each of those under way got a
    /// program unit of its own.
    #[inline]
    pub(super) fn is_scarce(&self, plane: PlaneId, base: &Base) -> bool {
        let (blocks, geometry) = (&base.map.blocks, &base.geometry);
        let [program, block] =
            [geometry.program_units(), geometry.units_per_block()].map(u64::from);
        let job = self.job(plane);
        if program == 1 || job.folds {
            return false;
        }
        let needed = u64::from(blocks.valid_units(job.victim)).div_ceil(program);
        // Nothing is copied out of a block of the journal, and no block is open for that.
        if needed == 0 {
            return false;
        }
        let open = blocks.open_units(plane, blocks.copy_frontier(job.victim));
        let open = open.map_or(0, |(_, before_last)| u64::from(before_last) + 1);
        // Other programs leave it one free block.
        let free = base.free_blocks(plane).min(1) * block;
        (open + free) / program < needed + program
    }

    /// Copies a program unit of the victim, once the one before is over.
    pub(super) fn copy_packed(&mut self, plane: PlaneId, lent: &mut Lent<'_>) {
        if self.job(plane).copies > 0 {
            return;
        }
        let mut copies = std::mem::take(&mut self.packed);
        loop {
            match self.next_step(lent.base, plane) {
                JobStep::Copy { job, source, owner } => {
                    copies.push(self.new_copy([plane; 2], &job, (source, owner), lent));
                }
                JobStep::Erase => break self.copies_over(plane, lent),
                JobStep::Nothing => break,
            }
        }
        for &copy in &copies {
            for &source in copies.iter().filter(|other| **other != copy) {
                lent.sets.connect(Wait { source, stage: 0, kind: EdgeKind::Gc }, copy, 1);
            }
        }
        copies.drain(..).for_each(|copy| lent.go_on(copy));
        self.packed = copies;
    }
}
