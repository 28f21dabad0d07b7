//! The command line.

use crate::reproduce::STUDIES;
use clap::{Args, Parser, Subcommand, ValueEnum};
use flashyard_sim::config::nearest;
use std::path::PathBuf;

/// Simulates flash storage devices: what every request waits for, what every operation costs.
///
/// DEVICE is a preset's name (flashyard list devices) or a TOML file. WORKLOAD is a trace file
/// (format detected; gzip and zstd are read; - is standard input), the name of a built-in workload
/// (flashyard list workloads) or a workload file (TOML). One argument alone is recognised by what
/// it is.
///
/// Exit status: 0 done, 1 the simulation failed or a result could not be written, 2 wrong input, of
/// which nothing is written.
#[derive(Debug, Parser)]
#[command(name = "flashyard", version, max_term_width = 100)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// One simulation: a table, or --json.
    Run(RunArgs),
    /// The same work on each value of one key or more; ratios to the first.
    Compare(CompareArgs),
    /// A published system: our results beside the published ones.
    Reproduce(ReproduceArgs),
    /// What a trace holds.
    #[command(subcommand)]
    Trace(TraceCommand),
    /// What can be named, one line each.
    List(ListArgs),
}

/// What to simulate.
#[derive(Debug, Args, Clone)]
pub(crate) struct InputArgs {
    /// A preset's name or a device file; default: drs.
    pub(crate) device: Option<String>,
    /// A trace, a built-in workload's name or a workload file; default: facebook.
    pub(crate) workload: Option<String>,
    /// Sets a key of the device or of the workload (flashyard list keys); repeatable.
    #[arg(long, value_name = "KEY=VALUE")]
    pub(crate) set: Vec<String>,
    /// Seed of generated workloads; default: 1.
    #[arg(long, value_name = "N")]
    pub(crate) seed: Option<u64>,
    /// Starts from a device that `run --save` has saved; its geometry, map and spare space must be
    /// this device's.
    #[arg(long, value_name = "FILE")]
    pub(crate) restore: Option<PathBuf>,
    /// How much memory a device may take, in MiB; default: what is free. One that needs more is
    /// refused.
    #[arg(long, value_name = "MIB")]
    pub(crate) memory: Option<u64>,
    /// Checks every rule while the run goes on: data integrity, NAND order, exact sums. Slower.
    #[arg(long)]
    pub(crate) check: bool,
}

#[derive(Debug, Args)]
pub(crate) struct RunArgs {
    #[command(flatten)]
    pub(crate) input: InputArgs,
    /// Prints one JSON object (docs/JSON.md) instead of the table.
    #[arg(long)]
    pub(crate) json: bool,
    /// Writes summary.json, requests.parquet (a row a request) and, where `metrics.bin_ms` asks for
    /// a time series, series.csv (a row a bin) into DIR.
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Saves the device, as it is at the end, for --restore.
    #[arg(long, value_name = "FILE")]
    pub(crate) save: Option<PathBuf>,
    /// Writes a CSV row a command: request, page, stage, purpose, die, queue, key, times, re-keys.
    #[arg(long, value_name = "FILE")]
    pub(crate) commands: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct CompareArgs {
    #[command(flatten)]
    pub(crate) input: InputArgs,
    /// A key and its values; repeatable, every combination is run.
    #[arg(long, value_name = "KEY=A,B,C", required = true)]
    pub(crate) vary: Vec<String>,
    /// Prints a JSON array, an object a run, instead of the table.
    #[arg(long)]
    pub(crate) json: bool,
}

/// The name of a study, or a file with one.
fn study(text: &str) -> Result<String, String> {
    let is_known = STUDIES.iter().any(|(name, _)| *name == text);
    if is_known || crate::inputs::is_toml(text) {
        return Ok(text.to_string());
    }
    let names: Vec<&str> = STUDIES.iter().map(|(name, _)| *name).collect();
    let known = nearest(text, names.iter().copied());
    Err(format!("no such study{known}: {}, or an experiment file (.toml)", names.join(", ")))
}

/// A number of at least 1.
fn at_least_one(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(0) => Err("0 is not in 1..".to_string()),
        Ok(number) => Ok(number),
        Err(error) => Err(format!("{error}")),
    }
}

#[derive(Debug, Args)]
pub(crate) struct ReproduceArgs {
    /// Which one: drs (flash command scheduling aware of map-cache commands, Lee et al., 2021),
    /// energy (flash translation layers, Park et al., 2011), ros (reads of a PRAM buffer while it
    /// is written), cache-aware (host requests by what buffer and dies have ready, Bang et al.,
    /// 2013), crossings (buffers x map caches x command policies), or an experiment file
    /// (docs/STUDIES.md).
    #[arg(value_parser = study)]
    pub(crate) study: String,
    /// A directory with recorded traces. Without it generated workloads stand in for those of drs
    /// and crossings; the others run generated ones anyway, and these traces besides.
    #[arg(long, value_name = "DIR")]
    pub(crate) traces: Option<PathBuf>,
    /// A preset's name or a device file to run it on; default: the study's own device.
    #[arg(long, value_name = "DEVICE")]
    pub(crate) device: Option<String>,
    /// Sets a key of the device; repeatable.
    #[arg(long, value_name = "KEY=VALUE")]
    pub(crate) set: Vec<String>,
    /// The first N requests of each workload at most.
    #[arg(long, value_name = "N", value_parser = at_least_one)]
    pub(crate) requests: Option<usize>,
    /// How many replicas measure the noise of the runs that statements need; 0: none, and no
    /// difference is judged. Default: the study's own number.
    #[arg(long, value_name = "N")]
    pub(crate) replicas: Option<usize>,
    /// Fits each workload of the first grid, and shows how N twins of it (seeds 1 to N; default: 3)
    /// rank the subjects.
    #[arg(long, value_name = "N", num_args = 0..=1, default_missing_value = "3")]
    pub(crate) twins: Option<u64>,
    /// Checks every rule while the runs go on. Slower.
    #[arg(long)]
    pub(crate) check: bool,
    /// Prints one JSON object instead of the tables.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum TraceCommand {
    /// Sizes, mix, rate over time, burstiness, footprint, sequentiality, re-use, working set,
    /// overlap.
    Info(TraceInfoArgs),
    /// Writes any workload as a trace: converts, merges, generates.
    ///
    /// Several workloads are merged by time, each as a stream of its own, numbered in the order in
    /// which they are named. What the format cannot hold is said.
    #[command(visible_alias = "generate")]
    Convert(TraceConvertArgs),
    /// Writes a workload file whose requests have the statistics of a trace, and not its addresses
    /// or times; shows how well they agree.
    Fit(TraceFitArgs),
}

#[derive(Debug, Args)]
pub(crate) struct TraceFitArgs {
    /// A trace, a built-in workload's name or a workload file; - is standard input.
    pub(crate) workload: String,
    /// The workload file to write; its name ends in .toml.
    #[arg(long, short, value_name = "FILE")]
    pub(crate) out: PathBuf,
    /// Sets a key that says which requests there are, such as `trace.time_order`; repeatable.
    #[arg(long, value_name = "KEY=VALUE")]
    pub(crate) set: Vec<String>,
    /// Seed of the twin that is shown, and of a generated workload; default: 1.
    #[arg(long, value_name = "N")]
    pub(crate) seed: Option<u64>,
    /// Prints one JSON object instead of the table.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
#[command(override_usage = "flashyard trace convert [OPTIONS] <WORKLOAD>... <OUT>")]
pub(crate) struct TraceConvertArgs {
    /// WORKLOAD: a trace, a built-in workload's name or a workload file, one or more; - is standard
    /// input. OUT: the trace to write, compressed where the name ends in .gz or .zst; - is standard
    /// output.
    // One list: options may stand anywhere between the names.
    #[arg(required = true, value_name = "WORKLOAD... OUT")]
    pub(crate) names: Vec<String>,
    /// The format (flashyard list formats), or a descriptor of columns; default: the format that
    /// OUT's name ends in, .fyt for flashyard.
    #[arg(long, value_name = "FORMAT")]
    pub(crate) to: Option<String>,
    /// Sets a key of `[trace]`, `[generator]`, `[pattern]`, `[mix]` or `[profile]` of every
    /// workload;
    /// repeatable.
    #[arg(long, value_name = "KEY=VALUE")]
    pub(crate) set: Vec<String>,
    /// Seed of generated workloads; default: 1.
    #[arg(long, value_name = "N")]
    pub(crate) seed: Option<u64>,
    /// The preset or device file whose capacity generated addresses, and trace.fold, keep to.
    #[arg(long, value_name = "DEVICE")]
    pub(crate) device: Option<String>,
    /// Leaves out what the format cannot hold, and says how much.
    #[arg(long)]
    pub(crate) lossy: bool,
}

#[derive(Debug, Args)]
pub(crate) struct TraceInfoArgs {
    /// A trace, a built-in workload's name or a workload file; - is standard input.
    pub(crate) workload: String,
    /// Another workload, to be put beside the first one.
    #[arg(long, value_name = "OTHER")]
    pub(crate) compare: Option<String>,
    /// Sets a key that says which requests there are, of both workloads where both have it;
    /// repeatable.
    #[arg(long, value_name = "KEY=VALUE")]
    pub(crate) set: Vec<String>,
    /// Prints one JSON object instead of the table.
    #[arg(long)]
    pub(crate) json: bool,
}

/// What to list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Listing {
    /// Device presets.
    Devices,
    /// Command and host policies.
    Policies,
    /// Built-in workloads.
    Workloads,
    /// Trace formats.
    Formats,
    /// Translation layers on a device: what their tables take, and whether it can run them.
    Ftls,
    /// Every key with its unit, range, default and source.
    Keys,
}

#[derive(Debug, Args)]
pub(crate) struct ListArgs {
    /// What to list; everything but ftls and keys where nothing is named.
    pub(crate) what: Option<Listing>,
    /// ftls: a preset's name or a device file; default: drs.
    pub(crate) device: Option<String>,
    /// ftls: sets a key of the device; repeatable.
    #[arg(long, value_name = "KEY=VALUE")]
    pub(crate) set: Vec<String>,
}
