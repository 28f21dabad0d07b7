//! Lines of the write buffer: which logical units DRAM holds, which of them flash lacks, and in
//! which order they were used.
//!
//! A line holds one mapping unit. It is **dirty** while flash lacks its contents and nobody
//! programs them, **in flight** while programs of them are under way, **clean** otherwise; it
//! can be dirty and in flight, when it was overwritten meanwhile. Dirty lines are in one list
//! of all and in one of those that are programmed together, clean lines in a list of their own,
//! each with the least recently used first. Lines live in a slab and are found by buckets of
//! chains; memory is touched when it is first used.

#[cfg(test)]
mod tests;

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
    /// Whether it only waits for its programs to end.
    dropped: bool,
    group: u32,
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
        dropped: false,
        group: 0,
        links: [Link { prev: NIL, next: NIL }; 2],
        next_of_bucket: 0,
    };

    /// Whether flash lacks its contents and nobody programs them.
    pub const fn is_dirty(&self) -> bool {
        self.dirty
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
        [self.stream, u8::from(self.dirty)].save(to);
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
        (self.stream, self.dirty) = (marks[0], marks[1] == 1);
        Ok(())
    }
}

/// All lines.
#[derive(Debug)]
pub struct Lines {
    units: u32,
    slab: Vec<Line>,
    /// Lines of the slab that hold nothing.
    free: u32,
    /// The first line of each bucket, + 1.
    buckets: Vec<u32>,
    dirty: List,
    clean: List,
    groups: Vec<List>,
    /// Units under way, by group and in all.
    under_way: Vec<u32>,
    flights: u32,
    /// Units that a group can program at once, and may have under way.
    whole: u32,
    window: u32,
    /// Groups that have a whole program of dirty lines and may begin it, a bit each.
    ready: Vec<u64>,
    /// Where the search for one goes on.
    pub turn: u32,
}

impl Lines {
    /// Room for `units` units. Dirty ones are in `groups` groups; one that has `whole` of them and
    /// fewer than `window` under way is ready to be flushed.
    pub fn new(units: u32, groups: u32, whole: u32, window: u32) -> Self {
        let groups = groups as usize;
        Self {
            units,
            slab: Vec::with_capacity(units as usize),
            free: NIL,
            buckets: vec![0; units.next_power_of_two() as usize],
            dirty: List::EMPTY,
            clean: List::EMPTY,
            groups: vec![List::EMPTY; groups],
            under_way: vec![0; groups],
            flights: 0,
            whole,
            window,
            ready: vec![0; groups.div_ceil(64)],
            turn: 0,
        }
    }

    /// How many units fit.
    pub const fn units(&self) -> u32 {
        self.units
    }

    /// How many lines are dirty.
    pub const fn dirty(&self) -> u32 {
        self.dirty.count
    }

    /// How many programs are under way.
    pub const fn flights(&self) -> u32 {
        self.flights
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

    /// The same, to change what is public of it.
    pub fn line_mut(&mut self, line: u32) -> &mut Line {
        &mut self.slab[line as usize]
    }

    /// Whether another unit fits: a line holds nothing, or nothing that flash lacks.
    pub fn has_room(&self) -> bool {
        self.free != NIL || self.slab.len() < self.units as usize || self.clean.count > 0
    }

    /// Adds a unit, as a line in no list; in place of the least recently used clean one where no
    /// line is free. Returns the line and the unit that made way.
    pub fn insert(&mut self, lpn: Lpn) -> (u32, Option<Lpn>) {
        let mut evicted = None;
        if self.free == NIL && self.slab.len() == self.units as usize {
            let line = self.clean.first;
            assert!(line != NIL, "a unit is only added where there is room");
            evicted = Some(self.slab[line as usize].lpn);
            self.remove(line);
        }
        let bucket = self.bucket_of(lpn);
        let mut new = Line { lpn, next_of_bucket: self.buckets[bucket], ..Line::VACANT };
        let line = if self.free == NIL {
            self.slab.push(new);
            u32::try_from(self.slab.len() - 1).expect("units have 32 bits")
        } else {
            let line = self.free;
            std::mem::swap(&mut self.slab[line as usize], &mut new);
            self.free = new.links[ALL].next;
            line
        };
        self.buckets[bucket] = line + 1;
        (line, evicted)
    }

    /// The contents of a line are new: it is dirty, in `group`, and the most recently used one.
    pub fn soil(&mut self, line: u32, group: u32) {
        self.leave_lists(line);
        let state = &mut self.slab[line as usize];
        state.dirty = true;
        state.group = group;
        self.push(line, ALL);
        self.push(line, GROUP);
        self.judge(group);
    }

    /// A line is the most recently used one.
    pub fn touch(&mut self, line: u32) {
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
        state.dirty = false;
        state.flights += 1;
        self.flights += 1;
        self.under_way[group as usize] += 1;
        self.judge(group);
    }

    /// It is over; `group` is the one that it began with.
    pub fn land(&mut self, line: u32, group: u32) {
        self.flights -= 1;
        self.under_way[group as usize] -= 1;
        self.judge(group);
        let state = &mut self.slab[line as usize];
        state.flights -= 1;
        if state.flights > 0 || state.dirty {
            return;
        }
        if state.dropped {
            self.release(line);
        } else {
            self.push(line, ALL);
        }
    }

    /// A unit is no longer in the buffer.
    pub fn remove(&mut self, line: u32) {
        self.leave_lists(line);
        let Line { lpn, next_of_bucket: next, flights, .. } = self.slab[line as usize];
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
        state.dirty = false;
        state.dropped = true;
        if flights == 0 {
            self.release(line);
        }
    }

    /// The least recently used dirty line of a group.
    pub fn oldest_of(&self, group: u32) -> Option<u32> {
        some(self.groups[group as usize].first)
    }

    /// The dirty line of the same group that was used next after this one.
    pub fn next_of_group(&self, line: u32) -> Option<u32> {
        some(self.slab[line as usize].links[GROUP].next)
    }

    /// The least recently used dirty line.
    pub fn oldest(&self) -> Option<u32> {
        some(self.dirty.first)
    }

    /// The group to flush next: that of the least recently used dirty line if it is ready, or else
    /// the next one that is, by turns.
    pub fn pick(&mut self) -> Option<u32> {
        let group = self.slab[self.oldest()? as usize].group;
        let word = group as usize / 64;
        if self.ready[word] & (1 << (group % 64)) != 0 {
            return Some(group);
        }
        let start = self.turn as usize / 64;
        let words = self.ready.len();
        // The word that the turn is in comes first for its upper and last for its lower bits.
        let found = (0..=words).find_map(|step| {
            let word = (start + step) % words;
            let upper = u64::MAX << (self.turn % 64);
            let mask = match step {
                0 => upper,
                step if step == words => !upper,
                _ => u64::MAX,
            };
            let ready = self.ready[word] & mask;
            (ready != 0).then(|| word * 64 + ready.trailing_zeros() as usize)
        })?;
        let found = u32::try_from(found).expect("groups have 32 bits");
        self.turn = (found + 1) % u32::try_from(self.groups.len()).expect("groups have 32 bits");
        Some(found)
    }

    /// Dirty lines, the least recently used one first.
    pub fn dirty_lines(&self) -> impl Iterator<Item = &Line> {
        self.walk(self.dirty.first)
    }

    /// Clean lines, the least recently used one first.
    pub fn clean_lines(&self) -> impl Iterator<Item = &Line> {
        self.walk(self.clean.first)
    }

    /// Adds a line that was saved, more recently used than those before.
    pub(crate) fn restore(&mut self, line: &Line, group: u32) {
        let (new, _) = self.insert(line.lpn);
        let state = &mut self.slab[new as usize];
        (state.version, state.stream) = (line.version, line.stream);
        (state.from, state.until) = (line.from, line.until);
        if line.dirty { self.soil(new, group) } else { self.push(new, ALL) }
    }

    fn walk(&self, first: u32) -> impl Iterator<Item = &Line> {
        let next = |line: &&Line| some(line.links[ALL].next).map(|next| &self.slab[next as usize]);
        std::iter::successors(some(first).map(|line| &self.slab[line as usize]), next)
    }

    fn bucket_of(&self, lpn: Lpn) -> usize {
        lpn.get().wrapping_mul(0x9E37_79B1).rotate_left(16) as usize & (self.buckets.len() - 1)
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
        let Line { dirty, flights, group, links, .. } = self.slab[line as usize];
        if dirty {
            self.unlink(line, ALL);
            self.unlink(line, GROUP);
            self.judge(group);
        } else if flights == 0 && (self.clean.first == line || links[ALL].prev != NIL) {
            self.unlink(line, ALL);
        }
    }

    fn release(&mut self, line: u32) {
        self.slab[line as usize].links[ALL].next = self.free;
        self.free = line;
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
        let list = self.list(line, which);
        list.count += 1;
        let prev = std::mem::replace(&mut list.last, line);
        if prev == NIL {
            list.first = line;
        } else {
            self.slab[prev as usize].links[which].next = line;
        }
        self.slab[line as usize].links[which] = Link { prev, next: NIL };
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
