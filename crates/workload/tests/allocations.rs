//! Readers allocate nothing for rows that are right, once all streams have been seen. The reader of
//! `kv` keeps a table of the objects of a trace, which grows and shrinks with them.

use std::alloc::System;

use flashyard_workload::FORMATS;
use flashyard_workload::format::ReaderOptions;
use stats_alloc::{INSTRUMENTED_SYSTEM, StatsAlloc};

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

/// Calls of the allocator so far that returned memory, of the whole process. Nothing runs beside
/// the test: it has no harness, whose own thread allocates while a short test runs.
fn allocations() -> usize {
    let stats = ALLOCATOR.stats();
    stats.allocations + stats.reallocations
}

fn main() {
    for info in FORMATS.iter().filter(|info| info.name != "kv") {
        let split = info.splits.first().copied();
        let mut reader = (info.reader)(&ReaderOptions { split, ..ReaderOptions::default() });
        let mut read = |rounds: usize| {
            for _ in 0..rounds {
                for line in info.example.lines() {
                    reader.parse(line.as_bytes()).expect("the example is right");
                }
            }
        };
        read(2);
        let before = allocations();
        read(100);
        assert_eq!(allocations() - before, 0, "{}", info.name);
    }
}
