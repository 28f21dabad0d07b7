//! The rows of a trace in file order: parsed, counted, and folded onto the device.

use flashyard_core::request::RequestOp;

use super::keys::{BadRows, Fold};
use super::source::Source;
use super::{TraceKeys, TraceOptions};
use crate::SourceStats;
use crate::error::WorkloadError;
use crate::format::{self, Parsed, Record, RowError};
use crate::input::Input;

/// A request with the line it came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Row {
    pub(super) record: Record,
    pub(super) line: u64,
}

/// Reads rows.
#[derive(Debug)]
pub(super) struct Rows {
    source: Source,
    skip_bad: bool,
    fold: Fold,
    capacity_sectors: Option<u64>,
    last_time_ns: u64,
    /// The first row that could not be read, if such rows are left out.
    first_bad: Option<WorkloadError>,
    stats: SourceStats,
}

impl Rows {
    /// Starts at the first row of `input`.
    pub(super) fn open(
        input: &mut Input,
        keys: &TraceKeys,
        options: &TraceOptions,
    ) -> Result<Self, WorkloadError> {
        Ok(Self {
            source: Source::open(input, keys, options)?,
            skip_bad: keys.bad_rows == BadRows::Skip,
            fold: keys.fold,
            capacity_sectors: options.capacity_sectors,
            last_time_ns: 0,
            first_bad: None,
            stats: SourceStats::default(),
        })
    }

    /// The name of the format.
    pub(super) fn format_name(&self) -> &str {
        self.source.format_name()
    }

    /// What has been read so far.
    pub(super) const fn stats(&self) -> SourceStats {
        self.stats
    }

    /// The next row, in file order. A trace without any row is an error.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "passed on in registers, rows are read twice as fast")]
    pub(super) fn next_row(&mut self) -> Result<Option<Row>, WorkloadError> {
        let mut record = loop {
            let Some(row) = self.source.next_row()? else {
                if self.stats.requests == 0 {
                    return Err(self.nothing());
                }
                return Ok(None);
            };
            match row {
                Ok(Parsed::Request(record)) => break record,
                Ok(Parsed::Other) => self.stats.other_rows += 1,
                Err(error) if self.skip_bad => {
                    self.stats.bad_rows += 1;
                    if self.first_bad.is_none() {
                        self.first_bad = Some(self.refuse(error));
                    }
                }
                Err(error) => return Err(self.refuse(error)),
            }
        };
        self.place(&mut record)?;
        if record.time_ns < self.last_time_ns {
            self.stats.steps_back += 1;
            let back_ns = self.last_time_ns - record.time_ns;
            self.stats.max_back_ns = self.stats.max_back_ns.max(back_ns);
        }
        self.last_time_ns = record.time_ns;
        self.stats.requests += 1;
        Ok(Some(Row { record, line: self.source.line() }))
    }

    /// What the values of the column that makes streams were.
    pub(super) fn stream_names(&self) -> Vec<String> {
        self.source.stream_names()
    }

    /// What has become of the rows so far, a sentence each.
    pub(super) fn notes(&self) -> Vec<String> {
        let SourceStats { other_rows, bad_rows, folded, .. } = self.stats;
        let mut notes = Vec::new();
        if other_rows > 0 {
            notes.push(format!("{other_rows} lines hold no request of the chosen event"));
        }
        if let Some(first) = &self.first_bad {
            notes.push(format!("{bad_rows} rows cannot be read and were left out, first {first}"));
        }
        if folded > 0 {
            notes.push(format!("{folded} requests were moved to fit the device"));
        }
        notes
    }

    /// The error of a trace without a request.
    fn nothing(&self) -> WorkloadError {
        let file = self.source.name().to_owned();
        let SourceStats { other_rows, bad_rows, .. } = self.stats;
        if other_rows + bad_rows == 0 {
            return format::no_requests(file);
        }
        WorkloadError::File {
            file,
            what: format!(
                "there are no requests in it, but {other_rows} lines of something else{} and \
                 {bad_rows} that cannot be read",
                self.events_passed_over()
            ),
            fix: "choose another trace.event or trace.format".to_owned(),
        }
    }

    /// The events that would have been requests, in brackets; nothing where there are none.
    fn events_passed_over(&self) -> String {
        let passed = self.source.passed_over();
        let shown = passed.iter().filter(|(_, count)| *count > 0);
        let shown: Vec<_> = shown.map(|(event, n)| format!("{} {n}", event.word())).collect();
        if shown.is_empty() { String::new() } else { format!(" ({})", shown.join(", ")) }
    }

    /// An error in a line that was read earlier.
    pub(super) fn error_at(&self, line: u64, what: String, fix: String) -> WorkloadError {
        self.source.error_at(line, what, fix)
    }

    fn refuse(&self, error: RowError) -> WorkloadError {
        self.error_at(self.source.line(), error.what, error.fix)
    }

    /// Puts the request on the device, or refuses it.
    fn place(&mut self, record: &mut Record) -> Result<(), WorkloadError> {
        let sectors = u64::from(record.sectors);
        let Some(end) = record.first_sector.checked_add(sectors) else {
            let what = format!("first sector is too large, {}", record.first_sector);
            let fix = "addresses end at sector 18446744073709551615".to_owned();
            return Err(self.refuse(RowError { what, fix }));
        };
        let Some(capacity) = self.capacity_sectors else { return Ok(()) };
        if end <= capacity || record.op == RequestOp::Flush {
            return Ok(());
        }
        if sectors > capacity {
            let what =
                format!("the request is larger than the device, {sectors} sectors of {capacity}");
            let fix = "give the device more capacity".to_owned();
            return Err(self.refuse(RowError { what, fix }));
        }
        if self.fold == Fold::Error {
            let what = format!("the request ends behind the device, sector {end} of {capacity}");
            let fix = "set trace.fold = \"modulo\", or give the device more capacity".to_owned();
            return Err(self.refuse(RowError { what, fix }));
        }
        record.first_sector = (record.first_sector % capacity).min(capacity - sectors);
        self.stats.folded += 1;
        Ok(())
    }
}
