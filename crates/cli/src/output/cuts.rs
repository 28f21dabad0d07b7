//! Power cuts on the screen.

use super::style;
use super::text::{line, marked_line};
use flashyard_run::cuts::{Cuts, Promise, Spread};
use flashyard_run::units::{count, percent, size, time};

/// Broken promises that the screen names.
const NAMED: usize = 3;

/// What the cuts of a run would lose, behind its summary; nothing without cuts.
pub(crate) fn text(cuts: Option<&Cuts>) -> String {
    let lines = cuts.map_or_else(Vec::new, lines);
    if lines.is_empty() { String::new() } else { format!("\n{}\n", lines.join("\n")) }
}

/// Lines on what the cuts would lose.
fn lines(cuts: &Cuts) -> Vec<String> {
    let losses = cuts.losses();
    let harmless = losses.harmless_share.unwrap_or_default();
    let mut said =
        format!("{} cuts, {} without a loss", count(losses.cuts), percent(harmless, 1.0));
    let spread = |of: Spread, word: &str| {
        let Spread { p50, p99, most } = of;
        format!("; {word} p50 {}, p99 {}, most {}", count(p50), count(p99), count(most))
    };
    said += &spread(losses.lost_units, "units lost");
    if losses.lost_units.most > 0 {
        let (most, age) = (losses.lost_bytes.most, losses.oldest_ns.most as f64);
        said += &format!(" ({}, the oldest answered {} before)", size(most), time(age));
    }
    for (of, word) in [(losses.torn_requests, "torn writes"), (losses.trims_undone, "trims undone")]
    {
        if of.most > 0 {
            said += &spread(of, word);
        }
    }
    let mut lines = vec![line("power cuts", &said)];
    if losses.broken.is_empty() {
        lines.push(line("promises", "no cut breaks one"));
    } else {
        let broken = count(losses.breaking);
        let named: Vec<String> = losses.broken.iter().take(NAMED).map(promise).collect();
        let said = format!("{broken} cuts break one: {}", named.join("; "));
        lines.push(style::marked(&marked_line("promises", "! ", &said)));
    }
    lines
}

/// A broken promise in words.
fn promise(broken: &Promise) -> String {
    let Promise { at_ns, request, unit, version, rule } = *broken;
    let who = request.map_or_else(String::new, |request| format!(" of request {request}"));
    let why = rule.says();
    format!("from {} on version {version} of unit {unit}{who} ({why})", time(at_ns as f64))
}
