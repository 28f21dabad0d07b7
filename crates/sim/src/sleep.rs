//! Sleep of a device that has nothing to do: when it falls asleep, how long it takes to wake, and
//! the energy of both.
//!
//! There may be two levels. A device that has had nothing to do for long enough enters a level,
//! which takes a time and an energy, and then draws the power of the level. It may go on to a
//! deeper level. Whoever needs the device wakes it: a transition that has begun is carried to its
//! end, then the device leaves the level, which takes a time and an energy again. Between the begin
//! of the first entry and the end of the exit the device takes nothing else.

use crate::saved::{Reader, RestoreError, Saved, Writer};
use flashyard_core::units::{Span, Time};

/// A level of sleep.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Level {
    /// After how long without anything to do the device enters it.
    pub(crate) after: Span,
    /// Its power, in milliwatts.
    pub(crate) power_mw: u64,
    /// Time and energy of the way there ...
    pub(crate) entry: Span,
    pub(crate) entry_pj: u64,
    /// ... and of the way back.
    pub(crate) exit: Span,
    pub(crate) exit_pj: u64,
}

/// What the device has to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Load {
    /// Requests or work of its own.
    Busy,
    /// Nothing, but work is due at a known time, for which the device stays awake.
    Held,
    /// Nothing.
    Idle,
}

/// What the device was, over a stretch of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Doze {
    /// Awake.
    Awake,
    /// On its way to sleep or back.
    Between,
    /// Asleep at a level, from 0.
    Asleep(usize),
}

/// A stretch of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stretch {
    pub(crate) from: Time,
    pub(crate) until: Time,
    pub(crate) doze: Doze,
    /// Energy of sleep and of the ways there and back, in picojoules.
    pub(crate) pj: u128,
    /// Whether the device has woken at its end.
    pub(crate) woke: bool,
}

impl Stretch {
    /// The device is awake all the time.
    pub(crate) const fn awake(from: Time, until: Time) -> Self {
        Self { from, until, doze: Doze::Awake, pj: 0, woke: false }
    }
}

/// Where a device is between waking and sleeping. The levels are numbers from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Awake,
    /// On its way since an instant; whoever needs the device may have asked to wake it already.
    Entering(usize, Time, bool),
    Asleep(usize),
    Leaving(usize, Time),
}

/// A device that may sleep. It is told of all time that passes, in order.
#[derive(Clone, Debug)]
pub(crate) struct Sleep {
    /// The lighter level comes first. At least one is there.
    levels: [Option<Level>; 2],
    state: State,
    now: Time,
    /// Since when the device has had nothing to do.
    idle_since: Time,
}

impl Sleep {
    /// A device that is awake at time 0; none where it never sleeps.
    pub(crate) fn new(levels: [Option<Level>; 2]) -> Option<Self> {
        levels.iter().any(Option::is_some).then_some(Self { levels, ..Self::awake() })
    }

    /// A device without a level.
    pub(crate) const fn awake() -> Self {
        let (now, idle_since) = (Time::ZERO, Time::ZERO);
        Self { levels: [None; 2], state: State::Awake, now, idle_since }
    }

    /// The device has been awake until `now`.
    pub(crate) const fn stay_awake(&mut self, now: Time) {
        self.state = State::Awake;
        (self.now, self.idle_since) = (now, now);
    }

    /// Somebody needs the device: returns from when on it is awake.
    pub(crate) fn wake(&mut self, now: Time) -> Time {
        match self.state {
            State::Awake => now,
            State::Entering(level, from, _) => {
                self.state = State::Entering(level, from, true);
                let Level { entry, exit, .. } = self.level(level);
                from.saturating_add(entry).saturating_add(exit)
            }
            State::Asleep(level) => {
                self.state = State::Leaving(level, now);
                now.saturating_add(self.level(level).exit)
            }
            State::Leaving(level, from) => from.saturating_add(self.level(level).exit),
        }
    }

    /// Whether time has passed until an instant, and no way to sleep or back ends there.
    pub(crate) fn is_past(&self, to: Time) -> bool {
        self.now >= to
            && !matches!(self.state, State::Leaving(level, from)
            if from.saturating_add(self.level(level).exit) <= to)
    }

    /// Time goes on to `to`, or to the next instant at which the state changes, while the device
    /// has this to do. Returns what it was meanwhile.
    pub(crate) fn pass(&mut self, to: Time, load: Load) -> Stretch {
        if load == Load::Busy {
            self.wake(self.now);
        }
        let (from, state) = (self.now, self.state);
        let (mut until, mut pj, mut woke) = (to, 0, false);
        let doze = match state {
            State::Awake => {
                if let Some((level, at)) = self.falls_asleep(to, load) {
                    self.state = State::Entering(level, at, false);
                    until = at;
                }
                Doze::Awake
            }
            State::Entering(number, began, wanted) => {
                let level = self.level(number);
                let end = began.saturating_add(level.entry);
                if end <= to {
                    until = end;
                    self.state =
                        if wanted { State::Leaving(number, end) } else { State::Asleep(number) };
                }
                pj = part(level.entry_pj, level.entry, began, from, until);
                Doze::Between
            }
            State::Asleep(number) => {
                if let Some((level, at)) = self.falls_asleep(to, load) {
                    self.state = State::Entering(level, at, false);
                    until = at;
                }
                let ns = u128::from(until.since(from).as_ns());
                pj = ns * u128::from(self.level(number).power_mw);
                Doze::Asleep(number)
            }
            State::Leaving(number, began) => {
                let level = self.level(number);
                let end = began.saturating_add(level.exit);
                if end <= to {
                    until = end;
                    self.state = State::Awake;
                    woke = true;
                }
                pj = part(level.exit_pj, level.exit, began, from, until);
                Doze::Between
            }
        };
        self.now = until;
        if load == Load::Busy || woke {
            self.idle_since = until;
        }
        Stretch { from, until, doze, pj, woke }
    }

    /// The level that the device goes to before `to`, and when.
    fn falls_asleep(&self, to: Time, load: Load) -> Option<(usize, Time)> {
        let first = match self.state {
            State::Awake => 0,
            State::Asleep(level) => level + 1,
            State::Entering(..) | State::Leaving(..) => return None,
        };
        let due = |number: usize| {
            let level = self.levels[number]?;
            Some((number, self.now.max(self.idle_since.saturating_add(level.after))))
        };
        let levels = (first..self.levels.len()).filter_map(due);
        let (number, at) = levels.min_by_key(|&(number, at)| (at, std::cmp::Reverse(number)))?;
        (load == Load::Idle && at < to).then_some((number, at))
    }

    fn level(&self, number: usize) -> Level {
        self.levels[number].expect("a device is at a level that it has")
    }
}

/// The energy that a way of `span` from `began` takes between two instants of it. The parts of the
/// way take all of it together.
fn part(pj: u64, span: Span, began: Time, from: Time, until: Time) -> u128 {
    if span == Span::ZERO {
        return u128::from(pj);
    }
    let taken = |at: Time| u128::from(pj) * u128::from(at.since(began).as_ns());
    let all = u128::from(span.as_ns());
    taken(until) / all - taken(from) / all
}

/// The levels come from the settings; a device that is restored without its level is awake.
impl Saved for Sleep {
    fn save(&self, to: &mut Writer<'_>) {
        let (kind, level, since, wanted) = match self.state {
            State::Awake => (0, 0, Time::ZERO, false),
            State::Entering(level, since, wanted) => (1, level, since, wanted),
            State::Asleep(level) => (2, level, Time::ZERO, false),
            State::Leaving(level, since) => (3, level, since, false),
        };
        [kind, level as u64].save(to);
        [since, self.now, self.idle_since].save(to);
        wanted.save(to);
    }

    fn load(&mut self, from: &mut Reader<'_>) -> Result<(), RestoreError> {
        let (mut state, mut times, mut wanted) = ([0u64; 2], [Time::ZERO; 3], false);
        state.load(from)?;
        times.load(from)?;
        wanted.load(from)?;
        let [since, now, idle_since] = times;
        (self.now, self.idle_since) = (now, idle_since);
        let level = usize::try_from(state[1]).map_err(|_| RestoreError::Corrupt)?;
        let known = self.levels.get(level).ok_or(RestoreError::Corrupt)?.is_some();
        self.state = match state[0] {
            0 => State::Awake,
            1..=3 if !known => State::Awake,
            1 => State::Entering(level, since, wanted),
            2 => State::Asleep(level),
            3 => State::Leaving(level, since),
            _ => return Err(RestoreError::Corrupt),
        };
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIGHT: Level = Level {
        after: Span::from_ns(100),
        power_mw: 3,
        entry: Span::from_ns(10),
        entry_pj: 1_001,
        exit: Span::from_ns(30),
        exit_pj: 70,
    };
    const DEEP: Level = Level {
        after: Span::from_ns(500),
        power_mw: 1,
        entry: Span::from_ns(40),
        entry_pj: 55,
        exit: Span::from_ns(200),
        exit_pj: 9_000,
    };

    fn ns(at: u64) -> Time {
        Time::from_ns(at)
    }

    /// Energy until an instant, and how long the device was at each level.
    fn pass_until(sleep: &mut Sleep, to: u64, load: Load) -> (u128, [u64; 2]) {
        let (mut pj, mut asleep) = (0, [0; 2]);
        while !sleep.is_past(ns(to)) {
            let stretch = sleep.pass(ns(to), load);
            assert_eq!(stretch.until, sleep.now);
            pj += stretch.pj;
            if let Doze::Asleep(level) = stretch.doze {
                asleep[level] += stretch.until.since(stretch.from).as_ns();
            }
        }
        (pj, asleep)
    }

    /// Entry + time x power + exit, by level, however time is cut into steps.
    #[test]
    fn both_levels_take_what_the_formula_says() {
        for step in [1, 7, 90, 10_000] {
            let mut sleep = Sleep::new([Some(LIGHT), Some(DEEP)]).unwrap();
            let (mut pj, mut asleep) = (0, [0; 2]);
            let mut pass = |sleep: &mut Sleep, from: u64, to: u64, load| {
                for end in (from..to).map(|at| at + 1).filter(|at| at % step == 0 || *at == to) {
                    let (more, at) = pass_until(sleep, end, load);
                    pj += more;
                    asleep = [asleep[0] + at[0], asleep[1] + at[1]];
                }
            };
            pass(&mut sleep, 0, 1_000, Load::Idle);
            assert_eq!(sleep.wake(ns(1_000)), ns(1_200));
            pass(&mut sleep, 1_000, 1_300, Load::Busy);
            assert_eq!(sleep.wake(ns(1_300)), ns(1_300), "step {step}");
            // 100 to 110 entry, to 500 asleep, to 540 entry, to 1000 asleep, to 1200 exit.
            assert_eq!(asleep, [390, 460], "step {step}");
            assert_eq!(pj, 1_001 + 390 * 3 + 55 + 460 + 9_000, "step {step}");
        }
    }

    /// A way to sleep is carried to its end before the device turns back.
    #[test]
    fn a_device_that_falls_asleep_wakes_after_the_rest_of_the_way_and_the_exit() {
        let mut sleep = Sleep::new([Some(LIGHT), None]).unwrap();
        assert_eq!(pass_until(&mut sleep, 104, Load::Idle), (400, [0; 2]));
        assert_eq!(sleep.wake(ns(104)), ns(140));
        assert_eq!(pass_until(&mut sleep, 120, Load::Busy).0, 601 + 70 * 10 / 30);
        assert_eq!(sleep.wake(ns(120)), ns(140), "whoever comes later waits for the same");
        assert_eq!(pass_until(&mut sleep, 200, Load::Busy).0, 70 - 70 * 10 / 30);
        // 100 after the end of work, not of the exit.
        assert_eq!(pass_until(&mut sleep, 300, Load::Idle), (0, [0; 2]));
        assert_eq!(pass_until(&mut sleep, 311, Load::Idle), (1_001 + 3, [1, 0]));
    }

    /// Work that is due keeps the device awake; the time until then counts as idle time.
    #[test]
    fn work_that_is_due_holds_the_device_awake() {
        let mut sleep = Sleep::new([Some(LIGHT), Some(DEEP)]).unwrap();
        assert_eq!(pass_until(&mut sleep, 400, Load::Held), (0, [0; 2]));
        assert_eq!(sleep.wake(ns(400)), ns(400));
        assert_eq!(pass_until(&mut sleep, 411, Load::Idle), (1_001 + 3, [1, 0]));
    }

    /// An arrival at the very instant finds the device awake.
    #[test]
    fn a_device_is_awake_until_its_time_has_passed() {
        let mut sleep = Sleep::new([None, Some(DEEP)]).unwrap();
        assert_eq!(pass_until(&mut sleep, 500, Load::Idle), (0, [0; 2]));
        assert_eq!(sleep.wake(ns(500)), ns(500));
        assert!(Sleep::new([None, None]).is_none());
    }

    /// An exit that takes no time takes its energy.
    #[test]
    fn ways_without_time_take_their_energy() {
        let level = Level { entry: Span::ZERO, exit: Span::ZERO, ..LIGHT };
        let mut sleep = Sleep::new([Some(level), None]).unwrap();
        assert_eq!(pass_until(&mut sleep, 150, Load::Idle), (1_001 + 50 * 3, [50, 0]));
        assert_eq!(sleep.wake(ns(150)), ns(150));
        assert_eq!(pass_until(&mut sleep, 150, Load::Busy), (70, [0; 2]));
        assert_eq!(pass_until(&mut sleep, 160, Load::Busy), (0, [0; 2]));
    }
}
