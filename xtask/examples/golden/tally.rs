//! What worked examples expect beside what was found: every value is compared, and counted.

use anyhow::{Context, Result, ensure};
use serde_json::Value;

/// How many differences of a file are printed.
const SHOWN: usize = 40;

/// The comparisons of a file.
#[derive(Default)]
pub(super) struct Tally {
    path: Vec<String>,
    /// Runs and computations that were compared with something.
    pub(super) runs: usize,
    /// Numbers, words and truth values that were compared.
    pub(super) values: usize,
    differences: Vec<String>,
}

impl Tally {
    /// A part of the file. An error inside it is a difference, and what comes after it is compared.
    pub(super) fn part(&mut self, name: &str, work: impl FnOnce(&mut Self) -> Result<()>) {
        self.path.push(name.to_owned());
        if let Err(error) = work(self) {
            self.differ(&format!("{error:#}"));
        }
        self.path.pop();
    }

    fn differ(&mut self, what: &str) {
        let path = self.path.iter().map(String::as_str).chain([what]);
        self.differences.push(path.collect::<Vec<_>>().join(": "));
    }

    /// Compares a value with what was found, member by member. Numbers are equal to 1e-9 of
    /// themselves. What was found may have members that are not expected.
    pub(super) fn same(&mut self, what: &str, expected: &Value, found: &Value) {
        self.within(what, expected, found, 0.0);
    }

    /// The same for figures that the file rounds: numbers may differ by less than `slack`.
    pub(super) fn within(&mut self, what: &str, expected: &Value, found: &Value, slack: f64) {
        match (expected, found) {
            (Value::Object(members), Value::Object(known)) => {
                for (name, expected) in members {
                    let found = known.get(name).unwrap_or(&Value::Null);
                    self.within(&format!("{what}.{name}"), expected, found, slack);
                }
            }
            (Value::Array(rows), Value::Array(known)) => {
                for row in 0..rows.len().max(known.len()) {
                    let what = format!("{what}[{row}]");
                    match (rows.get(row), known.get(row)) {
                        (Some(expected), Some(found)) => {
                            self.within(&what, expected, found, slack);
                        }
                        (Some(expected), None) => {
                            self.differ(&format!("{what}: expected {expected}, found no more"));
                        }
                        (None, found) => {
                            let found = found.unwrap_or(&Value::Null);
                            self.differ(&format!("{what}: no more is expected, found {found}"));
                        }
                    }
                }
            }
            _ => {
                self.values += 1;
                let equal = match (expected.as_f64(), found.as_f64()) {
                    (Some(one), Some(other)) => {
                        (one - other).abs() < f64::max(slack, one.abs() * 1e-9 + 1e-9)
                    }
                    _ => expected == found,
                };
                if !equal {
                    self.differ(&format!("{what}: expected {expected}, found {found}"));
                }
            }
        }
    }

    /// Refuses every member of an object that is neither among these names nor a text, which
    /// explains.
    pub(super) fn known(&mut self, object: &Value, names: &[&str]) {
        for (name, value) in object.as_object().into_iter().flatten() {
            if !names.contains(&name.as_str()) {
                self.unknown(name, value);
            }
        }
    }

    /// Refuses a member that is not known, unless it is a text.
    pub(super) fn unknown(&mut self, name: &str, value: &Value) {
        if !value.is_string() {
            self.differ(&format!("{name} is unknown"));
        }
    }

    /// What was compared, if all of it is equal; the differences otherwise.
    pub(super) fn end(self) -> Result<(usize, usize)> {
        let count = self.differences.len();
        let mut lines = self.differences;
        if count > SHOWN {
            lines.truncate(SHOWN);
            lines.push(format!("and {} more", count - SHOWN));
        }
        let (runs, values) = (self.runs, self.values);
        ensure!(
            count == 0,
            "{count} differences in {runs} runs, {values} values compared\n  {}",
            lines.join("\n  ")
        );
        ensure!(values > 0, "there is no example of a known kind");
        Ok((runs, values))
    }
}

/// The members of an object but those that explain it.
pub(super) fn entries(value: &Value) -> Result<impl Iterator<Item = (&String, &Value)>> {
    const TEXTS: [&str; 4] = ["note", "notes", "rule", "rules"];
    let object = value.as_object().with_context(|| format!("{value} is not an object"))?;
    Ok(object.iter().filter(|(name, _)| !TEXTS.contains(&name.as_str())))
}

/// The whole number of a name.
pub(super) fn number(value: &Value, name: &str) -> Result<u64> {
    value.get(name).and_then(Value::as_u64).with_context(|| format!("{name} is no whole number"))
}

/// The list of a name.
pub(super) fn list<'a>(value: &'a Value, name: &str) -> Result<&'a Vec<Value>> {
    value.get(name).and_then(Value::as_array).with_context(|| format!("{name} is no list"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn every_difference_is_named_and_every_value_counted() {
        let mut tally = Tally::default();
        tally.part("one", |tally| {
            tally.same("a", &json!([1, {"b": 2.5, "c": "x"}]), &json!([1.0, {"b": 2.5, "c": "y"}]));
            tally.same("rows", &json!([1, 2]), &json!([1]));
            tally.same("rows", &json!([]), &json!([7]));
            anyhow::bail!("and an error")
        });
        tally.part("two", |tally| {
            tally.within("us", &json!(1.23), &json!(1.2349), 0.005);
            tally.known(&json!({"a": 1, "why": "a text", "z": 0}), &["a"]);
            tally.same("object", &json!({"n": 1}), &json!({}));
            Ok(())
        });
        assert_eq!((tally.values, tally.path.len()), (6, 0));
        let text = tally.end().expect_err("there are differences").to_string();
        assert_eq!(
            text,
            "6 differences in 0 runs, 6 values compared\n  \
             one: a[1].c: expected \"x\", found \"y\"\n  \
             one: rows[1]: expected 2, found no more\n  \
             one: rows[0]: no more is expected, found 7\n  \
             one: and an error\n  \
             two: z is unknown\n  \
             two: object.n: expected 1, found null"
        );
    }

    #[test]
    fn a_file_in_which_nothing_is_compared_is_refused() {
        let error = Tally::default().end().expect_err("nothing");
        assert_eq!(error.to_string(), "there is no example of a known kind");
    }
}
