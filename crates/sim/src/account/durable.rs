//! What a loss of power would leave of a device that can be cut: what every physical unit holds,
//! with the number of its change as its spare area has it, and what the host was told.
//!
//! It is told what observers are told that follow contents. An unwatched device that cannot be cut
//! has none.

use super::promises::Promises;
use crate::config::Settings;
use crate::observe::{
    BlockErased, Contents, Observer, RequestAnswered, RequestArrived, UnitAtStart, UnitBuffered,
    UnitChange, UnitProgrammed,
};
use flashyard_core::request::{Flags, Request, RequestOp};
use flashyard_core::units::Time;
use std::collections::{BTreeMap, BTreeSet};

/// A change of a unit that no page holds, or a trim.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Known {
    /// Its request by order of arrival; none of what was there before the run.
    pub(crate) request: Option<u64>,
    pub(crate) trims: bool,
    /// The place of its answer among all answers, from 1 on.
    pub(crate) answered: Option<u64>,
    /// Whether its answer says that it is kept.
    durable: bool,
}

/// A request that is not answered, or some of whose units no page holds.
#[derive(Clone, Debug)]
pub(crate) struct Asked {
    pub(crate) request: Request,
    durable: bool,
    answered: bool,
    /// Answers before its arrival.
    before: u64,
    /// Its units, and the number of the change of each.
    pub(crate) changes: Vec<(u32, u64)>,
    /// Earlier requests some of whose units no page holds but as this one has changed them: they
    /// are whole only as long as it is.
    under: Vec<u64>,
    /// How many times it is under others itself.
    over: u64,
}

/// The programs that a block has had since its erase.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Written {
    /// When the last one was over; none where it has had none.
    pub(crate) last: Option<Time>,
}

/// What a loss of power would leave.
#[derive(Clone, Debug)]
pub(crate) struct Durable {
    block_units: u32,
    /// Whether recovery takes back what is there of torn writes (`power.awupf_units`).
    takes_back: bool,
    /// Of each physical unit the logical unit plus one, 0 for none, and the number of the change
    /// that made its contents plus one, 0 for what was there before the run.
    pub(crate) owner: Vec<u32>,
    pub(crate) version: Vec<u64>,
    pub(crate) blocks: Vec<Written>,
    /// Changes that no page holds, by unit and number.
    pub(crate) changes: BTreeMap<(u32, u64), Known>,
    pub(crate) requests: BTreeMap<u64, Asked>,
    /// Answers so far, and as many of the first ones are covered by a flush that was answered.
    answers: u64,
    flushed: u64,
    promises: Promises,
    /// Whether it is told of the device.
    pub(super) follows: bool,
}

impl Durable {
    /// That of a device, if it can be cut.
    pub(super) fn new(settings: &Settings) -> Option<Box<Self>> {
        let geometry = &settings.geometry;
        let blocks = geometry.blocks() as usize;
        let units = blocks * geometry.units_per_block() as usize;
        settings.keys.power.is_on().then(|| {
            let keeps_all = settings.answers_durably(Flags::NONE);
            Box::new(Self {
                block_units: geometry.units_per_block(),
                takes_back: settings.keys.power.awupf_units > 1,
                owner: vec![0; units],
                version: vec![0; units],
                blocks: vec![Written::default(); blocks],
                changes: BTreeMap::new(),
                requests: BTreeMap::new(),
                answers: 1,
                flushed: 0,
                promises: Promises::new(settings.exported_units as usize, keeps_all),
                follows: false,
            })
        })
    }

    /// Whether a change was promised to be kept: by its answer, or by a flush behind that.
    pub(crate) fn is_promised(&self, change: &Known) -> bool {
        change.answered.is_some_and(|number| change.durable || number <= self.flushed)
    }

    /// The changes of a unit that no page holds, in their order.
    pub(crate) fn changes_of(&self, lpn: u32) -> impl DoubleEndedIterator<Item = (u64, &Known)> {
        let changes = self.changes.range((lpn, 0)..=(lpn, u64::MAX));
        changes.map(|((_, number), change)| (*number, change))
    }

    /// Changes whose contents a loss of power can leave: those that pages hold, and those that none
    /// holds.
    pub(crate) fn known(&self) -> BTreeSet<(u32, u64)> {
        let pages = self.owner.iter().zip(&self.version);
        let held =
            pages.filter_map(|(owner, version)| owner.checked_sub(1).zip(version.checked_sub(1)));
        held.chain(self.changes.keys().copied()).collect()
    }

    /// A physical unit holds a version of a logical one, both plus one.
    pub(crate) fn holds(&mut self, ppn: u32, (owner, version): (u32, u64), at: Time) {
        self.owner[ppn as usize] = owner;
        self.version[ppn as usize] = version;
        self.blocks[(ppn / self.block_units) as usize].last = Some(at);
    }

    /// A physical unit holds nothing that could be read.
    pub(crate) fn holds_nothing(&mut self, ppn: u32) {
        self.owner[ppn as usize] = 0;
        self.version[ppn as usize] = 0;
    }

    /// Physical units that hold these versions of units, plus one, can be read no more.
    pub(crate) fn forget(&mut self, versions: &BTreeSet<(u32, u64)>) {
        let units = if versions.is_empty() { 0 } else { self.owner.len() };
        for at in 0..units {
            let version = (self.owner[at].wrapping_sub(1), self.version[at]);
            if self.owner[at] > 0 && versions.contains(&version) {
                (self.owner[at], self.version[at]) = (0, 0);
            }
        }
    }

    /// Nothing of a block can be read any more.
    pub(crate) fn destroy(&mut self, block: u32) {
        let first = block * self.block_units;
        (first..first + self.block_units).for_each(|ppn| self.holds_nothing(ppn));
    }

    /// A unit of the buffer outlives the loss of power, and is dirty again.
    pub(crate) fn is_saved(&mut self, lpn: u32, number: u64) {
        let known = Known { request: None, trims: false, answered: Some(1), durable: true };
        self.changes.insert((lpn, number), known);
        self.promises.tell((lpn, number), (self.answers, true), false);
    }

    /// Whether a change is one of a request that is not answered.
    pub(crate) fn is_unanswered(&self, (lpn, number): &(u32, u64)) -> bool {
        let own = |asked: &&Asked| asked.changes.contains(&(*lpn, *number));
        self.requests.values().find(own).is_some_and(|asked| !asked.answered)
    }

    /// Whether something newer of a unit was promised to be kept, of which a page holds or held the
    /// contents, than the change that it has now, with a number plus one, 0 of none; it `holds`
    /// contents or nothing. All that was answered is promised where nothing is volatile.
    pub(crate) fn covers(&self, lpn: u32, kept: u64, holds: bool) -> bool {
        self.promises.are_of_all() || self.promises.wants_newer(lpn, kept, holds)
    }

    /// The same of what its answers and flushes behind them say, change by change.
    pub(crate) fn wants_newer(&self, lpn: u32, kept: u64, holds: bool) -> bool {
        self.promises.wants_newer(lpn, kept, holds)
    }

    /// A trim outlives a loss of power: so does whatever came before it.
    pub(crate) fn trim_kept(&mut self, lpn: u32, number: u64) {
        self.keep(lpn, number);
    }

    /// The power is back: nothing is under way, and nobody waits for an answer. `kept` has the
    /// newest change of each unit that is there, plus one, 0 of none, and whether it trims.
    pub(crate) fn restart(&mut self, kept: impl Iterator<Item = (u64, bool)>) {
        self.answers += 1;
        self.promises.restart(kept, self.answers);
        self.changes.clear();
        self.requests.clear();
    }

    fn keep(&mut self, lpn: u32, number: u64) {
        let own = self.changes.get(&(lpn, number)).and_then(|change| change.request);
        while let Some((&key, change)) = self.changes.range((lpn, 0)..=(lpn, number)).next() {
            let request = change.request;
            self.changes.remove(&key);
            if let Some(order) = request {
                self.is_under(order, own);
                self.is_done(order);
            }
        }
    }

    /// A request has changed a unit of which a page holds what a later one made of it. Where
    /// recovery takes that back, a part of the request is missing as well.
    fn is_under(&mut self, order: u64, later: Option<u64>) {
        let Some(later) = later.filter(|later| self.takes_back && *later > order) else { return };
        if !self.requests.contains_key(&order) {
            return;
        }
        if let Some(above) = self.requests.get_mut(&later) {
            above.under.push(order);
            self.requests.entry(order).and_modify(|asked| asked.over += 1);
        }
    }

    /// Forgets a request that is answered, and of which no change is left, and those under it.
    fn is_done(&mut self, order: u64) {
        let mut under = self.remove_done(order);
        while let Some(order) = under.pop() {
            self.requests.entry(order).and_modify(|asked| asked.over -= 1);
            under.extend(self.remove_done(order));
        }
    }

    /// Forgets that one; returns those under it.
    fn remove_done(&mut self, order: u64) -> Vec<u64> {
        let is_left = |key: &(u32, u64)| self.changes.contains_key(key);
        let is_done =
            |asked: &Asked| asked.answered && asked.over == 0 && !asked.changes.iter().any(is_left);
        if !self.requests.get(&order).is_some_and(is_done) {
            return Vec::new();
        }
        self.requests.remove(&order).map_or_else(Vec::new, |asked| asked.under)
    }
}

impl Observer for Durable {
    fn follows_contents(&self) -> bool {
        true
    }

    fn unit_at_start(&mut self, event: &UnitAtStart) {
        if let Some(Contents::Data(lpn)) = event.contents {
            self.holds(event.ppn, (lpn + 1, 0), Time::ZERO);
        } else if event.contents.is_some() {
            self.blocks[(event.ppn / self.block_units) as usize].last = Some(Time::ZERO);
        }
    }

    fn request_arrived(&mut self, event: &RequestArrived) {
        let (request, durable, before) = (event.request, event.durable, self.answers);
        if is_barrier(&request) {
            self.promises.flush_arrives(before);
        }
        let asked = Asked {
            request,
            durable,
            answered: false,
            before,
            changes: Vec::new(),
            under: Vec::new(),
            over: 0,
        };
        self.requests.insert(event.order, asked);
    }

    fn unit_change(&mut self, event: &UnitChange) {
        let Some(asked) = self.requests.get_mut(&event.request) else { return };
        asked.changes.push((event.lpn, event.version));
        let (request, trims) = (Some(event.request), event.trims);
        let durable = asked.durable && !trims;
        let known = Known { request, trims, answered: None, durable };
        self.changes.insert((event.lpn, event.version), known);
    }

    fn unit_buffered(&mut self, event: &UnitBuffered) {
        if event.request.is_none() {
            // It was answered before the run, and a flush covers it or not as one then would.
            let known = Known { request: None, trims: false, answered: Some(1), durable: false };
            self.changes.insert((event.lpn, event.version), known);
            self.promises.tell((event.lpn, event.version), (1, false), false);
        }
    }

    fn request_answered(&mut self, event: &RequestAnswered) {
        self.answers += 1;
        let number = self.answers;
        let Some(asked) = self.requests.get_mut(&event.order) else { return };
        asked.answered = true;
        let (request, durable, before) = (asked.request, asked.durable, asked.before);
        let trims = request.op == RequestOp::Trim;
        let changes = asked.changes.clone();
        if is_barrier(&request) {
            self.flushed = self.flushed.max(before);
            self.promises.flush_over(before);
        }
        for key in changes {
            if let Some(change) = self.changes.get_mut(&key) {
                change.answered = Some(number);
            }
            self.promises.tell(key, (number, durable && !trims), trims);
        }
        self.is_done(event.order);
    }

    fn unit_programmed(&mut self, event: &UnitProgrammed) {
        let Contents::Data(lpn) = event.contents else {
            self.blocks[(event.ppn / self.block_units) as usize].last = Some(event.at);
            return;
        };
        let copied = event.from.map_or(0, |from| self.version[from as usize]);
        let version = event.version.map_or(copied, |number| number + 1);
        self.holds(event.ppn, (lpn + 1, version), event.at);
        if let Some(number) = event.version {
            self.keep(lpn, number);
        }
    }

    fn block_erased(&mut self, event: &BlockErased) {
        let first = (event.block * self.block_units) as usize;
        self.owner[first..first + self.block_units as usize].fill(0);
        self.version[first..first + self.block_units as usize].fill(0);
        self.blocks[event.block as usize] = Written::default();
    }
}

/// Whether a request promises something of what was answered before it.
fn is_barrier(request: &Request) -> bool {
    request.op == RequestOp::Flush || request.flags.has(Flags::PREFLUSH)
}
