//! What a host policy sees of the device.

use super::state::Pending;
use super::{Device, Die};
use crate::config::Allocation;
use flashyard_core::host::{HostView, LineView, PortView, UnderWay};
use flashyard_core::request::Request;
use flashyard_core::units::{Lpn, PlaneId, Span, Time};

/// The view of a device.
pub(super) struct View<'a>(pub(super) &'a Device);

impl View<'_> {
    fn handle(&self, place: usize) -> u32 {
        self.0.waiting_requests[place]
    }

    fn pending(&self, place: usize) -> &Pending {
        &self.0.pending[self.handle(place) as usize]
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
    /// Whether the die of a plane does nothing and nothing waits for it.
    fn plane_idle(&self, plane: PlaneId) -> bool {
        self.dies[self.settings.geometry.die_of_plane(plane).index()].is_idle()
    }

    /// Whether the die is idle that a unit is on; where it may be anywhere and is nowhere, it is
    /// not.
    fn data_die_idle(&self, lpn: Lpn) -> bool {
        let dynamic = self.settings.keys.ftl.allocation == Allocation::Dynamic;
        match self.map.lookup(lpn) {
            Some(ppn) if dynamic => self.plane_idle(self.settings.geometry.plane_of(ppn)),
            None if dynamic => false,
            _ => self.plane_idle(self.plane_of_lpn(lpn)),
        }
    }
}

impl HostView for View<'_> {
    fn now(&self) -> Time {
        self.0.now
    }

    fn waiting(&self) -> usize {
        self.0.waiting_requests.len()
    }

    fn request(&self, place: usize) -> Request {
        self.pending(place).request
    }

    fn entered(&self, place: usize) -> Time {
        self.0.place_in_queue(self.handle(place)).0
    }

    fn slot(&self, place: usize) -> u32 {
        self.0.place_in_queue(self.handle(place)).1
    }

    fn first_page(&self, place: usize) -> Lpn {
        self.pending(place).first
    }

    fn pages(&self, place: usize) -> u32 {
        self.pending(place).pages
    }

    fn next_page(&self, place: usize, from: u32) -> Option<u32> {
        self.0.unstarted_page(self.handle(place), from)
    }

    fn conflicts(&self, place: usize) -> bool {
        self.0.first_conflict(place).is_some() || self.0.is_under_way(self.handle(place))
    }

    fn page_conflicts(&self, place: usize, page: u32) -> bool {
        self.0.earlier_access(place, page).is_some()
            || self.0.page_is_under_way(self.handle(place), page)
    }

    fn under_way(&self) -> UnderWay {
        let host = |port: Option<PortView>| u32::from(port.is_some_and(|port| port.host));
        let (gets, puts) = (host(self.getting()), host(self.putting()));
        UnderWay { gets, puts, others: self.0.pages_under_way.saturating_sub(gets + puts) }
    }

    fn dies_idle(&self, place: usize) -> bool {
        let request = self.pending(place).request;
        self.round(place).all(|lpn| {
            self.0.is_buffered(request.op, request.flags, lpn) || self.0.data_die_idle(lpn)
        })
    }

    fn all_dies_idle(&self, place: usize) -> bool {
        self.round(place).all(|lpn| self.0.data_die_idle(lpn))
    }

    fn die_idle(&self, lpn: Lpn) -> bool {
        match self.0.settings.keys.ftl.allocation {
            Allocation::Static => self.0.plane_idle(self.0.plane_of_lpn(lpn)),
            Allocation::Dynamic => self.0.dies.iter().any(Die::is_idle),
        }
    }

    fn has_buffer(&self) -> bool {
        self.0.buffer.is_some()
    }

    fn is_buffered(&self, place: usize) -> bool {
        self.lpns(place).all(|lpn| self.line_of(lpn).is_some())
    }

    fn line_of(&self, lpn: Lpn) -> Option<LineView> {
        self.0.line_of(lpn)
    }

    fn room(&self) -> Option<u32> {
        self.0.room_bank()
    }

    fn free_lines(&self) -> u32 {
        self.0.free_lines()
    }

    fn flushes(&self) -> u32 {
        self.0.flushes()
    }

    fn oldest_line(&self) -> Option<LineView> {
        self.0.oldest_line()
    }

    fn next_line(&self, line: u32) -> Option<LineView> {
        self.0.next_line(line)
    }

    fn putting(&self) -> Option<PortView> {
        self.0.putting()
    }

    fn getting(&self) -> Option<PortView> {
        self.0.getting()
    }

    fn get_span(&self) -> Span {
        self.0.get_span()
    }
}

impl Device {
    fn line_of(&self, _: Lpn) -> Option<LineView> {
        None
    }
    fn room_bank(&self) -> Option<u32> {
        None
    }
    fn free_lines(&self) -> u32 {
        0
    }
    fn flushes(&self) -> u32 {
        0
    }
    fn oldest_line(&self) -> Option<LineView> {
        None
    }
    fn next_line(&self, _: u32) -> Option<LineView> {
        None
    }
    fn putting(&self) -> Option<PortView> {
        None
    }
    fn getting(&self) -> Option<PortView> {
        None
    }
    fn get_span(&self) -> Span {
        Span::ZERO
    }
    pub(super) fn flush_line(&mut self, _: u32) {}
}
