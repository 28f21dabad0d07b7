//! Saving and restoring: the continued run is the uninterrupted one, byte for byte.

use crate::common::phases::{Bench, named, pacing};
use crate::common::{Random, request, restored, saved, seeds, settings, try_settings};
use flashyard_core::host::HostPolicyName;
use flashyard_core::policy::PolicyName;
use flashyard_core::request::{Request, RequestOp};
use flashyard_sim::config::Settings;
use flashyard_sim::device::{Device, PhaseKeys};
use flashyard_sim::saved::RestoreError;
use flashyard_sim::stream::{Pacing, Stream};
use std::convert::Infallible;

fn mixed(settings: &Settings, random: &mut Random, count: u64) -> Vec<Request> {
    let pages = settings.capacity_sectors() / 8 - 3;
    let gap = random.pick(&[1, 300]);
    (0..count)
        .map(|at| {
            let op = random.pick(&[RequestOp::Read, RequestOp::Write, RequestOp::Write]);
            let op = if random.below(20) == 0 { random.pick(&RequestOp::ALL) } else { op };
            let length = u32::try_from(1 + random.below(3)).unwrap();
            request(at * gap, op, random.below(pages), length)
        })
        .collect()
}

fn random_settings(random: &mut Random) -> Settings {
    loop {
        let resident = random.below(2) == 0;
        let states: &[&str] = if resident { &["steady", "aged"] } else { &["fresh", "random"] };
        let (store, state) =
            (["line_cache", "resident"][usize::from(resident)], random.pick(states));
        let keys = [
            format!("map.store={store}"),
            format!("state.initial={}", random.pick(&[state, "full"])),
            format!("policy.command={}", random.pick(PolicyName::WORDS)),
            format!("host.policy={}", random.pick(HostPolicyName::WORDS)),
            format!("map.cache_bytes={}", random.pick(&[64, 512])),
            format!("map.batch_update={}", random.pick(&["true", "false"])),
            format!("map.hazards={}", random.pick(&["order", "ignore"])),
            format!("queue.admission={}", random.pick(&["request", "page", "atomic"])),
            format!("queue.depth={}", random.pick(&[4, 64])),
            format!("channel.ps_per_byte={}", random.pick(&[0, 2_500])),
            format!("channel.command_ns={}", random.pick(&[0, 300])),
            format!("interface.link_ps_per_byte={}", random.pick(&[0, 1_000])),
            format!("interface.fetch_depth={}", random.pick(&[0, 9])),
            format!("metrics.bin_ms={}", random.pick(&["0", "0.1", "7"])),
            format!("nand.bits_per_cell={}", random.pick(&[1, 2])),
            format!("nand.one_shot={}", random.pick(&["false", "false", "true"])),
            format!("nand.multi_plane={}", random.pick(&["none", "any"])),
            format!("nand.spread_percent={}", random.pick(&[0, 30])),
            format!("nand.program_suspends={}", random.pick(&[0, 3])),
            format!("nand.cache_read={}", random.pick(&["false", "true"])),
            format!("geometry.planes={}", random.pick(&[1, 2])),
            format!("geometry.page_bytes={}", random.pick(&[4_096, 8_192])),
            format!("ftl.mapping_unit_bytes={}", random.pick(&[0, 2_048])),
            format!("ftl.allocation={}", random.pick(&["static", "dynamic"])),
            format!("ftl.partial_write={}", random.pick(&["bitmap", "read_modify_write"])),
            format!("ftl.generations={}", random.pick(&[0, 1, 2])),
            format!("nand.bit_errors_ppb={}", random.pick(&[0, 100_000])),
            "map.entries_per_page=64".to_string(),
            "geometry.channels=2".to_string(),
            "geometry.ways=2".to_string(),
            "geometry.blocks_per_plane=64".to_string(),
            "geometry.pages_per_block=8".to_string(),
            "ftl.over_provisioning_percent=100".to_string(),
        ];
        // Parts that do not go together are drawn again.
        if let Ok(settings) = try_settings(&keys) {
            return settings;
        }
    }
}

fn streams<'a>(lists: &'a [Vec<Request>], kinds: &[Pacing]) -> Vec<Stream<'a, Infallible>> {
    let streams = lists.iter().zip(kinds).zip(["a", "b"]);
    streams.map(|((list, kind), name)| named(name, pacing(*kind, 6), list)).collect()
}

/// A, B in one device; A, save, restore, B; both under the checker. The same requests are answered
/// at the same times, the reports are the same, and so is what is saved at the end.
#[test]
fn a_restored_device_goes_on_as_if_it_had_not_stopped() {
    let mut collected = 0;
    for seed in seeds(0..40) {
        let mut random = Random(seed);
        let settings = random_settings(&mut random);
        let count = random.pick(&[40, 700]);
        let lists: Vec<_> = (0..4).map(|_| mixed(&settings, &mut random, count)).collect();
        let kinds = [random.pick(Pacing::ALL), random.pick(Pacing::ALL)];
        let first = PhaseKeys { measure: random.below(2) == 0, ..PhaseKeys::default() };
        let mut whole = Bench::new(&settings);
        whole.phase(&first, streams(&lists[..2], &kinds));
        let bytes = saved(&whole.device);
        assert_eq!(bytes, saved(&whole.device), "saving changes nothing");
        let mut again = Bench::of(restored(&settings, &bytes).unwrap());
        assert_eq!(bytes, saved(&again.device), "seed {seed}");
        let expected = whole.run(streams(&lists[2..], &kinds));
        let found = again.run(streams(&lists[2..], &kinds));
        assert_eq!(format!("{found:?}"), format!("{expected:?}"), "seed {seed}");
        assert!(saved(&whole.device) == saved(&again.device), "seed {seed}");
        let (expected, found) = (whole.finish(), again.finish());
        collected += expected.gc.jobs;
        assert_eq!(format!("{found:?}"), format!("{expected:?}"), "seed {seed}");
    }
    assert!(collected > 5_000, "garbage was collected: {collected}");
}

/// A superblock that is being collected is saved with the blocks that are not erased yet; the
/// checker takes the others for empty.
#[test]
fn a_superblock_that_is_half_erased_is_restored_under_the_checker() {
    for rule in ["spare", "tokens"] {
        let rule = format!("gc.pacing={rule}");
        let settings = settings(&[
            "map.store=resident",
            "geometry.channels=2",
            "geometry.ways=1",
            "geometry.blocks_per_plane=60",
            "geometry.pages_per_block=8",
            "ftl.over_provisioning_percent=60",
            "placement.unit=superblock",
            "ftl.allocation=dynamic",
            &rule,
        ]);
        let (mut random, units) = (Random(1), u64::from(settings.exported_units));
        let mut writes = || -> Vec<Request> {
            let page = |_| request(0, RequestOp::Write, random.below(units), 1);
            (0..150).map(page).collect()
        };
        let mut whole = Bench::new(&settings);
        for _ in 0..30 {
            whole.run(vec![named("a", pacing(Pacing::Closed, 16), &writes())]);
            let mut again = Bench::of(restored(&settings, &saved(&whole.device)).unwrap());
            again.run(vec![named("a", pacing(Pacing::Closed, 16), &writes())]);
        }
    }
}

/// A device after some work, and the bytes of it.
fn worked(keys: &[&str]) -> (Settings, Vec<u8>) {
    let base = [
        "state.initial=full",
        "geometry.blocks_per_plane=64",
        "geometry.pages_per_block=8",
        "ftl.over_provisioning_percent=100",
        "map.entries_per_page=64",
    ];
    let settings = settings(&[&base, keys].concat());
    let requests = mixed(&settings, &mut Random(1), 300);
    let mut bench = Bench::new(&settings);
    bench.run(vec![named("a", pacing(Pacing::Closed, 4), &requests)]);
    let bytes = saved(&bench.device);
    (settings, bytes)
}

/// The device is the experiment's trunk: policies, times and interfaces may branch from it.
#[test]
fn other_settings_may_change() {
    let (_, bytes) = worked(&[]);
    for key in
        ["policy.command=fifo", "nand.read_us=10", "interface.fetch_depth=3", "metrics.bin_ms=1"]
    {
        let (settings, _) = worked(&[key]);
        let mut bench = Bench::of(restored(&settings, &bytes).unwrap_or_else(|e| panic!("{e}")));
        let requests = mixed(&settings, &mut Random(2), 300);
        bench.run(vec![named("a", pacing(Pacing::Closed, 4), &requests)]);
        let report = bench.finish();
        assert_eq!(report.phases.len(), 2);
        let Some(series) = report.series else { continue };
        // The series begins with the second phase; the report counts both.
        let writes: u64 = series.bins.iter().map(|bin| bin.writes).sum();
        let erases: u64 = series.bins.iter().map(|bin| bin.erases).sum();
        let before = restored(&settings, &bytes).unwrap().finish().unwrap();
        assert_eq!(writes, report.workload.writes - before.workload.writes);
        assert_eq!(erases, report.gc.jobs - before.gc.jobs);
        assert!(erases > 0 && before.gc.jobs > 0);
    }
}

#[test]
fn another_shape_is_refused_by_name() {
    let (_, bytes) = worked(&[]);
    let error = |keys: &[&str]| restored(&worked(keys).0, &bytes).map(|_| ()).unwrap_err();
    let settings = |saved: &str, wanted: &str| RestoreError::Settings {
        saved: saved.to_string(),
        wanted: wanted.to_string(),
    };
    let ways = settings("geometry.ways = 1", "geometry.ways = 2");
    assert_eq!(error(&["geometry.ways=2"]), ways);
    let store = settings("map.store = line_cache", "map.store = resident");
    assert_eq!(error(&["map.store=resident"]), store);
    assert!(error(&["ftl.over_provisioning_percent=120"]).to_string().contains("ftl."));
    let written = error(&["power.journal_entries=8", "power.oob_scan=true"]).to_string();
    assert!(written.contains("no journal or checkpoints of the map"), "{written}");
}

/// The verdict of a restored run names the state that the saved device began in, whatever these
/// settings would make.
#[test]
fn a_restored_device_knows_its_initial_state() {
    let (_, bytes) = worked(&[]);
    let (fresh, _) = worked(&["state.initial=fresh"]);
    let report = restored(&fresh, &bytes).unwrap().finish().unwrap();
    assert_eq!(report.verdict.initial_state, "full");
}

/// No file makes a panic or a wrong device.
#[test]
fn damaged_files_are_refused() {
    let (settings, bytes) = worked(&[]);
    let error = |bytes: &[u8]| restored(&settings, bytes).map(|_| ()).unwrap_err();
    assert_eq!(error(b"something else entirely"), RestoreError::NoSavedDevice);
    assert_eq!(error(b"FLASH"), RestoreError::Truncated);
    let mut other = bytes.clone();
    other[8] = 99;
    assert_eq!(error(&other), RestoreError::Version { found: 99, known: 22 });
    assert_eq!(error(&[bytes.as_slice(), &[0]].concat()), RestoreError::Corrupt);
    let mut random = Random(3);
    for _ in 0..400 {
        let at = usize::try_from(random.below(bytes.len() as u64)).unwrap();
        assert_eq!(error(&bytes[..at]), RestoreError::Truncated, "cut at {at}");
        let mut bad = bytes.clone();
        bad[at] ^= 1 << random.below(8);
        let error = error(&bad);
        let expected = match at {
            0..8 => error == RestoreError::NoSavedDevice,
            8..12 => matches!(error, RestoreError::Version { .. }),
            // Lengths and the settings may show before the checksum does.
            _ => !matches!(error, RestoreError::NoSavedDevice | RestoreError::Version { .. }),
        };
        assert!(expected, "byte {at}: {error:?}");
    }
}

/// What was never written takes next to no bytes: a fresh device of 256 GB fits a megabyte.
#[test]
fn fresh_space_is_not_stored() {
    let settings = try_settings(&[
        "geometry.channels=8",
        "geometry.ways=8",
        "geometry.blocks_per_plane=1024",
        "geometry.pages_per_block=256",
        "geometry.page_bytes=16384",
        "map.store=resident",
    ])
    .unwrap();
    assert!(settings.capacity_sectors() * 512 > 256_000_000_000, "256 GB");
    let mut bench = Device::new(&settings);
    let writes = [request(0, RequestOp::Write, 0, 4)];
    let streams = vec![named("a", pacing(Pacing::Closed, 1), &writes)];
    bench.run_phase(&PhaseKeys::default(), streams).unwrap();
    let bytes = saved(&bench);
    assert!(bytes.len() < 1_000_000, "{}", bytes.len());
    let again = restored(&settings, &bytes).unwrap();
    assert!(saved(&again) == bytes);
}
