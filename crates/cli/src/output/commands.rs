//! The command log: a row a command, and one for each suspension, resumption and poll.

use super::log::{Log, SharedLog};
use super::parquet::{Cell, Field, Kind};
use anyhow::Result;
use flashyard_sim::observe::{BusTransfer, CommandDone, CommandName, Observer, Suspension};
use std::path::Path;
use std::rc::Rc;

/// The columns; nothing where there is nothing to say.
const FIELDS: [Field; 13] = [
    Field::new("request", Kind::Count, "", "order of the request; nothing: the device's own work"),
    Field::new("page", Kind::Count, "", "page access inside the request, from 0"),
    Field::new("stage", Kind::Text, "", "place of the command in its set"),
    Field::new("op", Kind::Text, "", "read, program, erase, suspend, resume or poll"),
    Field::new("purpose", Kind::Text, "", "why the command is there"),
    Field::new("die", Kind::Count, "", "number of the die"),
    Field::new("ppn", Kind::Count, "", "physical page, or first page of an erased block"),
    Field::new("queue", Kind::Text, "", "queue that the die took the command from"),
    Field::new("key", Kind::Word, "", "key of the command in this queue; the lowest goes first"),
    Field::new("enqueue_ns", Kind::Count, "ns", "when the command first waited in a queue"),
    Field::new("start_ns", Kind::Count, "ns", "when the die took the command"),
    Field::new("end_ns", Kind::Count, "ns", "when the die was free again"),
    Field::new("rekeys", Kind::Count, "", "how often the command moved while it waited"),
];

/// Writes a row for every command.
#[derive(Debug)]
pub(crate) struct CommandLogger(SharedLog);

impl CommandLogger {
    /// A log into the file at `path`, and its owner's end.
    pub(crate) fn new(path: &Path) -> Result<(Self, SharedLog)> {
        let log = Log::shared("the command log", path, &FIELDS)?;
        Ok((Self(Rc::clone(&log)), log))
    }
}

/// A row for a suspension or a resumption: those have no place, queue, key and re-keys.
fn of_suspension(event: &Suspension) -> [Cell<'static>; 13] {
    let [request, page] = name(&event.command);
    [
        request,
        page,
        Cell::Text(event.command.stage),
        Cell::Text(if event.resumed { "resume" } else { "suspend" }),
        Cell::Text(event.purpose.name()),
        event.die.get().into(),
        Cell::Nothing,
        Cell::Nothing,
        Cell::Nothing,
        Cell::Nothing,
        event.at.as_ns().into(),
        event.until.as_ns().into(),
        Cell::Nothing,
    ]
}

/// A row for a status request that asks a die whether it is done: the same columns.
fn of_poll(event: &BusTransfer) -> [Cell<'static>; 13] {
    let [request, page] = name(&event.command);
    [
        request,
        page,
        Cell::Text(event.command.stage),
        Cell::Text("poll"),
        Cell::Text(event.purpose.name()),
        event.die.get().into(),
        Cell::Nothing,
        Cell::Nothing,
        Cell::Nothing,
        Cell::Nothing,
        event.start.as_ns().into(),
        event.end.as_ns().into(),
        Cell::Nothing,
    ]
}

fn of_command(done: &CommandDone) -> [Cell<'static>; 13] {
    let [request, page] = name(&done.command);
    [
        request,
        page,
        Cell::Text(done.command.stage),
        Cell::Text(done.op.name()),
        Cell::Text(done.purpose.name()),
        done.die.get().into(),
        Cell::of(done.ppn),
        Cell::Text(done.queue),
        done.key.into(),
        done.enqueued.as_ns().into(),
        done.start.as_ns().into(),
        done.end.as_ns().into(),
        done.rekeys.into(),
    ]
}

/// The request and the page of a command; nothing for the device's own work.
pub(super) fn name(command: &CommandName) -> [Cell<'static>; 2] {
    match command.request {
        Some(request) => [request.into(), command.page.into()],
        None => [Cell::Nothing; 2],
    }
}

impl Observer for CommandLogger {
    fn command_done(&mut self, event: &CommandDone) {
        self.0.borrow_mut().row(&of_command(event));
    }

    fn bus_request(&mut self, event: &BusTransfer) {
        if event.ready.is_some() {
            self.0.borrow_mut().row(&of_poll(event));
        }
    }

    fn suspended(&mut self, event: &Suspension) {
        self.0.borrow_mut().row(&of_suspension(event));
    }
}
