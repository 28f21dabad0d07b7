//! Zones on devices: random requests on random devices under the checker end as a model of the
//! zones says, and leave the data that it says; actions take the times of their keys.

use crate::common::{Random, restored, saved, seeds, settings, try_settings};
use flashyard_core::request::{Flags, Request, RequestOp, SECTOR_BYTES, ZoneAction};
use flashyard_core::units::{Span, Time};
use flashyard_sim::config::{InitialState, Settings};
use flashyard_sim::device::Device;
use flashyard_sim::drive::Drive;
use flashyard_sim::observe::{Contents, Observer, Shared, UnitAtStart};
use flashyard_sim::report::Report;
use flashyard_sim::session::{
    Completion, Outcome, Refused, Session, Stop, ZoneError, ZoneReport, ZoneState,
};
use std::collections::BTreeMap;

const ZONED: [&str; 4] =
    ["ftl.scheme=zns", "map.store=resident", "nand.unmapped_read=zero", "policy.command=fifo"];

/// A device with these keys beside those of zones.
fn zoned(keys: &[&str]) -> Settings {
    settings(&[&ZONED[..], keys].concat())
}

/// One die of 20 blocks of 16 pages of 4 KiB: zones of one block, 18 of them.
const ONE_DIE: [&str; 6] = [
    "geometry.channels=1",
    "geometry.ways=1",
    "geometry.planes=1",
    "geometry.blocks_per_plane=20",
    "geometry.pages_per_block=16",
    "geometry.page_bytes=4096",
];

fn one_die(keys: &[&str]) -> Settings {
    zoned(&[&ONE_DIE[..], keys].concat())
}

const fn write(page: u64, pages: u32) -> Request {
    Request::new(RequestOp::Write, page * 8, pages * 8)
}

const fn read(page: u64, pages: u32) -> Request {
    Request::new(RequestOp::Read, page * 8, pages * 8)
}

const fn append(zone: u64, pages: u32) -> Request {
    Request::append(zone * 16 * 8, pages * 8)
}

const fn act(action: ZoneAction, zone: u64) -> Request {
    Request::zone(action, zone * 16 * 8)
}

/// A session whose requests follow one another.
struct Host(Session);

impl Host {
    fn new(settings: &Settings) -> Self {
        let mut device = Device::new(settings);
        device.check();
        Self(Session::new(Drive::Flash(Box::new(device))))
    }

    /// Does a request to its end. Returns how it ended, and how long it took.
    fn does(&mut self, request: Request) -> (Outcome, Span) {
        let at = self.0.now();
        self.0.submit(&request.at(at)).unwrap();
        self.0.advance(Time::MAX, Stop::AtCompletion).unwrap();
        let Completion { at: end, outcome, .. } = self.0.poll().unwrap();
        (outcome, end.since(at))
    }

    fn ends(&mut self, request: Request) -> Outcome {
        self.does(request).0
    }

    fn fails(&mut self, request: Request) -> ZoneError {
        match self.ends(request) {
            Outcome::Failed(error) => error,
            other => panic!("{request:?} ends as {other:?}"),
        }
    }

    fn zone(&self, zone: u32) -> (ZoneState, u64) {
        let ZoneReport { first_sector, write_pointer, state, .. } = self.0.zone(zone).unwrap();
        (state, (write_pointer - first_sector) / 8)
    }

    fn report(self) -> Report {
        self.0.finish().unwrap()
    }
}

#[test]
fn every_error_has_its_name() {
    let mut host = Host::new(&one_die(&["ftl.zns.max_open=2", "ftl.zns.max_active=3"]));
    assert_eq!(host.ends(write(0, 2)), Outcome::Done);
    assert_eq!(host.fails(write(3, 1)), ZoneError::InvalidWrite);
    assert_eq!(host.fails(write(2, 15)), ZoneError::Boundary);
    assert_eq!(host.ends(append(0, 3)), Outcome::Appended(2 * 8));
    assert_eq!(host.fails(append(0, 12)), ZoneError::Boundary);
    assert_eq!(host.ends(append(0, 11)), Outcome::Appended(5 * 8));
    assert_eq!(host.fails(append(0, 1)), ZoneError::Full);
    assert_eq!(host.fails(write(1, 1)), ZoneError::Full);
    assert_eq!(host.fails(act(ZoneAction::Open, 0)), ZoneError::InvalidTransition);
    assert_eq!(host.fails(act(ZoneAction::Close, 4)), ZoneError::InvalidTransition);
    // Two zones are open explicitly, so none can be closed for a third one.
    assert_eq!(host.ends(act(ZoneAction::Open, 1)), Outcome::Done);
    assert_eq!(host.ends(act(ZoneAction::Open, 2)), Outcome::Done);
    assert_eq!(host.fails(write(3 * 16, 1)), ZoneError::TooManyOpen);
    assert_eq!(host.ends(act(ZoneAction::Close, 2)), Outcome::Done);
    assert_eq!(host.ends(append(3, 1)), Outcome::Appended(3 * 16 * 8));
    assert_eq!(host.fails(append(4, 1)), ZoneError::TooManyActive);
    assert_eq!(host.fails(Request::append(3, 8)), ZoneError::InvalidField);
    assert_eq!(host.fails(Request::append(8, 8)), ZoneError::InvalidField);
    assert_eq!(host.fails(Request::zone(ZoneAction::Reset, 8)), ZoneError::InvalidField);
    assert_eq!(host.fails(Request::new(RequestOp::Write, 4, 8)), ZoneError::InvalidField);
    let zeroes = Request::new(RequestOp::Trim, 0, 128).with(Flags::ZEROES);
    assert_eq!(host.fails(zeroes), ZoneError::InvalidField);
    // An implicitly open zone makes way: zone 3 for zone 2.
    assert_eq!(host.ends(append(2, 1)), Outcome::Appended(2 * 16 * 8));
    assert_eq!(host.zone(3), (ZoneState::Closed, 1));
    assert!(host.0.fail_zone(5, true) && host.0.fail_zone(6, false) && !host.0.fail_zone(18, true));
    assert_eq!(host.fails(append(5, 1)), ZoneError::ReadOnly);
    assert_eq!(host.ends(read(5 * 16, 1)), Outcome::Done);
    assert_eq!(host.fails(append(6, 1)), ZoneError::Offline);
    assert_eq!(host.fails(read(6 * 16, 1)), ZoneError::Offline);
    assert_eq!(host.fails(act(ZoneAction::Reset, 5)), ZoneError::InvalidTransition);
    let report = host.report();
    let zones = report.zones.unwrap();
    assert_eq!((zones.zones, zones.open, zones.active), (18, 2, 3));
    assert_eq!((zones.appends, zones.opens, zones.closes), (4, 2, 1));
    assert_eq!(zones.closed_for_others, 1);
    let errors: BTreeMap<_, _> = zones.errors.into_iter().collect();
    assert_eq!(errors.values().sum::<u64>(), 18);
    assert_eq!((errors["zone_invalid_write"], errors["invalid_field"]), (1, 5));
    // What failed has written nothing.
    assert_eq!(report.flash.pages["programs"]["host"], 2 + 3 + 11 + 1 + 1);
}

#[test]
fn a_device_without_zones_refuses_their_requests() {
    let mut session = Session::new(Drive::new(&settings(&["map.store=resident"])));
    assert_eq!(session.submit(&append(0, 1)), Err(Refused::NoZones));
    assert_eq!(session.submit(&act(ZoneAction::Reset, 0)), Err(Refused::NoZones));
    assert!(session.zone(0).is_none());
    session.submit(&write(0, 1)).unwrap();
}

const TIMES: [&str; 8] = [
    "ftl.zns.manage_us=11",
    "ftl.zns.reset_us=1580",
    "ftl.zns.reset_unit_ns=50",
    "ftl.zns.reset_unfinished_us=2800",
    "ftl.zns.finish_us=2600",
    "nand.program_us=200",
    "nand.erase_us=5000",
    "channel.ps_per_byte=0",
];

/// A finish programs what is left of a zone, on all planes at once, and takes its own time before;
/// a reset takes that of its keys and waits for no erase; the numbers are those of the keys.
#[test]
fn actions_take_their_times() {
    let us = Span::from_us;
    let shape = ["geometry.channels=2", "channel.command_ns=0"];
    for written in [0_u32, 1, 2, 8, 31, 32] {
        let mut host = Host::new(&one_die(&[&TIMES[..], &shape].concat()));
        if written > 0 {
            // A zone has two blocks, one on each channel.
            assert_eq!(host.ends(Request::append(0, written * 8)), Outcome::Appended(0));
        }
        let mut other = Host(host.0.fork());
        assert_eq!(host.does(Request::zone(ZoneAction::Open, 32 * 8)).1, us(11));
        assert_eq!(host.does(Request::zone(ZoneAction::Close, 32 * 8)).1, us(11));
        let rows = u64::from((32 - written).div_ceil(2));
        let (end, took) = host.does(Request::zone(ZoneAction::Finish, 0));
        assert_eq!((end, took), (Outcome::Done, us(2600 + 200 * rows)), "{written} pages");
        assert_eq!(host.zone(0), (ZoneState::Full, written.into()));
        // The finish has written the rest with nothing, and of a finished zone a reset knows that.
        let map = Span::from_ns(50 * u64::from(written));
        assert_eq!(host.does(Request::zone(ZoneAction::Reset, 0)).1, us(1580) + map);
        let unfinished = us(if (2..32).contains(&written) { 2800 } else { 0 });
        let reset = other.does(Request::zone(ZoneAction::Reset, 0));
        assert_eq!(reset, (Outcome::Done, us(1580) + map + unfinished), "{written} pages");
        assert_eq!(other.zone(0), (ZoneState::Empty, 0));
        let (report, other) = (host.report(), other.report());
        assert_eq!(report.zones.unwrap().padded_bytes, u64::from(32 - written) * 4096);
        assert_eq!(report.flash.padded_units, u64::from(32 - written));
        let by = &report.flash.write_amplification_by;
        assert_eq!(by["host"], (written > 0).then_some(1.0));
        let blocks = u64::from(written.min(2));
        assert_eq!(other.flash.array_ops["erases"]["host"], blocks);
        assert_eq!(report.flash.array_ops["programs"]["host"], 32);
    }
}

/// Zone size and zone capacity differ: what is between them holds nothing, and cannot be written.
#[test]
fn addresses_behind_the_capacity_hold_nothing() {
    let keys = ["ftl.zns.capacity_bytes=40960", "ftl.zns.size_bytes=131072"];
    let mut host = Host::new(&one_die(&keys));
    assert_eq!(host.0.capacity_sectors(), 18 * 32 * 8);
    assert_eq!(host.ends(append(0, 10)), Outcome::Appended(0));
    assert_eq!(host.zone(0), (ZoneState::Full, 10));
    assert_eq!(host.ends(Request::append(32 * 8, 8)), Outcome::Appended(32 * 8));
    assert_eq!(host.fails(Request::append(64 * 8, 11 * 8)), ZoneError::Boundary);
    assert_eq!(host.ends(read(8, 30)), Outcome::Done);
    // A trim of the writable part resets the zone.
    assert_eq!(host.ends(Request::new(RequestOp::Trim, 0, 80)), Outcome::Done);
    assert_eq!(host.zone(0), (ZoneState::Empty, 0));
    assert_eq!(host.zone(1), (ZoneState::ImplicitlyOpen, 1));
    let report = host.report();
    assert_eq!((report.zones.unwrap().resets, report.verdict.unmapped_reads), (1, 22 + 5));
}

fn index(number: u64) -> usize {
    usize::try_from(number).unwrap()
}

/// The zones of a model: what a host may expect.
struct Model {
    capacity: u64,
    size: u64,
    limits: (usize, usize),
    zones: Vec<(ZoneState, u64)>,
    /// Open zones, the one that was opened first in front.
    open: Vec<usize>,
}

impl Model {
    fn expects(&mut self, request: &Request) -> Outcome {
        let (page, pages) = (request.first_sector / 8, u64::from(request.sectors / 8));
        let (zone, place) = (index(page / self.size), page % self.size);
        let fails = |error| Outcome::Failed(error);
        match request.op {
            RequestOp::Read | RequestOp::Flush => Outcome::Done,
            RequestOp::Trim => match self.acts(request, zone, page, pages) {
                Ok(()) => Outcome::Done,
                Err(error) => fails(error),
            },
            RequestOp::Write => {
                let (state, written) = self.zones[zone];
                let place = if request.appends() { written } else { place };
                if state == ZoneState::Full {
                    return fails(ZoneError::Full);
                }
                if place + pages > self.capacity {
                    return fails(ZoneError::Boundary);
                }
                if place != written {
                    return fails(ZoneError::InvalidWrite);
                }
                if let Err(error) = self.opens(zone, ZoneState::ImplicitlyOpen) {
                    return fails(error);
                }
                self.zones[zone].1 += pages;
                if self.zones[zone].1 == self.capacity {
                    self.enters(zone, ZoneState::Full);
                }
                let first = (zone as u64 * self.size + place) * 8;
                if request.appends() { Outcome::Appended(first) } else { Outcome::Done }
            }
        }
    }

    fn acts(
        &mut self,
        request: &Request,
        zone: usize,
        page: u64,
        pages: u64,
    ) -> Result<(), ZoneError> {
        let state = self.zones[zone].0;
        let wrong = Err(ZoneError::InvalidTransition);
        match request.zone_action() {
            None => {
                let first = index(page.div_ceil(self.size));
                for zone in first..self.zones.len() {
                    if zone as u64 * self.size + self.capacity <= page + pages {
                        self.enters(zone, ZoneState::Empty);
                        self.zones[zone].1 = 0;
                    }
                }
            }
            Some(ZoneAction::Reset) => {
                self.enters(zone, ZoneState::Empty);
                self.zones[zone].1 = 0;
            }
            Some(ZoneAction::Finish) => self.enters(zone, ZoneState::Full),
            Some(ZoneAction::Open) if state == ZoneState::Full => return wrong,
            Some(ZoneAction::Open) => self.opens(zone, ZoneState::ExplicitlyOpen)?,
            Some(ZoneAction::Close) if matches!(state, ZoneState::Full | ZoneState::Empty) => {
                return wrong;
            }
            Some(ZoneAction::Close) => self.enters(zone, ZoneState::Closed),
        }
        Ok(())
    }

    /// The zones of a device are these, and what is below their pointers can be read.
    fn agrees(&self, host: &mut Host, seed: u64) {
        for (zone, &(state, written)) in (0..).zip(&self.zones) {
            assert_eq!(host.zone(zone), (state, written), "seed {seed}: zone {zone}");
            if written > 0 {
                let (first, pages) = (u64::from(zone) * self.size, written.try_into().unwrap());
                assert_eq!(host.ends(read(first, pages)), Outcome::Done);
            }
        }
    }

    fn opens(&mut self, zone: usize, how: ZoneState) -> Result<(), ZoneError> {
        let is_active = |state| !matches!(state, ZoneState::Empty | ZoneState::Full);
        let active = self.zones.iter().filter(|zone| is_active(zone.0)).count();
        let own = self.zones[zone].0;
        if !is_active(own) && active >= self.limits.1 {
            return Err(ZoneError::TooManyActive);
        }
        if !self.open.contains(&zone) && self.open.len() >= self.limits.0 {
            let implicit = |zone: &&usize| self.zones[**zone].0 == ZoneState::ImplicitlyOpen;
            let first = *self.open.iter().find(implicit).ok_or(ZoneError::TooManyOpen)?;
            self.enters(first, ZoneState::Closed);
        }
        if own != ZoneState::ExplicitlyOpen {
            self.enters(zone, how);
        }
        Ok(())
    }

    fn enters(&mut self, zone: usize, state: ZoneState) {
        self.zones[zone].0 = state;
        let opens = matches!(state, ZoneState::ImplicitlyOpen | ZoneState::ExplicitlyOpen);
        if !opens {
            self.open.retain(|open| *open != zone);
        } else if !self.open.contains(&zone) {
            self.open.push(zone);
        }
    }
}

/// A device of a random shape with zones.
fn device(random: &mut Random) -> Settings {
    loop {
        let mut keys: Vec<String> = ZONED.iter().map(ToString::to_string).collect();
        let mut add = |key: &str, value: u64| keys.push(format!("{key}={value}"));
        let (channels, ways) = (random.pick(&[1, 2, 3]), random.pick(&[1, 2]));
        add("geometry.channels", channels);
        add("geometry.ways", ways);
        add("geometry.planes", random.pick(&[1, 2]));
        add("geometry.blocks_per_plane", 8 + random.below(20));
        let bits = random.pick(&[1, 2, 3]);
        let pages = bits * (2 + random.below(4));
        add("geometry.pages_per_block", pages);
        add("geometry.page_bytes", 4096 * random.pick(&[1, 1, 2, 4]));
        add("nand.bits_per_cell", bits);
        add("ftl.zns.blocks", 1 + random.below(2));
        add("ftl.zns.dies", random.pick(&[0, 0, 1, ways]));
        add("ftl.over_provisioning_percent", random.pick(&[1, 10, 40]));
        let active = random.below(4);
        add("ftl.zns.max_active", active);
        add(
            "ftl.zns.max_open",
            if active == 0 { random.below(3) } else { random.below(active + 1) },
        );
        // More than one core leave the order.
        add("firmware.cores", random.below(2));
        add("firmware.write_ns", 5_000);
        add("ftl.zns.append_ns", 3_000);
        add("ftl.zns.reset_us", random.pick(&[0, 100, 2_000]));
        add("ftl.zns.finish_us", random.pick(&[0, 100, 2_000]));
        keys.push("ftl.mapping_unit_bytes=4096".to_string());
        keys.push(format!("nand.one_shot={}", random.below(2) == 0));
        keys.push(format!("nand.multi_plane={}", random.pick(&["none", "same_page", "any"])));
        keys.push(format!("policy.command={}", random.pick(&["fifo", "rcf", "size"])));
        keys.push(format!("queue.data_order={}", random.pick(&["lpn", "none"])));
        if random.below(2) == 0 {
            keys.push("buffer.volatile=false".to_string());
            keys.push(format!("buffer.bytes={}", 4096 * random.pick(&[40, 200, 1_000])));
        }
        if random.below(3) == 0 {
            keys.push("ftl.frontier=die".to_string());
        }
        // Some of these contradict each other.
        if let Ok(settings) = try_settings(&keys) {
            return settings;
        }
    }
}

fn any_request(random: &mut Random, model: &Model) -> Request {
    let zone = random.below(model.zones.len().min(6) as u64);
    let first = zone * model.size;
    let written = model.zones[index(zone)].1;
    let pages = 1 + random.below(model.capacity.min(9));
    let small = |pages: u64| u32::try_from(pages).unwrap();
    match random.below(20) {
        0..5 => write(first + written.min(model.size - 1), small(pages)),
        5 => write(first + random.below(model.capacity), small(pages)),
        6..11 => Request::append(first * 8, small(pages) * 8),
        11..15 => read(first + random.below(model.capacity), small(pages)),
        15 => Request::zone(ZoneAction::Finish, first * 8),
        16 => Request::zone(random.pick(&[ZoneAction::Open, ZoneAction::Close]), first * 8),
        17 => Request::zone(ZoneAction::Reset, first * 8),
        18 => {
            let pages = small(model.size * (1 + random.below(2)) + random.below(3));
            Request::new(RequestOp::Trim, first * 8, pages * 8)
        }
        _ => Request::new(RequestOp::Flush, 0, 0),
    }
}

/// Requests of one stream are started in their order, however many are outstanding: each ends as
/// the model says, the zones are those of the model at the end, and what is below the pointers can
/// be read. The checker follows every unit and its data. Counts errors by name.
fn follows_the_model(
    seed: u64,
    settings: &Settings,
    random: &mut Random,
    errors: &mut BTreeMap<&'static str, u64>,
) -> Report {
    let shape = settings.zones.unwrap();
    let zns = &settings.keys.schemes.zns;
    let no_limit = |limit: u64| if limit == 0 { usize::MAX } else { index(limit) };
    let active = no_limit(zns.max_active);
    let zone = match settings.keys.state.initial {
        InitialState::Fresh => (ZoneState::Empty, 0),
        _ => (ZoneState::Full, u64::from(shape.capacity)),
    };
    let mut model = Model {
        capacity: shape.capacity.into(),
        size: shape.size.into(),
        limits: (no_limit(zns.max_open).min(active), active),
        zones: vec![zone; shape.count as usize],
        open: Vec::new(),
    };
    let mut host = Host::new(settings);
    let depth = random.pick(&[1, 3, 16]);
    let mut wanted = BTreeMap::new();
    let ends = |host: &mut Host, wanted: &mut BTreeMap<u64, (Request, Outcome)>| {
        host.0.advance(Time::MAX, Stop::AtCompletion).unwrap();
        assert!(host.0.has_completions(), "seed {seed}: nothing ends of {wanted:?}");
        while let Some(done) = host.0.poll() {
            let (request, outcome) = wanted.remove(&done.id).unwrap();
            assert_eq!(done.outcome, outcome, "seed {seed}: {request:?}");
        }
    };
    for _ in 0..120 {
        let request = any_request(random, &model);
        if request.end_sector().unwrap() > host.0.capacity_sectors() {
            continue;
        }
        let outcome = model.expects(&request);
        if let Outcome::Failed(error) = outcome {
            *errors.entry(error.word()).or_default() += 1;
        }
        let id = host.0.submit(&request.at(host.0.now())).unwrap();
        wanted.insert(id, (request, outcome));
        while wanted.len() >= depth {
            ends(&mut host, &mut wanted);
        }
    }
    while !wanted.is_empty() {
        ends(&mut host, &mut wanted);
    }
    model.agrees(&mut host, seed);
    let report = host.report();
    let zones = report.zones.as_ref().unwrap();
    assert_eq!(zones.open, model.open.len() as u64);
    let unit = u64::from(SECTOR_BYTES) * 8;
    assert!(zones.padded_bytes.is_multiple_of(unit));
    // What requests ask for leaves program units in part empty as well.
    assert!(report.flash.padded_units >= zones.padded_bytes / unit, "seed {seed}");
    report
}

#[test]
fn random_devices_do_what_the_model_says() {
    let mut errors = BTreeMap::new();
    let (mut padded, mut resets) = (0, 0);
    for seed in seeds(0..600) {
        let mut random = Random(seed);
        let settings = device(&mut random);
        let report = follows_the_model(seed, &settings, &mut random, &mut errors);
        let zones = report.zones.unwrap();
        (padded, resets) = (padded + zones.padded_bytes, resets + zones.resets);
    }
    assert!(padded > 0 && resets > 0);
    let seen: Vec<&str> = errors.keys().copied().collect();
    let all = [
        "invalid_zone_state_transition",
        "too_many_active_zones",
        "too_many_open_zones",
        "zone_boundary_error",
        "zone_invalid_write",
        "zone_is_full",
    ];
    assert_eq!(seen, all);
}

/// The same on devices whose zones are full at first and that read ahead of every read: resets take
/// back what is being read ahead, and writes at pointers follow.
#[test]
fn zones_that_are_read_ahead_do_what_the_model_says() {
    let (mut hits, mut units) = (0, 0);
    for seed in seeds(0..300) {
        let mut random = Random(seed);
        let mut keys = device(&mut random).keys;
        (keys.buffer.bytes, keys.buffer.volatile) = (keys.buffer.bytes.max(4096 * 40), false);
        keys.state.initial = InitialState::Full;
        (keys.buffer.read_ahead_kib, keys.buffer.read_ahead_after) = (16 << (seed % 3), 1);
        let Ok(settings) = Settings::new(keys) else { continue };
        let report = follows_the_model(seed, &settings, &mut random, &mut BTreeMap::new());
        let ahead = report.buffer.read_ahead.unwrap();
        (hits, units) = (hits + ahead.hits, units + ahead.units);
    }
    assert!(hits > 1_000 && units > 3_000, "{hits} hits of {units} units");
}

/// A device that starts with full zones is one whose zones were written in order, and a device that
/// was saved goes on as it was.
#[test]
fn full_zones_and_saved_ones_are_written_ones() {
    let full = one_die(&["state.initial=full", "state.fill_percent=40"]);
    let mut host = Host::new(&full);
    // 40 % of 18 zones of 16 pages: 7 zones and 3 pages.
    let states = |host: &Host| (0..9).map(|zone| host.zone(zone)).collect::<Vec<_>>();
    let wanted = [(ZoneState::Full, 16); 7];
    assert_eq!(states(&host)[..7], wanted);
    assert_eq!(states(&host)[7..], [(ZoneState::Closed, 3), (ZoneState::Empty, 0)]);
    assert_eq!(host.ends(append(7, 2)), Outcome::Appended((7 * 16 + 3) * 8));
    assert_eq!(host.ends(act(ZoneAction::Reset, 2)), Outcome::Done);
    assert_eq!(host.ends(read(0, 7 * 16 + 5)), Outcome::Done);
    let before = states(&host);
    let (drive, _) = host.0.end().unwrap();
    let Drive::Flash(device) = drive else { panic!("it has zones") };
    let mut device = restored(&full, &saved(&device)).unwrap();
    device.check();
    let mut again = Host(Session::new(Drive::Flash(Box::new(device))));
    assert_eq!(states(&again), before);
    assert_eq!(again.ends(append(7, 11)), Outcome::Appended((7 * 16 + 5) * 8));
    assert_eq!(again.fails(append(7, 1)), ZoneError::Full);
    assert_eq!(again.ends(append(2, 16)), Outcome::Appended(2 * 16 * 8));
    assert_eq!(again.ends(read(0, 8 * 16)), Outcome::Done);
    again.report();
}

/// Where programs hold several units, a device starts with whole programs, and its zones go on from
/// there; observers hear of all that it starts with.
#[test]
fn a_device_starts_with_whole_programs() {
    struct Units(Shared<Vec<u32>>);
    impl Observer for Units {
        fn follows_units(&self) -> bool {
            true
        }
        fn unit_at_start(&mut self, event: &UnitAtStart) {
            if let Some(Contents::Data(lpn)) = event.contents {
                self.0.get().push(lpn);
            }
        }
    }
    let keys = [
        "geometry.pages_per_block=24",
        "nand.bits_per_cell=3",
        "nand.one_shot=true",
        "buffer.bytes=1048576",
        "buffer.volatile=false",
        "state.initial=full",
        "state.fill_percent=40",
    ];
    let settings = one_die(&keys);
    let mut device = Device::new(&settings);
    device.check();
    let units = Shared::new(Vec::new());
    device.observe(Box::new(Units(units.clone())));
    let mut host = Host(Session::new(Drive::Flash(Box::new(device))));
    // 40 % of 18 zones of 24 pages: 7 zones and 4 pages, of which 3 fill a program.
    assert_eq!(host.zone(7), (ZoneState::Closed, 3));
    let mut seen = units.take();
    seen.sort_unstable();
    assert!(seen.into_iter().eq(0..7 * 24 + 3));
    let start = 7 * 24;
    assert_eq!(host.ends(write(start + 3, 21)), Outcome::Done);
    assert_eq!(host.zone(7), (ZoneState::Full, 24));
    assert_eq!(host.ends(read(start, 24)), Outcome::Done);
    host.report();
}

/// A write of a zone that no free block is left for waits for the erase of one that was reset.
#[test]
fn writes_wait_for_erases_where_no_block_is_free() {
    let keys = ["ftl.over_provisioning_percent=1", "nand.erase_us=5000", "nand.program_us=200"];
    let mut host = Host::new(&one_die(&keys));
    let zones = 19;
    for zone in 0..zones {
        assert_eq!(host.ends(append(zone, 16)), Outcome::Appended(zone * 128));
    }
    // One block is free, and the next reset gives one back after its erase.
    for zone in 0..2 {
        host.ends(act(ZoneAction::Reset, zone));
    }
    let (_, soon) = host.does(append(0, 1));
    let (_, late) = host.does(append(1, 1));
    assert!(soon < Span::from_us(5_300) && late > Span::from_us(4_000), "{soon:?} {late:?}");
    host.report();
}
