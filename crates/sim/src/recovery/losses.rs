//! What the host was told of and is lost.

use super::fault::Damage;
use super::image::Image;
use super::stopped::Stopped;
use crate::account::durable::{Durable, Known};
use crate::cut::{Held, How, Lost};
use flashyard_core::request::RequestOp;
use flashyard_core::units::Lpn;
use std::collections::BTreeSet;

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
        let one = |unit: u32| {
            let at = unit as usize;
            let trim = self.trims.get(at).copied().unwrap_or(0);
            let kept = self.image.version[at].max(self.saved[at]).max(trim);
            Held { unit, version: kept.checked_sub(1) }
        };
        units.into_iter().map(one).collect()
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
        let one = |lpn: u32| {
            let at = lpn as usize;
            let kept = self.image.version[at].max(saved[at]);
            let damaged = self.damaged(lpn);
            let known = damaged.or_else(|| self.of_memory(lpn, kept, saved[at] > 0));
            known.or_else(|| self.of_flash(lpn, kept, on_flash[at], &unanswered))
        };
        (0..units).filter_map(one).collect()
    }

    /// What is lost of a unit that a planted fault has damaged: whatever was promised of writes,
    /// none leaves a unit in part, or with other bits.
    fn damaged(&self, lpn: u32) -> Option<Lost> {
        if let Some(version) = self.damage.corrupt.get(&lpn) {
            return Some(self.lost(lpn, (version - 1, None), *version, (How::Corrupt, true)));
        }
        let (version, kept) = *self.damage.shorn.get(&lpn)?;
        let mut changes = self.durable.changes_of(lpn);
        let change = changes.find(|(number, _)| number + 1 == version);
        let request = change.and_then(|(_, change)| change.request);
        let lost = self.lost(lpn, (version - 1, request), kept, (How::Shorn, true));
        let unit = u64::from(self.stopped.settings.geometry.unit_sectors());
        let there = u64::from(lpn) * unit + Damage::sectors_there(unit);
        let end = lost.first_sector + u64::from(lost.sectors);
        let first_sector = lost.first_sector.max(there);
        let sectors = u32::try_from(end.checked_sub(first_sector)?).expect("a part of a unit");
        (sectors > 0).then_some(Lost { first_sector, sectors, ..lost })
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

    /// What is lost of the changes that were not on flash.
    fn of_memory(&self, lpn: u32, kept: u64, is_saved: bool) -> Option<Lost> {
        let answered = |(_, change): &(u64, &Known)| change.answered.is_some();
        let (number, newest) = self.durable.changes_of(lpn).rev().find(answered)?;
        let holds = self.image.place[lpn as usize] > 0 || is_saved;
        let is_kept =
            number < kept || self.trims.get(lpn as usize).is_some_and(|trim| *trim > number);
        if is_kept || (newest.trims && !holds) {
            return None;
        }
        let how = match () {
            () if newest.trims => How::Untrimmed,
            () if self.in_flight.contains(&(lpn, number + 1)) => How::Programming,
            () => How::Buffered,
        };
        // A promise may be older than what is lost last.
        let mut changes = self.durable.changes_of(lpn).filter(|(number, _)| *number >= kept);
        let promised = changes.any(|(_, change)| self.durable.is_promised(change))
            || self.durable.wants_newer(lpn, self.has(lpn, kept), holds);
        Some(self.lost(lpn, (number, newest.request), kept, (how, promised)))
    }

    /// What is lost of what was on flash.
    fn of_flash(
        &self,
        lpn: u32,
        kept: u64,
        newest: u64,
        unanswered: &BTreeSet<(u32, u64)>,
    ) -> Option<Lost> {
        let number = newest.checked_sub(1)?;
        let trimmed = self.trims.get(lpn as usize).is_some_and(|trim| *trim > newest);
        // A trim that was answered wants nothing there, found or forgotten.
        let answered = |(_, change): &(u64, &Known)| change.answered.is_some();
        let wanted = self.durable.changes_of(lpn).rev().find(answered);
        let gone = kept == 0 && self.image.place[lpn as usize] == 0;
        let trimmed = trimmed || wanted.is_some_and(|(at, last)| gone && last.trims && at > number);
        if newest <= kept || trimmed || unanswered.contains(&(lpn, number)) {
            return None;
        }
        let how = match () {
            () if self.paired.contains(&(lpn, newest)) => How::Paired,
            () if self.taken_back.contains(&(lpn, newest)) => How::Torn,
            () => How::Unfound,
        };
        let holds = kept > 0 || self.image.place[lpn as usize] > 0;
        let promised = self.durable.covers(lpn, self.has(lpn, kept), holds);
        Some(self.lost(lpn, (number, None), kept, (how, promised)))
    }

    /// The newest change of a unit that outlives the loss, plus one: a write of which it has `kept`
    /// the contents, or a trim behind it.
    fn has(&self, lpn: u32, kept: u64) -> u64 {
        self.trims.get(lpn as usize).map_or(kept, |trim| kept.max(*trim))
    }

    fn lost(
        &self,
        lpn: u32,
        (version, request): (u64, Option<u64>),
        kept: u64,
        (how, promised): (How, bool),
    ) -> Lost {
        let unit = self.stopped.settings.geometry.unit_sectors();
        let first = u64::from(lpn) * u64::from(unit);
        let asked = request.and_then(|order| self.durable.requests.get(&order));
        let covered = asked.map_or(0..u64::from(unit), |asked| {
            self.stopped.settings.covered(&asked.request, Lpn::new(lpn))
        });
        Lost {
            request,
            version,
            first_sector: first + covered.start,
            sectors: u32::try_from(covered.end - covered.start).expect("a part of a unit"),
            kept: kept.checked_sub(1),
            how,
            promised,
        }
    }
}
