//! The checker: a second, independent account of what the device may do.
//!
//! It keeps its own versions of every page, its own state of every block and die, and panics at
//! the first broken rule. Each change of a page has a version, its place in the order of
//! translation; version 0 is the initial contents.

use crate::config::Settings;
use crate::ftl::page_map::PageMap;
use flashyard_core::command::Op;
use flashyard_core::geometry::Geometry;
use flashyard_core::units::{BlockId, ChannelId, DieId, Lpn, Ppn, Time};
use std::collections::BTreeMap;

/// A read on its way: what it will return.
#[derive(Clone, Copy, Debug)]
struct Reading {
    lpn: Lpn,
    version: u64,
}

/// A request that has not been answered.
#[derive(Clone, Debug)]
struct Asked {
    first: Lpn,
    /// The newest acknowledged version of each page at arrival.
    acknowledged: Vec<u64>,
    /// What it has changed, with versions.
    changed: Vec<(Lpn, u64)>,
    /// Its place in the order in which requests came to the device, from 1; 0 until it has.
    entry: u64,
}

/// The checker of one run.
#[derive(Debug)]
pub struct Checker {
    geometry: Geometry,
    /// Version of the contents of each physical page; 0 also for pages without data.
    contents: Vec<u64>,
    /// The next page that each block may program.
    next_page: Vec<u32>,
    /// Where the newest committed version of each page is (PPN + 1, or 0 for nowhere), and which.
    place: Vec<u32>,
    newest: Vec<u64>,
    acknowledged: Vec<u64>,
    /// The latest request, by the order in which they came, from 1, whose change of each page has
    /// been translated.
    latest: Vec<u64>,
    busy: Vec<bool>,
    /// When each channel has carried all that it was given.
    channel_end: Vec<Time>,
    reading: Vec<Option<Reading>>,
    asked: BTreeMap<u64, Asked>,
    entered: u64,
    last_time: Time,
}

impl Checker {
    /// A checker of a device in which nothing has happened.
    pub fn new(settings: &Settings) -> Self {
        let geometry = settings.geometry;
        let units = settings.exported_units as usize;
        Self {
            geometry,
            contents: vec![0; usize::try_from(geometry.pages()).expect("checked to fit 32 bits")],
            next_page: vec![0; geometry.blocks() as usize],
            place: vec![0; units],
            newest: vec![0; units],
            acknowledged: vec![0; units],
            latest: vec![0; units],
            busy: vec![false; geometry.dies() as usize],
            channel_end: vec![Time::ZERO; geometry.channels as usize],
            reading: vec![None; geometry.dies() as usize],
            asked: BTreeMap::new(),
            entered: 0,
            last_time: Time::ZERO,
        }
    }

    /// Takes over what the initial state wrote.
    pub fn adopt(&mut self, map: &PageMap) {
        for index in 0..self.place.len() {
            if let Some(ppn) = map.lookup(Lpn::from_index(index)) {
                self.place[index] = ppn.get() + 1;
            }
        }
        for (index, next) in self.next_page.iter_mut().enumerate() {
            let block = BlockId::from_index(index);
            *next = map.blocks.written_pages(block);
        }
    }

    /// A request has arrived.
    pub fn arrived(&mut self, order: u64, first: Lpn, pages: u32) {
        let start = first.index();
        let acknowledged = self.acknowledged[start..start + pages as usize].to_vec();
        let asked = Asked { first, acknowledged, changed: Vec::new(), entry: 0 };
        assert!(self.asked.insert(order, asked).is_none(), "request {order} arrived twice");
    }

    /// A request has come over the link and is in the host queue.
    pub fn entered(&mut self, order: u64) {
        self.entered += 1;
        let asked = self.asked.get_mut(&order).expect("a request arrives first");
        let before = std::mem::replace(&mut asked.entry, self.entered);
        assert_eq!(before, 0, "request {order} came twice");
    }

    /// A page access has been translated. Accesses of a page keep the order in which requests came
    /// to the device where one of the two changes it.
    pub fn translated(&mut self, order: u64, lpn: Lpn, changes: bool) {
        let entry = self.asked[&order].entry;
        assert!(entry > 0, "request {order} has not come to the device");
        let latest = &mut self.latest[lpn.index()];
        assert!(entry >= *latest, "request {order} was overtaken at {lpn:?} by a later change");
        if changes {
            *latest = entry;
        }
    }

    /// A die takes a command. `read` is the logical page of a host read.
    pub fn started(&mut self, now: Time, die: DieId, op: Op, ppn: Option<Ppn>, read: Option<Lpn>) {
        assert!(now >= self.last_time, "time runs backwards");
        self.last_time = now;
        let busy = std::mem::replace(&mut self.busy[die.index()], true);
        assert!(!busy, "{die:?} does two array operations at a time");
        if let Some(ppn) = ppn {
            let home = self.geometry.die_of_block(self.geometry.block_of(ppn));
            assert_eq!(home, die, "{ppn:?} is not on this die");
        }
        if op == Op::Program {
            let ppn = ppn.expect("a program has a page");
            let next = &mut self.next_page[self.geometry.block_of(ppn).index()];
            assert_eq!(*next, self.geometry.page_in_block(ppn), "programmed out of order: {ppn:?}");
            *next += 1;
        }
        if let Some(lpn) = read {
            let place = self.place[lpn.index()].checked_sub(1).map(Ppn::new);
            assert_eq!(ppn, place, "a read of {lpn:?} goes to the wrong page");
            let version = match ppn {
                Some(ppn) => {
                    let block = self.geometry.block_of(ppn).index();
                    assert!(
                        self.geometry.page_in_block(ppn) < self.next_page[block],
                        "{ppn:?} is read but was erased"
                    );
                    self.contents[ppn.index()]
                }
                None => self.newest[lpn.index()],
            };
            self.reading[die.index()] = Some(Reading { lpn, version });
        }
    }

    /// A channel carries a page.
    pub fn transferred(&mut self, channel: ChannelId, start: Time, end: Time) {
        let last = std::mem::replace(&mut self.channel_end[channel.index()], end);
        assert!(start >= last, "{channel:?} carries two things at a time");
        assert!(end > start, "a transfer takes time");
    }

    /// A die is free again.
    pub fn over(&mut self, now: Time, die: DieId) {
        assert!(now >= self.last_time, "time runs backwards");
        self.last_time = now;
        let busy = std::mem::replace(&mut self.busy[die.index()], false);
        assert!(busy, "{die:?} finished what it never started");
    }

    /// A host read has returned what its page held when it started.
    pub fn read_over(&mut self, die: DieId, order: u64, page: u32) {
        let reading = self.reading[die.index()].take().expect("a read was started");
        let asked = &self.asked[&order];
        assert_eq!(reading.lpn.get(), asked.first.get() + page, "a read of another page");
        let known = asked.acknowledged[page as usize];
        assert!(
            reading.version >= known,
            "request {order} read version {} of {:?}, but {known} had been acknowledged when it arrived",
            reading.version,
            reading.lpn
        );
    }

    /// Host data is on flash. `number` is its place in the order of translation.
    pub fn programmed(&mut self, order: u64, ppn: Ppn, lpn: Lpn, number: u64) {
        self.contents[ppn.index()] = number + 1;
        self.change(order, lpn, number + 1, ppn.get() + 1);
    }

    /// A page has been trimmed.
    pub fn trimmed(&mut self, order: u64, lpn: Lpn, number: u64) {
        self.change(order, lpn, number + 1, 0);
    }

    fn change(&mut self, order: u64, lpn: Lpn, version: u64, place: u32) {
        let asked = self.asked.get_mut(&order).expect("only an unanswered request changes pages");
        asked.changed.push((lpn, version));
        if version > self.newest[lpn.index()] {
            self.newest[lpn.index()] = version;
            self.place[lpn.index()] = place;
        }
    }

    /// A copy has been programmed; `data` is its logical page, none for a map page.
    pub fn copied(&mut self, from: Ppn, to: Ppn, data: Option<Lpn>) {
        self.contents[to.index()] = self.contents[from.index()];
        if let Some(lpn) = data
            && self.place[lpn.index()] == from.get() + 1
        {
            self.place[lpn.index()] = to.get() + 1;
        }
    }

    /// A block has been erased.
    pub fn erased(&mut self, block: BlockId) {
        assert_eq!(
            self.next_page[block.index()],
            self.geometry.pages_per_block,
            "{block:?} was erased before it was full"
        );
        for page in 0..self.geometry.pages_per_block {
            self.contents[self.geometry.page_of(block, page).index()] = 0;
        }
        self.next_page[block.index()] = 0;
    }

    /// A request has been answered.
    pub fn answered(&mut self, order: u64) {
        let asked = self.asked.remove(&order);
        let asked = asked.unwrap_or_else(|| panic!("request {order} was answered twice"));
        for (lpn, version) in asked.changed {
            let known = &mut self.acknowledged[lpn.index()];
            *known = (*known).max(version);
        }
    }

    /// The run is over: every request is answered, both maps agree, and no page that the map names
    /// was erased.
    pub fn finish(&self, map: &PageMap) {
        assert!(self.asked.is_empty(), "requests are unanswered: {:?}", self.asked.keys());
        for (index, &place) in self.place.iter().enumerate() {
            let lpn = Lpn::from_index(index);
            let ppn = place.checked_sub(1).map(Ppn::new);
            assert_eq!(map.lookup(lpn), ppn, "where {lpn:?} is");
            if let Some(ppn) = ppn {
                assert_eq!(self.contents[ppn.index()], self.newest[index], "contents of {lpn:?}");
            }
        }
    }
}
