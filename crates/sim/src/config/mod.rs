//! From device files to settings that the engine trusts.
//!
//! Three stages: text, [`DeviceKeys`] (every key, each in its range), [`Settings`] (the whole
//! checked as a device that can exist). All problems of a stage are reported at once.

mod buffer;
mod bus;
mod disk;
mod energy;
mod family;
mod file;
mod firmware;
mod ftl;
mod gc;
mod interface;
mod listed;
mod map;
mod meaning;
mod memory;
mod metrics;
mod nand;
mod onfi;
mod parts;
mod placement;
mod power;
mod retry;
mod sections;
mod slc;
mod sleep;
mod synonyms;
mod units;

pub use buffer::*;
pub use bus::*;
pub use disk::*;
pub use energy::*;
pub use family::FirmwareFamily;
pub use file::{
    ConfigError, Extras, Problem, apply_setting, describe, line_of_item, nearest, parse_toml,
    parse_value, read_table, read_toml, show_value,
};
pub use firmware::*;
pub use ftl::*;
pub use gc::*;
pub use interface::*;
pub use listed::{KeyIter, KeyList, ListedKey, Section, WordList, Words};
pub use map::*;
pub use memory::*;
pub use metrics::*;
pub use nand::*;
pub use onfi::*;
pub use placement::*;
pub use power::*;
pub use retry::*;
pub use sections::*;
pub use slc::*;
pub use sleep::*;
pub use synonyms::{Meant, meant};
/// What a file holds, for extras that are no keys.
pub use toml_edit::{Item, Table};
pub use units::magnitude;

use crate::parts::blocks::{Frontiers, SlcCache};
use crate::parts::log::zns::ZoneShape;
use crate::parts::memory::TableCost;
use flashyard_core::geometry::Geometry;

/// A device that can exist, in integers.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The keys that it was made from.
    pub keys: DeviceKeys,
    /// The shape of the flash array.
    pub geometry: Geometry,
    /// Mapping units that the host sees.
    pub exported_units: u32,
    /// Lines or single entries of the map cache; 0 with a resident map.
    pub map_lines: u32,
    /// Entries of a map page.
    pub entries_per_map_page: u32,
    /// Map pages of the whole map; 0 with a resident map.
    pub map_pages: u32,
    /// Open blocks of a plane.
    pub frontiers: Frontiers,
    /// Blocks of each plane that are bad from the start.
    pub factory_bad_blocks: u32,
    /// Blocks that are used with one bit a cell; none without an SLC cache.
    pub slc: Option<SlcCache>,
    /// Valid units that a plane can hold and still collect garbage, as long as none of its blocks
    /// is worn out.
    pub plane_valid_units: u32,
    /// Lines of the write buffer; 0 for none.
    pub buffer_units: u32,
    /// The zones, on a device that has some.
    pub zones: Option<ZoneShape>,
    /// What the tables of the translation layer take; none where a scheme of the user's own does
    /// not say.
    pub tables: Option<TableCost>,
}

impl Settings {
    /// Sectors that the host sees.
    pub fn capacity_sectors(&self) -> u64 {
        u64::from(self.exported_units) * u64::from(self.geometry.unit_sectors())
    }

    /// Units of data and map pages of the plane that holds most of each, when the host has written
    /// everything.
    pub fn plane_units(&self) -> (u64, u64) {
        units_of_plane(&self.geometry, self.exported_units.into(), self.map_pages.into())
    }

    /// Places for units beyond those that the host sees, as a share of these; bad blocks have none.
    pub fn over_provisioning(&self) -> f64 {
        let good = self.good_blocks();
        let places = u64::from(good)
            * u64::from(self.geometry.units_per_block())
            * u64::from(self.geometry.all_planes());
        let seen = self.zones.map_or(f64::from(self.exported_units), |zones| {
            f64::from(zones.count) * f64::from(zones.capacity)
        });
        places as f64 / seen - 1.0
    }

    /// Blocks of a plane that are neither bad from the start nor set aside for one bit a cell.
    pub(crate) fn good_blocks(&self) -> u32 {
        let aside = self.slc.map_or(0, |cache| cache.static_blocks);
        self.geometry.blocks_per_plane - self.factory_bad_blocks - aside
    }

    /// Good blocks of a plane beyond those that its valid units fill when the host has written
    /// everything. Shares of thresholds (`gc.soft_percent`) are shares of these.
    pub fn spare_blocks(&self) -> u64 {
        let (data, maps) = self.plane_units();
        let good = u64::from(self.good_blocks());
        good.saturating_sub((data + maps).div_ceil(self.geometry.units_per_block().into()))
    }

    /// With `gc.pacing`, the spare units that a plane is kept at: `gc.soft_free_blocks` free blocks
    /// and half of each open one, with the part of the victim under collection that has been dealt
    /// with.
    pub fn spare_target(&self) -> u64 {
        Self::spare_target_of(&self.keys, &self.geometry, self.frontiers)
    }

    /// Whether the blocks of one number of all planes are opened and collected together. With one
    /// plane that is a block.
    pub(crate) fn unites_blocks(&self) -> bool {
        self.keys.unites_blocks(self.geometry.all_planes())
    }

    /// The same of a device with these keys.
    pub(crate) fn spare_target_of(keys: &DeviceKeys, geometry: &Geometry, of: Frontiers) -> u64 {
        let block = u64::from(geometry.units_per_block());
        // Few planes have a block of the journal open.
        let open = u64::from(of.count() - u32::from(of.slc) - u32::from(of.journal));
        keys.gc.soft_free_blocks * block + open * block / 2
    }

    /// Codewords of a mapping unit.
    pub(crate) fn codewords_of_unit(&self) -> u32 {
        let unit = self.geometry.unit_bytes();
        match u32::try_from(self.keys.nand.codeword_bytes) {
            Ok(bytes) if bytes > 0 => unit / bytes,
            _ => 1,
        }
    }

    /// Nanoseconds on the channel for this many bytes, rounded once.
    pub const fn transfer_ns(&self, bytes: u64) -> u64 {
        (bytes * self.keys.channel.ps_per_byte).div_ceil(1_000)
    }
}

/// Data and map pages of the plane that holds most of each, in units.
pub(crate) fn units_of_plane(geometry: &Geometry, exported: u64, map_pages: u64) -> (u64, u64) {
    let planes = u64::from(geometry.all_planes());
    let stripe = u64::from(geometry.stripe_units());
    (exported.div_ceil(stripe).div_ceil(planes) * stripe, map_pages.div_ceil(planes))
}
