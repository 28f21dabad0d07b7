//! What dies and channels do: one array operation at a time, its phases on the channel, cache read,
//! suspension.
//!
//! An operation begins with its command and address on the channel, behind which a program's data
//! follows; then the array works; then a read's data leaves from the page register. Each phase
//! waits for the channel. Without `nand.cache_read` a die takes no command before its register is
//! empty; with it, it may sense on meanwhile, and what it has sensed waits for the register. One
//! event a phase at which something can be decided; who gets the channel is decided in `channel`.

use super::Device;
use crate::flash::{Operation, Place};
use crate::host::timers::Timer;
use crate::observe::Suspension;
use crate::random::{STEP, mix};
use crate::sets::track::{DIE_GC, DIE_POWER};
use crate::sets::{Mode, Stage};
use flashyard_core::command::Op;
use flashyard_core::graph::NIL;
use flashyard_core::units::{DieId, Ppn, Span, Time};

impl Device {
    /// The die takes a command, and with it whatever else one operation can serve.
    pub(super) fn start(&mut self, set: u32, die: DieId, ppn: Option<Ppn>) {
        let stage = self.sets.stage(set);
        let op = stage.op();
        let now = self.now;
        self.flash.dies[die.index()].array = Operation {
            leader: set,
            op,
            gc: stage.purpose(false, false).is_gc(),
            began: now,
            ..Operation::NONE
        };
        if self.flash.budget.is_some() {
            self.take_power(die, op);
        }
        self.board(set, ppn, true);
        if let Some(checker) = &mut self.account.checker {
            checker.started(now, die, op);
        }
        if self.flash.gathers {
            self.gather(set, die, ppn);
        }
        self.time_operation(die, stage);
        self.check_pages(set);
        self.relabel(die);
        if op == Op::Program && self.ftl.pacing.is_some() {
            self.owe_copies(set);
        }
    }

    /// A set's command is on the die: the first of its page, or one more unit of it.
    pub(super) fn board(&mut self, set: u32, ppn: Option<Ppn>, heads_page: bool) {
        self.enter(set, Mode::Running);
        let now = self.now;
        let state = &mut self.sets[set];
        state.ppn = ppn;
        state.started = now;
        state.place = Place::Array;
        state.rider = NIL;
        state.page_units = u32::from(heads_page);
        if self.sets.stage(set) == Stage::Read && self.sets.latest_change != NIL {
            let lpn = self.sets[set].lpn;
            let overtakes =
                self.sets.live_change_of(lpn, self.sets.graph.node(set).number).is_some();
            self.account.totals.data_hazards_ignored += u64::from(overtakes);
        }
    }

    /// Plans the phases of the operation that has just been put together.
    fn time_operation(&mut self, die: DieId, stage: Stage) {
        let leader = self.flash.dies[die.index()].array.leader;
        let op = stage.op();
        let (mut array, mut data_ns) = (Span::ZERO, 0);
        let mut at = leader;
        while at != NIL {
            let state = &self.sets[at];
            if state.page_units > 0 {
                array = array.max(self.array_time(op, state.ppn));
                data_ns += self.channel_ns(stage, state.page_units);
            }
            at = state.rider;
        }
        let array = self.spread(array);
        let command_ns = self.settings.keys.channel.command_ns;
        let lead_ns = command_ns + if op == Op::Program { data_ns } else { 0 };
        let out_ns = if op == Op::Read { data_ns } else { 0 };
        let operation = &mut self.flash.dies[die.index()].array;
        operation.lead_ns = lead_ns;
        operation.array = array;
        operation.out_ns = out_ns;
        self.for_riders(leader, |device, set| {
            device.sets[set].channel_ns = lead_ns + out_ns;
        });
        self.want_channel(die, op == Op::Program, Place::Array);
    }

    /// Nanoseconds that a page of an operation takes the channel for: none of a copy that stays on
    /// its die, a part of a fetched map page.
    pub(super) const fn channel_ns(&self, stage: Stage, page_units: u32) -> u64 {
        if matches!(stage, Stage::Fetch) && self.settings.keys.map.fetch_bytes > 0 {
            return self.fetch_ns();
        }
        let on_die = self.settings.keys.gc.copyback && stage.is_copy();
        if on_die { 0 } else { self.data_ns(stage.op(), page_units) }
    }

    /// Nanoseconds of the wanted part of a map page on the channel.
    const fn fetch_ns(&self) -> u64 {
        let fetched = self.settings.keys.map.fetch_bytes;
        let unit = self.settings.geometry.unit_bytes() as u64;
        self.settings.transfer_ns(if fetched < unit { fetched } else { unit })
    }

    /// Nanoseconds of a page's data on the channel: all of a program, the wanted units of a read.
    pub(super) const fn data_ns(&self, op: Op, page_units: u32) -> u64 {
        let units = match op {
            Op::Read => page_units,
            Op::Program => self.settings.geometry.program_units(),
            Op::Erase => 0,
        };
        self.settings.transfer_ns(units as u64 * self.settings.geometry.unit_bytes() as u64)
    }

    /// How long the array works on a page; `None` is one that was never written.
    pub(super) fn array_time(&self, op: Op, ppn: Option<Ppn>) -> Span {
        let nand = &self.settings.keys.nand;
        let first = match op {
            Op::Read => nand.read_us,
            Op::Program => nand.program_us,
            Op::Erase => nand.erase_us,
        };
        let paged = op == Op::Read || (op == Op::Program && !nand.one_shot);
        let (true, true, Some(ppn)) = (paged, nand.bits_per_cell > 1, ppn) else {
            return Span::from_ns(first);
        };
        let page = u64::from(self.settings.geometry.page_in_block(ppn)) % nand.bits_per_cell;
        let own = match (page, op) {
            (0, _) => 0,
            (1, Op::Program) => nand.program_2_us,
            (2, Op::Program) => nand.program_3_us,
            (_, Op::Program) => nand.program_4_us,
            (1, _) => nand.read_2_us,
            (2, _) => nand.read_3_us,
            _ => nand.read_4_us,
        };
        Span::from_ns(if own == 0 { first } else { own })
    }

    /// The time of this operation: the typical one and a tail of at most `nand.spread_percent`.
    fn spread(&mut self, typical: Span) -> Span {
        let most = self.settings.keys.nand.spread_percent;
        if most == 0 {
            return typical;
        }
        self.flash.operations += 1;
        let unit = u128::from(mix(self.flash.operations.wrapping_mul(STEP)) >> 32);
        let square = (unit * unit) >> 32;
        let fourth = (square * square) >> 32;
        let longest = u128::from(typical.as_ns()) * u128::from(most) / 1_000_000;
        let extra = u64::try_from((longest * fourth) >> 32).expect("below the longest");
        typical + Span::from_ns(extra)
    }

    pub(super) fn post(&mut self, die: DieId, place: Place, at: Time) {
        let unit = &mut self.flash.dies[die.index()];
        match place {
            Place::Output => unit.output_due = at,
            Place::Array | Place::Suspended => unit.array_due = at,
        }
        self.flash.events.set(die.get(), unit.array_due.min(unit.output_due));
    }

    /// A die is due: its array, its page register, or both.
    pub(super) fn die_event(&mut self, die: DieId) {
        let now = self.now;
        let unit = &mut self.flash.dies[die.index()];
        let array = unit.array_due == now;
        let output = unit.output_due == now;
        if array {
            unit.array_due = Time::MAX;
            self.array_done(die);
        }
        if output {
            self.flash.dies[die.index()].output_due = Time::MAX;
            let operation =
                std::mem::replace(&mut self.flash.dies[die.index()].output, Operation::NONE);
            self.operation_over(operation, die);
            self.output_left(die);
            if self.flash.dies[die.index()].array.held {
                self.release(die);
            }
        }
        let unit = &self.flash.dies[die.index()];
        if self.flash.events.due(die.get()) == now {
            self.flash.events.set(die.get(), unit.array_due.min(unit.output_due));
        }
    }

    /// The array of a die is done with its operation, or on its way from a suspended one.
    fn array_done(&mut self, die: DieId) {
        let unit = &mut self.flash.dies[die.index()];
        if unit.pausing {
            unit.pausing = false;
            self.relabel(die);
            self.queues.stir(die);
            return;
        }
        if let Some(checker) = &mut self.account.checker {
            checker.array_over(die);
        }
        if self.flash.budget.is_some() {
            self.return_power(die);
        }
        let unit = &mut self.flash.dies[die.index()];
        if unit.array.out_ns == 0 {
            let operation = std::mem::replace(&mut unit.array, Operation::NONE);
            self.operation_over(operation, die);
        } else if unit.output.is_some() {
            unit.array.held = true;
        } else {
            self.release(die);
        }
    }

    /// What the array has sensed goes to the page register and on to the channel. With cache read
    /// the command that senses on goes first, and the data follow while the array works.
    fn release(&mut self, die: DieId) {
        let unit = &mut self.flash.dies[die.index()];
        let mut operation = std::mem::replace(&mut unit.array, Operation::NONE);
        operation.held = false;
        unit.output = operation;
        if let Some(checker) = &mut self.account.checker {
            checker.released(die);
        }
        self.for_riders(operation.leader, |device, set| {
            device.sets[set].place = Place::Output;
        });
        if self.settings.keys.nand.cache_read {
            self.dispatch(die);
            self.queues.stir(die);
        }
        self.relabel(die);
        self.want_channel(die, true, Place::Output);
    }

    /// Whether a die can take a command that does this.
    pub(super) fn is_free_for(&self, die: DieId, op: Op) -> bool {
        let unit = &self.flash.dies[die.index()];
        let reads_on = self.settings.keys.nand.cache_read && op == Op::Read;
        !unit.array.is_some() && !unit.pausing && (!unit.output.is_some() || reads_on)
    }

    /// A program or an erase makes way for a read that would be served next, if it may.
    pub(super) fn suspend_for_read(&mut self, die: DieId) {
        let nand = &self.settings.keys.nand;
        let unit = &self.flash.dies[die.index()];
        let operation = unit.array;
        let limit = match operation.op {
            Op::Read => return,
            Op::Program => nand.program_suspends,
            Op::Erase => nand.erase_suspends,
        };
        let pause = Span::from_ns(nand.suspend_us);
        if unit.pausing
            || unit.suspended.is_some()
            || operation.suspensions >= limit
            || operation.array_end.since(self.now) <= pause
        {
            return;
        }
        let next = self.next_command(die).filter(|&set| !self.sets[set].in_gc_queue);
        if next.is_none_or(|set| self.sets.stage(set).op() != Op::Read) {
            return;
        }
        if self.now + operation.array < operation.array_end {
            return self.wake_when_suspendable(die);
        }
        let left = operation.array_end.since(self.now);
        self.account.totals.suspensions += 1;
        self.record_suspended(die, &operation);
        if let Some(checker) = &mut self.account.checker {
            checker.suspended(die, false);
        }
        self.for_riders(operation.leader, |device, set| {
            device.enter(set, Mode::Suspended);
            device.sets[set].place = Place::Suspended;
        });
        let unit = &mut self.flash.dies[die.index()];
        unit.suspended = Operation { suspensions: operation.suspensions + 1, left, ..operation };
        unit.array = Operation::NONE;
        unit.pausing = true;
        self.relabel(die);
        let ready = self.now + pause;
        self.post(die, Place::Array, ready);
        self.tell_suspension(die, operation.leader, ready, false);
    }

    /// Tells observers that the operation of a set is suspended, or resumed, by `until`.
    fn tell_suspension(&mut self, die: DieId, leader: u32, until: Time, resumed: bool) {
        if self.account.observers.is_empty() {
            return;
        }
        let (command, stage) = (self.command_name(leader), self.sets.stage(leader));
        let state = &self.sets[leader];
        let purpose = stage.purpose(state.copies_map, state.levels);
        let event = Suspension { command, purpose, die, at: self.now, until, resumed };
        self.account.observers.iter_mut().for_each(|observer| observer.suspended(&event));
    }

    /// A read waits behind a program or an erase that cannot be suspended yet, because it has not
    /// come to the array or is being resumed: the die is looked at again when it can. While it
    /// waits for the channel that is not known; whoever grants the channel asks again.
    fn wake_when_suspendable(&mut self, die: DieId) {
        let operation = &mut self.flash.dies[die.index()].array;
        if operation.array_end < Time::MAX && !std::mem::replace(&mut operation.wakes, true) {
            let rest = operation.array_end.since(self.now).as_ns() - operation.array.as_ns();
            self.host.timers.set(self.now + Span::from_ns(rest), Timer::Suspendable(die));
        }
    }

    /// The operation of a die may be suspended from now on.
    pub(super) fn suspendable(&mut self, die: DieId) {
        self.flash.dies[die.index()].array.wakes = false;
        self.queues.stir(die);
    }

    /// The suspended operation of a die goes on.
    pub(super) fn resume(&mut self, die: DieId) {
        let mut operation =
            std::mem::replace(&mut self.flash.dies[die.index()].suspended, Operation::NONE);
        let cost = Span::from_ns(self.settings.keys.nand.resume_us);
        operation.array_end = self.now + operation.left + cost;
        let (end, leader) = (operation.array_end, operation.leader);
        if let Some(checker) = &mut self.account.checker {
            checker.suspended(die, true);
        }
        self.flash.dies[die.index()].array = operation;
        self.for_riders(leader, |device, set| {
            device.enter(set, Mode::Running);
            device.sets[set].place = Place::Array;
        });
        self.relabel(die);
        self.post(die, Place::Array, end);
        self.tell_suspension(die, leader, self.now + cost, true);
    }

    /// Calls `visit` with every set that an operation serves.
    pub(super) fn for_riders(&mut self, leader: u32, mut visit: impl FnMut(&mut Self, u32)) {
        let mut at = leader;
        while at != NIL {
            let next = self.sets[at].rider;
            visit(self, at);
            at = next;
        }
    }

    /// What the die is doing may have changed: its running totals follow.
    pub(super) fn relabel(&mut self, die: DieId) {
        let now = self.now;
        let unit = &self.flash.dies[die.index()];
        let operation = if unit.array.is_some() {
            &unit.array
        } else if unit.pausing {
            &unit.suspended
        } else {
            &unit.output
        };
        let label = match operation.is_some() {
            false if self.flash.budget.is_some() && self.waits_for_power(die) => Some(DIE_POWER),
            false => None,
            true if operation.gc => Some(DIE_GC),
            true => Some(operation.op as usize),
        };
        let unit = &mut self.flash.dies[die.index()];
        if let Some(doing) = unit.doing {
            unit.busy[doing] += now.since(unit.since).as_ns();
        }
        unit.doing = label;
        unit.since = now;
    }

    /// Shows the checker every page of an operation.
    fn check_pages(&mut self, leader: u32) {
        if self.account.checker.is_none() {
            return;
        }
        let mut at = leader;
        while at != NIL {
            let state = &self.sets[at];
            let reads = (self.sets.stage(at) == Stage::Read).then_some(state.lpn);
            let (op, plane, ppn, next) =
                (self.sets.stage(at).op(), self.sets.plane(at), state.ppn, state.rider);
            let read = reads
                .map(|lpn| (lpn, (self.host.pending[state.request as usize].order, state.page)));
            if let Some(checker) = &mut self.account.checker {
                checker.touched(plane, op, ppn, read);
            }
            self.show_map_write(at);
            at = next;
        }
    }
}
