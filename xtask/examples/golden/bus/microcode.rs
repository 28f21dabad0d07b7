//! Worked examples of the microcoded controller: cycles of instructions, programs, durations.

use crate::tally::{Tally, entries, number};
use anyhow::{Context, Result, anyhow, bail, ensure};
use flashyard_core::bus::microcode::assemble::assemble;
use flashyard_core::bus::microcode::isa::Step;
use flashyard_core::bus::microcode::machine::Machine;
use flashyard_core::bus::microcode::programs::STANDARD;
use flashyard_core::bus::microcode::timing::{Delay, TimingSet};
use flashyard_core::bus::request::BusKind;
use flashyard_core::units::Span;
use serde_json::{Map, Value, json};
use std::fmt::Write as _;

/// Room for the programs of a file.
const STEPS: usize = 1_000;

/// A controller with the times and the programs of a file; without any, those of the framework and
/// the standard programs.
pub(super) struct Microcode {
    machine: Machine<Vec<Step>, [u32; 0]>,
}

impl Microcode {
    pub(super) fn of(microcode: Option<&Value>) -> Result<Self> {
        let (text, timing) = match microcode {
            None => (STANDARD.to_owned(), TimingSet::FRAMEWORK),
            Some(value) => (text(value).context("microcode")?, timing(value).context("microcode")?),
        };
        let mut memory = vec![Step::UNUSED; STEPS];
        let program = assemble(&text, &mut memory);
        let program = program.map_err(|error| anyhow!("microcode: {error} of\n{text}"))?;
        Ok(Self { machine: Machine::new(program.to_vec(), [], timing, 256) })
    }

    /// How long a request holds the bus, of `bytes` if it moves data.
    pub(super) fn duration(&mut self, kind: BusKind, bytes: u32) -> Result<Span> {
        let duration = self.machine.duration(kind, bytes);
        duration.map_err(|fault| anyhow!("{}: {fault}", kind.name()))
    }

    /// Compares the cycles of instructions and the durations with what is expected.
    pub(super) fn check(&mut self, value: &Value, tally: &mut Tally) -> Result<()> {
        tally.known(value, &["cycle_ns", "programs", "instruction_cycles", "duration_ns"]);
        if let Some(cycles) = value.get("instruction_cycles") {
            self.check_cycles(cycles, tally)?;
        }
        match value.get("duration_ns") {
            Some(durations) => self.check_durations(durations, tally),
            None => Ok(()),
        }
    }

    fn check_cycles(&self, expected: &Value, tally: &mut Tally) -> Result<()> {
        for (names, expected) in entries(expected)? {
            let (names, operand) = names.split_once(' ').unwrap_or((names, ""));
            for name in names.split('/') {
                let found = self.cycles(name, 4_096)?;
                if operand == "n" && expected.as_str().is_some_and(|text| text.starts_with('n')) {
                    // `n` is the wait or, at `n` bytes, the bytes of a cycle: see `timing`.
                    let bytes = match name {
                        "DIN" | "DOUT" => u64::from(self.machine.timing().bytes_per_cycle),
                        _ => 1,
                    };
                    tally.same(&format!("{name} of 4096"), &json!(4_096), &json!(found * bytes));
                } else {
                    tally.same(name, expected, &json!(found));
                }
            }
        }
        Ok(())
    }

    /// The cycles of an instruction with an operand of `n`.
    fn cycles(&self, name: &str, n: u32) -> Result<u64> {
        let line = match name {
            "RCV" | "CE-" => name.to_owned(),
            "DSP" => "A: DSP A, A, A, A, A, A, A".to_owned(),
            "J" => "A: J A".to_owned(),
            "BEQ" | "BNE" => format!("A: {name} r1, r2, A"),
            "CE+" => "CE+ chip".to_owned(),
            "CMD" => "CMD 70h".to_owned(),
            "WAIT" => format!("WAIT {n}"),
            "ADD" | "OR" => format!("{name} r1, r2, r3"),
            "ADDI" | "ANDI" | "SLL" | "LW" | "SW" => format!("{name} r1, r2, 1"),
            _ => format!("{name} r1"),
        };
        let mut memory = [Step::UNUSED];
        let step = assemble(&line, &mut memory).map_err(|error| anyhow!("{name}: {error}"))?;
        Ok(step[0].instruction.cycles(self.machine.timing(), n).get())
    }

    fn check_durations(&mut self, expected: &Value, tally: &mut Tally) -> Result<()> {
        for (name, expected) in entries(expected)? {
            let kind = BusKind::ALL.into_iter().find(|kind| kind.name() == name);
            let kind = kind.with_context(|| format!("request {name} is unknown"))?;
            let found = match expected.as_object() {
                None => json!(self.duration(kind, 0)?.as_ns()),
                Some(sizes) => {
                    let mut found = Map::new();
                    for size in sizes.keys() {
                        let bytes = size.parse().with_context(|| format!("{name}: size {size}"))?;
                        found.insert(size.clone(), json!(self.duration(kind, bytes)?.as_ns()));
                    }
                    Value::Object(found)
                }
            };
            tally.same(name, expected, &found);
        }
        Ok(())
    }
}

/// The times of a file. Delays are the cycles of the waits that its programs name.
fn timing(value: &Value) -> Result<TimingSet> {
    let cycle_ns = u32::try_from(number(value, "cycle_ns")?)?;
    ensure!(cycle_ns > 0, "cycle_ns is 0");
    let cycles = &value["instruction_cycles"];
    let mut timing = TimingSet { name: "file", cycle_ns, ..TimingSet::FRAMEWORK };
    if cycles.get("CMD").is_some() {
        timing.latch_cycles = u32::try_from(number(cycles, "CMD")?)?;
    }
    // "n (1 byte per cycle = 100 MB/s)"
    let data = cycles.get("DIN/DOUT n").and_then(Value::as_str).unwrap_or("n (1 byte");
    let bytes = data.split_once('(').and_then(|(_, text)| text.split(' ').next());
    timing.bytes_per_cycle = bytes.and_then(|text| text.parse().ok()).unwrap_or(1).max(1);
    let mut delays = [
        (Delay::Busy, &mut timing.busy_ns),
        (Delay::AddressToData, &mut timing.address_to_data_ns),
        (Delay::ColumnChange, &mut timing.column_change_ns),
        (Delay::CommandToStatus, &mut timing.command_to_status_ns),
    ];
    for (delay, ns) in &mut delays {
        let mut known = None;
        for (_, program) in value.get("programs").map(entries).transpose()?.into_iter().flatten() {
            for line in program.as_array().context("a program is no list")? {
                let wait = format!("WAIT {} x", delay.name());
                let Some(text) = line.as_str().and_then(|line| line.strip_prefix(&wait)) else {
                    continue;
                };
                let wait: u32 = text.parse().with_context(|| format!("{line} is not whole"))?;
                ensure!(known.is_none_or(|known| known == wait), "{} has two values", delay.name());
                (known, **ns) = (Some(wait), wait * cycle_ns);
            }
        }
    }
    Ok(timing)
}

/// The programs of a file as text of the assembler. Kinds without a program in the file have the
/// standard one.
fn text(value: &Value) -> Result<String> {
    let mut text = String::from("RCV\nDSP EA, PP, ID, PA, RA, OD, ST\n");
    let programs = value.get("programs");
    for (name, _) in programs.map(entries).transpose()?.into_iter().flatten() {
        let is_known = BusKind::ALL.iter().any(|kind| kind.name() == name);
        ensure!(is_known, "program {name} is of no request");
    }
    for kind in BusKind::ALL {
        let name = kind.name();
        writeln!(text, "{name}:")?;
        if let Some(program) = programs.and_then(|programs| programs.get(name)) {
            text += &lines(program.as_array().context("no list")?).context(name)?;
        } else {
            let (_, rest) = STANDARD.split_once(&format!("\n{name}:")).context(name)?;
            text += rest.split("\n\n").next().unwrap_or_default();
        }
        text.push('\n');
    }
    Ok(text)
}

/// The lines of a program, which says of each instruction how often it is there: `ADR row x3`.
fn lines(program: &[Value]) -> Result<String> {
    let words = program.iter().map(|line| line.as_str().context("a line is no text"));
    let words = words.collect::<Result<Vec<_>>>()?;
    ensure!(words.starts_with(&["RCV x1", "DSP x1"]), "it does not begin with RCV, DSP");
    let reads_status = words.iter().any(|line| line.starts_with("RDR"));
    let mut text = String::new();
    for line in &words[2..] {
        let (instruction, times) =
            line.rsplit_once(" x").with_context(|| format!("{line}: no x"))?;
        if let Some(registers) = instruction.strip_prefix("ADR ") {
            let times = times.parse().with_context(|| format!("{line}: how often?"))?;
            let named: &[&str] = match registers {
                "row" => &["row0", "row1", "row2"],
                "col" => &["col0", "col1"],
                "col+row" => &["col0", "col1", "row0", "row1", "row2"],
                _ => bail!("{line}: row, col or col+row"),
            };
            let some = named.get(..times).with_context(|| format!("{line}: too many bytes"))?;
            some.iter().try_for_each(|register| writeln!(text, "ADR {register}"))?;
            continue;
        }
        let delay = |name: &str| Delay::ALL.iter().any(|delay| delay.name() == name);
        match instruction {
            "CE+" => text += "CE+ chip\n",
            "RDR" => text += "RDR r1\n",
            "SND" if reads_status => text += "SND r1\n",
            "SND" => text += "SND r0\n",
            "DIN" | "DOUT" if times == "len" => writeln!(text, "{instruction} len")?,
            _ => match instruction.strip_prefix("WAIT") {
                Some(name) if delay(name.trim()) => writeln!(text, "{instruction}")?,
                Some(_) => writeln!(text, "WAIT {times}")?,
                None => {
                    ensure!(times == "1", "{line}: {instruction} is there once");
                    writeln!(text, "{instruction}")?;
                }
            },
        }
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use flashyard_core::bus::microcode::isa::Instruction;

    fn checked(file: &Value) -> Result<(usize, usize)> {
        let mut tally = Tally::default();
        Microcode::of(Some(file))?.check(file, &mut tally)?;
        tally.end()
    }

    /// Instructions without their lines.
    fn instructions(text: &str) -> Vec<Instruction> {
        let mut memory = vec![Step::UNUSED; STEPS];
        let steps = assemble(text, &mut memory).expect("it is right");
        steps.iter().map(|step| step.instruction).collect()
    }

    fn file() -> Value {
        let program = |lines: &str| {
            let lines = ["RCV", "DSP", "CE+"].into_iter().chain(lines.split(", "));
            let line = |line: &str| match line.split_once('*') {
                Some((line, times)) => format!("{line} x{times}"),
                None => format!("{line} x1"),
            };
            lines.chain(["CE-", "SND"]).map(line).collect::<Vec<_>>()
        };
        let programs = json!({
            "EA": program("CMD 60h, ADR row*3, CMD D0h, WAIT tWB*10"),
            "PP": program("CMD 80h, ADR col+row*5, WAIT tADL*10"),
            "ID": program("CMD 85h, ADR col*2, WAIT tCCS*20, DIN*len"),
            "PA": program("CMD 10h, WAIT tWB*10"),
            "RA": program("CMD 00h, ADR col+row*5, CMD 30h, WAIT tWB*10"),
            "OD": program("CMD 05h, ADR col*2, CMD E0h, WAIT tCCS*20, DOUT*len"),
            "ST": program("CMD 70h, WAIT tWHR*8, RDR"),
        });
        let cycles = json!({"RCV": 1, "DSP": 1, "CE+": 1, "CE-": 1, "CMD": 3, "ADR": 3, "RDR": 3,
            "SND": 1, "WAIT n": "n", "DIN/DOUT n": "n (1 byte per cycle = 100 MB/s)"});
        let durations = json!({"EA": 300, "ID": {"1024": 10_580, "4096": 41_300}, "ST": 190});
        json!({"cycle_ns": 10, "instruction_cycles": cycles, "programs": programs,
            "duration_ns": durations})
    }

    #[test]
    fn the_programs_of_a_file_are_the_standard_ones() {
        let file = file();
        assert_eq!(instructions(&text(&file).unwrap()), instructions(STANDARD));
        let found = timing(&file).unwrap();
        assert_eq!(TimingSet { name: "framework", ..found }, TimingSet::FRAMEWORK);
        assert_eq!(checked(&file).expect("it is right").1, 11 + 4);
    }

    #[test]
    fn times_are_those_of_the_file() {
        let mut file = file();
        file["cycle_ns"] = 5.into();
        file["instruction_cycles"]["CMD"] = 2.into();
        file["programs"]["PA"][4] = "WAIT tWB x7".into();
        let error = |file: &Value| {
            let text = format!("{:#}", checked(file).expect_err("it is wrong"));
            text.split_once("\n  ").map_or(text.clone(), |(_, lines)| lines.to_owned())
        };
        assert_eq!(error(&file), "microcode: tWB has two values");
        file["programs"] = json!({"PA": file["programs"]["PA"]});
        // All latches have the cycles of the file, which does not expect that of each.
        let lines = error(&file);
        assert!(
            lines.starts_with("ADR: expected 3, found 2\n  RDR: expected 3, found 2"),
            "{lines}"
        );
        // Two cycles of the latch, seven of the wait and five others, of 5 ns.
        file["instruction_cycles"] = json!({"CMD": 2});
        file["duration_ns"] = json!({"PA": 70});
        assert_eq!(checked(&file).expect("PA is of the file").1, 2);
    }
}
