//! The header that is checked in is the one that the sources give.
//!
//! With `FLASHYARD_UPDATE_GOLDEN` in the environment it is written anew.

use cbindgen::{Builder, Config, EnumConfig, FunctionConfig, Language, RenameRule, SortKey, Style};
use std::path::Path;

const START: &str = "/* Flashyard: simulated devices for programs in C (docs/EMBEDDING.md).
 *
 * GENERATED from crates/capi/src by `cargo xtask golden --update`. */";

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
        include_guard: Some("FLASHYARD_SIM_H".to_owned()),
        no_includes: true,
        sys_includes: ["stdbool.h", "stddef.h", "stdint.h"].map(str::to_owned).to_vec(),
        enumeration: EnumConfig {
            rename_variants: RenameRule::QualifiedScreamingSnakeCase,
            ..EnumConfig::default()
        },
        function: FunctionConfig { sort_by: Some(SortKey::None), ..FunctionConfig::default() },
        ..Config::default()
    };
    let mut builder = Builder::new().with_config(config);
    for file in ["types", "policies", "device"] {
        builder = builder.with_src(package.join(format!("src/{file}.rs")));
    }
    builder = builder.include_item("FyHostOp");
    let mut header = Vec::new();
    builder.generate().expect("the sources have a header").write(&mut header);
    let path = package.join("include/flashyard_sim.h");
    if std::env::var_os("FLASHYARD_UPDATE_GOLDEN").is_some() {
        std::fs::write(&path, &header).expect("the header can be written");
    }
    let known = std::fs::read(&path).expect("the header is checked in");
    assert!(known == header, "{}: run cargo xtask golden --update", path.display());
}
