//! The map cache: lines of consecutive mapping entries, fully associative, least recently used
//! line first out, with batch update of a map page's dirty lines.
//!
//! Source: Lee et al., IEEE Access 2021. A line that is being fetched is pinned. A line that was
//! evicted, or cleaned by a batch, is unsafe to fetch again until the map program is over.
//! Lookup, touch and replace are O(1), but that the search for the next victim steps over pinned
//! lines; a dirty eviction is O(lines of a map page).

use crate::config::Settings;
use crate::handle::SetId;
use flashyard_core::units::{Lpn, MapPage};

/// No line.
pub const NONE: u32 = u32::MAX;

#[derive(Clone, Copy, Debug)]
struct Line {
    /// Which run of entries it holds (LPN / entries per line); [`NONE`] when empty.
    run: u32,
    dirty: bool,
    /// The set whose map fetch fills it.
    fetch: Option<SetId>,
    /// The set whose map program writes it back in a batch.
    clean: Option<SetId>,
    older: u32,
    newer: u32,
    /// Grows from use to use: the order of the list.
    used: u64,
}

/// Bytes of a line in the simulator's memory.
pub(crate) const LINE_BYTES: u64 = size_of::<Line>() as u64;

/// What a translation finds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lookup {
    /// The line is there; `fetch` is the set that is filling it, if one is.
    Hit {
        /// The line.
        line: u32,
        /// The set that fetches it.
        fetch: Option<SetId>,
    },
    /// The line must be fetched in place of `victim`.
    Miss {
        /// The line to replace.
        victim: u32,
    },
    /// Every line is pinned.
    Stall,
}

/// What a replaced line leaves behind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Victim {
    /// Nothing to do.
    Clean,
    /// The line is being written back by this set; the fetch waits for it.
    BeingCleaned(SetId),
    /// The line's map page must be written.
    Dirty(MapPage),
}

/// The cache and what it knows of map pages that are being written.
#[derive(Clone, Debug)]
pub struct LineCache {
    lines: Vec<Line>,
    entries_per_line: u32,
    runs_per_page: u32,
    runs: u32,
    /// Line + 1 by run.
    index: Vec<u32>,
    /// The latest unfinished set + 1 that writes a run back.
    writers_of_run: Vec<u32>,
    /// The latest unfinished set + 1 that writes a map page.
    writers_of_page: Vec<u32>,
    oldest: u32,
    newest: u32,
    /// The least recently used line that is not pinned; [`NONE`] when all are.
    oldest_ready: u32,
    uses: u64,
    /// Lines cleaned by batches, without the victims themselves.
    pub batch_cleaned: u64,
}

crate::saved::saved!(Line { run, dirty, fetch, clean, older, newer, used });
crate::saved::saved!(LineCache {
    lines, index, writers_of_run, writers_of_page, oldest, newest, oldest_ready, uses,
    batch_cleaned,
} skip { entries_per_line, runs_per_page, runs });

impl LineCache {
    /// An empty cache.
    pub fn new(settings: &Settings) -> Self {
        let entries_per_line =
            u32::try_from(settings.keys.map.entries_per_line).expect("the key fits");
        let runs = settings.exported_units.div_ceil(entries_per_line);
        let count = settings.map_lines;
        let lines = (0..count).map(|line| Line {
            run: NONE,
            dirty: false,
            fetch: None,
            clean: None,
            older: line.checked_sub(1).unwrap_or(NONE),
            newer: if line + 1 < count { line + 1 } else { NONE },
            used: line.into(),
        });
        Self {
            lines: lines.collect(),
            entries_per_line,
            runs_per_page: settings.entries_per_map_page / entries_per_line,
            runs,
            index: vec![0; runs as usize],
            writers_of_run: vec![0; runs as usize],
            writers_of_page: vec![0; settings.map_pages as usize],
            oldest: 0,
            newest: count - 1,
            oldest_ready: 0,
            uses: count.into(),
            batch_cleaned: 0,
        }
    }

    /// Puts lines into an unused cache, the least recently used first; the rest stays empty and
    /// older. Returns what is wrong with them, if anything is.
    pub fn preload(&mut self, lines: &[(Lpn, bool)]) -> Result<(), String> {
        if lines.len() > self.lines.len() {
            return Err(format!(
                "{} initial lines are more than the cache's {}",
                lines.len(),
                self.lines.len()
            ));
        }
        for &(lpn, dirty) in lines {
            let run = lpn.get() / self.entries_per_line;
            if lpn.get() % self.entries_per_line != 0 || run >= self.runs {
                return Err(format!(
                    "initial line {}: must be a multiple of {} inside the device",
                    lpn.get(),
                    self.entries_per_line
                ));
            }
            if self.index[run as usize] != 0 {
                return Err(format!("initial line {} is given twice", lpn.get()));
            }
            let line = self.oldest;
            self.lines[line as usize].run = run;
            self.lines[line as usize].dirty = dirty;
            self.index[run as usize] = line + 1;
            self.touch(line);
        }
        Ok(())
    }

    /// The map page that an LPN's entry is in.
    pub const fn map_page(&self, lpn: Lpn) -> MapPage {
        self.page_of_run(lpn.get() / self.entries_per_line)
    }

    /// What a translation of `lpn` finds; changes nothing.
    pub fn lookup(&self, lpn: Lpn) -> Lookup {
        if let Some(hit) = self.cached(lpn) {
            return hit;
        }
        match self.oldest_ready {
            NONE => Lookup::Stall,
            victim => Lookup::Miss { victim },
        }
    }

    /// What it finds where the line is cached.
    pub fn cached(&self, lpn: Lpn) -> Option<Lookup> {
        let run = lpn.get() / self.entries_per_line;
        let hit = |line| Lookup::Hit { line, fetch: self.lines[line as usize].fetch };
        self.index[run as usize].checked_sub(1).map(hit)
    }

    /// What replacing `victim` will take; changes nothing.
    pub fn victim(&self, victim: u32) -> Victim {
        let line = &self.lines[victim as usize];
        match (line.dirty, line.clean) {
            (true, _) => Victim::Dirty(self.page_of_run(line.run)),
            (false, None) => Victim::Clean,
            (false, Some(set)) => Victim::BeingCleaned(set),
        }
    }

    /// Uses a line: it becomes the most recently used one, dirty if `write`.
    pub fn hit(&mut self, line: u32, write: bool) {
        self.lines[line as usize].dirty |= write;
        self.touch(line);
    }

    /// Replaces `victim` by the line of `lpn`, which `fetch` is to bring, if there is anything to
    /// fetch. A dirty victim is written back by `set`, with `batch` together with every
    /// other dirty line of its map page.
    pub fn replace(
        &mut self,
        victim: u32,
        lpn: Lpn,
        (set, fetch): (SetId, Option<SetId>),
        write: bool,
        batch: bool,
    ) {
        let old = self.lines[victim as usize];
        if old.dirty {
            let page = self.page_of_run(old.run);
            self.writers_of_run[old.run as usize] = set.get() + 1;
            if batch {
                self.batch_cleaned += u64::from(self.clean_page(page, victim, set));
            }
            self.writers_of_page[page.index()] = set.get() + 1;
        }
        if old.run != NONE {
            self.index[old.run as usize] = 0;
        }
        let run = lpn.get() / self.entries_per_line;
        self.index[run as usize] = victim + 1;
        let line = &mut self.lines[victim as usize];
        line.run = run;
        line.dirty = write;
        line.fetch = fetch;
        line.clean = None;
        self.touch(victim);
    }

    /// The map fetch of `set` is over: its line is ready.
    pub fn fetched(&mut self, line: u32, set: SetId) {
        let entry = &mut self.lines[line as usize];
        assert_eq!(entry.fetch, Some(set), "the line is fetched by another set");
        entry.fetch = None;
        let used = entry.used;
        let oldest = self.oldest_ready;
        if oldest == NONE || used < self.lines[oldest as usize].used {
            self.oldest_ready = line;
        }
    }

    /// The map program of `set` is over: lines that it cleaned and map entries that it wrote are
    /// safe again.
    pub fn written(&mut self, page: MapPage, set: SetId) {
        for run in self.runs_of(page) {
            if self.writers_of_run[run as usize] == set.get() + 1 {
                self.writers_of_run[run as usize] = 0;
            }
            if let Some(line) = self.index[run as usize].checked_sub(1) {
                let line = &mut self.lines[line as usize];
                if line.clean == Some(set) {
                    line.clean = None;
                }
            }
        }
        if self.writers_of_page[page.index()] == set.get() + 1 {
            self.writers_of_page[page.index()] = 0;
        }
    }

    /// The latest unfinished set that writes `page`.
    pub fn writer_of_page(&self, page: MapPage) -> Option<SetId> {
        self.writers_of_page[page.index()].checked_sub(1).map(SetId::new)
    }

    /// The latest unfinished set that writes back the line of `lpn`.
    pub fn writer_of_line(&self, lpn: Lpn) -> Option<SetId> {
        let run = lpn.get() / self.entries_per_line;
        self.writers_of_run[run as usize].checked_sub(1).map(SetId::new)
    }

    /// `set` rewrites `page` on flash because data has moved.
    pub fn rewrite(&mut self, page: MapPage, set: SetId) {
        self.writers_of_page[page.index()] = set.get() + 1;
    }

    /// The same, but `later`, which has not begun to, writes it after `set`.
    pub fn rewrite_before(&mut self, page: MapPage, set: SetId, later: SetId) {
        debug_assert_eq!(self.writer_of_page(page), Some(later), "{set:?} comes before it");
    }

    /// `set` rewrites the entry of `lpn` on flash: fetching it meanwhile would bring the old one.
    pub fn rewrite_entry(&mut self, lpn: Lpn, set: SetId) {
        self.writers_of_run[(lpn.get() / self.entries_per_line) as usize] = set.get() + 1;
    }

    /// Marks the line of `lpn` dirty where it is cached; returns whether it is.
    pub fn update(&mut self, lpn: Lpn) -> bool {
        let run = lpn.get() / self.entries_per_line;
        let line = self.index[run as usize].checked_sub(1);
        if let Some(line) = line {
            self.lines[line as usize].dirty = true;
        }
        line.is_some()
    }

    /// `set` writes an entry too whose map page it is going to write; where the line is cached and
    /// clean, it is being cleaned.
    pub fn join(&mut self, lpn: Lpn, set: SetId) {
        self.rewrite_entry(lpn, set);
        let run = lpn.get() / self.entries_per_line;
        if let Some(line) = self.index[run as usize].checked_sub(1) {
            let line = &mut self.lines[line as usize];
            if !line.dirty {
                line.clean = Some(set);
            }
        }
    }

    /// `set` writes `page` back with all its dirty lines, which stay.
    pub fn flush(&mut self, page: MapPage, set: SetId) {
        self.clean_page(page, NONE, set);
        self.writers_of_page[page.index()] = set.get() + 1;
    }

    /// The first map page from `page` on that has dirty lines. O(lines).
    pub fn next_dirty(&self, page: MapPage) -> Option<MapPage> {
        let dirty = self.lines.iter().filter(|line| line.dirty);
        dirty.map(|line| self.page_of_run(line.run)).filter(|other| *other >= page).min()
    }

    /// Whether the line of `lpn` is cached and dirty.
    pub fn is_dirty(&self, lpn: Lpn) -> bool {
        let line = self.index[(lpn.get() / self.entries_per_line) as usize].checked_sub(1);
        line.is_some_and(|line| self.lines[line as usize].dirty)
    }

    /// Calls `each` with every logical unit of the runs that `set` is the last to write to `page`.
    pub fn covered(&self, page: MapPage, set: SetId, mut each: impl FnMut(Lpn)) {
        let written = |run: &u32| self.writers_of_run[*run as usize] == set.get() + 1;
        for run in self.runs_of(page).filter(written) {
            let first = run * self.entries_per_line;
            (first..first + self.entries_per_line).for_each(|lpn| each(Lpn::new(lpn)));
        }
    }

    /// `set` writes the dirty lines of a page but `victim` and those that are being fetched; how
    /// many.
    fn clean_page(&mut self, page: MapPage, victim: u32, set: SetId) -> u32 {
        let mut cleaned = 0;
        for run in self.runs_of(page) {
            let Some(line) = self.index[run as usize].checked_sub(1) else { continue };
            let entry = &mut self.lines[line as usize];
            if line != victim && entry.dirty && entry.fetch.is_none() {
                entry.dirty = false;
                entry.clean = Some(set);
                self.writers_of_run[run as usize] = set.get() + 1;
                cleaned += 1;
            }
        }
        cleaned
    }

    const fn page_of_run(&self, run: u32) -> MapPage {
        MapPage::new(run / self.runs_per_page)
    }

    fn runs_of(&self, page: MapPage) -> std::ops::Range<u32> {
        let first = page.get() * self.runs_per_page;
        first..(first + self.runs_per_page).min(self.runs)
    }

    /// Makes a line the most recently used one.
    fn touch(&mut self, line: u32) {
        self.uses += 1;
        self.lines[line as usize].used = self.uses;
        if self.newest != line {
            let Line { older, newer, .. } = self.lines[line as usize];
            if self.oldest_ready == line {
                self.oldest_ready = self.first_ready(newer);
            }
            match older {
                NONE => self.oldest = newer,
                older => self.lines[older as usize].newer = newer,
            }
            self.lines[newer as usize].older = older;
            let newest = std::mem::replace(&mut self.newest, line);
            self.lines[newest as usize].newer = line;
            self.lines[line as usize].older = newest;
            self.lines[line as usize].newer = NONE;
        }
        if self.lines[line as usize].fetch.is_none() {
            if self.oldest_ready == NONE {
                self.oldest_ready = line;
            }
        } else if self.oldest_ready == line {
            self.oldest_ready = NONE;
        }
    }

    /// The first line that is not pinned, from this one to the newest.
    fn first_ready(&self, mut line: u32) -> u32 {
        while line != NONE && self.lines[line as usize].fetch.is_some() {
            line = self.lines[line as usize].newer;
        }
        line
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::DeviceKeys;
    use flashyard_core::quantity::Ppm;

    fn set(place: u32) -> SetId {
        SetId::new(place)
    }

    /// Two entries a line, eight a map page, `count` lines.
    fn cache(count: u64, lines: &[(u32, bool)]) -> LineCache {
        let mut keys = DeviceKeys::default();
        keys.map.entries_per_line = 2;
        keys.map.entries_per_page = 8;
        keys.map.cache_bytes = 8 * count;
        keys.ftl.over_provisioning_percent = Ppm::ALL;
        let mut cache = LineCache::new(&Settings::new(keys).unwrap());
        let lines: Vec<_> = lines.iter().map(|&(lpn, dirty)| (Lpn::new(lpn), dirty)).collect();
        cache.preload(&lines).unwrap();
        cache
    }

    /// Lines 8 and 10 share map page 1: evicting 8 cleans 10, which is then a victim that waits.
    #[test]
    fn a_dirty_eviction_cleans_the_whole_map_page() {
        let mut cache = cache(4, &[(8, true), (16, false), (10, true), (24, false)]);
        let Lookup::Miss { victim } = cache.lookup(Lpn::new(0)) else { panic!("0 is not cached") };
        assert_eq!(cache.victim(victim), Victim::Dirty(MapPage::new(1)));
        cache.replace(victim, Lpn::new(0), (set(7), Some(set(7))), true, true);
        assert_eq!(cache.lookup(Lpn::new(1)), Lookup::Hit { line: victim, fetch: Some(set(7)) });
        assert_eq!(cache.writer_of_line(Lpn::new(9)), Some(set(7)));
        assert_eq!(cache.writer_of_line(Lpn::new(11)), Some(set(7)));
        let Lookup::Miss { victim } = cache.lookup(Lpn::new(32)) else { panic!("not cached") };
        assert_eq!(cache.victim(victim), Victim::Clean, "16 is the oldest now");
        cache.replace(victim, Lpn::new(32), (set(8), Some(set(8))), false, true);
        let Lookup::Miss { victim } = cache.lookup(Lpn::new(40)) else { panic!("not cached") };
        assert_eq!(cache.victim(victim), Victim::BeingCleaned(set(7)));
        cache.written(MapPage::new(1), set(7));
        assert_eq!(cache.victim(victim), Victim::Clean);
        assert_eq!(cache.writer_of_line(Lpn::new(9)), None);
        assert_eq!(cache.batch_cleaned, 1);
    }

    #[test]
    fn pinned_lines_are_no_victims() {
        let mut cache = cache(2, &[(64, false), (66, false)]);
        for (lpn, number) in [(0, 1), (2, 2)] {
            let Lookup::Miss { victim } = cache.lookup(Lpn::new(lpn)) else { panic!("not cached") };
            cache.replace(victim, Lpn::new(lpn), (set(number), Some(set(number))), false, true);
        }
        assert_eq!(cache.lookup(Lpn::new(4)), Lookup::Stall);
        let Lookup::Hit { line, .. } = cache.lookup(Lpn::new(2)) else { panic!("cached") };
        cache.fetched(line, set(2));
        assert_eq!(cache.lookup(Lpn::new(4)), Lookup::Miss { victim: line });
    }

    #[test]
    fn wrong_initial_lines_are_refused() {
        let mut cache = cache(2, &[]);
        for (lines, reason) in [
            (&[(1, false)][..], "must be a multiple of 2"),
            (&[(2, false), (2, true)], "is given twice"),
            (&[(2, false), (4, true), (6, true)], "more than the cache's 2"),
        ] {
            let lines: Vec<_> = lines.iter().map(|&(lpn, dirty)| (Lpn::new(lpn), dirty)).collect();
            let error = cache.preload(&lines).unwrap_err();
            assert!(error.contains(reason), "{error}");
        }
    }
}
