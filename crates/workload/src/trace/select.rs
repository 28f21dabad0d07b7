//! Which requests of a trace are used: by what they are (filter), and by when they come (clip).
//!
//! The filter looks at rows in the order of the file, before anything is done to their times. The
//! clip looks at requests in the order of their times: first those between two times are taken, of
//! them some at the start are passed over, and of the rest a number is used. Nothing behind the end
//! of a clip is read.

use flashyard_core::request::{RequestOp, SECTOR_BYTES};

use super::TraceKeys;
use super::keys::KeepOps;
use crate::error::WorkloadError;
use crate::format::Record;
use crate::words::{counted, either, was};

/// Why the filter leaves a request out; the first reason that applies is counted.
#[derive(Clone, Copy, Debug)]
enum Reason {
    Op,
    Stream,
    Small,
    Large,
    Address,
}

/// What the note calls the reasons, in their order.
const REASONS: [&str; 5] =
    ["trace.keep_ops", "their stream", "trace.min_kib", "trace.max_kib", "their address"];

/// Leaves requests out by what they are.
#[derive(Debug)]
pub(super) struct Filter {
    active: bool,
    keys: TraceKeys,
    dropped: [u64; REASONS.len()],
    /// Requests that are kept and end behind `to_sector`.
    crossing: u64,
}

impl Filter {
    pub(super) fn new(keys: &TraceKeys) -> Self {
        let plain = TraceKeys::default();
        let active = (keys.keep_ops, keys.first_stream, keys.last_stream)
            != (plain.keep_ops, plain.first_stream, plain.last_stream)
            || [keys.min_kib.bytes(), keys.max_kib.bytes(), keys.from_sector, keys.to_sector]
                != [0; 4];
        Self { active, keys: *keys, dropped: [0; REASONS.len()], crossing: 0 }
    }

    /// Whether it may leave out anything.
    pub(super) const fn is_active(&self) -> bool {
        self.active
    }

    /// Whether the request is used.
    #[inline]
    pub(super) fn keeps(&mut self, record: &Record) -> bool {
        // A copy, so that rows stay in registers where there is no filter.
        !self.active || self.passes(&{ *record })
    }

    #[cold]
    fn passes(&mut self, record: &Record) -> bool {
        if let Some(reason) = self.reason(record) {
            self.dropped[reason as usize] += 1;
            return false;
        }
        let end = record.first_sector.saturating_add(u64::from(record.sectors));
        let crosses = record.op != RequestOp::Flush && end > self.keys.to_sector;
        self.crossing += u64::from(crosses && self.keys.to_sector > 0);
        true
    }

    fn reason(&self, record: &Record) -> Option<Reason> {
        let keys = &self.keys;
        if !keys.keep_ops.keeps(record.op) {
            return Some(Reason::Op);
        }
        if !(keys.first_stream..=keys.last_stream).contains(&u64::from(record.stream)) {
            return Some(Reason::Stream);
        }
        if record.op == RequestOp::Flush {
            return None;
        }
        let bytes = u64::from(record.sectors) * u64::from(SECTOR_BYTES);
        if bytes < keys.min_kib.bytes() {
            return Some(Reason::Small);
        }
        if !keys.max_kib.is_zero() && bytes > keys.max_kib.bytes() {
            return Some(Reason::Large);
        }
        let first = record.first_sector;
        let inside = first >= keys.from_sector && (keys.to_sector == 0 || first < keys.to_sector);
        if inside { None } else { Some(Reason::Address) }
    }

    /// How many requests were left out.
    pub(super) fn dropped(&self) -> u64 {
        self.dropped.iter().sum()
    }

    /// What it has done.
    pub(super) fn note(&self) -> Option<String> {
        let reasons = self.dropped.iter().zip(REASONS).filter(|(count, _)| **count > 0);
        let parts: Vec<String> =
            reasons.map(|(count, reason)| format!("{count} by {reason}")).collect();
        let mut notes = Vec::new();
        if !parts.is_empty() {
            let dropped = self.dropped();
            let (requests, were) = (counted(dropped, "request"), was(dropped));
            notes.push(format!("{requests} {were} filtered out: {}", parts.join(", ")));
        }
        if self.crossing > 0 {
            let end = either(self.crossing, "was kept ends", "were kept end");
            notes.push(format!("{} that {end} behind trace.to_sector", self.crossing));
        }
        (!notes.is_empty()).then(|| notes.join("; "))
    }
}

impl KeepOps {
    /// Whether it keeps requests of this kind.
    const fn keeps(self, op: RequestOp) -> bool {
        match self {
            Self::All => true,
            Self::Reads => matches!(op, RequestOp::Read),
            Self::Writes => matches!(op, RequestOp::Write),
            Self::ReadsAndWrites => matches!(op, RequestOp::Read | RequestOp::Write),
            Self::Trims => matches!(op, RequestOp::Trim),
            Self::Flushes => matches!(op, RequestOp::Flush),
        }
    }
}

/// What a clip says about a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Clipped {
    /// It is used.
    Keep,
    /// It lies before the part that is used.
    Before,
    /// It lies behind the part that is used, and so does everything after it.
    Behind,
}

/// Leaves requests out by when they come.
#[derive(Debug)]
pub(super) struct Clip {
    active: bool,
    keys: TraceKeys,
    /// The time of the first request, of those that the filter keeps.
    first_ns: Option<u64>,
    /// Requests before `start_ms`, and requests that `first_request` passed over.
    early: u64,
    skipped: u64,
    taken: u64,
    /// Which key ended the trace, where one did, and how many requests that had been read by then
    /// were left out.
    ended_by: Option<&'static str>,
    behind: u64,
    closed: bool,
}

impl Clip {
    pub(super) const fn new(keys: &TraceKeys) -> Self {
        let active = !keys.start_ms.is_zero()
            || !keys.end_ms.is_zero()
            || keys.first_request > 0
            || keys.request_limit > 0;
        Self {
            active,
            keys: *keys,
            first_ns: None,
            early: 0,
            skipped: 0,
            taken: 0,
            ended_by: None,
            behind: 0,
            closed: false,
        }
    }

    /// Whether it may leave anything out.
    pub(super) const fn is_active(&self) -> bool {
        self.active
    }

    /// Whether no further request is used, so that none need be read.
    #[inline]
    pub(super) const fn is_over(&self) -> bool {
        self.active && (self.ended_by.is_some() || self.is_full())
    }

    const fn is_full(&self) -> bool {
        self.keys.request_limit > 0 && self.taken == self.keys.request_limit
    }

    /// What becomes of the next request in order of time.
    #[inline]
    pub(super) fn decide(&mut self, time_ns: u64) -> Clipped {
        if self.active { self.place(time_ns) } else { Clipped::Keep }
    }

    fn place(&mut self, time_ns: u64) -> Clipped {
        let since_ns = time_ns - *self.first_ns.get_or_insert(time_ns);
        let keys = &self.keys;
        if !keys.end_ms.is_zero() && since_ns >= keys.end_ms.as_ns() {
            self.ended_by = Some("trace.end_ms");
            return Clipped::Behind;
        }
        if since_ns < keys.start_ms.as_ns() {
            self.early += 1;
            return Clipped::Before;
        }
        if self.skipped < keys.first_request {
            self.skipped += 1;
            return Clipped::Before;
        }
        self.taken += 1;
        Clipped::Keep
    }

    /// Nothing behind the end is used, nor are the requests that the window holds.
    pub(super) fn end(&mut self, held: u64) {
        if self.closed {
            return;
        }
        self.closed = true;
        if self.ended_by.is_some() {
            self.behind = held + 1;
        } else if self.is_full() {
            self.ended_by = Some("trace.request_limit");
            self.behind = held;
        }
    }

    /// How many requests that were read were left out.
    pub(super) const fn dropped(&self) -> u64 {
        self.early + self.skipped + self.behind
    }

    /// The error of a trace of which nothing is left.
    pub(super) fn nothing(&self, file: &str) -> Option<WorkloadError> {
        if !self.active || self.taken > 0 {
            return None;
        }
        let Self { early, skipped, .. } = self;
        let mut what = format!(
            "no request is left of it: {early} come before trace.start_ms, {skipped} were passed \
             over by trace.first_request"
        );
        if self.ended_by.is_some() {
            what.push_str(", and the next one comes after trace.end_ms");
        }
        let fix = "clip less, or not at all".to_owned();
        Some(WorkloadError::File { file: file.to_owned(), what, fix })
    }

    /// What it has done.
    pub(super) fn note(&self) -> Option<String> {
        let mut parts = Vec::new();
        if self.early > 0 {
            parts.push(format!("{} before trace.start_ms", self.early));
        }
        if self.skipped > 0 {
            parts.push(format!("{} by trace.first_request", self.skipped));
        }
        if let Some(key) = self.ended_by {
            parts.push(format!("what is behind {key}, where {} had been read", self.behind));
        }
        let (requests, were) = (counted(self.taken, "request"), was(self.taken));
        let note = || format!("{requests} {were} taken of the trace: without {}", parts.join(", "));
        (!parts.is_empty()).then(note)
    }
}
