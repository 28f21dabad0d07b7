//! `flashyard reproduce drs`: map-cache-aware command scheduling (Lee et al., IEEE Access 2021).

use super::claims::{self, Claim};
use super::study::{Loaded, Study, settings_of, simulate};
use crate::args::ReproduceArgs;
use crate::output::{print, remark, table};
use anyhow::Result;
use flashyard_sim::config::{DeviceKeys, Settings};
use flashyard_sim::own::OwnParts;
use flashyard_sim::report::Report;
use indicatif::ParallelProgressIterator;
use rayon::prelude::*;
use serde_json::{Value, json};

pub(super) const FILE: &str = include_str!("../../../../experiments/drs.toml");

/// The classes of requests that the tables show, and their titles.
const CLASSES: [(&str, &str); 3] = [
    ("read", "mean read latency / RCF"),
    ("write", "mean write latency / RCF"),
    ("all", "mean latency of all requests / RCF"),
];

/// The policies whose map-cache sweep is shown beside RCF.
const CACHE_POLICIES: [&str; 3] = ["rcf", "size", "drs"];

/// Every run of the study.
pub(crate) struct Results {
    pub(crate) study: Study,
    pub(crate) workloads: Vec<String>,
    /// By workload and policy.
    pub(crate) main: Vec<Vec<Report>>,
    /// By cache size, workload and policy of [`CACHE_POLICIES`].
    pub(crate) cache: Vec<Vec<Vec<Report>>>,
    /// By depth and workload, under DRS.
    pub(crate) depth: Vec<Vec<Report>>,
}

impl Results {
    /// The mean latency of a class, in nanoseconds; 0 where it is empty.
    pub(crate) fn mean(report: &Report, class: &str) -> f64 {
        report.latency_ns[class].mean.unwrap_or(0.0)
    }

    /// The ratio of a policy's mean latency to the baseline's, by workload.
    pub(crate) fn ratios(&self, class: &str, policy: &str) -> Vec<f64> {
        let column = |name: &str| {
            let place = self.study.policies.iter().position(|known| known == name);
            place.expect("the study has this policy")
        };
        let (policy, base) = (column(policy), column(&self.study.baseline));
        let ratio =
            |row: &Vec<Report>| Self::mean(&row[policy], class) / Self::mean(&row[base], class);
        self.main.iter().map(ratio).collect()
    }

    /// The mean over the workloads of a policy's read latency over RCF's, at one cache size.
    pub(crate) fn cache_ratio(&self, size: usize, policy: usize) -> f64 {
        let rows = &self.cache[size];
        let ratio =
            |row: &Vec<Report>| Self::mean(&row[policy], "read") / Self::mean(&row[0], "read");
        mean(&rows.iter().map(ratio).collect::<Vec<_>>())
    }
}

/// The mean of the ratios that exist; a workload without requests of a class has none.
pub(crate) fn mean(ratios: &[f64]) -> f64 {
    let finite = ratios.iter().filter(|ratio| ratio.is_finite());
    finite.clone().sum::<f64>() / finite.count() as f64
}

/// A ratio with three digits.
pub(super) fn ratio(ratio: f64) -> String {
    if ratio.is_finite() { format!("{ratio:.3}") } else { "-".to_string() }
}

/// Runs the study and prints it.
pub(crate) fn run(args: &ReproduceArgs, own: OwnParts) -> Result<()> {
    if let Some(twins) = args.twins {
        return super::twins::run(args, own, twins);
    }
    let study = Study::parse(FILE)?;
    let (device, keys) = study.device(args, own)?;
    let capacity = Settings::new(keys)?.capacity_sectors();
    let loaded = study.load(args.traces.as_deref(), capacity)?;
    let results = simulate_all(study, &keys, &loaded, args.check)?;
    let claims = claims::judge(&results);
    if args.json {
        print(&serde_json::to_string_pretty(&object(&results, &claims, args, &device))?)?;
    } else {
        print(&text(&results, &claims, args, &device))?;
    }
    Ok(())
}

/// One run: its settings on top of the device, and its workload.
pub(super) struct Job {
    settings: Settings,
    workload: usize,
}

impl Job {
    pub(super) fn new(
        workload: usize,
        keys: &DeviceKeys,
        settings: &[(&str, &str)],
    ) -> Result<Self> {
        let settings: Vec<_> =
            settings.iter().map(|(key, value)| format!("{key}={value}")).collect();
        Ok(Self { settings: settings_of(*keys, &settings)?, workload })
    }
}

/// Runs jobs side by side; the reports are in the order of the jobs, whatever the threads do.
pub(super) fn run_jobs(
    title: &str,
    jobs: &[Job],
    loaded: &[Loaded],
    check: bool,
) -> Result<std::vec::IntoIter<Report>> {
    let start = std::time::Instant::now();
    let reports: Vec<Report> = jobs
        .par_iter()
        .progress()
        .map(|job| simulate(&job.settings, &loaded[job.workload].requests, check))
        .collect::<Result<_>>()?;
    let seconds = start.elapsed().as_secs_f64();
    remark(&format!("{title}: {} runs in {seconds:.2} s", jobs.len()));
    Ok(reports.into_iter())
}

fn simulate_all(
    study: Study,
    keys: &DeviceKeys,
    loaded: &[Loaded],
    check: bool,
) -> Result<Results> {
    let workloads = || 0..loaded.len();
    let main: Vec<Job> = workloads()
        .flat_map(|workload| study.policies.iter().map(move |policy| (workload, policy)))
        .map(|(workload, policy)| Job::new(workload, keys, &[("policy.command", policy)]))
        .collect::<Result<_>>()?;
    let mut sizes = Vec::new();
    for bytes in study.cache_bytes.iter().map(u64::to_string) {
        for workload in workloads() {
            for policy in CACHE_POLICIES {
                let settings = [("policy.command", policy), ("map.cache_bytes", &bytes)];
                sizes.push(Job::new(workload, keys, &settings)?);
            }
        }
    }
    let mut depths = Vec::new();
    for depth in study.depths.iter().map(u64::to_string) {
        for workload in workloads() {
            let settings = [("policy.command", "drs"), ("queue.depth", &depth)];
            depths.push(Job::new(workload, keys, &settings)?);
        }
    }
    let mut main = run_jobs("policies", &main, loaded, check)?;
    let mut sizes = run_jobs("map caches", &sizes, loaded, check)?;
    let mut depths = run_jobs("queue depths", &depths, loaded, check)?;
    let take = |reports: &mut std::vec::IntoIter<Report>, count: usize| {
        reports.by_ref().take(count).collect::<Vec<_>>()
    };
    Ok(Results {
        main: workloads().map(|_| take(&mut main, study.policies.len())).collect(),
        cache: study
            .cache_bytes
            .iter()
            .map(|_| workloads().map(|_| take(&mut sizes, CACHE_POLICIES.len())).collect())
            .collect(),
        depth: study.depths.iter().map(|_| take(&mut depths, loaded.len())).collect(),
        workloads: loaded.iter().map(|workload| workload.name.clone()).collect(),
        study,
    })
}

fn text(results: &Results, claims: &[Claim], args: &ReproduceArgs, device: &str) -> String {
    let study = &results.study;
    let origin = match &args.traces {
        Some(dir) => format!("the traces in {}", dir.display()),
        None => "the built-in workloads, generated after the published ones; with --traces DIR the real ones".to_string(),
    };
    let mut text = format!(
        "{}\n{}\n{}\n\ndevice {device}; workloads: {origin}\n",
        study.title, study.source, study.notes
    );
    for (class, title) in CLASSES {
        text += &format!("\n{}", policy_table(results, class, title));
    }
    text += &format!("\n{}", breakdown(results));
    text += &format!("\n{}", cache_table(results));
    text += &format!("\n{}", depth_table(results));
    text += &format!("\n{}", claims::table(claims));
    text
}

fn policy_table(results: &Results, class: &str, title: &str) -> String {
    let policies = &results.study.policies;
    let mut header: Vec<&str> = vec![title];
    header.extend(policies.iter().map(String::as_str));
    header.push("rcf us");
    let mut table = table::table(&header);
    let columns: Vec<Vec<f64>> =
        policies.iter().map(|policy| results.ratios(class, policy)).collect();
    for (row, name) in results.workloads.iter().enumerate() {
        let mut cells = vec![name.clone()];
        cells.extend(columns.iter().map(|column| ratio(column[row])));
        cells.push(format!("{:.0}", Results::mean(&results.main[row][0], class) / 1e3));
        table.add_row(cells);
    }
    let mut cells = vec!["mean".to_string()];
    cells.extend(columns.iter().map(|column| ratio(mean(column))));
    table.add_row(cells);
    table::render(&table)
}

/// The waiting times of RCF and DRS.
fn breakdown(results: &Results) -> String {
    let header = [
        "breakdown, all requests (us)",
        "rcf queue",
        "rcf own",
        "rcf flash wait",
        "drs queue",
        "drs own",
        "drs flash wait",
    ];
    let mut table = table::table(&header);
    let last = results.study.policies.len() - 1;
    for (row, name) in results.workloads.iter().enumerate() {
        let mut cells = vec![name.clone()];
        for policy in [0, last] {
            let waits = results.main[row][policy].waits_ns.as_ref().map(|waits| &waits["all"]);
            let cell = |value: Option<f64>| {
                value.map_or_else(|| "-".to_string(), |ns| format!("{:.0}", ns / 1e3))
            };
            cells.push(cell(waits.and_then(|waits| waits.request_queue_mean)));
            cells.push(cell(waits.and_then(|waits| waits.own_commands_mean)));
            cells.push(cell(waits.and_then(|waits| waits.flash_queue_mean)));
        }
        table.add_row(cells);
    }
    table::render(&table)
}

fn cache_table(results: &Results) -> String {
    let header = ["map cache (kB): mean read latency / RCF", "size", "drs", "drs read us"];
    let mut table = table::table(&header);
    for (size, bytes) in results.study.cache_bytes.iter().enumerate() {
        let rows = &results.cache[size];
        let drs =
            rows.iter().map(|row| Results::mean(&row[2], "read")).sum::<f64>() / rows.len() as f64;
        table.add_row(vec![
            format!("{}", *bytes as f64 / 1024.0),
            ratio(results.cache_ratio(size, 1)),
            ratio(results.cache_ratio(size, 2)),
            format!("{:.0}", drs / 1e3),
        ]);
    }
    table::render(&table)
}

/// DRS's mean latency at each depth over that at depth 1.
fn depth_table(results: &Results) -> String {
    let depths: Vec<String> = results.study.depths.iter().map(ToString::to_string).collect();
    let mut header = vec!["queue depth: DRS, all requests / depth 1"];
    header.extend(depths.iter().map(String::as_str));
    let mut table = table::table(&header);
    for (row, name) in results.workloads.iter().enumerate() {
        let mut cells = vec![name.clone()];
        let first = Results::mean(&results.depth[0][row], "all");
        let mean = |depth: &Vec<Report>| Results::mean(&depth[row], "all");
        cells.extend(results.depth.iter().map(|depth| ratio(mean(depth) / first)));
        table.add_row(cells);
    }
    table::render(&table)
}

fn object(results: &Results, claims: &[Claim], args: &ReproduceArgs, device: &str) -> Value {
    let ratios = |class: &str| {
        let column = |policy: &String| (policy.clone(), json!(results.ratios(class, policy)));
        results.study.policies.iter().map(column).collect::<serde_json::Map<_, _>>()
    };
    let base: Vec<_> = results
        .main
        .iter()
        .map(|row| json!({"read": row[0].latency_ns["read"].mean, "write": row[0].latency_ns["write"].mean, "all": row[0].latency_ns["all"].mean}))
        .collect();
    let sizes = (0..results.cache.len()).map(|size| {
        json!({
            "cache_bytes": results.study.cache_bytes[size],
            "size": results.cache_ratio(size, 1),
            "drs": results.cache_ratio(size, 2),
        })
    });
    let depths = results.study.depths.iter().zip(&results.depth).map(|(depth, row)| {
        json!({"depth": depth, "drs_all_mean_ns": row.iter().map(|report| report.latency_ns["all"].mean).collect::<Vec<_>>()})
    });
    json!({
        "schema_version": crate::output::json::SCHEMA_VERSION,
        "study": "drs",
        "source": results.study.source,
        "device": device,
        "traces": args.traces.as_ref().map(|dir| dir.display().to_string()),
        "workloads": results.workloads,
        "mean_over_rcf": {"read": ratios("read"), "write": ratios("write"), "all": ratios("all")},
        "rcf_mean_ns": base,
        "map_cache": sizes.collect::<Vec<_>>(),
        "queue_depth": depths.collect::<Vec<_>>(),
        "published": claims.iter().map(Claim::object).collect::<Vec<_>>(),
    })
}
