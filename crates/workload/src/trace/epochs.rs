//! Runs of a clock that was set while a trace was recorded.
//!
//! Two times belong to one run (epoch) where a chain of times links them, each at most `jump` from
//! the next (single linkage); this does not depend on the order of the rows. The order of the
//! epochs is that of their first rows in the file. Needs a first pass over the file, because the
//! place of an epoch depends on the last time of the one before.

/// Clock runs that a trace may have; more of them are pauses, not settings of a clock.
const EPOCHS_MAX: usize = 1_024;

/// An epoch while it is being collected.
#[derive(Clone, Copy, Debug)]
struct Span {
    low_ns: u64,
    high_ns: u64,
    first_row: u64,
}

/// The first pass: collects the epochs.
#[derive(Debug)]
pub(super) struct EpochFinder {
    jump_ns: u64,
    rows: u64,
    /// By time; more than `jump_ns` apart.
    spans: Vec<Span>,
}

/// There are too many epochs.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct TooMany(pub(super) usize);

impl EpochFinder {
    /// Epochs are more than `jump_ns` apart.
    pub(super) const fn new(jump_ns: u64) -> Self {
        Self { jump_ns, rows: 0, spans: Vec::new() }
    }

    /// Adds the time of the next row in file order.
    pub(super) fn add(&mut self, time_ns: u64) -> Result<(), TooMany> {
        let row = self.rows;
        self.rows += 1;
        let at = self.spans.partition_point(|span| span.high_ns < time_ns);
        if self.spans.get(at).is_some_and(|span| span.low_ns <= time_ns) {
            return Ok(());
        }
        let time = Span { low_ns: time_ns, high_ns: time_ns, first_row: row };
        self.spans.insert(at, time);
        self.merge_with_next(at);
        if at > 0 {
            self.merge_with_next(at - 1);
        }
        if self.spans.len() > EPOCHS_MAX { Err(TooMany(EPOCHS_MAX)) } else { Ok(()) }
    }

    fn merge_with_next(&mut self, at: usize) {
        let Some(&next) = self.spans.get(at + 1) else { return };
        let span = &mut self.spans[at];
        if next.low_ns - span.high_ns <= self.jump_ns {
            span.high_ns = next.high_ns;
            span.first_row = span.first_row.min(next.first_row);
            self.spans.remove(at + 1);
        }
    }

    /// Lays the epochs one behind the other, `gap_ns` apart; `None` where that overflows.
    pub(super) fn finish(mut self, gap_ns: u64) -> Option<Epochs> {
        self.spans.sort_by_key(|span| span.first_row);
        let mut placed = Vec::with_capacity(self.spans.len());
        let mut base_ns = self.spans.first()?.low_ns;
        for span in &self.spans {
            placed.push(Placed { low: span.low_ns, high: span.high_ns, base: base_ns });
            base_ns = base_ns.checked_add(span.high_ns - span.low_ns)?.checked_add(gap_ns)?;
        }
        placed.sort_by_key(|span| span.low);
        Some(Epochs { placed })
    }
}

/// An epoch and where it starts on the joined clock; nanoseconds.
#[derive(Clone, Copy, Debug)]
struct Placed {
    low: u64,
    high: u64,
    base: u64,
}

/// The second pass: moves times onto one clock, on which the first epoch keeps its times.
#[derive(Debug)]
pub(super) struct Epochs {
    /// By time on the clock as it was recorded.
    placed: Vec<Placed>,
}

impl Epochs {
    /// How many there are.
    pub(super) const fn count(&self) -> usize {
        self.placed.len()
    }

    /// The first time of each as it was recorded and as it is now, in the order of the latter.
    pub(super) fn moves(&self) -> Vec<(u64, u64)> {
        let mut moves: Vec<_> = self.placed.iter().map(|span| (span.low, span.base)).collect();
        moves.sort_by_key(|&(_, base)| base);
        moves
    }

    /// A recorded time on the joined clock; `None` if the first pass did not see it.
    pub(super) fn join(&self, time_ns: u64) -> Option<u64> {
        let at = self.placed.partition_point(|span| span.high < time_ns);
        let span = self.placed.get(at)?;
        Some(span.base + time_ns.checked_sub(span.low)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn joined(times: &[u64], jump: u64, gap: u64) -> (usize, Vec<u64>) {
        let mut finder = EpochFinder::new(jump);
        for &time in times {
            finder.add(time).unwrap();
        }
        let epochs = finder.finish(gap).unwrap();
        (epochs.count(), times.iter().map(|&time| epochs.join(time).unwrap()).collect())
    }

    #[test]
    fn epochs_follow_one_another_by_first_appearance() {
        let (count, times) = joined(&[5, 7, 1_000, 8, 1_010, 300, 310], 50, 2);
        assert_eq!(count, 3);
        assert_eq!(times, [5, 7, 10, 8, 20, 22, 32]);
    }

    #[test]
    fn a_later_epoch_may_have_earlier_times() {
        let (count, times) = joined(&[1_000, 1_001, 3, 4], 50, 10);
        assert_eq!((count, times), (2, vec![1_000, 1_001, 1_011, 1_012]));
    }

    #[test]
    fn a_row_between_two_spans_links_them() {
        let (count, times) = joined(&[0, 100, 50], 60, 7);
        assert_eq!((count, times), (1, vec![0, 100, 50]));
        assert_eq!(joined(&[0, 100, 50], 49, 7).0, 3);
        assert_eq!(joined(&[0, 50, 100], 50, 7).0, 1, "a step of just the jump is none");
    }

    #[test]
    fn pauses_are_not_taken_for_settings_of_the_clock() {
        let mut finder = EpochFinder::new(1);
        let failed = (0..2_000).find_map(|n| finder.add(n * 10).err());
        assert_eq!(failed, Some(TooMany(EPOCHS_MAX)));
    }

    #[test]
    fn times_of_another_file_are_noticed() {
        let mut finder = EpochFinder::new(5);
        finder.add(100).unwrap();
        let epochs = finder.finish(0).unwrap();
        assert_eq!((epochs.join(99), epochs.join(100), epochs.join(101)), (None, Some(100), None));
    }

    #[test]
    fn overflow_is_noticed() {
        let mut finder = EpochFinder::new(5);
        finder.add(u64::MAX).unwrap();
        finder.add(0).unwrap();
        assert!(finder.finish(1).is_none());
    }
}
