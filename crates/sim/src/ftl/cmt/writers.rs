//! Sets that write map pages: which entries of its page each one writes.
//!
//! The unfinished writers of a page form a chain, the latest first. Each has a bit for every entry
//! of its page. Memory grows with the most writers at one time.

use crate::handle::SetId;
use flashyard_core::units::MapPage;

#[derive(Clone, Copy, Debug)]
struct Writer {
    set: SetId,
    /// The one before it of its page, or the next unused one, + 1.
    earlier: u32,
}

/// All unfinished writers.
#[derive(Clone, Debug)]
pub(super) struct Writers {
    /// The latest writer + 1 of each map page.
    latest: Vec<u32>,
    all: Vec<Writer>,
    /// `words` of them a writer.
    bits: Vec<u64>,
    words: usize,
    entries_per_page: u32,
    /// The first unused one + 1.
    unused: u32,
}

impl Writers {
    pub(super) fn new(pages: u32, entries_per_page: u32) -> Self {
        Self {
            latest: vec![0; pages as usize],
            all: Vec::new(),
            bits: Vec::new(),
            words: (entries_per_page as usize).div_ceil(64),
            entries_per_page,
            unused: 0,
        }
    }

    /// `set` is going to write `page`, after all that do already.
    pub(super) fn begin(&mut self, page: MapPage, set: SetId) {
        let place = self.place(set);
        let earlier = std::mem::replace(&mut self.latest[page.index()], place + 1);
        self.all[place as usize].earlier = earlier;
    }

    /// `set` is going to write `page` just before `later` does.
    pub(super) fn begin_before(&mut self, page: MapPage, set: SetId, later: SetId) {
        let place = self.place(set);
        let later = self.find(page, later).expect("a writer began");
        let earlier = std::mem::replace(&mut self.all[later].earlier, place + 1);
        self.all[place as usize].earlier = earlier;
    }

    /// An unused place for a writer.
    fn place(&mut self, set: SetId) -> u32 {
        let place = if let Some(unused) = self.unused.checked_sub(1) {
            self.unused = self.all[unused as usize].earlier;
            unused
        } else {
            self.all.push(Writer { set, earlier: 0 });
            self.bits.resize(self.bits.len() + self.words, 0);
            u32::try_from(self.all.len() - 1).expect("fewer than sets")
        };
        self.all[place as usize].set = set;
        place
    }

    /// `set` has written `page`.
    pub(super) fn end(&mut self, page: MapPage, set: SetId) {
        let place = self.find(page, set).expect("a writer began");
        let earlier = self.all[place].earlier;
        let link = u32::try_from(place + 1).expect("fewer than sets");
        if self.latest[page.index()] == link {
            self.latest[page.index()] = earlier;
        } else {
            let mut later = self.latest[page.index()] as usize - 1;
            while self.all[later].earlier != link {
                later = self.all[later].earlier as usize - 1;
            }
            self.all[later].earlier = earlier;
        }
        self.bits[place * self.words..][..self.words].fill(0);
        self.all[place].earlier = std::mem::replace(&mut self.unused, link);
    }

    /// `set`, which is writing `page`, writes this entry of it.
    pub(super) fn cover(&mut self, page: MapPage, set: SetId, lpn: u32) {
        let place = self.find(page, set).expect("a writer began");
        let (word, bit) = self.bit(place, lpn);
        self.bits[word] |= bit;
    }

    /// Whether `set`, which is writing `page`, writes this entry of it.
    pub(super) fn covers(&self, page: MapPage, set: SetId, lpn: u32) -> bool {
        self.find(page, set).is_some_and(|place| {
            let (word, bit) = self.bit(place, lpn);
            self.bits[word] & bit != 0
        })
    }

    /// The latest set that is writing `page`.
    pub(super) fn latest(&self, page: MapPage) -> Option<SetId> {
        let place = self.latest[page.index()].checked_sub(1);
        place.map(|place| self.all[place as usize].set)
    }

    /// The latest set that is writing this entry of `page`.
    pub(super) fn of(&self, page: MapPage, lpn: u32) -> Option<SetId> {
        let writes = |place: &usize| {
            let (word, bit) = self.bit(*place, lpn);
            self.bits[word] & bit != 0
        };
        self.of_page(page).find(writes).map(|place| self.all[place].set)
    }

    /// The most writers at one time.
    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.all.len()
    }

    /// The writers of a page, the latest first.
    fn of_page(&self, page: MapPage) -> impl Iterator<Item = usize> {
        let place = |link: u32| link.checked_sub(1).map(|place| place as usize);
        std::iter::successors(place(self.latest[page.index()]), move |&at| {
            place(self.all[at].earlier)
        })
    }

    fn find(&self, page: MapPage, set: SetId) -> Option<usize> {
        self.of_page(page).find(|&place| self.all[place].set == set)
    }

    /// The word and bit of an entry.
    const fn bit(&self, place: usize, lpn: u32) -> (usize, u64) {
        let entry = lpn % self.entries_per_page;
        (place * self.words + entry as usize / 64, 1 << (entry % 64))
    }
}
