//! What the checker knows of each logical unit.

use flashyard_core::units::{Lpn, Ppn};
use std::ops::{Index, Range};

/// What is known of the changes of a logical unit. Version 0 is the initial contents.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Known {
    /// The newest version that is committed.
    pub(super) newest: u64,
    pub(super) acknowledged: u64,
    /// The latest request, by the order in which they came, from 1, whose change of the unit has
    /// been translated.
    pub(super) latest: u64,
}

/// Where the newest committed version of each logical unit is (PPN + 1, or 0 for nowhere).
#[derive(Clone, Debug)]
pub(super) struct Places(Rows<u32>);

impl Places {
    /// So many units, none of which is anywhere.
    pub(super) fn new(units: usize) -> Self {
        Self(Rows::new(units))
    }

    /// How many units there are.
    pub(super) const fn len(&self) -> usize {
        self.0.units
    }

    /// Where a unit is.
    pub(super) fn of(&self, lpn: Lpn) -> Option<Ppn> {
        place_of(self.0[lpn])
    }

    /// A unit is somewhere else, or nowhere.
    pub(super) fn set(&mut self, lpn: Lpn, place: Option<Ppn>) {
        *self.0.touch(lpn) = place.map_or(0, |ppn| ppn.get() + 1);
    }

    /// The units of each row, and where they are if one of them ever was anywhere.
    pub(super) fn rows(
        &self,
    ) -> impl Iterator<Item = (Range<usize>, Option<impl Iterator<Item = (Lpn, Option<Ppn>)>>)>
    {
        self.0.rows().map(|(units, places)| {
            let lpns = units.clone().map(Lpn::from_index);
            (units, places.map(|places| lpns.zip(places.iter().copied().map(place_of))))
        })
    }

    /// The units that are anywhere.
    pub(super) fn all(&self) -> impl Iterator<Item = (Lpn, Ppn)> {
        let places = self.rows().filter_map(|(_, places)| places).flatten();
        places.filter_map(|(lpn, place)| Some((lpn, place?)))
    }
}

const fn place_of(entry: u32) -> Option<Ppn> {
    match entry {
        0 => None,
        entry => Some(Ppn::new(entry - 1)),
    }
}

/// Entries that are in memory together, or not.
const ROW: usize = 256;

/// An entry for each logical unit. Rows that nothing has touched take no memory, nor time at the
/// end of a run: a device of terabytes has many.
#[derive(Clone, Debug)]
pub(super) struct Rows<T> {
    entries: Vec<Option<Box<[T; ROW]>>>,
    units: usize,
    untouched: T,
}

impl<T: Copy + Default> Rows<T> {
    /// So many units, which nothing has touched.
    pub(super) fn new(units: usize) -> Self {
        let entries = std::iter::repeat_with(|| None).take(units.div_ceil(ROW)).collect();
        Self { entries, units, untouched: T::default() }
    }

    /// The entry of a unit, to be changed.
    pub(super) fn touch(&mut self, lpn: Lpn) -> &mut T {
        assert!(lpn.index() < self.units, "{lpn:?} is none of {} units", self.units);
        let untouched = self.untouched;
        let row = &mut self.entries[lpn.index() / ROW];
        &mut row.get_or_insert_with(|| Box::new([untouched; ROW]))[lpn.index() % ROW]
    }

    /// The units of each row, and their entries if something has touched the row.
    fn rows(&self) -> impl Iterator<Item = (Range<usize>, Option<&[T]>)> {
        self.entries.iter().enumerate().map(|(row, entries)| {
            let units = row * ROW..self.units.min((row + 1) * ROW);
            let of_row = entries.as_deref().map(|entries| &entries[..units.len()]);
            (units, of_row)
        })
    }

    /// The units of rows that something has touched, and their entries.
    pub(super) fn touched(&self) -> impl Iterator<Item = (Lpn, &T)> {
        let rows = self.rows().filter_map(|(units, entries)| Some((units, entries?)));
        rows.flat_map(|(units, entries)| units.map(Lpn::from_index).zip(entries))
    }
}

impl<T> Index<Lpn> for Rows<T> {
    type Output = T;

    fn index(&self, lpn: Lpn) -> &T {
        assert!(lpn.index() < self.units, "{lpn:?} is none of {} units", self.units);
        let row = self.entries[lpn.index() / ROW].as_ref();
        row.map_or(&self.untouched, |row| &row[lpn.index() % ROW])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_cover_each_unit_once_and_those_that_were_touched_are_known() {
        let mut places = Places::new(3 * ROW + 7);
        let touched = [0, ROW - 1, 3 * ROW + 6].map(Lpn::from_index);
        for (ppn, lpn) in (0..).map(Ppn::new).zip(touched) {
            places.set(lpn, Some(ppn));
        }
        let rows: Vec<_> = places.rows().map(|(units, known)| (units, known.is_some())).collect();
        let of = |row: usize| row * ROW..(row + 1) * ROW;
        let last = 3 * ROW..3 * ROW + 7;
        assert_eq!(rows, [(of(0), true), (of(1), false), (of(2), false), (last, true)]);
        let all: Vec<_> = places.all().map(|(lpn, _)| lpn).collect();
        assert_eq!(all, touched);
        places.set(touched[1], None);
        let of = |lpn| places.of(lpn).map(Ppn::get);
        assert_eq!(touched.map(of), [Some(0), None, Some(2)]);
        assert_eq!(of(Lpn::from_index(ROW)), None);
        assert_eq!(places.0.touched().count(), ROW + 7);
    }
}
