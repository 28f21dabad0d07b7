//! What a sweep prints: a table of points, the best and the worst, and what a goal found.

use super::results::{Row, streams};
use crate::columns::{self, short, summary, title, title_of};
use crate::output::table;
use crate::output::text::{WIDTH, wrapped};
use flashyard_run::figure::Figure;
use flashyard_run::headline::Better;
use flashyard_run::points;
use flashyard_run::points::axis::{Setting, label};
use flashyard_run::sweep::file::{Find, Goal, Sweep};
use flashyard_run::sweep::goal::{End, Search};
use flashyard_run::sweep::plan::Planner;
use std::fmt::Write;

/// The figures of the table if the file names none.
const SHOWN: [&str; 6] = ["read.p999_us", "write.p999_us", "iops", "mb_per_s", "wa", "j_per_gb"];

/// Points that a table has at most; of more, the best and the worst.
const MOST: usize = 40;
const ENDS: usize = 10;

/// The table of points, and the best and the worst of them.
pub(crate) fn points(sweep: &Sweep, planner: &Planner<'_>, rows: &[Row<'_>]) -> String {
    let fine: Vec<&Row<'_>> = rows.iter().filter(|row| row.failed().is_none()).collect();
    let ranked = ranked(sweep, &fine);
    let mut text =
        if sweep.file.title.is_empty() { String::new() } else { format!("{}\n", sweep.file.title) };
    text += &heading(planner, rows);
    text += "\n\n";
    let (shown, left_out) = if fine.len() <= MOST || ranked.len() <= 2 * ENDS {
        table(sweep, planner, &fine)
    } else {
        ends(sweep, planner, &ranked)
    };
    text += &shown;
    text += &no_room(sweep, &left_out);
    if ranked.len() > 1 && sweep.goal.is_none() {
        text += "\n";
        text += &best(sweep, &ranked).map(|end| end.wrapped()).concat();
    }
    text
}

/// The first and the last points by rank, and the figures that one of the tables leaves out.
fn ends(sweep: &Sweep, planner: &Planner<'_>, ranked: &[(f64, &Row<'_>)]) -> (String, Vec<Figure>) {
    let rows = |part: &[(f64, &Row<'_>)]| {
        table(sweep, planner, &part.iter().map(|(_, row)| *row).collect::<Vec<_>>())
    };
    let left = ranked.len() - 2 * ENDS;
    let name = title_of(&sweep.rank);
    let (best, mut left_out) = rows(&ranked[..ENDS]);
    let (worst, more) = rows(&ranked[ranked.len() - ENDS..]);
    left_out.extend(more);
    let text = format!(
        "the best {ENDS} by {name}\n{best}\n{left} points between them are in the file\n\nthe \
         worst {ENDS}\n{worst}"
    );
    (text, left_out)
}

/// Names the figures of the table that the file asks for and that have no room.
fn no_room(sweep: &Sweep, left_out: &[Figure]) -> String {
    // The figure of a goal has a table of its own.
    let asked = std::iter::once(&sweep.rank).chain(&sweep.columns);
    let mut names: Vec<String> = Vec::new();
    for figure in asked.filter(|figure| left_out.contains(figure)) {
        if !names.contains(&figure.name()) {
            names.push(figure.name());
        }
    }
    if names.is_empty() {
        return String::new();
    }
    let names = names.join(", ");
    let text = format!("not shown for lack of room: {names}; they are in the file");
    wrapped(&text, WIDTH, "") + "\n"
}

/// Names the device and the workload that all points share.
fn heading(planner: &Planner<'_>, rows: &[Row<'_>]) -> String {
    let is_name = |(key, _): &Setting| key == "device" || key == "workload";
    let first = planner.names(&rows[0].planned.point);
    let mut alike = [true; 2];
    let are_named = rows.iter().any(|row| row.planned.point.iter().any(is_name));
    for row in rows.iter().filter(|_| are_named) {
        let names = planner.names(&row.planned.point);
        for (alike, (name, first)) in alike.iter_mut().zip(names.iter().zip(&first)) {
            *alike &= name == first;
        }
    }
    let one = |place: usize, name: &str| {
        let known = alike[place];
        if known { format!("{name} {}", short(&first[place])) } else { format!("{name}s by point") }
    };
    let (device, workload) = (one(0, "device"), one(1, "workload"));
    let runs = rows.iter().map(|row| row.found.len()).max().unwrap_or(0);
    let seeds = if runs > 1 { columns::note(runs) } else { String::new() };
    format!("{device}, {workload}{seeds}")
}

/// The figures that the file asks for: that of the rank first, each once.
pub(super) fn asked(sweep: &Sweep) -> Vec<Figure> {
    let mut figures = vec![sweep.rank.clone()];
    for figure in sweep.columns.iter().chain(sweep.goal.as_ref().map(|goal| &goal.metric)) {
        if !figures.contains(figure) {
            figures.push(figure.clone());
        }
    }
    figures
}

/// The figures that the table has where they fit: that of the rank first, each once.
fn figures(sweep: &Sweep) -> Vec<Figure> {
    let mut figures = vec![sweep.rank.clone()];
    let named = |name: &str| Figure::of(None, name).expect("a figure has this name");
    let shown = || SHOWN.iter().map(|name| named(name)).collect();
    let wanted = if sweep.columns.is_empty() { shown() } else { sweep.columns.clone() };
    for figure in wanted {
        if !figures.contains(&figure) {
            figures.push(figure);
        }
    }
    figures
}

/// Makes a row for each point. If settings and figures do not fit a line, each point is a column.
/// Returns the figures that do not fit, too.
fn table(sweep: &Sweep, planner: &Planner<'_>, rows: &[&Row<'_>]) -> (String, Vec<Figure>) {
    let asked = figures(sweep);
    let keys = points::keys(rows.iter().map(|row| &row.planned.point[..]));
    let mut cells: Vec<Vec<String>> = vec![
        std::iter::once("point".to_string())
            .chain(rows.iter().map(|row| row.number.to_string()))
            .collect(),
    ];
    for key in &keys {
        let value = |row: &&Row<'_>| short(&planner.value(&row.planned.point, key));
        let heading = key.replacen('.', ".\n", 1);
        cells.push(std::iter::once(heading).chain(rows.iter().map(value)).collect());
    }
    let width = |column: &[String]| {
        column.iter().flat_map(|cell| cell.lines()).map(|line| line.chars().count()).max()
    };
    let mut used: usize = cells.iter().map(|column| width(column).unwrap_or(0) + 2).sum();
    let (mut figures, mut left_out) = (0, Vec::new());
    for asked in &asked {
        let column = figure(rows, asked);
        let more = width(&column).unwrap_or(0) + 2;
        if column[1..].iter().all(|cell| cell == "-") {
            continue;
        }
        if used + more <= WIDTH + 2 {
            used += more;
            figures += 1;
            cells.push(column);
        } else {
            left_out.push(asked.clone());
        }
    }
    if figures == 0 && !rows.is_empty() {
        return (by_column(planner, &keys, &asked, rows), Vec::new());
    }
    let header: Vec<&str> = cells.iter().map(|column| column[0].as_str()).collect();
    let mut all = table::table(&header);
    for row in 1..=rows.len() {
        all.add_row(cells.iter().map(|column| column[row].clone()).collect::<Vec<_>>());
    }
    (table::render(&all), left_out)
}

/// What a figure is called above a column.
fn above(figure: &Figure) -> String {
    let stream = figure.stream().map_or_else(String::new, |stream| format!("stream {stream}\n"));
    stream + &title(figure.headline())
}

fn figure(rows: &[&Row<'_>], figure: &Figure) -> Vec<String> {
    let heading = above(figure).replace(" (", "\n(");
    let value = |row: &&Row<'_>| {
        let (value, half) = summary(&row.figure(figure));
        columns::with_half(figure.headline(), value, half)
    };
    std::iter::once(heading).chain(rows.iter().map(value)).collect()
}

fn by_column(
    planner: &Planner<'_>,
    keys: &[String],
    asked: &[Figure],
    rows: &[&Row<'_>],
) -> String {
    let value = |key: &String| {
        let of = |row: &&Row<'_>| planner.value(&row.planned.point, key);
        (key.clone(), rows.iter().map(of).collect())
    };
    let number = rows.iter().map(|row| row.number.to_string()).collect();
    let keys: Vec<_> =
        std::iter::once(("point".to_string(), number)).chain(keys.iter().map(value)).collect();
    columns::table_of(&keys, asked, rows.len(), &|point, figure| rows[point].figure(figure))
}

/// Points that have the figure of the rank, the best one first, with this figure.
pub(super) fn ranked<'a>(sweep: &Sweep, rows: &[&'a Row<'a>]) -> Vec<(f64, &'a Row<'a>)> {
    let known = |row: &&'a Row<'a>| Some((summary(&row.figure(&sweep.rank)).0?, *row));
    let mut ranked: Vec<(f64, &Row<'_>)> = rows.iter().filter_map(known).collect();
    let more = sweep.rank.headline().better == Better::More;
    ranked.sort_by(|(a, _), (b, _)| if more { b.total_cmp(a) } else { a.total_cmp(b) });
    ranked
}

/// What is said of the first or the last point by rank.
#[derive(Debug)]
pub(super) struct Ranked {
    line: String,
    /// Its settings.
    settings: String,
    /// Whether it has warnings, in words.
    warned: &'static str,
}

/// The first and the last point by rank.
pub(super) fn best(sweep: &Sweep, ranked: &[(f64, &Row<'_>)]) -> [Ranked; 2] {
    let headline = sweep.rank.headline();
    let words = match headline.better {
        Better::Neither => ["least", "most"],
        Better::Less | Better::More => ["best", "worst"],
    };
    let ends = [(words[0], ranked[0]), (words[1], ranked[ranked.len() - 1])];
    ends.map(|(word, (value, row))| {
        let (value, name) = (headline.show(Some(value)), title_of(&sweep.rank));
        let warned = row.found.iter().any(|(_, found)| !found.warnings.is_empty());
        Ranked {
            line: format!("{word} {name}: {value}, point {}", row.number),
            settings: label(&row.planned.point),
            warned: if warned { "; it has warnings" } else { "" },
        }
    })
}

impl Ranked {
    /// In one line.
    pub(super) fn line(&self) -> String {
        let Self { line, settings, warned } = self;
        let colon = if settings.is_empty() { "" } else { ": " };
        format!("{line}{colon}{settings}{warned}")
    }

    /// In a line with its settings. If they do not fit, they follow on lines of their own.
    fn wrapped(&self) -> String {
        let Self { line, settings, warned } = self;
        let all = self.line();
        if settings.is_empty() || all.chars().count() <= WIDTH {
            return all + "\n";
        }
        let settings = settings.replace(' ', "\n    ");
        format!("{line}{warned}\n    {settings}\n")
    }
}

/// What is said where the file names figures that no run has: those of streams that there are not,
/// those of classes without a request, and others. Runs that failed have no figures; if all did,
/// nothing is said.
pub(super) fn missing(sweep: &Sweep, rows: &[Row<'_>]) -> Vec<String> {
    let is_done = |row: &Row<'_>| row.found.iter().any(|(_, found)| found.failed.is_none());
    if !rows.iter().any(is_done) {
        return Vec::new();
    }
    let streams: Vec<&str> = streams(rows).into_iter().collect();
    let there = match &streams[..] {
        [] => "runs with one stream have no figures by stream".to_string(),
        streams => format!("streams are {}", streams.join(", ")),
    };
    let (mut of_streams, mut of_classes, mut others) = (Vec::new(), Vec::new(), Vec::new());
    for figure in asked(sweep) {
        let is_there = |row: &Row<'_>| row.figure(&figure).iter().any(Option::is_some);
        if figure.stream().is_some_and(|stream| !streams.contains(&stream)) {
            of_streams.push(figure.name());
        } else if !rows.iter().any(is_there) {
            let of_class = figure.count().is_some();
            if of_class { &mut of_classes } else { &mut others }.push(figure.name());
        }
    }
    let line = |names: Vec<String>, what: &str, end: &str| {
        let is_said = !names.is_empty();
        is_said.then(|| format!("warning: no run has {what} {}{end}", names.join(", ")))
    };
    let lines = [
        line(of_streams, "the stream of", &format!("; {there}")),
        line(of_classes, "a request of the class of", ""),
        line(others, "the figure", ""),
    ];
    lines.into_iter().flatten().collect()
}

/// What a goal found at a point.
pub(crate) fn goal(goal: &Goal, point: &[Setting], search: &Search) -> String {
    let headline = goal.metric.headline();
    let mut text = if point.is_empty() { String::new() } else { format!("{}\n", label(point)) };
    let mut all = table::table(&[goal.key.as_str(), &above(&goal.metric), &goal.words()]);
    for (&number, tried) in &search.tried {
        all.add_row(vec![
            goal.value(number),
            columns::with_half(headline, tried.value, tried.half),
            if goal.holds(tried.value) { "yes" } else { "no" }.to_string(),
        ]);
    }
    text += &table::render(&all);
    let (word, other) =
        if goal.find == Find::Least { ("least", "most") } else { ("most", "least") };
    let (key, words) = (&goal.key, goal.words());
    let mut said = String::new();
    let _ = match search.end(goal) {
        End::Between { answer, beside } => writeln!(
            said,
            "{word} {key} with {words}: {}; {} fails",
            goal.value(answer),
            goal.value(beside)
        ),
        End::Everywhere(answer) => writeln!(
            said,
            "{word} {key} with {words}: {}; that is the end of the range, so widen the range to go on",
            goal.value(answer)
        ),
        End::Reversed(far) => writeln!(
            said,
            "no value found: {words} does not hold at the far end, {key} = {}, but it does at the other \
             end; find = \"{other}\" finds where it ends",
            goal.value(far)
        ),
        End::Nowhere(far) => writeln!(
            said,
            "no value found: {words} does not hold at the far end, {key} = {}",
            goal.value(far)
        ),
        End::Try(_) => Ok(()),
    };
    said += &doubts(goal, search);
    // Names of streams may be long.
    text + &said.lines().map(|line| wrapped(line, WIDTH, "") + "\n").collect::<String>()
}

/// What makes the answer of a search doubtful.
fn doubts(goal: &Goal, search: &Search) -> String {
    let mut text = String::new();
    if let Some((a, b)) = search.turns(goal) {
        let headline = goal.metric.headline();
        let value = |number: u64| headline.show(search.tried[&number].value);
        let _ = writeln!(
            text,
            "warning: {} is not monotone: {} at {}, {} at {}; there may be other answers",
            goal.metric.name(),
            value(a),
            goal.value(a),
            value(b),
            goal.value(b)
        );
    }
    let is_doubtful = |number: u64| {
        let tried = &search.tried[&number];
        let distance = tried.value.map(|value| (value - goal.limit).abs());
        tried.half.zip(distance).is_some_and(|(half, distance)| half >= distance)
    };
    let (answer, beside) = match search.end(goal) {
        End::Between { answer, beside } => (Some(answer), Some(beside)),
        End::Everywhere(answer) => (Some(answer), None),
        End::Nowhere(far) | End::Reversed(far) => (None, Some(far)),
        End::Try(_) => (None, None),
    };
    for (number, what) in [(answer, "meets"), (beside, "does not meet")] {
        if let Some(number) = number.filter(|number| is_doubtful(*number)) {
            let (words, value) = (goal.words(), goal.value(number));
            let _ = writeln!(
                text,
                "warning: the mean at {value} {what} {words}, but its 95 % interval does not \
                 exclude the limit; run more seeds"
            );
        }
    }
    text
}
