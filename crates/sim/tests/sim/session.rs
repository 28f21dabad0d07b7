//! A session does what a run does: the requests of random workloads on random devices, submitted
//! ahead or step by step, give the report and every event of the run that pulls them, to the byte.

use crate::common::phases::{named, pacing, stream};
use crate::common::{Random, Recorded, Recorder, request, seeds, settings};
use crate::generators::devices::{Family, case};
use crate::generators::hosts;
use flashyard_core::request::{Request, RequestOp};
use flashyard_core::units::{Span, Time};
use flashyard_sim::config::Settings;
use flashyard_sim::device::{PhaseKeys, RunError, SimError};
use flashyard_sim::drive::Drive;
use flashyard_sim::observe::Shared;
use flashyard_sim::session::{Completion, Refused, Session, Stop};
use flashyard_sim::stream::{Pacing, Stream, StreamKeys};
use std::convert::Infallible;
use std::num::NonZero;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// A device in its initial state, of which each way to run has a copy, and the streams of a
/// workload.
struct Case {
    settings: Settings,
    device: Drive,
    streams: Vec<(String, StreamKeys, Vec<Request>)>,
}

/// The reports of the phase and of the run, and all events; or why the run failed.
type Told = Result<(String, Recorded), String>;

/// Of 49 in 50 cases the first requests alone run, so that a thousand take seconds.
const fn most_requests(seed: u64) -> usize {
    if seed.is_multiple_of(50) { usize::MAX } else { 40 }
}

impl Case {
    fn new(settings: &Settings, streams: Vec<(StreamKeys, Vec<Request>)>) -> Self {
        let device = Drive::new(settings);
        let streams = streams.into_iter().map(|(keys, of)| ("s".to_string(), keys, of)).collect();
        Self { settings: settings.clone(), device, streams }
    }

    /// One stream in an open loop.
    fn open(seed: u64, (settings, mut requests): (Settings, Vec<Request>)) -> Self {
        requests.truncate(most_requests(seed));
        Self::new(&settings, vec![(StreamKeys::default(), requests)])
    }

    fn drive(&self) -> (Drive, Shared<Recorded>) {
        let mut drive = self.device.clone();
        let recorded = Shared::new(Recorded::default());
        drive.observe(Box::new(Recorder(recorded.clone())));
        (drive, recorded)
    }

    fn streams(&self) -> Vec<Stream<'_, Infallible>> {
        self.streams.iter().map(|(name, keys, requests)| named(name, *keys, requests)).collect()
    }

    fn pulled(&self) -> Told {
        let (mut drive, recorded) = self.drive();
        let phase = drive.run_phase(&PhaseKeys::default(), self.streams());
        let phase = phase.map_err(|error| match error {
            RunError::Sim(error) => error.to_string(),
            RunError::Workload(never) => match never {},
        })?;
        let report = drive.finish().map_err(|error| error.to_string())?;
        Ok((format!("{phase:?} {report:?}"), std::mem::take(&mut recorded.get())))
    }

    fn session(&self) -> (Session, Shared<Recorded>) {
        let (drive, recorded) = self.drive();
        let streams = self.streams.iter().map(|(name, keys, _)| (name.clone(), *keys));
        (Session::with(drive, &PhaseKeys::default(), &streams.collect::<Vec<_>>()), recorded)
    }

    /// All requests by arrival; those of a stream keep their order.
    fn requests(&self) -> Vec<Request> {
        let alone = self.streams.len() == 1;
        let streams = (0..).zip(&self.streams);
        let of = streams.flat_map(|(stream, (_, _, requests))| {
            let placed = |request: &Request| {
                if alone { *request } else { request.of_stream(stream) }
            };
            requests.iter().map(placed).collect::<Vec<_>>()
        });
        let mut all: Vec<_> = of.collect();
        all.sort_by_key(|request| request.arrival);
        all
    }

    fn ahead(&self) -> Told {
        let (mut session, recorded) = self.session();
        for request in &self.requests() {
            session.submit(request).unwrap();
        }
        told(session, &recorded)
    }

    /// Each request when time has come to its arrival, with stops in between and a copy that goes
    /// on for itself. With one stream, what is polled is held against what observers were told.
    fn step_by_step(&self, random: &mut Random) -> Told {
        let (mut session, recorded) = self.session();
        let requests = self.requests();
        let groups = requests.chunk_by(|one, other| one.arrival == other.arrival);
        let (mut polled, mut copy) = (Vec::new(), None);
        let last = requests.last().map(|last| last.arrival);
        let copied_at = random.below(requests.len().max(1) as u64);
        let mut submitted = 0_usize;
        for group in groups {
            for request in group {
                session.submit(request).unwrap();
                submitted += 1;
            }
            if Some(group[0].arrival) == last {
                session.close();
            }
            let until = group[0].arrival;
            step_to(&mut session, until, random, &mut polled).map_err(|error| error.to_string())?;
            if copy.is_none() && submitted as u64 > copied_at {
                copy = Some((session.fork(), submitted));
            }
        }
        session.close();
        step_to(&mut session, Time::MAX, random, &mut polled).map_err(|error| error.to_string())?;
        assert_eq!(session.next_event(), None, "nothing is left");
        assert_eq!(session.outstanding(), 0);
        let (drive, phase) = session.end().map_err(|error| error.to_string())?;
        let report = drive.finish().map_err(|error| error.to_string())?;
        let whole = format!("{phase:?} {report:?}");
        if self.streams.len() == 1 {
            assert!(polled.is_sorted_by_key(|over| over.at), "in the order of their ends");
            polled.sort_by_key(|over| over.id);
            let mut done = recorded.get().requests.clone();
            done.sort_by_key(|done| done.order);
            let done = done.iter().map(|done| (done.order, done.completion, done.parts));
            assert!(done.eq(polled.iter().map(|over| (over.id, over.at, over.parts))));
        }
        if let Some((copy, submitted)) = copy {
            assert_copy(copy, &requests[submitted..], &whole);
        }
        Ok((whole, std::mem::take(&mut recorded.get())))
    }

    /// Whether arrivals alone say when each request is issued.
    fn is_open(&self) -> bool {
        self.streams.iter().all(|(_, keys, _)| keys.pacing == Pacing::Open)
    }
}

/// A copy that gets the rest of the requests ends as the original.
fn assert_copy(mut copy: Session, rest: &[Request], whole: &str) {
    for request in rest {
        copy.submit(request).unwrap();
    }
    let (drive, phase) = copy.end().unwrap();
    let report = drive.finish().unwrap();
    assert!(format!("{phase:?} {report:?}") == whole, "a copy went another way");
}

fn told(session: Session, recorded: &Shared<Recorded>) -> Told {
    let (drive, phase) = session.end().map_err(|error| error.to_string())?;
    let report = drive.finish().map_err(|error| error.to_string())?;
    Ok((format!("{phase:?} {report:?}"), std::mem::take(&mut recorded.get())))
}

/// Goes on to a time by stops of all kinds and takes what is over.
fn step_to(
    session: &mut Session,
    until: Time,
    random: &mut Random,
    polled: &mut Vec<Completion>,
) -> Result<(), SimError> {
    loop {
        let next = session.next_event();
        let before = session.now();
        let batch = u32::try_from(1 + random.below(5)).ok().and_then(NonZero::new);
        let (to, stop) = match (random.below(4), next) {
            // To where something may be over first, and never behind it.
            (0, Some(next)) if next < until => (next, Stop::At),
            (1, _) => (until, Stop::AtCompletion),
            (2, _) => (until, Stop::AtCompletions(batch.expect("1 to 5"))),
            _ => (until, Stop::At),
        };
        let reached = session.advance(to, stop)?;
        assert!(before <= reached && reached <= until && session.now() == reached);
        let count = polled.len();
        polled.extend(std::iter::from_fn(|| session.poll()));
        for over in &polled[count..] {
            assert!(before <= over.at && over.at <= reached, "{over:?} in {before:?}..{reached:?}");
            assert!(next.is_some_and(|next| next <= over.at), "{over:?} before {next:?}");
            if stop == Stop::AtCompletion {
                assert_eq!(over.at, reached, "it stops at the first one");
            }
        }
        if let Stop::AtCompletions(batch) = stop {
            let before = polled[count..].iter().filter(|over| over.at < reached).count();
            assert!(before < batch.get() as usize, "it stops where so many are over");
        }
        if reached == until || (to == until && polled.len() == count) {
            return Ok(());
        }
    }
}

fn assert_same(seed: u64, case: &Case) -> bool {
    let result = catch_unwind(AssertUnwindSafe(|| {
        let pulled = case.pulled();
        assert!(case.ahead() == pulled, "submitted ahead it goes another way");
        if case.is_open() {
            let steps = case.step_by_step(&mut Random(seed));
            assert!(steps == pulled, "step by step it goes another way");
        }
        pulled.is_ok()
    }));
    result.unwrap_or_else(|_| panic!("seed {seed}: {:#?}", case.settings.keys))
}

#[test]
fn sessions_on_random_devices_equal_runs() {
    const FAMILIES: [Family; 14] = [
        Family::Any,
        Family::Worn,
        Family::LogBlocks,
        Family::Cached,
        Family::Bus,
        Family::Firmware,
        Family::Background,
        Family::Disk,
        Family::Powered,
        Family::Families,
        Family::Superblocks,
        Family::Joined,
        Family::Mechanisms,
        Family::Packed,
    ];
    let cases = seeds(20_000..20_600);
    let whole = cases.clone().filter(|&seed| {
        let family = FAMILIES[usize::try_from(seed % 14).unwrap()];
        assert_same(seed, &Case::open(seed, case(family, seed)))
    });
    assert!(whole.count() * 20 > cases.count() * 19);
}

#[test]
fn sessions_with_random_hosts_equal_runs() {
    let parts = hosts::own_parts();
    let (mut cases, mut whole, mut open) = (0, 0, 0);
    for seed in seeds(20_600..21_000) {
        let (settings, workload) = match seed % 4 {
            0 => hosts::log_case(&parts, seed),
            _ => hosts::case(&parts, seed),
        };
        let streams = workload.streams.into_iter();
        let few = |(pace, depth, mut of): (_, _, Vec<_>)| {
            of.truncate(most_requests(seed));
            (pacing(pace, depth), of)
        };
        let streams = streams.map(few).collect();
        let mut case = Case::new(&settings, streams);
        if let Some(device) = case.device.flash().filter(|_| !workload.units.is_empty()) {
            device.preload_buffer(&workload.units).unwrap();
        }
        cases += 1;
        whole += u32::from(assert_same(seed, &case));
        open += u32::from(case.is_open());
    }
    let most = whole * 20 > cases * 19 && open * 4 > cases;
    assert!(most, "of {cases} {whole} whole, {open} open");
}

/// What a run told, without how often a command waited when it was looked at: a closed stream whose
/// list is over looks once more at each answer. Nor does it say that its requests came by
/// themselves, which is when a queue can grow.
fn without_looks((mut report, recorded): (String, Recorded)) -> (String, Recorded) {
    for name in [" stalls: ", " own_times: ", " queue_grew: "] {
        let (before, behind) = report.split_once(name).unwrap();
        report = format!("{before}{}", behind.split_once(',').unwrap().1);
    }
    (report, recorded)
}

/// A closed loop by hand: the next request is submitted at the instant at which one is over.
#[test]
fn a_closed_loop_by_hand_equals_a_closed_stream() {
    for seed in seeds(21_000..21_040) {
        let family = [Family::Any, Family::Cached, Family::Disk, Family::Bus];
        let (settings, mut requests) = case(family[usize::try_from(seed % 4).unwrap()], seed);
        for request in &mut requests {
            request.arrival = Time::ZERO;
        }
        let depth = [1, 3, 16, 64][usize::try_from(seed / 4 % 4).unwrap()];
        let streams = vec![(pacing(Pacing::Closed, depth), requests.clone())];
        let closed = Case::new(&settings, streams);
        let case = Case::open(0, (settings.clone(), requests.clone()));
        let (mut session, recorded) = case.session();
        let mut rest = requests.iter();
        let mut free = depth;
        let failed = loop {
            for request in rest.by_ref().take(usize::try_from(free).unwrap()) {
                session.submit(&request.at(session.now())).unwrap();
            }
            if rest.len() == 0 {
                session.close();
            }
            match session.advance(Time::MAX, Stop::AtCompletion) {
                Ok(_) if session.has_completions() => {
                    free = std::iter::from_fn(|| session.poll()).count() as u64;
                }
                Ok(_) => break None,
                Err(error) => break Some(error.to_string()),
            }
        };
        let by_hand = failed.map_or_else(|| told(session, &recorded), Err);
        let pulled = closed.pulled();
        let (by_hand, pulled) = (by_hand.map(without_looks), pulled.map(without_looks));
        assert!(by_hand == pulled, "seed {seed}: {:#?}", settings.keys);
    }
}

fn write(us: u64, page: u64) -> Request {
    request(us, RequestOp::Write, page, 1)
}

/// Whoever keeps a wake-up at the next event takes every completion, one at a time as well.
#[test]
fn completions_that_wait_are_the_next_event() {
    let mut session = Session::new(Drive::new(&settings::<&str>(&[])));
    for id in 0..2 {
        assert_eq!(session.submit(&Request::new(RequestOp::Flush, 0, 0)), Ok(id));
    }
    session.advance(Time::MAX, Stop::AtCompletion).unwrap();
    for _ in 0..2 {
        assert_eq!(session.next_event(), Some(session.now()));
        assert!(session.poll().is_some());
    }
    assert_eq!((session.next_event(), session.outstanding()), (None, 0));
}

#[test]
fn what_cannot_be_done_is_refused_and_changes_nothing() {
    let settings = settings(&["interface.queue_depth=2"]);
    let mut session = Session::new(Drive::new(&settings));
    session.advance(Time::from_us(10), Stop::At).unwrap();
    assert_eq!(session.now(), Time::from_us(10));
    assert_eq!(session.submit(&write(9, 0)), Err(Refused::Past { now: Time::from_us(10) }));
    let far = Request::new(RequestOp::Read, settings.capacity_sectors(), 1).at(session.now());
    assert!(matches!(session.submit(&far), Err(Refused::Range(_))));
    assert_eq!(session.submit(&write(30, 0)), Ok(0));
    let order = Refused::Order { last: Time::from_us(30) };
    assert_eq!(session.submit(&write(20, 0)), Err(order));
    assert_eq!(session.next_event(), Some(Time::from_us(30)));
    assert_eq!(session.outstanding(), 1);
    session.advance(Time::from_us(30), Stop::At).unwrap();
    // Those of an instant are taken at it; then the queue of two is full.
    assert_eq!(session.submit(&write(30, 1)), Ok(1));
    session.advance(Time::from_us(30), Stop::At).unwrap();
    assert_eq!(session.submit(&write(30, 2)), Err(Refused::Full));
    assert_eq!(session.outstanding(), 2);
    let at = session.advance(Time::MAX, Stop::AtCompletion).unwrap();
    let over = session.poll().unwrap();
    assert_eq!((over.id, over.at), (0, at));
    assert_eq!(over.parts.total(), at.since(Time::from_us(30)).as_ns());
    session.close();
    assert_eq!(session.submit(&write(1_000_000, 2)), Err(Refused::Closed));
    assert_eq!(session.end().unwrap().1.requests, 2);
}

/// Requests that come when others are answered offer no more than the device does. The same ones at
/// times of their own do.
#[test]
fn a_loop_by_hand_is_not_overloaded() {
    // With a thread that submits, the instant of an answer is over when time stops there.
    for (keys, most) in [(&["buffer.bytes=65536"][..], 500), (&["interface.submit_ns=300"], 20)] {
        let settings = settings(keys);
        let mut session = Session::new(Drive::new(&settings));
        let mut requests: Vec<Request> = (0..8).map(|page| write(0, page)).collect();
        for request in &requests {
            session.submit(request).unwrap();
        }
        while requests.len() < most {
            let now = session.advance(Time::MAX, Stop::AtCompletion).unwrap();
            while session.poll().is_some() {
                requests.push(write(0, requests.len() as u64 % 50).at(now));
                session.submit(requests.last().unwrap()).unwrap();
            }
        }
        let by_hand = session.finish().unwrap().verdict;
        let mut session = Session::new(Drive::new(&settings));
        for request in &requests {
            session.submit(request).unwrap();
        }
        let ahead = session.finish().unwrap().verdict;
        assert_eq!(by_hand.offered_load, ahead.offered_load);
        assert!(by_hand.offered_load > Some(1.0), "{by_hand:?}");
        assert!(!by_hand.is_overloaded() && ahead.is_overloaded());
        assert!(!by_hand.queue_grew, "{by_hand:?}");
    }
}

/// A request of another stream than there are, and a stream whose turn answers say.
#[test]
fn streams_of_sessions_are_counted() {
    let keys = [StreamKeys::default(), pacing(Pacing::Closed, 1)];
    let named = keys.map(|keys| ("s".to_string(), keys));
    let device = Drive::new(&settings::<&str>(&[]));
    let mut session = Session::with(device, &PhaseKeys::default(), &named);
    let refused = session.submit(&write(0, 0).of_stream(2));
    assert_eq!(refused, Err(Refused::Stream { count: 2 }));
    // Arrivals of a closed loop are not looked at: each is issued when the one before is over.
    let at = [50, 7].map(|us| session.submit(&write(us, us).of_stream(1)).unwrap());
    let mut ends = Vec::new();
    while session.advance(Time::MAX, Stop::AtCompletion).is_ok() && session.has_completions() {
        ends.extend(std::iter::from_fn(|| session.poll()));
    }
    assert_eq!(ends.iter().map(|over| over.id).collect::<Vec<_>>(), at);
    let each = ends.iter().map(|over| over.parts.total()).collect::<Vec<_>>();
    assert_eq!(ends[1].at, Time::ZERO + Span::from_ns(each[0] + each[1]));
}

/// Two threads drive two copies; figures are those of the instant.
#[test]
fn copies_go_to_other_threads() {
    let settings = settings::<&str>(&[]);
    let mut session = Session::new(Drive::new(&settings));
    for page in 0..100 {
        session.submit(&write(page, page)).unwrap();
    }
    session.advance(Time::from_us(40), Stop::At).unwrap();
    let drive = |session: Session| std::thread::spawn(move || session.finish().unwrap());
    let (one, other) = (drive(session.fork()), drive(session.fork()));
    let figures = session.figures();
    assert!(figures.programmed_bytes < 100 * 4_096);
    let own = session.finish().unwrap();
    let copies = [one, other].map(|thread| thread.join().unwrap());
    assert!(copies.iter().all(|report| format!("{report:?}") == format!("{own:?}")));
}

/// Phases follow one another on a device, of which a session may be one.
#[test]
fn sessions_are_phases() {
    let settings = settings::<&str>(&[]);
    let requests: Vec<_> = (0..50).map(|page| write(3 * page, page)).collect();
    let run = |drive: &mut Drive| {
        let streams = vec![stream(StreamKeys::default(), &requests)];
        drive.run_phase(&PhaseKeys::default(), streams).unwrap();
    };
    let mut all = Drive::new(&settings);
    (0..3).for_each(|_| run(&mut all));
    let mut mixed = Drive::new(&settings);
    run(&mut mixed);
    let streams = [("s".to_string(), StreamKeys::default())];
    let mut session = Session::with(mixed, &PhaseKeys::default(), &streams);
    let start = session.now();
    for request in &requests {
        let at = start + request.arrival.since(Time::ZERO);
        session.submit(&request.at(at)).unwrap();
    }
    let (mut mixed, _) = session.end().unwrap();
    run(&mut mixed);
    assert_eq!(format!("{:?}", mixed.finish()), format!("{:?}", all.finish()));
}
