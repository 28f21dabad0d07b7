//! What sets wait for, as policies see it: flash operation times, and ranks handed on.

use super::Device;
use flashyard_core::graph::NIL;
use flashyard_core::policy::{CommandPolicy, FotSpan, SharedDelays};
use flashyard_core::units::Span;

impl Device {
    /// FOT: own commands of the new sets and the unfinished commands of others that they wait for.
    pub(super) fn count_fot(&mut self, handle: u32, new: &[u32]) {
        if !self.counts_fot {
            return;
        }
        let keys = self.settings.keys.fot;
        let mut sum = Span::ZERO;
        for &set in new {
            if keys.shared_delays == SharedDelays::PerSet {
                self.graph.new_count();
            }
            let (sets, by_die) = (&self.sets, &mut self.fot_by_die);
            let geometry = &self.settings.geometry;
            let mut add = |set: u32, stage: u8, span: Span| {
                sum += span;
                by_die
                    [geometry.die_of_plane(sets[set as usize].stages[stage as usize].1).index()] +=
                    span;
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

    /// Hands the rank of each set, its request's or a better one that it has inherited, on to what
    /// it waits for, and moves waiting commands whose placement has changed, in the order of their
    /// sets. `split` is the request whose FOT has grown while its first sets wait already.
    pub(super) fn hand_on_ranks(&mut self, sets: &[u32], split: Option<u32>) {
        let mut changed = std::mem::take(&mut self.changed);
        if self.policy.inherits() {
            let reach = self.settings.keys.fot.reach();
            for &set in sets {
                let owner = self.sets[set as usize].request;
                let node = self.graph.node(set);
                let mut rank = node.inherited_at(node.stage);
                if owner != NIL {
                    rank = rank.min(self.pending[owner as usize].view().rank());
                }
                if rank.is_some() {
                    self.graph.inherit(set, owner, rank, reach, |other| changed.push(other));
                }
            }
        }
        if self.policy.rekeys() {
            if let Some(handle) = split {
                let queued = self.dies.iter().flat_map(|die| die.host.members());
                changed.extend(queued.filter(|&set| self.sets[set as usize].request == handle));
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
}
