//! Runs of reads, which the device reads ahead of, and the units that come into lines for them.
//!
//! A **run** is a row of reads each of which begins where the one before it has ended. Of as many
//! runs as are followed, the one that was read longest ago makes way for a new one. Once a run has
//! as many reads as `buffer.read_ahead_after` says, the device reads `read_ahead_kib` ahead of it,
//! and again as soon as `read_ahead_low_percent` of that or less is left. A read that begins
//! between what the run has read last and what is read ahead belongs to it as well, since requests
//! that are outstanding together may be started in another order.
//!
//! A unit that is read ahead has its line from the start. Until it has come, its line is in no list
//! and holds no sector. A write of the unit takes the line, and a trim frees it: what comes then is
//! dropped, so a line never holds what is older than flash.
//!
//! Sources: that drives follow several runs at once, count the reads of each and begin at a
//! threshold is in US 2026/0023502; a limit of followed runs in US 11,294,595. `SimpleSSD` begins
//! after a number of reads in a row (its keys of prefetching), of one run, and reads the page that
//! was asked for whole. The rest is assumed.

use crate::config::{BufferKeys, Settings};
use std::collections::VecDeque;
use std::ops::Range;

/// A run of reads.
#[derive(Clone, Copy, Debug)]
struct Run {
    /// The sector behind its last read.
    next: u64,
    /// How many reads it has, up to as many as make the device read ahead.
    reads: u64,
    /// The unit up to which the device reads ahead of it; 0 before it does.
    until: u64,
    /// How many reads of the device had been started before its last one.
    at: u64,
}

/// A run that has had one of so many last reads is being read. Assumed.
const RECENT: u64 = 64;

/// The runs that a device follows.
#[derive(Clone, Debug)]
pub(super) struct Runs {
    keys: BufferKeys,
    /// Units of the window, and how few of them may be left.
    window: u64,
    low: u64,
    /// Units of an aligned block whose rest is read ahead of runs that are too many.
    rest: u64,
    /// Sectors of a unit, units of a page, and all units of the host.
    unit_sectors: u64,
    page_units: u64,
    exported: u64,
    /// The run that was read last comes last.
    list: Vec<Run>,
    /// Reads that have been started.
    started: u64,
    /// Units that shall be read ahead.
    pub(super) wanted: VecDeque<Range<u64>>,
}

impl Runs {
    /// None where the device does not read ahead.
    pub(super) fn new(settings: &Settings) -> Option<Box<Self>> {
        let (keys, geometry) = (settings.keys.buffer, &settings.geometry);
        let runs = usize::try_from(keys.read_ahead_runs).expect("the key's range fits 32 bits");
        let units = |kib: u64| (kib << 10).div_ceil(u64::from(geometry.unit_bytes()));
        let window = units(keys.read_ahead_kib);
        keys.reads_ahead().then(|| {
            Box::new(Self {
                keys,
                window,
                low: keys.read_ahead_low_percent.of(window),
                rest: units(keys.read_ahead_rest_kib).max(1),
                unit_sectors: u64::from(geometry.unit_sectors()),
                page_units: u64::from(geometry.units_per_page),
                exported: settings.exported_units.into(),
                list: Vec::with_capacity(runs),
                started: 0,
                wanted: VecDeque::with_capacity(runs),
            })
        })
    }

    /// Forgets all runs.
    pub(super) fn forget(&mut self) {
        self.list.clear();
        self.wanted.clear();
    }

    /// A read of these sectors is started. Returns whether more is to be read ahead than before.
    pub(super) fn follow(&mut self, sectors: &Range<u64>) -> bool {
        let place = self.list.iter().rposition(|run| self.continues(run, sectors.start));
        let run = if let Some(place) = place {
            self.list.remove(place)
        } else {
            if self.list.len() == self.list.capacity() {
                self.list.remove(0);
            }
            Run { next: 0, reads: 0, until: 0, at: 0 }
        };
        let (next, reads) = (run.next.max(sectors.end), run.reads + 1);
        let reads = reads.min(self.keys.read_ahead_after);
        let mut run = Run { next, reads, at: self.started, ..run };
        self.started += 1;
        let wanted = self.wants(&run);
        run.until = wanted.end.max(run.until);
        self.list.push(run);
        let more = !wanted.is_empty();
        if more {
            self.wanted.push_back(wanted);
        }
        more
    }

    /// Whether a read that begins at this sector is the next one of a run, or one of those between
    /// which and what is read ahead others have been started.
    fn continues(&self, run: &Run, first: u64) -> bool {
        let (window, until) = (self.window * self.unit_sectors, run.until * self.unit_sectors);
        first == run.next
            || (run.until > 0 && (run.next.saturating_sub(window)..until).contains(&first))
    }

    /// What is to be read ahead of a run in addition: whole pages, if less than that is left. Of
    /// too many runs it is the rest of the block that the last read ends in.
    fn wants(&self, run: &Run) -> Range<u64> {
        let (at, behind) = (run.next / self.unit_sectors, run.next.div_ceil(self.unit_sectors));
        let until = if !self.is_long(run) {
            0
        } else if self.is_crowded() {
            behind.next_multiple_of(self.rest)
        } else if run.until > at + self.low {
            0
        } else {
            (at + self.window).next_multiple_of(self.page_units)
        };
        let (from, until) = (run.until.max(behind), until.min(self.exported));
        if from < until { from..until } else { 0..0 }
    }
}

/// How many runs are read at once.
impl Runs {
    /// Whether a run has as many reads as make the device read ahead of it.
    const fn is_long(&self, run: &Run) -> bool {
        run.reads >= self.keys.read_ahead_after
    }

    /// Whether more runs are being read, with the one that is read now, than the device reads ahead
    /// of at once.
    fn is_crowded(&self) -> bool {
        let most = self.keys.read_ahead_at_once;
        let is_read = |run: &&Run| self.is_long(run) && run.at + RECENT >= self.started;
        most > 0 && self.list.iter().filter(is_read).count() as u64 >= most
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::DeviceKeys;
    use flashyard_core::quantity::Ppm;

    const UNIT: u64 = 8;

    /// Runs on a device of pages of one unit of 4 KiB: a window of 16 units, of which 4 may be
    /// left, after the second read.
    fn runs(change: impl FnOnce(&mut BufferKeys)) -> Runs {
        let mut keys = DeviceKeys::default();
        (keys.buffer.bytes, keys.buffer.read_ahead_kib) = (1 << 20, 64);
        keys.map.store = crate::config::MapStore::Resident;
        keys.buffer.read_ahead_low_percent = Ppm::from_percent(25);
        keys.geometry.page_bytes = 4096;
        change(&mut keys.buffer);
        *Runs::new(&Settings::new(keys).expect("a device")).expect("it reads ahead")
    }

    /// Starts reads of units and says what is wanted then, in units.
    fn read(runs: &mut Runs, units: Range<u64>) -> Option<Range<u64>> {
        runs.follow(&(units.start * UNIT..units.end * UNIT));
        runs.wanted.pop_front()
    }

    #[test]
    fn a_run_is_read_ahead_from_its_second_read_on_and_again_when_little_is_left() {
        let mut runs = runs(|_| ());
        assert_eq!(read(&mut runs, 100..101), None, "no run yet");
        assert_eq!(
            read(&mut runs, 101..102),
            Some(102..118),
            "the window from the end of the read"
        );
        for unit in 102..113 {
            assert_eq!(read(&mut runs, unit..unit + 1), None, "more than 4 units are left");
        }
        assert_eq!(read(&mut runs, 113..114), Some(118..130), "4 units are left");
    }

    #[test]
    fn reads_that_are_started_in_another_order_belong_to_their_run() {
        let mut runs = runs(|_| ());
        read(&mut runs, 0..1);
        read(&mut runs, 1..2);
        for unit in [4, 2, 3, 5] {
            assert_eq!(read(&mut runs, unit..unit + 1), None);
        }
        assert_eq!(runs.list.len(), 1);
        assert_eq!(runs.list[0].next, 6 * UNIT);
    }

    #[test]
    fn the_run_that_was_read_longest_ago_makes_way() {
        let mut runs = runs(|keys| keys.read_ahead_runs = 2);
        for first in [0, 1000, 2000] {
            read(&mut runs, first..first + 1);
        }
        assert_eq!(read(&mut runs, 1..2), None, "the first run is forgotten");
        assert_eq!(read(&mut runs, 2001..2002), Some(2002..2018), "the last one is not");
    }

    #[test]
    fn a_run_begins_after_as_many_reads_as_the_key_says_and_ends_with_the_device() {
        let mut runs = runs(|keys| keys.read_ahead_after = 3);
        let end = runs.exported;
        read(&mut runs, end - 10..end - 9);
        assert_eq!(read(&mut runs, end - 9..end - 8), None);
        assert_eq!(read(&mut runs, end - 8..end - 7), Some(end - 7..end));
        assert_eq!(read(&mut runs, end - 7..end), None, "nothing is left to be read");
    }

    /// Three runs take turns where two are read ahead of at once: the first two get their windows
    /// before the third one is a run. One that is alone again gets its next one once the last reads
    /// of the others are 64 reads ago.
    #[test]
    fn nothing_is_read_ahead_while_too_many_runs_are_read() {
        let mut runs = runs(|keys| keys.read_ahead_at_once = 2);
        let mut wanted = 0;
        for at in 0..40 {
            for first in [0, 1000, 2000] {
                wanted += u64::from(read(&mut runs, first + at..first + at + 1).is_some());
            }
        }
        assert_eq!(wanted, 2);
        for at in 40..40 + RECENT - 2 {
            assert_eq!(read(&mut runs, at..at + 1), None, "{at}");
        }
        assert!(read(&mut runs, 38 + RECENT..39 + RECENT).is_some());
    }

    /// Of too many runs, the rest of the block that a read ends in is wanted: nothing where it ends
    /// with the block.
    #[test]
    fn the_rest_of_a_block_is_read_ahead_of_too_many_runs() {
        let mut runs = runs(|keys| {
            (keys.read_ahead_at_once, keys.read_ahead_rest_kib) = (1, 16);
        });
        for first in [0, 1000] {
            read(&mut runs, first..first + 1);
            read(&mut runs, first + 1..first + 2);
        }
        assert_eq!(read(&mut runs, 1002..1003), None, "1003 is wanted since 1001 was read");
        assert_eq!(read(&mut runs, 1003..1004), None, "it ends with the block");
        assert_eq!(read(&mut runs, 1004..1006), Some(1006..1008));
        assert_eq!(read(&mut runs, 1006..1009), Some(1009..1012));
    }

    /// A page is read once: the window ends with a whole one.
    #[test]
    fn windows_end_with_whole_pages() {
        let mut runs = runs(|_| ());
        runs.page_units = 4;
        read(&mut runs, 0..1);
        assert_eq!(read(&mut runs, 1..2), Some(2..20));
    }
}
