//! The device file that a fit writes: the one it started from, with the fitted keys in it.

use super::model::Setting;
use crate::error::{is_toml, read_text, wrong};
use crate::presets;
use anyhow::Result;
use std::path::Path;
use toml_edit::{DocumentMut, Item, Table, Value};

/// The text of the file. `whence` says what the keys were fitted to.
pub fn text(device: &str, set: &[String], fitted: &[Setting], whence: &str) -> Result<String> {
    let base = match presets::device(device) {
        Some(text) => text.to_string(),
        None => read_text(device)?,
    };
    let mut document: DocumentMut =
        base.parse().map_err(|error| wrong(&format!("{device}: {error}")))?;
    // What the file is based on is looked up beside itself; the new one may stand elsewhere.
    let base = document.get("base").and_then(Item::as_str).filter(|base| is_toml(base));
    if let Some(base) = base {
        let parent = Path::new(device).parent().unwrap_or_else(|| Path::new(""));
        let path = parent.join(base);
        let path = path.canonicalize().unwrap_or(path);
        document["base"] = toml_edit::value(path.to_string_lossy().into_owned());
    }
    let title = document.get("title").and_then(Item::as_str).unwrap_or(device);
    document["title"] = toml_edit::value(format!("{title}, fitted to {whence}"));
    for setting in set {
        let Some((key, value)) = setting.split_once('=') else { continue };
        put(&mut document, key.trim(), value.trim(), "set by the user of the fit");
    }
    for (key, value) in fitted {
        put(&mut document, key, value, &format!("fitted to {whence}"));
    }
    Ok(document.to_string())
}

/// Sets `section.key` and says where its value comes from.
fn put(document: &mut DocumentMut, path: &str, value: &str, source: &str) {
    let Some((section, key)) = path.rsplit_once('.') else { return };
    let mut table = document.as_table_mut();
    for name in section.split('.') {
        let item = table.entry(name).or_insert_with(|| Item::Table(Table::new()));
        let Some(next) = item.as_table_mut() else { return };
        table = next;
    }
    // Numbers and words of keys: what is no TOML value is a string.
    let mut value = value.parse::<Value>().unwrap_or_else(|_| Value::from(value));
    value.decor_mut().set_suffix(format!(" # {source}"));
    value.decor_mut().set_prefix(" ");
    table[key] = Item::Value(value);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fitted_keys_replace_those_of_the_preset() {
        let fitted = [
            ("nand.read_us".to_string(), "41.5".to_string()),
            ("firmware.read_ns".to_string(), "2500".to_string()),
        ];
        let set = ["policy.command=fifo".to_string()];
        let text = text("nvme-tlc", &set, &fitted, "reads.csv").unwrap();
        assert!(text.contains("\nread_us = 41.5 # fitted to reads.csv\n"), "{text}");
        assert!(text.contains("\nread_ns = 2500 # fitted to reads.csv\n"), "{text}");
        assert!(text.contains("command = \"fifo\" # set by the user of the fit\n"), "{text}");
        assert_eq!(["\nread_us", "\nread_ns"].map(|key| text.matches(key).count()), [1, 1]);
    }
}
