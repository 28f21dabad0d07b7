//! Tables with a column for each point, in blocks that fit a terminal.

use crate::output::summary::latency;
use crate::output::table;
use crate::output::text::WIDTH;
use flashyard_run::figure::Figure;
use flashyard_run::headline::{self, Better, Headline};
use flashyard_run::stats::{Interval, mean};

/// Characters of a value of a key, at most.
const LONGEST: usize = 24;

/// The figures of a point: for each headline those of its runs, one for each seed.
pub(crate) type Figures = Vec<Vec<Option<f64>>>;

/// Returns the mean over the runs of a point and half of its 95 % confidence interval. A point has
/// neither if one of its runs lacks the figure.
pub(crate) fn summary(values: &[Option<f64>]) -> (Option<f64>, Option<f64>) {
    let Some(all) = values.iter().copied().collect::<Option<Vec<f64>>>() else {
        return (None, None);
    };
    match &all[..] {
        [] => (None, None),
        [one] => (Some(*one), None),
        _ => {
            let half = Interval::of_mean(&all).map(|interval| (interval.high - interval.low) / 2.0);
            (Some(mean(&all)), half)
        }
    }
}

/// A mean with half of its confidence interval, if there is one.
pub(crate) fn with_half(headline: &Headline, value: Option<f64>, half: Option<f64>) -> String {
    let half = half.map(|half| format!(" +-{}", headline.show(Some(half))));
    headline.show(value) + &half.unwrap_or_default()
}

/// What [`with_half`] shows of so many seeds, as a note under a table.
pub(crate) fn note(seeds: usize) -> String {
    format!("\nmeans of {seeds} seeds +- half of the 95 % confidence interval")
}

/// What a figure is called in a table.
pub(crate) fn title(headline: &Headline) -> String {
    let name = headline.name.replace('.', "_").replace("p99", "p99.").replace("p99._", "p99_");
    let name = name.replace("mb_per_s", "rate").replace("j_per_gb", "energy per GB");
    let words =
        ["_us", "_s", "_mj", "_w", "_years"].iter().find_map(|unit| name.strip_suffix(unit));
    let words = words.unwrap_or(&name).replace('_', " ");
    headline.unit_in_name().map_or_else(|| words.clone(), |unit| format!("{words} ({unit})"))
}

/// The same, and of which stream it is.
pub(crate) fn title_of(figure: &Figure) -> String {
    let stream = figure.stream().map_or_else(String::new, |stream| format!("stream {stream} "));
    stream + &title(figure.headline())
}

/// The end of a text that is too long: paths differ there.
pub(crate) fn short(text: &str) -> String {
    let count = text.chars().count();
    if count <= LONGEST {
        return text.to_string();
    }
    let end: String = text.chars().skip(count + 2 - LONGEST).collect();
    format!("..{end}")
}

/// A table: `keys` with their values by point, then the figures of these names with their ratios to
/// the first point.
pub(crate) fn table(keys: &[(String, Vec<String>)], names: &[&str], points: &[Figures]) -> String {
    let figures: Vec<Figure> = names.iter().filter_map(|name| Figure::of(None, name)).collect();
    let values = |point: usize, figure: &Figure| points[point][figure.place()].clone();
    table_of(keys, &figures, points.len(), &values)
}

/// What has the figures of the runs of a point.
pub(crate) type Values<'a> = &'a dyn Fn(usize, &Figure) -> Vec<Option<f64>>;

/// The same of so many points that have these values.
pub(crate) fn table_of(
    keys: &[(String, Vec<String>)],
    figures: &[Figure],
    points: usize,
    values: Values<'_>,
) -> String {
    let mut titles: Vec<String> = keys.iter().map(|(key, _)| key.clone()).collect();
    let is_known =
        |figure: &&Figure| (0..points).any(|point| summary(&values(point, figure)).0.is_some());
    let shown: Vec<&Figure> = figures.iter().filter(is_known).collect();
    titles.extend(shown.iter().map(|figure| title_of(figure)));
    let columns: Vec<Vec<(String, String)>> = (0..points)
        .map(|point| {
            let value =
                |(_, values): &(String, Vec<String>)| (short(&values[point]), String::new());
            let figures = shown.iter().map(|figure| cell(figure, point, values));
            keys.iter().map(value).chain(figures).collect()
        })
        .collect();
    let is_marked = |point| shown.iter().any(|figure| has_few(figure, point, values));
    let meaning = if (0..points).any(is_marked) { latency::FEW } else { "" };
    let text = blocks(&titles, &columns) + meaning;
    if meaning.is_empty() { text } else { text + "\n" }
}

/// A figure and its ratio to that of the first point.
fn cell(figure: &Figure, point: usize, values: Values<'_>) -> (String, String) {
    let headline = figure.headline();
    let (value, half) = summary(&values(point, figure));
    let first = summary(&values(0, figure)).0.filter(|first| *first != 0.0);
    let merit = headline.better != Better::Neither;
    let ratio = value.zip(first).filter(|_| point > 0 && merit);
    let is_marked = value.is_some() && has_few(figure, point, values);
    let mark = if is_marked { "*" } else { "" };
    (
        with_half(headline, value, half) + mark,
        ratio.map_or_else(String::new, |(value, first)| format!("x{:.3}", value / first)),
    )
}

/// Whether a figure is a percentile of too few requests of one of its runs.
pub(crate) fn has_few(figure: &Figure, point: usize, values: Values<'_>) -> bool {
    let Some(share) = headline::percentile(&figure.headline().name) else { return false };
    let counts = figure.count().map_or_else(Vec::new, |count| values(point, &count));
    counts.iter().flatten().any(|&count| latency::is_of_few(count, share))
}

/// As many columns side by side as fit; the first one again in each block would take the room of
/// another.
fn blocks(titles: &[String], columns: &[Vec<(String, String)>]) -> String {
    let width = |texts: &mut dyn Iterator<Item = &String>| {
        texts.map(|text| text.chars().count()).max().unwrap_or(0)
    };
    let left = width(&mut titles.iter());
    let widths: Vec<usize> = columns
        .iter()
        .map(|column| {
            let ratio = width(&mut column.iter().map(|(_, ratio)| ratio));
            width(&mut column.iter().map(|(value, _)| value))
                + 2
                + if ratio > 0 { ratio + 1 } else { 0 }
        })
        .collect();
    let mut text = String::new();
    let mut from = 0;
    while from < columns.len() {
        let mut to = from + 1;
        let mut used = left + widths[from];
        while to < columns.len() && used + widths[to] <= WIDTH {
            used += widths[to];
            to += 1;
        }
        if from > 0 {
            text += "\n";
        }
        text += &block(titles, &columns[from..to]);
        from = to;
    }
    text
}

fn block(titles: &[String], columns: &[Vec<(String, String)>]) -> String {
    let header: Vec<&str> = vec![""; columns.len() + 1];
    let mut all = table::table(&header);
    for (place, title) in titles.iter().enumerate() {
        let width = |column: &[(String, String)]| {
            column.iter().map(|(_, ratio)| ratio.len()).max().unwrap_or(0)
        };
        let cells = columns.iter().map(|column| {
            let (value, ratio) = &column[place];
            let width = width(column);
            if width == 0 { value.clone() } else { format!("{value} {ratio:width$}") }
        });
        all.add_row(std::iter::once(title.clone()).chain(cells).collect::<Vec<_>>());
    }
    // The header is empty: the first rows are the values of the keys.
    let text = table::render(&all);
    text.split_once('\n').map_or_else(String::new, |(_, rows)| rows.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn points(count: usize) -> Vec<Figures> {
        let of = |point: usize| {
            let value = |place: usize| vec![Some((1 + place + point) as f64 * 1_000.25)];
            (0..headline::ALL.len()).map(value).collect()
        };
        (0..count).map(of).collect()
    }

    #[test]
    fn blocks_fit_a_terminal_and_have_every_point() {
        let keys = vec![(
            "ftl.over_provisioning_percent".to_string(),
            (0..9).map(|point| format!("{point}{}", "x".repeat(30))).collect(),
        )];
        let text = table(&keys, &["read.p999_us", "all.mean_us", "wa"], &points(9));
        assert!(text.lines().all(|line| line.len() <= WIDTH), "{text}");
        assert_eq!(text.lines().filter(|line| line.starts_with("read p99.9 ")).count(), 9);
        assert_eq!(text.matches("..").count(), 9, "the ends of long values: {text}");
        let ratio = 1_000.25 * 7.0 / 6.0 / 1_000.25;
        assert!(text.contains(&format!("x{ratio:.3}")), "{text}");
    }

    /// Values 1, 2, 3: mean 2, t of two degrees of freedom 4.303, deviation 1.
    #[test]
    fn several_seeds_have_a_mean_and_an_interval() {
        let (mean, half) = summary(&[Some(1.0), Some(2.0), Some(3.0)]);
        assert_eq!(mean, Some(2.0));
        assert!((half.unwrap() - 4.303 / 3f64.sqrt()).abs() < 1e-9);
        assert_eq!(summary(&[Some(1.0), None]), (None, None));
        assert_eq!(summary(&[Some(1.0)]), (Some(1.0), None));
    }

    #[test]
    fn titles_have_units_that_values_have_not() {
        let title_of = |name: &str| title(&headline::ALL[headline::place(name).unwrap()]);
        let names = ["read.p999_us", "read.count", "mb_per_s", "energy_mj", "j_per_gb", "wa_gc"];
        let expected = ["read p99.9", "read count", "rate", "energy", "energy per GB", "wa gc"];
        assert_eq!(names.map(title_of), expected);
        let names = ["spare_percent", "makespan_s", "peak_w", "gc_victims", "iops"];
        let expected = ["spare percent (%)", "makespan", "peak", "gc victims", "iops"];
        assert_eq!(names.map(title_of), expected);
    }
}
