//! A die takes a command: the operation is put together, and its phases are planned.

use super::Device;
use crate::flash::Request;
use crate::handle::SetId;
use crate::sets::{Collects, Mode, Place, Stage};
use flashyard_core::command::Op;
use flashyard_core::units::{DieId, Ppn, Span};

impl Device {
    /// The die takes a command, and with it whatever else one operation can serve.
    #[inline]
    pub(super) fn start(&mut self, set: SetId, die: DieId, ppn: Option<Ppn>) {
        // For the commonest kind all that depends on the kind is known when this is compiled.
        match self.sets.stage(set) {
            Stage::Read => self.start_as(Stage::Read, set, die, ppn),
            stage => self.start_as(stage, set, die, ppn),
        }
    }

    #[inline(always)]
    #[expect(clippy::inline_always, reason = "compiled for each of its two callers")]
    fn start_as(&mut self, stage: Stage, set: SetId, die: DieId, ppn: Option<Ppn>) {
        let op = stage.op();
        let slc = self.flash.has_slc() && self.ftl.is_slc(ppn);
        let collects = Collects::of(stage.purpose(false));
        self.flash.take(die, set, (op, collects, slc), self.now);
        if self.short_road {
            self.sets.track_mut(set).taken(self.flash.busy(die, self.now), self.now);
        } else {
            self.take_power(die, op);
            self.ledger().enter(set, Mode::Running);
        }
        self.waiting().board_as(stage, set, ppn, true);
        if !self.short_road {
            self.account.started(self.now, die, op);
            if self.account.is_followed() {
                self.teller().tell_operation(set, die);
            }
        }
        if self.queues.gathers() {
            self.gather(set, die, ppn);
        }
        self.plan_operation(set, die, stage);
        if !self.short_road && self.account.is_checked() {
            self.check_pages(set);
        }
        if op == Op::Program && self.ftl.is_paced() {
            self.owe_copies(set);
        }
    }

    /// A die takes the power of the command that it has taken.
    fn take_power(&mut self, die: DieId, op: Op) {
        if self.flash.limits_power() {
            let waited = self.flash.take_power(die, op, self.now);
            self.power_granted(die, waited);
        }
    }

    /// Plans the phases of the operation of `leader` that has just been put together.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "compiled for a kind that is known")]
    fn plan_operation(&mut self, leader: SetId, die: DieId, stage: Stage) {
        let state = &self.sets[leader];
        let (rider, ppn, page_codewords) = (state.rider(), state.ppn(), state.page_codewords());
        if rider.is_some() || self.flash.varies() || self.flash.has_requests() {
            return self.plan_together(leader, die, stage);
        }
        let array = self.flash.array_time(stage.op(), ppn, false);
        let data_ns = self.flash.channel_ns(stage, page_codewords, false);
        let channel_ns = self.flash.plan(die, array, data_ns, self.now);
        self.sets.track_mut(leader).takes_channel(channel_ns);
        self.phases_began();
    }

    /// The same where the operation serves several sets, or its time is not that of its page.
    #[inline(never)]
    fn plan_together(&mut self, leader: SetId, die: DieId, stage: Stage) {
        if self.flash.has_requests() {
            return self.plan_requests(leader, die, stage);
        }
        let (op, slc) = (stage.op(), self.flash.operation(die, Place::Array).slc());
        let (mut array, mut data_ns) = (Span::ZERO, 0);
        self.for_riders(Some(leader), |device, set| {
            let state = &device.sets[set];
            if state.page_codewords() > 0 {
                array = array.max(device.flash.array_time(op, state.ppn(), slc));
                data_ns += device.flash.channel_ns(stage, state.page_codewords(), slc);
            }
        });
        if self.flash.reads_vary() {
            array = self.array_time(leader, die, stage, array);
        }
        let channel_ns = self.flash.plan(die, array, data_ns, self.now);
        self.for_riders(Some(leader), |device, set| {
            device.sets.track_mut(set).takes_channel(channel_ns);
        });
        self.phases_began();
    }

    /// Plans the bus requests of the operation of `leader` that has just been put together.
    #[cold]
    fn plan_requests(&mut self, leader: SetId, die: DieId, stage: Stage) {
        let (op, slc) = (stage.op(), self.flash.operation(die, Place::Array).slc());
        let (mut array, mut planes, mut bytes) = (Span::ZERO, 0, 0);
        self.for_riders(Some(leader), |device, set| {
            let state = &device.sets[set];
            if state.page_codewords() > 0 {
                array = array.max(device.flash.array_time(op, state.ppn(), slc));
                bytes += device.flash.channel_bytes(stage, state.page_codewords(), slc);
                planes += 1;
            }
        });
        let array = self.array_time(leader, die, stage, array);
        let geometry = &self.settings.geometry;
        let one_shot = op == Op::Program && !slc;
        let pages = planes * if one_shot { geometry.program_pages } else { 1 };
        let state = &self.sets[leader];
        let stream = state.request().map_or(0, |request| self.host[request].request().stream);
        let (block, page) = state.ppn().map_or((0, 0), |ppn| {
            let block = geometry.block_of(ppn).get() % geometry.blocks_per_plane;
            (block, geometry.page_in_block(ppn))
        });
        let (page_bytes, since) = (bytes.div_ceil(pages), state.enqueued());
        let request = Request { stream, since, block, page, pages, planes, page_bytes };
        let channel_ns = self.flash.plan_requests(die, array, &request, self.now);
        self.for_riders(Some(leader), |device, set| {
            device.sets.track_mut(set).takes_channel(channel_ns);
        });
        self.phases_began();
    }

    /// The typical time in the array of the operation of `leader`, which takes `of_pages` if it
    /// needs whole pages: a read takes as long as the slowest of its pages, and a page of which few
    /// bytes are needed takes less. Draws how often the pages of a read are sensed again.
    #[cold]
    fn array_time(&mut self, leader: SetId, die: DieId, stage: Stage, of_pages: Span) -> Span {
        if stage.op() != Op::Read {
            return of_pages;
        }
        let mut slowest = Span::ZERO;
        self.for_riders(Some(leader), |device, set| {
            let state = &device.sets[set];
            let (ppn, codewords, read) = (state.ppn(), state.page_codewords(), state.origin());
            if codewords > 0 {
                let blocks = device.ftl.blocks();
                let block = ppn.map(|ppn| device.settings.geometry.block_of(ppn));
                let erases = block.map_or(0, |block| blocks.erases_of(block));
                let read = read.filter(|_| stage == Stage::Read);
                let kind = (stage, read.map(|read| (read.order, read.page)));
                slowest = slowest.max(device.flash.sense(die, kind, ppn, codewords, erases));
            }
        });
        slowest
    }

    /// With pacing, an operation that programs has begun on a die: what it writes owes copies.
    fn owe_copies(&mut self, leader: SetId) {
        self.for_riders(Some(leader), |device, set| {
            let (charge, state) = (device.sets[set].charge(), &device.sets[set]);
            if state.page_codewords() > 0 && !device.sets.stage(set).is_copy() {
                let (plane, charge) = (device.sets.plane(set), device.host.charge_of(charge));
                device.let_ftl(|ftl, lent| ftl.block_taken(plane, charge, true, lent));
            }
        });
    }

    /// Shows the checker every page of an operation.
    fn check_pages(&mut self, leader: SetId) {
        let slc = self.flash.operation(self.sets.die(leader), Place::Array).slc();
        self.for_riders(Some(leader), |device, set| {
            let (state, stage) = (&device.sets[set], device.sets.stage(set));
            let read = state.origin().filter(|_| stage == Stage::Read);
            let read = read.map(|read| (state.lpn(), (read.order, read.page)));
            let work = (stage.op(), slc);
            device.account.touched(device.sets.plane(set), work, state.ppn(), read);
            if stage == Stage::OldRead {
                device.account.old_read(state.lpn(), device.sets.number(set));
            }
            device.show_map_write(set);
        });
    }

    /// Shows the checker the command of a set that reads or writes a map page.
    fn show_map_write(&mut self, set: SetId) {
        match self.sets.stage(set) {
            Stage::EvictRead | Stage::RewriteRead => {
                self.account.map_page_read(set, self.sets[set].map_page());
            }
            Stage::Writeback | Stage::RewriteProgram => {
                let (page, mut entries) = (self.sets[set].map_page(), Vec::new());
                self.ftl.covered_entries(page, set, |lpn| entries.push(lpn));
                self.account.map_page_begun(set, page, &entries);
            }
            _ => {}
        }
    }

    /// A die has left the line for power, if it stood there for some time.
    pub(super) fn power_granted(&mut self, die: DieId, waited: Span) {
        self.account.power_granted(waited);
        if waited > Span::ZERO && self.account.is_followed() {
            self.teller().tell_power(die, waited);
        }
    }
}
