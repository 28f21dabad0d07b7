//! Channels: each carries one phase of one operation at a time.
//!
//! A phase that finds its channel free takes it at once; the others wait, and the channel has an
//! event of its own only while some do and it carries no data out. Commands and addresses, which
//! are short, go before data (`channel.arbitration`), so that no array idles behind the data of all
//! the others; equals are served in the order of need.

use super::Place;
use flashyard_core::geometry::Geometry;
use flashyard_core::units::{DieId, Time};
use std::collections::VecDeque;

/// A channel and the phases that wait for it, by die: of the array the one before it, of the page
/// register the one behind it.
#[derive(Debug)]
pub(crate) struct Channel {
    /// When it has carried what it carries.
    pub(crate) free: Time,
    /// Whether that is data from a page register.
    pub(crate) carries_output: bool,
    pub(crate) commands: VecDeque<DieId>,
    pub(crate) data: VecDeque<(DieId, Place)>,
}

impl Channel {
    /// The channels of a device; each die waits with two phases at most.
    pub(crate) fn all(geometry: &Geometry) -> Vec<Self> {
        let dies = (geometry.dies() / geometry.channels) as usize;
        let channel = |_| Self {
            free: Time::ZERO,
            carries_output: false,
            commands: VecDeque::with_capacity(dies),
            data: VecDeque::with_capacity(2 * dies),
        };
        (0..geometry.channels).map(channel).collect()
    }

    pub(crate) fn has_waiters(&self) -> bool {
        !self.commands.is_empty() || !self.data.is_empty()
    }
}
