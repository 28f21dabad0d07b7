//! When the SLC cache is folded because the device is idle, and whether writes wait for room in it.

use super::idle::Idle;
use crate::config::Settings;
use flashyard_core::units::{PlaneId, Time};

/// The rules of the cache.
#[derive(Clone, Debug)]
pub(super) struct Slc {
    /// Whether writes wait for room in it.
    pub(super) waits: bool,
    /// Idle times, after which it is folded.
    pub(super) idle: Idle,
    /// Whether garbage collection and folding may work because the device is idle.
    works: [bool; 2],
}

impl Slc {
    /// Those of a device, if it has a cache.
    pub(super) fn new(settings: &Settings) -> Option<Box<Self>> {
        let planes = settings.geometry.all_planes();
        settings.slc.map(|cache| {
            let idle = Idle::of_folds(planes, settings.keys.slc.fold_idle_us);
            Box::new(Self { waits: cache.waits, idle, works: [false; 2] })
        })
    }

    /// A phase begins.
    pub(super) fn begin_phase(&mut self) {
        self.idle.begin_phase();
        self.works = [false; 2];
    }

    /// When folding in an idle time is due.
    pub(super) const fn due(&self) -> Time {
        self.idle.due
    }

    /// At the end of an instant: whether planes may work now, where `collects` is whether they may
    /// collect garbage.
    pub(super) fn may_work(&mut self, idle: bool, now: Time, collects: bool) -> bool {
        self.works = [collects, self.idle.may_work(idle, now)];
        self.works != [false; 2]
    }

    /// Whether planes may collect garbage because the device is idle.
    pub(super) const fn collects(&self) -> bool {
        self.works[0]
    }

    /// A plane that may have something to fold, if folding may work now.
    pub(super) fn wanting_plane(&mut self) -> Option<PlaneId> {
        if self.works[1] { self.idle.wanting_plane() } else { None }
    }
}
