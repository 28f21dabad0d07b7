//! `flashyard trace fit`: a workload file that stands in for a trace.

use super::inputs::{check_settings, load, refuse_raw};
use crate::args::TraceFitArgs;
use crate::output::{WholeFile, names, print, print_json, remark, table};
use crate::progress::Progress;
use crate::progress::source::Told;
use anyhow::Result;
use flashyard_core::request::Request;
use flashyard_run::error::{is_toml, workload_error, wrong};
use flashyard_run::plan::DEFAULT_SEED;
use flashyard_run::presets::DEFAULT_DEVICE;
use flashyard_sim::own::OwnParts;
use flashyard_workload::info::{Figure, Info};
use flashyard_workload::profile::{Fitter, MAX_SPAN_SECTORS, Profile, ProfileKeys, Twin};
use flashyard_workload::{RequestSource, SourceStats, WorkloadError};
use serde_json::{Value, json};
use std::path::Path;
use std::sync::Arc;

/// Runs `flashyard trace fit`.
pub(crate) fn fit(args: &TraceFitArgs) -> Result<()> {
    let out = args.out.to_string_lossy();
    if !is_toml(&out) {
        return Err(wrong(&format!("--out {out}: a workload file's name ends in .toml")));
    }
    check_settings(&args.set)?;
    let mut inputs = load(&OwnParts::default(), DEFAULT_DEVICE, &args.workload, &args.set)?;
    names::check(&names::read_by(&inputs, [&args.workload]), [args.out.as_path()])?;
    refuse_raw(&inputs)?;
    let seed = args.seed.unwrap_or(DEFAULT_SEED);
    inputs.set_seed(seed);
    let progress = Progress::one(&args.workload);
    let source = Told::new(inputs.open(None)?, &progress);
    let mut source = Watched { source, fitter: Fitter::new() };
    let trace = Info::collect(&mut source).map_err(|error| workload_error(&error))?;
    drop(progress);
    let profile = source.fitter.finish();
    let profile =
        profile.ok_or_else(|| wrong(&format!("{}: it has no requests to fit", args.workload)))?;
    if profile.span_sectors > MAX_SPAN_SECTORS {
        return Err(wrong(&format!(
            "{}: addresses up to sector {} cannot be fitted, only up to {MAX_SPAN_SECTORS}; leave \
             the others out with trace.to_sector",
            args.workload, profile.span_sectors
        )));
    }
    let profile = Arc::new(profile);
    let progress = Progress::one("the twin");
    let twin = Twin::new(Arc::clone(&profile), &ProfileKeys::default(), seed, None)
        .and_then(|twin| Info::collect(&mut Told::new(twin, &progress)))
        .map_err(|error| workload_error(&error))?;
    drop(progress);
    let text = file_text(&args.workload, &trace, &profile);
    WholeFile::of(&args.out, &text)?.finish()?;
    let figures: Vec<(Figure, Figure)> = trace.figures().into_iter().zip(twin.figures()).collect();
    if args.json {
        return print_json(&json!({
            "schema_version": flashyard_run::contract::SCHEMA_VERSION,
            "workload": args.workload,
            "file": out,
            "bytes": text.len(),
            "seed": seed,
            "figures": figures.iter().map(residual).collect::<Vec<_>>(),
        }));
    }
    remark(&format!("{out}: {} bytes, a twin of {} requests", text.len(), profile.requests()));
    print(&residuals(&figures))
}

/// The whole workload file.
fn file_text(workload: &str, trace: &Info, profile: &Profile) -> String {
    let name =
        Path::new(workload).file_name().map_or(workload.into(), |name| name.to_string_lossy());
    let quoted = |text: &str| Value::from(text).to_string(); // JSON's escapes are TOML's.
    let figures = trace.figures();
    let figures: Vec<String> = figures
        .iter()
        .take(NOTED_FIGURES)
        .map(|figure| format!("{} {}", figure.label(), figure.text()))
        .collect();
    format!(
        "title = {}\nsource = {}\nnotes = {}\n\n{NOTE}\n[profile]\n\n{}",
        quoted(&format!("twin of {name}")),
        quoted(&format!("flashyard {} trace fit", env!("CARGO_PKG_VERSION"))),
        quoted(&format!("the trace: {}", figures.join("; "))),
        profile.to_toml()
    )
}

/// Figures of the trace that the file's notes tell: counts, sizes, mix.
const NOTED_FIGURES: usize = 10;

const NOTE: &str = "\
# Counts of what the trace did, without its addresses. How they are read: docs/WORKLOADS.md.";

/// Hands requests on, and counts them.
struct Watched<S> {
    source: S,
    fitter: Fitter,
}

impl<S: RequestSource> RequestSource for Watched<S> {
    fn next_request(&mut self) -> Result<Option<Request>, WorkloadError> {
        let request = self.source.next_request()?;
        if let Some(request) = &request {
            self.fitter.add(request);
        }
        Ok(request)
    }

    fn stats(&self) -> SourceStats {
        self.source.stats()
    }
}

/// The twin's difference: in percent of the trace's figure, or where the figure is a share itself
/// or may be negative, twin minus trace.
fn difference(trace: &Figure, twin: &Figure) -> Option<f64> {
    let (a, b) = (trace.value?, twin.value?);
    if trace.is_difference() {
        return Some(b - a);
    }
    let both_zero = a.abs().max(b.abs()) <= 0.0;
    if both_zero { Some(0.0) } else { (a.abs() > 0.0).then(|| 100.0 * (b / a - 1.0)) }
}

fn residual((trace, twin): &(Figure, Figure)) -> Value {
    json!({
        "name": trace.name,
        "unit": trace.unit,
        "trace": trace.value,
        "twin": twin.value,
        "difference": difference(trace, twin),
    })
}

fn residuals(figures: &[(Figure, Figure)]) -> String {
    let mut all = table::table(&["", "trace", "twin", "difference"]);
    for (trace, twin) in figures {
        let unit = if trace.is_difference() { "" } else { " %" };
        let difference = difference(trace, twin)
            .map_or_else(|| "-".to_string(), |difference| format!("{difference:+.1}{unit}"));
        all.add_row(vec![trace.label(), trace.text(), twin.text(), difference]);
    }
    table::render(&all)
}
