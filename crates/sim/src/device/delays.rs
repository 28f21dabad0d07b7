//! What sets wait for, as policies see it: flash operation times, and ranks handed on.

use super::Device;
use crate::handle::{RequestId, SetId};
use crate::sets::Mode;
use flashyard_core::policy::{FotSpan, SharedDelays};
use flashyard_core::units::Span;

/// A request that is translated in parts, whose first sets wait for dies when its FOT grows.
#[derive(Clone, Default)]
pub(super) struct Split {
    request: Option<RequestId>,
    /// Its sets that wait for dies. Some may have gone on, and none is missing.
    queued: Vec<SetId>,
}

impl Split {
    /// Makes room for so many sets.
    pub(super) fn grow(&mut self, sets: usize) {
        self.queued.reserve(sets - self.queued.len());
    }

    /// A command of a request waits for a die. Where the list is full of sets that have gone on, it
    /// is given up, and made anew when it is asked for.
    #[inline]
    pub(super) fn note_queued(&mut self, request: RequestId, set: SetId) {
        if self.request != Some(request) {
            return;
        }
        if self.queued.len() < self.queued.capacity() {
            self.queued.push(set);
        } else {
            self.request = None;
        }
    }
}

impl Device {
    /// FOT: own commands of the new sets and the unfinished commands of others that they wait for.
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
                self.work.fot_by_die[die.index()] += span;
            });
        }
        let request = &mut self.host[handle];
        match keys.span {
            FotSpan::Sum => request.add_fot(sum),
            FotSpan::LongestDie => {
                request.set_fot(self.work.fot_by_die.iter().copied().max().unwrap_or_default());
            }
        }
    }

    /// Lists the sets of a request that wait for dies. The list is kept from page to page of a
    /// request, because those of other requests may wait by the thousand.
    fn list_split(&mut self, handle: RequestId) {
        let Split { request, queued } = &mut self.split;
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
    pub(super) fn hand_on_ranks(&mut self, sets: &[SetId], split: Option<RequestId>) {
        let mut changed = std::mem::take(&mut self.work.changed);
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
                changed.extend(&self.split.queued);
            }
            changed.sort_unstable_by_key(|&set| self.sets.number(set));
            changed.dedup();
            for &set in &changed {
                self.replace_in_queue(set);
            }
        }
        changed.clear();
        self.work.changed = changed;
    }
}
