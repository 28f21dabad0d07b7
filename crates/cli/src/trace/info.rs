//! `flashyard trace info`: what a workload holds, alone or beside another one.

use super::inputs::{check_settings, load, refuse_raw};
use crate::args::TraceInfoArgs;
use crate::output::{print, print_json};
use crate::progress::Progress;
use crate::progress::source::Told;
use anyhow::Result;
use flashyard_run::error::{workload_error, wrong};
use flashyard_run::experiment::path_of;
use flashyard_run::plan::Plan;
use flashyard_run::presets::DEFAULT_DEVICE;
use flashyard_sim::own::OwnParts;
use flashyard_workload::RequestSource;
use flashyard_workload::info::{Figure, Info, compare};
use serde_json::{Value, json};

/// Runs `flashyard trace info`.
pub(crate) fn info(args: &TraceInfoArgs) -> Result<()> {
    check_settings(&args.set)?;
    match &args.compare {
        None => {
            let found = collect(&args.workload, &args.set)?;
            if args.json {
                print_json(&found.json()?)
            } else {
                print(&(found.info.table() + &found.remarks("")))
            }
        }
        Some(other) => two(args, other),
    }
}

/// Two workloads side by side.
fn two(args: &TraceInfoArgs, other: &str) -> Result<()> {
    let names = [args.workload.as_str(), other];
    if names == ["-", "-"] {
        return Err(wrong("-: standard input can be read only once: save it to a file"));
    }
    let [for_a, for_b] = settings_of(names, &args.set)?;
    let (a, b) = (collect(names[0], &for_a)?, collect(names[1], &for_b)?);
    if args.json {
        let figures = a.info.figures().into_iter().zip(b.info.figures()).map(side_by_side);
        let figures: Vec<Value> = figures.collect();
        let all = json!({ "names": names, "a": a.json()?, "b": b.json()?, "figures": figures });
        print_json(&all)
    } else {
        let remarks = a.remarks(names[0]) + &b.remarks(names[1]);
        print(&(compare((names[0], &a.info), (names[1], &b.info)) + &remarks))
    }
}

fn side_by_side((a, b): (Figure, Figure)) -> Value {
    json!({ "name": a.name, "unit": a.unit, "a": a.value, "b": b.value })
}

/// The settings that each of two workloads gets: a setting of a section that only one of them has
/// is for that one; any other is for both, who say what is wrong with it.
fn settings_of(names: [&str; 2], set: &[String]) -> Result<[Vec<String>; 2]> {
    let workloads = [
        load(&OwnParts::default(), DEFAULT_DEVICE, names[0], &[])?,
        load(&OwnParts::default(), DEFAULT_DEVICE, names[1], &[])?,
    ];
    let takes = |workload: &Plan, setting: &str| {
        let path = path_of(setting);
        let section = path.rsplit_once('.').map_or("", |(section, _)| section);
        workload.experiment().idle(section).is_none()
    };
    let mut both = [Vec::new(), Vec::new()];
    for setting in set {
        let takers = [0, 1].map(|at| takes(&workloads[at], setting));
        for at in [0, 1] {
            if takers[at] || !takers[1 - at] {
                both[at].push(setting.clone());
            }
        }
    }
    Ok(both)
}

/// What a workload holds, and what was changed in it.
struct Found {
    info: Info,
    changes: Vec<String>,
}

impl Found {
    fn json(&self) -> Result<Value> {
        let mut object = serde_json::to_value(&self.info)?;
        object["changes"] = self.changes.clone().into();
        Ok(object)
    }

    /// Lines about what was changed, for below a table.
    fn remarks(&self, name: &str) -> String {
        let of = if name.is_empty() { "changed" } else { name };
        self.changes.iter().fold(String::new(), |text, what| text + of + ": " + what + "\n")
    }
}

fn collect(workload: &str, set: &[String]) -> Result<Found> {
    let progress = Progress::one(workload);
    let inputs = load(&OwnParts::default(), DEFAULT_DEVICE, workload, set)?;
    refuse_raw(&inputs)?;
    let source = inputs.open(None)?;
    let mut source = Told::new(source, &progress);
    let info = Info::collect(&mut source).map_err(|error| workload_error(&error))?;
    Ok(Found { info, changes: source.notes() })
}
