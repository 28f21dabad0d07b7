//! What the columns of a row are called, and what stands in them.

use super::json;
use crate::number::scientific;

/// What a column means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    /// When it happened; in a unit that is so many powers of ten nanoseconds.
    Time(u32),
    /// What was asked for.
    Op,
    /// The name of the object.
    Key,
    /// The size of the object, in bytes.
    Bytes,
    /// Where the object is or goes.
    Tier,
    /// Which part of serving it belongs to.
    Phase,
}

/// The names of columns without a unit.
const NAMES: &[(Role, &[&str])] = &[
    (Role::Op, &["op", "operation", "action", "event", "command"]),
    (
        Role::Key,
        &[
            "key",
            "object",
            "object_id",
            "id",
            "block",
            "block_id",
            "block_hash",
            "chunk_id",
            "hash",
        ],
    ),
    (
        Role::Bytes,
        &["bytes", "object_bytes", "size", "size_bytes", "object_size", "nbytes", "length"],
    ),
    (Role::Tier, &["tier", "level", "medium", "location"]),
    (Role::Phase, &["phase", "stage"]),
];

/// The names of times; a unit may follow.
const TIMES: &[&str] = &["time", "timestamp", "ts", "arrival"];

/// The units of times, and the power of ten nanoseconds that each is.
const UNITS: &[(&str, u32)] = &[("", 9), ("_s", 9), ("_ms", 6), ("_us", 3), ("_ns", 0)];

/// What a column of this name means, in upper or lower case; `None` where it is not used.
pub(super) fn role(name: &[u8]) -> Option<Role> {
    let is = |word: &&str| word.as_bytes().eq_ignore_ascii_case(name);
    if let Some((role, _)) = NAMES.iter().find(|(_, words)| words.iter().any(is)) {
        return Some(*role);
    }
    UNITS.iter().find_map(|(unit, digits)| {
        let start = name.len().checked_sub(unit.len())?;
        let (word, end) = name.split_at(start);
        let is_time = TIMES.iter().any(|time| time.as_bytes().eq_ignore_ascii_case(word));
        (is_time && end.eq_ignore_ascii_case(unit.as_bytes())).then_some(Role::Time(*digits))
    })
}

/// What each role has: the place of its column in a header, or its text in a row.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Roles<T> {
    /// The time and its power of ten nanoseconds.
    pub(super) time: Option<(T, u32)>,
    pub(super) op: Option<T>,
    pub(super) key: Option<T>,
    pub(super) bytes: Option<T>,
    pub(super) tier: Option<T>,
    pub(super) phase: Option<T>,
}

impl<T> Roles<T> {
    /// Sets what a role has; `false` where it has something.
    pub(super) fn set(&mut self, role: Role, value: T) -> bool {
        if let Role::Time(digits) = role {
            return self.time.replace((value, digits)).is_none();
        }
        let slot = match role {
            Role::Op => &mut self.op,
            Role::Key => &mut self.key,
            Role::Bytes => &mut self.bytes,
            Role::Tier => &mut self.tier,
            Role::Phase | Role::Time(_) => &mut self.phase,
        };
        slot.replace(value).is_none()
    }

    /// The first role that every trace has and this one lacks.
    pub(super) fn missing(&self) -> Option<&'static str> {
        let needed = [
            ("time", self.time.is_some()),
            ("operation", self.op.is_some()),
            ("key", self.key.is_some()),
            ("bytes", self.bytes.is_some()),
        ];
        needed.iter().find(|(_, found)| !found).map(|(name, _)| *name)
    }
}

/// What keeps a line from being a header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fault<'a> {
    /// No column has this role.
    Missing(&'static str),
    /// An earlier column has the role of this one.
    Twice(&'a [u8]),
}

/// The columns of a header, and how many there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Header {
    pub(super) places: Roles<usize>,
    pub(super) count: usize,
}

impl Header {
    /// The header in a line: names between commas, all that are needed, none twice. Or what keeps
    /// the line from being one.
    pub(super) fn of(line: &[u8]) -> Result<Self, Fault<'_>> {
        let mut header = Self { places: Roles::default(), count: 0 };
        for name in line.split(|&byte| byte == b',').map(<[u8]>::trim_ascii) {
            if let Some(role) = role(name)
                && !header.places.set(role, header.count)
            {
                return Err(Fault::Twice(name));
            }
            header.count += 1;
        }
        header.places.missing().map_or(Ok(header), |role| Err(Fault::Missing(role)))
    }

    /// What a row has for each role; or how many columns it has, if that is another number.
    pub(super) fn row<'a>(&self, line: &'a [u8]) -> Result<Roles<&'a [u8]>, usize> {
        let Roles { time, op, key, bytes, tier, phase } = self.places;
        let mut row = Roles::default();
        let mut count = 0;
        for text in line.split(|&byte| byte == b',') {
            let text = text.trim_ascii();
            if let Some((_, digits)) = time.filter(|(at, _)| *at == count) {
                row.time = Some((text, digits));
            }
            for (place, slot) in [
                (op, &mut row.op),
                (key, &mut row.key),
                (bytes, &mut row.bytes),
                (tier, &mut row.tier),
                (phase, &mut row.phase),
            ] {
                if place == Some(count) {
                    *slot = Some(text);
                }
            }
            count += 1;
        }
        if count == self.count { Ok(row) } else { Err(count) }
    }
}

/// What a line of JSON has for each role, or what is wrong with it. A key of null is empty.
pub(super) fn json_row(line: &[u8]) -> Result<Roles<&[u8]>, String> {
    let mut row = Roles::default();
    for member in json::members(line) {
        let (name, value) = member?;
        if let Some(role) = role(name)
            && !row.set(role, if role == Role::Key && value.is_null() { b"" } else { value.text })
        {
            return Err(format!(
                "two members mean the same, the second is {}",
                name.escape_ascii()
            ));
        }
    }
    Ok(row)
}

/// What a row asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Op {
    Put,
    Get,
    Delete,
}

/// The words of operations. Detection looks for the first ones only, because the others are those
/// of block traces, too.
const OPS: &[(Op, &[&str], &[&str])] = &[
    (Op::Put, &["put", "store", "save", "offload"], &["write", "set"]),
    (Op::Get, &["get", "load", "fetch", "retrieve"], &["read"]),
    (Op::Delete, &["delete", "evict", "remove", "free"], &["del"]),
];

impl Op {
    /// The words, for messages.
    pub(super) const ALLOWED: &str = "put, store, save, offload, write, set; get, load, fetch, \
                                      retrieve, read; delete, evict, remove, free, del";

    /// The operation of a word, in upper or lower case.
    pub(super) fn of(text: &[u8]) -> Option<Self> {
        let is = |word: &&str| word.as_bytes().eq_ignore_ascii_case(text);
        let found = OPS.iter().find(|(_, own, shared)| own.iter().chain(*shared).any(is));
        found.map(|(op, ..)| *op)
    }

    /// Whether a word is one that no block trace has.
    fn is_own_word(text: &[u8]) -> bool {
        let is = |word: &&str| word.as_bytes().eq_ignore_ascii_case(text);
        OPS.iter().any(|(_, own, _)| own.iter().any(is))
    }
}

/// Whether an object of a tier lies on the device; `None` where the tier is not known.
pub(super) fn is_on_device(tier: &[u8]) -> Option<bool> {
    const MEMORY: &[&str] = &["gpu", "hbm", "vram", "cpu", "host", "dram", "memory", "ram"];
    const FLASH: &[&str] = &["ssd", "nvme", "flash", "disk", "storage", "local_disk", "file"];
    let is = |word: &&str| word.as_bytes().eq_ignore_ascii_case(tier);
    match (FLASH.iter().any(is), MEMORY.iter().any(is)) {
        (true, _) => Some(true),
        (_, true) => Some(false),
        _ => None,
    }
}

/// Whether a line looks like a header, a row or a line of JSON of this format.
pub(super) fn recognises(line: &[u8]) -> bool {
    if json::is_object(line) {
        let row = json_row(line).ok();
        return row.is_some_and(|row| {
            row.missing().is_none_or(|name| name == "bytes") && row.op.is_some_and(Op::is_own_word)
        });
    }
    let (mut columns, mut words, mut times) = (0, 0, 0);
    for text in line.split(|&byte| byte == b',').map(<[u8]>::trim_ascii) {
        columns += 1;
        words += u32::from(Op::is_own_word(text));
        times += u32::from(scientific(text, 0).is_ok());
    }
    Header::of(line).is_ok() || (columns >= 4 && words == 1 && times >= 1)
}
