//! Channels: each carries one phase of one operation at a time.
//!
//! A phase that finds its channel free takes it at once; the others wait, and the channel has an
//! event of its own only while some do and it carries no data out. Commands and addresses, which
//! are short, go before data (`channel.arbitration`), so that no array idles behind the data of all
//! the others; equals are served in the order of need.

use super::Device;
use crate::config::ChannelArbitration;
use crate::flash::Place;
use flashyard_core::units::{ChannelId, DieId, Span, Time};

impl Device {
    /// The operation in the array or the page register of a die needs the channel; `data` is
    /// whether it moves data.
    pub(super) fn want_channel(&mut self, die: DieId, data: bool, place: Place) {
        let unit = &self.flash.dies[die.index()];
        let needs = match place {
            Place::Output => unit.output.out_ns > 0,
            Place::Array | Place::Suspended => unit.array.lead_ns > 0,
        };
        let index = unit.channel.index();
        let channel = &mut self.flash.channels[index];
        let first = !channel.has_waiters();
        if !needs || (channel.free <= self.now && first) {
            return self.grant(die, place, self.now);
        }
        let in_order = self.settings.keys.channel.arbitration == ChannelArbitration::InOrder;
        if data || in_order {
            channel.data.push_back((die, place));
        } else {
            channel.commands.push_back(die);
        }
        if first {
            self.await_channel(index);
        }
    }

    /// Somebody waits for a channel: it chooses when it has carried what it carries. The end of
    /// data from a page register is an event of that die anyway.
    fn await_channel(&mut self, index: usize) {
        let channel = &self.flash.channels[index];
        if !channel.carries_output {
            let free = channel.free;
            self.flash.events.set(self.channel_number(index), free);
        }
    }

    /// The data of a die have left its page register: its channel chooses at the end of the
    /// instant.
    pub(super) fn output_left(&mut self, die: DieId) {
        let channel = self.flash.dies[die.index()].channel;
        let state = &self.flash.channels[channel.index()];
        if state.free <= self.now && state.has_waiters() {
            self.flash.choosing.push(channel);
        }
    }

    /// Channels that have become free choose among all that this instant brought.
    pub(super) fn channels_choose(&mut self) {
        while let Some(channel) = self.flash.due_channel(self.now) {
            self.choose(channel);
        }
        while let Some(channel) = self.flash.choosing.pop() {
            self.choose(channel);
        }
    }

    /// A channel is free and somebody waits for it. Behind a command that no other one follows the
    /// next phase is chosen with it.
    fn choose(&mut self, channel: ChannelId) {
        let index = channel.index();
        let in_order = self.settings.keys.channel.arbitration == ChannelArbitration::InOrder;
        let mut at = self.now;
        loop {
            let state = &mut self.flash.channels[index];
            let command = state.commands.pop_front().map(|die| (die, Place::Array));
            let brief = command.is_some() || in_order;
            let next = command.or_else(|| state.data.pop_front());
            let (die, place) = next.expect("a channel that chooses has waiters");
            let follows = state.commands.is_empty() && !state.data.is_empty();
            self.grant(die, place, at);
            if !brief || !follows || place == Place::Output {
                break;
            }
            at = self.flash.channels[index].free;
        }
        if self.flash.channels[index].has_waiters() {
            self.await_channel(index);
        }
    }

    /// The place of a channel among those who are due.
    fn channel_number(&self, index: usize) -> u32 {
        ChannelId::from_index(self.flash.dies.len() + index).get()
    }

    /// A phase begins at an instant.
    fn grant(&mut self, die: DieId, place: Place, at: Time) {
        let unit = &mut self.flash.dies[die.index()];
        let (ns, due) = match place {
            Place::Output => {
                unit.output.out_from = at;
                let ns = unit.output.out_ns;
                (ns, at + Span::from_ns(ns))
            }
            Place::Array | Place::Suspended => {
                let operation = &mut unit.array;
                operation.lead_from = at;
                operation.array_end = at + Span::from_ns(operation.lead_ns) + operation.array;
                (operation.lead_ns, operation.array_end)
            }
        };
        if ns > 0 {
            let channel = unit.channel;
            let end = at + Span::from_ns(ns);
            let state = &mut self.flash.channels[channel.index()];
            state.free = end;
            state.carries_output = place == Place::Output;
            self.flash.carried_ns[channel.index()] += ns;
            if let Some(checker) = &mut self.account.checker {
                checker.transferred(channel, at, end);
            }
        }
        self.post(die, place, due);
        if self.flash.suspends && place == Place::Array && ns > 0 {
            self.suspend_for_read(die);
        }
    }
}
