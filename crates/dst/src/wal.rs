//! A toy write-ahead log, which forgets to flush if it is told to: an example of what a simulated
//! drive finds.

use crate::Disk;
use flashyard_core::request::SECTOR_BYTES;

/// Bytes of a sector, which has one record of the log.
const SECTOR: usize = SECTOR_BYTES as usize;

/// Records of the log, and of a block of it: the last block is written anew with each record.
const RECORDS: u64 = 4_096;

/// A record: a key gets a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record {
    /// Its place in the log, from 1.
    pub number: u64,
    /// The key.
    pub key: u64,
    /// The value.
    pub value: u64,
}

impl Record {
    fn sum(self) -> u64 {
        let mixed = self.number.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ self.key.rotate_left(17);
        (mixed ^ self.value).wrapping_mul(0xBF58_476D_1CE4_E5B9) | 1
    }

    fn bytes(self) -> [u8; SECTOR] {
        let mut bytes = [0; SECTOR];
        let words = [self.number, self.key, self.value, self.sum()];
        for (place, word) in words.into_iter().enumerate() {
            bytes[8 * place..8 * place + 8].copy_from_slice(&word.to_le_bytes());
        }
        bytes
    }

    fn of(bytes: &[u8]) -> Option<Self> {
        let word = |place: usize| {
            let bytes = bytes[8 * place..8 * place + 8].try_into().expect("eight bytes");
            u64::from_le_bytes(bytes)
        };
        let record = Self { number: word(0), key: word(1), value: word(2) };
        (word(3) == record.sum()).then_some(record)
    }
}

/// The log of a store on a drive.
#[derive(Debug)]
pub struct Log {
    next: u64,
    /// Whether a commit flushes the drive before it returns.
    flushes: bool,
}

impl Log {
    /// An empty log.
    pub const fn new(flushes: bool) -> Self {
        Self { next: 1, flushes }
    }

    /// Commits a change: behind this it has to outlive a loss of power. Returns the record.
    pub fn commit(&mut self, disk: &mut Disk, key: u64, value: u64) -> Record {
        let record = Record { number: self.next, key, value };
        disk.write(record.number % RECORDS, &record.bytes());
        if self.flushes {
            disk.flush();
        }
        self.next += 1;
        record
    }

    /// Reads the log from its start to the first record that is not there. It goes on behind that.
    pub fn recover(&mut self, disk: &mut Disk) -> Vec<Record> {
        let mut found = Vec::new();
        for number in 1..RECORDS {
            let record = Record::of(&disk.read(number % RECORDS, 1));
            let Some(record) = record.filter(|record| record.number == number) else { break };
            found.push(record);
        }
        self.next = found.len() as u64 + 1;
        found
    }
}
