//! The tables of a study. A cell is an expression, which is evaluated for its row and its column.

use crate::eval::{Evaluator, Figures, Scope};
use crate::expr::{Context, Expr};
use crate::names::Group;
use crate::sample::Sample;
use crate::schema::{self, Form, Rows};
use crate::show;
use crate::study::{HERE, SENSITIVITY, Study};
use anyhow::{Context as _, Result, ensure};
use flashyard_run::stats::{mean, median};
use serde_json::{Value, json};

/// What a row or a column chooses.
#[derive(Clone, Debug)]
enum Choice {
    Workload(usize),
    Subject(usize),
    Point(usize),
    Group(Vec<usize>),
}

/// A row or a column: its name and its choice.
#[derive(Clone, Debug)]
struct Entry {
    name: String,
    choice: Option<Choice>,
}

/// A column, ready to be evaluated.
#[derive(Clone, Debug)]
struct Column {
    entry: Entry,
    expr: Expr,
    form: Form,
    mean: bool,
}

/// A table, ready to be evaluated.
#[derive(Debug)]
pub(crate) struct Compiled {
    title: String,
    note: Option<String>,
    grid: usize,
    rows: Vec<Entry>,
    per: Vec<Entry>,
    columns: Vec<Column>,
    /// Groups of workloads that get a mean and a median each.
    groups: Vec<Group>,
    /// The baseline of the study where the table's runs have it, and its load.
    baseline: Option<(String, Expr)>,
}

/// A finished table.
#[derive(Clone, Debug, PartialEq)]
pub struct Filled {
    /// What it shows.
    pub title: String,
    note: Option<String>,
    /// The titles of the columns, and how their cells are shown.
    pub columns: Vec<(String, Form)>,
    /// The rows.
    pub rows: Vec<Line>,
    /// The least and the greatest load of the baseline in the runs of the table.
    load: Option<Load>,
}

/// The load of a baseline: requests outstanding on average.
#[derive(Clone, Debug, PartialEq)]
struct Load {
    subject: String,
    low: f64,
    high: f64,
}

impl Load {
    fn text(&self) -> String {
        let [low, high] = [self.low, self.high].map(|load| format!("{load:.2}"));
        let range = if low == high { low } else { format!("{low} to {high}") };
        format!("Load of {}: {range} requests outstanding on average.", self.subject)
    }
}

/// A row: its name, and its cells.
pub type Line = (String, Vec<Option<Cell>>);

/// A value in the unit of its column, and whether the queue of one of its runs grew.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cell {
    /// The value.
    pub value: f64,
    overloaded: bool,
}

impl Compiled {
    /// Reads the expressions of all tables; an error names what does not exist.
    pub(crate) fn all(study: &Study) -> Result<Vec<Self>> {
        let tables = study.experiment.table.iter();
        let tables = tables.map(|row| Self::one(study, row).with_context(|| row.title.clone()));
        let mut all = tables.collect::<Result<Vec<_>>>()?;
        if let Some(sensitivity) = &study.experiment.sensitivity {
            all.push(Self::sensitivity(study, sensitivity).context("sensitivity")?);
        }
        Ok(all)
    }

    fn one(study: &Study, row: &schema::Table) -> Result<Self> {
        let grid = study.grid(&row.grid)?;
        let groups = study.groups_in(grid, &row.groups)?;
        let listed = |workload: &usize| {
            row.workloads.is_empty() || row.workloads.contains(&study.names.workloads[*workload])
        };
        for name in &row.workloads {
            study.names.workloads_of(name)?;
        }
        let chosen = |group: &Group| Group {
            workloads: group.workloads.iter().copied().filter(listed).collect(),
            ..group.clone()
        };
        let groups: Vec<Group> = groups.iter().map(chosen).collect();
        let groups: Vec<Group> =
            groups.into_iter().filter(|group| !group.workloads.is_empty()).collect();
        let entries = |what| entries(study, grid, &groups, what);
        let per = match row.per {
            None => vec![Entry { name: String::new(), choice: None }],
            Some(what) => entries(what),
        };
        let mut columns = Vec::new();
        for column in &row.column {
            let chosen = [Some(row.rows), row.per, column.each];
            let context = context(study, grid, &chosen);
            let expr = Expr::number(&column.cell, &study.names, context);
            let expr = expr.with_context(|| column.title.clone())?;
            let of = |entry: Entry| {
                let name = column.title.replace("{}", &entry.name);
                let entry = Entry { name, ..entry };
                Column { entry, expr: expr.clone(), form: column.form, mean: column.mean }
            };
            match column.each {
                None => columns.push(of(Entry { name: String::new(), choice: None })),
                Some(what) => {
                    let all = entries(what);
                    for name in &column.only {
                        let known = all.iter().any(|entry| entry.name == *name);
                        ensure!(known || what == Rows::Groups, "{name}: not among {what:?}");
                    }
                    let is_wanted =
                        |e: &Entry| column.only.is_empty() || column.only.contains(&e.name);
                    columns.extend(all.into_iter().filter(is_wanted).map(of));
                }
            }
        }
        let rows = entries(row.rows);
        let means = row.rows == Rows::Workloads;
        let groups = if means { groups } else { Vec::new() };
        let (title, note) = (row.title.clone(), row.note.clone());
        let baseline = baseline(study, grid)?;
        Ok(Self { title, note, grid, rows, per, columns, groups, baseline })
    }

    fn sensitivity(study: &Study, row: &schema::Sensitivity) -> Result<Self> {
        let grid = study.grid(SENSITIVITY)?;
        let context = Context { point: true, ..Context::of(&study.names, grid) };
        let column = |column: &schema::Column| {
            let expr = Expr::number(&column.cell, &study.names, context);
            let expr = expr.with_context(|| column.title.clone())?;
            let entry = Entry { name: column.title.clone(), choice: None };
            Ok(Column { entry, expr, form: column.form, mean: false })
        };
        let columns = row.column.iter().map(column).collect::<Result<_>>()?;
        let points = &study.names.grids[grid].points;
        let mut rows = vec![Entry { name: HERE.to_string(), choice: Some(Choice::Point(0)) }];
        for choice in &row.choice {
            let why = choice.why.as_ref().map_or_else(String::new, |why| format!("; {why}"));
            let name = format!("{}: {}{why}", choice.what, choice.here);
            rows.push(Entry { name, choice: None });
            for other in &choice.other {
                let name = format!("{}: {}", choice.what, other.name);
                let point = crate::expr::place_of(&name, points, "point")?;
                let choice = Some(Choice::Point(point));
                rows.push(Entry { name: format!("  {}", other.name), choice });
            }
        }
        let per = vec![Entry { name: String::new(), choice: None }];
        let title =
            "What the publication leaves open: what is used here, and what other choices do";
        let (title, note, groups) = (title.to_string(), row.note.clone(), Vec::new());
        let baseline = baseline(study, grid)?;
        Ok(Self { title, note, grid, rows, per, columns, groups, baseline })
    }

    /// Evaluates the cells.
    pub(crate) fn filled<F: Figures>(&self, study: &Study, figures: &F) -> Vec<Filled> {
        let evaluator = Evaluator::new(&study.names, figures);
        self.per.iter().map(|per| self.of(study, &evaluator, per)).collect()
    }

    fn of<F: Figures>(&self, study: &Study, evaluator: &Evaluator<'_, F>, per: &Entry) -> Filled {
        let workloads = if self.groups.is_empty() {
            study.names.grids[self.grid].workloads.clone()
        } else {
            self.groups.iter().flat_map(|group| group.workloads.clone()).collect()
        };
        let grid = self.grid;
        let scope = Scope { grid, point: 0, subject: None, workload: None, workloads };
        let scope = chosen(&scope, per);
        let cell = |row: &Entry, column: &Column| {
            let scope = chosen(&chosen(&scope, row), &column.entry);
            let sample = evaluator.number(&column.expr, &scope);
            sample.map(|sample| Cell::of(&sample, column.form))
        };
        let is_heading = |row: &Entry| row.choice.is_none();
        let cells = |row: &Entry| -> Vec<Option<Cell>> {
            if is_heading(row) {
                return vec![None; self.columns.len()];
            }
            self.columns.iter().map(|column| cell(row, column)).collect()
        };
        let mut rows: Vec<Line> = Vec::new();
        if self.groups.is_empty() {
            rows = self.rows.iter().map(|row| (row.name.clone(), cells(row))).collect();
        }
        for group in &self.groups {
            let is_own = |row: &&Entry| match row.choice {
                Some(Choice::Workload(workload)) => group.workloads.contains(&workload),
                _ => false,
            };
            let own = self.rows.iter().filter(is_own).map(|row| (row.name.clone(), cells(row)));
            let own: Vec<Line> = own.collect();
            let feet = self.feet(&own, &group.name);
            rows.extend(own);
            rows.extend(feet);
        }
        let title = if per.name.is_empty() {
            self.title.clone()
        } else {
            format!("{}: {}", self.title, per.name)
        };
        let columns = self.columns.iter().map(|column| (column.entry.name.clone(), column.form));
        let load = self.load(evaluator, &scope);
        Filled { title, note: self.note.clone(), columns: columns.collect(), rows, load }
    }

    /// The load of the baseline over the rows of the table, all of whose points are run.
    fn load<F: Figures>(&self, evaluator: &Evaluator<'_, F>, scope: &Scope) -> Option<Load> {
        let (subject, expr) = self.baseline.as_ref()?;
        let chosen_points = self.rows.iter().filter_map(|row| match row.choice {
            Some(Choice::Point(point)) => Some(point),
            _ => None,
        });
        let mut points: Vec<usize> = chosen_points.collect();
        if points.is_empty() {
            points.push(scope.point);
        }
        let run = |(point, workload): (usize, usize)| {
            let scope = Scope { point, workload: Some(workload), ..scope.clone() };
            evaluator.number(expr, &scope).map(|sample| sample.base)
        };
        let all = points.iter().flat_map(|&point| scope.workloads.iter().map(move |&w| (point, w)));
        let all: Vec<f64> = all.filter_map(run).collect();
        let low = all.iter().copied().reduce(f64::min)?;
        let high = all.iter().copied().reduce(f64::max)?;
        Some(Load { subject: subject.clone(), low, high })
    }

    /// Means and medians of the rows of a group. The mean without overloaded runs is one over the
    /// same rows in all columns: a row with a mark is left out of all. Columns of nothing but marks
    /// have none.
    fn feet(&self, rows: &[Line], group: &str) -> Vec<Line> {
        if rows.len() < 2 || self.columns.iter().all(|column| !column.mean) {
            return Vec::new();
        }
        let is_marked = |cell: &Option<Cell>| cell.is_some_and(|cell| cell.overloaded);
        let has_others = |place: &usize| {
            let mut cells = rows.iter().filter_map(|(_, cells)| cells[*place]);
            self.columns[*place].mean && cells.any(|cell| !cell.overloaded)
        };
        let compared: Vec<usize> = (0..self.columns.len()).filter(has_others).collect();
        let is_kept = |(_, cells): &&Line| compared.iter().all(|&place| !is_marked(&cells[place]));
        let all: Vec<&Line> = rows.iter().collect();
        let kept: Vec<&Line> = rows.iter().filter(is_kept).collect();
        let foot = |make: fn(&[f64]) -> f64, rows: &[&Line], places: &[usize]| {
            let of = |place: usize| {
                let used = rows.iter().filter_map(|(_, cells)| cells[place]);
                let used: Vec<Cell> = used.collect();
                let values: Vec<f64> = used.iter().map(|cell| cell.value).collect();
                let overloaded = used.iter().any(|cell| cell.overloaded);
                let has = places.contains(&place) && !values.is_empty();
                has.then(|| Cell { value: make(&values), overloaded })
            };
            (0..self.columns.len()).map(of).collect::<Vec<_>>()
        };
        let means: Vec<usize> =
            (0..self.columns.len()).filter(|&place| self.columns[place].mean).collect();
        let mut feet = vec![(format!("mean of {group}"), foot(mean, &all, &means))];
        if kept.len() < all.len() && !kept.is_empty() {
            feet.push(("  without *".to_string(), foot(mean, &kept, &compared)));
        }
        feet.push(("  median".to_string(), foot(median, &all, &means)));
        feet
    }

    /// The expressions with what is chosen for them, for tests.
    #[cfg(test)]
    pub(crate) fn columns(&self) -> usize {
        self.columns.len()
    }
}

impl Cell {
    fn of(sample: &Sample, form: Form) -> Self {
        Self { value: sample.base / form.scale(), overloaded: sample.is_overloaded() }
    }
}

/// The baseline where the runs of a grid have it, and its load there.
fn baseline(study: &Study, grid: usize) -> Result<Option<(String, Expr)>> {
    let Some(name) = &study.experiment.baseline else { return Ok(None) };
    let place = crate::expr::place_of(name, &study.names.subjects, "subject")?;
    if !study.names.grids[grid].subjects.contains(&place) {
        return Ok(None);
    }
    let context = Context { point: true, workload: true, ..Context::of(&study.names, grid) };
    let expr = Expr::number(&format!("outstanding('{name}')"), &study.names, context)?;
    Ok(Some((name.clone(), expr)))
}

/// What the rows of a table choose, for expressions.
fn context(study: &Study, grid: usize, chosen: &[Option<Rows>]) -> Context {
    let has = |what| chosen.contains(&Some(what));
    let plain = Context::of(&study.names, grid);
    Context {
        point: plain.point || has(Rows::Points),
        workload: has(Rows::Workloads),
        it: has(Rows::Subjects),
        ..plain
    }
}

fn entries(study: &Study, grid: usize, groups: &[Group], what: Rows) -> Vec<Entry> {
    let row = &study.names.grids[grid];
    let entry = |name: &str, choice| Entry { name: name.to_string(), choice: Some(choice) };
    match what {
        Rows::Workloads => {
            let all = groups.iter().flat_map(|group| group.workloads.iter());
            let name = |place: &usize| study.names.workloads[*place].as_str();
            all.map(|place| entry(name(place), Choice::Workload(*place))).collect()
        }
        Rows::Subjects => {
            let name = |place: usize| study.names.subjects[place].as_str();
            row.subjects.iter().map(|&place| entry(name(place), Choice::Subject(place))).collect()
        }
        Rows::Points => {
            let points = row.points.iter().enumerate();
            points.map(|(place, name)| entry(name, Choice::Point(place))).collect()
        }
        Rows::Groups => {
            let of = |group: &Group| entry(&group.name, Choice::Group(group.workloads.clone()));
            groups.iter().map(of).collect()
        }
    }
}

/// A scope with what a row or a column chooses.
fn chosen(scope: &Scope, entry: &Entry) -> Scope {
    let mut scope = scope.clone();
    match &entry.choice {
        Some(Choice::Workload(workload)) => {
            scope.workload = Some(*workload);
            scope.workloads = vec![*workload];
        }
        Some(Choice::Subject(subject)) => scope.subject = Some(*subject),
        Some(Choice::Point(point)) => scope.point = *point,
        Some(Choice::Group(workloads)) => scope.workloads.clone_from(workloads),
        None => {}
    }
    scope
}

impl Filled {
    /// What is said below the table: the load of the baseline, and its note.
    pub fn notes(&self) -> Vec<String> {
        self.load.as_ref().map(Load::text).into_iter().chain(self.note.clone()).collect()
    }

    /// Returns the text of a cell. If a cell of the column has a mark, the others end with a space.
    pub fn cell(&self, row: usize, column: usize) -> String {
        let of_column = |row: usize| self.rows[row].1[column];
        let marked =
            (0..self.rows.len()).any(|row| of_column(row).is_some_and(|cell| cell.overloaded));
        let Some(cell) = of_column(row) else { return String::new() };
        let mark = match (cell.overloaded, marked) {
            (true, _) => "*",
            (false, true) => "\u{a0}",
            (false, false) => "",
        };
        format!("{}{mark}", show::in_unit(cell.value, self.columns[column].1))
    }

    /// The table as data.
    pub(crate) fn object(&self) -> Value {
        let rows = self.rows.iter().map(|(name, cells)| {
            let values = cells.iter().map(|cell| cell.map(|cell| cell.value));
            let marks = cells.iter().map(|cell| cell.is_some_and(|cell| cell.overloaded));
            json!({
                "name": name.trim(),
                "values": values.collect::<Vec<_>>(),
                "overloaded": marks.collect::<Vec<_>>(),
            })
        });
        let columns = self.columns.iter().map(|(name, _)| name);
        let units = self.columns.iter().map(|(_, form)| form.unit());
        json!({
            "title": self.title,
            "columns": columns.collect::<Vec<_>>(),
            "units": units.collect::<Vec<_>>(),
            "rows": rows.collect::<Vec<_>>(),
            "baseline_load": self.load.as_ref().map(|load| [load.low, load.high]),
        })
    }
}
