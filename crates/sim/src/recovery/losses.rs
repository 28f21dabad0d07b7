//! What the host was told of and is lost.

use super::fault::Damage;
use super::image::Image;
use super::stopped::Stopped;
use crate::account::durable::{Durable, Known};
use crate::cut::{Held, How, Lost};
use flashyard_core::request::RequestOp;
use flashyard_core::units::Lpn;
use std::collections::BTreeSet;
use std::ops::Range;

/// What is needed to find what was lost.
pub(super) struct Losses<'a> {
    pub(super) stopped: &'a Stopped<'a>,
    pub(super) durable: &'a Durable,
    pub(super) image: &'a Image,
    pub(super) trims: &'a [u64],
    /// The versions of units that were saved out of the buffer, plus one each.
    pub(super) saved: Vec<u64>,
    pub(super) in_flight: &'a BTreeSet<(u32, u64)>,
    pub(super) paired: &'a BTreeSet<(u32, u64)>,
    pub(super) taken_back: &'a BTreeSet<(u32, u64)>,
    pub(super) damage: &'a Damage,
}

impl Losses<'_> {
    /// What units hold whose newest change was not answered, or that are among the lost ones.
    pub(super) fn held(&self, lost: &[Lost]) -> Vec<Held> {
        let unit_sectors = u64::from(self.stopped.settings.geometry.unit_sectors());
        let unit = |lost: &Lost| u32::try_from(lost.first_sector / unit_sectors).expect("a unit");
        let asked = self.durable.requests.values();
        let mut units: BTreeSet<u32> =
            asked.flat_map(|asked| &asked.changes).map(|c| c.0).collect();
        units.extend(self.durable.changes.keys().map(|(lpn, _)| *lpn));
        units.extend(lost.iter().map(unit));
        let one = |unit: u32| Held { unit, version: self.newest(unit as usize).0.checked_sub(1) };
        units.into_iter().map(one).collect()
    }

    /// The newest change of a unit that outlives the loss, plus one, 0 of none, and whether it is a
    /// trim.
    pub(super) fn newest(&self, lpn: usize) -> (u64, bool) {
        let contents = self.image.version[lpn].max(self.saved[lpn]);
        let trim = self.trims.get(lpn).copied().unwrap_or(0);
        (contents.max(trim), trim > contents)
    }

    /// Units of which something is lost, in ascending order.
    pub(super) fn find(&self) -> Vec<Lost> {
        let saved = &self.saved;
        let units = u32::try_from(saved.len()).expect("units have 32 bits");
        let on_flash = self.newest_on_flash();
        let unanswered: BTreeSet<(u32, u64)> = (self.durable.requests.values())
            .filter(|asked| asked.request.op == RequestOp::Write)
            .flat_map(|asked| asked.changes.iter().copied())
            .filter(|key| self.durable.is_unanswered(key))
            .collect();
        // Of most units every change is on flash.
        let mut changed = vec![false; saved.len()];
        for (lpn, _) in self.durable.changes.keys() {
            changed[*lpn as usize] = true;
        }
        let one = |lpn: u32| {
            let at = lpn as usize;
            let kept = self.image.version[at].max(saved[at]);
            let answered = |version: &u64| !unanswered.contains(&(lpn, version - 1));
            let has = self.has(lpn, kept);
            let gone = Some(on_flash[at]).filter(|version| *version > has).filter(answered);
            let damaged = self.damaged(lpn);
            let of_memory = || self.of_memory(lpn, kept, (saved[at] > 0, gone));
            let known = damaged.or_else(|| changed[at].then(of_memory).flatten());
            known.or_else(|| self.of_flash(lpn, kept, gone?))
        };
        (0..units).filter_map(one).collect()
    }

    /// What is lost of a unit that a planted fault has damaged: whatever was promised of writes,
    /// none leaves a unit in part, or with other bits.
    fn damaged(&self, lpn: u32) -> Option<Lost> {
        if let Some(version) = self.damage.corrupt.get(&lpn) {
            let lost = Lost { how: How::Corrupt, ..self.lost(lpn, version - 1, *version) };
            return Some(Lost { promised: true, ..lost });
        }
        let (version, kept) = *self.damage.shorn.get(&lpn)?;
        let mut changes = self.durable.changes_of(lpn);
        let change = changes.find(|(number, _)| number + 1 == version);
        let request = change.and_then(|(_, change)| change.request);
        let unit = u64::from(self.stopped.settings.geometry.unit_sectors());
        let covered = self.covered(lpn, request);
        let gone = covered.start.max(Damage::sectors_there(unit))..covered.end;
        let lost = Lost { request, how: How::Shorn, ..self.lost(lpn, version - 1, kept) };
        (!gone.is_empty()).then(|| Lost { promised: true, ..of_sectors(lost, &gone) })
    }

    /// The newest version of each unit that was on flash, plus one.
    fn newest_on_flash(&self) -> Vec<u64> {
        let mut newest = vec![0; self.image.version.len()];
        for (owner, version) in self.durable.owner.iter().zip(&self.durable.version) {
            if let Some(lpn) = owner.checked_sub(1) {
                let known = &mut newest[lpn as usize];
                *known = (*known).max(*version);
            }
        }
        newest
    }

    /// What is lost of the changes that were not on flash; `gone` is the version, plus one, of what
    /// is lost that was.
    fn of_memory(
        &self,
        lpn: u32,
        kept: u64,
        (is_saved, gone): (bool, Option<u64>),
    ) -> Option<Lost> {
        let has = self.has(lpn, kept);
        let answered = |(_, change): &(u64, &Known)| change.answered.is_some();
        let changes = || self.durable.changes_of(lpn).filter(answered);
        let lost = || changes().filter(|(number, _)| *number >= has);
        let (version, newest) = changes().next_back().filter(|(number, _)| *number >= has)?;
        let holds = self.image.place[lpn as usize] > 0 || is_saved;
        if newest.trims && !holds {
            return None;
        }
        let how = match () {
            () if newest.trims => How::Untrimmed,
            () if self.in_flight.contains(&(lpn, version + 1)) => How::Programming,
            () => How::Buffered,
        };
        // A promise may be older than what is lost last.
        let promised = lost().any(|(_, change)| self.durable.is_promised(change))
            || self.durable.wants_newer(lpn, has, holds);
        let all = Lost { request: newest.request, how, promised, ..self.lost(lpn, version, kept) };
        if gone.is_some() {
            return Some(all);
        }
        let covered = lost().map(|(_, change)| self.covered(lpn, change.request));
        let sectors = covered.reduce(|a, b| a.start.min(b.start)..a.end.max(b.end))?;
        Some(of_sectors(all, &sectors))
    }

    /// What is lost of what was on flash: this version, plus one.
    fn of_flash(&self, lpn: u32, kept: u64, newest: u64) -> Option<Lost> {
        let number = newest - 1;
        // A trim that was answered wants nothing there, found or forgotten.
        let answered = |(_, change): &(u64, &Known)| change.answered.is_some();
        let wanted = self.durable.changes_of(lpn).rev().find(answered);
        let gone = kept == 0 && self.image.place[lpn as usize] == 0;
        if wanted.is_some_and(|(at, last)| gone && last.trims && at > number) {
            return None;
        }
        let how = match () {
            () if self.paired.contains(&(lpn, newest)) => How::Paired,
            () if self.taken_back.contains(&(lpn, newest)) => How::Torn,
            () => How::Unfound,
        };
        let holds = kept > 0 || self.image.place[lpn as usize] > 0;
        let promised = self.durable.covers(lpn, self.has(lpn, kept), holds);
        Some(Lost { how, promised, ..self.lost(lpn, number, kept) })
    }

    /// The newest change of a unit that outlives the loss, plus one: a write of which it has `kept`
    /// the contents, or a trim behind it.
    fn has(&self, lpn: u32, kept: u64) -> u64 {
        self.trims.get(lpn as usize).map_or(kept, |trim| kept.max(*trim))
    }

    /// The sectors of a unit that a request covers, counted from its first one: all where that is
    /// not known.
    fn covered(&self, lpn: u32, request: Option<u64>) -> Range<u64> {
        let settings = &self.stopped.settings;
        let asked = request.and_then(|order| self.durable.requests.get(&order));
        let all = 0..u64::from(settings.geometry.unit_sectors());
        asked.map_or(all, |asked| settings.covered(&asked.request, Lpn::new(lpn)))
    }

    /// A unit whose change of this number, of a request that is not known, is lost as a whole and
    /// was not promised; it has `kept` another version, plus one.
    fn lost(&self, lpn: u32, version: u64, kept: u64) -> Lost {
        let sectors = self.stopped.settings.geometry.unit_sectors();
        let first_sector = u64::from(lpn) * u64::from(sectors);
        let (request, kept) = (None, kept.checked_sub(1));
        let (how, promised) = (How::Unfound, false);
        Lost { request, version, first_sector, sectors, kept, how, promised }
    }
}

/// A loss of sectors of a unit, counted from its first one, in place of all.
fn of_sectors(lost: Lost, sectors: &Range<u64>) -> Lost {
    let first_sector = lost.first_sector + sectors.start;
    let sectors = u32::try_from(sectors.end - sectors.start).expect("a part of a unit");
    Lost { first_sector, sectors, ..lost }
}
