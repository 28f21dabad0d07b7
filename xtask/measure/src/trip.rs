//! `cargo xtask trip`: through which files of `crates/sim/src` one read passes.
//!
//! The throughput example is built without optimisation, so that no function is inlined that does
//! not ask for it, and run in gdb with one read outstanding. From one call of its source of
//! requests to the next one it is stepped instruction by instruction. In a closed loop of one
//! request that is a whole turn: a read is admitted, translated, executed and answered, the next
//! one arrives. The line table of the program says to which file an instruction belongs. Those of
//! other crates are left out: a file that calls `core` and goes on afterwards has not changed.

use crate::tools;
use anyhow::{Context as _, Result, ensure};
use std::fmt::Write as _;
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use xshell::cmd;

/// The example, and the line of its source of requests at which a turn begins and ends.
const EXAMPLE: &str = "crates/sim/examples/throughput.rs";
const TURN: &str = "at += 1;";

/// Where files are counted, and a part of it that is also counted by itself.
const SOURCES: &str = "crates/sim/src/";
const DEVICE: &str = "device/";

/// Reads before the turn that is counted: what is made at the first one is there.
const BEFORE: u64 = 100;

/// Instructions after which a turn is endless; it takes 40,000.
const LIMIT: u64 = 1_000_000;

/// What gdb prints at the end of a turn.
const WHOLE: &[u8] = b"the turn is whole";

/// Counts the files of one read.
pub fn run(root: &Path) -> Result<String> {
    let gdb = Command::new("gdb").arg("--version").stdout(Stdio::null()).status();
    ensure!(
        gdb.is_ok_and(|status| status.success()),
        "gdb cannot be run; its package is called gdb (apt-get install gdb, dnf install gdb)"
    );
    let (sh, cargo) = (tools::shell(root)?, tools::cargo());
    let target = tools::target(root).join("trip");
    cmd!(sh, "{cargo} build -q -p flashyard-sim --example throughput --target-dir {target}")
        .args(
            ["", "package.flashyard-sim.", "package.flashyard-core."]
                .map(|package| format!("--config=profile.dev.{package}opt-level=0")),
        )
        .quiet()
        .run()?;
    Ok(step(root, &target.join("debug/examples/throughput"))?.describe())
}

/// Steps through one turn in gdb.
fn step(root: &Path, program: &Path) -> Result<Trip> {
    let text = std::fs::read_to_string(root.join(EXAMPLE)).context(EXAMPLE)?;
    let line = text.lines().position(|line| line.trim() == TURN);
    let line = line.with_context(|| format!("{EXAMPLE} has no line `{TURN}`"))? + 1;
    let script = program.with_extension("gdb");
    std::fs::write(&script, commands(line)).context("the script of gdb")?;
    let mut gdb = Command::new("gdb");
    gdb.args(["-nx", "-batch", "-x"]).arg(&script).arg(program).current_dir(root);
    gdb.env("LC_ALL", "C").env_remove("DEBUGINFOD_URLS");
    gdb.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut gdb = gdb.spawn().context("gdb cannot be run")?;
    let output = BufReader::new(gdb.stdout.take().expect("standard output is a pipe"));
    let (mut trip, mut is_whole) = (Trip::default(), false);
    for line in output.split(b'\n') {
        let line = line.context("the output of gdb")?;
        is_whole |= line == WHOLE;
        trip.pass(&String::from_utf8_lossy(&line));
    }
    gdb.wait()?;
    let script = script.display();
    ensure!(is_whole, "no turn of the loop was seen; gdb -nx -batch -x {script} says why");
    Ok(trip)
}

/// The script of gdb; a turn begins at `line` of the example.
fn commands(line: usize) -> String {
    let file = EXAMPLE.rsplit('/').next().unwrap_or(EXAMPLE);
    let (requests, whole) = (2 * BEFORE, String::from_utf8_lossy(WHOLE));
    format!(
        "set confirm off\nset pagination off\nset width 0\nbreak {file}:{line}\n\
         run random-read 4 {requests} stream.depth=1\nignore 1 {BEFORE}\ncontinue\n\
         set $first = $pc\nset $left = {LIMIT}\n\
         while $left > 0\nstepi\ninfo line *$pc\nset $left = $left - 1\n\
         if $pc == $first\nset $left = -1\nend\nend\n\
         if $left < 0\necho \\n{whole}\\n\nend\nkill\n"
    )
}

/// The way of a read through files.
#[derive(Debug, Default, PartialEq, Eq)]
struct Trip {
    /// In the order of the first visit.
    files: Vec<Visited>,
    /// The file of the last instruction, and of the last one in `device/`.
    last: Option<usize>,
    last_of_device: Option<usize>,
    changes: u64,
    changes_of_device: u64,
}

/// A file on the way.
#[derive(Debug, PartialEq, Eq)]
struct Visited {
    /// Below `crates/sim/src`.
    path: String,
    /// Lines that have run, each once.
    lines: Vec<u32>,
    /// How often the way came here from another file.
    visits: u64,
}

impl Trip {
    /// Takes a line of gdb: `Line 106 of "crates/sim/src/stream.rs" starts at address ...`.
    fn pass(&mut self, line: &str) {
        let place = line.strip_prefix("Line ").and_then(|rest| rest.split_once(" of \""));
        let Some((number, rest)) = place else { return };
        let path = rest.split('"').next().and_then(|path| path.split_once(SOURCES));
        let (Ok(number), Some((_, path))) = (number.parse(), path) else { return };
        let found = self.files.iter().position(|file| file.path == path);
        let at = found.unwrap_or(self.files.len());
        if found.is_none() {
            self.files.push(Visited { path: path.to_owned(), lines: Vec::new(), visits: 0 });
        }
        let file = &mut self.files[at];
        if !file.lines.contains(&number) {
            file.lines.push(number);
        }
        if self.last != Some(at) {
            file.visits += 1;
            self.changes += u64::from(self.last.is_some());
            self.last = Some(at);
        }
        if path.starts_with(DEVICE) && self.last_of_device != Some(at) {
            self.changes_of_device += u64::from(self.last_of_device.is_some());
            self.last_of_device = Some(at);
        }
    }

    fn describe(&self) -> String {
        let mut text = String::from("lines visits file, in the order of the first visit\n");
        for Visited { path, lines, visits } in &self.files {
            let _ = writeln!(text, "{:5} {visits:6} {path}", lines.len());
        }
        let in_device = self.files.iter().filter(|file| file.path.starts_with(DEVICE)).count();
        let (files, changes) = (self.files.len(), self.changes);
        let _ = writeln!(text, "{SOURCES}: {files} files, {changes} changes of file");
        let changes = self.changes_of_device;
        let _ =
            write!(text, "{SOURCES}{DEVICE} alone: {in_device} files, {changes} changes of file");
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns count as calls do; what is not in the simulator's sources is passed over.
    #[test]
    fn files_and_changes_are_counted() {
        let mut trip = Trip::default();
        for (line, file) in [
            (1, "crates/sim/src/device/phase.rs"),
            (2, "crates/sim/src/device/phase.rs"),
            (7, "/rustc/x/library/core/src/option.rs"),
            (1, "/home/x/crates/sim/src/device/phase.rs"),
            (9, "crates/sim/src/sets/mod.rs"),
            (3, "crates/sim/src/device/phase.rs"),
            (5, "crates/sim/src/device/admit.rs"),
            (9, "crates/core/src/graph.rs"),
            (4, "crates/sim/src/device/phase.rs"),
        ] {
            trip.pass(&format!(
                "Line {line} of \"{file}\" starts at address 0x1 <f+4> and ends at"
            ));
        }
        trip.pass("No line number information available for address 0x2");
        let expected = "lines visits file, in the order of the first visit\n    \
                        4      3 device/phase.rs\n    1      1 sets/mod.rs\n    \
                        1      1 device/admit.rs\n\
                        crates/sim/src/: 3 files, 4 changes of file\n\
                        crates/sim/src/device/ alone: 2 files, 2 changes of file";
        assert_eq!(trip.describe(), expected);
    }

    #[test]
    fn the_example_has_the_line_where_a_turn_begins() {
        let text = std::fs::read_to_string(
            Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(EXAMPLE),
        )
        .unwrap();
        assert_eq!(text.lines().filter(|line| line.trim() == TURN).count(), 1);
    }
}
