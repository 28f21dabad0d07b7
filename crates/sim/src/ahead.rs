//! Lines for what is read from flash: what reads leave in the buffer, what is read ahead of runs of
//! reads, and which units that are.
//!
//! A unit that a read has found on flash is put where a line is free or clean. With
//! `buffer.read_allocate` "displace" the line that goes first of all may be dirty: it is flushed,
//! as for a write, and the unit waits until that is over. Nobody waits for any of this. Not more
//! units wait than flushes begin for them: where none may begin, the unit is not kept.
//!
//! It holds nothing. The buffer knows the runs and has the lines. The device lends it with the
//! sets, the map, the host and the account.

use crate::account::{Account, PortUse};
use crate::buffer::ports::{Direction, Reservation};
use crate::buffer::{Buffer, Found};
use crate::config::{PartialWrite, Settings};
use crate::ftl::Ftl;
use crate::handle::{LineId, RequestId, SetId};
use crate::host::{Host, Timer};
use crate::sets::{Sets, Wait};
use flashyard_core::graph::EdgeKind;
use flashyard_core::units::{Lpn, PlaneId, Span, Time};

/// What is lent for lines of reads.
pub(crate) struct LinesOfReads<'a> {
    pub(crate) now: Time,
    pub(crate) settings: &'a Settings,
    pub(crate) sets: &'a mut Sets,
    pub(crate) ftl: &'a mut Ftl,
    pub(crate) buffer: &'a mut Buffer,
    pub(crate) host: &'a mut Host,
    pub(crate) account: &'a mut Account,
}

/// A unit that a read finds because it is read ahead.
pub(crate) enum Ahead {
    /// It is in the buffer.
    There,
    /// It is on its way: the read waits for this.
    Coming(Wait),
}

impl LinesOfReads<'_> {
    /// A page access that reads is translated. Returns whether its unit was read ahead, or is
    /// being.
    pub(crate) fn find(&mut self, handle: RequestId, lpn: Lpn) -> Option<Ahead> {
        let request = &self.host[handle];
        let (access, first) = ((request.order(), request.page()), request.request().first_sector);
        let sectors = first..first + u64::from(request.request().sectors);
        if request.translated() == 0 && self.buffer.follow(&sectors) {
            self.host.set_timer(self.now, Timer::Ahead);
        }
        let wanted = self.settings.covered(self.host[handle].request(), lpn);
        let Found::Line(line, _) = self.buffer.find(lpn, &wanted, self.sets) else { return None };
        let state = &self.buffer.lines()[line];
        if !state.was_read_ahead() {
            return None;
        }
        let source = state.coming();
        if source.is_some() {
            self.account.ahead_awaited(access, lpn);
        } else {
            self.account.allocated_read(access, lpn);
        }
        self.account.buffer_looked_up(true);
        let is_first = self.buffer.use_ahead(line);
        self.account.ahead_found(is_first, source.is_some());
        let coming = |source| Ahead::Coming(Wait { source, stage: 0, kind: EdgeKind::ReadAhead });
        Some(source.map_or(Ahead::There, coming))
    }

    /// Makes the set that reads the next unit ahead: one that is on flash, of which no change is
    /// under way, and which no other set reads ahead, be it for a line that has gone.
    pub(crate) fn begin(&mut self) -> Option<(SetId, PlaneId)> {
        while let Some(lpn) = self.buffer.next_ahead() {
            let place = self.ftl.locate(lpn);
            let changes = self.sets.live_change_of(lpn, u64::MAX).is_some();
            if place.is_none() || changes || self.sets.is_read_ahead(lpn) {
                continue;
            }
            let plane = self.ftl.plane_of_data(lpn, place);
            let set = self.sets.add_ahead(self.now, lpn, plane);
            let evicted = self.buffer.begin_ahead(lpn, set, self.sets.number(set));
            self.account.ahead_begins(lpn, evicted);
            self.account.table_looked_up();
            self.account.unit_read_ahead();
            return Some((set, plane));
        }
        None
    }

    /// A set has read a unit ahead: it is put into its line, unless it was written or trimmed
    /// meanwhile. Nobody waits for the put.
    pub(crate) fn end(&mut self, set: SetId) {
        self.sets.unlist_by_lpn(set);
        let (state, number) = (&self.sets[set], self.sets.number(set));
        let (lpn, ppn) = (state.lpn(), state.ppn());
        let Some(line) = self.buffer.end_ahead(lpn, set, number) else { return };
        let stays = ppn.filter(|_| self.ftl.locate(lpn) == ppn);
        self.account.ahead_ends(lpn, stays);
        self.account.ahead_put();
        self.put(lpn, line);
    }

    /// A read has found a unit on flash: it stays in the buffer if nothing newer is known, all of
    /// it was asked for, no write waits for a line, and a line can be had.
    pub(crate) fn keep(&mut self, set: SetId) {
        let state = &self.sets[set];
        let (lpn, read) = (state.lpn(), state.origin().expect("a request reads"));
        let request = self.host[read.request].request();
        let whole = self.settings.keys.ftl.partial_write == PartialWrite::Ignore
            || !self.settings.is_partial(request, lpn);
        let is_newest = state.ppn().is_some() && self.ftl.locate(lpn) == state.ppn();
        if !(whole && is_newest && self.buffer.may_keep(lpn)) {
            return;
        }
        let access = (read.order, read.page);
        if self.buffer.has_room_for_read() {
            let evicted = self.leave(lpn);
            self.account.allocated(access, lpn, evicted);
        } else if self.buffer.wait_for_line(lpn) {
            self.account.fill_waits(access, lpn);
        }
    }

    /// Units that reads leave get the lines that have been flushed for them.
    #[inline]
    pub(crate) fn end_fills(&mut self) {
        while let Some(fill) = self.buffer.next_flushed() {
            if let Some(freed) = self.buffer.free_displaced(&fill) {
                self.account.unbuffered(freed);
            }
            // Writes that waited for a line went before.
            let room = self.buffer.lines().has_room();
            self.end_fill(fill.lpn, room);
        }
    }

    /// Units for which no line is flushed get what is free. Returns the next that needs a flush.
    #[inline]
    pub(crate) fn next_fill(&mut self) -> Option<Lpn> {
        while let Some(lpn) = self.buffer.next_unserved() {
            if !self.buffer.has_room_for_read() {
                return Some(lpn);
            }
            self.end_fill(lpn, true);
        }
        None
    }

    /// The dirty line that goes first and its unit, if it may be flushed for a unit that waits.
    pub(crate) fn victim(&self) -> Option<(LineId, Lpn)> {
        let victim = self.buffer.victim(self.sets, self.now).filter(|_| self.buffer.may_flush())?;
        Some((victim, self.buffer.lines()[victim].lpn))
    }

    /// A flush has begun for a unit that waits for a line, of the unit `displaces`, or none can be.
    pub(crate) fn displace(&mut self, lpn: Lpn, displaces: Option<Lpn>) {
        // A write that the flush has let pass may have put the unit.
        if self.buffer.displace(lpn, displaces) && displaces.is_none() {
            self.drop_fill(lpn);
        }
    }

    /// A unit gets a line, if there is `room` and no write waits for one, or is not kept.
    fn end_fill(&mut self, lpn: Lpn, room: bool) {
        if !room || self.buffer.first_waiting().is_some() {
            return self.drop_fill(lpn);
        }
        self.buffer.drop_fill(lpn);
        let evicted = self.leave(lpn);
        self.account.filled(lpn, evicted);
    }

    /// The contents of a unit are no longer what a read has found.
    fn drop_fill(&mut self, lpn: Lpn) {
        if self.buffer.drop_fill(lpn) {
            self.account.fill_dropped(lpn);
        }
    }

    /// Puts what a read has found on flash into a line. Returns the unit that made way.
    fn leave(&mut self, lpn: Lpn) -> Option<Lpn> {
        let (line, evicted) = self.buffer.add_clean(lpn);
        self.account.unit_allocated();
        self.put(lpn, line);
        evicted
    }

    /// The unit of a set is put, if it writes, or got. Returns the line, if one is known, when it
    /// has its port, and whether it is over at once; [`Timer::Buffer`] otherwise says when.
    pub(crate) fn access(&mut self, set: SetId) -> (Option<LineId>, Reservation, bool) {
        let state = &self.sets[set];
        let (lpn, host) = (state.lpn(), state.request().is_some());
        let direction = if state.writes() { Direction::Put } else { Direction::Get };
        let line = if host { self.buffer.lines().find(lpn) } else { state.line() };
        let granted = self.take_port(direction, lpn, line, host);
        let over = granted.until + Span::from_ns(self.settings.keys.buffer.access_ns);
        if over > self.now {
            self.host.set_timer(over, Timer::Buffer(set));
        }
        (line, granted, over <= self.now)
    }

    /// A unit is put or got as soon as its port and the bank of its line are free; `host` is
    /// whether a request asks for it. Returns when it has them.
    #[inline]
    fn take_port(
        &mut self,
        direction: Direction,
        lpn: Lpn,
        line: Option<LineId>,
        host: bool,
    ) -> Reservation {
        let (granted, span) = self.buffer.reserve(direction, lpn, line, host, self.now);
        let usage = match (direction, host) {
            (Direction::Get, true) => PortUse::Get,
            (Direction::Get, false) => PortUse::FlushGet,
            (Direction::Put, _) => PortUse::Put,
        };
        self.account.port_taken(usage, span, granted.hidden);
        granted
    }

    /// A unit is put into its line, and no request waits for that.
    fn put(&mut self, lpn: Lpn, line: LineId) {
        let put = self.take_port(Direction::Put, lpn, Some(line), false);
        if !self.buffer.flushes_itself() && put.until > self.now {
            self.host.set_timer(put.until, Timer::Port);
        }
    }
}
