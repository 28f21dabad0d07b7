//! A page map in its plainest form, one operation after the other, to hold devices against. It
//! shares no code with the simulator, and finds everything by looking at everything.

#![allow(unreachable_pub, clippy::allow_attributes, reason = "a plain interface, as in `common`")]

use std::collections::VecDeque;

/// One operation: what, and on which page (erases: the first of the block).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flash {
    Read(Option<u32>),
    Program(u32),
    Erase(u32),
}

/// Which candidates a search looks at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Window {
    /// One, drawn at random.
    One,
    /// This share of them, in parts per million, from where the last search stopped.
    Share(u64),
}

/// What can be chosen.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    pub pages: u32,
    pub blocks: u32,
    pub reserve: usize,
    pub window: Window,
    /// Whether copies have an open block of their own.
    pub own_copies: bool,
}

/// The device.
#[derive(Debug)]
pub struct PageMap {
    shape: Shape,
    /// Logical page by physical page, and back.
    owner: Vec<Option<u32>>,
    place: Vec<Option<u32>>,
    /// Pages programmed since the last erase, and what is being filled: of the host, of copies.
    written: Vec<u32>,
    open: [Option<u32>; 2],
    free: VecDeque<u32>,
    next: u32,
    drawn: u64,
    pub jobs: u64,
    pub searches: u64,
    pub log: Vec<Flash>,
}

impl PageMap {
    pub fn new(shape: Shape, logical: u32) -> Self {
        Self {
            shape,
            owner: vec![None; (shape.blocks * shape.pages) as usize],
            place: vec![None; logical as usize],
            written: vec![0; shape.blocks as usize],
            open: [None; 2],
            free: (0..shape.blocks).collect(),
            next: 0,
            drawn: 0,
            jobs: 0,
            searches: 0,
            log: Vec::new(),
        }
    }

    /// Every page is written once, in order, which does not count.
    pub fn fill(&mut self) {
        for lpn in 0..u32::try_from(self.place.len()).unwrap() {
            self.program(lpn, 0);
        }
        self.log.clear();
    }

    pub fn free(&self) -> usize {
        self.free.len()
    }

    pub fn read(&mut self, lpn: u32) {
        self.log.push(Flash::Read(self.place[lpn as usize]));
    }

    pub fn trim(&mut self, lpn: u32) {
        if let Some(old) = self.place[lpn as usize].take() {
            self.owner[old as usize] = None;
        }
    }

    pub fn write(&mut self, lpn: u32) {
        while self.open[0].is_none() && self.free.len() <= self.shape.reserve {
            self.collect();
        }
        self.program(lpn, 0);
    }

    fn program(&mut self, lpn: u32, slot: usize) {
        let block = self.open[slot].unwrap_or_else(|| self.free.pop_front().expect("a block"));
        let ppn = block * self.shape.pages + self.written[block as usize];
        self.written[block as usize] += 1;
        let filled = self.written[block as usize] == self.shape.pages;
        self.open[slot] = (!filled).then_some(block);
        self.trim(lpn);
        self.place[lpn as usize] = Some(ppn);
        self.owner[ppn as usize] = Some(lpn);
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
        assert!(!shown.is_empty(), "nothing to collect");
        let count = shown.len() as u64;
        match self.shape.window {
            Window::Share(1_000_000) => {}
            Window::One => {
                self.drawn = self.drawn.wrapping_add(0x9E37_79B9_7F4A_7C15);
                let mut z = self.drawn;
                z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
                z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
                let place = (((z ^ (z >> 31)) >> 32) * count) >> 32;
                shown = vec![shown[usize::try_from(place).unwrap()]];
            }
            Window::Share(ppm) => {
                let size = usize::try_from((count * ppm).div_ceil(1_000_000)).unwrap();
                let start = shown.iter().position(|block| *block >= self.next).unwrap_or(0);
                shown.rotate_left(start);
                shown.truncate(size);
                self.next = shown[size - 1] + 1;
            }
        }
        self.searches += shown.len() as u64;
        *shown.iter().min_by_key(|block| self.valid(**block)).unwrap()
    }

    /// Collects until so many blocks are free or nothing gains.
    pub fn restore(&mut self, blocks: usize) {
        while self.free.len() < blocks && !self.candidates().is_empty() {
            self.collect();
        }
    }

    /// Cleans one block.
    pub fn collect(&mut self) {
        let victim = self.victim();
        self.jobs += 1;
        // No candidate while it is being emptied.
        self.written[victim as usize] = 0;
        for ppn in victim * self.shape.pages..(victim + 1) * self.shape.pages {
            if let Some(lpn) = self.owner[ppn as usize] {
                self.log.push(Flash::Read(Some(ppn)));
                self.program(lpn, usize::from(self.shape.own_copies));
            }
        }
        self.log.push(Flash::Erase(victim * self.shape.pages));
        self.free.push_back(victim);
    }
}
