//! Keys as sections list them: with the names of a user's own parts among their words.

use flashyard_core::key::Key;
use std::borrow::Cow;
use std::fmt;

/// A section: its name, its keys and a line about it.
pub type Section<'a> = (Cow<'a, str>, KeyList<'a>, &'a str);

/// How a key holds its words.
pub trait WordList: fmt::Debug {
    /// The words; the place of one is its value.
    fn words(&self) -> impl Iterator<Item = &str>;
}

impl WordList for &'static [&'static str] {
    fn words(&self) -> impl Iterator<Item = &str> {
        self.iter().copied()
    }
}

/// The words of a listed key: those that are built in, then the names of the user's own parts.
#[derive(Clone, Copy, Debug)]
pub struct Words<'a> {
    built_in: &'static [&'static str],
    own: &'a [String],
}

impl<'a> Words<'a> {
    /// The words; the place of one is its value.
    pub fn iter(self) -> impl Iterator<Item = &'a str> {
        self.built_in.iter().copied().chain(self.own.iter().map(String::as_str))
    }
}

impl WordList for Words<'_> {
    fn words(&self) -> impl Iterator<Item = &str> {
        self.iter()
    }
}

/// A key as a section lists it.
pub type ListedKey<'a> = Key<Words<'a>>;

/// The keys of a section.
#[derive(Clone, Copy, Debug)]
pub struct KeyList<'a> {
    keys: &'static [Key],
    /// The key that chooses a part, and the names of the user's own.
    own: (&'static str, &'a [String]),
}

impl<'a> KeyList<'a> {
    /// Keys whose words are all built in.
    pub const fn new(keys: &'static [Key]) -> Self {
        Self { keys, own: ("", &[]) }
    }

    /// With these names of parts among the words of the key that chooses one.
    pub(crate) const fn with_own(self, chooser: &'static str, names: &'a [String]) -> Self {
        Self { own: (chooser, names), ..self }
    }

    /// The keys, in the order in which they are declared.
    pub fn iter(self) -> impl Iterator<Item = ListedKey<'a>> {
        self.into_iter()
    }

    /// The key of this name.
    pub fn find(self, name: &str) -> Option<ListedKey<'a>> {
        self.iter().find(|key| key.name == name)
    }

    /// How many there are.
    pub const fn len(self) -> usize {
        self.keys.len()
    }

    /// Whether there are none.
    pub const fn is_empty(self) -> bool {
        self.keys.is_empty()
    }
}

impl<'a> IntoIterator for KeyList<'a> {
    type Item = ListedKey<'a>;
    type IntoIter = KeyIter<'a>;

    fn into_iter(self) -> KeyIter<'a> {
        KeyIter { keys: self.keys.iter(), own: self.own }
    }
}

/// The keys of a section, one after the other.
#[derive(Clone, Debug)]
pub struct KeyIter<'a> {
    keys: std::slice::Iter<'static, Key>,
    own: (&'static str, &'a [String]),
}

impl<'a> Iterator for KeyIter<'a> {
    type Item = ListedKey<'a>;

    fn next(&mut self) -> Option<ListedKey<'a>> {
        let key = self.keys.next()?;
        let (chooser, names) = self.own;
        let own = if chooser == key.name { names } else { &[] };
        Some(key.with_words(|built_in| Words { built_in, own }))
    }
}
