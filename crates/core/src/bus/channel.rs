//! A channel that is scheduled at the moments at which its bus is free, and three ways to do so.
//!
//! Each chip serves the operations of its queue in order. Whenever the bus is free, a [`BusPolicy`]
//! chooses one chip among those whose next request can be sent. Status requests are sent when the
//! array is done, never too early.
//!
//! The three policies are the models that Nam et al. (Ozone, IEEE TC 2011) compare: one operation
//! at a time ([`Sequential`]), the start of operations and their completion each in order
//! ([`Decoupled`]), and no order but that of each chip ([`OutOfOrder`]).

use super::request::{BusClass, BusKind, BusRequest, Progress};
use crate::command::Op;
use crate::units::{Span, Time};

/// How long bus requests hold the bus.
pub trait Sequencer {
    /// The time that a request holds the bus.
    fn duration(&mut self, request: &BusRequest) -> Span;
}

/// Constant times for each kind of request, and for a byte of data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FixedTimes {
    /// By number of the kind, without its data.
    pub kinds: [Span; BusKind::ALL.len()],
    /// A byte of a data request.
    pub byte: Span,
}

impl Sequencer for FixedTimes {
    fn duration(&mut self, request: &BusRequest) -> Span {
        let data = Span::from_ns(self.byte.as_ns() * u64::from(request.bytes));
        self.kinds[request.kind.index()] + data
    }
}

/// What a bus policy sees of an operation at the head of its chip's queue, whose next request can
/// be sent now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Candidate {
    /// The place of the operation in the order of arrival, from 0.
    pub number: u64,
    /// The stream that asked for it.
    pub stream: u8,
    /// The request to send.
    pub kind: BusKind,
    /// Whether its array has been started.
    pub started: bool,
}

/// What a bus policy knows of the channel beside the candidates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChannelView<'a> {
    /// By chip: the head of its queue, where its next request can be sent now.
    pub candidates: &'a [Option<Candidate>],
    /// Operations whose array has been started.
    pub started: u64,
    /// Operations that are complete.
    pub completed: u64,
}

impl ChannelView<'_> {
    /// The chip to serve among those that `fits` allows: activations and status requests go before
    /// data, and the lowest chip first among equals.
    pub fn first(&self, fits: impl Fn(&Candidate) -> bool) -> Option<usize> {
        let fitting = self.candidates.iter().enumerate();
        let fitting =
            fitting.filter_map(|(chip, head)| head.filter(&fits).map(|head| (chip, head)));
        let least = fitting.min_by_key(|(chip, head)| (head.kind.class().rank(), *chip));
        least.map(|(chip, _)| chip)
    }
}

/// Chooses which chip gets the bus.
pub trait BusPolicy {
    /// The chip whose request is sent now; none to leave the bus idle until something changes.
    fn pick(&mut self, channel: &ChannelView<'_>) -> Option<usize>;
}

/// One operation at a time, in the order of arrival.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sequential;

impl BusPolicy for Sequential {
    fn pick(&mut self, channel: &ChannelView<'_>) -> Option<usize> {
        channel.first(|head| head.number == channel.completed)
    }
}

/// Operations start in the order of arrival, and complete in the order of arrival. The start of one
/// may go between the completion of another.
#[derive(Clone, Copy, Debug, Default)]
pub struct Decoupled;

impl BusPolicy for Decoupled {
    fn pick(&mut self, channel: &ChannelView<'_>) -> Option<usize> {
        channel.first(|head| {
            head.number == if head.started { channel.completed } else { channel.started }
        })
    }
}

/// Any operation at the head of a chip's queue.
#[derive(Clone, Copy, Debug, Default)]
pub struct OutOfOrder;

impl BusPolicy for OutOfOrder {
    fn pick(&mut self, channel: &ChannelView<'_>) -> Option<usize> {
        channel.first(|_| true)
    }
}

/// An operation of a chip.
#[derive(Clone, Copy, Debug)]
pub struct Operation {
    /// What the chip does.
    pub op: Op,
    /// The stream that asks for it.
    pub stream: u8,
    /// The chip.
    pub chip: u32,
    /// Its block.
    pub block: u32,
    /// The page of the block.
    pub page: u32,
    /// Chunks of data.
    pub chunks: u32,
    /// Bytes of a chunk.
    pub chunk_bytes: u32,
    /// Time in the array.
    pub array: Span,
    /// Whether a read asks for its status before its data.
    pub polls: bool,
}

/// An operation in a queue.
#[derive(Clone, Copy, Debug)]
pub struct Queued {
    operation: Operation,
    number: u64,
    progress: Progress,
}

/// A chip of a channel.
#[derive(Clone, Copy, Debug)]
pub struct Chip {
    /// The place of the oldest operation in the ring of the chip, and how many there are.
    first: usize,
    count: usize,
    /// When the array is done.
    ready: Time,
}

impl Chip {
    /// A chip that has nothing to do.
    pub const IDLE: Self = Self { first: 0, count: 0, ready: Time::ZERO };
}

/// A request on the bus.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sent {
    /// The request; its operation is the order of arrival.
    pub request: BusRequest,
    /// When it takes the bus.
    pub from: Time,
    /// When it leaves the bus.
    pub until: Time,
    /// Whether its operation is complete then.
    pub completes: bool,
}

/// A channel over lent memory: the chips, a queue of equal length for each chip, and a candidate
/// for each chip.
#[derive(Debug)]
pub struct Channel<'a, P> {
    policy: P,
    chips: &'a mut [Chip],
    queues: &'a mut [Option<Queued>],
    candidates: &'a mut [Option<Candidate>],
    free: Time,
    arrived: u64,
    started: u64,
    completed: u64,
}

impl<'a, P: BusPolicy> Channel<'a, P> {
    /// An idle channel. `queues` holds the operations of all chips, equally many of each.
    pub fn new(
        policy: P,
        chips: &'a mut [Chip],
        queues: &'a mut [Option<Queued>],
        candidates: &'a mut [Option<Candidate>],
    ) -> Self {
        assert!(!chips.is_empty() && queues.len() >= chips.len(), "a queue for each chip");
        assert_eq!(candidates.len(), chips.len(), "a candidate for each chip");
        chips.fill(Chip::IDLE);
        Self {
            policy,
            chips,
            queues,
            candidates,
            free: Time::ZERO,
            arrived: 0,
            started: 0,
            completed: 0,
        }
    }

    /// Operations that a chip's queue holds at most.
    pub const fn depth(&self) -> usize {
        self.queues.len() / self.chips.len()
    }

    /// Whether the queue of a chip has room.
    pub fn has_room(&self, chip: u32) -> bool {
        self.chips[chip as usize].count < self.depth()
    }

    /// Operations that have arrived and are not complete.
    pub const fn outstanding(&self) -> u64 {
        self.arrived - self.completed
    }

    /// An operation joins the queue of its chip, which must have room. Returns its number.
    pub fn arrive(&mut self, operation: Operation) -> u64 {
        let depth = self.depth();
        let number = self.arrived;
        self.arrived += 1;
        let index = operation.chip as usize;
        let chip = &mut self.chips[index];
        assert!(chip.count < depth, "the queue of chip {index} is full");
        let place = index * depth + (chip.first + chip.count) % depth;
        chip.count += 1;
        let start = if operation.polls { Progress::polled } else { Progress::new };
        let progress = start(operation.op, operation.chunks);
        self.queues[place] = Some(Queued { operation, number, progress });
        number
    }

    fn head(&mut self, chip: usize) -> Option<&mut Queued> {
        let place = chip * self.depth() + self.chips[chip].first;
        self.queues[place].as_mut()
    }

    /// Sends the next request, if the bus is free at `now` and the policy finds one.
    pub fn send(&mut self, now: Time, sequencer: &mut impl Sequencer) -> Option<Sent> {
        if now < self.free {
            return None;
        }
        for chip in 0..self.chips.len() {
            let ready = self.chips[chip].ready <= now;
            let head = self.head(chip).filter(|_| ready);
            self.candidates[chip] = head.and_then(|head| {
                let (number, stream) = (head.number, head.operation.stream);
                let kind = head.progress.next()?;
                Some(Candidate { number, stream, kind, started: head.progress.is_started() })
            });
        }
        let (started, completed) = (self.started, self.completed);
        let view = ChannelView { candidates: self.candidates, started, completed };
        let chip = self.policy.pick(&view)?;
        assert!(self.candidates[chip].is_some(), "the policy picks a chip that can be served");
        Some(self.serve(chip, now, sequencer))
    }

    fn serve(&mut self, chip: usize, now: Time, sequencer: &mut impl Sequencer) -> Sent {
        let head = self.head(chip).expect("a candidate has an operation");
        let Operation { stream, block, page, chunk_bytes, array, .. } = head.operation;
        let kind = head.progress.next().expect("a candidate has a request");
        let data = kind.class() == BusClass::Data;
        let request = BusRequest {
            operation: u32::try_from(head.number & u64::from(u32::MAX)).unwrap_or(0),
            stream,
            kind,
            channel: 0,
            chip: head.operation.chip,
            block,
            page,
            offset: if data { head.progress.moved() * chunk_bytes } else { 0 },
            bytes: if data { chunk_bytes } else { 0 },
        };
        head.progress.sent();
        let completes = head.progress.next().is_none();
        let until = now + sequencer.duration(&request);
        self.free = until;
        let depth = self.depth();
        let state = &mut self.chips[chip];
        // The chip takes nothing while its own request is on the bus.
        state.ready = until;
        if kind.makes_busy() {
            state.ready = until + array;
            self.started += 1;
        }
        if completes {
            let place = chip * depth + state.first;
            (state.first, state.count) = ((state.first + 1) % depth, state.count - 1);
            self.queues[place] = None;
            self.completed += 1;
        }
        Sent { request, from: now, until, completes }
    }

    /// The next instant after `now` at which a request may be sent that cannot be sent at `now`:
    /// the bus is free, or an array is done. [`Time::MAX`] where there is none.
    pub fn next_change(&self, now: Time) -> Time {
        if self.free > now {
            return self.free;
        }
        let working = self.chips.iter().filter(|chip| chip.count > 0 && chip.ready > now);
        working.map(|chip| chip.ready).min().unwrap_or(Time::MAX)
    }
}

#[cfg(test)]
mod tests;
