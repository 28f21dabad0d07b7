//! What a rule looks at, and what it answers.

use crate::buffer::Lines;
use flashyard_core::units::Lpn;

/// What a rule looks at.
pub(in crate::buffer) struct BufferView<'a> {
    /// The lines; at least one of them is dirty.
    pub(in crate::buffer) lines: &'a Lines,
    /// Writes that wait for a line.
    pub(in crate::buffer) waiting: u32,
    /// Units that writes in the host queue are going to put, the oldest first.
    pub(in crate::buffer) coming: &'a mut dyn Iterator<Item = Lpn>,
}

/// A rule of when to flush.
pub(in crate::buffer) trait FlushRule {
    /// Whether a dirty unit shall be flushed now.
    fn wants(&mut self, view: &mut BufferView<'_>) -> bool;
}
