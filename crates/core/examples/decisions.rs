//! What the scheduler does in a second: decisions, requests and answers, and how long they take.
//!
//! ```text
//! cargo run --release -p flashyard-core --example decisions -- [WORK] [OPERATIONS]
//! ```
//!
//! There are eight chips on one channel. Controller and chips answer at once, so nearly all time is
//! spent in the scheduler. `cargo xtask scheduler` counts the instructions of this program and
//! divides them among the parts of an iteration.

use flashyard_core::bus::policy::framework::DataOrder;
use flashyard_core::bus::queues::{ChipQueues, Ring};
use flashyard_core::bus::request::{BusClass, BusRequest, Operation};
use flashyard_core::bus::scheduler::{
    ChannelState, ChipState, Platform, Polling, Response, Scheduler,
};
use flashyard_core::command::Op;
use flashyard_core::units::{Span, Time};
use std::hint::black_box;
use std::io::Write;
use std::time::Instant;

const CHIPS: u32 = 8;

/// Operations that wait for a chip.
const DEPTH: usize = 16;

/// Works: a name, operations in turn, chunks of a page, whether reads ask for their status.
const WORKS: [(&str, &[Op], u32, bool); 6] = [
    ("mix", &[Op::Read, Op::Program, Op::Read], 4, true),
    ("reads", &[Op::Read], 4, true),
    ("programs", &[Op::Program], 4, true),
    ("erases", &[Op::Erase], 1, true),
    ("short-reads", &[Op::Read], 1, false),
    ("idle", &[Op::Erase], 1, true),
];

/// What there was to do.
#[derive(Default)]
struct Counts {
    iterations: u64,
    /// Iterations that did something.
    decisions: u64,
    operations: u64,
    /// Requests of the operations, as a translation layer counts them.
    received: u64,
    sent: u64,
    /// Responses, and completions that are no response.
    answers: u64,
}

/// A translation layer that always has an operation, a controller of some registers, and chips.
struct Board<'a> {
    queues: ChipQueues<'a>,
    now: Time,
    work: &'static [Op],
    wanted: Operation,
    left: u32,
    free: Time,
    done: [Time; CHIPS as usize],
    /// Responses in the order of their instants, a ring.
    responses: [(Time, Option<Response>); 16],
    first: usize,
    count: usize,
    counts: Counts,
}

fn operation(id: u32, op: Op, chunks: u32, polls: bool) -> Operation {
    let array = match op {
        Op::Read => Span::from_us(75),
        Op::Program => Span::from_us(1_500),
        Op::Erase => Span::from_us(5_000),
    };
    let (stream, since, chip, block, page, pages) = (0, Time::ZERO, id % CHIPS, 0, 0, 1);
    let (page_bytes, chunk_bytes) = (chunks * 4_096, 4_096);
    Operation {
        id,
        op,
        stream,
        since,
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

impl Board<'_> {
    /// The operation that comes after this one.
    #[inline(never)]
    fn generate(&mut self) {
        let id = self.wanted.id + 1;
        let op = self.work[id as usize % self.work.len()];
        let chunks = self.wanted.page_bytes / 4_096;
        let next = operation(id, op, chunks, self.wanted.polls);
        let requests = next.requests() - u32::from(op == Op::Read && next.polls);
        self.counts.operations += 1;
        self.counts.received += u64::from(requests);
        self.wanted = Operation { since: self.now, ..next };
        self.left -= 1;
    }

    /// The board's side of sending. A chip works for as long as it is expected to.
    #[inline(never)]
    fn serve(&mut self, request: &BusRequest) -> Time {
        self.counts.sent += 1;
        let is_data = request.kind.class() == BusClass::Data;
        let ns = if is_data { 340 + 10 * u64::from(request.bytes) } else { 300 };
        self.free = self.free.max(self.now) + Span::from_ns(ns);
        let (chip, kind) = (request.chip, request.kind);
        if kind.makes_busy() {
            let op = if kind.name() == "EA" { Op::Erase } else { Op::Read };
            let op = if kind.name() == "PA" { Op::Program } else { op };
            self.done[chip as usize] = self.free + operation(0, op, 0, true).array;
        } else if kind.class() != BusClass::Activation {
            let ready = self.done[chip as usize] <= self.free;
            let place = (self.first + self.count) % self.responses.len();
            self.responses[place] = (self.free, Some(Response { chip, kind, ready }));
            self.count += 1;
        }
        self.free
    }

    /// The board's side of an answer.
    #[inline(never)]
    fn answer(&mut self) -> Option<Response> {
        let (at, response) = self.responses[self.first];
        if self.count == 0 || at > self.now {
            return None;
        }
        self.counts.answers += 1;
        (self.first, self.count) = ((self.first + 1) % self.responses.len(), self.count - 1);
        response
    }
}

impl Platform for Board<'_> {
    fn now(&self) -> Time {
        self.now
    }

    #[inline(never)]
    fn take_in(&mut self) -> bool {
        let mut any = false;
        while self.left > 0 && self.queues.has_room(self.wanted.chip, 0) {
            self.queues.push(&self.wanted);
            self.generate();
            any = true;
        }
        any
    }

    #[inline(never)]
    fn next(&mut self, chip: u32) -> Option<Operation> {
        self.queues.pop(chip)
    }

    fn send(&mut self, request: &BusRequest) -> Time {
        self.serve(request)
    }

    fn response(&mut self) -> Option<Response> {
        self.answer()
    }

    fn complete(&mut self, operation: &Operation) {
        self.queues.completed();
        if operation.op != Op::Read {
            self.counts.answers += 1;
        }
    }
}

/// Runs a work; `is_idle` iterates without anything to do once every chip works.
#[inline(never)]
fn run(work: (&'static [Op], u32, bool), operations: u32, is_idle: bool) -> Counts {
    let (ops, chunks, polls) = work;
    let (mut rings, mut waiting) = ([Ring::EMPTY; CHIPS as usize], [None; DEPTH * CHIPS as usize]);
    let mut scheduler = Scheduler::new(
        [ChipState::IDLE; CHIPS as usize],
        [ChannelState::IDLE],
        DataOrder::RoundRobin,
        Polling::EXPECTED,
    );
    let mut board = Board {
        queues: ChipQueues::new(&mut rings, &mut waiting, None),
        now: Time::ZERO,
        work: ops,
        wanted: operation(0, ops[0], chunks, polls),
        left: if is_idle { CHIPS } else { operations },
        free: Time::ZERO,
        done: [Time::ZERO; CHIPS as usize],
        responses: [(Time::ZERO, None); 16],
        first: 0,
        count: 0,
        counts: Counts::default(),
    };
    loop {
        board.counts.iterations += 1;
        if scheduler.iterate(black_box(&mut board)) {
            board.counts.decisions += 1;
            board.now = board.now + Span::from_ns(10);
            continue;
        }
        if is_idle {
            if board.counts.iterations > u64::from(operations) {
                return board.counts;
            }
            continue;
        }
        let response = if board.count > 0 { board.responses[board.first].0 } else { Time::MAX };
        let event = response.min(scheduler.next_question());
        if event == Time::MAX {
            return board.counts;
        }
        board.now = board.now.max(event);
    }
}

fn main() -> std::io::Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let wanted = arguments.first();
    let operations = arguments.get(1).and_then(|text| text.parse().ok()).unwrap_or(1_000_000);
    let mut out = std::io::stdout().lock();
    for (name, ops, chunks, polls) in WORKS {
        if wanted.is_some_and(|wanted| wanted != name) {
            continue;
        }
        let start = Instant::now();
        let counts = run((ops, chunks, polls), operations, name == "idle");
        let ns = start.elapsed().as_nanos();
        let Counts { iterations, decisions, operations, received, sent, answers } = counts;
        writeln!(
            out,
            "{name}: {iterations} iterations, {decisions} decisions, {operations} operations, \
             {received} received, {sent} sent, {answers} answers, {ns} ns"
        )?;
    }
    Ok(())
}
