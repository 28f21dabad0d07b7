//! Named interfaces of flash channels: how long a byte takes, and command and address.

use super::ChannelKeys;
use flashyard_core::choice;

choice! {
    /// An interface of the Open NAND Flash Interface specification, 8 bits wide; the number is its
    /// rate in MT/s, which is MB/s.
    pub enum OnfiInterface {
        /// No named interface: the other keys of the channel give the times.
        None = "none",
        /// SDR, timing mode 0.
        Sdr10 = "sdr-10",
        /// SDR, timing mode 1.
        Sdr20 = "sdr-20",
        /// SDR, timing mode 2.
        Sdr28 = "sdr-28",
        /// SDR, timing mode 3.
        Sdr33 = "sdr-33",
        /// SDR, timing mode 4.
        Sdr40 = "sdr-40",
        /// SDR, timing mode 5.
        Sdr50 = "sdr-50",
        /// NV-DDR, timing mode 5.
        NvDdr200 = "nv-ddr-200",
        /// NV-DDR2, a cycle of 10 ns.
        NvDdr2x200 = "nv-ddr2-200",
        /// NV-DDR2, a cycle of 6 ns.
        NvDdr2x333 = "nv-ddr2-333",
        /// NV-DDR2, a cycle of 5 ns.
        NvDdr2x400 = "nv-ddr2-400",
        /// NV-DDR2, a cycle of 3.75 ns.
        NvDdr2x533 = "nv-ddr2-533",
        /// NV-DDR3, a cycle of 3 ns.
        NvDdr3x666 = "nv-ddr3-666",
        /// NV-DDR3, a cycle of 2.5 ns.
        NvDdr3x800 = "nv-ddr3-800",
        /// NV-DDR3, a cycle of 1.875 ns.
        NvDdr3x1066 = "nv-ddr3-1066",
        /// NV-DDR3, a cycle of 1.667 ns.
        NvDdr3x1200 = "nv-ddr3-1200",
        /// NV-DDR3, a cycle of 1.25 ns.
        NvDdr3x1600 = "nv-ddr3-1600",
        /// NV-LPDDR4 of ONFI 5.0, a cycle of 0.833 ns.
        NvLpddr4x2400 = "nv-lpddr4-2400",
    }
}

impl OnfiInterface {
    /// Picoseconds of a byte: a cycle of RE in SDR, half a cycle of the strobe otherwise.
    pub const fn ps_per_byte(self) -> u64 {
        match self {
            Self::None => 0,
            Self::Sdr10 => 100_000,
            Self::Sdr20 => 50_000,
            Self::Sdr28 => 35_000,
            Self::Sdr33 => 30_000,
            Self::Sdr40 => 25_000,
            Self::Sdr50 => 20_000,
            Self::NvDdr200 | Self::NvDdr2x200 => 5_000,
            Self::NvDdr2x333 => 3_000,
            Self::NvDdr2x400 => 2_500,
            Self::NvDdr2x533 => 1_875,
            Self::NvDdr3x666 => 1_500,
            Self::NvDdr3x800 => 1_250,
            Self::NvDdr3x1066 => 938,
            Self::NvDdr3x1200 => 833,
            Self::NvDdr3x1600 => 625,
            Self::NvLpddr4x2400 => 417,
        }
    }

    /// Nanoseconds of command and address: seven cycles (command, two column and three row
    /// addresses, command) and tWB, until the die is busy.
    pub const fn command_ns(self) -> u64 {
        let (cycle, until_busy) = match self {
            Self::None => return 0,
            Self::Sdr10 => (100, 200),
            Self::Sdr20 => (45, 100),
            Self::Sdr28 => (35, 100),
            Self::Sdr33 => (30, 100),
            Self::Sdr50 => (20, 100),
            // All others latch commands and addresses every 25 ns (tWC, in NV-DDR tCAD).
            _ => (25, 100),
        };
        7 * cycle + until_busy
    }
}

impl ChannelKeys {
    /// The keys with times of the named interface where they are 0.
    #[must_use]
    pub const fn resolved(mut self) -> Self {
        if self.ps_per_byte == 0 {
            self.ps_per_byte = self.interface.ps_per_byte();
        }
        if self.command_ns == 0 {
            self.command_ns = self.interface.command_ns();
        }
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{DeviceKeys, Settings};

    /// The rate in a name is that of its byte time, cut to whole MT/s as the standard does.
    #[test]
    fn names_state_the_rate() {
        for interface in OnfiInterface::ALL.iter().filter(|name| **name != OnfiInterface::None) {
            let word = interface.word();
            let rate: f64 = word.rsplit('-').next().unwrap().parse().unwrap();
            let (least, most) = (1e6 / (rate + 1.0) - 0.5, 1e6 / rate + 0.5);
            let ps = interface.ps_per_byte() as f64;
            assert!((least..=most).contains(&ps), "{word}: {ps} not in {least} to {most}");
        }
    }

    /// ONFI 4.2, timing modes: tWC 20 ns in SDR mode 5, 100 ns (and tWB 200 ns) in mode 0.
    #[test]
    fn command_and_address_are_seven_cycles() {
        assert_eq!(OnfiInterface::Sdr50.command_ns(), 7 * 20 + 100);
        assert_eq!(OnfiInterface::Sdr10.command_ns(), 7 * 100 + 200);
        assert_eq!(OnfiInterface::NvDdr3x1200.command_ns(), 7 * 25 + 100);
    }

    #[test]
    fn what_a_device_file_says_itself_counts() {
        let mut keys = DeviceKeys::default();
        keys.channel.interface = OnfiInterface::NvDdr3x800;
        let settings = Settings::new(keys.clone()).unwrap();
        assert_eq!(settings.transfer_ns(16_384), 20_480);
        assert_eq!(settings.keys.channel.command_ns, 275);
        keys.channel.command_ns = 40;
        let settings = Settings::new(keys.clone()).unwrap();
        assert_eq!((settings.transfer_ns(4_096), settings.keys.channel.command_ns), (5_120, 40));
        keys.channel.ps_per_byte = 2_000;
        assert_eq!(Settings::new(keys).unwrap().transfer_ns(4_096), 8_192);
        assert_eq!(Settings::new(DeviceKeys::default()).unwrap().transfer_ns(4_096), 0);
    }
}
