//! What happens to each page: re-use, working set, reads and writes after writes.
//!
//! A page is one of [`FOOTPRINT_PAGE_BYTES`]; reads and writes access the pages that they touch, in
//! order of address; trims and flushes access none. The re-use distance of an access is the number
//! of other pages that were accessed since the last access of its page (Mattson, Gecsei, Slutz,
//! Traiger, "Evaluation techniques for storage hierarchies", IBM Systems Journal 9(2), 1970): a
//! cache of more pages than that, which replaces the least recently used, would have held it.
//!
//! All is exact up to [`PAGE_LIMIT`] pages. Beyond, pages are sampled by a hash of their number
//! (Waldspurger, Park, Garthwaite, Ahmad, "Efficient MRC construction with SHARDS", FAST 2015):
//! each time the limit is reached, half of the pages are forgotten, and from then on distances and
//! accesses of the others count twice as much. A request of more than a sixteenth of the
//! limit has the same effect before it is counted.

use serde::Serialize;

use super::histogram::{Coarse, Percentiles};
use super::index::Index;
use super::recency::Recency;
use super::units::{FOOTPRINT_PAGE_BYTES, mib_of_pages, percent, ratio};
use crate::random::mixed;

/// Pages that are remembered: 64 GiB of addresses, in about 1 GiB of memory. Assumed: sampling is
/// accurate to a percent with a thousandth of that (figure 6 of the source above).
pub const PAGE_LIMIT: usize = 1 << 24;

/// A request may take this part of [`PAGE_LIMIT`] pages, 4 GiB of addresses. If a request is
/// larger, only a sample of its pages and of all later pages is followed, small enough for this
/// limit. Assumed.
const REQUEST_SHARE: usize = 16;

/// Sizes of the caches whose hits are counted, in MiB.
pub const CACHES_MIB: [u32; 6] = [1, 4, 16, 64, 256, 1024];

/// Windows of the working set, in nanoseconds.
pub const WORKING_SET_WINDOWS_NS: [u64; 3] = [1_000_000_000, 10_000_000_000, 60_000_000_000];

const PAGES_PER_MIB: u64 = (1 << 20) / FOOTPRINT_PAGE_BYTES as u64;

/// Re-use of pages.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Reuse {
    /// Accesses of pages by reads and writes.
    pub page_accesses: u64,
    /// Share of the addresses that the figures of pages were taken from, in percent: 100 up to
    /// [`PAGE_LIMIT`] pages.
    pub sampled_percent: f64,
    /// Share of accesses that are the first of their page.
    pub cold_percent: Option<f64>,
    /// Of the others: data accessed since the last access of the page.
    pub distance_mib: Percentiles<f64>,
    /// Caches that replace the least recently used page and keep what is read and written.
    pub lru: [CacheHits; CACHES_MIB.len()],
}

/// What a cache would have held.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct CacheHits {
    /// Its size in MiB.
    pub cache_mib: u32,
    /// Share of page accesses that it would have held, first ones included in the base.
    pub hit_percent: Option<f64>,
}

/// Distinct data accessed in windows of one length, the first of which starts with the first
/// request and the last of which may be cut.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct WorkingSet {
    /// Length of a window in nanoseconds.
    pub window_ns: u64,
    /// Mean over all windows, those without accesses too.
    pub mean_mib: Option<f64>,
    /// The greatest of them.
    pub max_mib: Option<f64>,
}

/// Page accesses of one kind whose page had been written before.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct AfterWrite {
    /// Their share among the page accesses of this kind.
    pub percent: Option<f64>,
    /// Requests since the last write of the page: 1 for the next request.
    pub distance_requests: Percentiles<u64>,
    /// Time since then, in nanoseconds.
    pub distance_ns: Percentiles<u64>,
}

/// What is remembered of a page.
#[derive(Debug)]
struct Page {
    number: u64,
    /// Time of the last access, since the first request.
    access_ns: u64,
    /// Time of the last write, since the first request.
    write_ns: u64,
    /// The request that wrote it last; [`NEVER`] where none did.
    write_request: u64,
    /// The slot of the last access.
    slot: u32,
}

const NEVER: u64 = u64::MAX;

/// When and how pages are accessed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Access {
    /// Time since the first request.
    pub(super) since_ns: u64,
    /// Number of the request.
    pub(super) request: u64,
    pub(super) is_write: bool,
}

/// Accesses of one kind and those of them after a write.
#[derive(Debug, Default)]
struct Follow {
    accesses: u64,
    requests: Coarse,
    times_ns: Coarse,
}

/// The pages and all that is counted about them.
#[derive(Debug)]
pub(super) struct Pages {
    index: Index,
    known: Vec<Page>,
    recency: Recency,
    limit: usize,
    /// A page in 2^level is looked at.
    level: u32,
    accesses: u64,
    cold: u64,
    distances: Coarse,
    /// Hits by the smallest cache that has them; the last: none.
    hits: [u64; CACHES_MIB.len() + 1],
    windows: [Window; WORKING_SET_WINDOWS_NS.len()],
    reads: Follow,
    writes: Follow,
}

impl Pages {
    /// Remembers at most `limit` pages.
    pub(super) fn new(limit: usize) -> Self {
        Self {
            index: Index::default(),
            known: Vec::new(),
            recency: Recency::default(),
            limit,
            level: 0,
            accesses: 0,
            cold: 0,
            distances: Coarse::default(),
            hits: [0; CACHES_MIB.len() + 1],
            windows: WORKING_SET_WINDOWS_NS.map(Window::new),
            reads: Follow::default(),
            writes: Follow::default(),
        }
    }

    /// Accesses the pages from `first` to `last`; whether any may not have been accessed before.
    /// Times and requests MUST NOT decrease.
    pub(super) fn access(&mut self, first: u64, last: u64, access: Access) -> bool {
        let cold = self.cold;
        for window in &mut self.windows {
            window.advance(access.since_ns);
        }
        self.accesses += last - first + 1;
        // A request alone does not take the memory of all pages.
        while (last - first) >> self.level > (self.limit / REQUEST_SHARE) as u64 {
            self.thin();
        }
        for number in first..=last {
            if self.is_sampled(number) {
                self.access_page(number, access);
            }
        }
        self.level > 0 || self.cold > cold
    }

    fn is_sampled(&self, number: u64) -> bool {
        self.level == 0 || mixed(number) & ((1 << self.level) - 1) == 0
    }

    fn access_page(&mut self, number: u64, access: Access) {
        if self.recency.is_full() {
            self.recency.compact(self.known.iter_mut().map(|page| &mut page.slot));
        }
        let weight = 1 << self.level;
        let count = self.known.len();
        let new = u32::try_from(count).expect("the limit has less than 32 bits");
        let place = self.index.place(number, new, |at| self.known[at].number) as usize;
        let follow = if access.is_write { &mut self.writes } else { &mut self.reads };
        follow.accesses += weight;
        if place == count {
            self.cold += weight;
            for window in &mut self.windows {
                window.current += weight;
            }
            let slot = self.recency.push();
            let page = Page { number, access_ns: 0, write_ns: 0, write_request: NEVER, slot };
            self.known.push(page);
        } else {
            let page = &mut self.known[place];
            let distance = u64::from(self.recency.later(page.slot)) << self.level;
            self.distances.add(distance, weight);
            let cached = |mib: &u32| distance < u64::from(*mib) * PAGES_PER_MIB;
            let cache = CACHES_MIB.iter().position(cached).unwrap_or(CACHES_MIB.len());
            self.hits[cache] += weight;
            self.recency.remove(page.slot);
            page.slot = self.recency.push();
            for window in &mut self.windows {
                window.current += if page.access_ns < window.start_ns { weight } else { 0 };
            }
            if page.write_request != NEVER {
                follow.requests.add(access.request - page.write_request, weight);
                follow.times_ns.add(access.since_ns - page.write_ns, weight);
            }
        }
        let page = &mut self.known[place];
        page.access_ns = access.since_ns;
        if access.is_write {
            (page.write_ns, page.write_request) = (access.since_ns, access.request);
        }
        if self.known.len() > self.limit {
            self.thin();
        }
    }

    /// Forgets half of the pages, by the hash of their numbers.
    fn thin(&mut self) {
        self.level += 1;
        let (level, recency) = (self.level, &mut self.recency);
        self.known.retain(|page| {
            let stays = mixed(page.number) & ((1 << level) - 1) == 0;
            if !stays {
                recency.remove(page.slot);
            }
            stays
        });
        self.index.clear();
        for (place, page) in (0..).zip(&self.known) {
            self.index.place(page.number, place, |at| self.known[at].number);
        }
    }

    pub(super) fn reuse(&self) -> Reuse {
        let accesses = self.reads.accesses + self.writes.accesses;
        let mut hits = 0;
        let mut class = self.hits.iter();
        Reuse {
            page_accesses: self.accesses,
            sampled_percent: 100.0 / (1_u64 << self.level) as f64,
            cold_percent: percent(self.cold, accesses),
            distance_mib: self.distances.percentiles().map(mib_of_pages),
            lru: CACHES_MIB.map(|cache_mib| {
                hits += class.next().expect("a class for each cache");
                CacheHits { cache_mib, hit_percent: percent(hits, accesses) }
            }),
        }
    }

    /// The working sets, where the last request came `duration_ns` after the first.
    pub(super) fn working_sets(
        &self,
        duration_ns: u64,
    ) -> [WorkingSet; WORKING_SET_WINDOWS_NS.len()] {
        self.windows.map(|window| window.finish(duration_ns, self.accesses > 0))
    }

    pub(super) fn read_after_write(&self) -> AfterWrite {
        self.reads.finish()
    }

    pub(super) fn write_after_write(&self) -> AfterWrite {
        self.writes.finish()
    }
}

impl Follow {
    fn finish(&self) -> AfterWrite {
        AfterWrite {
            percent: percent(self.requests.total(), self.accesses),
            distance_requests: self.requests.percentiles(),
            distance_ns: self.times_ns.percentiles(),
        }
    }
}

/// Counts the distinct pages of a window.
#[derive(Clone, Copy, Debug)]
struct Window {
    length_ns: u64,
    start_ns: u64,
    current: u64,
    most: u64,
    /// Of all windows that are over.
    sum: u128,
}

impl Window {
    const fn new(length_ns: u64) -> Self {
        Self { length_ns, start_ns: 0, current: 0, most: 0, sum: 0 }
    }

    fn advance(&mut self, since_ns: u64) {
        if since_ns - self.start_ns < self.length_ns {
            return;
        }
        self.close();
        self.start_ns = since_ns - since_ns % self.length_ns;
    }

    fn close(&mut self) {
        self.sum += u128::from(self.current);
        self.most = self.most.max(self.current);
        self.current = 0;
    }

    fn finish(mut self, duration_ns: u64, any: bool) -> WorkingSet {
        self.close();
        let windows = duration_ns / self.length_ns + 1;
        let mean = ratio(self.sum as f64, windows as f64).map(|pages| pages / PAGES_PER_MIB as f64);
        WorkingSet {
            window_ns: self.length_ns,
            mean_mib: mean.filter(|_| any),
            max_mib: any.then(|| mib_of_pages(self.most)),
        }
    }
}
