//! `flashyard reproduce`: published systems, our results beside theirs. One file a study.

mod claims;
mod drs;
mod energy;
mod study;
mod twins;

use crate::args::{ReproduceArgs, Study};
use anyhow::Result;
use flashyard_sim::own::OwnParts;

/// Runs `flashyard reproduce`.
pub(crate) fn run(args: &ReproduceArgs, own: OwnParts) -> Result<()> {
    match args.study {
        Study::Drs => drs::run(args, own),
        Study::Energy => energy::run(args, own),
    }
}
