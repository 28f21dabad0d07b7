//! Page accesses that a host policy has started before an earlier one of their request.

use crate::handle::RequestId;
use std::ops::Range;

/// The accesses, by request and number, in that order.
#[derive(Clone, Debug, Default)]
pub(super) struct StartedPages(Vec<(RequestId, u32)>);

impl StartedPages {
    /// Those from a number on that follow one another, and the first page that is not started.
    fn run(&self, handle: RequestId, from: u32) -> (Range<usize>, u32) {
        if self.0.is_empty() {
            return (0..0, from);
        }
        let (Ok(start) | Err(start)) = self.0.binary_search(&(handle, from));
        let run = (from..).zip(&self.0[start..]);
        let count = run.take_while(|&(page, known)| *known == (handle, page)).count();
        let page = from + u32::try_from(count).expect("pages fit 32 bits");
        (start..start + count, page)
    }

    /// The first page from a number on that is not started.
    pub(super) fn first_unstarted(&self, handle: RequestId, from: u32) -> u32 {
        self.run(handle, from).1
    }

    /// A page of a request is started of which `next` is the first page that is not; returns what
    /// that is then.
    pub(super) fn mark(&mut self, handle: RequestId, page: u32, next: u32) -> u32 {
        if page != next {
            if let Err(at) = self.0.binary_search(&(handle, page)) {
                self.0.insert(at, (handle, page));
            }
            return next;
        }
        let (run, next) = self.run(handle, page + 1);
        self.0.drain(run);
        next
    }
}
