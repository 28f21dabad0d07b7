//! What sets, dies and channels did while chosen requests were under way, as a run tells it.

use flashyard_core::command::{Op, Purpose};
use flashyard_core::units::{DieId, Time};
use flashyard_sim::observe::{
    ChannelTransfer, CommandDone, Doing, FlushTrigger, JobBegan, MergeBegan, OperationBegan,
    OwnCause, OwnWork, Piece, Suspension,
};

/// Why a command is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cause {
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
pub(super) struct Operation {
    pub(super) die: u32,
    pub(super) op: Op,
    pub(super) purpose: Purpose,
    pub(super) stage: &'static str,
    pub(super) cause: Cause,
    pub(super) ppn: Option<u32>,
}

/// A time in which a die was in the hands of an operation.
#[derive(Clone, Copy, Debug)]
pub(super) struct Held {
    pub(super) from: Time,
    pub(super) until: Time,
    /// How often the operation had been suspended before.
    pub(super) suspended: u64,
    /// Whether it was on its way out of the array, to be suspended.
    pub(super) leaves: bool,
    pub(super) operation: Operation,
}

/// A time in which a channel carried something for an operation.
#[derive(Clone, Copy, Debug)]
pub(super) struct Carried {
    pub(super) from: Time,
    pub(super) until: Time,
    pub(super) purpose: Purpose,
    pub(super) out: bool,
}

/// What a set did for a while.
#[derive(Clone, Copy, Debug)]
pub(super) struct Did {
    pub(super) piece: Piece,
    /// Why the set is there, where it is the device's own work.
    pub(super) cause: Cause,
}

/// A set: its pieces, and from which on they are of the set that has the number now.
#[derive(Debug)]
struct Slot {
    pieces: Vec<Did>,
    first: usize,
    cause: Cause,
}

/// Everything that was told since it was last cleared, and what had not ended then.
#[derive(Debug, Default)]
pub(super) struct History {
    slots: Vec<Slot>,
    dies: Vec<Vec<Held>>,
    /// The suspended operation of each die.
    asleep: Vec<Option<Held>>,
    channels: Vec<Vec<Carried>>,
    /// Of each plane the job that began last, and the merges that were planned last.
    jobs: Vec<Option<JobBegan>>,
    merges: Vec<Option<MergeBegan>>,
}

/// The entry of a list that grows as needed.
fn grown<T>(list: &mut Vec<T>, index: usize, new: impl FnMut() -> T) -> &mut T {
    if list.len() <= index {
        list.resize_with(index + 1, new);
    }
    &mut list[index]
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
    pub(super) fn clear(&mut self, now: Time) {
        for slot in &mut self.slots {
            slot.pieces.clear();
            slot.first = 0;
        }
        self.dies.iter_mut().for_each(|held| held.retain(|held| held.until > now));
        self.channels.iter_mut().for_each(|carried| carried.retain(|one| one.until > now));
    }

    fn slot(&mut self, set: u32) -> &mut Slot {
        let new = || Slot { pieces: Vec::new(), first: 0, cause: Cause::Unknown };
        grown(&mut self.slots, set as usize, new)
    }

    /// A piece of a set's life is over.
    pub(super) fn piece(&mut self, piece: &Piece) {
        let slot = self.slot(piece.set);
        slot.pieces.push(Did { piece: *piece, cause: slot.cause });
    }

    /// A set is over; the next one with its number is another one.
    pub(super) fn set_over(&mut self, set: u32) {
        let slot = self.slot(set);
        slot.first = slot.pieces.len();
        slot.cause = Cause::Unknown;
    }

    /// The pieces of the set that has a number now.
    pub(super) fn current(&self, set: u32) -> &[Did] {
        self.slots.get(set as usize).map_or(&[], |slot| &slot.pieces[slot.first..])
    }

    /// What sets of a number did in a span, the latest first, cut to the span.
    pub(super) fn of_set(&self, set: u32, span: (Time, Time)) -> impl Iterator<Item = Did> {
        let pieces = self.slots.get(set as usize).map_or(&[][..], |slot| &slot.pieces);
        let end = pieces.partition_point(|did| did.piece.from < span.1);
        let within = pieces[..end].iter().rev().take_while(move |did| did.piece.until > span.0);
        within.map(move |did| {
            let mut cut = *did;
            cut.piece.from = cut.piece.from.max(span.0);
            cut.piece.until = cut.piece.until.min(span.1);
            if let Doing::Runs(waits) = &mut cut.piece.doing {
                for wait in waits {
                    let (from, until) = (cut.piece.from, cut.piece.until);
                    *wait = (wait.0.clamp(from, until), wait.1.clamp(from, until));
                }
            }
            cut
        })
    }

    /// The device makes a set for work of its own.
    pub(super) fn own_work(&mut self, work: &OwnWork) {
        let plane = work.plane.index();
        let cause = match work.cause {
            OwnCause::Job => {
                self.jobs.get(plane).copied().flatten().map_or(Cause::Unknown, Cause::Job)
            }
            OwnCause::Merge => {
                self.merges.get(plane).copied().flatten().map_or(Cause::Unknown, Cause::Merge)
            }
            OwnCause::Map => Cause::Map,
            OwnCause::Flush(trigger) => Cause::Flush(trigger),
        };
        self.slot(work.set).cause = cause;
    }

    /// A job begins.
    pub(super) fn job(&mut self, job: &JobBegan) {
        *grown(&mut self.jobs, job.plane.index(), || None) = Some(*job);
    }

    /// Merges have been planned. Steps that need no merge change nothing.
    pub(super) fn merge(&mut self, merge: &MergeBegan) {
        *grown(&mut self.merges, merge.plane.index(), || None) = Some(*merge);
    }

    /// A die takes an operation. What it did before is of no use unless a chosen request is under
    /// way.
    pub(super) fn operation(&mut self, began: &OperationBegan, keeps: bool) {
        let cause = match began.command.request {
            Some(order) => Cause::Request(order),
            None => self.slots.get(began.set as usize).map_or(Cause::Unknown, |slot| slot.cause),
        };
        let operation = Operation {
            die: began.die.get(),
            op: began.op,
            purpose: began.purpose,
            stage: began.command.stage,
            cause,
            ppn: began.ppn,
        };
        let held =
            Held { from: began.at, until: Time::MAX, suspended: 0, leaves: false, operation };
        let die = grown(&mut self.dies, began.die.index(), Vec::new);
        if !keeps {
            die.retain(|held| held.until > began.at);
        }
        die.push(held);
    }

    /// A command is over, and with it its operation.
    pub(super) fn done(&mut self, done: &CommandDone) {
        let held = grown(&mut self.dies, done.die.index(), Vec::new);
        // A suspended operation began earlier than its last time on the die; reads never are.
        let is_open = |held: &&mut Held| {
            let began = held.from == done.start || done.op != Op::Read;
            held.until == Time::MAX && held.operation.op == done.op && began
        };
        if let Some(held) = held.iter_mut().find(is_open) {
            held.until = done.end;
        }
    }

    /// An operation is suspended, or goes on.
    pub(super) fn suspended(&mut self, event: &Suspension) {
        let held = grown(&mut self.dies, event.die.index(), Vec::new);
        if event.resumed {
            let asleep = self.asleep.get_mut(event.die.index());
            if let Some(before) = asleep.and_then(Option::take) {
                let until = Time::MAX;
                held.push(Held { from: event.at, until, leaves: false, ..before });
            }
            return;
        }
        if let Some(open) = held.iter_mut().rev().find(|held| held.until == Time::MAX) {
            open.until = event.at;
            let leaves = Held {
                from: event.at,
                until: event.until,
                suspended: open.suspended + 1,
                leaves: true,
                ..*open
            };
            held.push(leaves);
            *grown(&mut self.asleep, event.die.index(), || None) = Some(leaves);
        }
    }

    /// A channel is reserved.
    pub(super) fn transfer(&mut self, transfer: &ChannelTransfer) {
        let ChannelTransfer { from, until, purpose, out, .. } = *transfer;
        let carried = grown(&mut self.channels, transfer.channel.index(), Vec::new);
        carried.push(Carried { from, until, purpose, out });
    }

    /// Who had a die in a span, the latest first: each part of the span once, with nobody where the
    /// die did nothing.
    pub(super) fn of_die(
        &self,
        die: DieId,
        span: (Time, Time),
    ) -> Vec<((Time, Time), Option<Held>)> {
        let held = self.dies.get(die.index()).map_or(&[][..], Vec::as_slice);
        cover(overlaps(held, span, |held| (held.from, held.until)), span, |held| {
            (held.from, held.until)
        })
    }

    /// The same of a channel.
    pub(super) fn of_channel(
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
