//! The page of a sweep: what the best and the worst point are, what makes figures of which points
//! mislead, plots, and last the table of all points.

use super::job::Job;
use super::results::Row;
use super::show::{asked, best, ranked};
use crate::columns::{has_few, summary};
use crate::report::points::{Point, Points};
use crate::report::run::sentence;
use anyhow::Result;
use flashyard_run::figure::Figure;
use flashyard_run::points;
use flashyard_run::sweep::plan::Planner;
use flashyard_run::verdict;
use serde_json::Value;
use std::path::Path;

/// Writes report.html: the points that did not fail.
pub(super) fn write(
    folder: &Path,
    job: &Job<'_>,
    planner: &Planner<'_>,
    rows: &[Row<'_>],
) -> Result<()> {
    let Job { sweep, args, .. } = job;
    let fine: Vec<&Row<'_>> = rows.iter().filter(|row| row.failed().is_none()).collect();
    let axes = points::keys(fine.iter().map(|row| &row.planned.point[..]));
    let warnings = by_warning(&fine);
    let asked = asked(sweep);
    let point = |row: &&Row<'_>| {
        let values = axes.iter().map(|key| planner.value(&row.planned.point, key)).collect();
        let has = |one: &Warning| one.points.binary_search(&row.number).is_ok();
        let marks = (1..).zip(&warnings).filter(|(_, one)| has(one));
        let marks: Vec<String> = marks.map(|(mark, _)| format!("W{mark}")).collect();
        let (marks, figures) = (marks.join(", "), row.figures());
        let of_asked = |figure: &Figure| {
            let values = row.figure(figure);
            let (mean, of_few) = (summary(&values).0, has_few(figure, 0, &|_, of| row.figure(of)));
            (mean, mean.is_some() && of_few)
        };
        Point::of_figures(row.number, marks, values, &figures, row.latencies())
            .with(asked.iter().map(of_asked).collect())
    };
    let failed = rows.len() - fine.len();
    let of_seeds = match sweep.seeds.len() {
        0 | 1 => String::new(),
        seeds => format!(" Each is the mean of {seeds} seeds."),
    };
    let title = match sweep.file.title.as_str() {
        "" => args.file.clone(),
        title => title.to_string(),
    };
    let mut lead = vec![format!("{} points of {}.{of_seeds}", fine.len(), args.file)];
    lead.extend((failed > 0).then(|| format!("{failed} more points failed.")));
    let ranked = ranked(sweep, &fine);
    if ranked.len() > 1 {
        lead.extend(best(sweep, &ranked).map(|end| sentence(&end.line())));
    }
    let said = (1..).zip(&warnings).map(|(mark, one)| one.said(mark, fine.len()));
    let points = Points {
        title,
        lead,
        verdict: String::new(),
        warnings: said.collect(),
        command: format!("flashyard sweep {}", args.file),
        all: fine.iter().map(point).collect(),
        axes: axes.clone(),
        asked: asked.clone(),
    };
    points.page().write_alone(folder, "sweep", &Value::Null)
}

/// A warning, and the points that it belongs to.
#[derive(Debug, PartialEq)]
struct Warning<'a> {
    what: &'a str,
    /// By how much, if all points agree in that.
    how_much: Option<&'a str>,
    /// Their numbers, rising.
    points: Vec<usize>,
}

impl Warning<'_> {
    /// The warning with its mark, behind the points that have it. `all` is how many there are.
    fn said(&self, mark: usize, all: usize) -> String {
        let what = verdict::warning(self.what, self.how_much.unwrap_or_default());
        let points = match &self.points[..] {
            [one] => format!("point {one}"),
            points if points.len() == all => "all points".to_string(),
            points => format!("points {}", ranges(points)),
        };
        format!("W{mark}, {points}: {what}")
    }
}

/// The warnings of all points, in the order in which points first have them.
fn by_warning<'a>(rows: &[&'a Row<'a>]) -> Vec<Warning<'a>> {
    let mut all: Vec<Warning<'a>> = Vec::new();
    for row in rows {
        for (what, how_much) in row.found.iter().flat_map(|(_, found)| &found.warnings) {
            let (number, how_much) = (row.number, how_much.as_str());
            let Some(known) = all.iter_mut().find(|one| one.what == what) else {
                all.push(Warning { what, how_much: Some(how_much), points: vec![number] });
                continue;
            };
            known.how_much = known.how_much.filter(|known| *known == how_much);
            if known.points.last() != Some(&number) {
                known.points.push(number);
            }
        }
    }
    all
}

/// Ranges that are named; of more, the rest is counted.
const RANGES: usize = 8;

/// Numbers that rise, as ranges: `1-4, 7`.
fn ranges(numbers: &[usize]) -> String {
    let mut all: Vec<(usize, usize)> = Vec::new();
    for &number in numbers {
        match all.last_mut() {
            Some((_, last)) if *last + 1 == number => *last = number,
            _ => all.push((number, number)),
        }
    }
    let named = all.iter().take(RANGES).map(|(first, last)| match last - first {
        0 => format!("{first}"),
        1 => format!("{first}, {last}"),
        _ => format!("{first}-{last}"),
    });
    let text = named.collect::<Vec<_>>().join(", ");
    let rest: usize = all.iter().skip(RANGES).map(|(first, last)| last - first + 1).sum();
    if rest == 0 { text } else { format!("{text} and {rest} more") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn points_are_named_by_ranges() {
        assert_eq!(ranges(&[1, 2, 3, 4, 7, 9, 10]), "1-4, 7, 9, 10");
        let odd: Vec<usize> = (0..20).map(|number| 2 * number + 1).collect();
        assert_eq!(ranges(&odd), "1, 3, 5, 7, 9, 11, 13, 15 and 12 more");
    }

    #[test]
    fn a_warning_names_its_points() {
        let one = |how_much, points| Warning { what: "it is old", how_much, points };
        assert_eq!(one(Some("3 %"), vec![2]).said(1, 9), "W1, point 2: it is old (3 %)");
        assert_eq!(one(Some(""), vec![2, 3]).said(2, 2), "W2, all points: it is old");
        assert_eq!(one(None, vec![2, 3, 4]).said(1, 9), "W1, points 2-4: it is old");
    }
}
