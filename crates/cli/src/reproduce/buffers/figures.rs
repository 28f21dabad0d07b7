//! What the tables show of a run.

use super::super::study::{Loaded, settings_of, simulate};
use crate::output::remark;
use anyhow::Result;
use flashyard_core::request::Request;
use flashyard_core::units::Time;
use flashyard_sim::config::{DeviceKeys, Settings};
use flashyard_sim::report::Report;
use indicatif::ParallelProgressIterator;
use rayon::prelude::*;
use serde::Serialize;

/// The figures of a run.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Figures {
    pub(crate) read_mean_ns: Option<f64>,
    pub(crate) write_mean_ns: Option<f64>,
    pub(crate) read_p99_ns: Option<u64>,
    pub(crate) requests_per_s: Option<f64>,
    pub(crate) makespan_ns: u64,
    pub(crate) hidden_read_ratio: Option<f64>,
    pub(crate) hit_ratio_read: Option<f64>,
    pub(crate) hit_ratio_write: Option<f64>,
    pub(crate) write_amplification: Option<f64>,
    pub(crate) map_misses: u64,
    pub(crate) hazard_picks: u64,
    pub(crate) gc_jobs: u64,
    /// Power of DRAM at all times and accesses to its tables.
    pub(crate) dram_pj: u64,
    /// Accesses of the buffer.
    pub(crate) buffer_pj: u64,
    /// Power of the buffer at all times.
    pub(crate) buffer_standby_pj: u64,
}

impl Figures {
    pub(crate) fn of(report: &Report) -> Self {
        Self {
            read_mean_ns: report.latency_ns["read"].mean,
            write_mean_ns: report.latency_ns["write"].mean,
            read_p99_ns: report.latency_ns["read"].p99,
            requests_per_s: report.throughput.iops,
            makespan_ns: report.throughput.makespan_ns,
            hidden_read_ratio: report.buffer.hidden_read_ratio,
            hit_ratio_read: report.buffer.hit_ratio_read,
            hit_ratio_write: report.buffer.hit_ratio_write,
            write_amplification: report.flash.write_amplification,
            map_misses: report.map.misses,
            hazard_picks: report.map.hazard_picks,
            gc_jobs: report.gc.jobs,
            dram_pj: report.energy_pj.by_resource["dram"],
            buffer_pj: report.energy_pj.by_resource["buffer"],
            buffer_standby_pj: report.energy_pj.by_resource["buffer_standby"],
        }
    }

    /// The mean latency of reads or of writes.
    pub(crate) fn mean(&self, class: Class) -> Option<f64> {
        match class {
            Class::Read => self.read_mean_ns,
            Class::Write => self.write_mean_ns,
        }
    }

    /// The same over that of another run; none where either has none.
    pub(crate) fn ratio(&self, base: &Self, class: Class) -> Option<f64> {
        let base = base.mean(class).filter(|mean| *mean > 0.0)?;
        Some(self.mean(class)? / base)
    }
}

/// Reads or writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Class {
    Read,
    Write,
}

impl Class {
    pub(crate) const BOTH: [Self; 2] = [Self::Read, Self::Write];
}

/// The mean of those that exist; none where none does.
pub(crate) fn mean(values: impl IntoIterator<Item = Option<f64>>) -> Option<f64> {
    let found: Vec<f64> = values.into_iter().flatten().collect();
    (!found.is_empty()).then(|| found.iter().sum::<f64>() / found.len() as f64)
}

/// A run to be done.
pub(crate) struct Job {
    workload: usize,
    /// Arrivals are multiplied by this.
    time_scale: f64,
    settings: Settings,
}

impl Job {
    pub(crate) fn new(
        workload: usize,
        keys: &DeviceKeys,
        settings: &[String],
        time_scale: f64,
    ) -> Result<Self> {
        Ok(Self { workload, time_scale, settings: settings_of(*keys, settings)? })
    }

    fn run(&self, loaded: &[Loaded], check: bool) -> Result<Figures> {
        let requests = &loaded[self.workload].requests;
        if self.time_scale.to_bits() == 1.0f64.to_bits() {
            return Ok(Figures::of(&simulate(&self.settings, requests, check)?));
        }
        let scaled: Vec<Request> = requests
            .iter()
            .map(|request| Request {
                arrival: scaled(request.arrival, self.time_scale),
                ..*request
            })
            .collect();
        Ok(Figures::of(&simulate(&self.settings, &scaled, check)?))
    }
}

/// A time as a multiple, rounded down to nanoseconds.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "not negative; what is too large for a time is the largest one, which is refused"
)]
fn scaled(time: Time, scale: f64) -> Time {
    Time::from_ns((time.as_ns() as f64 * scale) as u64)
}

/// Runs jobs side by side; the figures are in the order of the jobs.
pub(crate) fn run_jobs(
    title: &str,
    jobs: &[Job],
    loaded: &[Loaded],
    check: bool,
) -> Result<std::vec::IntoIter<Figures>> {
    let start = std::time::Instant::now();
    let found =
        jobs.par_iter().progress().map(|job| job.run(loaded, check)).collect::<Result<Vec<_>>>()?;
    let seconds = start.elapsed().as_secs_f64();
    remark(&format!("{title}: {} runs in {seconds:.2} s", jobs.len()));
    Ok(found.into_iter())
}
