//! The flash array and its channels: their sections and keys.

use super::onfi::OnfiInterface;
pub use crate::parts::layer::ProgramOrder;
use flashyard_core::bus::policy::BusPolicyName;
use flashyard_core::key::Kind;
use flashyard_core::quantity::Ppm;
use flashyard_core::units::Span;
use flashyard_core::{choice, keys};

keys! {
    /// Keys of `[geometry]`.
    pub struct GeometryKeys {
        /// Channels of the device.
        channels: u64 = 1 => {
            kind: Kind::count("channels", 1, 1_024),
            source: "Lee et al., IEEE Access 2021: one channel",
            flip: "2", with: &[],
        },
        /// Chips (ways) behind each channel.
        ways: u64 = 1 => {
            kind: Kind::count("chips", 1, 1_024),
            source: "Lee et al., IEEE Access 2021: one way",
            flip: "2", with: &[],
        },
        /// Dies of each chip.
        dies_per_way: u64 = 1 => {
            kind: Kind::count("dies", 1, 64),
            source: "Lee et al., IEEE Access 2021: one die",
            flip: "2", with: &[],
        },
        /// Planes of each die: each has its own blocks and page register.
        planes: u64 = 1 => {
            kind: Kind::count("planes", 1, 16),
            source: "Lee et al., IEEE Access 2021: none mentioned",
            flip: "2", with: &["nand.multi_plane=any"],
        },
        /// Erase blocks of a plane.
        blocks_per_plane: u64 = 70_400 => {
            kind: Kind::count("blocks", 1, u32::MAX as u64),
            source: "assumed: 32 GiB exported at 7 % over-provisioning, the size of the phone's eMMC (Zhou et al., IISWC 2015)",
            flip: "80", with: &["@full"],
        },
        /// Pages of an erase block.
        pages_per_block: u64 = 128 => {
            kind: Kind::count("pages", 1, 65_536),
            source: "assumed",
            flip: "16", with: &["@full"],
        },
        /// Data bytes of a page.
        page_bytes: u64 = 4_096 => {
            kind: Kind::count("bytes", 512, 1_048_576),
            source: "Lee et al., IEEE Access 2021: 4 kB",
            flip: "8192", with: &[],
        },
    }
}

choice! {
    /// What reading a page that was never written costs.
    pub enum UnmappedRead {
        /// An array read, as on a device that was written once.
        Array = "array",
        /// Nothing. The answer is zeros.
        Zero = "zero",
    }
}

choice! {
    /// Which planes of a die one operation may cover.
    pub enum MultiPlane {
        /// One plane at a time.
        None = "none",
        /// Several planes, at the same page of their blocks.
        SamePage = "same_page",
        /// Several planes, at any pages.
        Any = "any",
    }
}

keys! {
    /// Keys of `[nand]`. A block's pages are of `bits_per_cell` types that take turns.
    pub struct NandKeys {
        /// Bits of a cell (1 SLC, 2 MLC, 3 TLC, 4 QLC). A block has as many page types.
        bits_per_cell: u64 = 1 => {
            kind: Kind::count("bits", 1, 4),
            source: "assumed: one page type, as Lee et al., IEEE Access 2021, time their device",
            flip: "2", with: &["nand.read_2_us=90"],
        },
        /// Whether all pages of a word line are programmed by one operation.
        one_shot: bool = false => {
            kind: Kind::Bool,
            source: "assumed; usual for TLC and QLC of three dimensions",
            flip: "true", with: &["nand.bits_per_cell=2"],
        },
        /// tR: time to sense a page of the first type.
        read_us: Span = Span::from_us(60) => {
            kind: Kind::micros(1, 4_000_000_000),
            source: "Lee et al., IEEE Access 2021: 60 us",
            flip: "61", with: &[],
        },
        /// tR of pages of the second type; 0: as the first.
        read_2_us: Span = Span::ZERO => {
            kind: Kind::micros(0, 4_000_000_000),
            source: "assumed: as the first",
            flip: "90", with: &["nand.bits_per_cell=2"],
        },
        /// tR of pages of the third type; 0: as the first.
        read_3_us: Span = Span::ZERO => {
            kind: Kind::micros(0, 4_000_000_000),
            source: "assumed: as the first",
            flip: "90", with: &["geometry.pages_per_block=126", "nand.bits_per_cell=3"],
        },
        /// tR of pages of the fourth type; 0: as the first.
        read_4_us: Span = Span::ZERO => {
            kind: Kind::micros(0, 4_000_000_000),
            source: "assumed: as the first",
            flip: "90", with: &["nand.bits_per_cell=4"],
        },
        /// Time to sense a part of a page: a page of which an operation needs at most
        /// `read_part_bytes`. It is that of the first type; a part of a page of another type takes
        /// as much less than its tR, in proportion. 0: as a whole page.
        read_part_us: Span = Span::ZERO => {
            kind: Kind::micros(0, 4_000_000_000),
            source: "assumed: as a whole page",
            flip: "30", with: &["geometry.page_bytes=16384", "ftl.mapping_unit_bytes=4096"],
        },
        /// Greatest number of bytes that `read_part_us` is for. The bytes that an operation needs
        /// are whole mapping units, of a host read the codewords that it asks for, of a map page
        /// `map.fetch_bytes`.
        read_part_bytes: u64 = 4_096 => {
            kind: Kind::count("bytes", 1, 1_048_576),
            source: "assumed: a mapping unit of drives",
            flip: "8192",
            with: &[
                "geometry.page_bytes=16384", "ftl.mapping_unit_bytes=4096", "nand.read_part_us=30",
            ],
        },
        /// Least time to sense pages of the first type on several planes at once, whatever is
        /// needed of them; of pages of another type as much more or less, in proportion to their
        /// tR. 0: as long as the slowest of the pages takes alone.
        multi_plane_read_us: Span = Span::ZERO => {
            kind: Kind::micros(0, 4_000_000_000),
            source: "assumed: as one page; ONFI 4.2 states no time of its own",
            flip: "90", with: &["nand.multi_plane=any", "geometry.planes=4"],
        },
        /// Share of the mapping units of host reads that a page register, a row or a cache holds
        /// already. A read of a page ends early if all units that are needed of it are held: of a
        /// share p and n units, p^n of the pages. The draw of a unit depends on the number of the
        /// request and its place there alone. The die takes the read, which waits as any other one.
        read_early_percent: Ppm = Ppm::ZERO => {
            kind: Kind::percent(0, 1_000_000),
            source: "assumed: nothing is held, every read senses its page",
            flip: "30", with: &[],
        },
        /// Time in the array of a read that ends early; the time of other reads, if that is
        /// shorter. Its page is not sensed again (`[retry]`).
        read_early_us: Span = Span::from_us(5) => {
            kind: Kind::micros(1, 4_000_000_000),
            source: "assumed",
            flip: "20", with: &["nand.read_early_percent=30"],
        },
        /// Seed of these draws.
        read_early_seed: u64 = 1 => {
            kind: Kind::count("seed", 0, 1 << 32),
            source: "assumed",
            flip: "2", with: &["nand.read_early_percent=30"],
        },
        /// Bytes of a codeword, the least that a read moves over the channel and that
        /// `read_part_us` is for: a host read moves the codewords of a unit that it asks for.
        /// Everything else moves whole mapping units, and so do host reads where
        /// `buffer.read_allocate` puts the unit into the write buffer. 0: a mapping unit.
        codeword_bytes: u64 = 0 => {
            kind: Kind::count("bytes", 0, 1_048_576),
            source: "assumed: a mapping unit",
            flip: "2048", with: &["geometry.page_bytes=16384", "channel.ps_per_byte=2500"],
        },
        /// tPROG: time to program a page of the first type, or a word line in one shot.
        program_us: Span = Span::from_us(700) => {
            kind: Kind::micros(1, 4_000_000_000),
            source: "Lee et al., IEEE Access 2021: 700 us",
            flip: "701", with: &[],
        },
        /// tPROG of pages of the second type; 0: as the first.
        program_2_us: Span = Span::ZERO => {
            kind: Kind::micros(0, 4_000_000_000),
            source: "assumed: as the first",
            flip: "900", with: &["nand.bits_per_cell=2"],
        },
        /// tPROG of pages of the third type; 0: as the first.
        program_3_us: Span = Span::ZERO => {
            kind: Kind::micros(0, 4_000_000_000),
            source: "assumed: as the first",
            flip: "900", with: &["geometry.pages_per_block=126", "nand.bits_per_cell=3"],
        },
        /// tPROG of pages of the fourth type; 0: as the first.
        program_4_us: Span = Span::ZERO => {
            kind: Kind::micros(0, 4_000_000_000),
            source: "assumed: as the first",
            flip: "900", with: &["nand.bits_per_cell=4"],
        },
        /// Greatest time to sense a page. Each operation takes the typical time and a random one,
        /// which is exponentially distributed with a mean of a tenth of the difference, but ends at
        /// this. 0: every operation takes the typical time.
        read_max_us: Span = Span::ZERO => {
            kind: Kind::micros(0, 4_000_000_000),
            source: "assumed: constant times",
            flip: "110", with: &[],
        },
        /// Greatest time to program a page, in the same way.
        program_max_us: Span = Span::ZERO => {
            kind: Kind::micros(0, 4_000_000_000),
            source: "assumed: constant times",
            flip: "5000", with: &[],
        },
        /// Greatest time to erase a block, in the same way.
        erase_max_us: Span = Span::ZERO => {
            kind: Kind::micros(0, 4_000_000_000),
            source: "assumed: constant times",
            flip: "10000", with: &["@full"],
        },
        /// Largest excess of an array time over the typical one. Each operation takes typical x (1
        /// + this share x r^4), with r drawn uniformly from 0 to 1.
        spread_percent: Ppm = Ppm::ZERO => {
            kind: Kind::percent(0, 100_000_000),
            source: "assumed: a bounded tail above the typical time",
            flip: "10", with: &[],
        },
        /// Raw bit errors in 10^9 bits that host reads take from flash, each bit for itself. They
        /// are counted (`flash.bit_errors`), and `--check` finds them in the data. They cost no
        /// time: which pages are sensed again is drawn apart from them (`[retry]`). 0: none.
        bit_errors_ppb: u64 = 0 => {
            kind: Kind::count("errors", 0, 10_000_000),
            source: "assumed: none; Schroeder et al., FAST 2016: medians of 10 to 10,000",
            flip: "10000", with: &["@full"],
        },
        /// Which planes of a die one operation may cover.
        multi_plane: MultiPlane = MultiPlane::None => {
            kind: Kind::Choice(MultiPlane::WORDS),
            source: "ONFI 4.2: optional",
            flip: "any", with: &["geometry.planes=2"],
        },
        /// Whether the array may sense the next page while a page leaves the register.
        cache_read: bool = false => {
            kind: Kind::Bool,
            source: "ONFI 4.2: optional (read cache)",
            flip: "true", with: &["channel.ps_per_byte=25000"],
        },
        /// How often one program may be suspended for reads; 0: never.
        program_suspends: u64 = 0 => {
            kind: Kind::count("times", 0, 1_000),
            source: "assumed: none",
            flip: "4", with: &["policy.command=rcf"],
        },
        /// How often one erase may be suspended for reads; 0: never.
        erase_suspends: u64 = 0 => {
            kind: Kind::count("times", 0, 1_000),
            source: "assumed: none",
            flip: "4", with: &["@full", "policy.command=rcf"],
        },
        /// Time from the decision to suspend an operation until its array is free.
        suspend_us: Span = Span::from_us(20) => {
            kind: Kind::micros(0, 4_000_000_000),
            source: "assumed",
            flip: "30", with: &["nand.program_suspends=4", "policy.command=rcf"],
        },
        /// Programs and erases are series of pulses of this time, and are suspended between two of
        /// them. Pulses are counted back from the end of the operation. 0: at any time.
        pulse_us: Span = Span::ZERO => {
            kind: Kind::micros(0, 4_000_000_000),
            source: "Wu and He, FAST 2012, suspend between phases of a program; assumed: at any time",
            flip: "50", with: &["nand.program_suspends=4", "policy.command=rcf"],
        },
        /// Time that resuming adds to the remaining time of a suspended operation.
        resume_us: Span = Span::from_us(20) => {
            kind: Kind::micros(0, 4_000_000_000),
            source: "assumed",
            flip: "30", with: &["nand.program_suspends=4", "policy.command=rcf"],
        },
        /// tBERS: time to erase a block.
        erase_us: Span = Span::from_ms(5) => {
            kind: Kind::micros(1, 4_000_000_000),
            source: "assumed: the paper models no erase; 5 ms is common for MLC",
            flip: "5001", with: &["@full"],
        },
        /// What a read of a never-written page costs.
        unmapped_read: UnmappedRead = UnmappedRead::Array => {
            kind: Kind::Choice(UnmappedRead::WORDS),
            source: "Lee et al., IEEE Access 2021, is silent; its device behaves as one written before",
            flip: "zero", with: &[],
        },
        /// Order in which the pages of a block may be programmed. Schemes that leave pages out
        /// (`ftl.scheme` "block", "bast", "fast" and "last") refuse "sequential".
        program_order: ProgramOrder = ProgramOrder::Sequential => {
            kind: Kind::Choice(ProgramOrder::WORDS),
            source: "ONFI 4.2: in order; Park et al. 2011 simulate 2 kB pages of SLC, which may be programmed in any",
            flip: "ascending", with: &["@log"],
        },
        /// Share of the blocks of each plane that are bad from the start, rounded up to whole
        /// blocks.
        factory_bad_percent: Ppm = Ppm::ZERO => {
            kind: Kind::percent(0, 500_000),
            source: "assumed: none; data sheets allow about 2 % over the life of a device",
            flip: "5", with: &["@full"],
        },
        /// Erases that the flash is rated for: the figures of endurance use them where no
        /// `endurance_cycles` are set. No event depends on them. 0: not known.
        rated_cycles: u64 = 0 => {
            kind: Kind::count("erases", 0, 1 << 30),
            source: "assumed: not known; HP, Differences between SLC, MLC and TLC NAND: 100,000 for SLC, 3,000 for MLC, 1,000 to 3,000 for TLC",
            flip: "3000", with: &["@full"],
        },
        /// Number of erases after which a block is worn out. The limit of each block differs from
        /// this by up to a tenth. 0: blocks do not wear out.
        endurance_cycles: u64 = 0 => {
            kind: Kind::count("erases", 0, 1 << 30),
            source: "assumed: runs are short beside the life of a device",
            flip: "20", with: &["@full"],
        },
    }
}

impl NandKeys {
    /// Time to sense a part of a page whose tR is this; 0 where parts take no other time.
    pub(crate) const fn part_of(&self, whole: Span) -> Span {
        // Both are below 2^32.
        Span::from_ns((self.read_part_us.as_ns() * whole.as_ns()).div_ceil(self.read_us.as_ns()))
    }

    /// Least time to sense a page whose tR is this beside pages of other planes.
    pub(crate) const fn beside_of(&self, alone: Span) -> Span {
        // Both are below 2^32.
        let (first, beside) = (self.read_us.as_ns(), self.multi_plane_read_us.as_ns());
        Span::from_ns((beside * alone.as_ns()).div_ceil(first))
    }

    /// The shortest time of a page that is sensed in this one, if some reads end early.
    pub(crate) fn shortened(&self, typical: Span) -> Span {
        if self.read_early_percent.is_zero() { typical } else { typical.min(self.read_early_us) }
    }

    /// Erases that a block bears or, where blocks do not wear out, is rated for; 0: not known.
    pub(crate) const fn cycles(&self) -> u64 {
        if self.endurance_cycles > 0 { self.endurance_cycles } else { self.rated_cycles }
    }

    /// Whether array times have a random tail.
    pub const fn has_random_times(&self) -> bool {
        let [read, program, erase] = [self.read_max_us, self.program_max_us, self.erase_max_us];
        self.spread_percent.ppm() > 0 || !(read.is_zero() && program.is_zero() && erase.is_zero())
    }
}

keys! {
    /// Keys of `[channel]`.
    pub struct ChannelKeys {
        /// Named interface of the channel. It sets `ps_per_byte` and `command_ns` where they are 0.
        interface: OnfiInterface = OnfiInterface::None => {
            kind: Kind::Choice(OnfiInterface::WORDS),
            source: "ONFI 4.2 and 5.0, timing modes: docs/DEVICES.md; assumed: Lee et al., IEEE Access 2021, state none",
            flip: "nv-ddr2-333", with: &[],
        },
        /// Transfer time of a byte. The time of a page is rounded up to a nanosecond. 0: as
        /// `interface`.
        ps_per_byte: u64 = 0 => {
            kind: Kind::count("ps", 0, 1_000_000_000),
            source: "assumed: Lee et al., IEEE Access 2021, state none",
            flip: "2500", with: &[],
        },
        /// Time of the command and the address of an operation on the channel. 0: as `interface`.
        command_ns: u64 = 0 => {
            kind: Kind::count("ns", 0, 1_000_000),
            source: "assumed: Lee et al., IEEE Access 2021, state none",
            flip: "300", with: &[],
        },
        /// The bus policy: what a channel carries next. With `bus.precision = "phases"` the command
        /// and the data of a program count as data, and there is `commands_first` or `in_order`.
        arbitration: BusPolicyName = BusPolicyName::CommandsFirst => {
            kind: Kind::Choice(BusPolicyName::WORDS),
            source: "assumed; shortest first keeps arrays busy",
            flip: "in_order",
            with: &["geometry.ways=4", "channel.command_ns=300", "channel.ps_per_byte=25000"],
        },
    }
}
