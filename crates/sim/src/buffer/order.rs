//! The order of lines: which dirty one is flushed next, and which clean one gives way.

use super::link::{ALL, GROUP, Link, List};
use super::{Line, Lines};
use crate::config::Replacement;
use crate::handle::LineId;

impl Lines {
    /// The dirty line of a group that goes first.
    pub fn oldest_of(&mut self, group: u32) -> Option<LineId> {
        self.front(GROUP, self.groups[group as usize].first)
    }

    /// The dirty line of the same group that was used next after this one.
    pub fn next_of_group(&self, line: LineId) -> Option<LineId> {
        self.slab[line.index()].links[GROUP].next
    }

    /// The dirty line that goes first.
    pub fn oldest(&mut self) -> Option<LineId> {
        self.front(ALL, self.dirty.first)
    }

    /// The line that goes first of a list whose first one is given: of a clock, those that were
    /// used since it last passed go to the end, once.
    pub(super) fn front(&mut self, which: usize, mut first: Option<LineId>) -> Option<LineId> {
        while self.replacement == Replacement::Clock
            && let Some(line) = first
            && std::mem::take(&mut self.slab[line.index()].used)
        {
            self.send_back(line);
            // Sending the only one back leaves it first.
            first = match self.slab[line.index()] {
                Line { dirty: true, group, .. } if which == GROUP => {
                    self.groups[group as usize].first
                }
                Line { dirty: true, .. } => self.dirty.first,
                Line { dirty: false, .. } => self.clean.first,
            };
        }
        first
    }

    /// The dirty line that goes first. A look, that moves no hand.
    pub fn first_dirty(&self) -> Option<LineId> {
        self.first_by_order(self.dirty)
    }

    /// The dirty line that goes after another one.
    pub fn next_dirty(&self, line: LineId) -> Option<LineId> {
        self.next_by_order(self.dirty, line)
    }

    /// The line that gives way first: a dirty one, or a clean one before it if those keep their
    /// units. A look, that moves no hand.
    pub fn first_to_go(&self) -> Option<LineId> {
        let clean = self.first_by_order(self.clean).filter(|_| self.in_order);
        self.sooner(self.first_dirty(), clean)
    }

    /// The line that gives way after another one.
    pub fn next_to_go(&self, line: LineId) -> Option<LineId> {
        if !self.in_order || self.clean.count == 0 {
            return self.next_dirty(line);
        }
        let (mut lists, turn) = ([self.dirty, self.clean], self.turn_of(line));
        if !self.slab[line.index()].dirty {
            lists.reverse();
        }
        let [own, other] = lists;
        let next = |&at: &LineId| self.next_by_order(other, at);
        let other = std::iter::successors(self.first_by_order(other), next)
            .find(|&at| self.turn_of(at) > turn);
        self.sooner(self.next_by_order(own, line), other)
    }

    /// Which of two lines gives way sooner.
    fn sooner(&self, one: Option<LineId>, other: Option<LineId>) -> Option<LineId> {
        one.into_iter().chain(other).min_by_key(|&line| self.turn_of(line))
    }

    /// What [`Self::front`] would find in a list.
    pub(super) fn first_by_order(&self, list: List) -> Option<LineId> {
        let found = match self.replacement {
            Replacement::Clock => self.find_used(list.first, false),
            Replacement::Lru | Replacement::Fifo => None,
        };
        found.or(list.first)
    }

    /// What it would find next if a line were gone: of a clock, first those that were not used.
    pub(super) fn next_by_order(&self, list: List, line: LineId) -> Option<LineId> {
        let state = &self.slab[line.index()];
        let next = state.links[ALL].next;
        if self.replacement != Replacement::Clock {
            return next;
        }
        let found = self.find_used(next, state.used);
        if state.used { found } else { found.or_else(|| self.find_used(list.first, true)) }
    }

    /// The first line from one on that was used since the hand passed it, or was not.
    pub(super) fn find_used(&self, mut from: Option<LineId>, used: bool) -> Option<LineId> {
        while let Some(line) = from
            && self.slab[line.index()].used != used
        {
            from = self.slab[line.index()].links[ALL].next;
        }
        from
    }

    /// The group to flush next: that of the dirty line that goes first if it is ready, or else
    /// the next one that is, by turns.
    pub fn pick(&mut self) -> Option<u32> {
        let oldest = self.oldest()?;
        let group = self.slab[oldest.index()].group;
        let word = group as usize / 64;
        if self.ready[word] & (1 << (group % 64)) != 0 {
            return Some(group);
        }
        let found = self.ready_from(self.turn)?;
        self.turn = self.after(found);
        Some(found)
    }

    /// Whether any group is ready.
    #[inline]
    pub(super) const fn is_any_ready(&self) -> bool {
        self.ready_groups > 0
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
        let (word, bit) = (&mut self.ready[at / 64], 1 << (group % 64));
        if ready != (*word & bit != 0) {
            *word ^= bit;
            self.ready_groups = if ready { self.ready_groups + 1 } else { self.ready_groups - 1 };
        }
    }

    pub(super) fn leave_lists(&mut self, line: LineId) {
        let Line { dirty, group, .. } = self.slab[line.index()];
        if dirty {
            self.unlink(line, ALL);
            self.unlink(line, GROUP);
            self.update_readiness(group);
        } else if self.is_in_clean(line) {
            self.unlink(line, ALL);
        }
    }

    pub(super) fn release(&mut self, line: LineId) {
        self.slab[line.index()].links[ALL].next = None;
        let last = self.free.last.replace(line);
        match last.filter(|_| self.free.count > 0) {
            None => self.free.first = Some(line),
            Some(last) => self.slab[last.index()].links[ALL].next = Some(line),
        }
        self.free.count += 1;
    }

    pub(super) fn list(&mut self, line: LineId, which: usize) -> &mut List {
        let Line { dirty, group, .. } = self.slab[line.index()];
        match (which, dirty) {
            (GROUP, _) => &mut self.groups[group as usize],
            (_, true) => &mut self.dirty,
            (_, false) => &mut self.clean,
        }
    }

    pub(super) fn push(&mut self, line: LineId, which: usize) {
        self.moments += 1;
        let list = self.list(line, which);
        list.count += 1;
        let prev = list.last.replace(line);
        match prev {
            None => list.first = Some(line),
            Some(prev) => self.slab[prev.index()].links[which].next = Some(line),
        }
        let state = &mut self.slab[line.index()];
        state.since = self.moments;
        state.links[which] = Link { prev, next: None };
    }

    pub(super) fn unlink(&mut self, line: LineId, which: usize) {
        let Link { prev, next } = self.slab[line.index()].links[which];
        let list = self.list(line, which);
        list.count -= 1;
        if prev.is_none() {
            list.first = next;
        }
        if next.is_none() {
            list.last = prev;
        }
        if let Some(prev) = prev {
            self.slab[prev.index()].links[which].next = next;
        }
        if let Some(next) = next {
            self.slab[next.index()].links[which].prev = prev;
        }
        self.slab[line.index()].links[which] = Link::NONE;
    }
}
