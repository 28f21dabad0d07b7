//! What bus requests ask of the device: commands that wait are known to the scheduler, dies take
//! them in the order of their arrival where a bus policy wants that, requests are shown.

use super::Device;
use crate::flash::{Accepts, Request};
use crate::handle::SetId;
use crate::sets::Stage;
use flashyard_core::command::Op;
use flashyard_core::units::{DieId, Span};

impl Device {
    /// A command waits for a die from now on.
    #[cold]
    pub(super) fn command_arrives(&mut self, set: SetId, die: DieId) {
        let stage = self.sets.stage(set);
        let bytes = self.flash.channel_bytes(stage, self.codewords(set));
        self.flash.command_waits(die, stage.op(), bytes, self.now);
        if self.flash.gate().is_some() {
            self.queues.note_arrival(set);
        }
    }

    /// Plans the bus requests of the operation of `leader` that has just been put together.
    #[cold]
    pub(super) fn plan_requests(&mut self, leader: SetId, die: DieId, stage: Stage) {
        let op = stage.op();
        let (mut array, mut planes, mut bytes) = (Span::ZERO, 0, 0);
        self.for_riders(Some(leader), |device, set| {
            let state = &device.sets[set];
            if state.page_codewords > 0 {
                array = array.max(device.flash.array_time(op, state.ppn));
                bytes += device.flash.channel_bytes(stage, state.page_codewords);
                planes += 1;
            }
        });
        let array = self.array_time(leader, die, stage, array);
        let geometry = &self.settings.geometry;
        let pages = planes * if op == Op::Program { geometry.program_pages } else { 1 };
        let state = &self.sets[leader];
        let stream = state.request.map_or(0, |request| self.host[request].request.stream);
        let (block, page) = state.ppn.map_or((0, 0), |ppn| {
            let block = geometry.block_of(ppn).get() % geometry.blocks_per_plane;
            (block, geometry.page_in_block(ppn))
        });
        let (page_bytes, since) = (bytes.div_ceil(pages), state.enqueued);
        let request = Request { stream, since, block, page, pages, planes, page_bytes };
        let channel_ns = self.flash.plan_requests(die, array, &request, self.now);
        self.for_riders(Some(leader), |device, set| {
            device.sets.track_mut(set).channel_ns = channel_ns;
        });
        self.phases_began();
    }

    /// The array of a die is done with its operation, or the controller gets to know that.
    #[cold]
    pub(super) fn requests_array_done(&mut self, die: DieId) {
        let (finished, end) = self.flash.requests_array_done(die, self.now);
        if finished {
            self.account.array_over(self.now, die);
        }
        self.array_ended(die, &end);
    }

    /// Dies take commands in the order of their arrival, so many dies together.
    #[cold]
    pub(super) fn dispatch_in_order(&mut self, dies: u32) {
        let scopes = self.settings.geometry.dies() / dies;
        loop {
            let mut stirred = false;
            while self.queues.take_stirred().is_some() {
                stirred = true;
            }
            if !stirred {
                return;
            }
            for scope in 0..scopes {
                while self.failed.is_none() && self.dispatch_oldest(scope, scopes) {}
            }
        }
    }

    /// The oldest command that comes next at any die of a scope starts, if its die accepts it.
    /// Returns whether another one comes next then.
    fn dispatch_oldest(&mut self, scope: u32, scopes: u32) -> bool {
        let mut oldest = None;
        for die in (scope..self.settings.geometry.dies()).step_by(scopes as usize).map(DieId::new) {
            if let Some(set) = self.next_command(die) {
                let next = (self.queues.arrival(set), die);
                oldest = Some(oldest.map_or(next, |first| next.min(first)));
            }
        }
        let Some((_, die)) = oldest else { return false };
        let accepts = matches!(self.flash.accepts(die), Accepts::Anything);
        if accepts {
            self.dispatch_next(die);
        }
        accepts
    }

    /// Shows requests that have got a bus to those who watch.
    #[cold]
    pub(super) fn follow_requests(&mut self) {
        let recorded = self.account.records_power();
        while let Some(carried) = self.flash.next_carried() {
            if recorded && carried.until > carried.from {
                self.work.transfers.push((carried.from, carried.until));
            }
            if self.account.is_observed() {
                self.teller().tell_request(&carried);
            }
        }
        let (now, account) = (self.now, &mut self.account);
        self.work.transfers.retain(|&(from, until)| {
            if until <= now {
                account.record_transfer(from, until);
            }
            until > now
        });
    }
}
