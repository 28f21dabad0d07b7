//! Configuration keys as data.
//!
//! A part declares its keys once, with [`keys!`](crate::keys). Parsing, range checks, help, the
//! generated reference and the test that every key does something all read the same table.

use crate::quantity::{Bytes, Micro, Milli, Ppm, Sectors};
use crate::units::Span;
use core::fmt;

/// What a key accepts. `W` is the type of its list of words. Tables of keys have the built-in
/// words; a list with words of other parts uses a `W` of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind<W = &'static [&'static str]> {
    /// `true` or `false`.
    Bool,
    /// A number in `unit`; multiplied by `scale` it must be an integer in `min..=max`.
    Number {
        /// The unit of the number as written in a file.
        unit: &'static str,
        /// Stored value = written value x scale: `read_us = 60` is stored as 60,000 ns.
        scale: u64,
        /// Least stored value.
        min: u64,
        /// Greatest stored value.
        max: u64,
    },
    /// One of a few words.
    Choice(W),
    /// Whole numbers in brackets, `[0, 2, 1]`, or none.
    List {
        /// The unit of each of them.
        unit: &'static str,
        /// How many there may be, at most [`ByteList::MOST`].
        count: u8,
        /// The greatest one.
        max: u8,
    },
}

impl<W> Kind<W> {
    /// The same with its words held otherwise.
    pub fn with_words<V>(self, hold: impl FnOnce(W) -> V) -> Kind<V> {
        match self {
            Self::Bool => Kind::Bool,
            Self::Number { unit, scale, min, max } => Kind::Number { unit, scale, min, max },
            Self::Choice(words) => Kind::Choice(hold(words)),
            Self::List { unit, count, max } => Kind::List { unit, count, max },
        }
    }
}

impl Kind {
    /// A whole number.
    pub const fn count(unit: &'static str, min: u64, max: u64) -> Self {
        Self::Number { unit, scale: 1, min, max }
    }

    /// A time written in microseconds and stored in nanoseconds; bounds in nanoseconds.
    pub const fn micros(min: u64, max: u64) -> Self {
        Self::Number { unit: "us", scale: 1_000, min, max }
    }

    /// A time written in milliseconds and stored in nanoseconds; bounds in nanoseconds.
    pub const fn millis(min: u64, max: u64) -> Self {
        Self::Number { unit: "ms", scale: 1_000_000, min, max }
    }

    /// A share written in percent and stored in parts per million; bounds in parts per million.
    pub const fn percent(min: u64, max: u64) -> Self {
        Self::Number { unit: "%", scale: 10_000, min, max }
    }
}

/// The value of a key, checked against its [`Kind`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Value {
    /// Of a [`Kind::Bool`].
    Bool(bool),
    /// Of a [`Kind::Number`], scaled.
    Number(u64),
    /// Of a [`Kind::Choice`]: the index of the word.
    Choice(usize),
    /// Of a [`Kind::List`].
    List(ByteList),
}

/// A few whole numbers from 0 to 255 in order, in themselves: settings need no memory beside them.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct ByteList {
    count: u8,
    /// Zeros behind the last one.
    numbers: [u8; Self::MOST as usize],
}

impl ByteList {
    /// How many numbers there may be.
    pub const MOST: u8 = 128;
    /// None.
    pub const EMPTY: Self = Self { count: 0, numbers: [0; Self::MOST as usize] };

    /// The same with another number at its end; none where there are as many as there may be.
    #[must_use]
    pub fn with(mut self, number: u8) -> Option<Self> {
        *self.numbers.get_mut(usize::from(self.count))? = number;
        self.count += 1;
        Some(self)
    }

    /// The numbers.
    pub fn numbers(&self) -> &[u8] {
        &self.numbers[..usize::from(self.count)]
    }

    /// Whether there is none.
    pub const fn is_empty(&self) -> bool {
        self.count == 0
    }
}

impl fmt::Debug for ByteList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.numbers().fmt(f)
    }
}

/// One configuration key; see [`Kind`] for `W`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Key<W = &'static [&'static str]> {
    /// Its name inside its section.
    pub name: &'static str,
    /// What it means; the first sentence is the help line.
    pub doc: &'static str,
    /// What it accepts.
    pub kind: Kind<W>,
    /// Where the default comes from: a paper, a standard, a formula, or "assumed".
    pub source: &'static str,
    /// Another value, as written in a file, that changes some result ...
    pub flip: &'static str,
    /// ... of a run with these settings (`section.key=value`).
    pub with: &'static [&'static str],
}

impl<W> Key<W> {
    /// The same with its words held otherwise.
    pub fn with_words<V>(self, hold: impl FnOnce(W) -> V) -> Key<V> {
        let Self { name, doc, kind, source, flip, with } = self;
        Key { name, doc, kind: kind.with_words(hold), source, flip, with }
    }
}

/// What a Rust type holds of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stores {
    /// Of a [`Kind::Bool`].
    Bool,
    /// Of a [`Kind::Choice`].
    Word,
    /// The very number that is written.
    Written,
    /// A time, in nanoseconds.
    Nanoseconds,
    /// A number of `unit` as so many parts each, where a unit is asked for.
    Parts(u64, Option<&'static str>),
    /// Of a [`Kind::List`].
    List,
}

impl Stores {
    /// Whether a key of this kind can be held so.
    pub const fn fits(self, kind: &Kind) -> bool {
        match (self, kind) {
            (Self::Bool, Kind::Bool) | (Self::Word, Kind::Choice(_)) => true,
            (Self::List, Kind::List { count, .. }) => *count <= ByteList::MOST,
            (Self::Written, Kind::Number { scale, .. }) => *scale == 1,
            (Self::Nanoseconds, Kind::Number { unit, scale, .. }) => {
                let ns = match unit.as_bytes() {
                    b"ns" => 1,
                    b"us" => 1_000,
                    b"ms" => 1_000_000,
                    b"s" => 1_000_000_000,
                    _ => 0,
                };
                *scale == ns
            }
            (Self::Parts(parts, of), Kind::Number { unit, scale, .. }) => {
                let is_unit = match of {
                    Some(of) => same(of.as_bytes(), unit.as_bytes()),
                    None => true,
                };
                *scale == parts && is_unit
            }
            _ => false,
        }
    }
}

/// Whether two texts are the same, while a program is compiled.
const fn same(one: &[u8], other: &[u8]) -> bool {
    let (mut at, mut same) = (0, one.len() == other.len());
    while same && at < one.len() {
        same = one[at] == other[at];
        at += 1;
    }
    same
}

/// A Rust type that a key's value is stored in.
pub trait KeyValue: Copy {
    /// What it holds; a key of another kind does not compile.
    const STORES: Stores;
    /// The checked value for this key; panics where the variant is another kind's.
    fn from_value(value: Value) -> Self;
    /// The value to echo.
    fn to_value(self) -> Value;
}

impl KeyValue for bool {
    const STORES: Stores = Stores::Bool;
    fn from_value(value: Value) -> Self {
        let Value::Bool(value) = value else { panic!("a Bool key was given {value:?}") };
        value
    }
    fn to_value(self) -> Value {
        Value::Bool(self)
    }
}

impl KeyValue for ByteList {
    const STORES: Stores = Stores::List;
    fn from_value(value: Value) -> Self {
        let Value::List(value) = value else { panic!("a List key was given {value:?}") };
        value
    }
    fn to_value(self) -> Value {
        Value::List(self)
    }
}

macro_rules! number {
    ($type:ident $stores:expr, $from:expr, $to:expr) => {
        impl KeyValue for $type {
            const STORES: Stores = $stores;
            fn from_value(value: Value) -> Self {
                let Value::Number(value) = value else {
                    panic!("a Number key was given {value:?}")
                };
                $from(value)
            }
            fn to_value(self) -> Value {
                Value::Number($to(self))
            }
        }
    };
}

number!(u64 Stores::Written, core::convert::identity, core::convert::identity);
number!(Span Stores::Nanoseconds, Span::from_ns, Span::as_ns);
number!(Ppm Stores::Parts(10_000, Some("%")), Ppm::from_ppm, Ppm::ppm);
number!(Bytes Stores::Parts(1_024, Some("KiB")), Bytes::from_bytes, Bytes::bytes);
number!(Sectors Stores::Parts(2, Some("KiB")), Sectors::from_sectors, Sectors::sectors);
number!(Milli Stores::Parts(1_000, None), Milli::from_thousandths, Milli::thousandths);
number!(Micro Stores::Parts(1_000_000, None), Micro::from_millionths, Micro::millionths);

/// The keys of a part with a value each. [`keys!`](crate::keys) makes them.
pub trait Keys: Copy + Default {
    /// The keys, in the order in which they are declared.
    const KEYS: &'static [Key];
    /// Stores a checked value; returns whether there is a key of this name.
    fn set(&mut self, name: &str, value: Value) -> bool;
    /// The value of the key of this name.
    fn get(&self, name: &str) -> Option<Value>;
}

crate::keys! {
    /// For parts that have no keys.
    pub struct NoKeys {}
}

/// Declares an enum whose variants are the words of a [`Kind::Choice`].
#[macro_export]
macro_rules! choice {
    ($(#[$meta:meta])* $vis:vis enum $name:ident {
        $($(#[$vmeta:meta])* $variant:ident = $word:literal,)+
    }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        $vis enum $name { $($(#[$vmeta])* $variant,)+ }

        impl $name {
            /// The words, in the order of the variants.
            pub const WORDS: &'static [&'static str] = &[$($word),+];
            /// The variants.
            pub const ALL: &'static [Self] = &[$(Self::$variant),+];
            /// The word of this variant.
            pub const fn word(self) -> &'static str {
                Self::WORDS[self as usize]
            }
        }

        impl $crate::key::KeyValue for $name {
            const STORES: $crate::key::Stores = $crate::key::Stores::Word;
            fn from_value(value: $crate::key::Value) -> Self {
                let $crate::key::Value::Choice(index) = value else {
                    panic!("a Choice key was given {value:?}")
                };
                Self::ALL[index]
            }
            fn to_value(self) -> $crate::key::Value {
                $crate::key::Value::Choice(self as usize)
            }
        }
    };
}

/// Declares an enum as [`choice!`](crate::choice) does, with room for words that are not built in:
/// parts of the user's own.
#[macro_export]
macro_rules! open_choice {
    ($(#[$meta:meta])* $vis:vis enum $name:ident {
        $($(#[$vmeta:meta])* $variant:ident = $word:literal,)+
    }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        $vis enum $name {
            $($(#[$vmeta])* $variant,)+
            /// A part of the user's own, by its number.
            Own(u8),
        }

        impl $name {
            /// The words of what is built in, in the order of the variants.
            pub const WORDS: &'static [&'static str] = &[$($word),+];
            /// What is built in.
            pub const ALL: &'static [Self] = &[$(Self::$variant),+];
        }

        impl $crate::key::KeyValue for $name {
            const STORES: $crate::key::Stores = $crate::key::Stores::Word;
            fn from_value(value: $crate::key::Value) -> Self {
                let $crate::key::Value::Choice(index) = value else {
                    panic!("a Choice key was given {value:?}")
                };
                let own = || u8::try_from(index - Self::ALL.len()).expect("at most 256 own parts");
                Self::ALL.get(index).copied().unwrap_or_else(|| Self::Own(own()))
            }
            fn to_value(self) -> $crate::key::Value {
                let built_in = || Self::ALL.iter().position(|known| *known == self);
                $crate::key::Value::Choice(match self {
                    Self::Own(number) => Self::ALL.len() + usize::from(number),
                    _ => built_in().expect("every other variant is built in"),
                })
            }
        }
    };
}

/// Declares the keys of a part: a struct of settings, its defaults and its table of [`Key`]s.
///
/// ```
/// flashyard_core::keys! {
///     /// Keys of `[example]`.
///     pub struct ExampleKeys {
///         /// How deep the queue is.
///         depth: u64 = 256 => {
///             kind: flashyard_core::key::Kind::count("commands", 1, 65_536),
///             source: "assumed",
///             flip: "1",
///             with: &[],
///         },
///     }
/// }
/// assert_eq!(ExampleKeys::default().depth, 256);
/// assert_eq!(ExampleKeys::KEYS[0].name, "depth");
/// ```
#[macro_export]
macro_rules! keys {
    ($(#[$meta:meta])* $vis:vis struct $name:ident {
        $(
            $(#[doc = $doc:literal])+
            $field:ident: $type:ty = $default:expr => {
                kind: $kind:expr, source: $source:expr, flip: $flip:expr, with: $with:expr $(,)?
            },
        )*
    }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        $vis struct $name { $($(#[doc = $doc])+ pub $field: $type,)* }

        impl Default for $name {
            fn default() -> Self {
                Self { $($field: $default,)* }
            }
        }

        $(const _: () = assert!(
            <$type as $crate::key::KeyValue>::STORES.fits(&$kind),
            concat!(stringify!($field), ": its type does not hold what its kind stores"),
        );)*

        impl $name {
            /// The keys, in the order in which they are declared.
            pub const KEYS: &'static [$crate::key::Key] = &[$($crate::key::Key {
                name: stringify!($field),
                doc: concat!($($doc),+),
                kind: $kind,
                source: $source,
                flip: $flip,
                with: $with,
            },)*];

            /// Stores a checked value; returns whether there is a key of this name.
            #[allow(unused_variables, clippy::allow_attributes, reason = "a part may have no keys")]
            pub fn set(&mut self, name: &str, value: $crate::key::Value) -> bool {
                match name {
                    $(stringify!($field) => {
                        self.$field = $crate::key::KeyValue::from_value(value);
                        true
                    })*
                    _ => false,
                }
            }

            /// The value of the key of this name.
            pub fn get(&self, name: &str) -> Option<$crate::key::Value> {
                match name {
                    $(stringify!($field) => {
                        Some($crate::key::KeyValue::to_value(self.$field))
                    })*
                    _ => None,
                }
            }
        }

        impl $crate::key::Keys for $name {
            const KEYS: &'static [$crate::key::Key] = Self::KEYS;
            fn set(&mut self, name: &str, value: $crate::key::Value) -> bool {
                Self::set(self, name, value)
            }
            fn get(&self, name: &str) -> Option<$crate::key::Value> {
                Self::get(self, name)
            }
        }
    };
}

/// Declares a family of parts: an enum of their names, an enum of them with their settings, and a
/// struct of the settings of all of them. The registries of policies are made of it.
#[macro_export]
macro_rules! parts {
    ($name:ident $any:ident $all:ident {
        $($(#[doc = $doc:literal])+ $variant:ident($module:ident::$keys:ident) = $word:literal,)+
    }) => {
        $crate::open_choice! {
            /// The name of a policy.
            pub enum $name { $($(#[doc = $doc])+ $variant = $word,)+ }
        }

        /// A policy with its settings.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum $any { $($(#[doc = $doc])+ $variant($module::$keys),)+ }

        /// The settings of every policy, chosen or not.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
        pub struct $all { $($(#[doc = $doc])+ pub $module: $module::$keys,)+ }

        impl $all {
            /// Each policy's name, its keys and what it is.
            pub const PARTS: &'static [(&'static str, &'static [$crate::key::Key], &'static str)] =
                &[$(($word, $module::$keys::KEYS, concat!($($doc),+)),)+];

            /// Stores a checked value; returns whether there is such a policy and key.
            pub fn set(&mut self, policy: &str, key: &str, value: $crate::key::Value) -> bool {
                match policy { $($word => self.$module.set(key, value),)+ _ => false }
            }

            /// The value of a policy's key.
            pub fn get(&self, policy: &str, key: &str) -> Option<$crate::key::Value> {
                match policy { $($word => self.$module.get(key),)+ _ => None }
            }

            /// The built-in policy of this name with its settings.
            pub const fn policy(&self, name: $name) -> $any {
                match name {
                    $($name::$variant => $any::$variant(self.$module),)+
                    $name::Own(_) => panic!("whoever chose a part of their own makes it"),
                }
            }
        }
    };
}

#[cfg(test)]
#[expect(unreachable_pub, reason = "the macros make public items")]
mod tests {
    use super::*;

    crate::choice! {
        /// Two words.
        pub enum Colour { Red = "red", Blue = "blue", }
    }

    crate::keys! {
        /// Keys of a part that only the test has.
        pub struct PartKeys {
            /// How many.
            count: u64 = 3 => { kind: Kind::count("things", 1, 9), source: "assumed", flip: "4", with: &[] },
            /// Which one.
            colour: Colour = Colour::Red => {
                kind: Kind::Choice(Colour::WORDS), source: "assumed", flip: "blue", with: &[],
            },
        }
    }

    crate::open_choice! {
        /// Two words, and more.
        pub enum Shade { Light = "light", Dark = "dark", }
    }

    #[test]
    fn numbers_beyond_the_built_in_words_are_own_parts() {
        let shades =
            [(0, Shade::Light), (1, Shade::Dark), (2, Shade::Own(0)), (257, Shade::Own(255))];
        for (index, shade) in shades {
            assert_eq!(Shade::from_value(Value::Choice(index)), shade);
            assert_eq!(shade.to_value(), Value::Choice(index));
        }
        assert_eq!(Shade::WORDS.len(), Shade::ALL.len());
    }

    #[test]
    fn keys_are_set_and_echoed_by_name() {
        let mut keys = PartKeys::default();
        assert!(keys.set("colour", Value::Choice(1)));
        assert!(!keys.set("color", Value::Choice(1)));
        assert_eq!(keys.colour, Colour::Blue);
        assert_eq!(keys.colour.word(), "blue");
        assert_eq!(keys.get("count"), Some(Value::Number(3)));
        assert_eq!(PartKeys::KEYS[1].doc.trim(), "Which one.");
    }
}
