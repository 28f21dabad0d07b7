//! What dies and channels do with the commands of sets: an operation begins, its phases pass, it is
//! suspended and goes on.

use super::Device;
use crate::config::ReadAllocate;
use crate::flash::{ArrayEnd, Power, Suspension};
use crate::handle::SetId;
use crate::host::Timer;
use crate::sets::{Mode, Operation, Place, Set, Stage};
use flashyard_core::command::Op;
use flashyard_core::units::{DieId, PlaneId, Ppn, Span, Time};

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
        self.flash.take(die, set, op, stage.purpose(false, false).is_gc(), self.now);
        if self.short_road {
            let (busy, ordered) = (self.flash.busy(die, self.now), self.flash.gate().is_some());
            let track = self.sets.track_mut(set);
            let waited = self.now.since(track.since).as_ns();
            track.charge_queued(busy, waited, ordered);
            track.since = self.now;
        } else {
            self.take_power(die, op);
            self.ledger().enter(set, Mode::Running);
        }
        self.board_as(stage, set, ppn, true);
        if !self.short_road {
            self.account.started(self.now, die, op);
            if self.account.is_followed() {
                self.teller().tell_operation(set, die);
            }
        }
        if self.gathers {
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

    /// One more set's command is on the die: the first of its page, or one more unit of it.
    #[inline]
    pub(super) fn board(&mut self, set: SetId, ppn: Option<Ppn>, heads_page: bool) {
        self.ledger().enter(set, Mode::Running);
        self.board_as(self.sets.stage(set), set, ppn, heads_page);
    }

    /// A command of this kind is on the die; its account has been told.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "compiled for a kind that is known")]
    fn board_as(&mut self, stage: Stage, set: SetId, ppn: Option<Ppn>, heads_page: bool) {
        let page_codewords = if heads_page { self.codewords(set) } else { 0 };
        let state = &mut self.sets[set];
        (state.mode, state.place, state.started) = (Mode::Running, Place::Array, self.now);
        (state.ppn, state.rider, state.page_codewords) = (ppn, None, page_codewords);
        let lpn = state.lpn;
        if stage == Stage::Read && self.sets.is_changed_before(lpn, self.sets.number(set)) {
            self.account.data_hazard_ignored();
        }
    }

    /// How many codewords of its mapping unit a command moves: of a host read whose unit does not
    /// go into the write buffer those that it asks for, of anything else all of them.
    #[inline]
    pub(super) fn codewords(&self, set: SetId) -> u32 {
        let of_unit = self.flash.codewords();
        let whole = of_unit == 1
            || self.sets.stage(set) != Stage::Read
            || self.settings.keys.buffer.read_allocate != ReadAllocate::Never;
        if whole { of_unit } else { self.codewords_asked(set, of_unit) }
    }

    /// How many of the codewords of its mapping unit a host read asks for, at least one.
    fn codewords_asked(&self, set: SetId, of_unit: u32) -> u32 {
        let state = &self.sets[set];
        let asked = self.settings.covered(&self.host[state.owner()].request, state.lpn);
        let sectors = u64::from(self.settings.geometry.unit_sectors() / of_unit);
        let count = asked.end.div_ceil(sectors).saturating_sub(asked.start / sectors).max(1);
        u32::try_from(count).expect("at most those of a unit")
    }

    /// Plans the phases of the operation of `leader` that has just been put together.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "compiled for a kind that is known")]
    fn plan_operation(&mut self, leader: SetId, die: DieId, stage: Stage) {
        let Set { rider, ppn, page_codewords, .. } = self.sets[leader];
        if rider.is_some() || self.flash.reads_vary() || self.flash.has_requests() {
            return self.plan_together(leader, die, stage);
        }
        let array = self.flash.array_time(stage.op(), ppn);
        let data_ns = self.flash.channel_ns(stage, page_codewords);
        self.sets.track_mut(leader).channel_ns = self.flash.plan(die, array, data_ns, self.now);
        self.phases_began();
    }

    /// The same where the operation serves several sets, or its time is not that of its page.
    #[inline(never)]
    fn plan_together(&mut self, leader: SetId, die: DieId, stage: Stage) {
        if self.flash.has_requests() {
            return self.plan_requests(leader, die, stage);
        }
        let op = stage.op();
        let (mut array, mut data_ns) = (Span::ZERO, 0);
        self.for_riders(Some(leader), |device, set| {
            let state = &device.sets[set];
            if state.page_codewords > 0 {
                array = array.max(device.flash.array_time(op, state.ppn));
                data_ns += device.flash.channel_ns(stage, state.page_codewords);
            }
        });
        if self.flash.reads_vary() {
            array = self.array_time(leader, die, stage, array);
        }
        let channel_ns = self.flash.plan(die, array, data_ns, self.now);
        self.for_riders(Some(leader), |device, set| {
            device.sets.track_mut(set).channel_ns = channel_ns;
        });
        self.phases_began();
    }

    /// The typical time in the array of the operation of `leader`, which takes `of_pages` if it
    /// needs whole pages: a read takes as long as the slowest of its pages, and a page of which few
    /// bytes are needed takes less. Draws how often the pages of a read are sensed again.
    #[cold]
    pub(super) fn array_time(
        &mut self,
        leader: SetId,
        die: DieId,
        stage: Stage,
        of_pages: Span,
    ) -> Span {
        if stage.op() != Op::Read {
            return of_pages;
        }
        let mut slowest = Span::ZERO;
        self.for_riders(Some(leader), |device, set| {
            let (ppn, codewords) = (device.sets[set].ppn, device.sets[set].page_codewords);
            if codewords > 0 {
                let blocks = device.ftl.blocks();
                let block = ppn.map(|ppn| device.settings.geometry.block_of(ppn));
                let erases = block.map_or(0, |block| blocks.erase_counts()[block.index()]);
                slowest = slowest.max(device.flash.sense(die, stage, ppn, codewords, erases));
            }
        });
        slowest
    }

    /// Phases have got the channel: the checker sees them, and reads that wait behind programs and
    /// erases ask for their suspension.
    #[inline]
    pub(super) fn phases_began(&mut self) {
        if self.flash.has_news() {
            self.follow_phases();
        }
    }

    fn follow_phases(&mut self) {
        while let Some(transfer) = self.flash.next_transfer() {
            let (span, out) = ((transfer.from, transfer.until), transfer.place == Place::Output);
            self.account.transferred(transfer.channel, transfer.die, span, out);
            if self.account.is_followed() {
                self.teller().tell_channel(&transfer);
            }
        }
        if self.flash.has_requests() {
            self.follow_requests();
        }
        while let Some(die) = self.flash.next_granted() {
            self.suspend_for_read(die);
        }
    }

    /// A die is due: its array, its page register, or both.
    #[inline]
    pub(super) fn die_event(&mut self, die: DieId) {
        let (array, output) = self.flash.take_due(die, self.now);
        if array {
            self.array_done(die);
        }
        if output {
            let operation = self.flash.output_done(die, self.now);
            self.operation_over(&operation, die);
            if self.flash.register_free(die, self.now) {
                self.released(die);
            }
        }
    }

    /// The array of a die is done with its operation, or on its way from a suspended one.
    #[inline]
    fn array_done(&mut self, die: DieId) {
        if self.flash.has_requests() {
            return self.requests_array_done(die);
        }
        let end = self.flash.array_done(die, self.now);
        if !matches!(end, ArrayEnd::Paused) {
            self.account.array_over(self.now, die);
        }
        self.array_ended(die, &end);
    }

    /// What becomes of the operation in the array of a die.
    #[inline]
    pub(super) fn array_ended(&mut self, die: DieId, end: &ArrayEnd) {
        match end {
            ArrayEnd::Paused => self.queues.stir(die),
            ArrayEnd::Over(operation) => self.operation_over(operation, die),
            ArrayEnd::Released => self.released(die),
            ArrayEnd::Unknown | ArrayEnd::Held => {}
        }
    }

    /// What the array has sensed is in the page register and goes on to the channel. With cache
    /// read the command that senses on goes first, and the data follow while the array works.
    #[inline]
    fn released(&mut self, die: DieId) {
        self.account.released(die);
        let leader = self.flash.operation(die, Place::Output).leader;
        self.for_riders(leader, |device, set| device.sets[set].place = Place::Output);
        if self.flash.reads_ahead() && !self.is_unwanted(die) {
            self.dispatch(die);
            self.stir(die);
        }
        self.flash.send_out(die, self.now);
        self.phases_began();
    }

    /// A program or an erase makes way for a read that would be served next, if it may.
    pub(super) fn suspend_for_read(&mut self, die: DieId) {
        if !self.flash.is_suspendable(die, self.now) {
            return;
        }
        let next = self.next_command(die).filter(|&set| !self.sets[set].in_gc_queue);
        if next.is_none_or(|set| self.sets.stage(set).op() != Op::Read) {
            return;
        }
        if self.ftl.holds_reads() && self.writes_wait(die) {
            return;
        }
        match self.flash.suspend(die, self.now) {
            Suspension::No => {}
            Suspension::Later(at) => self.host.timers.set(at, Timer::Suspendable(die)),
            Suspension::Begun(operation, ready) => self.suspended(die, &operation, ready),
        }
    }

    /// Whether writes wait for lines of the buffer or, without one, programs of the die for copies.
    fn writes_wait(&self, die: DieId) -> bool {
        if let Some(buffer) = &self.buffer {
            return buffer.first_waiting().is_some();
        }
        let geometry = &self.settings.geometry;
        let first = geometry.first_plane(die).get();
        let mut planes = (first..first + geometry.planes).map(PlaneId::new);
        planes.any(|plane| self.ftl.is_held(plane, &self.sets))
    }

    /// The operation of a die has been suspended; the array is free at `ready`.
    fn suspended(&mut self, die: DieId, operation: &Operation, ready: Time) {
        self.account.operation_suspended();
        if self.account.records_power() {
            let mut planes = 0;
            self.for_riders(operation.leader, |device, set| {
                planes += u64::from(device.sets[set].page_codewords > 0);
            });
            self.account.record_suspended(self.now, die, operation, planes);
        }
        self.account.suspended(self.now, die, false);
        self.for_riders(operation.leader, |device, set| {
            device.ledger().close_with(set, operation);
            device.ledger().enter(set, Mode::Suspended);
            device.sets[set].place = Place::Suspended;
        });
        self.teller().tell_suspension(die, operation.leader, ready, false);
    }

    /// The operation of a die may be suspended from now on.
    pub(super) fn suspendable(&mut self, die: DieId) {
        self.flash.looked_at(die);
        self.queues.stir(die);
    }

    /// The suspended operation of a die goes on.
    pub(super) fn resume(&mut self, die: DieId) {
        let (leader, works) = self.flash.resume(die, self.now);
        self.account.suspended(self.now, die, true);
        self.for_riders(leader, |device, set| {
            device.ledger().enter(set, Mode::Running);
            device.sets[set].place = Place::Array;
        });
        self.teller().tell_suspension(die, leader, works, true);
    }

    /// Calls `visit` with every set that an operation serves.
    #[inline]
    pub(super) fn for_riders(
        &mut self,
        leader: Option<SetId>,
        mut visit: impl FnMut(&mut Self, SetId),
    ) {
        let mut next = leader;
        while let Some(set) = next {
            next = self.sets[set].rider;
            visit(self, set);
        }
    }

    /// Whether a die has, or may take, the power of its next command; if not it stands in line.
    pub(super) fn has_power(&mut self, die: DieId, op: Op) -> bool {
        match self.flash.power_for(die, op, self.now) {
            Power::Granted => true,
            Power::JoinsLine => {
                self.account.power_awaited();
                false
            }
            Power::InLine => false,
        }
    }

    /// A die has left the line for power, if it stood there for some time.
    fn power_granted(&mut self, die: DieId, waited: Span) {
        self.account.power_granted(waited);
        if waited > Span::ZERO && self.account.is_followed() {
            self.teller().tell_power(die, waited);
        }
    }

    /// The dies in line for power take commands as far as it reaches. Returns whether any has left
    /// the line.
    pub(super) fn serve_line(&mut self) -> bool {
        let mut left = false;
        while let Some(die) = self.flash.serve_first() {
            self.dispatch(die);
            if !self.flash.end_service() || self.failed.is_some() {
                break;
            }
            // The die has begun an operation, or has none to begin now.
            let waited = self.flash.leave_line(die, self.now);
            self.power_granted(die, waited);
            left = true;
        }
        left
    }

    /// Shows the checker every page of an operation.
    fn check_pages(&mut self, leader: SetId) {
        self.for_riders(Some(leader), |device, set| {
            let (state, stage) = (&device.sets[set], device.sets.stage(set));
            let read = (stage == Stage::Read).then(|| (state.lpn, (state.order, state.page)));
            device.account.touched(device.sets.plane(set), stage.op(), state.ppn, read);
            if stage == Stage::OldRead {
                device.account.old_read(state.lpn, device.sets.number(set));
            }
            device.show_map_write(set);
        });
    }
}
