//! The log of a map in memory: pieces of it that have changed are written to flash, beside data.
//!
//! A piece has the entries of `map.log_entries` units in a row. A change of one of them puts the
//! piece into the log, unless the log has a copy of it that is not written yet. Once copies fill
//! what a program of a plane writes (of all its planes where they are joined), a program writes
//! them; programs go to the planes in turn. To garbage collection the log is garbage from the
//! start.
//!
//! Writes of units in a row thus cost next to nothing, and those at random places `log_bytes` each.

use crate::config::Settings;
use flashyard_core::units::{Lpn, PlaneId};

/// The log of a device.
#[derive(Clone, Debug)]
pub(super) struct MapLog {
    /// Bytes of a copy of a piece, units of a piece, and bytes of a program.
    bytes: u64,
    entries: u32,
    program_bytes: u64,
    /// The number of the program that is being filled, by how many bytes, and of the last one that
    /// has a copy of each piece.
    number: u32,
    filled: u64,
    pieces: Vec<u32>,
    /// The plane of the next program, of so many.
    next: u32,
    planes: u32,
}

impl MapLog {
    /// That of a device, if it has one.
    pub(super) fn new(settings: &Settings) -> Option<Self> {
        let (bytes, geometry) = (settings.keys.map.log_bytes, &settings.geometry);
        (bytes > 0).then(|| Self {
            bytes,
            entries: entries(settings),
            program_bytes: u64::from(geometry.program_units()) * u64::from(geometry.unit_bytes()),
            number: 1,
            filled: 0,
            pieces: vec![0; pieces(settings)],
            next: 0,
            planes: geometry.all_planes(),
        })
    }

    /// A phase begins: the log is empty.
    pub(super) fn begin_phase(&mut self) {
        (self.filled, self.next) = (0, 0);
        self.next_program();
    }

    /// The entry of a unit changes.
    pub(super) fn changes(&mut self, lpn: Lpn) {
        let piece = &mut self.pieces[(lpn.get() / self.entries) as usize];
        if *piece != self.number {
            *piece = self.number;
            self.filled += self.bytes;
        }
    }

    /// The plane of a program that is due.
    pub(super) fn next_due(&mut self) -> Option<PlaneId> {
        self.filled = self.filled.checked_sub(self.program_bytes)?;
        self.next_program();
        let plane = PlaneId::new(self.next);
        self.next = (self.next + 1) % self.planes;
        Some(plane)
    }

    fn next_program(&mut self) {
        self.number = self.number.wrapping_add(1);
    }
}

/// Entries of a piece.
fn entries(settings: &Settings) -> u32 {
    u32::try_from(settings.keys.map.log_entries).expect("the key's range fits 32 bits")
}

/// Pieces of the map of a device.
fn pieces(settings: &Settings) -> usize {
    settings.exported_units.div_ceil(entries(settings)) as usize
}

/// Bytes that the log takes in the simulator's memory.
pub(crate) fn bytes(settings: &Settings) -> u64 {
    if settings.keys.map.log_bytes > 0 { 4 * pieces(settings) as u64 } else { 0 }
}
