//! What sets wait for, as policies see it: flash operation times, and ranks handed on.

use super::Device;
use flashyard_core::graph::NIL;
use flashyard_core::policy::{FotSpan, SharedDelays};
use flashyard_core::units::Span;

impl Device {
    /// FOT: own commands of the new sets and the unfinished commands of others that they wait for.
    pub(super) fn count_fot(&mut self, handle: u32, new: &[u32]) {
        if !self.queues.counts_fot {
            return;
        }
        let keys = self.settings.keys.fot;
        let mut sum = Span::ZERO;
        for &set in new {
            if keys.shared_delays == SharedDelays::PerSet {
                self.sets.graph.new_count();
            }
            let (geometry, by_die) = (&self.settings.geometry, &mut self.queues.fot_by_die);
            let (list, graph) = self.sets.list_and_graph();
            let mut add = |set: u32, stage: u8, span: Span| {
                sum += span;
                let plane = list[set as usize].stages[stage as usize].1;
                by_die[geometry.die_of_plane(plane).index()] += span;
            };
            let node = *graph.node(set);
            for stage in 0..node.stages {
                add(set, stage, node.spans[stage as usize]);
            }
            graph.prerequisites(set, keys.reach(), |other, node, stage| {
                if node.owner != handle {
                    add(other, stage, node.spans[stage as usize]);
                }
            });
        }
        let request = &mut self.host.pending[handle as usize];
        match keys.span {
            FotSpan::Sum => request.fot += sum,
            FotSpan::LongestDie => {
                request.fot = self.queues.fot_by_die.iter().copied().max().unwrap_or_default();
            }
        }
    }

    /// Hands the rank of each set, its request's or a better one that it has inherited, on to what
    /// it waits for, and moves waiting commands whose placement has changed, in the order of their
    /// sets. `split` is the request whose FOT has grown while its first sets wait already.
    pub(super) fn hand_on_ranks(&mut self, sets: &[u32], split: Option<u32>) {
        let mut changed = std::mem::take(&mut self.sets.changed);
        if self.queues.inherits {
            let reach = self.settings.keys.fot.reach();
            for &set in sets {
                let owner = self.sets[set].request;
                let node = self.sets.graph.node(set);
                let mut rank = node.inherited_at(node.stage);
                if owner != NIL {
                    rank = rank.min(self.host.pending[owner as usize].view().rank());
                }
                if rank.is_some() {
                    self.sets.graph.inherit(set, owner, rank, reach, |other| changed.push(other));
                }
            }
        }
        if self.queues.rekeys {
            if let Some(handle) = split {
                let queued = self.queues.of_dies.iter().flat_map(|die| die.host.members());
                changed.extend(queued.filter(|&set| self.sets[set].request == handle));
            }
            changed.sort_unstable_by_key(|&set| self.sets.graph.node(set).number);
            changed.dedup();
            for &set in &changed {
                self.replace_in_queue(set);
            }
        }
        changed.clear();
        self.sets.changed = changed;
    }
}
