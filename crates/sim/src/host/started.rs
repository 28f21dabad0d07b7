//! Page accesses that a host policy starts one by one.

use super::overlaps::Overlaps;
use crate::handle::RequestId;
use std::ops::Range;

/// What host policies have started.
#[derive(Debug)]
pub(super) struct Started {
    /// Whether the dispatcher works on the request that is translated next.
    pub(super) dispatching: bool,
    /// Requests that are not answered.
    pub(super) unanswered: u64,
    /// Which ones, where the host policy may leave the order.
    pub(super) overlaps: Overlaps,
    /// Pages that were started before an earlier page of their request, by handle and number, in
    /// that order.
    ahead: Vec<(RequestId, u32)>,
    /// Page accesses that are not over.
    pub(super) accesses: u32,
    /// The request that was last picked while it had to wait for another one.
    pub(super) held_back: Option<RequestId>,
}

impl Started {
    /// Nothing.
    pub(super) const NONE: Self = Self {
        dispatching: false,
        unanswered: 0,
        overlaps: Overlaps::NONE,
        ahead: Vec::new(),
        accesses: 0,
        held_back: None,
    };

    /// The pages from a number on that were started ahead one after the other, and the first page
    /// that was not.
    pub(super) fn past_ahead(&self, handle: RequestId, from: u32) -> (Range<usize>, u32) {
        if self.ahead.is_empty() {
            return (0..0, from);
        }
        let (Ok(start) | Err(start)) = self.ahead.binary_search(&(handle, from));
        let run = (from..).zip(&self.ahead[start..]);
        let count = run.take_while(|&(page, known)| *known == (handle, page)).count();
        let page = from + u32::try_from(count).expect("pages fit 32 bits");
        (start..start + count, page)
    }

    /// A page of a request is started of which `next` is the first page that is not; returns what
    /// that is then.
    pub(super) fn mark(&mut self, handle: RequestId, page: u32, next: u32) -> u32 {
        if page != next {
            if let Err(at) = self.ahead.binary_search(&(handle, page)) {
                self.ahead.insert(at, (handle, page));
            }
            return next;
        }
        let (run, next) = self.past_ahead(handle, page + 1);
        self.ahead.drain(run);
        next
    }

    /// A request is answered.
    #[inline]
    pub(super) fn answered(&mut self, handle: RequestId) {
        self.unanswered -= 1;
        self.overlaps.remove(handle);
    }
}
