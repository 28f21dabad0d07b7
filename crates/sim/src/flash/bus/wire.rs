//! What the requests of one operation spend their time on.

use flashyard_core::bus::request::{BusKind, BusRequest, Operation, Served};
use flashyard_core::units::Time;

/// What an operation does beside its requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Doing {
    /// It waits for the bus.
    Waits,
    /// Its array works.
    Works,
    /// Its array is done, and the controller does not know it yet.
    IsUnknown,
}

/// The time of an operation on the bus of its channel.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wire {
    doing: Doing,
    /// Since when.
    since: Time,
    /// Its latest requests on the bus, from when until when, in order. The loop of the framework
    /// sends ahead, so that they may lie in the future: the prolog of a program, its first chunk
    /// and its activation at most.
    sent: [(Time, Time); 3],
    /// Time that it has waited for the bus; that its array was done and nobody knew; what the first
    /// was when it was resumed.
    waited: u64,
    unknown: u64,
    resumed_at: u64,
    /// Time that the bus has carried requests of it.
    carried_ns: u64,
    /// Pages, and planes, that it works on.
    pages: u32,
    planes: u32,
    /// Whether its status is asked for when its array is done.
    pub(super) polls: bool,
    /// From when on the controller knows that its array is done; [`Time::MAX`] before it does.
    pub(super) known: Time,
}

impl Wire {
    /// Of no operation.
    pub(super) const NONE: Self = Self {
        doing: Doing::Waits,
        since: Time::ZERO,
        sent: [(Time::ZERO, Time::ZERO); 3],
        waited: 0,
        unknown: 0,
        resumed_at: 0,
        carried_ns: 0,
        pages: 0,
        planes: 1,
        polls: false,
        known: Time::MAX,
    };

    /// Of an operation that begins.
    pub(super) const fn new(operation: &Operation, planes: u32, now: Time) -> Self {
        let polls = Served::new(*operation).asks_status();
        Self { since: now, pages: operation.pages, planes, polls, ..Self::NONE }
    }

    /// Whether this activation is the last one, which starts the array.
    pub(super) const fn starts(&self, request: &BusRequest) -> bool {
        matches!(request.kind, BusKind::ProgramActivate) || request.plane + 1 == self.pages
    }

    /// Nanoseconds that it has waited for the bus since it began or was resumed, and that its array
    /// was done and nobody knew.
    pub(crate) fn totals(&self, now: Time) -> [u64; 2] {
        let [waited, unknown] = self.all(now);
        [waited - self.resumed_at, unknown]
    }

    fn all(&self, now: Time) -> [u64; 2] {
        let span = |from: Time, until: Time| {
            if from < until { until.since(from).as_ns() } else { 0 }
        };
        let (mut waited, mut since) = (self.waited, self.since);
        for (from, until) in self.sent {
            if until > since {
                waited += span(since, from.min(now));
                since = until;
            }
        }
        match self.doing {
            Doing::Waits => [waited + span(since, now), self.unknown],
            Doing::Works => [waited, self.unknown],
            Doing::IsUnknown => [waited, self.unknown + span(since, now)],
        }
    }

    /// Time of a share of its planes on the bus. The shares add up to that of all requests.
    pub(crate) const fn share_ns(&self, leads: bool) -> u64 {
        let planes = self.planes as u64;
        let share = self.carried_ns / planes;
        if leads { self.carried_ns - (planes - 1) * share } else { share }
    }

    /// The bus carries a request of it.
    pub(super) fn carried(&mut self, from: Time, until: Time, status: bool) {
        self.carried_ns += until.since(from).as_ns();
        // While the array works, and until the end of that is known, it waits for the array.
        if status || from == until && from == self.since {
            return;
        }
        let [first, second, third] = self.sent;
        if first.1 > self.since {
            if first.0 > self.since {
                self.waited += first.0.since(self.since).as_ns();
            }
            self.since = first.1;
        }
        self.sent = [second, third, (from, until)];
    }

    /// Its array works from now on.
    pub(super) const fn works(&mut self) {
        self.doing = Doing::Works;
    }

    /// Whether its array is done.
    pub(super) fn has_ended(&self) -> bool {
        self.doing == Doing::IsUnknown
    }

    /// The array is done, or known to be: returns whether it is the former.
    pub(super) fn ends(&mut self, now: Time) -> bool {
        let ends = self.doing == Doing::Works;
        if ends {
            self.turns_to(Doing::IsUnknown, now);
        }
        ends
    }

    /// It waits for the bus from now on.
    pub(super) fn waits(&mut self, now: Time) {
        self.turns_to(Doing::Waits, now);
    }

    fn turns_to(&mut self, doing: Doing, now: Time) {
        [self.waited, self.unknown] = self.all(now);
        (self.doing, self.since) = (doing, now);
    }

    /// It goes on in its array.
    pub(super) fn resumes(&mut self, now: Time) {
        self.turns_to(Doing::Works, now);
        self.resumed_at = self.waited;
    }
}
