//! Texts for people: lines of a width that fits any terminal.

/// Columns of the widest line.
pub const WIDTH: usize = 80;

/// Text in lines of at most so many columns, the second and later ones indented.
pub fn wrapped(text: &str, width: usize, indent: &str) -> String {
    filled("", text, width, indent)
}

/// `head`, then the words of `text` in lines of at most `width` columns, of which all but the first
/// begin with `indent`. Longer words have a line of their own.
pub fn filled(head: &str, text: &str, width: usize, indent: &str) -> String {
    let mut lines = String::new();
    let mut line = head.to_string();
    let mut used = line.chars().count();
    let mut is_empty = true;
    for word in text.split_whitespace() {
        let letters = word.chars().count();
        if !is_empty && used + 1 + letters > width {
            lines += line.trim_end();
            lines.push('\n');
            line = indent.to_string();
            used = line.chars().count();
            is_empty = true;
        }
        if !is_empty {
            line.push(' ');
            used += 1;
        }
        line += word;
        used += letters;
        is_empty = false;
    }
    lines + line.trim_end()
}

/// `head`, then the words of `text` in lines of at most [`WIDTH`] columns, of which all but the
/// first begin with `indent`. Longer words have a line of their own.
pub fn headed(head: &str, text: &str, indent: &str) -> String {
    filled(head, text, WIDTH, indent) + "\n"
}

/// The same with an indent as wide as the head.
pub fn hanging(head: &str, text: &str) -> String {
    headed(head, text, &" ".repeat(head.chars().count()))
}

/// The first sentence of a description.
pub fn first_sentence(doc: &str) -> String {
    let doc = doc.trim();
    doc.split_once(". ").map_or(doc, |(first, _)| first).trim_end_matches('.').to_string()
}
