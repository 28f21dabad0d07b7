//! The scheduler of the flash request scheduling framework: a loop that hands bus requests to a
//! controller and reads its answers.
//!
//! An iteration takes operations in, sends an activation to each chip that is not busy, sends one
//! chunk of data on each channel, asks chips that should be done for their status, and reads the
//! answers. The loop is the same in hardware and in software; what an iteration costs is the
//! platform's affair. Source: Kim, Lee and Min, the flash request scheduling framework, its Fig. 3;
//! where the figure is silent, the rules are stated here.

use super::policy::framework::DataOrder;
use super::request::{BusClass, BusKind, BusRequest, Operation, Served};
use crate::units::{Span, Time};

/// When chips are asked for their status.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Polling {
    /// Whether a chip is asked only once it has had the time that is expected of its operation.
    /// Otherwise it is asked in every iteration.
    pub waits: bool,
    /// Time between an answer "busy" and the next question.
    pub gap: Span,
}

impl Polling {
    /// After the expected time, then every microsecond.
    pub const EXPECTED: Self = Self { waits: true, gap: Span::from_us(1) };
}

/// What the controller answers. Activations are not answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Response {
    /// The chip.
    pub chip: u32,
    /// What was asked: a data request or a status request.
    pub kind: BusKind,
    /// Of a status request: whether the chip is ready.
    pub ready: bool,
}

/// What the scheduler runs on: a clock, the queues of the flash translation layer, the controller.
/// Chips are numbered through all channels.
pub trait Platform {
    /// The present.
    fn now(&self) -> Time;
    /// Takes in the operations that the flash translation layer has handed over, as far as the
    /// queues of their chips have room. Returns whether there was one.
    fn take_in(&mut self) -> bool;
    /// The operation that a chip serves next, now that it serves none.
    fn next(&mut self, chip: u32) -> Option<Operation>;
    /// Sends a request to the controller of its channel, which serves requests in order. Returns
    /// when it will have left the bus.
    fn send(&mut self, request: &BusRequest) -> Time;
    /// The next response of the controllers, if there is one.
    fn response(&mut self) -> Option<Response>;
    /// The operation that a chip served is complete.
    fn complete(&mut self, operation: &Operation);
}

/// What the scheduler keeps of a chip.
#[derive(Clone, Copy, Debug)]
pub struct ChipState {
    /// The operation that it serves.
    served: Option<Served>,
    busy: bool,
    /// Whether a status request is under way; when the next one may be sent.
    asked: bool,
    ask_at: Time,
}

impl ChipState {
    /// A chip that has nothing to do.
    pub const IDLE: Self = Self { served: None, busy: false, asked: false, ask_at: Time::ZERO };

    /// Whether it reads and is not asked for its status.
    fn is_silent(&self) -> bool {
        self.served.is_some_and(|served| served.next() == Some(BusKind::DataOut))
    }

    /// The kind of the request that it sends next, unless it is busy.
    fn next(&self) -> Option<BusKind> {
        self.served.filter(|_| !self.busy)?.next()
    }
}

/// What the scheduler keeps of a channel.
#[derive(Clone, Copy, Debug)]
pub struct ChannelState {
    /// The chip that moved data last, on the channel.
    last_data: usize,
    /// Whether a chunk of data is under way; the read whose last one it is.
    data_under_way: bool,
    ends: Option<Operation>,
}

impl ChannelState {
    /// A channel that has moved no data.
    pub const IDLE: Self = Self { last_data: usize::MAX, data_under_way: false, ends: None };
}

/// The scheduler of one channel or more, over lent memory.
#[derive(Debug)]
pub struct Scheduler<C, H> {
    chips: C,
    channels: H,
    order: DataOrder,
    polling: Polling,
}

impl<C, H> Scheduler<C, H>
where
    C: AsRef<[ChipState]> + AsMut<[ChipState]>,
    H: AsRef<[ChannelState]> + AsMut<[ChannelState]>,
{
    /// A scheduler whose chips have nothing to do. Each channel has equally many of them.
    pub fn new(mut chips: C, mut channels: H, order: DataOrder, polling: Polling) -> Self {
        let (count, buses) = (chips.as_ref().len(), channels.as_ref().len());
        assert!(
            buses > 0 && count >= buses && count.is_multiple_of(buses),
            "chips of each channel"
        );
        chips.as_mut().fill(ChipState::IDLE);
        let last_data = count / buses - 1;
        channels.as_mut().fill(ChannelState { last_data, ..ChannelState::IDLE });
        Self { chips, channels, order, polling }
    }

    /// By channel, its chip that moved data last.
    pub fn turns(&self) -> impl Iterator<Item = usize> {
        self.channels.as_ref().iter().map(|channel| channel.last_data)
    }

    /// From here the turns of chips go on.
    pub fn set_turns(&mut self, turns: impl Iterator<Item = usize>) {
        let last = self.width() - 1;
        for (channel, turn) in self.channels.as_mut().iter_mut().zip(turns) {
            channel.last_data = turn.min(last);
        }
    }

    /// When a chip is asked for its status next; [`Time::MAX`] where none waits for that.
    pub fn next_question(&self) -> Time {
        let waiting = self.chips.as_ref().iter().filter(|chip| chip.busy && !chip.asked);
        waiting.map(|chip| chip.ask_at).min().unwrap_or(Time::MAX)
    }

    /// One iteration. Returns whether it did anything.
    pub fn iterate(&mut self, platform: &mut impl Platform) -> bool {
        let taken = platform.take_in();
        let started = self.start_chips(platform);
        let moved = self.move_data(platform);
        let asked = self.ask(platform);
        let answered = self.read_responses(platform);
        taken || started || moved || asked || answered
    }

    /// Chips of each channel.
    fn width(&self) -> usize {
        self.chips.as_ref().len() / self.channels.as_ref().len()
    }

    fn chip(&mut self, chip: usize) -> &mut ChipState {
        &mut self.chips.as_mut()[chip]
    }

    /// A chip that serves no operation takes the next one.
    fn serve_next(&mut self, chip: usize, platform: &mut impl Platform) {
        let number = u32::try_from(chip).unwrap_or(u32::MAX);
        if let Some(operation) = platform.next(number) {
            self.chip(chip).served = Some(Served::new(operation));
        }
    }

    /// Chips that are not busy get their next activation. One whose operation has only its status
    /// left is done: the status was read when the chip became ready.
    fn start_chips(&mut self, platform: &mut impl Platform) -> bool {
        let mut any = false;
        for chip in 0..self.chips.as_ref().len() {
            if self.chip(chip).served.is_none() {
                self.serve_next(chip, platform);
            }
            let Some(kind) = self.chip(chip).next() else { continue };
            match kind.class() {
                BusClass::Status => self.skip_status(chip, platform),
                BusClass::Activation => {
                    let served = self.chip(chip).served.expect("it has a next request");
                    let left = self.send(chip, kind, platform);
                    if served.starts_array() {
                        let waits = self.polling.waits;
                        let expected = left + served.operation().array;
                        let state = self.chip(chip);
                        state.busy = true;
                        state.ask_at =
                            if waits || state.is_silent() { expected } else { Time::ZERO };
                    }
                }
                BusClass::Data => continue,
            }
            any = true;
        }
        any
    }

    /// The status that an operation has left is known. It is complete, unless data follow.
    fn skip_status(&mut self, chip: usize, platform: &mut impl Platform) {
        let served = self.chip(chip).served.as_mut().expect("its status is left");
        let operation = *served.operation();
        if served.sent() {
            platform.complete(&operation);
            self.chip(chip).served = None;
            self.serve_next(chip, platform);
        }
    }

    /// Sends the next request of a chip. Returns when it will have left the bus.
    fn send(&mut self, chip: usize, kind: BusKind, platform: &mut impl Platform) -> Time {
        let channel = u32::try_from(chip / self.width()).unwrap_or(u32::MAX);
        let served = self.chip(chip).served.as_mut().expect("it has a next request");
        let left = platform.send(&served.request(kind, channel));
        if kind != BusKind::Status {
            served.sent();
        }
        left
    }

    /// On each channel a chip that is ready moves a chunk of data, unless another chunk is under
    /// way.
    fn move_data(&mut self, platform: &mut impl Platform) -> bool {
        let mut any = false;
        for channel in 0..self.channels.as_ref().len() {
            if !self.channels.as_ref()[channel].data_under_way {
                any |= self.move_chunk(channel, platform);
            }
        }
        any
    }

    fn move_chunk(&mut self, channel: usize, platform: &mut impl Platform) -> bool {
        let width = self.width();
        let first = channel * width;
        let chips = &self.chips.as_ref()[first..first + width];
        let moves =
            |chip: &usize| chips[*chip].next().is_some_and(|kind| kind.class() == BusClass::Data);
        let last = self.channels.as_ref()[channel].last_data;
        let chip = match self.order {
            DataOrder::LowestChip => (0..width).find(moves),
            DataOrder::RoundRobin => (1..=width).map(|step| (last + step) % width).find(moves),
            DataOrder::Oldest => {
                let since = |chip: &usize| chips[*chip].served.map(|one| one.operation().since);
                (0..width).filter(moves).min_by_key(since)
            }
        };
        let Some(chip) = chip else { return false };
        let kind = chips[chip].next().expect("a chip that moves data has a request");
        self.send(first + chip, kind, platform);
        let mut ends = None;
        if let Some(served) = self.chip(first + chip).served
            && served.next().is_none()
        {
            ends = Some(*served.operation());
            self.chip(first + chip).served = None;
            self.serve_next(first + chip, platform);
        }
        self.channels.as_mut()[channel] =
            ChannelState { last_data: chip, data_under_way: true, ends };
        true
    }

    /// Chips that should be done are asked for their status. A read that is not asked for is ready
    /// when it is expected to be.
    fn ask(&mut self, platform: &mut impl Platform) -> bool {
        let mut any = false;
        for chip in 0..self.chips.as_ref().len() {
            let state = *self.chip(chip);
            if !state.busy || state.asked || platform.now() < state.ask_at {
                continue;
            }
            any = true;
            if state.is_silent() {
                self.chip(chip).busy = false;
            } else {
                self.chip(chip).asked = true;
                self.send(chip, BusKind::Status, platform);
            }
        }
        any
    }

    fn read_responses(&mut self, platform: &mut impl Platform) -> bool {
        let mut any = false;
        while let Some(response) = platform.response() {
            any = true;
            let chip = response.chip as usize;
            if response.kind.class() == BusClass::Data {
                let width = self.width();
                let channel = &mut self.channels.as_mut()[chip / width];
                channel.data_under_way = false;
                if let Some(operation) = channel.ends.take() {
                    platform.complete(&operation);
                }
                continue;
            }
            let waits = self.polling.waits;
            let next = platform.now() + self.polling.gap;
            let state = self.chip(chip);
            state.asked = false;
            if !response.ready {
                state.ask_at = if waits { next } else { Time::ZERO };
                continue;
            }
            state.busy = false;
            let reads = |served: &Served| served.operation().op == crate::command::Op::Read;
            if state.served.as_ref().is_some_and(reads) {
                self.skip_status(chip, platform);
            }
        }
        any
    }
}
