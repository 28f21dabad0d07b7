//! Requests that overlap requests shortly before them.

use flashyard_core::request::{Request, RequestOp};
use serde::Serialize;

use super::units::percent;

/// Requests that are looked back at: those that a queue of this depth could hold at once.
pub const OVERLAP_REQUESTS: usize = 32;

/// Shares of reads and writes that overlap at least one of the [`OVERLAP_REQUESTS`] reads and
/// writes before them, in percent. A request may count for several kinds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Overlap {
    /// Of any kind.
    pub any_percent: Option<f64>,
    /// Read after write: it reads what one of them writes.
    pub raw_percent: Option<f64>,
    /// Write after read.
    pub war_percent: Option<f64>,
    /// Write after write.
    pub waw_percent: Option<f64>,
    /// Read after read.
    pub rar_percent: Option<f64>,
}

/// The last requests, and how many overlapped.
#[derive(Debug, Default)]
pub(super) struct Recent {
    firsts: [u64; OVERLAP_REQUESTS],
    /// Last sector of each.
    lasts: [u64; OVERLAP_REQUESTS],
    /// A bit for each that is there.
    known: u32,
    /// A bit for each write.
    writes: u32,
    next: usize,
    requests: u64,
    any: u64,
    raw: u64,
    war: u64,
    waw: u64,
    rar: u64,
}

impl Recent {
    /// Adds a read or a write that ends with the sector `last`.
    pub(super) fn add(&mut self, request: &Request, last: u64) {
        let first = request.first_sector;
        let mut overlap = 0_u32;
        for at in 0..OVERLAP_REQUESTS {
            let meets = u32::from(self.firsts[at] <= last) & u32::from(first <= self.lasts[at]);
            overlap |= meets << at;
        }
        overlap &= self.known;
        let (after_write, after_read) = (overlap & self.writes != 0, overlap & !self.writes != 0);
        let is_write = request.op == RequestOp::Write;
        self.requests += 1;
        self.any += u64::from(overlap != 0);
        self.raw += u64::from(!is_write & after_write);
        self.war += u64::from(is_write & after_read);
        self.waw += u64::from(is_write & after_write);
        self.rar += u64::from(!is_write & after_read);
        self.firsts[self.next] = first;
        self.lasts[self.next] = last;
        let bit = 1 << self.next;
        self.known |= bit;
        self.writes = if is_write { self.writes | bit } else { self.writes & !bit };
        self.next = (self.next + 1) % OVERLAP_REQUESTS;
    }

    pub(super) fn finish(&self) -> Overlap {
        let share = |count| percent(count, self.requests);
        Overlap {
            any_percent: share(self.any),
            raw_percent: share(self.raw),
            war_percent: share(self.war),
            waw_percent: share(self.waw),
            rar_percent: share(self.rar),
        }
    }
}
