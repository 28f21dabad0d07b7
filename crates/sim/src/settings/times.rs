//! Array times with a greatest value.

use crate::config::DeviceKeys;

/// Greatest times that are no greatest ones.
pub(super) fn check(keys: &DeviceKeys, fail: &mut impl FnMut(String)) {
    let nand = &keys.nand;
    let programs = [nand.program_us, nand.program_2_us, nand.program_3_us, nand.program_4_us];
    let typical = [
        ("read", [nand.read_us, nand.read_2_us, nand.read_3_us, nand.read_4_us], nand.read_max_us),
        ("program", programs, nand.program_max_us),
        ("erase", [nand.erase_us; 4], nand.erase_max_us),
    ];
    for (name, times, most) in typical {
        let longest = times.into_iter().max().expect("there are four");
        let us = |ns: u64| ns as f64 / 1e3;
        if most > 0 && most < longest {
            fail(format!(
                "nand.{name}_max_us: {} is below the typical {} us; raise it, or set it to 0",
                us(most),
                us(longest)
            ));
        }
        if most > 0 && nand.spread_percent > 0 {
            fail(format!(
                "nand.{name}_max_us: nand.spread_percent spreads the times too; set one of them to 0"
            ));
        }
    }
}
