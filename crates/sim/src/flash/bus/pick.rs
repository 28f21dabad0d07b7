//! Channels whose bus policy is asked whenever the bus is free.

use super::{Flash, Wires};
use crate::flash::Events;
use crate::parts::policy::BusRule;
use flashyard_core::bus::channel::{Channel, Lane, Order};
use flashyard_core::bus::policy::{BusPolicy, Candidate};
use flashyard_core::bus::request::{BusKind, Operation};
use flashyard_core::command::Op;
use flashyard_core::units::{ChannelId, DieId, Time};

/// A channel that owns its lanes.
type Lanes = Channel<Vec<Lane>, Vec<Option<Candidate>>>;

/// The channels of a device, the lanes of each by die. With two lanes a die, the data of its page
/// register leave by the second one.
#[derive(Clone, Debug)]
pub(super) struct Pick {
    policy: BusRule,
    channels: Vec<Lanes>,
    /// Of all channels, or of each.
    orders: Vec<Order>,
    lanes: usize,
    /// By die: when it is asked for its status, where that is not yet to be sent.
    ask_at: Vec<Time>,
    /// None of these is earlier.
    first_ask: Time,
    /// By die: the requests of its suspended operation.
    aside: Vec<Option<Lane>>,
}

impl Pick {
    /// The idle channels of a device; `shared` is whether their operations are ordered together.
    pub(super) fn new(
        policy: BusRule,
        wires: &Wires,
        channels: u32,
        lanes: usize,
        shared: bool,
    ) -> Self {
        let dies = wires.of_dies.len();
        let count = dies / channels as usize * lanes;
        let channel = |number| Channel::new(number, vec![Lane::IDLE; count], vec![None; count]);
        Self {
            policy,
            channels: (0..channels).map(channel).collect(),
            orders: vec![Order::default(); if shared { 1 } else { channels as usize }],
            lanes,
            ask_at: vec![Time::MAX; dies],
            first_ask: Time::MAX,
            aside: vec![None; dies],
        }
    }

    /// Dies that take commands in the order of their arrival together, where they do.
    pub(super) fn gate(&self) -> Option<u32> {
        let dies = self.ask_at.len() / self.orders.len();
        self.policy.gates_dispatch().then(|| u32::try_from(dies).expect("few dies"))
    }

    /// The lane of each channel that moved data last.
    pub(super) fn marks(&self) -> impl Iterator<Item = u64> {
        self.channels.iter().map(|channel| channel.last_data() as u64)
    }

    /// The same of a restored device.
    pub(super) fn set_marks(&mut self, marks: &[u64]) {
        if marks.len() == self.channels.len() {
            for (channel, &mark) in self.channels.iter_mut().zip(marks) {
                channel.set_last_data(usize::try_from(mark).unwrap_or(0));
            }
        }
    }

    /// When the bus of a channel is free.
    pub(super) fn free(&self, channel: ChannelId) -> Time {
        self.channels[channel.index()].free()
    }

    /// The channel of a die, and its lane there for the array.
    fn lane(&self, die: DieId) -> (usize, usize) {
        let channels = self.channels.len();
        (die.index() % channels, die.index() / channels * self.lanes)
    }

    /// The lane for the page register.
    fn output_lane(&self, die: DieId) -> (usize, usize) {
        let (channel, lane) = self.lane(die);
        (channel, lane + self.lanes - 1)
    }

    /// The order that the operations of a channel belong to.
    const fn order_of(&self, channel: usize) -> usize {
        if self.orders.len() > 1 { channel } else { 0 }
    }

    /// A channel, and the order of its operations.
    fn with_order(&mut self, channel: usize) -> (&mut Lanes, &mut Order) {
        let order = self.order_of(channel);
        (&mut self.channels[channel], &mut self.orders[order])
    }

    fn ready_lane(&mut self, (channel, lane): (usize, usize)) {
        let (state, order) = self.with_order(channel);
        state.ready(lane, order);
    }

    /// A die is asked for its status from `at` on.
    fn ask(&mut self, die: DieId, at: Time) {
        self.ask_at[die.index()] = at;
        self.first_ask = self.first_ask.min(at);
    }

    /// Questions that could have been sent before `now`, had the bus been free, come before all
    /// that can be sent from now on, each in its turn.
    fn line_up(&mut self, now: Time) {
        while self.first_ask < now {
            let dies = (0..self.ask_at.len()).map(DieId::from_index);
            let first = dies.min_by_key(|die| self.ask_at[die.index()]).expect("a device has dies");
            self.first_ask = self.ask_at[first.index()];
            if self.first_ask < now {
                self.ask_at[first.index()] = Time::MAX;
                self.ready_lane(self.lane(first));
            }
        }
    }

    /// A die begins to send the requests of an operation.
    pub(super) fn take(&mut self, die: DieId, operation: &Operation, now: Time) {
        self.line_up(now);
        let (channel, lane) = self.lane(die);
        let (state, order) = self.with_order(channel);
        state.take(lane, operation, order);
    }

    /// Whether the next request of a die asks for its status.
    pub(super) fn awaits_status(&self, die: DieId) -> bool {
        let (channel, lane) = self.lane(die);
        let served = self.channels[channel].lane(lane).served();
        served.is_some_and(|served| served.next() == Some(BusKind::Status))
    }

    /// The array of a die is done, and its next request may be sent.
    pub(super) fn ready(&mut self, die: DieId, now: Time) {
        self.line_up(now);
        self.ready_lane(self.lane(die));
    }

    /// The operation in the array of a die is over: its last request has been sent, or its data
    /// would take no time.
    pub(super) fn end(&mut self, die: DieId) {
        let (channel, lane) = self.lane(die);
        let (state, order) = self.with_order(channel);
        state.end(lane, order);
    }

    /// What a die has sensed goes to its page register.
    pub(super) fn release(&mut self, die: DieId) {
        let ((channel, from), (_, to)) = (self.lane(die), self.output_lane(die));
        if from != to {
            let lane = self.channels[channel].set_aside(from);
            self.channels[channel].put(to, lane);
        }
    }

    /// The data in the page register of a die may leave.
    pub(super) fn send_out(&mut self, die: DieId, now: Time) {
        self.line_up(now);
        self.ready_lane(self.output_lane(die));
    }

    /// The operation in the array of a die is suspended.
    pub(super) fn set_aside(&mut self, die: DieId) {
        let (channel, lane) = self.lane(die);
        self.aside[die.index()] = Some(self.channels[channel].set_aside(lane));
        self.ask_at[die.index()] = Time::MAX;
    }

    /// The suspended operation of a die goes on; it is asked for its status from `ask_at` on.
    pub(super) fn put_back(&mut self, die: DieId, ask_at: Time) {
        let (channel, lane) = self.lane(die);
        let aside = self.aside[die.index()].take().expect("an operation is suspended");
        self.channels[channel].put(lane, aside);
        self.ask(die, ask_at);
    }

    /// A channel carries what its policy picks while its bus is free.
    pub(super) fn choose(
        &mut self,
        flash: &mut Flash,
        wires: &mut Wires,
        channel: ChannelId,
        now: Time,
    ) {
        let index = channel.index();
        self.line_up(now);
        for die in self.dies_of(index) {
            if self.ask_at[die] <= now {
                self.ask_at[die] = Time::MAX;
                self.ready_lane(self.lane(DieId::from_index(die)));
            }
        }
        let mut sends = false;
        while let Some(lane) = self.next_lane(index, now) {
            sends = true;
            if self.send(flash, wires, (index, lane), now) {
                break;
            }
        }
        // A policy that has refused is asked again when something changes.
        let (state, order) = self.with_order(index);
        let free = state.free();
        let next = match state.has_candidates() {
            true if free > now => free,
            true => order.settles(now),
            false => Time::MAX,
        };
        let asks = self.dies_of(index).map(|die| self.ask_at[die]).min();
        let asks = asks.map_or(Time::MAX, |at| at.max(free));
        flash.channel_events.set(channel.get(), next.min(asks));
        if sends && self.orders.len() < self.channels.len() {
            self.wake_others(&mut flash.channel_events, index, free.max(now));
        }
    }

    /// The lane that the policy serves now.
    fn next_lane(&mut self, channel: usize, now: Time) -> Option<usize> {
        let order = self.order_of(channel);
        self.channels[channel].pick(&self.policy, &self.orders[order], now)
    }

    /// The dies of a channel, by number.
    fn dies_of(&self, channel: usize) -> impl Iterator<Item = usize> + use<> {
        (channel..self.ask_at.len()).step_by(self.channels.len())
    }

    /// What one channel has sent may let others send, once it has left the bus.
    fn wake_others(&self, events: &mut Events, but: usize, at: Time) {
        for (index, channel) in self.channels.iter().enumerate() {
            if index != but && channel.has_candidates() {
                events.set(ChannelId::from_index(index).get(), at.max(channel.free()));
            }
        }
    }

    /// Sends the next request of a lane. Returns whether its answer comes at this instant beside
    /// requests that take time: the channel then chooses once the die has done what follows.
    fn send(
        &mut self,
        flash: &mut Flash,
        wires: &mut Wires,
        (channel, lane): (usize, usize),
        now: Time,
    ) -> bool {
        let die = DieId::from_index(lane / self.lanes * self.channels.len() + channel);
        let (state, order) = self.with_order(channel);
        let request = state.next_request(lane);
        let served = state.lane(lane).served().expect("it sends a request");
        let (starts, operation) = (served.starts_array(), *served.operation());
        let (until, ready) = flash.carry(wires, die, &request, starts, now);
        let status = request.kind == BusKind::Status;
        let is_busy = status && wires.asks && !ready;
        let sent = state.send(lane, (now, until.since(now)), is_busy, order);
        if is_busy {
            self.ask(die, until + wires.gap);
        } else if status {
            flash.array_known(wires, die, until);
        } else if starts && wires.asks {
            self.ask(die, until + operation.array);
        } else if sent.completes {
            debug_assert_eq!(operation.op, Op::Read, "others end with their status");
            flash.output_ends(die, until);
        }
        status && !is_busy && wires.answers_at_once()
    }
}
