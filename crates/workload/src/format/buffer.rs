//! The bytes of a binary trace through one bounded buffer.

use std::io::{Cursor, ErrorKind, Read};

use crate::error::WorkloadError;
use crate::lines::Lines;

/// Bytes that have been read and not been used, and where more come from.
pub(super) struct Buffer {
    /// What messages call the stream.
    name: String,
    source: Box<dyn Read + Send>,
    bytes: Box<[u8]>,
    start: usize,
    end: usize,
}

/// Why no more bytes come.
#[derive(Debug)]
pub(super) enum Stop {
    /// What is compressed ends before its end.
    Cut,
    /// The file cannot be read.
    Unreadable(WorkloadError),
}

impl Buffer {
    /// What is left of `lines`, through a buffer of so many bytes.
    pub(super) fn new(lines: Lines, bytes: usize) -> Self {
        let (name, unread, source) = lines.into_parts();
        let source = Box::new(Cursor::new(unread).chain(source));
        let bytes = vec![0; bytes].into_boxed_slice();
        Self { name, source, bytes, start: 0, end: 0 }
    }

    /// What messages call the stream.
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// The bytes that are there.
    #[inline]
    pub(super) fn unused(&self) -> &[u8] {
        &self.bytes[self.start..self.end]
    }

    /// Passes over bytes that are there.
    #[inline]
    pub(super) const fn skip(&mut self, count: usize) {
        self.start += count;
    }

    /// Takes bytes that are there.
    pub(super) fn take(&mut self, count: usize) -> &[u8] {
        self.start += count;
        &self.bytes[self.start - count..self.start]
    }

    /// Reads until `wanted` bytes, at most those of the buffer, are there; `false` where the data
    /// ends before.
    pub(super) fn fill(&mut self, wanted: usize) -> Result<bool, Stop> {
        if self.end - self.start >= wanted {
            return Ok(true);
        }
        self.bytes.copy_within(self.start..self.end, 0);
        self.end -= self.start;
        self.start = 0;
        while self.end < wanted {
            match self.source.read(&mut self.bytes[self.end..]) {
                Ok(0) => return Ok(false),
                Ok(count) => self.end += count,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::UnexpectedEof => return Err(Stop::Cut),
                Err(source) => {
                    let fix = "give a readable file, plain, gzip or zstd";
                    let file = self.name.clone();
                    return Err(Stop::Unreadable(WorkloadError::Io { file, source, fix }));
                }
            }
        }
        Ok(true)
    }
}

/// What is said where what is compressed ends after so many records.
pub(super) fn cut_after(records: u64) -> String {
    format!("the compressed data ends early, after record {records}")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Hands out three bytes at a time, then an error.
    struct Slow(u8, ErrorKind);

    impl Read for Slow {
        fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
            if self.0 == 12 {
                return Err(self.1.into());
            }
            let count = into.len().min(3);
            for byte in &mut into[..count] {
                *byte = self.0;
                self.0 += 1;
            }
            Ok(count)
        }
    }

    #[test]
    fn bytes_come_in_order_through_a_buffer_that_is_smaller() {
        let open = |kind| Buffer::new(Lines::new("t", Box::new(Slow(0, kind))), 6);
        let mut buffer = open(ErrorKind::UnexpectedEof);
        for (count, expected) in [(5, &[0, 1, 2, 3, 4][..]), (1, &[5]), (6, &[6, 7, 8, 9, 10, 11])]
        {
            assert!(buffer.fill(count).unwrap());
            assert_eq!(buffer.take(count), expected);
        }
        assert!(matches!(buffer.fill(1), Err(Stop::Cut)));
        let mut buffer = open(ErrorKind::PermissionDenied);
        assert!(buffer.fill(6).unwrap());
        buffer.skip(6);
        assert!(buffer.fill(6).unwrap());
        buffer.skip(1);
        assert_eq!(buffer.unused(), [7, 8, 9, 10, 11]);
        assert!(matches!(buffer.fill(6), Err(Stop::Unreadable(WorkloadError::Io { .. }))));
        let mut short = Buffer::new(Lines::new("t", Box::new(&b"ab"[..])), 6);
        assert!(!short.fill(3).unwrap());
        assert_eq!(short.unused(), b"ab");
    }
}
