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
    pub(crate) leader: Option<SetId>,
    pub(crate) op: Op,
    /// Whose work it is, where it is not a request's.
    pub(crate) collects: Collects,
    /// Whether its blocks are used with one bit a cell.
    pub(crate) slc: bool,
    /// When the die took it, when the channel began to carry its command, when the array is done,
    /// when the channel begins to carry its data out.
    pub(crate) began: Time,
    pub(crate) lead_from: Time,
    pub(crate) array_end: Time,
    pub(crate) out_from: Time,
    /// Time of its command and its data in on the channel.
    pub(crate) lead_ns: u64,
    /// Time in the array, without interruptions; of a read that of the first sense.
    pub(crate) array: Span,
    /// How often a read senses its pages again, and how long that takes in all.
    pub(crate) retries: u32,
    pub(crate) retry: Span,
    /// Time of its data out on the channel.
    pub(crate) out_ns: u64,
    /// Whether the array is done and the page register is not free.
    pub(crate) held: bool,
    pub(crate) suspensions: u32,
    /// Of a suspended one: what is left in the array.
    pub(crate) left: Span,
    /// Whether its die is looked at again when its array begins.
    pub(crate) wakes: bool,
}

impl Operation {
    /// No operation.
    pub(crate) const NONE: Self = Self {
        leader: None,
        op: Op::Read,
        collects: Collects::Nothing,
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

    /// Whether there is one, which serves a set.
    pub(crate) const fn serves(&self) -> bool {
        self.leader.is_some()
    }
}
