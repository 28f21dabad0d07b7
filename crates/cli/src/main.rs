//! The `flashyard` command.

mod args;
mod compare;
mod experiment;
mod inputs;
mod lanes;
mod list;
mod output;
mod presets;
mod profile;
mod reproduce;
mod run;
mod simulate;
mod trace;
mod workload_file;

use args::{Cli, Command, TraceCommand};
use clap::Parser;
use std::process::ExitCode;

/// The exit status of wrong input: a bad key, a bad trace, a request past the end of the device.
const WRONG_INPUT: u8 = 2;

/// Input that cannot be used; the message names the place, the reason and the fix.
#[derive(Debug)]
pub(crate) struct InputError(pub(crate) String);

impl std::fmt::Display for InputError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for InputError {}

fn main() -> ExitCode {
    let result = match Cli::parse().command {
        Command::Run(args) => run::run(&args),
        Command::Compare(args) => compare::run(&args),
        Command::Reproduce(args) => reproduce::run(&args),
        Command::Trace(TraceCommand::Info(args)) => trace::info(&args),
        Command::Trace(TraceCommand::Convert(args)) => trace::convert(&args),
        Command::Trace(TraceCommand::Fit(args)) => trace::fit(&args),
        Command::List(args) => list::run(&args),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            output::remark(&format!("error: {error:#}"));
            let wrong_input = error.chain().any(<dyn std::error::Error>::is::<InputError>);
            if wrong_input { ExitCode::from(WRONG_INPUT) } else { ExitCode::FAILURE }
        }
    }
}
