//! Completion: effects of a command, the next command of its set, whoever waited, the request.

use super::Device;
use super::state::{Mode, Operation, Set, Stage};
use crate::config::{Allocation, ReadAllocate};
use crate::ftl::page_map::Owner;
use crate::metrics::counters::Work;
use crate::observe::{CommandDone, RequestDone};
use flashyard_core::command::Op;
use flashyard_core::graph::NIL;
use flashyard_core::units::{DieId, Time};

impl Device {
    /// An operation is over: all its effects, then whoever goes on.
    pub(super) fn operation_over(&mut self, operation: Operation, die: DieId) {
        let mut done = std::mem::take(&mut self.done);
        let mut at = operation.leader;
        while at != NIL {
            done.push(at);
            at = self.sets[at as usize].rider;
        }
        if self.series.is_some() {
            let heads = done.iter().filter(|set| self.sets[**set as usize].page_units > 0);
            let planes = heads.count() as u64;
            self.record_operation(die, &operation, planes);
        }
        for &set in &done {
            self.account_for(set, die, &operation);
            self.settle(set, &operation);
        }
        self.relabel(die);
        self.stir(die);
        if let Some(checker) = &mut self.checker {
            checker.over(self.now, die, operation.op, operation.out_ns > 0);
        }
        for &set in &done {
            self.take_effect(set);
        }
        for &set in &done {
            self.stage_over(set);
        }
        done.clear();
        self.done = done;
        self.wake_passed();
    }

    /// Ends the account of a command and, of a program, fills its block.
    fn settle(&mut self, set: u32, operation: &Operation) {
        self.close_with(set, operation);
        if operation.op == Op::Program {
            let ppn = self.sets[set as usize].ppn.expect("a program has a page");
            if self.layered.is_some() {
                self.page_programmed(ppn);
            } else {
                self.map.blocks.programmed(ppn);
            }
        }
    }

    fn stage_over(&mut self, set: u32) {
        if self.is_chunk(set) && self.chunk_goes_on(set) {
            return;
        }
        let mut woken = std::mem::take(&mut self.woken);
        self.graph.complete_stage(set, |other| woken.push(other));
        let node = self.graph.node(set);
        let over = node.stage == node.stages;
        if !over {
            self.activate(set);
        }
        if woken.len() > 1 {
            woken.sort_unstable_by_key(|&other| self.graph.node(other).number);
            woken.dedup();
        }
        for &other in &woken {
            self.wake(other);
            self.wake_due();
        }
        woken.clear();
        self.woken = woken;
        if over {
            self.complete_set(set);
        }
    }

    /// Something that a set waited for is over. [`Self::wake_due`] must follow.
    pub(super) fn wake(&mut self, set: u32) {
        if self.sets[set as usize].mode == Mode::Waiting {
            self.go_on(set);
        }
    }

    /// Ends the current segment of a set's account; until it enters the next mode no time passes.
    pub(super) fn close_and_rest(&mut self, set: u32) {
        self.enter(set, Mode::Slotless);
    }

    /// Counts a set's share of an operation: the first set of a page stands for the page, the
    /// leader for the operation and its command.
    fn account_for(&mut self, set: u32, die: DieId, operation: &Operation) {
        let stage = self.stage(set);
        let state = &self.sets[set as usize];
        let (op, purpose, charge) =
            (operation.op, stage.purpose(state.copies_map, state.levels), state.charge);
        let leads = set == operation.leader;
        if state.page_units > 0 {
            let command_ns = if leads { self.settings.keys.channel.command_ns } else { 0 };
            let data_ns = self.channel_ns(stage, state.page_units);
            let programs = op == Op::Program;
            let work = Work {
                ops: u64::from(leads),
                pages: if programs { self.settings.geometry.program_pages.into() } else { 1 },
                array_ns: operation.array.as_ns(),
                transfer_ns: command_ns + data_ns,
            };
            let phase = self.phase();
            self.totals.work[phase as usize].count(op, purpose, &work);
            if charge == NIL {
                self.totals.unattributed.count(op, purpose, &work);
            } else {
                self.totals.attributed.count(op, purpose, &work);
                if let Some(works) = self.works.get_mut(charge as usize) {
                    works.count(op, purpose, &work);
                }
            }
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
        }
    }

    /// What a command changes when it completes.
    fn take_effect(&mut self, set: u32) {
        let state = &self.sets[set as usize];
        match self.stage(set) {
            Stage::Writeback | Stage::RewriteProgram => {
                let page = state.map_page;
                self.map.commit(Owner::Map(page), state.ppn.expect("has a page"));
                if let Some(checker) = &mut self.checker {
                    checker.map_page_written(set);
                }
                if let Some(cache) = &mut self.cache {
                    cache.written(page, set);
                }
            }
            Stage::Fetch => {
                let cache = self.cache.as_mut().expect("only a cache fetches");
                cache.fetched(state.line, set);
            }
            Stage::Program => {
                if self.settings.keys.ftl.allocation == Allocation::Dynamic {
                    let plane = self.current_plane(set);
                    self.planes[plane.index()].writes -= 1;
                }
                if self.layered.is_some() {
                    self.host_page_over(state.ppn.expect("a program has a page"));
                }
                self.commit_write(set);
            }
            Stage::Read => {
                let (request, page) = (state.request, state.page);
                if self.settings.keys.buffer.read_allocate != ReadAllocate::Never {
                    self.allocate_read(set);
                }
                if let Some(checker) = &mut self.checker {
                    let order = self.pending[request as usize].order;
                    checker.read_over(order, page);
                }
            }
            Stage::CopyProgram | Stage::Erase if self.layered.is_none() => {
                if self.stage(set) == Stage::Erase {
                    self.erase_over(set);
                } else {
                    self.copy_over(set);
                }
            }
            Stage::CopyProgram | Stage::MergeProgram => self.planned_copy_over(set),
            Stage::Erase | Stage::MergeErase => self.planned_erase_over(set),
            Stage::EvictRead
            | Stage::OldRead
            | Stage::CopyRead
            | Stage::MergeRead
            | Stage::RewriteRead
            | Stage::Buffer
            | Stage::Link
            | Stage::Barrier => {}
        }
    }

    /// The data of a write is on flash: it counts unless a later change has been committed.
    fn commit_write(&mut self, set: u32) {
        let state = &self.sets[set as usize];
        let ppn = state.ppn.expect("a program has a page");
        let number = self.graph.node(set).number;
        if let Some(checker) = &mut self.checker {
            let writer = state.request;
            let order = (writer != NIL).then(|| self.pending[writer as usize].order);
            checker.programmed(order, ppn, state.lpn, number);
        }
        if state.superseded {
            return;
        }
        let lpn = state.lpn;
        self.map.commit(Owner::Data(lpn), ppn);
        self.totals.tables.changes += 1;
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
        let Set { request: handle, charge, trims, changes, .. } = self.sets[set as usize];
        if self.sets[set as usize].buffered != NIL {
            self.flush_over(set);
        }
        if handle == NIL {
            self.graph.remove(set);
            self.release_charge(charge);
            return;
        }
        self.close_segment(set);
        if self.pending[handle as usize].pages > 0 {
            if trims {
                self.commit_trim(set);
            }
            if changes {
                self.unlist_change(set);
            }
            self.drop_slot(set);
            self.unlist_by_lpn(set);
            self.started.accesses -= 1;
        }
        self.graph.remove(set);
        let state = &mut self.sets[set as usize];
        state.request = NIL;
        state.changes = false;
        let request = &mut self.pending[handle as usize];
        request.own += state.own;
        request.unfinished -= 1;
        if request.unfinished == 0 && request.translated == request.pages {
            request.parts = state.track.parts;
            self.answer(handle);
        }
    }

    fn commit_trim(&mut self, set: u32) {
        let Set { request, lpn, superseded, .. } = self.sets[set as usize];
        if let Some(checker) = &mut self.checker {
            let order = self.pending[request as usize].order;
            checker.trimmed(order, lpn, self.graph.node(set).number);
        }
        if !superseded {
            self.map.trim(lpn);
            self.totals.tables.changes += 1;
            self.supersede_earlier(set);
            self.drop_buffered(lpn, self.graph.node(set).number);
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
        self.started.answered(handle);
        let request = &self.pending[handle as usize];
        self.totals.answered(request, now);
        if let Some(checker) = &mut self.checker {
            checker.answered(request.order);
        }
        self.answer_came(handle);
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
        let request = &self.pending[handle as usize];
        let Some(completion) = request.answered else { return };
        if request.charges > 0 {
            return;
        }
        if !self.observers.is_empty() {
            let work = self.works[handle as usize];
            let energy = work.energy_pj(&self.settings.keys.energy);
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
