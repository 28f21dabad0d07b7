//! What bus requests ask of the device: commands that wait are known to the scheduler, dies take
//! them in the order of their arrival where a bus policy wants that, requests are shown.

use super::Device;
use crate::flash::{Accepts, Request};
use crate::handle::SetId;
use crate::observe::BusTransfer;
use crate::sets::{Place, Stage};
use flashyard_core::bus::request::BusKind;
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

    /// Time since the operation of a set began or was resumed that it waited for the channel, and
    /// that its array was done and the controller did not know.
    #[cold]
    pub(super) fn wire_time(&self, set: SetId) -> [u64; 2] {
        let wire = self.flash.wire(self.current_die(set), self.sets[set].place);
        wire.map_or([0; 2], |wire| wire.totals(self.now))
    }

    /// Time of a share of the planes of a set's operation on the bus.
    #[cold]
    pub(super) fn wire_share(&self, set: SetId, die: DieId, leads: bool) -> u64 {
        let wire = self.flash.wire(die, self.sets[set].place);
        wire.map_or(0, |wire| wire.share_ns(leads))
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
            let leader = self.leader_of(carried.die, carried.place);
            let Some(leader) = leader.filter(|_| self.account.is_observed()) else { continue };
            let state = &self.sets[leader];
            let event = BusTransfer {
                command: self.command_name(leader),
                purpose: self.sets.stage(leader).purpose(state.copies_map, state.levels),
                request: carried.request,
                die: carried.die,
                start: carried.from,
                end: carried.until,
                ready: (carried.request.kind == BusKind::Status).then_some(carried.ready),
            };
            self.account.tell(&event);
        }
        let (now, account) = (self.now, &mut self.account);
        self.work.transfers.retain(|&(from, until)| {
            if until <= now {
                account.record_transfer(from, until);
            }
            until > now
        });
    }

    /// The set that leads the operation of a die whose request has just been sent.
    fn leader_of(&self, die: DieId, place: Place) -> Option<SetId> {
        let at = |place| self.flash.operation(die, place).leader;
        // The loop of the framework may send data before the time at which the page register has
        // them.
        at(place).or_else(|| at(Place::Array))
    }
}
