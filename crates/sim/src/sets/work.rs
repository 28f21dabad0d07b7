//! What sets are for: each kind of work with what no other kind has.

use crate::handle::{LineId, RequestId};
use flashyard_core::command::Purpose;
use flashyard_core::units::{Lpn, MapPage, Ppn};

/// The page access of a request that a set is, or the request alone where it waits for others.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Origin {
    pub(crate) request: RequestId,
    /// The place of the request in the order of arrival.
    pub(crate) order: u64,
    /// The page access, counted inside the request.
    pub(crate) page: u32,
}

/// What a set does for the map before it comes to its unit: the map page of an evicted line that it
/// writes back, and the cache line that it fetches.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MapWork {
    pub(crate) page: MapPage,
    pub(crate) line: u32,
}

impl MapWork {
    /// Nothing.
    pub(crate) const NONE: Self = Self { page: MapPage::new(0), line: 0 };
}

/// What a page access of a request does to its unit.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Does {
    Read,
    /// Writes it to this frontier of host data.
    Write(u8),
    Trim,
}

/// A page access of a request.
pub(crate) struct Access {
    pub(crate) origin: Origin,
    pub(crate) lpn: Lpn,
    pub(crate) does: Does,
    pub(crate) map: MapWork,
}

/// A flush: the unit whose line it carries to this frontier of host data.
pub(crate) struct Flush {
    pub(crate) line: LineId,
    pub(crate) lpn: Lpn,
    pub(crate) stream: u8,
    /// The request that it is charged to.
    pub(crate) charge: Option<RequestId>,
    pub(crate) map: MapWork,
}

/// The work of a set of the translation layer.
#[derive(Clone, Copy, Debug)]
pub(crate) enum OwnWork {
    /// Others wait until what it waits for is over: a gate, or a search for a victim.
    Gate,
    /// Erases the victim of a job, for this.
    Erase { purpose: Purpose },
    /// Copies a unit out of the victim of a job.
    Copy { lpn: Lpn, source: Ppn, purpose: Purpose },
    /// Copies a map page out of the victim of a job.
    CopyMap { page: MapPage, source: Ppn, purpose: Purpose },
    /// Writes a map page.
    WriteMap(MapPage),
    /// Writes a page of the journal or of a checkpoint.
    Journal,
    /// Reads a unit ahead of a run of reads, into a line of the buffer.
    Ahead,
    /// Fills a program unit of a finished zone with nothing.
    Pad { zone: u32 },
    /// Does the steps of a task of a layer one after the other: the page that it copies now.
    Steps { source: Option<Ppn>, levels: bool },
}

/// A line of the write buffer whose contents a set programs.
#[derive(Clone, Copy, Debug)]
pub(super) struct Carried {
    pub(super) line: LineId,
    /// Whether it is the first of the flushes that began together with it.
    pub(super) leads: bool,
    /// Whether a request asked for its program, so that it did not wait for others to fill it.
    pub(super) asked: bool,
}

/// What a set is for.
#[derive(Clone, Copy, Debug)]
pub(super) enum Work {
    /// A request waits for other sets, or for nothing.
    Barrier,
    /// A request reads a unit.
    Read { map: MapWork },
    /// A request trims a unit.
    Trim {
        map: MapWork,
        /// Whether a later change of the unit has been committed already.
        superseded: bool,
    },
    /// A request writes a unit.
    Write {
        map: MapWork,
        superseded: bool,
        /// The frontier of host data that it goes to.
        stream: u8,
        /// The page that a translation layer has given to it.
        target: Option<Ppn>,
        /// The line that it has been put into, where it is programmed at once.
        carried: Option<Carried>,
    },
    /// What a line holds is written to flash.
    Flush { map: MapWork, superseded: bool, stream: u8, target: Option<Ppn>, carried: Carried },
    /// The translation layer's own.
    Own(OwnWork),
}

impl Work {
    /// That of a page access.
    #[inline]
    pub(super) const fn of_access(does: Does, map: MapWork) -> Self {
        match does {
            Does::Read => Self::Read { map },
            Does::Trim => Self::Trim { map, superseded: false },
            Does::Write(stream) => {
                Self::Write { map, superseded: false, stream, target: None, carried: None }
            }
        }
    }

    /// That of a flush.
    pub(super) const fn of_flush(flush: &Flush) -> Self {
        let Flush { map, stream, line, .. } = *flush;
        let carried = Carried { line, leads: false, asked: false };
        Self::Flush { map, superseded: false, stream, target: None, carried }
    }

    /// The line that it carries, if it carries one.
    #[inline]
    pub(super) const fn carried(&self) -> Option<Carried> {
        match *self {
            Self::Write { carried, .. } => carried,
            Self::Flush { carried, .. } => Some(carried),
            _ => None,
        }
    }

    /// The same, to be changed.
    pub(super) const fn carried_mut(&mut self) -> Option<&mut Carried> {
        match self {
            Self::Write { carried, .. } => carried.as_mut(),
            Self::Flush { carried, .. } => Some(carried),
            _ => None,
        }
    }

    /// A later change of its unit has been committed.
    pub(super) const fn supersede(&mut self) {
        match self {
            Self::Trim { superseded, .. }
            | Self::Write { superseded, .. }
            | Self::Flush { superseded, .. } => *superseded = true,
            Self::Barrier | Self::Read { .. } | Self::Own(_) => unreachable!(),
        }
    }
}
