//! The keys of LAST.

use flashyard_core::key::Kind;
use flashyard_core::quantity::Ppm;
use flashyard_core::{choice, keys};

choice! {
    /// How a shared log block is chosen for a merge.
    pub enum LastVictim {
        /// The first without valid pages, else the one with pages of the fewest logical blocks,
        /// cold ones first.
        All = "all",
        /// The best of a share of the full ones, from where the last search ended.
        Window = "window",
        /// A full one drawn at random.
        Drawn = "drawn",
    }
}

keys! {
    /// Keys of `[ftl.last]`.
    pub struct LastKeys {
        /// Log blocks of a plane, the sequential ones included; 0: all spare blocks but two.
        log_blocks: u64 = 0 => {
            kind: Kind::count("blocks", 0, 1 << 24),
            source: "Park et al. 2011: 5 % of the capacity, what is spare",
            flip: "4", with: &["@log", "ftl.scheme=last"],
        },
        /// Log blocks of a plane for sequential writes; 0: 8 % of the log blocks, one at least.
        sequential_blocks: u64 = 0 => {
            kind: Kind::count("blocks", 0, 1 << 24),
            source: "assumed: 32 of 400",
            flip: "3", with: &["@log", "ftl.scheme=last"],
        },
        /// A write is sequential if it touches at least as many pages as these bytes fill.
        threshold_bytes: u64 = 8_192 => {
            kind: Kind::count("bytes", 1, 1 << 32),
            source: "assumed: a few kB; Lee et al. 2008 tell writes apart by size",
            flip: "65536", with: &["@log", "ftl.scheme=last"],
        },
        /// A page is hot if its newest copy is in a log block and its last write was at most n
        /// random page writes ago. Here n is the number of pages in this share of the shared log
        /// blocks, at least one block.
        hot_percent: Ppm = Ppm::from_percent(25) => {
            kind: Kind::percent(0, 1_000_000),
            source: "assumed: a quarter",
            flip: "100", with: &["@log", "ftl.scheme=last"],
        },
        /// Shared log blocks that only hot pages use; the others then take only cold pages. 0: each
        /// takes both.
        hot_blocks: u64 = 0 => {
            kind: Kind::count("blocks", 0, 1 << 24),
            source: "assumed: one budget; Lee et al. 2008 move the border",
            flip: "1", with: &["@log", "ftl.scheme=last"],
        },
        /// How a shared log block is chosen for a merge.
        victim: LastVictim = LastVictim::All => {
            kind: Kind::Choice(LastVictim::WORDS),
            source: "assumed: the cheapest merge",
            flip: "drawn", with: &["@log", "ftl.scheme=last"],
        },
        /// The share of the full shared log blocks that `victim = "window"` looks at.
        window_percent: Ppm = Ppm::from_percent(10) => {
            kind: Kind::percent(1, 1_000_000),
            source: "assumed; Park et al. 2011 vary the share that a search looks at",
            flip: "100", with: &["@log", "ftl.scheme=last", "ftl.last.victim=window"],
        },
        /// Where the random numbers of `victim = "drawn"` start.
        seed: u64 = 1 => {
            kind: Kind::count("seed", 0, 1 << 32),
            source: "assumed",
            flip: "2", with: &["@log", "ftl.scheme=last", "ftl.last.victim=drawn"],
        },
    }
}
