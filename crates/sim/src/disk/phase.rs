//! Phases of a disk, as those of the flash device: until a limit or the end of all streams, and
//! then until nothing is left to do.
//!
//! Order at one instant: the arm, the controller, timers, all arrivals by ascending stream; then
//! the controller and the arm turn to their next work.

use super::Disk;
use super::power::Spent;
use super::requests::sectors_of;
use crate::account::{Figures, PhaseReport, Usage};
use crate::device::{LAST_ARRIVAL, PhaseKeys, RunError, SimError};
use crate::host::Host;
use crate::stream::{self, Driven, Feed, Pacing, Sources, Stream, StreamKeys, Supply};
use flashyard_core::request::{Request, RequestOp};
use flashyard_core::units::{Lpn, Span, Time};
use std::convert::Infallible;

/// A phase under way.
#[derive(Clone)]
pub(crate) struct Running {
    feeds: Vec<Feed>,
    keeps_streams: bool,
    start: Time,
    /// From here on no request is issued.
    end: Time,
    /// How many more may be issued.
    left: u64,
    /// When the next request is issued, as far as that is known.
    due: Time,
    ended_by: &'static str,
    /// The work of the arm at the start, and at the last completion.
    usage: Usage,
    usage_until: Option<Usage>,
    /// The energy and time of earlier measured phases, if this phase is not measured.
    kept: Option<Spent>,
}

/// A disk with a phase under way.
pub(crate) struct Driving<'a> {
    pub(crate) disk: &'a mut Disk,
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
        let pulled = self.disk.pull(feed, supply, stream);
        pulled.expect("it was checked when it was submitted");
        let due = self.disk.host.due(stream, feed, self.run.start, now);
        if due < Time::MAX {
            self.run.due = self.run.due.min(due.max(now));
        }
    }

    /// No stream gets a request any more; `now` is when that is known.
    pub(crate) fn close(&mut self, now: Time) {
        let waiting = |feed: &&mut Feed| feed.next.is_none() && !feed.is_over();
        let ended = self.run.feeds.iter_mut().filter(waiting).map(Feed::end).count();
        self.disk.note_exhausted(self.run);
        if ended > 0 && self.disk.host.is_exhausted() {
            self.run.due = self.run.due.min(now);
        }
    }

    /// When anything happens next; [`Time::MAX`] where nothing does.
    pub(crate) fn due(&mut self) -> Time {
        let Self { disk, run } = self;
        let again = if disk.host.is_stirred() { disk.now } else { Time::MAX };
        let work = disk.arm.due().min(disk.controller.due()).min(disk.host.timers.next());
        again.min(run.due).min(work)
    }

    /// Whether an answer waits to be taken.
    pub(crate) fn has_answers(&self) -> bool {
        self.disk.host.has_answers()
    }
}

impl Disk {
    /// The room that knows what is outstanding, and keeps answers for whoever drives the disk.
    pub(crate) const fn host(&self) -> &Host {
        &self.host
    }

    /// The same, to be changed.
    pub(crate) const fn host_mut(&mut self) -> &mut Host {
        &mut self.host
    }

    /// Sectors of the disk.
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

    fn next_instant(&mut self, until: Time) -> Option<Time> {
        let now = self.due();
        (now <= until && now < Time::MAX).then_some(now)
    }

    fn begins(&mut self, now: Time) {
        let disk = &mut *self.disk;
        disk.time_passes(now);
        if disk.arm.due() <= now {
            disk.arm_over();
        }
        if disk.controller.due() <= now {
            disk.controller_over();
        }
        disk.timers_go_off();
    }

    fn ends(&mut self, supply: &mut S, now: Time) -> Result<(), Self::Error> {
        let Self { disk, run } = self;
        if run.due <= now || disk.host.is_stirred() {
            disk.issue_due(run, supply)?;
        }
        disk.controller_begins();
        disk.arm_begins();
        let over = disk.host.outstanding() == 0 && disk.host.is_exhausted();
        if over && run.usage_until.is_none() {
            run.usage_until = Some(disk.usage());
        }
        Ok(())
    }
}

impl Disk {
    /// Runs a phase. Requests of `streams[k]` carry the stream k; those of a stream that is alone
    /// keep their own. After an error the disk cannot be used any more.
    pub fn run_phase<E>(
        &mut self,
        keys: &PhaseKeys,
        streams: Vec<Stream<'_, E>>,
    ) -> Result<PhaseReport, RunError<E>> {
        let (mut sources, streams) = Sources::of(streams);
        let mut run = self.begin(keys, &streams, &mut sources)?;
        stream::drive(&mut Driving { disk: self, run: &mut run }, &mut sources, Time::MAX, |_| {
            true
        })?;
        self.end(&run).map_err(RunError::Sim)
    }

    /// Begins a phase with streams of these names and keys.
    pub(crate) fn begin<S: Supply>(
        &mut self,
        keys: &PhaseKeys,
        streams: &[(String, StreamKeys)],
        supply: &mut S,
    ) -> Result<Running, RunError<S::Error>> {
        let names = streams.iter().map(|(name, _)| name.as_str());
        self.account.begin_phase(self.now, keys.measure, 0, names);
        self.host.begin(self.now, streams.iter().map(|(_, keys)| *keys), false);
        let limit = |value: u64| if value == 0 { u64::MAX } else { value };
        let mut run = Running {
            keeps_streams: streams.len() == 1,
            feeds: streams.iter().map(|(_, keys)| Feed::new(*keys)).collect(),
            start: self.now,
            end: self.now.saturating_add(Span::from_ns(limit(keys.time_ms.as_ns()))),
            left: limit(keys.requests),
            due: self.now,
            ended_by: "source",
            usage: self.usage(),
            usage_until: None,
            kept: (!keys.measure).then(|| std::mem::take(&mut self.power.spent)),
        };
        for lane in 0..streams.len() {
            self.pull(&mut run.feeds[lane], supply, lane)?;
        }
        self.note_exhausted(&run);
        Ok(run)
    }

    /// Issues every request that is due, by ascending stream, and fetches what can be fetched.
    fn issue_due<S: Supply>(
        &mut self,
        run: &mut Running,
        supply: &mut S,
    ) -> Result<(), RunError<S::Error>> {
        self.host.unstir();
        self.host.take_answered(&mut Vec::new());
        run.due = Time::MAX;
        for lane in 0..run.feeds.len() {
            loop {
                let due = self.host.due(lane, &run.feeds[lane], run.start, self.now);
                if due >= run.end && due < Time::MAX {
                    run.ended_by = "time";
                    run.feeds[lane].end();
                    break;
                }
                if due > self.now {
                    run.due = run.due.min(due);
                    break;
                }
                self.issue(run, supply, lane)?;
            }
        }
        self.note_exhausted(run);
        self.fetch();
        Ok(())
    }

    fn note_exhausted(&mut self, run: &Running) {
        self.host.set_exhausted(run.feeds.iter().all(Feed::is_over));
    }

    /// Issues the next request of a stream and asks for the one after it.
    fn issue<S: Supply>(
        &mut self,
        run: &mut Running,
        supply: &mut S,
        lane: usize,
    ) -> Result<(), RunError<S::Error>> {
        let mut request = run.feeds[lane].next.take().expect("a stream that is due has a request");
        request.arrival = self.now;
        if !self.account.has_begun() {
            run.usage = self.usage();
        }
        if !run.keeps_streams {
            request.stream = u16::try_from(lane).expect("fewer than 65,536 streams");
        }
        supply.issued(lane, self.host.arrived());
        self.arrive(&request, lane).map_err(RunError::Sim)?;
        run.left -= 1;
        if run.left == 0 {
            run.feeds.iter_mut().for_each(Feed::end);
            run.ended_by = "requests";
            return Ok(());
        }
        self.pull(&mut run.feeds[lane], supply, lane)
    }

    /// Asks a stream for its next request.
    fn pull<S: Supply>(
        &self,
        feed: &mut Feed,
        supply: &mut S,
        lane: usize,
    ) -> Result<(), RunError<S::Error>> {
        let order = self.host.arrived();
        if !feed.pull(supply, lane).map_err(RunError::Workload)? {
            return Err(RunError::Sim(SimError::Backwards { order }));
        }
        let late = feed.next.is_some_and(|request| request.arrival > LAST_ARRIVAL);
        if late && feed.keys.pacing == Pacing::Open {
            return Err(RunError::Sim(SimError::TooLate { order }));
        }
        Ok(())
    }

    fn arrive(&mut self, request: &Request, lane: usize) -> Result<(), SimError> {
        let order = self.host.arrived();
        SimError::check_arrival(request, order, self.settings.capacity_sectors())?;
        let none = (Lpn::new(0), 0);
        self.account.arrived(request, order, none, self.host.outstanding());
        if let Some(checker) = &mut self.checker {
            let (first, end) = sectors_of(request);
            match request.op {
                RequestOp::Read => checker.read_arrived(order, first, end),
                RequestOp::Flush => checker.flush_arrived(order),
                RequestOp::Write | RequestOp::Trim => {}
            }
        }
        let handle = self.host.open(request, none.0, none.1);
        if self.host.submit(handle, lane, self.now) {
            self.send(handle);
        }
        Ok(())
    }

    /// The work of the arm until now, in the place of that of dies.
    fn usage(&self) -> Usage {
        Usage { dies: vec![self.power.busy_ns], channels: vec![0] }
    }

    /// Nothing is left to do: every request must have been answered.
    pub(crate) fn end(&mut self, run: &Running) -> Result<PhaseReport, SimError> {
        if self.host.outstanding() > 0 {
            let order = self.host.oldest_unanswered();
            return Err(SimError::Stuck { order, requests: self.host.outstanding() });
        }
        assert!(self.cache.is_clean(), "writes are left in the cache");
        assert_eq!(self.cache.held, 0, "room of the write cache is lost");
        if let Some(checker) = &self.checker {
            checker.rest();
        }
        self.account.rate_limited(self.host.held_ns());
        let work = run.usage_until.as_ref().map(|until| (&run.usage, until));
        let mut report = self.account.end_phase(self.now, run.ended_by, 0, work);
        report.write_amplification = None;
        if let Some(kept) = run.kept {
            self.power.spent = kept;
        }
        Ok(report)
    }
}
