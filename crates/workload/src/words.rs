//! Words that agree with a number, for sentences with figures.

/// A number and what it counts: `1 row`, `2 rows`, `3 flushes`.
pub(crate) fn counted(count: u64, noun: &str) -> String {
    let end = match count {
        1 => "",
        _ if noun.ends_with("sh") => "es",
        _ => "s",
    };
    format!("{count} {noun}{end}")
}

/// The word for one thing, or the one for several.
pub(crate) const fn either<'a>(count: u64, one: &'a str, several: &'a str) -> &'a str {
    if count == 1 { one } else { several }
}

/// The end of the sentence that begins with so many things.
pub(crate) const fn was(count: u64) -> &'static str {
    either(count, "was", "were")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_agree_with_numbers() {
        let rows = [0, 1, 2].map(|count| format!("{} {}", counted(count, "row"), was(count)));
        assert_eq!(rows, ["0 rows were", "1 row was", "2 rows were"]);
        assert_eq!([1, 2].map(|count| counted(count, "flush")), ["1 flush", "2 flushes"]);
    }
}
