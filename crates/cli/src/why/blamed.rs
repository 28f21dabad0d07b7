//! What the slow reads of a run waited behind, as figures: for checkers of exercises.

use super::follow::Choice;
use super::sums::By;
use super::{Found, data, explained};
use anyhow::Result;
use flashyard_core::request::RequestOp;
use flashyard_run::plan::Plan;
use std::collections::BTreeMap;

/// Time behind operations of one kind.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Behind {
    /// Nanoseconds, summed over the explained requests.
    pub(crate) ns: u64,
    /// The same by latency part.
    pub(crate) parts: BTreeMap<&'static str, u64>,
    /// The same by why the operations did not make way, as `why --json` names it.
    pub(crate) suspension: BTreeMap<&'static str, u64>,
}

/// The slow reads of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SlowReads {
    /// The percentile in nanoseconds.
    pub(crate) percentile_ns: u64,
    /// The sum of the latencies of the explained reads, in nanoseconds.
    pub(crate) latency_ns: u64,
    /// By operation and purpose of what was in the way.
    pub(crate) behind: BTreeMap<(&'static str, &'static str), Behind>,
}

/// Explains the reads at a percentile, in parts of 10,000, and above.
pub(crate) fn slow_reads(inputs: &Plan, above: u64) -> Result<SlowReads> {
    let found =
        Found { choice: Choice::Above(above), class: Some(RequestOp::Read), by_stream: false };
    let settings = inputs.settings()?;
    let sides = explained(inputs, &settings, &found, true)?;
    let side = sides.first().expect("streams are not told apart");
    let mut behind: BTreeMap<_, Behind> = BTreeMap::new();
    for (key, ns) in side.sums.rows() {
        let By::Operation(op, purpose, _, limit) = key.by else { continue };
        let of = behind.entry((op.name(), purpose.name())).or_default();
        of.ns += ns;
        *of.parts.entry(key.part().name()).or_default() += ns;
        if let Some(limit) = limit {
            *of.suspension.entry(data::suspension(limit)).or_default() += ns;
        }
    }
    let percentile_ns = side.percentile.unwrap_or(0);
    Ok(SlowReads { percentile_ns, latency_ns: side.sums.latency_ns, behind })
}
