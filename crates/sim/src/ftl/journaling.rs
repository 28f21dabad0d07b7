//! The sets that write the journal of the map and its checkpoints, and what flushes wait for.

use super::base::Base;
use super::journal::{Change, Due};
use super::lent::{Deed, Lent, Todo};
use super::stale::StaleRef;
use crate::handle::SetId;
use crate::observe::OwnCause;
use crate::parts::blocks::Frontier;
use crate::sets::{OwnWork, Stage, Wait};
use flashyard_core::command::Purpose;
use flashyard_core::graph::EdgeKind;
use flashyard_core::units::{BlockId, Lpn, PlaneId, Ppn};

/// The journal is told what changes, before the map does.
impl Base {
    /// The host changes a unit, with this number.
    #[cold]
    pub(super) fn note_change(&mut self, lpn: Lpn, number: u64, trims: bool) {
        let old = self.map.lookup(lpn);
        if let Some(journal) = &mut self.journal {
            journal.changes(&Change { lpn, number: Some(number), old, trims });
        }
    }

    /// A layer has taken a block or let go of one: whose pages are where says the block itself.
    #[inline]
    pub(super) fn note_block(&mut self) {
        if let Some(journal) = &mut self.journal {
            journal.block_changes();
        }
    }

    /// A unit is copied from a place. Returns whether there is a journal.
    #[inline]
    pub(super) fn note_copy(&mut self, lpn: Lpn, from: Ppn) -> bool {
        let Some(journal) = &mut self.journal else { return false };
        journal.changes(&Change { lpn, number: None, old: Some(from), trims: false });
        true
    }
}

impl Lent<'_> {
    /// A block has been erased: what was trimmed in it cannot come back, and its pages of the
    /// journal are gone.
    #[inline]
    pub(super) fn note_erase(&mut self, block: BlockId) {
        let units = self.base.geometry.units_per_block();
        if let Some(journal) = &mut self.base.journal {
            journal.erased(block, units);
            self.tell_kept();
        }
    }

    /// A page of the journal or of a checkpoint has been written.
    pub(crate) fn journal_written(&mut self, set: SetId) {
        let (journal, at) = (self.base.journal.as_mut(), self.sets[set].ppn());
        journal.expect("it is written").page_over(set, at, self.now);
        self.tell_kept();
    }

    /// Lists the trims that outlive a loss of power from now on.
    #[cold]
    fn tell_kept(&mut self) {
        let journal = self.base.journal.as_mut().expect("it keeps them");
        let kept = journal.take_kept().into_iter();
        self.todo.extend(kept.map(|(lpn, number)| Todo::Note(Deed::Kept(lpn, number))));
    }

    /// Writes what is due of the journal and of the checkpoint and, if it is given, what is owed to
    /// a flush with this number.
    pub(crate) fn write_journal(&mut self, before: Option<u64>) {
        let now = self.now;
        while let Some(journal) = &mut self.base.journal {
            match journal.next_due(before, now) {
                Due::Pages(plane, changes, of_each) => {
                    let pages = changes.chunks(of_each);
                    let plane = self.plane_in_turn(plane, pages.len() as u64);
                    pages.for_each(|page| self.journal_set(plane, page.to_vec()));
                }
                Due::Pieces(plane, count) => {
                    let plane = self.plane_in_turn(plane, count);
                    (0..count).for_each(|_| self.journal_set(plane, Vec::new()));
                }
                Due::Log(plane, count) => (0..count).for_each(|_| {
                    let set = self.program_of_map(plane);
                    self.go_on(set);
                }),
                Due::Nothing => return,
            }
        }
    }

    /// The plane of so many pages: this one or, with superblocks, the one whose turn it is, for a
    /// program of them.
    fn plane_in_turn(&mut self, plane: PlaneId, pages: u64) -> PlaneId {
        let blocks = &mut self.base.map.blocks;
        if !blocks.are_united() {
            return plane;
        }
        let pages = u32::try_from(pages).expect("of a program");
        self.base.stripes[blocks.next_turn(Frontier::Journal, pages) as usize]
    }

    /// Makes the set that writes a page.
    fn journal_set(&mut self, plane: PlaneId, changes: Vec<Change>) {
        let set = self.program_of_map(plane);
        self.base.journal.as_mut().expect("it is written").page_begun(set, plane, changes);
        self.enter_ring(set, plane);
        self.go_on(set);
    }

    /// Makes a set that writes a unit of the map.
    fn program_of_map(&mut self, plane: PlaneId) -> SetId {
        let stages = [(Stage::JournalProgram, plane)];
        self.own_set(None, OwnCause::Map, OwnWork::Journal, &stages)
    }

    /// A set of the journal gets its page, where layers have the blocks that it does not fill.
    fn enter_ring(&mut self, set: SetId, plane: PlaneId) {
        let Some(ring) = &mut self.base.ring else { return };
        let reference = StaleRef::of(set, self.sets);
        let (page, erases, before) = ring.give(plane, reference);
        let before = before.live(self.sets);
        self.sets.bind(set, page);
        if erases {
            let work = OwnWork::Erase { purpose: Purpose::Journal };
            let eraser = self.own_set(None, OwnCause::Map, work, &[(Stage::Erase, plane)]);
            self.sets.bind(eraser, page);
            if let Some(before) = before {
                self.wait(eraser, before, 0, EdgeKind::Order);
            }
            self.wait(set, eraser, 0, EdgeKind::Room);
            self.go_on(eraser);
        } else if let Some(before) = before {
            self.wait(set, before, 0, EdgeKind::Order);
        }
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
