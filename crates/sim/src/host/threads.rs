//! Threads of the host: each submits requests and reaps their answers one after the other.
//!
//! A thread is a serial server of two kinds of work. Each submission takes `interface.submit_ns`,
//! before the request is in the submission queue, and each answer takes `interface.reap_ns` when it
//! has come over the link. If both kinds wait, the thread does them in turn, as a benchmark does
//! that reaps an answer and then submits the request in its place. Of a kind the oldest goes first.

use super::timers::{Timer, Timers};
use crate::config::{Settings, Threads as Scope};
use crate::handle::RequestId;
use flashyard_core::units::{Span, Time};
use std::collections::VecDeque;

/// The threads of a host whose work takes time.
#[derive(Clone, Debug)]
pub(super) struct Threads {
    submit: Span,
    reap: Span,
    scope: Scope,
    each: Vec<Thread>,
    /// Threads that may have work and nothing to do.
    waiting: Vec<usize>,
}

/// A thread: what waits for it, each request with the instant since when it has.
#[derive(Clone, Debug, Default)]
struct Thread {
    submissions: VecDeque<(RequestId, Time)>,
    answers: VecDeque<(RequestId, Time)>,
    /// Since when the request has been with the thread that it works for, if there is one.
    works_since: Option<Time>,
    /// Whether its last work was a submission.
    submitted: bool,
}

impl Threads {
    /// The threads of the host; none if their work takes no time.
    pub(super) fn new(settings: &Settings) -> Option<Box<Self>> {
        let keys = &settings.keys.interface;
        let (submit, reap) = (Span::from_ns(keys.submit_ns), Span::from_ns(keys.reap_ns));
        let (each, waiting) = (Vec::new(), Vec::new());
        let all = Self { submit, reap, scope: keys.threads, each, waiting };
        keys.has_threads().then(|| Box::new(all))
    }

    /// A phase of so many streams begins.
    pub(super) fn begin(&mut self, streams: usize) {
        let count = if self.scope == Scope::Host { 1 } else { streams };
        self.each.clear();
        self.each.resize_with(count, Thread::default);
    }

    /// The thread of a stream.
    const fn of(&self, lane: usize) -> usize {
        match self.scope {
            Scope::Host => 0,
            Scope::Stream => lane,
        }
    }

    /// A request of a stream is to be submitted.
    #[cold]
    pub(super) fn submit(&mut self, handle: RequestId, lane: usize, now: Time) {
        let thread = self.of(lane);
        self.each[thread].submissions.push_back((handle, now));
        self.waiting.push(thread);
    }

    /// The answer of a request of a stream is to be reaped.
    #[cold]
    pub(super) fn reap(&mut self, handle: RequestId, lane: usize, now: Time) {
        let thread = self.of(lane);
        self.each[thread].answers.push_back((handle, now));
        self.waiting.push(thread);
    }

    /// Threads that do nothing begin what waits for them. [`Timer::Submitted`] and
    /// [`Timer::Reaped`] say when it is done.
    #[cold]
    pub(super) fn go_on(&mut self, now: Time, timers: &mut Timers) {
        // The lowest one last.
        self.waiting.sort_unstable_by(|a, b| b.cmp(a));
        while let Some(number) = self.waiting.pop() {
            let thread = &mut self.each[number];
            if thread.works_since.is_some() {
                continue;
            }
            let reaps_next = thread.submitted || thread.submissions.is_empty();
            let answer = if reaps_next { thread.answers.pop_front() } else { None };
            if let Some((handle, since)) = answer {
                (thread.works_since, thread.submitted) = (Some(since), false);
                timers.set(now + self.reap, Timer::Reaped(handle));
            } else if let Some((handle, since)) = thread.submissions.pop_front() {
                (thread.works_since, thread.submitted) = (Some(since), true);
                timers.set(now + self.submit, Timer::Submitted(handle));
            }
        }
    }

    /// The thread of a stream has done its work. Returns how long the request was with it, and in
    /// the line for it.
    pub(super) fn done(&mut self, lane: usize, now: Time) -> u64 {
        let number = self.of(lane);
        let since = self.each[number].works_since.take().expect("the thread works");
        self.waiting.push(number);
        now.since(since).as_ns()
    }
}
