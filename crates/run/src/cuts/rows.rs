//! Cuts as a table: a row a cut.

use super::found::Cut;
use crate::table::{Cell, Field, Kind};

/// The columns.
pub const FIELDS: [Field; 6] = [
    Field::new("at_ns", Kind::Count, "ns", "when the power fails").whole(),
    Field::new("lost_units", Kind::Count, "units", "units that lose an answered write").whole(),
    Field::new("oldest_ns", Kind::Count, "ns", "age of the first answer that is lost").whole(),
    Field::new("torn_requests", Kind::Count, "requests", "writes that survive in part").whole(),
    Field::new("trims_undone", Kind::Count, "units", "trimmed units that come back").whole(),
    Field::new("broken", Kind::Count, "units", "units of which a promise is broken").whole(),
];

/// A row.
pub fn row(cut: &Cut) -> [Cell<'static>; 6] {
    let Cut { at, units, oldest_ns, torn, trims, broken } = *cut;
    [at.as_ns().into(), units.into(), oldest_ns.into(), torn.into(), trims.into(), broken.into()]
}
