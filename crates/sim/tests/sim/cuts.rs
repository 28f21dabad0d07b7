//! Losses of power: random devices lose no promise and go on under the checker, recovery takes the
//! time of its reads, and a second loss of power during recovery loses nothing more.

use crate::common::{
    Random, flush, record, request, restored, saved, seeds, settings, try_settings, write,
};
use crate::generators::devices::{Family, case};
use crate::generators::reclaim_units::{traffic, with_superblocks};
use flashyard_core::request::{Flags, Request, RequestOp};
use flashyard_core::units::{Span, Time};
use flashyard_sim::config::{MapReserve, Plp, Settings};
use flashyard_sim::cut::{Cut, How};
use flashyard_sim::drive::Drive;
use flashyard_sim::session::{Session, Stop};

/// A device of a seed that can be cut and is sound; none where it cannot exist.
fn sound(seed: u64) -> Option<(Settings, Vec<Request>)> {
    let mut random = Random(seed ^ 0xC07);
    let of = [
        Family::Any,
        Family::Cached,
        Family::LogBlocks,
        Family::LogBlocks,
        Family::Cells,
        Family::Packed,
    ];
    let (settings, requests) = case(random.pick(&of), seed);
    let mut keys = settings.keys;
    // The journal fills a block more of each plane.
    keys.geometry.blocks_per_plane += 8;
    // With these a reserve may be used up, cut or not.
    keys.gc.erase_after_map = false;
    keys.gc.map_reserve = MapReserve::Half;
    // What is worn out ends a run, cut or not.
    (keys.nand.endurance_cycles, keys.slc.endurance_cycles) = (0, 0);
    if keys.plans() && random.below(2) == 0 {
        keys.buffer.bytes = random.pick(&[16_384, 65_536]);
        keys.buffer.volatile = random.below(2) == 0;
    }
    let power = &mut keys.power;
    power.oob_scan = true;
    power.journal_entries = random.pick(&[1, 8, 32]);
    power.checkpoint_mib = random.pick(&[0, 0, 1]);
    power.rail_ms = Span::from_ms(random.pick(&[0, 0, 1]));
    if random.below(3) == 0 || (keys.buffer.bytes > 0 && !keys.buffer.volatile) {
        power.plp = Plp::Capacitor;
    }
    Some((Settings::new(keys).ok()?, requests))
}

/// Submits requests in an open loop until an instant; those that are late arrive now. Returns how
/// many there were.
fn go_on(session: &mut Session, requests: &[Request], until: Time) -> usize {
    let due = requests.partition_point(|request| request.arrival <= until);
    for request in &requests[..due] {
        let at = request.arrival.max(session.now());
        session.submit(&request.at(at)).expect("it fits the device");
    }
    session.advance(until, Stop::At).expect("it runs");
    due
}

/// Requests are submitted to a device that is cut at four random instants and goes on, under the
/// checker. Nothing that was promised is lost. Returns the cuts, and how many units they lost.
fn cut_and_go_on(seed: u64, settings: &Settings, requests: &[Request]) -> (u64, usize) {
    let (mut cuts, mut lost) = (0, 0);
    let mut random = Random(seed);
    let mut drive = Drive::new(settings);
    let mut left = requests;
    let end = left.last().map_or(Time::ZERO, |last| last.arrival);
    for _ in 0..4 {
        drive.check();
        let mut session = Session::new(drive);
        let span = end.since(session.now().min(end)).as_ns() / 3;
        let until = session.now() + Span::from_ns(random.below(span + 2_000_000));
        let done = go_on(&mut session, left, until);
        left = &left[done..];
        let (next, cut) = session.cut(random.next()).expect("it can be cut");
        assert!(cut.broken().next().is_none(), "seed {seed}: {cut:?} {:?}", settings.keys);
        (cuts, lost) = (cuts + 1, lost + cut.lost.len());
        drive = next;
    }
    drive.check();
    let mut session = Session::new(drive);
    let last = left.last().map_or(session.now(), |last| last.arrival).max(session.now());
    go_on(&mut session, left, last);
    session.finish().unwrap_or_else(|error| panic!("seed {seed}: {error} {:?}", settings.keys));
    (cuts, lost)
}

/// Random devices are cut at random instants and go on, under the checker.
#[test]
fn sound_devices_break_no_promise() {
    let (mut cuts, mut lost) = (0, 0);
    for seed in seeds(0..120) {
        let Some((settings, requests)) = sound(seed) else { continue };
        let done = cut_and_go_on(seed, &settings, &requests[..requests.len().min(200)]);
        (cuts, lost) = (cuts + done.0, lost + done.1);
    }
    assert!(cuts > 80 && lost > 10, "{cuts} cuts lost {lost} units");
}

/// The same with superblocks: some are cut while one is collected and a part of it is erased.
#[test]
fn sound_superblocks_break_no_promise() {
    let (mut cuts, mut lost) = (0, 0);
    for seed in seeds(40_000..40_180) {
        let Some((settings, _)) = sound(seed) else { continue };
        let mut random = Random(seed ^ 0x5B);
        let mut keys = with_superblocks(settings.keys, &mut random);
        // The journal has a superblock of its own. With less in a page of it, copies that change
        // the map would fill more than they free.
        keys.geometry.blocks_per_plane += 4;
        keys.power.journal_entries = random.pick(&[0, 16, 32]);
        // What is worn out ends a run, cut or not.
        keys.nand.endurance_cycles = 0;
        let Ok(settings) = Settings::new(keys) else { continue };
        if settings.geometry.all_planes() == 1 {
            continue;
        }
        let requests = traffic(&settings, &mut random, 1);
        let done = cut_and_go_on(seed, &settings, &requests);
        (cuts, lost) = (cuts + done.0, lost + done.1);
    }
    assert!(cuts > 80 && lost > 10, "{cuts} cuts lost {lost} units");
}

/// The power fails eighty times while superblocks are collected: each time the one that was is the
/// next victim, with the blocks of it that are not erased, and no room is lost. Where a program
/// takes four copies that are read for long, most of them have been promised room that they do not
/// use.
#[test]
fn superblocks_outlive_eighty_cuts() {
    let slow = ["geometry.page_bytes=16384", "ftl.mapping_unit_bytes=4096", "nand.read_us=1000"];
    let shapes: [&[&str]; 2] = [&[], &slow];
    for shape in shapes {
        let keys = [
            "geometry.channels=4",
            "geometry.blocks_per_plane=16",
            "ftl.over_provisioning_percent=60",
            "ftl.allocation=dynamic",
            "placement.unit=superblock",
            "power.journal_entries=64",
            "state.initial=random",
        ];
        let settings = plain(&[&keys, shape].concat());
        let (mut drive, mut halves, mut random) = (Drive::new(&settings), 0, Random(9));
        for round in 0..80 {
            drive.check();
            let waits = shape.is_empty() && round % 2 == 0;
            let (next, half) = cut_while_collecting(drive, &settings, &mut random, waits);
            (drive, halves) = (next, halves + u32::from(half));
        }
        assert!(halves > 20 || !shape.is_empty(), "{halves} superblocks were half erased");
        drive.check();
        Session::new(drive).finish().expect("it goes on");
    }
}

/// Writes a superblock or two of 64 program units and cuts, where it `waits` for that when some
/// blocks of a superblock are erased and others are not. Returns the device, and whether that was
/// so.
fn cut_while_collecting(
    drive: Drive,
    settings: &Settings,
    random: &mut Random,
    waits: bool,
) -> (Drive, bool) {
    let mut session = Session::new(drive);
    // A read is answered behind recovery.
    let first = request(0, RequestOp::Read, 0, 1).at(session.now());
    session.submit(&first).expect("it fits the device");
    session.advance(Time::MAX, Stop::AtCompletion).expect("it runs");
    let from = session.now();
    let writes = u64::from(settings.geometry.program_units()) * (100 + random.below(64));
    for number in 0..writes {
        let lpn = random.below(settings.exported_units.into());
        let at = from + Span::from_us(20_000 * number / writes);
        session.submit(&write(0, lpn).at(at)).expect("it fits the device");
    }
    let some = from + Span::from_us(15_000 + random.below(15_000));
    session.advance(some, Stop::At).expect("it runs");
    let half = |session: &Session| !session.figures().erased_blocks.is_multiple_of(4);
    while waits && !half(&session) && session.now() < from + Span::from_ms(80) {
        let next = session.now() + Span::from_us(300);
        session.advance(next, Stop::At).expect("it runs");
    }
    let is_half = half(&session);
    let (next, cut) = session.cut(random.next()).expect("it can be cut");
    assert!(cut.broken().next().is_none(), "{cut:?}");
    (next, is_half)
}

/// A device of some dies with a page a unit, of which writes and reads take known times.
fn plain(keys: &[&str]) -> Settings {
    let base = [
        "map.store=resident",
        "policy.command=fifo",
        "geometry.blocks_per_plane=32",
        "geometry.pages_per_block=16",
        "ftl.over_provisioning_percent=100",
        "nand.read_us=50",
        "power.oob_scan=true",
    ];
    settings(&[&base, keys].concat())
}

/// Runs requests until an instant and cuts.
fn cut_at(settings: &Settings, requests: &[Request], at: Time, seed: u64) -> (Drive, Cut) {
    let mut session = Session::new(Drive::new(settings));
    go_on(&mut session, requests, at);
    session.cut(seed).expect("it can be cut")
}

/// Writes of units one after the other, each long after the one before.
fn spaced(count: u64) -> Vec<Request> {
    (0..count).map(|number| write(number * 2_000, number)).collect()
}

/// Recovery that reads spare areas alone takes their time: each die reads the pages of its own, one
/// after the other; two dies of a channel sense at the same time and take turns on it.
#[test]
fn a_scan_takes_the_time_of_its_reads() {
    let at = Time::from_us(200_000);
    for (channels, ways) in [(1, 1), (4, 1), (1, 2)] {
        let shape = [format!("geometry.channels={channels}"), format!("geometry.ways={ways}")];
        let shape = shape.each_ref().map(String::as_str);
        let bus = ["channel.ps_per_byte=2500", "channel.command_ns=0"];
        let settings = plain(&[&shape[..], &bus].concat());
        let (_, cut) = cut_at(&settings, &spaced(64), at, 1);
        let dies = channels * ways;
        let (each, data) = (64 / dies, 16 * 2_500 / 1_000);
        assert_eq!((cut.reads.spare, cut.reads.all()), (64, 64), "{dies} dies");
        let wanted = Span::from_ns(each * (50_000 + ways * data));
        assert_eq!(cut.recovery, wanted, "{channels} channels, {ways} ways");
    }
}

/// Recovery from a checkpoint reads its pages, and no spare area of what is older: the map of so
/// many units takes so many pages, spread over the dies.
#[test]
fn a_checkpoint_takes_the_time_of_its_pages() {
    let keys = ["geometry.channels=1", "power.oob_scan=false", "power.checkpoint_mib=1"];
    let settings = plain(&[&keys[..], &["geometry.blocks_per_plane=512"]].concat());
    let pages = (u64::from(settings.exported_units) * 4).div_ceil(4_096);
    assert_eq!(pages, 4);
    // The map is written once a MiB: 256 units.
    let (_, cut) = cut_at(&settings, &spaced(256), Time::from_us(600_000), 1);
    assert_eq!((cut.reads.checkpoint, cut.reads.all()), (pages, pages));
    let page_ns = settings.transfer_ns(4_096) + settings.keys.channel.command_ns;
    assert_eq!(cut.recovery, Span::from_ns(pages * (50_000 + page_ns)));
    // Its first page was written behind 64 units. Nothing says where the later ones are.
    assert_eq!((cut.lost.len(), cut.lost[0].first_sector), (192, 64 * 8));
    assert!(cut.lost.iter().all(|lost| lost.how == How::Unfound && lost.promised));
}

/// The next checkpoint begins though pieces of the one before it are still being written: nothing
/// that was promised is lost, whenever the power fails.
#[test]
fn checkpoints_begin_while_others_are_being_written() {
    let keys = ["geometry.channels=2", "geometry.blocks_per_plane=64", "power.checkpoint_mib=1"];
    let settings = plain(&keys);
    let mut random = Random(5);
    let mut one = |number: u64| {
        let (at, first) = (number * 10, random.below(990));
        let op = if number.is_multiple_of(8) { RequestOp::Trim } else { RequestOp::Write };
        request(at, op, first, 32)
    };
    let requests: Vec<Request> = (0..400).map(&mut one).collect();
    for at in (1..20).map(|step| Time::from_us(step * 50_000)) {
        let (_, cut) = cut_at(&settings, &requests, at, 1);
        assert!(cut.broken().next().is_none(), "{at:?}: {cut:?}");
    }
}

/// What a capacitor saves of the map, or of what the journal lacks, is read behind the cut, and
/// again where the power fails meanwhile, without another charge: a map of four bytes a unit, or a
/// page for so many changes.
#[test]
fn what_a_capacitor_saved_is_read() {
    let base = ["geometry.channels=1", "power.plp=capacitor"];
    let at = Time::from_us(40_000);
    let cases: [&[&str]; 3] = [&["power.oob_scan=false"], &[], &["power.journal_entries=5"]];
    for keys in cases {
        let shape = ["geometry.blocks_per_plane=512"];
        let settings = plain(&[&base[..], &shape, keys].concat());
        let is_map = settings.keys.power.journal_entries == 0;
        // Of eleven changes ten are in two pages of the journal.
        let wanted = if is_map { u64::from(settings.exported_units).div_ceil(1_024) } else { 1 };
        let (drive, first) = cut_at(&settings, &spaced(11), at, 1);
        assert_eq!((first.reads.dumped, first.lost.len()), (wanted, 0), "{keys:?}");
        let page_ns = settings.transfer_ns(4_096) + settings.keys.channel.command_ns + 50_000;
        let spare_ns = settings.transfer_ns(16) + settings.keys.channel.command_ns + 50_000;
        let pages = first.reads.dumped + first.reads.journal;
        let time = pages * page_ns + first.reads.spare * spare_ns;
        assert_eq!(first.recovery, Span::from_ns(time), "{keys:?}");
        assert!(first.energy_pj > 0);
        let (drive, again) = Session::new(drive).cut(2).expect("it can be cut");
        assert_eq!((again.reads, again.energy_pj), (first.reads, 0), "{keys:?}");
        let mut later = Session::new(drive);
        later.advance(at + again.recovery + again.recovery, Stop::At).expect("it runs");
        let third = later.cut(3).expect("it can be cut").1;
        assert_eq!(third.reads.dumped, if is_map { wanted } else { 0 }, "{keys:?}");
    }
    let small = plain(&[&base[..], &["power.capacitor_uj=1"]].concat());
    assert_eq!(cut_at(&small, &spaced(11), at, 1).1.reads.dumped, 0, "nothing is saved");
}

/// Recovery reads no page of the journal whose block was erased since: of a journal that is never
/// closed by a checkpoint at most what flash holds, however long the device was written. Entries of
/// one flash page are read at once.
#[test]
fn recovery_reads_what_is_left_of_the_journal() {
    let keys = ["geometry.channels=1", "power.journal_entries=4"];
    let layers: [&[&str]; 2] = [&[], &["ftl.scheme=bast", "nand.program_order=any"]];
    for layer in layers {
        let settings = plain(&[&keys, layer].concat());
        let (pages, mut random) = (u64::from(settings.geometry.blocks()) * 16, Random(3));
        let mut one = |number: u64| match (number * 20_000, random.below(100)) {
            (at, lpn) if number.is_multiple_of(2) => request(at, RequestOp::Trim, lpn, 1),
            (at, lpn) => write(at, lpn),
        };
        let requests: Vec<Request> = (0..12_000).map(&mut one).collect();
        let read = |count: usize| {
            let at = requests[count - 1].arrival + Span::from_us(20_000);
            cut_at(&settings, &requests[..count], at, 1).1.reads
        };
        let [some, more, most] = [100, 6_000, 12_000].map(read);
        assert!(some.journal > 0, "{layer:?}: {some:?}");
        for reads in [more, most] {
            assert!(reads.journal > 0 && reads.journal <= pages, "{layer:?}: {reads:?}");
            assert!(reads.journal + reads.spare <= 2 * pages, "{layer:?}: {reads:?}");
        }
    }
    // Four units are committed at once, and their entries of one change each fill one page.
    let wide = ["geometry.channels=1", "geometry.page_bytes=16384", "ftl.mapping_unit_bytes=4096"];
    let settings = plain(&[&wide[..], &["power.journal_entries=1"]].concat());
    let four = |number: u64| request(number * 2_000, RequestOp::Write, number * 4, 4);
    let requests: Vec<Request> = (0..10).map(four).collect();
    let (_, cut) = cut_at(&settings, &requests, Time::from_us(200_000), 1);
    assert_eq!((cut.reads.journal, cut.reads.spare), (10, 10));
}

/// Recovery is work of the time before requests: in the foreground where they wait for it, idle
/// where they come later, and behind the last request where none comes. Its dies are busy where it
/// is in measured time, and so is what a phase has done that a cut ends.
#[test]
fn recovery_counts_before_the_requests_behind_it() {
    let settings = plain(&["geometry.channels=1"]);
    let at = Time::from_us(200_000);
    let report = |wait: Option<u64>| {
        let (drive, cut) = cut_at(&settings, &spaced(64), at, 1);
        let mut session = Session::new(drive);
        if let Some(wait) = wait {
            let late = cut.at + Span::from_ns(cut.recovery.as_ns() / 2 * wait);
            session.submit(&request(0, RequestOp::Read, 0, 1).at(late)).unwrap();
        }
        (session.finish().expect("it runs"), cut)
    };
    let mut busy = Vec::new();
    for (wait, phase) in [(Some(0), 0), (Some(1), 0), (Some(4), 1), (None, 2)] {
        let (report, cut) = report(wait);
        let phases = ["foreground", "idle", "post"];
        let reads = phases.map(|phase| report.flash.phases[phase]["read"]);
        let host = if wait.is_some() { [1, 0, 0] } else { [0; 3] };
        let wanted = [0, 1, 2].map(|of| host[of] + u64::from(of == phase) * cut.reads.all());
        assert_eq!(reads, wanted, "{wait:?}");
        assert!(report.energy_pj.by_phase[phases[phase]] > 0);
        assert_eq!(report.energy_pj.by_phase.values().sum::<u64>(), report.energy_pj.total);
        busy.push((report.utilisation.dies.busy_ns[0], cut));
    }
    // 64 programs; the read and all of recovery, the same and half of it, the read, and neither.
    let (programs, recovery) = (busy[3].0, busy[3].1.recovery.as_ns());
    let read = busy[2].0 - programs;
    assert!(programs >= 64 * 500_000 && read >= 50_000, "{programs} {read}");
    let shares = [busy[0].0, busy[1].0].map(|all: u64| all - programs - read);
    assert!(shares[0].abs_diff(recovery) < 64 * 1_000, "{shares:?} of {recovery}");
    assert!((2 * shares[1]).abs_diff(shares[0]) < 4, "{shares:?}");
}

/// Requests that arrive during recovery are answered behind it, and a loss of power meanwhile loses
/// nothing more: what the capacitor saved is on flash still.
#[test]
fn a_cut_during_recovery_loses_nothing_more() {
    let keys = [
        "geometry.channels=1",
        "buffer.bytes=262144",
        "buffer.volatile=false",
        "power.plp=capacitor",
        "power.journal_entries=16",
    ];
    let settings = plain(&keys);
    let burst: Vec<Request> = (0..40).map(|lpn| write(1, lpn)).collect();
    let (drive, first) = cut_at(&settings, &burst, Time::from_us(1_000), 3);
    assert!(first.dumped_units > 30 && first.lost.is_empty(), "{first:?}");
    assert!(first.energy_pj > 0 && first.energy_pj == first.needed_pj);
    let middle = first.at + Span::from_ns(first.recovery.as_ns() / 2);
    let mut again = Session::new(drive.clone());
    again.submit(&write(1_000, 99)).unwrap();
    again.advance(middle, Stop::At).unwrap();
    assert!(again.poll().is_none(), "it recovers");
    let (drive_again, second) = again.cut(4).unwrap();
    assert_eq!((second.lost.as_slice(), second.dumped_units), (&[][..], first.dumped_units));
    assert_eq!((second.recovery, second.energy_pj), (first.recovery, 0));
    for (mut drive, cut) in [(drive, first), (drive_again, second)] {
        drive.check();
        let mut session = Session::new(drive);
        let at = cut.at + Span::from_us(1);
        session.submit(&request(0, RequestOp::Read, 0, 1).at(at)).unwrap();
        session.advance(Time::MAX, Stop::AtCompletion).unwrap();
        let read = session.poll().unwrap();
        assert!(read.at >= cut.at + cut.recovery, "{read:?} {cut:?}");
        session.finish().unwrap();
    }
}

/// The same seed gives the same device, to the byte.
#[test]
fn a_cut_is_a_function_of_its_seed() {
    let keys = ["state.initial=full", "buffer.bytes=65536", "power.journal_entries=16"];
    let settings = plain(&keys);
    let mut random = Random(5);
    let requests: Vec<Request> =
        (0..600).map(|number| write(number * 30, random.below(200))).collect();
    let cut = |seed| {
        let (drive, cut) = cut_at(&settings, &requests, Time::from_us(11_000), seed);
        let Drive::Flash(device) = drive else { unreachable!() };
        let bytes = saved(&device);
        let mut again = restored(&settings, &bytes).expect("it is saved like any other");
        assert_eq!(saved(&again), bytes);
        again.check();
        Session::new(Drive::Flash(Box::new(again))).finish().expect("it goes on");
        (bytes, cut)
    };
    assert_eq!(cut(7), cut(7));
}

/// What is written for losses of power counts: a page of the journal for so many changes, and one
/// for the trims that a flush finds.
#[test]
fn the_journal_has_a_purpose_of_its_own() {
    let settings = plain(&["power.journal_entries=10"]);
    let mut requests = spaced(64);
    requests.push(request(200_000, RequestOp::Trim, 3, 1));
    requests.push(flush(210_000));
    let mut session = Session::new(Drive::new(&settings));
    go_on(&mut session, &requests, Time::from_us(250_000));
    let flush = std::iter::from_fn(|| session.poll()).last().expect("the flush is over");
    assert_eq!(flush.at, Time::from_us(210_000 + 700), "it waits for a program");
    let report = session.finish().unwrap();
    // 64 writes fill six pages; the trim goes with the last four.
    assert_eq!(report.flash.pages["programs"]["journal"], 7);
    assert_eq!(report.flash.write_amplification_by["journal"], Some(7.0 / 64.0));
    assert!(report.energy_pj.by_purpose["journal"] > 0);
}

/// Changes that fill a program of four units are written by one program without padding; where
/// those of a unit are written by themselves, each program has three empty units. Recovery reads a
/// flash page for each program.
#[test]
fn a_page_of_the_journal_fills_a_program() {
    let wide = ["geometry.channels=1", "geometry.page_bytes=16384", "ftl.mapping_unit_bytes=4096"];
    let four = |number: u64| request(number * 2_000, RequestOp::Write, number * 4, 4);
    let requests: Vec<Request> = (0..256).map(four).collect();
    for (entries, programs, padded) in [(1_024, 1, 0), (512, 2, 4), (256, 4, 12)] {
        let entries = format!("power.journal_entries={entries}");
        let settings = plain(&[&wide[..], &[&entries]].concat());
        let mut session = Session::new(Drive::new(&settings));
        go_on(&mut session, &requests, Time::from_us(520_000));
        let (_, cut) = session.fork().cut(1).expect("it can be cut");
        assert_eq!((cut.reads.journal, cut.lost.len()), (programs, 0), "{entries}");
        let report = session.finish().unwrap();
        assert_eq!(report.flash.pages["programs"]["journal"], programs, "{entries}");
        let wa = &report.flash.write_amplification_by;
        assert_eq!(wa["journal"], Some(4.0 / 1_024.0), "{entries}");
        assert_eq!(wa["padding"], Some(f64::from(padded) / 1_024.0), "{entries}");
    }
    // The capacitor writes 300 changes to two units of a page.
    let keys = ["power.plp=capacitor", "power.journal_entries=1024"];
    let settings = plain(&[&wide[..], &keys].concat());
    let more: Vec<Request> = (0..75).map(four).collect();
    let (_, cut) = cut_at(&settings, &more, Time::from_us(160_000), 1);
    assert_eq!((cut.reads.journal, cut.reads.dumped, cut.lost.len()), (0, 1, 0));
    let error = try_settings(&["geometry.page_bytes=4096", "power.journal_entries=257"]);
    assert!(error.expect_err("too many").contains("are more than the 256 that a program holds"));
}

/// Blocks of the journal are collected without copies, also where copies of a program unit begin
/// together because room is scarce.
#[test]
fn blocks_of_the_journal_are_collected_where_room_is_scarce() {
    let keys = [
        "geometry.channels=1",
        "geometry.page_bytes=16384",
        "ftl.mapping_unit_bytes=4096",
        "ftl.over_provisioning_percent=50",
        "power.journal_entries=8",
        "state.initial=full",
    ];
    let settings = plain(&keys);
    let (mut random, units) = (Random(4), u64::from(settings.exported_units));
    let requests = (0..3 * units).map(|number| write(300 * number, random.below(units)));
    let (report, run) = record(&settings, &[], &requests.collect::<Vec<_>>());
    assert_eq!(run.requests.len() as u64, 3 * units);
    let programs = report.flash.pages["programs"]["journal"];
    assert!(programs > 16 * 16, "the journal has filled {programs} pages of blocks of 16");
}

/// Promises that cuts of a run break, and losses by how they came about.
fn broken(settings: &Settings, requests: &[Request], cuts: u64) -> (usize, Vec<How>) {
    let end = requests.last().expect("there are some").arrival.as_ns();
    let (mut broken, mut how) = (0, Vec::new());
    let mut session = Session::new(Drive::new(settings));
    let mut left = requests;
    for number in 1..=cuts {
        let done = go_on(&mut session, left, Time::from_ns(end * number / cuts));
        left = &left[done..];
        let (_, cut) = session.fork().cut(number).expect("it can be cut");
        broken += cut.broken().count();
        how.extend(cut.lost.iter().map(|lost| lost.how));
    }
    how.sort_unstable();
    how.dedup();
    (broken, how)
}

/// A capacitor that is large enough saves the whole map where there is no journal: a trim that was
/// answered takes nothing away that was promised, and what it forgot is not there again, with a
/// flush behind it or without. One of 1 uJ saves no map, so trims come back, and without a scan
/// nothing is found.
#[test]
fn a_capacitor_alone_keeps_trims() {
    let (trim, trimmed) = (request(20_000, RequestOp::Trim, 1, 2), [1, 2]);
    let writes: Vec<Request> = spaced(4);
    let without: Vec<Request> = writes.iter().copied().chain([trim]).collect();
    let with: Vec<Request> = without.iter().copied().chain([flush(30_000)]).collect();
    let layers: [&[&str]; 3] = [&[], &["ftl.scheme=bast"], &["power.oob_scan=false"]];
    let cut = |keys: &[&str], requests: &[Request]| {
        let own = ["nand.program_order=any", "power.plp=capacitor", "geometry.channels=1"];
        let settings = plain(&[&own, keys].concat());
        cut_at(&settings, requests, Time::from_us(50_000), 1)
    };
    for keys in layers {
        for requests in [&without, &with] {
            let (drive, first) = cut(keys, requests);
            assert_eq!(first.lost, [], "{keys:?}");
            let holds = |unit| first.held.iter().find(|held| held.unit == unit);
            let versions = trimmed.map(|unit| holds(unit).expect("it was trimmed").version);
            assert!(versions.iter().all(|version| *version >= Some(4)), "{keys:?}: {first:?}");
            let (_, second) = Session::new(drive).cut(2).expect("it can be cut");
            assert_eq!(second.lost, [], "{keys:?}, again");
        }
    }
    let (_, small) = cut(&["power.capacitor_uj=1"], &with);
    assert!(small.lost.iter().all(|lost| lost.how == How::Untrimmed && lost.promised), "{small:?}");
    assert_eq!(small.lost.len(), 2);
    let (_, nothing) = cut(&["power.capacitor_uj=1", "power.oob_scan=false"], &with);
    let how: Vec<_> = nothing.lost.iter().map(|lost| (lost.first_sector, lost.how)).collect();
    assert_eq!(how, [(0, How::Unfound), (24, How::Unfound)], "units 0 and 3: the rest is trimmed");
}

/// Each planted fault breaks a promise, and the sound device beside it breaks none.
#[test]
fn planted_faults_break_promises_and_sound_devices_do_not() {
    let mut random = Random(11);
    let mut requests = Vec::new();
    for number in 0..400 {
        let (at, lpn) = (number * 1_500, random.below(200));
        requests.push(match random.below(10) {
            0 => request(at, RequestOp::Trim, lpn, 1),
            1 => flush(at),
            _ => write(at, lpn),
        });
    }
    let buffer = ["buffer.bytes=131072"];
    let kept = ["buffer.bytes=131072", "buffer.volatile=false", "power.plp=capacitor"];
    let cells = ["nand.bits_per_cell=2", "geometry.channels=1"];
    let fresh = ["power.checkpoint_mib=1"];
    let pairs: [(&[&str], &[&str], &[&str]); 11] = [
        (&buffer, &["power.journal_entries=32"], &["power.journal_entries=0"]),
        (&[], &["power.journal_entries=32"], &["power.journal_entries=32", "power.oob_scan=false"]),
        (&[], &["power.journal_entries=32"], &["power.checkpoint_mib=1", "power.oob_scan=false"]),
        (&kept, &["power.capacitor_uj=0"], &["power.capacitor_uj=1"]),
        (&cells, &["power.paired_pages=false"], &["power.paired_pages=true"]),
        (&cells, &["power.paired_pages=false"], &["power.fault=bit_corruption"]),
        (&[], &[], &["power.fault=shorn_writes"]),
        (&buffer, &[], &["power.fault=unserialisable"]),
        (&fresh, &[], &["power.fault=metadata"]),
        (&buffer, &[], &["power.fault=dead"]),
        (&buffer, &[], &["power.fault=flush_ignored"]),
    ];
    for (base, sound, faulty) in pairs {
        let journal = ["power.journal_entries=32"];
        let of = |keys: &[&str]| plain(&[base, &journal, keys].concat());
        let (none, _) = broken(&of(sound), &requests, 40);
        let (some, how) = broken(&of(faulty), &requests, 40);
        assert_eq!(none, 0, "{base:?} {sound:?}");
        assert!(some > 0, "{base:?} {faulty:?}: {how:?}");
    }
}

/// A program that is interrupted and counts as whole leaves the first 3/8 of its unit, and the rest
/// as the write before left it. A device without the fault has none of it.
#[test]
fn a_shorn_write_is_there_in_part() {
    let requests: Vec<Request> = spaced(3).into_iter().chain([write(60_000, 1)]).collect();
    let cut = |keys: &[&str]| {
        let settings = plain(&[&["geometry.channels=1"], keys].concat());
        cut_at(&settings, &requests, Time::from_us(60_300), 1).1
    };
    assert_eq!(cut(&[]).lost, [], "the write was not answered");
    let shorn = cut(&["power.fault=shorn_writes"]);
    let [lost] = shorn.lost[..] else { panic!("{shorn:?}") };
    assert_eq!((lost.request, lost.how, lost.promised), (Some(3), How::Shorn, true));
    assert_eq!((lost.first_sector, lost.sectors), (8 + 3, 5));
    assert_eq!((lost.version, lost.kept), (3, Some(1)), "the fourth change, and the second");
    assert_eq!(shorn.held.iter().find(|held| held.unit == 1).unwrap().version, Some(3));
}

/// A fault that the device could not have is refused, with what it wants.
#[test]
fn faults_name_what_they_want() {
    for (keys, wants) in [
        (&["power.fault=dead"][..], "power.oob_scan"),
        (&["power.oob_scan=true", "power.fault=dead"], "power.journal_entries"),
        (&["power.oob_scan=true", "power.fault=metadata"], "power.checkpoint_mib"),
        (&["power.journal_entries=8", "power.fault=shorn_writes"], "power.oob_scan"),
        (&["power.oob_scan=true", "power.fault=bit_corruption"], "nand.bits_per_cell"),
        (&["power.oob_scan=true", "power.fault=flush_ignored"], "buffer.bytes"),
    ] {
        let error = try_settings(&[&["map.store=resident"], keys].concat()).unwrap_err();
        assert!(error.contains("power.fault") && error.contains(wants), "{keys:?}: {error}");
    }
}

/// A flush promises what was answered before it arrived. A write whose units are on flash in part,
/// and that is taken back, was promised where its answer came first, or said so itself (FUA), and
/// not where the flush arrived before.
#[test]
fn a_flush_promises_what_was_answered_before_it() {
    let keys = ["geometry.channels=1", "buffer.bytes=65536", "power.paired_pages=true"];
    let cells = ["nand.bits_per_cell=2", "nand.program_us=600", "power.journal_entries=32"];
    let settings = plain(&[&keys[..], &cells].concat());
    // Page 1 shares its word line with page 0, which an interrupted program of it destroys.
    let promised = |begin: [Request; 2]| {
        let requests = [begin[0], begin[1], write(4_000, 1), flush(4_030)];
        let (_, cut) = cut_at(&settings, &requests, Time::from_us(4_330), 1);
        let lost = cut.lost.iter().find(|lost| lost.first_sector == 0).copied();
        let lost = lost.unwrap_or_else(|| panic!("{cut:?}"));
        assert_eq!((lost.how, lost.kept), (How::Paired, None));
        lost.promised
    };
    assert!(promised([write(0, 0), flush(500)]), "the flush arrived behind the answer");
    assert!(!promised([write(0, 0), flush(0)]), "it arrived before the answer");
    assert!(promised([flush(0), write(100, 0).with(Flags::FUA)]), "the answer says so");
}

/// A write of many units is there or not, as long as the older contents are there.
#[test]
fn torn_writes_are_taken_back() {
    let writes =
        |at| (0..8).map(move |number| request(at + number, RequestOp::Write, number * 16, 16));
    let requests: Vec<Request> = writes(0).chain(writes(60_000)).collect();
    let torn = |keys: &[&str]| {
        let settings = plain(&[&["geometry.channels=4"], keys].concat());
        let (_, cut) = cut_at(&settings, &requests, Time::from_us(61_500), 1);
        cut
    };
    let without = torn(&[]);
    let with = torn(&["power.awupf_units=16"]);
    assert_eq!(without.lost, [], "no write was answered");
    assert_eq!(with.lost, []);
    let (_, how) = broken(
        &plain(&["buffer.bytes=131072", "power.awupf_units=16", "power.journal_entries=8"]),
        &requests,
        60,
    );
    assert!(how.contains(&How::Buffered), "{how:?}");
}
