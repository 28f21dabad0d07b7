//! Blocks of a device with layers that its journal fills: the last ones of each plane, by turns.
//!
//! Layers have all other blocks, and know nothing of these. A page is given to a set of the journal
//! when the set is made, and sets of a plane are done one after the other. A block is erased before
//! it is filled again.

use super::lent::Lent;
use super::stale::StaleRef;
use crate::config::Settings;
use crate::handle::SetId;
use crate::observe::OwnCause;
use crate::saved::{Reader, RestoreError, Saved, Writer};
use crate::sets::{OwnWork, Stage};
use flashyard_core::command::Purpose;
use flashyard_core::graph::EdgeKind;
use flashyard_core::units::{BlockId, PlaneId, Ppn};

/// The blocks of the journal.
#[derive(Clone, Debug)]
pub(super) struct Ring {
    /// How many each plane has.
    blocks: u32,
    pages_per_block: u32,
    /// Pages of each plane that have been given away so far.
    given: Vec<u64>,
    /// The last set of each plane.
    last: Vec<StaleRef>,
}

impl Saved for Ring {
    fn save(&self, to: &mut Writer<'_>) {
        self.given.save(to);
    }

    fn load(&mut self, from: &mut Reader<'_>) -> Result<(), RestoreError> {
        self.given.load(from)
    }
}

impl Ring {
    /// That of a device with layers, if its journal is written.
    pub(super) fn new(settings: &Settings) -> Option<Box<Self>> {
        let blocks = settings.keys.layer_journal_blocks();
        let planes = settings.geometry.all_planes() as usize;
        (blocks > 0).then(|| {
            Box::new(Self {
                blocks,
                pages_per_block: settings.geometry.pages_per_block,
                given: vec![0; planes],
                last: vec![StaleRef::NONE; planes],
            })
        })
    }

    /// The next page of a plane, by block and page of the ring, and whether its block has to be
    /// erased first.
    fn next(&mut self, plane: PlaneId) -> ((u32, u32), bool) {
        let (pages, blocks) = (u64::from(self.pages_per_block), u64::from(self.blocks));
        let given = &mut self.given[plane.index()];
        let (round, page) = (*given / pages, *given % pages);
        *given += 1;
        let small = |number| u32::try_from(number).expect("pages of a ring have 32 bits");
        ((small(round % blocks), small(page)), page == 0 && round >= blocks)
    }

    /// The power is back: what was not programmed of the blocks that were being filled stays so.
    pub(super) fn restart(&mut self) {
        for given in &mut self.given {
            *given = given.next_multiple_of(u64::from(self.pages_per_block));
        }
        self.last.fill(StaleRef::NONE);
    }
}

impl Lent<'_> {
    /// A set of the journal gets its page, where layers have all other blocks.
    pub(super) fn enter_ring(&mut self, set: SetId, plane: PlaneId) {
        let Some(ring) = &mut self.base.ring else { return };
        let ((block, page), erases) = ring.next(plane);
        let reference = StaleRef { set: Some(set), number: self.sets.number(set) };
        let before = std::mem::replace(&mut ring.last[plane.index()], reference);
        let (before, geometry) = (before.live(self.sets), self.base.geometry);
        let first = geometry.blocks_per_plane - ring.blocks;
        let block = BlockId::new(geometry.first_block(plane).get() + first + block);
        let ppn: Ppn = geometry.unit_of(block, page);
        self.sets.bind(set, ppn);
        if erases {
            let work = OwnWork::Erase { purpose: Purpose::Journal };
            let eraser = self.own_set(None, OwnCause::Map, work, &[(Stage::Erase, plane)]);
            self.sets.bind(eraser, geometry.unit_of(block, 0));
            if let Some(before) = before {
                self.wait(eraser, before, 0, EdgeKind::Order);
            }
            self.wait(set, eraser, 0, EdgeKind::Room);
            self.go_on(eraser);
        } else if let Some(before) = before {
            self.wait(set, before, 0, EdgeKind::Order);
        }
    }
}
