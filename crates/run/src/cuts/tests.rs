//! The watcher against a second way to find what a cut loses: from the start of the run, by scans,
//! for each cut anew.

use super::{Cut, Cuts, Oracle};
use crate::plan::Plan;
use flashyard_core::request::{Flags, Request, RequestOp};
use flashyard_core::units::Time;
use flashyard_sim::config::{Plp, Settings};
use flashyard_sim::cut::{How, Lost};
use flashyard_sim::device::Device;
use flashyard_sim::drive::Drive;
use flashyard_sim::observe::{
    BlockErased, Contents, Observer, RequestAnswered, RequestArrived, Shared, UnitAtStart,
    UnitBuffered, UnitChange, UnitProgrammed, UnitTrimmed,
};
use flashyard_sim::own::OwnParts;
use flashyard_sim::session::{Session, Stop};
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::convert::Infallible;
use std::sync::Arc;

/// What happened.
#[derive(Clone, Copy, Debug)]
enum Event {
    Start(UnitAtStart),
    Arrived(RequestArrived),
    Change(UnitChange),
    Buffered(UnitBuffered),
    Answered(RequestAnswered),
    Programmed(UnitProgrammed),
    Trimmed(UnitTrimmed),
    Erased(BlockErased),
}

/// All events with their times, in order.
#[derive(Debug, Default)]
struct Record(Vec<(Time, Event)>);

struct Recorder(Shared<Record>);

impl Recorder {
    fn push(&self, at: Time, event: Event) {
        self.0.get().0.push((at, event));
    }
}

impl Observer for Recorder {
    fn follows_contents(&self) -> bool {
        true
    }
    fn unit_at_start(&mut self, event: &UnitAtStart) {
        self.push(Time::ZERO, Event::Start(*event));
    }
    fn request_arrived(&mut self, event: &RequestArrived) {
        self.push(event.at, Event::Arrived(*event));
    }
    fn unit_change(&mut self, event: &UnitChange) {
        self.push(event.at, Event::Change(*event));
    }
    fn unit_buffered(&mut self, event: &UnitBuffered) {
        self.push(event.at, Event::Buffered(*event));
    }
    fn request_answered(&mut self, event: &RequestAnswered) {
        self.push(event.at, Event::Answered(*event));
    }
    fn unit_programmed(&mut self, event: &UnitProgrammed) {
        self.push(event.at, Event::Programmed(*event));
    }
    fn unit_trimmed(&mut self, event: &UnitTrimmed) {
        self.push(event.at, Event::Trimmed(*event));
    }
    fn block_erased(&mut self, event: &BlockErased) {
        self.push(event.at, Event::Erased(*event));
    }
}

/// A change of a unit: its version plus one, whether it trims, and the answer of its request.
#[derive(Clone, Copy, Debug)]
struct Known {
    version: u64,
    trims: bool,
    durable: bool,
    answered: Option<(Time, u64)>,
}

/// What is known at an instant.
#[derive(Debug, Default)]
struct Found {
    arrived: BTreeMap<u64, (RequestArrived, u64)>,
    answers: BTreeMap<u64, (Time, u64)>,
    changes: Vec<UnitChange>,
    before: Vec<UnitBuffered>,
    /// What pages hold that are not erased: the unit and the version plus one.
    pages: BTreeMap<u32, (u32, u64)>,
    /// The newest version of each unit that was ever kept, plus one.
    kept: BTreeMap<u32, u64>,
    trimmed: BTreeMap<u32, u64>,
    /// The number of answers that the last flush covers.
    flushed: Option<u64>,
    /// Of the last cut: units that lose a write, with what flash has of them where that is not what
    /// was there before a trim, and units whose trim is undone.
    units: RefCell<BTreeMap<u32, Option<u64>>>,
    trims: RefCell<BTreeSet<u32>>,
    /// Units whose trim a flush was answered behind, also where the trim came behind the flush.
    swept: BTreeSet<u32>,
}

impl Found {
    /// Goes on with what happened up to an instant; `left` is what happens from there on.
    fn go_on(&mut self, settings: &Settings, left: &mut &[(Time, Event)], at: Time) {
        let keeps = settings.keys.buffer.bytes > 0 && !settings.keys.buffer.volatile;
        let over = left.partition_point(|(when, _)| *when <= at);
        let (over, rest) = left.split_at(over);
        *left = rest;
        for (_, event) in over {
            self.apply(settings, event, keeps);
        }
    }

    fn apply(&mut self, settings: &Settings, event: &Event, keeps: bool) {
        let keep = |kept: &mut BTreeMap<u32, u64>, lpn, version: u64| {
            let newest = kept.entry(lpn).or_insert(0);
            *newest = version.max(*newest);
        };
        match event {
            Event::Start(start) => {
                if let Some(Contents::Data(lpn)) = start.contents {
                    self.pages.insert(start.ppn, (lpn, 0));
                }
            }
            Event::Arrived(one) => {
                self.arrived.insert(one.order, (*one, self.answers.len() as u64));
            }
            Event::Change(change) => self.changes.push(*change),
            Event::Buffered(put) => {
                if put.request.is_none() {
                    self.before.push(*put);
                }
                if keeps {
                    keep(&mut self.kept, put.lpn, put.version + 1);
                }
            }
            Event::Answered(one) => {
                let (arrived, before) = self.arrived[&one.order];
                self.answers.insert(one.order, (one.at, self.answers.len() as u64 + 1));
                let request = arrived.request;
                if request.op == RequestOp::Flush || request.flags.has(Flags::PREFLUSH) {
                    self.flushed = self.flushed.max(Some(before));
                    for (lpn, version) in std::mem::take(&mut self.trimmed) {
                        self.swept.insert(lpn);
                        keep(&mut self.kept, lpn, version);
                    }
                }
            }
            Event::Programmed(one) => {
                let Contents::Data(lpn) = one.contents else { return };
                let copied =
                    one.from.and_then(|from| self.pages.get(&from)).map_or(0, |held| held.1);
                let version = one.version.map_or(copied, |version| version + 1);
                self.pages.insert(one.ppn, (lpn, version));
                keep(&mut self.kept, lpn, version);
            }
            Event::Trimmed(trim) => {
                let of = |change: &&UnitChange| {
                    change.lpn == trim.lpn && change.trims && Some(change.request) == trim.request
                };
                let change = self.changes.iter().find(of).expect("a trim is a change");
                if keeps {
                    return keep(&mut self.kept, trim.lpn, change.version + 1);
                }
                let version = self.trimmed.entry(trim.lpn).or_insert(0);
                *version = (change.version + 1).max(*version);
            }
            Event::Erased(erased) => self.erase(settings, erased),
        }
    }

    /// A block is erased: what was trimmed in it cannot come back.
    fn erase(&mut self, settings: &Settings, erased: &BlockErased) {
        let units = settings.geometry.units_per_block();
        let first = erased.block * units;
        let gone = self.pages.range(first..first + units).map(|(_, held)| *held);
        let gone: Vec<(u32, u64)> = gone.collect();
        self.pages.retain(|ppn, _| !(first..first + units).contains(ppn));
        for (lpn, version) in gone {
            let newest = self.kept.get(&lpn).copied().unwrap_or(0);
            let is_there = self.pages.values().any(|held| *held == (lpn, newest));
            if version == newest
                && !is_there
                && let Some(trim) = self.trimmed.remove(&lpn)
            {
                self.kept.insert(lpn, trim.max(newest));
            }
        }
    }

    /// All changes of a unit in their order.
    fn of_unit(&self, lpn: u32) -> Vec<Known> {
        let before = self.before.iter().filter(|put| put.lpn == lpn).map(|put| Known {
            version: put.version + 1,
            trims: false,
            durable: false,
            answered: Some((put.at, 0)),
        });
        let known = self.changes.iter().filter(|change| change.lpn == lpn).map(|change| Known {
            version: change.version + 1,
            trims: change.trims,
            durable: self.arrived[&change.request].0.durable && !change.trims,
            answered: self.answers.get(&change.request).copied(),
        });
        let mut all: Vec<Known> = before.chain(known).collect();
        all.sort_by_key(|change| change.version);
        all
    }

    /// What a cut would lose.
    fn cut(&self, at: Time) -> Cut {
        let held: BTreeSet<(u32, u64)> = self.pages.values().copied().collect();
        self.units.borrow_mut().clear();
        self.trims.borrow_mut().clear();
        let mut cut = Cut { at, units: 0, oldest_ns: 0, torn: 0, trims: 0, broken: 0 };
        let lpns: BTreeSet<u32> = self.changes.iter().map(|change| change.lpn).collect();
        let lpns: BTreeSet<u32> =
            lpns.into_iter().chain(self.before.iter().map(|put| put.lpn)).collect();
        for lpn in lpns {
            let kept = self.kept.get(&lpn).copied().unwrap_or(0);
            let is_there = held.contains(&(lpn, kept));
            let all = self.of_unit(lpn);
            let missed: Vec<&Known> =
                all.iter().filter(|one| one.version > kept && one.answered.is_some()).collect();
            let Some(newest) = missed.last() else { continue };
            let promised = missed.iter().any(|one| {
                one.durable || one.answered.is_some_and(|(_, number)| Some(number) <= self.flushed)
            });
            if newest.trims && is_there {
                self.trims.borrow_mut().insert(lpn);
                cut.trims += 1;
            } else if !newest.trims {
                self.units.borrow_mut().insert(lpn, is_there.then_some(kept));
                cut.units += 1;
                let first = missed.iter().find(|one| !one.trims).and_then(|one| one.answered);
                let age = at.since(first.expect("a write is missed").0).as_ns();
                cut.oldest_ns = cut.oldest_ns.max(age);
            }
            cut.broken += u32::from(promised && (!newest.trims || is_there));
        }
        for (order, (arrived, _)) in &self.arrived {
            let of = self.changes.iter().filter(|change| change.request == *order);
            let survive = of.filter(|change| {
                self.kept.get(&change.lpn).is_some_and(|kept| *kept > change.version)
            });
            let survive = survive.count();
            let writes = arrived.request.op == RequestOp::Write;
            cut.torn += u32::from(writes && 0 < survive && survive < arrived.pages as usize);
        }
        cut
    }
}

/// The data that a device has at the start of a run, by physical unit.
#[derive(Debug, Default)]
struct Places(BTreeMap<u32, u32>);

struct Looker(Shared<Places>);

impl Observer for Looker {
    fn follows_units(&self) -> bool {
        true
    }
    fn unit_at_start(&mut self, event: &UnitAtStart) {
        if let Some(Contents::Data(lpn)) = event.contents {
            self.0.get().0.insert(event.ppn, lpn);
        }
    }
}

impl Found {
    /// A device that recovery has left has of each unit the newest version that flash holds, where
    /// it was not trimmed; no unit is at two places.
    fn compare_places(&self, drive: Drive, keys: &[&str]) {
        let places = Shared::new(Places::default());
        let Drive::Flash(mut device) = drive else { unreachable!("it is no disk") };
        device.observe(Box::new(Looker(places.clone())));
        let mut newest: BTreeMap<u32, u64> = BTreeMap::new();
        for (lpn, version) in self.pages.values() {
            let known = newest.entry(*lpn).or_insert(0);
            *known = (*known).max(*version);
        }
        let mut seen = BTreeSet::new();
        for (ppn, lpn) in places.take().0 {
            assert!(seen.insert(lpn), "unit {lpn} is at two places");
            assert_eq!(self.pages.get(&ppn), Some(&(lpn, newest[&lpn])), "{ppn} {keys:?}");
        }
        let trimmed =
            |lpn: &u32| self.changes.iter().any(|change| change.trims && change.lpn == *lpn);
        let lacks = newest.keys().find(|lpn| !seen.contains(lpn) && !trimmed(lpn));
        assert_eq!(lacks, None, "a unit is on flash and not found");
    }
}

/// A device by name with further keys.
fn settings(device: &str, keys: &[&str]) -> Settings {
    let keys: Vec<(&str, String)> = keys.iter().map(|key| ("", (*key).to_string())).collect();
    let plan = Plan::of_device(OwnParts::default(), device, &keys).expect("a device");
    plan.settings().expect("a device that can exist")
}

/// Runs requests; what cuts would lose, and all events.
fn watched(settings: &Settings, requests: &[Request], cuts: u32) -> (Cuts, Record) {
    let (oracle, observer) = Oracle::new(settings, cuts, 7).expect("it has units");
    let record = Shared::new(Record::default());
    let mut device = Device::new(settings);
    device.check();
    device.observe(observer);
    device.observe(Box::new(Recorder(record.clone())));
    let mut left = requests.iter().copied();
    device.run(|| Ok::<_, Infallible>(left.next())).expect("it runs");
    (oracle.finish(), record.take())
}

/// Requests of all kinds on few units, many of which are written again before they are on flash.
fn mixed(count: u64, units: u64, seed: u64) -> Vec<Request> {
    let mut state = seed;
    let mut draw = |below: u64| {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % below
    };
    let mut at = Time::ZERO;
    let one = |draw: &mut dyn FnMut(u64) -> u64| {
        let length = 1 + draw(4);
        let first = draw(units - length);
        (first * 8, u32::try_from(length * 8).expect("few sectors"))
    };
    let mut requests = Vec::new();
    for _ in 0..count {
        at = at + flashyard_core::units::Span::from_ns(draw(300_000));
        let (first, sectors) = one(&mut draw);
        let flags = match draw(16) {
            0 => Flags::FUA,
            1 => Flags::PREFLUSH,
            _ => Flags::NONE,
        };
        let request = match draw(20) {
            0 => Request::new(RequestOp::Flush, 0, 0),
            1..=3 => Request::new(RequestOp::Trim, first, sectors),
            4..=6 => Request::new(RequestOp::Read, first, sectors),
            _ => Request::new(RequestOp::Write, first, sectors).with(flags),
        };
        requests.push(request.at(at));
    }
    requests
}

/// Keys of a device of 2,048 units that is soon out of free blocks.
const SMALL: [&str; 1] = ["geometry.pages_per_block=8"];

/// Programs of four units, which flushes and merges fill.
const FOUR_UNITS: [&str; 5] = [
    "ftl.scheme=fast",
    "nand.program_order=any",
    "geometry.page_bytes=16384",
    "ftl.mapping_unit_bytes=4096",
    "buffer.bytes=65536",
];

#[test]
fn the_watcher_finds_what_scans_find() {
    let buffer = ["buffer.bytes=65536"];
    let variants: [(&str, &[&str]); 12] = [
        ("small-full", &[]),
        ("small-full", &buffer),
        ("small-full", &["buffer.bytes=65536", "buffer.volatile=false"]),
        ("small-full", &["buffer.bytes=65536", "buffer.acknowledge=program"]),
        ("small-full", &["buffer.bytes=65536", "buffer.flush_when_idle=true", "buffer.idle_ms=1"]),
        ("small-full", &["buffer.bytes=65536", "state.initial=fresh", "buffer.initial=dirty"]),
        ("small-full", &["map.store=line_cache", "map.cache_bytes=4096", "buffer.bytes=65536"]),
        ("small-full", &["ftl.scheme=block", "nand.program_order=any", "buffer.bytes=65536"]),
        ("small-full", &["ftl.scheme=bast", "nand.program_order=any", "buffer.bytes=65536"]),
        ("small-full", &["ftl.scheme=fast", "nand.program_order=any", "buffer.bytes=65536"]),
        ("small-full", &["ftl.scheme=last", "nand.program_order=any", "buffer.bytes=65536"]),
        ("small-full", &FOUR_UNITS),
    ];
    for (device, keys) in variants {
        let settings = settings(device, &[&SMALL, keys].concat());
        let (cuts, record) = watched(&settings, &mixed(800, 300, 3), 60);
        assert_eq!((cuts.cuts.len(), &cuts.broken[..]), (60, &[][..]), "{device} {keys:?}");
        let (mut found, mut left) = (Found::default(), &record.0[..]);
        let mut sums = [0; 3];
        for cut in &cuts.cuts {
            found.go_on(&settings, &mut left, cut.at);
            let wanted = found.cut(cut.at);
            assert_eq!(*cut, wanted, "{device} {keys:?}");
            let lost = [cut.units, cut.torn, cut.trims];
            sums.iter_mut().zip(lost).for_each(|(sum, more)| *sum += more);
        }
        let loses = settings.keys.buffer.volatile && settings.buffer_units > 0;
        let through = keys.contains(&"buffer.acknowledge=program");
        assert_eq!(sums[0] > 0, loses && !through, "{device} {keys:?}: {sums:?}");
        assert!(sums[1] > 0, "{device} {keys:?}: {sums:?}");
        assert_eq!(sums[2] > 0, settings.keys.buffer.volatile, "{device} {keys:?}: {sums:?}");
    }
}

/// A device that recovers by a scan of all spare areas is cut at the instants of the oracle: it
/// loses the units that the oracle names, and has of each what the oracle says is on flash. Trims
/// come back only where the oracle says so, or where it has a flush save them that came before
/// them; not all do, since pages of the journal save some before a flush is answered.
#[test]
fn a_cut_loses_what_the_oracle_names() {
    compare_with_the_oracle(1);
}

/// The same at 1,000 instants of each run.
#[test]
#[ignore = "takes a minute"]
fn a_thousand_cuts_lose_what_the_oracle_names() {
    compare_with_the_oracle(67);
}

fn compare_with_the_oracle(times: u32) {
    let power = ["power.oob_scan=true", "power.journal_entries=200"];
    let variants: [&[&str]; 13] = [
        &[],
        &["buffer.bytes=65536"],
        &["buffer.bytes=65536", "buffer.acknowledge=program"],
        &["buffer.bytes=65536", "buffer.volatile=false", "power.plp=capacitor"],
        &["buffer.bytes=65536", "buffer.flush_when_idle=true", "buffer.idle_ms=1"],
        &["map.store=cmt", "map.cache_bytes=4096", "buffer.bytes=65536"],
        &["ftl.scheme=block", "nand.program_order=any", "buffer.bytes=65536"],
        &["ftl.scheme=bast", "nand.program_order=ascending", "buffer.bytes=65536"],
        &["ftl.scheme=fast", "nand.program_order=any", "buffer.bytes=65536"],
        &["ftl.scheme=last", "nand.program_order=ascending", "buffer.bytes=65536"],
        &["ftl.scheme=fast", "nand.program_order=ascending"],
        &FOUR_UNITS,
        &["nand.bits_per_cell=2", "slc.dynamic_percent=50", "buffer.bytes=65536"],
    ];
    for keys in variants {
        let settings = settings("small-full", &[&SMALL[..], &power, keys].concat());
        let requests = mixed(800, 300, 3);
        let (cuts, record) = watched(&settings, &requests, times * 15);
        let (mut found, mut left) = (Found::default(), &record.0[..]);
        let mut session = Session::new(Drive::new(&settings));
        for request in &requests {
            session.submit(request).expect("it fits");
        }
        session.close();
        let mut sums = [0; 2];
        for oracle in &cuts.cuts {
            found.go_on(&settings, &mut left, oracle.at);
            let scanned = found.cut(oracle.at);
            assert!(scanned.trims >= oracle.trims, "{keys:?}");
            // The watcher takes a trim as kept where a merge has copied what it trimmed, and counts
            // one less.
            let trims = if settings.keys.plans() { oracle.trims } else { scanned.trims };
            assert_eq!(Cut { trims, ..scanned }, *oracle, "{keys:?}");
            session.advance(oracle.at, Stop::At).expect("it runs");
            let (drive, cut) = session.fork().cut(oracle.at.as_ns()).expect("it can be cut");
            assert_eq!(cut.broken().count(), 0, "{keys:?} {cut:?}");
            if settings.keys.power.plp == Plp::None {
                found.compare_places(drive, keys);
            }
            let (undone, lost): (Vec<&Lost>, Vec<&Lost>) =
                cut.lost.iter().partition(|lost| lost.how == How::Untrimmed);
            let unit = |first: u64| u32::try_from(first / 8).expect("few units");
            let wanted = found.units.borrow();
            // A trim may be newer than what is lost, and the oracle has an earlier flush save it.
            let swept = |one: &u32| found.swept.contains(one) && !wanted.contains_key(one);
            let lost: Vec<&Lost> =
                lost.into_iter().filter(|lost| !swept(&unit(lost.first_sector))).collect();
            let units: Vec<u32> = lost.iter().map(|lost| unit(lost.first_sector)).collect();
            assert_eq!(units, wanted.keys().copied().collect::<Vec<_>>(), "{keys:?} {oracle:?}");
            for (lost, held) in lost.iter().zip(wanted.values()) {
                if let Some(held) = held {
                    assert_eq!(lost.kept.map_or(0, |kept| kept + 1), *held, "{keys:?} {lost:?}");
                }
            }
            let trims = found.trims.borrow();
            for one in &undone {
                let lpn = unit(one.first_sector);
                assert!(trims.contains(&lpn) || found.swept.contains(&lpn), "{one:?}");
            }
            sums = [sums[0] + units.len(), sums[1] + undone.len()];
        }
        let volatile = settings.keys.buffer.volatile;
        let buffered = settings.buffer_units > 0;
        let through = keys.contains(&"buffer.acknowledge=program") || !buffered;
        assert_eq!(sums.map(|sum| sum > 0), [volatile && !through, volatile], "{keys:?} {sums:?}");
    }
}

/// A device whose recovery is worse than what the oracle assumes is refused, with the key and what
/// to do instead. Cuts of a session do break promises of it, also of trims behind a flush. The
/// sound device beside each is watched.
#[test]
fn devices_that_lose_more_than_the_oracle_knows_are_refused() {
    let journal = "power.journal_entries=32";
    let base = ["nand.bits_per_cell=2", "buffer.bytes=65536", "state.initial=fresh"];
    let kept = ["power.oob_scan=true", "buffer.volatile=false", "power.plp=capacitor"];
    let pages = ["power.oob_scan=true", journal];
    let pairs: [(&[&str], &[&str], &str); 7] = [
        (&kept, &["power.capacitor_uj=1"], "power.capacitor_uj = 1"),
        (&pages, &["power.fault=unserialisable"], "power.fault = \"unserialisable\""),
        (&pages, &["power.fault=shorn_writes"], "power.fault = \"shorn_writes\""),
        (&pages, &["power.fault=bit_corruption"], "power.fault = \"bit_corruption\""),
        (&pages, &["power.paired_pages=true"], "power.paired_pages"),
        (&pages, &["power.oob_scan=false", "power.checkpoint_mib=1"], "power.oob_scan"),
        (&pages, &["power.journal_entries=0"], "power.journal_entries = 0"),
    ];
    let requests = mixed(800, 300, 3);
    for (sound, more, key) in pairs {
        let of = |keys: &[&str]| settings("small-full", &[&SMALL[..], &base, keys].concat());
        let (cuts, _) = watched(&of(sound), &requests, 10);
        assert!(cuts.broken.is_empty(), "{sound:?}: {:?}", cuts.broken);
        let faulty = of(&[sound, more].concat());
        let refused = Oracle::new(&faulty, 10, 7).err().expect("it is refused").to_string();
        assert!(refused.contains(key) && refused.contains("Session.cut"), "{refused}");
        let mut session = Session::new(Drive::new(&faulty));
        for request in &requests {
            session.submit(request).expect("it fits");
        }
        let end = requests.last().expect("some").arrival.as_ns();
        let broken = (1..=60).any(|number| {
            session.advance(Time::from_ns(end * number / 60), Stop::At).expect("it runs");
            session.fork().cut(number).expect("it can be cut").1.broken().next().is_some()
        });
        assert!(broken, "{more:?} breaks no promise");
    }
    // What the watcher sees by itself, and a capacitor that is large enough, are no reason.
    for keys in [&["power.fault=flush_ignored"][..], &[]] {
        let followed = settings("small-full", &[&SMALL[..], &base, &pages, keys].concat());
        assert!(Oracle::new(&followed, 10, 7).is_ok(), "{keys:?}");
    }
}

/// Writes of a unit each, every 10 us, that a buffer takes which nothing flushes: each cut loses
/// all that were answered, and the first of them is the oldest.
#[test]
fn a_buffer_that_keeps_all_loses_all() {
    let keys = ["buffer.bytes=4194304", "buffer.ps_per_byte=0", "buffer.access_ns=1000"];
    let settings = settings("small-full", &[&SMALL[..], &keys].concat());
    let write =
        |number: u64| Request::new(RequestOp::Write, number * 8, 8).at(Time::from_us(10 * number));
    let (cuts, _) = watched(&settings, &(0..500).map(write).collect::<Vec<_>>(), 1_000);
    for cut in &cuts.cuts {
        let answered = (cut.at.as_ns() + 9_000) / 10_000;
        assert_eq!(u64::from(cut.units), answered.min(500), "{cut:?}");
        let oldest = if answered == 0 { 0 } else { cut.at.as_ns() - 1_000 };
        assert_eq!(cut.oldest_ns, oldest, "{cut:?}");
    }
    assert_eq!(cuts.losses().lost_bytes.most, 4_096 * cuts.losses().lost_units.most);
    let others = (cuts.losses().torn_requests.most, cuts.losses().breaking);
    assert_eq!(others, (0, 0));
}

/// Cuts that are made of a run break promises by the record of the host alone: none of sound
/// devices, some with each fault. The device names the same units.
#[test]
fn cuts_that_are_made_break_what_the_device_says() {
    let power = ["power.oob_scan=true", "power.journal_entries=32", "power.checkpoint_mib=1"];
    let buffer = ["buffer.bytes=65536", "nand.bits_per_cell=2", "state.initial=fresh"];
    let faults = ["none", "bit_corruption", "shorn_writes", "unserialisable", "metadata", "dead"];
    for fault in faults.into_iter().chain(["flush_ignored"]) {
        let key = format!("power.fault={fault}");
        let settings = settings("small-full", &[&SMALL[..], &power, &buffer, &[&key]].concat());
        let requests = Arc::new(mixed(800, 300, 3));
        let mut plan = Plan::of_device(OwnParts::default(), "small-full", &[]).expect("a device");
        plan.set_requests(requests.clone());
        let span = requests.last().expect("some").arrival.as_ns();
        let mut units = 0;
        let made =
            crate::points::made::make_telling(&plan, &settings, 40, span, &mut |cut, broken| {
                let told = broken.iter();
                let told: Vec<u32> = told.map(|(broken, _)| broken.unit).collect();
                let unit = |lost: &Lost| u32::try_from(lost.first_sector / 8).expect("few units");
                let wanted = cut.broken().map(unit);
                assert_eq!(told, wanted.collect::<Vec<_>>(), "{fault}: {cut:?}");
                units += broken.len();
            });
        let made = made.expect("it can be cut");
        assert_eq!((made.cuts, made.broken_units), (40, units as u64), "{fault}");
        assert_eq!(made.breaking > 0, fault != "none", "{fault}: {made:?}");
        let (first, _) = made.first.filter(|_| fault != "none").unzip();
        assert!(first.is_none_or(|first| first.request.is_some()), "{fault}: {first:?}");
    }
}
