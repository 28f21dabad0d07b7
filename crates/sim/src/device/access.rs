//! Commands that read or write a unit on flash, and what they wait for.

use super::Device;
use crate::config::{DataOrder, PartialWrite, UnmappedRead};
use crate::ftl::{Plan, Wrote};
use crate::handle::{RequestId, SetId};
use crate::sets::{Sets, Stage};
use flashyard_core::graph::EdgeKind;
use flashyard_core::request::RequestOp;
use flashyard_core::units::{Lpn, PlaneId};

impl Device {
    pub(super) fn plan_read(&mut self, plan: &mut Plan, lpn: Lpn) {
        let earlier = self.sets.live_change_of(lpn, u64::MAX);
        if let Some((stage, plane)) = self.flash_read(lpn, |_| earlier.is_some()) {
            self.host.commands_read(self.now);
            self.plan_order(plan, earlier);
            plan.push(stage, plane);
        }
    }

    /// The command that reads a unit; none of one that was never written and needs no array, unless
    /// it `changes` before.
    #[inline]
    fn flash_read(
        &mut self,
        lpn: Lpn,
        changes: impl FnOnce(&Sets) -> bool,
    ) -> Option<(Stage, PlaneId)> {
        self.account.table_looked_up();
        let place = self.ftl.locate(lpn);
        if self.ftl.is_unmapped(place) && !changes(&self.sets) {
            self.account.unmapped_read();
            if self.settings.keys.nand.unmapped_read == UnmappedRead::Zero {
                return None;
            }
        }
        Some((Stage::Read, self.ftl.plane_of_data(lpn, place)))
    }

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
            self.plan_layered(plan, handle, lpn);
        }
    }

    /// A layer chooses the page of a program, and what it waits for.
    fn plan_layered(&mut self, plan: &mut Plan, handle: RequestId, lpn: Lpn) {
        let pending = &self.host[handle];
        let writes = pending.request().op == RequestOp::Write;
        // A policy that starts pages may start others in between.
        let follow = writes && !self.host.policy().by_pages();
        let left = if follow { pending.pages() - 1 - pending.translated() } else { 0 };
        let run = (if writes { pending.pages() } else { 1 }, left);
        let charge = self.charge_of(Some(handle));
        self.let_ftl(|ftl, lent| ftl.plan_write(plan, lpn, run, charge, lent));
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
