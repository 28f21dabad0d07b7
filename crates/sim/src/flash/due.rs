//! When the arrays and the page registers of dies are due: a timing wheel.
//!
//! A ring of slots of 256 ns each holds those that are due within the next millisecond, with a bit
//! for each slot that has one. Those that are due later wait in a tree, from which they come as
//! time goes on. Setting a due time and finding the next one take a few steps each, whatever the
//! number of dies, as long as few of them share a slot.

use crate::sets::Place;
use flashyard_core::events::{EventTree, Node, VACANT, nodes_of};
use flashyard_core::units::{DieId, Time};

/// Slots of the ring, in words of 64.
const WORDS: usize = 64;
const SLOTS: u64 = 64 * WORDS as u64;

/// A slot is this power of two in nanoseconds long.
const SHIFT: u32 = 8;

/// No entry; and in place of the one before it, that an entry is not in the ring.
const NONE: u32 = u32::MAX;
const LOOSE: u32 = u32::MAX - 1;

/// The number of the slot of a time, counted from the start of the run.
#[inline]
const fn number(time: Time) -> u64 {
    time.as_ns() >> SHIFT
}

/// The place of a slot in the ring.
#[inline]
const fn ring_place(number: u64) -> usize {
    (number % SLOTS) as usize
}

/// The entry of the array or of the page register of a die.
#[inline]
const fn entry_of(die: DieId, place: Place) -> u32 {
    2 * die.get() + matches!(place, Place::Output) as u32
}

/// The array or the page register of a die: when it is due, and those before and behind it in its
/// slot.
#[derive(Clone, Copy, Debug)]
struct Entry {
    at: Time,
    before: u32,
    behind: u32,
}

/// Due times of the arrays and page registers of dies.
#[derive(Clone, Debug)]
pub(super) struct DueTimes {
    entries: Vec<Entry>,
    /// The first entry of each slot.
    heads: Box<[u32; 64 * WORDS]>,
    /// A bit for each slot that has an entry, and for each word of these that is not 0.
    filled: [u64; WORDS],
    words: u64,
    /// The slot of the last instant that was listed.
    base: u64,
    /// Those that are due later than all slots from there on.
    later: EventTree<Vec<Node>>,
    /// When the next one is due, where that is `known`; otherwise when the next one is due of those
    /// that were set since the last instant was listed.
    next: Time,
    known: bool,
}

impl DueTimes {
    /// So many dies, none of which is due.
    pub(super) fn new(dies: usize) -> Self {
        let entry = Entry { at: Time::MAX, before: LOOSE, behind: NONE };
        Self {
            entries: vec![entry; 2 * dies],
            heads: Box::new([NONE; 64 * WORDS]),
            filled: [0; WORDS],
            words: 0,
            base: 0,
            later: EventTree::new(vec![VACANT; nodes_of(2 * dies)]),
            next: Time::MAX,
            known: true,
        }
    }

    /// When the next die is due; [`Time::MAX`] for never.
    #[inline]
    pub(super) fn next(&mut self) -> Time {
        if !self.known {
            (self.next, self.known) = (self.find(), true);
        }
        self.next
    }

    /// The time of [`Self::next`] and the lowest of the dies that are due then.
    pub(super) fn first(&mut self) -> (Time, DieId) {
        let next = self.next();
        let entry = if number(next) >= self.base + SLOTS {
            self.later.first().1
        } else {
            let due = self.slot(ring_place(number(next))).filter(|(_, at)| *at == next);
            due.map(|(entry, _)| entry).min().expect("one is due then")
        };
        (next, DieId::new(entry / 2))
    }

    /// When the next die but this one is due; [`Time::MAX`] for never.
    pub(super) fn next_beside(&mut self, die: DieId) -> Time {
        let own = [Place::Array, Place::Output].map(|place| {
            let at = self.entries[entry_of(die, place) as usize].at;
            self.set(die, place, Time::MAX);
            (place, at)
        });
        let next = self.next();
        for (place, at) in own {
            self.set(die, place, at);
        }
        next
    }

    /// Makes the array or the page register of a die due at `time`; [`Time::MAX`] is never.
    #[expect(clippy::inline_always, reason = "a step of each command; a call costs as much")]
    #[inline(always)]
    pub(super) fn set(&mut self, die: DieId, place: Place, time: Time) {
        let number = entry_of(die, place);
        if self.entries[number as usize].at < Time::MAX {
            self.change(number, time);
        } else if time < Time::MAX {
            self.insert(number, time);
        }
    }

    /// One that is due is due at `time`.
    #[inline(never)]
    fn change(&mut self, number: u32, time: Time) {
        let entry = &mut self.entries[number as usize];
        let before = std::mem::replace(&mut entry.at, Time::MAX);
        if entry.before != LOOSE || self.is_later(before) {
            self.remove(number, before);
        }
        if time < Time::MAX {
            self.insert(number, time);
        }
    }

    /// Whether the array or the page register of a die has become due at an instant since the dies
    /// were listed that are.
    #[inline]
    pub(super) fn is_due_again(&self, die: DieId, now: Time) -> bool {
        self.next == now && self.is_due(die, now)
    }

    #[cold]
    fn is_due(&self, die: DieId, now: Time) -> bool {
        let [array, output] = &self.entries.as_chunks::<2>().0[die.index()];
        array.at == now || output.at == now
    }

    /// Whether the array and the page register of a die are due at an instant; neither is then any
    /// more.
    #[inline]
    pub(super) fn take(&mut self, die: DieId, now: Time) -> [bool; 2] {
        let pair = &mut self.entries.as_chunks_mut::<2>().0[die.index()];
        let due = [pair[0].at == now, pair[1].at == now];
        let mut listed = true;
        for (entry, due) in pair.iter_mut().zip(due) {
            if due && entry.before == LOOSE {
                // It was listed, and so is in no slot.
                entry.at = Time::MAX;
            } else if due {
                listed = false;
            }
        }
        if !listed {
            self.forget(die, now);
        }
        due
    }

    /// The array and the page register of a die are due never, where they are due at an instant.
    #[cold]
    fn forget(&mut self, die: DieId, now: Time) {
        for place in [Place::Array, Place::Output] {
            if self.entries[entry_of(die, place) as usize].at == now {
                self.set(die, place, Time::MAX);
            }
        }
    }

    /// Lists the dies that are due at an instant, which none is due before, and returns the lowest
    /// one; of the others the lowest one comes last. The list is empty before. They are due until
    /// [`Self::take`] is called.
    #[inline]
    pub(super) fn list(&mut self, now: Time, list: &mut Vec<DieId>) -> Option<DieId> {
        if self.next() != now || now == Time::MAX {
            return None;
        }
        self.go_on(now);
        (self.next, self.known) = (Time::MAX, false);
        let slot = ring_place(number(now));
        let first = self.heads[slot];
        let entry = &mut self.entries[first as usize];
        if entry.behind != NONE {
            self.list_several(now, slot, list);
            return list.pop();
        }
        entry.before = LOOSE;
        self.heads[slot] = NONE;
        self.empty(slot);
        Some(DieId::new(first / 2))
    }

    /// The same where a slot has several entries; the lowest die comes last as well.
    #[inline(never)]
    fn list_several(&mut self, now: Time, slot: usize, list: &mut Vec<DieId>) {
        let mut next = std::mem::replace(&mut self.heads[slot], NONE);
        let mut left = NONE;
        while next != NONE {
            let number = next;
            let entry = &mut self.entries[number as usize];
            next = entry.behind;
            if entry.at == now {
                entry.before = LOOSE;
                list.push(DieId::new(number / 2));
            } else {
                (entry.before, entry.behind) = (NONE, left);
                if left != NONE {
                    self.entries[left as usize].before = number;
                }
                left = number;
            }
        }
        self.heads[slot] = left;
        if left == NONE {
            self.empty(slot);
        }
        if let [first, second] = list[..] {
            list.swap(0, usize::from(first < second));
            list.truncate(2 - usize::from(first == second));
        } else if list.len() > 2 {
            list.sort_unstable_by_key(|&die| std::cmp::Reverse(die));
            list.dedup();
        }
    }

    /// Whether a due time is later than all slots.
    #[inline]
    const fn is_later(&self, time: Time) -> bool {
        number(time) >= self.base + SLOTS
    }

    /// Time has come to `now`: those that are due within the ring from there on come into it.
    #[inline]
    fn go_on(&mut self, now: Time) {
        let now = number(now);
        if now > self.base {
            self.base = now;
            while number(self.later.next_due()) < now + SLOTS {
                self.come_nearer();
            }
        }
    }

    /// The first one of the tree comes into the ring.
    #[inline(never)]
    fn come_nearer(&mut self) {
        let (at, entry) = self.later.first();
        self.set_later(entry, Time::MAX);
        self.insert(entry, at);
    }

    /// One that is not in the ring is due at `time`.
    #[inline(never)]
    fn set_later(&mut self, number: u32, time: Time) {
        self.later.set(number, time);
    }

    /// One that was due never is due at `time`.
    #[expect(clippy::inline_always, reason = "a step of each command; a call costs as much")]
    #[inline(always)]
    fn insert(&mut self, number: u32, time: Time) {
        self.next = self.next.min(time);
        let entry = &mut self.entries[number as usize];
        entry.at = time;
        let slot = self::number(time);
        if slot >= self.base + SLOTS {
            return self.set_later(number, time);
        }
        let slot = ring_place(slot);
        let behind = self.heads[slot];
        (entry.before, entry.behind) = (NONE, behind);
        self.heads[slot] = number;
        if behind == NONE {
            self.filled[slot / 64] |= 1 << (slot % 64);
            self.words |= 1 << (slot / 64);
        } else {
            self.entries[behind as usize].before = number;
        }
    }

    /// One that was due at `time` is due never.
    #[inline(never)]
    fn remove(&mut self, number: u32, time: Time) {
        self.known &= self.next < time;
        if self.is_later(time) {
            return self.set_later(number, Time::MAX);
        }
        let entry = &mut self.entries[number as usize];
        let Entry { before, behind, .. } = *entry;
        entry.before = LOOSE;
        if behind != NONE {
            self.entries[behind as usize].before = before;
        }
        if before != NONE {
            self.entries[before as usize].behind = behind;
            return;
        }
        let slot = ring_place(self::number(time));
        self.heads[slot] = behind;
        if behind == NONE {
            self.empty(slot);
        }
    }

    /// A slot has no entry any more.
    #[inline]
    fn empty(&mut self, slot: usize) {
        let word = &mut self.filled[slot / 64];
        *word &= !(1 << (slot % 64));
        if *word == 0 {
            self.words &= !(1 << (slot / 64));
        }
    }

    /// When the next one is due; [`Time::MAX`] for never.
    #[inline]
    #[expect(clippy::cast_possible_truncation, reason = "less than the words of the ring")]
    fn find(&self) -> Time {
        if self.words == 0 {
            return self.later.next_due();
        }
        let first = ring_place(self.base);
        let (word, bit) = (first / 64, first % 64);
        let ahead = self.filled[word] >> bit << bit;
        let slot = if ahead == 0 {
            // Words behind this one, and at the end of the turn the slots before the first one.
            let turn = self.words.rotate_right(first as u32 / 64 + 1).trailing_zeros() as usize;
            let word = (word + 1 + turn) % WORDS;
            word * 64 + self.filled[word].trailing_zeros() as usize
        } else {
            word * 64 + ahead.trailing_zeros() as usize
        };
        self.slot(slot).fold(Time::MAX, |next, (_, at)| next.min(at))
    }

    /// The entries of a slot, and when they are due.
    #[inline]
    fn slot(&self, slot: usize) -> impl Iterator<Item = (u32, Time)> {
        let mut next = self.heads[slot];
        std::iter::from_fn(move || {
            let entry = self.entries.get(next as usize)?;
            Some((std::mem::replace(&mut next, entry.behind), entry.at))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use flashyard_core::units::Span;
    use std::cmp::Reverse;

    /// A number below `limit`.
    fn draw(random: &mut u64, limit: usize) -> usize {
        *random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        usize::try_from(*random >> 33).unwrap() % limit
    }

    /// Against a list of all times: near ones and ones behind the ring, equal ones, changed ones,
    /// and long spans in which nothing is due.
    #[test]
    fn dies_are_due_as_in_a_list_of_all_times() {
        for (dies, step) in [(1, 2_000), (7, 90_000), (64, 4_000), (300, 50_000), (5, 9_000_000)] {
            let (mut due, mut random, mut now) = (DueTimes::new(dies), 7, Time::ZERO);
            let mut times = vec![[Time::MAX; 2]; dies];
            let mut listed = 0;
            for _ in 0..20_000 {
                let die = DieId::from_index(draw(&mut random, dies));
                let place = [Place::Array, Place::Output][draw(&mut random, 2)];
                let far = draw(&mut random, 50) == 0;
                let ahead = draw(&mut random, if far { 1 << 23 } else { step }) / 16 * 16;
                let never = draw(&mut random, 9) == 0;
                let time = if never { Time::MAX } else { now + Span::from_ns(ahead as u64) };
                due.set(die, place, time);
                times[die.index()][usize::from(matches!(place, Place::Output))] = time;
                let least = |skipped: Option<usize>| {
                    let all = times.iter().enumerate().filter(|(die, _)| Some(*die) != skipped);
                    all.map(|(die, at)| (at[0].min(at[1]), die)).min().unwrap_or((Time::MAX, 0))
                };
                let first = least(None);
                assert_eq!(due.next(), first.0);
                if first.0 < Time::MAX {
                    assert_eq!(due.first(), (first.0, DieId::from_index(first.1)));
                }
                assert_eq!(due.next_beside(die), least(Some(die.index())).0);
                if draw(&mut random, 3) > 0 || first.0 == Time::MAX {
                    continue;
                }
                // Now and then something else happens before a die is due.
                let half = Time::from_ns(now.as_ns().midpoint(first.0.as_ns()));
                now = if draw(&mut random, 4) == 0 { half } else { first.0 };
                let mut list = Vec::new();
                let first = due.list(now, &mut list);
                list.extend(first);
                let is_due = |die: &DieId| times[die.index()].contains(&now);
                let mut wanted: Vec<_> = (0..dies).map(DieId::from_index).collect();
                wanted.retain(is_due);
                wanted.sort_by_key(|&die| Reverse(die));
                assert_eq!(list, wanted);
                listed += list.len();
                for die in list {
                    assert_eq!(due.take(die, now), times[die.index()].map(|time| time == now));
                    assert_eq!(due.take(die, now), [false; 2]);
                    for time in &mut times[die.index()] {
                        *time = if *time == now { Time::MAX } else { *time };
                    }
                }
            }
            assert!(listed > 3_000, "{dies} dies: {listed} were due");
        }
    }
}
