//! The workloads of a study: where they come from, and their replicas.

use crate::schema::{Catalogue, Group, Point, Published, Workload};
use crate::tokens::printed;
use anyhow::{Context, Result, bail};
use flashyard_core::request::Request;
use flashyard_core::units::Time;
use flashyard_run::error::{workload_error, wrong};
use flashyard_run::experiment::Source as Opened;
use flashyard_run::plan::{DeviceFrom, Plan};
use flashyard_run::presets::{DEFAULT_DEVICE, DEFAULT_WORKLOAD};
use flashyard_run::workload_file::parse;
use flashyard_sim::own::OwnParts;
use flashyard_workload::RequestSource;
use flashyard_workload::random::SplitMix64;
use std::path::{Path, PathBuf};

use crate::metrics::WORKLOAD_METRICS;
use crate::tokens::Printed;

/// How much later a replica lets a request of a trace arrive, at most, in nanoseconds.
pub(crate) const JITTER_NS: u64 = 200_000;

/// A workload that can be had.
#[derive(Clone, Debug)]
pub(crate) struct Source {
    pub(crate) name: String,
    pub(crate) origin: Origin,
    /// Its published figures, by number of the figure.
    pub(crate) published: Vec<(usize, Printed)>,
    /// The device whose capacity generated addresses keep to; else that of the grid.
    pub(crate) made_for: Option<String>,
}

/// Where requests come from.
#[derive(Clone, Debug)]
pub(crate) enum Origin {
    Trace {
        path: String,
        settings: Vec<String>,
    },
    BuiltIn {
        name: String,
        settings: Vec<String>,
    },
    /// What a workload file would have.
    Plan {
        text: String,
        settings: Vec<String>,
    },
    /// A trace that was not found.
    Absent,
}

impl Source {
    pub(crate) const fn is_real(&self) -> bool {
        matches!(self.origin, Origin::Trace { .. })
    }

    pub(crate) const fn is_absent(&self) -> bool {
        matches!(self.origin, Origin::Absent)
    }

    /// The first requests for a device of this capacity, and what was changed in them. The seed
    /// concerns generated ones alone.
    pub(crate) fn load(
        &self,
        capacity: u64,
        further: &[String],
        seed: u64,
        limit: Option<usize>,
    ) -> Result<(Vec<Request>, Vec<String>)> {
        let mut inputs = self.plan(further, None)?;
        inputs.set_seed(seed);
        let mut source = inputs.open(Some(capacity))?;
        let requests = first_of(&mut source, limit.unwrap_or(usize::MAX))?;
        Ok((requests, source.notes()))
    }

    /// The workload with its settings. Where the device decides when its requests come, each phase
    /// has so many requests at most.
    pub(crate) fn plan(&self, further: &[String], limit: Option<usize>) -> Result<Plan> {
        let set = |settings: &[String]| -> Vec<_> {
            let all = settings.iter().chain(further).cloned();
            all.map(|setting| ("the study", setting)).collect()
        };
        let own = OwnParts::default();
        let mut inputs = match &self.origin {
            Origin::Trace { path: name, settings } | Origin::BuiltIn { name, settings } => {
                Plan::load(own, DEFAULT_DEVICE, name, &set(settings))?
            }
            Origin::Plan { text, settings } => {
                let parse = |problems: &mut _| parse(&self.name, text, false, problems);
                Plan::load_with(own, DeviceFrom::Named(DEFAULT_DEVICE), parse, &set(settings))?
            }
            Origin::Absent => bail!("{}: the trace is not there", self.name),
        };
        if let Some(limit) = limit.filter(|_| inputs.experiment().needs_device()) {
            let limit = u64::try_from(limit)?;
            for phase in &mut inputs.sections.workload.phases {
                let own = phase.keys.requests;
                phase.keys.requests = if own == 0 { limit } else { own.min(limit) };
            }
        }
        Ok(inputs)
    }
}

fn first_of(source: &mut Opened, limit: usize) -> Result<Vec<Request>> {
    let mut requests = Vec::new();
    while requests.len() < limit {
        let Some(request) = source.next_request().map_err(|error| workload_error(&error))? else {
            break;
        };
        requests.push(request);
    }
    Ok(requests)
}

/// The same requests, each later by up to [`JITTER_NS`], in the same order.
pub(crate) fn jittered(requests: &[Request], seed: u64) -> Vec<Request> {
    let mut random = SplitMix64::new(seed);
    let mut earliest = Time::ZERO;
    let later = |request: &Request| {
        let ns = request.arrival.as_ns() + random.below(JITTER_NS + 1);
        earliest = earliest.max(Time::from_ns(ns));
        (*request).at(earliest)
    };
    requests.iter().map(later).collect()
}

/// The same requests at times that are a multiple of theirs, rounded down to nanoseconds.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "not negative; what is too large for a time is the largest one, which is refused"
)]
pub(crate) fn scaled(requests: &[Request], scale: f64) -> Vec<Request> {
    let at = |time: Time| Time::from_ns((time.as_ns() as f64 * scale) as u64);
    requests.iter().map(|request| (*request).at(at(request.arrival))).collect()
}

/// Where traces are looked for: a directory, and those in it.
#[derive(Debug, Default)]
pub(crate) struct Places(Vec<PathBuf>);

impl Places {
    pub(crate) fn of(dir: Option<&Path>) -> Result<Self> {
        let Some(dir) = dir else { return Ok(Self::default()) };
        let say = |error| wrong(&format!("{}: cannot be read, {error}", dir.display()));
        let entries = std::fs::read_dir(dir).map_err(say)?;
        let paths = entries.filter_map(|entry| entry.ok().map(|entry| entry.path()));
        let mut paths: Vec<PathBuf> = paths.filter(|path| path.is_dir()).collect();
        paths.sort();
        paths.insert(0, dir.to_path_buf());
        Ok(Self(paths))
    }

    /// The file of this name, as it is or compressed.
    fn find(&self, name: &str) -> Option<String> {
        let files = self.0.iter().flat_map(|dir| {
            ["", ".gz", ".zst"].into_iter().map(move |end| dir.join(format!("{name}{end}")))
        });
        let found = files.into_iter().find(|path| path.is_file());
        found.map(|path| path.to_string_lossy().into_owned())
    }
}

/// The workloads of a group, and the files that were not found.
pub(crate) fn of_group(
    group: &Group,
    catalogue: &Catalogue,
    places: &Places,
    missing: &mut Vec<String>,
) -> Result<Vec<Source>> {
    let listed = group.workload.iter().cloned();
    let of_kind = catalogue.trace.iter().filter(|trace| Some(&trace.kind) == group.kind.as_ref());
    let all = of_kind.map(|trace| Workload {
        name: trace.name.clone(),
        trace: Some(trace.name.clone()),
        built_in: None,
        plan: None,
        traces: Vec::new(),
        settings: Vec::new(),
        published: std::collections::BTreeMap::new(),
    });
    let mut found = Vec::new();
    for row in listed.chain(all) {
        let published = row.published.iter().map(|(name, number)| published_of(name, number));
        let published = published.collect::<Result<Vec<_>>>()?;
        let origin = origin_of(&row, group, catalogue, places, missing)?;
        let made_for = group.made_for.clone();
        found.push(Source { name: row.name, origin, published, made_for });
    }
    Ok(found)
}

fn origin_of(
    row: &Workload,
    group: &Group,
    catalogue: &Catalogue,
    places: &Places,
    missing: &mut Vec<String>,
) -> Result<Origin> {
    if let Some(name) = &row.trace {
        let known = catalogue.trace.iter().find(|trace| trace.name == *name);
        let trace = known.with_context(|| format!("{name}: no trace of the catalogue"))?;
        if let Some(path) = places.find(&trace.file) {
            // What a group asks for may be changed by what a trace needs to be read at all.
            let settings = [&group.traces[..], &trace.settings, &row.traces].concat();
            return Ok(Origin::Trace { path, settings });
        }
        if !places.0.is_empty() && !missing.contains(&trace.file) {
            missing.push(trace.file.clone());
        }
    }
    let settings = row.settings.clone();
    Ok(match (row.built_in.clone(), &row.plan) {
        (Some(name), None) => Origin::BuiltIn { name, settings },
        (None, Some(plan)) => Origin::Plan { text: plan.clone(), settings },
        (None, None) => Origin::Absent,
        (Some(_), Some(_)) => bail!("{}: built_in and plan exclude each other", row.name),
    })
}

fn published_of(name: &str, number: &Published) -> Result<(usize, Printed)> {
    let place = WORKLOAD_METRICS.iter().position(|metric| metric.name == name);
    let place = place.with_context(|| format!("{name} is no figure of a workload"))?;
    let of = |text: &str| {
        let digits = text.trim_end_matches('%');
        printed(digits, digits.len() < text.len())
    };
    let number = match number {
        Published::AsPrinted(text) => of(text)?,
        Published::InSteps { printed, step } => Printed { half: step / 2.0, ..of(printed)? },
    };
    Ok((place, number))
}

/// The settings of traces at a point.
pub(crate) fn at_point<'a>(point: &'a Point, workload: &str) -> &'a [String] {
    point.traces_of.get(workload).unwrap_or(&point.traces)
}

/// The workload that device files are read with.
pub(crate) const ANY_WORKLOAD: &str = DEFAULT_WORKLOAD;

#[cfg(test)]
mod tests {
    use super::*;
    use flashyard_core::request::RequestOp;

    fn requests(times: &[u64]) -> Vec<Request> {
        let request = |&ns| Request::new(RequestOp::Read, ns, 8).at(Time::from_ns(ns));
        times.iter().map(request).collect()
    }

    #[test]
    fn replicas_of_a_trace_are_later_by_at_most_the_jitter_and_keep_the_order() {
        let times: Vec<u64> = (0..500).map(|place| place * 30_000).collect();
        let before = requests(&times);
        let after = jittered(&before, 7);
        let mut moved = 0;
        for (before, after) in before.iter().zip(&after) {
            assert_eq!(before.first_sector, after.first_sector);
            let later = after.arrival.since(before.arrival).as_ns();
            assert!(later <= JITTER_NS, "{later}");
            moved += later;
        }
        assert!(after.windows(2).all(|pair| pair[0].arrival <= pair[1].arrival));
        assert!(moved / 500 > JITTER_NS / 3 && jittered(&before, 7) == after);
        assert_ne!(jittered(&before, 8), after);
    }

    #[test]
    fn times_are_scaled() {
        assert_eq!(scaled(&requests(&[10, 21]), 0.5), {
            let mut expected = requests(&[10, 21]);
            expected[0].arrival = Time::from_ns(5);
            expected[1].arrival = Time::from_ns(10);
            expected
        });
    }
}
