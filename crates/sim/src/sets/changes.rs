//! The index of live page accesses by LPN, and the order of changes.
//!
//! Reads of an LPN are in the chain of its bucket, the latest first. Of the changes of an LPN only
//! the latest one is in the chain of its bucket; the others hang on it in the order of their
//! numbers, so that the latest one is found, and the earlier ones are superseded, without a look
//! at the rest.

use super::{Set, Sets};
use flashyard_core::graph::NIL;
use flashyard_core::units::Lpn;
use std::iter::successors;

impl Sets {
    /// The bucket of an LPN; there are as many as sets.
    fn bucket_of(&self, lpn: Lpn) -> usize {
        lpn.scattered() as usize & (self.read_index.len() - 1)
    }

    /// Gives the index as many buckets as there are sets.
    pub(super) fn grow_index(&mut self, count: usize) {
        for index in [&mut self.read_index, &mut self.change_index] {
            index.clear();
            index.resize(count.next_power_of_two(), NIL);
        }
        for set in 0..u32::try_from(count).expect("handles have 32 bits") {
            if self[set].listed && (!self[set].changes || self.is_latest(set)) {
                self.push_to_bucket(set);
            }
        }
    }

    /// Whether a listed change is the latest one of its LPN.
    fn is_latest(&self, set: u32) -> bool {
        self[self[set].later_of_lpn].earlier_of_lpn == NIL
    }

    /// Live reads of an LPN, the latest first.
    pub(crate) fn reads_of(&self, lpn: Lpn) -> impl Iterator<Item = u32> {
        self.of_bucket(self.read_index[self.bucket_of(lpn)], lpn)
    }

    /// Live changes of an LPN, the one with the greatest number first.
    pub(crate) fn changes_of(&self, lpn: Lpn) -> impl Iterator<Item = u32> {
        successors(self.latest_of(lpn), |&set| some(self[set].earlier_of_lpn))
    }

    fn of_bucket(&self, first: u32, lpn: Lpn) -> impl Iterator<Item = u32> {
        let all = successors(some(first), |&set| some(self[set].next_of_bucket));
        all.filter(move |&set| self[set].lpn == lpn)
    }

    #[inline]
    fn latest_of(&self, lpn: Lpn) -> Option<u32> {
        let mut at = self.change_index[self.bucket_of(lpn)];
        while at != NIL && self[at].lpn != lpn {
            at = self[at].next_of_bucket;
        }
        some(at)
    }

    fn index_of(&mut self, set: u32) -> &mut u32 {
        let bucket = self.bucket_of(self[set].lpn);
        let index = if self[set].changes { &mut self.change_index } else { &mut self.read_index };
        &mut index[bucket]
    }

    fn push_to_bucket(&mut self, set: u32) {
        let next = std::mem::replace(self.index_of(set), set);
        self[set].prev_of_bucket = NIL;
        self[set].next_of_bucket = next;
        if next != NIL {
            self[next].prev_of_bucket = set;
        }
    }

    fn take_from_bucket(&mut self, set: u32) {
        let Set { prev_of_bucket: prev, next_of_bucket: next, .. } = self[set];
        match prev {
            NIL => *self.index_of(set) = next,
            prev => self[prev].next_of_bucket = next,
        }
        if next != NIL {
            self[next].prev_of_bucket = prev;
        }
    }

    /// A change takes the place of another one of its LPN in the bucket.
    fn replace_in_bucket(&mut self, old: u32, new: u32) {
        let Set { prev_of_bucket: prev, next_of_bucket: next, .. } = self[old];
        (self[new].prev_of_bucket, self[new].next_of_bucket) = (prev, next);
        match prev {
            NIL => *self.index_of(new) = new,
            prev => self[prev].next_of_bucket = new,
        }
        if next != NIL {
            self[next].prev_of_bucket = new;
        }
    }

    /// Enters a set into the index by LPN.
    pub(crate) fn list_by_lpn(&mut self, set: u32) {
        self[set].listed = true;
        if !self[set].changes {
            return self.push_to_bucket(set);
        }
        let Some(latest) = self.latest_of(self[set].lpn) else {
            (self[set].later_of_lpn, self[set].earlier_of_lpn) = (set, NIL);
            return self.push_to_bucket(set);
        };
        let number = self.number(set);
        let earliest = self[latest].later_of_lpn;
        if self.number(latest) < number {
            self.replace_in_bucket(latest, set);
            (self[set].later_of_lpn, self[set].earlier_of_lpn) = (earliest, latest);
            self[latest].later_of_lpn = set;
            return;
        }
        // A flush has the number of the write that it carries.
        let mut later = earliest;
        while self.number(later) < number {
            later = self[later].later_of_lpn;
        }
        let earlier = std::mem::replace(&mut self[later].earlier_of_lpn, set);
        (self[set].later_of_lpn, self[set].earlier_of_lpn) = (later, earlier);
        self[if earlier == NIL { latest } else { earlier }].later_of_lpn = set;
    }

    /// Takes a set out of the index by LPN.
    pub(crate) fn unlist_by_lpn(&mut self, set: u32) {
        self[set].listed = false;
        if !self[set].changes {
            return self.take_from_bucket(set);
        }
        let Set { lpn, later_of_lpn: later, earlier_of_lpn: earlier, .. } = self[set];
        match (self.is_latest(set), earlier) {
            (true, NIL) => self.take_from_bucket(set),
            (true, earlier) => {
                self.replace_in_bucket(set, earlier);
                self[earlier].later_of_lpn = later;
            }
            (false, NIL) => {
                self[later].earlier_of_lpn = NIL;
                let latest = self.latest_of(lpn).expect("it has a later change");
                self[latest].later_of_lpn = later;
            }
            (false, earlier) => {
                self[later].earlier_of_lpn = earlier;
                self[earlier].later_of_lpn = later;
            }
        }
    }

    /// Adds a set to the live changes, the latest at the end.
    pub(crate) fn list_change(&mut self, set: u32) {
        let earlier = std::mem::replace(&mut self.latest_change, set);
        self[set].earlier_change = earlier;
        self[set].later_change = NIL;
        match earlier {
            NIL => self.oldest_change = set,
            earlier => self[earlier].later_change = set,
        }
    }

    /// Takes a set out of the live changes.
    pub(crate) fn unlist_change(&mut self, set: u32) {
        let Set { earlier_change: earlier, later_change: later, .. } = self[set];
        match earlier {
            NIL => self.oldest_change = later,
            earlier => self[earlier].later_change = later,
        }
        match later {
            NIL => self.latest_change = earlier,
            later => self[later].earlier_change = earlier,
        }
    }

    /// Whether a change is live.
    #[inline]
    pub(crate) const fn has_changes(&self) -> bool {
        self.latest_change != NIL
    }

    /// The oldest live change, in the order of translation.
    pub(crate) fn oldest_change(&self) -> Option<u32> {
        some(self.oldest_change)
    }

    /// The live change after another one.
    pub(crate) fn later_change(&self, set: u32) -> Option<u32> {
        some(self[set].later_change)
    }

    /// Live changes, the oldest one first.
    pub(crate) fn changes(&self) -> impl Iterator<Item = u32> {
        successors(self.oldest_change(), |&set| self.later_change(set))
    }

    /// Whether a set below `number` that changes `lpn` is live.
    pub(crate) fn is_changed_before(&self, lpn: Lpn, number: u64) -> bool {
        let latest = self.latest_of(lpn);
        latest.is_some_and(|latest| self.number(self[latest].later_of_lpn) < number)
    }

    /// The latest live set below `number` that changes `lpn`, by order of translation; of a write
    /// that is being put and the flush of what it puts, the flush.
    pub(crate) fn live_change_of(&self, lpn: Lpn, number: u64) -> Option<u32> {
        self.latest_change(lpn, number, |set| self[set].request == NIL)
    }

    /// The same, where several have one number one that is `preferred`.
    pub(crate) fn latest_change(
        &self,
        lpn: Lpn,
        number: u64,
        preferred: impl Fn(u32) -> bool,
    ) -> Option<u32> {
        let first = self.latest_below(self.latest_of(lpn)?, number)?;
        let mut best = first;
        let mut at = self[first].earlier_of_lpn;
        while at != NIL && self.number(at) == self.number(first) {
            best = if (preferred(at), at) > (preferred(best), best) { at } else { best };
            at = self[at].earlier_of_lpn;
        }
        Some(best)
    }

    /// The first change below a number, from the latest one of an LPN on. Looks from both ends.
    fn latest_below(&self, latest: u32, number: u64) -> Option<u32> {
        let mut down = latest;
        let mut up = self[latest].later_of_lpn;
        if self.number(up) >= number {
            return None;
        }
        loop {
            if self.number(down) < number {
                return Some(down);
            }
            down = self[down].earlier_of_lpn;
            let later = self[up].later_of_lpn;
            if self.number(later) >= number {
                return Some(up);
            }
            up = later;
        }
    }

    /// Live changes of the same LPN that were translated before `set` no longer count. Those
    /// before one that does not count do not either.
    pub(crate) fn supersede_earlier(&mut self, set: u32) {
        let number = self.number(set);
        let mut at = self[set].earlier_of_lpn;
        while at != NIL && !self[at].superseded {
            self[at].superseded = self.number(at) < number;
            at = self[at].earlier_of_lpn;
        }
    }
}

fn some(set: u32) -> Option<u32> {
    (set != NIL).then_some(set)
}
