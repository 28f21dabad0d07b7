//! What a host policy sees of the device.

use crate::buffer::Buffer;
use crate::buffer::ports::Direction;
use crate::config::Settings;
use crate::flash::Flash;
use crate::ftl::Ftl;
use crate::handle::{LineId, RequestId};
use crate::host::{Host, Pending};
use crate::queues::Queues;
use crate::sets::Sets;
use flashyard_core::host::{HostAnswer, HostView, LineView, PortView, UnderWay};
use flashyard_core::request::{Request, RequestOp};
use flashyard_core::units::{DieId, Lpn, PlaneId, Span, Time};

/// The rooms that a host policy sees something of.
#[derive(Clone, Copy)]
pub(crate) struct View<'a> {
    pub(crate) now: Time,
    pub(crate) settings: &'a Settings,
    pub(crate) sets: &'a Sets,
    pub(crate) queues: &'a Queues,
    pub(crate) flash: &'a Flash,
    pub(crate) ftl: &'a Ftl,
    pub(crate) buffer: Option<&'a Buffer>,
    pub(crate) host: &'a Host,
}

impl View<'_> {
    fn handle(&self, place: usize) -> RequestId {
        self.host.at(place)
    }

    fn pending(&self, place: usize) -> &Pending {
        &self.host[self.handle(place)]
    }

    fn line(&self, line: LineId) -> Option<LineView> {
        let buffer = self.buffer?;
        let state = &buffer.lines()[line];
        let uses = |direction| buffer.ports().uses(direction, line, self.now);
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
        let now = self.now;
        let access = self.buffer?.ports().carries(direction, now)?;
        let (line, bank, host) = (LineId::raw(access.line), access.bank, access.host);
        Some(PortView { line, bank, left: access.until.since(now), host })
    }

    /// The pages of a request that touch all dies that it touches.
    fn round(&self, place: usize) -> impl Iterator<Item = Lpn> {
        let geometry = &self.settings.geometry;
        self.lpns(place).take((geometry.all_planes() * geometry.stripe_units()) as usize)
    }

    /// The pages of a request.
    fn lpns(&self, place: usize) -> impl Iterator<Item = Lpn> {
        let pending = self.pending(place);
        (0..pending.pages()).map(|page| pending.lpn_of(page))
    }

    /// Whether a line alone serves the read of a unit: what was never written needs no array.
    fn line_serves(&self, handle: RequestId, lpn: Lpn) -> bool {
        self.buffer.is_some_and(|buffer| {
            let Some(line) = buffer.lines().find(lpn) else { return false };
            let wanted = self.settings.covered(self.host[handle].request(), lpn);
            buffer.covers(line, &wanted) || self.ftl.locate(lpn).is_none()
        })
    }

    /// Whether an access of a unit needs no die now, because the buffer alone serves it.
    fn needs_no_die(&self, handle: RequestId, lpn: Lpn) -> bool {
        let request = self.host[handle].request();
        match request.op {
            RequestOp::Read => self.line_serves(handle, lpn),
            RequestOp::Write => self.buffer.is_some() && !self.settings.is_durable(request.flags),
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

    /// What the host policy wants next. That of a user may answer what cannot be done.
    ///
    /// # Panics
    ///
    /// If it does.
    pub(crate) fn ask(&self) -> HostAnswer {
        let answer = self.host.policy().pick(self);
        self.check_answer(answer);
        answer
    }

    fn check_answer(&self, answer: HostAnswer) {
        let (place, page) = match answer {
            HostAnswer::Wait => return,
            HostAnswer::Start(place) => (place, None),
            HostAnswer::StartPage { place, page } => (place, Some(page)),
            HostAnswer::Flush(line) => {
                let lines = self.buffer.map(Buffer::lines);
                let known = LineId::from_raw(line);
                let rests = |line| self.line(line).is_some_and(|line| !line.busy);
                let fits = lines.zip(known).is_some_and(|(lines, line)| {
                    lines.is_dirty(line) || (lines.is_kept(line) && rests(line))
                });
                assert!(fits, "the host policy flushes line {line}, which is not dirty");
                return self.check_by_pages();
            }
        };
        let waiting = self.host.waiting();
        assert!(place < waiting, "the host policy starts request {place} of {waiting} that wait");
        let in_order = place == 0 || !self.host.policy().in_order();
        assert!(in_order, "the host policy is `in_order`, but starts request {place}, not 0");
        let handle = self.host.at(place);
        let Some(page) = page else {
            let parts = self.host[handle].translated();
            assert!(
                parts == 0,
                "the host policy starts request {place}, of which it has started {parts} pages"
            );
            return;
        };
        self.check_by_pages();
        let request = self.host[handle].request();
        assert!(
            !request.starts_whole(),
            "the host policy starts page {page} of {request:?}, which only starts whole"
        );
        let pages = self.host[handle].pages();
        assert!(
            self.host.unstarted_page(handle, page) == Some(page),
            "the host policy starts page {page} of request {place}, which has {pages}, or again"
        );
    }

    fn check_by_pages(&self) {
        let by_pages = self.host.policy().by_pages();
        assert!(by_pages, "the host policy starts a page or flushes, but is not `by_pages`");
    }

    /// Whether another request has an access of the same page under way, where one of the two
    /// changes it.
    pub(crate) fn page_is_under_way(&self, handle: RequestId, page: u32) -> bool {
        let lpn = self.host[handle].lpn_of(page);
        self.sets.is_accessed(lpn, handle, !self.host[handle].is_read())
    }
}

impl HostView for View<'_> {
    fn now(&self) -> Time {
        self.now
    }

    fn waiting(&self) -> usize {
        self.host.waiting()
    }

    fn request(&self, place: usize) -> Request {
        *self.pending(place).request()
    }

    fn entered(&self, place: usize) -> Time {
        self.host.place_in_queue(self.handle(place)).entered
    }

    fn slot(&self, place: usize) -> u32 {
        self.host.place_in_queue(self.handle(place)).slot
    }

    fn first_page(&self, place: usize) -> Lpn {
        self.pending(place).first()
    }

    fn pages(&self, place: usize) -> u32 {
        self.pending(place).pages()
    }

    fn next_page(&self, place: usize, from: u32) -> Option<u32> {
        self.host.unstarted_page(self.handle(place), from)
    }

    fn conflicts(&self, place: usize) -> bool {
        self.host.first_conflict(place).is_some() || self.host.is_under_way(self.handle(place))
    }

    fn page_conflicts(&self, place: usize, page: u32) -> bool {
        self.host.earlier_access(place, page).is_some()
            || self.page_is_under_way(self.handle(place), page)
    }

    fn under_way(&self) -> UnderWay {
        let host = |port: Option<PortView>| u32::from(port.is_some_and(|port| port.host));
        let (gets, puts) = (host(self.getting()), host(self.putting()));
        UnderWay { gets, puts, others: self.host.accesses().saturating_sub(gets + puts) }
    }

    fn rests(&self) -> bool {
        let mut dies = (0..self.settings.geometry.dies()).map(DieId::new);
        self.under_way() == UnderWay::default() && dies.all(|die| self.die_rests(die))
    }

    fn dies_idle(&self, place: usize) -> bool {
        if !self.has_buffer() {
            return self.all_dies_idle(place);
        }
        // The buffer may serve the first page of a die and not the next one.
        let handle = self.handle(place);
        self.lpns(place).all(|lpn| self.needs_no_die(handle, lpn) || self.data_die_idle(lpn))
    }

    fn all_dies_idle(&self, place: usize) -> bool {
        self.round(place).all(|lpn| self.data_die_idle(lpn))
    }

    fn die_idle(&self, lpn: Lpn) -> bool {
        self.data_die_idle(lpn)
    }

    fn write_die_idle(&self, lpn: Lpn) -> bool {
        if let Some(plane) = self.ftl.striped_plane(lpn) {
            return self.plane_idle(plane);
        }
        let mut dies = (0..self.settings.geometry.dies()).map(DieId::new);
        dies.any(|die| self.die_rests(die))
    }

    fn has_buffer(&self) -> bool {
        self.buffer.is_some()
    }

    fn keeps_writes(&self) -> bool {
        self.settings.keeps_writes()
    }

    fn is_buffered(&self, place: usize) -> bool {
        (0..self.pages(place)).all(|page| self.is_page_buffered(place, page))
    }

    fn is_page_buffered(&self, place: usize, page: u32) -> bool {
        let handle = self.handle(place);
        let request = &self.host[handle];
        let lpn = request.lpn_of(page);
        if request.is_read() {
            return self.line_serves(handle, lpn);
        }
        self.buffer.is_some_and(|buffer| buffer.lines().find(lpn).is_some())
    }

    fn line_of(&self, lpn: Lpn) -> Option<LineView> {
        let line = self.buffer?.lines().find(lpn)?;
        self.line(line)
    }

    fn room(&self) -> Option<u32> {
        self.buffer?.lines().room()
    }

    fn free_lines(&self) -> u32 {
        self.buffer.map_or(0, |buffer| buffer.lines().free_in_order())
    }

    fn keeps_clean(&self) -> bool {
        self.buffer.is_some_and(|buffer| buffer.lines().keeps_clean())
    }

    fn flushes(&self) -> u32 {
        self.buffer.map_or(0, |buffer| buffer.lines().freeing())
    }

    fn oldest_line(&self) -> Option<LineView> {
        let buffer = self.buffer.filter(|buffer| buffer.may_flush());
        self.line(buffer?.lines().first_to_go()?)
    }

    fn next_line(&self, line: u32) -> Option<LineView> {
        self.line(self.buffer?.lines().next_to_go(LineId::new(line))?)
    }

    fn buffered_read(&self, nth: usize) -> Option<(usize, u32)> {
        self.host.buffered_read(nth)
    }

    fn putting(&self) -> Option<PortView> {
        self.port(Direction::Put)
    }

    fn getting(&self) -> Option<PortView> {
        self.port(Direction::Get)
    }

    fn get_span(&self) -> Span {
        let buffer = self.buffer;
        buffer.map_or(Span::ZERO, |buffer| buffer.spans()[Direction::Get as usize])
    }
}
