//! Dies and channels: what their arrays and page registers do, who has the channel, and when each
//! is due.
//!
//! An operation begins with its command and address on the channel, behind which a program's data
//! follows; then the array works; then a read's data leaves from the page register. Each phase
//! waits for the channel. Without `nand.cache_read` a die takes no command before its register is
//! empty; with it, it may sense on meanwhile, and what it has sensed waits for the register. There
//! is one event for each phase at which something can be decided.

mod bus;
mod channel;
mod die;
mod due;
mod early;
mod power;
mod retry;
mod timing;

use crate::config::{Precision, Settings};
use crate::handle::SetId;
use crate::random::{BitErrors, TurnedBits};
use crate::saved::{Reader, RestoreError, Saved, Writer, load_list, save_list};
use crate::sets::charge::Idle;
use crate::sets::track::{DIE_ACCOUNTS, DIE_POWER};
use crate::sets::{Collects, Operation, Place, STAGE_KINDS, Stage};
use bus::Bus;
pub(crate) use bus::{Carried, Request};
pub(crate) use channel::{Channel, Transfer};
pub(crate) use die::Die;
use due::DueTimes;
use early::Early;
use flashyard_core::bus::policy::BusPolicyName;
use flashyard_core::command::Op;
use flashyard_core::events::{EventTree, Node, VACANT, nodes_of};
use flashyard_core::units::{ChannelId, DieId, Ppn, Span, Time};
pub(crate) use power::Power;
use power::PowerBudget;
use retry::Retry;
use std::collections::VecDeque;
use timing::Timing;

/// How a read gets what it needs of a page.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sense {
    /// The page is the only one that the operation senses.
    Alone,
    /// The operation senses pages of other planes as well.
    Beside,
    /// Everything is held, nothing is sensed.
    Held,
}

/// What has become of an operation whose time in the array is over.
pub(crate) enum ArrayEnd {
    /// The array has come to rest from a suspended operation.
    Paused,
    /// The controller does not know yet that the array is done.
    Unknown,
    /// The operation is over.
    Over(Operation),
    /// It has gone to the page register.
    Released,
    /// It waits until the page register is free.
    Held,
}

/// What a die takes now.
#[derive(Clone, Copy)]
pub(crate) enum Accepts {
    /// No command: its array or its page register is in use, or the array is on its way from a
    /// suspended operation.
    Nothing,
    /// Reads alone, because its page register is in use.
    Reads,
    /// Reads of requests alone, because it has suspended an operation.
    ReadsOfRequests,
    /// Any command.
    Anything,
}

/// Whether the operation of a die makes way for a read.
pub(crate) enum Suspension {
    /// It does not.
    No,
    /// It can do so only from this instant on, at which its die is to be looked at again.
    Later(Time),
    /// It does, and the array is free at this instant.
    Begun(Operation, Time),
}

/// When channels are due.
type Events = EventTree<Vec<Node>>;

/// The dies and channels of a device.
#[derive(Clone, Debug)]
pub(crate) struct Flash {
    timing: Timing,
    /// The times of blocks that are used with one bit a cell, where there are such.
    slc: Option<Box<Timing>>,
    /// Whether the time of an operation depends on more than its pages and their types.
    varies: bool,
    /// Which pages are sensed again, if any.
    retry: Option<Box<Retry>>,
    /// Which reads end early, if any.
    early: Option<Early>,
    /// Whether the array time of a read depends on more than its pages.
    reads_vary: bool,
    /// Which bits that host reads find are wrong, if any.
    bit_errors: Option<BitErrors>,
    dies: Vec<Die>,
    channels: Vec<Channel>,
    /// Channels that choose at the end of this instant.
    choosing: Vec<ChannelId>,
    /// When each die is due, its array or its page register, and each channel.
    die_events: DueTimes,
    channel_events: Events,
    /// Dies that are due at this instant and have not been looked at, the lowest one last.
    due: Vec<DieId>,
    /// How much power arrays may take, where it is limited.
    budget: Option<Box<PowerBudget>>,
    /// Whether phases take the channel in the order of need alone; whether no channel is shared.
    in_order: bool,
    unshared: bool,
    /// What channels carry, where that is bus requests.
    bus: Option<Box<Bus>>,
    /// Whether a die may sense while its page register is in use.
    cache_read: bool,
    /// How often a program and an erase may be suspended, what that and going on take.
    program_suspends: u64,
    erase_suspends: u64,
    suspend: Span,
    /// The time of a pulse, between two of which they are suspended; 0: at any time.
    pulse: Span,
    resume: Span,
    suspends: bool,
    /// Dies whose programs and erases have got the channel, where these may be suspended.
    granted: VecDeque<DieId>,
    /// Dies whose next command the loop of the framework asks for.
    asked: Vec<DieId>,
    /// Transfers, where they are checked.
    notes_transfers: bool,
    /// Whether anybody asks what channels have begun to carry.
    is_followed: bool,
    /// Why dies may do nothing though commands wait for them, where they may.
    idle: Option<Idle>,
    transfers: VecDeque<Transfer>,
}

impl Flash {
    /// The idle dies and channels of a device.
    pub(crate) fn new(settings: &Settings) -> Self {
        let (geometry, nand) = (&settings.geometry, &settings.keys.nand);
        let (dies, channels) = (geometry.dies() as usize, geometry.channels as usize);
        let die = |die| Die::new(geometry.channel_of(DieId::new(die)));
        let suspends = nand.program_suspends > 0 || nand.erase_suspends > 0;
        let (mut timing, mut bus) = (Timing::new(settings), Bus::new(settings));
        let mut slc = Timing::of_slc(settings);
        if let Some(bus) = &mut bus {
            // Whoever asks for a time series or a power meter wants energy request by request.
            let metrics = &settings.keys.metrics;
            bus.watch(!metrics.bin_ms.is_zero() || !metrics.power_us.is_zero());
            timing.set_channel_times(|op, bytes| bus.alone(op, bytes));
            if let Some(slc) = &mut slc {
                slc.set_channel_times(|op, bytes| bus.alone(op, bytes));
            }
        }
        if let Some(slc) = &slc {
            // Folding reads and erases such blocks, and programs others.
            for stage in [Stage::FoldRead, Stage::FoldErase] {
                timing.nominal[stage as usize] = slc.nominal[stage as usize];
            }
        }
        let is_followed = suspends || bus.is_some();
        let ordered = bus.as_ref().is_some_and(|bus| bus.gate().is_some()).then_some(Idle::Ordered);
        let stalled = settings.keys.firmware.stalls_programs().then_some(Idle::Stalled);
        let (retry, early) = (Retry::new(settings), Early::new(settings));
        let takes_its_own = timing.part_bytes > 0 || timing.beside.is_some();
        let reads_vary = takes_its_own || retry.is_some() || early.is_some();
        Self {
            varies: reads_vary || slc.is_some(),
            reads_vary,
            timing,
            slc,
            retry,
            early,
            bit_errors: match nand.bit_errors_ppb {
                0 => None,
                rate => Some(BitErrors::new(rate)),
            },
            dies: (0..geometry.dies()).map(die).collect(),
            channels: Channel::all(geometry),
            choosing: Vec::with_capacity(channels),
            die_events: DueTimes::new(dies),
            channel_events: EventTree::new(vec![VACANT; nodes_of(channels)]),
            due: Vec::with_capacity(dies),
            budget: PowerBudget::new(settings),
            in_order: settings.keys.channel.arbitration == BusPolicyName::InOrder,
            unshared: settings.keys.bus.precision == Precision::Command,
            bus,
            cache_read: nand.cache_read,
            program_suspends: nand.program_suspends,
            erase_suspends: nand.erase_suspends,
            suspend: nand.suspend_us,
            pulse: nand.pulse_us,
            resume: nand.resume_us,
            suspends,
            granted: VecDeque::new(),
            asked: Vec::new(),
            notes_transfers: false,
            is_followed,
            idle: ordered.or(stalled),
            transfers: VecDeque::new(),
        }
    }

    /// From now on transfers are kept for [`Self::next_transfer`].
    pub(crate) const fn note_transfers(&mut self) {
        self.notes_transfers = true;
        self.is_followed = true;
    }

    /// A transfer that has begun since the last look.
    pub(crate) fn next_transfer(&mut self) -> Option<Transfer> {
        self.transfers.pop_front()
    }

    /// A die whose command has got the channel since the last look, where operations may be
    /// suspended.
    pub(crate) fn next_granted(&mut self) -> Option<DieId> {
        self.granted.pop_front()
    }

    /// A die whose next command the loop of the framework has asked for since the last look.
    pub(crate) fn next_asked(&mut self) -> Option<DieId> {
        self.asked.pop()
    }

    /// Whether channels have begun to carry something that the checker looks at, that reads may
    /// suspend, or that is a bus request.
    #[inline]
    pub(crate) fn has_news(&self) -> bool {
        let known = || self.granted.is_empty() && self.transfers.is_empty() && self.bus.is_none();
        self.is_followed && !known()
    }

    /// Why a die may do nothing though commands wait for it, where that happens.
    #[inline]
    pub(crate) const fn idle(&self) -> Option<Idle> {
        self.idle
    }

    /// Whether operations may be suspended.
    #[inline]
    pub(crate) const fn suspends(&self) -> bool {
        self.suspends
    }

    /// Whether the power of arrays is limited.
    #[inline]
    pub(crate) const fn limits_power(&self) -> bool {
        self.budget.is_some()
    }

    /// Draws so far, of random times, of those with one bit a cell and of read retry, to be saved.
    fn draws(&self) -> [u64; 3] {
        let slc = self.slc.as_ref().map_or(0, |slc| slc.operations);
        [self.timing.operations, slc, self.retry.as_ref().map_or(0, |retry| retry.drawn)]
    }

    /// The same of a restored device.
    fn set_draws(&mut self, [operations, slc_operations, drawn]: [u64; 3]) {
        self.timing.operations = operations;
        if let Some(slc) = &mut self.slc {
            slc.operations = slc_operations;
        }
        if let Some(retry) = &mut self.retry {
            retry.drawn = drawn;
        }
    }

    /// Saves what outlives operations: draws, counts and turns of buses, the next wrong bit.
    pub(crate) fn save(&self, to: &mut Writer<'_>) {
        self.draws().save(to);
        save_list(&self.bus_marks(), to);
        self.bit_errors.map_or([0; 3], |errors| errors.marks()).save(to);
    }

    /// Takes it over from a device that was saved.
    pub(crate) fn load(&mut self, from: &mut Reader<'_>) -> Result<(), RestoreError> {
        let (mut drawn, mut bus, mut bits) = ([0u64; 3], Vec::new(), [0u64; 3]);
        drawn.load(from)?;
        load_list(&mut bus, || 0u64, from)?;
        bits.load(from)?;
        self.set_draws(drawn);
        self.set_bus_marks(&bus);
        if let Some(errors) = &mut self.bit_errors {
            errors.go_on(bits);
        }
        Ok(())
    }

    /// Takes it over from the same device, which has stopped.
    pub(crate) fn go_on_from(&mut self, stopped: &Self) {
        self.set_draws(stopped.draws());
        self.set_bus_marks(&stopped.bus_marks());
        self.bit_errors = stopped.bit_errors;
    }

    /// Whether dies need nothing but their commands: no bus requests and no share of power, and no
    /// bit that reads find is wrong.
    pub(crate) const fn is_plain(&self) -> bool {
        self.bus.is_none() && self.budget.is_none() && self.bit_errors.is_none()
    }

    /// Whether some bits that host reads find are wrong.
    #[inline]
    pub(crate) const fn turns_bits(&self) -> bool {
        self.bit_errors.is_some()
    }

    /// A host read has found so many bits. Returns which of them are wrong, where some may be.
    pub(crate) fn find_bits(&mut self, bits: u64) -> Option<TurnedBits> {
        let errors = self.bit_errors.as_mut()?;
        let before = *errors;
        Some(TurnedBits { before, bits, count: errors.pass(bits, |_| ()) })
    }
}

/// Times of commands.
impl Flash {
    /// The nominal duration of each kind of command; see [`Timing::nominal`].
    pub(crate) const fn nominal(&self) -> [Span; STAGE_KINDS] {
        self.timing.nominal
    }

    /// Whether there are blocks that are used with one bit a cell.
    #[inline]
    pub(crate) const fn has_slc(&self) -> bool {
        self.slc.is_some()
    }

    /// The times of blocks that are used with one bit a cell (`slc`), or of others.
    #[inline]
    fn timing_of(&self, slc: bool) -> &Timing {
        self.slc.as_deref().filter(|_| slc).unwrap_or(&self.timing)
    }

    /// How long the array works on a page, of a block with one bit a cell (`slc`) or of another.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "a step of each command; a call costs as much")]
    pub(crate) fn array_time(&self, op: Op, ppn: Option<Ppn>, slc: bool) -> Span {
        self.timing_of(slc).array(op, ppn)
    }

    /// Whether the array time of a read depends on more than its pages: parts of pages take less,
    /// pages of several planes more, some pages are sensed again, if they are not of a block with
    /// one bit a cell, and some reads end early.
    #[inline]
    pub(crate) const fn reads_vary(&self) -> bool {
        self.reads_vary
    }

    /// Whether the time of an operation depends on more than its pages and their types.
    #[inline]
    pub(crate) const fn varies(&self) -> bool {
        self.varies
    }

    /// Whether a mapping unit that a host read needs is held and not sensed, by the number of the
    /// request and the place of the unit there.
    #[cold]
    pub(crate) fn holds(&self, order: u64, page: u32) -> bool {
        self.early.is_some_and(|early| early.holds(order, page))
    }

    /// Typical time to sense a page of the read that a die has taken, which needs so many codewords
    /// of it. Draws how often a page that is not held is sensed again, whose block has been erased
    /// so often; one that was never written is decoded at once.
    #[cold]
    pub(crate) fn sense(
        &mut self,
        die: DieId,
        (stage, how): (Stage, Sense),
        ppn: Option<Ppn>,
        codewords: u32,
        erases: u32,
    ) -> Span {
        let slc = self.dies[die.index()].array.slc();
        let beside = how == Sense::Beside;
        let typical = self.timing_of(slc).sensed(stage, ppn, codewords, beside);
        if let (Some(early), Sense::Held) = (&self.early, how) {
            return typical.min(early.time());
        }
        if let Some(retry) = &mut self.retry
            && ppn.is_some()
            && !slc
        {
            self.dies[die.index()].array.sense_again(retry.senses(stage, erases));
        }
        typical
    }

    /// Gives the operation that a die has taken its time in the array, of which `typical` is known.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "a step of each command; a call costs as much")]
    fn draw_array(&mut self, die: DieId, typical: Span) {
        let operation = &mut self.dies[die.index()].array;
        let array = match &mut self.slc {
            Some(slc) if operation.slc() => slc.random(operation.op(), typical),
            _ => self.timing.random(operation.op(), typical),
        };
        operation.last(array, self.retry.as_ref().map_or(Span::ZERO, |retry| retry.step));
    }

    /// How many codewords a mapping unit has.
    #[inline]
    pub(crate) const fn codewords(&self) -> u32 {
        self.timing.codewords
    }

    /// Nanoseconds that a page of an operation takes the channel for.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "a step of each command; a call costs as much")]
    pub(crate) fn channel_ns(&self, stage: Stage, codewords: u32, slc: bool) -> u64 {
        self.timing_of(slc).channel_ns(stage, codewords)
    }

    /// Bytes that a page of an operation moves over the channel.
    pub(crate) fn channel_bytes(&self, stage: Stage, codewords: u32, slc: bool) -> u32 {
        self.timing_of(slc).channel_bytes(stage, codewords)
    }

    /// Nanoseconds of command and address on the channel.
    #[inline]
    pub(crate) const fn command_ns(&self) -> u64 {
        self.timing.command_ns
    }
}

/// What is due.
impl Flash {
    /// When the next die or channel is due.
    #[inline]
    pub(crate) fn next_due(&mut self) -> Time {
        self.die_events.next().min(self.channel_events.next_due())
    }

    /// The die that is due next, where none of the channels comes before it.
    pub(crate) fn next_die(&mut self) -> Option<(DieId, Time)> {
        let due = self.next_due();
        let (at, die) = self.die_events.first();
        (at == due && due < Time::MAX).then_some((die, at))
    }

    /// When the next die or channel is due, not counting a die whose due time is about to change.
    pub(crate) fn next_due_beside(&mut self, die: DieId) -> Time {
        self.die_events.next_beside(die).min(self.channel_events.next_due())
    }

    /// Lists the dies that are due at an instant, the one of [`Self::next_due`]. Returns the lowest
    /// one.
    #[inline]
    pub(crate) fn first_due(&mut self, now: Time) -> Option<DieId> {
        self.die_events.list(now, &mut self.due)
    }

    /// The next one of that list behind a die; that one again where an operation of it has begun
    /// that takes no time.
    #[inline]
    pub(crate) fn next_listed(&mut self, die: DieId, now: Time) -> Option<DieId> {
        if self.die_events.is_due_again(die, now) {
            return Some(die);
        }
        self.due.pop()
    }

    /// Whether the array and the register of a die are due; neither is then any more.
    #[inline]
    pub(crate) fn take_due(&mut self, die: DieId, now: Time) -> [bool; 2] {
        self.die_events.take(die, now)
    }
}

/// Operations.
impl Flash {
    /// When the oldest operation that is not over began; [`Time::MAX`] where none is under way.
    pub(crate) fn oldest_operation(&self) -> Time {
        let operations = self.dies.iter().flat_map(|die| [&die.array, &die.output, &die.suspended]);
        let under_way = operations.filter(|operation| operation.serves());
        under_way.map(Operation::began).min().unwrap_or(Time::MAX)
    }

    /// Whether the array of a die is at work, or has not got rid of what it has sensed.
    #[inline]
    pub(crate) fn array_works(&self, die: DieId) -> bool {
        self.dies[die.index()].array.serves()
    }

    /// Whether a die takes nothing, and makes way for nothing, because its array reads.
    #[inline]
    pub(crate) fn is_reading(&self, die: DieId) -> bool {
        let operation = &self.dies[die.index()].array;
        operation.serves() && operation.reads()
    }

    /// What a die takes now.
    #[inline]
    pub(crate) fn accepts(&self, die: DieId) -> Accepts {
        let unit = &self.dies[die.index()];
        let outputs = unit.output.serves() && !unit.leaving;
        if unit.array.serves() || unit.pausing || (outputs && !self.cache_read) {
            Accepts::Nothing
        } else if unit.suspended.serves() {
            Accepts::ReadsOfRequests
        } else if outputs {
            Accepts::Reads
        } else {
            Accepts::Anything
        }
    }

    /// Whether the suspended operation of a die, which accepts reads of requests, can go on now.
    pub(crate) fn can_resume(&self, die: DieId) -> bool {
        !self.dies[die.index()].output.serves()
    }

    /// Whether a die does nothing.
    pub(crate) fn rests(&self, die: DieId) -> bool {
        self.dies[die.index()].rests()
    }

    /// The operation at a place of a die.
    #[inline]
    pub(crate) fn operation(&self, die: DieId, place: Place) -> &Operation {
        self.dies[die.index()].operation(place)
    }

    /// Whether a die may sense while its page register is in use.
    #[inline]
    pub(crate) const fn reads_ahead(&self) -> bool {
        self.cache_read
    }

    /// The array of a die takes an operation of `leader`, on blocks with one bit a cell (`slc`) or
    /// on others.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "a step of each command; a call costs as much")]
    pub(crate) fn take(
        &mut self,
        die: DieId,
        leader: SetId,
        kind: (Op, Collects, bool),
        now: Time,
    ) {
        self.dies[die.index()].array = Operation::begun(leader, kind, now);
    }

    /// Plans the phases of the operation that a die has taken: `array` is its typical time in the
    /// array, `data_ns` that of its data on the channel. Returns its time on the channel.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "a step of each command; a call costs as much")]
    pub(crate) fn plan(&mut self, die: DieId, array: Span, data_ns: u64, now: Time) -> u64 {
        self.draw_array(die, array);
        let unit = &mut self.dies[die.index()];
        let op = unit.array.op();
        let lead_ns = self.timing.command_ns + if op == Op::Program { data_ns } else { 0 };
        let channel_ns = unit.array.cross(lead_ns, if op == Op::Read { data_ns } else { 0 });
        unit.relabel(now, false);
        self.want_channel(die, op == Op::Program, Place::Array, now);
        channel_ns
    }

    /// The array of a die is done with its operation, or on its way from a suspended one.
    #[inline]
    pub(crate) fn array_done(&mut self, die: DieId, now: Time) -> ArrayEnd {
        let unit = &mut self.dies[die.index()];
        if unit.pausing {
            unit.pausing = false;
            self.relabel(die, now);
            return ArrayEnd::Paused;
        }
        if self.budget.is_some() {
            self.return_power(die);
        }
        self.leave_array(die, now)
    }

    /// The operation in the array of a die is over, or goes to the page register.
    #[inline]
    fn leave_array(&mut self, die: DieId, now: Time) -> ArrayEnd {
        let unit = &mut self.dies[die.index()];
        if !unit.array.gives_data() {
            let operation = unit.array.take();
            self.relabel(die, now);
            return ArrayEnd::Over(operation);
        }
        if unit.output.serves() {
            unit.array.hold();
            return ArrayEnd::Held;
        }
        self.release(die);
        ArrayEnd::Released
    }

    /// What the array of a die has sensed goes to the page register. Its data want the channel
    /// when [`Self::send_out`] says so.
    #[inline]
    pub(crate) fn release(&mut self, die: DieId) {
        self.dies[die.index()].release();
        if self.bus.is_some() {
            self.requests_release(die);
        }
    }

    /// The data in the page register of a die leave as soon as the channel is free.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "a step of each read; a call costs as much")]
    pub(crate) fn send_out(&mut self, die: DieId, now: Time) {
        if self.bus.is_some() {
            return self.requests_send_out(die, now);
        }
        self.want_channel(die, true, Place::Output, now);
    }

    /// The data of a die have left its page register: the operation is over, and the channel may
    /// choose. Returns the operation, and whether what the array has sensed follows it.
    #[inline]
    pub(crate) fn output_done(&mut self, die: DieId, now: Time) -> (Operation, bool) {
        let unit = &mut self.dies[die.index()];
        let (operation, follows) = (unit.output.take(), unit.array.is_held());
        unit.leaving = false;
        self.relabel(die, now);
        self.output_left(die, now);
        (operation, follows)
    }

    /// What a die is doing may have changed.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "a step of each command; a call costs as much")]
    fn relabel(&mut self, die: DieId, now: Time) {
        let waits = self.budget.is_some() && self.waits_for_power(die);
        self.dies[die.index()].relabel(now, waits);
    }

    /// Bulk copies: the operation in the array of a die is another one, that ends at `end`.
    pub(crate) fn replace_array(&mut self, die: DieId, op: Op, began: Time, array: Span) {
        let unit = &mut self.dies[die.index()];
        unit.array.replace(op, began, array);
        self.die_events.set(die, Place::Array, began + array);
    }
}

/// Suspension.
impl Flash {
    /// Whether the operation in the array of a die could be suspended if a read asked for it.
    pub(crate) fn is_suspendable(&self, die: DieId, now: Time) -> bool {
        let unit = &self.dies[die.index()];
        let operation = &unit.array;
        let limit = match operation.op() {
            Op::Read => 0,
            Op::Program => self.program_suspends,
            Op::Erase => self.erase_suspends,
        };
        !unit.pausing
            && !unit.suspended.serves()
            && u64::from(operation.suspensions()) < limit
            && operation.array_end() > self.next_pulse(operation, now) + self.suspend
    }

    /// When the pulse is over that an operation is in at `now`; `now` if its end is not known or
    /// has come.
    fn next_pulse(&self, operation: &Operation, now: Time) -> Time {
        let end = operation.array_end();
        if self.pulse.is_zero() || end == Time::MAX || end <= now {
            return now;
        }
        now + Span::from_ns(end.since(now).as_ns() % self.pulse.as_ns())
    }

    /// Suspends the operation in the array of a die, or says from when on it can be.
    pub(crate) fn suspend(&mut self, die: DieId, now: Time) -> Suspension {
        let array = &self.dies[die.index()].array;
        let from = array.works_from(now).unwrap_or_else(|| self.next_pulse(array, now));
        let unit = &mut self.dies[die.index()];
        if from > now {
            // While it waits for the channel the instant is not known; whoever grants it asks.
            let is_asked = from == Time::MAX || unit.array.ask_to_wake();
            return if is_asked { Suspension::No } else { Suspension::Later(from) };
        }
        let (operation, ready) = (unit.array, now + self.suspend);
        unit.suspended = operation.suspended(now);
        unit.array = Operation::NONE;
        unit.pausing = true;
        self.die_events.set(die, Place::Array, ready);
        if self.bus.is_some() {
            self.requests_suspend(die);
        }
        self.relabel(die, now);
        Suspension::Begun(operation, ready)
    }

    /// A die is looked at because its operation may be suspended from now on.
    pub(crate) fn looked_at(&mut self, die: DieId) {
        self.dies[die.index()].array.looked_at();
    }

    /// The suspended operation of a die goes on. Returns its leader, and when its array works.
    pub(crate) fn resume(&mut self, die: DieId, now: Time) -> (Option<SetId>, Time) {
        let unit = &mut self.dies[die.index()];
        let suspended = std::mem::replace(&mut unit.suspended, Operation::NONE);
        let operation = suspended.resumed(now + self.resume);
        unit.array = operation;
        self.die_events.set(die, Place::Array, operation.array_end());
        if self.bus.is_some() {
            self.requests_resume(die, operation.array_end(), now);
        }
        self.relabel(die, now);
        (operation.leader(), now + self.resume)
    }
}

/// What the account reads.
impl Flash {
    /// The running totals of what a die does, as of now.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "a step of each command; a call costs as much")]
    pub(crate) fn busy(&self, die: DieId, now: Time) -> [u64; DIE_ACCOUNTS] {
        self.dies[die.index()].busy(now)
    }

    /// Copies the running totals of what a die does, as of now.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "a step of each command; a call costs as much")]
    pub(crate) fn note_busy(&self, die: DieId, now: Time, busy: &mut [u64; DIE_ACCOUNTS]) {
        self.dies[die.index()].note_busy(now, busy);
    }

    /// Nanoseconds that each die has worked until now.
    pub(crate) fn worked(&self, now: Time) -> impl Iterator<Item = u64> {
        self.dies.iter().map(move |die| die.busy(now)[..DIE_POWER].iter().sum())
    }

    /// Nanoseconds that each channel has carried something until now.
    pub(crate) fn carried(&self, now: Time) -> impl Iterator<Item = u64> {
        self.channels.iter().map(move |channel| channel.carried_ns(now))
    }
}
