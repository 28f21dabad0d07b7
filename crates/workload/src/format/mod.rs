//! Trace formats: one file each, registered by one line.
//!
//! Most formats are rows of columns, and need no code: write `formats/<name>.toml` and add its name
//! to `described!` in `format/columns/mod.rs`. For any other, write `format/<name>.rs` with a type
//! that implements [`Format`] and a constant `INFO`, and add its name to `formats!` below.
//! Detection, `list formats` and the tests follow. With a type that implements
//! [`Writer`](write::Writer), traces can be converted to it.

mod buffer;
mod fields;
mod interface;
mod kernel;

use std::sync::LazyLock;

pub use self::interface::{
    Event, Format, FormatInfo, ObjectOptions, Parsed, ReaderOptions, Record,
};
pub use crate::error::RowError;
use crate::error::{WorkloadError, quoted};
use crate::lines::Lines;
use crate::number::split_blanks;

macro_rules! formats {
    (..$described:ident, $(..$beside:ident,)+ $($module:ident),+ $(,)?) => {
        mod $described;
        $(pub mod $beside;)+
        $(mod $module;)+

        /// The formats that are written by hand.
        const WRITTEN: &[FormatInfo] = &[$($module::INFO),+];

        /// Every text format, in the order of detection and of lists. Formats of described columns
        /// come first, because they recognise their rows more exactly. The binary formats, which
        /// are recognised by their first bytes, are not among them.
        pub static FORMATS: LazyLock<Vec<FormatInfo>> =
            LazyLock::new(|| [&$described::formats()[..], WRITTEN].concat());
    };
}

formats! {
    ..columns,
    ..binary,
    ..blktrace,
    ..write,
    biosnoop,
    biotracer,
    blkparse,
    disksim,
    fio,
    ftrace,
    kv,
    spc,
    ssdsim,
}

impl FormatInfo {
    /// Every format: those of text, and the binary ones.
    pub fn all() -> impl Iterator<Item = &'static Self> {
        FORMATS.iter().chain([&blktrace::INFO, &binary::INFO])
    }

    /// The names of the formats that can be written.
    pub fn writable() -> impl Iterator<Item = &'static str> {
        Self::all().filter(|format| format.writer.is_some()).map(|format| format.name)
    }

    /// The format of this name.
    pub fn from_name(name: &str) -> Option<&'static Self> {
        FormatInfo::all().find(|format| format.name == name)
    }

    /// A reader.
    pub fn open(&self, options: &ReaderOptions<'_>) -> Result<Box<dyn Format>, WorkloadError> {
        check_options(self.name, self.events, self.splits, options)?;
        Ok((self.reader)(options))
    }

    /// The format that recognises most of `lines`, and at least half of them; the earlier one of
    /// two that recognise as many.
    pub fn detect(lines: &[&[u8]]) -> Option<&'static Self> {
        let recognised = |format: &Self| lines.iter().filter(|&&l| (format.recognises)(l)).count();
        let best = FORMATS.iter().rev().max_by_key(|format| recognised(format))?;
        let count = recognised(best);
        (count > 0 && 2 * count >= lines.len()).then_some(best)
    }
}

/// Whether a format has the event and the column that the options ask for.
fn check_options(
    name: &str,
    events: &[Event],
    splits: &[&str],
    options: &ReaderOptions<'_>,
) -> Result<(), WorkloadError> {
    if !events.contains(&options.event) {
        let events: Vec<&str> = events.iter().map(|event| event.word()).collect();
        return Err(WorkloadError::Key {
            key: "trace.event",
            what: format!("{name} has no time of the event, {}", options.event.word()),
            fix: format!("it has {}", events.join(", ")),
        });
    }
    if let Some(split) = options.split.filter(|split| !splits.contains(split)) {
        let fix = match splits {
            [] => "it has no column for streams: take the key out".to_owned(),
            splits => format!("it has {}", splits.join(", ")),
        };
        let what = format!("{name} has no column for streams of this name, {split}");
        return Err(WorkloadError::Key { key: "trace.split", what, fix });
    }
    Ok(())
}

/// A format of this project, or one that the user describes.
#[derive(Debug)]
pub(crate) enum Chosen {
    /// One of [`FORMATS`].
    Known(&'static FormatInfo),
    /// The user's own columns.
    Own(Box<columns::Layout>),
}

impl Chosen {
    /// Its name.
    pub(crate) fn name(&self) -> &str {
        match self {
            Self::Known(info) => info.name,
            Self::Own(layout) => &layout.name,
        }
    }

    /// The events whose times a row has.
    pub(crate) fn events(&self) -> &[Event] {
        match self {
            Self::Known(info) => info.events,
            Self::Own(layout) => layout.events(),
        }
    }

    /// The tick of its clock, in nanoseconds; 0 where it is not known.
    pub(crate) fn tick_ns(&self) -> u64 {
        match self {
            Self::Known(info) => info.tick_ns,
            Self::Own(layout) => layout.tick_ns,
        }
    }

    /// A reader.
    pub(crate) fn open(
        &self,
        options: &ReaderOptions<'_>,
    ) -> Result<Box<dyn Format>, WorkloadError> {
        match self {
            Self::Known(info) => info.open(options),
            Self::Own(layout) => {
                check_options(&layout.name, layout.events(), &layout.splits(), options)?;
                Ok(layout.reader(options))
            }
        }
    }
}

/// What stands for a format that has no name.
const OWN: &str = "its columns, as in \"comma header; time:s op:R/W offset:B size:B\"";

/// Lines that detection looks at.
const SAMPLE_LINES: usize = 16;

/// The format of `lines`: the one that `name` names or describes, or by the first lines where there
/// is no name.
pub(crate) fn resolve(lines: &mut Lines, name: Option<&str>) -> Result<Chosen, WorkloadError> {
    if blktrace::is_next(lines)? {
        let what = "it is a binary trace of blktrace, it starts with the bytes 0x65617400";
        let fix = "take trace.format out, or set it to blktrace".to_owned();
        return Err(WorkloadError::File {
            file: lines.name().to_owned(),
            what: what.to_owned(),
            fix,
        });
    }
    if let Some(name) = name {
        if let Some(own) = columns::own(name) {
            return own.map(|layout| Chosen::Own(Box::new(layout)));
        }
        let known = FormatInfo::from_name(name).map(Chosen::Known);
        return known.ok_or_else(|| WorkloadError::Key {
            key: "trace.format",
            what: format!("there is no format {}", quoted(name.as_bytes())),
            fix: format!("the formats are {}; or give {OWN}", names()),
        });
    }
    let file = lines.name().to_owned();
    let text = lines.peek(SAMPLE_LINES)?;
    let filled = text.split(|&byte| byte == b'\n').map(<[u8]>::trim_ascii);
    let sample: Vec<&[u8]> = filled.filter(|line| !line.is_empty()).take(SAMPLE_LINES).collect();
    let Some(first) = sample.first() else {
        return Err(no_requests(file));
    };
    if sample.iter().any(|line| lacks_addresses(line)) {
        let what = "it is what biosnoop.bt of bpftrace prints, which names no sectors and no sizes";
        let fix = "record with biosnoop of bcc, or with blktrace".to_owned();
        return Err(WorkloadError::File { file, what: what.to_owned(), fix });
    }
    FormatInfo::detect(&sample).map(Chosen::Known).ok_or_else(|| WorkloadError::File {
        file,
        what: format!("its format is not known, it starts with {}", quoted(first)),
        fix: format!("set trace.format to one of {}, or to {OWN}", names()),
    })
}

/// Whether a line is the header of `biosnoop.bt` (repository bpftrace/bpftrace, `tools`), whose
/// rows are completions without addresses: `TIME(ms)`, in newer versions `DISK`, `COMM`, `PID` and
/// `LAT(ms)`.
fn lacks_addresses(line: &[u8]) -> bool {
    let (columns, count) = split_blanks::<5>(line);
    let names = columns.get(..count).unwrap_or_default();
    names.first().is_some_and(|first| [&b"TIME(ms)"[..], b"TIME(us)"].contains(first))
        && names.contains(&&b"COMM"[..])
        && !names.contains(&&b"SECTOR"[..])
}

/// The error of a trace without rows.
pub(crate) fn no_requests(file: String) -> WorkloadError {
    let what = "there are no requests in it".to_owned();
    WorkloadError::File { file, what, fix: "give a trace with one request a line".to_owned() }
}

fn names() -> String {
    FormatInfo::all().map(|format| format.name).collect::<Vec<_>>().join(", ")
}

/// The names of the formats that can be written, in a row.
fn writable_names() -> String {
    FormatInfo::writable().collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests;
