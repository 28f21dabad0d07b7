//! What observers are told that follow command sets: pieces of their lives, operations, transfers,
//! and why the device does work of its own.

use super::Device;
use crate::flash::Transfer;
use crate::ftl::{BegunJob, Charge};
use crate::handle::{LineId, RequestId, SetId};
use crate::observe::{
    ChannelTransfer, Doing, FlushTrigger, FreeBlocks, JobBegan, MergeBegan, OperationBegan,
    OwnCause, OwnWork, Piece, PowerWaited, SetOver,
};
use crate::sets::{Mode, Operation, Place};
use flashyard_core::units::{DieId, PlaneId, Ppn, Span, Time};

impl Device {
    /// Charges a segment in which some time has passed, and tells of it. `operation` is the one
    /// that has just left its die, if that is what the set was on.
    #[cold]
    pub(super) fn charge_told(&mut self, set: SetId, operation: Option<&Operation>) {
        let running = match operation {
            Some(operation) => Some(*operation),
            None if self.sets[set].mode == Mode::Running => Some(*self.operation_of(set)),
            None => None,
        };
        let track = self.sets.track(set);
        let (from, reason, mut parts) = (track.since, track.reason, track.parts);
        let doing = match self.sets[set].mode {
            Mode::Slotless => Doing::Slot(self.sets.slot_limit(set)),
            Mode::Waiting => Doing::Waits(self.awaited(set).get(), reason),
            Mode::Firmware => Doing::Firmware,
            Mode::Collecting => Doing::Collecting,
            Mode::Lineless => Doing::Line,
            Mode::Buffered => Doing::Buffer,
            Mode::Linking => Doing::Link,
            Mode::Queued | Mode::Suspended => Doing::Die,
            Mode::Running => {
                let operation = running.as_ref().expect("it is on a die");
                Doing::Runs(self.channel_waits(set, operation))
            }
        };
        match operation {
            Some(operation) => self.charge_running(set, operation),
            None => self.charge_now(set),
        }
        let charged = &self.sets.track(set).parts;
        for (before, after) in parts.0.iter_mut().zip(&charged.0) {
            *before = after - *before;
        }
        let command = self.command_name(set);
        let (die, until) = (self.current_die(set), self.now);
        let event = Piece { set: set.get(), command, die, from, until, doing, parts };
        self.account.tell(&event);
    }

    /// When a set that is on a die waited for the channel since its segment began.
    fn channel_waits(&self, set: SetId, operation: &Operation) -> [(Time, Time); 2] {
        let since = self.sets.track(set).since;
        if self.flash.has_requests() {
            let bus = self.running_time(set, operation).bus;
            let until = since + Span::from_ns(bus);
            return [(since, until), (until, until)];
        }
        let clip = |from: Time, until: Time| {
            let from = from.max(since).min(self.now);
            (from, until.min(self.now).max(from))
        };
        let before = clip(operation.began, operation.lead_from);
        let behind = if operation.out_ns > 0 {
            clip(operation.array_end, operation.out_from)
        } else {
            (self.now, self.now)
        };
        [before, behind]
    }

    /// A set is over, which has flushed a line of the write buffer or none.
    #[cold]
    pub(super) fn tell_set_over(&mut self, set: SetId, line: Option<LineId>) {
        let state = &self.sets[set];
        let frees_line = line.is_some_and(|line| {
            let line = self.line(line);
            !line.is_dirty() && !line.is_flushing()
        });
        let event = SetOver {
            set: set.get(),
            at: self.now,
            request: state.request.map(|request| self.host[request].order),
            page: state.page,
            parts: self.sets.track(set).parts,
            slot: state.slotted.then_some(state.slot_die),
            frees_line,
        };
        self.account.tell(&event);
    }

    /// A die has the power that it stood in line for.
    #[cold]
    pub(super) fn tell_power(&mut self, die: DieId, waited: Span) {
        let (until, giver) = (self.now, self.flash.power_giver());
        let from = Time::from_ns(until.as_ns() - waited.as_ns());
        self.account.tell(&PowerWaited { die, from, until, giver });
    }

    /// A die takes the operation of a set.
    #[cold]
    pub(super) fn tell_operation(&mut self, set: SetId, die: DieId) {
        let (state, stage) = (&self.sets[set], self.sets.stage(set));
        let event = OperationBegan {
            at: self.now,
            die,
            plane: self.sets.plane(set),
            set: set.get(),
            command: self.command_name(set),
            op: stage.op(),
            purpose: stage.purpose(state.copies_map, state.levels),
            ppn: state.ppn.map(Ppn::get),
        };
        self.account.tell(&event);
        self.tell_free_blocks();
    }

    /// How many blocks are free now.
    #[cold]
    pub(super) fn tell_free_blocks(&mut self) {
        let event = FreeBlocks { at: self.now, blocks: self.ftl.all_free() };
        self.account.tell(&event);
    }

    /// A channel is reserved for an operation.
    #[cold]
    pub(super) fn tell_channel(&mut self, transfer: &Transfer) {
        if self.flash.has_requests() {
            return;
        }
        let leader = self.flash.operation(transfer.die, transfer.place).leader;
        let Some(set) = leader else { return };
        let (state, stage) = (&self.sets[set], self.sets.stage(set));
        let event = ChannelTransfer {
            channel: transfer.channel,
            die: transfer.die,
            set: set.get(),
            command: self.command_name(set),
            purpose: stage.purpose(state.copies_map, state.levels),
            from: transfer.from,
            until: transfer.until,
            out: transfer.place == Place::Output,
        };
        self.account.tell(&event);
    }

    /// A job of garbage collection begins.
    #[cold]
    pub(super) fn tell_job(&mut self, begun: &BegunJob) {
        let event = JobBegan {
            at: self.now,
            plane: begun.plane,
            victim: begun.victim.get(),
            valid: begun.valid,
            free_blocks: begun.free_blocks,
            trigger: begun.trigger,
            request: self.live_order(begun.charge),
        };
        self.account.tell(&event);
    }

    /// The layer of a plane has planned merges.
    #[cold]
    pub(super) fn tell_merges(&mut self, plane: PlaneId, kinds: [u64; 4], charge: Charge) {
        let request = self.live_order(charge);
        self.account.tell(&MergeBegan { at: self.now, plane, kinds, request });
    }

    /// A set for the device's own work has been made.
    #[cold]
    pub(super) fn tell_own_work(&mut self, set: SetId, plane: PlaneId, cause: OwnCause) {
        let request = self.order_of(self.sets[set].charge);
        let event = OwnWork { at: self.now, set: set.get(), plane, cause, request };
        self.account.tell(&event);
    }

    /// A set of a flush has been made; a write whose own program carries it is not one.
    #[cold]
    pub(super) fn tell_flush(&mut self, set: SetId, trigger: FlushTrigger) {
        if self.sets[set].request.is_none() {
            self.tell_own_work(set, self.sets.plane(set), OwnCause::Flush(trigger));
        }
    }

    /// The order of arrival of a request that is not over.
    fn live_order(&self, charge: Charge) -> Option<u64> {
        self.order_of(charge.and_then(|request| self.host.live(request)))
    }

    /// The order of arrival of a request.
    fn order_of(&self, request: Option<RequestId>) -> Option<u64> {
        request.map(|request| self.host[request].order)
    }
}
