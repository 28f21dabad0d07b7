//! A small device with a buffer, to test policies with: two ports, banks, dies, no link.
//!
//! It refuses what cannot be done at once, and checks that every page is read and written in the
//! order of arrival.

use super::super::{HostAnswer, HostPolicy, HostView, LineView, PortView, UnderWay};
use crate::request::{Flags, Request, RequestOp};
use crate::units::{Lpn, Span, Time};
use std::collections::BTreeMap;
use std::format;
use std::string::String;
use std::vec::Vec;

/// What was done: name, start, end, bank.
pub(in super::super) type Event = (String, u64, u64, u32);

/// A request.
#[derive(Clone, Debug)]
pub(in super::super) struct Asked {
    pub(in super::super) id: usize,
    pub(in super::super) op: RequestOp,
    pub(in super::super) flags: Flags,
    pub(in super::super) first: u32,
    pub(in super::super) entered: u64,
    pub(in super::super) slot: u32,
    /// Which of its pages have been started.
    pub(in super::super) started: Vec<bool>,
    /// Of each page, the number of writes that came before.
    pub(in super::super) versions: Vec<u32>,
}

/// A line of the buffer.
#[derive(Clone, Debug)]
pub(in super::super) struct Line {
    pub(in super::super) lpn: Option<u32>,
    pub(in super::super) bank: u32,
    pub(in super::super) dirty: bool,
    pub(in super::super) flushing: bool,
    /// Least: written the longest ago.
    pub(in super::super) stamp: u64,
}

/// Where something is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(in super::super) enum Where {
    Get,
    Put,
    Flash,
}

/// Something under way.
#[derive(Clone, Debug)]
pub(in super::super) struct Work {
    at: Where,
    /// The request; none for a flush.
    pub(in super::super) id: Option<usize>,
    op: RequestOp,
    lpn: u32,
    line: Option<usize>,
    due: u64,
}

/// The device.
#[derive(Clone, Debug)]
pub(in super::super) struct Fake {
    pub(in super::super) now: u64,
    /// Time of a get, a put, the program of a flush, and an access that the buffer does not serve.
    pub(in super::super) get: u64,
    pub(in super::super) put: u64,
    pub(in super::super) program: u64,
    pub(in super::super) nand: u64,
    pub(in super::super) events: Vec<Event>,
    pub(in super::super) dies: u32,
    pub(in super::super) depth: usize,
    pub(in super::super) lines: Vec<Line>,
    pub(in super::super) waiting: Vec<Asked>,
    /// Requests still to come, the next one last.
    pub(in super::super) coming: Vec<Asked>,
    pub(in super::super) works: Vec<Work>,
    /// Until when a die is busy.
    pub(in super::super) busy: BTreeMap<u32, u64>,
    /// How often each page was written.
    pub(in super::super) versions: BTreeMap<u32, u32>,
    pub(in super::super) stamp: u64,
    /// Units of which lines hold only a part, too little for any read.
    pub(in super::super) parts: Vec<u32>,
    /// Whether its buffer outlives a loss of power.
    pub(in super::super) keeps: bool,
}

impl Default for Fake {
    fn default() -> Self {
        Self {
            now: 0,
            get: 1,
            put: 3,
            program: 5,
            nand: 7,
            events: Vec::new(),
            dies: u32::MAX,
            depth: 32,
            lines: Vec::new(),
            waiting: Vec::new(),
            coming: Vec::new(),
            works: Vec::new(),
            busy: BTreeMap::new(),
            versions: BTreeMap::new(),
            stamp: 1 << 32,
            parts: Vec::new(),
            keeps: false,
        }
    }
}

impl Fake {
    pub(in super::super) fn read(self, first: u32, pages: u32) -> Self {
        self.ask(RequestOp::Read, first, pages)
    }

    pub(in super::super) fn write(self, first: u32, pages: u32) -> Self {
        self.ask(RequestOp::Write, first, pages)
    }

    pub(in super::super) fn flush(self) -> Self {
        self.ask(RequestOp::Flush, 0, 0)
    }

    /// The last request has a preflush.
    pub(in super::super) fn preflush(mut self) -> Self {
        self.waiting.last_mut().expect("there is one").flags = Flags::PREFLUSH;
        self
    }

    /// A request that waits from now on.
    pub(in super::super) fn ask(mut self, op: RequestOp, first: u32, pages: u32) -> Self {
        let id = self.waiting.len();
        let slot = u32::try_from(id).expect("few");
        let count = pages as usize;
        let (started, versions) = (std::vec![false; count], std::vec![0; count]);
        let asked =
            Asked { id, op, flags: Flags::NONE, first, entered: self.now, slot, started, versions };
        self.waiting.push(asked);
        self.count_versions();
        self
    }

    /// A request of one page that comes later.
    pub(in super::super) fn later(mut self, entered: u64, op: RequestOp, first: u32) -> Self {
        let id = self.waiting.len() + self.coming.len();
        let (started, versions) = (std::vec![false], std::vec![0]);
        let flags = Flags::NONE;
        self.coming.insert(0, Asked { id, op, flags, first, entered, slot: 0, started, versions });
        self.count_versions();
        self
    }

    /// The queue slots of the waiting requests.
    pub(in super::super) fn slots(mut self, slots: &[u32]) -> Self {
        self.waiting.iter_mut().zip(slots).for_each(|(asked, slot)| asked.slot = *slot);
        self
    }

    /// A line with a unit, written after those of earlier calls.
    pub(in super::super) fn line(mut self, lpn: u32, bank: u32, dirty: bool) -> Self {
        let stamp = self.lines.len() as u64;
        self.lines.push(Line { lpn: Some(lpn), bank, dirty, flushing: false, stamp });
        self
    }

    pub(in super::super) fn has_line(&self, lpn: u32) -> bool {
        self.lines.iter().any(|line| line.lpn == Some(lpn))
    }

    /// The dies of these units are busy for ever.
    pub(in super::super) fn busy_dies(mut self, lpns: &[u32]) -> Self {
        self.busy.extend(lpns.iter().map(|lpn| (lpn % self.dies, u64::MAX)));
        self
    }

    /// A read of flash by a request that waits no longer.
    pub(in super::super) fn elsewhere(self, lpn: u32) -> Self {
        self.on_flash(Some(usize::MAX), RequestOp::Read, lpn)
    }

    /// A flush of a unit whose line has been written again.
    pub(in super::super) fn flushes(self, lpn: u32) -> Self {
        self.on_flash(None, RequestOp::Write, lpn)
    }

    /// Work on flash that does not end.
    fn on_flash(mut self, id: Option<usize>, op: RequestOp, lpn: u32) -> Self {
        self.works.push(Work { at: Where::Flash, id, op, lpn, line: None, due: u64::MAX });
        self
    }

    /// Writes of each page that come before each request.
    pub(in super::super) fn count_versions(&mut self) {
        let mut written = BTreeMap::<u32, u32>::new();
        for asked in self.waiting.iter_mut().chain(self.coming.iter_mut().rev()) {
            for (lpn, version) in (asked.first..).zip(&mut asked.versions) {
                let writes = written.entry(lpn).or_default();
                *version = *writes;
                *writes += u32::from(asked.op == RequestOp::Write);
            }
        }
    }

    /// Serves every request.
    pub(in super::super) fn run(&mut self, policy: &impl HostPolicy) {
        loop {
            self.let_in();
            let mut answers = 0;
            loop {
                let answer = policy.pick(self);
                if answer == HostAnswer::Wait {
                    break;
                }
                self.obey(answer);
                self.let_in();
                answers += 1;
                assert!(answers < 1_000, "the policy never waits");
            }
            let arrival = if self.waiting.len() < self.depth { self.coming.last() } else { None };
            let dues = self.works.iter().map(|work| work.due);
            let next = dues.chain(arrival.map(|asked| asked.entered)).min();
            let Some(next) = next else { break };
            assert!(next < u64::MAX && next >= self.now);
            self.now = next;
            self.complete();
        }
        assert!(self.waiting.is_empty() && self.coming.is_empty(), "the policy waits for ever");
    }

    /// Requests that have come enter the queue.
    pub(in super::super) fn let_in(&mut self) {
        while self.waiting.len() < self.depth {
            let Some(asked) = self.coming.pop_if(|asked| asked.entered <= self.now) else { return };
            self.waiting.push(asked);
        }
    }

    /// What is due is over.
    pub(in super::super) fn complete(&mut self) {
        self.works.sort_by_key(|work| (work.due, work.at));
        while self.works.first().is_some_and(|work| work.due == self.now) {
            let work = self.works.remove(0);
            let Some(line) = work.line.filter(|_| work.id.is_none()) else { continue };
            if work.at == Where::Get {
                let (start, due) = self.take_die(work.lpn, self.program);
                self.event(format!("P{}", work.lpn), start, due, self.lines[line].bank);
                self.works.push(Work { at: Where::Flash, due, ..work });
            } else {
                let line = &mut self.lines[line];
                assert!(line.flushing && !line.dirty);
                (line.lpn, line.flushing) = (None, false);
            }
        }
    }

    /// Does what the policy says, at once.
    pub(in super::super) fn obey(&mut self, answer: HostAnswer) {
        match answer {
            HostAnswer::Start(place) => {
                assert_eq!(place, 0);
                let asked = self.waiting.remove(0);
                let beside = self.keeps && asked.op == RequestOp::Flush;
                let alone = |work: &Work| beside && work.id.is_none();
                assert!(self.works.iter().all(alone), "a whole request runs alone");
                let whole = !matches!(asked.op, RequestOp::Read | RequestOp::Write);
                assert!(whole || asked.flags.has(Flags::PREFLUSH));
                self.event(asked.op.name().into(), self.now, self.now, 0);
            }
            HostAnswer::StartPage { place, page } => self.start_page(place, page as usize),
            HostAnswer::Flush(line) => {
                let (number, lpn) = (line as usize, self.lines[line as usize].lpn);
                let lpn = lpn.expect("only what holds something is flushed");
                let view = self.view(number);
                assert!(view.dirty && !view.flushing && !view.busy);
                self.lines[number].dirty = false;
                self.lines[number].flushing = true;
                let op = RequestOp::Read;
                self.take_port(
                    Where::Get,
                    Work { at: Where::Get, id: None, op, lpn, line: Some(number), due: 0 },
                );
            }
            HostAnswer::Wait => unreachable!("waiting is nothing to do"),
        }
    }

    fn start_page(&mut self, place: usize, page: usize) {
        let asked = &mut self.waiting[place];
        let (id, op, lpn) = (Some(asked.id), asked.op, asked.first + u32::try_from(page).unwrap());
        assert!(asked.flags == Flags::NONE && !asked.started[page]);
        asked.started[page] = true;
        let version = self.versions.entry(lpn).or_default();
        assert_eq!(*version, asked.versions[page], "{op:?} of {lpn} in the wrong order");
        if asked.started.iter().all(|started| *started) {
            self.waiting.remove(place);
        }
        let writes = op == RequestOp::Write;
        *version += u32::from(writes);
        let mut line = self.lines.iter().position(|line| line.lpn == Some(lpn));
        if writes && line.is_none() && !self.lines.is_empty() {
            line = Some(self.next_free().expect("a write waits for a line"));
        }
        let Some(number) = line else {
            let (start, due) = self.take_die(lpn, self.nand);
            let name = if writes { "w" } else { "r" };
            self.event(format!("{name}{lpn}"), start, due, 0);
            return self.works.push(Work { at: Where::Flash, id, op, lpn, line, due });
        };
        let view = self.view(number);
        if writes {
            assert!(!view.busy && !view.flushing);
            self.stamp += 1;
            let (bank, stamp) = (self.lines[number].bank, self.stamp);
            let lpn = Some(lpn);
            self.lines[number] = Line { lpn, bank, dirty: true, flushing: false, stamp };
        }
        assert!(!view.writing);
        let at = if writes { Where::Put } else { Where::Get };
        self.take_port(at, Work { at, id, op, lpn, line, due: 0 });
    }

    /// The port must be free, and the other one's bank another one.
    fn take_port(&mut self, at: Where, mut work: Work) {
        let bank = self.lines[work.line.expect("ports serve lines")].bank;
        let other = if at == Where::Get { Where::Put } else { Where::Get };
        assert!(self.port(at).is_none(), "the port is taken");
        assert!(self.port(other).is_none_or(|port| port.bank != bank), "the bank is taken");
        work.due = self.now + if at == Where::Get { self.get } else { self.put };
        let name = match (at, work.id) {
            (Where::Put, _) => "W",
            (_, None) => "F",
            _ => "R",
        };
        self.event(format!("{name}{}", work.lpn), self.now, work.due, bank);
        self.works.push(work);
    }

    fn take_die(&mut self, lpn: u32, span: u64) -> (u64, u64) {
        let free = self.busy.entry(lpn % self.dies).or_default();
        let start = self.now.max(*free);
        *free = start + span;
        (start, *free)
    }

    fn event(&mut self, name: String, start: u64, end: u64, bank: u32) {
        self.events.push((name, start, end, bank));
    }

    fn port(&self, at: Where) -> Option<PortView> {
        let work = self.works.iter().find(|work| work.at == at)?;
        let line = work.line.expect("ports serve lines");
        Some(PortView {
            line: u32::try_from(line).expect("few"),
            bank: self.lines[line].bank,
            left: Span::from_ns(work.due - self.now),
            host: work.id.is_some(),
        })
    }

    fn view(&self, number: usize) -> LineView {
        let line = &self.lines[number];
        let on = |at| self.works.iter().any(|work| work.at == at && work.line == Some(number));
        LineView {
            line: u32::try_from(number).expect("few"),
            lpn: Lpn::new(line.lpn.unwrap_or(u32::MAX)),
            bank: line.bank,
            dirty: line.dirty,
            busy: on(Where::Get) || on(Where::Put),
            writing: on(Where::Put),
            flushing: line.flushing,
        }
    }

    fn is_free(&self, number: usize) -> bool {
        let line = &self.lines[number];
        line.lpn.is_none() || (!line.dirty && !line.flushing)
    }

    fn next_free(&self) -> Option<usize> {
        let free = (0..self.lines.len()).filter(|&it| self.is_free(it) && !self.view(it).busy);
        free.min_by_key(|&it| (self.lines[it].lpn.is_some(), self.lines[it].stamp))
    }

    /// Dirty lines written after a stamp.
    fn dirty_after(&self, stamp: Option<u64>) -> Option<LineView> {
        let dirty = |it: &usize| {
            let line = &self.lines[*it];
            line.dirty && stamp.is_none_or(|stamp| line.stamp > stamp)
        };
        let first = (0..self.lines.len()).filter(dirty).min_by_key(|&it| self.lines[it].stamp);
        first.map(|it| self.view(it))
    }

    fn is_die_idle(&self, lpn: u32) -> bool {
        self.busy.get(&(lpn % self.dies)).is_none_or(|until| *until <= self.now)
    }

    fn lpns(&self, place: usize) -> impl Iterator<Item = u32> {
        let asked = &self.waiting[place];
        (asked.first..).take(asked.started.len())
    }

    /// Whether an access by another request, where one of the two is not a read.
    fn collides(&self, place: usize, lpn: u32) -> bool {
        let asked = &self.waiting[place];
        let ordered = |op| op != RequestOp::Read || asked.op != RequestOp::Read;
        let queued = self.waiting[..place].iter().any(|earlier| {
            let mut unstarted = (earlier.first..).zip(&earlier.started);
            ordered(earlier.op) && unstarted.any(|(other, started)| other == lpn && !started)
        });
        queued
            || self.works.iter().any(|work| {
                let other = work.id.is_some_and(|id| id != asked.id);
                other && work.lpn == lpn && ordered(work.op)
            })
    }
}

impl HostView for Fake {
    fn now(&self) -> Time {
        Time::from_ns(self.now)
    }
    fn waiting(&self) -> usize {
        self.waiting.len()
    }
    fn request(&self, place: usize) -> Request {
        let asked = &self.waiting[place];
        Request::new(asked.op, u64::from(asked.first) * 8, self.pages(place) * 8)
            .at(Time::from_ns(asked.entered))
            .with(asked.flags)
    }
    fn entered(&self, place: usize) -> Time {
        Time::from_ns(self.waiting[place].entered)
    }
    fn slot(&self, place: usize) -> u32 {
        self.waiting[place].slot
    }
    fn first_page(&self, place: usize) -> Lpn {
        Lpn::new(self.waiting[place].first)
    }
    fn pages(&self, place: usize) -> u32 {
        u32::try_from(self.waiting[place].started.len()).expect("few")
    }
    fn next_page(&self, place: usize, from: u32) -> Option<u32> {
        (from..self.pages(place)).find(|&page| !self.waiting[place].started[page as usize])
    }
    fn conflicts(&self, place: usize) -> bool {
        self.lpns(place).any(|lpn| self.collides(place, lpn))
    }
    fn page_conflicts(&self, place: usize, page: u32) -> bool {
        self.collides(place, self.waiting[place].first + page)
    }
    fn under_way(&self) -> UnderWay {
        let count = |at| {
            let of = self.works.iter().filter(|work| work.at == at && work.id.is_some());
            u32::try_from(of.count()).expect("few")
        };
        UnderWay { gets: count(Where::Get), puts: count(Where::Put), others: count(Where::Flash) }
    }
    fn rests(&self) -> bool {
        self.works.is_empty()
    }
    fn dies_idle(&self, place: usize) -> bool {
        let mut lpns = self.lpns(place);
        lpns.all(|lpn| self.has_line(lpn) || self.is_die_idle(lpn))
    }
    fn all_dies_idle(&self, place: usize) -> bool {
        self.lpns(place).all(|lpn| self.is_die_idle(lpn))
    }
    fn die_idle(&self, lpn: Lpn) -> bool {
        self.is_die_idle(lpn.get())
    }
    fn write_die_idle(&self, lpn: Lpn) -> bool {
        self.is_die_idle(lpn.get())
    }
    fn has_buffer(&self) -> bool {
        !self.lines.is_empty()
    }
    fn keeps_writes(&self) -> bool {
        self.keeps
    }
    fn is_buffered(&self, place: usize) -> bool {
        (0..self.pages(place)).all(|page| self.is_page_buffered(place, page))
    }
    fn is_page_buffered(&self, place: usize, page: u32) -> bool {
        let lpn = self.first_page(place).get() + page;
        let parted = self.request(place).op == RequestOp::Read && self.parts.contains(&lpn);
        self.has_line(lpn) && !parted
    }
    fn line_of(&self, lpn: Lpn) -> Option<LineView> {
        let number = self.lines.iter().position(|line| line.lpn == Some(lpn.get()));
        number.map(|number| self.view(number))
    }
    fn room(&self) -> Option<u32> {
        self.next_free().map(|number| self.lines[number].bank)
    }
    fn keeps_clean(&self) -> bool {
        false
    }
    fn free_lines(&self) -> u32 {
        let free = (0..self.lines.len()).filter(|&number| self.is_free(number));
        u32::try_from(free.count()).expect("few")
    }
    fn flushes(&self) -> u32 {
        let flushing = self.lines.iter().filter(|line| line.flushing);
        u32::try_from(flushing.count()).expect("few")
    }
    fn oldest_line(&self) -> Option<LineView> {
        self.dirty_after(None)
    }
    fn next_line(&self, line: u32) -> Option<LineView> {
        self.dirty_after(Some(self.lines[line as usize].stamp))
    }
    fn buffered_read(&self, nth: usize) -> Option<(usize, u32)> {
        let reads = |place: &usize| self.request(*place).op == RequestOp::Read;
        let places = (0..self.waiting()).filter(reads);
        let pages = places.flat_map(|place| (0..self.pages(place)).map(move |page| (place, page)));
        let mut held = pages.filter(|&(place, page)| {
            let lpn = Lpn::new(self.first_page(place).get() + page);
            self.next_page(place, page) == Some(page) && self.line_of(lpn).is_some()
        });
        held.nth(nth)
    }
    fn putting(&self) -> Option<PortView> {
        self.port(Where::Put)
    }
    fn getting(&self) -> Option<PortView> {
        self.port(Where::Get)
    }
    fn get_span(&self) -> Span {
        Span::from_ns(self.get)
    }
}
