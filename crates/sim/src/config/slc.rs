//! The section `[slc]`: blocks that are used with one bit a cell, as a cache of writes.

use flashyard_core::key::Kind;
use flashyard_core::quantity::Ppm;
use flashyard_core::units::Span;
use flashyard_core::{choice, keys};

choice! {
    /// Where writes go while the SLC cache has no room.
    pub enum SlcFull {
        /// To blocks with all bits a cell, at their speed. The cache is folded in idle times.
        Direct = "direct",
        /// To the cache: they wait until one of its blocks has been folded.
        Fold = "fold",
    }
}

/// An SLC cache that only has a static part, or only a dynamic one, and whose size matters.
const STATIC: &[&str] = &["@full", "nand.bits_per_cell=2", "slc.static_percent=4"];
const DYNAMIC: &[&str] = &["@full", "nand.bits_per_cell=2", "slc.dynamic_percent=50"];

keys! {
    /// Keys of `[slc]`: an SLC cache of a page map. Host data is written to blocks that are used
    /// with one bit a cell, and folded later: copied to blocks with all bits a cell. If both
    /// `static_percent` and `dynamic_percent` are 0, there is none.
    pub struct SlcKeys {
        /// Share of the blocks of each plane that are set aside for the cache. It is rounded up to
        /// whole blocks, which are part of the spare space.
        static_percent: Ppm = Ppm::ZERO => {
            kind: Kind::percent(0, 500_000),
            source: "assumed: no SLC cache; Samsung 980 PRO of 1 TB: 6 GB, 1.7 % of its blocks",
            flip: "4", with: &["@full", "nand.bits_per_cell=2"],
        },
        /// Share of the free blocks of each plane that the cache may use too, where those that it
        /// uses count as free. As the device fills up, this part of the cache shrinks. It leaves
        /// garbage collection as many free blocks as keep it from starting.
        dynamic_percent: Ppm = Ppm::ZERO => {
            kind: Kind::percent(0, 1_000_000),
            source: "assumed: no SLC cache; drives use up to all free blocks",
            flip: "50", with: &["@full", "nand.bits_per_cell=2"],
        },
        /// Most of the blocks of each plane that `dynamic_percent` gives the cache.
        dynamic_most_percent: Ppm = Ppm::from_percent(100) => {
            kind: Kind::percent(0, 1_000_000),
            source: "assumed: no limit; Samsung 980 PRO of 1 TB: 108 GB, 31.7 % of its blocks",
            flip: "0", with: DYNAMIC,
        },
        /// Where writes go while the cache has no room.
        when_full: SlcFull = SlcFull::Direct => {
            kind: Kind::Choice(SlcFull::WORDS),
            source: "assumed; Samsung drives write to TLC then, others fold first",
            flip: "fold", with: STATIC,
        },
        /// How long no request must have been outstanding before the cache is folded. Folding stops
        /// when a request arrives, but for the blocks that it has begun.
        fold_idle_us: Span = Span::from_ms(1_000) => {
            kind: Kind::micros(0, 4_000_000_000),
            source: "assumed; reviews find caches empty after seconds to minutes",
            flip: "1",
            with: &["@full", "nand.bits_per_cell=2", "slc.static_percent=4"],
        },
        /// Time to sense a page with one bit a cell.
        read_us: Span = Span::from_us(25) => {
            kind: Kind::micros(1, 4_000_000_000),
            source: "assumed: usual of SLC NAND, such as 25 us (Micron MT29F8G08, 2 KiB and 4 KiB pages)",
            flip: "30", with: STATIC,
        },
        /// Time to program a page with one bit a cell.
        program_us: Span = Span::from_us(200) => {
            kind: Kind::micros(1, 4_000_000_000),
            source: "assumed: usual of SLC NAND, such as 200 to 250 us (Micron MT29F8G08)",
            flip: "210", with: STATIC,
        },
        /// Time to erase a block that was used with one bit a cell. 0: as `nand.erase_us`.
        erase_us: Span = Span::ZERO => {
            kind: Kind::micros(0, 4_000_000_000),
            source: "assumed: as any block",
            flip: "9000",
            with: &["@full", "nand.bits_per_cell=2", "slc.static_percent=4", "slc.fold_idle_us=1"],
        },
        /// Erases that a block of `static_percent` bears, up to a tenth more or less. 0: as
        /// `nand.endurance_cycles`.
        endurance_cycles: u64 = 0 => {
            kind: Kind::count("cycles", 0, 1 << 30),
            source: "assumed: as any block; SLC NAND bears 60,000 to 100,000 cycles",
            flip: "1",
            with: &["@full", "nand.bits_per_cell=2", "slc.static_percent=4", "slc.fold_idle_us=1"],
        },
    }
}

impl SlcKeys {
    /// Whether there is a cache.
    pub const fn is_on(&self) -> bool {
        !self.static_percent.is_zero() || !self.dynamic_percent.is_zero()
    }

    /// Blocks of each plane that are set aside.
    pub fn static_blocks(&self, blocks_per_plane: u64) -> u64 {
        self.static_percent.of_up(blocks_per_plane)
    }
}
