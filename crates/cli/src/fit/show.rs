//! What a fit found, as text and as JSON.

use crate::args::fit::FitArgs;
use crate::output::table::{render, render_groups, table};
use anyhow::Result;
use flashyard_core::key::Kind;
use flashyard_run::contract::SCHEMA_VERSION;
use flashyard_run::fit::Fitted;
use flashyard_run::fit::cells::{Cell, Figure, What};
use flashyard_run::fit::identify::Known;
use flashyard_run::fit::search::pairs;
use flashyard_run::stats;
use serde_json::{Value, json};

/// The error of a modelled figure, as a share of the measured one.
pub(super) fn error(measured: f64, modelled: f64) -> f64 {
    modelled / measured - 1.0
}

/// The median of the sizes of the errors of one kind of figure, if there are any.
pub(super) fn median_error(cells: &[Cell], figures: &[Vec<f64>], what: What) -> Option<f64> {
    let of_kind = pairs(cells, figures).filter(|pair| pair.figure.what == what);
    let errors = of_kind.map(|pair| error(pair.measured, pair.modelled).abs());
    median(errors.filter(|error| error.is_finite()))
}

/// The median of some numbers, if there are any.
pub(super) fn median(all: impl Iterator<Item = f64>) -> Option<f64> {
    let all: Vec<f64> = all.collect();
    (!all.is_empty()).then(|| stats::median(&all))
}

pub(super) fn percent(share: Option<f64>) -> String {
    share
        .filter(|share| share.is_finite())
        .map_or("-".into(), |share| format!("{:.1} %", 100.0 * share))
}

/// A number with four digits.
pub(super) fn short(value: f64) -> String {
    match value {
        value if !value.is_finite() => "-".to_string(),
        value if value.abs() >= 1_000.0 => format!("{value:.0}"),
        value if value.abs() >= 100.0 => format!("{value:.1}"),
        value => format!("{value:.2}"),
    }
}

/// The table of cells: each figure measured and modelled.
pub(super) fn cells_table(cells: &[Cell], figures: &[Vec<f64>]) -> String {
    let mut rows = table(&["cell", "figure", "measured", "modelled", "error"]);
    for (cell, figures) in cells.iter().zip(figures) {
        for (place, ((figure, measured), modelled)) in cell.measured.iter().zip(figures).enumerate()
        {
            let label = if place == 0 { cell.label() } else { String::new() };
            rows.add_row(vec![
                label,
                unit(*figure),
                short(*measured),
                short(*modelled),
                percent(Some(error(*measured, *modelled))),
            ]);
        }
    }
    // A cell with a long name has a narrow column, and not its figures a table each.
    render_groups(&rows, 4)
}

fn unit(figure: Figure) -> String {
    match figure.what {
        What::PerSecond | What::Amplification => figure.name(),
        _ => format!("{} us", figure.name()),
    }
}

/// Median errors in a sentence.
fn medians(cells: &[Cell], figures: &[Vec<f64>]) -> String {
    let kinds = [
        ("means", What::Mean),
        ("p99", What::P99),
        ("p99.9", What::P999),
        ("write amplification", What::Amplification),
    ];
    let kinds = kinds.map(|(name, what)| (name, median_error(cells, figures, what)));
    let mut known: Vec<_> = kinds.into_iter().filter(|(_, error)| error.is_some()).collect();
    if known.is_empty() {
        known.push(("rates", median_error(cells, figures, What::PerSecond)));
    }
    let parts: Vec<_> =
        known.into_iter().map(|(name, error)| format!("{name} {}", percent(error))).collect();
    format!("median error: {}\n", parts.join(", "))
}

/// All that a fit found, for a reader.
pub(super) fn text(
    args: &FitArgs,
    training: &[Cell],
    held_out: &[Cell],
    fitted: &Fitted,
    known: &Known,
) -> String {
    let mut text = format!(
        "device {}, fitted to {} ({} cells, {} sets of runs)\n\n",
        args.device,
        args.measurements,
        training.len(),
        fitted.evaluations
    );
    let mut rows = table(&["key", "start", "fitted", "standard error", "unit", "bounds"]);
    for (place, parameter) in fitted.keys.parameters.iter().enumerate() {
        let unit = match parameter.kind {
            Kind::Number { unit, .. } => unit,
            Kind::Bool | Kind::Choice(_) | Kind::List { .. } => "",
        };
        let error = match known.errors[place] {
            None => "-".to_string(),
            Some(error) if error > 10.0 || !error.is_finite() => "unknown".to_string(),
            Some(error) => percent(Some(error)),
        };
        // A band in place of a number that the cells hardly tell.
        let value = match known.bands[place] {
            Some((low, high)) => parameter.between(low, high).join(" to "),
            None => parameter.show(fitted.point[place]),
        };
        let off = if parameter.off.is_some() { ", or 0" } else { "" };
        rows.add_row(vec![
            parameter.key.clone(),
            parameter.show(fitted.keys.starts[0][place]),
            value,
            error,
            unit.to_string(),
            parameter.between(parameter.low, parameter.high).join(" to ") + off,
        ]);
    }
    text += &render(&rows);
    for one in &fitted.keys.untold {
        let [low, high] = one.parameter.between(one.likely.0, one.likely.1);
        let (key, value) = (&one.parameter.key, one.parameter.show(one.value));
        text += &format!("No cell tells {key}: it stays {value}; {low} to {high} are likely.\n");
    }
    for names in &known.confused {
        text += &match &names[..] {
            [one] => format!("These cells do not depend on {one}.\n"),
            several => format!("These cells do not tell apart: {}.\n", several.join(", ")),
        };
    }
    text += "\nTraining cells\n";
    text += &cells_table(training, &fitted.training);
    text += &medians(training, &fitted.training);
    if !held_out.is_empty() {
        text += "\nHeld-out cells, which the fit did not see\n";
        text += &cells_table(held_out, &fitted.held_out);
        text += &medians(held_out, &fitted.held_out);
    }
    text
}

fn json_cells(cells: &[Cell], figures: &[Vec<f64>]) -> Vec<Value> {
    let number = |value: f64| value.is_finite().then_some(value);
    let of = |(cell, figures): (&Cell, &Vec<f64>)| {
        let measured = cell.measured.iter().zip(figures);
        let figures: Vec<Value> = measured
            .map(|((figure, measured), modelled)| {
                json!({
                    "figure": figure.name(),
                    "measured": measured,
                    "modelled": number(*modelled),
                    "error": number(error(*measured, *modelled)),
                })
            })
            .collect();
        let ran =
            cell.ran.iter().map(|(column, entry)| (column.clone(), Value::from(entry.clone())));
        let ran: serde_json::Map<String, Value> = ran.collect();
        json!({ "drive": cell.drive, "ran": ran, "figures": figures })
    };
    cells.iter().zip(figures).map(of).collect()
}

pub(super) fn json_set(cells: &[Cell], figures: &[Vec<f64>]) -> Value {
    json!({
        "cells": json_cells(cells, figures),
        "median_error_mean": median_error(cells, figures, What::Mean),
        "median_error_p99": median_error(cells, figures, What::P99),
        "median_error_p999": median_error(cells, figures, What::P999),
    })
}

/// All that a fit found, as an object (docs/JSON.md).
pub(super) fn json(
    args: &FitArgs,
    training: &[Cell],
    held_out: &[Cell],
    fitted: &Fitted,
    known: &Known,
) -> Result<String> {
    let keys = fitted.keys.parameters.iter().enumerate();
    let keys: Vec<Value> = keys
        .map(|(place, parameter)| {
            let [low, high] = parameter.between(parameter.low, parameter.high);
            json!({
                "key": parameter.key,
                "start": parameter.show(fitted.keys.starts[0][place]),
                "fitted": parameter.show(fitted.point[place]),
                "low": low,
                "high": high,
                "standard_error": known.errors[place].filter(|error| error.is_finite()),
                "likely": known.bands[place].map(|(low, high)| parameter.between(low, high)),
            })
        })
        .collect();
    let untold = fitted.keys.untold.iter().map(|one| {
        let likely = one.parameter.between(one.likely.0, one.likely.1);
        json!({
            "key": one.parameter.key,
            "value": one.parameter.show(one.value),
            "likely": likely,
        })
    });
    let untold: Vec<Value> = untold.collect();
    let object = json!({
        "schema_version": SCHEMA_VERSION,
        "device": args.device,
        "measurements": args.measurements,
        "evaluations": fitted.evaluations,
        "keys": keys,
        "untold": untold,
        "not_told_apart": known.confused,
        "training": json_set(training, &fitted.training),
        "held_out": json_set(held_out, &fitted.held_out),
    });
    Ok(serde_json::to_string_pretty(&object)?)
}
