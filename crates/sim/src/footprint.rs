//! What memory a device takes on the machine that simulates it.
//!
//! The figures follow from the settings alone, so that a device too large for a machine is refused
//! before it is built. What requests under way take comes on top: about a kilobyte for each page
//! access in the deepest queue.

use crate::account::durable::Written;
use crate::buffer;
use crate::config::{Eviction, InitialState, MapStore, PartialWrite, Plp, ProgramOrder, Settings};
use crate::flash::{Channel, Die};
use crate::ftl::planned::PAST_BYTES;
use crate::ftl::{MOVED_BYTES, PLANE_BYTES, ZoneBlocks};
use crate::ftl::{cmt, line_cache, map_log};
use crate::initial;
use crate::metrics::histogram::Histogram;
use crate::parts::blocks::{Blocks, Care};
use crate::parts::log::none::RawOrder;
use flashyard_core::request::Flags;
use flashyard_core::units::ChannelId;

/// Bytes of a table entry.
const ENTRY: u64 = 4;

/// A table, or several that are alike.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part {
    /// What it is.
    pub what: &'static str,
    /// Its bytes.
    pub bytes: u64,
    /// Whether all of them are used when the run starts; else as the device is written.
    pub at_once: bool,
    /// How to make it smaller.
    pub remedy: &'static str,
}

/// The memory of a device, part by part.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Footprint {
    /// Parts that take any, in no order.
    pub parts: Vec<Part>,
}

impl Footprint {
    fn add(&mut self, what: &'static str, bytes: u64, at_once: bool, remedy: &'static str) {
        if bytes > 0 {
            self.parts.push(Part { what, bytes, at_once, remedy });
        }
    }

    /// Bytes that the device takes once all of it has been written.
    pub fn bytes(&self) -> u64 {
        self.parts.iter().fold(0, |sum, part| sum.saturating_add(part.bytes))
    }

    /// Bytes that it takes when the run starts.
    pub fn bytes_at_start(&self) -> u64 {
        let at_once = self.parts.iter().filter(|part| part.at_once);
        at_once.fold(0, |sum, part| sum.saturating_add(part.bytes))
    }

    /// The largest part.
    pub fn largest(&self) -> Option<&Part> {
        self.parts.iter().max_by_key(|part| part.bytes)
    }
}

/// What makes maps smaller.
const FEWER_UNITS: &str = "lower geometry.blocks_per_plane or geometry.pages_per_block, or set \
                           ftl.mapping_unit_bytes = 0";
const FEWER_BLOCKS: &str = "lower geometry.blocks_per_plane";

impl Settings {
    /// The memory that a device with these settings takes; `checked` is whether its rules are
    /// checked while it runs (`Device::check`).
    pub fn footprint(&self, checked: bool) -> Footprint {
        let mut footprint = Footprint::default();
        if self.keys.is_disk() {
            // A range of the write cache for each sector at worst, in a tree.
            let ranges = self.keys.disk.write_cache_bytes / 512 * 64;
            footprint.add("write cache", ranges, false, "lower disk.write_cache_bytes");
            return footprint;
        }
        self.add_map(&mut footprint);
        self.add_blocks(&mut footprint);
        self.add_array(&mut footprint);
        self.add_cache(&mut footprint);
        self.add_buffer(&mut footprint);
        self.add_layers(&mut footprint);
        self.add_power(&mut footprint);
        self.add_building(&mut footprint);
        if checked {
            self.add_checker(&mut footprint);
        }
        footprint.add("latencies", 4 * Histogram::BYTES, false, "");
        footprint
    }

    /// Whether anything was written before the run.
    fn is_written(&self) -> bool {
        self.keys.state.initial != InitialState::Fresh
    }

    fn add_map(&self, footprint: &mut Footprint) {
        let (exported, units) = (u64::from(self.exported_units), self.geometry.units());
        let written = self.is_written();
        let mut add = |what, bytes| footprint.add(what, bytes, written, FEWER_UNITS);
        add("map of logical units", ENTRY * (exported + u64::from(self.map_pages)));
        add("map of physical units", ENTRY * units);
        add("valid units", bits(units));
        if self.keys.ftl.partial_write == PartialWrite::Bitmap {
            let what = "written sectors";
            let remedy = "set ftl.partial_write to another value";
            footprint.add(what, bits(self.capacity_sectors()), written, remedy);
        }
    }

    fn add_blocks(&self, footprint: &mut Footprint) {
        let (blocks, buckets) = Blocks::bytes(&self.geometry, self.frontiers, &Care::new(self));
        footprint.add("blocks", blocks, self.is_written(), FEWER_BLOCKS);
        let remedy = "lower geometry.pages_per_block, or the number of planes";
        footprint.add("blocks by valid units", buckets, self.is_written(), remedy);
    }

    /// Dies, planes and channels.
    fn add_array(&self, footprint: &mut Footprint) {
        let geometry = &self.geometry;
        let remedy = "lower geometry.channels, ways, dies_per_way or planes";
        let dies = u64::from(geometry.dies());
        let of_die = size::<Die>() + Channel::bytes_of_die() + 64;
        let channels = u64::from(geometry.channels) * size::<Channel>();
        footprint.add("dies and channels", dies * of_die + channels, true, remedy);
        let planes = u64::from(geometry.all_planes());
        footprint.add("planes", planes * (PLANE_BYTES + 16), true, remedy);
        let moved = u64::from(geometry.units_per_block()) * MOVED_BYTES;
        let remedy = "lower geometry.pages_per_block, or the number of planes";
        footprint.add("units that are moved", planes * moved, false, remedy);
    }

    fn add_cache(&self, footprint: &mut Footprint) {
        let (lines, pages) = (u64::from(self.map_lines), u64::from(self.map_pages));
        let exported = u64::from(self.exported_units);
        let remedy = "lower map.cache_bytes";
        match self.keys.map.store {
            MapStore::Resident => {}
            MapStore::LineCache => {
                footprint.add("map cache", lines * line_cache::LINE_BYTES, true, remedy);
                let runs = exported.div_ceil(self.keys.map.entries_per_line);
                let index = ENTRY * (2 * runs + pages);
                footprint.add("index of the map cache", index, false, FEWER_UNITS);
            }
            MapStore::Cmt => {
                footprint.add("map cache", lines * cmt::ENTRY_BYTES, false, remedy);
                let index = ENTRY * (exported + 3 * pages);
                footprint.add("index of the map cache", index, false, FEWER_UNITS);
            }
        }
    }

    fn add_buffer(&self, footprint: &mut Footprint) {
        let units = u64::from(self.buffer_units);
        if units > 0 {
            // Its lines, an index of them, and the units that queued writes are going to need.
            let ahead = self.keys.buffer.eviction == Eviction::Ahead;
            let wanted = if ahead { 4 * ENTRY * (units + 1).next_power_of_two() } else { 0 };
            let index = ENTRY * units.next_power_of_two();
            let bytes = units * size::<buffer::Line>() + index + wanted;
            footprint.add("write buffer", bytes, false, "lower buffer.bytes");
        }
    }

    /// Translation layers that plan, and what stands in their place without translation.
    fn add_layers(&self, footprint: &mut Footprint) {
        let blocks = u64::from(self.geometry.blocks());
        if self.keys.is_raw() {
            footprint.add("programmed pages of blocks", ENTRY * blocks, true, FEWER_BLOCKS);
        }
        if let Some(shape) = &self.zones {
            let bytes = ZoneBlocks::bytes(shape, &self.geometry);
            footprint.add("blocks of zones", bytes, self.is_written(), FEWER_BLOCKS);
        }
        let Some(scheme) = self.keys.planner() else { return };
        let ordered = self.keys.nand.program_order != ProgramOrder::Any;
        let spans = self.keys.spans_planes() && self.geometry.all_planes() > 1;
        let past = PAST_BYTES * if ordered { 3 } else { 1 + u64::from(spans) };
        let segments = if spans { 8 } else { 0 };
        let of_device = blocks * (past + segments + 2 * ENTRY) + bits(self.geometry.units());
        let of_layers: u64 = self.layer_shapes().map(|shape| scheme.layer_bytes(&shape)).sum();
        footprint.add("translation layers", of_device + of_layers, true, FEWER_UNITS);
    }

    /// What a log of the map remembers. What a device that can be cut remembers: of each physical
    /// unit its owner and version, when each block was programmed last, and of each logical unit
    /// the newest trim, the newest one that a capacitor alone saves, and what a flush has promised.
    fn add_power(&self, footprint: &mut Footprint) {
        footprint.add("log of the map", map_log::bytes(self), true, FEWER_UNITS);
        if self.keys.power.is_on() {
            let (units, blocks) = (self.geometry.units(), u64::from(self.geometry.blocks()));
            let power = &self.keys.power;
            let unwritten = power.plp == Plp::Capacitor && !power.is_written();
            let promised = !self.answers_durably(Flags::NONE);
            let of_unit = 8 + 8 * u64::from(unwritten) + 9 * u64::from(promised);
            let bytes = (ENTRY + 8) * units
                + blocks * size::<Written>()
                + of_unit * u64::from(self.exported_units);
            footprint.add("spare areas", bytes, self.is_written(), "leave the section power out");
        }
    }

    /// What is needed only while the initial state is made.
    fn add_building(&self, footprint: &mut Footprint) {
        let bytes = initial::device::scratch_bytes(self);
        footprint.add("making of the initial state", bytes, true, "set state.initial = \"fresh\"");
    }

    fn add_checker(&self, footprint: &mut Footprint) {
        let (units, exported) = (self.geometry.units(), u64::from(self.exported_units));
        let of_maps = if self.map_pages > 0 { 16 * exported } else { 0 };
        let any = self.keys.is_raw() && self.keys.schemes.none.order == RawOrder::Ignored;
        let of_order = match self.keys.nand.program_order {
            ProgramOrder::Sequential if !any => 0,
            _ => bits(units),
        };
        let of_blocks = ENTRY * u64::from(self.geometry.blocks());
        // Units of which a part was written take more, each when it is.
        let of_sectors = match self.keys.ftl.partial_write {
            PartialWrite::Ignore => 0,
            _ => 2 * bits(exported),
        };
        let bytes = 16 * units + of_maps + of_order + of_blocks + of_sectors;
        footprint.add("checker", bytes, self.is_written(), "leave --check out");
        // When something touches them.
        footprint.add("units that are checked", 28 * exported, false, "leave --check out");
    }
}

/// Bytes of a bitmap.
const fn bits(count: u64) -> u64 {
    count.div_ceil(64) * 8
}

/// Bytes of a value.
const fn size<T>() -> u64 {
    size_of::<T>() as u64
}

impl Channel {
    /// Bytes that a die takes in the lists of its channel.
    const fn bytes_of_die() -> u64 {
        size::<ChannelId>() + 2 * (size::<ChannelId>() + 4)
    }
}
