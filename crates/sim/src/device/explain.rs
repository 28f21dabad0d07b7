//! Explains latency: charges every instant of a set's life to what it waits for.
//!
//! A ready command waits for its die and is charged with what the die does meanwhile: dies keep
//! running totals, so that takes two subtractions whatever the wait. A set that waits for another
//! one is charged with what that one spends its time on; it remembers the other's account when the
//! wait begins and takes the difference when it ends.

use super::Device;
use super::state::{Mode, Operation, Place};
use crate::metrics::parts::{Part, Parts};
use flashyard_core::graph::{EdgeKind, NIL};
use flashyard_core::units::{Span, Time};

/// An account, seen from outside the set: waiting for a slot; for its die while that reads,
/// programs, erases, collects garbage; for the channel; commands of its own request; of others.
pub(super) const ACCOUNTS: usize = 8;
const SLOT: usize = 0;
const DIE: usize = 1;
const BUS: usize = 5;
const OWN: usize = 6;
const OTHER: usize = 7;

/// The parts that the first accounts are charged to.
const PART_OF: [Part; 6] =
    [Part::Slot, Part::DieRead, Part::DieProgram, Part::DieErase, Part::DieGc, Part::Bus];

/// What a die is doing: the place of its running total.
pub(super) const DIE_GC: usize = 3;

/// The account of a set.
#[derive(Clone, Copy, Debug)]
pub(super) struct Track {
    /// When the current segment began.
    since: Time,
    /// What earlier segments spent.
    spent: [u64; ACCOUNTS],
    /// The die's or the other set's account when the current segment began.
    base: [u64; ACCOUNTS],
    /// The set that is waited for, and why.
    source: u32,
    reason: EdgeKind,
    /// What the latency is made of so far.
    pub(super) parts: Parts,
}

impl Track {
    pub(super) const NEW: Self = Self {
        since: Time::ZERO,
        spent: [0; ACCOUNTS],
        base: [0; ACCOUNTS],
        source: NIL,
        reason: EdgeKind::Order,
        parts: Parts([0; crate::metrics::parts::PARTS]),
    };

    pub(super) fn starting(now: Time, parts: Parts) -> Self {
        Self { since: now, parts, ..Self::NEW }
    }
}

impl Device {
    /// Ends the current segment of a set's account and begins the next in `mode`.
    pub(super) fn enter(&mut self, set: u32, mode: Mode) {
        self.close_segment(set);
        let now = self.now;
        let base = match mode {
            Mode::Queued | Mode::Suspended => self.die_account(self.current_die(set)),
            Mode::Waiting => {
                let wait = self.graph.first_wait(set).expect("a blocked set waits for something");
                self.sets[set as usize].track.source = wait.source;
                self.sets[set as usize].track.reason = wait.kind;
                self.account(wait.source)
            }
            Mode::Slotless | Mode::Running => [0; ACCOUNTS],
        };
        let state = &mut self.sets[set as usize];
        state.mode = mode;
        state.track.since = now;
        state.track.base = base;
    }

    /// Charges the time since the segment began.
    pub(super) fn close_segment(&mut self, set: u32) {
        let spent = self.segment(set);
        self.charge(set, spent);
    }

    /// The same for a set whose operation has just left its die; no more time passes until the set
    /// enters its next mode.
    pub(super) fn close_with(&mut self, set: u32, operation: &Operation) {
        let spent = self.running_segment(set, operation);
        self.charge(set, spent);
        let now = self.now;
        let state = &mut self.sets[set as usize];
        state.mode = Mode::Slotless;
        state.track.since = now;
    }

    fn charge(&mut self, set: u32, spent: [u64; ACCOUNTS]) {
        let elapsed = self.now.since(self.sets[set as usize].track.since).as_ns();
        assert_eq!(spent.iter().sum::<u64>(), elapsed, "an account lost time in {set}");
        if elapsed == 0 {
            return;
        }
        let state = &mut self.sets[set as usize];
        let mut is_map = true;
        if state.mode == Mode::Running {
            is_map = !state.stages[self.graph.node(set).stage as usize].0.is_data();
            state.own += Span::from_ns(elapsed);
        }
        let track = &mut state.track;
        for (account, &ns) in spent.iter().enumerate() {
            track.spent[account] += ns;
        }
        if state.mode == Mode::Waiting && track.reason == EdgeKind::Flush {
            track.parts.add(Part::Flush, elapsed);
            return;
        }
        for (part, &ns) in PART_OF.iter().zip(&spent) {
            track.parts.add(*part, ns);
        }
        track.parts.add(Part::Delaying, spent[OTHER]);
        if is_map {
            track.parts.add(Part::OwnMap, spent[OWN]);
        } else {
            // A running segment is closed when its command is over or suspended: what it owes the
            // channel before the array has passed, and what it owes behind it comes in the last.
            let transfer = std::mem::take(&mut state.channel_ns).min(spent[OWN]);
            track.parts.add(Part::Transfer, transfer);
            track.parts.add(Part::Array, spent[OWN] - transfer);
        }
    }

    /// A set's account as of now. Walks along the waits to a set that waits for nobody, or only since
    /// now, and back.
    fn account(&mut self, set: u32) -> [u64; ACCOUNTS] {
        let mut chain = std::mem::take(&mut self.chain);
        let mut at = set;
        let mut segment = [0; ACCOUNTS];
        loop {
            let state = &self.sets[at as usize];
            if state.track.since == self.now {
                break;
            }
            if state.mode != Mode::Waiting {
                segment = self.own_segment(at);
                break;
            }
            chain.push(at);
            at = state.track.source;
        }
        let mut account = self.with_earlier(at, segment);
        while let Some(waiter) = chain.pop() {
            account = self.with_earlier(waiter, self.shared_segment(waiter, &account));
        }
        self.chain = chain;
        account
    }

    fn with_earlier(&self, set: u32, mut segment: [u64; ACCOUNTS]) -> [u64; ACCOUNTS] {
        for (sum, &spent) in segment.iter_mut().zip(&self.sets[set as usize].track.spent) {
            *sum += spent;
        }
        segment
    }

    /// What the current segment of a set has spent until now.
    fn segment(&mut self, set: u32) -> [u64; ACCOUNTS] {
        let state = &self.sets[set as usize];
        if state.mode == Mode::Waiting {
            let source = self.account(state.track.source);
            self.shared_segment(set, &source)
        } else {
            self.own_segment(set)
        }
    }

    /// The current segment of a set that waits for another one, whose account is `source`.
    fn shared_segment(&self, set: u32, source: &[u64; ACCOUNTS]) -> [u64; ACCOUNTS] {
        let state = &self.sets[set as usize];
        let mut spent = *source;
        for (spent, base) in spent.iter_mut().zip(&state.track.base) {
            *spent -= base;
        }
        let same = self.sets[state.track.source as usize].request == state.request;
        if !same || state.request == NIL {
            spent[OTHER] += std::mem::take(&mut spent[OWN]);
        }
        spent
    }

    /// The current segment of a set that waits for no other one.
    fn own_segment(&self, set: u32) -> [u64; ACCOUNTS] {
        let state = &self.sets[set as usize];
        let track = &state.track;
        let mut spent = [0; ACCOUNTS];
        match state.mode {
            Mode::Slotless => spent[SLOT] = self.now.since(track.since).as_ns(),
            Mode::Queued | Mode::Suspended => {
                let die = self.die_account(self.current_die(set));
                for account in DIE..=DIE + DIE_GC {
                    spent[account] = die[account] - track.base[account];
                }
            }
            Mode::Running => {
                let die = &self.dies[self.current_die(set).index()];
                let operation = match state.place {
                    Place::Array => &die.array,
                    Place::Output => &die.output,
                    Place::Suspended => &die.suspended,
                };
                return self.running_segment(set, operation);
            }
            Mode::Waiting => unreachable!("a set that waits shares the segment of another"),
        }
        spent
    }

    /// The segment of a command on the die: waiting for the channel before its command and before
    /// its data, and the rest.
    fn running_segment(&self, set: u32, operation: &Operation) -> [u64; ACCOUNTS] {
        let since = self.sets[set as usize].track.since;
        let mut spent = [0; ACCOUNTS];
        let all = self.now.since(since).as_ns();
        if operation.gc {
            spent[DIE + DIE_GC] = all;
            return spent;
        }
        let overlap = |from: Time, until: Time| {
            let (from, until) = (from.max(since), until.min(self.now));
            if from < until { until.since(from).as_ns() } else { 0 }
        };
        let mut bus = overlap(operation.began, operation.lead_from);
        if operation.out_ns > 0 {
            bus += overlap(operation.array_end, operation.out_from);
        }
        spent[BUS] = bus;
        spent[OWN] = all - bus;
        spent
    }

    fn die_account(&self, die: flashyard_core::units::DieId) -> [u64; ACCOUNTS] {
        let die = &self.dies[die.index()];
        let mut account = [0; ACCOUNTS];
        account[DIE..=DIE + DIE_GC].copy_from_slice(&die.busy);
        if let Some(doing) = die.doing {
            account[DIE + doing] += self.now.since(die.since).as_ns();
        }
        account
    }
}
