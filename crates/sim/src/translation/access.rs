//! Commands that read or write a unit on flash, and what they wait for.

use super::Translation;
use crate::config::{DataOrder, PartialWrite, UnmappedRead};
use crate::ftl::{Lent, Plan, Run, Wrote};
use crate::handle::{RequestId, SetId};
use crate::sets::Stage;
use flashyard_core::graph::EdgeKind;
use flashyard_core::request::RequestOp;
use flashyard_core::units::Lpn;

impl Translation<'_> {
    /// Plans the read of a unit: nothing of one that was never written and needs no array.
    pub(super) fn plan_read(&mut self, plan: &mut Plan, lpn: Lpn) {
        let earlier = self.sets.live_change_of(lpn, u64::MAX);
        self.account.table_looked_up();
        let place = self.ftl.locate(lpn);
        if self.ftl.is_unmapped(place) && earlier.is_none() {
            self.account.unmapped_read();
            if self.settings.keys.nand.unmapped_read == UnmappedRead::Zero {
                return;
            }
        }
        self.host.commands_read(self.now);
        self.plan_order(plan, earlier);
        plan.push(Stage::Read, self.ftl.plane_of_data(lpn, place));
    }

    /// Plans the program of a page of a request, and the read of what it leaves of its unit.
    #[inline(always)]
    pub(super) fn plan_write(&mut self, plan: &mut Plan, handle: RequestId, lpn: Lpn) {
        self.account.table_looked_up();
        let request = *self.host[handle].request();
        let earlier = self.sets.live_change_of(lpn, u64::MAX);
        let partial = self.settings.keys.ftl.partial_write;
        if partial != PartialWrite::Ignore {
            let place = self.ftl.locate(lpn);
            // A line that has the whole unit may give way before this write is put.
            let old = place.is_some() || earlier.is_some();
            let needed = match partial {
                PartialWrite::Bitmap => self.ftl.cover(lpn, self.settings.covered(&request, lpn)),
                _ => self.settings.is_partial(&request, lpn),
            };
            if old && needed {
                if let Some(earlier) = earlier {
                    let last = self.sets.last_stage(earlier);
                    plan.wait(earlier, last, EdgeKind::Order);
                }
                self.account.partial_write_read();
                plan.push(Stage::OldRead, self.ftl.plane_of_data(lpn, place));
            }
        }
        self.plan_order(plan, earlier);
        if self.ftl.write_translated(plan, lpn, Wrote::Identified(request.place())) {
            self.lend().plan_layered(plan, handle, lpn);
        }
    }

    /// A layer chooses the page of a program, and what it waits for.
    fn plan_layered(&mut self, plan: &mut Plan, handle: RequestId, lpn: Lpn) {
        let pending = &self.host[handle];
        let writes = pending.request().op == RequestOp::Write;
        // A policy that starts pages may start others in between.
        let follow = writes && !self.host.policy().by_pages();
        let left = if follow { pending.pages() - 1 - pending.translated() } else { 0 };
        let pages = if writes { pending.pages() } else { 1 };
        let run = Run { pages, left, joins: false };
        let charge = self.host.charge_of(Some(handle));
        let (scheme, base) = self.ftl.parts();
        // The phase goes on: this request has no answer yet.
        let mut lent = Lent { now: self.now, ended: false, base, sets: self.sets, todo: self.todo };
        scheme.plan_write(plan, lpn, run, charge, &mut lent);
    }

    /// A trim is over: the unit is forgotten, unless a later change of it has been committed.
    pub(crate) fn trim_over(&mut self, set: SetId) {
        if self.sets[set].is_superseded() {
            return;
        }
        self.ftl.trim_over(set, self.sets);
        self.account.change_committed();
        self.drop_buffered(self.sets[set].lpn(), self.sets.number(set));
    }

    /// With `queue.data_order = "lpn"` the next command waits for the earlier unfinished change.
    fn plan_order(&self, plan: &mut Plan, earlier: Option<SetId>) {
        if self.settings.keys.queue.data_order == DataOrder::Lpn
            && let Some(earlier) = earlier
        {
            plan.wait(earlier, self.sets.last_stage(earlier), EdgeKind::Order);
        }
    }

    /// The data of a page access crosses the link by itself.
    pub(super) fn plan_link(&self, plan: &mut Plan, lpn: Lpn) {
        if self.host.carries_pages() {
            plan.push(Stage::Link, self.ftl.plane_of_lpn(lpn));
        }
    }
}
