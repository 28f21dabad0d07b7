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
use super::explain::Track;
use super::state::{Mode, Set, Stage};
use super::timers::Timer;
use super::translate::Plan;
use crate::config::{ProgramOrder, Settings};
use crate::ftl::layer::{self, MergeCounts, PageWrite, Shape, Step, TranslationLayer};
use crate::ftl::log::AnyLayer;
use crate::ftl::page_map::{Owner, PageMap};
use crate::initial::planned;
use crate::initial::progress::Building;
use crate::metrics::parts::Parts;
use flashyard_core::command::Purpose;
use flashyard_core::geometry::Geometry;
use flashyard_core::graph::{EdgeKind, NIL, Wait};
use flashyard_core::request::RequestOp;
use flashyard_core::units::{BlockId, Lpn, PlaneId, Ppn, Span};
use std::collections::VecDeque;
use std::ops::Range;

/// A step of a chain, in the numbers of the device.
#[derive(Clone, Copy, Debug)]
pub(super) struct Work {
    /// The logical page of a copy, [`NIL`] for an erase.
    lpn: u32,
    from: u32,
    /// Where a copy goes; the block of an erase.
    to: u32,
}

impl Work {
    pub(super) const fn erases(&self) -> bool {
        self.lpn == NIL
    }

    pub(super) const fn lpn(&self) -> Lpn {
        Lpn::new(self.lpn)
    }

    pub(super) const fn from(&self) -> Ppn {
        Ppn::new(self.from)
    }

    pub(super) const fn to(&self) -> Ppn {
        Ppn::new(self.to)
    }

    pub(super) const fn block(&self) -> BlockId {
        BlockId::new(self.to)
    }
}

/// A set that may be over by now, when its handle belongs to another one or to none.
#[derive(Clone, Copy, Debug)]
struct Past {
    set: u32,
    number: u64,
}

/// Bytes of a handle to a set that may be over.
pub(super) const PAST_BYTES: u64 = size_of::<Past>() as u64;

impl Past {
    const NONE: Self = Self { set: NIL, number: 0 };
}

/// The work of a plane that has been planned and is not over.
#[derive(Debug, Default)]
pub(super) struct Chain {
    pub(super) steps: VecDeque<Work>,
    /// Its chunks: the set, and how many of the steps are left.
    pub(super) chunks: VecDeque<(u32, u32)>,
}

/// What a device has whose layers plan.
#[derive(Debug)]
pub(super) struct Layered {
    pub(super) layers: Vec<AnyLayer>,
    pub(super) chains: Vec<Chain>,
    /// What a chunk does: read, program, erase; whether it levels wear.
    pub(super) read: Stage,
    pub(super) program: Stage,
    pub(super) erase: Stage,
    levels: bool,
    merge_first: bool,
    /// Whether programs of a block keep the order of their planning.
    pub(super) ordered: bool,
    pub(super) plan: layer::Plan,
    /// The chunk that erases a block.
    eraser: Vec<Past>,
    /// The chunk and the write that were the last to get a page of a block, where order counts.
    filler: Vec<Past>,
    writer: Vec<Past>,
    /// Programs of the host under way, by block.
    pub(super) programs: Vec<u32>,
    /// Programmed pages of each block, and a bit a page.
    pub(super) used: Vec<u32>,
    pub(super) written: Vec<u64>,
    /// The stripe of each plane, and how many planes there are.
    stripes: Vec<u32>,
    planes: u32,
    pages_per_block: u32,
    pages_per_plane: u32,
    blocks_per_plane: u32,
    /// What layers did in phases that do not count.
    pub(super) unmeasured: MergeCounts,
}

/// The shape of a plane.
pub(crate) fn shape(geometry: &Geometry, order: ProgramOrder, exported: u32, stripe: u32) -> Shape {
    Shape {
        pages_per_block: geometry.pages_per_block,
        pages: exported.saturating_sub(stripe).div_ceil(geometry.all_planes()),
        blocks: geometry.blocks_per_plane,
        page_bytes: geometry.page_bytes,
        order,
    }
}

impl Layered {
    /// A layer for each plane; none where the scheme is a page map.
    pub(super) fn new(
        settings: &Settings,
        make: &mut dyn FnMut(&Shape) -> Option<AnyLayer>,
    ) -> Option<Box<Self>> {
        let geometry = &settings.geometry;
        let planes = geometry.all_planes();
        let mut stripes = vec![0; planes as usize];
        for stripe in 0..planes {
            stripes[geometry.plane_of_stripe(stripe).index()] = stripe;
        }
        let order = settings.keys.nand.program_order;
        let exported = settings.exported_units;
        let layers: Option<Vec<_>> =
            stripes.iter().map(|&stripe| make(&shape(geometry, order, exported, stripe))).collect();
        let layers = layers?;
        let purpose = layers[0].purpose();
        let (read, program, erase) = match purpose {
            Purpose::Merge => (Stage::MergeRead, Stage::MergeProgram, Stage::MergeErase),
            Purpose::Gc | Purpose::Wear => (Stage::CopyRead, Stage::CopyProgram, Stage::Erase),
            _ => panic!("a layer copies for {}", purpose.name()),
        };
        let blocks = geometry.blocks() as usize;
        let units = usize::try_from(geometry.units()).expect("checked to fit 32 bits");
        let ordered = order != ProgramOrder::Any;
        let of_blocks = if ordered { blocks } else { 0 };
        Some(Box::new(Self {
            layers,
            chains: (0..planes).map(|_| Chain::default()).collect(),
            read,
            program,
            erase,
            levels: purpose == Purpose::Wear,
            merge_first: settings.keys.ftl.merge_first,
            ordered,
            plan: layer::Plan::default(),
            eraser: vec![Past::NONE; blocks],
            filler: vec![Past::NONE; of_blocks],
            writer: vec![Past::NONE; of_blocks],
            programs: vec![0; blocks],
            used: vec![0; blocks],
            written: vec![0; units.div_ceil(64)],
            stripes,
            planes,
            pages_per_block: geometry.pages_per_block,
            pages_per_plane: geometry.blocks_per_plane * geometry.pages_per_block,
            blocks_per_plane: geometry.blocks_per_plane,
            unmeasured: MergeCounts::default(),
        }))
    }

    /// What all layers did since the start.
    pub(super) fn counts(&self) -> MergeCounts {
        self.layers.iter().fold(MergeCounts::default(), |sum, layer| sum.plus(&layer.counts()))
    }

    /// The number of a logical page on its plane.
    pub(super) const fn local(&self, lpn: Lpn) -> u32 {
        lpn.get() / self.planes
    }

    /// The logical page of a plane.
    pub(super) fn lpn(&self, plane: PlaneId, local: u32) -> Lpn {
        Lpn::new(local * self.planes + self.stripes[plane.index()])
    }

    /// The physical page of a plane.
    pub(super) fn ppn(&self, plane: PlaneId, local: u32) -> Ppn {
        Ppn::new(plane.get() * self.pages_per_plane + local)
    }

    /// The block of a plane.
    pub(super) fn block(&self, plane: PlaneId, local: u32) -> BlockId {
        BlockId::new(plane.get() * self.blocks_per_plane + local)
    }

    /// A step in the numbers of the device.
    fn work(&self, plane: PlaneId, step: Step) -> Work {
        match step {
            Step::Copy { lpn, from, to } => Work {
                lpn: self.lpn(plane, lpn).get(),
                from: self.ppn(plane, from).get(),
                to: self.ppn(plane, to).get(),
            },
            Step::Erase { block } => {
                Work { lpn: NIL, from: NIL, to: self.block(plane, block).get() }
            }
            Step::Host { .. } => panic!("a plan programs the host's page once"),
        }
    }

    /// Whether work of a plane is under way.
    pub(super) fn is_busy(&self, plane: PlaneId) -> bool {
        !self.chains[plane.index()].chunks.is_empty()
    }

    /// The step that a plane is at.
    pub(super) fn front(&self, plane: PlaneId) -> Work {
        self.chains[plane.index()].steps[0]
    }
}

/// The initial state.
impl Layered {
    /// Puts a fresh device into the initial state of its settings.
    pub(super) fn make_initial(
        &mut self,
        settings: &Settings,
        map: &mut PageMap,
        tell: &mut dyn FnMut(Building),
    ) {
        let state = std::cell::RefCell::new((&mut *self, map));
        planned::writes(
            settings,
            &mut |pages| {
                let (layered, map) = &mut *state.borrow_mut();
                layered.fill(settings, pages, map);
            },
            &mut |lpn| {
                let (layered, map) = &mut *state.borrow_mut();
                layered.write_at_once(settings, lpn, map);
            },
            tell,
        );
        self.unmeasured = self.counts();
    }

    /// The logical pages below `pages` have been written in order.
    fn fill(&mut self, settings: &Settings, pages: u32, map: &mut PageMap) {
        for (layer, &stripe) in self.layers.iter_mut().zip(&self.stripes) {
            layer.fill(pages.saturating_sub(stripe).div_ceil(self.planes));
        }
        for lpn in (0..pages).map(Lpn::new) {
            let plane = settings.geometry.plane_of_lpn(lpn);
            let place = self.layers[plane.index()].place(self.local(lpn));
            let ppn = self.ppn(plane, place.expect("a filled page has a place"));
            self.lay(lpn, ppn, map);
        }
    }

    /// A page is written, with all that is planned for it, without timing.
    fn write_at_once(&mut self, settings: &Settings, lpn: Lpn, map: &mut PageMap) {
        let plane = settings.geometry.plane_of_lpn(lpn);
        let page = PageWrite { lpn: self.local(lpn), request_pages: 1, more: 0 };
        let mut plan = std::mem::take(&mut self.plan);
        plan.steps.clear();
        self.layers[plane.index()].write(page, &mut plan);
        for &step in &plan.steps {
            match step {
                Step::Host { to } => self.lay(lpn, self.ppn(plane, to), map),
                Step::Copy { lpn, to, .. } => {
                    self.lay(self.lpn(plane, lpn), self.ppn(plane, to), map);
                }
                Step::Erase { block } => {
                    let block = self.block(plane, block);
                    let used = self.forget_pages(block, &settings.geometry);
                    map.blocks.erased_planned(block, used);
                }
            }
        }
        self.plan = plan;
    }

    fn lay(&mut self, lpn: Lpn, ppn: Ppn, map: &mut PageMap) {
        self.note_page(ppn, map);
        map.commit(Owner::Data(lpn), ppn);
        map.lay_sectors(lpn);
    }

    /// A page has been programmed.
    pub(super) fn note_page(&mut self, ppn: Ppn, map: &mut PageMap) {
        let block = ppn.get() / self.pages_per_block;
        self.written[ppn.index() / 64] |= 1 << (ppn.index() % 64);
        let used = &mut self.used[block as usize];
        if *used == 0 {
            map.blocks.use_planned(BlockId::new(block));
        }
        *used += 1;
    }

    /// A block has been erased; returns whether any page of it had been programmed.
    pub(super) fn forget_pages(&mut self, block: BlockId, geometry: &Geometry) -> bool {
        let first = geometry.unit_of(block, 0).index();
        for page in first..first + geometry.pages_per_block as usize {
            self.written[page / 64] &= !(1 << (page % 64));
        }
        std::mem::take(&mut self.used[block.index()]) > 0
    }

    /// A page is forgotten.
    pub(super) fn trim(&mut self, plane: PlaneId, lpn: Lpn) {
        let local = self.local(lpn);
        self.layers[plane.index()].trim(local);
    }
}

impl Device {
    /// What all layers did since the start.
    pub(super) fn layer_counts(&self) -> MergeCounts {
        self.layered.as_ref().map_or_else(MergeCounts::default, |layered| layered.counts())
    }

    /// Plans a write of a page: what must be done before it becomes work of its plane, and the
    /// program that is pushed next gets its page and what it waits for.
    pub(super) fn plan_layered(&mut self, to: &mut Plan, handle: u32, lpn: Lpn, plane: PlaneId) {
        let pending = &self.pending[handle as usize];
        let writes = pending.request.op == RequestOp::Write;
        let left = if writes { pending.pages - 1 - pending.translated } else { 0 };
        let request_pages = if writes { pending.pages } else { 1 };
        let layered = self.layered.as_mut().expect("only layers plan");
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
        let layered = self.layered.as_mut().expect("only layers plan");
        layered.programs[block] += 1;
        let layered = self.layered.as_ref().expect("only layers plan");
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
        let number = self.graph.node(set).number;
        let state = &mut self.sets[set as usize];
        state.source = Some(target);
        let handle = state.request;
        let plane = self.settings.geometry.plane_of(target);
        let block = self.settings.geometry.block_of(target).index();
        let layered = self.layered.as_mut().expect("only layers plan");
        if layered.ordered {
            layered.writer[block] = Past { set, number };
        }
        let end = layered.plan.steps.len();
        if behind == end {
            return;
        }
        self.chain_up(plane, behind..end, handle, 0);
        if let Some(stage) = barrier {
            let layered = self.layered.as_ref().expect("only layers plan");
            let &(last, _) = layered.chains[plane.index()].chunks.back().expect("chained up");
            self.connect(Wait { source: last, stage: 0, kind: EdgeKind::Merge }, set, stage);
        }
    }

    /// Whether the write that is being planned is over only behind what was planned behind it.
    pub(super) fn ends_behind(&self, behind: usize) -> bool {
        let layered = self.layered.as_ref().expect("only layers plan");
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
            let layered = self.layered.as_mut().expect("only layers plan");
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
        self.graph.set_span(set, 0, span);
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
        let layered = self.layered.as_ref().expect("only layers plan");
        let (read, levels) = (layered.read, layered.levels);
        if charge != NIL {
            self.pending[charge as usize].charges += 1;
        }
        let track = Track::starting(self.now, Parts::default());
        let state = Set { charge, levels, mode: Mode::Slotless, track, ..Set::VACANT };
        let set = self.new_set(state, &[(read, plane)]);
        let number = self.graph.node(set).number;
        let ordered = self.layered.as_ref().is_some_and(|layered| layered.ordered);
        let layered = self.layered.as_mut().expect("only layers plan");
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
        let copy =
            self.span_of(layered_stage(self, false)) + self.span_of(layered_stage(self, true));
        let mut span = Span::from_ns(copy.as_ns() * u64::from(copies));
        if last.erases() {
            let erase = self.layered.as_ref().expect("only layers plan").erase;
            span += self.span_of(erase);
        }
        self.graph.set_span(set, 0, span);
        match before {
            Some(source) => {
                self.connect(Wait { source, stage: 0, kind: EdgeKind::Gc }, set, 0);
            }
            None => self.prepare(set, plane),
        }
        if let Some(source) = search {
            self.connect(Wait { source, stage: 0, kind: EdgeKind::Gc }, set, 0);
        }
        self.activate(set);
    }

    /// A set, if it is the one that was meant and not over.
    fn live(&self, past: Past) -> Option<u32> {
        if past.set == NIL {
            return None;
        }
        let node = self.graph.node(past.set);
        (node.number == past.number && node.stage < node.stages).then_some(past.set)
    }

    /// A write whose program is not over, and the stage of its program.
    fn live_writer(&self, past: Past) -> Option<(u32, u8)> {
        let set = self.live(past)?;
        let stage = self.commit_stage(set);
        (self.graph.node(set).stage <= stage).then_some((set, stage))
    }

    /// The stage with which a change is committed.
    pub(super) fn commit_stage(&self, set: u32) -> u8 {
        let node = self.graph.node(set);
        let stages = &self.sets[set as usize].stages[..node.stages as usize];
        let program = (0u8..).zip(stages).find(|(_, (stage, _))| *stage == Stage::Program);
        program.map_or(node.stages - 1, |(place, _)| place)
    }
}

/// What a copy reads or programs by.
fn layered_stage(device: &Device, programs: bool) -> Stage {
    let layered = device.layered.as_ref().expect("only layers plan");
    if programs { layered.program } else { layered.read }
}
