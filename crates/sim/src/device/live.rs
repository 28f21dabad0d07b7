//! How a set goes on: its current command waits, takes a queue, the buffer or the link, or is over.
//!
//! Steps that let others go on call each other here and nowhere else. What they need of single
//! rooms lies in files below, which call nothing of this one.

use super::{Device, SimError};
use crate::buffer::{Batch, FlushOutcome};
use crate::ftl::{Charge, Lent, Run, Scheme, Todo};
use crate::handle::{LineId, SetId};
use crate::host::Timer;
use crate::metrics::counters::Phase;
use crate::observe::{FlushTrigger, OwnCause};
use crate::sets::{Mode, Stage};
use crate::translation::put::AfterPut;
use flashyard_core::units::{Lpn, PlaneId};

impl Device {
    /// The translation layer does a piece of work, and what that leaves to be done follows.
    pub(super) fn let_ftl<T>(&mut self, work: impl FnOnce(&mut Scheme, &mut Lent<'_>) -> T) -> T {
        let (answer, from) = self.ask_ftl(work);
        self.carry_out(from);
        answer
    }

    /// The same where [`Self::carry_out`] follows later; returns from where on.
    pub(super) fn ask_ftl<T>(
        &mut self,
        work: impl FnOnce(&mut Scheme, &mut Lent<'_>) -> T,
    ) -> (T, usize) {
        let (now, ended, todo) = (self.now, self.host.phase() == Phase::Post, &mut self.work.todo);
        let from = todo.len();
        let (scheme, base) = self.ftl.parts();
        let mut lent = Lent { now, ended, base, sets: &mut self.sets, todo };
        (work(scheme, &mut lent), from)
    }

    /// Does what is listed from a place on. What that leads to is listed behind it, and done and
    /// taken off the list before the next.
    pub(super) fn carry_out(&mut self, from: usize) {
        let (mut at, now) = (from, self.now);
        let later = |span| now.saturating_add(span);
        while let Some(&todo) = self.work.todo.get(at) {
            at += 1;
            match todo {
                Todo::Made { set, charge, plane, cause } => {
                    self.own_set_made(set, charge, plane, cause);
                }
                Todo::GoOn(set) => self.activate(set),
                Todo::Open(set) => self.open(set),
                Todo::Rest(set, mode) => self.ledger().enter(set, mode),
                Todo::Wait(set, stage, wait) => self.sets.connect(wait, set, stage),
                Todo::HandOn(set) => self.waiting().hand_on_ranks(&[set], None),
                Todo::Search(plane, span) => self.host.set_timer(later(span), Timer::Search(plane)),
                Todo::Seek(set, span) => self.host.set_timer(later(span), Timer::Sought(set)),
                Todo::NoRoom(plane) => {
                    let geometry = &self.settings.geometry;
                    self.failed = Some(SimError::no_room(plane, geometry, &self.ftl));
                }
                Todo::Note(ref deed) => self.teller().note(deed),
            }
        }
        self.work.todo.truncate(from);
    }

    /// A set of the device's own work has been made.
    #[expect(clippy::inline_always, reason = "once a copy; a call costs as much")]
    #[inline(always)]
    pub(super) fn own_set_made(
        &mut self,
        set: SetId,
        charge: Charge,
        plane: PlaneId,
        cause: OwnCause,
    ) {
        self.follow_sets();
        self.teller().own_set_made(set, charge, plane, cause);
    }

    /// A gate or a search is over: its set goes on, and whoever waited for it.
    pub(super) fn open(&mut self, set: SetId) {
        self.activate(set);
        self.wake_passed();
    }

    /// A set may go on, and then whoever waited for what it does at once.
    pub(super) fn activate(&mut self, set: SetId) {
        self.go_on(set);
        self.wake_due();
    }

    /// A set may go on: its command waits in a queue, or for another set, or there is none left.
    ///
    /// An access of the buffer or the link that takes no time is over before this returns. The
    /// sets that waited for it are then due in the ready list: [`Self::wake_due`] must follow. They
    /// are not woken in here, because each may in turn end at once what the next one waits for: a
    /// row of writes of one unit would take a frame of the stack for each.
    fn go_on(&mut self, set: SetId) {
        if self.sets.is_blocked(set) {
            return self.ledger().enter(set, Mode::Waiting);
        }
        if self.sets.is_over(set) {
            return self.complete_set(set);
        }
        match self.sets.stage(set) {
            Stage::Buffer => self.use_buffer(set),
            Stage::Link => self.use_link(set),
            Stage::Barrier => self.barrier_over(set),
            _ => self.waiting().enqueue(set),
        }
    }

    /// Something that a set waited for is over. [`Self::wake_due`] must follow.
    pub(super) fn wake(&mut self, set: SetId) {
        if self.sets[set].mode() == Mode::Waiting {
            self.go_on(set);
        }
    }

    /// Wakes the sets of the ready list where an access has ended since the last time.
    pub(super) fn wake_due(&mut self) {
        if self.work.ready_is_due {
            self.wake_passed();
        }
    }

    /// Drains the ready list: wakes the sets that waited for barriers, and for accesses that are
    /// over. Those that a woken set lets pass come next, before the others.
    pub(super) fn wake_passed(&mut self) {
        while let Some(set) = self.sets.next_ready() {
            self.wake(set);
        }
        self.work.ready_is_due = false;
    }

    /// A barrier, the last command of its set, is not blocked, and so it is over. The sets that
    /// waited for it are woken by [`Self::wake_passed`].
    fn barrier_over(&mut self, set: SetId) {
        let request = self.sets[set].request();
        let flush = request.is_some_and(|request| self.host[request].is_flush());
        if flush && self.ftl.is_journaled() && self.let_ftl(|_, lent| lent.flush_waits(set)) {
            return self.ledger().enter(set, Mode::Waiting);
        }
        self.ledger().enter(set, Mode::Slotless);
        if request.is_none() {
            self.let_ftl(|ftl, lent| ftl.gate_opens(set, lent));
        }
        self.sets.complete_and_list(set);
        // The flush behind a flush goes on next, as if it had waited for the same changes itself.
        self.work.ready_is_due |= flush;
        self.ledger().charge_passed();
        self.complete_set(set);
    }

    /// The current command of a set is an access to the buffer: it begins, or waits for a line.
    /// [`Self::wake_due`] must follow.
    fn use_buffer(&mut self, set: SetId) {
        self.waiting().need_slot(set);
        self.ledger().enter(set, Mode::Buffered);
        if self.sets[set].writes() && !self.put(set, false) {
            self.ledger().enter(set, Mode::Lineless);
            self.account.buffer_stalled();
            return self.write_buffer_mut().wait(set);
        }
        self.access_buffer(set);
    }

    /// The unit of a write that has a line comes over the link and is put; that of a read is got.
    /// [`Self::wake_due`] must follow.
    pub(super) fn access_buffer(&mut self, set: SetId) {
        let comes = self.host.carries_pages() && self.sets[set].writes();
        if !(comes && self.crosses_link(set)) {
            self.access(set);
        }
    }

    /// A unit is put or got. [`Self::wake_due`] must follow.
    fn access(&mut self, set: SetId) {
        let (line, granted, over) = self.translation().lines_of_reads().access(set);
        if self.account.is_watched() {
            self.teller().tell_port(set, line, &granted);
        }
        if over {
            self.access_over(set);
        }
    }

    /// A unit has been put or got. [`Self::wake_due`] must follow.
    pub(super) fn access_over(&mut self, set: SetId) {
        self.ledger().enter(set, Mode::Slotless);
        if self.account.is_watched() {
            self.teller().access_over(set);
        }
        let state = &self.sets[set];
        if state.writes() {
            self.flush_at_once(state.lpn());
        }
        self.sets.complete_and_list(set);
        self.ledger().charge_passed();
        self.go_on(set);
        self.work.ready_is_due = true;
    }

    /// Puts the unit of a write into a line, if one is free; `granted` is whether it is its turn.
    /// The program of a write that is not over then carries its own unit, and others fill it.
    pub(super) fn put(&mut self, set: SetId, granted: bool) -> bool {
        let Some(after) = self.translation().put(set, granted) else { return false };
        match after {
            AfterPut::Over => {}
            AfterPut::Plan { pages, trimmed } => {
                self.plan_change(set, Run { pages, left: 0, joins: false });
                if trimmed {
                    self.ftl.trim_planned(self.sets[set].lpn());
                }
            }
            AfterPut::Fill { group, plane } => {
                self.flush_lines(None, group, Some((set, plane)), FlushTrigger::Beside);
            }
        }
        true
    }

    /// A translation layer plans the program of a change whose set there is: a flush, or a write
    /// that is put and programmed at once.
    fn plan_change(&mut self, set: SetId, run: Run) {
        let charge = self.host.charge_of(self.sets[set].charge());
        self.let_ftl(|ftl, lent| ftl.plan_change(set, run, charge, lent));
    }

    /// Begins to flush dirty units of a group, as far as a program unit has room, the line `head`
    /// before all others; or behind the write `first` and on its plane. Where a translation layer
    /// plans, [`Self::plan_flushes`] must follow.
    pub(super) fn flush_lines(
        &mut self,
        head: Option<LineId>,
        group: u32,
        first: Option<(SetId, PlaneId)>,
        trigger: FlushTrigger,
    ) -> FlushOutcome {
        let mut together = std::mem::take(&mut self.work.together);
        let mut plane = first.map(|(_, plane)| plane);
        together.extend(first.map(|(set, _)| set));
        let most = self.settings.geometry.program_units() as usize - together.len();
        let mut batch = Batch::new(group, head, trigger.is_asked(), most);
        while let Some(line) = self.translation().next_of_batch(&mut batch) {
            self.make_room();
            let (set, of_all) = self.translation().new_flush(line, group, plane);
            plane = Some(of_all);
            together.push(set);
        }
        let flushes = &together[usize::from(first.is_some())..];
        if self.account.is_watched() {
            for &set in flushes {
                let plane = self.sets.plane(set);
                self.teller().tell_own_work(set, plane, OwnCause::Flush(trigger));
            }
        }
        self.translation().end_batch(&batch, &together);
        if self.ftl.has_cache()
            && let Some((set, _)) = first
        {
            self.waiting().hand_on_ranks(&[set], None);
        }
        if self.ftl.is_planned() {
            let mut unplanned = std::mem::take(&mut self.work.unplanned);
            self.translation().list_unplanned(flushes, &mut unplanned);
            self.work.unplanned = unplanned;
        } else {
            for &set in flushes {
                self.activate(set);
            }
        }
        together.clear();
        self.work.together = together;
        batch.outcome
    }

    /// Flushes that have begun together are planned, in ascending order of their units, where a
    /// translation layer plans; then they go on.
    pub(super) fn plan_flushes(&mut self) {
        if self.work.unplanned.is_empty() {
            return;
        }
        let mut batch = std::mem::take(&mut self.work.unplanned);
        self.translation().order_flushes(&mut batch);
        for flush in &batch {
            self.plan_change(flush.set, flush.run);
        }
        for flush in batch.drain(..) {
            self.activate(flush.set);
        }
        self.work.unplanned = batch;
    }

    /// Begins to flush a dirty line, with others of its group as far as its program unit has room.
    /// Returns whether its own flush began.
    pub(super) fn flush_line(&mut self, line: LineId, trigger: FlushTrigger) -> bool {
        let group = self.write_buffer().lines()[line].group();
        let began = self.flush_lines(Some(line), group, None, trigger).head;
        self.plan_flushes();
        began
    }

    /// A unit has been put: it is flushed where that is the rule.
    fn flush_at_once(&mut self, lpn: Lpn) {
        if let Some(line) = self.write_buffer().flush_at_once(lpn) {
            self.flush_line(line, FlushTrigger::Written);
        }
    }

    /// The current command of a set is the way over the link. [`Self::wake_due`] must follow.
    fn use_link(&mut self, set: SetId) {
        self.waiting().need_slot(set);
        if !self.crosses_link(set) {
            self.link_passed(set);
        }
    }

    fn link_passed(&mut self, set: SetId) {
        self.ledger().enter(set, Mode::Slotless);
        self.sets.complete_and_list(set);
        self.ledger().charge_passed();
        self.go_on(set);
        self.work.ready_is_due = true;
    }

    /// The data of a page access has come over the link. [`Self::wake_due`] must follow.
    pub(super) fn link_over(&mut self, set: SetId) {
        if self.sets.stage(set) == Stage::Link {
            return self.link_passed(set);
        }
        self.ledger().enter(set, Mode::Buffered);
        self.access(set);
    }
}
