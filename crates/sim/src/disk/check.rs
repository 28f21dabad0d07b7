//! The checker of a disk: a read returns a version at least as new as the newest one that was
//! acknowledged when the read arrived, and a flush leaves nothing behind that was acknowledged
//! before. It keeps its own record of which version is where.

use super::ranges::Ranges;
use std::collections::BTreeMap;

/// Sectors and a version of them.
pub(super) type Version = (u64, u64, u64);

/// Which versions were acknowledged, are on the platters and in segments. The version is the place
/// in the order of writes.
#[derive(Clone, Debug)]
pub(super) struct Checker {
    /// The newest acknowledged version, and the number of that acknowledgement.
    acknowledged: Ranges<(u64, u64)>,
    acknowledgements: u64,
    platters: Ranges<u64>,
    /// Acknowledged and not on the platters: the number of the first such acknowledgement.
    behind: Ranges<u64>,
    segments: Vec<Ranges<u64>>,
    /// What reads that are not answered must return at least.
    reads: BTreeMap<u64, Vec<Version>>,
    /// How many acknowledgements flushes that are not answered found.
    flushes: BTreeMap<u64, u64>,
}

impl Checker {
    pub(super) fn new(segments: usize) -> Self {
        Self {
            acknowledged: Ranges::new(),
            acknowledgements: 0,
            platters: Ranges::new(),
            behind: Ranges::new(),
            segments: vec![Ranges::new(); segments],
            reads: BTreeMap::new(),
            flushes: BTreeMap::new(),
        }
    }

    pub(super) fn read_arrived(&mut self, order: u64, first: u64, end: u64) {
        let known = self.acknowledged.within(first, end);
        self.reads.insert(order, known.map(|(from, to, (number, _))| (from, to, number)).collect());
    }

    pub(super) fn flush_arrived(&mut self, order: u64) {
        self.flushes.insert(order, self.acknowledgements);
    }

    /// The host has the answer of a write of this version.
    pub(super) fn write_answered(&mut self, first: u64, end: u64, number: u64) {
        self.acknowledgements += 1;
        let newest = parts(&self.acknowledged, first, end, (0, 0));
        for (from, to, (known, _)) in newest {
            if known < number {
                self.acknowledged.set(from, to, (number, self.acknowledgements));
            }
        }
        for (from, to, durable) in parts(&self.platters, first, end, 0) {
            for (from, to, behind) in parts(&self.behind, from, to, u64::MAX) {
                if durable < number && behind == u64::MAX {
                    self.behind.set(from, to, self.acknowledgements);
                }
            }
        }
    }

    /// A version is on the platters.
    pub(super) fn written(&mut self, first: u64, end: u64, number: u64) {
        for (from, to, durable) in parts(&self.platters, first, end, 0) {
            assert!(durable <= number, "sectors {from} to {to}: write {number} after {durable}");
        }
        self.platters.set(first, end, number);
        for (from, to, (newest, acknowledgement)) in parts(&self.acknowledged, first, end, (0, 0)) {
            if newest <= number {
                self.behind.remove(from, to);
            } else {
                self.behind.set(from, to, acknowledgement);
            }
        }
    }

    /// A segment has read on from the platters; `anew` is whether it held something else.
    pub(super) fn segment_read(&mut self, place: usize, first: u64, end: u64, anew: bool) {
        let segment = &mut self.segments[place];
        if anew {
            *segment = Ranges::new();
        }
        for (from, to, number) in parts(&self.platters, first, end, 0) {
            segment.set(from, to, number);
        }
    }

    /// A read is answered from a segment, or from the platters, with these newer versions in the
    /// write cache.
    pub(super) fn read_answered(
        &mut self,
        order: u64,
        (first, end): (u64, u64),
        segment: Option<usize>,
        newer: &[Version],
    ) {
        let base = segment.map_or(&self.platters, |place| &self.segments[place]);
        let mut found = Ranges::new();
        for (from, to, number) in parts(base, first, end, 0) {
            found.set(from, to, number);
        }
        for &(from, to, number) in newer {
            found.set(from, to, number);
        }
        for (from, to, expected) in self.reads.remove(&order).unwrap_or_default() {
            for (from, to, number) in parts(&found, from, to, 0) {
                assert!(
                    number >= expected,
                    "read {order} got version {number} of sectors {from} to {to}, not {expected}"
                );
            }
        }
    }

    pub(super) fn flush_answered(&mut self, order: u64) {
        let found = self.flushes.remove(&order).unwrap_or_default();
        for (from, to, behind) in self.behind.iter() {
            assert!(behind > found, "flush {order} left sectors {from} to {to} behind");
        }
    }

    /// The phase is over: all that was acknowledged is on the platters.
    pub(super) fn rest(&self) {
        assert!(self.behind.is_empty(), "acknowledged writes are not on the platters");
        assert!(self.reads.is_empty() && self.flushes.is_empty(), "requests are unanswered");
    }
}

/// The parts of ranges from `first` to `end`, those without a value with `none`.
fn parts<V: Copy>(ranges: &Ranges<V>, first: u64, end: u64, none: V) -> Vec<(u64, u64, V)> {
    let (mut all, mut at) = (Vec::new(), first);
    for (from, to, value) in ranges.within(first, end) {
        if at < from {
            all.push((at, from, none));
        }
        all.push((from, to, value));
        at = to;
    }
    if at < end {
        all.push((at, end, none));
    }
    all
}
