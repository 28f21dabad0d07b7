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
//! integer nanoseconds. At one instant completions come first, those of chips by number and then
//! the others in the order in which they began, then arrivals, then decisions and flushes until
//! there are no more. A decision that looks at chips is made behind the flushes that are needed.
//!
//! Rules that the publication leaves open are those that the simulator documents. Writes that find
//! no line wait in order, and one of the least recent dirty lines is flushed for each of them. A
//! line that was overwritten or programmed again meanwhile does not count. The first write that
//! waits gets the line that gets free. A line under a program still serves reads and writes; a
//! write into it makes it dirty once more.
//!
//! This is an oracle for tests. It shares no code with the simulator on purpose, and it is as
//! literal as it can be: linear scans over plain vectors.
#![expect(unreachable_pub, reason = "a plain interface, whichever test includes the module")]

pub mod cases;
mod rules;

pub use cases::random_case;
pub use rules::{Policy, Req, one_pass};
use std::collections::VecDeque;

/// The device and its state before the first request; `initial`: the dirty lines, least recent
/// first. `duplex`: one link each way, else one for both. `at_once`: a line is flushed as soon
/// as nobody uses it, else when a write finds no free line. `holds`: of conflicting requests the
/// earlier one starts instead of the one picked, and none while one is out. Without `hit_first` the
/// proposed policies take a page in the buffer for one that needs no chip; without `read_first`
/// they class writes as reads, of which the buffer takes every page. `skips`: the chip-idle
/// policies pass over requests that an earlier conflicting one holds back, queued or out.
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
    pub holds: bool,
    pub hit_first: bool,
    pub read_first: bool,
    pub skips: bool,
    pub policy: Policy,
}

/// What came of a run. Hazards: picks ahead of an earlier conflicting request that was queued,
/// and that was out; a pick that is held back counts once in a row.
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
    Link(Access),
    Buffer(Access),
}

impl End {
    /// What ends first at one instant.
    fn rank(self) -> usize {
        match self {
            Self::ArrayRead(chip) | Self::Program(chip) | Self::Channel(chip) => chip,
            Self::Dispatch(_) | Self::Link(_) | Self::Buffer(_) => usize::MAX,
        }
    }
}

/// A chip's operation: the read of an access, the program of a page.
#[derive(Clone, Copy, Debug)]
enum Job {
    Read(Access),
    Flush(u64),
}

/// A line: puts into it and programs of it under way.
#[derive(Clone, Copy, Debug)]
struct Line {
    page: u64,
    dirty: bool,
    puts: usize,
    programs: usize,
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
    /// When each has carried what was asked for.
    links: [u64; 2],
    /// Least recent first.
    lines: Vec<Line>,
    /// Writes that wait for a line.
    without_line: VecDeque<Access>,
    /// Pairs of a write that waits for a line and a read of its page that waits for the write.
    readers: Vec<(Access, Access)>,
    slots: Vec<Option<usize>>,
    queued: Vec<usize>,
    flying: Vec<usize>,
    dispatching: bool,
    /// The request that the dispatcher has done its work on.
    dispatched: Option<usize>,
    held: Option<usize>,
    pages_left: Vec<u64>,
    out: Outcome,
}

impl Device<'_> {
    fn after(&mut self, ns: u64, end: End) {
        self.ends.push((self.now + ns, end));
    }

    fn chip_of(&self, page: u64) -> usize {
        let (channels, ways) = (self.params.channels as u64, self.params.ways as u64);
        usize::try_from(page % channels + page / channels % ways * channels).unwrap()
    }

    fn idle(&self, page: u64) -> bool {
        let chip = &self.chips[self.chip_of(page)];
        chip.now.is_none() && chip.queue.is_empty()
    }

    fn cached(&self, page: u64) -> bool {
        self.lines.iter().any(|line| line.page == page)
    }

    /// The page's line, or a new one, becomes the most recent one.
    fn touch(&mut self, page: u64) -> &mut Line {
        let place = self.lines.iter().position(|line| line.page == page);
        let new = Line { page, dirty: false, puts: 0, programs: 0 };
        let line = place.map_or(new, |place| self.lines.remove(place));
        self.lines.push(line);
        self.lines.last_mut().unwrap()
    }

    fn line(&mut self, page: u64) -> &mut Line {
        self.lines.iter_mut().find(|line| line.page == page).unwrap()
    }

    /// A line for a page to be written: its own, or a free one. It may pass writes that wait if it
    /// has its own and no earlier write of the page is on its way.
    fn line_for(&mut self, access: Access) {
        let of_page = |other: &Access| other.1 == access.1;
        let line = self.lines.iter().find(|line| line.page == access.1);
        let goes = if self.without_line.is_empty() {
            line.is_some() || self.lines.len() < self.params.lines
        } else {
            line.is_some_and(|line| line.puts == 0) && !self.without_line.iter().any(of_page)
        };
        if goes {
            self.put(access);
        } else {
            self.without_line.push_back(access);
        }
    }

    fn put(&mut self, access: Access) {
        let line = self.touch(access.1);
        line.dirty = true;
        line.puts += 1;
        self.over_link(access);
    }

    /// The writes that wait get what is free, in order.
    fn lines_for_all(&mut self) {
        while let Some(&access) = self.without_line.front() {
            if !self.cached(access.1) && self.lines.len() == self.params.lines {
                return;
            }
            self.without_line.pop_front();
            self.put(access);
        }
    }

    /// A program for each write that waits, unless the least recent line is not there yet. Returns
    /// whether there were any.
    fn flush_for_all(&mut self) -> bool {
        let before = self.out.evictions.len();
        let coming = |line: &&Line| line.programs == 1 && !line.dirty;
        while self.without_line.len() > self.lines.iter().filter(coming).count() {
            let oldest = self.lines.iter().find(|line| line.dirty);
            let Some(line) = oldest.filter(|line| line.puts == 0) else { break };
            self.flush(line.page);
        }
        self.out.evictions.len() > before
    }

    fn flush(&mut self, page: u64) {
        let line = self.line(page);
        line.dirty = false;
        line.programs += 1;
        self.out.evictions.push(page);
        self.on_chip(page, Job::Flush(page));
    }

    fn on_chip(&mut self, page: u64, job: Job) {
        let chip = self.chip_of(page);
        self.chips[chip].queue.push_back(job);
    }

    fn over_link(&mut self, access: Access) {
        let link = usize::from(self.params.duplex && self.trace[access.0].read);
        let end = self.links[link].max(self.now) + self.params.link_ns;
        self.links[link] = end;
        self.after(end - self.now, End::Link(access));
    }

    fn use_buffer(&mut self, access: Access) {
        if self.params.buffer_ns == 0 {
            self.ended(End::Buffer(access));
        } else {
            self.after(self.params.buffer_ns, End::Buffer(access));
        }
    }

    /// Whatever is free takes the next of its queue: chips, then channels.
    fn begin_all(&mut self) {
        for chip in 0..self.chips.len() {
            match self.chips[chip].next() {
                Some(Job::Read(_)) => self.after(self.params.read_ns, End::ArrayRead(chip)),
                Some(Job::Flush(_)) => self.over_channel(chip),
                None => {}
            }
        }
        for channel in 0..self.channels.len() {
            if let Some(chip) = self.channels[channel].next() {
                self.after(self.params.channel_ns, End::Channel(chip));
            }
        }
    }

    fn over_channel(&mut self, chip: usize) {
        self.channels[chip % self.params.channels].queue.push_back(chip);
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
                self.touch(page);
                self.use_buffer((request, page));
            } else if let Some(&write) = self.without_line.iter().rev().find(|it| it.1 == page) {
                self.readers.push((write, (request, page)));
            } else {
                self.on_chip(page, Job::Read((request, page)));
            }
        }
    }

    fn ended(&mut self, end: End) {
        match end {
            End::Dispatch(request) => self.dispatched = Some(request),
            End::ArrayRead(chip) => self.over_channel(chip),
            End::Channel(chip) => {
                self.channels[chip % self.params.channels].now = None;
                if let Some(Job::Read(access)) = self.chips[chip].now {
                    self.chips[chip].now = None;
                    self.over_link(access);
                } else {
                    self.after(self.params.program_ns, End::Program(chip));
                }
            }
            End::Program(chip) => {
                let Some(Job::Flush(page)) = self.chips[chip].now.take() else { unreachable!() };
                self.line(page).programs -= 1;
                self.lines.retain(|line| line.dirty || line.programs > 0);
            }
            End::Link(access) if self.trace[access.0].read => self.page_done(access.0),
            End::Link(access) => self.use_buffer(access),
            End::Buffer(access) if self.trace[access.0].read => self.over_link(access),
            End::Buffer((request, page)) => {
                let line = self.line(page);
                line.puts -= 1;
                if line.puts == 0 && self.params.at_once {
                    self.flush(page);
                }
                self.page_done(request);
                let readers = std::mem::take(&mut self.readers);
                for (write, reader) in readers {
                    if write == (request, page) {
                        self.use_buffer(reader);
                    } else {
                        self.readers.push((write, reader));
                    }
                }
            }
        }
    }

    /// 1 and 2 and 3: reads from the buffer, of idle chips, of busy chips; 4 and 5: writes into
    /// lines that are there, and others.
    fn class(&self, request: usize) -> u64 {
        let request = &self.trace[request];
        let hit = self.params.hit_first && request.list().all(|page| self.cached(page));
        let ready = |page| !request.read || self.cached(page) || self.idle(page);
        let ready = request.list().all(ready);
        match (request.read || !self.params.read_first, hit, ready) {
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
        let free = |request: &usize| {
            !self.held_back(*request, &self.queued) && !self.held_back(*request, &self.flying)
        };
        let may = |request: &usize| !self.params.skips || free(request);
        let idle = |request: &usize| self.trace[*request].list().all(|page| self.idle(page));
        let may_and_idle = |request: &usize| may(request) && idle(request);
        let first_idle = self.queued.iter().copied().find(may_and_idle);
        let entry = |&request: &usize| (request, self.trace[request], self.class(request));
        let by_rule = |order: Vec<usize>| {
            let queue: Vec<_> = order.iter().map(entry).collect();
            one_pass(&queue).map(|place| queue[place].0)
        };
        match self.params.policy {
            Policy::Fifo => self.queued.first().copied(),
            Policy::Idle => first_idle.or(self.queued.iter().copied().find(may)),
            Policy::StrictIdle => first_idle,
            Policy::Ready => {
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

    /// The request that starts instead of a picked one, if the device holds conflicts.
    fn instead_of(&self, picked: usize) -> usize {
        let conflict = |&&other: &&usize| self.held_back(picked, &[other]);
        let earlier = self.queued.iter().find(conflict).filter(|_| self.params.holds);
        earlier.map_or(picked, |&earlier| self.instead_of(earlier))
    }

    fn dispatch(&mut self) {
        while self.flying.len() < self.params.width && !self.dispatching {
            if self.params.policy != Policy::Fifo {
                self.flush_for_all();
            }
            let Some(picked) = self.pick() else { return };
            let overtakes = self.held_back(picked, &self.queued);
            let request = self.instead_of(picked);
            // In order, the rules for pages keep their order.
            let by_pages = self.params.holds && self.params.policy == Policy::Fifo;
            let held = !by_pages && self.held_back(request, &self.flying);
            let new = self.held != Some(picked);
            self.out.queued_hazards += usize::from(new && overtakes);
            self.out.flying_hazards += usize::from(new && held && !overtakes);
            self.held = Some(picked).filter(|_| held && self.params.holds);
            if self.held.is_some() {
                return;
            }
            self.out.picks.push(request);
            self.queued.retain(|&other| other != request);
            self.flying.push(request);
            if self.params.dispatch_ns == 0 {
                self.start(request);
            } else {
                self.dispatching = true;
                self.after(self.params.dispatch_ns, End::Dispatch(request));
            }
        }
    }

    /// What ends now, chips first.
    fn next_end(&mut self) -> Option<End> {
        let due = (0..self.ends.len()).filter(|&place| self.ends[place].0 == self.now);
        let place = due.min_by_key(|&place| self.ends[place].1.rank())?;
        Some(self.ends.remove(place).1)
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
        links: [0; 2],
        lines: params
            .initial
            .iter()
            .map(|&page| Line { page, dirty: true, puts: 0, programs: 0 })
            .collect(),
        without_line: VecDeque::new(),
        readers: Vec::new(),
        slots: vec![None; params.depth],
        queued: Vec::new(),
        flying: Vec::new(),
        dispatching: false,
        dispatched: None,
        held: None,
        pages_left: trace.iter().map(|request| request.pages).collect(),
        out: Outcome { done_ns: vec![0; trace.len()], ..Outcome::default() },
    };
    let mut next = 0;
    loop {
        while let Some(end) = device.next_end() {
            device.ended(end);
        }
        let free = device.slots.iter().position(Option::is_none);
        if let Some(slot) = free.filter(|_| next < trace.len() && trace[next].at_ns <= device.now) {
            device.slots[slot] = Some(next);
            device.queued.push(next);
            next += 1;
            continue;
        }
        device.lines_for_all();
        if let Some(request) = device.dispatched.take() {
            device.dispatching = false;
            device.start(request);
        }
        device.dispatch();
        while device.flush_for_all() {
            device.dispatch();
        }
        device.begin_all();
        if device.ends.iter().any(|end| end.0 == device.now) {
            continue;
        }
        let arrival = trace.get(next).filter(|_| free.is_some()).map(|request| request.at_ns);
        let times = device.ends.iter().map(|end| end.0).chain(arrival);
        let Some(time) = times.min() else { break };
        device.now = time;
    }
    assert_eq!(device.out.picks.len(), trace.len(), "every request is served");
    device.out
}
