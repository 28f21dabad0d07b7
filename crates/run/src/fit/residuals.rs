//! Which mechanism a device lacks, from what its cells leave over.
//!
//! Each rule compares a ratio of two measured figures with the same ratio of the model. Ratios do
//! not depend on times that the fit could still move, so a rule that speaks points to a mechanism
//! and not to a value. A rule that finds nothing is silent, and all of them may be.

use super::cell::{Cell, Class, What};
use anyhow::Result;
use std::collections::BTreeMap;

/// By how much a measured ratio has to stand out, as a factor, before a rule looks at it.
const STANDS_OUT: f64 = 1.3;
/// The model has such a mechanism if it gives this power of the measured factor: half of it on a
/// logarithmic scale.
const HALF: f64 = 0.5;
/// Means that are off by more than this at two depths are off for a reason.
const OFF: f64 = 0.08;
/// What counts as met: of p99.
const MET: f64 = 0.10;

/// A cell of a row of depths, measured and modelled.
#[derive(Clone, Copy, Debug)]
struct At<'a> {
    depth: f64,
    cell: &'a Cell,
    figures: &'a [f64],
}

impl At<'_> {
    /// The depth in words; cells at a rate have none.
    fn load(&self) -> String {
        let has_depth = self.cell.get("queue_depth").is_some();
        if has_depth { format!("depth {}", self.depth) } else { "this rate".to_string() }
    }

    /// A figure, measured and modelled.
    fn pair(&self, class: Class, what: What) -> Option<(f64, f64)> {
        let pair = self.cell.pair(self.figures, class, what);
        pair.filter(|(_, modelled)| modelled.is_finite() && *modelled > 0.0)
    }

    /// The ratio of two figures, measured and modelled.
    fn ratio(&self, class: Class, above: What, below: What) -> Option<(f64, f64)> {
        let (above, below) = (self.pair(class, above)?, self.pair(class, below)?);
        Some((above.0 / below.0, above.1 / below.1))
    }
}

/// Whether the model shows less than half of a factor that was measured, which stands out.
fn is_missing(measured: f64, modelled: f64) -> bool {
    measured >= STANDS_OUT && modelled < measured.powf(HALF)
}

/// What the cells say is missing, a sentence each. The sentence names the cells and the figures.
pub fn findings(cells: &[Cell], figures: &[Vec<f64>]) -> Result<Vec<String>> {
    let mut rows: BTreeMap<(String, String), Vec<At<'_>>> = BTreeMap::new();
    for (cell, figures) in cells.iter().zip(figures) {
        let rest = cell.ran.iter().filter(|(column, _)| column != "queue_depth");
        let rest: Vec<String> = rest.map(|(column, entry)| format!("{column}={entry}")).collect();
        let pattern = cell.get("pattern").unwrap_or("randread").to_string();
        let depth = cell.number("queue_depth")?.unwrap_or(1.0);
        rows.entry((pattern, rest.join(" "))).or_default().push(At { depth, cell, figures });
    }
    let mut said = Vec::new();
    for ((_, label), row) in &mut rows {
        row.sort_by(|a, b| a.depth.total_cmp(&b.depth));
        let label = if label.is_empty() { "cells" } else { label };
        for class in [Class::Read, Class::Write] {
            let rules = [early, collisions, even, stalls, rare, ceiling];
            let found = rules.into_iter().filter_map(|rule| rule(row, class));
            said.extend(found.map(|what| format!("{label}: {what}")));
        }
    }
    if said.is_empty() {
        said.push(nothing(cells, figures));
    }
    Ok(said)
}

/// A median above the mean: some requests are over much sooner than the others.
fn early(row: &[At<'_>], class: Class) -> Option<String> {
    let first = row.first()?;
    let (measured, modelled) = first.ratio(class, What::P50, What::Mean)?;
    (measured > 1.03 && modelled < 1.0 + (measured - 1.0) * HALF).then(|| {
        format!(
            "at {} the median is {measured:.2} times the mean, modelled {modelled:.2}: a \
             share of {}s ends early (held in memory), which the device does not have",
            first.load(),
            class.word()
        )
    })
}

/// The tail grows with the depth where few servers are shared.
fn collisions(row: &[At<'_>], class: Class) -> Option<String> {
    let first = row.first()?;
    let base = first.ratio(class, What::P99, What::Mean)?;
    let grown = row[1..].iter().filter_map(|at| {
        let ratio = at.ratio(class, What::P99, What::Mean)?;
        Some((at.depth, ratio.0 / base.0, ratio.1 / base.1))
    });
    let (depth, measured, modelled) = grown.max_by(|a, b| a.1.total_cmp(&b.1))?;
    is_missing(measured, modelled).then(|| {
        format!(
            "p99 / mean grows by {measured:.2} from depth {} to {depth}, modelled by \
             {modelled:.2}: {}s wait for a server that few of them share and the device does not \
             have",
            first.depth,
            class.word()
        )
    })
}

/// A narrow tail under load: something serves requests in turn.
fn even(row: &[At<'_>], class: Class) -> Option<String> {
    let last = row.last().filter(|_| row.len() > 1)?;
    let (measured, modelled) = last.ratio(class, What::P99, What::Mean)?;
    (modelled / measured >= STANDS_OUT).then(|| {
        let what = match class {
            Class::Read => "serves reads more evenly: they wait in one line in front of its dies",
            Class::Write => "serves writes more evenly: its buffer frees lines one by one",
        };
        format!(
            "at depth {} p99 / mean is {measured:.2}, modelled {modelled:.2}: the drive {what}",
            last.depth
        )
    })
}

/// Few requests of a lone stream wait long: the device stops now and then.
fn stalls(row: &[At<'_>], class: Class) -> Option<String> {
    let first = row.first()?;
    let (measured, modelled) = first.ratio(class, What::P99, What::P50)?;
    is_missing(measured / STANDS_OUT, modelled / STANDS_OUT).then(|| {
        format!(
            "at {} p99 is {measured:.1} times the median, modelled {modelled:.1}: {}s stall now \
             and then, longer than any wait of the device",
            first.load(),
            class.word()
        )
    })
}

/// p99.9 far above p99.
fn rare(row: &[At<'_>], class: Class) -> Option<String> {
    let far = row.iter().filter_map(|at| {
        let (measured, modelled) = at.ratio(class, What::P999, What::P99)?;
        Some((at.load(), measured, modelled))
    });
    let (load, measured, modelled) = far.max_by(|a, b| a.1.total_cmp(&b.1))?;
    (measured >= 2.0 && is_missing(measured, modelled)).then(|| {
        format!(
            "at {load} p99.9 is {measured:.1} times p99, modelled {modelled:.1}: one {} in \
             a thousand takes long for a reason that the device does not have",
            class.word()
        )
    })
}

/// Means of the two deepest cells that are off in the same direction.
fn ceiling(row: &[At<'_>], class: Class) -> Option<String> {
    let [.., before, last] = row else { return None };
    let off = |at: &At<'_>| {
        let (measured, modelled) = at.pair(class, What::Mean)?;
        Some(modelled / measured - 1.0)
    };
    let (a, b) = (off(before)?, off(last)?);
    (a * b > 0.0 && a.abs().min(b.abs()) > OFF).then(|| {
        let word = if a > 0.0 { "slower" } else { "faster" };
        format!(
            "means at depths {} and {} are {:+.0} and {:+.0} %: the device saturates {word} than \
             the drive, so what limits these {}s is not what limits the others",
            before.depth,
            last.depth,
            100.0 * a,
            100.0 * b,
            class.word()
        )
    })
}

/// What is said when no rule speaks.
fn nothing(cells: &[Cell], figures: &[Vec<f64>]) -> String {
    let mut worst: Option<(f64, String)> = None;
    for (cell, figures) in cells.iter().zip(figures) {
        for ((figure, measured), modelled) in cell.measured.iter().zip(figures) {
            let error = modelled / measured - 1.0;
            let counts = matches!(figure.what, What::Mean | What::P99) && error.is_finite();
            if counts && worst.as_ref().is_none_or(|(known, _)| error.abs() > known.abs()) {
                worst = Some((error, format!("{} of {}", figure.name(), cell.label())));
            }
        }
    }
    match worst {
        None => "there are no means and no p99 to judge by".to_string(),
        Some((error, what)) if error.abs() > MET => format!(
            "no rule names what is missing; the greatest error of means and p99 is {:+.0} % \
             ({what})",
            100.0 * error
        ),
        Some((error, what)) => format!(
            "nothing is missing that these cells show; the greatest error of means and p99 is \
             {:+.0} % ({what})",
            100.0 * error
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::super::cell::Figure;
    use super::*;

    /// Cells of reads by depth, each figure measured and modelled: mean, p50, p99, p99.9.
    fn said(rows: &[(u32, [(f64, f64); 4])]) -> String {
        let whats = [What::Mean, What::P50, What::P99, What::P999];
        let figure = |what| Figure { class: Class::Read, what };
        let cell = |(depth, pairs): &(u32, [(f64, f64); 4])| Cell {
            place: String::new(),
            drive: String::new(),
            ran: vec![("queue_depth".to_string(), depth.to_string())],
            measured: whats.iter().zip(pairs).map(|(what, pair)| (figure(*what), pair.0)).collect(),
        };
        let cells: Vec<Cell> = rows.iter().map(cell).collect();
        let figures = rows.iter().map(|(_, pairs)| pairs.map(|pair| pair.1).to_vec());
        findings(&cells, &figures.collect::<Vec<_>>()).unwrap().join("\n")
    }

    /// Figures that the model meets.
    fn met(mean: f64) -> [(f64, f64); 4] {
        [mean, 0.98 * mean, 1.2 * mean, 1.3 * mean].map(|us| (us, us))
    }

    #[test]
    fn cells_that_are_met_lack_nothing() {
        let found = said(&[(1, met(60.0)), (8, met(80.0)), (64, met(200.0))]);
        assert!(found.starts_with("nothing is missing that these cells show"), "{found}");
    }

    #[test]
    fn each_rule_speaks_of_its_pattern_and_of_no_other() {
        let with = |place: usize, figure: usize, pair: (f64, f64)| {
            let mut rows = [(1, met(60.0)), (8, met(80.0)), (64, met(200.0))];
            rows[place].1[figure] = pair;
            said(&rows)
        };
        for (found, words) in [
            (with(0, 1, (66.0, 58.0)), "ends early"),
            (with(1, 2, (212.0, 110.0)), "a server that few of them share"),
            (with(2, 2, (210.0, 320.0)), "more evenly"),
            (with(0, 2, (300.0, 70.0)), "stall now and then"),
            (with(2, 3, (900.0, 260.0)), "one read in a thousand"),
        ] {
            assert!(found.contains(words), "{words}: {found}");
        }
        // A factor that the model has, too, is not missing.
        assert!(!with(1, 2, (212.0, 200.0)).contains("share"));
    }

    #[test]
    fn means_of_deep_queues_that_are_off_alike_name_a_ceiling() {
        let off = |mean: f64, by: f64| met(mean).map(|(us, _)| (us, us * by));
        let found = said(&[(1, met(60.0)), (8, off(80.0, 0.8)), (64, off(200.0, 0.7))]);
        assert!(found.contains("saturates faster than the drive"), "{found}");
        let found = said(&[(1, met(60.0)), (8, off(80.0, 1.15)), (64, off(200.0, 0.85))]);
        assert!(found.starts_with("no rule names what is missing"), "{found}");
    }
}
