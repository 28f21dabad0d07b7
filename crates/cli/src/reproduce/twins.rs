//! `flashyard reproduce drs --twins`: whether traces and their fitted twins rank policies alike.

use super::drs::{Results, ratio, run_jobs};
use super::drs::Job;
use super::study::{Loaded, Study};
use crate::args::ReproduceArgs;
use crate::inputs::{workload_error, wrong};
use crate::output::{print, table};
use anyhow::Result;
use flashyard_core::request::Request;
use flashyard_sim::config::{DeviceKeys, Settings};
use flashyard_workload::profile::{Profile, ProfileKeys, Twin};
use flashyard_workload::{RequestSource, SourceStats, WorkloadError};
use std::sync::Arc;

/// Mean latencies closer than this are a tie: neither policy is called the faster one.
const TIE: f64 = 0.02;

/// Requests in memory, as a source.
struct InMemory<'a> {
    requests: std::slice::Iter<'a, Request>,
    read: u64,
}

impl RequestSource for InMemory<'_> {
    fn next_request(&mut self) -> Result<Option<Request>, WorkloadError> {
        let next = self.requests.next().copied();
        self.read += u64::from(next.is_some());
        Ok(next)
    }

    fn stats(&self) -> SourceStats {
        SourceStats { requests: self.read, clock_epochs: 1, ..SourceStats::default() }
    }
}

/// The twin of a workload.
fn twin(loaded: &Loaded, seed: u64, capacity: u64) -> Result<Loaded> {
    let mut source = InMemory { requests: loaded.requests.iter(), read: 0 };
    let failed = |error| workload_error(&error);
    let profile = Profile::fit(&mut source).map_err(failed)?;
    let profile = profile.ok_or_else(|| wrong(&format!("{}: it is empty", loaded.name)))?;
    let keys = ProfileKeys::default();
    let mut twin = Twin::new(Arc::new(profile), &keys, seed, Some(capacity)).map_err(failed)?;
    let mut requests = Vec::with_capacity(loaded.requests.len());
    while let Some(request) = twin.next_request().map_err(failed)? {
        requests.push(request);
    }
    Ok(Loaded { name: loaded.name.clone(), requests })
}

/// Runs the traces and their twins, and prints both.
pub(crate) fn run(args: &ReproduceArgs, twins: u64) -> Result<()> {
    let study = Study::parse(super::drs::FILE)?;
    let (_device, keys) = study.device(args)?;
    let capacity = Settings::new(keys)?.capacity_sectors();
    let loaded = study.load(args.traces.as_deref(), capacity)?;
    let real = ratios(&study, &keys, &loaded, args.check)?;
    let mut sums: Vec<Vec<f64>> = vec![vec![0.0; study.policies.len()]; loaded.len()];
    for seed in 1..=twins {
        let made = loaded.iter().map(|one| twin(one, seed, capacity)).collect::<Result<Vec<_>>>()?;
        for (sums, found) in sums.iter_mut().zip(ratios(&study, &keys, &made, args.check)?) {
            sums.iter_mut().zip(found).for_each(|(sum, found)| *sum += found / twins as f64);
        }
    }
    let mut header = vec!["mean read latency / RCF", "of"];
    header.extend(study.policies.iter().map(String::as_str));
    header.push("order");
    let mut all = table::table(&header);
    for (index, loaded) in loaded.iter().enumerate() {
        for (of, ratios) in [("trace", &real[index]), ("twin", &sums[index])] {
            let mut cells = vec![loaded.name.clone(), of.to_string()];
            cells.extend(ratios.iter().map(|&one| ratio(one)));
            cells.push(order(&study.policies, ratios));
            all.add_row(cells);
        }
    }
    print(&table::render(&all))
}

fn order(policies: &[String], ratios: &[f64]) -> String {
    let mut places: Vec<usize> = (0..ratios.len()).collect();
    places.sort_by(|&a, &b| ratios[a].total_cmp(&ratios[b]));
    let mut text = policies[places[0]].clone();
    for pair in places.windows(2) {
        let tie = ratios[pair[1]] / ratios[pair[0]] - 1.0 < TIE;
        text += if tie { " = " } else { " < " };
        text += &policies[pair[1]];
    }
    text
}

fn ratios(
    study: &Study,
    keys: &DeviceKeys,
    loaded: &[Loaded],
    check: bool,
) -> Result<Vec<Vec<f64>>> {
    let mut jobs = Vec::new();
    for workload in 0..loaded.len() {
        for policy in &study.policies {
            jobs.push(Job::new(workload, keys, &[("policy.command", policy)])?);
        }
    }
    let mut reports = run_jobs("policies", &jobs, loaded, check)?;
    let row = |_| {
        let means: Vec<f64> = reports
            .by_ref()
            .take(study.policies.len())
            .map(|report| Results::mean(&report, "read"))
            .collect();
        means.iter().map(|mean| mean / means[0]).collect()
    };
    Ok(loaded.iter().map(row).collect())
}
