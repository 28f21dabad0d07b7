//! The sections `[sleep]` and `[deep_sleep]`: the two levels at which an idle device may sleep.

use super::DeviceKeys;
use crate::sleep::Level;
use flashyard_core::key::Kind;
use flashyard_core::keys;
use flashyard_core::units::Span;

keys! {
    /// Keys of `[sleep]` and of `[deep_sleep]`.
    pub struct SleepKeys {
        /// Time without a request and without work of the device's own after which the device
        /// falls asleep. 0: it does not sleep at this level.
        after_us: Span = Span::ZERO => {
            kind: Kind::micros(0, 1 << 56),
            source: "Park et al. 2011: solid-state drives ignore the command to sleep",
            flip: "1000", with: &["energy.controller_idle_mw=50"],
        },
        /// Power of the device while it sleeps, in the place of that of controller, dies, DRAM,
        /// write buffer and of a disk at rest.
        power_mw: u64 = 0 => {
            kind: Kind::count("mW", 0, 1_000_000),
            source: "assumed",
            flip: "7", with: &["sleep.after_us=1000", "deep_sleep.after_us=220000"],
        },
        /// Time that the device takes to fall asleep. A request that arrives meanwhile waits for
        /// the rest of it and for the exit.
        entry_us: Span = Span::ZERO => {
            kind: Kind::micros(0, 1 << 46),
            source: "assumed",
            flip: "400", with: &[
                "sleep.after_us=1000",
                "sleep.power_mw=7",
                "deep_sleep.after_us=220000",
                "deep_sleep.power_mw=3",
            ],
        },
        /// Energy of falling asleep: all that the device takes meanwhile.
        entry_pj: u64 = 0 => {
            kind: Kind::count("pJ", 0, 10_000_000_000_000_000),
            source: "assumed",
            flip: "1000000", with: &["sleep.after_us=1000", "deep_sleep.after_us=220000"],
        },
        /// Time that the device takes to wake. The request that wakes it waits so long.
        exit_us: Span = Span::ZERO => {
            kind: Kind::micros(0, 1 << 46),
            source: "assumed",
            flip: "900", with: &["sleep.after_us=1000", "deep_sleep.after_us=220000"],
        },
        /// Energy of waking: all that the device takes meanwhile, besides operations.
        exit_pj: u64 = 0 => {
            kind: Kind::count("pJ", 0, 10_000_000_000_000_000),
            source: "assumed",
            flip: "1000000", with: &["sleep.after_us=1000", "deep_sleep.after_us=220000"],
        },
    }
}

impl SleepKeys {
    /// Whether the device sleeps at this level.
    pub const fn is_on(&self) -> bool {
        !self.after_us.is_zero()
    }

    fn level(&self) -> Option<Level> {
        self.is_on().then_some(Level {
            after: self.after_us,
            power_mw: self.power_mw,
            entry: self.entry_us,
            entry_pj: self.entry_pj,
            exit: self.exit_us,
            exit_pj: self.exit_pj,
        })
    }
}

impl DeviceKeys {
    /// Whether the device ever sleeps.
    pub const fn sleeps(&self) -> bool {
        self.sleep.is_on() || self.deep_sleep.is_on()
    }

    /// Whether time passes with powers that depend on more than requests: in sleep, or while space
    /// is reclaimed.
    pub(crate) const fn follows_states(&self) -> bool {
        self.sleeps() || self.energy.reclaim_mw > 0 || self.energy.reclaim_idle_mw > 0
    }

    /// The levels at which it sleeps, the lighter one first.
    pub(crate) fn sleep_levels(&self) -> [Option<Level>; 2] {
        [self.sleep.level(), self.deep_sleep.level()]
    }
}
