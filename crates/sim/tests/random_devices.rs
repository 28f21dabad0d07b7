//! Random small devices, workloads and policies under the checker, which panics at the first
//! broken rule: data integrity, NAND order, exact latency parts, energy that adds up.

mod common;

use common::{Random, record, request, settings, try_record, try_settings};
use flashyard_core::geometry::StripeOrder;
use flashyard_core::request::{Flags, Request, RequestOp};
use flashyard_sim::config::Settings;
use flashyard_sim::device::SimError;
use flashyard_sim::metrics::counters::Tally;

/// A device; `buffered` is whether it shall have a write buffer.
fn random_settings(random: &mut Random, buffered: bool) -> Settings {
    let pages_per_block = random.pick(&[4, 8, 16, 64]);
    let reserve = random.pick(&[2, 3, 4]);
    let hard = reserve + random.below(3);
    let soft = hard + random.below(4);
    let store = random.pick(&["line_cache", "line_cache", "line_cache", "resident"]);
    let store = if buffered { "resident" } else { store };
    let buffer = random.pick(&[0, 16_384, 16_384, 65_536, 1_000_000, 1_u64 << 40]);
    let states = ["fresh", "fresh", "fresh", "full", "random", "aged", "steady"];
    let states = if store == "resident" { &states[..] } else { &states[..6] };
    let mut keys = vec![
        format!("geometry.channels={}", random.pick(&[1, 1, 2, 3])),
        format!("geometry.ways={}", random.pick(&[1, 1, 2, 3])),
        format!("geometry.dies_per_way={}", random.pick(&[1, 1, 1, 2])),
        format!("geometry.planes={}", random.pick(&[1, 1, 2, 4])),
        format!("geometry.pages_per_block={pages_per_block}"),
        format!("geometry.page_bytes={}", random.pick(&[4_096, 4_096, 8_192, 16_384])),
        format!("ftl.mapping_unit_bytes={}", random.pick(&[0, 4_096])),
        format!("ftl.stripe_order={}", random.pick(StripeOrder::WORDS)),
        format!("ftl.allocation={}", random.pick(&["static", "static", "dynamic"])),
        format!("ftl.streams={}", random.pick(&[1, 1, 3])),
        format!("ftl.generations={}", random.pick(&[0, 1, 1, 2])),
        format!(
            "ftl.partial_write={}",
            random.pick(&["ignore", "ignore", "read_modify_write", "bitmap"])
        ),
        format!("nand.bits_per_cell={}", random.pick(&[1, 1, 2, 4])),
        format!("nand.one_shot={}", random.pick(&["false", "true"])),
        format!("nand.read_2_us={}", random.pick(&[0, 90])),
        format!("nand.program_2_us={}", random.pick(&[0, 1_500])),
        format!("nand.spread_percent={}", random.pick(&[0, 0, 30])),
        format!("nand.multi_plane={}", random.pick(&["none", "same_page", "any"])),
        format!("nand.cache_read={}", random.pick(&["false", "true"])),
        format!("nand.program_suspends={}", random.pick(&[0, 0, 3])),
        format!("nand.erase_suspends={}", random.pick(&[0, 0, 3])),
        format!("channel.command_ns={}", random.pick(&[0, 0, 300])),
        format!("gc.copyback={}", random.pick(&["false", "false", "true"])),
        format!("channel.ps_per_byte={}", random.pick(&[0, 0, 2_500, 100_000])),
        format!("map.store={store}"),
        format!("map.entries_per_line={}", random.pick(&[1, 2, 8])),
        format!("map.entries_per_page={}", random.pick(&[16, 64, 0])),
        format!("map.batch_update={}", random.pick(&["true", "false"])),
        format!("map.hazards={}", random.pick(&["order", "order", "ignore"])),
        format!("map.cache_bytes={}", random.pick(&[32, 64, 256])),
        format!("queue.depth={}", random.pick(&[1, 2, 8, 64])),
        format!("queue.slots_scope={}", random.pick(&["device", "die"])),
        format!("queue.admission={}", random.pick(&["request", "page", "atomic"])),
        format!("queue.delayed_sets_hold_slot={}", random.pick(&["true", "false"])),
        format!("queue.data_order={}", random.pick(&["none", "lpn"])),
        format!("fot.shared_delays={}", random.pick(&["per_request", "per_set"])),
        format!("fot.transitive={}", random.pick(&["true", "false"])),
        format!("fot.span={}", random.pick(&["sum", "longest_die"])),
        format!("policy.command={}", random.pick(&["fifo", "rcf", "size", "rrf", "fot", "drs"])),
        format!("host.policy={}", random.pick(&["fifo", "idle"])),
        format!("nand.unmapped_read={}", random.pick(&["array", "zero"])),
        format!("state.initial={}", random.pick(states)),
        format!("energy.standby_mw={}", random.pick(&[0, 3])),
        format!("buffer.bytes={}", if buffered { buffer } else { 0 }),
        format!("buffer.acknowledge={}", random.pick(&["buffer", "buffer", "program"])),
        format!("buffer.access_ns={}", random.pick(&[0, 41, 30_000])),
        format!("buffer.ps_per_byte={}", random.pick(&[0, 78, 10_000])),
        format!("buffer.high_percent={}", random.pick(&[30, 80, 100])),
        format!("buffer.low_percent={}", random.pick(&[0, 30])),
        format!("buffer.flush_when_idle={}", random.pick(&["false", "true"])),
        format!("buffer.recency={}", random.pick(&["reads_and_writes", "writes"])),
        format!("gc.reserve_blocks={reserve}"),
        format!("gc.hard_free_blocks={hard}"),
        format!("gc.soft_free_blocks={soft}"),
    ];
    // The smallest spare space that the settings accept, or a little more.
    let spare = random.pick(&[1.0, 1.3]);
    let blocks = random.pick(&[24, 40, 80]);
    keys.push(format!("geometry.blocks_per_plane={blocks}"));
    let mut why = String::new();
    for percent in 10..900 {
        let percent = (f64::from(percent) * spare).round();
        let mut keys = keys.clone();
        keys.push(format!("ftl.over_provisioning_percent={percent}"));
        match try_settings(&keys) {
            Ok(settings) => return settings,
            Err(error) => why = error,
        }
    }
    // Parts that do not go together are drawn again.
    assert!(
        ["gc.copyback", "queue.slots_scope", "leave no room"].iter().any(|part| why.contains(part)),
        "{why}"
    );
    random_settings(random, buffered)
}

fn random_requests(random: &mut Random, settings: &Settings) -> Vec<Request> {
    let units = u64::from(settings.exported_units);
    let hot = 1 + random.below(units);
    let weights = [random.below(4), 1 + random.below(6), random.below(2), random.below(2)];
    let gap = random.pick(&[1, 50, 2_000, 50_000]);
    let longest = random.pick(&[1, 3, 20]);
    let mut now = 0;
    (0..200 + random.below(1_500))
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
    let mut collected = 0;
    for seed in 0..500 {
        let mut random = Random(seed);
        let settings = random_settings(&mut random, seed % 3 == 0);
        let requests = random_requests(&mut random, &settings);
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
        let buffer = &report.buffer;
        let gone = buffer.flushed_units + buffer.trimmed_units + buffer.dirty_at_end;
        assert_eq!(buffer.dirtied_units, gone, "seed {seed}");
        collected += report.gc.jobs;
    }
    assert!(collected > 10_000, "garbage collection ran {collected} times");
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
