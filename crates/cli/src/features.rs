//! What a build may do without: features of the package that have large dependencies.

use flashyard_run::error::wrong;
use std::path::Path;

/// A feature of the package.
#[derive(Debug)]
pub(crate) struct Feature {
    name: &'static str,
    does: &'static str,
    /// Whether this build has it.
    pub(crate) here: bool,
}

/// Files in Parquet.
pub(crate) const PARQUET: Feature =
    Feature { name: "parquet", does: "write Parquet", here: cfg!(feature = "parquet") };

/// Pages with plots.
pub(crate) const REPORT: Feature =
    Feature { name: "report", does: "make pages with plots", here: cfg!(feature = "report") };

impl Feature {
    /// What a build without it says.
    pub(crate) fn missing(&self) -> String {
        let Self { name, does, .. } = self;
        format!("this build cannot {does}; build with the feature {name}")
    }

    /// The error about a file that needs it.
    pub(crate) fn refused(&self, path: &Path) -> anyhow::Error {
        wrong(&format!("{}: {}", path.display(), self.missing()))
    }
}
