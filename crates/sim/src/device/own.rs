//! The device's own work: garbage collection, merges, rewrites of map pages.
//!
//! The translation layer decides, makes the sets and says why (`ftl`). It is lent what it needs,
//! and lists what is to be done outside of it. `live` takes that from the list, and most of it is
//! done here.

use super::{Device, SimError};
use crate::ftl::{
    BegunJob, Change, Charge, Copied, Erased, Eraser, Journal, Lent, Scheme, lies_in,
};
use crate::handle::SetId;
use crate::metrics::counters::Phase;
use crate::observe::{OwnCause, Trigger};
use crate::sets::Stage;
use flashyard_core::units::{Lpn, PlaneId};

impl Device {
    /// Whether the last request of a phase has been answered.
    fn has_ended(&self) -> bool {
        self.phase() == Phase::Post
    }

    /// The same where [`Self::carry_out`] follows later; returns from where on.
    pub(super) fn ask_ftl<T>(
        &mut self,
        work: impl FnOnce(&mut Scheme, &mut Lent<'_>) -> T,
    ) -> (T, usize) {
        let (now, ended, todo) = (self.now, self.has_ended(), &mut self.work.todo);
        let from = todo.len();
        let (scheme, base) = self.ftl.parts();
        let mut lent = Lent { now, ended, base, sets: &mut self.sets, todo };
        (work(scheme, &mut lent), from)
    }

    /// The translation layer has made a set.
    pub(super) fn own_set_made(
        &mut self,
        set: SetId,
        charge: Charge,
        plane: PlaneId,
        cause: OwnCause,
    ) {
        self.follow_sets();
        let charge = charge.and_then(|request| self.host.charge(request));
        self.sets.charge_to(set, charge);
        self.account.own_work_begun();
        if self.account.is_followed() {
            let charged = self.order_of(self.sets[set].charge());
            self.teller().tell_own_work(set, plane, cause, charged);
        }
    }

    pub(super) fn job_began(&mut self, begun: &BegunJob) {
        if begun.trigger.folds() {
            self.account.fold_started(begun.valid);
        } else {
            let levels = begun.trigger == Trigger::Wear;
            self.account.gc_started(begun.valid, begun.searches, levels);
        }
        if self.account.is_followed() {
            let request = self.live_order(begun.charge);
            self.teller().tell_job(begun, request);
        }
    }

    pub(super) fn unit_copied(&mut self, set: SetId, copy: &Copied) {
        self.account.copied(copy.from, copy.to, copy.lpn);
        if self.account.follows_units() {
            self.teller().tell_copied(set, copy);
            if let Some(lpn) = copy.lpn.filter(|_| copy.current) {
                self.note_change(&Change { lpn, number: None, old: Some(copy.from), trims: false });
                self.ask_ftl(|_, lent| lent.write_journal(None));
            }
        }
        let of_job = copy.of_job && copy.lpn.is_some();
        self.account.unit_copied(copy.row, copy.current, of_job);
    }

    pub(super) fn block_erased(&mut self, set: SetId, erased: Erased) {
        self.account.erased(erased.block);
        if self.account.follows_units() {
            self.teller().tell_erased(set, erased);
            let units = self.settings.geometry.units_per_block();
            self.saves_trims(|journal| journal.erased(lies_in(erased.block, units)));
        }
        if let Eraser::Host(number) = erased.by {
            return self.block_trimmed(set, number);
        }
        if erased.by == Eraser::Zone {
            return;
        }
        if self.account.is_followed() {
            self.teller().tell_free_blocks();
        }
        if erased.worn_out {
            self.account.worn_out(erased.block);
        }
        let of_layer = erased.by == Eraser::Merge && self.sets.stage(set) == Stage::Erase;
        self.account.block_collected(erased.row, of_layer);
        if erased.no_room {
            self.failed = Some(self.no_room(self.sets.plane(set)));
        }
    }

    /// The block that a trim names has been erased by the change `number`.
    fn block_trimmed(&mut self, set: SetId, number: u64) {
        if self.account.is_checked() {
            let state = &self.sets[set];
            let (first, order) = (state.lpn().get(), self.sets.order_of(set).expect("the host's"));
            for unit in first..first + self.settings.geometry.units_per_block() {
                self.account.trimmed(order, Lpn::new(unit), number);
            }
        }
        self.account.change_committed();
    }

    /// The data of a write are about to be committed. Returns from where on
    /// [`Self::carry_out`] has to follow.
    #[cold]
    pub(super) fn note_write(&mut self, set: SetId) -> usize {
        let state = &self.sets[set];
        if !state.is_superseded() {
            let (lpn, number) = (state.lpn(), Some(self.sets.number(set)));
            self.note_change(&Change { lpn, number, old: self.ftl.locate(lpn), trims: false });
        }
        self.ask_ftl(|_, lent| lent.write_journal(None)).1
    }

    /// A unit is about to be forgotten. A write that came before it may yet be over.
    #[cold]
    pub(super) fn note_trim(&mut self, set: SetId) {
        let (lpn, number) = (self.sets[set].lpn(), Some(self.sets.number(set)));
        self.note_change(&Change { lpn, number, old: self.ftl.locate(lpn), trims: true });
    }

    /// The map is about to change.
    fn note_change(&mut self, change: &Change) {
        if let Some(journal) = self.ftl.journal() {
            journal.changes(change);
        }
    }

    /// A page of the journal or of a checkpoint has been written.
    #[cold]
    pub(super) fn journal_written(&mut self, set: SetId) {
        let now = self.now;
        self.saves_trims(|journal| journal.page_over(set, now));
    }

    /// The journal does something by which trims may outlive a loss of power.
    fn saves_trims(&mut self, does: impl FnOnce(&mut Journal)) {
        let Some(journal) = self.ftl.journal() else { return };
        does(journal);
        let kept = journal.take_kept();
        if let Some(durable) = self.account.durable() {
            for (lpn, number) in kept {
                durable.trim_kept(lpn.get(), number);
            }
        }
    }

    /// Why writes of a plane find no room.
    pub(super) fn no_room(&self, plane: PlaneId) -> SimError {
        let (geometry, blocks) = (&self.settings.geometry, self.ftl.blocks());
        if blocks.worn_out(plane) > 0 {
            return SimError::WornOut {
                plane: plane.get(),
                worn: blocks.worn_out_blocks(plane).collect(),
                blocks: geometry.blocks_per_plane,
            };
        }
        SimError::NoRoom { die: geometry.die_of_plane(plane).get() }
    }
}
