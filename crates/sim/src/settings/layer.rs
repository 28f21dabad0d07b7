//! What a device needs besides the name of a translation layer: the settings that make a layer
//! legal on a device that was described for another one.

use crate::config::{
    Allocation, DeviceKeys, FirmwareFamily, InitialState, LayerSetting, MapStore, MultiPlane,
    ProgramOrder, nearest, show_value,
};
use crate::own::Family;
use crate::parts::log::{PLANNING, SchemeName};
use flashyard_core::key::{KeyValue, Kind, Value};
use flashyard_core::units::Span;

/// Other names of the layers that map each page, with the place of the map and a description.
const PAGE_MAPS: [(&[&str], MapStore, &str); 3] = [
    (&["page", "resident", "page-level"], MapStore::Resident, "the whole map is in memory"),
    (&["line-cache"], MapStore::LineCache, "the map is on flash behind cached lines"),
    (&["dftl", "cmt"], MapStore::Cmt, "the map is on flash behind cached entries"),
];

impl DeviceKeys {
    /// Every translation layer that [`Self::layer_settings`] knows, by the name to choose it with:
    /// page maps, then schemes that plan, built-in ones and the user's own.
    pub fn layer_names(&self) -> Vec<&str> {
        let pages = PAGE_MAPS.iter().map(|(names, ..)| names[0]);
        let own = self.own.parts().names(Family::Scheme).map(|(name, _)| name);
        pages.chain(PLANNING.iter().copied()).chain(own).collect()
    }

    /// The settings that this device needs for the translation layer of this name, and why. Keys
    /// that are right already are not among them. An error says why the name is none.
    pub fn layer_settings(&self, name: &str) -> Result<Vec<LayerSetting>, String> {
        let word = name.to_ascii_lowercase().replace(['_', ' '], "-");
        if self.is_disk() {
            return Err("a disk has no translation layer".to_string());
        }
        let page = PAGE_MAPS.iter().find(|(names, ..)| names.contains(&word.as_str()));
        if let Some(&(_, store, what)) = page {
            let mut found = Needs { keys: self, found: Vec::new() };
            found.want(!self.is_page_map(), "ftl.scheme", "page", "each page is mapped");
            let store = (store, MapStore::WORDS[index(store)]);
            found.want(self.map.store != store.0, "map.store", store.1, what);
            if store.0 != MapStore::Resident {
                found.map_on_flash();
            }
            return Ok(found.found);
        }
        let names = self.layer_names();
        let Some(name) = names.iter().find(|known| **known == word || **known == name) else {
            let near = nearest(&word, names.iter().copied());
            return Err(format!("no such translation layer{near} ({})", names.join(", ")));
        };
        Ok(self.planned(name))
    }

    /// The settings that a scheme needs that plans.
    fn planned(&self, name: &str) -> Vec<LayerSetting> {
        let mut chosen = self.clone();
        let own = self.own.parts().names(Family::Scheme).position(|(known, _)| known == name);
        let built_in = SchemeName::WORDS.iter().position(|known| *known == name);
        let place = built_in.or_else(|| own.map(|number| SchemeName::ALL.len() + number));
        chosen.ftl.scheme =
            SchemeName::from_value(Value::Choice(place.expect("the name is listed")));
        let mut needs = Needs { keys: self, found: Vec::new() };
        let scheme = "how pages are mapped";
        needs.want(self.ftl.scheme != chosen.ftl.scheme, "ftl.scheme", name, scheme);
        let resident = "the layer keeps its own map in memory";
        needs.want(self.map.store != MapStore::Resident, "map.store", "resident", resident);
        needs.want(
            self.ftl.allocation == Allocation::Dynamic,
            "ftl.allocation",
            "static",
            "the layer manages the pages of a plane, which striping must give it",
        );
        let planner = chosen.planner();
        needs.whole_pages(planner.as_ref().is_some_and(|scheme| scheme.packs_pages()));
        let skips = planner.is_some_and(|scheme| scheme.skips_pages());
        needs.want(
            skips && self.nand.program_order == ProgramOrder::Sequential,
            "nand.program_order",
            "ascending",
            "the layer leaves pages of a block out",
        );
        needs.rest();
        needs.found
    }
}

/// The number of a word of a choice.
fn index(value: impl KeyValue) -> usize {
    match value.to_value() {
        Value::Choice(index) => index,
        _ => unreachable!("it is a choice"),
    }
}

/// Settings that are gathered.
struct Needs<'a> {
    keys: &'a DeviceKeys,
    found: Vec<LayerSetting>,
}

impl Needs<'_> {
    fn want(&mut self, wrong: bool, key: &'static str, value: &str, why: &str) {
        if wrong {
            self.found.push(LayerSetting { key, value: value.to_string(), why: why.to_string() });
        }
    }

    /// A layer that plans programs one whole page of one plane. One that `packs` could do otherwise
    /// behind a write buffer, but was not published so.
    fn whole_pages(&mut self, packs: bool) {
        let (nand, unit) = (self.keys.nand, self.keys.ftl.mapping_unit_bytes);
        let page = self.keys.geometry.page_bytes;
        let (whole, one) = if packs && self.keys.buffer.bytes > 0 {
            ("as published the layer maps whole pages", "as published the layer programs one page")
        } else {
            ("the layer plans whole pages", "the layer plans one page a program")
        };
        self.want(unit != 0 && unit != page, "ftl.mapping_unit_bytes", "0", whole);
        if nand.one_shot {
            self.want(true, "nand.one_shot", "false", one);
            let bits = nand.bits_per_cell;
            let times = [
                ("nand.program_us", nand.program_us),
                ("nand.program_max_us", nand.program_max_us),
            ];
            for (key, ns) in times {
                let us = show_value(
                    &Kind::micros(0, u64::MAX),
                    Value::Number(ns.as_ns().div_ceil(bits)),
                );
                let why = format!("a page takes its share of the {bits} of a word line");
                self.want(ns > Span::ZERO && bits > 1, key, &us, &why);
            }
        }
        self.want(
            nand.multi_plane == MultiPlane::SamePage,
            "nand.multi_plane",
            "none",
            "the layer chooses pages plane by plane, not the same one on each",
        );
    }

    /// Parts that need the map in memory, and the blocks that map pages need.
    fn map_on_flash(&mut self) {
        let keys = self.keys;
        let steady = keys.state.initial == InitialState::Steady;
        let unknown = "no steady state of map pages on flash is known";
        self.want(steady, "state.initial", "aged", unknown);
        let known = "reading ahead needs the place of each unit";
        self.want(keys.buffer.read_ahead_kib > 0, "buffer.read_ahead_kib", "0", known);
        self.want(keys.map.log_bytes > 0, "map.log_bytes", "0", "only a map in memory is logged");
        let blocks = "map pages take blocks of the reserve";
        self.want(keys.gc.reserve_blocks == 1, "gc.reserve_blocks", "2", blocks);
    }

    /// Parts that layers that plan have no use for.
    fn rest(&mut self) {
        let keys = self.keys;
        let family = keys.firmware.family != FirmwareFamily::None;
        self.want(family, "firmware.family", "none", "families pace the collection of a page map");
        let of_pages = "only a page map is logged";
        self.want(keys.map.log_bytes > 0, "map.log_bytes", "0", of_pages);
        let stripes = "only a page map stripes by several pages";
        self.want(keys.ftl.stripe_pages > 1, "ftl.stripe_pages", "1", stripes);
        let idle = "the layer manages free blocks itself";
        self.want(keys.gc.restore, "gc.restore", "false", idle);
        self.want(keys.gc.copyback, "gc.copyback", "false", "the layer plans its own copies");
        let apart = "the layer chooses pages plane by plane";
        self.want(keys.joined_planes() > 1, "ftl.frontier", "plane", apart);
        self.want(
            keys.placement.handles > 1,
            "placement.handles",
            "1",
            "the layer knows no handles",
        );
        let slc = "only a page map has an SLC cache";
        self.want(!keys.slc.static_percent.is_zero(), "slc.static_percent", "0", slc);
        self.want(!keys.slc.dynamic_percent.is_zero(), "slc.dynamic_percent", "0", slc);
        let bad = "the layer knows no bad blocks";
        self.want(!keys.nand.factory_bad_percent.is_zero(), "nand.factory_bad_percent", "0", bad);
        self.want(keys.nand.endurance_cycles > 0, "nand.endurance_cycles", "0", bad);
        let wear = "no wear is levelled behind the layer";
        self.want(keys.wear.dynamic, "wear.dynamic", "false", wear);
        self.want(keys.wear.static_gap > 0, "wear.static_gap", "0", wear);
        let steady = keys.state.initial == InitialState::Steady;
        self.want(steady, "state.initial", "aged", "no steady state of the layer is known");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Settings, apply_setting};
    use flashyard_core::quantity::Ppm;

    fn with(keys: &DeviceKeys, name: &str) -> DeviceKeys {
        let mut changed = keys.clone();
        let mut problems = Vec::new();
        for LayerSetting { key, value, .. } in keys.layer_settings(name).unwrap() {
            apply_setting("layer", &format!("{key}={value}"), &mut changed, &mut problems);
        }
        assert_eq!(problems, []);
        changed
    }

    /// TLC that programs word lines in one shot, on two planes at once, with small mapping units.
    fn tlc() -> DeviceKeys {
        let mut keys = DeviceKeys::default();
        keys.geometry.pages_per_block = 126;
        keys.geometry.page_bytes = 16_384;
        keys.geometry.blocks_per_plane = 200;
        keys.geometry.planes = 2;
        keys.nand.bits_per_cell = 3;
        keys.nand.one_shot = true;
        keys.nand.program_us = Span::from_ns(1_200_001);
        keys.nand.multi_plane = MultiPlane::SamePage;
        keys.ftl.mapping_unit_bytes = 4_096;
        keys.ftl.over_provisioning_percent = Ppm::from_percent(12);
        keys.wear.dynamic = true;
        keys.state.initial = InitialState::Steady;
        keys.map.store = MapStore::Resident;
        keys
    }

    #[test]
    fn each_layer_is_legal_with_its_settings_and_then_needs_no_more() {
        let keys = tlc();
        Settings::new(keys.clone()).unwrap();
        for name in keys.layer_names() {
            let changed = with(&keys, name);
            let checked = Settings::new(changed.clone()).map(|_| ()).map_err(|why| why.to_string());
            assert_eq!(checked, Ok(()), "{name}");
            assert_eq!(changed.layer_settings(name), Ok(Vec::new()), "{name}");
        }
    }

    /// Parts that not every layer has are taken out for those that lack them.
    #[test]
    fn layers_take_out_what_only_a_map_in_memory_has() {
        let mut keys = tlc();
        (keys.ftl.stripe_pages, keys.map.log_bytes) = (3, 512);
        (keys.buffer.bytes, keys.buffer.read_ahead_kib) = (1 << 20, 64);
        (keys.gc.soft_free_blocks, keys.gc.hard_free_blocks) = (2, 1);
        keys.gc.reserve_blocks = 1;
        Settings::new(keys.clone()).unwrap();
        for name in keys.layer_names() {
            let changed = with(&keys, name);
            let checked = Settings::new(changed.clone()).map(|_| ()).map_err(|why| why.to_string());
            assert_eq!(checked, Ok(()), "{name}");
            assert_eq!(changed.map.log_bytes == 512, name == "page", "{name}");
        }
    }

    #[test]
    fn a_page_of_a_word_line_takes_its_share_of_the_time() {
        let fast = with(&tlc(), "FAST");
        // 1,200,001 ns over 3 pages, rounded up.
        assert_eq!(fast.nand.program_us, Span::from_ns(400_001));
        assert!(!fast.nand.one_shot && fast.ftl.mapping_unit_bytes == 0);
        assert_eq!(fast.nand.program_order, ProgramOrder::Ascending);
    }

    #[test]
    fn names_that_are_no_layers_are_refused() {
        let error = tlc().layer_settings("fats").unwrap_err();
        assert!(
            error.starts_with("no such translation layer; did you mean fast? (page,"),
            "{error}"
        );
        let mut disk = DeviceKeys::default();
        disk.device.kind = crate::config::DeviceKind::Disk;
        assert_eq!(disk.layer_settings("fast"), Err("a disk has no translation layer".to_string()));
    }
}
