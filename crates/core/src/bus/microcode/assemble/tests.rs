//! What the assembler writes, and what it says of programs that are wrong.

use super::*;
use std::string::ToString;

fn assembled<'m>(text: &str, memory: &'m mut [Step]) -> &'m [Step] {
    match assemble(text, memory) {
        Ok(steps) => steps,
        Err(error) => panic!("{error}"),
    }
}

/// The only instruction of a program.
#[track_caller]
fn one(text: &str) -> Instruction {
    let mut memory = [Step::UNUSED; 1];
    assembled(text, &mut memory)[0].instruction
}

#[track_caller]
fn register(name: &str) -> Register {
    Register::named(name).expect("it has this name")
}

#[test]
fn every_instruction_is_written_as_it_is_documented() {
    let [r0, r1, r15] = ["r0", "r1", "r15"].map(register);
    let [op, chip, len] = ["op", "chip", "len"].map(register);
    assert_eq!(one("ADDI r1, r15, -32768"), Instruction::Addi(r1, r15, i16::MIN));
    assert_eq!(one("ADD r1, op, len"), Instruction::Add(r1, op, len));
    assert_eq!(one("ANDI r1, r1, 0xFFFF"), Instruction::Andi(r1, r1, u16::MAX));
    assert_eq!(one("OR r1, r0, r15"), Instruction::Or(r1, r0, r15));
    assert_eq!(one("SLL r1, r1, 31"), Instruction::Sll(r1, r1, 31));
    assert_eq!(one("LW r1, r0, 4"), Instruction::Lw(r1, r0, 4));
    assert_eq!(one("SW chip, r0, 4"), Instruction::Sw(chip, r0, 4));
    assert_eq!(one("x: BEQ r0, r0, x"), Instruction::Beq(r0, r0, 0));
    assert_eq!(one("BNE r0, r1, x\nx:"), Instruction::Bne(r0, r1, 1));
    assert_eq!(one("x: J x"), Instruction::J(0));
    assert_eq!(one("RCV"), Instruction::Rcv);
    assert_eq!(one("a: DSP a b a b a b a\nb:"), Instruction::Dsp([0, 1, 0, 1, 0, 1, 0]));
    assert_eq!(one("CE+ chip"), Instruction::Enable(chip));
    assert_eq!(one("CE-"), Instruction::Disable);
    assert_eq!(one("CMD E0h"), Instruction::Cmd(0xE0));
    assert_eq!(one("ADR r15"), Instruction::Adr(r15));
    assert_eq!(one("DIN len"), Instruction::Din(len));
    assert_eq!(one("DOUT len"), Instruction::Dout(len));
    assert_eq!(one("WRR r1"), Instruction::Wrr(r1));
    assert_eq!(one("RDR r1"), Instruction::Rdr(r1));
    assert_eq!(one("WAIT 65535"), Instruction::Wait(Wait::Cycles(u16::MAX)));
    assert_eq!(one("SND r0"), Instruction::Snd(r0));
    for delay in Delay::ALL {
        let text = std::format!("WAIT {}", delay.name());
        assert_eq!(one(&text), Instruction::Wait(Wait::Delay(delay)));
    }
}

#[test]
fn registers_have_one_name() {
    for name in ["r16", "r01", "r", "r+1", "r-1", "R1", "row3", "col2", "", "1"] {
        assert_eq!(Register::named(name), None, "{name}");
    }
    assert_ne!(register("row0"), register("row1"));
}

#[test]
fn labels_and_lines_are_those_of_the_text() {
    let text = "; a comment: and no label\n\
                start:\n\
                \n\
                \x20 rcv ; in small letters\n\
                again: addi r1 r1 1\n\
                \x20 bne r1, len, again\n\
                \x20 j end\n\
                end:";
    let mut memory = [Step::UNUSED; 9];
    let steps = assembled(text, &mut memory);
    assert_eq!(steps.iter().map(|step| step.line).collect::<std::vec::Vec<_>>(), [4, 5, 6, 7]);
    let (r1, len) = (register("r1"), register("len"));
    assert_eq!(steps[2].instruction, Instruction::Bne(r1, len, 1));
    assert_eq!(steps[3].instruction, Instruction::J(4));
}

#[test]
fn an_error_has_its_line_and_says_what_is_wrong() {
    #[track_caller]
    fn check(text: &str, expected: &str) {
        let mut memory = [Step::UNUSED; 3];
        let error = assemble(text, &mut memory).expect_err("it is wrong");
        assert_eq!(error.to_string(), expected);
    }
    check(
        "RCV\n\nNOP",
        "line 3: NOP is no instruction; there are ADDI ADD ANDI OR SLL LW SW BEQ BNE J RCV DSP CE+ \
         CE- CMD ADR DIN DOUT WRR RDR WAIT SND",
    );
    let registers = "there are r0 to r15, op, chip, row0 to row2, col0, col1 and len";
    check("ADR row3", &std::format!("line 1: row3 is no register; {registers}"));
    check("SND r16", &std::format!("line 1: r16 is no register; {registers}"));
    check(
        "ADDI len, r0, 1",
        "line 1: len belongs to the request and cannot be written; use r1 to r15",
    );
    check("CMD 256", "line 1: 256 is out of range; 0 to 255 are allowed");
    check("CMD -1", "line 1: -1 is out of range; 0 to 255 are allowed");
    check("CMD 99999999999", "line 1: 99999999999 is out of range; 0 to 255 are allowed");
    check("SLL r1, r1, 32", "line 1: 32 is out of range; 0 to 31 are allowed");
    check("ADDI r1, r1, 8000h", "line 1: 8000h is out of range; -32768 to 32767 are allowed");
    check(
        "WAIT tRP",
        "line 1: tRP is no number; numbers are written as 96, 60h or 0x60, delays of WAIT as tWB \
         tADL tCCS tWHR",
    );
    for word in ["h", "0x", "--1", "+1", "6O"] {
        let mut memory = [Step::UNUSED; 1];
        let text = std::format!("CMD {word}");
        let problem = assemble(&text, &mut memory).expect_err("it is wrong").problem;
        assert_eq!(problem, Problem::NoNumber(word));
    }
    check("RCV\nJ nowhere", "line 2: no line has the label nowhere");
    check("x: RCV\nx: RCV", "line 2: line 1 has the label x too");
    check("two words: RCV", "line 1: a label is one word, not \"two words\"");
    check(": RCV", "line 1: a label is one word, not \"\"");
    check("RCV r1", "line 1: the operands are too few or too many; write RCV");
    check("ADD r1, r2", "line 1: the operands are too few or too many; write ADD to, one, other");
    check(
        "x: DSP x, x, x, x, x, x",
        "line 1: the operands are too few or too many; write DSP ea, pp, id, pa, ra, od, st",
    );
    check("RCV\nRCV\nRCV\nRCV", "line 4: the memory holds 3 instructions and is full");
}
