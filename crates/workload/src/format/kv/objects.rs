//! The objects on the device, and the requests that reach them.

use std::collections::BTreeMap;

use flashyard_core::request::{RequestOp, SECTOR_BYTES};

use super::extents::Extents;
use super::tree::Extent;
use crate::format::ObjectOptions;

/// Sectors of a device without a limit: no count of bytes overflows.
const SECTORS_MAX: u64 = 1 << 54;

/// A request: what, from which sector on, and how many sectors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Piece {
    pub(super) op: RequestOp,
    pub(super) first_sector: u64,
    pub(super) sectors: u32,
}

/// Why nothing was done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Refused {
    /// So many bytes are free, which are too few.
    Full(u64),
    /// The device has so many bytes, which are too few.
    TooLarge(u64),
    /// There is no object of this name.
    Unknown,
    /// The object has so many bytes.
    OtherSize(u64),
}

#[derive(Debug)]
struct Object {
    bytes: u64,
    /// The number of the put that it had last.
    age: u64,
    extents: Vec<Extent>,
}

impl Object {
    fn units(&self) -> u64 {
        self.extents.iter().map(|extent| extent.units).sum()
    }

    /// The requests that reach it, one for each extent of units of so many sectors: the sectors of
    /// its bytes, or of all its room for a trim. A request has less than 2^32 sectors.
    fn pieces(&self, op: RequestOp, unit_sectors: u64, out: &mut Vec<Piece>) {
        let most = u64::from(u32::MAX) / unit_sectors * unit_sectors;
        let mut left = match op {
            RequestOp::Trim => u64::MAX,
            _ => self.bytes.div_ceil(u64::from(SECTOR_BYTES)),
        };
        for extent in &self.extents {
            let mut first_sector = extent.first * unit_sectors;
            let mut here = (extent.units * unit_sectors).min(left);
            left -= here;
            while here > 0 {
                let sectors = here.min(most);
                let fits = u32::try_from(sectors).expect("it is the least of both");
                out.push(Piece { op, first_sector, sectors: fits });
                first_sector += sectors;
                here -= sectors;
            }
        }
    }
}

/// Objects by name, and where they lie. Every method appends requests to a list in the order in
/// which they reach the device, or does nothing.
#[derive(Debug)]
pub(super) struct Objects {
    extents: Extents,
    unit_sectors: u64,
    evicts: bool,
    by_key: BTreeMap<Box<[u8]>, Object>,
    /// The names by the number of the last put; kept only where the oldest make room.
    by_age: BTreeMap<u64, Box<[u8]>>,
    puts: u64,
    evicted: Evicted,
}

/// What made room for others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Evicted {
    pub(super) objects: u64,
    pub(super) bytes: u64,
}

impl Objects {
    pub(super) fn new(options: &ObjectOptions) -> Self {
        let sectors = options.capacity_sectors.unwrap_or(SECTORS_MAX).min(SECTORS_MAX);
        Self {
            extents: Extents::new(sectors / options.align_sectors),
            unit_sectors: options.align_sectors,
            evicts: options.evicts,
            by_key: BTreeMap::new(),
            by_age: BTreeMap::new(),
            puts: 0,
            evicted: Evicted::default(),
        }
    }

    /// What made room for others so far.
    pub(super) const fn evicted(&self) -> Evicted {
        self.evicted
    }

    /// Writes an object of this size: in place where one of this name and size is there; otherwise
    /// where there is room when the one of this name has gone.
    pub(super) fn put(
        &mut self,
        key: &[u8],
        bytes: u64,
        out: &mut Vec<Piece>,
    ) -> Result<(), Refused> {
        self.puts += 1;
        let age = self.puts;
        let mut own_units = 0;
        if let Some(object) = self.by_key.get_mut(key) {
            if object.bytes == bytes {
                let before = std::mem::replace(&mut object.age, age);
                object.pieces(RequestOp::Write, self.unit_sectors, out);
                let name = self.by_age.remove(&before);
                self.by_age.extend(name.map(|name| (age, name)));
                return Ok(());
            }
            own_units = object.units();
        }
        let units = bytes.div_ceil(u64::from(SECTOR_BYTES)).div_ceil(self.unit_sectors);
        if self.evicts && units > self.extents.units() {
            return Err(Refused::TooLarge(self.bytes_of(self.extents.units())));
        }
        if !self.evicts && units > self.extents.free_units() + own_units {
            return Err(Refused::Full(self.bytes_of(self.extents.free_units() + own_units)));
        }
        if own_units > 0 {
            self.remove(key, out);
        }
        let extents = loop {
            if let Some(extents) = self.extents.take(units) {
                break extents;
            }
            let (_, oldest) = self.by_age.first_key_value().expect("an empty device has room");
            let oldest = oldest.clone();
            let bytes = self.remove(&oldest, out).expect("what has an age is there");
            self.evicted.objects += 1;
            self.evicted.bytes = self.evicted.bytes.saturating_add(bytes);
        };
        let object = Object { bytes, age, extents };
        object.pieces(RequestOp::Write, self.unit_sectors, out);
        self.by_key.insert(key.into(), object);
        if self.evicts {
            self.by_age.insert(age, key.into());
        }
        Ok(())
    }

    /// Reads all of an object; its size may be stated.
    pub(super) fn get(
        &self,
        key: &[u8],
        bytes: Option<u64>,
        out: &mut Vec<Piece>,
    ) -> Result<(), Refused> {
        let object = self.by_key.get(key).ok_or(Refused::Unknown)?;
        if bytes.is_some_and(|bytes| bytes != object.bytes) {
            return Err(Refused::OtherSize(object.bytes));
        }
        object.pieces(RequestOp::Read, self.unit_sectors, out);
        Ok(())
    }

    /// Trims all of an object's room, and frees it.
    pub(super) fn delete(&mut self, key: &[u8], out: &mut Vec<Piece>) -> Result<(), Refused> {
        self.remove(key, out).map(|_| ()).ok_or(Refused::Unknown)
    }

    fn bytes_of(&self, units: u64) -> u64 {
        units * self.unit_sectors * u64::from(SECTOR_BYTES)
    }

    /// Removes an object and returns its size, if it is there.
    fn remove(&mut self, key: &[u8], out: &mut Vec<Piece>) -> Option<u64> {
        let object = self.by_key.remove(key)?;
        object.pieces(RequestOp::Trim, self.unit_sectors, out);
        self.by_age.remove(&object.age);
        for extent in object.extents {
            self.extents.give(extent);
        }
        Some(object.bytes)
    }
}
