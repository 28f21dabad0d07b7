//! What sets wait for, as policies see it: flash operation times, and ranks handed on.

use super::Device;
use flashyard_core::policy::{CommandPolicy, FotSpan, SharedDelays};
use flashyard_core::units::Span;

impl Device {
    /// FOT: own commands and the unfinished commands of others that the new sets wait for.
    pub(super) fn count_fot(&mut self, handle: u32, first_new: usize) {
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
    pub(super) fn hand_on_ranks(&mut self, handle: u32, first_new: usize, split: bool) {
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
