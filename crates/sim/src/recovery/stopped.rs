//! A device that has stopped, as its rooms were, and what a capacitor gives it.

use crate::buffer::Buffer;
use crate::config::Settings;
use crate::flash::Flash;
use crate::ftl::Ftl;
use crate::sets::Sets;
use flashyard_core::units::Time;

/// A device that has stopped.
pub(crate) struct Stopped<'a> {
    pub(crate) settings: &'a Settings,
    pub(crate) now: Time,
    /// From when on it was there: later than now where it was recovering.
    pub(crate) ready: Time,
    pub(crate) sets: &'a Sets,
    pub(crate) flash: &'a Flash,
    pub(crate) ftl: &'a Ftl,
    pub(crate) buffer: Option<&'a Buffer>,
}

/// What a capacitor gives.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Charge {
    pub(super) has: bool,
    /// What is left of it; none where that is as much as it takes.
    pub(super) left: Option<u128>,
    pub(super) needed: u128,
    pub(super) spent: u128,
}

impl Charge {
    /// Whether it pays for a piece of work.
    pub(super) fn pays(&mut self, pj: u128) -> bool {
        if !self.has {
            return false;
        }
        self.needed += pj;
        let pays = self.left.is_none_or(|left| left >= pj);
        // What is too dear is the last thing that is tried.
        self.left = self.left.map(|left| if pays { left - pj } else { 0 });
        self.spent += if pays { pj } else { 0 };
        pays
    }
}
