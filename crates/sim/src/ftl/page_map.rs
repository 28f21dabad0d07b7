//! The map of logical to physical pages and back, for data and for map pages.
//!
//! Four bytes a unit each way and a bit. The map is committed when a program completes; what the
//! flash copy of the map holds is a matter of time only, so it is not stored.

mod by_plane;
mod lay;

pub(crate) use by_plane::ByPlane;

use crate::config::{PartialWrite, Settings};
use crate::parts::blocks::{Blocks, Care};
use crate::parts::victim::Rule;
use flashyard_core::geometry::Geometry;
use flashyard_core::units::{BlockId, Lpn, MapPage, PlaneId, Ppn};

/// Why a unit that is laid finds a free place.
pub(crate) const ROOM: &str = "the settings leave room for every unit";

/// What a physical page holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Owner {
    /// The newest contents of a logical page.
    Data(Lpn),
    /// The newest contents of a map page.
    Map(MapPage),
}

/// Both directions of the map and the blocks beneath.
#[derive(Clone, Debug)]
pub struct PageMap {
    geometry: Geometry,
    /// PPN + 1 by LPN; 0 for a page that was never written or was trimmed.
    l2p: Vec<u32>,
    /// A bit for each 64th of the logical units: whether any of them may have been mapped. The
    /// entries of others need no look, which would fetch a page of memory for most reads of a fresh
    /// device.
    touched: u64,
    /// Bits of a unit's number within its 64th.
    group_bits: u32,
    /// PPN + 1 by map page (the GTD).
    gtd: Vec<u32>,
    /// LPN or map page by PPN; stale where the unit is invalid.
    p2l: Vec<u32>,
    /// A bit a PPN: whether it holds the newest contents of its owner.
    valid: Vec<u64>,
    /// A bit a sector: whether it was written since its unit was last forgotten. Empty where nobody
    /// asks.
    sectors: Vec<u64>,
    unit_sectors: u64,
    /// Blocks, their pools and counts.
    pub blocks: Blocks,
}

crate::saved::saved!(PageMap {
    l2p, gtd, p2l, valid, sectors, blocks,
} skip { geometry, unit_sectors, touched, group_bits });

impl Care {
    /// What the settings say.
    pub fn new(settings: &Settings) -> Self {
        let keys = &settings.keys;
        let small = |value: u64| u32::try_from(value).expect("the key's range fits 32 bits");
        Self {
            rule: Rule::of(keys),
            dynamic: keys.wear.dynamic,
            static_gap: small(keys.wear.static_gap),
            factory_bad: settings.factory_bad_blocks,
            endurance: small(keys.nand.endurance_cycles),
            united: settings.unites_blocks(),
            slc: settings.slc,
        }
    }
}

impl PageMap {
    /// The map of a fresh device.
    pub fn new(settings: &Settings) -> Self {
        let geometry = settings.geometry;
        let units = usize::try_from(geometry.units()).expect("checked to fit 32 bits");
        let bitmap = settings.keys.ftl.partial_write == PartialWrite::Bitmap;
        let sectors = usize::try_from(settings.capacity_sectors()).expect("an address space");
        Self {
            geometry,
            l2p: vec![0; settings.exported_units as usize],
            touched: 0,
            group_bits: settings.exported_units.div_ceil(64).next_power_of_two().ilog2(),
            gtd: vec![0; settings.map_pages as usize],
            p2l: vec![0; units],
            valid: vec![0; units.div_ceil(64)],
            sectors: vec![0; if bitmap { sectors.div_ceil(64) } else { 0 }],
            unit_sectors: u64::from(geometry.unit_sectors()),
            blocks: Blocks::new(geometry, settings.frontiers, Care::new(settings)),
        }
    }

    /// How many logical pages there are.
    pub const fn units(&self) -> u64 {
        self.l2p.len() as u64
    }

    /// Where a logical page is.
    #[expect(clippy::inline_always, reason = "twice a read; a call costs as much")]
    #[inline(always)]
    pub fn lookup(&self, lpn: Lpn) -> Option<Ppn> {
        let entry = if self.is_untouched(lpn.index()) { 0 } else { self.l2p[lpn.index()] };
        entry.checked_sub(1).map(Ppn::new)
    }

    /// Whether no logical unit near this one was ever mapped.
    #[inline]
    fn is_untouched(&self, lpn: usize) -> bool {
        self.touched & (1 << (lpn >> self.group_bits)) == 0
    }

    /// A logical unit is mapped.
    #[inline]
    fn touch(&mut self, lpn: usize) {
        self.touched |= 1 << (lpn >> self.group_bits);
    }

    /// Any logical unit may be mapped from now on.
    pub(super) fn touch_all(&mut self) {
        self.touched = u64::MAX;
    }

    /// Whether none of these logical units is on flash.
    pub fn are_unmapped(&self, units: std::ops::Range<usize>) -> bool {
        let mut groups =
            units.start >> self.group_bits..=units.end.saturating_sub(1) >> self.group_bits;
        if groups.all(|group| self.touched & (1 << group) == 0) {
            return true;
        }
        let Some((first, rest)) = self.l2p[units.clone()].split_first() else { return true };
        *first == 0 && *rest == self.l2p[units.start..units.end - 1]
    }

    /// Asks the processor to bring the entry of a logical unit into its cache; numbers beyond the
    /// device are ignored.
    #[inline]
    pub fn prefetch(&self, lpn: u64) {
        let index = usize::try_from(lpn).unwrap_or(usize::MAX);
        if let Some(entry) = self.l2p.get(index) {
            prefetch(entry);
        }
    }

    /// Where a map page is.
    pub fn lookup_map(&self, page: MapPage) -> Option<Ppn> {
        self.gtd[page.index()].checked_sub(1).map(Ppn::new)
    }

    /// What a physical unit holds, if it is valid.
    pub fn owner(&self, ppn: Ppn) -> Option<Owner> {
        self.is_valid(ppn).then(|| {
            let name = self.p2l[ppn.index()];
            if self.blocks.holds_map(self.geometry.block_of(ppn)) {
                Owner::Map(MapPage::new(name))
            } else {
                Owner::Data(Lpn::new(name))
            }
        })
    }

    /// The logical unit whose newest contents a physical unit of a block with data holds, if it
    /// holds any.
    #[inline]
    pub(crate) fn data_of(&self, ppn: Ppn) -> Option<Lpn> {
        self.is_valid(ppn).then(|| Lpn::new(self.p2l[ppn.index()]))
    }

    /// Whether a physical unit holds the newest contents of its owner.
    pub fn is_valid(&self, ppn: Ppn) -> bool {
        self.valid[ppn.index() / 64] & (1 << (ppn.index() % 64)) != 0
    }

    /// A bit a physical unit: whether it holds the newest contents of its owner.
    pub fn valid_pages(&self) -> &[u64] {
        &self.valid
    }

    /// A program has completed whose unit is now the newest contents of `owner`.
    pub fn commit(&mut self, owner: Owner, ppn: Ppn) {
        let (place, name) = match owner {
            Owner::Data(lpn) => {
                self.touch(lpn.index());
                (&mut self.l2p[lpn.index()], lpn.get())
            }
            Owner::Map(page) => (&mut self.gtd[page.index()], page.get()),
        };
        let old = std::mem::replace(place, ppn.get() + 1);
        self.p2l[ppn.index()] = name;
        self.forget(old);
        self.valid[ppn.index() / 64] |= 1 << (ppn.index() % 64);
        self.blocks.validate(ppn);
    }

    /// A write covers these sectors of a unit: whether others of it have been written before.
    pub fn cover(&mut self, lpn: Lpn, covered: std::ops::Range<u64>) -> bool {
        let first = u64::from(lpn.get()) * self.unit_sectors;
        let mut others = false;
        for sector in 0..self.unit_sectors {
            let (word, bit) = bit_of(first + sector);
            if covered.contains(&sector) {
                self.sectors[word] |= bit;
            } else {
                others |= self.sectors[word] & bit != 0;
            }
        }
        others
    }

    /// Whether a sector of a unit counts as written; each does where that is not kept.
    pub fn is_covered(&self, lpn: Lpn, sector: u64) -> bool {
        let (word, bit) = bit_of(u64::from(lpn.get()) * self.unit_sectors + sector);
        self.sectors.get(word).is_none_or(|bits| bits & bit != 0)
    }

    /// No sector of a unit counts as written, from the translation of a trim on: writes that are
    /// translated behind it count at once.
    pub fn uncover(&mut self, lpn: Lpn) {
        if !self.sectors.is_empty() {
            let first = u64::from(lpn.get()) * self.unit_sectors;
            for sector in first..first + self.unit_sectors {
                let (word, bit) = bit_of(sector);
                self.sectors[word] &= !bit;
            }
        }
    }

    /// A logical unit is forgotten.
    pub fn trim(&mut self, lpn: Lpn) {
        let old = std::mem::take(&mut self.l2p[lpn.index()]);
        self.forget(old);
    }

    /// The unit `old` - 1 is no longer valid; 0 is none.
    fn forget(&mut self, old: u32) {
        if let Some(old) = old.checked_sub(1) {
            self.valid[old as usize / 64] &= !(1 << (old % 64));
            self.blocks.invalidate(Ppn::new(old));
        }
    }

    /// Valid units of a block by itself, also where it is part of a superblock. O(units / 64).
    pub fn count_valid(&self, block: BlockId) -> u32 {
        if !self.blocks.are_united() {
            return self.blocks.valid_units(block);
        }
        let first = self.geometry.unit_of(block, 0).get();
        let units = first..first + self.geometry.units_per_block();
        let is_valid = |ppn: &u32| self.is_valid(Ppn::new(*ppn));
        u32::try_from(units.filter(is_valid).count()).expect("units of a block have 32 bits")
    }

    /// The first valid unit of a block at or after its unit `from`, and what it holds.
    pub fn next_valid(&self, block: BlockId, from: u32) -> Option<(u32, Ppn, Owner)> {
        let first = self.geometry.unit_of(block, 0).index();
        let end = first + self.geometry.units_per_block() as usize;
        let mut at = first + from as usize;
        while at < end {
            let word = self.valid[at / 64] >> (at % 64);
            if word == 0 {
                at = (at / 64 + 1) * 64;
                continue;
            }
            at += word.trailing_zeros() as usize;
            if at >= end {
                return None;
            }
            let ppn = Ppn::from_index(at);
            let owner = self.owner(ppn).expect("its bit is set");
            return Some((self.geometry.unit_in_block(ppn), ppn, owner));
        }
        None
    }

    /// Recounts the valid pages of every block from both directions of the map and panics where
    /// they differ. O(pages).
    pub fn audit(&self) {
        let mut valid = vec![0u32; self.geometry.blocks() as usize];
        // What nobody has written of a large device is passed over in large steps.
        let units = self.l2p.len();
        let steps = (0..units).step_by(4_096).map(|first| first..units.min(first + 4_096));
        let written = steps.filter(|step| !self.are_unmapped(step.clone())).flatten();
        let data = written.map(|index| Owner::Data(Lpn::from_index(index)));
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
                valid[self.blocks.home(self.geometry.block_of(ppn)).index()] += 1;
            }
        }
        for (index, &count) in valid.iter().enumerate() {
            let block = BlockId::from_index(index);
            // A superblock has the number of its block on the first plane.
            if self.blocks.are_united() && index >= self.geometry.blocks_per_plane as usize {
                break;
            }
            assert_eq!(self.blocks.valid_units(block), count, "valid pages of {block:?}");
        }
        let planes = valid.chunks(self.geometry.blocks_per_plane as usize);
        for (plane, counts) in (0..).map(PlaneId::new).zip(planes) {
            if self.blocks.are_united() && plane.get() > 0 {
                continue;
            }
            let count = counts.iter().sum::<u32>();
            assert_eq!(self.blocks.valid_of_plane(plane), count, "valid units of {plane:?}");
        }
    }
}

/// Asks the processor to bring something into its cache.
#[inline]
fn prefetch<T>(what: &T) {
    #[cfg(target_arch = "x86_64")]
    safe_arch::prefetch_t0(what);
    #[cfg(not(target_arch = "x86_64"))]
    let _ = what;
}

fn bit_of(sector: u64) -> (usize, u64) {
    (usize::try_from(sector / 64).expect("an address space"), 1 << (sector % 64))
}
