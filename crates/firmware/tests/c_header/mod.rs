//! A header of C that is written from sources: the one that is checked in is the one that they
//! give.
//!
//! With `FLASHYARD_UPDATE_GOLDEN` in the environment it is written anew.

use cbindgen::{Builder, Config, EnumConfig, FunctionConfig, Language, RenameRule, SortKey, Style};
use std::path::Path;

/// What makes a header.
pub(crate) struct Header<'a> {
    /// The folder of the package.
    pub(crate) package: &'a Path,
    /// The file, below `include`, and what guards it against being read twice.
    pub(crate) file: &'a str,
    pub(crate) guard: &'a str,
    /// The comment that it begins with.
    pub(crate) start: &'a str,
    /// What stands behind the headers that it needs.
    pub(crate) macros: Option<&'a str>,
    /// Its sources, below `src`.
    pub(crate) sources: &'a [&'a str],
    /// Types that no function names.
    pub(crate) types: &'a [&'a str],
}

/// Compares a header with its sources.
#[track_caller]
pub(crate) fn check(header: &Header<'_>) {
    let config = Config {
        language: Language::C,
        style: Style::Type,
        cpp_compat: true,
        line_length: 100,
        tab_width: 4,
        usize_is_size_t: true,
        header: Some(header.start.to_owned()),
        include_guard: Some(header.guard.to_owned()),
        no_includes: true,
        sys_includes: ["stdbool.h", "stddef.h", "stdint.h"].map(str::to_owned).to_vec(),
        after_includes: header.macros.map(str::to_owned),
        enumeration: EnumConfig {
            rename_variants: RenameRule::QualifiedScreamingSnakeCase,
            ..EnumConfig::default()
        },
        function: FunctionConfig { sort_by: Some(SortKey::None), ..FunctionConfig::default() },
        ..Config::default()
    };
    let mut builder = Builder::new().with_config(config);
    for file in header.sources {
        builder = builder.with_src(header.package.join(format!("src/{file}.rs")));
    }
    for name in header.types {
        builder = builder.include_item(name);
    }
    let mut text = Vec::new();
    builder.generate().expect("the sources have a header").write(&mut text);
    let path = header.package.join("include").join(header.file);
    if std::env::var_os("FLASHYARD_UPDATE_GOLDEN").is_some() {
        std::fs::write(&path, &text).expect("the header can be written");
    }
    let known = std::fs::read(&path).expect("the header is checked in");
    assert!(known == text, "{}: run cargo xtask golden --update", path.display());
}
