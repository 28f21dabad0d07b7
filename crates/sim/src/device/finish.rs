//! Completion: effects of a command, the next command of its set, whoever waited for it.

use super::Device;
use crate::config::ReadAllocate;
use crate::handle::SetId;
use crate::sets::{Operation, Stage};
use flashyard_core::command::Op;
use flashyard_core::units::DieId;

impl Device {
    /// An operation is over: all its effects, then whoever goes on.
    pub(super) fn operation_over(&mut self, operation: &Operation, die: DieId) {
        let leader = operation.leader();
        let alone = |set: &SetId| self.short_road && self.sets[*set].rider().is_none();
        if let Some(set) = leader.filter(alone) {
            // For the commonest kind all that depends on the kind is known when this is compiled.
            return match self.sets.stage(set) {
                Stage::Read => self.alone_over(Stage::Read, set, operation, die),
                stage => self.alone_over(stage, set, operation, die),
            };
        }
        if self.account.is_watched() {
            self.teller().operation_over(die, operation);
        }
        self.for_riders(leader, |device, set| {
            if device.account.is_watched() {
                device.teller().tell_done(set, die, operation);
            }
            device.settle(device.sets.stage(set), set, die, operation);
        });
        if self.queues.has_state() {
            self.waiting().policy_sees_end(leader, die, operation.op());
        }
        self.waiting().stir(die);
        self.for_riders(leader, Self::take_effect);
        self.stages_over(leader);
        self.wake_passed();
    }

    /// The operation of a single set, for a command of this kind, is over on the short road.
    #[expect(clippy::inline_always, reason = "compiled for each of its two callers")]
    #[inline(always)]
    fn alone_over(&mut self, stage: Stage, set: SetId, operation: &Operation, die: DieId) {
        self.settle(stage, set, die, operation);
        self.waiting().stir(die);
        if stage == Stage::Read
            && let Some(request) = self.sets.end_read(set)
        {
            self.host.access_ends();
            if self.host[request].set_over(self.sets.track(set)) {
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
        if let Some(alone) = leader.filter(|&set| self.sets[set].rider().is_none()) {
            return self.stage_over(alone);
        }
        let mut done = std::mem::take(&mut self.work.done);
        self.for_riders(leader, |_, set| done.push(set));
        for set in done.drain(..) {
            self.stage_over(set);
        }
        self.work.done = done;
    }

    /// Ends the account of a command of this kind and, of a program, fills its block.
    #[expect(clippy::inline_always, reason = "a step of each command; a call costs as much")]
    #[inline(always)]
    fn settle(&mut self, stage: Stage, set: SetId, die: DieId, operation: &Operation) {
        let phase = self.host.phase();
        self.ledger().command_over((stage, set), (die, phase), operation);
        if operation.op() == Op::Program {
            self.ftl.programmed(self.sets[set].ppn().expect("a program has a page"));
        }
    }

    fn stage_over(&mut self, set: SetId) {
        if self.ftl.is_task(set, &self.sets) && self.let_ftl(|ftl, lent| ftl.goes_on(set, lent)) {
            return;
        }
        let Self { sets, work, .. } = self;
        sets.complete_stage(set, |other| work.woken.push(other));
        let over = sets.is_over(set);
        if over {
            // Sets that waited for a trim go on when it has forgotten its unit.
            self.forget_unit(set);
        } else {
            if matches!(self.sets.stage(set), Stage::Barrier | Stage::Buffer | Stage::Link) {
                // It may be over, and forgotten, before those that waited are woken.
                for at in 0..self.work.woken.len() {
                    let other = self.work.woken[at];
                    self.ledger().charge_wait(other);
                }
            }
            self.activate(set);
        }
        if !self.work.woken.is_empty() {
            let mut woken = std::mem::take(&mut self.work.woken);
            woken.sort_unstable_by_key(|&other| self.sets.number(other));
            woken.dedup();
            for other in woken.drain(..) {
                self.wake(other);
                self.wake_due();
            }
            self.work.woken = woken;
        }
        if over {
            self.end_set(set);
        }
    }

    /// What a command changes when it completes.
    fn take_effect(&mut self, set: SetId) {
        let state = &self.sets[set];
        match self.sets.stage(set) {
            Stage::Writeback | Stage::RewriteProgram => {
                let (page, ppn) = (state.map_page(), state.ppn().expect("has a page"));
                if self.account.is_watched() {
                    self.teller().map_page_written(set);
                }
                self.ftl.map_written(page, ppn, set);
            }
            Stage::Fetch => self.ftl.map_fetched(state.map_line(), set),
            Stage::Program => self.commit_write(set),
            Stage::Read => {
                let keeps = self.settings.keys.buffer.read_allocate != ReadAllocate::Never;
                if keeps && self.buffer.is_some() {
                    self.translation().lines_of_reads().keep(set);
                }
                if self.flash.turns_bits() || self.account.is_watched() {
                    self.waiting().check_read(set);
                }
            }
            Stage::CopyProgram | Stage::MergeProgram | Stage::FoldProgram | Stage::PadProgram => {
                self.let_ftl(|ftl, lent| ftl.copied(set, lent));
            }
            Stage::Erase | Stage::MergeErase | Stage::FoldErase | Stage::HostErase => {
                self.let_ftl(|ftl, lent| ftl.erased(set, lent));
            }
            Stage::OldRead => self.translation().rest_read(set),
            Stage::AheadRead => self.translation().lines_of_reads().end(set),
            Stage::JournalProgram => self.let_ftl(|_, lent| lent.journal_written(set)),
            Stage::EvictRead
            | Stage::CopyRead
            | Stage::MergeRead
            | Stage::FoldRead
            | Stage::RewriteRead
            | Stage::Buffer
            | Stage::Link
            | Stage::Barrier => {}
        }
    }

    /// The data of a write is on flash.
    fn commit_write(&mut self, set: SetId) {
        if self.account.is_watched() {
            self.teller().tell_written(set);
        }
        let (number, counts) = self.ftl.write_over(set, &mut self.sets);
        if self.ftl.is_journaled() {
            self.let_ftl(|_, lent| lent.write_journal(None));
        }
        if self.account.is_watched() {
            self.teller().programmed(set, number);
        }
        if counts {
            self.account.change_committed();
        }
    }
}
