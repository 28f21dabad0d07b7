//! `flashyard trace info`: what a workload holds.

use crate::args::TraceInfoArgs;
use crate::inputs::{Inputs, workload_error, wrong};
use crate::output::print;
use crate::presets::DEFAULT_DEVICE;
use anyhow::Result;
use flashyard_workload::RequestSource;
use flashyard_workload::info::Info;

/// Runs `flashyard trace info`.
pub(crate) fn info(args: &TraceInfoArgs) -> Result<()> {
    let set: Vec<_> = args.set.iter().map(|setting| ("--set", setting.clone())).collect();
    let workload =
        |setting: &str| ["trace.", "generator.", "pattern."].iter().any(|s| setting.starts_with(s));
    if let Some((_, setting)) = set.iter().find(|(_, setting)| !workload(setting)) {
        return Err(wrong(&format!(
            "--set {setting}: only [trace], [generator] and [pattern] matter here"
        )));
    }
    let inputs = Inputs::load(DEFAULT_DEVICE, &args.workload, &set)?;
    let mut source = inputs.open(None)?;
    let info = Info::collect(&mut source).map_err(|error| workload_error(&error))?;
    let changes = source.notes();
    if args.json {
        let mut object = serde_json::to_value(&info)?;
        object["changes"] = changes.into();
        print(&serde_json::to_string_pretty(&object)?)?;
    } else {
        let changes = changes.iter().map(|what| format!("\nchanged: {what}"));
        print(&(info.table().trim_end().to_string() + &changes.collect::<String>()))?;
    }
    Ok(())
}
