//! The index of buffered reads: page accesses of waiting reads whose unit has a line, for host
//! policies that look for one of them. It follows the lines and the queue, so that nobody has to
//! search all pages of the queue.
//!
//! Only those of the first [`LARGEST_WINDOW`] requests are known, so that a line that comes or goes
//! costs the same however long the queue is.

use super::Device;
use crate::handle::RequestId;
use flashyard_core::host::LARGEST_WINDOW;
use flashyard_core::request::RequestOp;
use flashyard_core::units::Lpn;

impl Device {
    /// A page access was started.
    pub(super) fn buffered_read_started(&mut self, handle: RequestId, page: u32) {
        self.host.buffered_reads.remove((self.queue_number(handle), page));
    }

    /// All page accesses of the request that was at `place` were started.
    pub(super) fn buffered_reads_started(&mut self, handle: RequestId, place: usize) {
        self.host.buffered_reads.searched -= usize::from(place < self.host.buffered_reads.searched);
        if !self.host.buffered_reads.list.is_empty() {
            let number = self.queue_number(handle);
            self.host.buffered_reads.list.retain(|access| access.0 != number);
        }
    }

    /// Takes over what has come into the buffer and left it, and who came into the queue.
    pub(super) fn update_buffered_reads(&mut self) {
        let Some(buffer) = &mut self.buffer else { return };
        let changes = buffer.take_changes();
        for &(lpn, held) in &changes {
            for place in 0..self.host.buffered_reads.searched {
                let handle = self.host.waiting[place];
                if let Some(access) = self.waiting_read(handle, lpn) {
                    if held {
                        self.host.buffered_reads.add(access);
                    } else {
                        self.host.buffered_reads.remove(access);
                    }
                }
            }
        }
        self.write_buffer_mut().return_changes(changes);
        while self.host.buffered_reads.searched < self.host.waiting.len().min(LARGEST_WINDOW) {
            self.search_buffered_reads(self.host.waiting[self.host.buffered_reads.searched]);
            self.host.buffered_reads.searched += 1;
        }
    }

    /// Adds the page accesses of a request behind all that are known.
    fn search_buffered_reads(&mut self, handle: RequestId) {
        let request = &self.host[handle];
        for lpn in (request.first.get()..).take(request.pages as usize).map(Lpn::new) {
            let access = self.waiting_read(handle, lpn);
            if let Some(access) = access.filter(|_| self.write_buffer().lines().find(lpn).is_some())
            {
                self.host.buffered_reads.list.push(access);
            }
        }
    }

    /// The access of a unit by a request, if it reads it and that has not been started.
    fn waiting_read(&self, handle: RequestId, lpn: Lpn) -> Option<(u64, u32)> {
        let request = &self.host[handle];
        if request.request.op != RequestOp::Read || !request.touches(lpn) {
            return None;
        }
        let page = lpn.get() - request.first.get();
        let waits = self.unstarted_page(handle, page) == Some(page);
        waits.then(|| (self.queue_number(handle), page))
    }

    /// The place in the queue of the request with this number.
    pub(super) fn place_of_number(&self, number: u64) -> usize {
        let found =
            self.host.waiting.binary_search_by_key(&number, |&handle| self.queue_number(handle));
        found.expect("a hit is of a request that waits")
    }
}
