//! Parquet files: rows that are written as they come, and what a file says about itself.
//!
//! Every file has the version of the program, the unit of each column and what it is in its
//! metadata; files of a run have all settings, the seed and the hash of the requests as well.
//! Columns and cells are those of CSV files, too; a build without the feature `parquet` has these
//! alone.

#[cfg_attr(not(feature = "parquet"), path = "absent.rs")]
mod table;

use flashyard_run::contract;
use flashyard_run::plan::Plan;
use std::borrow::Cow;
use std::path::Path;
pub(crate) use table::Table;

/// Whether a file of this name is a Parquet file.
pub(crate) fn is_parquet(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("parquet"))
}

/// What a column holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Text,
    /// A whole number of 63 bits.
    Count,
    /// One of 64 bits.
    Word,
    Number,
}

/// A column.
#[derive(Clone, Debug)]
#[cfg_attr(not(feature = "parquet"), expect(dead_code, reason = "CSV has no units and meanings"))]
pub(crate) struct Field {
    pub(crate) name: Cow<'static, str>,
    pub(crate) kind: Kind,
    /// Whether cells may hold nothing.
    gaps: bool,
    unit: Cow<'static, str>,
    what: Cow<'static, str>,
}

impl Field {
    /// A column whose cells may hold nothing.
    pub(crate) const fn new(
        name: &'static str,
        kind: Kind,
        unit: &'static str,
        what: &'static str,
    ) -> Self {
        let (unit, what) = (Cow::Borrowed(unit), Cow::Borrowed(what));
        Self { name: Cow::Borrowed(name), kind, gaps: true, unit, what }
    }

    /// The same of texts that are made as the program runs.
    pub(crate) fn owned(name: &str, kind: Kind, unit: &str, what: &str) -> Self {
        let own = |text: &str| Cow::Owned(text.to_string());
        Self { name: own(name), kind, gaps: true, unit: own(unit), what: own(what) }
    }

    /// The same with a name of its own.
    pub(crate) fn named(self, name: String) -> Self {
        Self { name: Cow::Owned(name), ..self }
    }

    /// The same where every cell holds something.
    pub(crate) const fn whole(mut self) -> Self {
        self.gaps = false;
        self
    }
}

/// What a cell holds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Cell<'a> {
    Nothing,
    Text(&'a str),
    Count(u64),
    Number(f64),
}

impl<T: Into<u64>> From<T> for Cell<'_> {
    fn from(count: T) -> Self {
        Self::Count(count.into())
    }
}

impl Cell<'_> {
    /// A count, or nothing.
    pub(crate) fn of(count: Option<impl Into<u64>>) -> Self {
        count.map_or(Self::Nothing, |count| Self::Count(count.into()))
    }
}

/// An entry of the metadata.
pub(crate) type Note = (&'static str, String);

/// What the files of a run say about where they come from.
pub(crate) fn notes(inputs: &Plan, provenance: &contract::Provenance) -> Vec<Note> {
    vec![
        ("flashyard.settings", all_settings(inputs)),
        ("flashyard.seed", provenance.seed.map_or_else(String::new, |seed| seed.to_string())),
        ("flashyard.workload_sha256", provenance.workload_sha256.clone()),
    ]
}

/// All settings of a run, idle sections left out.
pub(crate) fn all_settings(inputs: &Plan) -> String {
    let keys = &inputs.sections.device;
    let device = contract::settings(keys, |section| keys.has_section(section));
    serde_json::json!({ "device": device, "workload": contract::plan(inputs) }).to_string()
}
