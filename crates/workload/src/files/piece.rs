//! Pieces of files on the device: blocks in a row.

use flashyard_core::request::RequestOp;

/// Sectors of a block of 4 KiB, and KiB.
pub(super) const BLOCK_SECTORS: u32 = 8;
pub(super) const BLOCK_KIB: u64 = 4;

/// Blocks in a row that are read or written, or a flush of none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Piece {
    pub(super) op: RequestOp,
    pub(super) first: u32,
    pub(super) blocks: u32,
}

/// Blocks in a row: the first, and how many.
pub(super) type Extent = (u32, u32);

impl Piece {
    pub(super) const FLUSH: Self = Self { op: RequestOp::Flush, first: 0, blocks: 0 };

    pub(super) const fn write(block: u32) -> Self {
        Self { op: RequestOp::Write, first: block, blocks: 1 }
    }

    pub(super) const fn read((first, blocks): Extent) -> Self {
        Self { op: RequestOp::Read, first, blocks }
    }

    /// Adds the piece to a list. If it begins where the last piece ends, it extends that piece.
    pub(super) fn add_to(self, out: &mut Vec<Self>) {
        match out.last_mut() {
            Some(last)
                if last.op == self.op
                    && self.op != RequestOp::Flush
                    && last.first + last.blocks == self.first =>
            {
                last.blocks += self.blocks;
            }
            _ => out.push(self),
        }
    }
}

/// The runs of a list of blocks.
pub(super) fn extents_of(blocks: &[u32]) -> impl Iterator<Item = Extent> {
    blocks.chunk_by(|before, next| before.wrapping_add(1) == *next).map(|run| {
        let length = u32::try_from(run.len()).expect("blocks are counted in 32 bits");
        (run[0], length)
    })
}
