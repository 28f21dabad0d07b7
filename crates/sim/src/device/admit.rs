//! Admission: from the host queue to command sets with slots.
//!
//! Source of the order: Lee et al., IEEE Access 2021, with the free choices as keys of `[queue]`.
//! A request is translated as a whole, so that its flash operation time (FOT) is known; its sets
//! take slots in page order; no later request is translated before all of them have one.

use super::Device;
use super::explain::Track;
use super::state::{Mode, Set, Stage};
use crate::config::{Admission, SlotsScope};
use crate::metrics::parts::{Part, Parts};
use flashyard_core::graph::{EdgeKind, NIL, Wait};
use flashyard_core::host::{HostAnswer, HostView};
use flashyard_core::request::{Flags, Request, RequestOp};
use flashyard_core::units::{DieId, Lpn, Span};

impl Device {
    /// Translates requests and gives slots until something is short.
    pub(super) fn admit(&mut self) {
        let admission = self.settings.keys.queue.admission;
        loop {
            self.give_slots();
            let whole_device = self.settings.keys.queue.slots_scope == SlotsScope::Device;
            let full = whole_device && self.slots >= self.settings.keys.queue.depth;
            if !self.unslotted.is_empty() || full {
                return;
            }
            let Some(handle) = self.pick_request() else { return };
            if self.pending[handle as usize].pages == 0 {
                self.translating = None;
                self.start_without_pages(handle);
                continue;
            }
            if !self.may_start(handle, admission) {
                return;
            }
            let limit = if admission == Admission::Page { 1 } else { u32::MAX };
            let translated = self.translate(handle, limit);
            let request = &self.pending[handle as usize];
            if request.translated == request.pages {
                self.translating = None;
            } else if translated == 0 {
                return;
            }
        }
    }

    /// The request to go on with, or the one that the host policy starts next.
    fn pick_request(&mut self) -> Option<u32> {
        if self.translating.is_none() {
            let HostAnswer::Start(place) = self.host_policy.pick(&View(self)) else { return None };
            let place = self.earliest_conflict(place);
            self.translating = self.waiting_requests.remove(place);
            if let Some(handle) = self.translating {
                self.fot_by_die.fill(Span::ZERO);
                self.graph.new_count();
                debug_assert_eq!(self.pending[handle as usize].translated, 0);
            }
        }
        self.translating
    }

    /// The first request that overlaps the one at `place`, where one of the two changes contents.
    fn earliest_conflict(&mut self, place: usize) -> usize {
        let picked = self.pending[self.waiting_requests[place] as usize];
        let conflict = self.waiting_requests.iter().take(place).position(|&earlier| {
            let earlier = &self.pending[earlier as usize];
            let (a, b) = (earlier.first.get(), picked.first.get());
            let overlap = a < b + picked.pages && b < a + earlier.pages;
            let ordered = earlier.changes() || picked.changes();
            (overlap && ordered) || (is_barrier(&picked.request) && earlier.changes())
        });
        if conflict.is_some() {
            self.totals.hazard_picks += 1;
        }
        conflict.unwrap_or(place)
    }

    /// Whether the translation of a request may begin, or go on.
    fn may_start(&mut self, handle: u32, admission: Admission) -> bool {
        let now = self.now;
        let request = &mut self.pending[handle as usize];
        if request.translated > 0 {
            return true;
        }
        if request.request.flags.has(Flags::PREFLUSH) {
            if self.live_changes > 0 {
                request.preflush_since.get_or_insert(now);
                return false;
            }
            if let Some(since) = request.preflush_since.take() {
                request.preflush_ns = now.since(since).as_ns();
            }
        }
        let free = self.settings.keys.queue.depth.saturating_sub(self.slots);
        admission != Admission::Atomic || self.slots == 0 || u64::from(request.pages) <= free
    }

    /// A flush becomes a set without commands that waits for every live change; a trim of no whole
    /// page is over at once.
    fn start_without_pages(&mut self, handle: u32) {
        let parts = self.parts_until_now(handle);
        let request = self.pending[handle as usize].request;
        self.pending[handle as usize].unfinished = 1;
        let set = Set {
            request: handle,
            charge: handle,
            track: Track::starting(self.now, parts),
            ..Set::VACANT
        };
        let flush = request.op == RequestOp::Flush;
        let stages: &[_] = if flush { &[(Stage::Barrier, DieId::new(0))] } else { &[] };
        let barrier = self.new_set(set, stages);
        if flush && self.live_changes > 0 {
            for earlier in 0..u32::try_from(self.sets.len()).expect("handles have 32 bits") {
                let last = self.graph.node(earlier).stages;
                let live = self.graph.node(earlier).stage < last;
                if live && self.sets[earlier as usize].changes {
                    let wait = Wait { source: earlier, stage: last - 1, kind: EdgeKind::Flush };
                    self.connect(wait, barrier, 0);
                }
            }
        }
        self.activate(barrier);
    }

    /// What the time since arrival was spent on, for a set that is made now.
    pub(super) fn parts_until_now(&self, handle: u32) -> Parts {
        let request = &self.pending[handle as usize];
        let all = self.now.since(request.request.arrival).as_ns();
        let mut parts = Parts::default();
        parts.add(Part::MapStall, request.stalled_ns);
        parts.add(Part::Flush, request.preflush_ns);
        parts.add(Part::HostQueue, all - request.stalled_ns - request.preflush_ns);
        parts
    }

    /// Translates pages of a request until it is done, `limit` is reached or the map cache stalls.
    /// Returns how many.
    fn translate(&mut self, handle: u32, limit: u32) -> u32 {
        let first_new = self.unslotted.len();
        let mut translated = 0;
        loop {
            let request = &self.pending[handle as usize];
            if translated == limit || request.translated == request.pages {
                break;
            }
            let lpn = Lpn::new(request.first.get() + request.translated);
            let Some(set) = self.translate_page(handle, lpn) else { break };
            self.unslotted.push_back(set);
            translated += 1;
        }
        if translated > 0 {
            self.count_fot(handle, first_new);
            let split = self.pending[handle as usize].translated > translated;
            self.hand_on_ranks(handle, first_new, split);
        }
        translated
    }

    /// Gives slots to translated sets in order, as long as there are any.
    fn give_slots(&mut self) {
        let keys = self.settings.keys.queue;
        while let Some(&set) = self.unslotted.front() {
            let die = self.slot_die(set);
            let taken = match keys.slots_scope {
                SlotsScope::Device => self.slots,
                SlotsScope::Die => self.slots_of_die[die.index()],
            };
            let free = keys.admission == Admission::Atomic || taken < keys.depth;
            let slotless = !keys.delayed_sets_hold_slot && self.graph.node(set).is_blocked();
            if !free && !slotless {
                return;
            }
            self.unslotted.pop_front();
            if !slotless {
                self.take_slot(set);
            }
            self.activate(set);
        }
    }

    /// The die that a set's slot counts for: that of its last command, its data.
    fn slot_die(&self, set: u32) -> DieId {
        let state = &self.sets[set as usize];
        self.settings.geometry.die_of_lpn(state.lpn)
    }

    pub(super) fn take_slot(&mut self, set: u32) {
        let die = self.slot_die(set);
        let state = &mut self.sets[set as usize];
        state.slotted = true;
        self.slots += 1;
        self.slots_of_die[die.index()] += 1;
        let now = self.now;
        self.pending[state.request as usize].first_slot.get_or_insert(now);
    }

    pub(super) fn drop_slot(&mut self, set: u32) {
        if std::mem::take(&mut self.sets[set as usize].slotted) {
            self.slots -= 1;
            let die = self.slot_die(set);
            self.slots_of_die[die.index()] -= 1;
        }
    }

    /// A set may go on: its command waits in a queue, or for another set, or there is none left.
    pub(super) fn activate(&mut self, set: u32) {
        if self.graph.node(set).is_blocked() {
            self.enter(set, Mode::Waiting);
        } else if self.is_over(set) {
            self.complete_set(set);
        } else {
            self.enqueue(set);
        }
    }

    /// Whether a set has no command left; a barrier has none once it is not blocked.
    fn is_over(&mut self, set: u32) -> bool {
        let node = self.graph.node(set);
        if node.stage < node.stages && self.stage(set) == Stage::Barrier {
            self.close_and_rest(set);
            self.graph.complete_stage(set, |_| {});
            return true;
        }
        node.stage == node.stages
    }
}

/// Whether a request must not overtake earlier changes.
fn is_barrier(request: &Request) -> bool {
    request.op == RequestOp::Flush || request.flags.has(Flags::PREFLUSH)
}

/// The host policy's view of the device.
struct View<'a>(&'a Device);

impl HostView for View<'_> {
    fn waiting(&self) -> usize {
        self.0.waiting_requests.len()
    }

    fn request(&self, place: usize) -> Request {
        self.0.pending[self.0.waiting_requests[place] as usize].request
    }

    fn dies_idle(&self, place: usize) -> bool {
        let pending = &self.0.pending[self.0.waiting_requests[place] as usize];
        let dies = self.0.settings.geometry.dies();
        (0..pending.pages.min(dies)).all(|page| {
            let lpn = Lpn::new(pending.first.get() + page);
            self.0.dies[self.0.settings.geometry.die_of_lpn(lpn).index()].running == NIL
        })
    }
}
