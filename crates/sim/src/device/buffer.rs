//! The life of the write buffer: puts and gets, waits for a line, flushes.
//!
//! A page access of the host begins with [`Stage::Buffer`] where the buffer serves it. A write puts
//! its unit there as soon as a line is free, in the order of slots; answered from the buffer it is
//! over then, else its own program follows. A flush is a set of the device's own: it carries the
//! contents of a line as of its start and, in the order of changes, the number of the write that
//! they came from, so every rule for changes holds for it. Flushes of a group of lines begin
//! together, so that their programs fill a program unit.

use super::Device;
use super::buffered_map::Found;
use super::translate::Plan;
use crate::account::PortUse;
use crate::buffer::ports::{Direction, Granted};
use crate::buffer::staging::{Begun, Staging};
use crate::config::{Acknowledge, Allocation, PartialWrite, Recency};
use crate::host::timers::Timer;
use crate::metrics::parts::Parts;
use crate::observe::BufferAccess;
use crate::sets::Track;
use crate::sets::{Mode, Set, Stage};
use flashyard_core::graph::{EdgeKind, NIL, Wait};
use flashyard_core::request::{Flags, RequestOp};
use flashyard_core::units::{Lpn, PlaneId, Span};
use std::ops::Range;

impl Device {
    /// The commands of a read or write of a page where there is a buffer.
    pub(super) fn plan_buffered(&mut self, plan: &mut Plan, handle: u32, op: RequestOp, lpn: Lpn) {
        if op == RequestOp::Read {
            return self.plan_buffered_read(plan, handle, lpn);
        }
        if self.ftl.has_cache()
            && let Some(write) = self.latest_unput(lpn)
        {
            // It may have map commands to do first.
            plan.wait(write, self.sets.stage_index(write, Stage::Buffer), EdgeKind::Order);
        }
        plan.push(Stage::Buffer, self.ftl.plane_of_lpn(lpn));
        let request = self.host.pending[handle as usize].request;
        if self.is_durable(request.flags) {
            self.plan_write(plan, handle, lpn);
        } else if self.settings.keys.ftl.partial_write == PartialWrite::Bitmap {
            let covered = self.covered(&request, lpn);
            self.ftl.cover(lpn, covered);
        }
    }

    /// Whether a write with these flags is answered only when its program is over.
    pub(super) fn is_durable(&self, flags: Flags) -> bool {
        let keys = &self.settings.keys.buffer;
        keys.acknowledge == Acknowledge::Program || (keys.volatile && flags.has(Flags::FUA))
    }

    /// Whether what the buffer holds outlives a loss of power, as what is on flash does.
    pub(super) fn keeps_writes(&self) -> bool {
        self.buffer.is_some() && !self.settings.keys.buffer.volatile
    }

    /// The command of a live change after which a barrier need not wait for it; none where it need
    /// not wait at all. That is the put of a write where the buffer keeps what it holds, the last
    /// command otherwise.
    pub(super) fn barrier_stage(&self, change: u32) -> Option<u8> {
        let state = &self.sets[change];
        if state.trims || !self.keeps_writes() {
            return Some(self.sets.graph.node(change).stages - 1);
        }
        self.is_unput(change).then(|| self.sets.stage_index(change, Stage::Buffer))
    }

    /// Whether a live change must be over, or put, before a write with a preflush begins.
    pub(super) fn barrier_waits(&self) -> bool {
        let mut change = self.sets.oldest_change;
        while change != NIL && self.barrier_stage(change).is_none() {
            change = self.sets[change].later_change;
        }
        change != NIL
    }

    /// A read gets what the buffer holds now; it waits with a write of its unit that waits for a
    /// line.
    fn plan_buffered_read(&mut self, plan: &mut Plan, handle: u32, lpn: Lpn) {
        let plane = self.ftl.plane_of_lpn(lpn);
        let access =
            (self.host.pending[handle as usize].order, self.host.pending[handle as usize].page);
        let (line, enough) = match self.find_read(handle, lpn) {
            Found::Write(write) => {
                let version = self.sets.graph.node(write).number;
                plan.wait(write, self.sets.stage_index(write, Stage::Buffer), EdgeKind::Order);
                plan.push(Stage::Buffer, plane);
                self.account.buffer_looked_up(true);
                self.account.buffer_read(access, lpn, version, false);
                return;
            }
            Found::Nothing => {
                self.account.buffer_looked_up(false);
                return self.plan_read(plan, lpn);
            }
            Found::Line(line, enough) => (line, enough),
        };
        let found = self.staging().lines.line(line);
        let (version, of_flash) = (found.version, found.is_of_flash());
        if self.staging().keys.recency == Recency::ReadsAndWrites {
            self.staging_mut().lines.touch(line);
        }
        // What was never written needs no array.
        let whole = enough || self.ftl.locate(lpn).is_none();
        if of_flash {
            self.account.allocated_read(access, lpn);
        } else {
            self.account.buffer_read(access, lpn, version, true);
        }
        self.account.buffer_looked_up(whole);
        if whole {
            plan.push(Stage::Buffer, plane);
        } else {
            self.plan_read(plan, lpn);
        }
    }

    /// Whether a set is a write that is not in the buffer yet, or only just.
    pub(super) fn is_unput(&self, set: u32) -> bool {
        let (state, node) = (&self.sets[set], self.sets.graph.node(set));
        let left = &state.stages[node.stage as usize..node.stages as usize];
        state.request != NIL && !state.trims && left.iter().any(|stage| stage.0 == Stage::Buffer)
    }

    /// The current command of a set is an access to the buffer: it begins, or waits for a line.
    /// [`Self::wake_due`] must follow.
    pub(super) fn use_buffer(&mut self, set: u32) {
        let Set { slotted, changes, request, .. } = self.sets[set];
        if !slotted && request != NIL {
            self.take_slot(set);
        }
        self.enter(set, Mode::Buffered);
        if changes && request != NIL && !self.put(set, false) {
            self.enter(set, Mode::Lineless);
            self.account.buffer_stalled();
            self.staging_mut().waiting.push_back(set);
            return;
        }
        self.access_buffer(set);
    }

    /// The unit of a write that has a line comes over the link and is put; that of a read is got.
    /// [`Self::wake_due`] must follow.
    fn access_buffer(&mut self, set: u32) {
        let Set { changes, request, .. } = self.sets[set];
        let comes = self.host.carries_pages && changes && request != NIL;
        if !(comes && self.crosses_link(set)) {
            self.access(set);
        }
    }

    /// A unit is put or got. [`Self::wake_due`] must follow.
    pub(super) fn access(&mut self, set: u32) {
        let Set { lpn, changes, request, buffered, .. } = self.sets[set];
        let host = request != NIL;
        let direction = if host && changes { Direction::Put } else { Direction::Get };
        let line = if host { self.staging().lines.find(lpn) } else { Some(buffered) };
        let granted = self.take_port(direction, lpn, line, host);
        if self.account.is_observed() {
            self.tell_access(set, direction, line, &granted);
        }
        let over = granted.until + Span::from_ns(self.staging().keys.access_ns);
        if over > self.now {
            self.host.timers.set(over, Timer::Buffer(set));
        } else {
            self.access_over(set);
        }
    }

    /// A unit is put or got as soon as its port and the bank of its line are free, in the bank of
    /// its number where its line has gone; `host` is whether a request asks for it. Returns when
    /// it has them.
    pub(super) fn take_port(
        &mut self,
        direction: Direction,
        lpn: Lpn,
        line: Option<u32>,
        host: bool,
    ) -> Granted {
        let now = self.now;
        let buffer = self.buffer.as_mut().expect("there is a buffer");
        let bank = match line {
            Some(line) => buffer.lines.line(line).bank(),
            None => lpn.get() % buffer.lines.banks(),
        };
        let span = buffer.spans[direction as usize];
        let line = line.unwrap_or(NIL);
        let granted = buffer.ports.reserve(direction, bank, span, line, host, now);
        let usage = match (direction, host) {
            (Direction::Get, true) => PortUse::Get,
            (Direction::Get, false) => PortUse::FlushGet,
            (Direction::Put, _) => PortUse::Put,
        };
        self.account.port_taken(usage, span, granted.hidden);
        granted
    }

    /// Tells observers of an access.
    fn tell_access(
        &mut self,
        set: u32,
        direction: Direction,
        line: Option<u32>,
        granted: &Granted,
    ) {
        let Set { request, page, lpn, .. } = self.sets[set];
        let event = BufferAccess {
            request: (request != NIL).then(|| self.host.pending[request as usize].order),
            page,
            lpn: lpn.get(),
            bank: line.map(|line| self.staging().lines.line(line).bank()),
            put: direction == Direction::Put,
            start: granted.from,
            end: granted.until,
        };
        self.account.tell_access(&event);
    }

    /// A unit has been put or got. [`Self::wake_due`] must follow.
    pub(super) fn access_over(&mut self, set: u32) {
        self.close_and_rest(set);
        let Set { changes, request, page, lpn, .. } = self.sets[set];
        if !changes && self.account.is_checked() {
            self.account.read_over(self.host.pending[request as usize].order, page);
        }
        if changes && request != NIL {
            self.account.put_over(lpn, self.sets.graph.node(set).number);
            self.flush_at_once(lpn);
        }
        self.sets.complete_and_list(set);
        self.charge_passed();
        self.go_on(set);
        self.sets.ready.due = true;
    }

    /// Puts the unit of a write into a line, if one is free; `granted` is whether it is its turn.
    fn put(&mut self, set: u32, granted: bool) -> bool {
        let Set { lpn, superseded, stream, request, .. } = self.sets[set];
        if superseded {
            // A later trim has forgotten the unit already.
            return true;
        }
        let number = self.sets.graph.node(set).number;
        let covered = self.kept_range(request, lpn);
        let group = self.group_of(lpn, stream);
        let writer = (request, self.host.pending[request as usize].order);
        let through = self.sets.graph.node(set).stages > 1;
        let held = self.staging().lines.find(lpn);
        let first = granted || self.staging().waiting.is_empty();
        // What waits is put in order; a write that finds its unit may pass writes of others.
        let overtakes = || self.write_or_change(lpn, number).is_some_and(|set| self.is_unput(set));
        let room = match held {
            Some(_) => first || !overtakes(),
            None => first && self.staging().lines.has_room(),
        };
        if !room {
            return false;
        }
        self.drop_fill(lpn);
        let buffer = self.staging_mut();
        let (line, evicted) = held.map_or_else(|| buffer.lines.insert(lpn), |line| (line, None));
        let state = buffer.lines.line_mut(line);
        (state.version, state.writer, state.stream) = (number, writer, stream);
        (state.from, state.until) = match held {
            Some(_) => merged(state.from..state.until, &covered),
            None => (covered.start, covered.end),
        };
        let clean = !state.is_dirty();
        if !through {
            buffer.lines.mark_dirty(line, group);
        }
        self.account.buffer_written(held.is_some(), clean);
        self.account.buffered(writer.1, lpn, number, evicted);
        if through {
            self.write_through(set, line, group);
        }
        true
    }

    /// The program of a write carries its own unit, and others fill its program unit.
    fn write_through(&mut self, set: u32, line: u32, group: u32) {
        self.begin_flush(set, line, group);
        let plane = self.sets[set].stages[self.sets.graph.node(set).stages as usize - 1].1;
        self.flush_lines(None, group, Some((set, plane)), true);
    }

    /// A set begins to carry the contents of a line to flash.
    fn begin_flush(&mut self, set: u32, line: u32, group: u32) {
        let sectors = self.unit_range();
        self.sets[set].buffered = line;
        self.account.unit_flushed(self.phase());
        let buffer = self.staging_mut();
        let state = buffer.lines.line_mut(line);
        // What it lacks is read for the program.
        (state.from, state.until) = (sectors.start, sectors.end);
        buffer.lines.begin_flush(line, group);
    }

    /// Begins to flush dirty units of a group, as far as a program unit has room, the line `head`
    /// before all others; or behind the write `first` and on its plane. Those whose map entries
    /// cannot be had now stay dirty; if no request has `asked` for it, those that are not fit too.
    pub(super) fn flush_lines(
        &mut self,
        head: Option<u32>,
        group: u32,
        first: Option<(u32, PlaneId)>,
        asked: bool,
    ) -> Begun {
        let mut together = std::mem::take(&mut self.staging_mut().together);
        let mut plane = first.map(|(_, plane)| plane);
        together.extend(first.map(|(set, _)| set));
        let mut begun = Begun::default();
        let (mut next, mut passed) = (head, None);
        for _ in together.len()..self.settings.geometry.program_units() as usize {
            let is_head = next.is_some();
            // The group's first line, but for those that were passed over.
            let line = next.take().or_else(|| match passed {
                Some(passed) => self.staging().lines.next_of_group(passed),
                None => self.staging_mut().lines.oldest_of(group),
            });
            let fit = if asked || is_head { line } else { self.fit_line(line, head.is_some()) };
            let Some(line) = fit else { break };
            if self.flush_stalls(self.staging().lines.line(line).lpn) {
                begun.stalled = true;
                passed = if is_head { passed } else { Some(line) };
                continue;
            }
            (begun.any, begun.head) = (true, begun.head || is_head);
            let plane = *plane.get_or_insert_with(|| self.plane_of_flush(line));
            self.ftl.write_begins(plane);
            together.push(self.new_flush(line, group, plane));
        }
        if !asked && let Some(&leader) = together.first() {
            self.sets[leader].leads_flush = true;
            self.staging_mut().flushes += 1;
        }
        for &set in &together {
            self.sets[set].asked = asked;
        }
        self.start_together(&together);
        if self.ftl.has_cache()
            && let Some((set, _)) = first
        {
            self.hand_on_ranks(&[set], None);
        }
        let flushes = &together[usize::from(first.is_some())..];
        for &set in flushes {
            self.activate(set);
        }
        together.clear();
        self.staging_mut().together = together;
        begun
    }

    /// The programs of sets begin when all of them can: each waits for the command before the
    /// program of every other one, and for map commands that such a program waits for. Nothing
    /// before a program waits for one of the group, so there is no circle.
    fn start_together(&mut self, sets: &[u32]) {
        if sets.len() < 2 {
            return;
        }
        let mut waits = std::mem::take(&mut self.staging_mut().map_waits);
        for &set in sets {
            let (node, stages) = (self.sets.graph.node(set), &self.sets[set].stages);
            let program = node.stages - 1;
            if program > node.stage && stages[program as usize - 1].0 != Stage::Buffer {
                waits.push((set, Wait { source: set, stage: program - 1, kind: EdgeKind::Order }));
            }
            self.sets.graph.waits_of(set, program, |wait| {
                if matches!(wait.kind, EdgeKind::MapFetch | EdgeKind::MapWriteback) {
                    waits.push((set, wait));
                }
            });
        }
        for (set, wait) in waits.drain(..) {
            for &other in sets.iter().filter(|other| **other != set && **other != wait.source) {
                self.sets.connect(wait, other, self.sets.graph.node(other).stages - 1);
            }
        }
        self.staging_mut().map_waits = waits;
        // They are got one after the other, in this order.
        if let Some((&last, others)) = sets.split_last()
            && self.sets.stage(last) == Stage::Buffer
            && self.sets[last].request == NIL
        {
            let wait = Wait { source: last, stage: 0, kind: EdgeKind::Order };
            for &other in others {
                self.sets.connect(wait, other, self.sets.graph.node(other).stages - 1);
            }
        }
    }

    /// Makes the set that programs the contents of a line.
    fn new_flush(&mut self, line: u32, group: u32, plane: PlaneId) -> u32 {
        let state = *self.staging().lines.line(line);
        let (handle, order) = state.writer;
        let known = handle != NIL && self.host.pending[handle as usize].order == order;
        let charge = if known { handle } else { NIL };
        if known {
            self.host.pending[handle as usize].charges += 1;
        }
        let set = Set {
            charge,
            lpn: state.lpn,
            changes: true,
            stream: state.stream,
            mode: Mode::Slotless,
            track: Track::starting(self.now, Parts::default()),
            ..Set::VACANT
        };
        let mut plan = Plan::new();
        if self.settings.keys.buffer.flush_reads {
            plan.push(Stage::Buffer, plane);
        }
        let found = self.plan_map(&mut plan, state.lpn);
        assert!(found, "the cache has been asked before");
        if let Some(old) = self.plane_of_rest(line) {
            plan.push(Stage::OldRead, old);
        }
        plan.push(Stage::Program, plane);
        let set = self.numbered_set(state.version, &plan.completed(set), plan.stages());
        self.enlist(set, &plan);
        self.begin_flush(set, line, group);
        set
    }

    /// Where the sectors of a unit are that its line lacks; none where it lacks none.
    fn plane_of_rest(&mut self, line: u32) -> Option<PlaneId> {
        let state = *self.staging().lines.line(line);
        let place = self.ftl.locate(state.lpn)?;
        let (held, all) = (state.from..state.until, self.unit_range());
        let lacks = held != all
            && match self.settings.keys.ftl.partial_write {
                PartialWrite::Ignore => false,
                PartialWrite::ReadModifyWrite => true,
                PartialWrite::Bitmap => {
                    self.ftl.cover(state.lpn, u64::from(held.start)..u64::from(held.end))
                }
            };
        if lacks {
            self.account.partial_write_read();
        }
        lacks.then(|| self.settings.geometry.plane_of(place))
    }

    /// The plane that a group of lines is flushed to.
    fn plane_of_flush(&mut self, line: u32) -> PlaneId {
        let lpn = self.staging().lines.line(line).lpn;
        self.ftl.plane_for_write(lpn)
    }

    /// The lines that a unit is programmed with: of its plane and frontier.
    pub(super) fn group_of(&self, lpn: Lpn, stream: u8) -> u32 {
        let streams = self.settings.frontiers.streams;
        let plane = match self.settings.keys.ftl.allocation {
            Allocation::Static => self.ftl.plane_of_lpn(lpn).get(),
            Allocation::Dynamic => 0,
        };
        plane * u32::from(streams) + u32::from(stream % streams)
    }

    /// The sectors of a whole unit.
    pub(super) fn unit_range(&self) -> Range<u16> {
        0..u16::try_from(self.settings.geometry.unit_sectors()).expect("a unit is at most 1 MiB")
    }

    /// Whether the buffer holds all sectors of a unit.
    pub(super) fn holds_whole(&self, lpn: Lpn) -> bool {
        let Some(buffer) = &self.buffer else { return false };
        buffer.lines.find(lpn).is_some_and(|line| {
            let line = buffer.lines.line(line);
            (line.from..line.until) == self.unit_range()
        })
    }

    /// The sectors that the buffer keeps of a write: where nobody asks, the whole unit.
    fn kept_range(&self, handle: u32, lpn: Lpn) -> Range<u16> {
        if self.settings.keys.ftl.partial_write == PartialWrite::Ignore {
            return self.unit_range();
        }
        let covered = self.covered(&self.host.pending[handle as usize].request, lpn);
        let narrow = |sector: u64| u16::try_from(sector).expect("a unit is at most 1 MiB");
        narrow(covered.start)..narrow(covered.end)
    }

    /// A set that carried a unit to flash is complete.
    pub(super) fn flush_over(&mut self, set: u32) {
        let Set { lpn, stream, buffered, request, leads_flush, .. } = self.sets[set];
        let group = self.group_of(lpn, stream);
        let buffer = self.staging_mut();
        buffer.flushes -= u64::from(leads_flush);
        if let Some(freed) = buffer.lines.end_flush(buffered, group) {
            self.account.unbuffered(freed);
        }
        self.sets[set].leads_flush = false;
        self.sets[set].buffered = NIL;
        if request == NIL {
            self.sets.unlist_change(set);
            self.sets.unlist_by_lpn(set);
        }
    }

    /// A unit was trimmed by the change `number`.
    pub(super) fn drop_buffered(&mut self, lpn: Lpn, number: u64) {
        if self.buffer.is_none() {
            return;
        }
        self.drop_fill(lpn);
        let Some(buffer) = &mut self.buffer else { return };
        let Some(line) = buffer.lines.find(lpn) else { return };
        if buffer.lines.line(line).version > number {
            return;
        }
        if buffer.lines.line(line).is_dirty() {
            self.account.dirty_unit_trimmed();
        }
        buffer.lines.remove(line);
        self.account.unbuffered(lpn);
    }

    /// Begins to flush every dirty unit. Returns whether it could; the rest is dirty still.
    pub(super) fn flush_all(&mut self) -> bool {
        while let Some(buffer) = &mut self.buffer
            && let Some(line) = buffer.lines.oldest()
        {
            let group = buffer.lines.line(line).group();
            if !self.flush_lines(None, group, None, true).any {
                return false;
            }
        }
        true
    }

    /// Writes that wait for a line get what is free. Returns whether one did.
    pub(super) fn grant_lines(&mut self) -> bool {
        let mut granted = false;
        while let Some(buffer) = &self.buffer
            && let Some(&set) = buffer.waiting.front()
            && self.put(set, true)
        {
            self.staging_mut().waiting.pop_front();
            self.enter(set, Mode::Buffered);
            self.access_buffer(set);
            self.wake_due();
            granted = true;
        }
        granted
    }

    pub(super) fn staging(&self) -> &Staging {
        self.buffer.as_ref().expect("there is a buffer")
    }

    pub(super) fn staging_mut(&mut self) -> &mut Staging {
        self.buffer.as_mut().expect("there is a buffer")
    }
}

/// The sectors that a line holds after a write: one range, the longer one of two that do not touch.
fn merged(held: Range<u16>, new: &Range<u16>) -> (u16, u16) {
    if held.start <= new.end && new.start <= held.end {
        return (held.start.min(new.start), held.end.max(new.end));
    }
    let longer = if new.len() > held.len() { new.clone() } else { held };
    (longer.start, longer.end)
}
