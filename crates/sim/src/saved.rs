//! Saved state: how a drained device becomes bytes and comes back.
//!
//! Numbers are little-endian. A type lists its fields once, in `saved!`, and is written and read
//! in that order. Vectors whose length the settings give go in chunks; a chunk of zeros is one
//! byte, and is not touched when it is read, so what a device never used costs nothing.

use flashyard_core::units::{Span, Time};
use std::collections::VecDeque;
use std::fmt;

/// Elements of a vector that are written together.
const CHUNK: usize = 1_024;

/// Bytes that are handed over together.
const BUFFER: usize = 1 << 16;

/// Longest list or text that is read.
const LONGEST: u64 = 1 << 24;

/// Why a saved device cannot be restored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RestoreError {
    /// These are not the bytes of a saved device.
    NoSavedDevice,
    /// They were saved by a version of the program that this one cannot read.
    Version {
        /// The version of the format.
        found: u32,
        /// The version that can be read.
        known: u32,
    },
    /// The device has other settings than the saved one.
    Settings {
        /// The key and its value in the saved device; empty where it has none.
        saved: String,
        /// The same in this one.
        wanted: String,
    },
    /// The bytes end too early.
    Truncated,
    /// The bytes were changed since they were saved.
    Corrupt,
}

impl fmt::Display for RestoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoSavedDevice => f.write_str("this is not a saved device"),
            Self::Version { found, known } => write!(
                f,
                "the device was saved in version {found} of the format; this program reads version {known}"
            ),
            Self::Settings { saved, wanted } => write!(
                f,
                "the saved device has other settings: {saved} where this one has {wanted}; the sections geometry, map, ftl and placement, the cells and bad blocks of nand, the sizes of the SLC cache, and whether the map is written must agree"
            ),
            Self::Truncated => f.write_str("the saved device is incomplete"),
            Self::Corrupt => f.write_str("the saved device is damaged"),
        }
    }
}

impl std::error::Error for RestoreError {}

/// A checksum in which a change of any one word shows: each step is one to one in the sum so far
/// and in the word. Words go to four sums in turn, since a step waits for the one before.
#[derive(Clone, Copy, Debug)]
struct Sum([u64; 4]);

impl Sum {
    const START: Self = Self([0xCBF2_9CE4_8422_2325; 4]);

    fn step(sum: u64, word: u64) -> u64 {
        let mixed = (sum.rotate_left(23) ^ word).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        mixed ^ (mixed >> 29)
    }

    /// Adds what a buffer held; only the last one may be less than full.
    fn add(&mut self, bytes: &[u8]) {
        let mut rows = bytes.chunks_exact(32);
        for row in &mut rows {
            for (sum, word) in self.0.iter_mut().zip(row.chunks_exact(8)) {
                *sum = Self::step(*sum, u64::from_le_bytes(word.try_into().expect("8 bytes")));
            }
        }
        for (sum, rest) in self.0.iter_mut().zip(rows.remainder().chunks(8)) {
            let mut word = [0; 8];
            word[..rest.len()].copy_from_slice(rest);
            *sum = Self::step(*sum, u64::from_le_bytes(word));
        }
    }

    fn value(self) -> u64 {
        self.0.into_iter().reduce(Self::step).expect("four sums")
    }
}

/// Takes the bytes of a device that is saved.
pub(crate) struct Writer<'a> {
    sink: &'a mut dyn FnMut(&[u8]),
    buffer: Vec<u8>,
    sum: Sum,
}

impl<'a> Writer<'a> {
    pub(crate) fn new(sink: &'a mut dyn FnMut(&[u8])) -> Self {
        Self { sink, buffer: Vec::with_capacity(BUFFER), sum: Sum::START }
    }

    #[inline]
    pub(crate) fn bytes(&mut self, bytes: &[u8]) {
        let (fits, rest) = bytes.split_at(bytes.len().min(BUFFER - self.buffer.len()));
        self.buffer.extend_from_slice(fits);
        if self.buffer.len() == BUFFER {
            self.sum.add(&self.buffer);
            (self.sink)(&self.buffer);
            self.buffer.clear();
            self.bytes(rest);
        }
    }

    pub(crate) fn text(&mut self, text: &str) {
        (text.len() as u64).save(self);
        self.bytes(text.as_bytes());
    }

    /// Ends with the checksum.
    pub(crate) fn finish(mut self) {
        self.sum.add(&self.buffer);
        self.buffer.extend_from_slice(&self.sum.value().to_le_bytes());
        (self.sink)(&self.buffer);
    }
}

/// Gives the bytes of a saved device. The source fills a slice from its start and says how much of
/// it; less than all of it means the end.
pub(crate) struct Reader<'a> {
    source: &'a mut dyn FnMut(&mut [u8]) -> usize,
    buffer: Vec<u8>,
    at: usize,
    filled: usize,
    sum: Sum,
}

impl<'a> Reader<'a> {
    pub(crate) fn new(source: &'a mut dyn FnMut(&mut [u8]) -> usize) -> Self {
        Self { source, buffer: vec![0; BUFFER], at: 0, filled: 0, sum: Sum::START }
    }

    pub(crate) fn bytes(&mut self, bytes: &mut [u8]) -> Result<(), RestoreError> {
        let mut done = 0;
        while done < bytes.len() {
            if self.at == self.filled {
                self.fill();
                if self.filled == 0 {
                    return Err(RestoreError::Truncated);
                }
            }
            let count = (bytes.len() - done).min(self.filled - self.at);
            bytes[done..done + count].copy_from_slice(&self.buffer[self.at..self.at + count]);
            self.at += count;
            done += count;
        }
        Ok(())
    }

    /// The next full buffer, or what is left.
    fn fill(&mut self) {
        self.sum.add(&self.buffer[..self.filled]);
        (self.at, self.filled) = (0, 0);
        while self.filled < BUFFER {
            match (self.source)(&mut self.buffer[self.filled..]) {
                0 => return,
                more => self.filled = (self.filled + more).min(BUFFER),
            }
        }
    }

    /// So many bytes, which mostly lie in the buffer: a device consists of millions of numbers.
    #[inline]
    pub(crate) fn array<const N: usize>(&mut self) -> Result<[u8; N], RestoreError> {
        let mut bytes = [0; N];
        if let Some(found) = self.buffer[self.at..self.filled].first_chunk() {
            bytes = *found;
            self.at += N;
        } else {
            self.bytes(&mut bytes)?;
        }
        Ok(bytes)
    }

    /// A number of things that follow.
    pub(crate) fn count(&mut self) -> Result<usize, RestoreError> {
        let count = u64::from_le_bytes(self.array()?);
        if count > LONGEST {
            return Err(RestoreError::Corrupt);
        }
        usize::try_from(count).map_err(|_| RestoreError::Corrupt)
    }

    pub(crate) fn text(&mut self) -> Result<String, RestoreError> {
        let mut bytes = vec![0; self.count()?];
        self.bytes(&mut bytes)?;
        String::from_utf8(bytes).map_err(|_| RestoreError::Corrupt)
    }

    /// Checks the checksum, and that nothing follows.
    pub(crate) fn finish(mut self) -> Result<(), RestoreError> {
        self.sum.add(&self.buffer[..self.at]);
        let sum = self.sum.value();
        if self.array()? != sum.to_le_bytes() {
            return Err(RestoreError::Corrupt);
        }
        let rest = self.filled > self.at || (self.source)(&mut self.buffer) > 0;
        if rest { Err(RestoreError::Corrupt) } else { Ok(()) }
    }
}

/// What is saved and restored.
pub(crate) trait Saved {
    fn save(&self, to: &mut Writer<'_>);
    /// Replaces the value; whatever was read before an error is worthless.
    fn load(&mut self, from: &mut Reader<'_>) -> Result<(), RestoreError>;
    /// Whether it is the zero that vectors of it are made of.
    fn is_zero(&self) -> bool {
        false
    }
    /// Makes it that zero.
    fn clear(&mut self) {
        unreachable!("only numbers are zero")
    }
}

macro_rules! numbers {
    ($($type:ty),+) => {
        $(impl Saved for $type {
            #[inline]
            fn save(&self, to: &mut Writer<'_>) {
                to.bytes(&self.to_le_bytes());
            }
            #[inline]
            fn load(&mut self, from: &mut Reader<'_>) -> Result<(), RestoreError> {
                *self = Self::from_le_bytes(from.array()?);
                Ok(())
            }
            fn is_zero(&self) -> bool {
                *self == 0
            }
            fn clear(&mut self) {
                *self = 0;
            }
        })+
    };
}

numbers!(u8, u16, u32, u64, u128);

impl Saved for bool {
    fn save(&self, to: &mut Writer<'_>) {
        to.bytes(&[u8::from(*self)]);
    }
    fn load(&mut self, from: &mut Reader<'_>) -> Result<(), RestoreError> {
        *self = from.array()? == [1];
        Ok(())
    }
    fn is_zero(&self) -> bool {
        !*self
    }
    fn clear(&mut self) {
        *self = false;
    }
}

impl Saved for usize {
    fn save(&self, to: &mut Writer<'_>) {
        (*self as u64).save(to);
    }
    fn load(&mut self, from: &mut Reader<'_>) -> Result<(), RestoreError> {
        *self = from.count()?;
        Ok(())
    }
}

/// Types that are a number of 64 bits: how they become one, and come of one.
macro_rules! of_bits {
    ($($type:ident: $to:ident, $of:ident;)+) => {
        $(impl Saved for $type {
            fn save(&self, to: &mut Writer<'_>) {
                self.$to().save(to);
            }
            fn load(&mut self, from: &mut Reader<'_>) -> Result<(), RestoreError> {
                *self = Self::$of(u64::from_le_bytes(from.array()?));
                Ok(())
            }
        })+
    };
}

of_bits! {
    f64: to_bits, from_bits;
    Time: as_ns, from_ns;
    Span: as_ns, from_ns;
}

impl Saved for String {
    fn save(&self, to: &mut Writer<'_>) {
        to.text(self);
    }
    fn load(&mut self, from: &mut Reader<'_>) -> Result<(), RestoreError> {
        *self = from.text()?;
        Ok(())
    }
}

impl<T: Saved + Default> Saved for Option<T> {
    fn save(&self, to: &mut Writer<'_>) {
        save_option(self.as_ref(), to);
    }
    fn load(&mut self, from: &mut Reader<'_>) -> Result<(), RestoreError> {
        let mut some = false;
        some.load(from)?;
        *self = some.then(T::default);
        self.as_mut().map_or(Ok(()), |value| value.load(from))
    }
}

impl<T: Saved, const N: usize> Saved for [T; N] {
    fn save(&self, to: &mut Writer<'_>) {
        for value in self {
            value.save(to);
        }
    }
    fn load(&mut self, from: &mut Reader<'_>) -> Result<(), RestoreError> {
        self.iter_mut().try_for_each(|value| value.load(from))
    }
    fn is_zero(&self) -> bool {
        self.iter().all(Saved::is_zero)
    }
    fn clear(&mut self) {
        self.iter_mut().for_each(Saved::clear);
    }
}

/// A vector whose length the settings give.
impl<T: Saved> Saved for Vec<T> {
    fn save(&self, to: &mut Writer<'_>) {
        (self.len() as u64).save(to);
        for chunk in self.chunks(CHUNK) {
            let zeros = chunk.iter().all(Saved::is_zero);
            zeros.save(to);
            if !zeros {
                for value in chunk {
                    value.save(to);
                }
            }
        }
    }
    fn load(&mut self, from: &mut Reader<'_>) -> Result<(), RestoreError> {
        if u64::from_le_bytes(from.array()?) != self.len() as u64 {
            return Err(RestoreError::Corrupt);
        }
        for chunk in self.chunks_mut(CHUNK) {
            let mut zeros = false;
            zeros.load(from)?;
            if zeros {
                chunk.iter_mut().filter(|value| !value.is_zero()).for_each(Saved::clear);
            } else {
                chunk.iter_mut().try_for_each(|value| value.load(from))?;
            }
        }
        Ok(())
    }
}

/// A queue of any length.
impl<T: Saved + Default> Saved for VecDeque<T> {
    fn save(&self, to: &mut Writer<'_>) {
        (self.len() as u64).save(to);
        for value in self {
            value.save(to);
        }
    }
    fn load(&mut self, from: &mut Reader<'_>) -> Result<(), RestoreError> {
        self.clear();
        for _ in 0..from.count()? {
            let mut value = T::default();
            value.load(from)?;
            self.push_back(value);
        }
        Ok(())
    }
}

/// A value as bytes.
pub(crate) fn to_bytes(value: &impl Saved) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut sink = |part: &[u8]| bytes.extend_from_slice(part);
    let mut writer = Writer::new(&mut sink);
    value.save(&mut writer);
    writer.finish();
    bytes
}

/// Replaces a value by the one that [`to_bytes`] has saved.
pub(crate) fn from_bytes(value: &mut impl Saved, bytes: &[u8]) -> Result<(), RestoreError> {
    from_pieces(value, bytes, usize::MAX)
}

/// The same, where the bytes come in pieces of at most `step`.
fn from_pieces(value: &mut impl Saved, mut bytes: &[u8], step: usize) -> Result<(), RestoreError> {
    let mut source = |slice: &mut [u8]| {
        let count = step.min(slice.len()).min(bytes.len());
        slice[..count].copy_from_slice(&bytes[..count]);
        bytes = &bytes[count..];
        count
    };
    let mut reader = Reader::new(&mut source);
    value.load(&mut reader)?;
    reader.finish()
}

/// Writes bytes, any number of them.
pub(crate) fn save_bytes(bytes: &[u8], to: &mut Writer<'_>) {
    (bytes.len() as u64).save(to);
    for part in bytes.chunks(BUFFER) {
        to.bytes(part);
    }
}

/// Reads bytes that [`save_bytes`] has written.
pub(crate) fn load_bytes(from: &mut Reader<'_>) -> Result<Vec<u8>, RestoreError> {
    let mut left = u64::from_le_bytes(from.array()?);
    let (mut bytes, mut part) = (Vec::new(), vec![0; BUFFER]);
    while left > 0 {
        let count = usize::try_from(left).map_or(BUFFER, |left| left.min(BUFFER));
        from.bytes(&mut part[..count])?;
        bytes.extend_from_slice(&part[..count]);
        left -= count as u64;
    }
    Ok(bytes)
}

/// Writes whether there is a value and, where there is, the value.
pub(crate) fn save_option(value: Option<&impl Saved>, to: &mut Writer<'_>) {
    value.is_some().save(to);
    if let Some(value) = value {
        value.save(to);
    }
}

/// Reads what [`save_option`] wrote of a part that the settings say whether there is.
pub(crate) fn load_part(
    part: Option<&mut impl Saved>,
    from: &mut Reader<'_>,
) -> Result<(), RestoreError> {
    let mut some = false;
    some.load(from)?;
    match part {
        Some(part) if some => part.load(from),
        None if !some => Ok(()),
        _ => Err(RestoreError::Corrupt),
    }
}

/// Writes a list of any length.
pub(crate) fn save_list<T: Saved>(list: &[T], to: &mut Writer<'_>) {
    (list.len() as u64).save(to);
    for value in list {
        value.save(to);
    }
}

/// Reads a list of any length, each element into a new one.
pub(crate) fn load_list<T: Saved>(
    list: &mut Vec<T>,
    new: impl Fn() -> T,
    from: &mut Reader<'_>,
) -> Result<(), RestoreError> {
    list.clear();
    for _ in 0..from.count()? {
        let mut value = new();
        value.load(from)?;
        list.push(value);
    }
    Ok(())
}

/// Saves a type field by field, in this order. Each field is either saved or listed under `skip`:
/// the settings give a skipped field, or a drained device does not need it. A field in neither list
/// does not compile. Fields under `lists` are lists of any length, which come last.
macro_rules! saved {
    (
        $type:ty { $($field:tt),* $(,)? }
        $(lists { $($list:tt),* $(,)? })?
        $(skip { $($skipped:tt),* $(,)? })?
    ) => {
        impl $crate::saved::Saved for $type {
            fn save(&self, to: &mut $crate::saved::Writer<'_>) {
                let Self { $($field: _,)* $($($list: _,)*)? $($($skipped: _,)*)? } = self;
                $($crate::saved::Saved::save(&self.$field, to);)*
                $($($crate::saved::save_list(&self.$list, to);)*)?
            }
            fn load(
                &mut self,
                from: &mut $crate::saved::Reader<'_>,
            ) -> Result<(), $crate::saved::RestoreError> {
                $($crate::saved::Saved::load(&mut self.$field, from)?;)*
                $($($crate::saved::load_list(&mut self.$list, Default::default, from)?;)*)?
                Ok(())
            }
        }
    };
}
pub(crate) use saved;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_come_back_however_the_bytes_are_cut() {
        let mut long = vec![0u32; 5_000];
        (long[1_500], long[4_999]) = (7, u32::MAX);
        let value = [Some(3u64), None];
        for step in [1, 7, BUFFER] {
            // More than a buffer, and a buffer to the byte.
            for count in [50_000, (BUFFER - 8 - 16) / 4] {
                let many: Vec<u32> = (1..).take(count).collect();
                let mut again = vec![0; count];
                assert_eq!(from_pieces(&mut again, &to_bytes(&many), step), Ok(()));
                assert_eq!(again, many);
            }
            let mut again = vec![1u32; 5_000];
            assert_eq!(from_pieces(&mut again, &to_bytes(&long), step), Ok(()));
            assert_eq!(again, long);
            let mut again = [None, Some(9)];
            assert_eq!(from_pieces(&mut again, &to_bytes(&value), step), Ok(()));
            assert_eq!(again, value);
        }
        assert_eq!(to_bytes(&vec![0u32; 5_000]).len(), 8 + 5 + 8, "zeros take a byte a chunk");
    }

    #[test]
    fn any_changed_missing_or_added_byte_is_found() {
        let value = vec![5u32, 6, 7];
        let good = to_bytes(&value);
        let mut again = value.clone();
        for at in 0..good.len() {
            let mut bad = good.clone();
            bad[at] ^= 1 << (at % 8);
            assert!(from_pieces(&mut again, &bad, 64).is_err(), "byte {at}");
            assert_eq!(from_pieces(&mut again, &good[..at], 64), Err(RestoreError::Truncated));
        }
        let longer = [good.as_slice(), &[0]].concat();
        assert_eq!(from_pieces(&mut again, &longer, 64), Err(RestoreError::Corrupt));
    }
}
