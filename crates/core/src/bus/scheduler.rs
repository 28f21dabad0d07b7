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

/// What a chip does, as far as the scheduler knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// It serves no operation.
    Free,
    /// It is ready, and its next request is an activation, or a status that is known.
    Command,
    /// It is ready, and its next request moves data.
    Data,
    /// Its array works; it is asked at an instant, or expected to be ready then.
    Busy,
    /// Its array works, and a status request is under way.
    Asked,
}

/// What the scheduler keeps of a chip.
#[derive(Clone, Copy, Debug)]
pub struct ChipState {
    /// The operation that it serves.
    served: Option<Served>,
    /// When its next status request may be sent.
    ask_at: Time,
    channel: u32,
    phase: Phase,
}

impl ChipState {
    /// A chip that has nothing to do.
    pub const IDLE: Self =
        Self { served: None, ask_at: Time::ZERO, channel: 0, phase: Phase::Free };

    /// Whether it reads and is not asked for its status.
    fn is_silent(&self) -> bool {
        self.served.is_some_and(|served| served.next() == Some(BusKind::DataOut))
    }

    /// What it does next, now that it is ready.
    fn next_phase(&self) -> Phase {
        match self.served.as_ref().and_then(Served::next) {
            None => Phase::Free,
            Some(BusKind::DataIn | BusKind::DataOut) => Phase::Data,
            Some(_) => Phase::Command,
        }
    }
}

/// What the scheduler keeps of a channel.
#[derive(Clone, Copy, Debug)]
pub struct ChannelState {
    /// The chip that moved data last, on the channel.
    last_data: u32,
    /// Chips that could move data.
    movers: u32,
    /// Whether a chunk of data is under way; the read whose last one it is.
    data_under_way: bool,
    ends: Option<Operation>,
}

impl ChannelState {
    /// A channel that has moved no data.
    pub const IDLE: Self =
        Self { last_data: u32::MAX, movers: 0, data_under_way: false, ends: None };
}

/// The scheduler of one channel or more, over lent memory.
///
/// It counts the chips that an iteration can do something for, and knows when the next one is to be
/// asked: an iteration that has nothing to do looks at no chip.
#[derive(Clone, Debug)]
pub struct Scheduler<C, H> {
    chips: C,
    channels: H,
    order: DataOrder,
    polling: Polling,
    /// Chips of each channel.
    width: usize,
    /// Chips that are free, or whose next request is a command.
    commands: usize,
    /// No chip is to be asked earlier.
    question: Time,
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
        let width = count / buses;
        let number = |index: usize| u32::try_from(index).expect("as many as 32 bits can count");
        for (index, chip) in chips.as_mut().iter_mut().enumerate() {
            *chip = ChipState { channel: number(index / width), ..ChipState::IDLE };
        }
        let idle = ChannelState { last_data: number(width - 1), ..ChannelState::IDLE };
        channels.as_mut().fill(idle);
        Self { chips, channels, order, polling, width, commands: count, question: Time::MAX }
    }

    /// By channel, its chip that moved data last.
    pub fn turns(&self) -> impl Iterator<Item = usize> {
        self.channels.as_ref().iter().map(|channel| channel.last_data as usize)
    }

    /// From here the turns of chips go on.
    pub fn set_turns(&mut self, turns: impl Iterator<Item = usize>) {
        let last = self.width - 1;
        for (channel, turn) in self.channels.as_mut().iter_mut().zip(turns) {
            channel.last_data = u32::try_from(turn.min(last)).unwrap_or(u32::MAX);
        }
    }

    /// When a chip is asked for its status next; [`Time::MAX`] where none waits for that.
    pub const fn next_question(&self) -> Time {
        self.question
    }

    /// One iteration. Returns whether it did anything.
    pub fn iterate(&mut self, platform: &mut impl Platform) -> bool {
        let taken = platform.take_in();
        let started = self.commands > 0 && self.start_chips(platform);
        let moved = self.move_data(platform);
        let asked =
            self.question < Time::MAX && platform.now() >= self.question && self.ask(platform);
        let answered = self.read_responses(platform);
        taken || started || moved || asked || answered
    }

    fn chip(&mut self, chip: usize) -> &mut ChipState {
        &mut self.chips.as_mut()[chip]
    }

    /// A chip does something else from now on.
    fn set(&mut self, chip: usize, phase: Phase) {
        let state = &mut self.chips.as_mut()[chip];
        let before = core::mem::replace(&mut state.phase, phase);
        let channel = &mut self.channels.as_mut()[state.channel as usize];
        match before {
            Phase::Free | Phase::Command => self.commands -= 1,
            Phase::Data => channel.movers -= 1,
            Phase::Busy | Phase::Asked => {}
        }
        match phase {
            Phase::Free | Phase::Command => self.commands += 1,
            Phase::Data => channel.movers += 1,
            Phase::Busy | Phase::Asked => {}
        }
    }

    /// A chip is ready for what it does next.
    fn set_ready(&mut self, chip: usize) {
        let phase = self.chip(chip).next_phase();
        self.set(chip, phase);
    }

    /// A chip whose array works is asked at an instant.
    fn set_busy(&mut self, chip: usize, ask_at: Time) {
        self.chip(chip).ask_at = ask_at;
        self.question = self.question.min(ask_at);
        self.set(chip, Phase::Busy);
    }

    /// A chip that serves no operation takes the next one.
    fn serve_next(&mut self, chip: usize, platform: &mut impl Platform) {
        let number = u32::try_from(chip).unwrap_or(u32::MAX);
        self.chip(chip).served = platform.next(number).map(Served::new);
        self.set_ready(chip);
    }

    /// Chips that are not busy get their next activation. One whose operation has only its status
    /// left is done: the status was read when the chip became ready.
    fn start_chips(&mut self, platform: &mut impl Platform) -> bool {
        let mut any = false;
        for chip in 0..self.chips.as_ref().len() {
            if self.chip(chip).phase == Phase::Free {
                self.serve_next(chip, platform);
            }
            if self.chip(chip).phase != Phase::Command {
                continue;
            }
            any = true;
            let served = self.chip(chip).served.as_ref().expect("it has a next request");
            match served.next() {
                None | Some(BusKind::Status) => self.skip_status(chip, platform),
                Some(kind) => self.activate(chip, kind, platform),
            }
        }
        any
    }

    fn activate(&mut self, chip: usize, kind: BusKind, platform: &mut impl Platform) {
        let served = self.chip(chip).served.as_ref().expect("it has a next request");
        let (starts_array, array) = (served.starts_array(), served.operation().array);
        let left = self.send(chip, kind, platform);
        if starts_array {
            let waits = self.polling.waits || self.chip(chip).is_silent();
            self.set_busy(chip, if waits { left + array } else { Time::ZERO });
        } else {
            self.set_ready(chip);
        }
    }

    /// The status that an operation has left is known. It is complete, unless data follow.
    #[inline(never)]
    fn skip_status(&mut self, chip: usize, platform: &mut impl Platform) {
        let served = self.chip(chip).served.as_mut().expect("its status is left");
        if served.sent() {
            platform.complete(served.operation());
            self.serve_next(chip, platform);
        } else {
            self.set_ready(chip);
        }
    }

    /// Sends the next request of a chip. Returns when it will have left the bus.
    fn send(&mut self, chip: usize, kind: BusKind, platform: &mut impl Platform) -> Time {
        let state = self.chip(chip);
        let served = state.served.as_mut().expect("it has a next request");
        let left = platform.send(&served.request(kind, state.channel));
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
            let state = &self.channels.as_ref()[channel];
            if state.movers > 0 && !state.data_under_way {
                self.move_chunk(channel, platform);
                any = true;
            }
        }
        any
    }

    fn move_chunk(&mut self, channel: usize, platform: &mut impl Platform) {
        let (first, width) = (channel * self.width, self.width);
        let chips = &self.chips.as_ref()[first..first + width];
        let can = |chip: &usize| chips[*chip].phase == Phase::Data;
        let behind = self.channels.as_ref()[channel].last_data as usize + 1;
        let mover = match self.order {
            DataOrder::LowestChip => (0..width).find(can),
            DataOrder::RoundRobin => (behind..width).chain(0..behind).find(can),
            DataOrder::Oldest => {
                let since = |chip: &usize| chips[*chip].served.map(|one| one.operation().since);
                (0..width).filter(can).min_by_key(since)
            }
        };
        let mover = mover.expect("a chip moves data");
        let chip = first + mover;
        let next = |state: &ChipState| state.served.as_ref().and_then(Served::next);
        let kind = next(self.chip(chip)).expect("a chip that moves data has a request");
        self.send(chip, kind, platform);
        let state = self.chip(chip);
        let over = next(state).is_none();
        let ends = state.served.filter(|_| over).map(|served| *served.operation());
        let channel = &mut self.channels.as_mut()[channel];
        channel.last_data = u32::try_from(mover).unwrap_or(u32::MAX);
        (channel.data_under_way, channel.ends) = (true, ends);
        if over {
            self.serve_next(chip, platform);
        } else {
            self.set_ready(chip);
        }
    }

    /// Chips that should be done are asked for their status. A read that is not asked for is ready
    /// when it is expected to be.
    fn ask(&mut self, platform: &mut impl Platform) -> bool {
        let (mut any, mut question) = (false, Time::MAX);
        for chip in 0..self.chips.as_ref().len() {
            let state = &self.chips.as_ref()[chip];
            if state.phase != Phase::Busy {
                continue;
            }
            if platform.now() < state.ask_at {
                question = question.min(state.ask_at);
                continue;
            }
            any = true;
            if state.is_silent() {
                self.set_ready(chip);
            } else {
                self.set(chip, Phase::Asked);
                self.send(chip, BusKind::Status, platform);
            }
        }
        self.question = question;
        any
    }

    fn read_responses(&mut self, platform: &mut impl Platform) -> bool {
        let mut any = false;
        while let Some(response) = platform.response() {
            any = true;
            self.read_response(response, platform);
        }
        any
    }

    // Not inlined, as `skip_status`: what answers cost is counted in these functions.
    #[inline(never)]
    fn read_response(&mut self, response: Response, platform: &mut impl Platform) {
        let chip = response.chip as usize;
        if response.kind.class() == BusClass::Data {
            let channel = self.chip(chip).channel as usize;
            let channel = &mut self.channels.as_mut()[channel];
            channel.data_under_way = false;
            if let Some(operation) = channel.ends.take() {
                platform.complete(&operation);
            }
        } else if self.chip(chip).phase == Phase::Asked {
            self.read_status(chip, response.ready, platform);
        }
    }

    /// A chip that was asked is ready, or is asked again.
    fn read_status(&mut self, chip: usize, is_ready: bool, platform: &mut impl Platform) {
        if !is_ready {
            let waits = self.polling.waits;
            let next = platform.now() + self.polling.gap;
            return self.set_busy(chip, if waits { next } else { Time::ZERO });
        }
        let reads = |served: &Served| served.operation().op == crate::command::Op::Read;
        if self.chip(chip).served.as_ref().is_some_and(reads) {
            self.skip_status(chip, platform);
        } else {
            self.set_ready(chip);
        }
    }
}
