//! `flashyard list keys`: every key, or those of a section or a word.

use crate::output::text::{first_sentence, headed};
use anyhow::Result;
use flashyard_core::key::{Kind, Value};
use flashyard_run::error::wrong;
use flashyard_sim::config::{ListedKey, Meant, Sections, describe, meant, show_value};
use serde_json::json;
use std::borrow::Cow;

/// What the listing begins with.
const UNITS: &str = "A number may have its unit, in a file in quotes: \"32MiB\", \"1.2ms\", \
                     \"10%\". It is converted exactly into the unit of the key, which is in \
                     brackets. kB, MB and GB are decimal, KiB, MiB and GiB binary; counts may end \
                     in k, M or G. A rate such as \"4GB/s\" stands for the time of a byte in ps.";

/// With at most this many keys, all of each is shown.
const FEW: usize = 4;

/// A key, its section, and its value.
struct Found<'a> {
    section: Cow<'a, str>,
    key: ListedKey<'a>,
    value: String,
}

impl Found<'_> {
    fn path(&self) -> String {
        format!("{}.{}", self.section, self.key.name)
    }
}

/// Every key in the order of the sections.
fn all(sections: &dyn Sections) -> Vec<Found<'_>> {
    let mut all = Vec::new();
    for (section, keys, _) in sections.sections() {
        for key in keys {
            let value = sections.get(&section, key.name).expect("a listed key has a value");
            let value = show_value(&key.kind, value);
            all.push(Found { section: section.clone(), key, value });
        }
    }
    all
}

/// The keys that `word` names: those of a section and of the sections in it, or one key, or those
/// that have the word in their names, or else in their descriptions.
fn matching<'a>(sections: &'a dyn Sections, word: &str) -> Vec<Found<'a>> {
    let word = word.trim().to_ascii_lowercase();
    let inside = format!("{word}.");
    let pick = |is: &dyn Fn(&Found<'_>) -> bool| -> Vec<Found<'a>> {
        all(sections).into_iter().filter(is).collect()
    };
    let of_section = pick(&|found| found.section == word || found.section.starts_with(&inside));
    if !of_section.is_empty() {
        return of_section;
    }
    let led: Vec<&str> =
        meant(&word).iter().filter_map(|meant| meant.setting.split(" = ").next()).collect();
    let name = word.replace(['-', ' '], "_");
    let of_name = pick(&|found| {
        let path = found.path();
        led.contains(&path.as_str()) || path.contains(&name)
    });
    if !of_name.is_empty() {
        return of_name;
    }
    pick(&|found| {
        let words = |text: &str| {
            let mut words = text.split(|c: char| !c.is_alphanumeric());
            words.any(|other| other.eq_ignore_ascii_case(&word))
        };
        let values = match found.key.kind {
            Kind::Choice(values) => values.iter().any(|value| value == word),
            _ => false,
        };
        values || words(found.key.doc)
    })
}

/// Every key, or those that `word` names.
pub(super) fn list(sections: &dyn Sections, word: Option<&str>) -> Result<String> {
    let Some(word) = word else { return Ok(reference(sections)) };
    let found = of_word(sections, word)?;
    let mut text = String::new();
    for Meant { setting, what } in meant(word) {
        text += &headed(&format!("{word}: "), &format!("{setting}: {what}"), "    ");
    }
    if !text.is_empty() {
        text.push('\n');
    }
    let few = found.len() <= FEW;
    for found in &found {
        let value = format!("{} = {}  (", found.path(), found.value);
        text += &headed(&value, &format!("{})", range(&found.key)), "        ");
        if few {
            text += &headed("    ", found.key.doc.trim(), "    ");
            text += &headed("    source: ", found.key.source, "    ");
        } else {
            text += &headed("    ", &first_sentence(found.key.doc), "    ");
        }
    }
    Ok(text)
}

fn of_word<'a>(sections: &'a dyn Sections, word: &str) -> Result<Vec<Found<'a>>> {
    let found = matching(sections, word);
    if found.is_empty() {
        let mut names: Vec<_> = sections.sections().into_iter().map(|(name, ..)| name).collect();
        names.retain(|name| !name.contains('.'));
        let names = names.join(", ");
        return Err(wrong(&format!("list keys {word}: no key has this word; sections: {names}")));
    }
    Ok(found)
}

/// The same as data.
pub(super) fn json(sections: &dyn Sections, word: Option<&str>) -> Result<serde_json::Value> {
    let found = match word {
        Some(word) => of_word(sections, word)?,
        None => all(sections),
    };
    let entry = |found: &Found<'_>| {
        let key = found.key;
        let (unit, min, max, words) = match key.kind {
            Kind::Bool => (None, None, None, Some(vec!["true", "false"])),
            Kind::Choice(words) => (None, None, None, Some(words.iter().collect())),
            Kind::Number { unit, min, max, .. } => {
                let show = |value| Some(show_value(&key.kind, Value::Number(value)));
                (Some(unit), show(min), show(max), None)
            }
            Kind::List { unit, max, .. } => {
                (Some(unit), Some("0".to_string()), Some(max.to_string()), None)
            }
        };
        json!({
            "key": found.path(),
            "section": found.section,
            "default": found.value,
            "unit": unit,
            "min": min,
            "max": max,
            "words": words,
            "doc": key.doc.trim(),
            "source": key.source,
        })
    };
    Ok(found.iter().map(entry).collect())
}

/// Every key: section by section, with unit, range, default, meaning and source.
fn reference(sections: &dyn Sections) -> String {
    let mut text = headed("", UNITS, "") + "\n";
    for (section, keys, doc) in sections.sections() {
        if keys.is_empty() {
            continue;
        }
        text += &headed(&format!("[{section}]  "), doc.trim(), "    ");
        for key in keys {
            let value = sections.get(&section, key.name).expect("a listed key has a value");
            let head = format!("  {} = {}  (", key.name, show_value(&key.kind, value));
            text += &headed(&head, &format!("{})", range(&key)), "          ");
            text += &headed("      ", key.doc.trim(), "      ");
            text += &headed("      source: ", key.source, "      ");
        }
        text.push('\n');
    }
    text
}

fn range(key: &ListedKey<'_>) -> String {
    match key.kind {
        Kind::Number { unit, min, max, .. } => {
            let show = |value| show_value(&key.kind, Value::Number(value));
            format!("{unit}, {} to {}", show(min), show(max))
        }
        kind => describe(&kind),
    }
}
