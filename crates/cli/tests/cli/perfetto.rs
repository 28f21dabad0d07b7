//! Traces against the message definitions of Perfetto itself (`tests/perfetto/definitions.proto`):
//! every field that a trace has must be one of the format's, of its type.

use crate::support::repository_file;
use crate::timeline::varint;
use std::collections::{BTreeMap, BTreeSet};

/// A field of a message.
#[derive(Debug)]
struct Field {
    name: String,
    kind: String,
    repeats: bool,
    /// The group of fields of which a message has one at most.
    group: Option<String>,
}

/// Messages and enumerations by their names with those around them.
#[derive(Debug, Default)]
pub(crate) struct Definitions {
    messages: BTreeMap<String, BTreeMap<u64, Field>>,
    enums: BTreeMap<String, BTreeSet<u64>>,
}

/// What a brace encloses.
#[derive(Debug)]
enum Scope {
    Message(String),
    Enum(String),
    Group(String),
}

impl Definitions {
    pub(crate) fn read() -> Self {
        let text = repository_file("crates/cli/tests/perfetto/definitions.proto");
        let text: String = text
            .lines()
            .filter(|line| !line.starts_with("//"))
            .flat_map(|line| [line, "\n"])
            .collect();
        let mut found = Self::default();
        let mut scopes: Vec<Scope> = Vec::new();
        for statement in text.split_inclusive([';', '{', '}']) {
            let end = statement.trim_end().chars().last().unwrap_or(' ');
            let words: Vec<&str> = statement
                .split([' ', '\n', ';', '{', '}'])
                .filter(|word| !word.is_empty())
                .collect();
            match end {
                '{' => scopes.push(found.open(&scopes, &words)),
                '}' => drop(scopes.pop().expect("braces match")),
                _ => found.line(&scopes, &words),
            }
        }
        assert!(scopes.is_empty() && found.messages.contains_key("TrackEvent"));
        found
    }

    fn open(&mut self, scopes: &[Scope], words: &[&str]) -> Scope {
        let around = scopes.iter().rev().find_map(|scope| match scope {
            Scope::Message(name) => Some(format!("{name}.")),
            _ => None,
        });
        let name = format!("{}{}", around.unwrap_or_default(), words[1]);
        match words[0] {
            "message" => {
                self.messages.insert(name.clone(), BTreeMap::new());
                Scope::Message(name)
            }
            "enum" => {
                self.enums.insert(name.clone(), BTreeSet::new());
                Scope::Enum(name)
            }
            "oneof" => Scope::Group(name),
            other => panic!("{other} {{"),
        }
    }

    fn line(&mut self, scopes: &[Scope], words: &[&str]) {
        let Some(at) = words.iter().position(|word| *word == "=") else { return };
        let Some(scope) = scopes.last() else { return };
        let number = words[at + 1].parse();
        if let Scope::Enum(name) = scope {
            self.enums.get_mut(name).unwrap().insert(number.expect("a value"));
            return;
        }
        let message = scopes.iter().rev().find_map(|scope| match scope {
            Scope::Message(name) => Some(name),
            _ => None,
        });
        let group = match scope {
            Scope::Group(name) => Some(name.clone()),
            _ => None,
        };
        let field = Field {
            name: words[at - 1].to_string(),
            kind: words[at - 2].to_string(),
            repeats: words[0] == "repeated",
            group,
        };
        let fields = self.messages.get_mut(message.expect("fields are in messages")).unwrap();
        assert!(fields.insert(number.expect("a number"), field).is_none());
    }

    /// What a type is called in full, seen from a message.
    fn full(&self, message: &str, kind: &str) -> Option<String> {
        let mut around = Some(message);
        while let Some(outer) = around {
            let name = format!("{outer}.{kind}");
            if self.messages.contains_key(&name) || self.enums.contains_key(&name) {
                return Some(name);
            }
            around = outer.rsplit_once('.').map(|(outer, _)| outer);
        }
        self.messages.contains_key(kind).then(|| kind.to_string())
    }

    /// Checks the bytes of a message; the error says what is not of the format.
    pub(crate) fn check(&self, message: &str, bytes: &[u8]) -> Result<(), String> {
        let fields = &self.messages[message];
        let (mut seen, mut at) = (BTreeSet::new(), 0);
        while at < bytes.len() {
            let tag = varint(bytes, &mut at);
            let Some(field) = fields.get(&(tag >> 3)) else {
                return Err(format!("{message} has no field {}", tag >> 3));
            };
            let place = format!("{message}.{}", field.name);
            let once = field.group.as_ref().unwrap_or(&field.name);
            if !field.repeats && !seen.insert(once) {
                return Err(format!("{place} is there twice"));
            }
            let from = at;
            let value = match tag & 7 {
                0 => varint(bytes, &mut at),
                1 => {
                    at += 8;
                    0
                }
                2 => {
                    let count = varint(bytes, &mut at);
                    at += usize::try_from(count).unwrap();
                    count
                }
                5 => {
                    at += 4;
                    0
                }
                wire => return Err(format!("{place}: wire type {wire}")),
            };
            let wire = self.wire(message, field).ok_or(format!("{place}: {}?", field.kind))?;
            if wire != tag & 7 {
                return Err(format!("{place} has wire type {}, not {wire}", tag & 7));
            }
            if at > bytes.len() {
                return Err(format!("{place} is cut off"));
            }
            let text = || &bytes[at - usize::try_from(value).unwrap()..at];
            match (self.full(message, &field.kind), field.kind.as_str()) {
                (Some(name), _) if self.messages.contains_key(&name) => {
                    self.check(&name, text())?;
                }
                (Some(name), _) if !self.enums[&name].contains(&value) => {
                    return Err(format!("{place}: {name} has no value {value}"));
                }
                (_, "string") if std::str::from_utf8(text()).is_err() => {
                    return Err(format!("{place} is no text"));
                }
                (_, "bool") if value > 1 || at - from != 1 => {
                    return Err(format!("{place} is neither true nor false"));
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// The wire type of a field; repeated numbers are not packed in this version of the language.
    fn wire(&self, message: &str, field: &Field) -> Option<u64> {
        match field.kind.as_str() {
            "int32" | "int64" | "uint32" | "uint64" | "sint32" | "sint64" | "bool" => Some(0),
            "fixed64" | "sfixed64" | "double" => Some(1),
            "string" | "bytes" => Some(2),
            "fixed32" | "sfixed32" | "float" => Some(5),
            kind => {
                let name = self.full(message, kind)?;
                Some(if self.messages.contains_key(&name) { 2 } else { 0 })
            }
        }
    }
}

#[test]
fn what_is_not_of_the_format_is_found() {
    let definitions = Definitions::read();
    // A trace has packets (1), a packet a time (8), a number (10) and an event (11).
    let packet = |bytes: &[u8]| {
        let mut all = vec![0x0A, u8::try_from(bytes.len()).unwrap()];
        all.extend(bytes);
        definitions.check("Trace", &all)
    };
    assert_eq!(packet(&[0x40, 5, 0x50, 1]), Ok(()));
    let refused = |bytes: &[u8], said: &str| {
        let error = packet(bytes).expect_err(said);
        assert!(error.contains(said), "{error}");
    };
    refused(&[0xC0, 0x3E, 5], "TracePacket has no field 1000");
    refused(&[0x41, 0, 0, 0, 0, 0, 0, 0, 0], "TracePacket.timestamp has wire type 1, not 0");
    refused(&[0x40, 5, 0x40, 5], "TracePacket.timestamp is there twice");
    // An event (11) of the type (9) 1 is a slice; there is no type 77. Its name (23) is a text.
    assert_eq!(packet(&[0x5A, 2, 0x48, 1]), Ok(()));
    refused(&[0x5A, 2, 0x48, 77], "TrackEvent.type: TrackEvent.Type has no value 77");
    refused(&[0x5A, 5, 0xBA, 0x01, 2, 0xFF, 0xFE], "TrackEvent.name is no text");
}
