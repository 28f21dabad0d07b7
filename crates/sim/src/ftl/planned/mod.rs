//! Layers that plan: what a device has of them, and the pages that its blocks hold.
//!
//! A layer plans when a write is translated or, behind a write buffer, when a unit that the buffer
//! holds begins to be programmed. That program gets its page there and then; all other steps are
//! work of the plane's own, done one after the other in the order of planning. That **merge queue**
//! ([`queue`]) is cut into tasks behind every erase. A task is a set with one stage, whose command
//! changes: it reads, programs, reads ... and erases, and every command waits in the queue of its
//! die like any other, so requests go between them. The map of the device is committed when
//! programs complete, as ever; what a layer believes is what will be true when all is done.
//!
//! Everything waits for what was planned earlier, so no waits form a cycle: a task for the one
//! before it; a host's program for the erase of its block; a copy for the program that it copies;
//! an erase for the changes that empty its block and for programs into it.
//!
//! A layer may work over all planes. Its steps are then spread over the merge queues of the planes
//! that they program or erase ([`spread`]), and what one queue must not do before another has done
//! its part waits for a gate.

mod layout;
mod placement;
mod planning;
mod queue;
mod recover;
mod spread;
mod tasks;
mod waits;

use crate::config::{ProgramOrder, Settings};
use crate::ftl::page_map::{Owner, PageMap};
use crate::ftl::stale::StaleRef;
use crate::handle::SetId;
use crate::parts::layer::{self, MergeCounts, PageWrite, Shape, Step, TranslationLayer};
use crate::parts::log::AnyLayer;
use crate::sets::Stage;
use flashyard_core::command::Purpose;
use flashyard_core::geometry::Geometry;
use flashyard_core::graph::EdgeKind;
use flashyard_core::units::{BlockId, Lpn, Ppn};
use layout::Layout;
use queue::MergeQueue;
use spread::Spread;

/// Bytes of a reference to a set that may be over.
pub(crate) const PAST_BYTES: u64 = size_of::<StaleRef>() as u64;

/// What a program of the host waits for: a set, the stage of that, and why.
type ProgramWait = (SetId, u8, EdgeKind);

/// The commands of merge tasks.
#[derive(Clone, Copy, Debug)]
struct TaskStages {
    /// Reads a page that is copied.
    read: Stage,
    /// Programs it elsewhere.
    program: Stage,
    /// Erases a block.
    erase: Stage,
    /// Whether that levels wear.
    levels: bool,
}

/// What a device has whose layers plan.
#[derive(Clone, Debug)]
pub(crate) struct Planned {
    geometry: Geometry,
    layout: Layout,
    layers: Vec<AnyLayer>,
    queues: Vec<MergeQueue>,
    /// Merge tasks that are not over.
    tasks: u32,
    /// Where one layer works over several planes.
    spread: Option<Box<Spread>>,
    stages: TaskStages,
    merge_first: bool,
    /// Whether programs of the host wait for the merges that were planned before them, so that a
    /// loss of power leaves one merge of a layer half done at most.
    in_order: bool,
    /// Behind a write buffer, the place of each change in the order of planning, by its set:
    /// [`u64::MAX`] before it is planned and after its program. None where changes are planned in
    /// the order of their numbers.
    orders: Option<Vec<u64>>,
    /// Whether programs of a block keep the order of their planning.
    ordered: bool,
    plan: layer::Plan,
    /// The task that erases a block.
    eraser: Vec<StaleRef>,
    /// The task and the write that were the last to get a page of a block, where order counts; the
    /// task also where one layer works over several planes.
    filler: Vec<StaleRef>,
    writer: Vec<StaleRef>,
    /// Programs of the host under way, by block.
    programs: Vec<u32>,
    /// Programmed pages of each block, and a bit a page.
    used: Vec<u32>,
    written: Vec<u64>,
    /// What layers did in phases that do not count.
    unmeasured: MergeCounts,
    /// What they had done when the phase began.
    before: MergeCounts,
    /// What they have planned that observers have not been told of.
    untold: MergeCounts,
    /// What a task that comes to a step waits for: changes and the stage that commits each; empty
    /// between uses.
    waits: Vec<(SetId, u8)>,
    /// The program that the last planned page of the host belongs to, and what that waits for.
    joined: Option<(u32, [Option<ProgramWait>; 3])>,
}

impl Planned {
    /// A layer for each plane, or one for all; none where the scheme is a page map.
    pub(crate) fn new(
        settings: &Settings,
        make: &mut dyn FnMut(&Shape) -> Option<AnyLayer>,
    ) -> Option<Box<Self>> {
        let geometry = settings.geometry;
        let layout = Layout::new(settings);
        let layers: Option<Vec<_>> = layout.shapes(settings).map(|shape| make(&shape)).collect();
        let layers = layers?;
        let blocks = geometry.blocks() as usize;
        let units = usize::try_from(geometry.units()).expect("checked to fit 32 bits");
        let ordered = settings.keys.nand.program_order != ProgramOrder::Any;
        let of_blocks = |wanted: bool| if wanted { blocks } else { 0 };
        Some(Box::new(Self {
            geometry,
            stages: TaskStages::of(layers[0].purpose()),
            layers,
            queues: (0..geometry.all_planes()).map(|_| MergeQueue::default()).collect(),
            tasks: 0,
            spread: layout.spans().then(|| Box::new(Spread::new(&geometry))),
            merge_first: settings.keys.ftl.merge_first,
            in_order: settings.keys.power.is_on(),
            orders: (settings.buffer_units > 0).then(Vec::new),
            ordered,
            plan: layer::Plan::default(),
            eraser: vec![StaleRef::NONE; blocks],
            filler: vec![StaleRef::NONE; of_blocks(ordered || layout.spans())],
            writer: vec![StaleRef::NONE; of_blocks(ordered)],
            programs: vec![0; blocks],
            used: vec![0; blocks],
            written: vec![0; units.div_ceil(64)],
            layout,
            unmeasured: MergeCounts::default(),
            before: MergeCounts::default(),
            untold: MergeCounts::default(),
            waits: Vec::with_capacity(3 * geometry.units_per_block() as usize),
            joined: None,
        }))
    }

    /// What all layers did since the start.
    pub(crate) fn counts(&self) -> MergeCounts {
        self.layers.iter().fold(MergeCounts::default(), |sum, layer| sum.plus(&layer.counts()))
    }

    /// Nothing of what layers have done so far is measured.
    pub(crate) fn leave_out_all(&mut self) {
        self.unmeasured = self.counts();
    }

    /// Whether every layer can be saved.
    pub(crate) fn can_be_saved(&self) -> bool {
        self.layers.iter().all(|layer| layer.save().is_some())
    }

    /// A bit a page: whether it has been programmed.
    pub(in crate::ftl) fn written_pages(&self) -> &[u64] {
        &self.written
    }

    /// Whether programs of a block keep the order of their planning.
    pub(crate) const fn is_ordered(&self) -> bool {
        self.ordered
    }
}

impl TaskStages {
    fn of(purpose: Purpose) -> Self {
        let (read, program, erase) = match purpose {
            Purpose::Merge => (Stage::MergeRead, Stage::MergeProgram, Stage::MergeErase),
            Purpose::Gc | Purpose::Wear => (Stage::CopyRead, Stage::CopyProgram, Stage::Erase),
            _ => panic!("a layer copies for {}", purpose.name()),
        };
        Self { read, program, erase, levels: purpose == Purpose::Wear }
    }
}

/// Writes of the initial state.
impl Planned {
    /// The logical pages below `pages` have been written in order.
    pub(crate) fn fill(&mut self, settings: &Settings, pages: u32, map: &mut PageMap) {
        for (number, layer) in self.layers.iter_mut().enumerate() {
            layer.fill(self.layout.share(number, pages));
        }
        for lpn in (0..pages).map(Lpn::new) {
            let plane = settings.geometry.plane_of_lpn(lpn);
            let place = self.layers[self.layout.layer(plane)].place(self.layout.local(lpn));
            let ppn = self.layout.ppn(plane, place.expect("a filled page has a place"));
            self.lay(lpn, ppn, map);
        }
    }

    /// A page is written, with all that is planned for it, without timing.
    pub(crate) fn write_at_once(&mut self, settings: &Settings, lpn: Lpn, map: &mut PageMap) {
        let plane = settings.geometry.plane_of_lpn(lpn);
        // As if a buffer had filled every program.
        let joins = self.geometry.program_units() > 1;
        let page = PageWrite { lpn: self.layout.local(lpn), request_pages: 1, more: 0, joins };
        let mut plan = std::mem::take(&mut self.plan);
        plan.steps.clear();
        self.layers[self.layout.layer(plane)].write(page, &mut plan);
        for &step in &plan.steps {
            match step {
                Step::Host { to } => self.lay(lpn, self.layout.ppn(plane, to), map),
                Step::Copy { lpn, to, .. } => {
                    self.lay(self.layout.lpn(plane, lpn), self.layout.ppn(plane, to), map);
                }
                Step::Erase { block } => {
                    for block in self.layout.blocks(plane, block) {
                        let used = self.forget_pages(block);
                        map.blocks.erased_planned(block, used);
                    }
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

    /// A page has been programmed, and all others of its program with it. Returns whether it is the
    /// first one of its block.
    fn note_page(&mut self, ppn: Ppn, map: &mut PageMap) -> bool {
        if self.is_written(ppn) {
            return false;
        }
        let (block, pages) = (self.geometry.block_of(ppn), self.geometry.program_units());
        let first = ppn.index() - ppn.index() % pages as usize;
        for page in first..first + pages as usize {
            self.written[page / 64] |= 1 << (page % 64);
        }
        let used = &mut self.used[block.index()];
        let is_first = *used == 0;
        if is_first {
            map.blocks.use_planned(block);
        }
        *used += pages;
        is_first
    }

    /// Whether a page has been programmed since the last erase of its block.
    fn is_written(&self, ppn: Ppn) -> bool {
        self.written[ppn.index() / 64] & (1 << (ppn.index() % 64)) != 0
    }

    /// A block has been erased; returns whether any page of it had been programmed.
    fn forget_pages(&mut self, block: BlockId) -> bool {
        let first = self.geometry.unit_of(block, 0).index();
        for page in first..first + self.geometry.units_per_block() as usize {
            self.written[page / 64] &= !(1 << (page % 64));
        }
        std::mem::take(&mut self.used[block.index()]) > 0
    }
}
