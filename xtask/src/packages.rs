//! Rules for crates that are published. A manifest has the fields that registries ask for, and
//! versions of the crates that it depends on. The package has the texts of its licences. No source
//! includes a file from outside of the package.

use crate::tidy::{File, Findings, find};

const ROOT: &str = "Cargo.toml";

/// What a registry asks for or shows.
const FIELDS: [&str; 9] = [
    "description",
    "version",
    "edition",
    "rust-version",
    "license",
    "authors",
    "keywords",
    "categories",
    "readme",
];

/// Texts that go with every copy.
const LICENCES: [&str; 2] = ["LICENSE-APACHE", "LICENSE-MIT"];

/// How many keywords or categories crates.io takes, and of how many letters.
const MOST_WORDS: usize = 5;
const MOST_LETTERS: usize = 20;

/// Code that reads other files when it is compiled.
const INCLUDES: [&str; 4] = ["include_str!(", "include_bytes!(", "include!(", "#[path = "];

/// Checks every crate of `crates/` that is published, and what they have from the workspace.
pub(crate) fn check(files: &[File], findings: &mut Findings) {
    check_workspace(files, findings);
    for manifest in files {
        let name = manifest.path.strip_prefix("crates/");
        let Some(name) = name.and_then(|path| path.strip_suffix("/Cargo.toml")) else { continue };
        if name.contains('/') || manifest.text.lines().any(|line| line == "publish = false") {
            continue;
        }
        check_manifest(manifest, findings);
        let package = format!("crates/{name}/");
        check_licences(files, &package, findings);
        for file in files.iter().filter(|file| file.path.starts_with(&package)) {
            check_includes(file, &package, findings);
        }
    }
}

/// The words of the workspace, and the versions of its crates, which are its own.
fn check_workspace(files: &[File], findings: &mut Findings) {
    let Some(root) = find(files, ROOT) else { return };
    let value = |name: &str| root.lines().find_map(|line| value(line, name));
    let version = value("version").unwrap_or_default();
    for name in ["keywords", "categories"] {
        let words: Vec<&str> = value(name).into_iter().flat_map(literals).collect();
        if words.len() > MOST_WORDS || words.iter().any(|word| word.len() > MOST_LETTERS) {
            let what = format!("at most {MOST_WORDS} {name} of {MOST_LETTERS} letters each");
            findings.error(ROOT, &what);
        }
    }
    for (index, line) in root.lines().enumerate() {
        if line.contains("path = ") && !line.contains(&format!("version = {version}")) {
            findings.error_at(ROOT, index, &format!("a crate without version = {version}"));
        }
    }
}

/// The fields of a manifest, and its dependencies.
fn check_manifest(manifest: &File, findings: &mut Findings) {
    let File { path, text, .. } = manifest;
    for field in FIELDS {
        let inherited = format!("{field}.workspace = true");
        if !text.lines().any(|line| line == inherited || value(line, field).is_some()) {
            findings.error(path, &format!("has no {field}, or publish = false"));
        }
    }
    let mut section = "";
    for (index, line) in text.lines().enumerate() {
        section = if line.starts_with('[') { line } else { section };
        let depends = section.contains("dependencies");
        if depends && line.contains("path = ") && !line.contains("version = ") {
            findings.error_at(path, index, "a dependency without a version cannot be published");
        }
    }
}

/// A licence asks for its text in every copy, and a package is one.
fn check_licences(files: &[File], package: &str, findings: &mut Findings) {
    for licence in LICENCES {
        let path = format!("{package}{licence}");
        if find(files, &path).is_none_or(|own| find(files, licence) != Some(own)) {
            findings.error(&path, &format!("is not the text of {licence}"));
        }
    }
}

/// What is compiled for users includes files of the package only. Tests may read others.
fn check_includes(file: &File, package: &str, findings: &mut Findings) {
    let inside = &file.path[package.len()..];
    let built = inside.starts_with("src/") || inside == "build.rs";
    let tests = inside.ends_with("/tests.rs") || inside.contains("/tests/");
    if !built || tests || !file.has_extension("rs") {
        return;
    }
    let folders = inside.matches('/').count();
    for (start, include) in INCLUDES.iter().flat_map(|include| file.text.match_indices(include)) {
        let before = &file.text[..start];
        let line = before.matches('\n').count();
        let attribute = before.trim_end_matches(|letter| letter != '\n').trim_end();
        if before.contains("#[cfg(test)]") || attribute.ends_with("#[cfg(doctest)]") {
            continue;
        }
        let rest = &file.text[start + include.len()..];
        let rest = rest.split_once(")]").map_or(rest, |(path, _)| path);
        let path = rest.split(';').next().unwrap_or_default().split("))").next();
        let names: String = literals(path.unwrap_or_default()).collect::<Vec<_>>().concat();
        let (depth, names) = match names.strip_prefix("CARGO_MANIFEST_DIR") {
            Some(names) => (0, names),
            None => (folders, names.as_str()),
        };
        if leaves(depth, names) {
            let what = format!("includes {names}, which the package of {package} does not have");
            findings.error_at(&file.path, line, &what);
        }
    }
}

/// Whether a path leads out of the folder that its start is `depth` folders below.
fn leaves(depth: usize, path: &str) -> bool {
    let mut below = Some(depth);
    for name in path.split('/').filter(|name| !name.is_empty() && *name != ".") {
        let step = |depth: usize| if name == ".." { depth.checked_sub(1) } else { Some(depth + 1) };
        below = below.and_then(step);
    }
    below.is_none()
}

/// The texts in quotes.
fn literals(text: &str) -> impl Iterator<Item = &str> {
    text.split('"').skip(1).step_by(2)
}

/// What a line of a manifest gives a field.
fn value<'a>(line: &'a str, name: &str) -> Option<&'a str> {
    line.strip_prefix(name)?.strip_prefix(" = ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::tests::file;

    const MANIFEST: &str = "[package]\ndescription = \"A\"\nversion.workspace = true\n\
        edition.workspace = true\nrust-version.workspace = true\nlicense.workspace = true\n\
        authors.workspace = true\nkeywords.workspace = true\ncategories.workspace = true\n\
        readme = \"../../README.md\"\n";

    /// What is found in a tree of one crate with this source.
    #[track_caller]
    fn check_tree(manifest: &str, path: &str, source: &str, expected: &[&str]) {
        let licences = ["", "crates/a/"].into_iter().flat_map(|folder| {
            LICENCES.map(|licence| file(&format!("{folder}{licence}"), licence))
        });
        let files: Vec<File> =
            licences.chain([file("crates/a/Cargo.toml", manifest), file(path, source)]).collect();
        let mut findings = Findings::default();
        check(&files, &mut findings);
        assert_eq!(findings.errors, expected);
    }

    #[test]
    fn crates_that_are_published_have_what_registries_ask_for() {
        check_tree(MANIFEST, "crates/a/src/lib.rs", "", &[]);
        let without = MANIFEST.replace("license.workspace = true\n", "");
        let what = "crates/a/Cargo.toml: has no license, or publish = false";
        check_tree(&without, "crates/a/src/lib.rs", "", &[what]);
        let kept = without + "publish = false\n";
        check_tree(&kept, "crates/a/src/lib.rs", "include_str!(\"../../b\");", &[]);
        let depends = format!("{MANIFEST}[dependencies]\nb = {{ path = \"../b\" }}\n");
        let what = "crates/a/Cargo.toml:12: a dependency without a version cannot be published";
        check_tree(&depends, "crates/a/src/lib.rs", "", &[what]);
        let what = "crates/a/LICENSE-MIT: is not the text of LICENSE-MIT";
        let mut findings = Findings::default();
        let files = [file("LICENSE-APACHE", "x"), file("crates/a/LICENSE-APACHE", "x")];
        check_licences(&files, "crates/a/", &mut findings);
        assert_eq!(findings.errors, [what]);
    }

    #[test]
    fn versions_of_the_crates_are_that_of_the_workspace() {
        let found = |text: &str| {
            let mut findings = Findings::default();
            check_workspace(&[file(ROOT, text)], &mut findings);
            findings.errors
        };
        let good = "version = \"0.2.0\"\nkeywords = [\"a\", \"b\"]\n\
                    a = { path = \"crates/a\", version = \"0.2.0\" }\n";
        assert_eq!(found(good), [""; 0]);
        let what = "Cargo.toml:3: a crate without version = \"0.3.0\"";
        assert_eq!(found(&good.replacen("0.2.0", "0.3.0", 1)), [what]);
        let what = "Cargo.toml: at most 5 keywords of 20 letters each";
        assert_eq!(found(&good.replace("\"b\"", "\"b\", \"c\", \"d\", \"e\", \"f\"")), [what]);
        assert_eq!(found(&good.replace("\"b\"", "\"abcdefghijklmnopqrstu\"")), [what]);
    }

    #[test]
    fn what_users_compile_lies_in_the_package() {
        let (top, below) = ("crates/a/src/b.rs", "crates/a/src/b/c.rs");
        check_tree(MANIFEST, top, "const X: &str = include_str!(\"../b.toml\");", &[]);
        check_tree(MANIFEST, below, "const X: &str = include_str!(\"../../b.toml\");", &[]);
        let what = "crates/a/src/b.rs:2: includes ../../b.toml, which the package of crates/a/ \
                    does not have";
        check_tree(MANIFEST, top, "\nconst X: &str = include_str!(\"../../b.toml\");", &[what]);
        let source = "\nconst X: &[u8] = include_bytes!(\n    \"../../b.toml\"\n);";
        check_tree(MANIFEST, top, source, &[what]);
        let source = "\ninclude_str!(concat!(env!(\"CARGO_MANIFEST_DIR\"), \"/../b.toml\"));";
        let other = "crates/a/src/b.rs:2: includes /../b.toml, which the package of crates/a/ \
                     does not have";
        check_tree(MANIFEST, top, source, &[other]);
        let source = "#[cfg(doctest)]\n#[doc = include_str!(\"../../../b.md\")]\nstruct X;";
        check_tree(MANIFEST, top, source, &[]);
        let source = "#[doc = include_str!(\"../../../b.md\")]\nstruct X;";
        let other = "crates/a/src/b.rs:1: includes ../../../b.md, which the package of crates/a/ \
                     does not have";
        check_tree(MANIFEST, top, source, &[other]);
        let source = "#[cfg(test)]\nmod tests {\n    include_str!(\"../../../b.md\");\n}";
        check_tree(MANIFEST, top, source, &[]);
        check_tree(MANIFEST, "crates/a/src/b/tests.rs", "include_str!(\"../../../b.md\");", &[]);
        check_tree(MANIFEST, "crates/a/tests/b.rs", "include_str!(\"../../b.md\");", &[]);
    }
}
