//! No translation: the unit that the host names is the physical one, and its trims erase blocks.
//!
//! Nothing is mapped, collected or levelled. The map of the device still says which pages hold
//! something and of which write: a program enters its page there when it is over, and an erase
//! takes out all pages of its block, in the order in which the die does them.

use super::lent::{Binding, Erased};
use super::page_map::{Owner, PageMap};
use super::{Ftl, Scheme};
use crate::config::{ProgramOrder, Settings};
use crate::parts::log::none::RawOrder;
use flashyard_core::geometry::Geometry;
use flashyard_core::units::{BlockId, Lpn, Ppn};

/// What a device without translation knows of its blocks.
#[derive(Clone, Debug)]
pub(crate) struct Raw {
    geometry: Geometry,
    order: RawOrder,
    programs: ProgramOrder,
    /// The page behind the highest one of each block that has been programmed since its erase.
    pub(super) next: Vec<u32>,
}

/// Why a program breaks a rule of NAND.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NandRule {
    /// The page has been programmed since the last erase of its block.
    Programmed,
    /// Pages of a block are programmed one after the other, and this one is another's turn.
    Sequential {
        /// The page that may be programmed.
        next: u32,
    },
    /// Pages of a block are programmed in ascending order, and a later one has been.
    Ascending,
}

impl Raw {
    /// Where the settings ask for no translation.
    pub(super) fn new(settings: &Settings) -> Option<Self> {
        let keys = &settings.keys;
        keys.is_raw().then(|| Self {
            geometry: settings.geometry,
            order: keys.schemes.none.order,
            programs: keys.nand.program_order,
            next: vec![0; settings.geometry.blocks() as usize],
        })
    }

    /// The page of a program that is about to start, unless that breaks a rule.
    pub(super) fn bind(&self, ppn: Ppn, map: &PageMap) -> Binding {
        if self.broken(ppn, map).is_some() { Binding::Broken } else { Binding::Page(ppn) }
    }

    /// The rule that a program of a page breaks now, where rules are checked.
    fn broken(&self, ppn: Ppn, map: &PageMap) -> Option<NandRule> {
        if self.order == RawOrder::Ignored {
            return None;
        }
        let next = self.next[self.geometry.block_of(ppn).index()];
        let page = self.geometry.page_in_block(ppn);
        if map.is_valid(ppn) {
            return Some(NandRule::Programmed);
        }
        match self.programs {
            ProgramOrder::Sequential if page != next => Some(NandRule::Sequential { next }),
            ProgramOrder::Ascending if page < next => Some(NandRule::Ascending),
            _ => None,
        }
    }

    /// A page has been programmed.
    pub(super) fn programmed(&mut self, ppn: Ppn, map: &mut PageMap) {
        let block = self.geometry.block_of(ppn);
        let next = &mut self.next[block.index()];
        if *next == 0 {
            map.blocks.use_planned(block);
        }
        *next = (*next).max(self.geometry.page_in_block(ppn) + 1);
    }

    fn erased(&mut self, block: BlockId, map: &mut PageMap) -> Erased {
        let units = self.geometry.units_per_block();
        for unit in 0..units {
            map.trim(Lpn::new(self.geometry.unit_of(block, unit).get()));
        }
        let used = std::mem::take(&mut self.next[block.index()]) > 0;
        map.blocks.erased_planned(block, used);
        Erased { block, worn_out: false, no_room: false, of_job: false }
    }
}

impl Ftl {
    /// Whether host addresses are physical.
    #[inline]
    pub(crate) const fn is_raw(&self) -> bool {
        matches!(self.scheme, Scheme::Raw(_))
    }

    fn raw(&mut self) -> (&mut Raw, &mut PageMap) {
        match &mut self.scheme {
            Scheme::Raw(raw) => (raw, &mut self.map),
            _ => unreachable!("only a device without translation takes raw operations"),
        }
    }

    /// The physical unit that a host address is, whether or not it holds anything; none where
    /// addresses are translated.
    pub(crate) fn unit_named(&self, lpn: Lpn) -> Option<Ppn> {
        self.is_raw().then(|| Ppn::new(lpn.get()))
    }

    /// Whether a read senses a page whatever its state.
    pub(crate) fn senses_any_page(&self) -> bool {
        matches!(&self.scheme, Scheme::Raw(raw) if raw.order == RawOrder::Ignored)
    }

    /// The rule of NAND that a program of the host breaks if it starts now.
    pub(crate) fn broken_rule(&mut self, lpn: Lpn) -> Option<NandRule> {
        let (raw, map) = self.raw();
        raw.broken(Ppn::new(lpn.get()), map)
    }

    /// The host has erased a block.
    pub(crate) fn erased_by_host(&mut self, block: BlockId) -> Erased {
        let (raw, map) = self.raw();
        raw.erased(block, map)
    }

    /// The host has programmed a unit.
    pub(crate) fn commit_raw(&mut self, ppn: Ppn) {
        self.map.commit(Owner::Data(Lpn::new(ppn.get())), ppn);
    }
}
