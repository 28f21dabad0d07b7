//! Where rows come from: lines of a text format, or the records of a binary one.

use super::{Event, ObjectFull, TraceKeys, TraceOptions};
use crate::error::WorkloadError;
use crate::format::binary::{self, Records};
use crate::format::blktrace::{self, Frames};
use crate::format::{self, Format, ObjectOptions, Parsed, ReaderOptions, RowError};
use crate::input::Input;
use crate::lines::Lines;

/// The rows of a file, not yet placed.
#[derive(Debug)]
pub(super) enum Source {
    /// Rows in lines, one or several; `at_start` until a line has been read.
    Text {
        lines: Lines,
        format: Box<dyn Format>,
        name: String,
        /// Events of the format besides the chosen one.
        others: Vec<Event>,
        tick_ns: u64,
        at_start: bool,
        /// Whether a line may hold several requests.
        several: bool,
    },
    /// One row a record of the project's own format.
    Binary(Box<Records>),
    /// At most one row a record of blktrace.
    Blktrace {
        frames: Frames,
        format: Box<dyn Format>,
        /// Events of the format besides the chosen one.
        others: Vec<Event>,
    },
}

/// What a row holds, or why it cannot be read.
type Step = Result<Parsed, RowError>;

impl Source {
    /// Starts at the first row of `input`.
    pub(super) fn open(
        input: &mut Input,
        keys: &TraceKeys,
        options: &TraceOptions,
    ) -> Result<Self, WorkloadError> {
        let bytes = input.open()?;
        let mut lines = Lines::new(input.name(), bytes);
        let objects = ObjectOptions {
            capacity_sectors: options.capacity_sectors,
            align_sectors: 2 * keys.object_align_kib,
            evicts: keys.object_full == ObjectFull::EvictOldest,
        };
        let split = options.split.as_deref();
        let reading = ReaderOptions { event: keys.event, split, objects };
        let wanted = options.format.as_deref();
        let is_binary = match wanted {
            Some(format) => format == binary::INFO.name,
            None => lines.starts_with(&binary::MAGIC)?,
        };
        let is_blktrace = match wanted {
            Some(format) => format == blktrace::INFO.name,
            None => !is_binary && blktrace::is_next(&mut lines)?,
        };
        if keys.skip_lines > 0 && (is_binary || is_blktrace) {
            let what = format!("a binary trace has no lines, {}", keys.skip_lines);
            let fix = "take the key out".to_owned();
            return Err(WorkloadError::Key { key: "trace.skip_lines", what, fix });
        }
        if is_binary {
            binary::INFO.open(&reading)?;
            return Ok(Self::Binary(Box::new(Records::open(lines)?)));
        }
        if is_blktrace {
            input.file().map_or(Ok(()), blktrace::check_siblings)?;
            let format = blktrace::INFO.open(&reading)?;
            let others = others(blktrace::INFO.events, keys.event);
            return Ok(Self::Blktrace { frames: Frames::open(lines), format, others });
        }
        lines.skip_mark()?;
        for _ in 0..keys.skip_lines {
            if !lines.skip_line()? {
                break;
            }
        }
        let info = format::resolve(&mut lines, wanted)?;
        let (format, name) = (info.open(&reading)?, info.name().to_owned());
        let tick_ns = info.tick_ns();
        let others = others(info.events(), keys.event);
        let several = format.has_several();
        Ok(Self::Text { format, lines, name, others, tick_ns, at_start: true, several })
    }

    /// The name of the format.
    pub(super) fn format_name(&self) -> &str {
        match self {
            Self::Text { name, .. } => name,
            Self::Binary(_) => binary::INFO.name,
            Self::Blktrace { .. } => blktrace::INFO.name,
        }
    }

    /// Events whose times could be used in place of the chosen one's.
    pub(super) fn other_events(&self) -> &[Event] {
        match self {
            Self::Text { others, .. } | Self::Blktrace { others, .. } => others,
            Self::Binary(_) => &[],
        }
    }

    /// The tick of the clock that its times come from, in nanoseconds; 0 where it is not known.
    pub(super) const fn tick_ns(&self) -> u64 {
        match self {
            Self::Text { tick_ns, .. } => *tick_ns,
            Self::Binary(_) | Self::Blktrace { .. } => 0,
        }
    }

    /// What messages call the file.
    pub(super) fn name(&self) -> &str {
        match self {
            Self::Text { lines, .. } => lines.name(),
            Self::Binary(records) => records.name(),
            Self::Blktrace { frames, .. } => frames.name(),
        }
    }

    /// The number of the line or record that was returned last.
    #[inline]
    pub(super) fn line(&self) -> u64 {
        match self {
            Self::Text { lines, .. } => lines.line(),
            Self::Binary(records) => records.number(),
            Self::Blktrace { frames, .. } => frames.number(),
        }
    }

    /// The next row.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "passed on in registers, rows are read twice as fast")]
    pub(super) fn next_row(&mut self) -> Result<Option<Step>, WorkloadError> {
        match self {
            Self::Text { lines, format, at_start, several, .. } => {
                if *several && let Some(record) = format.next_of_line() {
                    return Ok(Some(Ok(Parsed::Request(record))));
                }
                let at_start = std::mem::take(at_start) && !format.needs_header();
                Ok(lines.next_filled()?.map(|line| {
                    let step = format.parse(line);
                    step.map_err(|error| if at_start { of_first(error, line) } else { error })
                }))
            }
            Self::Binary(records) => {
                Ok(records.next_record()?.map(|record| record.map(Parsed::Request)))
            }
            Self::Blktrace { frames, format, .. } => {
                Ok(frames.next_frame()?.map(|frame| format.parse(frame)))
            }
        }
    }

    /// What the values of the column that makes streams were.
    pub(super) fn stream_names(&self) -> Vec<String> {
        match self {
            Self::Text { format, .. } | Self::Blktrace { format, .. } => format.stream_names(),
            Self::Binary(records) => records.stream_names().to_vec(),
        }
    }

    /// Whether names of streams may stand in a part that has not been read.
    pub(super) fn may_have_more_names(&self) -> bool {
        matches!(self, Self::Binary(records) if !records.has_ended())
    }

    /// The events of requests that were passed over, and how many.
    pub(super) fn passed_over(&self) -> Vec<(Event, u64)> {
        match self {
            Self::Text { format, .. } | Self::Blktrace { format, .. } => format.passed_over(),
            Self::Binary(_) => Vec::new(),
        }
    }

    /// What the format says of its rows, a sentence each.
    pub(super) fn notes(&self) -> Vec<String> {
        match self {
            Self::Text { format, .. } | Self::Blktrace { format, .. } => format.notes(),
            Self::Binary(_) => Vec::new(),
        }
    }

    /// How many of the rows that are no requests these notes tell of.
    pub(super) fn noted_rows(&self) -> u64 {
        match self {
            Self::Text { format, .. } | Self::Blktrace { format, .. } => format.noted_rows(),
            Self::Binary(_) => 0,
        }
    }

    /// What a row stands in.
    pub(super) const fn row_word(&self) -> &'static str {
        match self {
            Self::Text { .. } => "line",
            Self::Binary(_) | Self::Blktrace { .. } => "record",
        }
    }

    /// An error in a row that was read earlier.
    pub(super) fn error_at(&self, line: u64, what: String, fix: String) -> WorkloadError {
        let file = self.name().to_owned();
        match self {
            Self::Text { .. } => WorkloadError::Row { file, line, what, fix },
            Self::Binary(_) | Self::Blktrace { .. } => {
                WorkloadError::Record { file, record: line, what, fix }
            }
        }
    }
}

/// The events of a format besides the chosen one.
fn others(events: &[Event], chosen: Event) -> Vec<Event> {
    events.iter().copied().filter(|event| *event != chosen).collect()
}

/// The error of the first line: names of columns are a header that the format does not know. A line
/// of JSON has names and is none.
#[cold]
fn of_first(mut error: RowError, line: &[u8]) -> RowError {
    if line.trim_ascii_start().starts_with(b"{") {
        return error;
    }
    let words = line.split(|byte| b",;|".contains(byte) || byte.is_ascii_whitespace());
    let mut words = words.filter(|word| !word.is_empty()).peekable();
    let names = |word: &[u8]| word.iter().any(u8::is_ascii_alphabetic);
    if words.peek().is_some() && words.all(|word| names(word) && !word[0].is_ascii_digit()) {
        "if the line is a header, set trace.skip_lines = 1".clone_into(&mut error.fix);
    }
    error
}
