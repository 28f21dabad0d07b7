//! Slots of the device's queue: which sets have one, and which get one next.

use super::Sets;
use crate::config::{Admission, QueueKeys, SlotsScope};
use crate::handle::SetId;
use flashyard_core::geometry::Geometry;
use flashyard_core::units::{DieId, Lpn};
use std::collections::VecDeque;

/// Slots that are taken, and sets that wait for one.
#[derive(Debug)]
pub(super) struct Slots {
    geometry: Geometry,
    keys: QueueKeys,
    /// Sets without a slot, in the order in which they get one.
    waiting: VecDeque<SetId>,
    /// Slots that are taken, of the device and by die.
    taken: u64,
    of_dies: Vec<u64>,
}

impl Slots {
    pub(super) fn new(geometry: &Geometry, keys: &QueueKeys) -> Self {
        let of_dies = vec![0; geometry.dies() as usize];
        Self { geometry: *geometry, keys: *keys, waiting: VecDeque::new(), taken: 0, of_dies }
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
    pub(crate) fn has_slots_for(&self, first: Lpn, pages: u32) -> bool {
        let Slots { geometry, keys, taken, of_dies, .. } = &self.slots;
        if keys.slots_scope == SlotsScope::Device || *taken == 0 {
            return *taken == 0 || u64::from(pages) <= keys.depth.saturating_sub(*taken);
        }
        let free = |die: DieId| keys.depth.saturating_sub(of_dies[die.index()]);
        if geometry.units_per_page == 1 && geometry.planes == 1 {
            let dies = geometry.dies();
            return (0..pages.min(dies)).all(|page| {
                let die = geometry.die_of_lpn(Lpn::new(first.get() + page));
                u64::from((pages - page).div_ceil(dies)) <= free(die)
            });
        }
        (0..geometry.dies()).map(DieId::new).all(|die| {
            let lpns = (first.get()..first.get() + pages).map(Lpn::new);
            lpns.filter(|lpn| geometry.die_of_lpn(*lpn) == die).count() as u64 <= free(die)
        })
    }

    /// Takes the next set that waits for a slot, if it gets one or needs none, and whether it gets
    /// one; `all` is whether all do.
    pub(crate) fn end_slot_wait(&mut self, all: bool) -> Option<(SetId, bool)> {
        let Slots { keys, waiting, taken, of_dies, .. } = &self.slots;
        let set = *waiting.front()?;
        let taken = match keys.slots_scope {
            SlotsScope::Device => *taken,
            SlotsScope::Die => of_dies[self.slot_die(set).index()],
        };
        let free = all || keys.admission == Admission::Atomic || taken < keys.depth;
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
        let state = &mut self[set];
        state.slotted = true;
        state.slot_die = die;
        self.slots.taken += 1;
        self.slots.of_dies[die.index()] += 1;
    }

    /// A set gives its slot back, if it has one.
    pub(crate) fn drop_slot(&mut self, set: SetId) {
        let state = &mut self.list[set.index()];
        if std::mem::take(&mut state.slotted) {
            self.slots.taken -= 1;
            self.slots.of_dies[state.slot_die.index()] -= 1;
        }
    }
}
