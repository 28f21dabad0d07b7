//! The index of buffered reads: page accesses of waiting reads whose unit has a line, for host
//! policies that look for one of them. It follows the lines and the queue, so that nobody has to
//! search all pages of the queue.
//!
//! Only those of the first [`LARGEST_WINDOW`] requests are known, so that a line that comes or goes
//! costs the same however long the queue is.

use super::Host;
use crate::handle::RequestId;
use flashyard_core::host::LARGEST_WINDOW;
use flashyard_core::units::Lpn;

/// The accesses, by the number that their request got in the queue, and their page.
#[derive(Clone, Debug, Default)]
pub(super) struct BufferedReads {
    list: Vec<(u64, u32)>,
    /// How many requests of the queue have been searched, from the oldest on.
    searched: usize,
}

impl BufferedReads {
    fn add(&mut self, access: (u64, u32)) {
        if let Err(place) = self.list.binary_search(&access) {
            self.list.insert(place, access);
        }
    }

    pub(super) fn remove(&mut self, access: (u64, u32)) {
        if let Ok(place) = self.list.binary_search(&access) {
            self.list.remove(place);
        }
    }

    /// All page accesses of the request at a place of the queue have been started, or are now.
    pub(super) fn request_started(&mut self, number: u64, place: usize) {
        self.searched -= usize::from(place < self.searched);
        self.list.retain(|access| access.0 != number);
    }
}

impl Host {
    /// The place in the queue of the request that has the nth of the accesses, and the page.
    pub(crate) fn buffered_read(&self, nth: usize) -> Option<(usize, u32)> {
        let &(number, page) = self.buffered_reads.list.get(nth)?;
        let found = self.waiting.binary_search_by_key(&number, |&handle| self.queue_number(handle));
        Some((found.expect("it is of a request that waits"), page))
    }

    /// Takes over which units have come into the buffer and left it, and who came into the queue;
    /// `is_held` tells whether a unit is in the buffer.
    pub(crate) fn follow_buffer(&mut self, changes: &[(Lpn, bool)], is_held: impl Fn(Lpn) -> bool) {
        for &(lpn, held) in changes {
            for place in 0..self.buffered_reads.searched {
                if let Some(access) = self.waiting_read(self.waiting[place], lpn) {
                    if held {
                        self.buffered_reads.add(access);
                    } else {
                        self.buffered_reads.remove(access);
                    }
                }
            }
        }
        while self.buffered_reads.searched < self.waiting.len().min(LARGEST_WINDOW) {
            self.search(self.waiting[self.buffered_reads.searched], &is_held);
            self.buffered_reads.searched += 1;
        }
    }

    /// Adds the page accesses of a request behind all that are known.
    fn search(&mut self, handle: RequestId, is_held: impl Fn(Lpn) -> bool) {
        let (first, pages) = (self[handle].first.get(), self[handle].pages);
        for lpn in (first..).take(pages as usize).map(Lpn::new) {
            let access = self.waiting_read(handle, lpn);
            self.buffered_reads.list.extend(access.filter(|_| is_held(lpn)));
        }
    }

    /// The access of a unit by a request, if it reads it and that has not been started.
    fn waiting_read(&self, handle: RequestId, lpn: Lpn) -> Option<(u64, u32)> {
        let request = &self[handle];
        if !request.is_read() || !request.touches(lpn) {
            return None;
        }
        let page = lpn.get() - request.first.get();
        let waits = self.unstarted_page(handle, page) == Some(page);
        waits.then(|| (self.queue_number(handle), page))
    }
}
