//! What each of several streams found.

use super::metrics::histogram::Histogram;
use super::metrics::parts::Parts;
use super::report::LatencyReport;
use crate::saved::{Reader, RestoreError, Saved, Writer, load_list, save_list};
use flashyard_core::request::RequestOp;
use serde::Serialize;
use std::collections::BTreeMap;

/// What one of several streams found. Together they add up to the whole.
#[derive(Clone, Debug, Serialize)]
pub struct StreamReport {
    /// Requests of all kinds.
    pub requests: u64,
    /// Latencies by class: read, write, all.
    pub latency_ns: BTreeMap<&'static str, LatencyReport>,
    /// Requests a second of the whole makespan.
    pub iops: Option<f64>,
}

/// Sums over the requests of a stream.
#[derive(Clone, Debug)]
pub(super) struct StreamTotals {
    pub(super) name: String,
    latency: [Histogram; 3],
    /// Requests whose latencies do not count.
    skipped: u64,
}

impl Saved for StreamTotals {
    fn save(&self, to: &mut Writer<'_>) {
        to.text(&self.name);
        self.latency.save(to);
        self.skipped.save(to);
    }
    fn load(&mut self, from: &mut Reader<'_>) -> Result<(), RestoreError> {
        self.name = from.text()?;
        self.latency.load(from)?;
        self.skipped.load(from)
    }
}

impl StreamTotals {
    pub(super) fn new(name: &str) -> Self {
        Self { name: name.to_string(), latency: [false; 3].map(Histogram::new), skipped: 0 }
    }

    /// A request has been answered; its latency counts or not.
    pub(super) fn answered(&mut self, op: RequestOp, ns: u64, counts: bool) {
        if !counts {
            self.skipped += 1;
            return;
        }
        let parts = Parts::default();
        match op {
            RequestOp::Read => self.latency[0].record(ns, &parts),
            RequestOp::Write => self.latency[1].record(ns, &parts),
            RequestOp::Trim | RequestOp::Flush => {}
        }
        self.latency[2].record(ns, &parts);
    }

    pub(super) fn report(&self, makespan_ns: u64) -> StreamReport {
        let requests = self.latency[2].count() + self.skipped;
        let names = ["read", "write", "all"].into_iter();
        StreamReport {
            requests,
            latency_ns: names.zip(self.latency.iter().map(LatencyReport::of)).collect(),
            iops: (makespan_ns > 0).then(|| requests as f64 * 1e9 / makespan_ns as f64),
        }
    }
}

/// Streams by name, in the order in which they first came.
#[derive(Clone, Debug, Default)]
pub(super) struct StreamList(pub(super) Vec<StreamTotals>);

impl Saved for StreamList {
    fn save(&self, to: &mut Writer<'_>) {
        save_list(&self.0, to);
    }
    fn load(&mut self, from: &mut Reader<'_>) -> Result<(), RestoreError> {
        load_list(&mut self.0, || StreamTotals::new(""), from)
    }
}
