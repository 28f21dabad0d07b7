//! Cache- and read-aware: each request has a class, and the least class starts, of equals the
//! oldest:
//!
//! | | the buffer holds every page | dies idle | a die busy |
//! |---|---|---|---|
//! | read | 1 | 2 | 3 |
//! | write | 4 | 5 | 5 |
//!
//! Trims, flushes and requests with a preflush are of class 5 (assumed). Classes are found anew at
//! each pick, for the first `window` requests: O(window^2).
//!
//! The source argues for its two halves apart, so each can be switched off. Without `hit_first` a
//! page that the buffer holds is one that needs no die, and otherwise a miss: reads are of class 2
//! or 3, writes of 5. Without `read_first` a write is of the class that a read would be in; a write
//! that the buffer takes needs no die, so it is of class 1 or 2. Without both, the rule is
//! [`idle`](super::idle) with `skip_conflicts`: among the requests that wait for no other request,
//! the oldest one whose dies are idle, otherwise the oldest one.
//!
//! Source: Bang et al., request scheduling aware of the cache buffer and of reads. The publication
//! has the rule `one_pass`: one pass over the queue. If a request overlaps an earlier one and they
//! are not both reads, its value is the earlier one's value plus one. In the order of arrival, the
//! pass never picks a request that has to wait for a queued one. In the order of queue slots it
//! may, because it then reads values that are not final. It knows nothing of requests under way.
//! `ready` is the rule without these hazards. Aging is not published.

use super::interface::{HostAnswer, HostPolicy, HostView, LARGEST_WINDOW};
use crate::key::Kind;
use crate::request::{Flags, RequestOp};
use crate::units::Span;

crate::choice! {
    /// How requests wait for those that they overlap.
    pub enum Dependencies {
        /// Only those compete that overlap no earlier one, queued or under way.
        Ready = "ready",
        /// The published pass over the queued requests in the order of arrival.
        OnePass = "one_pass",
        /// The published pass over them in the order of their slots in the queue.
        OnePassBySlot = "one_pass_by_slot",
    }
}

crate::keys! {
    /// Keys of `[host.cache-read-aware]`.
    pub struct CacheReadAwareKeys {
        /// How many of the oldest requests the policy looks at.
        window: u64 = 32 => {
            kind: Kind::count("requests", 1, LARGEST_WINDOW as u64),
            source: "Bang et al.: a request queue of 32 entries",
            flip: "1",
            with: &["host.policy=cache-read-aware", "queue.depth=2"],
        },
        /// How requests wait for those that they overlap.
        dependencies: Dependencies = Dependencies::Ready => {
            kind: Kind::Choice(Dependencies::WORDS),
            source: "Bang et al. pass once over the queue; without their hazards: ready",
            flip: "one_pass_by_slot",
            with: &[
                "host.policy=cache-read-aware", "host.dispatch_width=4", "queue.depth=2",
                "interface.fetch_depth=32",
            ],
        },
        /// Whether requests whose pages are all in the buffer go before the others.
        hit_first: bool = true => {
            kind: Kind::Bool,
            source: "Bang et al.",
            flip: "false",
            with: &[
                "map.store=resident", "buffer.bytes=262144", "host.policy=cache-read-aware",
                "host.dispatch_width=1",
            ],
        },
        /// Whether reads go before writes.
        read_first: bool = true => {
            kind: Kind::Bool,
            source: "Bang et al.",
            flip: "false",
            with: &["host.policy=cache-read-aware", "host.dispatch_width=4", "queue.depth=2"],
        },
        /// Requests that have been queued for this long go before all others, the oldest first. 0:
        /// never.
        age_us: Span = Span::ZERO => {
            kind: Kind::micros(0, 1_000_000_000_000),
            source: "Bang et al. have no aging",
            flip: "1000",
            with: &["host.policy=cache-read-aware", "host.dispatch_width=4", "queue.depth=2"],
        },
    }
}

/// A window up to which little memory is enough.
const SMALL_WINDOW: usize = 32;

/// A queued request of the published pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Its place in the order of arrival.
    pub place: usize,
    /// The first page that it accesses.
    pub first: u32,
    /// How many it accesses.
    pub pages: u32,
    /// Whether it reads.
    pub reads: bool,
    /// Its class, then class or value of another one plus one.
    pub value: u16,
}

impl Entry {
    const NONE: Self = Self { place: 0, first: 0, pages: 0, reads: true, value: 0 };

    /// Whether it has to wait for an earlier request.
    pub const fn depends_on(&self, earlier: &Self) -> bool {
        let overlap = if self.first < earlier.first {
            earlier.first - self.first < self.pages && earlier.pages > 0
        } else {
            self.first - earlier.first < earlier.pages && self.pages > 0
        };
        earlier.place < self.place && overlap && !(self.reads && earlier.reads)
    }
}

/// The published pass, over requests in the order of the slice; tells of each request that gets a
/// new value and of the one that it depends on.
pub fn pass_once(entries: &mut [Entry], mut updated: impl FnMut(usize, usize)) {
    for i in 0..entries.len() {
        for j in 0..entries.len() {
            if entries[i].depends_on(&entries[j]) {
                entries[i].value = entries[j].value + 1;
                updated(i, j);
            }
        }
    }
}

/// The published class of a read or write: whether the buffer holds every page of it, and whether
/// the dies of those that it does not hold are idle.
pub const fn class_of(reads: bool, hit: bool, idle: bool) -> u16 {
    match (reads, hit, idle) {
        (true, true, _) => 1,
        (true, false, true) => 2,
        (true, false, false) => 3,
        (false, true, _) => 4,
        (false, false, _) => 5,
    }
}

impl CacheReadAwareKeys {
    /// The class of a request.
    fn class(&self, view: &(impl HostView + ?Sized), place: usize) -> u16 {
        let request = view.request(place);
        let reads = match request.op {
            _ if request.flags.has(Flags::PREFLUSH) => return 5,
            RequestOp::Read => true,
            RequestOp::Write => !self.read_first,
            RequestOp::Trim | RequestOp::Flush => return 5,
        };
        let hit = self.hit_first && view.is_buffered(place);
        class_of(reads, hit, reads && !hit && view.dies_idle(place))
    }

    /// Whether a request has waited for too long.
    fn is_aged(&self, view: &(impl HostView + ?Sized), place: usize) -> bool {
        !self.age_us.is_zero() && view.now().since(view.entered(place)) >= self.age_us
    }

    /// The request to start of those that wait for no other.
    fn pick_ready(&self, view: &(impl HostView + ?Sized), window: usize) -> Option<usize> {
        let ready = |place: &usize| !view.conflicts(*place);
        let aged = (0..window).take_while(|&place| self.is_aged(view, place)).find(ready);
        // The first of equals is the least.
        aged.or_else(|| (0..window).filter(ready).min_by_key(|&place| self.class(view, place)))
    }

    /// The request to start by the published pass.
    fn pick_by_pass(&self, view: &(impl HostView + ?Sized), window: usize) -> Option<usize> {
        // The oldest waits for no queued one.
        if window > 0 && self.is_aged(view, 0) {
            Some(0)
        } else if window <= SMALL_WINDOW {
            self.pass(view, &mut [Entry::NONE; SMALL_WINDOW][..window])
        } else {
            self.pass(view, &mut [Entry::NONE; LARGEST_WINDOW][..window])
        }
    }

    /// The same, over as many of the oldest requests as there are entries.
    fn pass(&self, view: &(impl HostView + ?Sized), entries: &mut [Entry]) -> Option<usize> {
        for (place, entry) in entries.iter_mut().enumerate() {
            *entry = Entry {
                place,
                first: view.first_page(place).get(),
                pages: view.pages(place),
                reads: view.request(place).op == RequestOp::Read,
                value: self.class(view, place),
            };
        }
        if self.dependencies == Dependencies::OnePassBySlot {
            entries.sort_unstable_by_key(|entry| view.slot(entry.place));
        }
        pass_once(entries, |_, _| {});
        entries.iter().min_by_key(|entry| (entry.value, entry.place)).map(|entry| entry.place)
    }
}

impl HostPolicy for CacheReadAwareKeys {
    fn pick(&self, view: &(impl HostView + ?Sized)) -> HostAnswer {
        let window = usize::try_from(self.window).unwrap_or(usize::MAX).min(view.waiting());
        let window = window.min(LARGEST_WINDOW);
        let place = match self.dependencies {
            Dependencies::Ready => self.pick_ready(view, window),
            Dependencies::OnePass | Dependencies::OnePassBySlot => self.pick_by_pass(view, window),
        };
        place.map_or(HostAnswer::Wait, HostAnswer::Start)
    }
}

#[cfg(test)]
mod tests {
    use super::super::idle::IdleKeys;
    use super::super::tests::Random;
    use super::super::tests::fake::Fake;
    use super::*;
    use std::vec::Vec;

    /// A request of a published queue: arrival, whether it reads, first and last page, class.
    type Row = (usize, bool, u32, u32, u16);

    const R: bool = true;
    const W: bool = false;

    fn entries(rows: &[Row]) -> Vec<Entry> {
        let entry = |&(place, reads, first, last, value): &Row| {
            let pages = last - first + 1;
            Entry { place, first, pages, reads, value }
        };
        rows.iter().map(entry).collect()
    }

    /// The least value, of equals the first in the slice.
    fn least(entries: &[Entry]) -> Entry {
        *entries.iter().min_by_key(|entry| entry.value).expect("there is one")
    }

    /// Whether a request has to wait for another one.
    fn waits(entry: &Entry, entries: &[Entry]) -> bool {
        entries.iter().any(|other| entry.depends_on(other))
    }

    /// Those that wait for no other, by arrival.
    fn ready(entries: &[Entry]) -> Vec<Entry> {
        let is_ready = |entry: &&Entry| !waits(entry, entries);
        let mut ready: Vec<_> = entries.iter().filter(is_ready).copied().collect();
        ready.sort_by_key(|entry| entry.place);
        ready
    }

    /// The correct values, by arrival: one above the greatest of those waited for, or the class.
    fn with_greatest(entries: &[Entry]) -> Vec<Entry> {
        let mut sorted = entries.to_vec();
        sorted.sort_by_key(|entry| entry.place);
        for i in 0..sorted.len() {
            let (earlier, later) = sorted.split_at_mut(i);
            let entry = &mut later[0];
            let waited = earlier.iter().filter(|other| entry.depends_on(other));
            let above = waited.map(|other| other.value + 1).max();
            entry.value = above.map_or(entry.value, |above| above.max(entry.value));
        }
        sorted
    }

    /// The queue in the order of the array; then values in that order, updates, pick; whether the
    /// pick has to wait; and ready requests, their pick, and the correct values by arrival.
    struct Queue {
        rows: &'static [Row],
        values: &'static [u16],
        updates: &'static [(usize, usize)],
        pick: (usize, bool),
        ready: &'static [usize],
        ready_pick: usize,
        greatest: &'static [u16],
    }

    const QUEUES: [Queue; 7] = [
        // A read of the last page of a write and one more.
        Queue {
            rows: &[(0, W, 8, 11, 5), (1, R, 11, 12, 3), (2, R, 40, 40, 3)],
            values: &[5, 6, 3],
            updates: &[(1, 0)],
            pick: (2, false),
            ready: &[0, 2],
            ready_pick: 2,
            greatest: &[5, 6, 3],
        },
        // A write of some pages that are read.
        Queue {
            rows: &[(0, R, 8, 11, 3), (1, W, 10, 17, 5), (2, W, 60, 60, 4)],
            values: &[3, 4, 4],
            updates: &[(1, 0)],
            pick: (0, false),
            ready: &[0, 2],
            ready_pick: 0,
            greatest: &[3, 5, 4],
        },
        // Two writes of a page.
        Queue {
            rows: &[(0, W, 5, 5, 5), (1, W, 5, 5, 5), (2, W, 7, 7, 4)],
            values: &[5, 6, 4],
            updates: &[(1, 0)],
            pick: (2, false),
            ready: &[0, 2],
            ready_pick: 2,
            greatest: &[5, 6, 4],
        },
        // Two reads of a page wait for nothing.
        Queue {
            rows: &[(0, R, 5, 5, 3), (1, R, 5, 5, 3)],
            values: &[3, 3],
            updates: &[],
            pick: (0, false),
            ready: &[0, 1],
            ready_pick: 0,
            greatest: &[3, 3],
        },
        // A write gets a value below its class.
        Queue {
            rows: &[(0, R, 5, 5, 1), (1, W, 5, 5, 4), (2, R, 9, 9, 3)],
            values: &[1, 2, 3],
            updates: &[(1, 0)],
            pick: (0, false),
            ready: &[0, 2],
            ready_pick: 0,
            greatest: &[1, 4, 3],
        },
        // A chain against the order of arrival: the last one gets a value from one not final.
        Queue {
            rows: &[(2, W, 1, 1, 5), (1, R, 0, 1, 2), (0, W, 0, 0, 5)],
            values: &[3, 6, 5],
            updates: &[(2, 1), (1, 0)],
            pick: (2, true),
            ready: &[0],
            ready_pick: 0,
            greatest: &[5, 6, 7],
        },
        // The same chain in the order of arrival.
        Queue {
            rows: &[(0, W, 0, 0, 5), (1, R, 0, 1, 2), (2, W, 1, 1, 5)],
            values: &[5, 6, 7],
            updates: &[(1, 0), (2, 1)],
            pick: (0, false),
            ready: &[0],
            ready_pick: 0,
            greatest: &[5, 6, 7],
        },
    ];

    fn places(entries: &[Entry]) -> Vec<usize> {
        entries.iter().map(|entry| entry.place).collect()
    }

    fn values(entries: &[Entry]) -> Vec<u16> {
        entries.iter().map(|entry| entry.value).collect()
    }

    #[test]
    fn dependent_requests_get_the_published_values() {
        for queue in &QUEUES {
            let before = entries(queue.rows);
            assert_eq!(places(&ready(&before)), queue.ready);
            assert_eq!(least(&ready(&before)).place, queue.ready_pick);
            let greatest = with_greatest(&before);
            assert_eq!(values(&greatest), queue.greatest);
            assert_eq!(least(&greatest).place, queue.ready_pick);

            let (mut after, mut updates) = (before.clone(), Vec::new());
            pass_once(&mut after, |i, j| updates.push((before[i].place, before[j].place)));
            assert_eq!(values(&after), queue.values);
            assert_eq!(updates, queue.updates);
            let pick = least(&after);
            assert_eq!((pick.place, waits(&pick, &after)), queue.pick);
        }
    }

    /// The queues as a device shows them: classes from lines and dies, slots as in the array.
    #[test]
    fn queues_are_served_as_published() {
        for queue in &QUEUES {
            let mut sorted: Vec<_> = queue.rows.iter().zip(0..).collect();
            sorted.sort_by_key(|(row, _)| row.0);
            let mut view = Fake::default();
            let mut slots = Vec::new();
            for (&(_, reads, first, last, class), slot) in sorted {
                view = if reads {
                    view.read(first, last - first + 1)
                } else {
                    view.write(first, last - first + 1)
                };
                slots.push(slot);
                view = match class {
                    1 | 4 if !view.has_line(first) => view.line(first, 0, true),
                    3 => view.busy_dies(&[first]),
                    _ => view,
                };
            }
            let view = view.slots(&slots);
            let pick = |dependencies| {
                CacheReadAwareKeys { dependencies, ..CacheReadAwareKeys::default() }.pick(&view)
            };
            assert_eq!(pick(Dependencies::Ready), HostAnswer::Start(queue.ready_pick));
            assert_eq!(pick(Dependencies::OnePass), HostAnswer::Start(queue.ready_pick));
            assert_eq!(pick(Dependencies::OnePassBySlot), HostAnswer::Start(queue.pick.0));
        }
    }

    #[test]
    fn the_pass_over_random_queues_is_safe_in_the_order_of_arrival_alone() {
        let mut random = Random(1);
        let mut hazards = 0;
        for _ in 0..60_000 {
            let mut queue: Vec<Row> = Vec::new();
            for place in 0..2 + random.below(5) as usize {
                let (reads, pages) = (random.below(2) == 0, 1 + random.below(3));
                let first = random.below(9 - pages);
                let class = if reads { 1 + random.below(3) } else { 4 + random.below(2) };
                queue.push((place, reads, first, first + pages - 1, class.try_into().unwrap()));
            }
            let mut by_arrival = entries(&queue);
            let correct = least(&ready(&by_arrival)).place;
            assert_eq!(least(&with_greatest(&by_arrival)).place, correct);
            pass_once(&mut by_arrival, |_, _| {});
            assert_eq!(least(&by_arrival).place, correct);

            for last in (1..queue.len()).rev() {
                queue.swap(last, random.below(u32::try_from(last + 1).unwrap()) as usize);
            }
            let mut by_slot = entries(&queue);
            pass_once(&mut by_slot, |_, _| {});
            by_slot.sort_by_key(|entry| entry.place);
            let pick = least(&by_slot);
            let is_hazard = waits(&pick, &by_slot);
            assert_eq!(is_hazard, pick.place != correct);
            hazards += u32::from(is_hazard);
        }
        assert!(hazards > 0, "slots in any order are known to break it");
    }

    #[test]
    fn classes_are_those_of_the_published_table() {
        let keys = CacheReadAwareKeys::default();
        let without_hits = CacheReadAwareKeys { hit_first: false, ..keys };
        let without_reads = CacheReadAwareKeys { read_first: false, ..keys };
        let without_both = CacheReadAwareKeys { read_first: false, ..without_hits };
        // The class, and those without hits, without reads, without both first. This device takes
        // writes to dies that are idle or not; one with a buffer takes them at once.
        let rows = [
            (R, true, false, 1, [2, 1, 2]),
            (R, true, true, 1, [2, 1, 2]),
            (R, false, false, 2, [2, 2, 2]),
            (R, false, true, 3, [3, 3, 3]),
            (W, true, false, 4, [5, 1, 2]),
            (W, true, true, 4, [5, 1, 2]),
            (W, false, false, 5, [5, 2, 2]),
            (W, false, true, 5, [5, 3, 3]),
        ];
        for (reads, held, busy, expected, others) in rows {
            let mut view =
                if reads { Fake::default().read(8, 2) } else { Fake::default().write(8, 2) };
            // Of two pages, one held is a miss, and one whose die is busy makes it busy.
            view = view.line(8, 0, true);
            view = if held { view.line(9, 0, true) } else { view };
            view = if busy { view.busy_dies(&[9]) } else { view };
            assert_eq!(keys.class(&view, 0), expected);
            let without = [without_hits, without_reads, without_both].map(|k| k.class(&view, 0));
            assert_eq!(without, others);
        }
        for keys in [keys, without_hits, without_reads, without_both] {
            assert_eq!(keys.class(&Fake::default().flush(), 0), 5);
            let preflush = Fake::default().write(8, 1).preflush().line(8, 0, true);
            assert_eq!(keys.class(&preflush, 0), 5);
        }
    }

    #[test]
    fn requests_under_way_hold_up_only_those_that_are_ready_without_them() {
        let view = Fake::default().elsewhere(5).write(5, 1).write(6, 1);
        let keys = CacheReadAwareKeys::default();
        assert_eq!(keys.pick(&view), HostAnswer::Start(1));
        let published = CacheReadAwareKeys { dependencies: Dependencies::OnePass, ..keys };
        assert_eq!(published.pick(&view), HostAnswer::Start(0));
        assert_eq!(keys.pick(&Fake::default().elsewhere(5).write(5, 1)), HostAnswer::Wait);
        assert_eq!(keys.pick(&Fake::default()), HostAnswer::Wait);
    }

    #[test]
    fn the_window_bounds_the_look() {
        let view = Fake::default().write(5, 1).write(6, 1).read(7, 1);
        let keys = CacheReadAwareKeys::default();
        assert_eq!(keys.pick(&view), HostAnswer::Start(2));
        assert_eq!(CacheReadAwareKeys { window: 2, ..keys }.pick(&view), HostAnswer::Start(0));
    }

    /// What is left of it, pick by pick, on queues of the small device as they come.
    #[test]
    fn without_both_halves_it_is_idle_that_skips_conflicts() {
        let keys = CacheReadAwareKeys { hit_first: false, read_first: false, ..Default::default() };
        let idle = IdleKeys { skip_conflicts: true, ..IdleKeys::default() };
        let mut random = Random(5);
        let (mut starts, mut waits) = (0, 0);
        for _ in 0..20_000 {
            let mut view = Fake::default();
            for lpn in 0..12 {
                view = if random.below(4) == 0 { view.line(lpn, 0, true) } else { view };
                view = if random.below(3) == 0 { view.busy_dies(&[lpn]) } else { view };
                view = if random.below(8) == 0 { view.elsewhere(lpn) } else { view };
            }
            for _ in 0..random.below(6) {
                let (first, pages) = (random.below(10), 1 + random.below(3));
                let reads = random.below(2) == 0;
                view = if reads { view.read(first, pages) } else { view.write(first, pages) };
            }
            let pick = keys.pick(&view);
            assert_eq!(pick, idle.pick(&view));
            (starts, waits) = match pick {
                HostAnswer::Start(place) => (starts + usize::from(place > 0), waits),
                _ => (starts, waits + 1),
            };
        }
        assert!(starts > 1_000 && waits > 1_000, "{starts} {waits}");
    }

    /// Writes of which each overlaps the one before, and reads without end: without aging no write
    /// ever starts; with it the last of k starts by the age and k - 1 services.
    #[test]
    fn aging_bounds_the_wait_of_writes() {
        let modes = [Dependencies::Ready, Dependencies::OnePass, Dependencies::OnePassBySlot];
        for dependencies in modes {
            for (age_us, last) in [(0, None), (1, Some(3)), (50, Some(52)), (7_000, None)] {
                let age_us = age_us * 1_000;
                let keys = CacheReadAwareKeys {
                    dependencies,
                    age_us: Span::from_ns(age_us),
                    ..Default::default()
                };
                let mut view = Fake::default().write(0, 2).write(1, 2).write(2, 1);
                let mut writes = Vec::new();
                for service in 0..100 {
                    view.now = service * 1_000;
                    view = view.read(100, 1);
                    let HostAnswer::Start(place) = keys.pick(&view) else { panic!("it waits") };
                    let started = view.waiting.remove(place);
                    if started.op == RequestOp::Write {
                        writes.push((started.first, service));
                    }
                }
                let expected = last
                    .map_or(Vec::new(), |last| std::vec![(0, last - 2), (1, last - 1), (2, last)]);
                assert_eq!(writes, expected);
            }
        }
    }
}
