//! The journal of the map and its checkpoints: when their pages are written, and what of the map
//! outlives a loss of power by them.
//!
//! Changes of the map gather until there are enough for a page of the journal, or for several that
//! are programmed together; a flush writes what trims there are at once. A checkpoint is written
//! piece by piece while the host writes, a program unit of pieces at a time, so that the whole map
//! has been written anew whenever the host has written `checkpoint_mib`. Both fill blocks of their
//! own, of the first plane that writes no such page, so that few planes have such a block open;
//! with superblocks planes take turns. What a page holds is kept here, and to garbage collection it
//! is garbage from the start: its block is erased without copies.

use super::map_log::MapLog;
use crate::config::{Plp, PowerKeys, Settings};
use crate::handle::SetId;
use flashyard_core::units::{BlockId, Lpn, PlaneId, Ppn, Time};
use std::collections::{BTreeMap, VecDeque};

/// A change of the map that does not outlive a loss of power yet; one of the blocks of a layer
/// names no unit.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Change {
    pub(crate) lpn: Lpn,
    /// The number of the change; none of a copy.
    pub(crate) number: Option<u64>,
    /// Where the unit was before.
    pub(crate) old: Option<Ppn>,
    pub(crate) trims: bool,
}

/// Pages that are being written, and the changes in them; none of a checkpoint.
#[derive(Clone, Debug)]
struct Page {
    set: SetId,
    plane: PlaneId,
    changes: Vec<Change>,
    over: bool,
    /// Where it is; none until it is over, and where its block has been erased since.
    at: Option<Ppn>,
}

/// What is to be written next.
pub(super) enum Due {
    /// Pages of the journal with so many of these changes each, on a plane.
    Pages(PlaneId, Vec<Change>, usize),
    /// So many pieces of the checkpoint, on a plane.
    Pieces(PlaneId, u64),
    /// A program of the log, of so many units, on a plane.
    Log(PlaneId, u64),
    Nothing,
}

/// The checkpoints: one follows another, and begins while the last pieces of the one before it are
/// still being written.
#[derive(Clone, Debug, Default)]
struct Checkpoints {
    /// Mapping units of the whole map, and units of the host between two times that it is written.
    pieces: u64,
    interval: u64,
    /// Commits of host data since the first one.
    units: u64,
    /// Pieces that have begun to be written, and those that are.
    begun: u64,
    over: u64,
    /// Those that are being written.
    under_way: VecDeque<Checkpoint>,
    /// When the last one that is complete began.
    complete: Option<Time>,
}

/// A checkpoint that is being written.
#[derive(Clone, Copy, Debug)]
struct Checkpoint {
    /// When its first piece began to be written.
    since: Time,
    /// Of the changes that are in no page, those that were made before then.
    changes: usize,
}

/// What is read of journal and checkpoints behind a loss of power.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Known {
    /// Mapping units of the last complete checkpoint.
    pub(crate) pieces: u64,
    /// Flash pages with what was written to the journal since that was begun, and not erased since.
    pub(crate) pages: u64,
    /// When it was begun.
    pub(crate) since: Time,
}

/// The journal of a device, and its checkpoints.
#[derive(Clone, Debug)]
pub(crate) struct Journal {
    /// Changes that are written together, and of a page of the journal; 0 for no journal.
    entries: usize,
    page_entries: usize,
    /// Whether a capacitor saves what is not written; whether recovery reads spare areas.
    capacitor: bool,
    scans: bool,
    /// Whether layers plan, so that it has the blocks that they take and let go of, and trims.
    of_blocks: bool,
    program_units: u64,
    /// Pages under way by plane.
    under_way: Vec<u32>,
    /// Changes in no page.
    open: Vec<Change>,
    pages: VecDeque<Page>,
    checkpoints: Checkpoints,
    /// Flash pages with what was written to the journal since the last complete checkpoint, by
    /// number, and when the last of it was; those of which the block was erased are none.
    written: BTreeMap<u32, Time>,
    page_units: u32,
    /// The number of the newest trim of each unit that outlives a loss of power, plus one.
    trims: Vec<u64>,
    /// Trims that do since they were last asked for.
    kept: Vec<(Lpn, u64)>,
    /// The number of the newest trim of each unit, plus one, where a capacitor alone saves them:
    /// with neither pages nor checkpoints, changes gather nowhere. Else it is empty.
    unwritten: Vec<u64>,
    /// Flash pages that a capacitor had filled when the power failed last.
    saved: u64,
    /// The log of a device that cannot be cut, which the rest does nothing for.
    log: Option<MapLog>,
}

impl Journal {
    /// That of a device, if it can be cut or logs its map.
    pub(super) fn new(settings: &Settings) -> Option<Box<Self>> {
        let (power, geometry) = (&settings.keys.power, &settings.geometry);
        let log = MapLog::new(settings);
        if !power.is_on() && log.is_none() {
            return None;
        }
        let unit = u64::from(geometry.unit_bytes());
        let of_blocks = settings.keys.plans();
        let page_map = u64::from(settings.exported_units) * settings.keys.map.entry_bytes;
        let tables = settings.tables.filter(|_| of_blocks);
        let pieces = tables.map_or(page_map, |tables| tables.bytes).div_ceil(unit).max(1);
        let interval = (power.checkpoint_mib << 20).div_ceil(unit);
        let capacitor = power.plp == Plp::Capacitor;
        let small = |changes| usize::try_from(changes).expect("the key's range is small");
        let of_units = |is_kept: bool| if is_kept { settings.exported_units as usize } else { 0 };
        Some(Box::new(Self {
            entries: small(power.journal_entries),
            page_entries: small(power.journal_entries.min(unit / PowerKeys::ENTRY_BYTES)),
            capacitor,
            scans: power.oob_scan,
            of_blocks,
            program_units: u64::from(geometry.program_units()),
            under_way: vec![0; geometry.all_planes() as usize],
            open: Vec::new(),
            pages: VecDeque::new(),
            checkpoints: Checkpoints { pieces, interval, ..Checkpoints::default() },
            written: BTreeMap::new(),
            page_units: geometry.units_per_page,
            trims: vec![0; of_units(power.is_on())],
            kept: Vec::new(),
            unwritten: vec![0; of_units(capacitor && !power.is_written())],
            saved: 0,
            log,
        }))
    }

    /// The map changes. Where layers plan, the spare areas alone say which pages do.
    pub(super) fn changes(&mut self, change: &Change) {
        if change.trims || !self.of_blocks {
            self.note(*change);
        }
        self.checkpoints.units += u64::from(change.number.is_some() && !change.trims);
        if let Some(log) = &mut self.log {
            log.changes(change.lpn);
        }
    }

    /// A phase begins.
    pub(super) fn begin_phase(&mut self) {
        if let Some(log) = &mut self.log {
            log.begin_phase();
        }
    }

    /// A layer has taken a block, or let go of one.
    pub(super) fn block_changes(&mut self) {
        self.note(Change { lpn: Lpn::new(0), number: None, old: None, trims: false });
    }

    fn note(&mut self, change: Change) {
        if self.entries > 0 || self.checkpoints.interval > 0 {
            self.open.push(change);
        } else if change.trims && !self.unwritten.is_empty() {
            self.unwritten[change.lpn.index()] = change.number.map_or(0, |number| number + 1);
        }
    }

    /// Pieces of the checkpoint that are to be written now: a program unit at a time, or what is
    /// left of the map.
    fn due_pieces(&self) -> u64 {
        let Checkpoints { pieces, interval, units, begun, .. } = self.checkpoints;
        if interval == 0 {
            return 0;
        }
        let due = u128::from(units) * u128::from(pieces) / u128::from(interval);
        let due = u64::try_from(due).unwrap_or(u64::MAX).saturating_sub(begun);
        let group = self.program_units.min(pieces - begun % pieces);
        if due >= group { group } else { 0 }
    }

    /// Whether a flush has to save a change.
    const fn is_owed(&self, change: &Change) -> bool {
        change.trims || !self.scans
    }

    /// Whether flushes wait for it.
    pub(super) const fn serves_flushes(&self) -> bool {
        self.entries > 0 && !self.capacitor
    }

    /// What is due next: pages of the journal where there are changes for all that are written
    /// together, or a change that is owed to a flush with the number `before`; pieces of the
    /// checkpoint; or a program of the log.
    pub(super) fn next_due(&mut self, before: Option<u64>, now: Time) -> Due {
        if let Some(plane) = self.log.as_mut().and_then(MapLog::next_due) {
            return Due::Log(plane, self.program_units);
        }
        let owed = |change: &Change| before.is_some_and(|before| change.number < Some(before));
        let owes = || self.open.iter().any(|change| self.is_owed(change) && owed(change));
        if self.entries > 0 && (self.open.len() >= self.entries || owes()) {
            let count = self.entries.min(self.open.len());
            let changes = self.open.drain(..count).collect();
            return Due::Pages(self.plane(), changes, self.page_entries);
        }
        let pieces = self.due_pieces();
        if pieces == 0 {
            return Due::Nothing;
        }
        if self.checkpoints.begun.is_multiple_of(self.checkpoints.pieces) {
            let checkpoint = Checkpoint { since: now, changes: self.open.len() };
            self.checkpoints.under_way.push_back(checkpoint);
        }
        self.checkpoints.begun += pieces;
        Due::Pieces(self.plane(), pieces)
    }

    /// A set begins to write a page with these changes.
    pub(super) fn page_begun(&mut self, set: SetId, plane: PlaneId, changes: Vec<Change>) {
        self.under_way[plane.index()] += 1;
        self.pages.push_back(Page { set, plane, changes, over: false, at: None });
    }

    /// Pages under way that a flush with the number `before` waits for: those that have a change
    /// which is owed to it, and the ones before them, without which they do not count.
    pub(super) fn owed_pages(&self, before: u64) -> Vec<SetId> {
        let owes = |page: &Page| {
            let mut owed = page.changes.iter().filter(|change| self.is_owed(change));
            owed.any(|change| change.number < Some(before))
        };
        if !self.serves_flushes() {
            return Vec::new();
        }
        let count = self.pages.iter().rposition(owes).map_or(0, |last| last + 1);
        let wanted = self.pages.iter().take(count);
        wanted.filter(|page| !page.over).map(|page| page.set).collect()
    }

    /// The page that a set has written somewhere is over. Pages count in the order in which they
    /// were begun.
    pub(super) fn page_over(&mut self, set: SetId, at: Option<Ppn>, now: Time) {
        if let Some(page) = self.pages.iter_mut().find(|page| page.set == set && !page.over) {
            (page.over, page.at) = (true, at);
            self.under_way[page.plane.index()] -= 1;
        }
        while self.pages.front().is_some_and(|page| page.over) {
            let page = self.pages.pop_front().expect("it was there");
            if page.changes.is_empty() {
                self.piece_over();
                continue;
            }
            if let Some(at) = page.at {
                self.written.insert(at.get() / self.page_units, now);
            }
            for change in page.changes.iter().filter(|change| change.trims) {
                self.keep_trim(change);
            }
        }
    }

    fn keep_trim(&mut self, change: &Change) {
        let newest = &mut self.trims[change.lpn.index()];
        let number = change.number.expect("a trim is a change");
        *newest = (*newest).max(number + 1);
        self.kept.push((change.lpn, number));
    }

    /// A piece of a checkpoint is over: behind the last one, only what came since the first one is
    /// read of the journal.
    fn piece_over(&mut self) {
        let checkpoints = &mut self.checkpoints;
        checkpoints.over += 1;
        if !checkpoints.over.is_multiple_of(checkpoints.pieces) {
            return;
        }
        let Checkpoint { since, changes } =
            checkpoints.under_way.pop_front().expect("its first piece has begun");
        checkpoints.complete = Some(since);
        self.written.retain(|_, written| *written >= since);
        if self.entries == 0 {
            // Nothing else saves changes; the checkpoint has those before its first piece.
            checkpoints.under_way.iter_mut().for_each(|later| later.changes -= changes);
            let saved: Vec<Change> = self.open.drain(..changes).collect();
            for change in saved.iter().filter(|change| change.trims) {
                self.keep_trim(change);
            }
        }
    }

    /// A block of so many units is erased: trims whose old contents were there hold for good, and
    /// nobody reads what of the journal was there.
    pub(super) fn erased(&mut self, block: BlockId, units: u32) {
        let holds = lies_in(block, units);
        let pages = units / self.page_units;
        let first = block.get() * pages;
        while let Some((&page, _)) = self.written.range(first..first + pages).next() {
            self.written.remove(&page);
        }
        for page in self.pages.iter_mut().filter(|page| page.at.is_some_and(&holds)) {
            page.at = None;
        }
        let pages = self.pages.iter().flat_map(|page| &page.changes);
        let gone = |change: &&Change| change.trims && change.old.is_some_and(&holds);
        let gone: Vec<Change> = self.open.iter().chain(pages).filter(gone).copied().collect();
        for change in gone {
            self.keep_trim(&change);
        }
    }

    /// Trims that outlive a loss of power since they were last asked for: units and numbers.
    pub(super) fn take_kept(&mut self) -> Vec<(Lpn, u64)> {
        std::mem::take(&mut self.kept)
    }
}

/// What is left of it when the power fails.
impl Journal {
    /// The number of the newest trim of each unit that outlives a loss of power, plus one: all of
    /// them where the journal is `saved`, else also those whose old contents are `gone`.
    pub(super) fn trims_after(&self, saved: bool, gone: impl Fn(Ppn) -> bool) -> Vec<u64> {
        let mut trims = self.trims.clone();
        let outlives = |change: &&Change| saved || change.old.is_some_and(&gone);
        for change in self.unsaved().filter(|change| change.trims).filter(outlives) {
            let newest = &mut trims[change.lpn.index()];
            *newest = (*newest).max(change.number.map_or(0, |number| number + 1));
        }
        for (newest, unwritten) in trims.iter_mut().zip(&self.unwritten).filter(|_| saved) {
            *newest = (*newest).max(*unwritten);
        }
        trims
    }

    /// Changes that do not outlive a loss of power, in their order.
    pub(crate) fn unsaved(&self) -> impl DoubleEndedIterator<Item = &Change> {
        self.pages.iter().flat_map(|page| &page.changes).chain(&self.open)
    }

    /// Programs that a capacitor has to pay for so that the map outlives it: those of the journal,
    /// or of the whole map where there is none.
    pub(crate) fn tail_pages(&self) -> u64 {
        match self.entries {
            0 => self.checkpoints.pieces.div_ceil(self.program_units),
            entries => (self.unsaved().count() as u64).div_ceil(entries as u64),
        }
    }

    /// Flash pages that recovery reads of what a capacitor saves now: the map, or the pages that
    /// the journal lacks.
    pub(super) fn pages_of_tail(&self) -> u64 {
        let page_units = u64::from(self.page_units);
        if self.entries == 0 {
            return self.checkpoints.pieces.div_ceil(page_units);
        }
        let pages =
            |changes: usize| (changes.div_ceil(self.page_entries) as u64).div_ceil(page_units);
        let changes = self.unsaved().count();
        let (whole, rest) = (changes / self.entries, changes % self.entries);
        whole as u64 * pages(self.entries) + pages(rest)
    }

    /// Flash pages of what a capacitor saved of it when the power failed last.
    pub(super) const fn pages_saved(&self) -> u64 {
        self.saved
    }

    /// What recovery reads.
    pub(crate) fn known(&self) -> Known {
        let complete = self.checkpoints.complete;
        Known {
            pieces: complete.map_or(0, |_| self.checkpoints.pieces),
            pages: self.written.len() as u64,
            since: complete.unwrap_or(Time::ZERO),
        }
    }

    /// The power is back: nothing is under way. A capacitor has filled so many flash pages.
    pub(super) fn restart(&mut self, trims: Vec<u64>, saved: u64) {
        (self.trims, self.saved) = (trims, saved);
        self.pages.clear();
        self.under_way.fill(0);
        self.open.clear();
        self.unwritten.fill(0);
        let checkpoints = &mut self.checkpoints;
        checkpoints.begun = checkpoints.over;
        // One of which pieces are written goes on.
        let goes_on = !checkpoints.over.is_multiple_of(checkpoints.pieces);
        checkpoints.under_way.truncate(usize::from(goes_on));
        checkpoints.under_way.iter_mut().for_each(|checkpoint| checkpoint.changes = 0);
    }
}

impl Journal {
    /// The plane of the next page: the first one of those with the fewest pages under way.
    fn plane(&self) -> PlaneId {
        let planes = (0u32..).zip(&self.under_way);
        let first = planes.min_by_key(|(_, count)| **count).map_or(0, |(plane, _)| plane);
        PlaneId::new(first)
    }
}

/// Whether a physical unit lies in a block of so many units.
fn lies_in(block: BlockId, units: u32) -> impl Fn(Ppn) -> bool {
    move |ppn| ppn.get() / units == block.get()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{DeviceKeys, MapStore};

    /// The next checkpoint may begin before the pieces of this one are written: each keeps the
    /// trims that were made before its own first piece, and no later ones.
    #[test]
    fn checkpoints_that_overlap_keep_the_trims_before_them() {
        let mut keys = DeviceKeys::default();
        keys.map.store = MapStore::Resident;
        keys.geometry.page_bytes = 4_096;
        (keys.power.checkpoint_mib, keys.power.oob_scan) = (1, true);
        let settings = Settings::new(keys).expect("a device");
        let mut journal = *Journal::new(&settings).expect("it can be cut");
        journal.checkpoints.pieces = 2;
        let mut sets = (0..4).map(SetId::new);
        let mut number = 0;
        let mut change = |journal: &mut Journal, lpn: u32, trims: bool| {
            journal.changes(&Change { lpn: Lpn::new(lpn), number: Some(number), old: None, trims });
            number += 1;
        };
        let mut under_way = Vec::new();
        for unit in [3, 5] {
            change(&mut journal, unit, true);
            for lpn in 100..356 {
                change(&mut journal, lpn, false);
                if let Due::Pieces(plane, 1) = journal.next_due(None, Time::ZERO) {
                    let set = sets.next().expect("two checkpoints of two pieces");
                    journal.page_begun(set, plane, Vec::new());
                    under_way.push(set);
                }
            }
        }
        let mut kept = Vec::new();
        for set in under_way {
            journal.page_over(set, None, Time::ZERO);
            kept.push(journal.take_kept().iter().map(|(lpn, _)| lpn.get()).collect::<Vec<_>>());
        }
        assert_eq!(kept, [vec![], vec![3], vec![], vec![5]]);
        assert!(journal.checkpoints.under_way.is_empty());
    }
}
