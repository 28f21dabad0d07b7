//! The counters: one method for each thing that can happen.

use super::Account;
use crate::handle::RequestId;
use crate::metrics::counters::{ArrayWork, Padding, Phase, Work};
use crate::metrics::series::OfHandle;
use flashyard_core::command::Purpose;
use flashyard_core::units::Span;

/// Methods that add 1 to a counter.
macro_rules! counted {
    ($($(#[$doc:meta])* $name:ident => $($field:ident).+;)*) => {
        impl Account {
            $(
                $(#[$doc])*
                #[inline]
                pub(crate) const fn $name(&mut self) {
                    self.totals.$($field).+ += 1;
                }
            )*
        }
    };
}

counted! {
    /// A translation has gone through the map cache.
    map_looked_up => map.lookups;
    /// It has found its entry, ready or being fetched.
    map_hit => map.hits;
    /// It fetches its entry.
    map_missed => map.misses;
    /// A map page is written because a miss takes a dirty line.
    map_evicted_dirty => map.dirty_evictions;
    /// A translation has found every line being fetched.
    map_stalled => map.stalls;
    /// A map operation does not wait for a write that makes it stale.
    map_hazard_ignored => map.hazards_ignored;
    /// The place of a page was looked up for an access of the host.
    table_looked_up => tables.lookups;
    /// A write or a trim of a logical page was committed.
    change_committed => tables.changes;
    /// A program waits for an erase.
    room_awaited => room_waits;
    /// An operation was suspended.
    operation_suspended => suspensions;
    /// A write of a part of a unit reads the unit first.
    partial_write_read => partial_writes_read;
    /// A command that waits has moved in its queue.
    command_moved => rekeys;
    /// A never-written page is read.
    unmapped_read => unmapped_reads;
    /// A read overtakes an earlier write of its page.
    data_hazard_ignored => data_hazards_ignored;
    /// The device replaced a pick of the host policy by an earlier conflicting request.
    pick_replaced => hazard_picks;
    /// A write waits for a line of the buffer.
    buffer_stalled => buffer.stalls;
    /// A dirty unit of the buffer was trimmed.
    dirty_unit_trimmed => buffer.trimmed_units;
    /// A unit that was read ahead is put into the buffer.
    ahead_put => buffer.ahead_puts;
    /// A read of flash left its unit in the buffer.
    unit_allocated => buffer.allocated_units;
    /// A die waits for power.
    power_awaited => energy.power_waits;
}

/// What a port of the buffer is used for.
#[derive(Clone, Copy, Debug)]
pub(crate) enum PortUse {
    /// A get of a request.
    Get,
    /// A get of a flush.
    FlushGet,
    /// A put.
    Put,
}

impl Account {
    /// Map entries of moved pages were changed in the cache.
    pub(crate) const fn cached_entries_updated(&mut self, count: u64) {
        self.totals.gc_lines_updated += count;
    }

    /// A unit has been copied, out of a block with data of the first of these rows of placement
    /// handles into the open block of the other, by a job of garbage collection or not; `current`
    /// is whether its source had not been superseded.
    pub(crate) fn unit_copied(&mut self, rows: Option<(u8, u8)>, current: bool, of_job: bool) {
        self.totals.gc_superseded += u64::from(!current);
        self.totals.tables.copies += u64::from(current && of_job);
        if let (Some(placed), Some((from, to))) = (&mut self.totals.placed, rows) {
            placed.copied(from, to);
            self.place_in_series(from, OfHandle::MediaUnits, 1);
        }
    }

    /// A block with data of this row of placement handles has been erased; by garbage collection of
    /// a translation layer or not.
    pub(crate) fn block_collected(&mut self, row: Option<u8>, of_layer: bool) {
        self.totals.gc_jobs += u64::from(of_layer);
        if let (Some(placed), Some(row)) = (&mut self.totals.placed, row) {
            placed.erased(row);
        }
    }

    /// The sources of copies were superseded before the copies were over.
    pub(crate) const fn copies_superseded(&mut self, count: u64) {
        self.totals.gc_superseded += count;
    }

    /// A read looked for its unit in the buffer.
    #[inline]
    pub(crate) fn buffer_looked_up(&mut self, hit: bool) {
        self.totals.buffer.read_hits += u64::from(hit);
        self.totals.buffer.read_misses += u64::from(!hit);
    }

    /// A set begins to read a unit ahead.
    pub(crate) const fn unit_read_ahead(&mut self) {
        self.totals.buffer.ahead_units += 1;
    }

    /// A read found its unit read ahead: as the first one, or while it `comes`.
    pub(crate) fn ahead_found(&mut self, is_first: bool, comes: bool) {
        let totals = &mut self.totals.buffer;
        totals.ahead_hits += 1;
        totals.ahead_read += u64::from(is_first);
        totals.ahead_waits += u64::from(comes);
    }

    /// A write replaced what a line of the buffer held (`hit`) or took another line, which it
    /// `dirtied` unless it was dirty.
    #[inline]
    pub(crate) fn buffer_written(&mut self, hit: bool, dirtied: bool) {
        self.totals.buffer.write_hits += u64::from(hit);
        self.totals.buffer.write_misses += u64::from(!hit);
        self.totals.buffer.dirtied_units += u64::from(dirtied);
    }

    /// So many bits of a read were wrong.
    #[inline]
    pub(crate) const fn bits_were_wrong(&mut self, count: u64) {
        self.totals.bit_errors += count;
    }

    /// The flush of a unit begins.
    #[inline]
    pub(crate) const fn unit_flushed(&mut self, phase: Phase) {
        self.totals.buffer.flushed_units += 1;
        self.totals.energy.flushed[phase as usize] += 1;
    }

    /// An access takes a port of the buffer for `span`; for `hidden` it passes beside a put.
    #[inline]
    pub(crate) const fn port_taken(&mut self, usage: PortUse, span: Span, hidden: Span) {
        let totals = &mut self.totals.buffer;
        totals.hidden_ns += hidden.as_ns();
        *match usage {
            PortUse::Get => &mut totals.get_ns,
            PortUse::FlushGet => &mut totals.flush_get_ns,
            PortUse::Put => &mut totals.put_ns,
        } += span.as_ns();
    }

    /// A garbage collection job starts on a victim with `valid` units, found after a look at
    /// `searches` candidates. `levels` is whether it levels wear.
    pub(crate) fn gc_started(&mut self, valid: u32, searches: u64, levels: bool) {
        self.totals.gc_jobs += 1;
        self.totals.gc_searches += searches;
        self.totals.wear_jobs += u64::from(levels);
        self.totals.gc_valid += u64::from(valid);
    }

    /// A job that has not begun is given up: it counts no longer.
    pub(crate) fn gc_given_up(&mut self, valid: u32, levels: bool) {
        self.totals.gc_jobs -= 1;
        self.totals.wear_jobs -= u64::from(levels);
        self.totals.gc_valid -= u64::from(valid);
    }

    /// A block of the SLC cache with `valid` units begins to be folded.
    pub(crate) fn fold_started(&mut self, valid: u32) {
        self.totals.fold_jobs += 1;
        self.totals.fold_valid += u64::from(valid);
    }

    /// How many jobs of garbage collection and of folding have started.
    pub(crate) const fn own_jobs(&self) -> u64 {
        self.totals.gc_jobs + self.totals.fold_jobs
    }

    /// A program leaves so many units empty.
    #[inline]
    pub(crate) fn padded(&mut self, cause: Padding, units: u32) {
        self.totals.padded[cause as usize] += u64::from(units);
    }

    /// A die no longer waits for power, after so long.
    pub(crate) const fn power_granted(&mut self, waited: Span) {
        self.totals.energy.power_waited_ns += waited.as_ns();
    }

    /// Work is done, charged to a request or to nobody.
    #[expect(clippy::inline_always, reason = "a step of each command; a call costs as much")]
    #[inline(always)]
    pub(crate) fn worked(
        &mut self,
        phase: Phase,
        (kind, purpose): (ArrayWork, Purpose),
        charge: Option<RequestId>,
        work: &Work,
    ) {
        self.totals.work[phase as usize].count(kind, purpose, work);
        let Some(request) = charge else {
            self.totals.unattributed.count(kind, purpose, work);
            return;
        };
        self.totals.attributed.count(kind, purpose, work);
        if let Some(watch) = &mut self.watch
            && let Some((works, _)) = watch.works.get_mut(request.index())
        {
            works.count(kind, purpose, work);
        }
    }
}
