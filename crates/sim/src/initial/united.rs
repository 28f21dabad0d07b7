//! The initial states of a device with superblocks. The pool of `steady` has superblocks in place
//! of the blocks of a plane. For the others every unit is written without timing, as the host sends
//! it, and superblocks are collected as the device collects them.

use super::Pool;
use super::device::{Pools, put};
use super::place::walk;
use super::planned::aging_writes;
use super::progress::Meter;
use super::random::Random;
use crate::config::{GcStart, InitialState};
use crate::ftl::page_map::{Owner, PageMap};
use crate::parts::blocks::Frontier;
use flashyard_core::units::{BlockId, Lpn, PlaneId};

/// The frontier that host data go to.
const HOST: Frontier = Frontier::HostData(0);

/// Entries of the map are asked for so many at a time, before the first of them is needed.
const AHEAD: usize = 64;

/// The plane whose figures are those of all of them.
const FIRST: PlaneId = PlaneId::new(0);

impl Pools<'_> {
    /// Puts a device with superblocks into an initial state other than `steady`.
    pub(super) fn make_united(&self, map: &mut PageMap, meter: &mut Meter<'_>) {
        let mut write = |map: &mut PageMap, lpn: u32| {
            self.write_united(map, Lpn::new(lpn));
            meter.count(1);
        };
        match self.settings.keys.state.initial {
            InitialState::Random => {
                walk(0..self.filled, self.window(), self.seed, |lpn| write(map, lpn));
            }
            _ => (0..self.filled).for_each(|lpn| write(map, lpn)),
        }
        if self.settings.keys.state.initial == InitialState::Aged {
            let mut random = Random::new(self.seed, 3);
            let [hot, _] = self.writes();
            let (mut left, mut drawn) = (aging_writes(self.settings, self.filled), [0; AHEAD]);
            while left > 0 {
                let count = usize::try_from(left).unwrap_or(AHEAD).min(AHEAD);
                left -= count as u64;
                for lpn in &mut drawn[..count] {
                    *lpn = self.draw(&mut random, hot);
                    map.prefetch(u64::from(*lpn));
                }
                drawn[..count].iter().for_each(|lpn| write(map, *lpn));
            }
        }
        map.blocks.end_united_programs();
    }

    /// Writes a unit on the plane whose turn it is, which may open a superblock or fill it.
    fn write_united(&self, map: &mut PageMap, lpn: Lpn) {
        let gc = &self.settings.keys.gc;
        let opens = map.blocks.is_between_superblocks(HOST);
        if opens && gc.start == GcStart::Needed {
            self.collect_united(map, gc.reserve_blocks);
        }
        let turn = map.blocks.next_turn(HOST, 1);
        let plane = PlaneId::new(self.plane_of_turn(turn));
        let plane = map.blocks.elsewhere(plane, HOST).unwrap_or(plane);
        put(self.settings, map, plane, HOST, Owner::Data(lpn));
        map.lay_sectors(lpn);
        if opens && gc.start == GcStart::Early {
            self.collect_united(map, u64::from(Pool::of_plane(self.settings).soft));
        }
    }

    /// Collects superblocks until more than `short` of them are free, or no full one has an invalid
    /// unit.
    fn collect_united(&self, map: &mut PageMap, short: u64) {
        while u64::from(map.blocks.free_blocks(FIRST)) <= short {
            let Some(victim) = map.blocks.victim(FIRST) else { return };
            map.blocks.claim(victim);
            for plane in (0..self.count()).map(PlaneId::new) {
                self.clean_united(map, plane, victim);
            }
        }
    }

    /// Copies the valid units of a plane's block of a claimed superblock, a program unit at a time
    /// and the last one in part, and erases it.
    fn clean_united(&self, map: &mut PageMap, plane: PlaneId, victim: BlockId) {
        let first = self.settings.geometry.first_block(plane).get();
        let block = BlockId::new(first + victim.get());
        let frontier = map.blocks.copy_frontier(block);
        let program = self.settings.geometry.program_units();
        let (mut from, mut left, mut to) = (0, 0, plane);
        let mut batch = Vec::with_capacity(AHEAD);
        loop {
            while batch.len() < AHEAD
                && let Some((unit, _, owner)) = map.next_valid(block, from)
            {
                let Owner::Data(lpn) = owner else { unreachable!("the map is in memory") };
                map.prefetch(u64::from(lpn.get()));
                batch.push(owner);
                from = unit + 1;
            }
            if batch.is_empty() {
                break;
            }
            for owner in batch.drain(..) {
                if left == 0 {
                    (to, left) = (map.blocks.promise(plane, frontier), program);
                }
                put(self.settings, map, to, frontier, owner);
                left -= 1;
            }
        }
        if left > 0 {
            map.blocks.end_program(to, frontier);
        }
        map.blocks.erased(block);
    }
}
