//! The command line of `flashyard fit` and `flashyard board`.

use clap::{Args, Subcommand};
use flashyard_run::fit::Asked;
use flashyard_run::presets::FITTED_DEVICE;
use std::path::PathBuf;

/// Commands that fit devices to measurements.
#[derive(Debug, Subcommand)]
pub(crate) enum FitCommand {
    /// Fits keys of a device to measurements of a real drive, and writes the device file.
    ///
    /// MEASUREMENTS is a CSV file with a row for each measured cell, or the JSON of fio
    /// (docs/FITTING.md). Cells that are held out are not fitted to; the fitted device is run on
    /// them as well.
    Fit(FitArgs),
    /// Fits a device to each measured drive of a directory, and prints errors of held-out cells.
    ///
    /// Each cell of a drive is held out once: the device is fitted to the drive's other cells.
    /// Devices that are named after a drive run its cells as they are.
    Board(BoardArgs),
}

#[derive(Debug, Args)]
pub(crate) struct FitArgs {
    /// The measured cells: a CSV file, or fio's JSON.
    pub(crate) measurements: String,
    /// The preset or device file to start from.
    #[arg(default_value = FITTED_DEVICE)]
    pub(crate) device: String,
    /// The device file to write; its name ends in .toml.
    #[arg(long, short, value_name = "NEW")]
    pub(crate) out: Option<PathBuf>,
    /// The drive, in a file with several.
    #[arg(long, value_name = "NAME")]
    pub(crate) drive: Option<String>,
    /// Holds out the cells with this entry, such as `queue_depth=8`; several entries with commas
    /// have to be there together. Repeatable.
    #[arg(long, value_name = "COLUMN=ENTRY")]
    pub(crate) hold_out: Vec<String>,
    #[command(flatten)]
    pub(crate) search: SearchArgs,
}

#[derive(Debug, Args)]
pub(crate) struct BoardArgs {
    /// A directory with measurements: CSV files and fio's JSON.
    #[arg(default_value = "measurements")]
    pub(crate) directory: PathBuf,
    /// The preset or device file to start fits from.
    #[arg(long, value_name = "DEVICE", default_value = FITTED_DEVICE)]
    pub(crate) device: String,
    /// Only runs devices with names on the measurements of this directory, and fits nothing. A
    /// drive that no device is named after is compared with all of them.
    #[arg(long, value_name = "DIR", conflicts_with_all = ["device", "key", "evaluations"])]
    pub(crate) against: Option<PathBuf>,
    /// The preset or device file to run on the cells, in place of the devices with names.
    #[arg(long, value_name = "DEVICE")]
    pub(crate) named: Option<String>,
    /// Writes the page of the board, and a plot for each drive with a device, to this directory.
    #[arg(long, short, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) search: SearchArgs,
}

/// The most requests of the run of a cell.
const MOST_REQUESTS: u64 = 10_000_000;

/// What is fitted, and how long that may take.
#[derive(Debug, Args)]
pub(crate) struct SearchArgs {
    /// Fits this key between these bounds, such as `nand.read_us=20..200`; repeatable. Default: the
    /// declared keys of docs/FITTING.md that the cells tell something about.
    #[arg(long, value_name = "KEY=LOW..HIGH")]
    pub(crate) key: Vec<String>,
    /// Sets a key of the device for all runs, which is not fitted then; repeatable.
    #[arg(long, value_name = "KEY=VALUE")]
    pub(crate) set: Vec<String>,
    /// Requests of the run of a cell: 20,000; with `board` 40,000, and 8,000 in its fits.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=MOST_REQUESTS))]
    pub(crate) requests: Option<u64>,
    /// How often all cells are run for a search: 1,200, and 200 in each fit of `board`. Before it
    /// runs find out which keys the cells tell, up to six a key; behind it come a quarter as many.
    #[arg(long, value_name = "N")]
    pub(crate) evaluations: Option<usize>,
    /// Seed of the requests of all runs.
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) seed: u64,
    /// Prints one JSON object instead of the tables.
    #[arg(long)]
    pub(crate) json: bool,
}

impl SearchArgs {
    /// What is fitted, with so many requests and evaluations unless the user says.
    pub(crate) fn asked(&self, requests: u64, evaluations: usize) -> Asked {
        Asked {
            keys: self.key.clone(),
            set: self.set.clone(),
            requests: self.requests.unwrap_or(requests),
            evaluations: self.evaluations.unwrap_or(evaluations),
            seed: self.seed,
        }
    }
}
