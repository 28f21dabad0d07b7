//! The parts that the keys of a device name: built-in ones, or a user's own.

use super::{DeviceKeys, LogSpan, ReclaimUnit, Settings, WriteFrontier};
use crate::own::Family;
use crate::parts::layer::Shape;
use crate::parts::log::{AnyLayer, BoxedScheme, SchemeName};
use crate::parts::policy::{BusRule, HostRule, Policy};
use crate::parts::victim::{Rule, VictimName};
use flashyard_core::bus::policy::BusPolicyName;
use flashyard_core::host::HostPolicyName;
use flashyard_core::policy::PolicyName;

impl Policy {
    /// The one that the settings name.
    pub fn of(settings: &Settings) -> Self {
        let keys = &settings.keys;
        match keys.policy.command {
            PolicyName::Own(number) => Self::Own(keys.own.command_policy(number)),
            name => Self::BuiltIn(keys.policies.policy(name)),
        }
    }
}

impl HostRule {
    /// The one that the keys name.
    pub(crate) fn of(keys: &DeviceKeys) -> Self {
        match keys.host.policy {
            HostPolicyName::Own(number) => Self::own(keys.own.host_policy(number)),
            name => Self::built_in(keys.host_policies.policy(name)),
        }
    }
}

impl BusRule {
    /// The one that the keys name.
    pub fn of(keys: &DeviceKeys) -> Self {
        match keys.channel.arbitration {
            BusPolicyName::Own(number) => Self::Own(keys.own.bus_policy(number)),
            name => Self::BuiltIn(keys.bus_policies.policy(name)),
        }
    }
}

impl Rule {
    /// The one that the keys name.
    pub fn of(keys: &DeviceKeys) -> Self {
        match keys.gc.policy {
            VictimName::Own(number) => Self::Own(keys.own.victim_rule(number)),
            name => Self::BuiltIn(keys.victims.policy(name)),
        }
    }
}

impl DeviceKeys {
    pub(crate) fn scheme_name(&self) -> &str {
        match self.ftl.scheme {
            SchemeName::Own(number) => self.own.parts().name(Family::Scheme, number),
            name => {
                let place = SchemeName::ALL.iter().position(|known| *known == name);
                SchemeName::WORDS[place.expect("every other scheme is built in")]
            }
        }
    }

    /// The chosen scheme, if it plans: the device's own page map does not, nor does a device
    /// without translation.
    pub(crate) fn planner(&self) -> Option<Box<dyn BoxedScheme>> {
        match self.ftl.scheme {
            SchemeName::Own(number) => Some(self.own.scheme(number)),
            name => self.schemes.policy(name).boxed(),
        }
    }

    /// What manages a plane of this shape; none of a page map.
    pub(crate) fn layer(&self, shape: &Shape) -> Option<AnyLayer> {
        match self.ftl.scheme {
            SchemeName::Own(number) => {
                Some(AnyLayer::Own(self.own.scheme(number).boxed_layer(shape)))
            }
            name => self.schemes.policy(name).layer(shape),
        }
    }

    /// Whether the pages of the device are chosen by a scheme that plans, not by its page map.
    pub fn plans(&self) -> bool {
        self.planner().is_some()
    }

    /// Planes that an open block stretches over.
    pub(crate) const fn joined_planes(&self) -> u64 {
        match self.ftl.frontier {
            WriteFrontier::Plane => 1,
            WriteFrontier::Die => self.geometry.planes,
        }
    }

    /// Whether the blocks of one number of so many planes are opened and collected together.
    pub(crate) fn unites_blocks(&self, planes: u32) -> bool {
        self.placement.unit == ReclaimUnit::Superblock && planes > 1
    }

    /// Whether pages are mapped one by one, and blocks collected.
    pub fn is_page_map(&self) -> bool {
        self.ftl.scheme == SchemeName::Page
    }

    /// Whether host addresses are physical.
    pub fn is_raw(&self) -> bool {
        self.ftl.scheme == SchemeName::None
    }

    /// Blocks of each plane that layers leave to the journal.
    pub(crate) fn layer_journal_blocks(&self) -> u32 {
        if self.plans() { self.power.layer_journal_blocks() } else { 0 }
    }

    /// Whether the device has zones.
    pub fn is_zoned(&self) -> bool {
        self.ftl.scheme == SchemeName::Zns
    }

    /// Whether one translation layer works over all planes.
    pub(crate) fn spans_planes(&self) -> bool {
        self.plans() && self.ftl.log_span == LogSpan::Superblock
    }
}
