//! Hashes: of settings, of files.

use crate::error::wrong;
use anyhow::Result;
use flashyard_core::key::Value;
use flashyard_sim::config::Sections;
use sha2::{Digest, Sha256};
use std::fs::File;
use std::io::{ErrorKind, Read};
use std::path::Path;

/// Adds the effective settings of sections that there are to a hash.
pub fn add_settings(
    hash: &mut Sha256,
    sections: &dyn Sections,
    has_section: impl Fn(&str) -> bool,
) {
    for (section, listed, _) in sections.sections() {
        if listed.is_empty() || !has_section(&section) {
            continue;
        }
        hash.update(section.as_bytes());
        for key in listed {
            let (kind, value) = match sections.get(&section, key.name) {
                Some(Value::List(list)) => {
                    hash.update([0, 4, list.numbers().len().to_le_bytes()[0]]);
                    hash.update(list.numbers());
                    continue;
                }
                None => (0, 0),
                Some(Value::Bool(value)) => (1, u64::from(value)),
                Some(Value::Number(value)) => (2, value),
                Some(Value::Choice(index)) => (3, index as u64),
            };
            hash.update([0, kind]);
            hash.update(value.to_le_bytes());
        }
        hash.update([u8::MAX]);
    }
}

/// SHA-256 of a file's contents.
pub fn of_file(path: &Path) -> Result<String> {
    let cannot = |error| wrong(&format!("{}: cannot be read, {error}", path.display()));
    let mut file = File::open(path).map_err(cannot)?;
    let (mut hash, mut buffer) = (Sha256::new(), vec![0; 1 << 16]);
    loop {
        match file.read(&mut buffer) {
            Ok(0) => return Ok(hex(&hash.finalize())),
            Ok(count) => hash.update(&buffer[..count]),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(cannot(error)),
        }
    }
}

/// Bytes as lower-case hexadecimal digits.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |text, byte| text + &format!("{byte:02x}"))
}
