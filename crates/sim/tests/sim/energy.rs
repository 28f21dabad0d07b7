//! Energy of operations, controller and memory by formula, energy over time, and the power budget:
//! it is never exceeded, it costs no one the answer, and where it is large it changes nothing.

use crate::common::{Random, Recorded, collecting, record, request, settings};
use flashyard_core::command::Op;
use flashyard_core::policy::PolicyName;
use flashyard_core::request::{Request, RequestOp};
use flashyard_core::units::{DieId, Span, Time};
use flashyard_sim::config::Settings;
use flashyard_sim::observe::CommandDone;
use flashyard_sim::report::Report;
use std::collections::BTreeMap;

/// Bursts of reads and writes at random, with pauses of 3 ms between them.
fn bursts(settings: &Settings, seed: u64, count: u64) -> Vec<Request> {
    let mut random = Random(seed);
    let units = u64::from(settings.exported_units);
    let mut now = 250;
    (0..count)
        .map(|number| {
            now += if number % 40 == 39 { 3_000 } else { random.below(60) };
            let op = random.pick(&[RequestOp::Read, RequestOp::Write]);
            request(now, op, random.below(units - 1), 1 + u32::try_from(random.below(2)).unwrap())
        })
        .collect()
}

fn resource(report: &Report, name: &str) -> u64 {
    report.energy_pj.by_resource[name]
}

/// Energy per page and block, whatever the times; the one of a part where no key says otherwise.
#[test]
fn operations_of_a_part_are_counts_times_energy() {
    for (own, program) in [(&[][..], 38_040_000), (&["energy.program_pj=5000"][..], 5_000)] {
        let mut keys = vec!["energy.part=park2011", "nand.bits_per_cell=2", "nand.read_2_us=90"];
        keys.extend(own);
        let settings = collecting(&keys);
        let (report, run) = record(&settings, &[], &bursts(&settings, 3, 3_000));
        let count = |op| run.commands.iter().filter(|done| done.op == op).count() as u64;
        assert!(count(Op::Erase) > 50);
        assert_eq!(resource(&report, "array_read"), count(Op::Read) * 4_720_000);
        assert_eq!(resource(&report, "array_program"), count(Op::Program) * program);
        assert_eq!(resource(&report, "array_erase"), count(Op::Erase) * 527_680_000);
    }
}

/// The pages of a word line that one operation programs count each.
#[test]
fn every_page_of_a_word_line_takes_its_energy() {
    let keys = ["nand.bits_per_cell=2", "nand.one_shot=true", "energy.program_pj=1000"];
    let settings = settings(&[&keys[..], &["map.store=resident"]].concat());
    let (report, _) = record(&settings, &[], &[request(0, RequestOp::Write, 0, 1)]);
    assert_eq!(resource(&report, "array_program"), 2_000);
}

/// Instants between which the device has something to do, from the logs alone: a request is
/// outstanding, or a command waits or runs.
fn busy_ns(run: &Recorded) -> u64 {
    let requests = run.requests.iter().map(|done| (done.request.arrival, done.completion));
    let commands = run.commands.iter().map(|done| (done.enqueued, done.end));
    let mut spans: Vec<_> = requests.chain(commands).collect();
    spans.sort_unstable();
    let (mut sum, mut until) = (0, Time::ZERO);
    for (from, to) in spans {
        let from = from.max(until);
        if to > from {
            sum += to.since(from).as_ns();
            until = to;
        }
    }
    sum
}

/// The controller is active while requests are outstanding or garbage is collected; DRAM takes its
/// power all the time and energy for each page access.
#[test]
fn controller_and_dram_are_power_times_time() {
    let settings = collecting(&[
        "energy.controller_active_mw=210",
        "energy.controller_idle_mw=70",
        "energy.dram=low_power",
        "energy.dram_bytes=100000000",
        "energy.standby_mw=2",
        "energy.search_pj=50",
        "gc.timing=background",
        "gc.idle_us=100",
        "nand.erase_us=500",
    ]);
    let mut requests = bursts(&settings, 5, 2_000);
    for (number, request) in (0..).zip(&mut requests) {
        request.arrival = request.arrival + Span::from_us(number / 40 * 100_000);
    }
    let (report, run) = record(&settings, &[], &requests);
    let first = requests[0].arrival;
    let last = run.commands.iter().map(|done| done.end).max().unwrap();
    let (span, busy) = (last.since(first).as_ns(), busy_ns(&run));
    assert_eq!(report.power.span_ns, span);
    assert!(busy < span, "the device was idle for a while");
    assert_eq!(resource(&report, "controller"), busy * 210 + (span - busy) * 70);
    let accesses = report.memory.table_accesses;
    assert_eq!(resource(&report, "dram"), span * 2 * 100 + accesses * 1_500);
    assert_eq!(resource(&report, "search"), report.gc.searches * 50);
    assert_eq!(resource(&report, "standby"), span * 2 * 4);
    let energy = &report.energy_pj;
    assert!(energy.by_phase.values().all(|&pj| pj > 0), "{:?}", energy.by_phase);
    let mean = energy.total as f64 / span as f64;
    assert_eq!(report.power.mean_mw, Some(mean));
}

/// A unit of 4096 bytes in PRAM: 27.2 pJ a byte got, 142.72 a byte put, rounded up a unit.
#[test]
fn the_buffer_takes_energy_for_each_unit() {
    let settings =
        collecting(&["map.store=resident", "buffer.bytes=65536", "energy.buffer_memory=pram"]);
    let (report, _) = record(&settings, &[], &bursts(&settings, 7, 1_000));
    let buffer = &report.buffer;
    let gets = buffer.read_hits + buffer.flushed_units;
    let puts = buffer.write_hits + buffer.write_misses;
    assert!(buffer.read_hits > 0 && buffer.flushed_units > 0);
    assert_eq!(resource(&report, "buffer"), gets * 111_412 + puts * 584_582);
}

/// Energy of each bin from the logs alone: each operation evenly over its array time.
#[test]
fn the_power_series_is_the_energy_of_the_operations_over_time() {
    let settings = collecting(&[
        "metrics.bin_ms=1",
        "channel.ps_per_byte=0",
        "energy.controller_active_mw=11",
        "energy.controller_idle_mw=11",
        "energy.erase_pj=1000000007",
    ]);
    let requests = bursts(&settings, 11, 1_500);
    let (report, run) = record(&settings, &[], &requests);
    let series = report.series.as_ref().unwrap();
    let bin = series.bin_ns;
    let mut expected = vec![0.0; series.bins.len()];
    let mut spread = |from: u64, until: u64, pj: f64| {
        for (number, sum) in (0..).zip(&mut expected) {
            let (start, end) = (number * bin, (number + 1) * bin);
            let overlap = until.min(end).saturating_sub(from.max(start));
            *sum += pj * overlap as f64 / (until - from) as f64;
        }
    };
    for done in &run.commands {
        let pj = match done.op {
            Op::Read => 60_000 * 36,
            Op::Program => 700_000 * 94,
            Op::Erase => 1_000_000_007u64,
        };
        spread(done.start.as_ns(), done.end.as_ns(), pj as f64);
    }
    let span = report.power.span_ns;
    spread(requests[0].arrival.as_ns(), requests[0].arrival.as_ns() + span, (span * 11) as f64);
    for (bin, expected) in series.bins.iter().zip(&expected) {
        // Each operation's share is rounded down to a femtojoule.
        assert!((bin.energy_pj as f64 - expected).abs() < 2.0, "{} for {expected}", bin.energy_pj);
    }
    let sum: u64 = series.bins.iter().map(|bin| bin.energy_pj).sum();
    assert_eq!(sum, report.energy_pj.total);
    let whole = &expected[..expected.len() - 1];
    let peak = whole.iter().copied().fold(0.0, f64::max) / bin as f64;
    assert!((report.power.peak_mw.unwrap() - peak).abs() < 1e-5);
}

/// All of it: transfers, suspended operations, several planes, page types, a buffer, DRAM.
#[test]
fn bins_add_up_to_the_total_exactly() {
    let common = [
        "metrics.bin_ms=1",
        "energy.controller_active_mw=13",
        "energy.dram=sdram",
        "energy.dram_scaling=bytes",
        "energy.dram_bytes=1000001",
        "energy.standby_mw=1",
    ];
    for own in [
        &["nand.program_suspends=3", "nand.erase_suspends=3", "nand.resume_us=40"][..],
        &["geometry.planes=2", "nand.multi_plane=any", "energy.part=park2011"],
        &["nand.bits_per_cell=2", "nand.one_shot=true", "nand.cache_read=true"],
        &["map.store=resident", "buffer.bytes=65536", "energy.buffer_memory=dram"],
        &[
            "nand.erase_suspends=9",
            "nand.suspend_us=1",
            "energy.erase_pj=1000003",
            "nand.erase_us=9000",
        ],
    ] {
        let settings = collecting(&[&common, own].concat());
        let (report, _) = record(&settings, &[], &bursts(&settings, 13, 1_500));
        let series = report.series.as_ref().unwrap();
        let sum: u64 = series.bins.iter().map(|bin| bin.energy_pj).sum();
        assert_eq!(sum, report.energy_pj.total, "{own:?}");
        let suspends = own.iter().any(|key| key.contains("suspends"));
        assert_eq!(report.flash.suspensions > 0, suspends, "{own:?}");
    }
}

/// The most dies at work at once and the most power of their arrays, from the log of commands of a
/// device without transfers: those of a die that start together are one operation, a plane each.
fn most_at_once(settings: &Settings, commands: &[CommandDone]) -> (usize, u64) {
    let mut operations: BTreeMap<(Time, DieId), (Time, Op, Vec<u32>)> = BTreeMap::new();
    for done in commands {
        let plane = done.ppn.map_or(0, |ppn| {
            settings.geometry.plane_of(flashyard_core::units::Ppn::new(ppn)).get()
        });
        let entry = operations.entry((done.start, done.die)).or_insert((done.end, done.op, vec![]));
        entry.2.push(plane);
    }
    let mut steps = Vec::new();
    for ((start, _), (end, op, mut planes)) in operations {
        planes.sort_unstable();
        planes.dedup();
        let mw = i64::try_from(settings.operation_mw(op) * planes.len() as u64).unwrap();
        // What ends at an instant makes room for what begins then.
        steps.extend([(end, 0, -1, -mw), (start, 1, 1, mw)]);
    }
    steps.sort_unstable();
    let (mut dies, mut power, mut most) = (0i64, 0i64, (0, 0));
    for (_, _, die, mw) in steps {
        (dies, power) = (dies + die, power + mw);
        most = (most.0.max(dies), most.1.max(power));
    }
    (usize::try_from(most.0).unwrap(), u64::try_from(most.1).unwrap())
}

/// Eight dies that collect garbage, without transfers.
fn eight_dies(keys: &[&str]) -> Settings {
    collecting(&[&["geometry.ways=4", "channel.ps_per_byte=0"], keys].concat())
}

/// Every policy under every small budget, with what makes operations wait for one another: all is
/// answered, the parts of every latency add up (the device checks that), and the log keeps to it.
#[test]
fn the_budget_is_never_exceeded() {
    let mut waited = 0;
    for (number, policy) in (0..).zip(PolicyName::WORDS) {
        let policy = format!("policy.command={policy}");
        for own in [
            &["energy.max_active_dies=1"][..],
            &["energy.max_active_dies=3", "nand.cache_read=true"],
            &["energy.budget_mw=352"],
            &["energy.budget_mw=500", "geometry.planes=2", "nand.multi_plane=any"],
            &["energy.budget_mw=400", "energy.max_active_dies=2", "gc.preemptible=false"],
        ] {
            let settings = eight_dies(&[&[policy.as_str()], own].concat());
            let requests = bursts(&settings, number, 500);
            let (report, run) = record(&settings, &[], &requests);
            assert_eq!(run.requests.len(), requests.len());
            let (dies, mw) = most_at_once(&settings, &run.commands);
            let keys = &settings.keys.energy;
            let most = |limit: u64| if limit == 0 { u64::MAX } else { limit };
            assert!(dies as u64 <= most(keys.max_active_dies), "{policy} {own:?}: {dies}");
            assert!(mw <= most(keys.budget_mw), "{policy} {own:?}: {mw} mW");
            // It is used up: as many dies, or more power than leaves room for an erase.
            if keys.budget_mw == 0 {
                assert_eq!(dies as u64, keys.max_active_dies, "{policy} {own:?}");
            } else {
                assert!(mw + 352 > keys.budget_mw, "{policy} {own:?}: {mw} mW");
            }
            waited += report.power.waits;
        }
    }
    assert!(waited > 10_000, "dies waited {waited} times");
}

/// With suspension the checker counts: an operation that is suspended keeps its share.
#[test]
fn suspended_operations_keep_their_power() {
    for own in [
        // One die alone would be suspended by reads that just arrive.
        &["energy.max_active_dies=2"][..],
        &["energy.max_active_dies=3", "nand.cache_read=true", "channel.ps_per_byte=25000"],
        &["energy.budget_mw=720", "energy.read_mw=360"],
    ] {
        let suspends = ["nand.program_suspends=2", "nand.erase_suspends=2", "policy.command=rcf"];
        let settings = eight_dies(&[&suspends, own].concat());
        let (report, _) = record(&settings, &[], &bursts(&settings, 17, 1_500));
        let (suspensions, waits) = (report.flash.suspensions, report.power.waits);
        assert!(suspensions > 10 && waits > 100, "{own:?}: {suspensions} and {waits}");
    }
}

/// A budget for everything changes nothing, to the byte.
#[test]
fn a_large_budget_changes_nothing() {
    for own in [
        &["nand.cache_read=true", "channel.ps_per_byte=2500"][..],
        &["nand.program_suspends=2", "nand.erase_suspends=2", "policy.command=rcf"],
        &["geometry.planes=2", "nand.multi_plane=any"],
    ] {
        let run = |budget: &[&str]| {
            let settings = eight_dies(&[own, budget].concat());
            let (report, run) = record(&settings, &[], &bursts(&settings, 19, 1_000));
            assert_eq!(report.power.waits, 0);
            format!("{report:?} {run:?}")
        };
        // 8 dies of 2 planes at 352 mW.
        let limits = ["energy.max_active_dies=8", "energy.budget_mw=5632"];
        assert_eq!(run(&[]), run(&limits), "{own:?}");
    }
}

/// Two dies, power for one: the second read waits for the first one's 60 us, in the part bus, and
/// the third, on the first die, is behind it in line.
#[test]
fn dies_take_turns_and_the_wait_is_explained() {
    let settings = settings(&[
        "geometry.channels=2",
        "map.store=resident",
        "nand.read_us=60",
        "energy.max_active_dies=1",
        "ftl.stripe_order=cwdp",
    ]);
    let read = |lpn| request(0, RequestOp::Read, lpn, 1);
    let (report, run) = record(&settings, &[], &[read(0), read(2), read(1)]);
    let ends: Vec<_> = run.requests.iter().map(|done| done.completion.as_ns() / 1_000).collect();
    assert_eq!(ends, [60, 180, 120], "the other die goes before the first one's next read");
    let part = |request: usize, name: &str| {
        let parts = run.requests[request].parts;
        let names = flashyard_sim::metrics::parts::Part::ALL;
        let at = names.iter().position(|part| part.name() == name).unwrap();
        parts.0[at] / 1_000
    };
    assert_eq!([part(2, "bus"), part(2, "array")], [60, 60]);
    assert_eq!([part(1, "die_read"), part(1, "bus"), part(1, "array")], [60, 60, 60]);
    assert_eq!((report.power.waits, report.power.waited_ns), (2, 120_000));
}
