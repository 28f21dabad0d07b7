//! What a host policy sees of the device.

use super::Device;
use crate::buffer::ports::Direction;
use crate::handle::{LineId, RequestId};
use crate::host::Pending;
use flashyard_core::host::{HostView, LineView, PortView, UnderWay};
use flashyard_core::request::{Request, RequestOp};
use flashyard_core::units::{DieId, Lpn, PlaneId, Span, Time};

/// The view of a device.
pub(super) struct View<'a>(pub(super) &'a Device);

impl View<'_> {
    fn handle(&self, place: usize) -> RequestId {
        self.0.host.at(place)
    }

    fn pending(&self, place: usize) -> &Pending {
        &self.0.host[self.handle(place)]
    }

    fn line(&self, line: LineId) -> Option<LineView> {
        let buffer = self.0.buffer.as_ref()?;
        let state = &buffer.lines()[line];
        let uses = |direction| buffer.ports().uses(direction, line, self.0.now);
        let writing = uses(Direction::Put);
        Some(LineView {
            line: line.get(),
            lpn: state.lpn,
            bank: state.bank(),
            dirty: state.is_dirty(),
            busy: writing || uses(Direction::Get),
            writing,
            flushing: state.is_flushing(),
        })
    }

    fn port(&self, direction: Direction) -> Option<PortView> {
        let now = self.0.now;
        let access = self.0.buffer.as_ref()?.ports().carries(direction, now)?;
        let (line, bank, host) = (LineId::raw(access.line), access.bank, access.host);
        Some(PortView { line, bank, left: access.until.since(now), host })
    }

    /// The pages of a request that touch all dies that it touches.
    fn round(&self, place: usize) -> impl Iterator<Item = Lpn> {
        let geometry = &self.0.settings.geometry;
        self.lpns(place).take((geometry.all_planes() * geometry.units_per_page) as usize)
    }

    /// The pages of a request.
    fn lpns(&self, place: usize) -> impl Iterator<Item = Lpn> {
        let pending = self.pending(place);
        (pending.first.get()..pending.first.get() + pending.pages).map(Lpn::new)
    }
}

impl Device {
    /// Whether a line holds all that a request reads of its unit.
    pub(super) fn line_covers(&self, handle: RequestId, line: LineId, lpn: Lpn) -> bool {
        let wanted = self.settings.covered(&self.host[handle].request, lpn);
        self.write_buffer().covers(line, &wanted)
    }

    /// Whether a line alone serves the read of a unit: what was never written needs no array.
    fn line_serves(&self, handle: RequestId, lpn: Lpn) -> bool {
        let line = self.buffer.as_ref().and_then(|buffer| buffer.lines().find(lpn));
        line.is_some_and(|line| {
            self.line_covers(handle, line, lpn) || self.ftl.locate(lpn).is_none()
        })
    }

    /// Whether an access of a unit needs no die now, because the buffer alone serves it.
    fn needs_no_die(&self, handle: RequestId, lpn: Lpn) -> bool {
        let request = &self.host[handle].request;
        match request.op {
            RequestOp::Read => self.line_serves(handle, lpn),
            RequestOp::Write => self.buffer.is_some() && !self.is_durable(request.flags),
            RequestOp::Trim | RequestOp::Flush => false,
        }
    }

    /// Whether the die of a plane does nothing and nothing waits for it.
    fn plane_idle(&self, plane: PlaneId) -> bool {
        self.die_rests(self.settings.geometry.die_of_plane(plane))
    }

    /// Whether a die does nothing and nothing waits for it.
    fn die_rests(&self, die: DieId) -> bool {
        self.flash.rests(die) && self.queues.is_empty(die)
    }

    /// Whether the die is idle that a unit is on; where it may be anywhere and is nowhere, it is
    /// not.
    fn data_die_idle(&self, lpn: Lpn) -> bool {
        self.ftl.known_plane(lpn).is_some_and(|plane| self.plane_idle(plane))
    }
}

impl HostView for View<'_> {
    fn now(&self) -> Time {
        self.0.now
    }

    fn waiting(&self) -> usize {
        self.0.host.waiting()
    }

    fn request(&self, place: usize) -> Request {
        self.pending(place).request
    }

    fn entered(&self, place: usize) -> Time {
        self.0.host.place_in_queue(self.handle(place)).entered
    }

    fn slot(&self, place: usize) -> u32 {
        self.0.host.place_in_queue(self.handle(place)).slot
    }

    fn first_page(&self, place: usize) -> Lpn {
        self.pending(place).first
    }

    fn pages(&self, place: usize) -> u32 {
        self.pending(place).pages
    }

    fn next_page(&self, place: usize, from: u32) -> Option<u32> {
        self.0.host.unstarted_page(self.handle(place), from)
    }

    fn conflicts(&self, place: usize) -> bool {
        self.0.host.first_conflict(place).is_some() || self.0.host.is_under_way(self.handle(place))
    }

    fn page_conflicts(&self, place: usize, page: u32) -> bool {
        self.0.host.earlier_access(place, page).is_some()
            || self.0.page_is_under_way(self.handle(place), page)
    }

    fn under_way(&self) -> UnderWay {
        let host = |port: Option<PortView>| u32::from(port.is_some_and(|port| port.host));
        let (gets, puts) = (host(self.getting()), host(self.putting()));
        UnderWay { gets, puts, others: self.0.host.accesses().saturating_sub(gets + puts) }
    }

    fn dies_idle(&self, place: usize) -> bool {
        if !self.has_buffer() {
            return self.all_dies_idle(place);
        }
        // The buffer may serve the first page of a die and not the next one.
        let handle = self.handle(place);
        self.lpns(place).all(|lpn| self.0.needs_no_die(handle, lpn) || self.0.data_die_idle(lpn))
    }

    fn all_dies_idle(&self, place: usize) -> bool {
        self.round(place).all(|lpn| self.0.data_die_idle(lpn))
    }

    fn die_idle(&self, lpn: Lpn) -> bool {
        self.0.data_die_idle(lpn)
    }

    fn write_die_idle(&self, lpn: Lpn) -> bool {
        if let Some(plane) = self.0.ftl.striped_plane(lpn) {
            return self.0.plane_idle(plane);
        }
        let mut dies = (0..self.0.settings.geometry.dies()).map(DieId::new);
        dies.any(|die| self.0.die_rests(die))
    }

    fn has_buffer(&self) -> bool {
        self.0.buffer.is_some()
    }

    fn keeps_writes(&self) -> bool {
        self.0.keeps_writes()
    }

    fn is_buffered(&self, place: usize) -> bool {
        (0..self.pages(place)).all(|page| self.is_page_buffered(place, page))
    }

    fn is_page_buffered(&self, place: usize, page: u32) -> bool {
        let handle = self.handle(place);
        let request = &self.0.host[handle];
        let lpn = Lpn::new(request.first.get() + page);
        if request.is_read() {
            return self.0.line_serves(handle, lpn);
        }
        self.0.buffer.as_ref().is_some_and(|buffer| buffer.lines().find(lpn).is_some())
    }

    fn line_of(&self, lpn: Lpn) -> Option<LineView> {
        let line = self.0.buffer.as_ref()?.lines().find(lpn)?;
        self.line(line)
    }

    fn room(&self) -> Option<u32> {
        self.0.buffer.as_ref()?.lines().room()
    }

    fn free_lines(&self) -> u32 {
        self.0.buffer.as_ref().map_or(0, |buffer| buffer.lines().free_lines())
    }

    fn flushes(&self) -> u32 {
        self.0.buffer.as_ref().map_or(0, |buffer| buffer.lines().freeing())
    }

    fn oldest_line(&self) -> Option<LineView> {
        let buffer = self.0.buffer.as_ref().filter(|buffer| buffer.may_flush());
        self.line(buffer?.lines().first_dirty()?)
    }

    fn next_line(&self, line: u32) -> Option<LineView> {
        self.line(self.0.buffer.as_ref()?.lines().next_dirty(LineId::new(line))?)
    }

    fn buffered_read(&self, nth: usize) -> Option<(usize, u32)> {
        self.0.host.buffered_read(nth)
    }

    fn putting(&self) -> Option<PortView> {
        self.port(Direction::Put)
    }

    fn getting(&self) -> Option<PortView> {
        self.port(Direction::Get)
    }

    fn get_span(&self) -> Span {
        let buffer = self.0.buffer.as_ref();
        buffer.map_or(Span::ZERO, |buffer| buffer.spans()[Direction::Get as usize])
    }
}
