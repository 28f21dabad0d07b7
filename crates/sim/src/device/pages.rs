//! Page accesses that a host policy starts one by one.

use super::Device;
use crate::config::Admission;
use crate::handle::{LineId, RequestId};
use flashyard_core::host::HostAnswer;
use flashyard_core::request::RequestOp;

impl Device {
    /// Starts a page access of the request at `place`, or an earlier access of that page by another
    /// request that it must not overtake. Returns whether anything was started.
    pub(super) fn start_page(&mut self, place: usize, page: u32) -> bool {
        let picked = place;
        let (place, page) = self.host.earliest_access(place, page);
        let handle = self.host.at(place);
        let held = self.starts_whole(handle) || self.page_is_under_way(handle, page);
        let replaced = held || place != picked;
        if self.host.hold_back(self.host.at(picked), replaced) && replaced {
            self.account.pick_replaced();
        }
        let lpn = self.host.page_lpn(handle, page);
        let admission = self.settings.keys.queue.admission;
        if held || (admission != Admission::Request && !self.sets.has_slots_for(lpn, 1)) {
            return false;
        }
        self.end_line_wait(handle);
        let Some(set) = self.translate_page(handle, page) else { return false };
        if self.host[handle].translated == 1 {
            self.begin_request(handle);
        }
        self.sets.await_slot(set);
        if self.queues.looks_at_waits() {
            self.rank_new(handle, 1);
        }
        self.host.page_started(place, page);
        true
    }

    /// Where a policy by pages starts nothing: whether the oldest request waits for a line that has
    /// to be flushed first. That time is the flush's.
    pub(super) fn note_line_wait(&mut self) {
        if !self.host.policy().by_pages() || self.buffer.is_none() {
            return;
        }
        let Some(handle) = self.host.oldest() else { return };
        if !self.lacks_line(handle) {
            return self.end_line_wait(handle);
        }
        let now = self.now;
        let request = &mut self.host[handle];
        if request.flush_since.is_none() {
            request.flush_since = Some(now);
            self.account.buffer_stalled();
        }
    }

    fn lacks_line(&self, handle: RequestId) -> bool {
        let request = &self.host[handle];
        let Some(page) = self.host.unstarted_page(handle, 0) else { return false };
        let writes = request.request.op == RequestOp::Write && !self.starts_whole(handle);
        let lines = self.buffer.as_ref().map(|buffer| buffer.lines());
        writes
            && request.stalled_since.is_none()
            && lines.is_some_and(|lines| {
                !lines.has_room() && lines.find(self.host.page_lpn(handle, page)).is_none()
            })
    }

    fn end_line_wait(&mut self, handle: RequestId) {
        if !self.starts_whole(handle) {
            self.host[handle].end_flush_wait(self.now);
        }
    }

    /// Whether a request is never started page by page.
    fn starts_whole(&self, handle: RequestId) -> bool {
        self.host[handle].request.starts_whole()
    }

    /// A user's own host policy may answer what cannot be done.
    ///
    /// # Panics
    ///
    /// If it does.
    pub(super) fn check_answer(&self, answer: HostAnswer) {
        let (place, page) = match answer {
            HostAnswer::Wait => return,
            HostAnswer::Start(place) => (place, None),
            HostAnswer::StartPage { place, page } => (place, Some(page)),
            HostAnswer::Flush(line) => {
                let lines = self.buffer.as_ref().map(|buffer| buffer.lines());
                let known = LineId::from_raw(line);
                let dirty = lines.zip(known).is_some_and(|(lines, line)| lines.is_dirty(line));
                assert!(dirty, "the host policy flushes line {line}, which is not dirty");
                return self.check_by_pages();
            }
        };
        let waiting = self.host.waiting();
        assert!(place < waiting, "the host policy starts request {place} of {waiting} that wait");
        let in_order = place == 0 || !self.host.policy().in_order();
        assert!(in_order, "the host policy is `in_order`, but starts request {place}, not 0");
        let handle = self.host.at(place);
        let Some(page) = page else {
            let parts = self.host[handle].translated;
            assert!(
                parts == 0,
                "the host policy starts request {place}, of which it has started {parts} pages"
            );
            return;
        };
        self.check_by_pages();
        let request = self.host[handle].request;
        assert!(
            !self.starts_whole(handle),
            "the host policy starts page {page} of {request:?}, which only starts whole"
        );
        let pages = self.host[handle].pages;
        assert!(
            self.host.unstarted_page(handle, page) == Some(page),
            "the host policy starts page {page} of request {place}, which has {pages}, or again"
        );
    }

    fn check_by_pages(&self) {
        let by_pages = self.host.policy().by_pages();
        assert!(by_pages, "the host policy starts a page or flushes, but is not `by_pages`");
    }

    /// Whether another request has an access of the same page under way, where one of the two
    /// changes it.
    pub(super) fn page_is_under_way(&self, handle: RequestId, page: u32) -> bool {
        let lpn = self.host.page_lpn(handle, page);
        self.sets.is_accessed(lpn, handle, !self.host[handle].is_read())
    }
}
