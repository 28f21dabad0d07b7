//! Phases: an experiment is a list of them on one device, each until a limit or the end of its
//! streams, and then until nothing is left to do. Only measured ones leave a trace in the report.

use super::{Device, LAST_ARRIVAL, RunError, SimError};
use crate::account::{Figures, PhaseReport, Usage};
use crate::ftl::Scheme;
use crate::host::Host;
use crate::report::Report;
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

/// Requests of closed loops at one instant above which a phase would not end: far more than are
/// outstanding at once.
const AT_ONCE: u64 = 1 << 20;

/// A phase under way.
#[derive(Clone)]
pub(crate) struct Running {
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
}

/// A device with a phase under way.
pub(crate) struct Driving<'a> {
    pub(crate) device: &'a mut Device,
    pub(crate) run: &'a mut Running,
}

impl Running {
    /// Requests that streams have given and that are not issued.
    pub(crate) fn held(&self) -> u64 {
        self.feeds.iter().filter(|feed| feed.next.is_some()).count() as u64
    }
}

/// What a session asks of a phase, beside the loop.
impl Driving<'_> {
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
        let pulled = self.device.pull(feed, supply, stream);
        pulled.expect("it was checked when it was submitted");
        let due = self.device.host.due(stream, feed, self.run.start, now);
        let due = if due < Time::MAX { due.max(now) } else { due };
        self.run.issues.set(u32::try_from(stream).expect("fewer than 65,536 streams"), due);
    }

    /// No stream gets a request any more; `now` is when that is known.
    pub(crate) fn close(&mut self, now: Time) {
        let Self { device, run } = self;
        let mut ended = false;
        for lane in 0..run.feeds.len() {
            if run.feeds[lane].next.is_none() && !run.feeds[lane].is_over() {
                run.feeds[lane].end();
                device.stream_ended(run);
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
        let others = self.others().min(self.device.host.timers.next());
        others.min(self.device.flash.next_due())
    }

    /// When anything happens beside timers, dies and channels.
    #[inline]
    fn others(&self) -> Time {
        let Self { device, run } = self;
        let again = if device.host.is_stirred() { device.now } else { Time::MAX };
        again.min(run.issues.next_due()).min(device.ftl.idle_due())
    }

    /// Whether an answer waits to be taken.
    pub(crate) fn has_answers(&self) -> bool {
        self.device.host.has_answers()
    }
}

impl Device {
    /// The room that knows what is outstanding, and keeps answers for whoever drives the device.
    pub(crate) const fn host(&self) -> &Host {
        &self.host
    }

    /// The same, to be changed.
    pub(crate) const fn host_mut(&mut self) -> &mut Host {
        &mut self.host
    }

    /// Sectors of the device.
    pub(crate) fn capacity_sectors(&self) -> u64 {
        self.settings.capacity_sectors()
    }

    /// What has been done so far, in measured phases.
    pub(crate) fn figures(&self) -> Figures {
        self.account.figures()
    }

    /// The last instant at which something happened.
    pub(crate) const fn now(&self) -> Time {
        self.now
    }
}

impl<S: Supply> Driven<S> for Driving<'_> {
    type Error = RunError<S::Error>;

    #[inline]
    fn next_instant(&mut self, until: Time) -> Option<Time> {
        let others = self.others();
        self.device.next_instant(others, until)
    }

    #[inline]
    fn begins(&mut self, now: Time) {
        self.device.begin_instant(now);
    }

    #[inline]
    fn ends(&mut self, supply: &mut S, now: Time) -> Result<(), Self::Error> {
        let Self { device, run } = self;
        if run.issues.next_due() <= now || device.host.is_stirred() {
            device.issue_due(run, supply)?;
        }
        device.end_instant().map_err(RunError::Sim)?;
        let over = device.host.outstanding() == 0 && device.host.is_exhausted();
        if over && run.usage_until.is_none() {
            run.usage_until = Some(device.usage());
        }
        Ok(())
    }
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

impl Device {
    /// Runs the whole workload, as one stream of pacing `open` in one phase. `next` gives requests
    /// in the order of their arrival times.
    pub fn run<E>(
        mut self,
        next: impl FnMut() -> Result<Option<Request>, E>,
    ) -> Result<Report, RunError<E>> {
        let keys = StreamKeys::default();
        let stream = Stream { name: "host".to_string(), keys, source: Box::new(next) };
        self.drive(&PhaseKeys::default(), vec![stream], true)?;
        self.finish().map_err(RunError::Sim)
    }

    /// Runs a phase: until its limit or the end of all streams, then until every request is
    /// answered and every job of garbage collection is over. Requests of `streams[k]` carry the
    /// stream k; those of a stream that is alone keep their own. After an error the device cannot
    /// be used any more.
    pub fn run_phase<E>(
        &mut self,
        phase: &PhaseKeys,
        streams: Vec<Stream<'_, E>>,
    ) -> Result<PhaseReport, RunError<E>> {
        let alone = streams.len() == 1;
        self.drive(phase, streams, alone)
    }

    fn drive<E>(
        &mut self,
        keys: &PhaseKeys,
        streams: Vec<Stream<'_, E>>,
        keeps_streams: bool,
    ) -> Result<PhaseReport, RunError<E>> {
        let (mut sources, streams) = Sources::of(streams);
        let mut run = self.begin(keys, &streams, keeps_streams, &mut sources)?;
        stream::drive(
            &mut Driving { device: self, run: &mut run },
            &mut sources,
            Time::MAX,
            |_| true,
        )?;
        self.end(&run).map_err(RunError::Sim)
    }

    /// Begins a phase with streams of these names and keys.
    pub(crate) fn begin<S: Supply>(
        &mut self,
        keys: &PhaseKeys,
        streams: &[(String, StreamKeys)],
        keeps_streams: bool,
        supply: &mut S,
    ) -> Result<Running, RunError<S::Error>> {
        self.rest_buffer();
        self.find_short_road();
        self.ftl.begin_phase();
        let names = streams.iter().map(|(name, _)| name.as_str());
        self.account.begin_phase(self.now, keys.measure, self.ftl.batch_cleaned(), names);
        let stable = !keys.stable_percent.is_zero();
        self.host.begin(self.now, streams.iter().map(|(_, keys)| *keys), stable);
        self.queues.begin_phase(streams.iter().map(|(_, keys)| keys.weight));
        let limit = |value: u64, none: u64| if value == 0 { none } else { value };
        let count = streams.len();
        let mut run = Running {
            keys: *keys,
            feeds: streams.iter().map(|(_, keys)| Feed::new(*keys)).collect(),
            keeps_streams,
            open: 0,
            issues: EventTree::new(vec![VACANT; nodes_of(count)]),
            lanes: Vec::new(),
            start: self.now,
            end: self.now.saturating_add(Span::from_ns(limit(keys.time_ms.as_ns(), u64::MAX))),
            left: limit(keys.requests, u64::MAX),
            at_once: 0,
            stability: Stability::default(),
            ended_by: "source",
            usage: self.usage(),
            usage_until: None,
        };
        run.stability.base.0 = self.account.programmed_bytes();
        for lane in 0..count {
            self.pull(&mut run.feeds[lane], supply, lane)?;
            run.open += usize::from(!run.feeds[lane].is_over());
            // All are looked at in the first instant.
            run.lanes.push(u32::try_from(lane).expect("fewer than 65,536 streams"));
        }
        self.host.set_exhausted(run.open == 0);
        self.copies_in_bulk = self.may_copy_in_bulk();
        Ok(run)
    }

    /// Issues every request that is due, by ascending stream, and fetches what can be fetched.
    fn issue_due<S: Supply>(
        &mut self,
        run: &mut Running,
        supply: &mut S,
    ) -> Result<(), RunError<S::Error>> {
        self.host.unstir();
        if !run.keys.stable_percent.is_zero() && self.is_stable(run) {
            self.stop(run, "stable");
        }
        let lanes = &mut run.lanes;
        self.host.take_answered(lanes);
        if run.issues.next_due() <= self.now {
            run.issues.due_at(self.now, |lane| lanes.push(lane));
        }
        if lanes.len() > 1 {
            lanes.sort_unstable_by_key(|&lane| Reverse(lane));
            lanes.dedup();
        }
        while let Some(lane) = run.lanes.pop() {
            self.issue_all(run, supply, lane)?;
        }
        self.fetch();
        Ok(())
    }

    /// Issues the requests of a stream that are due, and notes when the next one is.
    fn issue_all<S: Supply>(
        &mut self,
        run: &mut Running,
        supply: &mut S,
        lane: u32,
    ) -> Result<(), RunError<S::Error>> {
        let index = lane as usize;
        loop {
            let mut due = self.host.due(index, &run.feeds[index], run.start, self.now);
            if due >= run.end && due < Time::MAX {
                run.ended_by = "time";
                run.feeds[index].end();
                self.stream_ended(run);
                due = Time::MAX;
            }
            if due > self.now {
                run.issues.set(lane, due);
                return Ok(());
            }
            self.issue(run, supply, index)?;
        }
    }

    /// A stream is over.
    fn stream_ended(&mut self, run: &mut Running) {
        run.open -= 1;
        self.host.set_exhausted(run.open == 0);
    }

    /// Issues the next request of a stream and asks for the one after it.
    fn issue<S: Supply>(
        &mut self,
        run: &mut Running,
        supply: &mut S,
        lane: usize,
    ) -> Result<(), RunError<S::Error>> {
        let feed = &mut run.feeds[lane];
        let mut request = feed.next.take().expect("a stream that is due has a request");
        request.arrival = self.now;
        if feed.keys.pacing != Pacing::Open {
            run.at_once = if self.account.last_arrival() == self.now { run.at_once + 1 } else { 0 };
            let endless = run.end < Time::MAX || !run.keys.stable_percent.is_zero();
            if run.at_once > AT_ONCE && run.keys.requests == 0 && endless {
                return Err(RunError::Sim(SimError::Standstill { order: self.host.arrived() }));
            }
        }
        if !self.account.has_begun() {
            // What was done before the first arrival is not part of the span that begins with it.
            run.usage = self.usage();
        }
        if !run.keeps_streams {
            request.stream = u16::try_from(lane).expect("fewer than 65,536 streams");
        }
        supply.issued(lane, self.host.arrived());
        self.arrive(&request, lane).map_err(RunError::Sim)?;
        run.left -= 1;
        if run.left == 0 {
            self.stop(run, "requests");
            return Ok(());
        }
        self.pull(&mut run.feeds[lane], supply, lane)?;
        if run.feeds[lane].is_over() {
            self.stream_ended(run);
        }
        Ok(())
    }

    /// Asks a stream for its next request.
    fn pull<S: Supply>(
        &mut self,
        feed: &mut Feed,
        supply: &mut S,
        lane: usize,
    ) -> Result<(), RunError<S::Error>> {
        if !feed.pull(supply, lane).map_err(RunError::Workload)? {
            return Err(RunError::Sim(SimError::Backwards { order: self.host.arrived() }));
        }
        if let Some(request) = &feed.next {
            let unit = u64::from(self.settings.geometry.unit_sectors());
            self.ftl.map().prefetch(request.first_sector / unit);
        }
        let late = feed.next.is_some_and(|request| request.arrival > LAST_ARRIVAL);
        if late && feed.keys.pacing == Pacing::Open {
            return Err(RunError::Sim(SimError::TooLate { order: self.host.arrived() }));
        }
        Ok(())
    }

    /// No request is issued any more.
    fn stop(&mut self, run: &mut Running, why: &'static str) {
        run.feeds.iter_mut().for_each(Feed::end);
        run.open = 0;
        run.issues = EventTree::new(vec![VACANT; nodes_of(run.feeds.len())]);
        run.ended_by = why;
        self.host.set_exhausted(true);
    }

    fn is_stable(&self, run: &mut Running) -> bool {
        let written = self.host.written();
        written - run.stability.base.1 >= self.settings.capacity_sectors()
            && run.stability.settles(
                self.account.programmed_bytes(),
                written,
                run.keys.stable_percent.ppm(),
            )
    }

    /// Nothing is left to do: every request must have been answered.
    pub(crate) fn end(&mut self, run: &Running) -> Result<PhaseReport, SimError> {
        if self.host.outstanding() > 0 {
            let order = self.host.oldest_unanswered();
            return Err(SimError::Stuck { order, requests: self.host.outstanding() });
        }
        if self.ftl.is_paced() {
            self.be_awake();
            if self.let_ftl(Scheme::end_resting_jobs) {
                self.drain()?;
            }
        }
        assert_eq!(self.sets.live(), 0, "sets are left over");
        let waits = self.buffer.as_ref().is_some_and(|buffer| buffer.has_waiting());
        assert!(!waits, "a unit still waits for a line");
        self.see_accesses();
        self.ftl.end_phase(run.keys.measure);
        self.account.rate_limited(self.host.held_ns());
        let (cleaned, work) = (self.ftl.batch_cleaned(), run.usage_until.as_ref());
        let work = work.map(|until| (&run.usage, until));
        Ok(self.account.end_phase(self.now, run.ended_by, cleaned, work))
    }
}
