//! The runs of a study: which there are, each done once, side by side; and their replicas.

use crate::device::settings_of;
use crate::metrics::{self, WORKLOAD_METRICS};
use crate::schema::Experiment;
use crate::study::Study;
use crate::workloads::{at_point, jittered, scaled};
use anyhow::{Result, ensure};
use flashyard_core::request::Request;
use flashyard_core::units::Span;
use flashyard_run::error::wrong;
use flashyard_run::memory::Room;
use flashyard_run::meter::Watch;
use flashyard_run::plan::Plan;
use flashyard_run::points::made::Made;
use flashyard_run::points::runs::{self, Run};
use flashyard_run::simulate::Outcome;
use flashyard_sim::config::Settings;
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Instant;

/// A run of a study by its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct RunKey {
    pub(crate) grid: usize,
    pub(crate) point: usize,
    pub(crate) subject: usize,
    pub(crate) workload: usize,
}

/// What a run found.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Found {
    /// By place of the figure; not a number where it is not defined.
    pub(crate) figures: Vec<f64>,
    pub(crate) queue_grew: bool,
    /// What the cuts have done that were made of it.
    pub(crate) made: Option<Made>,
}

impl Found {
    fn of(Outcome { report, made, .. }: Outcome) -> Self {
        let figures = metrics::all_of(&report, made.as_ref());
        Self { figures, queue_grew: report.verdict.queue_grew, made }
    }
}

/// Requests that were read or generated, for devices of one capacity.
#[derive(Debug)]
struct Loaded {
    source: usize,
    capacity: u64,
    /// Settings of workloads, of a device or of a point.
    further: Vec<String>,
    plan: Plan,
    /// None where the device decides when requests come.
    requests: Option<Arc<Vec<Request>>>,
    notes: Vec<String>,
}

impl Loaded {
    /// How many requests there are; 0 where they are made as the device runs.
    fn count(&self) -> usize {
        self.requests.as_ref().map_or(0, |requests| requests.len())
    }
}

/// Something to be run.
#[derive(Clone, Debug)]
struct Job {
    settings: Settings,
    loaded: usize,
    scale: f64,
    /// How many cuts are made of it.
    cuts: u32,
}

/// The runs of a study.
pub(crate) struct Runs<'a> {
    watch: Watch<'a>,
    loaded: Vec<Loaded>,
    jobs: Vec<Job>,
    /// The job of each run.
    places: BTreeMap<RunKey, usize>,
    found: Vec<Found>,
    /// The replicas of a job, where it has some.
    replicas: BTreeMap<usize, Vec<Found>>,
    /// Figures of the workloads, by workload.
    workloads: Vec<Vec<f64>>,
    /// The same of other seeds, where they were asked for.
    workload_replicas: BTreeMap<usize, Vec<Vec<f64>>>,
    check: bool,
    start: Instant,
}

impl<'a> Runs<'a> {
    /// Does every run of the study's grids once.
    pub(crate) fn new(study: &Study, check: bool, watch: Watch<'a>) -> Result<Self> {
        let mut runs = Self {
            watch,
            loaded: Vec::new(),
            jobs: Vec::new(),
            places: BTreeMap::new(),
            found: Vec::new(),
            replicas: BTreeMap::new(),
            workloads: Vec::new(),
            workload_replicas: BTreeMap::new(),
            check,
            start: Instant::now(),
        };
        let spans = runs.spans(study)?;
        let progress = watch("reading workloads", "", vec![1.0]);
        runs.plan(study, &spans)?;
        drop(progress);
        let jobs: Vec<(usize, u64)> = (0..runs.jobs.len()).map(|job| (job, 0)).collect();
        runs.found = runs.run(study, "runs", &jobs)?;
        runs.workloads = runs.of_workloads(study);
        Ok(runs)
    }

    /// Runs these again with other arrivals or seeds, as often as the study asks for, and generates
    /// these workloads again.
    pub(crate) fn replicate(
        &mut self,
        study: &Study,
        wanted: &BTreeSet<RunKey>,
        workloads: &BTreeSet<usize>,
    ) -> Result<()> {
        let count = study.experiment.replicas;
        let wanted: BTreeSet<usize> = wanted.iter().map(|key| self.places[key]).collect();
        let seeds = 1..=u64::try_from(count)?;
        let jobs: Vec<(usize, u64)> =
            wanted.iter().flat_map(|&job| seeds.clone().map(move |seed| (job, seed))).collect();
        let found = self.run(study, "replicas", &jobs)?;
        for (job, found) in wanted.into_iter().zip(found.chunks(count.max(1))) {
            self.replicas.insert(job, found.to_vec());
        }
        for &workload in workloads {
            let loaded = self.loaded.iter().find(|loaded| loaded.source == workload);
            let is_drawn =
                |loaded: &&Loaded| loaded.requests.is_some() && !study.sources[workload].is_real();
            let Some(loaded) = loaded.filter(is_drawn) else {
                continue;
            };
            let figures = |seed| Ok(figures_of(&Self::requests(study, loaded, seed)?));
            let figures = seeds.clone().map(figures).collect::<Result<_>>()?;
            self.workload_replicas.insert(workload, figures);
        }
        Ok(())
    }

    /// Whether some of them last for a time.
    pub(crate) fn last_for_a_time(&self) -> bool {
        let phases = self.loaded.iter().flat_map(|loaded| &loaded.plan.experiment().phases);
        phases.into_iter().any(|phase| !phase.keys.time_ms.is_zero())
    }

    /// How many runs took how long.
    pub(crate) fn remark(&self, study: &Study) -> String {
        let replicas: usize = self.replicas.values().map(Vec::len).sum();
        let seconds = self.start.elapsed().as_secs_f64();
        let runs = self.jobs.len();
        format!("{}: {runs} runs and {replicas} replicas in {seconds:.1} s", study.name)
    }

    /// Returns the results of a run, if the study has the run.
    pub(crate) fn found(&self, key: RunKey) -> Option<&Found> {
        self.places.get(&key).map(|&job| &self.found[job])
    }

    /// Returns the replicas of a run, if the run was repeated.
    pub(crate) fn replicas(&self, key: RunKey) -> Option<&[Found]> {
        self.replicas.get(self.places.get(&key)?).map(Vec::as_slice)
    }

    /// A figure of a workload, and of its replicas where they were asked for.
    pub(crate) fn of_workload(
        &self,
        workload: usize,
        metric: usize,
    ) -> Option<(f64, Option<Vec<f64>>)> {
        let value = Some(self.workloads[workload][metric]).filter(|value| value.is_finite())?;
        let replicas = self.workload_replicas.get(&workload);
        let replicas = replicas.map(|all| all.iter().map(|figures| figures[metric]).collect());
        Some((value, replicas))
    }

    /// What was changed in the workloads, a sentence each.
    pub(crate) fn notes(&self, study: &Study) -> Vec<String> {
        let mut all = Vec::new();
        for loaded in &self.loaded {
            for note in &loaded.notes {
                let note = format!("{}: {note}", study.names.workloads[loaded.source]);
                if !all.contains(&note) {
                    all.push(note);
                }
            }
        }
        all
    }

    /// How long the baseline takes for each workload at the points that name a load, when all
    /// requests wait at once, in nanoseconds.
    fn spans(&mut self, study: &Study) -> Result<BTreeMap<(usize, usize, usize), u64>> {
        let mut keys = Vec::new();
        for (grid, points) in study.points.iter().enumerate() {
            for (point, row) in points.iter().enumerate() {
                if row.load.is_some() {
                    let workloads = &study.names.grids[grid].workloads;
                    keys.extend(workloads.iter().map(|&workload| (grid, point, workload)));
                }
            }
        }
        if keys.is_empty() {
            return Ok(BTreeMap::new());
        }
        let Some(name) = &study.experiment.baseline else {
            anyhow::bail!("the experiment file: a load wants a baseline");
        };
        let baseline = crate::expr::place_of(name, &study.names.subjects, "subject")?;
        let mut known = BTreeMap::new();
        let mut jobs = Vec::new();
        for &(grid, point, workload) in &keys {
            let key = RunKey { grid, point, subject: baseline, workload };
            jobs.push((self.job(study, key, 0.0, &mut known)?, 0));
        }
        let wanted: BTreeSet<(usize, u64)> = jobs.iter().copied().collect();
        let wanted: Vec<_> = wanted.into_iter().collect();
        let makespan = metrics::place("makespan").expect("a figure of every run");
        let found = self.run(study, "runs at once", &wanted)?;
        let of = |job| &found[wanted.binary_search(&job).expect("it was run")].figures[makespan];
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a time in ns")]
        let spans = keys.into_iter().zip(jobs).map(|(key, job)| (key, *of(job) as u64)).collect();
        self.jobs.clear();
        Ok(spans)
    }

    /// Makes the job of every run.
    fn plan(&mut self, study: &Study, spans: &BTreeMap<(usize, usize, usize), u64>) -> Result<()> {
        let mut known = BTreeMap::new();
        for (grid, row) in study.names.grids.iter().enumerate() {
            for (point, of_point) in study.points[grid].iter().enumerate() {
                for &subject in &row.subjects {
                    for &workload in &row.workloads {
                        let key = RunKey { grid, point, subject, workload };
                        let span = spans.get(&(grid, point, workload));
                        let scale = match of_point.load.zip(span) {
                            Some((load, span)) => self.scale(study, key, *span as f64 / load)?,
                            None => of_point.time_scale.unwrap_or(1.0),
                        };
                        let job = self.job(study, key, scale, &mut known)?;
                        self.places.insert(key, job);
                    }
                }
            }
        }
        Ok(())
    }

    /// What makes the arrivals of a workload take so many nanoseconds.
    fn scale(&mut self, study: &Study, key: RunKey, wanted: f64) -> Result<f64> {
        let (device, settings) = study.settings(key.grid, key.point, key.subject);
        let settings = settings_of(&study.devices[device].keys, &settings)?;
        let loaded = self.load(study, key, device, &settings)?;
        let requests = self.loaded[loaded].requests.as_ref();
        let ends = requests.and_then(|requests| requests.first().zip(requests.last()));
        let span = ends.map_or(0, |(first, last)| last.arrival.since(first.arrival).as_ns());
        Ok(if span == 0 { 1.0 } else { wanted / span as f64 })
    }

    /// The job of a run: one that is known if it comes to the same.
    fn job(
        &mut self,
        study: &Study,
        key: RunKey,
        scale: f64,
        known: &mut BTreeMap<String, usize>,
    ) -> Result<usize> {
        let (device, mut settings) = study.settings(key.grid, key.point, key.subject);
        let plain = settings_of(&study.devices[device].keys, &settings)?;
        let loaded = self.load(study, key, device, &plain)?;
        ensure!(
            self.loaded[loaded].requests.is_some() || scale.to_bits() == 1f64.to_bits(),
            "{}: time_scale and load are for requests that come at times of their own",
            study.names.workloads[key.workload]
        );
        let skipped = self.loaded[loaded].count() * study.experiment.skip_percent / 100;
        if skipped > 0 {
            settings.push(format!("metrics.skip_requests={skipped}"));
        }
        let settings = settings_of(&study.devices[device].keys, &settings)?;
        let cuts = study.experiment.grid.get(key.grid).map_or(0, |grid| grid.cuts);
        let text = format!("{:?} {loaded} {} {cuts}", settings.keys, scale.to_bits());
        let next = self.jobs.len();
        let job = *known.entry(text).or_insert(next);
        if job == next {
            self.jobs.push(Job { settings, loaded, scale, cuts });
        }
        Ok(job)
    }

    /// The requests of a run, read or generated once.
    fn load(
        &mut self,
        study: &Study,
        key: RunKey,
        device: usize,
        settings: &Settings,
    ) -> Result<usize> {
        let source = &study.sources[key.workload];
        let mut capacity = settings.capacity_sectors();
        if let Some(name) = source.made_for.as_ref().filter(|_| !source.is_real()) {
            let keys = &study.devices[study.device(name)?].keys;
            capacity = settings_of(keys, &[])?.capacity_sectors();
        }
        let point = &study.points[key.grid][key.point];
        let further = if source.is_real() {
            [&study.devices[device].traces[..], at_point(point, &source.name)].concat()
        } else {
            point.generated.clone()
        };
        let found = self.loaded.iter().position(|loaded| {
            (loaded.source, loaded.capacity) == (key.workload, capacity)
                && loaded.further == further
        });
        if let Some(place) = found {
            return Ok(place);
        }
        let Experiment { seed, requests, .. } = study.experiment;
        let mut plan = source.plan(&further, requests)?;
        let (requests, notes) = if plan.experiment().needs_device() {
            shorten(&mut plan, study.time_percent);
            (None, Vec::new())
        } else {
            let (requests, notes) = source.load(capacity, &further, seed, requests)?;
            (Some(Arc::new(requests)), notes)
        };
        let source = key.workload;
        self.loaded.push(Loaded { source, capacity, further, plan, requests, notes });
        Ok(self.loaded.len() - 1)
    }

    /// Runs jobs side by side, each with a seed; 0 is the run itself. What was found is in their
    /// order.
    fn run(&self, study: &Study, title: &'static str, jobs: &[(usize, u64)]) -> Result<Vec<Found>> {
        // The longest ones first, so that none is left over for one thread at the end.
        let mut order: Vec<usize> = (0..jobs.len()).collect();
        let length = |place: usize| self.loaded[self.jobs[jobs[place].0].loaded].count();
        order.sort_by_key(|&place| std::cmp::Reverse(length(place)));
        // One that makes its requests as it runs counts as much as the others on average.
        let known: Vec<usize> = (0..jobs.len()).map(length).filter(|count| *count > 0).collect();
        let mean = known.iter().sum::<usize>() as f64 / known.len().max(1) as f64;
        let weight = |&place: &usize| match length(place) {
            0 => mean.max(1.0),
            count => count as f64,
        };
        let weights = order.iter().map(weight).collect();
        let progress = (self.watch)(&study.name, title, weights);
        let plain = || order.iter().map(|&place| self.plain(jobs[place].0));
        let room = plain().next().map_or_else(Room::default, |run| run.room(self.check));
        let outlines: Vec<_> = plain().map(|run| run.outline(room, self.check)).collect();
        let make = |place: usize| self.made(study, jobs[order[place]]).map(Cow::Owned);
        let found = runs::in_order(jobs.len(), |done| {
            runs::all(&outlines, room, self.check, &*progress, make, |place, found| {
                done(order[place], found.map(|(_, outcome)| Found::of(outcome)))
            });
        });
        found.map_err(|(place, error)| self.in_run(study, jobs[place].0, &error))
    }

    /// The run of a job, before it has its seed or its requests.
    fn plain(&self, number: usize) -> Run {
        let Job { settings, loaded, cuts, .. } = &self.jobs[number];
        let (inputs, settings) = (self.loaded[*loaded].plan.clone(), settings.clone());
        Run { point: Vec::new(), inputs, settings, prepare: None, cuts: *cuts }
    }

    /// A run, or a replica of it.
    fn made(&self, study: &Study, (number, seed): (usize, u64)) -> Result<Run> {
        let Job { loaded, scale, .. } = self.jobs[number];
        let (mut run, loaded) = (self.plain(number), &self.loaded[loaded]);
        if loaded.requests.is_none() {
            run.inputs.set_seed(study.experiment.seed + seed);
            return Ok(run);
        }
        let mut requests = Self::requests(study, loaded, seed)?;
        if scale.to_bits() != 1f64.to_bits() {
            requests = Arc::new(scaled(&requests, scale));
        }
        if seed > 0 && study.sources[loaded.source].is_real() {
            requests = Arc::new(jittered(&requests, seed));
        }
        run.inputs.set_requests(requests);
        Ok(run)
    }

    /// An error with the run that it comes from, where that has a place by now.
    fn in_run(&self, study: &Study, number: usize, error: &anyhow::Error) -> anyhow::Error {
        let names = &study.names;
        let place = self.places.iter().find(|(_, job)| **job == number);
        let run = place.map_or_else(String::new, |(key, _)| {
            let grid = &names.grids[key.grid];
            let parts = [
                &grid.name,
                &grid.points[key.point],
                &names.subjects[key.subject],
                &names.workloads[key.workload],
            ];
            let parts: Vec<&str> =
                parts.into_iter().map(String::as_str).filter(|part| !part.is_empty()).collect();
            format!("{}: ", parts.join(", "))
        });
        wrong(&format!("{run}{error}"))
    }

    /// The requests of a workload that has a list of them; of a replica of a generated one other
    /// ones.
    fn requests(study: &Study, loaded: &Loaded, seed: u64) -> Result<Arc<Vec<Request>>> {
        let source = &study.sources[loaded.source];
        if seed == 0 || source.is_real() {
            return Ok(Arc::clone(loaded.requests.as_ref().expect("a list of requests")));
        }
        let Experiment { seed: first, requests: limit, .. } = study.experiment;
        let other = source.load(loaded.capacity, &loaded.further, first + seed, limit)?;
        Ok(Arc::new(other.0))
    }

    fn of_workloads(&self, study: &Study) -> Vec<Vec<f64>> {
        let of = |workload: usize| {
            let loaded = self.loaded.iter().find(|loaded| loaded.source == workload);
            let requests = loaded.and_then(|loaded| loaded.requests.as_ref());
            figures_of(requests.map_or(&[][..], |requests| requests))
        };
        (0..study.sources.len()).map(of).collect()
    }
}

/// The figures of a workload; not a number where one is not defined.
fn figures_of(requests: &[Request]) -> Vec<f64> {
    let values = WORKLOAD_METRICS.iter().map(|metric| metric.value(requests));
    values.map(|value| value.unwrap_or(f64::NAN)).collect()
}

/// Phases that end by time, and the bursts in them, take this share of their time.
fn shorten(inputs: &mut Plan, percent: u64) {
    for phase in &mut inputs.sections.workload.phases {
        phase.keys.time_ms = Span::from_ns(phase.keys.time_ms.as_ns() * percent / 100);
        for keys in phase.streams.iter_mut().map(|stream| &mut stream.keys) {
            keys.burst_from_ms = Span::from_ns(keys.burst_from_ms.as_ns() * percent / 100);
            keys.burst_until_ms = Span::from_ns(keys.burst_until_ms.as_ns() * percent / 100);
        }
    }
}
