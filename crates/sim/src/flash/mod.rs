//! Dies and channels: what their arrays and page registers do, who has the channel, and when each
//! is due.

pub(crate) mod channel;
pub(crate) mod operation;
pub(crate) mod power;

use crate::config::Settings;
use crate::sets::track::DIE_ACCOUNTS;
use channel::Channel;
use flashyard_core::events::{EventTree, Match};
use flashyard_core::units::{ChannelId, DieId, Time};
pub(crate) use operation::{Operation, Place};

/// A die: what it is doing, and since when.
#[derive(Debug)]
pub(crate) struct Die {
    pub(crate) channel: ChannelId,
    /// What the array does, what leaves from the page register, what is suspended.
    pub(crate) array: Operation,
    pub(crate) output: Operation,
    pub(crate) suspended: Operation,
    /// When the array and the register are due.
    pub(crate) array_due: Time,
    pub(crate) output_due: Time,
    /// Whether the array is on its way from the suspended operation.
    pub(crate) pausing: bool,
    /// What time is charged to, and since when.
    pub(crate) doing: Option<usize>,
    pub(crate) since: Time,
    /// Time spent reading, programming, erasing, collecting garbage, waiting for power.
    pub(crate) busy: [u64; DIE_ACCOUNTS],
}

impl Die {
    pub(crate) const fn new(channel: ChannelId) -> Self {
        Self {
            channel,
            array: Operation::NONE,
            output: Operation::NONE,
            suspended: Operation::NONE,
            array_due: Time::MAX,
            output_due: Time::MAX,
            pausing: false,
            doing: None,
            since: Time::ZERO,
            busy: [0; DIE_ACCOUNTS],
        }
    }

    /// Whether it does nothing.
    pub(crate) const fn rests(&self) -> bool {
        !self.array.is_some() && !self.output.is_some() && !self.pausing
    }
}

/// When each die is due, its array or its page register, and behind them each channel.
type Events = EventTree<Vec<Match>>;

/// The dies and channels of a device.
#[derive(Debug)]
pub(crate) struct Flash {
    pub(crate) dies: Vec<Die>,
    pub(crate) channels: Vec<Channel>,
    /// Channels that choose at the end of this instant.
    pub(crate) choosing: Vec<ChannelId>,
    /// The next completion of each busy die.
    pub(crate) events: Events,
    /// How much power arrays may take, where it is limited.
    pub(crate) budget: Option<Box<power::PowerBudget>>,
    /// Operations with a random time so far.
    pub(crate) operations: u64,
    /// Whether programs or erases may be suspended.
    pub(crate) suspends: bool,
    /// Whether one operation may serve several commands.
    pub(crate) gathers: bool,
    /// Time that each channel has been reserved for.
    pub(crate) carried_ns: Vec<u64>,
}

impl Flash {
    /// The idle dies and channels of a device.
    pub(crate) fn new(settings: &Settings) -> Self {
        let (geometry, nand) = (&settings.geometry, &settings.keys.nand);
        let (dies, channels) = (geometry.dies() as usize, geometry.channels as usize);
        let die = |die| Die::new(geometry.channel_of(DieId::new(die)));
        Self {
            dies: (0..geometry.dies()).map(die).collect(),
            channels: Channel::all(geometry),
            choosing: Vec::with_capacity(channels),
            events: EventTree::new(vec![[Time::MAX; 2]; Events::matches(dies + channels)]),
            budget: power::PowerBudget::new(settings),
            operations: 0,
            suspends: nand.program_suspends > 0 || nand.erase_suspends > 0,
            gathers: geometry.program_units() > 1 || geometry.planes > 1,
            carried_ns: vec![0; channels],
        }
    }

    /// The lowest die that is due now.
    #[inline]
    pub(crate) fn due_die(&self, now: Time) -> Option<DieId> {
        if self.events.next_due() != now {
            return None;
        }
        let number = self.events.first().1;
        ((number as usize) < self.dies.len()).then(|| DieId::new(number))
    }

    /// The lowest channel that is due now, where no die is; it is not due any more.
    #[inline]
    pub(crate) fn due_channel(&mut self, now: Time) -> Option<ChannelId> {
        if self.events.next_due() != now {
            return None;
        }
        let number = self.events.first().1;
        let channel = (number as usize).checked_sub(self.dies.len())?;
        self.events.set(number, Time::MAX);
        Some(ChannelId::from_index(channel))
    }
}
