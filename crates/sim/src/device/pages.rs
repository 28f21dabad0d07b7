//! Page accesses: their command sets are made, and a host policy may start them one by one.

use super::Device;
use crate::config::Admission;
use crate::ftl::Plan;
use crate::handle::RequestId;
use crate::host::PageAccess;

impl Device {
    /// Makes the set of one page access, which waits for a slot. Returns whether it could: not
    /// where the map cache stalls.
    pub(super) fn translate_page(&mut self, handle: RequestId, page: u32) -> bool {
        let (mut plan, from) = (Plan::new(), self.work.todo.len());
        let access = self.translation().plan_page(handle, page, &mut plan);
        let Some(access) = access else { return false };
        if plan.target.is_some() {
            self.carry_out(from);
        }
        self.make_room();
        let set = self.translation().make_set(&access, &plan);
        if self.account.is_watched() {
            self.teller().tell_change(set);
        }
        if plan.target.is_some() {
            let charge = self.host.charge_of(Some(handle));
            self.let_ftl(|ftl, lent| ftl.write_made(set, &plan, charge, lent));
        }
        self.sets.await_slot(set);
        true
    }

    /// Starts a page access of the request at `place`, or an earlier access of that page by another
    /// request that it must not overtake. Returns whether anything was started.
    pub(super) fn start_page(&mut self, place: usize, page: u32) -> bool {
        let access = self.host.earliest_access(place, page);
        let PageAccess { handle, page, lpn, .. } = access;
        let whole = self.host[handle].request().starts_whole();
        let held = whole || self.view().page_is_under_way(handle, page);
        let replaced = held || !access.picked;
        if self.host.hold_back(place, replaced) && replaced {
            self.account.pick_replaced();
        }
        let admission = self.settings.keys.queue.admission;
        if held || (admission != Admission::Request && !self.sets.has_slots_for(lpn, 1)) {
            return false;
        }
        self.translation().end_line_wait(handle);
        if !self.translate_page(handle, page) {
            return false;
        }
        if self.host[handle].translated() == 1 {
            self.waiting().begin_request(handle);
        }
        if self.queues.looks_at_waits() {
            self.waiting().rank_new(handle, 1);
        }
        self.host.page_started(&access);
        true
    }
}
