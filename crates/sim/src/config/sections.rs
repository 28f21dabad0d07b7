//! The sections of a device file and their keys.

use super::buffer::BufferKeys;
use super::bus::BusKeys;
use super::disk::{DeviceChoice, DiskKeys};
use super::energy::EnergyKeys;
use super::family::Given;
use super::file::show_value;
use super::firmware::FirmwareKeys;
use super::ftl::{FtlKeys, StateKeys};
use super::gc::{GcKeys, WearKeys};
use super::interface::InterfaceKeys;
use super::listed::{KeyList, Section};
use super::map::MapKeys;
use super::memory::MemoryKeys;
use super::metrics::MetricsKeys;
use super::nand::{ChannelKeys, GeometryKeys, NandKeys};
use super::placement::PlacementKeys;
use super::power::PowerKeys;
use super::retry::RetryKeys;
use super::slc::SlcKeys;
use super::sleep::SleepKeys;
use crate::own::{OwnKeys, OwnParts};
use crate::parts::log::SchemeKeys;
use crate::parts::victim::VictimKeys;
use flashyard_core::bus::policy::BusPolicyKeys;
use flashyard_core::host::{HostPolicyKeys, HostPolicyName};
use flashyard_core::key::{Kind, Value};
use flashyard_core::policy::{FotKeys, PolicyKeys, PolicyName};
use flashyard_core::{choice, keys};

choice! {
    /// What a slot limit counts.
    pub enum SlotsScope {
        /// The limit counts all command sets of the device.
        Device = "device",
        /// The limit counts the sets of each data die separately. The oldest set without a slot
        /// still goes first.
        Die = "die",
    }
}

choice! {
    /// How a request enters the device.
    pub enum Admission {
        /// It is translated as a whole, and its sets take slots one by one.
        Request = "request",
        /// Each page is translated when it has a slot.
        Page = "page",
        /// It is translated as a whole when all its sets can have slots.
        Atomic = "atomic",
    }
}

choice! {
    /// Whether accesses of the same LPN are ordered.
    pub enum DataOrder {
        /// No. A read then returns a version that was valid while the read was under way.
        None = "none",
        /// Yes. An access waits for the earlier unfinished write of its LPN.
        Lpn = "lpn",
    }
}

keys! {
    /// Keys of `[queue]`: the flash command queue.
    pub struct QueueKeys {
        /// Largest number of command sets that hold a slot. A set holds its slot from admission to
        /// completion.
        depth: u64 = 256 => {
            kind: Kind::count("slots", 1, 1_000_000),
            source: "Lee et al., IEEE Access 2021: 256",
            flip: "2", with: &[],
        },
        /// Whether `depth` limits the sets of the whole device or of each die.
        slots_scope: SlotsScope = SlotsScope::Device => {
            kind: Kind::Choice(SlotsScope::WORDS),
            source: "the published device has one die, where both agree",
            flip: "die", with: &["queue.depth=2", "geometry.channels=2"],
        },
        /// How a request gets its slots. With "request" it is translated as a whole and its sets
        /// take slots one by one; with "page" each page is translated when it has a slot; with
        /// "atomic" the request is translated when all its sets can have slots.
        admission: Admission = Admission::Request => {
            kind: Kind::Choice(Admission::WORDS),
            source: "Lee et al., IEEE Access 2021, is silent; FOT must be known when a request enters",
            flip: "page", with: &["policy.command=fot", "queue.depth=4"],
        },
        /// Whether a set that waits for another request's map commands holds its slot.
        delayed_sets_hold_slot: bool = true => {
            kind: Kind::Bool,
            source: "Lee et al., IEEE Access 2021, is silent",
            flip: "false", with: &["queue.depth=4"],
        },
        /// Whether accesses of the same LPN wait for each other.
        data_order: DataOrder = DataOrder::None => {
            kind: Kind::Choice(DataOrder::WORDS),
            source: "Lee et al., IEEE Access 2021, is silent",
            flip: "lpn", with: &[],
        },
        /// Largest number of page accesses of a stream that wait for a die, not counting what the
        /// die works on. A request that would exceed it stays in the submission queue of its
        /// stream, and all later requests of the stream behind it. Other streams do not wait for
        /// it: each stream has its own number at each die. A request that is larger than this waits
        /// until none of its stream waits for its dies. Pages to trim count only where a trim
        /// erases blocks. 0: no limit.
        die_depth: u64 = 0 => {
            kind: Kind::count("accesses", 0, 1_000_000),
            source: "assumed: no limit; the framework of Kim, Lee and Min has blocking queues for each chip",
            flip: "2", with: &[],
        },
        /// Whether streams share the queue of a die: `die_depth` is then the number of all of them,
        /// and a stream that fills it keeps the others waiting.
        die_shared: bool = false => {
            kind: Kind::Bool,
            source: "assumed: a queue for each stream; the case study of Kim, Lee and Min needs one for all beside it",
            flip: "true", with: &["queue.die_depth=1", "@streams"],
        },
    }
}

keys! {
    /// Keys of `[policy]`: the command policy. Each policy's own keys are in `[policy.NAME]`.
    pub struct PolicyChoice {
        /// Which waiting command a die takes next.
        command: PolicyName = PolicyName::Drs => {
            kind: Kind::Choice(PolicyName::WORDS),
            source: "Lee et al., IEEE Access 2021: the proposed scheduler",
            flip: "fifo", with: &[],
        },
    }
}

keys! {
    /// Keys of `[host]`: the host policy. Each policy's own keys are in `[host.NAME]`.
    pub struct HostChoice {
        /// Which queued request the device starts next.
        policy: HostPolicyName = HostPolicyName::Fifo => {
            kind: Kind::Choice(HostPolicyName::WORDS),
            source: "Lee et al., IEEE Access 2021: a FIFO of requests",
            flip: "idle",
            with: &["geometry.channels=2", "geometry.ways=2", "queue.depth=2"],
        },
        /// Largest number of requests that are started and not answered. 0: no limit.
        dispatch_width: u64 = 0 => {
            kind: Kind::count("requests", 0, 1_000_000),
            source: "assumed: the flash command queue is the limit",
            flip: "1", with: &["geometry.channels=2", "geometry.ways=2"],
        },
        /// For policies that may leave the order: whether a picked request that conflicts with one
        /// under way waits for that one, and all other requests with it. Otherwise it starts, and
        /// its commands are ordered page by page, as under `fifo`. Both cases are counted.
        hold_conflicts: bool = true => {
            kind: Kind::Bool,
            source: "assumed: no policy may rely on what is behind it; Bang et al.: false",
            flip: "false",
            with: &["host.policy=idle", "geometry.channels=2", "geometry.ways=2", "queue.depth=2"],
        },
        /// Time that the dispatcher takes for a request before the request begins. It handles one
        /// request at a time.
        dispatch_ns: u64 = 0 => {
            kind: Kind::count("ns", 0, 1_000_000_000),
            source: "assumed: no firmware",
            flip: "100000", with: &[],
        },
    }
}

impl DeviceKeys {
    /// Every key at its default; names and keys of these parts are known too.
    pub fn with_own(parts: OwnParts) -> Self {
        Self { own: OwnKeys::new(parts), ..Self::default() }
    }

    /// Every key at its default, those of the same own parts too.
    #[must_use]
    pub fn defaults(&self) -> Self {
        Self::with_own(self.own.parts().clone())
    }
}

/// A set of sections that a file or a command line can assign keys of.
pub trait Sections {
    /// Every section.
    fn sections(&self) -> Vec<Section<'_>>;
    /// Stores a checked value; returns whether there is such a section and key.
    fn set(&mut self, section: &str, key: &str, value: Value) -> bool;
    /// The value of a key.
    fn get(&self, section: &str, key: &str) -> Option<Value>;

    /// The value of a key as a file would have it, words without quotes.
    fn shown(&self, section: &str, key: &str) -> Option<String> {
        let (_, keys, _) = self.sections().into_iter().find(|(known, ..)| known == section)?;
        Some(show_value(&keys.find(key)?.kind, self.get(section, key)?))
    }
}

/// The sections of a device file by their names and, behind them, the families of parts, each of
/// which has a section `FAMILY.NAME`.
macro_rules! device_keys {
    (
        $($(#[doc = $doc:literal])+ $field:ident: $type:ty,)+
        ..
        $($(#[doc = $about:literal])+ $parts:ident: $keys:ident in $family:literal,)+
    ) => {
        /// Every key of a device file, as written; [`super::Settings`] is what the engine trusts.
        #[derive(Clone, Debug, PartialEq, Eq, Default)]
        pub struct DeviceKeys {
            $($(#[doc = $doc])+ pub $field: $type,)+
            $($(#[doc = $about])+ pub $parts: $keys,)+
            /// The user's own parts and their keys.
            pub own: OwnKeys,
            /// The keys of families of firmware that were given a value.
            pub(super) given: Given,
        }

        impl Sections for DeviceKeys {
            fn sections(&self) -> Vec<Section<'_>> {
                let mut all = vec![$((
                    stringify!($field).into(),
                    KeyList::new(<$type>::KEYS),
                    concat!($($doc),+),
                ),)+];
                $(all.extend($keys::PARTS.iter().map(|(name, keys, doc)| {
                    (format!("{}.{name}", $family).into(), KeyList::new(keys), *doc)
                }));)+
                self.own.add_to(&mut all);
                all
            }

            fn set(&mut self, section: &str, key: &str, value: Value) -> bool {
                self.given.note(section, key);
                let built_in = match section.split_once('.') {
                    $(Some(($family, name)) => self.$parts.set(name, key, value),)+
                    _ => match section {
                        $(stringify!($field) => self.$field.set(key, value),)+
                        _ => false,
                    },
                };
                built_in || self.own.set(section, key, value)
            }

            fn get(&self, section: &str, key: &str) -> Option<Value> {
                let built_in = match section.split_once('.') {
                    $(Some(($family, name)) => self.$parts.get(name, key),)+
                    _ => match section {
                        $(stringify!($field) => self.$field.get(key),)+
                        _ => None,
                    },
                };
                built_in.or_else(|| self.own.get(section, key))
            }
        }
    };
}

device_keys! {
    /// What kind of device it is.
    device: DeviceChoice,
    /// The shape of the flash array.
    geometry: GeometryKeys,
    /// Array times.
    nand: NandKeys,
    /// Pages that are sensed again because they cannot be decoded.
    retry: RetryKeys,
    /// The bus that dies share.
    channel: ChannelKeys,
    /// Bus requests, and what the controller knows of its dies.
    bus: BusKeys,
    /// Power of each state.
    energy: EnergyKeys,
    /// Sleep of a device that is idle.
    sleep: SleepKeys,
    /// The deeper level of sleep.
    deep_sleep: SleepKeys,
    /// Mapping entries and their cache.
    map: MapKeys,
    /// The flash command queue.
    queue: QueueKeys,
    /// How flash operation times are counted.
    fot: FotKeys,
    /// The command policy.
    policy: PolicyChoice,
    /// The host policy.
    host: HostChoice,
    /// A disk, in place of flash.
    disk: DiskKeys,
    /// Submission queues and the link to the host.
    interface: InterfaceKeys,
    /// The cores that serve requests before the device works on them.
    firmware: FirmwareKeys,
    /// The write buffer, in DRAM or PRAM.
    buffer: BufferKeys,
    /// The translation layer.
    ftl: FtlKeys,
    /// Which data share blocks.
    placement: PlacementKeys,
    /// Blocks that are used with one bit a cell, as a cache of writes.
    slc: SlcKeys,
    /// What outlives a loss of power, and how it is found again.
    power: PowerKeys,
    /// Garbage collection.
    gc: GcKeys,
    /// Wear levelling.
    wear: WearKeys,
    /// What the device holds when the run starts.
    state: StateKeys,
    /// How tables are laid out in memory.
    memory: MemoryKeys,
    /// What is recorded.
    metrics: MetricsKeys,
    ..
    /// The keys of every command policy.
    policies: PolicyKeys in "policy",
    /// The keys of every host policy.
    host_policies: HostPolicyKeys in "host",
    /// The keys of every bus policy.
    bus_policies: BusPolicyKeys in "channel",
    /// The keys of every rule for victims.
    victims: VictimKeys in "gc",
    /// The keys of every mapping scheme.
    schemes: SchemeKeys in "ftl",
}
