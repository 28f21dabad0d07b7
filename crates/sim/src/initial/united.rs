//! The initial states of a device with superblocks. The pool of `steady` has superblocks in place
//! of the blocks of a plane. For the others every unit is written without timing, as the host sends
//! it, and superblocks are collected. Copies of all planes fill program units together there, where
//! the device ends those of each plane and victim in part empty.

use super::Pool;
use super::device::Pools;
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
        let target = Pool::of_plane(self.settings)
            .target
            .map(|of_plane| u64::from(of_plane) * u64::from(self.count()));
        let mut written = Written { pools: self, map, begun: Vec::new(), target, walk: None };
        let mut write = |written: &mut Written<'_>, lpn: u32| {
            written.write(Lpn::new(lpn));
            meter.count(1);
        };
        match self.settings.keys.state.initial {
            InitialState::Random => {
                walk(0..self.filled, self.window(), self.seed, |lpn| write(&mut written, lpn));
            }
            _ => (0..self.filled).for_each(|lpn| write(&mut written, lpn)),
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
                    written.map.prefetch(u64::from(*lpn));
                }
                drawn[..count].iter().for_each(|lpn| write(&mut written, *lpn));
            }
        }
        written.end();
    }
}

/// What has been written.
struct Written<'a> {
    pools: &'a Pools<'a>,
    map: &'a mut PageMap,
    /// Program units of copies that are not full, one for each place among frontiers, which several
    /// may share: their plane, and the units that they lack.
    begun: Vec<(Frontier, PlaneId, u32)>,
    /// Where collection is paced: the spare units of all planes, and the victim that has been
    /// dealt with in part.
    target: Option<u64>,
    walk: Option<Walk>,
}

/// A superblock whose first units, in the order in which it was filled, have been copied.
struct Walk {
    victim: BlockId,
    next: u32,
}

impl Written<'_> {
    /// Writes a unit on the plane whose turn it is, which may open a superblock or fill it.
    fn write(&mut self, lpn: Lpn) {
        let settings = self.pools.settings;
        let gc = &settings.keys.gc;
        let opens = self.map.blocks.is_between_superblocks(HOST);
        if opens && gc.start == GcStart::Needed {
            self.collect(gc.reserve_blocks);
        }
        let turn = self.map.blocks.next_turn(HOST, 1);
        let plane = PlaneId::new(self.pools.plane_of_turn(turn));
        let plane = self.map.blocks.elsewhere(plane, HOST).unwrap_or(plane);
        self.map.lay_next(plane, HOST, Owner::Data(lpn));
        self.map.lay_sectors(lpn);
        if let Some(target) = self.target {
            self.keep(target);
        } else if opens && gc.start == GcStart::Early {
            self.collect(u64::from(Pool::of_plane(settings).soft));
        }
    }

    /// Copies until so many units are spare, those of the victim that have been dealt with
    /// included, or no superblock gains anything.
    fn keep(&mut self, target: u64) {
        loop {
            let walked = self.walk.as_ref().map_or(0, |walk| u64::from(walk.next));
            if self.map.blocks.spare_units(FIRST) + walked >= target {
                return;
            }
            let Some(Walk { victim, next }) = self.walk.take() else {
                let Some(victim) = self.map.blocks.victim(FIRST) else { return };
                self.map.blocks.claim(victim);
                self.walk = Some(Walk { victim, next: 0 });
                continue;
            };
            let geometry = &self.pools.settings.geometry;
            if next == geometry.united().units_per_block() {
                for plane in (0..self.pools.count()).map(PlaneId::new) {
                    let block = self.map.blocks.block_of(plane, victim);
                    self.map.blocks.lay_erased_united(block);
                }
                continue;
            }
            self.copy_unit(victim, next);
            self.walk = Some(Walk { victim, next: next + 1 });
        }
    }

    /// Copies a unit of a claimed superblock, if it is valid.
    fn copy_unit(&mut self, victim: BlockId, unit: u32) {
        let geometry = self.pools.settings.geometry;
        let unit = self.map.blocks.in_array(geometry.united().unit_of(victim, unit));
        if !self.map.is_valid(unit) {
            return;
        }
        let plane = geometry.plane_of(unit);
        let frontier = self.map.blocks.copy_frontier(geometry.block_of(unit));
        let owner = self.map.owner(unit).expect("it is valid");
        let to = self.place(plane, frontier);
        self.map.lay_next(to, frontier, owner);
    }

    /// Collects superblocks until more than `short` of them are free, or none gains anything.
    fn collect(&mut self, short: u64) {
        while u64::from(self.map.blocks.free_blocks(FIRST)) <= short {
            let Some(victim) = self.map.blocks.victim(FIRST) else { return };
            self.map.blocks.claim(victim);
            for plane in (0..self.pools.count()).map(PlaneId::new) {
                self.clean(plane, self.map.blocks.block_of(plane, victim));
            }
        }
    }

    /// Copies the valid units of a plane's block of a claimed superblock, and erases it.
    fn clean(&mut self, plane: PlaneId, block: BlockId) {
        let frontier = self.map.blocks.copy_frontier(block);
        let (mut from, mut batch) = (0, Vec::with_capacity(AHEAD));
        loop {
            while batch.len() < AHEAD
                && let Some((unit, _, owner)) = self.map.next_valid(block, from)
            {
                let Owner::Data(lpn) = owner else { unreachable!("the map is in memory") };
                self.map.prefetch(u64::from(lpn.get()));
                batch.push(owner);
                from = unit + 1;
            }
            if batch.is_empty() {
                break;
            }
            for owner in batch.drain(..) {
                let to = self.place(plane, frontier);
                self.map.lay_next(to, frontier, owner);
            }
        }
        self.map.blocks.lay_erased_united(block);
    }

    /// The plane of the next copy out of a block of a plane: that of the program unit of copies
    /// which is begun, or of a new one. So a superblock with an invalid unit always gains one.
    fn place(&mut self, plane: PlaneId, frontier: Frontier) -> PlaneId {
        let blocks = &self.map.blocks;
        let is_same = |(of, ..): &(Frontier, _, _)| blocks.row(*of) == blocks.row(frontier);
        let at = self.begun.iter().position(is_same).unwrap_or_else(|| {
            self.begun.push((frontier, plane, 0));
            self.begun.len() - 1
        });
        let (_, to, left) = &mut self.begun[at];
        if *left == 0 {
            *to = self.map.blocks.promise(plane, frontier);
            *left = self.pools.settings.geometry.program_units();
        }
        *left -= 1;
        *to
    }

    /// Program units that are begun are programmed as they are, and the victim that has been dealt
    /// with in part is the next one.
    fn end(self) {
        if let Some(walk) = self.walk {
            self.map.blocks.set_aside(walk.victim);
        }
        for (frontier, plane, _) in self.begun {
            self.map.blocks.end_program(plane, frontier);
        }
        self.map.blocks.end_turns(HOST);
        for plane in (0..self.pools.count()).map(PlaneId::new) {
            self.map.blocks.end_program(plane, HOST);
        }
    }
}
