//! Values with a unit: `"32MiB"` for a key in bytes, `"1.2ms"` for one in microseconds.
//!
//! A value is converted exactly. A unit of another dimension is refused, and so is a value that the
//! key cannot hold without rounding.

/// What a unit measures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Dimension {
    Size,
    Time,
    Power,
    Energy,
    Rate,
    Requests,
    Share,
    PowerOfSize,
    Speed,
    Factor,
    /// Things that are counted.
    Count,
}

impl Dimension {
    const fn word(self) -> &'static str {
        match self {
            Self::Size => "a size",
            Self::Time => "a time",
            Self::Power => "a power",
            Self::Energy => "an energy",
            Self::Rate => "a rate of bytes",
            Self::Requests => "a rate of requests",
            Self::Share => "a share",
            Self::PowerOfSize => "a power per size",
            Self::Speed => "a speed of rotation",
            Self::Factor => "a factor",
            Self::Count => "a number",
        }
    }
}

/// Every unit: its name, what it measures, and how many of the least unit of its dimension it is
/// (bytes, ps, uW, fJ, bytes a second, ppm).
const UNITS: &[(&str, Dimension, u128)] = &[
    ("B", Dimension::Size, 1),
    ("byte", Dimension::Size, 1),
    ("bytes", Dimension::Size, 1),
    ("kB", Dimension::Size, 1_000),
    ("KB", Dimension::Size, 1_000),
    ("MB", Dimension::Size, 1_000_000),
    ("GB", Dimension::Size, 1_000_000_000),
    ("TB", Dimension::Size, 1_000_000_000_000),
    ("KiB", Dimension::Size, 1 << 10),
    ("MiB", Dimension::Size, 1 << 20),
    ("GiB", Dimension::Size, 1 << 30),
    ("TiB", Dimension::Size, 1 << 40),
    ("sectors", Dimension::Size, 512),
    ("sectors of 512 bytes", Dimension::Size, 512),
    ("ps", Dimension::Time, 1),
    ("ns", Dimension::Time, 1_000),
    ("us", Dimension::Time, 1_000_000),
    ("\u{b5}s", Dimension::Time, 1_000_000),
    ("\u{3bc}s", Dimension::Time, 1_000_000),
    ("ms", Dimension::Time, 1_000_000_000),
    ("s", Dimension::Time, 1_000_000_000_000),
    ("min", Dimension::Time, 60_000_000_000_000),
    ("h", Dimension::Time, 3_600_000_000_000_000),
    ("uW", Dimension::Power, 1),
    ("mW", Dimension::Power, 1_000),
    ("W", Dimension::Power, 1_000_000),
    ("fJ", Dimension::Energy, 1),
    ("pJ", Dimension::Energy, 1_000),
    ("nJ", Dimension::Energy, 1_000_000),
    ("uJ", Dimension::Energy, 1_000_000_000),
    ("mJ", Dimension::Energy, 1_000_000_000_000),
    ("J", Dimension::Energy, 1_000_000_000_000_000),
    ("B/s", Dimension::Rate, 1),
    ("kB/s", Dimension::Rate, 1_000),
    ("KB/s", Dimension::Rate, 1_000),
    ("MB/s", Dimension::Rate, 1_000_000),
    ("GB/s", Dimension::Rate, 1_000_000_000),
    ("KiB/s", Dimension::Rate, 1 << 10),
    ("MiB/s", Dimension::Rate, 1 << 20),
    ("GiB/s", Dimension::Rate, 1 << 30),
    ("Mbit/s", Dimension::Rate, 125_000),
    ("Gbit/s", Dimension::Rate, 125_000_000),
    ("/s", Dimension::Requests, 1),
    ("requests/s", Dimension::Requests, 1),
    ("IOPS", Dimension::Requests, 1),
    ("kIOPS", Dimension::Requests, 1_000),
    ("MIOPS", Dimension::Requests, 1_000_000),
    ("ppm", Dimension::Share, 1),
    ("%", Dimension::Share, 10_000),
    ("percent", Dimension::Share, 10_000),
    ("uW/MiB", Dimension::PowerOfSize, 1),
    ("mW/MiB", Dimension::PowerOfSize, 1_000),
    ("rpm", Dimension::Speed, 1),
    ("x", Dimension::Factor, 1),
];

/// Short forms of large counts.
const COUNTS: &[(&str, u128)] = &[("k", 1_000), ("M", 1_000_000), ("G", 1_000_000_000)];

/// Picoseconds of a second.
const PS: u128 = 1_000_000_000_000;

/// A number and the unit behind it, if `word` is both.
pub(super) fn split(word: &str) -> Option<(&str, &str)> {
    let start = word.find(|c: char| c.is_alphabetic() || c == '%' || c == '/')?;
    let (number, unit) = word.split_at(start);
    let number = number.trim_end();
    number.starts_with(|c: char| c.is_ascii_digit()).then_some((number, unit.trim()))
}

/// The size of a value as a device file or a command has it, a number alone or with a unit, in the
/// least unit of its dimension; none of a word. Values of one key compare as these do.
pub fn magnitude(text: &str) -> Option<f64> {
    let (digits, sign) = text.strip_prefix('-').map_or((text, 1.0), |digits| (digits, -1.0));
    let (number, unit) = split(digits).unwrap_or((digits, ""));
    let known = UNITS.iter().map(|(name, _, of)| (*name, *of)).chain(COUNTS.iter().copied());
    let factor = match unit {
        "" => 1,
        unit => known.into_iter().find(|(name, _)| *name == unit)?.1,
    };
    let is_number = number.chars().all(|c| c.is_ascii_digit() || c == '.' || c == '_');
    let number = number.replace('_', "").parse::<f64>().ok().filter(|_| is_number)?;
    Some(sign * number * factor as f64)
}

/// The stored value of `number unit` for a key in `key_unit` that stores `scale` for one of it;
/// none where it is no whole number. An error says why the unit does not fit.
pub(super) fn stored(
    number: &str,
    unit: &str,
    key_unit: &str,
    scale: u64,
) -> Result<Option<u64>, String> {
    let scale = u128::from(scale);
    let found = UNITS.iter().find(|(name, ..)| *name == unit);
    let (dimension, least) = of_key(key_unit);
    if dimension == Dimension::Count {
        let same = unit == key_unit || key_unit.strip_suffix('s') == Some(unit);
        let of = COUNTS.iter().find(|(name, _)| *name == unit).map(|(_, of)| *of);
        return match of.or_else(|| same.then_some(1)) {
            Some(of) => Ok(exactly(number, of * scale, 1)),
            None => Err(refused(unit, found.map(|(_, other, _)| *other), dimension, key_unit)),
        };
    }
    match found {
        Some(&(_, other, of)) if other == dimension => Ok(exactly(number, of * scale, least)),
        // A rate stands for the time of a byte.
        Some(&(_, Dimension::Rate, of)) if key_unit == "ps" => Ok(time_of_byte(number, of, scale)),
        found => Err(refused(unit, found.map(|(_, other, _)| *other), dimension, key_unit)),
    }
}

/// What the unit of a key measures, and how many of the least unit it is.
fn of_key(key_unit: &str) -> (Dimension, u128) {
    // What follows a comma says more about the number: "KiB, a multiple of 4".
    let key_unit = key_unit.split(',').next().unwrap_or(key_unit);
    let found = UNITS.iter().find(|(name, ..)| *name == key_unit);
    found.map_or((Dimension::Count, 1), |&(_, dimension, least)| (dimension, least))
}

/// Why a unit does not fit a key, with the units that do.
fn refused(unit: &str, other: Option<Dimension>, dimension: Dimension, key_unit: &str) -> String {
    let fitting = names(key_unit).join(", ");
    let key = format!("the key is in {key_unit}; its units are {fitting}");
    if let Some(other) = other {
        return format!("{unit} is a unit of {}, and {key}", &other.word().replacen("a ", "", 1));
    }
    if dimension == Dimension::Size && matches!(unit, "k" | "K" | "M" | "G" | "T") {
        let letter = unit.to_uppercase();
        return format!(
            "{unit} may be decimal or binary, and {key}: write {letter}B or {letter}iB"
        );
    }
    let alike = UNITS.iter().find(|(name, ..)| name.eq_ignore_ascii_case(unit));
    let hint = alike.map_or_else(String::new, |(name, ..)| format!("; did you mean {name}?"));
    format!("{unit} is no unit, and {key}{hint}")
}

/// The units that values of a key in `key_unit` may have.
pub(super) fn names(key_unit: &str) -> Vec<&str> {
    let (dimension, _) = of_key(key_unit);
    if dimension == Dimension::Count {
        return [key_unit].into_iter().chain(COUNTS.iter().map(|(name, _)| *name)).collect();
    }
    let fits =
        |other: Dimension| other == dimension || key_unit == "ps" && other == Dimension::Rate;
    let ascii = UNITS.iter().filter(|(name, ..)| name.is_ascii());
    ascii.filter(|(_, other, _)| fits(*other)).map(|(name, ..)| *name).collect()
}

/// `number` as a fraction of two integers.
fn fraction(number: &str) -> Option<(u128, u128)> {
    let clean = number.replace('_', "");
    let (whole, part) = clean.split_once('.').unwrap_or((&clean, ""));
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if whole.is_empty() || !digits(whole) || !digits(part) || clean.ends_with('.') {
        return None;
    }
    let part = part.trim_end_matches('0');
    let power = 10u128.checked_pow(u32::try_from(part.len()).ok()?)?;
    let digits = format!("{whole}{part}");
    Some((digits.parse().ok()?, power))
}

/// `number` x `times` / `over` as an integer; `None` where it is not one or does not fit.
pub(super) fn exactly(number: &str, times: u128, over: u128) -> Option<u64> {
    let (number, power) = fraction(number)?;
    divided(number.checked_mul(times)?, power.checked_mul(over)?)
}

/// Picoseconds of a byte at a rate.
fn time_of_byte(number: &str, rate: u128, scale: u128) -> Option<u64> {
    let (number, power) = fraction(number)?;
    divided((PS * scale).checked_mul(power)?, number.checked_mul(rate)?)
}

fn divided(value: u128, by: u128) -> Option<u64> {
    let exact = by > 0 && value.is_multiple_of(by);
    exact.then(|| u64::try_from(value / by).ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{DeviceKeys, Sections, parse_value};
    use flashyard_core::key::{Kind, Value};

    #[test]
    fn magnitudes_of_a_key_compare_and_words_have_none() {
        let rising = ["-3", "0", "0.5", "1_000", "1.5k", "4 k"];
        assert_eq!(rising.map(magnitude), [-3.0, 0.0, 0.5, 1e3, 1.5e3, 4e3].map(Some));
        for (text, least) in
            [("32MiB", 33_554_432.0), ("10 %", 1e5), ("4GB/s", 4e9), ("45us", 45e6)]
        {
            assert_eq!(magnitude(text), Some(least), "{text}");
        }
        for word in ["greedy", "", "-", "drs-k16", "2-level", "./a.toml", "true", "3d", "4 K9"] {
            assert_eq!(magnitude(word), None, "{word}");
        }
    }

    #[track_caller]
    fn same(kind: &Kind, with_unit: &str, plain: &str) {
        let plain = parse_value(kind, plain);
        assert!(plain.is_ok(), "{plain:?}");
        assert_eq!(parse_value(kind, with_unit), plain, "{with_unit}");
    }

    #[test]
    fn values_are_converted_exactly() {
        let bytes = Kind::count("bytes", 0, 1 << 50);
        same(&bytes, "\"32MiB\"", "33_554_432");
        same(&bytes, "32 MB", "32_000_000");
        same(&bytes, "1.5KiB", "1536");
        same(&bytes, "8 sectors", "4096");
        let us = Kind::micros(0, 4_000_000_000_000);
        same(&us, "1.2ms", "1_200");
        same(&us, "5us", "5");
        same(&us, "7\u{b5}s", "7");
        same(&us, "130ns", "0.13");
        same(&us, "2min", "120_000_000");
        same(&Kind::percent(0, 1_000_000), "10%", "10");
        same(&Kind::percent(0, 1_000_000), "125ppm", "0.0125");
        same(&Kind::count("mW", 0, 1 << 30), "1.5W", "1500");
        same(&Kind::count("pJ", 0, 1 << 40), "2.5uJ", "2_500_000");
        same(&Kind::count("ps", 0, 1 << 30), "4GB/s", "250");
        same(&Kind::count("requests", 0, 1 << 30), "100k", "100_000");
        same(&Kind::count("blocks", 0, 1 << 30), "1 block", "1");
        same(&Kind::count("requests/s", 0, 1 << 30), "20kIOPS", "20_000");
        same(&Kind::count("KiB, a multiple of 4", 0, 1 << 30), "1MiB", "1024");
    }

    #[test]
    fn what_cannot_be_held_or_measures_something_else_is_refused() {
        let check = |kind: &Kind, value: &str, expected: &str| {
            let error = parse_value(kind, value).unwrap_err();
            assert!(error.contains(expected), "{value}: {error}");
        };
        let us = Kind::micros(0, 4_000_000_000);
        check(&us, "5MiB", "MiB is a unit of size, and the key is in us; its units are ps, ns, us");
        check(&us, "0.5ps", "0.5ps is not a number (us) from 0 to 4000000 in steps of 0.001");
        check(&us, "5000s", "5000s is not a number (us) from 0 to 4000000");
        let bytes = Kind::count("bytes", 1, 1 << 40);
        check(&bytes, "0.3B", "0.3B is not a whole number (bytes)");
        check(&bytes, "4k", "k may be decimal or binary");
        check(&bytes, "4mib", "did you mean MiB?");
        check(&bytes, "10%", "% is a unit of share, and the key is in bytes");
        check(&Kind::count("ps", 0, 1 << 30), "3GB/s", "3GB/s is not a whole number (ps)");
        check(&Kind::count("blocks", 0, 9), "3us", "the key is in blocks; its units are blocks, k");
    }

    /// Every number of a device key, written with each of its units, is the plain number.
    #[test]
    fn each_unit_of_each_key_gives_the_plain_number() {
        let mut tried = 0;
        for (section, keys, _) in DeviceKeys::default().sections() {
            for key in keys {
                let Kind::Number { unit, scale, min, max } = key.kind else { continue };
                let (dimension, least) = of_key(unit);
                for name in names(unit) {
                    let Some(&(_, other, of)) = UNITS.iter().find(|(known, ..)| *known == name)
                    else {
                        continue;
                    };
                    if other != dimension {
                        continue;
                    }
                    for stored in [min, max, min.midpoint(max), min + (max - min) / 7] {
                        // The number in the other unit, where it has few enough digits.
                        let value = u128::from(stored) * least * 1_000_000;
                        let by = of * u128::from(scale);
                        if !value.is_multiple_of(by) {
                            continue;
                        }
                        let (whole, part) = (value / by / 1_000_000, value / by % 1_000_000);
                        let text = format!("{whole}.{part:06}{name}");
                        let found = parse_value(&key.kind, &text);
                        let path = format!("{section}.{}", key.name);
                        assert_eq!(found, Ok(Value::Number(stored)), "{path} = {text}");
                        tried += 1;
                    }
                }
            }
        }
        assert!(tried > 1_000, "{tried}");
    }
}
