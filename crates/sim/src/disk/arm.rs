//! The arm: which read or write it serves next, and what it does when nothing waits for it.

use super::Disk;
use super::mechanics::Way;
use super::power::{Cause, IDLE, Level, State};
use super::requests::{Written, sectors_of};
use crate::config::ArmOrder;
use crate::handle::RequestId;
use flashyard_core::units::{Span, Time};

/// A read that waits for the arm.
#[derive(Clone, Copy, Debug)]
pub(super) struct WaitingRead {
    pub(super) handle: RequestId,
    pub(super) first: u64,
    pub(super) end: u64,
    pub(super) number: u64,
}

/// Reading ahead into a segment: from a sector, since an instant, to a limit, which is reached
/// then.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ahead {
    pub(super) segment: usize,
    pub(super) from: u64,
    pub(super) at: Time,
    pub(super) limit: u64,
    pub(super) over: Time,
}

/// What the arm does.
#[derive(Clone, Copy, Debug)]
pub(super) enum Arm {
    Idle,
    /// It reads for a request, into a segment where there are any.
    Reads {
        read: WaitingRead,
        segment: Option<usize>,
        written: Written,
        over: Time,
    },
    /// It writes what the cache has under way.
    Writes {
        end: u64,
        written: Written,
        over: Time,
    },
    /// The arm reads ahead until a command needs it.
    Ahead(Ahead),
}

impl Arm {
    /// When what it does is over; [`Time::MAX`] where it rests.
    pub(super) const fn due(&self) -> Time {
        match self {
            Self::Idle => Time::MAX,
            Self::Reads { over, .. } | Self::Writes { over, .. } => *over,
            Self::Ahead(ahead) => ahead.over,
        }
    }
}

/// What waits for the arm: a read by its place in the list, or a write by its first sector.
#[derive(Clone, Copy, Debug)]
enum Choice {
    Read(usize),
    Write(u64),
}

impl Disk {
    /// What the arm does is over.
    pub(super) fn arm_over(&mut self) {
        match std::mem::replace(&mut self.arm, Arm::Idle) {
            Arm::Idle => unreachable!("an arm at rest is not due"),
            Arm::Reads { read, segment, written, .. } => self.read_over(&read, segment, written),
            Arm::Writes { end, written, .. } => {
                self.rest_at(end);
                let run = self.cache.run_over();
                if let Some(checker) = &mut self.checker {
                    for &(first, end, dirty) in &run {
                        checker.written(first, end, dirty.number);
                    }
                }
                self.account.unit_flushed(self.phase());
                self.wake(written);
            }
            Arm::Ahead(ahead) => {
                self.arm = Arm::Ahead(ahead);
                self.stop_ahead();
            }
        }
    }

    fn read_over(&mut self, read: &WaitingRead, segment: Option<usize>, written: Written) {
        self.rest_at(read.end);
        let segment = match segment {
            Some(place) => {
                self.extend(place, read.end);
                Some(place)
            }
            None => self.take_segment(read.first, read.end),
        };
        if let Some(place) = segment {
            self.cache.used(place, read.end);
        }
        self.recent = segment;
        // A long read may not fit its segment: what it returns is on the platters.
        self.check_read(read.handle, None);
        self.charge_written(read.handle, written);
        self.reply_read(read.handle, written.transferred);
    }

    /// Takes a segment for sectors that were read.
    fn take_segment(&mut self, first: u64, end: u64) -> Option<usize> {
        let place = self.cache.replace(first, end)?;
        if let Some(checker) = &mut self.checker {
            checker.segment_read(place, first, end, true);
        }
        Some(place)
    }

    /// The head has passed the sector before `next`, and the arm rests.
    fn rest_at(&mut self, next: u64) {
        self.head.next = next;
        self.head.since = self.now;
        self.power.plan(&[(self.now, IDLE)]);
    }

    /// An arm that nothing keeps turns to its next work.
    pub(super) fn arm_begins(&mut self) {
        let reads_ahead = match self.arm {
            Arm::Reads { .. } | Arm::Writes { .. } => return,
            Arm::Ahead(_) => true,
            Arm::Idle => false,
        };
        match self.waiting_command() {
            Some(Choice::Read(place)) => self.begin_read(place),
            Some(Choice::Write(first)) => self.begin_write(first),
            None if reads_ahead || self.begins_ahead() => {}
            None => {
                if let Some(first) = self.chosen_write(self.keys().write_back) {
                    self.begin_write(first);
                }
            }
        }
    }

    /// The command that the arm serves next.
    fn waiting_command(&mut self) -> Option<Choice> {
        let order = self.keys().order;
        let writes = self.waiting.needs_writes() && !self.cache.dirty.is_empty();
        match (self.reads.is_empty(), writes) {
            (true, false) => None,
            (true, true) => self.chosen_write(order).map(Choice::Write),
            (false, false) => self.chosen_read(order).map(Choice::Read),
            (false, true) if order == ArmOrder::Fifo => {
                let read = self.chosen_read(order)?;
                let write = self.chosen_write(order)?;
                let (_, _, dirty) = self.cache.dirty.at(write)?;
                let first = self.reads[read].number < dirty.oldest;
                Some(if first { Choice::Read(read) } else { Choice::Write(write) })
            }
            (false, true) => {
                self.write_turn = !self.write_turn;
                if self.write_turn {
                    self.chosen_read(order).map(Choice::Read)
                } else {
                    self.chosen_write(order).map(Choice::Write)
                }
            }
        }
    }

    fn chosen_read(&mut self, order: ArmOrder) -> Option<usize> {
        self.catch_up();
        let ahead = match &self.arm {
            Arm::Ahead(ahead) => Some(self.cache.segments[ahead.segment]),
            _ => None,
        };
        let reads = self.reads.iter().enumerate();
        let (place, read) = reads.min_by_key(|(_, read)| {
            // What comes next in a segment needs no seek.
            let goes_on =
                ahead.is_some_and(|known| (known.first..=known.end).contains(&read.first));
            let key = if goes_on { (0, 0) } else { self.key(order, read.first, read.number) };
            (key, read.number)
        })?;
        let first = read.first;
        self.turn(order, first);
        Some(place)
    }

    fn chosen_write(&mut self, order: ArmOrder) -> Option<u64> {
        let dirty = self.cache.dirty.iter();
        let (first, ..) =
            dirty.min_by_key(|&(first, _, dirty)| self.key(order, first, dirty.oldest))?;
        self.turn(order, first);
        Some(first)
    }

    /// What an order goes by: the least one is next.
    fn key(&self, order: ArmOrder, first: u64, number: u64) -> (u64, u64) {
        let head = self.head.next;
        match order {
            ArmOrder::Fifo => (0, number),
            ArmOrder::ShortestSeek => (self.mechanics.distance(head, first), number),
            ArmOrder::Elevator => {
                let ahead = if self.rising { first >= head } else { first <= head };
                (u64::from(!ahead), first.abs_diff(head))
            }
            ArmOrder::ShortestPositioning => {
                (self.mechanics.way(&self.head, first, self.now).total(), number)
            }
        }
    }

    /// An elevator turns where nothing is left ahead of it.
    const fn turn(&mut self, order: ArmOrder, first: u64) {
        if matches!(order, ArmOrder::Elevator) && first != self.head.next {
            self.rising = first > self.head.next;
        }
    }

    fn begin_read(&mut self, place: usize) {
        let read = self.reads.remove(place);
        let now = self.now;
        let (mut segment, mut way) = (None, None);
        let mut over = now;
        if let Arm::Ahead(ahead) = self.arm {
            let known = self.cache.segments[ahead.segment];
            if (known.first..=known.end).contains(&read.first) && known.end < read.end {
                segment = Some(ahead.segment);
                way = Some(Way { seek: Span::ZERO, rotation: ahead.at.max(now).since(now) });
                over = ahead.at + self.mechanics.passing(ahead.from, read.end);
            } else {
                self.stop_ahead();
            }
        }
        let way = way.unwrap_or_else(|| {
            let way = self.mechanics.way(&self.head, read.first, now);
            over = now + way.seek + way.rotation + self.mechanics.passing(read.first, read.end);
            way
        });
        let written = self.plan(&way, over, (State::Read, Cause::Host));
        let pj = self.energy_of(&way, written, State::Read);
        self.energy_pj[read.handle.index()] += pj;
        self.arm = Arm::Reads { read, segment, written, over };
    }

    fn begin_write(&mut self, first: u64) {
        self.stop_ahead();
        let mut most = self.mechanics.track_sectors(first);
        if self.waiting.large.is_some() {
            // It is answered between operations, and the next one comes while the arm goes on.
            most = most.min(self.cache.room.div_ceil(2));
        }
        let end = self.cache.take_run(first, most);
        let way = self.mechanics.way(&self.head, first, self.now);
        let over = self.now + way.seek + way.rotation + self.mechanics.passing(first, end);
        // Writes that a request waits for are its own.
        let own = self.waiting.durable.iter().map(|(handle, _)| *handle).find(|&handle| {
            let (from, to) = sectors_of(self.host[handle].request());
            from < end && to > first
        });
        let cause = if own.is_some() { Cause::Host } else { Cause::WriteBack };
        let written = self.plan(&way, over, (State::Write, cause));
        if let Some(handle) = own {
            self.energy_pj[handle.index()] += self.energy_of(&way, written, State::Write);
        }
        self.arm = Arm::Writes { end, written, over };
    }

    /// Plans the power of an operation that begins now.
    fn plan(&mut self, way: &Way, over: Time, (state, cause): Level) -> Written {
        let moved = self.now + way.seek;
        let there = moved + way.rotation;
        self.power.plan(&[
            (self.now, (State::Seek, cause)),
            (moved, (State::Rotate, cause)),
            (there, (state, cause)),
        ]);
        Written { positioned: there.since(self.now), transferred: over.since(there) }
    }

    /// Energy of an operation in picojoules.
    fn energy_of(&self, way: &Way, written: Written, state: State) -> u64 {
        let of = |span: Span, state| span.as_ns() * self.power.milliwatts(state);
        of(way.seek, State::Seek) + of(way.rotation, State::Rotate) + of(written.transferred, state)
    }

    /// Begins to read ahead in the segment that the host has read from last, if it lacks enough.
    fn begins_ahead(&mut self) -> bool {
        let Some(place) = self.recent else { return false };
        let segment = self.cache.segments[place];
        let limit = self.ahead_limit(place);
        let at_hand = self.head.next == segment.end && self.head.since == self.now;
        let lacks = limit.saturating_sub(segment.end);
        if lacks == 0 || (!at_hand && lacks < self.cache.segment_sectors / 2) {
            return false;
        }
        let way = self.mechanics.way(&self.head, segment.end, self.now);
        let at = self.now + way.seek + way.rotation;
        let over = at + self.mechanics.passing(segment.end, limit);
        self.plan(&way, over, (State::Read, Cause::ReadAhead));
        self.arm = Arm::Ahead(Ahead { segment: place, from: segment.end, at, limit, over });
        true
    }

    /// The sector up to which a segment is read ahead.
    fn ahead_limit(&self, place: usize) -> u64 {
        let wanted = self.cache.segments[place].wanted;
        (wanted + self.cache.segment_sectors).min(self.settings.capacity_sectors())
    }

    /// The host has read from a segment: reading ahead goes further.
    pub(super) fn aim_ahead(&mut self) {
        let Arm::Ahead(ahead) = self.arm else { return };
        if self.recent == Some(ahead.segment) {
            let limit = self.ahead_limit(ahead.segment).max(ahead.limit);
            let over = ahead.at + self.mechanics.passing(ahead.from, limit);
            self.arm = Arm::Ahead(Ahead { limit, over, ..ahead });
        }
    }

    /// Reading ahead ends with the sectors that have passed.
    fn stop_ahead(&mut self) {
        if let Arm::Ahead(ahead) = self.arm {
            self.catch_up();
            // A head that has not come to its first sector counts as there.
            let end = self.cache.segments[ahead.segment].end;
            self.rest_at(end);
            self.arm = Arm::Idle;
            if end < ahead.limit {
                self.recent = None;
            }
        }
    }
}
