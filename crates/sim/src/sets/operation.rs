//! An array operation and its phases on the channel.

use crate::handle::SetId;
use flashyard_core::command::Op;
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

/// One array operation and its time on the channel.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Operation {
    /// The first of the sets that it serves, none for no operation; the others are its riders.
    pub(crate) leader: Option<SetId>,
    pub(crate) op: Op,
    /// Whether it is garbage collection's.
    pub(crate) gc: bool,
    /// When the die took it, when the channel began to carry its command, when the array is done,
    /// when the channel begins to carry its data out.
    pub(crate) began: Time,
    pub(crate) lead_from: Time,
    pub(crate) array_end: Time,
    pub(crate) out_from: Time,
    /// Time of its command and its data in on the channel.
    pub(crate) lead_ns: u64,
    /// Time in the array, without interruptions.
    pub(crate) array: Span,
    /// Time of its data out on the channel.
    pub(crate) out_ns: u64,
    /// Whether the array is done and the page register is not free.
    pub(crate) held: bool,
    pub(crate) suspensions: u64,
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
        gc: false,
        began: Time::ZERO,
        lead_from: Time::MAX,
        array_end: Time::MAX,
        out_from: Time::MAX,
        lead_ns: 0,
        array: Span::ZERO,
        out_ns: 0,
        held: false,
        suspensions: 0,
        left: Span::ZERO,
        wakes: false,
    };

    /// Whether there is one.
    pub(crate) const fn is_some(&self) -> bool {
        self.leader.is_some()
    }
}
