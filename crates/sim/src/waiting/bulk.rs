//! Bulk copies: while nothing else can happen on the device before the next copy of a merge task is
//! over, its commands are done in place, without an event and a queue for each.
//!
//! What is left behind is what the events would have left: counts, the map, the command under way
//! with its times, the account of the merge task, which is charged with one long operation of the
//! same kind. A test compares the results of both ways.

use super::Waiting;
use crate::config::MultiPlane;
use crate::ftl::CopyRun;
use crate::handle::SetId;
use crate::metrics::counters::Work;
use crate::sets::Place;
use flashyard_core::command::Op;
use flashyard_core::units::{DieId, Time};

impl Waiting<'_> {
    /// Whether copies may run ahead at all on a device without a write buffer: nobody watches every
    /// command, commands take no channel and no other die, and requests that wait do not look at
    /// dies.
    pub(crate) fn may_copy_in_bulk(&self) -> bool {
        let keys = &self.settings.keys;
        self.ftl.planned().is_some_and(|planned| !planned.is_ordered() && !planned.spans())
            && !self.account.is_watched()
            && !self.queues.has_state()
            && !self.flash.suspends()
            && !self.flash.has_requests()
            && keys.channel.command_ns == 0
            && keys.channel.ps_per_byte == 0
            && !keys.nand.has_random_times()
            && !keys.retry.is_on()
            && !(self.flash.limits_power() || keys.firmware.stalls_programs())
            && keys.nand.multi_plane == MultiPlane::None
            && self.host.policy().in_order()
    }

    /// Nothing but dies and channels is due before `others`: where the next completion is that of a
    /// task, that goes on as far as it may.
    pub(crate) fn copy_in_bulk(&mut self, others: Time) {
        let Some((die, due)) = self.flash.next_die().filter(|next| next.1 < others) else { return };
        let Some(set) = self.flash.operation(die, Place::Array).leader() else { return };
        let alone = self.queues.is_empty(die) && !self.flash.operation(die, Place::Output).serves();
        if !alone || self.sets.stage(set).op() == Op::Erase {
            return;
        }
        let limit = others.min(self.flash.next_due_beside(die));
        if due < limit {
            self.copy_until(set, die, limit);
        }
    }

    /// Goes on with the copies of a merge task until `limit`.
    fn copy_until(&mut self, set: SetId, die: DieId, limit: Time) {
        let operation = self.flash.operation(die, Place::Array);
        let run = CopyRun { op: operation.op(), began: operation.began(), span: operation.array() };
        let flash = &*self.flash;
        let array_time = |op, ppn| flash.array_time(op, Some(ppn), false);
        let done = self.ftl.copy_in_bulk((set, run, limit), self.sets, array_time);
        let Some(done) = done else { return };
        self.queues.skip_insertions(done.ops[0] + done.ops[1]);
        let (phase, charge) = (self.host.phase(), self.sets[set].charge());
        for (at, (op, purpose)) in done.purposes.into_iter().enumerate() {
            let (ops, array_ns) = (done.ops[at], done.array_ns[at]);
            let work = Work { ops, pages: ops, array_ns, transfer_ns: 0 };
            self.account.worked(phase, (op.into(), purpose), charge, &work);
        }
        self.account.copies_superseded(done.superseded);
        self.flash.replace_array(die, done.now.op, done.now.began, done.now.span);
    }
}
