//! Tables of MQSim's keys. A row says which values a key may have and what the key becomes.

use crate::found::{Fate, Found, Outcome, quoted, thousandths};
use crate::xml::{Entry, Group};
use std::borrow::Cow;

/// The values that a key may have. `C` has the facts that they depend on.
pub(crate) enum Kind<C> {
    /// A whole number in a range.
    Whole(u64, u64),
    /// The same, where the range depends on other keys.
    WholeBy(fn(&C) -> (u64, u64)),
    /// A number in a range.
    Real(f64, f64),
    Truth,
    /// One of these words.
    Word(&'static [&'static str]),
    /// Any text.
    Text,
}

/// A word, its fate, the keys that are written as TOML has them, and the reason.
pub(crate) type OfWord =
    (&'static str, Fate, &'static [(&'static str, &'static str)], &'static str);

/// What becomes of a key.
pub(crate) enum Becomes<C> {
    /// The key of this name has the same value here.
    Same(&'static str),
    /// The same in thousandths: MQSim has nanoseconds, the key microseconds.
    Us(&'static str),
    /// This, whatever its value.
    Always(Fate, &'static str),
    /// What the row of its word says.
    Words(&'static [OfWord]),
    /// What depends on other keys, or is computed.
    By(fn(&C, &Value<'_>) -> Outcome),
}

/// A key of MQSim.
pub(crate) struct Key<C> {
    name: &'static str,
    kind: Kind<C>,
    becomes: Becomes<C>,
    /// Whether files of MQSim's last version need not have it.
    is_optional: bool,
}

/// A key that is in every file of MQSim's last version.
pub(crate) const fn key<C>(name: &'static str, kind: Kind<C>, becomes: Becomes<C>) -> Key<C> {
    Key { name, kind, becomes, is_optional: false }
}

/// A key whose words have a row each.
pub(crate) const fn words<C>(name: &'static str, rows: &'static [OfWord]) -> Key<C> {
    key(name, Kind::Text, Becomes::Words(rows))
}

/// A key that is not missed.
pub(crate) const fn optional<C>(name: &'static str, kind: Kind<C>, becomes: Becomes<C>) -> Key<C> {
    Key { is_optional: true, ..key(name, kind, becomes) }
}

/// The value of a key, read as its kind says. What is no such value is 0, false or the first word;
/// it was told as a problem.
pub(crate) struct Value<'a> {
    pub(crate) entry: &'a Entry,
    pub(crate) whole: u64,
    pub(crate) real: f64,
    pub(crate) truth: bool,
    pub(crate) word: &'static str,
}

/// The key means the same here.
pub(crate) fn taken(keys: &[(&'static str, String)]) -> Outcome {
    Outcome::new(Fate::Taken, keys, "")
}

/// The key needs no other one here.
pub(crate) fn taken_as(what: impl Into<Cow<'static, str>>) -> Outcome {
    Outcome::new(Fate::Taken, &[], what)
}

/// The key becomes something else.
pub(crate) fn changed(
    keys: &[(&'static str, String)],
    why: impl Into<Cow<'static, str>>,
) -> Outcome {
    Outcome::new(Fate::Changed, keys, why)
}

/// MQSim ignores the key.
pub(crate) fn idle(why: &'static str) -> Outcome {
    Outcome::new(Fate::Idle, &[], why)
}

/// The key has no counterpart here.
pub(crate) fn missing(why: &'static str) -> Outcome {
    Outcome::new(Fate::Missing, &[], why)
}

/// The value is one that MQSim itself could not use.
pub(crate) fn wrong(what: &'static str) -> Outcome {
    Outcome::new(Fate::Wrong, &[], what)
}

impl<C> Key<C> {
    /// Reads the value of an entry and notes what becomes of it.
    fn read(&self, entry: &Entry, context: &C, found: &mut Found) {
        let mut value = Value { entry, whole: 0, real: 0.0, truth: false, word: "" };
        let mut same = String::new();
        match self.kind {
            Kind::Whole(least, greatest) => {
                value.whole = found.whole(entry, least, greatest);
                same = value.whole.to_string();
            }
            Kind::WholeBy(range) => {
                let (least, greatest) = range(context);
                value.whole = found.whole(entry, least, greatest);
            }
            Kind::Real(least, greatest) => value.real = found.real(entry, least, greatest),
            Kind::Truth => {
                value.truth = found.truth(entry);
                same = value.truth.to_string();
            }
            Kind::Word(words) => {
                value.word = found.word(entry, words);
                same = quoted(&value.word.to_ascii_lowercase());
            }
            Kind::Text => {}
        }
        let outcome = match &self.becomes {
            Becomes::Same(path) => taken(&[(path, same)]),
            Becomes::Us(path) => taken(&[(path, thousandths(value.whole))]),
            Becomes::Always(fate, why) => Outcome::new(*fate, &[], *why),
            Becomes::Words(rows) => {
                let words: Vec<&'static str> = rows.iter().map(|(word, ..)| *word).collect();
                let word = found.word(entry, &words);
                let row = rows.iter().find(|(known, ..)| *known == word);
                let (_, fate, keys, why) = row.expect("one of the words");
                let keys: Vec<_> =
                    keys.iter().map(|(key, text)| (*key, text.to_string())).collect();
                Outcome::new(*fate, &keys, *why)
            }
            Becomes::By(of) => of(context, &value),
        };
        found.add(entry, &outcome);
    }
}

/// Reads all entries of a group, and notes which keys of the tables it lacks. It may have `groups`
/// inside.
pub(crate) fn read<C>(
    group: &Group,
    tables: &[&[Key<C>]],
    groups: &[&str],
    context: &C,
    found: &mut Found,
) {
    let all = || tables.iter().copied().flatten();
    let names: Vec<&str> = all().map(|key| key.name).collect();
    let needed: Vec<&str> = all().filter(|key| !key.is_optional).map(|key| key.name).collect();
    found.check(group, &needed, groups);
    for entry in &group.entries {
        match all().find(|key| key.name == entry.name) {
            Some(key) => key.read(entry, context, found),
            None => found.unknown(entry, group, if names.is_empty() { groups } else { &names }),
        }
    }
}

/// Reads a group that has nothing but `groups` inside.
pub(crate) fn read_outer(group: &Group, groups: &[&str], found: &mut Found) {
    read::<()>(group, &[], groups, &(), found);
}
