//! What observers are told that follow command sets: pieces of their lives, operations, transfers,
//! and why the device does work of its own.

use super::{Ledger, Teller};
use crate::buffer::Buffer;
use crate::buffer::ports::Reservation;
use crate::flash::{Carried, Transfer};
use crate::ftl::BegunJob;
use crate::handle::{LineId, SetId};
use crate::observe::{
    BusTransfer, ChannelTransfer, CommandDone, FreeBlocks, JobBegan, MergeBegan, OperationBegan,
    OwnCause, OwnWork, PowerWaited, Queued, SetOver, Suspension,
};
use crate::queues::Queues;
use crate::sets::{Mode, Operation, Place};
use flashyard_core::bus::request::BusKind;
use flashyard_core::command::Op;
use flashyard_core::policy::CommandPolicy;
use flashyard_core::units::{DieId, PlaneId, Ppn, Span, Time};

/// The queue names of garbage collection, reads and erases before programs.
const GC_QUEUES: &[&str] = &["GC-RCQ", "GC-PCQ"];

impl Ledger<'_> {
    /// The name of the queue that the current command of a set waits in.
    fn queue_name(&self, set: SetId, queues: &Queues) -> &'static str {
        let state = &self.sets[set];
        let names = if state.in_gc_queue() { GC_QUEUES } else { queues.policy().queue_names() };
        names[usize::from(state.queue())]
    }

    /// The current command of a set waits in a queue, or has `moved` to another place.
    #[cold]
    pub(crate) fn tell_queued(&mut self, set: SetId, queues: &Queues, moved: bool) {
        let (command, queue) = (self.command_name(set), self.queue_name(set, queues));
        let key = self.sets[set].key();
        self.account.tell(&Queued { at: self.now, moved, command, queue, key });
    }

    /// A die has left the line for power, if it stood there for some time.
    pub(crate) fn power_granted(&mut self, die: DieId, waited: Span) {
        self.account.power_granted(waited);
        if waited > Span::ZERO && self.account.is_followed() {
            let (until, giver) = (self.now, self.flash.power_giver());
            let from = Time::from_ns(until.as_ns() - waited.as_ns());
            self.account.tell(&PowerWaited { die, from, until, giver });
        }
    }

    /// A channel is reserved for an operation.
    pub(crate) fn transferred(&mut self, transfer: &Transfer) {
        let Transfer { channel, die, place, from, until } = *transfer;
        self.account.transferred(channel, die, (from, until), place == Place::Output);
        if self.flash.has_requests() || !self.account.is_followed() {
            return;
        }
        let Some(set) = self.flash.operation(die, place).leader() else { return };
        let state = &self.sets[set];
        let event = ChannelTransfer {
            channel,
            die,
            set: set.get(),
            command: self.command_name(set),
            purpose: state.purpose(),
            from,
            until,
            out: place == Place::Output,
        };
        self.account.tell(&event);
    }

    /// The operation of a die has been suspended; the array is free at `ready`.
    pub(crate) fn suspended(&mut self, die: DieId, operation: &Operation, ready: Time) {
        let (now, leader, account) = (self.now, operation.leader(), &mut *self.account);
        account.operation_suspended();
        if account.records_power() {
            account.record_suspended(now, die, operation, self.sets.pages_of(leader));
        }
        account.suspended(now, die, false);
        self.for_riders(leader, |ledger, set| {
            ledger.close_with((ledger.sets.stage(set), set), operation);
            ledger.enter(set, Mode::Suspended);
        });
        self.sets.stand(leader, Place::Suspended);
        self.tell_suspension(die, leader, ready, false);
    }

    /// The suspended operation of a die goes on; its array works from `works` on.
    pub(crate) fn resumed(&mut self, die: DieId, leader: Option<SetId>, works: Time) {
        self.account.suspended(self.now, die, true);
        self.for_riders(leader, |ledger, set| ledger.enter(set, Mode::Running));
        self.sets.stand(leader, Place::Array);
        self.tell_suspension(die, leader, works, true);
    }

    /// The operation that a set leads is suspended, or resumed, by `until`.
    fn tell_suspension(&mut self, die: DieId, leader: Option<SetId>, until: Time, resumed: bool) {
        let Some(leader) = leader.filter(|_| self.account.is_observed()) else { return };
        let (command, state) = (self.command_name(leader), &self.sets[leader]);
        let purpose = state.purpose();
        let (began, at) = (state.started(), self.now);
        let event = Suspension { command, purpose, die, began, at, until, resumed };
        self.account.tell(&event);
    }

    /// A request has got the bus.
    pub(crate) fn request_carried(&mut self, carried: &Carried) {
        self.account.bus_carries(carried.from, carried.until);
        if !self.account.is_observed() {
            return;
        }
        let Some(leader) = carried.leader else { return };
        let state = &self.sets[leader];
        let event = BusTransfer {
            command: self.command_name(leader),
            purpose: state.purpose(),
            request: carried.request,
            die: carried.die,
            start: carried.from,
            end: carried.until,
            ready: (carried.request.kind == BusKind::Status).then_some(carried.ready),
        };
        self.account.tell(&event);
    }
}

impl Teller<'_> {
    /// The command of a set is over, with its operation.
    #[cold]
    pub(crate) fn tell_done(&mut self, set: SetId, die: DieId, operation: &Operation) {
        if !self.ledger.account.is_observed() {
            return;
        }
        let state = &self.ledger.sets[set];
        let stage = self.ledger.sets.stage(set);
        let event = CommandDone {
            command: self.ledger.command_name(set),
            op: stage.op(),
            purpose: state.purpose(),
            lpn: stage.is_data().then_some(state.lpn().get()),
            die,
            ppn: state.ppn().map(Ppn::get),
            queue: self.ledger.queue_name(set, self.queues),
            key: state.key(),
            enqueued: state.enqueued(),
            start: state.started(),
            end: self.ledger.now,
            rekeys: state.rekeys(),
            retries: operation.retries(),
        };
        self.ledger.account.tell(&event);
    }

    /// A set is over, and has left the line that it has flushed free or not.
    #[cold]
    pub(crate) fn tell_set_over(&mut self, set: SetId) {
        if !self.ledger.account.is_followed() {
            return;
        }
        let state = &self.ledger.sets[set];
        let lines = self.buffer.map(Buffer::lines);
        let frees_line = lines.zip(state.line()).is_some_and(|(lines, line)| {
            let line = &lines[line];
            !line.is_dirty() && !line.is_flushing()
        });
        let event = SetOver {
            set: set.get(),
            at: self.ledger.now,
            request: self.ledger.sets.order_of(set),
            page: state.page(),
            parts: *self.ledger.sets.track(set).parts(),
            slot: state.slot(),
            frees_line,
        };
        self.ledger.account.tell(&event);
    }

    /// A die takes the operation of a set.
    #[cold]
    pub(crate) fn operation_began(&mut self, set: SetId, die: DieId, op: Op) {
        self.ledger.account.started(self.ledger.now, die, op);
        if !self.ledger.account.is_followed() {
            return;
        }
        let state = &self.ledger.sets[set];
        let event = OperationBegan {
            at: self.ledger.now,
            die,
            plane: self.ledger.sets.plane(set),
            set: set.get(),
            command: self.ledger.command_name(set),
            op,
            purpose: state.purpose(),
            ppn: state.ppn().map(Ppn::get),
        };
        self.ledger.account.tell(&event);
        self.tell_free_blocks();
    }

    /// The operation of a die is over.
    #[cold]
    pub(crate) fn operation_over(&mut self, die: DieId, operation: &Operation) {
        let Ledger { now, sets, account, .. } = &mut self.ledger;
        if account.records_power() {
            account.record_operation(die, operation, sets.pages_of(operation.leader()));
        }
        account.over(*now, die, operation.op(), operation.gives_data());
    }

    /// How many blocks are free now.
    #[cold]
    pub(super) fn tell_free_blocks(&mut self) {
        let event = FreeBlocks { at: self.ledger.now, blocks: self.ftl.all_free() };
        self.ledger.account.tell(&event);
    }

    /// A job of garbage collection begins, charged to the request of this order.
    #[cold]
    pub(super) fn tell_job(&mut self, begun: &BegunJob, request: Option<u64>) {
        let event = JobBegan {
            at: self.ledger.now,
            plane: begun.plane,
            victim: begun.victim.get(),
            valid: begun.valid,
            free_blocks: begun.free_blocks,
            trigger: begun.trigger,
            request,
        };
        self.ledger.account.tell(&event);
    }

    /// The layer of a plane has planned merges for the request of this order.
    #[cold]
    pub(super) fn tell_merges(&mut self, plane: PlaneId, kinds: [u64; 4], request: Option<u64>) {
        self.ledger.account.tell(&MergeBegan { at: self.ledger.now, plane, kinds, request });
    }

    /// A set for the device's own work has been made, whose first command runs on this plane.
    #[cold]
    pub(crate) fn tell_own_work(&mut self, set: SetId, plane: PlaneId, cause: OwnCause) {
        if !self.ledger.account.is_followed() {
            return;
        }
        let request = self.order_of(self.ledger.sets[set].charge());
        let event = OwnWork { at: self.ledger.now, set: set.get(), plane, cause, request };
        self.ledger.account.tell(&event);
    }

    /// A port of the buffer has been granted for the unit of a set: it is put, or got.
    #[cold]
    pub(crate) fn tell_port(&mut self, set: SetId, line: Option<LineId>, granted: &Reservation) {
        if !self.ledger.account.is_observed() {
            return;
        }
        let lines = self.buffer.map(Buffer::lines);
        let bank = lines.zip(line).map(|(lines, line)| lines[line].bank());
        let state = &self.ledger.sets[set];
        self.ledger.account.tell(&granted.told(state, state.writes(), bank));
    }
}
