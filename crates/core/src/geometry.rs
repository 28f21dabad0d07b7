//! The shape of the flash array and every conversion between identifiers.
//!
//! LPN and PPN count mapping units; a page holds `units_per_page` of them. Dies are numbered
//! channel first: die `d` sits on channel `d mod channels`. Planes of a die follow one another, and
//! so do the blocks of a plane. Static striping spreads runs of `stripe_units` logical units over
//! the planes in one of the 24 orders of channel, way, die and plane.

use crate::command::Op;
use crate::units::{BlockId, ChannelId, DieId, Lpn, PlaneId, Ppn};

/// An axis of the array.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Axis {
    /// Channels of the device.
    Channel,
    /// Chips (ways) behind a channel.
    Way,
    /// Dies of a chip.
    Die,
    /// Planes of a die.
    Plane,
}

macro_rules! orders {
    ($($variant:ident $word:literal $a:ident $b:ident $c:ident $d:ident,)+) => {
        crate::choice! {
            /// The order in which static striping changes the axes, the fastest first.
            pub enum StripeOrder {
                $(#[doc = concat!("First ", stringify!($a), ", then ", stringify!($b), ", ",
                    stringify!($c), " and ", stringify!($d), ".")] $variant = $word,)+
            }
        }

        impl StripeOrder {
            /// The axes, the one that changes fastest first.
            #[inline]
            pub const fn axes(self) -> [Axis; 4] {
                match self { $(Self::$variant => [Axis::$a, Axis::$b, Axis::$c, Axis::$d],)+ }
            }
        }
    };
}

orders! {
    Cwdp "cwdp" Channel Way Die Plane,
    Cwpd "cwpd" Channel Way Plane Die,
    Cdwp "cdwp" Channel Die Way Plane,
    Cdpw "cdpw" Channel Die Plane Way,
    Cpwd "cpwd" Channel Plane Way Die,
    Cpdw "cpdw" Channel Plane Die Way,
    Wcdp "wcdp" Way Channel Die Plane,
    Wcpd "wcpd" Way Channel Plane Die,
    Wdcp "wdcp" Way Die Channel Plane,
    Wdpc "wdpc" Way Die Plane Channel,
    Wpcd "wpcd" Way Plane Channel Die,
    Wpdc "wpdc" Way Plane Die Channel,
    Dcwp "dcwp" Die Channel Way Plane,
    Dcpw "dcpw" Die Channel Plane Way,
    Dwcp "dwcp" Die Way Channel Plane,
    Dwpc "dwpc" Die Way Plane Channel,
    Dpcw "dpcw" Die Plane Channel Way,
    Dpwc "dpwc" Die Plane Way Channel,
    Pcwd "pcwd" Plane Channel Way Die,
    Pcdw "pcdw" Plane Channel Die Way,
    Pwcd "pwcd" Plane Way Channel Die,
    Pwdc "pwdc" Plane Way Die Channel,
    Pdcw "pdcw" Plane Die Channel Way,
    Pdwc "pdwc" Plane Die Way Channel,
}

/// Sizes of the flash array. Every field is at least 1, `program_pages` divides `pages_per_block`,
/// `units_per_page` sectors divide a page, and all units together fit 32 bits; the simulator's
/// settings check that before one is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Geometry {
    /// Channels of the device.
    pub channels: u32,
    /// Chips behind each channel.
    pub ways: u32,
    /// Dies of each chip.
    pub dies_per_way: u32,
    /// Planes of each die.
    pub planes: u32,
    /// Erase blocks of a plane.
    pub blocks_per_plane: u32,
    /// Pages of an erase block.
    pub pages_per_block: u32,
    /// Data bytes of a page.
    pub page_bytes: u32,
    /// Mapping units of a page.
    pub units_per_page: u32,
    /// Pages of a plane that one operation programs: those of a word line where programming is
    /// one-shot, else 1.
    pub program_pages: u32,
    /// Planes of the chips that each plane here joins: 1, or all planes of a die, which are then
    /// written as one. Consecutive pages of a block lie on one after the other.
    pub joined: u32,
    /// Pages of a plane that static striping fills with consecutive units before the next plane's.
    pub stripe_pages: u32,
    /// How static striping spreads logical units.
    pub order: StripeOrder,
}

impl Geometry {
    /// Dies of the device.
    #[inline]
    pub const fn dies(&self) -> u32 {
        self.channels * self.ways * self.dies_per_way
    }

    /// Planes of the device.
    #[inline]
    pub const fn all_planes(&self) -> u32 {
        self.dies() * self.planes
    }

    /// The shape in which the blocks of one number of all planes, a superblock, are one block.
    #[must_use]
    pub const fn united(&self) -> Self {
        Self {
            channels: 1,
            ways: 1,
            dies_per_way: 1,
            planes: 1,
            pages_per_block: self.pages_per_block * self.all_planes(),
            ..*self
        }
    }

    /// Erase blocks of the device.
    #[inline]
    pub const fn blocks(&self) -> u32 {
        self.all_planes() * self.blocks_per_plane
    }

    /// Mapping units of a block.
    #[inline]
    pub const fn units_per_block(&self) -> u32 {
        self.pages_per_block * self.units_per_page
    }

    /// Consecutive mapping units that static striping keeps on a plane.
    #[inline]
    pub const fn stripe_units(&self) -> u32 {
        self.stripe_pages * self.units_per_page
    }

    /// Mapping units of a plane that one operation programs.
    #[inline]
    pub const fn program_units(&self) -> u32 {
        self.program_pages * self.units_per_page
    }

    /// Mapping units of the device; may exceed what a [`Ppn`] counts until it has been checked.
    #[inline]
    pub const fn units(&self) -> u64 {
        self.channels as u64
            * self.ways as u64
            * self.dies_per_way as u64
            * self.planes as u64
            * self.blocks_per_plane as u64
            * self.pages_per_block as u64
            * self.units_per_page as u64
    }

    /// Bytes of a mapping unit.
    #[inline]
    pub const fn unit_bytes(&self) -> u32 {
        self.page_bytes / self.units_per_page
    }

    /// Sectors of a mapping unit.
    #[inline]
    pub const fn unit_sectors(&self) -> u32 {
        self.unit_bytes() / crate::request::SECTOR_BYTES
    }

    /// The plane that static striping gives to a logical unit.
    #[inline]
    pub const fn plane_of_lpn(&self, lpn: Lpn) -> PlaneId {
        self.plane_of_stripe(lpn.get() / self.stripe_units())
    }

    /// The plane of the run of logical units with this number.
    #[inline]
    pub const fn plane_of_stripe(&self, stripe: u32) -> PlaneId {
        let axes = self.order.axes();
        let mut rest = stripe;
        let mut plane = 0;
        let mut at = 0;
        while at < axes.len() {
            let (size, step) = match axes[at] {
                Axis::Channel => (self.channels, self.planes),
                Axis::Way => (self.ways, self.planes * self.channels),
                Axis::Die => (self.dies_per_way, self.planes * self.channels * self.ways),
                Axis::Plane => (self.planes, 1),
            };
            if size > 1 {
                plane += rest % size * step;
                rest /= size;
            }
            at += 1;
        }
        PlaneId::new(plane)
    }

    /// The die that static striping gives to a logical unit.
    #[inline]
    pub const fn die_of_lpn(&self, lpn: Lpn) -> DieId {
        self.die_of_plane(self.plane_of_lpn(lpn))
    }

    /// The channel that a die is connected to.
    #[inline]
    pub const fn channel_of(&self, die: DieId) -> ChannelId {
        ChannelId::new(die.get() % self.channels)
    }

    /// The die that a plane belongs to.
    #[inline]
    pub const fn die_of_plane(&self, plane: PlaneId) -> DieId {
        // Most devices are simulated with one plane; a division costs more than the question.
        if self.planes == 1 {
            DieId::new(plane.get())
        } else {
            DieId::new(plane.get() / self.planes)
        }
    }

    /// The first plane of a die; the die's others follow it.
    #[inline]
    pub const fn first_plane(&self, die: DieId) -> PlaneId {
        PlaneId::new(die.get() * self.planes)
    }

    /// The plane that a block belongs to.
    #[inline]
    pub const fn plane_of_block(&self, block: BlockId) -> PlaneId {
        PlaneId::new(block.get() / self.blocks_per_plane)
    }

    /// The plane that a physical unit belongs to.
    #[inline]
    pub const fn plane_of(&self, ppn: Ppn) -> PlaneId {
        self.plane_of_block(self.block_of(ppn))
    }

    /// The die that a physical unit belongs to.
    #[inline]
    pub const fn die_of(&self, ppn: Ppn) -> DieId {
        self.die_of_plane(self.plane_of(ppn))
    }

    /// The first block of a plane; the plane's others follow it.
    #[inline]
    pub const fn first_block(&self, plane: PlaneId) -> BlockId {
        BlockId::new(plane.get() * self.blocks_per_plane)
    }

    /// The block of a plane with this number, counted inside the plane from 0.
    #[inline]
    pub const fn block(&self, plane: PlaneId, number: u32) -> BlockId {
        BlockId::new(self.first_block(plane).get() + number)
    }

    /// The block that a physical unit belongs to.
    #[inline]
    pub const fn block_of(&self, ppn: Ppn) -> BlockId {
        BlockId::new(ppn.get() / self.units_per_block())
    }

    /// A unit of a block, counted from its start.
    #[inline]
    pub const fn unit_of(&self, block: BlockId, unit: u32) -> Ppn {
        Ppn::new(block.get() * self.units_per_block() + unit)
    }

    /// The place of a physical unit inside its block.
    #[inline]
    pub const fn unit_in_block(&self, ppn: Ppn) -> u32 {
        ppn.get() % self.units_per_block()
    }

    /// The page of a physical unit inside its block.
    #[inline]
    pub const fn page_in_block(&self, ppn: Ppn) -> u32 {
        self.unit_in_block(ppn) / self.units_per_page
    }

    /// Joined planes that an operation of a page or block covers: a read covers one.
    #[inline]
    pub const fn planes_of(&self, op: Op) -> u32 {
        if matches!(op, Op::Read) { 1 } else { self.joined }
    }

    /// Which of the joined planes a physical unit lies on, and the page of its block there.
    #[inline]
    pub const fn joined_page(&self, ppn: Ppn) -> (u32, u32) {
        let page = self.page_in_block(ppn);
        // A division costs more than the question.
        if self.joined == 1 { (0, page) } else { (page % self.joined, page / self.joined) }
    }

    /// The same of a logical unit that was never written: as if all units had been written in
    /// order. Its page is counted through the blocks of its plane.
    #[inline]
    pub const fn joined_page_of_lpn(&self, lpn: Lpn) -> (u32, u32) {
        let (stripe, unit) = (lpn.get() / self.stripe_units(), lpn.get() % self.stripe_units());
        let page = stripe / self.all_planes() * self.stripe_pages + unit / self.units_per_page;
        (page % self.joined, page / self.joined)
    }

    /// The first logical unit of a page that was never written, of the plane on which `lpn` lies;
    /// its page is counted in the same way, whichever of the joined planes it is of.
    #[inline]
    pub const fn lpn_of_page(&self, lpn: Lpn, page: u32) -> Lpn {
        let planes = self.all_planes();
        let stripe = page / self.stripe_pages * planes + lpn.get() / self.stripe_units() % planes;
        Lpn::new(stripe * self.stripe_units() + page % self.stripe_pages * self.units_per_page)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHAPE: Geometry = Geometry {
        channels: 2,
        ways: 3,
        dies_per_way: 2,
        planes: 4,
        blocks_per_plane: 5,
        pages_per_block: 7,
        page_bytes: 16_384,
        units_per_page: 4,
        program_pages: 1,
        joined: 1,
        stripe_pages: 1,
        order: StripeOrder::Cwdp,
    };

    /// Runs of three pages go round the planes of all dies.
    #[test]
    fn stripes_of_several_pages_go_round_the_planes() {
        let shape = Geometry { stripe_pages: 3, ..SHAPE };
        for lpn in 0..2_000 {
            let plane = shape.plane_of_stripe(lpn / 12);
            assert_eq!(shape.plane_of_lpn(Lpn::new(lpn)), plane, "{lpn}");
            assert_eq!(plane, SHAPE.plane_of_lpn(Lpn::new(lpn / 12 * 4)), "{lpn}");
        }
    }

    /// Units that were never written lie where writing all of them in order would put them.
    #[test]
    fn joined_planes_of_units_that_were_never_written() {
        let shape = Geometry { stripe_pages: 3, joined: 2, ..SHAPE };
        let mut written = [0; 2 * 3 * 2 * 4];
        for lpn in (0..2_000).map(Lpn::new) {
            let units = &mut written[shape.plane_of_lpn(lpn).index()];
            let page = *units / shape.units_per_page;
            assert_eq!(shape.joined_page_of_lpn(lpn), (page % 2, page / 2), "{lpn:?}");
            if *units % shape.units_per_page == 0 {
                assert_eq!(shape.lpn_of_page(lpn, page), lpn);
            }
            *units += 1;
        }
    }

    #[test]
    fn identifiers_convert_both_ways() {
        assert_eq!(SHAPE.units(), 2 * 3 * 2 * 4 * 5 * 7 * 4);
        for ppn in 0..u32::try_from(SHAPE.units()).unwrap() {
            let ppn = Ppn::new(ppn);
            let block = SHAPE.block_of(ppn);
            assert_eq!(SHAPE.unit_of(block, SHAPE.unit_in_block(ppn)), ppn);
            assert_eq!(SHAPE.page_in_block(ppn), ppn.get() / 4 % 7);
            let plane = SHAPE.plane_of_block(block);
            assert!(block >= SHAPE.first_block(plane));
            assert!(block.get() < SHAPE.first_block(plane).get() + 5);
            let die = SHAPE.die_of(ppn);
            assert!(plane >= SHAPE.first_plane(die));
            assert!(plane.get() < SHAPE.first_plane(die).get() + 4);
        }
        assert_eq!(SHAPE.channel_of(DieId::new(3)), ChannelId::new(1));
        assert_eq!((SHAPE.unit_bytes(), SHAPE.unit_sectors()), (4_096, 8));
    }

    #[test]
    fn pages_of_a_joined_block_lie_on_one_plane_after_the_other() {
        let shape = Geometry { planes: 1, pages_per_block: 8, joined: 4, ..SHAPE };
        let found = [0, 3, 4, 8, 16, 31].map(|unit| shape.joined_page(Ppn::new(unit)));
        assert_eq!(found, [(0, 0), (0, 0), (1, 0), (2, 0), (0, 1), (3, 1)]);
        assert_eq!(SHAPE.joined_page(Ppn::new(27)), (0, 6));
    }

    /// Every order visits every plane once a round, and its first axis changes with each stripe.
    #[test]
    fn static_striping_is_a_permutation_in_every_order() {
        assert_eq!(StripeOrder::ALL.len(), 24);
        for &order in StripeOrder::ALL {
            let geometry = Geometry { order, ..SHAPE };
            let mut seen = [false; 48];
            for stripe in 0..48 {
                let plane = geometry.plane_of_stripe(stripe);
                assert!(!std::mem::replace(&mut seen[plane.index()], true), "{order:?} {stripe}");
                assert_eq!(geometry.plane_of_stripe(stripe + 48), plane);
                assert_eq!(geometry.plane_of_lpn(Lpn::new(4 * stripe + 3)), plane);
            }
            let step = geometry.plane_of_stripe(1).get() - geometry.plane_of_stripe(0).get();
            let expected = match order.axes()[0] {
                Axis::Channel => 4,
                Axis::Way => 8,
                Axis::Die => 24,
                Axis::Plane => 1,
            };
            assert_eq!(step, expected, "{order:?}");
        }
    }
}
