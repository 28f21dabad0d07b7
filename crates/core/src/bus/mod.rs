//! The bus level: what crosses the wires between a flash controller and its chips.
//!
//! An operation of a chip (erase, program, read) is a sequence of *bus requests*: activations start
//! something on the chip, data requests move a chunk of a page, status requests ask whether the
//! chip is done. Each request names all that it needs, so a scheduler may put the requests of many
//! chips in any order that keeps the order of each chip.
//!
//! * [`request`]: the requests, and the order in which an operation sends them.
//! * [`microcode`]: the controller that turns a request into bus cycles, as an interpreter of its
//!   programs. How long a request holds the bus is what its program takes.
//! * [`channel`]: a channel that is scheduled whenever its bus is free, and the three models that
//!   the framework is compared with.
//! * [`scheduler`]: the loop of the framework, which hardware or a firmware runs; with [`fair`], it
//!   shares chips fairly between streams.
//!
//! Source of the fields and the grammar of requests: Kim, Lee and Min, the flash request scheduling
//! framework.

pub mod channel;
pub mod microcode;
pub mod request;
pub mod scheduler;

pub use crate::fair;
