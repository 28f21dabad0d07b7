//! The scheduler in a bare loop, as a firmware runs it: no heap, no clock but a counter, and a
//! controller that is a few registers.
//!
//! ```text
//! cargo run --release -p flashyard-core --example bare_loop
//! ```
//!
//! Two chips erase, program and read. The program prints the order of bus requests and when each
//! operation is complete.

use flashyard_core::bus::channel::Operation;
use flashyard_core::bus::request::{BusClass, BusKind, BusRequest};
use flashyard_core::bus::scheduler::{
    ChipState, DataOrder, Platform, Polling, Response, Scheduler, Waiting,
};
use flashyard_core::command::Op;
use flashyard_core::units::{Span, Time};
use std::io::Write;

const CHIPS: usize = 2;

/// What the flash translation layer wants: an operation and its chip.
const WANTED: [(Op, u32); 5] =
    [(Op::Program, 0), (Op::Read, 1), (Op::Read, 0), (Op::Erase, 1), (Op::Read, 0)];

/// A controller that serves a request at once, and chips that count down.
struct Board {
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

impl Board {
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

impl Platform for Board {
    fn now(&self) -> Time {
        self.now
    }

    fn arrival(&self, has_room: impl Fn(u32, u8) -> bool) -> Option<Operation> {
        let &(op, chip) = WANTED.get(self.next)?;
        let array = Self::array(op);
        let (stream, block, page, chunks, chunk_bytes, polls) = (0, 0, 0, 4, 4_096, true);
        has_room(chip, stream).then_some(Operation {
            op,
            stream,
            chip,
            block,
            page,
            chunks,
            chunk_bytes,
            array,
            polls,
        })
    }

    fn take(&mut self, _operation: &Operation, _number: u32) {
        self.next += 1;
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
            *free.expect("the scheduler waits for answers") =
                Some(Response { chip, kind, operation, ready });
        }
        self.now
    }

    fn response(&mut self) -> Option<Response> {
        self.responses.iter_mut().find_map(Option::take)
    }

    fn complete(&mut self, number: u32) {
        self.complete[self.completed] = (number, self.now);
        self.completed += 1;
    }
}

fn main() {
    let mut chips = [ChipState::IDLE; CHIPS];
    let mut queues = [Waiting::NONE; CHIPS];
    let mut operations = [None; 4 * CHIPS];
    let mut scheduler = Scheduler::new(
        &mut chips,
        &mut queues,
        &mut operations,
        None,
        DataOrder::Oldest,
        Polling::EXPECTED,
    );
    let mut board = Board {
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
