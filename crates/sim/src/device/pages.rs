//! Page accesses: their command sets are made, and a host policy may start them one by one.

use super::Device;
use crate::config::Admission;
use crate::ftl::Plan;
use crate::handle::{RequestId, SetId};
use crate::host::PageAccess;
use flashyard_core::policy::FotSpan;

impl Device {
    /// Makes the set of one page access; `None` where the map cache stalls.
    pub(super) fn translate_page(&mut self, handle: RequestId, page: u32) -> Option<SetId> {
        let (mut plan, from) = (Plan::new(), self.work.todo.len());
        let access = self.translation().plan_page(handle, page, &mut plan)?;
        if plan.target.is_some() {
            self.carry_out(from);
        }
        self.make_room();
        let set = self.translation().make_set(&access, &plan);
        if self.account.follows_contents() && self.sets[set].changes() {
            self.teller().tell_change(set);
        }
        if plan.target.is_some() {
            let charge = self.host.charge_of(Some(handle));
            self.let_ftl(|ftl, lent| ftl.write_made(set, &plan, charge, lent));
        }
        Some(set)
    }

    /// Starts a page access of the request at `place`, or an earlier access of that page by another
    /// request that it must not overtake. Returns whether anything was started.
    pub(super) fn start_page(&mut self, place: usize, page: u32) -> bool {
        let access = self.host.earliest_access(place, page);
        let PageAccess { handle, page, lpn, .. } = access;
        let held = self.starts_whole(handle) || self.view().page_is_under_way(handle, page);
        let replaced = held || !access.picked;
        if self.host.hold_back(place, replaced) && replaced {
            self.account.pick_replaced();
        }
        let admission = self.settings.keys.queue.admission;
        if held || (admission != Admission::Request && !self.sets.has_slots_for(lpn, 1)) {
            return false;
        }
        self.end_line_wait(handle);
        let Some(set) = self.translate_page(handle, page) else { return false };
        if self.host[handle].translated() == 1 {
            self.begin_request(handle);
        }
        self.sets.await_slot(set);
        if self.queues.looks_at_waits() {
            self.waiting().rank_new(handle, 1);
        }
        self.host.page_started(&access);
        true
    }

    /// Where a policy by pages starts nothing: whether the oldest request waits for a line that has
    /// to be flushed first. That time is the flush's.
    pub(super) fn note_line_wait(&mut self) {
        if !self.host.policy().by_pages() || self.buffer.is_none() {
            return;
        }
        let Some(handle) = self.host.oldest() else { return };
        if !self.view().lacks_line(handle) {
            return self.end_line_wait(handle);
        }
        let now = self.now;
        let request = &mut self.host[handle];
        if !request.awaits_flush() {
            request.begin_flush_wait(now);
            self.account.buffer_stalled();
        }
    }

    fn end_line_wait(&mut self, handle: RequestId) {
        if !self.starts_whole(handle) {
            self.host[handle].end_flush_wait(self.now);
        }
    }

    /// Whether a request is never started page by page.
    fn starts_whole(&self, handle: RequestId) -> bool {
        self.host[handle].request().starts_whole()
    }

    /// A request is started.
    pub(super) fn begin_request(&mut self, handle: RequestId) {
        if self.settings.keys.fot.span == FotSpan::LongestDie {
            self.delays.begin();
        }
        self.sets.new_count();
        self.host.start(handle);
    }
}
