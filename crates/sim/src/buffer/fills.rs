//! Units that reads leave in the buffer.

use super::{Buffer, Direction};
use crate::config::ReadAllocate;
use crate::handle::LineId;
use crate::sets::Sets;
use flashyard_core::units::{Lpn, Time};

/// Dirty lines that are looked at for one to flush (assumed): bounds the work.
pub(super) const LOOK: usize = 256;

/// A unit that a read has found on flash and that waits for a line.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fill {
    pub(crate) lpn: Lpn,
    /// The unit whose line it gets when its flush is over; none until that has begun.
    displaces: Option<Lpn>,
}

impl Buffer {
    /// Whether a unit that a read has found on flash could stay: nothing newer is known of it, and
    /// no write waits for a line.
    pub(crate) fn may_keep(&self, lpn: Lpn) -> bool {
        self.lines.find(lpn).is_none()
            && self.waiting.is_empty()
            && !self.fills.iter().any(|fill| fill.lpn == lpn)
    }

    /// Whether a unit that a read leaves has a line without a flush.
    pub(crate) fn has_room_for_read(&self) -> bool {
        match self.keys.read_allocate {
            ReadAllocate::Never => false,
            ReadAllocate::Clean => self.lines.has_room(),
            ReadAllocate::Displace => self.lines.first_is_not_dirty(),
        }
    }

    /// A unit that a read leaves waits for a line, if lines are flushed for it. Returns whether it
    /// does.
    pub(crate) fn wait_for_line(&mut self, lpn: Lpn) -> bool {
        let waits = self.keys.read_allocate == ReadAllocate::Displace;
        if waits {
            self.changes();
            self.fills.push_back(Fill { lpn, displaces: None });
        }
        waits
    }

    /// The first unit whose line has been flushed.
    pub(crate) fn next_flushed(&self) -> Option<Fill> {
        let is_flushing =
            |unit| self.lines.find(unit).is_some_and(|line| self.lines[line].is_flushing());
        let is_over = |fill: &&Fill| fill.displaces.is_some_and(|unit| !is_flushing(unit));
        self.fills.iter().find(is_over).copied()
    }

    /// The first unit for which no flush has begun.
    pub(crate) fn next_unserved(&self) -> Option<Lpn> {
        self.fills.iter().find(|fill| fill.displaces.is_none()).map(|fill| fill.lpn)
    }

    /// The line that was flushed for a unit is free, if it was not written again or taken. Returns
    /// the unit that it held.
    pub(crate) fn free_displaced(&mut self, fill: &Fill) -> Option<Lpn> {
        self.changes();
        let unit = fill.displaces?;
        let line = self.lines.find(unit).filter(|&line| !self.lines[line].is_dirty())?;
        self.lines.remove(line);
        Some(unit)
    }

    /// The flush of a unit has begun for one that waits, or could not; where it still waits.
    /// Returns whether it does.
    pub(crate) fn displace(&mut self, lpn: Lpn, displaced: Option<Lpn>) -> bool {
        self.changes();
        let Some(fill) = self.fills.iter_mut().find(|fill| fill.lpn == lpn) else { return false };
        fill.displaces = displaced;
        true
    }

    /// A unit no longer waits. Returns whether it did.
    pub(crate) fn drop_fill(&mut self, lpn: Lpn) -> bool {
        self.changes();
        let found = self.fills.iter().position(|fill| fill.lpn == lpn);
        found.is_some_and(|at| self.fills.remove(at).is_some())
    }

    /// The dirty line that goes first of those that may be flushed for a unit that a read leaves.
    pub(crate) fn victim(&self, sets: &Sets, now: Time) -> Option<LineId> {
        let lines = &self.lines;
        let dirty = std::iter::successors(lines.first_dirty(), |line| lines.next_dirty(*line));
        dirty.take(LOOK).find(|&line| {
            let state = &lines[line];
            !state.is_flushing()
                && lines.may_begin(state.group())
                && !self.ports.uses(Direction::Get, line, now)
                && !self.ports.uses(Direction::Put, line, now)
                && !self.is_being_put(line, sets)
        })
    }
}
