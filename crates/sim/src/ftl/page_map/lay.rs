//! Units put straight into the map, for devices that start with a history.

use super::{Owner, PageMap, ROOM};
use crate::parts::blocks::Frontier;
use flashyard_core::units::{Lpn, PlaneId, Ppn};
use std::ops::Range;

/// Units of the open block of a plane but its last: what has been written, and what comes next.
#[derive(Clone, Default)]
struct Open {
    written: Range<u32>,
    end: u32,
}

impl PageMap {
    /// A logical unit that was never written is at this place, of whose valid units its block knows
    /// already.
    #[inline]
    pub(crate) fn lay(&mut self, lpn: Lpn, ppn: Ppn) {
        self.touch(lpn.index());
        self.l2p[lpn.index()] = ppn.get() + 1;
        self.p2l[ppn.index()] = lpn.get();
        self.valid[ppn.index() / 64] |= 1 << (ppn.index() % 64);
        self.lay_sectors(lpn);
    }

    /// All sectors of a logical unit have been written.
    #[inline]
    pub(crate) fn lay_sectors(&mut self, lpn: Lpn) {
        if !self.sectors.is_empty() {
            self.cover(lpn, 0..self.unit_sectors);
        }
    }

    /// Writes the logical units below `written` of a fresh device in order. `tell` hears how many
    /// more have been written.
    pub(crate) fn lay_in_order(
        &mut self,
        frontier: Frontier,
        written: u32,
        mut tell: impl FnMut(u32),
    ) {
        self.touch_all();
        let run = self.geometry.stripe_units();
        let planes: Vec<PlaneId> = (0..self.geometry.all_planes())
            .map(|stripe| self.geometry.plane_of_stripe(stripe))
            .collect();
        let mut open = vec![Open::default(); planes.len()];
        let mut lpn = 0;
        for &plane in planes.iter().cycle() {
            let end = written.min(lpn + run);
            let units = &mut open[plane.index()];
            while lpn < end {
                lpn = self.lay_run(units, lpn..end);
                if lpn < end {
                    tell(self.lay_written(plane, frontier, units) + 1);
                    self.lay_next(plane, frontier, Owner::Data(Lpn::new(lpn)));
                    lpn += 1;
                    let next = self.blocks.open_units(plane, frontier);
                    *units = next.map_or_else(Open::default, |(next, count)| Open {
                        written: next.get()..next.get(),
                        end: next.get() + count,
                    });
                }
            }
            if lpn == written {
                break;
            }
        }
        for (plane, units) in (0..).map(PlaneId::new).zip(&open) {
            tell(self.lay_written(plane, frontier, units));
        }
        if !self.sectors.is_empty() {
            (0..written).for_each(|lpn| self.lay_sectors(Lpn::new(lpn)));
        }
    }

    /// Gives logical units their places in an open block, as far as it has room. Returns the next.
    #[inline]
    fn lay_run(&mut self, open: &mut Open, lpns: Range<u32>) -> u32 {
        let first = open.written.end;
        let count = (lpns.end - lpns.start).min(open.end - first);
        let (places, owners) = (lpns.start as usize, first as usize);
        let places = &mut self.l2p[places..places + count as usize];
        let owners = &mut self.p2l[owners..owners + count as usize];
        for (at, (place, owner)) in (0..).zip(places.iter_mut().zip(owners)) {
            *place = first + at + 1;
            *owner = lpns.start + at;
        }
        open.written.end += count;
        lpns.start + count
    }

    /// The blocks hear of the units that were written to the open one; returns how many.
    fn lay_written(&mut self, plane: PlaneId, frontier: Frontier, open: &Open) -> u32 {
        let Range { start, end } = open.written;
        let mut at = start;
        while at < end {
            let bits = (end - at).min(64 - at % 64);
            self.valid[at as usize / 64] |= u64::MAX >> (64 - bits) << (at % 64);
            at += bits;
        }
        self.blocks.lay_first(plane, frontier, end - start);
        end - start
    }

    /// Programs the next unit of a frontier, which may open a block or fill it.
    pub(crate) fn lay_next(&mut self, plane: PlaneId, frontier: Frontier, owner: Owner) {
        let (ppn, _) = self.blocks.take_unit(plane, frontier).expect(ROOM);
        if self.geometry.unit_in_block(ppn) + 1 == self.geometry.units_per_block() {
            self.blocks.programmed(ppn);
        }
        self.commit(owner, ppn);
    }
}
