//! Copies that run ahead: while nothing else can happen on the device before the next copy of a
//! chunk is over, its commands are done in place, without an event and a queue for each.
//!
//! What is left behind is what the events would have left: counts, the map, the command under way
//! with its times, the account of the chunk, which is charged with one long operation of the same
//! kind. A test compares the results of both ways.

use super::Device;
use crate::config::MultiPlane;
use crate::flash::Place;
use crate::ftl::page_map::Owner;
use crate::metrics::counters::Work;
use flashyard_core::command::Op;
use flashyard_core::graph::NIL;
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
    /// and no other die, and requests that wait do not look at dies.
    pub(super) fn may_run_ahead(&self) -> bool {
        let keys = &self.settings.keys;
        self.ftl.layered.as_ref().is_some_and(|layered| !layered.ordered)
            && !self.account.is_watched()
            && !self.flash.suspends()
            && keys.channel.command_ns == 0
            && keys.channel.ps_per_byte == 0
            && keys.nand.spread_percent == 0
            && !self.flash.limits_power()
            && keys.nand.multi_plane == MultiPlane::None
            && self.host.policy.in_order()
    }

    /// Nothing but dies and channels is due before `others`: where the next completion is that of a
    /// chunk, that goes on as far as it may.
    pub(super) fn run_ahead(&mut self, others: Time) {
        let Some((die, due)) = self.flash.next_die().filter(|next| next.1 < others) else { return };
        let set = self.flash.operation(die, Place::Array).leader;
        let alone = set != NIL
            && self.queues.of_dies[die.index()].is_empty()
            && !self.flash.operation(die, Place::Output).is_some()
            && self.is_chunk(set);
        if !alone || self.sets.stage(set).op() == Op::Erase {
            return;
        }
        let limit = others.min(self.flash.next_due_beside(die));
        if due < limit {
            self.copy_ahead(set, die, limit);
        }
    }

    /// Goes on with the copies of a chunk until `limit`.
    fn copy_ahead(&mut self, set: u32, die: DieId, limit: Time) {
        let plane = self.sets.plane(set);
        let operation = *self.flash.operation(die, Place::Array);
        let mut reading = operation.op == Op::Read;
        let (mut began, mut span, mut end) =
            (operation.began, operation.array, operation.array_end);
        let mut done = Done::default();
        while end < limit {
            let layered = self.ftl.layered.as_ref().expect("only layers have chunks");
            let step = layered.front(plane);
            if reading {
                done.reads += 1;
                done.read_ns += span.as_ns();
                span = self.flash.array_time(Op::Program, Some(step.to()));
            } else {
                let chain = &layered.chains[plane.index()];
                let next = match chain.steps.get(1) {
                    Some(next) if chain.chunks[0].1 > 1 && !next.erases() => *next,
                    _ => break,
                };
                if !self.ftl.map.is_valid(next.from()) {
                    break;
                }
                done.programs += 1;
                done.program_ns += span.as_ns();
                self.copied_ahead(plane);
                span = self.flash.array_time(Op::Read, Some(next.from()));
            }
            reading = !reading;
            began = end;
            end = began + span;
        }
        if done.reads + done.programs > 0 {
            self.count_ahead(set, &done);
            self.leave_running(set, plane, reading);
            let op = if reading { Op::Read } else { Op::Program };
            self.flash.replace_array(die, op, began, span);
        }
    }

    /// The copy that a plane is at has been programmed.
    fn copied_ahead(&mut self, plane: PlaneId) {
        let layered = self.ftl.layered.as_mut().expect("only layers have chunks");
        let chain = &mut layered.chains[plane.index()];
        let step = chain.steps.pop_front().expect("a copy is under way");
        chain.chunks[0].1 -= 1;
        layered.note_page(step.to(), &mut self.ftl.map);
        if self.ftl.map.is_valid(step.from()) {
            self.ftl.map.commit(Owner::Data(step.lpn()), step.to());
        } else {
            self.account.copy_superseded();
        }
    }

    /// Counts commands that were done in place.
    fn count_ahead(&mut self, set: u32, done: &Done) {
        let layered = self.ftl.layered.as_ref().expect("only layers have chunks");
        let state = &self.sets[set];
        let (levels, charge) = (state.levels, state.charge);
        let phase = self.phase();
        let (read, program) = (layered.read, layered.program);
        self.queues.next_insertion += done.reads + done.programs;
        let mut left = self.sets.graph.node(set).spans[0].as_ns();
        for (stage, ops, array_ns) in
            [(read, done.reads, done.read_ns), (program, done.programs, done.program_ns)]
        {
            left -= ops * self.flash.nominal(stage).as_ns();
            let work = Work { ops, pages: ops, array_ns, transfer_ns: 0 };
            let (op, purpose) = (stage.op(), stage.purpose(false, levels));
            self.account.worked(phase, (op, purpose), charge, &work);
        }
        self.sets.graph.set_span(set, 0, Span::from_ns(left));
    }

    /// The command that a chunk has come to is under way.
    fn leave_running(&mut self, set: u32, plane: PlaneId, reading: bool) {
        let layered = self.ftl.layered.as_ref().expect("only layers have chunks");
        let step = layered.front(plane);
        let stage = if reading { layered.read } else { layered.program };
        let state = &mut self.sets[set];
        state.turn_into(stage);
        state.lpn = step.lpn();
        state.source = Some(step.from());
        state.ppn = Some(if reading { step.from() } else { step.to() });
    }
}
