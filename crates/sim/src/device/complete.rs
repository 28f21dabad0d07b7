//! Sets and requests that are over.

use super::Device;
use crate::handle::{RequestId, SetId};

impl Device {
    /// Every command of a set is over.
    pub(super) fn complete_set(&mut self, set: SetId) {
        self.forget_unit(set);
        self.end_set(set);
    }

    /// Every command of a set is over, and its unit is forgotten if it trims.
    pub(super) fn end_set(&mut self, set: SetId) {
        let state = &self.sets[set];
        let (charge, changes, handle) = (state.charge(), state.changes(), state.request());
        if let Some(line) = state.line() {
            self.translation().flush_over(set, line);
        }
        if handle.is_some() {
            self.ledger().close_segment(set);
        } else if !changes {
            self.account.own_work_over();
        }
        if self.account.is_watched() {
            self.teller().tell_set_over(set);
        }
        let Some(handle) = handle else {
            self.sets.remove(set);
            return self.release_charge(charge);
        };
        if self.host[handle].pages() > 0 {
            self.sets.end_access(set);
            self.host.access_ends();
        } else {
            self.sets.end_barrier(set, self.host[handle].is_flush());
        }
        if self.host[handle].set_over(self.sets.track(set)) {
            self.answer(handle);
        }
    }

    /// The unit of a set that trims is forgotten.
    #[inline]
    pub(super) fn forget_unit(&mut self, set: SetId) {
        if self.sets.forgets(set) {
            if self.account.is_watched() {
                self.teller().trimmed(set);
            }
            self.translation().trim_over(set);
        }
    }

    /// All sets of a request are complete.
    #[expect(clippy::inline_always, reason = "once a request; a call costs as much")]
    #[inline(always)]
    pub(super) fn answer(&mut self, handle: RequestId) {
        let waits = self.host.sends_answer(handle, self.now);
        self.link_carries(handle);
        if !waits {
            self.answered(handle);
        }
    }

    /// The host has the answer of a request.
    pub(super) fn answered(&mut self, handle: RequestId) {
        self.host.answered(handle, self.now);
        if self.account.is_watched() {
            self.teller().tell_answered(handle);
        }
        self.account.answered(&self.host[handle].answer(), self.now);
        self.release_if_over(handle);
    }

    /// One piece of work charged to a request is over.
    fn release_charge(&mut self, charge: Option<RequestId>) {
        if let Some(request) = charge {
            self.host.charge_over(request);
            self.release_if_over(request);
        }
    }

    /// Forgets a request once it is answered and nothing is charged to it any more.
    #[expect(clippy::inline_always, reason = "once a request; a call costs as much")]
    #[inline(always)]
    fn release_if_over(&mut self, handle: RequestId) {
        let request = &self.host[handle];
        let Some(completion) = request.over() else { return };
        if self.account.is_watched() {
            self.account.request_over(handle, &request.answer(), completion);
        }
        self.host.close(handle);
    }
}
