//! From queues to dies: placement, dispatch, late binding of pages, the room rule.

#![expect(
    clippy::inline_always,
    reason = "a step of each command; a call costs as much as it does"
)]

use super::{Device, SimError};
use crate::flash::Accepts;
use crate::ftl::{Binding, NandRule};
use crate::handle::{RequestId, SetId};
use crate::observe::{CommandName, Queued};
use crate::sets::{Mode, Place, Stage};
use flashyard_core::command::{Op, Purpose, StreamId};
use flashyard_core::policy::{CommandPolicy, CommandView, Placement, RequestView};
use flashyard_core::units::{DieId, PlaneId, Ppn, Span, Time};

/// The queue names of garbage collection, reads and erases before programs.
const GC_QUEUES: &[&str] = &["GC-RCQ", "GC-PCQ"];

/// What a command that is about to start gets.
pub(super) enum Bound {
    /// The page that it works on; none for a read of a never-written page.
    Page(Option<Ppn>),
    /// No page: the plane has no room for a program.
    NoRoom,
    /// No page: the run has failed.
    Refused,
    /// The data has moved to this plane of another die.
    Elsewhere(PlaneId),
}

/// The stream of a command of a set that works for `stream`.
#[inline(always)]
const fn stream_for(stream: StreamId, purpose: Purpose) -> StreamId {
    match (stream, purpose) {
        (StreamId::Host(_) | StreamId::Flush, Purpose::MapFetch | Purpose::MapWriteback) => {
            StreamId::Map
        }
        _ => stream,
    }
}

impl Device {
    /// Puts the current command of a set into the queue of its die.
    pub(super) fn enqueue(&mut self, set: SetId) {
        if !self.sets[set].slotted && self.sets[set].request.is_some() {
            self.take_slot(set);
        }
        let now = self.now;
        self.enter(set, Mode::Queued);
        let state = &mut self.sets[set];
        state.enqueued = now;
        state.rekeys = 0;
        let die = self.current_die(set);
        let (placement, in_gc_queue) = self.placement(set, die, now);
        self.insert(set, die, &placement, in_gc_queue, false);
        if let Some(request) = self.sets[set].request {
            self.split.note_queued(request, set);
        }
        if self.flash.has_requests() {
            self.command_arrives(set, die);
        }
    }

    /// Adds a command to a queue of its die.
    #[inline(always)]
    pub(super) fn insert(
        &mut self,
        set: SetId,
        die: DieId,
        placement: &Placement,
        in_gc_queue: bool,
        moved: bool,
    ) {
        if self.queues.has_state() && !moved {
            self.policy_sees_arrival(set, die);
        }
        let of_read = self.sets[set].request.is_some_and(|request| self.host[request].is_read());
        self.queues.insert(die, set, placement, in_gc_queue, of_read);
        if self.gathers {
            self.queues.list(set, self.sets.plane(set), self.sets.stage(set));
        }
        let state = &mut self.sets[set];
        state.queue = placement.queue;
        state.key = placement.key;
        state.in_gc_queue = in_gc_queue;
        if !self.flash.array_works(die) || (self.flash.suspends() && self.may_turn(die)) {
            self.queues.stir(die);
        }
        if self.account.is_observed() {
            let event = Queued {
                at: self.now,
                moved,
                command: self.command_name(set),
                queue: self.queue_name(set),
                key: placement.key,
            };
            self.account.tell(&event);
        }
    }

    /// Where the current command of a set shall wait, and whether that is a queue of garbage
    /// collection: the device's own work goes there unless a request has handed its rank on to it
    /// and the die is not short of blocks, when that queue goes first anyway. Deadlines count from
    /// `inserted`, when the command was first put into a queue.
    #[inline(always)]
    fn placement(&self, set: SetId, die: DieId, inserted: Time) -> (Placement, bool) {
        let state = &self.sets[set];
        let op = self.sets.stage(set).op();
        let inherited = if self.queues.inherits() {
            self.sets.inherited_rank(set)
        } else {
            flashyard_core::command::Rank::NONE
        };
        let pressed = inherited.is_some() && !self.ftl.is_urgent(self.sets.plane(set));
        let (request, stream) = if let Some(request) = state.request {
            let request = &self.host[request];
            (Some(request.view()), StreamId::Host(request.request.stream))
        } else if state.buffered.is_some() {
            // As a write of one unit that came when it was flushed.
            let view = RequestView {
                is_read: false,
                pages: 1,
                arrival: state.enqueued,
                fot: self.sets.span(set),
                order: self.sets.number(set),
            };
            (Some(view), StreamId::Flush)
        } else if !pressed {
            let queue = u8::from(op == Op::Program);
            return (Placement { queue, key: 0, deadline: None }, true);
        } else {
            (None, StreamId::Gc)
        };
        let purpose = self.sets.stage(set).purpose(state.copies_map, state.levels);
        let reads_before = self.queues.reads_placed(die);
        let (stream, state) = (stream_for(stream, purpose), self.queues.state());
        let view = CommandView { op, purpose, request, inherited, reads_before, stream, state };
        (self.queues.policy().place(&view, inserted), false)
    }

    /// Tells a policy with a state that the current command of a set waits for a die.
    #[cold]
    fn policy_sees_arrival(&mut self, set: SetId, die: DieId) {
        let (stage, state) = (self.sets.stage(set), &self.sets[set]);
        let stream = match state.request {
            Some(request) => StreamId::Host(self.host[request].request.stream),
            None if state.buffered.is_some() => StreamId::Flush,
            None => StreamId::Gc,
        };
        let stream = stream_for(stream, stage.purpose(state.copies_map, state.levels));
        self.queues.command_arrives((die, set), stream, stage.op(), self.now);
    }

    /// Tells a policy with a state that a die has taken the command of a set: as the one that it
    /// begins an operation for, or along with that.
    #[cold]
    fn policy_sees_start(&mut self, set: SetId, leads: bool) {
        let (stage, state) = (self.sets.stage(set), &self.sets[set]);
        let urgent = self.ftl.is_paced() || self.ftl.is_urgent(self.sets.plane(set));
        let bypasses = state.in_gc_queue && urgent;
        let cost = if leads { self.sets.nominal(stage) } else { Span::ZERO };
        let place = (self.current_die(set), set);
        self.queues.command_leaves(place, (cost, bypasses), stage.op(), self.now);
    }

    /// Moves a waiting command whose placement has changed. It keeps the earlier one of its
    /// deadline and what the new queue would have given it when it was first inserted.
    pub(super) fn replace_in_queue(&mut self, set: SetId) {
        if self.sets[set].mode != Mode::Queued {
            return;
        }
        let die = self.current_die(set);
        let (mut placement, in_gc_queue) = self.placement(set, die, self.sets[set].enqueued);
        let state = &self.sets[set];
        let place = (placement.queue, placement.key, in_gc_queue);
        if place == (state.queue, state.key, state.in_gc_queue) {
            return;
        }
        let deadline = self.take_from_queue(set);
        placement.deadline = match (deadline, placement.deadline) {
            (Some(old), Some(new)) => Some(old.min(new)),
            (old, new) => old.or(new),
        };
        self.sets[set].rekeys += 1;
        self.account.command_moved();
        self.insert(set, die, &placement, in_gc_queue, true);
    }

    pub(super) fn take_from_queue(&mut self, set: SetId) -> Option<Time> {
        self.leave_queue(set, self.current_die(set))
    }

    /// Takes the current command of a set, which waits for this die, out of its queue.
    #[inline(always)]
    fn leave_queue(&mut self, set: SetId, die: DieId) -> Option<Time> {
        if self.gathers {
            self.queues.unlist(set, self.sets.plane(set), self.sets.stage(set));
        }
        self.queues.remove(die, set, self.sets[set].in_gc_queue)
    }

    /// Whether the current command of a set reads, and waits in a queue of requests.
    fn is_read_of_request(&self, set: SetId) -> bool {
        !self.sets[set].in_gc_queue && self.sets.stage(set).op() == Op::Read
    }

    /// A die may be able to take a command, or to make way for a read; not while its array reads,
    /// nor where nothing waits for it.
    #[inline]
    pub(super) fn stir(&mut self, die: DieId) {
        if self.may_turn(die) && !self.is_unwanted(die) {
            self.queues.stir(die);
        }
    }

    /// Whether a die may turn to another command; where bus requests are sent, the loop decides.
    #[inline]
    fn may_turn(&self, die: DieId) -> bool {
        self.flash.has_requests() || !self.flash.is_reading(die)
    }

    /// Whether no command waits for a die, no operation of it is suspended, and no loop of bus
    /// requests asks it.
    #[inline]
    pub(super) fn is_unwanted(&self, die: DieId) -> bool {
        self.queues.is_empty(die)
            && !self.flash.has_requests()
            && !self.flash.operation(die, Place::Suspended).serves()
    }

    /// Idle dies take commands, in ascending order.
    pub(super) fn dispatch_stirred(&mut self) {
        if let Some(dies) = self.flash.gate() {
            return self.dispatch_in_order(dies);
        }
        loop {
            while let Some(die) = self.queues.take_stirred() {
                self.dispatch(die);
            }
            if !self.flash.limits_power() {
                break;
            }
            // A die that is served may stir others even where it finds too little power itself.
            let left = self.serve_line();
            if !left && !self.queues.has_stirred() {
                break;
            }
        }
    }

    /// A die takes a command if it can, and looks at the one behind any that cannot run now.
    pub(super) fn dispatch(&mut self, die: DieId) {
        while self.failed.is_none() && self.dispatch_next(die) {}
    }

    /// A die takes the command that comes next if it can. Returns whether that goes elsewhere, so
    /// that another one comes next.
    pub(super) fn dispatch_next(&mut self, die: DieId) -> bool {
        let accepts = self.flash.accepts(die);
        if matches!(accepts, Accepts::Nothing) {
            self.suspend_if_asked(die);
            return false;
        }
        let next = self.next_command(die);
        if matches!(accepts, Accepts::ReadsOfRequests)
            && !next.is_some_and(|set| self.is_read_of_request(set))
        {
            if self.flash.can_resume(die) {
                self.resume(die);
            }
            return false;
        }
        let Some(set) = next else { return false };
        let op = self.sets.stage(set).op();
        if (matches!(accepts, Accepts::Reads) && op != Op::Read)
            || (self.flash.limits_power() && !self.has_power(die, op))
        {
            return false;
        }
        match self.bind(set, die) {
            Bound::Page(ppn) => {
                self.leave_queue(set, die);
                if !self.short_road {
                    self.leaves_for_die(set, true);
                }
                let ends = || self.sets[set].in_gc_queue || !self.queues.has_gc(die);
                self.ftl.note_turn(die, ends);
                self.start(set, die, ppn);
                self.suspend_if_asked(die);
                false
            }
            Bound::NoRoom => {
                self.wait_for_room(set);
                true
            }
            Bound::Refused => false,
            Bound::Elsewhere(plane) => {
                self.follow(set, plane);
                true
            }
        }
    }

    /// A die begins a command: limits of what waits for dies, and a policy with a state, are told.
    /// `leads` is whether the die begins an operation for it.
    pub(super) fn leaves_for_die(&mut self, set: SetId, leads: bool) {
        if self.host.limits_dies() {
            let state = &self.sets[set];
            let ends = |_: &RequestId| self.sets.stage(set).ends_access();
            if let Some(request) = state.request.filter(ends) {
                self.host.left_die(request, state.lpn);
            }
        }
        if self.queues.has_state() {
            self.policy_sees_start(set, leads);
        }
    }

    /// The operation of a die makes way for a read where that may be.
    #[inline]
    fn suspend_if_asked(&mut self, die: DieId) {
        if self.flash.suspends() && self.flash.array_works(die) && !self.flash.is_reading(die) {
            self.suspend_for_read(die);
        }
    }

    /// The command that a die takes next.
    #[inline(always)]
    pub(super) fn next_command(&mut self, die: DieId) -> Option<SetId> {
        let (host, gc) = self.queues.first(die, self.now);
        let queues = &self.queues;
        self.ftl.next_command(die, (host, gc), &self.sets, |command, urgent| {
            let first = self.sets[command].queue < queues.policy().queues_before_urgent_gc();
            !first && (urgent || (queues.ranks_streams() && queues.gc_is_before(command)))
        })
    }

    /// A command waits for another plane: the data of a read has moved there, or a write found its
    /// own plane full.
    pub(super) fn follow(&mut self, set: SetId, plane: PlaneId) {
        self.take_from_queue(set);
        self.close_and_rest(set);
        self.sets.move_to(set, plane);
        self.enter(set, Mode::Queued);
        let die = self.current_die(set);
        let (placement, in_gc_queue) = self.placement(set, die, self.sets[set].enqueued);
        self.insert(set, die, &placement, in_gc_queue, true);
    }

    /// The unit that a read would find now.
    #[inline(always)]
    pub(super) fn read_target(&self, set: SetId) -> Option<Ppn> {
        let state = &self.sets[set];
        match self.sets.stage(set) {
            Stage::Read | Stage::OldRead => self.ftl.locate(state.lpn),
            Stage::EvictRead | Stage::RewriteRead => self.ftl.locate_map(state.map_page),
            Stage::Fetch => self.ftl.locate_entry(state.lpn),
            Stage::CopyRead | Stage::MergeRead => state.source,
            _ => None,
        }
    }

    /// Binds the page of a command that is about to start on a die.
    #[inline(always)]
    pub(super) fn bind(&mut self, set: SetId, die: DieId) -> Bound {
        match self.sets.stage(set).op() {
            Op::Read => {
                let target = self.read_target(set).or_else(|| self.named_unit(set));
                match self.ftl.plane_now(target) {
                    Some(plane) if self.settings.geometry.die_of_plane(plane) != die => {
                        Bound::Elsewhere(plane)
                    }
                    Some(plane) if !self.ftl.is_dynamic() => {
                        self.shift(set, plane);
                        Bound::Page(target)
                    }
                    _ => Bound::Page(target),
                }
            }
            Op::Erase => Bound::Page(self.sets[set].ppn),
            Op::Program => self.bind_program(set),
        }
    }

    /// A waiting read finds its data on another plane of its die. It keeps its place in the queue.
    #[cold]
    fn shift(&mut self, set: SetId, plane: PlaneId) {
        let (old, stage) = (self.sets.plane(set), self.sets.stage(set));
        if old == plane {
            return;
        }
        if self.gathers {
            self.queues.unlist(set, old, stage);
            self.queues.list(set, plane, stage);
        }
        self.sets.move_to(set, plane);
    }

    /// The page that a read without translation names.
    fn named_unit(&self, set: SetId) -> Option<Ppn> {
        self.ftl.unit_named(self.sets[set].lpn)
    }

    fn bind_program(&mut self, set: SetId) -> Bound {
        match self.ftl.bind_program(set, &self.sets) {
            Binding::Page(ppn) => Bound::Page(Some(ppn)),
            Binding::NewBlock(ppn) => {
                let plane = self.sets.plane(set);
                let charge = self.charge_of(self.sets[set].charge);
                self.let_ftl(|ftl, lent| ftl.block_taken(plane, charge, false, lent));
                Bound::Page(Some(ppn))
            }
            Binding::Full => Bound::NoRoom,
            Binding::Broken(rule) => {
                self.fail_program(set, rule);
                Bound::Refused
            }
        }
    }

    /// A program breaks a rule of NAND.
    #[cold]
    fn fail_program(&mut self, set: SetId, rule: NandRule) {
        let state = &self.sets[set];
        let (ppn, geometry) = (Ppn::new(state.lpn.get()), &self.settings.geometry);
        self.failed.get_or_insert(SimError::BrokenRule {
            order: self.host[state.owner()].order,
            die: geometry.die_of(ppn).get(),
            block: geometry.block_of(ppn).get() % (geometry.planes * geometry.blocks_per_plane),
            page: geometry.page_in_block(ppn),
            rule,
        });
    }

    pub(super) fn command_name(&self, set: SetId) -> CommandName {
        let state = &self.sets[set];
        let request = state.request.map(|request| self.host[request].order);
        CommandName { request, page: state.page, stage: self.sets.stage(set).name() }
    }

    pub(super) fn queue_name(&self, set: SetId) -> &'static str {
        let state = &self.sets[set];
        let names = if state.in_gc_queue { GC_QUEUES } else { self.queues.policy().queue_names() };
        names[usize::from(state.queue)]
    }
}
