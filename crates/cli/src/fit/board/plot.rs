//! A plot of a drive: mean and p99 over the depth, measured and modelled, a panel for each pattern
//! and size. It is text (SVG), so that two plots can be compared.

use flashyard_run::fit::cells::{Cell, Class, What};
use std::fmt::Write;

/// Pixels of a panel, and of its margins.
const WIDTH: f64 = 230.0;
const HEIGHT: f64 = 190.0;
const LEFT: f64 = 44.0;
const BOTTOM: f64 = 30.0;
const TOP: f64 = 24.0;
/// Panels side by side, pixels above the first row, and those that the legend takes.
const ROW: usize = 3;
const HEAD: f64 = 44.0;
const LEGEND: f64 = 420.0;

/// What is drawn: the figure, its colour, its name.
const DRAWN: [(What, &str, &str); 2] =
    [(What::Mean, "#1b9e77", "mean"), (What::P99, "#d95f02", "p99")];

/// A point of a panel: the depth, and the figure measured and modelled, in us.
type Point = (f64, f64, f64);

/// A panel: its title, and the points of each of `DRAWN`.
type Panel = (String, [Vec<Point>; 2]);

/// The panels of some cells, in the order of the cells. Cells without a depth have none.
fn panels(cells: &[Cell], figures: &[Vec<f64>]) -> Vec<Panel> {
    let mut all: Vec<Panel> = Vec::new();
    for (cell, modelled) in cells.iter().zip(figures) {
        let depth = cell.get("queue_depth").and_then(|depth| depth.parse::<f64>().ok());
        let Some(depth) = depth else { continue };
        for class in [Class::Read, Class::Write] {
            let rest = cell.ran.iter().filter(|(column, _)| column != "queue_depth");
            let rest: Vec<&str> = rest.map(|(_, entry)| entry.as_str()).collect();
            let title = format!("{} ({}s)", rest.join(" "), class.word());
            for (place, (what, ..)) in DRAWN.into_iter().enumerate() {
                let Some((measured, modelled)) = cell.pair(modelled, class, what) else { continue };
                let at = all.iter().position(|(known, _)| *known == title).unwrap_or_else(|| {
                    all.push((title.clone(), [Vec::new(), Vec::new()]));
                    all.len() - 1
                });
                all[at].1[place].push((depth, measured, modelled));
            }
        }
    }
    for (_, lines) in &mut all {
        for points in lines {
            points.sort_by(|a, b| a.0.total_cmp(&b.0));
        }
    }
    all
}

/// The plot of a drive beside a device.
pub(super) fn svg(title: &str, cells: &[Cell], figures: &[Vec<f64>]) -> String {
    let panels = panels(cells, figures);
    let rows = panels.len().div_ceil(ROW).max(1);
    let columns = panels.len().clamp(1, ROW);
    let width = (WIDTH * columns as f64 + 10.0).max(LEGEND);
    let height = HEAD + HEIGHT * rows as f64;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" \
         viewBox=\"0 0 {width} {height}\" font-family=\"sans-serif\" font-size=\"11\">\n\
         <rect width=\"{width}\" height=\"{height}\" fill=\"#ffffff\"/>\n"
    );
    text(&mut svg, (10.0, 16.0), "start", title);
    let mut x = 10.0;
    for (_, colour, name) in DRAWN {
        for (words, filled) in [("measured", true), ("modelled", false)] {
            mark(&mut svg, (x + 6.0, 30.0), colour, filled);
            text(&mut svg, (x + 16.0, 34.0), "start", &format!("{name} {words}"));
            x += 100.0;
        }
    }
    for (number, panel) in panels.iter().enumerate() {
        let (row, column) = (number / ROW, number % ROW);
        draw(&mut svg, (WIDTH * column as f64, HEAD + HEIGHT * row as f64), panel);
    }
    svg + "</svg>\n"
}

/// A text at a place.
fn text(svg: &mut String, (x, y): (f64, f64), anchor: &str, words: &str) {
    let words = words.replace('&', "&amp;").replace('<', "&lt;");
    let place = format!("x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\"");
    writeln!(svg, "<text {place}>{words}</text>").expect("a string takes all");
}

/// A measured figure is a dot, a modelled one a short line.
fn mark(svg: &mut String, (x, y): (f64, f64), colour: &str, filled: bool) {
    let shape = if filled {
        format!("<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"4\" fill=\"{colour}\"/>")
    } else {
        let (from, to) = (x - 6.0, x + 6.0);
        format!(
            "<path d=\"M{from:.1} {y:.1}L{to:.1} {y:.1}\" stroke=\"{colour}\" stroke-width=\"2\"/>"
        )
    };
    writeln!(svg, "{shape}").expect("a string takes all");
}

fn draw(svg: &mut String, (left, top): (f64, f64), (title, lines): &Panel) {
    let all = || lines.iter().flatten().filter(|point| point.2.is_finite() && point.2 > 0.0);
    let values = || all().flat_map(|(_, measured, modelled)| [*measured, *modelled]);
    let (low, high) = values().fold((f64::MAX, 0.0_f64), |(l, h), v| (l.min(v), h.max(v)));
    let (low, high) = (low.log10().floor(), high.log10().ceil());
    let most = all().fold(1.0_f64, |most, point| most.max(point.0)).log2().max(1.0);
    let (width, height) = (WIDTH - LEFT - 16.0, HEIGHT - TOP - BOTTOM);
    let x = |depth: f64| left + LEFT + width * depth.log2() / most;
    let y = |us: f64| top + TOP + height * (high - us.log10()) / (high - low).max(1.0);
    text(svg, (left + LEFT, top + 14.0), "start", title);
    let frame = (left + LEFT, top + TOP);
    writeln!(
        svg,
        "<rect x=\"{:.1}\" y=\"{:.1}\" width=\"{width:.1}\" height=\"{height:.1}\" fill=\"none\" \
         stroke=\"#cccccc\"/>",
        frame.0, frame.1
    )
    .expect("a string takes all");
    let mut power = low;
    while power <= high {
        let us = 10_f64.powf(power);
        let unit = if power >= 3.0 { format!("{} ms", us / 1e3) } else { format!("{us} us") };
        text(svg, (left + LEFT - 4.0, y(us) + 4.0), "end", &unit);
        power += 1.0;
    }
    let mut depths: Vec<f64> = all().map(|point| point.0).collect();
    depths.sort_by(f64::total_cmp);
    depths.dedup();
    for depth in depths {
        text(svg, (x(depth), top + HEIGHT - BOTTOM + 14.0), "middle", &format!("{depth}"));
    }
    for ((_, colour, _), points) in DRAWN.iter().zip(lines) {
        let places: Vec<String> = points
            .iter()
            .filter(|(.., modelled)| modelled.is_finite() && *modelled > 0.0)
            .map(|(depth, _, modelled)| format!("{:.1} {:.1}", x(*depth), y(*modelled)))
            .collect();
        if !places.is_empty() {
            let path = places.join("L");
            writeln!(
                svg,
                "<path d=\"M{path}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"2\"/>"
            )
            .expect("a string takes all");
        }
        for (depth, measured, _) in points {
            mark(svg, (x(*depth), y(*measured)), colour, true);
        }
    }
}
