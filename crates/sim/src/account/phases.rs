//! Phases: what each of them did, and which of them count in the report.

use super::Account;
use super::recovered::Took;
use super::totals::Totals;
use super::usage::Usage;
use crate::metrics::counters::{ArrayWork, Phase};
use crate::metrics::meter::Meter;
use crate::metrics::series::Series;
use crate::saved::{Reader, RestoreError, Saved, Writer};
use crate::stream::StreamKeys;
use flashyard_core::command::{Op, Purpose};
use flashyard_core::units::Time;
use serde::Serialize;

/// What a phase did.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PhaseReport {
    /// Its place among the phases of the device, from 0.
    pub index: u64,
    /// The name that the program gives the phase. Until then, the index as text.
    pub name: String,
    /// Whether it counts in the report.
    pub measured: bool,
    /// Requests of all streams.
    pub requests: u64,
    /// Last completion - first arrival.
    pub makespan_ns: u64,
    /// Bytes programmed for all purposes / bytes the host wrote.
    pub write_amplification: Option<f64>,
    /// What ended it: source, requests, time, stable or, of a loss of power, cut.
    pub ended_by: &'static str,
}

/// What has been done so far, in measured phases.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Figures {
    /// Bytes that the host has asked to read.
    pub read_bytes: u64,
    /// Bytes that the host has asked to write.
    pub written_bytes: u64,
    /// Bytes programmed for all purposes; 0 on a disk.
    pub programmed_bytes: u128,
    /// Blocks erased; 0 on a disk.
    pub erased_blocks: u64,
    /// Energy of operations, in arrays and on channels, in picojoules. That of the link, of
    /// controller and memory, and of idle times is in the report of the end.
    pub operations_pj: u128,
}

impl Figures {
    /// Bytes programmed / bytes the host has asked to write; none before the first.
    pub fn write_amplification(&self) -> Option<f64> {
        (self.written_bytes > 0).then(|| self.programmed_bytes as f64 / self.written_bytes as f64)
    }
}

/// What can end a phase.
const ENDS: [&str; 5] = ["source", "requests", "time", "stable", "cut"];

impl PhaseReport {
    pub(super) fn save(&self, to: &mut Writer<'_>) {
        to.text(&self.name);
        self.measured.save(to);
        let ended_by = ENDS.iter().position(|end| *end == self.ended_by);
        [self.index, self.requests, self.makespan_ns].save(to);
        self.write_amplification.save(to);
        ended_by.expect("a reason of the list").save(to);
    }

    pub(super) fn restored(from: &mut Reader<'_>) -> Result<Self, RestoreError> {
        let name = from.text()?;
        let (mut measured, mut counts, mut end) = (false, [0u64; 3], 0usize);
        let mut write_amplification = None;
        measured.load(from)?;
        counts.load(from)?;
        write_amplification.load(from)?;
        end.load(from)?;
        Ok(Self {
            index: counts[0],
            name,
            measured,
            requests: counts[1],
            makespan_ns: counts[2],
            write_amplification,
            ended_by: ENDS.get(end).ok_or(RestoreError::Corrupt)?,
        })
    }
}

/// The phase under way: the sums at its start.
#[derive(Clone)]
pub(super) struct OpenPhase {
    /// The sums of the measured phases, where this one is not measured.
    kept: Option<(Totals, Option<Series>, Option<Meter>)>,
    requests: u64,
    programmed: u128,
    written: u64,
    cleaned: u64,
}

impl Account {
    /// A phase of these streams begins. By now the map cache has cleaned `cleaned` lines in
    /// batches.
    pub(crate) fn begin_phase(
        &mut self,
        now: Time,
        measured: bool,
        cleaned: u64,
        streams: &[(String, StreamKeys)],
    ) {
        let kept =
            (!measured).then(|| (self.totals.set_aside(), self.take_series(), self.take_meter()));
        self.begin_records(now);
        self.totals.begin(streams, self.tells_streams_apart);
        self.open = Some(OpenPhase {
            kept,
            requests: self.totals.requests,
            programmed: self.programmed_bytes(),
            written: self.totals.written_bytes(),
            cleaned,
        });
    }

    /// The phase is over and so is its work. Requests of each stream were held so long by its rate
    /// limit (ns), and by now the map cache has cleaned `cleaned` lines in batches. `work` is what
    /// dies and channels had done at its first arrival and at its last completion. Returns its
    /// report.
    pub(crate) fn end_phase(
        &mut self,
        now: Time,
        ended_by: &'static str,
        (held, cleaned): (impl Iterator<Item = u64>, u64),
        work: Option<(&Usage, &Usage)>,
    ) -> PhaseReport {
        for (&place, ns) in self.totals.stream_places.iter().zip(held) {
            self.totals.streams.0[place].rate_limited_ns += ns;
        }
        let open = self.open.take().expect("a phase is under way");
        let first = self.totals.phase_first;
        let written = self.totals.written_bytes() - open.written;
        let programmed = self.programmed_bytes() - open.programmed;
        let index = self.phases.len() as u64;
        let report = PhaseReport {
            index,
            name: index.to_string(),
            measured: open.kept.is_none(),
            requests: self.totals.requests - open.requests,
            makespan_ns: self.totals.end_phase(now),
            write_amplification: (written > 0).then(|| programmed as f64 / written as f64),
            ended_by,
        };
        if let Some((totals, series, meter)) = open.kept {
            self.totals = totals;
            self.set_series(series);
            self.set_meter(meter);
            self.totals.unmeasured_cleaned += cleaned - open.cleaned;
        } else {
            self.rest_meter();
            if let Some((from, to)) = work {
                self.measured.add(from, to);
            }
            if let (Some(recovery), Some(first)) = (&self.recovery, first) {
                recovery.add_usage(&mut self.measured, (first, now));
            }
        }
        if let Some(first) = first {
            self.recovery_counts(first);
        }
        self.phases.push(report.clone());
        report
    }

    /// The power fails, and with it the phase under way ends. `work` is what dies and channels had
    /// done at its first arrival, and until now. Recovery `took` so much.
    pub(crate) fn power_fails(&mut self, now: Time, cleaned: u64, work: [&Usage; 2], took: Took) {
        let has_begun = self.totals.phase_first.is_some();
        if has_begun {
            // Requests that nobody answers last until now.
            self.totals.last_completion = now;
        }
        self.end_phase(now, "cut", (std::iter::empty(), cleaned), has_begun.then_some(work.into()));
        if let Some(meter) = self.meter() {
            // Recovery reads before time goes on.
            meter.misses();
        }
        for (slc, read) in [false, true].into_iter().zip(&took.reads) {
            let kind = (ArrayWork::of(Op::Read, slc), Purpose::Recovery);
            // Until a request arrives, there is none behind it.
            self.worked(Phase::Post, kind, None, read);
        }
        self.recovery = Some(Box::new(took));
    }

    /// A request has arrived behind the last recovery, the first one at this instant: it waited for
    /// the recovery, or that was idle work.
    fn recovery_counts(&mut self, first: Time) {
        let Some(recovery) = self.recovery.take() else { return };
        let phase = if recovery.delays(first) { Phase::Foreground } else { Phase::Idle };
        let [_, _, post] = &mut self.totals.work;
        let reads = post.take(Purpose::Recovery);
        self.totals.work[phase as usize].merge(&reads);
    }

    /// Work between phases, or after the last one, begins.
    pub(crate) fn begin_maintenance(&mut self, now: Time) {
        self.totals.maintains = true;
        self.totals.energy.quiet_until = now;
        self.begin_records(now);
    }

    /// Measured time begins.
    fn begin_records(&mut self, now: Time) {
        if let Some(series) = self.series() {
            series.begin(now);
        }
        if let Some(meter) = self.meter() {
            meter.begin(now);
        }
    }

    /// Work between phases is over; it began at `start`.
    pub(crate) fn end_maintenance(&mut self, start: Time, now: Time) {
        self.totals.end_maintenance(now.since(start));
        self.rest_meter();
    }
}
