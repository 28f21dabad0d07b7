//! Keys that exist to repeat one study: how its DFTL differs from the defaults. Their values are
//! read here and nowhere else.

use crate::config::{MapReserve, MovedEntries, RewriteOrder, Settings, UnmappedRead};

/// What the DFTL of the study does in another way.
#[derive(Clone, Copy, Debug)]
pub(super) struct Study {
    /// The erase of a victim waits for the rewrites of map pages that its copies led to.
    pub(super) erase_after_map: bool,
    /// Map pages written back leave the reserve alone, as host data does; rewrites take the last
    /// free blocks.
    pub(super) map_as_data: bool,
    /// With few free blocks the victim has the fewest valid units, whatever the rule.
    pub(super) emergency: bool,
    /// What becomes of the map entry of a moved unit.
    pub(super) moved: MovedEntries,
    /// Map pages are rewritten in the order in which their units were moved.
    pub(super) rewrites_by_move: bool,
    /// Map pages that were never written are read from the array all the same.
    pub(super) reads_unwritten: bool,
}

impl Study {
    pub(super) fn new(settings: &Settings) -> Self {
        let (gc, map) = (&settings.keys.gc, &settings.keys.map);
        Self {
            erase_after_map: gc.erase_after_map,
            map_as_data: gc.map_reserve == MapReserve::AsData,
            emergency: gc.emergency,
            moved: map.moved_entries,
            rewrites_by_move: map.rewrite_order == RewriteOrder::Moved,
            reads_unwritten: map.unwritten_read == UnmappedRead::Array,
        }
    }

    /// Whether garbage collection may need more free blocks than its reserve has.
    pub(super) const fn overdraws(self) -> bool {
        self.erase_after_map || self.map_as_data
    }
}
