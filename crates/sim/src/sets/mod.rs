//! Command sets under way: every unit of work is a set, every wait an edge between two of them.
//!
//! The slab of sets and the graph share their handles. Beside them stand the order of changes, an
//! index by logical page, the slots, and the list of sets that are ready to go on.

mod changes;
mod operation;
pub(crate) mod set;
pub(crate) mod stage;
pub(crate) mod track;

use flashyard_core::geometry::Geometry;
use flashyard_core::graph::{Edge, Graph, NIL, Node, Wait};
use flashyard_core::units::{DieId, PlaneId, Span};
pub(crate) use operation::{Operation, Place};
pub(crate) use set::{Mode, Set};
pub(crate) use stage::{STAGE_KINDS, Stage};
use std::collections::VecDeque;
use std::ops::{Index, IndexMut};
pub(crate) use track::Track;

/// Sets that may have lost their last wait, until they are woken.
#[derive(Debug, Default)]
pub(crate) struct Ready {
    /// The next one to wake comes last.
    pub(crate) sets: Vec<u32>,
    /// Whether an access has ended since it was drained; otherwise whoever added sets wakes them.
    pub(crate) due: bool,
}

/// All sets under way.
#[derive(Debug)]
pub(crate) struct Sets {
    list: Vec<Set>,
    pub(crate) graph: Graph<Vec<Node>, Vec<Edge>>,
    /// Of each bucket of the index by LPN, the first live read, and the first of the LPNs with a
    /// live change: its latest one.
    read_index: Vec<u32>,
    /// Whether anybody looks for reads by LPN.
    reads_are_sought: bool,
    change_index: Vec<u32>,
    /// The first and last of the live sets that change contents and of the unfinished flushes, in
    /// the order of translation.
    pub(crate) oldest_change: u32,
    pub(crate) latest_change: u32,
    /// The number of the next set in the order of creation.
    pub(crate) next_number: u64,
    /// Sets without a slot, in the order in which they get one.
    pub(crate) unslotted: VecDeque<u32>,
    /// Slots that are taken, of the device and by die.
    pub(crate) slots: u64,
    pub(crate) slots_of_die: Vec<u64>,
    pub(crate) ready: Ready,
    /// Scratch lists; empty between uses.
    pub(crate) woken: Vec<u32>,
    pub(crate) changed: Vec<u32>,
    pub(crate) added: Vec<u32>,
    pub(crate) chain: Vec<u32>,
    pub(crate) done: Vec<u32>,
}

impl Index<u32> for Sets {
    type Output = Set;

    #[inline]
    fn index(&self, set: u32) -> &Set {
        &self.list[set as usize]
    }
}

impl IndexMut<u32> for Sets {
    #[inline]
    fn index_mut(&mut self, set: u32) -> &mut Set {
        &mut self.list[set as usize]
    }
}

impl Sets {
    /// None, on a device of so many dies; `reads_are_sought` is whether anybody looks for reads by
    /// LPN.
    pub(crate) fn new(dies: usize, reads_are_sought: bool) -> Self {
        Self {
            list: Vec::new(),
            graph: Graph::new(Vec::new(), Vec::new()),
            read_index: vec![NIL; 1],
            reads_are_sought,
            change_index: vec![NIL; 1],
            oldest_change: NIL,
            latest_change: NIL,
            next_number: 0,
            unslotted: VecDeque::new(),
            slots: 0,
            slots_of_die: vec![0; dies],
            ready: Ready::default(),
            woken: Vec::new(),
            changed: Vec::new(),
            added: Vec::new(),
            chain: Vec::new(),
            done: Vec::new(),
        }
    }

    /// The sets by handle, and their graph.
    pub(crate) fn list_and_graph(&mut self) -> (&[Set], &mut Graph<Vec<Node>, Vec<Edge>>) {
        (&self.list, &mut self.graph)
    }

    /// How many sets there is memory for.
    pub(crate) const fn capacity(&self) -> usize {
        self.list.len()
    }

    /// Whether there is memory for one more.
    pub(crate) fn has_room(&self) -> bool {
        self.graph.has_node()
    }

    /// The number of the next set in the order of creation, which is then used up.
    pub(crate) const fn take_number(&mut self) -> u64 {
        self.next_number += 1;
        self.next_number - 1
    }

    /// Adds a set of a request, or of none, with these commands, their nominal durations and this
    /// place in the order of creation. There must be memory for it.
    #[inline]
    pub(crate) fn insert(
        &mut self,
        number: u64,
        owner: u32,
        state: &Set,
        stages: &[(Stage, PlaneId)],
        span_of: impl Fn(Stage) -> Span,
    ) -> u32 {
        let spans = stages.iter().map(|(stage, _)| span_of(*stage));
        let set = self.graph.insert(number, owner, spans);
        let slot = &mut self.list[set as usize];
        *slot = *state;
        slot.stages[..stages.len()].copy_from_slice(stages);
        (slot.current, slot.plane) = slot.stages[0];
        set
    }

    /// Marks the current command of a set as completed; calls `passed` with each set that has lost
    /// a wait.
    #[inline]
    pub(crate) fn complete_stage(&mut self, set: u32, passed: impl FnMut(u32)) {
        self.graph.complete_stage(set, passed);
        let node = self.graph.node(set);
        if node.stage < node.stages {
            let state = &mut self.list[set as usize];
            (state.current, state.plane) = state.stages[node.stage as usize];
        }
    }

    /// The same where those sets come to the list of ready ones.
    pub(crate) fn complete_and_list(&mut self, set: u32) {
        let mut ready = std::mem::take(&mut self.ready.sets);
        self.complete_stage(set, |waiter| ready.push(waiter));
        self.ready.sets = ready;
    }

    /// The current command of a set runs on another plane.
    pub(crate) fn move_to(&mut self, set: u32, plane: PlaneId) {
        let stage = self.graph.node(set).stage;
        let state = &mut self.list[set as usize];
        state.stages[stage as usize].1 = plane;
        state.plane = plane;
    }

    /// The current command of a set.
    #[inline]
    pub(crate) fn stage(&self, set: u32) -> Stage {
        self[set].current
    }

    /// The plane of the current command of a set.
    #[inline]
    pub(crate) fn plane(&self, set: u32) -> PlaneId {
        self[set].plane
    }

    /// The place of a stage among the commands of a set.
    pub(crate) fn stage_index(&self, set: u32, wanted: Stage) -> u8 {
        let stages = &self[set].stages[..self.graph.node(set).stages as usize];
        let place = stages.iter().position(|(stage, _)| *stage == wanted);
        place.expect("the set has this command").to_le_bytes()[0]
    }

    /// Doubles the memory. Happens until the deepest queue of a run has been seen.
    pub(crate) fn grow(&mut self) {
        let count = (2 * self.list.len()).max(64);
        self.list.resize(count, Set::VACANT);
        let (nodes, edges) = self.graph.storage_mut();
        nodes.resize(count, Node::VACANT);
        edges.resize(edges.len().max(2 * count), Edge::VACANT);
        for list in [
            &mut self.chain,
            &mut self.ready.sets,
            &mut self.woken,
            &mut self.changed,
            &mut self.done,
        ] {
            list.reserve(count);
        }
        self.unslotted.reserve(count);
        self.added.reserve(count);
        self.grow_index(count);
    }

    /// Lets `target` start `stage` only after `wait` is over.
    pub(crate) fn connect(&mut self, wait: Wait, target: u32, stage: u8) {
        if !self.graph.has_edge() {
            let edges = self.graph.storage_mut().1;
            let count = (2 * edges.len()).max(64);
            edges.resize(count, Edge::VACANT);
        }
        self.graph.connect(wait, target, stage);
    }
}

/// Slots of the device's queue.
impl Sets {
    /// The die that a set's slot counts for: that of its last command, its data.
    #[inline]
    pub(crate) fn slot_die(&self, set: u32, geometry: &Geometry) -> DieId {
        let state = &self[set];
        match self.graph.node(set).stages {
            0 => geometry.die_of_lpn(state.lpn),
            last => geometry.die_of_plane(state.stages[last as usize - 1].1),
        }
    }

    /// A set gets a slot.
    #[inline]
    pub(crate) fn take_slot(&mut self, set: u32, geometry: &Geometry) {
        let die = self.slot_die(set, geometry);
        let state = &mut self.list[set as usize];
        state.slotted = true;
        state.slot_die = die;
        self.slots += 1;
        self.slots_of_die[die.index()] += 1;
    }

    /// A set gives its slot back, if it has one.
    pub(crate) fn drop_slot(&mut self, set: u32) {
        let state = &mut self.list[set as usize];
        if std::mem::take(&mut state.slotted) {
            self.slots -= 1;
            self.slots_of_die[state.slot_die.index()] -= 1;
        }
    }
}
