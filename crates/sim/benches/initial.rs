//! What an initial state costs: bytes of map state (L2P and P2L) a second, and page writes a second
//! of the miniature.

use divan::Bencher;
use divan::counter::{BytesCount, ItemsCount};
use flashyard_sim::config::{DeviceKeys, Settings, apply_setting};
use flashyard_sim::ftl::page_map::PageMap;
use flashyard_sim::initial::device::make;
use flashyard_sim::initial::miniature::{Miniature, settle};
use flashyard_sim::initial::{Cleaning, Pool};

fn main() {
    divan::main();
}

fn measured() -> bool {
    std::env::args().any(|argument| argument == "--bench")
}

/// 64 dies of 64 GiB together, or a hundredth of it to see that it runs.
fn device(state: &str, hot_writes_percent: &str) -> Settings {
    let blocks = if measured() { 1_024 } else { 64 };
    let mut keys = DeviceKeys::default();
    let mut problems = Vec::new();
    for assignment in [
        "geometry.channels=8".to_string(),
        "geometry.ways=8".to_string(),
        format!("geometry.blocks_per_plane={blocks}"),
        "geometry.pages_per_block=256".to_string(),
        "ftl.over_provisioning_percent=28".to_string(),
        "gc.soft_free_blocks=4".to_string(),
        "gc.hard_free_blocks=2".to_string(),
        "gc.reserve_blocks=2".to_string(),
        "map.store=resident".to_string(),
        format!("state.initial={state}"),
        format!("state.hot_writes_percent={hot_writes_percent}"),
    ] {
        apply_setting("--set", &assignment, &mut keys, &mut problems);
    }
    assert!(problems.is_empty(), "{problems:?}");
    Settings::new(keys).expect("the device can exist")
}

/// From nothing to a device whose every exported unit is mapped.
#[divan::bench(args = ["full", "random", "steady", "aged"], sample_count = 5, sample_size = 1)]
fn uniform(bencher: Bencher, state: &str) {
    let settings = device(state, "20");
    bencher.counter(BytesCount::new(8 * u64::from(settings.exported_units))).bench(|| {
        let mut map = PageMap::new(&settings);
        make(&settings, &mut map);
        map
    });
}

/// The same, with a miniature that is run first.
#[divan::bench(sample_count = 3, sample_size = 1)]
fn steady_with_two_temperatures(bencher: Bencher) {
    let settings = device("steady", "80");
    bencher.counter(BytesCount::new(8 * u64::from(settings.exported_units))).bench(|| {
        let mut map = PageMap::new(&settings);
        make(&settings, &mut map);
        map
    });
}

/// Page writes of a miniature of the size that steady states are made from.
#[divan::bench(args = [0, 1, 2], sample_count = 3, sample_size = 1)]
fn miniature(bencher: Bencher, cleaning: usize) {
    let cleaning = [Cleaning::Greedy, Cleaning::Fifo, Cleaning::Choices(8)][cleaning];
    let pool = Pool {
        blocks: 512,
        block_units: 256,
        program_units: 1,
        partial_programs: 1,
        gain: 1,
        units: [20_000, 80_000],
        soft: 2,
        target: None,
        generations: 1,
    };
    let (mut small, amplification): (Miniature, f64) =
        settle(pool, cleaning, [0.2, 0.8], 1).expect("there is room");
    let writes: u32 = if measured() { 4_000_000 } else { 10_000 };
    let pages = f64::from(writes) * amplification;
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "millions")]
    let pages = pages as u64;
    bencher.counter(ItemsCount::new(pages)).bench_local(|| small.run(u64::from(writes)));
}
