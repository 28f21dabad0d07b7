//! A user's own parts: policies, rules and translation layers from another crate, which then have
//! names and keys like built-in ones.
//!
//! [`Parts`] lists them; [`Parts::share`] makes it [`OwnParts`], a handle on the list;
//! [`DeviceKeys::with_own`](crate::config::DeviceKeys::with_own) gives them to a device. Whatever
//! reads, checks, echoes or lists keys knows them from then on. The list is freed with the last of
//! its handles; keys, settings and devices have one each.
//!
//! ```
//! use flashyard_core::policy::{CommandPolicy, CommandView, Placement};
//! use flashyard_core::units::Time;
//! use flashyard_sim::config::{DeviceKeys, Settings, apply_setting};
//! use flashyard_sim::device::Device;
//! use flashyard_sim::own::Parts;
//!
//! flashyard_core::keys! {
//!     /// Keys of `[policy.newest-first]`.
//!     pub struct NewestFirst {}
//! }
//!
//! impl CommandPolicy for NewestFirst {
//!     fn queue_names(&self) -> &'static [&'static str] {
//!         &["ALL"]
//!     }
//!     fn place(&self, _: &CommandView, now: Time) -> Placement {
//!         Placement { queue: 0, key: u64::MAX - now.as_ns(), deadline: None }
//!     }
//! }
//!
//! let parts = Parts::new();
//! let parts = parts.command_policy("newest-first", "The newest.", |keys: NewestFirst| keys);
//! let mut keys = DeviceKeys::with_own(parts.share());
//! let mut problems = Vec::new();
//! apply_setting("--set", "policy.command=newest-first", &mut keys, &mut problems);
//! assert_eq!(problems, []);
//! let device = Device::new(&Settings::new(keys).unwrap());
//! # drop(device);
//! ```

use crate::config::{BusTiming, DeviceKeys, KeyList, Section, Sections};
use crate::parts::log::{BoxedScheme, Scheme, SchemeName};
use crate::parts::policy::{OwnBusPolicy, OwnHostPolicy, OwnPolicy};
use crate::parts::victim::{OwnRule, VictimName, VictimRule};
use flashyard_core::bus::channel::Sequencer;
use flashyard_core::bus::policy::{BusPolicy, BusPolicyName};
use flashyard_core::host::{HostPolicy, HostPolicyName};
use flashyard_core::key::{Key, Keys, Kind, Value};
use flashyard_core::policy::{CommandPolicy, PolicyName};
use std::fmt;
use std::sync::{Arc, Mutex};

/// The most keys that the parts of a list may have in all.
pub const MAX_KEYS: usize = 32;

/// A user's own sequencer.
pub type OwnSequencer = Arc<Mutex<dyn Sequencer + Send>>;

/// Makes a `T` from the values of its keys, in their order.
type MadeFrom<T> = Box<dyn Fn(&[u64]) -> T + Send + Sync>;

/// The families of parts: a row of this table is all that a family needs. It says what a part of it
/// is, the section and the key that choose one, the built-in names, how a part is added, and what a
/// device gets.
macro_rules! families {
    ($(
        $(#[doc = $doc:literal])+
        $family:ident($section:literal, $key:literal, $built_in:ident) {
            $(#[doc = $adds:literal])+
            fn $name:ident($part:ident: $($bound:path)|+) -> $made:ty { $wrapped:expr }
        }
    )+) => {
        /// What a part is. Its own keys are in `[SECTION.NAME]`.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Family {
            $($(#[doc = $doc])+ $family,)+
        }

        impl Family {
            const ALL: &'static [Self] = &[$(Self::$family),+];

            /// The section and the key that chooses among the parts of the family.
            pub const fn chooser(self) -> (&'static str, &'static str) {
                match self { $(Self::$family => ($section, $key),)+ }
            }

            /// The built-in names.
            const fn built_in(self) -> &'static [&'static str] {
                match self { $(Self::$family => $built_in::WORDS,)+ }
            }
        }

        /// Makes a part for a device.
        enum Make {
            $($family(MadeFrom<$made>),)+
        }

        impl Make {
            const fn family(&self) -> Family {
                match self { $(Self::$family(_) => Family::$family,)+ }
            }
        }

        impl Parts {
            $(
                $(#[doc = $adds])+
                #[must_use]
                pub fn $name<K, P>(
                    self,
                    name: impl Into<String>,
                    doc: impl Into<String>,
                    make: impl Fn(K) -> P + Send + Sync + 'static,
                ) -> Self
                where
                    K: Keys,
                    P: $($bound +)+ 'static,
                {
                    let make = move |values: &[u64]| -> $made {
                        let $part = make(keys_of(values));
                        $wrapped
                    };
                    self.add::<K>(name.into(), doc.into(), Make::$family(Box::new(make)))
                }
            )+
        }

        impl OwnKeys {
            $(
                /// The part of this number of the family.
                pub(crate) fn $name(&self, number: u8) -> $made {
                    let part = self.parts.part(Family::$family, number);
                    let Make::$family(make) = &part.make else { unreachable!("of another family") };
                    make(part.values(&self.values))
                }
            )+
        }
    };
}

families! {
    /// Which waiting command a die takes next.
    CommandPolicy("policy", "command", PolicyName) {
        /// Adds a command policy, for `policy.command`; its keys are in `[policy.NAME]`.
        fn command_policy(policy: CommandPolicy | Send | Sync) -> OwnPolicy { Arc::new(policy) }
    }
    /// Which queued request the device starts next.
    HostPolicy("host", "policy", HostPolicyName) {
        /// Adds a host policy, for `host.policy`; its keys are in `[host.NAME]`.
        fn host_policy(policy: HostPolicy | Send | Sync) -> OwnHostPolicy { Arc::new(policy) }
    }
    /// What a channel carries next.
    BusPolicy("channel", "arbitration", BusPolicyName) {
        /// Adds a bus policy, for `channel.arbitration`; its keys are in `[channel.NAME]`.
        fn bus_policy(policy: BusPolicy | Send | Sync) -> OwnBusPolicy { Arc::new(policy) }
    }
    /// How long bus requests take.
    Sequencer("bus", "timing", BusTiming) {
        /// Adds a sequencer, which says how long bus requests take, for `bus.timing`; its keys are
        /// in `[bus.NAME]`. Two requests of the same kind and bytes MUST take equally long.
        fn sequencer(sequencer: Sequencer | Send) -> OwnSequencer {
            Arc::new(Mutex::new(sequencer))
        }
    }
    /// Which full block garbage collection cleans next.
    VictimRule("gc", "policy", VictimName) {
        /// Adds a rule for victims, for `gc.policy`; its keys are in `[gc.NAME]`.
        fn victim_rule(rule: VictimRule | Send | Sync) -> OwnRule { Arc::new(rule) }
    }
    /// How logical pages are mapped to physical ones.
    Scheme("ftl", "scheme", SchemeName) {
        /// Adds a mapping scheme, for `ftl.scheme`; its keys are in `[ftl.NAME]`.
        fn scheme(scheme: Scheme<Layer: 'static>) -> Box<dyn BoxedScheme> { Box::new(scheme) }
    }
}

struct Part {
    name: String,
    doc: String,
    keys: &'static [Key],
    /// The place of its first key among those of all parts.
    first: usize,
    defaults: Vec<u64>,
    make: Make,
}

impl Part {
    /// Whether `section` is that of its keys.
    fn has_section(&self, section: &str) -> bool {
        let (family, _) = self.make.family().chooser();
        section.split_once('.') == Some((family, &self.name))
    }

    fn values<'a>(&self, all: &'a [u64]) -> &'a [u64] {
        &all[self.first..self.first + self.keys.len()]
    }

    /// The place of a key among those of all parts.
    fn place(&self, key: &str) -> Option<(usize, &'static Key)> {
        let found = self.keys.iter().enumerate().find(|(_, known)| known.name == key);
        found.map(|(at, key)| (self.first + at, key))
    }
}

/// A list of a user's own parts.
///
/// Each is given as a name, a line about it for `flashyard list`, and a function that makes it from
/// its keys; the type of the function's argument says which keys there are
/// ([`NoKeys`](flashyard_core::key::NoKeys) for none). It is called once for each device, in any
/// thread.
///
/// A name MUST be one that no other part of the family has, of letters, digits, `-` and `_`; the
/// parts of a list MUST NOT have more than [`MAX_KEYS`] keys in all, and no key
/// that is a list. Anything else is a panic.
#[derive(Default)]
pub struct Parts {
    parts: Vec<Part>,
    /// The names by family: words of the key that chooses one.
    names: [Vec<String>; Family::ALL.len()],
}

impl Parts {
    /// None.
    pub fn new() -> Self {
        Self::default()
    }

    /// Why a part of a family cannot have this name; none where it can.
    pub fn refuses(&self, family: Family, name: &str) -> Option<String> {
        let (section, key) = family.chooser();
        let plain = |letter: char| letter.is_ascii_alphanumeric() || "-_".contains(letter);
        if name.is_empty() || !name.chars().all(plain) {
            let what = "is no name; letters, digits, - and _ make one";
            return Some(format!("{section}.{key}: {name:?} {what}"));
        }
        let path = format!("{section}.{name}");
        let is_known = family.built_in().contains(&name)
            || DeviceKeys::default().sections().iter().any(|(known, ..)| *known == path)
            || self.of(family).any(|part| part.name == name);
        is_known.then(|| format!("{section}.{key}: there is a {name} already"))
    }

    fn add<K: Keys>(mut self, name: String, doc: String, make: Make) -> Self {
        if let Some(what) = self.refuses(make.family(), &name) {
            panic!("{what}");
        }
        let path = format!("{}.{name}", make.family().chooser().0);
        let first = self.parts.last().map_or(0, |part| part.first + part.keys.len());
        let most = first + K::KEYS.len();
        assert!(most <= MAX_KEYS, "{path}: own parts have {most} keys, at most {MAX_KEYS} fit");
        let values = K::default();
        let value = |key: &Key| pack(values.get(key.name).expect("a listed key has a value"));
        let defaults = K::KEYS.iter().map(value).collect();
        self.names[make.family() as usize].push(name.clone());
        self.parts.push(Part { name, doc, keys: K::KEYS, first, defaults, make });
        self
    }

    fn of(&self, family: Family) -> impl Iterator<Item = &Part> {
        self.parts.iter().filter(move |part| part.make.family() == family)
    }

    /// A handle on the parts, for all devices that shall know them.
    #[must_use]
    pub fn share(self) -> OwnParts {
        OwnParts(Some(Arc::new(self)))
    }
}

/// A panic in a function that makes a part leaves the list as it was.
impl std::panic::RefUnwindSafe for Parts {}

impl fmt::Debug for Parts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = |part: &Part| format!("{}.{}", part.make.family().chooser().0, part.name);
        f.debug_list().entries(self.parts.iter().map(name)).finish()
    }
}

/// The keys of a part from their values.
fn keys_of<K: Keys>(values: &[u64]) -> K {
    let mut keys = K::default();
    for (key, value) in K::KEYS.iter().zip(values) {
        keys.set(key.name, unpack(&key.kind, *value));
    }
    keys
}

const NO_LISTS: &str = "a key of a part of the user's own is no list";

fn pack(value: Value) -> u64 {
    match value {
        Value::Bool(value) => value.into(),
        Value::Number(value) => value,
        Value::Choice(index) => index as u64,
        Value::List(_) => panic!("{NO_LISTS}"),
    }
}

fn unpack(kind: &Kind, value: u64) -> Value {
    match kind {
        Kind::Bool => Value::Bool(value != 0),
        Kind::Number { .. } => Value::Number(value),
        Kind::Choice(_) => {
            Value::Choice(usize::try_from(value).expect("it was the place of a word"))
        }
        Kind::List { .. } => panic!("{NO_LISTS}"),
    }
}

/// A handle on a list of parts, or none; its clones are handles on the same list.
#[derive(Clone, Debug, Default)]
pub struct OwnParts(Option<Arc<Parts>>);

impl OwnParts {
    /// The name of each part of a family, and the line about it.
    pub fn names(&self, family: Family) -> impl Iterator<Item = (&str, &str)> {
        let parts = self.0.iter().flat_map(move |parts| parts.of(family));
        parts.map(|part| (part.name.as_str(), part.doc.as_str()))
    }

    /// The name of the part of this number.
    pub(crate) fn name(&self, family: Family, number: u8) -> &str {
        &self.part(family, number).name
    }

    fn parts(&self) -> &[Part] {
        self.0.as_ref().map_or(&[], |parts| &parts.parts)
    }

    fn part(&self, family: Family, number: u8) -> &Part {
        let mut parts = self.parts().iter().filter(|part| part.make.family() == family);
        parts.nth(number.into()).expect("a part that was chosen is in the list")
    }
}

/// Two lists are the same when they are one.
impl PartialEq for OwnParts {
    fn eq(&self, other: &Self) -> bool {
        match (&self.0, &other.0) {
            (Some(one), Some(other)) => Arc::ptr_eq(one, other),
            (one, other) => one.is_none() && other.is_none(),
        }
    }
}

impl Eq for OwnParts {}

/// A user's own parts with the values of their keys: part of the keys of a device.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OwnKeys {
    parts: OwnParts,
    values: [u64; MAX_KEYS],
}

impl OwnKeys {
    /// Every key at its default.
    pub fn new(parts: OwnParts) -> Self {
        let mut values = [0; MAX_KEYS];
        for part in parts.parts() {
            let end = part.first + part.keys.len();
            values[part.first..end].copy_from_slice(&part.defaults);
        }
        Self { parts, values }
    }

    /// The parts.
    pub const fn parts(&self) -> &OwnParts {
        &self.parts
    }

    /// Adds the sections of own parts, and their names to the keys that choose one.
    pub(crate) fn add_to<'a>(&'a self, all: &mut Vec<Section<'a>>) {
        let Some(parts) = self.parts.0.as_deref() else { return };
        for &family in Family::ALL {
            let (section, chooser) = family.chooser();
            for (_, keys, _) in all.iter_mut().filter(|(known, ..)| known == section) {
                *keys = keys.with_own(chooser, &parts.names[family as usize]);
            }
        }
        all.extend(parts.parts.iter().map(|part| {
            let section = part.make.family().chooser().0;
            let name = format!("{section}.{}", part.name);
            (name.into(), KeyList::new(part.keys), part.doc.as_str())
        }));
    }

    fn place(&self, section: &str, key: &str) -> Option<(usize, &'static Key)> {
        let part = self.parts.parts().iter().find(|part| part.has_section(section))?;
        part.place(key)
    }

    /// Stores a checked value; returns whether there is such a part and key.
    pub(crate) fn set(&mut self, section: &str, key: &str, value: Value) -> bool {
        let place = self.place(section, key);
        if let Some((place, _)) = place {
            self.values[place] = pack(value);
        }
        place.is_some()
    }

    /// The value of a part's key.
    pub(crate) fn get(&self, section: &str, key: &str) -> Option<Value> {
        let (place, key) = self.place(section, key)?;
        Some(unpack(&key.kind, self.values[place]))
    }
}
