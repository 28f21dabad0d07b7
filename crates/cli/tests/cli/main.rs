//! The command `flashyard`, run as a user runs it. One program for all of these tests, so that its
//! libraries are linked once.

mod buffers;
mod contract;
mod convert;
mod determinism;
mod energy;
mod fit;
mod ftls;
mod keys;
mod logs;
mod presets;
mod right_input;
mod saved;
mod studies;
mod study;
mod support;
mod trace_info;
mod transforms;
mod workloads;
mod wrong_input;
