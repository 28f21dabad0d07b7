//! The loads that a device was held against a real drive on: what `held` of a device file lists.
//!
//! ```toml
//! held = [
//!     { pattern = "randread", block_bytes = [4096, 16384], queue_depth = [1, 64] },
//! ]
//! ```

use flashyard_sim::config::{Item, nearest};
use toml_edit::InlineTable;

/// The patterns, as fio's `rw` has them; appends and writes into zones may be several streams.
pub const PATTERNS: [&str; 7] =
    ["randread", "randwrite", "read", "write", "randrw", "append", "zonewrite"];

/// The patterns of devices with zones.
pub const OF_ZONES: [&str; 2] = ["append", "zonewrite"];

/// The fields of a load.
const FIELDS: [&str; 5] = ["pattern", "block_bytes", "queue_depth", "writes_per_s", "state"];

/// The least and the greatest of a measured quantity.
pub type Range = (u64, u64);

/// A load under which a real drive was measured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Held {
    /// One of [`PATTERNS`].
    pub pattern: String,
    /// Bytes of a request.
    pub block_bytes: Range,
    /// Requests outstanding in a closed loop; none where the rate counts.
    pub queue_depth: Option<Range>,
    /// Writes a second; none where the depth counts.
    pub writes_per_s: Option<Range>,
    /// The states of the drive; none: any.
    pub states: Vec<String>,
}

impl Held {
    /// The load in words.
    pub fn words(&self) -> String {
        let of = |(low, high): Range| {
            if low == high { low.to_string() } else { format!("{low} to {high}") }
        };
        let mut text = format!("{} of {} bytes", self.pattern, of(self.block_bytes));
        if let Some(depth) = self.queue_depth {
            text += &format!(", depth {}", of(depth));
        }
        if let Some(rate) = self.writes_per_s {
            text += &format!(", {} writes a second", of(rate));
        }
        if !self.states.is_empty() {
            text += &format!(", {}", self.states.join(" or "));
        }
        text
    }
}

/// The loads of `held`, or what is wrong with it.
pub fn read(item: &Item) -> Result<Vec<Held>, String> {
    let form = "a list of loads is needed, each such as { pattern = \"randread\", \
                block_bytes = [4096, 16384], queue_depth = [1, 64] }";
    let list = item.as_array().ok_or(form)?;
    list.iter().map(|load| one(load.as_inline_table().ok_or(form)?)).collect()
}

fn one(load: &InlineTable) -> Result<Held, String> {
    if let Some((unknown, _)) = load.iter().find(|(name, _)| !FIELDS.contains(name)) {
        let near = nearest(unknown, FIELDS.into_iter());
        return Err(format!("a load has no \"{unknown}\"{near}"));
    }
    let pattern = load.get("pattern").and_then(|pattern| pattern.as_str()).unwrap_or_default();
    if !PATTERNS.contains(&pattern) {
        return Err(format!("pattern: one of {} is needed", PATTERNS.join(", ")));
    }
    let (queue_depth, writes_per_s) = (range(load, "queue_depth")?, range(load, "writes_per_s")?);
    if queue_depth.is_some() == writes_per_s.is_some() {
        return Err("a load has either queue_depth or writes_per_s".to_string());
    }
    let words = |value: &toml_edit::Value| value.as_str().map(str::to_string);
    let states = match load.get("state") {
        None => Vec::new(),
        Some(state) => state
            .as_array()
            .and_then(|list| list.iter().map(words).collect::<Option<Vec<_>>>())
            .ok_or("state: a list of states is needed, such as [\"full\"]")?,
    };
    Ok(Held {
        pattern: pattern.to_string(),
        block_bytes: range(load, "block_bytes")?.ok_or("a load needs block_bytes")?,
        queue_depth,
        writes_per_s,
        states,
    })
}

/// The least and the greatest of a field.
fn range(load: &InlineTable, field: &str) -> Result<Option<Range>, String> {
    let Some(value) = load.get(field) else { return Ok(None) };
    let bound = |value: &toml_edit::Value| {
        let number = value.as_integer();
        number.and_then(|number| u64::try_from(number).ok())
    };
    let bounds = value.as_array().map(|list| list.iter().map(bound).collect::<Vec<_>>());
    match bounds.as_deref() {
        Some([Some(low), Some(high)]) if low <= high => Ok(Some((*low, *high))),
        _ => Err(format!("{field}: the least and the greatest are needed, such as [1, 64]")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn loads(text: &str) -> Result<Vec<Held>, String> {
        let document: toml_edit::DocumentMut = format!("held = {text}").parse().unwrap();
        read(&document["held"])
    }

    #[test]
    fn loads_are_read_and_said_in_words() {
        let text = "[{ pattern = \"write\", block_bytes = [4096, 131072], queue_depth = [1, 256], \
                    state = [\"full\"] }]";
        let found = loads(text).unwrap();
        let words = "write of 4096 to 131072 bytes, depth 1 to 256, full";
        assert_eq!(found[0].words(), words);
    }

    #[test]
    fn what_is_no_load_is_refused() {
        for (text, why) in [
            ("3", "a list of loads"),
            ("[3]", "a list of loads"),
            ("[{ pattern = \"reads\" }]", "pattern: one of"),
            ("[{ patern = \"read\" }]", "\"patern\""),
            ("[{ pattern = \"read\", queue_depth = [1, 2] }]", "block_bytes"),
            ("[{ pattern = \"read\", block_bytes = [1, 2] }]", "either queue_depth"),
            ("[{ pattern = \"read\", block_bytes = [2, 1], queue_depth = [1, 2] }]", "the least"),
            ("[{ pattern = \"read\", block_bytes = [1, 2], queue_depth = 7 }]", "the least"),
        ] {
            let found = loads(text).unwrap_err();
            assert!(found.contains(why), "{text}: {found}");
        }
    }
}
