//! Plans of page accesses where there is a write buffer.
//!
//! A page access of the host begins with [`Stage::Buffer`] where the buffer serves it. A write puts
//! its unit there as soon as a line is free, in the order of slots; answered from the buffer it is
//! over then, else its own program follows.

use super::Translation;
use crate::ahead::Ahead;
use crate::buffer::{Found, Lines, latest_unput};
use crate::config::PartialWrite;
use crate::ftl::Plan;
use crate::handle::{RequestId, SetId};
use crate::host::Host;
use crate::sets::{Stage, Wait};
use flashyard_core::graph::EdgeKind;
use flashyard_core::request::RequestOp;
use flashyard_core::units::Lpn;

impl Translation<'_> {
    /// Whether a page access needs its map entry before it can be translated: not where the buffer
    /// alone serves it, whose flush looks it up.
    pub(super) fn needs_entry(&self, handle: RequestId, op: RequestOp, lpn: Lpn) -> bool {
        self.buffer.is_none()
            || match op {
                RequestOp::Read => {
                    matches!(self.find_read(handle, lpn), Found::Line(_, false) | Found::Nothing)
                }
                RequestOp::Write => self.settings.is_durable(self.host[handle].request().flags),
                RequestOp::Trim | RequestOp::Flush => true,
            }
    }

    /// The commands of a read or write of a page where there is a buffer.
    pub(super) fn plan_buffered(
        &mut self,
        plan: &mut Plan,
        handle: RequestId,
        op: RequestOp,
        lpn: Lpn,
    ) {
        if op == RequestOp::Read {
            return self.plan_buffered_read(plan, handle, lpn);
        }
        let request = *self.host[handle].request();
        let trimmed = self.trim_under_way(lpn);
        if (self.ftl.has_cache() || trimmed.is_some())
            && let Some(write) = latest_unput(self.sets, lpn)
        {
            // It may have map commands to do first, or a trim to wait for.
            plan.wait(write, self.sets.stage_index(write, Stage::Buffer), EdgeKind::Order);
        } else if let Some(trim) = trimmed
            && self.sets.changes_of(lpn).next() == Some(trim)
            && self.settings.is_partial(&request, lpn)
        {
            // The line has lost what the trim forgets by then, and the part does not join it.
            plan.wait(trim, self.sets.last_stage(trim), EdgeKind::Order);
        }
        plan.push(Stage::Buffer, self.ftl.plane_of_lpn(lpn));
        if self.settings.is_durable(request.flags) {
            self.plan_write(plan, handle, lpn);
        } else if self.settings.keys.ftl.partial_write == PartialWrite::Bitmap {
            let covered = self.settings.covered(&request, lpn);
            self.ftl.cover(lpn, covered);
        }
    }

    /// The latest trim of a unit that is under way, on a device that keeps the rest of a unit.
    fn trim_under_way(&self, lpn: Lpn) -> Option<SetId> {
        let keeps = self.settings.keys.ftl.partial_write != PartialWrite::Ignore;
        keeps.then(|| self.sets.changes_of(lpn).find(|&set| self.sets[set].trims()))?
    }

    /// A read gets what the buffer holds now; it waits with a write of its unit that waits for a
    /// line.
    fn plan_buffered_read(&mut self, plan: &mut Plan, handle: RequestId, lpn: Lpn) {
        let plane = self.ftl.plane_of_lpn(lpn);
        if self.settings.keys.buffer.reads_ahead()
            && let Some(ahead) = self.lines_of_reads().find(handle, lpn)
        {
            if let Ahead::Coming(Wait { source, stage, kind }) = ahead {
                plan.wait(source, stage, kind);
            }
            return plan.push(Stage::Buffer, plane);
        }
        let access = (self.host[handle].order(), self.host[handle].page());
        let (line, enough) = match self.find_read(handle, lpn) {
            Found::Write(write) => {
                let version = self.sets.number(write);
                plan.wait(write, self.sets.stage_index(write, Stage::Buffer), EdgeKind::Order);
                let whole = self.writes_all(write, handle, lpn) || self.is_first_of(write, lpn);
                self.account.buffer_looked_up(whole);
                self.account.buffer_read(access, lpn, version, false);
                if whole {
                    plan.push(Stage::Buffer, plane);
                } else {
                    self.plan_read(plan, lpn);
                }
                return;
            }
            Found::Nothing => {
                self.account.buffer_looked_up(false);
                return self.plan_read(plan, lpn);
            }
            Found::Line(line, enough) => (line, enough),
        };
        let found = self.buffer_mut().read(line);
        let (version, of_flash) = (found.version, found.is_of_flash());
        // What was never written needs no array.
        let whole = enough || self.ftl.locate(lpn).is_none();
        if of_flash {
            self.account.allocated_read(access, lpn);
        } else {
            self.account.buffer_read(access, lpn, version, true);
        }
        self.account.buffer_looked_up(whole);
        if whole {
            plan.push(Stage::Buffer, plane);
        } else {
            self.plan_read(plan, lpn);
        }
    }

    /// The host is told which units have come into the buffer and left it.
    pub(crate) fn follow_buffer(&mut self) {
        let Some(buffer) = self.buffer.as_deref_mut() else { return };
        let changes = buffer.take_changes();
        self.host.follow_buffer(&changes, |lpn| buffer.lines().find(lpn).is_some());
        buffer.return_changes(changes);
    }

    /// Where a policy that starts pages starts nothing: whether the oldest request waits for a line
    /// that has to be flushed first. That time is the flush's.
    pub(crate) fn note_line_wait(&mut self) {
        let (Some(buffer), Some(handle)) = (self.buffer.as_deref(), self.host.oldest()) else {
            return;
        };
        if !self.host.policy().by_pages() {
            return;
        }
        if !lacks_line(self.host, handle, buffer.lines()) {
            return self.end_line_wait(handle);
        }
        let request = &mut self.host[handle];
        if !request.awaits_flush() {
            request.await_flush(true, self.now);
            self.account.buffer_stalled();
        }
    }

    /// A request whose pages are started one by one no longer waits for a line.
    pub(crate) fn end_line_wait(&mut self, handle: RequestId) {
        let request = &mut self.host[handle];
        if !request.request().starts_whole() {
            request.await_flush(false, self.now);
        }
    }

    /// What the buffer has for a read, or is about to get.
    fn find_read(&self, handle: RequestId, lpn: Lpn) -> Found {
        let wanted = self.settings.covered(self.host[handle].request(), lpn);
        self.buffer().find(lpn, &wanted, self.sets)
    }

    /// Whether a unit is nowhere but in a write that is about to be put. A line or a change of it
    /// before that may be on flash, and gone from the buffer, when the write is put.
    fn is_first_of(&self, write: SetId, lpn: Lpn) -> bool {
        self.ftl.locate(lpn).is_none()
            && self.buffer().lines().find(lpn).is_none()
            && self.sets.changes_of(lpn).all(|set| set == write || self.sets[set].trims())
    }

    /// Whether a write that is about to be put has all that a read wants. What the line of its unit
    /// holds by now does not count, for it may be gone by then.
    fn writes_all(&self, write: SetId, read: RequestId, lpn: Lpn) -> bool {
        if self.settings.keys.ftl.partial_write == PartialWrite::Ignore {
            return true;
        }
        let written = self.settings.covered(self.host[self.sets[write].owner()].request(), lpn);
        let wanted = self.settings.covered(self.host[read].request(), lpn);
        written.start <= wanted.start && wanted.end <= written.end
    }
}

/// Whether a write that a policy starts page by page finds no line for its next page.
fn lacks_line(host: &Host, handle: RequestId, lines: &Lines) -> bool {
    let (request, page) = (&host[handle], host.unstarted_page(handle, 0));
    let writes = request.request().op == RequestOp::Write && !request.request().starts_whole();
    let waits = writes && !request.is_stalled() && !lines.has_room();
    waits && page.is_some_and(|page| lines.find(request.lpn_of(page)).is_none())
}
