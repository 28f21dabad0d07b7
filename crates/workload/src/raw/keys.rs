//! The keys of `[raw]`.

use flashyard_core::key::Kind;
use flashyard_core::quantity::Ppm;
use flashyard_core::{choice, keys};

choice! {
    /// Which blocks and pages operations name.
    pub enum Placement {
        /// Any block and any page of it, whatever their state.
        Random = "random",
        /// Those that the rules of NAND allow: programs append to an open block, reads hit what has
        /// been programmed, erases take full blocks.
        Append = "append",
    }
}

const FRAMEWORK: &str = "Kim, Lee and Min: 1 : 256 : 128";

/// Few operations on a device that takes them, so that the tests of the keys are quick.
const FEW: &[&str] = &["raw.requests=2000"];
const FEW_APPENDED: &[&str] = &["raw.requests=2000", "raw.placement=append"];

/// A part of the mix.
const WEIGHT: Kind = Kind::count("parts", 0, 1 << 32);

keys! {
    /// Keys of `[raw]`.
    pub struct RawKeys {
        /// How many operations there are. 0: no limit; the phase then needs one.
        requests: u64 = 100_000 => {
            kind: Kind::count("operations", 0, 1_000_000_000_000),
            source: "assumed: 15 s at 150 us", flip: "2001", with: FEW,
        },
        /// Erases in the mix, beside `program_weight` and `read_weight`.
        erase_weight: u64 = 1 => {
            kind: WEIGHT, source: FRAMEWORK, flip: "8", with: FEW,
        },
        /// Programs in the mix.
        program_weight: u64 = 256 => {
            kind: WEIGHT, source: FRAMEWORK, flip: "128", with: FEW,
        },
        /// Reads in the mix.
        read_weight: u64 = 128 => {
            kind: WEIGHT, source: FRAMEWORK, flip: "512", with: FEW,
        },
        /// Which blocks and pages operations name. The die is any with equal chance.
        placement: Placement = Placement::Random => {
            kind: Kind::Choice(Placement::WORDS),
            source: "assumed: Kim, Lee and Min draw chip and block alike and do not mention states",
            flip: "append", with: FEW,
        },
        /// Where the blocks that are used begin, in percent of each plane.
        start_percent: Ppm = Ppm::ZERO => {
            kind: Kind::percent(0, 1_000_000),
            source: "assumed: all blocks", flip: "50",
            with: &["raw.requests=2000", "raw.range_percent=50"],
        },
        /// How many blocks are used, in percent of each plane. Streams that append need blocks of
        /// their own.
        range_percent: Ppm = Ppm::ALL => {
            kind: Kind::percent(1, 1_000_000),
            source: "assumed: all blocks", flip: "10", with: FEW,
        },
        /// `placement = "append"`: whether all blocks are erased at first. Otherwise each is erased
        /// before it is programmed for the first time.
        erased: bool = true => {
            kind: Kind::Bool,
            source: "a new device is erased", flip: "false", with: FEW_APPENDED,
        },
    }
}
