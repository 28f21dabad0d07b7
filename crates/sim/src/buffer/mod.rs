//! The write buffer: its lines, its ports, who waits for a line, and when it is flushed.
//!
//! The buffer says what is to be done; commands, and the sets that carry them, are made by the
//! device. It reads the sets under way, and changes nothing of them.

mod ahead;
mod batch;
mod fills;
mod flush;
mod line;
mod lines;
mod lines_save;
mod link;
mod order;
pub mod ports;
mod put;
mod release;
mod rules;
mod runs;
mod save;
#[cfg(test)]
mod tests;
mod together;
mod writes;

use crate::config::{
    AfterFlush, Allocation, BufferKeys, DataOrder, Eviction, MapStore, PartialWrite, PortKind,
    ReadAllocate, Recency, Replacement, Settings,
};
use crate::handle::{LineId, SetId};
use crate::sets::{Sets, Wait};
pub(crate) use batch::{Batch, FlushOutcome, Quiet};
pub(crate) use fills::Fill;
use flashyard_core::units::{Lpn, PlaneId, Span, Time};
pub use line::Line;
pub use lines::Lines;
use ports::{Direction, Ports, Reservation};
pub(crate) use put::Put;
use release::Release;
use rules::AnyRule;
use runs::Runs;
pub(crate) use save::Saving;
use std::collections::VecDeque;
use std::ops::Range;
use writes::is_unput;
pub(crate) use writes::{barrier_stage, barrier_waits, is_any_under_way, latest_unput};

/// Program units that a plane may have under way from the buffer: one in the array and one that
/// waits for it.
const PLANE_LIMIT: u32 = 2;

/// Where a read finds what the buffer has of its unit.
pub(crate) enum Found {
    /// A write is about to put it.
    Write(SetId),
    /// A line, which may hold all that is wanted.
    Line(LineId, bool),
    /// It has nothing of it.
    Nothing,
}

/// The write buffer of a device.
#[derive(Clone, Debug)]
pub(crate) struct Buffer {
    keys: BufferKeys,
    /// Whether a host policy flushes, not the buffer.
    by_pages: bool,
    /// Whether changes of a unit are made in the order of their requests.
    ordered: bool,
    /// Whether writes of a part of a unit are told from others.
    partial: bool,
    allocation: Allocation,
    /// Frontiers of host data a plane, or zones.
    streams: u32,
    /// The sectors of a whole unit.
    sectors: Range<u16>,
    lines: Lines,
    /// Lines that become usable one after another, if they do.
    release: Option<Box<Release>>,
    ports: Ports,
    /// Time of a unit on its port, got and put.
    spans: [Span; 2],
    /// Writes that wait for a line.
    waiting: VecDeque<SetId>,
    /// Units that reads leave and that wait for one.
    fills: VecDeque<Fill>,
    rule: AnyRule,
    /// Runs of reads, where the device reads ahead of them.
    runs: Option<Box<Runs>>,
    /// Whether a flush could not begin because of the map cache since the flusher last tried.
    stalled: bool,
    /// Whether one could not before that.
    tries_again: bool,
    /// Whether what can be done for it depends on its own state alone, and whether nothing could be
    /// done when it was last looked at and nothing has changed since.
    settles: bool,
    settled: bool,
    /// Program units under way that no request has asked for.
    flushes: u64,
    /// Requests that had come when the device became idle, and when that was.
    quiet: (u64, Time),
    /// Whether a look at that is due.
    looks: bool,
    /// Map commands that flushes wait for which begin together; empty between uses.
    waits: Vec<(SetId, Wait)>,
}

impl Buffer {
    /// The buffer that the settings ask for; `by_pages` is whether a host policy flushes it.
    pub(crate) fn new(settings: &Settings, by_pages: bool) -> Option<Box<Self>> {
        let (keys, geometry) = (settings.keys.buffer, &settings.geometry);
        let units = settings.buffer_units;
        if units == 0 {
            return None;
        }
        let allocation = settings.keys.ftl.allocation;
        let streams = match &settings.zones {
            Some(zones) => zones.count.div_ceil(zones.sets),
            None => settings.frontiers.streams.into(),
        };
        let limit = PLANE_LIMIT * geometry.program_units();
        let (groups, limit) = match allocation {
            Allocation::Static => (geometry.all_planes() * streams, limit),
            Allocation::Dynamic => (streams, limit * geometry.all_planes()),
        };
        let limit = if keys.flush_width == 0 { limit } else { u32::MAX };
        let ready = if keys.eviction == Eviction::AtOnce { 1 } else { geometry.program_units() };
        let banks = u32::try_from(keys.banks).expect("the key's range fits 32 bits");
        let frees = keys.after_flush == AfterFlush::Free;
        let unit_ns = (u64::from(geometry.unit_bytes()) * keys.ps_per_byte).div_ceil(1_000);
        let lines = Lines::new(units, groups, ready, limit);
        // Clean lines that no read has left are used as the study of ROS does: in their order.
        let in_order = by_pages && frees && keys.read_allocate == ReadAllocate::Never;
        let mut lines = lines.ruled(keys.replacement, banks, (frees, in_order));
        lines.notes_changes = by_pages;
        Some(Box::new(Self {
            keys,
            by_pages,
            ordered: settings.keys.queue.data_order == DataOrder::Lpn,
            partial: settings.keys.ftl.partial_write != PartialWrite::Ignore,
            allocation,
            streams,
            sectors: 0..u16::try_from(geometry.unit_sectors()).expect("a unit is at most 1 MiB"),
            lines,
            release: Release::new(settings, groups),
            ports: Ports::new(keys.ports == PortKind::Shared, banks),
            spans: [keys.read_ns, keys.write_ns].map(|ns| Span::from_ns(unit_ns + ns)),
            waiting: VecDeque::new(),
            fills: VecDeque::new(),
            rule: AnyRule::new(&keys, units, by_pages),
            runs: Runs::new(settings),
            stalled: false,
            tries_again: false,
            settles: keys.eviction == Eviction::Watermark
                && keys.replacement != Replacement::Clock
                && !keys.flush_when_idle
                && !by_pages
                && settings.keys.map.store == MapStore::Resident,
            settled: false,
            flushes: 0,
            quiet: (u64::MAX, Time::ZERO),
            looks: false,
            waits: Vec::new(),
        }))
    }

    /// The lines.
    #[inline]
    pub(crate) const fn lines(&self) -> &Lines {
        &self.lines
    }

    /// The ports.
    #[inline]
    pub(crate) const fn ports(&self) -> &Ports {
        &self.ports
    }

    /// Every unit that it holds, the dirty ones first; the number of the change that made its
    /// contents, none of what a read has found on flash; whether flash lacks them; and the sectors
    /// that its line has.
    pub(crate) fn contents(&self) -> impl Iterator<Item = (Lpn, Option<u64>, bool, Range<u16>)> {
        let lines = self.lines.dirty_lines().chain(self.lines.clean_lines());
        lines.map(|line| {
            let number = (!line.is_of_flash()).then_some(line.version);
            (line.lpn, number, line.is_dirty(), line.from..line.until)
        })
    }

    /// Lines with contents that flash may lack: the dirty ones, the least recently used one first,
    /// then those whose programs are under way.
    pub(crate) fn held(&self) -> impl Iterator<Item = &Line> {
        let all = (0..self.lines.touched()).map(LineId::new);
        let flushing = all.map(|line| &self.lines[line]).filter(|line| {
            let own = self.lines.find(line.lpn).map(|found| &self.lines[found]);
            let is_used = own.is_some_and(|own| std::ptr::eq(own, *line));
            is_used && !line.is_dirty() && line.is_flushing() && !line.is_of_flash()
        });
        self.lines.dirty_lines().chain(flushing)
    }

    /// The lines that a unit is programmed with: of its plane, which striping gives, and its
    /// frontier or zone.
    pub(crate) const fn group_of(&self, plane: PlaneId, stream: u32) -> u32 {
        let plane = match self.allocation {
            Allocation::Static => plane.get(),
            Allocation::Dynamic => 0,
        };
        plane * self.streams + stream % self.streams
    }

    /// The sectors of a whole unit.
    pub(crate) fn unit_range(&self) -> Range<u16> {
        self.sectors.clone()
    }

    /// Whether a line holds these sectors of its unit.
    pub(crate) fn covers(&self, line: LineId, wanted: &Range<u64>) -> bool {
        let line = &self.lines[line];
        u64::from(line.from) <= wanted.start && wanted.end <= u64::from(line.until)
    }

    /// What the buffer has, or is about to get, of these sectors of a unit.
    pub(crate) fn find(&self, lpn: Lpn, wanted: &Range<u64>, sets: &Sets) -> Found {
        let held = self.lines.find(lpn);
        if held.is_none() || self.ordered {
            let earlier = writes::write_or_change(sets, lpn, u64::MAX);
            if let Some(change) = earlier {
                if is_unput(sets, change) && !sets[change].is_superseded() {
                    return Found::Write(change);
                }
                // What was written behind a trim that is not over is there already.
                let number = sets.number(change);
                let newer = |line| self.lines[line].version > number;
                if sets[change].trims() && !held.is_some_and(newer) {
                    return Found::Nothing;
                }
            }
        }
        held.map_or(Found::Nothing, |line| Found::Line(line, self.covers(line, wanted)))
    }

    /// A read gets a line.
    pub(crate) fn read(&mut self, line: LineId) -> &Line {
        if self.keys.recency == Recency::ReadsAndWrites {
            self.lines.touch(line);
        }
        &self.lines[line]
    }

    /// Whether the write that a line has its contents from is not over.
    pub(crate) fn is_being_put(&self, line: LineId, sets: &Sets) -> bool {
        let line = &self.lines[line];
        let writer = writes::write_or_change(sets, line.lpn, line.version + 1);
        writer.is_some_and(|set| sets.number(set) == line.version && is_unput(sets, set))
    }

    /// A unit is put or got as soon as its port and the bank of its line are free, in the bank of
    /// its number where its line has gone; `host` is whether a request asks for it. Returns when
    /// it has them, and for how long.
    pub(crate) fn reserve(
        &mut self,
        direction: Direction,
        lpn: Lpn,
        line: Option<LineId>,
        host: bool,
        now: Time,
    ) -> (Reservation, Span) {
        let bank = match line {
            Some(line) => self.lines[line].bank(),
            None => lpn.get() % self.lines.banks(),
        };
        let span = self.spans[direction as usize];
        (self.ports.reserve(direction, bank, span, line, host, now), span)
    }

    /// Time of a unit on its port, got and put.
    pub(crate) const fn spans(&self) -> [Span; 2] {
        self.spans
    }

    /// Whether another unit fits into a line that is usable.
    #[inline]
    fn has_room(&self) -> bool {
        let held = self.release.as_ref().map_or(0, |release| release.held);
        if held == 0 { self.lines.has_room() } else { self.lines.free_lines() > held }
    }

    /// A line has become usable.
    pub(crate) fn line_usable(&mut self) {
        self.release.as_mut().expect("lines are held").held -= 1;
        self.changes();
    }

    /// Whether a write, or a unit that a read leaves, waits for a line.
    pub(crate) fn has_waiting(&self) -> bool {
        !self.fills.is_empty() || !self.waiting.is_empty()
    }

    /// The write whose turn it is to get a line.
    pub(crate) fn first_waiting(&self) -> Option<SetId> {
        self.waiting.front().copied()
    }

    /// A write waits for a line.
    pub(crate) fn wait(&mut self, set: SetId) {
        self.changes();
        self.waiting.push_back(set);
    }

    /// The write whose turn it was has got a line.
    pub(crate) fn end_wait(&mut self) {
        self.changes();
        self.waiting.pop_front();
    }

    /// Units that came and went since this was last asked, and whether they came.
    pub(crate) fn take_changes(&mut self) -> Vec<(Lpn, bool)> {
        std::mem::take(&mut self.lines.changes)
    }

    /// Gives the memory of these changes back.
    pub(crate) fn return_changes(&mut self, mut changes: Vec<(Lpn, bool)>) {
        changes.clear();
        self.lines.changes = changes;
    }
}
