//! The device's own work: garbage collection, merges, rewrites of map pages.
//!
//! The translation layer decides, makes the sets and says why (`ftl`). It is lent what it needs,
//! and lists what is to be done outside of it; here that is done, in the order of the list.

use super::{Device, SimError};
use crate::config::MultiPlane;
use crate::ftl::{BegunJob, Charge, Copied, CopyRun, Erased, Eraser, Lent, Room, Scheme, Todo};
use crate::handle::{RequestId, SetId};
use crate::host::Timer;
use crate::metrics::counters::{Phase, Work};
use crate::observe::{OwnCause, Trigger};
use crate::sets::{Mode, Place, Set, Stage};
use flashyard_core::command::Op;
use flashyard_core::policy::Happened;
use flashyard_core::units::{DieId, MapPage, PlaneId, Time};

impl Device {
    /// Whether the last request of a phase has been answered.
    pub(super) fn has_ended(&self) -> bool {
        self.phase() == Phase::Post
    }

    /// The translation layer does a piece of work, and what that leaves to be done follows.
    pub(super) fn let_ftl<T>(&mut self, work: impl FnOnce(&mut Scheme, &mut Lent<'_>) -> T) -> T {
        let (answer, from) = self.ask_ftl(work);
        self.carry_out(from);
        answer
    }

    /// The same where [`Self::carry_out`] follows later; returns from where on.
    fn ask_ftl<T>(&mut self, work: impl FnOnce(&mut Scheme, &mut Lent<'_>) -> T) -> (T, usize) {
        let (now, ended, todo) = (self.now, self.has_ended(), &mut self.work.todo);
        let from = todo.len();
        let (scheme, base) = self.ftl.parts();
        let mut lent = Lent { now, ended, base, sets: &mut self.sets, todo };
        (work(scheme, &mut lent), from)
    }

    /// Does what is listed from a place on. What that leads to is listed behind it, and done and
    /// taken off the list before the next.
    fn carry_out(&mut self, from: usize) {
        let mut at = from;
        while let Some(&todo) = self.work.todo.get(at) {
            at += 1;
            match todo {
                Todo::Made { set, charge, plane, cause } => {
                    self.own_set_made(set, charge, plane, cause);
                }
                Todo::GoOn(set) => self.activate(set),
                Todo::Open(set) => self.open(set),
                Todo::Rest(set, mode) => self.enter(set, mode),
                Todo::Wait(set, stage, wait) => self.sets.connect(wait, set, stage),
                Todo::HandOn(set) => self.hand_on_ranks(&[set], None),
                Todo::Search(plane, span) => {
                    self.host.timers.set(self.now.saturating_add(span), Timer::Search(plane));
                }
                Todo::Seek(set, span) => {
                    self.host.timers.set(self.now.saturating_add(span), Timer::Sought(set));
                }
                Todo::Began(begun) => self.job_began(&begun),
                Todo::GivenUp(valid, levels) => self.account.gc_given_up(valid, levels),
                Todo::Merging { plane, kinds, charge } => {
                    if self.account.is_followed() {
                        self.tell_merges(plane, kinds, charge);
                    }
                }
                Todo::Copied(set, copy) => self.unit_copied(set, &copy),
                Todo::EntryMoved(lpn, cached) => {
                    self.account.entry_changed(lpn);
                    self.account.cached_entries_updated(cached.into());
                }
                Todo::EntriesCached(count) => self.account.cached_entries_updated(count),
                Todo::Erased(set, erased) => self.block_erased(set, erased),
            }
        }
        self.work.todo.truncate(from);
    }

    /// The request that work is charged to, with its order.
    pub(super) fn charge_of(&self, request: Option<RequestId>) -> Charge {
        request.map(|request| (request, self.host[request].order))
    }

    /// The translation layer has made a set.
    fn own_set_made(&mut self, set: SetId, charge: Charge, plane: PlaneId, cause: OwnCause) {
        self.follow_sets();
        let charge = charge.and_then(|request| self.host.live(request));
        if let Some(request) = charge {
            self.host[request].charges += 1;
        }
        self.sets[set].charge = charge;
        self.account.own_work_begun();
        if self.account.is_followed() {
            self.tell_own_work(set, plane, cause);
        }
    }

    /// A gate or a search is over: its set goes on, and whoever waited for it.
    pub(super) fn open(&mut self, set: SetId) {
        self.activate(set);
        self.wake_passed();
    }

    fn job_began(&mut self, begun: &BegunJob) {
        let levels = begun.trigger == Trigger::Wear;
        self.account.gc_started(begun.valid, begun.searches, levels);
        if self.account.is_followed() {
            self.tell_job(begun);
        }
    }

    fn unit_copied(&mut self, set: SetId, copy: &Copied) {
        self.account.copied(copy.from, copy.to, copy.lpn);
        if self.account.follows_units() {
            self.tell_copied(set, copy);
        }
        if !copy.current {
            self.account.copies_superseded(1);
        } else if copy.of_job && copy.lpn.is_some() {
            self.account.copy_committed();
        }
    }

    fn block_erased(&mut self, set: SetId, erased: Erased) {
        self.account.erased(erased.block);
        if self.account.follows_units() {
            self.tell_erased(set, erased);
        }
        if let Eraser::Host(number) = erased.by {
            return self.block_trimmed(set, number);
        }
        if self.account.is_followed() {
            self.tell_free_blocks();
        }
        if erased.worn_out {
            self.account.worn_out(erased.block);
        }
        if erased.by == Eraser::Merge && self.sets.stage(set) == Stage::Erase {
            self.account.layer_collected();
        }
        if erased.no_room {
            self.failed = Some(self.no_room(self.sets.plane(set)));
        }
    }

    /// Why writes of a plane find no room.
    fn no_room(&self, plane: PlaneId) -> SimError {
        let (geometry, blocks) = (&self.settings.geometry, self.ftl.blocks());
        if blocks.worn_out(plane) > 0 {
            return SimError::WornOut {
                plane: plane.get(),
                worn: blocks.worn_out_blocks(plane).collect(),
                blocks: geometry.blocks_per_plane,
            };
        }
        SimError::NoRoom { die: geometry.die_of_plane(plane).get() }
    }

    /// A program finds no room on its plane: it waits for an erase, or goes to another plane.
    pub(super) fn wait_for_room(&mut self, set: SetId) {
        let plane = self.sets.plane(set);
        let charge = self.charge_of(self.sets[set].charge);
        let (room, from) = self.ask_ftl(|ftl, lent| ftl.seek_room(set, charge, lent));
        match room {
            Room::NoReserve => self.failed = Some(SimError::NoReserve { plane: plane.get() }),
            Room::Elsewhere(other) => self.follow(set, other),
            Room::None | Room::Awaited => {
                self.take_from_queue(set);
                let (place, op) = ((self.current_die(set), set), self.sets.stage(set).op());
                self.queues.tell(Happened::Withdrawn, place, op, self.now);
                self.carry_out(from);
                if room == Room::None {
                    self.failed = Some(self.no_room(plane));
                    return;
                }
                self.account.room_awaited();
                self.enter(set, Mode::Waiting);
                self.hand_on_ranks(&[set], None);
            }
        }
    }

    /// With pacing, an operation that programs has begun on a die: what it writes owes copies.
    pub(super) fn owe_copies(&mut self, leader: SetId) {
        self.for_riders(Some(leader), |device, set| {
            let Set { charge, page_codewords, .. } = device.sets[set];
            if page_codewords > 0 && device.sets.stage(set) != Stage::CopyProgram {
                let (plane, charge) = (device.sets.plane(set), device.charge_of(charge));
                device.let_ftl(|ftl, lent| ftl.block_taken(plane, charge, true, lent));
            }
        });
    }

    /// Writes every map page back of which something is dirty, in ascending order, as many at a
    /// time as there are planes; what that makes dirty behind it stays so.
    pub(super) fn flush_map(&mut self) -> Result<(), SimError> {
        let mut from = MapPage::new(0);
        while let Some(next) = self.let_ftl(|_, lent| lent.flush_map(from)) {
            from = next;
            if self.sets.live() >= self.settings.geometry.all_planes() {
                self.drain()?;
            }
        }
        self.drain()
    }

    /// Shows the checker the command of a set that reads or writes a map page.
    pub(super) fn show_map_write(&mut self, set: SetId) {
        let page = self.sets[set].map_page;
        match self.sets.stage(set) {
            Stage::EvictRead | Stage::RewriteRead => self.account.map_page_read(set, page),
            Stage::Writeback | Stage::RewriteProgram => {
                let mut entries = Vec::new();
                self.ftl.covered_entries(page, set, |lpn| entries.push(lpn));
                self.account.map_page_begun(set, page, &entries);
            }
            _ => {}
        }
    }
}

/// Bulk copies: while nothing else can happen on the device before the next copy of a merge task is
/// over, its commands are done in place, without an event and a queue for each.
///
/// What is left behind is what the events would have left: counts, the map, the command under way
/// with its times, the account of the merge task, which is charged with one long operation of the
/// same kind. A test compares the results of both ways.
impl Device {
    /// Whether copies may run ahead at all: nobody watches every command, commands take no channel
    /// and no other die, there is no write buffer, and requests that wait do not look at dies.
    pub(super) fn may_copy_in_bulk(&self) -> bool {
        let keys = &self.settings.keys;
        self.buffer.is_none()
            && self.ftl.planned().is_some_and(|planned| !planned.is_ordered() && !planned.spans())
            && !self.account.is_watched()
            && !self.queues.has_state()
            && !self.flash.suspends()
            && !self.flash.has_requests()
            && keys.channel.command_ns == 0
            && keys.channel.ps_per_byte == 0
            && !keys.nand.has_random_times()
            && !keys.retry.is_on()
            && !self.flash.limits_power()
            && keys.nand.multi_plane == MultiPlane::None
            && self.host.policy().in_order()
    }

    /// Nothing but dies and channels is due before `others`: where the next completion is that of a
    /// task, that goes on as far as it may.
    pub(super) fn copy_in_bulk(&mut self, others: Time) {
        let Some((die, due)) = self.flash.next_die().filter(|next| next.1 < others) else { return };
        let Some(set) = self.flash.operation(die, Place::Array).leader else { return };
        let alone = self.queues.is_empty(die) && !self.flash.operation(die, Place::Output).serves();
        if !alone || self.sets.stage(set).op() == Op::Erase {
            return;
        }
        let limit = others.min(self.flash.next_due_beside(die));
        if due < limit {
            self.copy_until(set, die, limit);
        }
    }

    /// Goes on with the copies of a merge task until `limit`.
    fn copy_until(&mut self, set: SetId, die: DieId, limit: Time) {
        let operation = self.flash.operation(die, Place::Array);
        let run = CopyRun { op: operation.op, began: operation.began, span: operation.array };
        let flash = &self.flash;
        let array_time = |op, ppn| flash.array_time(op, Some(ppn));
        let done = self.ftl.copy_in_bulk((set, run, limit), &mut self.sets, array_time);
        let Some(done) = done else { return };
        self.queues.skip_insertions(done.ops[0] + done.ops[1]);
        let (phase, charge) = (self.phase(), self.sets[set].charge);
        for (at, (op, purpose)) in done.purposes.into_iter().enumerate() {
            let (ops, array_ns) = (done.ops[at], done.array_ns[at]);
            let work = Work { ops, pages: ops, array_ns, transfer_ns: 0 };
            self.account.worked(phase, (op.into(), purpose), charge, &work);
        }
        self.account.copies_superseded(done.superseded);
        self.flash.replace_array(die, done.now.op, done.now.began, done.now.span);
    }
}
