//! Random small devices with every host policy, write buffer, map, link and queue together, under
//! the checker: every request is answered, accounts add up, and no policy loops for ever.
//!
//! `SEEDS=1000..2000` runs other seeds than those that are always run, `SEEDS=all` three times as
//! many.

use crate::common::phases::Bench;
use crate::common::{Random, dirty_at_start, restored, saved, seeds, seeds_are_given};
use crate::generators::devices::with_superblocks;
use crate::generators::hosts::{Workload, case, log_case, own_parts, packed_case};
use flashyard_core::host::HostPolicyName;
use flashyard_core::host::cache_read_aware::Dependencies;
use flashyard_sim::config::{BufferKeys, MapReserve, Settings};
use flashyard_sim::device::{PhaseKeys, SimError};
use flashyard_sim::report::Report;
use std::ops::Range;
use std::panic::catch_unwind;

/// Runs a workload; when each request was answered, and the report.
fn run(settings: &Settings, workload: &Workload) -> Result<(Vec<(u64, u64)>, Report), SimError> {
    let mut bench = Bench::new(settings);
    if !workload.units.is_empty() {
        bench.device.preload_buffer(&workload.units)?;
    }
    let (_, done) = bench.try_phase(&PhaseKeys::default(), workload.streams())?;
    let asked: usize = workload.streams.iter().map(|(_, _, requests)| requests.len()).sum();
    assert_eq!(done.len(), asked, "one answer a request");
    let ends = done.iter().map(|done| (done.order, done.completion.as_ns())).collect();
    let attributed: u64 = done.iter().map(|done| done.energy_pj).sum();
    let report = bench.device.finish()?;
    assert_eq!(attributed, report.energy_pj.attributed, "energy of requests");
    if let Some(series) = &report.series {
        let bins: u64 = series.bins.iter().map(|bin| bin.energy_pj).sum();
        assert_eq!(bins, report.energy_pj.total, "energy over time");
    }
    Ok((ends, report))
}

/// A device that is saved between two phases goes on as the one that is not.
fn assert_goes_on(settings: &Settings, workload: &Workload) {
    let streams = || workload.streams();
    let keys = PhaseKeys::default();
    let mut bench = Bench::new(settings);
    bench.device.preload_buffer(&workload.units).unwrap();
    bench.try_phase(&keys, streams()).unwrap();
    let again = restored(settings, &saved(&bench.device));
    let go_on = |mut bench: Bench| {
        // A second round may be more than the reserve can bear.
        let (_, done) = bench.try_phase(&keys, streams()).ok()?;
        let ends: Vec<_> = done.iter().map(|done| done.completion).collect();
        let report = bench.device.finish().ok()?;
        Some((ends, format!("{:?} {:?}", report.map, report.buffer)))
    };
    assert!(go_on(Bench::of(again.unwrap())) == go_on(bench), "it goes on otherwise");
}

/// Policies that pick nothing that conflicts.
const KEEP_ORDER: [HostPolicyName; 4] =
    [HostPolicyName::Fifo, HostPolicyName::Is, HostPolicyName::Ris, HostPolicyName::Ros];

/// What holds of every run.
fn assert_accounts(settings: &Settings, workload: &Workload, report: &Report) {
    let buffer = &report.buffer;
    let preloaded = workload.units.iter().filter(|(_, _, dirty)| *dirty).count() as u64;
    let before = preloaded + dirty_at_start(settings);
    let gone = buffer.flushed_units + buffer.trimmed_units + buffer.dirty_at_end;
    assert_eq!(buffer.dirtied_units + before, gone, "what becomes dirty: {buffer:?}");
    let flash = &report.flash;
    let parts: f64 = flash.write_amplification_by.values().flatten().sum();
    let whole = flash.write_amplification.unwrap_or(0.0);
    assert!((parts - whole).abs() <= 1e-9 * whole, "{parts} of {whole}: {flash:?}");
    assert_eq!(flash.padded_units_by.values().sum::<u64>(), flash.padded_units);
    assert!(buffer.hidden_read_ns <= buffer.get_ns + buffer.flush_get_ns);
    assert!(buffer.hidden_read_ns <= buffer.put_ns);
    let ready = settings.keys.host_policies.cache_read_aware.dependencies == Dependencies::Ready;
    let careful = match settings.keys.host.policy {
        HostPolicyName::CacheReadAware => ready,
        HostPolicyName::Idle => settings.keys.host_policies.idle.skip_conflicts,
        // Others may pick what conflicts; the device holds it.
        name => KEEP_ORDER.contains(&name),
    };
    assert!(!careful || report.map.hazard_picks == 0, "{} hazards", report.map.hazard_picks);
}

/// The same device with every other key of the buffer as it is by default.
fn without_buffer(settings: &Settings) -> Settings {
    let mut keys = settings.keys.clone();
    keys.buffer = BufferKeys::default();
    Settings::new(keys).expect("a device without a buffer")
}

/// Whether map pages may take the reserve.
fn shares_reserve(settings: &Settings) -> bool {
    let gc = &settings.keys.gc;
    gc.erase_after_map || gc.map_reserve == MapReserve::AsData
}

/// Runs a case; none where the device is too small for it.
fn one_case(seed: u64, settings: &Settings, workload: &Workload) -> Option<Report> {
    let done = match run(settings, workload) {
        Ok(done) => done,
        // No room is kept for map pages beside the reserve where that is theirs.
        Err(SimError::NoReserve { .. } | SimError::NoRoom { .. }) if shares_reserve(settings) => {
            return None;
        }
        Err(error) => panic!("{error}"),
    };
    assert_accounts(settings, workload, &done.1);
    let show = |done: &(Vec<(u64, u64)>, Report)| format!("{done:?}");
    if settings.buffer_units == 0 {
        let none = run(&without_buffer(settings), workload).unwrap();
        assert!(show(&none) == show(&done), "zero lines are no buffer");
    } else if seed.is_multiple_of(8) {
        let again = run(settings, workload).unwrap();
        assert!(show(&again) == show(&done), "the second run differs");
    } else if seed % 8 == 4 && seed % 10 < 9 {
        assert_goes_on(settings, workload);
    }
    Some(done.1)
}

#[test]
fn random_hosts_keep_every_rule() {
    let parts = own_parts();
    let all = !seeds_are_given();
    let (mut short, mut jobs, mut stalls, mut waits, mut hidden) = (0, 0, 0, 0, 0);
    for seed in seeds(0..200) {
        let (settings, workload) = case(&parts, seed);
        let result = catch_unwind(|| one_case(seed, &settings, &workload));
        match result.unwrap_or_else(|_| panic!("seed {seed}: {:#?}", settings.keys)) {
            Some(report) => {
                jobs += report.gc.jobs;
                stalls += report.map.stalls;
                waits += report.buffer.stalls;
                hidden += report.buffer.hidden_read_ns;
            }
            None => short += 1,
        }
    }
    let worked = jobs > 10_000 && stalls > 10_000 && waits > 10_000 && hidden > 1_000_000;
    assert!(worked || !all, "{jobs} jobs, {stalls} stalls, {waits} waits, {hidden} ns hidden");
    assert!(short < 20 || !all, "{short} devices were too small");
}

/// The same with log blocks behind a write buffer.
#[test]
fn log_blocks_behind_buffers_keep_every_rule() {
    let parts = own_parts();
    log_blocks_keep_every_rule(6_000..6_200, |seed| log_case(&parts, seed));
}

/// The same where a program holds several mapping units.
#[test]
fn packed_log_blocks_behind_buffers_keep_every_rule() {
    let parts = own_parts();
    log_blocks_keep_every_rule(6_700..6_850, |seed| packed_case(&parts, seed));
}

/// The same where the log blocks are superblocks.
#[test]
fn superblocks_behind_buffers_keep_every_rule() {
    let parts = own_parts();
    log_blocks_keep_every_rule(6_500..6_700, |seed| {
        let (mut settings, workload) = log_case(&parts, seed);
        settings = with_superblocks(&mut Random(seed), settings.keys);
        (settings, workload)
    });
}

fn log_blocks_keep_every_rule(usual: Range<u64>, case: impl Fn(u64) -> (Settings, Workload)) {
    let all = !seeds_are_given();
    let (mut merged, mut flushed, mut waits) = ([0; 4], 0, 0);
    for seed in seeds(usual) {
        let (settings, workload) = case(seed);
        let result = catch_unwind(|| one_case(seed, &settings, &workload));
        let report = result.unwrap_or_else(|_| panic!("seed {seed}: {:#?}", settings.keys));
        let report = report.expect("no map page takes the reserve");
        let merges = &report.gc.merges;
        for (sum, count) in
            merged.iter_mut().zip([merges.switch, merges.partial, merges.full, merges.dead])
        {
            *sum += count;
        }
        flushed += report.buffer.flushed_units;
        waits += report.buffer.stalls;
    }
    let worked = merged.iter().all(|&count| count > 10) && flushed > 10_000 && waits > 1_000;
    assert!(worked || !all, "{merged:?} merges, {flushed} units, {waits} waits");
}
