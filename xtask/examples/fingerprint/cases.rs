//! The cases: presets under built-in workloads, every key, and random devices.

use crate::generators::{devices, hosts, keys};
use crate::simulate::{Found, Plan};
use devices::Family;
use flashyard_core::key::Kind;
use flashyard_run::presets::DEVICES;
use flashyard_sim::config::{DeviceKeys, ListedKey, Sections, Settings, read_toml};
use flashyard_sim::device::PhaseKeys;
use flashyard_sim::own::OwnParts;
use flashyard_sim::stream::{Pacing, Stream, StreamKeys};
use flashyard_workload::generator::{BUILT_IN, BuiltIn};
use flashyard_workload::mix::{BUILT_IN_MIXES, BuiltInMix};
use flashyard_workload::pattern::{BUILT_IN_PATTERNS, BuiltInPattern};
use flashyard_workload::random::stream_seed;
use flashyard_workload::{Generator, Mix, Pattern, RequestSource};
use std::fmt;
use std::ops::Range;

/// Requests of a built-in workload that a preset is given.
const REQUESTS: u64 = 1_000;

/// The seed of the command where none is given.
const SEED: u64 = 1;

/// Random devices: what their names begin with, and their seeds, which are those of the tests.
const RANDOM: [(&str, Family, Range<u64>); 13] = [
    ("any", Family::Any, 0..300),
    ("worn", Family::Worn, 1_000..1_100),
    ("log-blocks", Family::LogBlocks, 2_000..2_300),
    ("cached-map", Family::Cached, 3_000..3_150),
    ("bus", Family::Bus, 4_000..4_060),
    ("firmware", Family::Firmware, 5_000..5_060),
    ("background", Family::Background, 5_000..5_080),
    ("disk", Family::Disk, 5_000..5_060),
    ("joined", Family::Joined, 7_000..7_060),
    ("packed", Family::Packed, 10_000..10_060),
    ("powered", Family::Powered, 5_000..5_120),
    ("families", Family::Families, 6_000..6_040),
    ("superblocks", Family::Superblocks, 7_000..7_100),
];

/// Seeds of random devices with every host policy, buffer and link, and of those with log blocks
/// behind a write buffer.
const HOSTS: Range<u64> = 0..200;
const LOG_HOSTS: Range<u64> = 6_000..6_100;

/// A device and what it is asked.
#[derive(Clone, Debug)]
pub(crate) enum Case {
    /// A preset, its text, and a built-in workload.
    Preset(&'static str, &'static str, &'static str),
    /// A key's `with`, and the key at another value.
    Key(&'static [&'static str], String),
    /// A random device: what its name begins with.
    Random(&'static str, Family, u64),
    /// A random device with a host.
    Host(u64),
    /// The same with log blocks behind a write buffer.
    LogHost(u64),
}

/// Every case, in the order of the table.
pub(crate) fn all() -> Vec<Case> {
    let presets = DEVICES
        .iter()
        .flat_map(|(name, text)| workloads().map(|workload| Case::Preset(name, text, workload)))
        // The requests of the others do not fit the 192 KiB of the toy.
        .filter(|case| !matches!(case, Case::Preset("toy", _, workload) if !is_pattern(workload)));
    let random = RANDOM
        .into_iter()
        .flat_map(|(name, family, seeds)| seeds.map(move |seed| Case::Random(name, family, seed)));
    let hosts = HOSTS.map(Case::Host).chain(LOG_HOSTS.map(Case::LogHost));
    presets.chain(key_cases()).chain(random).chain(hosts).collect()
}

/// Whether a workload is a built-in device benchmark.
fn is_pattern(workload: &str) -> bool {
    BuiltInPattern::from_name(workload).is_some()
}

/// The names of all built-in workloads.
fn workloads() -> impl Iterator<Item = &'static str> {
    let patterns = BUILT_IN_PATTERNS.iter().map(|built_in| built_in.name);
    let mixes = BUILT_IN_MIXES.iter().map(|built_in| built_in.name);
    BUILT_IN.iter().map(|built_in| built_in.name).chain(patterns).chain(mixes)
}

/// Every key at the value that changes some result, and every word of those that have words.
fn key_cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for (section, keys, _) in DeviceKeys::default().sections() {
        for key in keys {
            let values = values(&section, &key).into_iter();
            let case = |value| Case::Key(key.with, format!("{section}.{}={value}", key.name));
            cases.extend(values.map(case));
        }
    }
    cases
}

/// The values of a key's cases. To fill and age the default device takes seconds; random devices
/// are smaller, and have every initial state.
fn values<'a>(section: &str, key: &ListedKey<'a>) -> Vec<&'a str> {
    match key.kind {
        Kind::Choice(words) if section != "state" => words.iter().collect(),
        _ => vec![key.flip],
    }
}

impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Preset(device, _, workload) => write!(f, "{device}/{workload}"),
            Self::Key(_, setting) => f.write_str(setting),
            Self::Random(name, _, seed) => write!(f, "{name}-{seed}"),
            Self::Host(seed) => write!(f, "host-{seed}"),
            Self::LogHost(seed) => write!(f, "log-host-{seed}"),
        }
    }
}

impl Case {
    /// Runs the case; none where there can be no such device.
    pub(crate) fn run(&self, parts: &OwnParts) -> Option<Found> {
        Some(match self {
            Self::Preset(_, text, workload) => run_preset(text, workload),
            Self::Key(with, setting) => return run_key(with, setting),
            Self::Random(_, family, seed) => {
                let (settings, requests) = devices::case(*family, *seed);
                let streams = || keys::streams(&[], &requests);
                plan(&settings, *seed, streams).run()
            }
            Self::Host(seed) | Self::LogHost(seed) => {
                let case =
                    if matches!(self, Self::Host(_)) { hosts::case } else { hosts::log_case };
                let (settings, workload) = case(parts, *seed);
                let plan = plan(&settings, *seed, || workload.streams());
                Plan { units: &workload.units, ..plan }.run()
            }
        })
    }
}

/// A random device; every fourth one is saved, restored and asked again.
fn plan<F>(settings: &Settings, seed: u64, streams: F) -> Plan<'_, F> {
    let again = seed.is_multiple_of(4);
    Plan { settings, units: &[], phase: PhaseKeys::default(), again, streams }
}

/// None where the settings of the key and those of its `with` do not go together.
fn run_key(with: &'static [&'static str], setting: &str) -> Option<Found> {
    let Ok(settings) = keys::settings(with, Some(setting)) else { return None };
    let requests = keys::requests(keys::is_full(with));
    let streams = || keys::streams(with, &requests);
    Some(plan(&settings, 1, streams).run())
}

fn run_preset(text: &str, workload: &'static str) -> Found {
    let mut keys = DeviceKeys::default();
    let mut problems = Vec::new();
    let base_of = |text: &str| {
        let named = |name: &str| text.contains(&format!("\nbase = \"{name}\"\n"));
        DEVICES.iter().find(|(name, _)| named(name)).map(|(_, base)| *base)
    };
    let mut texts: Vec<&str> = std::iter::successors(Some(text), |text| base_of(text)).collect();
    texts.reverse();
    for text in texts {
        read_toml("preset", text, &mut keys, &["base", "held"], &mut problems);
    }
    assert!(problems.is_empty(), "{problems:?}");
    let settings = Settings::new(keys).unwrap_or_else(|error| panic!("{error}"));
    let capacity = settings.capacity_sectors();
    let streams = || {
        let (mut requests, keys) = open(workload, capacity);
        let source = Box::new(move || requests.next_request());
        vec![Stream { name: "host".to_string(), keys, source }]
    };
    let phase = PhaseKeys { requests: REQUESTS, ..PhaseKeys::default() };
    Plan { settings: &settings, units: &[], phase, again: false, streams }.run()
}

/// A built-in workload as the command opens it.
fn open(name: &str, capacity: u64) -> (Box<dyn RequestSource>, StreamKeys) {
    let (seed, capacity) = (stream_seed(SEED, 0), Some(capacity));
    let fits = "a built-in workload fits every preset";
    let open = StreamKeys::default();
    if let Some(built_in) = BuiltIn::from_name(name) {
        return (Box::new(Generator::new(&built_in.keys, seed, capacity).expect(fits)), open);
    }
    if let Some(built_in) = BuiltInMix::from_name(name) {
        return (Box::new(Mix::new(&built_in.keys, seed, capacity).expect(fits)), open);
    }
    let built_in = BuiltInPattern::from_name(name).expect("there are three lists");
    let closed = StreamKeys { pacing: Pacing::Closed, depth: built_in.depth, ..open };
    (Box::new(Pattern::new(&built_in.keys, seed, capacity).expect(fits)), closed)
}
