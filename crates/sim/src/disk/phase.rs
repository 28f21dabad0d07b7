//! Phases of a disk, as those of the flash device: until a limit or the end of all streams, and
//! then until nothing is left to do.
//!
//! Order at one instant: the arm, the controller, timers, all arrivals by ascending stream; then
//! the controller and the arm turn to their next work.

use super::Disk;
use super::power::Spent;
use super::requests::sectors_of;
use crate::account::{PhaseReport, Usage};
use crate::device::{LAST_ARRIVAL, PhaseKeys, RunError, SimError};
use crate::stream::{Feed, Pacing, Stream};
use flashyard_core::request::{Request, RequestOp};
use flashyard_core::units::{Lpn, Span, Time};

/// A phase under way.
struct Running<'a, E> {
    feeds: Vec<Feed<'a, E>>,
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
    /// What was spent in measured phases, where this one is not.
    kept: Option<Spent>,
}

impl Disk {
    /// Runs a phase. Requests of `streams[k]` carry the stream k; those of a stream that is alone
    /// keep their own. After an error the disk cannot be used any more.
    pub fn run_phase<E>(
        &mut self,
        keys: &PhaseKeys,
        streams: Vec<Stream<'_, E>>,
    ) -> Result<PhaseReport, RunError<E>> {
        let mut run = self.begin(keys, streams)?;
        loop {
            let again = if self.host.is_stirred() { self.now } else { Time::MAX };
            let work = self.arm.due().min(self.controller.due()).min(self.host.timers.next());
            let now = again.min(run.due).min(work);
            if now == Time::MAX {
                break;
            }
            self.time_passes(now);
            if self.arm.due() <= now {
                self.arm_over();
            }
            if self.controller.due() <= now {
                self.controller_over();
            }
            self.timers_go_off();
            if run.due <= now || self.host.is_stirred() {
                self.issue_due(&mut run)?;
            }
            self.controller_begins();
            self.arm_begins();
            let over = self.host.outstanding() == 0 && self.host.is_exhausted();
            if over && run.usage_until.is_none() {
                run.usage_until = Some(self.usage());
            }
        }
        self.end(&run).map_err(RunError::Sim)
    }

    fn begin<'a, E>(
        &mut self,
        keys: &PhaseKeys,
        streams: Vec<Stream<'a, E>>,
    ) -> Result<Running<'a, E>, RunError<E>> {
        let names = streams.iter().map(|stream| stream.name.as_str());
        self.account.begin_phase(self.now, keys.measure, 0, names);
        self.host.begin(self.now, streams.iter().map(|stream| stream.keys), false);
        let limit = |value: u64| if value == 0 { u64::MAX } else { value };
        let mut run = Running {
            keeps_streams: streams.len() == 1,
            feeds: streams.into_iter().map(Feed::new).collect(),
            start: self.now,
            end: self.now.saturating_add(Span::from_ns(limit(keys.time_ms.as_ns()))),
            left: limit(keys.requests),
            due: self.now,
            ended_by: "source",
            usage: self.usage(),
            usage_until: None,
            kept: (!keys.measure).then(|| self.power.take()),
        };
        for feed in &mut run.feeds {
            self.pull(feed)?;
        }
        self.note_exhausted(&run);
        Ok(run)
    }

    /// Issues every request that is due, by ascending stream, and fetches what can be fetched.
    fn issue_due<E>(&mut self, run: &mut Running<'_, E>) -> Result<(), RunError<E>> {
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
                self.issue(run, lane)?;
            }
        }
        self.note_exhausted(run);
        self.fetch();
        Ok(())
    }

    fn note_exhausted<E>(&mut self, run: &Running<'_, E>) {
        self.host.set_exhausted(run.feeds.iter().all(|feed| feed.next.is_none()));
    }

    /// Issues the next request of a stream and asks for the one after it.
    fn issue<E>(&mut self, run: &mut Running<'_, E>, lane: usize) -> Result<(), RunError<E>> {
        let mut request = run.feeds[lane].next.take().expect("a stream that is due has a request");
        request.arrival = self.now;
        if !self.account.has_begun() {
            run.usage = self.usage();
        }
        if !run.keeps_streams {
            request.stream = u16::try_from(lane).expect("fewer than 65,536 streams");
        }
        self.arrive(&request, lane).map_err(RunError::Sim)?;
        run.left -= 1;
        if run.left == 0 {
            run.feeds.iter_mut().for_each(Feed::end);
            run.ended_by = "requests";
            return Ok(());
        }
        self.pull(&mut run.feeds[lane])
    }

    /// Asks a stream for its next request.
    fn pull<E>(&self, feed: &mut Feed<'_, E>) -> Result<(), RunError<E>> {
        let order = self.host.arrived();
        if !feed.pull().map_err(RunError::Workload)? {
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
        Usage { dies: vec![self.power.busy_ns()], channels: vec![0] }
    }

    /// Nothing is left to do: every request must have been answered.
    fn end<E>(&mut self, run: &Running<'_, E>) -> Result<PhaseReport, SimError> {
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
            self.power.put_back(kept);
        }
        Ok(report)
    }
}
