//! The latency account of a set.

use crate::handle::SetId;
use crate::metrics::parts::{PARTS, Part, Parts};
use flashyard_core::graph::EdgeKind;
use flashyard_core::units::{Span, Time};

/// An account, seen from outside the set: waiting for a slot; for its die while that reads,
/// programs, erases, collects garbage, folds; for the channel, or with its die for power; for
/// firmware; commands of its own request; of others.
pub(crate) const ACCOUNTS: usize = 10;
pub(super) const SLOT: usize = 0;
pub(super) const DIE: usize = 1;
pub(super) const BUS: usize = 6;
pub(super) const FIRMWARE: usize = 7;
pub(crate) const OWN: usize = 8;
pub(crate) const OTHER: usize = 9;

/// The parts that the first accounts are charged to.
pub(super) const PART_OF: [Part; 8] = [
    Part::Slot,
    Part::DieRead,
    Part::DieProgram,
    Part::DieErase,
    Part::DieGc,
    Part::DieFold,
    Part::Bus,
    Part::Firmware,
];

/// What a die is doing besides operations of requests: the places of its running totals.
pub(crate) const DIE_GC: usize = 3;
pub(crate) const DIE_FOLD: usize = 4;
pub(crate) const DIE_POWER: usize = BUS - DIE;

/// How many running totals a die has.
pub(crate) const DIE_ACCOUNTS: usize = DIE_POWER + 1;

/// The account of a set.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Track {
    /// When the current segment began.
    pub(super) since: Time,
    /// The row of which it is a member, and the member behind it, or behind it as the head of one.
    pub(super) row: Option<u32>,
    pub(super) behind: Option<SetId>,
    /// What earlier segments spent.
    pub(super) spent: [u64; ACCOUNTS],
    /// The die's or the other set's account when the current segment began.
    pub(super) base: [u64; ACCOUNTS],
    /// The set that is waited for, and why; behind how many others that waited, at most.
    pub(super) source: Option<SetId>,
    pub(super) reason: EdgeKind,
    pub(super) steps: u8,
    /// Time of its own commands, and that on the channel not yet charged.
    pub(super) own: Span,
    pub(super) channel_ns: u64,
    /// What the latency is made of so far.
    pub(super) parts: Parts,
}

impl Track {
    pub(super) const NEW: Self = Self {
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

    /// It begins to wait for its die, whose running totals are known now. Returns where they go.
    #[inline]
    pub(crate) fn waits_for_die(&mut self) -> &mut [u64; DIE_ACCOUNTS] {
        self.base[DIE..].first_chunk_mut().expect("there are more accounts")
    }

    /// It begins to wait for another set, behind so many that wait themselves.
    #[inline]
    pub(crate) const fn waits_for(&mut self, source: SetId, reason: EdgeKind, steps: u8) {
        (self.source, self.reason, self.steps) = (Some(source), reason, steps);
    }

    /// The account of what it waits for when the wait begins.
    #[inline]
    pub(crate) const fn waits_from(&mut self, account: [u64; ACCOUNTS]) {
        self.base = account;
    }

    /// Its operation has been planned: it takes so long on the channel.
    #[inline]
    pub(crate) const fn takes_channel(&mut self, ns: u64) {
        self.channel_ns = ns;
    }

    /// What the latency is made of, to be charged with what had passed before the set was made.
    #[inline]
    pub(crate) const fn earlier(&mut self) -> &mut Parts {
        &mut self.parts
    }
}

/// What is known of it.
impl Track {
    /// When the current segment began.
    #[inline]
    pub(crate) const fn since(&self) -> Time {
        self.since
    }

    /// What earlier segments spent.
    #[inline]
    pub(crate) const fn spent(&self) -> &[u64; ACCOUNTS] {
        &self.spent
    }

    /// The die's or the other set's account when the current segment began.
    #[inline]
    pub(crate) const fn base(&self) -> &[u64; ACCOUNTS] {
        &self.base
    }

    /// The set that is waited for.
    #[inline]
    pub(crate) const fn source(&self) -> Option<SetId> {
        self.source
    }

    /// Why it is waited for.
    pub(crate) const fn reason(&self) -> EdgeKind {
        self.reason
    }

    /// Behind how many others that wait it waits, at most.
    pub(crate) const fn steps(&self) -> u8 {
        self.steps
    }

    /// Time of its own commands.
    #[inline]
    pub(crate) const fn own(&self) -> Span {
        self.own
    }

    /// What the latency is made of so far.
    #[inline]
    pub(crate) const fn parts(&self) -> &Parts {
        &self.parts
    }
}
