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
use flashyard_sim::observe::{Observer, RequestAnswered, RequestArrived, Shared, UnitChange};
use flashyard_sim::session::{Session, Stop};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// Bytes of a sector.
const SECTOR: usize = SECTOR_BYTES as usize;

/// What is written, by request and by unit.
#[derive(Debug, Default)]
struct Payloads {
    unit_sectors: u64,
    /// Requests that were submitted and have not arrived, with their bytes.
    submitted: VecDeque<Vec<u8>>,
    /// Requests that have arrived and are not answered, by order of arrival.
    arrived: BTreeMap<u64, (Request, Vec<u8>)>,
    units: BTreeMap<u32, Unit>,
    /// Versions of all units, and how many there may be until those are looked for that are gone.
    versions: usize,
    most: usize,
}

/// A unit.
#[derive(Debug, Default)]
struct Unit {
    /// The number of the change that made its contents; none of one that was never written.
    holds: Option<u64>,
    /// Contents by the number of the change that made them; zeroes where there are none.
    versions: BTreeMap<u64, Vec<u8>>,
}

impl Payloads {
    fn unit_bytes(&self) -> usize {
        usize::try_from(self.unit_sectors).expect("a unit is small") * SECTOR
    }

    /// The contents of a unit.
    fn contents(&self, unit: u32) -> Vec<u8> {
        let known = self.units.get(&unit);
        let bytes = known.and_then(|unit| unit.versions.get(&unit.holds?));
        bytes.cloned().unwrap_or_else(|| vec![0; self.unit_bytes()])
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
                // A trim of a part of the unit has no bytes: it writes zeroes.
                let new = payload.get(from..from + SECTOR).unwrap_or(&[0; SECTOR]);
                bytes[to..to + SECTOR].copy_from_slice(new);
            }
        }
        let unit = self.units.entry(event.lpn).or_default();
        unit.holds = unit.holds.max(Some(event.version));
        unit.versions.insert(event.version, bytes);
        self.versions += 1;
    }

    /// A unit holds this version from now on.
    fn hold(&mut self, unit: u32, version: Option<u64>) {
        self.units.entry(unit).or_default().holds = version;
    }

    /// Forgets what no loss of power can leave: versions that are not `known`, by unit and number.
    fn forget(&mut self, known: &BTreeSet<(u32, u64)>) {
        self.versions = 0;
        for (number, unit) in &mut self.units {
            let holds = unit.holds;
            unit.versions.retain(|version, _| {
                Some(*version) == holds || known.contains(&(*number, *version))
            });
            self.versions += unit.versions.len();
        }
        self.most = self.versions + self.versions / 2 + 1_024;
    }

    /// What a planted fault has done to sectors of a unit: they hold what a version had that is
    /// older, or have a bit that is wrong.
    fn damage(&mut self, lost: &Lost) {
        let unit = u32::try_from(lost.first_sector / self.unit_sectors).expect("a unit");
        let Some(Unit { versions, .. }) = self.units.get_mut(&unit) else { return };
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

    fn request_answered(&mut self, event: &RequestAnswered) {
        self.0.get().arrived.remove(&event.order);
    }
}

/// A drive that keeps bytes. Each call takes simulated time, as long as the drive takes for it.
pub struct Disk {
    session: Option<Session>,
    payloads: Shared<Payloads>,
    /// The number of the first request behind the last loss of power, and of the next one.
    first: u64,
    next: u64,
    /// Requests that are under way, and those that a loss of power has left without an answer.
    pending: BTreeSet<u64>,
    unanswered: BTreeSet<u64>,
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
        let (pending, unanswered) = (BTreeSet::new(), BTreeSet::new());
        Self { session: Some(session), payloads, first: 0, next: 0, pending, unanswered }
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

    /// Gives the drive a request now and does not wait for it; [`Self::wait`] does. Returns its
    /// number, which no other request has, before a loss of power or behind it.
    ///
    /// # Panics
    /// If it reaches past the drive, if a write has not as many bytes as sectors say, and if
    /// anything else has bytes. If the submission queue is full (`interface.queue_depth`).
    pub fn submit(&mut self, request: &Request, bytes: &[u8]) -> u64 {
        let has_bytes = request.op == RequestOp::Write;
        let wanted =
            if has_bytes { u64::from(request.sectors) * u64::from(SECTOR_BYTES) } else { 0 };
        let op = request.op;
        assert_eq!(bytes.len() as u64, wanted, "bytes of a request ({op:?}) and of its sectors");
        self.forget();
        let at = self.now();
        self.payloads.get().submitted.push_back(bytes.to_vec());
        let number = self.session().submit(&request.at(at)).expect("the request fits the drive");
        let id = self.first + number;
        self.next = id + 1;
        self.pending.insert(id);
        id
    }

    /// Forgets bytes that no loss of power can leave, if there are many.
    fn forget(&mut self) {
        let payloads = self.payloads.get();
        let is_due = payloads.versions > payloads.most;
        drop(payloads);
        if is_due {
            let known = self.session().changes();
            self.payloads.get().forget(&known);
        }
    }

    /// Waits until a request is answered; not at all if it was.
    ///
    /// # Panics
    /// If the drive fails, if no request has this number, and if the power failed before it was
    /// answered.
    pub fn wait(&mut self, id: u64) {
        assert!(id < self.next, "there is no request {id}: {} were submitted", self.next);
        assert!(
            !self.unanswered.contains(&id),
            "the power failed before request {id} was answered"
        );
        while self.pending.contains(&id) {
            self.session().advance(Time::MAX, Stop::AtCompletion).expect("the drive works");
            assert!(self.take_answers(), "request {id} is never answered: nothing is under way");
        }
    }

    /// Takes what is over. Returns whether anything was.
    fn take_answers(&mut self) -> bool {
        let before = self.pending.len();
        while let Some(done) = self.session().poll() {
            self.pending.remove(&(self.first + done.id));
        }
        self.pending.len() < before
    }

    /// Lets time pass.
    ///
    /// # Panics
    /// If the drive fails.
    pub fn pass(&mut self, span: Span) {
        let until = self.now() + span;
        self.session().advance(until, Stop::At).expect("the drive works");
        self.take_answers();
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
    ///
    /// # Panics
    /// As [`Self::submit`] does: also if the bytes are no whole sectors.
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
    /// Requests that are under way are never answered.
    ///
    /// # Panics
    /// If the settings do not say how the drive recovers, or if it fails.
    pub fn cut(&mut self, seed: u64) -> Cut {
        self.session().end_instant().expect("the drive works");
        self.take_answers();
        self.unanswered.append(&mut self.pending);
        self.first = self.next;
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

#[cfg(test)]
mod tests {
    use super::*;

    /// However often units are written, there are no more contents than flash and memory have, or
    /// half as many again, and nothing of requests that are over.
    #[test]
    fn contents_that_are_gone_are_forgotten() {
        let mut keys = small_disk().keys;
        (keys.geometry.blocks_per_plane, keys.geometry.pages_per_block) = (24, 16);
        let settings = Settings::new(keys).expect("a device that can exist");
        let mut disk = Disk::new(&settings);
        for number in 0..6_000 {
            disk.write(number % 64 * 8, &[1; 4_096]);
            disk.read(0, 1);
            if number % 64 == 0 {
                disk.flush();
            }
        }
        let payloads = disk.payloads.get();
        let held: usize = payloads.units.values().map(|unit| unit.versions.len()).sum();
        let pages = 2 * 24 * 16 + 64;
        assert!(held == payloads.versions && held <= pages * 3 / 2 + 1_024 + 1, "{held}");
        assert!(payloads.arrived.is_empty() && payloads.submitted.is_empty());
    }
}
