//! The zones of a device: their states, their write pointers, and what the limits of open and
//! active zones allow. It knows nothing of flash or time.
//!
//! Source: NVM Express, Zoned Namespace Command Set Specification 1.1: states in section 2.1.1,
//! errors in section 4. Where that leaves a choice: of zones that were opened implicitly the one
//! that has been open for the longest time is closed for another one.

use crate::saved::saved;
use flashyard_core::choice;
use flashyard_core::request::ZoneAction;

choice! {
    /// The state of a zone.
    pub enum ZoneState {
        /// Nothing is written.
        Empty = "empty",
        /// A write or an append has opened it.
        ImplicitlyOpen = "implicitly_open",
        /// The host has opened it.
        ExplicitlyOpen = "explicitly_open",
        /// Written in part, or opened before, and not open.
        Closed = "closed",
        /// Nothing more can be written.
        Full = "full",
        /// It can be read and nothing else.
        ReadOnly = "read_only",
        /// Its contents are lost.
        Offline = "offline",
    }
}

impl ZoneState {
    /// Whether it takes one of the open resources.
    pub const fn is_open(self) -> bool {
        matches!(self, Self::ImplicitlyOpen | Self::ExplicitlyOpen)
    }

    /// Whether it takes one of the active resources.
    pub const fn is_active(self) -> bool {
        self.is_open() || matches!(self, Self::Closed)
    }
}

choice! {
    /// Why a request to a device with zones had no effect: the status of its completion.
    pub enum ZoneError {
        /// It reaches past the writable part of its zone (status B8h).
        Boundary = "zone_boundary_error",
        /// A write into a full zone (B9h).
        Full = "zone_is_full",
        /// A write into a zone that can only be read (BAh).
        ReadOnly = "zone_is_read_only",
        /// A read or write of a zone whose contents are lost (BBh).
        Offline = "zone_is_offline",
        /// A write elsewhere than at the write pointer (BCh).
        InvalidWrite = "zone_invalid_write",
        /// No zone more may be active (BDh).
        TooManyActive = "too_many_active_zones",
        /// No zone more may be open (BEh).
        TooManyOpen = "too_many_open_zones",
        /// The state of the zone does not allow the action (BFh).
        InvalidTransition = "invalid_zone_state_transition",
        /// It is not of whole logical blocks, or does not begin where a zone does (02h).
        InvalidField = "invalid_field",
    }
}

impl ZoneError {
    /// How many there are.
    pub const COUNT: usize = Self::WORDS.len();
}

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

/// What a zone is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ZoneView {
    /// Its state.
    pub state: ZoneState,
    /// Units written, from its first one on: the write pointer. Of a full zone all that the host
    /// has written.
    pub written: u32,
    /// Whether the host has finished it.
    pub finished: bool,
}

/// How many zones may be open and active; [`u32::MAX`] is no limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Zones that are open at once.
    pub open: u32,
    /// Zones that are open or closed at once.
    pub active: u32,
}

/// All zones of a device.
#[derive(Clone, Debug)]
pub struct Zones {
    zones: Vec<Zone>,
    /// Units that can be written of each zone.
    capacity: u32,
    limits: Limits,
    /// Open zones, the one that has been open for the longest time first.
    open: Vec<u32>,
    /// How many zones are open or closed.
    active: u32,
    /// How many zones were closed to open another one.
    evicted: u64,
}

saved!(Zones { open, active, evicted } lists { zones } skip { capacity, limits });

impl Zones {
    /// Empty zones of so many units.
    pub fn new(count: u32, capacity: u32, limits: Limits) -> Self {
        Self {
            zones: vec![Zone::default(); count as usize],
            capacity,
            limits,
            open: Vec::new(),
            active: 0,
            evicted: 0,
        }
    }

    /// How many zones there are.
    pub fn count(&self) -> u32 {
        u32::try_from(self.zones.len()).expect("they were counted")
    }

    /// A zone.
    pub fn view(&self, zone: u32) -> ZoneView {
        let Zone { written, finished, .. } = self.zones[zone as usize];
        ZoneView { state: self.state(zone), written, finished }
    }

    /// How many zones are open, and how many are open or closed.
    pub fn in_use(&self) -> (u32, u32) {
        (u32::try_from(self.open.len()).expect("of the zones"), self.active)
    }

    /// How many zones the device has closed to open another one.
    pub const fn evicted(&self) -> u64 {
        self.evicted
    }

    /// Writes units of a zone from `first` on, counted inside the zone.
    pub fn write(&mut self, zone: u32, first: u32, units: u32) -> Result<(), ZoneError> {
        self.writable(zone, first, units)?;
        if first != self.zones[zone as usize].written {
            return Err(ZoneError::InvalidWrite);
        }
        self.advance(zone, units)
    }

    /// Writes units at the write pointer. Returns where that was, counted inside the zone.
    pub fn append(&mut self, zone: u32, units: u32) -> Result<u32, ZoneError> {
        let first = self.zones[zone as usize].written;
        self.writable(zone, first, units)?;
        self.advance(zone, units)?;
        Ok(first)
    }

    /// Whether the state of a zone lets units be read.
    pub fn read(&self, zone: u32) -> Result<(), ZoneError> {
        if self.state(zone) == ZoneState::Offline { Err(ZoneError::Offline) } else { Ok(()) }
    }

    /// Does something to a zone as a whole. What is so already is no error.
    pub fn act(&mut self, zone: u32, action: ZoneAction) -> Result<(), ZoneError> {
        let state = self.state(zone);
        if matches!(state, ZoneState::ReadOnly | ZoneState::Offline) {
            return Err(ZoneError::InvalidTransition);
        }
        match action {
            ZoneAction::Reset => {
                self.enter(zone, ZoneState::Empty);
                self.zones[zone as usize] = Zone::default();
            }
            ZoneAction::Finish if state == ZoneState::Full => {}
            ZoneAction::Finish => {
                self.enter(zone, ZoneState::Full);
                self.zones[zone as usize].finished = true;
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
    pub fn fail(&mut self, zone: u32, readable: bool) {
        self.enter(zone, if readable { ZoneState::ReadOnly } else { ZoneState::Offline });
    }

    /// The first zones are full, as a host leaves them that has written all of them; a zone behind
    /// these has `rest` units and is closed. For a device that nothing else was done to.
    pub fn fill(&mut self, full: u32, rest: u32) {
        for zone in 0..full {
            self.zones[zone as usize].written = self.capacity;
            self.enter(zone, ZoneState::Full);
        }
        if rest > 0 {
            self.zones[full as usize].written = rest;
            self.enter(full, ZoneState::Closed);
        }
    }

    fn state(&self, zone: u32) -> ZoneState {
        ZoneState::ALL[usize::from(self.zones[zone as usize].state)]
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
        let own = &mut self.zones[zone as usize];
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
        self.zones[zone as usize].state = state as u8;
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
