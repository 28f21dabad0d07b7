//! Flushes whatever is dirty.

use super::interface::{BufferView, FlushRule};

#[derive(Clone, Debug)]
pub(crate) struct AtOnce;

impl FlushRule for AtOnce {
    fn wants(&mut self, _: &mut BufferView<'_>) -> bool {
        true
    }
}
