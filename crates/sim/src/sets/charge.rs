//! What the time of a set is charged to: the account that others see, and the part of the latency.
//! The parts and their words are in `metrics/parts`.

use super::Mode;
use super::operation::Collects;
use super::track::{
    ACCOUNTS, BUS, DIE, DIE_ACCOUNTS, DIE_GC, FIRMWARE, OTHER, OWN, PART_OF, SLOT, Track,
};
use crate::metrics::parts::Part;
use flashyard_core::graph::EdgeKind;
use flashyard_core::units::{Span, Time};

/// The account and the part of a mode whose time needs no look at a die or at another set. Time in
/// which a set of the device's own waits for a gate is in no part, since no request has it.
const fn charged(mode: Mode) -> Option<(usize, Option<Part>)> {
    match mode {
        Mode::Slotless => Some((SLOT, Some(Part::Slot))),
        Mode::Firmware => Some((FIRMWARE, Some(Part::Firmware))),
        Mode::Collecting => Some((DIE + DIE_GC, None)),
        Mode::Lineless => Some((OWN, Some(Part::Flush))),
        Mode::Buffered => Some((OWN, Some(Part::Buffer))),
        Mode::Linking => Some((OWN, Some(Part::Link))),
        Mode::Queued | Mode::Suspended | Mode::Running | Mode::Waiting => None,
    }
}

/// What a command on its die has spent its time on, in nanoseconds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ran {
    /// All of it.
    pub(crate) all: u64,
    /// It waited for the channel.
    pub(crate) bus: u64,
    /// The array was done, and the controller did not know.
    pub(crate) unknown: u64,
    /// The array sensed again.
    pub(crate) retry: u64,
    /// Whose work it is, where it is not a request's.
    pub(crate) collects: Collects,
}

/// Why a die does nothing though commands wait for it, on a device where that happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Idle {
    /// It obeys the order of the channel.
    Ordered,
    /// The firmware stalls, and no die begins a program.
    Stalled,
}

impl Idle {
    /// What that time is charged to.
    const fn account(self) -> usize {
        match self {
            Self::Ordered => BUS,
            Self::Stalled => FIRMWARE,
        }
    }
}

/// What time is charged to.
impl Track {
    /// Charges a segment of a mode that needs no look at anything else, if it is one.
    #[inline]
    pub(crate) fn charge_mode(&mut self, mode: Mode, ns: u64) {
        if let Some((account, part)) = charged(mode) {
            self.spent[account] += ns;
            if let Some(part) = part {
                self.parts.add(part, ns);
            }
        }
    }

    /// The die takes the command that waited for it; its running totals are `busy` now.
    #[expect(clippy::inline_always, reason = "a step of each command; a call costs as much")]
    #[inline(always)]
    pub(crate) fn taken(&mut self, busy: [u64; DIE_ACCOUNTS], now: Time) {
        self.charge_queued(busy, now.since(self.since).as_ns(), None);
        self.since = now;
    }

    /// A command waited in the queue of its die for `elapsed`, whose running totals are `busy` now.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "a step of each command; a call costs as much")]
    pub(crate) fn charge_queued(
        &mut self,
        busy: [u64; DIE_ACCOUNTS],
        elapsed: u64,
        idle: Option<Idle>,
    ) {
        let mut sum = 0;
        for (account, busy) in busy.into_iter().enumerate() {
            let ns = busy - self.base[DIE + account];
            self.spent[DIE + account] += ns;
            self.parts.add(PART_OF[DIE + account], ns);
            sum += ns;
        }
        let rest = elapsed - sum;
        if rest > 0 {
            let account = idle.expect("an account lost time").account();
            self.spent[account] += rest;
            self.parts.add(PART_OF[account], rest);
        }
    }

    /// A command was on its die; `is_own` is whether it does what the request itself asks for.
    #[inline]
    pub(crate) fn charge_running(&mut self, ran: &Ran, is_own: bool) {
        let Ran { all, bus, unknown, retry, collects } = *ran;
        self.own += Span::from_ns(all);
        if let Some(place) = collects.place() {
            self.spent[DIE + place] += all;
            return self.parts.add(PART_OF[DIE + place], all);
        }
        let own = all - bus;
        self.spent[BUS] += bus;
        self.spent[OWN] += own;
        self.parts.add(Part::Bus, bus);
        if !is_own {
            return self.parts.add(Part::OwnMap, own);
        }
        // A running segment is closed when its command is over or suspended: what it owes the
        // channel before the array has passed, and what it owes behind it comes in the last.
        let transfer = std::mem::take(&mut self.channel_ns).min(own);
        self.parts.add(Part::Transfer, transfer);
        self.parts.add(Part::Array, own - transfer);
        if unknown + retry > 0 {
            self.parts.take(Part::Array, unknown + retry);
            self.parts.add(Part::Status, unknown);
            self.parts.add(Part::Retry, retry);
        }
    }

    /// A command waited for another set, and so spent what that one did.
    pub(crate) fn charge_waiting(&mut self, spent: &[u64; ACCOUNTS], elapsed: u64) {
        assert_eq!(spent.iter().sum::<u64>(), elapsed, "an account lost time");
        for (sum, ns) in self.spent.iter_mut().zip(spent) {
            *sum += ns;
        }
        if self.reason == EdgeKind::Flush {
            return self.parts.add(Part::Flush, elapsed);
        }
        for (part, &ns) in PART_OF.iter().zip(spent) {
            self.parts.add(*part, ns);
        }
        self.parts.add(Part::Delaying, spent[OTHER]);
        self.parts.add(Part::OwnMap, spent[OWN]);
    }

    /// What a segment of a mode has spent so far that needs no look at anything else.
    pub(crate) fn spent_in(mode: Mode, ns: u64) -> [u64; ACCOUNTS] {
        let mut spent = [0; ACCOUNTS];
        if let Some((account, _)) = charged(mode) {
            spent[account] = ns;
        }
        spent
    }

    /// What a command in the queue of its die has spent so far, as [`Self::charge_queued`] charges.
    pub(crate) fn spent_queued(
        &self,
        busy: [u64; DIE_ACCOUNTS],
        elapsed: u64,
        idle: Option<Idle>,
    ) -> [u64; ACCOUNTS] {
        let mut spent = [0; ACCOUNTS];
        for (place, now) in busy.into_iter().enumerate() {
            spent[DIE + place] = now - self.base[DIE + place];
        }
        if let Some(idle) = idle {
            spent[idle.account()] += elapsed - spent.iter().sum::<u64>();
        }
        spent
    }

    /// What a command on its die has spent so far, as [`Self::charge_running`] charges.
    pub(crate) fn spent_running(ran: &Ran) -> [u64; ACCOUNTS] {
        let mut spent = [0; ACCOUNTS];
        if let Some(place) = ran.collects.place() {
            spent[DIE + place] = ran.all;
        } else {
            spent[BUS] = ran.bus;
            spent[OWN] = ran.all - ran.bus;
        }
        spent
    }
}
