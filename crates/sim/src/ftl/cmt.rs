//! The cached mapping table of DFTL: single map entries, found by logical unit, in a segmented
//! list of recency.
//!
//! Source: Gupta et al., ASPLOS 2009 (DFTL), as Park et al. 2011 use it. A miss enters at the head
//! of the probationary segment, a hit goes to the head of the protected one, whose overflow goes
//! back to the probationary head; the victim is the probationary tail, or the protected tail where
//! the former is empty. With a protected share of 0 that is plain LRU.
//!
//! Everything is O(1), but that the search for a victim steps over entries that are being fetched;
//! cleaning the dirty entries of a map page takes as many steps as it has.

mod writers;

use super::line_cache::{Lookup, NONE, Victim};
use crate::config::Settings;
use crate::handle::SetId;
use flashyard_core::units::{Lpn, MapPage};
use writers::Writers;

/// The segments.
const PROBATIONARY: usize = 0;
const PROTECTED: usize = 1;

#[derive(Clone, Copy, Debug)]
struct Entry {
    lpn: u32,
    /// The set whose map fetch fills it.
    fetch: Option<SetId>,
    newer: u32,
    older: u32,
    /// Its neighbours among the dirty entries of its map page.
    next_dirty: u32,
    prev_dirty: u32,
    /// The next entry that the same fetch fills.
    next_fetched: u32,
    dirty: bool,
    protected: bool,
}

/// Bytes of an entry in the simulator's memory.
pub(crate) const ENTRY_BYTES: u64 = size_of::<Entry>() as u64;

impl Entry {
    const VACANT: Self = Self {
        lpn: NONE,
        fetch: None,
        newer: NONE,
        older: NONE,
        next_dirty: NONE,
        prev_dirty: NONE,
        next_fetched: NONE,
        dirty: false,
        protected: false,
    };
}

#[derive(Clone, Copy, Debug)]
struct Segment {
    newest: u32,
    oldest: u32,
    len: u32,
}

/// The cache and what it knows of map pages that are being written.
#[derive(Clone, Debug)]
pub struct EntryCache {
    entries: Vec<Entry>,
    capacity: u32,
    most_protected: u32,
    entries_per_page: u32,
    units: u32,
    /// Entry + 1 by logical unit.
    index: Vec<u32>,
    /// The first dirty entry + 1 of each map page.
    dirty: Vec<u32>,
    segments: [Segment; 2],
    /// The entry + 1 for which the latest unfinished fetch of each map page was begun, as long as
    /// what it brings is good for others too.
    fetches: Vec<u32>,
    /// Entries that are being fetched.
    pinned: u32,
    writers: Writers,
    /// Entries cleaned by batches, without the victims themselves.
    pub batch_cleaned: u64,
}

crate::saved::saved!(Entry {
    lpn,
    fetch,
    newer,
    older,
    next_dirty,
    prev_dirty,
    next_fetched,
    dirty,
    protected
});
crate::saved::saved!(Segment { newest, oldest, len });

impl crate::saved::Saved for EntryCache {
    fn save(&self, to: &mut crate::saved::Writer<'_>) {
        crate::saved::save_list(&self.entries, to);
        self.index.save(to);
        self.dirty.save(to);
        self.segments.save(to);
        self.batch_cleaned.save(to);
    }

    fn load(
        &mut self,
        from: &mut crate::saved::Reader<'_>,
    ) -> Result<(), crate::saved::RestoreError> {
        crate::saved::load_list(&mut self.entries, || Entry::VACANT, from)?;
        if self.entries.len() > self.capacity as usize {
            return Err(crate::saved::RestoreError::Corrupt);
        }
        self.index.load(from)?;
        self.dirty.load(from)?;
        self.segments.load(from)?;
        self.batch_cleaned.load(from)
    }
}

impl EntryCache {
    /// An empty cache.
    pub fn new(settings: &Settings) -> Self {
        let capacity = settings.map_lines;
        let protected = settings.keys.map.protected_percent.of(u64::from(capacity));
        let empty = Segment { newest: NONE, oldest: NONE, len: 0 };
        Self {
            entries: Vec::with_capacity(capacity as usize),
            capacity,
            most_protected: u32::try_from(protected).expect("a share of the entries"),
            entries_per_page: settings.entries_per_map_page,
            units: settings.exported_units,
            index: vec![0; settings.exported_units as usize],
            dirty: vec![0; settings.map_pages as usize],
            segments: [empty; 2],
            fetches: vec![0; settings.map_pages as usize],
            pinned: 0,
            writers: Writers::new(settings.map_pages, settings.entries_per_map_page),
            batch_cleaned: 0,
        }
    }

    /// Puts entries into an unused cache, the least recently used first. Returns what is wrong with
    /// them, if anything is.
    pub fn preload(&mut self, entries: &[(Lpn, bool)]) -> Result<(), String> {
        if entries.len() > self.capacity as usize {
            return Err(format!(
                "{} initial lines are more than the cache's {}",
                entries.len(),
                self.capacity
            ));
        }
        for &(lpn, dirty) in entries {
            if self.find(lpn).is_some() {
                return Err(format!("initial line {} is given twice", lpn.get()));
            }
            let free = u32::try_from(self.entries.len()).expect("below the capacity");
            self.insert(free, lpn, None);
            if dirty {
                self.mark(free);
            }
        }
        Ok(())
    }

    /// The map page that an LPN's entry is in.
    pub const fn map_page(&self, lpn: Lpn) -> MapPage {
        MapPage::new(lpn.get() / self.entries_per_page)
    }

    /// What a translation of `lpn` finds; changes nothing.
    pub fn lookup(&self, lpn: Lpn) -> Lookup {
        if let Some(hit) = self.cached(lpn) {
            return hit;
        }
        if self.entries.len() < self.capacity as usize {
            return Lookup::Miss { victim: u32::try_from(self.entries.len()).expect("a few") };
        }
        if self.pinned == self.capacity {
            return Lookup::Stall;
        }
        let victim = match self.oldest_ready(PROBATIONARY) {
            NONE => self.oldest_ready(PROTECTED),
            victim => victim,
        };
        Lookup::Miss { victim }
    }

    /// What it finds where the entry is cached.
    pub fn cached(&self, lpn: Lpn) -> Option<Lookup> {
        let hit = |line| Lookup::Hit { line, fetch: self.entries[line as usize].fetch };
        self.find(lpn).map(hit)
    }

    /// What replacing `victim` will take; changes nothing.
    pub fn victim(&self, victim: u32) -> Victim {
        let Some(entry) = self.entries.get(victim as usize) else { return Victim::Clean };
        let lpn = Lpn::new(entry.lpn);
        if entry.dirty {
            return Victim::Dirty(self.map_page(lpn));
        }
        self.writer_of_line(lpn).map_or(Victim::Clean, Victim::BeingCleaned)
    }

    /// Uses an entry: it becomes the most recently used one, dirty if `write`.
    pub fn hit(&mut self, line: u32, write: bool) {
        if write {
            self.mark(line);
        }
        self.unlink(line);
        self.push(line, PROTECTED);
        if self.segments[PROTECTED].len > self.most_protected {
            let demoted = self.segments[PROTECTED].oldest;
            self.unlink(demoted);
            self.push(demoted, PROBATIONARY);
        }
    }

    /// Replaces `victim` by the entry of `lpn`, which the set `fetch` is to bring: `set` itself,
    /// the one that [`Self::fetch_of_page`] gives, or none where there is nothing to fetch. A
    /// dirty victim is written back by `set`, with `batch` together with every other dirty entry of
    /// its map page.
    pub fn replace(
        &mut self,
        victim: u32,
        lpn: Lpn,
        (set, fetch): (SetId, Option<SetId>),
        write: bool,
        batch: bool,
    ) {
        if let Some(&old) = self.entries.get(victim as usize) {
            if old.dirty {
                let page = self.map_page(Lpn::new(old.lpn));
                self.clean(victim);
                self.writers.begin(page, set);
                self.writers.cover(page, set, old.lpn);
                if batch {
                    self.batch_cleaned += u64::from(self.clean_page(page, set));
                }
            }
            self.unlink(victim);
            self.index[old.lpn as usize] = 0;
        }
        self.insert(victim, lpn, fetch);
        if let Some(fetch) = fetch {
            let first = &mut self.fetches[lpn.get() as usize / self.entries_per_page as usize];
            if fetch == set {
                *first = victim + 1;
            } else {
                let first = *first as usize - 1;
                let next = std::mem::replace(&mut self.entries[first].next_fetched, victim);
                self.entries[victim as usize].next_fetched = next;
            }
        }
        if write {
            self.mark(victim);
        }
    }

    /// The set whose unfinished fetch of the map page of `lpn` brings its entry as it is.
    pub fn fetch_of_page(&self, lpn: Lpn) -> Option<SetId> {
        let first = self.fetches[self.map_page(lpn).index()].checked_sub(1)?;
        self.entries[first as usize].fetch.filter(|_| self.writer_of_line(lpn).is_none())
    }

    /// The map fetch of `set` is over: its entry is ready, and so are those that waited for it too.
    pub fn fetched(&mut self, line: u32, set: SetId) {
        let page = self.map_page(Lpn::new(self.entries[line as usize].lpn));
        let first = &mut self.fetches[page.index()];
        if *first == line + 1 {
            *first = 0;
        }
        let mut line = line;
        while line != NONE {
            let entry = &mut self.entries[line as usize];
            assert_eq!(entry.fetch, Some(set), "the entry is fetched by another set");
            entry.fetch = None;
            self.pinned -= 1;
            line = std::mem::replace(&mut entry.next_fetched, NONE);
        }
    }

    /// The map program of `set` is over: what it wrote is safe again.
    pub fn written(&mut self, page: MapPage, set: SetId) {
        self.writers.end(page, set);
        // What has been read before is old.
        self.fetches[page.index()] = 0;
    }

    /// The latest unfinished set that writes `page`.
    pub fn writer_of_page(&self, page: MapPage) -> Option<SetId> {
        self.writers.latest(page)
    }

    /// The latest unfinished set that writes the entry of `lpn`.
    pub fn writer_of_line(&self, lpn: Lpn) -> Option<SetId> {
        self.writers.of(self.map_page(lpn), lpn.get())
    }

    /// `set` rewrites `page` on flash because data has moved.
    pub fn rewrite(&mut self, page: MapPage, set: SetId) {
        self.writers.begin(page, set);
    }

    /// The same, but `later`, which has not begun to, writes it after `set`.
    pub fn rewrite_before(&mut self, page: MapPage, set: SetId, later: SetId) {
        self.writers.begin_before(page, set, later);
    }

    /// `set`, an unfinished writer of the map page of `lpn`, writes its entry too.
    pub fn rewrite_entry(&mut self, lpn: Lpn, set: SetId) {
        self.writers.cover(self.map_page(lpn), set, lpn.get());
    }

    /// `set` writes `page` back with all its dirty entries, which stay.
    pub fn flush(&mut self, page: MapPage, set: SetId) {
        self.writers.begin(page, set);
        self.clean_page(page, set);
    }

    /// The first map page from `page` on that has dirty entries.
    pub fn next_dirty(&self, page: MapPage) -> Option<MapPage> {
        let dirty = self.dirty[page.index()..].iter().position(|&first| first != 0);
        dirty.map(|steps| MapPage::from_index(page.index() + steps))
    }

    /// Marks the entry of `lpn` dirty where it is cached; returns whether it is.
    pub fn update(&mut self, lpn: Lpn) -> bool {
        let line = self.find(lpn);
        if let Some(line) = line {
            self.mark(line);
        }
        line.is_some()
    }

    /// Whether the entry of `lpn` is cached and dirty.
    pub fn is_dirty(&self, lpn: Lpn) -> bool {
        self.find(lpn).is_some_and(|line| self.entries[line as usize].dirty)
    }

    /// Calls `each` with every logical unit whose entry `set` writes to `page`.
    pub fn covered(&self, page: MapPage, set: SetId, mut each: impl FnMut(Lpn)) {
        let first = page.get() * self.entries_per_page;
        let last = (first + self.entries_per_page).min(self.units);
        (first..last)
            .filter(|&lpn| self.writers.covers(page, set, lpn))
            .for_each(|lpn| each(Lpn::new(lpn)));
    }

    fn find(&self, lpn: Lpn) -> Option<u32> {
        self.index[lpn.index()].checked_sub(1)
    }

    /// The least recently used entry of a segment that is not being fetched.
    fn oldest_ready(&self, segment: usize) -> u32 {
        let mut line = self.segments[segment].oldest;
        while line != NONE && self.entries[line as usize].fetch.is_some() {
            line = self.entries[line as usize].newer;
        }
        line
    }

    /// Gives an entry that is in no list, or the next unused one, to `lpn`.
    fn insert(&mut self, line: u32, lpn: Lpn, fetch: Option<SetId>) {
        let entry = Entry { lpn: lpn.get(), fetch, ..Entry::VACANT };
        if line as usize == self.entries.len() {
            self.entries.push(entry);
        } else {
            self.entries[line as usize] = entry;
        }
        self.index[lpn.index()] = line + 1;
        self.pinned += u32::from(fetch.is_some());
        self.push(line, PROBATIONARY);
    }

    fn unlink(&mut self, line: u32) {
        let Entry { newer, older, protected, .. } = self.entries[line as usize];
        let segment = &mut self.segments[usize::from(protected)];
        segment.len -= 1;
        match newer {
            NONE => segment.newest = older,
            newer => self.entries[newer as usize].older = older,
        }
        match older {
            NONE => segment.oldest = newer,
            older => self.entries[older as usize].newer = newer,
        }
    }

    fn push(&mut self, line: u32, segment: usize) {
        let list = &mut self.segments[segment];
        let older = std::mem::replace(&mut list.newest, line);
        list.len += 1;
        match older {
            NONE => list.oldest = line,
            older => self.entries[older as usize].newer = line,
        }
        let entry = &mut self.entries[line as usize];
        entry.newer = NONE;
        entry.older = older;
        entry.protected = segment == PROTECTED;
    }

    /// Adds an entry to the dirty ones of its map page.
    fn mark(&mut self, line: u32) {
        let Entry { lpn, dirty, .. } = self.entries[line as usize];
        if dirty {
            return;
        }
        let page = self.map_page(Lpn::new(lpn));
        let first = std::mem::replace(&mut self.dirty[page.index()], line + 1);
        let next = first.checked_sub(1).unwrap_or(NONE);
        if next != NONE {
            self.entries[next as usize].prev_dirty = line;
        }
        let entry = &mut self.entries[line as usize];
        entry.dirty = true;
        entry.next_dirty = next;
        entry.prev_dirty = NONE;
    }

    /// Takes a dirty entry out of those of its map page.
    fn clean(&mut self, line: u32) {
        let Entry { lpn, next_dirty, prev_dirty, .. } = self.entries[line as usize];
        let after = if next_dirty == NONE { 0 } else { next_dirty + 1 };
        match prev_dirty {
            NONE => {
                let page = self.map_page(Lpn::new(lpn));
                self.dirty[page.index()] = after;
            }
            prev => self.entries[prev as usize].next_dirty = next_dirty,
        }
        if next_dirty != NONE {
            self.entries[next_dirty as usize].prev_dirty = prev_dirty;
        }
        self.entries[line as usize].dirty = false;
    }

    /// `set` writes all dirty entries of a page but those that are being fetched; how many.
    fn clean_page(&mut self, page: MapPage, set: SetId) -> u32 {
        let mut cleaned = 0;
        let mut line = self.dirty[page.index()].checked_sub(1).unwrap_or(NONE);
        while line != NONE {
            let Entry { lpn, fetch, next_dirty, .. } = self.entries[line as usize];
            if fetch.is_none() {
                self.clean(line);
                self.writers.cover(page, set, lpn);
                cleaned += 1;
            }
            line = next_dirty;
        }
        cleaned
    }
}

#[cfg(test)]
mod tests;
