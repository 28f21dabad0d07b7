//! The shape of the flash array and every conversion between identifiers.
//!
//! LPN and PPN count mapping units; a mapping unit is a page. Dies are numbered channel first:
//! die `d` sits on channel `d mod channels`. Data is striped statically, LPN `l` on die
//! `l mod dies`, which fills channels before ways.

use crate::units::{BlockId, ChannelId, DieId, Lpn, Ppn};

/// Sizes of the flash array. Every field is at least 1 and all pages together fit 32 bits; the
/// simulator's settings check that before one is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Geometry {
    /// Channels of the device.
    pub channels: u32,
    /// Dies (ways) behind each channel.
    pub ways: u32,
    /// Erase blocks of a die.
    pub blocks_per_die: u32,
    /// Pages of an erase block.
    pub pages_per_block: u32,
    /// Data bytes of a page; a multiple of the sector.
    pub page_bytes: u32,
}

impl Geometry {
    /// Dies of the device.
    pub const fn dies(&self) -> u32 {
        self.channels * self.ways
    }

    /// Erase blocks of the device.
    pub const fn blocks(&self) -> u32 {
        self.dies() * self.blocks_per_die
    }

    /// Pages of the device; may exceed what a [`Ppn`] counts until it has been checked.
    pub const fn pages(&self) -> u64 {
        self.channels as u64
            * self.ways as u64
            * self.blocks_per_die as u64
            * self.pages_per_block as u64
    }

    /// Sectors of a mapping unit.
    pub const fn unit_sectors(&self) -> u32 {
        self.page_bytes / crate::request::SECTOR_BYTES
    }

    /// The die that the static striping gives to a logical page.
    pub const fn die_of_lpn(&self, lpn: Lpn) -> DieId {
        DieId::new(lpn.get() % self.dies())
    }

    /// The channel that a die is connected to.
    pub const fn channel_of(&self, die: DieId) -> ChannelId {
        ChannelId::new(die.get() % self.channels)
    }

    /// The die that a block belongs to.
    pub const fn die_of_block(&self, block: BlockId) -> DieId {
        DieId::new(block.get() / self.blocks_per_die)
    }

    /// The first block of a die; the die's others follow it.
    pub const fn first_block(&self, die: DieId) -> BlockId {
        BlockId::new(die.get() * self.blocks_per_die)
    }

    /// The block that a physical page belongs to.
    pub const fn block_of(&self, ppn: Ppn) -> BlockId {
        BlockId::new(ppn.get() / self.pages_per_block)
    }

    /// A page of a block, counted from its start.
    pub const fn page_of(&self, block: BlockId, page: u32) -> Ppn {
        Ppn::new(block.get() * self.pages_per_block + page)
    }

    /// The place of a physical page inside its block.
    pub const fn page_in_block(&self, ppn: Ppn) -> u32 {
        ppn.get() % self.pages_per_block
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identifiers_convert_both_ways() {
        let geometry = Geometry {
            channels: 2,
            ways: 3,
            blocks_per_die: 5,
            pages_per_block: 7,
            page_bytes: 4096,
        };
        assert_eq!(geometry.pages(), 210);
        for ppn in 0..210 {
            let ppn = Ppn::new(ppn);
            let block = geometry.block_of(ppn);
            assert_eq!(geometry.page_of(block, geometry.page_in_block(ppn)), ppn);
            let die = geometry.die_of_block(block);
            assert!(block >= geometry.first_block(die));
            assert!(block.get() < geometry.first_block(die).get() + 5);
        }
        assert_eq!(geometry.die_of_lpn(Lpn::new(7)), DieId::new(1));
        assert_eq!(geometry.channel_of(DieId::new(3)), ChannelId::new(1));
    }
}
