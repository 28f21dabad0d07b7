//! The cache of a disk: segments of what was read, and writes that are not on the platters.

use super::ranges::Ranges;
use crate::config::DiskKeys;
use flashyard_core::request::SECTOR_BYTES;

/// A write that is not on the platters: its place in the order of writes, and that of the first
/// write of these sectors of which the same is true.
#[derive(Clone, Copy, Debug)]
pub(super) struct Dirty {
    pub(super) number: u64,
    pub(super) oldest: u64,
}

/// Sectors in a row that were read: a ring that keeps the last ones.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Segment {
    pub(super) first: u64,
    pub(super) end: u64,
    /// The end of the last read of the host in it.
    pub(super) wanted: u64,
    /// When it was used last, as a number.
    used: u64,
}

/// Segments and dirty sectors.
#[derive(Clone, Debug)]
pub(super) struct Cache {
    pub(super) segments: Vec<Segment>,
    pub(super) segment_sectors: u64,
    uses: u64,
    /// Writes that no operation of the arm has taken, and those of the operation under way.
    pub(super) dirty: Ranges<Dirty>,
    pub(super) under_way: Vec<(u64, u64, Dirty)>,
    /// Sectors of both, and how many there may be of writes that are acknowledged at once.
    pub(super) held: u64,
    pub(super) room: u64,
}

impl Cache {
    pub(super) fn new(keys: &DiskKeys) -> Self {
        let sectors = |bytes: u64| bytes / u64::from(SECTOR_BYTES);
        let segments = usize::try_from(keys.segments).expect("segments are few");
        Self {
            segments: vec![Segment::default(); segments],
            segment_sectors: sectors(keys.segment_bytes),
            uses: 0,
            dirty: Ranges::new(),
            under_way: Vec::new(),
            held: 0,
            room: sectors(keys.write_cache_bytes),
        }
    }

    /// Whether writes are acknowledged before they are on the platters.
    pub(super) const fn acknowledges(&self) -> bool {
        self.room > 0
    }

    /// Whether a write of so many sectors has room. One that is larger than the cache has room as
    /// long as no other such one is left.
    pub(super) const fn has_room(&self, sectors: u64) -> bool {
        self.held + sectors <= self.room || (sectors > self.room && self.held <= self.room)
    }

    /// Whether no write is missing on the platters.
    pub(super) fn is_clean(&self) -> bool {
        self.dirty.is_empty() && self.under_way.is_empty()
    }

    /// A write of these sectors, of this place in the order of writes, is in the cache.
    pub(super) fn write(&mut self, first: u64, end: u64, number: u64) {
        let replaced = self.dirty.within(first, end).map(|(.., dirty)| dirty.oldest);
        let oldest = replaced.fold(number, u64::min);
        self.held -= self.dirty.remove(first, end);
        self.dirty.set(first, end, Dirty { number, oldest });
        self.held += end - first;
    }

    /// Takes the dirty sectors in a row from `first` on, at most so many, for an operation of the
    /// arm; returns the end of them.
    pub(super) fn take_run(&mut self, first: u64, most: u64) -> u64 {
        let mut end = first;
        while let Some((_, to, dirty)) = self.dirty.at(end) {
            let to = to.min(first + most);
            self.under_way.push((end, to, dirty));
            end = to;
            if end == first + most {
                break;
            }
        }
        self.dirty.remove(first, end);
        end
    }

    /// The operation under way is over: its sectors are on the platters, and what segments hold of
    /// them is out of date.
    pub(super) fn run_over(&mut self) -> Vec<(u64, u64, Dirty)> {
        let run = std::mem::take(&mut self.under_way);
        for &(first, end, _) in &run {
            self.held -= end - first;
            for segment in &mut self.segments {
                if first >= segment.end || end <= segment.first {
                    continue;
                }
                if first > segment.first {
                    segment.end = first;
                } else {
                    segment.first = end.min(segment.end);
                }
            }
        }
        run
    }

    /// Whether the writes of these sectors up to a place in the order of writes are on the
    /// platters.
    pub(super) fn is_durable(&self, first: u64, end: u64, number: u64) -> bool {
        let mut dirty = self.dirty.within(first, end).map(|(.., dirty)| dirty);
        let overlaps = |run: &&(u64, u64, Dirty)| run.0 < end && run.1 > first;
        let mut under_way = self.under_way.iter().filter(overlaps).map(|(.., dirty)| *dirty);
        dirty.all(|dirty| dirty.oldest > number) && under_way.all(|dirty| dirty.oldest > number)
    }

    /// Whether all of these sectors are in a segment or dirty, and the segment, if it has any.
    pub(super) fn look_up(&self, first: u64, end: u64) -> (bool, Option<usize>) {
        let segment = self.segment_at(first, end);
        let held = segment.map_or((0, 0), |place| {
            let segment = &self.segments[place];
            (segment.first, segment.end)
        });
        let mut at = first;
        while at < end {
            at = if let Some((_, to, _)) = self.dirty.at(at) {
                to
            } else if let Some(run) = self.under_way.iter().find(|run| run.0 <= at && at < run.1) {
                run.1
            } else if held.0 <= at && at < held.1 {
                held.1
            } else {
                return (false, segment);
            };
        }
        (true, segment)
    }

    /// The segment that has most of these sectors, from the first that is not dirty on.
    fn segment_at(&self, first: u64, end: u64) -> Option<usize> {
        let shared =
            |segment: &Segment| segment.end.min(end).saturating_sub(segment.first.max(first));
        let places = 0..self.segments.len();
        let most = places.max_by_key(|&place| shared(&self.segments[place]))?;
        (shared(&self.segments[most]) > 0).then_some(most)
    }

    /// A read of the host has used a segment and ends here.
    pub(super) fn used(&mut self, place: usize, wanted: u64) {
        self.uses += 1;
        let segment = &mut self.segments[place];
        segment.used = self.uses;
        segment.wanted = wanted;
    }

    /// Takes the segment that was used least recently for these sectors; none where there are no
    /// segments.
    pub(super) fn replace(&mut self, first: u64, end: u64) -> Option<usize> {
        let least = self.segments.iter().enumerate().min_by_key(|(_, segment)| segment.used)?;
        let place = least.0;
        self.segments[place] = Segment { first, end: first, ..Segment::default() };
        self.extend(place, end);
        Some(place)
    }

    /// A segment has been read on to `end`.
    pub(super) fn extend(&mut self, place: usize, end: u64) {
        let segment = &mut self.segments[place];
        segment.end = end;
        segment.first = segment.first.max(end.saturating_sub(self.segment_sectors));
    }
}
