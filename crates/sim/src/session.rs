//! A device that somebody else drives: the host owns the clock, submits requests when it likes,
//! and learns when they are over.
//!
//! A session is one phase of a device of either kind. It goes round the same event loop as
//! [`Device::run_phase`](crate::device::Device::run_phase), instant by instant, so that the
//! requests of a trace give the same report either way, whether they are submitted ahead or step by
//! step.
//!
//! ```
//! use flashyard_core::request::{Request, RequestOp};
//! use flashyard_core::units::Time;
//! use flashyard_sim::config::{DeviceKeys, Settings};
//! use flashyard_sim::drive::Drive;
//! use flashyard_sim::session::{Session, Stop};
//!
//! let settings = Settings::new(DeviceKeys::default()).unwrap();
//! let mut session = Session::new(Drive::new(&settings));
//! // A closed loop by hand: the next write is submitted when the one before is over.
//! let mut at = Time::ZERO;
//! for number in 0..3 {
//!     session.submit(&Request::new(RequestOp::Write, number * 8, 8).at(at)).unwrap();
//!     at = session.advance(Time::MAX, Stop::AtCompletion).unwrap();
//!     assert_eq!(session.poll().unwrap().at, at);
//! }
//! let (_, report) = session.end().unwrap();
//! assert_eq!(report.requests, 3);
//! ```

use crate::account::PhaseReport;
pub use crate::account::{Figures, HandleStatus};
use crate::cut::Cut;
use crate::device::{self, Device, PhaseKeys, RunError, SimError};
use crate::disk::{self, Disk};
use crate::drive::Drive;
use crate::ftl::Zoned;
use crate::host::{Answer, Host};
use crate::metrics::parts::Parts;
use crate::phases::{self, Driving, Machine, Running};
use crate::report::Report;
use crate::stream::{self, Driven, Pacing, Reached, StreamKeys, Supply};
pub use crate::zones::{Outcome, ZoneError, ZoneReport, ZoneState};
use flashyard_core::request::Request;
use flashyard_core::units::Time;
use std::collections::{BTreeSet, VecDeque};
use std::convert::Infallible;
use std::fmt;
use std::num::NonZero;

/// A request that is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Completion {
    /// What [`Session::submit`] returned for it.
    pub id: u64,
    /// When the host had the answer.
    pub at: Time,
    /// What the time from its arrival on was spent on, to the nanosecond.
    pub parts: Parts,
    /// How it has ended: a device with zones says where an append has written, and why a request
    /// had no effect. [`Outcome::Done`] on any other device.
    pub outcome: Outcome,
}

/// Where [`Session::advance`] stops.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// At the time that is given.
    At,
    /// At the first instant at which a request is over, or at the time that is given if none is by
    /// then. The instant is not over yet: a request that is submitted for it now takes part in it,
    /// as the next one of a closed loop does.
    AtCompletion,
    /// The same at the first instant at which so many requests are over that were not polled, or
    /// more: for those who take completions in batches.
    AtCompletions(NonZero<u32>),
}

/// Why a request was not taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refused {
    /// It arrives before the session's time.
    Past {
        /// The session's time.
        now: Time,
    },
    /// It reaches past the device, or arrives too late to be simulated.
    Range(SimError),
    /// It arrives before an earlier one of its stream, whose arrivals count (`open` and `think`).
    Order {
        /// The arrival of that one.
        last: Time,
    },
    /// It would arrive now, and the submission queue of its stream is full
    /// (`interface.queue_depth`). What was submitted since time went on last is not in the queue
    /// yet: it waits in front of it, as requests of a trace that come at once do.
    Full,
    /// It is an append or an action on a zone, and the device has no zones (`ftl.scheme`).
    NoZones,
    /// There is no such stream.
    Stream {
        /// How many there are.
        count: usize,
    },
    /// The session was closed, or has failed.
    Closed,
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Past { now } => {
                write!(f, "the request arrives before {now:?}, the time of the session")
            }
            Self::Range(error) => error.fmt(f),
            Self::Order { last } => {
                write!(f, "the request arrives before {last:?}, as one of its stream did")
            }
            Self::Full => f.write_str("the submission queue is full (interface.queue_depth)"),
            Self::NoZones => f.write_str("the device has no zones (ftl.scheme = \"zns\")"),
            Self::Stream { count } => write!(f, "there are {count} streams, counted from 0"),
            Self::Closed => f.write_str("the session takes no requests any more"),
        }
    }
}

impl std::error::Error for Refused {}

/// Requests that have been submitted and not issued, by stream.
#[derive(Clone, Debug)]
struct Queues {
    streams: Vec<Lane>,
    closed: bool,
    /// The identifiers of requests that are issued and not over, by order of arrival from `first`.
    issued: VecDeque<Option<u64>>,
    first: u64,
}

#[derive(Clone, Debug)]
struct Lane {
    /// Whether arrivals count, and that of the last one submitted.
    timed: bool,
    last: Time,
    waiting: VecDeque<(u64, Request)>,
    /// The identifier of the request that was given last.
    given: u64,
}

impl Supply for Queues {
    type Error = Infallible;

    fn next(&mut self, stream: usize) -> Result<Option<Request>, Infallible> {
        let lane = &mut self.streams[stream];
        let next = lane.waiting.pop_front();
        Ok(next.map(|(id, request)| {
            lane.given = id;
            request
        }))
    }

    fn is_over(&self) -> bool {
        self.closed
    }

    fn issued(&mut self, stream: usize, order: u64) {
        if self.issued.is_empty() {
            self.first = order;
        }
        debug_assert_eq!(order, self.first + self.issued.len() as u64, "orders follow one another");
        self.issued.push_back(Some(self.streams[stream].given));
    }
}

impl Queues {
    /// The identifier of the request of this order, which is over.
    fn take(&mut self, order: u64) -> u64 {
        let place = usize::try_from(order - self.first).expect("as many as memory holds");
        let id = self.issued[place].take().expect("a request is over once");
        while let Some(None) = self.issued.front() {
            self.issued.pop_front();
            self.first += 1;
        }
        id
    }
}

fn failure(error: RunError<Infallible>) -> SimError {
    match error {
        RunError::Sim(error) => error,
        RunError::Workload(never) => match never {},
    }
}

/// A device and the phase under way on it.
#[derive(Clone)]
enum Kind {
    Flash(Box<Device>, Box<Running<device::Measured>>),
    Disk(Box<Disk>, Box<Running<disk::Kept>>),
}

impl Kind {
    fn host(&self) -> &Host {
        match self {
            Self::Flash(device, _) => device.host(),
            Self::Disk(disk, _) => disk.host(),
        }
    }

    fn zones(&mut self) -> Option<&mut Zoned> {
        match self {
            Self::Flash(device, _) => device.zones(),
            Self::Disk(..) => None,
        }
    }

    fn host_mut(&mut self) -> &mut Host {
        match self {
            Self::Flash(device, _) => device.host_mut(),
            Self::Disk(disk, _) => disk.host_mut(),
        }
    }

    /// A request comes because others were answered.
    fn waits_for_answers(&mut self) {
        match self {
            Self::Flash(device, _) => device.waits_for_answers(),
            Self::Disk(disk, _) => disk.waits_for_answers(),
        }
    }
}

/// A device that is driven step by step. [`Self::fork`] copies it with all that is under way; it
/// may go from thread to thread.
pub struct Session {
    kind: Kind,
    queues: Queues,
    /// When the phase began.
    start: Time,
    now: Time,
    /// The instant of `now` has begun and is not over.
    half: bool,
    /// Time stopped at `now` for an answer.
    answered: bool,
    /// How many requests were submitted, and how many had arrived before this session.
    submitted: u64,
    arrived: u64,
    failed: Option<SimError>,
}

const _: () = {
    const fn may_go_to_another_thread<T: Send>() {}
    may_go_to_another_thread::<Session>();
};

impl fmt::Debug for Session {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Session")
            .field("now", &self.now)
            .field("submitted", &self.submitted)
            .field("outstanding", &self.outstanding())
            .finish_non_exhaustive()
    }
}

/// Does the same with a device of either kind.
macro_rules! phase {
    ($kind:expr, $phase:ident => $work:expr) => {
        match $kind {
            Kind::Flash(machine, run) => {
                let $phase = &mut Driving { machine: &mut **machine, run };
                $work
            }
            Kind::Disk(machine, run) => {
                let $phase = &mut Driving { machine: &mut **machine, run };
                $work
            }
        }
    };
}

impl Session {
    /// A session on a device that nothing is under way on, with one stream, whose requests arrive
    /// when they say.
    pub fn new(drive: Drive) -> Self {
        let streams = [("host".to_string(), StreamKeys::default())];
        Self::with(drive, &PhaseKeys::default(), &streams)
    }

    /// The same with streams of these names and keys, and limits of the phase. With one stream,
    /// requests keep their own stream numbers; with several, the number chooses the stream.
    ///
    /// A limit ends the session as it ends a phase: what is submitted behind it is never issued.
    pub fn with(drive: Drive, keys: &PhaseKeys, streams: &[(String, StreamKeys)]) -> Self {
        let now = drive.now();
        let lane = |(_, keys): &(String, StreamKeys)| Lane {
            timed: matches!(keys.pacing, Pacing::Open | Pacing::Think),
            last: Time::ZERO,
            waiting: VecDeque::new(),
            given: 0,
        };
        let mut queues = Queues {
            streams: streams.iter().map(lane).collect(),
            closed: false,
            issued: VecDeque::new(),
            first: 0,
        };
        let alone = streams.len() == 1;
        let begun = "nothing has been submitted that could be wrong";
        let kind = match drive {
            Drive::Flash(mut device) => {
                let run = phases::begin(&mut *device, keys, streams, alone, &mut queues);
                Kind::Flash(device, Box::new(run.expect(begun)))
            }
            Drive::Disk(mut disk) => {
                let run = phases::begin(&mut *disk, keys, streams, alone, &mut queues);
                Kind::Disk(disk, Box::new(run.expect(begun)))
            }
        };
        let arrived = kind.host().arrived();
        let mut session = Self {
            kind,
            queues,
            start: now,
            now,
            half: false,
            answered: false,
            submitted: 0,
            arrived,
            failed: None,
        };
        session.kind.host_mut().keep_answers(true);
        if let Some(zones) = session.kind.zones() {
            zones.keep_outcomes(true);
        }
        session
    }

    /// Gives the device a request, whose arrival counts from the start of the run, and returns its
    /// identifier. Where the stream is paced by answers (`closed`, `fast`, `spaced`) it is issued
    /// when its turn comes, and its arrival is then.
    ///
    /// A request takes part in the instant of its arrival, as a request of a trace does, if it is
    /// submitted before [`Self::advance`] goes to that instant or while [`Stop::AtCompletion`] has
    /// stopped there. If the instant is over, the device handles the same time a second time for
    /// it. One that is submitted where [`Stop::AtCompletion`] has stopped, for then, has waited for
    /// an answer: the load of the session is not called more than the device can do then.
    pub fn submit(&mut self, request: &Request) -> Result<u64, Refused> {
        if self.queues.closed || self.failed.is_some() {
            return Err(Refused::Closed);
        }
        if request.needs_zones() && self.kind.zones().is_none() {
            return Err(Refused::NoZones);
        }
        let count = self.queues.streams.len();
        let stream = if count == 1 { 0 } else { usize::from(request.stream) };
        let now = self.now;
        let capacity = self.capacity_sectors();
        let lane = self.queues.streams.get_mut(stream).ok_or(Refused::Stream { count })?;
        SimError::check_arrival(request, self.submitted, capacity).map_err(Refused::Range)?;
        let request = if lane.timed {
            if request.arrival < now {
                return Err(Refused::Past { now });
            }
            if request.arrival < lane.last {
                return Err(Refused::Order { last: lane.last });
            }
            lane.last = request.arrival;
            // Streams count from the start of the phase.
            request.at(Time::ZERO + request.arrival.since(self.start))
        } else {
            *request
        };
        let full = self.kind.host().queue_is_full(stream);
        if full && lane.waiting.is_empty() && (!lane.timed || lane.last == now) {
            return Err(Refused::Full);
        }
        if self.answered && lane.timed && lane.last == now {
            self.kind.waits_for_answers();
        }
        let id = self.submitted;
        self.submitted += 1;
        lane.waiting.push_back((id, request));
        phase!(&mut self.kind, phase => phase.offer(&mut self.queues, stream, now));
        Ok(id)
    }

    /// No request comes any more: idle work of the end may begin once the last one is issued. To
    /// get the report of a trace to the last digit, close the session with the last request.
    pub fn close(&mut self) {
        if !self.queues.closed {
            self.queues.closed = true;
            let now = self.now;
            phase!(&mut self.kind, phase => phase.close(now));
        }
    }

    /// A time before which no request is over: now where completions wait to be taken; none where
    /// nothing is pending. Whoever owns the clock needs no more than one wake-up there, and sets it
    /// anew after each submission and advance.
    pub fn next_event(&mut self) -> Option<Time> {
        if self.half || self.has_completions() {
            return Some(self.now);
        }
        let due = phase!(&mut self.kind, phase => phase.due());
        (due < Time::MAX && self.failed.is_none()).then(|| due.max(self.now))
    }

    /// Lets time go on to `until`, and does all that happens up to and including it, or less as
    /// `stop` says. Returns the session's time then. `until` may be [`Time::MAX`]: as long as
    /// anything happens. After an error the session is over.
    pub fn advance(&mut self, until: Time, stop: Stop) -> Result<Time, SimError> {
        if let Some(error) = &self.failed {
            return Err(error.clone());
        }
        let most = match stop {
            Stop::At => usize::MAX,
            Stop::AtCompletion => 1,
            Stop::AtCompletions(count) => count.get() as usize,
        };
        if self.kind.host().answers() >= most {
            self.answered = true;
            return Ok(self.now);
        }
        let reached = self.go_on(until, most).map_err(failure);
        let reached = reached.inspect_err(|error| self.failed = Some(error.clone()))?;
        self.half = matches!(reached, Reached::Half(_));
        self.answered = matches!(reached, Reached::Half(_) | Reached::Whole(_));
        self.now = match reached {
            Reached::Half(now) | Reached::Whole(now) => now,
            Reached::All(last) if until == Time::MAX => last.unwrap_or(self.now),
            Reached::All(_) => self.now.max(until),
        };
        Ok(self.now)
    }

    /// Goes on until `until`, or until so many answers wait.
    fn go_on(&mut self, until: Time, most: usize) -> Result<Reached, RunError<Infallible>> {
        let Self { kind, queues, now, half, .. } = self;
        phase!(kind, phase => {
            if std::mem::take(half) {
                phase.ends(queues, *now)?;
                if phase.answers() >= most {
                    return Ok(Reached::Whole(*now));
                }
            }
            stream::drive(phase, queues, until, |phase| phase.answers() < most)
        })
    }

    /// Ends the instant at which [`Stop::AtCompletion`] has stopped, as each advance does first:
    /// more requests may be over then, and what is submitted for this time comes behind it.
    pub fn end_instant(&mut self) -> Result<(), SimError> {
        let Self { kind, queues, now, half, .. } = self;
        if !std::mem::take(half) {
            return Ok(());
        }
        let ended = phase!(kind, phase => phase.ends(queues, *now)).map_err(failure);
        ended.inspect_err(|error| self.failed = Some(error.clone()))
    }

    /// A request that is over and has not been asked for: in the order in which they were.
    pub fn poll(&mut self) -> Option<Completion> {
        let Answer { order, at, parts } = self.kind.host_mut().take_answer()?;
        let outcome = self.kind.zones().map_or(Outcome::Done, |zones| zones.take_outcome(order));
        Some(Completion { id: self.queues.take(order), at, parts, outcome })
    }

    /// Whether [`Self::poll`] has one.
    pub fn has_completions(&self) -> bool {
        self.kind.host().answers() > 0
    }

    /// A zone by its number, as requests that the device has started have left it; none where there
    /// is no such zone.
    pub fn zone(&self, zone: u32) -> Option<ZoneReport> {
        match &self.kind {
            Kind::Flash(device, _) => device.zone(zone),
            Kind::Disk(..) => None,
        }
    }

    /// Lets a zone fail, to test storage software: from now on it can be read (`readable`), or not
    /// even that. Returns whether there is such a zone.
    pub fn fail_zone(&mut self, zone: u32, readable: bool) -> bool {
        self.kind.zones().is_some_and(|zones| zones.fail(zone, readable))
    }

    /// A placement handle by its number (`placement.handles`): what its reclaim unit can still
    /// take, and what its data have cost. None where there is no such handle, or where its data go
    /// to blocks that are not its own: with an SLC cache, with layers that plan, with zones, on a
    /// disk.
    pub fn handle(&self, handle: u8) -> Option<HandleStatus> {
        match &self.kind {
            Kind::Flash(device, _) => {
                let room = device.handle_room(handle)?;
                Some(device.account().handle(handle, room))
            }
            Kind::Disk(..) => None,
        }
    }

    /// Sectors of the device.
    pub fn capacity_sectors(&self) -> u64 {
        match &self.kind {
            Kind::Flash(device, _) => device.capacity_sectors(),
            Kind::Disk(disk, _) => disk.capacity_sectors(),
        }
    }

    /// The time of the session.
    pub const fn now(&self) -> Time {
        self.now
    }

    /// Requests that were submitted and are not over.
    pub fn outstanding(&self) -> u64 {
        let waiting: usize = self.queues.streams.iter().map(|lane| lane.waiting.len()).sum();
        let held = match &self.kind {
            Kind::Flash(_, run) => run.held(),
            Kind::Disk(_, run) => run.held(),
        };
        self.kind.host().outstanding() + held + waiting as u64
    }

    /// What has been done so far, in measured phases.
    pub fn figures(&self) -> Figures {
        match &self.kind {
            Kind::Flash(device, _) => device.account().figures(),
            Kind::Disk(disk, _) => disk.account().figures(),
        }
    }

    /// A copy with all that is under way, which goes its own way from here: to look ahead, or to
    /// try several. Observers stay with the original.
    #[must_use]
    pub fn fork(&self) -> Self {
        Self {
            kind: self.kind.clone(),
            queues: self.queues.clone(),
            start: self.start,
            now: self.now,
            half: self.half,
            answered: self.answered,
            submitted: self.submitted,
            arrived: self.arrived,
            failed: self.failed.clone(),
        }
    }

    /// Whether the device says how it recovers from a loss of power, so that [`Self::cut`] can cut
    /// it.
    pub fn can_be_cut(&self) -> bool {
        match &self.kind {
            Kind::Flash(device, _) => device.can_be_cut(),
            Kind::Disk(..) => false,
        }
    }

    /// Changes of units, by unit and number, whose contents a loss of power can leave: those that
    /// pages hold, newest or not, and those that no page holds yet. None where the device cannot be
    /// cut.
    pub fn changes(&self) -> BTreeSet<(u32, u64)> {
        match &self.kind {
            Kind::Flash(device, _) => device.account().changes(),
            Kind::Disk(..) => BTreeSet::new(),
        }
    }

    /// The power fails at the session's time, and is back at once. Returns the device as recovery
    /// leaves it, and what was lost. Requests that were not over are never answered; completions
    /// that were not polled are gone ([`Self::end_instant`] and [`Self::poll`] give them before),
    /// and so are observers and the checker. The device goes on, in
    /// another session: its requests may arrive from now on, and wait until recovery is over.
    /// Requests of what was lost are counted from the start of this session: with one stream they
    /// are what [`Self::submit`] has returned.
    ///
    /// Refused where the section `[power]` of the device is off, and on a disk.
    pub fn cut(mut self, seed: u64) -> Result<(Drive, Cut), SimError> {
        self.end_instant()?;
        let can_be_cut = self.can_be_cut();
        let Kind::Flash(mut device, run) = self.kind else { return Err(SimError::NoCut) };
        if !can_be_cut {
            return Err(SimError::NoCut);
        }
        device.pass_to(self.now);
        let work = [run.usage(), &device.usage()];
        let (device, mut cut) = device.cut((*run.begun(), work), seed);
        for lost in &mut cut.lost {
            lost.request = lost.request.and_then(|order| order.checked_sub(self.arrived));
        }
        Ok((Drive::Flash(Box::new(device)), cut))
    }

    /// Closes the session, lets all that is under way end, and returns the device and what the
    /// phase was. Completions that were not polled are lost.
    pub fn end(mut self) -> Result<(Drive, PhaseReport), SimError> {
        self.close();
        self.advance(Time::MAX, Stop::At)?;
        self.kind.host_mut().keep_answers(false);
        match self.kind {
            Kind::Flash(mut device, run) => {
                if let Some(zones) = device.zones() {
                    zones.keep_outcomes(false);
                }
                let report = phases::end(&mut *device, &run)?;
                Ok((Drive::Flash(device), report))
            }
            Kind::Disk(mut disk, run) => {
                let report = phases::end(&mut *disk, &run)?;
                Ok((Drive::Disk(disk), report))
            }
        }
    }

    /// The same, and the report over all measured phases.
    pub fn finish(self) -> Result<Report, SimError> {
        self.end()?.0.finish()
    }
}
