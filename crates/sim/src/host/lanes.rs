//! Submission queues of the streams, and from which of them the device fetches next.

use super::die_limit::DieLimit;
use super::gaps::Gaps;
use super::rate::RateLimit;
use super::request::Ticket;
use super::requests::Requests;
use super::timers::{Timer, Timers};
use crate::config::{Arbitration, InterfaceKeys, Settings};
use crate::handle::RequestId;
use crate::stream::{Feed, Pacing, StreamKeys};
use flashyard_core::request::RequestOp;
use flashyard_core::units::{Lpn, Time};
use std::collections::VecDeque;

/// Requests that a stream of pacing `fast` keeps outstanding where the submission queue has no
/// limit: those of the largest queue that NVM Express has.
const LARGEST_QUEUE: u64 = 65_535;

/// A stream as the device sees it.
#[derive(Clone, Debug)]
struct Lane {
    keys: StreamKeys,
    /// Issued so far.
    issued: u64,
    /// Issued and not answered.
    outstanding: u64,
    /// Fetched and not answered.
    fetched: u64,
    /// Issued and not fetched.
    waiting: VecDeque<RequestId>,
    last_issue: Time,
    rate: Option<Box<RateLimit>>,
    /// When the last `depth` requests were answered, by number modulo depth; [`Time::MAX`] for not
    /// yet. Pacing `think` only.
    answered_at: Vec<Time>,
    /// Pacing `spaced` only: the times between requests, and when the next one is due.
    gaps: Option<Gaps>,
    next_issue: Time,
}

/// The streams of a phase, a lane each.
#[derive(Clone, Debug)]
pub(super) struct Lanes {
    keys: InterfaceKeys,
    streams: Vec<Lane>,
    /// Whether a depth or a rate is limited; without, requests are fetched as they are issued.
    limited: bool,
    /// Whether a request of the only stream is fetched as it is issued where there is a place.
    direct: bool,
    /// What waits for dies, where that is limited.
    die_limit: Option<Box<DieLimit>>,
    /// Whether something happened that may let a request be issued or fetched.
    stirred: bool,
    /// Streams that may issue again: a request of theirs was answered or fetched since the last
    /// look, or there was none.
    answered: Vec<u32>,
    /// Streams that a request may be fetched from, a bit each.
    fetchable: Vec<u64>,
    /// Whether every answer counts as such.
    watched: bool,
    fetched: u64,
    /// Requests of all streams that are issued and not fetched.
    waiting: u64,
    /// The stream that was served last, and how many of its requests in a row.
    turn: usize,
    served: u64,
    /// Sectors of writes that were answered in this phase.
    written: u64,
}

impl Lanes {
    /// No streams.
    pub(super) fn new(settings: &Settings) -> Self {
        let (keys, die_limit) = (settings.keys.interface, DieLimit::new(settings));
        Self {
            keys,
            streams: Vec::new(),
            limited: keys.queue_depth > 0 || keys.fetch_depth > 0 || die_limit.is_some(),
            direct: false,
            die_limit,
            stirred: false,
            answered: Vec::new(),
            fetchable: Vec::new(),
            watched: false,
            fetched: 0,
            waiting: 0,
            turn: 0,
            served: 0,
            written: 0,
        }
    }

    /// A phase of these streams begins.
    /// `watched` is whether every answer is looked at.
    pub(super) fn begin(
        &mut self,
        start: Time,
        streams: impl Iterator<Item = StreamKeys>,
        watched: bool,
    ) {
        self.watched = watched;
        self.streams.clear();
        self.streams.extend((0..).zip(streams).map(|(number, keys)| {
            let spaced = keys.pacing == Pacing::Spaced;
            let mut gaps = spaced.then(|| Gaps::new(&keys, number, start));
            let next_issue = gaps.as_mut().map_or(Time::MAX, |gaps| gaps.after(start));
            let remembered = if keys.pacing == Pacing::Think { keys.depth } else { 0 };
            let remembered = usize::try_from(remembered).expect("a depth is small");
            Lane {
                keys,
                issued: 0,
                outstanding: 0,
                fetched: 0,
                waiting: VecDeque::new(),
                last_issue: start,
                rate: RateLimit::of(&keys, start),
                answered_at: vec![start; remembered],
                gaps,
                next_issue,
            }
        }));
        if let Some(limit) = &mut self.die_limit {
            limit.begin(self.streams.len());
        }
        self.limited = self.die_limit.is_some()
            || self.keys.queue_depth > 0
            || self.keys.fetch_depth > 0
            || self.streams.iter().any(|lane| lane.rate.is_some());
        let plain = |lane: &Lane| lane.rate.is_none() && lane.gaps.is_none();
        self.direct =
            self.streams.len() == 1 && plain(&self.streams[0]) && self.die_limit.is_none();
        // All are looked at in the first instant.
        self.answered = (0..).take(self.streams.len()).collect();
        self.fetchable = vec![0; self.streams.len().div_ceil(64)];
        self.turn = self.streams.len().saturating_sub(1);
        self.served = u64::MAX;
        self.written = 0;
        // Whatever is due at once is found by the first look.
        self.stirred = true;
    }

    /// How many streams there are.
    pub(super) const fn streams(&self) -> usize {
        self.streams.len()
    }

    /// Whether the submission queue of a stream has no place.
    pub(super) fn is_full(&self, lane: usize) -> bool {
        self.keys.queue_depth > 0 && self.streams[lane].outstanding >= self.keys.queue_depth
    }

    /// When the next request of a stream is issued; [`Time::MAX`] where there is none or an answer
    /// must come first.
    #[inline]
    pub(super) fn due(&self, lane: usize, feed: &Feed, start: Time, now: Time) -> Time {
        let Some(request) = &feed.next else { return Time::MAX };
        let lane = &self.streams[lane];
        let below = |depth| if lane.outstanding < depth { now } else { Time::MAX };
        match lane.keys.pacing {
            Pacing::Open => start.saturating_add(request.arrival.since(Time::ZERO)),
            Pacing::Closed => below(lane.keys.depth),
            Pacing::Spaced => lane.next_issue,
            Pacing::Fast => match self.keys.queue_depth {
                0 => below(LARGEST_QUEUE),
                depth => below(depth),
            },
            Pacing::Think => {
                let answered = lane.answered_at[lane.remembers(lane.issued)];
                lane.last_issue.max(answered.saturating_add(feed.gap))
            }
        }
    }

    /// The stream that a request is fetched from next.
    fn next_lane(&mut self) -> Option<usize> {
        if !below(self.fetched, self.keys.fetch_depth) {
            return None;
        }
        let weighted = self.keys.arbitration == Arbitration::Weighted;
        let stays = weighted && self.served < self.streams[self.turn].keys.weight;
        let first = self.turn + usize::from(!stays);
        let found = self.fetchable_from(first).or_else(|| self.fetchable_from(0))?;
        self.served = if stays && found == self.turn { self.served + 1 } else { 1 };
        self.turn = found;
        Some(found)
    }

    /// The first stream from one on that a request may be fetched from.
    fn fetchable_from(&self, first: usize) -> Option<usize> {
        let mut word = first / 64;
        let mut bits = self.fetchable.get(word)? & (u64::MAX << (first % 64));
        while bits == 0 {
            word += 1;
            bits = *self.fetchable.get(word)?;
        }
        Some(word * 64 + bits.trailing_zeros() as usize)
    }

    /// Whether a request may be fetched from a stream may have changed.
    fn note_fetchable(&mut self, lane: usize, requests: &Requests) {
        let state = &self.streams[lane];
        let head = state.waiting.front();
        let held = state.rate.as_ref().is_some_and(|rate| rate.holds);
        let mut may = head.is_some() && below(state.fetched, self.keys.queue_depth) && !held;
        if let (true, Some(limit), Some(head)) = (may, &mut self.die_limit, head) {
            may = limit.fits(lane, &requests[*head]);
        }
        let word = &mut self.fetchable[lane / 64];
        *word = *word & !(1 << (lane % 64)) | u64::from(may) << (lane % 64);
    }

    /// A request that waits in the submission queue of a stream may have to wait for credit.
    fn wait_for_credit(&mut self, lane: usize, now: Time, timers: &mut Timers) {
        let state = &mut self.streams[lane];
        let rate = state.rate.as_mut().filter(|_| !state.waiting.is_empty());
        if let Some(ready) = rate.and_then(|rate| rate.hold(now)) {
            let lane = u32::try_from(lane).expect("streams are few");
            timers.set(ready, Timer::Credit(lane));
        }
    }

    /// The rate limit of a stream lets a request be fetched.
    pub(super) fn credit_comes(&mut self, lane: usize, requests: &Requests) {
        if let Some(rate) = &mut self.streams[lane].rate {
            rate.holds = false;
        }
        self.note_fetchable(lane, requests);
        self.stirred = true;
    }

    /// For each stream, how long a request of it waited for its rate limit, in nanoseconds.
    pub(super) fn held_ns(&self) -> impl Iterator<Item = u64> {
        self.streams.iter().map(|lane| lane.rate.as_ref().map_or(0, |rate| rate.held_ns))
    }

    /// Whether a request was answered that may let another one be issued or fetched.
    #[inline]
    pub(super) const fn is_stirred(&self) -> bool {
        self.stirred
    }

    /// Takes a stream that has had an answer since the last look, which may let it issue.
    #[inline]
    pub(super) fn next_answered(&mut self) -> Option<u32> {
        self.answered.pop()
    }

    /// All that may be issued is issued now.
    pub(super) const fn unstir(&mut self) {
        self.stirred = false;
    }

    /// Sectors of writes that were answered in this phase.
    pub(super) const fn written(&self) -> u64 {
        self.written
    }

    /// The ticket of the next request of a stream.
    #[inline]
    pub(super) fn ticket(&self, lane: usize) -> Ticket {
        let number = self.streams[lane].issued;
        let lane = u32::try_from(lane).expect("streams are few");
        Ticket { lane, number, link_ns: 0 }
    }

    /// The host issues a request of a stream, with its ticket.
    #[expect(clippy::inline_always, reason = "once a request; a call costs as much")]
    #[inline(always)]
    pub(super) fn issue(&mut self, lane: usize, now: Time) {
        let state = &mut self.streams[lane];
        if state.keys.pacing == Pacing::Think {
            let place = state.remembers(state.issued);
            state.answered_at[place] = Time::MAX;
        }
        state.issued += 1;
        state.outstanding += 1;
        state.last_issue = now;
        if self.limited {
            state.next_issue = Time::MAX;
        } else if let Some(gaps) = &mut state.gaps {
            state.next_issue = gaps.after(now);
        }
    }

    /// A request that was issued comes into the submission queue of its stream. Returns whether it
    /// is fetched at once.
    #[expect(clippy::inline_always, reason = "once a request, with large arguments")]
    #[inline(always)]
    pub(super) fn submit(
        &mut self,
        handle: RequestId,
        lane: usize,
        now: Time,
        requests: &Requests,
        timers: &mut Timers,
    ) -> bool {
        if self.limited {
            let state = &mut self.streams[lane];
            if self.direct
                && state.waiting.is_empty()
                && below(state.fetched, self.keys.queue_depth)
                && below(self.fetched, self.keys.fetch_depth)
            {
                state.fetched += 1;
                self.fetched += 1;
                return true;
            }
            state.waiting.push_back(handle);
            self.waiting += 1;
            self.wait_for_credit(lane, now, timers);
            self.note_fetchable(lane, requests);
        }
        !self.limited
    }

    /// Something has happened that may let a request be issued or fetched.
    pub(super) const fn stir(&mut self) {
        self.stirred = true;
    }

    /// Fetches a request, if there is one and a place for it.
    #[inline]
    pub(super) fn fetch(
        &mut self,
        now: Time,
        requests: &Requests,
        timers: &mut Timers,
    ) -> Option<RequestId> {
        if self.waiting == 0 {
            return None;
        }
        let lane = self.next_lane()?;
        let state = &mut self.streams[lane];
        let handle = state.waiting.pop_front().expect("a request waits");
        self.waiting -= 1;
        state.fetched += 1;
        self.fetched += 1;
        if let Some(gaps) = &mut state.gaps {
            // The fetch lets the stream issue its next request, as an answer does in a closed loop.
            state.next_issue = gaps.after(now);
            self.answered.push(u32::try_from(lane).expect("streams are few"));
            self.stirred = true;
        }
        if let Some(limit) = &mut self.die_limit {
            limit.fetched(lane, &requests[handle]);
        }
        if let Some(rate) = &mut state.rate {
            rate.pay(&requests[handle].request, now);
            self.wait_for_credit(lane, now, timers);
        }
        self.note_fetchable(lane, requests);
        self.note_sharers(requests);
        Some(handle)
    }

    /// Streams that share the queues of dies may be fetched from when any of them may.
    fn note_sharers(&mut self, requests: &Requests) {
        if self.die_limit.as_ref().is_some_and(|limit| limit.shared) {
            (0..self.streams.len()).for_each(|lane| self.note_fetchable(lane, requests));
            self.stirred |= self.fetchable_from(0).is_some();
        }
    }

    /// Whether the page accesses that wait for a die are limited.
    #[inline]
    pub(super) const fn limits_dies(&self) -> bool {
        self.die_limit.is_some()
    }

    /// A page access of a request does not wait for its die any more.
    pub(super) fn left_die(&mut self, handle: RequestId, lpn: Lpn, requests: &Requests) {
        let Some(limit) = &mut self.die_limit else { return };
        let lane = requests[handle].ticket.lane as usize;
        if limit.left(lane, &requests[handle], lpn) {
            self.note_fetchable(lane, requests);
            self.stirred |= self.fetchable[lane / 64] & (1 << (lane % 64)) != 0;
            self.note_sharers(requests);
        }
    }

    /// The host has the answer of a request.
    #[expect(clippy::inline_always, reason = "once a request; a call costs as much")]
    #[inline(always)]
    pub(super) fn answered(&mut self, handle: RequestId, now: Time, requests: &Requests) {
        let request = &requests[handle];
        if request.request.op == RequestOp::Write {
            self.written += u64::from(request.request.sectors);
        }
        let ticket = request.ticket;
        let lane = &mut self.streams[ticket.lane as usize];
        lane.outstanding -= 1;
        if self.limited {
            lane.fetched -= 1;
            self.fetched -= 1;
        }
        if lane.keys.pacing == Pacing::Think {
            let place = lane.remembers(ticket.number);
            lane.answered_at[place] = now;
        }
        let issues = !matches!(lane.keys.pacing, Pacing::Open | Pacing::Spaced);
        if issues && self.answered.last() != Some(&ticket.lane) {
            self.answered.push(ticket.lane);
        }
        self.stirred |= self.limited || self.watched || issues;
        if self.limited && !lane.waiting.is_empty() {
            self.note_fetchable(ticket.lane as usize, requests);
        }
    }
}

impl Lane {
    /// The place where the answer that request `number` waits for is remembered, and its own.
    fn remembers(&self, number: u64) -> usize {
        usize::try_from(number % self.keys.depth).expect("a depth is small")
    }
}

/// Whether a count is below a limit; 0 is none.
const fn below(count: u64, limit: u64) -> bool {
    limit == 0 || count < limit
}
