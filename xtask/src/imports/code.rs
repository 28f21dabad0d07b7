//! The code of a file, and the paths in it.

use std::ops::Range;

/// A path that a file names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Path {
    /// The line, counted from 0.
    pub(super) index: usize,
    /// The names between the colons, `crate`, `self` and `super` among them.
    pub(super) names: Vec<String>,
    /// Under which name a `use` has it; `*` for all that a module or a type has.
    pub(super) alias: Option<String>,
    /// Whether it is a `use` of the file itself, and not of a function or a module of it.
    pub(super) is_outer: bool,
    /// Whether it stands in a module of the file: `super` is then the file.
    pub(super) is_inner: bool,
}

/// The code of a file that rustfmt has formatted, line by line: without comments, text in quotes
/// and items that only tests have.
pub(super) fn code(text: &str) -> String {
    let bare = bare(text);
    let mut code = String::new();
    let mut skipped: Option<String> = None;
    let mut tests = false;
    for line in bare.lines() {
        let depth = &line[..line.len() - line.trim_start().len()];
        let line = line.trim_end();
        if let Some(end) = &skipped {
            if line == end {
                skipped = None;
            }
        } else if line.trim_start() == "#[cfg(test)]" {
            tests = true;
        } else if tests {
            if line.ends_with('{') {
                skipped = Some(format!("{depth}}}"));
            }
            tests = line.trim_start().starts_with("#[") || !line.ends_with(['{', '}', ';', ',']);
        } else {
            code.push_str(line);
        }
        code.push('\n');
    }
    code
}

/// The modules that only tests have.
pub(super) fn test_modules(text: &str) -> impl Iterator<Item = &str> {
    let lines = text.lines().zip(text.lines().skip(1));
    let after = lines.filter(|(line, _)| line.trim() == "#[cfg(test)]").map(|(_, next)| next);
    after.filter_map(|line| line.rsplit_once("mod ")?.1.strip_suffix(';'))
}

/// A file without comments and without what is in quotes; lines stay where they are.
fn bare(text: &str) -> String {
    let mut bare = String::new();
    let mut rest = text;
    while let Some(letter) = rest.chars().next() {
        let in_word = bare.ends_with(|l: char| l.is_alphanumeric() || l == '_');
        let raw = rest.strip_prefix('b').unwrap_or(rest).strip_prefix('r').filter(|_| !in_word);
        let marks = raw.map_or(0, |raw| raw.len() - raw.trim_start_matches('#').len());
        let length = if rest.starts_with("//") {
            rest.find('\n').unwrap_or(rest.len())
        } else if rest.starts_with("/*") {
            rest.find("*/").map_or(rest.len(), |end| end + 2)
        } else if letter == '"' {
            quoted(rest)
        } else if letter == '\'' {
            character(rest)
        } else if raw.is_some_and(|raw| raw[marks..].starts_with('"')) {
            let start = rest.find('"').map_or(rest.len(), |quote| quote + 1);
            let end = format!("\"{}", "#".repeat(marks));
            rest[start..].find(&end).map_or(rest.len(), |at| start + at + end.len())
        } else {
            bare.push(letter);
            rest = &rest[letter.len_utf8()..];
            continue;
        };
        bare.extend(rest[..length].chars().filter(|letter| *letter == '\n'));
        rest = &rest[length..];
    }
    bare
}

/// How long the text in quotes is with which `rest` begins.
fn quoted(rest: &str) -> usize {
    let mut escaped = false;
    for (at, letter) in rest.char_indices().skip(1) {
        if letter == '"' && !escaped {
            return at + 1;
        }
        escaped = letter == '\\' && !escaped;
    }
    rest.len()
}

/// How long the character is with which `rest` begins; of a lifetime, the mark.
fn character(rest: &str) -> usize {
    let mut letters = rest.char_indices().skip(1);
    match (letters.next(), letters.next()) {
        (Some((_, '\\')), Some((at, letter))) => {
            let end = at + letter.len_utf8();
            rest[end..].find('\'').map_or(rest.len(), |more| end + more + 1)
        }
        (Some(_), Some((at, '\''))) => at + 1,
        _ => 1,
    }
}

/// The paths of several names in `code`, and every `use`; a group in braces as its parts.
pub(super) fn paths(code: &str) -> Vec<Path> {
    let mut found = Vec::new();
    let inner = inner_lines(code);
    let mut at = 0;
    while let Some(start) = code[at..].find(is_letter).map(|start| at + start) {
        let end = start + word(&code[start..]).len();
        at = end;
        let before = &code[..start];
        let is_continued = before.ends_with('.') || before.ends_with("::");
        let is_variable = before.ends_with('$') && &code[start..end] != "crate";
        let is_use = before.ends_with("use ");
        if is_continued || is_variable || !is_use && !code[end..].starts_with("::") {
            continue;
        }
        let line = before.rsplit('\n').next().unwrap_or_default();
        let is_outer = is_use && (line == "use " || line.starts_with("pub"));
        let mut rest = &code[start..];
        let from = found.len();
        read_tree(&mut rest, &[], before.matches('\n').count(), &mut found);
        at = code.len() - rest.len();
        for path in &mut found[from..] {
            path.is_outer = is_outer;
            path.is_inner = inner.iter().any(|lines| lines.contains(&path.index));
            path.alias = path.alias.take().filter(|_| is_use);
        }
    }
    found.retain(|path| path.names.len() > 1 || path.alias.as_deref() == Some("*"));
    found
}

/// The lines of the modules of a file that have no file of their own.
fn inner_lines(code: &str) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut start = None;
    for (index, line) in code.lines().enumerate() {
        let is_module =
            line.starts_with("mod ") || line.contains(") mod ") || line.starts_with("pub mod ");
        if is_module && line.ends_with('{') && !line.starts_with(' ') {
            start = Some(index);
        } else if line == "}" {
            found.extend(start.take().map(|start| start..index));
        }
    }
    found
}

fn is_letter(letter: char) -> bool {
    letter.is_ascii_alphabetic() || letter == '_'
}

pub(super) fn word(text: &str) -> &str {
    let end = text.find(|l: char| !l.is_alphanumeric() && l != '_').unwrap_or(text.len());
    &text[..end]
}

/// Reads a path or a group of paths, as `use` has them, from the start of `rest`.
fn read_tree(rest: &mut &str, prefix: &[String], index: usize, found: &mut Vec<Path>) {
    let mut names = prefix.to_vec();
    let mut index = index;
    let mut alias = None;
    loop {
        index += skip_blank(rest);
        if let Some(group) = rest.strip_prefix('{') {
            *rest = group;
            loop {
                index += skip_blank(rest);
                if rest.is_empty() {
                    return;
                }
                if let Some(after) = rest.strip_prefix('}') {
                    *rest = after;
                    return;
                }
                let length = rest.len();
                let inside = *rest;
                read_tree(rest, &names, index, found);
                let end = rest.find([',', '}']).unwrap_or(rest.len());
                *rest = rest[end..].strip_prefix(',').unwrap_or(&rest[end..]);
                index += inside[..length - rest.len()].matches('\n').count();
            }
        }
        let name = word(rest);
        if let Some(after) = rest.strip_prefix('*') {
            *rest = after;
            alias = Some("*".to_owned());
            break;
        }
        *rest = &rest[name.len()..];
        // `{self}` is what stands before the group.
        if !name.is_empty() && (name != "self" || names.is_empty()) {
            names.push(name.to_owned());
        }
        match rest.strip_prefix("::") {
            Some(after) => *rest = after,
            None => break,
        }
    }
    if let Some(after) = rest.strip_prefix(" as ") {
        alias = Some(word(after).to_owned());
        *rest = &after[word(after).len()..];
    }
    let alias = alias.or_else(|| names.last().cloned());
    found.push(Path { index, names, alias, is_outer: false, is_inner: false });
}

/// Skips white space, and says how many lines that is.
fn skip_blank(rest: &mut &str) -> usize {
    let blank = &rest[..rest.len() - rest.trim_start().len()];
    *rest = rest.trim_start();
    blank.matches('\n').count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_and_quotes_are_no_code() {
        let text =
            "a(\"x // \\\" y\", 'b', '\"', '\\'', 'c); // d\n/* e\n*/ f::<'g>(r#\"h \"\n\"#);\n";
        assert_eq!(bare(text), "a(, , , , c); \n\n f::<g>(\n);\n");
    }

    #[test]
    fn paths_are_read_in_and_out_of_groups() {
        let text = "pub use a::{\n    b::{self, c},\n    d as e,\n    f::*,\n};\n\
                    fn f() {\n    use super::g;\n    x.h::<u8>(i::<u8>(crate::j::k(self::l)));\n}\n";
        let found = paths(&code(text));
        let shown = found.iter().map(|path| {
            let alias = path.alias.as_deref().unwrap_or("-");
            format!("{} {} {alias} {}", path.index, path.names.join("::"), path.is_outer)
        });
        let expected = [
            "1 a::b b true",
            "1 a::b::c c true",
            "2 a::d e true",
            "3 a::f * true",
            "6 super::g g false",
            "7 crate::j::k - false",
            "7 self::l - false",
        ];
        assert_eq!(shown.collect::<Vec<_>>(), expected);
    }
}
