//! Writing requests in a trace format, and saying what the format cannot hold.
//!
//! What a format loses is data ([`Holds`]): one place counts it, words it and tests it for all.

mod interface;

use flashyard_core::request::{Request, RequestOp};

pub use self::interface::{Holds, Outline, Streams, Writer};
pub(super) use self::interface::{Seconds, put};

use super::{FormatInfo, columns, writable_names};
use crate::error::WorkloadError;
use crate::words::{counted, was};

/// A count of the requests that were not written as they are, by reason.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Losses {
    /// Times that were rounded down.
    pub times: u64,
    /// Requests whose stream is another when they are read back.
    pub streams: u64,
    /// Requests without some of their flags.
    pub flags: u64,
    /// Flushes without their addresses.
    pub flush_ranges: u64,
    /// Requests without their placement identifier.
    pub placements: u64,
    /// Names of streams.
    pub names: u64,
    /// Requests that were left out because the format has no such operation, by operation.
    pub ops: [u64; RequestOp::ALL.len()],
    /// Requests that were left out because they lie behind the last address of the format.
    pub addresses: u64,
}

impl Losses {
    /// Requests that were left out.
    pub fn left_out(&self) -> u64 {
        self.addresses + self.ops.iter().sum::<u64>()
    }
}

/// Writes requests in one format and counts what is lost.
#[derive(Debug)]
pub struct TraceWriter {
    /// What messages call the result.
    name: String,
    format: String,
    writer: Box<dyn Writer>,
    holds: Holds,
    /// Whether requests that do not fit are left out.
    lossy: bool,
    /// The number of each stream when it is read back, by its number, where that is by appearance.
    appeared: Vec<Option<u16>>,
    appearances: u16,
    requests: u64,
    first_ns: u64,
    losses: Losses,
}

impl TraceWriter {
    /// A writer of `format`; messages call the result `name`. Requests that do not fit the format
    /// are left out if `lossy`, and errors if not.
    pub fn new(name: &str, format: &FormatInfo, lossy: bool) -> Result<Self, WorkloadError> {
        let Some(open) = format.writer else {
            return Err(WorkloadError::File {
                file: name.to_owned(),
                what: format!("the format {} can be read, but not written", format.name),
                fix: format!("these can be written: {}", writable_names()),
            });
        };
        Ok(Self::of(name, format.name, open(), lossy))
    }

    /// A writer of the user's own columns, where `text` is a descriptor: the path of a file that
    /// ends in `.toml`, or one line with a colon.
    pub fn described(name: &str, text: &str, lossy: bool) -> Option<Result<Self, WorkloadError>> {
        let layout = columns::own(text)?;
        Some(layout.and_then(|layout| {
            let format = layout.name.clone();
            Ok(Self::of(name, &format, layout.into_writer()?, lossy))
        }))
    }

    fn of(name: &str, format: &str, writer: Box<dyn Writer>, lossy: bool) -> Self {
        Self {
            name: name.to_owned(),
            format: format.to_owned(),
            holds: writer.holds(),
            writer,
            lossy,
            appeared: Vec::new(),
            appearances: 0,
            requests: 0,
            first_ns: 0,
            losses: Losses::default(),
        }
    }

    /// Appends a request to `out`.
    pub fn push(&mut self, request: &Request, out: &mut Vec<u8>) -> Result<(), WorkloadError> {
        if let Some(why) = self.misfit(request) {
            if !self.lossy {
                return Err(self.refuse(request, why));
            }
            match why {
                Misfit::Op => self.losses.ops[request.op as usize] += 1,
                Misfit::Address => self.losses.addresses += 1,
            }
            return Ok(());
        }
        let arrival_ns = request.arrival.as_ns();
        if self.requests == 0 {
            self.first_ns = arrival_ns;
            self.writer.start(&Outline { requests: None, first_ns: arrival_ns }, out);
        }
        self.requests += 1;
        self.losses.times += u64::from(!arrival_ns.is_multiple_of(self.holds.time_unit_ns));
        self.losses.flags += u64::from(!self.holds.flags.has(request.flags));
        let placed = request.placement.is_some() && !self.holds.placement;
        self.losses.placements += u64::from(placed);
        if request.op == RequestOp::Flush && !self.holds.flush_ranges {
            let has_range = (request.first_sector, request.sectors) != (0, 0);
            self.losses.flush_ranges += u64::from(has_range);
        }
        let stream = self.stream_read_back(request.stream);
        self.losses.streams += u64::from(stream != request.stream);
        self.writer.row(request, out);
        Ok(())
    }

    /// Appends the end to `out`. A trace without a request is an error.
    pub fn finish(&mut self, names: &[String], out: &mut Vec<u8>) -> Result<(), WorkloadError> {
        if self.requests == 0 {
            let what = match self.losses.left_out() {
                0 => "there are no requests to write".to_owned(),
                left_out => format!(
                    "none of {} fit the format {}: nothing is left to write",
                    counted(left_out, "request"),
                    self.format
                ),
            };
            let fix = "give another workload or format".to_owned();
            return Err(WorkloadError::File { file: self.name.clone(), what, fix });
        }
        let (names, lost) = if self.holds.names { (names, 0) } else { (&[][..], names.len()) };
        self.losses.names = lost as u64;
        self.writer.end(names, out);
        Ok(())
    }

    /// The text before the first row with the number of requests, which is known only now. It has
    /// the same length as the text that was written there.
    pub fn header(&self) -> Vec<u8> {
        let mut header = Vec::new();
        let outline = Outline { requests: Some(self.requests), first_ns: self.first_ns };
        self.writer.start(&outline, &mut header);
        header
    }

    /// The name of the format.
    pub fn format(&self) -> &str {
        &self.format
    }

    /// How many requests have been written.
    pub const fn requests(&self) -> u64 {
        self.requests
    }

    /// What has been lost.
    pub const fn losses(&self) -> &Losses {
        &self.losses
    }

    /// What has been lost, a sentence each.
    pub fn notes(&self) -> Vec<String> {
        let Losses { times, streams, flags, flush_ranges, placements, names, ops, addresses } =
            self.losses;
        let (format, unit) = (&self.format, self.holds.time_unit_ns);
        let mut notes = Vec::new();
        let mut note = |count: u64, text: String| {
            if count > 0 {
                notes.push(text);
            }
        };
        note(
            times,
            format!("the times of {} were rounded down to {unit} ns", counted(times, "request")),
        );
        let why = match self.holds.streams {
            Streams::Appearance => "numbers streams in the order of appearance",
            Streams::None | Streams::Numbers => "has no streams",
        };
        note(
            streams,
            format!("the streams of {} change: {format} {why}", counted(streams, "request")),
        );
        let text = counted(flags, "request");
        note(flags, format!("flags of {text} are lost: {format} is written without"));
        let text = counted(flush_ranges, "flush");
        note(flush_ranges, format!("the addresses of {text} are lost: {format} has none"));
        let text = counted(placements, "request");
        let lost = format!("the placement identifiers of {text} are lost: {format} has none");
        note(placements, lost);
        let text = counted(names, "stream");
        note(names, format!("the names of {text} are lost: {format} has none"));
        for (op, count) in RequestOp::ALL.into_iter().zip(ops) {
            let (requests, plural) = (counted(count, "request"), plural(op));
            note(count, format!("{requests} {} left out: {format} has no {plural}", was(count)));
        }
        let end = self.holds.end_sector;
        let (requests, were) = (counted(addresses, "request"), was(addresses));
        let why = format!("addresses of {format} end at sector {end}");
        note(addresses, format!("{requests} {were} left out: {why}"));
        notes
    }

    /// The stream that readers will see.
    fn stream_read_back(&mut self, stream: u16) -> u16 {
        match self.holds.streams {
            Streams::None => 0,
            Streams::Numbers => stream,
            Streams::Appearance => {
                let place = usize::from(stream);
                if self.appeared.len() <= place {
                    self.appeared.resize(place + 1, None);
                }
                *self.appeared[place].get_or_insert_with(|| {
                    let number = self.appearances;
                    // The last of 65536 streams wraps, and no other comes after it.
                    self.appearances = number.wrapping_add(1);
                    number
                })
            }
        }
    }

    fn misfit(&self, request: &Request) -> Option<Misfit> {
        if !self.holds.ops.contains(&request.op) {
            return Some(Misfit::Op);
        }
        if request.op == RequestOp::Flush && !self.holds.flush_ranges {
            return None;
        }
        let fits = request.end_sector().is_some_and(|end| end <= self.holds.end_sector);
        (!fits).then_some(Misfit::Address)
    }

    fn refuse(&self, request: &Request, why: Misfit) -> WorkloadError {
        let Request { arrival, first_sector, sectors, op, .. } = request;
        let number = self.requests + 1;
        let why = match why {
            Misfit::Op => format!("has no {}", plural(*op)),
            Misfit::Address => format!("has addresses up to sector {}", self.holds.end_sector),
        };
        WorkloadError::File {
            file: self.name.clone(),
            what: format!(
                "request {number} does not fit, a {} of {sectors} sectors from sector \
                 {first_sector} at {} ns: the format {} {why}",
                op.name(),
                arrival.as_ns(),
                self.format
            ),
            fix: "choose another format, or leave such requests out with --lossy".to_owned(),
        }
    }
}

/// Why a request does not fit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Misfit {
    Op,
    Address,
}

const fn plural(op: RequestOp) -> &'static str {
    match op {
        RequestOp::Read => "reads",
        RequestOp::Write => "writes",
        RequestOp::Trim => "trims",
        RequestOp::Flush => "flushes",
    }
}

#[cfg(test)]
mod tests;
