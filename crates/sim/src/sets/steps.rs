//! What happens to a set: each change of its state has a name, and no other room makes one.

use super::work::{Carried, OwnWork, Work};
use super::{Mode, Place, Sets, Stage};
use crate::handle::{LineId, RequestId, SetId};
use flashyard_core::policy::Placement;
use flashyard_core::units::{Ppn, Time};
use std::iter::successors;

/// What a set is made for.
impl Sets {
    /// The work of a set is charged to this request.
    pub(crate) fn charge_to(&mut self, set: SetId, request: Option<RequestId>) {
        self.state_mut(set).charge = request;
    }

    /// The only command of a set becomes another one.
    pub(crate) fn turn_into(&mut self, set: SetId, stage: Stage) {
        let state = self.state_mut(set);
        state.stages[0].0 = stage;
        state.current = stage;
    }

    /// The only command of a task becomes one of a copy from this page.
    pub(crate) fn turn_into_copy(&mut self, set: SetId, stage: Stage, page: Ppn) {
        self.turn_into(set, stage);
        match &mut self.state_mut(set).work {
            Work::Own(OwnWork::Steps { source, .. }) => *source = Some(page),
            _ => unreachable!("a task does steps"),
        }
    }

    /// The page that the current command of a set works on.
    pub(crate) fn bind(&mut self, set: SetId, ppn: Ppn) {
        self.state_mut(set).ppn = Some(ppn);
    }

    /// The page that a translation layer has given to the program of a set.
    pub(crate) fn aim(&mut self, set: SetId, target: Ppn) {
        match &mut self.state_mut(set).work {
            Work::Write { target: known, .. } | Work::Flush { target: known, .. } => {
                *known = Some(target);
            }
            _ => unreachable!("it programs a unit"),
        }
    }
}

/// Flushes.
impl Sets {
    /// The program of a write carries the contents of the line that it has been put into.
    pub(crate) fn carry(&mut self, set: SetId, line: LineId) {
        match &mut self.state_mut(set).work {
            Work::Write { carried, .. } => {
                *carried = Some(Carried { line, leads: false, asked: false });
            }
            _ => unreachable!("a write is put"),
        }
    }

    /// A request asks for the program of a set that carries a line, or not.
    pub(crate) fn asked_for(&mut self, set: SetId, asked: bool) {
        self.carried_mut(set).asked = asked;
    }

    /// A set is the first of those that flush together.
    pub(crate) fn lead_flush(&mut self, set: SetId) {
        self.carried_mut(set).leads = true;
    }

    fn carried_mut(&mut self, set: SetId) -> &mut Carried {
        self.state_mut(set).work.carried_mut().expect("it carries a line")
    }
}

/// The way of a command to its die, and there.
impl Sets {
    /// A segment of the life of a set begins.
    #[inline]
    pub(crate) fn enter(&mut self, set: SetId, mode: Mode, now: Time) {
        self.state_mut(set).mode = mode;
        self.track_mut(set).since = now;
    }

    /// The current command of a set begins to wait for its die.
    #[inline]
    pub(crate) fn enqueue(&mut self, set: SetId, now: Time) {
        let state = self.state_mut(set);
        (state.enqueued, state.rekeys) = (now, 0);
    }

    /// The place of the current command in the queues of its die.
    #[inline]
    pub(crate) fn place(&mut self, set: SetId, placement: &Placement, in_gc_queue: bool) {
        let state = self.state_mut(set);
        (state.queue, state.key) = (placement.queue, placement.key);
        state.in_gc_queue = in_gc_queue;
    }

    /// The current command moves to another place in the queues of its die.
    pub(crate) fn count_move(&mut self, set: SetId) {
        self.state_mut(set).rekeys += 1;
    }

    /// The current command is on its die, alone so far. It works on this page, and moves so many
    /// codewords of it if it is the first of the page.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "a step of each command; a call costs as much")]
    pub(crate) fn board(&mut self, set: SetId, ppn: Option<Ppn>, codewords: u32, now: Time) {
        let state = self.state_mut(set);
        (state.mode, state.place, state.started) = (Mode::Running, Place::Array, now);
        (state.ppn, state.rider, state.page_codewords) = (ppn, None, codewords);
    }

    /// The operation that serves a set serves another one next.
    pub(crate) fn ride(&mut self, set: SetId, rider: SetId) {
        self.state_mut(set).rider = Some(rider);
    }

    /// The sets that an operation serves, from the one that leads it on.
    #[inline]
    pub(crate) fn riders(&self, leader: Option<SetId>) -> impl Iterator<Item = SetId> {
        successors(leader, |set| self[*set].rider())
    }

    /// The pages that an operation works on.
    pub(crate) fn pages_of(&self, leader: Option<SetId>) -> u64 {
        self.riders(leader).map(|set| u64::from(self[set].page_codewords() > 0)).sum()
    }

    /// An operation takes its channel for so long.
    pub(crate) fn take_channel(&mut self, leader: SetId, channel_ns: u64) {
        let mut next = Some(leader);
        while let Some(set) = next {
            next = self[set].rider();
            self.track_mut(set).takes_channel(channel_ns);
        }
    }

    /// The first set of a page moves more codewords of it.
    pub(crate) fn add_codewords(&mut self, set: SetId, count: u32) {
        self.state_mut(set).page_codewords += count;
    }

    /// The operation that a set leads is at another place of its die.
    #[inline]
    pub(crate) fn stand(&mut self, leader: Option<SetId>, place: Place) {
        let mut next = leader;
        while let Some(set) = next {
            let state = self.state_mut(set);
            state.place = place;
            next = state.rider();
        }
    }
}
