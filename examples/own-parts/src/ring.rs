//! Ring: a mapping scheme that writes the pages of a plane one after the other, around and around.
//! Where it would run out of erased blocks it copies what is still valid of the oldest block to the
//! front and erases it. Every block is erased as often as every other.

use flashyard::core::key::Kind;
use flashyard::sim::parts::layer::{MergeCounts, PageWrite, Plan, Shape, Step, TranslationLayer};
use flashyard::sim::parts::log::Scheme;
use flashyard::sim::parts::memory::{Extent, TableCost};

flashyard::core::keys! {
    /// Keys of `[ftl.ring]`.
    pub struct RingKeys {
        /// Erased blocks of a plane that are kept in front.
        ahead: u64 = 1 => {
            kind: Kind::count("blocks", 1, 1 << 24),
            source: "assumed: the one that the oldest is copied to",
            flip: "4",
            with: &["ftl.scheme=ring"],
        },
    }
}

impl Scheme for RingKeys {
    type Layer = Ring;

    fn check(&self, shape: &Shape) -> Result<(), String> {
        let spare = u64::from(shape.blocks - shape.logical_blocks());
        if spare <= self.ahead {
            return Err(format!(
                "ftl.ring.ahead: {} of {spare} spare blocks of a plane leave none to fill; \
                 raise ftl.over_provisioning_percent",
                self.ahead
            ));
        }
        Ok(())
    }

    /// A table of pages; the owners of physical pages are in their spare bytes.
    fn tables(&self, extent: &Extent) -> Option<TableCost> {
        Some(TableCost::page_table(extent))
    }

    fn layer(&self, shape: &Shape) -> Ring {
        Ring {
            shape: *shape,
            ahead: u32::try_from(self.ahead).expect("fewer than there are blocks"),
            places: vec![None; shape.pages as usize],
            owners: vec![None; (shape.blocks * shape.pages_per_block) as usize],
            front: 0,
            erased: shape.blocks,
        }
    }
}

/// The ring of a plane.
#[derive(Clone, Debug)]
pub struct Ring {
    shape: Shape,
    ahead: u32,
    /// Where each logical page is, and whose newest copy each physical page holds.
    places: Vec<Option<u32>>,
    owners: Vec<Option<u32>>,
    /// The physical page that is programmed next; it is erased.
    front: u32,
    /// Erased blocks; the front block is one until its first page is programmed.
    erased: u32,
}

impl Ring {
    /// The next page of the ring becomes the newest copy of a logical page.
    fn place_next(&mut self, lpn: u32) -> u32 {
        let page = self.front;
        self.erased -= u32::from(page.is_multiple_of(self.shape.pages_per_block));
        self.trim(lpn);
        self.places[lpn as usize] = Some(page);
        self.owners[page as usize] = Some(lpn);
        self.front = (page + 1) % (self.shape.blocks * self.shape.pages_per_block);
        page
    }

    /// Copies the valid pages of the oldest block, the first one that is not erased, and erases it.
    fn clean(&mut self, plan: &mut Plan) {
        let pages = self.shape.pages_per_block;
        let block = (self.front / pages + self.erased) % self.shape.blocks;
        for from in block * pages..(block + 1) * pages {
            if let Some(lpn) = self.owners[from as usize] {
                let to = self.place_next(lpn);
                plan.steps.push(Step::Copy { lpn, from, to });
            }
        }
        plan.steps.push(Step::Erase { block });
        self.erased += 1;
    }
}

impl TranslationLayer for Ring {
    fn write(&mut self, page: PageWrite, plan: &mut Plan) {
        while self.front.is_multiple_of(self.shape.pages_per_block) && self.erased <= self.ahead {
            self.clean(plan);
        }
        let to = self.place_next(page.lpn);
        plan.steps.push(Step::Host { to });
    }

    fn trim(&mut self, lpn: u32) {
        if let Some(page) = self.places[lpn as usize].take() {
            self.owners[page as usize] = None;
        }
    }

    fn place(&self, lpn: u32) -> Option<u32> {
        self.places[lpn as usize]
    }

    /// Nothing is merged, and no victim is searched for.
    fn counts(&self) -> MergeCounts {
        MergeCounts::default()
    }

    fn fill(&mut self, pages: u32) {
        for lpn in 0..pages {
            self.place_next(lpn);
        }
    }
}
