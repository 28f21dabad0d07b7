//! Garbage collection: the command sets of jobs.
//!
//! The translation layer says when a job starts, which block it cleans and what its next step is;
//! here are the sets that its steps become, what they are charged to, and what they count for.

use super::{Device, SimError};
use crate::ftl::page_map::Owner;
use crate::ftl::{BegunJob, Collecting, Job, JobStep};
use crate::handle::{RequestId, SetId};
use crate::host::Timer;
use crate::metrics::counters::Phase;
use crate::observe::Trigger;
use crate::sets::{Mode, Set, Stage, Wait};
use flashyard_core::graph::EdgeKind;
use flashyard_core::policy::Happened;
use flashyard_core::units::{PlaneId, Span};

impl Device {
    /// Whether the last request of a phase has been answered.
    pub(super) fn has_ended(&self) -> bool {
        self.phase() == Phase::Post
    }

    /// Starts a job on a plane that is short of free blocks, unless one is under way. `charge` is
    /// the request whose program asked for space.
    pub(super) fn collect(&mut self, plane: PlaneId, charge: Option<RequestId>) {
        let collecting = self.ftl.collecting(plane, self.now, self.has_ended());
        self.collect_as(plane, charge, collecting);
    }

    fn collect_as(&mut self, plane: PlaneId, charge: Option<RequestId>, collecting: Collecting) {
        match collecting {
            Collecting::Start(trigger) => self.start_job(plane, charge, trigger),
            Collecting::GoOn => self.copy_more(plane),
            Collecting::Nothing => {}
        }
    }

    /// Starts a job on a plane without one, where a block gains.
    pub(super) fn start_job(
        &mut self,
        plane: PlaneId,
        charge: Option<RequestId>,
        trigger: Trigger,
    ) {
        let Some(begun) = self.ftl.begin_job(plane, charge, trigger) else { return };
        let BegunJob { job, valid, searches, .. } = begun;
        self.account.gc_started(valid, searches, job.levels);
        if self.account.is_followed() {
            self.tell_job(plane, &begun);
        }
        let eraser = (!self.ftl.is_paced()).then(|| self.new_eraser(plane, &job));
        if let Some(eraser) = eraser {
            self.ftl.eraser_made(plane, eraser);
        }
        let search =
            Span::from_ns(searches.saturating_mul(self.settings.keys.gc.search_us.as_ns()));
        if search.is_zero() {
            self.search_over(plane);
        } else {
            if let Some(eraser) = eraser {
                self.enter(eraser, Mode::Firmware);
            }
            self.host.timers.set(self.now.saturating_add(search), Timer::Search(plane));
        }
    }

    /// Makes the set that erases the victim of a job.
    pub(super) fn new_eraser(&mut self, plane: PlaneId, job: &Job) -> SetId {
        let charge = if self.ftl.is_paced() { self.last_allocator(plane) } else { job.charge };
        let ppn = Some(self.settings.geometry.unit_of(job.victim, 0));
        let state = Set { ppn, levels: job.levels, ..Set::VACANT };
        self.own_set(charge, &state, &[(Stage::Erase, plane)])
    }

    /// The victim of a job has been found: its commands begin.
    pub(super) fn search_over(&mut self, plane: PlaneId) {
        self.ftl.victim_found(plane);
        self.copy_more(plane);
        if !self.ftl.is_paced() {
            self.activate(self.ftl.job(plane).eraser());
        }
    }

    /// At the end of an instant at which planes may work because the device is idle: merges where
    /// layers plan, else garbage collection.
    pub(super) fn work_idle(&mut self) {
        if self.ftl.has_idle_period() {
            return self.work_in_period();
        }
        let mut from = 0;
        while let Some(plane) = self.ftl.wanting_plane(from) {
            let was_busy = self.ftl.is_busy(plane);
            self.merge_idle(plane);
            self.collect(plane, None);
            if !was_busy && self.ftl.is_busy(plane) {
                self.ftl.background_began(plane);
            }
            from = plane.get() + 1;
        }
        self.ftl.idle_work_begun();
    }

    /// The same where each period reclaims a number of blocks: planes that have nothing under way
    /// reclaim one each, by turns, as far as the period has any left.
    fn work_in_period(&mut self) {
        let (mut passed, mut taken) = (0, 0);
        while let Some((plane, looked)) = self.ftl.idle_turn(passed) {
            passed = looked;
            if self.reclaim(plane) {
                self.ftl.background_began(plane);
                self.ftl.idle_turn_taken();
                taken = passed;
            } else {
                self.ftl.idle_turn_refused(plane);
            }
        }
        self.ftl.idle_turns_over(taken);
    }

    /// Begins to reclaim a block of a plane. Returns whether there is anything to do.
    fn reclaim(&mut self, plane: PlaneId) -> bool {
        if self.ftl.is_planned() {
            return !self.ftl.has_clean_logs(plane) && self.merge_idle(plane);
        }
        if !self.ftl.is_below_target(plane) {
            return false;
        }
        if !self.ftl.is_busy(plane) {
            self.start_job(plane, None, Trigger::Idle);
        }
        let works = self.ftl.is_busy(plane);
        if works {
            self.press_job(plane);
        }
        works
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

    /// Makes a set of the device's own work.
    pub(super) fn own_set(
        &mut self,
        charge: Option<RequestId>,
        state: &Set,
        stages: &[(Stage, PlaneId)],
    ) -> SetId {
        if let Some(request) = charge {
            self.host[request].charges += 1;
        }
        self.account.own_work_begun();
        let set = self.new_set(state, stages);
        self.sets[set].charge = charge;
        if self.account.is_followed() {
            self.tell_own_work(set);
        }
        set
    }

    /// Copies the next valid units of the victim, as many at a time as fill a program unit; after
    /// the last one its map pages are rewritten. With pacing one program unit follows the other, as
    /// long as the plane wants copies.
    pub(super) fn copy_more(&mut self, plane: PlaneId) {
        if !self.ftl.wants_copies(plane, self.now, self.has_ended()) {
            return;
        }
        let paced = self.ftl.is_paced();
        loop {
            match self.ftl.next_step(plane) {
                JobStep::Copy { job, source, owner } => {
                    let stages = [(Stage::CopyRead, plane), (Stage::CopyProgram, plane)];
                    let charge = if paced { self.last_allocator(plane) } else { job.charge };
                    let copy = self.own_set(charge, &Set::VACANT, &stages);
                    let state = &mut self.sets[copy];
                    (state.source, state.levels) = (Some(source), job.levels);
                    match owner {
                        Owner::Data(lpn) => state.lpn = lpn,
                        Owner::Map(page) => (state.map_page, state.copies_map) = (page, true),
                    }
                    if !paced {
                        let wait = Wait { source: copy, stage: 1, kind: EdgeKind::Gc };
                        self.sets.connect(wait, job.eraser(), 0);
                    }
                    self.activate(copy);
                }
                JobStep::Erase(_) if paced => return self.erase_paced(plane),
                JobStep::Erase(job) => return self.rewrite_moved_maps(plane, &job),
                JobStep::Nothing => return,
            }
        }
    }

    /// A copy has been programmed: it counts if its source is still the newest.
    pub(super) fn copy_over(&mut self, set: SetId) {
        let plane = self.sets.plane(set);
        let copy = self.ftl.copied(set, &self.sets);
        self.account.copied(copy.from, copy.to, copy.lpn);
        if self.account.follows_units() {
            self.tell_copied(set, &copy);
        }
        if !copy.current {
            self.account.copy_superseded();
        }
        if !copy.of_job {
            return;
        }
        if let Some(lpn) = copy.lpn.filter(|_| copy.current) {
            self.account.copy_committed();
            self.moved(plane, lpn);
        }
        self.copy_more(plane);
    }

    /// A block has been erased. That of a job wakes programs that wait for room by its set; the
    /// next job starts if blocks are still short.
    pub(super) fn erase_over(&mut self, set: SetId) {
        let plane = self.sets.plane(set);
        let erased = self.ftl.erased(set, &self.sets);
        self.account.erased(erased.block);
        if self.account.follows_units() {
            self.tell_erased(set, erased);
        }
        if self.account.is_followed() {
            self.tell_free_blocks();
        }
        let in_background = erased.of_job && self.ftl.background_over(plane);
        if erased.worn_out {
            self.account.worn_out(erased.block);
        }
        if !erased.of_job {
            if self.sets.stage(set) == Stage::Erase {
                self.account.layer_collected();
            }
        } else if erased.no_room {
            self.failed = Some(self.no_room(plane));
        } else if !self.has_ended() {
            self.collect(plane, self.last_allocator(plane));
            if in_background && self.ftl.is_busy(plane) {
                self.ftl.background_began(plane);
            }
        }
    }

    /// A program without room waits for the erase that garbage collection of its plane works
    /// towards, or goes to another plane where this one has more valid data than it can collect.
    pub(super) fn wait_for_room(&mut self, set: SetId) {
        let plane = self.sets.plane(set);
        if self.ftl.blocks_collection(self.sets.stage(set)) {
            self.failed = Some(SimError::NoReserve { plane: plane.get() });
            return;
        }
        if let Some(other) = self.ftl.other_plane(set, &self.sets) {
            return self.follow(set, other);
        }
        self.take_from_queue(set);
        let (place, op) = ((self.current_die(set), set), self.sets.stage(set).op());
        self.queues.tell(Happened::Withdrawn, place, op, self.now);
        let collecting = self.ftl.collecting_for_room(plane, self.now, self.has_ended());
        self.collect_as(plane, self.sets[set].charge, collecting);
        if !self.ftl.is_busy(plane) {
            self.failed = Some(self.no_room(plane));
            return;
        }
        let eraser = self.press_job(plane);
        let wait = Wait { source: eraser, stage: 0, kind: EdgeKind::Room };
        let stage = self.sets.commands_over(set);
        self.account.room_awaited();
        self.ftl.program_waits(plane);
        self.sets.connect(wait, set, stage);
        self.enter(set, Mode::Waiting);
        self.hand_on_ranks(&[set], None);
    }

    /// The request whose program took space from a plane last, while it is not over.
    pub(super) fn last_allocator(&self, plane: PlaneId) -> Option<RequestId> {
        self.ftl.last_allocator(plane).and_then(|request| self.host.live(request))
    }

    /// A request, or none, has taken space from a plane.
    pub(super) fn note_allocator(&mut self, plane: PlaneId, charge: Option<RequestId>) {
        if let Some(request) = charge {
            self.ftl.allocated(plane, request, self.host[request].order);
        }
    }
}
