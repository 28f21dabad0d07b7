//! The statistics as text.

use super::figures::Parted;
use super::{Figure, Info, Rate, Sizes};
use crate::error::readable_ns;

/// Columns of the widest line.
const WIDTH: usize = 80;

impl Info {
    /// A line a figure that is defined; the percentiles of distributions, a row each; then what is
    /// no single figure: the most common sizes, the requests of each stream, the rate over time.
    pub fn table(&self) -> String {
        let figures = self.figures();
        let Parted { alone, percentiles } = Parted::new(&figures);
        let rows: Vec<_> = alone.iter().map(|figure| vec![figure.label(), figure.text()]).collect();
        let mut text = render(&rows);
        if !percentiles.is_empty() {
            let row = |(name, figures): (String, [&Figure; _])| {
                [name].into_iter().chain(figures.map(short)).collect()
            };
            let rows: Vec<_> =
                [Parted::heads()].into_iter().chain(percentiles.into_iter().map(row)).collect();
            text += "\n";
            text += &render(&rows);
        }
        let sizes = [
            ("reads", &self.sizes.read),
            ("writes", &self.sizes.write),
            ("trims", &self.sizes.trim),
        ];
        for (op, sizes) in sizes.into_iter().filter(|(_, sizes)| !sizes.common.is_empty()) {
            text += &listed(&format!("most common {op}"), &common(sizes));
        }
        if self.streams > 1 {
            let shown = self.stream_requests.iter();
            let mut shown: Vec<_> =
                shown.map(|s| format!("{}: {}", s.stream, s.requests)).collect();
            let more = self.streams > shown.len() as u64;
            shown.extend(more.then(|| "...".to_owned()));
            text += &listed("requests by stream", &shown);
        }
        text + &over_time("", &self.rate)
    }
}

/// A table of two workloads, given with their names, a line a figure. The last column is b / a, or
/// with a sign b - a where the figure is a share or may be negative; `-` where it is not defined.
pub fn compare(a: (&str, &Info), b: (&str, &Info)) -> String {
    let mut rows = vec![["", "a", "b", "b / a, b - a"].map(str::to_owned).to_vec()];
    for (left, right) in a.1.figures().iter().zip(&b.1.figures()) {
        let change = change(left, right);
        rows.push(vec![left.label(), left.text(), right.text(), change]);
    }
    let over_time = over_time(" of a", &a.1.rate) + &over_time(" of b", &b.1.rate);
    format!("a: {}\nb: {}\n\n{}{over_time}", a.0, b.0, render(&rows))
}

fn change(a: &Figure, b: &Figure) -> String {
    let (Some(left), Some(right)) = (a.value, b.value) else { return "-".to_owned() };
    let digits = a.digits;
    if a.is_difference() {
        return format!("{:+.digits$}", right - left);
    }
    if left == 0.0 { "-".to_owned() } else { format!("{:.3}", right / left) }
}

fn common(sizes: &Sizes) -> Vec<String> {
    let share = |percent: Option<f64>| percent.map_or_else(String::new, |p| format!(" {p:.1} %"));
    let sizes = sizes.common.iter();
    sizes.map(|size| format!("{} KiB{}", size.kib, share(size.percent))).collect()
}

/// A title and what is listed under it, in lines that fit a terminal.
fn listed(title: &str, all: &[String]) -> String {
    let mut text = format!("\n{title}: ");
    let mut used = text.len() - 1;
    for (number, one) in all.iter().enumerate() {
        let comma = if number + 1 < all.len() { ", " } else { "" };
        if used + one.len() + comma.trim_end().len() > WIDTH {
            text.truncate(text.trim_end().len());
            text += "\n  ";
            used = 2;
        }
        text += one;
        text += comma;
        used += one.len() + comma.len();
    }
    text + "\n"
}

/// A figure in at most six characters, so that six of them are a row; the JSON has all digits.
fn short(figure: &Figure) -> String {
    let scaled = |value: f64, letter: &str| {
        let digits = if value < 10.0 { 2 } else { usize::from(value < 100.0) };
        format!("{value:.digits$}{letter}")
    };
    match figure.value {
        Some(value) if value >= 999.5e6 => scaled(value / 1e9, "G"),
        Some(value) if value >= 999.5e3 => scaled(value / 1e6, "M"),
        Some(value) if value >= 99_999.5 => scaled(value / 1e3, "k"),
        Some(value) if value >= 999.95 => format!("{value:.0}"),
        Some(value) if value >= 99.995 => format!("{value:.0$}", figure.digits.min(1)),
        _ => figure.text(),
    }
}

fn over_time(whose: &str, rate: &Rate) -> String {
    let width = readable_ns(rate.bin_ns);
    format!("\nrequests over time{whose}, a digit each {width}, 9 the most:\n  {}\n", rate.digits())
}

/// Columns as wide as they need, the first one to the left.
fn render(rows: &[Vec<String>]) -> String {
    let columns = rows.first().map_or(0, Vec::len);
    let width = |column: usize| rows.iter().map(|row| row[column].len()).max().unwrap_or(0);
    let widths: Vec<_> = (0..columns).map(width).collect();
    rows.iter().fold(String::new(), |mut text, row| {
        text += &format!("{:1$}", row[0], widths[0]);
        for (cell, width) in row.iter().zip(&widths).skip(1) {
            text += &format!("  {cell:>width$}");
        }
        text + "\n"
    })
}
