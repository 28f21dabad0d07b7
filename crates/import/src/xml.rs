//! Reading MQSim's XML: groups of elements, and what stands in them on which line.

use anyhow::Result;
use flashyard_run::error::{read_text, wrong};
use roxmltree::{Document, Node, TextPos};

/// An element with a value.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub(crate) name: String,
    pub(crate) value: String,
    /// `file:line`.
    pub(crate) place: String,
    pub(crate) line: u32,
    /// Whether the file lacks it: it has the value that MQSim takes then.
    pub(crate) is_default: bool,
}

/// An element with elements in it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Group {
    pub(crate) name: String,
    /// `file:line`.
    pub(crate) place: String,
    pub(crate) entries: Vec<Entry>,
    pub(crate) groups: Vec<Self>,
}

impl Group {
    /// The value of an entry, where it is there and can be read. Whoever lists the entry says what
    /// is wrong with it.
    pub(crate) fn get<T: std::str::FromStr>(&self, name: &str) -> Option<T> {
        self.entries.iter().find(|entry| entry.name == name)?.value.parse().ok()
    }

    /// Whether an entry has this word as its value, however it is written.
    pub(crate) fn is(&self, name: &str, word: &str) -> bool {
        self.get::<String>(name).is_some_and(|value| value.eq_ignore_ascii_case(word))
    }

    /// The group of this name inside, or an empty one.
    pub(crate) fn inside(&self, name: &str) -> Self {
        self.groups.iter().find(|group| group.name == name).cloned().unwrap_or_default()
    }
}

/// The outermost element of a file.
pub(crate) fn read(file: &str) -> Result<Group> {
    let text = read_text(file)?;
    let document = Document::parse(&text).map_err(|error| {
        let TextPos { row, .. } = error.pos();
        wrong(&format!("{file}:{row}: it is no well-formed XML: {error}"))
    })?;
    group(file, &document, document.root_element(), 1)
}

/// The deepest elements that MQSim's files have: keys of flash, in the device, in the file.
const DEEPEST: usize = 4;

/// The group of an element that stands in `depth - 1` others.
fn group(file: &str, document: &Document, node: Node, depth: usize) -> Result<Group> {
    let place = |node: Node| {
        let TextPos { row, .. } = document.text_pos_at(node.range().start);
        (row, format!("{file}:{row}"))
    };
    let name = node.tag_name().name();
    let mut found = Group { name: name.to_string(), place: place(node).1, ..Group::default() };
    for child in node.children() {
        let text = child.text().map_or("", str::trim);
        if child.is_text() && !text.is_empty() {
            let (_, at) = place(child);
            return Err(wrong(&format!("{at}: {text}: no text stands here, only elements")));
        }
        if !child.is_element() {
            continue;
        }
        let (line, at) = place(child);
        let name = child.tag_name().name();
        if let Some(attribute) = child.attributes().next() {
            let what = "MQSim's elements have no attributes; write an element of its own";
            return Err(wrong(&format!("{at}: {name}: {}: {what}", attribute.name())));
        }
        if child.children().any(|inner| inner.is_element()) || text.is_empty() {
            if depth == DEEPEST {
                let what = format!("MQSim's elements are at most {DEEPEST} deep; take it out");
                return Err(wrong(&format!("{at}: {name}: {what}")));
            }
            found.groups.push(group(file, document, child, depth + 1)?);
            continue;
        }
        if let Some(first) = found.entries.iter().find(|entry| entry.name == name) {
            let what = format!("it stands on line {} already; take one of them out", first.line);
            return Err(wrong(&format!("{at}: {name}: {what}")));
        }
        let (name, value) = (name.to_string(), text.to_string());
        found.entries.push(Entry { name, value, place: at, line, is_default: false });
    }
    Ok(found)
}
