//! The part of the map that is in memory: lines of consecutive entries, or single ones.

use super::cmt::EntryCache;
use super::line_cache::{LineCache, Lookup, Victim};
use crate::config::{MapStore, Settings};
use crate::handle::SetId;
use crate::parts::forward::forward;
use crate::saved::{Reader, RestoreError, Saved, Writer};
use flashyard_core::units::{Lpn, MapPage};

/// A cache of a map on flash.
#[derive(Clone, Debug)]
pub enum MapCache {
    /// Of lines of consecutive entries.
    Lines(LineCache),
    /// Of single entries.
    Entries(Box<EntryCache>),
}

impl MapCache {
    /// An empty cache; none where the whole map is in memory.
    pub fn new(settings: &Settings) -> Option<Self> {
        match settings.keys.map.store {
            MapStore::LineCache => Some(Self::Lines(LineCache::new(settings))),
            MapStore::Cmt => Some(Self::Entries(Box::new(EntryCache::new(settings)))),
            MapStore::Resident => None,
        }
    }

    /// The set whose unfinished fetch of the map page of `lpn` brings its entry as it is; only of a
    /// cache of single entries.
    #[inline]
    pub fn fetch_of_page(&self, lpn: Lpn) -> Option<SetId> {
        match self {
            Self::Lines(_) => None,
            Self::Entries(cache) => cache.fetch_of_page(lpn),
        }
    }

    /// The same where the entry may be cached; it is being cleaned then, if it is not dirty.
    pub fn join(&mut self, lpn: Lpn, set: SetId) {
        match self {
            Self::Lines(cache) => cache.join(lpn, set),
            Self::Entries(cache) => cache.rewrite_entry(lpn, set),
        }
    }

    /// Lines cleaned by batches, without the victims themselves.
    pub fn batch_cleaned(&self) -> u64 {
        match self {
            Self::Lines(cache) => cache.batch_cleaned,
            Self::Entries(cache) => cache.batch_cleaned,
        }
    }

    forward! {
        [Lines Entries]
        /// Puts lines into an unused cache, the least recently used first. Returns what is wrong
        /// with them, if anything is.
        pub fn preload(&mut self, lines: &[(Lpn, bool)]) -> Result<(), String>;

        /// The map page that an LPN's entry is in.
        #[inline]
        pub fn map_page(&self, lpn: Lpn) -> MapPage;

        /// What a translation of `lpn` finds; changes nothing.
        #[inline]
        pub fn lookup(&self, lpn: Lpn) -> Lookup;

        /// What it finds where the entry is cached.
        pub fn cached(&self, lpn: Lpn) -> Option<Lookup>;

        /// What replacing `victim` will take; changes nothing.
        #[inline]
        pub fn victim(&self, victim: u32) -> Victim;

        /// Uses a line, dirty if `write`.
        #[inline]
        pub fn hit(&mut self, line: u32, write: bool);

        /// Replaces `victim` by the line of `lpn`. `sets` are the one that writes a dirty victim
        /// back, with `batch` together with every other dirty line of its map page, and the one
        /// that fetches the new line: the same, that of [`Self::fetch_of_page`], or none where
        /// there is nothing to fetch.
        #[inline]
        pub fn replace(
            &mut self,
            victim: u32,
            lpn: Lpn,
            sets: (SetId, Option<SetId>),
            write: bool,
            batch: bool,
        );

        /// The map fetch of `set` is over: its line is ready.
        #[inline]
        pub fn fetched(&mut self, line: u32, set: SetId);

        /// The map program of `set` is over: what it wrote is safe again.
        #[inline]
        pub fn written(&mut self, page: MapPage, set: SetId);

        /// The latest unfinished set that writes `page`.
        #[inline]
        pub fn writer_of_page(&self, page: MapPage) -> Option<SetId>;

        /// The latest unfinished set that writes the entry of `lpn` back.
        #[inline]
        pub fn writer_of_line(&self, lpn: Lpn) -> Option<SetId>;

        /// `set` rewrites `page` on flash because data has moved.
        pub fn rewrite(&mut self, page: MapPage, set: SetId);

        /// The same, but `later`, which has not begun to, writes it after `set`.
        pub fn rewrite_before(&mut self, page: MapPage, set: SetId, later: SetId);

        /// `set`, which is going to write the map page of `lpn`, writes its entry: fetching it
        /// meanwhile would bring the old one.
        pub fn rewrite_entry(&mut self, lpn: Lpn, set: SetId);

        /// Marks the line of `lpn` dirty where it is cached; returns whether it is.
        pub fn update(&mut self, lpn: Lpn) -> bool;

        /// `set` writes `page` back with everything dirty of it, which stays.
        pub fn flush(&mut self, page: MapPage, set: SetId);

        /// The first map page from `page` on of which something is dirty.
        pub fn next_dirty(&self, page: MapPage) -> Option<MapPage>;

        /// Whether the entry of `lpn` is cached and dirty.
        pub fn is_dirty(&self, lpn: Lpn) -> bool;

        /// Calls `each` with every logical unit whose entry `set` is the last to write to `page`.
        /// For checks: slow.
        pub fn covered(&self, page: MapPage, set: SetId, each: impl FnMut(Lpn));
    }
}

impl Saved for MapCache {
    forward! {
        [Lines Entries]
        fn save(&self, to: &mut Writer<'_>);
        fn load(&mut self, from: &mut Reader<'_>) -> Result<(), RestoreError>;
    }
}
