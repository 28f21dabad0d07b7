//! `cargo xtask tidy`: the rules of the tree that neither rustfmt nor clippy check.
//!
//! The files are found by walking the tree, without what `.gitignore` names. Every rule is a
//! function over the files in memory; all that is wrong is reported at once.

use crate::code::{Code, Function};
use anyhow::{Context, Result, ensure};
use std::collections::BTreeSet;
use std::fs;
use std::path::{MAIN_SEPARATOR, Path};
use walkdir::WalkDir;

const MAX_COLUMNS: usize = 100;
const MAX_FILE_LINES: usize = 800;
const WARN_FILE_LINES: usize = 500;
const MAX_FUNCTION_LINES: usize = 70;
const MAX_FILE_BYTES: u64 = 300_000;

const ARCHITECTURE: &str = "docs/ARCHITECTURE.md";
const MAX_ARCHITECTURE_LINES: usize = 343;

/// The table of the presets that the command knows by name, and the folder of their files.
const PRESETS: &str = "crates/run/src/presets.rs";
const DEVICES: &str = "crates/run/devices/";

/// Folders of parts that one file declares: folder, macro, and how the macro names a part.
const REGISTRIES: [(&str, &str, &str); 6] = [
    ("crates/core/src/policy/", "registry! {", "(%::"),
    ("crates/core/src/host/", "registry! {", "(%::"),
    ("crates/core/src/bus/policy/", "registry! {", "(%::"),
    ("crates/sim/src/parts/victim/", "registry! {", "(%::"),
    ("crates/sim/src/parts/log/", "registry! {", "(%::"),
    ("crates/workload/src/format/", "formats! {", "%"),
];

/// Marks of unfinished work. In pieces, as everything here that must not be in any file.
const UNFINISHED: [&str; 4] =
    [concat!("TO", "DO"), concat!("FIX", "ME"), concat!("XX", "X"), concat!("to", "do!")];

/// A key whose default has no source.
const NO_SOURCE: &str = concat!("source: ", "\"\"");

/// Words that mean something only where the project is worked on: nobody else has these paths.
const LOCAL_WORDS: [&str; 7] = [
    concat!("../sh", "ared"),
    concat!("/wo", "rk/"),
    concat!("/fa", "rm/"),
    concat!("sub", "agent"),
    concat!("helper ", "session"),
    concat!("farm-", "bench"),
    concat!("farm-", "studio"),
];

/// Checks the tree at `root`; an error if a rule is broken.
pub(crate) fn run(root: &Path) -> Result<String> {
    let files = tree(root)?;
    let findings = check(&files);
    for warning in &findings.warnings {
        crate::log(&format!("tidy: warning: {warning}"));
    }
    for error in &findings.errors {
        crate::log(&format!("tidy: {error}"));
    }
    ensure!(findings.errors.is_empty(), "tidy: {} rules are broken", findings.errors.len());
    Ok(format!("tidy: {} files keep every rule", files.len()))
}

/// The table of `cargo xtask rooms`.
pub(crate) fn rooms(root: &Path) -> Result<String> {
    Ok(crate::doors::describe(&tree(root)?))
}

/// The source files of the tree at `root`, from the root, with slashes.
pub(crate) fn sources(root: &Path) -> Result<Vec<String>> {
    Ok(tree(root)?.into_iter().filter(File::is_source).map(|file| file.path).collect())
}

/// Every file of the tree at `root` that is not ignored.
fn tree(root: &Path) -> Result<Vec<File>> {
    let ignored = fs::read_to_string(root.join(".gitignore")).unwrap_or_default();
    let place = |path: &Path| {
        path.strip_prefix(root).map(|path| path.to_string_lossy().replace(MAIN_SEPARATOR, "/"))
    };
    let kept = |entry: &walkdir::DirEntry| {
        let (name, rooted) =
            (entry.file_name(), place(entry.path()).map(|path| format!("/{path}")));
        let is_ignored = ignored.lines().any(|line| rooted.as_deref() == Ok(line));
        name != ".git" && name != "target" && !is_ignored
    };
    let mut files = Vec::new();
    for entry in WalkDir::new(root).sort_by_file_name().into_iter().filter_entry(kept) {
        let entry = entry.context("cannot list the tree")?;
        if !entry.file_type().is_dir() {
            // Licences of crates are links.
            let bytes = fs::metadata(entry.path())?.len();
            let contents =
                if bytes > MAX_FILE_BYTES { Vec::new() } else { fs::read(entry.path())? };
            let text = String::from_utf8(contents).unwrap_or_default();
            files.push(File { path: place(entry.path())?, bytes, text });
        }
    }
    Ok(files)
}

/// A file of the tree.
#[derive(Debug)]
pub(crate) struct File {
    /// From the root, with slashes.
    pub(crate) path: String,
    bytes: u64,
    /// Empty for a file that is too large, or not text.
    pub(crate) text: String,
}

impl File {
    fn is_source(&self) -> bool {
        let folders = ["crates/", "xtask/", "fuzz/", "examples/"];
        self.has_extension("rs") && folders.iter().any(|folder| self.path.starts_with(folder))
    }

    pub(crate) fn has_extension(&self, extension: &str) -> bool {
        Path::new(&self.path).extension().is_some_and(|found| found == extension)
    }
}

/// What is wrong, each with its place.
#[derive(Debug, Default)]
pub(crate) struct Findings {
    pub(crate) errors: Vec<String>,
    warnings: Vec<String>,
}

impl Findings {
    pub(crate) fn error(&mut self, path: &str, what: &str) {
        self.errors.push(format!("{path}: {what}"));
    }

    /// A number that may only go down; `place` holds it, so it is lowered there.
    pub(crate) fn hold(&mut self, place: &str, what: &str, found: usize, held: usize) -> bool {
        if found != held {
            let how = if found > held { "at most" } else { "lower the number, which is" };
            self.error(place, &format!("{found} {what}, {how} {held}"));
        }
        found > held
    }

    /// `index` counts lines from 0.
    pub(crate) fn error_at(&mut self, path: &str, index: usize, what: &str) {
        self.errors.push(format!("{path}:{}: {what}", index + 1));
    }
}

fn check(files: &[File]) -> Findings {
    let mut findings = Findings::default();
    for file in files {
        check_any(file, &mut findings);
        if file.is_source() {
            check_source(file, &mut findings);
        }
        if file.has_extension("md") {
            check_title(file, &mut findings);
            check_prose(file, &mut findings);
        }
    }
    for (folder, start, entry) in REGISTRIES {
        check_registry(files, folder, start, entry, &mut findings);
    }
    check_presets(files, &mut findings);
    check_no_std(files, &mut findings);
    check_architecture(files, &mut findings);
    check_version(files, &mut findings);
    crate::doors::check(files, &mut findings);
    crate::imports::check(files, &mut findings);
    crate::packages::check(files, &mut findings);
    findings
}

/// Rules for every file.
fn check_any(file: &File, findings: &mut Findings) {
    if file.bytes > MAX_FILE_BYTES {
        let what = format!("{} bytes, at most {MAX_FILE_BYTES} are allowed", file.bytes);
        findings.error(&file.path, &what);
    }
    let written = ["rs", "md", "toml", "cff"].iter().any(|kind| file.has_extension(kind));
    for (index, line) in file.text.split('\n').enumerate() {
        let lower = line.to_lowercase();
        for word in LOCAL_WORDS.iter().filter(|word| lower.contains(*word)) {
            findings.error_at(&file.path, index, &format!("{word} is known to nobody else"));
        }
        if (written || file.path.starts_with(".ci/")) && line.ends_with([' ', '\t', '\r']) {
            findings.error_at(&file.path, index, "white space at the end of the line");
        }
    }
}

/// Rules for source files.
fn check_source(file: &File, findings: &mut Findings) {
    let File { path, text, .. } = file;
    if !text.starts_with("//!") {
        findings.error_at(path, 0, "does not start with the module's //! doc");
    }
    let count = text.lines().count();
    if count > MAX_FILE_LINES {
        findings.error(path, &format!("{count} lines, at most {MAX_FILE_LINES} are allowed"));
    } else if count > WARN_FILE_LINES {
        findings.warnings.push(format!("{path}: {count} lines, over {WARN_FILE_LINES}"));
    }
    for (index, line) in text.lines().enumerate() {
        if !line.is_ascii() {
            findings.error_at(path, index, "is not ASCII");
        }
        // rustfmt cannot break strings, and breaks all other code.
        let breakable = line.trim_start().starts_with("//") || !line.contains('"');
        if breakable && line.chars().count() > MAX_COLUMNS {
            findings.error_at(path, index, &format!("is over {MAX_COLUMNS} columns"));
        }
        for mark in UNFINISHED.iter().filter(|mark| has_word(line, mark)) {
            findings.error_at(path, index, &format!("{mark} marks unfinished work"));
        }
        if line.contains(NO_SOURCE) {
            findings.error_at(path, index, "the source of the default is missing");
        }
    }
    // The naive oracle is one long transcript of what was published.
    if !path.contains("/tests/naive/") {
        let code = Code::new(text);
        for function in code.functions().filter(|f| f.lines > MAX_FUNCTION_LINES) {
            let Function { name, lines, .. } = function;
            let what =
                format!("fn {name}: {lines} lines, at most {MAX_FUNCTION_LINES} are allowed");
            findings.error_at(path, function.index, &what);
        }
    }
}

/// Whether `text` holds `word`, and not as a part of a longer one.
fn has_word(text: &str, word: &str) -> bool {
    let in_word = |letter: char| letter.is_ascii_alphanumeric() || letter == '_' || letter == '-';
    let (first, last) = (word.starts_with(in_word), word.ends_with(in_word));
    text.match_indices(word).any(|(start, _)| {
        let (before, after) = (&text[..start], &text[start + word.len()..]);
        let longer = first && before.ends_with(in_word) || last && after.starts_with(in_word);
        !longer
    })
}

/// The lines of a Markdown file and whether they are code.
fn markdown(text: &str) -> impl Iterator<Item = (bool, &str)> {
    let mut fenced = false;
    text.lines().map(move |line| {
        let fence = line.trim_start().starts_with("```");
        fenced ^= fence;
        (fence || fenced || line.starts_with("    "), line)
    })
}

fn check_title(file: &File, findings: &mut Findings) {
    let lines = markdown(&file.text);
    let titles = lines.filter(|(code, line)| !code && line.starts_with("# ")).count();
    if titles != 1 {
        findings.error(&file.path, &format!("{titles} titles (# ...) instead of one"));
    }
}

/// Lines of prose end where a blank lets them; tables, titles and code are not prose.
fn check_prose(file: &File, findings: &mut Findings) {
    for (index, (code, line)) in markdown(&file.text).enumerate() {
        let text = line.trim_start().trim_start_matches("- ").trim_start_matches("> ");
        let prose = !code && !text.starts_with(['|', '#']) && !text.starts_with("<!--");
        if prose && line.chars().count() > MAX_COLUMNS {
            let outside = text.split('`').step_by(2);
            if outside.map(str::trim_end).any(|words| words.contains(' ')) {
                findings.error_at(&file.path, index, &format!("is over {MAX_COLUMNS} columns"));
            }
        }
    }
}

/// Every file of a folder of parts is in the list that its `mod.rs` gives to a macro, or is a
/// module that parts share.
fn check_registry(files: &[File], folder: &str, start: &str, entry: &str, findings: &mut Findings) {
    let registry = format!("{folder}mod.rs");
    let Some(text) = find(files, &registry) else {
        return findings.error(&registry, "is missing");
    };
    let list =
        text.lines().skip_while(|line| *line != start).skip(1).take_while(|line| *line != "}");
    let list: Vec<&str> = list.filter(|line| !line.trim_start().starts_with("//")).collect();
    if list.is_empty() {
        return findings.error(&registry, &format!("has no `{start}` with entries"));
    }
    for file in files {
        let name = file.path.strip_prefix(folder).and_then(|name| name.strip_suffix(".rs"));
        let name = name.map(|name| name.trim_end_matches("/mod"));
        let part = |name: &&str| !name.contains('/') && !["mod", "tests"].contains(name);
        let Some(name) = name.filter(part) else { continue };
        let shared = [format!("mod {name};"), format!("pub mod {name};")];
        let is_shared = text.lines().any(|line| shared.iter().any(|shared| line.trim() == shared));
        if !is_shared && !list.iter().any(|line| has_word(line, &entry.replace('%', name))) {
            findings.error(&file.path, &format!("is not registered in {registry}"));
        }
    }
}

/// Every device file is a preset.
fn check_presets(files: &[File], findings: &mut Findings) {
    let Some(table) = find(files, PRESETS) else {
        return findings.error(PRESETS, &format!("is missing; it names the files of {DEVICES}"));
    };
    for file in files.iter().filter(|file| file.has_extension("toml")) {
        let Some(name) = file.path.strip_prefix(DEVICES) else { continue };
        if !has_word(table, &format!("../devices/{name}")) {
            findings.error(&file.path, &format!("is not named in {PRESETS}"));
        }
    }
}

/// `flashyard-core` can use neither `std` nor `alloc` nor another crate.
fn check_no_std(files: &[File], findings: &mut Findings) {
    let (root, manifest) = ("crates/core/src/lib.rs", "crates/core/Cargo.toml");
    if !find(files, root).is_some_and(|text| text.lines().any(|line| line == "#![no_std]")) {
        findings.error(root, "#![no_std] is missing");
    }
    let depends = |line: &str| line.starts_with("[dependencies") || line.starts_with("[target");
    if find(files, manifest).is_some_and(|text| text.lines().any(depends)) {
        findings.error(manifest, "flashyard-core has no dependencies");
    }
    for file in files.iter().filter(|file| file.path.starts_with("crates/core/src/")) {
        let mut previous = "";
        for (index, line) in file.text.lines().map(str::trim).enumerate() {
            if line.contains("extern crate") && previous != "#[cfg(test)]" {
                findings.error_at(&file.path, index, "only tests may use another crate");
            }
            previous = line;
        }
    }
}

/// The architecture page is short and names every crate and module.
fn check_architecture(files: &[File], findings: &mut Findings) {
    let Some(text) = find(files, ARCHITECTURE) else {
        return findings.error(ARCHITECTURE, "is missing");
    };
    let count = text.lines().count();
    if count > MAX_ARCHITECTURE_LINES {
        let what = format!("{count} lines, at most {MAX_ARCHITECTURE_LINES} are allowed");
        findings.error(ARCHITECTURE, &what);
    }
    // Names count where they are written as code: modules are called `input` or `error`, too.
    let mut code = String::new();
    for (is_code, line) in markdown(text) {
        let step = if is_code { 1 } else { 2 };
        let spans = line.split('`').skip(step - 1).step_by(step);
        spans.for_each(|span| code.extend([span, "\n"]));
    }
    for (package, module) in modules(files) {
        if module.is_empty() {
            let manifest = find(files, &format!("{package}/Cargo.toml")).unwrap_or_default();
            let name = manifest.lines().find_map(|line| quoted(line, "name = "));
            if !has_word(&code, &package) && !name.is_some_and(|name| has_word(&code, name)) {
                findings.error(ARCHITECTURE, &format!("does not name {package} as code"));
            }
        } else if !has_word(&code, &module) {
            findings.error(ARCHITECTURE, &format!("does not name `{module}` of {package} as code"));
        }
    }
}

/// Every crate, with an empty module name, and every module directly under its `src`.
fn modules(files: &[File]) -> BTreeSet<(String, String)> {
    let mut all = BTreeSet::new();
    for file in files.iter().filter(|file| file.is_source()) {
        let mut names = file.path.split('/');
        let (Some("crates"), Some(package)) = (names.next(), names.next()) else { continue };
        let package = format!("crates/{package}");
        all.insert((package.clone(), String::new()));
        if let (Some("src"), Some(module)) = (names.next(), names.next()) {
            let module = module.trim_end_matches(".rs");
            if !["lib", "main", "tests"].contains(&module) {
                all.insert((package, module.to_owned()));
            }
        }
    }
    all
}

/// The version to cite is the version of the workspace.
fn check_version(files: &[File], findings: &mut Findings) {
    let line = |path, start| find(files, path)?.lines().find_map(|line| quoted(line, start));
    let (version, cited) = (line("Cargo.toml", "version = "), line("CITATION.cff", "version: "));
    if version != cited {
        let what = format!("version {cited:?}, but Cargo.toml says {version:?}");
        findings.error("CITATION.cff", &what);
    }
}

/// The string behind `start`.
fn quoted<'a>(line: &'a str, start: &str) -> Option<&'a str> {
    line.strip_prefix(start)?.strip_prefix('"')?.strip_suffix('"')
}

pub(crate) fn find<'a>(files: &'a [File], path: &str) -> Option<&'a str> {
    files.iter().find(|file| file.path == path).map(|file| file.text.as_str())
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    pub(crate) fn file(path: &str, text: &str) -> File {
        File { path: path.to_owned(), bytes: text.len() as u64, text: text.to_owned() }
    }

    /// What `rule` finds in a tree.
    #[track_caller]
    fn check(files: &[(&str, &str)], rule: impl Fn(&[File], &mut Findings), expected: &[&str]) {
        let files: Vec<File> = files.iter().map(|(path, text)| file(path, text)).collect();
        let mut findings = Findings::default();
        rule(&files, &mut findings);
        assert_eq!(findings.errors, expected);
    }

    #[track_caller]
    fn check_lines(body: &str, expected: &[&str]) {
        let text = format!("//! Doc.\n{body}\n");
        let rule = |files: &[File], findings: &mut Findings| {
            check_any(&files[0], findings);
            check_source(&files[0], findings);
        };
        check(&[("xtask/src/a.rs", &text)], rule, expected);
    }

    #[test]
    fn lines_are_short_ascii_and_finished() {
        let (long, word) = ("x".repeat(100), concat!("FIX", "ME"));
        check_lines(&long, &[]);
        check_lines(&format!("{long};"), &["xtask/src/a.rs:2: is over 100 columns"]);
        check_lines(&format!("// \"{long}\""), &["xtask/src/a.rs:2: is over 100 columns"]);
        check_lines(&format!("\"{long}\""), &[]);
        check_lines("// \u{b5}s", &["xtask/src/a.rs:2: is not ASCII"]);
        check_lines("// x ", &["xtask/src/a.rs:2: white space at the end of the line"]);
        let unfinished = format!("xtask/src/a.rs:2: {word} marks unfinished work");
        check_lines(&format!("// {word}: more"), &[&unfinished]);
        check_lines(&format!("fn {word}S() {{}}"), &[]);
        let source = "xtask/src/a.rs:2: the source of the default is missing";
        check_lines(NO_SOURCE, &[source]);
    }

    #[test]
    fn paths_of_one_machine_are_refused_in_every_file() {
        for word in LOCAL_WORDS {
            let what = format!("a.json:2: {word} is known to nobody else");
            let text = format!("\n\"{}x\"", word.to_uppercase());
            check(&[("a.json", &text)], |files, found| check_any(&files[0], found), &[&what]);
        }
    }

    #[test]
    fn files_start_with_a_doc_and_end_in_time() {
        let rule = |files: &[File], findings: &mut Findings| check_source(&files[0], findings);
        let what = "xtask/src/a.rs:1: does not start with the module's //! doc";
        check(&[("xtask/src/a.rs", "use x;\n")], rule, &[what]);
        let long = format!("//! Doc.\n{}", "x\n".repeat(800));
        let what = "xtask/src/a.rs: 801 lines, at most 800 are allowed";
        check(&[("xtask/src/a.rs", &long)], rule, &[what]);
        let mut findings = Findings::default();
        check_source(&file("xtask/src/a.rs", &long[..1100]), &mut findings);
        assert_eq!(findings.warnings, ["xtask/src/a.rs: 547 lines, over 500"]);
    }

    #[test]
    fn large_files_are_refused() {
        let large = File { bytes: 300_001, ..file("a.csv", "") };
        let mut findings = Findings::default();
        check_any(&large, &mut findings);
        assert_eq!(findings.errors, ["a.csv: 300001 bytes, at most 300000 are allowed"]);
    }

    #[test]
    fn long_functions_are_refused_but_in_the_oracle() {
        let long = |count| format!("//! D.\nfn f() {{\n{}}}\n", "    x;\n".repeat(count));
        let rule = |files: &[File], findings: &mut Findings| check_source(&files[0], findings);
        check(&[("crates/a/src/b.rs", &long(68))], rule, &[]);
        let what = "crates/a/src/b.rs:2: fn f: 71 lines, at most 70 are allowed";
        check(&[("crates/a/src/b.rs", &long(69))], rule, &[what]);
        check(&[("crates/a/tests/naive/mod.rs", &long(69))], rule, &[]);
    }

    #[test]
    fn markdown_has_one_title() {
        let rule = |files: &[File], findings: &mut Findings| check_title(&files[0], findings);
        check(&[("a.md", "# A\n## B\n```sh\n# no title\n```\n")], rule, &[]);
        check(&[("a.md", "## A\n")], rule, &["a.md: 0 titles (# ...) instead of one"]);
        check(&[("a.md", "# A\n# B\n")], rule, &["a.md: 2 titles (# ...) instead of one"]);
    }

    #[test]
    fn lines_of_prose_are_short_where_they_can_be_broken() {
        let rule = |files: &[File], findings: &mut Findings| check_prose(&files[0], findings);
        let long = "word ".repeat(20) + "word";
        let table = format!("| {long} |\n# {long}\n    {long}\n- `{long}`.\n<!-- {long} -->\n");
        check(&[("a.md", &table)], rule, &[]);
        let what = ["a.md:1: is over 100 columns", "a.md:2: is over 100 columns"];
        check(&[("a.md", &format!("{long}\n- [{long}](a)\n"))], rule, &what);
    }

    #[test]
    fn unregistered_parts_are_found() {
        let list = "mod list;\nmacro_rules! registry {\n}\nregistry! {\n    /// As (sjf::\n    Fifo(fifo::F),\n}\n";
        let tree = [
            ("p/mod.rs", list),
            ("p/fifo.rs", ""),
            ("p/sjf/mod.rs", ""),
            ("p/tests.rs", ""),
            ("p/list.rs", ""),
        ];
        let rule = |files: &[File], found: &mut Findings| {
            check_registry(files, "p/", "registry! {", "(%::", found);
        };
        check(&tree, rule, &["p/sjf/mod.rs: is not registered in p/mod.rs"]);
        check(&tree[1..], rule, &["p/mod.rs: is missing"]);
        check(&[("p/mod.rs", "")], rule, &["p/mod.rs: has no `registry! {` with entries"]);
        let tree = [("f/mod.rs", "formats! {\n    msr_old,\n    spc,\n}\n"), ("f/msr.rs", "")];
        let rule = |files: &[File], found: &mut Findings| {
            check_registry(files, "f/", "formats! {", "%", found);
        };
        check(&tree, rule, &["f/msr.rs: is not registered in f/mod.rs"]);
    }

    #[test]
    fn device_files_are_presets() {
        let table = (PRESETS, "include_str!(\"../devices/a.toml\")");
        let (one, other) = ("crates/run/devices/a.toml", "crates/run/devices/b.toml");
        let what = "crates/run/devices/b.toml: is not named in crates/run/src/presets.rs";
        check(&[table, (one, ""), (other, "")], check_presets, &[what]);
        let what = "crates/run/src/presets.rs: is missing; it names the files of \
                    crates/run/devices/";
        check(&[], check_presets, &[what]);
    }

    #[test]
    fn core_stays_without_std() {
        let (root, manifest) = ("crates/core/src/lib.rs", "crates/core/Cargo.toml");
        let good = "#![no_std]\n\n#[cfg(test)]\nextern crate std;\n";
        check(&[(root, good), (manifest, "[package]\n")], check_no_std, &[]);
        check(
            &[(root, "extern crate alloc;\n"), (manifest, "[dependencies.x]\n")],
            check_no_std,
            &[
                "crates/core/src/lib.rs: #![no_std] is missing",
                "crates/core/Cargo.toml: flashyard-core has no dependencies",
                "crates/core/src/lib.rs:1: only tests may use another crate",
            ],
        );
    }

    #[test]
    fn the_architecture_page_names_crates_and_modules_as_code() {
        let page = "# A\nThe heap is in `flash-core`.\n\n    ftl/  page_map\n\n```\nsim gc\n```\n";
        let tree = [
            (ARCHITECTURE, page),
            ("crates/core/Cargo.toml", "name = \"flash-core\"\n"),
            ("crates/core/src/lib.rs", ""),
            ("crates/core/src/heap.rs", ""),
            ("crates/sim/src/ftl/gc.rs", ""),
            ("crates/sim/tests/all.rs", ""),
        ];
        let heap = "docs/ARCHITECTURE.md: does not name `heap` of crates/core as code";
        let sim = "docs/ARCHITECTURE.md: does not name crates/sim as code";
        check(&tree, check_architecture, &[heap, sim]);
        check(&[], check_architecture, &["docs/ARCHITECTURE.md: is missing"]);
        let long = ("# A\n").repeat(344);
        let what = "docs/ARCHITECTURE.md: 344 lines, at most 343 are allowed";
        check(&[(ARCHITECTURE, &long)], check_architecture, &[what]);
    }

    #[test]
    fn the_version_to_cite_is_current() {
        let cargo = ("Cargo.toml", "version = \"0.2.0\"\n");
        check(&[cargo, ("CITATION.cff", "version: \"0.2.0\"\n")], check_version, &[]);
        let what = "CITATION.cff: version Some(\"0.1.0\"), but Cargo.toml says Some(\"0.2.0\")";
        check(&[cargo, ("CITATION.cff", "version: \"0.1.0\"\n")], check_version, &[what]);
    }
}
