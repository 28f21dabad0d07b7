//! A naive reference implementation of request scheduling that knows the cache buffer and the
//! chips, after Bang et al. (cache-buffer- and read-aware scheduling at the interface of an
//! SSD), with FIFO and the chip-idle policy next to it.
//!
//! The device: a queue of requests of limited depth, entries held to completion; a dispatcher
//! with at most `width` requests out; a link that moves one page at a time; a write-back buffer
//! of lines of one page, least recently used first, no allocation by reads; chips that run one
//! operation at a time in the order they got them; channels that move one page at a time.
//!
//! Page `p` lies on channel `p mod channels`, way `(p div channels) mod ways`. All times are
//! integer nanoseconds. At one instant completions come first, then arrivals, then decisions.
//!
//! This is an oracle for tests. It shares no code with the simulator on purpose, and it is as
//! literal as it can be: linear scans over plain vectors.
#![expect(unreachable_pub, reason = "a plain interface, whichever test includes the module")]

mod rules;

pub use rules::{Policy, Req, one_pass};
use std::collections::VecDeque;

/// The device and its state before the first request; `initial`: the dirty lines, least recent
/// first. `duplex`: one link each way, else one for both. `at_once`: a line is flushed as soon
/// as nobody uses it, else when a write finds no free line.
#[derive(Clone, Debug)]
pub struct Params {
    pub channels: usize,
    pub ways: usize,
    pub lines: usize,
    pub initial: Vec<u64>,
    pub read_ns: u64,
    pub program_ns: u64,
    pub channel_ns: u64,
    pub link_ns: u64,
    pub buffer_ns: u64,
    pub dispatch_ns: u64,
    pub depth: usize,
    pub width: usize,
    pub duplex: bool,
    pub at_once: bool,
    pub policy: Policy,
}

/// What came of a run. Hazards: picks ahead of an earlier conflicting request that was queued,
/// and that was out.
#[derive(Default, Debug, PartialEq, Eq)]
pub struct Outcome {
    pub done_ns: Vec<u64>,
    pub picks: Vec<usize>,
    pub evictions: Vec<u64>,
    pub queued_hazards: usize,
    pub flying_hazards: usize,
}

/// A page access: request and page.
type Access = (usize, u64);

/// The end of something that takes time.
#[derive(Clone, Copy, Debug)]
enum End {
    Dispatch(usize),
    ArrayRead(usize),
    Channel(usize),
    Program(usize),
    Link(usize),
    Buffer(Access),
}

/// A chip's operation; a flush knows the access that waits for its line.
#[derive(Clone, Copy, Debug)]
enum Job {
    Read(Access),
    Flush(Option<Access>),
}

/// A server of one job at a time, first come first served.
#[derive(Debug)]
struct Server<T> {
    now: Option<T>,
    queue: VecDeque<T>,
}

impl<T: Copy> Server<T> {
    fn row(length: usize) -> Vec<Self> {
        let idle = || Self { now: None, queue: VecDeque::new() };
        (0..length).map(|_| idle()).collect()
    }

    /// The next job, if one waits and none runs: it runs from now on.
    fn next(&mut self) -> Option<T> {
        if self.now.is_none() {
            self.now = self.queue.pop_front();
            return self.now;
        }
        None
    }
}

struct Device<'a> {
    params: &'a Params,
    trace: &'a [Req],
    now: u64,
    /// What ends when, in the order it began.
    ends: Vec<(u64, End)>,
    chips: Vec<Server<Job>>,
    channels: Vec<Server<usize>>,
    links: Vec<Server<Access>>,
    /// Page and users of each line, least recent first.
    lines: Vec<(u64, usize)>,
    flushing: usize,
    /// Accesses that wait until a line can be had.
    without_line: VecDeque<Access>,
    slots: Vec<Option<usize>>,
    queued: Vec<usize>,
    flying: Vec<usize>,
    dispatching: bool,
    pages_left: Vec<u64>,
    out: Outcome,
}

impl Device<'_> {
    fn after(&mut self, ns: u64, end: End) {
        self.ends.push((self.now + ns, end));
    }

    fn chip_of(&self, page: u64) -> usize {
        let (channels, ways) = (self.params.channels as u64, self.params.ways as u64);
        usize::try_from(page % channels * ways + page / channels % ways).unwrap()
    }

    fn idle(&self, page: u64) -> bool {
        let chip = &self.chips[self.chip_of(page)];
        chip.now.is_none() && chip.queue.is_empty()
    }

    fn cached(&self, page: u64) -> bool {
        self.lines.iter().any(|line| line.0 == page)
    }

    /// One more user of the page's line, which becomes the most recent one.
    fn take(&mut self, page: u64) {
        let place = self.lines.iter().position(|line| line.0 == page);
        let (_, users) = place.map_or((page, 0), |place| self.lines.remove(place));
        self.lines.push((page, users + 1));
    }

    fn give_back(&mut self, page: u64) {
        let line = self.lines.iter_mut().find(|line| line.0 == page).unwrap();
        line.1 -= 1;
        if line.1 == 0 && self.params.at_once {
            self.flush(page, None);
        }
        self.lines_for_all();
    }

    fn lines_for_all(&mut self) {
        for access in std::mem::take(&mut self.without_line) {
            self.line_for(access);
        }
    }

    /// A line for a page to be written: its own, a free one, or that of the least recent page
    /// that nobody uses, once that page is programmed.
    fn line_for(&mut self, (request, page): Access) {
        if self.cached(page) || self.lines.len() + self.flushing < self.params.lines {
            self.take(page);
            return self.over_link((request, page));
        }
        let victim = self.lines.iter().find(|line| line.1 == 0).copied();
        match victim {
            Some((victim, _)) => self.flush(victim, Some((request, page))),
            None => self.without_line.push_back((request, page)),
        }
    }

    fn flush(&mut self, page: u64, access: Option<Access>) {
        self.lines.retain(|line| line.0 != page);
        self.flushing += 1;
        self.out.evictions.push(page);
        self.on_chip(page, Job::Flush(access));
    }

    fn on_chip(&mut self, page: u64, job: Job) {
        let chip = self.chip_of(page);
        self.chips[chip].queue.push_back(job);
    }

    fn over_link(&mut self, access: Access) {
        let link = usize::from(self.params.duplex && self.trace[access.0].read);
        self.links[link].queue.push_back(access);
    }

    /// Whatever is free takes the next of its queue: chips, then channels, then links.
    fn begin_all(&mut self) {
        for chip in 0..self.chips.len() {
            match self.chips[chip].next() {
                Some(Job::Read(_)) => self.after(self.params.read_ns, End::ArrayRead(chip)),
                Some(Job::Flush(_)) => self.over_channel(chip),
                None => {}
            }
        }
        for channel in 0..self.channels.len() {
            if self.channels[channel].next().is_some() {
                self.after(self.params.channel_ns, End::Channel(channel));
            }
        }
        for link in 0..self.links.len() {
            if self.links[link].next().is_some() {
                self.after(self.params.link_ns, End::Link(link));
            }
        }
    }

    fn over_channel(&mut self, chip: usize) {
        self.channels[chip / self.params.ways].queue.push_back(chip);
    }

    fn page_done(&mut self, request: usize) {
        self.pages_left[request] -= 1;
        if self.pages_left[request] == 0 {
            self.out.done_ns[request] = self.now;
            self.flying.retain(|&other| other != request);
            let slot = self.slots.iter().position(|slot| *slot == Some(request)).unwrap();
            self.slots[slot] = None;
        }
    }

    fn start(&mut self, request: usize) {
        for page in self.trace[request].list() {
            if !self.trace[request].read {
                self.line_for((request, page));
            } else if self.cached(page) {
                self.take(page);
                self.after(self.params.buffer_ns, End::Buffer((request, page)));
            } else {
                self.on_chip(page, Job::Read((request, page)));
            }
        }
    }

    fn ended(&mut self, end: End) {
        match end {
            End::Dispatch(request) => {
                self.dispatching = false;
                self.start(request);
            }
            End::ArrayRead(chip) => self.over_channel(chip),
            End::Channel(channel) => {
                let chip = self.channels[channel].now.take().unwrap();
                if let Some(Job::Read(access)) = self.chips[chip].now {
                    self.chips[chip].now = None;
                    self.over_link(access);
                } else {
                    self.after(self.params.program_ns, End::Program(chip));
                }
            }
            End::Program(chip) => {
                self.flushing -= 1;
                if let Some(Job::Flush(Some(access))) = self.chips[chip].now.take() {
                    self.take(access.1);
                    self.over_link(access);
                }
                self.lines_for_all();
            }
            End::Link(link) => {
                let access = self.links[link].now.take().unwrap();
                if self.trace[access.0].read {
                    self.page_done(access.0);
                } else {
                    self.after(self.params.buffer_ns, End::Buffer(access));
                }
            }
            End::Buffer((request, page)) => {
                self.give_back(page);
                if self.trace[request].read {
                    self.over_link((request, page));
                } else {
                    self.page_done(request);
                }
            }
        }
    }

    /// 1 and 2 and 3: reads from the buffer, of idle chips, of busy chips; 4 and 5: writes into
    /// lines that are there, and others.
    fn class(&self, request: usize) -> u64 {
        let request = &self.trace[request];
        let hit = request.list().all(|page| self.cached(page));
        let ready = request.list().all(|page| self.cached(page) || self.idle(page));
        match (request.read, hit, ready) {
            (true, true, _) => 1,
            (true, false, true) => 2,
            (true, false, false) => 3,
            (false, true, _) => 4,
            (false, false, _) => 5,
        }
    }

    /// Whether an earlier request among `others` conflicts with this one.
    fn held_back(&self, request: usize, others: &[usize]) -> bool {
        let conflict = |other: &usize| self.trace[*other].conflicts(&self.trace[request]);
        others.iter().any(|other| *other < request && conflict(other))
    }

    fn pick(&self) -> Option<usize> {
        let idle = |request: &&usize| self.trace[**request].list().all(|page| self.idle(page));
        let first_idle = self.queued.iter().find(idle).copied();
        let entry = |&request: &usize| (request, self.trace[request], self.class(request));
        let by_rule = |order: Vec<usize>| {
            let queue: Vec<_> = order.iter().map(entry).collect();
            one_pass(&queue).map(|place| queue[place].0)
        };
        match self.params.policy {
            Policy::Fifo => self.queued.first().copied(),
            Policy::Idle => first_idle.or(self.queued.first().copied()),
            Policy::StrictIdle => first_idle,
            Policy::Ready => {
                let free = |request: &usize| {
                    !self.held_back(*request, &self.queued)
                        && !self.held_back(*request, &self.flying)
                };
                let ready = self.queued.iter().copied().filter(free);
                ready.min_by_key(|&request| (self.class(request), request))
            }
            Policy::OnePass => by_rule(self.queued.clone()),
            Policy::OnePassBySlot => {
                let slots = self.slots.iter().flatten().copied();
                by_rule(slots.filter(|request| self.queued.contains(request)).collect())
            }
        }
    }

    fn dispatch(&mut self) {
        while self.flying.len() < self.params.width && !self.dispatching {
            let Some(request) = self.pick() else { return };
            self.out.queued_hazards += usize::from(self.held_back(request, &self.queued));
            self.out.flying_hazards += usize::from(self.held_back(request, &self.flying));
            self.out.picks.push(request);
            self.queued.retain(|&other| other != request);
            self.flying.push(request);
            if self.params.dispatch_ns == 0 {
                self.start(request);
                self.begin_all();
            } else {
                self.dispatching = true;
                self.after(self.params.dispatch_ns, End::Dispatch(request));
            }
        }
    }
}

/// Runs the trace, which is in order of arrival.
pub fn run(params: &Params, trace: &[Req]) -> Outcome {
    let mut device = Device {
        params,
        trace,
        now: 0,
        ends: Vec::new(),
        chips: Server::row(params.channels * params.ways),
        channels: Server::row(params.channels),
        links: Server::row(2),
        lines: params.initial.iter().map(|&page| (page, 0)).collect(),
        flushing: 0,
        without_line: VecDeque::new(),
        slots: vec![None; params.depth],
        queued: Vec::new(),
        flying: Vec::new(),
        dispatching: false,
        pages_left: trace.iter().map(|request| request.pages).collect(),
        out: Outcome { done_ns: vec![0; trace.len()], ..Outcome::default() },
    };
    let mut next = 0;
    loop {
        while let Some(place) = device.ends.iter().position(|end| end.0 == device.now) {
            let (_, end) = device.ends.remove(place);
            device.ended(end);
            device.begin_all();
        }
        let free = device.slots.iter().position(Option::is_none);
        if let Some(slot) = free.filter(|_| next < trace.len() && trace[next].at_ns <= device.now) {
            device.slots[slot] = Some(next);
            device.queued.push(next);
            next += 1;
            continue;
        }
        device.dispatch();
        let arrival = trace.get(next).filter(|_| free.is_some()).map(|request| request.at_ns);
        let times = device.ends.iter().map(|end| end.0).chain(arrival);
        let Some(time) = times.min() else { break };
        device.now = time;
    }
    assert_eq!(device.out.picks.len(), trace.len(), "every request is served");
    device.out
}
