//! Every key does something: a key that changes no result is a promise that the simulator breaks.

use crate::generators::keys::{is_full, requests, settings, streams};
use flashyard_core::key::Kind;
use flashyard_core::request::{Request, RequestOp};
use flashyard_core::units::Span;
use flashyard_sim::config::{DeviceKeys, ListedKey, Sections, Settings, parse_value, show_value};
use flashyard_sim::device::PhaseKeys;
use flashyard_sim::drive::Drive;
use flashyard_sim::report::Report;
use flashyard_sim::session::{Session, Stop};
use std::collections::{BTreeMap, BTreeSet};

/// What losses of power during some writes do, and the report of what follows the last one.
fn run_cut(settings: &Settings, requests: &[Request]) -> String {
    let mut session = Session::new(Drive::new(settings));
    let half = &requests[..requests.len() / 2];
    for request in half {
        session.submit(request).expect("it fits the device");
    }
    let mut told = String::new();
    for write in half.iter().filter(|one| one.op == RequestOp::Write).step_by(30) {
        session.advance(write.arrival + Span::from_us(300), Stop::At).expect("it runs");
        told += &match session.fork().cut(1) {
            Ok((_, cut)) => format!("{cut:?}"),
            Err(error) => error.to_string(),
        };
    }
    match session.cut(1) {
        Ok((drive, cut)) => format!("{told} {cut:?} {:?}", Session::new(drive).finish()),
        Err(error) => error.to_string(),
    }
}

fn run(with: &[&str], settings: &Settings, requests: &[Request]) -> Report {
    let mut device = Drive::new(settings);
    let streams = streams(with, requests);
    device.run_phase(&PhaseKeys::default(), streams).expect("the workload fits the device");
    device.finish().expect("the energy fits")
}

/// The results of a run as text, without what only repeats settings.
fn results(with: &[&str], settings: &Settings, requests: &[Request]) -> String {
    if with.contains(&"@cut") {
        return run_cut(settings, requests);
    }
    let mut report = run(with, settings, requests);
    report.verdict.initial_state = "";
    report.verdict.initial_write_amplification = None;
    report.verdict.initial_error = None;
    report.verdict.unmapped_read_cost = "";
    format!("{report:?}")
}

/// Runs the workload with a key's `with`, then with the key flipped too; says what is wrong.
fn witness(
    path: &str,
    key: &ListedKey<'_>,
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

/// A key without effect would mislead its user. The settings under which a key has an effect are
/// named beside it.
#[test]
fn flipping_any_key_changes_a_result() {
    let mut bases = BTreeMap::new();
    let mut wrong = Vec::new();
    let mut count = 0;
    let device = DeviceKeys::default();
    for (section, keys, _) in device.sections() {
        for key in keys {
            count += 1;
            let path = format!("{section}.{}", key.name);
            wrong.extend(witness(&path, &key, &mut bases).err());
        }
    }
    assert!(wrong.is_empty(), "{} of {count} keys:\n{}", wrong.len(), wrong.join("\n"));
    assert!(count > 40, "the sections list {count} keys");
}

/// The witnesses of garbage collection are worth something only if it runs, copies data and moves
/// map pages.
#[test]
fn the_full_device_collects_garbage() {
    let report = run(&["@full"], &settings(&["@full"], None).unwrap(), &requests(true));
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
            check_key(&keys, &section, &key);
        }
        assert!(sections.insert(section.clone()), "[{section}] is listed twice");
    }
}

#[track_caller]
fn check_key(keys: &DeviceKeys, section: &str, key: &ListedKey<'_>) {
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
    let mut set = keys.clone();
    assert!(set.set(section, key.name, flip), "{path} cannot be set");
    assert_eq!(set.get(section, key.name), Some(flip), "{path} does not keep its value");
}

fn is_snake_case(name: &str) -> bool {
    let word = |word: &str| {
        !word.is_empty() && word.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit())
    };
    name.starts_with(|c: char| c.is_ascii_lowercase()) && name.split('_').all(word)
}
