//! Bus requests: a command is a sequence of activations, chunks of data and status requests, which
//! a channel carries one at a time.
//!
//! [`pick`] asks a bus policy whenever a bus is free. [`by_loop`] runs the loop of the flash
//! request scheduling framework, which takes time itself. Both send requests through
//! [`Flash::carry`], which knows what a request does to its die. The end of an array time and the
//! controller's knowledge of it are two instants; see [`Wire`].

mod by_loop;
mod pick;
mod times;
mod wire;

use super::{ArrayEnd, Flash, Transfer};
use crate::config::{BusKeys, Precision, Readiness, SchedulerScope, Settings};
use crate::handle::SetId;
use crate::parts::policy::BusRule;
use crate::sets::Place;
use by_loop::Loops;
use flashyard_core::bus::policy::AnyBusPolicy;
use flashyard_core::bus::request::{BusKind, BusRequest, Operation};
use flashyard_core::command::Op;
use flashyard_core::units::{ChannelId, DieId, Span, Time};
use pick::Pick;
use std::collections::VecDeque;
use times::BusTimes;
use wire::Wire;

/// A request that a channel carries, for whoever watches.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Carried {
    pub(crate) request: BusRequest,
    pub(crate) die: DieId,
    /// The set that leads its operation.
    pub(crate) leader: Option<SetId>,
    pub(crate) from: Time,
    pub(crate) until: Time,
    /// Of a status request, whether the die answers that it is done.
    pub(crate) ready: bool,
}

/// What an operation of a die moves, and where.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Request {
    pub(crate) stream: u16,
    /// When its command began to wait.
    pub(crate) since: Time,
    pub(crate) block: u32,
    pub(crate) page: u32,
    /// Pages and, where one program fills several of a plane, planes.
    pub(crate) pages: u32,
    pub(crate) planes: u32,
    /// Bytes of each page on the channel.
    pub(crate) page_bytes: u32,
}

/// What both ways of scheduling share.
#[derive(Clone, Debug)]
struct Wires {
    times: BusTimes,
    chunk_bytes: u32,
    /// Whether the controller asks when a die should be done, not when it is.
    asks: bool,
    /// Whether reads ask for their status before their data.
    polls: bool,
    gap: Span,
    sample: Span,
    channels: u32,
    /// Of each die: of the operation in its array, in its page register, suspended.
    of_dies: Vec<[Wire; 3]>,
    /// Status requests, and those that found the die busy.
    polls_sent: u64,
    polls_busy: u64,
    /// Requests, where somebody watches.
    is_watched: bool,
    carried: VecDeque<Carried>,
}

#[derive(Clone, Debug)]
enum Engine {
    Pick(Pick),
    Loops(Loops),
}

impl Engine {
    /// Whether data are moved even where that takes no time: the loop of the framework moves them
    /// all, and where operations are ordered they are over with their last request.
    fn moves_all_data(&self) -> bool {
        match self {
            Self::Pick(pick) => pick.gate().is_some(),
            Self::Loops(_) => true,
        }
    }
}

/// The bus requests of a device.
#[derive(Clone, Debug)]
pub(super) struct Bus {
    wires: Wires,
    engine: Engine,
}

impl Bus {
    /// See [`Flash::gate`].
    #[inline]
    pub(super) fn gate(&self) -> Option<u32> {
        match &self.engine {
            Engine::Pick(pick) => pick.gate(),
            Engine::Loops(_) => None,
        }
    }

    /// The idle buses of a device whose settings ask for bus requests.
    pub(super) fn new(settings: &Settings) -> Option<Box<Self>> {
        let keys: &BusKeys = &settings.keys.bus;
        if keys.precision != Precision::Requests {
            return None;
        }
        let geometry = &settings.geometry;
        let (dies, channels) = (geometry.dies(), geometry.channels);
        let shared = keys.scheduler_scope == SchedulerScope::Device;
        let small = |value: u64| u32::try_from(value).expect("the key's range fits 32 bits");
        let wires = Wires {
            times: BusTimes::new(settings),
            chunk_bytes: small(keys.chunk_bytes),
            asks: keys.readiness == Readiness::Polled,
            polls: keys.poll_before_data,
            gap: Span::from_ns(keys.poll_gap_ns),
            sample: Span::from_ns(keys.sample_ns),
            channels,
            of_dies: vec![[Wire::NONE; 3]; dies as usize],
            polls_sent: 0,
            polls_busy: 0,
            is_watched: false,
            carried: VecDeque::new(),
        };
        let engine = match BusRule::of(&settings.keys) {
            BusRule::BuiltIn(AnyBusPolicy::Framework(keys)) => {
                let early = settings.keys.is_raw();
                Engine::Loops(Loops::new(&keys, &wires, (dies, channels), (shared, early)))
            }
            policy => {
                let lanes = if settings.keys.nand.cache_read { 2 } else { 1 };
                Engine::Pick(Pick::new(policy, &wires, channels, lanes, shared))
            }
        };
        Some(Box::new(Self { wires, engine }))
    }

    /// Whether requests are kept for whoever watches.
    pub(super) const fn watch(&mut self, watched: bool) {
        self.wires.is_watched |= watched;
    }

    /// Nanoseconds of an operation of one page on a channel that it has to itself.
    pub(super) fn alone(&mut self, op: Op, bytes: u32) -> u64 {
        let operation = self.wires.one_page(op, bytes, Time::ZERO);
        self.wires.times.alone(&operation)
    }
}

impl Wires {
    /// An operation as a scheduler knows it. `array` is its time in the array as it will be.
    fn operation(&self, die: DieId, op: Op, request: &Request, array: [Span; 2]) -> Operation {
        let Request { stream, since, block, page, pages, page_bytes, .. } = *request;
        let [typical, real] = array;
        Operation {
            id: die.get(),
            op,
            stream,
            since,
            chip: die.get() / self.channels,
            block,
            page,
            pages,
            page_bytes: if op == Op::Erase { 0 } else { page_bytes },
            chunk_bytes: self.chunk_bytes,
            array: if self.asks { typical } else { real },
            polls: self.asks || self.polls,
        }
    }

    /// An operation on one page that moves so many bytes.
    fn one_page(&self, op: Op, page_bytes: u32, since: Time) -> Operation {
        let (stream, block, page, pages, planes) = (0, 0, 0, 1, 1);
        let request = Request { stream, since, block, page, pages, planes, page_bytes };
        self.operation(DieId::new(0), op, &request, [Span::ZERO; 2])
    }

    /// Whether status requests take no time, and others do.
    fn answers_at_once(&mut self) -> bool {
        !self.times.are_zero && self.times.of(BusKind::Status, 0) == Span::ZERO
    }

    /// The wire of the operation at a place of a die.
    fn at(&mut self, die: DieId, place: Place) -> &mut Wire {
        &mut self.of_dies[die.index()][place as usize]
    }
}

/// Bus requests.
impl Flash {
    /// Whether channels carry bus requests.
    #[inline]
    pub(crate) const fn has_requests(&self) -> bool {
        self.bus.is_some()
    }

    /// From now on requests are kept for [`Self::next_carried`].
    pub(crate) fn note_requests(&mut self) {
        if let Some(bus) = &mut self.bus {
            bus.watch(true);
        }
    }

    /// A request that has got the bus since the last look.
    pub(crate) fn next_carried(&mut self) -> Option<Carried> {
        self.bus.as_mut()?.wires.carried.pop_front()
    }

    /// Status requests so far, and those that found their die busy; none where there are no bus
    /// requests.
    pub(crate) fn status_requests(&self) -> Option<[u64; 2]> {
        self.bus.as_ref().map(|bus| [bus.wires.polls_sent, bus.wires.polls_busy])
    }

    /// What outlives operations: counts, and where turns stand. None without bus requests.
    pub(super) fn bus_marks(&self) -> Vec<u64> {
        let Some(bus) = &self.bus else { return Vec::new() };
        let mut marks = vec![bus.wires.polls_sent, bus.wires.polls_busy];
        match &bus.engine {
            Engine::Pick(pick) => marks.extend(pick.marks()),
            Engine::Loops(loops) => marks.extend(loops.marks()),
        }
        marks
    }

    /// The same of a restored device; turns begin anew where its settings are others.
    pub(super) fn set_bus_marks(&mut self, marks: &[u64]) {
        let (Some(bus), [sent, busy, turns @ ..]) = (&mut self.bus, marks) else { return };
        (bus.wires.polls_sent, bus.wires.polls_busy) = (*sent, *busy);
        match &mut bus.engine {
            Engine::Pick(pick) => pick.set_marks(turns),
            Engine::Loops(loops) => loops.set_marks(turns),
        }
    }

    /// The wire of the operation at a place of a die, where there are bus requests.
    #[inline]
    pub(crate) fn wire(&self, die: DieId, place: Place) -> Option<&Wire> {
        self.bus.as_ref().map(|bus| &bus.wires.of_dies[die.index()][place as usize])
    }

    /// Whether dies take commands in the order of their arrival, and on which dies that order
    /// holds: those of a channel, or all.
    #[inline]
    pub(crate) fn gate(&self) -> Option<u32> {
        self.bus.as_ref()?.gate()
    }

    /// A command waits for a die from now on: a scheduler that takes time takes it in. It moves so
    /// many bytes.
    pub(crate) fn command_waits(&mut self, die: DieId, op: Op, bytes: u32, now: Time) {
        let Some(mut bus) = self.bus.take() else { return };
        if let Engine::Loops(loops) = &mut bus.engine {
            let operation = bus.wires.one_page(op, bytes, now);
            // The status of a read is asked for by the scheduler itself.
            let own = u32::from(op == Op::Read && operation.polls);
            loops.receive(&mut self.channel_events, die, operation.requests() - own, now);
        }
        self.bus = Some(bus);
    }

    /// Plans the requests of the operation that a die has taken: `array` is its typical time in the
    /// array. Returns its time on the channel without status requests.
    #[cold]
    pub(crate) fn plan_requests(
        &mut self,
        die: DieId,
        typical: Span,
        request: &Request,
        now: Time,
    ) -> u64 {
        self.draw_array(die, typical);
        let Some(mut bus) = self.bus.take() else { return 0 };
        let operation = &mut self.dies[die.index()].array;
        let op = operation.op();
        let array = [typical, operation.in_array()];
        let planned = bus.wires.operation(die, op, request, array);
        let (lead_ns, out_ns) = bus.wires.times.of_operation(&planned);
        let gives_data = op == Op::Read && planned.page_bytes > 0 && bus.engine.moves_all_data();
        operation.cross(lead_ns, if gives_data { out_ns.max(1) } else { out_ns });
        let channel_ns = lead_ns + out_ns;
        *bus.wires.at(die, Place::Array) = Wire::new(&planned, request.planes, now);
        self.relabel(die, now);
        match &mut bus.engine {
            Engine::Pick(pick) => pick.take(die, &planned, now),
            Engine::Loops(loops) => loops.hand_over(&mut self.channel_events, &planned, now),
        }
        self.bus = Some(bus);
        self.lane_stirred(die, now);
        channel_ns
    }

    /// The array of a die is done with its operation, or the controller gets to know that. Returns
    /// whether it is the former, and what becomes of the operation.
    #[cold]
    pub(crate) fn requests_array_done(&mut self, die: DieId, now: Time) -> (bool, ArrayEnd) {
        if self.dies[die.index()].pausing {
            return (false, self.array_done(die, now));
        }
        let Some(bus) = &mut self.bus else { return (false, ArrayEnd::Held) };
        let ends = bus.wires.at(die, Place::Array).ends(now);
        if ends {
            if let Engine::Pick(pick) = &mut bus.engine
                && !bus.wires.asks
                && pick.awaits_status(die)
            {
                pick.ready(die, now);
            } else if !bus.wires.at(die, Place::Array).polls {
                bus.wires.at(die, Place::Array).known = now;
            }
            if self.budget.is_some() {
                self.return_power(die);
            }
            self.lane_stirred(die, now);
            // Requests that take no time may have made it known already.
            let known = self.wire(die, Place::Array).map_or(now, |wire| wire.known);
            let unknown = known > now;
            let due = if unknown { known } else { Time::MAX };
            self.die_events.set(die, Place::Array, due);
            if unknown {
                return (true, ArrayEnd::Unknown);
            }
        }
        let Some(bus) = &mut self.bus else { return (ends, ArrayEnd::Held) };
        bus.wires.at(die, Place::Array).waits(now);
        if !self.dies[die.index()].array.gives_data()
            && let Engine::Pick(pick) = &mut bus.engine
        {
            pick.end(die);
        }
        let stirs = !ends && bus.wires.answers_at_once();
        let end = self.leave_array(die, now);
        if stirs {
            self.channel_stirred(die, now);
        }
        (ends, end)
    }

    /// What the array has sensed goes to the page register, and its wire with it.
    #[cold]
    pub(super) fn requests_release(&mut self, die: DieId) {
        let Some(bus) = &mut self.bus else { return };
        *bus.wires.at(die, Place::Output) = *bus.wires.at(die, Place::Array);
        if let Engine::Pick(pick) = &mut bus.engine {
            pick.release(die);
        }
    }

    /// The data in the page register of a die may leave.
    #[cold]
    pub(super) fn requests_send_out(&mut self, die: DieId, now: Time) {
        let Some(bus) = &mut self.bus else { return };
        if let Engine::Pick(pick) = &mut bus.engine {
            pick.send_out(die, now);
        }
        self.lane_stirred(die, now);
    }

    /// The operation in the array of a die is suspended.
    #[cold]
    pub(super) fn requests_suspend(&mut self, die: DieId) {
        let Some(bus) = &mut self.bus else { return };
        *bus.wires.at(die, Place::Suspended) = *bus.wires.at(die, Place::Array);
        if let Engine::Pick(pick) = &mut bus.engine {
            pick.set_aside(die);
        }
    }

    /// The suspended operation of a die goes on; `end` is when its array will be done.
    #[cold]
    pub(super) fn requests_resume(&mut self, die: DieId, end: Time, now: Time) {
        let Some(bus) = &mut self.bus else { return };
        let mut wire = *bus.wires.at(die, Place::Suspended);
        wire.resumes(now);
        *bus.wires.at(die, Place::Array) = wire;
        let asks = bus.wires.asks;
        if let Engine::Pick(pick) = &mut bus.engine {
            pick.put_back(die, if asks { end } else { Time::MAX });
        }
        self.lane_stirred(die, now);
    }

    /// A lane of a die may have a request: its channel chooses, at the end of the instant or, where
    /// requests take no time and are not ordered, at once.
    fn lane_stirred(&mut self, die: DieId, now: Time) {
        let Some(bus) = &self.bus else { return };
        let Engine::Pick(pick) = &bus.engine else { return };
        let channel = self.dies[die.index()].channel;
        if bus.wires.times.are_zero && pick.gate().is_none() {
            self.carry_requests(channel, now);
        } else {
            self.channel_stirred(die, now);
        }
    }

    /// The channel of a die chooses at the end of the instant.
    fn channel_stirred(&mut self, die: DieId, now: Time) {
        if let Some(Engine::Pick(pick)) = self.bus.as_ref().map(|bus| &bus.engine) {
            let channel = self.dies[die.index()].channel;
            self.channel_events.set(channel.get(), now.max(pick.free(channel)));
        }
    }

    /// A channel carries what its scheduler sends now.
    #[cold]
    pub(super) fn carry_requests(&mut self, channel: ChannelId, now: Time) {
        let Some(mut bus) = self.bus.take() else { return };
        let Bus { wires, engine } = &mut *bus;
        match engine {
            Engine::Pick(pick) => pick.choose(self, wires, channel, now),
            Engine::Loops(loops) => loops.iterate(self, wires, channel, now),
        }
        self.bus = Some(bus);
    }

    /// A request takes the bus of a die's channel; `starts_array` is whether the array works from
    /// its end on. Returns when it leaves the bus and, of a status request, whether the die is
    /// done.
    fn carry(
        &mut self,
        wires: &mut Wires,
        die: DieId,
        request: &BusRequest,
        starts_array: bool,
        from: Time,
    ) -> (Time, bool) {
        let duration = wires.times.of(request.kind, request.bytes);
        let out = request.kind == BusKind::DataOut;
        let place = if out { Place::Output } else { Place::Array };
        let until = from + duration;
        let unit = &mut self.dies[die.index()];
        let status = request.kind == BusKind::Status;
        let sampled = wires.sample.min(duration);
        let ready = status && unit.array.array_end() + sampled <= until;
        wires.at(die, place).carried(from, until, status);
        if status {
            wires.polls_sent += 1;
            wires.polls_busy += u64::from(!ready);
        }
        if starts_array {
            wires.at(die, place).works();
            self.die_events.set(die, Place::Array, unit.array.works(until));
            // Whoever starts it looks himself where requests take no time.
            if self.suspends && !wires.times.are_zero {
                self.granted.push_back(die);
            }
        }
        let channel = self.dies[die.index()].channel;
        self.channels[channel.index()].carries(from, until);
        if duration > Span::ZERO && self.notes_transfers {
            self.transfers.push_back(Transfer { channel, die, place, from, until });
        }
        if wires.is_watched {
            let request = BusRequest { channel: channel.get(), ..*request };
            // The loop of the framework may send data before the time at which the page register
            // has them.
            let at = |place| self.operation(die, place).leader();
            let leader = at(place).or_else(|| at(Place::Array));
            wires.carried.push_back(Carried { request, die, leader, from, until, ready });
        }
        (until, ready)
    }

    /// The controller knows from `known` on that the array of a die is done.
    fn array_known(&mut self, wires: &mut Wires, die: DieId, known: Time) {
        let wire = wires.at(die, Place::Array);
        wire.known = known;
        if wire.has_ended() {
            self.die_events.set(die, Place::Array, known);
        }
    }

    /// The loop asks for the next operation of a die that serves none, as far as it knows. The
    /// die's data may still be leaving.
    fn ask(&mut self, die: DieId) {
        let unit = &mut self.dies[die.index()];
        if unit.output.serves() && !std::mem::replace(&mut unit.leaving, true) {
            self.asked.push(die);
        }
    }

    /// The data of a die have left its page register at `end`.
    fn output_ends(&mut self, die: DieId, end: Time) {
        self.die_events.set(die, Place::Output, end);
    }
}
