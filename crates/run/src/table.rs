//! Tables: columns and cells, whatever they are written as: CSV, Parquet or Arrow.

use std::borrow::Cow;
use std::fmt;

/// What a column holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Texts.
    Text,
    /// A whole number of 63 bits.
    Count,
    /// One of 64 bits.
    Word,
    /// A number.
    Number,
}

/// A column.
#[derive(Clone, Debug)]
pub struct Field {
    /// Its name.
    pub name: Cow<'static, str>,
    /// What its cells hold.
    pub kind: Kind,
    /// Whether cells may hold nothing.
    pub gaps: bool,
    /// The unit of its values; empty where there is none.
    pub unit: Cow<'static, str>,
    /// What its values are.
    pub what: Cow<'static, str>,
}

impl Field {
    /// A column whose cells may hold nothing.
    pub const fn new(
        name: &'static str,
        kind: Kind,
        unit: &'static str,
        what: &'static str,
    ) -> Self {
        let (unit, what) = (Cow::Borrowed(unit), Cow::Borrowed(what));
        Self { name: Cow::Borrowed(name), kind, gaps: true, unit, what }
    }

    /// The same of texts that are made as the program runs.
    pub fn owned(name: &str, kind: Kind, unit: &str, what: &str) -> Self {
        let own = |text: &str| Cow::Owned(text.to_string());
        Self { name: own(name), kind, gaps: true, unit: own(unit), what: own(what) }
    }

    /// The same with a name of its own.
    #[must_use]
    pub fn named(self, name: String) -> Self {
        Self { name: Cow::Owned(name), ..self }
    }

    /// The same field, without empty cells.
    #[must_use]
    pub const fn whole(mut self) -> Self {
        self.gaps = false;
        self
    }
}

/// What a cell holds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Cell<'a> {
    /// Nothing; the cell of a CSV file is empty.
    Nothing,
    /// A text.
    Text(&'a str),
    /// A whole number.
    Count(u64),
    /// A number.
    Number(f64),
}

impl<T: Into<u64>> From<T> for Cell<'_> {
    fn from(count: T) -> Self {
        Self::Count(count.into())
    }
}

/// As CSV has it; nothing is an empty cell.
impl fmt::Display for Cell<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Nothing => Ok(()),
            Self::Text(text) => f.write_str(text),
            Self::Count(count) => count.fmt(f),
            Self::Number(number) => number.fmt(f),
        }
    }
}

impl Cell<'_> {
    /// A count, or nothing.
    pub fn of(count: Option<impl Into<u64>>) -> Self {
        count.map_or(Self::Nothing, |count| Self::Count(count.into()))
    }
}

/// An entry of the metadata.
pub type Note = (&'static str, String);
