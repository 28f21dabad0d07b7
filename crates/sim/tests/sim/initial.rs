//! Devices in their initial states: sound maps, and a constructed steady state that goes on as one
//! that was reached by writing.

use crate::common::{Random, request, restored, saved, settings, try_settings};
use flashyard_core::command::Op;
use flashyard_core::geometry::Geometry;
use flashyard_core::request::{Request, RequestOp};
use flashyard_core::units::{BlockId, Lpn, PlaneId};
use flashyard_sim::config::Settings;
use flashyard_sim::device::Device;
use flashyard_sim::ftl::page_map::PageMap;
use flashyard_sim::initial::device::{Made, make};
use flashyard_sim::observe::{CommandDone, Observer, Shared};
use flashyard_sim::report::Report;
use std::convert::Infallible;

/// 6 dies of 64 blocks of 16 pages.
const SMALL: &[&str] = &[
    "geometry.channels=3",
    "geometry.ways=2",
    "geometry.blocks_per_plane=64",
    "geometry.pages_per_block=16",
    "ftl.over_provisioning_percent=40",
    "gc.soft_free_blocks=4",
    "gc.hard_free_blocks=2",
    "gc.reserve_blocks=2",
];

fn small(keys: &[&str]) -> Settings {
    settings(&[SMALL, keys].concat())
}

fn made(settings: &Settings) -> (PageMap, Made) {
    let mut map = PageMap::new(settings);
    let made = make(settings, &mut map);
    map.audit();
    (map, made)
}

/// Every unit that the state writes is mapped, no other one, each to its own place on its die; free
/// blocks hold nothing, and blocks, free lists and open blocks account for every block.
fn check_state(settings: &Settings, share: f64) {
    let (mut map, _) = made(settings);
    let geometry: Geometry = settings.geometry;
    let filled = f64::from(settings.exported_units) * share;
    let mut taken = vec![false; usize::try_from(geometry.units()).unwrap()];
    for lpn in (0..settings.exported_units).map(Lpn::new) {
        let place = map.lookup(lpn);
        assert_eq!(place.is_some(), f64::from(lpn.get()) + 1.0 <= filled, "{lpn:?}");
        if let Some(ppn) = place {
            assert!(!std::mem::replace(&mut taken[ppn.index()], true), "{ppn:?} twice");
            assert_eq!(geometry.plane_of(ppn), geometry.plane_of_lpn(lpn), "{lpn:?}");
        }
    }
    for plane in (0..geometry.all_planes()).map(PlaneId::new) {
        let first = geometry.first_block(plane).get();
        let blocks = (first..first + geometry.blocks_per_plane).map(BlockId::new);
        let valid: u32 = blocks.clone().map(|block| map.blocks.valid_units(block)).sum();
        // Taking all free blocks gives that many, none of which held anything.
        let free = map.blocks.free_blocks(plane);
        let mut opened = 0;
        while map.blocks.free_blocks(plane) > 0 {
            let frontier = flashyard_sim::parts::blocks::Frontier::HostData(1);
            let (ppn, fresh) = map.blocks.take_unit(plane, frontier).expect("a block is free");
            if fresh {
                opened += 1;
                assert_eq!(map.blocks.valid_units(geometry.block_of(ppn)), 0, "{ppn:?} was free");
            }
        }
        assert_eq!(opened, free, "{plane:?}");
        // Full blocks leave in the order of their valid units, and each but the open ones once.
        let mut full = 0;
        let mut last = 0;
        while let Some(victim) = map.blocks.victim(plane) {
            let count = map.blocks.valid_units(victim);
            assert!(count >= last, "{victim:?} has {count} after {last}");
            last = count;
            map.blocks.claim(victim);
            full += 1;
        }
        // Blocks that do not lack what one operation programs are no victims.
        let most = geometry.units_per_block() - geometry.program_units();
        let whole = blocks.filter(|block| map.blocks.valid_units(*block) > most).count();
        let whole = u32::try_from(whole).unwrap();
        assert!(full + whole + free <= 64, "{plane:?}: {full} {whole} {free}");
        // Three blocks are open at most, and one is a victim under way.
        assert!(full + whole + free + 4 >= 64 || share < 1.0, "{plane:?}: {full} {whole} {free}");
        assert!(valid <= (full + whole + 4) * geometry.units_per_block());
    }
}

#[test]
fn every_state_maps_what_it_writes_once() {
    // Units smaller than pages, two planes, three pages programmed at a time; copies kept apart or
    // not at all.
    let units = [
        "geometry.page_bytes=8192",
        "ftl.mapping_unit_bytes=4096",
        "geometry.planes=2",
        "geometry.pages_per_block=24",
        "nand.bits_per_cell=3",
        "nand.one_shot=true",
        "ftl.stripe_order=pwdc",
        "ftl.allocation=dynamic",
        "ftl.partial_write=bitmap",
        "state.hot_writes_percent=60",
        "map.store=resident",
    ];
    for generations in ["ftl.generations=0", "ftl.generations=2"] {
        for state in ["full", "random", "aged", "steady"] {
            let state = format!("state.initial={state}");
            check_state(&small(&[&units[..], &[generations, &*state]].concat()), 1.0);
        }
    }
    for state in ["full", "random", "aged", "steady"] {
        let state = format!("state.initial={state}");
        check_state(&small(&[&units[..], &["ftl.stripe_pages=5", &*state]].concat()), 1.0);
    }
    for state in ["full", "random", "aged", "steady"] {
        for fill in [100, 50, 1] {
            for temperature in ["state.hot_writes_percent=20", "state.hot_writes_percent=90"] {
                let fill_key = format!("state.fill_percent={fill}");
                let state = format!("state.initial={state}");
                let keys = ["map.store=resident", &*state, &*fill_key, temperature];
                check_state(&small(&keys), f64::from(fill) / 100.0);
            }
        }
    }
    let (map, _) = made(&small(&["map.store=resident"]));
    assert!(
        (0..100).all(|lpn| map.lookup(Lpn::new(lpn)).is_none()),
        "a fresh device holds nothing"
    );
}

/// Map pages lie behind the data, whatever its state.
#[test]
fn states_of_a_map_on_flash_hold_every_map_page() {
    for state in ["full", "random", "aged"] {
        let settings = small(&[&*format!("state.initial={state}")]);
        let (map, _) = made(&settings);
        for page in (0..settings.map_pages).map(flashyard_core::units::MapPage::new) {
            assert!(map.lookup_map(page).is_some(), "{state}: {page:?}");
        }
    }
}

/// Paced collection of an aged state leaves room for the next write, though all that it has freed
/// may be in the open blocks of copies: with several generations there are as many.
#[test]
fn aged_states_of_several_generations_are_paced() {
    for pacing in ["spare", "tokens"] {
        for percent in 10..20 {
            let settings = settings(&[
                "map.store=resident",
                "geometry.blocks_per_plane=64",
                "geometry.pages_per_block=32",
                "gc.soft_free_blocks=0",
                "state.initial=aged",
                "ftl.generations=2",
                &*format!("ftl.over_provisioning_percent={percent}"),
                &*format!("gc.pacing={pacing}"),
            ]);
            let (map, _) = made(&settings);
            let units = (0..settings.exported_units).map(Lpn::new);
            assert!(
                units.into_iter().all(|lpn| map.lookup(lpn).is_some()),
                "{pacing}, {percent} %"
            );
        }
    }
}

#[test]
fn seeds_change_random_states_and_nothing_else_does() {
    let places = |keys: &[&str]| -> Vec<_> {
        let (map, _) = made(&small(&[&["map.store=resident"], keys].concat()));
        (0..1_000).map(|lpn| map.lookup(Lpn::new(lpn))).collect()
    };
    for state in ["random", "aged", "steady"] {
        let state = format!("state.initial={state}");
        assert_eq!(places(&[&*state]), places(&[&*state, "state.seed=1"]));
        assert_ne!(places(&[&*state]), places(&[&*state, "state.seed=2"]));
    }
}

#[test]
fn steady_states_that_cannot_be_are_refused() {
    let refused = |keys: &[&str], why: &str| {
        let error = try_settings(&[SMALL, &["state.initial=steady"], keys].concat()).unwrap_err();
        assert!(error.contains(why), "{error}");
    };
    refused(&[], "with a map on flash the steady state of map pages depends on the cache");
    refused(&["map.store=resident", "state.fill_percent=0"], "nothing is written");
    let rested = ["map.store=resident", "state.rested=true", "ftl.over_provisioning_percent=12"];
    refused(&rested, "do not fit the 57 blocks of 16 units");
    let tight = ["map.store=resident", "ftl.over_provisioning_percent=8"];
    refused(&tight, "do not fit the 59 blocks of 16 units");
    // The smallest spare that has room is steady: 57 blocks hold 912 units a die.
    let least = settings(
        &[
            SMALL,
            &["state.initial=steady", "map.store=resident", "state.rested=true"],
            &["ftl.over_provisioning_percent=12.5"],
        ]
        .concat(),
    );
    assert_eq!(least.exported_units.div_ceil(6), 911);
    check_state(&least, 1.0);
}

/// Host programs and all programs.
struct Programs(Shared<(u64, u64)>);

impl Observer for Programs {
    fn command_done(&mut self, done: &CommandDone) {
        if done.op == Op::Program {
            let mut programs = self.0.get();
            programs.0 += u64::from(done.command.request.is_some());
            programs.1 += 1;
        }
    }
}

/// Random writes of single pages, the share `hot` of them to the first fifth of the device, slow
/// enough that collection keeps up. Returns the write amplification from write `from` on.
fn amplification(settings: &Settings, hot: f64, from: u64, writes: u64) -> (f64, Report) {
    let units = u64::from(settings.exported_units);
    let programs = Shared::new((0, 0));
    let mut device = Device::new(settings);
    device.observe(Box::new(Programs(programs.clone())));
    let mut random = Random(11);
    let mut at = 0;
    let mut before = (0, 0);
    let next = || -> Result<Option<Request>, Infallible> {
        if at == from {
            before = *programs.get();
        }
        at += 1;
        let first = units / 5;
        let is_hot = (random.below(1 << 32) as f64) < hot * f64::from(u32::MAX);
        let lpn = if is_hot { random.below(first) } else { first + random.below(units - first) };
        Ok((at <= writes).then(|| request(16 * at, RequestOp::Write, lpn, 1)))
    };
    let report = device.run(next).expect("the writes fit");
    let (host, all) = programs.take();
    assert!(report.verdict.most_outstanding < 200, "{:?}", report.verdict);
    ((all - before.1) as f64 / (host - before.0) as f64, report)
}

/// The first capacity's worth of random writes on a constructed device against what goes on after
/// long ageing: within 1 % under uniform writes, 3 % under two temperatures.
#[track_caller]
fn check_steady(keys: &[&str], hot: f64, limit: f64) {
    let base = [
        "geometry.channels=2",
        "geometry.ways=1",
        "geometry.blocks_per_plane=512",
        "map.store=resident",
        "policy.command=fifo",
        "nand.read_us=1",
        "nand.program_us=1",
        "nand.erase_us=1",
        "gc.soft_free_blocks=3",
        "gc.hard_free_blocks=3",
        "gc.reserve_blocks=2",
    ];
    let heat = format!("state.hot_writes_percent={}", hot * 100.0);
    let with = |more: &[&str]| settings(&[&base[..], keys, &[&*heat], more].concat());
    let aged = with(&["state.initial=aged", "state.aged_percent=800"]);
    let units = u64::from(aged.exported_units);
    let (expected, _) = amplification(&aged, hot, 2 * units, 6 * units);
    let mut sum = 0.0;
    for seed in ["state.seed=1", "state.seed=2"] {
        let steady = with(&["state.initial=steady", seed]);
        let (found, report) = amplification(&steady, hot, 0, units);
        assert_eq!(report.verdict.initial_state, "steady");
        let said = report.verdict.initial_write_amplification.expect("it is known");
        assert!((said / expected - 1.0).abs() < limit, "said {said}, not {expected}");
        assert_eq!(report.verdict.initial_error.is_some(), heat != "state.hot_writes_percent=20");
        sum += found;
    }
    let off = sum / 2.0 / expected - 1.0;
    assert!(off.abs() < limit, "{keys:?} {hot}: {expected}, constructed {off:+.4}");
}

#[test]
fn a_constructed_device_goes_on_as_one_that_was_aged() {
    let tight = ["geometry.pages_per_block=64", "ftl.over_provisioning_percent=10"];
    let roomy = ["geometry.pages_per_block=32", "ftl.over_provisioning_percent=28"];
    check_steady(&tight, 0.2, 0.01);
    check_steady(&roomy, 0.2, 0.01);
    check_steady(&roomy, 0.8, 0.03);
}

/// Units smaller than a page on a device that is never idle: the last program of each victim's
/// copies is not full, which the construction has to take into account.
#[test]
fn a_constructed_device_of_small_units_goes_on_as_one_that_was_aged() {
    let amplification = |state: &str, capacities: u64| {
        let settings = settings(&[
            "geometry.blocks_per_plane=256",
            "geometry.pages_per_block=32",
            "geometry.page_bytes=16384",
            "ftl.mapping_unit_bytes=4096",
            "ftl.over_provisioning_percent=20",
            "gc.soft_free_blocks=3",
            "gc.hard_free_blocks=3",
            "gc.reserve_blocks=2",
            "map.store=resident",
            "policy.command=fifo",
            state,
        ]);
        let units = u64::from(settings.exported_units);
        let mut random = Random(8);
        let mut at = 0;
        let next = || -> Result<Option<Request>, Infallible> {
            at += 1;
            let lpn = random.below(units);
            let due = at <= capacities * units;
            Ok(due.then(|| request(at / 4_096, RequestOp::Write, lpn, 1)))
        };
        let report = Device::new(&settings).run(next).expect("the writes fit");
        report.flash.write_amplification.expect("pages were written")
    };
    let expected = amplification("state.initial=aged", 4);
    let off = amplification("state.initial=steady", 1) / expected - 1.0;
    assert!(off.abs() < 0.01, "{expected}, constructed {off:+.4}");
}

#[test]
fn a_restored_device_knows_how_its_state_was_made() {
    let settings = small(&["map.store=resident", "state.initial=steady"]);
    let report = |device: Device| device.run(|| Ok::<_, Infallible>(None)).expect("nothing to do");
    let device = Device::new(&settings);
    let again = restored(&settings, &saved(&device));
    let before = report(device).verdict.initial_write_amplification;
    assert!(before.is_some_and(|factor| factor > 1.0));
    let after = report(again.expect("it was saved just now")).verdict;
    assert_eq!(after.initial_write_amplification, before);
}

/// Settings that are accepted have a state: every rule, temperature, start and pacing of
/// collection, with as little spare space as is accepted.
#[test]
fn a_steady_state_that_is_accepted_is_made() {
    let (mut made, mut random) = (0, Random(77));
    for seed in 0..20 {
        let mut pick = |words: &[&'static str]| random.pick(words);
        let mut keys = vec![
            "state.initial=steady",
            "map.store=resident",
            "geometry.blocks_per_plane=64",
            pick(&["geometry.pages_per_block=6", "geometry.pages_per_block=48"]),
            pick(&["nand.bits_per_cell=1", "nand.bits_per_cell=3"]),
            pick(&["nand.one_shot=false", "nand.one_shot=true"]),
            pick(&["state.hot_writes_percent=20", "state.hot_writes_percent=80"]),
            pick(&["gc.policy=greedy", "gc.policy=fifo", "gc.policy=cost_benefit"]),
            pick(&["gc.soft_free_blocks=0", "gc.soft_free_blocks=1", "gc.soft_free_blocks=9"]),
            pick(&["ftl.generations=0", "ftl.generations=1", "ftl.generations=2"]),
            pick(&["state.rested=false", "state.rested=true"]),
        ];
        keys.extend(pick_start(seed));
        let accepted = (5..100).find_map(|percent| {
            let spare = format!("ftl.over_provisioning_percent={percent}");
            try_settings(&[&keys[..], &[&*spare]].concat()).ok()
        });
        if let Some(settings) = accepted {
            let (map, _) = self::made(&settings);
            let units = (0..settings.exported_units).map(Lpn::new);
            assert!(units.into_iter().all(|lpn| map.lookup(lpn).is_some()), "{keys:?}");
            made += 1;
        }
    }
    assert!(made > 15, "{made} of 20 have a steady state");
}

/// What starts collection, and its pacing.
fn pick_start(seed: usize) -> Vec<&'static str> {
    [
        vec!["gc.start=needed", "gc.reserve_blocks=1"],
        vec!["gc.pacing=none"],
        vec!["gc.pacing=spare"],
        vec!["gc.pacing=tokens", "gc.copies_per_program=1"],
    ][seed % 4]
        .clone()
}
