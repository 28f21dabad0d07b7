//! Reading keys from TOML text and from `section.key=value` settings.
//!
//! Every problem of a file is found before any is reported, each with its line and, for a
//! misspelt key, the nearest known one.

use super::listed::{ListedKey, WordList};
use super::sections::Sections;
use super::{meaning, synonyms, units};
use flashyard_core::key::{ByteList, Kind, Value};
use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;
use toml_edit::{Document, Item, Table, TableLike};

/// One thing that is wrong with a configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// `file:line`, a command-line option, or nothing where the cause is a combination of keys.
    pub place: String,
    /// What is wrong and what would be right.
    pub what: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.place.is_empty() {
            f.write_str(&self.what)
        } else {
            write!(f, "{}: {}", self.place, self.what)
        }
    }
}

/// A configuration that cannot be used: every problem that was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigError(pub Vec<Problem>);

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, problem) in self.0.iter().enumerate() {
            let separator = if index == 0 { "" } else { "\n" };
            write!(f, "{separator}{problem}")?;
        }
        Ok(())
    }
}

impl std::error::Error for ConfigError {}

/// What a file holds besides keys: strings and tables that its reader named as extras.
#[derive(Clone, Debug, Default)]
pub struct Extras {
    items: BTreeMap<String, (Item, usize)>,
}

impl Extras {
    /// The string at `path`; an error where it is something else.
    pub fn string(&self, path: &str) -> Result<Option<&str>, String> {
        let Some((item, _)) = self.items.get(path) else { return Ok(None) };
        item.as_str().map(Some).ok_or_else(|| format!("{path}: a string in quotes is needed"))
    }

    /// The tables of the array `[[path]]`.
    pub fn tables(&self, path: &str) -> Result<Vec<&Table>, String> {
        let Some((item, _)) = self.items.get(path) else { return Ok(Vec::new()) };
        let tables = item.as_array_of_tables();
        let tables = tables.ok_or_else(|| format!("{path}: tables [[{path}]] are needed"))?;
        Ok(tables.iter().collect())
    }

    /// The line of `path`, from 1.
    pub fn line(&self, path: &str) -> usize {
        self.items.get(path).map_or(1, |(_, line)| *line)
    }
}

/// Strings that any file may have and that change no result.
const NOTES: [&str; 3] = ["title", "source", "notes"];

/// Keys that had another name before, which files may still have.
const RENAMED: [(&str, &str); 1] = [("ftl.streams", "placement.handles")];

/// Reads TOML `text` into `sections`. `extras` are paths that are not keys but belong in the file.
/// Problems are added to `problems`; what could be read is kept.
pub fn read_toml(
    file: &str,
    text: &str,
    sections: &mut dyn Sections,
    extras: &[&str],
    problems: &mut Vec<Problem>,
) -> Extras {
    parse_toml(file, text, problems).map_or_else(Extras::default, |document| {
        read_table(file, text, document.as_table(), sections, extras, problems)
    })
}

/// TOML `text` as a tree; a syntax error is added to `problems`.
pub fn parse_toml<'a>(
    file: &str,
    text: &'a str,
    problems: &mut Vec<Problem>,
) -> Option<Document<&'a str>> {
    let add = |error: toml_edit::TomlError| {
        let line = line_of_item(text, error.span());
        let mut what = error.message().trim().replace('\n', "; ");
        let value = text.lines().nth(line - 1).and_then(|line| line.split_once('='));
        let value = value.map_or("", |(_, value)| value.split('#').next().unwrap_or("").trim());
        if units::split(value).is_some() {
            what += &format!("; a value with a unit stands in quotes: \"{value}\"");
        }
        problems.push(Problem { place: format!("{file}:{line}"), what });
    };
    Document::parse(text).map_err(add).ok()
}

/// Reads one table of `text`: the whole of it, or one of an array of tables. Its paths start in
/// this table; the keys of a section without a name are its own. See [`read_toml`].
pub fn read_table(
    file: &str,
    text: &str,
    table: &Table,
    sections: &mut dyn Sections,
    extras: &[&str],
    problems: &mut Vec<Problem>,
) -> Extras {
    let mut reader = Reader { file, text, sections, extras, problems, found: Extras::default() };
    reader.table("", table);
    reader.found
}

/// The line of `text`, from 1, that a table or value of it starts in.
pub fn line_of_item(text: &str, span: Option<Range<usize>>) -> usize {
    span.map_or(1, |span| line_of(text, span.start))
}

/// Applies one `section.key=value` setting; `option` names it in problems.
pub fn apply_setting(
    option: &str,
    setting: &str,
    sections: &mut dyn Sections,
    problems: &mut Vec<Problem>,
) {
    let place = format!("{option} {setting}");
    let mut fail = |what: String| problems.push(Problem { place: place.clone(), what });
    let Some((path, raw)) = setting.split_once('=').filter(|(path, _)| !path.trim().is_empty())
    else {
        return fail("KEY=VALUE is needed, such as queue.depth=64".to_string());
    };
    match find_key(sections, path.trim()) {
        Err(what) => fail(what),
        Ok((section, key)) => match value_of(path.trim(), &key.kind, raw.trim()) {
            Err(what) => fail(format!("{}: {what}", path.trim())),
            Ok(value) => {
                let name = key.name;
                assert!(sections.set(section, name, value), "a listed key is set");
            }
        },
    }
}

struct Reader<'a> {
    file: &'a str,
    text: &'a str,
    sections: &'a mut dyn Sections,
    extras: &'a [&'a str],
    problems: &'a mut Vec<Problem>,
    found: Extras,
}

impl Reader<'_> {
    fn table(&mut self, prefix: &str, table: &dyn TableLike) {
        for (name, item) in table.iter() {
            let path =
                if prefix.is_empty() { name.to_string() } else { format!("{prefix}.{name}") };
            let span = table.key(name).and_then(toml_edit::Key::span).or_else(|| item.span());
            let line = line_of_item(self.text, span);
            if self.extras.contains(&path.as_str()) {
                self.found.items.insert(path, (item.clone(), line));
            } else if prefix.is_empty() && NOTES.contains(&name) {
                if item.as_str().is_none() {
                    self.problem(line, format!("{path}: a string in quotes is needed"));
                }
            } else if let Some(table) = item.as_table_like() {
                self.check_section(&path, line);
                self.table(&path, table);
            } else if item.is_array_of_tables() {
                let sections = self.sections.sections();
                let known = sections.iter().map(|(name, ..)| name.as_ref());
                let near = nearest(&path, known.chain(self.extras.iter().copied()));
                self.problem(line, format!("[[{path}]]: unknown section{near}"));
            } else {
                self.key(&path, item, line);
            }
        }
    }

    /// Reports a table that is no section; its keys are then not looked at one by one.
    fn check_section(&mut self, path: &str, line: usize) {
        let sections = self.sections.sections();
        let inside = format!("{path}.");
        let known = |name: &str| name == path || name.starts_with(&inside);
        let holds_extras = self.extras.iter().any(|extra| extra.starts_with(&inside));
        if !holds_extras && !sections.iter().any(|(name, ..)| known(name)) {
            let near = nearest(path, sections.iter().map(|(name, ..)| name.as_ref()));
            self.problem(line, format!("[{path}]: unknown section{near}"));
        }
    }

    fn key(&mut self, path: &str, item: &Item, line: usize) {
        let section = path.rsplit_once('.').map_or("", |(section, _)| section);
        let known = self.sections.sections().iter().any(|(name, ..)| name == section);
        if !known && !section.is_empty() && !self.is_prefix(section) {
            return; // The section has been reported.
        }
        let (section, key) = match find_key(self.sections, path) {
            Ok(found) => found,
            Err(what) => return self.problem(line, what),
        };
        let raw = item.span().map_or("", |span: Range<usize>| &self.text[span]);
        match value_of(path, &key.kind, raw) {
            Ok(value) => {
                let name = key.name;
                assert!(self.sections.set(section, name, value), "a listed key is set");
            }
            Err(what) => self.problem(line, format!("{path}: {what}")),
        }
    }

    fn is_prefix(&self, section: &str) -> bool {
        let inside = format!("{section}.");
        self.sections.sections().iter().any(|(name, ..)| name.starts_with(&inside))
            || self.extras.iter().any(|extra| extra.starts_with(&inside))
    }

    fn problem(&mut self, line: usize, what: String) {
        self.problems.push(Problem { place: format!("{}:{line}", self.file), what });
    }
}

fn line_of(text: &str, offset: usize) -> usize {
    1 + text.get(..offset).unwrap_or(text).matches('\n').count()
}

/// The section and the key that a path names.
fn find_key<'a, 'p>(
    sections: &'a dyn Sections,
    path: &'p str,
) -> Result<(&'p str, ListedKey<'a>), String> {
    let all = sections.sections();
    let renamed = RENAMED.iter().find(|(before, _)| *before == path);
    let path = renamed.map_or(path, |(_, now)| now);
    let (section, name) = path.rsplit_once('.').unwrap_or(("", path));
    if let Some((_, keys, _)) = all.iter().find(|(known, ..)| known == section)
        && let Some(key) = keys.find(name)
    {
        return Ok((section, key));
    }
    if all.iter().any(|(known, keys, _)| known == path && !keys.is_empty()) {
        let lists = format!("`flashyard list keys {path}` lists its keys");
        return Err(format!("{path}: a section, not a key; {lists}"));
    }
    let paths: Vec<String> = all
        .iter()
        .flat_map(|(section, keys, _)| {
            let dot = if section.is_empty() { "" } else { "." };
            keys.iter().map(move |key| format!("{section}{dot}{}", key.name))
        })
        .collect();
    // A key of this name in another section is meant rather than another name, and rather than
    // either what the word means in the field.
    let same = || paths.iter().filter(|known| known.rsplit('.').next() == Some(name));
    let near = match same().next() {
        None => {
            synonyms::hint(path).unwrap_or_else(|| nearest(path, paths.iter().map(String::as_str)))
        }
        Some(first) => match nearest(path, same().map(String::as_str)) {
            near if near.is_empty() => format!("; did you mean {first}?"),
            near => near,
        },
    };
    let near = if near.is_empty() {
        format!("; `flashyard list keys {name}` shows what is called alike")
    } else {
        near
    };
    Err(format!("{path}: unknown key{near}"))
}

/// A hint at the most similar of the known words; nothing where none is similar.
pub fn nearest<'a>(word: &str, known: impl Iterator<Item = &'a str>) -> String {
    let mut best: Option<(f64, &str)> = None;
    for candidate in known {
        let likeness = strsim::normalized_damerau_levenshtein(word, candidate);
        if best.is_none_or(|(most, _)| likeness > most) {
            best = Some((likeness, candidate));
        }
    }
    match best {
        Some((likeness, candidate)) if likeness >= 0.4 => format!("; did you mean {candidate}?"),
        _ => String::new(),
    }
}

/// As [`parse_value`], of the key at `path`: a word that has another name in the field leads to
/// what it means, not to what is spelt alike.
fn value_of(path: &str, kind: &Kind<impl WordList>, raw: &str) -> Result<Value, String> {
    parse_value(kind, raw).map_err(|what| match (kind, meaning::of(path, unquoted(raw))) {
        (Kind::Choice(_), Some(meant)) => {
            let what = what.split("; did you mean").next().unwrap_or(&what);
            format!("{what}; did you mean {meant}?")
        }
        _ => what,
    })
}

/// A value without the quotes that a word may have.
fn unquoted(raw: &str) -> &str {
    raw.trim().trim_matches(['"', '\''])
}

/// Checks a value as written (quotes around words are optional, and so are the brackets of a list)
/// against what a key accepts.
pub fn parse_value(kind: &Kind<impl WordList>, raw: &str) -> Result<Value, String> {
    let word = unquoted(raw);
    match kind {
        Kind::Bool => match word {
            "true" => Ok(Value::Bool(true)),
            "false" => Ok(Value::Bool(false)),
            _ => Err(format!("{word} is neither true nor false")),
        },
        Kind::Choice(words) => {
            words.words().position(|known| known == word).map(Value::Choice).ok_or_else(|| {
                let near = nearest(word, words.words());
                format!("{word} is not one of {}{near}", joined(words, ", "))
            })
        }
        &Kind::Number { unit, scale, min, max } => {
            let scaled = match units::split(word) {
                Some((number, of)) => units::stored(number, of, unit, scale)
                    .map_err(|why| format!("{word}: {why}"))?,
                None => units::exactly(word, scale.into(), 1),
            };
            scaled.filter(|scaled| (min..=max).contains(scaled)).map(Value::Number).ok_or_else(
                || {
                    let (least, most) = (show_number(min, scale), show_number(max, scale));
                    let step = if scale == 1 {
                        String::new()
                    } else {
                        format!(" in steps of {}", show_number(1, scale))
                    };
                    format!("{word} is not {} from {least} to {most}{step}", describe(kind))
                },
            )
        }
        &Kind::List { unit, count, max } => parse_list(word, unit, count, max),
    }
}

/// Whole numbers with commas between them, in brackets or not; nothing is a list of none. Lines of
/// a file may end in comments.
fn parse_list(raw: &str, unit: &str, count: u8, max: u8) -> Result<Value, String> {
    let raw: String = raw.lines().filter_map(|line| line.split('#').next()).collect();
    let raw = raw.trim();
    let inside = raw.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(raw);
    let mut list = ByteList::EMPTY;
    // TOML allows a comma behind the last one.
    let inside = inside.trim().strip_suffix(',').unwrap_or(inside.trim());
    if inside.is_empty() {
        return Ok(Value::List(list));
    }
    for number in inside.split(',').map(str::trim) {
        let number = unquoted(number);
        let known = number.parse().ok().filter(|known: &u8| *known <= max);
        let known = known.ok_or_else(|| format!("{number} is no {unit} from 0 to {max}"))?;
        let longer = list.with(known).filter(|list| list.numbers().len() <= usize::from(count));
        list = longer.ok_or_else(|| {
            let given = inside.split(',').count();
            format!("{given} numbers, and there may be {count}")
        })?;
    }
    Ok(Value::List(list))
}

fn joined(words: &impl WordList, between: &str) -> String {
    words.words().collect::<Vec<_>>().join(between)
}

/// What a key accepts, in words.
pub fn describe(kind: &Kind<impl WordList>) -> String {
    match kind {
        Kind::Bool => "true or false".to_string(),
        Kind::Choice(words) => joined(words, " | "),
        Kind::Number { unit, scale: 1, .. } => format!("a whole number ({unit})"),
        Kind::Number { unit, .. } => format!("a number ({unit})"),
        Kind::List { unit, count, max } => {
            format!("a list of {unit}s from 0 to {max}, at most {count}")
        }
    }
}

/// `stored / scale` in as many digits as it takes; scales are products of 2 and 5.
fn show_number(stored: u64, scale: u64) -> String {
    let mut text = (stored / scale).to_string();
    let mut rest = u128::from(stored % scale);
    let scale = u128::from(scale);
    if rest > 0 {
        text.push('.');
    }
    while rest > 0 {
        text += &(rest * 10 / scale).to_string();
        rest = rest * 10 % scale;
    }
    text
}

/// A value as a file would have it, words without quotes.
pub fn show_value(kind: &Kind<impl WordList>, value: Value) -> String {
    match (kind, value) {
        (_, Value::Bool(value)) => value.to_string(),
        (Kind::Choice(words), Value::Choice(index)) => {
            words.words().nth(index).expect("the place of a word").to_string()
        }
        (Kind::Number { scale, .. }, Value::Number(stored)) => show_number(stored, *scale),
        (Kind::List { .. }, Value::List(list)) => format!("{list:?}"),
        _ => unreachable!("{value:?} is no value of {kind:?}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{DeviceKeys, KeyList, QueueKeys, Section};
    use flashyard_core::units::Span;

    #[track_caller]
    fn check(text: &str, expected: &[&str]) -> DeviceKeys {
        let mut keys = DeviceKeys::default();
        let mut problems = Vec::new();
        read_toml("d.toml", text, &mut keys, &[], &mut problems);
        let problems: Vec<String> = problems.iter().map(ToString::to_string).collect();
        assert_eq!(problems, expected);
        keys
    }

    #[test]
    fn numbers_are_exact_in_their_unit() {
        let keys = check("[nand]\nread_us = 130.9\nprogram_us = 1_500\n", &[]);
        assert_eq!(keys.nand.read_us, Span::from_ns(130_900));
        assert_eq!(keys.nand.program_us, Span::from_us(1_500));
        assert_eq!(show_value(&Kind::micros(0, 1 << 40), Value::Number(130_900)), "130.9");
        assert_eq!(show_value(&Kind::micros(0, 1 << 40), Value::Number(1_000_001)), "1000.001");
    }

    #[test]
    fn lists_stand_in_brackets_or_not_and_are_refused_by_number() {
        let list = |text: &str| {
            let kind: Kind = Kind::List { unit: "handle", count: 3, max: 127 };
            parse_value(&kind, text).map(|value| show_value(&kind, value))
        };
        for text in ["[0, 127, 1]", "0,127,1", " [ 0,\n 127,\n 1,\n] ", "'0,127,1'"] {
            assert_eq!(list(text), Ok("[0, 127, 1]".to_string()), "{text}");
        }
        for none in ["[]", "", "[ ]"] {
            assert_eq!(list(none), Ok("[]".to_string()), "{none}");
        }
        let refused = |text: &str| list(text).expect_err(text);
        assert_eq!(refused("[0, 128]"), "128 is no handle from 0 to 127");
        assert_eq!(refused("[0, 1000]"), "1000 is no handle from 0 to 127");
        assert_eq!(refused("[0, -1]"), "-1 is no handle from 0 to 127");
        assert_eq!(refused("[0,,1]"), " is no handle from 0 to 127");
        assert_eq!(refused("[0, 1, 2, 0]"), "4 numbers, and there may be 3");
        let keys = check("[placement]\nmap = [ # of three\n  0, 1, # two\n  2\n]\n", &[]);
        assert_eq!(keys.placement.map.numbers(), [0, 1, 2]);
        let wrong = "d.toml:2: placement.map: a is no handle from 0 to 127";
        assert!(check("[placement]\nmap = ['a']\n", &[wrong]).placement.map.is_empty());
    }

    #[test]
    fn every_problem_is_reported_with_its_line() {
        check(
            "title = 1\n[geometry]\nchanels = 2\nways = 0\n[nnd]\nread_us = 1\n[map]\nhazards = 'orders'\n\
             batch_update = 3\n[policy.drs]\nrekey = false\nreads = 1\n[nand]\nread_us = 0.0001\n",
            &[
                "d.toml:1: title: a string in quotes is needed",
                "d.toml:3: geometry.chanels: unknown key; did you mean geometry.channels?",
                "d.toml:4: geometry.ways: 0 is not a whole number (chips) from 1 to 1024",
                "d.toml:5: [nnd]: unknown section; did you mean nand?",
                "d.toml:8: map.hazards: orders is not one of order, ignore; did you mean order?",
                "d.toml:9: map.batch_update: 3 is neither true nor false",
                "d.toml:12: policy.drs.reads: unknown key; did you mean policy.drs.rekey?",
                "d.toml:14: nand.read_us: 0.0001 is not a number (us) from 0.001 to 4000000 in steps of 0.001",
            ],
        );
    }

    #[test]
    fn inline_tables_are_sections_too() {
        assert_eq!(check("queue = { depth = 4 }\n", &[]).queue.depth, 4);
    }

    #[test]
    fn an_array_of_tables_is_no_section() {
        check(
            "[[queues]]\ndepth = 4\n",
            &["d.toml:1: [[queues]]: unknown section; did you mean queue?"],
        );
    }

    #[test]
    fn one_table_of_an_array_is_read_by_itself() {
        /// Sections of a table: the keys of `[queue]` are its own.
        struct Own(DeviceKeys);
        impl Sections for Own {
            fn sections(&self) -> Vec<Section<'_>> {
                vec![("".into(), KeyList::new(QueueKeys::KEYS), "")]
            }
            fn set(&mut self, _: &str, key: &str, value: Value) -> bool {
                self.0.queue.set(key, value)
            }
            fn get(&self, _: &str, key: &str) -> Option<Value> {
                self.0.queue.get(key)
            }
        }
        let text = "[[thing]]\ndepth = 3\n[[thing]]\ndepht = 4\ndepth = 5\nname = 'x'\n";
        let mut problems = Vec::new();
        let document = parse_toml("d.toml", text, &mut problems).unwrap();
        let tables = document.get("thing").and_then(Item::as_array_of_tables).unwrap();
        let read = |table| {
            let mut own = Own(DeviceKeys::default());
            let extras = read_table("d.toml", text, table, &mut own, &["name"], &mut problems);
            (own.0.queue.depth, extras.string("name").unwrap().map(String::from))
        };
        let found: Vec<_> = tables.iter().map(read).collect();
        assert_eq!(found, [(3, None), (5, Some("x".to_string()))]);
        let problems: Vec<String> = problems.iter().map(ToString::to_string).collect();
        assert_eq!(problems, ["d.toml:4: depht: unknown key; did you mean depth?"]);
    }

    #[test]
    fn a_syntax_error_has_its_line() {
        let mut problems = Vec::new();
        read_toml(
            "d.toml",
            "[nand]\nread_us = = 3\n",
            &mut DeviceKeys::default(),
            &[],
            &mut problems,
        );
        assert_eq!(problems.len(), 1);
        assert_eq!(problems[0].place, "d.toml:2");
    }

    #[test]
    fn settings_name_the_section_that_was_left_out() {
        let mut keys = DeviceKeys::default();
        let mut problems = Vec::new();
        apply_setting("--set", "queue.depth=64", &mut keys, &mut problems);
        apply_setting("--set", "depth=64", &mut keys, &mut problems);
        apply_setting("--set", "depth", &mut keys, &mut problems);
        apply_setting("--set", " =5", &mut keys, &mut problems);
        assert_eq!(keys.queue.depth, 64);
        assert_eq!(
            problems[0].to_string(),
            "--set depth=64: depth: unknown key; did you mean queue.depth?"
        );
        for nameless in &problems[1..] {
            assert!(nameless.what.starts_with("KEY=VALUE is needed"), "{nameless}");
        }
        assert_eq!(problems.len(), 3);
    }
}
