//! Commands that wait for dies: slots, placement in queues, which one a die takes next and whether
//! it has the power, which others the same operation serves, and how long its phases take. Copies
//! of merges need not wait while nothing else can happen (`bulk`).
//!
//! It holds nothing. The device lends it the queues, and what tells when a command may go: the
//! sets, the dies, the map, the requests, and lists that are kept from use to use ([`Delays`]).

#![expect(
    clippy::inline_always,
    reason = "a step of each command; a call costs as much as it does"
)]

mod admit;
pub(crate) mod bind;
mod bulk;
mod delays;
mod gather;
mod operation;
mod power;
mod suspend;

use crate::account::Account;
use crate::config::{ReadAllocate, Settings};
use crate::flash::Flash;
use crate::ftl::Ftl;
use crate::handle::{RequestId, SetId};
use crate::host::Host;
use crate::ledger::Ledger;
use crate::queues::Queues;
use crate::sets::{Mode, Place, Sets, Stage};
use flashyard_core::command::{Op, Purpose, StreamId};
use flashyard_core::policy::{CommandPolicy, CommandView, Placement, RequestView};
use flashyard_core::units::{DieId, PlaneId, Span, Time};

/// What is lent for commands that wait.
pub(crate) struct Waiting<'a> {
    pub(crate) now: Time,
    pub(crate) settings: &'a Settings,
    pub(crate) sets: &'a mut Sets,
    pub(crate) queues: &'a mut Queues,
    pub(crate) flash: &'a mut Flash,
    pub(crate) ftl: &'a mut Ftl,
    pub(crate) host: &'a mut Host,
    pub(crate) account: &'a mut Account,
    pub(crate) delays: &'a mut Delays,
}

/// What new sets wait for, while it is found.
#[derive(Clone, Default)]
pub(crate) struct Delays {
    /// A request that is translated in parts, whose first sets wait for dies when its FOT grows.
    request: Option<RequestId>,
    /// Its sets that wait for dies. Some may have gone on, and none is missing.
    queued: Vec<SetId>,
    /// The flash operation time of the request that is being translated, by die.
    fot_by_die: Vec<Span>,
    /// Sets that have inherited a rank; empty between uses.
    changed: Vec<SetId>,
    /// New sets of a request; empty between uses.
    added: Vec<SetId>,
}

impl Delays {
    /// Nothing is known yet of what waits for so many dies.
    pub(crate) fn new(dies: u32) -> Self {
        Self { fot_by_die: vec![Span::ZERO; dies as usize], ..Self::default() }
    }

    /// The translation of a request begins.
    fn begin(&mut self) {
        self.fot_by_die.fill(Span::ZERO);
    }

    /// Makes room for so many sets.
    pub(crate) fn grow(&mut self, sets: usize) {
        self.queued.reserve(sets - self.queued.len());
        self.changed.reserve(sets);
        self.added.reserve(sets);
    }

    /// A command of a request waits for a die. Where the list is full of sets that have gone on, it
    /// is given up, and made anew when it is asked for.
    #[inline]
    fn note_queued(&mut self, request: RequestId, set: SetId) {
        if self.request != Some(request) {
            return;
        }
        if self.queued.len() < self.queued.capacity() {
            self.queued.push(set);
        } else {
            self.request = None;
        }
    }
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

impl Waiting<'_> {
    /// Puts the current command of a set into the queue of its die.
    #[inline(always)]
    pub(crate) fn enqueue(&mut self, set: SetId) {
        self.need_slot(set);
        let (now, die) = (self.now, self.sets.die(set));
        self.ledger().enter_queue(set, die);
        self.sets.enqueue(set, now);
        if let Some(placement) = self.own_placement(set) {
            self.insert((set, false), die, &placement, true, false);
        } else {
            let placement = self.placement_by_policy(set, die, now);
            self.insert((set, self.is_of_read(set)), die, &placement, false, false);
            if let Some(request) = self.sets[set].request() {
                self.delays.note_queued(request, set);
            }
        }
        if self.flash.has_requests() {
            self.lend().command_arrives(set, die);
        }
    }

    /// Whether a set is a page access of a request that reads.
    #[inline(always)]
    fn is_of_read(&self, set: SetId) -> bool {
        self.sets[set].request().is_some_and(|request| self.host[request].is_read())
    }

    /// Adds a command to a queue of its die; `of_read` is whether a read of the host asks for it.
    #[inline(always)]
    fn insert(
        &mut self,
        (set, of_read): (SetId, bool),
        die: DieId,
        placement: &Placement,
        in_gc_queue: bool,
        moved: bool,
    ) {
        if self.queues.has_state() && !moved {
            self.lend().policy_sees_arrival(set, die);
        }
        self.queues.insert(die, set, placement, in_gc_queue, of_read);
        if self.queues.gathers() {
            self.queues.list(set, self.sets.plane(set), self.sets.stage(set));
        }
        self.sets.place(set, placement, in_gc_queue);
        if !self.flash.array_works(die) || (self.flash.suspends() && self.may_turn(die)) {
            self.queues.stir(die);
        }
        if self.account.is_observed() {
            let Self { now, sets, flash, account, queues, .. } = self;
            Ledger { now: *now, sets, flash, account }.tell_queued(set, queues, moved);
        }
    }

    /// The place of the current command of a set in a queue of garbage collection, if it goes
    /// there: the device's own work does unless a request has handed its rank on to it and the die
    /// is not short of blocks, when that queue goes first anyway.
    #[inline(always)]
    fn own_placement(&self, set: SetId) -> Option<Placement> {
        let state = &self.sets[set];
        if state.request().is_some() || state.is_for_host() {
            return None;
        }
        let inherits = self.queues.inherits() && self.sets.inherited_rank(set).is_some();
        if inherits && !self.ftl.is_urgent(self.sets.plane(set)) {
            return None;
        }
        let queue = u8::from(self.sets.stage(set).op() == Op::Program);
        Some(Placement { queue, key: 0, deadline: None })
    }

    /// Where the current command of a set shall wait, and whether that is a queue of garbage
    /// collection. Deadlines count from `inserted`, when the command was first put into a queue.
    fn placement(&self, set: SetId, die: DieId, inserted: Time) -> (Placement, bool) {
        let own = self.own_placement(set).map(|placement| (placement, true));
        own.unwrap_or_else(|| (self.placement_by_policy(set, die, inserted), false))
    }

    /// The place that the command policy gives it.
    #[inline(always)]
    fn placement_by_policy(&self, set: SetId, die: DieId, inserted: Time) -> Placement {
        let state = &self.sets[set];
        let op = self.sets.stage(set).op();
        let inherited = if self.queues.inherits() {
            self.sets.inherited_rank(set)
        } else {
            flashyard_core::command::Rank::NONE
        };
        let (request, stream) = if let Some(request) = state.request() {
            let request = &self.host[request];
            (Some(request.view()), StreamId::Host(request.request().stream))
        } else if state.is_for_host() {
            // As an access of one unit that came when it was flushed, or was to be read ahead.
            let view = RequestView {
                is_read: self.sets.stage(set) == Stage::AheadRead,
                pages: 1,
                arrival: state.enqueued(),
                fot: self.sets.span(set),
                order: self.sets.number(set),
            };
            (Some(view), StreamId::Flush)
        } else {
            (None, StreamId::Gc)
        };
        let purpose = state.purpose();
        let reads_before = self.queues.reads_placed(die);
        let (stream, state) = (stream_for(stream, purpose), self.queues.state());
        let view = CommandView { op, purpose, request, inherited, reads_before, stream, state };
        self.queues.policy().place(&view, inserted)
    }

    /// Tells a policy with a state that the current command of a set waits for a die.
    #[cold]
    fn policy_sees_arrival(&mut self, set: SetId, die: DieId) {
        let (stage, state) = (self.sets.stage(set), &self.sets[set]);
        let stream = match state.request() {
            Some(request) => StreamId::Host(self.host[request].request().stream),
            None if state.is_for_host() => StreamId::Flush,
            None => StreamId::Gc,
        };
        let stream = stream_for(stream, state.purpose());
        self.queues.command_arrives((die, set), stream, stage.op(), self.now);
    }

    /// Tells a policy with a state that a die has taken the command of a set: as the one that it
    /// begins an operation for, or along with that.
    #[cold]
    fn policy_sees_start(&mut self, set: SetId, leads: bool) {
        let (stage, state) = (self.sets.stage(set), &self.sets[set]);
        let urgent = self.ftl.is_paced() || self.ftl.is_urgent(self.sets.plane(set));
        let bypasses = state.in_gc_queue() && urgent;
        let cost = if leads { self.sets.nominal(stage) } else { Span::ZERO };
        let place = (self.sets.die(set), set);
        self.queues.command_leaves(place, (cost, bypasses), stage.op(), self.now);
    }

    /// Moves a waiting command whose placement has changed. It keeps the earlier one of its
    /// deadline and what the new queue would have given it when it was first inserted.
    pub(crate) fn replace_in_queue(&mut self, set: SetId) {
        if self.sets[set].mode() != Mode::Queued {
            return;
        }
        let die = self.sets.die(set);
        let (mut placement, in_gc_queue) = self.placement(set, die, self.sets[set].enqueued());
        if self.sets[set].is_at(&placement, in_gc_queue) {
            return;
        }
        let deadline = self.take_from_queue(set);
        placement.deadline = match (deadline, placement.deadline) {
            (Some(old), Some(new)) => Some(old.min(new)),
            (old, new) => old.or(new),
        };
        self.sets.count_move(set);
        self.account.command_moved();
        let of_read = self.is_of_read(set);
        self.insert((set, of_read), die, &placement, in_gc_queue, true);
    }

    /// Takes the current command of a set out of its queue.
    fn take_from_queue(&mut self, set: SetId) -> Option<Time> {
        self.leave_queue(set, self.sets.die(set))
    }

    /// Takes the current command of a set, which waits for this die, out of its queue.
    #[inline(always)]
    fn leave_queue(&mut self, set: SetId, die: DieId) -> Option<Time> {
        if self.queues.gathers() {
            self.queues.unlist(set, self.sets.plane(set), self.sets.stage(set));
        }
        self.queues.remove(die, set, self.sets[set].in_gc_queue())
    }

    /// Whether the current command of a set reads, and waits in a queue of requests.
    pub(crate) fn is_read_of_request(&self, set: SetId) -> bool {
        !self.sets[set].in_gc_queue() && self.sets.stage(set).op() == Op::Read
    }

    /// A die may be able to take a command, or to make way for a read; not while its array reads,
    /// nor where nothing waits for it.
    #[inline(always)]
    pub(crate) fn stir(&mut self, die: DieId) {
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
    pub(crate) fn is_unwanted(&self, die: DieId) -> bool {
        self.queues.is_empty(die)
            && !self.flash.has_requests()
            && !self.flash.operation(die, Place::Suspended).serves()
    }

    /// The command that a die takes next.
    #[inline(always)]
    pub(crate) fn next_command(&mut self, die: DieId) -> Option<SetId> {
        let (host, gc) = self.queues.first(die, self.now);
        let queues = &self.queues;
        self.ftl.next_command(die, (host, gc), self.sets, |command, urgent| {
            let first = self.sets[command].queue() < queues.policy().queues_before_urgent_gc();
            !first && (urgent || (queues.ranks_streams() && queues.gc_is_before(command)))
        })
    }

    /// Of the dies from `first` on, every `step`th, the one whose next command has come first.
    pub(crate) fn oldest_of(&mut self, first: u32, step: u32) -> Option<DieId> {
        let dies = (first..self.settings.geometry.dies()).step_by(step as usize).map(DieId::new);
        let arrival = |die| {
            let next = self.next_command(die)?;
            Some((self.queues.arrival(next), die))
        };
        dies.filter_map(arrival).min().map(|(_, die)| die)
    }

    /// A command waits for another plane: the data of a read has moved there, or a write found its
    /// own plane full.
    pub(crate) fn follow(&mut self, set: SetId, plane: PlaneId) {
        self.take_from_queue(set);
        self.ledger().enter(set, Mode::Slotless);
        self.sets.move_to(set, plane);
        self.ledger().enter(set, Mode::Queued);
        let die = self.sets.die(set);
        let (placement, in_gc_queue) = self.placement(set, die, self.sets[set].enqueued());
        let of_read = self.is_of_read(set);
        self.insert((set, of_read), die, &placement, in_gc_queue, true);
    }

    /// A command waits for a die from now on.
    #[cold]
    fn command_arrives(&mut self, set: SetId, die: DieId) {
        let stage = self.sets.stage(set);
        // Which block a program goes to is not known yet.
        let bytes = self.flash.channel_bytes(stage, self.codewords(set), false);
        self.flash.command_waits(die, stage.op(), bytes, self.now);
        if self.flash.gate().is_some() {
            self.queues.note_arrival(set);
        }
    }

    /// How many codewords of its mapping unit a command moves: of a host read whose unit does not
    /// go into the write buffer those that it asks for, of anything else all of them.
    #[inline(always)]
    pub(crate) fn codewords(&self, set: SetId) -> u32 {
        self.codewords_of(self.sets.stage(set), set)
    }

    /// The same of a command of this kind.
    #[inline(always)]
    fn codewords_of(&self, stage: Stage, set: SetId) -> u32 {
        let of_unit = self.flash.codewords();
        if matches!(stage, Stage::MergeRead | Stage::CopyRead) && self.queues.gathers() {
            return of_unit * self.ftl.units_read(set, self.sets);
        }
        let whole = of_unit == 1
            || stage != Stage::Read
            || self.settings.keys.buffer.read_allocate != ReadAllocate::Never;
        if whole { of_unit } else { self.codewords_asked(set, of_unit) }
    }

    /// How many of the codewords of its mapping unit a host read asks for, at least one.
    #[inline(always)]
    fn codewords_asked(&self, set: SetId, of_unit: u32) -> u32 {
        let state = &self.sets[set];
        let asked = self.settings.covered(self.host[state.owner()].request(), state.lpn());
        let sectors = u64::from(self.settings.geometry.unit_sectors() / of_unit);
        let count = asked.end.div_ceil(sectors).saturating_sub(asked.start / sectors).max(1);
        u32::try_from(count).expect("at most those of a unit")
    }

    /// A set of a request takes a slot, if it has none.
    #[inline(always)]
    pub(crate) fn need_slot(&mut self, set: SetId) {
        if !self.sets[set].has_slot() && self.sets[set].request().is_some() {
            self.take_slot(set);
        }
    }

    #[inline(always)]
    fn take_slot(&mut self, set: SetId) {
        self.sets.take_slot(set);
        let (now, request) = (self.now, self.sets[set].owner());
        self.host[request].has_slot(now);
    }

    /// A die takes a command and begins an operation for it.
    #[inline(always)]
    pub(crate) fn take(&mut self, set: SetId, die: DieId) {
        self.leave_queue(set, die);
        let ends = || self.sets[set].in_gc_queue() || !self.queues.has_gc(die);
        self.ftl.note_turn(die, ends);
    }

    /// A die begins a command: limits of what waits for dies, and a policy with a state, are told.
    /// `leads` is whether the die begins an operation for it.
    pub(crate) fn leaves_for_die(&mut self, set: SetId, leads: bool) {
        if self.host.limits_dies() {
            let state = &self.sets[set];
            let ends = |_: &RequestId| self.sets.stage(set).ends_access();
            if let Some(request) = state.request().filter(ends) {
                self.host.left_die(request, state.lpn());
            }
        }
        if self.queues.has_state() {
            self.policy_sees_start(set, leads);
        }
    }

    /// A waiting read finds its data on another plane of its die. It keeps its place in the queue.
    #[inline(always)]
    fn shift(&mut self, set: SetId, plane: PlaneId) {
        let (old, stage) = (self.sets.plane(set), self.sets.stage(set));
        if old == plane {
            return;
        }
        if self.queues.gathers() {
            self.queues.unlist(set, old, stage);
            self.queues.list(set, plane, stage);
        }
        self.sets.move_to(set, plane);
    }

    /// The same, for steps that few commands take: only these have it in memory.
    #[inline]
    fn lend(&mut self) -> Waiting<'_> {
        let Self { now, settings, sets, queues, flash, ftl, host, account, delays } = self;
        Waiting { now: *now, settings, sets, queues, flash, ftl, host, account, delays }
    }

    /// What is lent to the ledger.
    #[inline]
    fn ledger(&mut self) -> Ledger<'_> {
        Ledger { now: self.now, sets: self.sets, flash: self.flash, account: self.account }
    }
}
