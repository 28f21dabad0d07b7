//! Random small devices, workloads and policies under the checker, which panics at the first
//! broken rule: data integrity, NAND order, exact latency parts, energy that adds up.

use crate::common::phases::{Bench, named};
use crate::common::{
    DRAWN_POLICIES, Random, Recorded, dirty_at_start, every_seed, record, request, restored, saved,
    seeds, seeds_are_given, settings, try_record, try_settings,
};
use crate::generators::devices::{Family, case, with_parts};
use flashyard_core::command::Op;
use flashyard_core::host::HostPolicyName;
use flashyard_core::request::{Request, RequestOp};
use flashyard_sim::config::{FirmwareFamily, MapReserve, Settings};
use flashyard_sim::device::SimError;
use flashyard_sim::metrics::counters::Tally;
use flashyard_sim::metrics::parts::Part;
use flashyard_sim::parts::log::PLANNING;
use flashyard_sim::parts::victim::VictimName;
use flashyard_sim::report::Report;
use flashyard_sim::stream::StreamKeys;
use std::collections::BTreeSet;

/// The checker inside proves the rules; here every request must be answered and its energy count.
#[test]
fn random_devices_keep_every_rule() {
    let (mut collected, mut waits) = (0, 0);
    // The last one levels wear at a gap of one beside a map on flash: the map pages that this
    // rewrites once took all the room that garbage collection brought, for ever.
    for seed in seeds(0..300).chain([300_040]) {
        let (settings, requests) = case(Family::Any, seed);
        let result = std::panic::catch_unwind(|| record(&settings, &[], &requests));
        let Ok((report, run)) = result else {
            panic!("seed {seed}: {:#?}", settings.keys);
        };
        assert_eq!(run.requests.len(), requests.len(), "seed {seed}: one answer a request");
        let mut work = Tally::default();
        run.requests.iter().for_each(|request| work.merge(&request.work));
        let attributed: u64 = run.requests.iter().map(|request| request.energy_pj).sum();
        assert_eq!(attributed, report.energy_pj.attributed, "seed {seed}");
        assert_eq!(u128::from(attributed), work.energy_pj(&settings.keys.energy), "seed {seed}");
        if let Some(series) = &report.series {
            let bins: u64 = series.bins.iter().map(|bin| bin.energy_pj).sum();
            assert_eq!(bins, report.energy_pj.total, "seed {seed}: over time");
        }
        waits += report.power.waits;
        let buffer = &report.buffer;
        let gone = buffer.flushed_units + buffer.trimmed_units + buffer.dirty_at_end;
        let dirtied = dirty_at_start(&settings) + buffer.dirtied_units;
        assert_eq!(dirtied, gone, "seed {seed}: what is dirtied");
        collected += report.gc.jobs;
    }
    assert!(waits > 10_000, "dies waited {waits} times for power");
    assert!(collected > 3_000, "garbage collection ran {collected} times");
}

/// The same with maps on flash, under all rules of when to collect, and what to write before an
/// erase. A reserve that is too small for map pages is an error of its own.
#[test]
fn random_devices_with_cached_maps_keep_every_rule() {
    let (mut jobs, mut short, mut dirty) = (0, 0, 0);
    for seed in seeds(3_000..3_150) {
        let (settings, requests) = case(Family::Cached, seed);
        let result = std::panic::catch_unwind(|| try_record(&settings, &[], &requests));
        match result.unwrap_or_else(|_| panic!("seed {seed}: {:#?}", settings.keys)) {
            Ok((report, run)) => {
                assert_eq!(run.requests.len(), requests.len(), "seed {seed}: one answer a request");
                jobs += report.gc.jobs;
                dirty += report.map.dirty_evictions;
            }
            Err(error) => {
                // No room is kept for map pages beside the reserve where that is theirs.
                let gc = &settings.keys.gc;
                let theirs = gc.erase_after_map || gc.map_reserve == MapReserve::AsData;
                let known = match error {
                    SimError::NoReserve { .. } => true,
                    SimError::NoRoom { .. } => theirs,
                    _ => false,
                };
                assert!(
                    known,
                    "seed {seed}: {error} {:?} {:?}",
                    settings.keys.gc, settings.keys.map
                );
                short += 1;
            }
        }
    }
    assert!(jobs > 3_000 && dirty > 3_000 && short < 20, "{jobs} jobs, {dirty}, {short} errors");
}

/// The same with energy of the link, power of reclaiming space, sleep and a power meter: the parts
/// of the energy add up to the total (the device checks that, and the sum of the samples).
#[test]
fn random_devices_with_states_of_power_keep_every_rule() {
    let (mut wakes, mut samples, mut rows) = (0, 0, [0; 3]);
    for seed in seeds(5_000..5_120) {
        let (settings, requests) = case(Family::Powered, seed);
        let result = std::panic::catch_unwind(|| try_record(&settings, &[], &requests));
        let Ok((report, run)) =
            result.unwrap_or_else(|_| panic!("seed {seed}: {:#?}", settings.keys))
        else {
            continue;
        };
        assert_eq!(run.requests.len(), requests.len(), "seed {seed}: one answer a request");
        let (energy, power) = (&report.energy_pj, &report.power);
        let attributed: u64 = run.requests.iter().map(|request| request.energy_pj).sum();
        assert_eq!(attributed, energy.attributed, "seed {seed}");
        assert_eq!(energy.link.values().sum::<u64>(), energy.by_resource["link"], "seed {seed}");
        for (row, name) in rows.iter_mut().zip(["link", "reclaim", "sleep"]) {
            *row += u64::from(energy.by_resource[name] > 0);
        }
        if let Some(sleep) = power.sleep {
            assert!(sleep.dozed_ns >= sleep.asleep_ns + sleep.deep_asleep_ns, "seed {seed}");
            assert!(sleep.dozed_ns <= power.span_ns, "seed {seed}");
            wakes += sleep.wakes;
        }
        samples += power.meter.as_ref().map_or(0, |meter| meter.samples);
    }
    assert!(wakes > 500 && samples > 10_000, "{wakes} wakes, {samples} samples");
    assert!(rows.iter().all(|&count| count > 10), "{rows:?}");
}

/// The same with schemes of log blocks.
#[test]
fn random_devices_with_log_blocks_keep_every_rule() {
    let mut merged = [0; 4];
    for seed in seeds(2_000..2_300) {
        let (settings, requests) = case(Family::LogBlocks, seed);
        let result = std::panic::catch_unwind(|| record(&settings, &[], &requests));
        let Ok((report, run)) = result else {
            panic!("seed {seed}: {:#?}", settings.keys);
        };
        assert_eq!(run.requests.len(), requests.len(), "seed {seed}: one answer a request");
        let attributed: u64 = run.requests.iter().map(|request| request.energy_pj).sum();
        assert_eq!(attributed, report.energy_pj.attributed, "seed {seed}");
        let merges = &report.gc.merges;
        for (sum, count) in
            merged.iter_mut().zip([merges.switch, merges.partial, merges.full, merges.dead])
        {
            *sum += count;
        }
    }
    assert!(merged.iter().all(|&count| count > 100), "{merged:?}");
}

/// The same where a program holds several mapping units, which flushes and merges fill together.
#[test]
fn random_devices_with_full_programs_keep_every_rule() {
    let mut merged = [0; 4];
    for seed in seeds(10_000..10_120) {
        merge_and_go_on(Family::Packed, seed, &mut merged);
    }
    let [switch, partial, full, dead] = merged;
    assert!(switch + partial > 100 && full > 1_000 && dead > 100, "{merged:?}");
}

/// The same with log blocks that are superblocks, some behind a write buffer.
#[test]
fn random_devices_with_superblocks_keep_every_rule() {
    let (mut merged, mut copies, mut buffered) = ([0; 4], 0, 0);
    for seed in seeds(7_000..7_100) {
        let report = merge_and_go_on(Family::Superblocks, seed, &mut merged);
        buffered += u64::from(report.buffer.flushed_units > 0);
        copies += report.flash.pages["programs"]["merge"];
    }
    assert!(merged.iter().all(|&count| count > 0), "{merged:?}");
    assert!(copies > 20_000 && buffered > 5, "{copies} copies, {buffered} with buffers");
}

/// A device of a family that merges keeps every rule, and its energy adds up; its merges are added.
/// Every fourth one is saved after its requests and asked again, as is the one that was not.
fn merge_and_go_on(family: Family, seed: u64, merged: &mut [u64; 4]) -> Report {
    let (settings, requests) = case(family, seed);
    let result = std::panic::catch_unwind(|| {
        if seed.is_multiple_of(4) {
            assert_goes_on(&settings, &requests);
        }
        record(&settings, &[], &requests)
    });
    let Ok((report, run)) = result else {
        panic!("seed {seed}: {:#?}", settings.keys);
    };
    assert_eq!(run.requests.len(), requests.len(), "seed {seed}: one answer a request");
    let mut work = Tally::default();
    run.requests.iter().for_each(|request| work.merge(&request.work));
    let energy = &report.energy_pj;
    let attributed: u64 = run.requests.iter().map(|request| request.energy_pj).sum();
    assert_eq!(attributed, energy.attributed, "seed {seed}");
    assert_eq!(u128::from(attributed), work.energy_pj(&settings.keys.energy), "seed {seed}");
    for axis in [&energy.by_purpose, &energy.by_resource] {
        assert_eq!(axis.values().sum::<u64>(), energy.total, "seed {seed}");
    }
    let merges = &report.gc.merges;
    for (sum, count) in
        merged.iter_mut().zip([merges.switch, merges.partial, merges.full, merges.dead])
    {
        *sum += count;
    }
    report
}

/// A device that is saved between two phases goes on as the one that is not.
fn assert_goes_on(settings: &Settings, requests: &[Request]) {
    let run = |bench: &mut Bench| bench.run(vec![named("s", StreamKeys::default(), requests)]);
    let mut bench = Bench::new(settings);
    run(&mut bench);
    let mut again = Bench::of(restored(settings, &saved(&bench.device)).unwrap());
    let ends = [&mut bench, &mut again].map(|bench| {
        let done = run(bench);
        done.iter().map(|done| done.completion).collect::<Vec<_>>()
    });
    assert_eq!(ends[0], ends[1]);
    let report = |bench: Bench| format!("{:?}", bench.finish());
    assert_eq!(report(bench), report(again));
}

/// The settings of a random device, and its run, in which every request was answered; none where it
/// ran out of blocks, or of blocks that are not worn out, which are errors that are known.
fn answered(family: Family, seed: u64) -> Option<(Settings, Report, Recorded)> {
    let (settings, requests) = case(family, seed);
    let result = std::panic::catch_unwind(|| try_record(&settings, &[], &requests));
    match result.unwrap_or_else(|_| panic!("seed {seed}: {:#?}", settings.keys)) {
        Ok((report, run)) => {
            assert_eq!(run.requests.len(), requests.len(), "seed {seed}: one answer a request");
            Some((settings, report, run))
        }
        Err(SimError::NoReserve { .. } | SimError::NoRoom { .. } | SimError::WornOut { .. }) => {
            None
        }
        Err(error) => panic!("seed {seed}: {error}"),
    }
}

/// The same with firmware cores behind a link, and faster reads of parts of pages.
#[test]
fn random_devices_with_firmware_keep_every_rule() {
    let (mut waits, mut with_parts, mut with_codewords) = (0, 0, 0);
    for seed in seeds(5_000..5_060) {
        let Some((settings, report, run)) = answered(Family::Firmware, seed) else { continue };
        let attributed: u64 = run.requests.iter().map(|request| request.energy_pj).sum();
        assert_eq!(attributed, report.energy_pj.attributed, "seed {seed}");
        let longest = |part| run.requests.iter().map(|done| done.parts.get(part)).max();
        waits += u64::from(longest(Part::Firmware) > Some(200_000));
        with_parts += u64::from(!settings.keys.nand.read_part_us.is_zero());
        with_codewords += u64::from(settings.keys.nand.codeword_bytes > 0);
    }
    assert!(waits > 3 && with_parts > 3, "{waits} queues, {with_parts} devices with parts");
    assert!(with_codewords > 3, "{with_codewords} devices with codewords");
}

/// The same with background work in periods.
#[test]
fn random_devices_with_periods_of_work_keep_every_rule() {
    let (mut jobs, mut merges) = (0, 0);
    for seed in seeds(5_000..5_120) {
        let Some((_, report, _)) = answered(Family::Background, seed) else { continue };
        jobs += report.gc.jobs;
        merges += report.gc.merges.full + report.gc.merges.dead;
    }
    assert!(jobs > 1_000 && merges > 1_000, "{jobs} jobs, {merges} merges");
}

/// The same with families of firmware, each of which runs often.
#[test]
fn random_devices_with_families_keep_every_rule() {
    let mut ran = [0; FirmwareFamily::ALL.len()];
    for seed in seeds(6_000..6_040) {
        let Some((settings, _, _)) = answered(Family::Families, seed) else { continue };
        ran[settings.keys.firmware.family as usize] += 1;
    }
    assert!(ran.iter().all(|&count| count > 1), "{ran:?}");
}

/// The same with one frontier over the planes of a die: programs and erases cover all of them,
/// reads several, and the samples of the power meter add up to the energy.
#[test]
fn random_devices_with_joined_planes_keep_every_rule() {
    let (mut jobs, mut several) = (0, 0);
    for seed in seeds(7_000..7_120) {
        let Some((settings, report, run)) = answered(Family::Joined, seed) else { continue };
        assert!(settings.geometry.joined > 1 && settings.geometry.planes == 1, "seed {seed}");
        let attributed: u64 = run.requests.iter().map(|request| request.energy_pj).sum();
        assert_eq!(attributed, report.energy_pj.attributed, "seed {seed}");
        let meter = report.power.meter.as_ref().expect("the device has one");
        assert_eq!(meter.energy_pj, report.energy_pj.total, "seed {seed}");
        jobs += report.gc.jobs;
        let reads = run.commands.iter().filter(|done| done.op == Op::Read).count() as u64;
        several += u64::from(reads > report.flash.array_ops["reads"].values().sum());
    }
    assert!(jobs > 1_000 && several > 20, "{jobs} jobs, {several} devices with joint reads");
}

/// The same with mechanisms of real drives. Every fourth device is saved after its requests and
/// asked again, as is the one that was not.
#[test]
fn random_devices_with_mechanisms_keep_every_rule() {
    let (mut stalled, mut linked) = (0, 0);
    for seed in seeds(8_000..8_120) {
        let Some((settings, report, run)) = answered(Family::Mechanisms, seed) else { continue };
        if seed.is_multiple_of(4) {
            assert_goes_on(&settings, &case(Family::Mechanisms, seed).1);
        }
        let attributed: u64 = run.requests.iter().map(|request| request.energy_pj).sum();
        assert_eq!(attributed, report.energy_pj.attributed, "seed {seed}");
        let least = settings.keys.interface.submit_ns + settings.keys.interface.reap_ns;
        let crossed = run.requests.iter().all(|done| done.parts.get(Part::Link) >= least);
        assert!(crossed, "seed {seed}: each request takes its thread");
        linked += u64::from(least > 0);
        let keys = &settings.keys.firmware;
        let longest = run.requests.iter().map(|done| done.parts.get(Part::Firmware)).max();
        stalled += u64::from(keys.stall_units > 0 && longest >= Some(keys.stall_us.as_ns()));
    }
    assert!(stalled > 3 && linked > 10, "{stalled} devices stalled, {linked} have threads");
}

/// The same with parts drawn from the registries, whichever there are: each has run in the end.
#[test]
fn random_devices_with_every_part_keep_every_rule() {
    let mut ran = BTreeSet::new();
    for seed in seeds(4_000..4_120) {
        let family =
            [Family::Any, Family::LogBlocks, Family::Cached][usize::try_from(seed % 3).unwrap()];
        let (settings, requests) = case(family, seed);
        let (settings, drawn) = with_parts(&mut Random(seed), &settings);
        let result = std::panic::catch_unwind(|| try_record(&settings, &[], &requests));
        match result.unwrap_or_else(|_| panic!("seed {seed}: {drawn:?} {:#?}", settings.keys)) {
            Ok((report, run)) => {
                assert_eq!(run.requests.len(), requests.len(), "seed {seed}: one answer a request");
                let attributed: u64 = run.requests.iter().map(|request| request.energy_pj).sum();
                assert_eq!(attributed, report.energy_pj.attributed, "seed {seed}");
                ran.extend(drawn);
            }
            Err(SimError::NoReserve { .. } | SimError::NoRoom { .. })
                if family == Family::Cached => {}
            Err(error) => panic!("seed {seed}: {error}"),
        }
    }
    let families = [
        ("policy.command", DRAWN_POLICIES),
        ("gc.policy", VictimName::WORDS),
        ("host.policy", HostPolicyName::WORDS),
        ("ftl.scheme", PLANNING),
    ];
    for (key, names) in families.into_iter().filter(|_| !seeds_are_given()) {
        for name in names {
            assert!(ran.contains(&format!("{key}={name}")), "{key}={name} was never drawn");
        }
    }
}

/// A full device with the least spare space that is accepted: writes go on for ever, on one die and
/// with map pages on other dies than their data.
#[test]
fn full_devices_never_run_out_of_room() {
    for (channels, entries) in [(1, 0), (1, 16), (3, 16), (2, 64)] {
        let keys = |percent: u64| {
            [
                format!("geometry.channels={channels}"),
                "geometry.blocks_per_plane=64".to_string(),
                "geometry.pages_per_block=8".to_string(),
                format!("map.entries_per_page={entries}"),
                "map.cache_bytes=64".to_string(),
                "gc.soft_free_blocks=3".to_string(),
                "gc.hard_free_blocks=3".to_string(),
                "gc.reserve_blocks=2".to_string(),
                "state.initial=full".to_string(),
                format!("ftl.over_provisioning_percent={percent}"),
            ]
        };
        let settings = (5..500).find_map(|percent| try_settings(&keys(percent)).ok()).unwrap();
        let mut random = Random(channels);
        let units = u64::from(settings.exported_units);
        let requests: Vec<_> = (0..20 * units)
            .map(|number| request(number, RequestOp::Write, random.below(units), 1))
            .collect();
        let (report, _) = record(&settings, &[], &requests);
        assert!(report.wear.erases_min > 0, "every block is used: {:?}", report.wear);
        assert!(report.flash.write_amplification.unwrap() > 1.5);
    }
}

/// Devices whose blocks bear a few erases keep every rule until they end with an error that says
/// so, and none is programmed after its last one.
#[test]
fn random_devices_wear_out_in_order() {
    let (mut ended, mut grown) = (0, 0);
    for seed in every_seed(1_000..1_100) {
        let (settings, requests) = case(Family::Worn, seed);
        let result = std::panic::catch_unwind(|| try_record(&settings, &[], &requests));
        match result.unwrap_or_else(|_| panic!("seed {seed}: {:#?}", settings.keys)) {
            Ok((report, _)) => grown += report.wear.grown_bad_blocks,
            Err(SimError::WornOut { worn, .. }) => {
                assert!(!worn.is_empty());
                ended += 1;
            }
            Err(error) => panic!("seed {seed}: {error}"),
        }
    }
    assert!(ended > 10 && grown > 0, "{ended} ended, {grown} blocks of the others wore out");
}

/// A policy may program one copy before the others of its program unit are read. Blocks of few
/// program units then still have room for all copies of a victim.
#[test]
fn copies_into_small_blocks_find_room() {
    let settings = settings(&[
        "map.store=line_cache",
        "policy.command=drs",
        "geometry.channels=1",
        "geometry.ways=1",
        "geometry.blocks_per_plane=31",
        "geometry.pages_per_block=8",
        "geometry.page_bytes=16384",
        "ftl.mapping_unit_bytes=4096",
        "ftl.over_provisioning_percent=100",
        "gc.policy=fifo",
    ]);
    for seed in every_seed(1..13) {
        let mut random = Random(seed);
        let units = u64::from(settings.exported_units);
        let writes: Vec<_> =
            (0..3_000).map(|_| request(0, RequestOp::Write, random.below(units), 1)).collect();
        let (report, _) = record(&settings, &[], &writes);
        assert!(report.gc.jobs > 200, "seed {seed}: {} jobs", report.gc.jobs);
    }
}

#[test]
fn a_request_past_the_end_is_an_error() {
    let settings = settings(&["geometry.blocks_per_plane=512"]);
    let units = u64::from(settings.exported_units);
    let error = try_record(&settings, &[], &[request(0, RequestOp::Read, units, 1)]).unwrap_err();
    let SimError::BeyondDevice { order: 0, capacity, .. } = error else { panic!("{error}") };
    assert_eq!(capacity, units * 8);
    let backwards = [request(5, RequestOp::Read, 0, 1), request(4, RequestOp::Read, 0, 1)];
    let error = try_record(&settings, &[], &backwards).unwrap_err();
    assert_eq!(error, SimError::Backwards { order: 1 });
}
