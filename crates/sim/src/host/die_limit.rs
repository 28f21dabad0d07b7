//! Blocking queues of dies (`queue.die_depth`): how many page accesses of each stream wait for each
//! die, and whether the next request of a stream fits behind them.

use super::Pending;
use crate::config::Settings;
use flashyard_core::geometry::Geometry;
use flashyard_core::request::RequestOp;
use flashyard_core::units::{DieId, Lpn, Ppn};

/// Page accesses that wait for dies.
#[derive(Clone, Debug)]
pub(super) struct DieLimit {
    depth: u32,
    geometry: Geometry,
    /// Whether host addresses are physical.
    raw: bool,
    /// Whether all streams have one number at each die.
    pub(super) shared: bool,
    /// Accesses that have been fetched and that no die has begun, by stream and die.
    waiting: Vec<u32>,
    /// How many accesses of a request each die has; zeroes between uses.
    wanted: Vec<u32>,
}

impl DieLimit {
    /// Nothing waits; none where there is no limit.
    pub(super) fn new(settings: &Settings) -> Option<Box<Self>> {
        let depth = settings.keys.queue.die_depth;
        (depth > 0).then(|| {
            Box::new(Self {
                depth: u32::try_from(depth).expect("the key's range fits 32 bits"),
                geometry: settings.geometry,
                raw: settings.keys.is_raw(),
                shared: settings.keys.queue.die_shared,
                waiting: Vec::new(),
                wanted: vec![0; settings.geometry.dies() as usize],
            })
        })
    }

    /// A phase of so many streams begins.
    pub(super) fn begin(&mut self, streams: usize) {
        self.waiting.clear();
        self.waiting.resize(streams * self.wanted.len(), 0);
    }

    /// The accesses of a request that dies do: none of a flush, nor of a trim that erases nothing.
    fn accesses(&self, request: &Pending) -> impl Iterator<Item = Lpn> + use<> {
        let (count, step) = match request.request.op {
            RequestOp::Read | RequestOp::Write => (request.pages, 1),
            RequestOp::Trim if self.raw => (request.pages, self.geometry.units_per_block()),
            RequestOp::Trim | RequestOp::Flush => (0, 0),
        };
        let first = request.first.get();
        (0..count).map(move |access| Lpn::new(first + access * step))
    }

    fn die_of(&self, lpn: Lpn) -> DieId {
        if self.raw {
            self.geometry.die_of(Ppn::new(lpn.get()))
        } else {
            self.geometry.die_of_lpn(lpn)
        }
    }

    /// Where the numbers of a stream start.
    const fn start(&self, lane: usize) -> usize {
        if self.shared { 0 } else { lane * self.wanted.len() }
    }

    fn place(&self, lane: usize, die: DieId) -> usize {
        self.start(lane) + die.index()
    }

    /// Whether a request of a stream fits behind what waits for its dies.
    pub(super) fn fits(&mut self, lane: usize, request: &Pending) -> bool {
        let mut accesses = self.accesses(request);
        if let (Some(lpn), None) = (accesses.next(), accesses.next()) {
            return self.waiting[self.place(lane, self.die_of(lpn))] < self.depth;
        }
        for lpn in self.accesses(request) {
            let die = self.die_of(lpn);
            self.wanted[die.index()] += 1;
        }
        let waiting = &self.waiting[self.start(lane)..];
        let fits = waiting.iter().zip(&self.wanted).all(|(&waiting, &wanted)| {
            wanted == 0 || waiting == 0 || waiting.saturating_add(wanted) <= self.depth
        });
        self.wanted.fill(0);
        fits
    }

    /// A request of a stream has been fetched.
    pub(super) fn fetched(&mut self, lane: usize, request: &Pending) {
        for lpn in self.accesses(request) {
            let place = self.place(lane, self.die_of(lpn));
            self.waiting[place] += 1;
        }
    }

    /// An access of a request of a stream waits no more. Returns whether it had.
    pub(super) fn left(&mut self, lane: usize, request: &Pending, lpn: Lpn) -> bool {
        let counts = request.request.op != RequestOp::Trim || self.raw;
        if counts {
            let place = self.place(lane, self.die_of(lpn));
            self.waiting[place] -= 1;
        }
        counts
    }
}
