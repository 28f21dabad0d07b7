//! The span of simulated time that a timeline shows.

use flashyard_core::key::{Kind, Value};
use flashyard_core::units::Time;
use flashyard_sim::config::parse_value;
use std::str::FromStr;

/// From when until when.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Window {
    pub(crate) from: Time,
    pub(crate) until: Time,
}

impl Default for Window {
    /// All of a run.
    fn default() -> Self {
        Self { from: Time::ZERO, until: Time::MAX }
    }
}

impl Window {
    /// Whether what took a span is shown: if it began before the window ends, and was over no
    /// earlier than the window begins.
    pub(crate) fn overlaps(&self, from: Time, until: Time) -> bool {
        from <= self.until && until >= self.from
    }
}

/// A time such as 10ms or 1.5s, in nanoseconds.
fn time(text: &str) -> Result<u64, String> {
    let has_unit = text.ends_with(|last: char| last.is_ascii_alphabetic());
    match parse_value(&Kind::count("ns", 0, u64::MAX), text) {
        Ok(Value::Number(ns)) if has_unit => Ok(ns),
        _ => Err(format!("{text:?} is no time such as 10ms; the units are ns, us, ms and s")),
    }
}

impl FromStr for Window {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (from, until) =
            text.split_once("..").ok_or("FROM..TO is needed, such as 10ms..20ms")?;
        let (from, until) = (time(from.trim())?, time(until.trim())?);
        if from >= until {
            return Err("the window is empty: FROM must be before TO".to_string());
        }
        Ok(Self { from: Time::from_ns(from), until: Time::from_ns(until) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_have_units() {
        let window = |text: &str| text.parse().map(|w: Window| (w.from.as_ns(), w.until.as_ns()));
        assert_eq!(window("10ms..20ms"), Ok((10_000_000, 20_000_000)));
        assert_eq!(window("0ns..1.5s"), Ok((0, 1_500_000_000)));
        assert_eq!(window("2.25us .. 1ms"), Ok((2_250, 1_000_000)));
        for bad in ["10ms", "10..20", "20ms..10ms", "1ms..1ms", "ms..2ms", "1.ms..2ms", "-1ms..2ms"]
        {
            assert!(window(bad).is_err(), "{bad}");
        }
    }
}
