//! `flashyard show`: a device or a workload as a file to edit, with the source of each number.

use crate::args::ShowArgs;
use crate::output::{note, print};
use anyhow::Result;
use flashyard_run::error::{is_toml, read_text, wrong};
use flashyard_run::experiment::is_of_workload;
use flashyard_run::plan::{Named, Plan, recognise};
use flashyard_run::presets::{DEFAULT_DEVICE, DEFAULT_WORKLOAD};
use flashyard_run::shown;
use flashyard_sim::own::OwnParts;

/// Runs `flashyard show`.
pub(crate) fn run(args: &ShowArgs, own: &OwnParts) -> Result<()> {
    let layer = args.ftl.iter().map(|name| ("--ftl", format!("ftl={name}")));
    let size = args.capacity.iter().map(|size| ("--capacity", format!("capacity={size}")));
    let set = args.set.iter().map(|setting| ("--set", setting.clone()));
    let set: Vec<_> = layer.chain(size).chain(set).collect();
    match recognise(args.name.as_deref().unwrap_or(DEFAULT_DEVICE))? {
        Named::Device(name) => {
            refuse_others(&set, &name, false)?;
            let inputs = Plan::load(own.clone(), &name, DEFAULT_WORKLOAD, &set)?;
            let settings = inputs.settings()?;
            inputs.notes().for_each(note);
            print(&shown::device(&inputs, &settings, args.all))
        }
        Named::Workload(name) if is_toml(&name) => {
            if !set.is_empty() || args.all {
                let what = "show: a workload file is printed as it is; take the options out";
                return Err(wrong(what));
            }
            print(&read_text(&name)?)
        }
        Named::Workload(name) => {
            let inputs = Plan::load(own.clone(), DEFAULT_DEVICE, &name, &set)?;
            refuse_others(&set, &name, true)?;
            inputs.unused().iter().for_each(note);
            print(&shown::workload(inputs.experiment()))
        }
    }
}

/// Refuses a setting of a device where a workload is shown, and the other way round: it would be
/// taken and forgotten.
fn refuse_others(set: &[(&str, String)], name: &str, is_workload: bool) -> Result<()> {
    let other = set.iter().find(|(_, setting)| is_of_workload(setting) != is_workload);
    let Some((option, setting)) = other else { return Ok(()) };
    let given = if *option == "--set" { format!("--set {setting}") } else { option.to_string() };
    let (this, that) = if is_workload { ("workload", "device") } else { ("device", "workload") };
    let what = format!("it is for {that}s, and {name} is a {this}; show a {that} with it");
    Err(wrong(&format!("{given}: {what}")))
}
