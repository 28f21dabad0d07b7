//! Units of writes that are put into the buffer, and flushes that begin together.

use super::Translation;
use crate::buffer::{Batch, Put};
use crate::ftl::Run;
use crate::handle::SetId;
use flashyard_core::units::{Lpn, PlaneId};

/// What follows when the unit of a write has been put.
pub(crate) enum AfterPut {
    /// Nothing.
    Over,
    /// A translation layer plans its program, of so many pages written together; `trimmed` is
    /// whether a later trim has forgotten the unit already.
    Plan { pages: u32, trimmed: bool },
    /// Others of its group fill its program, which runs on this plane.
    Fill { group: u32, plane: PlaneId },
}

/// A flush that has begun and is not planned.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Unplanned {
    /// The first unit of those that begin together and fill a program, and their number.
    first: Lpn,
    batch: u32,
    pub(crate) set: SetId,
    /// What is written with it; known when all are.
    pub(crate) run: Run,
}

impl Translation<'_> {
    /// Puts the unit of a write into a line, if one is free; `granted` is whether it is its turn.
    /// Its own program, where one follows, then carries the unit.
    pub(crate) fn put(&mut self, set: SetId, granted: bool) -> Option<AfterPut> {
        let (buffer, state) = (self.buffer(), &self.sets[set]);
        // What finds no line is refused before its put is prepared.
        if !buffer.may_put(state) {
            return None;
        }
        let (number, through) = (self.sets.number(set), self.sets.last_stage(set) > 0);
        if state.is_superseded() {
            let plan = AfterPut::Plan { pages: 1, trimmed: true };
            return Some(if through { plan } else { AfterPut::Over });
        }
        let (lpn, stream, request) = (state.lpn(), state.stream(), state.owner());
        let pending = &self.host[request];
        let (writer, pages) = ((request, pending.order()), pending.pages());
        let covered = self.settings.covered(pending.request(), lpn);
        let group = self.group_of(lpn, stream);
        let put = Put { lpn, number, writer, stream, covered, group, through, granted };
        let buffer = self.buffer.as_mut().expect("there is a buffer");
        let outcome = buffer.put(&put, self.sets)?;
        self.account.buffer_written(outcome.held, outcome.clean);
        if outcome.fill_dropped {
            self.account.fill_dropped(lpn);
        }
        self.account.buffered(writer.1, lpn, number, outcome.evicted);
        if !through {
            return Some(AfterPut::Over);
        }
        self.account.flush_begins(lpn, number);
        self.sets.carry(set, outcome.line);
        self.begin_flush(set, outcome.line, group);
        if self.ftl.is_planned() {
            self.sets.asked_for(set, true);
            return Some(AfterPut::Plan { pages, trimmed: false });
        }
        let (_, plane) = *self.sets.commands(set).last().expect("a write has a program");
        Some(AfterPut::Fill { group, plane })
    }

    /// No more flushes begin together with these.
    pub(crate) fn end_batch(&mut self, batch: &Batch, together: &[SetId]) {
        if batch.outcome.newly_stalled {
            self.account.map_stalled();
        }
        let buffer = self.buffer.as_mut().expect("there is a buffer");
        buffer.begin_together(together, (batch.asked, self.ftl.is_planned()), self.sets);
    }

    /// Flushes that begin together are listed for a translation layer that plans them later.
    pub(crate) fn list_unplanned(&self, flushes: &[SetId], list: &mut Vec<Unplanned>) {
        let lpn = |set: &SetId| self.sets[*set].lpn();
        let fills = self.settings.geometry.program_units() > 1;
        let first = flushes.iter().map(lpn).min().filter(|_| fills);
        let batch = if fills { list.last().map_or(0, |last| last.batch + 1) } else { 0 };
        list.extend(flushes.iter().map(|set| {
            let run = Run { pages: 1, left: 0, joins: false };
            Unplanned { first: first.unwrap_or(lpn(set)), batch, set: *set, run }
        }));
    }

    /// Flushes that a translation layer plans go in ascending order of their units; what fills a
    /// program together stays together. Each learns its run.
    pub(crate) fn order_flushes(&self, flushes: &mut [Unplanned]) {
        flushes.sort_unstable_by_key(|flush| {
            let (lpn, number) = (self.sets[flush.set].lpn(), self.sets.number(flush.set));
            (flush.first, flush.batch, lpn, number)
        });
        for place in 0..flushes.len() {
            flushes[place].run = self.run_of(flushes, place);
        }
    }

    /// The run of the flush at a place of these: how many dirty units lie around its own, in a
    /// block of the layer, and how many of the flushes follow one another behind it.
    fn run_of(&self, flushes: &[Unplanned], place: usize) -> Run {
        let Unplanned { batch, set, .. } = flushes[place];
        let (most, lpn) = (self.ftl.layer_block_pages(), self.sets[set].lpn());
        let follow = flushes[place + 1..].iter().zip(lpn.get() + 1..);
        let left = follow.take_while(|(next, lpn)| self.sets[next.set].lpn().get() == *lpn);
        let left = u32::try_from(left.take(most as usize).count()).expect("of a block");
        let fills = self.settings.geometry.program_units() > 1;
        let joins = fills && place > 0 && flushes[place - 1].batch == batch;
        Run { pages: self.buffer().run_around(lpn, most), left, joins }
    }
}
