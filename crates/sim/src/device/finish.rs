//! Completion: effects of a command, the next command of its set, whoever waited, the request.

use super::Device;
use crate::account::{Answer, queue_wait};
use crate::config::ReadAllocate;
use crate::handle::{RequestId, SetId};
use crate::metrics::counters::{ArrayWork, Work};
use crate::observe::{CommandDone, RequestAnswered, RequestDone};
use crate::random::TurnedBits;
use crate::sets::{Mode, Operation, Set, Stage};
use flashyard_core::command::{Op, Purpose};
use flashyard_core::policy::Happened;
use flashyard_core::units::{DieId, Lpn};

impl Device {
    /// An operation is over: all its effects, then whoever goes on.
    pub(super) fn operation_over(&mut self, operation: &Operation, die: DieId) {
        let leader = operation.leader;
        let alone = leader.filter(|&set| self.short_road && self.sets[set].rider.is_none());
        if let Some(set) = alone {
            return self.alone_over(set, operation, die);
        }
        if self.account.records_power() {
            let mut planes = 0;
            self.for_riders(leader, |device, set| {
                planes += u64::from(device.sets[set].page_codewords > 0);
            });
            self.account.record_operation(die, operation, planes);
        }
        self.for_riders(leader, |device, set| {
            device.account_for(set, die, operation);
            device.settle(set, operation);
        });
        if self.queues.has_state() {
            let (op, now) = (operation.op, self.now);
            self.for_riders(leader, |device, set| {
                device.queues.tell(Happened::Completed, (die, set), op, now);
            });
        }
        self.stir(die);
        self.account.over(self.now, die, operation.op, operation.out_ns > 0);
        self.for_riders(leader, Self::take_effect);
        self.stages_over(leader);
        self.wake_passed();
    }

    /// The operation of a single set is over.
    fn alone_over(&mut self, set: SetId, operation: &Operation, die: DieId) {
        self.account_for(set, die, operation);
        self.settle(set, operation);
        self.stir(die);
        let reads = self.sets.stage(set) == Stage::Read;
        let ended = if reads { self.sets.end_read(set) } else { None };
        if let Some(request) = ended {
            self.host.access_ends();
            let track = self.sets.track(set);
            if self.host[request].set_over(track.own, &track.parts) {
                self.answer(request);
            }
        } else {
            self.take_effect(set);
            self.stage_over(set);
        }
        self.wake_passed();
    }

    /// The commands that an operation served are over. Completing a set frees it, and its link to
    /// the next rider with it; so the list is copied first.
    fn stages_over(&mut self, leader: Option<SetId>) {
        if let Some(alone) = leader.filter(|&set| self.sets[set].rider.is_none()) {
            return self.stage_over(alone);
        }
        let mut done = std::mem::take(&mut self.work.done);
        self.for_riders(leader, |_, set| done.push(set));
        for set in done.drain(..) {
            self.stage_over(set);
        }
        self.work.done = done;
    }

    /// Ends the account of a command and, of a program, fills its block.
    #[inline]
    fn settle(&mut self, set: SetId, operation: &Operation) {
        self.close_with(set, operation);
        if operation.op == Op::Program {
            let ppn = self.sets[set].ppn.expect("a program has a page");
            self.ftl.programmed(ppn);
        }
    }

    fn stage_over(&mut self, set: SetId) {
        if self.ftl.is_task(set, &self.sets) && self.let_ftl(|ftl, lent| ftl.goes_on(set, lent)) {
            return;
        }
        let mut woken = std::mem::take(&mut self.work.woken);
        self.sets.complete_stage(set, |other| woken.push(other));
        let over = self.sets.is_over(set);
        if !over {
            if self.sets.stage(set) == Stage::Barrier {
                // It may be over, and forgotten, before those that waited are woken.
                for &other in &woken {
                    self.charge_wait(other);
                }
            }
            self.activate(set);
        }
        if woken.len() > 1 {
            woken.sort_unstable_by_key(|&other| self.sets.number(other));
            woken.dedup();
        }
        for &other in &woken {
            self.wake(other);
            self.wake_due();
        }
        woken.clear();
        self.work.woken = woken;
        if over {
            self.complete_set(set);
        }
    }

    /// Something that a set waited for is over. [`Self::wake_due`] must follow.
    pub(super) fn wake(&mut self, set: SetId) {
        if self.sets[set].mode == Mode::Waiting {
            self.go_on(set);
        }
    }

    /// Ends the current segment of a set's account; until it enters the next mode no time passes.
    pub(super) fn close_and_rest(&mut self, set: SetId) {
        self.enter(set, Mode::Slotless);
    }

    /// Counts a set's share of an operation: the first set of a page stands for the page, the
    /// leader for the operation and its command.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "a step of each command; a call costs as much")]
    fn account_for(&mut self, set: SetId, die: DieId, operation: &Operation) {
        let stage = self.sets.stage(set);
        let state = &self.sets[set];
        let (op, purpose, charge) =
            (operation.op, stage.purpose(state.copies_map, state.levels), state.charge);
        let leads = Some(set) == operation.leader;
        if state.page_codewords > 0 {
            let transfer_ns = if self.flash.has_requests() {
                self.wire_share(set, die, leads)
            } else {
                let command_ns = if leads { self.flash.command_ns() } else { 0 };
                command_ns + self.flash.channel_ns(stage, state.page_codewords)
            };
            self.count_page(operation, (op, purpose), charge, (leads, transfer_ns));
        }
        if self.account.is_observed() {
            let event = self.command_done(set, die, operation);
            self.account.tell(&event);
        }
    }

    /// Counts the work on a page of an operation that is over; `leads` is whether it counts as one.
    #[inline]
    fn count_page(
        &mut self,
        operation: &Operation,
        (op, purpose): (Op, Purpose),
        charge: Option<RequestId>,
        (leads, transfer_ns): (bool, u64),
    ) {
        let phase = self.phase();
        let arrays = Work::of_arrays(&self.settings.geometry, op, 1, operation.array);
        let work = Work { ops: u64::from(leads), transfer_ns, ..arrays };
        self.account.worked(phase, (op.into(), purpose), charge, &work);
        if operation.retries > 0 {
            let again = work.times(operation.retries.into());
            self.account.worked(phase, (ArrayWork::Retry, purpose), charge, &again);
        }
    }

    fn command_done(&self, set: SetId, die: DieId, operation: &Operation) -> CommandDone {
        let state = &self.sets[set];
        let stage = self.sets.stage(set);
        CommandDone {
            command: self.command_name(set),
            op: stage.op(),
            purpose: stage.purpose(state.copies_map, state.levels),
            lpn: stage.is_data().then_some(state.lpn.get()),
            die,
            ppn: state.ppn.map(flashyard_core::units::Ppn::get),
            queue: self.queue_name(set),
            key: state.key,
            enqueued: state.enqueued,
            start: state.started,
            end: self.now,
            rekeys: state.rekeys,
            retries: operation.retries,
        }
    }

    /// What a command changes when it completes.
    fn take_effect(&mut self, set: SetId) {
        let state = &self.sets[set];
        match self.sets.stage(set) {
            Stage::Writeback | Stage::RewriteProgram => {
                let (page, ppn) = (state.map_page, state.ppn.expect("has a page"));
                if self.account.follows_units() {
                    self.tell_map_written(set, page, ppn);
                }
                self.ftl.map_written(page, ppn, set);
                self.account.map_page_written(set);
            }
            Stage::Fetch => self.ftl.map_fetched(state.line, set),
            Stage::Program => self.commit_write(set),
            Stage::Read => {
                let (request, page) = (state.owner(), state.page);
                if self.settings.keys.buffer.read_allocate != ReadAllocate::Never {
                    self.allocate_read(set);
                }
                let errors = self.read_errors(set);
                if self.account.is_checked() {
                    let order = self.host[request].order;
                    self.account.read_over(order, page, errors);
                }
            }
            Stage::CopyProgram | Stage::MergeProgram => {
                self.let_ftl(|ftl, lent| ftl.copied(set, lent));
            }
            Stage::Erase | Stage::MergeErase | Stage::HostErase => {
                self.let_ftl(|ftl, lent| ftl.erased(set, lent));
            }
            Stage::OldRead => self.rest_read(set),
            Stage::EvictRead
            | Stage::CopyRead
            | Stage::MergeRead
            | Stage::RewriteRead
            | Stage::Buffer
            | Stage::Link
            | Stage::Barrier => {}
        }
    }

    /// The errors of a read of flash, where there are any.
    #[inline]
    fn read_errors(&mut self, set: SetId) -> Option<TurnedBits> {
        self.bit_errors.as_ref()?;
        self.sets[set].ppn?;
        let bytes = self.settings.geometry.unit_bytes() / self.flash.codewords();
        let bits = u64::from(self.codewords(set)) * u64::from(bytes) * 8;
        let errors = self.bit_errors.as_mut()?;
        let before = *errors;
        let count = errors.pass(bits, |_| ());
        self.account.bits_were_wrong(count);
        Some(TurnedBits { before, bits, count })
    }

    /// The data of a write is on flash.
    fn commit_write(&mut self, set: SetId) {
        if self.account.follows_units() {
            self.tell_written(set);
        }
        let (number, counts) = self.ftl.write_over(set, &mut self.sets);
        if self.account.is_checked() {
            let Set { request, lpn, ppn, .. } = self.sets[set];
            let order = request.map(|writer| self.host[writer].order);
            self.account.programmed(order, ppn.expect("a program has a page"), lpn, number);
        }
        if counts {
            self.account.change_committed();
        }
    }

    /// The block that a trim names has been erased by the change `number`.
    pub(super) fn block_trimmed(&mut self, set: SetId, number: u64) {
        if self.account.is_checked() {
            let state = &self.sets[set];
            let (first, order) = (state.lpn.get(), self.host[state.owner()].order);
            for unit in first..first + self.settings.geometry.units_per_block() {
                self.account.trimmed(order, Lpn::new(unit), number);
            }
        }
        self.account.change_committed();
    }

    /// Every command of a set is over.
    pub(super) fn complete_set(&mut self, set: SetId) {
        let Set { request: handle, charge, trims, changes, .. } = self.sets[set];
        let line = self.sets[set].buffered.take();
        if let Some(line) = line {
            self.flush_over(set, line);
        }
        let Some(handle) = handle else {
            if !changes {
                self.account.own_work_over();
            }
            if self.account.is_followed() {
                self.tell_set_over(set, line);
            }
            self.sets.remove(set);
            return self.release_charge(charge);
        };
        self.close_segment(set);
        if self.account.is_followed() {
            self.tell_set_over(set, line);
        }
        if self.host[handle].pages > 0 {
            let erases = |command: &(Stage, _)| command.0 == Stage::HostErase;
            if trims && !self.sets.commands(set).iter().any(erases) {
                self.commit_trim(set);
            }
            if changes {
                self.sets.unlist_change(set);
            }
            self.sets.drop_slot(set);
            self.sets.unlist_by_lpn(set);
            self.host.access_ends();
        } else if self.host[handle].is_flush() {
            self.sets.unlist_change(set);
        }
        self.sets.remove(set);
        let state = &mut self.sets[set];
        state.request = None;
        state.changes = false;
        let track = self.sets.track(set);
        if self.host[handle].set_over(track.own, &track.parts) {
            self.answer(handle);
        }
    }

    fn commit_trim(&mut self, set: SetId) {
        let Set { lpn, superseded, .. } = self.sets[set];
        if self.account.is_checked() {
            let order = self.host[self.sets[set].owner()].order;
            self.account.trimmed(order, lpn, self.sets.number(set));
        }
        if !superseded {
            if self.account.follows_units() {
                self.tell_trimmed(set);
            }
            self.ftl.trim_over(set, &mut self.sets);
            self.account.change_committed();
            self.drop_buffered(lpn, self.sets.number(set));
        }
    }

    /// All sets of a request are complete.
    pub(super) fn answer(&mut self, handle: RequestId) {
        let now = self.now;
        let waits = self.host.sends_answer(handle, now);
        self.link_carries(handle);
        if waits {
            return;
        }
        self.host.answered(handle, now);
        let request = &self.host[handle];
        if self.account.is_followed() {
            self.account.tell(&RequestAnswered { order: request.order, at: now });
        }
        let answer = Answer {
            order: request.order,
            request: &request.request,
            stream: self.host.stream_of(handle),
            first_slot: request.first_slot,
            own: request.own,
            parts: &request.parts,
        };
        self.account.answered(&answer, now);
        self.release_if_over(handle);
    }

    /// One piece of work charged to a request is over.
    fn release_charge(&mut self, charge: Option<RequestId>) {
        if let Some(request) = charge {
            self.host[request].charges -= 1;
            self.release_if_over(request);
        }
    }

    /// Forgets a request once it is answered and nothing is charged to it any more.
    #[inline]
    fn release_if_over(&mut self, handle: RequestId) {
        let request = &self.host[handle];
        let Some(completion) = request.answered else { return };
        if request.charges > 0 {
            return;
        }
        if self.account.is_observed() {
            let (work, energy_pj) = self.account.work_of(handle);
            let event = RequestDone {
                order: request.order,
                request: request.request,
                completion,
                pages: request.pages,
                fot_ns: request.fot.as_ns(),
                queue_wait_ns: queue_wait(request.first_slot, request.request.arrival, completion),
                own_ns: request.own.as_ns(),
                parts: request.parts,
                work,
                energy_pj,
            };
            self.account.tell(&event);
        }
        self.host.close(handle);
    }
}
