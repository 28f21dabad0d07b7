//! Command sets under way: every unit of work is a set, every wait an edge between two of them.
//!
//! The slab of sets and the graph share their handles. Beside them stand the order of changes, an
//! index by logical page, the slots, and the list of sets that are ready to go on.

mod add;
mod changes;
pub(crate) mod charge;
mod operation;
mod rows;
pub(crate) mod set;
mod slots;
pub(crate) mod stage;
mod steps;
pub(crate) mod track;
mod work;

use crate::config::QueueKeys;
use crate::handle::{RequestId, SetId};
use flashyard_core::command::Rank;
use flashyard_core::geometry::Geometry;
use flashyard_core::graph::{self, Edge, EdgeKind, Graph, Node, Reach};
use flashyard_core::units::{DieId, PlaneId, Span};
pub(crate) use operation::{Collects, Operation, Place, Segment};
use rows::Rows;
pub(crate) use set::{Mode, Set};
use slots::Slots;
pub(crate) use stage::{STAGE_KINDS, Stage};
use std::ops::Index;
pub(crate) use track::Track;
use work::Work;
pub(crate) use work::{Access, Does, Flush, MapWork, Origin, OwnWork};

/// A stage that a set waits for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wait {
    /// The set waited for.
    pub(crate) source: SetId,
    /// Its stage that must complete.
    pub(crate) stage: u8,
    /// Why.
    pub(crate) kind: EdgeKind,
}

impl From<graph::Wait> for Wait {
    fn from(wait: graph::Wait) -> Self {
        Self { source: SetId::new(wait.source), stage: wait.stage, kind: wait.kind }
    }
}

/// All sets under way.
#[derive(Clone, Debug)]
pub(crate) struct Sets {
    list: Vec<Set>,
    tracks: Vec<Track>,
    graph: Graph<Vec<Node>, Vec<Edge>>,
    /// Of each bucket of the index by LPN, the first live read, and the first of the LPNs with a
    /// live change: its latest one.
    read_index: Vec<Option<SetId>>,
    change_index: Vec<Option<SetId>>,
    /// Mapping units of a page, and the power of two that they are; 0 where they are none.
    units_per_page: u32,
    page_shift: u32,
    /// Whether anybody looks for reads by LPN.
    reads_are_sought: bool,
    /// The first and last of the live sets that change contents and of the unfinished flushes, in
    /// the order of translation.
    oldest_change: Option<SetId>,
    latest_change: Option<SetId>,
    /// The number of the next set in the order of creation.
    next_number: u64,
    slots: Slots,
    /// Sets that may have lost their last wait, until they are woken; the next one to wake comes
    /// last.
    ready: Vec<SetId>,
    rows: Rows,
    /// The nominal duration of each kind of command.
    nominal: [Span; STAGE_KINDS],
}

impl Index<SetId> for Sets {
    type Output = Set;

    #[inline]
    fn index(&self, set: SetId) -> &Set {
        &self.list[set.index()]
    }
}

impl Sets {
    /// What is known of a set, to be changed: by methods of this room alone.
    #[inline]
    fn state_mut(&mut self, set: SetId) -> &mut Set {
        &mut self.list[set.index()]
    }
}

impl Sets {
    /// None, on a device with this queue, where commands take so long without waiting;
    /// `reads_are_sought` is whether anybody looks for reads by LPN.
    pub(crate) fn new(
        geometry: &Geometry,
        queue: &QueueKeys,
        nominal: [Span; STAGE_KINDS],
        reads_are_sought: bool,
    ) -> Self {
        let units = geometry.units_per_page;
        Self {
            list: Vec::new(),
            tracks: Vec::new(),
            graph: Graph::new(Vec::new(), Vec::new()),
            read_index: vec![None; 1],
            change_index: vec![None; 1],
            units_per_page: units,
            page_shift: if units.is_power_of_two() { units.ilog2() } else { 0 },
            reads_are_sought,
            oldest_change: None,
            latest_change: None,
            next_number: 0,
            slots: Slots::new(geometry, queue),
            ready: Vec::new(),
            rows: Rows::default(),
            nominal,
        }
    }

    /// The nominal duration of a command: array and channel, without waiting. Nothing for the
    /// buffer, the link and a barrier.
    #[inline]
    pub(crate) const fn nominal(&self, stage: Stage) -> Span {
        self.nominal[stage as usize]
    }

    /// How many sets there is memory for.
    pub(crate) const fn capacity(&self) -> usize {
        self.list.len()
    }

    /// The number of the next set in the order of creation.
    pub(crate) const fn next_number(&self) -> u64 {
        self.next_number
    }

    /// Sets the number of the next set, on a device that was saved.
    pub(crate) const fn restore_number(&mut self, next: u64) {
        self.next_number = next;
    }

    /// The number of the next set in the order of creation, which is then used up.
    pub(crate) const fn take_number(&mut self) -> u64 {
        self.next_number += 1;
        self.next_number - 1
    }

    /// The latency account of a set.
    #[inline]
    pub(crate) fn track(&self, set: SetId) -> &Track {
        &self.tracks[set.index()]
    }

    /// The same, to be changed.
    #[inline]
    pub(crate) fn track_mut(&mut self, set: SetId) -> &mut Track {
        &mut self.tracks[set.index()]
    }

    /// Marks the current command of a set as completed; calls `passed` with each set that has lost
    /// a wait.
    #[inline]
    pub(crate) fn complete_stage(&mut self, set: SetId, mut passed: impl FnMut(SetId)) {
        self.graph.complete_stage(set.get(), |other| passed(SetId::new(other)));
        let node = self.graph.node(set.get());
        if node.stage < node.stages {
            let state = &mut self.list[set.index()];
            (state.current, state.plane) = state.stages[node.stage as usize];
        }
    }

    /// The same where those sets come to the list of ready ones.
    pub(crate) fn complete_and_list(&mut self, set: SetId) {
        let mut ready = std::mem::take(&mut self.ready);
        self.complete_stage(set, |waiter| ready.push(waiter));
        self.ready = ready;
    }

    /// The command of a page access that reads is over: if no set waits for it, the set is
    /// forgotten. Returns its request then. Its account stays until the next set takes its place.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "a step of each read; a call costs as much")]
    pub(crate) fn end_read(&mut self, set: SetId) -> Option<RequestId> {
        if !self.graph.finish(set.get()) {
            return None;
        }
        self.drop_slot(set);
        self.unlist_by_lpn(set);
        self.state_mut(set).origin.take().map(|origin| origin.request)
    }

    /// Forgets a set whose commands are all over.
    #[inline]
    pub(crate) fn remove(&mut self, set: SetId) {
        let Track { row, behind, .. } = self.track(set);
        debug_assert!(row.is_none() && behind.is_none(), "{set:?} is of a row");
        self.graph.remove(set.get());
        let state = self.state_mut(set);
        (state.origin, state.work) = (None, Work::Own(OwnWork::Gate));
    }

    /// A page access of a request is over, and its set is forgotten.
    pub(crate) fn end_access(&mut self, set: SetId) {
        if self[set].changes() {
            self.unlist_change(set);
        }
        self.drop_slot(set);
        self.unlist_by_lpn(set);
        self.remove(set);
    }

    /// The set is forgotten that a request without a page access has waited with; `is_listed` is
    /// whether it stands among the changes.
    pub(crate) fn end_barrier(&mut self, set: SetId, is_listed: bool) {
        if is_listed {
            self.unlist_change(set);
        }
        self.remove(set);
    }

    /// Whether the map forgets the unit of a set when it is over: that of a trim which erases no
    /// block.
    #[inline]
    pub(crate) fn forgets(&self, set: SetId) -> bool {
        self[set].trims() && !self.erases(set)
    }

    #[inline(never)]
    fn erases(&self, set: SetId) -> bool {
        self.commands(set).iter().any(|(stage, _)| *stage == Stage::HostErase)
    }

    /// The sets that may have lost their last wait.
    pub(crate) fn ready(&self) -> &[SetId] {
        &self.ready
    }

    /// Takes the next one of them.
    #[inline]
    pub(crate) fn next_ready(&mut self) -> Option<SetId> {
        self.ready.pop()
    }

    /// The current command of a set runs on another plane.
    pub(crate) fn move_to(&mut self, set: SetId, plane: PlaneId) {
        let stage = self.graph.node(set.get()).stage;
        let state = &mut self.list[set.index()];
        state.stages[stage as usize].1 = plane;
        state.plane = plane;
    }

    /// A command of a set that waits for no die runs on another plane.
    pub(crate) fn place_stage(&mut self, set: SetId, stage: u8, plane: PlaneId) {
        if self.commands_over(set) == stage {
            return self.move_to(set, plane);
        }
        self.list[set.index()].stages[stage as usize].1 = plane;
    }

    /// The place of the request of a set in the order of arrival.
    #[inline]
    pub(crate) fn order_of(&self, set: SetId) -> Option<u64> {
        self[set].origin.map(|origin| origin.order)
    }

    /// The current command of a set.
    #[inline]
    pub(crate) fn stage(&self, set: SetId) -> Stage {
        self[set].current
    }

    /// The plane of the current command of a set.
    #[inline]
    pub(crate) fn plane(&self, set: SetId) -> PlaneId {
        self[set].plane
    }

    /// The die of the current command of a set.
    #[inline]
    pub(crate) fn die(&self, set: SetId) -> DieId {
        self.geometry().die_of_plane(self[set].plane)
    }

    /// The geometry of the device.
    #[inline]
    pub(crate) const fn geometry(&self) -> &Geometry {
        self.slots.geometry()
    }

    /// The commands of a set and the planes that they run on.
    #[inline]
    pub(crate) fn commands(&self, set: SetId) -> &[(Stage, PlaneId)] {
        &self[set].stages[..self.graph.node(set.get()).stages as usize]
    }

    /// How many commands of a set are over: the place of its current one.
    #[inline]
    pub(crate) fn commands_over(&self, set: SetId) -> u8 {
        self.graph.node(set.get()).stage
    }

    /// Whether all commands of a set are over.
    #[inline]
    pub(crate) fn is_over(&self, set: SetId) -> bool {
        let node = self.graph.node(set.get());
        node.stage == node.stages
    }

    /// The place of the last command of a set; 0 where it has none.
    #[inline]
    pub(crate) fn last_stage(&self, set: SetId) -> u8 {
        self.graph.node(set.get()).stages.saturating_sub(1)
    }

    /// The place of a stage among the commands of a set.
    pub(crate) fn stage_index(&self, set: SetId, wanted: Stage) -> u8 {
        let place = self.commands(set).iter().position(|(stage, _)| *stage == wanted);
        place.expect("the set has this command").to_le_bytes()[0]
    }

    /// The place of a set in the order of creation or, of a flush, of the write that it carries.
    #[inline]
    pub(crate) fn number(&self, set: SetId) -> u64 {
        self.graph.node(set.get()).number
    }

    /// How many sets are under way.
    pub(crate) const fn live(&self) -> u32 {
        self.graph.live()
    }

    /// The nominal duration of all commands of a set.
    pub(crate) fn span(&self, set: SetId) -> Span {
        self.graph.node(set.get()).spans().iter().fold(Span::ZERO, |sum, &span| sum + span)
    }

    /// Changes the nominal duration of a set of one command.
    pub(crate) fn set_span(&mut self, set: SetId, span: Span) {
        self.graph.set_span(set.get(), 0, span);
    }
}

/// What sets wait for.
impl Sets {
    /// Lets `target` start `stage` only after `wait` is over.
    pub(crate) fn connect(&mut self, wait: Wait, target: SetId, stage: u8) {
        if !self.graph.has_edge() {
            let edges = self.graph.storage_mut().1;
            let count = (2 * edges.len()).max(64);
            edges.resize(count, Edge::VACANT);
        }
        let Wait { source, stage: source_stage, kind } = wait;
        let wait = graph::Wait { source: source.get(), stage: source_stage, kind };
        self.graph.connect(wait, target.get(), stage);
    }

    /// Whether the current command of a set waits for another set.
    #[inline]
    pub(crate) fn is_blocked(&self, set: SetId) -> bool {
        self.graph.node(set.get()).is_blocked()
    }

    /// What the current command of a set has waited for longest.
    #[inline]
    pub(crate) fn first_wait(&self, set: SetId) -> Option<Wait> {
        self.graph.first_wait(set.get()).map(Wait::from)
    }

    /// Calls `visit` with everything that a command of a set waits for.
    pub(crate) fn waits_of(&self, set: SetId, stage: u8, mut visit: impl FnMut(Wait)) {
        self.graph.waits_of(set.get(), stage, |wait| visit(Wait::from(wait)));
    }

    /// Until the next call of this, [`Self::delays`] counts no command of another set twice.
    pub(crate) const fn new_count(&mut self) {
        self.graph.new_count();
    }

    /// Calls `add` with the planes and nominal durations of the commands of a set, and of the
    /// unfinished ones of others than `owner` that it waits for.
    pub(crate) fn delays(
        &mut self,
        set: SetId,
        owner: Option<RequestId>,
        reach: Reach,
        mut add: impl FnMut(PlaneId, Span),
    ) {
        for (&(_, plane), &span) in
            self.commands(set).iter().zip(self.graph.node(set.get()).spans())
        {
            add(plane, span);
        }
        let owner = RequestId::raw(owner);
        self.graph.prerequisites(set.get(), reach, |other, node, stage| {
            if node.owner != owner {
                let stage = usize::from(stage);
                add(self.list[other as usize].stages[stage].1, node.spans()[stage]);
            }
        });
    }

    /// The best rank of the requests that wait for the current command of a set or a later one.
    #[inline]
    pub(crate) fn inherited_rank(&self, set: SetId) -> Rank {
        let node = self.graph.node(set.get());
        node.inherited_at(node.stage)
    }

    /// Hands a rank on to what a set waits for; calls `changed` with each set of another request
    /// that is better off than before.
    pub(crate) fn hand_on(
        &mut self,
        set: SetId,
        rank: Rank,
        reach: Reach,
        mut changed: impl FnMut(SetId),
    ) {
        let owner = RequestId::raw(self[set].request());
        self.graph.inherit(set.get(), owner, rank, reach, |other| changed(SetId::new(other)));
    }
}
