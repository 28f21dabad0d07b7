//! The microcoded controller: programs that turn bus requests into cycles of the bus.
//!
//! * [`isa`]: registers and instructions.
//! * [`timing`]: how long a cycle, a latched byte and the delays of chips take.
//! * [`assemble`]: from text to instructions, in lent memory.
//! * [`machine`]: the interpreter, and what a chip sees of it.
//! * [`programs`]: the seven programs of the standard controller.
//! * [`durations`]: how long each kind of request holds the bus.
//!
//! Source: Kim, Lee and Min, the flash request scheduling framework: instructions, cycles and
//! programs.

pub mod assemble;
pub mod durations;
pub mod isa;
pub mod machine;
pub mod programs;
pub mod timing;
