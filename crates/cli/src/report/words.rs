//! A device and a workload in words, from the settings of the JSON object.

use flashyard_run::units::percent;
use serde_json::Value;

/// The device: its shape, what maps it, who collects its garbage, how it is scheduled.
pub(crate) fn device(name: &str, object: &Value, is_disk: bool) -> String {
    let device = &object["device"];
    let number = |section: &str, key: &str| device[section][key].as_f64().unwrap_or(0.0);
    let word = |section: &str, key: &str| text(&device[section][key]);
    if is_disk {
        let gigabytes = number("disk", "sectors") * 512.0 / 1e9;
        return format!(
            "Device {name}: a disk of {} GB that turns {} times a minute, with {} heads. Its queue \
             is in the order {}.",
            round(gigabytes),
            word("disk", "rpm"),
            word("disk", "heads"),
            word("disk", "order").replace('_', " "),
        );
    }
    let shape = |key| number("geometry", key);
    let (channels, ways, dies) = (shape("channels"), shape("ways"), shape("dies_per_way"));
    let all = channels * ways * dies;
    let planes = shape("planes");
    let pages = shape("blocks_per_plane") * shape("pages_per_block");
    let bytes = all * planes * pages * shape("page_bytes");
    let mut parts = vec![format!(
        "Device {name}: {} of flash on {} and {} ({}; {} blocks of {} pages of {} each)",
        size(bytes),
        counted(channels, "channel"),
        counted(all, "die"),
        counted(planes, "plane") + if planes > 1.0 { " a die" } else { "" },
        word("geometry", "blocks_per_plane"),
        word("geometry", "pages_per_block"),
        size(shape("page_bytes")),
    )];
    parts.push(format!(
        "A page is read in {} us and programmed in {} us, a block is erased in {} us",
        word("nand", "read_us"),
        word("nand", "program_us"),
        word("nand", "erase_us")
    ));
    let scheme = word("ftl", "scheme");
    let map = match (scheme.as_str(), word("map", "store").as_str()) {
        ("page", "resident") => "a page map that is in memory".to_string(),
        ("page", _) => {
            format!("a page map with a cache of {}", size(number("map", "cache_bytes")))
        }
        (other, _) => format!("the scheme {other}"),
    };
    let buffer = number("buffer", "bytes");
    let buffer = if buffer > 0.0 {
        format!("a write buffer of {}", size(buffer))
    } else {
        "no write buffer".to_string()
    };
    let collector = if scheme == "page" {
        format!(", garbage collection of the rule {}", word("gc", "policy"))
    } else {
        String::new()
    };
    parts.push(format!(
        "It has {map}{collector}, {buffer}, commands in the order of the policy {}, and {} % \
         over-provisioning",
        word("policy", "command"),
        word("ftl", "over_provisioning_percent")
    ));
    parts.join(". ") + "."
}

/// The workload: what arrived, and how fast.
pub(crate) fn workload(object: &Value) -> String {
    let workload = &object["workload"];
    let count = |key: &str| workload[key].as_u64().unwrap_or(0);
    let kinds = [("reads", "read"), ("writes", "write"), ("trims", "trim"), ("flushes", "flush")];
    let kinds = kinds.iter().filter(|(key, _)| count(key) > 0);
    let kinds: Vec<String> = kinds
        .map(|(key, name)| {
            let share = percent(count(key) as f64, count("requests") as f64);
            let plural = match *name {
                "flush" => "flushes".to_string(),
                name if count(key) == 1 => name.to_string(),
                name => format!("{name}s"),
            };
            format!("{} {plural} ({share})", count(key))
        })
        .collect();
    let mut text = format!(
        "Workload {}: {} that count",
        text(&workload["name"]),
        counted(count("requests") as f64, "request")
    );
    if !kinds.is_empty() {
        text += &format!(", {}", kinds.join(", "));
    }
    let span = object["throughput"]["makespan_ns"].as_f64().unwrap_or(0.0);
    text += &format!(". From the first arrival to the last answer: {}.", time(span));
    if let Some(seed) = object["provenance"]["seed"].as_u64() {
        text += &format!(" The seed is {seed}.");
    }
    text
}

/// A JSON value as text without quotation marks.
pub(crate) fn text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_string)
}

fn counted(count: f64, what: &str) -> String {
    let plural = if (count - 1.0).abs() < f64::EPSILON { "" } else { "s" };
    format!("{count} {what}{plural}")
}

/// Three digits, without zeros behind the point.
fn round(value: f64) -> String {
    let digits = match value.abs() {
        large if large >= 100.0 => 0,
        middle if middle >= 10.0 => 1,
        _ => 2,
    };
    let text = format!("{value:.digits$}");
    if text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.').to_string()
    } else {
        text
    }
}

/// Bytes in the unit that people read: powers of 1024.
pub(crate) fn size(bytes: f64) -> String {
    let units = ["bytes", "KiB", "MiB", "GiB", "TiB"];
    let place = (0..4).take_while(|power| bytes >= 1_024f64.powi(power + 1)).count();
    let scale = 1_024f64.powi(i32::try_from(place).expect("a few units"));
    format!("{} {}", round(bytes / scale), units[place])
}

/// Nanoseconds in the unit that people read.
pub(crate) fn time(ns: f64) -> String {
    let units = [(1e9, "s"), (1e6, "ms"), (1e3, "us")];
    let found = units.iter().find(|(by, _)| ns >= *by);
    let (by, unit) = found.copied().unwrap_or((1.0, "ns"));
    format!("{} {unit}", round(ns / by))
}

/// A word of a report with blanks.
pub(crate) fn spaced(word: &str) -> String {
    word.replace('_', " ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_have_units_and_three_digits() {
        let times = [0.0, 999.0, 1_500.0, 20_627_677.0, 2.5e9].map(time);
        assert_eq!(times, ["0 ns", "999 ns", "1.5 us", "20.6 ms", "2.5 s"]);
        let sizes = [512.0, 4_096.0, 1.5 * 1_048_576.0, 1e12, 4e15].map(size);
        assert_eq!(sizes, ["512 bytes", "4 KiB", "1.5 MiB", "931 GiB", "3638 TiB"]);
        assert_eq!([counted(1.0, "die"), counted(4.0, "die")], ["1 die", "4 dies"]);
    }
}
