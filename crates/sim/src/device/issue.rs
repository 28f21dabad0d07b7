//! From queues to dies: placement, dispatch, late binding of pages, the room rule.

use super::Device;
use super::explain::DIE_GC;
use super::state::{Mode, Stage};
use crate::ftl::blocks::Frontier;
use crate::observe::{CommandName, Queued};
use flashyard_core::command::Op;
use flashyard_core::graph::{EdgeKind, NIL, Wait};
use flashyard_core::heap::Entry;
use flashyard_core::policy::{CommandPolicy, CommandView, Placement};
use flashyard_core::units::{DieId, Ppn, Time};

/// The queue names of garbage collection, reads and erases before programs.
const GC_QUEUES: [&str; 2] = ["GC-RCQ", "GC-PCQ"];

/// What a command that is about to start gets.
enum Bound {
    /// The page that it works on; none for a read of a never-written page.
    Page(Option<Ppn>),
    /// No page: the die has no room for a program.
    NoRoom,
}

impl Device {
    /// Puts the current command of a set into the queue of its die.
    pub(super) fn enqueue(&mut self, set: u32) {
        if !self.sets[set as usize].slotted && self.sets[set as usize].request != NIL {
            self.take_slot(set);
        }
        let now = self.now;
        self.enter(set, Mode::Queued);
        let state = &mut self.sets[set as usize];
        state.enqueued = now;
        state.rekeys = 0;
        let (placement, in_gc_queue) = self.placement(set);
        self.insert(set, &placement, in_gc_queue, false);
    }

    /// Adds a command to a queue of its die.
    fn insert(&mut self, set: u32, placement: &Placement, in_gc_queue: bool, moved: bool) {
        let die_id = self.current_die(set);
        let die = &mut self.dies[die_id.index()];
        let queue = if in_gc_queue { &mut die.gc } else { &mut die.host };
        if queue.is_full() {
            let count = (2 * queue.len()).max(16);
            let (ready, deadlines) = queue.storage_mut();
            ready.resize(count, Entry::vacant((0, 0, 0)));
            deadlines.resize(count, Entry::vacant((Time::ZERO, 0, 0)));
        }
        queue.insert(&mut self.positions, set, placement, self.next_insertion);
        self.next_insertion += 1;
        let state = &mut self.sets[set as usize];
        state.queue = placement.queue;
        state.key = placement.key;
        state.in_gc_queue = in_gc_queue;
        self.stir(die_id);
        if !self.observers.is_empty() {
            let event = Queued {
                at: self.now,
                moved,
                command: self.command_name(set),
                queue: self.queue_name(set),
                key: placement.key,
            };
            self.observers.iter_mut().for_each(|observer| observer.queued(&event));
        }
    }

    /// Where the current command of a set shall wait, and whether that is a queue of garbage
    /// collection: the device's own work goes there unless a request has handed its rank on to it
    /// and the die is not short of blocks, when that queue goes first anyway.
    fn placement(&self, set: u32) -> (Placement, bool) {
        let state = &self.sets[set as usize];
        let node = self.graph.node(set);
        let op = self.stage(set).op();
        let inherited = if self.policy.inherits() {
            node.inherited_at(node.stage)
        } else {
            flashyard_core::command::Rank::NONE
        };
        let pressed = inherited.is_some() && !self.is_urgent(self.current_die(set));
        if state.request == NIL && !pressed {
            let queue = u8::from(op == Op::Program);
            return (Placement { queue, key: 0, deadline: None }, true);
        }
        let request = (state.request != NIL).then(|| self.pending[state.request as usize].view());
        let view = CommandView { op, request, inherited };
        (self.policy.place(&view, self.now), false)
    }

    /// Moves a waiting command whose placement has changed; its deadline does not get later.
    pub(super) fn replace_in_queue(&mut self, set: u32) {
        let state = self.sets[set as usize];
        if state.mode != Mode::Queued {
            return;
        }
        let (mut placement, in_gc_queue) = self.placement(set);
        let place = (placement.queue, placement.key, in_gc_queue);
        if place == (state.queue, state.key, state.in_gc_queue) {
            return;
        }
        let deadline = self.take_from_queue(set);
        placement.deadline = match (deadline, placement.deadline) {
            (Some(old), Some(new)) => Some(old.min(new)),
            (old, new) => old.or(new),
        };
        self.sets[set as usize].rekeys += 1;
        self.totals.rekeys += 1;
        self.insert(set, &placement, in_gc_queue, true);
    }

    fn take_from_queue(&mut self, set: u32) -> Option<Time> {
        let in_gc_queue = self.sets[set as usize].in_gc_queue;
        let die = self.current_die(set);
        let die = &mut self.dies[die.index()];
        let queue = if in_gc_queue { &mut die.gc } else { &mut die.host };
        queue.remove(&mut self.positions, set)
    }

    /// Idle dies take commands, in ascending order.
    pub(super) fn dispatch_stirred(&mut self) {
        while let Some(word) = self.stirred.iter().position(|&dies| dies != 0) {
            let bit = self.stirred[word].trailing_zeros();
            self.stirred[word] &= self.stirred[word] - 1;
            self.dispatch(DieId::from_index(word * 64 + bit as usize));
        }
    }

    fn dispatch(&mut self, die: DieId) {
        while self.dies[die.index()].running == NIL && self.failed.is_none() {
            let urgent = self.is_urgent(die);
            let queues = &self.dies[die.index()];
            let host = queues.host.peek(self.now);
            let gc = queues.gc.peek(self.now);
            let Some(set) = (if urgent { gc.or(host) } else { host.or(gc) }) else { return };
            match self.bind(set, die) {
                Bound::Page(ppn) => {
                    self.take_from_queue(set);
                    self.start(set, die, ppn);
                }
                Bound::NoRoom => self.wait_for_room(set, die),
            }
        }
    }

    /// Binds the page of a command that is about to start.
    fn bind(&mut self, set: u32, die: DieId) -> Bound {
        let state = &self.sets[set as usize];
        let frontier = match self.stage(set) {
            Stage::Program => Frontier::HostData,
            Stage::Writeback | Stage::RewriteProgram => Frontier::HostMap,
            Stage::CopyProgram => Frontier::for_copy(state.copies_map),
            Stage::Read => return Bound::Page(self.map.lookup(state.lpn)),
            Stage::EvictRead | Stage::RewriteRead => {
                return Bound::Page(self.map.lookup_map(state.map_page));
            }
            Stage::Fetch => {
                let cache = self.cache.as_ref().expect("only a cache fetches");
                return Bound::Page(self.map.lookup_map(cache.map_page(state.lpn)));
            }
            Stage::CopyRead => return Bound::Page(state.source),
            Stage::Erase => return Bound::Page(state.ppn),
            Stage::Barrier => unreachable!("a barrier never waits in a queue"),
        };
        let reserve = self.settings.keys.gc.reserve_blocks;
        let untouchable = match frontier {
            Frontier::HostData => reserve,
            Frontier::HostMap => reserve / 2,
            Frontier::GcData | Frontier::GcMap => 0,
        };
        let free = u64::from(self.map.blocks.free_blocks(die));
        if !self.map.blocks.has_open_page(die, frontier) && free <= untouchable {
            return Bound::NoRoom;
        }
        let (request, charge) = (state.request, state.charge);
        let Some((ppn, opened)) = self.map.blocks.take_page(die, frontier) else {
            return Bound::NoRoom;
        };
        if request != NIL {
            self.dies[die.index()].fruitless = 0;
        }
        if opened {
            if charge != NIL {
                let order = self.pending[charge as usize].order;
                self.dies[die.index()].drawer = (charge, order);
            }
            self.collect(die, charge);
        }
        Bound::Page(Some(ppn))
    }

    /// A program without room waits for the erase that garbage collection of its die works towards.
    fn wait_for_room(&mut self, set: u32, die: DieId) {
        assert!(self.stage(set) != Stage::CopyProgram, "a copy always has room on its die");
        self.take_from_queue(set);
        self.collect(die, self.sets[set as usize].charge);
        let Some(job) = &self.dies[die.index()].job else {
            self.failed = Some(super::SimError::NoRoom { die: die.get() });
            return;
        };
        let wait = Wait { source: job.eraser, stage: 0, kind: EdgeKind::Room };
        let stage = self.graph.node(set).stage;
        self.totals.room_waits += 1;
        self.dies[die.index()].programs_wait = true;
        self.connect(wait, set, stage);
        self.enter(set, Mode::Waiting);
        self.hand_on_ranks(&[set], None);
    }

    /// The die takes the command.
    fn start(&mut self, set: u32, die: DieId, ppn: Option<Ppn>) {
        self.enter(set, Mode::Running);
        let stage = self.stage(set);
        let op = stage.op();
        let now = self.now;
        let gc = stage.purpose(self.sets[set as usize].copies_map).is_gc();
        let array = self.array_time(op);
        let bus_from = if op == Op::Read { now + array } else { now };
        let mut bus_until = bus_from;
        let mut end = now + array;
        if op == Op::Program && self.page_transfer.as_ns() > 0 {
            bus_until = self.channel_free_at(die);
            let free = self.reserve_channel(die, bus_until);
            end = free + array;
        }
        let state = &mut self.sets[set as usize];
        state.ppn = ppn;
        state.started = now;
        state.bus_from = bus_from;
        state.bus_until = bus_until;
        let unit = &mut self.dies[die.index()];
        unit.running = set;
        unit.since = now;
        unit.doing = if gc { DIE_GC } else { op as usize };
        unit.in_transfer = false;
        self.events.push(&mut self.event_positions, (end, die.get()), die.get());
        if stage == Stage::Read {
            let lpn = self.sets[set as usize].lpn;
            let overtakes = self.live_change_of(lpn, self.graph.node(set).number).is_some();
            self.totals.data_hazards_ignored += u64::from(overtakes);
        }
        if let Some(checker) = &mut self.checker {
            checker.started(
                now,
                die,
                op,
                ppn,
                (stage == Stage::Read).then_some(self.sets[set as usize].lpn),
            );
        }
    }

    /// The first instant at which the channel of a die has nothing left to carry.
    pub(super) fn channel_free_at(&self, die: DieId) -> Time {
        self.channel_free[self.settings.geometry.channel_of(die).index()].max(self.now)
    }

    /// Takes the channel of a die for a page from `start` on; returns when it is over.
    pub(super) fn reserve_channel(&mut self, die: DieId, start: Time) -> Time {
        let channel = self.settings.geometry.channel_of(die);
        let end = start + self.page_transfer;
        self.channel_free[channel.index()] = end;
        self.carried_ns[channel.index()] += end.since(start).as_ns();
        if let Some(checker) = &mut self.checker {
            checker.transferred(channel, start, end);
        }
        end
    }

    pub(super) fn command_name(&self, set: u32) -> CommandName {
        let state = &self.sets[set as usize];
        let request = (state.request != NIL).then(|| self.pending[state.request as usize].order);
        CommandName { request, page: state.page, stage: self.stage(set).name() }
    }

    pub(super) fn queue_name(&self, set: u32) -> &'static str {
        let state = &self.sets[set as usize];
        let names = if state.in_gc_queue { GC_QUEUES } else { self.policy.queue_names() };
        names[usize::from(state.queue)]
    }
}
