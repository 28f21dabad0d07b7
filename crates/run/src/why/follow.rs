//! Two looks at a run. The first finds the slow requests, the second finds what they waited for.

use super::blame::{Blamer, Step, put_in_order, reconcile};
use super::history::History;
pub use super::sums::Explained;

use super::sums::Sums;
use flashyard_core::request::{Request, RequestOp};
use flashyard_core::units::Time;
use flashyard_sim::config::Settings;
use flashyard_sim::metrics::histogram::Histogram;
use flashyard_sim::metrics::parts::{Part, Parts};
use flashyard_sim::observe::{
    ChannelTransfer, CommandDone, JobBegan, MergeBegan, Observer, OperationBegan, OwnWork, Piece,
    PowerWaited, RequestAnswered, RequestDone, RequestTimed, SetOver, Shared, Suspension,
};
use std::collections::BTreeMap;

/// What the choice needs to know of an answered request.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Answered {
    pub(crate) order: u64,
    pub(crate) op: RequestOp,
    pub(crate) stream: u16,
    pub(crate) arrival: Time,
    /// Before its translation began.
    pub(crate) started: Time,
    pub(crate) completion: Time,
    /// Command sets that served it.
    pub(crate) sets: u32,
}

impl Answered {
    pub(crate) fn latency(&self) -> u64 {
        self.completion.since(self.arrival).as_ns()
    }
}

/// Takes down when requests are answered.
pub(crate) struct Clock(pub(crate) Shared<Vec<Answered>>);

impl Observer for Clock {
    fn wants_times_alone(&self) -> bool {
        true
    }
    fn request_timed(&mut self, event: &RequestTimed) {
        let RequestTimed { order, request, completion, pages, parts } = *event;
        let Request { op, arrival, stream, .. } = request;
        let started = Time::from_ns(arrival.as_ns() + parts.get(Part::HostQueue));
        let sets = pages.max(1);
        self.0.get().push(Answered { order, op, stream, arrival, started, completion, sets });
    }
}

/// Which requests are explained.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choice {
    /// Those in the bucket of a percentile and above, in parts of 10,000.
    Above(u64),
    /// The slowest so many.
    Slowest(usize),
    /// One, by order of arrival.
    Request(u64),
}

/// The chosen requests.
#[derive(Debug, Default)]
pub(crate) struct Chosen {
    /// By order of arrival, with how many command sets serve them.
    pub(crate) orders: BTreeMap<u64, u32>,
    /// How many requests there were to choose from.
    pub(crate) of: u64,
    /// The percentile that was chosen by, or p99.
    pub(crate) percentile: Option<u64>,
    /// Spans from the start of what was under way when any of them was started until its end, one
    /// after the other.
    spans: Vec<(Time, Time)>,
}

impl Chosen {
    /// Chooses among the answered requests of a class that count in the report.
    pub(crate) fn new(
        choice: Choice,
        class: Option<RequestOp>,
        answered: &[Answered],
        backs: &Backs,
    ) -> Self {
        let class = class.filter(|_| !matches!(choice, Choice::Request(_)));
        let is_of = |request: &&Answered| class.is_none_or(|op| op == request.op);
        let mut of: Vec<Answered> = answered.iter().filter(is_of).copied().collect();
        let mut histogram = Histogram::new(false);
        for request in &of {
            histogram.record(request.latency(), &Parts::default());
        }
        let count = of.len() as u64;
        let mut percentile = histogram.percentile(9_900);
        match choice {
            Choice::Above(share) => {
                let least = histogram.tail_from(share).unwrap_or(0);
                percentile = histogram.percentile(share);
                of.retain(|request| request.latency() >= least);
            }
            Choice::Slowest(most) => {
                of.sort_by_key(|request| (std::cmp::Reverse(request.latency()), request.order));
                of.truncate(most);
            }
            Choice::Request(order) => of.retain(|request| request.order == order),
        }
        let span = |one: &Answered| (backs.from(one.started), one.completion);
        let mut spans: Vec<_> = of.iter().map(span).collect();
        spans.sort_unstable();
        spans.dedup_by(|next, last| {
            let joins = next.0 <= last.1;
            last.1 = if joins { last.1.max(next.1) } else { last.1 };
            joins
        });
        let orders = of.iter().map(|request| (request.order, request.sets)).collect();
        Self { orders, of: count, percentile, spans }
    }
}

/// For each instant the start of the earliest request that was under way.
pub(crate) struct Backs(Vec<(Time, Time)>);

impl Backs {
    /// Of these requests, at each of their starts.
    pub(crate) fn new(answered: &[Answered]) -> Self {
        let mut starts: Vec<_> = answered.iter().map(|one| (one.started, one.completion)).collect();
        starts.sort_unstable();
        let mut first = 0;
        let mut backs = Vec::with_capacity(starts.len());
        for &(started, _) in &starts {
            // Those that were over before are over at every later start.
            while starts[first].0 < started && starts[first].1 < started {
                first += 1;
            }
            backs.push((started, starts[first].0));
        }
        Self(backs)
    }

    /// At the start of a request.
    fn from(&self, started: Time) -> Time {
        let place = self.0.partition_point(|back| back.0 < started);
        self.0.get(place).map_or(started, |back| back.1)
    }
}

/// Leaves out the requests that do not count in the report: those of phases that are not measured,
/// and the first ones of the others. A phase is its number of requests and whether it is measured;
/// `answered` is in the order of arrival.
pub(crate) fn leave_out(answered: &mut Vec<Answered>, phases: &[(u64, bool)], skip: u64) {
    let total: u64 = phases.iter().map(|phase| phase.0).sum();
    if total != answered.len() as u64 {
        return;
    }
    let counts = phases.iter().flat_map(|phase| (0..phase.0).map(|_| phase.1));
    let counts: Vec<bool> = counts.collect();
    let (mut place, mut measured) = (0, 0);
    answered.retain(|_| {
        place += 1;
        measured += u64::from(counts[place - 1]);
        counts[place - 1] && measured > skip
    });
}

/// Follows the sets of a run, and explains the chosen requests.
pub(crate) struct Follower {
    settings: Settings,
    chosen: Chosen,
    history: History,
    /// The first span that is not over.
    span: usize,
    /// Of each chosen request, how many of its sets are not over.
    left: BTreeMap<u64, u32>,
    /// Of chosen requests that are not over: when the set that was over last began, its steps and
    /// those before its start.
    steps: BTreeMap<u64, (Time, Vec<Step>)>,
    found: Shared<Sums>,
}

impl Follower {
    pub(crate) fn new(settings: &Settings, chosen: Chosen, found: Shared<Sums>) -> Self {
        let (history, steps) = (History::default(), BTreeMap::new());
        let left = chosen.orders.clone();
        Self { settings: settings.clone(), chosen, history, span: 0, left, steps, found }
    }

    /// Something happens: what no chosen request can have waited for is forgotten.
    fn pass(&mut self, now: Time) {
        let before = self.span;
        while self.chosen.spans.get(self.span).is_some_and(|span| span.1 < now) {
            self.span += 1;
        }
        if self.span > before {
            self.history.clear(now);
        }
    }

    /// Whether a chosen request is under way.
    fn is_in_span(&self, now: Time) -> bool {
        self.chosen.spans.get(self.span).is_some_and(|span| span.0 <= now)
    }
}

impl Observer for Follower {
    fn follows(&self) -> bool {
        true
    }

    fn piece(&mut self, event: &Piece) {
        self.pass(event.until);
        if self.is_in_span(event.until) {
            self.history.piece(event);
        }
    }

    fn set_over(&mut self, event: &SetOver) {
        self.pass(event.at);
        let order = event.request.filter(|order| {
            self.left.get_mut(order).is_some_and(|left| {
                *left = left.saturating_sub(1);
                *left == 0
            })
        });
        // The latency of a request has the parts of its last set.
        if let Some(order) = order {
            let blamer = Blamer { settings: &self.settings, history: &self.history };
            let mut steps = blamer.steps(event.set);
            // What came before it is known from its account: the end of that, in the host queue.
            let first =
                self.history.current(event.set).next().map_or(event.at, |(did, _)| did.from);
            let queued = event.parts.get(Part::HostQueue);
            if queued > 0 {
                let from = Time::from_ns(first.as_ns().saturating_sub(queued));
                steps.extend(blamer.before_start((from, first)));
            }
            self.steps.insert(order, (first, steps));
        }
        self.history.set_over(event, self.is_in_span(event.at));
    }

    fn operation_began(&mut self, event: &OperationBegan) {
        self.pass(event.at);
        self.history.operation(event, self.is_in_span(event.at));
    }

    fn request_answered(&mut self, event: &RequestAnswered) {
        self.history.request_answered(event);
    }

    fn power_waited(&mut self, event: &PowerWaited) {
        if self.is_in_span(event.until) {
            self.history.powered(event);
        }
    }

    fn command_done(&mut self, event: &CommandDone) {
        self.history.done(event);
    }

    fn suspended(&mut self, event: &Suspension) {
        self.history.suspended(event);
    }

    fn transfer(&mut self, event: &ChannelTransfer) {
        if self.is_in_span(event.until) {
            self.history.transfer(event);
        }
    }

    fn job_began(&mut self, event: &JobBegan) {
        self.history.job(event);
    }

    fn merge_began(&mut self, event: &MergeBegan) {
        self.history.merge(event);
    }

    fn own_work(&mut self, event: &OwnWork) {
        self.history.own_work(event);
    }

    fn request_done(&mut self, event: &RequestDone) {
        if !self.chosen.orders.contains_key(&event.order) {
            return;
        }
        let (arrival, completion) = (event.request.arrival, event.completion);
        // What came before the set, and the answer on the link behind it.
        let (first, mut steps) =
            self.steps.remove(&event.order).unwrap_or((completion, Vec::new()));
        let last = steps.iter().map(|step| step.until).max().unwrap_or(arrival);
        let behind = completion.since(last).as_ns();
        let known: u64 = steps.iter().map(|step| step.ns).sum();
        // Of a request without commands no part is known to be over before its answer.
        let first = if known > 0 { first } else { completion };
        reconcile(&event.parts, (arrival, first), &mut steps, 0);
        if known > 0 && behind > 0 {
            let link = steps.iter_mut().rfind(|step| step.part == Part::Link);
            if let Some(step) = link.filter(|step| step.from == arrival && step.ns >= behind) {
                step.ns -= behind;
                let answer = Step { from: last, until: completion, ns: behind, ..*step };
                steps.push(answer);
                steps.retain(|step| step.ns > 0);
            }
        }
        steps.sort_by_key(|step| (step.from, step.until));
        put_in_order(&mut steps);
        steps.sort_by_key(|step| (step.from, step.until));
        self.found.get().add(Explained {
            order: event.order,
            request: event.request,
            completion,
            parts: event.parts,
            steps,
        });
    }
}
