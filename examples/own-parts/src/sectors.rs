//! Sectors: a map of whole flash pages with a log of parts of pages in front, after the sector log
//! of Jin et al. (SAC 2011). A run of writes that covers a flash page goes to the next page of a
//! ring of data blocks. What is smaller is packed into the pages of a ring of log blocks. So the
//! parts of a flash page may lie in as many places as it has parts. Where the log would run out of
//! erased blocks, each flash page with a part in its oldest block is gathered, from wherever its
//! parts are, and programmed as a whole. In the paper the data blocks are another layer's.
//!
//! A page of the layer is a mapping unit, a part of a flash page; a program holds a flash page.

use flashyard::core::command::Purpose;
use flashyard::core::key::Kind;
use flashyard::sim::parts::layer::{MergeCounts, PageWrite, Plan, Shape, Step, TranslationLayer};
use flashyard::sim::parts::log::Scheme;

flashyard::core::keys! {
    /// Keys of `[ftl.sectors]`.
    pub struct SectorKeys {
        /// Blocks of a plane that hold parts of flash pages.
        log_blocks: u64 = 4 => {
            kind: Kind::count("blocks", 2, 1 << 24),
            source: "assumed: Jin et al. 2011 use a small part of the flash",
            flip: "3",
            with: &["ftl.scheme=sectors"],
        },
    }
}

impl Scheme for SectorKeys {
    type Layer = Sectors;

    fn check(&self, shape: &Shape) -> Result<(), String> {
        // Two are being filled: by the host and by what is copied for it.
        let needed = u64::from(shape.logical_blocks()) + 2;
        if u64::from(shape.blocks) < needed + self.log_blocks {
            return Err(format!(
                "ftl.sectors.log_blocks: {} of {} blocks of a plane leave fewer than {needed} for \
                 data; raise ftl.over_provisioning_percent",
                self.log_blocks, shape.blocks
            ));
        }
        Ok(())
    }

    fn packs_pages(&self) -> bool {
        true
    }

    /// What the log has of a flash page leaves a hole in its copy.
    fn skips_pages(&self) -> bool {
        true
    }

    fn log_blocks(&self, _: &Shape) -> u32 {
        u32::try_from(self.log_blocks).expect("fewer than there are blocks")
    }

    fn layer(&self, shape: &Shape) -> Sectors {
        let log = self.log_blocks(shape);
        let data = shape.blocks - log;
        Sectors {
            shape: *shape,
            data: Ring { first: 0, blocks: data, next: 0, erased: data },
            log: Ring { first: data, blocks: log, next: 0, erased: log },
            places: vec![None; shape.pages as usize],
            owners: vec![None; (shape.blocks * shape.pages_per_block) as usize],
            open: None,
            gathered: 0,
        }
    }
}

/// Blocks that are filled one after the other, around and around.
#[derive(Clone, Copy, Debug)]
struct Ring {
    first: u32,
    blocks: u32,
    /// The number of the next program.
    next: u32,
    /// Erased blocks; the one at `next` is one until its first program.
    erased: u32,
}

impl Ring {
    /// Whether the next program needs a block while only the last erased one is left.
    fn is_short(&self, programs: u32) -> bool {
        self.next.is_multiple_of(programs) && self.erased <= 1
    }

    /// The first page of the next program, of a block of so many.
    fn take(&mut self, programs: u32, pages: u32) -> u32 {
        self.erased -= u32::from(self.next.is_multiple_of(programs));
        let program = self.first * programs + self.next;
        self.next = (self.next + 1) % (self.blocks * programs);
        program * pages
    }

    /// The block that was filled longest ago.
    fn oldest(&self, programs: u32) -> u32 {
        self.first + (self.next.div_ceil(programs) + self.erased) % self.blocks
    }
}

/// The sectors of a plane.
#[derive(Clone, Debug)]
pub struct Sectors {
    shape: Shape,
    data: Ring,
    log: Ring,
    /// Where each logical page is, and whose newest copy each physical page holds.
    places: Vec<Option<u32>>,
    owners: Vec<Option<u32>>,
    /// The page behind the host's last one, of the same program, and the logical page that must
    /// come next where that program is a data page.
    open: Option<(u32, Option<u32>)>,
    /// Flash pages that were gathered because the log was full.
    gathered: u64,
}

impl Sectors {
    const fn programs(&self) -> u32 {
        self.shape.pages_per_block / self.shape.program_pages
    }

    /// A physical page becomes the newest copy of a logical page.
    fn put(&mut self, lpn: u32, page: u32) {
        self.trim(lpn);
        self.places[lpn as usize] = Some(page);
        self.owners[page as usize] = Some(lpn);
    }

    /// Copies a page to its place in a data page.
    fn copy(&mut self, lpn: u32, page: u32, plan: &mut Plan) {
        let from = self.places[lpn as usize].expect("it is copied from somewhere");
        let to = page + lpn % self.shape.program_pages;
        self.put(lpn, to);
        plan.steps.push(Step::Copy { lpn, from, to });
    }

    /// The pages of a block.
    fn pages_of(&self, block: u32) -> std::ops::Range<u32> {
        block * self.shape.pages_per_block..(block + 1) * self.shape.pages_per_block
    }

    /// The first page of the next data page. Where too few blocks are erased, what is newest of the
    /// oldest one is copied to the front.
    fn next_data(&mut self, plan: &mut Plan) -> u32 {
        let (programs, pages) = (self.programs(), self.shape.program_pages);
        while self.data.is_short(programs) {
            let block = self.data.oldest(programs);
            let mut target = (u32::MAX, 0);
            for page in self.pages_of(block) {
                let Some(lpn) = self.owners[page as usize] else { continue };
                if target.0 != page / pages {
                    target = (page / pages, self.data.take(programs, pages));
                }
                self.copy(lpn, target.1, plan);
            }
            plan.steps.push(Step::Erase { block });
            self.data.erased += 1;
        }
        self.data.take(programs, pages)
    }

    /// Gathers every flash page that has a part in the oldest log block, and erases that.
    fn clean_log(&mut self, plan: &mut Plan) {
        let (block, pages) = (self.log.oldest(self.programs()), self.shape.program_pages);
        for page in self.pages_of(block) {
            let Some(lpn) = self.owners[page as usize] else { continue };
            let target = self.next_data(plan);
            let first = lpn / pages * pages;
            for part in first..(first + pages).min(self.shape.pages) {
                if self.places[part as usize].is_some() {
                    self.copy(part, target, plan);
                }
            }
            self.gathered += 1;
        }
        plan.steps.push(Step::Erase { block });
        self.log.erased += 1;
    }

    /// The first page of the next program of the log.
    fn next_log(&mut self, plan: &mut Plan) -> u32 {
        while self.log.is_short(self.programs()) {
            self.clean_log(plan);
        }
        self.log.take(self.programs(), self.shape.program_pages)
    }
}

impl TranslationLayer for Sectors {
    fn write(&mut self, page: PageWrite, plan: &mut Plan) {
        let pages = self.shape.program_pages;
        let whole = page.lpn.is_multiple_of(pages) && page.more + 1 >= pages;
        let open = self
            .open
            .take()
            .filter(|(_, next)| page.joins && next.map_or(!whole, |next| next == page.lpn));
        let (to, is_data) = match open {
            Some((to, next)) => (to, next.is_some()),
            None if whole => (self.next_data(plan), true),
            None => (self.next_log(plan), false),
        };
        self.put(page.lpn, to);
        plan.steps.push(Step::Host { to });
        let has_room = !(to + 1).is_multiple_of(pages);
        self.open = has_room.then(|| (to + 1, is_data.then_some(page.lpn + 1)));
    }

    fn trim(&mut self, lpn: u32) {
        if let Some(page) = self.places[lpn as usize].take() {
            self.owners[page as usize] = None;
        }
    }

    /// Gathers what is in the oldest log block, unless that is being filled.
    fn idle(&mut self, plan: &mut Plan) -> bool {
        let has_full = self.log.blocks - self.log.erased > 1;
        if has_full {
            self.clean_log(plan);
        }
        has_full
    }

    fn clean_log_blocks(&self) -> Option<u32> {
        Some(self.log.erased)
    }

    fn place(&self, lpn: u32) -> Option<u32> {
        self.places[lpn as usize]
    }

    /// A flash page that is gathered is a full merge.
    fn counts(&self) -> MergeCounts {
        MergeCounts { full: self.gathered, ..MergeCounts::default() }
    }

    fn fill(&mut self, pages: u32) {
        let of_program = self.shape.program_pages;
        let mut target = 0;
        for lpn in 0..pages {
            if lpn.is_multiple_of(of_program) {
                target = self.data.take(self.programs(), of_program);
            }
            self.put(lpn, target + lpn % of_program);
        }
    }

    fn purpose(&self) -> Purpose {
        Purpose::Merge
    }
}
