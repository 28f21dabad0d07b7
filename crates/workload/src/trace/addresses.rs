//! From the addresses of a trace to those of the device.
//!
//! A request loses a header sector and is widened to whole pages first, where that is asked for.
//! Then it is put on the device, in one of four ways (`trace.fold`). Three of them look at one
//! request alone: it is refused, moved to its start modulo the capacity, or mirrored at the end of
//! the device. The fourth numbers the chunks of the address space that are touched, in the order of
//! their first use, and keeps the places inside of chunks; a request over chunks whose numbers are
//! not successive becomes several requests of the same time. Several devices of a trace may be kept
//! apart (`trace.devices`): by other chunks, or by places moved from device to device.

use flashyard_core::request::{RequestOp, SECTOR_BYTES};

use super::TraceKeys;
use super::chunks::{CHUNKS_MAX, ChunkTable};
use super::keys::{Devices, Fold, HeaderSectors};
use crate::format::{Record, RowError};
use crate::words::{counted, either, was};

/// Sectors of 1 KiB.
const KIB_SECTORS: u64 = 1_024 / SECTOR_BYTES as u64;

/// Sectors of 1 MiB.
const MIB_SECTORS: u64 = 1_024 * KIB_SECTORS;
const PAGE_SECTORS: u64 = 4 * KIB_SECTORS;

/// Sectors of 4 KiB: sizes that are one more than a multiple have a header sector.
const HEADER_UNIT: u32 = 8;

/// What a device of a trace that is kept apart from others may have: 2^48 sectors, 128 PiB.
const DEVICE_SECTORS: u64 = 1 << 48;

/// Why a request cannot be put on the device.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Refused {
    /// For a reason of its own.
    Row(RowError),
    /// The chunks that the trace touches do not fit.
    Footprint,
}

/// A part of a request that is split: first sector and sectors.
type Part = (u64, u32);

/// What has been done to addresses.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Moves {
    /// Requests that were widened, and by how many sectors in all.
    widened: u64,
    widened_sectors: u64,
    /// Requests that lost a header sector.
    headers: u64,
    /// Requests of other devices than 0 that were moved to be apart from those of device 0.
    set_apart: u64,
    /// Requests on addresses that others have as well: modulo, mirror, wrapped chunks.
    pub(super) folded: u64,
    /// Requests whose first sector changed because its chunk was numbered.
    renumbered: u64,
    /// Requests that were split, and the parts that they became.
    split: u64,
    parts: u64,
}

/// Puts requests on the device.
#[derive(Debug)]
pub(super) struct Addresses {
    fold: Fold,
    /// The sectors of the device; unlimited where there are none.
    capacity: Option<u64>,
    /// Requests are widened to multiples of this; 0 leaves them alone.
    align_sectors: u64,
    /// Whether header sectors are dropped.
    drops_headers: bool,
    /// Whether equal addresses of several devices are kept apart.
    apart: bool,
    /// Requests that end here or before it stay as they are.
    plain_end: u64,
    chunk_sectors: u64,
    wrap: bool,
    chunks: Option<ChunkTable>,
    /// The parts of a split request that have yet to be handed out, the last one first.
    pending: Vec<Part>,
    pub(super) moves: Moves,
}

impl Addresses {
    pub(super) fn new(keys: &TraceKeys, capacity: Option<u64>) -> Self {
        let drops_headers = keys.header_sectors == HeaderSectors::Drop;
        let apart = keys.devices == Devices::Apart;
        let changes_all =
            keys.fold == Fold::Renumber || keys.align_kib > 0 || drops_headers || apart;
        Self {
            plain_end: if changes_all { 0 } else { capacity.unwrap_or(u64::MAX) },
            fold: keys.fold,
            capacity,
            align_sectors: keys.align_kib * KIB_SECTORS,
            drops_headers,
            apart,
            chunk_sectors: keys.chunk_kib * KIB_SECTORS,
            wrap: keys.renumber_wrap,
            chunks: (keys.fold == Fold::Renumber).then(ChunkTable::new),
            pending: Vec::new(),
            moves: Moves::default(),
        }
    }

    /// Whether a request, which does not reach behind sector 2^64 - 1, stays as it is.
    #[inline]
    pub(super) const fn keeps(&self, record: &Record) -> bool {
        let end = record.first_sector + record.sectors as u64;
        end <= self.plain_end
    }

    /// The next part of the request that was split last.
    #[inline]
    pub(super) fn next_part(&mut self) -> Option<Part> {
        self.pending.pop()
    }

    /// Whether the request that was placed last has further parts.
    #[inline]
    pub(super) const fn has_parts(&self) -> bool {
        !self.pending.is_empty()
    }

    /// The rest of the request that was split last is not wanted.
    pub(super) fn forget_parts(&mut self) {
        self.pending.clear();
    }

    /// Puts a request on the device; of one that is split, this is the first part.
    pub(super) fn place(&mut self, record: &mut Record) -> Result<(), Refused> {
        if record.op == RequestOp::Flush {
            return Ok(());
        }
        self.drop_header(record);
        self.widen(record).map_err(Refused::Row)?;
        let sectors = u64::from(record.sectors);
        if let Some(capacity) = self.capacity
            && sectors > capacity
        {
            let what =
                format!("the request is larger than the device, {sectors} sectors of {capacity}");
            return Err(row_error(what, "give the device more capacity"));
        }
        if self.chunks.is_some() {
            return self.renumber(record);
        }
        let Some(capacity) = self.capacity else { return Ok(()) };
        let end = record.first_sector + sectors;
        if self.apart && record.stream > 0 {
            self.set_apart(record, capacity);
            self.moves.folded += u64::from(end > capacity);
            return Ok(());
        }
        if end <= capacity {
            return Ok(());
        }
        record.first_sector = match self.fold {
            Fold::Modulo => (record.first_sector % capacity).min(capacity - sectors),
            Fold::Mirror => mirrored(record.first_sector, sectors, capacity),
            Fold::Error | Fold::Renumber => {
                let what =
                    format!("the request ends behind the device, sector {end} of {capacity}");
                let fix = "set trace.fold to renumber, modulo or mirror, or give the device more \
                           capacity";
                return Err(row_error(what, fix));
            }
        };
        self.moves.folded += 1;
        Ok(())
    }

    /// Drops the sector behind a multiple of 4 KiB.
    fn drop_header(&mut self, record: &mut Record) {
        let data = matches!(record.op, RequestOp::Read | RequestOp::Write);
        let sectors = record.sectors;
        if self.drops_headers && data && sectors > HEADER_UNIT && sectors % HEADER_UNIT == 1 {
            record.sectors -= 1;
            self.moves.headers += 1;
        }
    }

    /// Moves a request by a part of the capacity for each device of the trace before its own: by
    /// whole MiB, or by whole pages of 4 KiB where the part has no MiB.
    fn set_apart(&mut self, record: &mut Record, capacity: u64) {
        let whole = |unit: u64| u128::from(capacity / unit) * 618 / 1_000 * u128::from(unit);
        let stride = match whole(MIB_SECTORS) {
            0 => whole(PAGE_SECTORS),
            stride => stride,
        };
        let moved = u128::from(record.first_sector) + u128::from(record.stream) * stride;
        let first = u64::try_from(moved % u128::from(capacity)).expect("below the capacity");
        record.first_sector = first.min(capacity - u64::from(record.sectors));
        self.moves.set_apart += 1;
    }

    /// The chunk that the addresses of the request's device start with.
    fn first_chunk(&self, record: &Record) -> Result<u64, Refused> {
        if !self.apart {
            return Ok(0);
        }
        let end = record.first_sector + u64::from(record.sectors);
        if end > DEVICE_SECTORS {
            let what = format!("the request ends behind sector 281474976710656, at {end}");
            return Err(row_error(what, "set trace.devices = overlap"));
        }
        // One more: a chunk of which this is no multiple may be cut by its end.
        Ok(u64::from(record.stream) * (DEVICE_SECTORS / self.chunk_sectors + 1))
    }

    /// Widens a read or a write to multiples of `align_sectors`. A trim of more than was asked for
    /// would lose data.
    fn widen(&mut self, record: &mut Record) -> Result<(), RowError> {
        let align = self.align_sectors;
        if align == 0 || record.op == RequestOp::Trim {
            return Ok(());
        }
        let first = record.first_sector - record.first_sector % align;
        let end = record.first_sector + u64::from(record.sectors);
        let sectors = end.checked_next_multiple_of(align).map(|end| end - first);
        let Some(sectors) = sectors.and_then(|sectors| u32::try_from(sectors).ok()) else {
            let what = format!(
                "the request is too large to be widened to trace.align_kib, {} sectors from {}",
                record.sectors, record.first_sector
            );
            return Err(RowError { what, fix: "lower trace.align_kib".to_owned() });
        };
        if sectors != record.sectors {
            self.moves.widened += 1;
            self.moves.widened_sectors += u64::from(sectors - record.sectors);
            (record.first_sector, record.sectors) = (first, sectors);
        }
        Ok(())
    }

    /// The chunks that a range touches.
    fn touched(&self, first: u64, sectors: u64) -> std::ops::RangeInclusive<u64> {
        first / self.chunk_sectors..=(first + sectors - 1) / self.chunk_sectors
    }

    fn renumber(&mut self, record: &mut Record) -> Result<(), Refused> {
        let whole_chunks = self.capacity.map_or(u64::MAX, |capacity| capacity / self.chunk_sectors);
        let (mut at, end) = (record.first_sector, record.first_sector + u64::from(record.sectors));
        let mut wrapped = false;
        self.pending.clear();
        let base = self.first_chunk(record)?;
        for chunk in self.touched(at, end - at) {
            let mut number = u64::from(self.number(base + chunk)?);
            if number >= whole_chunks {
                if !self.wrap {
                    return Err(Refused::Footprint);
                }
                number %= whole_chunks;
                wrapped = true;
            }
            let chunk_end = (chunk + 1).saturating_mul(self.chunk_sectors).min(end);
            let sectors = u32::try_from(chunk_end - at).expect("a part of a request");
            let first = number * self.chunk_sectors + at % self.chunk_sectors;
            match self.pending.last_mut() {
                Some(part) if part.0 + u64::from(part.1) == first => part.1 += sectors,
                _ => self.pending.push((first, sectors)),
            }
            at = chunk_end;
        }
        self.moves.folded += u64::from(wrapped);
        if self.pending.len() > 1 {
            self.moves.split += 1;
            self.moves.parts += self.pending.len() as u64;
            self.pending.reverse();
        }
        let (first, sectors) = self.pending.pop().expect("a request has sectors");
        self.moves.renumbered += u64::from(first != record.first_sector);
        (record.first_sector, record.sectors) = (first, sectors);
        Ok(())
    }

    fn number(&mut self, chunk: u64) -> Result<u32, Refused> {
        let chunks = self.chunks.as_mut().expect("only renumbering asks for it");
        chunks.number(chunk).map_err(|_| {
            let what = format!("more than {CHUNKS_MAX} chunks are touched");
            row_error(what, "raise trace.chunk_kib")
        })
    }

    /// Numbers the chunks of a request that will not be put on the device, to find out how many
    /// the trace touches.
    pub(super) fn touch(&mut self, record: &mut Record) -> Result<(), Refused> {
        if record.op == RequestOp::Flush {
            return Ok(());
        }
        self.drop_header(record);
        self.widen(record).map_err(Refused::Row)?;
        let base = self.first_chunk(record)?;
        for chunk in self.touched(record.first_sector, u64::from(record.sectors)) {
            self.number(base + chunk)?;
        }
        Ok(())
    }

    /// How many chunks are touched, and of how many KiB each; none where they are not numbered.
    pub(super) fn footprint(&self) -> Option<(u64, u64)> {
        self.chunks.as_ref().map(|chunks| (chunks.len(), self.chunk_sectors / KIB_SECTORS))
    }

    /// How many requests came to those of the trace because some were split.
    pub(super) const fn added(&self) -> u64 {
        self.moves.parts - self.moves.split
    }

    /// What has been done, a sentence each.
    pub(super) fn notes(&self) -> Vec<String> {
        let Moves { widened, widened_sectors, headers, set_apart, .. } = self.moves;
        let Moves { folded, renumbered, split, parts, .. } = self.moves;
        let mut notes = Vec::new();
        if headers > 0 {
            notes.push(format!("{} lost a header sector", counted(headers, "request")));
        }
        if set_apart > 0 {
            notes.push(format!(
                "{} of other devices of the trace {} moved, apart from device 0",
                counted(set_apart, "request"),
                was(set_apart)
            ));
        }
        if widened > 0 {
            let kib = self.align_sectors / KIB_SECTORS;
            notes.push(format!(
                "{} {} widened to multiples of {kib} KiB, by {} in all",
                counted(widened, "request"),
                was(widened),
                counted(widened_sectors, "sector")
            ));
        }
        if let Some((chunks, kib)) = self.footprint() {
            let mib = mebibytes(chunks, kib);
            notes.push(format!(
                "{} of {kib} KiB {} numbered in the order of first use, {mib} MiB in all; {} {} \
                 moved",
                counted(chunks, "chunk"),
                was(chunks),
                counted(renumbered, "request"),
                was(renumbered)
            ));
        }
        if split > 0 {
            notes.push(format!(
                "{} over chunks that are not adjacent {} split into {parts}",
                counted(split, "request"),
                was(split)
            ));
        }
        let capacity = self.capacity.unwrap_or_default();
        let (requests, were) = (counted(folded, "request"), was(folded));
        match self.fold {
            _ if folded == 0 => {}
            Fold::Mirror => notes.push(format!(
                "{requests} {were} mirrored at the end of the device, sector {capacity}"
            )),
            Fold::Renumber => notes.push(format!(
                "{requests} {} chunks of the device: it has room for {} of them",
                either(folded, "shares", "share"),
                capacity / self.chunk_sectors
            )),
            Fold::Modulo | Fold::Error => notes.push(format!(
                "{requests} {were} moved to fit the device, modulo {capacity} sectors"
            )),
        }
        notes
    }
}

fn row_error(what: String, fix: &str) -> Refused {
    Refused::Row(RowError { what, fix: fix.to_owned() })
}

/// So many chunks of so many KiB in MiB, exactly.
pub(super) fn mebibytes(chunks: u64, kib: u64) -> String {
    let kib = u128::from(chunks) * u128::from(kib);
    // A KiB is 1 / 1024 MiB, which has ten decimals.
    let decimals = format!("{:010}", kib % 1_024 * 9_765_625);
    let text = format!("{}.{decimals}", kib / 1_024);
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// The address space runs over the device to and fro. Where that puts a request across an end of
/// the device, it lies at that end.
fn mirrored(first: u64, sectors: u64, capacity: u64) -> u64 {
    let (lap, at) = (first / capacity, first % capacity);
    let room = capacity - sectors;
    if lap.is_multiple_of(2) { at.min(room) } else { room.saturating_sub(at) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_exact() {
        assert_eq!(mebibytes(3, 128), "0.375");
        assert_eq!(mebibytes(8, 128), "1");
        assert_eq!(mebibytes(5, 1), "0.0048828125");
        assert_eq!(mebibytes(1_000, 1_024), "1000");
    }

    /// Sector by sector: where the mirrored address space has a range that no end of the device
    /// cuts, it is the images of its sectors, in the other order on the way back.
    #[test]
    fn a_mirrored_range_is_the_image_of_its_sectors() {
        let image = |sector: u64, capacity: u64| {
            let at = sector % (2 * capacity);
            at.min(2 * capacity - 1 - at)
        };
        for capacity in 1..12_u64 {
            for sectors in 1..=capacity {
                for first in 0..5 * capacity {
                    let found = mirrored(first, sectors, capacity);
                    assert!(found + sectors <= capacity);
                    let images = (first..first + sectors).map(|sector| image(sector, capacity));
                    let mut images: Vec<u64> = images.collect();
                    images.sort_unstable();
                    images.dedup();
                    let cut = first / capacity != (first + sectors - 1) / capacity;
                    let at_end = found == 0 || found + sectors == capacity;
                    let expected: Vec<u64> = (found..found + sectors).collect();
                    assert!(if cut { at_end } else { images == expected });
                }
            }
        }
    }
}
