//! `cargo xtask ci`: every check that a change must pass, up to the first failure.
//!
//! Cheap steps come first. Clippy, the `no_std` check and the documentation share the metadata of
//! the dependencies; this program, the test steps, the package of Python and the check of the
//! schemas share their code, since each names the features that the whole workspace has. What is
//! not compiled with the tests is made ready beside them: whatever waits for one long test or for
//! one crate leaves a processor to the other.
//!
//! Fuzz targets are compiled and not run: they are built with flags of their own, which takes four
//! minutes of a processor. `cargo xtask fuzz` runs them.

use anyhow::{Context, Result};
use flashyard_measure::tools::{BARE_METAL, LIBRARY, cargo, is_installed, shell};
use std::path::Path;
use std::time::Instant;
use xshell::{Shell, cmd};

/// `--all-targets` would also link empty programs for the tests of examples and of `main.rs`, and
/// leave doc tests out as well. A benchmark that is started without `--bench` runs each of its
/// cases once and measures nothing.
const TESTS: &str = "test --workspace --tests --benches";

/// The allocator of glibc keeps what the tests free. They make and copy devices of megabytes by the
/// thousand; given back and fetched anew, their pages take a sixth of the time in the kernel alone.
/// Other allocators know no such variables.
const KEPT: [(&str, &str); 2] =
    [("MALLOC_TRIM_THRESHOLD_", "268435456"), ("MALLOC_MMAP_THRESHOLD_", "4194304")];

/// The command, and the libraries below it, without all that features add: of the programs of the
/// workspace alone, since the package of Python needs the features and what a program uses is
/// checked with it. The whole workspace is named so that crates from elsewhere keep the features
/// that they have in the step before, and with them their metadata and macros. `own-parts` depends
/// on the command as a user's crate does, with its features.
const WITHOUT_FEATURES: &str = "clippy --workspace --exclude own-parts --no-default-features \
                                --bins -- -D warnings";

/// Runs every step in the repository at `root`.
pub(crate) fn run(root: &Path) -> Result<String> {
    let start = Instant::now();
    let ci = Ci { root, sh: shell(root)? };
    step("fmt", || ci.fmt())?;
    step("tidy", || crate::tidy::run(root).map(|summary| crate::log(&summary)))?;
    ci.cargo("clippy", "clippy --workspace --all-targets -- -D warnings", &[])?;
    ci.cargo("clippy without features", WITHOUT_FEATURES, &[])?;
    ci.no_std()?;
    ci.dependencies()?;
    ci.cargo("doc", "doc --workspace --no-deps", &[("RUSTDOCFLAGS", "-D warnings")])?;
    ci.cargo("doc tests", "test --workspace --doc", &[])?;
    beside(
        || ci.cargo("tests", TESTS, &KEPT),
        || {
            step("packages of Python", || crate::python::prepare(root).map(drop))?;
            step("fuzz targets", || crate::fuzz::check(root))?;
            step("schema", || crate::schema::run_where_possible(root))
        },
    )?;
    beside(
        || step("python", || crate::python::run_where_possible(root)),
        || step("browser", || crate::browser::run_where_possible(root)),
    )?;
    crate::log(&format!("ci: every step passed, {}", seconds(start)));
    Ok(String::new())
}

struct Ci<'a> {
    root: &'a Path,
    sh: Shell,
}

impl Ci<'_> {
    /// Checks the format of every source file, also of modules that a macro declares: those
    /// `cargo fmt` does not see.
    fn fmt(&self) -> Result<()> {
        let files = crate::tidy::sources(self.root)?;
        let checked = cmd!(self.sh, "rustfmt --edition 2024 --check {files...}").quiet().run();
        checked.context("run rustfmt on the files that it names")
    }

    /// Proves that `flashyard-core` needs neither `std` nor `alloc`. The crate is `#![no_std]`
    /// without `extern crate std` or `alloc` outside of its tests, and has no dependencies, which
    /// tidy makes sure of: a use of either crate is then an unresolved name, on every target. A
    /// target that has no `std` at all is the proof of the proof.
    fn no_std(&self) -> Result<()> {
        self.cargo("no_std", "check --package flashyard-core", &[])?;
        if is_installed(&self.sh, BARE_METAL) {
            let name = format!("no_std on {BARE_METAL}");
            let arguments = format!("check --package flashyard-core --target {BARE_METAL}");
            self.cargo(&name, &arguments, &[])?;
            let arguments = format!("{LIBRARY} --target {BARE_METAL}");
            self.cargo(&format!("C library, {name}"), &arguments, &[])
        } else {
            crate::log(&format!("ci: no_std on {BARE_METAL} skipped: it is not installed"));
            Ok(())
        }
    }

    /// Licences, sources and advisories of all dependencies, as far as this machine can tell.
    fn dependencies(&self) -> Result<()> {
        let cargo = cargo();
        let succeeds = |arguments: &str| {
            let command = cmd!(self.sh, "{cargo}").args(arguments.split(' '));
            command.quiet().ignore_stdout().ignore_stderr().run().is_ok()
        };
        if !succeeds("deny --version") {
            crate::log("ci: dependencies skipped: cargo deny is not installed");
            return Ok(());
        }
        self.cargo("dependencies", "deny check licenses bans sources", &[])?;
        if !succeeds("deny fetch db") {
            crate::log("ci: advisories skipped: the database cannot be reached");
            return Ok(());
        }
        self.cargo("advisories", "deny check advisories", &[])
    }

    /// A step that is one cargo command; its arguments are separated by blanks.
    fn cargo(&self, name: &str, arguments: &str, variables: &[(&str, &str)]) -> Result<()> {
        step(name, || {
            let cargo = cargo();
            let command = cmd!(self.sh, "{cargo}").args(arguments.split(' '));
            Ok(command.envs(variables.iter().copied()).quiet().run()?)
        })
    }
}

/// Runs a step in this thread and another beside it; the first failure is that of the first step.
/// It is also printed at once, since the other step may go on for minutes.
pub(crate) fn beside(
    first: impl FnOnce() -> Result<()>,
    second: impl FnOnce() -> Result<()> + Send,
) -> Result<()> {
    std::thread::scope(|scope| {
        let second = scope.spawn(second);
        let first = first();
        if let Err(error) = &first {
            crate::log(&format!("{error:#}; waiting for the step beside it"));
        }
        let second = second.join().expect("a step does not panic");
        first.and(second)
    })
}

/// Does the work of a step and says how long it took.
fn step(name: &str, work: impl FnOnce() -> Result<()>) -> Result<()> {
    crate::log(&format!("ci: {name} ..."));
    let start = Instant::now();
    work().with_context(|| format!("ci: {name} failed, {}", seconds(start)))?;
    crate::log(&format!("ci: {name} passed, {}", seconds(start)));
    Ok(())
}

fn seconds(start: Instant) -> String {
    format!("{:.1} s", start.elapsed().as_secs_f64())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failed_step_is_named_with_its_reason() {
        let error = step("doc", || anyhow::bail!("cargo doc: exit status: 101")).unwrap_err();
        let text = format!("{error:#}");
        assert!(text.starts_with("ci: doc failed, 0.0 s: cargo doc: exit status"), "{text}");
    }

    #[test]
    fn of_two_steps_side_by_side_each_runs_and_can_fail() {
        let fail = |name: &'static str| move || anyhow::bail!("{name}");
        let say = |result: Result<()>| result.map_err(|error| error.to_string());
        assert_eq!(say(beside(|| Ok(()), || Ok(()))), Ok(()));
        assert_eq!(say(beside(|| Ok(()), fail("second"))), Err("second".to_owned()));
        assert_eq!(say(beside(fail("first"), fail("second"))), Err("first".to_owned()));
    }
}
