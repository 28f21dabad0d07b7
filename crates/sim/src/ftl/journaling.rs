//! The sets that write the journal of the map and its checkpoints, and what flushes wait for.

use super::journal::{Change, Due};
use super::lent::Lent;
use crate::handle::SetId;
use crate::observe::OwnCause;
use crate::sets::{OwnWork, Stage, Wait};
use flashyard_core::graph::EdgeKind;
use flashyard_core::units::PlaneId;

impl Lent<'_> {
    /// Writes what is due of the journal and of the checkpoint and, if it is given, what is owed to
    /// a flush with this number.
    pub(crate) fn write_journal(&mut self, before: Option<u64>) {
        let now = self.now;
        while let Some(journal) = &mut self.base.journal {
            match journal.next_due(before, now) {
                Due::Page(plane, changes) => self.journal_set(plane, changes),
                Due::Pieces(plane, count) => {
                    (0..count).for_each(|_| self.journal_set(plane, Vec::new()));
                }
                Due::Nothing => return,
            }
        }
    }

    /// Makes the set that writes a page.
    fn journal_set(&mut self, plane: PlaneId, changes: Vec<Change>) {
        let stages = [(Stage::JournalProgram, plane)];
        let set = self.own_set(None, OwnCause::Map, OwnWork::Journal, &stages);
        self.base.journal.as_mut().expect("it is written").page_begun(set, plane, changes);
        self.go_on(set);
    }

    /// Writes what is owed to a flush, or to a write that asks for one, with this number. Returns
    /// the sets that it has to wait for.
    pub(crate) fn save_owed(&mut self, before: u64) -> Vec<SetId> {
        let waits = self.base.journal.as_ref().is_some_and(|journal| journal.serves_flushes());
        if !waits {
            return Vec::new();
        }
        self.write_journal(Some(before));
        self.base.journal.as_ref().map_or_else(Vec::new, |journal| journal.owed_pages(before))
    }

    /// A flush is about to be over. Returns whether it waits for the journal first.
    pub(crate) fn flush_waits(&mut self, flush: SetId) -> bool {
        let sources = self.save_owed(self.sets.number(flush));
        for &source in &sources {
            self.sets.connect(Wait { source, stage: 0, kind: EdgeKind::Flush }, flush, 0);
        }
        !sources.is_empty()
    }
}
