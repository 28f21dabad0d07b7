//! Traces: a file of requests through a pipeline of transforms, in bounded memory.
//!
//! The order of the stages: skip lines; parse a row; fold it onto the device; join the epochs of
//! its clock; sort by time; rebase to the first request; scale; round. Only `join_epochs` and
//! `duration_ms` need to know the whole trace: they read the file twice, and refuse input that
//! cannot be.

mod clock;
mod epochs;
mod keys;
mod order;
mod rows;
mod source;

use std::io::Read;

use flashyard_core::request::Request;
use flashyard_core::units::Time;

pub use self::keys::{BadRows, Event, Fold, KEY_TRACE, TimeOrder, TraceKeys};

use self::clock::Clock;
use self::epochs::{EpochFinder, Epochs, TooMany};
use self::order::{TooLate, Window};
use self::rows::{Row, Rows};
use crate::error::{WorkloadError, readable_ns};
use crate::input::Input;
use crate::{RequestSource, SourceStats};

/// What is known about a trace beside its keys.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TraceOptions {
    /// Its format: a name, a descriptor file that ends in `.toml`, or a descriptor of one line,
    /// which has a colon; detected where there is none.
    pub format: Option<String>,
    /// The name of the column whose values are the streams; the format's own choice where there is
    /// none.
    pub split: Option<String>,
    /// The sectors of the device; unlimited where there is none.
    pub capacity_sectors: Option<u64>,
}

/// Opens the trace at `path` (`-` is standard input).
pub fn open_trace(
    path: &str,
    keys: &TraceKeys,
    options: &TraceOptions,
) -> Result<Trace, WorkloadError> {
    Trace::open(Input::path(path), keys, options)
}

/// Opens a trace that comes out of `reader`, which messages call `name`.
pub fn from_reader(
    name: &str,
    reader: Box<dyn Read + Send>,
    keys: &TraceKeys,
    options: &TraceOptions,
) -> Result<Trace, WorkloadError> {
    Trace::open(Input::reader(name, reader), keys, options)
}

/// Arrivals end at 2^62 ns (146 years), so that no time of a simulation can overflow.
const LAST_ARRIVAL_NS: u64 = 1 << 62;

/// A trace as a stream of requests.
#[derive(Debug)]
pub struct Trace {
    keys: TraceKeys,
    rows: Rows,
    survey: Survey,
    window: Window,
    clock: Option<Clock>,
    /// No row is left to read: only the window is.
    drained: bool,
}

impl Trace {
    /// Opens a trace. Where the keys need it, reads all of it once first.
    pub fn open(
        mut input: Input,
        keys: &TraceKeys,
        options: &TraceOptions,
    ) -> Result<Self, WorkloadError> {
        check_keys(keys, options)?;
        let survey = Survey::new(&mut input, keys, options)?;
        let window = match keys.time_order {
            TimeOrder::Error => 0,
            TimeOrder::Sort | TimeOrder::JoinEpochs => {
                usize::try_from(keys.sort_window).expect("the greatest window fits")
            }
        };
        let rows = Rows::open(&mut input, keys, options)?;
        let window = Window::new(window);
        Ok(Self { keys: *keys, rows, survey, window, clock: None, drained: false })
    }

    /// The name of its format.
    pub fn format_name(&self) -> &str {
        self.rows.format_name()
    }

    /// What the values of the column that makes streams were, by number of the stream, of the rows
    /// read so far. Empty where streams are the numbers that the rows have.
    pub fn stream_names(&self) -> Vec<String> {
        self.rows.stream_names()
    }

    /// The next row in order of time.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "passed on in registers, rows are read twice as fast")]
    fn next_sorted(&mut self) -> Result<Option<Row>, WorkloadError> {
        while !self.drained {
            let Some(mut row) = self.rows.next_row()? else {
                self.drained = true;
                break;
            };
            row.record.time_ns = self.survey.joined(&row).ok_or_else(|| self.changed(row.line))?;
            match self.window.push(row) {
                Ok(Some(row)) => return Ok(Some(row)),
                Ok(None) => {}
                Err(late) => return Err(self.out_of_order(row.line, &late)),
            }
        }
        Ok(self.window.pop())
    }

    /// The clock, which starts with the first request in order of time.
    fn clock(&mut self, first_ns: u64) -> Clock {
        let keys = &self.keys;
        let scale = match self.survey.span_ns {
            Some(0) => (1, 1),
            Some(span_ns) => (keys.duration_ms, span_ns),
            None => (keys.time_scale, 1_000_000),
        };
        let clock = Clock::new(first_ns, keys.rebase, scale, keys.time_quantum_us);
        *self.clock.get_or_insert(clock)
    }

    fn changed(&self, line: u64) -> WorkloadError {
        let what = "the time was not there when the file was read first".to_owned();
        self.rows.error_at(line, what, "leave the file alone while it is read".to_owned())
    }

    fn out_of_order(&self, line: u64, late: &TooLate) -> WorkloadError {
        let back = readable_ns(late.back_ns);
        if self.keys.time_order == TimeOrder::Error {
            let what = format!("time steps back by {back}");
            let fix = "set trace.time_order = \"sort\" to sort the rows, or \"join_epochs\" if \
                       the clock was set while recording";
            return self.rows.error_at(line, what, fix.to_owned());
        }
        let window = self.keys.sort_window;
        let what = format!("time steps back by {back}, too far for a window of {window} requests");
        let fix = match late.window {
            Some(window) => format!("trace.sort_window = {window} reaches this row"),
            None => "sort the file, or set trace.time_order = \"join_epochs\" if the clock was \
                     set while recording"
                .to_owned(),
        };
        self.rows.error_at(line, what, fix)
    }
}

impl RequestSource for Trace {
    fn next_request(&mut self) -> Result<Option<Request>, WorkloadError> {
        let Some(row) = self.next_sorted()? else { return Ok(None) };
        let record = row.record;
        let clock = self.clock.unwrap_or_else(|| self.clock(record.time_ns));
        let arrival_ns = clock.arrival_ns(record.time_ns).filter(|&ns| ns <= LAST_ARRIVAL_NS);
        let Some(arrival_ns) = arrival_ns else {
            let what = format!("the time is too large, {} ns", record.time_ns);
            let fix =
                "arrivals end at 146 years; lower trace.time_scale or trace.duration_ms".to_owned();
            return Err(self.rows.error_at(row.line, what, fix));
        };
        Ok(Some(Request {
            arrival: Time::from_ns(arrival_ns),
            first_sector: record.first_sector,
            sectors: record.sectors,
            stream: record.stream,
            op: record.op,
            flags: record.flags,
        }))
    }

    fn stats(&self) -> SourceStats {
        SourceStats { clock_epochs: self.survey.epoch_count(), ..self.rows.stats() }
    }

    fn notes(&self) -> Vec<String> {
        self.rows.notes()
    }
}

/// What the first pass found, if the keys asked for one.
#[derive(Debug, Default)]
struct Survey {
    epochs: Option<Epochs>,
    /// From the first request to the last, where that is to become `duration_ms`.
    span_ns: Option<u64>,
}

impl Survey {
    fn new(
        input: &mut Input,
        keys: &TraceKeys,
        options: &TraceOptions,
    ) -> Result<Self, WorkloadError> {
        let join = keys.time_order == TimeOrder::JoinEpochs;
        let stretch = keys.duration_ms > 0;
        if !join && !stretch {
            return Ok(Self::default());
        }
        if !input.is_rereadable() {
            return Err(read_once(input.name(), join));
        }
        let mut rows = Rows::open(input, keys, options)?;
        let mut finder = EpochFinder::new(keys.epoch_jump_s);
        let (mut first_ns, mut last_ns) = (u64::MAX, 0);
        while let Some(row) = rows.next_row()? {
            let time_ns = row.record.time_ns;
            (first_ns, last_ns) = (time_ns.min(first_ns), time_ns.max(last_ns));
            if join && let Err(TooMany(most)) = finder.add(time_ns) {
                let what = format!("more than {most} runs of the clock");
                let fix = "raise trace.epoch_jump_s above the pauses of the trace".to_owned();
                return Err(rows.error_at(row.line, what, fix));
            }
        }
        let epochs = if join {
            let epochs = finder.finish(keys.epoch_gap_ms).ok_or_else(|| too_long(input.name()))?;
            (first_ns, last_ns) = (epochs.start_ns(), epochs.end_ns());
            Some(epochs)
        } else {
            None
        };
        Ok(Self { epochs, span_ns: stretch.then_some(last_ns - first_ns) })
    }

    /// The time of a row on the joined clock.
    fn joined(&self, row: &Row) -> Option<u64> {
        let time_ns = row.record.time_ns;
        self.epochs.as_ref().map_or(Some(time_ns), |epochs| epochs.join(time_ns))
    }

    fn epoch_count(&self) -> u64 {
        self.epochs.as_ref().map_or(1, |epochs| epochs.count() as u64)
    }
}

fn check_keys(keys: &TraceKeys, options: &TraceOptions) -> Result<(), WorkloadError> {
    if options.capacity_sectors == Some(0) {
        let what = "the device has no sectors, 0".to_owned();
        let fix = "give it a capacity".to_owned();
        return Err(WorkloadError::Key { key: "trace.fold", what, fix });
    }
    if keys.duration_ms > 0 && keys.time_scale != TraceKeys::default().time_scale {
        let what = "there is a duration and a scale".to_owned();
        let fix = "set only one of trace.time_scale and trace.duration_ms".to_owned();
        return Err(WorkloadError::Key { key: "trace.duration_ms", what, fix });
    }
    Ok(())
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

#[cfg(test)]
mod tests;
