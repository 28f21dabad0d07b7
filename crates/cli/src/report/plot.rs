//! Plots as data: what the script in a report draws.

use serde::Serialize;

/// A plot: its place in the page, and what is in it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Plot {
    /// Its name, unique in the page.
    pub(crate) id: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(crate) title: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(crate) note: String,
    /// Whether it takes the whole width of the page.
    pub(crate) wide: bool,
    #[serde(flatten)]
    pub(crate) kind: Kind,
}

/// What is drawn.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "type", rename_all = "lowercase")]
pub(crate) enum Kind {
    /// A line a series.
    Lines { x: Axis, y: Axis, step: bool, series: Vec<Line> },
    /// Areas above one another; each value holds until the end of its bin.
    Area { x: Axis, y: Axis, ends: Vec<u64>, series: Vec<Values> },
    /// Rows of parts behind one another; with `share` each row is 100 %.
    Stack { x: Axis, share: bool, parts: Vec<String>, rows: Vec<Row> },
    /// A bar a row.
    Bars { x: Axis, rows: Vec<Bar> },
    /// A column a whole number.
    Columns { x: Axis, y: Axis, values: Vec<(u64, f64)> },
    /// A place a run, a colour a series. Places that are numbers are joined by lines, others have
    /// bars.
    Points { x: Axis, y: Axis, joined: bool, names: Vec<String>, series: Vec<Values> },
    /// A row a name, a dot a series.
    Dots { x: Axis, names: Vec<String>, series: Vec<Values> },
    /// Figures beside published ones.
    Published { x: Axis, rows: Vec<Beside> },
}

/// An axis: its title, and the unit of its data.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub(crate) struct Axis {
    pub(crate) label: &'static str,
    pub(crate) unit: &'static str,
    pub(crate) log: bool,
    /// Where it ends, if not at the greatest value.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) top: Option<f64>,
}

/// A line through points.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Line {
    pub(crate) name: String,
    pub(crate) points: Vec<(u64, Option<f64>)>,
}

/// A value for each bin, run or row.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Values {
    pub(crate) name: String,
    pub(crate) values: Vec<Option<f64>>,
}

/// A row of parts.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Row {
    pub(crate) name: String,
    pub(crate) values: Vec<f64>,
}

/// A row with one value.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Bar {
    pub(crate) name: String,
    pub(crate) value: f64,
}

/// A figure that was found, and the published one.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Beside {
    pub(crate) name: String,
    pub(crate) found: Option<f64>,
    /// Where one more run would lie.
    pub(crate) low: Option<f64>,
    pub(crate) high: Option<f64>,
    pub(crate) published: f64,
    /// Half of the last digit that is printed.
    pub(crate) half: f64,
    pub(crate) verdict: String,
    /// The class of the colour of the verdict: yes, no, part, open.
    pub(crate) class: &'static str,
}

impl Axis {
    /// A linear axis.
    pub(crate) fn new(label: &'static str, unit: &'static str) -> Self {
        Self { label, unit, ..Self::default() }
    }

    /// A logarithmic one.
    pub(crate) fn log(label: &'static str, unit: &'static str) -> Self {
        Self { log: true, ..Self::new(label, unit) }
    }

    /// One that ends there.
    pub(crate) fn up_to(self, top: f64) -> Self {
        Self { top: Some(top), ..self }
    }
}

impl Plot {
    /// A plot. On a wide page it takes half of the width.
    pub(crate) fn new(id: &str, title: &str, note: &str, kind: Kind) -> Self {
        let [id, title, note] = [id, title, note].map(str::to_string);
        Self { id, title, note, wide: false, kind }
    }

    /// The same across the page.
    pub(crate) fn wide(self) -> Self {
        Self { wide: true, ..self }
    }
}
