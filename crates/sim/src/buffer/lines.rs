//! Lines of the write buffer: which logical units DRAM holds, which of them flash lacks, and in
//! which order they were used.
//!
//! A line holds one mapping unit. It is **dirty** while flash lacks its contents and nobody
//! programs them, **in flight** while programs of them are under way, **clean** otherwise; it
//! can be dirty and in flight, when it was overwritten meanwhile. Dirty lines are in one list
//! of all and in one of those that are programmed together, clean lines in a list of their own,
//! each with the one that goes first at the front. Lines live in a slab and are found by buckets of
//! chains; memory is touched when it is first used. A place in the slab is a physical line, and
//! belongs to a bank.

use super::Line;
use super::link::{ALL, GROUP, List};
use crate::config::Replacement;
use crate::handle::LineId;
use flashyard_core::units::Lpn;
use std::ops::{Index, IndexMut};

/// All lines.
#[derive(Clone, Debug)]
pub struct Lines {
    pub(super) units: u32,
    pub(super) replacement: Replacement,
    /// Banks that physical lines are spread over by their numbers.
    pub(super) banks: u32,
    /// Whether a line is free once its contents are on flash.
    pub(super) frees: bool,
    /// Whether a clean line keeps its unit until it is freed in its turn among all lines.
    pub(super) in_order: bool,
    pub(super) slab: Vec<Line>,
    /// Lines of the slab that hold nothing, the one that got free first at the front.
    pub(super) free: List,
    /// The first line of each bucket.
    pub(super) buckets: Vec<Option<LineId>>,
    pub(super) dirty: List,
    pub(super) clean: List,
    pub(super) groups: Vec<List>,
    /// Units under way, by group and in all.
    pub(super) under_way: Vec<u32>,
    /// How often a line became the last of the dirty or the clean ones.
    pub(super) moments: u64,
    /// Lines that the end of one program frees.
    pub(super) freeing: u32,
    /// Units that a group can program at once, and may have under way.
    pub(super) program_units: u32,
    pub(super) limit: u32,
    /// Groups that have a whole program of dirty lines and may begin it, a bit each.
    pub(super) ready: Vec<u64>,
    /// How many there are.
    pub(super) ready_groups: u32,
    /// Where the search for one goes on.
    pub turn: u32,
    /// Units that came and went, and whether they came, where somebody asks.
    pub(crate) changes: Vec<(Lpn, bool)>,
    pub(crate) notes_changes: bool,
}

impl Index<LineId> for Lines {
    type Output = Line;

    fn index(&self, line: LineId) -> &Line {
        &self.slab[line.index()]
    }
}

impl IndexMut<LineId> for Lines {
    fn index_mut(&mut self, line: LineId) -> &mut Line {
        &mut self.slab[line.index()]
    }
}

impl Lines {
    pub(super) fn note(&mut self, lpn: Lpn, came: bool) {
        if self.notes_changes {
            self.changes.push((lpn, came));
        }
    }

    /// Room for `units` units of one bank, the least recently used ones going first. Dirty ones are
    /// in `groups` groups; one that has `program_units` of them and fewer than `limit` under way is
    /// ready to be flushed.
    pub fn new(units: u32, groups: u32, program_units: u32, limit: u32) -> Self {
        let groups = groups as usize;
        Self {
            units,
            replacement: Replacement::Lru,
            banks: 1,
            frees: false,
            in_order: false,
            slab: Vec::with_capacity(units as usize),
            free: List::EMPTY,
            buckets: vec![None; units.next_power_of_two() as usize],
            dirty: List::EMPTY,
            clean: List::EMPTY,
            groups: vec![List::EMPTY; groups],
            under_way: vec![0; groups],
            moments: 0,
            freeing: 0,
            program_units,
            limit,
            ready: vec![0; groups.div_ceil(64)],
            ready_groups: 0,
            turn: 0,
            changes: Vec::new(),
            notes_changes: false,
        }
    }

    /// The same with this rule of which lines go first, in so many banks; `frees` is whether a line
    /// is free once its contents are on flash, `in_order` whether a clean line keeps its unit until
    /// it is freed in its turn among all lines.
    #[must_use]
    pub fn ruled(
        mut self,
        replacement: Replacement,
        banks: u32,
        (frees, in_order): (bool, bool),
    ) -> Self {
        (self.replacement, self.banks) = (replacement, banks);
        (self.frees, self.in_order) = (frees, in_order);
        self
    }

    /// How many units fit.
    pub const fn units(&self) -> u32 {
        self.units
    }

    /// Physical lines that ever held something.
    pub(crate) fn touched(&self) -> u32 {
        u32::try_from(self.slab.len()).expect("units have 32 bits")
    }

    /// Banks that lines are spread over.
    pub const fn banks(&self) -> u32 {
        self.banks
    }

    /// Whether a group has fewer units under way than it may.
    pub fn may_begin(&self, group: u32) -> bool {
        self.under_way[group as usize] < self.limit
    }

    /// How many lines are dirty.
    pub const fn dirty(&self) -> u32 {
        self.dirty.count
    }

    /// How many lines hold nothing that flash lacks once the one program of each is over: not those
    /// that were overwritten meanwhile, nor those that several programs write.
    pub const fn freeing(&self) -> u32 {
        self.freeing
    }

    /// The line of a unit.
    pub fn find(&self, lpn: Lpn) -> Option<LineId> {
        let mut at = self.buckets[self.bucket_of(lpn)];
        while let Some(line) = at
            && self.slab[line.index()].lpn != lpn
        {
            at = self.slab[line.index()].next_of_bucket;
        }
        at
    }

    /// Whether a line of this number is dirty; not where there is none.
    pub fn is_dirty(&self, line: LineId) -> bool {
        self.slab.get(line.index()).is_some_and(|line| line.dirty)
    }

    /// Whether a line of this number is clean and keeps its unit; not where there is none.
    pub fn is_kept(&self, line: LineId) -> bool {
        let state = self.slab.get(line.index());
        let rests = |state: &&Line| !state.dirty && state.flushes == 0;
        self.in_order && state.filter(rests).is_some_and(|state| self.find(state.lpn) == Some(line))
    }

    /// Whether clean lines keep their units until they are freed.
    pub const fn keeps_clean(&self) -> bool {
        self.in_order
    }

    /// Whether another unit fits: a line holds nothing, or nothing that flash lacks.
    pub fn has_room(&self) -> bool {
        self.free.count > 0 || self.slab.len() < self.units as usize || self.clean.count > 0
    }

    /// Whether another unit fits without a flush if it may take the place of the line that goes
    /// first of all, dirty or clean: a line holds nothing, or that one is clean.
    pub fn first_is_not_dirty(&self) -> bool {
        if self.free.count > 0 || self.slab.len() < self.units as usize {
            return true;
        }
        let [clean, dirty] = [self.clean, self.dirty].map(|list| self.first_by_order(list));
        clean.is_some_and(|clean| {
            dirty.is_none_or(|dirty| self.turn_of(clean) < self.turn_of(dirty))
        })
    }

    /// Lines with less give way sooner, in whichever list they are.
    pub(super) fn turn_of(&self, line: LineId) -> (bool, u64) {
        let line = &self.slab[line.index()];
        (self.replacement == Replacement::Clock && line.used, line.since)
    }

    /// Lines that hold nothing, or nothing that flash lacks.
    pub fn free_lines(&self) -> u32 {
        let untouched = self.units - u32::try_from(self.slab.len()).expect("units have 32 bits");
        untouched + self.free.count + self.clean.count
    }

    /// Those of them that new units can take before another line gives way.
    pub fn free_in_order(&self) -> u32 {
        self.free_lines() - if self.in_order { self.clean.count } else { 0 }
    }

    /// The bank of the line that the next new unit takes: one that never held any, or else the one
    /// that got free first, or else the clean one that goes first, if it may give way.
    pub fn room(&self) -> Option<u32> {
        if self.slab.len() < self.units as usize {
            return Some(self.bank_of_number(self.slab.len()));
        }
        if let Some(free) = self.free.first.filter(|_| self.free.count > 0) {
            return Some(self.slab[free.index()].bank);
        }
        let clean = self.first_by_order(self.clean).filter(|_| !self.in_order);
        clean.map(|line| self.slab[line.index()].bank)
    }

    /// Puts a physical line into another bank.
    pub fn move_to_bank(&mut self, line: LineId, bank: u32) {
        self.slab[line.index()].bank = bank;
    }

    /// Adds a unit, as a line in no list; in place of the clean one that goes first where no line
    /// is free. Returns the line and the unit that made way.
    pub fn insert(&mut self, lpn: Lpn) -> (LineId, Option<Lpn>) {
        let mut evicted = None;
        if self.free.count == 0 && self.slab.len() == self.units as usize {
            let line = self.front(ALL, self.clean.first);
            let line = line.expect("a unit is only added where there is room");
            evicted = Some(self.slab[line.index()].lpn);
            self.remove(line);
        }
        let bucket = self.bucket_of(lpn);
        let mut new = Line { lpn, next_of_bucket: self.buckets[bucket], ..Line::VACANT };
        let line = if self.slab.len() < self.units as usize {
            new.bank = self.bank_of_number(self.slab.len());
            self.slab.push(new);
            LineId::new(self.touched() - 1)
        } else {
            let line = self.free.first.expect("a line is free");
            new.bank = self.slab[line.index()].bank;
            std::mem::swap(&mut self.slab[line.index()], &mut new);
            self.free.first = new.links[ALL].next;
            self.free.count -= 1;
            line
        };
        self.buckets[bucket] = Some(line);
        self.note(lpn, true);
        (line, evicted)
    }

    /// Adds a unit that a read has found on flash, as the clean line that goes last. There must be
    /// room. Returns the line and the unit that made way.
    pub fn insert_clean(&mut self, lpn: Lpn) -> (LineId, Option<Lpn>) {
        let (line, evicted) = self.insert(lpn);
        self.slab[line.index()].of_flash = true;
        self.push(line, ALL);
        (line, evicted)
    }

    /// A line that was in no list is the clean one that goes last.
    pub(super) fn add_clean(&mut self, line: LineId) {
        self.push(line, ALL);
    }

    /// The contents of a line are new: it is dirty, in `group`, and was used just now.
    pub fn mark_dirty(&mut self, line: LineId, group: u32) {
        let state = &self.slab[line.index()];
        let known = state.dirty || state.flushes > 0 || self.is_in_clean(line);
        let stays = self.replacement != Replacement::Lru && state.dirty && state.group == group;
        let state = &mut self.slab[line.index()];
        state.used = known;
        state.of_flash = false;
        if stays {
            return;
        }
        self.leave_lists(line);
        let state = &mut self.slab[line.index()];
        self.freeing -= u32::from(state.is_freeing());
        state.dirty = true;
        state.group = group;
        self.push(line, ALL);
        self.push(line, GROUP);
        self.update_readiness(group);
    }

    /// A line was used.
    pub fn touch(&mut self, line: LineId) {
        match self.replacement {
            Replacement::Fifo => {}
            Replacement::Clock => self.slab[line.index()].used = true,
            Replacement::Lru => self.send_back(line),
        }
    }

    /// A line is the last one of the lists that it is in.
    pub(super) fn send_back(&mut self, line: LineId) {
        let Line { dirty, flushes, .. } = self.slab[line.index()];
        if dirty || flushes == 0 {
            self.unlink(line, ALL);
            self.push(line, ALL);
        }
        if dirty {
            self.unlink(line, GROUP);
            self.push(line, GROUP);
        }
    }

    /// A program of the contents of a line begins.
    pub fn begin_flush(&mut self, line: LineId, group: u32) {
        self.leave_lists(line);
        let state = &mut self.slab[line.index()];
        self.freeing -= u32::from(state.is_freeing());
        state.dirty = false;
        // A write that is programmed at once was never dirty.
        state.of_flash = false;
        state.flushes += 1;
        self.freeing += u32::from(state.is_freeing());
        self.under_way[group as usize] += 1;
        self.update_readiness(group);
    }

    /// It is over; `group` is the one that it began with. Returns the unit that is no longer in the
    /// buffer, if that frees its line.
    pub fn end_flush(&mut self, line: LineId, group: u32) -> Option<Lpn> {
        self.under_way[group as usize] -= 1;
        self.update_readiness(group);
        let state = &mut self.slab[line.index()];
        self.freeing -= u32::from(state.is_freeing());
        state.flushes -= 1;
        self.freeing += u32::from(state.is_freeing());
        if state.flushes > 0 || state.dirty {
            return None;
        }
        if state.dropped {
            self.release(line);
        } else if self.frees {
            let lpn = state.lpn;
            self.remove(line);
            return Some(lpn);
        } else {
            self.push(line, ALL);
        }
        None
    }

    /// A unit is no longer in the buffer.
    pub fn remove(&mut self, line: LineId) {
        self.leave_lists(line);
        let Line { lpn, next_of_bucket: next, flushes, .. } = self.slab[line.index()];
        self.note(lpn, false);
        let bucket = self.bucket_of(lpn);
        let mut link = &mut self.buckets[bucket];
        while let Some(other) = link.filter(|other| *other != line) {
            link = &mut self.slab[other.index()].next_of_bucket;
        }
        *link = next;
        let state = &mut self.slab[line.index()];
        self.freeing += u32::from(state.dirty && flushes == 1);
        state.dirty = false;
        state.dropped = true;
        if flushes == 0 {
            self.release(line);
        }
    }

    /// Dirty lines, as they are in their list.
    pub fn dirty_lines(&self) -> impl Iterator<Item = &Line> {
        self.walk(self.dirty.first)
    }

    /// Clean lines, as they are in their list.
    pub fn clean_lines(&self) -> impl Iterator<Item = &Line> {
        self.walk(self.clean.first)
    }

    pub(super) fn walk(&self, first: Option<LineId>) -> impl Iterator<Item = &Line> {
        self.numbers_from(first).map(|line| &self.slab[line.index()])
    }

    pub(super) fn bucket_of(&self, lpn: Lpn) -> usize {
        lpn.scattered() as usize & (self.buckets.len() - 1)
    }

    pub(super) fn bank_of_number(&self, line: usize) -> u32 {
        u32::try_from(line).expect("units have 32 bits") % self.banks
    }

    pub(super) fn is_in_clean(&self, line: LineId) -> bool {
        let Line { dirty, flushes, links, .. } = self.slab[line.index()];
        !dirty && flushes == 0 && (self.clean.first == Some(line) || links[ALL].prev.is_some())
    }
}
