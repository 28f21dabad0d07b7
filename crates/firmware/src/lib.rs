//! The scheduler of flash bus requests for a firmware in C: the loop of [`flashyard_core`], and
//! queues of the operations that wait for chips, with fair queueing between streams if wanted.
//!
//! The caller lends all memory. A firmware asks how much a scheduler needs, hands it over once, and
//! calls [`fy_scheduler_iterate`] in its main loop with a table of functions: what time it is,
//! which operation is next, how a request is sent, what the controller has answered.
//!
//! No function allocates, blocks or keeps a pointer to anything but the lent memory. None may be
//! called for the same object from two threads, or from an interrupt while it runs, or by a
//! function of the platform that the scheduler itself has called; queues are another object than
//! the scheduler.
//!
//! The header is `include/flashyard.h`; it is written from this source.

#![no_std]

#[cfg(feature = "std")]
extern crate std;

mod memory;
mod queues;
mod scheduler;
mod types;

pub use queues::{
    FY_QUEUE_BYTES, FY_QUEUES_FIXED_BYTES, FY_STREAM_BYTES, FY_WAITING_BYTES, FyFair, FyQueues,
    fy_queues_completed, fy_queues_has_room, fy_queues_init, fy_queues_pop, fy_queues_push,
    fy_queues_size,
};
pub use scheduler::{
    FY_CHANNEL_BYTES, FY_CHIP_BYTES, FY_NEVER, FY_SCHEDULER_FIXED_BYTES, FyOptions, FyPlatform,
    FyScheduler, fy_scheduler_init, fy_scheduler_iterate, fy_scheduler_next_question,
    fy_scheduler_size,
};
pub use types::{
    FY_ALIGN, FyDataOrder, FyKind, FyOp, FyOperation, FyOutcome, FyRequest, FyResponse,
    fy_kind_name,
};

/// A scheduler that panics has found a bug in itself. The firmware stops here; a watchdog may start
/// it again.
#[cfg(all(feature = "panic-handler", not(feature = "std")))]
#[panic_handler]
fn stop(_: &core::panic::PanicInfo<'_>) -> ! {
    loop {
        core::hint::spin_loop();
    }
}
