//! The request log: a Parquet file with a row a request.

use super::rows::{Log, Rows};
use crate::table::{Cell, Field, Kind};
use flashyard_core::command::{Op, Purpose};
use flashyard_sim::metrics::parts::Part;
use flashyard_sim::observe::{Observer, RequestDone, Shared};

/// The log.
pub const fn requests<R: Rows + 'static>() -> Log<R> {
    Log { what: "the request log", fields, observer: |log| Box::new(RequestLogger(log)) }
}

/// The first columns.
const FIRST: [Field; 12] = [
    Field::new("op", Kind::Text, "", "what the request does"),
    Field::new("order", Kind::Count, "", "number of the request, from 0, in order of arrival"),
    Field::new("arrival_ns", Kind::Count, "ns", "arrival"),
    Field::new("completion_ns", Kind::Count, "ns", "completion"),
    Field::new("latency_ns", Kind::Count, "ns", "completion - arrival"),
    Field::new("first_sector", Kind::Count, "sectors", "first sector of 512 bytes"),
    Field::new("sectors", Kind::Count, "sectors", "sectors of 512 bytes"),
    Field::new("pages", Kind::Count, "pages", "page accesses"),
    Field::new("stream", Kind::Count, "", "number of the stream"),
    Field::new("fot_ns", Kind::Count, "ns", "flash operation time: own and delaying commands"),
    Field::new("queue_wait_ns", Kind::Count, "ns", "arrival to the first slot"),
    Field::new("own_ns", Kind::Count, "ns", "time of its own commands on dies"),
];

/// What operations because of a request are for: what is read ahead is because of none.
const PURPOSES: &[Purpose] = {
    let (purposes, _) = Purpose::ALL.split_at(Purpose::ReadAhead as usize);
    purposes
};

/// All columns.
fn fields() -> Vec<Field> {
    let mut fields = FIRST.to_vec();
    let part = Field::new("", Kind::Count, "ns", "time that the request waited for this");
    fields.extend(Part::ALL.iter().map(|of| part.clone().named(format!("part_{}_ns", of.name()))));
    let ops = Field::new("", Kind::Count, "operations", "flash operations because of the request");
    for op in Op::ALL {
        let name = |purpose: &Purpose| format!("{}s_{}", op.name(), purpose.name());
        fields.extend(PURPOSES.iter().map(|purpose| ops.clone().named(name(purpose))));
    }
    fields.push(Field::new("energy_pj", Kind::Count, "pJ", "energy because of the request"));
    fields.into_iter().map(Field::whole).collect()
}

/// The row of a request.
fn row(done: &RequestDone) -> impl Iterator<Item = Cell<'static>> {
    let request = &done.request;
    let arrival = request.arrival.as_ns();
    let completion = done.completion.as_ns();
    let first: [Cell<'static>; 12] = [
        Cell::Text(request.op.name()),
        done.order.into(),
        arrival.into(),
        completion.into(),
        (completion - arrival).into(),
        request.first_sector.into(),
        request.sectors.into(),
        done.pages.into(),
        request.stream.into(),
        done.fot_ns.into(),
        done.queue_wait_ns.into(),
        done.own_ns.into(),
    ];
    let ops = Op::ALL.iter().flat_map(|op| PURPOSES.iter().map(move |purpose| (*op, *purpose)));
    let ops = ops.map(|(op, purpose)| Cell::Count(done.work.get(op, purpose).ops));
    let parts = done.parts.0.iter().map(|part| Cell::Count(*part));
    first.into_iter().chain(parts).chain(ops).chain([done.energy_pj.into()])
}

/// Writes a row for every request.
#[derive(Debug)]
struct RequestLogger<R>(Shared<R>);

impl<R: Rows> Observer for RequestLogger<R> {
    fn request_done(&mut self, event: &RequestDone) {
        self.0.get().row(row(event));
    }
}
