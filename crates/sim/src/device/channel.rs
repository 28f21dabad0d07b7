//! Channels: each carries one phase of one operation at a time.
//!
//! A phase that finds its channel free takes it at once; the others wait, and the channel has an
//! event only while some do. Commands and addresses, which are short, go before data
//! (`channel.arbitration`), so that no array idles behind the data of all the others; equals are
//! served in the order of need.

use super::Device;
use super::state::Place;
use crate::config::ChannelArbitration;
use flashyard_core::units::{ChannelId, DieId, Span, Time};
use std::collections::VecDeque;

/// A channel and the phases that wait for it, by die: of the array the one before it, of the page
/// register the one behind it.
#[derive(Debug)]
pub(super) struct Channel {
    /// When it has carried what it carries.
    pub(super) free: Time,
    commands: VecDeque<DieId>,
    data: VecDeque<(DieId, Place)>,
}

impl Channel {
    /// Dies wait with two phases at most.
    pub(super) fn new(dies: usize) -> Self {
        let data = VecDeque::with_capacity(2 * dies);
        Self { free: Time::ZERO, commands: VecDeque::with_capacity(dies), data }
    }

    fn has_waiters(&self) -> bool {
        !self.commands.is_empty() || !self.data.is_empty()
    }
}

impl Device {
    /// The operation in the array or the page register of a die needs the channel; `data` is
    /// whether it moves data.
    pub(super) fn want_channel(&mut self, die: DieId, data: bool, place: Place) {
        let unit = &self.dies[die.index()];
        let needs = match place {
            Place::Output => unit.output.out_ns > 0,
            Place::Array | Place::Suspended => unit.array.lead_ns > 0,
        };
        let index = unit.channel.index();
        let channel = &mut self.channels[index];
        let first = !channel.has_waiters();
        if !needs || (channel.free <= self.now && first) {
            return self.grant(die, place);
        }
        let in_order = self.settings.keys.channel.arbitration == ChannelArbitration::InOrder;
        if data || in_order {
            channel.data.push_back((die, place));
        } else {
            channel.commands.push_back(die);
        }
        if first {
            let free = channel.free;
            self.events.set(self.channel_number(index), free);
        }
    }

    /// A channel is free and somebody waits for it.
    pub(super) fn channel_event(&mut self, channel: ChannelId) {
        let index = channel.index();
        let state = &mut self.channels[index];
        let command = state.commands.pop_front().map(|die| (die, Place::Array));
        let next = command.or_else(|| state.data.pop_front());
        let (die, place) = next.expect("a channel with an event has waiters");
        self.grant(die, place);
        let state = &self.channels[index];
        let next = if state.has_waiters() { state.free } else { Time::MAX };
        self.events.set(self.channel_number(index), next);
    }

    /// The place of a channel among those who are due.
    fn channel_number(&self, index: usize) -> u32 {
        ChannelId::from_index(self.dies.len() + index).get()
    }

    /// A phase begins now.
    fn grant(&mut self, die: DieId, place: Place) {
        let now = self.now;
        let unit = &mut self.dies[die.index()];
        let (ns, due) = match place {
            Place::Output => {
                unit.output.out_from = now;
                let ns = unit.output.out_ns;
                (ns, now + Span::from_ns(ns))
            }
            Place::Array | Place::Suspended => {
                let operation = &mut unit.array;
                operation.lead_from = now;
                operation.array_end = now + Span::from_ns(operation.lead_ns) + operation.array;
                (operation.lead_ns, operation.array_end)
            }
        };
        if ns > 0 {
            let channel = unit.channel;
            let end = now + Span::from_ns(ns);
            self.channels[channel.index()].free = end;
            self.carried_ns[channel.index()] += ns;
            if let Some(checker) = &mut self.checker {
                checker.transferred(channel, now, end);
            }
        }
        self.post(die, place, due);
    }
}
