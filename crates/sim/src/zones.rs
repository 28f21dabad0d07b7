//! Zones as the host sees them: states, errors, what has been done to them.

use crate::saved::saved;
use flashyard_core::choice;
use flashyard_core::request::ZoneAction;
use serde::Serialize;
use std::collections::BTreeMap;

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

    /// Status code type and status code of NVM Express.
    pub const fn status(self) -> u16 {
        match self {
            Self::Boundary => 0x1B8,
            Self::Full => 0x1B9,
            Self::ReadOnly => 0x1BA,
            Self::Offline => 0x1BB,
            Self::InvalidWrite => 0x1BC,
            Self::TooManyActive => 0x1BD,
            Self::TooManyOpen => 0x1BE,
            Self::InvalidTransition => 0x1BF,
            Self::InvalidField => 0x02,
        }
    }
}

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

/// How a request has ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Outcome {
    /// It did what it asked for.
    #[default]
    Done,
    /// An append has written from this sector on.
    Appended(u64),
    /// It had no effect.
    Failed(ZoneError),
}

/// A zone, as a report of zones describes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ZoneReport {
    /// Its first sector.
    pub first_sector: u64,
    /// Sectors of it that can be written.
    pub capacity: u64,
    /// The sector of its write pointer. Of a full zone the first one that the host has not written.
    pub write_pointer: u64,
    /// Its state.
    pub state: ZoneState,
}

/// What was done to zones.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ZoneCounts {
    pub(crate) appends: u64,
    /// By [`ZoneAction::ALL`], in zones.
    pub(crate) actions: [u64; 4],
    pub(crate) closed_for_others: u64,
    pub(crate) padded_units: u64,
    pub(crate) errors: [u64; ZoneError::COUNT],
}

saved!(ZoneCounts { appends, actions, closed_for_others, padded_units, errors });

impl ZoneCounts {
    /// So many zones had this done to them.
    pub(crate) const fn acted(&mut self, action: ZoneAction, zones: u64) {
        self.actions[action as usize] += zones;
    }

    /// A request had no effect.
    pub(crate) const fn failed(&mut self, error: ZoneError) {
        self.errors[error as usize] += 1;
    }

    /// The same as part of a report, with units of so many bytes; of so many zones those that are
    /// open, and those that are open or closed.
    pub(crate) fn report(
        &self,
        unit_bytes: u64,
        zones: u32,
        (open, active): (u32, u32),
    ) -> ZonesReport {
        let [resets, finishes, opens, closes] = self.actions;
        let errors = ZoneError::WORDS.iter().copied().zip(self.errors);
        ZonesReport {
            zones: zones.into(),
            open: open.into(),
            active: active.into(),
            appends: self.appends,
            resets,
            finishes,
            opens,
            closes,
            closed_for_others: self.closed_for_others,
            padded_bytes: self.padded_units * unit_bytes,
            errors: errors.filter(|(_, count)| *count > 0).collect(),
        }
    }
}

/// Zones, in the report of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ZonesReport {
    /// How many zones the device has.
    pub zones: u64,
    /// How many are open at the end, and how many are open or closed.
    pub open: u64,
    /// Open and closed ones.
    pub active: u64,
    /// Appends that have written.
    pub appends: u64,
    /// Zones that were reset, by an action or by a trim of a whole zone.
    pub resets: u64,
    /// Zones that were finished.
    pub finishes: u64,
    /// Zones that were opened explicitly.
    pub opens: u64,
    /// Zones that the host has closed.
    pub closes: u64,
    /// Zones that the device has closed to open others.
    pub closed_for_others: u64,
    /// Bytes that finishes have programmed with nothing.
    pub padded_bytes: u64,
    /// Requests that had no effect, by the name of their error.
    pub errors: BTreeMap<&'static str, u64>,
}
