//! `flashyard run`: one simulation.

use crate::args::{self, InputArgs, RunArgs};
use crate::features::{PARQUET, REPORT};
use crate::output::log::{self, Kind, SharedLog};
use crate::output::parquet::{self, Note, is_parquet};
use crate::output::state;
use crate::output::timeline::TimelineLogger;
use crate::output::unfinished::Folder;
use crate::output::{WholeFile, cuts, names, note, print, remark, series, summary::summary};
use crate::progress::Progress;
use crate::report::{self, block_map::BlockMap};
use anyhow::{Context, Result};
use flashyard_core::units::Span;
use flashyard_run::cuts::rows::{FIELDS, row};
use flashyard_run::error::wrong;
use flashyard_run::logs as rows;
use flashyard_run::meter::Runs;
use flashyard_run::plan::{Bases, Plan};
use flashyard_run::simulate::{Options, Outcome, simulate};
use flashyard_sim::config::{Precision, Settings};
use flashyard_sim::device::Device;
use flashyard_sim::observe::Observer;
use flashyard_sim::own::OwnParts;
use flashyard_sim::report::Report;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::Instant;

/// Runs `flashyard run`.
pub(crate) fn run(args: &RunArgs, own: &OwnParts) -> Result<()> {
    let Wanted { inputs, settings, whole, has_series, has_meter } = wanted(args, own)?;
    let folder = args.out.as_deref().map(folder).transpose()?;
    let (mut observers, logs) = logs(args, &settings, has_meter)?;
    let timeline = args.timeline.as_deref().map(WholeFile::create).transpose()?.map(|file| {
        let (logger, timeline) = TimelineLogger::new(args.window.unwrap_or_default(), whole, file);
        observers.push(Box::new(logger));
        timeline
    });
    let mut in_report = None;
    if let Some(dir) = &args.out {
        let log = request_log(dir)?.map(|(observer, log)| {
            observers.push(observer);
            log
        });
        let rule = inputs.shown("gc.policy").unwrap_or_default();
        let map = BlockMap::new(&settings, &rule).map(|(observer, map)| {
            observers.push(Box::new(observer));
            map
        });
        in_report = Some((dir, log, map));
    }
    let start = Instant::now();
    let (mut outcome, saved) = simulated(args, &inputs, &settings, observers)?;
    let seconds = start.elapsed().as_secs_f64();
    let plotted = report::series::Series::of(&outcome.report);
    keep_own(&mut outcome.report, has_series, has_meter);
    let object = outcome.object(&inputs);
    let mut text = serde_json::to_string_pretty(&object).context("the results as JSON")?;
    text.push('\n');
    let mut files = Vec::from_iter(saved);
    let notes = parquet::notes(&inputs, &outcome.provenance);
    if let Some((dir, log, map)) = in_report {
        let page = report::run::Run {
            inputs: &inputs,
            report: &outcome.report,
            cuts: outcome.cuts.as_ref(),
            object: &object,
            series: plotted.ok_or_else(|| no_series(args)),
            map: map.map(|map| map.take()),
            changes: &outcome.provenance.changes,
        };
        files.extend(in_folder(dir, &text, page, &notes)?);
        log.map_or(Ok(()), |log| log.get().finish(&notes))?;
    }
    for log in logs {
        log.get().finish(&notes)?;
    }
    if let Some(timeline) = timeline {
        timeline.get().finish()?;
    }
    files.into_iter().try_for_each(WholeFile::finish)?;
    if let Some(path) = &args.out {
        let has_series = outcome.report.series.is_some();
        remove_others(path, [has_meter, has_series, outcome.cuts.is_some()])?;
    }
    folder.into_iter().for_each(Folder::keep);
    if args.json {
        print(&text)?;
    } else {
        let cuts = cuts::text(outcome.cuts.as_ref());
        print(&(summary(&inputs, &outcome.report) + &cuts))?;
        outcome.provenance.changes.iter().for_each(|what| remark(&format!("workload: {what}")));
    }
    remark(&pace(&inputs, &outcome.report, seconds));
    Ok(())
}

/// Simulates, with a display of how far that is; what was found, and the saved device.
fn simulated(
    args: &RunArgs,
    inputs: &Plan,
    settings: &Settings,
    observers: Vec<Box<dyn Observer>>,
) -> Result<(Outcome, Option<WholeFile>)> {
    let progress = Progress::one("");
    let mut saved = None;
    let mut saver = |device: &Device| {
        saved = args.save.as_deref().map(|path| state::save(path, device)).transpose()?;
        Ok(())
    };
    let options = Options {
        check: args.input.check,
        observers,
        cuts: args.cuts.unwrap_or(0),
        progress: progress.begin(0),
        save: args.save.is_some().then_some(&mut saver),
    };
    let mut outcome = simulate(inputs, settings, options)?;
    outcome.provenance.command = args::given();
    Ok((outcome, saved))
}

/// What is to be run.
struct Wanted {
    inputs: Plan,
    settings: Settings,
    /// Measured time is simulated time.
    whole: bool,
    /// The run has a time series of its own ...
    has_series: bool,
    /// ... and a power meter.
    has_meter: bool,
}

/// Resolves the arguments, and says what was changed that nobody named.
fn wanted(args: &RunArgs, own: &OwnParts) -> Result<Wanted> {
    let inputs = Plan::new(&Bases::new(own.clone()), &args.input.selection(), &[])?;
    check_names(args, &inputs)?;
    // A timeline shows power where measured time is simulated time.
    let whole = inputs.experiment().phases.len() == 1 && inputs.restore.is_none();
    let mut settings = inputs.settings()?;
    let has_series = keep_series(args, &mut settings);
    let is_metered = args.power.is_some() || (args.timeline.is_some() && whole);
    let has_meter = keep_meter(is_metered, &mut settings);
    inputs.notes().for_each(note);
    let need = inputs.need(&settings, args.input.check).with_cuts(args.cuts.unwrap_or(0));
    if let Some(what) = need.check()? {
        note(what);
    }
    Ok(Wanted { inputs, settings, whole, has_series, has_meter })
}

/// The names of all files that `--out` may write.
const IN_FOLDER: [&str; 9] = [
    "summary.json",
    "report.html",
    "requests.parquet",
    "power.csv",
    "power.parquet",
    "series.csv",
    "series.parquet",
    "cuts.csv",
    "cuts.parquet",
];

/// Refuses to write over what is read, or two results to one file. A device may be saved to where
/// it comes from.
fn check_names(args: &RunArgs, inputs: &Plan) -> Result<()> {
    let InputArgs { device, workload, .. } = &args.input;
    let mut read = names::read_by(inputs, device.iter().chain(workload));
    read.extend(args.input.microcode.as_deref());
    let given = [&args.save, &args.commands, &args.bus, &args.power, &args.timeline];
    if given.into_iter().flatten().any(|path| path.as_os_str() == "-") {
        return Err(wrong("-: a file is needed, such as /dev/stdout"));
    }
    let folder = args.out.iter().flat_map(|out| IN_FOLDER.map(|name| out.join(name)));
    let written: Vec<PathBuf> = folder.chain(given.into_iter().flatten().cloned()).collect();
    names::check(&read, written.iter().map(PathBuf::as_path))
}

/// The files in the folder of `--out` that are written when the run is over: the results as JSON,
/// the time series, the cuts, the report.
fn in_folder(
    folder: &Path,
    text: &str,
    page: report::run::Run<'_>,
    notes: &[Note],
) -> Result<Vec<WholeFile>> {
    let mut files = vec![WholeFile::of(&folder.join("summary.json"), text)?];
    files.extend(series_files(folder, page.report, notes)?);
    if let Some(made) = page.cuts {
        for name in ["cuts.csv", "cuts.parquet"].into_iter().take(if PARQUET.here { 2 } else { 1 })
        {
            let cells = made.cuts.iter().map(row);
            files.push(log::file(&folder.join(name), &FIELDS, cells, notes)?);
        }
    }
    let results = report::run::results(page.object);
    files.extend(page.page().write(folder, "run", &results)?);
    Ok(files)
}

/// Removes what an earlier run has left in the folder and this one does not write.
fn remove_others(folder: &Path, [has_power, has_series, has_cuts]: [bool; 3]) -> Result<()> {
    let tables = [has_power, has_series, has_cuts].map(|has| [has, has && PARQUET.here]);
    let written = [true, REPORT.here, PARQUET.here].into_iter().chain(tables.into_iter().flatten());
    let others = IN_FOLDER.iter().zip(written).filter(|(_, written)| !written);
    for path in others.map(|(name, _)| folder.join(name)) {
        match std::fs::remove_file(&path) {
            Err(error) if error.kind() != ErrorKind::NotFound => {
                return Err(error).with_context(|| format!("{}", path.display()));
            }
            _ => {}
        }
    }
    Ok(())
}

/// The files of the time series, if the run has one.
fn series_files(folder: &Path, report: &Report, notes: &[Note]) -> Result<Vec<WholeFile>> {
    if report.series.is_none() {
        return Ok(Vec::new());
    }
    let (csv, parquet) = (folder.join("series.csv"), folder.join("series.parquet"));
    let mut files = vec![series::write(&csv, report)?];
    if PARQUET.here {
        files.push(series::write_parquet(&parquet, report, notes)?);
    }
    Ok(files)
}

/// Lets the run keep a time series for the plots of its report alone, where it has none and nobody
/// else would keep it, as a saved device would. Says whether the run has one of its own.
fn keep_series(args: &RunArgs, settings: &mut Settings) -> bool {
    let width = &mut settings.keys.metrics.bin_ms;
    let has_series = *width > Span::ZERO;
    if args.out.is_some() && args.save.is_none() && !has_series {
        *width = Span::from_ns(report::series::START_NS);
    }
    has_series
}

/// Lets a run whose files show power take a sample every millisecond where it has no power meter.
/// Says whether the run has one of its own.
fn keep_meter(is_metered: bool, settings: &mut Settings) -> bool {
    let period = &mut settings.keys.metrics.power_us;
    let has_meter = *period > Span::ZERO;
    if is_metered && !has_meter {
        *period = Span::from_ms(1);
    }
    has_meter
}

/// Takes from the results what the run keeps for its files alone.
fn keep_own(report: &mut Report, has_series: bool, has_meter: bool) {
    if !has_series {
        report.forget_series();
    }
    if !has_meter {
        report.power.meter = None;
    }
}

/// Why there is nothing to plot over time.
fn no_series(args: &RunArgs) -> String {
    match args.save {
        Some(_) => "a device that is saved would keep the time series: set metrics.bin_ms",
        None => "no time passed",
    }
    .to_string()
}

/// Logs: their ends for the device, and for whoever finishes them.
type Logs = (Vec<Box<dyn Observer>>, Vec<SharedLog>);

/// The logs that are asked for, and that of the power meter in the folder of results.
fn logs(args: &RunArgs, settings: &Settings, has_meter: bool) -> Result<Logs> {
    if settings.keys.is_disk() {
        let given = [
            ("--commands", args.commands.is_some()),
            ("--bus", args.bus.is_some()),
            ("--microcode", args.input.microcode.is_some()),
        ];
        if let Some((option, _)) = given.iter().find(|(_, given)| *given) {
            let what = "a disk has no flash commands and no channels";
            return Err(wrong(&format!("{option}: {what}; leave it out")));
        }
    }
    let has_requests = settings.keys.bus.precision == Precision::Requests;
    for (option, given) in [("--bus", &args.bus), ("--microcode", &args.input.microcode)] {
        if given.is_some() && !has_requests {
            let what = "the channels of the device carry no bus requests";
            return Err(wrong(&format!("{option}: {what}; --set bus.precision=requests")));
        }
    }
    let in_folder = args.out.iter().filter(|_| has_meter);
    let in_folder =
        in_folder.flat_map(|folder| ["power.csv", "power.parquet"].map(|name| folder.join(name)));
    let in_folder = in_folder.filter(|path| PARQUET.here || !is_parquet(path));
    let in_folder: Vec<PathBuf> = in_folder.collect();
    let (commands, bus, power): (Kind, Kind, Kind) = (rows::commands(), rows::bus(), rows::power());
    let asked = [(&commands, &args.commands), (&bus, &args.bus), (&power, &args.power)];
    let asked = asked.into_iter().filter_map(|(kind, path)| Some((kind, path.as_ref()?)));
    let all = asked.chain(in_folder.iter().map(|path| (&power, path)));
    all.map(|(kind, path)| log::open(kind, path)).collect::<Result<_>>()
}

/// The log of requests in the folder of `--out`; a build that cannot write it says so.
fn request_log(folder: &Path) -> Result<Option<(Box<dyn Observer>, SharedLog)>> {
    if !PARQUET.here {
        let (folder, missing) = (folder.display(), PARQUET.missing());
        note(format_args!("{folder}: without Parquet files; {missing}"));
        return Ok(None);
    }
    log::open(&rows::requests(), &folder.join("requests.parquet")).map(Some)
}

/// The folder for results.
fn folder(path: &Path) -> Result<Folder> {
    Folder::create(path).with_context(|| format!("{}", path.display()))
}

/// How long the simulation itself took. No result: it goes to standard error.
fn pace(inputs: &Plan, report: &Report, seconds: f64) -> String {
    // Phases of a saved device come first; they cost nothing now.
    let phases = report.phases.iter().rev().take(inputs.experiment().phases.len());
    let requests: u64 = phases.map(|phase| phase.requests).sum();
    let rate = requests as f64 / seconds.max(1e-9);
    let memory = peak_memory_kib()
        .map_or_else(String::new, |kib| format!(", peak memory {:.0} MiB", kib as f64 / 1_024.0));
    format!("{requests} requests in {seconds:.3} s ({rate:.0} requests/s){memory}")
}

/// Returns the most memory that this process has had, if the system tells.
fn peak_memory_kib() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim().strip_suffix("kB")?.trim().parse().ok()
}
