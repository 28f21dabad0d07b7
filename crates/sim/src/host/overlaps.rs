//! Which requests under way touch the same pages as another one: an index of started requests by
//! the regions that they touch, so that a conflict is found without a look at all of them.

use super::Pending;
use crate::handle::RequestId;
use flashyard_core::graph::NIL;
use flashyard_core::units::Lpn;
use std::iter::successors;

/// Mapping units of a region, as a power of two.
const REGION_BITS: u32 = 5;

/// A region that a started request touches.
#[derive(Clone, Copy, Debug)]
struct Entry {
    request: RequestId,
    region: u32,
    changes: bool,
    /// Its neighbours in the list of its bucket.
    prev: u32,
    next: u32,
    /// The next entry of the request, or the next free one.
    sibling: u32,
}

impl Entry {
    const VACANT: Self = Self {
        request: RequestId::new(0),
        region: 0,
        changes: false,
        prev: NIL,
        next: NIL,
        sibling: NIL,
    };
}

/// Started requests by the regions that they touch.
#[derive(Clone, Debug)]
pub(super) struct Overlaps {
    entries: Vec<Entry>,
    free: u32,
    /// The first entry of each request, by handle.
    of_request: Vec<u32>,
    /// The first entries of each bucket, of requests that read and of requests that change; there
    /// are as many buckets as entries.
    buckets: Vec<[u32; 2]>,
}

impl Overlaps {
    /// Of no requests.
    pub(super) const NONE: Self =
        Self { entries: Vec::new(), free: NIL, of_request: Vec::new(), buckets: Vec::new() };

    /// A request is started.
    #[inline(never)]
    pub(super) fn add(&mut self, handle: RequestId, request: &Pending) {
        if self.of_request.len() <= handle.index() {
            self.of_request.resize(handle.index() + 1, NIL);
        }
        for region in regions_of(request) {
            if self.free == NIL {
                self.grow();
            }
            let at = self.free;
            self.free = self.entries[at as usize].sibling;
            let sibling = std::mem::replace(&mut self.of_request[handle.index()], at);
            let changes = request.changes();
            self.entries[at as usize] =
                Entry { request: handle, region, changes, sibling, ..Entry::VACANT };
            self.push(at);
        }
    }

    /// A request is answered.
    #[inline(never)]
    pub(super) fn remove(&mut self, handle: RequestId) {
        let Some(first) = self.of_request.get_mut(handle.index()) else { return };
        let mut at = std::mem::replace(first, NIL);
        while at != NIL {
            let Entry { prev, next, sibling, .. } = self.entries[at as usize];
            match prev {
                NIL => *self.first_of(at) = next,
                prev => self.entries[prev as usize].next = next,
            }
            if next != NIL {
                self.entries[next as usize].prev = prev;
            }
            self.entries[at as usize].sibling = std::mem::replace(&mut self.free, at);
            at = sibling;
        }
    }

    /// Started requests that touch a region that this one touches, where one of the two changes
    /// contents; some more than once.
    pub(super) fn near(&self, request: &Pending) -> impl Iterator<Item = RequestId> {
        let reads = request.changes();
        let regions = regions_of(request).filter(|_| !self.buckets.is_empty());
        let firsts = regions.flat_map(move |region| {
            let [read, change] = self.buckets[self.bucket_of(region)];
            [Some(change), reads.then_some(read)].into_iter().flatten()
        });
        let some = |at: u32| (at != NIL).then_some(at);
        let all = firsts.flat_map(move |first| {
            successors(some(first), move |&at| some(self.entries[at as usize].next))
        });
        all.map(|at| self.entries[at as usize].request)
    }

    fn bucket_of(&self, region: u32) -> usize {
        Lpn::new(region).scattered() as usize & (self.buckets.len() - 1)
    }

    fn first_of(&mut self, at: u32) -> &mut u32 {
        let Entry { region, changes, .. } = self.entries[at as usize];
        let bucket = self.bucket_of(region);
        &mut self.buckets[bucket][usize::from(changes)]
    }

    fn push(&mut self, at: u32) {
        let next = std::mem::replace(self.first_of(at), at);
        (self.entries[at as usize].prev, self.entries[at as usize].next) = (NIL, next);
        if next != NIL {
            self.entries[next as usize].prev = at;
        }
    }

    /// Doubles the memory of a full index.
    fn grow(&mut self) {
        let known = self.entries.len();
        let count = (2 * known).max(64);
        self.entries.resize(count, Entry::VACANT);
        self.buckets.clear();
        self.buckets.resize(count, [NIL; 2]);
        let number = |at: usize| u32::try_from(at).expect("handles have 32 bits");
        for at in 0..known {
            self.push(number(at));
        }
        for at in known..count {
            self.entries[at].sibling = std::mem::replace(&mut self.free, number(at));
        }
    }
}

/// The regions that a request touches.
fn regions_of(request: &Pending) -> std::ops::Range<u32> {
    let end = request.first.get() + request.pages;
    if request.pages == 0 {
        return 0..0;
    }
    request.first.get() >> REGION_BITS..end.div_ceil(1 << REGION_BITS)
}
