//! What sets, dies and channels did while chosen requests were under way, as a run tells it.

use flashyard_core::command::{Op, Purpose};
use flashyard_core::units::{DieId, PlaneId, Time};
use flashyard_sim::metrics::parts::Parts;
use flashyard_sim::observe::{
    ChannelTransfer, CommandDone, CommandName, Doing, FlushTrigger, JobBegan, MergeBegan,
    OperationBegan, OwnCause, OwnWork, Piece, PowerWaited, RequestAnswered, SetOver, Suspension,
};
use std::collections::BTreeMap;

/// Why a command is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// It moves data of this request, or its map entries.
    Request(u64),
    /// Of a job of garbage collection.
    Job(JobBegan),
    /// It writes map pages with entries of data that garbage collection has moved.
    Map,
    /// Of merges.
    Merge(MergeBegan),
    /// It flushes a unit of the write buffer.
    Flush(FlushTrigger),
    /// Nobody has told.
    Unknown,
}

/// An operation of a die.
#[derive(Clone, Copy, Debug)]
pub struct Operation {
    /// The number of the die.
    pub die: u32,
    /// What it did.
    pub op: Op,
    /// What for.
    pub purpose: Purpose,
    /// The stage of its command.
    pub stage: &'static str,
    /// Why it was there.
    pub cause: Cause,
    /// Its page, if it had one. A block stands as its first page.
    pub ppn: Option<u32>,
}

/// A time in which a die was in the hands of an operation.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Held {
    pub(crate) from: Time,
    pub(crate) until: Time,
    /// How often the operation had been suspended before.
    pub(crate) suspended: u64,
    /// Whether it was on its way out of the array, to be suspended.
    pub(crate) leaves: bool,
    /// Whether it was suspended at the end of this time.
    pub(crate) makes_way: bool,
    pub(crate) operation: Operation,
}

/// A time in which a channel carried something for an operation.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Carried {
    pub(crate) from: Time,
    pub(crate) until: Time,
    pub(crate) purpose: Purpose,
    pub(crate) out: bool,
}

/// What a set did for a while.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Did {
    pub(crate) command: CommandName,
    pub(crate) die: DieId,
    pub(crate) from: Time,
    pub(crate) until: Time,
    pub(crate) doing: Doing,
    /// The cause of the set, if it is the device's own work.
    why: Why,
}

/// A [`Cause`] of own work, as it is kept: jobs and merges by their places in lists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Why {
    Unknown,
    Map,
    Flush(FlushTrigger),
    Job(u32),
    Merge(u32),
}

/// A set: its pieces, and from which on they are of the set that has the number now.
#[derive(Debug)]
struct Slot {
    pieces: Vec<Did>,
    first: usize,
    /// What the pieces of the one that has it now were charged as.
    parts: Vec<Parts>,
    why: Why,
}

/// What the end of a set lets others have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Freed {
    /// Room in the write buffer.
    Line,
    /// A slot of the queue, of this die if dies have their own.
    Slot(Option<DieId>),
    /// The place of a request that was started.
    Start,
}

/// A set that is over.
#[derive(Clone, Copy, Debug)]
struct Ended {
    at: Time,
    /// Its number, and which pieces of that number are its own.
    set: u32,
    pieces: (usize, usize),
    slot: Option<DieId>,
    frees_line: bool,
    of_request: bool,
}

impl Ended {
    fn has_freed(&self, what: Freed) -> bool {
        match what {
            Freed::Line => self.frees_line,
            Freed::Slot(Some(die)) => self.slot == Some(die),
            Freed::Slot(None) => self.slot.is_some(),
            Freed::Start => self.of_request,
        }
    }
}

/// Who had a die, and has it.
#[derive(Debug, Default)]
struct Holders {
    held: Vec<Held>,
    /// How many of the first ones are known to be over.
    over: usize,
}

impl Holders {
    /// From the first one on that is not over.
    fn open(&mut self) -> &mut [Held] {
        let over = self.held[self.over..].iter().take_while(|held| held.until < Time::MAX);
        self.over += over.count();
        &mut self.held[self.over..]
    }

    /// Forgets those that were over by an instant.
    fn forget(&mut self, now: Time) {
        self.held.retain(|held| held.until > now);
        self.over = 0;
    }
}

/// Everything that was told since it was last cleared, and what had not ended then.
#[derive(Debug, Default)]
pub(crate) struct History {
    slots: Vec<Slot>,
    dies: Vec<Holders>,
    /// The suspended operation of each die.
    asleep: Vec<Option<Held>>,
    channels: Vec<Vec<Carried>>,
    /// Sets that are over, and dies that have stood in line for power, in the order of time.
    ended: Vec<Ended>,
    powered: Vec<PowerWaited>,
    /// Requests that were answered: when, and the place of their last set that is over.
    answered: Vec<(Time, usize)>,
    last_sets: BTreeMap<u64, usize>,
    /// Of each plane the job that began last, and the merges that were planned last.
    jobs: Vec<Option<u32>>,
    merges: Vec<Option<u32>>,
    all_jobs: Vec<JobBegan>,
    all_merges: Vec<MergeBegan>,
}

/// The entry of a list that grows as needed.
fn grown<T>(list: &mut Vec<T>, index: usize, new: impl FnMut() -> T) -> &mut T {
    if list.len() <= index {
        list.resize_with(index + 1, new);
    }
    &mut list[index]
}

/// The entry of a plane.
fn last(of: &[Option<u32>], plane: PlaneId) -> Option<u32> {
    of.get(plane.index()).copied().flatten()
}

/// The entries that overlap a span, the latest first; entries begin one after the other.
fn overlaps<T>(
    list: &[T],
    (from, until): (Time, Time),
    span: impl Fn(&T) -> (Time, Time),
) -> impl Iterator<Item = &T> {
    let end = list.partition_point(|entry| span(entry).0 < until);
    let before = list[..end].iter().rev();
    // Two operations of a die overlap at most by what the register of the first still holds.
    let mut passed = 0;
    before.take_while(move |entry| {
        let over = span(entry).1 <= from;
        passed += u32::from(over);
        passed < 3
    })
}

impl History {
    /// Forgets what is over.
    pub(crate) fn clear(&mut self, now: Time) {
        for slot in &mut self.slots {
            slot.pieces.clear();
            slot.parts.clear();
            slot.first = 0;
        }
        self.ended.clear();
        self.powered.clear();
        self.answered.clear();
        self.last_sets.clear();
        self.dies.iter_mut().for_each(|die| die.forget(now));
        self.channels.iter_mut().for_each(|carried| carried.retain(|one| one.until > now));
    }

    fn slot(&mut self, set: u32) -> &mut Slot {
        let new = || Slot { pieces: Vec::new(), first: 0, parts: Vec::new(), why: Why::Unknown };
        grown(&mut self.slots, set as usize, new)
    }

    /// A piece of a set's life is over.
    pub(crate) fn piece(&mut self, piece: &Piece) {
        let slot = self.slot(piece.set);
        let Piece { command, die, from, until, doing, parts, .. } = *piece;
        slot.pieces.push(Did { command, die, from, until, doing, why: slot.why });
        slot.parts.push(parts);
    }

    /// A set is over; the next one with its number is another one. It is remembered if a chosen
    /// request is under way.
    pub(crate) fn set_over(&mut self, over: &SetOver, keeps: bool) {
        let slot = self.slot(over.set);
        let pieces = (slot.first, slot.pieces.len());
        slot.first = slot.pieces.len();
        slot.parts.clear();
        slot.why = Why::Unknown;
        if keeps {
            let SetOver { set, at, slot, frees_line, request, .. } = *over;
            let of_request = request.is_some();
            self.last_sets.extend(request.map(|order| (order, self.ended.len())));
            self.ended.push(Ended { at, set, pieces, slot, frees_line, of_request });
        }
    }

    /// A request is answered.
    pub(crate) fn request_answered(&mut self, event: &RequestAnswered) {
        if let Some(place) = self.last_sets.remove(&event.order) {
            self.answered.push((event.at, place));
        }
    }

    /// The last set of the request that was answered last at an instant.
    fn answered_at(&self, at: Time) -> Option<&Ended> {
        let end = self.answered.partition_point(|answered| answered.0 <= at);
        let last = self.answered[..end].last().filter(|answered| answered.0 == at)?;
        Some(&self.ended[last.1])
    }

    /// Returns the pieces of the set that ended last at the end of a span, cut to the span, the
    /// latest piece first. There are none if the end of that set has not freed this one.
    pub(crate) fn of_freer(&self, what: Freed, span: (Time, Time)) -> Option<Vec<Did>> {
        let end = self.ended.partition_point(|ended| ended.at <= span.1);
        let at_once = self.ended[..end].iter().rev().take_while(|ended| ended.at == span.1);
        let mut over = at_once.filter(|ended| ended.has_freed(what));
        // One that had to wait for such a thing itself until then has been given it.
        let waited = |ended: &&Ended| {
            let last = self.pieces_of(ended).last();
            last.is_some_and(|did| matches!(did.doing, Doing::Slot(_) | Doing::Line))
        };
        let over = over.clone().find(|ended| !waited(ended)).or_else(|| over.next());
        // An answer may take its time on the link.
        let answered = (what == Freed::Start).then(|| self.answered_at(span.1)).flatten();
        let ended = answered.or(over)?;
        Some(within(self.pieces_of(ended), span).collect())
    }

    /// What a set that is over did.
    fn pieces_of(&self, ended: &Ended) -> &[Did] {
        &self.slots[ended.set as usize].pieces[ended.pieces.0..ended.pieces.1]
    }

    /// A die has the power that it stood in line for.
    pub(crate) fn powered(&mut self, waited: &PowerWaited) {
        self.powered.push(*waited);
    }

    /// The wait of a die for power that covers the end of a span.
    pub(crate) fn power_wait(&self, die: DieId, span: (Time, Time)) -> Option<&PowerWaited> {
        let from = self.powered.partition_point(|waited| waited.until < span.1);
        self.powered[from..].iter().find(|waited| waited.die == die && waited.from < span.1)
    }

    /// The pieces of the set that has a number now.
    pub(crate) fn current(&self, set: u32) -> impl Iterator<Item = (&Did, &Parts)> {
        let slot = self.slots.get(set as usize);
        slot.into_iter().flat_map(|slot| slot.pieces[slot.first..].iter().zip(&slot.parts))
    }

    /// What sets of a number did in a span, the latest first, cut to the span.
    pub(crate) fn of_set(&self, set: u32, span: (Time, Time)) -> impl Iterator<Item = Did> {
        let pieces = self.slots.get(set as usize).map_or(&[][..], |slot| &slot.pieces);
        within(pieces, span)
    }

    /// Why what a set did was there.
    pub(crate) fn cause_of(&self, did: &Did) -> Cause {
        did.command.request.map_or_else(|| self.cause(did.why), Cause::Request)
    }

    fn cause(&self, why: Why) -> Cause {
        match why {
            Why::Unknown => Cause::Unknown,
            Why::Map => Cause::Map,
            Why::Flush(trigger) => Cause::Flush(trigger),
            Why::Job(place) => Cause::Job(self.all_jobs[place as usize]),
            Why::Merge(place) => Cause::Merge(self.all_merges[place as usize]),
        }
    }

    /// The device makes a set for work of its own.
    pub(crate) fn own_work(&mut self, work: &OwnWork) {
        let why = match work.cause {
            OwnCause::Job => last(&self.jobs, work.plane).map_or(Why::Unknown, Why::Job),
            OwnCause::Merge(plane) => last(&self.merges, plane).map_or(Why::Unknown, Why::Merge),
            OwnCause::Map => Why::Map,
            OwnCause::Zone | OwnCause::Ahead => Why::Unknown,
            OwnCause::Flush(trigger) => Why::Flush(trigger),
        };
        self.slot(work.set).why = why;
    }

    /// A job begins.
    pub(crate) fn job(&mut self, job: &JobBegan) {
        let place = u32::try_from(self.all_jobs.len()).ok();
        self.all_jobs.push(*job);
        *grown(&mut self.jobs, job.plane.index(), || None) = place;
    }

    /// Merges have been planned.
    pub(crate) fn merge(&mut self, merge: &MergeBegan) {
        let place = u32::try_from(self.all_merges.len()).ok();
        self.all_merges.push(*merge);
        *grown(&mut self.merges, merge.plane.index(), || None) = place;
    }

    /// A die takes an operation. What it did before is of no use unless a chosen request is under
    /// way.
    pub(crate) fn operation(&mut self, began: &OperationBegan, keeps: bool) {
        let own = || {
            let slot = self.slots.get(began.set as usize);
            slot.map_or(Cause::Unknown, |slot| self.cause(slot.why))
        };
        let cause = began.command.request.map_or_else(own, Cause::Request);
        let operation = Operation {
            die: began.die.get(),
            op: began.op,
            purpose: began.purpose,
            stage: began.command.stage,
            cause,
            ppn: began.ppn,
        };
        let held = Held {
            from: began.at,
            until: Time::MAX,
            suspended: 0,
            leaves: false,
            makes_way: false,
            operation,
        };
        let die = grown(&mut self.dies, began.die.index(), Holders::default);
        if !keeps {
            die.forget(began.at);
        }
        die.held.push(held);
    }

    /// A command is over, and with it its operation.
    pub(crate) fn done(&mut self, done: &CommandDone) {
        let die = grown(&mut self.dies, done.die.index(), Holders::default);
        // A suspended operation began earlier than its last time on the die; reads never are.
        let is_open = |held: &&mut Held| {
            let began = held.from == done.start || done.op != Op::Read;
            held.until == Time::MAX && held.operation.op == done.op && began
        };
        if let Some(held) = die.open().iter_mut().find(is_open) {
            held.until = done.end;
        }
    }

    /// An operation is suspended, or goes on.
    pub(crate) fn suspended(&mut self, event: &Suspension) {
        let die = grown(&mut self.dies, event.die.index(), Holders::default);
        if event.resumed {
            let asleep = self.asleep.get_mut(event.die.index());
            if let Some(before) = asleep.and_then(Option::take) {
                let until = Time::MAX;
                die.held.push(Held { from: event.at, until, leaves: false, ..before });
            }
            return;
        }
        let mut open = die.open().iter_mut().rev();
        if let Some(open) = open.find(|held| held.until == Time::MAX) {
            (open.until, open.makes_way) = (event.at, true);
            let leaves = Held {
                from: event.at,
                until: event.until,
                suspended: open.suspended + 1,
                leaves: true,
                makes_way: false,
                ..*open
            };
            die.held.push(leaves);
            *grown(&mut self.asleep, event.die.index(), || None) = Some(leaves);
        }
    }

    /// A channel is reserved.
    pub(crate) fn transfer(&mut self, transfer: &ChannelTransfer) {
        let ChannelTransfer { from, until, purpose, out, .. } = *transfer;
        let carried = grown(&mut self.channels, transfer.channel.index(), Vec::new);
        carried.push(Carried { from, until, purpose, out });
    }

    /// Who had a die in a span, the latest first: each part of the span once, with nobody where the
    /// die did nothing.
    pub(crate) fn of_die(
        &self,
        die: DieId,
        span: (Time, Time),
    ) -> Vec<((Time, Time), Option<Held>)> {
        let held = self.dies.get(die.index()).map_or(&[][..], |die| &die.held);
        cover(overlaps(held, span, |held| (held.from, held.until)), span, |held| {
            (held.from, held.until)
        })
    }

    /// The same of a channel.
    pub(crate) fn of_channel(
        &self,
        channel: usize,
        span: (Time, Time),
    ) -> Vec<((Time, Time), Option<Carried>)> {
        let carried = self.channels.get(channel).map_or(&[][..], Vec::as_slice);
        cover(overlaps(carried, span, |one| (one.from, one.until)), span, |one| {
            (one.from, one.until)
        })
    }
}

/// The pieces that overlap a span, the latest first, cut to it; they follow one another.
fn within(pieces: &[Did], span: (Time, Time)) -> impl Iterator<Item = Did> {
    let end = pieces.partition_point(|did| did.from < span.1);
    let within = pieces[..end].iter().rev().take_while(move |did| did.until > span.0);
    within.map(move |did| {
        let mut cut = *did;
        cut.from = cut.from.max(span.0);
        cut.until = cut.until.min(span.1);
        if let Doing::Runs(waits) = &mut cut.doing {
            for wait in waits {
                let (from, until) = (cut.from, cut.until);
                *wait = (wait.0.clamp(from, until), wait.1.clamp(from, until));
            }
        }
        cut
    })
}

/// Covers a span with entries, the latest first; of two at a time the one that began later counts.
fn cover<'a, T: Copy + 'a>(
    entries: impl Iterator<Item = &'a T>,
    (from, until): (Time, Time),
    span: impl Fn(&T) -> (Time, Time),
) -> Vec<((Time, Time), Option<T>)> {
    let mut parts = Vec::new();
    let mut right = until;
    for entry in entries {
        let (began, ended) = span(entry);
        let (began, ended) = (began.max(from), ended.min(right));
        if ended <= began {
            continue;
        }
        if ended < right {
            parts.push(((ended, right), None));
        }
        parts.push(((began, ended), Some(*entry)));
        right = began;
        if right == from {
            break;
        }
    }
    if from < right {
        parts.push(((from, right), None));
    }
    parts
}
