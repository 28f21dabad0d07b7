//! Files with answers.

use anyhow::Result;
use flashyard_run::error::{read_text, wrong};
use flashyard_sim::config::{Item, Table, line_of_item, nearest, parse_toml};
use std::ops::RangeInclusive;

/// A file with answers: keys and their values.
pub(crate) struct Answer {
    file: String,
    text: String,
    table: Table,
}

impl Answer {
    /// Reads a file that has these keys and no others.
    pub(crate) fn read(file: &str, keys: &[&str]) -> Result<Self> {
        let text = read_text(file)?;
        let mut problems = Vec::new();
        let Some(document) = parse_toml(file, &text, &mut problems) else {
            let said: Vec<String> = problems.iter().map(ToString::to_string).collect();
            return Err(wrong(&said.join("\n")));
        };
        let table = document.as_table().clone();
        let answer = Self { file: file.to_string(), text, table };
        if let Some((name, item)) = answer.table.iter().find(|(name, _)| !keys.contains(name)) {
            let place = answer.place(item);
            let near = nearest(name, keys.iter().copied());
            let known = keys.join(", ");
            return Err(wrong(&format!("{place}: {name}: no such answer{near}; asked is {known}")));
        }
        Ok(answer)
    }

    /// Where an answer stands.
    fn place(&self, item: &Item) -> String {
        format!("{}:{}", self.file, line_of_item(&self.text, item.span()))
    }

    fn item(&self, key: &str) -> Result<&Item> {
        let lacks = || wrong(&format!("{}: {key} is missing; `lab start` writes it", self.file));
        self.table.get(key).ok_or_else(lacks)
    }

    /// The seed of the file, which must be the one that is given, if one is.
    pub(crate) fn seed(&self, given: Option<u64>) -> Result<u64> {
        let item = self.item("seed")?;
        let seed = item.as_integer().and_then(|seed| u64::try_from(seed).ok());
        let place = self.place(item);
        let seed = seed
            .ok_or_else(|| wrong(&format!("{place}: seed: a whole number from 0 on is needed")))?;
        match given.filter(|given| *given != seed) {
            Some(given) => Err(wrong(&format!(
                "{place}: seed: the file is for seed {seed}, --seed says {given}; `lab start` \
                 writes the files of a seed"
            ))),
            None => Ok(seed),
        }
    }

    /// One of several words; any word where there are none to choose from.
    pub(crate) fn word(&self, key: &str, words: &[&str]) -> Result<&str> {
        let item = self.item(key)?;
        let place = self.place(item);
        let text = item.as_str().ok_or_else(|| {
            wrong(&format!("{place}: {key}: a word in quotes is needed{}", of(words)))
        })?;
        if text.is_empty() || !(words.is_empty() || words.contains(&text)) {
            let near = nearest(text, words.iter().copied());
            let what = if text.is_empty() { "no answer yet".to_string() } else { text.to_string() };
            return Err(wrong(&format!("{place}: {key}: {what}{near}{}", of(words))));
        }
        Ok(text)
    }

    /// A number in a range.
    pub(crate) fn number(&self, key: &str, range: RangeInclusive<f64>) -> Result<f64> {
        let item = self.item(key)?;
        let number = item.as_float().or_else(|| item.as_integer().map(|whole| whole as f64));
        number.filter(|number| range.contains(number)).ok_or_else(|| {
            wrong(&format!(
                "{}: {key}: a number from {} to {} is needed",
                self.place(item),
                range.start(),
                range.end()
            ))
        })
    }

    /// A whole number in a range.
    pub(crate) fn whole(&self, key: &str, range: RangeInclusive<u64>) -> Result<u64> {
        let item = self.item(key)?;
        let number = item.as_integer().and_then(|number| u64::try_from(number).ok());
        number.filter(|number| range.contains(number)).ok_or_else(|| {
            wrong(&format!(
                "{}: {key}: a whole number from {} to {} is needed",
                self.place(item),
                range.start(),
                range.end()
            ))
        })
    }
}

/// What there is to choose from.
fn of(words: &[&str]) -> String {
    if words.is_empty() { String::new() } else { format!("; one of {}", words.join(", ")) }
}
