//! The span of simulated time that a timeline shows.

use flashyard_core::units::Time;
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

/// Units of time, and how many nanoseconds they have.
const UNITS: [(&str, u64); 4] = [("ns", 1), ("us", 1_000), ("ms", 1_000_000), ("s", 1_000_000_000)];

/// A time such as 10ms or 1.5s, in nanoseconds.
fn time(text: &str) -> Result<u64, String> {
    let wrong = || format!("{text:?} is no time such as 10ms; the units are ns, us, ms and s");
    let (number, unit) = UNITS
        .iter()
        .find_map(|(name, ns)| {
            let number = text.strip_suffix(name)?;
            number.ends_with(|last: char| last.is_ascii_digit()).then_some((number, *ns))
        })
        .ok_or_else(wrong)?;
    let (whole, part) = number.split_once('.').unwrap_or((number, ""));
    let digits = u32::try_from(part.len()).map_err(|_| wrong())?;
    let (whole, part): (u64, u64) = match (whole.parse(), part) {
        (Ok(whole), "") => (whole, 0),
        (Ok(whole), part) => (whole, part.parse().map_err(|_| wrong())?),
        _ => return Err(wrong()),
    };
    let scale = 10u64.checked_pow(digits).ok_or_else(wrong)?;
    let part = part.checked_mul(unit).ok_or_else(wrong)? / scale;
    whole.checked_mul(unit).and_then(|ns| ns.checked_add(part)).ok_or_else(wrong)
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
