//! What the transforms of times did, in sentences.

use super::clock::Clock;
use super::epochs::Epochs;
use super::{TimeOrder, TraceKeys};
use crate::SourceStats;
use crate::error::readable_ns;

/// Runs of the clock that a note lists.
const RUNS_SHOWN: usize = 4;

/// Follows the clock from the first request on.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ClockLog {
    first_ns: u64,
    /// The recorded time of the last request.
    pub(super) last_ns: u64,
    /// The same clock without rounding.
    exact: Option<Clock>,
    max_rounded_ns: u64,
}

impl ClockLog {
    pub(super) const fn new(first_ns: u64, exact: Clock) -> Self {
        Self { first_ns, last_ns: first_ns, exact: Some(exact), max_rounded_ns: 0 }
    }

    /// Notes the arrival of a request at `time_ns`.
    pub(super) fn rounded(&mut self, time_ns: u64, arrival_ns: u64) {
        if let Some(exact) = self.exact.and_then(|exact| exact.arrival_ns(time_ns)) {
            self.max_rounded_ns = self.max_rounded_ns.max(exact - arrival_ns);
        }
    }

    /// What the clock did, a sentence each.
    pub(super) fn notes(
        &self,
        clock: &Clock,
        keys: &TraceKeys,
        span_ns: Option<u64>,
    ) -> Vec<String> {
        let mut notes = Vec::new();
        if let Some(span_ns) = span_ns.filter(|&span_ns| span_ns != keys.duration_ms) {
            let (from, to) = (readable_ns(span_ns), readable_ns(keys.duration_ms));
            if span_ns == 0 {
                notes.push(format!("all requests come at one time, so none was scaled to {to}"));
            } else {
                let factor = keys.duration_ms as f64 / span_ns as f64;
                notes.push(format!("times were scaled from {from} to {to}, a factor of {factor}"));
            }
        } else if keys.time_scale != TraceKeys::default().time_scale {
            let factor = keys.time_scale as f64 / 1e6;
            let from = readable_ns(self.last_ns - self.first_ns);
            let start_ns = if keys.rebase { 0 } else { self.first_ns - keys.origin_s };
            let last_ns = clock.arrival_ns(self.last_ns).unwrap_or(start_ns);
            let to = readable_ns(last_ns - start_ns);
            notes.push(format!("times were multiplied by {factor}: {from} became {to}"));
        }
        if keys.time_quantum_us > 0 {
            let quantum = readable_ns(keys.time_quantum_us);
            let most = readable_ns(self.max_rounded_ns);
            notes.push(format!(
                "times were rounded down to multiples of {quantum}, by at most {most}"
            ));
        }
        if keys.rebase && self.first_ns > 0 {
            let first = readable_ns(self.first_ns);
            notes.push(format!("the first request, recorded at {first}, arrives at 0"));
        }
        if !keys.rebase && keys.origin_s > 0 {
            notes.push(format!("times count from {} on", readable_ns(keys.origin_s)));
        }
        notes
    }
}

/// What joining and sorting did, a sentence each.
pub(super) fn order_notes(
    keys: &TraceKeys,
    stats: &SourceStats,
    epochs: Option<&Epochs>,
) -> Vec<String> {
    let joined = epochs.filter(|epochs| epochs.count() > 1);
    let mut notes: Vec<String> =
        joined.map(|epochs| joined_note(keys, epochs)).into_iter().collect();
    if keys.time_order != TimeOrder::Error && stats.steps_back > 0 {
        notes.push(format!(
            "{} rows are earlier than the row before them, by at most {}: sorted",
            stats.steps_back,
            readable_ns(stats.max_back_ns)
        ));
    }
    notes
}

fn joined_note(keys: &TraceKeys, epochs: &Epochs) -> String {
    let moves = epochs.moves();
    let shown = moves.iter().enumerate().skip(1).take(RUNS_SHOWN).map(|(number, &(from, to))| {
        let (by, way) = (readable_ns(from.abs_diff(to)), if to < from { "back" } else { "on" });
        format!("run {} moved {way} by {by}", number + 1)
    });
    let mut parts: Vec<String> = shown.collect();
    let more = moves.len() - 1 - parts.len();
    if more > 0 {
        parts.push(format!("{more} more were moved"));
    }
    let gap = readable_ns(keys.epoch_gap_ms);
    format!("{} runs of the clock were joined, {gap} apart: {}", moves.len(), parts.join(", "))
}
