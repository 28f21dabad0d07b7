//! Devices with log blocks whose programs hold several mapping units.

use super::devices::span_planes;
use crate::common::Random;
use flashyard_core::quantity::Ppm;
use flashyard_sim::config::{Acknowledge, DeviceKeys, Settings};
use flashyard_sim::parts::log::SchemeName;

/// A device whose mapping units are the pages of an `old` one, and whose programs hold several of
/// them: larger pages, word lines in one shot, or both. It has a write buffer, and every third one
/// log blocks that are superblocks.
pub fn with_programs(random: &mut Random, old: &DeviceKeys) -> Settings {
    loop {
        let mut keys = old.clone();
        let units = random.pick(&[1, 2, 4, 4]);
        keys.ftl.mapping_unit_bytes = keys.geometry.page_bytes;
        keys.geometry.page_bytes *= units;
        let (pages, bits) = (keys.geometry.pages_per_block, keys.nand.bits_per_cell);
        keys.nand.one_shot = pages.is_multiple_of(bits) && (units == 1 || random.below(3) == 0);
        if keys.ftl.scheme == SchemeName::Block {
            keys.ftl.scheme = random.pick(&[SchemeName::Bast, SchemeName::Fast, SchemeName::Last]);
        }
        keys.buffer.bytes = random.pick(&[4, 8, 32]) * keys.geometry.page_bytes;
        keys.buffer.volatile = random.below(2) == 0;
        keys.buffer.acknowledge = random.pick(Acknowledge::ALL);
        if random.below(3) == 0 {
            span_planes(&mut keys);
        }
        // Larger blocks need more spare space.
        for percent in [20, 50, 100, 200, 400] {
            keys.ftl.over_provisioning_percent = Ppm::from_percent(percent);
            if let Ok(settings) = Settings::new(keys.clone())
                && settings.geometry.program_units() > 1
            {
                return settings;
            }
        }
    }
}
