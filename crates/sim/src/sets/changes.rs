//! The index of live page accesses by LPN, and the order of changes.
//!
//! Reads of an LPN are in the chain of its bucket, the latest first. Of the changes of an LPN only
//! the latest one is in the chain of its bucket; the others hang on it in the order of their
//! numbers, so that the latest one is found, and the earlier ones are superseded, without a look
//! at the rest.

use super::{Mode, Sets, Stage};
use crate::handle::{RequestId, SetId};
use flashyard_core::units::{DieId, Lpn};
use std::iter::successors;
use std::ops::Range;

/// The places of a set in the index and in the order of changes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Links {
    /// Whether it is in the index by LPN, and the neighbours of a read, or of the latest change of
    /// an LPN, in the bucket.
    listed: bool,
    prev_of_bucket: Option<SetId>,
    next_of_bucket: Option<SetId>,
    /// Of a listed change the next later and the next earlier one of its LPN by number. The latest
    /// one names the earliest one as the later one; the earliest one has no earlier one.
    later_of_lpn: Option<SetId>,
    earlier_of_lpn: Option<SetId>,
    /// Its neighbours among the live changes.
    earlier_change: Option<SetId>,
    later_change: Option<SetId>,
}

impl Links {
    pub(super) const NONE: Self = Self {
        listed: false,
        prev_of_bucket: None,
        next_of_bucket: None,
        later_of_lpn: None,
        earlier_of_lpn: None,
        earlier_change: None,
        later_change: None,
    };
}

impl Sets {
    /// The bucket of the changes of an LPN; there are as many as sets.
    fn bucket_of(&self, lpn: Lpn) -> usize {
        lpn.scattered() as usize & (self.change_index.len() - 1)
    }

    /// That of its reads: units of a page share one, so that one look finds what its page serves.
    #[inline]
    fn read_bucket_of(&self, lpn: Lpn) -> usize {
        let page = Lpn::new(lpn.get() >> self.page_shift);
        page.scattered() as usize & (self.read_index.len() - 1)
    }

    /// Gives the index as many buckets as there are sets. In each the latest set comes first, as
    /// where sets are listed one by one.
    pub(super) fn grow_index(&mut self, count: usize) {
        for index in [&mut self.read_index, &mut self.change_index] {
            index.clear();
            index.resize(count.next_power_of_two(), None);
        }
        for set in self.named(count) {
            self.push_to_bucket(set);
        }
    }

    /// The listed sets that buckets name, by number: reads, and the latest change of each LPN.
    #[cold]
    #[inline(never)]
    fn named(&self, count: usize) -> Vec<SetId> {
        let all = (0..u32::try_from(count).expect("handles have 32 bits")).map(SetId::new);
        let is_named = |set: SetId| !self[set].changes() || self.is_latest(set);
        let mut named: Vec<SetId> =
            all.filter(|&set| self[set].links.listed && is_named(set)).collect();
        named.sort_unstable_by_key(|&set| self.number(set));
        named
    }

    /// Whether a listed change is the latest one of its LPN.
    fn is_latest(&self, set: SetId) -> bool {
        self[self.later_of_lpn(set)].links.earlier_of_lpn.is_none()
    }

    /// The next later change of the LPN of a listed one; of the latest one the earliest one.
    #[inline]
    fn later_of_lpn(&self, set: SetId) -> SetId {
        self[set].links.later_of_lpn.expect("a listed change has one")
    }

    /// Live reads of an LPN, the latest first. Only where [`Sets::new`] was told that reads are
    /// sought.
    fn reads_of(&self, lpn: Lpn) -> impl Iterator<Item = SetId> {
        let first = self.read_index[self.read_bucket_of(lpn)];
        let all = successors(first, |&set| self[set].links.next_of_bucket);
        all.filter(move |&set| self[set].lpn == lpn)
    }

    /// A read of a unit by a request that waits for a die.
    #[expect(clippy::inline_always, reason = "once a unit of each page that is read")]
    #[inline(always)]
    pub(crate) fn queued_read(&self, lpn: Lpn, die: DieId) -> Option<SetId> {
        self.queued_read_among(lpn.get(), 1, die)
    }

    /// Whether a read by a request of one of the units from `first` on that striping puts into one
    /// page waits for a die.
    #[inline]
    pub(crate) fn has_queued_read(&self, first: Lpn, die: DieId) -> bool {
        let units = self.units_per_page;
        if units == 1 << self.page_shift {
            return self.queued_read_among(first.get(), units, die).is_some();
        }
        let mut all = first.get()..first.get() + units;
        all.any(|lpn| self.queued_read(Lpn::new(lpn), die).is_some())
    }

    /// A read by a request of one of so many units of a bucket that waits for a die.
    #[expect(clippy::inline_always, reason = "once a unit of each page that is read")]
    #[inline(always)]
    fn queued_read_among(&self, first: u32, units: u32, die: DieId) -> Option<SetId> {
        let mut next = self.read_index[self.read_bucket_of(Lpn::new(first))];
        while let Some(set) = next {
            let state = &self[set];
            if state.lpn.get().wrapping_sub(first) < units
                && state.mode() == Mode::Queued
                && matches!(state.current, Stage::Read | Stage::AheadRead)
                && self.die(set) == die
            {
                return next;
            }
            next = state.links.next_of_bucket;
        }
        None
    }

    /// Whether a set is reading a unit ahead.
    pub(crate) fn is_read_ahead(&self, lpn: Lpn) -> bool {
        self.reads_of(lpn).any(|set| self[set].is_own())
    }

    /// Live changes of an LPN, the one with the greatest number first.
    pub(crate) fn changes_of(&self, lpn: Lpn) -> impl Iterator<Item = SetId> {
        successors(self.latest_of(lpn), |&set| self[set].links.earlier_of_lpn)
    }

    /// The latest live change of a unit.
    #[inline]
    pub(super) fn latest_of(&self, lpn: Lpn) -> Option<SetId> {
        let mut at = self.change_index[self.bucket_of(lpn)];
        while let Some(set) = at
            && self[set].lpn != lpn
        {
            at = self[set].links.next_of_bucket;
        }
        at
    }

    #[inline]
    fn index_of(&mut self, set: SetId) -> &mut Option<SetId> {
        let lpn = self[set].lpn;
        if self[set].changes() {
            let bucket = self.bucket_of(lpn);
            &mut self.change_index[bucket]
        } else {
            let bucket = self.read_bucket_of(lpn);
            &mut self.read_index[bucket]
        }
    }

    #[inline]
    fn links_mut(&mut self, set: SetId) -> &mut Links {
        &mut self.state_mut(set).links
    }

    #[inline]
    fn push_to_bucket(&mut self, set: SetId) {
        let next = self.index_of(set).replace(set);
        self.link_before(set, next);
    }

    /// A set comes first in its bucket, before `next`.
    #[inline]
    fn link_before(&mut self, set: SetId, next: Option<SetId>) {
        let links = self.links_mut(set);
        (links.prev_of_bucket, links.next_of_bucket) = (None, next);
        if let Some(next) = next {
            self.links_mut(next).prev_of_bucket = Some(set);
        }
    }

    /// Takes a set out of its bucket, where `new`, if it is one, takes its place: another change of
    /// its LPN.
    fn replace_in_bucket(&mut self, old: SetId, new: Option<SetId>) {
        let Links { prev_of_bucket: prev, next_of_bucket: next, .. } = self[old].links;
        if let Some(new) = new {
            self.links_mut(new).prev_of_bucket = prev;
            self.links_mut(new).next_of_bucket = next;
        }
        match prev {
            None => *self.index_of(old) = new.or(next),
            Some(prev) => self.links_mut(prev).next_of_bucket = new.or(next),
        }
        if let Some(next) = next {
            self.links_mut(next).prev_of_bucket = new.or(prev);
        }
    }

    /// Puts a change between two others of its LPN.
    fn place_in_lpn(&mut self, set: SetId, later: SetId, earlier: Option<SetId>) {
        self.links_mut(set).later_of_lpn = Some(later);
        self.links_mut(set).earlier_of_lpn = earlier;
    }

    /// Enters a set into the index by LPN.
    #[inline]
    pub(crate) fn list_by_lpn(&mut self, set: SetId) {
        if self[set].changes() {
            self.list_change_by_lpn(set);
        } else {
            self.list_read_by_lpn(set);
        }
    }

    /// Enters a set that changes nothing into the index by LPN, if anybody looks for it there.
    #[inline]
    pub(super) fn list_read_by_lpn(&mut self, set: SetId) {
        if !self.reads_are_sought {
            return;
        }
        let bucket = self.read_bucket_of(self[set].lpn);
        let next = self.read_index[bucket].replace(set);
        self.links_mut(set).listed = true;
        self.link_before(set, next);
    }

    fn list_change_by_lpn(&mut self, set: SetId) {
        self.links_mut(set).listed = true;
        let Some(latest) = self.latest_of(self[set].lpn) else {
            self.place_in_lpn(set, set, None);
            return self.push_to_bucket(set);
        };
        let number = self.number(set);
        let earliest = self.later_of_lpn(latest);
        if self.number(latest) < number {
            self.replace_in_bucket(latest, Some(set));
            self.place_in_lpn(set, earliest, Some(latest));
            self.links_mut(latest).later_of_lpn = Some(set);
            return;
        }
        // A flush has the number of the write that it carries.
        let mut later = earliest;
        while self.number(later) < number {
            later = self.later_of_lpn(later);
        }
        let earlier = self.links_mut(later).earlier_of_lpn.replace(set);
        self.place_in_lpn(set, later, earlier);
        self.links_mut(earlier.unwrap_or(latest)).later_of_lpn = Some(set);
    }

    /// Takes a set out of the index by LPN.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "once a set; a call costs more than it does")]
    pub(crate) fn unlist_by_lpn(&mut self, set: SetId) {
        if std::mem::take(&mut self.links_mut(set).listed) {
            self.unlist_listed(set);
        }
    }

    #[inline(never)]
    fn unlist_listed(&mut self, set: SetId) {
        if !self[set].changes() {
            return self.replace_in_bucket(set, None);
        }
        let Links { later_of_lpn: later, earlier_of_lpn: earlier, .. } = self[set].links;
        let names_it = if self.is_latest(set) {
            self.replace_in_bucket(set, earlier);
            earlier
        } else {
            let later = self.later_of_lpn(set);
            self.links_mut(later).earlier_of_lpn = earlier;
            // The latest one names the earliest one.
            earlier.or_else(|| self.latest_of(self[set].lpn))
        };
        if let Some(other) = names_it {
            self.links_mut(other).later_of_lpn = later;
        }
    }

    /// Adds a set to the live changes, the latest at the end.
    pub(crate) fn list_change(&mut self, set: SetId) {
        let earlier = self.latest_change.replace(set);
        self.links_mut(set).earlier_change = earlier;
        self.links_mut(set).later_change = None;
        match earlier {
            None => self.oldest_change = Some(set),
            Some(earlier) => self.links_mut(earlier).later_change = Some(set),
        }
    }

    /// Takes a set out of the live changes.
    pub(crate) fn unlist_change(&mut self, set: SetId) {
        let Links { earlier_change: earlier, later_change: later, .. } = self[set].links;
        match earlier {
            None => self.oldest_change = later,
            Some(earlier) => self.links_mut(earlier).later_change = later,
        }
        match later {
            None => self.latest_change = earlier,
            Some(later) => self.links_mut(later).earlier_change = earlier,
        }
    }

    /// Whether a change is live.
    #[inline]
    pub(crate) const fn has_changes(&self) -> bool {
        self.latest_change.is_some()
    }

    /// Live changes and unfinished flushes, the oldest one first.
    pub(crate) fn changes(&self) -> impl Iterator<Item = SetId> {
        successors(self.oldest_change, |&set| self[set].links.later_change)
    }

    /// The latest one of them.
    pub(crate) const fn newest_change(&self) -> Option<SetId> {
        self.latest_change
    }

    /// The one before another one.
    pub(crate) fn change_before(&self, set: SetId) -> Option<SetId> {
        self[set].links.earlier_change
    }

    /// Whether another request than this one has an access of a unit under way that it must not
    /// overtake, where it `changes` the unit or only reads it.
    pub(crate) fn is_accessed(&self, lpn: Lpn, request: RequestId, changes: bool) -> bool {
        let is_other = |set| self[set].request().is_some_and(|other| other != request);
        self.changes_of(lpn).any(is_other) || (changes && self.reads_of(lpn).any(is_other))
    }

    /// Whether a change of the unit of a set is live that was translated before it.
    #[inline]
    pub(crate) fn overtakes_change(&self, set: SetId) -> bool {
        self.has_changes() && self.has_earlier_change(set)
    }

    fn has_earlier_change(&self, set: SetId) -> bool {
        let (latest, number) = (self.latest_of(self[set].lpn), self.number(set));
        latest.is_some_and(|latest| self.number(self.later_of_lpn(latest)) < number)
    }

    /// The latest live set below `number` that changes `lpn`, by order of translation; of a write
    /// that is being put and the flush of what it puts, the flush.
    pub(crate) fn live_change_of(&self, lpn: Lpn, number: u64) -> Option<SetId> {
        self.latest_change(lpn, number, |set| self[set].request().is_none())
    }

    /// The same, where several have one number one that is `preferred`.
    pub(crate) fn latest_change(
        &self,
        lpn: Lpn,
        number: u64,
        preferred: impl Fn(SetId) -> bool,
    ) -> Option<SetId> {
        let first = self.latest_below(self.latest_of(lpn)?, number)?;
        let mut best = first;
        let mut at = self[first].links.earlier_of_lpn;
        while let Some(set) = at
            && self.number(set) == self.number(first)
        {
            best = if (preferred(set), set) > (preferred(best), best) { set } else { best };
            at = self[set].links.earlier_of_lpn;
        }
        Some(best)
    }

    /// The first change below a number, from the latest one of an LPN on. Looks from both ends.
    fn latest_below(&self, latest: SetId, number: u64) -> Option<SetId> {
        let mut down = latest;
        let mut up = self.later_of_lpn(latest);
        if self.number(up) >= number {
            return None;
        }
        loop {
            if self.number(down) < number {
                return Some(down);
            }
            down = self[down].links.earlier_of_lpn?;
            let later = self.later_of_lpn(up);
            if self.number(later) >= number {
                return Some(up);
            }
            up = later;
        }
    }

    /// Live changes of these units, the oldest one first.
    pub(crate) fn changes_in(&self, units: &Range<Lpn>) -> impl Iterator<Item = SetId> {
        self.changes().filter(|&set| self[set].changes() && units.contains(&self[set].lpn))
    }

    /// Live changes of these units no longer count.
    pub(crate) fn supersede_all(&mut self, units: &Range<Lpn>) {
        let sets: Vec<SetId> = self.changes_in(units).collect();
        for set in sets {
            self.state_mut(set).work.supersede();
        }
    }

    /// Live changes of the same LPN that were translated before `set` no longer count. Those
    /// before one that does not count do not either.
    pub(crate) fn supersede_earlier(&mut self, set: SetId) {
        let number = self.number(set);
        let mut at = self[set].links.earlier_of_lpn;
        while let Some(earlier) = at
            && !self[earlier].is_superseded()
        {
            if self.number(earlier) < number {
                self.state_mut(earlier).work.supersede();
            }
            at = self[earlier].links.earlier_of_lpn;
        }
    }
}
