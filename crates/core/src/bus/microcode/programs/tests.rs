//! The standard programs against worked examples of their times, and against the sequences of ONFI.

use super::super::isa::Cycles;
use super::super::machine::{Pins, READY};
use super::*;
use crate::bus::request::{BusKind, BusRequest};
use crate::units::Span;
use std::format;
use std::string::String;
use std::vec::Vec;

const KIB: [u32; 5] = [1, 2, 4, 8, 16];

fn framework() -> Controller {
    Controller::standard(TimingSet::FRAMEWORK, 256)
}

fn request(kind: BusKind, bytes: u32) -> BusRequest {
    BusRequest {
        operation: 1,
        stream: 0,
        kind,
        channel: 0,
        chip: 2,
        block: 0x0ABC,
        page: 0xDE,
        plane: 0,
        offset: 0x3010,
        bytes,
    }
}

#[test]
fn the_standard_programs_fill_their_memory() {
    let mut steps = [Step::UNUSED; STANDARD_STEPS + 1];
    let used = assemble(STANDARD, &mut steps).expect("they are right");
    assert_eq!(used.len(), STANDARD_STEPS);
}

/// Worked example, cycle by cycle of 10 ns: an erase is RCV 1, DSP 1, CE+ 1, CMD 3, ADR 3 times 3,
/// CMD 3, WAIT 10, CE- 1, SND 1: 30 cycles.
#[test]
fn requests_hold_the_bus_for_the_cycles_of_their_programs() {
    for kib in KIB {
        let bytes = kib * 1024;
        let durations = framework().durations(bytes).expect("they are right");
        let data_ns = 10 * u64::from(bytes);
        let expected = [
            (BusKind::EraseActivate, 300),
            (BusKind::ProgramProlog, 330),
            (BusKind::DataIn, 340 + data_ns),
            (BusKind::ProgramActivate, 180),
            (BusKind::ReadActivate, 360),
            (BusKind::DataOut, 370 + data_ns),
            (BusKind::Status, 190),
        ];
        for (kind, ns) in expected {
            assert_eq!(durations.of(kind), Span::from_ns(ns), "{} {kib} KiB", kind.name());
        }
    }
    let data = |kind| KIB.map(|kib| framework().duration(kind, kib * 1024).unwrap().as_ns());
    assert_eq!(data(BusKind::DataIn), [10_580, 20_820, 41_300, 82_260, 164_180]);
    assert_eq!(data(BusKind::DataOut), [10_610, 20_850, 41_330, 82_290, 164_210]);
}

/// Worked example: operations of a page of four chunks of 4 KiB on an idle bus, the status asked
/// for when the array is done: tR 75 us, tPROG 1.5 ms, tBERS 5 ms. They are the costs of fair
/// queueing.
#[test]
fn single_operations_take_their_bus_times_and_the_array() {
    let durations = framework().durations(4096).expect("they are right");
    let sum = |array_us: u64, kinds: &[(u64, BusKind)]| {
        let on_bus = |&(count, kind): &(u64, BusKind)| count * durations.of(kind).as_ns();
        array_us * 1_000 + kinds.iter().map(on_bus).sum::<u64>()
    };
    let (status, prolog) = ((1, BusKind::Status), (1, BusKind::ProgramProlog));
    let read = sum(75, &[(1, BusKind::ReadActivate), status, (4, BusKind::DataOut)]);
    assert_eq!(read, 240_870);
    let activate = (1, BusKind::ProgramActivate);
    assert_eq!(sum(1_500, &[prolog, (4, BusKind::DataIn), activate, status]), 1_665_900);
    assert_eq!(sum(5_000, &[(1, BusKind::EraseActivate), status]), 5_000_490);
}

/// Cycles that are the same in every program: RCV, DSP, CE+, CE-, SND.
const FRAME: u64 = 5;

#[test]
fn other_timing_sets_round_delays_up_to_cycles() {
    let ns = |timing, kind| {
        Controller::standard(timing, 256).duration(kind, 4096).expect("it is right").as_ns()
    };
    // 20 ns a cycle and a latched byte: tWB 5, tADL 20, tCCS 25, tWHR 4 cycles.
    let sdr = |kind| ns(TimingSet::SDR_50, kind);
    assert_eq!(sdr(BusKind::EraseActivate), 20 * (FRAME + 5 + 5));
    assert_eq!(sdr(BusKind::ProgramProlog), 20 * (FRAME + 6 + 20));
    assert_eq!(sdr(BusKind::DataIn), 20 * (FRAME + 3 + 25 + 4096));
    assert_eq!(sdr(BusKind::Status), 20 * (FRAME + 1 + 4 + 1));
    // 10 ns a cycle, three a latched byte, two bytes of data a cycle.
    let ddr = |kind| ns(TimingSet::NV_DDR_200, kind);
    assert_eq!(ddr(BusKind::ReadActivate), 10 * (FRAME + 7 * 3 + 10));
    assert_eq!(ddr(BusKind::DataOut), 10 * (FRAME + 4 * 3 + 50 + 2048));
    // A third of a cycle is a cycle.
    let odd = TimingSet { cycle_ns: 30, bytes_per_cycle: 3, ..TimingSet::FRAMEWORK };
    assert_eq!(ns(odd, BusKind::ProgramActivate), 30 * (FRAME + 3 + 4));
    assert_eq!(ns(odd, BusKind::DataIn), 30 * (FRAME + 9 + 7 + 1366));
}

/// Pins that write down what they see.
#[derive(Default)]
struct Sequence(Vec<String>);

impl Pins for Sequence {
    fn enable(&mut self, chip: u32, _at: Cycles) {
        self.0.push(format!("chip {chip}:"));
    }
    fn disable(&mut self, _at: Cycles) {
        self.0.push("over".into());
    }
    fn command(&mut self, byte: u8, _at: Cycles) {
        self.0.push(format!("{byte:02X}h"));
    }
    fn address(&mut self, byte: u8, _at: Cycles) {
        self.0.push(format!("{byte:02x}"));
    }
    fn data_in(&mut self, bytes: u32, _at: Cycles) {
        self.0.push(format!("in {bytes}"));
    }
    fn data_out(&mut self, bytes: u32, _at: Cycles) {
        self.0.push(format!("out {bytes}"));
    }
    fn read_register(&mut self, at: Cycles) -> u8 {
        self.0.push(format!("status at {}", at.get()));
        READY
    }
}

/// Row 0x0ABCDE and column 0x3010, lowest byte first. The status is that of 40 ns before the end of
/// the request, 19 cycles.
#[test]
fn chips_see_the_sequences_of_onfi() {
    let expected = [
        "60h de bc 0a D0h",
        "80h 10 30 de bc 0a",
        "85h 10 30 in 4096",
        "10h",
        "00h 10 30 de bc 0a 30h",
        "05h 10 30 E0h out 4096",
        "70h status at 15",
    ];
    let mut controller = framework();
    for (kind, expected) in BusKind::ALL.into_iter().zip(expected) {
        let mut pins = Sequence::default();
        controller.serve(&request(kind, 4096), &mut pins).expect("it is right");
        assert_eq!(pins.0.join(" "), format!("chip 2: {expected} over"), "{}", kind.name());
        let response = controller.response().expect("it was served");
        assert_eq!((response.operation, response.kind, response.chip), (1, kind, 2));
        assert_eq!(response.status, if kind == BusKind::Status { READY } else { 0 });
    }
}

#[test]
fn a_data_request_without_data_is_a_fault() {
    for (kind, instruction) in [(BusKind::DataIn, "DIN len"), (BusKind::DataOut, "DOUT len")] {
        let fault = framework().duration(kind, 0).expect_err("it has none");
        let line = STANDARD.lines().position(|line| line.trim() == instruction).expect("is there");
        assert_eq!(usize::try_from(fault.line), Ok(line + 1));
    }
}

/// Programs in which words or lines are replaced by others at random are refused, run or end in a
/// fault of one of their lines.
#[test]
fn no_program_breaks_the_machine() {
    let mut random = 5_u64;
    let mut below = |bound: usize| {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(99);
        usize::try_from(random >> 33).expect("31 bits") % bound
    };
    let words: Vec<&str> = STANDARD.split_inclusive([' ', '\n']).collect();
    let lines: Vec<&str> = STANDARD.split_inclusive('\n').collect();
    let others = ["J RA\n", "BEQ r1, r2, ST\n", "LW r1, len, -9\n", "RCV\n", "DIN col1\n"];
    let (mut refused, mut faults, mut served) = (0, 0, 0);
    for round in 0..4_000 {
        let mut text = if round % 4 == 0 { words.clone() } else { lines.clone() };
        for _ in 0..2 {
            let place = below(text.len());
            let other = below(text.len() + others.len());
            let other = text.get(other).unwrap_or_else(|| &others[other - text.len()]);
            if !text[place].contains(':') {
                text[place] = other.split_once(':').map_or(*other, |(_, instruction)| instruction);
            }
        }
        let text = text.concat();
        let mut steps = [Step::UNUSED; 100];
        let Ok(program) = assemble(&text, &mut steps) else {
            refused += 1;
            continue;
        };
        let mut machine = Machine::new(program, [0; 4], TimingSet::FRAMEWORK, 256);
        match machine.durations(4096) {
            Ok(_) => served += 1,
            Err(fault) => {
                let line = usize::try_from(fault.line).expect("it is small");
                assert!((1..=text.lines().count()).contains(&line), "{fault}");
                faults += 1;
            }
        }
    }
    assert!(refused > 100 && faults > 100 && served > 100, "{refused} {faults} {served}");
}
