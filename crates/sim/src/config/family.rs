//! Families of firmware: what drives do with more random writes than they can take.

use super::{DeviceKeys, GcPacing, GcStart};
use flashyard_core::choice;

choice! {
    /// A family of firmware. It sets keys that nobody gives a value; all but `none` also set
    /// `gc.pacing` to "spare", `nand.program_suspends` to 4 and `nand.erase_suspends` to 8.
    pub enum FirmwareFamily {
        /// No family: the other keys decide.
        None = "none",
        /// Writes are paced, and reads suspend what their die does. It sets no other keys. It needs
        /// `queue.depth` above the number of writes that the host keeps outstanding.
        ReadsProtected = "reads_protected",
        /// Writes are paced, and reads wait for what their die does while writes wait for the
        /// buffer: `gc.suspend_while_short` is false.
        InBetween = "in_between",
        /// Writes are paced, and reads wait in one queue with them: `host.dispatch_width` is 64.
        BothWait = "both_wait",
    }
}

/// How often programs and erases are suspended, and how many requests are started at once, where a
/// family sets that. Assumed, as the presets of drives; fitted.
const PROGRAM_SUSPENDS: u64 = 4;
const ERASE_SUSPENDS: u64 = 8;
const STARTED: u64 = 64;

/// Keys that families set, and which of them a file or an option gave a value.
#[derive(Clone, Copy, Debug, Default, Eq)]
pub(crate) struct Given(u8);

/// Keys of the same values are equal, whoever gave them.
impl PartialEq for Given {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Given {
    const KEYS: [(&str, &str); 5] = [
        ("gc", "pacing"),
        ("nand", "program_suspends"),
        ("nand", "erase_suspends"),
        ("gc", "suspend_while_short"),
        ("host", "dispatch_width"),
    ];

    /// Notes that this key was given a value.
    pub(crate) fn note(&mut self, section: &str, key: &str) {
        let place = Self::KEYS.iter().position(|known| *known == (section, key));
        self.0 |= place.map_or(0, |place| 1 << place);
    }

    const fn has(self, place: usize) -> bool {
        self.0 & 1 << place != 0
    }
}

impl DeviceKeys {
    /// The keys as the device runs with them: those that its family of firmware sets have the
    /// values of the family, unless a file or an option gave them values, be it their defaults.
    /// Keys that were written as fields count as given where they are not at their defaults.
    #[must_use]
    pub const fn with_family(mut self) -> Self {
        let (family, given) = (self.firmware.family, self.given);
        if matches!(family, FirmwareFamily::None) {
            return self;
        }
        if matches!(self.gc.pacing, GcPacing::None) && !given.has(0) {
            self.gc.pacing = GcPacing::Spare;
        }
        if self.nand.program_suspends == 0 && !given.has(1) {
            self.nand.program_suspends = PROGRAM_SUSPENDS;
        }
        if self.nand.erase_suspends == 0 && !given.has(2) {
            self.nand.erase_suspends = ERASE_SUSPENDS;
        }
        if matches!(family, FirmwareFamily::InBetween) && !given.has(3) {
            self.gc.suspend_while_short = false;
        }
        let waits = matches!(family, FirmwareFamily::BothWait);
        if waits && self.host.dispatch_width == 0 && !given.has(4) {
            self.host.dispatch_width = STARTED;
        }
        self
    }

    /// Why the keys cannot have their family of firmware; none if they can.
    pub(crate) fn no_family(&self, by_pages: bool) -> Option<String> {
        let family = self.firmware.family;
        let why = if family == FirmwareFamily::None {
            return None;
        } else if !self.is_page_map() {
            let scheme = self.scheme_name();
            format!("it paces a page map, not ftl.scheme = {scheme:?}; set ftl.scheme = \"page\"")
        } else if self.gc.start == GcStart::Needed {
            "it copies before blocks are needed; set gc.start = \"early\"".to_string()
        } else if !self.gc.preemptible {
            "it lets reads go between the copies of a victim; set gc.preemptible = true".to_string()
        } else if family == FirmwareFamily::BothWait && by_pages {
            "it limits the requests that are started, and host.policy starts pages; set \
             host.policy = \"fifo\""
                .to_string()
        } else {
            return None;
        };
        Some(format!("firmware.family: {:?}: {why}, or firmware.family = \"none\"", family.word()))
    }
}

#[cfg(test)]
mod tests {
    use super::FirmwareFamily::{BothWait, InBetween, None, ReadsProtected};
    use super::*;
    use crate::config::{MapStore, Sections, Settings};
    use crate::parts::log::SchemeName;
    use flashyard_core::host::HostPolicyName;
    use flashyard_core::key::Value;

    /// Keys of a device with a map in memory and of this family, of which `set` sets some.
    fn keys(family: FirmwareFamily, set: impl Fn(&mut DeviceKeys)) -> DeviceKeys {
        let mut keys = DeviceKeys::default();
        keys.map.store = MapStore::Resident;
        keys.firmware.family = family;
        set(&mut keys);
        keys
    }

    /// Pacing, how often programs and erases are suspended, whether also while programs wait, and
    /// how many requests are started at once.
    fn found(keys: &DeviceKeys) -> (GcPacing, u64, u64, bool, u64) {
        let DeviceKeys { gc, nand, host, .. } = Settings::new(keys.clone()).unwrap().keys;
        let suspends = (nand.program_suspends, nand.erase_suspends);
        (gc.pacing, suspends.0, suspends.1, gc.suspend_while_short, host.dispatch_width)
    }

    #[test]
    fn a_family_sets_the_keys_that_it_says() {
        let of = |family| found(&keys(family, |_| ()));
        assert_eq!(of(None), (GcPacing::None, 0, 0, true, 0));
        assert_eq!(of(ReadsProtected), (GcPacing::Spare, 4, 8, true, 0));
        assert_eq!(of(InBetween), (GcPacing::Spare, 4, 8, false, 0));
        assert_eq!(of(BothWait), (GcPacing::Spare, 4, 8, true, 64));
    }

    #[test]
    fn what_a_device_file_says_itself_counts() {
        let own = keys(BothWait, |keys| {
            keys.gc.pacing = GcPacing::Tokens;
            keys.nand.program_suspends = 1;
            keys.host.dispatch_width = 9;
        });
        assert_eq!(found(&own), (GcPacing::Tokens, 1, 8, true, 9));
    }

    /// A default that is written down counts as well.
    #[test]
    fn what_was_given_a_value_keeps_it_though_it_is_the_default() {
        let zero = |keys: &mut DeviceKeys, section, key| {
            assert!(keys.set(section, key, Value::Number(0)));
        };
        let own = keys(BothWait, |keys| {
            zero(keys, "nand", "program_suspends");
            zero(keys, "host", "dispatch_width");
        });
        assert_eq!(found(&own), (GcPacing::Spare, 0, 8, true, 0));
        let short = keys(InBetween, |keys| {
            assert!(keys.set("gc", "suspend_while_short", Value::Bool(true)));
        });
        assert_eq!(found(&short), (GcPacing::Spare, 4, 8, true, 0));
    }

    #[test]
    fn what_a_family_cannot_be_with_is_refused() {
        let planned = keys(ReadsProtected, |keys| keys.ftl.scheme = SchemeName::Fast);
        let needed = keys(InBetween, |keys| keys.gc.start = GcStart::Needed);
        let whole = keys(InBetween, |keys| keys.gc.preemptible = false);
        let pages = keys(BothWait, |keys| keys.host.policy = HostPolicyName::Ros);
        for (keys, why) in [
            (planned, "it paces a page map, not ftl.scheme = \"fast\""),
            (needed, "set gc.start = \"early\""),
            (whole, "set gc.preemptible = true"),
            (pages, "set host.policy = \"fifo\""),
        ] {
            let error = Settings::new(keys).unwrap_err().to_string();
            assert!(error.contains("firmware.family: ") && error.contains(why), "{error}");
            assert!(error.contains("or firmware.family = \"none\""), "{error}");
        }
    }
}
