//! What sets wait for, as policies see it: flash operation times, and ranks handed on.

use super::{Delays, Waiting};
use crate::handle::{RequestId, SetId};
use crate::sets::Mode;
use flashyard_core::policy::{FotSpan, SharedDelays};
use flashyard_core::units::Span;

impl Waiting<'_> {
    /// Counts and hands on what the last `count` sets of a request wait for; no other set has begun
    /// to wait for a slot behind them.
    pub(crate) fn rank_new(&mut self, handle: RequestId, count: u32) {
        let split = self.host[handle].translated() > count;
        let mut new = std::mem::take(&mut self.delays.added);
        new.extend(self.sets.newest_slotless(count));
        self.count_fot(handle, &new);
        self.hand_on_ranks(&new, split.then_some(handle));
        new.clear();
        self.delays.added = new;
    }

    /// Counts and hands on what the only set of a request waits for.
    pub(crate) fn rank_barrier(&mut self, handle: RequestId, barrier: SetId) {
        self.count_fot(handle, &[barrier]);
        self.hand_on_ranks(&[barrier], None);
    }

    /// FOT: own commands of the new sets and the unfinished commands of others that they wait for.
    #[inline(always)]
    pub(super) fn count_fot(&mut self, handle: RequestId, new: &[SetId]) {
        if !self.queues.counts_fot() {
            return;
        }
        let keys = self.settings.keys.fot;
        let mut sum = Span::ZERO;
        for &set in new {
            if keys.shared_delays == SharedDelays::PerSet {
                self.sets.new_count();
            }
            self.sets.delays(set, Some(handle), keys.reach(), |plane, span| {
                sum += span;
                let die = self.settings.geometry.die_of_plane(plane);
                self.delays.fot_by_die[die.index()] += span;
            });
        }
        let request = &mut self.host[handle];
        match keys.span {
            FotSpan::Sum => request.add_fot(sum),
            FotSpan::LongestDie => {
                request.set_fot(self.delays.fot_by_die.iter().copied().max().unwrap_or_default());
            }
        }
    }

    /// Lists the sets of a request that wait for dies. The list is kept from page to page of a
    /// request, because those of other requests may wait by the thousand.
    fn list_split(&mut self, handle: RequestId) {
        let Delays { request, queued, .. } = self.delays;
        if request.replace(handle) != Some(handle) {
            queued.clear();
            queued.extend(self.queues.of_requests());
        }
        queued.retain(|&set| {
            let state = &self.sets[set];
            state.request() == Some(handle) && state.mode() == Mode::Queued
        });
    }

    /// Hands the rank of each set, its request's or a better one that it has inherited, on to what
    /// it waits for, and moves waiting commands whose placement has changed, in the order of their
    /// sets. `split` is the request whose FOT has grown while its first sets wait already.
    pub(crate) fn hand_on_ranks(&mut self, sets: &[SetId], split: Option<RequestId>) {
        let mut changed = std::mem::take(&mut self.delays.changed);
        if self.queues.inherits() {
            let reach = self.settings.keys.fot.reach();
            for &set in sets {
                let owner = self.sets[set].request();
                let mut rank = self.sets.inherited_rank(set);
                if let Some(owner) = owner {
                    rank = rank.min(self.host[owner].view().rank());
                }
                if rank.is_some() {
                    self.sets.hand_on(set, rank, reach, |other| changed.push(other));
                }
            }
        }
        if self.queues.rekeys() {
            if let Some(handle) = split {
                self.list_split(handle);
                changed.extend(&self.delays.queued);
            }
            changed.sort_unstable_by_key(|&set| self.sets.number(set));
            changed.dedup();
            for &set in &changed {
                self.replace_in_queue(set);
            }
        }
        changed.clear();
        self.delays.changed = changed;
    }
}
