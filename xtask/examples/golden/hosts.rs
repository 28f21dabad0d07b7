//! Worked examples of host policies and write buffers.
//!
//! Each object of a file is told by what it holds, at any depth:
//! - `NCQ_oldest_first`: reads beside writes of a banked buffer ([`overlap`]);
//! - `RQ_oldest_first`: one request at a time in front of a full buffer ([`serial`]);
//! - `units` with `NAND_read`, `transfer` and `NAND_program`: two reads and a write of one chip
//!   ([`chip`]);
//! - `priority`, `dependency`, `dependency_bruteforce`: the classes of requests, queues with the
//!   values that one pass gives them, and random queues ([`queues`]);
//! - `necessary_conditions`, `variants`: more runs of the example of the banked buffer.

mod chip;
mod overlap;
mod queues;
mod serial;

use super::tally::{Tally, entries};
use anyhow::{Context, Result, bail, ensure};
use flashyard_core::command::Op;
use flashyard_core::request::{Request, RequestOp};
use flashyard_sim::config::{DeviceKeys, Settings, apply_setting};
use flashyard_sim::device::{Device, PhaseKeys};
use flashyard_sim::metrics::parts::Part;
use flashyard_sim::observe::{BufferAccess, CommandDone, Observer, RequestDone, Shared};
use flashyard_sim::report::Report;
use flashyard_sim::stream::{Stream, StreamKeys};
use serde_json::Value;
use std::convert::Infallible;

/// One chip that does one thing at a time, pages of 4 KiB, times in microseconds.
const BASE: &[&str] = &[
    "geometry.channels=1",
    "geometry.ways=1",
    "geometry.blocks_per_plane=64",
    "geometry.page_bytes=4096",
    "channel.ps_per_byte=0",
    "channel.command_ns=0",
    "map.store=resident",
    "policy.command=fifo",
    "buffer.access_ns=0",
    "buffer.ps_per_byte=0",
    "buffer.eviction=full",
    "buffer.after_flush=free",
];

/// Runs every example of a file.
pub(super) fn run(all: &Value, tally: &mut Tally) -> Result<()> {
    visit(all, &Value::Null, tally)
}

/// Runs what an object is, or the objects in it. `units` are those of the object around it.
fn visit(object: &Value, units: &Value, tally: &mut Tally) -> Result<()> {
    let has = |name: &str| object.get(name).is_some();
    let units = object.get("units").unwrap_or(units);
    if has("NCQ_oldest_first") {
        return overlap::run(object, tally);
    }
    if has("RQ_oldest_first") {
        return serial::run(object, units, tally);
    }
    if units.get("transfer").is_some() && has("in_order") {
        return chip::run(object, units, tally);
    }
    for (name, child) in entries(object)? {
        tally.part(name, |tally| match name.as_str() {
            "units" => Ok(()),
            "priority" => queues::priorities(child, tally),
            "dependency" => queues::dependencies(child, tally),
            "dependency_bruteforce" => queues::random(child, tally),
            "necessary_conditions" => overlap::conditions(object, child, tally),
            "variants" => overlap::variants(object, child, tally),
            _ if child.is_object() => visit(child, units, tally),
            _ => {
                tally.unknown(name, child);
                Ok(())
            }
        });
    }
    Ok(())
}

/// What a run did.
#[derive(Default)]
struct Seen {
    /// Name, start, end, bank.
    events: Vec<(String, u64, u64, u32)>,
    /// When each request was answered, by order.
    completions: Vec<u64>,
    /// The unit that was got for a flush last, and the bank of its line.
    flushed: (u32, u32),
    names: Vec<String>,
    /// How long the data of each request were on the link, by order.
    links: Vec<u64>,
    /// Reads of arrays: name of the request, start, end.
    reads: Vec<(String, u64, u64)>,
}

struct Recorder(Shared<Seen>);

impl Observer for Recorder {
    fn buffer_access(&mut self, event: &BufferAccess) {
        let mut seen = self.0.get();
        let name = match event.request {
            Some(order) => seen.names[usize::try_from(order).expect("few requests")].clone(),
            None => format!("F{}", event.lpn),
        };
        if event.request.is_none() {
            seen.flushed = (event.lpn, event.bank.unwrap_or(u32::MAX));
        }
        let bank = event.bank.unwrap_or(u32::MAX);
        seen.events.push((name, event.start.as_ns(), event.end.as_ns(), bank));
    }

    fn command_done(&mut self, event: &CommandDone) {
        let mut seen = self.0.get();
        let (start, end) = (event.start.as_ns(), event.end.as_ns());
        if let (Op::Read, Some(order)) = (event.op, event.command.request) {
            let name = seen.names[usize::try_from(order).expect("few requests")].clone();
            seen.reads.push((name, start, end));
        }
        let (Op::Program, Some(lpn)) = (event.op, event.lpn) else { return };
        let bank = if seen.flushed.0 == lpn { seen.flushed.1 } else { 0 };
        seen.events.push((format!("P{lpn}"), start, end, bank));
    }

    fn request_done(&mut self, event: &RequestDone) {
        let order = usize::try_from(event.order).expect("few requests");
        let mut seen = self.0.get();
        seen.completions[order] = event.completion.as_ns();
        seen.links[order] = event.parts.get(Part::Link);
    }
}

/// A run and what it left behind.
struct Run {
    report: Report,
    seen: Seen,
    /// The units in the buffer, the least recently used one first.
    left: Vec<u64>,
}

/// Runs requests that all arrive at once, each a page, on a device with these lines in its buffer.
fn simulate(
    settings: &[String],
    lines: &[(u64, Option<u32>, bool)],
    requests: &[(RequestOp, u64)],
) -> Result<Run> {
    let mut keys = DeviceKeys::default();
    let mut problems = Vec::new();
    for assignment in BASE.iter().copied().chain(settings.iter().map(String::as_str)) {
        apply_setting("the example", assignment, &mut keys, &mut problems);
    }
    ensure!(problems.is_empty(), "{problems:?}");
    let mut device = Device::new(&Settings::new(keys)?);
    device.preload_buffer(lines)?;
    device.check();
    let name = |(op, page): &(RequestOp, u64)| match op {
        RequestOp::Read => format!("R{page}"),
        _ => format!("W{page}"),
    };
    let seen = Shared::new(Seen {
        completions: vec![0; requests.len()],
        links: vec![0; requests.len()],
        names: requests.iter().map(name).collect(),
        ..Seen::default()
    });
    device.observe(Box::new(Recorder(seen.clone())));
    let requests: Vec<_> =
        requests.iter().map(|&(op, page)| Request::new(op, page * 8, 8)).collect();
    let mut requests = requests.into_iter();
    let source = Box::new(move || Ok::<_, Infallible>(requests.next()));
    let stream = Stream { name: "example".to_string(), keys: StreamKeys::default(), source };
    let phase = device.run_phase(&PhaseKeys::default(), vec![stream]);
    phase.map_err(|error| anyhow::anyhow!("{error:?}"))?;
    let left = device.buffered_units().into_iter().map(|(unit, _)| unit).collect();
    let report = device.finish()?;
    Ok(Run { report, seen: seen.take(), left })
}

/// The operation and the page of a name such as `W3`.
fn named_request(name: &Value) -> Result<(RequestOp, u64)> {
    let name = name.as_str().context("a request is no text")?;
    let (op, page) = name.split_at(1);
    let op = match op {
        "W" => RequestOp::Write,
        "R" => RequestOp::Read,
        _ => bail!("{name} is neither R nor W and a page"),
    };
    Ok((op, page.parse().with_context(|| name.to_string())?))
}
