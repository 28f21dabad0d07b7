//! A disk: a second kind of device behind the workloads, the host's side and the report of the
//! flash device.
//!
//! Life of a request: it crosses the link to the controller, which handles one command at a time. A
//! read that the cache can serve is answered; another one waits for the arm. A write is answered
//! when it is in the write cache or, without one, when it is on the platters. A flush waits for the
//! writes before it. `requests` has this way, `arm` chooses what the arm does next, `mechanics`
//! says how long that takes, `cache` holds sectors, and `power` the levels of power.
//!
//! Latency parts: waits for the controller are `host_queue`, its work `firmware`, waits for the arm
//! `delaying`, seek and rotation `array`, the sectors under the head `transfer`, waits for room in
//! the write cache `buffer`, and waits for earlier writes `flush`.

mod arm;
mod cache;
mod check;
mod mechanics;
mod phase;
mod power;
mod ranges;
mod report;
mod requests;

pub(crate) use phase::Kept;

use crate::account::{Account, FtlFigures, Passed};
use crate::config::{DiskKeys, Settings};
use crate::handle::RequestId;
use crate::host::Host;
use crate::metrics::counters::Phase;
use crate::observe::Observer;
use crate::parts::policy::HostRule;
use crate::sleep::{Doze, Load};
use arm::{Arm, WaitingRead};
use cache::Cache;
use check::Checker;
use flashyard_core::units::Time;
use mechanics::{Head, Mechanics};
use power::Power;
use requests::{Controller, Waiting};
use std::fmt;

/// A simulated disk.
#[derive(Clone)]
pub struct Disk {
    settings: Settings,
    now: Time,
    host: Host,
    account: Account,
    mechanics: Mechanics,
    power: Power,
    cache: Cache,
    controller: Controller,
    arm: Arm,
    head: Head,
    /// Whether the arm moves towards higher sectors.
    rising: bool,
    /// Whether it is the turn of a write where reads and writes go by turns.
    write_turn: bool,
    reads: Vec<WaitingRead>,
    waiting: Waiting,
    /// The segment that the host has read from last.
    recent: Option<usize>,
    /// Reads that wait for the arm and writes that are accepted, counted together.
    number: u64,
    /// Of requests by handle: since when their time is not charged, and their energy.
    since: Vec<Time>,
    energy_pj: Vec<u64>,
    checker: Option<Box<Checker>>,
}

impl fmt::Debug for Disk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Disk")
            .field("now", &self.now)
            .field("arm", &self.arm)
            .field("outstanding", &self.host.outstanding())
            .finish_non_exhaustive()
    }
}

impl Disk {
    /// A disk at rest whose head is over the first sector.
    pub fn new(settings: &Settings) -> Self {
        let keys = settings.keys.disk;
        Self {
            settings: settings.clone(),
            now: Time::ZERO,
            host: Host::new(settings, HostRule::of(&settings.keys)),
            account: Account::new(settings),
            mechanics: Mechanics::new(&keys),
            power: Power::new(&keys),
            cache: Cache::new(&keys),
            controller: Controller::default(),
            arm: Arm::Idle,
            head: Head { next: 0, since: Time::ZERO },
            rising: true,
            write_turn: false,
            reads: Vec::new(),
            waiting: Waiting::default(),
            recent: None,
            number: 0,
            since: Vec::new(),
            energy_pj: Vec::new(),
            checker: None,
        }
    }

    /// Calls `observer` for every request that is over.
    pub fn observe(&mut self, observer: Box<dyn Observer>) {
        self.account.observe(observer);
    }

    /// Checks which versions reads return and what flushes leave behind; a wrong one is a panic.
    /// Costs memory: about 200 bytes for each range of sectors that is written by itself.
    pub fn check(&mut self) {
        self.checker = Some(Box::new(Checker::new(self.cache.segments.len())));
    }

    const fn keys(&self) -> &DiskKeys {
        &self.settings.keys.disk
    }

    const fn phase(&self) -> Phase {
        match (self.host.outstanding(), self.host.is_exhausted()) {
            (0, true) => Phase::Post,
            (0, false) => Phase::Idle,
            _ => Phase::Foreground,
        }
    }

    /// Time goes on to an instant, and nothing happens before but that levels of power change, and
    /// that the disk falls asleep or wakes.
    fn time_passes(&mut self, to: Time) {
        assert!(to >= self.now, "time runs backwards");
        let (outstanding, phase) = (self.host.outstanding(), self.phase());
        let active = outstanding > 0 || !matches!(self.arm, Arm::Idle);
        let load = match active {
            true => Load::Busy,
            false if self.host.next_timer() < Time::MAX => Load::Held,
            false => Load::Idle,
        };
        while let Some(stretch) = self.host.doze(to, load) {
            if stretch.doze == Doze::Awake {
                self.stay_awake(stretch.until);
                continue;
            }
            assert!(matches!(self.arm, Arm::Idle), "the arm is at work in a disk that sleeps");
            let passed = Passed { outstanding, phase, active };
            self.account.dozed(&stretch, passed, FtlFigures::none, || stretch.until);
            self.now = stretch.until;
        }
        self.stay_awake(to);
    }

    /// Time goes on to an instant until which the disk is awake.
    fn stay_awake(&mut self, to: Time) {
        let (outstanding, phase) = (self.host.outstanding(), self.phase());
        let counts = self.account.has_begun();
        while self.now < to {
            let (level, until) = self.power.held(self.now, to);
            let power_mw = if counts { self.power.milliwatts(level.0) } else { 0 };
            self.account.level_held(until, outstanding, power_mw);
            if counts {
                self.power.spend(level, phase, until.since(self.now).as_ns());
            }
            self.now = until;
        }
    }

    /// Numbers a read that waits for the arm, or a write that is accepted.
    const fn next_number(&mut self) -> u64 {
        self.number += 1;
        self.number
    }

    /// The place of a request in the lists by handle.
    fn place(&mut self, handle: RequestId) -> usize {
        let place = handle.index();
        if self.since.len() <= place {
            self.since.resize(place + 1, Time::ZERO);
            self.energy_pj.resize(place + 1, 0);
        }
        place
    }
}
