//! The scheduler of the framework: a loop over the chips that sends each what it can take.
//!
//! One iteration takes operations in, starts chips that are free, moves one chunk of data, asks
//! chips that should be done for their status, and reads what the controller answers. The loop is
//! the same in hardware and in software; what an iteration costs is the platform's affair. Source:
//! Kim, Lee and Min, the flash request scheduling framework, its Fig. 3; where the figure is
//! silent, the rules are stated here.

use super::channel::Operation;
use super::request::{BusClass, BusKind, BusRequest, Progress};
use crate::units::{Span, Time};

/// Which chip moves data next, where several could.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DataOrder {
    /// The lowest number, as the figure has it.
    LowestChip,
    /// The next one after the chip that moved data last.
    RoundRobin,
    /// The one whose operation came first.
    Oldest,
}

/// When chips are asked for their status.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Polling {
    /// Whether a chip is asked only once it has had the typical time of its operation. Otherwise
    /// it is asked in every iteration.
    pub waits: bool,
    /// Time between an answer "busy" and the next question.
    pub gap: Span,
}

impl Polling {
    /// After the typical time, then every microsecond.
    pub const EXPECTED: Self = Self { waits: true, gap: Span::from_us(1) };
}

/// What the controller answers. Activations are not answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Response {
    /// The chip.
    pub chip: u32,
    /// What was asked: a data request or a status request.
    pub kind: BusKind,
    /// The operation of a data request, and whether it was the last request of a read.
    pub operation: u32,
    /// Of a status request: whether the chip is ready.
    pub ready: bool,
}

/// What the scheduler runs on: a clock, the queue of the flash translation layer, the controller.
pub trait Platform {
    /// The present.
    fn now(&self) -> Time;
    /// The oldest operation that the flash translation layer has handed over and that has not been
    /// taken in; its expected array time is in [`Operation::array`].
    fn arrival(&self) -> Option<Operation>;
    /// Takes it in, as this operation number.
    fn take(&mut self, number: u32);
    /// Sends a request to the controller, which serves requests in order. Returns when it will
    /// have left the bus.
    fn send(&mut self, request: &BusRequest) -> Time;
    /// The next response of the controller, if there is one.
    fn response(&mut self) -> Option<Response>;
    /// An operation is complete.
    fn complete(&mut self, number: u32);
}

/// What the scheduler keeps of an operation.
#[derive(Clone, Copy, Debug)]
pub struct Queued {
    operation: Operation,
    number: u32,
    progress: Progress,
}

/// What the scheduler keeps of a chip.
#[derive(Clone, Copy, Debug)]
pub struct ChipState {
    first: usize,
    count: usize,
    busy: bool,
    /// Whether a status request is under way; when the next one may be sent.
    asked: bool,
    ask_at: Time,
}

impl ChipState {
    /// A chip that has nothing to do.
    pub const IDLE: Self =
        Self { first: 0, count: 0, busy: false, asked: false, ask_at: Time::ZERO };
}

/// The scheduler of a channel, over lent memory.
#[derive(Debug)]
pub struct Scheduler<'a> {
    chips: &'a mut [ChipState],
    queues: &'a mut [Option<Queued>],
    order: DataOrder,
    polling: Polling,
    next_number: u32,
    /// The chip that moved data last, and the read whose last chunk is under way.
    last_data: usize,
    data_under_way: bool,
    ends_read: bool,
}

impl<'a> Scheduler<'a> {
    /// A scheduler whose chips have nothing to do. `queues` holds the operations of all chips,
    /// equally many of each: the one that the chip serves, and those that wait behind it.
    pub fn new(
        chips: &'a mut [ChipState],
        queues: &'a mut [Option<Queued>],
        order: DataOrder,
        polling: Polling,
    ) -> Self {
        assert!(!chips.is_empty() && queues.len() >= chips.len(), "a queue for each chip");
        chips.fill(ChipState::IDLE);
        let last_data = chips.len() - 1;
        Self {
            chips,
            queues,
            order,
            polling,
            next_number: 0,
            last_data,
            data_under_way: false,
            ends_read: false,
        }
    }

    const fn depth(&self) -> usize {
        self.queues.len() / self.chips.len()
    }

    /// Whether the queue of a chip has room.
    pub fn has_room(&self, chip: u32) -> bool {
        self.chips[chip as usize].count < self.depth()
    }

    /// When a chip is asked for its status next; [`Time::MAX`] where none waits for that.
    pub fn next_question(&self) -> Time {
        let waiting = self.chips.iter().filter(|chip| chip.busy && !chip.asked);
        waiting.map(|chip| chip.ask_at).min().unwrap_or(Time::MAX)
    }

    /// One iteration. Returns whether it did anything.
    pub fn iterate(&mut self, platform: &mut impl Platform) -> bool {
        let taken = self.take_in(platform);
        let started = self.start_chips(platform);
        let moved = self.move_data(platform);
        let asked = self.ask(platform);
        let answered = self.read_responses(platform);
        taken || started || moved || asked || answered
    }

    /// Operations join the queues of their chips. One whose queue is full holds back those behind.
    fn take_in(&mut self, platform: &mut impl Platform) -> bool {
        let mut any = false;
        while let Some(operation) = platform.arrival() {
            let index = operation.chip as usize;
            if !self.has_room(operation.chip) {
                break;
            }
            let depth = self.depth();
            let chip = &mut self.chips[index];
            let place = index * depth + (chip.first + chip.count) % depth;
            chip.count += 1;
            let progress = Progress::new(operation.op, operation.chunks);
            self.queues[place] = Some(Queued { operation, number: self.next_number, progress });
            platform.take(self.next_number);
            self.next_number = self.next_number.wrapping_add(1);
            any = true;
        }
        any
    }

    fn head(&self, chip: usize) -> Option<&Queued> {
        self.queues[chip * self.depth() + self.chips[chip].first].as_ref()
    }

    /// Chips that are not busy get their next activation. One whose operation has only its status
    /// left is done: the status was read when the chip became ready.
    fn start_chips(&mut self, platform: &mut impl Platform) -> bool {
        let mut any = false;
        for chip in 0..self.chips.len() {
            let head = if self.chips[chip].busy { None } else { self.head(chip) };
            let Some(&Queued { number, progress, operation }) = head else { continue };
            match progress.next().map(|kind| (kind, kind.class())) {
                Some((BusKind::Status, _)) => {
                    self.sent(chip);
                    platform.complete(number);
                }
                Some((kind, BusClass::Activation)) => {
                    let left = platform.send(&self.request(chip, kind));
                    self.sent(chip);
                    if kind.makes_busy() {
                        let state = &mut self.chips[chip];
                        state.busy = true;
                        let waits = self.polling.waits;
                        state.ask_at = if waits { left + operation.array } else { Time::ZERO };
                    }
                }
                _ => continue,
            }
            any = true;
        }
        any
    }

    /// A chip that is ready moves a chunk of data, unless another chunk is under way.
    fn move_data(&mut self, platform: &mut impl Platform) -> bool {
        if self.data_under_way {
            return false;
        }
        let count = self.chips.len();
        let kind = |chip: usize| {
            let head = if self.chips[chip].busy { None } else { self.head(chip) };
            head.and_then(|head| head.progress.next())
        };
        let moves = |chip: &usize| kind(*chip).is_some_and(|kind| kind.class() == BusClass::Data);
        let chip = match self.order {
            DataOrder::LowestChip => (0..count).find(moves),
            DataOrder::RoundRobin => {
                (1..=count).map(|step| (self.last_data + step) % count).find(moves)
            }
            DataOrder::Oldest => {
                let age = |chip: &usize| {
                    let number = self.head(*chip).map_or(0, |head| head.number);
                    core::cmp::Reverse(self.next_number.wrapping_sub(number))
                };
                (0..count).filter(moves).min_by_key(age)
            }
        };
        let Some(chip) = chip else { return false };
        let kind = kind(chip).expect("a chip that moves data has a request");
        platform.send(&self.request(chip, kind));
        self.last_data = chip;
        self.data_under_way = true;
        self.ends_read = self.sent(chip) && kind == BusKind::DataOut;
        true
    }

    /// Chips that should be done are asked for their status.
    fn ask(&mut self, platform: &mut impl Platform) -> bool {
        let mut any = false;
        for chip in 0..self.chips.len() {
            let state = self.chips[chip];
            if state.busy && !state.asked && platform.now() >= state.ask_at {
                platform.send(&self.request(chip, BusKind::Status));
                self.chips[chip].asked = true;
                any = true;
            }
        }
        any
    }

    fn read_responses(&mut self, platform: &mut impl Platform) -> bool {
        let mut any = false;
        while let Some(response) = platform.response() {
            any = true;
            if response.kind.class() == BusClass::Data {
                self.data_under_way = false;
                if core::mem::take(&mut self.ends_read) {
                    platform.complete(response.operation);
                }
                continue;
            }
            let chip = &mut self.chips[response.chip as usize];
            chip.asked = false;
            if response.ready {
                chip.busy = false;
            } else {
                let next = platform.now() + self.polling.gap;
                chip.ask_at = if self.polling.waits { next } else { Time::ZERO };
            }
        }
        any
    }

    /// A request of the operation at the head of a chip's queue. One that asks for the status may
    /// have none.
    fn request(&self, chip: usize, kind: BusKind) -> BusRequest {
        let head = self.head(chip).expect("a chip that is served has an operation");
        let Operation { stream, block, page, chunk_bytes, .. } = head.operation;
        let data = kind.class() == BusClass::Data;
        BusRequest {
            operation: head.number,
            stream,
            kind,
            channel: 0,
            chip: head.operation.chip,
            block,
            page,
            offset: if data { head.progress.moved() * chunk_bytes } else { 0 },
            bytes: if data { chunk_bytes } else { 0 },
        }
    }

    /// The next request of the operation at the head of a chip's queue has been sent, or needs
    /// not be. Returns whether it was the last one; the operation has then left the queue.
    fn sent(&mut self, chip: usize) -> bool {
        let depth = self.depth();
        let state = &mut self.chips[chip];
        let place = chip * depth + state.first;
        let head = self.queues[place].as_mut().expect("a chip that is served has an operation");
        head.progress.sent();
        let over = head.progress.next().is_none();
        if over {
            self.queues[place] = None;
            (state.first, state.count) = ((state.first + 1) % depth, state.count - 1);
        }
        over
    }
}

#[cfg(test)]
mod tests;
