//! The page of the board, docs/BOARD.md, and the tables on the screen.

use super::super::show::{median, median_error, percent};
use super::drives::Drive;
use anyhow::Result;
use flashyard_run::fit::cells::{Cell, What};
use flashyard_run::fit::residuals::findings;
use flashyard_run::text::filled;

/// Columns of a line of the page.
const COLUMNS: usize = 100;

/// The figures whose errors are shown.
const SHOWN: [What; 3] = [What::Mean, What::P99, What::P999];

/// Cells with the figures of one device, or of many fits.
pub(super) struct Modelled<'a> {
    pub(super) drive: &'a Drive,
    /// The device; none: each cell is of a fit that did not see it.
    pub(super) device: Option<String>,
    /// Whether the device has the name of the drive.
    pub(super) is_own: bool,
    pub(super) figures: Vec<Vec<f64>>,
    /// For each cell of a fit whether other cells lie on both sides of it.
    pub(super) between: Vec<bool>,
}

impl Modelled<'_> {
    /// The sizes of the errors of one kind of figure, of the cells that are chosen by their place.
    fn errors(&self, what: What, wanted: impl Fn(usize) -> bool) -> Vec<f64> {
        let cells = self.drive.cells.iter().zip(&self.figures).enumerate();
        let error = |(_, (cell, figures)): (usize, (&Cell, &Vec<f64>))| {
            median_error(std::slice::from_ref(cell), std::slice::from_ref(figures), what)
        };
        cells.filter(|(place, _)| wanted(*place)).filter_map(error).collect()
    }

    fn is_between(&self, place: usize) -> bool {
        self.between.get(place).copied().unwrap_or(false)
    }

    /// What the residuals say.
    pub(super) fn findings(&self) -> Result<Vec<String>> {
        findings(&self.drive.cells, &self.figures)
    }

    /// The name of the plot.
    pub(super) fn plot_name(&self) -> String {
        match &self.device {
            Some(device) if !self.is_own => {
                let device = device.trim_end_matches(".toml").replace(['/', '\\', '.'], "-");
                format!("board-{}-{device}.svg", self.drive.slug())
            }
            _ => format!("board-{}.svg", self.drive.slug()),
        }
    }

    /// What stands for the drive.
    fn label(&self) -> String {
        self.device.as_ref().map_or_else(|| "fits".to_string(), |device| format!("`{device}`"))
    }
}

/// The header of `of_devices`, and its rows: a device on the cells of a drive.
pub(super) const DEVICES: [&str; 6] = ["drive", "device", "cells", "mean", "p99", "p99.9"];

pub(super) fn of_devices(all: &[Modelled<'_>]) -> Vec<Vec<String>> {
    let row = |one: &Modelled<'_>| {
        let count = one.drive.cells.len().to_string();
        let errors = SHOWN.map(|what| percent(median(one.errors(what, |_| true).into_iter())));
        [one.drive.name.clone(), one.device.clone().unwrap_or_default(), count]
            .into_iter()
            .chain(errors)
            .collect()
    };
    all.iter().map(row).collect()
}

/// The header of `of_fits`, and its rows: cells that a fit did not see.
pub(super) const FITS: [&str; 6] = ["drive", "held-out cells", "count", "mean", "p99", "p99.9"];

pub(super) fn of_fits(all: &[Modelled<'_>]) -> Vec<Vec<String>> {
    let mut rows = Vec::new();
    let mut add = |name: &str, of: &[&Modelled<'_>]| {
        let kinds: [(&str, Option<bool>); 3] =
            [("all", None), ("between others", Some(true)), ("beyond them", Some(false))];
        for (kind, wanted) in kinds {
            let is = |one: &Modelled<'_>, place| {
                wanted.is_none_or(|wanted| one.is_between(place) == wanted)
            };
            let counts = of
                .iter()
                .map(|one| (0..one.drive.cells.len()).filter(|place| is(one, *place)).count());
            let error = |what| {
                let errors = of.iter().flat_map(|one| one.errors(what, |place| is(one, place)));
                percent(median(errors))
            };
            let cells = [name.to_string(), kind.to_string(), counts.sum::<usize>().to_string()];
            rows.push(cells.into_iter().chain(SHOWN.map(error)).collect());
        }
    };
    for one in all {
        add(&one.drive.name, &[one]);
    }
    if all.len() > 1 {
        add("every drive", &all.iter().collect::<Vec<_>>());
    }
    rows
}

/// A table of Markdown.
fn markdown(header: &[&str], rows: &[Vec<String>]) -> String {
    let line = |cells: &[String]| format!("| {} |\n", cells.join(" | "));
    let names: Vec<String> = header.iter().map(ToString::to_string).collect();
    let rule = "|---".repeat(header.len()) + "|\n";
    line(&names) + &rule + &rows.iter().map(|row| line(row)).collect::<String>()
}

/// The page: devices on cells, then, where there were fits, cells that these did not see.
pub(super) fn page(
    devices: &[Modelled<'_>],
    fits: &[Modelled<'_>],
    command: &str,
) -> Result<String> {
    let mut text = format!(
        "# The board\n\n\
         Modelled figures beside those of real drives. An error is modelled / measured - 1; a row \
         has the\nmedians of its sizes. [FITTING.md](FITTING.md) has the measurements, their \
         sources, and how devices\nare fitted to them. This page is written by\n\n    \
         {command}\n\n\
         The aim is 5 % of means and 10 % of p99 on cells that were not fitted to.\n",
    );
    if !devices.is_empty() {
        text += "\n## Devices with names\n\nThe loads that a device was fitted to, if there are \
                 any, are in `held` of its file. Its errors\nthere say how well a device can be \
                 like the drive, not how well it predicts.\n\n";
        text += &markdown(&DEVICES, &of_devices(devices));
        for one in devices {
            text += &format!("\n### {}, {}\n\n", one.drive.name, one.label());
            text += &format!("![{0}]({1})\n\n", one.drive.name, one.plot_name());
            for said in one.findings()? {
                text += &(filled("- ", &format!("{said}."), COLUMNS, "  ") + "\n");
            }
        }
    }
    if !fits.is_empty() {
        text += "\n## Cells that a fit did not see\n\nEach cell was held out once, and a device \
                 fitted to the other cells of its drive.\n\n";
        text += &markdown(&FITS, &of_fits(fits));
    }
    Ok(text)
}
