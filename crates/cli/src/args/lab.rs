//! The command line of `flashyard lab`.

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Args, Subcommand};
use flashyard_labs::Lab;
use std::path::PathBuf;

/// The labs by name or number.
fn labs() -> impl TypedValueParser<Value = Lab> {
    let named = |lab: Lab| PossibleValue::new(lab.name()).alias(lab.number()).help(lab.task());
    PossibleValuesParser::new(Lab::all().map(named)).map(|word| {
        let mut all = Lab::all();
        all.find(|lab| [lab.name(), lab.number()].contains(&&*word))
            .expect("a word that is possible")
    })
}

#[derive(Debug, Subcommand)]
pub(crate) enum LabCommand {
    /// Lists the labs.
    List,
    /// Prints the sheet of a lab: what to read, what to do, how it is judged.
    Show {
        /// The lab, by name or number.
        #[arg(value_parser = labs())]
        lab: Lab,
    },
    /// Writes the files of a lab: device, workload, and a form for the answers or a crate to begin
    /// with.
    Start(StartArgs),
    /// Judges an answer: runs the simulator, and prints which criteria are met.
    ///
    /// Exit status: 0 all are met; 1 some are not; 2 the answer cannot be read.
    Check(CheckArgs),
}

#[derive(Debug, Args)]
pub(crate) struct StartArgs {
    /// The lab, by name or number.
    #[arg(value_parser = labs())]
    pub(crate) lab: Lab,
    /// The variant: each seed has other numbers.
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) seed: u64,
    /// The directory to write into; default: one with the name of the lab, here.
    #[arg(long, short, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct CheckArgs {
    /// The lab, by name or number.
    #[arg(value_parser = labs())]
    pub(crate) lab: Lab,
    /// For gc-rule: the name of the rule, which the program that you run must know. For the others:
    /// the file with the answers.
    pub(crate) answer: String,
    /// The variant, such as 7; default: that of the file with the answers, or 1.
    #[arg(long, value_name = "N")]
    pub(crate) seed: Option<u64>,
    /// For gc-rule: sets a key of the rule, `gc.NAME.KEY=VALUE`; repeatable.
    #[arg(long, value_name = "KEY=VALUE")]
    pub(crate) set: Vec<String>,
}
