//! redb, a database, on a simulated drive: it commits transactions until the power fails in the
//! middle of a call, is opened again, and has to have all that it has committed.
//!
//!     cargo run --release -p flashyard-dst --example redb
//!
//! [`Storage`] is all that it takes: a trait of five methods over a [`Disk`], and a count of calls
//! behind which the power fails.

#![expect(clippy::print_stdout, reason = "an example says what it found")]

use flashyard_core::units::Span;
use flashyard_dst::{Disk, small_disk};
use flashyard_sim::config::{Fault, Settings};
use redb::{Builder, Database, Durability, ReadableDatabase, StorageBackend, TableDefinition};
use std::io::{Error, ErrorKind};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Bytes of a sector, and of the block before the data, whose start has their length.
const SECTOR: u64 = 512;
const HEAD: u64 = 4_096;

/// Calls of which one is cut short.
const CALLS: u64 = 60;

/// Keys that a transaction writes.
const KEYS: u64 = 3;

const TABLE: TableDefinition<'_, u64, u64> = TableDefinition::new("values");

/// The drive, and when it fails.
#[derive(Debug)]
struct Drive {
    disk: Disk,
    /// Bytes of the storage now, and at most so far.
    length: u64,
    longest: u64,
    seed: u64,
    /// Calls until the power fails; none where it does not.
    left: Option<u64>,
    is_off: bool,
}

impl Drive {
    /// The power fails in the middle of this call, if its turn has come.
    fn call(&mut self, submit: impl FnOnce(&mut Disk) -> u64) -> Result<(), Error> {
        if self.is_off {
            return Err(Error::other("the power is off"));
        }
        let id = submit(&mut self.disk);
        match self.left.as_mut() {
            Some(1) => {
                self.disk.pass(Span::from_ns(self.seed.wrapping_mul(7_919) % 1_000_000));
                self.disk.cut(self.seed);
                self.is_off = true;
                return Err(Error::other("the power fails"));
            }
            Some(left) => *left -= 1,
            None => {}
        }
        self.disk.wait(id);
        Ok(())
    }

    /// Writes whole sectors, those at the ends with what they have besides.
    fn write(&mut self, offset: u64, data: &[u8]) -> Result<(), Error> {
        let (first, end) = (offset / SECTOR, (offset + data.len() as u64).div_ceil(SECTOR));
        if end > self.disk.sectors() {
            return Err(ErrorKind::StorageFull.into());
        }
        let mut bytes = self.read(first * SECTOR, narrow((end - first) * SECTOR))?;
        bytes[narrow(offset - first * SECTOR)..][..data.len()].copy_from_slice(data);
        self.call(|disk| disk.submit(&Disk::write_request(first, &bytes), &bytes))
    }

    fn read(&mut self, offset: u64, count: usize) -> Result<Vec<u8>, Error> {
        if self.is_off {
            return Err(Error::other("the power is off"));
        }
        let (first, end) = (offset / SECTOR, (offset + count as u64).div_ceil(SECTOR));
        let sectors = u32::try_from(end - first).expect("a read is small");
        let mut bytes = self.disk.read(first, sectors);
        bytes.drain(..narrow(offset - first * SECTOR));
        bytes.truncate(count);
        Ok(bytes)
    }

    fn flush(&mut self) -> Result<(), Error> {
        self.call(|disk| disk.submit(&Disk::flush_request(), &[]))
    }

    /// The length is kept before anything relies on it.
    fn set_len(&mut self, length: u64) -> Result<(), Error> {
        let old = self.length.min(length);
        let stale = narrow(length.min(self.longest).saturating_sub(old));
        if stale > 0 {
            self.write(HEAD + old, &vec![0; stale])?;
        }
        self.write(0, &length.to_le_bytes())?;
        self.flush()?;
        (self.length, self.longest) = (length, self.longest.max(length));
        Ok(())
    }

    /// The power is back.
    fn start(&mut self) {
        (self.is_off, self.left) = (false, None);
        let head = self.read(0, 8).expect("the power is on");
        self.length = u64::from_le_bytes(head.try_into().expect("eight bytes"));
    }
}

/// The storage of a database on a drive.
#[derive(Clone, Debug)]
struct Storage(Arc<Mutex<Drive>>);

impl Storage {
    fn drive(&self) -> MutexGuard<'_, Drive> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl StorageBackend for Storage {
    fn len(&self) -> Result<u64, Error> {
        Ok(self.drive().length)
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> Result<(), Error> {
        out.copy_from_slice(&self.drive().read(HEAD + offset, out.len())?);
        Ok(())
    }

    fn set_len(&self, length: u64) -> Result<(), Error> {
        self.drive().set_len(length)
    }

    fn sync_data(&self) -> Result<(), Error> {
        self.drive().flush()
    }

    fn write(&self, offset: u64, data: &[u8]) -> Result<(), Error> {
        self.drive().write(HEAD + offset, data)
    }
}

fn narrow(number: u64) -> usize {
    usize::try_from(number).expect("it fits memory")
}

fn open(storage: &Storage) -> Result<Database, redb::Error> {
    Ok(Builder::new().set_cache_size(1 << 20).create_with_backend(storage.clone())?)
}

/// Commits a transaction of this number.
fn commit(db: &Database, number: u64, durability: Durability) -> Result<(), redb::Error> {
    let mut transaction = db.begin_write()?;
    transaction.set_durability(durability).map_err(redb::Error::from)?;
    {
        let mut table = transaction.open_table(TABLE)?;
        for key in 0..KEYS {
            table.insert(number * KEYS + key, number)?;
        }
    }
    Ok(transaction.commit()?)
}

/// How many transactions are there: the first ones, each as a whole.
fn count(storage: &Storage) -> Result<u64, redb::Error> {
    let db = open(storage)?;
    let transaction = db.begin_read()?;
    let table = match transaction.open_table(TABLE) {
        Err(redb::TableError::TableDoesNotExist(_)) => return Ok(0),
        table => table?,
    };
    let mut keys = 0;
    for (place, row) in (0..).zip(table.range::<u64>(..)?) {
        let (key, value) = row?;
        if (key.value(), value.value()) != (place, place / KEYS) {
            break;
        }
        keys += 1;
    }
    Ok(if keys % KEYS == 0 { keys / KEYS } else { u64::MAX })
}

/// What a seed has found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Found {
    pub(crate) committed: u64,
    /// Transactions that are there; none where the database cannot be opened or read.
    pub(crate) there: Option<u64>,
}

impl Found {
    /// Whether what was committed is there, and of what was not at most the transaction that was
    /// cut.
    pub(crate) fn is_whole(&self) -> bool {
        self.there.is_some_and(|there| (self.committed..=self.committed + 1).contains(&there))
    }
}

/// A case: its name, the drive, and whether a commit waits until it is durable.
pub(crate) type Case = (&'static str, Settings, bool);

/// The cases. In the first two nothing is lost: a sound drive and program, and a fault that the
/// checksums of the database find.
pub(crate) fn cases() -> Vec<Case> {
    let with = |fault| {
        let mut keys = small_disk().keys;
        keys.power.fault = fault;
        Settings::new(keys).expect("a device that can exist")
    };
    vec![
        ("sound", with(Fault::None), true),
        ("a drive with shorn writes", with(Fault::ShornWrites), true),
        ("commits that are not durable", with(Fault::None), false),
        ("a drive that ignores flushes", with(Fault::FlushIgnored), true),
        ("a drive with unserialisable writes", with(Fault::Unserialisable), true),
    ]
}

/// Commits until the power fails, and looks for what was committed.
pub(crate) fn run((_, settings, waits): &Case, seed: u64) -> Found {
    let disk = Disk::new(settings);
    let drive = Drive { disk, length: 0, longest: 0, seed, left: None, is_off: false };
    let storage = Storage(Arc::new(Mutex::new(drive)));
    let db = open(&storage).expect("the power is on");
    storage.drive().left = Some(1 + seed % CALLS);
    let mut committed = 0;
    let durability = if *waits { Durability::Immediate } else { Durability::None };
    while commit(&db, committed, durability).is_ok() {
        committed += 1;
        if !waits {
            // Nothing is written that could be cut.
            let mut drive = storage.drive();
            let _ = drive.call(|disk| disk.submit(&Disk::flush_request(), &[]));
            if drive.is_off {
                break;
            }
        }
    }
    drop(db);
    storage.drive().start();
    Found { committed, there: count(&storage).ok() }
}

fn main() {
    const SEEDS: u64 = 300;
    println!("{SEEDS} seeds each, a cut in each");
    for case in cases() {
        let lost: Vec<u64> = (0..SEEDS).filter(|seed| !run(&case, *seed).is_whole()).collect();
        let mut text = format!("{}: {} of them lose something", case.0, lost.len());
        if let Some(&seed) = lost.first() {
            let found = run(&case, seed);
            assert_eq!(found, run(&case, seed), "it replays");
            let there = found.there.map_or_else(
                || "the database cannot be read".to_string(),
                |there| format!("{there} of {} transactions are there", found.committed),
            );
            text += &format!("; seed {seed}: {there}, and so again");
        }
        println!("{text}");
    }
}
