//! Flushes that begin together, and the map on flash that may hold them back.
//!
//! Lines of a group are flushed together, so that their programs fill a program unit.
//!
//! A flush looks its unit up when it begins, as a write does that is on flash when it is answered;
//! what the buffer alone serves looks nothing up. Where the map cache has no line to give now, the
//! flush does not begin, and its line stays dirty.
//!
//! No set waits for another in a circle. Map commands come first in a set and wait for map commands
//! of earlier sets only, so they always end. A put waits for earlier puts of its unit, and for a
//! line, that is for programs of sets that have been put; those wait for map commands, for reads of
//! old contents and for programs of such sets before them. What is left are slots: a write that
//! waits for a line holds one, and map commands of other sets may wait for it. So a flush never
//! waits for a set without a slot, and where it does not begin because of that, or for want of a
//! line of the map cache, all sets get one, beyond the depth. What a stalled flush misses then ends
//! by itself; at every instant at which anything ends it is tried again, before requests are
//! translated that might take its line.

use super::Buffer;
use super::batch::Batch;
use crate::handle::{LineId, SetId};
use crate::sets::{Sets, Stage, Wait};
use flashyard_core::graph::EdgeKind;
use flashyard_core::units::{Lpn, Time};

impl Buffer {
    /// The line that is flushed next. Lines stay dirty whose map entries cannot be had now:
    /// `stalls` says so, and whether for want of a line of the map cache. If no request has asked
    /// for it, those that are not fit stay so too; `is_queued` tells units that the oldest queued
    /// requests access.
    pub(crate) fn next_of_batch(
        &mut self,
        batch: &mut Batch,
        (sets, now): (&Sets, Time),
        is_queued: impl Fn(Lpn) -> bool,
        stalls: impl Fn(Lpn) -> Option<bool>,
    ) -> Option<LineId> {
        while batch.left > 0 {
            batch.left -= 1;
            let head = batch.head.take();
            // The group's first line, but for those that were passed over.
            let line = head.or_else(|| self.next_flush(batch.group, batch.passed));
            let fit = if batch.asked || head.is_some() {
                line
            } else {
                self.fit_line(line, batch.with_head, (sets, now), &is_queued)
            };
            let Some(line) = fit else { break };
            let Some(lacks_line) = stalls(self.lines[line].lpn) else {
                batch.outcome.any = true;
                batch.outcome.head |= head.is_some();
                return Some(line);
            };
            batch.outcome.stalled = true;
            batch.outcome.newly_stalled |= self.stall() && lacks_line;
            if head.is_none() {
                batch.passed = Some(line);
            }
        }
        batch.left = 0;
        None
    }

    /// The programs of sets begin when all of them can: each waits for the command before the
    /// program of every other one, and for map commands that such a program waits for. Nothing
    /// before a program waits for one of the group, so there is no circle. `asked` is whether a
    /// request asks for them; else the first one counts as a flush under way. Units are got one
    /// after the other, in this order, so that the last one of them is waited for; in whatever
    /// order a layer plans them, it `fills` programs and needs all of them.
    pub(crate) fn begin_together(
        &mut self,
        together: &[SetId],
        (asked, fills): (bool, bool),
        sets: &mut Sets,
    ) {
        if !asked && let Some(&leader) = together.first() {
            sets.lead_flush(leader);
            self.add_flush();
        }
        for &set in together {
            sets.asked_for(set, asked);
        }
        if together.len() < 2 {
            return;
        }
        let waits = &mut self.waits;
        for &set in together {
            let program = sets.stage_index(set, Stage::Program);
            if program > sets.commands_over(set)
                && (fills || sets.commands(set)[usize::from(program) - 1].0 != Stage::Buffer)
            {
                waits.push((set, Wait { source: set, stage: program - 1, kind: EdgeKind::Order }));
            }
            sets.waits_of(set, program, |wait| {
                if matches!(wait.kind, EdgeKind::MapFetch | EdgeKind::MapWriteback) {
                    waits.push((set, wait));
                }
            });
        }
        for (set, wait) in waits.drain(..) {
            for &other in together.iter().filter(|other| **other != set && **other != wait.source) {
                sets.connect(wait, other, sets.stage_index(other, Stage::Program));
            }
        }
        if !fills
            && let Some((&last, others)) = together.split_last()
            && sets.stage(last) == Stage::Buffer
            && sets[last].request().is_none()
        {
            let wait = Wait { source: last, stage: 0, kind: EdgeKind::Order };
            for &other in others {
                sets.connect(wait, other, sets.stage_index(other, Stage::Program));
            }
        }
    }
}
