//! Work in idle times: since when the device has been idle, which planes may have work then, and
//! how much of it this period has left.

use crate::config::{GcTiming, Settings};
use crate::ftl::lent::Lent;
use crate::ftl::{Ftl, Scheme};
use crate::observe::Trigger;
use flashyard_core::units::{PlaneId, Span, Time};

/// Garbage collection in idle times.
#[derive(Clone, Debug)]
pub(in crate::ftl) struct Idle {
    /// Planes that may want it, a bit each; none where it works on demand only.
    wanting: Vec<u64>,
    /// How many planes work: all, or the first one for a layer that has all.
    planes: u32,
    /// Since when no request has been outstanding; [`Time::MAX`] while one is.
    since: Time,
    /// When that will have been long enough and a plane may want it.
    due: Time,
    /// How long is long enough.
    patience: Span,
    /// The period in which so many blocks are reclaimed; none where work goes on without pauses.
    period: Option<Span>,
    blocks: u64,
    /// Blocks that this period has left, when the next one begins, and the plane whose turn it is.
    left: u64,
    next: Time,
    turn: u32,
    /// How many planes have been looked at in this instant, up to the last one that has begun to
    /// reclaim a block; nothing between instants.
    looked: u32,
    taken: u32,
    /// Planes with background work under way, a bit each, and how many.
    working: Vec<u64>,
    under_way: u32,
}

impl Idle {
    /// At the start every plane may want it, `planes` of which work.
    pub(in crate::ftl) fn new(settings: &Settings, planes: u32) -> Self {
        let words = match settings.keys.gc.timing {
            GcTiming::OnDemand => 0,
            GcTiming::Background => (settings.geometry.all_planes() as usize).div_ceil(64),
        };
        Self {
            wanting: vec![u64::MAX; words],
            planes,
            since: Time::MAX,
            due: Time::MAX,
            patience: settings.keys.gc.idle_us,
            period: match settings.keys.gc.background_period_us {
                Span::ZERO => None,
                period => Some(period),
            },
            blocks: settings.keys.gc.background_blocks,
            left: 0,
            next: Time::ZERO,
            turn: 0,
            looked: 0,
            taken: 0,
            working: vec![0; words],
            under_way: 0,
        }
    }

    /// The same at the start of a phase; idle times before it are forgotten.
    pub(in crate::ftl) fn begin_phase(&mut self) {
        self.wanting.fill(u64::MAX);
        self.since = Time::MAX;
        (self.left, self.next, self.turn) = (0, Time::ZERO, 0);
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
        idle && self.idle.period.is_none() && free <= self.gc.background_free_blocks
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
        if let Some(period) = state.period {
            if now >= state.next {
                (state.left, state.next) = (state.blocks, now.saturating_add(period));
            }
            if state.left == 0 {
                state.due = state.next;
            }
            return state.left > 0;
        }
        true
    }

    /// At the end of an instant at which planes may work because the device is idle: one that may
    /// want it, or whose turn it is, begins a merge where layers plan, else garbage collection.
    /// Returns whether there was one, so that another one may follow.
    pub(crate) fn work_idle(&mut self, lent: &mut Lent<'_>) -> bool {
        if self.idle.period.is_some() {
            return self.work_in_period(lent);
        }
        let Some(plane) = self.wanting_plane() else {
            // One that has a job or takes a block will ask again, and layers do one piece of work
            // in each idle time.
            self.idle.wanting.fill(0);
            self.idle.looked = 0;
            return false;
        };
        let was_busy = self.is_busy(plane);
        self.merge_idle(plane, lent);
        self.collect(plane, None, lent);
        if !was_busy && self.is_busy(plane) {
            self.background_began(plane);
        }
        self.idle.looked = plane.get() + 1;
        true
    }

    /// The same where each period reclaims a number of blocks: planes that have nothing under way
    /// reclaim one each, by turns, as far as the period has any left.
    fn work_in_period(&mut self, lent: &mut Lent<'_>) -> bool {
        let Some(plane) = self.idle_turn() else {
            self.idle_turns_over();
            return false;
        };
        if self.reclaim(plane, lent) {
            self.background_began(plane);
            self.idle.left -= 1;
            self.idle.taken = self.idle.looked;
        } else {
            self.idle.wanting[plane.index() / 64] &= !(1 << (plane.index() % 64));
        }
        true
    }

    /// Begins to reclaim a block of a plane. Returns whether there is anything to do.
    fn reclaim(&mut self, plane: PlaneId, lent: &mut Lent<'_>) -> bool {
        if self.is_planned() {
            return !self.has_clean_logs(plane) && self.merge_idle(plane, lent);
        }
        if self.free_blocks(plane) > self.gc.background_free_blocks {
            return false;
        }
        if !self.is_busy(plane) {
            self.start_job(plane, None, Trigger::Idle, lent);
        }
        let works = self.is_busy(plane);
        if works {
            self.press_job(plane, lent);
        }
        works
    }

    /// The plane that may reclaim a block in this period: the next one by turns that may want it
    /// and has no work under way.
    fn idle_turn(&mut self) -> Option<PlaneId> {
        let planes = self.idle.planes;
        let plane = |step: u32| PlaneId::new((self.idle.turn + step) % planes);
        let wants = |plane: PlaneId| {
            let (word, bit) = (plane.index() / 64, 1 << (plane.index() % 64));
            self.idle.wanting[word] & bit != 0 && !self.is_at_work(plane)
        };
        let step = (self.idle.looked..planes).find(|&step| wants(plane(step)))?;
        let plane = (self.idle.left > 0).then(|| plane(step))?;
        self.idle.looked = step + 1;
        Some(plane)
    }

    /// Whether a plane has work under way that another piece would have to wait for.
    fn is_at_work(&self, plane: PlaneId) -> bool {
        match &self.scheme {
            Scheme::Page(page) => {
                let job = page.planes[plane.index()].job;
                job.is_some_and(|job| !(self.is_paced() && job.rests()))
            }
            _ => self.is_busy(plane),
        }
    }

    /// The planes have had their turns in this instant.
    fn idle_turns_over(&mut self) {
        let idle = &mut self.idle;
        idle.turn = (idle.turn + idle.taken) % idle.planes;
        (idle.looked, idle.taken) = (0, 0);
        // A period of which nothing was used goes on until something can be.
        let used = idle.left < idle.blocks;
        if used && idle.wanting.iter().any(|planes| *planes != 0) {
            idle.due = idle.next;
        }
    }

    /// Background work of a plane has begun.
    pub(in crate::ftl) fn background_began(&mut self, plane: PlaneId) {
        let (word, bit) = (plane.index() / 64, 1 << (plane.index() % 64));
        self.idle.under_way += u32::from(self.idle.working[word] & bit == 0);
        self.idle.working[word] |= bit;
    }

    /// The plane that stands for the layer of a plane in idle times.
    pub(in crate::ftl) fn working_plane(&self, plane: PlaneId) -> PlaneId {
        if self.spans_planes() { PlaneId::new(0) } else { plane }
    }

    /// The work of a plane is over. Returns whether it had begun in the background.
    pub(in crate::ftl) fn background_over(&mut self, plane: PlaneId) -> bool {
        if self.idle.under_way == 0 {
            return false;
        }
        let (word, bit) = (plane.index() / 64, 1 << (plane.index() % 64));
        let began = self.idle.working[word] & bit != 0;
        self.idle.working[word] &= !bit;
        self.idle.under_way -= u32::from(began);
        began
    }

    /// On how many planes background work is under way.
    pub(crate) const fn background_under_way(&self) -> u32 {
        self.idle.under_way
    }

    /// The first plane that may want work, of those that were not looked at.
    fn wanting_plane(&self) -> Option<PlaneId> {
        let wants = |plane: &usize| self.idle.wanting[plane / 64] & (1 << (plane % 64)) != 0;
        let found = (self.idle.looked as usize..self.idle.planes as usize).find(wants);
        found.map(PlaneId::from_index)
    }
}
