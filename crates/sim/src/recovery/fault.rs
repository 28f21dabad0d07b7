//! Faults that are planted into recovery (`power.fault`): what it takes for true and is not.

use super::image::{Image, Spare};
use super::stopped::Stopped;
use super::torn::Torn;
use crate::account::durable::Durable;
use crate::config::Fault;
use crate::random::{STEP, mix};
use crate::sets::Stage;
use flashyard_core::units::Ppn;
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

/// Of a program that counts as whole, the share of the sectors of each unit that is there, the
/// first ones. Assumed.
const SHORN: (u64, u64) = (3, 8);

/// Units that do not hold what recovery takes them to hold, with the version, plus one, that it
/// says they have.
#[derive(Debug, Default)]
pub(super) struct Damage {
    /// Those of which a part is there, and the version, plus one, of the rest.
    pub(super) shorn: BTreeMap<u32, (u64, u64)>,
    /// Those whose bits are others.
    pub(super) corrupt: BTreeMap<u32, u64>,
}

impl Damage {
    /// Whether a program that was interrupted counts as whole.
    pub(super) fn counts(&self, torn: &Torn) -> bool {
        torn.unit.is_some_and(|(lpn, version)| {
            self.shorn.get(&lpn).is_some_and(|(known, _)| *known == version)
        })
    }

    /// How many sectors of a shorn unit are there, of so many.
    pub(super) const fn sectors_there(of: u64) -> u64 {
        (of * SHORN.0).div_ceil(SHORN.1)
    }
}

impl Stopped<'_> {
    const fn fault(&self) -> Fault {
        self.settings.keys.power.fault
    }

    /// Of programs that were interrupted, those that the fault lets count as whole hold their units
    /// now. Returns them.
    pub(super) fn take_torn(&self, torn: &[Torn], durable: &mut Durable) -> Vec<Torn> {
        let begun = |torn: &&Torn| torn.has_begun() && torn.stage == Stage::Program;
        let is_on = self.fault() == Fault::ShornWrites;
        let taken: Vec<Torn> = torn.iter().filter(begun).filter(|_| is_on).copied().collect();
        for one in &taken {
            if let Some((lpn, version)) = one.unit {
                durable.holds(one.ppn.get(), (lpn + 1, version), self.now);
            }
        }
        taken
    }

    /// Pages that interrupted programs have spoiled and nobody misses.
    pub(super) fn spoiled(&self, torn: &[Torn]) -> Vec<Ppn> {
        if self.fault() == Fault::BitCorruption { self.on_word_lines(torn) } else { Vec::new() }
    }

    /// The owners of all physical units, plus one each, as far as recovery sees them.
    pub(super) fn owners<'a>(
        &self,
        durable: &'a Durable,
        torn: &[Torn],
        seed: u64,
    ) -> Cow<'a, [u32]> {
        let all = &durable.owner[..];
        let roots = torn.iter().any(|torn| torn.stage == Stage::JournalProgram);
        match self.fault() {
            Fault::Unserialisable => first_of_each(all, self.settings.exported_units).into(),
            Fault::Metadata => self.without_a_piece(durable, seed).map_or(all.into(), Cow::from),
            Fault::Dead if roots => vec![0; all.len()].into(),
            _ => all.into(),
        }
    }

    /// The same without units of a piece of the newest checkpoint that nothing else names: they lie
    /// in blocks without a program since.
    fn without_a_piece(&self, durable: &Durable, seed: u64) -> Option<Vec<u32>> {
        let (known, geometry) = (self.ftl.known(), &self.settings.geometry);
        let piece = mix(seed.wrapping_mul(STEP)).checked_rem(known.pieces)?;
        let entries = u64::from(geometry.unit_bytes()) / self.settings.keys.map.entry_bytes;
        let piece = piece * entries..(piece + 1) * entries;
        let mut all = durable.owner.clone();
        for (ppn, owner) in (0u32..).zip(&mut all).filter(|(_, owner)| **owner > 0) {
            let block = geometry.block_of(Ppn::new(ppn));
            let is_old = durable.blocks[block.index()].last.is_none_or(|last| last < known.since);
            if is_old && piece.contains(&u64::from(*owner - 1)) {
                *owner = 0;
            }
        }
        Some(all)
    }
}

/// What the fault has done to units of the image: `rolled` has what was there before programs
/// that counted as whole, and `saved` what was saved out of the buffer, plus one each.
pub(super) fn damage(
    (image, rolled, saved): (&Image, impl Fn(&BTreeSet<(u32, u64)>) -> Image, &[u64]),
    taken: &[Torn],
    (spoiled, spare): (&[Ppn], Spare<'_>),
) -> Damage {
    let mut damage = Damage::default();
    let shows = |lpn: u32, ppn: Ppn| {
        let at = lpn as usize;
        image.place[at] == ppn.get() + 1 && saved[at] < image.version[at]
    };
    let chosen = |torn: &Torn| torn.unit.filter(|(lpn, _)| shows(*lpn, torn.ppn));
    let shorn: BTreeSet<(u32, u64)> = taken.iter().filter_map(chosen).collect();
    if !shorn.is_empty() {
        let before = rolled(&shorn);
        let of = |&(lpn, version)| (lpn, (version, before.version[lpn as usize]));
        damage.shorn = shorn.iter().map(of).collect();
    }
    for ppn in spoiled {
        let version = spare.version[ppn.index()];
        if let Some(lpn) = spare.owner[ppn.index()].checked_sub(1)
            && version > 0
            && shows(lpn, *ppn)
        {
            damage.corrupt.insert(lpn, version);
        }
    }
    damage
}

/// Of each unit, only the page with the lowest address.
fn first_of_each(owners: &[u32], units: u32) -> Vec<u32> {
    let mut seen = vec![false; units as usize + 1];
    let mut all = vec![0; owners.len()];
    for (at, &owner) in owners.iter().enumerate() {
        if owner > 0 && !std::mem::replace(&mut seen[owner as usize], true) {
            all[at] = owner;
        }
    }
    all
}
