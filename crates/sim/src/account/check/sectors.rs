//! The checker's account of sectors, where the device keeps the rest of a mapping unit of which a
//! part is written (`ftl.partial_write` is not "ignore"): each sector has a version of its own.
//!
//! What a program carries follows from what the host has written, from what the line of the write
//! buffer has got since it holds the unit, and from the old unit if that was read before: a device
//! that leaves such a read out loses the rest. Units of which all sectors are of one version take
//! no memory here.

use super::buffer::FromLine;
use super::{Asked, Checker};
use crate::config::{PartialWrite, Settings};
use flashyard_core::request::{Flags, Request, RequestOp};
use flashyard_core::units::{Lpn, Ppn};
use std::collections::BTreeMap;
use std::ops::Range;

/// What each sector of a unit holds, as numbers that rise with every change: twice the version of a
/// trim, or 0 where nothing was ever written, and one more than twice the version of data.
type Sectors = Box<[u64]>;

/// A program has written something else in the place of a sector that held data.
const LOST: u64 = u64::MAX;

/// The line of the write buffer does not have the sector.
const ABSENT: u64 = u64::MAX - 1;

const fn of_data(version: u64) -> u64 {
    2 * version + 1
}

const fn of_nothing(version: u64) -> u64 {
    2 * version
}

const fn is_data(value: u64) -> bool {
    value % 2 == 1
}

/// Whether what was found of a sector, if it was, is as new as what is known of it.
fn is_as_new(found: Option<u64>, known: u64) -> bool {
    found.map_or(!is_data(known), |found| found >= known)
}

/// What is known of sectors.
#[derive(Clone, Debug)]
pub(super) struct SectorAccount {
    /// Sectors of a unit.
    count: usize,
    has_buffer: bool,
    /// Physical units whose sectors differ.
    held: BTreeMap<Ppn, Sectors>,
    /// Logical units of which sectors were acknowledged last with different versions.
    acknowledged: BTreeMap<Lpn, Sectors>,
    /// Lines of the buffer that lack sectors, or whose sectors differ.
    lines: BTreeMap<Lpn, Sectors>,
    /// What flushes and writes through the buffer carry of such lines, by unit and version.
    carried: BTreeMap<(Lpn, u64), Sectors>,
    /// What changes of units have read of their old contents, by unit and version.
    old: BTreeMap<(Lpn, u64), Sectors>,
    /// A bit a unit: whether the initial state wrote it, and whether a trim is the newest change
    /// of it that was acknowledged.
    initial: Vec<u64>,
    trims: Vec<u64>,
}

impl SectorAccount {
    /// The account of a device that keeps the rest of a unit; none of one that does not.
    pub(super) fn new(settings: &Settings) -> Option<Box<Self>> {
        let count = settings.geometry.unit_sectors() as usize;
        let keeps = settings.keys.ftl.partial_write != PartialWrite::Ignore && count > 1;
        let words = (settings.exported_units as usize).div_ceil(64);
        keeps.then(|| {
            Box::new(Self {
                count,
                has_buffer: settings.keys.buffer.bytes > 0,
                held: BTreeMap::new(),
                acknowledged: BTreeMap::new(),
                lines: BTreeMap::new(),
                carried: BTreeMap::new(),
                old: BTreeMap::new(),
                initial: vec![0; words],
                trims: vec![0; words],
            })
        })
    }

    /// The initial state has written a unit.
    pub(super) fn adopt(&mut self, lpn: Lpn) {
        self.initial[lpn.index() / 64] |= 1 << (lpn.index() % 64);
    }

    fn all(&self, value: u64) -> Sectors {
        vec![value; self.count].into()
    }

    /// The sectors of a unit that a request covers.
    fn covered(&self, request: &Request, lpn: Lpn) -> Range<usize> {
        let count = self.count as u64;
        let first = u64::from(lpn.get()) * count;
        let inside = |sector: u64| sector.saturating_sub(first).min(count);
        let end = request.first_sector + u64::from(request.sectors);
        let narrow = |sector| usize::try_from(sector).expect("of one unit");
        narrow(inside(request.first_sector))..narrow(inside(end))
    }

    /// What was acknowledged last of all sectors of a unit whose newest change that was
    /// acknowledged has this version.
    fn known(&self, lpn: Lpn, version: u64) -> u64 {
        let has = |bits: &[u64]| bits[lpn.index() / 64] & (1 << (lpn.index() % 64)) != 0;
        match version {
            0 => u64::from(has(&self.initial)),
            _ if has(&self.trims) => of_nothing(version),
            _ => of_data(version),
        }
    }

    /// What was acknowledged of each sector.
    pub(super) fn acknowledged(&self, lpn: Lpn, version: u64) -> Sectors {
        let known = self.acknowledged.get(&lpn).cloned();
        known.unwrap_or_else(|| self.all(self.known(lpn, version)))
    }

    /// A change of a unit is acknowledged; `before` is the version of the newest one until now.
    pub(super) fn acknowledge(&mut self, request: &Request, lpn: Lpn, version: u64, before: u64) {
        let covered = self.covered(request, lpn);
        let whole = covered.len() == self.count;
        // Zeroes are written to a part of a unit, as data.
        let zeroes = request.flags.has(Flags::ZEROES) && !whole;
        let trims = request.op == RequestOp::Trim && !zeroes;
        let mut values = self.acknowledged(lpn, before);
        let (covered, value) =
            if trims { (0..self.count, of_nothing(version)) } else { (covered, of_data(version)) };
        values[covered].iter_mut().for_each(|known| *known = value.max(*known));
        if version > before {
            let word = &mut self.trims[lpn.index() / 64];
            let bit = 1 << (lpn.index() % 64);
            *word = if trims { *word | bit } else { *word & !bit };
        }
        let all = self.known(lpn, version.max(before));
        if values.iter().all(|value| *value == all) {
            self.acknowledged.remove(&lpn);
        } else {
            self.acknowledged.insert(lpn, values);
        }
    }

    /// The contents of the sectors of a physical unit. If no contents are recorded, all sectors are
    /// of this version.
    pub(super) fn of_flash(&self, ppn: Ppn, version: u64) -> Sectors {
        self.held.get(&ppn).cloned().unwrap_or_else(|| self.all(of_data(version)))
    }

    fn keep_line(&mut self, lpn: Lpn, version: u64, values: Sectors) {
        if values.iter().all(|value| *value == of_data(version)) {
            self.lines.remove(&lpn);
        } else {
            self.lines.insert(lpn, values);
        }
    }

    /// A line holds a part of a unit when the account begins.
    pub(super) fn adopt_line(&mut self, lpn: Lpn, version: u64, range: Range<u16>) {
        let mut values = self.all(ABSENT);
        values[usize::from(range.start)..usize::from(range.end)].fill(of_data(version));
        self.keep_line(lpn, version, values);
    }

    /// A write has put its sectors into the line of its unit. If the line held the unit before, it
    /// held this version.
    pub(super) fn put(
        &mut self,
        request: &Request,
        (lpn, version): (Lpn, u64),
        before: Option<u64>,
    ) {
        let covered = self.covered(request, lpn);
        let mut values = match (self.lines.remove(&lpn), before) {
            (Some(values), Some(_)) => values,
            (_, Some(before)) => self.all(of_data(before)),
            (_, None) => self.all(ABSENT),
        };
        values[covered].fill(of_data(version));
        self.keep_line(lpn, version, values);
    }

    /// What flash holds of a unit stays in a line.
    pub(super) fn stays(&mut self, lpn: Lpn, version: u64, ppn: Option<Ppn>) {
        if let Some(values) = ppn.and_then(|ppn| self.held.get(&ppn)) {
            self.keep_line(lpn, version, values.clone());
        }
    }

    /// The buffer forgets a unit.
    pub(super) fn unbuffered(&mut self, lpn: Lpn) {
        self.lines.remove(&lpn);
    }

    /// What the line of a unit has, of which the buffer holds this version.
    pub(super) fn of_line(&self, lpn: Lpn, version: u64) -> Sectors {
        self.lines.get(&lpn).cloned().unwrap_or_else(|| self.all(of_data(version)))
    }

    /// A copy carries whatever its source holds.
    pub(super) fn copy(&mut self, from: Ppn, to: Ppn) {
        match self.held.get(&from).cloned() {
            Some(values) => self.held.insert(to, values),
            None => self.held.remove(&to),
        };
    }
}

/// What a unit holds before a change of it: on flash somewhere, or nowhere since a version.
#[derive(Clone, Copy, Debug)]
struct Before {
    place: Option<Ppn>,
    version: u64,
}

impl Before {
    fn sectors(&self, account: &SectorAccount) -> Sectors {
        match self.place {
            Some(ppn) => account.of_flash(ppn, self.version),
            None => account.all(of_nothing(self.version)),
        }
    }
}

impl Checker {
    fn before(&self, lpn: Lpn) -> Before {
        let place = self.places.of(lpn);
        let version = place.map_or(self.units[lpn].newest, |ppn| self.contents[ppn.index()]);
        Before { place, version }
    }

    /// Takes over which sectors of the units on flash have been written.
    pub fn adopt_sectors(&mut self, is_written: impl Fn(Lpn, u64) -> bool) {
        let Some(account) = &mut self.sectors else { return };
        for (lpn, ppn) in self.places.all() {
            let values: Sectors =
                (0..account.count as u64).map(|at| u64::from(is_written(lpn, at))).collect();
            if values.contains(&of_nothing(0)) {
                account.held.insert(ppn, values.clone());
                account.acknowledged.insert(lpn, values);
            }
        }
    }

    /// What flash has of the sectors of a unit, where they are followed.
    pub(super) fn sectors_of(&self, lpn: Lpn) -> Option<Sectors> {
        let account = self.sectors.as_ref()?;
        Some(self.before(lpn).sectors(account))
    }

    /// What a read gets of the sectors of a unit from its line.
    pub(super) fn sectors_of_line(&self, lpn: Lpn, line: FromLine) -> Option<Sectors> {
        let account = self.sectors.as_ref()?;
        let mut sectors = line.sectors.unwrap_or_else(|| account.of_line(lpn, line.version));
        if let Some(version) = line.nothing_since {
            let lacking = sectors.iter_mut().filter(|value| **value == ABSENT);
            lacking.for_each(|value| *value = of_nothing(version));
        }
        Some(sectors)
    }

    /// A change of a unit begins to read what flash has of it.
    pub fn old_read(&mut self, lpn: Lpn, number: u64) {
        let before = self.before(lpn);
        if let Some(account) = &mut self.sectors {
            let values = before.sectors(account);
            account.old.insert((lpn, number + 1), values);
        }
    }

    /// A flush has read its unit: the sectors that its line lacked are in the line now.
    pub fn rest_read(&mut self, lpn: Lpn, number: u64) {
        let Some(account) = &mut self.sectors else { return };
        let Some(held) = self.buffer.held(lpn) else { return };
        let (Some(old), Some(mut values)) =
            (account.old.get(&(lpn, number + 1)), account.lines.remove(&lpn))
        else {
            return;
        };
        let lacking = values.iter_mut().zip(old).filter(|(value, _)| **value == ABSENT);
        lacking.for_each(|(value, old)| *value = *old);
        account.keep_line(lpn, held, values);
    }

    /// A flush of what a line holds has been made, or a write that carries its line: of sectors
    /// that flash has nothing of it has nothing either.
    pub fn flush_begins(&mut self, lpn: Lpn, number: u64) {
        let before = self.before(lpn);
        let Some(account) = &mut self.sectors else { return };
        let Some(mut values) = account.lines.remove(&lpn) else { return };
        let there = before.sectors(account);
        let lacking = values.iter_mut().zip(there).filter(|(value, _)| **value == ABSENT);
        for (value, there) in lacking.filter(|(_, there)| !is_data(*there)) {
            *value = there;
        }
        account.carried.insert((lpn, number + 1), values.clone());
        account.lines.insert(lpn, values);
    }

    /// Host data is on flash: each sector is that of the change, or what was read of it.
    pub(super) fn sectors_programmed(
        &mut self,
        order: Option<u64>,
        ppn: Ppn,
        lpn: Lpn,
        version: u64,
    ) {
        let before = self.before(lpn);
        let Some(account) = &mut self.sectors else { return };
        let old = account.old.remove(&(lpn, version));
        let mut values = match (account.carried.remove(&(lpn, version)), order) {
            (Some(values), _) => values,
            (None, Some(order)) if !account.has_buffer => {
                let request = self.asked[&order].request;
                let covered = account.covered(&request, lpn);
                let mut values = account.all(ABSENT);
                values[covered].fill(of_data(version));
                values
            }
            (None, _) => account.all(of_data(version)),
        };
        let there = before.sectors(account);
        for (sector, value) in values.iter_mut().enumerate().filter(|(_, value)| **value == ABSENT)
        {
            *value = match &old {
                Some(old) => old[sector],
                None if is_data(there[sector]) => LOST,
                None => there[sector],
            };
        }
        if values.iter().all(|value| *value == of_data(version)) {
            account.held.remove(&ppn);
        } else {
            account.held.insert(ppn, values);
        }
    }

    /// The sectors that a request asks for of a unit are as new as what had been acknowledged when
    /// it arrived: `flash` and `line` are what it got from there.
    pub(super) fn sectors_read(
        &self,
        (order, page): (u64, u32),
        asked: &Asked,
        flash: Option<&Sectors>,
        line: Option<&Sectors>,
    ) {
        let Some(account) = &self.sectors else { return };
        let lpn = Lpn::new(asked.first.get() + page);
        for sector in account.covered(&asked.request, lpn) {
            let of_line = line.map(|values| values[sector]).filter(|value| *value != ABSENT);
            let of_flash = flash.map(|values| values[sector]).filter(|value| *value != LOST);
            let known = asked.sectors[page as usize][sector];
            let found = of_line.max(of_flash);
            assert!(
                is_as_new(found, known),
                "request {order} read {found:?} of sector {sector} of {lpn:?}, but {known} had been acknowledged when it arrived"
            );
        }
    }

    /// The run is over: every sector that was acknowledged is on flash or in the buffer.
    pub(super) fn keeps_sectors(&self) {
        let Some(account) = &self.sectors else { return };
        for (lpn, known) in &account.acknowledged {
            let flash = self.before(*lpn).sectors(account);
            let held = self.buffer.held(*lpn);
            let line = held.map(|version| account.of_line(*lpn, version));
            for (sector, known) in known.iter().enumerate() {
                let line = line.as_ref().map(|line| line[sector]).filter(|value| *value != ABSENT);
                let flash = Some(flash[sector]).filter(|value| *value != LOST);
                assert!(is_as_new(line.max(flash), *known), "sector {sector} of {lpn:?} was lost");
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::DeviceKeys;

    use std::panic::{AssertUnwindSafe, catch_unwind};

    const UNIT: Lpn = Lpn::new(3);

    fn checker(buffer_bytes: u64) -> Checker {
        let mut keys = DeviceKeys::default();
        keys.ftl.partial_write = PartialWrite::ReadModifyWrite;
        keys.buffer.bytes = buffer_bytes;
        Checker::new(&Settings::new(keys).expect("a device"))
    }

    /// A request of sectors of the unit comes to the device.
    fn arrive(checker: &mut Checker, order: u64, op: RequestOp, sectors: Range<u64>) {
        let count = u64::from(checker.geometry.unit_sectors());
        let request = Request::new(
            op,
            u64::from(UNIT.get()) * count + sectors.start,
            u32::try_from(sectors.end - sectors.start).expect("a few"),
        );
        checker.arrived(order, &request, UNIT, 1);
        checker.entered(order);
        checker.translated(order, UNIT, op != RequestOp::Read);
    }

    /// A read of all sectors.
    fn reads(checker: &mut Checker, order: u64) -> bool {
        arrive(checker, order, RequestOp::Read, 0..8);
        let place = checker.places.of(UNIT);
        checker.next_unit[0] = 8;
        checker.read(UNIT, place, (order, 0));
        catch_unwind(AssertUnwindSafe(|| checker.read_over(order, 0, None))).is_ok()
    }

    /// A write of a part behind one of the whole: what it does not write is there if it was read.
    #[test]
    fn a_part_that_is_programmed_without_the_rest_is_found() {
        for (old_read, whole) in [(true, false), (false, false), (false, true)] {
            let mut checker = checker(0);
            arrive(&mut checker, 1, RequestOp::Write, 0..8);
            checker.programmed(Some(1), Ppn::new(0), UNIT, 0);
            checker.answered(1);
            assert!(reads(&mut checker, 2));
            checker.answered(2);
            arrive(&mut checker, 3, RequestOp::Write, if whole { 0..8 } else { 2..5 });
            if old_read {
                checker.old_read(UNIT, 1);
            }
            checker.programmed(Some(3), Ppn::new(1), UNIT, 1);
            checker.answered(3);
            assert_eq!(reads(&mut checker, 4), old_read || whole, "{old_read} {whole}");
        }
    }

    #[test]
    fn a_part_of_what_was_trimmed_needs_no_rest() {
        let mut checker = checker(0);
        arrive(&mut checker, 1, RequestOp::Write, 0..8);
        checker.programmed(Some(1), Ppn::new(0), UNIT, 0);
        checker.answered(1);
        arrive(&mut checker, 2, RequestOp::Trim, 0..8);
        checker.trimmed(2, UNIT, 1);
        checker.answered(2);
        arrive(&mut checker, 3, RequestOp::Write, 6..8);
        checker.programmed(Some(3), Ppn::new(1), UNIT, 2);
        checker.answered(3);
        assert!(reads(&mut checker, 4));
        checker.answered(4);
        checker.keeps_sectors();
    }

    /// A read of a line that has a part of its unit must get the rest from flash.
    #[test]
    fn a_line_has_what_was_put_into_it() {
        for from_flash in [true, false] {
            let mut checker = checker(1 << 20);
            arrive(&mut checker, 1, RequestOp::Write, 0..8);
            checker.programmed(Some(1), Ppn::new(0), UNIT, 0);
            checker.answered(1);
            arrive(&mut checker, 2, RequestOp::Write, 0..3);
            checker.buffered(2, UNIT, 1, None);
            checker.put_over(UNIT, 1);
            checker.answered(2);
            arrive(&mut checker, 3, RequestOp::Read, 2..4);
            checker.buffer_read((3, 0), UNIT, 1, true);
            if from_flash {
                checker.next_unit[0] = 8;
                checker.read(UNIT, Some(Ppn::new(0)), (3, 0));
            }
            let read = catch_unwind(AssertUnwindSafe(|| checker.read_over(3, 0, None)));
            assert_eq!(read.is_ok(), from_flash);
            checker.keeps_sectors();
        }
    }
}
