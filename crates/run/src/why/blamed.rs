//! What the slow reads of a run waited behind, as figures: for checkers of exercises.

use super::follow::Choice;
use super::sums::By;
use super::{Question, explain};
use crate::meter::Runs;
use crate::plan::Plan;
use anyhow::Result;
use flashyard_core::request::RequestOp;
use std::collections::BTreeMap;

/// Time behind operations of one kind.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Behind {
    /// Nanoseconds, summed over the explained requests.
    pub ns: u64,
    /// The same by latency part.
    pub parts: BTreeMap<&'static str, u64>,
    /// The same by why the operations did not make way, as `why --json` names it.
    pub suspension: BTreeMap<&'static str, u64>,
}

/// The slow reads of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SlowReads {
    /// The percentile in nanoseconds.
    pub percentile_ns: u64,
    /// The sum of the latencies of the explained reads, in nanoseconds.
    pub latency_ns: u64,
    /// By operation and purpose of what was in the way.
    pub behind: BTreeMap<(&'static str, &'static str), Behind>,
}

/// Explains the reads at a percentile, in parts of 10,000, and above.
pub fn slow_reads(inputs: &Plan, above: u64, progress: &dyn Runs) -> Result<SlowReads> {
    let found =
        Question { choice: Choice::Above(above), class: Some(RequestOp::Read), by_stream: false };
    let settings = inputs.settings()?;
    let sides = explain(inputs, &settings, &found, true, progress)?;
    let side = sides.first().expect("streams are not told apart");
    let mut behind: BTreeMap<_, Behind> = BTreeMap::new();
    for (key, ns) in side.sums.rows() {
        let By::Operation(op, purpose, _, limit) = key.by else { continue };
        let of = behind.entry((op.name(), purpose.name())).or_default();
        of.ns += ns;
        *of.parts.entry(key.part().name()).or_default() += ns;
        if let Some(limit) = limit {
            *of.suspension.entry(limit.name()).or_default() += ns;
        }
    }
    let percentile_ns = side.percentile.unwrap_or(0);
    Ok(SlowReads { percentile_ns, latency_ns: side.sums.latency_ns, behind })
}
