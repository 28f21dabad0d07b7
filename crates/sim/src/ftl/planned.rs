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

use crate::config::{ProgramOrder, Settings};
use crate::ftl::layer::{self, MergeCounts, PageWrite, Shape, Step, TranslationLayer};
use crate::ftl::log::AnyLayer;
use crate::ftl::page_map::{Owner, PageMap};
use crate::initial::planned;
use crate::initial::progress::Building;
use crate::sets::Stage;
use flashyard_core::command::Purpose;
use flashyard_core::geometry::Geometry;
use flashyard_core::graph::NIL;
use flashyard_core::units::{BlockId, Lpn, PlaneId, Ppn};
use std::collections::VecDeque;

/// A step of a chain, in the numbers of the device.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Work {
    /// The logical page of a copy, [`NIL`] for an erase.
    pub(crate) lpn: u32,
    pub(crate) from: u32,
    /// Where a copy goes; the block of an erase.
    pub(crate) to: u32,
}

impl Work {
    pub(crate) const fn erases(&self) -> bool {
        self.lpn == NIL
    }

    pub(crate) const fn lpn(&self) -> Lpn {
        Lpn::new(self.lpn)
    }

    pub(crate) const fn from(&self) -> Ppn {
        Ppn::new(self.from)
    }

    pub(crate) const fn to(&self) -> Ppn {
        Ppn::new(self.to)
    }

    pub(crate) const fn block(&self) -> BlockId {
        BlockId::new(self.to)
    }
}

/// A set that may be over by now, when its handle belongs to another one or to none.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Past {
    pub(crate) set: u32,
    pub(crate) number: u64,
}

/// Bytes of a handle to a set that may be over.
pub(crate) const PAST_BYTES: u64 = size_of::<Past>() as u64;

impl Past {
    const NONE: Self = Self { set: NIL, number: 0 };
}

/// The work of a plane that has been planned and is not over.
#[derive(Debug, Default)]
pub(crate) struct Chain {
    pub(crate) steps: VecDeque<Work>,
    /// Its chunks: the set, and how many of the steps are left.
    pub(crate) chunks: VecDeque<(u32, u32)>,
}

/// What a device has whose layers plan.
#[derive(Debug)]
pub(crate) struct Layered {
    pub(crate) layers: Vec<AnyLayer>,
    pub(crate) chains: Vec<Chain>,
    /// What a chunk does: read, program, erase; whether it levels wear.
    pub(crate) read: Stage,
    pub(crate) program: Stage,
    pub(crate) erase: Stage,
    pub(crate) levels: bool,
    pub(crate) merge_first: bool,
    /// Whether programs of a block keep the order of their planning.
    pub(crate) ordered: bool,
    pub(crate) plan: layer::Plan,
    /// The chunk that erases a block.
    pub(crate) eraser: Vec<Past>,
    /// The chunk and the write that were the last to get a page of a block, where order counts.
    pub(crate) filler: Vec<Past>,
    pub(crate) writer: Vec<Past>,
    /// Programs of the host under way, by block.
    pub(crate) programs: Vec<u32>,
    /// Programmed pages of each block, and a bit a page.
    pub(crate) used: Vec<u32>,
    pub(crate) written: Vec<u64>,
    /// The stripe of each plane, and how many planes there are.
    pub(crate) stripes: Vec<u32>,
    pub(crate) planes: u32,
    pub(crate) pages_per_block: u32,
    pub(crate) pages_per_plane: u32,
    pub(crate) blocks_per_plane: u32,
    /// What layers did in phases that do not count.
    pub(crate) unmeasured: MergeCounts,
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
    pub(crate) fn new(
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
    pub(crate) fn counts(&self) -> MergeCounts {
        self.layers.iter().fold(MergeCounts::default(), |sum, layer| sum.plus(&layer.counts()))
    }

    /// The number of a logical page on its plane.
    pub(crate) const fn local(&self, lpn: Lpn) -> u32 {
        lpn.get() / self.planes
    }

    /// The logical page of a plane.
    pub(crate) fn lpn(&self, plane: PlaneId, local: u32) -> Lpn {
        Lpn::new(local * self.planes + self.stripes[plane.index()])
    }

    /// The physical page of a plane.
    pub(crate) fn ppn(&self, plane: PlaneId, local: u32) -> Ppn {
        Ppn::new(plane.get() * self.pages_per_plane + local)
    }

    /// The block of a plane.
    pub(crate) fn block(&self, plane: PlaneId, local: u32) -> BlockId {
        BlockId::new(plane.get() * self.blocks_per_plane + local)
    }

    /// A step in the numbers of the device.
    pub(crate) fn work(&self, plane: PlaneId, step: Step) -> Work {
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
    pub(crate) fn is_busy(&self, plane: PlaneId) -> bool {
        !self.chains[plane.index()].chunks.is_empty()
    }

    /// The step that a plane is at.
    pub(crate) fn front(&self, plane: PlaneId) -> Work {
        self.chains[plane.index()].steps[0]
    }
}

/// The initial state.
impl Layered {
    /// Puts a fresh device into the initial state of its settings.
    pub(crate) fn make_initial(
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
    pub(crate) fn fill(&mut self, settings: &Settings, pages: u32, map: &mut PageMap) {
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
    pub(crate) fn write_at_once(&mut self, settings: &Settings, lpn: Lpn, map: &mut PageMap) {
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

    pub(crate) fn lay(&mut self, lpn: Lpn, ppn: Ppn, map: &mut PageMap) {
        self.note_page(ppn, map);
        map.commit(Owner::Data(lpn), ppn);
        map.lay_sectors(lpn);
    }

    /// A page has been programmed.
    pub(crate) fn note_page(&mut self, ppn: Ppn, map: &mut PageMap) {
        let block = ppn.get() / self.pages_per_block;
        self.written[ppn.index() / 64] |= 1 << (ppn.index() % 64);
        let used = &mut self.used[block as usize];
        if *used == 0 {
            map.blocks.use_planned(BlockId::new(block));
        }
        *used += 1;
    }

    /// A block has been erased; returns whether any page of it had been programmed.
    pub(crate) fn forget_pages(&mut self, block: BlockId, geometry: &Geometry) -> bool {
        let first = geometry.unit_of(block, 0).index();
        for page in first..first + geometry.pages_per_block as usize {
            self.written[page / 64] &= !(1 << (page % 64));
        }
        std::mem::take(&mut self.used[block.index()]) > 0
    }

    /// A page is forgotten.
    pub(crate) fn trim(&mut self, plane: PlaneId, lpn: Lpn) {
        let local = self.local(lpn);
        self.layers[plane.index()].trim(local);
    }
}
