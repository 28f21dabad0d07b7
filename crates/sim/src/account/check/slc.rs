//! The checker's account of blocks that are used with one bit a cell: a block is used in one way
//! from its first program to its erase, and with one bit a cell it has fewer pages.

use crate::config::Settings;
use flashyard_core::command::Op;
use flashyard_core::geometry::Geometry;
use flashyard_core::units::{BlockId, Ppn};

/// How blocks are used.
#[derive(Clone, Debug)]
pub(super) struct CellAccount {
    geometry: Geometry,
    bits: u32,
    /// Whether each block is used with one bit a cell, from its first program on. Empty where none
    /// ever is.
    slc: Vec<bool>,
}

impl CellAccount {
    pub(super) fn new(settings: &Settings) -> Self {
        let blocks = if settings.keys.slc.is_on() { settings.geometry.blocks() } else { 0 };
        let bits = settings.keys.nand.bits_per_cell;
        Self {
            geometry: settings.geometry,
            bits: u32::try_from(bits).expect("the key's range fits 32 bits"),
            slc: vec![false; blocks as usize],
        }
    }

    fn is_slc(&self, ppn: Ppn) -> bool {
        self.slc.get(self.geometry.block_of(ppn).index()).copied().unwrap_or(false)
    }

    /// Units of the block of a unit, as it is used.
    pub(super) fn block_units(&self, ppn: Ppn) -> u32 {
        let pages = self.geometry.pages_per_block;
        let pages = if self.is_slc(ppn) { pages / self.bits } else { pages };
        pages * self.geometry.units_per_page
    }

    /// Units of a program of the block of a unit.
    pub(super) fn program_units(&self, ppn: Ppn) -> u32 {
        let one_page = self.geometry.joined * self.geometry.units_per_page;
        if self.is_slc(ppn) { one_page } else { self.geometry.program_units() }
    }

    /// An operation works on this page or block, with one bit a cell (`slc`) or with all.
    pub(super) fn touched(&mut self, op: Op, ppn: Ppn, slc: bool) {
        if let Some(known) = self.slc.get_mut(self.geometry.block_of(ppn).index())
            && op == Op::Program
            && self.geometry.unit_in_block(ppn) == 0
        {
            *known = slc;
        }
        assert_eq!(slc, self.is_slc(ppn), "{ppn:?} is used with other bits a cell than before");
        let unit = self.geometry.unit_in_block(ppn);
        assert!(unit < self.block_units(ppn), "{ppn:?} is no unit of its block as it is used");
    }

    /// Takes over which blocks are used with one bit a cell.
    pub(super) fn adopt(&mut self, is_slc: impl Fn(BlockId) -> bool) {
        for (index, slc) in self.slc.iter_mut().enumerate() {
            *slc = is_slc(BlockId::from_index(index));
        }
    }
}
