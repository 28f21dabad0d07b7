//! Operations and busy time by phase, operation and purpose: what energy is derived from.

use flashyard_core::command::{Op, Purpose};
use flashyard_core::geometry::Geometry;
use flashyard_core::units::Span;

/// When work was done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// While a request was outstanding.
    Foreground,
    /// While none was, between requests.
    Idle,
    /// After the last request.
    Post,
}

impl Phase {
    /// Every phase, in order.
    pub const ALL: [Self; 3] = [Self::Foreground, Self::Idle, Self::Post];

    /// The word reports use.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Foreground => "foreground",
            Self::Idle => "idle",
            Self::Post => "post",
        }
    }
}

/// Why a program was begun that left a part of its program unit empty.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Padding {
    /// A request asked for it: a flush, a preflush, FUA, or any write that is answered when its
    /// program is over.
    Asked,
    /// Other data of the host.
    Host,
    /// Copies of garbage collection.
    Gc,
    /// Map pages.
    Map,
    /// Copies of merges.
    Merge,
    /// Copies of wear levelling.
    Wear,
}

impl Padding {
    /// Every cause, in the order of their numbers.
    pub const ALL: [Self; 6] =
        [Self::Asked, Self::Host, Self::Gc, Self::Map, Self::Merge, Self::Wear];

    /// The word reports use.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Asked => "asked",
            Self::Host => "host",
            Self::Gc => "gc",
            Self::Map => "map",
            Self::Merge => "merge",
            Self::Wear => "wear",
        }
    }

    /// The cause of a program for a purpose, that a request asked for or not.
    pub const fn of(purpose: Purpose, asked: bool) -> Self {
        match purpose {
            Purpose::Host if asked => Self::Asked,
            Purpose::Host => Self::Host,
            Purpose::Gc => Self::Gc,
            Purpose::MapFetch | Purpose::MapWriteback | Purpose::MapGc => Self::Map,
            Purpose::Merge => Self::Merge,
            Purpose::Wear => Self::Wear,
        }
    }
}

/// Work of one operation for one purpose.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Work {
    /// Array operations.
    pub ops: u64,
    /// Pages read or programmed, blocks erased.
    pub pages: u64,
    /// Senses of pages after the first one.
    pub retries: u64,
    /// Time in the array at work, in nanoseconds.
    pub array_ns: u64,
    /// Time on a channel, in nanoseconds.
    pub transfer_ns: u64,
}

crate::saved::saved!(Work { ops, pages, retries, array_ns, transfer_ns });

impl Work {
    /// The work of the arrays in an operation that takes so long on each of its planes and begins
    /// with so many pages: a program goes on to the other pages of its unit, an operation on joined
    /// planes works on all of them. A read is done so many times again.
    #[inline]
    pub fn of_arrays(geometry: &Geometry, op: Op, heads: u64, time: Span, retries: u32) -> Self {
        let planes = heads * u64::from(geometry.planes_of(op));
        let pages = match op {
            Op::Program => heads * u64::from(geometry.program_pages),
            Op::Read | Op::Erase => planes,
        };
        let again = u64::from(retries);
        let array_ns = time.as_ns() * planes * (1 + again);
        Self { ops: 0, pages, retries: planes * again, array_ns, transfer_ns: 0 }
    }

    const fn add(&mut self, other: &Self) {
        self.ops += other.ops;
        self.pages += other.pages;
        self.retries += other.retries;
        self.array_ns += other.array_ns;
        self.transfer_ns += other.transfer_ns;
    }
}

/// Work by operation and purpose.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally([[Work; Purpose::ALL.len()]; Op::ALL.len()]);

crate::saved::saved!(Tally { 0 });

impl Tally {
    /// Counts work of one operation for one purpose.
    pub const fn count(&mut self, op: Op, purpose: Purpose, work: &Work) {
        self.0[op as usize][purpose as usize].add(work);
    }

    /// Adds another tally.
    pub fn merge(&mut self, other: &Self) {
        for (sums, works) in self.0.iter_mut().zip(&other.0) {
            for (sum, work) in sums.iter_mut().zip(works) {
                sum.add(work);
            }
        }
    }

    /// The work of one operation for one purpose.
    pub const fn get(&self, op: Op, purpose: Purpose) -> Work {
        self.0[op as usize][purpose as usize]
    }

    /// The work of one operation for all purposes.
    pub fn of_op(&self, op: Op) -> Work {
        let mut sum = Work::default();
        self.0[op as usize].iter().for_each(|work| sum.add(work));
        sum
    }

    /// The work of all operations for one purpose.
    pub fn of_purpose(&self, purpose: Purpose) -> Work {
        let mut sum = Work::default();
        self.0.iter().for_each(|works| sum.add(&works[purpose as usize]));
        sum
    }
}
