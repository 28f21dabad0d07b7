//! Page accesses of waiting reads that the buffer holds, for host policies that look for one of
//! them: kept up to date with lines and queue, so that nobody has to search all pages of the queue.

use super::Device;
use flashyard_core::request::RequestOp;
use flashyard_core::units::Lpn;

/// The accesses, by the number that their request got in the queue, and their page.
#[derive(Debug, Default)]
pub(super) struct Hits {
    list: Vec<(u64, u32)>,
    /// Requests that came into the queue.
    entered: u64,
}

impl Hits {
    pub(super) fn nth(&self, nth: usize) -> Option<(u64, u32)> {
        self.list.get(nth).copied()
    }

    fn add(&mut self, access: (u64, u32)) {
        if let Err(place) = self.list.binary_search(&access) {
            self.list.insert(place, access);
        }
    }

    fn remove(&mut self, access: (u64, u32)) {
        if let Ok(place) = self.list.binary_search(&access) {
            self.list.remove(place);
        }
    }
}

impl Device {
    /// A request has come into the queue. Returns its number there.
    pub(super) fn hits_entered(&mut self, handle: u32) -> u64 {
        let number = self.hits.entered;
        self.hits.entered += 1;
        let request = &self.pending[handle as usize];
        if self.host_policy.by_pages()
            && request.request.op == RequestOp::Read
            && let Some(buffer) = &self.buffer
        {
            let lpns = (request.first.get()..).take(request.pages as usize);
            let pages = (0..).zip(lpns.map(Lpn::new));
            let held = pages.filter(|(_, lpn)| buffer.lines.find(*lpn).is_some());
            self.hits.list.extend(held.map(|(page, _)| (number, page)));
        }
        number
    }

    /// A page access was started.
    pub(super) fn hit_started(&mut self, handle: u32, page: u32) {
        self.hits.remove((self.queue_number(handle), page));
    }

    /// All page accesses of a request were started.
    pub(super) fn hits_started(&mut self, handle: u32) {
        if !self.hits.list.is_empty() {
            let number = self.queue_number(handle);
            self.hits.list.retain(|access| access.0 != number);
        }
    }

    /// Takes over what has come into the buffer and left it.
    pub(super) fn settle_hits(&mut self) {
        let Some(buffer) = &mut self.buffer else { return };
        let mut changes = std::mem::take(&mut buffer.lines.changes);
        for &(lpn, held) in &changes {
            for place in 0..self.waiting_requests.len() {
                let handle = self.waiting_requests[place];
                let request = &self.pending[handle as usize];
                if request.request.op != RequestOp::Read || !request.touches(lpn) {
                    continue;
                }
                let page = lpn.get() - request.first.get();
                if self.unstarted_page(handle, page) == Some(page) {
                    let access = (self.queue_number(handle), page);
                    if held { self.hits.add(access) } else { self.hits.remove(access) }
                }
            }
        }
        changes.clear();
        self.buffer.as_mut().expect("there is a buffer").lines.changes = changes;
    }

    /// The place in the queue of the request with this number.
    pub(super) fn place_of_number(&self, number: u64) -> usize {
        let found = self
            .waiting_requests
            .binary_search_by_key(&number, |&handle| self.queue_number(handle));
        found.expect("a hit is of a request that waits")
    }
}
