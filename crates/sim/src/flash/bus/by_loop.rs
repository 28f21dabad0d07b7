//! Channels that the loop of the flash request scheduling framework serves, in hardware or in
//! software: an iteration takes time, and so does each request and each answer.

use super::{Flash, Wires};
use crate::flash::Events;
use crate::sets::Place;
use flashyard_core::bus::policy::framework::{FrameworkKeys, Questions};
use flashyard_core::bus::request::{BusClass, BusRequest, Operation};
use flashyard_core::bus::scheduler::{
    ChannelState, ChipState, Platform, Polling, Response, Scheduler,
};
use flashyard_core::command::Op;
use flashyard_core::units::{ChannelId, DieId, Span, Time};
use std::collections::VecDeque;

/// A loop and what it runs on.
#[derive(Clone, Debug)]
struct Loop {
    scheduler: Scheduler<Vec<ChipState>, Vec<ChannelState>>,
    state: LoopState,
}

#[derive(Clone, Debug)]
struct LoopState {
    /// The time of the loop, which is past the events that it has seen.
    now: Time,
    /// When it goes round next; [`Time::MAX`] while it has nothing to do.
    at: Time,
    /// Requests of commands that wait and have not been taken in.
    received: u32,
    /// By chip: an operation that its die has taken.
    handed: Vec<Option<Operation>>,
    /// By channel of the loop: when its bus has carried what was sent.
    free: Vec<Time>,
    /// Answers and when they come, in that order.
    responses: VecDeque<(Time, Response)>,
}

/// The loops of a device, one or one a channel.
#[derive(Clone, Debug)]
pub(super) struct Loops {
    costs: FrameworkKeys,
    /// Channels of the device, and chips of each.
    channels: usize,
    width: usize,
    /// Whether a chip takes its next operation when the request for the last data of a read has
    /// been sent, as in the published loop. Where the device translates, it does when the data have
    /// left: a copy that has been read may share a program with the next one, which is not read
    /// yet.
    early: bool,
    all: Vec<Loop>,
}

impl Loops {
    /// Loops that have nothing to do; `shared` is whether one serves all channels, `early` whether
    /// chips are asked for the next operation before the data of a read have left.
    pub(super) fn new(
        costs: &FrameworkKeys,
        wires: &Wires,
        (dies, channels): (u32, u32),
        (shared, early): (bool, bool),
    ) -> Self {
        let width = dies / channels;
        let (count, channels_each) = if shared { (1, channels) } else { (channels, 1) };
        let (chips, buses) = ((width * channels_each) as usize, channels_each as usize);
        let polling = Polling { waits: costs.questions == Questions::Expected, gap: wires.gap };
        let one = |_| Loop {
            scheduler: Scheduler::new(
                vec![ChipState::IDLE; chips],
                vec![ChannelState::IDLE; buses],
                costs.data_order,
                polling,
            ),
            state: LoopState {
                now: Time::ZERO,
                at: Time::MAX,
                received: 0,
                handed: vec![None; chips],
                free: vec![Time::ZERO; buses],
                responses: VecDeque::with_capacity(2 * chips),
            },
        };
        let all = (0..count).map(one).collect();
        let (channels, width) = (channels as usize, width as usize);
        Self { costs: *costs, channels, width, early, all }
    }

    /// Of each loop its time, and the chip of each of its channels that moved data last.
    pub(super) fn marks(&self) -> impl Iterator<Item = u64> {
        self.all.iter().flat_map(|one| {
            let turns = one.scheduler.turns().map(|turn| turn as u64);
            std::iter::once(one.state.now.as_ns()).chain(turns)
        })
    }

    /// The same of a restored device.
    pub(super) fn set_marks(&mut self, marks: &[u64]) {
        let each = self.channels / self.all.len() + 1;
        if marks.len() != each * self.all.len() {
            return;
        }
        for (one, marks) in self.all.iter_mut().zip(marks.chunks(each)) {
            one.state.now = Time::from_ns(marks[0]);
            let turns = marks[1..].iter().map(|turn| usize::try_from(*turn).unwrap_or(0));
            one.scheduler.set_turns(turns);
        }
    }

    /// The loop of a die, and the die's chip there.
    fn of_die(&self, die: u32) -> (usize, usize) {
        let (channel, chip) = (die as usize % self.channels, die as usize / self.channels);
        if self.all.len() > 1 { (channel, chip) } else { (0, channel * self.width + chip) }
    }

    /// A loop has something to do from an instant on.
    fn wake(&mut self, events: &mut Events, index: usize, now: Time) {
        let at = self.tick(now);
        let state = &mut self.all[index].state;
        let at = at.max(state.now);
        if at < state.at {
            state.at = at;
            events.set(u32::try_from(index).expect("few channels"), at);
        }
    }

    /// The first iteration that begins at an instant or behind it.
    const fn tick(&self, at: Time) -> Time {
        match self.costs.loop_ns {
            0 => at,
            ns => Time::from_ns(at.as_ns().div_ceil(ns) * ns),
        }
    }

    /// A command of so many requests waits for a die.
    pub(super) fn receive(&mut self, events: &mut Events, die: DieId, requests: u32, now: Time) {
        let (index, _) = self.of_die(die.get());
        self.all[index].state.received += requests;
        self.wake(events, index, now);
    }

    /// A die has taken an operation.
    pub(super) fn hand_over(&mut self, events: &mut Events, operation: &Operation, now: Time) {
        let (index, chip) = self.of_die(operation.id);
        let number = u32::try_from(chip).expect("few chips");
        self.all[index].state.handed[chip] = Some(Operation { chip: number, ..*operation });
        self.wake(events, index, now);
    }

    /// The loop whose number is that of its first channel goes round.
    pub(super) fn iterate(
        &mut self,
        flash: &mut Flash,
        wires: &mut Wires,
        channel: ChannelId,
        now: Time,
    ) {
        let index = channel.index();
        let costs = self.costs;
        let Loop { scheduler, state } = &mut self.all[index];
        if state.at > now {
            return;
        }
        state.now = now + Span::from_ns(costs.loop_ns);
        let (channels, width, early) = (self.channels, self.width, self.early);
        let mut board =
            Board { flash, wires, state, costs: &costs, first: index, channels, width, early };
        let busy = scheduler.iterate(&mut board);
        let question = scheduler.next_question();
        let answer = state.responses.front().map_or(Time::MAX, |response| response.0);
        let next = if busy { state.now } else { question.min(answer) };
        let at = if busy || next == Time::MAX { next } else { self.tick(next) };
        let state = &mut self.all[index].state;
        state.at = if at == Time::MAX { at } else { at.max(state.now) };
        flash.channel_events.set(channel.get(), state.at);
    }
}

/// The dies and wires as the loop sees them.
struct Board<'a> {
    flash: &'a mut Flash,
    wires: &'a mut Wires,
    state: &'a mut LoopState,
    costs: &'a FrameworkKeys,
    /// The first channel of the loop, channels of the device, chips of a channel.
    first: usize,
    channels: usize,
    width: usize,
    early: bool,
}

impl Board<'_> {
    fn spend(&mut self, ns: u64) {
        self.state.now = self.state.now + Span::from_ns(ns);
    }
}

impl Platform for Board<'_> {
    fn now(&self) -> Time {
        self.state.now
    }

    fn take_in(&mut self) -> bool {
        let received = std::mem::take(&mut self.state.received);
        self.spend(self.costs.receive_ns * u64::from(received));
        received > 0
    }

    fn next(&mut self, chip: u32) -> Option<Operation> {
        let operation = self.state.handed[chip as usize].take();
        if operation.is_none() && self.early {
            let (chip, width) = (chip as usize, self.width);
            let die = (chip % width) * self.channels + chip / width + self.first;
            self.flash.ask(DieId::new(u32::try_from(die).expect("a die of the device")));
        }
        operation
    }

    fn send(&mut self, request: &BusRequest) -> Time {
        self.spend(self.costs.send_ns);
        let die = DieId::new(request.operation);
        let channel = request.channel as usize;
        let from = self.state.now.max(self.state.free[channel]);
        let wire = self.wires.at(die, Place::Array);
        let starts = request.kind.makes_busy() && wire.starts(request);
        let (until, ready) = self.flash.carry(self.wires, die, request, starts, from);
        self.state.free[channel] = until;
        let kind = request.kind;
        if kind.class() == BusClass::Activation {
            return until;
        }
        if ready && self.flash.dies[die.index()].array.reads() {
            self.flash.array_known(self.wires, die, until);
        }
        let response = (until, Response { chip: request.chip, kind, ready });
        let behind = self.state.responses.partition_point(|earlier| earlier.0 <= until);
        self.state.responses.insert(behind, response);
        until
    }

    fn response(&mut self) -> Option<Response> {
        let &(_, response) =
            self.state.responses.front().filter(|response| response.0 <= self.state.now)?;
        self.state.responses.pop_front();
        self.spend(self.costs.respond_ns);
        Some(response)
    }

    fn complete(&mut self, operation: &Operation) {
        let die = DieId::new(operation.id);
        if operation.op == Op::Read && operation.page_bytes > 0 {
            return self.flash.output_ends(die, self.state.now);
        }
        if operation.op != Op::Read {
            self.spend(self.costs.respond_ns);
            self.flash.array_known(self.wires, die, self.state.now);
        }
    }
}
