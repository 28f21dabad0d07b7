//! Work in idle times: since when the device has been idle, which planes may have work then, and
//! how much of it this period has left.

use crate::config::{GcTiming, Settings};
use flashyard_core::units::{PlaneId, Span, Time};

/// Garbage collection in idle times.
#[derive(Clone, Debug)]
pub(super) struct Idle {
    /// Planes that may want it, a bit each; none where it works on demand only.
    wanting: Vec<u64>,
    /// How many planes work: all, or the first one for a layer that has all.
    planes: u32,
    /// Whether every plane may want it in each idle time again.
    each_time: bool,
    /// How many free blocks of a plane are enough.
    enough: u64,
    /// Since when no request has been outstanding; [`Time::MAX`] while one is.
    since: Time,
    /// When that will have been long enough and a plane may want it.
    pub(super) due: Time,
    /// How long is long enough.
    patience: Span,
    /// The period in which so many blocks are reclaimed; none where work goes on without pauses.
    pub(super) period: Option<Span>,
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
    pub(super) under_way: u32,
}

impl Idle {
    /// At the start every plane may want it, `planes` of which work, and in `each_time` again.
    pub(super) fn new(settings: &Settings, planes: u32, each_time: bool) -> Self {
        let words = match settings.keys.gc.timing {
            GcTiming::OnDemand => 0,
            GcTiming::Background => (settings.geometry.all_planes() as usize).div_ceil(64),
        };
        let gc = &settings.keys.gc;
        Self {
            each_time,
            enough: gc.background_free_blocks,
            period: Some(gc.background_period_us).filter(|period| !period.is_zero()),
            blocks: gc.background_blocks,
            ..Self::of_planes(words, planes, gc.idle_us)
        }
    }

    /// That of folding, which every plane may want after `patience`.
    pub(super) fn of_folds(planes: u32, patience: Span) -> Self {
        Self::of_planes((planes as usize).div_ceil(64), planes, patience)
    }

    /// Work without periods that every plane of so many words may want once, after `patience`.
    fn of_planes(words: usize, planes: u32, patience: Span) -> Self {
        Self {
            wanting: vec![u64::MAX; words],
            planes,
            each_time: false,
            enough: 0,
            since: Time::MAX,
            due: Time::MAX,
            patience,
            period: None,
            blocks: 0,
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
    pub(super) fn begin_phase(&mut self) {
        self.wanting.fill(u64::MAX);
        self.since = Time::MAX;
        (self.left, self.next, self.turn) = (0, Time::ZERO, 0);
    }

    /// A plane may want garbage collection.
    #[inline]
    pub(super) fn note(&mut self, plane: PlaneId) {
        if !self.wanting.is_empty() {
            let (word, bit) = place(plane);
            self.wanting[word] |= bit;
        }
    }

    /// When no request will have been outstanding for long enough.
    const fn ends(&self) -> Time {
        self.since.saturating_add(self.patience)
    }

    /// Whether so many free blocks of a plane are too few where there is time for more.
    pub(super) const fn is_short(&self, free: u64) -> bool {
        free <= self.enough
    }

    /// Whether a plane with so many free blocks collects garbage because no request has been
    /// outstanding for long enough.
    pub(super) fn works(&self, free: u64, now: Time) -> bool {
        self.is_long_enough(now) && self.period.is_none() && self.is_short(free)
    }

    /// Whether no request has been outstanding for long enough.
    pub(super) fn is_long_enough(&self, now: Time) -> bool {
        self.since < Time::MAX && self.ends() <= now
    }

    /// Whether planes ever work in idle times.
    #[inline]
    pub(super) const fn is_followed(&self) -> bool {
        !self.wanting.is_empty()
    }

    /// At the end of an instant, `idle` while no request is outstanding but more will come: whether
    /// planes may work now.
    pub(super) fn may_work(&mut self, idle: bool, now: Time) -> bool {
        self.due = Time::MAX;
        if !idle {
            if self.each_time && self.since < Time::MAX {
                // The next gap is another one.
                self.wanting.fill(u64::MAX);
            }
            self.since = Time::MAX;
            return false;
        }
        self.since = self.since.min(now);
        if self.wanting.iter().all(|planes| *planes == 0) {
            return false;
        }
        if now < self.ends() {
            self.due = self.ends();
            return false;
        }
        if let Some(period) = self.period {
            if now >= self.next {
                (self.left, self.next) = (self.blocks, now.saturating_add(period));
            }
            if self.left == 0 {
                self.due = self.next;
            }
            return self.left > 0;
        }
        true
    }

    /// The plane that may reclaim a block in this period: the next one by turns that may want it
    /// and has no work under way. [`Self::reclaims`] must follow. Where there is none the planes
    /// have had their turns in this instant.
    pub(super) fn turn(&mut self, is_at_work: impl Fn(PlaneId) -> bool) -> Option<PlaneId> {
        let plane = |step: u32| PlaneId::new((self.turn + step) % self.planes);
        let wants = |plane: PlaneId| {
            let (word, bit) = place(plane);
            self.wanting[word] & bit != 0 && !is_at_work(plane)
        };
        let step = (self.looked..self.planes).find(|&step| wants(plane(step)));
        if let Some(step) = step.filter(|_| self.left > 0) {
            self.looked = step + 1;
            return Some(PlaneId::new((self.turn + step) % self.planes));
        }
        self.turn = (self.turn + self.taken) % self.planes;
        (self.looked, self.taken) = (0, 0);
        // A period of which nothing was used goes on until something can be.
        let used = self.left < self.blocks;
        if used && self.wanting.iter().any(|planes| *planes != 0) {
            self.due = self.next;
        }
        None
    }

    /// A plane whose turn it is begins to reclaim a block, or has nothing to do.
    pub(super) fn reclaims(&mut self, plane: PlaneId, works: bool) {
        if works {
            self.background_began(plane);
            self.left -= 1;
            self.taken = self.looked;
        } else {
            let (word, bit) = place(plane);
            self.wanting[word] &= !bit;
        }
    }

    /// Background work of a plane has begun.
    pub(super) fn background_began(&mut self, plane: PlaneId) {
        let (word, bit) = place(plane);
        self.under_way += u32::from(self.working[word] & bit == 0);
        self.working[word] |= bit;
    }

    /// The work of a plane is over. Returns whether it had begun in the background.
    pub(super) fn background_over(&mut self, plane: PlaneId) -> bool {
        if self.under_way == 0 {
            return false;
        }
        let (word, bit) = place(plane);
        let began = self.working[word] & bit != 0;
        self.working[word] &= !bit;
        self.under_way -= u32::from(began);
        began
    }

    /// The next plane that may want work and has not been looked at. Where there is none, no plane
    /// wants any: one that has a job or takes a block will ask again, and layers do one piece of
    /// work in each idle time.
    pub(super) fn wanting_plane(&mut self) -> Option<PlaneId> {
        let wants = |at: &u32| {
            let (word, bit) = place(PlaneId::new(*at));
            self.wanting[word] & bit != 0
        };
        let found = (self.looked..self.planes).find(wants);
        self.looked = found.map_or(0, |at| at + 1);
        if found.is_none() {
            self.wanting.fill(0);
        }
        found.map(PlaneId::new)
    }
}

/// The word and the bit of a plane.
const fn place(plane: PlaneId) -> (usize, u64) {
    (plane.index() / 64, 1 << (plane.index() % 64))
}
