//! The machine that runs the programs of the controller.

use super::isa::{Cycles, GENERAL, Instruction, REGISTERS, Register, Step, Target};
use super::timing::TimingSet;
use crate::bus::request::{BusKind, BusRequest};
use core::fmt;

/// Instructions that a request may take (assumed): a program may move a page of 16 KiB byte by byte
/// in a loop of six.
pub const LIMIT: u32 = 100_000;

/// A chip that is ready and did not fail, as its status says it. Source: ONFI: ready, array ready,
/// not write protected.
pub const READY: u8 = 0xE0;

/// What the chips of a channel see. `at` counts cycles since the controller began to serve the
/// request. A byte or the first byte of data begins to cross the bus then.
pub trait Pins {
    /// A chip is enabled: what follows is for this one.
    fn enable(&mut self, _chip: u32, _at: Cycles) {}
    /// No chip is enabled any more.
    fn disable(&mut self, _at: Cycles) {}
    /// A command byte is latched.
    fn command(&mut self, _byte: u8, _at: Cycles) {}
    /// An address byte is latched.
    fn address(&mut self, _byte: u8, _at: Cycles) {}
    /// So many bytes of data go to the chip.
    fn data_in(&mut self, _bytes: u32, _at: Cycles) {}
    /// So many bytes of data come from the chip.
    fn data_out(&mut self, _bytes: u32, _at: Cycles) {}
    /// A byte other than data goes to the chip.
    fn write_register(&mut self, _byte: u8, _at: Cycles) {}
    /// A byte other than data comes from the chip, which must show what it is `at` this cycle, one
    /// after the begin of the instruction (assumed).
    fn read_register(&mut self, at: Cycles) -> u8;
}

/// No chip: every status is [`READY`]. For durations.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoPins;

impl Pins for NoPins {
    fn read_register(&mut self, _at: Cycles) -> u8 {
        READY
    }
}

/// The answer to a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Response {
    /// The operation that the request is part of.
    pub operation: u32,
    /// What the request did.
    pub kind: BusKind,
    /// The chip on the channel.
    pub chip: u32,
    /// What the program sends; of a status request, the status of the chip.
    pub status: u8,
}

/// Why a request cannot be served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The line of the program, counted from 1; 0 where the program is empty.
    pub line: u32,
    /// What went wrong there.
    pub cause: Cause,
}

/// What may go wrong in a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// A jump, or the instruction that follows, lies outside of the program.
    OutOfProgram,
    /// The program waits for a second request before it has answered the first.
    NoRequest,
    /// The program uses the request before it has received one.
    NotReceived,
    /// The program waits for more data than the request carries.
    NoData {
        /// Bytes that it waits for.
        bytes: u32,
        /// Bytes of the request that have not been moved.
        left: u32,
    },
    /// Something is put on the bus while no chip is enabled.
    NoChip,
    /// A chip is enabled while another one is.
    SecondChip,
    /// The request is answered while its chip is enabled.
    StillEnabled,
    /// A load or store outside of the scratch memory: the address, in words.
    NoMemory(u32),
    /// The address of the request needs more than three bytes for its row or two for its column.
    LongAddress,
    /// The request took [`LIMIT`] instructions and has not been answered.
    TooLong,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.cause)
    }
}

impl core::error::Error for Fault {}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::OutOfProgram => write!(f, "the program goes on outside of its instructions"),
            Self::NoRequest => write!(f, "RCV waits for a second request; SND answers the first"),
            Self::NotReceived => write!(f, "the request is used before RCV receives it"),
            Self::NoData { bytes, left } => {
                write!(f, "waits for {bytes} bytes of data; the request has {left} left")
            }
            Self::NoChip => write!(f, "uses the bus while no chip is enabled"),
            Self::SecondChip => write!(f, "enables a chip while another one is enabled"),
            Self::StillEnabled => write!(f, "answers while the chip is still enabled"),
            Self::NoMemory(address) => {
                write!(f, "word {address} lies outside of the scratch memory")
            }
            Self::LongAddress => {
                write!(
                    f,
                    "the address of the request is longer than three row and two column bytes"
                )
            }
            Self::TooLong => write!(f, "the request takes more than {LIMIT} instructions"),
        }
    }
}

/// The controller of a channel: a program and scratch memory, which both are lent.
#[derive(Clone, Debug)]
pub struct Machine<P, M> {
    program: P,
    memory: M,
    timing: TimingSet,
    pages_per_block: u32,
    registers: [u32; REGISTERS],
    response: Option<Response>,
}

/// Where the program stands with a request.
struct Serving<'r> {
    request: &'r BusRequest,
    received: bool,
    enabled: bool,
    /// Bytes of the request that have not been moved.
    data_in: u32,
    data_out: u32,
    at: Cycles,
}

/// Where the program goes on.
enum Flow {
    Next,
    To(Target),
    Over,
}

impl<P: AsRef<[Step]>, M: AsRef<[u32]> + AsMut<[u32]>> Machine<P, M> {
    /// A machine whose registers are 0. Row addresses count pages, `pages_per_block` to a block.
    pub fn new(program: P, memory: M, timing: TimingSet, pages_per_block: u32) -> Self {
        assert!(timing.cycle_ns > 0, "a cycle takes time");
        assert!(timing.bytes_per_cycle > 0, "data cross the bus");
        let registers = [0; REGISTERS];
        Self { program, memory, timing, pages_per_block, registers, response: None }
    }

    /// The times it was made with.
    pub const fn timing(&self) -> &TimingSet {
        &self.timing
    }

    /// The answer to the request that was served last.
    pub const fn response(&self) -> Option<Response> {
        self.response
    }

    /// Serves a request, from the first instruction of the program until it answers. Returns how
    /// long that takes.
    pub fn serve(&mut self, request: &BusRequest, pins: &mut impl Pins) -> Result<Cycles, Fault> {
        let moves = |kind| if request.kind == kind { request.bytes } else { 0 };
        let mut serving = Serving {
            request,
            received: false,
            enabled: false,
            data_in: moves(BusKind::DataIn),
            data_out: moves(BusKind::DataOut),
            at: Cycles::default(),
        };
        self.response = None;
        let (mut place, mut line) = (0_usize, 0);
        for _ in 0..LIMIT {
            let Some(&step) = self.program.as_ref().get(place) else {
                return Err(Fault { line, cause: Cause::OutOfProgram });
            };
            line = step.line;
            let flow = self.execute(step.instruction, &mut serving, pins);
            match flow.map_err(|cause| Fault { line, cause })? {
                Flow::Next => place += 1,
                Flow::To(target) => place = usize::from(target),
                Flow::Over => return Ok(serving.at),
            }
        }
        Err(Fault { line, cause: Cause::TooLong })
    }

    fn execute(
        &mut self,
        instruction: Instruction,
        serving: &mut Serving<'_>,
        pins: &mut impl Pins,
    ) -> Result<Flow, Cause> {
        let bytes = match instruction {
            Instruction::Din(bytes) | Instruction::Dout(bytes) => self.read(bytes),
            _ => 0,
        };
        let at = serving.at;
        serving.at += instruction.cycles(&self.timing, bytes);
        match instruction {
            Instruction::Rcv => self.receive(serving)?,
            Instruction::Dsp(targets) => {
                if !serving.received {
                    return Err(Cause::NotReceived);
                }
                return Ok(Flow::To(targets[serving.request.kind.index()]));
            }
            Instruction::Enable(chip) => {
                if serving.enabled {
                    return Err(Cause::SecondChip);
                }
                serving.enabled = true;
                pins.enable(self.read(chip), at);
            }
            Instruction::Disable => {
                serving.enabled = false;
                pins.disable(at);
            }
            Instruction::Wait(_) => {}
            Instruction::Snd(status) => {
                self.send(status, serving)?;
                return Ok(Flow::Over);
            }
            Instruction::Cmd(_)
            | Instruction::Adr(_)
            | Instruction::Din(_)
            | Instruction::Dout(_)
            | Instruction::Wrr(_)
            | Instruction::Rdr(_) => self.drive(instruction, at, serving, pins)?,
            _ => return self.calculate(instruction),
        }
        Ok(Flow::Next)
    }

    /// The instructions that a chip sees.
    fn drive(
        &mut self,
        instruction: Instruction,
        at: Cycles,
        serving: &mut Serving<'_>,
        pins: &mut impl Pins,
    ) -> Result<(), Cause> {
        if !serving.enabled {
            return Err(Cause::NoChip);
        }
        match instruction {
            Instruction::Cmd(byte) => pins.command(byte, at),
            Instruction::Adr(from) => pins.address(self.low_byte(from), at),
            Instruction::Wrr(from) => pins.write_register(self.low_byte(from), at),
            Instruction::Rdr(to) => {
                let sampled = Cycles::new(at.get() + 1);
                self.write(to, u32::from(pins.read_register(sampled)));
            }
            Instruction::Din(bytes) => {
                let bytes = self.read(bytes);
                take(&mut serving.data_in, bytes)?;
                pins.data_in(bytes, at);
            }
            Instruction::Dout(bytes) => {
                let bytes = self.read(bytes);
                take(&mut serving.data_out, bytes)?;
                pins.data_out(bytes, at);
            }
            _ => {}
        }
        Ok(())
    }

    /// The instructions that only move and compare numbers.
    fn calculate(&mut self, instruction: Instruction) -> Result<Flow, Cause> {
        let (to, value) = match instruction {
            Instruction::Addi(to, from, value) => (to, self.sum(from, value)),
            Instruction::Add(to, one, other) => (to, self.read(one).wrapping_add(self.read(other))),
            Instruction::Andi(to, from, mask) => (to, self.read(from) & u32::from(mask)),
            Instruction::Or(to, one, other) => (to, self.read(one) | self.read(other)),
            Instruction::Sll(to, from, bits) => {
                (to, self.read(from).checked_shl(u32::from(bits)).unwrap_or(0))
            }
            Instruction::Lw(to, base, offset) => {
                let address = self.sum(base, offset);
                let word = self.memory.as_ref().get(address as usize);
                (to, *word.ok_or(Cause::NoMemory(address))?)
            }
            Instruction::Sw(from, base, offset) => {
                let (address, value) = (self.sum(base, offset), self.read(from));
                let word = self.memory.as_mut().get_mut(address as usize);
                *word.ok_or(Cause::NoMemory(address))? = value;
                return Ok(Flow::Next);
            }
            Instruction::Beq(one, other, target) if self.read(one) == self.read(other) => {
                return Ok(Flow::To(target));
            }
            Instruction::Bne(one, other, target) if self.read(one) != self.read(other) => {
                return Ok(Flow::To(target));
            }
            Instruction::J(target) => return Ok(Flow::To(target)),
            _ => return Ok(Flow::Next),
        };
        self.write(to, value);
        Ok(Flow::Next)
    }

    /// Puts the request into its registers.
    fn receive(&mut self, serving: &mut Serving<'_>) -> Result<(), Cause> {
        if serving.received {
            return Err(Cause::NoRequest);
        }
        serving.received = true;
        let BusRequest { kind, chip, block, page, offset, bytes, .. } = *serving.request;
        let row = u64::from(block) * u64::from(self.pages_per_block) + u64::from(page);
        let [row0, row1, row2, rest @ ..] = row.to_le_bytes();
        let [col0, col1, high @ ..] = offset.to_le_bytes();
        if rest != [0; 5] || high != [0; 2] {
            return Err(Cause::LongAddress);
        }
        let op = u32::from(kind as u8);
        let [row0, row1, row2, col0, col1] = [row0, row1, row2, col0, col1].map(u32::from);
        self.registers[GENERAL..].copy_from_slice(&[op, chip, row0, row1, row2, col0, col1, bytes]);
        Ok(())
    }

    /// Answers the request.
    fn send(&mut self, status: Register, serving: &Serving<'_>) -> Result<(), Cause> {
        if !serving.received {
            return Err(Cause::NotReceived);
        }
        if serving.enabled {
            return Err(Cause::StillEnabled);
        }
        let BusRequest { operation, kind, chip, .. } = *serving.request;
        self.response = Some(Response { operation, kind, chip, status: self.low_byte(status) });
        Ok(())
    }

    const fn read(&self, register: Register) -> u32 {
        self.registers[register.index()]
    }

    const fn low_byte(&self, register: Register) -> u8 {
        self.read(register).to_le_bytes()[0]
    }

    fn sum(&self, register: Register, value: i16) -> u32 {
        self.read(register).wrapping_add_signed(i32::from(value))
    }

    /// `r0` and the request registers keep what they hold.
    fn write(&mut self, register: Register, value: u32) {
        if register.is_general() && register != Register::ZERO {
            self.registers[register.index()] = value;
        }
    }
}

/// Takes bytes of what is left of the data of a request.
const fn take(left: &mut u32, bytes: u32) -> Result<(), Cause> {
    if *left == 0 || *left < bytes {
        return Err(Cause::NoData { bytes, left: *left });
    }
    *left -= bytes;
    Ok(())
}

#[cfg(test)]
mod tests;
