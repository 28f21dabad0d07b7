//! The command `flashyard`, run as a user runs it. One program for all of these tests, so that its
//! libraries are linked once.

mod block_map;
mod buffers;
mod bus;
mod columns;
mod compare;
mod complete;
mod contract;
mod convert;
mod cuts;
mod determinism;
mod disk;
mod documents;
mod energy;
mod fit;
mod fitting;
mod ftls;
mod import;
#[cfg(target_os = "linux")]
mod interrupt;
mod keys;
mod labs;
mod logs;
#[cfg(target_os = "linux")]
mod memory;
#[cfg(target_os = "linux")]
mod mutated;
mod perfetto;
mod picture;
mod power;
mod presets;
#[cfg(target_os = "linux")]
mod progress;
mod raw;
mod report;
mod right_input;
mod saved;
mod schema;
mod screen;
mod shards;
mod studies;
mod study;
mod support;
mod sweep;
mod tasks;
mod timeline;
mod trace_info;
mod transforms;
mod way_in;
mod why;
mod workloads;
mod wrong_input;
