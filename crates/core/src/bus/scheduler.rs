//! The scheduler of the framework: a loop over the chips that sends each what it can take.
//!
//! One iteration takes operations in, starts chips that are free, moves one chunk of data, asks
//! chips that should be done for their status, and reads what the controller answers. The loop is
//! the same in hardware and in software; what an iteration costs is the platform's affair. Source:
//! Kim, Lee and Min, the flash request scheduling framework, its Fig. 3; where the figure is
//! silent, the rules are stated here.

use super::channel::Operation;
use super::fair::{FairQueueing, Share};
use super::request::{BusClass, BusKind, BusRequest, Progress};
use crate::command::Op;
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
    /// The oldest operation that the flash translation layer has handed over, that has not been
    /// taken in and that `has_room` for, given a chip and a stream. Its expected array time is in
    /// [`Operation::array`].
    fn arrival(&self, has_room: impl Fn(u32, u8) -> bool) -> Option<Operation>;
    /// Takes this operation in, under this number.
    fn take(&mut self, operation: &Operation, number: u32);
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

/// Operations that wait for a chip, in the order in which they came.
#[derive(Clone, Copy, Debug)]
pub struct Waiting {
    first: usize,
    count: usize,
}

impl Waiting {
    /// None.
    pub const NONE: Self = Self { first: 0, count: 0 };
}

/// What the scheduler keeps of a chip.
#[derive(Clone, Copy, Debug)]
pub struct ChipState {
    /// The operation that it serves.
    served: Option<Queued>,
    busy: bool,
    /// Whether a status request is under way; when the next one may be sent.
    asked: bool,
    ask_at: Time,
}

impl ChipState {
    /// A chip that has nothing to do.
    pub const IDLE: Self = Self { served: None, busy: false, asked: false, ask_at: Time::ZERO };
}

/// Shares chips fairly between streams, each of which has a queue of its own at each chip.
#[derive(Debug)]
pub struct Fair<'a> {
    /// Virtual time, a share for each stream.
    pub queueing: FairQueueing<&'a mut [Share]>,
    /// Streams.
    pub streams: usize,
    /// How long an operation is expected to occupy its chip, in ns, by number of [`Op`].
    pub costs: [u64; Op::ALL.len()],
}

/// The scheduler of a channel, over lent memory.
#[derive(Debug)]
pub struct Scheduler<'a> {
    chips: &'a mut [ChipState],
    /// A queue for each chip and, with fair queueing, each stream of it.
    queues: &'a mut [Waiting],
    operations: &'a mut [Option<Queued>],
    fair: Option<Fair<'a>>,
    order: DataOrder,
    polling: Polling,
    next_number: u32,
    /// The chip that moved data last, and the read whose last chunk is under way.
    last_data: usize,
    data_under_way: bool,
    ends_read: bool,
}

impl<'a> Scheduler<'a> {
    /// A scheduler whose chips have nothing to do. There is a queue for each chip or, with fair
    /// queueing, for each stream of each chip; `operations` holds equally many operations of each
    /// queue.
    pub fn new(
        chips: &'a mut [ChipState],
        queues: &'a mut [Waiting],
        operations: &'a mut [Option<Queued>],
        fair: Option<Fair<'a>>,
        order: DataOrder,
        polling: Polling,
    ) -> Self {
        let streams = fair.as_ref().map_or(1, |fair| fair.streams);
        assert!(!chips.is_empty() && streams > 0, "chips and streams");
        assert_eq!(queues.len(), chips.len() * streams, "a queue for each stream of each chip");
        assert!(operations.len() >= queues.len(), "each queue holds an operation");
        chips.fill(ChipState::IDLE);
        queues.fill(Waiting::NONE);
        let last_data = chips.len() - 1;
        Self {
            chips,
            queues,
            operations,
            fair,
            order,
            polling,
            next_number: 0,
            last_data,
            data_under_way: false,
            ends_read: false,
        }
    }

    /// Operations that wait in a queue at most.
    const fn depth(&self) -> usize {
        self.operations.len() / self.queues.len()
    }

    /// The queue of a stream at a chip.
    fn queue_of(&self, chip: u32, stream: u8) -> usize {
        let chip = chip as usize;
        self.fair.as_ref().map_or(chip, |fair| chip * fair.streams + usize::from(stream))
    }

    /// Whether an operation of a stream may be taken in for a chip.
    pub fn has_room(&self, chip: u32, stream: u8) -> bool {
        self.queues[self.queue_of(chip, stream)].count < self.depth()
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

    /// Operations join the queues of their chips, and chips that serve none take one.
    fn take_in(&mut self, platform: &mut impl Platform) -> bool {
        let mut any = false;
        while let Some(operation) = platform.arrival(|chip, stream| self.has_room(chip, stream)) {
            let index = self.queue_of(operation.chip, operation.stream);
            let depth = self.depth();
            let queue = &mut self.queues[index];
            assert!(queue.count < depth, "the platform hands over what there is room for");
            let place = index * depth + (queue.first + queue.count) % depth;
            queue.count += 1;
            let (number, progress) =
                (self.next_number, Progress::new(operation.op, operation.chunks));
            self.operations[place] = Some(Queued { operation, number, progress });
            if let Some(fair) = &mut self.fair {
                fair.queueing.arrived(operation.stream.into());
            }
            platform.take(&operation, number);
            self.next_number = number.wrapping_add(1);
            any = true;
        }
        for chip in 0..self.chips.len() {
            if self.chips[chip].served.is_none() {
                self.serve_next(chip);
            }
        }
        any
    }

    /// A chip that serves no operation takes the oldest one of its queue or, with fair queueing, of
    /// the stream whose virtual time is least.
    fn serve_next(&mut self, chip: usize) {
        let depth = self.depth();
        let index = match &self.fair {
            None => chip,
            Some(fair) => {
                let first = chip * fair.streams;
                let waits = |stream: &usize| self.queues[first + stream].count > 0;
                let picked = fair.queueing.pick((0..fair.streams).filter(waits));
                let Some(stream) = picked else { return };
                first + stream
            }
        };
        let queue = &mut self.queues[index];
        if queue.count == 0 {
            return;
        }
        let next = self.operations[index * depth + queue.first].take();
        (queue.first, queue.count) = ((queue.first + 1) % depth, queue.count - 1);
        self.chips[chip].served = next;
        if let (Some(fair), Some(Queued { operation, .. })) = (&mut self.fair, next) {
            fair.queueing.started(operation.stream.into(), fair.costs[operation.op as usize]);
        }
    }

    fn served(&self, chip: usize) -> Option<&Queued> {
        self.chips[chip].served.as_ref()
    }

    /// An operation is complete.
    fn complete(&mut self, platform: &mut impl Platform, number: u32) {
        if let Some(fair) = &mut self.fair {
            fair.queueing.completed();
        }
        platform.complete(number);
    }

    /// Chips that are not busy get their next activation. One whose operation has only its status
    /// left is done: the status was read when the chip became ready.
    fn start_chips(&mut self, platform: &mut impl Platform) -> bool {
        let mut any = false;
        for chip in 0..self.chips.len() {
            let head = if self.chips[chip].busy { None } else { self.served(chip) };
            let Some(&Queued { number, progress, operation }) = head else { continue };
            match progress.next().map(|kind| (kind, kind.class())) {
                Some((BusKind::Status, _)) => {
                    self.complete(platform, number);
                    self.sent(chip);
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
            let head = if self.chips[chip].busy { None } else { self.served(chip) };
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
                    let number = self.served(*chip).map_or(0, |head| head.number);
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
                    self.complete(platform, response.operation);
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

    /// A request of the operation that a chip serves.
    fn request(&self, chip: usize, kind: BusKind) -> BusRequest {
        let head = self.served(chip).expect("the chip serves an operation");
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

    /// The next request of the operation that a chip serves has been sent, or need not be. Returns
    /// whether it was the last one; the chip then serves the next operation.
    fn sent(&mut self, chip: usize) -> bool {
        let served = self.chips[chip].served.as_mut().expect("the chip serves an operation");
        served.progress.sent();
        let over = served.progress.next().is_none();
        if over {
            self.chips[chip].served = None;
            self.serve_next(chip);
        }
        over
    }
}
