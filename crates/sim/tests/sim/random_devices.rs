//! Random small devices, workloads and policies under the checker, which panics at the first
//! broken rule: data integrity, NAND order, exact latency parts, energy that adds up.

use crate::common::{
    Random, dirty_at_start, record, request, seeds, settings, try_record, try_settings,
};
use flashyard_core::geometry::StripeOrder;
use flashyard_core::policy::PolicyName;
use flashyard_core::request::{Flags, Request, RequestOp};
use flashyard_sim::config::{MapReserve, MovedEntries, RewriteOrder, Settings};
use flashyard_sim::device::SimError;
use flashyard_sim::ftl::victim::VictimName;
use flashyard_sim::metrics::counters::Tally;
use std::collections::BTreeMap;

/// Keys and the values that are drawn for them, each as likely as another.
const DRAWS: &[(&str, &[&str])] = &[
    ("geometry.channels", &["1", "1", "2", "3"]),
    ("geometry.ways", &["1", "1", "2", "3"]),
    ("geometry.dies_per_way", &["1", "1", "1", "2"]),
    ("geometry.planes", &["1", "1", "2", "4"]),
    ("geometry.blocks_per_plane", &["24", "40", "80"]),
    ("geometry.pages_per_block", &["4", "8", "16", "64"]),
    ("geometry.page_bytes", &["4096", "4096", "8192", "16384"]),
    ("ftl.mapping_unit_bytes", &["0", "4096"]),
    ("ftl.stripe_order", StripeOrder::WORDS),
    ("ftl.allocation", &["static", "static", "dynamic"]),
    ("ftl.streams", &["1", "1", "3"]),
    ("ftl.generations", &["0", "1", "1", "2"]),
    ("ftl.partial_write", &["ignore", "ignore", "read_modify_write", "bitmap"]),
    ("nand.bits_per_cell", &["1", "1", "2", "4"]),
    ("nand.one_shot", &["false", "true"]),
    ("nand.read_2_us", &["0", "90"]),
    ("nand.program_2_us", &["0", "1500"]),
    ("nand.spread_percent", &["0", "0", "30"]),
    ("nand.multi_plane", &["none", "same_page", "any"]),
    ("nand.cache_read", &["false", "true"]),
    ("nand.program_suspends", &["0", "0", "3"]),
    ("nand.erase_suspends", &["0", "0", "3"]),
    ("nand.unmapped_read", &["array", "zero"]),
    ("channel.ps_per_byte", &["0", "0", "2500", "100000"]),
    ("channel.command_ns", &["0", "0", "300"]),
    ("gc.copyback", &["false", "false", "true"]),
    ("map.store", &["line_cache", "line_cache", "cmt", "cmt", "resident"]),
    ("map.entries_per_line", &["1", "2", "8"]),
    ("map.entries_per_page", &["16", "64", "0"]),
    ("map.batch_update", &["true", "false"]),
    ("map.hazards", &["order", "order", "ignore"]),
    ("map.cached_entry_bytes", &["4", "8"]),
    ("map.protected_percent", &["0", "50", "80", "100"]),
    ("map.lazy_copying", &["true", "true", "false"]),
    ("map.moved_entries", MovedEntries::WORDS),
    ("map.rewrite_order", RewriteOrder::WORDS),
    ("map.unwritten_read", &["array", "zero"]),
    ("map.share_fetches", &["false", "true"]),
    ("map.fetch_bytes", &["0", "0", "512"]),
    ("map.cache_bytes", &["32", "64", "256"]),
    ("queue.depth", &["1", "2", "8", "64"]),
    ("queue.slots_scope", &["device", "die"]),
    ("queue.admission", &["request", "page", "atomic"]),
    ("queue.delayed_sets_hold_slot", &["true", "false"]),
    ("queue.data_order", &["none", "lpn"]),
    ("fot.shared_delays", &["per_request", "per_set"]),
    ("fot.transitive", &["true", "false"]),
    ("fot.span", &["sum", "longest_die"]),
    ("policy.command", PolicyName::WORDS),
    ("host.policy", &["fifo", "idle"]),
    ("state.initial", &["fresh", "fresh", "fresh", "full", "random", "aged", "steady"]),
    ("energy.standby_mw", &["0", "3"]),
];

/// The same for devices with a write buffer, instead of what is drawn above.
const BUFFER_DRAWS: &[(&str, &[&str])] = &[
    ("map.store", &["resident", "line_cache", "cmt"]),
    ("buffer.bytes", &["0", "16384", "16384", "65536", "1000000", "1099511627776"]),
    ("buffer.acknowledge", &["buffer", "buffer", "program"]),
    ("buffer.access_ns", &["0", "41", "30000"]),
    ("buffer.ps_per_byte", &["0", "78", "10000"]),
    ("buffer.high_percent", &["30", "80", "100"]),
    ("buffer.low_percent", &["0", "30"]),
    ("buffer.flush_when_idle", &["false", "true"]),
    ("buffer.recency", &["reads_and_writes", "writes"]),
];

/// A device; `buffered` is whether it shall have a write buffer.
/// How blocks are chosen and cared for.
const CARE_DRAWS: &[(&str, &[&str])] = &[
    ("gc.policy", VictimName::WORDS),
    ("gc.d_choices.choices", &["1", "4", "100"]),
    ("gc.rga.choices", &["0", "1", "100"]),
    ("gc.timing", &["on_demand", "background"]),
    ("gc.background_free_blocks", &["1", "8", "15"]),
    ("gc.idle_us", &["0", "100", "5000"]),
    ("gc.preemptible", &["true", "false"]),
    ("gc.start", &["early", "early", "needed"]),
    ("gc.window.share_percent", &["0", "30", "100"]),
    ("gc.search_us", &["0", "0", "3"]),
    ("gc.emergency", &["false", "true"]),
    ("gc.restore", &["false", "false", "false", "true"]),
    ("gc.pacing", &["none", "none", "spare", "tokens"]),
    ("gc.copies_per_program", &["1", "4", "50"]),
    ("gc.reads_before_copy", &["0", "0", "1", "4"]),
    ("state.rested", &["false", "true"]),
    ("ftl.map_generations", &["1", "0"]),
    ("wear.dynamic", &["false", "true"]),
    ("wear.static_gap", &["0", "1", "5"]),
    ("nand.factory_bad_percent", &["0", "0", "3", "12"]),
];

/// The same for devices whose pages are chosen by schemes with log blocks.
const LOG_DRAWS: &[(&str, &[&str])] = &[
    ("ftl.scheme", &["block", "bast", "fast", "last"]),
    ("nand.program_order", &["any", "any", "ascending"]),
    ("map.store", &["resident"]),
    ("geometry.pages_per_block", &["4", "8", "16"]),
    ("ftl.mapping_unit_bytes", &["0"]),
    ("ftl.allocation", &["static"]),
    ("ftl.streams", &["1"]),
    ("nand.one_shot", &["false"]),
    ("nand.multi_plane", &["none", "none", "any"]),
    ("nand.factory_bad_percent", &["0"]),
    ("wear.dynamic", &["false"]),
    ("wear.static_gap", &["0"]),
    ("buffer.bytes", &["0"]),
    ("state.initial", &["fresh", "full", "random", "aged"]),
    ("ftl.merge_first", &["false", "false", "true"]),
    ("ftl.finish", &["false", "true"]),
    ("ftl.block.coalesce", &["false", "true"]),
    ("ftl.bast.log_blocks", &["0", "1", "3"]),
    ("ftl.bast.victim", &["lru", "fifo"]),
    ("ftl.fast.log_blocks", &["0", "2", "4"]),
    ("ftl.fast.broken_run", &["merge", "keep", "reopen"]),
    ("ftl.last.log_blocks", &["0", "3", "5"]),
    ("ftl.last.sequential_blocks", &["0", "1", "2"]),
    ("ftl.last.threshold_bytes", &["4096", "8192", "65536"]),
    ("ftl.last.hot_percent", &["0", "25", "100"]),
    ("ftl.last.hot_blocks", &["0", "0", "1"]),
    ("ftl.last.victim", &["all", "window", "drawn"]),
    ("ftl.last.window_percent", &["1", "50", "100"]),
];

/// The same for devices with a map on flash that collect only when they need to, or write map pages
/// before they erase.
const CACHED_DRAWS: &[(&str, &[&str])] = &[
    ("map.store", &["line_cache", "cmt", "cmt"]),
    ("map.lazy_copying", &["true", "false"]),
    ("map.unwritten_read", &["zero", "array"]),
    ("gc.start", &["early", "needed"]),
    ("gc.erase_after_map", &["false", "true", "true"]),
    ("gc.map_reserve", &["half", "as_data"]),
    ("gc.emergency", &["false", "true"]),
    ("gc.search_us", &["0", "3"]),
    ("gc.restore", &["false", "false", "true"]),
    ("ftl.map_generations", &["0", "1"]),
    ("ftl.finish", &["false", "true"]),
    ("buffer.bytes", &["0", "0", "16384", "65536"]),
    ("buffer.high_percent", &["30", "100"]),
    ("buffer.low_percent", &["0"]),
    ("wear.static_gap", &["0"]),
    ("geometry.pages_per_block", &["8", "16", "64"]),
];

/// What a device chooses its pages by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Plain,
    Buffered,
    LogBlocks,
    Cached,
}

fn random_settings(random: &mut Random, kind: Kind) -> Settings {
    let mut draws: BTreeMap<&str, String> =
        DRAWS.iter().map(|(key, values)| (*key, random.pick(values).to_string())).collect();
    draws.extend(CARE_DRAWS.iter().map(|(key, values)| (*key, random.pick(values).to_string())));
    let own: &[_] = match kind {
        Kind::Plain => &[],
        Kind::Buffered => BUFFER_DRAWS,
        Kind::LogBlocks => LOG_DRAWS,
        Kind::Cached => CACHED_DRAWS,
    };
    draws.extend(own.iter().map(|(key, values)| (*key, random.pick(values).to_string())));
    // No steady state is known of a map on flash.
    if draws["map.store"] != "resident" && draws["state.initial"] == "steady" {
        draws.insert("state.initial", "aged".to_string());
    }
    if draws["gc.pacing"] != "none" {
        draws.insert("gc.preemptible", "true".to_string());
        draws.insert("gc.start", "early".to_string());
    }
    // A steady state would fill a buffer that is as large as the device.
    if draws.get("buffer.bytes").is_some_and(|bytes| bytes.len() > 7) {
        draws.insert("buffer.initial", "empty".to_string());
    }
    // Where a block holds one program, map pages that are rewritten for levelled ones take what
    // collection frees, for ever.
    let bits = if draws["nand.one_shot"] == "true" { &draws["nand.bits_per_cell"] } else { "1" };
    if draws["map.store"] != "resident" && *bits == *draws["geometry.pages_per_block"] {
        draws.insert("wear.static_gap", "0".to_string());
    }
    let reserve = random.pick(&[2, 3, 4]) + if kind == Kind::Cached { 4 } else { 0 };
    let hard = reserve + random.below(3);
    draws.insert("gc.reserve_blocks", reserve.to_string());
    draws.insert("gc.hard_free_blocks", hard.to_string());
    draws.insert("gc.soft_free_blocks", (hard + random.below(4)).to_string());
    let keys: Vec<String> = draws.iter().map(|(key, value)| format!("{key}={value}")).collect();
    // The smallest spare space that the settings accept, or a little more.
    let spare = random.pick(if kind == Kind::Cached { &[15, 25] } else { &[10, 13] });
    let mut keys = crate::common::keys(&keys);
    let mut why = String::new();
    for percent in 10..900u64 {
        keys.ftl.over_provisioning_percent = (percent * spare + 5) / 10 * 10_000;
        match Settings::new(keys) {
            Ok(settings) => return settings,
            Err(error) => why = error.to_string(),
        }
    }
    // Parts that do not go together are drawn again, and so are blocks that hold one program only:
    // no spare space is enough for them.
    let known =
        ["gc.copyback", "queue.slots_scope", "leave no room", "log blocks", "no steady state"];
    assert!(known.iter().any(|known| why.contains(known)), "{why}");
    random_settings(random, kind)
}

/// The device with another power budget, time series and energies.
fn with_power(random: &mut Random, settings: &Settings) -> Settings {
    let mut keys = settings.keys;
    keys.energy.controller_idle_mw = random.pick(&[0, 7]);
    keys.energy.erase_pj = random.pick(&[0, 1_000_000_007]);
    keys.energy.max_active_dies = random.pick(&[0, 0, 0, 1, 2]);
    keys.energy.budget_mw = random.pick(&[0, 0, 0, 352, 700]);
    keys.metrics.bin_ms = random.pick(&[0, 1_000_000]);
    Settings::new(keys).expect("no operation takes more than 352 mW")
}

fn random_requests(random: &mut Random, settings: &Settings) -> Vec<Request> {
    let units = u64::from(settings.exported_units);
    let hot = 1 + random.below(units);
    let weights = [random.below(4), 1 + random.below(6), random.below(2), random.below(2)];
    let gap = random.pick(&[1, 50, 2_000, 50_000]);
    let longest = random.pick(&[1, 3, 20]);
    let mut now = 0;
    (0..150 + random.below(900))
        .map(|_| {
            if random.below(4) == 0 {
                now += random.below(gap);
            }
            let mut roll = random.below(weights.iter().sum());
            let op = RequestOp::ALL.into_iter().zip(weights).find_map(|(op, weight)| {
                let hit = roll < weight;
                roll = roll.saturating_sub(weight);
                hit.then_some(op)
            });
            let op = op.unwrap();
            let pages = 1 + random.below(longest).min(units - 1);
            let reach = if random.below(5) == 0 { units } else { hot };
            let lpn = random.below(reach).min(units - pages);
            let mut request = request(now, op, lpn, u32::try_from(pages).unwrap());
            if random.below(3) == 0 && pages > 1 && op != RequestOp::Flush {
                request.first_sector += random.below(8);
                request.sectors -= 8;
            }
            request.stream = u16::try_from(random.below(4)).unwrap();
            if op == RequestOp::Write && random.below(20) == 0 {
                request.flags = Flags::PREFLUSH;
            }
            if op == RequestOp::Write && random.below(30) == 0 {
                request.flags = request.flags.with(Flags::FUA);
            }
            if op == RequestOp::Trim && random.below(3) == 0 {
                request.flags = Flags::ZEROES;
            }
            request
        })
        .collect()
}

/// The checker inside proves the rules; here every request must be answered and its energy count.
#[test]
fn random_devices_keep_every_rule() {
    let (mut collected, mut waits) = (0, 0);
    for seed in seeds(0..300) {
        let mut random = Random(seed);
        let kind = if seed % 3 == 0 { Kind::Buffered } else { Kind::Plain };
        let settings = random_settings(&mut random, kind);
        let requests = random_requests(&mut random, &settings);
        let settings = with_power(&mut random, &settings);
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
        let mut random = Random(seed);
        let settings = random_settings(&mut random, Kind::Cached);
        let requests = random_requests(&mut random, &settings);
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

/// The same with schemes of log blocks.
#[test]
fn random_devices_with_log_blocks_keep_every_rule() {
    let mut merged = [0; 4];
    for seed in seeds(2_000..2_300) {
        let mut random = Random(seed);
        let settings = random_settings(&mut random, Kind::LogBlocks);
        let requests = random_requests(&mut random, &settings);
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
    for seed in seeds(1_000..1_100) {
        let mut random = Random(seed);
        let mut settings = random_settings(&mut random, Kind::Plain);
        settings.keys.nand.endurance_cycles = random.pick(&[2, 3, 4, 10, 30]);
        let requests = random_requests(&mut random, &settings);
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
