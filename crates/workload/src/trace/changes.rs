//! What the transforms of times did, in sentences.

use super::clock::Clock;
use super::epochs::Epochs;
use super::{Event, TimeOrder, TraceKeys};
use crate::SourceStats;
use crate::error::readable_ns;
use crate::words::{counted, either, was};

/// Runs of the clock that a note lists.
const RUNS_SHOWN: usize = 4;

/// A gap that no pause of a host explains, as long as it is most of the trace. Assumed: a day.
const LONG_GAP_NS: u64 = 86_400_000_000_000;

/// Follows the clock from the first request on.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ClockLog {
    first_ns: u64,
    /// The recorded time of the last request.
    last_ns: u64,
    /// The longest time between two requests that follow one another.
    gap_ns: u64,
    /// The same clock without rounding.
    exact: Option<Clock>,
    max_rounded_ns: u64,
}

impl ClockLog {
    pub(super) const fn new(first_ns: u64, exact: Clock) -> Self {
        Self { first_ns, last_ns: first_ns, gap_ns: 0, exact: Some(exact), max_rounded_ns: 0 }
    }

    /// The next request, not earlier than the last one, is at `time_ns`.
    #[inline]
    pub(super) const fn look(&mut self, time_ns: u64) {
        let gap_ns = time_ns - self.last_ns;
        if gap_ns > self.gap_ns {
            self.gap_ns = gap_ns;
        }
        self.last_ns = time_ns;
    }

    /// From the first request to the last, as the run has them.
    pub(super) fn span_ns(&self, clock: &Clock) -> u64 {
        let arrival_ns = |ns| clock.arrival_ns(ns).unwrap_or(u64::MAX);
        arrival_ns(self.last_ns) - arrival_ns(self.first_ns)
    }

    /// What is to be said of a gap that makes up most of the trace: the clock was set, or one of
    /// the requests has no time.
    fn gap_note(&self, others: &[Event]) -> Option<String> {
        let span_ns = self.last_ns - self.first_ns;
        if self.gap_ns < LONG_GAP_NS || self.gap_ns < span_ns - self.gap_ns {
            return None;
        }
        let gap = readable_ns(self.gap_ns);
        let share = 100.0 * self.gap_ns as f64 / span_ns as f64;
        let issue = others.contains(&Event::Issue).then_some(&Event::Issue);
        let other = match issue.or(others.first()) {
            Some(event) => format!(
                "; if the recorded times of some requests are missing, trace.event = \"{}\" takes \
                 others",
                event.word()
            ),
            None => String::new(),
        };
        Some(format!(
            "the clock of the trace jumps by {gap} between two requests, {share:.1} % of its time: \
             rates, idle work and power are those of the jump; trace.start_ms and trace.end_ms \
             leave one side of it out{other}"
        ))
    }

    /// Notes the arrival of a request at `time_ns`.
    pub(super) fn rounded(&mut self, time_ns: u64, arrival_ns: u64) {
        if let Some(exact) = self.exact.and_then(|exact| exact.arrival_ns(time_ns)) {
            self.max_rounded_ns = self.max_rounded_ns.max(exact - arrival_ns);
        }
    }

    /// What the clock did, a sentence each; `others` are events of the format whose times could be
    /// used in place of the chosen one's.
    pub(super) fn notes(
        &self,
        clock: &Clock,
        keys: &TraceKeys,
        span_ns: Option<u64>,
        others: &[Event],
    ) -> Vec<String> {
        let mut notes: Vec<String> = self.gap_note(others).into_iter().collect();
        if let Some(span_ns) = span_ns.filter(|&span_ns| span_ns != keys.duration_ms.as_ns()) {
            let (from, to) = (readable_ns(span_ns), readable_ns(keys.duration_ms.as_ns()));
            if span_ns == 0 {
                notes.push(format!("all requests come at one time, so none was scaled to {to}"));
            } else {
                let factor = keys.duration_ms.as_ns() as f64 / span_ns as f64;
                notes.push(format!("times were scaled from {from} to {to}, a factor of {factor}"));
            }
        } else if keys.time_scale != TraceKeys::default().time_scale {
            let factor = keys.time_scale.millionths() as f64 / 1e6;
            let from = readable_ns(self.last_ns - self.first_ns);
            let start_ns = if keys.rebase { 0 } else { self.first_ns - keys.origin_s.as_ns() };
            let last_ns = clock.arrival_ns(self.last_ns).unwrap_or(start_ns);
            let to = readable_ns(last_ns - start_ns);
            notes.push(format!("times were multiplied by {factor}: {from} became {to}"));
        }
        if !keys.time_quantum_us.is_zero() {
            let quantum = readable_ns(keys.time_quantum_us.as_ns());
            let most = readable_ns(self.max_rounded_ns);
            notes.push(format!(
                "times were rounded down to multiples of {quantum}, by at most {most}"
            ));
        }
        if keys.rebase && self.first_ns > 0 {
            let first = readable_ns(self.first_ns);
            notes.push(format!("the first request, recorded at {first}, arrives at 0"));
        }
        if !keys.rebase && !keys.origin_s.is_zero() {
            notes.push(format!("times count from {} on", readable_ns(keys.origin_s.as_ns())));
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
    let rows = stats.steps_back;
    if keys.time_order != TimeOrder::Error && rows > 0 {
        notes.push(format!(
            "{} {}, by at most {}: sorted",
            counted(rows, "row"),
            either(
                rows,
                "is earlier than the row before it",
                "are earlier than the row before them"
            ),
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
        parts.push(format!("{more} more {} moved", was(more as u64)));
    }
    let gap = readable_ns(keys.epoch_gap_ms.as_ns());
    format!("{} runs of the clock were joined, {gap} apart: {}", moves.len(), parts.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn note(times: &[u64], others: &[Event]) -> Option<String> {
        let mut log = ClockLog::new(times[0], Clock::new(times[0], 0, (1, 1), 0));
        for &time in times {
            log.look(time);
        }
        log.gap_note(others)
    }

    #[test]
    fn a_jump_of_the_clock_is_named() {
        let day = LONG_GAP_NS;
        let jump =
            note(&[0, 5, 100 * day, 100 * day + 7], &[Event::Dequeue, Event::Issue]).unwrap();
        assert!(jump.contains("100.0 % of its time"), "{jump}");
        assert!(jump.ends_with("trace.event = \"issue\" takes others"), "{jump}");
        let alone = note(&[0, 5, 2 * day], &[]).unwrap();
        assert!(alone.ends_with("leave one side of it out"), "{alone}");
        let week: Vec<u64> = (0..7).map(|of| of * day).collect();
        assert_eq!(note(&week, &[]), None, "pauses of a day in a week");
        assert_eq!(note(&[0, day - 1], &[]), None);
        assert!(note(&[0, u64::MAX], &[]).is_some());
    }
}
