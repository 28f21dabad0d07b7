//! A write-ahead log on a simulated drive: it commits until the power fails at an instant that the
//! seed says, and looks for what was committed. Without a flush behind each commit some seed finds
//! the fault, and finds it again:
//!
//!     cargo run --release -p flashyard-dst --example wal

#![expect(clippy::print_stdout, reason = "an example says what it found")]

use flashyard_core::units::Span;
use flashyard_dst::wal::{Log, Record};
use flashyard_dst::{Disk, small_disk};

/// What a seed has found: the records that were committed, and those that are there.
#[derive(Debug, PartialEq, Eq)]
struct Outcome {
    committed: Vec<Record>,
    found: Vec<Record>,
    at_ns: u64,
}

fn run(seed: u64, flushes: bool) -> Outcome {
    let mut disk = Disk::new(&small_disk());
    let mut log = Log::new(flushes);
    let count = 1 + seed % 20;
    let commit = |number| log.commit(&mut disk, seed ^ number, number);
    let committed = (0..count).map(commit).collect();
    disk.pass(Span::from_ns(seed.wrapping_mul(7_919) % 3_000_000));
    let cut = disk.cut(seed);
    let found = log.recover(&mut disk);
    Outcome { committed, found, at_ns: cut.at.as_ns() }
}

fn main() {
    for flushes in [true, false] {
        let lost = (0..1_000).find(|seed| {
            let Outcome { committed, found, .. } = run(*seed, flushes);
            committed != found
        });
        let log = if flushes { "with a flush" } else { "without a flush" };
        match lost {
            None => println!("{log}: 1,000 seeds lose nothing"),
            Some(seed) => {
                let outcome = run(seed, flushes);
                assert_eq!(outcome, run(seed, flushes), "it replays");
                let (all, there) = (outcome.committed.len(), outcome.found.len());
                println!("{log}: seed {seed} has {there} of {all} records, and does so again");
            }
        }
    }
}
