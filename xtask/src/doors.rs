//! `cargo xtask rooms`: how much the flows of `crates/sim/src/device` know of one another and of
//! the rooms: the lines of the folder, its doors, and its largest circle of calls.
//!
//! A **door** is a method that the files of a room name and that flows call on the room, or on what
//! it holds: `self.ftl.f()`, `device.ftl[at].f()` and `ftl.f()` count, and so does `f` of
//! `let block = &mut self.ftl[at]; block.f()`, and of `self.ledger().f()`, `self.teller().f()`,
//! `self.view().f()`, `self.translation().f()` and `self.waiting().f()`, to which rooms are lent.
//! Each pair of room and method counts once. A file **calls** another one if it names a method of
//! `Device` that the other one defines. Files that call each other, directly or through others, are
//! a circle. Tests are left out.

use crate::code::Code;
use crate::imports::circles;
use crate::tidy::{File, Findings};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

/// This file, for findings about its numbers.
const THIS: &str = "xtask/src/doors.rs";

const SOURCES: &str = "crates/sim/src/";
const DEVICE: &str = "device";
const FOLDER: &str = "crates/sim/src/device";
const TYPE: &str = "Device";

/// The numbers that the folder may not exceed. Lower them where less is found.
const HELD: [(&str, usize); 13] = [
    ("lines", 2476),
    ("doors of account", 28),
    ("doors of buffer", 10),
    ("doors of flash", 39),
    ("doors of ftl", 43),
    ("doors of host", 52),
    ("doors of ledger", 29),
    ("doors of queues", 14),
    ("doors of sets", 40),
    ("doors of translation", 24),
    ("doors of view", 2),
    ("doors of waiting", 38),
    ("files in the largest circle of calls", 0),
];

/// Every number is the one that is held.
pub(crate) fn check(files: &[File], findings: &mut Findings) {
    check_held(&count(files), &HELD, findings);
}

fn check_held(found: &Counts, held: &[(&str, usize)], findings: &mut Findings) {
    for (name, most) in held {
        findings.hold(THIS, &format!("{name} in {FOLDER}"), found.number(name), *most);
    }
}

/// The table, and the doors and the circle by name.
pub(crate) fn describe(files: &[File]) -> String {
    let (counts, mut text) = (count(files), String::new());
    for (name, most) in HELD {
        let _ = writeln!(text, "{:6} {name} (held: {most})", counts.number(name));
    }
    let _ = writeln!(text, "{:6} doors", counts.doors.values().map(BTreeSet::len).sum::<usize>());
    for (room, methods) in &counts.doors {
        let methods: Vec<&str> = methods.iter().map(String::as_str).collect();
        let _ = write!(text, "\n{room}: {}", methods.join(" "));
    }
    let circle: Vec<&str> = counts.circle.iter().map(String::as_str).collect();
    let _ = write!(text, "\n\ncircle: {}", circle.join(" "));
    text
}

/// What is found in the folder.
#[derive(Debug, Default)]
struct Counts {
    lines: usize,
    /// The methods that are called on each room.
    doors: BTreeMap<&'static str, BTreeSet<String>>,
    /// The files of the largest circle.
    circle: BTreeSet<String>,
}

impl Counts {
    /// The number that a row of `HELD` names.
    fn number(&self, name: &str) -> usize {
        match name.strip_prefix("doors of ") {
            Some(room) => self.doors.get(room).map_or(0, BTreeSet::len),
            None if name == "lines" => self.lines,
            None => self.circle.len(),
        }
    }
}

fn count(files: &[File]) -> Counts {
    let mut counts = Counts::default();
    let mut sources = Vec::new();
    let mut defined: BTreeMap<&str, BTreeSet<String>> = BTreeMap::new();
    for file in files.iter().filter(|file| file.has_extension("rs")) {
        let Some(path) = file.path.strip_prefix(SOURCES) else { continue };
        let (room, name) = path.split_once('/').unwrap_or((path.trim_end_matches(".rs"), path));
        let code = Code::without_tests(&file.text);
        if room == DEVICE {
            counts.lines += file.text.lines().count();
            add_doors(&code, &mut counts.doors);
            sources.push((name, code));
        } else {
            defined.entry(room).or_default().extend(named(&code));
        }
    }
    for (room, methods) in &mut counts.doors {
        methods.retain(|method| defined.get(room).is_some_and(|known| known.contains(method)));
    }
    let methods = |(name, code)| methods(code).into_iter().map(move |method| (method, name));
    let homes: BTreeMap<&str, &str> =
        sources.iter().map(|(n, c)| (*n, c)).flat_map(methods).collect();
    let mut edges: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for (name, code) in &sources {
        let homes = called(code).into_iter().filter_map(|method| homes.get(method).copied());
        edges.entry(name).or_default().extend(homes.filter(|home| home != name));
    }
    let largest = circles(&edges).into_iter().max_by_key(BTreeSet::len).unwrap_or_default();
    counts.circle = largest.into_iter().map(str::to_owned).collect();
    counts
}

/// The names that a file may define: those that do not stand behind a dot or colons. Macros define
/// methods of a list, so `fn` does not stand before each.
fn named(code: &Code) -> impl Iterator<Item = String> {
    let starts = (1..code.tokens.len()).filter(|at| ![".", "::"].contains(&code.text(at - 1)));
    starts.filter(|at| code.is_name(*at)).map(|at| code.text(at).to_owned())
}

/// Adds the methods that a file calls on rooms.
fn add_doors(code: &Code, doors: &mut BTreeMap<&'static str, BTreeSet<String>>) {
    let rooms: Vec<&'static str> =
        HELD.iter().filter_map(|(name, _)| name.strip_prefix("doors of ")).collect();
    let room_named = |name: &str| {
        let name = if name == "teller" { "ledger" } else { name };
        rooms.iter().find(|room| **room == name).copied()
    };
    // Local names of what a room has, in the function that is read.
    let mut locals: BTreeMap<&str, &'static str> = BTreeMap::new();
    for at in 0..code.tokens.len() {
        if code.text(at) == "fn" {
            locals.clear();
        }
        let (is_field, name) = (at > 0 && code.text(at - 1) == ".", code.text(at));
        let is_of_device = is_field && ["self", DEVICE].contains(&code.text(at - 2));
        let room = match room_named(name) {
            Some(room) if is_of_device || !is_field => room,
            None if !is_field && locals.contains_key(name) => locals[name],
            _ => continue,
        };
        if is_of_device && let Some(local) = local_name(code, at - 2) {
            locals.insert(local, room);
        }
        if let Some(method) = method(code, at + 1) {
            doors.entry(room).or_default().insert(method.to_owned());
        }
    }
}

/// The name that `let name = &mut` or `let Some(name) = &` gives to what stands at a token.
fn local_name(code: &Code, mut at: usize) -> Option<&str> {
    while ["mut", "&"].contains(&code.text(at.checked_sub(1)?)) {
        at -= 1;
    }
    let mut name = at.checked_sub(2).filter(|_| code.text(at - 1) == "=")?;
    name -= usize::from(code.text(name) == ")");
    code.is_name(name).then(|| code.text(name))
}

/// The first method that is called behind a token, past indices and fields.
fn method(code: &Code, mut at: usize) -> Option<&str> {
    loop {
        match code.text(at) {
            "[" | "?" => at = code.tokens[at].end + 1,
            "(" if code.text(at + 1) == ")" => at += 2,
            "." if ["(", "::"].contains(&code.text(at + 2)) => return Some(code.text(at + 1)),
            "." => at += 2,
            _ => return None,
        }
    }
}

/// The bodies of `impl Device`, from brace to brace.
fn bodies(code: &Code) -> Vec<(usize, usize)> {
    let mut found = Vec::new();
    for at in (0..code.tokens.len()).filter(|at| code.text(*at) == "impl") {
        let Some(open) = (at..code.tokens.len()).find(|at| code.text(*at) == "{") else { continue };
        let of = (at + 1..open).take_while(|at| code.text(*at) != "where").last();
        if code.text(open - 1) == TYPE || of.is_some_and(|of| code.text(of) == TYPE) {
            found.push((open, code.tokens[open].end));
        }
    }
    found
}

/// The methods of `Device` that a file defines.
fn methods(code: &Code) -> Vec<&str> {
    let all = bodies(code).into_iter().flat_map(|(open, close)| open + 1..close);
    all.filter(|at| code.text(at - 1) == "fn" && code.is_name(*at))
        .map(|at| code.text(at))
        .collect()
}

/// The names behind `Device::` and `Self::`, and those that are called behind `device.` and
/// `self.`; of `Self::` and `self.` in `impl Device`.
fn called(code: &Code) -> BTreeSet<&str> {
    let bodies = bodies(code);
    let is_own = |at: &usize| bodies.iter().any(|(open, close)| (open..close).contains(&at));
    let is_field = |at: &usize| !["(", "::"].contains(&code.text(at + 1));
    let is_call = |at: &usize| match (code.text(at - 2), code.text(at - 1)) {
        (DEVICE, ".") => !is_field(at),
        (TYPE, "::") => true,
        ("self", ".") => is_own(at) && !is_field(at),
        ("Self", "::") => is_own(at),
        _ => false,
    };
    (2..code.tokens.len()).filter(is_call).map(|at| code.text(at)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::tests::file;

    fn tree(sources: &[(&str, &str)]) -> Vec<File> {
        let path = |path: &str| format!("{SOURCES}{path}");
        sources.iter().map(|(name, text)| file(&path(name), text)).collect()
    }

    #[test]
    fn doors_are_methods_of_rooms_by_any_name() {
        let flow = "impl Device {\n    fn a(&mut self) {\n        self.ftl.one();\n        \
                    self.ftl.one();\n        self.ftl.map[0].two::<u8>();\n        \
                    let x = &mut self.ftl[1];\n        x.three();\n        \
                    if let Some(b) = &self.buffer {\n            b.put();\n        }\n        \
                    self.buffer.is_some();\n        assert!(device.sets.one());\n    }\n}\n\
                    fn b(x: &X, sets: &Sets) {\n    x.two();\n    x.sets.two();\n    \
                    sets.three();\n}\n#[cfg(test)]\nmod tests {\n    fn c() { ftl.four(); }\n}\n";
        let names = "fn one() {}\nfn two() {}\ncounters! { three => 3 }\nfn four() {}\n";
        let rooms =
            [("ftl/mod.rs", names), ("sets/mod.rs", names), ("buffer/mod.rs", "fn put() {}")];
        let found = count(&tree(&[&rooms[..], &[("device/a.rs", flow)]].concat()));
        let doors: Vec<String> = found
            .doors
            .iter()
            .flat_map(|(room, all)| all.iter().map(move |m| format!("{room}.{m}")))
            .collect();
        assert_eq!(
            doors,
            ["buffer.put", "ftl.one", "ftl.three", "ftl.two", "sets.one", "sets.three"]
        );
        assert_eq!((found.lines, found.number("doors of ftl")), (flow.lines().count(), 3));
    }

    #[test]
    fn files_that_call_each_other_are_a_circle() {
        let other = "impl Other {\n    fn a(&self) {\n        self.d();\n    }\n}\n";
        let sources = [
            ("device/a.rs", "impl Device {\n    fn a(&self) {\n        self.b();\n    }\n}\n"),
            ("device/b.rs", "impl Device {\n    fn b(&self) {\n        x(Self::c);\n    }\n}\n"),
            (
                "device/c.rs",
                "impl<'a> X<'a> for Device\nwhere\n    Y: Z,\n{\n    fn c(&self) {\n        device.a();\n    }\n}\n",
            ),
            (
                "device/d.rs",
                &format!(
                    "{other}impl Device {{\n    fn d(&self) {{\n        self.a();\n    }}\n}}\n"
                ),
            ),
            ("device/e.rs", other),
        ];
        let circle = count(&tree(&sources)).circle;
        assert_eq!(circle.into_iter().collect::<Vec<_>>(), ["a.rs", "b.rs", "c.rs"]);
    }

    #[test]
    fn numbers_may_only_go_down_and_are_then_lowered() {
        let found = count(&tree(&[("device/a.rs", "\n\n")]));
        let held = |most| {
            let mut findings = Findings::default();
            check_held(&found, &[("lines", most)], &mut findings);
            findings.errors
        };
        assert_eq!(held(2), [""; 0]);
        let what = "xtask/src/doors.rs: 2 lines in crates/sim/src/device,";
        assert_eq!(held(1), [format!("{what} at most 1")]);
        assert_eq!(held(3), [format!("{what} lower the number, which is 3")]);
    }
}
