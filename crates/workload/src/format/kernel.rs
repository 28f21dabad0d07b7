//! Block events of Linux, however they were recorded: the letters of an operation, the request that
//! an event stands for, and the columns that make streams.
//!
//! Source: `blk_fill_rwbs` of `kernel/trace/blktrace.c`, `fill_rwbs` of blktrace's
//! `blkparse_fmt.c`.

use std::collections::VecDeque;

use flashyard_core::request::{Flags, RequestOp};

use super::fields::whole;
use super::{Event, Format, Parsed, ReaderOptions, Record, RowError};
use crate::error::quoted;
use crate::names::Names;
use crate::words::{counted, either, was};

/// The columns that can make streams. Completions have all of them but the process.
pub(super) const SPLITS: &[&str] = &["device", "cpu", "pid", "process"];

/// What RWBS says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Rwbs {
    /// `None` for N: nothing.
    pub(super) op: Option<RequestOp>,
    pub(super) flags: Flags,
}

/// Reads the letters of RWBS: F where a flush comes first; R, W, WZ, D or N; F for force unit
/// access; then A (readahead), S (synchronous), M (metadata), U (atomic), and of old kernels B and
/// E, which change nothing. Operations of zones are refused.
pub(super) fn rwbs(text: &[u8]) -> Result<Rwbs, RowError> {
    let unknown =
        || RowError::op(text, "R, W, D and N with F, A, S and M, without operations of zones");
    let (preflush, rest) = match text {
        [b'F', rest @ ..] => (true, rest),
        rest => (false, rest),
    };
    let (op, zeroes, rest) = match rest {
        [b'R', rest @ ..] => (Some(RequestOp::Read), false, rest),
        [b'W', b'Z', rest @ ..] => (Some(RequestOp::Trim), true, rest),
        [b'W', rest @ ..] => (Some(RequestOp::Write), false, rest),
        [b'D', rest @ ..] => (Some(RequestOp::Trim), false, rest),
        [b'N', rest @ ..] if !preflush => (None, false, rest),
        [b'N' | b'F', rest @ ..] | rest if preflush => (Some(RequestOp::Flush), false, rest),
        _ => return Err(unknown()),
    };
    if !rest.iter().all(|letter| b"FASMUBE".contains(letter)) {
        return Err(unknown());
    }
    let mut flags = Flags::NONE;
    for (set, flag) in [
        (preflush && op != Some(RequestOp::Flush), Flags::PREFLUSH),
        (op == Some(RequestOp::Write) && rest.contains(&b'F'), Flags::FUA),
        (zeroes, Flags::ZEROES),
    ] {
        if set {
            flags = flags.with(flag);
        }
    }
    Ok(Rwbs { op, flags })
}

impl Rwbs {
    /// The operation of an event that has sectors; `None` where it is no request, or a flush.
    pub(super) fn on_sectors(self) -> Option<RequestOp> {
        self.op.filter(|op| *op != RequestOp::Flush)
    }

    /// Whether an event without sectors is a flush: its letters say so, or it is what is left of a
    /// request with a flush in front.
    pub(super) fn is_flush(self) -> bool {
        match self.op {
            Some(RequestOp::Flush) => true,
            Some(_) => self.flags.has(Flags::PREFLUSH),
            None => false,
        }
    }
}

/// What an event asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Asked {
    pub(super) op: RequestOp,
    pub(super) flags: Flags,
    pub(super) first_sector: u64,
    /// 0 only in a flush, which has no first sector either.
    pub(super) sectors: u32,
}

impl Asked {
    /// A flush.
    pub(super) const FLUSH: Self =
        Self { op: RequestOp::Flush, flags: Flags::NONE, first_sector: 0, sectors: 0 };
}

/// Requests that the driver gave back (requeue) and that it was not given again (issue) so far.
///
/// A driver gives back what it or its device cannot take now, and gets it again later. That is one
/// request, which counts when it was issued first: the wait that follows is of the recorded device,
/// and a replay has that of its own.
#[derive(Debug, Default)]
struct GivenBack {
    /// Device and request, the one that was given back last at the end.
    waiting: VecDeque<(u64, Asked)>,
    /// How many were issued again.
    again: u64,
}

/// How many requests that were given back are remembered. Those that wait longer are forgotten.
const WAITING_MAX: usize = 1 << 12;

impl GivenBack {
    /// Whether no request waits to be issued again.
    fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// The driver gave a request of a device back.
    fn give_back(&mut self, device: u64, asked: Asked) {
        if self.waiting.len() == WAITING_MAX {
            self.waiting.pop_front();
        }
        self.waiting.push_back((device, asked));
    }

    /// Whether a request that is issued was issued before and given back.
    fn is_again(&mut self, device: u64, asked: Asked) -> bool {
        let is_again = self.take(device, asked);
        self.again += u64::from(is_again);
        is_again
    }

    /// A request has ended: if it waits to be issued again, that does not happen.
    fn complete(&mut self, device: u64, asked: Asked) {
        self.take(device, asked);
    }

    fn take(&mut self, device: u64, asked: Asked) -> bool {
        let place = |of: &Asked| (of.op, of.first_sector, of.sectors);
        let same = |(on, of): &(u64, Asked)| *on == device && place(of) == place(&asked);
        let found = self.waiting.iter().position(same);
        found.is_some_and(|at| self.waiting.remove(at).is_some())
    }

    /// What is to be said of them.
    fn note(&self) -> Option<String> {
        let (requests, were) = (counted(self.again, "request"), was(self.again));
        (self.again > 0).then(|| {
            let them = either(self.again, "it", "them");
            format!(
                "{requests} {were} issued again, as the driver had given {them} back: counted once"
            )
        })
    }
}

/// What a row of a trace says of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// It is one of these events.
    Of(Event),
    /// The driver gave it back.
    GivenBack,
    /// Something else.
    Other,
}

/// The events that formats have.
pub(super) const EVENTS: [Event; 3] = [Event::Queue, Event::Issue, Event::Complete];

/// The requests of a trace: one of its events is chosen, rows of the others are counted.
#[derive(Debug)]
pub(super) struct Requests {
    chosen: Event,
    streams: Streams,
    /// Rows of each of [`EVENTS`].
    seen: [u64; EVENTS.len()],
    given_back: GivenBack,
}

impl Requests {
    fn new(options: &ReaderOptions<'_>) -> Self {
        Self {
            chosen: options.event,
            streams: Streams::new(options.event, options.split),
            seen: [0; EVENTS.len()],
            given_back: GivenBack::default(),
        }
    }

    /// Notes what becomes of requests that were issued, besides; `asked` is the device of a row and
    /// what it asks for.
    pub(super) fn look(&mut self, step: Step, asked: impl FnOnce() -> Option<(u64, Asked)>) {
        let ends = step == Step::Of(Event::Complete) && !self.given_back.is_empty();
        if self.chosen != Event::Issue || !(step == Step::GivenBack || ends) {
            return;
        }
        let Some((device, asked)) = asked() else { return };
        if ends {
            self.given_back.complete(device, asked);
        } else {
            self.given_back.give_back(device, asked);
        }
    }

    /// Whether a row is one of the chosen event. Those of other events are counted.
    pub(super) fn is_chosen(&mut self, step: Step) -> bool {
        let Step::Of(event) = step else { return false };
        if event != self.chosen {
            let place = EVENTS.iter().position(|known| *known == event);
            self.seen[place.expect("one of the events")] += 1;
        }
        event == self.chosen
    }

    /// The request of a row of the chosen event, on the device of this number.
    pub(super) fn request(
        &mut self,
        time_ns: u64,
        (device, asked): (u64, Asked),
        origin: Origin<'_>,
    ) -> Result<Parsed, RowError> {
        if self.given_back.is_again(device, asked) {
            return Ok(Parsed::Other);
        }
        let Asked { op, flags, first_sector, sectors } = asked;
        let stream = self.streams.number(origin)?;
        Ok(Parsed::Request(Record {
            time_ns,
            first_sector,
            sectors,
            stream,
            op,
            flags,
            placement: None,
        }))
    }
}

/// How rows of a format are read.
pub(super) trait Rows: Send + std::fmt::Debug {
    /// What a row holds.
    fn read(&mut self, row: &[u8], requests: &mut Requests) -> Result<Parsed, RowError>;
}

/// A reader of block events.
#[derive(Debug)]
pub(super) struct Reader<R> {
    rows: R,
    requests: Requests,
}

impl<R: Rows> Reader<R> {
    /// A reader of one of [`EVENTS`].
    pub(super) fn new(rows: R, options: &ReaderOptions<'_>) -> Self {
        Self { rows, requests: Requests::new(options) }
    }
}

impl<R: Rows> Format for Reader<R> {
    fn parse(&mut self, row: &[u8]) -> Result<Parsed, RowError> {
        self.rows.read(row, &mut self.requests)
    }

    fn passed_over(&self) -> Vec<(Event, u64)> {
        EVENTS.into_iter().zip(self.requests.seen).collect()
    }

    fn notes(&self) -> Vec<String> {
        self.requests.given_back.note().into_iter().collect()
    }

    fn noted_rows(&self) -> u64 {
        self.requests.given_back.again
    }

    fn stream_names(&self) -> Vec<String> {
        self.requests.streams.list()
    }
}

/// A number for a device that is written `major,minor`.
pub(super) fn device_number(text: &[u8]) -> u64 {
    let figure = |byte: u8| if byte == b',' { 10 } else { u64::from(byte.wrapping_sub(b'0')) };
    text.iter().fold(0, |number: u64, &byte| number.wrapping_mul(11).wrapping_add(figure(byte)))
}

/// Whether a column is `major,minor`.
pub(super) fn is_device(text: &[u8]) -> bool {
    let digits = |part: &[u8]| !part.is_empty() && part.iter().all(u8::is_ascii_digit);
    memchr::memchr(b',', text).is_some_and(|at| digits(&text[..at]) && digits(&text[at + 1..]))
}

/// Takes the next column off the front of `rest`; empty at the end.
pub(super) fn column<'a>(rest: &mut &'a [u8]) -> &'a [u8] {
    let blank = |byte: &u8| matches!(byte, b' ' | b'\t');
    let start = rest.iter().position(|byte| !blank(byte)).unwrap_or(rest.len());
    let text = &rest[start..];
    let end = text.iter().position(blank).unwrap_or(text.len());
    *rest = &text[end..];
    &text[..end]
}

/// What is in the brackets at the end of an event of a request.
pub(super) fn process(rest: &[u8]) -> Result<&[u8], RowError> {
    let text = rest.trim_ascii_end().strip_suffix(b"]");
    let name = text.and_then(|text| Some(&text[memchr::memchr(b'[', text)? + 1..]));
    name.ok_or_else(|| RowError {
        what: format!("the line is cut short, it ends with {}", quoted(rest)),
        fix: "an event of a request ends with [process] or, if completed, with [error]".to_owned(),
    })
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Split {
    Device,
    Cpu,
    Pid,
    Process,
}

/// Who made a request, and on what.
#[derive(Clone, Copy, Debug)]
pub(super) struct Origin<'a> {
    pub(super) device: &'a [u8],
    pub(super) cpu: &'a [u8],
    pub(super) pid: &'a [u8],
    pub(super) process: &'a [u8],
}

/// Numbers the streams of events.
#[derive(Debug)]
struct Streams {
    event: Event,
    split: Split,
    names: Names,
}

impl Streams {
    /// Streams of events of this kind, by one of [`SPLITS`], or by device.
    fn new(event: Event, split: Option<&str>) -> Self {
        let split = match split {
            Some("cpu") => Split::Cpu,
            Some("pid") => Split::Pid,
            Some("process") => Split::Process,
            _ => Split::Device,
        };
        Self { event, split, names: Names::default() }
    }

    /// The number of the stream.
    fn number(&mut self, origin: Origin<'_>) -> Result<u16, RowError> {
        match self.split {
            Split::Device => self.names.number("device", origin.device),
            Split::Cpu => {
                whole("CPU", origin.cpu)?;
                self.names.number("cpu", origin.cpu)
            }
            Split::Pid => {
                whole("process number", origin.pid)?;
                self.names.number("pid", origin.pid)
            }
            Split::Process if self.event == Event::Complete => Err(RowError {
                what: "completions name no process, so it cannot make streams".to_owned(),
                fix: "set trace.event to queue or issue, or trace.split to device, cpu or pid"
                    .to_owned(),
            }),
            Split::Process => self.names.number("process", origin.process),
        }
    }

    /// The values, by number.
    fn list(&self) -> Vec<String> {
        self.names.list()
    }
}
