//! Garbage collection: greedy, on demand, one victim a die at a time.
//!
//! A job copies the valid pages of its victim one after the other (read, program on the same die),
//! then erases it. Map entries of moved data are updated in the cache where their line is there;
//! for the others each map page is read and programmed once after the copies. The erase does not
//! wait for those, so every die can always finish a job with one free block.

use super::Device;
use super::explain::Track;
use super::state::{Mode, Set, Stage};
use super::translate::MAP_WRITE;
use crate::ftl::page_map::Owner;
use crate::metrics::counters::Phase;
use flashyard_core::graph::{EdgeKind, NIL, Wait};
use flashyard_core::units::{BlockId, DieId, Lpn, MapPage};

/// Jobs, as a multiple of the blocks of a die, that may pass before a waiting program must have
/// found room.
const FRUITLESS_ROUNDS: u64 = 8;

/// The work on one victim.
#[derive(Clone, Copy, Debug)]
pub(super) struct Job {
    victim: BlockId,
    /// Pages before this one have been dealt with.
    next_page: u32,
    /// The set of the final erase.
    pub(super) eraser: u32,
    /// The request that is charged, [`NIL`] for none.
    charge: u32,
}

impl Device {
    /// Starts a job on a die that is short of free blocks, unless one is under way. `charge` is the
    /// request whose program asked for space.
    pub(super) fn collect(&mut self, die: DieId, charge: u32) {
        let free = u64::from(self.map.blocks.free_blocks(die));
        if self.dies[die.index()].job.is_some() || free > self.settings.keys.gc.soft_free_blocks {
            return;
        }
        let Some(victim) = self.map.blocks.victim(die) else { return };
        self.map.blocks.claim(victim);
        self.totals.gc_jobs += 1;
        self.totals.gc_valid += u64::from(self.map.blocks.valid_pages(victim));
        let eraser = self.own_set(
            charge,
            Set { ppn: Some(self.settings.geometry.page_of(victim, 0)), ..Set::VACANT },
            &[(Stage::Erase, die)],
        );
        self.dies[die.index()].job = Some(Job { victim, next_page: 0, eraser, charge });
        self.copy_next(die);
        self.activate(eraser);
    }

    /// Makes a set of the device's own work.
    fn own_set(&mut self, charge: u32, state: Set, stages: &[(Stage, DieId)]) -> u32 {
        if charge != NIL {
            self.pending[charge as usize].charges += 1;
        }
        let track = Track::starting(self.now, crate::metrics::parts::Parts::default());
        self.new_set(Set { charge, mode: Mode::Slotless, track, ..state }, stages)
    }

    /// Copies the next valid page of the victim before its erase.
    fn copy_next(&mut self, die: DieId) {
        let job = self.dies[die.index()].job.expect("a copy belongs to a job");
        let next = self.map.next_valid(job.victim, job.next_page);
        let Some((page, source, owner)) = next else {
            self.rewrite_moved_maps(die, job.charge);
            return;
        };
        self.dies[die.index()].job = Some(Job { next_page: page + 1, ..job });
        let mut state = Set { source: Some(source), ..Set::VACANT };
        match owner {
            Owner::Data(lpn) => state.lpn = lpn,
            Owner::Map(page) => (state.map_page, state.copies_map) = (page, true),
        }
        let copy =
            self.own_set(job.charge, state, &[(Stage::CopyRead, die), (Stage::CopyProgram, die)]);
        self.connect(Wait { source: copy, stage: 1, kind: EdgeKind::Gc }, job.eraser, 0);
        self.activate(copy);
    }

    /// A copy has been programmed: it counts if its source is still the newest.
    pub(super) fn copy_over(&mut self, set: u32, die: DieId) {
        let state = self.sets[set as usize];
        let (from, to) = (state.source.expect("a copy has a source"), state.ppn.expect("a page"));
        let owner =
            if state.copies_map { Owner::Map(state.map_page) } else { Owner::Data(state.lpn) };
        let current = self.map.owner(from) == Some(owner);
        if let Some(checker) = &mut self.checker {
            checker.copied(from, to, (!state.copies_map).then_some(state.lpn));
        }
        if current {
            self.map.commit(owner, to);
            if !state.copies_map {
                self.moved(die, state.lpn);
            }
        } else {
            self.totals.gc_superseded += 1;
        }
        self.copy_next(die);
    }

    /// The map entry of a moved page changes: in its cached line, or on flash after the copies.
    fn moved(&mut self, die: DieId, lpn: Lpn) {
        let Some(cache) = &mut self.cache else { return };
        if cache.update(lpn) {
            self.totals.gc_lines_updated += 1;
        } else {
            self.dies[die.index()].moved.push((cache.map_page(lpn), lpn));
        }
    }

    /// Reads and programs each map page with entries of moved data once.
    fn rewrite_moved_maps(&mut self, die: DieId, charge: u32) {
        let mut moved = std::mem::take(&mut self.dies[die.index()].moved);
        if let Some(cache) = &mut self.cache {
            // A line that was fetched since the copy holds the old entry: it is updated there.
            let updated = &mut self.totals.gc_lines_updated;
            moved.retain(|&(_, lpn)| {
                let cached = cache.update(lpn);
                *updated += u64::from(cached);
                !cached
            });
        }
        moved.sort_unstable();
        for entries in moved.chunk_by(|a, b| a.0 == b.0) {
            self.rewrite_map(entries[0].0, charge, entries.iter().map(|entry| entry.1));
        }
        moved.clear();
        self.dies[die.index()].moved = moved;
    }

    fn rewrite_map(&mut self, page: MapPage, charge: u32, entries: impl Iterator<Item = Lpn>) {
        let die = self.die_of_map(page);
        let state = Set { map_page: page, ..Set::VACANT };
        let stages = [(Stage::RewriteRead, die), (Stage::RewriteProgram, die)];
        let set = self.own_set(charge, state, &stages);
        let cache = self.cache.as_mut().expect("only a cached map is rewritten");
        let writer = cache.writer_of_page(page);
        cache.rewrite(page, set);
        entries.for_each(|lpn| cache.rewrite_entry(lpn, set));
        if let Some(writer) = writer {
            let wait = Wait { source: writer, stage: MAP_WRITE, kind: EdgeKind::MapWriteback };
            self.connect(wait, set, 0);
        }
        self.activate(set);
    }

    /// The victim has been erased: programs that wait for room are woken by its set; the next job
    /// starts if blocks are still short.
    pub(super) fn erase_over(&mut self, set: u32, die: DieId) {
        let job = self.dies[die.index()].job.take().expect("an erase belongs to a job");
        assert_eq!(job.eraser, set, "another job erases this block");
        if let Some(checker) = &mut self.checker {
            checker.erased(job.victim);
        }
        self.map.blocks.erased(job.victim);
        let unit = &mut self.dies[die.index()];
        if std::mem::take(&mut unit.programs_wait) {
            unit.fruitless += 1;
            let blocks = self.settings.keys.geometry.blocks_per_die;
            if u64::from(unit.fruitless) > FRUITLESS_ROUNDS * blocks {
                self.failed = Some(super::SimError::NoRoom { die: die.get() });
                return;
            }
        }
        if self.phase() != Phase::Post {
            let (handle, order) = self.dies[die.index()].drawer;
            let live = handle != NIL && self.pending[handle as usize].order == order;
            self.collect(die, if live { handle } else { NIL });
        }
    }
}
