//! Lines of a byte stream through one bounded buffer.

use std::fmt;
use std::io::{ErrorKind, Read};

use crate::error::WorkloadError;

/// Bytes of the buffer: large enough that moving a partial line to the front is rare.
const BUFFER_BYTES: usize = 256 * 1024;

/// The longest line, in bytes, and how much [`Lines::peek`] looks at.
pub(crate) const LINE_BYTES_MAX: usize = 64 * 1024;

/// Lines without their ends (`\n`, `\r\n`, or the end of the data), numbered from 1.
pub(crate) struct Lines {
    name: String,
    source: Box<dyn Read + Send>,
    buffer: Box<[u8]>,
    start: usize,
    end: usize,
    line: u64,
    source_ended: bool,
}

impl Lines {
    /// The lines of `source`, which messages call `name`.
    pub(crate) fn new(name: &str, source: Box<dyn Read + Send>) -> Self {
        let buffer = vec![0; BUFFER_BYTES].into_boxed_slice();
        let name = name.to_owned();
        Self { name, source, buffer, start: 0, end: 0, line: 0, source_ended: false }
    }

    /// Its name, what has been read of it but not handed out, and the rest.
    pub(crate) fn into_parts(self) -> (String, Vec<u8>, Box<dyn Read + Send>) {
        (self.name, self.buffer[self.start..self.end].to_vec(), self.source)
    }

    /// What messages call the stream.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// The number of the line that was returned last.
    pub(crate) const fn line(&self) -> u64 {
        self.line
    }

    /// The unread bytes up to the end of the `lines`-th line, at most [`LINE_BYTES_MAX`].
    /// Waits for no more than that, so a pipe that is being written is not held up.
    pub(crate) fn peek(&mut self, lines: usize) -> Result<&[u8], WorkloadError> {
        loop {
            let unread = &self.buffer[self.start..self.end];
            let complete = memchr::memchr_iter(b'\n', unread).take(lines).count() == lines;
            if complete || unread.len() >= LINE_BYTES_MAX || self.source_ended {
                break;
            }
            self.fill()?;
        }
        Ok(&self.buffer[self.start..self.end.min(self.start + LINE_BYTES_MAX)])
    }

    /// Whether the unread bytes start with `magic`. Waits for no more than it takes to know.
    pub(crate) fn starts_with(&mut self, magic: &[u8]) -> Result<bool, WorkloadError> {
        loop {
            let unread = &self.buffer[self.start..self.end];
            let common = unread.len().min(magic.len());
            if unread[..common] != magic[..common] || common == magic.len() {
                return Ok(common == magic.len() && unread.starts_with(magic));
            }
            if self.source_ended {
                return Ok(false);
            }
            self.fill()?;
        }
    }

    /// Passes over the mark that some programs put in front of UTF-8 text.
    pub(crate) fn skip_mark(&mut self) -> Result<(), WorkloadError> {
        const MARK: &[u8] = b"\xef\xbb\xbf";
        if self.starts_with(MARK)? {
            self.start += MARK.len();
        }
        Ok(())
    }

    /// The next line that holds anything but white space. Blank lines are skipped but counted.
    pub(crate) fn next_filled(&mut self) -> Result<Option<&[u8]>, WorkloadError> {
        loop {
            let Some((start, end)) = self.next_bounds()? else { return Ok(None) };
            if !self.buffer[start..end].trim_ascii().is_empty() {
                return Ok(Some(&self.buffer[start..end]));
            }
        }
    }

    /// Passes over a line, blank or not; `false` at the end.
    pub(crate) fn skip_line(&mut self) -> Result<bool, WorkloadError> {
        self.next_bounds().map(|bounds| bounds.is_some())
    }

    /// Where the next line lies in the buffer, without its end.
    fn next_bounds(&mut self) -> Result<Option<(usize, usize)>, WorkloadError> {
        let mut searched = 0;
        loop {
            let unread = &self.buffer[self.start..self.end];
            let found = memchr::memchr(b'\n', &unread[searched..]).map(|at| searched + at);
            if found.unwrap_or(unread.len()) > LINE_BYTES_MAX {
                return Err(self.too_long());
            }
            let ended = self.source_ended && !unread.is_empty();
            if let Some(length) = found.or_else(|| ended.then_some(unread.len())) {
                return Ok(Some(self.take(length, usize::from(found.is_some()))));
            }
            if self.source_ended {
                return Ok(None);
            }
            searched = unread.len();
            self.fill()?;
        }
    }

    fn take(&mut self, length: usize, newline: usize) -> (usize, usize) {
        let (start, mut end) = (self.start, self.start + length);
        self.start = end + newline;
        self.line += 1;
        if end > start && self.buffer[end - 1] == b'\r' {
            end -= 1;
        }
        (start, end)
    }

    /// Reads once; an unfinished line moves to the front of the buffer.
    fn fill(&mut self) -> Result<(), WorkloadError> {
        self.buffer.copy_within(self.start..self.end, 0);
        self.end -= self.start;
        self.start = 0;
        let count = loop {
            match self.source.read(&mut self.buffer[self.end..]) {
                Ok(count) => break count,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(self.failed(error)),
            }
        };
        self.end += count;
        self.source_ended = count == 0;
        Ok(())
    }

    fn too_long(&self) -> WorkloadError {
        WorkloadError::Row {
            file: self.name.clone(),
            line: self.line + 1,
            what: format!("the line is longer than {LINE_BYTES_MAX} bytes"),
            fix: "a trace is text with one request a line".to_owned(),
        }
    }

    fn failed(&self, error: std::io::Error) -> WorkloadError {
        let file = self.name.clone();
        if error.kind() == ErrorKind::UnexpectedEof {
            let what = format!("the compressed data ends early, after line {}", self.line);
            let fix = "the file was cut short, or has other bytes behind its end: fetch or compress it again"
                .to_owned();
            return WorkloadError::File { file, what, fix };
        }
        WorkloadError::Io { file, source: error, fix: "give a readable file of text, gzip or zstd" }
    }
}

impl fmt::Debug for Lines {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Lines")
            .field("name", &self.name)
            .field("line", &self.line)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use super::*;

    /// Hands out one byte a call, the worst a pipe can do.
    struct Trickle(VecDeque<u8>);

    impl Read for Trickle {
        fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
            Ok(self.0.pop_front().map_or(0, |byte| {
                buffer[0] = byte;
                1
            }))
        }
    }

    fn lines(text: &[u8]) -> Lines {
        Lines::new("t", Box::new(Trickle(text.iter().copied().collect())))
    }

    fn collect(mut lines: Lines) -> Vec<(u64, Vec<u8>)> {
        let mut out = Vec::new();
        while let Some(line) = lines.next_filled().unwrap().map(<[u8]>::to_vec) {
            out.push((lines.line(), line));
        }
        out
    }

    #[test]
    fn line_ends_of_all_kinds_are_taken_off() {
        let expected = vec![(1, b"a".to_vec()), (2, b"b".to_vec()), (5, b"c".to_vec())];
        assert_eq!(collect(lines(b"a\r\nb\n\n \t\r\nc")), expected);
        assert_eq!(collect(lines(b"")), vec![]);
        assert_eq!(collect(lines(b"\n\r\n")), vec![]);
    }

    #[test]
    fn skipping_ends_with_the_data() {
        let mut lines = lines(b"a\n\nb");
        assert_eq!([(); 4].map(|()| lines.skip_line().unwrap()), [true, true, true, false]);
    }

    #[test]
    fn peeking_waits_for_no_more_lines_than_asked_for() {
        let mut lines = lines(b"a\nb\nc\n");
        assert_eq!(lines.peek(2).unwrap(), b"a\nb\n");
        assert_eq!(lines.next_filled().unwrap(), Some(&b"a"[..]));
    }

    #[test]
    fn endless_lines_are_refused() {
        let mut lines = Lines::new("t", Box::new(std::io::repeat(b'x')));
        let message = lines.next_filled().unwrap_err().to_string();
        assert_eq!(
            message,
            "t:1: the line is longer than 65536 bytes; a trace is text with one request a line"
        );
    }

    #[test]
    fn a_line_may_cross_the_buffer() {
        let row = [b'7'; 1000];
        let mut text = Vec::new();
        for _ in 0..600 {
            text.extend_from_slice(&row);
            text.push(b'\n');
        }
        let mut lines = Lines::new("t", Box::new(std::io::Cursor::new(text)));
        for _ in 0..600 {
            assert_eq!(lines.next_filled().unwrap(), Some(&row[..]));
        }
        assert_eq!(lines.next_filled().unwrap(), None);
    }
}
