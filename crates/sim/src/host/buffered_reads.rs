//! The index of buffered reads: page accesses of waiting reads whose unit has a line, for host
//! policies that look for one of them. It follows the lines and the queue, so that nobody has to
//! search all pages of the queue.
//!
//! Only those of the first [`LARGEST_WINDOW`] requests are known, so that a line that comes or goes
//! costs the same however long the queue is.

/// The accesses, by the number that their request got in the queue, and their page.
#[derive(Debug, Default)]
pub(crate) struct BufferedReads {
    pub(crate) list: Vec<(u64, u32)>,
    /// How many requests of the queue have been searched, from the oldest on.
    pub(crate) searched: usize,
}

impl BufferedReads {
    pub(crate) fn nth(&self, nth: usize) -> Option<(u64, u32)> {
        self.list.get(nth).copied()
    }

    pub(crate) fn add(&mut self, access: (u64, u32)) {
        if let Err(place) = self.list.binary_search(&access) {
            self.list.insert(place, access);
        }
    }

    pub(crate) fn remove(&mut self, access: (u64, u32)) {
        if let Ok(place) = self.list.binary_search(&access) {
            self.list.remove(place);
        }
    }
}
