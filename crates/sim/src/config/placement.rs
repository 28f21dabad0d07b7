//! The section `[placement]`: which data share blocks.

use flashyard_core::key::Kind;
use flashyard_core::{choice, keys};

choice! {
    /// Which data copies of garbage collection may share blocks with.
    pub enum Isolation {
        /// With copies of any handle.
        Initial = "initial",
        /// With copies of their own handle alone.
        Persistent = "persistent",
    }
}

keys! {
    /// Keys of `[placement]`: flexible data placement (FDP, NVM Express TP4146). Writes of one
    /// handle share blocks, those of different handles never do.
    pub struct PlacementKeys {
        /// Reclaim unit handles: open blocks of a plane for host data. A request writes to the
        /// block with the number of its placement identifier modulo this, and where it has no
        /// identifier with that of its stream.
        handles: u64 = 1 => {
            kind: Kind::count("handles", 1, 128),
            source: "assumed: no placement; NVM Express TP4146 allows 128 handles",
            flip: "2", with: &["@full"],
        },
        /// Which data copies of garbage collection may share blocks with: those of any handle, in
        /// the blocks of `ftl.generations` ("initial"), or of their own handle alone, in a block
        /// beside that of its writes ("persistent").
        isolation: Isolation = Isolation::Initial => {
            kind: Kind::Choice(Isolation::WORDS),
            source: "NVM Express TP4146: initially or persistently isolated reclaim unit handles",
            flip: "persistent", with: &["@full", "placement.handles=2", "@streams"],
        },
    }
}
