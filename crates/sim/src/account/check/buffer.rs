//! The checker's account of the write buffer: what it holds, and what must be kept, on flash or in
//! a buffer that is not volatile, when.

use super::{Asked, Checker};
use flashyard_core::request::{Request, RequestOp};
use flashyard_core::units::{Lpn, Ppn};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

/// What a read gets from a line: a version of its unit and, if the checker follows sectors and the
/// line has its data already, the sectors. Sectors that the line lacks may not be on flash either.
#[derive(Clone, Debug)]
pub(super) struct FromLine {
    pub(super) version: u64,
    pub(super) sectors: Option<Box<[u64]>>,
    pub(super) nothing_since: Option<u64>,
}

/// What is known of the write buffer.
#[derive(Clone, Debug, Default)]
pub(super) struct BufferAccount {
    /// The version of each unit in the buffer.
    held: BTreeMap<Lpn, u64>,
    /// Versions that reads have found and that wait for a line.
    fills: BTreeMap<Lpn, u64>,
    /// Versions of units that are being read ahead: those that flash had when that began.
    coming: BTreeMap<Lpn, u64>,
    /// Versions that are being put.
    putting: BTreeSet<(Lpn, u64)>,
    /// What reads on their way got from it, by request and page.
    pub(super) reading: BTreeMap<(u64, u32), FromLine>,
    /// Whether it outlives a loss of power.
    is_kept: bool,
}

impl BufferAccount {
    /// The account of an empty buffer that outlives a loss of power, or not.
    pub(super) fn new(is_kept: bool) -> Self {
        Self { is_kept, ..Self::default() }
    }

    /// The version of a unit that it holds.
    pub(super) fn held(&self, lpn: Lpn) -> Option<u64> {
        self.held.get(&lpn).copied()
    }
}

impl Checker {
    /// Takes over what a buffer holds before the run: units, the number of the change that made the
    /// contents of each, none of what a read has found on flash, whether flash lacks them, and the
    /// sectors that the line has.
    pub(crate) fn adopt_buffer(
        &mut self,
        lines: impl Iterator<Item = (Lpn, Option<u64>, bool, Range<u16>)>,
    ) {
        self.buffer.held.clear();
        for (lpn, number, is_dirty, sectors) in lines {
            if let Some(number) = number.filter(|_| !is_dirty) {
                self.units.touch(lpn).newest = number + 1;
                if let Some(ppn) = self.places.of(lpn) {
                    self.contents[ppn.index()] = number + 1;
                    self.data.store(ppn, lpn, number + 1);
                }
            }
            let version = number.map_or(self.units[lpn].newest, |number| number + 1);
            self.buffer.held.insert(lpn, version);
            if let Some(account) = &mut self.sectors {
                account.adopt_line(lpn, version, sectors);
            }
        }
    }

    /// What a request that has arrived asks of the buffer; `durable` is whether its changes are
    /// kept, whatever happens, when it is answered.
    pub fn asks(&mut self, order: u64, request: &Request, durable: bool) {
        let barrier = request.is_barrier();
        let known = |lpn: &Lpn| self.units[*lpn].acknowledged;
        let held = self.buffer.held.keys().take(if barrier { usize::MAX } else { 0 });
        let held = held.filter(|lpn| known(lpn) > self.units[**lpn].newest);
        let volatile = held.map(|lpn| (*lpn, known(lpn))).collect();
        let asked = self.asked.get_mut(&order).expect("it has arrived");
        asked.durable = durable && request.op == RequestOp::Write;
        asked.volatile = volatile;
    }

    /// The first page access of a request has been translated.
    pub(super) fn starts(&mut self, order: u64) {
        let asked = self.asked.get_mut(&order).expect("it has arrived");
        let volatile = std::mem::take(&mut asked.volatile);
        self.are_kept(order, &volatile);
    }

    /// A request is answered: what that promises outlives a loss of power.
    pub(super) fn keeps_promises(&self, order: u64, asked: &Asked) {
        self.are_kept(order, &asked.volatile);
        if asked.durable {
            self.are_kept(order, &asked.changed);
        }
    }

    fn are_kept(&self, order: u64, changes: &[(Lpn, u64)]) {
        for &(lpn, version) in changes {
            let (newest, buffer) = (self.units[lpn].newest, &self.buffer);
            let in_buffer = buffer.is_kept
                && buffer.held.get(&lpn).is_some_and(|&held| held >= version)
                && !buffer.putting.contains(&(lpn, version));
            let kept = newest >= version || in_buffer;
            assert!(kept, "request {order}: {version} of {lpn:?} would be lost without power");
        }
    }

    /// A write has put its unit into the buffer.
    pub fn put_over(&mut self, lpn: Lpn, number: u64) {
        self.buffer.putting.remove(&(lpn, number + 1));
    }

    /// A write puts its unit into the buffer, in place of `evicted` if that is one.
    pub fn buffered(&mut self, order: u64, lpn: Lpn, number: u64, evicted: Option<Lpn>) {
        if let Some(evicted) = evicted {
            self.unbuffered(evicted);
        }
        self.buffer.coming.remove(&lpn);
        let old = self.buffer.held.insert(lpn, number + 1);
        assert!(old < Some(number + 1), "{number} of {lpn:?} replaces newer contents, {old:?}");
        if let Some(account) = &mut self.sectors {
            let asked = &self.asked[&order];
            account.put(&asked.request, (lpn, number + 1), old);
        }
        self.buffer.putting.insert((lpn, number + 1));
        self.note(order, lpn, number + 1);
    }

    /// What a read has found on flash stays in the buffer, in place of `evicted` if that is one: it
    /// must still be what flash holds.
    pub fn allocated(&mut self, access: (u64, u32), lpn: Lpn, evicted: Option<Lpn>) {
        let version = self.reading[&access].version;
        self.stays(lpn, version, evicted);
    }

    /// What a read has found on flash is to stay in the buffer, and waits for a line.
    pub fn fill_waits(&mut self, access: (u64, u32), lpn: Lpn) {
        let before = self.buffer.fills.insert(lpn, self.reading[&access].version);
        assert_eq!(before, None, "{lpn:?} waits for a line already");
    }

    /// The unit has a line now. If `evicted` is some unit, that unit has lost its line.
    pub fn filled(&mut self, lpn: Lpn, evicted: Option<Lpn>) {
        let version = self.buffer.fills.remove(&lpn).expect("it waits for a line");
        self.stays(lpn, version, evicted);
    }

    /// It waits no longer.
    pub fn fill_dropped(&mut self, lpn: Lpn) {
        self.buffer.fills.remove(&lpn).expect("it waits for a line");
    }

    fn stays(&mut self, lpn: Lpn, version: u64, evicted: Option<Lpn>) {
        if let Some(evicted) = evicted {
            self.unbuffered(evicted);
        }
        let newest = self.units[lpn].newest;
        assert_eq!(newest, version, "{lpn:?} is in the buffer as it was, not as it is");
        let old = self.buffer.held.insert(lpn, newest);
        assert_eq!(old, None, "{lpn:?} is in the buffer");
        let place = self.places.of(lpn);
        if let Some(account) = &mut self.sectors {
            account.stays(lpn, newest, place);
        }
    }

    /// A set begins to read a unit ahead, whose line another unit may have lost.
    pub fn ahead_begins(&mut self, lpn: Lpn, evicted: Option<Lpn>) {
        if let Some(evicted) = evicted {
            self.unbuffered(evicted);
        }
        assert_eq!(self.buffer.held.get(&lpn), None, "{lpn:?} is in the buffer");
        let old = self.buffer.coming.insert(lpn, self.units[lpn].newest);
        assert_eq!(old, None, "{lpn:?} is being read ahead");
    }

    /// A read waits for a unit that is being read ahead: that must be the newest version.
    pub fn ahead_awaited(&mut self, access: (u64, u32), lpn: Lpn) {
        let version = self.units[lpn].newest;
        let coming = self.buffer.coming.get(&lpn).copied();
        assert_eq!(coming, Some(version), "what comes of {lpn:?} is stale");
        let line = FromLine { version, sectors: self.sectors_of(lpn), nothing_since: None };
        self.buffer.reading.insert(access, line);
    }

    /// A unit has been read ahead and stays in the buffer. Where it is still in the place that was
    /// read, that holds what the reads wait for.
    pub fn ahead_ends(&mut self, lpn: Lpn, stays: Option<Ppn>) {
        let version = self.buffer.coming.remove(&lpn).expect("it is being read ahead");
        if let Some(ppn) = stays {
            let holds = self.data.holds(ppn, lpn, version);
            assert!(holds, "{ppn:?} does not hold version {version} of {lpn:?}");
        }
        self.stays(lpn, version, None);
    }

    /// The buffer forgets a unit: it was trimmed, or flash has it.
    pub fn unbuffered(&mut self, lpn: Lpn) {
        if self.buffer.coming.remove(&lpn).is_some() {
            return;
        }
        let version = self.buffer.held.remove(&lpn).expect("it was there");
        assert!(self.units[lpn].newest >= version, "version {version} of {lpn:?} was lost");
        if let Some(account) = &mut self.sectors {
            account.unbuffered(lpn);
        }
    }

    /// A read gets what an earlier one has found on flash, where nothing newer is.
    pub fn allocated_read(&mut self, access: (u64, u32), lpn: Lpn) {
        let newest = self.units[lpn].newest;
        assert_eq!(self.buffer.held.get(&lpn), Some(&newest), "{lpn:?} in the buffer is stale");
        self.gets(access, lpn, newest, true);
    }

    /// A read gets a version of a unit from the buffer, where it is `held` unless its write is
    /// about to put it there.
    pub fn buffer_read(&mut self, access: (u64, u32), lpn: Lpn, number: u64, held: bool) {
        if held {
            assert_eq!(self.buffer.held.get(&lpn), Some(&(number + 1)), "{lpn:?} in the buffer");
        }
        self.gets(access, lpn, number + 1, held);
    }

    fn gets(&mut self, access: (u64, u32), lpn: Lpn, version: u64, held: bool) {
        let account = self.sectors.as_ref().filter(|_| held);
        let sectors = account.map(|account| account.of_line(lpn, version));
        let newest = self.units[lpn].newest;
        let nothing_since = self.places.of(lpn).is_none().then_some(newest);
        self.buffer.reading.insert(access, FromLine { version, sectors, nothing_since });
    }

    /// The run is over: what was acknowledged is on flash or in the buffer.
    pub(super) fn keeps_acknowledged(&self) {
        for (lpn, known) in self.units.touched() {
            let held = self.buffer.held.get(&lpn).copied().unwrap_or(0);
            let (kept, version) = (known.newest.max(held), known.acknowledged);
            assert!(kept >= version, "{lpn:?} lost version {version}");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{DeviceKeys, Settings};
    use flashyard_core::request::Flags;
    use flashyard_core::units::Time;
    use std::panic::{AssertUnwindSafe, catch_unwind};

    fn request(op: RequestOp) -> Request {
        let sectors = if op == RequestOp::Flush { 0 } else { 8 };
        let (arrival, flags) = (Time::ZERO, Flags::NONE);
        Request::new(op, 0, sectors).at(arrival).with(flags)
    }

    /// A checker that has seen a write of unit 0 begin, with change 4, which asks to be kept or
    /// not.
    fn putting(volatile: bool, durable: bool) -> Checker {
        let mut keys = DeviceKeys::default();
        (keys.buffer.volatile, keys.buffer.bytes) = (volatile, 1 << 20);
        let mut checker = Checker::new(&Settings::new(keys).expect("a device"));
        arrive(&mut checker, 1, RequestOp::Write, durable);
        checker.translated(1, Lpn::new(0), true);
        checker.buffered(1, Lpn::new(0), 4, None);
        checker
    }

    fn arrive(checker: &mut Checker, order: u64, op: RequestOp, durable: bool) {
        checker.arrived(order, &request(op), Lpn::new(0), u32::from(op != RequestOp::Flush));
        checker.asks(order, &request(op), durable);
        checker.entered(order);
    }

    fn answers(checker: &mut Checker, order: u64) -> bool {
        catch_unwind(AssertUnwindSafe(|| checker.answered(order))).is_ok()
    }

    /// An answer that promises what a loss of power would take is found out.
    #[test]
    fn a_promise_holds_on_flash_or_in_a_buffer_that_is_kept() {
        for (volatile, put_over, kept) in
            [(true, true, false), (false, true, true), (false, false, false)]
        {
            let mut checker = putting(volatile, true);
            if put_over {
                checker.put_over(Lpn::new(0), 4);
            }
            assert_eq!(answers(&mut checker, 1), kept, "{volatile} {put_over}");
        }
        assert!(answers(&mut putting(true, false), 1), "it promises nothing");
    }

    #[test]
    fn a_flush_promises_what_was_acknowledged_before_it() {
        for (volatile, kept) in [(true, false), (false, true)] {
            let mut checker = putting(volatile, false);
            checker.put_over(Lpn::new(0), 4);
            assert!(answers(&mut checker, 1));
            arrive(&mut checker, 2, RequestOp::Flush, false);
            assert_eq!(answers(&mut checker, 2), kept);
        }
    }
}
