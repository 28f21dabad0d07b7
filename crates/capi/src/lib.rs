//! Simulated devices for programs in C, and in whatever calls C: a device by name, requests that
//! are submitted, time that is let go on, answers that are taken. Policies may be functions of C.
//!
//! [`fy_open`] makes a device, [`fy_submit`] gives it requests, [`fy_next`] says when something may
//! be over, [`fy_advance`] lets time go on and returns what is over, [`fy_report`] ends it all with
//! a report, [`fy_close`] frees the device. [`fy_fork`] copies a device with all that is under way.
//!
//! No call unwinds into C: a failure is a code and a text ([`fy_error`]). A panic is a failure too,
//! after which the device refuses further calls. Devices are independent of one another; one device
//! is used by one thread at a time.
//!
//! The header is `include/flashyard_sim.h`; it is written from this source.

#[cfg(panic = "abort")]
compile_error!(
    "a panic must not end the program that calls: build with --profile embed, not --release"
);

mod border;
mod device;
mod policies;
mod types;

pub use device::{
    FyDevice, fy_advance, fy_capacity, fy_close, fy_cut, fy_error, fy_figures, fy_fork, fy_handle,
    fy_next, fy_no_more, fy_now, fy_open, fy_outstanding, fy_part_name, fy_report, fy_submit,
    fy_zone,
};
pub use policies::{
    FyBusCandidate, FyBusPolicy, FyChannel, FyCommand, FyCommandPolicy, FyPlacement,
};
pub use types::{
    FY_NEVER, FY_NO_PLACEMENT, FY_PARTS, FyCompletion, FyCut, FyFigures, FyHandle, FyHostOp,
    FyHostRequest, FyHow, FyLost, FyOptions, FyStatus, FyZone, FyZoneState,
};
