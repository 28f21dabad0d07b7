//! Lookups in the map cache: what a translation finds there, and which map commands it takes.

use super::base::Base;
use super::line_cache::{Lookup, Victim};
use super::map_cache::MapCache;
use super::page_map::Owner;
use crate::handle::SetId;
use flashyard_core::units::{Lpn, MapPage, Ppn};

/// A dirty map page that makes way in the cache.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Evicted {
    /// The page.
    pub(crate) page: MapPage,
    /// The latest set that is writing it.
    pub(crate) writer: Option<SetId>,
    /// Whether it is read before it is written.
    pub(crate) reads: bool,
}

/// What a miss of the map cache takes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Miss {
    /// The set that is writing the victim back, which is clean behind that.
    pub(crate) cleaner: Option<SetId>,
    /// The victim's map page, where the victim is dirty.
    pub(crate) evicted: Option<Evicted>,
    /// The set whose fetch brings the entry too.
    pub(crate) shared_fetch: Option<SetId>,
    /// The map page to fetch, and the set that is writing the entry back.
    pub(crate) fetch: Option<(MapPage, Option<SetId>)>,
}

impl Base {
    /// Whether the map is on flash, and part of it in a cache.
    #[inline]
    pub(crate) const fn has_cache(&self) -> bool {
        self.cache.is_some()
    }

    /// What a translation of `lpn` finds in the map cache, where there is one; changes nothing.
    #[inline]
    pub(crate) fn look_up(&self, lpn: Lpn) -> Option<Lookup> {
        self.cache.as_ref().map(|cache| cache.lookup(lpn))
    }

    /// The cache of a map on flash.
    #[inline]
    pub(super) fn cached(&mut self) -> &mut MapCache {
        self.cache.as_mut().expect("only a map on flash has map pages")
    }

    /// Whether a map page can be read: it has been written, or is going to be, or never-written
    /// ones are read all the same.
    pub(super) fn is_map_readable(&self, page: MapPage, writer: Option<SetId>) -> bool {
        self.study.reads_unwritten || writer.is_some() || self.map.lookup_map(page).is_some()
    }

    /// What it takes to replace `victim` by the line of `lpn`; changes nothing.
    pub(crate) fn miss(&self, victim: u32, lpn: Lpn) -> Miss {
        let cache = self.cache.as_ref().expect("only a cache misses");
        let page = cache.map_page(lpn);
        let (mut cleaner, mut evicted) = (None, None);
        match cache.victim(victim) {
            Victim::Clean => {}
            Victim::BeingCleaned(writer) => cleaner = Some(writer),
            Victim::Dirty(page) => {
                let writer = cache.writer_of_page(page);
                let reads = self.is_map_readable(page, writer);
                evicted = Some(Evicted { page, writer, reads });
            }
        }
        let shares = self.map_keys.share_fetches;
        let shared_fetch = if shares { cache.fetch_of_page(lpn) } else { None };
        // A page that this set itself is the first to write is read behind that.
        let reads = evicted.is_some_and(|evicted| evicted.page == page)
            || self.is_map_readable(page, cache.writer_of_page(page));
        let fetch = (reads && shared_fetch.is_none()).then(|| (page, cache.writer_of_line(lpn)));
        Miss { cleaner, evicted, shared_fetch, fetch }
    }

    /// What a translation of `lpn` finds where it would stall now, or wait for a set that
    /// `is_stuck` names.
    pub(crate) fn map_stalls(&self, lpn: Lpn, is_stuck: impl Fn(SetId) -> bool) -> Option<Lookup> {
        let cache = self.cache.as_ref()?;
        let lookup = cache.lookup(lpn);
        let sources = match lookup {
            Lookup::Stall => return Some(lookup),
            Lookup::Hit { fetch, .. } => [fetch, None, None],
            Lookup::Miss { victim } => {
                let evicted = match cache.victim(victim) {
                    Victim::Clean => None,
                    Victim::BeingCleaned(writer) => Some(writer),
                    Victim::Dirty(page) => cache.writer_of_page(page),
                };
                [evicted, cache.fetch_of_page(lpn), cache.writer_of_line(lpn)]
            }
        };
        sources.into_iter().flatten().any(is_stuck).then_some(lookup)
    }

    /// A set has been made whose translation of `lpn` found this. The line of a miss is fetched by
    /// `fetch`, if there is anything to fetch; the line is dirty if the set `changes` its
    /// entry.
    #[inline]
    pub(crate) fn translated(
        &mut self,
        lookup: Lookup,
        lpn: Lpn,
        (set, fetch): (SetId, Option<SetId>),
        changes: bool,
    ) {
        let cache = self.cache.as_mut().expect("only a cache is looked up");
        match lookup {
            Lookup::Hit { line, .. } => cache.hit(line, changes),
            Lookup::Miss { victim } => {
                cache.replace(victim, lpn, (set, fetch), changes, self.map_keys.batch_update);
            }
            Lookup::Stall => unreachable!("nothing was translated"),
        }
    }

    /// Where the map page is that holds the entry of `lpn`.
    pub(crate) fn locate_entry(&self, lpn: Lpn) -> Option<Ppn> {
        let cache = self.cache.as_ref().expect("only a cache fetches");
        self.map.lookup_map(cache.map_page(lpn))
    }

    /// Where a map page is.
    pub(crate) fn locate_map(&self, page: MapPage) -> Option<Ppn> {
        self.map.lookup_map(page)
    }

    /// The program of a map page by a set is over.
    pub(crate) fn map_written(&mut self, page: MapPage, ppn: Ppn, set: SetId) {
        self.map.commit(Owner::Map(page), ppn);
        if let Some(cache) = &mut self.cache {
            cache.written(page, set);
        }
    }

    /// The fetch of a line by a set is over.
    pub(crate) fn map_fetched(&mut self, line: u32, set: SetId) {
        self.cached().fetched(line, set);
    }

    /// Calls `each` with every logical unit whose entry `set` is the last to write to a map page.
    /// For checks: slow.
    pub(crate) fn covered_entries(&self, page: MapPage, set: SetId, each: impl FnMut(Lpn)) {
        if let Some(cache) = &self.cache {
            cache.covered(page, set, each);
        }
    }

    /// Whether an entry is cached and dirty, where there is a cache.
    pub(crate) fn dirty_entries(&self) -> Option<impl Fn(Lpn) -> bool> {
        self.cache.as_ref().map(|cache| |lpn| cache.is_dirty(lpn))
    }

    /// Lines cleaned by batches, without the victims themselves.
    pub(crate) fn batch_cleaned(&self) -> u64 {
        self.cache.as_ref().map_or(0, MapCache::batch_cleaned)
    }

    /// Puts lines into an unused cache, by their first LPN and whether they are dirty, the least
    /// recently used first. Returns what is wrong with them, if anything is.
    pub(crate) fn preload_map(&mut self, lines: &[(u64, bool)]) -> Result<(), String> {
        let Some(cache) = &mut self.cache else { return Err("a resident map has no lines".into()) };
        let units = self.map.units();
        if let Some((lpn, _)) = lines.iter().find(|(lpn, _)| *lpn >= units) {
            let last = units - 1;
            return Err(format!("initial line {lpn}: the last page of the device is {last}"));
        }
        let narrow = |lpn| Lpn::new(u32::try_from(lpn).expect("below the device's pages"));
        let lines: Vec<_> = lines.iter().map(|&(lpn, dirty)| (narrow(lpn), dirty)).collect();
        cache.preload(&lines)
    }
}
