//! What takes the rows of a log.

use crate::table::{Cell, Field};
use flashyard_sim::observe::{Observer, Shared};
use std::fmt;

/// Takes the rows of a log.
pub trait Rows: Send {
    /// Takes a row: a cell for each column.
    fn row<'a>(&mut self, cells: impl IntoIterator<Item = Cell<'a>>);
}

/// What a log is of.
pub struct Log<R> {
    /// What messages call it.
    pub what: &'static str,
    /// Its columns.
    pub fields: fn() -> Vec<Field>,
    /// What writes its rows.
    pub observer: fn(Shared<R>) -> Box<dyn Observer>,
}

impl<R> fmt::Debug for Log<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Log").field("what", &self.what).finish_non_exhaustive()
    }
}
