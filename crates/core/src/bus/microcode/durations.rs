//! How long each kind of bus request holds the bus.

use super::isa::Step;
use super::machine::{Fault, Machine, NoPins};
use crate::bus::request::{BusKind, BusRequest};
use crate::units::Span;

/// Times on the bus by kind of request, with data in chunks of one size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Durations {
    by_kind: [Span; BusKind::ALL.len()],
}

impl Durations {
    /// The time on the bus of a request.
    pub const fn of(&self, kind: BusKind) -> Span {
        self.by_kind[kind.index()]
    }
}

impl<P: AsRef<[Step]>, M: AsRef<[u32]> + AsMut<[u32]>> Machine<P, M> {
    /// The time on the bus of every kind of request, for chunks of `chunk_bytes`.
    ///
    /// The machine serves a request of each kind for it. The programs must take as long for one
    /// request as for any other of its kind and size.
    pub fn durations(&mut self, chunk_bytes: u32) -> Result<Durations, Fault> {
        let mut by_kind = [Span::ZERO; BusKind::ALL.len()];
        for kind in BusKind::ALL {
            by_kind[kind.index()] = self.duration(kind, chunk_bytes)?;
        }
        Ok(Durations { by_kind })
    }

    /// The time on the bus of a request, of `bytes` if it moves data.
    pub fn duration(&mut self, kind: BusKind, bytes: u32) -> Result<Span, Fault> {
        let moves_data = matches!(kind, BusKind::DataIn | BusKind::DataOut);
        let request = BusRequest {
            operation: 0,
            stream: 0,
            kind,
            channel: 0,
            chip: 0,
            block: 0,
            page: 0,
            plane: 0,
            offset: 0,
            bytes: if moves_data { bytes } else { 0 },
        };
        let cycles = self.serve(&request, &mut NoPins)?;
        Ok(self.timing().span(cycles))
    }
}
