//! Which lines are flushed next, and what flushes change.

use super::batch::{Batch, Quiet};
use super::fills::LOOK;
use super::rules::BufferView;
use super::{Buffer, Direction};
use crate::config::{Eviction, Replacement};
use crate::handle::LineId;
use crate::observe::FlushTrigger;
use crate::sets::Sets;
use flashyard_core::units::{Lpn, Time};

impl Buffer {
    /// Whether nothing can be done for it: nothing has changed since it was last looked at or,
    /// where it `may_rest`, it has nothing to do. Otherwise it is looked at now.
    #[inline]
    pub(crate) fn rests(&mut self, may_rest: bool) -> bool {
        if self.settled || (may_rest && self.is_done()) {
            return true;
        }
        self.settled = self.settles && self.fills.is_empty() && !self.stalled;
        false
    }

    /// Whether no line is dirty, nothing waits for a line, and no flush was held back.
    #[inline]
    fn is_done(&mut self) -> bool {
        let done = self.lines.dirty() == 0
            && self.waiting.is_empty()
            && self.fills.is_empty()
            && !(self.stalled || self.tries_again);
        if done {
            self.rule.set_draining(false);
            self.settled = self.settles;
        }
        done
    }

    /// Something has changed that flows look at.
    pub(super) const fn changes(&mut self) {
        self.settled = false;
    }

    /// Whether the buffer flushes by itself, not as a host policy says.
    pub(crate) const fn flushes_itself(&self) -> bool {
        !self.by_pages
    }

    /// Whether a flush could not begin because of the map cache since this was last asked.
    pub(crate) fn stalled_before(&mut self) -> bool {
        self.tries_again = std::mem::take(&mut self.stalled);
        self.tries_again
    }

    /// Whether a flush could not begin because of the map cache.
    pub(crate) const fn is_stalled(&self) -> bool {
        self.stalled
    }

    /// A flush cannot begin because of the map cache. Returns whether that is new, however often it
    /// is tried again.
    pub(super) fn stall(&mut self) -> bool {
        self.changes();
        let known = std::mem::replace(&mut self.stalled, true) || self.tries_again;
        !known
    }

    /// Whether another program unit may be under way.
    pub(crate) const fn may_flush(&self) -> bool {
        self.keys.flush_width == 0 || self.flushes < self.keys.flush_width
    }

    /// Whether a program unit may be flushed that no request asks for: another one may be under
    /// way, and a group fills one, or a write waits that no flush under way serves. Looking for
    /// a group moves the hand of a clock, so a clock is always looked at.
    pub(crate) fn may_drain(&self) -> bool {
        self.may_flush()
            && (self.lines.is_any_ready()
                || self.keys.replacement == Replacement::Clock
                || self.is_awaited())
    }

    /// Whether a host policy flushes, and no write that it has started waits for a line.
    pub(crate) fn leaves_flushing(&self) -> bool {
        self.by_pages && self.waiting.is_empty()
    }

    /// Why a dirty unit shall be flushed now, if it shall: the rule of the buffer says so, which
    /// may look at the units that writes in the host queue are going to put (`coming` gives those
    /// of so many requests), or the device is `idle`.
    pub(crate) fn wants_flush<I: Iterator<Item = Lpn>>(
        &mut self,
        idle: bool,
        coming: impl FnOnce(usize) -> I,
    ) -> Option<FlushTrigger> {
        if self.lines.dirty() == 0 {
            self.rule.set_draining(false);
            return None;
        }
        let waiting = u32::try_from(self.waiting.len()).expect("handles have 32 bits");
        let ahead = usize::try_from(self.keys.ahead_requests).unwrap_or(usize::MAX);
        let (lines, coming) = (&self.lines, &mut coming(ahead));
        if self.rule.wants(&mut BufferView { lines, waiting, coming }) {
            return Some(self.rule.trigger());
        }
        idle.then_some(FlushTrigger::Idle)
    }

    /// Whether nothing is outstanding for as long as the buffer waits before it is flushed, where
    /// so many requests have `arrived`.
    pub(crate) fn quiet(&mut self, arrived: u64, outstanding: u64, now: Time) -> Quiet {
        if !self.keys.flush_when_idle || outstanding > 0 {
            return Quiet::No;
        }
        let wait = self.keys.idle_ms;
        if wait.is_zero() {
            return Quiet::Yes;
        }
        if self.quiet.0 != arrived {
            self.quiet = (arrived, now);
        }
        let due = self.quiet.1.saturating_add(wait);
        if due <= now {
            return Quiet::Yes;
        }
        if self.lines.dirty() == 0 || std::mem::replace(&mut self.looks, true) {
            return Quiet::No;
        }
        Quiet::From(due)
    }

    /// It is time to look whether the device is idle.
    pub(crate) const fn quiet_over(&mut self) {
        self.looks = false;
    }

    /// A phase begins: the buffer is quiet since then at the earliest.
    pub(crate) fn rest(&mut self) {
        self.quiet.0 = u64::MAX;
        self.forget_runs();
        if let Some(release) = &mut self.release {
            release.begin();
        }
    }

    /// The group of the dirty line that goes first.
    pub(crate) fn oldest_group(&mut self) -> Option<u32> {
        let oldest = self.lines.oldest()?;
        Some(self.lines[oldest].group())
    }

    /// The group to flush next that no request asks for: those that fill a program by turns, each
    /// once; where none does, that of the line that goes first, if a write waits that no flush
    /// under way serves. `tried` are the first and the last one that were tried for nothing.
    pub(crate) fn next_group(
        &mut self,
        tried: &mut Option<(u32, u32)>,
        sets: &Sets,
    ) -> Option<u32> {
        let ready = match *tried {
            None => self.lines.pick(),
            Some((first, last)) => Some(self.lines.next_ready(last).filter(|next| *next != first)?),
        };
        let Some(group) = ready else {
            let group = if self.is_awaited() { self.oldest_group()? } else { return None };
            *tried = Some((group, group));
            return Some(group);
        };
        *tried = Some((tried.map_or(group, |(first, _)| first), group));
        (!self.keeps_turn(group, sets)).then_some(group)
    }

    /// Whether a write waits for a line that no flush under way frees.
    fn is_awaited(&self) -> bool {
        let held = self.release.as_ref().is_some_and(|release| release.held > 0);
        !self.waiting.is_empty() && self.lines.freeing() == 0 && !held
    }

    /// Whether the turn of a group is kept: its first line is flushed when it has been put.
    fn keeps_turn(&mut self, group: u32, sets: &Sets) -> bool {
        let oldest = self.lines.oldest_of(group);
        self.flushes_itself() && oldest.is_some_and(|line| !self.may_flush_itself(line, sets))
    }

    /// The next dirty line of a group, of those behind `passed` where some were passed over.
    pub(super) fn next_flush(&mut self, group: u32, passed: Option<LineId>) -> Option<LineId> {
        match passed {
            Some(passed) => self.lines.next_of_group(passed),
            None => self.lines.oldest_of(group),
        }
    }

    /// The first dirty line of a group from `line` on that may be flushed without being asked for,
    /// beside a line that a host policy flushes if `with_head`; `is_queued` tells units that the
    /// oldest queued requests access.
    pub(super) fn fit_line(
        &self,
        mut line: Option<LineId>,
        with_head: bool,
        (sets, now): (&Sets, Time),
        is_queued: impl Fn(Lpn) -> bool,
    ) -> Option<LineId> {
        for _ in 0..LOOK {
            let found = line?;
            let fit = if self.flushes_itself() {
                self.may_flush_itself(found, sets)
            } else {
                let needed = || self.is_in_use(found, now) || is_queued(self.lines[found].lpn);
                !(self.is_being_put(found, sets) || (with_head && needed()))
            };
            if fit {
                return line;
            }
            line = self.lines.next_of_group(found);
        }
        None
    }

    /// Whether the buffer may flush a dirty line by itself: not while it is put.
    fn may_flush_itself(&self, line: LineId, sets: &Sets) -> bool {
        self.keys.eviction == Eviction::Watermark || !self.is_being_put(line, sets)
    }

    /// Whether a port uses a line, or puts into its bank.
    fn is_in_use(&self, line: LineId, now: Time) -> bool {
        let bank = self.lines[line].bank();
        self.ports.uses(Direction::Get, line, now)
            || self.ports.uses(Direction::Put, line, now)
            || self.ports.carries(Direction::Put, now).is_some_and(|put| put.bank == bank)
    }

    /// The line of a unit that has just been put, if the rule is to flush it at once.
    pub(crate) fn flush_at_once(&self, lpn: Lpn) -> Option<LineId> {
        if self.keys.eviction != Eviction::AtOnce || !self.flushes_itself() || !self.may_flush() {
            return None;
        }
        let line = self.lines.find(lpn)?;
        let state = &self.lines[line];
        (state.is_dirty() && self.lines.may_begin(state.group())).then_some(line)
    }

    /// How many consecutive units around one that begins to be flushed, at most so many, are in the
    /// buffer and not on flash; the one itself counts.
    pub(crate) fn run_around(&self, lpn: Lpn, most: u32) -> u32 {
        let unwritten = |number: u32| {
            let line = self.lines.find(Lpn::new(number)).map(|line| &self.lines[line]);
            line.is_some_and(|line| line.is_dirty() || line.is_flushing())
        };
        let (mut first, mut end) = (lpn.get(), lpn.get() + 1);
        while end - first < most && unwritten(end) {
            end += 1;
        }
        while end - first < most && first > 0 && unwritten(first - 1) {
            first -= 1;
        }
        end - first
    }

    /// A set begins to carry the contents of a line to flash. The line then has the whole unit,
    /// unless the set first reads what is `lacking`.
    pub(crate) fn begin_flush(&mut self, line: LineId, group: u32, lacking: bool) {
        self.changes();
        if !lacking {
            self.fill(line);
        }
        self.lines.begin_flush(line, group);
    }

    /// Frees the line that goes before all others if it is clean and keeps its unit, which is
    /// returned.
    pub(crate) fn free_kept(&mut self, batch: &mut Batch) -> Option<Lpn> {
        let line = batch.head.filter(|line| self.lines.is_kept(*line))?;
        let lpn = self.lines[line].lpn;
        batch.outcome.head = true;
        self.changes();
        self.lines.remove(line);
        Some(lpn)
    }

    /// A line has all sectors of its unit.
    pub(crate) fn fill(&mut self, line: LineId) {
        let state = &mut self.lines[line];
        (state.from, state.until) = (self.sectors.start, self.sectors.end);
    }

    /// A program unit is under way that no request has asked for.
    pub(super) const fn add_flush(&mut self) {
        self.changes();
        self.flushes += 1;
    }

    /// The program of a line of a group is over; `leads` is whether it stands for its program unit.
    /// Returns the unit that is no longer in the buffer, if that frees its line.
    pub(crate) fn end_flush(&mut self, line: LineId, group: u32, leads: bool) -> Option<Lpn> {
        self.changes();
        self.flushes -= u64::from(leads);
        self.lines.end_flush(line, group)
    }

    /// The same where the line may not be usable at once: returns when it is, if that is later, for
    /// a line that lacks nothing.
    #[inline]
    pub(crate) fn hold_line(&mut self, line: LineId, group: u32, now: Time) -> Option<Time> {
        let release = self.release.as_mut()?;
        let (state, freeing) = (&self.lines[line], self.lines.freeing());
        if state.is_dirty() || state.is_flushing() {
            release.all_are_free(freeing);
            return None;
        }
        release.hold(group, freeing, now)
    }
}
