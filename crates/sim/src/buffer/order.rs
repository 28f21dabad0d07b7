//! The order of lines: which dirty one is flushed next, and which clean one gives way.

use super::{Line, Lines};
use crate::config::Replacement;
use flashyard_core::graph::NIL;

/// Neighbours in a list.
#[derive(Clone, Copy, Debug)]
pub(super) struct Link {
    pub(super) prev: u32,
    pub(super) next: u32,
}

/// The link of a line in the list of all dirty lines, or of all clean ones.
pub(super) const ALL: usize = 0;
/// Its link in the list of the dirty lines that are programmed together.
pub(super) const GROUP: usize = 1;

#[derive(Clone, Copy, Debug)]
pub(super) struct List {
    pub(super) first: u32,
    pub(super) last: u32,
    pub(super) count: u32,
}

impl List {
    pub(super) const EMPTY: Self = Self { first: NIL, last: NIL, count: 0 };
}

impl Lines {
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
    pub(super) fn front(&mut self, which: usize, mut first: u32) -> Option<u32> {
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
    pub(super) fn first_by_order(&self, list: List) -> Option<u32> {
        let found = match self.replacement {
            Replacement::Clock => self.find_used(list.first, false),
            Replacement::Lru | Replacement::Fifo => None,
        };
        found.or(some(list.first))
    }

    /// What it would find next if a line were gone: of a clock, first those that were not used.
    pub(super) fn next_by_order(&self, list: List, line: u32) -> Option<u32> {
        let state = &self.slab[line as usize];
        let next = state.links[ALL].next;
        if self.replacement != Replacement::Clock {
            return some(next);
        }
        let found = self.find_used(next, state.used);
        if state.used { found } else { found.or_else(|| self.find_used(list.first, true)) }
    }

    /// The first line from one on that was used since the hand passed it, or was not.
    pub(super) fn find_used(&self, mut line: u32, used: bool) -> Option<u32> {
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
    pub(super) fn after(&self, group: u32) -> u32 {
        (group + 1) % u32::try_from(self.groups.len()).expect("groups have 32 bits")
    }

    /// The first group that is ready of those after another one, by turns; the other one comes
    /// last.
    pub fn next_ready(&self, group: u32) -> Option<u32> {
        self.ready_from(self.after(group))
    }

    /// The first group that is ready from one on, by turns.
    pub(super) fn ready_from(&self, turn: u32) -> Option<u32> {
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

    /// Whether a group is ready may have changed.
    pub(super) fn update_readiness(&mut self, group: u32) {
        let at = group as usize;
        let ready = self.groups[at].count >= self.program_units && self.under_way[at] < self.limit;
        let bit = 1 << (group % 64);
        if ready {
            self.ready[at / 64] |= bit;
        } else {
            self.ready[at / 64] &= !bit;
        }
    }

    pub(super) fn leave_lists(&mut self, line: u32) {
        let Line { dirty, group, .. } = self.slab[line as usize];
        if dirty {
            self.unlink(line, ALL);
            self.unlink(line, GROUP);
            self.update_readiness(group);
        } else if self.is_in_clean(line) {
            self.unlink(line, ALL);
        }
    }

    pub(super) fn release(&mut self, line: u32) {
        self.slab[line as usize].links[ALL].next = NIL;
        let last = std::mem::replace(&mut self.free.last, line);
        if self.free.count == 0 {
            self.free.first = line;
        } else {
            self.slab[last as usize].links[ALL].next = line;
        }
        self.free.count += 1;
    }

    pub(super) fn list(&mut self, line: u32, which: usize) -> &mut List {
        let Line { dirty, group, .. } = self.slab[line as usize];
        match (which, dirty) {
            (GROUP, _) => &mut self.groups[group as usize],
            (_, true) => &mut self.dirty,
            (_, false) => &mut self.clean,
        }
    }

    pub(super) fn push(&mut self, line: u32, which: usize) {
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

    pub(super) fn unlink(&mut self, line: u32, which: usize) {
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

pub(super) fn some(line: u32) -> Option<u32> {
    (line != NIL).then_some(line)
}
