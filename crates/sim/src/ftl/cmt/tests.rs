//! The table against plain lists, under random accesses, fetches and writes that overlap.

use super::*;
use crate::config::{DeviceKeys, MapStore};
use crate::random::{STEP, mix};
use flashyard_core::quantity::Ppm;
use std::collections::BTreeMap;

/// Entries of a map page, and logical units of the device.
const PER_PAGE: u32 = 8;
const UNITS: u32 = 96;

struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(STEP);
        mix(self.0) % bound
    }
}

fn cache(entries: u32, protected: u64) -> EntryCache {
    let mut keys = DeviceKeys::default();
    keys.map.store = MapStore::Cmt;
    keys.map.entries_per_page = PER_PAGE.into();
    keys.ftl.over_provisioning_percent = Ppm::ALL;
    keys.map.cache_bytes = 8 * u64::from(entries);
    keys.map.protected_percent = Ppm::from_ppm(protected * 10_000);
    let mut settings = Settings::new(keys).unwrap();
    settings.exported_units = UNITS;
    settings.map_pages = UNITS.div_ceil(PER_PAGE);
    EntryCache::new(&settings)
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct PlainEntry {
    lpn: u32,
    dirty: bool,
    fetch: Option<SetId>,
}

/// The same with lists: the newest entries and writers first.
#[derive(Debug, Default)]
struct Plain {
    segments: [Vec<PlainEntry>; 2],
    writers: Vec<(u32, SetId, Vec<u32>)>,
    cleaned: u64,
    /// The latest good fetch of each map page.
    fetches: BTreeMap<u32, SetId>,
    /// The unit that each fetch was begun for.
    first_of: BTreeMap<SetId, u32>,
}

impl Plain {
    fn entry(&mut self, lpn: u32) -> Option<&mut PlainEntry> {
        self.segments.iter_mut().flatten().find(|entry| entry.lpn == lpn)
    }

    fn find(&self, lpn: u32) -> Option<PlainEntry> {
        self.segments.iter().flatten().find(|entry| entry.lpn == lpn).copied()
    }

    fn writer(&self, lpn: u32) -> Option<SetId> {
        let mut of = self.writers.iter().filter(|writer| writer.2.contains(&lpn));
        of.next().map(|writer| writer.1)
    }

    /// A miss is served by the set `fetch`, its own one if `own`.
    fn begin(&mut self, lpn: u32, fetch: Option<SetId>, own: bool) {
        if let (true, Some(fetch)) = (own, fetch) {
            self.fetches.insert(lpn / PER_PAGE, fetch);
            self.first_of.insert(fetch, lpn);
        }
    }

    /// The oldest entry that is not being fetched.
    fn victim(&self) -> Option<PlainEntry> {
        let oldest = self.segments.iter().flat_map(|segment| segment.iter().rev());
        oldest.copied().find(|entry| entry.fetch.is_none())
    }

    fn hit(&mut self, lpn: u32, most_protected: usize) {
        for segment in &mut self.segments {
            if let Some(place) = segment.iter().position(|entry| entry.lpn == lpn) {
                let entry = segment.remove(place);
                self.segments[1].insert(0, entry);
                break;
            }
        }
        if self.segments[1].len() > most_protected {
            let demoted = self.segments[1].pop().unwrap();
            self.segments[0].insert(0, demoted);
        }
    }

    /// `set` writes a map page with all its dirty entries that are there; how many.
    fn clean(&mut self, page: u32, set: SetId) -> u64 {
        let writer = self.writers.iter_mut().find(|writer| writer.1 == set).unwrap();
        let mut cleaned = 0;
        for entry in self.segments.iter_mut().flatten() {
            if entry.lpn / PER_PAGE == page && entry.dirty && entry.fetch.is_none() {
                entry.dirty = false;
                writer.2.push(entry.lpn);
                cleaned += 1;
            }
        }
        cleaned
    }
}

/// Everything that can be asked gives the same answer.
#[track_caller]
fn compare(cache: &EntryCache, plain: &Plain, entries: u32) {
    for lpn in 0..UNITS {
        let (unit, known) = (Lpn::new(lpn), plain.find(lpn));
        let line = cache.find(unit).unwrap_or(NONE);
        let found = known.map(|entry| Lookup::Hit { line, fetch: entry.fetch });
        assert_eq!(cache.cached(unit), found, "{lpn}");
        assert_eq!(cache.is_dirty(unit), known.is_some_and(|entry| entry.dirty), "{lpn}");
        assert_eq!(cache.writer_of_line(unit), plain.writer(lpn), "{lpn}");
        let fetch = plain.fetches.get(&(lpn / PER_PAGE)).copied();
        let good = fetch.filter(|_| plain.writer(lpn).is_none());
        assert_eq!(cache.fetch_of_page(unit), good, "{lpn}");
    }
    let dirty = plain.segments.iter().flatten().filter(|entry| entry.dirty);
    let pages: Vec<_> = dirty.map(|entry| entry.lpn / PER_PAGE).collect();
    for page in 0..UNITS.div_ceil(PER_PAGE) {
        let next = pages.iter().copied().filter(|dirty| *dirty >= page).min();
        assert_eq!(cache.next_dirty(MapPage::new(page)), next.map(MapPage::new));
        let latest = plain.writers.iter().find(|writer| writer.0 == page);
        assert_eq!(cache.writer_of_page(MapPage::new(page)), latest.map(|writer| writer.1));
    }
    for (page, set, lpns) in &plain.writers {
        let mut covered = Vec::new();
        cache.covered(MapPage::new(*page), *set, |lpn| covered.push(lpn.get()));
        let mut lpns = lpns.clone();
        lpns.sort_unstable();
        lpns.dedup();
        assert_eq!(covered, lpns, "written by {set:?}");
    }
    let full = plain.segments.iter().map(Vec::len).sum::<usize>() == entries as usize;
    let absent = (0..UNITS).find(|lpn| plain.find(*lpn).is_none()).unwrap();
    match cache.lookup(Lpn::new(absent)) {
        Lookup::Hit { .. } => panic!("{absent} is not cached"),
        Lookup::Stall => assert!(full && plain.victim().is_none()),
        Lookup::Miss { victim } if !full => assert_eq!(cache.victim(victim), Victim::Clean),
        Lookup::Miss { victim } => {
            let entry = plain.victim().unwrap();
            assert_eq!(cache.entries[victim as usize].lpn, entry.lpn);
            let writer = plain.writer(entry.lpn).map_or(Victim::Clean, Victim::BeingCleaned);
            let page = MapPage::new(entry.lpn / PER_PAGE);
            let fate = if entry.dirty { Victim::Dirty(page) } else { writer };
            assert_eq!(cache.victim(victim), fate);
        }
    }
}

/// An access by `set`: hit, miss with or without a fetch, or stall.
fn access(cache: &mut EntryCache, plain: &mut Plain, lpn: u32, set: SetId, random: &mut Random) {
    let [write, batch, fetches] = [0; 3].map(|_: u8| random.below(4) > 0);
    let unit = Lpn::new(lpn);
    match cache.lookup(unit) {
        Lookup::Stall => {}
        Lookup::Hit { line, .. } => {
            cache.hit(line, write);
            plain.entry(lpn).unwrap().dirty |= write;
            plain.hit(lpn, cache.most_protected as usize);
        }
        Lookup::Miss { victim } => {
            let all = plain.segments.iter().map(Vec::len).sum::<usize>();
            if all == cache.capacity as usize {
                let old = plain.victim().unwrap();
                if old.dirty {
                    let page = old.lpn / PER_PAGE;
                    plain.entry(old.lpn).unwrap().dirty = false;
                    plain.writers.insert(0, (page, set, vec![old.lpn]));
                    if batch {
                        plain.cleaned += plain.clean(page, set);
                    }
                }
                plain.segments.iter_mut().for_each(|s| s.retain(|entry| entry.lpn != old.lpn));
            }
            let own = fetches.then_some(set);
            let shared = cache.fetch_of_page(unit).filter(|_| random.below(2) == 0);
            let fetch = shared.or(own);
            plain.begin(lpn, fetch, shared.is_none());
            cache.replace(victim, unit, (set, fetch), write, batch);
            plain.segments[0].insert(0, PlainEntry { lpn, dirty: write, fetch });
        }
    }
}

/// A fetch is over: of the entry that it was begun for, which is the one that came first.
fn fetch_over(cache: &mut EntryCache, plain: &mut Plain) {
    let fetched = plain.segments.iter().flatten().map(|entry| entry.fetch);
    let Some(set) = fetched.flatten().min() else { return };
    let of_set = |entry: &&mut PlainEntry| entry.fetch == Some(set);
    let entries: Vec<u32> = plain
        .segments
        .iter_mut()
        .flatten()
        .filter(of_set)
        .map(|entry| {
            entry.fetch = None;
            entry.lpn
        })
        .collect();
    plain.fetches.retain(|_, fetch| *fetch != set);
    let first = plain.first_of[&set];
    assert!(entries.contains(&first));
    cache.fetched(cache.find(Lpn::new(first)).unwrap(), set);
}

#[test]
fn the_table_does_what_plain_lists_do() {
    for (entries, protected) in [(1, 0), (1, 100), (5, 0), (7, 50), (24, 80), (24, 100)] {
        let mut cache = cache(entries, protected);
        let mut plain = Plain::default();
        let mut random = Random(u64::from(entries) + protected);
        let mut most = 0;
        for set in (0..3_000).map(SetId::new) {
            let lpn = u32::try_from(random.below(u64::from(UNITS))).unwrap();
            let (unit, page) = (Lpn::new(lpn), MapPage::new(lpn / PER_PAGE));
            match random.below(10) {
                0 => {
                    assert_eq!(cache.update(unit), plain.find(lpn).is_some());
                    plain.entry(lpn).into_iter().for_each(|entry| entry.dirty = true);
                }
                1 => {
                    cache.rewrite(page, set);
                    cache.rewrite_entry(unit, set);
                    plain.writers.insert(0, (page.get(), set, vec![lpn]));
                }
                2 if random.below(4) == 0 => {
                    cache.flush(page, set);
                    plain.writers.insert(0, (page.get(), set, Vec::new()));
                    plain.clean(page.get(), set);
                }
                3 => {
                    if let Some(place) = plain.writers.iter().position(|w| w.0 == page.get()) {
                        let later = plain.writers[place].1;
                        cache.rewrite_before(page, set, later);
                        plain.writers.insert(place + 1, (page.get(), set, Vec::new()));
                    }
                }
                4 | 5 if !plain.writers.is_empty() => {
                    let place = random.below(plain.writers.len() as u64);
                    let (page, set, _) = plain.writers.remove(usize::try_from(place).unwrap());
                    cache.written(MapPage::new(page), set);
                    plain.fetches.remove(&page);
                }
                6 => fetch_over(&mut cache, &mut plain),
                _ => access(&mut cache, &mut plain, lpn, set, &mut random),
            }
            compare(&cache, &plain, entries);
            most = most.max(plain.writers.len());
        }
        assert_eq!(cache.batch_cleaned, plain.cleaned);
        assert_eq!(cache.writers.len(), most, "places of writers are used again");
    }
}

#[test]
fn wrong_initial_entries_are_refused() {
    for (entries, reason) in [
        (&[(2, false), (2, true)][..], "is given twice"),
        (&[(2, false), (4, true), (6, true)], "more than the cache's 2"),
    ] {
        let entries: Vec<_> = entries.iter().map(|&(lpn, dirty)| (Lpn::new(lpn), dirty)).collect();
        let error = cache(2, 0).preload(&entries).unwrap_err();
        assert!(error.contains(reason), "{error}");
    }
}
