//! What has to be known of the whole trace before its first request: the runs of its clock, and how
//! long it is.

use super::epochs::{EpochFinder, Epochs, TooMany};
use super::rows::{Row, Rows};
use super::{TimeOrder, TraceKeys, TraceOptions};
use crate::error::WorkloadError;
use crate::input::Input;

/// What the first pass found, if the keys asked for one.
#[derive(Debug, Default)]
pub(super) struct Survey {
    pub(super) epochs: Option<Epochs>,
    /// From the first request to the last, where that is to become `duration_ms`.
    pub(super) span_ns: Option<u64>,
}

impl Survey {
    /// Reads the trace once where the keys ask for the runs of its clock; its span is still open.
    pub(super) fn new(
        input: &mut Input,
        keys: &TraceKeys,
        options: &TraceOptions,
    ) -> Result<Self, WorkloadError> {
        let join = keys.time_order == TimeOrder::JoinEpochs;
        let stretch = !keys.duration_ms.is_zero();
        if !join && !stretch {
            return Ok(Self::default());
        }
        if !input.is_rereadable() {
            return Err(read_once(input.name(), join));
        }
        if join { Self::join(input, keys, options) } else { Ok(Self::default()) }
    }

    /// Finds the runs of the clock.
    fn join(
        input: &mut Input,
        keys: &TraceKeys,
        options: &TraceOptions,
    ) -> Result<Self, WorkloadError> {
        let mut rows = Rows::open(input, keys, options)?;
        let mut finder = EpochFinder::new(keys.epoch_jump_s.as_ns());
        while let Some(row) = rows.next_row()? {
            if let Err(TooMany(most)) = finder.add(row.record.time_ns) {
                let what = format!("more than {most} runs of the clock");
                let fix = "raise trace.epoch_jump_s above the pauses of the trace".to_owned();
                return Err(rows.error_at(row.line, what, fix));
            }
        }
        let epochs =
            finder.finish(keys.epoch_gap_ms.as_ns()).ok_or_else(|| too_long(input.name()))?;
        Ok(Self { epochs: Some(epochs), span_ns: None })
    }

    /// The time of a row on the joined clock.
    #[inline]
    pub(super) fn joined(&self, row: &Row) -> Option<u64> {
        let time_ns = row.record.time_ns;
        self.epochs.as_ref().map_or(Some(time_ns), |epochs| epochs.join(time_ns))
    }

    /// Runs of the recording clock.
    pub(super) fn epoch_count(&self) -> u64 {
        self.epochs.as_ref().map_or(1, |epochs| epochs.count() as u64)
    }
}

fn read_once(file: &str, join: bool) -> WorkloadError {
    let key = if join { "trace.time_order = \"join_epochs\"" } else { "trace.duration_ms" };
    WorkloadError::File {
        file: file.to_owned(),
        what: format!("{key} reads the trace twice, and this input can be read only once"),
        fix: "save it to a file first".to_owned(),
    }
}

fn too_long(file: &str) -> WorkloadError {
    WorkloadError::File {
        file: file.to_owned(),
        what: "the joined clock runs past 584 years".to_owned(),
        fix: "lower trace.epoch_gap_ms".to_owned(),
    }
}
