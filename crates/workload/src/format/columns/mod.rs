//! Formats that are described by their columns: a descriptor is data, not code.
//!
//! A descriptor says what stands between the columns of a row, what each of them means and in which
//! unit. The shipped ones are files of the directory `formats`, a line each below; a user's own is
//! a file or one line of text (`trace.format`). All have one grammar, described in docs/TRACES.md.

mod fault;
mod file;
mod grammar;
mod layout;
mod op;
mod reader;
mod writer;

use std::borrow::Cow;
use std::sync::LazyLock;

use self::fault::Fault;
use self::layout::Kind;
pub(crate) use self::layout::Layout;
use self::reader::Reader;
use self::writer::Rows;
use super::write::Writer;
use super::{Format, FormatInfo, ReaderOptions};
use crate::error::WorkloadError;
use flashyard_core::request::SECTOR_BYTES;

macro_rules! described {
    ($($name:ident),+ $(,)?) => {
        /// The shipped descriptors: name and text.
        #[cfg(test)]
        const SHIPPED: &[(&str, &str)] = &[$((
            stringify!($name),
            include_str!(concat!("../../../formats/", stringify!($name), ".toml")),
        )),+];

        /// The formats that are described by their columns, in the order in which they are tried.
        pub(super) fn formats() -> Vec<FormatInfo> {
            vec![$({
                static LAYOUT: LazyLock<Layout> = LazyLock::new(|| shipped(
                    stringify!($name),
                    include_str!(concat!("../../../formats/", stringify!($name), ".toml")),
                ));
                static SPLITS: LazyLock<Vec<&str>> = LazyLock::new(|| LAYOUT.splits());
                FormatInfo {
                    name: &LAYOUT.name,
                    doc: &LAYOUT.title,
                    columns: &LAYOUT.described,
                    example: &LAYOUT.example,
                    recognises: |line| LAYOUT.detect && LAYOUT.recognises(line),
                    events: &LAYOUT.events,
                    splits: &SPLITS,
                    tick_ns: LAYOUT.tick_ns,
                    reader: |options| LAYOUT.reader(options),
                    writer: Some(|| Box::new(Rows::new(Cow::Borrowed(&LAYOUT)))),
                }
            }),+]
        }
    };
}

described! {
    alibaba,
    dtrs,
    fiu,
    heimdall,
    msr,
    pixel6a,
    systor17,
    tencent,
}

/// A shipped descriptor; a test reads every one of them.
fn shipped(name: &str, text: &str) -> Layout {
    file::parse(name, text).unwrap_or_else(|error| panic!("a shipped descriptor is wrong: {error}"))
}

/// The user's own descriptor, where `text` is one: a file that ends in `.toml`, or one line with a
/// colon.
pub(super) fn own(text: &str) -> Option<Result<Layout, WorkloadError>> {
    if text.len() > 5 && text.to_ascii_lowercase().ends_with(".toml") {
        return Some(file::read(text));
    }
    text.contains(':').then(|| {
        grammar::inline(text).map_err(|fault| {
            let Fault { what, fix } = fault;
            WorkloadError::Key { key: "trace.format", what, fix }
        })
    })
}

impl Layout {
    /// A reader; the options hold an event and a column of the format.
    pub(super) fn reader(&self, options: &ReaderOptions<'_>) -> Box<dyn Format> {
        Box::new(Reader::new(self, options))
    }

    /// A writer, where addresses and lengths are in units that sectors consist of.
    pub(super) fn into_writer(self) -> Result<Box<dyn Writer>, WorkloadError> {
        let sector = u64::from(SECTOR_BYTES);
        for column in &self.columns {
            if let Kind::Offset(unit) | Kind::Size(unit) = column.kind
                && !sector.is_multiple_of(unit)
            {
                return Err(WorkloadError::Key {
                    key: "trace.format",
                    what: format!(
                        "rows of {} cannot be written, column {} is in units of {unit} B",
                        self.name, column.name
                    ),
                    fix: "a sector has 512 B: take units of B or sector".to_owned(),
                });
            }
        }
        Ok(Box::new(Rows::new(Cow::Owned(self))))
    }
}

#[cfg(test)]
mod tests;
