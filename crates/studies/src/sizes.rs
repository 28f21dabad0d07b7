//! Tables of translation layers by the formula of a study: their bytes, and the power of the DRAM
//! that holds them. They are no runs, so statements about them hold by definition or not at all.

use crate::device::{Device, settings_of};
use crate::schema::{Experiment, Sizes};
use anyhow::{Context, Result};
use flashyard_run::units::Table;
use flashyard_sim::parts::memory::{DemandTable, Extent};
use serde_json::{Map, Value, json};

/// The layers that the table shows.
const LAYERS: [&str; 6] = ["page", "block", "bast", "fast_last", "dftl", "dftl_with_directory"];

/// The bytes of the tables of a device of this capacity, by layer.
fn bytes(sizes: &Sizes, mebibytes: u64) -> [u64; 6] {
    let extent = Extent::study(mebibytes);
    [
        extent.page_table(),
        extent.block_table(),
        extent.block_table() + extent.owned_log(),
        extent.block_table() + extent.shared_log(),
        extent.demand(DemandTable::BlockTable) + sizes.cache_bytes,
        extent.demand(DemandTable::Both) + sizes.cache_bytes,
    ]
}

/// Power of the DRAM that holds a table, in milliwatts: of whole chips, and of as much of one.
fn dram_mw(sizes: &Sizes, bytes: u64, chip_mw: u64) -> (u64, f64) {
    let chip = sizes.chip_mib << 20;
    (bytes.div_ceil(chip) * chip_mw, bytes as f64 / chip as f64 * chip_mw as f64)
}

/// The numbers that expressions can name: `page 512`, the bytes of a table by layer and capacity in
/// MiB; of the device `log blocks`, the spare blocks but two over the exported ones, `erase us` and
/// `read us`.
pub(crate) fn numbers(experiment: &Experiment, devices: &[Device]) -> Result<Vec<(String, f64)>> {
    let Some(sizes) = &experiment.sizes else { return Ok(Vec::new()) };
    let device = devices.iter().find(|device| device.name == sizes.device);
    let device = device.with_context(|| format!("{}: no device of this name", sizes.device))?;
    let settings = settings_of(&device.keys, &[])?;
    let geometry = &settings.geometry;
    let exported = f64::from(settings.exported_units / geometry.units_per_block());
    let log = f64::from(geometry.blocks()) - exported - 2.0;
    let nand = &settings.keys.nand;
    let mut all = vec![
        ("log blocks".to_string(), log / exported),
        ("erase us".to_string(), nand.erase_us.as_ns() as f64 / 1e3),
        ("read us".to_string(), nand.read_us.as_ns() as f64 / 1e3),
    ];
    for &mebibytes in &sizes.capacity_mib {
        let of_layer = LAYERS.iter().zip(bytes(sizes, mebibytes));
        all.extend(of_layer.map(|(layer, bytes)| (format!("{layer} {mebibytes}"), bytes as f64)));
    }
    Ok(all)
}

/// The tables of sizes, and what is said below them.
#[derive(Clone, Debug)]
pub struct SizeTables {
    /// Bytes by layer, then power of the memory that holds them.
    pub tables: [Table; 2],
    /// How they are counted.
    pub note: String,
}

/// The tables by formula.
pub(crate) fn tables(sizes: &Sizes) -> SizeTables {
    let mut bytes_table =
        Table::new(&["MiB", "page", "block", "BAST", "FAST, LAST", "DFTL", "and directory"]);
    let header = ["MiB", "page map: chips of DRAM", "by size", "chips of low power", "by size"];
    let mut power_table = Table::new(&header);
    for &mebibytes in &sizes.capacity_mib {
        let bytes = bytes(sizes, mebibytes);
        let cells = bytes.iter().map(ToString::to_string);
        bytes_table.add([mebibytes.to_string()].into_iter().chain(cells));
        let power = [sizes.sdram_mw, sizes.low_power_mw].into_iter().flat_map(|power| {
            let (chips, share) = dram_mw(sizes, bytes[0], power);
            [format!("{chips} mW"), format!("{share:.1} mW")]
        });
        power_table.add([mebibytes.to_string()].into_iter().chain(power));
    }
    let note = format!(
        "DFTL as the paper counts it: a block table and {} bytes of cache. DRAM: chips of {} MiB \
         (assumed) of {} mW, low power {} mW (the paper: a few hundred, around a hundred); by \
         size: as if chips came in every size.",
        sizes.cache_bytes, sizes.chip_mib, sizes.sdram_mw, sizes.low_power_mw
    );
    SizeTables { tables: [bytes_table, power_table], note }
}

/// The same as data.
pub(crate) fn object(sizes: &Sizes) -> Value {
    let capacity = |&mebibytes: &u64| {
        let bytes = LAYERS.into_iter().zip(bytes(sizes, mebibytes));
        let power = |chip_mw: u64| -> Map<String, Value> {
            let of = |(name, bytes): (&str, u64)| {
                let (chips, share) = dram_mw(sizes, bytes, chip_mw);
                (name.to_string(), json!({"chips": chips, "by_size": share}))
            };
            bytes.clone().map(of).collect()
        };
        let all: Map<String, Value> =
            bytes.clone().map(|(name, bytes)| (name.to_string(), bytes.into())).collect();
        json!({
            "capacity_mib": mebibytes,
            "bytes": all,
            "sdram_mw": power(sizes.sdram_mw),
            "low_power_mw": power(sizes.low_power_mw),
        })
    };
    sizes.capacity_mib.iter().map(capacity).collect()
}
