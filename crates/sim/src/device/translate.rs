//! Translation: from a page of a request to a command set and what it waits for.
//!
//! All effects on the map cache happen here, in the order of requests and pages. Source of the
//! rules: Lee et al., IEEE Access 2021; what the paper leaves open is a key of `[map]`.

#![expect(
    clippy::inline_always,
    reason = "a step of each command; a call costs as much as it does"
)]

use super::Device;
use crate::ftl::Plan;
use crate::handle::{RequestId, SetId};
use crate::sets::{Access, Does, Origin, Stage};
use flashyard_core::request::{Flags, RequestOp};
use flashyard_core::units::{Lpn, PlaneId};

impl Device {
    /// Makes the set of one page access; `None` where the map cache stalls.
    #[inline(always)]
    pub(super) fn translate_page(&mut self, handle: RequestId, page: u32) -> Option<SetId> {
        let lpn = self.host[handle].begin_page(page);
        let op = self.page_op(handle, lpn);
        let lpn = if op == RequestOp::Trim { self.ftl.trimmed_unit(lpn, page) } else { lpn };
        let mut plan = Plan::new();
        if self.needs_entry(handle, op, lpn) && !self.plan_map(&mut plan, lpn) {
            self.host[handle].begin_stall(self.now);
            return None;
        }
        self.host[handle].end_stall(self.now);
        self.plan_data(&mut plan, handle, op, lpn);
        let trims = op == RequestOp::Trim;
        if plan.count == 0 && plan.waits[0].is_some() {
            // Nothing to do, but not before the map entry is known; others may wait for it.
            plan.push(Stage::Barrier, self.ftl.plane_of_lpn(lpn));
        }
        let (request, order) = (self.host[handle].request(), self.host[handle].order());
        let does = match op {
            RequestOp::Read => Does::Read,
            RequestOp::Trim => Does::Trim,
            _ => Does::Write(self.settings.keys.placement.handle_of(request.place())),
        };
        let origin = Origin { request: handle, order, page };
        let access = Access { origin, lpn, does, map: plan.map };
        let set = self.access_set(&access, plan.stages());
        if trims && let Some(block) = self.ftl.unit_named(lpn) {
            self.sets.bind(set, block);
        }
        self.enlist(set, &plan);
        if plan.target.is_some() {
            let charge = self.charge_of(Some(handle));
            self.let_ftl(|ftl, lent| ftl.write_made(set, &plan, charge, lent));
        }
        Some(set)
    }

    /// Makes the set of a page access with these commands.
    #[inline(always)]
    fn access_set(&mut self, access: &Access, stages: &[(Stage, PlaneId)]) -> SetId {
        let handle = access.origin.request;
        self.host.access_begins(handle);
        if self.host.limits_dies() && !stages.iter().any(|(stage, _)| stage.ends_access()) {
            self.host.left_die(handle, access.lpn);
        }
        self.make_room();
        let set = self.sets.add_access(self.now, access, stages);
        self.host.charge_until(self.now, handle, self.sets.track_mut(set).earlier());
        set
    }

    /// What a request does to one of the units that it touches: writing zeroes forgets whole units
    /// and writes the others. Without translation it erases blocks, as any trim.
    fn page_op(&self, handle: RequestId, lpn: Lpn) -> RequestOp {
        let request = self.host[handle].request();
        let zeroes = request.op == RequestOp::Trim && request.flags.has(Flags::ZEROES);
        let zeroes = zeroes && !self.ftl.is_raw();
        if zeroes && self.settings.is_partial(request, lpn) { RequestOp::Write } else { request.op }
    }

    fn plan_data(&mut self, plan: &mut Plan, handle: RequestId, op: RequestOp, lpn: Lpn) {
        match op {
            RequestOp::Read | RequestOp::Write if self.buffer.is_some() => {
                self.plan_buffered(plan, handle, op, lpn);
            }
            RequestOp::Read => self.plan_read(plan, lpn),
            RequestOp::Write => {
                self.plan_link(plan, lpn);
                self.plan_write(plan, handle, lpn);
            }
            RequestOp::Trim => {
                self.account.table_looked_up();
                self.ftl.trim_translated(plan, lpn);
            }
            RequestOp::Flush => {}
        }
        if op == RequestOp::Read {
            self.plan_link(plan, lpn);
        }
    }
}
