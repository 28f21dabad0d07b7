//! Whether a run is under a load that its device was held against a real drive on.

use crate::device::held::{Held, OF_ZONES, Range};
use crate::experiment::{Origin, StreamPlan};
use crate::plan::Plan;
use flashyard_sim::report::Report;
use flashyard_sim::stream::Pacing;
use flashyard_workload::pattern::Access;

/// What a run does that no measured cell of its device does, if there is such a thing; none for
/// devices that were held against no drive. One measured stream is judged by its keys. Several are
/// judged together where cells have a rate of writes: they came from several as well.
pub(crate) fn outside(inputs: &Plan, report: &Report) -> Option<String> {
    let held = &inputs.description.held;
    if held.is_empty() {
        return None;
    }
    let phases = inputs.experiment().phases.iter().filter(|phase| phase.keys.measure);
    let streams: Vec<&StreamPlan> = phases.flat_map(|phase| &phase.streams).collect();
    let state = report.verdict.initial_state;
    let in_state: Vec<&Held> = held
        .iter()
        .filter(|load| load.states.is_empty() || load.states.iter().any(|known| known == state))
        .collect();
    let what = if streams.is_empty() {
        return None;
    } else if let Some(other) = streams.iter().find(|one| one.origin != Origin::Pattern) {
        format!("requests of [{}]", other.origin.section())
    } else if in_state.is_empty() {
        format!("a device that starts {state}")
    } else {
        let rate = writes_per_s(report);
        let fits = |stream: &&StreamPlan| {
            let load = Load::of(stream);
            let several = streams.len() > 1;
            in_state.iter().any(|held| load.is_in(held, several, rate))
        };
        let other = streams.iter().find(|stream| !fits(stream))?;
        Load::of(other).words()
    };
    let known: Vec<String> = held.iter().map(Held::words).collect();
    Some(format!("{what}; held: {}", known.join("; ")))
}

/// Writes a second of a run.
fn writes_per_s(report: &Report) -> f64 {
    let seconds = report.throughput.makespan_ns as f64 / 1e9;
    if seconds > 0.0 { report.workload.writes as f64 / seconds } else { 0.0 }
}

/// What a stream of a pattern does.
struct Load {
    pattern: &'static str,
    /// Where requests are neither uniform nor in order.
    access: Option<&'static str>,
    block_bytes: Range,
    /// Requests outstanding in a closed loop.
    depth: Option<u64>,
}

impl Load {
    fn of(stream: &StreamPlan) -> Self {
        let keys = &stream.pattern;
        let reads = keys.read_percent.ppm();
        let pattern = match (keys.access, reads) {
            (Access::Sequential, 1_000_000) => "read",
            (Access::Sequential, 0) if keys.append => "append",
            (Access::Sequential, 0) if keys.zones > 0 => "zonewrite",
            (Access::Sequential, 0) => "write",
            (_, 1_000_000) => "randread",
            (_, 0) => "randwrite",
            _ => "randrw",
        };
        let is_plain = matches!(keys.access, Access::Uniform | Access::Sequential)
            && keys.sequential_percent.is_zero()
            && keys.trim_percent.is_zero();
        let sizes =
            [keys.size_kib, keys.max_size_kib, keys.write_size_kib, keys.write_max_size_kib];
        let bytes = sizes.map(|size| size.sectors() * 512);
        let bytes = bytes.into_iter().filter(|bytes| *bytes > 0);
        let block_bytes = (bytes.clone().min().unwrap_or(0), bytes.max().unwrap_or(0));
        Self {
            pattern,
            access: (!is_plain).then(|| keys.access.word()),
            block_bytes,
            depth: (stream.keys.pacing == Pacing::Closed).then_some(stream.keys.depth),
        }
    }

    /// Whether a measured load has this one in its bounds.
    fn is_in(&self, held: &Held, several: bool, writes_per_s: f64) -> bool {
        let inside = |value: u64, (low, high): Range| (low..=high).contains(&value);
        if self.access.is_some()
            || !inside(self.block_bytes.0, held.block_bytes)
            || !inside(self.block_bytes.1, held.block_bytes)
        {
            return false;
        }
        match (held.queue_depth, held.writes_per_s) {
            (Some(depths), _) => {
                let fits = self.depth.is_some_and(|depth| inside(depth, depths));
                (!several || OF_ZONES.contains(&self.pattern))
                    && self.pattern == held.pattern
                    && fits
            }
            (None, Some((low, high))) => {
                // A tenth for runs that are not long.
                self.pattern.starts_with("rand")
                    && writes_per_s >= 0.9 * low as f64
                    && writes_per_s <= 1.1 * high as f64
            }
            (None, None) => false,
        }
    }

    fn words(&self) -> String {
        let (low, high) = self.block_bytes;
        let bytes = if low == high { low.to_string() } else { format!("{low} to {high}") };
        let access = self.access.map_or(String::new(), |access| format!(" ({access})"));
        let depth = self
            .depth
            .map_or(", not in a closed loop".to_string(), |depth| format!(", depth {depth}"));
        format!("{}{access} of {bytes} bytes{depth}", self.pattern)
    }
}
