//! A loss of power: what was under way ends torn, what a capacitor pays for is saved, and recovery
//! finds the rest on flash.
//!
//! It holds nothing. The device lends it the rooms as they stopped, and begins again with what it
//! answers.

mod fault;
mod image;
mod losses;
mod reads;
mod stopped;
mod torn;

pub(crate) use crate::account::Usage;
use crate::account::durable::Durable;
use crate::account::recovered::Took;
use crate::buffer::Line;
use crate::config::Plp;
use crate::cut::{Cut, Reads};
use crate::metrics::counters::{ArrayWork, Tally, Work};
use flashyard_core::command::{Op, Purpose};
use flashyard_core::request::RequestOp;
use flashyard_core::units::{BlockId, Ppn};
use image::{Image, Spare};
use losses::Losses;
use reads::Kind;
use std::collections::BTreeSet;
use stopped::Charge;
pub(crate) use stopped::Stopped;

/// Bytes of a spare area that cross the channel, a mapping unit. Assumed: the unit, the number of
/// the change and a checksum.
const SPARE_BYTES: u64 = 16;

/// What it begins again with.
pub(crate) struct Found {
    pub(crate) cut: Cut,
    pub(crate) durable: Durable,
    pub(crate) image: Image,
    /// The number of the newest trim of each unit that outlives it, plus one.
    pub(crate) trims: Vec<u64>,
    /// Lines of the write buffer that were saved.
    pub(crate) lines: Vec<Line>,
    /// Units whose program was under way.
    pub(crate) bound: Vec<Ppn>,
    /// Flash pages with what the capacitor has saved of the map or of the journal.
    pub(crate) saved_pages: u64,
    /// What the reads of recovery took.
    pub(crate) took: Took,
}

impl Stopped<'_> {
    /// The power fails, with a seed for what is random in that. What is not durable by `durable` is
    /// lost, but for what recovery finds.
    pub(crate) fn recover(&self, mut durable: Durable, seed: u64) -> Found {
        let programs = self.programs_under_way(&durable);
        let bound: Vec<Ppn> = programs.iter().map(|program| program.ppn).collect();
        let (torn_erases, erased) = self.erases_under_way(seed);
        for block in &erased {
            durable.destroy(block.get());
        }
        let mut charge = self.charge();
        let torn = self.end_programs(programs, &mut durable, &mut charge);
        let taken = self.take_torn(&torn, &mut durable);
        let before = durable.clone();
        let in_flight: BTreeSet<(u32, u64)> = torn.iter().filter_map(|torn| torn.unit).collect();
        let paired = self.destroy_paired(&torn, &mut durable);
        // Where recovery is not over, what was saved before is on flash still.
        let again = self.now < self.ready;
        let tail = || u128::from(self.ftl.tail_pages()) * self.program_pj(false);
        let saved = again || charge.pays(tail());
        let saved_pages = if saved { self.ftl.pages_of_tail(again) } else { 0 };
        let trims = self.ftl.trims_after(saved, &erased);
        let owners = self.owners(&durable, &torn, seed);
        let spare = Spare { owner: &owners, version: &durable.version };
        let without = |left: &_| self.image(spare, &trims, (saved, &bound), left);
        let mut image = without(&BTreeSet::new());
        let lines = self.save_lines(&image, &trims, &mut charge);
        let mut versions = vec![0; image.version.len()];
        for line in &lines {
            versions[line.lpn.index()] = line.version + 1;
        }
        let taken_back = self.take_torn_back(&durable, &mut image, &versions, without);
        let spoiled = self.spoiled(&torn);
        let damage = fault::damage((&image, without, &versions), &taken, (&spoiled, spare));
        let losses = Losses {
            stopped: self,
            durable: &before,
            image: &image,
            trims: &trims,
            saved: versions,
            in_flight: &in_flight,
            paired: &paired,
            taken_back: &taken_back,
            damage: &damage,
        };
        let lost = losses.find();
        let held = losses.held(&lost);
        let kept: Vec<(u64, bool)> =
            (0..losses.saved.len()).map(|lpn| losses.newest(lpn)).collect();
        drop(owners);
        for program in torn.iter().filter(|torn| !damage.counts(torn)) {
            durable.holds_nothing(program.ppn.get());
        }
        durable.forget(&taken_back);
        durable.restart(kept.into_iter());
        let (reads, took) = self.read_all(&durable, (lines.len(), saved_pages));
        let cut = Cut {
            at: self.now,
            seed,
            lost,
            held,
            recovery: took.ready.since(took.from),
            reads,
            torn_units: torn.len() as u64,
            torn_erases,
            dumped_units: lines.len() as u64,
            energy_pj: u64::try_from(charge.spent).unwrap_or(u64::MAX),
            needed_pj: u64::try_from(charge.needed).unwrap_or(u64::MAX),
        };
        Found { cut, durable, image, trims, lines, bound, saved_pages, took }
    }

    /// What recovery finds of each unit, where the capacitor has `saved` the map or not, and units
    /// of `bound` were being programmed; versions of `left` are left out.
    fn image(
        &self,
        spare: Spare<'_>,
        trims: &[u64],
        (saved, bound): (bool, &[Ppn]),
        left: &BTreeSet<(u32, u64)>,
    ) -> Image {
        let power = &self.settings.keys.power;
        if !power.oob_scan && !saved && !power.is_written() {
            // No map is anywhere on flash, and no spare area is read.
            return Image::nothing(self.ftl);
        }
        if !power.oob_scan {
            return image::rewound(self.ftl, spare, saved);
        }
        let mut found = image::scan(self.ftl, spare, trims, left);
        if self.ftl.is_planned() {
            image::settle_by_blocks(&self.settings.geometry, spare, &mut found);
        }
        if saved && power.journal_entries == 0 {
            // Where the whole map is saved, nothing comes back that it has not.
            image::leave_out_unmapped(self.ftl, &mut found, bound);
        }
        found
    }

    fn charge(&self) -> Charge {
        let power = &self.settings.keys.power;
        let pj = u128::from(power.capacitor_uj) * 1_000_000;
        Charge {
            has: power.plp == Plp::Capacitor,
            left: (power.capacitor_uj > 0).then_some(pj),
            ..Charge::default()
        }
    }

    /// Energy of programming a program unit, with one bit a cell (`slc`) or with all.
    fn program_pj(&self, slc: bool) -> u128 {
        let mut tally = Tally::default();
        let op = ArrayWork::of(Op::Program, slc);
        tally.count(op, Purpose::Recovery, &self.program_work(slc));
        tally.energy_pj(&self.settings.keys.energy)
    }

    fn program_work(&self, slc: bool) -> Work {
        let array = self.flash.array_time(Op::Program, None, slc);
        let geometry = &self.settings.geometry;
        let units = match self.settings.slc.filter(|_| slc) {
            Some(cache) => cache.program_units,
            None => geometry.program_units(),
        };
        let bytes = u64::from(units) * u64::from(geometry.unit_bytes());
        let work = Work::of_arrays(geometry, Op::Program, 1, array, slc);
        let transfer_ns = self.settings.transfer_ns(bytes) + self.flash.command_ns();
        Work { ops: 1, transfer_ns, ..work }
    }

    /// Lines of the buffer that the capacitor saves, those that have been dirty for the longest
    /// time first, a program unit at a time.
    fn save_lines(&self, image: &Image, trims: &[u64], charge: &mut Charge) -> Vec<Line> {
        let Some(buffer) = self.buffer else { return Vec::new() };
        let unsaved = |line: &&Line| {
            let at = line.lpn.index();
            let trimmed = trims.get(at).is_some_and(|trim| *trim > line.version);
            line.version + 1 > image.version[at] && !trimmed
        };
        let lines: Vec<Line> = buffer.held().filter(unsaved).copied().collect();
        if self.now < self.ready {
            // What was saved before is on flash still.
            return lines;
        }
        let most = self.settings.geometry.program_units() as usize;
        let mut saved = Vec::new();
        for group in lines.chunks(most) {
            if charge.pays(self.program_pj(false)) {
                saved.extend_from_slice(group);
            }
        }
        saved
    }

    /// Takes back what is there of torn writes, and of those of which that takes a part away.
    /// Returns which versions of units it takes, plus one each.
    fn take_torn_back(
        &self,
        durable: &Durable,
        image: &mut Image,
        saved: &[u64],
        without: impl Fn(&BTreeSet<(u32, u64)>) -> Image,
    ) -> BTreeSet<(u32, u64)> {
        let (mut left, mut taken) = (BTreeSet::new(), BTreeSet::new());
        loop {
            let mut back = self.torn_writes(durable, image, saved);
            back.retain(|unit| !left.contains(unit));
            if back.is_empty() {
                return taken;
            }
            left.extend(&back);
            taken.extend(take_back(image, &without(&left), &back));
        }
    }

    /// Units of writes that promise to be whole or not there, and of which a part is missing: what
    /// recovery takes back where older contents are there. `saved` has the versions of units that
    /// were saved out of the buffer, plus one each.
    fn torn_writes(&self, durable: &Durable, image: &Image, saved: &[u64]) -> BTreeSet<(u32, u64)> {
        let most = self.settings.keys.power.awupf_units;
        let mut back = BTreeSet::new();
        if most < 2 {
            return back;
        }
        let kept = |(lpn, number): &(u32, u64)| {
            image.version[*lpn as usize].max(saved[*lpn as usize]) > *number
        };
        for asked in durable.requests.values() {
            let units = asked.changes.len() as u64;
            let writes = asked.request.op == RequestOp::Write && (2..=most).contains(&units);
            let wanted = self.settings.pages_of(&asked.request).1;
            let whole = units == u64::from(wanted) && asked.changes.iter().all(kept);
            if !writes || whole || !asked.changes.iter().any(kept) {
                continue;
            }
            let own = asked
                .changes
                .iter()
                .filter(|(lpn, number)| image.version[*lpn as usize] == *number + 1);
            back.extend(own.map(|(lpn, number)| (*lpn, *number + 1)));
        }
        back
    }

    /// Recovery reads: the checkpoint, the journal, what the capacitor has saved, and then spare
    /// areas, of all blocks with a program since the checkpoint. It has saved so many units of the
    /// buffer, and so many pages of the map or of the journal. Each kind is spread over all dies.
    /// Returns how many there are, and what they take.
    fn read_all(&self, durable: &Durable, (saved, saved_pages): (usize, u64)) -> (Reads, Took) {
        let geometry = &self.settings.geometry;
        let known = self.ftl.known();
        let units = u64::from(geometry.units_per_page);
        let mut spare: Vec<Vec<Ppn>> = vec![Vec::new(); geometry.dies() as usize];
        let scans = self.settings.keys.power.oob_scan;
        let wanted = |block: &BlockId| {
            let last = durable.blocks[block.index()].last;
            scans && last.is_some_and(|last| last >= known.since)
        };
        for block in (0..geometry.blocks()).map(BlockId::new).filter(wanted) {
            let die = geometry.die_of_plane(geometry.plane_of_block(block));
            let pages = 0..self.ftl.pages_to_scan(block);
            let first = |page| geometry.unit_of(block, page * geometry.units_per_page);
            spare[die.index()].extend(pages.map(first));
        }
        let reads = Reads {
            checkpoint: known.pieces.div_ceil(units),
            journal: known.pages,
            dumped: saved_pages + (saved as u64).div_ceil(units),
            spare: spare.iter().map(Vec::len).sum::<usize>() as u64,
        };
        let page_ns = self.settings.transfer_ns(geometry.page_bytes.into());
        let spare_ns = self.settings.transfer_ns(SPARE_BYTES * units);
        let (mut took, mut at) = (Took::nothing(geometry, self.now), self.now);
        let whole = Kind { data_ns: page_ns, is_slc: &|_| false };
        for count in [reads.checkpoint, reads.journal, reads.dumped] {
            let pages = spread(count, geometry.dies());
            at = reads::read_all(self.flash, geometry, &pages, &whole, (at, &mut took));
        }
        let areas = Kind { data_ns: spare_ns, is_slc: &|ppn| self.ftl.is_slc(Some(ppn)) };
        took.ready = reads::read_all(self.flash, geometry, &spare, &areas, (at, &mut took));
        (reads, took)
    }
}

/// Units get their older contents where there are any. Returns which do, with what they had.
fn take_back(
    found: &mut Image,
    rolled: &Image,
    back: &BTreeSet<(u32, u64)>,
) -> BTreeSet<(u32, u64)> {
    let mut taken = BTreeSet::new();
    for &(lpn, version) in back {
        let at = lpn as usize;
        if rolled.place[at] > 0 {
            (found.place[at], found.version[at]) = (rolled.place[at], rolled.version[at]);
            taken.insert((lpn, version));
        }
    }
    taken
}

/// So many pages of the first type, spread over dies.
fn spread(count: u64, dies: u32) -> Vec<Vec<Ppn>> {
    let of_die = |die: u32| {
        let own = count / u64::from(dies) + u64::from(u64::from(die) < count % u64::from(dies));
        vec![Ppn::new(0); usize::try_from(own).expect("pages of a map")]
    };
    (0..dies).map(of_die).collect()
}
