//! The phases of an operation that has just been put together, and what the checker sees of it.

use super::Waiting;
use crate::flash::{Request, Sense};
use crate::handle::SetId;
use crate::random::TurnedBits;
use crate::sets::{Place, Stage};
use flashyard_core::command::Op;
use flashyard_core::policy::Happened;
use flashyard_core::units::{DieId, Ppn, Span};

impl Waiting<'_> {
    /// Plans the phases of the operation of `leader` that has just been put together. Of the page
    /// of the leader alone it moves so many codewords.
    #[inline(always)]
    pub(crate) fn plan_operation(
        &mut self,
        leader: SetId,
        die: DieId,
        stage: Stage,
        (ppn, page_codewords): (Option<Ppn>, u32),
    ) {
        let together = self.queues.gathers() && self.sets[leader].rider().is_some();
        if together || self.flash.varies() || self.flash.has_requests() {
            return self.lend().plan_together(leader, die, stage);
        }
        let array = self.flash.array_time(stage.op(), ppn, false);
        let data_ns = self.flash.channel_ns(stage, page_codewords, false);
        let channel_ns = self.flash.plan(die, array, data_ns, self.now);
        self.sets.track_mut(leader).takes_channel(channel_ns);
    }

    /// The same where the operation serves several sets, or its time is not that of its page.
    #[inline(never)]
    fn plan_together(&mut self, leader: SetId, die: DieId, stage: Stage) {
        if self.flash.has_requests() {
            return self.plan_requests(leader, die, stage);
        }
        let (op, slc) = (stage.op(), self.flash.operation(die, Place::Array).slc());
        let (mut array, mut data_ns) = (Span::ZERO, 0);
        for set in self.sets.riders(Some(leader)) {
            let state = &self.sets[set];
            if state.page_codewords() > 0 {
                array = array.max(self.flash.array_time(op, state.ppn(), slc));
                data_ns += self.flash.channel_ns(stage, state.page_codewords(), slc);
            }
        }
        if self.flash.reads_vary() {
            array = self.array_time(leader, die, stage, array);
        }
        let channel_ns = self.flash.plan(die, array, data_ns, self.now);
        self.sets.take_channel(leader, channel_ns);
    }

    /// The same where bus requests are sent.
    #[cold]
    fn plan_requests(&mut self, leader: SetId, die: DieId, stage: Stage) {
        let (op, slc) = (stage.op(), self.flash.operation(die, Place::Array).slc());
        let (mut array, mut planes, mut bytes) = (Span::ZERO, 0, 0);
        for set in self.sets.riders(Some(leader)) {
            let state = &self.sets[set];
            if state.page_codewords() > 0 {
                array = array.max(self.flash.array_time(op, state.ppn(), slc));
                bytes += self.flash.channel_bytes(stage, state.page_codewords(), slc);
                planes += 1;
            }
        }
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
        self.sets.take_channel(leader, channel_ns);
    }

    /// The typical time in the array of the operation of `leader`, which takes `of_pages` if it
    /// needs whole pages: a read takes as long as the slowest of its pages, and a page of which few
    /// bytes are needed takes less. Draws how often the pages of a read are sensed again.
    #[cold]
    fn array_time(&mut self, leader: SetId, die: DieId, stage: Stage, of_pages: Span) -> Span {
        if stage.op() != Op::Read {
            return of_pages;
        }
        let heads = |set: &SetId| self.sets[*set].page_codewords() > 0;
        let senses = |set: &SetId| heads(set) && !self.is_held(leader, stage, *set);
        let sensed = self.sets.riders(Some(leader)).filter(senses).count();
        let mut slowest = Span::ZERO;
        for set in self.sets.riders(Some(leader)) {
            let state = &self.sets[set];
            let (ppn, codewords) = (state.ppn(), state.page_codewords());
            if codewords > 0 {
                let block = ppn.map(|ppn| self.settings.geometry.block_of(ppn));
                let erases = block.map_or(0, |block| self.ftl.blocks().erases_of(block));
                let how = match self.is_held(leader, stage, set) {
                    true => Sense::Held,
                    false if sensed > 1 => Sense::Beside,
                    false => Sense::Alone,
                };
                slowest = slowest.max(self.flash.sense(die, (stage, how), ppn, codewords, erases));
            }
        }
        slowest
    }

    /// Whether the flash holds every unit that an operation of host reads needs of the page of
    /// `head`.
    fn is_held(&self, leader: SetId, stage: Stage, head: SetId) -> bool {
        if stage != Stage::Read {
            return false;
        }
        let units_per_page = self.settings.geometry.units_per_page;
        let page = |set: SetId| {
            let state = &self.sets[set];
            let place = state.ppn().map_or(state.lpn().get(), Ppn::get);
            (state.ppn().is_some(), place / units_per_page)
        };
        let holds = |set: SetId| {
            let read = self.sets[set].origin();
            read.is_some_and(|read| self.flash.holds(read.order, read.page))
        };
        let of_head = page(head);
        self.sets.riders(Some(leader)).all(|set| page(set) != of_head || holds(set))
    }

    /// Shows the checker, if there is one, every page of an operation.
    pub(crate) fn check_pages(&mut self, leader: SetId) {
        if !self.account.is_checked() {
            return;
        }
        let slc = self.flash.operation(self.sets.die(leader), Place::Array).slc();
        for set in self.sets.riders(Some(leader)) {
            let (state, stage) = (&self.sets[set], self.sets.stage(set));
            let read = state.origin().filter(|_| stage == Stage::Read);
            let read = read.map(|read| (state.lpn(), (read.order, read.page)));
            let work = (stage.op(), slc);
            self.account.touched(self.sets.plane(set), work, state.ppn(), read);
            if stage.op() == Op::Program {
                for (_, beside) in self.ftl.task_copies(set, self.sets).skip(1) {
                    self.account.touched(self.sets.plane(set), work, Some(beside), None);
                }
            }
            match stage {
                Stage::OldRead => self.account.old_read(state.lpn(), self.sets.number(set)),
                Stage::EvictRead | Stage::RewriteRead => {
                    self.account.map_page_read(set, state.map_page());
                }
                Stage::Writeback | Stage::RewriteProgram => {
                    let (page, mut entries) = (state.map_page(), Vec::new());
                    self.ftl.covered_entries(page, set, |lpn| entries.push(lpn));
                    self.account.map_page_begun(set, page, &entries);
                }
                _ => {}
            }
        }
    }

    /// An operation is over: a policy with a state is told of each set that it has served.
    #[cold]
    pub(crate) fn policy_sees_end(&mut self, leader: Option<SetId>, die: DieId, op: Op) {
        for set in self.sets.riders(leader) {
            self.queues.tell(Happened::Completed, (die, set), op, self.now);
        }
    }

    /// A host read is over: some of its bits may be wrong.
    pub(crate) fn check_read(&mut self, set: SetId) {
        let errors = if self.sets[set].ppn().is_some() { self.wrong_bits(set) } else { None };
        if self.account.is_checked() {
            let read = self.sets[set].origin().expect("a request reads");
            self.account.read_over(read.order, read.page, errors);
        }
    }

    fn wrong_bits(&mut self, set: SetId) -> Option<TurnedBits> {
        let bytes = self.settings.geometry.unit_bytes() / self.flash.codewords();
        let bits = u64::from(self.codewords(set)) * u64::from(bytes) * 8;
        let errors = self.flash.find_bits(bits)?;
        self.account.bits_were_wrong(errors.count);
        Some(errors)
    }
}
