//! How far a run is: of each phase, what ends it first.

use crate::experiment::{Experiment, Origin, PhasePlan, StreamPlan};
use flashyard_core::units::{Span, Time};
use flashyard_sim::device::PhaseKeys;
use flashyard_sim::stream::Pacing;
use flashyard_workload::Extent;
use std::cell::RefCell;
use std::rc::Rc;

/// Hears how far a run is. `()` does not listen. A listener may end the run with [`Stopped`].
///
/// [`Stopped`]: crate::error::Stopped
pub trait Listener {
    /// What is done now; its share counts from here. Empty: the run itself.
    fn stage(&mut self, _label: &str) {}
    /// So much of a device has been built.
    fn built(&mut self, _done: u64, _of: u64) {}
    /// Tells the share of the run that is over, if it is known, and how many requests were read.
    fn at(&mut self, _share: Option<f64>, _requests: u64) {}
    /// The run goes on: called about every 64 requests.
    fn pulse(&mut self) {}
}

impl Listener for () {}

/// Hears how far several runs are, which may go side by side. `()` does not listen.
pub trait Runs: Sync {
    /// The run at a place begins: what hears how far it is.
    fn begin(&self, place: usize) -> Box<dyn Listener>;
    /// A run need not be done again.
    fn skip(&self) {}
}

/// Shows work. It is called with the label of the work, the name of its pieces and their lengths,
/// and returns what hears how far they are. Work of one piece has no name for pieces. Work that is
/// dropped is over.
pub type Watch<'a> = &'a (dyn Fn(&str, &'static str, Vec<f64>) -> Box<dyn Runs> + Sync);

impl Runs for () {
    fn begin(&self, _: usize) -> Box<dyn Listener> {
        Box::new(())
    }
}

/// Requests of a stream between two times that it tells how far it is.
pub(crate) const STEP: u64 = 1 << 12;

/// How far a stream is.
#[derive(Clone, Copy, Debug, Default)]
struct Lane {
    requests: u64,
    /// None if it is not known.
    share: Option<f64>,
}

/// How far a run is. All its streams tell it.
pub(crate) struct RunMeter {
    progress: Box<dyn Listener>,
    /// The weights of the phases, and that of all.
    weights: Vec<f64>,
    all: f64,
    /// Phases that are over, and their requests.
    over: usize,
    before: u64,
    /// What ends the phase.
    keys: PhaseKeys,
    lanes: Vec<Lane>,
}

/// The end of a meter that a stream has.
#[derive(Clone)]
pub(crate) struct LaneMeter {
    run: Rc<RefCell<RunMeter>>,
    place: usize,
    /// Whether arrivals are times of the run.
    timed: bool,
}

impl LaneMeter {
    /// The run goes on.
    pub(crate) fn pulse(&self) {
        self.run.borrow_mut().progress.pulse();
    }

    /// The stream has given so many requests, and its source is so far.
    #[cold]
    pub(crate) fn tell(&self, requests: u64, extent: Option<Extent>, arrival: Time) {
        let mut run = self.run.borrow_mut();
        let by_source = extent.map(Extent::share);
        let limit_ns = run.keys.time_ms;
        let by_time = (self.timed && limit_ns > Span::ZERO)
            .then(|| (arrival.as_ns() as f64 / limit_ns.as_ns() as f64).min(1.0));
        let share = by_source.into_iter().chain(by_time).max_by(f64::total_cmp);
        run.lanes[self.place] = Lane { requests, share };
        run.tell();
    }
}

impl RunMeter {
    /// A meter of a run that has yet to begin.
    pub(crate) fn shared(
        progress: Box<dyn Listener>,
        experiment: &Experiment,
    ) -> Rc<RefCell<Self>> {
        let known: Option<Vec<u64>> = experiment.phases.iter().map(requests).collect();
        let count = experiment.phases.len();
        // A phase without requests takes time as well.
        let weights = known.map_or_else(
            || vec![1.0; count],
            |known| known.into_iter().map(|requests| requests.max(1) as f64).collect(),
        );
        let all = weights.iter().sum();
        let (keys, lanes) = (PhaseKeys::default(), Vec::new());
        Rc::new(RefCell::new(Self { progress, weights, all, over: 0, before: 0, keys, lanes }))
    }

    /// A phase begins; the pacing of each of its streams.
    pub(crate) fn begin(
        meter: &Rc<RefCell<Self>>,
        keys: PhaseKeys,
        pacing: impl Iterator<Item = Pacing>,
    ) -> Vec<LaneMeter> {
        let lane = |(place, pacing)| LaneMeter {
            run: Rc::clone(meter),
            place,
            timed: pacing == Pacing::Open,
        };
        let meters: Vec<LaneMeter> = pacing.enumerate().map(lane).collect();
        let mut run = meter.borrow_mut();
        (run.keys, run.lanes) = (keys, vec![Lane::default(); meters.len()]);
        meters
    }

    /// The phase is over.
    pub(crate) fn end(&mut self) {
        self.before += self.taken();
        self.over += 1;
        self.lanes.clear();
    }

    fn taken(&self) -> u64 {
        self.lanes.iter().map(|lane| lane.requests).sum()
    }

    /// The share of the phase that is over. Streams that are not known say nothing, unless a limit
    /// does.
    fn share(&self) -> Option<f64> {
        let limit = self.keys.requests;
        let by_limit = (limit > 0).then(|| (self.taken() as f64 / limit as f64).min(1.0));
        let shares: Option<Vec<f64>> = self.lanes.iter().map(|lane| lane.share).collect();
        let mean = |all: Vec<f64>| all.iter().sum::<f64>() / all.len() as f64;
        let by_streams = shares.filter(|all| !all.is_empty()).map(mean);
        by_limit.into_iter().chain(by_streams).max_by(f64::total_cmp)
    }

    fn tell(&mut self) {
        let before: f64 = self.weights[..self.over].iter().sum();
        let weight = self.weights.get(self.over).copied().unwrap_or(0.0);
        let share = self.share().map(|share| (before + weight * share) / self.all);
        let requests = self.before + self.taken();
        self.progress.at(share, requests);
    }
}

/// Returns the number of requests of a phase, if its keys tell.
fn requests(phase: &PhasePlan) -> Option<u64> {
    let limit = Some(phase.keys.requests).filter(|limit| *limit > 0);
    let streams: Option<Vec<u64>> = phase.streams.iter().map(of_stream).collect();
    let sum = streams.map(|all| all.iter().fold(0, |sum: u64, more| sum.saturating_add(*more)));
    limit.into_iter().chain(sum).min()
}

fn of_stream(stream: &StreamPlan) -> Option<u64> {
    let requests = match &stream.origin {
        Origin::Generator => stream.generator.requests,
        Origin::Pattern => stream.pattern.requests,
        Origin::Mix => stream.mix.requests,
        Origin::Profile(profile) if stream.profile.requests == 0 => profile.requests(),
        Origin::Profile(_) => stream.profile.requests,
        Origin::Raw(None) => stream.raw.requests,
        Origin::Requests(requests) => requests.len() as u64,
        Origin::Trace { .. } | Origin::Files | Origin::Raw(Some(_)) => 0,
    };
    (requests > 0).then_some(requests)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What was said last: the share in thousandths, and requests.
    type Said = Rc<RefCell<(Option<f64>, u64)>>;

    struct Heard(Said);

    impl Listener for Heard {
        fn at(&mut self, share: Option<f64>, requests: u64) {
            *self.0.borrow_mut() = (share, requests);
        }
    }

    /// A meter of these phases, and what it last said.
    fn meter(phases: &[(u64, u64)]) -> (Said, Rc<RefCell<RunMeter>>) {
        let mut experiment = Experiment::of("t", vec![StreamPlan::new(Origin::Pattern)]);
        let plan = experiment.phases.remove(0);
        for &(limit, pattern) in phases {
            let mut phase = plan.clone();
            phase.keys.requests = limit;
            phase.streams[0].pattern.requests = pattern;
            experiment.phases.push(phase);
        }
        let said = Said::default();
        let meter = RunMeter::shared(Box::new(Heard(Rc::clone(&said))), &experiment);
        (said, meter)
    }

    fn said(said: &Said) -> String {
        said.borrow().0.map_or_else(|| "?".to_string(), |share| format!("{share:.3}"))
    }

    fn begin(meter: &Rc<RefCell<RunMeter>>, keys: PhaseKeys) -> LaneMeter {
        RunMeter::begin(meter, keys, [Pacing::Open].into_iter()).remove(0)
    }

    #[test]
    fn phases_count_by_their_requests() {
        let (heard, meter) = meter(&[(0, 300), (100, 0)]);
        assert_eq!(meter.borrow().weights, [300.0, 100.0]);
        let lane = begin(&meter, PhaseKeys::default());
        lane.tell(150, Some(Extent { done: 150, of: 300 }), Time::ZERO);
        assert_eq!(said(&heard), "0.375");
        meter.borrow_mut().end();
        let lane = begin(&meter, PhaseKeys { requests: 100, ..PhaseKeys::default() });
        lane.tell(50, None, Time::ZERO);
        assert_eq!(said(&heard), "0.875");
        assert_eq!(heard.borrow().1, 200);
    }

    #[test]
    fn what_ends_a_phase_first_says_how_far_it_is() {
        let (heard, meter) = meter(&[(0, 0)]);
        let keys = PhaseKeys { requests: 100, time_ms: Span::from_us(1), ..PhaseKeys::default() };
        let lane = begin(&meter, keys);
        let source = Some(Extent { done: 1, of: 10 });
        lane.tell(5, source, Time::from_ns(200));
        assert_eq!(said(&heard), "0.200");
        lane.tell(60, source, Time::from_ns(300));
        assert_eq!(said(&heard), "0.600");
        let late = Some(Extent { done: 8, of: 10 });
        lane.tell(61, late, Time::from_ns(300));
        assert_eq!(said(&heard), "0.800");
    }

    #[test]
    fn a_stream_without_an_end_has_no_share() {
        let (heard, meter) = meter(&[(0, 0)]);
        begin(&meter, PhaseKeys::default()).tell(4_096, None, Time::ZERO);
        assert_eq!((said(&heard).as_str(), heard.borrow().1), ("?", 4_096));
    }
}
