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
        keys.plans() || keys.is_raw() || keys.is_zoned(),
        "power: only a page map recovers; set ftl.scheme = \"page\", or leave the section out"
            .to_string(),
    );
    refuse(
        keys.slc.is_on(),
        "power: an SLC cache does not recover yet; set slc.static_percent = 0 and \
         slc.dynamic_percent = 0, or leave the section out"
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
