//! Numbers for names, in the order of their first appearance.

use std::collections::BTreeMap;

use crate::error::{RowError, quoted};

/// The values of the column that makes streams, and the number of each.
#[derive(Debug, Default)]
pub(crate) struct Names {
    numbers: BTreeMap<Box<[u8]>, u16>,
    /// The name that was asked for last, which most often is the next one too.
    last: Vec<u8>,
    last_number: u16,
}

impl Names {
    /// The number of `name`; the next free one if it is new. `column` is for the message.
    pub(crate) fn number(&mut self, column: &str, name: &[u8]) -> Result<u16, RowError> {
        if *self.last == *name && !self.numbers.is_empty() {
            return Ok(self.last_number);
        }
        let number = match self.numbers.get(name) {
            Some(&number) => number,
            None => self.insert(column, name)?,
        };
        self.last.clear();
        self.last.extend_from_slice(name);
        self.last_number = number;
        Ok(number)
    }

    fn insert(&mut self, column: &str, name: &[u8]) -> Result<u16, RowError> {
        let number = u16::try_from(self.numbers.len()).map_err(|_| RowError {
            what: format!("more than 65536 values of {column} make streams, {}", quoted(name)),
            fix: "set trace.split to another column".to_owned(),
        })?;
        self.numbers.insert(name.into(), number);
        Ok(number)
    }

    /// The names, by number.
    pub(crate) fn list(&self) -> Vec<String> {
        let mut names = vec![String::new(); self.numbers.len()];
        for (name, &number) in &self.numbers {
            names[usize::from(number)] = name.escape_ascii().to_string();
        }
        names
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_numbered_in_order_of_appearance() {
        let mut names = Names::default();
        let numbers =
            ["b", "", "b", "a", "a", ""].map(|name| names.number("file", name.as_bytes()).unwrap());
        assert_eq!(numbers, [0, 1, 0, 2, 2, 1]);
        assert_eq!(names.list(), ["b", "", "a"]);
    }

    #[test]
    fn the_empty_name_is_a_name() {
        let mut names = Names::default();
        assert_eq!(names.number("file", b"").unwrap(), 0);
        assert_eq!(names.list(), [""]);
    }

    #[test]
    fn more_names_than_streams_are_refused() {
        let mut names = Names::default();
        for n in 0..=u16::MAX {
            assert_eq!(names.number("pid", &n.to_le_bytes()).unwrap(), n);
        }
        let error = names.number("pid", b"one more").unwrap_err();
        assert_eq!(error.what, "more than 65536 values of pid make streams, \"one more\"");
        assert_eq!(names.number("pid", &7_u16.to_le_bytes()).unwrap(), 7);
    }
}
