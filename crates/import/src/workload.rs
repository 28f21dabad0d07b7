//! MQSim's workload.xml: scenarios of flows as workload files with streams.

use crate::facts::{Facts, Flows};
use crate::flow::{Flow, IDS, Trace, ids};
use crate::found::{Found, decimal};
use crate::table::read_outer;
use crate::xml::Group;
use std::collections::BTreeMap;
use std::fmt::Write;

/// A plane, by its place: channel, chip, die, plane.
type Plane = [u64; 4];

const SYNTHETIC: &str = "IO_Flow_Parameter_Set_Synthetic";
const TRACE: &str = "IO_Flow_Parameter_Set_Trace_Based";

/// What all flows of a file say together about the device.
pub(crate) fn flows(root: Option<&Group>) -> Flows {
    let Some(root) = root else {
        return Flows { most: 1, write_cache: true, occupancy: None };
    };
    let flows: Vec<&Group> = root.groups.iter().flat_map(|one| &one.groups).collect();
    let shares: Vec<f64> =
        flows.iter().filter_map(|flow| flow.get("Initial_Occupancy_Percentage")).collect();
    let mean = shares.iter().sum::<f64>() / shares.len() as f64;
    let caches = |flow: &&Group| {
        let mode = "Device_Level_Data_Caching_Mode";
        flow.is(mode, "WRITE_CACHE") || flow.is(mode, "WRITE_READ_CACHE")
    };
    Flows {
        most: root.groups.iter().map(|one| one.groups.len()).max().unwrap_or(0),
        write_cache: flows.iter().any(caches),
        occupancy: (!shares.is_empty()).then_some(mean),
    }
}

/// The workload files, in the order of the scenarios, and what became of all keys.
pub(crate) fn read(root: &Group, facts: &Facts, trace: &Trace) -> (Vec<String>, Found) {
    let mut found = Found::default();
    read_outer(root, &["IO_Scenario"], &mut found);
    if root.groups.is_empty() {
        found.problems.push(format!("{}: there is no IO_Scenario in it", root.place));
    }
    let texts = root.groups.iter().enumerate().map(|(index, one)| {
        let source = format!("IO_Scenario {} of {}", index + 1, trace.file);
        scenario(one, &source, facts, trace, &mut found)
    });
    let texts = texts.collect();
    (texts, found)
}

/// The text of the workload file of a scenario.
fn scenario(
    group: &Group,
    source: &str,
    facts: &Facts,
    trace: &Trace,
    found: &mut Found,
) -> String {
    read_outer(group, &[SYNTHETIC, TRACE], found);
    if group.groups.is_empty() {
        found.problems.push(format!("{}: {}: there is no flow in it", group.place, group.name));
    }
    let ranges = ranges(&group.groups, facts, found);
    let stops: Vec<u64> =
        group.groups.iter().map(|flow| flow.get("Stop_Time").unwrap_or(0)).collect();
    let stop = stops.iter().copied().max().unwrap_or(0);
    let mut text = format!("# {source}, read by `flashyard import mqsim`.\n");
    if stop > 0 {
        let ms = decimal(stop as f64 / 1e6, 6);
        let _ = write!(text, "\n[phase]\ntime_ms = {ms} # Stop_Time\n");
    }
    for (index, (group, range)) in group.groups.iter().zip(&ranges).enumerate() {
        let (group, facts, trace) = (group.clone(), facts.clone(), trace.clone());
        let flow = Flow { group, facts, trace, range: *range, stop };
        let part = if flow.group.name == TRACE { "trace" } else { "pattern" };
        let mut own = Found::default();
        flow.read(part == "trace", &mut own);
        let _ = write!(text, "\n[[stream]]\nname = \"flow-{}\"\n", index + 1);
        text += &lines(&own, "stream");
        let _ = write!(text, "[stream.{part}]\n{}", lines(&own, part));
        found.join(own);
    }
    text
}

/// The lines of a table.
fn lines(found: &Found, section: &str) -> String {
    let own = found.settings.iter().filter_map(|setting| {
        let (part, key) = setting.path.rsplit_once('.')?;
        let from = setting.from.join(", ");
        (part == section).then(|| format!("{key} = {} # {from}\n", setting.value))
    });
    own.collect()
}

/// The planes that a flow uses.
fn planes(flow: &Group, facts: &Facts, found: &mut Found) -> Vec<Plane> {
    let mut parts: [Vec<u64>; 4] = [const { Vec::new() }; 4];
    for ((name, count), part) in IDS.iter().zip(facts.shape).zip(&mut parts) {
        *part = (0..count).collect();
        if facts.is_sata {
            // MQSim does not look at the lists then.
            continue;
        }
        let Some(entry) = flow.entries.iter().find(|entry| entry.name == *name) else { continue };
        match ids(entry) {
            Some(ids) if ids.iter().all(|id| *id < count) => *part = ids,
            Some(_) => found.problem(entry, &format!("the device has 0 to {}", count - 1)),
            None => found.problem(entry, "numbers with commas between them are needed"),
        }
    }
    let mut planes = Vec::new();
    for channel in &parts[0] {
        for chip in &parts[1] {
            for die in &parts[2] {
                planes.extend(parts[3].iter().map(|plane| [*channel, *chip, *die, *plane]));
            }
        }
    }
    planes
}

/// The range of addresses of each flow, start and length in percent of the device. Flows that use
/// the same plane share its part of the addresses equally, and the ranges lie one behind the other.
/// The part of planes that no flow uses stays unused behind them.
fn ranges(flows: &[Group], facts: &Facts, found: &mut Found) -> Vec<(f64, f64)> {
    if facts.planes() > 1 << 20 {
        found.problems.push("the device has more than 1,048,576 planes".to_string());
        return vec![(0.0, 100.0); flows.len()];
    }
    let used: Vec<Vec<Plane>> = flows.iter().map(|flow| planes(flow, facts, found)).collect();
    let mut users: BTreeMap<Plane, u64> = BTreeMap::new();
    used.iter().flatten().for_each(|plane| *users.entry(*plane).or_default() += 1);
    let share =
        |planes: &Vec<Plane>| -> f64 { planes.iter().map(|plane| 1.0 / users[plane] as f64).sum() };
    let all = facts.planes() as f64;
    let mut start = 0.0;
    let mut ranges = Vec::new();
    for share in used.iter().map(share) {
        let length = share / all * 100.0;
        ranges.push((start, length));
        start += length;
    }
    ranges
}
