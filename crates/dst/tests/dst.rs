//! What a simulated drive with bytes promises, and what it finds.

use flashyard_core::request::{Flags, Request, RequestOp};
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
                4 => {
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

/// Sound drives with a volatile buffer, by how many units a write has that is there or not: with
/// pages of one mapping unit and of four, and with units of 16 KiB.
fn buffered_drives() -> Vec<(String, Settings)> {
    let sizes = [(4_096, 0), (16_384, 4_096), (16_384, 0)];
    let all = (1..=4).flat_map(|awupf| sizes.map(|sizes| (awupf, sizes)));
    let one = |(awupf, (page, unit))| {
        let mut keys = small_disk().keys;
        (keys.geometry.blocks_per_plane, keys.geometry.pages_per_block) = (24, 16);
        (keys.geometry.page_bytes, keys.ftl.mapping_unit_bytes) = (page, unit);
        keys.buffer.bytes = 131_072;
        keys.power.awupf_units = awupf;
        let settings = Settings::new(keys).expect("a device that can exist");
        (format!("{awupf} units, pages of {page}, units of {unit}"), settings)
    };
    all.map(one).collect()
}

/// Units that are written as a whole, each with the number of its write in all its bytes.
const UNITS: u64 = 24;

/// A drive that was written, and what it was told.
struct Written {
    disk: Disk,
    sectors: u64,
    /// The first unit of each write, and how many it has.
    writes: Vec<(u64, u64)>,
}

impl Written {
    /// One all of whose units have contents that are kept.
    fn new(settings: &Settings) -> Self {
        let mut disk = Disk::new(settings);
        let sectors = u64::from(settings.geometry.unit_sectors());
        disk.write_through(0, &vec![0; usize::try_from(UNITS * sectors).expect("few") * 512]);
        Self { disk, sectors, writes: vec![(0, UNITS)] }
    }

    /// The next write, of one to four units.
    fn next(&mut self, random: &mut Random) -> (u64, Vec<u8>) {
        let count = 1 + random.below(4);
        let first = random.below(UNITS / count) * count;
        let number = u16::try_from(self.writes.len()).expect("few").to_le_bytes();
        self.writes.push((first, count));
        let bytes = number.repeat(usize::try_from(count * self.sectors).expect("few") * 256);
        (first * self.sectors, bytes)
    }

    /// The number of the write that each unit holds.
    fn numbers(&mut self) -> Vec<u64> {
        let one = |unit| {
            let sectors = u32::try_from(self.sectors).expect("few");
            let bytes = self.disk.read(unit * self.sectors, sectors);
            assert_eq!(bytes[2..], bytes[..bytes.len() - 2], "unit {unit} is of one write");
            u64::from(u16::from_le_bytes([bytes[0], bytes[1]]))
        };
        (0..UNITS).map(one).collect()
    }

    /// A write of at most so many units that is there in part, if there is one.
    fn torn(&mut self, most: u64) -> Option<(u64, Vec<u64>)> {
        let there = self.numbers();
        let narrow = |number: u64| usize::try_from(number).expect("few");
        let units = |&(first, count): &(u64, u64)| &there[narrow(first)..narrow(first + count)];
        let is_torn = |(number, units): &(u64, &[u64])| {
            let in_part = units.iter().any(|unit| unit < number);
            units.len() as u64 <= most && units.contains(number) && in_part
        };
        let mut all = (0..).zip(self.writes.iter().map(units));
        all.find(is_torn).map(|(number, units)| (number, units.to_vec()))
    }
}

/// Losses of power one behind another, with flushes between them or not: nothing that is lost was
/// promised to be kept, and of a write of no more units than `power.awupf_units` nothing is there
/// if a part is not, at the next cut or a later one.
#[test]
fn a_sound_drive_breaks_no_promise_at_any_cut() {
    for (name, settings) in buffered_drives() {
        let atomic = settings.keys.power.awupf_units;
        let (mut random, mut drive) = (Random(5), Written::new(&settings));
        let (mut lost, mut cuts) = (0, 0);
        for step in 0..400 {
            // Beside them a unit that is trimmed, or written in part.
            let beside = (UNITS + random.below(8)) * drive.sectors;
            match random.below(24) {
                0 => drive.disk.flush(),
                1 | 2 => {
                    if random.below(2) == 0 {
                        let (first, bytes) = drive.next(&mut random);
                        drive.disk.submit(&Disk::write_request(first, &bytes), &bytes);
                    }
                    drive.disk.pass(Span::from_ns(random.below(1_500_000)));
                    let cut = drive.disk.cut(step);
                    assert_eq!(cut.broken().next(), None, "{name}, step {step}");
                    (lost, cuts) = (lost + cut.lost.len(), cuts + 1);
                    assert_eq!(drive.torn(atomic), None, "{name}, step {step}");
                }
                3 => {
                    let (first, bytes) = drive.next(&mut random);
                    drive.disk.write_through(first, &bytes);
                }
                4 => {
                    let sectors = u32::try_from(drive.sectors).expect("few");
                    let trim = Request::new(RequestOp::Trim, beside, sectors);
                    let id = drive.disk.submit(&trim, &[]);
                    drive.disk.wait(id);
                }
                5 | 6 => drive.disk.write(beside + random.below(7), &[1; 512]),
                _ => {
                    let (first, bytes) = drive.next(&mut random);
                    drive.disk.write(first, &bytes);
                }
            }
        }
        assert!(lost > 50 && cuts > 20, "{name}: {lost} in {cuts}");
    }
}

/// What a cut has lost is not promised by a flush behind the cut.
#[test]
fn a_flush_promises_what_is_there() {
    let mut disk = Disk::new(&small_disk());
    for value in [1, 2] {
        disk.write(0, &[value; 4_096]);
        let cut = disk.cut(value.into());
        assert_eq!((cut.lost.len(), cut.lost[0].promised), (1, false), "{value}");
        disk.flush();
    }
}

/// A request that is over is not waited for, whenever it was, and no request behind a cut has the
/// number of one before it.
#[test]
fn a_request_that_is_over_is_not_waited_for() {
    let mut disk = Disk::new(&small_disk());
    let write = |disk: &mut Disk, unit: u64| {
        disk.submit(&Disk::write_request(8 * unit, &[1; 4_096]), &[1; 4_096])
    };
    let ids = [0, 1, 2].map(|unit| write(&mut disk, unit));
    disk.wait(ids[2]);
    disk.wait(ids[0]);
    disk.pass(Span::from_ns(10_000_000));
    for id in ids {
        disk.wait(id);
    }
    disk.cut(1);
    for id in ids {
        disk.wait(id);
    }
    let later = write(&mut disk, 0);
    assert!(!ids.contains(&later));
    disk.wait(later);
}

#[test]
#[should_panic(expected = "the power failed before request 0 was answered")]
fn a_request_that_a_cut_left_is_not_waited_for() {
    let mut disk = Disk::new(&small_disk());
    let id = disk.submit(&Disk::write_request(0, &[1; 512]), &[1; 512]);
    disk.cut(1);
    disk.write(0, &[1; 512]);
    disk.wait(id);
}

#[test]
#[should_panic(expected = "bytes of a request (Write) and of its sectors")]
fn a_write_has_bytes_for_its_sectors() {
    Disk::new(&small_disk()).submit(&Request::new(RequestOp::Write, 0, 8), &[1; 512]);
}

/// Sectors that are trimmed and have to read as zeroes do, also where they are a part of a unit.
#[test]
fn a_part_of_a_unit_is_zeroed() {
    let mut disk = Disk::new(&small_disk());
    disk.write(0, &[1; 3 * 4_096]);
    let zeroes = Request::new(RequestOp::Trim, 4, 14).with(Flags::ZEROES);
    let id = disk.submit(&zeroes, &[]);
    disk.wait(id);
    let kept = [1, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1];
    let first =
        |disk: &mut Disk| disk.read(0, 24).chunks(512).map(|one| one[0]).collect::<Vec<_>>();
    assert_eq!(first(&mut disk), kept);
    disk.flush();
    disk.cut(1);
    assert_eq!(first(&mut disk), kept);
}

/// A loss names the sectors of all answered writes that are lost, and of no others.
#[test]
fn a_loss_names_all_that_is_lost_of_a_unit() {
    let lost = |writes: &[(u64, usize)], how: fn(&mut Disk)| {
        let mut disk = Disk::new(&small_disk());
        disk.write_through(8, &[1; 4_096]);
        for (first, sectors) in writes {
            disk.write(8 + first, &vec![2; sectors * 512]);
        }
        how(&mut disk);
        let cut = disk.cut(1);
        let all = cut.lost.iter().map(|lost| (lost.first_sector - 8, lost.sectors, lost.promised));
        all.collect::<Vec<_>>()
    };
    let alone: fn(&mut Disk) = |_| ();
    assert_eq!(lost(&[(0, 4), (4, 4)], alone), [(0, 8, false)]);
    assert_eq!(lost(&[(5, 1), (1, 2)], alone), [(1, 5, false)]);
    // A write without an answer is not lost, and what a flush has kept is not, either.
    let unanswered =
        |disk: &mut Disk| _ = disk.submit(&Disk::write_request(8, &[3; 512]), &[3; 512]);
    assert_eq!(lost(&[(6, 2)], unanswered), [(6, 2, false)]);
    let flushed = |disk: &mut Disk| {
        disk.flush();
        disk.write(10, &[3; 512]);
    };
    assert_eq!(lost(&[(6, 2)], flushed), [(2, 1, false)]);
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
