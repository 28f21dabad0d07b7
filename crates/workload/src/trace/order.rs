//! Rows in order of time, through a bounded window.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use super::rows::Row;

/// Released times that are remembered to say how large a window should have been.
const REMEMBERED: usize = 1 << 16;

/// Sorts rows by time; rows of one time keep the order in which they came. Holds back up to
/// `window` rows; a window of 0 passes rows on and refuses every step back, at once.
#[derive(Debug)]
pub(super) struct Window {
    capacity: usize,
    heap: BinaryHeap<Reverse<Held>>,
    pushed: u64,
    /// The time of the row that was released last.
    last_ns: u64,
    released: VecDeque<u64>,
}

/// A row that comes after later ones have been released.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct TooLate {
    /// How far it lies before the row that was released last.
    pub(super) back_ns: u64,
    /// The least window that would have put it in order; `None` if it is larger than is
    /// known, or nothing was to be sorted.
    pub(super) window: Option<usize>,
}

/// A row in the heap, ordered by time and then by arrival.
#[derive(Debug)]
struct Held {
    time_ns: u64,
    number: u64,
    row: Row,
}

impl Ord for Held {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        (self.time_ns, self.number).cmp(&(other.time_ns, other.number))
    }
}

impl PartialOrd for Held {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Held {
    fn eq(&self, other: &Self) -> bool {
        self.number == other.number
    }
}

impl Eq for Held {}

impl Window {
    /// Holds back up to `window` rows.
    pub(super) const fn new(window: usize) -> Self {
        Self {
            capacity: window,
            heap: BinaryHeap::new(),
            pushed: 0,
            last_ns: 0,
            released: VecDeque::new(),
        }
    }

    /// Takes the next row; returns the earliest one when the window is full.
    #[inline]
    pub(super) fn push(&mut self, row: Row) -> Result<Option<Row>, TooLate> {
        let time_ns = row.record.time_ns;
        if time_ns < self.last_ns {
            return Err(self.too_late(time_ns));
        }
        if self.capacity == 0 {
            self.last_ns = time_ns;
            return Ok(Some(row));
        }
        Ok(self.hold(row))
    }

    /// Notes a row that passes without being held, as one does with a window of 0.
    #[inline]
    pub(super) const fn pass(&mut self, time_ns: u64) {
        self.last_ns = time_ns;
    }

    /// Holds a row back; returns the earliest one when the window is full.
    fn hold(&mut self, row: Row) -> Option<Row> {
        let time_ns = row.record.time_ns;
        self.heap.push(Reverse(Held { time_ns, number: self.pushed, row }));
        self.pushed += 1;
        if self.heap.len() > self.capacity { self.pop() } else { None }
    }

    /// The earliest row that is held, if any.
    pub(super) fn pop(&mut self) -> Option<Row> {
        let Reverse(held) = self.heap.pop()?;
        if self.released.len() == REMEMBERED {
            self.released.pop_front();
        }
        self.released.push_back(held.time_ns);
        self.last_ns = held.time_ns;
        Some(held.row)
    }

    /// How many rows are held.
    pub(super) fn held(&self) -> u64 {
        self.heap.len() as u64
    }

    /// Every row that is held is later than the late one, and so are some that were released.
    #[cold]
    fn too_late(&self, time_ns: u64) -> TooLate {
        let back_ns = self.last_ns - time_ns;
        if self.capacity == 0 {
            return TooLate { back_ns, window: None };
        }
        let later = self.released.len() - self.released.partition_point(|&time| time <= time_ns);
        let known = later < REMEMBERED;
        TooLate { back_ns, window: known.then_some(self.heap.len() + later) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::Record;
    use crate::random::SplitMix64;
    use flashyard_core::request::{Flags, RequestOp};

    fn row(time_ns: u64, line: u64) -> Row {
        let record = Record {
            time_ns,
            first_sector: 0,
            sectors: 1,
            stream: 0,
            op: RequestOp::Read,
            flags: Flags::NONE,
            placement: None,
        };
        Row { record, line }
    }

    fn sort(times: &[u64], window: usize) -> Result<Vec<(u64, u64)>, TooLate> {
        let mut sorter = Window::new(window);
        let mut out = Vec::new();
        for (line, &time) in times.iter().enumerate() {
            out.extend(sorter.push(row(time, line as u64))?);
        }
        out.extend(std::iter::from_fn(|| sorter.pop()));
        Ok(out.iter().map(|row| (row.record.time_ns, row.line)).collect())
    }

    #[test]
    fn rows_of_one_time_keep_their_order() {
        assert_eq!(sort(&[2, 1, 2, 1], 2).unwrap(), [(1, 1), (1, 3), (2, 0), (2, 2)]);
    }

    #[test]
    fn the_least_window_that_would_do_is_named() {
        let times = [10, 20, 30, 40, 50, 15];
        assert_eq!(sort(&times, 2), Err(TooLate { back_ns: 15, window: Some(4) }));
        assert!(sort(&times, 3).is_err());
        assert!(sort(&times, 4).is_ok());
        assert_eq!(sort(&[5, 3], 0), Err(TooLate { back_ns: 2, window: None }));
        assert!(sort(&[3, 3, 5], 0).is_ok());
    }

    #[test]
    fn any_order_that_fits_the_window_is_sorted_as_a_whole_sort_would() {
        let mut random = SplitMix64::new(3);
        for window in [1, 2, 7, 64] {
            let times: Vec<u64> = (0..2_000).map(|n| n * 10 + random.below(5 * window)).collect();
            let mut expected: Vec<(u64, u64)> =
                times.iter().enumerate().map(|(line, &time)| (time, line as u64)).collect();
            expected.sort_unstable();
            assert_eq!(sort(&times, usize::try_from(window).unwrap()).unwrap(), expected);
        }
    }
}
