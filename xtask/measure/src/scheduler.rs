//! `cargo xtask scheduler`: what the bus scheduler costs: instructions and nanoseconds a decision,
//! instructions by part of an iteration, code and memory.
//!
//! The example `decisions` of `flashyard-core` runs it. Its instructions are counted by valgrind,
//! function by function; those of the board that the example makes up are left out. An iteration
//! costs what one costs that has nothing to do. Operations are taken in by the functions of the
//! queues, answers are read by functions of their own, and the rest is that of the requests which
//! are sent.

use crate::instructions::{built, callgrind};
use crate::tools::{self, BARE_METAL, LIBRARY};
use anyhow::{Context as _, Result, ensure};
use flashyard_core::bus::queues::Ring;
use flashyard_core::bus::request::Operation;
use flashyard_core::bus::scheduler::{ChannelState, ChipState};
use object::read::archive::ArchiveFile;
use object::{Object as _, ObjectSection as _};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;
use xshell::{Shell, cmd};

/// The file with the instructions of an iteration, a received request, a sent one and an answer.
const BASELINE: &str = "crates/core/examples/framework/instructions.txt";

/// Two reads to a program, as where the published scheduler in software loses most.
const MIX: &str = "mix";

/// The work that has nothing to do.
const IDLE: &str = "idle";

/// Operations, or idle iterations, of a run that is counted; of one whose time is taken.
const COUNTED: &str = "20000";
const TIMED: &str = "500000";

/// The fastest of so many runs counts.
const REPEATS: usize = 5;

/// What a work of the example did: numbers by name.
type Work = BTreeMap<String, f64>;

/// Instructions of the scheduler in a work: all of them, and those of its queues and answers.
#[derive(Clone, Copy, Debug, Default)]
struct Counted {
    all: f64,
    queues: f64,
    answers: f64,
}

/// A part of the scheduler.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    Queues,
    Answers,
    Rest,
}

/// Counts, times and measures; with `update`, writes the file of instructions.
pub fn run(root: &Path, update: bool) -> Result<String> {
    let sh = tools::shell(root)?;
    let program = built(&sh, root, "flashyard-core", "decisions")?;
    let times = times(&sh, &program)?;
    let file = tools::target(root).join("callgrind.decisions");
    let mut counted = BTreeMap::new();
    for (name, _) in &times {
        counted.insert(name.as_str(), count(&sh, &program, name, &file)?);
    }
    let mut report = String::from("eight chips                 ns a decision  instructions\n");
    for (name, time) in &times {
        let (work, instructions) = &counted[name.as_str()];
        let (unit, by) = match name.as_str() {
            IDLE => ("idle, an iteration", "iterations"),
            name => (name, "decisions"),
        };
        let (ns, count) = (time["ns"] / time[by], instructions.all / work[by]);
        writeln!(report, "{unit:<26}  {ns:>13.0}  {count:>12.0}")?;
    }
    let parts = parts(&counted)?;
    report += "\ninstructions of an iteration, a request taken in, one sent, an answer: ";
    let names = ["iteration", "received", "sent", "answer"];
    let rows = names.iter().zip(parts).map(|(name, part)| format!("{name} {part:.0}\n"));
    let (rows, path) = (rows.collect::<String>(), root.join(BASELINE));
    report += &parts.map(|part| format!("{part:.0}")).join(", ");
    if update {
        std::fs::write(&path, rows).context(BASELINE)?;
    } else if std::fs::read_to_string(&path).unwrap_or_default() != rows {
        write!(report, " (not as in {BASELINE})")?;
    }
    report.push('\n');
    report += "\nbytes of memory: ";
    writeln!(
        report,
        "{} a chip, {} a channel, {} a queue, {} an operation that waits",
        size_of::<ChipState>(),
        size_of::<ChannelState>(),
        size_of::<Ring>(),
        size_of::<Option<Operation>>(),
    )?;
    if tools::is_installed(&sh, BARE_METAL) {
        for level in ["3", "s"] {
            let (scheduler, queues) = code(&sh, root, level)?;
            writeln!(
                report,
                "bytes of code on {BARE_METAL} at level {level}: scheduler {scheduler}, queues \
                 {queues}"
            )?;
        }
    } else {
        writeln!(report, "bytes of code: the target {BARE_METAL} is not installed")?;
    }
    Ok(report.trim_end().to_owned())
}

/// Runs every work several times; the fastest run of each.
fn times(sh: &Shell, program: &Path) -> Result<Vec<(String, Work)>> {
    let mut best: Vec<(String, Work)> = Vec::new();
    for _ in 0..REPEATS {
        for name in [MIX, "reads", "programs", "erases", "short-reads", IDLE] {
            let (name, work) = work(&cmd!(sh, "{program} {name} {TIMED}").quiet().read()?)?;
            match best.iter_mut().find(|(known, _)| *known == name) {
                Some((_, known)) if known["ns"] > work["ns"] => *known = work,
                Some(_) => {}
                None => best.push((name, work)),
            }
        }
    }
    Ok(best)
}

/// What the example prints: `reads: 17 iterations, 11 decisions, ..., 9 ns`.
fn work(text: &str) -> Result<(String, Work)> {
    let (name, rest) = text.trim().split_once(": ").with_context(|| text.to_owned())?;
    let mut work = Work::new();
    for part in rest.split(", ") {
        let (number, what) = part.split_once(' ').with_context(|| part.to_owned())?;
        work.insert(what.to_owned(), number.parse().with_context(|| part.to_owned())?);
    }
    for what in ["iterations", "decisions", "received", "sent", "answers", "ns"] {
        ensure!(work.contains_key(what), "no {what}");
    }
    Ok((name.to_owned(), work))
}

/// Counts the instructions of a work.
fn count(sh: &Shell, program: &Path, name: &str, file: &Path) -> Result<(Work, Counted)> {
    let out = format!("--callgrind-out-file={}", file.display());
    let options = ["--compress-strings=no".to_owned(), "--compress-pos=no".to_owned(), out];
    let [out, _] = callgrind(sh, &options, program, &[name, COUNTED])?;
    let profile = std::fs::read_to_string(file).with_context(|| file.display().to_string())?;
    Ok((work(&out)?.1, counted(&profile)))
}

/// Adds up the own instructions of the functions of the scheduler.
fn counted(profile: &str) -> Counted {
    let (mut function, mut file) = ("", "");
    let mut sums = Counted::default();
    let mut lines = profile.lines();
    while let Some(line) = lines.next() {
        if let Some(name) = line.strip_prefix("fn=") {
            function = name;
        } else if let Some((_, name)) =
            line.split_once('=').filter(|(key, _)| ["fl", "fi", "fe"].contains(key))
        {
            file = name;
        } else if line.starts_with("calls=") {
            // The line behind it has the instructions of the called function.
            lines.next();
        } else if let Some((position, cost)) = line.split_once(' ')
            && position.bytes().all(|byte| byte.is_ascii_digit())
        {
            let cost = cost.parse().unwrap_or(0.0);
            let Some(part) = part(function, file) else { continue };
            sums.all += cost;
            match part {
                Part::Queues => sums.queues += cost,
                Part::Answers => sums.answers += cost,
                Part::Rest => {}
            }
        }
    }
    sums
}

/// The part of the scheduler that instructions are of, unless they are the board's.
fn part(function: &str, file: &str) -> Option<Part> {
    let has = |names: &[&str]| names.iter().any(|name| function.contains(name));
    let is_board = has(&["Board::serve", "Board::answer", "Board::generate"]);
    let is_example = function == "decisions::run" && !file.contains("/bus/");
    let is_library = file.contains("/library/core/") && !file.contains("hint.rs");
    if is_board || (is_example && !is_library) {
        return None;
    }
    if has(&["Platform>::take_in", "Platform>::next", "ChipQueues", "::serve_next"]) {
        return Some(Part::Queues);
    }
    if has(&["::read_response", "::read_status", "::skip_status"]) {
        return Some(Part::Answers);
    }
    has(&["decisions::run", "flashyard_core", "__mem"]).then_some(Part::Rest)
}

/// Instructions of an iteration, a request taken in, one sent, an answer.
fn parts(works: &BTreeMap<&str, (Work, Counted)>) -> Result<[f64; 4]> {
    let named = |name: &str| works.get(name).context("a work");
    let ((idle, none), (mix, all)) = (named(IDLE)?, named(MIX)?);
    let iteration = none.all / idle["iterations"];
    // An iteration looks whether there is an operation to take in.
    let queues = all.queues - none.queues / idle["iterations"] * mix["iterations"];
    let rest = all.all - iteration * mix["iterations"] - queues - all.answers;
    ensure!(all.answers > 0.0 && queues > 0.0, "functions of the scheduler were not found");
    Ok([iteration, queues / mix["received"], rest / mix["sent"], all.answers / mix["answers"]])
}

/// Bytes of code of the scheduler and of its queues on a target without an operating system.
fn code(sh: &Shell, root: &Path, level: &str) -> Result<(u64, u64)> {
    let cargo = tools::cargo();
    // A directory of its own: the level is no part of the name of a library.
    let target = tools::target(root).join(format!("code-size-{level}"));
    cmd!(sh, "{cargo}")
        .args(LIBRARY.split_whitespace())
        .args(["-q", "--target", BARE_METAL, "--target-dir"])
        .arg(&target)
        .env("CARGO_PROFILE_RELEASE_OPT_LEVEL", level)
        .quiet()
        .run()?;
    let file = target.join(BARE_METAL).join("release/libflashyard_firmware.a");
    let bytes = std::fs::read(&file).with_context(|| file.display().to_string())?;
    let archive = ArchiveFile::parse(&*bytes)?;
    let (mut scheduler, mut queues) = (0, 0);
    for member in archive.members() {
        let member = member?;
        if !member.name().starts_with(b"flashyard_firmware") {
            continue;
        }
        let object = object::File::parse(member.data(&*bytes)?)?;
        for section in object.sections() {
            let name = section.name()?;
            let is_code = name.starts_with(".text") || name.starts_with(".rodata");
            if is_code && name.contains("ueues") {
                queues += section.size();
            } else if is_code {
                scheduler += section.size();
            }
        }
    }
    Ok((scheduler, queues))
}

#[cfg(test)]
mod tests {
    use super::*;

    const PROFILE: &str = "\
fl=/crates/core/examples/decisions.rs
fn=decisions::run
10 7
fi=/crates/core/src/bus/scheduler.rs
20 100
calls=3 40
20 5000
fe=/crates/core/examples/decisions.rs
11 1
fn=decisions::Board::serve
40 4000
fn=<decisions::Board as flashyard_core::bus::scheduler::Platform>::next
50 30
fn=main
60 900
";

    #[test]
    fn the_instructions_of_the_board_are_left_out() {
        let sums = counted(PROFILE);
        assert!((sums.all - 130.0).abs() < 1e-9 && (sums.queues - 30.0).abs() < 1e-9, "{sums:?}");
    }

    /// Works with known costs give these costs back.
    #[test]
    fn parts_are_found_again() {
        let work = |name, [iterations, received, sent, answers]: [f64; 4]| {
            let numbers = [("iterations", iterations), ("received", received), ("sent", sent)];
            let numbers = numbers.into_iter().chain([("answers", answers)]);
            let work = numbers.map(|(name, number)| (name.to_owned(), number)).collect();
            let queues = 4.0 * iterations + 20.0 * received;
            let all = 50.0 * iterations + 20.0 * received + 60.0 * sent + 30.0 * answers;
            (name, (work, Counted { all, queues, answers: 30.0 * answers }))
        };
        let works = [work(MIX, [170.0, 50.0, 60.0, 50.0]), work(IDLE, [100.0, 0.0, 0.0, 0.0])];
        let found = parts(&BTreeMap::from(works.clone())).expect("both are there");
        for (found, expected) in found.into_iter().zip([50.0, 20.0, 60.0, 30.0]) {
            assert!((found - expected).abs() < 1e-6, "{found}, not {expected}");
        }
        let [mix, _] = works;
        assert!(parts(&BTreeMap::from([mix])).is_err());
    }

    #[test]
    fn lines_of_the_example_are_read() {
        let line = "idle: 9 iterations, 1 decisions, 8 operations, 16 received, 8 sent, 0 answers, \
                    41 ns\n";
        let (name, work) = work(line).expect("it is one");
        assert!(name == IDLE && (work["ns"] - 41.0).abs() < 1e-9);
        assert!(super::work("idle: 9 iterations").is_err());
    }
}
