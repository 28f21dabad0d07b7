//! The direction of imports: rooms of `crates/sim` import what lies below them, and the modules of
//! `crates/core` and `crates/cli` import one another in no circle.
//!
//! An import is a path that begins with `crate`, `$crate` or `super`, in a `use` or anywhere else
//! in the code. Tests may import what they like, and are left out. What a path names is the longest
//! start of it that is a module; items of the root of a crate belong to no module, except those
//! that the root publishes from one (`pub use account::metrics`).

use crate::tidy::{File, Findings};
use std::collections::{BTreeMap, BTreeSet};

/// A room: its name and its modules, which may import one another.
type Room = (&'static str, &'static [&'static str]);

/// The rooms of `crates/sim` from bottom to top: those of one row do not import one another.
const ROOMS: &[&[Room]] = &[
    &[(
        "plain data",
        &["account::metrics", "account::observe", "handle", "random", "saved", "sleep", "stream"],
    )],
    &[(
        "parts",
        &["ftl::blocks", "ftl::layer", "ftl::log", "ftl::memory", "ftl::victim", "policy"],
    )],
    &[("config", &["config", "own"])],
    &[("sets", &["sets"])],
    &[
        ("account", &["account"]),
        ("buffer", &["buffer"]),
        ("flash", &["flash"]),
        ("ftl", &["ftl"]),
        ("host", &["host"]),
        ("queues", &["queues"]),
    ],
    &[("initial", &["initial"])],
    &[("settings", &["settings"])],
    &[("device", &["device"])],
    &[("disk", &["disk"])],
    &[("drive", &["drive"])],
    &[("session", &["session"])],
];

/// Crates whose top modules form no circle.
const WITHOUT_CIRCLES: [&str; 4] = ["crates/core", "crates/workload", "crates/run", "crates/cli"];

/// An import of a module by a file of the same crate.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Import<'a> {
    path: &'a str,
    /// Counted from 0.
    index: usize,
    /// The module of the file, and the module that it imports.
    from: String,
    to: String,
}

/// Checks every crate that has an order.
pub(crate) fn check(files: &[File], findings: &mut Findings) {
    check_rooms(files, findings);
    for package in WITHOUT_CIRCLES {
        check_circles(files, package, findings);
    }
}

/// An import between rooms goes down, or stays in its room.
fn check_rooms(files: &[File], findings: &mut Findings) {
    for Import { path, index, from, to } in imports(files, "crates/sim") {
        let (Some(above), Some(below)) = (room(&from), room(&to)) else { continue };
        if above.1 != below.1 && below.0 >= above.0 {
            let how = if below.0 > above.0 { "above" } else { "beside" };
            let what = format!("{} imports {to}, which is {how} it", above.1);
            findings.error_at(path, index, &what);
        }
    }
}

/// The top modules of a crate import one another in no circle.
fn check_circles(files: &[File], package: &str, findings: &mut Findings) {
    let all = imports(files, package);
    let top = |module: &str| module.split("::").next().unwrap_or_default().to_owned();
    let mut edges: BTreeMap<(String, String), &Import<'_>> = BTreeMap::new();
    for import in all.iter().filter(|import| !import.from.is_empty()) {
        let edge = (top(&import.from), top(&import.to));
        if edge.0 != edge.1 {
            edges.entry(edge).or_insert(import);
        }
    }
    let reaches = |from: &str, to: &str| {
        let (mut seen, mut open) = (BTreeSet::new(), vec![from]);
        while let Some(module) = open.pop() {
            if module == to {
                return true;
            }
            if seen.insert(module) {
                open.extend(edges.keys().filter(|(start, _)| start == module).map(|e| &*e.1));
            }
        }
        false
    };
    for ((from, to), Import { path, index, .. }) in &edges {
        if reaches(to, from) {
            let what = format!("{from} imports {to}, which imports {from}, or a module that does");
            findings.error_at(path, *index, &what);
        }
    }
}

/// The row and the name of the room that a module belongs to.
fn room(module: &str) -> Option<(usize, &'static str)> {
    let rooms =
        ROOMS.iter().enumerate().flat_map(|(row, rooms)| rooms.iter().map(move |r| (row, r)));
    let all = rooms.flat_map(|(row, (name, of))| of.iter().map(move |outer| (row, *name, *outer)));
    let found = all.filter(|(.., outer)| is_within(module, outer));
    found.max_by_key(|(.., outer)| outer.len()).map(|(row, name, _)| (row, name))
}

fn is_within(module: &str, outer: &str) -> bool {
    module.strip_prefix(outer).is_some_and(|rest| rest.is_empty() || rest.starts_with("::"))
}

/// Every import of one crate.
fn imports<'a>(files: &'a [File], package: &str) -> BTreeSet<Import<'a>> {
    let root = format!("{package}/src/");
    let sources: Vec<(&File, String)> = files
        .iter()
        .filter_map(|file| Some((file, module_of(file.path.strip_prefix(&root)?)?)))
        .collect();
    let modules: BTreeSet<&str> = sources.iter().map(|(_, module)| module.as_str()).collect();
    let mut published = BTreeMap::new();
    for (file, _) in sources.iter().filter(|(_, module)| module.is_empty()) {
        for (_, path) in paths(&file.text, "pub use ") {
            if let Some((_, name)) = path.rsplit_once("::") {
                published.insert(name.to_owned(), path.clone());
            }
        }
    }
    let mut found = BTreeSet::new();
    for (file, from) in &sources {
        let mut all = paths(&file.text, "crate::");
        let parents = paths(&file.text, "super::").into_iter();
        all.extend(parents.map(|(index, path)| (index, from_parent(from, &path))));
        for (index, path) in all {
            let (first, rest) = path.split_once("::").unwrap_or((&path, ""));
            let full = published.get(first).map(|start| format!("{start}::{rest}")).unwrap_or(path);
            let to = longest_module(&full, &modules).to_owned();
            if !to.is_empty() {
                found.insert(Import { path: &file.path, index, from: from.clone(), to });
            }
        }
    }
    found
}

/// The module that a file below `src` holds, the root as an empty name; none for tests.
fn module_of(path: &str) -> Option<String> {
    let name = path.strip_suffix(".rs")?;
    let name = name.strip_suffix("/mod").unwrap_or(name);
    let last = name.rsplit('/').next().unwrap_or(name);
    if last == "tests" || last.ends_with("_tests") || name.contains("tests/") {
        return None;
    }
    Some(if name == "lib" || name == "main" { String::new() } else { name.replace('/', "::") })
}

/// The path from the root of what `super::` begins in the module `from`.
fn from_parent(from: &str, path: &str) -> String {
    let mut base: Vec<&str> = from.split("::").collect();
    base.pop();
    let mut path = path;
    while let Some(rest) = path.strip_prefix("super::") {
        base.pop();
        path = rest;
    }
    base.push(path);
    base.join("::")
}

fn longest_module<'a>(path: &'a str, modules: &BTreeSet<&str>) -> &'a str {
    let mut start = path;
    while !modules.contains(start) {
        start = start.rsplit_once("::").map_or("", |(start, _)| start);
    }
    start
}

/// What follows `start` wherever a file has it outside of comments, strings and tests, with the
/// index of the line; a group in braces as its parts.
fn paths(text: &str, start: &str) -> Vec<(usize, String)> {
    let code = code(text);
    let mut found = Vec::new();
    for (at, _) in code.match_indices(start) {
        let before = &code[..at];
        // `super::super::x` begins once.
        let is_word = before.ends_with(|l: char| l.is_alphanumeric() || "_:".contains(l));
        if !is_word {
            let mut rest = &code[at + start.len()..];
            let index = before.matches('\n').count();
            read_tree(&mut rest, String::new(), index, &mut found);
        }
    }
    found
}

/// Reads a path or a group of paths, as `use` has them, from the start of `rest`.
fn read_tree(rest: &mut &str, prefix: String, index: usize, found: &mut Vec<(usize, String)>) {
    let mut path = prefix;
    let mut index = index;
    loop {
        let blank = &rest[..rest.len() - rest.trim_start().len()];
        index += blank.matches('\n').count();
        *rest = rest.trim_start();
        if let Some(group) = rest.strip_prefix('{') {
            *rest = group;
            loop {
                let before = rest.len();
                let lines = rest[..before - rest.trim_start().len()].matches('\n').count();
                index += lines;
                *rest = rest.trim_start();
                if let Some(after) = rest.strip_prefix('}') {
                    *rest = after;
                    return;
                }
                if rest.is_empty() {
                    return;
                }
                read_tree(rest, path.clone(), index, found);
                let end = rest.find([',', '}']).unwrap_or(rest.len());
                *rest = rest[end..].strip_prefix(',').unwrap_or(&rest[end..]);
            }
        }
        let end = rest.find(|l: char| !l.is_alphanumeric() && l != '_').unwrap_or(rest.len());
        path.push_str(&rest[..end]);
        *rest = &rest[end..];
        match rest.strip_prefix("::") {
            Some(after) => *rest = after,
            None => break,
        }
        path.push_str("::");
    }
    found.push((index, path));
}

/// The code of a file that rustfmt has formatted, line by line: without comments, text in quotes
/// and items that only tests have.
fn code(text: &str) -> String {
    let mut code = String::new();
    let mut skipped: Option<String> = None;
    let mut tests = false;
    for line in text.lines() {
        let depth = &line[..line.len() - line.trim_start().len()];
        if let Some(end) = &skipped {
            if line == end {
                skipped = None;
            }
        } else if line.trim_start() == "#[cfg(test)]" {
            tests = true;
        } else if tests {
            if line.ends_with('{') {
                skipped = Some(format!("{depth}}}"));
            }
            tests = line.trim_start().starts_with("#[") || !line.ends_with(['{', '}', ';', ',']);
        } else {
            let mut quoted = line.split("//").next().unwrap_or_default().split('"');
            code.extend(quoted.by_ref().step_by(2));
        }
        code.push('\n');
    }
    code
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::tests::file;

    #[track_caller]
    fn check(tree: &[(&str, &str)], rule: impl Fn(&[File], &mut Findings), expected: &[&str]) {
        let files: Vec<File> = tree.iter().map(|(path, text)| file(path, text)).collect();
        let mut findings = Findings::default();
        rule(&files, &mut findings);
        assert_eq!(findings.errors, expected);
    }

    const ROOMS_OF_A_TREE: [(&str, &str); 5] = [
        ("crates/sim/src/lib.rs", "mod ftl;\npub use account::{check, metrics};\n"),
        ("crates/sim/src/account/check.rs", ""),
        ("crates/sim/src/account/metrics/mod.rs", ""),
        ("crates/sim/src/sets/mod.rs", ""),
        ("crates/sim/src/device/mod.rs", "use crate::ftl::cmt;\nuse super::sets;\n"),
    ];

    #[test]
    fn imports_go_down() {
        let text = "use crate::{\n    metrics,\n    sets::{self, Set},\n    account::{\n        \
                    metrics as m,\n        check,\n    },\n};\n// use crate::device;\n\
                    const X: &str = \"crate::device\";\nlet x = super::super::device::f();\n\
                    #[cfg(test)]\nmod tests {\n    use crate::device;\n}\nuse crate::check::C;\n";
        let mut tree = ROOMS_OF_A_TREE.to_vec();
        tree.push(("crates/sim/src/ftl/cmt.rs", text));
        tree.push(("crates/sim/src/ftl/tests.rs", "use crate::device;\n"));
        let found = [
            "crates/sim/src/ftl/cmt.rs:6: ftl imports account::check, which is beside it",
            "crates/sim/src/ftl/cmt.rs:11: ftl imports device, which is above it",
            "crates/sim/src/ftl/cmt.rs:16: ftl imports account::check, which is beside it",
        ];
        check(&tree, check_rooms, &found);
    }

    #[test]
    fn every_module_of_the_simulator_has_a_room() {
        let root = crate::root().join("crates/sim/src");
        for entry in std::fs::read_dir(root).unwrap() {
            let name = entry.unwrap().file_name().to_string_lossy().into_owned();
            let name = name.trim_end_matches(".rs");
            assert!(name == "lib" || room(name).is_some(), "{name}");
        }
    }

    #[test]
    fn circles_of_modules_are_found() {
        let tree = [
            ("crates/cli/src/main.rs", "use crate::a;\n"),
            ("crates/cli/src/a.rs", "use crate::b::B;\nuse crate::e;\n"),
            ("crates/cli/src/b/mod.rs", "mod c;\nuse self::c::C;\n"),
            ("crates/cli/src/b/c.rs", "\nuse super::super::d;\nuse super::B;\n"),
            ("crates/cli/src/d.rs", "fn f() {\n    crate::a::f();\n}\n"),
            ("crates/cli/src/e.rs", ""),
        ];
        let circle = [
            "crates/cli/src/a.rs:1: a imports b, which imports a, or a module that does",
            "crates/cli/src/b/c.rs:2: b imports d, which imports b, or a module that does",
            "crates/cli/src/d.rs:2: d imports a, which imports d, or a module that does",
        ];
        check(&tree, |files, found| check_circles(files, "crates/cli", found), &circle);
    }
}
