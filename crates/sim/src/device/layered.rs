//! Devices whose pages are chosen by translation layers: what is planned, and in which chain.
//!
//! A layer plans when a write is translated. The host's program gets its page there and then; all
//! other steps are work of the plane's own, done one after the other in the order of planning. That
//! **chain** is cut into chunks behind every erase. A chunk is a set with one stage, whose command
//! changes: it reads, programs, reads ... and erases, and every command waits in the queue of its
//! die like any other, so requests go between them. The map of the device is committed when
//! programs complete, as ever; what a layer believes is what will be true when all is done.
//!
//! Everything waits for what was planned earlier, so no waits form a cycle: a chunk for the one
//! before it; a host's program for the erase of its block; a copy for the program that it copies;
//! an erase for the changes that empty its block and for programs into it.

use super::Device;
use super::translate::Plan;
use crate::ftl::layer::{MergeCounts, PageWrite, Step, TranslationLayer};
use crate::ftl::planned::Past;
use crate::host::timers::Timer;
use crate::metrics::parts::Parts;
use crate::sets::Track;
use crate::sets::{Mode, Set, Stage};
use flashyard_core::graph::{EdgeKind, NIL, Wait};
use flashyard_core::request::RequestOp;
use flashyard_core::units::{Lpn, PlaneId, Ppn, Span};
use std::ops::Range;

impl Device {
    /// What all layers did since the start.
    pub(super) fn layer_counts(&self) -> MergeCounts {
        self.ftl.layered.as_ref().map_or_else(MergeCounts::default, |layered| layered.counts())
    }

    /// Plans a write of a page: what must be done before it becomes work of its plane, and the
    /// program that is pushed next gets its page and what it waits for.
    pub(super) fn plan_layered(&mut self, to: &mut Plan, handle: u32, lpn: Lpn, plane: PlaneId) {
        let pending = &self.host.pending[handle as usize];
        let writes = pending.request.op == RequestOp::Write;
        let left = if writes { pending.pages - 1 - pending.translated } else { 0 };
        let request_pages = if writes { pending.pages } else { 1 };
        let layered = self.ftl.layered.as_mut().expect("only layers plan");
        let page =
            PageWrite { lpn: layered.local(lpn), request_pages, more: left / layered.planes };
        layered.plan.steps.clear();
        let looks = layered.layers[plane.index()].counts().searches;
        layered.layers[plane.index()].write(page, &mut layered.plan);
        let looks = layered.layers[plane.index()].counts().searches - looks;
        let host = layered.plan.steps.iter().position(|step| matches!(step, Step::Host { .. }));
        let host = host.expect("a plan of a write programs its page");
        let Step::Host { to: page } = layered.plan.steps[host] else { unreachable!() };
        let target = layered.ppn(plane, page);
        if host > 0 {
            self.chain_up(plane, 0..host, handle, looks);
        }
        self.plan_target_waits(to, plane, target);
        to.target = Some((target, host + 1));
    }

    /// What a program of the host waits for, by its page.
    fn plan_target_waits(&mut self, to: &mut Plan, plane: PlaneId, target: Ppn) {
        let block = self.settings.geometry.block_of(target).index();
        let layered = self.ftl.layered.as_mut().expect("only layers plan");
        layered.programs[block] += 1;
        let layered = self.ftl.layered.as_ref().expect("only layers plan");
        let last = layered.chains[plane.index()].chunks.back();
        if let Some(&(last, _)) = last.filter(|_| layered.merge_first) {
            to.wait(last, 0, EdgeKind::Merge);
        } else if let Some(eraser) = self.live(layered.eraser[block]) {
            to.wait(eraser, 0, EdgeKind::Room);
        }
        if layered.ordered {
            if let Some(filler) = self.live(layered.filler[block]) {
                to.wait(filler, 0, EdgeKind::Order);
            }
            if let Some((writer, stage)) = self.live_writer(layered.writer[block]) {
                to.wait(writer, stage, EdgeKind::Order);
            }
        }
    }

    /// The set of a write has been made: it learns its page, and what was planned behind it becomes
    /// work of its plane.
    pub(super) fn plan_behind(
        &mut self,
        set: u32,
        target: Ppn,
        behind: usize,
        barrier: Option<u8>,
    ) {
        let number = self.sets.graph.node(set).number;
        let state = &mut self.sets[set];
        state.source = Some(target);
        let handle = state.request;
        let plane = self.settings.geometry.plane_of(target);
        let block = self.settings.geometry.block_of(target).index();
        let layered = self.ftl.layered.as_mut().expect("only layers plan");
        if layered.ordered {
            layered.writer[block] = Past { set, number };
        }
        let end = layered.plan.steps.len();
        if behind == end {
            return;
        }
        self.chain_up(plane, behind..end, handle, 0);
        if let Some(stage) = barrier {
            let layered = self.ftl.layered.as_ref().expect("only layers plan");
            let &(last, _) = layered.chains[plane.index()].chunks.back().expect("chained up");
            self.sets.connect(Wait { source: last, stage: 0, kind: EdgeKind::Merge }, set, stage);
        }
    }

    /// Whether the write that is being planned is over only behind what was planned behind it.
    pub(super) fn ends_behind(&self, behind: usize) -> bool {
        let layered = self.ftl.layered.as_ref().expect("only layers plan");
        layered.merge_first && behind < layered.plan.steps.len()
    }

    /// Appends planned steps to the chain of a plane, which so many looks at candidates led to.
    pub(super) fn chain_up(
        &mut self,
        plane: PlaneId,
        steps: Range<usize>,
        charge: u32,
        looks: u64,
    ) {
        let mut search = self.begin_search(plane, charge, looks);
        let mut count = 0;
        for place in steps.clone() {
            let layered = self.ftl.layered.as_mut().expect("only layers plan");
            let work = layered.work(plane, layered.plan.steps[place]);
            layered.chains[plane.index()].steps.push_back(work);
            count += 1;
            if work.erases() || place + 1 == steps.end {
                self.add_chunk(plane, count, charge, search.take());
                count = 0;
            }
        }
    }

    /// A search for a victim, if it takes time: a set that is over when it is.
    fn begin_search(&mut self, plane: PlaneId, charge: u32, looks: u64) -> Option<u32> {
        let span = Span::from_ns(looks.saturating_mul(self.settings.keys.gc.search_us));
        if span == Span::ZERO {
            return None;
        }
        let set = self.own_set(charge, Set::VACANT, &[(Stage::Barrier, plane)]);
        self.sets.graph.set_span(set, 0, span);
        self.enter(set, Mode::Firmware);
        self.host.timers.set(self.now.saturating_add(span), Timer::Sought(set));
        Some(set)
    }

    /// The search of a layer is over.
    pub(super) fn sought(&mut self, set: u32) {
        self.activate(set);
        self.wake_passed();
    }

    /// The last `count` steps of a chain become a chunk, which begins behind a search.
    fn add_chunk(&mut self, plane: PlaneId, count: u32, charge: u32, search: Option<u32>) {
        let layered = self.ftl.layered.as_ref().expect("only layers plan");
        let (read, levels) = (layered.read, layered.levels);
        if charge != NIL {
            self.host.pending[charge as usize].charges += 1;
        }
        let track = Track::starting(self.now, Parts::default());
        let state = Set { charge, levels, mode: Mode::Slotless, track, ..Set::VACANT };
        let set = self.new_set(&state, &[(read, plane)]);
        let number = self.sets.graph.node(set).number;
        let ordered = self.ftl.layered.as_ref().is_some_and(|layered| layered.ordered);
        let layered = self.ftl.layered.as_mut().expect("only layers plan");
        let chain = &mut layered.chains[plane.index()];
        let before = chain.chunks.back().map(|&(set, _)| set);
        chain.chunks.push_back((set, count));
        let first = chain.steps.len() - count as usize;
        let last = *chain.steps.back().expect("a chunk has steps");
        if last.erases() {
            layered.eraser[last.block().index()] = Past { set, number };
        }
        let copies = count - u32::from(last.erases());
        if ordered {
            for place in first..first + copies as usize {
                let to = layered.chains[plane.index()].steps[place].to();
                let block = self.settings.geometry.block_of(to).index();
                layered.filler[block] = Past { set, number };
            }
        }
        let copy = self.flash.nominal(layered_stage(self, false))
            + self.flash.nominal(layered_stage(self, true));
        let mut span = Span::from_ns(copy.as_ns() * u64::from(copies));
        if last.erases() {
            let erase = self.ftl.layered.as_ref().expect("only layers plan").erase;
            span += self.flash.nominal(erase);
        }
        self.sets.graph.set_span(set, 0, span);
        match before {
            Some(source) => {
                self.sets.connect(Wait { source, stage: 0, kind: EdgeKind::Gc }, set, 0);
            }
            None => self.prepare(set, plane),
        }
        if let Some(source) = search {
            self.sets.connect(Wait { source, stage: 0, kind: EdgeKind::Gc }, set, 0);
        }
        self.activate(set);
    }

    /// A set, if it is the one that was meant and not over.
    fn live(&self, past: Past) -> Option<u32> {
        if past.set == NIL {
            return None;
        }
        let node = self.sets.graph.node(past.set);
        (node.number == past.number && node.stage < node.stages).then_some(past.set)
    }

    /// A write whose program is not over, and the stage of its program.
    fn live_writer(&self, past: Past) -> Option<(u32, u8)> {
        let set = self.live(past)?;
        let stage = self.commit_stage(set);
        (self.sets.graph.node(set).stage <= stage).then_some((set, stage))
    }

    /// The stage with which a change is committed.
    pub(super) fn commit_stage(&self, set: u32) -> u8 {
        let node = self.sets.graph.node(set);
        let stages = &self.sets[set].stages[..node.stages as usize];
        let program = (0u8..).zip(stages).find(|(_, (stage, _))| *stage == Stage::Program);
        program.map_or(node.stages - 1, |(place, _)| place)
    }
}

/// What a copy reads or programs by.
fn layered_stage(device: &Device, programs: bool) -> Stage {
    let layered = device.ftl.layered.as_ref().expect("only layers plan");
    if programs { layered.program } else { layered.read }
}
