//! What a progress display says.

use flashyard_run::units;
use std::time::Duration;

/// Places of the gauge on a terminal.
pub(super) const GAUGE: usize = 6;

/// How many characters of a label are shown. They are its last ones.
const LABEL: usize = 19;

/// The state of the work that is shown.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shown<'a> {
    pub(super) label: &'a str,
    /// The name of the pieces. It is empty if the work is one piece.
    pub(super) unit: &'static str,
    pub(super) done: u64,
    pub(super) of: u64,
    pub(super) requests: u64,
    /// From 0 to 1, if it is known.
    pub(super) share: Option<f64>,
    pub(super) taken: Duration,
    pub(super) left: Option<Duration>,
}

impl Shown<'_> {
    /// One line, behind a gauge of so many places.
    pub(super) fn text(&self, gauge: usize) -> String {
        let mut parts = Vec::new();
        match (self.unit, self.share) {
            ("", None) => {}
            ("", Some(share)) => parts.push(format!("{:.0} %", (100.0 * share).floor())),
            (unit, _) => parts.push(format!("{} of {} {unit}", self.done, self.of)),
        }
        if self.unit.is_empty() && self.requests > 0 {
            parts.push(format!("{} requests", units::count(self.requests)));
        }
        match (self.left, self.share) {
            (Some(left), _) => parts.push(format!("{} left", duration(left))),
            (None, None) => parts.push(format!("{} so far", duration(self.taken))),
            (None, Some(_)) => {}
        }
        let mut text = String::new();
        if let Some(share) = self.share.filter(|_| gauge > 0) {
            text += &format!("[{}] ", filled(share, gauge));
        }
        if !self.label.is_empty() {
            text += &format!("{}: ", last(self.label));
        }
        text + &parts.join(", ")
    }
}

/// The end of a label that is long.
fn last(label: &str) -> String {
    let more = label.chars().count().saturating_sub(LABEL);
    if more == 0 {
        return label.to_string();
    }
    format!("...{}", label.chars().skip(more + 3).collect::<String>())
}

/// A gauge of so many places.
fn filled(share: f64, places: usize) -> String {
    let is_full = |place: usize| (place as f64) < share * places as f64;
    (0..places).map(|place| if is_full(place) { '#' } else { '-' }).collect()
}

/// A time in the two largest units that say something, rounded up.
fn duration(time: Duration) -> String {
    let seconds = time.as_secs() + u64::from(time.subsec_millis() > 0);
    match seconds {
        0..=99 => format!("{seconds} s"),
        100..=5_999 => format!("{} min", seconds.div_ceil(60)),
        _ => {
            let minutes = seconds.div_ceil(60);
            format!("{} h {} min", minutes / 60, minutes % 60)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOTHING: Shown<'_> = Shown {
        label: "",
        unit: "",
        done: 0,
        of: 1,
        requests: 0,
        share: None,
        taken: Duration::from_secs(61),
        left: None,
    };

    #[test]
    fn it_says_what_is_known() {
        assert_eq!(NOTHING.text(0), "61 s so far");
        let requests = Shown { requests: 1_234_567, ..NOTHING };
        assert_eq!(requests.text(GAUGE), "1,234,567 requests, 61 s so far");
        let left = Some(Duration::from_millis(239_001));
        let half = Shown { share: Some(0.509), left, label: "t.csv", ..requests };
        assert_eq!(half.text(0), "t.csv: 50 %, 1,234,567 requests, 4 min left");
        assert_eq!(half.text(4), "[###-] t.csv: 50 %, 1,234,567 requests, 4 min left");
        let runs = Shown { unit: "runs", done: 312, of: 683, ..half };
        assert_eq!(Shown { label: "", ..runs }.text(0), "312 of 683 runs, 4 min left");
        assert_eq!(Shown { left: None, ..runs }.text(0), "t.csv: 312 of 683 runs");
    }

    #[test]
    fn the_longest_line_fits_a_terminal_of_80_columns() {
        let label = "a/folder/with/a/name/that/is/long/and/then/a/trace.csv.gz";
        let left = Some(Duration::from_secs(400_000));
        let share = Some(0.999);
        let one = Shown { label, requests: 9_999_999_999, share, left, ..NOTHING };
        let text = one.text(0);
        assert!(text.starts_with("...n/a/trace.csv.gz: 99 %"), "{text}");
        let many = Shown { unit: "sets of runs", done: 99_999, of: 99_999, ..one };
        for text in [one.text(GAUGE), many.text(GAUGE)] {
            assert!(text.len() <= 77, "{} of {text}", text.len());
        }
    }

    #[test]
    fn times_have_a_unit_that_fits() {
        let times = [0, 99, 100, 3_600, 5_999, 6_000, 86_400];
        let times = times.map(|seconds| duration(Duration::from_secs(seconds)));
        let expected = ["0 s", "99 s", "2 min", "60 min", "100 min", "1 h 40 min", "24 h 0 min"];
        assert_eq!(times, expected);
    }
}
