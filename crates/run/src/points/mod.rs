//! Points: the same work with other settings, for `compare` and `sweep`.

pub mod axis;
pub mod made;
pub mod pool;
pub mod runs;
pub mod states;

use crate::error::wrong;
use crate::experiment::{StreamPlan, path_of};
use crate::plan::{Bases, Plan, Selection};
use anyhow::Result;
use axis::Setting;

/// The plan of a point: what is asked for with its settings on top. `option` is what
/// messages call the place of a setting.
pub fn inputs(bases: &Bases, given: &Selection, option: &str, point: &[Setting]) -> Result<Plan> {
    let mut asked = given.clone();
    let named = |name: &str| point.iter().any(|(key, _)| key == name);
    if named("device") || named("workload") {
        let given = Plan::named(&asked)?;
        for (name, given) in [("device", &given.0), ("workload", &given.1)] {
            if let Some(given) = given.as_ref().filter(|_| named(name)) {
                let what = format!("{option} {name}: it is {given} already; name it only once");
                return Err(wrong(&what));
            }
        }
        (asked.device, asked.workload) = given;
    }
    let mut set = Vec::new();
    for (key, value) in point {
        match key.as_str() {
            "device" => asked.device = Some(value.clone()),
            "workload" => asked.workload = Some(value.clone()),
            "seed" => {
                let what = || format!("{option} seed={value}: a seed is a whole number from 0 on");
                asked.seed = Some(value.parse().map_err(|_| wrong(&what()))?);
            }
            _ => set.push((option, format!("{key}={value}"))),
        }
    }
    if named("device") || named("workload") {
        Plan::fill_names(&mut asked);
    }
    let mut inputs = Plan::new(bases, &asked, &set)?;
    for path in overridden(given, point) {
        inputs.add_unused(path, format!("{option} has values of it"));
    }
    Ok(inputs)
}

/// What is asked for and a point has a value of its own of.
fn overridden<'a>(asked: &'a Selection, point: &'a [Setting]) -> Vec<&'a str> {
    let has = |path: &str| point.iter().any(|(key, _)| key == path);
    let paths = asked.set.iter().map(|(_, setting)| path_of(setting));
    paths.chain(asked.seed.map(|_| "seed")).filter(|path| has(path)).collect()
}

/// Refuses a workload that cannot be read once for each run.
pub fn refuse_standard_input(command: &str, inputs: &Plan) -> Result<()> {
    if inputs.experiment().streams().any(StreamPlan::is_standard_input) {
        return Err(wrong(&format!(
            "{command} reads the workload once a run, standard input can be read only once: save it \
             to a file"
        )));
    }
    Ok(())
}

/// The keys that points set, each once, in the order in which they come.
pub fn keys<'a>(points: impl Iterator<Item = &'a [Setting]>) -> Vec<String> {
    let mut keys: Vec<String> = Vec::new();
    for (key, _) in points.flatten() {
        if !keys.contains(key) {
            keys.push(key.clone());
        }
    }
    keys
}

/// The value of a key as a point has it, set by it or not.
pub fn value(inputs: &Plan, point: &[Setting], key: &str) -> String {
    if let Some((_, value)) = point.iter().find(|(known, _)| known == key) {
        return value.clone();
    }
    match key {
        "device" => inputs.device_name.clone(),
        "workload" => inputs.workload_name().to_string(),
        "seed" => inputs.seed().map_or_else(|| "-".to_string(), |seed| seed.to_string()),
        _ => inputs.shown(key).unwrap_or_else(|| "-".to_string()),
    }
}
