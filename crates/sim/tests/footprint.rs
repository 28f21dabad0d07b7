//! What a device is said to take is what it takes: bytes of the allocator, for devices of every
//! kind, and memory that the system counts, where a device is written and where it is fresh.

#[path = "sim/common/mod.rs"]
mod common;

use common::{Random, try_settings};
use flashyard_sim::config::Settings;
use flashyard_sim::device::Device;
use flashyard_sim::metrics::histogram::Histogram;
use flashyard_sim::metrics::parts::Parts;
use flashyard_sim::parts::log::PLANNING;
use flashyard_sim::parts::victim::VictimName;
use stats_alloc::{INSTRUMENTED_SYSTEM, StatsAlloc};
use std::alloc::System;
use std::process::Command;

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

/// Bytes that are allocated now; this file has a single test, so nothing runs beside it.
fn allocated() -> usize {
    let stats = ALLOCATOR.stats();
    stats.bytes_allocated - stats.bytes_deallocated
}

/// Bytes of small lists.
const FIXED: f64 = 50_000.0;

/// The largest error of what is said, by as much as a part.
const FACTOR: f64 = 1.15;

/// What the system counts besides: pages of the allocator.
const NOISE: f64 = 3_000_000.0;

/// Sets each of these keys to one of its values.
const CHOICES: &[(&str, &[&str])] = &[
    ("geometry.channels", &["1", "2", "8", "16"]),
    ("geometry.ways", &["1", "4"]),
    ("geometry.planes", &["1", "2", "4"]),
    ("geometry.blocks_per_plane", &["128", "500", "2000"]),
    ("geometry.pages_per_block", &["64", "384", "1536"]),
    ("geometry.page_bytes", &["4096", "16384"]),
    ("ftl.mapping_unit_bytes", &["0", "4096"]),
    ("ftl.over_provisioning_percent", &["7", "28", "60"]),
    ("ftl.partial_write", &["bitmap", "read_modify_write"]),
    ("placement.handles", &["1", "4"]),
    ("map.store", &["resident", "line_cache", "cmt"]),
    ("map.cache_bytes", &["16384", "4194304"]),
    ("gc.policy", VictimName::WORDS),
    ("gc.soft_free_blocks", &["8"]),
    ("gc.hard_free_blocks", &["4"]),
    ("gc.reserve_blocks", &["4"]),
    ("wear.dynamic", &["false", "true"]),
    ("wear.static_gap", &["0", "5"]),
    ("buffer.bytes", &["0", "0", "67108864"]),
    ("buffer.eviction", &["watermark", "ahead"]),
    ("power.oob_scan", &["false", "false", "true"]),
    ("power.journal_entries", &["0", "64"]),
    ("state.initial", &["fresh", "fresh", "full"]),
];

fn random_device(random: &mut Random, scheme: &str) -> Option<Settings> {
    let mut keys: Vec<String> =
        CHOICES.iter().map(|(key, values)| format!("{key}={}", random.pick(values))).collect();
    if scheme != "page" {
        let plain =
            ["map.store=resident", "gc.policy=greedy", "buffer.bytes=0", "placement.handles=1"];
        keys.extend(plain.map(String::from));
        let plain = ["ftl.mapping_unit_bytes=0", "wear.dynamic=false", "wear.static_gap=0"];
        keys.extend(plain.map(String::from));
        let order = random.pick(&["any", "ascending"]);
        keys.extend([format!("ftl.scheme={scheme}"), format!("nand.program_order={order}")]);
        let plain = ["ftl.partial_write=read_modify_write", "power.journal_entries=0"];
        keys.extend(plain.map(String::from));
        keys.push("power.oob_scan=false".to_string());
    }
    let settings = try_settings(&keys).ok()?;
    // Small enough to be made in no time.
    (settings.geometry.units() < 1_500_000).then_some(settings)
}

/// Makes the device and compares.
#[track_caller]
fn check(settings: &Settings, checked: bool) {
    let before = allocated();
    let mut device = Device::new(settings);
    if checked {
        device.check();
    }
    // As the first answer of each class makes them.
    let mut latencies = [true; 4].map(Histogram::new);
    for latency in &mut latencies {
        latency.record(1, &Parts::default());
    }
    let taken = (allocated() - before) as f64;
    let mut said = settings.footprint(checked);
    // Gone by now.
    said.parts.retain(|part| part.what != "making of the initial state");
    let bytes = said.bytes() as f64;
    assert!(taken <= bytes * FACTOR + FIXED, "{taken} of {bytes}: {said:?}");
    // Nothing has touched most of these.
    said.parts.retain(|part| part.what != "units that are checked");
    let bytes = said.bytes() as f64;
    assert!(bytes <= taken * FACTOR + FIXED, "{taken} of {bytes}: {said:?}");
}

/// The most memory of the process that was in use, in bytes.
fn peak() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap_or("0 kB");
    let number: f64 = line.trim().trim_end_matches(" kB").parse().unwrap();
    number * 1_024.0
}

/// Initial states of page maps.
const STATES: &[&str] = &["fresh", "aged", "steady"];

/// Tells this program, run by itself, which state to make: memory that was freed is in use for the
/// system, so that only a new process can be measured.
const STATE: &str = "FOOTPRINT_STATE";

/// The peak of making a device is what is said, and of a fresh one next to nothing.
fn check_peak(state: &str) {
    let keys = [
        "geometry.channels=8",
        "geometry.blocks_per_plane=4000",
        "map.store=resident",
        &format!("state.initial={state}"),
    ];
    let settings = try_settings(&keys).unwrap();
    let said = settings.footprint(false);
    assert!(said.bytes() > 30_000_000, "{said:?}");
    let before = peak();
    let device = Device::new(&settings);
    let taken = peak() - before;
    drop(device);
    let at_start = said.bytes_at_start() as f64;
    assert!(taken <= at_start * FACTOR + NOISE, "{state}: {taken} of {at_start}");
    assert!(at_start <= taken * FACTOR + NOISE, "{state}: {taken} of {at_start}");
}

#[test]
fn devices_take_what_is_said() {
    if let Ok(state) = std::env::var(STATE) {
        return check_peak(&state);
    }
    let mut random = Random(5);
    let schemes = [&["page", "page"], PLANNING].concat();
    let mut counts = vec![0; schemes.len()];
    for round in 0..20 * schemes.len() {
        let kind = round % schemes.len();
        if let Some(settings) = random_device(&mut random, schemes[kind]) {
            check(&settings, round % 5 == 0);
            counts[kind] += 1;
        }
    }
    assert!(counts.iter().all(|&count| count > 3), "{counts:?}");
    for state in if cfg!(target_os = "linux") { STATES } else { &[] } {
        let run = Command::new(std::env::current_exe().unwrap()).env(STATE, state).output();
        let run = run.expect("this program runs");
        assert!(run.status.success(), "{state}: {}", String::from_utf8_lossy(&run.stdout));
    }
}
