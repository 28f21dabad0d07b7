//! Raw operations: erases, programs and reads of physical places, for devices that translate
//! nothing.
//!
//! A read names a page, a write programs one, and a trim of a whole block erases it. Generated
//! operations depend on the keys, the seed and the geometry only. Each part has its own stream of
//! random numbers ([`SplitMix64::stream`]; purposes 1 kinds, 2 dies, 3 blocks, 4 pages). They carry
//! no times: the pacing of the stream says when they are issued. Operations may be listed in a file
//! instead ([`list`]).

mod append;
mod builtin;
mod keys;
pub mod list;
mod place;

use flashyard_core::geometry::Geometry;
use flashyard_core::request::{Request, RequestOp};
use flashyard_core::units::Time;

pub use self::builtin::{BUILT_IN_RAW, BuiltInRaw};
pub use self::keys::{Placement, RawKeys};

use self::append::Append;
use self::list::List;
use self::place::{Draws, Place, below, request};
use crate::error::WorkloadError;
use crate::random::SplitMix64;
use crate::{Extent, RequestSource, SourceStats};

/// Raw operations as a stream of requests.
#[derive(Debug)]
pub enum Raw {
    /// Drawn at random.
    Drawn(Box<Drawn>),
    /// Read from a file.
    Listed(Box<List>),
}

impl Raw {
    /// The operations of these keys and this seed for a device of this shape.
    pub fn new(keys: &RawKeys, seed: u64, geometry: &Geometry) -> Result<Self, WorkloadError> {
        Drawn::new(keys, seed, geometry).map(|drawn| Self::Drawn(Box::new(drawn)))
    }
}

impl RequestSource for Raw {
    fn next_request(&mut self) -> Result<Option<Request>, WorkloadError> {
        match self {
            Self::Drawn(drawn) => Ok(drawn.next_operation()),
            Self::Listed(list) => list.next_operation(),
        }
    }

    fn stats(&self) -> SourceStats {
        match self {
            Self::Drawn(drawn) => drawn.stats,
            Self::Listed(list) => list.stats(),
        }
    }

    fn extent(&self) -> Option<Extent> {
        match self {
            Self::Drawn(drawn) => {
                let extent = Extent::left(drawn.stats.requests, drawn.left);
                Some(extent).filter(|extent| extent.of < u64::MAX)
            }
            Self::Listed(list) => list.extent(),
        }
    }

    fn notes(&self) -> Vec<String> {
        match self {
            Self::Drawn(drawn) => drawn.append.iter().flat_map(Append::notes).collect(),
            Self::Listed(_) => Vec::new(),
        }
    }
}

/// Operations that are drawn at random.
#[derive(Clone, Debug)]
pub struct Drawn {
    geometry: Geometry,
    left: u64,
    /// Parts of the mix: a draw below the first is an erase, below the second a program.
    erase_below: u64,
    program_below: u64,
    parts: u64,
    blocks: Blocks,
    /// The state of the blocks, where operations keep the rules of NAND.
    append: Option<Append>,
    kinds: SplitMix64,
    dies: SplitMix64,
    draws: Draws,
    stats: SourceStats,
}

/// The blocks of each plane that are used.
#[derive(Clone, Copy, Debug)]
struct Blocks {
    first: u32,
    count: u32,
    /// All blocks of a plane.
    per_plane: u32,
    planes: u32,
}

impl Blocks {
    /// How many blocks of a die are used.
    const fn of_die(&self) -> u32 {
        self.count * self.planes
    }

    /// The number inside the die of a block that is used.
    const fn number(&self, index: u32) -> u32 {
        let (plane, block) = (index / self.count, index % self.count);
        plane * self.per_plane + self.first + block
    }
}

impl Drawn {
    fn new(keys: &RawKeys, seed: u64, geometry: &Geometry) -> Result<Self, WorkloadError> {
        let blocks = blocks(keys, geometry)?;
        let parts = keys.erase_weight + keys.program_weight + keys.read_weight;
        if parts == 0 {
            return Err(WorkloadError::Key {
                key: "raw.program_weight",
                what: "every part of the mix is 0".to_owned(),
                fix: "set raw.erase_weight, raw.program_weight or raw.read_weight".to_owned(),
            });
        }
        let append = keys.placement == Placement::Append;
        let draws =
            Draws { blocks: SplitMix64::stream(seed, 3), pages: SplitMix64::stream(seed, 4) };
        Ok(Self {
            geometry: *geometry,
            left: if keys.requests == 0 { u64::MAX } else { keys.requests },
            erase_below: keys.erase_weight,
            program_below: keys.erase_weight + keys.program_weight,
            parts,
            blocks,
            append: append.then(|| {
                let (dies, pages) = (geometry.dies(), geometry.pages_per_block);
                Append::new(dies, blocks.of_die(), pages, keys.erased)
            }),
            kinds: SplitMix64::stream(seed, 1),
            dies: SplitMix64::stream(seed, 2),
            draws,
            stats: SourceStats { clock_epochs: 1, ..SourceStats::default() },
        })
    }

    fn next_operation(&mut self) -> Option<Request> {
        self.left = self.left.checked_sub(1)?;
        self.stats.requests += 1;
        let kind = self.kinds.below(self.parts);
        let op = if kind < self.erase_below {
            RequestOp::Trim
        } else if kind < self.program_below {
            RequestOp::Write
        } else {
            RequestOp::Read
        };
        let die = below(&mut self.dies, self.geometry.dies());
        let (op, index, page) = if let Some(append) = &mut self.append {
            append.next(op, die, &mut self.draws)
        } else {
            let block = below(&mut self.draws.blocks, self.blocks.of_die());
            let erases = op == RequestOp::Trim;
            let pages = if erases { 1 } else { self.geometry.pages_per_block };
            (op, block, below(&mut self.draws.pages, pages))
        };
        let place = Place { die, block: self.blocks.number(index), page };
        Some(request(&self.geometry, op, place, Time::ZERO))
    }
}

/// The blocks of a plane from `start_percent` on.
fn blocks(keys: &RawKeys, geometry: &Geometry) -> Result<Blocks, WorkloadError> {
    let end_ppm = keys.start_percent.ppm() + keys.range_percent.ppm();
    let at = |ppm: u64| {
        let block = u64::from(geometry.blocks_per_plane) * ppm / 1_000_000;
        u32::try_from(block).expect("a share of the blocks")
    };
    let (what, fix) = if end_ppm > 1_000_000 {
        let what = format!("the blocks end at {} % of a plane", end_ppm as f64 / 1e4);
        (what, "lower raw.start_percent or raw.range_percent to 100 % in all")
    } else if at(end_ppm) == at(keys.start_percent.ppm()) {
        let what = format!("no block of the {} of a plane", geometry.blocks_per_plane);
        (what, "raise it, or take a device with more blocks")
    } else {
        let first = at(keys.start_percent.ppm());
        return Ok(Blocks {
            first,
            count: at(end_ppm) - first,
            per_plane: geometry.blocks_per_plane,
            planes: geometry.planes,
        });
    };
    Err(WorkloadError::Key { key: "raw.range_percent", what, fix: fix.to_owned() })
}

#[cfg(test)]
mod tests;
