//! Bulk copies: while nothing else can happen on the device before the next copy of a
//! merge task is over, its commands are done in place, without an event and a queue for each.
//!
//! What is left behind is what the events would have left: counts, the map, the command under way
//! with its times, the account of the merge task, which is charged with one long operation of the
//! same kind. A test compares the results of both ways.

use super::Device;
use crate::config::MultiPlane;
use crate::handle::SetId;
use crate::metrics::counters::Work;
use crate::sets::Place;
use flashyard_core::command::Op;
use flashyard_core::units::{DieId, PlaneId, Span, Time};

/// Commands done in place.
#[derive(Clone, Copy, Default)]
struct Done {
    reads: u64,
    programs: u64,
    read_ns: u64,
    program_ns: u64,
}

impl Device {
    /// Whether copies may run ahead at all: nobody watches every command, commands take no channel
    /// and no other die, there is no write buffer, and requests that wait do not look at dies.
    pub(super) fn may_copy_in_bulk(&self) -> bool {
        let keys = &self.settings.keys;
        self.buffer.is_none()
            && self.ftl.planned().is_some_and(|planned| !planned.is_ordered() && !planned.spans())
            && !self.account.is_watched()
            && !self.queues.has_state()
            && !self.flash.suspends()
            && !self.flash.has_requests()
            && keys.channel.command_ns == 0
            && keys.channel.ps_per_byte == 0
            && !keys.nand.has_random_times()
            && !self.flash.limits_power()
            && keys.nand.multi_plane == MultiPlane::None
            && self.host.policy().in_order()
    }

    /// Nothing but dies and channels is due before `others`: where the next completion is that of a
    /// task, that goes on as far as it may.
    pub(super) fn copy_in_bulk(&mut self, others: Time) {
        let Some((die, due)) = self.flash.next_die().filter(|next| next.1 < others) else { return };
        let Some(set) = self.flash.operation(die, Place::Array).leader else { return };
        let alone = self.queues.is_empty(die)
            && !self.flash.operation(die, Place::Output).is_some()
            && self.ftl.is_task(set, &self.sets);
        if !alone || self.sets.stage(set).op() == Op::Erase {
            return;
        }
        let limit = others.min(self.flash.next_due_beside(die));
        if due < limit {
            self.copy_until(set, die, limit);
        }
    }

    /// Goes on with the copies of a merge task until `limit`.
    fn copy_until(&mut self, set: SetId, die: DieId, limit: Time) {
        let plane = self.sets.plane(set);
        let operation = *self.flash.operation(die, Place::Array);
        let mut reading = operation.op == Op::Read;
        let (mut began, mut span, mut end) =
            (operation.began, operation.array, operation.array_end);
        let mut done = Done::default();
        while end < limit {
            let planned = self.ftl.planned().expect("only layers have merge tasks");
            if reading {
                let step = planned.current_step(plane);
                done.reads += 1;
                done.read_ns += span.as_ns();
                span = self.flash.array_time(Op::Program, Some(step.to()));
            } else {
                let Some(next) = planned.next_copy(plane) else { break };
                if !self.ftl.map().is_valid(next.from()) {
                    break;
                }
                done.programs += 1;
                done.program_ns += span.as_ns();
                let copy = self.ftl.copied_in_bulk(plane);
                if !copy.current {
                    self.account.copy_superseded();
                }
                span = self.flash.array_time(Op::Read, Some(next.from()));
            }
            reading = !reading;
            began = end;
            end = began + span;
        }
        if done.reads + done.programs > 0 {
            self.count_copies(set, &done);
            self.leave_running(set, plane, reading);
            let op = if reading { Op::Read } else { Op::Program };
            self.flash.replace_array(die, op, began, span);
        }
    }

    /// Counts commands that were done in place.
    fn count_copies(&mut self, set: SetId, done: &Done) {
        let stages = self.ftl.task_stages();
        let state = &self.sets[set];
        let (levels, charge) = (state.levels, state.charge);
        let phase = self.phase();
        let (read, program) = (stages.read, stages.program);
        self.queues.skip_insertions(done.reads + done.programs);
        let mut left = self.sets.span(set).as_ns();
        for (stage, ops, array_ns) in
            [(read, done.reads, done.read_ns), (program, done.programs, done.program_ns)]
        {
            left -= ops * self.flash.nominal(stage).as_ns();
            let work = Work { ops, pages: ops, array_ns, transfer_ns: 0 };
            let (op, purpose) = (stage.op(), stage.purpose(false, levels));
            self.account.worked(phase, (op, purpose), charge, &work);
        }
        self.sets.set_span(set, Span::from_ns(left));
    }

    /// The command that a merge task has come to is under way.
    fn leave_running(&mut self, set: SetId, plane: PlaneId, reading: bool) {
        let planned = self.ftl.planned().expect("only layers have merge tasks");
        let (step, stages) = (planned.current_step(plane), planned.stages());
        let stage = if reading { stages.read } else { stages.program };
        let state = &mut self.sets[set];
        state.turn_into(stage);
        state.lpn = step.lpn();
        state.source = Some(step.from());
        state.ppn = Some(if reading { step.from() } else { step.to() });
    }
}
