//! The index of buffered reads: page accesses of waiting reads whose unit has a line, for host
//! policies that look for one of them. It follows the lines and the queue, so that nobody has to
//! search all pages of the queue.
//!
//! Only those of the first [`LARGEST_WINDOW`] requests are known, so that a line that comes or goes
//! costs the same however long the queue is.

use flashyard_core::host::LARGEST_WINDOW;

/// The accesses, by the number that their request got in the queue, and their page.
#[derive(Clone, Debug, Default)]
pub(super) struct BufferedReads {
    list: Vec<(u64, u32)>,
    /// How many requests of the queue have been searched, from the oldest on.
    searched: usize,
}

impl BufferedReads {
    /// An access by its place in the list.
    pub(super) fn nth(&self, nth: usize) -> Option<(u64, u32)> {
        self.list.get(nth).copied()
    }

    /// How many requests of the queue have been searched.
    pub(super) const fn searched(&self) -> usize {
        self.searched
    }

    /// The place of the request to search next in a queue of so many, which counts as searched from
    /// now on.
    pub(super) fn next_to_search(&mut self, waiting: usize) -> Option<usize> {
        let place = self.searched;
        let more = place < waiting.min(LARGEST_WINDOW);
        self.searched += usize::from(more);
        more.then_some(place)
    }

    /// Adds an access of the request that is searched, behind all that are known.
    pub(super) fn append(&mut self, access: Option<(u64, u32)>) {
        self.list.extend(access);
    }

    /// The unit of an access has come into the buffer or left it.
    pub(super) fn note(&mut self, access: (u64, u32), held: bool) {
        match (self.list.binary_search(&access), held) {
            (Err(place), true) => self.list.insert(place, access),
            (Ok(place), false) => drop(self.list.remove(place)),
            _ => {}
        }
    }

    /// An access is started.
    pub(super) fn remove(&mut self, access: (u64, u32)) {
        self.note(access, false);
    }

    /// All page accesses of the request at a place of the queue have been started, or are now.
    pub(super) fn request_started(&mut self, number: u64, place: usize) {
        self.searched -= usize::from(place < self.searched);
        self.list.retain(|access| access.0 != number);
    }
}
