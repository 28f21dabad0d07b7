//! The report of a study: its verdicts, its figures beside the published ones, its tables as plots.

use crate::args::command_line;
use crate::report::plot::{Axis, Bar, Beside, Kind, Plot, Values};
use crate::report::run::sentence;
use crate::report::{Page, Section, Statement, Table};
use flashyard_studies::{Answer, Cell, Filled, Form, Line, Number, Part, Results, Verdict, counts};

/// The most rows of a plot of dots, and of its colours; larger tables are shown as tables alone.
const ROWS: usize = 60;
const COLORS: usize = 12;

/// The most figures beside published ones in a plot.
const BESIDE: usize = 40;

/// The page of a study.
pub(super) fn of(results: &Results) -> Page {
    let mut page = Page::new(results.title.clone());
    page.plots_first = true;
    page.lead = vec![results.source.clone(), results.notes.clone(), results.ran.clone()];
    page.lead.retain(|line| !line.is_empty());
    let counted = |what: &str, answers: &[Answer]| {
        (!answers.is_empty()).then(|| format!("{what}: {}.", counts(answers)))
    };
    page.verdict.extend(counted("Statements that are published", &results.published));
    page.verdict.extend(counted("Statements of our own", &results.asked));
    page.command = command_line();
    beside(results, &mut page);
    for (title, answers) in [
        ("What is published", &results.published),
        ("What is asked here, and nobody published", &results.asked),
    ] {
        let statements = answers.iter().map(statement).collect();
        page.push(Section { title: title.to_string(), statements, ..Section::default() });
    }
    for (place, table) in results.tables.iter().enumerate() {
        page.push(section(table, place));
    }
    if let Some(faults) = &results.faults {
        let columns = faults.columns.map(str::to_string).to_vec();
        let (rows, note) = (faults.rows.clone(), faults.note.to_string());
        let table = Table { columns, rows, note, ..Table::default() };
        page.push(Section {
            title: faults.title.to_string(),
            tables: vec![table],
            ..Section::default()
        });
    }
    let errata = results.errata.iter();
    let errata = errata.map(|one| format!("{}: {}. Here: {}.", one.text, one.problem, one.here));
    page.push(Section {
        title: "Where the publication contradicts itself or cannot be right".to_string(),
        text: errata.collect(),
        ..Section::default()
    });
    page
}

/// The verdicts as bars, and figures beside published numbers.
fn beside(results: &Results, page: &mut Page) {
    let title = "Published figures and ours".to_string();
    let mut section = Section { title, ..Section::default() };
    let answers = || results.published.iter().chain(&results.asked);
    let mut bars: Vec<Bar> = Vec::new();
    for answer in answers() {
        let word = answer.verdict.word();
        match bars.iter_mut().find(|bar| bar.name == word) {
            Some(bar) => bar.value += 1.0,
            None => bars.push(Bar { name: word.to_string(), value: 1.0 }),
        }
    }
    let verdicts = if bars.is_empty() {
        Err("the study has no statements".to_string())
    } else {
        let kind = Kind::Bars { x: Axis::new("statements", ""), rows: bars };
        let note = "How many statements hold: published ones and our own.";
        Ok(Plot::new("verdicts", "Verdicts", note, kind))
    };
    page.add(&mut section, "Verdicts", verdicts);
    let of = |answer: &Answer| -> Vec<_> {
        answer.numbers.iter().map(|number| row_of(answer, number)).collect()
    };
    let all: Vec<(bool, Beside)> = answers().flat_map(of).collect();
    if all.is_empty() {
        let why = "no statement of the study has a published number".to_string();
        page.add(&mut section, "Figures beside published ones", Err(why));
    }
    for (percent, what) in [(true, "percent"), (false, "number")] {
        let rows = all.iter().filter(|(is, _)| *is == percent).map(|(_, row)| row.clone());
        let rows: Vec<Beside> = rows.collect();
        if rows.is_empty() {
            continue;
        }
        section.tables.push(table_of(&rows, percent));
        for (axis, part) in by_size(&rows).iter().flat_map(|rows| rows.chunks(BESIDE)).enumerate() {
            let unit = if percent { "%" } else { "" };
            let x = Axis::new(if percent { "change or share" } else { "figure" }, unit);
            let id = format!("published-{what}-{axis}");
            let title = if percent {
                "Published in percent, and ours"
            } else {
                "Published as numbers, and ours"
            };
            let note = "Dots are ours, with where one more run would lie; bars across are \
                            published.";
            let kind = Kind::Published { x, rows: part.to_vec() };
            section.plots.push(Plot::new(&id, title, note, kind).wide());
        }
    }
    page.push(section);
}

/// Rows of like size together, so that all of a plot can be read: those within a factor of 30 of
/// the greatest, and then the others likewise.
fn by_size(rows: &[Beside]) -> Vec<Vec<Beside>> {
    let size = |row: &Beside| row.published.abs().max(row.found.unwrap_or(0.0).abs());
    let mut left: Vec<Beside> = rows.to_vec();
    let mut all = Vec::new();
    while !left.is_empty() {
        let most = left.iter().map(size).fold(0.0, f64::max);
        let (near, far) = left.into_iter().partition(|row| size(row) * 30.0 >= most);
        all.push(near);
        left = far;
    }
    all
}

/// The same figures as a table.
fn table_of(rows: &[Beside], percent: bool) -> Table {
    let unit = if percent { " %" } else { "" };
    let digits = |row: &Beside| if row.half < 0.05 { 3 } else { 1 };
    let row = |row: &Beside| {
        let digits = digits(row);
        let show = |value: Option<f64>| {
            value.map_or_else(|| "-".to_string(), |value| format!("{value:.digits$}{unit}"))
        };
        vec![
            row.name.clone(),
            show(Some(row.published)),
            show(row.found),
            row.low.zip(row.high).map_or_else(
                || "-".to_string(),
                |(low, high)| format!("{low:.digits$} to {high:.digits$}{unit}"),
            ),
            row.verdict.clone(),
        ]
    };
    let columns = ["", "published", "ours", "one more run would lie", "verdict"];
    Table {
        columns: columns.map(str::to_string).to_vec(),
        rows: rows.iter().map(row).collect(),
        ..Table::default()
    }
}

/// A published number of a statement with our figure, and whether they are in percent.
fn row_of(answer: &Answer, number: &Number) -> (bool, Beside) {
    let scale = if number.percent { 100.0 } else { 1.0 };
    let scaled = |value: f64| value * scale;
    let says = &number.says;
    let what = if says.is_empty() { answer.text.trim_matches('"') } else { says };
    let of = |workload: &String| format!("{workload}: {what}");
    let beside = Beside {
        name: number.workload.as_ref().map_or_else(|| what.to_string(), of),
        found: number.found.map(scaled),
        low: number.one_more.map(|[low, _]| scaled(low)),
        high: number.one_more.map(|[_, high]| scaled(high)),
        published: scaled(number.published),
        half: scaled(number.half),
        verdict: number.verdict.to_string(),
        class: class_of(number.verdict),
    };
    (number.percent, beside)
}

/// The class of the colour of a verdict; that of `open` is grey.
const fn class(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Yes | Verdict::ByDefinition | Verdict::ByCalibration => "yes",
        Verdict::InPart => "part",
        Verdict::No => "no",
        Verdict::NotShown | Verdict::Nothing | Verdict::Open | Verdict::NotJudged => "open",
    }
}

/// The same of the word of a verdict.
fn class_of(word: &str) -> &'static str {
    let known = Verdict::ALL.iter().find(|(_, known)| *known == word);
    known.map_or("open", |(verdict, _)| class(*verdict))
}

/// A statement with its verdict.
fn statement(answer: &Answer) -> Statement {
    let parts = answer.parts.iter().map(Part::text).collect();
    let about = &answer.about;
    Statement {
        verdict: answer.verdict.word().to_string(),
        class: class(answer.verdict),
        text: sentence(&format!("{about}: {}", answer.text)),
        found: answer.found.clone(),
        parts,
    }
}

/// What a plot has: the unit of its values, and the class of the requests that they are of.
type Group = ((&'static str, &'static str), &'static str);

/// Returns the group of a column. Times of reads and of writes are on axes of their own: they may
/// differ by a factor of a hundred.
fn group_of(form: Form, column: &str) -> Group {
    let unit = unit_of(form, column);
    let class = |word: &str| match word {
        "read" | "reads" => Some(" of reads"),
        "write" | "writes" => Some(" of writes"),
        _ => None,
    };
    let of_times = column.split(|c: char| !c.is_alphanumeric()).find_map(class);
    (unit, of_times.filter(|_| unit.0 == "Times").unwrap_or(""))
}

/// The table, and its columns of each group as a plot.
fn section(all: &Filled, place: usize) -> Section {
    let cells = |row: usize| {
        let name = [all.rows[row].0.clone()].into_iter();
        name.chain((0..all.columns.len()).map(move |column| all.cell(row, column)))
    };
    let columns = all.columns.iter().map(|(name, form)| with_unit(name, *form));
    let table = Table {
        columns: [String::new()].into_iter().chain(columns).collect(),
        rows: (0..all.rows.len()).map(|row| cells(row).collect()).collect(),
        note: all.notes().join(" "),
        ..Table::default()
    };
    let mut plots = Vec::new();
    let mut groups: Vec<Group> = Vec::new();
    for (name, form) in &all.columns {
        let group = group_of(*form, name);
        if !groups.contains(&group) {
            groups.push(group);
        }
    }
    for (number, group) in groups.iter().enumerate() {
        plots.extend(plot(all, &format!("table-{place}-{number}"), *group));
    }
    Section { title: all.title.clone(), tables: vec![table], plots, ..Section::default() }
}

/// A dot for each cell of the columns of a group.
fn plot(all: &Filled, id: &str, group: Group) -> Option<Plot> {
    let is_of = |(_, (name, form)): &(usize, &(String, Form))| group_of(*form, name) == group;
    let columns: Vec<_> = all.columns.iter().enumerate().filter(is_of).collect();
    let is_shown = |(_, cells): &&Line| {
        columns.iter().any(|(at, _)| cells[*at].is_some_and(|cell| cell.value.is_finite()))
    };
    let rows: Vec<_> = all.rows.iter().filter(is_shown).collect();
    if rows.is_empty() || rows.len() > ROWS || columns.len() > COLORS {
        return None;
    }
    let ((label, name), class) = group;
    let value = |cells: &[Option<Cell>], at: usize, form: Form| {
        cells[at].map(|cell| on_axis(cell.value, form)).filter(|value| value.is_finite())
    };
    let series = columns.iter().map(|(at, (name, form))| Values {
        name: name.clone(),
        values: rows.iter().map(|(_, cells)| value(cells, *at, *form)).collect(),
    });
    let series = series.collect();
    let names = rows.iter().map(|(name, _)| name.trim().to_string()).collect();
    let kind = Kind::Dots { x: Axis::new("", name), names, series };
    let title = if columns.len() == 1 { columns[0].1.0.clone() } else { format!("{label}{class}") };
    Some(Plot::new(id, &title, "", kind))
}

/// Returns the name of the values of a form, and their unit in a plot. Plain numbers have the unit
/// that the title of the column ends in.
fn unit_of(form: Form, column: &str) -> (&'static str, &'static str) {
    match form {
        Form::Percent | Form::Percent1 => ("Shares", "%"),
        Form::Change => ("Changes", "%"),
        Form::Us | Form::Us1 | Form::Ms => ("Times", "ns"),
        Form::Joules | Form::Millijoules | Form::Microjoules => ("Energies", "pJ"),
        Form::Count => ("Counts", ""),
        Form::Ratio | Form::Two | Form::One => {
            let known = ["MB/s", "mW", "W", "KiB", "J/MB"];
            let found = known.iter().find(|unit| column.ends_with(**unit));
            match found {
                Some(unit) => ("Figures", *unit),
                None => ("Ratios and other numbers", ""),
            }
        }
    }
}

/// Returns the value of a cell in the unit of its plot.
fn on_axis(value: f64, form: Form) -> f64 {
    match form {
        Form::Percent | Form::Percent1 | Form::Change => 100.0 * value,
        _ => value * form.scale(),
    }
}

/// Returns the title of a column with the unit of its cells. A title that has the unit stays.
fn with_unit(column: &str, form: Form) -> String {
    let Some(unit) = form.unit() else { return column.to_string() };
    if column.split_whitespace().any(|word| word == unit) {
        return column.to_string();
    }
    format!("{column} ({unit})")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The script of the page has a colour for the class of every verdict, and only those that
    /// judge nothing are grey.
    #[test]
    fn every_verdict_has_its_colour() {
        let script = include_str!("../../assets/report.js");
        let grey = ["not shown", "nothing happened", "open", "not judged"];
        for (verdict, word) in Verdict::ALL {
            assert_eq!(class_of(word), class(verdict), "{word}");
            assert_eq!(class_of(word) == "open", grey.contains(&word), "{word}");
            assert!(script.contains(&format!("{}: \"#", class_of(word))), "{word}");
        }
    }

    #[test]
    fn figures_of_like_size_share_a_plot() {
        let row = |published: f64| Beside {
            name: String::new(),
            found: Some(0.0),
            low: None,
            high: None,
            published,
            half: 0.0,
            verdict: "holds".to_string(),
            class: "yes",
        };
        let groups = by_size(&[row(1.0), row(-900.0), row(20.0), row(40.0), row(0.0)]);
        let sizes: Vec<Vec<f64>> =
            groups.iter().map(|rows| rows.iter().map(|row| row.published).collect()).collect();
        assert_eq!(sizes, [vec![-900.0, 40.0], vec![1.0, 20.0], vec![0.0]]);
        let classes = ["read mean", "mean of writes", "spread", "mean"];
        let classes = classes.map(|name| group_of(Form::Us, name).1);
        assert_eq!(classes, [" of reads", " of writes", "", ""]);
        // Columns of microseconds and of milliseconds share an axis, which is in nanoseconds.
        let plotted =
            [(14.5, Form::Us1), (2.0, Form::Ms), (0.25, Form::Percent), (0.25, Form::Two)];
        let plotted = plotted.map(|(value, form)| on_axis(value, form).to_string());
        assert_eq!(plotted, ["14500", "2000000", "25", "0.25"]);
        assert_eq!(group_of(Form::Percent, "read share").1, "", "shares have one axis");
        assert_eq!(with_unit("mean", Form::Us), "mean (us)");
        assert_eq!(with_unit("mean us", Form::Us), "mean us");
    }
}
