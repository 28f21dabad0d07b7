//! What slices are called and their values, on the disk until the trace is put into the order of
//! time: most of what a timeline has.

use prost::Message;
use std::fs::File;
use std::io::{BufWriter, Error, Read, Result, Seek, SeekFrom, Write};

/// Encoded messages in a file without a name.
#[derive(Debug, Default)]
pub(super) struct Bodies {
    file: Option<BufWriter<File>>,
    /// Bytes that have been written.
    end: u64,
    /// Why nothing can be written any more.
    failed: Option<Error>,
    /// A part of the file, and where it begins.
    window: (u64, Vec<u8>),
}

/// Bytes that are read at once: slices come back nearly in the order in which they were told.
const WINDOW: u64 = 1 << 18;

impl Bodies {
    /// Adds a message; returns its place. An error is told when messages are read.
    pub(super) fn add(&mut self, message: &impl Message) -> u64 {
        let (place, bytes) = (self.end, message.encode_length_delimited_to_vec());
        self.end += bytes.len() as u64;
        if self.failed.is_none() {
            self.failed = self.write(&bytes).err();
        }
        place
    }

    fn write(&mut self, bytes: &[u8]) -> Result<()> {
        if self.file.is_none() {
            self.file = Some(BufWriter::new(tempfile::tempfile()?));
        }
        self.file.as_mut().expect("it is open").write_all(bytes)
    }

    /// The encoded message at a place.
    pub(super) fn read(&mut self, place: u64) -> Result<Vec<u8>> {
        if let Some(error) = self.failed.take() {
            return Err(error);
        }
        let whole = |bytes: &[u8]| {
            let mut rest = bytes;
            let length = prost::decode_length_delimiter(&mut rest).ok()?;
            rest.get(..length).map(<[u8]>::to_vec)
        };
        if let Some(message) = whole(self.at(place)) {
            return Ok(message);
        }
        self.load(place)?;
        whole(self.at(place)).ok_or_else(|| Error::other("its temporary file is damaged"))
    }

    /// What the window has from a place on.
    fn at(&self, place: u64) -> &[u8] {
        let (from, bytes) = &self.window;
        let skipped = place.checked_sub(*from).and_then(|skipped| usize::try_from(skipped).ok());
        skipped.and_then(|skipped| bytes.get(skipped..)).unwrap_or_default()
    }

    /// Puts the window so that a place is in its second half: those before it may come next.
    fn load(&mut self, place: u64) -> Result<()> {
        let Some(file) = &mut self.file else { return Ok(()) };
        file.flush()?;
        let from = place.saturating_sub(WINDOW / 2);
        let file = file.get_mut();
        file.seek(SeekFrom::Start(from))?;
        self.window.0 = from;
        self.window.1.clear();
        file.take(WINDOW).read_to_end(&mut self.window.1)?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::proto::DebugAnnotation;
    use super::*;

    /// Three windows of messages, read from the front, the back and in turns.
    #[test]
    fn messages_come_back_from_any_place() {
        let message = |number: u64| DebugAnnotation {
            uint_value: Some(number),
            string_value: Some("x".repeat(usize::try_from(number % 97).unwrap())),
            name: None,
        };
        let mut bodies = Bodies::default();
        let places: Vec<u64> = (0..15_000).map(|number| bodies.add(&message(number))).collect();
        assert!(places[14_999] > 2 * WINDOW);
        let ends = (0..7_500).flat_map(|number| [number, 14_999 - number]);
        for number in (0..15_000).chain((0..15_000).rev().step_by(7)).chain(ends.step_by(11)) {
            let bytes = bodies.read(places[usize::try_from(number).unwrap()]).unwrap();
            assert_eq!(DebugAnnotation::decode(&bytes[..]).unwrap(), message(number));
        }
    }
}
