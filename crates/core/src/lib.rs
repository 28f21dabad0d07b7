//! The vocabulary and the scheduling policies of a flash storage device.
//!
//! No `std`, no `alloc`, no dependencies, no I/O, no clock: time is passed in and memory is lent by
//! the caller, so the code that schedules in the simulator could schedule in a device's firmware.
//!
//! * [`units`], [`request`], [`command`], [`geometry`]: what things are called and how they count.
//! * [`heap`]: an indexed priority queue over lent memory.
//! * [`graph`]: dependency edges between command sets; delay relations, the inheritance of priority
//!   and the explanation of latency all read these.
//! * [`queue`]: the commands that wait for a die.
//! * [`policy`]: command policies (which command a die takes next), one file each.
//! * [`host`]: host policies (which request the device starts next), one file each.
//! * [`bus`]: what crosses the wires between a flash controller and its chips: bus requests,
//!   the microcoded controller, the scheduler of chips.
//! * [`fair`]: virtual time, which shares dies fairly between streams; command policies and the
//!   scheduler of the bus use it.
//! * [`key`]: how a part states its configuration keys as data; [`quantity`]: what they hold
//!   besides times and counts.

#![no_std]

#[cfg(test)]
extern crate std;

pub mod bus;
pub mod command;
pub mod events;
pub mod fair;
pub mod geometry;
pub mod graph;
pub mod heap;
pub mod host;
pub mod key;
pub mod policy;
pub mod quantity;
pub mod queue;
pub mod request;
pub mod units;
