//! Translation: from a page of a request, or a dirty line, to a command set and what it waits for;
//! how units come into the write buffer, from its start on.
//!
//! All effects on the map cache happen here, in the order of requests and pages. Source of the
//! rules: Lee et al., IEEE Access 2021; what the paper leaves open is a key of `[map]`.
//!
//! It holds nothing. The device lends it what a plan depends on: the map, the sets under way, the
//! buffer, requests, and the account that counts.

#![expect(
    clippy::inline_always,
    reason = "a step of each command; a call costs as much as it does"
)]

mod access;
mod barrier;
mod buffered;
mod first;
mod flush;
mod map;
pub(crate) mod put;

use crate::account::Account;
use crate::ahead::LinesOfReads;
use crate::buffer::Buffer;
use crate::config::Settings;
use crate::ftl::{Ftl, Plan, Todo};
use crate::handle::{RequestId, SetId};
use crate::host::Host;
use crate::sets::{Access, Does, Origin, Sets, Stage};
use flashyard_core::request::{Flags, RequestOp};
use flashyard_core::units::{Lpn, Time};

/// What is lent for a translation.
pub(crate) struct Translation<'a> {
    pub(crate) now: Time,
    pub(crate) settings: &'a Settings,
    pub(crate) sets: &'a mut Sets,
    pub(crate) ftl: &'a mut Ftl,
    pub(crate) buffer: Option<&'a mut Buffer>,
    pub(crate) host: &'a mut Host,
    pub(crate) account: &'a mut Account,
    /// What the translation layer leaves to be done.
    pub(crate) todo: &'a mut Vec<Todo>,
}

impl Translation<'_> {
    /// Plans one page access: the commands of its set, and what they wait for. `None` where the map
    /// cache stalls.
    #[inline(always)]
    pub(crate) fn plan_page(
        &mut self,
        handle: RequestId,
        page: u32,
        plan: &mut Plan,
    ) -> Option<Access> {
        let lpn = self.host[handle].begin_page(page);
        let op = self.page_op(handle, lpn);
        let lpn = if op == RequestOp::Trim { self.ftl.trimmed_unit(lpn, page) } else { lpn };
        if self.ftl.has_cache()
            && self.lend().needs_entry(handle, op, lpn)
            && !self.lend().plan_map(plan, lpn)
        {
            self.host[handle].stall(true, self.now);
            return None;
        }
        self.host[handle].stall(false, self.now);
        self.plan_data(plan, handle, op, lpn);
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
        Some(Access { origin, lpn, does, map: plan.map })
    }

    /// Makes the set of a page access that has been planned.
    #[inline(always)]
    pub(crate) fn make_set(&mut self, access: &Access, plan: &Plan) -> SetId {
        let (handle, stages) = (access.origin.request, plan.stages());
        self.host.access_begins(handle);
        if self.host.limits_dies() && !stages.iter().any(|(stage, _)| stage.ends_access()) {
            self.host.left_die(handle, access.lpn);
        }
        let set = self.sets.add_access(self.now, access, stages);
        self.host.charge_until(self.now, handle, self.sets.track_mut(set).earlier());
        if matches!(access.does, Does::Trim)
            && let Some(block) = self.ftl.unit_named(access.lpn)
        {
            self.sets.bind(set, block);
        }
        self.enlist(set, plan);
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

    #[inline]
    fn plan_data(&mut self, plan: &mut Plan, handle: RequestId, op: RequestOp, lpn: Lpn) {
        match op {
            RequestOp::Read | RequestOp::Write if self.buffer.is_some() => {
                self.lend().plan_buffered(plan, handle, op, lpn);
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

    /// The same, for steps that few accesses take: only these have it in memory.
    fn lend(&mut self) -> Translation<'_> {
        let Self { now, settings, sets, ftl, buffer, host, account, todo } = self;
        let (now, buffer) = (*now, buffer.as_deref_mut());
        Translation { now, settings, sets, ftl, buffer, host, account, todo }
    }

    fn buffer(&self) -> &Buffer {
        self.buffer.as_deref().expect("there is a buffer")
    }

    fn buffer_mut(&mut self) -> &mut Buffer {
        self.buffer.as_deref_mut().expect("there is a buffer")
    }

    /// What is lent for lines of reads.
    #[inline]
    pub(crate) fn lines_of_reads(&mut self) -> LinesOfReads<'_> {
        let Self { now, settings, sets, ftl, host, account, .. } = self;
        let buffer = self.buffer.as_deref_mut().expect("there is a buffer");
        LinesOfReads { now: *now, settings, sets, ftl, buffer, host, account }
    }
}
