//! No translation: the unit that the host names is the physical one, and its trims erase blocks.
//!
//! Nothing is mapped, collected or levelled. The map of the device still says which pages hold
//! something and of which write: a program enters its page there when it is over, and an erase
//! takes out all pages of its block, in the order in which the die does them.

use super::base::Base;
use super::lent::{Binding, Deed, Erased, Eraser, Lent, NandRule};
use super::page_map::{Owner, PageMap};
use super::placement::Placement;
use super::plan::Plan;
use crate::config::{ProgramOrder, Settings};
use crate::handle::SetId;
use crate::parts::log::none::RawOrder;
use crate::saved::{Reader, RestoreError, Saved, Writer};
use crate::sets::{Sets, Stage};
use flashyard_core::geometry::Geometry;
use flashyard_core::units::{Lpn, Ppn};

/// What a device without translation knows of its blocks.
#[derive(Clone, Debug)]
pub(crate) struct Raw {
    geometry: Geometry,
    order: RawOrder,
    programs: ProgramOrder,
    /// The page behind the highest one of each block that has been programmed since its erase.
    next: Vec<u32>,
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
}

impl Placement for Raw {
    #[inline(never)]
    fn bind_program(&mut self, set: SetId, sets: &Sets, base: &mut Base) -> Binding {
        let ppn = Ppn::new(sets[set].lpn().get());
        self.broken(ppn, &base.map).map_or(Binding::Page(ppn), Binding::Broken)
    }

    #[inline(never)]
    fn programmed(&mut self, ppn: Ppn, base: &mut Base) {
        let block = self.geometry.block_of(ppn);
        let next = &mut self.next[block.index()];
        if *next == 0 {
            base.map.blocks.use_planned(block);
        }
        *next = (*next).max(self.geometry.page_in_block(ppn) + 1);
    }

    /// The last program of a page counts, whatever the order in which the host asked for them. So
    /// contents are numbered in the order in which dies change them.
    #[inline(never)]
    fn write_over(&mut self, set: SetId, sets: &mut Sets, base: &mut Base) -> (u64, bool) {
        let ppn = sets[set].ppn().expect("a program has a page");
        base.map.commit(Owner::Data(Lpn::new(ppn.get())), ppn);
        (sets.take_number(), true)
    }

    fn trim_translated(&mut self, plan: &mut Plan, lpn: Lpn, base: &mut Base) {
        base.map.uncover(lpn);
        plan.push(Stage::HostErase, base.plane_of_lpn(lpn));
    }

    fn erased(&mut self, set: SetId, lent: &mut Lent<'_>) {
        let block = self.geometry.block_of(lent.sets[set].ppn().expect("an erase has a block"));
        for unit in 0..self.geometry.units_per_block() {
            lent.base.map.trim(Lpn::new(self.geometry.unit_of(block, unit).get()));
        }
        let used = std::mem::take(&mut self.next[block.index()]) > 0;
        lent.base.map.blocks.erased_planned(block, used);
        let by = Eraser::Host(lent.sets.take_number());
        let erased = Erased { block, worn_out: false, by, row: None };
        lent.note(Deed::Erased(set, erased));
    }

    fn save_planes(&self, to: &mut Writer<'_>) {
        self.next.save(to);
    }

    fn load_planes(&mut self, from: &mut Reader<'_>, _: &mut Base) -> Result<(), RestoreError> {
        self.next.load(from)
    }
}
