//! The contract of `--json` as data: the files of `crates/cli/schema`, whose README says how they
//! are read.

use toml_edit::{DocumentMut, Item};

/// The files, in the order of the commands that print what they describe.
const FILES: [(&str, &str); 6] = [
    ("run.toml", include_str!("../../schema/run.toml")),
    ("why.toml", include_str!("../../schema/why.toml")),
    ("reproduce.toml", include_str!("../../schema/reproduce.toml")),
    ("trace.toml", include_str!("../../schema/trace.toml")),
    ("fit.toml", include_str!("../../schema/fit.toml")),
    ("list.toml", include_str!("../../schema/list.toml")),
];

/// What a field holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Type {
    Integer,
    Number,
    Text,
    Boolean,
    /// 64 hexadecimal digits.
    Sha256,
    /// The number of the contract.
    Version,
    /// One of a few texts.
    OneOf(Vec<String>),
    /// An object that is described elsewhere.
    Named(String),
    /// What the program's tables of keys and figures describe.
    Made(String),
    List(Box<Type>),
    /// An object of exactly these fields, some names a type.
    Inline(Vec<(Vec<String>, Type)>),
    /// An object of any fields.
    Map(Box<Type>),
    Either(Vec<Type>),
    OrNull(Box<Type>),
}

/// One or several fields of an object, which are alike.
#[derive(Debug)]
pub(super) struct Field {
    pub(super) names: Vec<String>,
    pub(super) kind: Type,
    /// Whether it may be left out.
    pub(super) optional: bool,
    pub(super) unit: Option<String>,
    /// What it is, in Markdown.
    pub(super) what: String,
}

/// An object.
#[derive(Debug)]
pub(super) struct Object {
    pub(super) name: String,
    /// What it is.
    pub(super) title: String,
    pub(super) fields: Vec<Field>,
}

/// Every object.
#[derive(Debug)]
pub(super) struct Contract(pub(super) Vec<Object>);

impl Contract {
    /// That of this program.
    pub(super) fn new() -> Self {
        Self(FILES.iter().flat_map(|(file, text)| objects(file, text)).collect())
    }

    /// The object of a name.
    pub(super) fn object(&self, name: &str) -> &Object {
        let found = self.0.iter().find(|object| object.name == name);
        found.unwrap_or_else(|| panic!("crates/cli/schema describes no {name}"))
    }
}

/// The sections of a file. The files are part of the program: a mistake in one is a bug.
fn objects(file: &str, text: &str) -> Vec<Object> {
    let document: DocumentMut = text.parse().unwrap_or_else(|error| panic!("{file}: {error}"));
    let object = |(name, section): (&str, &Item)| {
        let place = format!("{file}: [{name}]");
        let section = section.as_table().unwrap_or_else(|| panic!("{place} is no section"));
        let mut entries = section.iter();
        let title = entries.next().filter(|(key, _)| key.is_empty());
        let title = title.and_then(|(_, title)| title.as_str());
        let title = title.unwrap_or_else(|| panic!("{place} does not say what it is")).to_string();
        let fields = entries.map(|(names, entry)| field(&format!("{place} {names}"), names, entry));
        Object { name: name.to_string(), title, fields: fields.collect() }
    };
    document.as_table().iter().map(object).collect()
}

fn field(place: &str, names: &str, entry: &Item) -> Field {
    let texts = entry
        .as_array()
        .map(|list| -> Vec<&str> { list.iter().filter_map(toml_edit::Value::as_str).collect() });
    let (kind, unit, what) = match texts.as_deref() {
        Some([kind, what]) => (*kind, None, *what),
        Some([kind, unit, what]) => (*kind, Some((*unit).to_string()), *what),
        None | Some(_) => panic!("{place} is no list of a type, a unit and what it is"),
    };
    let (optional, kind) = match kind.strip_prefix("optional ") {
        Some(kind) => (true, kind),
        None => (false, kind),
    };
    let names = names.split(' ').map(str::to_string).collect();
    Field { names, kind: Type::parse(place, kind), optional, unit, what: what.to_string() }
}

impl Type {
    /// A type as the files write it.
    pub(super) fn parse(place: &str, text: &str) -> Self {
        let mut rest = text;
        let found = Self::either(place, &mut rest);
        assert!(rest.is_empty(), "{place}: {rest:?} is left of the type {text:?}");
        found
    }

    fn either(place: &str, rest: &mut &str) -> Self {
        let mut all = vec![Self::one(place, rest)];
        while take(rest, " | ") {
            all.push(Self::one(place, rest));
        }
        if all.len() == 1 { all.remove(0) } else { Self::Either(all) }
    }

    fn one(place: &str, rest: &mut &str) -> Self {
        let found = if take(rest, "[") {
            let inside = Self::either(place, rest);
            assert!(take(rest, "]"), "{place}: a list that does not end before {rest:?}");
            Self::List(Box::new(inside))
        } else if take(rest, "{") {
            Self::inline(place, rest)
        } else if take(rest, "map ") {
            Self::Map(Box::new(Self::one(place, rest)))
        } else if take(rest, "one of ") {
            let words = word(rest, &['?', ']', '}', ',']);
            Self::OneOf(words.split('/').map(str::to_string).collect())
        } else {
            Self::word(place, word(rest, &['?', ']', '}', ',', ' ']))
        };
        if take(rest, "?") { Self::OrNull(Box::new(found)) } else { found }
    }

    fn inline(place: &str, rest: &mut &str) -> Self {
        let mut fields = Vec::new();
        loop {
            let names = word(rest, &[':']).split(' ').map(str::to_string).collect();
            assert!(take(rest, ": "), "{place}: fields without a type before {rest:?}");
            fields.push((names, Self::either(place, rest)));
            if take(rest, "}") {
                return Self::Inline(fields);
            }
            assert!(take(rest, ", "), "{place}: an object that does not end before {rest:?}");
        }
    }

    fn word(place: &str, word: &str) -> Self {
        match word {
            "integer" => Self::Integer,
            "number" => Self::Number,
            "text" => Self::Text,
            "boolean" => Self::Boolean,
            "sha256" => Self::Sha256,
            "version" => Self::Version,
            _ => match word.strip_prefix('@') {
                Some(made) => Self::Made(made.to_string()),
                None if word.starts_with(char::is_uppercase) => Self::Named(word.to_string()),
                None => panic!("{place}: {word:?} is no type"),
            },
        }
    }

    /// The names of the objects in it.
    pub(super) fn names(&self) -> Vec<&str> {
        match self {
            Self::Named(name) => vec![name],
            Self::List(inside) | Self::Map(inside) | Self::OrNull(inside) => inside.names(),
            Self::Inline(fields) => fields.iter().flat_map(|(_, kind)| kind.names()).collect(),
            Self::Either(all) => all.iter().flat_map(Self::names).collect(),
            _ => Vec::new(),
        }
    }
}

/// Takes a start away.
fn take(rest: &mut &str, start: &str) -> bool {
    let after = rest.strip_prefix(start);
    *rest = after.unwrap_or(rest);
    after.is_some()
}

/// Takes what stands before one of the ends.
fn word<'a>(rest: &mut &'a str, ends: &[char]) -> &'a str {
    let (word, after) = rest.split_at(rest.find(ends).unwrap_or(rest.len()));
    *rest = after;
    word
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn types_are_read_as_the_readme_says() {
        let parse = |text: &str| Type::parse("here", text);
        assert_eq!(parse("integer?"), Type::OrNull(Box::new(Type::Integer)));
        assert_eq!(parse("[Bin]"), Type::List(Box::new(Type::Named("Bin".to_string()))));
        assert_eq!(parse("@device"), Type::Made("device".to_string()));
        let words = ["yes", "in part"].map(str::to_string).to_vec();
        let one_of = Type::OneOf(words);
        assert_eq!(parse("one of yes/in part?"), Type::OrNull(Box::new(one_of.clone())));
        let names = |names: &[&str]| names.iter().map(ToString::to_string).collect::<Vec<_>>();
        let inline = Type::Inline(vec![
            (names(&["a", "b"]), one_of),
            (names(&["c"]), Type::Map(Box::new(Type::Text))),
        ]);
        assert_eq!(parse("{a b: one of yes/in part, c: map text}"), inline);
        let either = Type::Either(vec![inline, Type::List(Box::new(Type::Number))]);
        assert_eq!(parse("{a b: one of yes/in part, c: map text} | [number]"), either);
    }

    /// Every object has one description, and so has every field of one.
    #[test]
    fn names_are_described_once() {
        let contract = Contract::new();
        let mut objects = BTreeSet::new();
        for object in &contract.0 {
            assert!(objects.insert(&object.name), "[{}] twice", object.name);
            let mut fields = BTreeSet::new();
            for field in &object.fields {
                for name in &field.names {
                    assert!(fields.insert(name), "[{}] {name} twice", object.name);
                }
                field.kind.names().iter().for_each(|name| {
                    contract.object(name);
                });
                assert!(!field.what.is_empty() && !field.what.ends_with('.'), "{field:?}");
            }
        }
        assert!(objects.len() > 50, "{objects:?}");
    }
}
