//! The time of the chosen requests, summed by what took it.

use super::blame::{Limit, Step, Via, Who};
use super::history::Cause;
use flashyard_core::command::{Op, Purpose};
use flashyard_core::request::Request;
use flashyard_core::units::Time;
use flashyard_sim::metrics::parts::{Part, Parts};
use flashyard_sim::observe::{FlushTrigger, Trigger};
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// A request that is explained.
#[derive(Clone, Debug)]
pub struct Explained {
    /// Its place in the order of arrival.
    pub order: u64,
    /// What it was.
    pub request: Request,
    /// When it was answered.
    pub completion: Time,
    /// Its latency parts, as the account has them.
    pub parts: Parts,
    /// What its time went to; together exactly its latency, and by part its latency parts.
    pub steps: Vec<Step>,
}

impl Explained {
    /// Nanoseconds from its arrival to its answer.
    pub fn latency(&self) -> u64 {
        self.completion.since(self.request.arrival).as_ns()
    }
}

/// Why commands are there, without what tells one from the next.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reason {
    /// The request that waits itself: another page of it.
    Same,
    /// Another request of the host that came earlier.
    Other,
    /// One that came later, and went first.
    Later,
    /// Garbage collection, and what started it.
    Job(Trigger),
    /// Map pages with entries of moved data.
    Map,
    /// Merges: switch, partial, full, of log blocks without a valid page.
    Merge([bool; 4]),
    /// A flush, and what started it.
    Flush(FlushTrigger),
    /// Not known.
    Unknown,
}

impl Reason {
    /// Why a command is there that a request waits for.
    pub(crate) fn of(cause: Cause, waiter: u64) -> Self {
        match cause {
            Cause::Request(order) if order == waiter => Self::Same,
            Cause::Request(order) if order > waiter => Self::Later,
            Cause::Request(_) => Self::Other,
            Cause::Job(job) => Self::Job(job.trigger),
            Cause::Map => Self::Map,
            Cause::Merge(merge) => Self::Merge(merge.kinds.map(|count| count > 0)),
            Cause::Flush(trigger) => Self::Flush(trigger),
            Cause::Unknown => Self::Unknown,
        }
    }
}

/// Who was in the way. Operations of one kind are not told apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum By {
    /// Nobody: the work of the request itself.
    Nobody,
    /// An operation that was not of its own set: its kind, its purpose, its cause, and why it did
    /// not make way.
    Operation(Op, Purpose, Reason, Option<Limit>),
    /// An operation of its own set.
    Own(Op, Purpose),
    /// A transfer on a channel: its purpose, and whether it carried data out of a die.
    Channel(Purpose, bool),
}

/// What took time: the latency part, the wait for another set, and who was in the way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Key {
    /// The latency part, by its place among all.
    pub part: u8,
    /// The wait for another set.
    pub via: Option<Via>,
    /// Who was in the way.
    pub by: By,
}

impl Key {
    /// Returns what took the time of a step of a request.
    pub fn of(step: &Step, waiter: u64) -> Self {
        let by = match step.who {
            Who::Nobody => By::Nobody,
            Who::Operation(operation, limit) => {
                let reason = match Reason::of(operation.cause, waiter) {
                    // Only commands for data are told apart by whose they are.
                    Reason::Same | Reason::Later if operation.purpose != Purpose::Host => {
                        Reason::Other
                    }
                    reason => reason,
                };
                By::Operation(operation.op, operation.purpose, reason, limit)
            }
            Who::Own(operation) => By::Own(operation.op, operation.purpose),
            Who::Channel(purpose, out) => By::Channel(purpose, out),
        };
        Self { part: (step.part as usize).to_le_bytes()[0], via: step.via, by }
    }

    /// The key without the kind of an operation and without the reason why it did not make way.
    #[must_use]
    pub const fn group(self) -> Self {
        match self.by {
            By::Operation(_, purpose, reason, _) => {
                Self { by: By::Operation(Op::Read, purpose, reason, None), ..self }
            }
            _ => self,
        }
    }

    /// The latency part.
    pub fn part(&self) -> Part {
        Part::ALL[usize::from(self.part)]
    }
}

/// Sums over the chosen requests.
#[derive(Clone, Debug, Default)]
pub struct Sums {
    /// How many requests there are.
    pub requests: u64,
    /// The sum of their latencies, in nanoseconds.
    pub latency_ns: u64,
    /// The sum of their latency parts.
    pub parts: Parts,
    /// Nanoseconds by what took them.
    pub by_key: BTreeMap<Key, u64>,
    /// Time in which an operation of a die was in the way.
    pub by_die: BTreeMap<u32, u64>,
    /// The slowest of them, and some more.
    slow: Vec<Explained>,
}

/// Requests that are shown one by one, at most.
pub const CHAINS: usize = 100;

/// Steps that they have together, at most, where they are more than one: a request in a long queue
/// has a step for each command before it.
const STEPS: usize = 20_000;

impl Sums {
    /// Adds a request.
    pub fn add(&mut self, request: Explained) {
        self.requests += 1;
        self.latency_ns += request.latency();
        self.parts.merge(&request.parts);
        for step in &request.steps {
            *self.by_key.entry(Key::of(step, request.order)).or_default() += step.ns;
            if let Who::Operation(operation, _) = step.who {
                *self.by_die.entry(operation.die).or_default() += step.ns;
            }
        }
        self.slow.push(request);
        if self.slow.len() == 2 * CHAINS {
            self.keep_slowest();
        }
    }

    fn keep_slowest(&mut self) {
        self.slow.sort_by_key(|request| (Reverse(request.latency()), request.order));
        self.slow.truncate(CHAINS);
    }

    /// Takes the slowest requests, the slowest first.
    pub fn take_slowest(&mut self) -> Vec<Explained> {
        self.keep_slowest();
        let mut steps = 0;
        let few = self.slow.iter().take_while(|request| {
            steps += request.steps.len();
            steps <= STEPS
        });
        let few = few.count().max(1);
        self.slow.truncate(few);
        std::mem::take(&mut self.slow)
    }

    /// What most time went to, first.
    pub fn rows(&self) -> Vec<(Key, u64)> {
        let mut rows: Vec<_> = self.by_key.iter().map(|(key, ns)| (*key, *ns)).collect();
        rows.sort_by_key(|(key, ns)| (Reverse(*ns), *key));
        rows
    }

    /// Dies in whose queues most time was spent, first.
    pub fn dies(&self) -> Vec<(u32, u64)> {
        let mut dies: Vec<_> = self.by_die.iter().map(|(die, ns)| (*die, *ns)).collect();
        dies.sort_by_key(|(die, ns)| (Reverse(*ns), *die));
        dies
    }

    /// Nanoseconds for each request, of a sum over them.
    pub fn mean(&self, ns: u64) -> f64 {
        ns as f64 / self.requests.max(1) as f64
    }
}
