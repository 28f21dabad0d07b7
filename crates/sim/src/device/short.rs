//! The short road: the steps of a command where nobody watches and where the device has nothing
//! that they would have to ask.
//!
//! The sets are those of the full way, in the same slabs and queues, and each step leaves what the
//! full way leaves; it only asks less. So a command may leave the road at any step: when a read
//! meets the buffer or a change of its unit, when others ride along with its operation, or a set
//! waits for it. Admission of reads has a step of its own here; `array` and `finish` leave out
//! questions. [`Device::go_the_full_way`] closes the road; the fingerprints are made with and
//! without it.

use super::Device;
use crate::config::{Admission, MapStore, ReadAllocate, UnmappedRead};
use crate::handle::RequestId;
use crate::sets::Stage;
use crate::sets::track::{BUS, DIE};
use flashyard_core::command::{Op, Purpose, Rank, StreamId};
use flashyard_core::policy::{CommandPolicy, CommandView};
use flashyard_core::request::{Flags, RequestOp};
use flashyard_core::units::Lpn;

impl Device {
    /// Opens the short road, where the device has nothing that its steps leave out.
    pub(super) fn find_short_road(&mut self) {
        let keys = &self.settings.keys;
        self.short_road = !self.full_way
            && !self.account.is_watched()
            && keys.map.store == MapStore::Resident
            && keys.buffer.read_allocate == ReadAllocate::Never
            && !(self.queues.has_state() || self.queues.looks_at_waits())
            && !(self.host.carries_pages() || self.host.limits_dies())
            && !(self.flash.has_requests() || self.flash.limits_power())
            && self.bit_errors.is_none();
    }

    /// Reads go the full way from now on, whatever they meet: for those who compare the two.
    pub fn go_the_full_way(&mut self) {
        self.full_way = true;
        self.find_short_road();
    }

    /// Translates the pages of a read, gives them slots and lets their commands wait for dies, as
    /// long as they are plain. Returns whether all of them are.
    pub(super) fn admit_plain(&mut self, handle: RequestId) -> bool {
        let request = &self.host[handle];
        let (first, pages) = (request.first.get(), request.pages);
        if request.request.op != RequestOp::Read
            || request.request.flags.has(Flags::PREFLUSH)
            || request.translated > 0
            || pages == 0
            || (self.settings.keys.queue.admission == Admission::Atomic
                && !self.sets.has_slots_for(request.first, pages))
        {
            return false;
        }
        (0..pages).all(|page| self.admit_plain_page(handle, page, Lpn::new(first + page)))
    }

    /// The same for one of its pages; nothing is done where that is not plain or finds no slot.
    #[inline]
    fn admit_plain_page(&mut self, handle: RequestId, page: u32, lpn: Lpn) -> bool {
        let place = self.ftl.locate(lpn);
        if place.is_none() && self.settings.keys.nand.unmapped_read == UnmappedRead::Zero {
            return false;
        }
        let plane = self.ftl.plane_of_data(lpn, place);
        let die = self.settings.geometry.die_of_plane(plane);
        if self.sets.is_changing(lpn) || !self.sets.has_slot(die) || !self.misses_buffer(lpn) {
            return false;
        }
        if !self.sets.has_room() {
            self.sets.grow();
            self.follow_sets();
        }
        self.account.table_looked_up();
        if place.is_none() && !self.ftl.senses_any_page() {
            self.account.unmapped_read();
        }
        let now = self.now;
        let set = self.sets.insert_read(now, handle, (page, lpn), (plane, die));
        let track = self.sets.track_mut(set);
        self.host.charge_until(now, handle, &mut track.parts);
        track.base[DIE..=BUS].copy_from_slice(&self.flash.busy(die, now));
        self.host.access_begins(handle);
        let request = &mut self.host[handle];
        request.first_slot.get_or_insert(now);
        let view = CommandView {
            op: Op::Read,
            purpose: Purpose::Host,
            request: Some(request.view()),
            inherited: Rank::NONE,
            reads_before: self.queues.reads_placed(die),
            stream: StreamId::Host(request.request.stream),
            state: &[],
        };
        let placement = self.queues.policy().place(&view, now);
        self.queues.insert_plain((die, set), &placement, false, true);
        if self.gathers {
            self.queues.list(set, plane, Stage::Read);
        }
        let state = &mut self.sets[set];
        (state.queue, state.key) = (placement.queue, placement.key);
        self.split.note_queued(handle, set);
        if !self.flash.array_works(die) || self.flash.suspends() {
            self.stir(die);
        }
        true
    }

    /// Whether the buffer, if there is one, holds nothing of a unit; that is then counted.
    fn misses_buffer(&mut self, lpn: Lpn) -> bool {
        let Some(buffer) = &self.buffer else { return true };
        let misses = buffer.lines().find(lpn).is_none();
        if misses {
            self.account.buffer_looked_up(false);
        }
        misses
    }
}
