//! What happens to a set: each change of its state has a name, and no other room makes one.

use super::set::Access;
use super::{Mode, Place, Sets, Stage};
use crate::handle::{LineId, RequestId, SetId};
use flashyard_core::policy::Placement;
use flashyard_core::units::{Lpn, Ppn, Time};

/// What a set is made for.
impl Sets {
    /// A set is a page access of a request.
    #[inline]
    pub(crate) fn serves(&mut self, set: SetId, access: &Access) {
        let state = self.state_mut(set);
        (state.request, state.charge) = (Some(access.request), Some(access.request));
        (state.order, state.page, state.lpn) = (access.order, access.page, access.lpn);
        (state.changes, state.trims) = (access.changes, access.trims);
        (state.stream, state.map_page, state.line) = (access.stream, access.map_page, access.line);
    }

    /// The work of a set is charged to this request.
    pub(crate) fn charge_to(&mut self, set: SetId, request: Option<RequestId>) {
        self.state_mut(set).charge = request;
    }

    /// The only command of a set becomes another one.
    pub(crate) fn turn_into(&mut self, set: SetId, stage: Stage) {
        let state = self.state_mut(set);
        state.stages[0].0 = stage;
        state.current = stage;
    }

    /// The only command of a set becomes one of a copy: of this unit, from this page.
    pub(crate) fn turn_into_copy(&mut self, set: SetId, stage: Stage, lpn: Lpn, source: Ppn) {
        self.turn_into(set, stage);
        let state = self.state_mut(set);
        (state.lpn, state.source) = (lpn, Some(source));
    }

    /// The page that the current command of a set works on.
    pub(crate) fn bind(&mut self, set: SetId, ppn: Ppn) {
        self.state_mut(set).ppn = Some(ppn);
    }

    /// The page that a translation layer has given to the program of a set.
    pub(crate) fn aim(&mut self, set: SetId, target: Ppn) {
        self.state_mut(set).source = Some(target);
    }
}

/// Flushes.
impl Sets {
    /// A set carries the contents of a line of the write buffer to flash.
    pub(crate) fn carry(&mut self, set: SetId, line: LineId) {
        self.state_mut(set).buffered = Some(line);
    }

    /// A set has carried them: the line, if it did.
    pub(crate) fn put_down(&mut self, set: SetId) -> Option<LineId> {
        self.state_mut(set).buffered.take()
    }

    /// A request asks for the program of a set, or not.
    pub(crate) fn asked_for(&mut self, set: SetId, asked: bool) {
        self.state_mut(set).asked = asked;
    }

    /// A set is the first of those that flush together.
    pub(crate) fn lead_flush(&mut self, set: SetId) {
        self.state_mut(set).leads_flush = true;
    }
}

/// The way of a command to its die, and there.
impl Sets {
    /// A segment of the life of a set begins.
    #[inline]
    pub(crate) fn enter(&mut self, set: SetId, mode: Mode, now: Time) {
        self.state_mut(set).mode = mode;
        self.track_mut(set).since = now;
    }

    /// The current command of a set begins to wait for its die.
    #[inline]
    pub(crate) fn enqueue(&mut self, set: SetId, now: Time) {
        let state = self.state_mut(set);
        (state.enqueued, state.rekeys) = (now, 0);
    }

    /// The place of the current command in the queues of its die.
    #[inline]
    pub(crate) fn place(&mut self, set: SetId, placement: &Placement, in_gc_queue: bool) {
        let state = self.state_mut(set);
        (state.queue, state.key) = (placement.queue, placement.key);
        state.in_gc_queue = in_gc_queue;
    }

    /// The current command moves to another place in the queues of its die.
    pub(crate) fn count_move(&mut self, set: SetId) {
        self.state_mut(set).rekeys += 1;
    }

    /// The current command is on its die, alone so far. It works on this page, and moves so many
    /// codewords of it if it is the first of the page.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "a step of each command; a call costs as much")]
    pub(crate) fn board(&mut self, set: SetId, ppn: Option<Ppn>, codewords: u32, now: Time) {
        let state = self.state_mut(set);
        (state.mode, state.place, state.started) = (Mode::Running, Place::Array, now);
        (state.ppn, state.rider, state.page_codewords) = (ppn, None, codewords);
    }

    /// The operation that serves a set serves another one next.
    pub(crate) fn ride(&mut self, set: SetId, rider: SetId) {
        self.state_mut(set).rider = Some(rider);
    }

    /// The first set of a page moves more codewords of it.
    pub(crate) fn add_codewords(&mut self, set: SetId, count: u32) {
        self.state_mut(set).page_codewords += count;
    }

    /// The operation that serves a set is at another place of its die.
    #[inline]
    pub(crate) fn stand(&mut self, set: SetId, place: Place) {
        self.state_mut(set).place = place;
    }
}
