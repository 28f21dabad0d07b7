//! The zones of a device: their states, their write pointers, and what the limits of open and
//! active zones allow. It knows nothing of flash or time.
//!
//! Source: NVM Express, Zoned Namespace Command Set Specification 1.1: states in section 2.1.1,
//! errors in section 4. Where that leaves a choice: of zones that were opened implicitly the one
//! that has been open for the longest time is closed for another one.

use crate::saved::saved;
use crate::zones::{ZoneError, ZoneState, ZoneView};
use flashyard_core::request::ZoneAction;

/// A zone.
#[derive(Clone, Copy, Debug, Default)]
struct Zone {
    /// Its state, by its place in [`ZoneState::ALL`]: a zone of zeroes is empty.
    state: u8,
    /// Whether the host has finished it.
    finished: bool,
    /// Units written, from its first one on.
    written: u32,
}

saved!(Zone { state, finished, written });

/// How many zones may be open and active; [`u32::MAX`] is no limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Limits {
    /// Zones that are open at once.
    pub(super) open: u32,
    /// Zones that are open or closed at once.
    pub(super) active: u32,
}

/// All zones of a device.
#[derive(Clone, Debug)]
pub(super) struct Zones {
    list: Vec<Zone>,
    /// Units that can be written of each zone.
    capacity: u32,
    limits: Limits,
    /// Open zones, the one that has been open for the longest time first.
    open: Vec<u32>,
    /// How many zones are open or closed.
    active: u32,
    /// How many zones were closed to open others, and nobody has asked for it.
    evicted: u64,
}

saved!(Zones { active } lists { list, open } skip { capacity, limits, evicted });

impl Zones {
    /// Empty zones of so many units.
    pub(super) fn new(count: u32, capacity: u32, limits: Limits) -> Self {
        Self {
            list: vec![Zone::default(); count as usize],
            capacity,
            limits,
            open: Vec::new(),
            active: 0,
            evicted: 0,
        }
    }

    /// A zone.
    pub(super) fn view(&self, zone: u32) -> ZoneView {
        let Zone { written, finished, .. } = self.list[zone as usize];
        ZoneView { state: self.state(zone), written, finished }
    }

    /// How many zones are open, and how many are open or closed.
    pub(super) fn in_use(&self) -> (u32, u32) {
        (u32::try_from(self.open.len()).expect("of the zones"), self.active)
    }

    /// How many zones the device has closed to open others since it was last asked.
    pub(super) const fn take_evicted(&mut self) -> u64 {
        std::mem::replace(&mut self.evicted, 0)
    }

    /// Writes units of a zone from `first` on, counted inside the zone.
    pub(super) fn write(&mut self, zone: u32, first: u32, units: u32) -> Result<(), ZoneError> {
        self.writable(zone, first, units)?;
        if first != self.list[zone as usize].written {
            return Err(ZoneError::InvalidWrite);
        }
        self.advance(zone, units)
    }

    /// Writes units at the write pointer. Returns where that was, counted inside the zone.
    pub(super) fn append(&mut self, zone: u32, units: u32) -> Result<u32, ZoneError> {
        let first = self.list[zone as usize].written;
        self.write(zone, first, units)?;
        Ok(first)
    }

    /// Whether the state of a zone lets units be read.
    pub(super) fn read(&self, zone: u32) -> Result<(), ZoneError> {
        if self.state(zone) == ZoneState::Offline { Err(ZoneError::Offline) } else { Ok(()) }
    }

    /// Does something to a zone as a whole. What is so already is no error.
    pub(super) fn act(&mut self, zone: u32, action: ZoneAction) -> Result<(), ZoneError> {
        let state = self.state(zone);
        if matches!(state, ZoneState::ReadOnly | ZoneState::Offline) {
            return Err(ZoneError::InvalidTransition);
        }
        match action {
            ZoneAction::Reset => {
                self.enter(zone, ZoneState::Empty);
                self.list[zone as usize] = Zone::default();
            }
            ZoneAction::Finish if state == ZoneState::Full => {}
            ZoneAction::Finish => {
                self.enter(zone, ZoneState::Full);
                self.list[zone as usize].finished = true;
            }
            ZoneAction::Open if state == ZoneState::ExplicitlyOpen => {}
            ZoneAction::Open if state == ZoneState::Full => {
                return Err(ZoneError::InvalidTransition);
            }
            ZoneAction::Open => {
                self.make_room(zone)?;
                self.enter(zone, ZoneState::ExplicitlyOpen);
            }
            ZoneAction::Close if !state.is_active() => return Err(ZoneError::InvalidTransition),
            ZoneAction::Close => self.enter(zone, ZoneState::Closed),
        }
        Ok(())
    }

    /// A zone has failed: it can be read, or not even that.
    pub(super) fn fail(&mut self, zone: u32, readable: bool) {
        self.enter(zone, if readable { ZoneState::ReadOnly } else { ZoneState::Offline });
    }

    /// The first zones are full, as a host leaves them that has written all of them; a zone behind
    /// these has `rest` units and is closed. For a device that nothing else was done to.
    pub(super) fn fill(&mut self, full: u32, rest: u32) {
        for zone in 0..full {
            self.list[zone as usize].written = self.capacity;
            self.enter(zone, ZoneState::Full);
        }
        if rest > 0 {
            self.list[full as usize].written = rest;
            self.enter(full, ZoneState::Closed);
        }
    }

    fn state(&self, zone: u32) -> ZoneState {
        ZoneState::ALL[usize::from(self.list[zone as usize].state)]
    }

    /// Whether units may be written to a zone at all.
    fn writable(&self, zone: u32, first: u32, units: u32) -> Result<(), ZoneError> {
        match self.state(zone) {
            ZoneState::Offline => Err(ZoneError::Offline),
            ZoneState::ReadOnly => Err(ZoneError::ReadOnly),
            ZoneState::Full => Err(ZoneError::Full),
            _ if u64::from(first) + u64::from(units) > u64::from(self.capacity) => {
                Err(ZoneError::Boundary)
            }
            _ => Ok(()),
        }
    }

    /// Units are written at the write pointer of a zone, which opens it.
    fn advance(&mut self, zone: u32, units: u32) -> Result<(), ZoneError> {
        if !self.state(zone).is_open() {
            self.make_room(zone)?;
            self.enter(zone, ZoneState::ImplicitlyOpen);
        }
        let own = &mut self.list[zone as usize];
        own.written += units;
        if own.written == self.capacity {
            self.enter(zone, ZoneState::Full);
        }
        Ok(())
    }

    /// Makes sure that a zone may be open: another one may have to be closed.
    fn make_room(&mut self, zone: u32) -> Result<(), ZoneError> {
        let state = self.state(zone);
        if !state.is_active() && self.active >= self.limits.active {
            return Err(ZoneError::TooManyActive);
        }
        if !state.is_open() && self.in_use().0 >= self.limits.open {
            let implicit = |zone: &&u32| self.state(**zone) == ZoneState::ImplicitlyOpen;
            let oldest = self.open.iter().find(implicit).copied();
            self.enter(oldest.ok_or(ZoneError::TooManyOpen)?, ZoneState::Closed);
            self.evicted += 1;
        }
        Ok(())
    }

    /// A zone is in another state from now on.
    fn enter(&mut self, zone: u32, state: ZoneState) {
        let before = self.state(zone);
        self.list[zone as usize].state = state as u8;
        self.active = self.active + u32::from(state.is_active()) - u32::from(before.is_active());
        match (before.is_open(), state.is_open()) {
            (false, true) => self.open.push(zone),
            (true, false) => self.open.retain(|open| *open != zone),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests;
