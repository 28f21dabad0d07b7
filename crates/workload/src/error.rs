//! What can go wrong between a workload's name and its last request.

use std::io;

/// Why a row is refused; the caller adds file and line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RowError {
    /// What is wrong, with the value.
    pub what: String,
    /// What to do about it.
    pub fix: String,
}

/// An error of a workload. Every message reads `where: what, value; how to fix it`.
#[derive(Debug, thiserror::Error)]
pub enum WorkloadError {
    /// A row of a trace is not what it should be.
    #[error("{file}:{line}: {what}; {fix}")]
    Row {
        /// The trace.
        file: String,
        /// The line, counted from 1.
        line: u64,
        /// What is wrong, with the value.
        what: String,
        /// What to do about it.
        fix: String,
    },
    /// A record of a binary trace is not what it should be.
    #[error("{file}:record {record}: {what}; {fix}")]
    Record {
        /// The trace.
        file: String,
        /// The record, counted from 1.
        record: u64,
        /// What is wrong, with the value.
        what: String,
        /// What to do about it.
        fix: String,
    },
    /// A trace as a whole cannot be used.
    #[error("{file}: {what}; {fix}")]
    File {
        /// The trace.
        file: String,
        /// What is wrong, with the value.
        what: String,
        /// What to do about it.
        fix: String,
    },
    /// The operating system or a decompressor refused to read on.
    #[error("{file}: cannot be read, {source}; {fix}")]
    Io {
        /// The trace.
        file: String,
        /// The reason.
        source: io::Error,
        /// What to do about it.
        fix: &'static str,
    },
    /// Keys that do not fit each other or the device.
    #[error("{key}: {what}; {fix}")]
    Key {
        /// The key, as `section.key`.
        key: &'static str,
        /// What is wrong, with the value.
        what: String,
        /// What to do about it.
        fix: String,
    },
}

/// Up to 40 bytes of foreign text in quotes, fit for a message.
pub(crate) fn quoted(text: &[u8]) -> String {
    const SHOWN: usize = 40;
    let shown = &text[..text.len().min(SHOWN)];
    let more = if text.len() > SHOWN { "..." } else { "" };
    format!("\"{}{more}\"", shown.escape_ascii())
}

/// Nanoseconds as a person reads them: `12 ns`, `3.5 us`, `1.048 ms`, `7.25 s`.
pub(crate) fn readable_ns(ns: u64) -> String {
    let (unit, divisor) = match ns {
        0..1_000 => return format!("{ns} ns"),
        1_000..1_000_000 => ("us", 1_000),
        1_000_000..1_000_000_000 => ("ms", 1_000_000),
        _ => ("s", 1_000_000_000),
    };
    let thousandths = ns % divisor * 1_000 / divisor;
    let text = format!("{}.{thousandths:03}", ns / divisor);
    format!("{} {unit}", text.trim_end_matches('0').trim_end_matches('.'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_readable() {
        assert_eq!(readable_ns(999), "999 ns");
        assert_eq!(readable_ns(1_048_000), "1.048 ms");
        assert_eq!(readable_ns(2_000_000_000), "2 s");
        assert_eq!(readable_ns(100_000_000_000), "100 s");
    }

    #[test]
    fn foreign_text_cannot_spoil_a_terminal() {
        assert_eq!(quoted(b"\x1b[2J"), "\"\\x1b[2J\"");
        assert_eq!(quoted(&[b'a'; 41]).len(), 40 + 3 + 2);
    }
}
