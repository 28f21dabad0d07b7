//! DFTL in its plainest form, one operation after the other, to hold devices against. It shares no
//! code with the simulator, and finds everything by looking at everything.

#![allow(unreachable_pub, clippy::allow_attributes, reason = "a plain interface, as in `common`")]

use std::collections::VecDeque;

/// One operation: what, and on which page (erases: the first of the block).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flash {
    Read(Option<u32>),
    Program(u32),
    Erase(u32),
}

/// What a page holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Name {
    Data(u32),
    Map(u32),
}

/// What can be chosen.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    pub pages: u32,
    pub blocks: u32,
    pub reserve: usize,
    /// Share of the candidates that a search looks at, in parts per million.
    pub window: u64,
    pub emergency: bool,
    /// Entries of the cache, and how many of them are protected.
    pub entries: usize,
    pub protected: usize,
    pub entries_per_page: u32,
    pub batch: bool,
    pub lazy: bool,
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    lpn: u32,
    dirty: bool,
}

/// The device.
#[derive(Debug)]
pub struct DemandMap {
    pub shape: Shape,
    owner: Vec<Option<Name>>,
    data: Vec<Option<u32>>,
    maps: Vec<Option<u32>>,
    /// Pages programmed since the last erase, and what is being filled: data, map pages.
    written: Vec<u32>,
    open: [Option<u32>; 2],
    free: VecDeque<u32>,
    next: u32,
    /// The segments, the newest entry first: probationary, protected.
    segments: [Vec<Entry>; 2],
    pub hits: u64,
    pub misses: u64,
    pub jobs: u64,
    pub searches: u64,
    /// Whether a program found no free block; what follows means nothing.
    pub exhausted: bool,
    pub log: Vec<Flash>,
}

impl DemandMap {
    pub fn new(shape: Shape, logical: u32) -> Self {
        Self {
            shape,
            owner: vec![None; (shape.blocks * shape.pages) as usize],
            data: vec![None; logical as usize],
            maps: vec![None; logical.div_ceil(shape.entries_per_page) as usize],
            written: vec![0; shape.blocks as usize],
            open: [None; 2],
            free: (0..shape.blocks).collect(),
            next: 0,
            segments: [Vec::new(), Vec::new()],
            hits: 0,
            misses: 0,
            jobs: 0,
            searches: 0,
            exhausted: false,
            log: Vec::new(),
        }
    }

    /// Every page is written once, in order, then every map page, which does not count.
    pub fn fill(&mut self) {
        for lpn in 0..u32::try_from(self.data.len()).unwrap() {
            self.program(Name::Data(lpn));
        }
        for page in 0..u32::try_from(self.maps.len()).unwrap() {
            self.program(Name::Map(page));
        }
        self.log.clear();
    }

    pub fn read(&mut self, lpn: u32) {
        self.resolve(lpn);
        self.log.push(Flash::Read(self.data[lpn as usize]));
    }

    pub fn trim(&mut self, lpn: u32) {
        self.resolve(lpn);
        self.forget(Name::Data(lpn));
        self.entry(lpn).unwrap().dirty = true;
    }

    pub fn write(&mut self, lpn: u32) {
        self.resolve(lpn);
        self.ensure_room(0);
        self.program(Name::Data(lpn));
        self.entry(lpn).unwrap().dirty = true;
    }

    /// Writes every map page with dirty entries back.
    pub fn flush(&mut self) {
        for page in 0..u32::try_from(self.maps.len()).unwrap() {
            let all = self.segments.iter().flatten();
            if all.clone().any(|entry| entry.dirty && self.page(entry.lpn) == page) {
                self.write_back(page);
                self.clean(page);
            }
        }
    }

    fn page(&self, lpn: u32) -> u32 {
        lpn / self.shape.entries_per_page
    }

    fn entry(&mut self, lpn: u32) -> Option<&mut Entry> {
        self.segments.iter_mut().flatten().find(|entry| entry.lpn == lpn)
    }

    fn clean(&mut self, page: u32) {
        let entries_per_page = self.shape.entries_per_page;
        let all = self.segments.iter_mut().flatten();
        all.filter(|entry| entry.lpn / entries_per_page == page)
            .for_each(|entry| entry.dirty = false);
    }

    /// Has the entry of a page in the cache, the most recently used one.
    fn resolve(&mut self, lpn: u32) {
        for segment in 0..2 {
            let found = self.segments[segment].iter().position(|entry| entry.lpn == lpn);
            let Some(place) = found else { continue };
            self.hits += 1;
            let entry = self.segments[segment].remove(place);
            self.segments[1].insert(0, entry);
            if self.segments[1].len() > self.shape.protected {
                let demoted = self.segments[1].pop().unwrap();
                self.segments[0].insert(0, demoted);
            }
            return;
        }
        self.misses += 1;
        if self.segments[0].len() + self.segments[1].len() == self.shape.entries {
            let segment = usize::from(self.segments[0].is_empty());
            let victim = *self.segments[segment].last().unwrap();
            if victim.dirty {
                let page = self.page(victim.lpn);
                self.write_back(page);
                if self.shape.batch {
                    self.clean(page);
                }
            }
            let gone = self.segments[segment].pop().unwrap();
            assert_eq!(gone.lpn, victim.lpn, "collection uses no entry");
        }
        let page = self.page(lpn);
        if self.maps[page as usize].is_some() {
            self.log.push(Flash::Read(self.maps[page as usize]));
        }
        self.segments[0].insert(0, Entry { lpn, dirty: false });
    }

    fn write_back(&mut self, page: u32) {
        if self.maps[page as usize].is_some() {
            self.log.push(Flash::Read(self.maps[page as usize]));
        }
        self.ensure_room(1);
        self.program(Name::Map(page));
    }

    fn ensure_room(&mut self, slot: usize) {
        while self.open[slot].is_none() && self.free.len() <= self.shape.reserve {
            if self.exhausted || self.candidates().is_empty() {
                self.exhausted = true;
                return;
            }
            self.collect();
        }
    }

    fn forget(&mut self, name: Name) {
        let place = match name {
            Name::Data(lpn) => self.data[lpn as usize].take(),
            Name::Map(page) => self.maps[page as usize].take(),
        };
        if let Some(old) = place {
            self.owner[old as usize] = None;
        }
    }

    fn program(&mut self, name: Name) {
        let slot = usize::from(matches!(name, Name::Map(_)));
        let Some(block) = self.open[slot].or_else(|| self.free.pop_front()) else {
            self.exhausted = true;
            return;
        };
        let ppn = block * self.shape.pages + self.written[block as usize];
        self.written[block as usize] += 1;
        let filled = self.written[block as usize] == self.shape.pages;
        self.open[slot] = (!filled).then_some(block);
        self.forget(name);
        self.owner[ppn as usize] = Some(name);
        match name {
            Name::Data(lpn) => self.data[lpn as usize] = Some(ppn),
            Name::Map(page) => self.maps[page as usize] = Some(ppn),
        }
        self.log.push(Flash::Program(ppn));
    }

    fn valid(&self, block: u32) -> usize {
        let first = (block * self.shape.pages) as usize;
        let pages = &self.owner[first..first + self.shape.pages as usize];
        pages.iter().filter(|owner| owner.is_some()).count()
    }

    /// Full blocks with an invalid page, by number.
    fn candidates(&self) -> Vec<u32> {
        let pages = self.shape.pages;
        let full = (0..self.shape.blocks).filter(|block| self.written[*block as usize] == pages);
        full.filter(|block| self.valid(*block) < pages as usize).collect()
    }

    /// The first candidate with the fewest valid pages among those that the window shows.
    fn victim(&mut self) -> u32 {
        let mut shown = self.candidates();
        let scarce = self.shape.emergency && self.free.len() <= self.shape.reserve / 2;
        if self.shape.window < 1_000_000 && !scarce {
            let size = (shown.len() as u64 * self.shape.window).div_ceil(1_000_000);
            let size = usize::try_from(size).unwrap();
            let start = shown.iter().position(|block| *block >= self.next).unwrap_or(0);
            shown.rotate_left(start);
            shown.truncate(size);
            self.next = shown[size - 1] + 1;
        }
        self.searches += shown.len() as u64;
        *shown.iter().min_by_key(|block| self.valid(**block)).unwrap()
    }

    /// Cleans one block: copies, then the map pages of what is not cached, then the erase.
    pub fn collect(&mut self) {
        let victim = self.victim();
        self.jobs += 1;
        // No candidate while it is being emptied.
        self.written[victim as usize] = 0;
        let mut rewrites: Vec<u32> = Vec::new();
        for ppn in victim * self.shape.pages..(victim + 1) * self.shape.pages {
            let Some(name) = self.owner[ppn as usize] else { continue };
            self.log.push(Flash::Read(Some(ppn)));
            self.program(name);
            let Name::Data(lpn) = name else { continue };
            let page = self.page(lpn);
            let lazy = self.shape.lazy;
            match self.entry(lpn) {
                Some(entry) if lazy => entry.dirty = true,
                _ if !rewrites.contains(&page) => rewrites.push(page),
                _ => {}
            }
        }
        for page in rewrites {
            if self.maps[page as usize].is_some() {
                self.log.push(Flash::Read(self.maps[page as usize]));
            }
            self.program(Name::Map(page));
        }
        self.log.push(Flash::Erase(victim * self.shape.pages));
        self.free.push_back(victim);
    }
}
