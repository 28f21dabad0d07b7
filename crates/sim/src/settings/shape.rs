//! What a saved device and the one that goes on from it must agree in.

use crate::config::{Sections, Settings, show_value};
use crate::saved::RestoreError;

/// Sections whose keys must agree, and single keys.
const SHAPE: [&str; 9] = [
    "geometry",
    "map",
    "ftl",
    "placement",
    "nand.bits_per_cell",
    "nand.one_shot",
    "nand.factory_bad_percent",
    "slc.static_percent",
    "slc.dynamic_percent",
];

/// The same where layers plan: the journal has blocks of its own then.
const SHAPE_OF_LAYERS: [&str; 3] =
    ["nand.program_order", "power.journal_entries", "power.checkpoint_mib"];

impl Settings {
    /// The keys that must agree, a line each.
    pub(crate) fn shape(&self) -> String {
        let mut text = String::new();
        let planned = self.keys.plans() || self.keys.is_zoned();
        let scheme = format!("ftl.{}", self.keys.scheme_name());
        for (section, keys, _) in self.keys.sections() {
            for key in keys {
                let path = format!("{section}.{}", key.name);
                let of_layers = section == scheme || SHAPE_OF_LAYERS.contains(&path.as_str());
                let shapes = SHAPE.contains(&section.as_ref()) || SHAPE.contains(&path.as_str());
                if !(shapes || planned && of_layers) {
                    continue;
                }
                let value = self.keys.get(&section, key.name).expect("a listed key has a value");
                let value = show_value(&key.kind, value);
                text += &format!("{path} = {value}\n");
            }
        }
        if self.unites_blocks() && self.keys.nand.endurance_cycles > 0 {
            text += "superblocks that lose blocks (nand.endurance_cycles above 0)\n";
        }
        if !planned {
            // Pages of a journal fill blocks that data never go to.
            let writes = if self.keys.power.is_written() { "a" } else { "no" };
            text += &format!("{writes} journal or checkpoints of the map (section power)\n");
        }
        text
    }

    /// Whether a device of this shape was saved.
    pub(crate) fn agrees_with(&self, saved: &str) -> Result<(), RestoreError> {
        let wanted = self.shape();
        let (mut saved, mut wanted) = (saved.lines(), wanted.lines());
        loop {
            match (saved.next(), wanted.next()) {
                (None, None) => return Ok(()),
                (saved, wanted) if saved == wanted => {}
                (saved, wanted) => {
                    let line = |line: Option<&str>| line.unwrap_or("nothing").to_string();
                    return Err(RestoreError::Settings {
                        saved: line(saved),
                        wanted: line(wanted),
                    });
                }
            }
        }
    }
}
