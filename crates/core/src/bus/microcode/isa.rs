//! The instructions of the controller: registers, effects and cycles.

pub use super::timing::Cycles;

use super::timing::{Delay, TimingSet};

/// General registers.
pub(super) const GENERAL: usize = 16;

/// The request registers in the order of their numbers.
const REQUEST: [&str; 8] = ["op", "chip", "row0", "row1", "row2", "col0", "col1", "len"];

/// A register of 32 bits. `r0` to `r15` keep what programs put into them, from one request to the
/// next; `r0` is always 0 (assumed, as in MIPS). The request registers hold the request that was
/// received: `op` its number in [`BusKind::ALL`], `chip`, the bytes `row0` to `row2` and `col0` and
/// `col1` of its address, lowest first, and `len`, the bytes of its data. Only `RCV` writes them.
///
/// [`BusKind::ALL`]: crate::bus::request::BusKind::ALL
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Register(u8);

impl Register {
    /// `r0`, which is always 0.
    pub const ZERO: Self = Self(0);

    /// The register of a name.
    pub fn named(name: &str) -> Option<Self> {
        let place = if let Some(place) = REQUEST.iter().position(|known| *known == name) {
            GENERAL + place
        } else {
            let number = name.strip_prefix('r')?;
            // No sign and no leading zero: a register has one name.
            let is_plain = number == "0" || number.starts_with(|first| matches!(first, '1'..='9'));
            number.parse().ok().filter(|place| is_plain && *place < GENERAL)?
        };
        u8::try_from(place).ok().map(Self)
    }

    /// Whether programs may write it.
    pub const fn is_general(self) -> bool {
        self.index() < GENERAL
    }

    /// Its place: the general registers, then those of the request.
    pub(super) const fn index(self) -> usize {
        self.0 as usize
    }
}

/// Registers of both sorts.
pub(super) const REGISTERS: usize = GENERAL + REQUEST.len();

/// How long `WAIT` waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wait {
    /// So many cycles.
    Cycles(u16),
    /// A delay of the timing set.
    Delay(Delay),
}

/// A place of a program, counted in instructions from its start.
pub type Target = u16;

/// One instruction. The register that it writes comes first. Values are added and compared without
/// a sign, in 32 bits that wrap around. An address of the scratch memory counts words of 32 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Instruction {
    /// `ADDI to, from, value`: adds a value with a sign.
    Addi(Register, Register, i16),
    /// `ADD to, one, other`: adds two registers.
    Add(Register, Register, Register),
    /// `ANDI to, from, mask`: keeps the bits of a mask.
    Andi(Register, Register, u16),
    /// `OR to, one, other`: the bits of both registers.
    Or(Register, Register, Register),
    /// `SLL to, from, bits`: shifts to the left.
    Sll(Register, Register, u8),
    /// `LW to, base, offset`: loads the word at the sum of base and offset.
    Lw(Register, Register, i16),
    /// `SW from, base, offset`: stores a register there.
    Sw(Register, Register, i16),
    /// `BEQ one, other, label`: goes to a label if the registers are equal.
    Beq(Register, Register, Target),
    /// `BNE one, other, label`: goes to a label if they are not.
    Bne(Register, Register, Target),
    /// `J label`: goes to a label.
    J(Target),
    /// `RCV`: takes the next request into the request registers.
    Rcv,
    /// `DSP ea, pp, id, pa, ra, od, st`: goes to the label of the kind of the request.
    Dsp([Target; 7]),
    /// `CE+ chip`: enables a chip.
    Enable(Register),
    /// `CE-`: disables it.
    Disable,
    /// `CMD byte`: latches a command byte.
    Cmd(u8),
    /// `ADR from`: latches the low byte of a register as an address byte.
    Adr(Register),
    /// `DIN bytes`: moves data of the request to the chip.
    Din(Register),
    /// `DOUT bytes`: moves data from the chip.
    Dout(Register),
    /// `WRR from`: writes the low byte of a register to the bus.
    Wrr(Register),
    /// `RDR to`: reads a byte from the bus into a register.
    Rdr(Register),
    /// `WAIT cycles` or `WAIT name`: leaves the bus alone for so long.
    Wait(Wait),
    /// `SND status`: answers the request. The next one begins at the start of the program, so the
    /// jump back costs no cycle.
    Snd(Register),
}

impl Instruction {
    /// How long it takes; `bytes` is what the register of `DIN` and `DOUT` holds.
    pub fn cycles(self, timing: &TimingSet, bytes: u32) -> Cycles {
        match self {
            Self::Cmd(_) | Self::Adr(_) | Self::Wrr(_) | Self::Rdr(_) => {
                Cycles::new(u64::from(timing.latch_cycles))
            }
            Self::Din(_) | Self::Dout(_) => timing.data(bytes),
            Self::Wait(Wait::Cycles(cycles)) => Cycles::new(u64::from(cycles)),
            Self::Wait(Wait::Delay(delay)) => timing.delay(delay),
            _ => Cycles::new(1),
        }
    }
}

/// An instruction of a program, and the line of the text that it comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// The line, counted from 1.
    pub line: u32,
    /// What it does.
    pub instruction: Instruction,
}

impl Step {
    /// What memory for a program holds before there is one.
    pub const UNUSED: Self = Self { line: 0, instruction: Instruction::Snd(Register::ZERO) };
}
