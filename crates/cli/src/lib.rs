//! The `flashyard` command, as a library: [`main`] is the command, [`main_with`] the same with
//! parts of your own, from a crate of yours that needs no other dependency than this one.
//!
//! ```no_run
//! use flashyard::core::policy::{CommandPolicy, CommandView, Placement};
//! use flashyard::core::units::Time;
//! use flashyard::sim::own::Parts;
//!
//! flashyard::core::keys! {
//!     /// Small requests first; no keys.
//!     pub struct ShortFirst {}
//! }
//!
//! impl CommandPolicy for ShortFirst {
//!     fn queue_names(&self) -> &'static [&'static str] {
//!         &["ALL"]
//!     }
//!     fn place(&self, command: &CommandView, _: Time) -> Placement {
//!         let pages = command.request.map_or(0, |request| request.pages);
//!         Placement { queue: 0, key: pages.into(), deadline: None }
//!     }
//! }
//!
//! fn main() -> std::process::ExitCode {
//!     let parts = Parts::new();
//!     flashyard::main_with(parts.command_policy(
//!         "short-first",
//!         "Small requests first.",
//!         |keys: ShortFirst| keys,
//!     ))
//! }
//! ```
//!
//! `docs/ADDING_A_POLICY.md` goes through it step by step, `examples/own-parts` is such a crate.

mod args;
mod columns;
mod compare;
mod complete;
mod features;
#[cfg(feature = "fit")]
mod fit;
mod import;
mod interrupt;
mod lab;
mod list;
mod manuals;
mod output;
mod progress;
mod report;
mod reproduce;
mod run;
mod schema;
mod show;
mod sweep;
mod trace;
mod why;
mod window;

/// What policies, keys and requests are.
pub use flashyard_core as core;
/// The device, its settings, and the list of own parts.
pub use flashyard_sim as sim;

pub use args::Inside;
use args::{Cli, Command, TraceCommand};
use clap::Parser;
use flashyard_run::error::InputError;
use flashyard_sim::own::Parts;
use std::ffi::{OsStr, OsString};
use std::process::ExitCode;

/// The exit status of every other failure.
const FAILURE: u8 = 1;

/// The exit status of wrong input: a bad key, a bad trace, a request past the end of the device.
const WRONG_INPUT: u8 = 2;

/// The command.
pub fn main() -> ExitCode {
    main_with(Parts::new())
}

/// The command with parts of your own: device files, options and listings know their names and
/// keys.
pub fn main_with(parts: Parts) -> ExitCode {
    let mut arguments = std::env::args_os();
    let name = arguments.next().unwrap_or_else(|| env!("CARGO_PKG_NAME").into());
    ExitCode::from(status(&name, arguments.collect(), None, parts))
}

/// The command inside of another program, with arguments that are not the program's own; returns
/// its exit status. It may be called once a process.
pub fn command(arguments: Vec<OsString>, inside: Inside) -> u8 {
    let name = OsString::from(env!("CARGO_PKG_NAME"));
    status(&name, arguments, Some(inside), Parts::new())
}

/// Reads the arguments of a command of this name and does what they say; the exit status.
fn status(name: &OsStr, arguments: Vec<OsString>, inside: Option<Inside>, parts: Parts) -> u8 {
    if let Some(shell) = complete::asking() {
        return status_of(complete::answer(&shell, &arguments, &parts.share()));
    }
    let words = arguments.iter().map(OsString::as_os_str);
    let parsed = Cli::try_parse_from(std::iter::once(name).chain(words));
    args::give(arguments, inside);
    match parsed {
        Ok(cli) => {
            interrupt::watch();
            status_of(run(&cli.command, parts))
        }
        Err(error) => {
            let _ = error.print();
            u8::try_from(error.exit_code()).unwrap_or(WRONG_INPUT)
        }
    }
}

/// The exit status of what became of a command; says what went wrong.
fn status_of(done: anyhow::Result<()>) -> u8 {
    let Err(error) = done else { return 0 };
    output::remark(&format!("error: {error:#}"));
    let wrong_input = error.chain().any(<dyn std::error::Error>::is::<InputError>);
    if wrong_input { WRONG_INPUT } else { FAILURE }
}

fn run(command: &Command, mut parts: Parts) -> anyhow::Result<()> {
    if let Some(file) = command.microcode() {
        parts = flashyard_run::microcode::add(parts, file)?;
    }
    let own = &parts.share();
    match command {
        Command::Run(args) => run::run(args, own),
        Command::Compare(args) => compare::run(args, own),
        Command::Why(args) => why::run(args, own),
        Command::Sweep(args) => sweep::run(args, own),
        Command::Reproduce(args) => reproduce::run(args, own),
        Command::Trace(TraceCommand::Info(args)) => trace::info(args),
        Command::Trace(TraceCommand::Convert(args)) => trace::convert(args, own),
        Command::Trace(TraceCommand::Fit(args)) => trace::fit(args),
        #[cfg(feature = "fit")]
        Command::Fit(command) => fit::run(command, own),
        Command::Import(args) => import::run(args, own),
        Command::Lab(args) => lab::run(args, own),
        Command::List(args) => list::run(args, own),
        Command::Show(args) => show::run(args, own),
        Command::Schema { of } => schema::run(*of, own),
        Command::Completions { shell } => complete::script(*shell),
        Command::Man(args) => manuals::man(args),
    }
}
