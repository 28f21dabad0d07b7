//! The scheduler in a bare loop, as a firmware runs it: no heap, no clock but a counter, and a
//! controller that is a few registers.
//!
//! ```text
//! cargo run --release -p flashyard-core --example bare_loop
//! ```
//!
//! Two chips erase, program and read. The program prints the order of bus requests and when each
//! operation is complete.

use flashyard_core::bus::policy::framework::DataOrder;
use flashyard_core::bus::queues::{ChipQueues, Ring};
use flashyard_core::bus::request::{BusClass, BusKind, BusRequest, Operation};
use flashyard_core::bus::scheduler::{
    ChannelState, ChipState, Platform, Polling, Response, Scheduler,
};
use flashyard_core::command::Op;
use flashyard_core::units::{Span, Time};
use std::io::Write;

const CHIPS: usize = 2;

/// What the flash translation layer wants: an operation and its chip.
const WANTED: [(Op, u32); 5] =
    [(Op::Program, 0), (Op::Read, 1), (Op::Read, 0), (Op::Erase, 1), (Op::Read, 0)];

/// A controller that serves a request at once, and chips that count down.
struct Board<'a> {
    queues: ChipQueues<'a>,
    now: Time,
    next: usize,
    /// When the array of each chip is done.
    done: [Time; CHIPS],
    /// Answers that have not been read: of one chunk of data, and of the status of each chip.
    responses: [Option<Response>; CHIPS + 1],
    /// Numbers of operations and when they were complete, in order.
    complete: [(u32, Time); WANTED.len()],
    completed: usize,
    out: std::io::Stdout,
}

impl Board<'_> {
    /// Time on the bus: 200 ns for short requests, 41 us for a chunk of data.
    fn duration(kind: BusKind) -> Span {
        Span::from_ns(if kind.class() == BusClass::Data { 41_000 } else { 200 })
    }

    fn array(op: Op) -> Span {
        Span::from_us(match op {
            Op::Read => 75,
            Op::Program => 1_500,
            Op::Erase => 5_000,
        })
    }
}

impl Platform for Board<'_> {
    fn now(&self) -> Time {
        self.now
    }

    fn take_in(&mut self) -> bool {
        let first = self.next;
        while let Some(&(op, chip)) = WANTED.get(self.next)
            && self.queues.has_room(chip, 0)
        {
            let id = u32::try_from(self.next).expect("few operations");
            let (stream, block, page, pages, page_bytes) = (0, 0, 0, 1, 16_384);
            let (chunk_bytes, array, polls) = (4_096, Self::array(op), true);
            self.queues.push(&Operation {
                id,
                op,
                since: self.now,
                stream,
                chip,
                block,
                page,
                pages,
                page_bytes,
                chunk_bytes,
                array,
                polls,
            });
            self.next += 1;
        }
        self.next > first
    }

    fn next(&mut self, chip: u32) -> Option<Operation> {
        self.queues.pop(chip)
    }

    fn send(&mut self, request: &BusRequest) -> Time {
        let BusRequest { kind, chip, operation, .. } = *request;
        let line = (self.now, operation, kind.name(), chip);
        writeln!(self.out, "{:?}: operation {}, {} to chip {}", line.0, line.1, line.2, line.3)
            .expect("standard output is open");
        self.now = self.now + Self::duration(kind);
        if kind.makes_busy() {
            self.done[chip as usize] = self.now + Self::array(WANTED[operation as usize].0);
        } else if kind.class() != BusClass::Activation {
            let ready = self.done[chip as usize] <= self.now;
            let free = self.responses.iter_mut().find(|place| place.is_none());
            *free.expect("the scheduler waits for answers") = Some(Response { chip, kind, ready });
        }
        self.now
    }

    fn response(&mut self) -> Option<Response> {
        self.responses.iter_mut().find_map(Option::take)
    }

    fn complete(&mut self, operation: &Operation) {
        self.queues.completed();
        self.complete[self.completed] = (operation.id, self.now);
        self.completed += 1;
    }
}

fn main() {
    let (mut rings, mut operations) = ([Ring::EMPTY; CHIPS], [None; 4 * CHIPS]);
    let mut scheduler = Scheduler::new(
        [ChipState::IDLE; CHIPS],
        [ChannelState::IDLE],
        DataOrder::Oldest,
        Polling::EXPECTED,
    );
    let mut board = Board {
        queues: ChipQueues::new(&mut rings, &mut operations, None),
        now: Time::ZERO,
        next: 0,
        done: [Time::ZERO; CHIPS],
        responses: [None; CHIPS + 1],
        complete: [(0, Time::ZERO); WANTED.len()],
        completed: 0,
        out: std::io::stdout(),
    };
    while board.completed < WANTED.len() {
        if !scheduler.iterate(&mut board) {
            // Nothing to do before a chip may be done.
            board.now = board.now.max(scheduler.next_question());
        }
    }
    for (number, at) in board.complete {
        writeln!(board.out, "operation {number} is complete at {at:?}").expect("it is open");
    }
}
