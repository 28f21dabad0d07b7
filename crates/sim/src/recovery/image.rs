//! What recovery finds on flash of each logical unit.

use crate::ftl::Ftl;
use flashyard_core::geometry::Geometry;
use flashyard_core::units::{Lpn, Ppn};
use std::collections::BTreeSet;

/// What the spare areas of all pages say: of each physical unit the logical unit and the number of
/// the change that made its contents, plus one each; 0 of nothing, and of what was there before the
/// run.
#[derive(Clone, Copy, Debug)]
pub(super) struct Spare<'a> {
    pub(super) owner: &'a [u32],
    pub(super) version: &'a [u64],
}

/// What recovery finds of each logical unit: the physical unit plus one, 0 for none, and the number
/// of the change that made its contents plus one.
#[derive(Clone, Debug)]
pub(crate) struct Image {
    pub(crate) place: Vec<u32>,
    pub(super) version: Vec<u64>,
}

impl Image {
    /// That of a device of which recovery finds no unit.
    pub(super) fn nothing(ftl: &Ftl) -> Self {
        let units = usize::try_from(ftl.map().units()).expect("units have 32 bits");
        Self { place: vec![0; units], version: vec![0; units] }
    }
}

/// The newest contents of each logical unit by the spare areas, and by the trims that outlive
/// the loss of power. Of two copies of the same contents it is the later one. Units of `left`
/// are left out, with the versions that they have there.
pub(super) fn scan(
    ftl: &Ftl,
    spare: Spare<'_>,
    trims: &[u64],
    left: &BTreeSet<(u32, u64)>,
) -> Image {
    let mut image = Image::nothing(ftl);
    let found = (0u32..).zip(spare.owner.iter().zip(spare.version));
    for (ppn, (&owner, &version)) in found {
        let Some(lpn) = owner.checked_sub(1) else { continue };
        let at = lpn as usize;
        let is_trimmed = trims.get(at).is_some_and(|trim| *trim > version);
        if is_trimmed || (!left.is_empty() && left.contains(&(lpn, version))) {
            continue;
        }
        let newer = image.place[at] == 0 || version > image.version[at];
        let copied = || ftl.locate(Lpn::new(lpn)) == Some(Ppn::new(ppn));
        if newer || (version == image.version[at] && copied()) {
            (image.place[at], image.version[at]) = (ppn + 1, version);
        }
    }
    image
}

/// Where layers plan: of two copies of the same contents, the one in a block that holds anything
/// else which counts. So what a merge has done by halves takes no more blocks than before it: a
/// block of which there is a second copy of everything, in blocks that stay, holds nothing. Those
/// with the lowest numbers are looked at first.
pub(super) fn settle_by_blocks(geometry: &Geometry, spare: Spare<'_>, image: &mut Image) {
    let newest = |ppn: usize| {
        let lpn = spare.owner[ppn].checked_sub(1)? as usize;
        (image.place[lpn] > 0 && spare.version[ppn] == image.version[lpn]).then_some(lpn)
    };
    let mut copies = vec![0u32; image.place.len()];
    for lpn in (0..spare.owner.len()).filter_map(newest) {
        copies[lpn] += 1;
    }
    let mut places = vec![0; image.place.len()];
    let block_units = geometry.units_per_block() as usize;
    for block in 0..geometry.blocks() as usize {
        let units = block * block_units..(block + 1) * block_units;
        let held = units.filter_map(|ppn| newest(ppn).map(|lpn| (lpn, ppn)));
        if held.clone().all(|(lpn, _)| copies[lpn] > 1) {
            held.for_each(|(lpn, _)| copies[lpn] -= 1);
            continue;
        }
        for (lpn, ppn) in held {
            if places[lpn] == 0 {
                places[lpn] = u32::try_from(ppn).expect("units have 32 bits") + 1;
            }
        }
    }
    image.place = places;
}

/// What the map has as of the changes that outlive the loss of power; all of them if they are
/// `saved`. Without spare areas, nothing else is known.
pub(super) fn rewound(ftl: &Ftl, spare: Spare<'_>, saved: bool) -> Image {
    let units = u32::try_from(ftl.map().units()).expect("units have 32 bits");
    let place = |ppn: Option<Ppn>| ppn.map_or(0, |ppn| ppn.get() + 1);
    let mut places: Vec<u32> = (0..units).map(|lpn| place(ftl.locate(Lpn::new(lpn)))).collect();
    let unsaved = ftl.unsaved().rev();
    for change in unsaved.filter(|_| !saved) {
        places[change.lpn.index()] = place(change.old);
    }
    let mut version = vec![0; places.len()];
    for (lpn, place) in (0u32..).zip(&mut places) {
        let Some(ppn) = place.checked_sub(1) else { continue };
        if spare.owner[ppn as usize] == lpn + 1 {
            version[lpn as usize] = spare.version[ppn as usize];
        } else {
            // Something else is there, or nothing.
            *place = 0;
        }
    }
    Image { place: places, version }
}

/// Units that the map does not have are left out, unless their program, of `bound`, has ended
/// since the power failed.
pub(super) fn leave_out_unmapped(ftl: &Ftl, image: &mut Image, bound: &[Ppn]) {
    for (lpn, place) in (0u32..).map(Lpn::new).zip(&mut image.place) {
        let ended = place.checked_sub(1).is_some_and(|ppn| bound.contains(&Ppn::new(ppn)));
        if ftl.locate(lpn).is_none() && !ended {
            (*place, image.version[lpn.index()]) = (0, 0);
        }
    }
}
