//! Every key does something: a key that changes no result is a promise that the simulator breaks.

use crate::common::Random;
use flashyard_core::key::{Key, Kind};
use flashyard_core::request::{Flags, Request, RequestOp};
use flashyard_core::units::Time;
use flashyard_sim::config::{
    DeviceKeys, Sections, Settings, apply_setting, parse_value, show_value,
};
use flashyard_sim::device::{Device, PhaseKeys};
use flashyard_sim::report::Report;
use flashyard_sim::stream::{Pacing, Stream, StreamKeys};
use std::collections::{BTreeMap, BTreeSet};
use std::convert::Infallible;

/// What `@full` in the `with` of a key stands for: a device so small and so full that the workload
/// makes it collect garbage, with room to flip any key of `[gc]`, `[ftl]` and `[geometry]`.
const FULL: &[&str] = &[
    "state.initial=full",
    "geometry.blocks_per_plane=64",
    "geometry.pages_per_block=8",
    "ftl.over_provisioning_percent=100",
    "map.cache_bytes=256",
    "map.entries_per_page=64",
];

/// What `@log` stands for: the same for a scheme with log blocks.
const LOG: &[&str] = &[
    "state.initial=full",
    "geometry.blocks_per_plane=64",
    "geometry.pages_per_block=8",
    "ftl.over_provisioning_percent=30",
    "map.store=resident",
    "nand.program_order=any",
    "ftl.scheme=fast",
];

/// Pages that the requests to a full device touch: fewer than any flip leaves.
const FULL_PAGES: u64 = 200;

/// Pages that the requests to a fresh device touch: 64 map pages of the default device.
const FRESH_PAGES: u64 = 65_536;

fn is_full(with: &[&str]) -> bool {
    with.contains(&"@full") || with.contains(&"@log")
}

/// What `@streams` in the `with` of a key stands for: the requests come as two streams by turns, as
/// fast as the device takes them, one of four times the weight of the other.
fn has_streams(with: &[&str]) -> bool {
    with.contains(&"@streams")
}

/// Settings from a key's `with` and, for the flipped run, one assignment more.
fn settings(with: &[&str], flip: Option<&str>) -> Result<Settings, String> {
    let full = match () {
        () if with.contains(&"@log") => LOG,
        () if is_full(with) => FULL,
        () => &[],
    };
    let named = with.iter().filter(|setting| !setting.starts_with('@'));
    let mut keys = DeviceKeys::default();
    let mut problems = Vec::new();
    for setting in full.iter().chain(named).copied().chain(flip) {
        apply_setting("--set", setting, &mut keys, &mut problems);
    }
    match problems.as_slice() {
        [] => Settings::new(keys).map_err(|error| error.to_string()),
        _ => Err(format!("{problems:?}")),
    }
}

/// Bursts of all operations on a hot, a warm and a cold range, in sectors so that every device
/// gets the same ones. Some bursts fill 256 slots, some pauses let every queue run empty.
fn requests(full: bool) -> Vec<Request> {
    let mut random = Random(7);
    let pages = if full { FULL_PAGES } else { FRESH_PAGES };
    let mut requests = Vec::new();
    let mut now_us = 0;
    for burst in 0..60 {
        now_us += random.pick(&[3, 2_000, 300_000]);
        let count = if burst % 20 == 10 { 400 } else { 1 + random.below(60) };
        for _ in 0..count {
            now_us += random.pick(&[0, 0, 0, 7, 150]);
            let op = match random.below(40) {
                0 => RequestOp::Trim,
                1 => RequestOp::Flush,
                2..20 => RequestOp::Write,
                _ => RequestOp::Read,
            };
            let reach = random.pick(&[48, 48, 4_096, pages]).min(pages);
            let longest = random.pick(&[1, 1, 4, 16]);
            let length = 1 + random.below(longest);
            // Some writes end in the middle of a page.
            let cut = u64::from(op == RequestOp::Write && length == 3);
            requests.push(Request {
                arrival: Time::from_us(now_us),
                first_sector: random.below(reach).min(pages - length) * 8,
                sectors: u32::try_from(length * 8 - cut).expect("a short request"),
                stream: u16::from(reach == 48),
                op,
                flags: Flags::NONE,
            });
        }
    }
    requests
}

fn run_streams(settings: &Settings, requests: &[Request]) -> Report {
    let stream = |first: usize, weight: u64| {
        let keys = StreamKeys { pacing: Pacing::Fast, weight, ..StreamKeys::default() };
        let mut requests = requests.iter().copied().skip(first).step_by(2);
        let source = Box::new(move || Ok::<_, Infallible>(requests.next()));
        Stream { name: format!("{weight}"), keys, source }
    };
    let mut device = Device::new(settings);
    let streams = vec![stream(0, 1), stream(1, 4)];
    device.run_phase(&PhaseKeys::default(), streams).expect("the workload fits the device");
    device.finish().expect("the energy fits")
}

fn run(settings: &Settings, requests: &[Request]) -> Report {
    let mut requests = requests.iter().copied();
    let report = Device::new(settings).run(|| Ok::<_, Infallible>(requests.next()));
    report.expect("the workload fits the device")
}

/// The results of a run as text, without what only repeats settings.
fn results(with: &[&str], settings: &Settings, requests: &[Request]) -> String {
    let run = if has_streams(with) { run_streams } else { run };
    let mut report = run(settings, requests);
    report.verdict.initial_state = "";
    report.verdict.initial_write_amplification = None;
    report.verdict.initial_error = None;
    report.verdict.unmapped_read_cost = "";
    format!("{report:?}")
}

/// Runs the workload with a key's `with`, then with the key flipped too; says what is wrong.
fn witness(
    path: &str,
    key: &Key,
    bases: &mut BTreeMap<&'static [&'static str], String>,
) -> Result<(), String> {
    let requests = requests(is_full(key.with));
    let base = settings(key.with, None).map_err(|why| format!("{path}: with: {why}"))?;
    let flip = format!("{path}={}", key.flip);
    let flipped = settings(key.with, Some(&flip)).map_err(|why| format!("{flip}: {why}"))?;
    let before = bases.entry(key.with).or_insert_with(|| results(key.with, &base, &requests));
    if *before == results(key.with, &flipped, &requests) {
        return Err(format!("{flip} changes no result with {:?}", key.with));
    }
    Ok(())
}

/// A key without effect misleads whoever sets it; its witness is named beside it.
#[test]
fn flipping_any_key_changes_a_result() {
    let mut bases = BTreeMap::new();
    let mut wrong = Vec::new();
    let mut count = 0;
    for (section, keys, _) in DeviceKeys::default().sections() {
        for key in keys {
            count += 1;
            let path = format!("{section}.{}", key.name);
            wrong.extend(witness(&path, key, &mut bases).err());
        }
    }
    assert!(wrong.is_empty(), "{} of {count} keys:\n{}", wrong.len(), wrong.join("\n"));
    assert!(count > 40, "the sections list {count} keys");
}

/// The witnesses of garbage collection are worth something only if it runs, copies data and moves
/// map pages.
#[test]
fn the_full_device_collects_garbage() {
    let report = run(&settings(&["@full"], None).unwrap(), &requests(true));
    assert!(report.gc.jobs > 100, "{:?}", report.gc);
    assert!(report.gc.valid_pages_copied > 100, "{:?}", report.gc);
    assert!(report.flash.array_ops["programs"]["map_gc"] > 0, "{:?}", report.flash);
}

/// Help, the reference and the key test above trust the tables: names, texts and flips must hold.
#[test]
fn key_tables_are_well_formed() {
    let keys = DeviceKeys::default();
    let mut sections = BTreeSet::new();
    for (section, table, about) in keys.sections() {
        assert!(!about.trim().is_empty(), "[{section}] has no description");
        let mut names = BTreeSet::new();
        for key in table {
            assert!(names.insert(key.name), "{section}.{} is declared twice", key.name);
            check_key(&keys, &section, key);
        }
        assert!(sections.insert(section.clone()), "[{section}] is listed twice");
    }
}

#[track_caller]
fn check_key(keys: &DeviceKeys, section: &str, key: &Key) {
    let path = format!("{section}.{}", key.name);
    assert!(is_snake_case(key.name), "{path} is not in snake_case");
    assert!(!key.doc.trim().is_empty(), "{path} has no description");
    assert!(!key.source.trim().is_empty(), "{path} has no source");
    if let Kind::Number { min, max, .. } = key.kind {
        assert!(min <= max, "{path} accepts nothing");
    }
    let default = keys.get(section, key.name).unwrap_or_else(|| panic!("{path} has no value"));
    let shown = show_value(&key.kind, default);
    assert_eq!(parse_value(&key.kind, &shown), Ok(default), "{path}: the default {shown}");
    let flip = parse_value(&key.kind, key.flip).unwrap_or_else(|why| panic!("{path}: {why}"));
    assert_ne!(flip, default, "{path}: the flip is the default");
    let mut set = *keys;
    assert!(set.set(section, key.name, flip), "{path} cannot be set");
    assert_eq!(set.get(section, key.name), Some(flip), "{path} does not keep its value");
}

fn is_snake_case(name: &str) -> bool {
    let word = |word: &str| {
        !word.is_empty() && word.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit())
    };
    name.starts_with(|c: char| c.is_ascii_lowercase()) && name.split('_').all(word)
}
