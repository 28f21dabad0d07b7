//! Blocks of a device with layers that its journal fills: the last ones of each plane, by turns.
//!
//! Layers have all other blocks, and know nothing of these. A page is given to a set of the journal
//! when the set is made, and sets of a plane are done one after the other. Where a program holds
//! several units, the set's is its first, and the others stay empty. A block is erased before it is
//! filled again.

use super::stale::StaleRef;
use crate::config::Settings;
use crate::saved::{Reader, RestoreError, Saved, Writer};
use flashyard_core::geometry::Geometry;
use flashyard_core::units::{BlockId, PlaneId, Ppn};

/// The blocks of the journal.
#[derive(Clone, Debug)]
pub(super) struct Ring {
    geometry: Geometry,
    /// How many each plane has.
    blocks: u32,
    /// Programs of each plane that have been given away so far.
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
                geometry: settings.geometry,
                blocks,
                given: vec![0; planes],
                last: vec![StaleRef::NONE; planes],
            })
        })
    }

    /// A set gets the next page of a plane. Returns it, whether its block has to be erased first,
    /// and the set that got the page before it.
    pub(super) fn give(&mut self, plane: PlaneId, set: StaleRef) -> (Ppn, bool, StaleRef) {
        let (programs, blocks) = (self.programs(), u64::from(self.blocks));
        let given = &mut self.given[plane.index()];
        let (round, program) = (*given / programs, *given % programs);
        *given += 1;
        let small = |number| u32::try_from(number).expect("pages of a ring have 32 bits");
        let end = self.geometry.first_block(plane).get() + self.geometry.blocks_per_plane;
        let block = BlockId::new(end - self.blocks + small(round % blocks));
        let before = std::mem::replace(&mut self.last[plane.index()], set);
        let erases = program == 0 && round >= blocks;
        let unit = small(program) * self.geometry.program_units();
        (self.geometry.unit_of(block, unit), erases, before)
    }

    /// Programs of a block.
    fn programs(&self) -> u64 {
        u64::from(self.geometry.units_per_block() / self.geometry.program_units())
    }

    /// The power is back: what was not programmed of the blocks that were being filled stays so.
    pub(super) fn restart(&mut self) {
        let programs = self.programs();
        for given in &mut self.given {
            *given = given.next_multiple_of(programs);
        }
        self.last.fill(StaleRef::NONE);
    }
}
