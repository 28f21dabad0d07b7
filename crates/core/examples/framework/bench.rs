//! A flash translation layer that hands random operations over, a controller that the standard
//! programs run on, and chips with typical times: what the scheduler needs to be run. Nothing in
//! here but the vectors of the measurement grows with time.

use flashyard_core::bus::fair::{FairQueueing, Share};
use flashyard_core::bus::microcode::durations::Durations;
use flashyard_core::bus::microcode::programs::Controller;
use flashyard_core::bus::microcode::timing::TimingSet;
use flashyard_core::bus::policy::framework::DataOrder;
use flashyard_core::bus::queues::{ChipQueues, Fair, Ring};
use flashyard_core::bus::request::{BusClass, BusKind, BusRequest, Operation};
use flashyard_core::bus::scheduler::{
    ChannelState, ChipState, Platform, Polling, Response, Scheduler,
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
/// A scheduler in software with the costs of the reference, which comes to 97.3 % with them at the
/// worst point, where 97.4 % is published.
pub(crate) const SOFTWARE: Costs = Costs { round: 400, receive: 200, send: 400, respond: 400 };

/// What the work of the loop takes, in instructions, in the order of [`Costs`]: this scheduler, as
/// `cargo xtask scheduler` counts it.
const INSTRUCTIONS: &str = include_str!("instructions.txt");

impl Costs {
    /// This scheduler on a processor of so many MHz that takes an instruction in a cycle.
    pub(crate) fn measured(mhz: u64) -> Self {
        let numbers = INSTRUCTIONS.lines().filter_map(|line| line.split(' ').next_back());
        let mut costs = numbers.map(|number| {
            let instructions: u64 = number.parse().expect("a row ends in a number");
            (instructions * 1_000).div_ceil(mhz)
        });
        let mut next = || costs.next().expect("there are four rows");
        Self { round: next(), receive: next(), send: next(), respond: next() }
    }

    /// Nanoseconds of an iteration, a request taken in, one sent, an answer.
    pub(crate) const fn all(&self) -> [u64; 4] {
        [self.round, self.receive, self.send, self.respond]
    }
}

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
    pub(crate) handed: Vec<(u64, Op, u16)>,
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
        self.rate(0..u16::MAX, until / 10..until)
    }

    /// The same with a scheduler that shares chips fairly, if it is asked to.
    pub(crate) fn run_fair(&mut self, order: DataOrder, until: u64, fair: Option<Fair<'_>>) {
        let chips = self.chips as usize;
        let count = chips * fair.as_ref().map_or(1, |fair| fair.queueing.streams());
        let (mut rings, mut operations) = (vec![Ring::EMPTY; count], vec![None; DEPTH * count]);
        let queues = ChipQueues::new(&mut rings, &mut operations, fair);
        let (states, channels) = (vec![ChipState::IDLE; chips], [ChannelState::IDLE]);
        let mut scheduler = Scheduler::new(states, channels, order, Polling::EXPECTED);
        let mut firmware = Firmware { bench: self, queues };
        while firmware.bench.now < until {
            firmware.bench.now += firmware.bench.costs.round;
            if scheduler.iterate(&mut firmware) {
                continue;
            }
            let Firmware { bench, queues } = &mut firmware;
            let room = |next: &&(u64, Operation)| queues.has_room(next.1.chip, next.1.stream);
            let arrival = bench.next.iter().filter(room).map(|next| next.0).min();
            let response = bench.responses.front().map(|response| response.0);
            let events = [arrival, response].into_iter().flatten().min().unwrap_or(u64::MAX);
            let event = events.min(scheduler.next_question().as_ns());
            assert!(event < u64::MAX, "the loop would sleep for ever");
            bench.now = bench.now.max(event.div_ceil(bench.costs.round) * bench.costs.round);
        }
    }

    /// Kilobytes of pages a second that some streams get in a time.
    pub(crate) fn rate(&self, streams: Range<u16>, time: Range<u64>) -> u64 {
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
    let stream = u16::try_from(stream).expect("few streams");
    let (page_bytes, chunk_bytes) = (PAGE_BYTES, CHUNK_BYTES);
    let (id, block, page, pages, polls) = (0, 0, 0, 1, true);
    Operation {
        id,
        op,
        stream,
        since: Time::ZERO,
        chip,
        block,
        page,
        pages,
        page_bytes,
        chunk_bytes,
        array,
        polls,
    }
}

impl Bench {
    /// The operation that arrived first and has room.
    fn arrival(&self, queues: &ChipQueues<'_>) -> Option<Operation> {
        let here = self.next.iter().filter(|next| next.0 <= self.now);
        let fits = here.filter(|next| queues.has_room(next.1.chip, next.1.stream));
        fits.min_by_key(|next| next.0).map(|next| next.1)
    }

    /// Hands an operation over. Returns it with its number.
    fn hand_over(&mut self, operation: Operation) -> Operation {
        let id = u32::try_from(self.handed.len()).expect("few operations");
        let stream = usize::from(operation.stream);
        let at = self.next[stream].0;
        self.handed.push((at, operation.op, operation.stream));
        // A layer hands over each request of the operation; the status of a read is asked for by
        // the scheduler itself.
        let requests = operation.requests() - u32::from(operation.op == Op::Read);
        let enqueued = self.now.max(at);
        self.now += self.costs.receive * u64::from(requests);
        self.generate(stream, enqueued);
        Operation { id, since: Time::from_ns(enqueued), ..operation }
    }
}

/// The queues of the chips, and the bench.
struct Firmware<'a> {
    bench: &'a mut Bench,
    queues: ChipQueues<'a>,
}

impl Platform for Firmware<'_> {
    fn now(&self) -> Time {
        Time::from_ns(self.bench.now)
    }

    fn take_in(&mut self) -> bool {
        let mut any = false;
        while let Some(operation) = self.bench.arrival(&self.queues) {
            self.queues.push(&self.bench.hand_over(operation));
            any = true;
        }
        any
    }

    fn next(&mut self, chip: u32) -> Option<Operation> {
        self.queues.pop(chip)
    }

    fn send(&mut self, request: &BusRequest) -> Time {
        let bench = &mut *self.bench;
        bench.now += bench.costs.send;
        let from = bench.now.max(bench.free);
        let until = from + bench.times.of(request.kind).as_ns();
        bench.free = until;
        let chip = request.chip as usize;
        if let Some(log) = &mut bench.log {
            log.push((*request, from, until));
        }
        assert!(
            request.kind == BusKind::Status || bench.done[chip] <= from,
            "{} to chip {chip}, which is busy",
            request.kind.name()
        );
        if request.kind.makes_busy() {
            let op = bench.handed[request.operation as usize].1;
            bench.done[chip] = until + operation(op, 0, 0).array.as_ns();
        } else if request.kind.class() != BusClass::Activation {
            let ready = bench.done[chip] + SAMPLED_NS <= until;
            let (chip, kind) = (request.chip, request.kind);
            bench.responses.push_back((until, Response { chip, kind, ready }));
        }
        Time::from_ns(until)
    }

    fn response(&mut self) -> Option<Response> {
        let &(at, response) = self.bench.responses.front()?;
        if at > self.bench.now {
            return None;
        }
        self.bench.responses.pop_front();
        self.bench.now += self.bench.costs.respond;
        Some(response)
    }

    fn complete(&mut self, operation: &Operation) {
        if operation.op != Op::Read {
            self.bench.now += self.bench.costs.respond;
        }
        self.queues.completed();
        self.bench.completions.push((operation.id, self.bench.now));
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
        // An idle channel takes so long.
        costs: [240_870, 1_665_900, 5_000_490],
    });
    bench.run_fair(DataOrder::RoundRobin, 30 * second, fair);
    [0..1, 1..2].map(|stream| thirds.clone().map(|third| bench.rate(stream.clone(), third)))
}
