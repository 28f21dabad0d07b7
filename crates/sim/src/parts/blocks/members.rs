//! Which blocks make up each superblock, where some are bad from the start or wear out.
//!
//! A superblock has the number of its block on the first plane. On the others the first of them has
//! the first good block, the second one the second, and so on: with as many bad blocks on each
//! plane, the superblocks with a bad block have nothing else. One that has lost a block is retired
//! when its last block is erased, and what is good of it takes the place of what others lose: as
//! long as each plane has a good block that is not used, one superblock is made of them. So there
//! are as many superblocks as the plane with the fewest good blocks has.
//!
//! Source: assumed. Drives of products replace blocks of a superblock by spare ones of the same
//! plane, how is not published.

use crate::random::mix;
use crate::saved::{Reader, RestoreError, Saved, Writer, saved};
use flashyard_core::geometry::Geometry;
use flashyard_core::units::{BlockId, PlaneId};

/// The blocks of all superblocks.
#[derive(Clone, Debug)]
pub(super) struct Members {
    array: Geometry,
    /// The number in its plane of the block that each superblock has there, by plane.
    numbers: Vec<u32>,
    /// The superblock of each block.
    homes: Vec<u32>,
    /// How often each block has been erased.
    pub(super) erases: Vec<u32>,
    /// Blocks that are never used: bad from the start, or worn out.
    pub(super) bad: Vec<bool>,
}

saved!(Members { numbers, homes, erases, bad } skip { array });

/// The settings say whether there are any.
impl Saved for Option<Box<Members>> {
    fn save(&self, to: &mut Writer<'_>) {
        if let Some(members) = self {
            members.save(to);
        }
    }

    fn load(&mut self, from: &mut Reader<'_>) -> Result<(), RestoreError> {
        self.as_mut().map_or(Ok(()), |members| members.load(from))
    }
}

impl Members {
    /// Those of an array with so many bad blocks on each plane.
    pub(super) fn new(array: Geometry, count: u32) -> Box<Self> {
        let blocks = array.blocks_per_plane;
        let bad = factory_bad(blocks, array.all_planes(), count);
        let (mut numbers, mut homes) = (vec![0; bad.len()], vec![0; bad.len()]);
        for plane in (0..array.all_planes()).map(PlaneId::new) {
            for wanted in [false, true] {
                let of = |plane: PlaneId| {
                    let bad = &bad;
                    (0..blocks).filter(move |at| bad[array.block(plane, *at).index()] == wanted)
                };
                for (home, number) in of(PlaneId::new(0)).zip(of(plane)) {
                    numbers[array.block(plane, home).index()] = number;
                    homes[array.block(plane, number).index()] = home;
                }
            }
        }
        let erases = vec![0; bad.len()];
        Box::new(Self { array, numbers, homes, erases, bad })
    }

    /// Bytes of an array with so many blocks.
    pub(super) const fn bytes(blocks: u64) -> u64 {
        blocks * (3 * 4 + 1)
    }

    /// The superblock of a block.
    #[inline]
    pub(super) fn of(&self, block: BlockId) -> u32 {
        self.homes[block.index()]
    }

    /// The number in its plane of the block that a superblock has there.
    #[inline]
    pub(super) fn number(&self, plane: PlaneId, superblock: u32) -> u32 {
        self.numbers[self.array.block(plane, superblock).index()]
    }

    fn is_good(&self, plane: PlaneId, superblock: u32) -> bool {
        !self.bad[self.array.block(plane, self.number(plane, superblock)).index()]
    }

    fn planes(&self) -> impl Iterator<Item = PlaneId> + use<> {
        (0..self.array.all_planes()).map(PlaneId::new)
    }

    /// Whether no block of a superblock is bad.
    pub(super) fn is_whole(&self, superblock: u32) -> bool {
        self.planes().all(|plane| self.is_good(plane, superblock))
    }

    /// Makes one superblock of good blocks of the retired ones, where each plane has such a block.
    /// Returns which it is. Among equals those of the superblock with the lowest number are taken.
    pub(super) fn assemble(&mut self, retired: &[bool]) -> Option<u32> {
        let first_good = |plane| {
            let mut all = 0..self.array.blocks_per_plane;
            all.find(|at| retired[*at as usize] && self.is_good(plane, *at))
        };
        let found: Vec<u32> = self.planes().map(first_good).collect::<Option<_>>()?;
        let whole = found[0];
        for (plane, other) in self.planes().zip(found) {
            if !self.is_good(plane, whole) {
                self.exchange(plane, [whole, other]);
            }
        }
        Some(whole)
    }

    /// Two superblocks exchange their blocks of a plane.
    fn exchange(&mut self, plane: PlaneId, superblocks: [u32; 2]) {
        let [one, other] = superblocks.map(|home| self.array.block(plane, home).index());
        self.numbers.swap(one, other);
        for home in superblocks {
            let number = self.number(plane, home);
            self.homes[self.array.block(plane, number).index()] = home;
        }
    }
}

/// Which blocks are bad from the start, so many of each plane: every choice of as many has the same
/// chance.
pub(super) fn factory_bad(blocks: u32, planes: u32, count: u32) -> Vec<bool> {
    let mut bad = vec![false; blocks as usize * planes as usize];
    if count == 0 {
        return bad;
    }
    let mut seed = 0xBAD_B10C_u64;
    for plane in bad.chunks_mut(blocks as usize) {
        let mut missing = u64::from(count);
        for (left, bad) in (1..=u64::from(blocks)).rev().zip(plane) {
            seed = seed.wrapping_add(0x9E37_79B9_7F4A_7C15);
            *bad = mix(seed) % left < missing;
            missing -= u64::from(*bad);
        }
    }
    bad
}
