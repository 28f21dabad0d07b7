//! The write buffer before a map on flash.
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

use super::Device;
use crate::buffer::Found;
use crate::ftl::line_cache::Lookup;
use crate::handle::{RequestId, SetId};
use crate::sets::Mode;
use flashyard_core::request::RequestOp;
use flashyard_core::units::Lpn;

impl Device {
    /// Whether a page access needs its map entry before it can be translated: not where the buffer
    /// alone serves it, whose flush looks it up.
    pub(super) fn needs_entry(&self, handle: RequestId, op: RequestOp, lpn: Lpn) -> bool {
        self.ftl.has_cache()
            && (self.buffer.is_none()
                || match op {
                    RequestOp::Read => {
                        matches!(
                            self.find_read(handle, lpn),
                            Found::Line(_, false) | Found::Nothing
                        )
                    }
                    RequestOp::Write => self.is_durable(self.host[handle].request.flags),
                    RequestOp::Trim | RequestOp::Flush => true,
                })
    }

    /// What the buffer has for a read, or is about to get.
    pub(super) fn find_read(&self, handle: RequestId, lpn: Lpn) -> Found {
        let wanted = self.covered(&self.host[handle].request, lpn);
        self.write_buffer().find(lpn, &wanted, &self.sets)
    }

    /// Whether the flush of a unit cannot begin now: no line of the map cache can be given, or it
    /// would wait for a set without a slot.
    pub(super) fn flush_stalls(&mut self, lpn: Lpn) -> bool {
        let Some(stalled) = self.ftl.map_stalls(lpn, |set| self.waits_for_slot(set)) else {
            return false;
        };
        let new = self.write_buffer_mut().stall();
        if stalled == Lookup::Stall && new {
            self.account.map_stalled();
        }
        true
    }

    /// Whether a set that writes or fetches a map page waits for a slot, or for one that does. Only
    /// rewrites of map pages can come between: flushes do not wait for sets without a slot.
    fn waits_for_slot(&self, set: SetId) -> bool {
        let mut at = set;
        loop {
            let state = &self.sets[at];
            if state.request.is_some() {
                return state.mode == Mode::Slotless && !state.slotted;
            }
            match self.sets.first_wait(at) {
                Some(wait) if state.mode == Mode::Waiting => at = wait.source,
                _ => return false,
            }
        }
    }
}
