//! Lines of prose and figures, of a width that fits any terminal.

/// Columns of the widest line.
pub(crate) const WIDTH: usize = 80;

/// Columns of the name that a line of figures begins with.
const NAME: usize = 13;

/// Text in lines of at most so many columns, the second and later ones indented.
pub(crate) fn wrapped(text: &str, width: usize, indent: &str) -> String {
    let mut lines: Vec<String> = Vec::new();
    let mut used = 0;
    for word in text.split_whitespace() {
        let letters = word.chars().count();
        match lines.last_mut() {
            Some(line) if used + 1 + letters <= width => {
                line.push(' ');
                line.push_str(word);
                used += 1 + letters;
            }
            Some(_) => {
                lines.push(format!("{indent}{word}"));
                used = indent.len() + letters;
            }
            None => {
                lines.push(word.to_string());
                used = letters;
            }
        }
    }
    lines.join("\n")
}

/// A name, and what is said of it beside it in as many lines as it takes.
pub(crate) fn line(name: &str, said: &str) -> String {
    marked_line(name, "", said)
}

/// The same with a mark before what is said.
pub(crate) fn marked_line(name: &str, mark: &str, said: &str) -> String {
    let margin = " ".repeat(NAME + mark.chars().count());
    let said = wrapped(said, WIDTH - margin.len(), "");
    format!("{name:NAME$}{mark}{}", said.replace('\n', &format!("\n{margin}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_end_between_words() {
        assert_eq!(wrapped("one two three", 7, ""), "one two\nthree");
        assert_eq!(wrapped("one two three", 7, "  "), "one two\n  three");
        assert_eq!(wrapped("", 7, ""), "");
        assert_eq!(wrapped("\u{e9}\u{e9}\u{e9} two", 7, ""), "\u{e9}\u{e9}\u{e9} two");
    }

    #[test]
    fn what_is_said_stays_beside_its_name() {
        let text = line("energy", &"word ".repeat(30));
        assert!(text.lines().all(|line| line.chars().count() <= WIDTH), "{text}");
        assert!(text.lines().skip(1).all(|line| line.starts_with("             word")), "{text}");
        assert!(marked_line("", "! ", "so").ends_with("             ! so"));
    }
}
