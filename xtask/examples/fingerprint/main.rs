//! A hash of the report and one of the events of many short runs: what `cargo xtask fingerprint`
//! compares with its table.
//!
//! Prints a line a case: its name, the hash of the report, the hash of the events; `refused` where
//! there can be no such device, `panic` where the simulator panics. Every case runs twice, since a
//! device that nobody watches takes short cuts: the report is that of the run without an observer,
//! and must be that of the run with one.

#[path = "../../../crates/sim/tests/sim/common/mod.rs"]
mod common;
#[path = "../../../crates/sim/tests/sim/generators/mod.rs"]
mod generators;

mod cases;
mod hash;
mod simulate;
mod words;

use cases::Case;
use flashyard_sim::own::OwnParts;
use hash::Hash;
use simulate::Found;
use std::io::{self, Write};
use std::panic::catch_unwind;
use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use words::Words;

fn main() -> io::Result<ExitCode> {
    let parts = generators::hosts::own_parts();
    let cases = cases::all();
    let (lines, words) = run_all(&parts, &cases);
    let mut out = io::stdout().lock();
    for (case, line) in cases.iter().zip(&lines) {
        writeln!(out, "{case} {line}")?;
    }
    let missing = words.missing();
    if missing.is_empty() {
        return Ok(ExitCode::SUCCESS);
    }
    writeln!(io::stderr(), "no case has {}", missing.join(", "))?;
    Ok(ExitCode::FAILURE)
}

/// The hashes of each case, and the words of keys that their devices have. One thread for each
/// processor takes the next case. The result of a case does not depend on the thread.
fn run_all(parts: &OwnParts, cases: &[Case]) -> (Vec<String>, Words) {
    let next = AtomicUsize::new(0);
    let found = Mutex::new((vec![String::new(); cases.len()], Words::new()));
    let work = || {
        loop {
            let place = next.fetch_add(1, Ordering::Relaxed);
            let Some(case) = cases.get(place) else { break };
            let result = catch_unwind(|| case.run(parts));
            let mut found = found.lock().expect("no thread panics with the lock");
            found.0[place] = match result {
                Ok(Some(Found { report, events, settings })) => {
                    found.1.add(&settings);
                    format!("{} {events}", Hash::of(&report))
                }
                Ok(None) => "refused refused".to_string(),
                Err(_) => "panic panic".to_string(),
            };
        }
    };
    let threads = thread::available_parallelism().map_or(1, usize::from);
    thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(work);
        }
    });
    found.into_inner().expect("no thread panics with the lock")
}
