//! The header that is checked in is the one that the sources give.
//!
//! With `FLASHYARD_UPDATE_GOLDEN` in the environment it is written anew.

use cbindgen::{Builder, Config, EnumConfig, FunctionConfig, Language, RenameRule, SortKey, Style};
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
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    let config = Config {
        language: Language::C,
        style: Style::Type,
        cpp_compat: true,
        line_length: 100,
        tab_width: 4,
        usize_is_size_t: true,
        header: Some(START.to_owned()),
        include_guard: Some("FLASHYARD_H".to_owned()),
        no_includes: true,
        sys_includes: ["stdbool.h", "stddef.h", "stdint.h"].map(str::to_owned).to_vec(),
        after_includes: Some(MACROS.to_owned()),
        enumeration: EnumConfig {
            rename_variants: RenameRule::QualifiedScreamingSnakeCase,
            ..EnumConfig::default()
        },
        function: FunctionConfig { sort_by: Some(SortKey::None), ..FunctionConfig::default() },
        ..Config::default()
    };
    let mut builder = Builder::new().with_config(config);
    for file in ["types", "scheduler", "queues"] {
        builder = builder.with_src(package.join(format!("src/{file}.rs")));
    }
    for name in ["FyOp", "FyKind", "FyDataOrder"] {
        builder = builder.include_item(name);
    }
    let mut header = Vec::new();
    builder.generate().expect("the sources have a header").write(&mut header);
    let path = package.join("include/flashyard.h");
    if std::env::var_os("FLASHYARD_UPDATE_GOLDEN").is_some() {
        std::fs::write(&path, &header).expect("the header can be written");
    }
    let known = std::fs::read(&path).expect("the header is checked in");
    assert!(known == header, "{}: run cargo xtask golden --update", path.display());
}
