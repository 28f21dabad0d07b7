//! A die: the operations in its array, in its page register and suspended, and its running totals.

use crate::sets::track::{DIE_ACCOUNTS, DIE_POWER};
use crate::sets::{Operation, Place};
use flashyard_core::units::{ChannelId, Time};

/// What a die does that does nothing, and no account of it.
const NOTHING: u8 = u8::MAX;

/// A die: what it is doing, and since when.
#[derive(Clone, Debug)]
pub(crate) struct Die {
    pub(super) channel: ChannelId,
    /// What the array does, what leaves from the page register, what is suspended.
    pub(super) array: Operation,
    pub(super) output: Operation,
    pub(super) suspended: Operation,
    /// Whether the array is on its way from the suspended operation.
    pub(super) pausing: bool,
    /// Whether it takes its next command while the last data leave its page register: the loop of
    /// the framework has sent the request for them.
    pub(super) leaving: bool,
    /// What time is charged to, and since when.
    doing: u8,
    since: Time,
    /// Time spent reading, programming, erasing, collecting garbage, folding, waiting for power.
    busy: [u64; DIE_ACCOUNTS],
}

impl Die {
    /// An idle die of a channel.
    pub(super) const fn new(channel: ChannelId) -> Self {
        Self {
            channel,
            array: Operation::NONE,
            output: Operation::NONE,
            suspended: Operation::NONE,
            pausing: false,
            leaving: false,
            doing: NOTHING,
            since: Time::ZERO,
            busy: [0; DIE_ACCOUNTS],
        }
    }

    /// Whether it does nothing.
    pub(super) const fn rests(&self) -> bool {
        !self.array.serves() && !self.output.serves() && !self.pausing
    }

    /// The operation at a place.
    #[inline]
    pub(super) const fn operation(&self, place: Place) -> &Operation {
        match place {
            Place::Array => &self.array,
            Place::Output => &self.output,
            Place::Suspended => &self.suspended,
        }
    }

    /// What the array has sensed goes to the page register.
    #[inline]
    pub(super) fn release(&mut self) {
        self.array.take_to(&mut self.output);
    }

    /// What it is doing may have changed: its running totals follow. `waits` is whether it waits
    /// for power.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "a step of each command; a call costs as much")]
    pub(super) fn relabel(&mut self, now: Time, waits: bool) {
        let operation = if self.array.serves() {
            &self.array
        } else if self.pausing {
            &self.suspended
        } else {
            &self.output
        };
        let doing = match operation.serves() {
            true => operation.does(),
            false if waits => DIE_POWER.to_le_bytes()[0],
            false => NOTHING,
        };
        if doing == self.doing {
            return;
        }
        if let Some(busy) = self.busy.get_mut(usize::from(self.doing)) {
            *busy += now.since(self.since).as_ns();
        }
        (self.doing, self.since) = (doing, now);
    }

    /// The running totals of what it does, as of now.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "a step of each command; a call costs as much")]
    pub(super) fn busy(&self, now: Time) -> [u64; DIE_ACCOUNTS] {
        let mut busy = [0; DIE_ACCOUNTS];
        self.note_busy(now, &mut busy);
        busy
    }

    /// Copies its running totals, as of now.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "a step of each command; a call costs as much")]
    pub(super) fn note_busy(&self, now: Time, busy: &mut [u64; DIE_ACCOUNTS]) {
        *busy = self.busy;
        if let Some(busy) = busy.get_mut(usize::from(self.doing)) {
            *busy += now.since(self.since).as_ns();
        }
    }
}
