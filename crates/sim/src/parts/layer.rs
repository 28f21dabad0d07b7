//! Translation layers that plan: they decide where a page goes, and what has to be merged first,
//! as soon as a write is translated. The device does the work as commands.
//!
//! One layer serves one plane. It numbers the logical pages that striping gives to the plane from
//! 0, without holes, and the physical pages of the plane block by block. With
//! `ftl.log_span = "superblock"` one layer serves all planes: its blocks are superblocks, one block
//! of each plane, whose pages go round the planes as striping does. What it has planned is
//! true for it at once; on flash it becomes true when the commands are over. The device reads what
//! is committed, lets a copy wait for the program that it copies, and an erase for everything that
//! the block still holds.

use flashyard_core::choice;
use flashyard_core::command::Purpose;
use flashyard_core::geometry::Geometry;
use std::fmt;

/// One piece of work, on pages and blocks of the layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Read the newest copy of a logical page and program it elsewhere.
    Copy {
        /// The logical page.
        lpn: u32,
        /// The physical page it is read from.
        from: u32,
        /// The erased physical page it is programmed to.
        to: u32,
    },
    /// Program the page that the host writes; once in the plan of each write.
    Host {
        /// The erased physical page.
        to: u32,
    },
    /// Erase a block of which no page is the newest copy of anything.
    Erase {
        /// The block.
        block: u32,
    },
}

/// Work in the order in which it must seem to be done. The device clears it.
#[derive(Clone, Debug, Default)]
pub struct Plan {
    /// The steps.
    pub steps: Vec<Step>,
}

/// What the steps of plans do not show.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MergeCounts {
    /// Log blocks that became data blocks without a copy.
    pub switch: u64,
    /// Log blocks that were completed by copies and became data blocks.
    pub partial: u64,
    /// Data blocks that were gathered into a free block.
    pub full: u64,
    /// Log blocks that were erased without a valid page.
    pub dead: u64,
    /// Victim candidates looked at.
    pub searches: u64,
}

crate::saved::saved!(MergeCounts { switch, partial, full, dead, searches });

impl MergeCounts {
    /// Whether there was a merge.
    pub const fn any(&self) -> bool {
        self.switch + self.partial + self.full + self.dead > 0
    }

    /// The sum with others.
    #[must_use]
    pub const fn plus(&self, other: &Self) -> Self {
        Self {
            switch: self.switch + other.switch,
            partial: self.partial + other.partial,
            full: self.full + other.full,
            dead: self.dead + other.dead,
            searches: self.searches + other.searches,
        }
    }

    /// What was added since `earlier`.
    #[must_use]
    pub const fn since(&self, earlier: &Self) -> Self {
        Self {
            switch: self.switch - earlier.switch,
            partial: self.partial - earlier.partial,
            full: self.full - earlier.full,
            dead: self.dead - earlier.dead,
            searches: self.searches - earlier.searches,
        }
    }
}

/// A page that the host writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PageWrite {
    /// The logical page.
    pub lpn: u32,
    /// How many pages its request touches, on all planes.
    pub request_pages: u32,
    /// How many of the following pages the request writes through this layer as well.
    pub more: u32,
    /// Whether it can be programmed at once with the page of the write before it, so that it may
    /// get another page of the same program. Only where programs hold several pages.
    pub joins: bool,
}

choice! {
    /// The order in which the pages of a block may be programmed.
    pub enum ProgramOrder {
        /// One page after the other, and none is left out.
        Sequential = "sequential",
        /// Ascending order; pages may be left out.
        Ascending = "ascending",
        /// Any order, as on small blocks of SLC.
        Any = "any",
    }
}

choice! {
    /// Over how many planes a translation layer works.
    pub enum LogSpan {
        /// One: each plane has a layer, and its log blocks and data blocks are blocks.
        Plane = "plane",
        /// All: the device has one layer. Its log blocks and data blocks are superblocks, one block
        /// of each plane, which are written and erased together.
        Superblock = "superblock",
    }
}

impl LogSpan {
    /// How many layers a device has.
    pub(crate) const fn layers(self, geometry: &Geometry) -> u32 {
        match self {
            Self::Plane => geometry.all_planes(),
            Self::Superblock => 1,
        }
    }
}

/// The part of a device that a layer manages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Pages of a block, or of a superblock where the layer works over all planes.
    pub pages_per_block: u32,
    /// Logical pages.
    pub pages: u32,
    /// Physical blocks or superblocks; more than `pages` fill.
    pub blocks: u32,
    /// Bytes of a page.
    pub page_bytes: u32,
    /// Pages that one program holds, from a multiple of that number on: more than 1 where a flash
    /// page holds several mapping units, or where the pages of a word line are programmed in one
    /// shot.
    pub program_pages: u32,
    /// The order in which the pages of a block may be programmed.
    pub order: ProgramOrder,
}

impl Shape {
    /// That of a layer of a device whose host sees `exported` pages: of the plane with this place
    /// in a round of striping, or of all planes.
    pub(crate) fn of_layer(
        geometry: &Geometry,
        order: ProgramOrder,
        exported: u32,
        (span, stripe): (LogSpan, u32),
    ) -> Self {
        let layers = span.layers(geometry);
        Self {
            pages_per_block: geometry.units_per_block() * (geometry.all_planes() / layers),
            pages: share_of_layer(geometry, exported, layers, stripe),
            blocks: geometry.blocks_per_plane,
            page_bytes: geometry.unit_bytes(),
            program_pages: geometry.program_units(),
            order,
        }
    }

    /// The same with fewer blocks.
    #[must_use]
    pub(crate) const fn without(self, blocks: u32) -> Self {
        Self { blocks: self.blocks.saturating_sub(blocks), ..self }
    }

    /// Blocks that the logical pages fill, the last one perhaps in part.
    pub const fn logical_blocks(&self) -> u32 {
        self.pages.div_ceil(self.pages_per_block)
    }
}

/// How many of the logical pages below `pages` one of several layers has, by its place in a round
/// of striping.
pub(crate) fn share_of_layer(geometry: &Geometry, pages: u32, layers: u32, stripe: u32) -> u32 {
    let of_stripe = if layers == 1 { 1 } else { geometry.stripe_units() };
    let (rounds, rest) = (pages / (layers * of_stripe), pages % (layers * of_stripe));
    rounds * of_stripe + rest.saturating_sub(stripe * of_stripe).min(of_stripe)
}

/// What recovery from a loss of power has found on a physical page that is not erased.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FoundPage {
    /// The logical page and the number of the change that made its contents, plus one, 0 for what
    /// was there before the run; none where the page cannot be read.
    pub holds: Option<(u32, u64)>,
    /// Whether these are the newest contents of the logical page that were found, and the place
    /// where it is read from now on. So there is one such page of each logical page at most.
    pub newest: bool,
}

/// A translation layer that plans. Its tables are in memory.
///
/// Every answer MUST depend on the earlier calls alone, and after the start calls SHOULD allocate
/// nothing. A page of a block may be programmed once between two erases, in the order of
/// [`Shape::order`], and all pages of a program at once: of writes that join, with no other step
/// between them, or of copies that follow one another.
pub trait TranslationLayer: fmt::Debug + Send {
    /// Plans a write of one page. Pages of a request come in ascending order, with none of another
    /// request between them.
    fn write(&mut self, page: PageWrite, plan: &mut Plan);

    /// Forgets a page.
    fn trim(&mut self, lpn: u32);

    /// Plans one piece of work for idle times, such as the merge of one log block; `false` where
    /// nothing is left to do.
    fn idle(&mut self, _plan: &mut Plan) -> bool {
        false
    }

    /// How many of its log blocks are clean, at once or when all planned work is over; `None` where
    /// it has no log blocks. Work in idle times ends at `gc.background_log_blocks` of them.
    fn clean_log_blocks(&self) -> Option<u32> {
        None
    }

    /// Where the newest copy of a page is, or will be when all planned work is over.
    fn place(&self, lpn: u32) -> Option<u32>;

    /// Merges and searches so far.
    fn counts(&self) -> MergeCounts;

    /// On an unused device: the pages below `pages` have been written once, in order, without
    /// anybody counting it.
    fn fill(&mut self, pages: u32);

    /// The power has failed and is back: what the layer had in memory is gone, and its physical
    /// pages are as they were found, none for an erased one. Pages that are not the newest of a
    /// logical page MUST count as programmed until their block is erased, and what has been planned
    /// before is not done any more. Counts go on. Called only where the scheme says that it
    /// recovers.
    fn recover(&mut self, _pages: &[Option<FoundPage>]) {
        unreachable!("the scheme does not recover")
    }

    /// Its state as bytes, when nothing that it has planned is under way; `None` where it cannot be
    /// saved.
    fn save(&self) -> Option<Vec<u8>> {
        None
    }

    /// Takes the state that [`Self::save`] gave of a layer with the same keys and the same shape;
    /// `false` where the bytes cannot be that.
    fn restore(&mut self, _state: &[u8]) -> bool {
        false
    }

    /// What its copies and erases are done for: [`Purpose::Gc`], [`Purpose::Wear`] or
    /// [`Purpose::Merge`].
    fn purpose(&self) -> Purpose {
        Purpose::Gc
    }
}

/// A user's own layer, of whatever type.
pub trait OwnLayer: TranslationLayer {
    /// A copy of it.
    fn copy(&self) -> Box<dyn OwnLayer>;
}

impl<L: TranslationLayer + Clone + 'static> OwnLayer for L {
    fn copy(&self) -> Box<dyn OwnLayer> {
        Box::new(self.clone())
    }
}

impl Clone for Box<dyn OwnLayer> {
    fn clone(&self) -> Self {
        (**self).copy()
    }
}
