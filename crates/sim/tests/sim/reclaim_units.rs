//! Superblocks (`placement.unit = "superblock"`): one block of each plane, opened, filled,
//! collected and erased together. What that costs, against blocks of as many pages and closed
//! forms; random devices under the checker.

use crate::common::phases::pacing;
use crate::common::{
    Random, one_full_die, record, request, restored, saved, seeds, try_record, try_settings,
    unchecked,
};
use crate::formulas::greedy_write_amplification;
use crate::generators::devices::{Family, case};
use crate::generators::reclaim_units::{traffic, with_superblocks};
use flashyard_core::request::{Request, RequestOp};
use flashyard_core::units::{Lpn, Ppn, Time};
use flashyard_sim::config::{GcPacing, Settings};
use flashyard_sim::device::{Device, PhaseKeys, SimError};
use flashyard_sim::drive::Drive;
use flashyard_sim::ftl::page_map::PageMap;
use flashyard_sim::initial::device::make;
use flashyard_sim::observe::{BlockErased, Contents, Observer, Shared, UnitProgrammed};
use flashyard_sim::parts::victim::VictimName;
use flashyard_sim::session::{Session, Stop};
use flashyard_sim::stream::{Pacing, Stream};
use std::collections::BTreeMap;
use std::convert::Infallible;

const WRITE: RequestOp = RequestOp::Write;

/// A fresh device of pages of 4 kB with superblocks over so many dies of a plane each. The keys say
/// how much space is spare.
fn united(dies: u32, blocks: u32, pages: u32, keys: &[&str]) -> Settings {
    let channels = format!("geometry.channels={dies}");
    let base = [
        "placement.unit=superblock",
        "ftl.allocation=dynamic",
        "geometry.ways=1",
        "state.initial=fresh",
        &channels,
    ];
    one_full_die(blocks, pages, 30, &[&base, keys].concat())
}

/// Each unit is written once in order, and then `count` times one is drawn: of the first `hot` with
/// this share in percent. Those have handle 0, the others handle 1.
fn writes(units: u64, (hot, share): (u64, u64), count: u64, seed: u64) -> Vec<Request> {
    let mut random = Random(seed);
    let drawn = (0..count).map(|_| {
        let of_hot = hot == units || random.below(100) < share;
        if of_hot { random.below(hot) } else { hot + random.below(units - hot) }
    });
    let all: Vec<u64> = (0..units).chain(drawn).collect();
    let requests = (0..)
        .zip(all)
        .map(|(at, lpn)| request(20 * at, WRITE, lpn, 1).placed(Some(u16::from(lpn >= hot))));
    requests.collect()
}

/// What was programmed and erased of each superblock.
#[derive(Default)]
struct Holds {
    geometry: (u32, u32, u32),
    /// Programmed units, and erased blocks.
    now: BTreeMap<u32, (u32, u32)>,
    most_open: usize,
    /// Units of each plane in the superblocks that were erased.
    erased: u64,
    broken: Vec<String>,
}

struct Watcher(Shared<Holds>);

impl Observer for Watcher {
    fn follows_units(&self) -> bool {
        true
    }
    fn unit_programmed(&mut self, event: &UnitProgrammed) {
        let mut holds = self.0.get();
        let (units, blocks, planes) = holds.geometry;
        let number = event.ppn / units % blocks;
        let (programmed, erased) = holds.now.entry(number).or_default();
        *programmed += 1;
        if *erased > 0 {
            let what = format!("{number} is programmed while it is erased");
            holds.broken.push(what);
        }
        let open = holds.now.values().filter(|(programmed, _)| *programmed < units * planes);
        let open = open.count();
        holds.most_open = holds.most_open.max(open);
    }
    fn block_erased(&mut self, event: &BlockErased) {
        let mut holds = self.0.get();
        let (units, blocks, planes) = holds.geometry;
        let number = event.block % blocks;
        let others = holds.now.iter().filter(|(of, (_, erased))| **of != number && *erased > 0);
        if others.count() > 0 {
            holds.broken.push(format!("{number} is erased beside another one"));
        }
        let (programmed, erased) = holds.now.entry(number).or_default();
        let (programmed, count) = (*programmed, *erased + 1);
        *erased = count;
        if programmed != units * planes {
            holds.broken.push(format!("{number} is erased with {programmed} units written"));
        }
        if count == planes {
            holds.now.remove(&number);
            holds.erased += 1;
        }
    }
}

/// All blocks of a superblock are full before the first is erased, nothing is programmed before the
/// last is, and no other superblock is erased meanwhile. A handle has one open, and one whose last
/// programs are under way; so have copies.
#[test]
fn blocks_of_a_superblock_are_opened_filled_and_erased_together() {
    for (handles, isolation, frontiers) in
        [(1, "initial", 2), (3, "initial", 4), (3, "persistent", 6)]
    {
        let keys =
            [format!("placement.handles={handles}"), format!("placement.isolation={isolation}")];
        let keys = [&keys.each_ref().map(String::as_str)[..], &["geometry.planes=2"]].concat();
        let settings =
            united(3, 64, 8, &[&keys[..], &["ftl.over_provisioning_percent=40"]].concat());
        let units = u64::from(settings.exported_units);
        let geometry = settings.geometry;
        let mut requests = writes(units, (units / 4, 70), 4 * units, 5);
        for (request, at) in requests.iter_mut().zip(0u64..) {
            let handle = u16::try_from(at % handles).expect("a few");
            // All at once, up to the depth of the queue, so that planes run ahead of others.
            *request = request.at(Time::from_us(at / 4)).placed(Some(handle));
        }
        let holds = Holds {
            geometry: (
                geometry.units_per_block(),
                geometry.blocks_per_plane,
                geometry.all_planes(),
            ),
            ..Holds::default()
        };
        let holds = Shared::new(holds);
        let mut device = Device::new(&settings);
        device.check();
        device.observe(Box::new(Watcher(holds.clone())));
        let mut requests = requests.iter().copied();
        device.run(|| Ok::<_, Infallible>(requests.next())).expect("the writes fit");
        let Holds { broken, most_open, erased, .. } = holds.take();
        assert_eq!(broken, Vec::<String>::new(), "{keys:?}");
        assert!(erased > 150, "{erased} superblocks");
        assert!(most_open <= 2 * frontiers, "{most_open} are open, {keys:?}");
    }
}

/// With one plane in the whole device a superblock is a block.
#[test]
fn with_one_plane_a_superblock_is_a_block() {
    for keys in [&[][..], &["placement.handles=2", "placement.isolation=persistent"]] {
        let told = |unit: &str| {
            let unit = format!("placement.unit={unit}");
            let keys = [keys, &[&unit[..], "ftl.over_provisioning_percent=30"]].concat();
            let settings = united(1, 64, 16, &keys);
            let units = u64::from(settings.exported_units);
            record(&settings, &[], &writes(units, (units / 3, 60), 3 * units, 3)).1
        };
        let block = told("block");
        assert!(block.commands.len() > 4_000);
        assert_eq!(told("superblock"), block);
    }
}

/// Write amplification of `rounds` rounds of writes behind as many as reach the steady state.
fn steady(settings: &Settings, (hot, share): (u64, u64), rounds: [u64; 2]) -> f64 {
    let units = u64::from(settings.exported_units);
    let [early, late] = rounds.map(|rounds| {
        let report = unchecked(settings, &writes(units, (hot, share), rounds * units, 3));
        let pages = &report.flash.pages["programs"];
        [(rounds + 1) * units, pages["host"] + pages["gc"]].map(|count| count as f64)
    });
    (late[1] - early[1]) / (late[0] - early[0])
}

/// With uniform writes and greedy victims a device with superblocks over N dies costs what one die
/// with blocks of N times as many pages does, and what the formula for such blocks says. In use
/// while a victim is taken: all but two free ones, the host's that is just opened, and half of that
/// of copies.
#[test]
fn uniform_writes_cost_what_they_do_with_blocks_of_as_many_pages() {
    const EMPTY: f64 = 3.5;
    for (dies, blocks, pages, spare) in [(4, 256, 8, 15), (8, 128, 4, 28), (3, 256, 16, 10)] {
        let spare = format!("ftl.over_provisioning_percent={spare}");
        let measured = |settings: &Settings| {
            let units = u64::from(settings.exported_units);
            steady(settings, (units, 100), [8, 14])
        };
        let superblocks = united(dies, blocks, pages, &[&spare]);
        let alone = united(1, blocks, dies * pages, &[&spare]);
        let (found, block) = (measured(&superblocks), measured(&alone));
        let in_use = (f64::from(blocks) - EMPTY) * f64::from(dies * pages);
        let units = f64::from(superblocks.exported_units);
        let expected = greedy_write_amplification(in_use / units, dies * pages);
        let case = format!("{blocks} superblocks of {dies} x {pages}, {spare}");
        assert!((found / expected - 1.0).abs() < 0.02, "{case}: {found}, not {expected}");
        assert!((found / block - 1.0).abs() < 0.02, "{case}: {found}, and {block} with blocks");
    }
}

/// Two classes of uniform writes that stay apart cost what uniform writes of the whole do: as with
/// blocks (`separated_classes_cost_what_uniform_writes_do`).
#[test]
fn separated_classes_cost_the_same_with_superblocks() {
    const EMPTY: f64 = 4.5;
    for (dies, blocks, pages, spare, hot_percent, share) in
        [(4, 512, 8, 15, 50, 80), (8, 256, 8, 10, 50, 66)]
    {
        let spare = format!("ftl.over_provisioning_percent={spare}");
        let apart = ["placement.handles=2", "placement.isolation=persistent"];
        let settings = united(dies, blocks, pages, &[&apart[..], &[&spare]].concat());
        let hot = u64::from(settings.exported_units) * hot_percent / 100;
        let found = steady(&settings, (hot, share), [8, 14]);
        let in_use = (f64::from(blocks) - EMPTY) * f64::from(dies * pages);
        let units = f64::from(settings.exported_units);
        let expected = greedy_write_amplification(in_use / units, dies * pages);
        let case = format!("{blocks} superblocks of {dies} x {pages}, {share}:{hot_percent}");
        assert!((found / expected - 1.0).abs() < 0.03, "{case}: {found}, not {expected}");
    }
}

/// Every rule for victims, with wear levelling of both kinds and behind a write buffer: each
/// superblock has been erased as often on every plane.
#[test]
fn every_rule_chooses_among_superblocks() {
    for rule in VictimName::WORDS {
        let rule = format!("gc.policy={rule}");
        for more in [
            &[][..],
            &["wear.static_gap=2", "wear.dynamic=true"],
            &["buffer.bytes=262144", "ftl.mapping_unit_bytes=4096", "geometry.page_bytes=16384"],
        ] {
            let keys = [more, &[&rule[..], "ftl.over_provisioning_percent=40"]].concat();
            let settings = united(4, 64, 8, &keys);
            let units = u64::from(settings.exported_units);
            let requests = writes(units, (units / 8, 98), 6 * units, 3);
            let (report, recorded) = record(&settings, &[], &requests);
            assert_eq!(recorded.requests.len(), requests.len(), "{keys:?}");
            let erases = &report.flash.pages["erases"];
            let by_count: u64 = (report.wear.blocks_by_erases.iter())
                .map(|(erases, blocks)| {
                    assert_eq!(blocks % 4, 0, "{keys:?}: {blocks} with {erases}");
                    u64::from(*erases) * blocks
                })
                .sum();
            assert_eq!(erases["gc"] + erases["wear"], by_count, "{keys:?}");
            assert!(by_count > 400, "{keys:?}: {by_count} erases");
            let levelled = more.iter().any(|key| key.contains("static_gap"));
            assert_eq!(levelled && erases["wear"] > 0, levelled, "{keys:?}");
        }
    }
}

/// A device that is saved between phases goes on as it would have.
#[test]
fn a_saved_device_goes_on_with_its_superblocks() {
    for pacing in ["none", "spare"] {
        goes_on_when_saved(&format!("gc.pacing={pacing}"));
    }
}

fn goes_on_when_saved(of_collection: &str) {
    let keys = ["placement.handles=2", "placement.isolation=persistent", of_collection];
    let settings = united(4, 64, 8, &[&keys[..], &["ftl.over_provisioning_percent=30"]].concat());
    let units = u64::from(settings.exported_units);
    let requests = writes(units, (units / 3, 60), 3 * units + 17, 7);
    let phase = |device: &mut Device, part: &[Request]| {
        let mut part = part.iter().map(|request| request.at(Time::ZERO));
        let source = Box::new(move || Ok::<_, Infallible>(part.next()));
        let stream = Stream { name: "w".to_string(), keys: pacing(Pacing::Closed, 4), source };
        device.run_phase(&PhaseKeys::default(), vec![stream]).expect("the writes fit");
    };
    let told = |saves: bool| {
        let mut device = Device::new(&settings);
        for part in requests.chunks(requests.len() / 3) {
            phase(&mut device, part);
            if saves {
                device = restored(&settings, &saved(&device)).expect("it was saved");
            }
        }
        let report = device.finish().expect("the energy fits");
        (report.placement, report.flash.pages, report.wear.blocks_by_erases)
    };
    let whole = told(false);
    assert!(whole.1["erases"]["gc"] > 200);
    assert_eq!(told(true), whole);
    let blocks = united(4, 64, 8, &["placement.unit=block", "ftl.over_provisioning_percent=30"]);
    let bytes = saved(&Device::new(&blocks));
    assert!(restored(&settings, &bytes).is_err(), "blocks are no superblocks");
}

/// What a superblock can still take, by the test's own count.
#[test]
fn a_session_sees_the_room_of_a_superblock() {
    let settings = united(3, 64, 8, &["placement.handles=2", "ftl.over_provisioning_percent=40"]);
    let mut session = Session::new(Drive::new(&settings));
    let mut random = Random(4);
    let mut taken = [0u64; 2];
    for _ in 0..2_000 {
        let place = random.below(2);
        let lpn = random.below(session.capacity_sectors() / 8);
        let handle = u16::try_from(place).expect("below 2");
        let write = Request::new(WRITE, lpn * 8, 8).placed(Some(handle)).at(session.now());
        session.submit(&write).expect("it is in range");
        session.advance(Time::MAX, Stop::At).expect("it is in range");
        taken[usize::from(handle)] += 1;
        for (handle, taken) in (0u8..).zip(taken) {
            let found = session.handle(handle).expect("a handle");
            assert_eq!(found.unit_bytes, 3 * 8 * 4_096);
            assert_eq!(found.available_bytes, (24 - taken % 24) * 4_096);
            assert_eq!(found.host_bytes, taken * 4_096);
        }
    }
    assert!(session.figures().erased_blocks > 30);
}

/// Random devices of several families with superblocks, under the checker.
#[test]
fn random_devices_with_superblocks_keep_every_rule() {
    let (mut tried, mut erased, mut worn) = (0, 0, 0);
    let families = [Family::Any, Family::Bus, Family::Firmware, Family::Background, Family::Joined];
    for seed in seeds(31_000..31_150) {
        let mut random = Random(seed);
        let (settings, _) = case(random.pick(&families), seed);
        let keys = with_superblocks(settings.keys, &mut random);
        let Ok(settings) = Settings::new(keys) else { continue };
        if settings.geometry.all_planes() == 1 {
            continue;
        }
        let requests = traffic(&settings, &mut random, 3);
        let result = std::panic::catch_unwind(|| try_record(&settings, &[], &requests));
        let Ok(result) = result else { panic!("seed {seed}: {:#?}", settings.keys) };
        let (report, recorded) = match result {
            Ok(done) => done,
            Err(SimError::WornOut { .. }) if settings.keys.nand.endurance_cycles > 0 => {
                worn += 1;
                continue;
            }
            Err(error) => panic!("seed {seed}: {error} {:#?}", settings.keys),
        };
        assert_eq!(recorded.requests.len(), requests.len(), "seed {seed}: one answer a request");
        tried += 1;
        erased += u32::from(report.flash.pages["erases"]["gc"] > 0);
    }
    assert!(tried > 20 && erased > 15, "{tried} devices, {erased} collect, {worn} wear out");
}

#[test]
fn what_superblocks_do_not_go_with_is_refused_by_name() {
    let base = [
        "geometry.blocks_per_plane=256",
        "geometry.channels=2",
        "placement.unit=superblock",
        "ftl.allocation=dynamic",
        "map.store=resident",
        "nand.bits_per_cell=2",
    ];
    try_settings(&base).expect("this goes");
    for (key, why) in [
        ("ftl.allocation=static", "set ftl.allocation = \"dynamic\""),
        ("map.store=cmt", "set map.store = \"resident\""),
        ("ftl.generations=0", "set ftl.generations = 1"),
        ("gc.copyback=true", "set gc.copyback = false"),
        ("slc.static_percent=4", "set slc.static_percent = 0"),
        ("ftl.scheme=fast", "set ftl.scheme = \"page\""),
        ("ftl.scheme=zns", "set ftl.scheme = \"page\""),
    ] {
        let refused = try_settings(&[&base[..], &[key]].concat()).expect_err(key);
        let line = refused.lines().find(|line| line.starts_with("placement.unit: superblocks"));
        assert!(line.is_some_and(|line| line.contains(why)), "{key}: {refused}");
    }
}

/// A full device has each unit where it is when the host has written all units in order.
#[test]
fn a_full_device_holds_what_writes_in_order_leave() {
    struct Places(Shared<BTreeMap<u32, u32>>);
    impl Observer for Places {
        fn follows_units(&self) -> bool {
            true
        }
        fn unit_programmed(&mut self, event: &UnitProgrammed) {
            let Contents::Data(lpn) = event.contents else { panic!("a map in memory") };
            self.0.get().insert(lpn, event.ppn);
        }
    }
    for (dies, keys) in [(3, &["geometry.planes=2"][..]), (4, &["ftl.mapping_unit_bytes=1024"])] {
        let state = |state: &str| {
            let state = format!("state.initial={state}");
            united(dies, 32, 8, &[keys, &["ftl.over_provisioning_percent=40", &state]].concat())
        };
        let (fresh, full) = (state("fresh"), state("full"));
        let mut map = PageMap::new(&full);
        make(&full, &mut map);
        map.audit();
        let places = Shared::new(BTreeMap::new());
        // A program at a time.
        let units = fresh.geometry.units_per_page;
        let pages = u64::from(fresh.exported_units / units);
        let page = |at: u64| {
            let sectors = fresh.geometry.unit_sectors() * units;
            let first = at * u64::from(sectors);
            Request::new(WRITE, first, sectors).at(Time::from_us(2_000 * at))
        };
        let mut device = Device::new(&fresh);
        device.check();
        device.observe(Box::new(Places(places.clone())));
        let mut requests = (0..pages).map(page);
        device.run(|| Ok::<_, Infallible>(requests.next())).expect("the writes fit");
        let written = places.take();
        assert_eq!(written.len() as u64, pages * u64::from(units));
        for (lpn, ppn) in written {
            assert_eq!(map.lookup(Lpn::new(lpn)), Some(Ppn::new(ppn)), "unit {lpn}");
        }
    }
}

/// An aged device and one in the constructed steady state go on as one that was written for long:
/// what the next uniform writes cost is what the formula says. Where collection is paced, the spare
/// space is what it is kept at.
#[test]
fn an_aged_device_and_a_steady_one_cost_what_the_formula_says() {
    const EMPTY: f64 = 3.5;
    for (state, pacing, dies, blocks, pages, spare) in [
        ("aged", "none", 4, 256, 8, 15),
        ("aged", "none", 8, 128, 4, 28),
        ("steady", "none", 4, 256, 8, 15),
        ("aged", "spare", 4, 256, 8, 15),
        ("steady", "spare", 4, 256, 8, 15),
        ("steady", "spare", 8, 128, 4, 28),
        ("steady", "tokens", 4, 256, 8, 15),
    ] {
        let spare = format!("ftl.over_provisioning_percent={spare}");
        let [state, pacing] = [("state.initial", state), ("gc.pacing", pacing)]
            .map(|(key, value)| format!("{key}={value}"));
        let keys = [&state, &pacing, "state.aged_percent=800", "gc.copies_per_program=5", &spare];
        let settings = united(dies, blocks, pages, &keys);
        let units = u64::from(settings.exported_units);
        let drawn =
            writes(units, (units, 100), 4 * units, 3).split_off(settings.exported_units as usize);
        let report = unchecked(&settings, &drawn);
        let of = &report.flash.pages["programs"];
        let found = (of["host"] + of["gc"]) as f64 / of["host"] as f64;
        let in_superblocks = f64::from(dies * pages);
        let kept = match settings.keys.gc.pacing {
            GcPacing::None => EMPTY * in_superblocks,
            _ => f64::from(dies) * settings.spare_target() as f64,
        };
        let in_use = f64::from(blocks) * in_superblocks - kept;
        let expected = greedy_write_amplification(in_use / units as f64, dies * pages);
        let case = format!("{blocks} superblocks of {dies} x {pages}, {spare}, {state}, {pacing}");
        assert!((found / expected - 1.0).abs() < 0.02, "{case}: {found}, not {expected}");
    }
}

/// Whatever is open in a steady state, every superblock is filled and collected in time; and an
/// aged device goes on as its saved copy does.
#[test]
fn no_superblock_of_a_device_with_a_history_is_lost() {
    for seed in 1..=12 {
        let pacing = ["gc.pacing=none", "gc.pacing=spare"][seed % 2];
        let seed = format!("state.seed={seed}");
        let spare = "ftl.over_provisioning_percent=60";
        let keys = ["state.initial=steady", "gc.policy=fifo", spare, pacing, &seed];
        let settings = united(4, 24, 8, &keys);
        let units = u64::from(settings.exported_units);
        let report = unchecked(&settings, &writes(units, (units, 100), 4 * units, 3));
        let least = report.wear.erases_min;
        assert!(least > 0, "{seed}: some superblock is never erased");

        let keys = ["state.initial=aged", "ftl.mapping_unit_bytes=1024", spare, pacing, &seed];
        let settings = united(3, 24, 8, &[&keys[..], &["geometry.planes=2"]].concat());
        let pages = u64::from(settings.exported_units) / 4;
        let drawn = writes(pages, (pages, 100), pages, 5);
        let went = |device: Device| {
            let mut requests = drawn.iter().copied();
            let report = device.run(|| Ok::<_, Infallible>(requests.next()));
            format!("{:?}", report.expect("the writes fit"))
        };
        let device = Device::new(&settings);
        let copy = restored(&settings, &saved(&device)).expect("an image of its own");
        assert!(went(device) == went(copy), "{seed}: a saved copy goes on in another way");
    }
}
