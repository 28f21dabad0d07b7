//! The writer of Parquet in a build without one: who asks for a table is told what is missing.

use super::{Cell, Field, Note};
use crate::features::PARQUET;
use crate::output::WholeFile;
use anyhow::Result;
use std::path::Path;

/// A table that cannot be.
#[derive(Debug)]
pub(crate) enum Table {}

impl Table {
    /// Says how to get a program that writes it.
    pub(crate) fn new(path: &Path, _: &[Field]) -> Result<Self> {
        Err(PARQUET.refused(path))
    }

    pub(crate) fn push<'a>(&mut self, _: impl IntoIterator<Item = Cell<'a>>) -> Result<()> {
        match *self {}
    }

    pub(crate) fn finish(self, _: &[Note]) -> Result<WholeFile> {
        match self {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_is_said() {
        let error = Table::new(Path::new("requests.parquet"), &[]).unwrap_err();
        let what = "requests.parquet: this build cannot write Parquet; build with the feature \
                    parquet";
        assert_eq!(error.to_string(), what);
    }
}
