//! What the data of each placement handle cost: where a device keeps several apart.

use crate::metrics::series::{OfHandle, Series};
use crate::saved::saved;
use flashyard_core::request::SECTOR_BYTES;
use serde::Serialize;

/// What the data of a placement handle cost. Copies count for the handle that wrote the block they
/// were copied out of.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct HandleReport {
    /// The handle; none for blocks in which data of several lie, since they were copied together.
    pub handle: Option<u64>,
    /// Bytes that the host wrote with it.
    pub host_bytes: u64,
    /// Bytes of units that were programmed: those of the host and copies. What programs left empty
    /// does not count.
    pub media_bytes: u64,
    /// Bytes of copies.
    pub copied_bytes: u64,
    /// The same by the open block that they went to.
    pub copied_to: Vec<CopiedTo>,
    /// Bytes of blocks that were erased.
    pub erased_bytes: u64,
    /// Media bytes a host byte.
    pub write_amplification: Option<f64>,
    /// Host and media bytes in each bin of the time series; none without one.
    pub bin_host_bytes: Option<Vec<u64>>,
    /// See `bin_host_bytes`.
    pub bin_media_bytes: Option<Vec<u64>>,
}

/// Copies that went to open blocks of one kind.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CopiedTo {
    /// The handle whose blocks they are; none for those that copies of all handles share.
    pub handle: Option<u64>,
    /// Bytes of copies.
    pub bytes: u64,
}

/// A placement handle while its device is driven: what NVM Express calls the status of a reclaim
/// unit handle and the statistics of its endurance group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HandleStatus {
    /// Bytes that programs can still write to the reclaim unit that the handle refers to (RUAMW).
    /// It refers to one block of each plane at a time, or to a superblock: the sum over what it
    /// writes to. Where a block is full and no program has opened the next one, it counts as empty.
    pub available_bytes: u64,
    /// The same of an empty one.
    pub unit_bytes: u64,
    /// Bytes that the host has asked to write with it (HBMW), in measured phases.
    pub host_bytes: u64,
    /// Bytes of units that were programmed for its data: those of the host and copies (MBMW). With
    /// one handle all bytes that were programmed.
    pub media_bytes: u64,
    /// Bytes of erased blocks in which its data lay (MBE). With one handle all that were erased.
    pub erased_bytes: u64,
}

/// Sums over the data of one handle.
#[derive(Clone, Copy, Debug, Default)]
struct Sums {
    /// Sectors that the host has written or is writing.
    host_sectors: u64,
    /// Units of the host that were programmed, and units that were copied.
    programmed: u64,
    copied: u64,
    /// Blocks that were erased.
    erased: u64,
}

saved!(Sums { host_sectors, programmed, copied, erased });

/// The same for every handle and, behind them, for blocks in which data of several lie.
#[derive(Clone, Debug, Default)]
pub(crate) struct Placed {
    rows: Vec<Sums>,
    /// Units that were copied out of blocks of each row into open blocks of each: row by row.
    moved: Vec<u64>,
}

saved!(Placed {} lists { rows, moved });

impl Placed {
    /// For so many handles; none where there is one.
    pub(super) fn new(handles: u8) -> Option<Self> {
        let rows = usize::from(handles) + 1;
        (handles > 1)
            .then(|| Self { rows: vec![Sums::default(); rows], moved: vec![0; rows * rows] })
    }

    /// For as many handles, without anything that has happened.
    pub(super) fn emptied(&self) -> Self {
        let rows = self.rows.len();
        Self { rows: vec![Sums::default(); rows], moved: vec![0; rows * rows] }
    }

    /// A write of the host has arrived with this handle.
    pub(super) fn written(&mut self, row: u8, sectors: u32) {
        self.rows[usize::from(row)].host_sectors += u64::from(sectors);
    }

    /// A unit of the host has been programmed.
    pub(super) fn programmed(&mut self, row: u8) {
        self.rows[usize::from(row)].programmed += 1;
    }

    /// A unit has been copied out of a block of one row into the open block of another.
    pub(super) fn copied(&mut self, from: u8, to: u8) {
        let [from, to] = [from, to].map(usize::from);
        self.moved[from * self.rows.len() + to] += 1;
        self.rows[from].copied += 1;
    }

    /// A block of this row has been erased.
    pub(super) fn erased(&mut self, row: u8) {
        self.rows[usize::from(row)].erased += 1;
    }

    /// Where copies out of blocks of a row went.
    fn copied_to(&self, row: usize, unit: u64) -> Vec<CopiedTo> {
        let rows = self.rows.len();
        let moved = (0..).zip(&self.moved[row * rows..(row + 1) * rows]);
        let moved = moved.filter(|(_, units)| **units > 0);
        let own = |to: u64| (to + 1 < rows as u64).then_some(to);
        moved.map(|(to, units)| CopiedTo { handle: own(to), bytes: units * unit }).collect()
    }

    /// Host, media and erased bytes of a handle, with so many bytes of a unit and of a block.
    pub(super) fn bytes_of(&self, handle: u8, unit: u64, block: u64) -> [u64; 3] {
        let sums = self.rows[usize::from(handle)];
        let host = sums.host_sectors * u64::from(SECTOR_BYTES);
        [host, (sums.programmed + sums.copied) * unit, sums.erased * block]
    }

    /// A row for each handle and, if anything happened to them, one for shared blocks; with so many
    /// bytes of a unit and of a block.
    pub(super) fn report(
        &self,
        unit: u64,
        block: u64,
        series: Option<&Series>,
    ) -> Vec<HandleReport> {
        let handles = self.rows.len() - 1;
        let rows = self.rows.iter().enumerate().map(|(place, sums)| {
            let row = place as u64;
            let by_bin =
                |what, factor| series.map(|series| series.placed_by_bin(place, what, factor));
            let host_bytes = sums.host_sectors * u64::from(SECTOR_BYTES);
            let media_bytes = (sums.programmed + sums.copied) * unit;
            HandleReport {
                handle: (row < handles as u64).then_some(row),
                host_bytes,
                media_bytes,
                copied_bytes: sums.copied * unit,
                copied_to: self.copied_to(place, unit),
                erased_bytes: sums.erased * block,
                write_amplification: (host_bytes > 0)
                    .then(|| media_bytes as f64 / host_bytes as f64),
                bin_host_bytes: by_bin(OfHandle::HostSectors, u64::from(SECTOR_BYTES)),
                bin_media_bytes: by_bin(OfHandle::MediaUnits, unit),
            }
        });
        rows.filter(|row| row.handle.is_some() || row.media_bytes + row.erased_bytes > 0).collect()
    }
}
