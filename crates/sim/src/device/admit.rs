//! Admission: from the host queue to command sets with slots.
//!
//! Source of the order: Lee et al., IEEE Access 2021, with the free choices as keys of `[queue]`.
//! A request is translated as a whole, so that its flash operation time (FOT) is known; its sets
//! take slots in page order; no later request is translated before all of them have one.

use super::Device;
use super::explain::Track;
use super::state::{Mode, Set, Stage};
use crate::config::{Admission, DataOrder, MapHazards, SlotsScope, UnmappedRead};
use crate::ftl::line_cache::{Lookup, Victim};
use crate::metrics::parts::{Part, Parts};
use flashyard_core::graph::{EdgeKind, NIL, STAGES, Wait};
use flashyard_core::host::{HostAnswer, HostView};
use flashyard_core::policy::{CommandPolicy, FotSpan, SharedDelays};
use flashyard_core::request::{Flags, Request, RequestOp};
use flashyard_core::units::{DieId, Lpn, MapPage, Span};

/// The place of the map program among the commands of a set that writes a map page.
pub(super) const MAP_WRITE: u8 = 1;

/// The commands of a set that is being put together, and what its stages wait for.
struct Plan {
    stages: [(Stage, DieId); STAGES],
    count: u8,
    waits: [(u8, u32, u8, EdgeKind); 4],
    wait_count: usize,
    map_page: MapPage,
    line: u32,
}

impl Plan {
    const fn new() -> Self {
        Self {
            stages: [(Stage::Barrier, DieId::new(0)); STAGES],
            count: 0,
            waits: [(0, NIL, 0, EdgeKind::Order); 4],
            wait_count: 0,
            map_page: MapPage::new(0),
            line: NIL,
        }
    }

    fn push(&mut self, stage: Stage, die: DieId) {
        self.stages[self.count as usize] = (stage, die);
        self.count += 1;
    }

    /// The stage that is pushed next starts after `source_stage` of `source`; of two such rules for
    /// one source the later stage counts.
    fn wait(&mut self, source: u32, source_stage: u8, kind: EdgeKind) {
        let count = self.count;
        let known =
            self.waits[..self.wait_count].iter_mut().find(|w| w.0 == count && w.1 == source);
        match known {
            Some(wait) if wait.2 >= source_stage => {}
            Some(wait) => (wait.2, wait.3) = (source_stage, kind),
            None => {
                self.waits[self.wait_count] = (count, source, source_stage, kind);
                self.wait_count += 1;
            }
        }
    }
}

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
    fn parts_until_now(&self, handle: u32) -> Parts {
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

    /// Makes the set of one page access; `None` where the map cache stalls.
    fn translate_page(&mut self, handle: u32, lpn: Lpn) -> Option<u32> {
        let op = self.pending[handle as usize].request.op;
        let changes = op != RequestOp::Read;
        let mut plan = Plan::new();
        let lookup = self.cache.as_ref().map(|cache| cache.lookup(lpn));
        match lookup {
            None => {}
            Some(Lookup::Stall) => {
                self.totals.map.stalls += 1;
                let now = self.now;
                self.pending[handle as usize].stalled_since.get_or_insert(now);
                return None;
            }
            Some(Lookup::Hit { line, fetch }) => {
                self.totals.map.hits += 1;
                plan.line = line;
                if fetch != NIL {
                    let stage = self.stage_index(fetch, Stage::Fetch);
                    plan.wait(fetch, stage, EdgeKind::MapFetch);
                }
            }
            Some(Lookup::Miss { victim }) => self.plan_miss(&mut plan, victim, lpn),
        }
        self.totals.map.lookups += u64::from(lookup.is_some());
        self.end_stall(handle);
        self.plan_data(&mut plan, op, lpn);
        let parts = self.parts_until_now(handle);
        let request = &mut self.pending[handle as usize];
        let page = request.translated;
        request.translated += 1;
        request.unfinished += 1;
        let state = Set {
            request: handle,
            charge: handle,
            page,
            lpn,
            map_page: plan.map_page,
            line: plan.line,
            changes,
            track: Track::starting(self.now, parts),
            ..Set::VACANT
        };
        let set = self.new_set(state, &plan.stages[..plan.count as usize]);
        self.enlist(set, &plan, lookup);
        Some(set)
    }

    /// Map commands of a miss: write the victim's map page back if it is dirty, fetch the line.
    fn plan_miss(&mut self, plan: &mut Plan, victim: u32, lpn: Lpn) {
        let cache = self.cache.as_ref().expect("only a cache misses");
        let (page, fate) = (cache.map_page(lpn), cache.victim(victim));
        let writer_of_line = cache.writer_of_line(lpn);
        let order = self.settings.keys.map.hazards == MapHazards::Order;
        self.totals.map.misses += 1;
        plan.line = victim;
        match fate {
            Victim::Clean => {}
            Victim::BeingCleaned(writer) => {
                plan.wait(writer, MAP_WRITE, EdgeKind::MapWriteback);
            }
            Victim::Dirty(dirty) => {
                self.totals.map.dirty_evictions += 1;
                plan.map_page = dirty;
                let writer = cache.writer_of_page(dirty);
                let die = self.die_of_map(dirty);
                self.plan_hazard(plan, writer, order);
                plan.push(Stage::EvictRead, die);
                plan.push(Stage::Writeback, die);
            }
        }
        self.plan_hazard(plan, writer_of_line, order);
        plan.push(Stage::Fetch, self.die_of_map(page));
    }

    /// A map operation that an unfinished write makes stale waits for it, or is counted.
    fn plan_hazard(&mut self, plan: &mut Plan, writer: Option<u32>, order: bool) {
        let Some(writer) = writer else { return };
        if order {
            plan.wait(writer, MAP_WRITE, EdgeKind::MapWriteback);
        } else {
            self.totals.map.hazards_ignored += 1;
        }
    }

    fn plan_data(&mut self, plan: &mut Plan, op: RequestOp, lpn: Lpn) {
        let stage = match op {
            RequestOp::Read => Stage::Read,
            RequestOp::Write => Stage::Program,
            RequestOp::Trim | RequestOp::Flush => return,
        };
        let earlier = self.live_change_of(lpn, u64::MAX);
        if stage == Stage::Read && self.map.lookup(lpn).is_none() && earlier.is_none() {
            self.totals.unmapped_reads += 1;
            if self.settings.keys.nand.unmapped_read == UnmappedRead::Zero {
                return;
            }
        }
        if self.settings.keys.queue.data_order == DataOrder::Lpn
            && let Some(earlier) = earlier
        {
            plan.wait(earlier, self.graph.node(earlier).stages - 1, EdgeKind::Order);
        }
        plan.push(stage, self.settings.geometry.die_of_lpn(lpn));
    }

    /// Enters a new set into the map cache, the index by LPN and the graph.
    fn enlist(&mut self, set: u32, plan: &Plan, lookup: Option<Lookup>) {
        let Set { lpn, changes, .. } = self.sets[set as usize];
        if let Some(cache) = &mut self.cache {
            match lookup {
                Some(Lookup::Hit { line, .. }) => cache.hit(line, changes),
                Some(Lookup::Miss { victim }) => {
                    let batch = self.settings.keys.map.batch_update;
                    cache.replace(victim, lpn, set, changes, batch);
                }
                Some(Lookup::Stall) | None => unreachable!("nothing was translated"),
            }
        }
        for &(stage, source, source_stage, kind) in &plan.waits[..plan.wait_count] {
            if stage < plan.count {
                self.connect(Wait { source, stage: source_stage, kind }, set, stage);
            }
        }
        let bucket = Self::bucket_of(lpn);
        self.sets[set as usize].next_of_lpn = std::mem::replace(&mut self.lpn_index[bucket], set);
        self.live_changes += u32::from(changes);
    }

    /// The latest live set below `number` that changes `lpn`, by order of translation.
    pub(super) fn live_change_of(&self, lpn: Lpn, number: u64) -> Option<u32> {
        let mut best: Option<(u64, u32)> = None;
        let mut at = self.lpn_index[Self::bucket_of(lpn)];
        while at != NIL {
            let state = &self.sets[at as usize];
            let order = self.graph.node(at).number;
            if state.lpn == lpn && state.changes && order < number {
                best = best.max(Some((order, at)));
            }
            at = state.next_of_lpn;
        }
        best.map(|(_, set)| set)
    }

    fn end_stall(&mut self, handle: u32) {
        let now = self.now;
        let request = &mut self.pending[handle as usize];
        if let Some(since) = request.stalled_since.take() {
            request.stalled_ns += now.since(since).as_ns();
        }
    }

    /// The place of a stage among the commands of a set.
    fn stage_index(&self, set: u32, wanted: Stage) -> u8 {
        let stages = &self.sets[set as usize].stages[..self.graph.node(set).stages as usize];
        let place = stages.iter().position(|(stage, _)| *stage == wanted);
        place.expect("the set has this command").to_le_bytes()[0]
    }

    /// FOT: own commands and the unfinished commands of others that the new sets wait for.
    fn count_fot(&mut self, handle: u32, first_new: usize) {
        let keys = self.settings.keys.fot;
        let mut sum = Span::ZERO;
        for place in first_new..self.unslotted.len() {
            let set = self.unslotted[place];
            if keys.shared_delays == SharedDelays::PerSet {
                self.graph.new_count();
            }
            let (sets, by_die) = (&self.sets, &mut self.fot_by_die);
            let mut add = |set: u32, stage: u8, span: Span| {
                sum += span;
                by_die[sets[set as usize].stages[stage as usize].1.index()] += span;
            };
            let node = *self.graph.node(set);
            for stage in 0..node.stages {
                add(set, stage, node.spans[stage as usize]);
            }
            self.graph.prerequisites(set, keys.reach(), |other, node, stage| {
                if node.owner != handle {
                    add(other, stage, node.spans[stage as usize]);
                }
            });
        }
        let request = &mut self.pending[handle as usize];
        match keys.span {
            FotSpan::Sum => request.fot += sum,
            FotSpan::LongestDie => {
                request.fot = self.fot_by_die.iter().copied().max().unwrap_or_default();
            }
        }
    }

    /// Hands the rank of a request on to what its new sets wait for, and moves waiting commands
    /// whose placement has changed, in the order of their sets.
    fn hand_on_ranks(&mut self, handle: u32, first_new: usize, split: bool) {
        let mut changed = std::mem::take(&mut self.changed);
        if self.policy.inherits() {
            let rank = self.pending[handle as usize].view().rank();
            let reach = self.settings.keys.fot.reach();
            for place in first_new..self.unslotted.len() {
                let set = self.unslotted[place];
                self.graph.inherit(set, handle, rank, reach, |other| changed.push(other));
            }
        }
        if self.policy.rekeys() {
            if split {
                let own = (0..self.sets.len()).filter(|&set| self.sets[set].request == handle);
                changed.extend(own.map(|set| u32::try_from(set).expect("handles have 32 bits")));
            }
            changed.sort_unstable_by_key(|&set| self.graph.node(set).number);
            changed.dedup();
            for &set in &changed {
                self.replace_in_queue(set);
            }
        }
        changed.clear();
        self.changed = changed;
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
