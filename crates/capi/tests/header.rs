//! The header that is checked in is the one that the sources give.

#[path = "../../firmware/tests/c_header/mod.rs"]
mod c_header;

use c_header::Header;
use std::path::Path;

const START: &str = "/* Flashyard: simulated devices for programs in C (docs/EMBEDDING.md).
 *
 * GENERATED from crates/capi/src by `cargo xtask golden --update`. */";

#[test]
fn the_header_is_that_of_the_sources() {
    c_header::check(&Header {
        package: Path::new(env!("CARGO_MANIFEST_DIR")),
        file: "flashyard_sim.h",
        guard: "FLASHYARD_SIM_H",
        start: START,
        macros: None,
        sources: &["types", "policies", "device"],
        types: &["FyHostOp", "FyHow"],
    });
}
