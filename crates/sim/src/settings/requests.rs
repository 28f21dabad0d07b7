//! Which units and sectors of them a request touches.

use crate::config::{Acknowledge, Fault, Settings, Transfer};
use flashyard_core::request::{Flags, Request, RequestOp, SECTOR_BYTES};
use flashyard_core::units::Lpn;

impl Settings {
    /// The pages that a request accesses. A trim forgets only pages that lie wholly inside it; a
    /// read or write of no sectors touches the page that it points at. Where a trim erases blocks,
    /// it has the first page of the first of them, and as many accesses as there are blocks.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "once a request; a call costs as much")]
    pub(crate) fn pages_of(&self, request: &Request) -> (Lpn, u32) {
        let unit = u64::from(self.geometry.unit_sectors());
        let start = request.first_sector;
        let end = start + u64::from(request.sectors);
        let (first, last) = match request.op {
            RequestOp::Flush => (0, 0),
            // Whole zones are reset, and nothing else is forgotten.
            RequestOp::Trim if self.zones.is_some() => (0, 0),
            RequestOp::Trim if self.keys.is_raw() => {
                let block = u64::from(self.geometry.units_per_block());
                let (first, last) = (start.div_ceil(unit * block), end / (unit * block));
                (first * block, first * block + last.saturating_sub(first))
            }
            RequestOp::Trim if !request.flags.has(Flags::ZEROES) => {
                (start.div_ceil(unit), end / unit)
            }
            RequestOp::Read | RequestOp::Write | RequestOp::Trim => {
                (start / unit, end.div_ceil(unit).max(start / unit + 1))
            }
        };
        let narrow = |number: u64| u32::try_from(number).expect("checked against the capacity");
        let pages = narrow(last.saturating_sub(first));
        (Lpn::new(if pages == 0 { 0 } else { narrow(first) }), pages)
    }

    /// Sectors that cross the link for one page access of a request.
    pub(crate) fn sectors_to_carry(&self, request: &Request, lpn: Lpn) -> u32 {
        if self.keys.interface.transfer == Transfer::Page {
            return self.geometry.unit_sectors();
        }
        let asked = self.covered(request, lpn);
        u32::try_from(asked.end.saturating_sub(asked.start)).expect("at most those of a unit")
    }

    /// Bytes that cross the link for a request that accesses these pages; `by_pages` is whether the
    /// data of each page crosses by itself.
    pub(crate) fn bytes_to_carry(
        &self,
        request: &Request,
        (first, pages): (Lpn, u32),
        by_pages: bool,
    ) -> u64 {
        let whole = self.keys.interface.transfer == Transfer::Page;
        let unit = u64::from(self.geometry.unit_bytes());
        match request.op {
            RequestOp::Read | RequestOp::Write if by_pages && whole => u64::from(pages) * unit,
            RequestOp::Read | RequestOp::Write => {
                u64::from(request.sectors) * u64::from(SECTOR_BYTES)
            }
            // Units that are filled with zeroes in part are written.
            RequestOp::Trim if by_pages && request.flags.has(Flags::ZEROES) => {
                let pages = (first.get()..first.get() + pages).map(Lpn::new);
                let written = pages.filter(|&lpn| self.is_partial(request, lpn));
                let bytes = written.map(|lpn| {
                    let asked = self.covered(request, lpn);
                    if whole { unit } else { (asked.end - asked.start) * u64::from(SECTOR_BYTES) }
                });
                if self.keys.is_raw() { 0 } else { bytes.sum() }
            }
            RequestOp::Trim | RequestOp::Flush => 0,
        }
    }

    /// The sectors of a unit that a request covers, counted inside the unit.
    pub(crate) fn covered(&self, request: &Request, lpn: Lpn) -> std::ops::Range<u64> {
        let unit = u64::from(self.geometry.unit_sectors());
        let first = u64::from(lpn.get()) * unit;
        let end = request.first_sector + u64::from(request.sectors);
        request.first_sector.saturating_sub(first)..end.saturating_sub(first).min(unit)
    }

    /// Whether a request covers a part of a unit.
    pub(crate) fn is_partial(&self, request: &Request, lpn: Lpn) -> bool {
        let covered = self.covered(request, lpn);
        let unit = u64::from(self.geometry.unit_sectors());
        covered.end.saturating_sub(covered.start) < unit
    }

    /// Whether a write with these flags is answered only when its program is over.
    pub(crate) fn is_durable(&self, flags: Flags) -> bool {
        let keys = &self.keys.buffer;
        keys.acknowledge == Acknowledge::Program
            || (keys.volatile && flags.has(Flags::FUA) && !self.ignores_flushes())
    }

    /// Whether what a request with these flags writes outlives a loss of power when it is answered:
    /// there is no volatile write buffer, or the answer comes behind the program.
    pub(crate) fn answers_durably(&self, flags: Flags) -> bool {
        let keys = &self.keys.buffer;
        self.buffer_units == 0
            || !keys.volatile
            || keys.acknowledge == Acknowledge::Program
            || flags.has(Flags::FUA)
    }

    /// Whether one operation may serve several commands.
    pub(crate) const fn gathers(&self) -> bool {
        let geometry = &self.geometry;
        geometry.program_units() > 1 || geometry.planes * geometry.joined > 1
    }

    /// Whether there is a write buffer whose contents outlive a loss of power, as what is on flash
    /// does, or are taken to do so.
    pub(crate) const fn keeps_writes(&self) -> bool {
        self.buffer_units > 0 && (!self.keys.buffer.volatile || self.ignores_flushes())
    }

    /// Whether a planted fault makes flushes wait for nothing.
    const fn ignores_flushes(&self) -> bool {
        matches!(self.keys.power.fault, Fault::FlushIgnored)
    }
}
