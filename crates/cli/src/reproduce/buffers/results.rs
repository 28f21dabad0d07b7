//! Every run of a study.

use super::experiment::{Base, Experiment, Point, Sweep, Workloads};
use super::figures::{Class, Figures, Job, mean, run_jobs};
use crate::args::ReproduceArgs;
use anyhow::Result;
use flashyard_sim::own::OwnParts;
use serde_json::{Value, json};
use std::ops::Range;

/// Every run of a study.
pub(crate) struct Results {
    pub(crate) experiment: Experiment,
    /// On the first device.
    pub(crate) workloads: Workloads,
    /// On the others: the same, but for where traces are folded.
    others: Vec<Workloads>,
    /// The bare device and the full one, or the one that was named.
    pub(crate) devices: Vec<Base>,
    /// By device, policy and workload; variants on the first device only.
    pub(crate) main: Vec<Vec<Vec<Figures>>>,
    /// By sweep, point, policy of the sweep and workload of the sweep.
    pub(crate) sweeps: Vec<Vec<Vec<Vec<Figures>>>>,
}

impl Results {
    /// Runs everything that an experiment file says.
    pub(crate) fn new(text: &str, args: &ReproduceArgs, own: OwnParts) -> Result<Self> {
        let mut experiment = Experiment::parse(text)?;
        let devices = experiment.devices(args, own)?;
        let load = |device| experiment.load(args, &devices, device);
        let workloads = load(&devices[0])?;
        let others = devices[1..].iter().map(load).collect::<Result<_>>()?;
        for sweep in experiment.sweep.iter_mut().filter(|sweep| sweep.workloads.is_empty()) {
            let names = workloads.loaded.iter().map(|loaded| loaded.name.clone());
            (sweep.workloads, sweep.by_group) = (names.collect(), true);
        }
        let (main, sweeps) = (Vec::new(), Vec::new());
        let mut all = Self { experiment, workloads, others, devices, main, sweeps };
        all.run_main(args.check)?;
        all.run_sweeps(args.check)?;
        Ok(all)
    }

    /// The settings of a run.
    fn settings(&self, policy: &str, workload: usize, further: &[String]) -> Vec<String> {
        let skipped = self.experiment.skipped(&self.workloads.loaded[workload]);
        let mut settings = self.experiment.policy[self.policy(policy)].settings.clone();
        settings.extend_from_slice(further);
        settings.push(format!("metrics.skip_requests={skipped}"));
        settings
    }

    fn run_main(&mut self, check: bool) -> Result<()> {
        for (place, device) in self.devices.iter().enumerate() {
            let mut jobs = Vec::new();
            let count = self.groups(place).map(|(_, range)| range.len()).sum();
            for policy in self.policies(place) {
                for workload in 0..count {
                    let settings = self.settings(policy, workload, &[]);
                    jobs.push(Job::new(workload, &device.keys, &settings, 1.0)?);
                }
            }
            let loaded = if place == 0 { &self.workloads } else { &self.others[place - 1] };
            let found = run_jobs(&device.name, &jobs, &loaded.loaded, check)?;
            let rows = found.as_slice().chunks(count).map(<[Figures]>::to_vec);
            self.main.push(rows.collect());
        }
        Ok(())
    }

    fn run_sweeps(&mut self, check: bool) -> Result<()> {
        let keys = &self.devices[0].keys;
        let loaded = &self.workloads.loaded;
        for sweep in &self.experiment.sweep {
            let saturated = self.saturated(sweep, check)?;
            let mut jobs = Vec::new();
            for (point, saturated) in sweep.point.iter().zip(&saturated) {
                for policy in &sweep.policies {
                    for (number, name) in sweep.workloads.iter().enumerate() {
                        let workload = self.workloads.place(name);
                        let settings = self.settings(policy, workload, &point.settings);
                        let scale = self.scale(point, workload, saturated.get(number).copied());
                        jobs.push(Job::new(workload, keys, &settings, scale)?);
                    }
                }
            }
            let found = run_jobs(&sweep.title, &jobs, loaded, check)?.as_slice().to_vec();
            let policies = found.chunks(sweep.workloads.len()).map(<[Figures]>::to_vec);
            let policies: Vec<_> = policies.collect();
            let points = policies.chunks(sweep.policies.len()).map(<[Vec<Figures>]>::to_vec);
            self.sweeps.push(points.collect());
        }
        Ok(())
    }

    /// How long the baseline takes at each point that names a load, for each workload of the sweep,
    /// when all its requests wait at once: nanoseconds by point of the sweep; none where it is not
    /// asked for.
    fn saturated(&self, sweep: &Sweep, check: bool) -> Result<Vec<Vec<u64>>> {
        let loads = || sweep.point.iter().filter(|point| point.load.is_some());
        let mut jobs = Vec::new();
        for point in loads() {
            for name in &sweep.workloads {
                let workload = self.workloads.place(name);
                let baseline = &self.experiment.baseline;
                let settings = self.settings(baseline, workload, &point.settings);
                jobs.push(Job::new(workload, &self.devices[0].keys, &settings, 0.0)?);
            }
        }
        let title = format!("{}: all at once", sweep.title);
        let mut found = if jobs.is_empty() {
            Vec::new().into_iter()
        } else {
            run_jobs(&title, &jobs, &self.workloads.loaded, check)?
        };
        let spans = sweep.point.iter().map(|point| {
            let count = if point.load.is_some() { sweep.workloads.len() } else { 0 };
            found.by_ref().take(count).map(|figures| figures.makespan_ns).collect()
        });
        Ok(spans.collect())
    }

    /// What a point multiplies the arrivals of a workload by, which the baseline takes `saturated`
    /// nanoseconds for when all its requests wait at once.
    fn scale(&self, point: &Point, workload: usize, saturated: Option<u64>) -> f64 {
        let Some((load, saturated)) = point.load.zip(saturated) else {
            return point.time_scale.unwrap_or(1.0);
        };
        let requests = &self.workloads.loaded[workload].requests;
        let ends = requests.first().zip(requests.last());
        let span = ends.map_or(0, |(first, last)| last.arrival.since(first.arrival).as_ns());
        if span == 0 { 1.0 } else { saturated as f64 / (load * span as f64) }
    }

    /// The groups of workloads that a device runs: the first ones.
    pub(crate) fn groups(&self, device: usize) -> impl Iterator<Item = (&str, Range<usize>)> {
        let count = if device == 0 { usize::MAX } else { self.experiment.full_groups };
        self.workloads.groups().take(count)
    }

    /// The names of the policies that a device runs.
    pub(crate) fn policies(&self, device: usize) -> impl Iterator<Item = &str> {
        let runs = move |variant: bool| device == 0 || !variant;
        let policies = self.experiment.policy.iter().filter(move |policy| runs(policy.variant));
        policies.map(|policy| policy.name.as_str())
    }

    /// The place of a policy in the experiment.
    fn policy(&self, name: &str) -> usize {
        let found = self.experiment.policy.iter().position(|policy| policy.name == name);
        found.expect("the experiment has this policy")
    }

    /// The runs of a policy on a device, by workload.
    pub(crate) fn runs(&self, device: usize, policy: &str) -> &[Figures] {
        let place = self.policies(device).position(|name| name == policy);
        &self.main[device][place.expect("the device runs this policy")]
    }

    /// The mean over some workloads of a policy's mean latency over that of another one.
    pub(crate) fn over(
        &self,
        device: usize,
        policy: &str,
        base: &str,
        class: Class,
        of: Range<usize>,
    ) -> Option<f64> {
        let (runs, base) = (self.runs(device, policy), self.runs(device, base));
        mean(of.map(|workload| runs[workload].ratio(&base[workload], class)))
    }

    /// The workloads that statements are judged on: servers' traces where there are some, else the
    /// generated mixes.
    pub(crate) fn judged(&self) -> (&str, Range<usize>) {
        let mut groups: Vec<_> = self.workloads.groups().collect();
        let servers = groups.iter().position(|(name, _)| *name == "servers");
        groups.swap_remove(servers.unwrap_or(0))
    }

    /// At a point of a sweep, the mean over its workloads of a policy's latency over that of the
    /// first one.
    pub(crate) fn at(&self, place: (usize, usize), policy: usize, class: Class) -> Option<f64> {
        let (sweep, point) = place;
        let policies = &self.sweeps[sweep][point];
        let pairs = policies[policy].iter().zip(&policies[0]);
        mean(pairs.map(|(run, base)| run.ratio(base, class)))
    }

    /// The same of some of its workloads, over a policy by its number.
    pub(crate) fn at_over(
        &self,
        place: (usize, usize),
        (policy, base): (usize, usize),
        class: Class,
        of: Range<usize>,
    ) -> Option<f64> {
        let policies = &self.sweeps[place.0][place.1];
        mean(of.map(|workload| policies[policy][workload].ratio(&policies[base][workload], class)))
    }

    /// The points of the sweeps over all workloads: their places.
    pub(crate) fn loaded_points(&self) -> Vec<(usize, usize)> {
        let sweeps = self.experiment.sweep.iter().enumerate().filter(|(_, sweep)| sweep.by_group);
        let points = |(place, sweep): (usize, &Sweep)| {
            (0..sweep.point.len()).map(move |point| (place, point)).collect::<Vec<_>>()
        };
        sweeps.flat_map(points).collect()
    }

    /// What a point of a sweep is called.
    pub(crate) fn point_name(&self, (sweep, point): (usize, usize)) -> String {
        let sweep = &self.experiment.sweep[sweep];
        format!("{}, {}", sweep.title, sweep.point[point].name)
    }

    /// Runs, sweeps and workloads as data.
    pub(crate) fn object(&self, args: &ReproduceArgs) -> serde_json::Map<String, Value> {
        let mut runs = Vec::new();
        for (place, device) in self.devices.iter().enumerate() {
            for policy in self.policies(place) {
                for (loaded, run) in self.workloads.loaded.iter().zip(self.runs(place, policy)) {
                    runs.push(json!({
                        "device": device.name, "policy": policy, "workload": loaded.name,
                        "figures": run,
                    }));
                }
            }
        }
        let sweeps = self.experiment.sweep.iter().zip(&self.sweeps).map(|(sweep, points)| {
            let points = sweep
                .point
                .iter()
                .zip(points)
                .map(|(point, policies)| json!({"point": point.name, "runs": policies}));
            json!({
                "title": sweep.title, "policies": sweep.policies, "workloads": sweep.workloads,
                "points": points.collect::<Vec<_>>(),
            })
        });
        let groups = self.workloads.groups().map(|(name, range)| {
            let names = self.workloads.loaded[range].iter().map(|loaded| loaded.name.as_str());
            json!({"group": name, "workloads": names.collect::<Vec<_>>()})
        });
        let devices = self.devices.iter().map(|device| device.name.as_str());
        let object = json!({
            "schema_version": crate::output::json::SCHEMA_VERSION,
            "source": self.experiment.source,
            "devices": devices.collect::<Vec<_>>(),
            "seed": self.experiment.seed,
            "traces": args.traces.as_ref().map(|dir| dir.display().to_string()),
            "traces_missing": self.workloads.missing,
            "trace_notes": self.workloads.notes,
            "baseline": self.experiment.baseline,
            "groups": groups.collect::<Vec<_>>(),
            "runs": runs,
            "sweeps": sweeps.collect::<Vec<_>>(),
        });
        match object {
            Value::Object(map) => map,
            _ => unreachable!("an object"),
        }
    }
}
