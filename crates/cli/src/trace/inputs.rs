//! The workload that a subcommand reads.

use anyhow::Result;
use flashyard_run::error::wrong;
use flashyard_run::experiment::{Origin, StreamPlan, path_of};
use flashyard_run::plan::Plan;
use flashyard_run::workload_file::ORIGINS;
use flashyard_sim::own::OwnParts;

/// Refuses settings of anything but workloads. The pacing of a stream is taken: a pattern with
/// arrivals of its own asks for one that has them.
pub(super) fn check_settings(set: &[String]) -> Result<()> {
    let is_of_requests = |setting: &str| {
        let path = path_of(setting);
        // A stream of several has sections of its own: stream.log, stream.log.pattern.
        let Some((section, key)) = path.rsplit_once('.') else { return false };
        let last = section.rsplit('.').next().unwrap_or_default();
        ORIGINS.contains(&last) || (key == "pacing" && section.split('.').any(|it| it == "stream"))
    };
    let Some(setting) = set.iter().find(|setting| !is_of_requests(setting)) else { return Ok(()) };
    Err(wrong(&format!(
        "--set {setting}: only [trace], [generator], [pattern], [mix], [profile], [files], [raw] and \
         stream.pacing matter here"
    )))
}

/// A workload for a device of this name, with settings applied.
pub(super) fn load(own: &OwnParts, device: &str, workload: &str, set: &[String]) -> Result<Plan> {
    let set: Vec<_> = set.iter().map(|setting| ("--set", setting.clone())).collect();
    Plan::load(own.clone(), device, workload, &set)
}

/// Refuses raw operations, which need a device. Only `convert` takes one.
pub(super) fn refuse_raw(inputs: &Plan) -> Result<()> {
    let is_raw = |stream: &StreamPlan| matches!(stream.origin, Origin::Raw(_));
    if !inputs.experiment().streams().any(is_raw) {
        return Ok(());
    }
    let name = inputs.workload_name();
    Err(wrong(&format!(
        "{name}: its raw operations name places of a device; flashyard trace convert {name} \
         raw.fyt --device framework writes them to a trace"
    )))
}
