//! The assembler: a program as text becomes instructions in lent memory.
//!
//! A line holds a label and a colon, an instruction, both, or nothing; a `;` begins a comment.
//! Operands are parted by commas or spaces. Numbers are decimal, or hexadecimal as `60h` or `0x60`.
//! Labels are looked up in the text, so that they need no memory: the time grows with the number of
//! labels times the number of lines.

use super::isa::{Instruction, Register, Step, Target, Wait};
use super::timing::Delay;
use core::fmt;

/// The instructions as they are written; the name comes first.
const WRITTEN: [&str; 22] = [
    "ADDI to, from, value",
    "ADD to, one, other",
    "ANDI to, from, mask",
    "OR to, one, other",
    "SLL to, from, bits",
    "LW to, base, offset",
    "SW from, base, offset",
    "BEQ one, other, label",
    "BNE one, other, label",
    "J label",
    "RCV",
    "DSP ea, pp, id, pa, ra, od, st",
    "CE+ chip",
    "CE-",
    "CMD byte",
    "ADR from",
    "DIN bytes",
    "DOUT bytes",
    "WRR from",
    "RDR to",
    "WAIT cycles",
    "SND status",
];

/// Writes the program into memory and returns the part of it that the program fills. The first
/// thing that is wrong ends it.
pub fn assemble<'m, 't>(text: &'t str, memory: &'m mut [Step]) -> Result<&'m [Step], Error<'t>> {
    let room = memory.len().min(usize::from(Target::MAX));
    let mut used = 0;
    for line in lines(text) {
        let wrong = |problem| Error { line: line.number, problem };
        if let Some(label) = line.label {
            check_label(text, label, line.number).map_err(wrong)?;
        }
        let Some(name) = line.words().next() else { continue };
        let instruction = instruction(text, name, &line).map_err(wrong)?;
        if used == room {
            return Err(wrong(Problem::Full { room }));
        }
        memory[used] = Step { line: line.number, instruction };
        used += 1;
    }
    Ok(&memory[..used])
}

/// What is wrong with a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Error<'t> {
    /// The line, counted from 1.
    pub line: u32,
    /// What is wrong in it.
    pub problem: Problem<'t>,
}

/// What may be wrong in a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Problem<'t> {
    /// No instruction has this name.
    UnknownInstruction(&'t str),
    /// No register has this name.
    UnknownRegister(&'t str),
    /// The instruction would write a register of the request.
    ReadOnly(&'t str),
    /// Nothing carries this label.
    UnknownLabel(&'t str),
    /// Another line carries the label too.
    DoubleLabel {
        /// The label.
        label: &'t str,
        /// The first line that carries it.
        first: u32,
    },
    /// This cannot be a label: it is empty, or more than one word.
    BadLabel(&'t str),
    /// This is neither a number nor, for `WAIT`, the name of a delay.
    NoNumber(&'t str),
    /// The number is too small or too large.
    OutOfRange {
        /// The number as written.
        value: &'t str,
        /// The least that is allowed.
        least: i32,
        /// The most that is allowed.
        most: i32,
    },
    /// There are too few or too many operands; the instruction as it is to be written.
    Operands(&'static str),
    /// The memory holds no more than this many instructions.
    Full {
        /// Instructions that fit.
        room: usize,
    },
}

impl fmt::Display for Error<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.problem)
    }
}

impl core::error::Error for Error<'_> {}

impl fmt::Display for Problem<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnknownInstruction(name) => {
                write!(f, "{name} is no instruction; there are")?;
                WRITTEN.iter().try_for_each(|written| write!(f, " {}", name_of(written)))
            }
            Self::UnknownRegister(name) => write!(
                f,
                "{name} is no register; there are r0 to r15, op, chip, row0 to row2, col0, col1 \
                 and len"
            ),
            Self::ReadOnly(name) => {
                write!(f, "{name} belongs to the request and cannot be written; use r1 to r15")
            }
            Self::UnknownLabel(name) => write!(f, "no line has the label {name}"),
            Self::DoubleLabel { label, first } => {
                write!(f, "line {first} has the label {label} too")
            }
            Self::BadLabel(label) => write!(f, "a label is one word, not \"{label}\""),
            Self::NoNumber(word) => {
                write!(f, "{word} is no number; numbers are written as 96, 60h or 0x60")?;
                write!(f, ", delays of WAIT as")?;
                Delay::ALL.iter().try_for_each(|delay| write!(f, " {}", delay.name()))
            }
            Self::OutOfRange { value, least, most } => {
                write!(f, "{value} is out of range; {least} to {most} are allowed")
            }
            Self::Operands(written) => {
                write!(f, "the operands are too few or too many; write {written}")
            }
            Self::Full { room } => write!(f, "the memory holds {room} instructions and is full"),
        }
    }
}

/// A line without its comment.
struct Line<'t> {
    number: u32,
    label: Option<&'t str>,
    rest: &'t str,
}

impl<'t> Line<'t> {
    fn words(&self) -> impl Iterator<Item = &'t str> {
        let between = |letter: char| letter == ',' || letter.is_whitespace();
        self.rest.split(between).filter(|word| !word.is_empty())
    }
}

fn lines(text: &str) -> impl Iterator<Item = Line<'_>> {
    (1..).zip(text.lines()).map(|(number, line)| {
        let code = line.split(';').next().unwrap_or_default();
        match code.split_once(':') {
            Some((label, rest)) => Line { number, label: Some(label.trim()), rest },
            None => Line { number, label: None, rest: code },
        }
    })
}

/// The line of a label, and the instruction that follows it.
fn find(text: &str, label: &str) -> Option<(u32, Target)> {
    let mut before: Target = 0;
    for line in lines(text) {
        if line.label == Some(label) {
            return Some((line.number, before));
        }
        before = before.saturating_add(Target::from(line.words().next().is_some()));
    }
    None
}

fn check_label<'t>(text: &'t str, label: &'t str, number: u32) -> Result<(), Problem<'t>> {
    if label.is_empty() || label.contains(|letter: char| letter == ',' || letter.is_whitespace()) {
        return Err(Problem::BadLabel(label));
    }
    match find(text, label) {
        Some((first, _)) if first != number => Err(Problem::DoubleLabel { label, first }),
        _ => Ok(()),
    }
}

fn name_of(written: &str) -> &str {
    written.split(' ').next().unwrap_or_default()
}

fn instruction<'t>(
    text: &'t str,
    name: &'t str,
    line: &Line<'t>,
) -> Result<Instruction, Problem<'t>> {
    let written = WRITTEN.into_iter().find(|written| name_of(written).eq_ignore_ascii_case(name));
    let written = written.ok_or(Problem::UnknownInstruction(name))?;
    if written.split(' ').count() != line.words().count() {
        return Err(Problem::Operands(written));
    }
    let mut operands = Operands { text, words: line.words().skip(1), written };
    Ok(match name_of(written) {
        "ADDI" => Instruction::Addi(operands.written()?, operands.register()?, operands.number()?),
        "ADD" => Instruction::Add(operands.written()?, operands.register()?, operands.register()?),
        "ANDI" => Instruction::Andi(operands.written()?, operands.register()?, operands.number()?),
        "OR" => Instruction::Or(operands.written()?, operands.register()?, operands.register()?),
        "SLL" => {
            Instruction::Sll(operands.written()?, operands.register()?, operands.number_to(31)?)
        }
        "LW" => Instruction::Lw(operands.written()?, operands.register()?, operands.number()?),
        "SW" => Instruction::Sw(operands.register()?, operands.register()?, operands.number()?),
        "BEQ" => Instruction::Beq(operands.register()?, operands.register()?, operands.label()?),
        "BNE" => Instruction::Bne(operands.register()?, operands.register()?, operands.label()?),
        "J" => Instruction::J(operands.label()?),
        "RCV" => Instruction::Rcv,
        "DSP" => {
            let mut targets = [0; 7];
            for target in &mut targets {
                *target = operands.label()?;
            }
            Instruction::Dsp(targets)
        }
        "CE+" => Instruction::Enable(operands.register()?),
        "CE-" => Instruction::Disable,
        "CMD" => Instruction::Cmd(operands.number()?),
        "ADR" => Instruction::Adr(operands.register()?),
        "DIN" => Instruction::Din(operands.register()?),
        "DOUT" => Instruction::Dout(operands.register()?),
        "WRR" => Instruction::Wrr(operands.register()?),
        "RDR" => Instruction::Rdr(operands.written()?),
        "WAIT" => Instruction::Wait(operands.wait()?),
        _ => Instruction::Snd(operands.register()?),
    })
}

/// The operands of an instruction, one after the other.
struct Operands<'t, W> {
    text: &'t str,
    words: W,
    written: &'static str,
}

/// The whole numbers that an operand may hold.
trait Number: TryFrom<i32> {
    const LEAST: i32;
    const MOST: i32;
}

macro_rules! numbers {
    ($($number:ident)+) => {
        $(impl Number for $number {
            const LEAST: i32 = $number::MIN as i32;
            const MOST: i32 = $number::MAX as i32;
        })+
    };
}

numbers! { u8 u16 i16 }

impl<'t, W: Iterator<Item = &'t str>> Operands<'t, W> {
    fn word(&mut self) -> Result<&'t str, Problem<'t>> {
        self.words.next().ok_or(Problem::Operands(self.written))
    }

    fn register(&mut self) -> Result<Register, Problem<'t>> {
        let name = self.word()?;
        Register::named(name).ok_or(Problem::UnknownRegister(name))
    }

    /// A register that the instruction writes.
    fn written(&mut self) -> Result<Register, Problem<'t>> {
        let name = self.word()?;
        let register = Register::named(name).ok_or(Problem::UnknownRegister(name))?;
        if register.is_general() { Ok(register) } else { Err(Problem::ReadOnly(name)) }
    }

    fn label(&mut self) -> Result<Target, Problem<'t>> {
        let label = self.word()?;
        find(self.text, label).map(|(_, target)| target).ok_or(Problem::UnknownLabel(label))
    }

    fn number<N: Number>(&mut self) -> Result<N, Problem<'t>> {
        number(self.word()?, N::MOST)
    }

    fn number_to<N: Number>(&mut self, most: i32) -> Result<N, Problem<'t>> {
        number(self.word()?, most)
    }

    fn wait(&mut self) -> Result<Wait, Problem<'t>> {
        let word = self.word()?;
        match Delay::ALL.into_iter().find(|delay| delay.name() == word) {
            Some(delay) => Ok(Wait::Delay(delay)),
            None => number(word, u16::MOST).map(Wait::Cycles),
        }
    }
}

fn number<N: Number>(word: &str, most: i32) -> Result<N, Problem<'_>> {
    let (sign, digits) = word.strip_prefix('-').map_or((1, word), |digits| (-1, digits));
    let hexadecimal = digits.strip_prefix("0x").or_else(|| digits.strip_suffix('h'));
    let (digits, radix) = hexadecimal.map_or((digits, 10), |digits| (digits, 16));
    if digits.is_empty() || !digits.chars().all(|digit| digit.is_digit(radix)) {
        return Err(Problem::NoNumber(word));
    }
    let value = i32::from_str_radix(digits, radix).ok().map(|value| sign * value);
    value
        .filter(|value| *value <= most)
        .and_then(|value| N::try_from(value).ok())
        .ok_or(Problem::OutOfRange { value: word, least: N::LEAST, most })
}

#[cfg(test)]
mod tests;
