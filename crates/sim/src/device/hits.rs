//! Page accesses of waiting reads that the buffer holds, for host policies that look for one of
//! them: kept up to date with lines and queue, so that nobody has to search all pages of the queue.
//!
//! Only those of the first [`LARGEST_WINDOW`] requests are known, so that a line that comes or goes
//! costs the same however long the queue is.

use super::Device;
use flashyard_core::host::LARGEST_WINDOW;
use flashyard_core::request::RequestOp;
use flashyard_core::units::Lpn;

/// The accesses, by the number that their request got in the queue, and their page.
#[derive(Debug, Default)]
pub(super) struct Hits {
    list: Vec<(u64, u32)>,
    /// How many requests of the queue have been searched, from the oldest on.
    searched: usize,
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
    /// A page access was started.
    pub(super) fn hit_started(&mut self, handle: u32, page: u32) {
        self.hits.remove((self.queue_number(handle), page));
    }

    /// All page accesses of the request that was at `place` were started.
    pub(super) fn hits_started(&mut self, handle: u32, place: usize) {
        self.hits.searched -= usize::from(place < self.hits.searched);
        if !self.hits.list.is_empty() {
            let number = self.queue_number(handle);
            self.hits.list.retain(|access| access.0 != number);
        }
    }

    /// Takes over what has come into the buffer and left it, and who came into the queue.
    pub(super) fn settle_hits(&mut self) {
        let Some(buffer) = &mut self.buffer else { return };
        let mut changes = std::mem::take(&mut buffer.lines.changes);
        for &(lpn, held) in &changes {
            for place in 0..self.hits.searched {
                let handle = self.waiting_requests[place];
                if let Some(access) = self.waiting_read(handle, lpn) {
                    if held { self.hits.add(access) } else { self.hits.remove(access) }
                }
            }
        }
        changes.clear();
        self.buffer.as_mut().expect("there is a buffer").lines.changes = changes;
        while self.hits.searched < self.waiting_requests.len().min(LARGEST_WINDOW) {
            self.search_hits(self.waiting_requests[self.hits.searched]);
            self.hits.searched += 1;
        }
    }

    /// Adds the page accesses of a request behind all that are known.
    fn search_hits(&mut self, handle: u32) {
        let request = &self.pending[handle as usize];
        for lpn in (request.first.get()..).take(request.pages as usize).map(Lpn::new) {
            let access = self.waiting_read(handle, lpn);
            if let Some(access) = access.filter(|_| self.staging().lines.find(lpn).is_some()) {
                self.hits.list.push(access);
            }
        }
    }

    /// The access of a unit by a request, if it reads it and that has not been started.
    fn waiting_read(&self, handle: u32, lpn: Lpn) -> Option<(u64, u32)> {
        let request = &self.pending[handle as usize];
        if request.request.op != RequestOp::Read || !request.touches(lpn) {
            return None;
        }
        let page = lpn.get() - request.first.get();
        let waits = self.unstarted_page(handle, page) == Some(page);
        waits.then(|| (self.queue_number(handle), page))
    }

    /// The place in the queue of the request with this number.
    pub(super) fn place_of_number(&self, number: u64) -> usize {
        let found = self
            .waiting_requests
            .binary_search_by_key(&number, |&handle| self.queue_number(handle));
        found.expect("a hit is of a request that waits")
    }
}
