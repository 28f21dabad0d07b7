//! What `--vary` and the `vary` of a sweep file say: alternatives, values and ranges.
//!
//! `KEY=A,B,C` has a point for each value; a value may be a range, `10..30:5`, both ends included,
//! or a list in brackets, `[0,1]`.
//! `KEY=A,KEY=B | KEY=C` has a point for each alternative, which sets all its keys. The keys are
//! those of devices and workloads, and `device`, `workload` and `seed`.

use crate::error::wrong;
use anyhow::Result;

/// A key and its value.
pub type Setting = (String, String);

/// What a point sets.
pub type Point = Vec<Setting>;

/// Names that a point may set beside keys.
pub const NAMES: [&str; 3] = ["device", "workload", "seed"];

/// Points of all axes together, and values of a range, at most.
const MOST: usize = 100_000;

/// The points of one `--vary`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Axis(pub Vec<Point>);

impl Axis {
    /// Reads an axis; `option` is what messages call its place.
    pub fn parse(option: &str, text: &str) -> Result<Self> {
        let fail = |what: &str| wrong(&format!("{option} {text}: {what}"));
        if text.contains('|') {
            let of = |part: &str| alternative(part).map_err(|what| fail(&what));
            return text.split('|').map(of).collect::<Result<_>>().map(Self);
        }
        let Some((key, values)) = text.split_once('=') else {
            return Err(fail("KEY=A,B,C is needed, such as queue.depth=1,16,256"));
        };
        if parts(values).any(is_setting) {
            return Ok(Self(vec![alternative(text).map_err(|what| fail(&what))?]));
        }
        let mut points = Vec::new();
        for value in parts(values) {
            let values = expand(value.trim()).map_err(|what| fail(&what))?;
            points.extend(values.into_iter().map(|value| vec![(key.trim().to_string(), value)]));
        }
        Ok(Self(points))
    }
}

/// Every combination of the points of axes, the last axis changing fastest.
pub fn combinations(option: &str, axes: &[Axis]) -> Result<Vec<Point>> {
    let count = axes.iter().try_fold(1usize, |count, axis| count.checked_mul(axis.0.len()));
    if count.is_none_or(|count| count > MOST) {
        return Err(wrong(&format!("{option}: these are more than {MOST} points; vary less")));
    }
    let mut all: Vec<Point> = vec![Vec::new()];
    for axis in axes {
        let with = |before: &Point| {
            let before = before.clone();
            axis.0.iter().map(move |point| [&before[..], point].concat())
        };
        all = all.iter().flat_map(with).collect();
    }
    for point in &all {
        if let Some(key) = twice(point) {
            return Err(wrong(&format!("{option}: {key} is varied twice; name it once")));
        }
    }
    Ok(all)
}

/// What a point is called: its settings.
pub fn label(point: &[Setting]) -> String {
    let settings: Vec<_> = point.iter().map(|(key, value)| format!("{key}={value}")).collect();
    settings.join(" ")
}

/// The first key that is set twice.
pub fn twice(point: &[Setting]) -> Option<&str> {
    let again = |place: usize| point[..place].iter().any(|(key, _)| *key == point[place].0);
    (0..point.len()).find(|&place| again(place)).map(|place| point[place].0.as_str())
}

/// `KEY=VALUE`, at a `=` behind what may be a key.
pub fn setting(text: &str) -> Result<Setting, String> {
    let pair = text.split_once('=').filter(|(key, _)| !key.trim().is_empty());
    let (key, value) = pair.ok_or_else(|| {
        format!("{:?} is no setting; write KEY=VALUE, such as queue.depth=64", text.trim())
    })?;
    Ok((key.trim().to_string(), value.trim().to_string()))
}

fn alternative(text: &str) -> Result<Point, String> {
    let point = parts(text).map(setting).collect::<Result<Point, _>>()?;
    match twice(&point) {
        Some(key) => Err(format!("{key} is set twice in one alternative; divide them by |")),
        None => Ok(point),
    }
}

/// The parts between commas that are not inside the brackets of a list.
fn parts(text: &str) -> impl Iterator<Item = &str> {
    let mut depth = 0u32;
    text.split(move |c| {
        match c {
            '[' => depth += 1,
            ']' => depth = depth.saturating_sub(1),
            _ => {}
        }
        c == ',' && depth == 0
    })
}

/// Whether a part of a list sets a key of its own: a value may hold a `=`, a path for example.
fn is_setting(part: &str) -> bool {
    let Some((key, _)) = part.trim().split_once('=') else { return false };
    let is_word = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "._-".contains(c);
    NAMES.contains(&key.trim()) || key.contains('.') && key.chars().all(is_word)
}

/// The values of a range, or the value itself.
fn expand(value: &str) -> Result<Vec<String>, String> {
    let Some((first, rest)) = value.split_once("..") else { return Ok(vec![value.to_string()]) };
    let (last, step) = rest.split_once(':').map_or((rest, None), |(last, step)| (last, Some(step)));
    let (Some(first), Some(last)) = (Decimal::parse(first), Decimal::parse(last)) else {
        // A path, such as ../trace.csv.
        return Ok(vec![value.to_string()]);
    };
    let step = match step {
        None if first.digits + last.digits == 0 => Decimal { number: 1, digits: 0 },
        None => return Err(format!("{value} needs a step, such as {value}:0.5")),
        Some(step) => Decimal::parse(step)
            .filter(|step| step.number > 0)
            .ok_or_else(|| format!("{step} is no step; write a number above 0"))?,
    };
    let digits = first.digits.max(last.digits).max(step.digits);
    let [first, last, step] = [first, last, step].map(|one| one.scaled(digits));
    let (Some(first), Some(last), Some(step)) = (first, last, step) else {
        return Err(format!("{value} has too many digits"));
    };
    if first > last {
        return Err(format!("{value} ends below its start; exchange the two"));
    }
    if (last - first) / step >= 100_000 {
        return Err(format!("{value} has more than {MOST} values; raise the step"));
    }
    let count = (last - first) / step;
    let at = |place: i64| Decimal { number: first + place * step, digits }.to_string();
    Ok((0..=count).map(at).collect())
}

/// A decimal number, exactly: ranges have the digits that were written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Decimal {
    /// All its digits.
    pub number: i64,
    /// Digits behind the point.
    pub digits: u32,
}

impl Decimal {
    /// Digits behind the point, at most.
    const FINEST: u32 = 12;

    /// Reads a decimal number. Other texts, and numbers with too many digits, give none.
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        let (whole, part) = text.split_once('.').unwrap_or((text, ""));
        let unsigned = whole.strip_prefix('-').unwrap_or(whole);
        let all_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
        if unsigned.is_empty() || !all_digits(unsigned) || !all_digits(part) {
            return None;
        }
        let part = part.trim_end_matches('0');
        let digits = u32::try_from(part.len()).ok().filter(|digits| *digits <= Self::FINEST)?;
        Some(Self { number: format!("{whole}{part}").parse().ok()?, digits })
    }

    /// The number in units of so many digits behind the point.
    pub fn scaled(self, digits: u32) -> Option<i64> {
        self.number.checked_mul(10i64.checked_pow(digits.checked_sub(self.digits)?)?)
    }
}

impl std::fmt::Display for Decimal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.digits == 0 {
            return write!(f, "{}", self.number);
        }
        let scale = 10u64.pow(self.digits);
        let (whole, part) =
            (self.number.unsigned_abs() / scale, self.number.unsigned_abs() % scale);
        let part = format!("{part:0width$}", width = self.digits as usize);
        let part = part.trim_end_matches('0');
        let sign = if self.number < 0 { "-" } else { "" };
        if part.is_empty() { write!(f, "{sign}{whole}") } else { write!(f, "{sign}{whole}.{part}") }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(text: &str) -> Vec<String> {
        let axis = Axis::parse("--vary", text).unwrap_or_else(|error| panic!("{text}: {error}"));
        axis.0.iter().map(|point| label(point)).collect()
    }

    #[track_caller]
    fn refused(text: &str, why: &str) {
        let error = Axis::parse("--vary", text).expect_err(text).to_string();
        assert!(error.starts_with(&format!("--vary {text}: ")) && error.contains(why), "{error}");
    }

    #[test]
    fn values_ranges_and_alternatives_are_points() {
        assert_eq!(labels("queue.depth=1, 16"), ["queue.depth=1", "queue.depth=16"]);
        assert_eq!(labels("a.b=10..30:10,7"), ["a.b=10", "a.b=20", "a.b=30", "a.b=7"]);
        assert_eq!(labels("a.b=1..3"), ["a.b=1", "a.b=2", "a.b=3"]);
        assert_eq!(labels("a.b=0.5..1.6:0.5"), ["a.b=0.5", "a.b=1", "a.b=1.5"]);
        assert_eq!(labels("a.b=-1..1"), ["a.b=-1", "a.b=0", "a.b=1"]);
        let pairs = labels("map.store=cmt,ftl.scheme=page | ftl.scheme=fast");
        assert_eq!(pairs, ["map.store=cmt ftl.scheme=page", "ftl.scheme=fast"]);
        assert_eq!(labels("a.b=[0,1],[],[1, 0]"), ["a.b=[0,1]", "a.b=[]", "a.b=[1, 0]"]);
        assert_eq!(labels("a.b=[0,1],c.d=2"), ["a.b=[0,1] c.d=2"]);
        assert_eq!(labels("device=drs,workload=movie"), ["device=drs workload=movie"]);
        assert_eq!(labels("workload=../a=1.csv,b.csv"), ["workload=../a=1.csv", "workload=b.csv"]);
    }

    #[test]
    fn what_is_no_axis_is_refused() {
        refused("queue.depth", "KEY=A,B,C is needed");
        refused("a.b=5..1", "ends below its start");
        refused("a.b=0.5..2", "needs a step");
        refused("a.b=1..2:0", "is no step");
        refused("a.b=0..100000000", "more than 100000 values");
        refused("a.b=1 | c", "\"c\" is no setting");
        refused("a.b=1,a.b=2 | a.b=3", "a.b is set twice");
    }

    #[test]
    fn axes_are_combined_and_set_no_key_twice() {
        let axes = |texts: &[&str]| {
            let axes = texts.iter().map(|text| Axis::parse("--vary", text));
            combinations("--vary", &axes.collect::<Result<Vec<_>>>().unwrap())
        };
        let all = axes(&["a.b=1,2", "c.d=3,4"]).unwrap();
        let all: Vec<_> = all.iter().map(|point| label(point)).collect();
        assert_eq!(all, ["a.b=1 c.d=3", "a.b=1 c.d=4", "a.b=2 c.d=3", "a.b=2 c.d=4"]);
        assert!(axes(&["a.b=1", "a.b=2"]).unwrap_err().to_string().contains("a.b is varied twice"));
        assert!(axes(&["a.b=1..1000", "c.d=1..1000"]).unwrap_err().to_string().contains("100000"));
    }

    #[test]
    fn decimals_are_written_as_they_were_read() {
        for (text, shown) in [("5", "5"), ("0.50", "0.5"), ("-0.25", "-0.25"), ("1.0", "1")] {
            assert_eq!(Decimal::parse(text).map(|one| one.to_string()).as_deref(), Some(shown));
        }
        for text in ["", ".", "a", "1e3", "--1", "1.2.3"] {
            assert_eq!(Decimal::parse(text), None, "{text}");
        }
    }
}
