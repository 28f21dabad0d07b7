//! Translation: from a page of a request to a command set and what it waits for.
//!
//! All effects on the map cache happen here, in the order of requests and pages. Source of the
//! rules: Lee et al., IEEE Access 2021; what the paper leaves open is a key of `[map]`.

#![expect(
    clippy::inline_always,
    reason = "a step of each command; a call costs as much as it does"
)]

use super::Device;
use crate::config::{DataOrder, MapHazards, PartialWrite, UnmappedRead};
use crate::ftl::Plan;
use crate::ftl::line_cache::Lookup;
use crate::ftl::map_write;
use crate::handle::{RequestId, SetId};
use crate::sets::{Set, Sets, Stage};
use flashyard_core::graph::EdgeKind;
use flashyard_core::request::{Flags, RequestOp};
use flashyard_core::units::{Lpn, PlaneId};

impl Device {
    /// Makes the set of one page access; `None` where the map cache stalls.
    #[inline(always)]
    pub(super) fn translate_page(&mut self, handle: RequestId, page: u32) -> Option<SetId> {
        let request = &mut self.host[handle];
        request.page = page;
        let lpn = Lpn::new(request.first.get() + page);
        let op = self.page_op(handle, lpn);
        let lpn = if op == RequestOp::Trim { self.ftl.trimmed_unit(lpn, page) } else { lpn };
        let changes = op != RequestOp::Read;
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
        let set = self.access_set(handle, page, lpn, plan.stages());
        let request = &self.host[handle].request;
        let stream = self.settings.frontiers.of_stream(request.place());
        let state = &mut self.sets[set];
        (state.changes, state.trims, state.stream) = (changes, trims, stream);
        if trims {
            state.ppn = self.ftl.unit_named(lpn);
        }
        (state.map_page, state.line) = (plan.map_page, plan.line);
        self.enlist(set, &plan);
        if plan.target.is_some() {
            let charge = self.charge_of(Some(handle));
            self.let_ftl(|ftl, lent| ftl.write_made(set, &plan, charge, lent));
        }
        Some(set)
    }

    /// Makes the set of a page access with these commands.
    #[inline(always)]
    fn access_set(
        &mut self,
        handle: RequestId,
        page: u32,
        lpn: Lpn,
        stages: &[(Stage, PlaneId)],
    ) -> SetId {
        self.host.access_begins(handle);
        if self.host.limits_dies() && !stages.iter().any(|(stage, _)| stage.ends_access()) {
            self.host.left_die(handle, lpn);
        }
        let number = self.sets.take_number();
        let set = self.set_of(number, Some(handle), &Set::VACANT, stages);
        let state = &mut self.sets[set];
        (state.request, state.charge, state.page, state.lpn) =
            (Some(handle), Some(handle), page, lpn);
        self.host.charge_until(self.now, handle, &mut self.sets.track_mut(set).parts);
        set
    }

    /// Looks an entry up in the map cache, where there is one, and plans what that takes. Returns
    /// whether the cache can do it now.
    pub(super) fn plan_map(&mut self, plan: &mut Plan, lpn: Lpn) -> bool {
        let Some(lookup) = self.ftl.look_up(lpn) else { return true };
        match lookup {
            Lookup::Stall => {
                self.account.map_stalled();
                return false;
            }
            Lookup::Hit { line, fetch } => {
                self.account.map_hit();
                plan.line = line;
                if let Some(fetch) = fetch {
                    let stage = self.sets.stage_index(fetch, Stage::Fetch);
                    plan.wait(fetch, stage, EdgeKind::MapFetch);
                }
            }
            Lookup::Miss { victim } => self.plan_miss(plan, victim, lpn),
        }
        plan.lookup = Some(lookup);
        self.account.map_looked_up();
        true
    }

    /// Map commands of a miss: write the victim's map page back if it is dirty, fetch the line.
    fn plan_miss(&mut self, plan: &mut Plan, victim: u32, lpn: Lpn) {
        let miss = self.ftl.miss(victim, lpn);
        let order = self.settings.keys.map.hazards == MapHazards::Order;
        self.account.map_missed();
        plan.line = victim;
        if let Some(cleaner) = miss.cleaner {
            plan.wait(cleaner, map_write(&self.sets, cleaner), EdgeKind::MapWriteback);
        }
        if let Some(evicted) = miss.evicted {
            self.account.map_evicted_dirty();
            plan.map_page = evicted.page;
            let plane = self.ftl.plane_of_map(evicted.page);
            self.plan_hazard(plan, evicted.writer, order);
            if evicted.reads {
                plan.push(Stage::EvictRead, plane);
            }
            plan.push(Stage::Writeback, plane);
        }
        if let Some(fetch) = miss.shared_fetch {
            plan.shared_fetch = Some(fetch);
            plan.wait(fetch, self.sets.stage_index(fetch, Stage::Fetch), EdgeKind::MapFetch);
        }
        if let Some((page, writer)) = miss.fetch {
            plan.fetches = true;
            self.plan_hazard(plan, writer, order);
            plan.push(Stage::Fetch, self.ftl.plane_of_map(page));
        }
    }

    /// A map operation that an unfinished write makes stale waits for it, or is counted.
    fn plan_hazard(&mut self, plan: &mut Plan, writer: Option<SetId>, order: bool) {
        let Some(writer) = writer else { return };
        if order {
            plan.wait(writer, map_write(&self.sets, writer), EdgeKind::MapWriteback);
        } else {
            self.account.map_hazard_ignored();
        }
    }

    /// What a request does to one of the units that it touches: writing zeroes forgets whole units
    /// and writes the others. Without translation it erases blocks, as any trim.
    fn page_op(&self, handle: RequestId, lpn: Lpn) -> RequestOp {
        let request = &self.host[handle].request;
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

    /// The data of a page access crosses the link by itself.
    fn plan_link(&self, plan: &mut Plan, lpn: Lpn) {
        if self.host.carries_pages() {
            plan.push(Stage::Link, self.ftl.plane_of_lpn(lpn));
        }
    }

    pub(super) fn plan_read(&mut self, plan: &mut Plan, lpn: Lpn) {
        let earlier = self.sets.live_change_of(lpn, u64::MAX);
        if let Some((stage, plane)) = self.flash_read(lpn, |_| earlier.is_some()) {
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
        let request = self.host[handle].request;
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
        if self.ftl.write_translated(plan, lpn) {
            self.plan_layered(plan, handle, lpn);
        }
    }

    /// A layer chooses the page of a program, and what it waits for.
    fn plan_layered(&mut self, plan: &mut Plan, handle: RequestId, lpn: Lpn) {
        let pending = &self.host[handle];
        let writes = pending.request.op == RequestOp::Write;
        // A policy that starts pages may start others in between.
        let follow = writes && !self.host.policy().by_pages();
        let left = if follow { pending.pages - 1 - pending.translated } else { 0 };
        let run = (if writes { pending.pages } else { 1 }, left);
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

    /// Enters a new set into the map cache, the index by LPN and the graph.
    pub(super) fn enlist(&mut self, set: SetId, plan: &Plan) {
        let Set { lpn, changes, request, .. } = self.sets[set];
        if self.account.is_checked() {
            if let Some(request) = request {
                let order = self.host[request].order;
                self.account.translated(order, lpn, changes);
            }
            if changes && plan.lookup.is_some() {
                self.account.entry_changed(lpn);
            }
        }
        if let Some(lookup) = plan.lookup {
            let fetch = if plan.fetches { Some(set) } else { plan.shared_fetch };
            self.ftl.translated(lookup, lpn, (set, fetch), changes);
        }
        for (stage, wait) in plan.waits.iter().map_while(|known| *known) {
            if stage < plan.count {
                self.sets.connect(wait, set, stage);
            }
        }
        self.sets.list_by_lpn(set);
        if changes {
            self.sets.list_change(set);
        }
    }
}
