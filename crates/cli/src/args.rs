//! The command line.

#[cfg(feature = "fit")]
pub(crate) mod fit;
pub(crate) mod lab;
pub(crate) mod shards;

use crate::window::Window;
use anyhow::Context;
use clap::{Args, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;
use flashyard_core::key::{Kind, Value};
use flashyard_run::microcode;
use flashyard_run::plan::Selection;
use flashyard_sim::config::{nearest, parse_value};
use flashyard_studies::STUDIES;
use lab::LabCommand;
use shards::ShardArgs;
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::OnceLock;

/// Simulates flash storage devices: what requests wait for, and what operations cost.
///
/// DEVICE is the name of a preset (flashyard list devices) or a TOML file. WORKLOAD is a trace
/// file, the name of a built-in workload (flashyard list workloads) or a workload file (TOML). The
/// format of a trace is detected; gzip and zstd are read, and - is standard input. If you give only
/// one of the two, Flashyard recognises which one it is.
///
/// Exit status: 0 success; 1 the simulation failed or a result could not be written; 2 wrong input,
/// and no result is written.
#[derive(Debug, Parser)]
#[command(name = "flashyard", version = env!("FLASHYARD_VERSION"), max_term_width = 80)]
#[cfg_attr(
    not(feature = "fit"),
    command(after_help = "This build has no fit and no board; build with the feature fit.")
)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Runs one simulation and prints its results as a table or as JSON.
    Run(RunArgs),
    /// Runs the same workload with several values of a key, and prints ratios to the first value.
    Compare(CompareArgs),
    /// Prints what the slow requests of a run waited for, and why that was there.
    Why(WhyArgs),
    /// Runs every point of a grid or a list, or searches for the value of a key that meets a goal.
    ///
    /// The figures of all points are written into one Parquet file. Points that are finished are
    /// kept in a journal beside it: after a stop the same command goes on where it was. A point
    /// that fails is reported and does not stop the others; the exit status is 1 then.
    Sweep(SweepArgs),
    /// Repeats a published study, and prints the results beside the published ones.
    Reproduce(ReproduceArgs),
    /// Prints statistics of traces, converts traces, or fits a workload file to a trace.
    #[command(subcommand)]
    Trace(TraceCommand),
    #[cfg(feature = "fit")]
    #[command(flatten)]
    Fit(fit::FitCommand),
    /// Turns the configuration of another simulator, MQSim, into device and workload files.
    ///
    /// FILES are MQSim's: the device (its -i, ssdconfig.xml), the workload (its -w, workload.xml),
    /// or both. The command writes a device file, a workload file for each scenario, and prints
    /// what became of every key (docs/MQSIM.md).
    Import(ImportArgs),
    /// Exercises for students, each with a sheet and a checker.
    ///
    /// `list` names them, `show` prints a sheet, `start` writes the files to work with, `check`
    /// judges an answer by running the simulator (docs/LEARNING.md).
    #[command(subcommand)]
    Lab(LabCommand),
    /// Lists devices, policies, workloads, trace formats, translation layers or keys.
    ///
    /// Examples: flashyard list devices; flashyard list keys gc (a section); flashyard list keys
    /// overprovisioning (a word of the field); flashyard list ftls nvme-tlc.
    List(ListArgs),
    /// Prints a device or a workload as a file to edit, with the source of each number.
    ///
    /// The file describes the same device: `flashyard show nvme-tlc > my.toml`, then `flashyard run
    /// my.toml`. A shorter way to a device of your own is a file with base = "nvme-tlc" and the
    /// keys that differ (docs/DEVICES.md).
    Show(ShowArgs),
    /// Prints the JSON Schema of what a command prints with --json.
    ///
    /// Draft 2020-12: every field with its type, its unit and what it is; settings with their
    /// ranges. A field that the schema does not name is refused (docs/JSON.md).
    Schema {
        /// The command; twins is reproduce --twins.
        of: Printed,
    },
    /// Prints a script that completes the command line in a shell: options, presets, workloads,
    /// keys and their words, files.
    ///
    /// For bash: flashyard completions bash > ~/.local/share/bash-completion/completions/flashyard.
    /// For zsh: flashyard completions zsh > _flashyard, in a folder of $fpath. For fish: flashyard
    /// completions fish > ~/.config/fish/completions/flashyard.fish. The script asks the flashyard
    /// of the PATH.
    Completions {
        /// The shell.
        shell: Shell,
    },
    /// Prints the manual page, or writes a page for each command into a folder.
    ///
    /// Example: flashyard man ~/.local/share/man/man1; man flashyard-run.
    Man(ManArgs),
}

/// What prints JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Printed {
    Run,
    Compare,
    Why,
    Reproduce,
    Twins,
    TraceInfo,
    TraceFit,
    Fit,
    Board,
    List,
}

#[derive(Debug, Args)]
pub(crate) struct ManArgs {
    /// The folder to write flashyard.1, flashyard-run.1 and so on into; it is created.
    pub(crate) dir: Option<PathBuf>,
}

/// What to simulate.
#[derive(Debug, Args, Clone)]
pub(crate) struct InputArgs {
    /// The name of a preset, or a device file; default: drs.
    pub(crate) device: Option<String>,
    /// A trace, the name of a built-in workload, or a workload file; default: facebook.
    pub(crate) workload: Option<String>,
    /// Sets a key of the device or of the workload (flashyard list keys); repeatable. Values may
    /// have a unit: `nand.read_us=45us`, `buffer.bytes=32MiB`.
    #[arg(long, value_name = "KEY=VALUE")]
    pub(crate) set: Vec<String>,
    /// The translation layer: page, line-cache, dftl, block, bast, fast, last or your own. Sets
    /// whatever else the layer needs on this device, and says so.
    #[arg(long, value_name = "NAME")]
    pub(crate) ftl: Option<String>,
    /// Scales the device to the capacity that the host sees, such as 1TB or 64GiB: blocks of a
    /// plane first, then dies by factors of two (docs/DEVICES.md).
    #[arg(long, value_name = "SIZE")]
    pub(crate) capacity: Option<String>,
    /// Seed of generated workloads; default: 1.
    #[arg(long, value_name = "N")]
    pub(crate) seed: Option<u64>,
    /// Runs the workload first, without measuring, until its write amplification has settled: two
    /// windows, in each of which the host writes the capacity of the device, differ by less than
    /// 2 %. `state.initial=steady` is the state of uniform random writes, this one that of the
    /// workload.
    #[arg(long)]
    pub(crate) settle: bool,
    /// Checks every rule during the run: data integrity, NAND order, exact sums. Slower.
    #[arg(long)]
    pub(crate) check: bool,
    /// Starts from a device that `run --save` has saved. Both devices must have the same geometry,
    /// map and spare space.
    #[arg(long, value_name = "FILE", help_heading = SPECIAL)]
    pub(crate) restore: Option<PathBuf>,
    /// The memory that a device may take, such as 2GiB (a plain number: MiB); default: the free
    /// memory. A device that takes more at the start is refused.
    #[arg(long, value_name = "SIZE", value_parser = memory, help_heading = SPECIAL)]
    pub(crate) memory: Option<u64>,
    /// Programs of the flash controller (docs/BUS.md): bus requests take as long as these run.
    #[arg(long, value_name = "FILE", help_heading = SPECIAL)]
    pub(crate) microcode: Option<PathBuf>,
}

impl InputArgs {
    /// What is asked for.
    pub(crate) fn selection(&self) -> Selection {
        let set = self.set.iter().map(|setting| ("--set", setting.clone()));
        let timing = self.microcode.iter().map(|_| ("--microcode", microcode::setting()));
        let layer = self.ftl.iter().map(|name| ("--ftl", format!("ftl={name}")));
        let size = self.capacity.iter().map(|size| ("--capacity", format!("capacity={size}")));
        Selection {
            device: self.device.clone(),
            workload: self.workload.clone(),
            set: layer.chain(timing).chain(size).chain(set).collect(),
            seed: self.seed,
            settle: self.settle,
            restore: self.restore.clone(),
            memory_mib: self.memory,
        }
    }
}

/// The arguments of the command as they were given, without its name.
pub(crate) fn given() -> Vec<String> {
    let arguments = GIVEN.get().map_or(&[][..], |(arguments, _)| arguments);
    arguments.iter().map(|argument| argument.to_string_lossy().into_owned()).collect()
}

/// The command as a user writes it in a shell.
pub(crate) fn command_line() -> String {
    given().into_iter().fold("flashyard".to_string(), |text, word| text + " " + &word)
}

/// The file that the program's code is in.
pub(crate) fn program() -> anyhow::Result<PathBuf> {
    match GIVEN.get() {
        Some((_, Some(inside))) => Ok(inside.code.clone()),
        _ => std::env::current_exe().context("the program cannot find itself"),
    }
}

/// The words that start the command from a shell.
pub(crate) fn start() -> anyhow::Result<Vec<OsString>> {
    match GIVEN.get() {
        Some((_, Some(inside))) => Ok(inside.start.clone()),
        _ => Ok(vec![program()?.into_os_string()]),
    }
}

/// Takes the arguments of the command without its name.
pub(crate) fn give(arguments: Vec<OsString>, inside: Option<Inside>) {
    let _ = GIVEN.set((arguments, inside));
}

/// The program that the command runs inside of, where it is not the command itself.
#[derive(Debug)]
pub struct Inside {
    /// The file that has the code of the command.
    pub code: PathBuf,
    /// The words that start the command from a shell: the program and its first arguments.
    pub start: Vec<OsString>,
}

/// What the command was given.
static GIVEN: OnceLock<(Vec<OsString>, Option<Inside>)> = OnceLock::new();

/// Options that few runs need.
const SPECIAL: &str = "Special options";

/// Options for what is written.
const OUTPUT: &str = "Output";

/// Memory in MiB.
fn memory(text: &str) -> Result<u64, String> {
    match parse_value(&Kind::count("MiB", 0, u64::MAX), text)? {
        Value::Number(mib) => Ok(mib),
        _ => unreachable!("the kind is a number"),
    }
}

impl Command {
    /// The file with programs of the flash controller.
    pub(crate) fn microcode(&self) -> Option<&std::path::Path> {
        match self {
            Self::Run(args) => args.input.microcode.as_deref(),
            Self::Compare(args) => args.input.microcode.as_deref(),
            Self::Why(args) => args.input.microcode.as_deref(),
            Self::Sweep(args) => args.microcode.as_deref(),
            #[cfg(feature = "fit")]
            Self::Fit(_) => None,
            Self::Reproduce(_)
            | Self::Trace(_)
            | Self::Import(_)
            | Self::Lab(_)
            | Self::List(_)
            | Self::Show(_)
            | Self::Schema { .. }
            | Self::Completions { .. }
            | Self::Man(_) => None,
        }
    }
}

#[derive(Debug, Args)]
pub(crate) struct RunArgs {
    #[command(flatten)]
    pub(crate) input: InputArgs,
    /// Prints one JSON object (docs/JSON.md) instead of the table.
    #[arg(long, help_heading = OUTPUT)]
    pub(crate) json: bool,
    /// Writes report.html (plots, docs/REPORT.md), summary.json and requests.parquet (a row for
    /// each request) into DIR; with `metrics.bin_ms` also series.csv (a row for each bin), with
    /// `metrics.power_us` also power.csv (a row for each sample of the power meter).
    #[arg(long, value_name = "DIR", help_heading = OUTPUT)]
    pub(crate) out: Option<PathBuf>,
    /// Says what each of N power cuts, at random instants of the run, would lose (docs/POWER.md):
    /// units of answered writes, torn writes, trims undone, broken promises. The run itself is not
    /// cut. With --out also writes cuts.csv, a row for each cut.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..), help_heading = OUTPUT)]
    pub(crate) cuts: Option<u32>,
    /// Saves the state of the device at the end of the run, for --restore.
    #[arg(long, value_name = "FILE", help_heading = OUTPUT)]
    pub(crate) save: Option<PathBuf>,
    /// Writes a row for each command, suspension, resumption and poll: request, page, stage,
    /// purpose, die, queue, key, times, re-keys. CSV; Parquet if FILE ends in .parquet.
    #[arg(long, value_name = "FILE", help_heading = OUTPUT)]
    pub(crate) commands: Option<PathBuf>,
    /// Writes a row for each bus request, of a device with bus.precision = requests: command,
    /// kind, channel, chip, block, page, bytes, times, answer. CSV; Parquet if FILE ends in
    /// .parquet.
    #[arg(long, value_name = "FILE", help_heading = OUTPUT)]
    pub(crate) bus: Option<PathBuf>,
    /// Writes a row for each sample of the power meter: its time, length, energy and mean power.
    /// The period is `metrics.power_us`, or 1 ms. CSV; Parquet if FILE ends in .parquet.
    #[arg(long, value_name = "FILE", help_heading = OUTPUT)]
    pub(crate) power: Option<PathBuf>,
    /// Writes a trace for the viewer of Perfetto (docs/TIMELINE.md): tracks of the host queue, the
    /// buffer, channels and dies, flows from requests to their commands, counters.
    #[arg(long, value_name = "FILE", help_heading = OUTPUT)]
    pub(crate) timeline: Option<PathBuf>,
    /// The span of simulated time that --timeline shows, such as 10ms..20ms; default: all of it.
    #[arg(long, value_name = "FROM..TO", requires = "timeline", help_heading = OUTPUT)]
    pub(crate) window: Option<Window>,
}

/// What requests are told apart by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum By {
    /// The streams of the workload.
    Stream,
}

#[derive(Debug, Args)]
pub(crate) struct CompareArgs {
    #[command(flatten)]
    pub(crate) input: InputArgs,
    /// A key and the values to compare: `queue.depth=1,16`, or a range, `nand.read_us=10..30:5`.
    /// Or alternatives of several keys: `map.store=cmt,ftl.scheme=page | ftl.scheme=fast`. The key
    /// may be device, workload or seed. Repeatable; every combination is run.
    #[arg(long, value_name = "KEY=A,B,C", required = true)]
    pub(crate) vary: Vec<String>,
    /// Runs each combination with N seeds (the seed, the seed + 1, ...), and prints means with 95 %
    /// confidence intervals.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=MOST_AGAIN))]
    pub(crate) seeds: Option<u16>,
    /// Puts the figures of the streams of each run beside each other, with ratios to the first
    /// stream. JSON has each stream of a run in any case, in `streams`.
    #[arg(long, value_enum)]
    pub(crate) by: Option<By>,
    /// Prints a JSON array with an object for each run instead of the table.
    #[arg(long)]
    pub(crate) json: bool,
    /// Writes report.html (plots of all runs, docs/REPORT.md) into DIR.
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
}

/// Requests by what they ask for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum WhyClass {
    /// Reads.
    Read,
    /// Writes.
    Write,
    /// Trims.
    Trim,
    /// Flushes.
    Flush,
    /// Requests of all kinds.
    All,
}

#[derive(Debug, Args)]
pub(crate) struct WhyArgs {
    #[command(flatten)]
    pub(crate) input: InputArgs,
    /// Explains the requests at this percentile of latency and above, such as p50, p99 or p99.9:
    /// those that the report counts as the tail.
    #[arg(long, value_name = "PERCENTILE", default_value = "p99", value_parser = percentile)]
    pub(crate) above: u64,
    /// Explains the slowest N requests.
    #[arg(long, value_name = "N", conflicts_with = "above", value_parser = at_least_one)]
    pub(crate) slowest: Option<usize>,
    /// Explains one request, by its number in the order of arrival, from 0.
    #[arg(long, value_name = "ID", conflicts_with_all = ["above", "slowest", "class"])]
    pub(crate) request: Option<u64>,
    /// Chooses among requests of this kind.
    #[arg(long, value_enum, default_value_t = WhyClass::All)]
    pub(crate) class: WhyClass,
    /// Explains the requests of each stream by themselves: those at the percentile of their stream
    /// and above, or its slowest ones.
    #[arg(long, value_enum, conflicts_with = "request")]
    pub(crate) by: Option<By>,
    /// Explains the difference that the second value of a key makes.
    #[arg(long, value_name = "KEY=A,B")]
    pub(crate) vary: Option<String>,
    /// Prints JSON (docs/WHY.md) instead of the text.
    #[arg(long)]
    pub(crate) json: bool,
}

/// A percentile in parts of 10,000.
fn percentile(text: &str) -> Result<u64, String> {
    let wrong = || "a percentile such as p50, p99 or p99.9 is needed".to_string();
    let number = text.strip_prefix('p').ok_or_else(wrong)?;
    let (whole, part) = number.split_once('.').unwrap_or((number, ""));
    if part.len() > 2 || (part.is_empty() && number.ends_with('.')) {
        return Err(wrong());
    }
    let digits: u64 = format!("{whole}{part:0<2}").parse().map_err(|_| wrong())?;
    if (1..10_000).contains(&digits) { Ok(digits) } else { Err("not in p0.01..p99.99".to_string()) }
}

#[derive(Debug, Args)]
pub(crate) struct SweepArgs {
    /// The sweep file (docs/SWEEPS.md).
    pub(crate) file: String,
    /// The Parquet file to write, a row for each point; default: the name of the sweep file with
    /// .parquet, in the current folder. Without --journal the journal has the same name with
    /// .journal behind it.
    #[arg(long, short, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
    /// Writes the same table as CSV, too.
    #[arg(long, value_name = "FILE")]
    pub(crate) csv: Option<PathBuf>,
    /// Writes a table with a row for each run, so for each point and seed; its name ends in
    /// .parquet or .csv.
    #[arg(long, value_name = "FILE")]
    pub(crate) runs: Option<PathBuf>,
    /// Writes report.html (plots of all points, docs/REPORT.md) into DIR.
    #[arg(long, value_name = "DIR")]
    pub(crate) report: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) shards: ShardArgs,
    /// Sets a key for all points, in place of what the file sets for all of them; repeatable.
    #[arg(long, value_name = "KEY=VALUE")]
    pub(crate) set: Vec<String>,
    /// The memory that all devices together may take, such as 8GiB (a plain number: MiB); default:
    /// the free memory.
    #[arg(long, value_name = "SIZE", value_parser = memory)]
    pub(crate) memory: Option<u64>,
    /// Checks every rule during the runs. Slower.
    #[arg(long)]
    pub(crate) check: bool,
    /// Programs of the flash controller (docs/BUS.md).
    #[arg(long, value_name = "FILE")]
    pub(crate) microcode: Option<PathBuf>,
    /// Prints the points and how many of their runs the journal has, and runs nothing.
    #[arg(long)]
    pub(crate) dry_run: bool,
}

/// Stands for all studies that come with the program.
pub(crate) const ALL: &str = "all";

/// The name of a study, or a file with one.
fn study(text: &str) -> Result<String, String> {
    let is_known = text == ALL || STUDIES.iter().any(|(name, _)| *name == text);
    if is_known || flashyard_run::error::is_toml(text) {
        return Ok(text.to_string());
    }
    let names = STUDIES.iter().map(|(name, _)| *name).chain([ALL]);
    let names: Vec<&str> = names.collect();
    let known = nearest(text, names.iter().copied());
    Err(format!("no such study{known}: {}, or an experiment file (.toml)", names.join(", ")))
}

/// How often the same is run at most, each time with another seed. Sweep files have this limit,
/// too.
const MOST_AGAIN: i64 = 10_000;

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
    /// The study: drs (command scheduling that knows the map cache, Lee et al., 2021), energy
    /// (flash translation layers, Park et al., 2011), ros (a PRAM buffer that is read while it is
    /// written), cache-aware (host scheduling that knows the buffer and idle dies, Bang et al.,
    /// 2013), framework (bus requests of a channel and fair queueing, Kim, Lee and Min), drives
    /// (four flash drives and a disk, Park et al., 2011), crossings (combinations of buffers, map
    /// caches and command policies), fdp (placement handles, Song et al., 2026), zns (a drive with
    /// zones), power (losses of power: planted failures, Zheng et al., 2013, and what protection
    /// costs), all of these, or an experiment file (docs/STUDIES.md).
    #[arg(value_parser = study)]
    pub(crate) study: String,
    /// A directory with recorded traces. Without it, drs and crossings run generated workloads
    /// instead. The other studies always run generated workloads, and these traces in addition;
    /// framework, drives, fdp, zns and power have no traces.
    #[arg(long, value_name = "DIR")]
    pub(crate) traces: Option<PathBuf>,
    /// The name of a preset, or a device file, for all runs; default: the device of the study.
    #[arg(long, value_name = "DEVICE")]
    pub(crate) device: Option<String>,
    /// Sets a key of the device; repeatable.
    #[arg(long, value_name = "KEY=VALUE")]
    pub(crate) set: Vec<String>,
    /// Runs at most the first N requests of each workload.
    #[arg(long, value_name = "N", value_parser = at_least_one)]
    pub(crate) requests: Option<usize>,
    /// The short form of the study: fewer requests or points, as its file says. It judges what
    /// these can show, and only the verdicts are printed.
    #[arg(long, conflicts_with_all = ["requests", "twins"])]
    pub(crate) short: bool,
    /// Number of replicas that measure the noise of the runs behind a statement. 0: no replicas,
    /// and no difference is judged. Default: the number in the study.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(..=MOST_AGAIN))]
    pub(crate) replicas: Option<u16>,
    /// Fits a workload file to each workload of the first grid, and shows how N twins of it
    /// (generated with seeds 1 to N; default: 3) rank the subjects. Only for requests that come at
    /// times of their own: framework, drives, fdp, zns and power have none.
    #[arg(long, value_name = "N", num_args = 0..=1, default_missing_value = "3",
        value_parser = clap::value_parser!(u16).range(..=MOST_AGAIN))]
    pub(crate) twins: Option<u16>,
    /// Checks every rule during the runs. Slower.
    #[arg(long)]
    pub(crate) check: bool,
    /// Prints one JSON object instead of the tables.
    #[arg(long)]
    pub(crate) json: bool,
    /// Writes report.html (our figures beside the published ones, docs/REPORT.md) into DIR.
    #[arg(long, value_name = "DIR", conflicts_with = "twins")]
    pub(crate) out: Option<PathBuf>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum TraceCommand {
    /// Prints statistics of a trace: sizes, mix, rate over time, burstiness, footprint,
    /// sequentiality, re-use, working set, overlap.
    Info(TraceInfoArgs),
    /// Writes workloads as a trace: converts, merges or generates traces.
    ///
    /// Several workloads are merged by time. Each becomes a stream, numbered in the order of the
    /// names. The command reports what the format cannot hold. A file may have several streams if
    /// the pacing of each is open, and one phase.
    #[command(visible_alias = "generate")]
    Convert(TraceConvertArgs),
    /// Writes a workload file that has the statistics of a trace, but not its addresses or times,
    /// and shows how well the two agree.
    Fit(TraceFitArgs),
}

#[derive(Debug, Args)]
pub(crate) struct TraceFitArgs {
    /// A trace, the name of a built-in workload, or a workload file; - is standard input.
    pub(crate) workload: String,
    /// The workload file to write; its name ends in .toml.
    #[arg(long, short, value_name = "FILE")]
    pub(crate) out: PathBuf,
    /// Sets a key that changes the requests, such as `trace.time_order`; repeatable.
    #[arg(long, value_name = "KEY=VALUE")]
    pub(crate) set: Vec<String>,
    /// Seed of the twin that is compared, and of a generated workload; default: 1.
    #[arg(long, value_name = "N")]
    pub(crate) seed: Option<u64>,
    /// Prints one JSON object instead of the table.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
#[command(override_usage = "flashyard trace convert [OPTIONS] <WORKLOAD>... <OUT>")]
pub(crate) struct TraceConvertArgs {
    /// WORKLOAD: one or more traces, names of built-in workloads or workload files; - is standard
    /// input. OUT: the trace to write; - is standard output. A name that ends in .gz or .zst is
    /// compressed.
    // One list: options may stand anywhere between the names.
    #[arg(required = true, value_name = "WORKLOAD... OUT")]
    pub(crate) names: Vec<String>,
    /// The format or a descriptor of columns (docs/TRACES.md lists what can be written); default:
    /// the format that the name of OUT ends in, .fyt for flashyard.
    #[arg(long, value_name = "FORMAT")]
    pub(crate) to: Option<String>,
    /// Sets a key of `[trace]`, `[generator]`, `[pattern]`, `[mix]`, `[profile]`, `[files]` or
    /// `[raw]`, or the pacing of a stream, for every workload; repeatable.
    #[arg(long, value_name = "KEY=VALUE")]
    pub(crate) set: Vec<String>,
    /// Seed of generated workloads; default: 1.
    #[arg(long, value_name = "N")]
    pub(crate) seed: Option<u64>,
    /// The preset or device file whose capacity limits generated addresses and trace.fold, and
    /// whose places raw operations name.
    #[arg(long, value_name = "DEVICE")]
    pub(crate) device: Option<String>,
    /// Leaves out what the format cannot hold, and reports how much that is.
    #[arg(long)]
    pub(crate) lossy: bool,
}

#[derive(Debug, Args)]
pub(crate) struct TraceInfoArgs {
    /// A trace, the name of a built-in workload, or a workload file; - is standard input.
    pub(crate) workload: String,
    /// Another workload, whose statistics are printed beside the first.
    #[arg(long, value_name = "OTHER")]
    pub(crate) compare: Option<String>,
    /// Sets a key that changes the requests, for each workload that has the key; repeatable.
    #[arg(long, value_name = "KEY=VALUE")]
    pub(crate) set: Vec<String>,
    /// Prints one JSON object instead of the table.
    #[arg(long)]
    pub(crate) json: bool,
}

/// Simulators whose files can be imported.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Simulator {
    /// MQSim (Tavakkol et al., FAST 2018).
    Mqsim,
}

#[derive(Debug, Args)]
pub(crate) struct ImportArgs {
    /// The simulator that the files are for.
    pub(crate) simulator: Simulator,
    /// Its files: a device, a workload, or both.
    #[arg(required = true, num_args = 1..=2)]
    pub(crate) files: Vec<String>,
    /// The directory to write into; default: the current one. Files are called as MQSim's, with
    /// .toml; those of several scenarios have a number.
    #[arg(long, short, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
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
    /// Translation layers: how large their tables are on a device, and whether it can run them.
    Ftls,
    /// Every key with its unit, range, default and source.
    Keys,
}

#[derive(Debug, Args)]
pub(crate) struct ListArgs {
    /// What to list; default: everything but ftls and keys.
    pub(crate) what: Option<Listing>,
    /// For keys: a section, a word in names or descriptions of keys, or a word of the field. For
    /// ftls: the name of a preset, or a device file; default: drs.
    #[arg(value_name = "WORD or DEVICE")]
    pub(crate) of: Option<String>,
    /// For ftls: sets a key of the device; repeatable.
    #[arg(long, value_name = "KEY=VALUE")]
    pub(crate) set: Vec<String>,
    /// Prints one JSON object instead of text.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ShowArgs {
    /// The name of a preset or of a built-in workload, or a file; default: drs.
    pub(crate) name: Option<String>,
    /// Sets a key; repeatable.
    #[arg(long, value_name = "KEY=VALUE")]
    pub(crate) set: Vec<String>,
    /// The translation layer, as for run.
    #[arg(long, value_name = "NAME")]
    pub(crate) ftl: Option<String>,
    /// The capacity that the device is scaled to, as for run.
    #[arg(long, value_name = "SIZE")]
    pub(crate) capacity: Option<String>,
    /// Prints every key, those at their defaults too.
    #[arg(long)]
    pub(crate) all: bool,
}
