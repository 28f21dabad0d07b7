//! A flash translation layer that hands random operations over, a controller that the standard
//! programs run on, and chips with typical times: what the scheduler needs to be run. Nothing in
//! here but the vectors of the measurement grows with time.

use flashyard_core::bus::channel::Operation;
use flashyard_core::bus::fair::{FairQueueing, Share};
use flashyard_core::bus::microcode::durations::Durations;
use flashyard_core::bus::microcode::programs::Controller;
use flashyard_core::bus::microcode::timing::TimingSet;
use flashyard_core::bus::request::{BusClass, BusKind, BusRequest};
use flashyard_core::bus::scheduler::{
    ChipState, DataOrder, Fair, Platform, Polling, Response, Scheduler, Waiting,
};
use flashyard_core::command::Op;
use flashyard_core::units::{Span, Time};
use std::collections::VecDeque;
use std::ops::Range;

/// The chips of the framework: 256 pages of 16 KiB a block, moved in chunks of 4 KiB.
const PAGES_PER_BLOCK: u32 = 256;
const PAGE_BYTES: u32 = 16_384;
const CHUNK_BYTES: u32 = 4_096;

/// Operations that wait for a chip, of each queue.
const DEPTH: usize = 16;

/// How long before the end of a status request the chip's answer is read.
const SAMPLED_NS: u64 = 40;

/// What the work of the loop takes, in ns: an iteration, a request taken in, one sent, one answer.
#[derive(Clone, Copy)]
pub(crate) struct Costs {
    round: u64,
    receive: u64,
    send: u64,
    respond: u64,
}

/// A scheduler in hardware: a cycle of 10 ns each.
pub(crate) const HARDWARE: Costs = Costs { round: 10, receive: 10, send: 10, respond: 10 };
/// A scheduler in software, fitted to the published 97.4 % at the worst point.
pub(crate) const SOFTWARE: Costs = Costs { round: 400, receive: 200, send: 400, respond: 400 };

/// A controller with its chips, and a translation layer that hands operations over.
pub(crate) struct Bench {
    now: u64,
    costs: Costs,
    times: Durations,
    free: u64,
    /// When the array of each chip is done.
    pub(crate) done: Vec<u64>,
    responses: VecDeque<(u64, Response)>,
    /// By stream: when the next operation comes, and the operation.
    next: Vec<(u64, Operation)>,
    pub(crate) random: u64,
    /// By stream: least and greatest time between arrivals, and in the middle third of a run.
    ranges: Vec<[(u64, u64); 2]>,
    pub(crate) burst: (u64, u64),
    mix: [u64; 3],
    chips: u32,
    /// When each operation was handed over, what it does, its stream.
    pub(crate) handed: Vec<(u64, Op, u8)>,
    /// Number of the operation, when it was complete.
    pub(crate) completions: Vec<(u32, u64)>,
    /// Every request and when it was on the bus.
    pub(crate) log: Option<Vec<(BusRequest, u64, u64)>>,
}

impl Bench {
    pub(crate) fn new(costs: Costs, mix: [u64; 3], range: (u64, u64), chips: u32) -> Self {
        Self::of_streams(costs, mix, vec![[range; 2]], chips)
    }

    pub(crate) fn of_streams(
        costs: Costs,
        mix: [u64; 3],
        ranges: Vec<[(u64, u64); 2]>,
        chips: u32,
    ) -> Self {
        let mut controller = Controller::standard(TimingSet::FRAMEWORK, PAGES_PER_BLOCK);
        let mut bench = Self {
            now: 0,
            costs,
            times: controller.durations(CHUNK_BYTES).expect("the standard programs run"),
            free: 0,
            done: vec![0; chips as usize],
            responses: VecDeque::new(),
            next: vec![(0, operation(Op::Read, 0, 0)); ranges.len()],
            random: 1,
            ranges,
            burst: (u64::MAX, u64::MAX),
            mix,
            chips,
            handed: Vec::new(),
            completions: Vec::new(),
            log: None,
        };
        for stream in 0..bench.next.len() {
            bench.generate(stream, 0);
        }
        bench
    }

    fn below(&mut self, bound: u64) -> u64 {
        // SplitMix64.
        self.random = self.random.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut bits = self.random;
        bits = (bits ^ bits >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        bits = (bits ^ bits >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
        (bits ^ bits >> 31) % bound
    }

    /// A stream hands its next operation over some time after `from`.
    fn generate(&mut self, stream: usize, from: u64) {
        let bursts = (self.burst.0..self.burst.1).contains(&from);
        let (least, greatest) = self.ranges[stream][usize::from(bursts)];
        let at = from + least + self.below(greatest - least + 1);
        let [erases, programs, reads] = self.mix;
        let roll = self.below(erases + programs + reads);
        let op = if roll < erases {
            Op::Erase
        } else if roll < erases + programs {
            Op::Program
        } else {
            Op::Read
        };
        let chip = u32::try_from(self.below(self.chips.into())).expect("few chips");
        self.next[stream] = (at, operation(op, chip, stream));
    }

    /// Runs for so long; returns kilobytes (1,000 bytes) of pages a second behind the first tenth.
    pub(crate) fn run(&mut self, order: DataOrder, until: u64) -> u64 {
        self.run_fair(order, until, None);
        self.rate(0..u8::MAX, until / 10..until)
    }

    /// The same with a scheduler that shares chips fairly, if it is asked to.
    pub(crate) fn run_fair(&mut self, order: DataOrder, until: u64, fair: Option<Fair<'_>>) {
        let chips = self.chips as usize;
        let count = chips * fair.as_ref().map_or(1, |fair| fair.streams);
        let (mut states, mut queues) = (vec![ChipState::IDLE; chips], vec![Waiting::NONE; count]);
        let mut operations = vec![None; DEPTH * count];
        let mut scheduler = Scheduler::new(
            &mut states,
            &mut queues,
            &mut operations,
            fair,
            order,
            Polling::EXPECTED,
        );
        while self.now < until {
            self.now += self.costs.round;
            if scheduler.iterate(self) {
                continue;
            }
            let room = |next: &&(u64, Operation)| scheduler.has_room(next.1.chip, next.1.stream);
            let arrival = self.next.iter().filter(room).map(|next| next.0).min();
            let response = self.responses.front().map(|response| response.0);
            let events = [arrival, response].into_iter().flatten().min().unwrap_or(u64::MAX);
            let event = events.min(scheduler.next_question().as_ns());
            assert!(event < u64::MAX, "the loop would sleep for ever");
            self.now = self.now.max(event.div_ceil(self.costs.round) * self.costs.round);
        }
    }

    /// Kilobytes of pages a second that some streams get in a time.
    pub(crate) fn rate(&self, streams: Range<u8>, time: Range<u64>) -> u64 {
        let pages = self.completions.iter().filter(|(number, at)| {
            let (_, op, stream) = self.handed[*number as usize];
            time.contains(at) && op != Op::Erase && streams.contains(&stream)
        });
        pages.count() as u64 * u64::from(PAGE_BYTES) * 1_000_000 / (time.end - time.start)
    }
}

pub(crate) fn operation(op: Op, chip: u32, stream: usize) -> Operation {
    let array = match op {
        Op::Read => Span::from_us(75),
        Op::Program => Span::from_us(1_500),
        Op::Erase => Span::from_us(5_000),
    };
    let stream = u8::try_from(stream).expect("few streams");
    let (block, page, chunks, chunk_bytes) = (0, 0, PAGE_BYTES / CHUNK_BYTES, CHUNK_BYTES);
    Operation { op, stream, chip, block, page, chunks, chunk_bytes, array, polls: true }
}

impl Platform for Bench {
    fn now(&self) -> Time {
        Time::from_ns(self.now)
    }

    fn arrival(&self, has_room: impl Fn(u32, u8) -> bool) -> Option<Operation> {
        let here = self.next.iter().filter(|next| next.0 <= self.now);
        let fits = here.filter(|next| has_room(next.1.chip, next.1.stream));
        fits.min_by_key(|next| next.0).map(|next| next.1)
    }

    fn take(&mut self, operation: &Operation, number: u32) {
        assert_eq!(number as usize, self.handed.len());
        let (op, stream) = (operation.op, usize::from(operation.stream));
        let at = self.next[stream].0;
        self.handed.push((at, op, operation.stream));
        // A layer hands over each request of the operation.
        let requests = match op {
            Op::Erase => 2,
            Op::Program => 7,
            Op::Read => 5,
        };
        let enqueued = self.now.max(at);
        self.now += self.costs.receive * requests;
        self.generate(stream, enqueued);
    }

    fn send(&mut self, request: &BusRequest) -> Time {
        self.now += self.costs.send;
        let from = self.now.max(self.free);
        let until = from + self.times.of(request.kind).as_ns();
        self.free = until;
        let chip = request.chip as usize;
        if let Some(log) = &mut self.log {
            log.push((*request, from, until));
        }
        assert!(
            request.kind == BusKind::Status || self.done[chip] <= from,
            "{} to chip {chip}, which is busy",
            request.kind.name()
        );
        if request.kind.makes_busy() {
            let op = self.handed[request.operation as usize].1;
            self.done[chip] = until + operation(op, 0, 0).array.as_ns();
        } else if request.kind.class() != BusClass::Activation {
            let ready = self.done[chip] + SAMPLED_NS <= until;
            let (chip, kind, operation) = (request.chip, request.kind, request.operation);
            self.responses.push_back((until, Response { chip, kind, operation, ready }));
        }
        Time::from_ns(until)
    }

    fn response(&mut self) -> Option<Response> {
        let &(at, response) = self.responses.front()?;
        if at > self.now {
            return None;
        }
        self.responses.pop_front();
        self.now += self.costs.respond;
        Some(response)
    }

    fn complete(&mut self, number: u32) {
        if self.handed[number as usize].1 != Op::Read {
            self.now += self.costs.respond;
        }
        self.completions.push((number, self.now));
    }
}

/// Least and greatest times between arrivals, in ns; the first two are published.
pub(crate) const RANGES: [(u64, u64); 5] = [
    (100_000, 200_000),
    (200_000, 500_000),
    (500_000, 1_000_000),
    (1_000_000, 2_000_000),
    (2_000_000, 5_000_000),
];

/// Kilobytes of pages a second: the mean of three runs of 30 simulated seconds.
pub(crate) fn rate(costs: Costs, mix: [u64; 3], range: (u64, u64), order: DataOrder) -> u64 {
    let run = |seed| {
        let mut bench = Bench::new(costs, mix, range, 4);
        bench.random = seed;
        bench.run(order, 30_000_000_000)
    };
    [1, 2, 3].map(run).iter().sum::<u64>() / 3
}

/// The case study: two streams of equal shares, erases, programs and reads 1:256:256; the first one
/// bursts in the middle third of 30 s. Kilobytes a second by stream, before, in and after the
/// burst.
pub(crate) fn case_study(ranges: [(u64, u64); 3], is_fair: bool) -> [[u64; 3]; 2] {
    let second = 1_000_000_000;
    let thirds = [0..10 * second, 10 * second..20 * second, 20 * second..30 * second];
    let [first, other, burst] = ranges;
    let streams = vec![[first, burst], [other, other]];
    let mut bench = Bench::of_streams(HARDWARE, [1, 256, 256], streams, 4);
    bench.burst = (thirds[1].start, thirds[1].end);
    let mut shares = [Share::new(1); 2];
    let fair = is_fair.then(|| Fair {
        queueing: FairQueueing::new(&mut shares[..]),
        streams: 2,
        // An idle channel takes so long.
        costs: [240_870, 1_665_900, 5_000_490],
    });
    bench.run_fair(DataOrder::RoundRobin, 30 * second, fair);
    [0..1, 1..2].map(|stream| thirds.clone().map(|third| bench.rate(stream.clone(), third)))
}
