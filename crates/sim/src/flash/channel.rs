//! Channels: each carries one phase of one operation at a time.
//!
//! A phase that finds its channel free takes it at once; the others wait, and the channel has an
//! event of its own only while some do and it carries no data out. Commands and addresses, which
//! are short, go before data (`channel.arbitration`), so that no array idles behind the data of all
//! the others; equals are served in the order of need.

#![expect(
    clippy::inline_always,
    reason = "a step of each command; a call costs as much as it does"
)]

use super::Flash;
use crate::sets::Place;

use flashyard_core::geometry::Geometry;
use flashyard_core::units::{ChannelId, DieId, Span, Time};
use std::collections::VecDeque;

/// A channel and the phases that wait for it, by die: of the array the one before it, of the page
/// register the one behind it.
#[derive(Clone, Debug)]
pub(crate) struct Channel {
    /// When it has carried what it carries.
    free: Time,
    /// Whether that is data from a page register.
    carries_output: bool,
    commands: VecDeque<DieId>,
    data: VecDeque<(DieId, Place)>,
    /// Time that it has been reserved for.
    carried_ns: u64,
}

/// A transfer on a channel, for whoever checks transfers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Transfer {
    /// The channel, the die, and the place of the operation there.
    pub(crate) channel: ChannelId,
    pub(crate) die: DieId,
    pub(crate) place: Place,
    /// When the transfer begins and ends.
    pub(crate) from: Time,
    pub(crate) until: Time,
}

impl Channel {
    /// The channels of a device; each die waits with two phases at most.
    pub(super) fn all(geometry: &Geometry) -> Vec<Self> {
        let dies = (geometry.dies() / geometry.channels) as usize;
        let channel = |_| Self {
            free: Time::ZERO,
            carries_output: false,
            commands: VecDeque::with_capacity(dies),
            data: VecDeque::with_capacity(2 * dies),
            carried_ns: 0,
        };
        (0..geometry.channels).map(channel).collect()
    }

    fn has_waiters(&self) -> bool {
        !self.commands.is_empty() || !self.data.is_empty()
    }

    /// It carries a bus request.
    pub(super) fn carries(&mut self, from: Time, until: Time) {
        self.free = until;
        self.carried_ns += until.since(from).as_ns();
    }

    /// Nanoseconds that it has carried data and commands for until now.
    pub(super) const fn carried_ns(&self, now: Time) -> u64 {
        // A transfer is counted as it begins.
        self.carried_ns.saturating_sub(self.free.as_ns().saturating_sub(now.as_ns()))
    }
}

impl Flash {
    /// The operation at a place of a die needs the channel; `data` is whether that is to move data.
    #[inline(always)]
    pub(super) fn want_channel(&mut self, die: DieId, data: bool, place: Place, now: Time) {
        let unit = &self.dies[die.index()];
        let needs = match place {
            Place::Output => &unit.output,
            Place::Array | Place::Suspended => &unit.array,
        };
        let needs = needs.needs_ns(place) > 0;
        let index = unit.channel.index();
        let channel = &mut self.channels[index];
        let first = !channel.has_waiters();
        if !needs || self.unshared || (channel.free <= now && first) {
            return self.grant(die, place, now);
        }
        if data || self.in_order {
            channel.data.push_back((die, place));
        } else {
            channel.commands.push_back(die);
        }
        if first {
            self.await_channel(index);
        }
    }

    /// Where phases wait for a channel, it chooses when it has carried what it carries. The end of
    /// data from a page register is an event of that die anyway.
    #[inline(always)]
    fn await_channel(&mut self, index: usize) {
        let channel = &self.channels[index];
        let chooses = channel.has_waiters() && !channel.carries_output;
        let at = if chooses { channel.free } else { Time::MAX };
        self.channel_events.set(ChannelId::from_index(index).get(), at);
    }

    /// The data of a die have left its page register: its channel chooses at the end of the
    /// instant.
    #[inline]
    pub(super) fn output_left(&mut self, die: DieId, now: Time) {
        let channel = self.dies[die.index()].channel;
        let state = &self.channels[channel.index()];
        // Bus requests wait elsewhere: nothing waits here then.
        if state.free <= now && state.has_waiters() {
            self.choosing.push(channel);
        }
    }

    /// Channels that have become free choose among all that this instant brought.
    #[inline]
    pub(crate) fn channels_choose(&mut self, now: Time) {
        while self.channel_events.next_due() == now {
            let number = self.channel_events.first().1;
            self.choose(ChannelId::new(number), now);
        }
        while let Some(channel) = self.choosing.pop() {
            self.choose(channel, now);
        }
    }

    /// A channel is free and a phase waits for it. Behind a command that no other one follows the
    /// next phase is chosen with it.
    fn choose(&mut self, channel: ChannelId, now: Time) {
        if self.bus.is_some() {
            self.channel_events.set(channel.get(), Time::MAX);
            return self.carry_requests(channel, now);
        }
        let index = channel.index();
        let mut at = now;
        loop {
            let state = &mut self.channels[index];
            let command = state.commands.pop_front().map(|die| (die, Place::Array));
            let brief = command.is_some() || self.in_order;
            let next = command.or_else(|| state.data.pop_front());
            let (die, place) = next.expect("a channel that chooses has waiters");
            let follows = state.commands.is_empty() && !state.data.is_empty();
            self.grant(die, place, at);
            if !brief || !follows || place == Place::Output {
                break;
            }
            at = self.channels[index].free;
        }
        self.await_channel(index);
    }

    /// A phase begins at an instant.
    #[inline(always)]
    fn grant(&mut self, die: DieId, place: Place, at: Time) {
        let unit = &mut self.dies[die.index()];
        let channel = &mut self.channels[unit.channel.index()];
        let (due, ns) = match place {
            Place::Output => (unit.output.leaves(at), unit.output.needs_ns(place)),
            Place::Array | Place::Suspended => (unit.array.leads(at), unit.array.needs_ns(place)),
        };
        let takes = ns > 0 && !self.unshared;
        if takes {
            channel.free = at + Span::from_ns(ns);
            channel.carries_output = place == Place::Output;
            channel.carried_ns += ns;
        }
        let may_wait = self.suspends && place == Place::Array && !unit.array.reads();
        self.die_events.set(die, place, due);
        if takes && may_wait {
            self.granted.push_back(die);
        }
        if takes && self.notes_transfers {
            self.note_transfer(die, place, at);
        }
    }

    /// The transfer of a phase has begun, which is checked.
    #[cold]
    fn note_transfer(&mut self, die: DieId, place: Place, from: Time) {
        let channel = self.dies[die.index()].channel;
        let until = self.channels[channel.index()].free;
        self.transfers.push_back(Transfer { channel, die, place, from, until });
    }
}
