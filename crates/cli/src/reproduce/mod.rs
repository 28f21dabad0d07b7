//! `flashyard reproduce`: published systems, our results beside theirs. One file a study.

mod buffers;
mod cache_aware;
mod claims;
mod crossings;
mod drs;
mod energy;
mod ros;
mod study;
mod twins;

use crate::args::{ReproduceArgs, Study};
use crate::inputs::wrong;
use anyhow::Result;
use flashyard_sim::own::OwnParts;

/// Runs `flashyard reproduce`.
pub(crate) fn run(args: &ReproduceArgs, own: OwnParts) -> Result<()> {
    if args.twins.is_some() && args.study != Study::Drs {
        return Err(wrong("--twins: only reproduce drs has twins"));
    }
    if args.requests.is_some() && matches!(args.study, Study::Drs | Study::Energy) {
        return Err(wrong("--requests: reproduce drs and energy run whole workloads"));
    }
    match args.study {
        Study::Drs => drs::run(args, own),
        Study::Energy => energy::run(args, own),
        Study::Ros => ros::run(args, own),
        Study::CacheAware => cache_aware::run(args, own),
        Study::Crossings => crossings::run(args, own),
    }
}
