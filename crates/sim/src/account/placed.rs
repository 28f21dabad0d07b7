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
    /// Bytes of blocks that were erased.
    pub erased_bytes: u64,
    /// Media bytes a host byte.
    pub write_amplification: Option<f64>,
    /// Host and media bytes in each bin of the time series; none without one.
    pub bin_host_bytes: Option<Vec<u64>>,
    /// See `bin_host_bytes`.
    pub bin_media_bytes: Option<Vec<u64>>,
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
}

saved!(Placed {} lists { rows });

impl Placed {
    /// For so many handles; none where there is one.
    pub(super) fn new(handles: u8) -> Option<Self> {
        let rows = usize::from(handles) + 1;
        (handles > 1).then(|| Self { rows: vec![Sums::default(); rows] })
    }

    /// For as many handles, without anything that has happened.
    pub(super) fn emptied(&self) -> Self {
        Self { rows: vec![Sums::default(); self.rows.len()] }
    }

    /// A write of the host has arrived with this identifier. Returns its row.
    pub(super) fn written(&mut self, place: u16, sectors: u32) -> u8 {
        let row = usize::from(place) % (self.rows.len() - 1);
        self.rows[row].host_sectors += u64::from(sectors);
        row.to_le_bytes()[0]
    }

    /// A unit of the host has been programmed.
    pub(super) fn programmed(&mut self, row: u8) {
        self.rows[usize::from(row)].programmed += 1;
    }

    /// A unit has been copied out of a block of this row.
    pub(super) fn copied(&mut self, row: u8) {
        self.rows[usize::from(row)].copied += 1;
    }

    /// A block of this row has been erased.
    pub(super) fn erased(&mut self, row: u8) {
        self.rows[usize::from(row)].erased += 1;
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
