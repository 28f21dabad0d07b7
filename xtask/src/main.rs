//! Development tasks: `cargo xtask TASK`.

mod browser;
mod ci;
mod code;
mod doors;
mod fingerprint;
mod fuzz;
mod golden;
mod imports;
mod modules;
mod packages;
mod python;
mod release;
mod schema;
mod tidy;

use anyhow::{Context as _, Result};
use flashyard_measure::tools::{cargo, target};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use xshell::{Shell, cmd};

const HELP: &str = "\
Development tasks of Flashyard.

Usage: cargo xtask TASK

Tasks:
  ci              every check that a change must pass, in order, up to the first failure
  tidy            the rules of the tree that neither rustfmt nor clippy check
  rooms           what tidy holds of crates/sim/src/device: its lines, the methods of rooms that it
                  calls, its largest circle of calls
  golden [FILE...]
                  run worked examples (JSON), those of xtask/golden without a file, and print every
                  value that differs
  golden --update write the regression tables, docs/KEYS.md, docs/labs, the tables of fields in
                  docs/JSON.md and docs/WHY.md, docs/read-latency.svg and the C header anew, for
                  review
  fingerprint     compare hashes of the reports and events of short runs with their table;
                  --update writes it
  browser         write reports of several commands and check them in a browser (node, npm); CHROME
                  names a browser that is there, SHOTS a folder for pictures
  fuzz            run the fuzz targets for a minute in all; --seconds N for N seconds
  instructions    count the instructions of the throughput example (valgrind) and compare them with
                  the baseline file; --update writes it
  scheduler       what the bus scheduler costs: instructions, time, code, memory (valgrind);
                  --update writes its instructions
  schema          hold what commands print against flashyard schema, by an independent validator
  trip            through which files of crates/sim/src one read passes, and how often the file
                  changes (gdb)
  python          install the Python package into an environment of its own, and run its tests
  release         build the command with a layout by profile into target/pgo (llvm-profdata)

Exit status: 0 all is well, 1 a task failed, 2 the command line is wrong";

/// Why there is no result.
#[derive(Debug)]
enum Failure {
    /// The command line is wrong.
    Usage(String),
    /// A task failed.
    Task(anyhow::Error),
}

impl From<anyhow::Error> for Failure {
    fn from(error: anyhow::Error) -> Self {
        Self::Task(error)
    }
}

fn main() -> ExitCode {
    let arguments: Vec<String> =
        std::env::args_os().skip(1).map(|word| word.to_string_lossy().into_owned()).collect();
    match run(&arguments) {
        Ok(result) => {
            answer(&result);
            ExitCode::SUCCESS
        }
        Err(Failure::Usage(what)) => {
            log(&format!("error: {what}; see cargo xtask --help"));
            ExitCode::from(2)
        }
        Err(Failure::Task(error)) => {
            log(&format!("error: {error:#}"));
            ExitCode::FAILURE
        }
    }
}

/// Runs the task that the command line names; returns what belongs on standard output.
fn run(arguments: &[String]) -> Result<String, Failure> {
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let usage = |what: String| Err(Failure::Usage(what));
    let root = &root();
    let result = match words[..] {
        [] => return usage("name a task".to_owned()),
        _ if ["help", "--help", "-h"].iter().any(|word| words.contains(word)) => {
            Ok(HELP.to_owned())
        }
        ["ci"] => ci::run(root),
        ["tidy"] => tidy::run(root),
        ["rooms"] => tidy::rooms(root),
        ["fuzz"] => fuzz::run(root, fuzz::SECONDS),
        ["fuzz", "--seconds", text] => match text.parse() {
            Ok(seconds) => fuzz::run(root, seconds),
            Err(_) => return usage(format!("fuzz: --seconds is a whole number, {text}")),
        },
        ["browser"] => browser::run(root),
        ["fingerprint"] => fingerprint::run(root, false),
        ["fingerprint", "--update"] => fingerprint::run(root, true),
        ["instructions"] => flashyard_measure::instructions::run(root, false),
        ["instructions", "--update"] => flashyard_measure::instructions::run(root, true),
        ["scheduler"] => flashyard_measure::scheduler::run(root, false),
        ["scheduler", "--update"] => flashyard_measure::scheduler::run(root, true),
        ["schema"] => schema::run(root),
        ["trip"] => flashyard_measure::trip::run(root),
        ["python"] => python::run(root),
        ["release"] => release::run(root),
        ["golden"] => golden::run_own(root),
        ["golden", "--update"] => golden::update(root),
        ["golden", ..] => golden::run(root, &arguments[1..]),
        [task, extra, ..] if HELP.contains(&format!("\n  {task} ")) => {
            return usage(format!("{task}: unexpected argument {extra}"));
        }
        [task, ..] => return usage(format!("there is no task {task}")),
    };
    Ok(result?)
}

/// The root of the repository.
fn root() -> PathBuf {
    let here = std::env::var_os("CARGO_MANIFEST_DIR").map(PathBuf::from);
    let mut root = here.unwrap_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")));
    root.pop();
    root
}

/// Builds the command, without optimisation over the whole program; returns its place. With the
/// whole workspace named, crates from elsewhere have the features that they have in the tests, so
/// that nothing is built twice.
fn flashyard(sh: &Shell, root: &Path) -> Result<PathBuf> {
    let cargo = cargo();
    cmd!(sh, "{cargo} build --workspace --bin flashyard").quiet().run()?;
    Ok(target(root).join("debug/flashyard"))
}

/// Runs an example of this package, which uses the simulator: the tasks themselves do not, so that
/// they build in seconds. Returns what it prints.
fn example(root: &Path, name: &str, arguments: &[String]) -> Result<String> {
    let (sh, cargo, manifest) = (Shell::new()?, cargo(), root.join("xtask/Cargo.toml"));
    let run = cmd!(sh, "{cargo} run --quiet --locked --manifest-path {manifest} --example {name}");
    run.arg("--").args(arguments).quiet().read().with_context(|| format!("the example {name}"))
}

/// Prints the result of a task to standard output. A reader that closes the pipe early is no error.
fn answer(text: &str) {
    if !text.is_empty() {
        let _ = writeln!(std::io::stdout(), "{text}");
    }
}

/// Prints progress, findings and errors to standard error.
#[expect(clippy::print_stderr, reason = "the one place where messages are printed")]
fn log(text: &str) {
    eprintln!("{text}");
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A wrong command line must not start a task, and must say what is wrong.
    #[test]
    fn wrong_command_lines_are_refused() {
        for (line, what) in [
            ("", "name a task"),
            ("tidi", "there is no task tidi"),
            ("ci now", "ci: unexpected argument now"),
            ("fuzz --seconds x", "fuzz: --seconds is a whole number, x"),
            ("fuzz all", "fuzz: unexpected argument all"),
            ("tidy --fix", "tidy: unexpected argument --fix"),
            ("release now", "release: unexpected argument now"),
        ] {
            let arguments: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
            match run(&arguments) {
                Err(Failure::Usage(found)) => assert_eq!(found, what),
                other => panic!("{line}: {other:?}"),
            }
        }
        assert_eq!(run(&["ci".to_owned(), "--help".to_owned()]).unwrap(), HELP);
    }

    #[test]
    fn a_failed_task_tells_the_whole_chain() {
        let error = golden::run_own(Path::new("no/such")).expect_err("there is no such folder");
        let text = format!("{error:#}");
        assert!(text.starts_with("cannot read no/such/xtask/golden: "), "{text}");
    }
}
