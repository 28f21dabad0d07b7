//! Units come into the buffer, and leave it without a flush.

use super::writes::write_or_change;
use super::{Buffer, is_unput};
use crate::handle::{LineId, RequestId};
use crate::sets::{Set, Sets};
use flashyard_core::units::Lpn;
use std::ops::Range;

/// The unit of a write, to be put.
#[derive(Debug)]
pub(crate) struct Put {
    pub(crate) lpn: Lpn,
    /// The place of the write in the order of changes.
    pub(crate) number: u64,
    /// The handle of its request, and the order of arrival of that.
    pub(crate) writer: (RequestId, u64),
    pub(crate) stream: u8,
    /// The sectors that it writes.
    pub(crate) covered: Range<u64>,
    pub(crate) group: u32,
    /// Whether its own program follows.
    pub(crate) through: bool,
    /// Whether it is its turn among the writes that wait.
    pub(crate) granted: bool,
}

/// What a put has changed.
#[derive(Debug)]
pub(crate) struct PutOutcome {
    pub(crate) line: LineId,
    /// Whether the unit had a line, and whether what that held was on flash.
    pub(crate) held: bool,
    pub(crate) clean: bool,
    /// The unit that made way.
    pub(crate) evicted: Option<Lpn>,
    /// Whether what a read has found of the unit waited for a line.
    pub(crate) fill_dropped: bool,
}

impl Buffer {
    /// Whether the write that has waited longest for a line may be put: there is one, it has one,
    /// or it needs none.
    #[inline]
    pub(crate) fn may_put(&self, write: &Set) -> bool {
        self.has_room() || write.is_superseded() || self.lines.find(write.lpn()).is_some()
    }

    /// Puts the unit of a write into a line, if one is free.
    pub(crate) fn put(&mut self, put: &Put, sets: &Sets) -> Option<PutOutcome> {
        let held = self.lines.find(put.lpn);
        let first = put.granted || self.waiting.is_empty();
        // What waits is put in order; a write that finds its unit may pass writes of others.
        let overtakes = || {
            let earlier = write_or_change(sets, put.lpn, put.number);
            earlier.is_some_and(|set| is_unput(sets, set))
        };
        let room = match held {
            Some(_) => first || !overtakes(),
            None => first && self.has_room(),
        };
        if !room {
            return None;
        }
        self.changes();
        let covered = self.kept_range(&put.covered);
        let fill_dropped = self.drop_fill(put.lpn);
        let (line, evicted) = held.map_or_else(|| self.lines.insert(put.lpn), |line| (line, None));
        let state = &mut self.lines[line];
        (state.version, state.writer, state.stream) = (put.number, Some(put.writer), put.stream);
        (state.from, state.until) = match held {
            Some(_) => merged(state.from..state.until, &covered),
            None => (covered.start, covered.end),
        };
        let clean = !state.is_dirty();
        if !put.through {
            self.lines.mark_dirty(line, put.group);
        }
        Some(PutOutcome { line, held: held.is_some(), clean, evicted, fill_dropped })
    }

    /// The sectors that are kept of a write: where nobody asks, the whole unit.
    fn kept_range(&self, covered: &Range<u64>) -> Range<u16> {
        if !self.partial {
            return self.unit_range();
        }
        let narrow = |sector: u64| u16::try_from(sector).expect("a unit is at most 1 MiB");
        narrow(covered.start)..narrow(covered.end)
    }

    /// A unit was trimmed by the change `number`. Returns, if that was the latest change of it,
    /// whether its line was dirty.
    pub(crate) fn trim(&mut self, lpn: Lpn, number: u64) -> Option<bool> {
        self.changes();
        let line = self.lines.find(lpn)?;
        let state = &self.lines[line];
        if state.version > number {
            return None;
        }
        let dirty = state.is_dirty();
        self.lines.remove(line);
        Some(dirty)
    }

    /// Adds what flash has of a unit. Returns its line and the unit that made way.
    pub(crate) fn add_clean(&mut self, lpn: Lpn) -> (LineId, Option<Lpn>) {
        self.changes();
        let (line, evicted) = self.lines.insert_clean(lpn);
        let state = &mut self.lines[line];
        (state.from, state.until) = (self.sectors.start, self.sectors.end);
        (line, evicted)
    }

    /// Adds a unit as a write would that is this change and that nobody is charged for.
    pub(crate) fn add_dirty(&mut self, lpn: Lpn, number: u64, group: u32) {
        self.changes();
        let (line, _) = self.lines.insert(lpn);
        let state = &mut self.lines[line];
        state.version = number;
        (state.from, state.until) = (self.sectors.start, self.sectors.end);
        self.lines.mark_dirty(line, group);
    }

    /// Puts the line of a unit into another bank.
    pub(crate) fn move_to_bank(&mut self, lpn: Lpn, bank: u32) {
        let line = self.lines.find(lpn).expect("it was added");
        self.lines.move_to_bank(line, bank);
    }
}

/// The sectors that a line holds after a write: one range, the longer one of two that do not touch.
fn merged(held: Range<u16>, new: &Range<u16>) -> (u16, u16) {
    if held.start <= new.end && new.start <= held.end {
        return (held.start.min(new.start), held.end.max(new.end));
    }
    let longer = if new.len() > held.len() { new.clone() } else { held };
    (longer.start, longer.end)
}
