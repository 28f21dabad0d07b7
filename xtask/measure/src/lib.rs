//! What the simulator costs, counted by valgrind and gdb: instructions (`instructions`), the
//! scheduler of the bus (`scheduler`), the way of a read through files (`trip`). `tools` has the
//! programs that tasks run.

pub mod instructions;
pub mod scheduler;
pub mod tools;
pub mod trip;
