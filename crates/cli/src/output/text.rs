//! Lines of prose and figures, of a width that fits any terminal.

use super::style;
pub(crate) use flashyard_run::text::{WIDTH, filled, first_sentence, hanging, headed, wrapped};
use std::borrow::Cow;

/// Columns of the name that a line of figures begins with.
const NAME: usize = 13;

/// A name, and what is said of it beside it in as many lines as it takes.
pub(crate) fn line(name: &str, said: &str) -> String {
    marked_line(name, "", said)
}

/// The same with a mark before what is said.
pub(crate) fn marked_line(name: &str, mark: &str, said: &str) -> String {
    let head = format!("{name:NAME$}{mark}");
    filled(&head, said, WIDTH, &" ".repeat(head.chars().count()))
}

/// A text in which no name of a file, a stream or a column can move the cursor of a terminal:
/// control characters are shown as `\u{1b}`, except line ends, tabs, and the colour of marked
/// lines.
pub(crate) fn harmless(text: &str) -> Cow<'_, str> {
    let is_harmful = |c: char| c.is_control() && c != '\n' && c != '\t';
    if !text.contains(is_harmful) {
        return Cow::Borrowed(text);
    }
    let mut clean = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(is_harmful) {
        let (before, from) = rest.split_at(at);
        clean += before;
        let colour = style::COLOURS.iter().find(|colour| from.starts_with(**colour));
        let taken = if let Some(colour) = colour {
            clean += colour;
            colour.len()
        } else {
            let harmful = from.chars().next().expect("found");
            clean.extend(harmful.escape_default());
            harmful.len_utf8()
        };
        rest = &from[taken..];
    }
    Cow::Owned(clean + rest)
}

/// Markdown with the words of its links in their place. A link whose words go over a line stays.
pub(crate) fn without_links(markdown: &str) -> String {
    let mut text = String::new();
    let mut rest = markdown;
    while let Some((before, link)) = rest.split_once('[') {
        let whole = link.split_once("](").and_then(|(words, target)| {
            let inside = words.contains(['[', ']', '\n']);
            (!inside).then(|| target.split_once(')').map(|(_, after)| (words, after)))?
        });
        text += before;
        if let Some((words, after)) = whole {
            text += words;
            rest = after;
        } else {
            text.push('[');
            rest = link;
        }
    }
    text + rest
}

/// Rows of a name and a text under a title: the texts in a column of their own.
pub(crate) fn columns(title: &str, rows: &[(String, String)]) -> String {
    let widest = rows.iter().map(|(name, _)| name.chars().count()).max().unwrap_or(0);
    let mut text = format!("{title}\n");
    for (name, doc) in rows {
        text += &hanging(&format!("{name:widest$}  "), doc);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_cannot_move_the_cursor() {
        let marked = style::marked("a line");
        assert!(style::COLOURS.iter().all(|colour| marked.contains(colour)));
        assert_eq!(harmless(&marked), marked);
        assert_eq!(harmless("a\tb\n"), "a\tb\n");
        assert_eq!(harmless("x\u{1b}[2Jy\0z\r\u{9b}"), "x\\u{1b}[2Jy\\u{0}z\\r\\u{9b}");
    }

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

    #[test]
    fn links_are_left_out_of_descriptions() {
        assert_eq!(without_links("as in [KEYS.md](KEYS.md) (us)"), "as in KEYS.md (us)");
        let sections = "keys of `[trace]` ([KEYS.md](KEYS.md#a)), or `[raw]`";
        assert_eq!(without_links(sections), "keys of `[trace]` (KEYS.md), or `[raw]`");
    }
}
