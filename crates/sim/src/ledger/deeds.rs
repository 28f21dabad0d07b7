//! What the translation layer has done: it is counted, checked and told to observers.

#![expect(clippy::inline_always, reason = "a step of each copy; a call costs as much as it does")]

use super::Teller;
use crate::ftl::{BegunJob, Charge, Copied, Deed, Erased, Eraser};
use crate::handle::{RequestId, SetId};
use crate::observe::{OwnCause, Trigger};
use crate::sets::Stage;
use flashyard_core::units::{Lpn, PlaneId};

impl Teller<'_> {
    /// The layer has done a piece of its work.
    #[inline(always)]
    pub(crate) fn note(&mut self, deed: &Deed) {
        let account = &mut *self.ledger.account;
        match *deed {
            Deed::Began(ref begun) => self.lend().job_began(begun),
            Deed::GivenUp(valid, levels) => account.gc_given_up(valid, levels),
            Deed::Merging { plane, kinds, charge } => {
                if account.is_followed() {
                    let order = self.live_order(charge);
                    self.lend().tell_merges(plane, kinds, order);
                }
            }
            Deed::Copied(set, ref copy) => self.unit_copied(set, copy),
            Deed::Padded(cause) => account.padded(cause, 1),
            Deed::EntryMoved(lpn, cached) => {
                account.entry_changed(lpn);
                account.cached_entries_updated(cached.into());
            }
            Deed::EntriesCached(count) => account.cached_entries_updated(count),
            Deed::Erased(set, erased) => self.lend().block_erased(set, erased),
            Deed::Kept(lpn, number) => account.trim_kept(lpn, number),
        }
    }

    /// The layer has made a set of its own, whose first command runs on this plane.
    #[inline(always)]
    pub(crate) fn own_set_made(
        &mut self,
        set: SetId,
        charge: Charge,
        plane: PlaneId,
        cause: OwnCause,
    ) {
        let charge = charge.and_then(|request| self.host.charge(request));
        self.ledger.sets.charge_to(set, charge);
        self.ledger.account.own_work_begun();
        if self.ledger.account.is_watched() {
            self.lend().tell_own_work(set, plane, cause);
        }
    }

    fn job_began(&mut self, begun: &BegunJob) {
        let account = &mut *self.ledger.account;
        if begun.trigger.folds() {
            account.fold_started(begun.valid);
        } else {
            let levels = begun.trigger == Trigger::Wear;
            account.gc_started(begun.valid, begun.searches, levels);
        }
        if account.is_followed() {
            self.tell_job(begun, self.live_order(begun.charge));
        }
    }

    #[inline(always)]
    fn unit_copied(&mut self, set: SetId, copy: &Copied) {
        if self.ledger.account.is_watched() {
            self.lend().tell_copied(set, copy);
        }
        let of_job = copy.of_job && copy.lpn.is_some();
        self.ledger.account.unit_copied(copy.row, copy.current, of_job);
    }

    fn block_erased(&mut self, set: SetId, erased: Erased) {
        self.ledger.account.erased(erased.block);
        if self.ledger.account.follows_units() {
            self.tell_erased(set, erased);
        }
        match erased.by {
            Eraser::Host(number) => return self.block_trimmed(set, number),
            Eraser::Zone => return,
            Eraser::Job | Eraser::Merge | Eraser::Journal => {}
        }
        if self.ledger.account.is_followed() {
            self.tell_free_blocks();
        }
        if erased.worn_out {
            self.ledger.account.worn_out(erased.block);
        }
        let of_layer = erased.by == Eraser::Merge && self.ledger.sets.stage(set) == Stage::Erase;
        if erased.by != Eraser::Journal {
            self.ledger.account.block_collected(erased.row, of_layer);
        }
    }

    /// The block that a trim names has been erased by the change `number`.
    fn block_trimmed(&mut self, set: SetId, number: u64) {
        let (sets, account) = (&*self.ledger.sets, &mut *self.ledger.account);
        if account.is_checked() {
            let (first, order) = (sets[set].lpn().get(), sets.order_of(set).expect("the host's"));
            for unit in first..first + sets.geometry().units_per_block() {
                account.trimmed(order, Lpn::new(unit), number);
            }
        }
        account.change_committed();
    }

    /// The order of arrival of a request that is not over.
    fn live_order(&self, charge: Charge) -> Option<u64> {
        self.order_of(charge.and_then(|request| self.host.live(request)))
    }

    /// The order of arrival of a request.
    pub(super) fn order_of(&self, request: Option<RequestId>) -> Option<u64> {
        request.map(|request| self.host[request].order())
    }
}
