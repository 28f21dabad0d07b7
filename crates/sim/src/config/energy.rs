//! The section `[energy]`: what operations, the channel, the controller and its memory take, the
//! published parts by name, and the power budget.

use super::{DeviceKeys, Settings};
use crate::metrics::counters::Phase;
use crate::metrics::exact::MIB_BITS;
use crate::parts::memory::Footprint;
use flashyard_core::command::Op;
use flashyard_core::key::Kind;
use flashyard_core::units::Span;
use flashyard_core::{choice, keys};

choice! {
    /// Flash parts with published energies: docs/DEVICES.md lists their numbers.
    pub enum EnergyPart {
        /// No part: the other keys decide.
        None = "none",
        /// The part of Park et al. 2011, Table 1: 2 KiB pages, 64 pages a block.
        Park2011 = "park2011",
        /// NAND01G-B2B at 3 V: 2 KiB pages, 64 pages a block.
        Nand01g3v = "nand01g-3v",
        /// NAND01G-B2B at 1.8 V.
        Nand01g1v8 = "nand01g-1v8",
    }
}

impl EnergyPart {
    /// Picojoules of a page read, a page programmed, a block erased. Park et al. 2011 state
    /// energies. The data sheet of NAND01G-B2B (Numonyx, rev. 5, 2008) states currents: 10 mA at
    /// 3 V and 8 mA at 1.8 V (typical) for 25 us (maximum), 200 us and 2 ms (typical).
    const fn energy(self) -> [u64; 3] {
        match self {
            Self::None => [0; 3],
            Self::Park2011 => [4_720_000, 38_040_000, 527_680_000],
            Self::Nand01g3v => [750_000, 6_000_000, 60_000_000],
            Self::Nand01g1v8 => [360_000, 2_880_000, 28_800_000],
        }
    }
}

choice! {
    /// Kinds of DRAM beside the controller.
    pub enum DramKind {
        /// No memory takes energy, unless the other keys say so.
        None = "none",
        /// SDRAM: 300 mW a chip.
        Sdram = "sdram",
        /// Low-power SDRAM: 100 mW a chip.
        LowPower = "low_power",
    }
}

choice! {
    /// The unit by which the power of DRAM grows.
    pub enum DramScaling {
        /// Whole chips.
        Chips = "chips",
        /// Bytes, as if chips came in every size.
        Bytes = "bytes",
    }
}

choice! {
    /// The memory of the write buffer.
    pub enum BufferMemory {
        /// No memory takes energy, unless the other keys say so.
        None = "none",
        /// DRAM.
        Dram = "dram",
        /// Phase-change memory.
        Pram = "pram",
    }
}

/// Park et al. 2011: a few hundred mW for a chip of SDRAM, around a hundred for low power.
const SDRAM_MW: u64 = 300;
const LOW_POWER_MW: u64 = 100;
/// Park et al. 2011: some 30 mW more during an access; of 50 ns, assumed.
const DRAM_ACCESS_PJ: u64 = 30 * 50;

impl BufferMemory {
    /// Femtojoules of a byte read and written, array and row buffer, without the interface: Lee
    /// et al., ISCA 2009: DRAM 1.17 + 0.93 and 0.39 + 1.02 pJ a bit, PRAM 2.47 + 0.93 and
    /// 16.82 + 1.02.
    const fn fj_per_byte(self) -> (u64, u64) {
        match self {
            Self::None => (0, 0),
            Self::Dram => (16_800, 11_280),
            Self::Pram => (27_200, 142_720),
        }
    }

    /// Microwatts of a MiB that holds its contents. DRAM refreshes itself: IDD6 of 7 mA at 1.8 V
    /// for 1 Gb (data sheet of Micron MT47H, die revisions E, G, H). PRAM keeps them without: 80 uA
    /// (typical) at 3 V, of 2.7 to 3.6 V, for 128 Mb (data sheet of Numonyx Omneo P8P, 2010).
    const fn standby_uw_per_mib(self) -> u64 {
        match self {
            Self::None => 0,
            Self::Dram => 98,
            Self::Pram => 15,
        }
    }
}

keys! {
    /// Keys of `[energy]`. Energy is busy time x power, or operations x energy, in integer
    /// picojoules.
    pub struct EnergyKeys {
        /// Named flash part. It sets `read_pj`, `program_pj` and `erase_pj` where they are 0.
        part: EnergyPart = EnergyPart::None => {
            kind: Kind::Choice(EnergyPart::WORDS),
            source: "assumed: power x time; parts: docs/DEVICES.md",
            flip: "park2011", with: &[],
        },
        /// Power of a die that reads.
        read_mw: u64 = 36 => {
            kind: Kind::count("mW", 0, 1_000_000),
            source: "Park et al. 2011, Table 1: 4.72 uJ / 130.9 us, rounded",
            flip: "37", with: &[],
        },
        /// Power of a die that programs.
        program_mw: u64 = 94 => {
            kind: Kind::count("mW", 0, 1_000_000),
            source: "Park et al. 2011, Table 1: 38.04 uJ / 405.9 us, rounded",
            flip: "95", with: &[],
        },
        /// Power of a die that erases.
        erase_mw: u64 = 352 => {
            kind: Kind::count("mW", 0, 1_000_000),
            source: "Park et al. 2011, Table 1: 527.68 uJ / 1.5 ms, rounded",
            flip: "353", with: &["@full"],
        },
        /// Energy of reading a page, however long the read takes. 0: as `part`, or power x time.
        read_pj: u64 = 0 => {
            kind: Kind::count("pJ", 0, 1_000_000_000_000),
            source: "assumed: power x time",
            flip: "4720000", with: &[],
        },
        /// Energy of programming a page, however long the program takes. 0: as `part`, or power x
        /// time.
        program_pj: u64 = 0 => {
            kind: Kind::count("pJ", 0, 1_000_000_000_000),
            source: "assumed: power x time",
            flip: "38040000", with: &[],
        },
        /// Energy of erasing a block, however long the erase takes. 0: as `part`, or power x time.
        erase_pj: u64 = 0 => {
            kind: Kind::count("pJ", 0, 1_000_000_000_000),
            source: "assumed: power x time",
            flip: "527680000", with: &["@full"],
        },
        /// Energy of reading a page with one bit a cell (`[slc]`), however long the read takes. 0:
        /// power x time; if `read_pj` is not 0, that in the ratio of the times.
        slc_read_pj: u64 = 0 => {
            kind: Kind::count("pJ", 0, 1_000_000_000_000),
            source: "assumed: power x time",
            flip: "4720000", with: &["@full", "nand.bits_per_cell=2", "slc.static_percent=4"],
        },
        /// Energy of programming such a page. 0: power x time; if `program_pj` is not 0, that of
        /// the pages that one operation programs in the ratio of the times.
        slc_program_pj: u64 = 0 => {
            kind: Kind::count("pJ", 0, 1_000_000_000_000),
            source: "assumed: power x time",
            flip: "38040000", with: &["@full", "nand.bits_per_cell=2", "slc.static_percent=4"],
        },
        /// Energy of erasing such a block. 0: power x time; if `erase_pj` is not 0, that in the
        /// ratio of the times.
        slc_erase_pj: u64 = 0 => {
            kind: Kind::count("pJ", 0, 1_000_000_000_000),
            source: "assumed: power x time",
            flip: "527680000",
            with: &["@full", "nand.bits_per_cell=2", "slc.static_percent=4", "slc.fold_idle_us=1"],
        },
        /// Power of a channel that transfers.
        transfer_mw: u64 = 20 => {
            kind: Kind::count("mW", 0, 1_000_000),
            source: "assumed",
            flip: "21", with: &["channel.ps_per_byte=2500"],
        },
        /// Energy of a byte of data that crosses the link to the host, in either direction. With
        /// `interface.transfer = "page"` whole mapping units cross.
        link_pj_per_byte: u64 = 0 => {
            kind: Kind::count("pJ", 0, 1_000_000),
            source: "assumed: none; 40 pJ a byte is 5 pJ a bit",
            flip: "40", with: &[],
        },
        /// Additional power of the device while garbage is collected, blocks are merged or wear is
        /// levelled, and a request is outstanding.
        reclaim_mw: u64 = 0 => {
            kind: Kind::count("mW", 0, 1_000_000),
            source: "assumed: none; Park et al. 2011 measure the power of random writes",
            flip: "519", with: &["@full"],
        },
        /// The same while no request is outstanding.
        reclaim_idle_mw: u64 = 0 => {
            kind: Kind::count("mW", 0, 1_000_000),
            source: "assumed: none; Park et al. 2011: twice the idle power of 519 mW on a drive of theirs",
            flip: "519", with: &["@full"],
        },
        /// Power of each die at all times, in addition to the power of its operations.
        standby_mw: u64 = 0 => {
            kind: Kind::count("mW", 0, 1_000_000),
            source: "assumed: a die draws microwatts between operations",
            flip: "1", with: &[],
        },
        /// Power of the controller while a request is outstanding or the device does work of its
        /// own.
        controller_active_mw: u64 = 0 => {
            kind: Kind::count("mW", 0, 1_000_000),
            source: "assumed: none; Park et al. 2011 give no number",
            flip: "200", with: &[],
        },
        /// Power of the controller at all other times.
        controller_idle_mw: u64 = 0 => {
            kind: Kind::count("mW", 0, 1_000_000),
            source: "assumed: none; Park et al. 2011 give no number",
            flip: "50", with: &[],
        },
        /// Kind of DRAM beside the controller. It sets `dram_chip_mw` and `dram_access_pj` where
        /// they are 0.
        dram: DramKind = DramKind::None => {
            kind: Kind::Choice(DramKind::WORDS),
            source: "assumed: NAND alone, as Lee et al., IEEE Access 2021",
            flip: "sdram", with: &[],
        },
        /// Size of the DRAM. 0: what the tables, the map cache and the write buffer need.
        dram_bytes: u64 = 0 => {
            kind: Kind::count("bytes", 0, 1 << 44),
            source: "Park et al. 2011: DRAM for the tables",
            flip: "134217728", with: &["energy.dram=sdram"],
        },
        /// Size of a DRAM chip.
        dram_chip_bytes: u64 = 67_108_864 => {
            kind: Kind::count("bytes", 1, 1 << 44),
            source: "assumed: 64 MiB",
            flip: "33554432", with: &["energy.dram=sdram", "energy.dram_bytes=134217728"],
        },
        /// Power of a DRAM chip at all times. 0: as `dram`.
        dram_chip_mw: u64 = 0 => {
            kind: Kind::count("mW", 0, 1_000_000),
            source: "Park et al. 2011: 300 mW a chip of SDRAM, 100 mW low power, of ranges",
            flip: "200", with: &[],
        },
        /// Whether the power of DRAM grows by whole chips or by bytes.
        dram_scaling: DramScaling = DramScaling::Chips => {
            kind: Kind::Choice(DramScaling::WORDS),
            source: "Park et al. 2011: whole chips",
            flip: "bytes", with: &["energy.dram=sdram"],
        },
        /// Energy of an access to a table or to the map cache. An access looks up or changes one
        /// entry. 0: as `dram`.
        dram_access_pj: u64 = 0 => {
            kind: Kind::count("pJ", 0, 1_000_000_000),
            source: "Park et al. 2011: some 30 mW; for 50 ns, assumed",
            flip: "1000", with: &[],
        },
        /// Kind of memory of the write buffer. It sets the energies and the standby power of the
        /// buffer where they are 0.
        buffer_memory: BufferMemory = BufferMemory::None => {
            kind: Kind::Choice(BufferMemory::WORDS),
            source: "assumed: free",
            flip: "pram", with: &["map.store=resident", "buffer.bytes=262144"],
        },
        /// Energy of a byte that a read or a flush gets from the write buffer. The energy of a unit
        /// is rounded up to a picojoule. 0: as `buffer_memory`.
        buffer_read_fj_per_byte: u64 = 0 => {
            kind: Kind::count("fJ", 0, 1_000_000_000),
            source: "Lee et al., ISCA 2009: array and row buffer",
            flip: "20000", with: &["map.store=resident", "buffer.bytes=262144"],
        },
        /// Energy of a byte that is put into the write buffer. The energy of a unit is rounded up
        /// to a picojoule. 0: as `buffer_memory`.
        buffer_write_fj_per_byte: u64 = 0 => {
            kind: Kind::count("fJ", 0, 1_000_000_000),
            source: "Lee et al., ISCA 2009: array and row buffer",
            flip: "20000", with: &["map.store=resident", "buffer.bytes=262144"],
        },
        /// Power of a MiB of the write buffer at all times. 0: as `buffer_memory`. If that has none
        /// either, the buffer counts as part of the DRAM.
        buffer_standby_uw_per_mib: u64 = 0 => {
            kind: Kind::count("uW/MiB", 0, 1_000_000_000),
            source: "DRAM: Micron MT47H, IDD6; PRAM: Numonyx Omneo P8P, standby current",
            flip: "98", with: &["map.store=resident", "buffer.bytes=262144"],
        },
        /// Energy of looking at one candidate in a search for a victim.
        search_pj: u64 = 0 => {
            kind: Kind::count("pJ", 0, 1_000_000_000),
            source: "assumed: none; Park et al. 2011 count searches and give no number",
            flip: "50", with: &["@full"],
        },
        /// Largest number of dies whose arrays work at once. 0: no limit.
        max_active_dies: u64 = 0 => {
            kind: Kind::count("dies", 0, 1 << 32),
            source: "assumed: no limit",
            flip: "1", with: &["geometry.ways=4"],
        },
        /// Largest power that the arrays of all dies take at once. 0: no limit.
        budget_mw: u64 = 0 => {
            kind: Kind::count("mW", 0, 1_000_000_000),
            source: "assumed: no limit",
            flip: "352", with: &["geometry.ways=4"],
        },
    }
}

/// Takes the second where the first is 0.
const fn or(own: u64, named: u64) -> u64 {
    if own == 0 { named } else { own }
}

impl EnergyKeys {
    /// The keys with numbers of the named part and memories where they are 0.
    #[must_use]
    pub const fn resolved(mut self) -> Self {
        let [read, program, erase] = self.part.energy();
        self.read_pj = or(self.read_pj, read);
        self.program_pj = or(self.program_pj, program);
        self.erase_pj = or(self.erase_pj, erase);
        let (chip_mw, access_pj) = match self.dram {
            DramKind::None => (0, 0),
            DramKind::Sdram => (SDRAM_MW, DRAM_ACCESS_PJ),
            DramKind::LowPower => (LOW_POWER_MW, DRAM_ACCESS_PJ),
        };
        self.dram_chip_mw = or(self.dram_chip_mw, chip_mw);
        self.dram_access_pj = or(self.dram_access_pj, access_pj);
        let (get, put) = self.buffer_memory.fj_per_byte();
        self.buffer_read_fj_per_byte = or(self.buffer_read_fj_per_byte, get);
        self.buffer_write_fj_per_byte = or(self.buffer_write_fj_per_byte, put);
        self.buffer_standby_uw_per_mib =
            or(self.buffer_standby_uw_per_mib, self.buffer_memory.standby_uw_per_mib());
        self
    }

    /// Power of a die during an operation, in milliwatts.
    pub const fn array_mw(&self, op: Op) -> u64 {
        match op {
            Op::Read => self.read_mw,
            Op::Program => self.program_mw,
            Op::Erase => self.erase_mw,
        }
    }

    /// Energy of a page or block, in picojoules; 0 where it is power x time.
    pub const fn page_pj(&self, op: Op) -> u64 {
        match op {
            Op::Read => self.read_pj,
            Op::Program => self.program_pj,
            Op::Erase => self.erase_pj,
        }
    }

    /// The same of a page or block with one bit a cell.
    pub const fn slc_pj(&self, op: Op) -> u64 {
        match op {
            Op::Read => self.slc_read_pj,
            Op::Program => self.slc_program_pj,
            Op::Erase => self.slc_erase_pj,
        }
    }

    /// Power of reclaiming space in a part of time, in milliwatts.
    pub const fn reclaim_mw_in(&self, phase: Phase) -> u64 {
        match phase {
            Phase::Foreground => self.reclaim_mw,
            Phase::Idle | Phase::Post => self.reclaim_idle_mw,
        }
    }

    /// Picojoules of a unit of this many bytes that is got from the write buffer, and put there.
    pub fn buffer_pj(&self, bytes: u64) -> (u64, u64) {
        let unit = |fj: u64| (bytes * fj).div_ceil(1_000);
        (unit(self.buffer_read_fj_per_byte), unit(self.buffer_write_fj_per_byte))
    }
}

impl Settings {
    /// Bytes of the mapping tables and the map cache in DRAM, and of the write buffer where it has
    /// no power of its own.
    pub fn dram_bytes(&self) -> u64 {
        let keys = &self.keys;
        if keys.energy.dram_bytes > 0 {
            return keys.energy.dram_bytes;
        }
        let footprint = Footprint::of(self);
        let own = keys.energy.buffer_standby_uw_per_mib > 0;
        let buffer = if own { 0 } else { footprint.buffer };
        footprint.tables + footprint.cache + buffer
    }

    /// Power of the DRAM at all times, in microwatts times bytes of a MiB: a table of a few KiB
    /// takes a few microwatts.
    pub fn dram_uw_mib(&self) -> u128 {
        let energy = &self.keys.energy;
        let (bytes, chip) = (u128::from(self.dram_bytes()), u128::from(energy.dram_chip_bytes));
        let chip_uw_mib = (u128::from(energy.dram_chip_mw) * 1_000) << MIB_BITS;
        match energy.dram_scaling {
            DramScaling::Chips => bytes.div_ceil(chip) * chip_uw_mib,
            DramScaling::Bytes => bytes * chip_uw_mib / chip,
        }
    }

    /// Power of the write buffer at all times, in microwatts times bytes of a MiB.
    pub fn buffer_uw_mib(&self) -> u128 {
        let bytes = u128::from(Footprint::of(self).buffer);
        bytes * u128::from(self.keys.energy.buffer_standby_uw_per_mib)
    }

    /// The most power that an operation on one plane takes, in milliwatts.
    pub fn operation_mw(&self, op: Op) -> u64 {
        operation_mw(&self.keys, op)
    }
}

/// Where an energy is given, that over the shortest time of any page type.
pub(crate) fn operation_mw(keys: &DeviceKeys, op: Op) -> u64 {
    let (energy, nand) = (&keys.energy, &keys.nand);
    let pj = energy.page_pj(op);
    let planes = if op == Op::Read { 1 } else { keys.joined_planes() };
    if pj == 0 {
        return energy.array_mw(op) * planes;
    }
    let alone = |time: Span| [time, Span::ZERO, Span::ZERO, Span::ZERO];
    let (times, pages) = match op {
        Op::Read => ([nand.read_us, nand.read_2_us, nand.read_3_us, nand.read_4_us], 1),
        Op::Program if nand.one_shot => (alone(nand.program_us), nand.bits_per_cell),
        Op::Program => {
            ([nand.program_us, nand.program_2_us, nand.program_3_us, nand.program_4_us], 1)
        }
        Op::Erase => (alone(nand.erase_us), 1),
    };
    // A page type without a time of its own has that of the first.
    let types = usize::try_from(nand.bits_per_cell).expect("at most 4");
    let shortest = times[..types].iter().copied().filter(|time| !time.is_zero()).min();
    let shortest = shortest.unwrap_or(Span::from_ns(1));
    let shortest = match op {
        Op::Read => nand.shortened(nand.part_of(shortest).or(shortest)),
        _ => shortest,
    };
    (pj * pages * planes).div_ceil(shortest.as_ns())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys(change: impl FnOnce(&mut DeviceKeys)) -> DeviceKeys {
        let mut keys = DeviceKeys::default();
        change(&mut keys);
        keys
    }

    /// Current x voltage x time of the data sheet.
    #[test]
    fn parts_by_current_are_charge_times_voltage() {
        for (part, microamperes, millivolts) in
            [(EnergyPart::Nand01g3v, 10_000, 3_000), (EnergyPart::Nand01g1v8, 8_000, 1_800)]
        {
            // uA x mV = nW; nW x us = fJ.
            let expected = [25, 200, 2_000].map(|us| microamperes * millivolts * us / 1_000);
            assert_eq!(part.energy(), expected);
        }
    }

    /// Table 1 states power and time too: energy / time is the power of the defaults.
    #[test]
    fn the_part_of_the_study_agrees_with_the_default_powers() {
        let energy = EnergyKeys::default();
        let times = [130_900, 405_900, 1_500_000u64];
        for ((op, pj), ns) in Op::ALL.into_iter().zip(EnergyPart::Park2011.energy()).zip(times) {
            assert_eq!((pj + ns / 2) / ns, energy.array_mw(op), "{op:?}");
        }
    }

    #[test]
    fn what_a_device_file_says_itself_counts() {
        let own = keys(|keys| {
            keys.energy.part = EnergyPart::Park2011;
            keys.energy.program_pj = 7;
            keys.energy.dram = DramKind::LowPower;
            keys.energy.dram_access_pj = 9;
        });
        let energy = Settings::new(own).unwrap().keys.energy;
        assert_eq!(
            (energy.read_pj, energy.program_pj, energy.erase_pj),
            (4_720_000, 7, 527_680_000)
        );
        assert_eq!((energy.dram_chip_mw, energy.dram_access_pj), (100, 9));
    }

    /// 512 Ki entries of 4 bytes are 2 MiB: one chip of 64 MiB, or 2 / 64 of its 300 mW.
    #[test]
    fn dram_power_grows_by_chips_or_by_bytes() {
        let base = |scaling, bytes| {
            let keys = keys(|keys| {
                keys.energy.dram = DramKind::Sdram;
                keys.energy.dram_scaling = scaling;
                keys.energy.dram_bytes = bytes;
            });
            Settings::new(keys).unwrap().dram_uw_mib()
        };
        assert_eq!(base(DramScaling::Chips, 2 << 20), 300_000 << 20);
        assert_eq!(base(DramScaling::Bytes, 2 << 20), 9_375 << 20);
        assert_eq!(base(DramScaling::Chips, (64 << 20) + 1), 600_000 << 20);
        assert_eq!(base(DramScaling::Bytes, 96 << 20), 450_000 << 20);
        // 48 bytes: 300 mW x 48 / 2^26 is 0.21 uW, or 225,000 of 2^-20 uW.
        assert_eq!(base(DramScaling::Bytes, 48), 225_000);
    }

    #[test]
    fn a_budget_below_an_operation_is_refused() {
        let device = |budget, read_pj, read_us| {
            Settings::new(keys(|keys| {
                keys.energy.budget_mw = budget;
                keys.energy.read_pj = read_pj;
                keys.nand.read_us = read_us;
            }))
        };
        assert!(device(352, 0, Span::from_us(60)).is_ok());
        let error = device(351, 0, Span::from_us(60)).unwrap_err().to_string();
        assert!(error.contains("351 is less than the 352 mW that one erase takes"), "{error}");
        // 60,000,001 pJ in 60 us are more than 1000 mW.
        let error = device(1_000, 60_000_001, Span::from_us(60)).unwrap_err().to_string();
        assert!(error.contains("the 1001 mW that one read takes"), "{error}");
        assert!(device(1_001, 60_000_001, Span::from_us(60)).is_ok());
    }
}
