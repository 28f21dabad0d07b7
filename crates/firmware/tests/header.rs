//! The header that is checked in is the one that the sources give.

mod c_header;

use c_header::Header;
use std::path::Path;

const START: &str =
    "/* Flashyard: the scheduler of flash bus requests for a firmware (docs/BUS.md).
 *
 * GENERATED from crates/firmware/src by `cargo xtask golden --update`. */";

/// Sizes that are known when the firmware is compiled, for memory that is not allocated.
const MACROS: &str = "
/**
 * Memory that is enough for a scheduler, in bytes, as a constant.
 */
#define FY_SCHEDULER_BYTES(chips, channels) \\
    (FY_SCHEDULER_FIXED_BYTES + (chips) * FY_CHIP_BYTES + (channels) * FY_CHANNEL_BYTES)

/**
 * Memory that is enough for queues, in bytes, as a constant; without fair queueing `streams` is 1.
 */
#define FY_QUEUES_BYTES(chips, depth, streams) \\
    (FY_QUEUES_FIXED_BYTES + (streams) * FY_STREAM_BYTES + \\
     (chips) * (streams) * (FY_QUEUE_BYTES + (depth) * FY_WAITING_BYTES))";

#[test]
fn the_header_is_that_of_the_sources() {
    c_header::check(&Header {
        package: Path::new(env!("CARGO_MANIFEST_DIR")),
        file: "flashyard.h",
        guard: "FLASHYARD_H",
        start: START,
        macros: Some(MACROS),
        sources: &["types", "scheduler", "queues"],
        types: &["FyOp", "FyKind", "FyDataOrder"],
    });
}
