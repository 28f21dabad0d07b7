//! The section `[memory]`: how the tables of the translation layer are laid out in memory.
//!
//! These keys decide how large the tables are, and nothing about when things happen.

use super::{MapStore, Settings};
use crate::parts::layer::Shape;
use crate::parts::memory::{DemandTable, Extent, Footprint, LogTable, TableCost};
use flashyard_core::key::Kind;
use flashyard_core::keys;

keys! {
    /// Keys of `[memory]`.
    pub struct MemoryKeys {
        /// Each table entry takes a multiple of this many bytes.
        entry_align_bytes: u64 = 1 => {
            kind: Kind::count("bytes", 1, 8),
            source: "Park et al. 2011, figure 7: whole bytes, so that 18 bits take 3 bytes",
            flip: "8", with: &[],
        },
        /// What the log tables of FAST and LAST hold.
        log_table: LogTable = LogTable::PageEntry => {
            kind: Kind::Choice(LogTable::WORDS),
            source: "assumed: Park et al. 2011, figure 7, prints no sizes",
            flip: "log_entry", with: &["@log"],
        },
        /// Which table a map on flash keeps in memory besides its cache.
        demand_table: DemandTable = DemandTable::Directory => {
            kind: Kind::Choice(DemandTable::WORDS),
            source: "Gupta et al., ASPLOS 2009: a directory of map pages",
            flip: "both", with: &[],
        },
    }
}

impl Footprint {
    /// That of a device.
    pub fn of(settings: &Settings) -> Self {
        let keys = &settings.keys;
        let line = match keys.map.store {
            MapStore::Cmt => keys.map.cached_entry_bytes,
            MapStore::LineCache | MapStore::Resident => {
                keys.map.entries_per_line * keys.map.entry_bytes
            }
        };
        let unit_bytes = u64::from(settings.geometry.unit_bytes());
        Self {
            tables: settings.tables.map_or(0, |tables| tables.bytes),
            cache: u64::from(settings.map_lines) * line,
            buffer: u64::from(settings.buffer_units) * unit_bytes,
        }
    }
}

impl TableCost {
    /// That of a device; none where a scheme of the user's own does not say.
    pub(crate) fn of(settings: &Settings) -> Option<Self> {
        let (keys, geometry) = (&settings.keys, &settings.geometry);
        let planner = keys.planner();
        let log_blocks = planner.as_ref().map_or(0, |scheme| {
            let shapes = settings.layer_shapes();
            shapes.map(|shape| u64::from(scheme.log_blocks(&shape))).sum()
        });
        let spanned = if keys.spans_planes() { geometry.all_planes() } else { 1 };
        let units_per_block = u64::from(geometry.units_per_block() * spanned);
        let extent = Extent {
            logical: settings.exported_units.into(),
            physical: geometry.units(),
            pages_per_block: units_per_block,
            log_pages: log_blocks * units_per_block,
            map_pages: settings.map_pages.into(),
            entry_align: keys.memory.entry_align_bytes,
            log_table: keys.memory.log_table,
        };
        if keys.is_raw() {
            return Some(Self::NONE);
        }
        match (planner, keys.map.store) {
            (Some(scheme), _) => scheme.tables(&extent),
            (None, MapStore::Resident) => Some(Self::page_table(&extent)),
            (None, MapStore::LineCache | MapStore::Cmt) => {
                Some(Self::map_on_flash(&extent, keys.memory.demand_table))
            }
        }
    }
}

impl Settings {
    /// The shape of every layer; those of planes are in the order of stripes.
    pub(crate) fn layer_shapes(&self) -> impl Iterator<Item = Shape> {
        let (geometry, order) = (self.geometry, self.keys.nand.program_order);
        let (exported, span) = (self.exported_units, self.keys.ftl.log_span);
        (0..span.layers(&geometry))
            .map(move |stripe| Shape::of_layer(&geometry, order, exported, (span, stripe)))
            .map(|shape| shape.without(self.keys.layer_journal_blocks()))
    }
}
