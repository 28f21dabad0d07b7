//! What recovery from a loss of power does not go with.

use crate::config::{DeviceKeys, Plp};

/// Bytes of a change in the journal: the unit, its place, the number of the change. Assumed.
pub(super) const ENTRY_BYTES: u64 = 16;

/// Keys that recovery contradicts.
pub(super) fn check(keys: &DeviceKeys, unit_bytes: u64, fail: &mut impl FnMut(String)) {
    let power = &keys.power;
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
    let most = unit_bytes / ENTRY_BYTES;
    refuse(
        power.journal_entries > most,
        format!(
            "power.journal_entries: {} changes of {ENTRY_BYTES} bytes do not fit a mapping unit; \
             set at most {most}",
            power.journal_entries
        ),
    );
    refuse(
        keys.buffer.bytes > 0 && !keys.buffer.volatile && power.plp == Plp::None,
        "power.plp: the write buffer is to outlive a loss of power (buffer.volatile = false), and \
         nothing keeps it; set power.plp = \"capacitor\", or buffer.volatile = true"
            .to_string(),
    );
}
