//! A study ready to run: an experiment file with its devices, its workloads and its grids.

use crate::asked::Asked;
use crate::device::{Device, settings_of, with_settings};
use crate::names::{Grid, Group, Names};
use crate::schema::{self, Catalogue, Experiment, Point};
use crate::workloads::{ANY_WORKLOAD, Places, Source, of_group};
use crate::{examples, sizes};
use anyhow::{Context, Result, ensure};
use flashyard_run::error::wrong;
use flashyard_run::plan::Plan;
use flashyard_sim::own::OwnParts;
use std::collections::BTreeSet;

/// The grid of the sensitivity table; its first point is what is used here.
pub(crate) const SENSITIVITY: &str = "sensitivity";
pub(crate) const HERE: &str = "as here";

/// A study.
#[derive(Debug)]
pub(crate) struct Study {
    pub(crate) name: String,
    pub(crate) experiment: Experiment,
    pub(crate) names: Names,
    /// By number: name, preset or file, keys.
    pub(crate) devices: Vec<Device>,
    pub(crate) subjects: Vec<schema::Subject>,
    pub(crate) sources: Vec<Source>,
    /// By grid.
    pub(crate) points: Vec<Vec<Point>>,
    /// Files that were not found.
    pub(crate) missing: Vec<String>,
    /// The numbers by formula.
    pub(crate) known: Vec<f64>,
    /// Phases that end by time take this share of their time.
    pub(crate) time_percent: u64,
    /// Whether the command line limits the requests of workloads.
    pub(crate) is_limited: bool,
    /// Whether it does, or the short form does.
    pub(crate) is_shortened: bool,
}

impl Study {
    /// The study of an experiment file, with what is asked of it.
    pub(crate) fn new(name: &str, text: &str, asked: &Asked, own: &OwnParts) -> Result<Self> {
        let mut experiment = Experiment::parse(text)?;
        let short = if asked.short { experiment.short.clone() } else { schema::Short::default() };
        short.leave_out(&mut experiment.grid)?;
        if let Some(replicas) = asked.replicas.or(short.replicas) {
            experiment.replicas = replicas;
        }
        let time_percent = short.time_percent.unwrap_or(100);
        experiment.requests = match (experiment.requests, asked.requests.or(short.requests)) {
            (Some(own), Some(wanted)) => Some(own.min(wanted)),
            (own, wanted) => own.or(wanted),
        };
        let subjects = subjects(&experiment);
        refuse_own_keys(&experiment, &subjects, asked)?;
        let devices = devices(&experiment, asked, own)?;
        let (sources, groups, missing) = sources(&experiment, asked)?;
        let mut names = Names {
            subjects: subjects.iter().map(|subject| subject.name.clone()).collect(),
            workloads: sources.iter().map(|source| source.name.clone()).collect(),
            groups,
            grids: Vec::new(),
            known: Vec::new(),
            examples: experiment.example.iter().map(|example| example.name.clone()).collect(),
            define: experiment.define.clone(),
        };
        let mut points = Vec::new();
        for grid in all_grids(&experiment) {
            let own = points_of(&grid)?;
            names.grids.push(resolved(&grid, &own, &devices, &names)?);
            points.push(own);
        }
        let numbers = sizes::numbers(&experiment, &devices)?;
        let (known_names, known) = numbers.into_iter().unzip();
        names.known = known_names;
        examples::check(&experiment.example)?;
        check_faults(&experiment, &names)?;
        for name in subjects.iter().filter_map(|subject| subject.device.as_ref()) {
            let is_known = devices.iter().any(|device| device.name == *name);
            ensure!(is_known, "{name}: no device of this name");
        }
        let name = name.to_string();
        Ok(Self {
            name,
            experiment,
            names,
            devices,
            subjects,
            sources,
            points,
            missing,
            known,
            time_percent,
            is_limited: asked.requests.is_some(),
            is_shortened: asked.requests.or(short.requests).is_some(),
        })
    }

    /// The device of a run of a subject at a point of a grid, and its settings on top of the
    /// device's keys as text.
    pub(crate) fn settings(
        &self,
        grid: usize,
        point: usize,
        subject: usize,
    ) -> (usize, Vec<String>) {
        let row = &self.names.grids[grid];
        let of_grid = self.experiment.grid.get(grid).map_or(&[][..], |grid| &grid.settings);
        let point = &self.points[grid][point];
        let own = &self.subjects[subject];
        let of_point = point.of.get(&own.name).unwrap_or(&point.settings);
        let device = own.device.as_deref().and_then(|name| self.device(name).ok());
        (device.unwrap_or(row.device), [of_grid, &own.settings, of_point].concat())
    }

    /// The place of a device.
    pub(crate) fn device(&self, name: &str) -> Result<usize> {
        let found = self.devices.iter().position(|device| device.name == name);
        found.with_context(|| format!("{name}: no device of this name"))
    }

    /// The place of a grid.
    pub(crate) fn grid(&self, name: &str) -> Result<usize> {
        let found = self.names.grids.iter().position(|grid| grid.name == name);
        found.with_context(|| format!("{name}: no grid of this name"))
    }

    /// The groups of these names that have workloads in a grid, in the order of the names; all
    /// where none is named.
    pub(crate) fn groups_in(&self, grid: usize, names: &[String]) -> Result<Vec<Group>> {
        for name in names {
            let is_known = self.names.groups.iter().any(|group| group.name == *name);
            ensure!(is_known, "{name}: no group of this name");
        }
        let mut wanted: Vec<&Group> = self.names.groups.iter().collect();
        if !names.is_empty() {
            let place = |group: &&Group| names.iter().position(|name| *name == group.name);
            wanted.retain(|group| place(group).is_some());
            wanted.sort_by_key(place);
        }
        let within = |group: &Group| {
            let workloads = group.workloads.iter().copied();
            let inside = workloads.filter(|one| self.names.grids[grid].workloads.contains(one));
            Group { workloads: inside.collect(), ..group.clone() }
        };
        let groups = wanted.into_iter().map(within);
        Ok(groups.filter(|group| !group.workloads.is_empty()).collect())
    }
}

/// The subjects of the file, and all combinations of parts.
fn subjects(experiment: &Experiment) -> Vec<schema::Subject> {
    let mut all = experiment.subject.clone();
    let Some(combine) = &experiment.combine else { return all };
    let mut combined = vec![(combine.name.clone(), Vec::new())];
    for (place, parts) in combine.parts.iter().enumerate() {
        let with = |(name, settings): &(String, Vec<String>)| {
            let one = |part: &schema::Subject| {
                let name = name.replace(&format!("{{{place}}}"), &part.name);
                (name, [&settings[..], &part.settings].concat())
            };
            parts.iter().map(one).collect::<Vec<_>>()
        };
        combined = combined.iter().flat_map(with).collect();
    }
    let subject = |(name, settings)| schema::Subject { name, device: None, settings };
    all.extend(combined.into_iter().map(subject));
    all
}

/// The key that a setting sets.
fn key_of(setting: &str) -> &str {
    setting.split('=').next().unwrap_or_default().trim()
}

/// Refuses settings of the command line that the study itself makes.
fn refuse_own_keys(
    experiment: &Experiment,
    subjects: &[schema::Subject],
    asked: &Asked,
) -> Result<()> {
    let subjects = subjects.iter().flat_map(|subject| &subject.settings);
    let devices = experiment.device.iter().flat_map(|device| &device.settings);
    let points = experiment.grid.iter().flat_map(|grid| &grid.point);
    let points = points.flat_map(|point| point.settings.iter().chain(point.of.values().flatten()));
    let grids = experiment.grid.iter().flat_map(|grid| grid.settings.iter().chain(&grid.key));
    let own: Vec<&str> =
        subjects.chain(devices).chain(points).chain(grids).map(|setting| key_of(setting)).collect();
    for setting in &asked.set {
        let key = key_of(setting);
        let of_workload =
            ["trace.", "generator.", "pattern.", "mix.", "profile.", "raw.", "stream.", "phase."]
                .iter()
                .any(|s| key.starts_with(s));
        if of_workload || key == "metrics.skip_requests" || own.contains(&key) {
            return Err(wrong(&format!("--set {setting}: the study itself sets {key}")));
        }
    }
    Ok(())
}

fn devices(experiment: &Experiment, asked: &Asked, own: &OwnParts) -> Result<Vec<Device>> {
    let load = |row: &schema::Device| {
        let preset = asked.device.clone().unwrap_or_else(|| row.preset.clone());
        let set: Vec<_> = asked.set.iter().map(|setting| ("--set", setting.clone())).collect();
        let inputs = Plan::load(own.clone(), &preset, ANY_WORKLOAD, &set)?;
        inputs.settings()?;
        let keys = with_settings(&inputs.sections.device, &row.settings)?;
        settings_of(&keys, &[])?;
        Ok(Device { name: row.name.clone(), preset, keys, traces: row.traces.clone() })
    };
    experiment.device.iter().map(load).collect()
}

type Sources = (Vec<Source>, Vec<Group>, Vec<String>);

fn sources(experiment: &Experiment, asked: &Asked) -> Result<Sources> {
    let catalogue = Catalogue::built_in()?;
    let places = Places::of(asked.traces.as_deref())?;
    let (mut all, mut groups, mut missing) = (Vec::new(), Vec::new(), Vec::new());
    for group in &experiment.group {
        let mut absent = Vec::new();
        let found = of_group(group, &catalogue, &places, &mut absent)?;
        if let Some(dir) = asked.traces.as_ref().filter(|_| group.complete && !absent.is_empty()) {
            let files = absent.join(", ");
            let what = format!("{}: missing {files} (plain, .gz or .zst)", dir.display());
            return Err(wrong(&what));
        }
        missing.extend(absent);
        let from = all.len();
        all.extend(found);
        let present = |place: &usize| !all[*place].is_absent();
        let workloads: Vec<usize> = (from..all.len()).filter(present).collect();
        let real = workloads.iter().all(|place| all[*place].is_real());
        groups.push(Group { name: group.name.clone(), real, workloads });
    }
    if let Some(dir) = &asked.traces
        && !all.iter().any(Source::is_real)
    {
        // Of all studies some have no traces.
        if asked.is_one_of_many {
            return Ok((all, groups, missing));
        }
        if missing.is_empty() {
            return Err(wrong("--traces: the study has no recorded workloads; leave it out"));
        }
        return Err(wrong(&format!(
            "{}: neither it nor a directory in it has any of {} (plain, .gz or .zst)",
            dir.display(),
            missing.join(", ")
        )));
    }
    Ok((all, groups, missing))
}

/// The grids of the file, and that of the sensitivity table.
fn all_grids(experiment: &Experiment) -> Vec<schema::Grid> {
    let mut grids = experiment.grid.clone();
    if let Some(sensitivity) = &experiment.sensitivity {
        let here = Point { name: HERE.to_string(), ..Point::default() };
        let others = sensitivity.choice.iter().flat_map(|choice| {
            choice.other.iter().map(|other| {
                let name = format!("{}: {}", choice.what, other.name);
                Point { name, ..other.clone() }
            })
        });
        grids.push(schema::Grid {
            name: SENSITIVITY.to_string(),
            device: sensitivity.device.clone(),
            subjects: sensitivity.subjects.clone(),
            groups: sensitivity.groups.clone(),
            workloads: sensitivity.workloads.clone(),
            settings: Vec::new(),
            key: None,
            values: Vec::new(),
            point: [here].into_iter().chain(others).collect(),
            cuts: 0,
        });
    }
    grids
}

/// The points of a grid; one without a name where it has none.
fn points_of(grid: &schema::Grid) -> Result<Vec<Point>> {
    let mut points = grid.point.clone();
    if let Some(key) = &grid.key {
        for value in &grid.values {
            let name = value.text();
            let settings = vec![format!("{key}={name}")];
            points.push(Point { name, settings, ..Point::default() });
        }
    }
    if points.is_empty() {
        points.push(Point::default());
    }
    let mut seen = BTreeSet::new();
    for point in &points {
        let first = seen.insert(point.name.as_str());
        ensure!(first, "{}: point {} is there twice", grid.name, point.name);
    }
    Ok(points)
}

fn resolved(
    grid: &schema::Grid,
    points: &[Point],
    devices: &[Device],
    names: &Names,
) -> Result<Grid> {
    let device = devices.iter().position(|device| device.name == grid.device);
    let device =
        device.with_context(|| format!("{}: no device named {}", grid.name, grid.device))?;
    let place = |name: &String| crate::expr::place_of(name, &names.subjects, "subject");
    let subjects = if grid.subjects.is_empty() {
        (0..names.subjects.len()).collect()
    } else {
        grid.subjects.iter().map(place).collect::<Result<_>>()?
    };
    let is_named = |name: &String| grid.groups.contains(name) || grid.workloads.contains(name);
    for name in grid.groups.iter().chain(&grid.workloads) {
        names.workloads_of(name)?;
    }
    let all = grid.groups.is_empty() && grid.workloads.is_empty();
    let of_group = |group: &Group| {
        let wanted = all || is_named(&group.name);
        let own = group.workloads.iter().copied();
        own.filter(|&place| wanted || is_named(&names.workloads[place])).collect::<Vec<_>>()
    };
    let workloads = names.groups.iter().flat_map(of_group).collect();
    let points = points.iter().map(|point| point.name.clone()).collect();
    Ok(Grid { name: grid.name.clone(), device, subjects, workloads, points })
}

/// Whether faults name what exists, in grids whose runs are cut.
fn check_faults(experiment: &Experiment, names: &Names) -> Result<()> {
    for fault in &experiment.fault {
        let grid = names.grids.iter().find(|grid| grid.name == fault.grid);
        let grid = grid.with_context(|| format!("{}: no grid of this name", fault.grid))?;
        let cuts = experiment.grid.iter().find(|other| other.name == fault.grid);
        ensure!(cuts.is_some_and(|grid| grid.cuts > 0), "{}: cuts none of its runs", grid.name);
        for subject in [&fault.faulty, &fault.sound] {
            let place = crate::expr::place_of(subject, &names.subjects, "subject")?;
            ensure!(grid.subjects.contains(&place), "{subject}: not in grid {}", grid.name);
        }
        let one = grid.points.len() == 1 && grid.workloads.len() == 1;
        ensure!(one, "{}: the grid of faults has one point and one workload", grid.name);
    }
    Ok(())
}
