//! Losses of power of every translation layer, and with an SLC cache, under three contracts: a
//! volatile buffer, one that a capacitor keeps, and a capacitor with half of the energy that this
//! takes. The first two break no promise; the third does, and so does every planted fault.

use crate::common::{Random, flush, read, record, request, saved, settings, write};
use flashyard_core::command::{Op, Purpose};
use flashyard_core::request::{Flags, Request, RequestOp};
use flashyard_core::units::{Span, Time};
use flashyard_sim::config::Settings;
use flashyard_sim::drive::Drive;
use flashyard_sim::observe::{Contents, Observer, Shared, UnitAtStart};
use flashyard_sim::session::{Session, Stop};
use std::collections::BTreeMap;

/// Units that the workload writes to, the first ones.
const UNITS: u64 = 220;

/// Every layer by name, its keys, and the mean time between two requests in microseconds: about
/// what it takes to serve one.
const LAYERS: [(&str, &[&str], u64); 8] = [
    ("page", &[], 900),
    ("dftl", &["map.store=cmt", "map.cache_bytes=512"], 1_500),
    ("block", &["ftl.scheme=block", "nand.program_order=ascending"], 9_000),
    ("bast", &["ftl.scheme=bast", "nand.program_order=any"], 6_000),
    ("fast", &["ftl.scheme=fast", "nand.program_order=ascending"], 6_000),
    ("last", &["ftl.scheme=last", "nand.program_order=any"], 6_000),
    ("fast with four units a page", FOUR_UNITS, 3_000),
    (
        "page with an SLC cache",
        &[
            "nand.bits_per_cell=2",
            "slc.dynamic_percent=50",
            "slc.static_percent=8",
            "slc.fold_idle_us=2000",
            "gc.start=early",
        ],
        900,
    ),
];

/// Programs of four units, which merges fill.
const FOUR_UNITS: &[&str] = &[
    "ftl.scheme=fast",
    "nand.program_order=any",
    "geometry.page_bytes=16384",
    "geometry.pages_per_block=4",
    "ftl.mapping_unit_bytes=4096",
];

/// What keeps the buffer.
const VOLATILE: &[&str] = &["power.journal_entries=32"];
const PROTECTED: &[&str] = &["power.journal_entries=32", "buffer.volatile=false", CAPACITOR];
const CAPACITOR: &str = "power.plp=capacitor";

/// A device that is soon out of free blocks.
fn device(layer: &[&str], keys: &[&str]) -> Settings {
    let base = [
        "map.store=resident",
        "policy.command=fifo",
        "geometry.channels=2",
        "geometry.blocks_per_plane=40",
        "geometry.pages_per_block=8",
        "ftl.over_provisioning_percent=120",
        "state.initial=full",
        "buffer.bytes=65536",
        "power.oob_scan=true",
    ];
    settings(&[&base[..], layer, keys].concat())
}

/// Writes of one to four units, some with FUA or behind a flush, trims, reads and flushes, with so
/// much time between two of them in the mean.
fn load(count: u64, mean_us: u64, seed: u64) -> Vec<Request> {
    let (mut random, mut at) = (Random(seed), 0);
    let one = |_| {
        at += random.below(2 * mean_us);
        let pages = 1 + u32::try_from(random.below(8).saturating_sub(4)).expect("a few");
        let lpn = random.below(UNITS - u64::from(pages));
        match random.below(20) {
            0 | 1 => request(at, RequestOp::Trim, lpn, pages),
            2 => request(at, RequestOp::Read, lpn, pages),
            3 => flush(at),
            4 => request(at, RequestOp::Write, lpn, pages).with(Flags::FUA),
            5 => request(at, RequestOp::Write, lpn, pages).with(Flags::PREFLUSH),
            _ => request(at, RequestOp::Write, lpn, pages),
        }
    };
    (0..count).map(one).collect()
}

/// What cuts of one run have done.
#[derive(Debug, Default)]
struct Sums {
    cuts: u64,
    lost: u64,
    broken: u64,
    /// Cuts that break a promise.
    breaking: u64,
    /// Cuts in whose nanosecond a program or an erase was under way.
    torn: u64,
    /// The most that saving everything took, in picojoules.
    needed_pj: u64,
}

/// Runs a load and cuts a copy of the device at random instants of it.
fn cut_often(settings: &Settings, requests: &[Request], cuts: u64) -> Sums {
    let end = requests.last().expect("there are some").arrival.as_ns();
    let mut random = Random(cuts);
    let mut instants: Vec<u64> = (0..cuts).map(|_| random.below(end)).collect();
    instants.sort_unstable();
    let mut session = Session::new(Drive::new(settings));
    let mut left = requests.iter().peekable();
    let mut sums = Sums { cuts, ..Sums::default() };
    for at in instants.into_iter().map(Time::from_ns) {
        while let Some(request) = left.next_if(|request| request.arrival <= at) {
            session.submit(request).expect("it fits");
        }
        session.advance(at, Stop::At).expect("it runs");
        let (_, cut) = session.fork().cut(random.next()).expect("it can be cut");
        let broken = cut.broken().count() as u64;
        sums.lost += cut.lost.len() as u64;
        sums.broken += broken;
        sums.breaking += u64::from(broken > 0);
        sums.torn += u64::from(cut.torn_units + cut.torn_erases > 0);
        sums.needed_pj = sums.needed_pj.max(cut.needed_pj);
    }
    sums
}

/// A device of each layer under each contract is cut so often, and each planted fault `faulty`
/// times. `tell` gets the lines of a table.
fn cut_every_layer(cuts: u64, faulty: u64, tell: impl Fn(&str)) {
    let note = |layer: &str, contract: &str, sums: &Sums| {
        let Sums { cuts, lost, broken, breaking, torn, .. } = sums;
        tell(&format!(
            "{layer}, {contract}: {cuts} cuts ({torn} of an operation), {lost} units lost, \
             {broken} promises broken by {breaking} cuts"
        ));
    };
    for (layer, keys, mean_us) in LAYERS {
        let requests = load(2_000, mean_us, 7);
        let run = |more: &[&str], cuts| cut_often(&device(keys, more), &requests, cuts);
        let none = run(VOLATILE, cuts);
        assert!(none.broken == 0 && none.lost > 0 && none.torn > 0, "{layer}: {none:?}");
        note(layer, "a volatile buffer", &none);
        let whole = run(PROTECTED, cuts);
        assert!(whole.lost == 0 && whole.torn > 0, "{layer}: {whole:?}");
        note(layer, "protected", &whole);
        let half = format!("power.capacitor_uj={}", whole.needed_pj / 2_000_000);
        let half = run(&[PROTECTED, &[&half]].concat(), cuts);
        assert!(half.broken > 0, "{layer}: {half:?}");
        note(layer, "half of the energy", &half);
        let faults = [
            ("trims without a journal", &["power.journal_entries=0"][..]),
            ("equal numbers", &["power.journal_entries=32", "power.fault=unserialisable"]),
            ("FUA ignored", &["power.journal_entries=32", "power.fault=flush_ignored"]),
        ];
        for (fault, more) in faults {
            let broken = run(more, faulty);
            assert!(broken.broken > 0, "{layer}, {fault}: {broken:?}");
            note(layer, fault, &broken);
        }
    }
}

#[test]
fn layers_keep_what_they_promise_and_faults_break_it() {
    cut_every_layer(20, 60, |_| ());
}

/// The same with 10,000 cuts for each layer and contract, and 1,000 for each fault. Prints a table.
#[test]
#[ignore = "takes minutes"]
#[expect(clippy::print_stdout, reason = "its table is what it is run for")]
fn ten_thousand_cuts_of_each_layer_and_contract() {
    cut_every_layer(10_000, 1_000, |line| println!("{line}"));
}

/// Every layer goes on behind a cut, and behind one in the middle of that recovery, which loses
/// nothing more: all units are read and many are written under the checker. The same seed gives
/// the same bytes, and a device that is saved behind a cut is the same when it is restored.
#[test]
fn layers_go_on_behind_two_cuts() {
    for (layer, keys, mean_us) in LAYERS {
        let settings = device(keys, VOLATILE);
        let requests = load(600, mean_us, 11);
        let end = requests.last().expect("there are some").arrival.as_ns();
        let mut drive = Drive::new(&settings);
        let mut torn = 0;
        for number in 1..=8 {
            drive.check();
            let mut session = Session::new(drive);
            let at = Time::from_ns(end * number / 8 + 7_919 * number);
            let begin = session.now();
            for request in requests.iter().filter(|one| one.arrival <= at) {
                if request.arrival + Span::from_ns(end / 8) > begin {
                    session.submit(&request.at(request.arrival.max(begin))).expect("it fits");
                }
            }
            session.advance(at.max(begin), Stop::At).expect("it runs");
            let again = session.fork();
            let (first, cut) = session.cut(number).expect("it can be cut");
            let (second, same) = again.cut(number).expect("it can be cut");
            let bytes = |drive: &Drive| match drive {
                Drive::Flash(device) => saved(device),
                Drive::Disk(_) => unreachable!(),
            };
            assert_eq!((bytes(&first), &cut), (bytes(&second), &same), "{layer}");
            let mut session = Session::new(first);
            let middle = cut.at + Span::from_ns(cut.recovery.as_ns() / 2);
            session.advance(middle, Stop::At).expect("it runs");
            let (next, more) = session.cut(number).expect("it can be cut");
            assert!(more.lost.is_empty(), "{layer}: {more:?}");
            torn += cut.torn_units + cut.torn_erases;
            drive = next;
        }
        assert!(torn > 0, "{layer}: nothing was under way");
        drive.check();
        let mut session = Session::new(drive);
        let now = session.now();
        let reads = (0..UNITS).map(|lpn| read(0, lpn).at(now));
        let writes = (0..3 * UNITS)
            .map(|number| write(0, number * 89 % UNITS).at(now + Span::from_us(number * mean_us)));
        for one in reads.chain(writes) {
            session.submit(&one).expect("it fits");
        }
        session.finish().unwrap_or_else(|error| panic!("{layer}: {error}"));
    }
}

/// What a device has at its start of some of its units.
struct Looker(Shared<BTreeMap<u32, u32>>);

impl Observer for Looker {
    fn follows_units(&self) -> bool {
        true
    }
    fn unit_at_start(&mut self, event: &UnitAtStart) {
        if let Some(Contents::Data(lpn)) = event.contents {
            self.0.get().insert(event.ppn, lpn);
        }
    }
}

/// A capacitor ends a program of four copies that was under way: where their block counts, each is
/// there at the place that the merge gave it, which is its own offset.
#[test]
fn a_capacitor_ends_all_copies_of_a_program() {
    let settings = device(FOUR_UNITS, PROTECTED);
    let requests = load(600, 1_000, 5);
    let (_, run) = record(&settings, &[], &requests);
    let mut session = Session::new(Drive::new(&settings));
    for one in &requests {
        session.submit(one).expect("it fits");
    }
    session.close();
    let (mut held, mut programs_held) = (0, 0);
    let programs = run.commands.iter().filter(|done| done.op == Op::Program);
    let merges = programs.filter(|done| done.purpose == Purpose::Merge);
    for merge in merges.step_by(7).take(60) {
        let at = Time::from_ns(merge.end.as_ns() - 1);
        if at < session.now() {
            continue;
        }
        session.advance(at, Stop::At).expect("it runs");
        let (drive, cut) = session.fork().cut(1).expect("it can be cut");
        assert_eq!((cut.torn_units, cut.lost.len()), (0, 0));
        let Drive::Flash(mut device) = drive else { unreachable!("it is no disk") };
        let places = Shared::new(BTreeMap::new());
        device.observe(Box::new(Looker(places.clone())));
        let (places, first) = (places.take(), merge.ppn.expect("a program has a page") / 4 * 4);
        let units: Vec<_> = places.range(first..first + 4).collect();
        assert!(units.iter().all(|(ppn, lpn)| *ppn % 4 == *lpn % 4), "{units:?}");
        held += units.len();
        programs_held += usize::from(!units.is_empty());
    }
    assert!(programs_held > 5 && held > programs_held + 5, "{held} units of {programs_held}");
}

/// A journal of a device with layers fills two blocks of each plane by turns, each of which is
/// erased before it is filled again, and layers have none of them.
#[test]
fn the_journal_of_layers_has_blocks_of_its_own() {
    let keys = ["ftl.scheme=bast", "nand.program_order=any", "geometry.channels=1"];
    let with = device(&keys, &["power.journal_entries=1", "buffer.bytes=0"]);
    let without = device(&keys, &["power.journal_entries=0", "buffer.bytes=0"]);
    assert_eq!(with.exported_units, without.exported_units);
    let trims: Vec<Request> =
        (0..40).map(|lpn| request(lpn * 3_000, RequestOp::Trim, lpn, 1)).collect();
    let flushed = trims.iter().flat_map(|trim| [*trim, flush(trim.arrival.as_ns() / 1_000 + 10)]);
    let mut drive = Drive::new(&with);
    drive.check();
    let mut session = Session::new(drive);
    for one in flushed {
        session.submit(&one).expect("it fits");
    }
    let report = session.finish().expect("it runs");
    assert_eq!(report.flash.pages["programs"]["journal"], 40);
    // 40 pages fill five blocks of 8, of which the first two were erased from the start.
    assert_eq!(report.flash.array_ops["erases"]["journal"], 3);
}
