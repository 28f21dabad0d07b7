//! What a sweep is asked to do.

use crate::args::SweepArgs;
use flashyard_run::sweep::file::Sweep;
use flashyard_run::sweep::journal::Place;
use flashyard_run::sweep::shard::Shard;
use std::path::{Path, PathBuf};

/// What is asked for.
#[derive(Debug)]
pub(super) struct Job<'a> {
    pub(super) sweep: &'a Sweep,
    pub(super) args: &'a SweepArgs,
    /// The file of the table.
    pub(super) out: PathBuf,
    /// Where finished runs are kept.
    pub(super) place: Place,
    /// The only runs that are done.
    pub(super) shard: Option<Shard>,
}

/// The name of a sweep file without its folder and its end.
pub(super) fn stem(file: &str) -> String {
    Path::new(file).file_stem().unwrap_or_default().to_string_lossy().into_owned()
}
