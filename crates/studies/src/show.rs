//! Figures as text.

use crate::schema::Form;

/// A figure in its form; `-` where it is not defined.
pub(crate) fn value(figure: f64, form: Form) -> String {
    in_unit(figure / form.scale(), form)
}

/// A value in the unit of its form, as text; `-` where it is not defined.
pub(crate) fn in_unit(value: f64, form: Form) -> String {
    if !value.is_finite() {
        return "-".to_string();
    }
    match form {
        Form::Ratio | Form::Ms => format!("{value:.3}"),
        Form::Two | Form::Joules | Form::Millijoules => format!("{value:.2}"),
        Form::One | Form::Us1 => format!("{value:.1}"),
        Form::Count => format!("{value:.0}"),
        Form::Us | Form::Microjoules => whole(value),
        Form::Percent => format!("{} %", whole(100.0 * value)),
        Form::Percent1 => format!("{:.1} %", 100.0 * value),
        Form::Change => match whole(100.0 * value).as_str() {
            "0" => "0 %".to_string(),
            text if text.starts_with('-') => format!("{text} %"),
            text => format!("+{text} %"),
        },
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
