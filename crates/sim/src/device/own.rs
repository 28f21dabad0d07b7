//! The device's own work: garbage collection, merges, rewrites of map pages.
//!
//! The translation layer decides, makes the sets and says why (`ftl`). It is lent what it needs,
//! and lists what is to be done outside of it. `live` takes that from the list, and most of it is
//! done here.

use super::{Device, SimError};
use crate::ftl::{BegunJob, Charge, Copied, Erased, Eraser, Lent, Scheme};
use crate::handle::SetId;
use crate::metrics::counters::Phase;
use crate::observe::{OwnCause, Trigger};
use crate::sets::Stage;
use flashyard_core::units::{Lpn, PlaneId};

impl Device {
    /// Whether the last request of a phase has been answered.
    fn has_ended(&self) -> bool {
        self.host.phase() == Phase::Post
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
            self.tell_own_work(set, plane, cause);
        }
    }

    /// Tells observers of a set of the device's own work.
    #[cold]
    pub(super) fn tell_own_work(&mut self, set: SetId, plane: PlaneId, cause: OwnCause) {
        let charged = self.order_of(self.sets[set].charge());
        self.teller().tell_own_work(set, plane, cause, charged);
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
        }
        let of_job = copy.of_job && copy.lpn.is_some();
        self.account.unit_copied(copy.row, copy.current, of_job);
    }

    pub(super) fn block_erased(&mut self, set: SetId, erased: Erased) {
        self.account.erased(erased.block);
        if self.account.follows_units() {
            self.teller().tell_erased(set, erased);
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
        if erased.by != Eraser::Journal {
            self.account.block_collected(erased.row, of_layer);
        }
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
