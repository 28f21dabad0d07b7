//! Requests that are started: whether their page accesses have slots, and reads that go into the
//! queues of dies in one step.

use super::Waiting;
use crate::config::{Admission, UnmappedRead};
use crate::handle::{RequestId, SetId};
use crate::sets::Origin;
use flashyard_core::command::{Op, Purpose, Rank, StreamId};
use flashyard_core::policy::{CommandPolicy, CommandView, FotSpan};
use flashyard_core::request::Flags;

impl Waiting<'_> {
    /// A request is started: what it waits for is counted from now on.
    #[inline(always)]
    pub(crate) fn begin_request(&mut self, handle: RequestId) {
        if self.settings.keys.fot.span == FotSpan::LongestDie {
            self.delays.begin();
        }
        self.sets.new_count();
        self.host.start(handle);
    }

    /// Whether the page accesses of a request that are translated now can have slots.
    #[inline(always)]
    pub(crate) fn has_slots(&mut self, handle: RequestId) -> bool {
        let request = &self.host[handle];
        let (next, pages) = (request.translated(), request.pages());
        match self.settings.keys.queue.admission {
            Admission::Request => true,
            Admission::Page => pages == 0 || self.sets.has_slots_for(request.lpn_of(next), 1),
            Admission::Atomic => next > 0 || self.sets.has_slots_for(request.first(), pages),
        }
    }

    /// Whether a request reads, is not begun, and no page of it changes the rank of another one.
    #[inline(always)]
    pub(crate) fn reads_plainly(&mut self, handle: RequestId) -> bool {
        let request = &self.host[handle];
        let (first, pages) = (request.first(), request.pages());
        request.is_read()
            && !request.request().flags.has(Flags::PREFLUSH)
            && request.translated() == 0
            && pages > 0
            && (pages == 1 || !self.queues.looks_at_waits())
            && (self.settings.keys.queue.admission != Admission::Atomic
                || self.sets.has_slots_for(first, pages))
    }

    /// Translates a page access that reads, on the short road: it gets a slot and its command waits
    /// for its die. Nothing is done where it needs no array, waits for a change of its unit or
    /// finds no slot. `buffered` is whether it was looked for in the buffer, in vain.
    #[inline(always)]
    pub(crate) fn admit_read(&mut self, handle: RequestId, page: u32, buffered: bool) -> bool {
        let (request, now) = (&self.host[handle], self.now);
        let (lpn, order) = (request.lpn_of(page), request.order());
        let place = self.ftl.locate(lpn);
        if place.is_none() && self.settings.keys.nand.unmapped_read == UnmappedRead::Zero {
            return false;
        }
        let plane = self.ftl.plane_of_data(lpn, place);
        let die = self.settings.geometry.die_of_plane(plane);
        let origin = Origin { request: handle, order, page };
        let set = self.sets.add_read(now, origin, lpn, (plane, die));
        let Some(set) = set else { return false };
        if buffered {
            self.account.buffer_looked_up(false);
        }
        self.account.table_looked_up();
        if self.ftl.is_unmapped(place) {
            self.account.unmapped_read();
        }
        let track = self.sets.track_mut(set);
        self.host.charge_until(now, handle, track.earlier());
        self.flash.note_busy(die, now, track.waits_for_die());
        self.count_fot(handle, &[set]);
        let request = self.host.access_begins(handle);
        request.has_slot(now);
        let view = CommandView {
            op: Op::Read,
            purpose: Purpose::Host,
            request: Some(request.view()),
            inherited: Rank::NONE,
            reads_before: self.queues.reads_placed(die),
            stream: StreamId::Host(request.request().stream),
            state: &[],
        };
        let placement = self.queues.policy().place(&view, now);
        self.insert((set, true), die, &placement, false, false);
        self.delays.note_queued(handle, set);
        true
    }

    /// Takes the next set that waits for a slot and gives it one, if it gets one or needs none;
    /// `all` is whether all get one.
    #[inline(always)]
    pub(crate) fn end_slot_wait(&mut self, all: bool) -> Option<SetId> {
        let (set, gets_slot) = self.sets.end_slot_wait(all)?;
        if gets_slot {
            self.take_slot(set);
        }
        Some(set)
    }
}
