//! Figures in the units that a person reads, with three significant digits: 1.20 ms, 931 GiB,
//! 3.97 J. Raw figures are in the JSON.

/// A figure that is not defined.
pub const NONE: &str = "-";

/// A unit and how many of the smallest unit it is.
type Unit = (f64, &'static str);

const TIMES: [Unit; 4] = [(1.0, "ns"), (1e3, "us"), (1e6, "ms"), (1e9, "s")];
const ENERGIES: [Unit; 6] =
    [(1.0, "pJ"), (1e3, "nJ"), (1e6, "uJ"), (1e9, "mJ"), (1e12, "J"), (1e15, "kJ")];
const POWERS: [Unit; 3] = [(1e-3, "uW"), (1.0, "mW"), (1e3, "W")];
const RATES: [Unit; 4] = [(1.0, "B/s"), (1e3, "kB/s"), (1e6, "MB/s"), (1e9, "GB/s")];
const EFFICIENCIES: [Unit; 3] = [(1e-3, "mJ/GB"), (1.0, "J/GB"), (1e3, "kJ/GB")];
const SIZES: [Unit; 5] = [
    (1.0, "B"),
    (1024.0, "KiB"),
    (1_048_576.0, "MiB"),
    (1_073_741_824.0, "GiB"),
    (1_099_511_627_776.0, "TiB"),
];

/// A time in nanoseconds.
pub fn time(ns: f64) -> String {
    scaled(ns, &TIMES)
}

/// An energy in picojoules.
pub fn energy(pj: f64) -> String {
    scaled(pj, &ENERGIES)
}

/// A power in milliwatts.
pub fn power(mw: f64) -> String {
    scaled(mw, &POWERS)
}

/// Bytes a second, in decimal units as drives are sold.
pub fn rate(bytes_per_s: f64) -> String {
    scaled(bytes_per_s, &RATES)
}

/// Joules a gigabyte of 10^9 bytes.
pub fn efficiency(j_per_gb: f64) -> String {
    scaled(j_per_gb, &EFFICIENCIES)
}

/// Bytes of memory or capacity, in binary units.
pub fn size(bytes: u64) -> String {
    if bytes < 1_024 { format!("{bytes} B") } else { scaled(bytes as f64, &SIZES) }
}

/// Requests a second.
pub fn per_second(rate: f64) -> String {
    significant(rate)
}

/// A count, its digits in groups of three.
pub fn count(count: u64) -> String {
    grouped(&count.to_string())
}

fn grouped(digits: &str) -> String {
    let groups = digits.as_bytes().rchunks(3).rev();
    let groups = groups.map(|group| group.iter().map(|digit| char::from(*digit)).collect());
    groups.collect::<Vec<String>>().join(",")
}

/// A share in percent with one digit.
pub fn percent(part: f64, whole: f64) -> String {
    if whole > 0.0 { format!("{:.1} %", 100.0 * part / whole) } else { NONE.to_string() }
}

/// Shows a figure by `show`. A dash stands for no figure.
pub fn or_dash<T>(value: Option<T>, show: impl FnOnce(T) -> String) -> String {
    value.map_or_else(|| NONE.to_string(), show)
}

/// In the largest unit that leaves a digit before the point. Nothing has the smallest unit but one.
fn scaled(value: f64, units: &[Unit]) -> String {
    let fits = |(scale, _): &&Unit| {
        significant(value / scale) != significant(0.0) && value >= 0.9995 * scale
    };
    let (scale, unit) = units.iter().rfind(fits).unwrap_or(&units[0]);
    format!("{} {unit}", significant(value / scale))
}

/// Three significant digits, and all digits of larger numbers.
fn significant(value: f64) -> String {
    if value == 0.0 {
        "0".to_string()
    } else if value < 9.995 {
        format!("{value:.2}")
    } else if value < 99.95 {
        format!("{value:.1}")
    } else {
        grouped(&format!("{value:.0}"))
    }
}

/// Figures beside one another as text; who shows them decides how.
#[derive(Clone, Debug, Default)]
pub struct Table {
    /// The titles of the columns.
    pub header: Vec<String>,
    /// A cell for each column.
    pub rows: Vec<Vec<String>>,
}

impl Table {
    /// A table without rows.
    pub fn new(header: &[&str]) -> Self {
        let header = header.iter().map(ToString::to_string).collect();
        Self { header, rows: Vec::new() }
    }

    /// Adds a row.
    pub fn add(&mut self, row: impl IntoIterator<Item = String>) {
        self.rows.push(row.into_iter().collect());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_have_three_digits_and_the_unit_that_fits() {
        let times = [0.0, 7.0, 999.4, 1_000.0, 47_100.0, 999_400.0, 999_600.0, 1.2e6, 5.402e9];
        assert_eq!(
            times.map(time),
            [
                "0 ns", "7.00 ns", "999 ns", "1.00 us", "47.1 us", "999 us", "1.00 ms", "1.20 ms",
                "5.40 s"
            ]
        );
        assert_eq!(time(1_113.4e9), "1,113 s");
        assert_eq!([3.97e12, 1_195.5e9].map(energy), ["3.97 J", "1.20 J"]);
        assert_eq!([0.5, 1.074, 1_732.4].map(power), ["500 uW", "1.07 mW", "1.73 W"]);
        assert_eq!([12e6, 758.2e6, 6.9e9].map(rate), ["12.0 MB/s", "758 MB/s", "6.90 GB/s"]);
    }

    #[test]
    fn sizes_are_binary_and_counts_grouped() {
        assert_eq!(size(0), "0 B");
        assert_eq!(size(1_023), "1023 B");
        assert_eq!(size(93_184), "91.0 KiB");
        assert_eq!(size(1 << 40), "1.00 TiB");
        assert_eq!(size(1_000_000_000_000), "931 GiB");
        assert_eq!([0, 999, 1_000, 1_234_567].map(count), ["0", "999", "1,000", "1,234,567"]);
        assert_eq!([3.5, 99.97, 185_112.1].map(per_second), ["3.50", "100", "185,112"]);
    }
}
