//! What recovery from a loss of power does not go with.

use crate::config::{DeviceKeys, Fault, Plp, PowerKeys};

/// Keys that recovery contradicts.
pub(super) fn check(
    keys: &DeviceKeys,
    (program_units, unit_bytes): (u32, u64),
    fail: &mut impl FnMut(String),
) {
    let power = &keys.power;
    if let Some(lacking) = lacks(keys) {
        fail(format!("power.fault: \"{}\" wants {lacking}", power.fault.word()));
    }
    if !power.is_on() {
        return;
    }
    let mut refuse = |wrong: bool, what: String| {
        if wrong {
            fail(what);
        }
    };
    refuse(
        keys.is_raw(),
        "power: without translation nobody but the host knows what flash holds; set ftl.scheme = \
         \"page\", or leave the section out"
            .to_string(),
    );
    refuse(
        keys.is_zoned(),
        "power: zones do not recover: their states and pointers are not kept; leave the section \
         out, or set ftl.scheme = \"page\""
            .to_string(),
    );
    refuse(
        keys.plans() && !power.oob_scan,
        format!(
            "power.oob_scan: ftl.scheme = \"{}\" finds the pages of log blocks, and those of a \
             block that was being merged, by their spare areas alone; set power.oob_scan = true",
            keys.scheme_name()
        ),
    );
    refuse(
        keys.spans_planes(),
        "power: a loss of power leaves superblocks of which some planes are erased and others are \
         not, and layers do not recover those; set ftl.log_span = \"plane\", or leave the section \
         out"
        .to_string(),
    );
    let most = u64::from(program_units) * (unit_bytes / PowerKeys::ENTRY_BYTES);
    refuse(
        power.journal_entries > most,
        format!(
            "power.journal_entries: {} changes of {} bytes are more than the {most} that a program \
             holds; set at most {most}",
            power.journal_entries,
            PowerKeys::ENTRY_BYTES
        ),
    );
    refuse(
        keys.buffer.bytes > 0 && !keys.buffer.volatile && power.plp == Plp::None,
        "power.plp: the write buffer is to outlive a loss of power (buffer.volatile = false), and \
         nothing keeps it; set power.plp = \"capacitor\", or buffer.volatile = true"
            .to_string(),
    );
}

/// What a planted fault wants and the device does not have.
fn lacks(keys: &DeviceKeys) -> Option<&'static str> {
    let PowerKeys { oob_scan, checkpoint_mib, fault, .. } = keys.power;
    match fault {
        Fault::None => None,
        _ if !keys.power.is_on() => {
            Some("a device that can be cut; set power.oob_scan = true, or leave the fault out")
        }
        Fault::BitCorruption if keys.nand.one_shot || keys.nand.bits_per_cell < 2 => {
            Some("pages that share cells; set nand.bits_per_cell = 2 and nand.one_shot = false")
        }
        Fault::ShornWrites | Fault::Unserialisable if !oob_scan => {
            Some("a scan of spare areas; set power.oob_scan = true")
        }
        Fault::Metadata if checkpoint_mib == 0 => {
            Some("checkpoints; set power.checkpoint_mib, to 1 for example")
        }
        Fault::Metadata if !keys.is_page_map() => {
            Some("a page map, whose checkpoint is of units; set ftl.scheme = \"page\"")
        }
        Fault::Dead if !keys.power.is_written() => {
            Some("a journal or checkpoints; set power.journal_entries, to 64 for example")
        }
        Fault::FlushIgnored if keys.buffer.bytes == 0 || !keys.buffer.volatile => {
            Some("a volatile write buffer; set buffer.bytes, and buffer.volatile = true")
        }
        _ => None,
    }
}
