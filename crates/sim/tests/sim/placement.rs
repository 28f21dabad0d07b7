//! Placement handles: data of different handles never share a block, as far as their isolation
//! says; what that does to write amplification, against closed forms; sums by handle.

use crate::common::phases::pacing;
use crate::common::{
    Random, Recorded, one_full_die, record, request, restored, saved, seeds, settings, unchecked,
};
use crate::formulas::greedy_write_amplification;
use crate::generators::devices::{Family, case};
use flashyard_core::request::{Request, RequestOp};
use flashyard_core::units::Time;
use flashyard_sim::config::{DeviceKeys, Isolation, Settings, apply_setting};
use flashyard_sim::device::{Device, PhaseKeys};
use flashyard_sim::drive::Drive;
use flashyard_sim::observe::{BlockErased, Contents, Observer, Shared, UnitProgrammed};
use flashyard_sim::report::{HandleReport, Report};
use flashyard_sim::session::{HandleStatus, Session, Stop};
use flashyard_sim::stream::{Pacing, Stream};
use std::collections::BTreeMap;
use std::convert::Infallible;

const WRITE: RequestOp = RequestOp::Write;

/// Two classes of units: the first so many, which get this share of the writes. Each unit is
/// written once, in order, and then `count` times one is drawn. Each class has its own handle.
fn two_classes(units: u64, (hot, share): (u64, u64), count: u64, seed: u64) -> Vec<Request> {
    let mut random = Random(seed);
    let drawn = (0..count).map(|_| {
        if random.below(100) < share { random.below(hot) } else { hot + random.below(units - hot) }
    });
    let all: Vec<u64> = (0..units).chain(drawn).collect();
    let requests = (0..)
        .zip(all)
        .map(|(at, lpn)| request(20 * at, WRITE, lpn, 1).placed(Some(u16::from(lpn >= hot))));
    requests.collect()
}

/// One die that is fresh at first.
fn die(blocks: u32, pages: u32, spare_percent: u32, keys: &[&str]) -> Settings {
    one_full_die(blocks, pages, spare_percent, &[&["state.initial=fresh"], keys].concat())
}

const APART: [&str; 2] = ["placement.handles=2", "placement.isolation=persistent"];

fn rows(report: &Report) -> &[HandleReport] {
    report.placement.as_deref().expect("there are several handles")
}

/// Whose units each block holds: a bit for each class.
#[derive(Default)]
struct Holds {
    hot: u64,
    units_per_block: u32,
    now: BTreeMap<u32, u8>,
    /// Blocks that held both when they were erased.
    mixed: u64,
    erased: u64,
}

struct Watcher(Shared<Holds>);

impl Observer for Watcher {
    fn follows_units(&self) -> bool {
        true
    }
    fn unit_programmed(&mut self, event: &UnitProgrammed) {
        let mut holds = self.0.get();
        let Contents::Data(lpn) = event.contents else { return };
        let class = 1 << u8::from(u64::from(lpn) >= holds.hot);
        let block = event.ppn / holds.units_per_block;
        *holds.now.entry(block).or_default() |= class;
    }
    fn block_erased(&mut self, event: &BlockErased) {
        let mut holds = self.0.get();
        let held = holds.now.remove(&event.block).unwrap_or(0);
        holds.mixed += u64::from(held == 3);
        holds.erased += 1;
    }
}

/// With persistent isolation no block ever holds units of both handles. With initial isolation
/// copies of both share blocks, and without handles everything does.
#[test]
fn data_stay_with_their_handle_as_far_as_the_isolation_says() {
    let mixed = |keys: &[&str]| {
        let settings = die(64, 16, 15, keys);
        let units = u64::from(settings.exported_units);
        let requests = two_classes(units, (units / 4, 70), 6 * units, 5);
        let holds = Holds {
            hot: units / 4,
            units_per_block: settings.geometry.units_per_block(),
            ..Holds::default()
        };
        let holds = Shared::new(holds);
        let mut device = Device::new(&settings);
        device.check();
        device.observe(Box::new(Watcher(holds.clone())));
        let mut requests = requests.iter().copied();
        device.run(|| Ok::<_, Infallible>(requests.next())).expect("the writes fit");
        let Holds { mixed, erased, .. } = holds.take();
        (mixed, erased)
    };
    let (apart, erased) = mixed(&APART);
    assert!(apart == 0 && erased > 100, "{apart} of {erased} blocks");
    let (initial, erased) = mixed(&["placement.handles=2"]);
    let (none, all) = mixed(&[]);
    assert!(initial > erased / 4 && initial < erased, "{initial} of {erased} blocks");
    assert!(none > all / 2, "{none} of {all} blocks");
}

/// Handles of which one is used change nothing: not with one stream, whatever their number and
/// isolation.
#[test]
fn one_handle_in_use_is_no_placement() {
    let told = |keys: &[&str]| -> Recorded {
        let settings = die(64, 16, 40, keys);
        let units = u64::from(settings.exported_units);
        let requests = two_classes(units, (units, 100), 3 * units, 9);
        record(&settings, &[], &requests).1
    };
    let none = told(&[]);
    assert!(none.commands.len() > 4_000);
    assert_eq!(told(&["placement.handles=5", "placement.isolation=persistent"]), none);
    assert_eq!(told(&["placement.handles=5"]), none);
    let generations = ["ftl.generations=2", "placement.isolation=persistent"];
    assert_eq!(told(&generations), told(&generations[..1]));
}

/// Greedy victims lose the same share of their units in both classes if these stay apart, each
/// written uniformly: the classes get spare space so that they cost the same, as much as uniform
/// writes of the whole (Desnoyers, Analytic Models of SSD Write Performance, 2014, section 5). In
/// use while a victim is taken: all blocks but two free ones, the host's block that is just opened,
/// and on average half of the other one and of each of the two blocks of copies.
#[test]
fn separated_classes_cost_what_uniform_writes_do() {
    const EMPTY: f64 = 4.5;
    for (blocks, pages, spare, hot_percent, share) in
        [(512, 32, 15, 50, 80), (512, 32, 28, 20, 50), (256, 64, 10, 50, 66)]
    {
        let settings = die(blocks, pages, spare, &APART);
        let units = u64::from(settings.exported_units);
        let hot = units * hot_percent / 100;
        let measured = |rounds: u64| -> Vec<[u64; 2]> {
            let requests = two_classes(units, (hot, share), rounds * units, 3);
            let report = unchecked(&settings, &requests);
            rows(&report).iter().map(|row| [row.host_bytes, row.media_bytes]).collect()
        };
        let (early, late) = (measured(8), measured(14));
        let between = |row: usize| {
            let [host, media] = [0, 1].map(|at| (late[row][at] - early[row][at]) as f64);
            (host, media)
        };
        let (hot_host, hot_media) = between(0);
        let (cold_host, cold_media) = between(1);
        let found = (hot_media + cold_media) / (hot_host + cold_host);
        let in_use = (f64::from(blocks) - EMPTY) * f64::from(pages);
        let expected = greedy_write_amplification(in_use / units as f64, pages);
        let case = format!("{blocks} blocks of {pages}, {spare} % spare, {share}:{hot_percent}");
        assert!((found / expected - 1.0).abs() < 0.03, "{case}: {found}, not {expected}");
        let ratio = (hot_media / hot_host) / (cold_media / cold_host);
        assert!((ratio - 1.0).abs() < 0.06, "{case}: the hot class costs {ratio} x the cold one");
    }
}

/// With a map each identifier goes to the handle that the list says: the same device as with the
/// handles themselves for identifiers. Identifiers behind its end go where the first one does.
#[test]
fn a_map_says_the_handle_of_each_identifier() {
    let told = |keys: &[&str], of: fn(u16) -> u16| {
        let settings = die(64, 16, 30, &[&APART[..], &["placement.handles=3"], keys].concat());
        let units = u64::from(settings.exported_units);
        let requests: Vec<Request> = (0..)
            .zip(two_classes(units, (units / 3, 60), 3 * units, 2))
            .map(|(at, request): (u64, _)| {
                let class = request.placement.expect("it has a class");
                request.placed(Some(of(class + 2 * u16::from(at % 3 == 0))))
            })
            .collect();
        unchecked(&settings, &requests)
    };
    // Identifiers 0 to 3, and 200 in place of 0 now and then.
    let mapped =
        told(&["placement.map=[2, 0, 0, 1]"], |place| if place == 0 { 200 } else { place });
    let direct = told(&[], |place| [2, 0, 0, 1][usize::from(place)]);
    assert_eq!(rows(&mapped), rows(&direct));
    assert!(rows(&mapped).iter().all(|row| row.host_bytes > 100 * 4_096));
    assert_eq!(mapped.flash.pages, direct.flash.pages);
    assert_ne!(rows(&told(&[], |place| place)), rows(&direct));
    let refused = |map: &str| {
        let keys = ["geometry.blocks_per_plane=256", "placement.handles=2", map];
        crate::common::try_settings(&keys).expect_err("it is refused")
    };
    let beyond = refused("placement.map=0,1,2");
    let why = "placement.map: identifier 2 goes to handle 2, but there are placement.handles = 2";
    assert!(beyond.contains(why), "{beyond}");
    let mut problems = Vec::new();
    let long = format!("placement.map=[{}]", vec!["0"; 129].join(", "));
    apply_setting("--set", &long, &mut DeviceKeys::default(), &mut problems);
    assert_eq!(problems[0].what, "placement.map: 129 numbers, and there may be 128");
}

/// What the reclaim unit of a handle can still take (RUAMW), by the test's own count: each plane
/// has an open block, and a block takes so many units. Host, media and erased bytes add up.
#[test]
fn a_session_sees_what_a_reclaim_unit_can_still_take() {
    let shape = ["geometry.channels=2", "geometry.ways=1", "geometry.planes=2"];
    for keys in [&[][..], &["placement.handles=1"]] {
        let settings = die(32, 16, 60, &[&APART[..], &shape, keys].concat());
        let (units, planes) = (u64::from(settings.exported_units), 4);
        assert_eq!(u64::from(settings.geometry.all_planes()), planes);
        let handles = settings.keys.placement.handles;
        let requests = two_classes(units, (units / 2 + 3, 70), 4 * units, 21);
        let mut session = Session::new(Drive::new(&settings));
        let mut taken = BTreeMap::new();
        let mut host = [0; 2];
        for (at, request) in requests.iter().enumerate() {
            session.submit(&request.at(session.now())).expect("it is in range");
            session.advance(Time::MAX, Stop::At).expect("it is in range");
            let handle = u64::from(request.placement.expect("a class")) % handles;
            *taken.entry((handle, request.first_sector / 8 % planes)).or_insert(0) += 1;
            host[usize::try_from(handle).unwrap()] += 4_096;
            if at % 37 != 0 {
                continue;
            }
            for handle in 0..handles {
                let of_plane = |plane| taken.get(&(handle, plane)).copied().unwrap_or(0) % 16;
                let left: u64 = (0..planes).map(|plane| 16 - of_plane(plane)).sum();
                let found = session.handle(u8::try_from(handle).unwrap()).expect("a handle");
                assert_eq!(found.available_bytes, left * 4_096, "request {at}");
                assert_eq!(found.unit_bytes, 16 * planes * 4_096);
                assert_eq!(found.host_bytes, host[usize::try_from(handle).unwrap()]);
            }
        }
        let all = session.figures();
        let found = (0..handles).map(|handle| session.handle(u8::try_from(handle).unwrap()));
        let found: Vec<_> = found.map(|found| found.expect("a handle")).collect();
        let sum = |of: fn(&HandleStatus) -> u64| found.iter().map(of).sum::<u64>();
        assert_eq!(u128::from(sum(|one| one.media_bytes)), all.programmed_bytes);
        assert_eq!(sum(|one| one.erased_bytes), all.erased_blocks * 16 * 4_096);
        assert!(all.erased_blocks > 100, "{} blocks", all.erased_blocks);
        assert!(session.handle(u8::try_from(handles).unwrap()).is_none());
    }
    let zoned = settings(&["ftl.scheme=zns", "map.store=resident"]);
    assert!(Session::new(Drive::new(&zoned)).handle(0).is_none());
}

/// Sums by handle add up to those of the device: programs of the host and of copies, erases.
#[test]
fn sums_by_handle_add_up() {
    for keys in
        [&APART[..], &["placement.handles=3"], &["placement.handles=2", "ftl.generations=0"]]
    {
        let keys = [keys, &["metrics.bin_ms=1"]].concat();
        let settings = die(64, 16, 30, &keys);
        let units = u64::from(settings.exported_units);
        let requests = two_classes(units, (units / 3, 60), 3 * units, 2);
        let report = unchecked(&settings, &requests);
        let sum = |of: fn(&HandleReport) -> u64| rows(&report).iter().map(of).sum::<u64>();
        let flash = |op: &str, purposes: &[&str]| {
            let pages = |purpose: &&str| report.flash.pages[op][*purpose];
            purposes.iter().map(pages).sum::<u64>() * 4_096
        };
        assert_eq!(sum(|row| row.host_bytes), requests.len() as u64 * 4_096);
        assert_eq!(sum(|row| row.media_bytes), flash("programs", &["host", "gc"]));
        assert_eq!(sum(|row| row.copied_bytes), flash("programs", &["gc"]));
        for row in rows(&report) {
            let to: Vec<_> = row.copied_to.iter().map(|to| to.handle).collect();
            let isolated = settings.keys.placement.isolation == Isolation::Persistent;
            let where_it_goes = match settings.keys.ftl.generations {
                _ if isolated => row.handle,
                0 => Some(0),
                _ => None,
            };
            let copied = row.copied_to.iter().map(|to| to.bytes).sum::<u64>();
            assert_eq!(copied, row.copied_bytes, "{keys:?}");
            let copies = row.copied_bytes > 0;
            assert_eq!(to, if copies { vec![where_it_goes] } else { Vec::new() }, "{keys:?}");
        }
        let blocks = report.flash.pages["erases"].values().sum::<u64>();
        assert_eq!(sum(|row| row.erased_bytes), blocks * 16 * 4_096);
        let bins = report.series.as_ref().expect("there are bins").bins.len();
        for row in rows(&report) {
            for (by_bin, all) in
                [(&row.bin_host_bytes, row.host_bytes), (&row.bin_media_bytes, row.media_bytes)]
            {
                let by_bin = by_bin.as_ref().expect("there are bins");
                assert!(by_bin.len() == bins && bins > 10, "{} of {bins} bins", by_bin.len());
                assert_eq!(by_bin.iter().sum::<u64>(), all, "{keys:?}");
            }
        }
        let shared = rows(&report).iter().any(|row| row.handle.is_none());
        assert_eq!(shared, settings.keys.placement.isolation == Isolation::Initial, "{keys:?}");
    }
}

/// Phases that are not measured leave nothing in the sums, and a device that is saved between
/// phases goes on with them.
#[test]
fn sums_are_of_measured_phases_and_outlive_a_save() {
    let settings = die(64, 16, 30, &[&APART[..], &["metrics.bin_ms=1"]].concat());
    let units = u64::from(settings.exported_units);
    let requests = two_classes(units, (units / 3, 60), units, 7);
    let phase = |device: &mut Device, part: &[Request], measure: bool| {
        let mut part = part.iter().map(|request| request.at(Time::ZERO));
        let source = Box::new(move || Ok::<_, Infallible>(part.next()));
        let stream = Stream { name: "w".to_string(), keys: pacing(Pacing::Closed, 4), source };
        let keys = PhaseKeys { measure, ..PhaseKeys::default() };
        device.run_phase(&keys, vec![stream]).expect("the writes fit");
    };
    let (first, rest) = requests.split_at(requests.len() / 2);
    let (second, third) = rest.split_at(rest.len() / 2);
    let told = |saves: bool| {
        let mut device = Device::new(&settings);
        phase(&mut device, first, false);
        phase(&mut device, second, true);
        if saves {
            device = restored(&settings, &saved(&device)).expect("it was saved");
        }
        phase(&mut device, third, true);
        device.finish().expect("the energy fits").placement.expect("there are handles")
    };
    let whole = told(false);
    let host: u64 = whole.iter().map(|row| row.host_bytes).sum();
    assert_eq!(host, rest.len() as u64 * 4_096);
    assert_eq!(told(true), whole);
}

/// Random devices with handles, under the checker.
#[test]
fn random_devices_with_handles_keep_every_rule() {
    let mut tried = 0;
    for seed in seeds(12_000..12_045) {
        let (settings, mut requests) = case(Family::Any, seed);
        let mut random = Random(seed);
        let mut keys = settings.keys;
        // Room for the open blocks.
        keys.geometry.blocks_per_plane *= 3;
        keys.placement.handles = random.pick(&[2, 3, 5]);
        keys.placement.isolation = Isolation::Persistent;
        keys.ftl.generations = 1;
        let Ok(settings) = Settings::new(keys) else { continue };
        for request in &mut requests {
            let placement = u16::try_from(random.below(7)).expect("below 7");
            *request = request.placed((placement < 5).then_some(placement));
        }
        let result = std::panic::catch_unwind(|| record(&settings, &[], &requests));
        let Ok((report, recorded)) = result else {
            panic!("seed {seed}: {:#?}", settings.keys);
        };
        assert_eq!(recorded.requests.len(), requests.len(), "seed {seed}: one answer a request");
        assert!(rows(&report).iter().all(|row| row.handle.is_some()), "seed {seed}");
        tried += 1;
    }
    assert!(tried > 8, "{tried} devices");
}

#[test]
fn what_contradicts_persistent_isolation_is_refused() {
    let refused = |keys: &[&str]| {
        let base = ["geometry.blocks_per_plane=256", "map.store=resident", "nand.bits_per_cell=2"];
        let all = [&base, &APART[..], keys].concat();
        crate::common::try_settings(&all).expect_err("it is refused")
    };
    assert!(refused(&["ftl.generations=2"]).contains("set ftl.generations = 1"));
    assert!(refused(&["slc.static_percent=4"]).contains("the SLC cache takes data of all handles"));
}

/// Files of earlier versions name the open blocks of streams by the section of the map.
#[test]
fn the_earlier_name_of_handles_is_known() {
    let settings = settings(&["geometry.blocks_per_plane=256", "ftl.streams=3"]);
    assert_eq!(settings.keys.placement.handles, 3);
}
