//! Slots of the device's queue: which sets have one, and which get one next.

use super::{Mode, Sets};
use crate::config::{Admission, QueueKeys, SlotsScope};
use crate::handle::SetId;
use flashyard_core::geometry::Geometry;
use flashyard_core::units::{DieId, Lpn};
use std::collections::VecDeque;

/// Slots that are taken, and sets that wait for one.
#[derive(Clone, Debug)]
pub(super) struct Slots {
    geometry: Geometry,
    keys: QueueKeys,
    /// Sets without a slot, in the order in which they get one.
    waiting: VecDeque<SetId>,
    /// Slots that are taken, of the device and by die.
    taken: u64,
    of_dies: Vec<u64>,
    asked: Asked,
}

/// The pages that last asked for slots together. Who waits asks at each slot that is given back.
#[derive(Clone, Debug, Default)]
struct Asked {
    first: u32,
    pages: u32,
    /// Their dies, and how many are on each.
    dies: Vec<(DieId, u64)>,
    /// The place of the die that had too few slots.
    short: usize,
    /// By die, pages that are counted; all 0 between counts.
    counts: Vec<u64>,
}

impl Asked {
    /// Counts pages by die, unless they are those that asked last.
    fn count(&mut self, geometry: &Geometry, first: Lpn, pages: u32) {
        if (self.first, self.pages) == (first.get(), pages) {
            return;
        }
        (self.first, self.pages, self.short) = (first.get(), pages, 0);
        self.dies.clear();
        self.counts.resize(geometry.dies() as usize, 0);
        for lpn in first.get()..first.get() + pages {
            let die = geometry.die_of_lpn(Lpn::new(lpn));
            let count = &mut self.counts[die.index()];
            if *count == 0 {
                self.dies.push((die, 0));
            }
            *count += 1;
        }
        for (die, pages) in &mut self.dies {
            *pages = std::mem::take(&mut self.counts[die.index()]);
        }
    }

    /// Whether each die has slots for its pages.
    fn fit(&mut self, has_slots: impl Fn(DieId, u64) -> bool) -> bool {
        let (before, rest) = self.dies.split_at(self.short);
        let is_short = |&(die, pages): &(DieId, u64)| !has_slots(die, pages);
        let short = rest.iter().position(is_short).map(|place| self.short + place);
        let short = short.or_else(|| before.iter().position(is_short));
        self.short = short.unwrap_or(0);
        short.is_none()
    }
}

impl Slots {
    /// The geometry of the device.
    #[inline]
    pub(super) const fn geometry(&self) -> &Geometry {
        &self.geometry
    }

    pub(super) fn new(geometry: &Geometry, keys: &QueueKeys) -> Self {
        let of_dies = vec![0; geometry.dies() as usize];
        let (geometry, keys, waiting) = (*geometry, *keys, VecDeque::new());
        Self { geometry, keys, waiting, taken: 0, of_dies, asked: Asked::default() }
    }

    /// A set takes a slot, which counts for a die.
    pub(super) fn occupy(&mut self, die: DieId) {
        self.taken += 1;
        self.of_dies[die.index()] += 1;
    }

    pub(super) fn reserve(&mut self, sets: usize) {
        self.waiting.reserve(sets);
    }
}

impl Sets {
    /// A new set waits for a slot.
    #[inline]
    pub(crate) fn await_slot(&mut self, set: SetId) {
        self.slots.waiting.push_back(set);
    }

    /// Whether a set waits for a slot.
    #[inline]
    pub(crate) fn has_slotless(&self) -> bool {
        !self.slots.waiting.is_empty()
    }

    /// Whether a set that writes or fetches a map page waits for a slot, or for one that does. Only
    /// rewrites of map pages can come between: flushes do not wait for sets without a slot.
    pub(crate) fn waits_for_slot(&self, set: SetId) -> bool {
        let mut at = set;
        loop {
            let state = &self[at];
            if state.request().is_some() {
                return state.mode == Mode::Slotless && state.slot.is_none();
            }
            match self.first_wait(at) {
                Some(wait) if state.mode == Mode::Waiting => at = wait.source,
                _ => return false,
            }
        }
    }

    /// The last `count` sets that wait for a slot, in the order in which they get one.
    pub(crate) fn newest_slotless(&self, count: u32) -> impl Iterator<Item = SetId> {
        self.slots.waiting.range(self.slots.waiting.len() - count as usize..).copied()
    }

    /// Whether another request may be translated: no set waits for a slot, and the device has one.
    #[inline]
    pub(crate) fn may_admit(&self) -> bool {
        let Slots { keys, taken, .. } = &self.slots;
        !self.has_slotless() && (keys.slots_scope == SlotsScope::Die || *taken < keys.depth)
    }

    /// Whether so many page accesses from one on could have slots now, or no slot is taken.
    pub(crate) fn has_slots_for(&mut self, first: Lpn, pages: u32) -> bool {
        let Slots { geometry, keys, taken, of_dies, asked, .. } = &mut self.slots;
        if keys.slots_scope == SlotsScope::Device || *taken == 0 {
            return *taken == 0 || u64::from(pages) <= keys.depth.saturating_sub(*taken);
        }
        let has_slots = |die: DieId, pages: u64| of_dies[die.index()] + pages <= keys.depth;
        if pages == 1 {
            return has_slots(geometry.die_of_lpn(first), 1);
        }
        asked.count(geometry, first, pages);
        asked.fit(has_slots)
    }

    /// Whether a set of this die gets a slot at once; where requests take all of theirs together it
    /// does.
    #[inline]
    pub(super) fn has_slot(&self, die: DieId) -> bool {
        let Slots { keys, taken, of_dies, .. } = &self.slots;
        let taken = match keys.slots_scope {
            SlotsScope::Device => *taken,
            SlotsScope::Die => of_dies[die.index()],
        };
        keys.admission == Admission::Atomic || taken < keys.depth
    }

    /// Takes the next set that waits for a slot, if it gets one or needs none, and whether it gets
    /// one; `all` is whether all do.
    pub(crate) fn end_slot_wait(&mut self, all: bool) -> Option<(SetId, bool)> {
        let Slots { keys, waiting, .. } = &self.slots;
        let set = *waiting.front()?;
        let free = all || self.has_slot(self.slot_die(set));
        let needs_slot = keys.delayed_sets_hold_slot || !self.is_blocked(set);
        if needs_slot && !free {
            return None;
        }
        self.slots.waiting.pop_front();
        Some((set, needs_slot))
    }

    /// The die whose slots limit a set; none where those of the device do.
    pub(crate) fn slot_limit(&self, set: SetId) -> Option<DieId> {
        (self.slots.keys.slots_scope == SlotsScope::Die).then(|| self.slot_die(set))
    }

    /// The die that a set's slot counts for: that of its last command, its data.
    #[inline]
    fn slot_die(&self, set: SetId) -> DieId {
        let geometry = &self.slots.geometry;
        match self.commands(set).last() {
            None => geometry.die_of_lpn(self[set].lpn),
            Some(&(_, plane)) => geometry.die_of_plane(plane),
        }
    }

    /// A set gets a slot.
    #[inline]
    pub(crate) fn take_slot(&mut self, set: SetId) {
        let die = self.slot_die(set);
        self.state_mut(set).slot = Some(die);
        self.slots.occupy(die);
    }

    /// A set gives its slot back, if it has one.
    pub(crate) fn drop_slot(&mut self, set: SetId) {
        if let Some(die) = self.state_mut(set).slot.take() {
            self.slots.taken -= 1;
            self.slots.of_dies[die.index()] -= 1;
        }
    }
}
