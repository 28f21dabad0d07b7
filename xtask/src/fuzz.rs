//! `cargo xtask fuzz`: builds the fuzz targets with the stable compiler and runs all at once for a
//! while.
//!
//! libFuzzer needs coverage counters in the code under test. The nightly options of cargo-fuzz
//! stand for passes of LLVM that the stable compiler takes by their own names; an explicit target
//! keeps build scripts and macros free of them. What a run starts from is always the same: the
//! example of every trace format and every preset, and a fixed seed. How far it gets depends on the
//! machine.
//!
//! All of it lies in the target directory, under `fuzz`: `build`, `corpus` (written anew each time)
//! and `artifacts`: the inputs that made a target fail.

use anyhow::{Context, Result, bail};
use flashyard_measure::tools;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use xshell::{Shell, cmd};

/// The targets. The example `corpus` of this package makes the inputs that each starts from.
const TARGETS: [&str; 3] = ["trace_reader", "trace_descriptor", "device_config"];

/// What makes libFuzzer see which code runs.
const COVERAGE: &str = "-Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 \
                        -Cllvm-args=-sanitizer-coverage-inline-8bit-counters \
                        -Cllvm-args=-sanitizer-coverage-pc-table -Clink-dead-code --cfg fuzzing";

/// The longest input in bytes: many rows, and still thousands of runs a second.
const LENGTH_MAX: u32 = 4_096;
/// No target needs more than this.
const MEMORY_MIB: u32 = 1_024;
/// A single input that takes longer is a failure.
const INPUT_SECONDS: u32 = 10;

/// How long the fuzz targets run in all, if nothing else is asked for.
pub(crate) const SECONDS: u64 = 60;

/// Runs every target in the repository at `root`, for `seconds` of processors in all.
pub(crate) fn run(root: &Path, seconds: u64) -> Result<String> {
    let sh = tools::shell(root)?;
    check_compiler(&sh, &compiler())?;
    let folder = tools::target(root).join("fuzz");
    let programs = build(&sh, &folder.join("build"))?;
    let corpus = folder.join("corpus").to_string_lossy().into_owned();
    crate::example(root, "corpus", &[corpus])?;
    let share = share(seconds);
    std::thread::scope(|scope| {
        let one = |name: &'static str| -> Result<()> {
            let corpus = folder.join("corpus").join(name);
            let runs = fuzz(&programs.join(name), &corpus, &folder.join("artifacts"), share)?;
            crate::log(&format!("fuzz: {name} passed, {runs} runs in {share} s"));
            Ok(())
        };
        let all: Vec<_> = TARGETS.map(|name| scope.spawn(move || one(name))).into();
        all.into_iter().try_for_each(|one| one.join().expect("fuzzing does not panic"))
    })?;
    Ok(String::new())
}

/// How long each target runs, in seconds, if all run at once and take `seconds` of the processors
/// in all.
fn share(seconds: u64) -> u64 {
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    seconds / processors.min(TARGETS.len()) as u64
}

/// Compiles every target as far as errors go. Nothing is linked then, so libFuzzer need not be
/// compiled, which takes most of the time and a C++ compiler: its build believes that it is there.
pub(crate) fn check(root: &Path) -> Result<()> {
    let (sh, cargo) = (tools::shell(root)?, tools::cargo());
    let folder = tools::target(root).join("fuzz/check");
    cmd!(sh, "{cargo} check --quiet --locked --manifest-path fuzz/Cargo.toml --target-dir {folder}")
        .env("CUSTOM_LIBFUZZER_PATH", folder.join("not-linked/libfuzzer.a"))
        .quiet()
        .run()
        .context("the fuzz targets do not compile")
}

/// The C++ compiler, as the build of libFuzzer finds it.
fn compiler() -> OsString {
    std::env::var_os("CXX").unwrap_or_else(|| "c++".into())
}

/// libFuzzer is C++ and is compiled with the target.
fn check_compiler(sh: &Shell, compiler: &OsString) -> Result<()> {
    let command = cmd!(sh, "{compiler} --version").quiet().ignore_stdout().ignore_stderr();
    command.run().ok().with_context(|| {
        format!(
            "fuzzing needs a C++ compiler and {} does not run: install g++ or clang++, or name one \
             in the variable CXX",
            compiler.display()
        )
    })
}

/// Builds all targets; returns the folder of the programs.
fn build(sh: &Shell, folder: &Path) -> Result<PathBuf> {
    let (cargo, host) = (tools::cargo(), tools::host(sh)?);
    cmd!(sh, "{cargo} build --quiet --locked --release --manifest-path fuzz/Cargo.toml")
        .args(["--target", &host, "--target-dir"])
        .arg(folder)
        .env("RUSTFLAGS", COVERAGE)
        .env_remove("CARGO_ENCODED_RUSTFLAGS")
        .quiet()
        .run()
        .context("the fuzz targets cannot be built")?;
    Ok(folder.join(host).join("release"))
}

/// Runs a target; returns how many inputs it tried.
fn fuzz(program: &Path, corpus: &Path, artifacts: &Path, seconds: u64) -> Result<u64> {
    fs::create_dir_all(artifacts)?;
    let name = program.file_name().context("a target has a name")?.to_string_lossy();
    let prefix = artifacts.join(format!("{name}-"));
    let sh = Shell::new()?;
    let output = cmd!(sh, "{program} -seed=1 -print_final_stats=1")
        .arg(format!("-max_total_time={seconds}"))
        .arg(format!("-max_len={LENGTH_MAX}"))
        .arg(format!("-rss_limit_mb={MEMORY_MIB}"))
        .arg(format!("-timeout={INPUT_SECONDS}"))
        .arg(format!("-artifact_prefix={}", prefix.display()))
        .arg(corpus)
        .quiet()
        .ignore_status()
        .output()?;
    let log = String::from_utf8_lossy(&output.stderr);
    if !output.status.success() {
        let written = log.lines().find_map(|line| line.split_once("Test unit written to "));
        let input = written.map_or("no input was written", |(_, path)| path);
        let start =
            log.lines().position(|line| line.contains("panicked") || line.contains("ERROR"));
        let reason: Vec<&str> = log.lines().skip(start.unwrap_or(0)).take(8).collect();
        bail!("{name} fails on {input}:\n{}", reason.join("\n"));
    }
    let runs = log.lines().find_map(|line| line.strip_prefix("stat::number_of_executed_units:"));
    Ok(runs.context("libFuzzer printed no number of runs")?.trim().parse()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_a_compiler_the_message_says_what_to_install() {
        let error = check_compiler(&Shell::new().unwrap(), &"no-such-compiler".into())
            .unwrap_err()
            .to_string();
        assert_eq!(
            error,
            "fuzzing needs a C++ compiler and no-such-compiler does not run: install g++ or \
             clang++, or name one in the variable CXX"
        );
    }

    #[test]
    fn every_target_of_the_package_is_run() {
        let folder = crate::root().join("fuzz/fuzz_targets");
        let mut files: Vec<String> = fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        files.sort();
        let mut named: Vec<String> = TARGETS.iter().map(|name| format!("{name}.rs")).collect();
        named.sort();
        assert_eq!(files, named);
    }
}
