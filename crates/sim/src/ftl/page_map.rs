//! The map of logical to physical pages and back, for data and for map pages.
//!
//! Four bytes a unit each way. The map is committed when a program completes; what the flash copy
//! of the map holds is a matter of time only, so it is not stored.

use super::blocks::Blocks;
use crate::config::Settings;
use flashyard_core::geometry::Geometry;
use flashyard_core::units::{Lpn, MapPage, Ppn};

/// What a physical page holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Owner {
    /// The newest contents of a logical page.
    Data(Lpn),
    /// The newest contents of a map page.
    Map(MapPage),
}

/// Both directions of the map and the blocks beneath.
#[derive(Debug)]
pub struct PageMap {
    geometry: Geometry,
    /// PPN + 1 by LPN; 0 for a page that was never written or was trimmed.
    l2p: Vec<u32>,
    /// PPN + 1 by map page (the GTD).
    gtd: Vec<u32>,
    /// LPN or map page + 1 by PPN; stale where the page is invalid.
    p2l: Vec<u32>,
    /// Blocks, their pools and counts.
    pub blocks: Blocks,
}

crate::saved::saved!(PageMap { l2p, gtd, p2l, blocks } skip { geometry });

impl PageMap {
    /// The map of a fresh device.
    pub fn new(settings: &Settings) -> Self {
        let geometry = settings.geometry;
        Self {
            geometry,
            l2p: vec![0; settings.exported_units as usize],
            gtd: vec![0; settings.map_pages as usize],
            p2l: vec![0; usize::try_from(geometry.pages()).expect("checked to fit 32 bits")],
            blocks: Blocks::new(geometry),
        }
    }

    /// Where a logical page is.
    pub fn lookup(&self, lpn: Lpn) -> Option<Ppn> {
        self.l2p[lpn.index()].checked_sub(1).map(Ppn::new)
    }

    /// Where a map page is.
    pub fn lookup_map(&self, page: MapPage) -> Option<Ppn> {
        self.gtd[page.index()].checked_sub(1).map(Ppn::new)
    }

    /// What a physical page holds, if it is valid. The name of an invalid page may be one of an
    /// earlier life of its block, of another kind even, so it proves nothing by itself.
    pub fn owner(&self, ppn: Ppn) -> Option<Owner> {
        let name = self.p2l[ppn.index()].checked_sub(1)?;
        let holds_map = self.blocks.holds_map(self.geometry.block_of(ppn));
        let places = if holds_map { &self.gtd } else { &self.l2p };
        let valid = places.get(name as usize) == Some(&(ppn.get() + 1));
        let owner =
            if holds_map { Owner::Map(MapPage::new(name)) } else { Owner::Data(Lpn::new(name)) };
        valid.then_some(owner)
    }

    /// A program has completed whose page is now the newest contents of `owner`.
    pub fn commit(&mut self, owner: Owner, ppn: Ppn) {
        let (place, name) = match owner {
            Owner::Data(lpn) => (&mut self.l2p[lpn.index()], lpn.get()),
            Owner::Map(page) => (&mut self.gtd[page.index()], page.get()),
        };
        let old = std::mem::replace(place, ppn.get() + 1);
        self.p2l[ppn.index()] = name + 1;
        if let Some(old) = old.checked_sub(1) {
            self.blocks.invalidate(Ppn::new(old));
        }
        self.blocks.validate(ppn);
    }

    /// A logical page is forgotten.
    pub fn trim(&mut self, lpn: Lpn) {
        if let Some(old) = std::mem::take(&mut self.l2p[lpn.index()]).checked_sub(1) {
            self.blocks.invalidate(Ppn::new(old));
        }
    }

    /// The first valid page of a block at or after `from`, and what it holds.
    pub fn next_valid(
        &self,
        block: flashyard_core::units::BlockId,
        from: u32,
    ) -> Option<(u32, Ppn, Owner)> {
        (from..self.geometry.pages_per_block).find_map(|page| {
            let ppn = self.geometry.page_of(block, page);
            self.owner(ppn).map(|owner| (page, ppn, owner))
        })
    }

    /// Recounts the valid pages of every block from both directions of the map and panics where
    /// they differ. O(pages).
    pub fn audit(&self) {
        let mut valid = vec![0u32; self.geometry.blocks() as usize];
        let data = (0..self.l2p.len()).map(|index| Owner::Data(Lpn::from_index(index)));
        let maps = (0..self.gtd.len()).map(|index| Owner::Map(MapPage::from_index(index)));
        for owner in data.chain(maps) {
            let place = match owner {
                Owner::Data(lpn) => self.lookup(lpn),
                Owner::Map(page) => self.lookup_map(page),
            };
            if let Some(ppn) = place {
                assert_eq!(
                    self.owner(ppn),
                    Some(owner),
                    "{ppn:?} is mapped but does not point back"
                );
                valid[self.geometry.block_of(ppn).index()] += 1;
            }
        }
        for (index, &count) in valid.iter().enumerate() {
            let block = flashyard_core::units::BlockId::from_index(index);
            assert_eq!(self.blocks.valid_pages(block), count, "valid pages of {block:?}");
        }
    }
}
