//! A run that is stopped leaves nothing behind, whatever it was doing; results of earlier runs
//! stay.

use crate::support::Folder;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Longer than any start of a run takes.
const PATIENCE: Duration = Duration::from_secs(120);

/// Numbers of signals.
const SIGHUP: i32 = 1;
const SIGINT: i32 = 2;
const SIGTERM: i32 = 15;

/// Work that does not end while anybody waits for it.
const ENDLESS: [&str; 3] = ["random-write", "--set", "pattern.requests=1000000000000"];

/// Sends a signal by its name.
fn send(child: &Child, signal: &str) {
    let id = child.id().to_string();
    let sent = Command::new("kill").args(["-s", signal, &id]).status().expect("kill runs");
    assert!(sent.success(), "{signal} to {id}");
}

/// Waits until `is_so`; the child must not have ended before.
#[track_caller]
fn wait_until(child: &mut Child, what: &str, mut is_so: impl FnMut() -> bool) {
    let start = Instant::now();
    while !is_so() {
        assert!(child.try_wait().unwrap().is_none(), "it ended before {what}");
        assert!(start.elapsed() < PATIENCE, "{what} did not happen");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Starts the command with signals that are not ignored, whatever the tests were started with:
/// those that are caught here have their default there.
fn start(folder: &Folder, args: &[&str]) -> Child {
    for signal in [SIGHUP, SIGINT, SIGTERM] {
        if has(std::process::id(), "SigIgn:", signal) {
            signal_hook::flag::register(signal, Arc::default()).expect("it can be caught");
        }
    }
    let mut command = folder.command(args);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.spawn().expect("the command starts")
}

/// Whether a signal is in this set of a process.
fn has(id: u32, set: &str, signal: i32) -> bool {
    let status = std::fs::read_to_string(format!("/proc/{id}/status")).unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix(set));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    mask.is_some_and(|mask| mask & (1 << (signal - 1)) != 0)
}

/// Whether a process has a handler for a signal.
fn catches(id: u32, signal: i32) -> bool {
    has(id, "SigCgt:", signal)
}

/// The status and what it said on standard error.
fn end(child: Child) -> (std::process::ExitStatus, String) {
    let output = child.wait_with_output().expect("it ends");
    (output.status, String::from_utf8(output.stderr).unwrap())
}

/// Stops this command by a signal once it has written something, or watches for signals at least:
/// it must end with this status and leave the folder as it was.
#[track_caller]
fn leaves_nothing(folder: &Folder, args: &[&str], signal: &str, status: i32) {
    let before = folder.files();
    let mut child = start(folder, args);
    let id = child.id();
    wait_until(&mut child, "signals are watched", || catches(id, SIGINT));
    std::thread::sleep(Duration::from_millis(300));
    send(&child, signal);
    let (ended, said) = end(child);
    assert_eq!(ended.code(), Some(status), "{args:?}: {said}");
    let expected = format!("error: stopped by SIG{signal}; unfinished results were removed\n");
    assert_eq!(said, expected, "{args:?}");
    assert!(folder.files() == before, "{args:?} left or changed a file");
    assert!(!folder.path("results").exists(), "{args:?} left a folder");
}

#[test]
fn signals_end_a_run_and_remove_what_it_has_written() {
    let folder = Folder::with("log.csv", "an earlier result\n");
    let outputs = ["--out", "results/deep", "--commands", "log.csv", "--save", "state.bin"];
    let args = [&["run", "drs"], &ENDLESS[..], &outputs].concat();
    for (signal, status) in [("INT", 130), ("TERM", 143), ("HUP", 129)] {
        leaves_nothing(&folder, &args, signal, status);
    }
}

#[test]
fn signals_end_the_building_of_a_device_a_study_and_a_conversion() {
    let folder = Folder::new();
    let aged = ["--set", "state.initial=aged", "--set", "state.aged_percent=100000"];
    let out = ["--out", "results"];
    leaves_nothing(
        &folder,
        &[&["run", "embedded-2x2", "movie"], &aged[..], &out].concat(),
        "INT",
        130,
    );
    leaves_nothing(&folder, &["reproduce", "drs"], "TERM", 143);
    let convert = [&["trace", "convert"], &ENDLESS[..], &["out.spc.gz"]].concat();
    leaves_nothing(&folder, &convert, "INT", 130);
}

/// `nohup` and jobs in the background start a program with signals that it is not to mind.
#[test]
fn signals_that_are_ignored_stay_so() {
    let folder = Folder::new();
    let script = "trap '' INT HUP; exec \"$0\" \"$@\"";
    let mut command = Command::new("sh");
    command.args(["-c", script, env!("CARGO_BIN_EXE_flashyard"), "run", "drs"]);
    command.args(ENDLESS).current_dir(folder.path(""));
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let id = child.id();
    wait_until(&mut child, "SIGTERM is watched for", || catches(id, SIGTERM));
    send(&child, "INT");
    send(&child, "HUP");
    std::thread::sleep(Duration::from_millis(300));
    assert!(child.try_wait().unwrap().is_none(), "it goes on");
    send(&child, "TERM");
    assert_eq!(end(child).0.code(), Some(143));
}

/// Nobody can catch SIGKILL: files without names leave nothing all the same.
#[test]
#[cfg(target_os = "linux")]
fn a_killed_run_leaves_nothing_either() {
    let folder = Folder::new();
    let args = [&["run", "drs", "--commands", "log.csv"], &ENDLESS[..]].concat();
    let mut child = start(&folder, &args);
    let id = child.id();
    let written = || {
        let files = std::fs::read_dir(format!("/proc/{id}/fd"));
        files.is_ok_and(|mut files| {
            files.any(|file| {
                let path = file.map(|file| file.path()).unwrap_or_default();
                let name = std::fs::read_link(&path).unwrap_or_default();
                let size = std::fs::metadata(&path).map_or(0, |data| data.len());
                name.to_string_lossy().contains("(deleted)") && size > 100_000
            })
        })
    };
    wait_until(&mut child, "100 kB of the log are written to a file without a name", written);
    child.kill().unwrap();
    assert_eq!(end(child).0.signal(), Some(9));
    assert!(folder.files().is_empty(), "{:?}", folder.files().keys());
}

/// The files that there are, by their names.
fn names(folder: &Folder) -> Vec<String> {
    let files = folder.files().into_keys();
    files.map(|path| path.file_name().unwrap().to_string_lossy().into_owned()).collect()
}

/// Everything that a run can write at once.
#[test]
fn signals_leave_nothing_of_any_file_of_a_run() {
    let folder = Folder::new();
    let set = ["--set", "metrics.bin_ms=1", "--set", "metrics.power_us=1000"];
    let logs = ["--commands", "c.parquet", "--bus", "b.parquet", "--power", "p.parquet"];
    let requests = ["--set", "bus.precision=requests"];
    let files = ["--out", "results", "--timeline", "t.pftrace"];
    let run = [&["run", "drs"], &ENDLESS[..], &set, &requests, &logs, &files].concat();
    leaves_nothing(&folder, &run, "INT", 130);
    let vary = ["--vary", "queue.depth=1,2", "--out", "results"];
    leaves_nothing(&folder, &[&["compare", "drs"], &ENDLESS[..], &vary].concat(), "TERM", 143);
    leaves_nothing(&folder, &["reproduce", "drs", "--out", "results"], "HUP", 129);
}

/// Of a sweep the journal stays, which is what it goes on from.
#[test]
fn signals_leave_the_journal_of_a_sweep_and_nothing_else() {
    let grid = "device = \"drs\"\nworkload = \"random-write\"\n\
        set = [\"pattern.requests=1000000000000\"]\nvary = [\"queue.depth=1,2\"]\n";
    for (signal, status) in [("INT", 130), ("KILL", 9)] {
        let folder = Folder::with("s.toml", grid);
        let args = ["sweep", "s.toml", "--csv", "s.csv", "--runs", "r.parquet"];
        let mut child = start(&folder, &args);
        let journal = || folder.path("s.parquet.journal").exists();
        wait_until(&mut child, "the journal is there", journal);
        std::thread::sleep(Duration::from_millis(300));
        send(&child, signal);
        let (ended, said) = end(child);
        assert_eq!(ended.code().or(ended.signal()), Some(status), "{said}");
        assert_eq!(names(&folder), ["s.parquet.journal", "s.toml"], "{signal}");
        let keeps = "finished runs are kept in s.parquet.journal";
        assert_eq!(said.contains(keeps), signal == "INT", "{said}");
    }
}

/// As far as files go, whatever was being written. A folder that was made stays: it has no file.
#[test]
fn no_file_is_left_of_what_is_killed() {
    let set = ["--set", "metrics.bin_ms=1", "--set", "metrics.power_us=1000"];
    let run = [&["run", "drs"], &ENDLESS[..], &set, &["--out", "r", "--save", "s.bin"]].concat();
    let convert = [&["trace", "convert"], &ENDLESS[..], &["out.spc.gz"]].concat();
    for args in [&run[..], &["reproduce", "drs", "--out", "r"], &convert] {
        let folder = Folder::new();
        let mut child = start(&folder, args);
        let id = child.id();
        wait_until(&mut child, "signals are watched", || catches(id, SIGINT));
        std::thread::sleep(Duration::from_millis(300));
        child.kill().unwrap();
        assert_eq!(end(child).0.signal(), Some(9));
        assert_eq!(names(&folder), [""; 0], "{args:?}");
    }
}
