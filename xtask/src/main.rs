//! Development tasks: `cargo xtask TASK`.

mod browser;
mod ci;
mod code;
mod doors;
mod fingerprint;
mod fuzz;
mod golden;
mod imports;
mod instructions;
mod modules;
mod packages;
mod release;
mod scheduler;
mod schema;
mod tidy;
mod trip;

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

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
    match words[..] {
        [] => usage("name a task".to_owned()),
        ["help"] => Ok(HELP.to_owned()),
        _ if words.contains(&"--help") || words.contains(&"-h") => Ok(HELP.to_owned()),
        ["ci"] => Ok(ci::run(&root())?),
        ["rooms"] => Ok(tidy::rooms(&root())?),
        ["tidy"] => Ok(tidy::run(&root())?),
        ["fuzz"] => Ok(fuzz::run(&root(), ci::FUZZ_SECONDS)?),
        ["fuzz", "--seconds", text] => match text.parse() {
            Ok(seconds) => Ok(fuzz::run(&root(), seconds)?),
            Err(_) => usage(format!("fuzz: --seconds is a whole number, {text}")),
        },
        ["fuzz", extra, ..] => usage(format!("fuzz: unexpected argument {extra}")),
        ["browser"] => Ok(browser::run(&root())?),
        ["fingerprint"] => Ok(fingerprint::run(&root(), false)?),
        ["fingerprint", "--update"] => Ok(fingerprint::run(&root(), true)?),
        ["instructions"] => Ok(instructions::run(&root(), false)?),
        ["instructions", "--update"] => Ok(instructions::run(&root(), true)?),
        ["scheduler"] => Ok(scheduler::run(&root(), false)?),
        ["scheduler", "--update"] => Ok(scheduler::run(&root(), true)?),
        ["schema"] => Ok(schema::run(&root())?),
        ["trip"] => Ok(trip::run(&root())?),
        ["release"] => Ok(release::run(&root())?),
        ["golden"] => Ok(golden::run_own(&root())?),
        ["golden", "--update"] => Ok(golden::update(&root())?),
        ["golden", ..] => Ok(golden::run(&root(), &arguments[1..])?),
        [
            "browser" | "ci" | "tidy" | "fingerprint" | "instructions" | "scheduler" | "schema"
            | "trip" | "release" | "rooms",
            extra,
            ..,
        ] => usage(format!("{}: unexpected argument {extra}", words[0])),
        [task, ..] => usage(format!("there is no task {task}")),
    }
}

/// The root of the repository.
fn root() -> PathBuf {
    let here = std::env::var_os("CARGO_MANIFEST_DIR").map(PathBuf::from);
    let mut root = here.unwrap_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")));
    root.pop();
    root
}

/// The cargo that runs this task.
fn cargo() -> Command {
    Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
}

/// The target directory of the repository at `root`.
fn target(root: &Path) -> PathBuf {
    let target = std::env::var_os("CARGO_TARGET_DIR");
    target.map_or_else(|| root.join("target"), |path| root.join(path))
}

/// Runs an example of this package, which uses the simulator: the tasks themselves do not, so that
/// they build in seconds. Returns what it prints.
fn example(root: &Path, name: &str, arguments: &[String]) -> anyhow::Result<String> {
    let mut command = cargo();
    let manifest = root.join("xtask/Cargo.toml");
    command.args(["run", "--quiet", "--locked", "--manifest-path"]).arg(manifest);
    command.args(["--example", name, "--"]).args(arguments).stderr(Stdio::inherit());
    let output = command.output()?;
    anyhow::ensure!(output.status.success(), "the example {name} failed: {}", output.status);
    Ok(String::from_utf8_lossy(&output.stdout).trim_end().to_owned())
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
