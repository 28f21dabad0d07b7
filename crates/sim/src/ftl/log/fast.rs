//! FAST.

use flashyard_core::key::Kind;
use flashyard_core::{choice, keys};

choice! {
    /// What a write does that does not continue the run of its block's sequential log block.
    pub enum BrokenRun {
        /// That block is merged, and the page goes to a shared log block.
        Merge = "merge",
        /// That block stays, and the page goes to a shared log block.
        Keep = "keep",
        /// That block is merged, and the page begins another one at its own place.
        Reopen = "reopen",
    }
}

keys! {
    /// Keys of `[ftl.fast]`.
    pub struct FastKeys {
        /// Log blocks of a plane, the sequential one included; 0: all spare blocks but two.
        log_blocks: u64 = 0 => {
            kind: Kind::count("blocks", 0, 1 << 24),
            source: "Park et al. 2011: 5 % of the capacity, what is spare",
            flip: "3", with: &["@log", "ftl.scheme=fast"],
        },
        /// What a write does that does not continue the run of the sequential log block.
        broken_run: BrokenRun = BrokenRun::Merge => {
            kind: Kind::Choice(BrokenRun::WORDS),
            source: "assumed: later implementations of Lee et al. 2007; reopen is nearer to its own text",
            flip: "keep", with: &["@log", "ftl.scheme=fast"],
        },
    }
}
