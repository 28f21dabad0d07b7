//! Garbage collection in idle times: since when the device has been idle, and which planes may
//! have work then.

use crate::config::{GcTiming, Settings};
use crate::ftl::{Ftl, Scheme};
use flashyard_core::units::{PlaneId, Span, Time};

/// Garbage collection in idle times.
#[derive(Debug)]
pub(in crate::ftl) struct Idle {
    /// Planes that may want it, a bit each; none where it works on demand only.
    wanting: Vec<u64>,
    /// Since when no request has been outstanding; [`Time::MAX`] while one is.
    since: Time,
    /// When that will have been long enough and a plane may want it.
    due: Time,
    /// How long is long enough.
    patience: Span,
}

impl Idle {
    /// At the start every plane may want it.
    pub(in crate::ftl) fn new(settings: &Settings) -> Self {
        let words = match settings.keys.gc.timing {
            GcTiming::OnDemand => 0,
            GcTiming::Background => (settings.geometry.all_planes() as usize).div_ceil(64),
        };
        Self {
            wanting: vec![u64::MAX; words],
            since: Time::MAX,
            due: Time::MAX,
            patience: Span::from_ns(settings.keys.gc.idle_us),
        }
    }

    /// The same at the start of a phase; idle times before it are forgotten.
    pub(in crate::ftl) fn begin_phase(&mut self) {
        self.wanting.fill(u64::MAX);
        self.since = Time::MAX;
    }

    /// A plane may want garbage collection.
    #[inline]
    pub(super) fn note(&mut self, plane: PlaneId) {
        if !self.wanting.is_empty() {
            self.wanting[plane.index() / 64] |= 1 << (plane.index() % 64);
        }
    }

    /// When no request will have been outstanding for long enough.
    const fn ends(&self) -> Time {
        self.since.saturating_add(self.patience)
    }
}

impl Ftl {
    /// When work in an idle time is due.
    #[inline]
    pub(crate) const fn idle_due(&self) -> Time {
        self.idle.due
    }

    /// Whether a plane with so many free blocks collects garbage because no request has been
    /// outstanding for long enough.
    pub(super) fn is_idle_short(&self, free: u64, now: Time) -> bool {
        let idle = self.idle.since < Time::MAX && self.idle.ends() <= now;
        idle && free <= self.gc.background_free_blocks
    }

    /// At the end of an instant, `idle` while no request is outstanding but more will come: whether
    /// planes may work now.
    #[inline]
    pub(crate) fn may_work_idle(&mut self, idle: bool, now: Time) -> bool {
        !self.idle.wanting.is_empty() && self.idles(idle, now)
    }

    fn idles(&mut self, idle: bool, now: Time) -> bool {
        let state = &mut self.idle;
        state.due = Time::MAX;
        if !idle {
            if matches!(self.scheme, Scheme::Planned(_)) && state.since < Time::MAX {
                // The next gap is another one.
                state.wanting.fill(u64::MAX);
            }
            state.since = Time::MAX;
            return false;
        }
        state.since = state.since.min(now);
        if state.wanting.iter().all(|planes| *planes == 0) {
            return false;
        }
        if now < state.ends() {
            state.due = state.ends();
            return false;
        }
        true
    }

    /// The first plane from `from` on that may want work.
    pub(crate) fn wanting_plane(&self, from: u32) -> Option<PlaneId> {
        let wants = |plane: &usize| self.idle.wanting[plane / 64] & (1 << (plane % 64)) != 0;
        let found = (from as usize..self.geometry.all_planes() as usize).find(wants);
        found.map(PlaneId::from_index)
    }

    /// Every plane has worked: one that has a job or takes a block will ask again, and layers do
    /// one piece of work in each idle time.
    pub(crate) fn idle_work_begun(&mut self) {
        self.idle.wanting.fill(0);
    }
}
