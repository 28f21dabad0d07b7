//! The checker's account of a map on flash: no changed entry is forgotten.
//!
//! Every change of an entry, by a translated write or trim or by garbage collection, must come to
//! flash, or be dirty in the cache when the run is over. A write of a map page has a list of
//! entries. It carries the newest changes of these entries at the moment when its program begins,
//! and takes all other entries from the page that it has read.

use super::Checker;
use crate::handle::SetId;
use flashyard_core::units::{Lpn, MapPage};
use std::collections::BTreeMap;

/// A write of a map page on its way.
#[derive(Clone, Debug)]
struct Write {
    page: MapPage,
    /// The entries that it carries and the numbers of their changes, once its program has begun.
    carried: Option<Vec<(Lpn, u64)>>,
    /// Entries of the page that came to flash since it was read: it must carry them too.
    newer: Vec<Lpn>,
}

/// What is known of a map on flash.
#[derive(Clone, Debug, Default)]
pub(super) struct MapAccount {
    /// Changes of each entry, and how many of them its map page has; empty for a resident map.
    changes: Vec<u64>,
    on_flash: Vec<u64>,
    /// By set.
    writes: BTreeMap<SetId, Write>,
    /// Whether writes of a map page keep their order.
    ordered: bool,
}

impl MapAccount {
    pub(super) fn new(units: usize, ordered: bool) -> Self {
        Self { changes: vec![0; units], on_flash: vec![0; units], ordered, ..Self::default() }
    }

    fn given(write: &Write, carried: &[(Lpn, u64)]) {
        for lpn in &write.newer {
            let has = carried.iter().any(|(other, _)| other == lpn);
            assert!(has, "{:?} is written without the newest entry of {lpn:?}", write.page);
        }
    }
}

impl Checker {
    /// The entry of a logical page changes.
    pub fn entry_changed(&mut self, lpn: Lpn) {
        if let Some(changes) = self.map.changes.get_mut(lpn.index()) {
            *changes += 1;
        }
    }

    /// `set` begins to read the map page that it is going to write.
    pub fn map_page_read(&mut self, set: SetId, page: MapPage) {
        let write = Write { page, carried: None, newer: Vec::new() };
        assert!(self.map.writes.insert(set, write).is_none(), "{page:?} is read twice");
    }

    /// The program of a map page begins, of which `set` was given these entries.
    pub fn map_page_begun(&mut self, set: SetId, page: MapPage, entries: &[Lpn]) {
        let account = &mut self.map;
        let numbered = entries.iter().filter(|lpn| lpn.index() < account.changes.len());
        let carried: Vec<_> = numbered.map(|lpn| (*lpn, account.changes[lpn.index()])).collect();
        let new = Write { page, carried: None, newer: Vec::new() };
        let write = account.writes.entry(set).or_insert(new);
        if account.ordered {
            MapAccount::given(write, &carried);
        }
        let before = write.carried.replace(carried);
        assert!(before.is_none(), "{page:?} is written twice by one set");
    }

    /// The program of a map page by `set` is over.
    pub fn map_page_written(&mut self, set: SetId) {
        let account = &mut self.map;
        let write = account.writes.remove(&set).expect("it has begun");
        let carried = write.carried.expect("it has begun");
        for other in account.writes.values_mut().filter(|other| other.page == write.page) {
            other.newer.extend(carried.iter().map(|(lpn, _)| *lpn));
            if let (true, Some(carried)) = (account.ordered, &other.carried) {
                MapAccount::given(other, carried);
            }
        }
        for (lpn, number) in carried {
            let known = &mut account.on_flash[lpn.index()];
            *known = (*known).max(number);
        }
    }

    /// The run is over: every entry is on flash as it is, or dirty in the cache.
    pub fn finish_map(&self, is_dirty: impl Fn(Lpn) -> bool) {
        let account = &self.map;
        assert!(account.writes.is_empty(), "map pages are being written: {:?}", account.writes);
        for (index, (changes, known)) in account.changes.iter().zip(&account.on_flash).enumerate() {
            let lpn = Lpn::from_index(index);
            assert!(changes == known || is_dirty(lpn), "the entry of {lpn:?} was forgotten");
        }
    }
}
