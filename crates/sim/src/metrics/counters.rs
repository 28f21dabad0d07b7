//! Operations and busy time by phase, operation and purpose: what energy is derived from.

use flashyard_core::choice;
use flashyard_core::command::{Op, Purpose};
use flashyard_core::geometry::Geometry;
use flashyard_core::units::Span;

choice! {
    /// When work was done.
    pub enum Phase {
        /// While a request was outstanding.
        Foreground = "foreground",
        /// While none was, between requests.
        Idle = "idle",
        /// After the last request.
        Post = "post",
    }
}

choice! {
    /// Why a program was begun that left a part of its program unit empty.
    pub enum Padding {
        /// A request asked for it: a flush, a preflush, FUA, or any write that is answered when its
        /// program is over.
        Asked = "asked",
        /// Other data of the host.
        Host = "host",
        /// Copies of garbage collection.
        Gc = "gc",
        /// Map pages.
        Map = "map",
        /// Copies of merges.
        Merge = "merge",
        /// Copies of wear levelling.
        Wear = "wear",
        /// Copies of folding.
        Fold = "fold",
        /// What is written so that the map outlives a loss of power.
        Journal = "journal",
    }
}

impl Padding {
    /// The cause of a program for a purpose, that a request asked for or not.
    pub const fn of(purpose: Purpose, asked: bool) -> Self {
        match purpose {
            Purpose::Host if asked => Self::Asked,
            Purpose::Host | Purpose::ReadAhead => Self::Host,
            Purpose::Gc => Self::Gc,
            Purpose::MapFetch | Purpose::MapWriteback | Purpose::MapGc => Self::Map,
            Purpose::Merge => Self::Merge,
            Purpose::Wear => Self::Wear,
            Purpose::Fold => Self::Fold,
            Purpose::Journal | Purpose::Recovery => Self::Journal,
        }
    }
}

/// What an array does: a kind of operation or, of a read, sensing its pages again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ArrayWork {
    /// Senses pages for the first time.
    Read,
    /// Programs.
    Program,
    /// Erases.
    Erase,
    /// Senses pages again.
    Retry,
    /// Senses pages of blocks that are used with one bit a cell.
    SlcRead,
    /// Programs such pages.
    SlcProgram,
    /// Erases such blocks.
    SlcErase,
}

impl ArrayWork {
    const COUNT: usize = Self::SlcErase as usize + 1;

    /// That of an operation on blocks that are used with one bit a cell, or not.
    #[inline]
    pub const fn of(op: Op, slc: bool) -> Self {
        match (op, slc) {
            (Op::Read, false) => Self::Read,
            (Op::Program, false) => Self::Program,
            (Op::Erase, false) => Self::Erase,
            (Op::Read, true) => Self::SlcRead,
            (Op::Program, true) => Self::SlcProgram,
            (Op::Erase, true) => Self::SlcErase,
        }
    }
}

impl From<Op> for ArrayWork {
    #[inline]
    fn from(op: Op) -> Self {
        Self::of(op, false)
    }
}

/// Work of one kind for one purpose.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Work {
    /// Array operations.
    pub ops: u64,
    /// Pages read or programmed, blocks erased; senses of pages.
    pub pages: u64,
    /// Time in the array, in nanoseconds.
    pub array_ns: u64,
    /// Time on a channel, in nanoseconds.
    pub transfer_ns: u64,
}

crate::saved::saved!(Work { ops, pages, array_ns, transfer_ns });

impl Work {
    /// The work of the arrays in an operation that takes so long on each of its planes and begins
    /// with so many pages: a program goes on to the other pages of its unit, which with one bit a
    /// cell (`slc`) is a page; an operation on joined planes works on all of them.
    #[inline]
    pub fn of_arrays(geometry: &Geometry, op: Op, heads: u64, time: Span, slc: bool) -> Self {
        let planes = heads * u64::from(geometry.planes_of(op));
        let pages = match op {
            Op::Program if slc => planes,
            Op::Program => heads * u64::from(geometry.program_pages),
            Op::Read | Op::Erase => planes,
        };
        Self { ops: 0, pages, array_ns: time.as_ns() * planes, transfer_ns: 0 }
    }

    /// So many times the work of the arrays, in as many operations.
    #[must_use]
    pub const fn times(&self, count: u64) -> Self {
        let (pages, array_ns) = (self.pages * count, self.array_ns * count);
        Self { ops: self.ops, pages, array_ns, transfer_ns: 0 }
    }

    pub(crate) const fn add(&mut self, other: &Self) {
        self.ops += other.ops;
        self.pages += other.pages;
        self.array_ns += other.array_ns;
        self.transfer_ns += other.transfer_ns;
    }
}

/// Work by what arrays do and by purpose.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally([[Work; Purpose::ALL.len()]; ArrayWork::COUNT]);

crate::saved::saved!(Tally { 0 });

impl Tally {
    /// Counts work of one kind for one purpose.
    #[inline]
    pub const fn count(&mut self, kind: ArrayWork, purpose: Purpose, work: &Work) {
        self.0[kind as usize][purpose as usize].add(work);
    }

    /// Takes all work for a purpose out of it.
    #[must_use]
    pub fn take(&mut self, purpose: Purpose) -> Self {
        let mut taken = Self::default();
        for (works, taken) in self.0.iter_mut().zip(&mut taken.0) {
            std::mem::swap(&mut works[purpose as usize], &mut taken[purpose as usize]);
        }
        taken
    }

    /// Adds another tally.
    pub fn merge(&mut self, other: &Self) {
        for (sums, works) in self.0.iter_mut().zip(&other.0) {
            for (sum, work) in sums.iter_mut().zip(works) {
                sum.add(work);
            }
        }
    }

    /// The work of one operation for one purpose, of a read without senses after the first.
    pub fn get(&self, op: Op, purpose: Purpose) -> Work {
        let mut sum = self.of_cells(op, purpose, false);
        sum.add(&self.of_cells(op, purpose, true));
        sum
    }

    /// The same on blocks that are used with one bit a cell, or on all others.
    pub const fn of_cells(&self, op: Op, purpose: Purpose, slc: bool) -> Work {
        self.0[ArrayWork::of(op, slc) as usize][purpose as usize]
    }

    /// Senses of reads after the first, and the reads that had any, for one purpose.
    pub const fn retries(&self, purpose: Purpose) -> Work {
        self.0[ArrayWork::Retry as usize][purpose as usize]
    }

    /// The work of one operation for all purposes, of reads without senses after the first.
    pub fn of_op(&self, op: Op) -> Work {
        let mut sum = Work::default();
        for slc in [false, true] {
            self.0[ArrayWork::of(op, slc) as usize].iter().for_each(|work| sum.add(work));
        }
        sum
    }

    /// All work for one purpose.
    pub fn of_purpose(&self, purpose: Purpose) -> Work {
        let mut sum = Work::default();
        self.0.iter().for_each(|works| sum.add(&works[purpose as usize]));
        sum
    }
}
