//! The simulated disk of a runtime for deterministic tests: data are scheduled, come into effect
//! when the simulated drive has answered, and a crash drops what was not synced. The same seed
//! gives the same times, so a failing order of events can be run again.

use flashyard_core::request::{Request, RequestOp};
use flashyard_core::units::{Span, Time};
use flashyard_run::plan::Plan;
use flashyard_sim::own::OwnParts;
use flashyard_sim::session::{Session, Stop};
use std::collections::BTreeMap;

/// Bytes of a sector.
const SECTOR: usize = 512;

type Contents = BTreeMap<u64, [u8; SECTOR]>;

/// What the program under test asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Io {
    /// Writes whole sectors.
    Write { sector: u64, data: Vec<u8> },
    /// Reads so many sectors.
    Read { sector: u64, sectors: u32 },
    /// Is over when earlier writes are durable.
    Sync,
}

/// What is over: its number, and what was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Done {
    pub(crate) id: u64,
    pub(crate) data: Vec<u8>,
}

/// A disk for tests.
#[derive(Debug)]
pub(crate) struct TestDisk {
    drive: Session,
    /// What is not answered, and of a sync before when what it promises was answered.
    waiting: BTreeMap<u64, (Io, Time)>,
    /// What reads return, and what a crash leaves.
    seen: Contents,
    durable: Contents,
    /// Writes that no sync has promised, in the order of their answers, and when these came.
    answered: Vec<(Time, u64, Vec<u8>)>,
}

impl TestDisk {
    /// A disk with the times of a drive by name.
    pub(crate) fn new(drive: &str) -> anyhow::Result<Self> {
        let drive = Plan::of_device(OwnParts::default(), drive, &[])?.session(true)?;
        let (waiting, answered) = (BTreeMap::new(), Vec::new());
        let (seen, durable) = (Contents::new(), Contents::new());
        Ok(Self { drive, waiting, seen, durable, answered })
    }

    /// Schedules an operation for a time, and returns its number.
    pub(crate) fn schedule(&mut self, io: Io, when: Time) -> anyhow::Result<u64> {
        let request = match &io {
            Io::Write { sector, data } => {
                Request::new(RequestOp::Write, *sector, u32::try_from(data.len() / SECTOR)?)
            }
            Io::Read { sector, sectors } => Request::new(RequestOp::Read, *sector, *sectors),
            Io::Sync => Request::new(RequestOp::Flush, 0, 0),
        };
        let id = self.drive.submit(&request.at(when))?;
        // What is answered now was answered before it, what will be at its own time perhaps not.
        let before = when.max(self.drive.now() + Span::from_ns(1));
        self.waiting.insert(id, (io, before));
        Ok(id)
    }

    /// A time before which nothing is over; the runtime's clock may jump there.
    pub(crate) fn next_deadline(&mut self) -> Option<Time> {
        self.drive.next_event().filter(|_| !self.waiting.is_empty())
    }

    /// Brings into effect what is over by `now`.
    pub(crate) fn promote_ready(&mut self, now: Time) -> anyhow::Result<Vec<Done>> {
        self.drive.advance(now, Stop::At)?;
        let mut done = Vec::new();
        while let Some(over) = self.drive.poll() {
            // What a crash has dropped is not answered.
            let Some((io, before)) = self.waiting.remove(&over.id) else { continue };
            done.push(Done { id: over.id, data: self.effect(io, over.at, before) });
        }
        Ok(done)
    }

    fn effect(&mut self, io: Io, at: Time, before: Time) -> Vec<u8> {
        match io {
            Io::Write { sector, data } => {
                store(&mut self.seen, sector, &data);
                self.answered.push((at, sector, data));
                Vec::new()
            }
            Io::Read { sector, sectors } => {
                let of = |sector| self.seen.get(&sector).copied().unwrap_or([0; SECTOR]);
                (sector..sector + u64::from(sectors)).flat_map(of).collect()
            }
            Io::Sync => {
                // A sync promises what was answered before it arrived, and nothing else.
                let promised = self.answered.partition_point(|(at, ..)| *at < before);
                for (_, sector, data) in self.answered.drain(..promised) {
                    store(&mut self.durable, sector, &data);
                }
                Vec::new()
            }
        }
    }

    /// The power fails: what was not synced is lost, and what was under way is not answered. The
    /// worst that the contract allows.
    pub(crate) fn crash(&mut self) {
        self.waiting.clear();
        self.answered.clear();
        self.seen = self.durable.clone();
    }
}

fn store(contents: &mut Contents, sector: u64, data: &[u8]) {
    for (sector, bytes) in (sector..).zip(data.chunks_exact(SECTOR)) {
        contents.insert(sector, bytes.try_into().expect("whole sectors"));
    }
}

/// A log record, and its commit mark behind it: with the sync between them a crash never leaves the
/// mark without the record, without it the order is the drive's.
fn commit(disk: &mut TestDisk, sync_between: bool) -> anyhow::Result<()> {
    let mut steps = vec![Io::Write { sector: 0, data: vec![7; SECTOR] }];
    steps.extend(sync_between.then_some(Io::Sync));
    steps.push(Io::Write { sector: 64, data: vec![9; SECTOR] });
    steps.push(Io::Sync);
    let mut now = Time::ZERO;
    for step in steps {
        let id = disk.schedule(step, now)?;
        while let Some(next) = disk.next_deadline().filter(|_| disk.waiting.contains_key(&id)) {
            now = next;
            disk.promote_ready(now)?;
        }
    }
    Ok(())
}

/// The first byte of a sector.
fn read(disk: &mut TestDisk, sector: u64) -> anyhow::Result<u8> {
    let id = disk.schedule(Io::Read { sector, sectors: 1 }, disk.drive.now())?;
    while let Some(next) = disk.next_deadline() {
        if let Some(done) = disk.promote_ready(next)?.iter().find(|done| done.id == id) {
            return Ok(done.data[0]);
        }
    }
    anyhow::bail!("the read is not answered")
}

/// Commits once on a drive, with the sync between and without it; how long that took, and what a
/// crash behind it left of the record.
pub(crate) fn main() -> anyhow::Result<String> {
    let mut said = Vec::new();
    for (sync_between, how) in [(true, "with"), (false, "without")] {
        let mut disk = TestDisk::new("sata-mlc")?;
        commit(&mut disk, sync_between)?;
        let us = disk.drive.now().as_ns() / 1_000;
        disk.crash();
        let left = if read(&mut disk, 0)? == 7 { "is there" } else { "is lost" };
        said.push(format!("{us} us {how} its first sync (the record {left})"));
    }
    Ok(format!("test disk: a commit takes {}", said.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_crash_leaves_what_was_synced_and_nothing_else() {
        let mut disk = TestDisk::new("sata-mlc").unwrap();
        commit(&mut disk, true).unwrap();
        let now = disk.drive.now();
        disk.schedule(Io::Write { sector: 0, data: vec![1; SECTOR] }, now).unwrap();
        while let Some(next) = disk.next_deadline() {
            disk.promote_ready(next).unwrap();
        }
        assert_eq!(read(&mut disk, 0).unwrap(), 1);
        disk.crash();
        assert_eq!([0, 64].map(|sector| read(&mut disk, sector).unwrap()), [7, 9]);
    }

    /// A sync promises what was answered when it arrived: not a write that was submitted before it
    /// and answered behind its arrival.
    #[test]
    fn a_sync_promises_what_was_answered_before_it() {
        let mut disk = TestDisk::new("sata-mlc").unwrap();
        let write = |value, sector| Io::Write { sector, data: vec![value; SECTOR] };
        let go_on = |disk: &mut TestDisk| {
            while let Some(next) = disk.next_deadline() {
                disk.promote_ready(next).unwrap();
            }
        };
        disk.schedule(write(1, 0), Time::ZERO).unwrap();
        disk.schedule(Io::Sync, Time::ZERO).unwrap();
        go_on(&mut disk);
        disk.crash();
        assert_eq!(read(&mut disk, 0).unwrap(), 0, "it was not answered");
        // One that is answered is kept by a sync for now, or for later.
        for (value, late) in [(2, 0), (3, 100_000_000)] {
            disk.schedule(write(value, 0), disk.drive.now()).unwrap();
            if late == 0 {
                go_on(&mut disk);
            }
            let when = disk.drive.now() + Span::from_ns(late);
            disk.schedule(Io::Sync, when).unwrap();
            go_on(&mut disk);
            disk.crash();
            assert_eq!(read(&mut disk, 0).unwrap(), value);
        }
    }

    /// What is not answered when the power fails never comes into effect.
    #[test]
    fn what_is_under_way_is_lost() {
        let mut disk = TestDisk::new("sata-mlc").unwrap();
        disk.schedule(Io::Write { sector: 0, data: vec![1; SECTOR] }, Time::ZERO).unwrap();
        let sync = disk.schedule(Io::Sync, Time::ZERO).unwrap();
        let early = disk.promote_ready(Time::from_ns(1)).unwrap();
        assert!(early.iter().all(|done| done.id != sync), "a sync takes a program");
        disk.crash();
        assert_eq!(read(&mut disk, 0).unwrap(), 0);
    }
}
