//! The direction of imports: rooms of `crates/sim` import what lies below them, and the files of
//! other crates import one another in no circle.
//!
//! An import is a path of several names, in a `use` or anywhere else in the code, that leads to an
//! item of another file of the crate. It is an import of the file that defines the item: a `use` of
//! the module that is named, public or not, is followed to its end. So files that take an item of
//! their neighbour through the module above both do not import that module. `mod x;` imports
//! nothing, nor does naming a module. Tests may import what they like, and are left out. What no
//! path names is not seen, such as the methods of one struct in several files.

use crate::modules::{Import, Modules, is_within};
use crate::tidy::{File, Findings};
use std::collections::{BTreeMap, BTreeSet};

/// A room: its name and its modules, which may import one another.
type Room = (&'static str, &'static [&'static str]);

const SIM: &str = "crates/sim";

/// This file, for findings about its tables.
const THIS: &str = "xtask/src/imports.rs";

/// The rooms of `crates/sim` from bottom to top: those of one row do not import one another.
const ROOMS: &[&[Room]] = &[
    &[(
        "plain data",
        &["cut", "handle", "metrics", "observe", "random", "saved", "sleep", "stream", "zones"],
    )],
    &[("parts", &["parts"])],
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
    &[("ahead", &["ahead"]), ("ledger", &["ledger"]), ("recovery", &["recovery"])],
    &[("translation", &["translation"]), ("waiting", &["waiting"])],
    &[("settings", &["settings", "error", "footprint"]), ("view", &["view"])],
    &[("phases", &["phases"])],
    &[("device", &["device"])],
    &[("disk", &["disk"])],
    &[("drive", &["drive"])],
    &[("session", &["session"])],
];

/// Crates whose files form no circle.
const WITHOUT_CIRCLES: [&str; 8] = [
    "crates/core",
    "crates/workload",
    "crates/run",
    "crates/import",
    "crates/labs",
    "crates/studies",
    "crates/cli",
    "crates/firmware",
];

/// How many files of each room of `crates/sim` are in circles; 0 for rooms that are not listed. A
/// change that takes files out of a circle lowers the number.
const IN_CIRCLES: &[(&str, usize)] = &[
    ("parts", 12),
    ("config", 13),
    ("sets", 5),
    ("account", 17),
    ("buffer", 4),
    ("flash", 6),
    ("ftl", 7),
    ("queues", 2),
    ("initial", 6),
    ("settings", 3),
    ("device", 3),
    ("disk", 4),
];

/// The files of the largest of these circles: that of blocks and the rules that choose victims.
const LARGEST_CIRCLE: usize = 12;

/// Checks every crate that has an order.
pub(crate) fn check(files: &[File], findings: &mut Findings) {
    let rooms = Modules::new(files, SIM);
    let imports = rooms.imports();
    check_rooms(&imports, findings);
    check_circles_of_rooms(&rooms, &imports, IN_CIRCLES, LARGEST_CIRCLE, findings);
    for package in WITHOUT_CIRCLES {
        check_circles(&Modules::new(files, package), findings);
    }
}

/// An import between rooms goes down, or stays in its room.
fn check_rooms(imports: &BTreeSet<Import<'_>>, findings: &mut Findings) {
    for Import { path, index, from, to, .. } in imports {
        let (Some(above), Some(below)) = (room(from), room(to)) else { continue };
        if above.1 != below.1 && below.0 >= above.0 {
            let how = if below.0 > above.0 { "above" } else { "beside" };
            let what = format!("{} imports {to}, which is {how} it", above.1);
            findings.error_at(path, *index, &what);
        }
    }
}

/// The files of a crate import one another in no circle.
fn check_circles(modules: &Modules<'_>, findings: &mut Findings) {
    let imports = modules.imports();
    for circle in circles_of(&imports) {
        tell(modules, &imports, &circle, findings);
    }
}

/// Of each room, as many files are in circles as `known` says; the largest circle has `most` files.
/// A circle belongs to the rooms of all its files.
fn check_circles_of_rooms(
    modules: &Modules<'_>,
    imports: &BTreeSet<Import<'_>>,
    known: &[(&str, usize)],
    most: usize,
    findings: &mut Findings,
) {
    let circles = circles_of(imports);
    let room = |module: &&str| room(module).map_or("none", |(_, room)| room);
    let mut counts: BTreeMap<&str, usize> = known.iter().map(|(room, _)| (*room, 0)).collect();
    for module in circles.iter().flatten() {
        *counts.entry(room(module)).or_default() += 1;
    }
    for (name, count) in counts {
        let allowed = known.iter().find(|(room, _)| *room == name).map_or(0, |(_, count)| *count);
        if findings.hold(THIS, &format!("files of {name} in circles"), count, allowed) {
            let of_room = circles.iter().filter(|circle| circle.iter().any(|m| room(m) == name));
            of_room.for_each(|circle| tell(modules, imports, circle, findings));
        }
    }
    let largest = circles.iter().map(BTreeSet::len).max().unwrap_or_default();
    findings.hold(THIS, "files in the largest circle", largest, most);
}

/// Tells the first import between each two files of a circle.
fn tell(
    modules: &Modules<'_>,
    imports: &BTreeSet<Import<'_>>,
    circle: &Circle<'_>,
    findings: &mut Findings,
) {
    let mut seen = BTreeSet::new();
    for import in imports.iter().filter(|import| import.is_item) {
        let edge = (import.from.as_str(), import.to.as_str());
        if circle.contains(edge.0) && circle.contains(edge.1) && seen.insert(edge) {
            let to = modules.path(edge.1);
            let what = format!("imports {to}, which imports this file, or one that does");
            findings.error_at(import.path, import.index, &what);
        }
    }
}

/// Names each of which leads to all others, directly or through others.
pub(crate) type Circle<'a> = BTreeSet<&'a str>;

/// The circles of imports, in the order of their first modules.
fn circles_of<'a>(imports: &'a BTreeSet<Import<'_>>) -> Vec<Circle<'a>> {
    let mut below: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for import in imports.iter().filter(|import| import.is_item) {
        below.entry(&import.from).or_default().insert(&import.to);
    }
    circles(&below)
}

/// The circles of a graph that has, for each name, the names that it leads to.
pub(crate) fn circles<'a>(below: &BTreeMap<&'a str, BTreeSet<&'a str>>) -> Vec<Circle<'a>> {
    let reached = |from| {
        let (mut seen, mut open): (Circle<'a>, _) = (BTreeSet::new(), vec![from]);
        while let Some(module) = open.pop() {
            let next = below.get(module).into_iter().flatten();
            open.extend(next.filter(|module| seen.insert(**module)));
        }
        seen
    };
    let reach: BTreeMap<&'a str, Circle<'a>> =
        below.keys().map(|module| (*module, reached(*module))).collect();
    let mut found: Vec<Circle<'a>> = Vec::new();
    for (module, reached) in &reach {
        let is_first = found.iter().all(|circle| !circle.contains(module));
        if reached.contains(module) && is_first {
            let back = |other: &&&str| reach.get(**other).is_some_and(|all| all.contains(module));
            found.push(reached.iter().filter(back).copied().collect());
        }
    }
    found
}

/// The row and the name of the room that a module belongs to.
fn room(module: &str) -> Option<(usize, &'static str)> {
    let rooms =
        ROOMS.iter().enumerate().flat_map(|(row, rooms)| rooms.iter().map(move |r| (row, r)));
    let all = rooms.flat_map(|(row, (name, of))| of.iter().map(move |outer| (row, *name, *outer)));
    let found = all.filter(|(.., outer)| is_within(module, outer));
    found.max_by_key(|(.., outer)| outer.len()).map(|(row, name, _)| (row, name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::tests::file;

    #[track_caller]
    fn check(
        package: &str,
        tree: &[(&str, &str)],
        rule: impl Fn(&Modules<'_>, &mut Findings),
        expected: &[&str],
    ) {
        let path = |path: &str| format!("{package}/src/{path}");
        let files: Vec<File> = tree.iter().map(|(name, text)| file(&path(name), text)).collect();
        let mut findings = Findings::default();
        rule(&Modules::new(&files, package), &mut findings);
        assert_eq!(findings.errors, expected);
    }

    fn rooms(modules: &Modules<'_>, findings: &mut Findings) {
        check_rooms(&modules.imports(), findings);
    }

    #[test]
    fn imports_go_down() {
        let text = "use crate::{\n    metrics,\n    sets::{self, Set},\n    account::{\n        \
                    metrics as m,\n        check,\n    },\n};\n// use crate::device;\n\
                    const X: &str = \"crate::device\";\nlet x = super::super::device::f();\n\
                    #[cfg(test)]\nmod tests {\n    use crate::device;\n}\nuse crate::check::C;\n";
        let tree = [
            ("lib.rs", "mod ftl;\npub use account::check;\n"),
            ("account/mod.rs", "pub use crate::metrics;\n"),
            ("account/check.rs", ""),
            ("metrics/mod.rs", ""),
            ("sets/mod.rs", ""),
            ("device/mod.rs", "use crate::ftl::cmt;\nuse super::sets;\n"),
            ("ftl/cmt.rs", text),
            ("ftl/tests.rs", "use crate::device;\n"),
        ];
        let found = [
            "crates/sim/src/ftl/cmt.rs:6: ftl imports account::check, which is beside it",
            "crates/sim/src/ftl/cmt.rs:11: ftl imports device, which is above it",
            "crates/sim/src/ftl/cmt.rs:16: ftl imports account::check, which is beside it",
        ];
        check(SIM, &tree, rooms, &found);
    }

    #[test]
    fn every_module_of_the_simulator_is_one_room() {
        let root = crate::root().join("crates/sim/src");
        for entry in std::fs::read_dir(root).unwrap() {
            let name = entry.unwrap().file_name().to_string_lossy().into_owned();
            let name = name.trim_end_matches(".rs");
            assert!(name == "lib" || room(name).is_some(), "{name}");
        }
        let mut folders = ROOMS.iter().flat_map(|rooms| rooms.iter()).flat_map(|room| room.1);
        assert!(folders.all(|folder| !folder.contains("::")));
        assert!(IN_CIRCLES.iter().all(|(_, count)| *count > 1));
    }

    #[test]
    fn circles_of_files_are_found() {
        let tree = [
            ("main.rs", "use crate::a::A;\n"),
            ("a.rs", "use crate::b::B;\nuse crate::e::E;\n"),
            ("b/mod.rs", "mod c;\npub struct B;\n"),
            ("b/c.rs", "\nuse super::super::d::D;\n"),
            ("d.rs", "fn f() {\n    crate::a::f();\n}\n"),
            ("e.rs", "use crate::f;\nfn e() {\n    f::f();\n}\n"),
            ("f.rs", "mod g {\n    use super::F;\n    use crate::h::E as H;\n}\n"),
            ("h.rs", "pub use crate::e::E;\n"),
        ];
        let circle = [
            "crates/cli/src/e.rs:3: imports crates/cli/src/f.rs, which imports this file, or one \
             that does",
            "crates/cli/src/f.rs:3: imports crates/cli/src/e.rs, which imports this file, or one \
             that does",
        ];
        check("crates/cli", &tree, check_circles, &circle);
    }

    /// The modules at the top form no circle in either.
    #[test]
    fn a_file_that_needs_the_module_above_it_is_in_a_circle_and_a_re_export_is_not() {
        let below = ("a/c.rs", "use super::{B, Rule};\nimpl Rule for C {}\n");
        let tree = [
            ("a/mod.rs", "mod b;\nmod c;\npub use b::B;\nuse c::C;\npub trait Rule {}\n"),
            ("a/b.rs", "pub struct B;\n"),
            below,
        ];
        let circle = [
            "crates/cli/src/a/c.rs:1: imports crates/cli/src/a/mod.rs, which imports this file, \
             or one that does",
            "crates/cli/src/a/mod.rs:4: imports crates/cli/src/a/c.rs, which imports this file, \
             or one that does",
        ];
        check("crates/cli", &tree, check_circles, &circle);
        let tree = [
            ("a/mod.rs", "mod b;\nmod c;\nmod d;\npub use b::B;\nuse c::C;\npub use self::d::*;\n"),
            ("a/b.rs", "pub struct B;\n"),
            ("a/d.rs", "pub trait Rule {}\n"),
            below,
        ];
        check("crates/cli", &tree, check_circles, &[]);
    }

    #[test]
    fn macros_are_of_the_file_that_defines_them() {
        let tree = [
            ("lib.rs", "use a::A;\n"),
            ("a.rs", "crate::keys! {}\n"),
            ("key.rs", "#[macro_export]\nmacro_rules! keys {\n    () => {};\n}\n"),
        ];
        check("crates/core", &tree, check_circles, &[]);
    }

    #[test]
    fn a_room_has_as_many_files_in_circles_as_is_known() {
        let tree = [
            ("ftl/mod.rs", "mod a;\nuse a::A;\npub struct Ftl;\n"),
            ("ftl/a.rs", "use super::Ftl;\n"),
        ];
        let with = |known: &'static [(&'static str, usize)]| {
            move |modules: &Modules<'_>, findings: &mut Findings| {
                check_circles_of_rooms(modules, &modules.imports(), known, 2, findings);
            }
        };
        check(SIM, &tree, with(&[("ftl", 2)]), &[]);
        let what = "xtask/src/imports.rs: 2 files of ftl in circles, lower the number, which is 3";
        check(SIM, &tree, with(&[("ftl", 3)]), &[what]);
        let found = [
            "xtask/src/imports.rs: 2 files of ftl in circles, at most 0",
            "crates/sim/src/ftl/a.rs:1: imports crates/sim/src/ftl/mod.rs, which imports this \
             file, or one that does",
            "crates/sim/src/ftl/mod.rs:2: imports crates/sim/src/ftl/a.rs, which imports this \
             file, or one that does",
        ];
        check(SIM, &tree, with(&[]), &found);
    }
}
