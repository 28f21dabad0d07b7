//! Lists of lines: links and ends.

use crate::handle::LineId;

/// Neighbours in a list.
#[derive(Clone, Copy, Debug)]
pub(super) struct Link {
    pub(super) prev: Option<LineId>,
    pub(super) next: Option<LineId>,
}

/// The link of a line in the list of all dirty lines, or of all clean ones.
pub(super) const ALL: usize = 0;
/// Its link in the list of the dirty lines that are programmed together.
pub(super) const GROUP: usize = 1;

#[derive(Clone, Copy, Debug)]
pub(super) struct List {
    pub(super) first: Option<LineId>,
    pub(super) last: Option<LineId>,
    pub(super) count: u32,
}

impl Link {
    pub(super) const NONE: Self = Self { prev: None, next: None };
}

impl List {
    pub(super) const EMPTY: Self = Self { first: None, last: None, count: 0 };
}
