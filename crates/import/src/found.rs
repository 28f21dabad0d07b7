//! What was found in files of MQSim: what became of each key, the keys that are written, problems.

use crate::xml::{Entry, Group};
use flashyard_sim::config::nearest;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::str::FromStr;

/// Digits behind the point of a share that a key can hold.
pub(crate) const FRACTION: usize = 4;

/// What became of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Fate {
    Taken,
    Changed,
    /// MQSim ignores it, too.
    Idle,
    /// Flashyard does not model it.
    Missing,
    /// MQSim could not use its value; that is a problem of the file.
    Wrong,
}

impl Fate {
    const ALL: [(Self, &str); 4] = [
        (Self::Taken, "Taken as they are"),
        (Self::Changed, "Changed"),
        (Self::Idle, "Without effect in MQSim"),
        (Self::Missing, "Not modelled here"),
    ];
}

/// What became of a key: its fate, the keys that are written, and why it is so.
pub(crate) struct Outcome {
    pub(crate) fate: Fate,
    pub(crate) keys: Vec<(&'static str, String)>,
    pub(crate) why: Cow<'static, str>,
}

impl Outcome {
    pub(crate) fn new(
        fate: Fate,
        keys: &[(&'static str, String)],
        why: impl Into<Cow<'static, str>>,
    ) -> Self {
        Self { fate, keys: keys.to_vec(), why: why.into() }
    }
}

/// A key of MQSim and what became of it.
#[derive(Clone, Debug)]
struct Entered {
    fate: Fate,
    line: u32,
    name: String,
    value: String,
    said: String,
}

/// A key of a file that is written.
#[derive(Clone, Debug)]
pub(crate) struct Setting {
    pub(crate) path: String,
    /// As TOML has it.
    pub(crate) value: String,
    /// The names of the keys that it comes from.
    pub(crate) from: Vec<String>,
    /// Where the first of them stands.
    pub(crate) place: String,
}

/// Keys of a file that had the same fate.
#[derive(Clone, Debug)]
pub struct Fates {
    /// What became of them, and the file.
    pub title: String,
    /// The keys in the order of the file.
    pub rows: Vec<Row>,
}

/// What became of one key.
#[derive(Clone, Debug)]
pub struct Row {
    /// The line of the file in which the key stands first; of a row of all absent keys none.
    pub line: Option<u32>,
    /// The key, its value, and what it became.
    pub text: String,
}

/// What was found in a file.
#[derive(Clone, Debug, Default)]
pub(crate) struct Found {
    pub(crate) settings: Vec<Setting>,
    pub(crate) problems: Vec<String>,
    rows: Vec<Entered>,
    /// Keys that a group may have and has not.
    absent: Vec<String>,
}

impl Found {
    /// Notes what became of a key.
    pub(crate) fn add(&mut self, entry: &Entry, Outcome { fate, keys, why }: &Outcome) {
        if *fate == Fate::Wrong {
            return self.problem(entry, why);
        }
        let mut said: Vec<String> =
            keys.iter().map(|(path, value)| format!("{path} = {value}")).collect();
        said.extend((!why.is_empty()).then(|| why.to_string()));
        let Entry { name, value, line, .. } = entry.clone();
        if entry.is_default {
            self.absent.push(format!("{name} = {value}"));
        } else {
            self.rows.push(Entered { fate: *fate, line, name, value, said: said.join("; ") });
        }
        self.set(entry, keys);
    }

    /// Keys that follow from several of MQSim's, which are listed where they stand.
    pub(crate) fn set(&mut self, entry: &Entry, keys: &[(&str, String)]) {
        let by = if entry.is_default { " by default" } else { "" };
        let name = format!("{}{by}", entry.name);
        for (path, value) in keys {
            let place = entry.place.clone();
            match self.settings.iter_mut().find(|setting| setting.path == *path) {
                Some(setting) => {
                    setting.value.clone_from(value);
                    setting.from.push(name.clone());
                }
                None => self.settings.push(Setting {
                    path: (*path).to_string(),
                    value: value.clone(),
                    from: vec![name.clone()],
                    place,
                }),
            }
        }
    }

    /// Something is wrong with the value of a key.
    pub(crate) fn problem(&mut self, entry: &Entry, what: &str) {
        let Entry { name, value, place, .. } = entry;
        self.problems.push(format!("{place}: {name}: {value}: {what}"));
    }

    /// A whole number in a range. 0 after a problem.
    pub(crate) fn whole(&mut self, entry: &Entry, least: u64, greatest: u64) -> u64 {
        match entry.value.parse() {
            Ok(number) if (least..=greatest).contains(&number) => return number,
            Ok(_) => self.problem(entry, &format!("it is not in {least}..{greatest}")),
            Err(_) => self.problem(entry, "a whole number is needed"),
        }
        0
    }

    /// A number from `least` to `greatest`. 0 after a problem.
    pub(crate) fn real(&mut self, entry: &Entry, least: f64, greatest: f64) -> f64 {
        match f64::from_str(&entry.value) {
            Ok(number) if (least..=greatest).contains(&number) => return number,
            Ok(_) => self.problem(entry, &format!("it is not in {least}..{greatest}")),
            Err(_) => self.problem(entry, "a number is needed"),
        }
        0.0
    }

    pub(crate) fn truth(&mut self, entry: &Entry) -> bool {
        let value = entry.value.to_ascii_lowercase();
        if value != "true" && value != "false" {
            self.problem(entry, "true or false is needed");
        }
        value == "true"
    }

    /// One of these words, in capital letters. The first one after a problem.
    pub(crate) fn word<'a>(&mut self, entry: &Entry, words: &[&'a str]) -> &'a str {
        let known = words.iter().find(|word| word.eq_ignore_ascii_case(&entry.value));
        known.copied().unwrap_or_else(|| {
            let near = nearest(&entry.value.to_ascii_uppercase(), words.iter().copied());
            self.problem(entry, &format!("it is none of {}{near}", words.join(", ")));
            words[0]
        })
    }

    /// An entry of a group that has none of this name.
    pub(crate) fn unknown(&mut self, entry: &Entry, group: &Group, names: &[&str]) {
        let Entry { name, place, .. } = entry;
        let near = nearest(name, names.iter().copied());
        let what = format!("MQSim has no such key in {}{near}", group.name);
        self.problems.push(format!("{place}: {name}: {what}; correct it or take it out"));
    }

    /// Notes which of the names a group lacks, and groups that have no place in it.
    pub(crate) fn check(&mut self, group: &Group, names: &[&str], groups: &[&str]) {
        let has = |name: &str| group.entries.iter().any(|entry| entry.name == name);
        let absent = names.iter().filter(|name| !has(name)).map(|name| (*name).to_string());
        self.absent.extend(absent);
        for inner in &group.groups {
            if !groups.contains(&inner.name.as_str()) {
                let what = if names.contains(&inner.name.as_str()) {
                    "it has no value".to_string()
                } else {
                    let near = nearest(&inner.name, groups.iter().chain(names).copied());
                    format!("MQSim has no such element in {}{near}", group.name)
                };
                self.problems.push(format!("{}: {}: {what}", inner.place, inner.name));
            }
        }
    }

    /// Adds what was found elsewhere in the same file, but not its settings.
    pub(crate) fn join(&mut self, other: Self) {
        self.problems.extend(other.problems);
        self.rows.extend(other.rows);
        self.absent.extend(other.absent);
    }

    /// What became of all keys; `instead` says what holds for those that are not in the file.
    pub(crate) fn fates(&self, file: &str, instead: &str) -> Vec<Fates> {
        let mut all = Vec::new();
        for (fate, title) in Fate::ALL {
            let rows = self.of(fate).into_iter().map(|((name, value, said), lines)| {
                let more = match lines.len() {
                    1 => String::new(),
                    count => format!(" ({} more)", count - 1),
                };
                let said = if said.is_empty() { said } else { format!(": {said}") };
                Row { line: lines.first().copied(), text: format!("{name} = {value}{more}{said}") }
            });
            all.push(Fates {
                title: format!("{title} ({file}, line and key)"),
                rows: rows.collect(),
            });
        }
        let mut absent = self.absent.clone();
        absent.sort();
        absent.dedup();
        let row = (!absent.is_empty()).then(|| Row { line: None, text: absent.join(", ") });
        let title = format!("Not in {file}, and so {instead}");
        all.push(Fates { title, rows: row.into_iter().collect() });
        all.retain(|fates| !fates.rows.is_empty());
        all
    }

    /// Rows of one fate in the order of the file; equal ones of several flows are one.
    fn of(&self, fate: Fate) -> Vec<((String, String, String), Vec<u32>)> {
        let mut lines: BTreeMap<(String, String, String), Vec<u32>> = BTreeMap::new();
        for row in self.rows.iter().filter(|row| row.fate == fate) {
            let key = (row.name.clone(), row.value.clone(), row.said.clone());
            lines.entry(key).or_default().push(row.line);
        }
        let mut rows: Vec<_> = lines.into_iter().collect();
        for (_, lines) in &mut rows {
            lines.sort_unstable();
        }
        rows.sort_by_key(|(_, lines)| lines[0]);
        rows
    }
}

/// A whole number in thousandths of the unit that is written: 1500 is 1.5.
pub(crate) fn thousandths(number: u64) -> String {
    decimal(number as f64 / 1_000.0, 3)
}

/// A number with at most so many digits behind the point.
pub(crate) fn decimal(number: f64, digits: usize) -> String {
    let text = format!("{number:.digits$}");
    if digits == 0 {
        return text;
    }
    text.trim_end_matches('0').trim_end_matches('.').to_string()
}

/// A word as TOML has it.
pub(crate) fn quoted(word: &str) -> String {
    toml_edit::Value::from(word).to_string()
}

/// A number without what is behind its point.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "`as` saturates, and limits are checked where the number is used"
)]
pub(crate) fn whole(number: f64) -> u64 {
    number as u64
}
