//! Page accesses that a host policy starts one by one.

use super::Device;
use crate::config::Admission;
use crate::handle::{LineId, RequestId, SetId};
use flashyard_core::host::HostAnswer;
use flashyard_core::request::RequestOp;
use flashyard_core::units::Lpn;

impl Device {
    /// Starts a page access of the request at `place`, or an earlier access of that page by another
    /// request that it must not overtake. Returns whether anything was started.
    pub(super) fn start_page(&mut self, place: usize, page: u32) -> bool {
        let picked = place;
        let (place, page) = self.earliest_access(place, page);
        let handle = self.host.waiting[place];
        let held = self.starts_whole(handle) || self.page_is_under_way(handle, page);
        self.count_hazard(self.host.waiting[picked], held || place != picked);
        let lpn = self.page_lpn(handle, page);
        let admission = self.settings.keys.queue.admission;
        if held || (admission != Admission::Request && !self.slots_for(lpn, 1)) {
            return false;
        }
        let first_new = self.sets.unslotted();
        self.end_line_wait(handle);
        let Some(set) = self.translate_page(handle, page) else { return false };
        if self.host[handle].translated == 1 {
            self.begin_request(handle);
        }
        self.sets.await_slot(set);
        self.rank_new(handle, first_new, 1);
        self.mark_started(handle, page);
        self.buffered_read_started(handle, page);
        let request = &self.host[handle];
        if request.translated == request.pages {
            self.host.waiting.remove(place);
            self.buffered_reads_started(handle, place);
        }
        true
    }

    /// Where a policy by pages starts nothing: whether the oldest request waits for a line that has
    /// to be flushed first. That time is the flush's.
    pub(super) fn note_line_wait(&mut self) {
        if !self.host.policy.by_pages() || self.buffer.is_none() {
            return;
        }
        let Some(&handle) = self.host.waiting.front() else { return };
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
        let Some(page) = self.unstarted_page(handle, 0) else { return false };
        let writes = request.request.op == RequestOp::Write && !self.starts_whole(handle);
        let lines = self.buffer.as_ref().map(|buffer| buffer.lines());
        writes
            && request.stalled_since.is_none()
            && lines.is_some_and(|lines| {
                !lines.has_room() && lines.find(self.page_lpn(handle, page)).is_none()
            })
    }

    fn end_line_wait(&mut self, handle: RequestId) {
        let now = self.now;
        if self.starts_whole(handle) {
            return;
        }
        let request = &mut self.host[handle];
        if let Some(since) = request.flush_since.take() {
            request.flush_ns += now.since(since).as_ns();
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
        let waiting = self.host.waiting.len();
        assert!(place < waiting, "the host policy starts request {place} of {waiting} that wait");
        let in_order = place == 0 || !self.host.policy.in_order();
        assert!(in_order, "the host policy is `in_order`, but starts request {place}, not 0");
        let handle = self.host.waiting[place];
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
            self.unstarted_page(handle, page) == Some(page),
            "the host policy starts page {page} of request {place}, which has {pages}, or again"
        );
    }

    fn check_by_pages(&self) {
        let by_pages = self.host.policy.by_pages();
        assert!(by_pages, "the host policy starts a page or flushes, but is not `by_pages`");
    }

    fn page_lpn(&self, handle: RequestId, page: u32) -> Lpn {
        Lpn::new(self.host[handle].first.get() + page)
    }

    /// The access to start in place of this one.
    fn earliest_access(&self, place: usize, page: u32) -> (usize, u32) {
        let mut start = (place, page);
        while let Some(earlier) = self.earlier_access(start.0, start.1) {
            start = earlier;
        }
        start
    }

    /// The first waiting access of the same page by an earlier request, where one of the two
    /// changes it.
    pub(super) fn earlier_access(&self, place: usize, page: u32) -> Option<(usize, u32)> {
        let picked = self.host.waiting[place];
        let lpn = self.page_lpn(picked, page);
        let changes = self.host[picked].changes();
        self.host.waiting.iter().take(place).enumerate().find_map(|(place, &earlier)| {
            let request = &self.host[earlier];
            if !(changes || request.changes()) || !request.touches(lpn) {
                return None;
            }
            let page = lpn.get() - request.first.get();
            (self.unstarted_page(earlier, page) == Some(page)).then_some((place, page))
        })
    }

    /// Whether another request has an access of the same page under way, where one of the two
    /// changes it.
    pub(super) fn page_is_under_way(&self, handle: RequestId, page: u32) -> bool {
        let lpn = self.page_lpn(handle, page);
        let changes = self.host[handle].request.op != RequestOp::Read;
        let is_other = |set: SetId| self.sets[set].request.is_some_and(|request| request != handle);
        self.sets.changes_of(lpn).any(is_other)
            || (changes && self.sets.reads_of(lpn).any(is_other))
    }

    /// The first page access of a request, from number `from` on, that has not been started.
    pub(super) fn unstarted_page(&self, handle: RequestId, from: u32) -> Option<u32> {
        let request = &self.host[handle];
        let from = from.max(request.next_page);
        let page = self.host.started.past_ahead(handle, from).1;
        (page < request.pages).then_some(page)
    }

    fn mark_started(&mut self, handle: RequestId, page: u32) {
        let next_page = self.host[handle].next_page;
        let started = &mut self.host.started;
        if page != next_page {
            if let Err(at) = started.ahead.binary_search(&(handle, page)) {
                started.ahead.insert(at, (handle, page));
            }
            return;
        }
        let (run, next) = started.past_ahead(handle, page + 1);
        started.ahead.drain(run);
        self.host[handle].next_page = next;
    }
}
