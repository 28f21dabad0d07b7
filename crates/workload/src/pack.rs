//! Compression of what is written: the counterpart of what [`crate::input`] reads.

use std::fmt;
use std::io::{self, Write};

use flate2::Compression;
use flate2::write::GzEncoder;
use ruzstd::encoding::{CompressionLevel, compress_to_vec};

/// Bytes of a zstd frame before compression. Frames follow one another, so that memory is bounded.
const FRAME_BYTES: usize = 1 << 20;

/// How a file is compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Packing {
    /// Not at all.
    Plain,
    /// gzip (RFC 1952), without a name or time in it.
    Gzip,
    /// zstd (RFC 8878), a frame for each MiB.
    Zstd,
}

impl Packing {
    /// What the name of a file says, and the name without that.
    pub fn of(name: &str) -> (Self, &str) {
        let ending = name.rsplit_once('.');
        match ending.map(|(stem, end)| (stem, end.to_ascii_lowercase())) {
            Some((stem, end)) if end == "gz" => (Self::Gzip, stem),
            Some((stem, end)) if end == "zst" => (Self::Zstd, stem),
            _ => (Self::Plain, name),
        }
    }
}

/// Compresses what is written to it.
pub enum Packer<W: Write> {
    /// Not at all.
    Plain(W),
    /// gzip.
    Gzip(GzEncoder<W>),
    /// zstd: where frames go, and the start of the next one.
    Zstd(W, Vec<u8>),
}

impl<W: Write> Packer<W> {
    /// Writes to `sink`.
    pub fn new(packing: Packing, sink: W) -> Self {
        match packing {
            Packing::Plain => Self::Plain(sink),
            Packing::Gzip => Self::Gzip(GzEncoder::new(sink, Compression::default())),
            Packing::Zstd => Self::Zstd(sink, Vec::with_capacity(FRAME_BYTES)),
        }
    }

    /// Writes what is left, and hands the sink back.
    pub fn finish(self) -> io::Result<W> {
        match self {
            Self::Plain(sink) => Ok(sink),
            Self::Gzip(encoder) => encoder.finish(),
            Self::Zstd(mut sink, frame) => {
                if !frame.is_empty() {
                    sink.write_all(&pack(&frame))?;
                }
                Ok(sink)
            }
        }
    }
}

fn pack(frame: &[u8]) -> Vec<u8> {
    compress_to_vec(frame, CompressionLevel::Fastest)
}

impl<W: Write> Write for Packer<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Plain(sink) => sink.write(bytes),
            Self::Gzip(encoder) => encoder.write(bytes),
            Self::Zstd(sink, frame) => {
                let count = bytes.len().min(FRAME_BYTES - frame.len());
                frame.extend(&bytes[..count]);
                if frame.len() == FRAME_BYTES {
                    sink.write_all(&pack(frame))?;
                    frame.clear();
                }
                Ok(count)
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Plain(sink) | Self::Zstd(sink, _) => sink.flush(),
            Self::Gzip(encoder) => encoder.flush(),
        }
    }
}

impl<W: Write> fmt::Debug for Packer<W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = match self {
            Self::Plain(_) => "Plain",
            Self::Gzip(_) => "Gzip",
            Self::Zstd(..) => "Zstd",
        };
        f.debug_tuple(name).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use super::*;
    use crate::input::Input;

    #[test]
    fn the_name_says_how_a_file_is_packed() {
        assert_eq!(Packing::of("a.spc.gz"), (Packing::Gzip, "a.spc"));
        assert_eq!(Packing::of("a.ZST"), (Packing::Zstd, "a"));
        assert_eq!(Packing::of("gz"), (Packing::Plain, "gz"));
    }

    #[test]
    fn what_is_packed_is_read_back() {
        let numbers = (0..500_000_u32).flat_map(|n| (n.wrapping_mul(n) >> 7).to_le_bytes());
        let whole: Vec<u8> = numbers.collect();
        for packing in [Packing::Plain, Packing::Gzip, Packing::Zstd] {
            for length in [0, 1, FRAME_BYTES, whole.len()] {
                let mut packer = Packer::new(packing, Vec::new());
                for part in whole[..length].chunks(70_001) {
                    packer.write_all(part).unwrap();
                }
                let packed = packer.finish().unwrap();
                let mut read = Vec::new();
                Input::memory("t", packed).open().unwrap().read_to_end(&mut read).unwrap();
                assert!(read == whole[..length], "{packing:?} {length}");
            }
        }
    }
}
