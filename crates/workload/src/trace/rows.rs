//! The rows of a trace in file order: parsed, filtered and counted.

use super::keys::BadRows;
use super::select::Filter;
use super::source::Source;
use super::{Event, TraceKeys, TraceOptions};
use crate::SourceStats;
use crate::error::WorkloadError;
use crate::format::{self, Parsed, Record, RowError};
use crate::input::Input;
use crate::words::{counted, either, was};

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
    filter: Filter,
    last_time_ns: u64,
    /// Header lines, which are among the other rows.
    headers: u64,
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
            filter: Filter::new(keys),
            last_time_ns: 0,
            headers: 0,
            first_bad: None,
            stats: SourceStats::default(),
        })
    }

    /// What messages call the trace.
    pub(super) fn name(&self) -> &str {
        self.source.name()
    }

    /// The name of the format.
    pub(super) fn format_name(&self) -> &str {
        self.source.format_name()
    }

    /// Events whose times could be used in place of the chosen one's.
    pub(super) fn other_events(&self) -> &[Event] {
        self.source.other_events()
    }

    /// The tick of the clock that the times come from, in nanoseconds; 0 where it is not known.
    pub(super) const fn tick_ns(&self) -> u64 {
        self.source.tick_ns()
    }

    /// What has been read so far.
    pub(super) fn stats(&self) -> SourceStats {
        SourceStats { filtered: self.filter.dropped(), ..self.stats }
    }

    /// The next row, in file order. A trace without any row is an error.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "passed on in registers, rows are read twice as fast")]
    pub(super) fn next_row(&mut self) -> Result<Option<Row>, WorkloadError> {
        let record = loop {
            let Some(row) = self.source.next_row()? else {
                if self.stats.requests == 0 {
                    return Err(self.nothing());
                }
                return Ok(None);
            };
            match row {
                Ok(Parsed::Request(record)) if !ends_inside(&record) => {
                    self.bad(behind_the_last(&record))?;
                }
                Ok(Parsed::Request(record)) if self.filter.keeps(&record) => break record,
                Ok(Parsed::Request(_)) => {}
                Ok(Parsed::Header) => {
                    self.headers += 1;
                    self.stats.other_rows += 1;
                }
                Ok(Parsed::Other) => self.stats.other_rows += 1,
                Err(error) => self.bad(error)?,
            }
        };
        if record.time_ns < self.last_time_ns {
            self.stats.steps_back += 1;
            let back_ns = self.last_time_ns - record.time_ns;
            self.stats.max_back_ns = self.stats.max_back_ns.max(back_ns);
        }
        self.last_time_ns = record.time_ns;
        self.stats.requests += 1;
        Ok(Some(Row { record, line: self.source.line() }))
    }

    /// Whether rows are records that all pass: a binary trace without a filter.
    pub(super) const fn are_plain_records(&self) -> bool {
        matches!(self.source, Source::Binary(_)) && !self.filter.is_active()
    }

    /// The next record where it can be used as it is: right, in the buffer, not earlier than the
    /// one before, and not behind the last sector.
    #[inline]
    pub(super) fn peek_record(&self) -> Option<Record> {
        let Source::Binary(records) = &self.source else { return None };
        let record = records.peek()?;
        (record.time_ns >= self.last_time_ns && ends_inside(&record)).then_some(record)
    }

    /// Passes over the record that was looked at, which is of `time_ns`.
    #[inline]
    pub(super) fn take_record(&mut self, time_ns: u64) {
        if let Source::Binary(records) = &mut self.source {
            records.advance();
            self.last_time_ns = time_ns;
            self.stats.requests += 1;
        }
    }

    /// What the values of the column that makes streams were.
    pub(super) fn stream_names(&self) -> Vec<String> {
        self.source.stream_names()
    }

    /// Whether names of streams may stand in a part that has not been read.
    pub(super) fn may_have_more_names(&self) -> bool {
        self.source.may_have_more_names()
    }

    /// What has become of the rows so far, a sentence each.
    pub(super) fn notes(&self) -> Vec<String> {
        let SourceStats { other_rows, bad_rows, .. } = self.stats;
        let mut notes = Vec::new();
        let headers = self.headers;
        if headers > 0 {
            let are = either(headers, "is a header", "are headers");
            notes.push(format!("{} {are}", counted(headers, "line")));
        }
        let others = other_rows - headers - self.source.noted_rows();
        if others > 0 {
            let (rows, hold) = (self.counted(others), either(others, "holds", "hold"));
            notes.push(format!("{rows} {hold} no request of the chosen event"));
        }
        notes.extend(self.source.notes());
        if let Some(first) = &self.first_bad {
            let (rows, were) = (counted(bad_rows, "row"), was(bad_rows));
            notes.push(format!("{rows} cannot be read and {were} left out, first {first}"));
        }
        notes.extend(self.filter.note());
        notes
    }

    /// So many lines or records.
    fn counted(&self, rows: u64) -> String {
        counted(rows, self.source.row_word())
    }

    /// The error of a trace without a request.
    fn nothing(&self) -> WorkloadError {
        let file = self.source.name().to_owned();
        let SourceStats { other_rows, bad_rows, .. } = self.stats;
        if let Some(note) = self.filter.note().filter(|_| self.filter.dropped() > 0) {
            let what = format!("no request is left of it: {note}");
            return WorkloadError::File { file, what, fix: "filter less".to_owned() };
        }
        if other_rows + bad_rows == 0 {
            return format::no_requests(file);
        }
        if other_rows == self.headers && bad_rows == 0 {
            let what = "there are no requests in it, only a header".to_owned();
            let fix = "give a trace with one request a line".to_owned();
            return WorkloadError::File { file, what, fix };
        }
        WorkloadError::File {
            file,
            what: format!(
                "there are no requests in it, but {} of something else{} and {bad_rows} that \
                 cannot be read",
                self.counted(other_rows),
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

    /// Counts a row that cannot be read, or refuses it.
    #[cold]
    fn bad(&mut self, error: RowError) -> Result<(), WorkloadError> {
        let error = self.refuse(error);
        if !self.skip_bad {
            return Err(error);
        }
        self.stats.bad_rows += 1;
        self.first_bad.get_or_insert(error);
        Ok(())
    }
}

/// Whether a request ends before the last sector that there can be.
#[inline]
const fn ends_inside(record: &Record) -> bool {
    record.first_sector.checked_add(record.sectors as u64).is_some()
}

/// The refusal of a request that does not.
#[cold]
fn behind_the_last(record: &Record) -> RowError {
    let Record { first_sector, sectors, .. } = record;
    RowError {
        what: format!("first sector is too large, {first_sector} with {sectors} sectors"),
        fix: "requests end at sector 18446744073709551615 at most".to_owned(),
    }
}
