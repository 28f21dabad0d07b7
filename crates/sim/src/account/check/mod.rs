//! The checker: a second, independent account of what the device may do.
//!
//! It keeps its own versions of every page, its own state of every block and die, and panics at
//! the first broken rule. Each change of a page has a version, its place in the order of
//! translation; version 0 is the initial contents.

mod buffer;
mod data;
mod map;
mod sectors;
mod slc;
mod times;
mod units;

use crate::config::{MapHazards, Precision, ProgramOrder, Settings};
use crate::parts::log::none::RawOrder;
use crate::random::TurnedBits;
use flashyard_core::bus::policy::BusPolicyName;
use flashyard_core::command::Op;
use flashyard_core::geometry::Geometry;
use flashyard_core::request::{Request, RequestOp};
use flashyard_core::units::{BlockId, ChannelId, DieId, Lpn, PlaneId, Ppn, Time};
use std::collections::BTreeMap;
use std::ops::Range;

/// In place of the next unit of a block that must not be used.
const WORN_OUT: u32 = u32::MAX;

/// A read on its way: what it will return.
#[derive(Clone, Debug)]
struct Reading {
    lpn: Lpn,
    version: u64,
    block: Option<BlockId>,
    /// The data of its unit; none of a logical unit that is nowhere.
    promise: Option<data::Promise>,
    /// What its sectors hold, where that is followed.
    sectors: Option<Box<[u64]>>,
}

/// A request that has not been answered.
#[derive(Clone, Debug)]
struct Asked {
    request: Request,
    first: Lpn,
    /// The newest acknowledged version of each page at arrival.
    acknowledged: Vec<u64>,
    /// The same of the sectors of each page that is read, where they are followed.
    sectors: Vec<Box<[u64]>>,
    /// What it has changed, with versions.
    changed: Vec<(Lpn, u64)>,
    /// Whether it is answered only when its changes are kept, whatever happens.
    durable: bool,
    /// What must be kept so before it starts, or is answered.
    volatile: Vec<(Lpn, u64)>,
    /// Its place in the order in which requests came to the device, from 1; 0 until it has.
    entry: u64,
    /// Bytes that have yet to cross the link, where that is counted.
    to_carry: u64,
}

/// The checker of one run.
#[derive(Clone, Debug)]
pub struct Checker {
    geometry: Geometry,
    /// Version of the contents of each physical page; 0 also for pages without data.
    contents: Vec<u64>,
    /// What the array holds.
    data: data::DataAccount,
    /// The next unit that each block may program.
    next_unit: Vec<u32>,
    /// Where the newest committed version of each logical unit is, and what else is known of it.
    places: units::Places,
    units: units::Rows<units::Known>,
    /// What each die's array does, whether its page register is in use, what is suspended.
    array: Vec<Option<Op>>,
    register: Vec<bool>,
    suspended: Vec<Option<Op>>,
    cache_read: bool,
    /// Whether a die begins while the last data of the operation before leave its register.
    by_loop: bool,
    /// The program order of blocks. If it is not sequential, one bit for each page that is
    /// programmed.
    order: ProgramOrder,
    programmed: Vec<u64>,
    /// Programs that the operation that has begun last fills, by their first unit.
    filled: Vec<u32>,
    /// Whether the host names physical pages, and whether they are programmed whatever their state.
    raw: bool,
    any_state: bool,
    /// Whether blocks are erased whenever their zone is reset.
    zoned: bool,
    /// Whether each die's array is at work, suspended or not, and how many may be.
    drawing: Vec<bool>,
    most_drawing: usize,
    /// When each channel has carried all that it was given.
    channel_end: Vec<Time>,
    /// Host reads on their way, by request and page.
    reading: BTreeMap<(u64, u32), Reading>,
    asked: BTreeMap<u64, Asked>,
    /// The write buffer's side of this account.
    buffer: buffer::BufferAccount,
    /// That of a map on flash.
    map: map::MapAccount,
    /// That of sectors, where parts of units are written and the rest is kept.
    sectors: Option<Box<sectors::SectorAccount>>,
    /// That of array times.
    times: times::TimeAccount,
    /// That of blocks that are used with one bit a cell.
    cells: slc::CellAccount,
    entered: u64,
    last_time: Time,
    /// Whether the device sleeps, or is on its way there or back.
    dozes: bool,
}

impl Checker {
    /// A checker of a device in which nothing has happened.
    pub fn new(settings: &Settings) -> Self {
        let geometry = settings.geometry;
        let units = settings.exported_units as usize;
        let physical = usize::try_from(geometry.units()).expect("checked to fit 32 bits");
        let raw = settings.keys.is_raw();
        let any_state = raw && settings.keys.schemes.none.order == RawOrder::Ignored;
        let order = if any_state { ProgramOrder::Any } else { settings.keys.nand.program_order };
        Self {
            geometry,
            contents: vec![0; physical],
            data: data::DataAccount::new(physical, geometry.unit_bytes()),
            next_unit: vec![0; geometry.blocks() as usize],
            places: units::Places::new(units),
            units: units::Rows::new(units),
            array: vec![None; geometry.dies() as usize],
            register: vec![false; geometry.dies() as usize],
            suspended: vec![None; geometry.dies() as usize],
            cache_read: settings.keys.nand.cache_read,
            by_loop: raw
                && settings.keys.bus.precision == Precision::Requests
                && settings.keys.channel.arbitration == BusPolicyName::Framework,
            raw,
            any_state,
            zoned: settings.zones.is_some(),
            order,
            programmed: match order {
                ProgramOrder::Sequential => Vec::new(),
                _ => vec![0; physical.div_ceil(64)],
            },
            filled: Vec::new(),
            drawing: vec![false; geometry.dies() as usize],
            most_drawing: match settings.keys.energy.max_active_dies {
                0 => usize::MAX,
                most => usize::try_from(most).unwrap_or(usize::MAX),
            },
            channel_end: vec![Time::ZERO; geometry.channels as usize],
            reading: BTreeMap::new(),
            asked: BTreeMap::new(),
            buffer: buffer::BufferAccount::new(!settings.keys.buffer.volatile),
            map: map::MapAccount::new(
                if settings.map_pages > 0 { units } else { 0 },
                settings.keys.map.hazards == MapHazards::Order,
            ),
            sectors: sectors::SectorAccount::new(settings),
            times: times::TimeAccount::new(settings),
            cells: slc::CellAccount::new(settings),
            entered: 0,
            last_time: Time::ZERO,
            dozes: false,
        }
    }

    /// Takes over what the initial state wrote: where each logical unit is, and how many units of
    /// each block have been programmed.
    pub fn adopt(&mut self, place: impl Fn(Lpn) -> Option<Ppn>, written: impl Fn(BlockId) -> u32) {
        for lpn in (0..self.places.len()).map(Lpn::from_index) {
            let Some(ppn) = place(lpn) else { continue };
            self.places.set(lpn, Some(ppn));
            self.data.store(ppn, lpn, 0);
            if let Some(sectors) = &mut self.sectors {
                sectors.adopt(lpn);
            }
        }
        for (index, next) in self.next_unit.iter_mut().enumerate() {
            let block = BlockId::from_index(index);
            *next = written(block);
            for unit in 0..*next {
                let unit = self.geometry.unit_of(block, unit).index();
                if let Some(word) = self.programmed.get_mut(unit / 64) {
                    *word |= 1 << (unit % 64);
                }
            }
        }
    }

    /// Takes over which pages have been programmed, where that is not what comes first in a block.
    pub fn adopt_pages(&mut self, written: &[u64]) {
        let words = self.programmed.len();
        self.programmed.copy_from_slice(&written[..words]);
        for unit in 0..self.contents.len() {
            if written[unit / 64] & (1 << (unit % 64)) == 0 {
                continue;
            }
            let ppn = Ppn::from_index(unit);
            let next = &mut self.next_unit[self.geometry.block_of(ppn).index()];
            *next = self.geometry.unit_in_block(ppn) + 1;
        }
    }

    /// Takes over which blocks are used with one bit a cell.
    pub fn adopt_cells(&mut self, is_slc: impl Fn(BlockId) -> bool) {
        self.cells.adopt(is_slc);
    }

    fn is_programmed(&self, unit: usize) -> bool {
        self.programmed[unit / 64] & (1 << (unit % 64)) != 0
    }

    /// Takes over which blocks are bad from the start or worn out.
    pub fn adopt_bad_blocks(&mut self, is_bad: impl Fn(BlockId) -> bool) {
        for (index, next) in self.next_unit.iter_mut().enumerate() {
            if is_bad(BlockId::from_index(index)) {
                *next = WORN_OUT;
            }
        }
    }

    /// A block is never to be used again.
    pub fn worn_out(&mut self, block: BlockId) {
        self.next_unit[block.index()] = WORN_OUT;
    }

    /// A request has arrived.
    pub fn arrived(&mut self, order: u64, request: &Request, first: Lpn, pages: u32) {
        let acknowledged = self.acknowledged(first, pages);
        let sectors = match &self.sectors {
            Some(account) if request.op == RequestOp::Read => {
                let units = (first.index()..).map(Lpn::from_index).zip(&acknowledged);
                units.map(|(lpn, version)| account.acknowledged(lpn, *version)).collect()
            }
            _ => Vec::new(),
        };
        let asked = Asked {
            request: *request,
            first,
            acknowledged,
            sectors,
            changed: Vec::new(),
            durable: false,
            volatile: Vec::new(),
            entry: 0,
            to_carry: 0,
        };
        assert!(self.asked.insert(order, asked).is_none(), "request {order} arrived twice");
    }

    /// The newest acknowledged versions of so many units in a row.
    fn acknowledged(&self, first: Lpn, units: u32) -> Vec<u64> {
        let units = (first.get()..first.get() + units).map(Lpn::new);
        units.map(|lpn| self.units[lpn].acknowledged).collect()
    }

    /// A request is another one since it was started: an append has its place, and a request
    /// without pages has no effect on them.
    pub fn restated(&mut self, order: u64, request: &Request, first: Lpn, pages: u32) {
        let acknowledged = self.acknowledged(first, pages);
        let asked = self.asked.get_mut(&order).expect("a request arrives first");
        (asked.request, asked.first, asked.acknowledged) = (*request, first, acknowledged);
    }

    /// So many bytes of a request have to cross the link before it is answered.
    pub fn must_carry(&mut self, order: u64, bytes: u64) {
        self.asked.get_mut(&order).expect("a request arrives first").to_carry = bytes;
    }

    /// The link carries bytes of a request.
    pub fn carried(&mut self, order: u64, bytes: u64) {
        let asked = self.asked.get_mut(&order).expect("data of a request under way");
        let left = asked.to_carry.checked_sub(bytes);
        asked.to_carry =
            left.unwrap_or_else(|| panic!("request {order} has no such {bytes} bytes"));
    }

    /// The device sleeps from now on, or is awake again.
    pub fn dozes(&mut self, dozes: bool) {
        let works = self.drawing.iter().any(|drawing| *drawing);
        assert!(!dozes || !works, "a die is at work in a device that sleeps");
        self.dozes = dozes;
    }

    /// A request has come over the link and is in the host queue.
    pub fn entered(&mut self, order: u64) {
        assert!(!self.dozes, "request {order} comes to a device that sleeps");
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
        self.starts(order);
        let latest = self.units[lpn].latest;
        assert!(entry >= latest, "request {order} was overtaken at {lpn:?} by a later change");
        if changes {
            self.units.touch(lpn).latest = entry;
        }
    }

    /// The array of a die begins an operation.
    pub fn started(&mut self, now: Time, die: DieId, op: Op) {
        self.clock(now);
        self.filled.clear();
        self.times.started(now, die, self.suspended[die.index()].is_some());
        assert!(!self.dozes, "{die:?} begins work in a device that sleeps");
        let busy = self.array[die.index()].replace(op);
        assert!(busy.is_none(), "{die:?} does two array operations at a time");
        let reads_on = self.by_loop || self.cache_read && op == Op::Read;
        assert!(!self.register[die.index()] || reads_on, "{die:?} has a page in its register");
        if self.suspended[die.index()].is_some() {
            assert_eq!(op, Op::Read, "{die:?} only reads while an operation is suspended");
        }
        self.drawing[die.index()] = true;
        if self.most_drawing < self.drawing.len() {
            let drawing = self.drawing.iter().filter(|drawing| **drawing).count();
            assert!(drawing <= self.most_drawing, "{drawing} dies are at work at once");
        }
    }

    /// A page or block that an operation works on, with one bit a cell (`slc`) or with all; `read`
    /// is the logical unit and the request and page access of a host read.
    pub fn touched(
        &mut self,
        plane: PlaneId,
        (op, slc): (Op, bool),
        ppn: Option<Ppn>,
        read: Option<(Lpn, (u64, u32))>,
    ) {
        if let Some(ppn) = ppn {
            self.cells.touched(op, ppn, slc);
            let home = self.geometry.plane_of(ppn);
            let die = self.geometry.die_of_plane(plane);
            assert_eq!(self.geometry.die_of_plane(home), die, "{ppn:?} is not on this die");
        }
        let (die, lpn) = (self.geometry.die_of_plane(plane), read.map(|(lpn, _)| lpn));
        self.times.touched((die, plane), (op, slc), ppn, lpn);
        match op {
            Op::Program => self.program(ppn.expect("a program has a unit")),
            Op::Erase => {
                let block = self.geometry.block_of(ppn.expect("an erase has a block"));
                let read = self.reading.values().find(|reading| reading.block == Some(block));
                // By the loop the erase itself follows the last data on the channel.
                let follows =
                    self.by_loop && self.register[self.geometry.die_of_plane(plane).index()];
                assert!(read.is_none() || follows, "{block:?} is erased during {read:?}");
            }
            Op::Read => {}
        }
        if let Some((lpn, access)) = read {
            self.read(lpn, ppn, access);
        }
    }

    /// A program is of one operation: nothing is added to one that is over.
    fn fill(&mut self, ppn: Ppn) {
        let (pages, unit) = (self.cells.program_units(ppn), self.geometry.unit_in_block(ppn));
        let first = ppn.get() - unit % pages;
        if pages == 1 || self.filled.contains(&first) {
            return;
        }
        let is_begun = match self.order {
            ProgramOrder::Sequential => {
                self.next_unit[self.geometry.block_of(ppn).index()] > unit - unit % pages
            }
            _ => (first..first + pages).any(|unit| self.is_programmed(unit as usize)),
        };
        assert!(!is_begun, "{ppn:?} is added to a program that is over");
        self.filled.push(first);
    }

    fn program(&mut self, ppn: Ppn) {
        if !self.raw {
            self.fill(ppn);
        }
        let unit = self.geometry.unit_in_block(ppn);
        if self.order != ProgramOrder::Sequential {
            let index = ppn.index();
            let once = self.any_state || !self.is_programmed(index);
            assert!(once, "{ppn:?} is programmed twice");
            self.programmed[index / 64] |= 1 << (index % 64);
            let next = &mut self.next_unit[self.geometry.block_of(ppn).index()];
            assert_ne!(*next, WORN_OUT, "{ppn:?} is of a bad block");
            // The units of a program have no order.
            let program = |unit: u32| unit / self.geometry.program_units();
            let upwards = self.order == ProgramOrder::Ascending;
            let last = program(next.saturating_sub(1));
            assert!(!upwards || program(unit) >= last, "programmed downwards: {ppn:?}");
            *next = (*next).max(unit + 1);
            return;
        }
        let next = &mut self.next_unit[self.geometry.block_of(ppn).index()];
        assert_ne!(*next, WORN_OUT, "{ppn:?} is of a bad block");
        let program_units = self.cells.program_units(ppn);
        if unit.is_multiple_of(program_units) {
            *next = next.next_multiple_of(program_units);
        }
        assert_eq!(*next, unit, "programmed out of order: {ppn:?}");
        *next += 1;
    }

    fn read(&mut self, lpn: Lpn, ppn: Option<Ppn>, access: (u64, u32)) {
        let place = self.places.of(lpn);
        let named = Ppn::new(lpn.get());
        let wanted = if self.raw { Some(named) } else { place };
        assert_eq!(ppn, wanted, "a read of {lpn:?} goes to the wrong unit");
        let block = place.map(|ppn| self.geometry.block_of(ppn));
        let version = match place.zip(block) {
            Some((ppn, block)) => {
                let written = self.next_unit[block.index()];
                let holds = written != WORN_OUT
                    && self.geometry.unit_in_block(ppn) < written
                    && (self.programmed.is_empty() || self.is_programmed(ppn.index()));
                assert!(holds, "{ppn:?} is read but erased");
                self.contents[ppn.index()]
            }
            None => self.units[lpn].newest,
        };
        let held = place.map(|_| (lpn, version));
        let promise = ppn.map(|ppn| data::DataAccount::promise(ppn, held));
        let sectors = self.sectors_of(lpn);
        self.reading.insert(access, Reading { lpn, version, block, promise, sectors });
    }

    fn clock(&mut self, now: Time) {
        assert!(now >= self.last_time, "time runs backwards");
        self.last_time = now;
    }

    /// What the array of a die has sensed goes to its page register.
    pub fn released(&mut self, die: DieId) {
        let op = self.array[die.index()].take();
        assert_eq!(op, Some(Op::Read), "{die:?} has sensed nothing");
        let held = std::mem::replace(&mut self.register[die.index()], true);
        assert!(!held, "{die:?} overwrites its page register");
    }

    /// The operation of a die is suspended, or goes on.
    pub fn suspended(&mut self, now: Time, die: DieId, goes_on: bool) {
        let (array, suspended) = (&mut self.array[die.index()], &mut self.suspended[die.index()]);
        let (from, to) = if goes_on { (suspended, array) } else { (array, suspended) };
        assert!(from.is_some() && to.is_none(), "{die:?} has no such operation");
        let op = from.take().expect("it has one");
        assert_ne!(op, Op::Read, "{die:?}: reads are not suspended");
        *to = Some(op);
        self.times.suspended(now, die, op, goes_on);
    }

    /// A channel carries commands or data of a die, from `start` to `end`; `out` is whether data
    /// leave it.
    pub fn transferred(
        &mut self,
        channel: ChannelId,
        die: DieId,
        (start, end): (Time, Time),
        out: bool,
    ) {
        if !out {
            self.times.carried_in(die, end);
        }
        let last = std::mem::replace(&mut self.channel_end[channel.index()], end);
        assert!(start >= last, "{channel:?} carries two things at a time");
        assert!(end > start, "a transfer takes time");
    }

    /// An operation of a die is over: its data has left the page register, or it needed none.
    pub fn over(&mut self, now: Time, die: DieId, op: Op, register: bool) {
        self.clock(now);
        if register {
            let held = std::mem::take(&mut self.register[die.index()]);
            assert!(held, "{die:?} has nothing in its page register");
            return;
        }
        let done = self.array[die.index()].take();
        assert_eq!(done, Some(op), "{die:?} finished what it never started");
    }

    /// A host read has returned what its unit held when it started, but for `errors`.
    pub(crate) fn read_over(&mut self, order: u64, page: u32, errors: Option<TurnedBits>) {
        let reading = self.reading.remove(&(order, page));
        let line = self.buffer.reading.remove(&(order, page));
        let asked = &self.asked[&order];
        let lpn = Lpn::new(asked.first.get() + page);
        let flash = reading.as_ref().map(|reading| {
            assert_eq!(reading.lpn, lpn, "a read of another page");
            if let Some(promise) = reading.promise {
                self.compare(promise, errors);
            }
            reading.version
        });
        let line_version = line.as_ref().map(|line| line.version);
        let version = flash.max(line_version).expect("a read was started");
        let known = asked.acknowledged[page as usize];
        assert!(
            version >= known,
            "request {order} read version {version} of {lpn:?}, but {known} had been acknowledged when it arrived"
        );
        let of_flash = reading.as_ref().and_then(|reading| reading.sectors.as_ref());
        let of_line = line.and_then(|line| self.sectors_of_line(lpn, line));
        self.sectors_read((order, page), asked, of_flash, of_line.as_ref());
    }

    /// Host data is on flash. `number` is its place in the order of translation; `order` names the
    /// request, none where the write buffer was flushed.
    pub fn programmed(&mut self, order: Option<u64>, ppn: Ppn, lpn: Lpn, number: u64) {
        self.sectors_programmed(order, ppn, lpn, number + 1);
        self.contents[ppn.index()] = number + 1;
        self.data.store(ppn, lpn, number + 1);
        self.change(order, lpn, number + 1, Some(ppn));
    }

    /// A page has been trimmed.
    pub fn trimmed(&mut self, order: u64, lpn: Lpn, number: u64) {
        self.change(Some(order), lpn, number + 1, None);
    }

    fn change(&mut self, order: Option<u64>, lpn: Lpn, version: u64, place: Option<Ppn>) {
        if let Some(order) = order {
            self.note(order, lpn, version);
        }
        if version > self.units[lpn].newest {
            self.units.touch(lpn).newest = version;
            self.places.set(lpn, place);
        }
    }

    /// A request has changed a page.
    fn note(&mut self, order: u64, lpn: Lpn, version: u64) {
        let asked = self.asked.get_mut(&order).expect("only an unanswered request changes pages");
        asked.changed.push((lpn, version));
    }

    /// A copy has been programmed; `data` is its logical page, none for a map page.
    pub fn copied(&mut self, from: Ppn, to: Ppn, data: Option<Lpn>) {
        self.contents[to.index()] = self.contents[from.index()];
        self.data.copy(from, to);
        if let Some(sectors) = &mut self.sectors {
            sectors.copy(from, to);
        }
        if let Some(lpn) = data
            && self.places.of(lpn) == Some(from)
        {
            self.places.set(lpn, Some(to));
        }
    }

    /// A block has been erased.
    pub fn erased(&mut self, block: BlockId) {
        let units = self.geometry.units_per_block();
        let first = self.geometry.unit_of(block, 0);
        let written = self.next_unit[block.index()];
        let written = written.next_multiple_of(self.cells.program_units(first));
        if self.order == ProgramOrder::Sequential && !self.raw && !self.zoned {
            assert_eq!(
                written,
                self.cells.block_units(first),
                "{block:?} was erased before it was full"
            );
        }
        for unit in 0..units {
            let ppn = self.geometry.unit_of(block, unit);
            if let Some(word) = self.programmed.get_mut(ppn.index() / 64) {
                *word &= !(1 << (ppn.index() % 64));
            }
            self.contents[ppn.index()] = 0;
            self.data.erase(ppn);
        }
        self.next_unit[block.index()] = 0;
    }

    /// A request has been answered.
    pub fn answered(&mut self, order: u64) {
        let asked = self.asked.remove(&order);
        let asked = asked.unwrap_or_else(|| panic!("request {order} was answered twice"));
        assert_eq!(asked.to_carry, 0, "bytes of request {order} have not crossed the link");
        self.keeps_promises(order, &asked);
        for (lpn, version) in asked.changed {
            let known = &mut self.units.touch(lpn).acknowledged;
            if let Some(sectors) = &mut self.sectors {
                sectors.acknowledge(&asked.request, lpn, version, *known);
            }
            *known = (*known).max(version);
        }
    }

    /// The run is over: every request is answered, both maps agree, and no page that the map names
    /// was erased. `place` is where the map has a logical unit; `are_unmapped` is whether it has
    /// none of some units anywhere.
    pub fn finish(
        &self,
        place: impl Fn(Lpn) -> Option<Ppn>,
        are_unmapped: impl Fn(Range<usize>) -> bool,
    ) {
        self.keeps_acknowledged();
        self.keeps_sectors();
        assert!(self.asked.is_empty(), "requests are unanswered: {:?}", self.asked.keys());
        for (units, places) in self.places.rows() {
            let Some(places) = places else {
                assert!(are_unmapped(units.clone()), "units {units:?}: nobody wrote them");
                continue;
            };
            for (lpn, known) in places {
                assert_eq!(place(lpn), known, "where {lpn:?} is");
                if let Some(ppn) = known {
                    let newest = self.units[lpn].newest;
                    assert_eq!(self.contents[ppn.index()], newest, "contents of {lpn:?}");
                    assert!(self.data.holds(ppn, lpn, newest), "{ppn:?} lost data of {lpn:?}");
                }
            }
        }
    }
}
