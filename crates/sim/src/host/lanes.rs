//! Submission queues, arbitration and the link.

use super::gaps::Gaps;
use super::rate::RateLimit;
use super::{Host, Timer};
use crate::config::{Arbitration, Duplex};
use crate::handle::RequestId;
use crate::metrics::parts::{Part, Parts};
use crate::stream::{Feed, Pacing, StreamKeys};
use flashyard_core::request::{Request, RequestOp, SECTOR_BYTES};
use flashyard_core::units::{Lpn, Span, Time};
use std::collections::VecDeque;

/// Requests that a stream of pacing `fast` keeps outstanding where the submission queue has no
/// limit: those of the largest queue that NVM Express has.
const LARGEST_QUEUE: u64 = 65_535;

/// A stream as the device sees it.
#[derive(Clone, Debug)]
pub(super) struct Lane {
    keys: StreamKeys,
    /// Issued so far.
    issued: u64,
    /// Issued and not answered.
    pub(super) outstanding: u64,
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

/// What the host's side knows of a request, beside its entry in `pending`.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Ticket {
    lane: u32,
    /// Its place in the stream.
    number: u64,
    /// Time on the way to the device, waiting for the link included.
    pub(super) link_ns: u64,
    /// Whether its answer is on the way back.
    answering: bool,
}

/// The answer of a request: the request by order of arrival, when the host had it, and the parts of
/// the time until then.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Answer {
    pub(crate) order: u64,
    pub(crate) at: Time,
    pub(crate) parts: Parts,
}

/// Data that the link has begun to carry.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Carried {
    /// Whether it goes back to the host.
    pub(crate) back: bool,
    pub(crate) bytes: u64,
    /// From when until when the link carries it.
    pub(crate) from: Time,
    pub(crate) until: Time,
}

impl Host {
    /// A phase of these streams begins.
    /// `watched` is whether every answer is looked at.
    pub(crate) fn begin(
        &mut self,
        start: Time,
        streams: impl Iterator<Item = StreamKeys>,
        watched: bool,
    ) {
        self.watched = watched;
        self.lanes.clear();
        self.lanes.extend((0..).zip(streams).map(|(number, keys)| {
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
            limit.begin(self.lanes.len());
        }
        self.limited = self.die_limit.is_some()
            || self.keys.queue_depth > 0
            || self.keys.fetch_depth > 0
            || self.lanes.iter().any(|lane| lane.rate.is_some());
        let plain = |lane: &Lane| lane.rate.is_none() && lane.gaps.is_none();
        self.direct = self.lanes.len() == 1 && plain(&self.lanes[0]) && self.die_limit.is_none();
        self.answered.clear();
        self.fetchable = vec![0; self.lanes.len().div_ceil(64)];
        self.turn = self.lanes.len().saturating_sub(1);
        self.served = u64::MAX;
        self.written = 0;
        // Whatever is due at once is found by the first look.
        self.stirred = true;
    }

    /// When the next request of a stream is issued; [`Time::MAX`] where there is none or an answer
    /// must come first.
    #[inline]
    pub(crate) fn due(&self, lane: usize, feed: &Feed, start: Time, now: Time) -> Time {
        let Some(request) = &feed.next else { return Time::MAX };
        let lane = &self.lanes[lane];
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
        let stays = weighted && self.served < self.lanes[self.turn].keys.weight;
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
    fn note_fetchable(&mut self, lane: usize) {
        let state = &self.lanes[lane];
        let head = state.waiting.front();
        let held = state.rate.as_ref().is_some_and(|rate| rate.holds);
        let mut may = head.is_some() && below(state.fetched, self.keys.queue_depth) && !held;
        if let (true, Some(limit), Some(head)) = (may, &mut self.die_limit, head) {
            may = limit.fits(lane, &self.pending[head.index()]);
        }
        let word = &mut self.fetchable[lane / 64];
        *word = *word & !(1 << (lane % 64)) | u64::from(may) << (lane % 64);
    }

    /// A request that waits in the submission queue of a stream may have to wait for credit.
    fn wait_for_credit(&mut self, lane: usize, now: Time) {
        let state = &mut self.lanes[lane];
        let rate = state.rate.as_mut().filter(|_| !state.waiting.is_empty());
        if let Some(ready) = rate.and_then(|rate| rate.hold(now)) {
            let lane = u32::try_from(lane).expect("streams are few");
            self.timers.set(ready, Timer::Credit(lane));
        }
    }

    /// The rate limit of a stream lets a request be fetched.
    pub(crate) fn credit_comes(&mut self, lane: usize) {
        if let Some(rate) = &mut self.lanes[lane].rate {
            rate.holds = false;
        }
        self.note_fetchable(lane);
        self.stirred = true;
    }

    /// For each stream, how long a request of it waited for its rate limit, in nanoseconds.
    pub(crate) fn held_ns(&self) -> impl Iterator<Item = u64> {
        self.lanes.iter().map(|lane| lane.rate.as_ref().map_or(0, |rate| rate.held_ns))
    }

    /// Takes the link for the data of a request, from `now` on; returns when all of it and the
    /// request or answer have crossed.
    fn cross(&mut self, back: bool, sectors: u32, now: Time) -> Time {
        let sectors = if self.carries_pages { 0 } else { sectors };
        self.carry(back, sectors, now) + Span::from_ns(self.keys.link_latency_ns)
    }

    /// How many nanoseconds the link carries so many bytes for.
    #[inline]
    fn time_of(&self, bytes: u64) -> u64 {
        let rate = self.keys.link_ps_per_byte;
        if let Some(ps) = bytes.checked_mul(rate) {
            return ps.div_ceil(1_000);
        }
        let ps = u128::from(bytes) * u128::from(rate);
        u64::try_from(ps.div_ceil(1_000)).expect("sizes and rates are limited")
    }

    /// Takes the link for data from `now` on; returns when it has nothing left to carry.
    pub(crate) fn carry(&mut self, back: bool, sectors: u32, now: Time) -> Time {
        let direction = usize::from(back && self.keys.duplex == Duplex::Full);
        let bytes = u64::from(sectors) * u64::from(SECTOR_BYTES);
        let ns = self.time_of(bytes);
        let (mut from, mut sent) = (now, now);
        if ns > 0 {
            from = self.link_free[direction].max(now);
            sent = from + Span::from_ns(ns);
            self.link_free[direction] = sent;
        }
        if self.notes_carried && sectors > 0 {
            self.carried = Some(Carried { back, bytes, from, until: sent });
        }
        sent
    }

    /// What the link has begun to carry since the last look, where its energy is counted.
    #[inline]
    pub(crate) const fn take_carried(&mut self) -> Option<Carried> {
        self.carried.take()
    }

    /// Whether somebody looks at that.
    #[inline]
    pub(crate) const fn notes_carried(&self) -> bool {
        self.notes_carried
    }

    /// Whether the data of each page access crosses the link by itself.
    #[inline]
    pub(crate) const fn carries_pages(&self) -> bool {
        self.carries_pages
    }

    /// Whether a request was answered that may let another one be issued or fetched.
    #[inline]
    pub(crate) const fn is_stirred(&self) -> bool {
        self.stirred
    }

    /// Adds the streams that have had an answer since the last look, which may let them issue, to
    /// a list.
    #[inline]
    pub(crate) fn take_answered(&mut self, lanes: &mut Vec<u32>) {
        lanes.append(&mut self.answered);
    }

    /// All that may be issued is issued now.
    pub(crate) const fn unstir(&mut self) {
        self.stirred = false;
    }

    /// Sectors of writes that were answered in this phase.
    pub(crate) const fn written(&self) -> u64 {
        self.written
    }

    /// The stream of a request.
    pub(crate) fn stream_of(&self, handle: RequestId) -> usize {
        self.tickets[handle.index()].lane as usize
    }

    /// The host issues a request of a stream. Returns whether it is fetched at once.
    #[expect(clippy::inline_always, reason = "once a request, with large arguments")]
    #[inline(always)]
    pub(crate) fn submit(&mut self, handle: RequestId, lane: usize, now: Time) -> bool {
        if self.tickets.len() <= handle.index() {
            self.tickets.resize(self.pending.len(), Ticket::default());
        }
        let state = &mut self.lanes[lane];
        self.tickets[handle.index()] = Ticket {
            lane: u32::try_from(lane).expect("streams are few"),
            number: state.issued,
            link_ns: 0,
            answering: false,
        };
        if state.keys.pacing == Pacing::Think {
            let place = state.remembers(state.issued);
            state.answered_at[place] = Time::MAX;
        }
        state.issued += 1;
        state.outstanding += 1;
        state.last_issue = now;
        if self.limited {
            state.next_issue = Time::MAX;
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
            self.wait_for_credit(lane, now);
            self.note_fetchable(lane);
        } else if let Some(gaps) = &mut state.gaps {
            state.next_issue = gaps.after(now);
        }
        !self.limited
    }

    /// Fetches a request, if there is one and a place for it.
    #[inline]
    pub(crate) fn fetch(&mut self, now: Time) -> Option<RequestId> {
        if !self.limited {
            return None;
        }
        let lane = self.next_lane()?;
        let state = &mut self.lanes[lane];
        let handle = state.waiting.pop_front().expect("a request waits");
        state.fetched += 1;
        self.fetched += 1;
        if let Some(gaps) = &mut state.gaps {
            // The fetch lets the stream issue its next request, as an answer does in a closed loop.
            state.next_issue = gaps.after(now);
            self.answered.push(u32::try_from(lane).expect("streams are few"));
            self.stirred = true;
        }
        if let Some(limit) = &mut self.die_limit {
            limit.fetched(lane, &self.pending[handle.index()]);
        }
        if let Some(rate) = &mut state.rate {
            rate.pay(&self.pending[handle.index()].request, now);
            self.wait_for_credit(lane, now);
        }
        self.note_fetchable(lane);
        self.note_sharers();
        Some(handle)
    }

    /// Streams that share the queues of dies may be fetched from when any of them may.
    fn note_sharers(&mut self) {
        if self.die_limit.as_ref().is_some_and(|limit| limit.shared) {
            (0..self.lanes.len()).for_each(|lane| self.note_fetchable(lane));
            self.stirred |= self.fetchable_from(0).is_some();
        }
    }

    /// Whether the page accesses that wait for a die are limited.
    #[inline]
    pub(crate) const fn limits_dies(&self) -> bool {
        self.die_limit.is_some()
    }

    /// A page access of a request does not wait for its die any more.
    pub(crate) fn left_die(&mut self, handle: RequestId, lpn: Lpn) {
        let Some(limit) = &mut self.die_limit else { return };
        let lane = self.tickets[handle.index()].lane as usize;
        if limit.left(lane, &self.pending[handle.index()], lpn) {
            self.note_fetchable(lane);
            self.stirred |= self.fetchable[lane / 64] & (1 << (lane % 64)) != 0;
            self.note_sharers();
        }
    }

    /// A request sets out for the device, when that is awake. Returns whether it is there at once;
    /// otherwise [`Timer::Enter`] says when or, where its core is known already,
    /// [`Timer::Served`] when that is done.
    #[inline]
    pub(crate) fn send(&mut self, handle: RequestId, now: Time) -> bool {
        if !self.has_link {
            return true;
        }
        let sectors = carried(&self[handle].request, RequestOp::Write);
        let awake = self.wake(now);
        let there = self.cross(false, sectors, awake);
        let later = there > now;
        if later {
            self.tickets[handle.index()].link_ns = there.since(now).as_ns();
            if !self.serves_ahead(handle, there, now) {
                self.timers.set(there, Timer::Enter(handle));
            }
        }
        !later
    }

    /// The work of a request is done. Returns whether its answer has yet to cross the link;
    /// [`Timer::Answer`] then says when it has.
    pub(crate) fn sends_answer(&mut self, handle: RequestId, now: Time) -> bool {
        if !self.has_link {
            return false;
        }
        let sectors = carried(&self[handle].request, RequestOp::Read);
        self.sends_rest(handle, sectors, now)
    }

    /// The same where so many sectors have yet to cross.
    pub(crate) fn sends_rest(&mut self, handle: RequestId, sectors: u32, now: Time) -> bool {
        let ticket = &mut self.tickets[handle.index()];
        if !self.has_link || ticket.answering {
            return false;
        }
        ticket.answering = true;
        let there = self.cross(true, sectors, now);
        self[handle].parts.add(Part::Link, there.since(now).as_ns());
        let later = there > now;
        if later {
            self.timers.set(there, Timer::Answer(handle));
        }
        later
    }

    /// The host has the answer of a request.
    #[expect(clippy::inline_always, reason = "once a request, with large arguments")]
    #[inline(always)]
    pub(crate) fn answered(&mut self, handle: RequestId, now: Time) {
        let request = &mut self.pending[handle.index()];
        assert!(request.answered.is_none(), "request {} is answered twice", request.order);
        let latency = now.since(request.request.arrival).as_ns();
        assert_eq!(request.parts.total(), latency, "the parts of request {}", request.order);
        request.answered = Some(now);
        if let Some(answers) = &mut self.answers {
            answers.push_back(Answer { order: request.order, at: now, parts: request.parts });
        }
        if request.request.op == RequestOp::Write {
            self.written += u64::from(request.request.sectors);
        }
        self.outstanding -= 1;
        self.unanswered -= 1;
        self.overlaps.remove(handle);
        let ticket = self.tickets[handle.index()];
        let lane = &mut self.lanes[ticket.lane as usize];
        lane.outstanding -= 1;
        if !self.policy.in_order() {
            self.queue_slots.give_back(self.queue_places[handle.index()].slot);
        }
        if self.limited {
            lane.fetched -= 1;
            self.fetched -= 1;
        }
        if lane.keys.pacing == Pacing::Think {
            let place = lane.remembers(ticket.number);
            lane.answered_at[place] = now;
        }
        let issues = !matches!(lane.keys.pacing, Pacing::Open | Pacing::Spaced);
        if issues {
            self.answered.push(ticket.lane);
        }
        self.stirred |= self.limited || self.watched || issues;
        if self.limited && !lane.waiting.is_empty() {
            self.note_fetchable(ticket.lane as usize);
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

/// Sectors that a request carries in the direction of `op`.
fn carried(request: &Request, op: RequestOp) -> u32 {
    if request.op == op { request.sectors } else { 0 }
}
