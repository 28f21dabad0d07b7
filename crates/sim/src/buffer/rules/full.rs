//! Flushes when writes wait for more lines than flushes under way free.

use super::interface::{BufferView, FlushRule};

#[derive(Clone, Debug)]
pub(crate) struct Full;

impl FlushRule for Full {
    fn wants(&mut self, view: &mut BufferView<'_>) -> bool {
        view.waiting > view.lines.freeing()
    }
}
