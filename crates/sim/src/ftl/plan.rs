//! A set that is being put together: its commands, what they wait for, and what the map found.

use super::line_cache::Lookup;
use crate::handle::SetId;
use crate::sets::{MapWork, Stage, Wait};
use flashyard_core::graph::{EdgeKind, STAGES};
use flashyard_core::units::{PlaneId, Ppn};

/// The commands of a set that is being put together, and what its stages wait for.
pub(crate) struct Plan {
    pub(crate) stages: [(Stage, PlaneId); STAGES],
    pub(crate) count: u8,
    /// Which of its commands waits, and for what; those that there are come first.
    pub(crate) waits: [Option<(u8, Wait)>; 6],
    /// What the map cache found; none where nobody asked it.
    pub(crate) lookup: Option<Lookup>,
    pub(crate) map: MapWork,
    /// The set that fetches the line where another one does; whether this one does.
    pub(crate) shared_fetch: Option<SetId>,
    pub(crate) fetches: bool,
    /// The page that a translation layer has given to the program, and the first of the steps that
    /// it has planned behind it.
    pub(crate) target: Option<(Ppn, usize)>,
}

impl Plan {
    /// No commands.
    pub(crate) const fn new() -> Self {
        Self {
            stages: [(Stage::Barrier, PlaneId::new(0)); STAGES],
            count: 0,
            waits: [None; 6],
            lookup: None,
            map: MapWork::NONE,
            shared_fetch: None,
            fetches: false,
            target: None,
        }
    }

    /// Adds a command.
    pub(crate) fn push(&mut self, stage: Stage, plane: PlaneId) {
        self.stages[self.count as usize] = (stage, plane);
        self.count += 1;
    }

    /// The commands.
    pub(crate) fn stages(&self) -> &[(Stage, PlaneId)] {
        &self.stages[..self.count as usize]
    }

    /// The stage that is pushed next starts after `source_stage` of `source`; of two such rules for
    /// one source the later stage counts.
    pub(crate) fn wait(&mut self, source: SetId, source_stage: u8, kind: EdgeKind) {
        let count = self.count;
        let same = |(target, wait): (u8, Wait)| target == count && wait.source == source;
        let place = self.waits.iter_mut().find(|known| known.is_none_or(same));
        let place = place.expect("a set waits for few others");
        if place.is_none_or(|(_, wait)| wait.stage < source_stage) {
            *place = Some((count, Wait { source, stage: source_stage, kind }));
        }
    }
}
