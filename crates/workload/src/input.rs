//! Where the bytes of a trace come from: a file, standard input, memory or any reader, as text,
//! gzip or zstd. Compression is recognised by magic bytes, not by name.

use std::fmt;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Cursor, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use flate2::bufread::MultiGzDecoder;
use ruzstd::decoding::errors::{FrameDecoderError, ReadFrameHeaderError};
use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};

use crate::Extent;
use crate::error::WorkloadError;

/// The first bytes of a gzip member (RFC 1952, section 2.3.1).
const GZIP_MAGIC: [u8; 2] = [0x1f, 0x8b];
/// The first bytes of a zstd frame (RFC 8878, section 3.1.1), little-endian.
const ZSTD_MAGIC: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];
/// Bytes 1 to 3 of a skippable zstd frame (RFC 8878, section 3.1.2); byte 0 is 0x50 to 0x5f.
const ZSTD_SKIPPABLE: [u8; 3] = [0x2a, 0x4d, 0x18];

/// Bytes read from a compressed file at a time.
const READ_BYTES: usize = 64 * 1024;

/// A source of bytes with the name that messages use.
pub struct Input {
    name: String,
    place: Place,
    /// Of what was opened last.
    read: BytesRead,
}

/// How many bytes of a file have been read, as they are stored: compressed ones count as such.
#[derive(Clone, Debug, Default)]
pub(crate) struct BytesRead {
    done: Arc<AtomicU64>,
    /// The size of the file; none of what has no size.
    of: Option<u64>,
}

impl BytesRead {
    pub(crate) fn extent(&self) -> Option<Extent> {
        self.of.map(|of| Extent { done: self.done.load(Ordering::Relaxed), of })
    }
}

/// A file whose bytes are counted as they are read.
struct Counted {
    file: File,
    done: Arc<AtomicU64>,
}

impl Read for Counted {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.file.read(buffer)?;
        self.done.fetch_add(count as u64, Ordering::Relaxed);
        Ok(count)
    }
}

enum Place {
    File(PathBuf),
    Stdin,
    Memory(Arc<[u8]>),
    Reader(Option<Box<dyn Read + Send>>),
}

impl Input {
    /// The file at `path`, or standard input for `-`.
    pub fn path(path: &str) -> Self {
        if path == "-" {
            return Self::new("standard input", Place::Stdin);
        }
        Self::new(path, Place::File(PathBuf::from(path)))
    }

    /// Any reader. It can be read once only, so transforms that need two passes are refused.
    pub fn reader(name: &str, reader: Box<dyn Read + Send>) -> Self {
        Self::new(name, Place::Reader(Some(reader)))
    }

    /// Bytes in memory.
    pub fn memory(name: &str, bytes: impl Into<Arc<[u8]>>) -> Self {
        Self::new(name, Place::Memory(bytes.into()))
    }

    fn new(name: &str, place: Place) -> Self {
        Self { name: name.to_owned(), place, read: BytesRead::default() }
    }

    /// How many bytes have been read of what was opened last.
    pub(crate) fn bytes_read(&self) -> BytesRead {
        self.read.clone()
    }

    /// What messages call it.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Where it lies, if it is a file.
    pub(crate) fn file(&self) -> Option<&Path> {
        if let Place::File(path) = &self.place { Some(path) } else { None }
    }

    /// Whether it can be read from the start again. A missing file counts as such an input: the
    /// attempt to read it reports the error.
    pub fn is_rereadable(&self) -> bool {
        let is_whole = |data: std::fs::Metadata| data.is_file() || data.is_dir();
        match &self.place {
            Place::File(path) => std::fs::metadata(path).map_or(true, is_whole),
            Place::Memory(_) => true,
            Place::Stdin | Place::Reader(_) => false,
        }
    }

    /// The text, from the start.
    pub(crate) fn open(&mut self) -> Result<Box<dyn Read + Send>, WorkloadError> {
        let raw: Box<dyn Read + Send> = match &mut self.place {
            Place::File(path) => match File::open(&*path) {
                Ok(file) => {
                    let size = file.metadata().ok().filter(std::fs::Metadata::is_file);
                    self.read = BytesRead { done: Arc::default(), of: size.map(|data| data.len()) };
                    Box::new(Counted { file, done: Arc::clone(&self.read.done) })
                }
                Err(error) => return Err(self.failed(error)),
            },
            Place::Stdin => Box::new(io::stdin()),
            Place::Memory(bytes) => Box::new(Cursor::new(Arc::clone(bytes))),
            Place::Reader(reader) => {
                reader.take().expect("two passes are refused before the first one")
            }
        };
        decompress(raw).map_err(|error| self.failed(error))
    }

    fn failed(&self, source: io::Error) -> WorkloadError {
        let fix = "name a readable file, or - for standard input";
        WorkloadError::Io { file: self.name.clone(), source, fix }
    }
}

impl fmt::Debug for Input {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Input").field("name", &self.name).finish_non_exhaustive()
    }
}

/// The text of `raw`, whatever it is compressed with.
fn decompress(mut raw: Box<dyn Read + Send>) -> io::Result<Box<dyn Read + Send>> {
    let mut magic = [0; 4];
    let mut length = 0;
    while length < magic.len() {
        match raw.read(&mut magic[length..]) {
            Ok(0) => break,
            Ok(count) => length += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    let whole = Cursor::new(magic).take(length as u64).chain(raw);
    if magic.starts_with(&GZIP_MAGIC) {
        return Ok(Box::new(MultiGzDecoder::new(BufReader::with_capacity(READ_BYTES, whole))));
    }
    let skippable = magic[1..] == ZSTD_SKIPPABLE && magic[0] & 0xf0 == 0x50;
    if magic == ZSTD_MAGIC || skippable {
        return Ok(Box::new(ZstdFrames::new(BufReader::with_capacity(READ_BYTES, whole))));
    }
    Ok(Box::new(whole))
}

/// The contents of all zstd frames of a stream, checksums verified.
struct ZstdFrames<R> {
    source: R,
    decoder: FrameDecoder,
    in_frame: bool,
}

impl<R: BufRead> ZstdFrames<R> {
    fn new(source: R) -> Self {
        Self { source, decoder: FrameDecoder::new(), in_frame: false }
    }

    /// Starts the next frame that holds data; `false` at the end of the stream.
    fn start_frame(&mut self) -> io::Result<bool> {
        while !self.source.fill_buf()?.is_empty() {
            match self.decoder.reset(&mut self.source) {
                Ok(()) => {
                    self.in_frame = true;
                    return Ok(true);
                }
                Err(FrameDecoderError::ReadFrameHeaderError(ReadFrameHeaderError::SkipFrame {
                    length,
                    ..
                })) => {
                    let length = u64::from(length);
                    let mut skipped = self.source.by_ref().take(length);
                    if io::copy(&mut skipped, &mut io::sink())? != length {
                        return Err(io::ErrorKind::UnexpectedEof.into());
                    }
                }
                Err(error) => return Err(self.failed(error)),
            }
        }
        Ok(false)
    }

    fn end_frame(&mut self) -> io::Result<()> {
        self.in_frame = false;
        let stored = self.decoder.get_checksum_from_data();
        if stored.is_some() && stored != self.decoder.get_calculated_checksum() {
            return Err(io::Error::other("the zstd checksum does not match its data"));
        }
        Ok(())
    }

    /// An error at the very end of the data means that the data was cut.
    fn failed(&mut self, error: FrameDecoderError) -> io::Error {
        match self.source.fill_buf() {
            Ok([]) => io::Error::new(io::ErrorKind::UnexpectedEof, error),
            _ => io::Error::other(error),
        }
    }
}

impl<R: BufRead> Read for ZstdFrames<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            if !self.in_frame && !self.start_frame()? {
                return Ok(0);
            }
            while self.decoder.can_collect() == 0 && !self.decoder.is_finished() {
                let step = BlockDecodingStrategy::UptoBlocks(1);
                if let Err(error) = self.decoder.decode_blocks(&mut self.source, step) {
                    return Err(self.failed(error));
                }
            }
            let count = self.decoder.read(buffer)?;
            if count > 0 || buffer.is_empty() {
                return Ok(count);
            }
            self.end_frame()?;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use flate2::Compression;
    use flate2::write::GzEncoder;
    use ruzstd::encoding::{CompressionLevel, compress_to_vec};

    use super::*;

    fn gzip(text: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(text).unwrap();
        encoder.finish().unwrap()
    }

    fn zstd(text: &[u8]) -> Vec<u8> {
        compress_to_vec(text, CompressionLevel::Fastest)
    }

    fn read(bytes: Vec<u8>) -> io::Result<Vec<u8>> {
        let mut text = Vec::new();
        let mut input = Input::memory("t", bytes);
        input.open().expect("opening only reads the magic").read_to_end(&mut text)?;
        Ok(text)
    }

    fn sample() -> Vec<u8> {
        (0..20_000_u32).flat_map(|n| format!("{n} row\n").into_bytes()).collect()
    }

    #[test]
    fn compression_is_recognised_by_its_magic_bytes() {
        let text = sample();
        assert_eq!(read(text.clone()).unwrap(), text);
        assert_eq!(read(gzip(&text)).unwrap(), text);
        assert_eq!(read(zstd(&text)).unwrap(), text);
        for short in [&b""[..], b"1", b"\x28\xb5"] {
            assert_eq!(read(short.to_vec()).unwrap(), short);
        }
    }

    #[test]
    fn members_and_frames_follow_one_another() {
        let two = |pack: fn(&[u8]) -> Vec<u8>| [pack(b"one\n"), pack(b"two\n")].concat();
        assert_eq!(read(two(gzip)).unwrap(), b"one\ntwo\n");
        assert_eq!(read(two(zstd)).unwrap(), b"one\ntwo\n");
        let skippable = b"\x5a\x2a\x4d\x18\x03\0\0\0abc".to_vec();
        assert_eq!(read([skippable, zstd(b"x\n")].concat()).unwrap(), b"x\n");
    }

    #[test]
    fn every_cut_of_compressed_data_is_noticed() {
        let text = &sample()[..3_000];
        for whole in [gzip(text), zstd(text)] {
            for length in 4..whole.len() {
                let error = read(whole[..length].to_vec()).expect_err("cut short");
                assert_eq!(error.kind(), io::ErrorKind::UnexpectedEof, "cut at {length}");
            }
        }
    }

    #[test]
    fn damage_is_told_from_a_cut() {
        let mut bytes = gzip(&sample());
        let middle = bytes.len() / 2;
        bytes[middle..middle + 64].fill(0xff);
        assert_ne!(read(bytes).unwrap_err().kind(), io::ErrorKind::UnexpectedEof);
        let mut bytes = zstd(b"some text that is long enough to be stored\n");
        *bytes.last_mut().unwrap() ^= 1;
        let message = read(bytes).unwrap_err().to_string();
        assert_eq!(message, "the zstd checksum does not match its data");
    }
}
