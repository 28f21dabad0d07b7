//! The short road of a plain read: a page access of the host that asks neither a map cache nor the
//! write buffer, waits for no change of its unit, and that nobody watches.
//!
//! Such a read is a set like any other, in the same slabs and queues, and every step here leaves
//! what the full way leaves; it only asks less. So a read may leave this road at any step: when
//! others ride along with its operation, or a set waits for it. `Device::go_the_full_way` closes the
//! road; the fingerprints are made with and without it.

use super::Device;
use crate::config::{Admission, MapStore, ReadAllocate, UnmappedRead};
use crate::handle::{RequestId, SetId};
use crate::metrics::counters::Work;
use crate::sets::track::{BUS, DIE};
use crate::sets::{Mode, Operation, Place, Set, Stage};
use flashyard_core::command::{Op, Purpose, Rank, StreamId};
use flashyard_core::policy::{CommandPolicy, CommandView};
use flashyard_core::request::{Flags, RequestOp};
use flashyard_core::units::{DieId, Lpn, Ppn};

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

    /// A die takes a plain read that its policy has picked and whose unit is at `ppn`.
    #[inline]
    pub(super) fn start_plain(&mut self, set: SetId, die: DieId, ppn: Option<Ppn>) {
        let now = self.now;
        self.leave_queue(set, die);
        if self.ftl.is_paced() {
            let waits = self.queues.has_gc(die);
            self.ftl.note_turn(die, !waits);
        }
        let waited = now.since(self.sets.track(set).since).as_ns();
        if waited > 0 {
            let (busy, ordered) = (self.flash.busy(die, now), self.flash.gate().is_some());
            self.sets.track_mut(set).charge_queued(busy, waited, ordered);
        }
        self.sets.track_mut(set).since = now;
        self.flash.take(die, set, Op::Read, false, now);
        let codewords = self.codewords(set);
        let state = &mut self.sets[set];
        (state.mode, state.place, state.started) = (Mode::Running, Place::Array, now);
        (state.ppn, state.rider, state.page_codewords) = (ppn, None, codewords);
        let lpn = state.lpn;
        if self.sets.has_changes() && self.sets.is_changed_before(lpn, self.sets.number(set)) {
            self.account.data_hazard_ignored();
        }
        if self.gathers {
            self.gather(set, die, ppn);
            if self.sets[set].rider.is_some() || self.sets[set].page_codewords != codewords {
                return self.plan_operation(set, die, Stage::Read);
            }
        }
        if self.flash.reads_vary() {
            return self.plan_operation(set, die, Stage::Read);
        }
        let array = self.flash.array_time(Op::Read, ppn);
        let data_ns = self.flash.channel_ns(Stage::Read, codewords);
        let channel_ns = self.flash.plan(die, array, data_ns, now);
        self.sets.track_mut(set).channel_ns = channel_ns;
    }

    /// The set of an operation that has served one plain read, which nobody waits for.
    #[inline]
    pub(super) fn plain_reader(&self, operation: &Operation) -> Option<SetId> {
        let set = operation.leader.filter(|_| operation.op == Op::Read && self.short_road)?;
        let state = &self.sets[set];
        let plain = state.current == Stage::Read && state.rider.is_none();
        (plain && self.sets.ends_unawaited(set)).then_some(set)
    }

    /// The operation of a plain read is over, and with it the access.
    pub(super) fn plain_read_over(&mut self, set: SetId, operation: &Operation, die: DieId) {
        let Set { charge, page_codewords, .. } = self.sets[set];
        let transfer_ns =
            self.flash.command_ns() + self.flash.channel_ns(Stage::Read, page_codewords);
        let (array, retries) = (operation.array, operation.retries);
        let arrays = Work::of_arrays(&self.settings.geometry, Op::Read, 1, array, retries);
        let work = Work { ops: 1, transfer_ns, ..arrays };
        self.account.worked(self.phase(), (Op::Read, Purpose::Host), charge, &work);
        if self.sets.track(set).since < self.now {
            self.charge_running(set, operation);
        }
        self.stir(die);
        self.host.access_ends();
        let request = self.sets.end_read(set);
        let track = self.sets.track(set);
        if self.host[request].set_over(track.own, &track.parts) {
            self.answer(request);
        }
        self.wake_passed();
    }
}
