//! References to sets that may be over.

use crate::handle::SetId;
use crate::sets::Sets;

/// A set that may be over by now, when its handle belongs to another one or to none.
#[derive(Clone, Copy, Debug)]
pub(super) struct StaleRef {
    pub(super) set: Option<SetId>,
    pub(super) number: u64,
}

impl StaleRef {
    pub(super) const NONE: Self = Self { set: None, number: 0 };

    /// A set as it is now.
    pub(super) fn of(set: SetId, sets: &Sets) -> Self {
        Self { set: Some(set), number: sets.number(set) }
    }

    /// The set, if it is the one that was meant and not over.
    pub(super) fn live(self, sets: &Sets) -> Option<SetId> {
        self.set.filter(|&set| sets.number(set) == self.number && !sets.is_over(set))
    }
}
