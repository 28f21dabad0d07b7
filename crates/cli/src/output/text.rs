//! Text that fits a terminal.

/// Columns that what is printed for people takes at most.
pub(crate) const WIDTH: usize = 80;

/// `head`, then the words of `text` in lines of at most [`WIDTH`] columns, of which all but the
/// first begin with `indent`. Longer words have a line of their own.
pub(crate) fn wrapped(head: &str, text: &str, indent: &str) -> String {
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
        text += &wrapped(&format!("{name}{}", " ".repeat(gap)), doc, &indent);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_fit_and_no_word_is_lost() {
        let words = "a word and another that is longer ".repeat(20);
        let text = wrapped("head  (", &words, "      ");
        assert!(text.lines().all(|line| line.len() <= WIDTH), "{text}");
        assert!(text.starts_with("head  (a word"));
        let found: Vec<&str> = text.strip_prefix("head  (").unwrap().split_whitespace().collect();
        assert_eq!(found, words.split_whitespace().collect::<Vec<_>>());
        let rows = [("a".to_string(), words.clone()), ("bcd".to_string(), "x".to_string())];
        let text = columns("title", &rows);
        assert!(text.starts_with("title\na    a word") && text.ends_with("\nbcd  x\n"), "{text}");
    }
}
