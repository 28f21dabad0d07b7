//! The records of a byte stream through one bounded buffer, each with the bytes that follow it.

use std::fmt;

use super::record::{DAMAGE_FIX, Order, RECORD_BYTES, VERSION};
use crate::error::WorkloadError;
use crate::format::buffer::{Buffer, Stop, cut_after};
use crate::lines::Lines;

/// Bytes of the buffer: more than the longest record with what follows it.
const BUFFER_BYTES: usize = 256 * 1024;

const CUT_FIX: &str = "the file was cut short, or is still being written: fetch it again, or leave \
                       the end out with trace.request_limit";

/// Records, numbered from 1.
pub(crate) struct Frames {
    buffer: Buffer,
    /// The number of the record that was returned last.
    number: u64,
    /// The byte order of the first record, which all must have.
    order: Option<Order>,
}

impl Frames {
    /// The records of what is left of `lines`.
    pub(crate) fn open(lines: Lines) -> Self {
        Self { buffer: Buffer::new(lines, BUFFER_BYTES), number: 0, order: None }
    }

    /// What messages call the stream.
    pub(crate) fn name(&self) -> &str {
        self.buffer.name()
    }

    /// The number of the record that was returned last.
    pub(crate) const fn number(&self) -> u64 {
        self.number
    }

    /// The next record with what follows it; `None` at the end.
    pub(crate) fn next_frame(&mut self) -> Result<Option<&[u8]>, WorkloadError> {
        if !self.fill(RECORD_BYTES)? {
            let left = self.buffer.unused().len();
            if left >= size_of::<u32>() {
                self.check_start()?;
            }
            return if left == 0 { Ok(None) } else { Err(self.cut(left, RECORD_BYTES)) };
        }
        let order = self.check_start()?;
        let follows = order.u16_at(self.buffer.unused(), RECORD_BYTES - 2);
        let length = RECORD_BYTES + usize::from(follows);
        if !self.fill(length)? {
            return Err(self.cut(self.buffer.unused().len(), length));
        }
        self.number += 1;
        Ok(Some(self.buffer.take(length)))
    }

    /// The byte order of the record in the buffer, which has the right start.
    fn check_start(&mut self) -> Result<Order, WorkloadError> {
        match Order::of(self.buffer.unused()) {
            Some((_, version)) if version != VERSION => {
                let what = format!("records of version {version}, and version {VERSION} is read");
                Err(self.refuse(what, "make text of it: blkparse -i FILE -o TEXT"))
            }
            Some((order, _)) if self.order.is_none_or(|first| first == order) => {
                self.order = Some(order);
                Ok(order)
            }
            Some(_) => {
                let what = "its byte order is not that of the first record".to_owned();
                Err(self.refuse(what, DAMAGE_FIX))
            }
            None => {
                let start = self.buffer.unused().first_chunk::<4>().expect("it is filled");
                let what = format!(
                    "it starts with the bytes {} instead of 0x656174{VERSION:02x}",
                    start.map(|byte| format!("{byte:02x}")).join(" ")
                );
                Err(self.refuse(what, DAMAGE_FIX))
            }
        }
    }

    fn cut(&self, found: usize, wanted: usize) -> WorkloadError {
        self.refuse(format!("{found} bytes are left of it instead of {wanted}"), CUT_FIX)
    }

    /// An error of the record behind the last one.
    fn refuse(&self, what: String, fix: &str) -> WorkloadError {
        let (file, record) = (self.name().to_owned(), self.number + 1);
        WorkloadError::Record { file, record, what, fix: fix.to_owned() }
    }

    /// Reads until `wanted` bytes are in the buffer; `false` where the data ends before.
    fn fill(&mut self, wanted: usize) -> Result<bool, WorkloadError> {
        self.buffer.fill(wanted).map_err(|stop| match stop {
            Stop::Cut => self.refuse(cut_after(self.number), CUT_FIX),
            Stop::Unreadable(error) => error,
        })
    }
}

impl fmt::Debug for Frames {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Frames")
            .field("name", &self.name())
            .field("number", &self.number)
            .finish_non_exhaustive()
    }
}
