//! An array operation and its phases on the channel.

use super::track::{DIE_FOLD, DIE_GC};
use crate::handle::SetId;
use flashyard_core::command::{Op, Purpose};
use flashyard_core::units::{Span, Time};

/// Where on a die an operation is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// In the array, on the way to it, or done and waiting for the register.
    Array,
    /// In the page register, from where its data leaves.
    Output,
    /// Suspended.
    Suspended,
}

/// What work of the device's own an operation is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Collects {
    /// None that waits behind requests.
    Nothing,
    /// Garbage collection or a merge.
    Garbage,
    /// The folding of a block that is used with one bit a cell.
    Cache,
}

impl Collects {
    /// That of a purpose.
    #[inline]
    pub(crate) const fn of(purpose: Purpose) -> Self {
        match purpose {
            Purpose::Fold => Self::Cache,
            purpose if purpose.is_gc() => Self::Garbage,
            _ => Self::Nothing,
        }
    }

    /// The place of its time among the running totals of a die.
    #[inline]
    pub(crate) const fn place(self) -> Option<usize> {
        match self {
            Self::Nothing => None,
            Self::Garbage => Some(DIE_GC),
            Self::Cache => Some(DIE_FOLD),
        }
    }

    /// What a die does with such an operation: the place of that among its running totals.
    #[inline]
    const fn does(self, op: Op) -> u8 {
        match self.place() {
            Some(place) => place.to_le_bytes()[0],
            None => op as u8,
        }
    }
}

/// What an operation does at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Segment {
    /// Its command and its data in are on the channel.
    Lead,
    /// The array senses, programs or erases.
    Array,
    /// The array senses again, as often as `Operation::retries` says, each time behind a step.
    Retry,
    /// Its data out are on the channel.
    Out,
}

/// One array operation and its time on the channel.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Operation {
    /// The first of the sets that it serves, none for no operation; the others are its riders.
    leader: Option<SetId>,
    op: Op,
    /// Whose work it is, where it is not a request's.
    collects: Collects,
    /// What its die does with it: the place of that among the running totals.
    does: u8,
    /// Whether its blocks are used with one bit a cell.
    slc: bool,
    /// When the die took it, when the channel began to carry its command, when the array is done,
    /// when the channel begins to carry its data out.
    began: Time,
    lead_from: Time,
    array_end: Time,
    out_from: Time,
    /// Time of its command and its data in on the channel.
    lead_ns: u64,
    /// Time in the array, without interruptions; of a read that of the first sense.
    array: Span,
    /// How often a read senses its pages again, and how long that takes in all.
    retries: u32,
    retry: Span,
    /// Time of its data out on the channel.
    out_ns: u64,
    /// Whether the array is done and the page register is not free.
    held: bool,
    suspensions: u32,
    /// Of a suspended one: what is left in the array.
    left: Span,
    /// Whether its die is looked at again when its array begins.
    wakes: bool,
}

impl Operation {
    /// No operation.
    pub(crate) const NONE: Self = Self {
        leader: None,
        op: Op::Read,
        collects: Collects::Nothing,
        does: Op::Read as u8,
        slc: false,
        began: Time::ZERO,
        lead_from: Time::MAX,
        array_end: Time::MAX,
        out_from: Time::MAX,
        lead_ns: 0,
        array: Span::ZERO,
        retries: 0,
        retry: Span::ZERO,
        out_ns: 0,
        held: false,
        suspensions: 0,
        left: Span::ZERO,
        wakes: false,
    };

    /// One that a die takes for a set, of this kind of work, on blocks with one bit a cell (`slc`)
    /// or on others.
    #[inline]
    pub(crate) const fn begun(
        leader: SetId,
        (op, collects, slc): (Op, Collects, bool),
        now: Time,
    ) -> Self {
        let does = collects.does(op);
        Self { leader: Some(leader), op, collects, does, slc, began: now, ..Self::NONE }
    }

    /// What its die does with it: the place of that among the running totals.
    #[inline]
    pub(crate) const fn does(&self) -> u8 {
        self.does
    }

    /// Whether there is one, which serves a set.
    #[inline]
    pub(crate) const fn serves(&self) -> bool {
        self.leader.is_some()
    }

    /// The first of the sets that it serves.
    #[inline]
    pub(crate) const fn leader(&self) -> Option<SetId> {
        self.leader
    }

    /// What the array does.
    #[inline]
    pub(crate) const fn op(&self) -> Op {
        self.op
    }

    /// Whether the array reads.
    #[inline]
    pub(crate) fn reads(&self) -> bool {
        self.op == Op::Read
    }

    /// Whose work it is, where it is not a request's.
    #[inline]
    pub(crate) const fn collects(&self) -> Collects {
        self.collects
    }

    /// Whether its blocks are used with one bit a cell.
    #[inline]
    pub(crate) const fn slc(&self) -> bool {
        self.slc
    }

    /// When the die took it.
    #[inline]
    pub(crate) const fn began(&self) -> Time {
        self.began
    }

    /// When the array is done; [`Time::MAX`] where it is not known yet.
    #[inline]
    pub(crate) const fn array_end(&self) -> Time {
        self.array_end
    }

    /// Time in the array, without interruptions; of a read that of the first sense.
    #[inline]
    pub(crate) const fn array(&self) -> Span {
        self.array
    }

    /// How often a read senses its pages again.
    #[inline]
    pub(crate) const fn retries(&self) -> u32 {
        self.retries
    }

    /// How long that takes in all.
    #[inline]
    pub(crate) const fn retry(&self) -> Span {
        self.retry
    }

    /// Whether data leave its die.
    #[inline]
    pub(crate) const fn gives_data(&self) -> bool {
        self.out_ns > 0
    }

    /// How often it has been suspended.
    #[inline]
    pub(crate) const fn suspensions(&self) -> u32 {
        self.suspensions
    }

    /// Between which instants it waited for the channel: before its command, and before its data
    /// left. The second span is empty where none do.
    #[inline]
    pub(crate) fn waits(&self) -> [(Time, Time); 2] {
        let behind = if self.gives_data() { self.out_from } else { self.array_end };
        [(self.began, self.lead_from), (self.array_end, behind)]
    }

    /// Time in the array, without interruptions, and with all senses.
    #[inline]
    pub(crate) fn in_array(&self) -> Span {
        self.array + self.retry
    }

    /// What it does one after the other, from when on and for how long, as far as it has a time;
    /// between segments it waits. Command and data on the channel are among them where they cross
    /// it as a whole, not request by request.
    pub(crate) fn segments(&self) -> impl Iterator<Item = (Segment, Time, Span)> {
        let retry_from = Time::from_ns(self.array_end.as_ns() - self.retry.as_ns());
        let array_from = Time::from_ns(retry_from.as_ns() - self.array.as_ns());
        let all = [
            (Segment::Lead, self.lead_from, Span::from_ns(self.lead_ns)),
            (Segment::Array, array_from, self.array),
            (Segment::Retry, retry_from, self.retry),
            (Segment::Out, self.out_from, Span::from_ns(self.out_ns)),
        ];
        all.into_iter().filter(|(_, from, span)| !span.is_zero() && *from < Time::MAX)
    }
}

/// What happens to it on its die.
impl Operation {
    /// Its pages are sensed again, so often at least.
    pub(crate) fn sense_again(&mut self, times: u32) {
        self.retries = self.retries.max(times);
    }

    /// It takes so long in the array, and each further sense begins with a step.
    #[inline]
    pub(crate) fn last(&mut self, array: Span, step: Span) {
        self.array = array;
        if self.retries > 0 {
            let sense = step + array;
            self.retry = Span::from_ns(u64::from(self.retries) * sense.as_ns());
        }
    }

    /// Its command and data in, and its data out, take so long on the channel. Returns the sum.
    #[inline]
    pub(crate) const fn cross(&mut self, lead_ns: u64, out_ns: u64) -> u64 {
        (self.lead_ns, self.out_ns) = (lead_ns, out_ns);
        lead_ns + out_ns
    }

    /// Nanoseconds of its command and its data on the channel.
    #[inline]
    pub(crate) const fn channel_ns(&self) -> u64 {
        self.lead_ns + self.out_ns
    }

    /// Nanoseconds that it needs the channel for next, at this place of its die.
    #[inline]
    pub(crate) const fn needs_ns(&self, place: Place) -> u64 {
        match place {
            Place::Output => self.out_ns,
            Place::Array | Place::Suspended => self.lead_ns,
        }
    }

    /// The channel carries its command from now on. Returns when the array is done.
    #[inline]
    pub(crate) fn leads(&mut self, at: Time) -> Time {
        self.lead_from = at;
        self.works(at + Span::from_ns(self.lead_ns))
    }

    /// The array begins to work. Returns when it is done.
    #[inline]
    pub(crate) fn works(&mut self, from: Time) -> Time {
        self.array_end = from + self.in_array();
        self.array_end
    }

    /// The channel carries its data out from now on. Returns when they have left.
    #[inline]
    pub(crate) fn leaves(&mut self, at: Time) -> Time {
        self.out_from = at;
        at + Span::from_ns(self.out_ns)
    }

    /// The array is done, and the page register is not free.
    #[inline]
    pub(crate) const fn hold(&mut self) {
        self.held = true;
    }

    /// Whether it waits for the page register.
    #[inline]
    pub(crate) const fn is_held(&self) -> bool {
        self.held
    }

    /// It leaves its place. Returns what it was; none is there then.
    #[inline]
    pub(crate) const fn take(&mut self) -> Self {
        // Both change before the whole is copied, which is one move and not one for each field.
        self.held = false;
        let operation = *self;
        self.leader = None;
        operation
    }

    /// It goes from its place to another one; none is there then.
    #[inline]
    pub(crate) const fn take_to(&mut self, place: &mut Self) {
        *place = *self;
        (place.held, self.held) = (false, false);
        self.leader = None;
    }

    /// Bulk copies: it is another one, that began then and takes so long.
    pub(crate) fn replace(&mut self, op: Op, began: Time, array: Span) {
        (self.op, self.does) = (op, self.collects.does(op));
        (self.began, self.lead_from) = (began, began);
        (self.array, self.array_end) = (array, began + array);
    }

    /// When its array begins to work, if that is later than now; none where it works already.
    /// [`Time::MAX`] where that is not known, since it waits for the channel.
    pub(crate) fn works_from(&self, now: Time) -> Option<Time> {
        if now + self.array >= self.array_end {
            return None;
        }
        let known = self.array_end < Time::MAX;
        Some(if known {
            Time::from_ns(self.array_end.as_ns() - self.array.as_ns())
        } else {
            Time::MAX
        })
    }

    /// Its die shall be looked at when its array begins to work. Returns whether it shall already.
    pub(crate) const fn ask_to_wake(&mut self) -> bool {
        std::mem::replace(&mut self.wakes, true)
    }

    /// Its die is looked at.
    pub(crate) const fn looked_at(&mut self) {
        self.wakes = false;
    }

    /// It, suspended now.
    pub(crate) fn suspended(&self, now: Time) -> Self {
        let left = self.array_end.since(now);
        Self { suspensions: self.suspensions + 1, left, ..*self }
    }

    /// It goes on, for the rest of its time, once its die is ready for that.
    pub(crate) fn resumed(&self, ready: Time) -> Self {
        Self { array_end: ready + self.left, ..*self }
    }
}
