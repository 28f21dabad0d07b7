//! What each of several streams found.

use super::report::LatencyReport;
use crate::metrics::histogram::Histogram;
use crate::metrics::parts::Parts;
use crate::saved::saved;
use flashyard_core::request::RequestOp;
use flashyard_core::units::Time;
use serde::Serialize;
use std::collections::BTreeMap;

/// What one of several streams found. Together they add up to the whole.
#[derive(Clone, Debug, Serialize)]
pub struct StreamReport {
    /// Requests of all kinds.
    pub requests: u64,
    /// Latencies by class: read, write, trim, flush, all.
    pub latency_ns: BTreeMap<&'static str, LatencyReport>,
    /// Requests a second of the whole makespan.
    pub iops: Option<f64>,
    /// From its first arrival to its last answer, over the phases in which it has requests.
    pub active_ns: u64,
    /// Sum of the latencies / sum of the parts of them that are work of the requests themselves.
    pub slowdown: Option<f64>,
    /// Time in which a request waited for the rate limit.
    pub rate_limited_ns: u64,
    /// Bytes of the reads and writes that were answered in each bin of the series.
    pub bin_bytes: Option<Vec<u64>>,
}

impl StreamReport {
    /// Requests a second of its own time: the others may go on when its requests are over.
    pub fn own_iops(&self) -> Option<f64> {
        (self.active_ns > 0).then(|| self.requests as f64 * 1e9 / self.active_ns as f64)
    }
}

/// Sums over the requests of a stream.
#[derive(Clone, Debug)]
pub(super) struct StreamTotals {
    pub(super) name: String,
    /// By operation.
    latency: [Histogram; 4],
    /// Requests whose latencies do not count.
    skipped: u64,
    /// Latencies, and the work of the requests themselves in them.
    latency_ns: u128,
    own_ns: u128,
    pub(super) rate_limited_ns: u64,
    /// Time between first arrivals and last answers in phases that are over.
    active_ns: u64,
    /// Of the current phase: first arrival, last arrival and last answer.
    times: Option<[Time; 3]>,
    /// Whether its requests come at times of their own in the current phase.
    pub(super) is_open: bool,
}

saved!(StreamTotals { name, latency, latency_ns, own_ns, skipped, rate_limited_ns, active_ns }
    skip { times, is_open });

impl Default for StreamTotals {
    fn default() -> Self {
        Self::new("")
    }
}

impl StreamTotals {
    pub(super) fn new(name: &str) -> Self {
        Self {
            name: name.to_string(),
            latency: [false; 4].map(Histogram::new),
            skipped: 0,
            latency_ns: 0,
            own_ns: 0,
            rate_limited_ns: 0,
            active_ns: 0,
            times: None,
            is_open: false,
        }
    }

    /// A request arrives.
    pub(super) fn arrived(&mut self, now: Time) {
        self.times.get_or_insert([now; 3])[1] = now;
    }

    /// A phase is over. Returns its first arrival in it, its last one and its last answer.
    pub(super) fn end_phase(&mut self) -> Option<[Time; 3]> {
        let times = self.times.take()?;
        self.active_ns += times[2].since(times[0]).as_ns();
        Some(times)
    }

    /// A request has been answered, after a latency of these parts that counts or not.
    pub(super) fn answered(&mut self, op: RequestOp, parts: &Parts, counts: bool, now: Time) {
        if let Some(times) = &mut self.times {
            times[2] = now;
        }
        if !counts {
            self.skipped += 1;
            return;
        }
        let ns = parts.total();
        self.latency_ns += u128::from(ns);
        self.own_ns += u128::from(parts.own());
        self.latency[op as usize].record(ns, parts);
    }

    pub(super) fn report(&self, makespan_ns: u64, bin_bytes: Option<Vec<u64>>) -> StreamReport {
        let all = Histogram::merged(&self.latency);
        let requests = all.count() + self.skipped;
        let classes = RequestOp::ALL.map(RequestOp::name).into_iter().chain(["all"]);
        let latency = self.latency.iter().chain([&all]).map(LatencyReport::of);
        StreamReport {
            requests,
            latency_ns: classes.zip(latency).collect(),
            slowdown: (self.own_ns > 0).then(|| self.latency_ns as f64 / self.own_ns as f64),
            rate_limited_ns: self.rate_limited_ns,
            active_ns: self.active_ns,
            bin_bytes,
            iops: (makespan_ns > 0).then(|| requests as f64 * 1e9 / makespan_ns as f64),
        }
    }
}

/// Streams by name, in the order in which they first came.
#[derive(Clone, Debug, Default)]
pub(super) struct StreamList(pub(super) Vec<StreamTotals>);

saved!(StreamList {} lists { 0 });
