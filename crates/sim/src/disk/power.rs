//! Power of a disk: a level that changes at known times, and the energy that follows.

use crate::config::DiskKeys;
use crate::metrics::counters::Phase;
use flashyard_core::units::Time;
use std::collections::BTreeMap;
use std::collections::VecDeque;

/// What the arm does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    Idle,
    Seek,
    Rotate,
    Read,
    Write,
}

/// What it does that for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cause {
    /// Nothing.
    Idle,
    /// Reads of the host.
    Host,
    /// Sectors behind those that were read.
    ReadAhead,
    /// Writes of the host.
    WriteBack,
}

/// A level of power.
pub(super) type Level = (State, Cause);

/// At rest.
pub(super) const IDLE: Level = (State::Idle, Cause::Idle);

const STATES: [(State, &str); 5] = [
    (State::Idle, "idle"),
    (State::Seek, "seek"),
    (State::Rotate, "rotate"),
    (State::Read, "read"),
    (State::Write, "write"),
];

const CAUSES: [(Cause, &str); 4] = [
    (Cause::Idle, "idle"),
    (Cause::Host, "host"),
    (Cause::ReadAhead, "read_ahead"),
    (Cause::WriteBack, "write_back"),
];

/// Nanoseconds by phase, cause and state.
pub(super) type Spent = [[[u64; 5]; 4]; 3];

/// The level of the moment, those that follow at known times, and how long each was held.
#[derive(Clone, Debug)]
pub(super) struct Power {
    keys: DiskKeys,
    level: Level,
    changes: VecDeque<(Time, Level)>,
    pub(super) spent: Spent,
    /// Nanoseconds in which the arm did not rest, of all phases.
    pub(super) busy_ns: u64,
}

/// Energy in picojoules: by state, by cause, by phase.
pub(super) struct Energy {
    pub(super) states: BTreeMap<&'static str, u128>,
    pub(super) causes: BTreeMap<&'static str, u128>,
    pub(super) phases: BTreeMap<&'static str, u128>,
}

impl Power {
    pub(super) fn new(keys: &DiskKeys) -> Self {
        Self {
            keys: *keys,
            level: IDLE,
            changes: VecDeque::new(),
            spent: Spent::default(),
            busy_ns: 0,
        }
    }

    /// Power of a state in milliwatts.
    pub(super) const fn milliwatts(&self, state: State) -> u64 {
        match state {
            State::Idle => self.keys.idle_mw,
            State::Seek => self.keys.seek_mw,
            State::Rotate => self.keys.rotate_mw,
            State::Read => self.keys.read_mw,
            State::Write => self.keys.write_mw,
        }
    }

    /// The levels from now on: each from an instant on, by ascending time.
    pub(super) fn plan(&mut self, changes: &[(Time, Level)]) {
        self.changes.clear();
        self.changes.extend(changes);
    }

    /// The level that is held from `now` on, and until when at most; at least until `to`.
    pub(super) fn held(&mut self, now: Time, to: Time) -> (Level, Time) {
        while let Some(&(at, level)) = self.changes.front() {
            if at > now {
                return (self.level, at.min(to));
            }
            self.level = level;
            self.changes.pop_front();
        }
        (self.level, to)
    }

    /// A level was held for some time.
    pub(super) fn spend(&mut self, (state, cause): Level, phase: Phase, ns: u64) {
        self.spent[phase as usize][cause as usize][state as usize] += ns;
        self.busy_ns += if state == State::Idle { 0 } else { ns };
    }

    pub(super) fn energy(&self) -> Energy {
        let of = |phase: usize, cause: usize, state: usize| {
            let ns = u128::from(self.spent[phase][cause][state]);
            ns * u128::from(self.milliwatts(STATES[state].0))
        };
        let sum = |keep: &dyn Fn(usize, usize, usize) -> bool| -> u128 {
            let all = (0..3).flat_map(|p| (0..4).flat_map(move |c| (0..5).map(move |s| (p, c, s))));
            all.filter(|&(p, c, s)| keep(p, c, s)).map(|(p, c, s)| of(p, c, s)).sum()
        };
        let by_state = (0..).zip(STATES).map(|(own, (_, name))| (name, sum(&|_, _, s| s == own)));
        let by_cause = (0..).zip(CAUSES).map(|(own, (_, name))| (name, sum(&|_, c, _| c == own)));
        let phases = Phase::ALL.iter();
        let by_phase = phases.map(|phase| (phase.word(), sum(&|p, _, _| p == *phase as usize)));
        Energy {
            states: by_state.collect(),
            causes: by_cause.collect(),
            phases: by_phase.collect(),
        }
    }
}
