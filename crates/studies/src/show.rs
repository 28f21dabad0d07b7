//! Figures as text.

use crate::schema::Form;

/// A value in its form; `-` where it is not defined.
pub(crate) fn value(value: f64, form: Form) -> String {
    if !value.is_finite() {
        return "-".to_string();
    }
    match form {
        Form::Ratio => format!("{value:.3}"),
        Form::Two => format!("{value:.2}"),
        Form::One => format!("{value:.1}"),
        Form::Count => format!("{value:.0}"),
        Form::Percent => format!("{} %", whole(100.0 * value)),
        Form::Percent1 => format!("{:.1} %", 100.0 * value),
        Form::Change => match whole(100.0 * value).as_str() {
            "0" => "0 %".to_string(),
            text if text.starts_with('-') => format!("{text} %"),
            text => format!("+{text} %"),
        },
        Form::Us => whole(value / 1e3),
        Form::Us1 => format!("{:.1}", value / 1e3),
        Form::Ms => format!("{:.3}", value / 1e6),
        Form::Joules => format!("{:.2}", value / 1e12),
        Form::Millijoules => format!("{:.2}", value / 1e9),
        Form::Microjoules => whole(value / 1e6),
    }
}

/// Rounded to a whole number; nothing is never negative.
fn whole(value: f64) -> String {
    let text = format!("{value:.0}");
    if text == "-0" { "0".to_string() } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_never_a_change() {
        let change = |value_of: f64| value(value_of, Form::Change);
        assert_eq!([change(0.004), change(-0.004), change(0.02)], ["0 %", "0 %", "+2 %"]);
        assert_eq!([change(-0.3), value(f64::NAN, Form::Ratio)], ["-30 %", "-"]);
        assert_eq!(value(2_068_201_499.0, Form::Us), "2068201");
    }
}
