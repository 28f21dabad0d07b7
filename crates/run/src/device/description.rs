//! What is known about a device besides its keys.

use super::held::Held;
use std::collections::BTreeMap;

/// Where the value of a key comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Origin {
    /// `file:line` or an option.
    pub place: String,
    /// Whether that is a line of a file of the user's.
    pub in_file: bool,
    /// The comment beside it.
    pub comment: String,
}

/// What is known about a device besides its keys.
#[derive(Clone, Debug, Default)]
pub struct Description {
    /// Where the values of keys come from that a file or an option sets.
    pub origins: BTreeMap<String, Origin>,
    /// Title, source and notes of the outermost file that has them.
    pub notes: BTreeMap<&'static str, String>,
    /// The capacity that it is scaled to, in bytes.
    pub capacity: Option<u64>,
    /// Keys that are shares of the spare blocks of a plane, and the shares in ppm.
    pub shares: BTreeMap<&'static str, u64>,
    /// The translation layer that was chosen by name.
    pub layer: Option<String>,
    /// What was changed that nobody named, a line each.
    pub changes: Vec<String>,
    /// The dies that the device had before a capacity changed their number.
    pub dies_before: Option<u64>,
    /// The loads that it was held against a real drive on; none: no such drive is known.
    pub held: Vec<Held>,
}

impl Description {
    /// Notes that an option or a conversion set a key.
    pub fn set(&mut self, path: &str, place: &str, comment: &str) {
        let comment = comment.to_string();
        let origin = Origin { place: place.to_string(), in_file: false, comment };
        self.origins.insert(path.to_string(), origin);
    }

    /// A message of the device with the lines of files where the keys stand that it names.
    pub fn with_places(&self, what: &str) -> String {
        let is_part = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
        let words: Vec<&str> = what.split(|c: char| !is_part(c)).collect();
        let named = |path: &str| words.iter().any(|word| word.trim_matches('.') == path);
        let found = self.origins.iter().filter(|(path, origin)| origin.in_file && named(path));
        let found: Vec<String> =
            found.map(|(path, origin)| format!("{path}: {}", origin.place)).collect();
        if found.is_empty() { what.to_string() } else { format!("{what} ({})", found.join("; ")) }
    }
}
