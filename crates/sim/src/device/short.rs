//! The short road: the steps of a command where nobody watches and where the device has nothing
//! that they would have to ask.
//!
//! The sets are those of the full way, in the same slabs and queues, and each step leaves what the
//! full way leaves; it only asks less. So a command may leave the road at any step: when a read
//! meets the buffer or a change of its unit, when others ride along with its operation, or a set
//! waits for it. [`Device::go_the_full_way`] closes the road; the fingerprints are made with and
//! without it.

use super::Device;
use crate::config::{Admission, MapStore, ReadAllocate, UnmappedRead};
use crate::handle::{RequestId, SetId};
use crate::metrics::counters::Work;
use crate::sets::track::{BUS, DIE};
use crate::sets::{Mode, Operation, Place, Stage};
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

    /// A die takes a command that its policy has picked and whose page is bound.
    #[inline]
    pub(super) fn start_short(&mut self, set: SetId, die: DieId, ppn: Option<Ppn>) {
        // For the commonest kind all that depends on the kind is known when this is compiled.
        match self.sets.stage(set) {
            Stage::Read => self.start_as(Stage::Read, set, die, ppn),
            stage => self.start_as(stage, set, die, ppn),
        }
    }

    #[inline(always)]
    #[expect(clippy::inline_always, reason = "compiled for each of its two callers")]
    fn start_as(&mut self, stage: Stage, set: SetId, die: DieId, ppn: Option<Ppn>) {
        let now = self.now;
        self.leave_queue(set, die);
        if self.ftl.is_paced() {
            let ends = self.sets[set].in_gc_queue || !self.queues.has_gc(die);
            self.ftl.note_turn(die, ends);
        }
        let waited = now.since(self.sets.track(set).since).as_ns();
        if waited > 0 {
            let (busy, ordered) = (self.flash.busy(die, now), self.flash.gate().is_some());
            self.sets.track_mut(set).charge_queued(busy, waited, ordered);
        }
        self.sets.track_mut(set).since = now;
        self.flash.take(die, set, stage.op(), stage.purpose(false, false).is_gc(), now);
        let codewords = self.codewords(set);
        let state = &mut self.sets[set];
        (state.mode, state.place, state.started) = (Mode::Running, Place::Array, now);
        (state.ppn, state.rider, state.page_codewords) = (ppn, None, codewords);
        let lpn = state.lpn;
        if stage == Stage::Read
            && self.sets.has_changes()
            && self.sets.is_changed_before(lpn, self.sets.number(set))
        {
            self.account.data_hazard_ignored();
        }
        if self.gathers {
            self.gather(set, die, ppn);
        }
        let state = &self.sets[set];
        let alone = state.rider.is_none() && state.page_codewords == codewords;
        if alone && !self.flash.reads_vary() {
            let array = self.flash.array_time(stage.op(), ppn);
            let data_ns = self.flash.channel_ns(stage, codewords);
            self.sets.track_mut(set).channel_ns = self.flash.plan(die, array, data_ns, now);
            self.phases_began();
        } else {
            self.plan_operation(set, die, stage);
        }
        if stage.op() == Op::Program && self.ftl.is_paced() {
            self.owe_copies(set);
        }
    }

    /// The set of an operation that serves no other one.
    #[inline]
    pub(super) fn served_alone(&self, operation: &Operation) -> Option<SetId> {
        let set = operation.leader.filter(|_| self.short_road)?;
        self.sets[set].rider.is_none().then_some(set)
    }

    /// The operation of a single set is over.
    pub(super) fn alone_over(&mut self, set: SetId, operation: &Operation, die: DieId) {
        match self.sets.stage(set) {
            Stage::Read => self.over_as(Stage::Read, set, operation, die),
            stage => self.over_as(stage, set, operation, die),
        }
    }

    #[inline(always)]
    #[expect(clippy::inline_always, reason = "compiled for each of its two callers")]
    fn over_as(&mut self, stage: Stage, set: SetId, operation: &Operation, die: DieId) {
        let state = &self.sets[set];
        let purpose = stage.purpose(state.copies_map, state.levels);
        let (charge, codewords, ppn) = (state.charge, state.page_codewords, state.ppn);
        let transfer_ns = self.flash.command_ns() + self.flash.channel_ns(stage, codewords);
        let (op, array, retries) = (stage.op(), operation.array, operation.retries);
        let arrays = Work::of_arrays(&self.settings.geometry, op, 1, array, retries);
        let work = Work { ops: 1, transfer_ns, ..arrays };
        self.account.worked(self.phase(), (op, purpose), charge, &work);
        self.close_with(set, operation);
        if op == Op::Program {
            self.ftl.programmed(ppn.expect("a program has a page"));
        }
        self.stir(die);
        if stage == Stage::Read && self.sets.ends_unawaited(set) {
            self.host.access_ends();
            let request = self.sets.end_read(set);
            let track = self.sets.track(set);
            if self.host[request].set_over(track.own, &track.parts) {
                self.answer(request);
            }
        } else {
            self.take_effect(set);
            self.stage_over(set);
        }
        self.wake_passed();
    }
}
