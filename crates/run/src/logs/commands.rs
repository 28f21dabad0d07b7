//! The command log: a row a command, and one for each suspension, resumption and poll.

use super::rows::{Log, Rows};
use crate::table::{Cell, Field, Kind};
use flashyard_core::command::Purpose;
use flashyard_core::units::{DieId, Time};
use flashyard_sim::observe::{BusTransfer, CommandDone, CommandName, Observer, Shared, Suspension};

/// The columns. A cell is empty if the command has no such value.
const FIELDS: [Field; 14] = [
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
    Field::new("retries", Kind::Count, "", "how often its operation sensed its pages again"),
];

/// The log.
pub const fn commands<R: Rows + 'static>() -> Log<R> {
    Log {
        what: "the command log",
        fields: || FIELDS.to_vec(),
        observer: |log| Box::new(CommandLogger(log)),
    }
}

/// Writes a row for every command.
#[derive(Debug)]
struct CommandLogger<R>(Shared<R>);

/// A row for what happened to a command: it has no place, queue, key, re-keys and retries.
fn of_event(
    command: &CommandName,
    op: &'static str,
    purpose: Purpose,
    die: DieId,
    [from, until]: [Time; 2],
) -> [Cell<'static>; 14] {
    let [request, page] = name(command);
    [
        request,
        page,
        Cell::Text(command.stage),
        Cell::Text(op),
        Cell::Text(purpose.name()),
        die.get().into(),
        Cell::Nothing,
        Cell::Nothing,
        Cell::Nothing,
        Cell::Nothing,
        from.as_ns().into(),
        until.as_ns().into(),
        Cell::Nothing,
        Cell::Nothing,
    ]
}

fn of_command(done: &CommandDone) -> [Cell<'static>; 14] {
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
        done.retries.into(),
    ]
}

/// The request and the page of a command; nothing for the device's own work.
pub(super) fn name(command: &CommandName) -> [Cell<'static>; 2] {
    match command.request {
        Some(request) => [request.into(), command.page.into()],
        None => [Cell::Nothing; 2],
    }
}

impl<R: Rows> Observer for CommandLogger<R> {
    fn command_done(&mut self, event: &CommandDone) {
        self.0.get().row(of_command(event));
    }

    /// A status request asks a die whether it is done.
    fn bus_request(&mut self, event: &BusTransfer) {
        if event.ready.is_some() {
            let BusTransfer { command, purpose, die, start, end, .. } = event;
            self.0.get().row(of_event(command, "poll", *purpose, *die, [*start, *end]));
        }
    }

    fn suspended(&mut self, event: &Suspension) {
        let Suspension { command, purpose, die, at, until, .. } = event;
        let op = if event.resumed { "resume" } else { "suspend" };
        self.0.get().row(of_event(command, op, *purpose, *die, [*at, *until]));
    }
}
