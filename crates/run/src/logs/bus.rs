//! The log of bus requests: a row a request.

use super::commands::name;
use super::rows::{Log, Rows};
use crate::table::{Cell, Field, Kind};
use flashyard_sim::observe::{BusTransfer, Observer, Shared};

/// The columns. A cell is empty if the request has no such value.
const FIELDS: [Field; 16] = [
    Field::new("request", Kind::Count, "", "order of the request; nothing: the device's own work"),
    Field::new("page", Kind::Count, "", "page access inside the request, from 0"),
    Field::new("stage", Kind::Text, "", "place of the command in its set"),
    Field::new("purpose", Kind::Text, "", "why the command is there"),
    Field::new("kind", Kind::Text, "", "what the bus request does"),
    Field::new("channel", Kind::Count, "", "number of the channel"),
    Field::new("chip", Kind::Count, "", "number of the chip on its channel"),
    Field::new("die", Kind::Count, "", "number of the die"),
    Field::new("block", Kind::Count, "", "number of the block"),
    Field::new("block_page", Kind::Count, "", "number of the page inside the block"),
    Field::new("plane", Kind::Count, "", "number of the plane"),
    Field::new("offset", Kind::Count, "bytes", "first byte of the data"),
    Field::new("bytes", Kind::Count, "bytes", "data"),
    Field::new("start_ns", Kind::Count, "ns", "when the bus request started"),
    Field::new("end_ns", Kind::Count, "ns", "when it ended"),
    Field::new("answer", Kind::Text, "", "of a status request: ready or busy"),
];

/// The log.
pub const fn bus<R: Rows + 'static>() -> Log<R> {
    Log {
        what: "the log of bus requests",
        fields: || FIELDS.to_vec(),
        observer: |log| Box::new(BusLogger(log)),
    }
}

/// Writes a row for every bus request.
#[derive(Debug)]
struct BusLogger<R>(Shared<R>);

impl<R: Rows> Observer for BusLogger<R> {
    fn bus_request(&mut self, event: &BusTransfer) {
        self.0.get().row(row(event));
    }
}

fn row(event: &BusTransfer) -> [Cell<'static>; 16] {
    let bus = &event.request;
    let [request, page] = name(&event.command);
    let data = (bus.bytes > 0).then_some((bus.offset, bus.bytes));
    [
        request,
        page,
        Cell::Text(event.command.stage),
        Cell::Text(event.purpose.name()),
        Cell::Text(bus.kind.name()),
        bus.channel.into(),
        bus.chip.into(),
        event.die.get().into(),
        bus.block.into(),
        bus.page.into(),
        bus.plane.into(),
        Cell::of(data.map(|(offset, _)| offset)),
        Cell::of(data.map(|(_, bytes)| bytes)),
        event.start.as_ns().into(),
        event.end.as_ns().into(),
        match event.ready {
            None => Cell::Nothing,
            Some(true) => Cell::Text("ready"),
            Some(false) => Cell::Text("busy"),
        },
    ]
}
