//! A naive reference implementation of read-while-write scheduling over a buffer with banks: the
//! policies IS, RIS and ROS, with the variants of RIS and the ablations of ROS.
//!
//! The device is the bare one of that study: a buffer of lines with one port for gets and one for
//! puts, flash behind it that takes so long a page, no translation and no collection. Times are
//! plain integers.
//!
//! This is an oracle for tests. It shares no code with the simulator on purpose: a mistake in
//! shared code would sit on both sides of every comparison and never show. For the same reason the
//! code follows the text of the study: it has one list of running accesses, and linear scans.
//!
//! The rules, where the study leaves them open:
//!
//! * At one instant: completions, then arrivals, then decisions; of these first the base order,
//!   then hoisted reads, then early flushes, then pairs.
//! * A request has its place in the queue from its arrival, or from when a place gets free, to its
//!   last page access. Its pages are started in the order of addresses.
//! * A read miss goes to flash. It starts when neither port is busy, or with
//!   `overlap_reads` beside a put too; the base order starts nothing beside it.
//! * While a flush is under way, from its get to the end of its program, the base order starts
//!   nothing, or with `overlap_programs` goes on.
//! * A new page takes the line that has been empty for longest. None empty, the victim of a flush
//!   is emptied at once if it is clean; for the oldest access, as soon as its put can start there.
//!   Where reads leave clean lines, a new page takes the least recent clean one instead. A put
//!   waits where a get uses the bank of that line.
//! * What a read miss finds is kept as `allocate` says: not at all; in the line that a new page
//!   takes; or, if no line is empty and a dirty line is less recent than every clean one, once the
//!   least recent dirty line that no port uses has been flushed for it. Nobody waits for that. The
//!   page is not kept if it is written before, nor if a flush is under way already. Its put, which
//!   is no access, and the get of that flush take their port and bank as soon as these are free.
//! * A flush has a flash channel from its get to the end of its program; only then is the line
//!   empty. Until then reads still hit it, and writes of its page wait. A victim is the least
//!   recent line with a page that is neither used nor flushed, outside of the bank of a put; where
//!   reads leave clean lines, a dirty one.
//! * A line is recent from the start of its access.
#![expect(unreachable_pub, reason = "a plain interface, whichever test includes the module")]

pub mod cases;
mod parts;

/// The order of page accesses.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Policy {
    Is,
    Ris,
    Ros,
}

/// Which lines read misses take.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Allocate {
    Never,
    Clean,
    Displace,
}

/// The device and the policy. The overlaps are of RIS, where they are off by default, and of ROS,
/// where they are on: the flush of the oldest access begins beside a put; the oldest access reads
/// flash beside a put; the base order goes on beside a flush. The next five are of ROS:
/// `newest_first`: the newest request is hoisted first, its pages by address; `watermark`: empty
/// and flushed lines to keep, 0 for as many as queued writes need. Then times, flash channels,
/// places in the queue, and whether gets make a line recent.
#[derive(Clone, Debug)]
pub struct Params {
    pub policy: Policy,
    pub overlap_flushes: bool,
    pub overlap_reads: bool,
    pub overlap_programs: bool,
    pub hoist: bool,
    pub early_flush: bool,
    pub newest_first: bool,
    pub pairing: bool,
    pub watermark: usize,
    pub get: u64,
    pub put: u64,
    pub program: u64,
    pub flash_read: u64,
    pub channels: usize,
    pub depth: usize,
    pub gets_refresh: bool,
    pub allocate: Allocate,
}

/// A line before the first request: the bank that it is in for good, and the page in it. Lines are
/// given from the least recent one; their place in the list is their number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Line {
    pub bank: u32,
    pub page: Option<u64>,
    pub dirty: bool,
}

/// One request, in the order of arrivals; at least one page.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Req {
    pub arrival: u64,
    pub write: bool,
    pub first: u64,
    pub pages: u64,
}

/// What takes time.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum What {
    /// A page of a write goes into its line.
    Put,
    /// A page of a read comes from its line.
    Get,
    /// A page of a read comes from flash.
    FlashRead,
    /// A page that a read has found on flash goes into a line.
    Fill,
    /// A line is got to be flushed.
    FlushGet,
    /// That line is programmed.
    Program,
}

/// Something that took time: by which request (none for fills and flushes), on which line (none for
/// [`What::FlashRead`]) and in which bank.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Event {
    pub start: u64,
    pub end: u64,
    pub what: What,
    pub page: u64,
    pub request: Option<usize>,
    pub line: Option<usize>,
    pub bank: Option<u32>,
}

/// What a run produced: the completion of each request, all events in the order in which
/// they started, how long the port for gets was busy, and how long of that a put ran beside it.
#[derive(Clone, Debug)]
pub struct Run {
    pub completion: Vec<u64>,
    pub events: Vec<Event>,
    pub got: u64,
    pub hidden: u64,
}

/// A page access of a request.
#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Waiting,
    Running,
    Done,
}

/// A line at work. `since`: when it was last made recent or empty, as a count of such moments.
#[derive(Clone, Copy)]
struct Cell {
    line: Line,
    flushing: bool,
    since: u64,
}

/// A page that a read has fetched and that waits for a line. It gets the line of the page that it
/// displaces, after the flush of that page.
#[derive(Clone, Copy)]
struct Fill {
    page: u64,
    displaces: Option<u64>,
}

struct Machine<'a> {
    params: &'a Params,
    requests: &'a [Req],
    now: u64,
    moments: u64,
    cells: Vec<Cell>,
    states: Vec<Vec<State>>,
    /// Requests that have a place in the queue, oldest first.
    queue: Vec<usize>,
    running: Vec<Event>,
    fills: Vec<Fill>,
    run: Run,
}

/// Runs all requests.
pub fn run(params: &Params, lines: &[Line], requests: &[Req]) -> Run {
    let cell = |(number, &line)| Cell { line, flushing: false, since: number as u64 };
    let states = |request: &Req| (0..request.pages).map(|_| State::Waiting).collect();
    let mut machine = Machine {
        params,
        requests,
        now: 0,
        moments: lines.len() as u64,
        cells: lines.iter().enumerate().map(cell).collect(),
        states: requests.iter().map(states).collect(),
        queue: Vec::new(),
        running: Vec::new(),
        fills: Vec::new(),
        run: Run { completion: vec![0; requests.len()], events: Vec::new(), got: 0, hidden: 0 },
    };
    let mut arrived = 0;
    loop {
        let place = arrived < requests.len() && machine.queue.len() < params.depth;
        let arrival = place.then(|| requests[arrived].arrival.max(machine.now));
        let end = machine.running.iter().map(|event| event.end).min();
        let Some(next) = arrival.into_iter().chain(end).min() else { break };
        machine.pass(next);
        machine.complete();
        while arrived < requests.len()
            && machine.queue.len() < params.depth
            && requests[arrived].arrival <= next
        {
            machine.queue.push(arrived);
            arrived += 1;
        }
        machine.serve_fills();
        while machine.decide() {}
    }
    assert!(machine.fills.is_empty(), "every page that waits for a line gets one or is dropped");
    assert_eq!(arrived, requests.len(), "every request is started");
    assert!(machine.queue.is_empty(), "every request is answered");
    machine.run
}

impl Event {
    /// Whether it takes the port for gets, or else for puts.
    fn is_access(&self, gets: bool) -> bool {
        match self.what {
            What::Get | What::FlushGet => gets,
            What::Put | What::Fill => !gets,
            What::FlashRead | What::Program => false,
        }
    }
}

impl Machine<'_> {
    /// Lets time pass, and counts how long ports are busy.
    fn pass(&mut self, next: u64) {
        let (now, running) = (self.now, &self.running);
        let busy =
            |gets: bool| running.iter().any(|event| event.start <= now && event.is_access(gets));
        if busy(true) {
            self.run.got += next - self.now;
            if busy(false) {
                self.run.hidden += next - self.now;
            }
        }
        self.now = next;
    }

    /// Ends all that ends now.
    fn complete(&mut self) {
        let now = self.now;
        let over: Vec<Event> = self.running.iter().copied().filter(|e| e.end == now).collect();
        self.running.retain(|event| event.end != now);
        for event in over {
            match (event.what, event.request, event.line) {
                (What::FlushGet, _, Some(line)) => {
                    self.start(What::Program, self.params.program, event.page, None, Some(line));
                }
                (What::Program, _, Some(line)) => {
                    self.cells[line].line.page = None;
                    self.cells[line].line.dirty = false;
                    self.cells[line].flushing = false;
                    self.refresh(line);
                }
                (What::Fill, ..) => {}
                (what, Some(request), _) => {
                    if what == What::FlashRead {
                        self.found(event.page);
                    }
                    self.access_done(request, event.page);
                }
                _ => unreachable!("every event has a request or a line"),
            }
        }
    }

    fn access_done(&mut self, request: usize, page: u64) {
        *self.state(request, page) = State::Done;
        if self.states[request].iter().all(|&state| state == State::Done) {
            self.run.completion[request] = self.now;
            self.queue.retain(|&other| other != request);
        }
    }

    /// Starts one thing, if the policy wants to start one.
    fn decide(&mut self) -> bool {
        let params = self.params;
        let ros = params.policy == Policy::Ros;
        self.base_order()
            || (ros && params.hoist && self.hoisted_read())
            || (ros && params.early_flush && self.early_flush())
            || (ros && params.pairing && self.paired_write())
    }

    /// The oldest access that waits, or the flush that it needs.
    fn base_order(&mut self) -> bool {
        let Some((request, page)) = self.waiting(false).into_iter().next() else { return false };
        let serial = self.params.policy == Policy::Is && !self.running.is_empty();
        let flushing = self.flushes() > 0 && !self.params.overlap_programs;
        if serial || flushing || self.runs(What::FlashRead) {
            return false;
        }
        match (self.requests[request].write, self.line_of(page)) {
            (false, Some(line)) => self.can_get(line) && self.start_get(request, page, line),
            (false, None) => {
                let beside = self.params.overlap_reads;
                let ports = self.getting().is_none() && (beside || self.putting().is_none());
                let can = ports && self.channel_free();
                can && self.start_access(What::FlashRead, request, page, None)
            }
            (true, Some(line)) => self.can_put(line) && self.start_put(request, page, line),
            (true, None) => match self.room_for_write() {
                Some(line) => self.can_put(line) && self.start_put(request, page, line),
                None => self.flush_for_oldest(),
            },
        }
    }

    fn flush_for_oldest(&mut self) -> bool {
        let beside = self.params.overlap_flushes;
        let ports = self.getting().is_none() && (beside || self.putting().is_none());
        if self.flushes() > 0 || !self.channel_free() {
            return false;
        }
        let first = self.first_victim(None, false).filter(|&line| !self.cells[line].line.dirty);
        if let Some(line) = first.filter(|&line| self.can_put(line)) {
            return self.start_flush(line);
        }
        ports && self.victim(false).is_some_and(|line| self.start_flush(line))
    }

    /// A read that hits, whatever its place in the queue, hidden behind the put that runs.
    fn hoisted_read(&mut self) -> bool {
        if !self.get_would_hide() {
            return false;
        }
        for (request, page) in self.waiting(self.params.newest_first) {
            let Some(line) = self.line_of(page) else { continue };
            let write = self.requests[request].write;
            if !write && self.can_get(line) && !self.must_follow(request, page) {
                return self.start_get(request, page, line);
            }
        }
        false
    }

    /// A flush for writes that will need a line, its get hidden behind the put that runs.
    fn early_flush(&mut self) -> bool {
        if !self.get_would_hide() || !self.channel_free() {
            return false;
        }
        let room = self.free_lines() + self.flushes();
        let wanted = match self.params.watermark {
            0 => self.lines_needed(),
            lines => lines,
        };
        wanted > room && self.victim(true).is_some_and(|line| self.start_flush(line))
    }

    /// The oldest write that can be put beside the get of a read.
    fn paired_write(&mut self) -> bool {
        if !self.runs(What::Get) || self.putting().is_some() || self.runs(What::FlashRead) {
            return false;
        }
        for (request, page) in self.waiting(false) {
            if !self.requests[request].write || self.must_follow(request, page) {
                continue;
            }
            let Some(line) = self.line_of(page).or_else(|| self.room_for_write()) else { continue };
            if self.can_put(line) {
                return self.start_put(request, page, line);
            }
        }
        false
    }
}
