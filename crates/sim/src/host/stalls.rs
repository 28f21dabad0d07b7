//! Stalls of the firmware: each time that so many units have been written, requests wait, or
//! programs do.
//!
//! They stand for work on tables that does not show in any request: the map is written to flash, a
//! log of it is closed. A stall begins when a core is done with the write that brings the count to
//! `firmware.stall_units`. Requests that it holds take no core before its end, in the order in
//! which they came; or no die begins a program meanwhile. So at a rate of r units a second the
//! firmware stalls for r x `stall_us` / `stall_units` of the time, until that is all of it.

use super::request::Pending;
use crate::config::{FirmwareKeys, Stalled};
use crate::handle::RequestId;
use flashyard_core::request::RequestOp;
use flashyard_core::units::{Span, Time};

/// When the firmware stalls.
#[derive(Clone, Debug)]
pub(super) struct Stalls {
    every: u64,
    span: Span,
    holds: Stalled,
    /// Units of writes since the last one.
    units: u64,
    /// When the last one, or several in a row, began, and when it ends.
    from: Time,
    until: Time,
    /// Whether that is yet to be told to those who begin programs.
    untold: bool,
    /// Since when requests have been held, by handle.
    since: Vec<Option<Time>>,
}

impl Stalls {
    /// Those that the keys ask for, if any.
    pub(super) fn new(keys: &FirmwareKeys) -> Option<Box<Self>> {
        let (every, span, holds) = (keys.stall_units, keys.stall_us, keys.stall_holds);
        let (from, until, since) = (Time::ZERO, Time::ZERO, Vec::new());
        let stalls = Self { every, span, holds, units: 0, from, until, untold: false, since };
        (every > 0).then(|| Box::new(stalls))
    }

    /// A phase begins: units are counted from here, and no stall is under way.
    pub(super) const fn begin(&mut self) {
        (self.units, self.until) = (0, Time::ZERO);
    }

    /// Until when a request of a kind is held that would take a core at an instant, if it is.
    pub(super) fn held_until(&self, op: RequestOp, at: Time) -> Option<Time> {
        let holds = match self.holds {
            Stalled::All => true,
            Stalled::Writes => op == RequestOp::Write,
            Stalled::Programs => false,
        };
        (holds && at < self.until).then_some(self.until)
    }

    /// Whether no die begins a program at an instant.
    pub(super) fn holds_programs(&self, now: Time) -> bool {
        self.holds == Stalled::Programs && self.from <= now && now < self.until
    }

    /// The end of a stall of programs that has come about since the last look.
    pub(super) fn new_end(&mut self) -> Option<Time> {
        (std::mem::take(&mut self.untold) && self.holds == Stalled::Programs).then_some(self.until)
    }

    /// A request is held from now on, if it is not already.
    pub(super) fn hold(&mut self, handle: RequestId, now: Time) {
        if self.since.len() <= handle.index() {
            self.since.resize(handle.index() + 1, None);
        }
        self.since[handle.index()].get_or_insert(now);
    }

    /// A core is done with a request at `over`, which took one or stood in the line for one at
    /// `now`. Returns since when the firmware has had the request.
    pub(super) fn serve(
        &mut self,
        handle: RequestId,
        request: &Pending,
        now: Time,
        over: Time,
    ) -> Time {
        if request.request.op == RequestOp::Write {
            self.units += u64::from(request.pages);
            if self.units >= self.every {
                self.units %= self.every;
                if self.until < over {
                    self.from = over;
                }
                self.until = self.until.max(over) + self.span;
                self.untold = true;
            }
        }
        self.since.get_mut(handle.index()).and_then(Option::take).unwrap_or(now)
    }
}
