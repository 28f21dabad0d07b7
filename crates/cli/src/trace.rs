//! `flashyard trace info`: what a trace holds.

use crate::args::TraceInfoArgs;
use crate::inputs::{Inputs, workload_error};
use crate::output::print;
use crate::presets::DEFAULT_DEVICE;
use anyhow::Result;
use flashyard_workload::info::Info;

/// Runs `flashyard trace info`.
pub(crate) fn info(args: &TraceInfoArgs) -> Result<()> {
    let inputs = Inputs::load(DEFAULT_DEVICE, &args.workload, &args.set)?;
    let mut source = inputs.open(None)?;
    let info = Info::collect(&mut source).map_err(|error| workload_error(&error))?;
    if args.json {
        print(&serde_json::to_string_pretty(&info)?);
    } else {
        print(&info.table());
    }
    Ok(())
}
