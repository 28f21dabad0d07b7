//! The start of a record: its magic, its version, and the order of its bytes.

/// The first bytes of a record, but for the version, which is the lowest byte.
pub(super) const MAGIC: u32 = 0x6561_7400;

/// The version that is read.
pub(super) const VERSION: u32 = 7;

/// Versions are small numbers, not letters: text may start with "eat".
pub(super) const VERSIONS: std::ops::Range<u8> = 0..0x20;

/// Bytes of a record without what follows it.
pub(super) const RECORD_BYTES: usize = 48;

pub(super) const DAMAGE_FIX: &str =
    "the file is damaged, or no binary trace of blktrace: fetch it again";

/// Numbers in the byte order of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Order {
    Little,
    Big,
}

impl Order {
    /// The byte order of a record, and its version; `None` where the magic is not there.
    pub(super) fn of(record: &[u8]) -> Option<(Self, u32)> {
        let magic = *record.first_chunk()?;
        let is_magic = |word: u32| word & !0xff == MAGIC;
        let orders =
            [(Self::Little, u32::from_le_bytes(magic)), (Self::Big, u32::from_be_bytes(magic))];
        orders
            .into_iter()
            .find(|(_, word)| is_magic(*word))
            .map(|(order, word)| (order, word & 0xff))
    }

    pub(super) fn u16_at(self, bytes: &[u8], at: usize) -> u16 {
        let bytes = *bytes[at..].first_chunk().expect("the place lies inside");
        match self {
            Self::Little => u16::from_le_bytes(bytes),
            Self::Big => u16::from_be_bytes(bytes),
        }
    }

    pub(super) fn u32_at(self, bytes: &[u8], at: usize) -> u32 {
        let bytes = *bytes[at..].first_chunk().expect("the place lies inside");
        match self {
            Self::Little => u32::from_le_bytes(bytes),
            Self::Big => u32::from_be_bytes(bytes),
        }
    }

    pub(super) fn u64_at(self, bytes: &[u8], at: usize) -> u64 {
        let bytes = *bytes[at..].first_chunk().expect("the place lies inside");
        match self {
            Self::Little => u64::from_le_bytes(bytes),
            Self::Big => u64::from_be_bytes(bytes),
        }
    }
}
