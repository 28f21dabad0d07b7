//! Families of firmware: what drives do with more random writes than they can take.

use super::{DeviceKeys, GcPacing, GcStart};
use flashyard_core::choice;

choice! {
    /// A family of firmware. It sets keys that are at their defaults; all but `none` also set
    /// `gc.pacing` to "spare" and, where they are 0, `nand.program_suspends` to 4 and
    /// `nand.erase_suspends` to 8.
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

impl DeviceKeys {
    /// The keys with those of the named family of firmware where they are at their defaults.
    #[must_use]
    pub(crate) const fn with_family(mut self) -> Self {
        let family = self.firmware.family;
        if matches!(family, FirmwareFamily::None) {
            return self;
        }
        if matches!(self.gc.pacing, GcPacing::None) {
            self.gc.pacing = GcPacing::Spare;
        }
        if self.nand.program_suspends == 0 {
            self.nand.program_suspends = PROGRAM_SUSPENDS;
        }
        if self.nand.erase_suspends == 0 {
            self.nand.erase_suspends = ERASE_SUSPENDS;
        }
        match family {
            FirmwareFamily::None | FirmwareFamily::ReadsProtected => {}
            FirmwareFamily::InBetween => self.gc.suspend_while_short = false,
            FirmwareFamily::BothWait => {
                if self.host.dispatch_width == 0 {
                    self.host.dispatch_width = STARTED;
                }
            }
        }
        self
    }

    /// Why the keys cannot have their family of firmware; none if they can.
    pub(crate) fn no_family(&self, by_pages: bool) -> Option<String> {
        let family = self.firmware.family;
        let why = if family == FirmwareFamily::None {
            return None;
        } else if self.plans() || self.is_raw() {
            format!("it paces a page map, not ftl.scheme = {:?}", self.scheme_name())
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
    use crate::config::{MapStore, Settings};
    use crate::ftl::log::SchemeName;
    use flashyard_core::host::HostPolicyName;

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
        let DeviceKeys { gc, nand, host, .. } = Settings::new(*keys).unwrap().keys;
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
