//! The work of translation layers: chunks of a chain step by step, what they wait for, what they
//! change.

use super::Device;
use crate::ftl::layer::TranslationLayer;
use crate::ftl::page_map::Owner;
use crate::sets::{Set, Stage};
use flashyard_core::graph::{EdgeKind, NIL, Wait};
use flashyard_core::units::{BlockId, Lpn, PlaneId, Ppn, Span};
use std::ops::Range;

impl Device {
    /// Whether a set is a chunk of a chain.
    pub(super) fn is_chunk(&self, set: u32) -> bool {
        self.ftl.layered.is_some() && self.sets[set].request == NIL
    }

    /// A chunk has come to a step: its command, and what that waits for.
    pub(super) fn prepare(&mut self, set: u32, plane: PlaneId) {
        let layered = self.ftl.layered.as_ref().expect("only layers have chunks");
        let step = layered.front(plane);
        let (read, erase, ordered) = (layered.read, layered.erase, layered.ordered);
        let state = &mut self.sets[set];
        if step.erases() {
            let block = step.block();
            state.turn_into(erase);
            state.ppn = Some(self.settings.geometry.unit_of(block, 0));
            return self.wait_until_empty(set, block);
        }
        state.turn_into(read);
        state.lpn = step.lpn();
        state.source = Some(step.from());
        let mut waits = false;
        if !self.ftl.map.is_valid(step.from())
            && let Some(writer) = self.program_under_way(set, step.lpn(), step.from())
        {
            self.wait_for_change(set, writer);
            waits = true;
        }
        if ordered {
            waits |= self.wait_for_programs(set, self.settings.geometry.block_of(step.to()), false);
        }
        if waits {
            self.hand_on_ranks(&[set], None);
        }
    }

    /// The write planned before a chunk that is going to program a page.
    fn program_under_way(&self, chunk: u32, lpn: Lpn, page: Ppn) -> Option<u32> {
        let number = self.sets.graph.node(chunk).number;
        self.uncommitted(lpn, 0..number, |change| change.source == Some(page))
    }

    /// The current stage of a chunk starts only when a change has been committed.
    fn wait_for_change(&mut self, chunk: u32, change: u32) {
        let stage = self.commit_stage(change);
        self.sets.connect(Wait { source: change, stage, kind: EdgeKind::Order }, chunk, 0);
    }

    /// An erase waits for the changes that empty its block, and for programs into it.
    fn wait_until_empty(&mut self, set: u32, block: BlockId) {
        let mut waits = self.wait_for_programs(set, block, true);
        if self.ftl.map.blocks.valid_units(block) > 0 {
            waits = true;
            let number = self.sets.graph.node(set).number;
            let mut from = 0;
            while let Some((unit, _, owner)) = self.ftl.map.next_valid(block, from) {
                from = unit + 1;
                let Owner::Data(lpn) = owner else { unreachable!("the map is in memory") };
                let change = self.change_under_way(lpn, 0..number);
                let change = change.expect("a layer erases only what has been changed or copied");
                self.wait_for_change(set, change);
            }
        }
        if waits {
            self.hand_on_ranks(&[set], None);
        }
    }

    /// A change of a page with one of these numbers that has not been committed.
    fn change_under_way(&self, lpn: Lpn, numbers: Range<u64>) -> Option<u32> {
        self.uncommitted(lpn, numbers, |_| true)
    }

    /// The same, among those that are `wanted`.
    fn uncommitted(
        &self,
        lpn: Lpn,
        numbers: Range<u64>,
        wanted: impl Fn(&Set) -> bool,
    ) -> Option<u32> {
        let mut at = self.sets.lpn_index[self.sets.bucket_of(lpn)];
        while at != NIL {
            let state = &self.sets[at];
            let node = self.sets.graph.node(at);
            if state.lpn == lpn
                && state.changes
                && wanted(state)
                && numbers.contains(&node.number)
                && node.stage <= self.commit_stage(at)
            {
                return Some(at);
            }
            at = state.next_of_lpn;
        }
        None
    }

    /// A chunk waits for all programs of the host into a block that were planned before it and, if
    /// it erases the block, for a change behind each of them. Returns whether there are any.
    fn wait_for_programs(&mut self, set: u32, block: BlockId, erases: bool) -> bool {
        let layered = self.ftl.layered.as_ref().expect("only layers have chunks");
        if layered.programs[block.index()] == 0 {
            return false;
        }
        let number = self.sets.graph.node(set).number;
        let mut waits = false;
        let mut change = self.sets.oldest_change;
        while change != NIL && self.sets.graph.node(change).number < number {
            let state = &self.sets[change];
            let later = state.later_change;
            let into = state.source.filter(|_| !state.trims);
            if into.is_some_and(|page| self.settings.geometry.block_of(page) == block)
                && self.sets.graph.node(change).stage <= self.commit_stage(change)
            {
                let (lpn, superseded) = (state.lpn, state.superseded);
                self.wait_for_change(set, change);
                waits = true;
                if erases && !superseded {
                    let behind = self.sets.graph.node(change).number + 1..number;
                    let behind = self.change_under_way(lpn, behind);
                    let behind = behind.expect("a layer erases only what is changed or copied");
                    self.wait_for_change(set, behind);
                }
            }
            change = later;
        }
        waits
    }

    /// A command of a chunk is over; returns whether the chunk goes on with another one.
    pub(super) fn chunk_goes_on(&mut self, set: u32) -> bool {
        let plane = self.sets.plane(set);
        let stage = self.sets.stage(set);
        let span = self.sets.graph.node(set).spans[0];
        let left = span.as_ns() - self.flash.nominal(stage).as_ns();
        self.sets.graph.set_span(set, 0, Span::from_ns(left));
        let layered = self.ftl.layered.as_mut().expect("only layers have chunks");
        if stage == layered.read {
            self.sets[set].turn_into(layered.program);
            self.activate(set);
            return true;
        }
        let chain = &mut layered.chains[plane.index()];
        chain.steps.pop_front();
        let (chunk, left) = chain.chunks.front_mut().expect("a chunk is under way");
        debug_assert_eq!(*chunk, set, "chunks of a plane are done in order");
        *left -= 1;
        if *left > 0 {
            self.prepare(set, plane);
            self.activate(set);
            return true;
        }
        chain.chunks.pop_front();
        if let Some(&(next, _)) = chain.chunks.front() {
            self.prepare(next, plane);
        }
        false
    }

    /// A page has been programmed on a device whose layers plan.
    pub(super) fn page_programmed(&mut self, ppn: Ppn) {
        let layered = self.ftl.layered.as_mut().expect("only layers have chunks");
        layered.note_page(ppn, &mut self.ftl.map);
    }

    /// The program of a write is over: its page is no longer under way.
    pub(super) fn host_page_over(&mut self, ppn: Ppn) {
        let block = self.settings.geometry.block_of(ppn);
        let layered = self.ftl.layered.as_mut().expect("only layers have chunks");
        layered.programs[block.index()] -= 1;
    }

    /// A copy of a chunk has been programmed: it counts if its source is still the newest.
    pub(super) fn planned_copy_over(&mut self, set: u32) {
        let plane = self.sets.plane(set);
        let step = self.ftl.layered.as_ref().expect("only layers have chunks").front(plane);
        let (lpn, from, to) = (step.lpn(), step.from(), step.to());
        self.account.copied(from, to, Some(lpn));
        if self.ftl.map.is_valid(from) {
            debug_assert_eq!(
                self.ftl.map.owner(from),
                Some(Owner::Data(lpn)),
                "a page changed hands"
            );
            self.ftl.map.commit(Owner::Data(lpn), to);
        } else {
            self.account.copy_superseded();
        }
    }

    /// A chunk has erased its block.
    pub(super) fn planned_erase_over(&mut self, set: u32) {
        let plane = self.sets.plane(set);
        let layered = self.ftl.layered.as_mut().expect("only layers have chunks");
        let block = layered.front(plane).block();
        let was_used = layered.forget_pages(block, &self.settings.geometry);
        if layered.erase == Stage::Erase {
            self.account.layer_collected();
        }
        self.ftl.map.blocks.erased_planned(block, was_used);
        self.account.erased(block);
    }

    /// Plans a piece of work that nobody waits for; returns whether there was any.
    pub(super) fn merge_idle(&mut self, plane: PlaneId) -> bool {
        let layered = self.ftl.layered.as_mut().expect("only layers plan");
        if layered.is_busy(plane) {
            return false;
        }
        layered.plan.steps.clear();
        let looks = layered.layers[plane.index()].counts().searches;
        let work = layered.layers[plane.index()].idle(&mut layered.plan);
        let looks = layered.layers[plane.index()].counts().searches - looks;
        let steps = layered.plan.steps.len();
        if steps > 0 {
            self.chain_up(plane, 0..steps, NIL, looks);
        } else if work {
            // What costs nothing may be followed by more.
            return self.merge_idle(plane);
        }
        work
    }
}
