//! Bus requests: closed forms of single operations, the rules of the grammar on random devices, and
//! all precisions against each other where they must agree.

use crate::common::{Random, record, request, seeds, settings, try_record};
use crate::generators::devices::{Family, case};
use flashyard_core::bus::policy::BusPolicyName;
use flashyard_core::bus::request::{BusClass, BusKind};
use flashyard_core::request::RequestOp;
use flashyard_core::units::{DieId, Time};
use flashyard_sim::config::{BusTiming, DeviceKeys, Precision, Readiness, Settings};
use flashyard_sim::device::{Device, RunError, SimError};
use flashyard_sim::metrics::parts::Part;
use flashyard_sim::observe::{BusTransfer, Observer, Shared};
use flashyard_sim::report::Report;
use std::collections::BTreeMap;
use std::convert::Infallible;

/// The published device: one channel, chips of 16 KiB pages, the bus of the framework.
fn framework(keys: &[&str]) -> Settings {
    let base = [
        "geometry.ways=4",
        "geometry.page_bytes=16384",
        "geometry.blocks_per_plane=64",
        "nand.read_us=75",
        "nand.program_us=1500",
        "nand.erase_us=5000",
        "map.store=resident",
        "policy.command=fifo",
        "bus.precision=requests",
        "bus.timing=framework",
        "energy.transfer_mw=20",
    ];
    settings(&[&base, keys].concat())
}

/// One operation on an idle channel takes its requests, its array and, under the loop of the
/// framework, a few rounds. Source: the sum of the durations of the microprograms.
#[test]
fn single_operations_take_what_their_requests_take() {
    let write = request(10, RequestOp::Write, 0, 4);
    let read = request(10_000, RequestOp::Read, 0, 4);
    for (policy, slack) in [("commands_first", 0), ("out_of_order", 0), ("framework", 400)] {
        for readiness in ["ideal", "polled"] {
            let arbitration = format!("channel.arbitration={policy}");
            let device = framework(&[&arbitration, &format!("bus.readiness={readiness}")]);
            let (_, run) = record(&device, &[], &[write, read]);
            let took =
                |at: usize| run.requests[at].completion.since(run.requests[at].request.arrival);
            for (at, expected) in [(0, 1_665_900), (1, 240_870)] {
                let took = took(at).as_ns();
                // A poll that must not come too early comes 40 ns before its answer at the least.
                let late = if readiness == "polled" { slack + 1_200 } else { slack };
                assert!(
                    (expected..=expected + late).contains(&took),
                    "{policy} {readiness}: {took}"
                );
            }
        }
    }
    let silent = framework(&["bus.poll_before_data=false"]);
    let (_, run) = record(&silent, &[], &[write, read]);
    let took = run.requests[1].completion.since(run.requests[1].request.arrival);
    assert_eq!(took.as_ns(), 240_870 - 190, "without the status");
}

/// Keys that change what a channel costs and when, so that all precisions must agree.
fn without_bus_times(mut keys: DeviceKeys, precision: Precision) -> DeviceKeys {
    (keys.channel.command_ns, keys.channel.ps_per_byte) = (0, 0);
    keys.bus.precision = precision;
    keys.bus.timing = BusTiming::Keys;
    keys.bus.status_ns = 0;
    keys.bus.readiness = Readiness::Ideal;
    keys
}

/// With zero bus times, ideal readiness and no cost of scheduling every precision finds the same,
/// to the nanosecond and the picojoule, whatever the device does.
#[test]
fn precisions_agree_where_the_bus_takes_no_time() {
    for seed in seeds(0..30) {
        let family = [Family::Any, Family::LogBlocks, Family::Cached][(seed % 3) as usize];
        let (settings, requests) = case(family, seed + 70_000);
        let of = |precision, policy| {
            let mut keys = without_bus_times(settings.keys.clone(), precision);
            keys.channel.arbitration = policy;
            let settings = Settings::new(keys).unwrap_or_else(|error| panic!("{seed}: {error}"));
            match try_record(&settings, &[], &requests) {
                Ok((mut report, run)) => {
                    report.bus = None;
                    let completions: Vec<_> =
                        run.requests.iter().map(|done| done.completion).collect();
                    Ok((format!("{report:?}"), completions))
                }
                Err(error) => Err(error.to_string()),
            }
        };
        let phases = of(Precision::Phases, BusPolicyName::CommandsFirst);
        assert_eq!(phases, of(Precision::Command, BusPolicyName::CommandsFirst), "seed {seed}");
        for policy in
            [BusPolicyName::CommandsFirst, BusPolicyName::InOrder, BusPolicyName::OutOfOrder]
        {
            assert_eq!(phases, of(Precision::Requests, policy), "seed {seed} {policy:?}");
        }
    }
}

/// What was seen of the operation that a die serves.
#[derive(Default)]
struct Seen {
    kinds: String,
    pages: u32,
    bytes: u64,
}

/// Checks every bus request against the grammar and the rules of a channel.
struct Rules {
    channels: BTreeMap<u32, Time>,
    dies: BTreeMap<DieId, Seen>,
    operations: Shared<BTreeMap<&'static str, u64>>,
    ahead: bool,
    suspends: bool,
}

impl Observer for Rules {
    fn bus_request(&mut self, event: &BusTransfer) {
        let BusTransfer { request, start, end, die, .. } = *event;
        let free = self.channels.entry(request.channel).or_insert(Time::ZERO);
        assert!(start >= *free && end >= start, "a channel carries one request at a time");
        *free = end;
        let seen = self.dies.entry(die).or_default();
        match request.kind {
            // Cache reads begin while the data of the one before leave.
            BusKind::DataOut if self.ahead => return,
            _ if request.kind.class() == BusClass::Activation
                && request.plane == 0
                && request.kind != BusKind::ProgramActivate =>
            {
                *seen = Seen::default();
            }
            _ => {}
        }
        seen.pages = seen.pages.max(request.plane + 1);
        seen.bytes += u64::from(request.bytes);
        let kind = request.kind.name();
        if !seen.kinds.ends_with(kind) {
            seen.kinds += kind;
        }
        let name = match seen.kinds.as_str() {
            "EA" | "EAST" => "erase",
            "PP" | "PPPA" | "PPPAST" | "PPID" | "PPIDPA" | "PPIDPAST" => "program",
            "RA" | "RAOD" | "RAST" | "RASTOD" => "read",
            // Of several pages, or of a copy inside the die.
            kinds if kinds.starts_with("PPIDPP") => "program of pages",
            // Reads go between the parts of an operation that they suspend.
            kinds if self.suspends => {
                assert!(kinds.starts_with("RA"), "{kinds}");
                "suspended"
            }
            kinds => panic!("{kinds} is no operation"),
        };
        *self.operations.get().entry(name).or_default() += 1;
        assert_eq!(request.bytes > 0, request.kind.class() == BusClass::Data, "{kind}");
        assert_eq!(event.ready.is_some(), request.kind == BusKind::Status, "{kind}");
    }
}

/// Random devices under the checker, with every policy, readiness and scope: each request is
/// answered, latencies and energy add up, requests keep the grammar.
#[test]
fn random_devices_with_bus_requests_keep_every_rule() {
    let (mut polls, mut ran) = (0, 0);
    let operations = Shared::new(BTreeMap::new());
    for seed in seeds(4_000..4_060) {
        let (settings, requests) = case(Family::Bus, seed);
        let keys = &settings.keys;
        let rules = Rules {
            channels: BTreeMap::new(),
            dies: BTreeMap::new(),
            operations: operations.clone(),
            ahead: keys.nand.cache_read,
            suspends: keys.nand.program_suspends + keys.nand.erase_suspends > 0,
        };
        let mut left = requests.iter().copied();
        let run = || {
            let mut device = Device::new(&settings);
            device.check();
            device.observe(Box::new(rules));
            device.run(|| Ok::<_, Infallible>(left.next()))
        };
        let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(run));
        let Ok(result) = result else { panic!("seed {seed}: {:#?}", settings.keys) };
        // A request without an answer is an error.
        let report = match result {
            Ok(report) => report,
            Err(RunError::Sim(SimError::NoReserve { .. } | SimError::NoRoom { .. })) => {
                continue;
            }
            Err(error) => panic!("seed {seed}: {error:?}"),
        };
        ran += 1;
        assert_eq!(report.workload.requests, requests.len() as u64, "seed {seed}");
        if let Some(series) = &report.series {
            let bins: u64 = series.bins.iter().map(|bin| bin.energy_pj).sum();
            assert_eq!(bins, report.energy_pj.total, "seed {seed}: over time");
        }
        let bus = report.bus.expect("bus requests are counted");
        assert!(bus.busy_answers <= bus.status_requests);
        polls += bus.busy_answers;
    }
    let operations = operations.get();
    assert!(
        operations.len() == 5 && operations.values().all(|count| *count > 100),
        "{operations:?}"
    );
    assert!(polls > 100 && ran > 15, "{polls} {ran}");
}

/// The report of a device under a load of reads and writes.
fn loaded(keys: &[&str]) -> Report {
    let device = framework(keys);
    let mut random = Random(5);
    let requests: Vec<_> = (0..4_000)
        .map(|number| {
            let op = if random.below(3) == 0 { RequestOp::Write } else { RequestOp::Read };
            request(number * 300, op, random.below(400) * 4, 4)
        })
        .collect();
    record(&device, &[], &requests).0
}

/// What is done and what is known to be done are two times, and the difference is a part of the
/// latency: with a tail of array times polls come late, and the status costs time on the bus.
#[test]
fn the_time_until_the_end_is_known_is_a_part() {
    let part = |report: &Report, part| report.latency_parts_ns["read"].get(part);
    let tail = "nand.spread_percent=40";
    let ideal = loaded(&["bus.poll_before_data=false"]);
    assert_eq!(part(&ideal, Part::Status), 0, "known at once");
    let asked = loaded(&[]);
    let reads = asked.latency_ns["read"].count;
    assert!(part(&asked, Part::Status) >= 190 * reads, "each read waits for its status request");
    let polled = loaded(&["bus.readiness=polled", tail, "bus.poll_gap_ns=1000"]);
    let known = loaded(&[tail]);
    assert!(part(&polled, Part::Status) > part(&known, Part::Status), "polls come late");
    let busy = polled.bus.expect("there are requests").busy_answers;
    assert!(busy > 500, "{busy} polls came too early");
    assert!(polled.energy_pj.total > known.energy_pj.total, "polls take energy");
}
