//! BAST.

use flashyard_core::key::Kind;
use flashyard_core::{choice, keys};

choice! {
    /// Which log block is merged when all are in use.
    pub enum BastVictim {
        /// The one whose last append is longest ago.
        Lru = "lru",
        /// The one taken first.
        Fifo = "fifo",
    }
}

keys! {
    /// Keys of `[ftl.bast]`.
    pub struct BastKeys {
        /// Log blocks of a plane; 0: all spare blocks but two.
        log_blocks: u64 = 0 => {
            kind: Kind::count("blocks", 0, 1 << 24),
            source: "Park et al. 2011: 5 % of the capacity, what is spare",
            flip: "2", with: &["@log", "ftl.scheme=bast"],
        },
        /// Which log block is merged when all are in use.
        victim: BastVictim = BastVictim::Lru => {
            kind: Kind::Choice(BastVictim::WORDS),
            source: "assumed: the least recently appended one",
            flip: "fifo", with: &["@log", "ftl.scheme=bast"],
        },
    }
}
