//! Cuts that are made: a run is cut at each of many instants, and what the device then holds is
//! compared with what the host was told.
//!
//! `Told` follows the host's side alone. A copy of the device is cut and recovers; of each unit
//! the cut says which change it holds, and this says whether that breaks a promise.

use crate::cuts::{Broken, Rule, nearest_rank};
use crate::error::wrong;
use crate::lanes;
use crate::plan::Plan;
use anyhow::{Result, anyhow};
use flashyard_core::request::{Flags, Request, RequestOp};
use flashyard_core::units::Time;
use flashyard_sim::config::Settings;
use flashyard_sim::cut::{Cut, How, Lost};
use flashyard_sim::drive::Drive;
use flashyard_sim::observe::{Observer, RequestAnswered, RequestArrived, Shared, UnitChange};
use flashyard_sim::session::{Refused, Session, Stop};
use flashyard_workload::RequestSource;
use flashyard_workload::random::SplitMix64;
use std::collections::BTreeMap;

/// What cuts of a run have done, which were made.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Made {
    /// How many there were.
    pub cuts: u64,
    /// Those that broke a promise.
    pub breaking: u64,
    /// Units of which something was lost, of all cuts.
    pub lost_units: u64,
    /// Units with a broken promise, of all cuts.
    pub broken_units: u64,
    /// The most energy that saving everything takes, in picojoules.
    pub needed_pj: u64,
    /// The most units that a capacitor has saved out of the write buffer.
    pub saved_units: u64,
    /// How long each recovery took, in nanoseconds, in ascending order.
    pub recoveries_ns: Vec<u64>,
    /// The most pages that a recovery has read.
    pub recovery_reads: u64,
    /// The first promise that was broken, and how its contents were lost.
    pub first: Option<(Broken, How)>,
}

/// A change of a unit, as the host knows it.
#[derive(Clone, Copy, Debug)]
struct Change {
    version: u64,
    request: u64,
    /// Whether its answer says that it is kept.
    durable: bool,
}

/// A request that is not answered.
#[derive(Clone, Copy, Debug)]
struct Asked {
    request: Request,
    durable: bool,
    /// Answers that came before it.
    before: u64,
}

/// What the host was told.
#[derive(Debug, Default)]
struct Told {
    unit_sectors: u64,
    /// All changes of each unit, in their order.
    changes: BTreeMap<u32, Vec<Change>>,
    requests: BTreeMap<u64, Asked>,
    /// Of requests that are answered, the place of the answer among all answers.
    answered: BTreeMap<u64, u64>,
    answers: u64,
    /// So many of the first answers are covered by a flush that was answered.
    flushed: u64,
}

impl Told {
    fn answered(&mut self, order: u64) {
        self.answers += 1;
        let Some(asked) = self.requests.remove(&order) else { return };
        self.answered.insert(order, self.answers);
        if asked.request.op == RequestOp::Flush || asked.request.flags.has(Flags::PREFLUSH) {
            self.flushed = self.flushed.max(asked.before);
        }
    }

    /// The promise that a loss breaks: the first one of a change that is newer than what is there,
    /// or that the unit holds what one write left there, whole.
    fn broken(&self, cut: &Cut, lost: &Lost) -> Option<Broken> {
        let unit = u32::try_from(lost.first_sector / self.unit_sectors).expect("a unit");
        let changes = self.changes.get(&unit).map_or(&[][..], Vec::as_slice);
        let of = |version: u64, request, rule| Broken { at: cut.at, request, unit, version, rule };
        if matches!(lost.how, How::Shorn | How::Corrupt) {
            let own = changes.iter().find(|change| change.version == lost.version);
            return Some(of(lost.version, own.map(|own| own.request), Rule::Whole));
        }
        // A trim that is there is newer than what the unit holds.
        let held = cut.held.binary_search_by_key(&unit, |held| held.unit);
        let there = held.map_or(lost.kept, |at| cut.held[at].version);
        let newer = changes.iter().filter(|change| Some(change.version) > there);
        let rule = |change: &Change| match *self.answered.get(&change.request)? {
            _ if change.durable => Some(Rule::Durable),
            answer if answer <= self.flushed => Some(Rule::Flush),
            _ => None,
        };
        let mut promised = newer.filter_map(|change| Some((change, rule(change)?)));
        promised.next().map(|(change, rule)| of(change.version, Some(change.request), rule))
    }
}

/// The observer.
struct Follower(Shared<Told>);

impl Observer for Follower {
    fn follows_contents(&self) -> bool {
        true
    }

    fn request_arrived(&mut self, event: &RequestArrived) {
        let RequestArrived { order, request, durable, .. } = *event;
        let mut told = self.0.get();
        let before = told.answers;
        if request.op != RequestOp::Read {
            told.requests.insert(order, Asked { request, durable, before });
        }
    }

    fn unit_change(&mut self, event: &UnitChange) {
        let UnitChange { lpn, version, request, trims, .. } = *event;
        let mut told = self.0.get();
        let durable = !trims && told.requests.get(&request).is_some_and(|asked| asked.durable);
        let change = Change { version, request, durable };
        let changes = told.changes.entry(lpn).or_default();
        let place = changes.partition_point(|other| other.version < version);
        changes.insert(place, change);
    }

    fn request_answered(&mut self, event: &RequestAnswered) {
        self.0.get().answered(event.order);
    }
}

impl Made {
    /// How long a recovery took, in nanoseconds: the one that so many percent do not exceed, by the
    /// nearest rank; 0 without cuts.
    pub fn recovery_ns(&self, percent: usize) -> u64 {
        nearest_rank(&self.recoveries_ns, percent)
    }

    fn add(&mut self, cut: &Cut, broken: &[(Broken, How)]) {
        self.cuts += 1;
        self.breaking += u64::from(!broken.is_empty());
        self.lost_units += cut.lost.len() as u64;
        self.broken_units += broken.len() as u64;
        self.needed_pj = self.needed_pj.max(cut.needed_pj);
        self.saved_units = self.saved_units.max(cut.dumped_units);
        self.recoveries_ns.push(cut.recovery.as_ns());
        self.recovery_reads = self.recovery_reads.max(cut.reads.all());
        self.first = self.first.or_else(|| broken.first().copied());
    }
}

/// Makes so many cuts of a run that lasts for so many nanoseconds: each at a random instant of one
/// of as many equal spans. Refused where the device cannot be cut, or where the run has several
/// streams or phases.
pub fn make(plan: &Plan, settings: &Settings, cuts: u32, span_ns: u64) -> Result<Made> {
    make_telling(plan, settings, cuts, span_ns, &mut |_, _| ())
}

/// Who hears of a cut and of the promises that it breaks.
pub(crate) type Tell<'a> = dyn FnMut(&Cut, &[(Broken, How)]) + 'a;

/// The same; `tell` hears of each cut, and of the promises that it breaks.
pub(crate) fn make_telling(
    plan: &Plan,
    settings: &Settings,
    cuts: u32,
    span_ns: u64,
    tell: &mut Tell<'_>,
) -> Result<Made> {
    let (mut session, told, requests) = begin(plan, settings)?;
    let mut left = requests.into_iter();
    let mut next = left.next();
    let mut made = Made::default();
    for number in 0..u64::from(cuts) {
        let of = |number: u64| u128::from(span_ns) * u128::from(number) / u128::from(cuts);
        let drawn = SplitMix64::new(plan.seed().unwrap_or_default() ^ (number << 32)).next_u64();
        let within = (u128::from(drawn) * (of(number + 1) - of(number))) >> 64;
        let at = Time::from_ns(u64::try_from(of(number) + within).expect("below the span"));
        loop {
            while let Some(request) = &next {
                match session.submit(request) {
                    Ok(_) => next = left.next(),
                    Err(Refused::Full) => break,
                    Err(error) => return Err(wrong(&error.to_string())),
                }
            }
            if next.is_none() {
                session.close();
            }
            let stop = if next.is_some() { Stop::AtCompletion } else { Stop::At };
            let now = session.advance(at, stop).map_err(|error| anyhow!("{error}"))?;
            while session.poll().is_some() {}
            if now >= at {
                break;
            }
        }
        let (_, cut) = session.fork().cut(drawn).map_err(|error| wrong(&error.to_string()))?;
        let told = told.get();
        let broken = |lost: &Lost| Some((told.broken(&cut, lost)?, lost.how));
        let broken: Vec<(Broken, How)> = cut.lost.iter().filter_map(broken).collect();
        made.add(&cut, &broken);
        tell(&cut, &broken);
    }
    made.recoveries_ns.sort_unstable();
    Ok(made)
}

/// The session of a run, who follows it, and its requests.
fn begin(plan: &Plan, settings: &Settings) -> Result<(Session, Shared<Told>, Vec<Request>)> {
    let only = "cuts of a study are made in runs with one phase and one stream";
    let [phase] = &plan.experiment().phases[..] else { return Err(wrong(only)) };
    if phase.streams.len() != 1 {
        return Err(wrong(only));
    }
    let (lanes, _) = lanes::open(phase, 0, plan.stream_seed(0), settings)?;
    let mut lanes = lanes.into_iter();
    let (Some(mut lane), None) = (lanes.next(), lanes.next()) else { return Err(wrong(only)) };
    let told = Told { unit_sectors: settings.geometry.unit_sectors().into(), ..Told::default() };
    let told = Shared::new(told);
    let mut drive = Drive::new(settings);
    drive.observe(Box::new(Follower(told.clone())));
    let session = Session::with(drive, &phase.keys, &[(lane.name, lane.keys)]);
    let mut requests = Vec::new();
    let failed = |error| crate::error::workload_error(&error);
    while let Some(request) = lane.source.next_request().map_err(failed)? {
        requests.push(request);
    }
    Ok((session, told, requests))
}
