//! Sets and requests that are over.

use super::Device;
use crate::account::{Answer, queue_wait};
use crate::handle::{RequestId, SetId};
use crate::observe::{RequestAnswered, RequestDone};
use crate::sets::Stage;

impl Device {
    /// Every command of a set is over.
    pub(super) fn complete_set(&mut self, set: SetId) {
        let state = &self.sets[set];
        let (charge, trims, changes) = (state.charge(), state.trims(), state.changes());
        let (handle, line) = (state.request(), state.line());
        if let Some(line) = line {
            self.translation().flush_over(set, line);
        }
        let Some(handle) = handle else {
            if !changes {
                self.account.own_work_over();
            }
            if self.account.is_followed() {
                self.teller().tell_set_over(set);
            }
            self.sets.remove(set);
            return self.release_charge(charge);
        };
        self.ledger().close_segment(set);
        if self.account.is_followed() {
            self.teller().tell_set_over(set);
        }
        if self.host[handle].pages() > 0 {
            let erases = |command: &(Stage, _)| command.0 == Stage::HostErase;
            if trims && !self.sets.commands(set).iter().any(erases) {
                self.commit_trim(set);
            }
            if changes {
                self.sets.unlist_change(set);
            }
            self.sets.drop_slot(set);
            self.sets.unlist_by_lpn(set);
            self.host.access_ends();
        } else if self.host[handle].is_flush() {
            self.sets.unlist_change(set);
        }
        self.sets.remove(set);
        let track = self.sets.track(set);
        if self.host[handle].set_over(track.own(), track.parts()) {
            self.answer(handle);
        }
    }

    fn commit_trim(&mut self, set: SetId) {
        let state = &self.sets[set];
        let (lpn, superseded) = (state.lpn(), state.is_superseded());
        if self.account.is_checked() {
            let order = self.sets.order_of(set).expect("the host's");
            self.account.trimmed(order, lpn, self.sets.number(set));
        }
        if !superseded {
            if self.account.follows_units() {
                self.teller().tell_trimmed(set);
            }
            self.ftl.trim_over(set, &mut self.sets);
            self.account.change_committed();
            let number = self.sets.number(set);
            self.translation().drop_buffered(lpn, number);
        }
    }

    /// All sets of a request are complete.
    pub(super) fn answer(&mut self, handle: RequestId) {
        let now = self.now;
        let waits = self.host.sends_answer(handle, now);
        self.link_carries(handle);
        if waits {
            return;
        }
        self.host.answered(handle, now);
        let request = &self.host[handle];
        if self.account.is_followed() || self.account.follows_contents() {
            self.account.tell(&RequestAnswered { order: request.order(), at: now });
        }
        let answer = Answer {
            order: request.order(),
            request: request.request(),
            stream: request.stream(),
            first_slot: request.first_slot(),
            own: request.own(),
            parts: request.parts(),
        };
        self.account.answered(&answer, now);
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
    #[inline]
    fn release_if_over(&mut self, handle: RequestId) {
        let request = &self.host[handle];
        let Some(completion) = request.over() else { return };
        if self.account.is_observed() {
            let (work, energy_pj) = self.account.work_of(handle);
            let event = RequestDone {
                order: request.order(),
                request: *request.request(),
                completion,
                pages: request.pages(),
                fot_ns: request.view().fot.as_ns(),
                queue_wait_ns: queue_wait(
                    request.first_slot(),
                    request.request().arrival,
                    completion,
                ),
                own_ns: request.own().as_ns(),
                parts: *request.parts(),
                work,
                energy_pj,
            };
            self.account.tell(&event);
        }
        self.host.close(handle);
    }
}
