//! A simulated drive that keeps bytes, for deterministic tests of storage software: write, read and
//! flush, cut the power, and go on with what recovery finds (docs/POWER.md).
//!
//! The device decides what is there after a loss of power, by its own rules and at its own times;
//! nothing is drawn by dice. A run is a function of settings, calls and seeds: a failure replays
//! bit by bit.
//!
//! ```
//! use flashyard_dst::{Disk, small_disk};
//!
//! let mut disk = Disk::new(&small_disk());
//! disk.write(0, &[1; 4_096]);
//! disk.flush();
//! disk.write(8, &[2; 4_096]);
//! disk.cut(7);
//! assert_eq!(disk.read(0, 8), [1; 4_096], "it was flushed");
//! assert_eq!(disk.read(8, 8), [0; 4_096], "it was in the volatile buffer");
//! ```

pub mod wal;

use flashyard_core::request::{Flags, Request, RequestOp, SECTOR_BYTES};
use flashyard_core::units::{Span, Time};
use flashyard_sim::config::{DeviceKeys, Settings};
use flashyard_sim::cut::{Cut, How, Lost};
use flashyard_sim::drive::Drive;
use flashyard_sim::observe::{Observer, RequestArrived, Shared, UnitChange};
use flashyard_sim::session::{Session, Stop};
use std::collections::{BTreeMap, VecDeque};

/// Bytes of a sector.
const SECTOR: usize = SECTOR_BYTES as usize;

/// What is written, by request and by unit.
#[derive(Debug, Default)]
struct Payloads {
    unit_sectors: u64,
    /// Requests that were submitted and have not arrived, with their bytes.
    submitted: VecDeque<Vec<u8>>,
    /// Requests that have arrived, by order of arrival, until they have changed all their units.
    arrived: BTreeMap<u64, (Request, Vec<u8>)>,
    /// The contents of each unit by the number of the change that made them.
    units: BTreeMap<u32, BTreeMap<u64, Vec<u8>>>,
}

impl Payloads {
    fn unit_bytes(&self) -> usize {
        usize::try_from(self.unit_sectors).expect("a unit is small") * SECTOR
    }

    /// The newest contents of a unit, or those of a version.
    fn contents(&self, unit: u32) -> Vec<u8> {
        let newest = self.units.get(&unit).and_then(|versions| versions.last_key_value());
        newest.map_or_else(|| vec![0; self.unit_bytes()], |(_, bytes)| bytes.clone())
    }

    /// A request changes a unit: what it covers of it is new.
    fn changes(&mut self, event: &UnitChange) {
        let mut bytes = self.contents(event.lpn);
        let Some((request, payload)) = self.arrived.get(&event.request) else { return };
        if event.trims {
            bytes.fill(0);
        } else {
            let first = u64::from(event.lpn) * self.unit_sectors;
            for sector in first..first + self.unit_sectors {
                let end = request.first_sector + u64::from(request.sectors);
                if !(request.first_sector..end).contains(&sector) {
                    continue;
                }
                let narrow = |number: u64| usize::try_from(number).expect("a request is small");
                let from = narrow(sector - request.first_sector) * SECTOR;
                let to = narrow(sector - first) * SECTOR;
                bytes[to..to + SECTOR].copy_from_slice(&payload[from..from + SECTOR]);
            }
        }
        self.units.entry(event.lpn).or_default().insert(event.version, bytes);
    }

    /// A unit holds this version, and none that is newer.
    fn hold(&mut self, unit: u32, version: Option<u64>) {
        let Some(versions) = self.units.get_mut(&unit) else { return };
        versions.retain(|known, _| Some(*known) <= version);
        if version.is_some_and(|version| !versions.contains_key(&version)) {
            versions.clear();
        }
    }

    /// What a planted fault has done to sectors of a unit: they hold what a version had that is
    /// older, or have a bit that is wrong.
    fn damage(&mut self, lost: &Lost) {
        let unit = u32::try_from(lost.first_sector / self.unit_sectors).expect("a unit");
        let Some(versions) = self.units.get_mut(&unit) else { return };
        let older = lost.kept.and_then(|kept| versions.get(&kept)).cloned();
        let Some(bytes) = versions.get_mut(&lost.version) else { return };
        let sectors = usize::try_from(lost.first_sector % self.unit_sectors).expect("in a unit");
        let from = sectors * SECTOR;
        let to = from + usize::try_from(lost.sectors).expect("a part of a unit") * SECTOR;
        match (lost.how, older) {
            (How::Shorn, Some(older)) => bytes[from..to].copy_from_slice(&older[from..to]),
            (How::Shorn, None) => bytes[from..to].fill(0),
            (How::Corrupt, _) => bytes[from..to].iter_mut().step_by(SECTOR).for_each(|b| *b ^= 1),
            _ => {}
        }
    }
}

/// Follows which request changes which unit.
struct Follower(Shared<Payloads>);

impl Observer for Follower {
    fn follows_contents(&self) -> bool {
        true
    }

    fn request_arrived(&mut self, event: &RequestArrived) {
        let mut payloads = self.0.get();
        let bytes = payloads.submitted.pop_front().unwrap_or_default();
        payloads.arrived.insert(event.order, (event.request, bytes));
    }

    fn unit_change(&mut self, event: &UnitChange) {
        self.0.get().changes(event);
    }
}

/// A drive that keeps bytes. Each call takes simulated time, as long as the drive takes for it.
pub struct Disk {
    session: Option<Session>,
    payloads: Shared<Payloads>,
}

impl std::fmt::Debug for Disk {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Disk").field("now", &self.now()).finish_non_exhaustive()
    }
}

/// Settings of a small drive with a volatile write buffer: 16 MiB of pages of 4 KiB on two dies. It
/// keeps all its promises.
///
/// # Panics
/// Never: the settings are those of a device that can exist.
pub fn small_disk() -> Settings {
    let mut keys = DeviceKeys::default();
    keys.map.store = flashyard_sim::config::MapStore::Resident;
    (keys.geometry.channels, keys.geometry.ways) = (2, 1);
    (keys.geometry.blocks_per_plane, keys.geometry.pages_per_block) = (64, 64);
    keys.ftl.over_provisioning_percent = flashyard_core::quantity::Ppm::from_percent(100);
    keys.buffer.bytes = 256 << 10;
    keys.power.oob_scan = true;
    keys.power.journal_entries = 64;
    Settings::new(keys).expect("a device that can exist")
}

impl Disk {
    /// A drive of these settings, which must say how it recovers (section `[power]`). All its
    /// sectors hold zeroes at first.
    pub fn new(settings: &Settings) -> Self {
        let unit_sectors = u64::from(settings.geometry.unit_sectors());
        let payloads = Shared::new(Payloads { unit_sectors, ..Payloads::default() });
        let session = Self::begin(Drive::new(settings), &payloads);
        Self { session: Some(session), payloads }
    }

    fn begin(mut drive: Drive, payloads: &Shared<Payloads>) -> Session {
        drive.observe(Box::new(Follower(payloads.clone())));
        Session::new(drive)
    }

    fn session(&mut self) -> &mut Session {
        self.session.as_mut().expect("there is one between calls")
    }

    /// The time of the drive.
    pub fn now(&self) -> Time {
        self.session.as_ref().map_or(Time::ZERO, Session::now)
    }

    /// Sectors of the drive.
    pub fn sectors(&self) -> u64 {
        self.session.as_ref().map_or(0, Session::capacity_sectors)
    }

    /// Gives the drive a request now and does not wait for it; [`Self::wait`] does.
    ///
    /// # Panics
    /// If it reaches past the drive.
    pub fn submit(&mut self, request: &Request, bytes: &[u8]) -> u64 {
        let at = self.now();
        self.payloads.get().submitted.push_back(bytes.to_vec());
        self.session().submit(&request.at(at)).expect("the request fits the drive")
    }

    /// Waits until a request is answered.
    ///
    /// # Panics
    /// If the drive fails.
    pub fn wait(&mut self, id: u64) {
        loop {
            self.session().advance(Time::MAX, Stop::AtCompletion).expect("the drive works");
            while let Some(done) = self.session().poll() {
                if done.id == id {
                    return;
                }
            }
        }
    }

    /// Lets time pass.
    ///
    /// # Panics
    /// If the drive fails.
    pub fn pass(&mut self, span: Span) {
        let until = self.now() + span;
        self.session().advance(until, Stop::At).expect("the drive works");
        while self.session().poll().is_some() {}
    }

    /// A write of these bytes, a number of whole sectors.
    pub fn write_request(first_sector: u64, bytes: &[u8]) -> Request {
        let sectors = u32::try_from(bytes.len() / SECTOR).expect("a write is small");
        Request::new(RequestOp::Write, first_sector, sectors)
    }

    /// A flush.
    pub const fn flush_request() -> Request {
        Request::new(RequestOp::Flush, 0, 0)
    }

    /// Writes, and waits for the answer.
    pub fn write(&mut self, first_sector: u64, bytes: &[u8]) {
        let id = self.submit(&Self::write_request(first_sector, bytes), bytes);
        self.wait(id);
    }

    /// Writes with FUA, and waits for the answer: the bytes are kept then.
    pub fn write_through(&mut self, first_sector: u64, bytes: &[u8]) {
        let request = Self::write_request(first_sector, bytes).with(Flags::FUA);
        let id = self.submit(&request, bytes);
        self.wait(id);
    }

    /// Flushes the write buffer, and waits for the answer.
    pub fn flush(&mut self) {
        let id = self.submit(&Self::flush_request(), &[]);
        self.wait(id);
    }

    /// Reads, and waits for the answer.
    pub fn read(&mut self, first_sector: u64, sectors: u32) -> Vec<u8> {
        let id = self.submit(&Request::new(RequestOp::Read, first_sector, sectors), &[]);
        self.wait(id);
        let payloads = self.payloads.get();
        let unit = |sector: u64| u32::try_from(sector / payloads.unit_sectors).expect("a unit");
        let of = |sector: u64| {
            let place = usize::try_from(sector % payloads.unit_sectors).expect("in a unit");
            payloads.contents(unit(sector))[place * SECTOR..(place + 1) * SECTOR].to_vec()
        };
        (first_sector..first_sector + u64::from(sectors)).flat_map(of).collect()
    }

    /// The power fails now and is back at once: the drive goes on with what recovery finds.
    ///
    /// # Panics
    /// If the settings do not say how the drive recovers.
    pub fn cut(&mut self, seed: u64) -> Cut {
        let session = self.session.take().expect("there is one between calls");
        let (drive, cut) = session.cut(seed).expect("the section [power] is on");
        let mut payloads = self.payloads.get();
        payloads.submitted.clear();
        payloads.arrived.clear();
        for held in &cut.held {
            payloads.hold(held.unit, held.version);
        }
        for lost in &cut.lost {
            payloads.damage(lost);
        }
        drop(payloads);
        self.session = Some(Self::begin(drive, &self.payloads));
        cut
    }
}
