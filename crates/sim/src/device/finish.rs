//! Completion: effects of a command, the next command of its set, whoever waited, the request.

use super::Device;
use super::state::{Mode, Stage};
use crate::ftl::page_map::Owner;
use crate::observe::{CommandDone, RequestDone};
use flashyard_core::command::Op;
use flashyard_core::graph::NIL;
use flashyard_core::request::RequestOp;
use flashyard_core::units::{DieId, Time};

impl Device {
    /// The array of a die is done, or its data has left the channel.
    pub(super) fn die_event(&mut self, die: DieId) {
        let set = self.dies[die.index()].running;
        let transfers = self.stage(set).op() == Op::Read && self.page_transfer.as_ns() > 0;
        if transfers && !self.dies[die.index()].in_transfer {
            let start = self.channel_free_at(die);
            let end = self.reserve_channel(die, start);
            self.sets[set as usize].bus_until = start;
            self.dies[die.index()].in_transfer = true;
            self.events.push(&mut self.event_positions, (end, die.get()), die.get());
        } else {
            self.command_over(set, die);
        }
    }

    fn command_over(&mut self, set: u32, die: DieId) {
        self.account_for(set, die);
        let unit = &mut self.dies[die.index()];
        unit.busy[unit.doing] += self.now.since(unit.since).as_ns();
        self.close_and_rest(set);
        let unit = &mut self.dies[die.index()];
        unit.running = NIL;
        self.stir(die);
        self.take_effect(set, die);
        let mut woken = std::mem::take(&mut self.woken);
        self.graph.complete_stage(set, |other| woken.push(other));
        let node = self.graph.node(set);
        let over = node.stage == node.stages;
        if !over {
            self.activate(set);
        }
        woken.sort_unstable_by_key(|&other| self.graph.node(other).number);
        woken.dedup();
        for &other in &woken {
            self.wake(other);
        }
        woken.clear();
        self.woken = woken;
        if over {
            self.complete_set(set);
        }
        self.wake_passed();
    }

    /// Something that a set waited for is over.
    pub(super) fn wake(&mut self, set: u32) {
        if self.sets[set as usize].mode == Mode::Waiting {
            self.activate(set);
        }
    }

    /// Ends the current segment of a set's account; until it enters the next mode no time passes.
    pub(super) fn close_and_rest(&mut self, set: u32) {
        self.enter(set, Mode::Slotless);
    }

    /// Counts the operation, its time and its energy.
    fn account_for(&mut self, set: u32, die: DieId) {
        let stage = self.stage(set);
        let state = &mut self.sets[set as usize];
        let (op, purpose) = (stage.op(), stage.purpose(state.copies_map));
        let charge = state.charge;
        state.own += self.now.since(state.started);
        let (array, transfer) = (self.array_time(op).as_ns(), self.transfer_time(op).as_ns());
        let phase = self.phase();
        self.totals.work[phase as usize].count(op, purpose, array, transfer);
        if charge == NIL {
            self.totals.unattributed.count(op, purpose, array, transfer);
        } else {
            self.pending[charge as usize].work.count(op, purpose, array, transfer);
        }
        if let Some(checker) = &mut self.checker {
            checker.over(self.now, die);
        }
        if !self.observers.is_empty() {
            let event = self.command_done(set, die);
            self.observers.iter_mut().for_each(|observer| observer.command_done(&event));
        }
    }

    fn command_done(&self, set: u32, die: DieId) -> CommandDone {
        let state = &self.sets[set as usize];
        let stage = self.stage(set);
        CommandDone {
            command: self.command_name(set),
            op: stage.op(),
            purpose: stage.purpose(state.copies_map),
            die,
            ppn: state.ppn.map(flashyard_core::units::Ppn::get),
            queue: self.queue_name(set),
            key: state.key,
            enqueued: state.enqueued,
            start: state.started,
            end: self.now,
            rekeys: state.rekeys,
        }
    }

    /// What a command changes when it completes.
    fn take_effect(&mut self, set: u32, die: DieId) {
        let state = self.sets[set as usize];
        if self.stage(set).op() == Op::Program {
            self.map.blocks.programmed(state.ppn.expect("a program has a page"));
        }
        match self.stage(set) {
            Stage::Writeback | Stage::RewriteProgram => {
                self.map.commit(Owner::Map(state.map_page), state.ppn.expect("has a page"));
                if let Some(cache) = &mut self.cache {
                    cache.written(state.map_page, set);
                }
            }
            Stage::Fetch => {
                let cache = self.cache.as_mut().expect("only a cache fetches");
                cache.fetched(state.line, set);
            }
            Stage::Program => self.commit_write(set),
            Stage::Read => {
                if let Some(checker) = &mut self.checker {
                    let order = self.pending[state.request as usize].order;
                    checker.read_over(die, order, state.page);
                }
            }
            Stage::CopyProgram => self.copy_over(set, die),
            Stage::Erase => self.erase_over(set, die),
            Stage::EvictRead | Stage::CopyRead | Stage::RewriteRead | Stage::Barrier => {}
        }
    }

    /// The data of a write is on flash: it counts unless a later change has been committed.
    fn commit_write(&mut self, set: u32) {
        let state = self.sets[set as usize];
        let ppn = state.ppn.expect("a program has a page");
        let number = self.graph.node(set).number;
        if let Some(checker) = &mut self.checker {
            let order = self.pending[state.request as usize].order;
            checker.programmed(order, ppn, state.lpn, number);
        }
        if state.superseded {
            return;
        }
        self.map.commit(Owner::Data(state.lpn), ppn);
        self.supersede_earlier(set);
    }

    /// Live changes of the same LPN that were translated before `set` no longer count.
    fn supersede_earlier(&mut self, set: u32) {
        let number = self.graph.node(set).number;
        let lpn = self.sets[set as usize].lpn;
        let mut at = self.lpn_index[self.bucket_of(lpn)];
        while at != NIL {
            let earlier = self.graph.node(at).number < number;
            let state = &mut self.sets[at as usize];
            state.superseded |= earlier && state.changes && state.lpn == lpn;
            at = state.next_of_lpn;
        }
    }

    /// Every command of a set is over.
    pub(super) fn complete_set(&mut self, set: u32) {
        self.close_segment(set);
        let state = self.sets[set as usize];
        let barrier = state.request != NIL && self.pending[state.request as usize].pages == 0;
        if state.request != NIL && !barrier {
            if self.pending[state.request as usize].request.op == RequestOp::Trim {
                self.commit_trim(set);
            }
            if state.changes {
                self.unlist_change(set);
            }
            self.drop_slot(set);
            self.unlist_by_lpn(set);
        }
        self.graph.remove(set);
        self.sets[set as usize].request = NIL;
        self.sets[set as usize].changes = false;
        if state.request == NIL {
            self.release_charge(state.charge);
            return;
        }
        let request = &mut self.pending[state.request as usize];
        request.own += state.own;
        request.unfinished -= 1;
        let translated = request.translated == request.pages;
        if request.unfinished == 0 && translated {
            request.parts = state.track.parts;
            self.answer(state.request);
        }
    }

    fn commit_trim(&mut self, set: u32) {
        let state = self.sets[set as usize];
        if let Some(checker) = &mut self.checker {
            let order = self.pending[state.request as usize].order;
            checker.trimmed(order, state.lpn, self.graph.node(set).number);
        }
        if !state.superseded {
            self.map.trim(state.lpn);
            self.supersede_earlier(set);
        }
    }

    /// All sets of a request are complete.
    pub(super) fn answer(&mut self, handle: u32) {
        if self.sends_answer(handle) {
            return;
        }
        let now = self.now;
        let request = &mut self.pending[handle as usize];
        assert!(request.answered.is_none(), "request {} is answered twice", request.order);
        let latency = now.since(request.request.arrival).as_ns();
        assert_eq!(request.parts.total(), latency, "the parts of request {}", request.order);
        request.answered = Some(now);
        self.outstanding -= 1;
        let request = self.pending[handle as usize];
        self.totals.answered(&request, now);
        self.answer_came(handle);
        if let Some(checker) = &mut self.checker {
            checker.answered(request.order);
        }
        self.release_if_over(handle);
    }

    /// One piece of work charged to a request is over.
    fn release_charge(&mut self, handle: u32) {
        if handle != NIL {
            self.pending[handle as usize].charges -= 1;
            self.release_if_over(handle);
        }
    }

    /// Forgets a request once it is answered and nothing is charged to it any more.
    fn release_if_over(&mut self, handle: u32) {
        let request = self.pending[handle as usize];
        let Some(completion) = request.answered else { return };
        if request.charges > 0 {
            return;
        }
        self.totals.attributed.merge(&request.work);
        if !self.observers.is_empty() {
            let energy = request.work.energy_pj(&self.settings.keys.energy);
            let event = RequestDone {
                order: request.order,
                request: request.request,
                completion,
                pages: request.pages,
                fot_ns: request.fot.as_ns(),
                queue_wait_ns: queue_wait(request.first_slot, request.request.arrival, completion),
                own_ns: request.own.as_ns(),
                parts: request.parts,
                work: request.work,
                energy_pj: u64::try_from(energy).unwrap_or(u64::MAX),
            };
            self.observers.iter_mut().for_each(|observer| observer.request_done(&event));
        }
        let freed = &mut self.pending[handle as usize];
        freed.order = u64::MAX;
        freed.link = std::mem::replace(&mut self.free_pending, handle);
    }
}

/// Time until the first slot; all of it for a request that needed none.
pub(super) fn queue_wait(first_slot: Option<Time>, arrival: Time, completion: Time) -> u64 {
    first_slot.unwrap_or(completion).since(arrival).as_ns()
}
