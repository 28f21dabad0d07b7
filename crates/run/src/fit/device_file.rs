//! The device file that a fit writes: the one it started from, with the fitted keys in it.

use super::asked::sets;
use super::model::Setting;
use crate::error::{is_toml, read_text, wrong};
use crate::presets;
use anyhow::Result;
use std::path::Path;
use toml_edit::{DocumentMut, Item, Table, Value};

/// What is said of a key beside its value: its name, the value, and the least and the greatest
/// likely one.
pub type Band = (String, String, [String; 2]);

/// The text of the file. `whence` says what the keys were fitted to, `of_one_core` which of them
/// make the firmware one core, and `bands` of which of them, and of which other keys, the cells say
/// little or nothing.
pub fn text(
    device: &str,
    set: &[String],
    fitted: &[Setting],
    of_one_core: &[Setting],
    bands: &[Band],
    whence: &str,
) -> Result<String> {
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
    // It is another device than the one that was held against a drive.
    document.remove("held");
    let title = document.get("title").and_then(Item::as_str).unwrap_or(device);
    document["title"] = toml_edit::value(format!("{title}, fitted to {whence}"));
    for setting in set {
        let Some((key, value)) = setting.split_once('=') else { continue };
        put(&mut document, key.trim(), value.trim(), "set by the user of the fit");
    }
    for (key, value) in of_one_core {
        put(&mut document, key, value, "formula: one core in place of those of the device");
    }
    for (key, value) in fitted.iter().filter(|setting| !of_one_core.contains(setting)) {
        let band = bands.iter().find(|(known, ..)| known == key);
        let band =
            band.map(|(_, _, [low, high])| format!(", which hardly tells it: {low} to {high}"));
        put(&mut document, key, value, &format!("fitted to {whence}{}", band.unwrap_or_default()));
    }
    for (key, value, [low, high]) in bands {
        let is_told = fitted.iter().any(|one| one.0 == *key && !of_one_core.contains(one));
        if !is_told && !sets(set, key) {
            put(&mut document, key, value, &format!("no cell tells it: {low} to {high}"));
        }
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
        let band = |key: &str, value: &str, low: &str, high: &str| {
            (key.to_string(), value.to_string(), [low.to_string(), high.to_string()])
        };
        let bands = [
            band("firmware.read_ns", "2500", "900", "6900"),
            band("channel.ps_per_byte", "833", "300", "2300"),
            band("firmware.unit_ns", "84", "12", "600"),
        ];
        let setting = |(key, value): (&str, &str)| (key.to_string(), value.to_string());
        let of_one_core =
            [("firmware.cores", "1"), ("firmware.unit_ns", "84"), ("firmware.trim_ns", "1667")];
        let of_one_core = of_one_core.map(setting);
        let fitted = [&fitted[..], &of_one_core].concat();
        let text = text("nvme-tlc", &set, &fitted, &of_one_core, &bands, "reads.csv").unwrap();
        assert!(text.contains("\nread_us = 41.5 # fitted to reads.csv\n"), "{text}");
        let hardly = "read_ns = 2500 # fitted to reads.csv, which hardly tells it: 900 to 6900\n";
        assert!(text.contains(hardly), "{text}");
        assert!(text.contains("\nps_per_byte = 833 # no cell tells it: 300 to 2300\n"), "{text}");
        assert!(text.contains("command = \"fifo\" # set by the user of the fit\n"), "{text}");
        assert!(text.contains("\nunit_ns = 84 # no cell tells it: 12 to 600\n"), "{text}");
        let one = "trim_ns = 1667 # formula: one core in place of those of the device\n";
        assert!(text.contains(one), "{text}");
        assert!(text.contains("\ncores = 1 # formula: one core"), "{text}");
        assert_eq!(["\nread_us", "\nread_ns"].map(|key| text.matches(key).count()), [1, 1]);
    }
}
