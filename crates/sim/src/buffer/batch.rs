//! What the buffer answers to those who flush it.

use crate::handle::LineId;
use flashyard_core::units::Time;

/// Flushes that begin together, while they are put together.
#[derive(Debug)]
pub(crate) struct Batch {
    pub(super) group: u32,
    /// The line that goes before all others, until it has gone, and whether there was one.
    pub(super) head: Option<LineId>,
    pub(super) with_head: bool,
    /// Whether a request has asked for them.
    pub(crate) asked: bool,
    /// How many more lines the program unit has room for.
    pub(super) left: usize,
    /// The last line that was passed over because of the map cache.
    pub(super) passed: Option<LineId>,
    pub(crate) outcome: FlushOutcome,
}

/// What has come of flushes.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct FlushOutcome {
    /// Whether any began.
    pub(crate) any: bool,
    /// Whether that of the line asked for did.
    pub(crate) head: bool,
    /// Whether the map cache held one back, and whether that was for want of a line and is new.
    pub(crate) stalled: bool,
    pub(crate) newly_stalled: bool,
}

impl Batch {
    /// Flushes of lines of a group, at most `most`, the line `head` before all others; `asked` is
    /// whether a request has asked for them.
    pub(crate) fn new(group: u32, head: Option<LineId>, asked: bool, most: usize) -> Self {
        let with_head = head.is_some();
        let outcome = FlushOutcome::default();
        Self { group, head, with_head, asked, left: most, passed: None, outcome }
    }
}

/// Whether nothing was asked of the device for as long as the buffer waits before it is flushed.
pub(crate) enum Quiet {
    /// Yes.
    Yes,
    /// No.
    No,
    /// Not before then, when a look is due.
    From(Time),
}
