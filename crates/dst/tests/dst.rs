//! What a simulated drive with bytes promises, and what it finds.

use flashyard_core::units::Span;
use flashyard_dst::wal::{Log, Record};
use flashyard_dst::{Disk, small_disk};
use flashyard_sim::config::{Fault, MapStore, Plp, Settings};
use flashyard_sim::cut::{Cut, How};

/// Splitmix64.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut state = self.0;
        state = (state ^ (state >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        state = (state ^ (state >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (state ^ (state >> 31)) % bound
    }
}

/// Commits to a log, cuts, and recovers: what was committed, what is there, and the cut.
fn run(seed: u64, flushes: bool) -> (Vec<Record>, Vec<Record>, Cut) {
    let mut disk = Disk::new(&small_disk());
    let mut log = Log::new(flushes);
    let committed: Vec<Record> =
        (0..=seed % 20).map(|number| log.commit(&mut disk, seed ^ number, number)).collect();
    disk.pass(Span::from_ns(seed.wrapping_mul(7_919) % 3_000_000));
    let cut = disk.cut(seed);
    let found = log.recover(&mut disk);
    (committed, found, cut)
}

/// A log that flushes loses no record; one that does not is found out by one of the first 1,000
/// seeds, which finds the same again.
#[test]
fn a_log_without_a_flush_is_found_out() {
    for seed in 0..40 {
        let (committed, found, _) = run(seed, true);
        assert_eq!(committed, found, "seed {seed}");
    }
    let finds = |seed: &u64| {
        let (committed, found, _) = run(*seed, false);
        committed != found
    };
    let seed = (0..1_000).find(finds).expect("a seed finds it");
    assert_eq!(run(seed, false), run(seed, false), "it replays");
}

/// Drives that keep their promises in different ways.
fn drives() -> Vec<(&'static str, Settings)> {
    let with = |change: fn(&mut flashyard_sim::config::DeviceKeys)| {
        let mut keys = small_disk().keys;
        // So few blocks that garbage collection is at work.
        keys.geometry.blocks_per_plane = 24;
        keys.geometry.pages_per_block = 16;
        keys.buffer.bytes = 65_536;
        change(&mut keys);
        Settings::new(keys).expect("a device that can exist")
    };
    vec![
        ("volatile", with(|_| ())),
        ("no buffer", with(|keys| keys.buffer.bytes = 0)),
        (
            "map cache",
            with(|keys| {
                keys.map.store = MapStore::Cmt;
                keys.geometry.blocks_per_plane = 40;
                (keys.gc.soft_free_blocks, keys.gc.hard_free_blocks) = (8, 4);
                keys.gc.reserve_blocks = 4;
            }),
        ),
        (
            "capacitor",
            with(|keys| {
                keys.buffer.volatile = false;
                keys.power.plp = Plp::Capacitor;
            }),
        ),
        ("checkpoint", with(|keys| keys.power.checkpoint_mib = 1)),
    ]
}

/// Random writes, flushes and losses of power. A sector holds what was written last, or something
/// that was written since the last flush, or what was there at that; behind an answer that is kept
/// it holds the last.
#[test]
fn a_drive_keeps_what_it_promises() {
    for (name, settings) in drives() {
        let mut random = Random(3);
        let mut disk = Disk::new(&settings);
        let sectors = 400;
        // What each sector may hold: what was flushed, and all that was written since.
        let mut may: Vec<Vec<u8>> = vec![vec![0]; sectors];
        let mut cuts = 0;
        for step in 0..600 {
            let first = random.below(sectors as u64 - 16);
            let count = 1 + random.below(16);
            let value = u8::try_from(1 + random.below(255)).expect("a byte");
            let bytes = vec![value; usize::try_from(count).expect("few") * 512];
            let kept = name == "capacitor" || name == "no buffer";
            match random.below(20) {
                0 => {
                    disk.flush();
                    for may in &mut may {
                        may.drain(..may.len() - 1);
                    }
                }
                1 => {
                    disk.cut(step);
                    cuts += 1;
                    for (sector, may) in (0..).zip(&mut may) {
                        let held = disk.read(sector, 1)[0];
                        assert!(may.contains(&held), "{name}, step {step}: {sector} has {held}");
                        *may = vec![held];
                    }
                }
                2 => {
                    // Nobody waits for its answer.
                    disk.submit(&Disk::write_request(first, &bytes), &bytes);
                    write(&mut may, first, count, value, false);
                    // What comes next may come before it.
                    disk.pass(Span::from_ns(random.below(2_000_000)));
                }
                3 => {
                    disk.write_through(first, &bytes);
                    write(&mut may, first, count, value, true);
                }
                _ => {
                    disk.write(first, &bytes);
                    write(&mut may, first, count, value, kept);
                }
            }
        }
        assert!(cuts > 10, "{name}: {cuts}");
    }
}

/// What a fault does to units whose program is interrupted, or shares cells with one, is in their
/// bytes, and the cut names it: other units hold one write, whole.
#[test]
fn planted_faults_are_in_the_bytes() {
    for (fault, how) in [
        (Fault::None, None),
        (Fault::ShornWrites, Some(How::Shorn)),
        (Fault::BitCorruption, Some(How::Corrupt)),
    ] {
        let mut keys = small_disk().keys;
        (keys.buffer.bytes, keys.nand.bits_per_cell, keys.power.fault) = (0, 2, fault);
        let settings = Settings::new(keys).expect("a device that can exist");
        let mut named = 0;
        for seed in 0..20 {
            let mut disk = Disk::new(&settings);
            let units = 8 + seed % 5;
            for unit in 0..units {
                disk.write(8 * unit, &[1; 4_096]);
            }
            for unit in 0..units {
                disk.submit(&Disk::write_request(8 * unit, &[2; 4_096]), &[2; 4_096]);
            }
            disk.pass(Span::from_ns(seed * 131_000));
            let cut = disk.cut(seed);
            for unit in 0..units {
                let bytes = disk.read(8 * unit, 8);
                let whole = bytes == [1; 4_096] || bytes == [2; 4_096];
                let lost = cut.lost.iter().find(|lost| lost.first_sector / 8 == unit);
                assert_eq!(lost.map(|lost| lost.how), how.filter(|_| !whole), "{fault:?} {seed}");
                let Some(lost) = lost else { continue };
                named += 1;
                let is_off_by_a_bit = |sector: &[u8]| {
                    sector[0] == sector[1] ^ 1 && sector[1..].iter().all(|byte| *byte == sector[1])
                };
                let shows = if lost.how == How::Shorn {
                    let parts = (lost.first_sector % 8, lost.sectors) == (3, 5);
                    parts && bytes[..1_536] == [2; 1_536] && bytes[1_536..] == [1; 2_560]
                } else {
                    lost.sectors == 8 && bytes.chunks(512).all(is_off_by_a_bit)
                };
                assert!(shows, "{lost:?}");
            }
        }
        assert_eq!(named > 0, how.is_some(), "{fault:?}: {named}");
    }
}

/// Sectors get a value, which is kept from now on or not.
fn write(may: &mut [Vec<u8>], first: u64, count: u64, value: u8, kept: bool) {
    let first = usize::try_from(first).expect("few");
    for may in &mut may[first..first + usize::try_from(count).expect("few")] {
        if kept {
            may.clear();
        }
        may.push(value);
    }
}
