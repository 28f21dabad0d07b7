//! Command sets and the dependency edges between them.
//!
//! A **set** is an ordered run of at most [`STAGES`] commands of which one at a time is waiting or
//! running. An **edge** says that a stage of one set may not start before a stage of another set
//! has completed. There is one structure for all kinds of edges, and three readers:
//!
//! * *delay relations*: the flash operation time (FOT) of a request counts the unfinished commands
//!   of other requests that it waits for ([`Graph::prerequisites`]);
//! * *inheritance of priority*: the rank of a waiting request is handed to everything it waits for
//!   ([`Graph::inherit`]);
//! * *explanation of latency*: a waiting set is charged with what the set it waits for is doing
//!   ([`Graph::first_wait`]).
//!
//! Edges must not form a cycle. Walks use links inside the nodes and take every stage once: no
//! recursion and no memory but the lent one.

use crate::command::Rank;
use crate::units::Span;

/// The most commands of a set: map eviction read, map program, map fetch, write buffer, read of old
/// data, data.
pub const STAGES: usize = 6;

/// A handle that names nothing.
pub const NIL: u32 = u32::MAX;

/// Why one command waits for another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EdgeKind {
    /// For mapping entries that are being fetched (CLF-delayed).
    MapFetch,
    /// For mapping entries that are being written back (DLE-delayed).
    MapWriteback,
    /// For a block that garbage collection is about to erase.
    Room,
    /// For merges that were planned before it, or with it.
    Merge,
    /// A step of garbage collection for the step before it.
    Gc,
    /// A flush for the writes before it.
    Flush,
    /// An access for an earlier one of the same LPN.
    Order,
    /// A read for its unit, which the device is reading ahead.
    ReadAhead,
}

/// How far delay relations reach.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    /// Only what a set itself waits for, a flush for all writes before it.
    Direct,
    /// Also what that waits for, and so on.
    Transitive,
}

/// A command set.
#[derive(Clone, Copy, Debug)]
pub struct Node {
    /// Order of creation: later sets have greater numbers.
    pub number: u64,
    /// The request it belongs to, [`NIL`] for work of the device itself.
    pub owner: u32,
    /// How many commands it has.
    pub stages: u8,
    /// The first command that has not completed; `stages` when all have.
    pub stage: u8,
    spans: [Span; STAGES],
    /// The best rank of the requests that wait for each stage, a minimum over time.
    inherited: [Rank; STAGES],
    waits: [u32; STAGES],
    first_in: u32,
    last_in: u32,
    first_out: u32,
    count: u64,
    count_stages: u8,
    walk: u64,
    walk_stages: u8,
    walk_upto: u8,
    walking: bool,
    link: u32,
}

impl Node {
    /// A node to initialise lent memory with.
    pub const VACANT: Self = Self {
        number: 0,
        owner: NIL,
        stages: 0,
        stage: 0,
        spans: [Span::ZERO; STAGES],
        inherited: [Rank::NONE; STAGES],
        waits: [0; STAGES],
        first_in: NIL,
        last_in: NIL,
        first_out: NIL,
        count: 0,
        count_stages: 0,
        walk: 0,
        walk_stages: 0,
        walk_upto: 0,
        walking: false,
        link: NIL,
    };

    /// The nominal duration of each of its commands.
    #[inline]
    pub fn spans(&self) -> &[Span] {
        &self.spans[..usize::from(self.stages)]
    }

    /// Whether its current command waits for another set's.
    #[inline]
    pub const fn is_blocked(&self) -> bool {
        self.stage < self.stages && self.waits[self.stage as usize] > 0
    }

    /// The best rank of the requests that wait for `stage` or a later one.
    #[inline]
    pub fn inherited_at(&self, stage: u8) -> Rank {
        self.inherited[stage as usize..self.stages as usize]
            .iter()
            .copied()
            .min()
            .unwrap_or(Rank::NONE)
    }
}

/// A dependency edge.
#[derive(Clone, Copy, Debug)]
pub struct Edge {
    source: u32,
    target: u32,
    source_stage: u8,
    target_stage: u8,
    kind: EdgeKind,
    next_in: u32,
    prev_in: u32,
    next_out: u32,
}

impl Edge {
    /// An edge to initialise lent memory with.
    pub const VACANT: Self = Self {
        source: NIL,
        target: NIL,
        source_stage: 0,
        target_stage: 0,
        kind: EdgeKind::Order,
        next_in: NIL,
        prev_in: NIL,
        next_out: NIL,
    };
}

/// A stage that a set waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wait {
    /// The set waited for.
    pub source: u32,
    /// Its stage that must complete.
    pub stage: u8,
    /// Why.
    pub kind: EdgeKind,
}

/// All live command sets and their edges, over lent memory.
#[derive(Clone, Debug)]
pub struct Graph<N, E> {
    nodes: N,
    edges: E,
    free_node: u32,
    free_edge: u32,
    nodes_known: u32,
    edges_known: u32,
    live: u32,
    count: u64,
    walk: u64,
}

impl<N, E> Graph<N, E>
where
    N: AsRef<[Node]> + AsMut<[Node]>,
    E: AsRef<[Edge]> + AsMut<[Edge]>,
{
    /// An empty graph over lent memory.
    pub const fn new(nodes: N, edges: E) -> Self {
        Self {
            nodes,
            edges,
            free_node: NIL,
            free_edge: NIL,
            nodes_known: 0,
            edges_known: 0,
            live: 0,
            count: 0,
            walk: 0,
        }
    }

    /// The memory, to lend more. What it holds must stay in place.
    pub const fn storage_mut(&mut self) -> (&mut N, &mut E) {
        (&mut self.nodes, &mut self.edges)
    }

    /// How many sets are live.
    pub const fn live(&self) -> u32 {
        self.live
    }

    /// Whether there is memory for another set.
    pub fn has_node(&self) -> bool {
        self.free_node != NIL || (self.nodes_known as usize) < self.nodes.as_ref().len()
    }

    /// Whether there is memory for another edge.
    pub fn has_edge(&self) -> bool {
        self.free_edge != NIL || (self.edges_known as usize) < self.edges.as_ref().len()
    }

    /// Adds a set without edges. Panics without memory for it; see [`Self::has_node`].
    #[inline]
    pub fn insert(
        &mut self,
        number: u64,
        owner: u32,
        spans: impl IntoIterator<Item = Span>,
    ) -> u32 {
        let id = if self.free_node == NIL {
            self.nodes_known += 1;
            self.nodes_known - 1
        } else {
            self.free_node
        };
        let node = &mut self.nodes.as_mut()[id as usize];
        if id == self.free_node {
            self.free_node = node.link;
        }
        // Nobody waits for a node that is not in use, it waits for nobody, and no walk meets it.
        (node.number, node.owner, node.stages, node.stage) = (number, owner, 0, 0);
        (node.count, node.count_stages, node.walk) = (0, 0, 0);
        for span in spans {
            // Panics where a set has more than `STAGES` commands.
            node.spans[usize::from(node.stages)] = span;
            node.inherited[usize::from(node.stages)] = Rank::NONE;
            node.stages += 1;
        }
        self.live += 1;
        id
    }

    /// Forgets a set all of whose commands have completed.
    #[inline]
    pub fn remove(&mut self, id: u32) {
        let node = self.node(id);
        assert!(node.stage == node.stages, "set {id} has commands left");
        assert!(node.first_in == NIL, "set {id} still waits");
        assert!(node.first_out == NIL, "set {id} is still waited for");
        self.free(id);
    }

    /// Completes the last command of a set and forgets the set, unless others wait for it. Returns
    /// whether it does.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "once a set; a call costs as much")]
    pub fn finish(&mut self, id: u32) -> bool {
        let node = self.node(id);
        let ends = node.stage + 1 == node.stages && node.first_out == NIL;
        if ends {
            debug_assert!(node.first_in == NIL, "set {id} still waits");
            self.free(id);
        }
        ends
    }

    /// The place of a set is free.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "once a set; a call costs as much")]
    fn free(&mut self, id: u32) {
        self.nodes.as_mut()[id as usize].link = self.free_node;
        self.free_node = id;
        self.live -= 1;
    }

    /// A set.
    pub fn node(&self, id: u32) -> &Node {
        &self.nodes.as_ref()[id as usize]
    }

    /// Adds the rule that `stage` of `target` starts only after `wait.stage` of `wait.source` has
    /// completed. What `target` has inherited goes on to the source. Panics without memory for it;
    /// see [`Self::has_edge`].
    pub fn connect(&mut self, wait: Wait, target: u32, stage: u8) {
        let Wait { source, stage: source_stage, kind } = wait;
        debug_assert!(self.node(source).stage <= source_stage, "waits for what is over");
        debug_assert!(self.node(target).stage <= stage, "the waiting stage is over");
        let id = if self.free_edge == NIL {
            self.edges_known += 1;
            self.edges_known - 1
        } else {
            let id = self.free_edge;
            self.free_edge = self.edges.as_ref()[id as usize].next_out;
            id
        };
        let nodes = self.nodes.as_mut();
        let edges = self.edges.as_mut();
        let handed_on = nodes[target as usize].inherited_at(stage);
        let inherited = &mut nodes[source as usize].inherited[source_stage as usize];
        *inherited = handed_on.min(*inherited);
        let waiting = &mut nodes[target as usize];
        let prev_in = waiting.last_in;
        waiting.waits[stage as usize] += 1;
        waiting.last_in = id;
        if prev_in == NIL {
            waiting.first_in = id;
        } else {
            edges[prev_in as usize].next_in = id;
        }
        let from = &mut nodes[source as usize];
        edges[id as usize] = Edge {
            source,
            target,
            source_stage,
            target_stage: stage,
            kind,
            next_in: NIL,
            prev_in,
            next_out: from.first_out,
        };
        from.first_out = id;
    }

    /// Marks the current command of a set as completed and drops the edges that waited for it,
    /// calling `woken` with each set that lost one.
    pub fn complete_stage(&mut self, id: u32, mut woken: impl FnMut(u32)) {
        let nodes = self.nodes.as_mut();
        let edges = self.edges.as_mut();
        let node = &mut nodes[id as usize];
        assert!(node.stage < node.stages, "set {id} has no command left");
        let done = node.stage;
        node.stage += 1;
        let mut kept = NIL;
        let mut at = core::mem::replace(&mut node.first_out, NIL);
        while at != NIL {
            let edge = edges[at as usize];
            if edge.source_stage == done {
                unlink_in(nodes, edges, &edge);
                edges[at as usize].next_out = self.free_edge;
                self.free_edge = at;
                woken(edge.target);
            } else {
                edges[at as usize].next_out = kept;
                kept = at;
            }
            at = edge.next_out;
        }
        nodes[id as usize].first_out = kept;
    }

    /// Changes the nominal duration of a command that has not completed.
    pub fn set_span(&mut self, id: u32, stage: u8, span: Span) {
        self.nodes.as_mut()[id as usize].spans[stage as usize] = span;
    }

    /// What the current command of a set waits for: the oldest of its edges.
    pub fn first_wait(&self, id: u32) -> Option<Wait> {
        let node = self.node(id);
        let mut at = node.first_in;
        while at != NIL {
            let edge = &self.edges.as_ref()[at as usize];
            if edge.target_stage == node.stage {
                return Some(Wait {
                    source: edge.source,
                    stage: edge.source_stage,
                    kind: edge.kind,
                });
            }
            at = edge.next_in;
        }
        None
    }

    /// Calls `visit` with everything that a command of a set waits for, the oldest edge first.
    pub fn waits_of(&self, id: u32, stage: u8, mut visit: impl FnMut(Wait)) {
        let mut at = self.node(id).first_in;
        while at != NIL {
            let Edge { source, source_stage, target_stage, kind, next_in, .. } =
                self.edges.as_ref()[at as usize];
            if target_stage == stage {
                visit(Wait { source, stage: source_stage, kind });
            }
            at = next_in;
        }
    }

    /// Starts a new count of prerequisites: until the next call, [`Self::prerequisites`] reports no
    /// command twice.
    pub const fn new_count(&mut self) {
        self.count += 1;
    }

    /// Calls `visit(handle, set, stage)` for every unfinished command that `id` waits for and that
    /// this count has not seen, in an unspecified but deterministic order.
    pub fn prerequisites(&mut self, id: u32, reach: Reach, mut visit: impl FnMut(u32, &Node, u8)) {
        self.walk += 1;
        let count = self.count;
        let mut walk = NIL;
        self.extend_walk(&mut walk, id, u8::MAX, Reach::Transitive);
        while let Some((at, fresh)) = self.next_in_walk(&mut walk) {
            let node = &mut self.nodes.as_mut()[at as usize];
            if node.count != count {
                node.count = count;
                node.count_stages = 0;
            }
            let new = fresh & !node.count_stages;
            node.count_stages |= new;
            for stage in node.stage..node.stages {
                if new & (1 << stage) != 0 {
                    visit(at, node, stage);
                }
            }
            self.extend_walk(&mut walk, at, fresh, reach);
        }
    }

    /// Hands `rank`, the rank of `owner` ([`NIL`] for none), to every stage that `id` waits for.
    /// Calls `changed(set)` for each set of another owner that is better off than before.
    pub fn inherit(
        &mut self,
        id: u32,
        owner: u32,
        rank: Rank,
        reach: Reach,
        mut changed: impl FnMut(u32),
    ) {
        self.walk += 1;
        let mut walk = NIL;
        self.extend_walk(&mut walk, id, u8::MAX, Reach::Transitive);
        while let Some((at, fresh)) = self.next_in_walk(&mut walk) {
            let node = &mut self.nodes.as_mut()[at as usize];
            let upto = 7 - fresh.leading_zeros() as usize;
            if (owner == NIL || node.owner != owner) && rank < node.inherited[upto] {
                node.inherited[upto] = rank;
                changed(at);
            }
            self.extend_walk(&mut walk, at, fresh, reach);
        }
    }

    /// Adds the sources of the edges into the given stages (a bit each) of `id` to the walk: all of
    /// them, or those of its waits for a flush alone. A flush waits for the flush before it, and so
    /// indirectly for everything that the earlier flush waits for.
    fn extend_walk(&mut self, walk: &mut u32, id: u32, stages: u8, reach: Reach) {
        let nodes = self.nodes.as_mut();
        let edges = self.edges.as_ref();
        let mut at = nodes[id as usize].first_in;
        while at != NIL {
            let edge = &edges[at as usize];
            at = edge.next_in;
            let follows = reach == Reach::Transitive || edge.kind == EdgeKind::Flush;
            if stages & (1 << edge.target_stage) == 0 || !follows {
                continue;
            }
            let source = &mut nodes[edge.source as usize];
            if source.walk != self.walk {
                source.walk = self.walk;
                source.walk_stages = 0;
            }
            if source.walking {
                source.walk_upto = source.walk_upto.max(edge.source_stage);
            } else {
                source.walking = true;
                source.walk_upto = edge.source_stage;
                source.link = *walk;
                *walk = edge.source;
            }
        }
    }

    /// The next set of the walk and those of its unfinished stages that are waited for and new.
    fn next_in_walk(&mut self, walk: &mut u32) -> Option<(u32, u8)> {
        while *walk != NIL {
            let at = *walk;
            let node = &mut self.nodes.as_mut()[at as usize];
            *walk = node.link;
            node.link = NIL;
            node.walking = false;
            let upto: u8 = (2 << node.walk_upto) - 1;
            let begun: u8 = (1 << node.stage) - 1;
            let fresh = upto & !begun & !node.walk_stages;
            node.walk_stages |= fresh;
            if fresh != 0 {
                return Some((at, fresh));
            }
        }
        None
    }
}

#[inline]
fn unlink_in(nodes: &mut [Node], edges: &mut [Edge], edge: &Edge) {
    let target = &mut nodes[edge.target as usize];
    target.waits[edge.target_stage as usize] -= 1;
    if edge.prev_in == NIL {
        target.first_in = edge.next_in;
    } else {
        edges[edge.prev_in as usize].next_in = edge.next_in;
    }
    if edge.next_in == NIL {
        target.last_in = edge.prev_in;
    } else {
        edges[edge.next_in as usize].prev_in = edge.prev_in;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::vec::Vec;

    const US: Span = Span::from_us(1);

    fn graph() -> Graph<[Node; 8], [Edge; 8]> {
        Graph::new([Node::VACANT; 8], [Edge::VACANT; 8])
    }

    fn wait(source: u32, stage: u8) -> Wait {
        Wait { source, stage, kind: EdgeKind::MapWriteback }
    }

    /// c waits for b's second stage, whose first stage waits for a: a and b count, once each.
    #[test]
    fn prerequisites_are_transitive_and_counted_once() {
        let mut graph = graph();
        let a = graph.insert(0, 0, [US; 2]);
        let b = graph.insert(1, 1, [US; 3]);
        let c = graph.insert(2, 2, [US; 2]);
        graph.connect(wait(a, 1), b, 0);
        graph.connect(wait(b, 1), c, 0);
        graph.connect(wait(b, 0), c, 1);
        let count = |graph: &mut Graph<_, _>, reach| {
            let mut seen = Vec::new();
            graph.new_count();
            graph.prerequisites(c, reach, |_, node, stage| seen.push((node.number, stage)));
            seen
        };
        assert_eq!(count(&mut graph, Reach::Direct), [(1, 0), (1, 1)]);
        assert_eq!(count(&mut graph, Reach::Transitive), [(1, 0), (1, 1), (0, 0), (0, 1)]);
        graph.complete_stage(a, |_| panic!("nothing waits for the first stage"));
        assert_eq!(count(&mut graph, Reach::Transitive), [(1, 0), (1, 1), (0, 1)]);
    }

    #[test]
    fn ranks_are_inherited_up_to_the_stage_waited_for() {
        let mut graph = graph();
        let a = graph.insert(0, 0, [US; 4]);
        let b = graph.insert(1, 1, [US; 2]);
        graph.connect(wait(a, 1), b, 0);
        let rank = Rank { class: 0, fot: US };
        let mut changed = Vec::new();
        graph.inherit(b, 1, rank, Reach::Transitive, |set| changed.push(set));
        graph.inherit(b, 1, rank, Reach::Transitive, |set| changed.push(set));
        assert_eq!(changed, [a], "the second time nothing gets better");
        assert_eq!(graph.node(a).inherited_at(1), rank);
        assert_eq!(graph.node(a).inherited_at(2), Rank::NONE);
    }

    #[test]
    fn completion_wakes_and_memory_is_reused() {
        let mut graph = graph();
        for round in 0..100 {
            let a = graph.insert(round, 0, [US; 2]);
            let b = graph.insert(round, 1, [US]);
            graph.connect(wait(a, 0), b, 0);
            graph.connect(wait(a, 1), b, 0);
            assert_eq!(graph.first_wait(b), Some(wait(a, 0)));
            let mut woken = Vec::new();
            graph.complete_stage(a, |set| woken.push(set));
            assert_eq!(woken, [b]);
            assert!(graph.node(b).is_blocked());
            graph.complete_stage(a, |set| woken.push(set));
            assert!(!graph.node(b).is_blocked());
            assert_eq!((graph.node(a).spans(), graph.node(b).spans()), (&[US; 2][..], &[US][..]));
            graph.complete_stage(b, |_| {});
            // In this order the places change hands.
            graph.remove(a);
            graph.remove(b);
        }
        assert_eq!(graph.live(), 0);
    }
}
