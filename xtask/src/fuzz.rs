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

use anyhow::{Context, Result, bail, ensure};
use flashyard_workload::format::write::TraceWriter;
use flashyard_workload::input::Input;
use flashyard_workload::trace::{Event, Trace, TraceKeys, TraceOptions};
use flashyard_workload::{FORMATS, FormatInfo, RequestSource};
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Makes the inputs that a target starts from, in the repository at a path.
type Inputs = fn(&Path) -> Result<Vec<Vec<u8>>>;

/// The targets, with the inputs that each starts from.
const TARGETS: &[(&str, Inputs)] =
    &[("trace_reader", traces), ("trace_descriptor", descriptors), ("device_config", devices)];

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

/// Runs every target in the repository at `root`, for `seconds` of processors in all.
pub(crate) fn run(root: &Path, seconds: u64) -> Result<String> {
    check_compiler(&compiler())?;
    let folder = crate::target(root).join("fuzz");
    let programs = build(root, &folder.join("build"))?;
    for (name, inputs) in TARGETS {
        write_corpus(&folder.join("corpus").join(name), &inputs(root)?)?;
    }
    let share = share(seconds);
    std::thread::scope(|scope| {
        let one = |name: &'static str| -> Result<()> {
            let corpus = folder.join("corpus").join(name);
            let runs = fuzz(&programs.join(name), &corpus, &folder.join("artifacts"), share)?;
            crate::log(&format!("fuzz: {name} passed, {runs} runs in {share} s"));
            Ok(())
        };
        let all: Vec<_> = TARGETS.iter().map(|(name, _)| scope.spawn(move || one(name))).collect();
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

/// Runs every target for `seconds` in all where there is a C++ compiler, and says so where not.
pub(crate) fn run_where_possible(root: &Path, seconds: u64) -> Result<()> {
    if let Err(error) = check_compiler(&compiler()) {
        crate::log(&format!("ci: fuzz skipped: {error}"));
        return Ok(());
    }
    run(root, seconds).map(|_| ())
}

/// The C++ compiler, as the build of libFuzzer finds it.
fn compiler() -> OsString {
    std::env::var_os("CXX").unwrap_or_else(|| "c++".into())
}

/// libFuzzer is C++ and is compiled with the target.
fn check_compiler(compiler: &OsString) -> Result<()> {
    let found = Command::new(compiler).arg("--version").output();
    ensure!(
        found.is_ok_and(|output| output.status.success()),
        "fuzzing needs a C++ compiler and {} does not run: install g++ or clang++, or name one in \
         the variable CXX",
        compiler.display()
    );
    Ok(())
}

/// Builds all targets; returns the folder of the programs.
fn build(root: &Path, folder: &Path) -> Result<PathBuf> {
    let host = host()?;
    let mut command = crate::cargo();
    command.args(["build", "--quiet", "--locked", "--release"]);
    command.args(["--manifest-path", "fuzz/Cargo.toml"]);
    command.args(["--target", &host]).arg("--target-dir").arg(folder);
    command.env("RUSTFLAGS", COVERAGE).env_remove("CARGO_ENCODED_RUSTFLAGS");
    let status = command.current_dir(root).status().context("cannot run cargo")?;
    ensure!(status.success(), "the fuzz targets cannot be built: {status}");
    Ok(folder.join(host).join("release"))
}

/// The target that the compiler runs on.
fn host() -> Result<String> {
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let output = Command::new(&rustc).arg("-vV").output();
    let output = output.with_context(|| format!("cannot run {}", rustc.display()))?;
    let text = String::from_utf8_lossy(&output.stdout);
    let host = text.lines().find_map(|line| line.strip_prefix("host: "));
    Ok(host.context("rustc -vV names no host")?.to_owned())
}

/// Every format's example: by detection, and by name with every event and column of streams. The
/// choices in front are those of `fuzz_targets/trace_reader.rs`.
fn traces(_: &Path) -> Result<Vec<Vec<u8>>> {
    let event = TraceKeys::KEYS.iter().position(|key| key.name == "event");
    let order = TraceKeys::KEYS.iter().position(|key| key.name == "time_order");
    let event = u8::try_from(event.context("there is a key event")?)?;
    let order = u8::try_from(order.context("there is a key time_order")?)?;
    let formats = FormatInfo::all().count();
    let mut inputs = Vec::new();
    for (at, format) in FormatInfo::all().enumerate() {
        let example = example(format)?;
        let mut input = |at: usize, split: usize, word: u8| -> Result<()> {
            let (at, split) = (u8::try_from(at)?, u8::try_from(split)?);
            let choices = [at, split, 0, event, word, order, 1, order, 1, order, 1];
            inputs.push([&choices[..], &example].concat());
            Ok(())
        };
        input(formats, 0, 0)?;
        for split in 0..format.splits.len() + 2 {
            for word in 0..u8::try_from(Event::ALL.len())? {
                input(at, split, word)?;
            }
        }
    }
    Ok(inputs)
}

/// The example of a format; one that is not text has none, so it is that of another format.
fn example(format: &FormatInfo) -> Result<Vec<u8>> {
    if !format.example.is_empty() {
        return Ok(format.example.as_bytes().to_vec());
    }
    let text = FORMATS.last().context("there is a format of text")?.example.as_bytes();
    let (keys, options) = (TraceKeys::default(), TraceOptions::default());
    let mut trace = Trace::open(Input::memory("example", text), &keys, &options)?;
    let mut writer = TraceWriter::new("example", format, false)?;
    let mut bytes = Vec::new();
    while let Some(request) = trace.next_request()? {
        writer.push(&request, &mut bytes)?;
    }
    writer.finish(&["a stream".to_owned()], &mut bytes)?;
    Ok(bytes)
}

/// The descriptors that the documentation shows, each with the example of its format.
fn descriptors(root: &Path) -> Result<Vec<Vec<u8>>> {
    let document = fs::read_to_string(root.join("docs/TRACES.md")).context("no docs/TRACES.md")?;
    let shown = FormatInfo::all().filter_map(|format| {
        let start = format!("| `{}` | `", format.name);
        let line = document.lines().find_map(|line| line.strip_prefix(&start))?;
        let descriptor = line.strip_suffix("` |")?;
        Some(format!("{descriptor}\n{}", format.example).into_bytes())
    });
    let inputs: Vec<Vec<u8>> = shown.collect();
    ensure!(!inputs.is_empty(), "docs/TRACES.md shows no descriptor");
    Ok(inputs)
}

/// Every preset.
fn devices(root: &Path) -> Result<Vec<Vec<u8>>> {
    let folder = root.join("crates/cli/devices");
    let mut inputs = Vec::new();
    for entry in fs::read_dir(&folder).with_context(|| format!("no {}", folder.display()))? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "toml") {
            inputs.push(fs::read(&path)?);
        }
    }
    inputs.sort();
    Ok(inputs)
}

fn write_corpus(folder: &Path, inputs: &[Vec<u8>]) -> Result<()> {
    if folder.exists() {
        fs::remove_dir_all(folder)?;
    }
    fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
    for (at, input) in inputs.iter().enumerate() {
        fs::write(folder.join(format!("{at:04}")), input)?;
    }
    Ok(())
}

/// Runs a target; returns how many inputs it tried.
fn fuzz(program: &Path, corpus: &Path, artifacts: &Path, seconds: u64) -> Result<u64> {
    fs::create_dir_all(artifacts)?;
    let name = program.file_name().context("a target has a name")?.to_string_lossy();
    let prefix = artifacts.join(format!("{name}-"));
    let output = Command::new(program)
        .arg(format!("-max_total_time={seconds}"))
        .arg(format!("-max_len={LENGTH_MAX}"))
        .arg(format!("-rss_limit_mb={MEMORY_MIB}"))
        .arg(format!("-timeout={INPUT_SECONDS}"))
        .arg(format!("-artifact_prefix={}", prefix.display()))
        .args(["-seed=1", "-print_final_stats=1"])
        .arg(corpus)
        .output()
        .with_context(|| format!("cannot run {}", program.display()))?;
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
        let error = check_compiler(&"no-such-compiler".into()).unwrap_err().to_string();
        assert_eq!(
            error,
            "fuzzing needs a C++ compiler and no-such-compiler does not run: install g++ or \
             clang++, or name one in the variable CXX"
        );
    }

    #[test]
    fn every_format_and_preset_is_a_start() {
        let root = crate::root();
        let traces = traces(&root).unwrap();
        for format in FormatInfo::all() {
            let example = example(format).unwrap();
            let named = traces.iter().filter(|input| input[11..] == example).count();
            assert_eq!(named, 4 * (format.splits.len() + 2) + 1, "{}", format.name);
        }
        let presets = fs::read_dir(root.join("crates/cli/devices")).unwrap().count();
        assert_eq!(devices(&root).unwrap().len(), presets);
    }

    #[test]
    fn every_target_of_the_package_is_run() {
        let folder = crate::root().join("fuzz/fuzz_targets");
        let mut files: Vec<String> = fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        files.sort();
        let mut named: Vec<String> = TARGETS.iter().map(|(name, _)| format!("{name}.rs")).collect();
        named.sort();
        assert_eq!(files, named);
    }
}
