//! Phases: an experiment is a list of them on one machine, each until a limit or the end of its
//! streams, and then until nothing is left to do. Only measured ones leave a trace in the report.
//!
//! A machine is a flash device or a disk. It says when it has work to do, and does that; here
//! requests are issued, and the phase ends.

use crate::account::{Account, PhaseReport, Usage};
use crate::error::{LAST_ARRIVAL, RunError, SimError};
use crate::host::Host;
use crate::stream::{self, Driven, Feed, Pacing, Sources, Stream, StreamKeys, Supply};
use flashyard_core::events::{EventTree, Node, VACANT, nodes_of};
use flashyard_core::key::Kind;
use flashyard_core::keys;
use flashyard_core::quantity::Ppm;
use flashyard_core::request::Request;
use flashyard_core::units::{Span, Time};
use std::cmp::Reverse;
use std::convert::Infallible;

keys! {
    /// Keys of a phase.
    pub struct PhaseKeys {
        /// Whether the phase counts in the report.
        measure: bool = true => {
            kind: Kind::Bool, source: "assumed", flip: "false", with: &[],
        },
        /// Number of requests, of all streams together, after which no more are issued. 0: no
        /// limit.
        requests: u64 = 0 => {
            kind: Kind::count("requests", 0, u64::MAX), source: "assumed", flip: "10", with: &[],
        },
        /// Time from the start of the phase after which no more requests are issued. 0: no limit.
        time_ms: Span = Span::ZERO => {
            kind: Kind::millis(0, 1 << 62), source: "assumed", flip: "1", with: &[],
        },
        /// The phase ends when the write amplification of two successive windows differs by less
        /// than this share. In each window the host writes as much as the exported capacity. 0: it
        /// does not.
        stable_percent: Ppm = Ppm::ZERO => {
            kind: Kind::percent(0, 1_000_000), source: "assumed", flip: "5", with: &["@full"],
        },
    }
}

/// What phases run on.
pub(crate) trait Machine {
    /// What it remembers of the start of a phase.
    type Begun;

    /// The last instant at which something happened.
    fn now(&self) -> Time;

    /// The room that knows what is outstanding, and keeps answers for whoever drives the machine.
    fn host(&self) -> &Host;

    /// The same, to be changed.
    fn host_mut(&mut self) -> &mut Host;

    /// The account of what is done.
    fn account(&self) -> &Account;

    /// Its sectors.
    fn capacity_sectors(&self) -> u64;

    /// The work that its parts have done until now.
    fn usage(&self) -> Usage;

    /// A phase begins, with streams of these names and keys.
    fn begin_phase(&mut self, keys: &PhaseKeys, streams: &[(String, StreamKeys)]) -> Self::Begun;

    /// A phase ends, for this reason: nothing is left to do. `work` is what had been done at its
    /// start and at its last completion, if there was one.
    fn end_phase(
        &mut self,
        begun: &Self::Begun,
        why: &'static str,
        work: Option<(&Usage, &Usage)>,
    ) -> Result<PhaseReport, SimError>;

    /// A request is going to arrive.
    fn announce(&self, request: &Request);

    /// A request of a stream arrives.
    fn arrive(&mut self, request: &Request, lane: usize) -> Result<(), SimError>;

    /// Requests are fetched as long as there are any and places for them.
    fn fetch(&mut self);

    /// When a timer goes off or a part has finished its work; [`Time::MAX`] if never. Work of idle
    /// times is left out: see [`Self::idle_due`].
    fn due(&mut self) -> Time;

    /// When the machine has been idle for long enough to begin work of its own; [`Time::MAX`] if
    /// that never happens.
    fn idle_due(&self) -> Time;

    /// The next instant at which something happens, up to and including `until`. `others` is when
    /// the phase has something to do.
    fn next(&mut self, others: Time, until: Time) -> Option<Time>;

    /// Work that is due at an instant.
    fn begins(&mut self, now: Time);

    /// What the events and the requests of an instant have made possible.
    fn ends(&mut self) -> Result<(), SimError>;
}

/// Requests of closed loops at one instant above which a phase would not end: far more than are
/// outstanding at once.
const AT_ONCE: u64 = 1 << 20;

/// A phase under way.
#[derive(Clone)]
pub(crate) struct Running<B> {
    keys: PhaseKeys,
    feeds: Vec<Feed>,
    /// Whether requests keep the stream that their source gives them.
    keeps_streams: bool,
    /// Streams that are not over.
    open: usize,
    /// When each stream issues its next request; never where an answer must come first.
    issues: EventTree<Vec<Node>>,
    /// Streams to look at; empty between uses.
    lanes: Vec<u32>,
    start: Time,
    /// From here on no request is issued.
    end: Time,
    /// How many more may be issued.
    left: u64,
    /// How many were issued at this instant because others were answered.
    at_once: u64,
    stability: Stability,
    ended_by: &'static str,
    /// What had been done at the start, and at the last completion.
    usage: Usage,
    usage_until: Option<Usage>,
    /// What the machine remembers of the start.
    begun: B,
}

impl<B> Running<B> {
    /// What the machine remembers of the start.
    pub(crate) const fn begun(&self) -> &B {
        &self.begun
    }

    /// What dies and channels had done at its first arrival.
    pub(crate) const fn usage(&self) -> &Usage {
        &self.usage
    }

    /// Requests that streams have given and that are not issued.
    pub(crate) fn held(&self) -> u64 {
        self.feeds.iter().filter(|feed| feed.next.is_some()).count() as u64
    }
}

/// A machine with a phase under way.
pub(crate) struct Driving<'a, M: Machine> {
    pub(crate) machine: &'a mut M,
    pub(crate) run: &'a mut Running<M::Begun>,
}

impl<M: Machine, S: Supply> Driven<S> for Driving<'_, M> {
    type Error = RunError<S::Error>;

    #[inline]
    fn next_instant(&mut self, until: Time) -> Option<Time> {
        let others = self.others();
        self.machine.next(others, until)
    }

    #[inline]
    fn begins(&mut self, now: Time) {
        self.machine.begins(now);
    }

    #[inline]
    fn ends(&mut self, supply: &mut S, now: Time) -> Result<(), Self::Error> {
        if self.run.issues.next_due() <= now || self.machine.host().is_stirred() {
            self.issue_due(supply)?;
        }
        self.machine.ends().map_err(RunError::Sim)?;
        let host = self.machine.host();
        let rests = host.outstanding() == 0 && self.run.usage_until.is_none();
        // Where requests are submitted by and by, each answer may have been the last one.
        if rests && (host.is_exhausted() || !supply.is_over()) {
            self.run.usage_until = Some(self.machine.usage());
        }
        Ok(())
    }
}

/// What a session asks of a phase, beside the loop.
impl<M: Machine> Driving<'_, M> {
    /// A stream that may have had no request has one.
    pub(crate) fn offer<S: Supply<Error = Infallible>>(
        &mut self,
        supply: &mut S,
        stream: usize,
        now: Time,
    ) {
        let feed = &mut self.run.feeds[stream];
        if feed.next.is_some() || feed.is_over() {
            return;
        }
        let pulled = pull(self.machine, feed, supply, stream);
        pulled.expect("it was checked when it was submitted");
        let due = self.machine.host().due(stream, feed, self.run.start, now);
        let due = if due < Time::MAX { due.max(now) } else { due };
        self.run.issues.set(u32::try_from(stream).expect("fewer than 65,536 streams"), due);
    }

    /// No stream gets a request any more; `now` is when that is known.
    pub(crate) fn close(&mut self, now: Time) {
        let Self { machine, run } = self;
        let mut ended = false;
        for lane in 0..run.feeds.len() {
            if run.feeds[lane].next.is_none() && !run.feeds[lane].is_over() {
                run.feeds[lane].end();
                run.stream_ended(machine.host_mut());
                ended = true;
            }
        }
        if ended && run.open == 0 {
            // Work that waits for the end is looked at.
            run.issues.set(0, now);
        }
    }

    /// When anything happens next; [`Time::MAX`] where nothing does.
    pub(crate) fn due(&mut self) -> Time {
        self.others().min(self.machine.due())
    }

    /// When anything happens beside timers, dies and channels.
    #[inline]
    fn others(&self) -> Time {
        let Self { machine, run } = self;
        let again = if machine.host().is_stirred() { machine.now() } else { Time::MAX };
        again.min(run.issues.next_due()).min(machine.idle_due())
    }

    /// How many answers wait to be taken.
    pub(crate) fn answers(&self) -> usize {
        self.machine.host().answers()
    }
}

/// Issuing.
impl<M: Machine> Driving<'_, M> {
    /// Issues every request that is due, by ascending stream, and fetches what can be fetched.
    fn issue_due<S: Supply>(&mut self, supply: &mut S) -> Result<(), RunError<S::Error>> {
        let now = self.machine.now();
        self.machine.host_mut().unstir();
        if !self.run.keys.stable_percent.is_zero() && self.is_stable() {
            self.run.stop("stable", self.machine.host_mut());
        }
        let Running { lanes, issues, .. } = &mut *self.run;
        while let Some(lane) = self.machine.host_mut().next_answered() {
            lanes.push(lane);
        }
        if issues.next_due() <= now {
            issues.due_at(now, |lane| lanes.push(lane));
        }
        if lanes.len() > 1 {
            lanes.sort_unstable_by_key(|&lane| Reverse(lane));
            lanes.dedup();
        }
        while let Some(lane) = self.run.lanes.pop() {
            self.issue_all(supply, lane)?;
        }
        self.machine.fetch();
        Ok(())
    }

    /// Issues the requests of a stream that are due, and notes when the next one is.
    fn issue_all<S: Supply>(
        &mut self,
        supply: &mut S,
        lane: u32,
    ) -> Result<(), RunError<S::Error>> {
        let index = lane as usize;
        loop {
            let Self { machine, run } = self;
            let mut due = machine.host().due(index, &run.feeds[index], run.start, machine.now());
            if due >= run.end && due < Time::MAX {
                run.ended_by = "time";
                run.feeds[index].end();
                run.stream_ended(machine.host_mut());
                due = Time::MAX;
            }
            if due > machine.now() {
                // Where nothing is due, the stream is not.
                if due.min(run.issues.next_due()) < Time::MAX {
                    run.issues.set(lane, due);
                }
                return Ok(());
            }
            self.issue(supply, index)?;
        }
    }

    /// Issues the next request of a stream and asks for the one after it.
    fn issue<S: Supply>(&mut self, supply: &mut S, lane: usize) -> Result<(), RunError<S::Error>> {
        let Self { machine, run } = self;
        let now = machine.now();
        let feed = &mut run.feeds[lane];
        let mut request = feed.next.take().expect("a stream that is due has a request");
        request.arrival = now;
        let order = machine.host().arrived();
        if feed.keys.pacing != Pacing::Open {
            let again = machine.account().last_arrival() == now;
            run.at_once = if again { run.at_once + 1 } else { 0 };
            let endless = run.end < Time::MAX || !run.keys.stable_percent.is_zero();
            if run.at_once > AT_ONCE && run.keys.requests == 0 && endless {
                return Err(RunError::Sim(SimError::Standstill { order }));
            }
        }
        if !machine.account().has_begun() {
            // What was done before the first arrival is not part of the span that begins with it.
            run.usage = machine.usage();
        }
        if !run.keeps_streams {
            request.stream = u16::try_from(lane).expect("fewer than 65,536 streams");
        }
        if let Some(placement) = feed.keys.identifier() {
            request.placement = Some(placement);
        }
        supply.issued(lane, order);
        run.usage_until = None;
        machine.arrive(&request, lane).map_err(RunError::Sim)?;
        run.left -= 1;
        if run.left == 0 {
            run.stop("requests", machine.host_mut());
            return Ok(());
        }
        pull(*machine, &mut run.feeds[lane], supply, lane)?;
        if run.feeds[lane].is_over() {
            run.stream_ended(machine.host_mut());
        }
        Ok(())
    }

    /// Whether write amplification has settled.
    fn is_stable(&mut self) -> bool {
        let Self { machine, run } = self;
        let (written, ppm) = (machine.host().written(), run.keys.stable_percent.ppm());
        written - run.stability.base.1 >= machine.capacity_sectors()
            && run.stability.settles(machine.account().programmed_bytes(), written, ppm)
    }
}

impl<B> Running<B> {
    /// A stream is over.
    fn stream_ended(&mut self, host: &mut Host) {
        self.open -= 1;
        host.set_exhausted(self.open == 0);
    }

    /// No request is issued any more.
    fn stop(&mut self, why: &'static str, host: &mut Host) {
        self.feeds.iter_mut().for_each(Feed::end);
        self.open = 0;
        self.issues = EventTree::new(vec![VACANT; nodes_of(self.feeds.len())]);
        self.ended_by = why;
        host.set_exhausted(true);
    }
}

/// Asks a stream for its next request.
fn pull<M: Machine, S: Supply>(
    machine: &M,
    feed: &mut Feed,
    supply: &mut S,
    lane: usize,
) -> Result<(), RunError<S::Error>> {
    let order = machine.host().arrived();
    if !feed.pull(supply, lane).map_err(RunError::Workload)? {
        return Err(RunError::Sim(SimError::Backwards { order }));
    }
    if let Some(request) = &feed.next {
        machine.announce(request);
        if request.arrival > LAST_ARRIVAL && feed.keys.pacing == Pacing::Open {
            return Err(RunError::Sim(SimError::TooLate { order }));
        }
    }
    Ok(())
}

/// Runs a phase on a machine. Requests of a stream that is alone keep the stream that their source
/// gives them.
pub(crate) fn run<M: Machine, E>(
    machine: &mut M,
    keys: &PhaseKeys,
    streams: Vec<Stream<'_, E>>,
) -> Result<PhaseReport, RunError<E>> {
    let (mut sources, streams) = Sources::of(streams);
    let mut run = begin(machine, keys, &streams, streams.len() == 1, &mut sources)?;
    let driving = &mut Driving { machine: &mut *machine, run: &mut run };
    stream::drive(driving, &mut sources, Time::MAX, |_| true)?;
    end(machine, &run).map_err(RunError::Sim)
}

/// Begins a phase with streams of these names and keys.
pub(crate) fn begin<M: Machine, S: Supply>(
    machine: &mut M,
    keys: &PhaseKeys,
    streams: &[(String, StreamKeys)],
    keeps_streams: bool,
    supply: &mut S,
) -> Result<Running<M::Begun>, RunError<S::Error>> {
    let begun = machine.begin_phase(keys, streams);
    let (now, count) = (machine.now(), streams.len());
    let limit = |value: u64| if value == 0 { u64::MAX } else { value };
    let mut run = Running {
        keys: *keys,
        feeds: streams.iter().map(|(_, keys)| Feed::new(*keys)).collect(),
        keeps_streams,
        open: 0,
        issues: EventTree::new(vec![VACANT; nodes_of(count)]),
        lanes: Vec::new(),
        start: now,
        end: now.saturating_add(Span::from_ns(limit(keys.time_ms.as_ns()))),
        left: limit(keys.requests),
        at_once: 0,
        stability: Stability::default(),
        ended_by: "source",
        usage: machine.usage(),
        usage_until: None,
        begun,
    };
    run.stability.base.0 = machine.account().programmed_bytes();
    for lane in 0..count {
        pull(machine, &mut run.feeds[lane], supply, lane)?;
        run.open += usize::from(!run.feeds[lane].is_over());
    }
    machine.host_mut().set_exhausted(run.open == 0);
    Ok(run)
}

/// Nothing is left to do: every request must have been answered.
pub(crate) fn end<M: Machine>(
    machine: &mut M,
    run: &Running<M::Begun>,
) -> Result<PhaseReport, SimError> {
    let host = machine.host();
    if host.outstanding() > 0 {
        let order = host.oldest_unanswered();
        return Err(SimError::Stuck { order, requests: host.outstanding() });
    }
    let work = run.usage_until.as_ref().map(|until| (&run.usage, until));
    machine.end_phase(&run.begun, run.ended_by, work)
}

/// Finds out when write amplification has settled.
#[derive(Clone, Default)]
struct Stability {
    /// Bytes programmed and sectors written when the current window began ...
    base: (u128, u64),
    /// ... and how many in the window before.
    last: Option<(u128, u64)>,
}

impl Stability {
    /// Whether the window that ends now differs from the one before by less than `ppm`.
    fn settles(&mut self, programmed: u128, written: u64, ppm: u64) -> bool {
        let window = (programmed - self.base.0, written - self.base.1);
        let last = self.last.replace(window);
        self.base = (programmed, written);
        let Some(last) = last else { return false };
        let old = last.0 * u128::from(window.1);
        let new = window.0 * u128::from(last.1);
        old.abs_diff(new) * 1_000_000 < old * u128::from(ppm)
    }
}
