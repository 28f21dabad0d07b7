//! How sets come into being: a method for each kind of work, so that each has what its kind needs.

use super::work::{Access, Flush, MapWork, Origin, OwnWork, Work};
use super::{Mode, Set, Sets, Stage, Track};
use crate::handle::{RequestId, SetId};
use flashyard_core::graph::{Edge, Node};
use flashyard_core::units::{DieId, Lpn, PlaneId, Time};

impl Sets {
    /// Makes memory for one more, if there is none. Returns whether that was so.
    #[inline]
    pub(crate) fn make_room(&mut self) -> bool {
        let grows = !self.graph.has_node();
        if grows {
            self.grow();
        }
        grows
    }

    /// Adds a set of the translation layer with these commands.
    #[inline]
    pub(crate) fn add_own(
        &mut self,
        now: Time,
        work: OwnWork,
        stages: &[(Stage, PlaneId)],
    ) -> SetId {
        self.make_room();
        let number = self.take_number();
        let set = self.insert(now, number, None, stages);
        self.state_mut(set).work = Work::Own(work);
        set
    }

    /// Adds a set that reads a unit ahead, on this plane.
    pub(crate) fn add_ahead(&mut self, now: Time, lpn: Lpn, plane: PlaneId) -> SetId {
        let set = self.add_own(now, OwnWork::Ahead, &[(Stage::AheadRead, plane)]);
        self.state_mut(set).lpn = lpn;
        self.list_by_lpn(set);
        set
    }

    /// Adds a page access of a request with these commands. There must be memory for it.
    #[inline]
    pub(crate) fn add_access(
        &mut self,
        now: Time,
        access: &Access,
        stages: &[(Stage, PlaneId)],
    ) -> SetId {
        let number = self.take_number();
        let set = self.insert(now, number, Some(access.origin), stages);
        let state = self.state_mut(set);
        (state.work, state.lpn) = (Work::of_access(access.does, access.map), access.lpn);
        set
    }

    /// Adds a set that reads and writes nothing: its request waits for others or, without a
    /// command, is over at once. There must be memory for it.
    pub(crate) fn add_barrier(
        &mut self,
        now: Time,
        origin: Origin,
        stages: &[(Stage, PlaneId)],
    ) -> SetId {
        let number = self.take_number();
        let set = self.insert(now, number, Some(origin), stages);
        self.state_mut(set).work = Work::Barrier;
        set
    }

    /// Adds a flush with these commands; in the order of creation it has the `number` of the write
    /// that it carries. There must be memory for it.
    pub(crate) fn add_flush(
        &mut self,
        now: Time,
        number: u64,
        flush: &Flush,
        stages: &[(Stage, PlaneId)],
    ) -> SetId {
        let set = self.insert(now, number, None, stages);
        let state = self.state_mut(set);
        (state.work, state.charge, state.lpn) = (Work::of_flush(flush), flush.charge, flush.lpn);
        set
    }

    /// Adds a set of a request, or of none, with these commands and this place in the order of
    /// creation; its account begins at `now`. The caller says what it is for.
    #[inline]
    fn insert(
        &mut self,
        now: Time,
        number: u64,
        origin: Option<Origin>,
        stages: &[(Stage, PlaneId)],
    ) -> SetId {
        let owner = origin.map(|origin| origin.request);
        let spans = stages.iter().map(|(stage, _)| self.nominal[*stage as usize]);
        let set = SetId::new(self.graph.insert(number, RequestId::raw(owner), spans));
        let slot = &mut self.list[set.index()];
        *slot = Set { origin, charge: owner, ..Set::VACANT };
        slot.stages[..stages.len()].copy_from_slice(stages);
        (slot.current, slot.plane) = slot.stages[0];
        self.tracks[set.index()].begin(now);
        set
    }

    /// Adds a page access of a request that reads its unit with one command. It has a slot and
    /// waits in the queue of its die. None where a change of its unit is live or no slot is free.
    /// There must be memory for it.
    #[inline]
    pub(crate) fn add_read(
        &mut self,
        now: Time,
        origin: Origin,
        lpn: Lpn,
        (plane, die): (PlaneId, DieId),
    ) -> Option<SetId> {
        if !self.has_slot(die) || (self.has_changes() && self.latest_of(lpn).is_some()) {
            return None;
        }
        let number = self.take_number();
        let spans = [self.nominal[Stage::Read as usize]];
        let set =
            SetId::new(self.graph.insert(number, RequestId::raw(Some(origin.request)), spans));
        let slot = &mut self.list[set.index()];
        *slot = Set {
            origin: Some(origin),
            work: Work::Read { map: MapWork::NONE },
            charge: Some(origin.request),
            lpn,
            current: Stage::Read,
            plane,
            mode: Mode::Queued,
            slot: Some(die),
            ppn: None,
            enqueued: now,
            rekeys: 0,
            // Those behind the first one are not read.
            stages: slot.stages,
            // It is in no list, and its neighbours there are not read.
            links: slot.links,
            // Known when it has its place in a queue, or when it is on its die.
            ..*slot
        };
        slot.stages[0] = (Stage::Read, plane);
        self.slots.occupy(die);
        self.tracks[set.index()].begin(now);
        self.list_read_by_lpn(set);
        Some(set)
    }

    /// Doubles the memory. Happens until the deepest queue of a run has been seen.
    fn grow(&mut self) {
        let count = (2 * self.list.len()).max(64);
        self.list.resize(count, Set::VACANT);
        self.tracks.resize(count, Track::NEW);
        let (nodes, edges) = self.graph.storage_mut();
        nodes.resize(count, Node::VACANT);
        edges.resize(edges.len().max(2 * count), Edge::VACANT);
        self.ready.reserve(count);
        self.rows.reserve(count);
        self.slots.reserve(count);
        self.grow_index(count);
    }
}
