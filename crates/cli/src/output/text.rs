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

/// `head`, then the words of `text` in lines of at most [`WIDTH`] columns, of which all but the
/// first begin with `indent`. Longer words have a line of their own.
pub(crate) fn headed(head: &str, text: &str, indent: &str) -> String {
    let mut lines = String::new();
    let mut line = head.to_string();
    let mut is_empty = true;
    for word in text.split_whitespace() {
        let space = usize::from(!is_empty);
        if !is_empty && line.chars().count() + space + word.chars().count() > WIDTH {
            lines += line.trim_end();
            lines.push('\n');
            line = indent.to_string();
            is_empty = true;
        }
        if !is_empty {
            line.push(' ');
        }
        line += word;
        is_empty = false;
    }
    lines + line.trim_end() + "\n"
}

/// Rows of a name and a text under a title: the texts in a column of their own.
pub(crate) fn columns(title: &str, rows: &[(String, String)]) -> String {
    let widest = rows.iter().map(|(name, _)| name.chars().count()).max().unwrap_or(0);
    let indent = " ".repeat(widest + 2);
    let mut text = format!("{title}\n");
    for (name, doc) in rows {
        let gap = widest + 2 - name.chars().count();
        text += &headed(&format!("{name}{}", " ".repeat(gap)), doc, &indent);
    }
    text
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

    #[test]
    fn lines_fit_and_no_word_is_lost() {
        let words = "a word and another that is longer ".repeat(20);
        let text = headed("head  (", &words, "      ");
        assert!(text.lines().all(|line| line.len() <= WIDTH), "{text}");
        assert!(text.starts_with("head  (a word"));
        let found: Vec<&str> = text.strip_prefix("head  (").unwrap().split_whitespace().collect();
        assert_eq!(found, words.split_whitespace().collect::<Vec<_>>());
        let rows = [("a".to_string(), words.clone()), ("bcd".to_string(), "x".to_string())];
        let text = columns("title", &rows);
        assert!(text.starts_with("title\na    a word") && text.ends_with("\nbcd  x\n"), "{text}");
    }
}
