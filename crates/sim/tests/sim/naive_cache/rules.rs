//! Requests, their conflicts, and the published rule that keeps them in order.

/// How the dispatcher picks among the queued requests.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Policy {
    /// The oldest.
    Fifo,
    /// The oldest whose chips are all idle, else the oldest.
    Idle,
    /// The oldest whose chips are all idle, else none.
    StrictIdle,
    /// Least (class, arrival) among those that no earlier conflicting request holds back.
    Ready,
    /// The published pass over the queue in order of arrival, which adds 1 to a predecessor's.
    OnePass,
    /// The same pass over the queue in order of slots.
    OnePassBySlot,
}

/// One request: arrival, first page, pages.
#[derive(Clone, Copy, Debug)]
pub struct Req {
    pub at_ns: u64,
    pub first: u64,
    pub pages: u64,
    pub read: bool,
}

impl Req {
    pub fn list(&self) -> std::ops::Range<u64> {
        self.first..self.first + self.pages
    }

    /// Whether the order of the two matters: they share a page and one of them writes.
    pub fn conflicts(&self, other: &Self) -> bool {
        !(self.read && other.read) && self.list().any(|page| other.list().contains(&page))
    }
}

/// The published rule: `queue` holds (arrival number, request, class) in the array's order; the
/// place of the least value, ties to the earlier arrival.
pub fn one_pass(queue: &[(usize, Req, u64)]) -> Option<usize> {
    let mut values: Vec<u64> = queue.iter().map(|entry| entry.2).collect();
    for (i, later) in queue.iter().enumerate() {
        for (j, earlier) in queue.iter().enumerate() {
            if earlier.0 < later.0 && earlier.1.conflicts(&later.1) {
                values[i] = values[j] + 1;
            }
        }
    }
    (0..queue.len()).min_by_key(|&i| (values[i], queue[i].0))
}
