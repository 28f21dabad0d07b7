//! When the write buffer is flushed although no request asks for it, and what it holds before the
//! run.

use super::{Device, SimError};
use crate::buffer::Lines;
use crate::buffer::ports::Direction;
use crate::config::{Eviction, InitialBuffer, InitialState, PartialWrite};
use crate::host::timers::Timer;
use crate::initial::{self, random::Random};
use flashyard_core::request::RequestOp;
use flashyard_core::units::{Lpn, Span, Time};

/// Lines of a group that are looked at for one to flush (assumed): bounds the work.
pub(super) const LOOK: usize = 256;
/// Queued requests that are looked at for one that needs a line (the study of ROS: a queue of 32).
const QUEUE_LOOK: usize = 32;

impl Device {
    /// Whether the buffer flushes by itself, not as a host policy says.
    pub(super) fn drains_by_itself(&self) -> bool {
        !self.host.policy.by_pages()
    }

    /// Whether a flush could not begin because of the map cache since this was last asked.
    pub(super) fn stalled_before(&mut self) -> bool {
        let Some(buffer) = &mut self.buffer else { return false };
        buffer.tries_again = std::mem::take(&mut buffer.stalled);
        buffer.tries_again
    }

    /// Flushes what no request asks for, as far as its rule wants it and planes are free. Where a
    /// host policy does that, only for writes that it has started with all their pages. Returns
    /// whether a flush began.
    pub(super) fn drain_buffer(&mut self) -> bool {
        let Some(buffer) = &self.buffer else { return false };
        let by_itself = self.drains_by_itself();
        if !by_itself && buffer.waiting.is_empty() {
            return false;
        }
        let idle = by_itself && self.is_quiet();
        let mut any = false;
        while self.wants_flush(idle) && self.may_flush() && self.drain_group() {
            any = true;
        }
        any
    }

    /// Begins to flush a program unit of the group whose turn it is. Where nothing of that is fit
    /// and a host policy flushes, the other ready ones are tried. Returns whether a flush began.
    fn drain_group(&mut self) -> bool {
        let buffer = self.staging_mut();
        let Some(first) = buffer.lines.pick() else {
            // No program would be full, but a write waits.
            let waits = !buffer.waiting.is_empty() && buffer.lines.freeing() == 0;
            let oldest = if waits { buffer.lines.oldest() } else { None };
            let group = oldest.map(|line| self.staging().lines.line(line).group());
            return group.is_some_and(|group| self.flush_lines(None, group, None, false).any);
        };
        let mut group = first;
        loop {
            let oldest = self.staging_mut().lines.oldest_of(group);
            if self.drains_by_itself() && oldest.is_some_and(|line| !self.is_fit(line, false)) {
                // Its turn is kept: it is flushed when it has been put.
                return false;
            }
            let begun = self.flush_lines(None, group, None, false);
            if begun.any || begun.stalled {
                return begun.any;
            }
            match self.staging().lines.next_ready(group) {
                Some(next) if next != first => group = next,
                _ => return false,
            }
        }
    }

    fn keys(&self) -> &crate::config::BufferKeys {
        &self.settings.keys.buffer
    }

    /// Whether another program unit may be under way.
    pub(super) fn may_flush(&self) -> bool {
        let width = self.keys().flush_width;
        width == 0 || self.buffer.as_ref().is_none_or(|buffer| buffer.flushes < width)
    }

    /// Whether a dirty unit shall be flushed now.
    fn wants_flush(&mut self, idle: bool) -> bool {
        let by_itself = self.drains_by_itself();
        let buffer = self.staging_mut();
        let (dirty, freeing) = (buffer.lines.dirty(), buffer.lines.freeing());
        if dirty == 0 {
            buffer.draining = false;
            return false;
        }
        // For a policy that flushes, only what has been started may need a line.
        let eviction = if by_itself { buffer.keys.eviction } else { Eviction::Full };
        let wants = match eviction {
            Eviction::Watermark => {
                buffer.draining = dirty > buffer.low && (buffer.draining || dirty >= buffer.high);
                buffer.draining
            }
            Eviction::Full => buffer.waiting.len() > freeing as usize,
            Eviction::Ahead => {
                let coming = buffer.lines.free_lines() + freeing;
                assert!(coming <= buffer.lines.units(), "each line comes once");
                self.wants_lines(u64::from(coming))
            }
            Eviction::AtOnce => true,
        };
        wants || idle
    }

    /// Whether the writes in the host queue, and those that wait for a line already, need more
    /// lines than are `coming`.
    fn wants_lines(&mut self, coming: u64) -> bool {
        let buffer = self.buffer.as_mut().expect("there is a buffer");
        let mut needed = buffer.waiting.len() as u64;
        buffer.wanted.begin();
        let requests = self.host.translating.iter().chain(&self.host.waiting);
        let window = usize::try_from(buffer.keys.ahead_requests).unwrap_or(usize::MAX);
        for request in requests.take(window).map(|&handle| &self.host.pending[handle as usize]) {
            if needed > coming {
                return true;
            }
            if request.request.op != RequestOp::Write {
                continue;
            }
            let first = request.first.get();
            for lpn in (first + request.translated..first + request.pages).map(Lpn::new) {
                if buffer.lines.find(lpn).is_none() && buffer.wanted.is_new(lpn) {
                    needed += 1;
                    if needed > coming {
                        return true;
                    }
                }
            }
        }
        needed > coming
    }

    /// Whether no request has been outstanding for as long as the buffer waits before it is
    /// flushed.
    fn is_quiet(&mut self) -> bool {
        let (arrived, now) = (self.host.arrived, self.now);
        if !self.keys().flush_when_idle || self.host.outstanding > 0 {
            return false;
        }
        let wait = Span::from_ns(self.keys().idle_ms);
        if wait == Span::ZERO {
            return true;
        }
        let buffer = self.buffer.as_mut().expect("there is a buffer");
        if buffer.quiet.0 != arrived {
            buffer.quiet = (arrived, now);
        }
        let due = buffer.quiet.1.saturating_add(wait);
        if due > now && buffer.lines.dirty() > 0 && !buffer.looks {
            buffer.looks = true;
            self.host.timers.set(due, Timer::Quiet);
        }
        due <= now
    }

    /// It is time to look whether the device is idle.
    pub(super) fn quiet_over(&mut self) {
        self.staging_mut().looks = false;
    }

    /// Whether the write that a line has its contents from is not over.
    pub(super) fn is_being_put(&self, line: u32) -> bool {
        let line = self.staging().lines.line(line);
        let writer = self.write_or_change(line.lpn, line.version + 1);
        writer.is_some_and(|set| {
            self.sets.graph.node(set).number == line.version && self.is_unput(set)
        })
    }

    /// A unit has been put: it is flushed where that is the rule.
    pub(super) fn flush_at_once(&mut self, lpn: Lpn) {
        if self.keys().eviction != Eviction::AtOnce || !self.drains_by_itself() || !self.may_flush()
        {
            return;
        }
        let lines = &self.staging().lines;
        if let Some(line) = lines.find(lpn)
            && lines.line(line).is_dirty()
            && lines.may_begin(lines.line(line).group())
        {
            self.flush_line(line);
        }
    }

    /// Begins to flush a dirty line, with others of its group as far as its program unit has room.
    /// Returns whether its own flush began.
    pub(super) fn flush_line(&mut self, line: u32) -> bool {
        let group = self.staging().lines.line(line).group();
        self.flush_lines(Some(line), group, None, false).head
    }

    /// The same for a host policy, as far as program units may be under way.
    pub(super) fn flush_for_policy(&mut self, line: u32) -> bool {
        self.may_flush() && self.flush_line(line)
    }

    /// The first dirty line of a group from `line` on that may be flushed without being asked for.
    pub(super) fn fit_line(&self, mut line: Option<u32>, with_head: bool) -> Option<u32> {
        for _ in 0..LOOK {
            match line {
                Some(unfit) if !self.is_fit(unfit, with_head) => {
                    line = self.staging().lines.next_of_group(unfit);
                }
                found => return found,
            }
        }
        None
    }

    /// Whether a dirty line may be flushed although no request asks for that: not while it is put
    /// or, beside the line that a host policy flushes, while a port or a queued request needs it.
    fn is_fit(&self, line: u32, with_head: bool) -> bool {
        if self.drains_by_itself() {
            return self.keys().eviction == Eviction::Watermark || !self.is_being_put(line);
        }
        let buffer = self.staging();
        let uses = |direction| buffer.ports.uses(direction, line, self.now);
        let state = buffer.lines.line(line);
        let put = buffer.ports.carries(Direction::Put, self.now);
        let needed = || {
            uses(Direction::Get)
                || uses(Direction::Put)
                || put.is_some_and(|put| put.bank == state.bank())
                || self.is_queued(state.lpn)
        };
        !(self.is_being_put(line) || (with_head && needed()))
    }

    /// Whether one of the oldest queued requests has an access of a unit that is not started.
    fn is_queued(&self, lpn: Lpn) -> bool {
        self.host.waiting.iter().take(QUEUE_LOOK).any(|&handle| {
            let request = &self.host.pending[handle as usize];
            let page = || lpn.get() - request.first.get();
            request.touches(lpn) && self.unstarted_page(handle, page()) == Some(page())
        })
    }

    /// When a drained device rests: what reads have left in the buffer may still be put.
    pub(super) fn rests_at(&self) -> Time {
        self.buffer.as_ref().map_or(self.now, |buffer| buffer.ports.rest().max(self.now))
    }

    /// A phase begins: the buffer has nothing to do, and is quiet since now at the earliest.
    pub(super) fn rest_buffer(&mut self) {
        self.now = self.rests_at();
        if let Some(buffer) = &mut self.buffer {
            buffer.quiet.0 = u64::MAX;
        }
    }

    /// Adds what flash has of a unit. Returns the unit that made way.
    pub(super) fn add_clean(&mut self, lpn: Lpn) -> Option<Lpn> {
        let sectors = self.unit_range();
        let lines = &mut self.staging_mut().lines;
        let (line, evicted) = lines.insert_clean(lpn);
        let state = lines.line_mut(line);
        (state.from, state.until) = (sectors.start, sectors.end);
        evicted
    }

    /// Adds a unit as a write would, that came before all others and that nobody is charged for.
    fn add_dirty(&mut self, lpn: Lpn) {
        let (sectors, group) = (self.unit_range(), self.group_of(lpn, 0));
        let number = self.sets.next_number;
        self.sets.next_number += 1;
        if self.settings.keys.ftl.partial_write == PartialWrite::Bitmap {
            self.ftl.cover(lpn, u64::from(sectors.start)..u64::from(sectors.end));
        }
        let lines = &mut self.staging_mut().lines;
        let (line, _) = lines.insert(lpn);
        let state = lines.line_mut(line);
        state.version = number;
        (state.from, state.until) = (sectors.start, sectors.end);
        lines.mark_dirty(line, group);
    }

    /// Fills the buffer of a new device as its keys ask.
    pub(super) fn fill_buffer(&mut self) {
        if self.buffer.is_none() {
            return;
        }
        let steady = self.settings.keys.state.initial == InitialState::Steady;
        match self.keys().initial {
            InitialBuffer::Auto if steady => self.fill_at_random(),
            InitialBuffer::Auto | InitialBuffer::Empty => {}
            InitialBuffer::Dirty => {
                let exported = self.settings.exported_units;
                for lpn in exported - self.settings.buffer_units..exported {
                    self.add_dirty(Lpn::new(lpn));
                }
            }
        }
    }

    /// Makes different units dirty at random, at most half of those that have been written, until
    /// flushing is about to begin.
    fn fill_at_random(&mut self) {
        let state = self.settings.keys.state;
        let written = initial::device::share(self.settings.exported_units, state.fill_percent);
        let count = initial::device::share(self.settings.buffer_units, self.keys().high_percent);
        let mut random = Random::new(state.seed, 4);
        let mut left = count.min(written / 2);
        while left > 0 {
            let lpn = Lpn::new(random.below(written));
            if self.staging().lines.find(lpn).is_none() {
                self.add_dirty(lpn);
                left -= 1;
            }
        }
    }

    /// Fills the write buffer before the run: units, the bank of the line of each if it is not that
    /// of its number, and whether it is dirty; the least recently used one first. A clean unit
    /// holds what flash has.
    pub fn preload_buffer(&mut self, units: &[(u64, Option<u32>, bool)]) -> Result<(), SimError> {
        let wrong = |why: String| Err(SimError::InitialLines(why));
        let Some(buffer) = &self.buffer else {
            return wrong("initial units, but no write buffer; set buffer.bytes".to_string());
        };
        let (room, banks) = (untouched(&buffer.lines), buffer.lines.banks());
        if units.len() > room as usize {
            let count = units.len();
            let fix = if self.settings.keys.buffer.initial == InitialBuffer::Dirty {
                "set buffer.initial = \"empty\""
            } else {
                "raise buffer.bytes or give fewer"
            };
            return wrong(format!(
                "{count} initial units are more than the {room} free lines; {fix}"
            ));
        }
        let exported = u64::from(self.settings.exported_units);
        for &(number, bank, dirty) in units {
            let Some(lpn) = u32::try_from(number).ok().filter(|_| number < exported) else {
                let last = exported - 1;
                return wrong(format!("initial unit {number}: the last one is {last}"));
            };
            if let Some(bank) = bank.filter(|bank| *bank >= banks) {
                return wrong(format!(
                    "initial unit {number}: bank {bank} of {banks} (buffer.banks), counted from 0"
                ));
            }
            let lpn = Lpn::new(lpn);
            if self.staging().lines.find(lpn).is_some() {
                return wrong(format!("initial unit {number} is in the write buffer already"));
            }
            if dirty {
                self.add_dirty(lpn);
            } else {
                self.add_clean(lpn);
            }
            let lines = &mut self.staging_mut().lines;
            if let Some(bank) = bank {
                let line = lines.find(lpn).expect("it was added");
                lines.move_to_bank(line, bank);
            }
        }
        let lines = self.buffer.iter().flat_map(|buffer| buffer.all_lines());
        self.account.buffer_preloaded(lines);
        Ok(())
    }
}

/// Lines that hold nothing.
fn untouched(lines: &Lines) -> u32 {
    let clean = lines.clean_lines().count();
    lines.free_lines() - u32::try_from(clean).expect("a part of the lines")
}
