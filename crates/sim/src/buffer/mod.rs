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

pub mod ports;
pub(crate) mod staging;
#[cfg(test)]
mod tests;

use crate::config::Replacement;
use crate::saved::{Reader, RestoreError, Saved, Writer};
use flashyard_core::graph::NIL;
use flashyard_core::units::Lpn;

/// Neighbours in a list.
#[derive(Clone, Copy, Debug)]
struct Link {
    prev: u32,
    next: u32,
}

/// The link of a line in the list of all dirty lines, or of all clean ones.
const ALL: usize = 0;
/// Its link in the list of the dirty lines that are programmed together.
const GROUP: usize = 1;

#[derive(Clone, Copy, Debug)]
struct List {
    first: u32,
    last: u32,
    count: u32,
}

impl List {
    const EMPTY: Self = Self { first: NIL, last: NIL, count: 0 };
}

/// A unit in the buffer.
#[derive(Clone, Copy, Debug)]
pub struct Line {
    /// The unit.
    pub lpn: Lpn,
    /// The place of its contents in the order of changes.
    pub version: u64,
    /// Who wrote them: the handle of the request, and its order of arrival.
    pub writer: (u32, u64),
    /// The stream of that request.
    pub stream: u8,
    /// The sectors that it holds.
    pub from: u16,
    /// One past the last of them.
    pub until: u16,
    /// Programs of its contents under way.
    flights: u32,
    dirty: bool,
    /// Whether it was used since the clock hand last passed it.
    used: bool,
    /// Whether it holds what was read from flash, not what was written.
    of_flash: bool,
    /// The bank of the physical line, whatever it holds.
    bank: u32,
    /// Whether it only waits for its programs to end.
    dropped: bool,
    group: u32,
    /// When it became dirty or clean or, where that counts, was used last: later ones have more.
    since: u64,
    links: [Link; 2],
    next_of_bucket: u32,
}

impl Line {
    /// A line of no unit.
    pub(crate) const VACANT: Self = Self {
        lpn: Lpn::new(0),
        version: 0,
        writer: (NIL, 0),
        stream: 0,
        from: 0,
        until: 0,
        flights: 0,
        dirty: false,
        used: false,
        of_flash: false,
        bank: 0,
        dropped: false,
        group: 0,
        since: 0,
        links: [Link { prev: NIL, next: NIL }; 2],
        next_of_bucket: 0,
    };

    /// Whether flash lacks its contents and nobody programs them.
    pub const fn is_dirty(&self) -> bool {
        self.dirty
    }

    /// Whether programs of its contents are under way.
    pub const fn is_flushing(&self) -> bool {
        self.flights > 0
    }

    const fn is_freeing(&self) -> bool {
        self.flights == 1 && !self.dirty
    }

    /// Whether it holds what a read has found on flash.
    pub const fn is_of_flash(&self) -> bool {
        self.of_flash
    }

    /// The bank that it is in.
    pub const fn bank(&self) -> u32 {
        self.bank
    }

    /// The group of lines that it is programmed with.
    pub const fn group(&self) -> u32 {
        self.group
    }
}

impl Saved for Line {
    fn save(&self, to: &mut Writer<'_>) {
        self.lpn.get().save(to);
        self.version.save(to);
        [u32::from(self.from), u32::from(self.until)].save(to);
        let marks = [self.dirty, self.used, self.of_flash];
        let marks = (0..).zip(marks).map(|(bit, mark)| u8::from(mark) << bit).sum::<u8>();
        [self.stream, marks].save(to);
        self.bank.save(to);
        self.since.save(to);
    }
    fn load(&mut self, from: &mut Reader<'_>) -> Result<(), RestoreError> {
        let (mut lpn, mut range, mut marks) = (0u32, [0u32; 2], [0u8; 2]);
        lpn.load(from)?;
        self.version.load(from)?;
        range.load(from)?;
        marks.load(from)?;
        let narrow = |sector: u32| u16::try_from(sector).map_err(|_| RestoreError::Corrupt);
        self.lpn = Lpn::new(lpn);
        (self.from, self.until) = (narrow(range[0])?, narrow(range[1])?);
        let has = |bit: u8| marks[1] & (1 << bit) != 0;
        (self.stream, self.dirty) = (marks[0], has(0));
        (self.used, self.of_flash) = (has(1), has(2));
        self.bank.load(from)?;
        self.since.load(from)
    }
}

/// All lines.
#[derive(Debug)]
pub struct Lines {
    units: u32,
    replacement: Replacement,
    /// Banks that physical lines are spread over by their numbers.
    banks: u32,
    /// Whether a line is free once its contents are on flash.
    frees: bool,
    slab: Vec<Line>,
    /// Lines of the slab that hold nothing, the one that got free first at the front.
    free: List,
    /// The first line of each bucket, + 1.
    buckets: Vec<u32>,
    dirty: List,
    clean: List,
    groups: Vec<List>,
    /// Units under way, by group and in all.
    under_way: Vec<u32>,
    /// How often a line became the last of the dirty or the clean ones.
    moments: u64,
    /// Lines that the end of one program frees.
    freeing: u32,
    /// Units that a group can program at once, and may have under way.
    whole: u32,
    window: u32,
    /// Groups that have a whole program of dirty lines and may begin it, a bit each.
    ready: Vec<u64>,
    /// Where the search for one goes on.
    pub turn: u32,
    /// Units that came and went, and whether they came, where somebody asks.
    pub(crate) changes: Vec<(Lpn, bool)>,
    pub(crate) notes_changes: bool,
}

impl Lines {
    fn note(&mut self, lpn: Lpn, came: bool) {
        if self.notes_changes {
            self.changes.push((lpn, came));
        }
    }

    /// Room for `units` units of one bank, the least recently used ones going first. Dirty ones are
    /// in `groups` groups; one that has `whole` of them and fewer than `window` under way is ready
    /// to be flushed.
    pub fn new(units: u32, groups: u32, whole: u32, window: u32) -> Self {
        let groups = groups as usize;
        Self {
            units,
            replacement: Replacement::Lru,
            banks: 1,
            frees: false,
            slab: Vec::with_capacity(units as usize),
            free: List::EMPTY,
            buckets: vec![0; units.next_power_of_two() as usize],
            dirty: List::EMPTY,
            clean: List::EMPTY,
            groups: vec![List::EMPTY; groups],
            under_way: vec![0; groups],
            moments: 0,
            freeing: 0,
            whole,
            window,
            ready: vec![0; groups.div_ceil(64)],
            turn: 0,
            changes: Vec::new(),
            notes_changes: false,
        }
    }

    /// The same with this rule of which lines go first, in so many banks; `frees` is whether a line
    /// is free once its contents are on flash.
    #[must_use]
    pub fn ruled(mut self, replacement: Replacement, banks: u32, frees: bool) -> Self {
        (self.replacement, self.banks, self.frees) = (replacement, banks, frees);
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
        self.under_way[group as usize] < self.window
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
    pub fn find(&self, lpn: Lpn) -> Option<u32> {
        let mut at = self.buckets[self.bucket_of(lpn)];
        while let Some(line) = at.checked_sub(1) {
            if self.slab[line as usize].lpn == lpn {
                return Some(line);
            }
            at = self.slab[line as usize].next_of_bucket;
        }
        None
    }

    /// A line.
    pub fn line(&self, line: u32) -> &Line {
        &self.slab[line as usize]
    }

    /// Whether a line of this number is dirty; not where there is none.
    pub fn is_dirty(&self, line: u32) -> bool {
        self.slab.get(line as usize).is_some_and(|line| line.dirty)
    }

    /// The same, to change what is public of it.
    pub fn line_mut(&mut self, line: u32) -> &mut Line {
        &mut self.slab[line as usize]
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
        let since = |line: u32| self.slab[line as usize].since;
        let dirty = self.first_by_order(self.dirty).map_or(u64::MAX, since);
        self.first_by_order(self.clean).is_some_and(|clean| since(clean) < dirty)
    }

    /// Lines that hold nothing, or nothing that flash lacks.
    pub fn free_lines(&self) -> u32 {
        let untouched = self.units - u32::try_from(self.slab.len()).expect("units have 32 bits");
        untouched + self.free.count + self.clean.count
    }

    /// The bank of the line that the next new unit takes: one that never held any, or else the one
    /// that got free first.
    pub fn room(&self) -> Option<u32> {
        if self.slab.len() < self.units as usize {
            return Some(self.bank_of_number(self.slab.len()));
        }
        if self.free.count > 0 {
            return Some(self.slab[self.free.first as usize].bank);
        }
        self.first_by_order(self.clean).map(|line| self.slab[line as usize].bank)
    }

    /// Puts a physical line into another bank.
    pub fn move_to_bank(&mut self, line: u32, bank: u32) {
        self.slab[line as usize].bank = bank;
    }

    /// Adds a unit, as a line in no list; in place of the clean one that goes first where no line
    /// is free. Returns the line and the unit that made way.
    pub fn insert(&mut self, lpn: Lpn) -> (u32, Option<Lpn>) {
        let mut evicted = None;
        if self.free.count == 0 && self.slab.len() == self.units as usize {
            let line = self.front(ALL, self.clean.first).unwrap_or(NIL);
            assert!(line != NIL, "a unit is only added where there is room");
            evicted = Some(self.slab[line as usize].lpn);
            self.remove(line);
        }
        let bucket = self.bucket_of(lpn);
        let mut new = Line { lpn, next_of_bucket: self.buckets[bucket], ..Line::VACANT };
        let line = if self.slab.len() < self.units as usize {
            new.bank = self.bank_of_number(self.slab.len());
            self.slab.push(new);
            u32::try_from(self.slab.len() - 1).expect("units have 32 bits")
        } else {
            let line = self.free.first;
            new.bank = self.slab[line as usize].bank;
            std::mem::swap(&mut self.slab[line as usize], &mut new);
            self.free.first = new.links[ALL].next;
            self.free.count -= 1;
            line
        };
        self.buckets[bucket] = line + 1;
        self.note(lpn, true);
        (line, evicted)
    }

    /// Adds a unit that a read has found on flash, as the clean line that goes last. There must be
    /// room. Returns the line and the unit that made way.
    pub fn insert_clean(&mut self, lpn: Lpn) -> (u32, Option<Lpn>) {
        let (line, evicted) = self.insert(lpn);
        self.slab[line as usize].of_flash = true;
        self.push(line, ALL);
        (line, evicted)
    }

    /// The contents of a line are new: it is dirty, in `group`, and was used just now.
    pub fn soil(&mut self, line: u32, group: u32) {
        let state = &self.slab[line as usize];
        let known = state.dirty || state.flights > 0 || self.is_in_clean(line);
        let stays = self.replacement != Replacement::Lru && state.dirty && state.group == group;
        let state = &mut self.slab[line as usize];
        state.used = known;
        state.of_flash = false;
        if stays {
            return;
        }
        self.leave_lists(line);
        let state = &mut self.slab[line as usize];
        self.freeing -= u32::from(state.is_freeing());
        state.dirty = true;
        state.group = group;
        self.push(line, ALL);
        self.push(line, GROUP);
        self.judge(group);
    }

    /// A line was used.
    pub fn touch(&mut self, line: u32) {
        match self.replacement {
            Replacement::Fifo => {}
            Replacement::Clock => self.slab[line as usize].used = true,
            Replacement::Lru => self.send_back(line),
        }
    }

    /// A line is the last one of the lists that it is in.
    fn send_back(&mut self, line: u32) {
        let Line { dirty, flights, .. } = self.slab[line as usize];
        if dirty || flights == 0 {
            self.unlink(line, ALL);
            self.push(line, ALL);
        }
        if dirty {
            self.unlink(line, GROUP);
            self.push(line, GROUP);
        }
    }

    /// A program of the contents of a line begins.
    pub fn take_off(&mut self, line: u32, group: u32) {
        self.leave_lists(line);
        let state = &mut self.slab[line as usize];
        self.freeing -= u32::from(state.is_freeing());
        state.dirty = false;
        // A write that is programmed at once was never dirty.
        state.of_flash = false;
        state.flights += 1;
        self.freeing += u32::from(state.is_freeing());
        self.under_way[group as usize] += 1;
        self.judge(group);
    }

    /// It is over; `group` is the one that it began with. Returns the unit that is no longer in the
    /// buffer, if that frees its line.
    pub fn land(&mut self, line: u32, group: u32) -> Option<Lpn> {
        self.under_way[group as usize] -= 1;
        self.judge(group);
        let state = &mut self.slab[line as usize];
        self.freeing -= u32::from(state.is_freeing());
        state.flights -= 1;
        self.freeing += u32::from(state.is_freeing());
        if state.flights > 0 || state.dirty {
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
    pub fn remove(&mut self, line: u32) {
        self.leave_lists(line);
        let Line { lpn, next_of_bucket: next, flights, .. } = self.slab[line as usize];
        self.note(lpn, false);
        let bucket = self.bucket_of(lpn);
        let mut at = self.buckets[bucket] - 1;
        if at == line {
            self.buckets[bucket] = next;
        } else {
            while self.slab[at as usize].next_of_bucket != line + 1 {
                at = self.slab[at as usize].next_of_bucket - 1;
            }
            self.slab[at as usize].next_of_bucket = next;
        }
        let state = &mut self.slab[line as usize];
        self.freeing += u32::from(state.dirty && flights == 1);
        state.dirty = false;
        state.dropped = true;
        if flights == 0 {
            self.release(line);
        }
    }

    /// The dirty line of a group that goes first.
    pub fn oldest_of(&mut self, group: u32) -> Option<u32> {
        self.front(GROUP, self.groups[group as usize].first)
    }

    /// The dirty line of the same group that was used next after this one.
    pub fn next_of_group(&self, line: u32) -> Option<u32> {
        some(self.slab[line as usize].links[GROUP].next)
    }

    /// The dirty line that goes first.
    pub fn oldest(&mut self) -> Option<u32> {
        self.front(ALL, self.dirty.first)
    }

    /// The line that goes first of a list whose first one is given: of a clock, those that were
    /// used since it last passed go to the end, once.
    fn front(&mut self, which: usize, mut first: u32) -> Option<u32> {
        while self.replacement == Replacement::Clock
            && first != NIL
            && std::mem::take(&mut self.slab[first as usize].used)
        {
            self.send_back(first);
            // Sending the only one back leaves it first.
            first = match self.slab[first as usize] {
                Line { dirty: true, group, .. } if which == GROUP => {
                    self.groups[group as usize].first
                }
                Line { dirty: true, .. } => self.dirty.first,
                Line { dirty: false, .. } => self.clean.first,
            };
        }
        some(first)
    }

    /// The dirty line that goes first. A look, that moves no hand.
    pub fn first_dirty(&self) -> Option<u32> {
        self.first_by_order(self.dirty)
    }

    /// The dirty line that goes after another one.
    pub fn next_dirty(&self, line: u32) -> Option<u32> {
        self.next_by_order(self.dirty, line)
    }

    /// What [`Self::front`] would find in a list.
    fn first_by_order(&self, list: List) -> Option<u32> {
        let found = match self.replacement {
            Replacement::Clock => self.find_used(list.first, false),
            Replacement::Lru | Replacement::Fifo => None,
        };
        found.or(some(list.first))
    }

    /// What it would find next if a line were gone: of a clock, first those that were not used.
    fn next_by_order(&self, list: List, line: u32) -> Option<u32> {
        let state = &self.slab[line as usize];
        let next = state.links[ALL].next;
        if self.replacement != Replacement::Clock {
            return some(next);
        }
        let found = self.find_used(next, state.used);
        if state.used { found } else { found.or_else(|| self.find_used(list.first, true)) }
    }

    /// The first line from one on that was used since the hand passed it, or was not.
    fn find_used(&self, mut line: u32, used: bool) -> Option<u32> {
        while line != NIL && self.slab[line as usize].used != used {
            line = self.slab[line as usize].links[ALL].next;
        }
        some(line)
    }

    /// The group to flush next: that of the dirty line that goes first if it is ready, or else
    /// the next one that is, by turns.
    pub fn pick(&mut self) -> Option<u32> {
        let oldest = self.oldest()?;
        let group = self.slab[oldest as usize].group;
        let word = group as usize / 64;
        if self.ready[word] & (1 << (group % 64)) != 0 {
            return Some(group);
        }
        let found = self.ready_from(self.turn)?;
        self.turn = self.after(found);
        Some(found)
    }

    /// The group after another one, by turns.
    fn after(&self, group: u32) -> u32 {
        (group + 1) % u32::try_from(self.groups.len()).expect("groups have 32 bits")
    }

    /// The first group that is ready of those after another one, by turns; the other one comes
    /// last.
    pub fn next_ready(&self, group: u32) -> Option<u32> {
        self.ready_from(self.after(group))
    }

    /// The first group that is ready from one on, by turns.
    fn ready_from(&self, turn: u32) -> Option<u32> {
        let start = turn as usize / 64;
        let words = self.ready.len();
        // The word that the turn is in comes first for its upper and last for its lower bits.
        let found = (0..=words).find_map(|step| {
            let word = (start + step) % words;
            let upper = u64::MAX << (turn % 64);
            let mask = match step {
                0 => upper,
                step if step == words => !upper,
                _ => u64::MAX,
            };
            let ready = self.ready[word] & mask;
            (ready != 0).then(|| word * 64 + ready.trailing_zeros() as usize)
        })?;
        Some(u32::try_from(found).expect("groups have 32 bits"))
    }

    /// Dirty lines, as they are in their list.
    pub fn dirty_lines(&self) -> impl Iterator<Item = &Line> {
        self.walk(self.dirty.first)
    }

    /// Clean lines, as they are in their list.
    pub fn clean_lines(&self) -> impl Iterator<Item = &Line> {
        self.walk(self.clean.first)
    }

    /// Dirty lines, then clean ones, by number, each as they are in their list.
    pub(crate) fn numbers(&self) -> impl Iterator<Item = u32> {
        let of = |list: &List| {
            let next = |line: &u32| some(self.slab[*line as usize].links[ALL].next);
            std::iter::successors(some(list.first), next)
        };
        of(&self.dirty).chain(of(&self.clean))
    }

    /// Lines that hold nothing but once did, with their banks, the next to be taken first.
    pub(crate) fn free_list(&self) -> Vec<u32> {
        let next = |line: &u32| some(self.slab[*line as usize].links[ALL].next);
        let free = std::iter::successors(some(self.free.first), next);
        free.flat_map(|line| [line, self.slab[line as usize].bank]).collect()
    }

    /// Lays an empty buffer out as the saved one was: so many physical lines, of which these hold
    /// nothing. Returns whether that makes sense.
    pub(crate) fn lay_out(&mut self, count: u32, free: &[u32]) -> bool {
        self.slab.resize(count as usize, Line::VACANT);
        for pair in free.chunks(2) {
            let &[line, bank] = pair else { return false };
            let Some(state) = self.slab.get_mut(line as usize) else { return false };
            state.bank = bank;
            self.release(line);
        }
        true
    }

    /// Adds a line that was saved, behind those before; as the physical line `at` if that is known.
    pub(crate) fn restore(&mut self, line: &Line, group: u32, at: Option<u32>) {
        let new = match at {
            None => self.insert(line.lpn).0,
            Some(at) => {
                let bucket = self.bucket_of(line.lpn);
                let next_of_bucket = std::mem::replace(&mut self.buckets[bucket], at + 1);
                let state = Line { lpn: line.lpn, bank: line.bank, next_of_bucket, ..Line::VACANT };
                self.slab[at as usize] = state;
                at
            }
        };
        let state = &mut self.slab[new as usize];
        (state.version, state.stream) = (line.version, line.stream);
        (state.from, state.until) = (line.from, line.until);
        if line.dirty {
            self.soil(new, group);
        } else {
            self.push(new, ALL);
        }
        let state = &mut self.slab[new as usize];
        (state.used, state.of_flash) = (line.used, line.of_flash);
        state.since = line.since;
        self.moments = self.moments.max(line.since);
    }

    fn walk(&self, first: u32) -> impl Iterator<Item = &Line> {
        let next = |line: &&Line| some(line.links[ALL].next).map(|next| &self.slab[next as usize]);
        std::iter::successors(some(first).map(|line| &self.slab[line as usize]), next)
    }

    fn bucket_of(&self, lpn: Lpn) -> usize {
        lpn.scattered() as usize & (self.buckets.len() - 1)
    }

    fn bank_of_number(&self, line: usize) -> u32 {
        u32::try_from(line).expect("units have 32 bits") % self.banks
    }

    fn is_in_clean(&self, line: u32) -> bool {
        let Line { dirty, flights, links, .. } = self.slab[line as usize];
        !dirty && flights == 0 && (self.clean.first == line || links[ALL].prev != NIL)
    }

    /// Whether a group is ready may have changed.
    fn judge(&mut self, group: u32) {
        let at = group as usize;
        let ready = self.groups[at].count >= self.whole && self.under_way[at] < self.window;
        let bit = 1 << (group % 64);
        if ready {
            self.ready[at / 64] |= bit;
        } else {
            self.ready[at / 64] &= !bit;
        }
    }

    fn leave_lists(&mut self, line: u32) {
        let Line { dirty, group, .. } = self.slab[line as usize];
        if dirty {
            self.unlink(line, ALL);
            self.unlink(line, GROUP);
            self.judge(group);
        } else if self.is_in_clean(line) {
            self.unlink(line, ALL);
        }
    }

    fn release(&mut self, line: u32) {
        self.slab[line as usize].links[ALL].next = NIL;
        let last = std::mem::replace(&mut self.free.last, line);
        if self.free.count == 0 {
            self.free.first = line;
        } else {
            self.slab[last as usize].links[ALL].next = line;
        }
        self.free.count += 1;
    }

    fn list(&mut self, line: u32, which: usize) -> &mut List {
        let Line { dirty, group, .. } = self.slab[line as usize];
        match (which, dirty) {
            (GROUP, _) => &mut self.groups[group as usize],
            (_, true) => &mut self.dirty,
            (_, false) => &mut self.clean,
        }
    }

    fn push(&mut self, line: u32, which: usize) {
        self.moments += 1;
        let list = self.list(line, which);
        list.count += 1;
        let prev = std::mem::replace(&mut list.last, line);
        if prev == NIL {
            list.first = line;
        } else {
            self.slab[prev as usize].links[which].next = line;
        }
        let state = &mut self.slab[line as usize];
        state.since = self.moments;
        state.links[which] = Link { prev, next: NIL };
    }

    fn unlink(&mut self, line: u32, which: usize) {
        let Link { prev, next } = self.slab[line as usize].links[which];
        let list = self.list(line, which);
        list.count -= 1;
        if prev == NIL {
            list.first = next;
        }
        if next == NIL {
            list.last = prev;
        }
        if prev != NIL {
            self.slab[prev as usize].links[which].next = next;
        }
        if next != NIL {
            self.slab[next as usize].links[which].prev = prev;
        }
        self.slab[line as usize].links[which] = Link { prev: NIL, next: NIL };
    }
}

fn some(line: u32) -> Option<u32> {
    (line != NIL).then_some(line)
}
