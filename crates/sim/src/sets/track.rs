//! The latency account of a set.

use crate::handle::SetId;
use crate::metrics::parts::{PARTS, Part, Parts};
use flashyard_core::graph::EdgeKind;
use flashyard_core::units::{Span, Time};

/// An account, seen from outside the set: waiting for a slot; for its die while that reads,
/// programs, erases, collects garbage; for the channel, or with its die for power; for firmware;
/// commands of its own request; of others.
pub(crate) const ACCOUNTS: usize = 9;
pub(crate) const SLOT: usize = 0;
pub(crate) const DIE: usize = 1;
pub(crate) const BUS: usize = 5;
pub(crate) const FIRMWARE: usize = 6;
pub(crate) const OWN: usize = 7;
pub(crate) const OTHER: usize = 8;

/// The parts that the first accounts are charged to.
pub(crate) const PART_OF: [Part; 7] = [
    Part::Slot,
    Part::DieRead,
    Part::DieProgram,
    Part::DieErase,
    Part::DieGc,
    Part::Bus,
    Part::Firmware,
];

/// What a die is doing besides operations of requests: the places of its running totals.
pub(crate) const DIE_GC: usize = 3;
pub(crate) const DIE_POWER: usize = BUS - DIE;

/// How many running totals a die has.
pub(crate) const DIE_ACCOUNTS: usize = DIE_POWER + 1;

/// The account of a set.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Track {
    /// When the current segment began.
    pub(crate) since: Time,
    /// The row of which it is a member, and the member behind it, or behind it as the head of one.
    pub(super) row: Option<u32>,
    pub(super) behind: Option<SetId>,
    /// What earlier segments spent.
    pub(crate) spent: [u64; ACCOUNTS],
    /// The die's or the other set's account when the current segment began.
    pub(crate) base: [u64; ACCOUNTS],
    /// The set that is waited for, and why; behind how many others that waited, at most.
    pub(crate) source: Option<SetId>,
    pub(crate) reason: EdgeKind,
    pub(crate) steps: u8,
    /// Time of its own commands, and that on the channel not yet charged.
    pub(crate) own: Span,
    pub(crate) channel_ns: u64,
    /// What the latency is made of so far.
    pub(crate) parts: Parts,
}

impl Track {
    pub(crate) const NEW: Self = Self {
        since: Time::ZERO,
        row: None,
        behind: None,
        spent: [0; ACCOUNTS],
        base: [0; ACCOUNTS],
        source: None,
        reason: EdgeKind::Order,
        steps: 0,
        own: Span::ZERO,
        channel_ns: 0,
        parts: Parts([0; PARTS]),
    };

    /// A new set begins to spend time. What it waits for is not known before it does.
    #[inline]
    pub(super) fn begin(&mut self, now: Time) {
        self.since = now;
        self.spent = [0; ACCOUNTS];
        (self.own, self.channel_ns) = (Span::ZERO, 0);
        self.parts = Parts([0; PARTS]);
    }
}
