//! Explains latency: charges every instant of a set's life to what it waits for.
//!
//! A ready command waits for its die and is charged with what the die does meanwhile: dies keep
//! running totals, so that takes two subtractions whatever the wait. A set that waits for another
//! one is charged with what that one spends its time on; it remembers the other's account when the
//! wait begins and takes the difference when it ends.

use super::Ledger;
use crate::handle::SetId;
use crate::observe::{Doing, Piece};
use crate::sets::charge::Ran;
use crate::sets::track::{ACCOUNTS, OTHER, OWN, Track};
use crate::sets::{Mode, Operation, Stage, Wait};
use flashyard_core::units::{DieId, Span, Time};

/// Waits along which an account is followed before a further one is the first of a row.
const LONG: u8 = 8;

impl Ledger<'_> {
    /// Ends the current segment of a set's account and begins the next in `mode`.
    #[inline]
    pub(crate) fn enter(&mut self, set: SetId, mode: Mode) {
        self.close_segment(set);
        match mode {
            Mode::Queued | Mode::Suspended => self.wait_for_die(set, self.sets.die(set)),
            Mode::Waiting => {
                let wait = self.sets.first_wait(set).expect("a blocked set waits for something");
                self.wait_for(set, wait);
            }
            Mode::Slotless
            | Mode::Firmware
            | Mode::Collecting
            | Mode::Lineless
            | Mode::Buffered
            | Mode::Linking
            | Mode::Running => {}
        }
        self.rest(set, mode);
    }

    /// The same where its current command begins to wait in the queue of its die.
    #[expect(clippy::inline_always, reason = "a step of each command; a call costs as much")]
    #[inline(always)]
    pub(crate) fn enter_queue(&mut self, set: SetId, die: DieId) {
        self.close_segment(set);
        self.wait_for_die(set, die);
        self.rest(set, Mode::Queued);
    }

    #[inline]
    fn wait_for_die(&mut self, set: SetId, die: DieId) {
        self.flash.note_busy(die, self.now, self.sets.track_mut(set).waits_for_die());
    }

    /// A set begins to wait for another one, whose account is its base, or the sum of a row.
    fn wait_for(&mut self, set: SetId, wait: Wait) {
        let source = wait.source;
        let waits = self.sets[source].mode() == Mode::Waiting;
        let steps = if waits { self.sets.track(source).steps().saturating_add(1) } else { 0 };
        self.sets.track_mut(set).waits_for(source, wait.kind, steps);
        if steps >= LONG && self.sets.may_join(set, source) {
            let account = self.account_of(self.sets.head_of(source).unwrap_or(source));
            self.sets.join_row(set, source, &account);
        } else {
            let account = self.account_of(source);
            self.sets.track_mut(set).waits_from(account);
        }
    }

    /// When a set stops waiting, its wait is charged now, while the set that it waited for still
    /// exists; it is woken later at this instant.
    pub(crate) fn charge_passed(&mut self) {
        for at in 0..self.sets.ready().len() {
            self.charge_wait(self.sets.ready()[at]);
        }
    }

    /// Charges a set that has lost a wait, if it waited; it is woken later at this instant.
    pub(crate) fn charge_wait(&mut self, set: SetId) {
        if self.sets[set].mode() != Mode::Waiting {
            return;
        }
        if self.sets.is_blocked(set) {
            self.enter(set, Mode::Waiting);
        } else {
            self.close_segment(set);
            self.rest(set, Mode::Waiting);
        }
    }

    /// A segment that has spent nothing begins.
    #[inline]
    fn rest(&mut self, set: SetId, mode: Mode) {
        self.sets.enter(set, mode, self.now);
    }

    /// Charges the time since the segment began.
    #[expect(clippy::inline_always, reason = "a step of each command; a call costs as much")]
    #[inline(always)]
    pub(crate) fn close_segment(&mut self, set: SetId) {
        if self.sets.track(set).since() < self.now {
            self.charge_segment(set);
        }
        if let Some(head) = self.sets.head_of(set) {
            let account = self.account_of(head);
            self.sets.leave_row(set, &account);
        }
    }

    /// The same where some time has passed; not where none has, which is most often so.
    #[inline(never)]
    fn charge_segment(&mut self, set: SetId) {
        if self.account.is_followed() {
            return self.charge_told(set, None);
        }
        self.charge_now(set);
    }

    /// Charges a segment in which some time has passed, and tells of it. `operation` is the one
    /// that has just left its die, if that is what the set was on.
    #[cold]
    pub(crate) fn charge_told(&mut self, set: SetId, operation: Option<&Operation>) {
        let running = match operation {
            Some(operation) => Some(*operation),
            None if self.sets[set].mode() == Mode::Running => Some(*self.operation_of(set)),
            None => None,
        };
        let track = self.sets.track(set);
        let (from, reason, mut parts) = (track.since(), track.reason(), *track.parts());
        let doing = match self.sets[set].mode() {
            Mode::Slotless => Doing::Slot(self.sets.slot_limit(set)),
            Mode::Waiting => Doing::Waits(self.awaited(set).get(), reason),
            Mode::Firmware => Doing::Firmware,
            Mode::Collecting => Doing::Collecting,
            Mode::Lineless => Doing::Line,
            Mode::Buffered => Doing::Buffer,
            Mode::Linking => Doing::Link,
            Mode::Queued | Mode::Suspended => Doing::Die,
            Mode::Running => {
                let operation = running.as_ref().expect("it is on a die");
                Doing::Runs(self.channel_waits(set, operation))
            }
        };
        match operation {
            Some(operation) => self.charge_running((self.sets.stage(set), set), operation),
            None => self.charge_now(set),
        }
        let charged = self.sets.track(set).parts();
        for (before, after) in parts.0.iter_mut().zip(&charged.0) {
            *before = after - *before;
        }
        let command = self.command_name(set);
        let (die, until) = (self.sets.die(set), self.now);
        let event = Piece { set: set.get(), command, die, from, until, doing, parts };
        self.account.tell(&event);
    }

    /// When a set that is on a die waited for the channel since its segment began.
    fn channel_waits(&self, set: SetId, operation: &Operation) -> [(Time, Time); 2] {
        let since = self.sets.track(set).since();
        if self.flash.has_requests() {
            let bus = self.running_time(set, operation).bus;
            let until = since + Span::from_ns(bus);
            return [(since, until), (until, until)];
        }
        let clip = |from: Time, until: Time| {
            let from = from.max(since).min(self.now);
            (from, until.min(self.now).max(from))
        };
        let [before, behind] = operation.waits();
        let behind =
            if operation.gives_data() { clip(behind.0, behind.1) } else { (self.now, self.now) };
        [clip(before.0, before.1), behind]
    }

    /// Charges a segment in which some time has passed.
    #[inline]
    pub(crate) fn charge_now(&mut self, set: SetId) {
        let elapsed = self.elapsed(set);
        match self.sets[set].mode() {
            Mode::Queued | Mode::Suspended => {
                let busy = self.flash.busy(self.sets.die(set), self.now);
                let idle = self.flash.idle();
                self.sets.track_mut(set).charge_queued(busy, elapsed, idle);
            }
            Mode::Running => {
                let operation = *self.operation_of(set);
                self.charge_running((self.sets.stage(set), set), &operation);
            }
            Mode::Waiting => {
                let head = self.sets.head_of(set);
                let account = self.account_of(head.unwrap_or_else(|| self.awaited(set)));
                let spent = self.shared_segment(set, &account);
                self.sets.track_mut(set).charge_waiting(&spent, elapsed);
            }
            mode => self.sets.track_mut(set).charge_mode(mode, elapsed),
        }
    }

    /// Nanoseconds since the segment of a set began.
    #[inline]
    fn elapsed(&self, set: SetId) -> u64 {
        self.now.since(self.sets.track(set).since()).as_ns()
    }

    /// Ends the account of a command of this kind whose operation has just left its die.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "a step of each command; a call costs as much")]
    pub(crate) fn close_with(&mut self, (stage, set): (Stage, SetId), operation: &Operation) {
        if self.sets.track(set).since() < self.now {
            if self.account.is_followed() {
                self.charge_told(set, Some(operation));
            } else {
                self.charge_running((stage, set), operation);
            }
        }
        self.rest(set, Mode::Slotless);
    }

    /// A command of this kind was on its die.
    #[expect(clippy::inline_always, reason = "a step of each command; a call costs as much")]
    #[inline(always)]
    pub(crate) fn charge_running(&mut self, (stage, set): (Stage, SetId), operation: &Operation) {
        let ran = self.running_time(set, operation);
        self.sets.track_mut(set).charge_running(&ran, stage.is_own());
    }

    /// The account of a set as of now.
    fn account_of(&mut self, set: SetId) -> [u64; ACCOUNTS] {
        self.account_alone(set).unwrap_or_else(|| self.account_of_waiting(set))
    }

    /// The same of a set that waits for nobody, or only since now.
    #[inline]
    fn account_alone(&self, set: SetId) -> Option<[u64; ACCOUNTS]> {
        if self.sets.track(set).since() == self.now {
            return Some(*self.sets.track(set).spent());
        }
        let waits = self.sets[set].mode() == Mode::Waiting;
        (!waits).then(|| self.with_earlier(set, self.own_segment(set)))
    }

    /// The same of one that waits. Walks along the waits, of a row at once to its head, to a set
    /// that does not, and back.
    #[inline(never)]
    fn account_of_waiting(&mut self, set: SetId) -> [u64; ACCOUNTS] {
        let mut chain = self.sets.begin_walk();
        let mut at = set;
        let mut account = loop {
            if let Some(account) = self.account_alone(at) {
                break account;
            }
            chain.push(at);
            at = self.sets.head_of(at).unwrap_or_else(|| self.awaited(at));
        };
        while let Some(waiter) = chain.pop() {
            account = self.with_earlier(waiter, self.shared_segment(waiter, &account));
        }
        self.sets.end_walk(chain);
        account
    }

    /// The set that another one waits for.
    #[inline]
    pub(crate) fn awaited(&self, set: SetId) -> SetId {
        self.sets.track(set).source().expect("it waits for a set")
    }

    fn with_earlier(&self, set: SetId, mut segment: [u64; ACCOUNTS]) -> [u64; ACCOUNTS] {
        for (sum, &spent) in segment.iter_mut().zip(self.sets.track(set).spent()) {
            *sum += spent;
        }
        segment
    }

    /// The current segment of a set that waits for another one, whose account this is; of a member
    /// of a row, that of the head.
    #[inline]
    fn shared_segment(&self, set: SetId, account: &[u64; ACCOUNTS]) -> [u64; ACCOUNTS] {
        let is_member = self.sets.head_of(set).is_some();
        let mut spent = if is_member { self.sets.sum_of_row(set, account) } else { *account };
        for (spent, base) in spent.iter_mut().zip(self.sets.track(set).base()) {
            *spent -= base;
        }
        let request = self.sets[set].request();
        let same = request.is_some() && self.sets[self.awaited(set)].request() == request;
        if !is_member && !same {
            spent[OTHER] += std::mem::take(&mut spent[OWN]);
        }
        spent
    }

    /// The current segment of a set that waits for no other one.
    fn own_segment(&self, set: SetId) -> [u64; ACCOUNTS] {
        let elapsed = self.elapsed(set);
        match self.sets[set].mode() {
            Mode::Queued | Mode::Suspended => {
                let busy = self.flash.busy(self.sets.die(set), self.now);
                self.sets.track(set).spent_queued(busy, elapsed, self.flash.idle())
            }
            Mode::Running => {
                let ran = self.running_time(set, self.operation_of(set));
                Track::spent_running(&ran)
            }
            Mode::Waiting => unreachable!("a set that waits shares the segment of another"),
            mode => Track::spent_in(mode, elapsed),
        }
    }

    /// The operation that serves the current command of a set.
    pub(crate) fn operation_of(&self, set: SetId) -> &Operation {
        self.flash.operation(self.sets.die(set), self.sets[set].place())
    }

    /// What a command on its die has spent its time on since its segment began. Reads are not
    /// suspended, so senses after the first one lie in one segment.
    #[inline]
    pub(crate) fn running_time(&self, set: SetId, operation: &Operation) -> Ran {
        let since = self.sets.track(set).since();
        let all = self.now.since(since).as_ns();
        let (retry, collects) = (operation.retry().as_ns(), operation.collects());
        if self.flash.has_requests() {
            let [bus, unknown] = self.wire_time(set);
            return Ran { all, bus, unknown, retry, collects };
        }
        let overlap = |from: Time, until: Time| {
            let (from, until) = (from.max(since), until.min(self.now));
            if from < until { until.since(from).as_ns() } else { 0 }
        };
        let [before, behind] = operation.waits();
        let bus = overlap(before.0, before.1) + overlap(behind.0, behind.1);
        Ran { all, bus, unknown: 0, retry, collects }
    }

    /// Time since the operation of a set began or was resumed that it waited for the channel, and
    /// that its array was done and the controller did not know.
    #[cold]
    pub(crate) fn wire_time(&self, set: SetId) -> [u64; 2] {
        let wire = self.flash.wire(self.sets.die(set), self.sets[set].place());
        wire.map_or([0; 2], |wire| wire.totals(self.now))
    }

    /// Time of a share of the planes of a set's operation on the bus.
    #[cold]
    pub(crate) fn wire_share(&self, set: SetId, die: DieId, leads: bool) -> u64 {
        let wire = self.flash.wire(die, self.sets[set].place());
        wire.map_or(0, |wire| wire.share_ns(leads))
    }
}
