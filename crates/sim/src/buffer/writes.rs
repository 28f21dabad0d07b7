//! Writes of a unit that are not in the buffer yet.

use crate::handle::SetId;
use crate::sets::{Sets, Stage};
use flashyard_core::units::Lpn;
use std::ops::Range;

/// Whether a set is a write that is not in the buffer yet, or only just.
pub(super) fn is_unput(sets: &Sets, set: SetId) -> bool {
    let (state, left) = (&sets[set], &sets.commands(set)[usize::from(sets.commands_over(set))..]);
    state.request().is_some() && !state.trims() && left.iter().any(|stage| stage.0 == Stage::Buffer)
}

/// The latest live change of a unit below a number; of a write that is being put and the flush of
/// what it puts, the write.
pub(super) fn write_or_change(sets: &Sets, lpn: Lpn, number: u64) -> Option<SetId> {
    sets.latest_change(lpn, number, |set| is_unput(sets, set))
}

/// Whether a live change of these units is under way, or a write of them that is not in the buffer
/// yet, where only those are asked for.
pub(crate) fn is_any_under_way(sets: &Sets, units: &Range<Lpn>, only_unput: bool) -> bool {
    sets.changes_in(units).any(|set| !only_unput || is_unput(sets, set))
}

/// The latest write of a unit that is not in the buffer yet, or only just.
pub(crate) fn latest_unput(sets: &Sets, lpn: Lpn) -> Option<SetId> {
    sets.changes_of(lpn).find(|&set| is_unput(sets, set))
}

/// Whether a live change must be over, or put, before a write with a preflush begins.
pub(crate) fn barrier_waits(sets: &Sets, keeps: bool) -> bool {
    sets.changes().any(|change| barrier_stage(sets, change, keeps).is_some())
}

/// The command of a live change after which a barrier need not wait for it: the put of a write
/// where the buffer `keeps` what it holds, the last command otherwise. None where the barrier need
/// not wait at all; a flush among the changes changes nothing itself.
pub(crate) fn barrier_stage(sets: &Sets, change: SetId, keeps: bool) -> Option<u8> {
    let state = &sets[change];
    if !state.changes() {
        return None;
    }
    if state.trims() || !keeps {
        return Some(sets.last_stage(change));
    }
    is_unput(sets, change).then(|| sets.stage_index(change, Stage::Buffer))
}
