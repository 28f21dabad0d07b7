//! The section `[placement]`: which data share blocks.

use flashyard_core::key::{ByteList, Kind};
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

choice! {
    /// What is opened, collected and erased as one: a reclaim unit.
    pub enum ReclaimUnit {
        /// A block of a plane, or one of each plane of a die with `ftl.frontier = "die"`.
        Block = "block",
        /// One block of each plane of the device.
        Superblock = "superblock",
    }
}

/// What a key of superblocks needs to change anything.
const SUPERBLOCKS: &[&str] = &[
    "@full",
    "geometry.channels=2",
    "state.initial=fresh",
    "ftl.allocation=dynamic",
    "map.store=resident",
];

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
        /// The handle of each placement identifier: identifier i goes to the handle map[i], and one
        /// behind the end of the list to that of identifier 0, as one that a namespace does not
        /// have. Without a list identifiers go to handles in turn: i modulo `placement.handles`.
        map: ByteList = ByteList::EMPTY => {
            kind: Kind::List { unit: "handle", count: ByteList::MOST, max: 127 },
            source: "NVM Express TP4146: a namespace has a list of the handles of its identifiers, \
                     128 at most; assumed: none",
            flip: "[0,0]", with: &["@full", "placement.handles=2", "@streams"],
        },
        /// What is opened for a handle, collected and erased as one: a block of a plane ("block"),
        /// or the blocks of one number of all planes of the device ("superblock"), which are filled
        /// in turn.
        unit: ReclaimUnit = ReclaimUnit::Block => {
            kind: Kind::Choice(ReclaimUnit::WORDS),
            source: "assumed; NVM Express TP4146 leaves the reclaim unit to the drive, and emulators \
                     have superblocks over all dies (FEMU)",
            flip: "superblock", with: SUPERBLOCKS,
        },
    }
}

impl PlacementKeys {
    /// Whether copies stay with their handle. A single handle shares its blocks with nobody.
    pub(crate) fn isolates(&self) -> bool {
        self.isolation == Isolation::Persistent && self.handles > 1
    }

    /// The handle of a placement identifier, or of the number of a stream that stands for one.
    #[inline]
    pub fn handle_of(&self, place: u16) -> u8 {
        let map = self.map.numbers();
        let Some(&first) = map.first() else {
            let [low, ..] = (u64::from(place) % self.handles).to_le_bytes();
            return low;
        };
        map.get(usize::from(place)).copied().unwrap_or(first)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identifiers_go_to_handles_in_turn_or_as_the_map_says() {
        let found = |keys: PlacementKeys| {
            [0, 1, 2, 3, 255, 256, 257, u16::MAX].map(|place| keys.handle_of(place))
        };
        let plain = PlacementKeys { handles: 3, ..PlacementKeys::default() };
        assert_eq!(found(plain), [0, 1, 2, 0, 0, 1, 2, 0]);
        let map = ByteList::EMPTY.with(2).and_then(|map| map.with(0)?.with(1)).expect("room");
        assert_eq!(found(PlacementKeys { map, ..plain }), [2, 0, 1, 2, 2, 2, 2, 2]);
    }
}
