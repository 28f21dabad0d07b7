//! Energy of the link, power of reclaiming space, sleep, and the power meter, by formula: from keys
//! and from the logs alone.

use crate::common::samples::Samples;
use crate::common::{
    Random, Recorded, collecting, one_full_die, read, record, request, restored, saved, settings,
    write,
};
use flashyard_core::request::{Request, RequestOp};
use flashyard_core::units::Time;
use flashyard_sim::config::Settings;
use flashyard_sim::device::{Device, PhaseKeys, Upkeep};
use flashyard_sim::metrics::parts::Part;
use flashyard_sim::report::Report;
use flashyard_sim::stream::{Stream, StreamKeys};
use std::convert::Infallible;

fn resource(report: &Report, name: &str) -> u64 {
    report.energy_pj.by_resource[name]
}

/// Reads and writes of up to four pages at random, with a pause after every fortieth.
fn bursts(settings: &Settings, seed: u64, count: u64, pause_us: u64) -> Vec<Request> {
    let mut random = Random(seed);
    let units = u64::from(settings.exported_units);
    let mut now = 250;
    (0..count)
        .map(|number| {
            now += if number % 40 == 39 { pause_us } else { random.below(60) };
            let op = random.pick(&[RequestOp::Read, RequestOp::Write]);
            let pages = 1 + random.below(4);
            request(now, op, random.below(units - pages), u32::try_from(pages).unwrap())
        })
        .collect()
}

/// Every byte of a read or write crosses once, whatever time the link takes; a trim has no data.
#[test]
fn the_link_takes_energy_for_each_byte() {
    for own in [
        &[][..],
        &["interface.link_ps_per_byte=1667", "interface.link_latency_ns=500"],
        &["interface.link_ps_per_byte=1667", "interface.duplex=half", "metrics.bin_ms=1"],
    ] {
        let settings = collecting(&[&["energy.link_pj_per_byte=37"], own].concat());
        let mut requests = bursts(&settings, 3, 800, 3_000);
        requests.push(request(1_000_000, RequestOp::Trim, 5, 3));
        // Half a page.
        requests[7].sectors -= 4;
        let bytes = |op| {
            let all = requests.iter().filter(|request| request.op == op);
            all.map(|request| u64::from(request.sectors) * 512).sum::<u64>()
        };
        let (report, run) = record(&settings, &[], &requests);
        let link = &report.energy_pj.link;
        assert_eq!(link["read"], bytes(RequestOp::Read) * 37, "{own:?}");
        assert_eq!(link["write"], bytes(RequestOp::Write) * 37, "{own:?}");
        assert_eq!(resource(&report, "link"), link["read"] + link["write"]);
        let attributed: u64 = run.requests.iter().map(|done| done.energy_pj).sum();
        assert_eq!(attributed, report.energy_pj.attributed, "{own:?}");
        let megabytes = (bytes(RequestOp::Read) + bytes(RequestOp::Write)) as f64 / 1e6;
        let joules = report.energy_pj.total as f64 / 1e12;
        let found = report.power.j_per_mb.unwrap();
        assert!((found / (joules / megabytes) - 1.0).abs() < 1e-12, "{found}");
        let seconds = report.throughput.makespan_ns as f64 / 1e9;
        let rate = report.throughput.bytes_per_s.unwrap();
        assert!((rate / (megabytes * 1e6 / seconds) - 1.0).abs() < 1e-12, "{rate}");
    }
}

/// By pages, whole mapping units cross; by parts of them the sectors of requests.
#[test]
fn page_transfers_take_energy_for_what_crosses() {
    for (transfer, whole, ps) in
        [("page", true, 1667), ("part", false, 1667), ("page", true, 0), ("part", false, 0)]
    {
        let transfer = format!("interface.transfer={transfer}");
        let time = format!("interface.link_ps_per_byte={ps}");
        let link = ["energy.link_pj_per_byte=37", &time, &transfer];
        let settings = collecting(&link);
        let mut requests = bursts(&settings, 5, 500, 3_000);
        for request in requests.iter_mut().step_by(7).filter(|request| request.sectors > 0) {
            (request.first_sector, request.sectors) = (request.first_sector + 3, 4);
        }
        let (report, run) = record(&settings, &[], &requests);
        let crosses = run.requests.iter().map(|done| {
            let (pages, sectors) = (u64::from(done.pages), u64::from(done.request.sectors));
            if whole { pages * 4_096 } else { sectors * 512 }
        });
        assert_eq!(resource(&report, "link"), crosses.sum::<u64>() * 37);
    }
}

/// Instants that some spans cover, as spans apart from one another.
fn union(mut spans: Vec<(Time, Time)>) -> Vec<(Time, Time)> {
    spans.sort_unstable();
    let mut apart: Vec<(Time, Time)> = Vec::new();
    for (from, until) in spans {
        match apart.last_mut() {
            Some(last) if from <= last.1 => last.1 = last.1.max(until),
            _ => apart.push((from, until)),
        }
    }
    apart
}

/// Nanoseconds with the device's own commands, while requests are outstanding and while none is,
/// from the logs alone.
fn reclaiming_ns(run: &Recorded) -> (u64, u64) {
    let own = run.commands.iter().filter(|done| done.purpose.is_gc());
    let own = union(own.map(|done| (done.enqueued, done.end)).collect());
    let asked = run.requests.iter().map(|done| (done.request.arrival, done.completion));
    let asked = union(asked.collect());
    let length = |spans: &[(Time, Time)]| -> u64 {
        spans.iter().map(|(from, until)| until.since(*from).as_ns()).sum()
    };
    let mut both = 0;
    for &(from, until) in &own {
        for &(first, last) in &asked {
            let (from, until) = (from.max(first), until.min(last));
            both += if until > from { until.since(from).as_ns() } else { 0 };
        }
    }
    (both, length(&own) - both)
}

/// Time x power, apart for the time in which a request is outstanding and the rest.
#[test]
fn reclaiming_space_takes_power_while_it_is_under_way() {
    for (own, idles) in [
        (&["gc.timing=background", "gc.idle_us=100", "nand.erase_us=500"][..], true),
        (&["map.store=resident", "gc.start=needed", "energy.search_pj=9"], false),
    ] {
        let keys = ["energy.reclaim_mw=519", "energy.reclaim_idle_mw=23"];
        let settings = collecting(&[&keys, own].concat());
        let requests = bursts(&settings, 7, 2_000, 50_000);
        let (report, run) = record(&settings, &[], &requests);
        let (asked, idle) = reclaiming_ns(&run);
        assert!(asked > 0 && (idle > 0) == idles, "{own:?}: {asked} and {idle}");
        assert_eq!(resource(&report, "reclaim"), asked * 519 + idle * 23, "{own:?}");
        assert_eq!(report.energy_pj.by_purpose["reclaim"], resource(&report, "reclaim"));
        // Nothing else moves.
        let (plain, other) = record(&collecting(own), &[], &requests);
        assert_eq!(plain.energy_pj.attributed, report.energy_pj.attributed, "{own:?}");
        assert_eq!(format!("{:?}", other.commands), format!("{:?}", run.commands), "{own:?}");
    }
}

/// Merges of log blocks take the power, too: writes that only fill log blocks leave them all to the
/// end of the run, where they follow one another on the die. Each of their commands takes 1 us.
#[test]
fn merges_take_the_power_of_reclaiming_space() {
    let keys = ["energy.reclaim_mw=1", "energy.reclaim_idle_mw=519"];
    let log = ["ftl.scheme=fast", "nand.program_order=any", "ftl.finish=true"];
    let settings = one_full_die(64, 8, 30, &[&keys[..], &log].concat());
    let requests: Vec<_> = (0..20).map(|number| write(number * 5, 3 + 16 * number)).collect();
    let (report, run) = record(&settings, &[], &requests);
    let own = run.commands.iter().filter(|done| done.purpose.name() == "merge");
    assert!(report.gc.merges.full > 10, "{:?}", report.gc.merges);
    assert_eq!(resource(&report, "reclaim"), own.count() as u64 * 1_000 * 519);
}

/// A device whose reads take 60 us, with both levels of sleep.
fn sleeping(own: &[&str]) -> Settings {
    let base = [
        "map.store=resident",
        "nand.read_us=60",
        "energy.read_mw=0",
        "energy.controller_idle_mw=50",
        "energy.controller_active_mw=110",
        "sleep.after_us=1000",
        "sleep.power_mw=7",
        "sleep.entry_us=200",
        "sleep.entry_pj=3000017",
        "sleep.exit_us=90",
        "sleep.exit_pj=5000011",
        "deep_sleep.after_us=20000",
        "deep_sleep.power_mw=2",
        "deep_sleep.entry_us=500",
        "deep_sleep.entry_pj=4000037",
        "deep_sleep.exit_us=3000",
        "deep_sleep.exit_pj=900000011",
    ];
    settings(&[&base, own].concat())
}

/// The pause behind the first answer, at 60 us; what the second read then waits, in microseconds;
/// the energy of sleep in picojoules, and the time of it in microseconds.
const PAUSES: [(u64, u64, u64, u64); 7] = [
    (999, 0, 0, 0),
    (1_000, 0, 0, 0),
    // 50 us into the entry: 150 us more, then the exit.
    (1_050, 240, 3_000_017 + 5_000_011, 290),
    (1_200, 90, 3_000_017 + 5_000_011, 290),
    (9_200, 90, 3_000_017 + 8_000_000 * 7 + 5_000_011, 8_290),
    // 100 us into the entry of the deeper level: 400 us more, then its exit.
    (20_100, 3_400, 3_000_017 + 18_800_000 * 7 + 4_000_037 + 900_000_011, 22_500),
    (60_500, 3_000, 3_000_017 + 18_800_000 * 7 + 4_000_037 + 40_000_000 * 2 + 900_000_011, 62_500),
];

#[test]
fn a_sleeping_device_takes_and_waits_what_its_keys_say() {
    let settings = sleeping(&[]);
    for (pause, wait, pj, dozed_us) in PAUSES {
        let requests = [read(0, 3), read(60 + pause, 9)];
        let (report, run) = record(&settings, &[], &requests);
        let late = run.requests[1];
        assert_eq!(late.completion.as_ns(), (60 + pause + wait + 60) * 1_000, "pause {pause}");
        let place = Part::ALL.iter().position(|part| part.name() == "link").unwrap();
        assert_eq!(late.parts.0[place], wait * 1_000, "pause {pause}: the wait is of the link");
        assert_eq!(resource(&report, "sleep"), pj, "pause {pause}");
        let sleep = report.power.sleep.unwrap();
        assert_eq!(sleep.dozed_ns, dozed_us * 1_000, "pause {pause}");
        assert_eq!(sleep.wakes, u64::from(dozed_us > 0), "pause {pause}");
        // Both reads are work for the controller; it idles until the device falls asleep.
        let idle_us = pause.min(1_000);
        let controller = 120_000 * 110 + idle_us * 1_000 * 50;
        assert_eq!(resource(&report, "controller"), controller, "pause {pause}");
    }
}

/// Requests that come while the device wakes wait for what is left.
#[test]
fn all_requests_wait_until_the_device_is_awake() {
    let settings = sleeping(&["deep_sleep.after_us=0", "geometry.channels=2"]);
    let requests = [read(0, 0), read(5_000, 0), read(5_030, 1), read(5_090, 1)];
    let (_, run) = record(&settings, &[], &requests);
    let ends: Vec<_> = run.requests.iter().map(|done| done.completion.as_ns() / 1_000).collect();
    assert_eq!(ends[1], 5_150);
    assert_eq!(ends[2..], [5_150, 5_210], "the second die works beside the first");
}

/// Garbage collection in idle times comes first: the device does not sleep while it is due.
#[test]
fn own_work_that_is_due_keeps_a_device_awake() {
    let settings = collecting(&[
        "gc.timing=background",
        "gc.idle_us=4000",
        "sleep.after_us=1000",
        "sleep.exit_us=100",
    ]);
    let requests = bursts(&settings, 13, 1_200, 2_000_000);
    let (report, run) = record(&settings, &[], &requests);
    let asked = run.requests.iter().map(|done| (done.request.arrival, done.completion));
    let asked = union(asked.collect());
    let idle = |at: Time| asked.iter().all(|&(from, until)| at < from || at > until);
    let own = run.commands.iter().filter(|done| done.purpose.is_gc() && idle(done.start));
    assert!(own.count() > 100, "garbage is collected in pauses");
    let sleep = report.power.sleep.unwrap();
    assert!(sleep.wakes > 10, "{sleep:?}");
}

fn stream(requests: &[Request]) -> Vec<Stream<'_, Infallible>> {
    let mut requests = requests.iter().copied();
    let source = Box::new(move || Ok(requests.next()));
    vec![Stream { name: "host".to_string(), keys: StreamKeys::default(), source }]
}

fn metered(settings: &Settings, requests: &[Request]) -> (Report, Samples) {
    let samples = Samples::default();
    let mut device = Device::new(settings);
    device.check();
    device.observe(Box::new(samples.clone()));
    device.run_phase(&PhaseKeys::default(), stream(requests)).unwrap();
    (device.finish().unwrap(), samples)
}

/// Suspensions, page registers, bus requests, word lines, buffers, sleep and the link: every
/// picojoule is in one sample, and each sample is what the time series has for the same time.
#[test]
fn the_samples_of_the_meter_add_up_to_the_total_exactly() {
    let common = [
        "metrics.power_us=1000",
        "metrics.bin_ms=1",
        "energy.controller_active_mw=13",
        "energy.dram=sdram",
        "energy.dram_scaling=bytes",
        "energy.dram_bytes=1000001",
        "energy.link_pj_per_byte=37",
        "energy.reclaim_mw=100",
    ];
    for own in [
        &["nand.program_suspends=3", "nand.erase_suspends=3", "nand.resume_us=40"][..],
        &["geometry.planes=2", "nand.multi_plane=any", "energy.part=park2011"],
        &["nand.bits_per_cell=2", "nand.one_shot=true", "nand.cache_read=true"],
        &["map.store=resident", "buffer.bytes=65536", "energy.buffer_memory=pram"],
        &["sleep.after_us=500", "sleep.exit_us=300", "sleep.exit_pj=1000003"],
        &["interface.link_ps_per_byte=90000", "interface.duplex=half"],
        &["bus.precision=requests"],
        &["nand.erase_us=9000", "metrics.power_us=3"],
    ] {
        let settings = collecting(&[&common, own].concat());
        let requests = bursts(&settings, 17, 1_200, 4_000);
        let (report, samples) = metered(&settings, &requests);
        let (energies, meter) = (samples.energies(), report.power.meter.as_ref().unwrap());
        assert_eq!(energies.iter().sum::<u64>(), report.energy_pj.total, "{own:?}");
        assert_eq!(meter.energy_pj, report.energy_pj.total, "{own:?}");
        assert_eq!(meter.samples, energies.len() as u64);
        let series = report.series.as_ref().unwrap();
        let sum: u64 = series.bins.iter().map(|bin| bin.energy_pj).sum();
        assert_eq!(sum, report.energy_pj.total, "{own:?}");
        if series.bin_ns == settings.keys.metrics.power_us.as_ns() {
            for (bin, &pj) in series.bins.iter().zip(&energies) {
                assert_eq!(bin.energy_pj, pj, "{own:?}");
            }
        }
        let whole = &energies[..energies.len() - 1];
        let peak = whole.iter().max().map(|&pj| pj as f64 / meter.period_ns as f64);
        assert_eq!(meter.peak_mw, peak, "{own:?}");
    }
}

/// An hour without a request: 3.6 million equal samples, which take one event where they are whole
/// picojoules.
#[test]
fn idle_hours_are_runs_of_equal_samples() {
    let hour = 3_600_000_000;
    for (own, most) in
        [(&["energy.standby_mw=3"][..], 20), (&["energy.dram_bytes=1000001"], 1 << 22)]
    {
        let dram = ["energy.dram=sdram", "energy.dram_scaling=bytes", "energy.dram_bytes=67108864"];
        let base = ["metrics.power_us=1000", "energy.controller_idle_mw=20"];
        let settings = settings(&[&base, &dram[..], own].concat());
        let (report, samples) = metered(&settings, &[read(0, 0), read(hour, 1)]);
        let events = samples.events();
        assert!(events < most, "{events} events");
        let energies = samples.energies();
        assert_eq!(energies.len(), 3_600_001);
        let idle = &energies[1..3_600_000];
        let (least, greatest) = (idle.iter().min().unwrap(), idle.iter().max().unwrap());
        assert!(greatest - least <= u64::from(most > 20), "{least} to {greatest}");
        assert_eq!(energies.iter().sum::<u64>(), report.energy_pj.total);
    }
}

/// A device that sleeps for an hour takes the same power all the time, too.
#[test]
fn hours_asleep_are_runs_of_equal_samples() {
    let own = ["metrics.power_us=1000", "sleep.after_us=1000", "sleep.power_mw=7"];
    let requests = [read(0, 0), read(3_600_000_000, 1)];
    let (report, samples) = metered(&settings(&own), &requests);
    assert!(samples.events() < 20, "{} events", samples.events());
    let energies = samples.energies();
    assert!(energies[3..3_600_000].iter().all(|&pj| pj == 7_000_000));
    assert_eq!(energies.iter().sum::<u64>(), report.energy_pj.total);
}

/// What a phase that is not measured takes is in no sample; maintenance behind one that is measured
/// is, and the meter of a restored device goes on.
#[test]
fn the_meter_measures_what_the_report_counts() {
    let keys = ["metrics.power_us=250", "energy.controller_idle_mw=9", "energy.dram=low_power"];
    let settings = collecting(&keys);
    let requests = bursts(&settings, 19, 300, 2_000);
    let samples = Samples::default();
    let mut device = Device::new(&settings);
    device.observe(Box::new(samples.clone()));
    let unmeasured = PhaseKeys { measure: false, ..PhaseKeys::default() };
    device.run_phase(&PhaseKeys::default(), stream(&requests)).unwrap();
    device.run_phase(&unmeasured, stream(&requests)).unwrap();
    device.upkeep(Upkeep::Collect).unwrap();
    let bytes = saved(&device);
    drop(device);
    let mut device = restored(&settings, &bytes).unwrap();
    device.observe(Box::new(samples.clone()));
    device.run_phase(&PhaseKeys::default(), stream(&requests)).unwrap();
    let report = device.finish().unwrap();
    assert_eq!(samples.energies().iter().sum::<u64>(), report.energy_pj.total);
    assert_eq!(report.power.meter.unwrap().energy_pj, report.energy_pj.total);
}

/// A device that was saved asleep is asleep when it goes on.
#[test]
fn sleep_is_saved_and_restored() {
    let settings = sleeping(&["deep_sleep.after_us=0"]);
    let wait = |saves: bool| {
        let mut device = Device::new(&settings);
        device.run_phase(&PhaseKeys::default(), stream(&[read(0, 0)])).unwrap();
        if saves {
            device = restored(&settings, &saved(&device)).unwrap();
        }
        device.run_phase(&PhaseKeys::default(), stream(&[read(3_000, 0)])).unwrap();
        let report = device.finish().unwrap();
        (report.latency_ns["read"].max, resource(&report, "sleep"))
    };
    // What comes before the first request of a phase counts in no energy: the exit alone does.
    assert_eq!(wait(false), (Some(150_000), 5_000_011));
    assert_eq!(wait(true), wait(false));
}

/// Levels that contradict each other are refused with the keys that do.
#[test]
fn a_deeper_level_that_comes_first_is_refused() {
    let keys = ["sleep.after_us=500", "deep_sleep.after_us=500"];
    let error = crate::common::try_settings(&keys).unwrap_err();
    assert!(
        error.contains("deep_sleep.after_us") && error.contains("sleep.after_us = 0"),
        "{error}"
    );
}
