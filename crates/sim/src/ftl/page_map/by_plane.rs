//! The map while random writes are done to it without timing: with the logical units of a plane
//! side by side.
//!
//! Striping puts neighbours on different planes, so the entries of one plane are spread over the
//! whole map, and each write asks for another page of memory. While [`ByPlane`] is there, the
//! entries of each plane follow one another; nothing but its own methods may look at them then.

use super::{Owner, PageMap, prefetch};
use crate::config::Settings;
use crate::parts::blocks::Frontier;
use flashyard_core::geometry::Geometry;
use flashyard_core::units::{BlockId, Lpn, PlaneId, Ppn};

/// How many units ahead entries are asked for.
const AHEAD: usize = 16;

/// A map whose entries lie plane by plane. Only the first logical units of the device are on flash,
/// all of which are written.
#[derive(Debug)]
pub(crate) struct ByPlane<'a> {
    map: &'a mut PageMap,
    layout: Layout,
}

/// Where the entry of each logical unit is.
#[derive(Clone, Debug)]
struct Layout {
    /// Units of a run that striping keeps together, and of a round of runs over all planes.
    run: Divisor,
    round: Divisor,
    /// The first entry of each plane, and how many it has.
    planes: Vec<(u32, u32)>,
    /// The run of each plane in a round.
    stripes: Vec<u32>,
}

impl Layout {
    fn new(geometry: &Geometry, written: u32) -> Self {
        let (planes, run) = (geometry.all_planes(), geometry.stripe_units());
        let round = planes * run;
        let mut stripes = vec![0; planes as usize];
        for stripe in 0..planes {
            stripes[geometry.plane_of_stripe(stripe).index()] = stripe;
        }
        let mut first = 0;
        let of_plane = |stripe: &u32| {
            let rest = (written % round).saturating_sub(stripe * run).min(run);
            let count = written / round * run + rest;
            first += count;
            (first - count, count)
        };
        let planes = stripes.iter().map(of_plane).collect();
        Self { run: Divisor::new(run), round: Divisor::new(round), planes, stripes }
    }

    /// The number of a logical unit among those of its plane.
    #[inline]
    fn local(&self, lpn: u32) -> u32 {
        self.round.quotient(lpn) * self.run.by + self.run.remainder(lpn)
    }

    /// The logical unit of a plane with this number.
    #[inline]
    fn lpn(&self, plane: PlaneId, local: u32) -> u32 {
        let stripe = self.stripes[plane.index()] * self.run.by;
        self.run.quotient(local) * self.round.by + stripe + self.run.remainder(local)
    }
}

/// Where the open block of a frontier goes on.
#[derive(Clone, Copy, Debug)]
struct Room {
    /// Its next unit.
    next: u32,
    /// Its last unit.
    last: u32,
}

impl<'a> ByPlane<'a> {
    /// The map of a device of which the logical units below `written` have been written, and no
    /// other.
    pub(crate) fn new(map: &'a mut PageMap, written: u32) -> Self {
        let layout = Layout::new(&map.geometry, written);
        map.touch_all();
        let moved = Self { map, layout };
        if moved.is_moved() {
            let mut entries = std::mem::take(&mut moved.map.l2p);
            for plane in (0..moved.map.geometry.all_planes()).map(PlaneId::new) {
                let (base, _) = moved.layout.planes[plane.index()];
                moved
                    .for_each_valid(plane, |local, ppn| entries[(base + local) as usize] = ppn + 1);
            }
            moved.map.l2p = entries;
        }
        moved
    }

    /// Puts every entry where it belongs.
    pub(crate) fn finish(self) {
        if !self.is_moved() {
            return;
        }
        let mut entries = Vec::new();
        for plane in (0..self.map.geometry.all_planes()).map(PlaneId::new) {
            self.collect_entries(plane, &mut entries);
            for (local, &entry) in (0..).zip(&entries) {
                self.map.l2p[self.layout.lpn(plane, local) as usize] = entry;
            }
        }
    }

    /// The entries of the logical units of a plane, from what its physical ones hold: the entries
    /// themselves may have been overwritten.
    fn collect_entries(&self, plane: PlaneId, entries: &mut Vec<u32>) {
        let (_, count) = self.layout.planes[plane.index()];
        entries.clear();
        entries.resize(count as usize, 0);
        // An entry is asked for when its unit is found, and set when as many others have been.
        let mut waiting = [(0, 0); AHEAD];
        let mut at = 0;
        let mut set = |local: u32, entry: u32| {
            if let Some(entry) = entries.get(local as usize) {
                prefetch(entry);
            }
            let (earlier, value) = std::mem::replace(&mut waiting[at % AHEAD], (local, entry));
            at += 1;
            if value > 0 {
                entries[earlier as usize] = value;
            }
        };
        self.for_each_valid(plane, |local, ppn| set(local, ppn + 1));
        (0..AHEAD).for_each(|_| set(0, 0));
    }

    /// With one plane entries stay where they are.
    fn is_moved(&self) -> bool {
        self.layout.planes.len() > 1
    }

    /// Calls `visit` with the number and the place of every logical unit of a plane.
    fn for_each_valid(&self, plane: PlaneId, mut visit: impl FnMut(u32, u32)) {
        let geometry = &self.map.geometry;
        let first = geometry.first_block(plane).get();
        let data = (first..first + geometry.blocks_per_plane).map(BlockId::new);
        for block in data.filter(|block| !self.map.blocks.holds_map(*block)) {
            let start = geometry.unit_of(block, 0).get();
            let end = start + geometry.units_per_block();
            let mut at = start;
            while at < end {
                let mut bits = self.valid_bits(at, end);
                while bits != 0 {
                    let ppn = at / 64 * 64 + bits.trailing_zeros();
                    visit(self.layout.local(self.map.p2l[ppn as usize]), ppn);
                    bits &= bits - 1;
                }
                at = next_word(at, end);
            }
        }
    }

    /// The bits of the word of unit `at` that stand for valid units from it to before `end`.
    #[inline]
    fn valid_bits(&self, at: u32, end: u32) -> u64 {
        let first = at / 64 * 64;
        let below = if end - first >= 64 { u64::MAX } else { (1 << (end - first)) - 1 };
        self.map.valid[at as usize / 64] & (u64::MAX << (at % 64)) & below
    }

    /// The map itself, of which only the blocks may be looked at.
    pub(crate) const fn map(&mut self) -> &mut PageMap {
        self.map
    }

    /// The open block of a frontier up to its last unit but one, in which nothing is opened or
    /// filled.
    fn room(&self, plane: PlaneId, frontier: Frontier) -> Option<Room> {
        let (first, count) = self.map.blocks.open_units(plane, frontier)?;
        Some(Room { next: first.get(), last: first.get() + count })
    }

    /// Writes logical units of a plane one after the other into the open block of a frontier, up to
    /// its last unit but one. Returns how many were written.
    pub(crate) fn overwrite(&mut self, plane: PlaneId, frontier: Frontier, lpns: &[u32]) -> usize {
        let Some(Room { next, last }) = self.room(plane, frontier) else { return 0 };
        let count = lpns.len().min((last - next) as usize);
        lpns.iter().take(AHEAD).for_each(|&lpn| self.prefetch(plane, lpn));
        for (ppn, at) in (next..).zip(0..count) {
            if let Some(&later) = lpns.get(at + AHEAD) {
                self.prefetch(plane, later);
            }
            if let Some(&soon) = lpns.get(at + AHEAD / 2) {
                self.prefetch_valid(self.map.l2p[self.entry(plane, soon)]);
            }
            self.commit(plane, lpns[at], ppn);
        }
        self.map.blocks.lay_taken(plane, frontier, count);
        count
    }

    /// The newest contents of a logical unit are in this physical one.
    #[inline]
    fn commit(&mut self, plane: PlaneId, lpn: u32, ppn: u32) {
        let entry = self.entry(plane, lpn);
        let old = std::mem::replace(&mut self.map.l2p[entry], ppn + 1);
        self.map.p2l[ppn as usize] = lpn;
        self.map.forget(old);
        self.map.valid[ppn as usize / 64] |= 1 << (ppn % 64);
        self.map.blocks.validate(Ppn::new(ppn));
    }

    /// Programs the next unit of a frontier, which may open a block or fill it.
    pub(crate) fn put(&mut self, settings: &Settings, frontier: Frontier, lpn: u32) {
        let plane = settings.geometry.plane_of_lpn(Lpn::new(lpn));
        let (ppn, _) = self.map.blocks.take_unit(plane, frontier).expect(super::ROOM);
        if settings.geometry.unit_in_block(ppn) + 1 == settings.geometry.units_per_block() {
            self.map.blocks.programmed(ppn);
        }
        self.commit(plane, lpn, ppn.get());
    }

    /// Copies every valid unit of a claimed block of data, and erases it.
    pub(crate) fn clean(&mut self, settings: &Settings, plane: PlaneId, victim: BlockId) {
        let frontier = self.map.blocks.copy_frontier(victim);
        let start = settings.geometry.unit_of(victim, 0).get();
        let end = start + settings.geometry.units_per_block();
        let mut at = start;
        loop {
            at = self.copy(plane, victim, at..end, frontier);
            let Some(next) = self.copy_next(settings, victim, at - start) else { break };
            at = start + next;
        }
        self.map.blocks.lay_erased(victim);
    }

    /// Copies the next valid unit of a claimed block of data, from unit `from` on. Returns the unit
    /// behind it; none where no valid one is left.
    pub(crate) fn copy_next(
        &mut self,
        settings: &Settings,
        victim: BlockId,
        from: u32,
    ) -> Option<u32> {
        let (unit, _, owner) = self.map.next_valid(victim, from)?;
        let Owner::Data(lpn) = owner else { unreachable!("pages of the map stay valid") };
        self.put(settings, self.map.blocks.copy_frontier(victim), lpn.get());
        Some(unit + 1)
    }

    /// Copies the valid units of a claimed block among `units` into the open block of a frontier,
    /// up to its last unit but one. Returns the unit to go on from.
    fn copy(
        &mut self,
        plane: PlaneId,
        victim: BlockId,
        units: std::ops::Range<u32>,
        frontier: Frontier,
    ) -> u32 {
        let (mut at, end) = (units.start, units.end);
        let Some(Room { next: first, last }) = self.room(plane, frontier) else { return at };
        let mut to = first;
        while at < end && to < last {
            let bits = self.valid_bits(at, end);
            self.prefetch_owners(plane, at / 64 * 64, bits);
            let left = self.copy_word(plane, at / 64 * 64, bits, &mut to, last);
            at = if left == 0 { next_word(at, end) } else { at / 64 * 64 + left.trailing_zeros() };
        }
        self.map.blocks.lay_copies(plane, victim, frontier, to - first);
        at
    }

    /// Copies the units behind `word` that `bits` stand for to the units from `to` to before
    /// `last`; returns the bits that are left.
    #[inline]
    fn copy_word(
        &mut self,
        plane: PlaneId,
        word: u32,
        mut bits: u64,
        to: &mut u32,
        last: u32,
    ) -> u64 {
        let mut copied = 0;
        while bits != 0 && *to < last {
            let bit = bits & bits.wrapping_neg();
            let lpn = self.map.p2l[(word + bit.trailing_zeros()) as usize];
            let entry = self.entry(plane, lpn);
            self.map.l2p[entry] = *to + 1;
            self.map.p2l[*to as usize] = lpn;
            self.map.valid[*to as usize / 64] |= 1 << (*to % 64);
            copied |= bit;
            bits ^= bit;
            *to += 1;
        }
        self.map.valid[word as usize / 64] &= !copied;
        bits
    }

    /// Where the entry of a logical unit of a plane is.
    #[inline]
    fn entry(&self, plane: PlaneId, lpn: u32) -> usize {
        let (base, _) = self.layout.planes[plane.index()];
        if self.is_moved() { (base + self.layout.local(lpn)) as usize } else { lpn as usize }
    }

    /// Asks for the entry of a logical unit.
    #[inline]
    fn prefetch(&self, plane: PlaneId, lpn: u32) {
        self.map.prefetch(self.entry(plane, lpn) as u64);
    }

    /// Asks for the entries of the units behind `word` that `bits` stand for.
    #[inline]
    fn prefetch_owners(&self, plane: PlaneId, word: u32, mut bits: u64) {
        while bits != 0 {
            self.prefetch(plane, self.map.p2l[(word + bits.trailing_zeros()) as usize]);
            bits &= bits - 1;
        }
    }

    /// Asks for the bit of the unit `old` - 1.
    #[inline]
    fn prefetch_valid(&self, old: u32) {
        if let Some(word) = self.map.valid.get(old as usize / 64) {
            prefetch(word);
        }
    }
}

/// The first unit of the word behind that of unit `at`, but not behind `end`.
const fn next_word(at: u32, end: u32) -> u32 {
    let next = (at / 64 + 1).saturating_mul(64);
    if next < end { next } else { end }
}

/// Divides by multiplication (Lemire, Kaser and Kurz, "Faster remainder by direct computation",
/// Software: Practice and Experience 49(6), 2019): exact for numbers of 32 bits.
#[derive(Clone, Copy, Debug)]
struct Divisor {
    by: u32,
    /// 2^64 / by, rounded up; 0 for 1.
    reciprocal: u64,
}

impl Divisor {
    const fn new(by: u32) -> Self {
        Self { by, reciprocal: (u64::MAX / by as u64).wrapping_add(1) }
    }

    #[inline]
    fn quotient(self, number: u32) -> u32 {
        if self.by == 1 {
            return number;
        }
        let product = u128::from(number) * u128::from(self.reciprocal);
        u32::try_from(product >> 64).expect("at most the number")
    }

    #[inline]
    fn remainder(self, number: u32) -> u32 {
        number - self.quotient(number) * self.by
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::mix;

    #[test]
    fn division_by_multiplication_is_exact() {
        let edges = [0, 1, 2, 3, 5, 7, 63, 64, 65, u32::MAX / 2, u32::MAX - 1, u32::MAX];
        let random = (0..2_000u64).map(|seed| mix(seed).to_le_bytes());
        let random =
            random.map(|bytes| u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]));
        let numbers: Vec<u32> = edges.into_iter().chain(random).collect();
        for by in edges.into_iter().chain([10, 48, 128, 641, 65_537]).filter(|by| *by > 0) {
            let divisor = Divisor::new(by);
            for near in numbers.iter().flat_map(|n| [n.saturating_sub(n % by), *n]) {
                assert_eq!(divisor.quotient(near), near / by, "{near} / {by}");
                assert_eq!(divisor.remainder(near), near % by, "{near} % {by}");
            }
        }
    }
}
