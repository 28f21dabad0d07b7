//! What instructions do and cost, and every fault with its line.

use super::super::assemble::assemble;
use super::*;
use std::format;
use std::string::{String, ToString};
use std::vec::Vec;

/// A data request of 4 KiB to chip 3, the pages of a block being 256.
const WRITE: BusRequest = BusRequest {
    operation: 77,
    stream: 0,
    kind: BusKind::DataIn,
    channel: 0,
    chip: 3,
    block: 0x0ABC,
    page: 0xDE,
    plane: 0,
    offset: 0x3000,
    bytes: 4096,
};

/// Serves requests, with two words of scratch memory.
fn serve(text: &str, requests: &[BusRequest]) -> (Result<Cycles, Fault>, Option<Response>) {
    let mut steps = [Step::UNUSED; 40];
    let program = assemble(text, &mut steps).unwrap_or_else(|error| panic!("{error}"));
    let mut machine = Machine::new(program, [0; 2], TimingSet::FRAMEWORK, 256);
    let mut served = Ok(Cycles::default());
    for request in requests {
        served = machine.serve(request, &mut NoPins);
    }
    (served, machine.response())
}

/// What a program of plain instructions leaves in `r1`, and its cycles without RCV and SND.
#[track_caller]
fn calculated(text: &str) -> (u8, u64) {
    let (served, response) = serve(&format!("RCV\n{text}\nSND r1"), &[WRITE]);
    let cycles = served.unwrap_or_else(|fault| panic!("{fault}")).get();
    (response.expect("it was served").status, cycles - 2)
}

#[test]
fn numbers_are_calculated_in_a_cycle_each() {
    assert_eq!(calculated("ADDI r1, r0, 200"), (200, 1));
    assert_eq!(calculated("ADDI r1, r0, -1\nADDI r1, r1, 6"), (5, 2));
    assert_eq!(calculated("ADDI r2, r0, 7\nADD r1, r2, r2"), (14, 2));
    assert_eq!(calculated("ANDI r1, row0, 0Fh"), (0x0E, 1));
    assert_eq!(calculated("ADDI r2, r0, 1\nOR r1, r2, chip"), (3, 2));
    assert_eq!(calculated("SLL r1, chip, 3"), (24, 1));
    assert_eq!(calculated("SW chip, r0, 1\nADDI r2, r0, 2\nLW r1, r2, -1"), (3, 3));
    assert_eq!(calculated("ADDI r0, r0, 9\nOR r1, r0, r0"), (0, 2), "r0 is always 0");
}

#[test]
fn branches_take_a_cycle_either_way() {
    let count = "ADDI r2, r0, 5\nagain: ADDI r1, r1, 1\nBNE r1, r2, again";
    assert_eq!(calculated(count), (5, 11));
    assert_eq!(calculated("BEQ r0, r0, over\nADDI r1, r0, 1\nover: J next\nnext:"), (0, 2));
    assert_eq!(calculated("BEQ r0, chip, over\nADDI r1, r0, 1\nover:"), (1, 2));
}

#[test]
fn the_request_is_in_its_registers() {
    // The row is 0xABC * 256 + 0xDE, the column 0x3000.
    let expected = [
        ("op", 2),
        ("chip", 3),
        ("row0", 0xDE),
        ("row1", 0xBC),
        ("row2", 0x0A),
        ("col0", 0x00),
        ("col1", 0x30),
    ];
    for (register, value) in expected {
        assert_eq!(calculated(&format!("OR r1, {register}, r0")).0, value, "{register}");
    }
    let length = "ADDI r2, r0, 4096\nBNE r2, len, over\nADDI r1, r0, 1\nover:";
    assert_eq!(calculated(length).0, 1);
}

/// The cycles of the bus: 3 a latched byte, 1 a data byte, those of WAIT, 1 for all else.
#[test]
fn the_bus_takes_the_cycles_of_its_bytes() {
    let (served, response) = serve(
        "RCV\nCE+ chip\nCMD 1\nADR row0\nWRR r1\nRDR r1\nWAIT 7\nWAIT tCCS\nDIN len\nCE-\nSND r1",
        &[WRITE],
    );
    assert_eq!(served, Ok(Cycles::new(2 + 4 * 3 + 7 + 20 + 4096 + 2)));
    let expected = Response { operation: 77, kind: BusKind::DataIn, chip: 3, status: READY };
    assert_eq!(response, Some(expected));
}

/// Registers and memory last from one request to the next; data that were moved do not.
#[test]
fn the_machine_remembers() {
    let text = "RCV\nLW r2, r0, 1\nADDI r2, r2, 1\nSW r2, r0, 1\nADD r1, r1, r2\n\
                CE+ chip\nDIN len\nCE-\nSND r1";
    assert_eq!(serve(text, &[WRITE; 4]).1.expect("it was served").status, 1 + 2 + 3 + 4);
}

#[test]
fn a_transfer_may_be_moved_in_parts() {
    let text = "RCV\nCE+ chip\nADDI r1, r0, 1024\nagain: DIN r1\nADD r2, r2, r1\n\
                BNE r2, len, again\nCE-\nSND r0";
    assert_eq!(serve(text, &[WRITE]).0, Ok(Cycles::new(3 + 4 * 1026 + 2)));
}

#[test]
fn a_fault_has_its_line_and_says_what_is_wrong() {
    #[track_caller]
    fn check(text: &str, expected: &str) {
        let (served, response) = serve(text, &[WRITE]);
        assert_eq!(served.expect_err("it is wrong").to_string(), expected);
        assert_eq!(response, None);
    }
    let outside = "the program goes on outside of its instructions";
    check("", &format!("line 0: {outside}"));
    check("\nRCV\n; the end", &format!("line 2: {outside}"));
    check("RCV\nJ end\nSND r0\nend:", &format!("line 2: {outside}"));
    check("RCV\nRCV\nSND r0", "line 2: RCV waits for a second request; SND answers the first");
    check("x: DSP x, x, x, x, x, x, x", "line 1: the request is used before RCV receives it");
    check("SND r0", "line 1: the request is used before RCV receives it");
    check(
        "RCV\nCE+ chip\nDOUT len\nCE-\nSND r0",
        "line 3: waits for 4096 bytes of data; the request has 0 left",
    );
    check(
        "RCV\nCE+ chip\nDIN len\nDIN r0",
        "line 4: waits for 0 bytes of data; the request has 0 left",
    );
    check(
        "RCV\nCE+ chip\nADDI r1, len, 1\nDIN r1",
        "line 4: waits for 4097 bytes of data; the request has 4096 left",
    );
    for bus in ["CMD 70h", "ADR r0", "DIN len", "DOUT len", "WRR r0", "RDR r1"] {
        let expected = "line 5: uses the bus while no chip is enabled";
        check(&format!("\n\n\nRCV\n{bus}\nSND r0"), expected);
        check(&format!("RCV\nCE+ chip\n\nCE-\n{bus}\nSND r0"), expected);
    }
    check("RCV\nCE+ chip\nCE+ chip", "line 3: enables a chip while another one is enabled");
    check("RCV\nCE+ chip\nSND r0", "line 3: answers while the chip is still enabled");
    check("RCV\nLW r1, r0, 2", "line 2: word 2 lies outside of the scratch memory");
    check("RCV\nSW r1, r0, -1", "line 2: word 4294967295 lies outside of the scratch memory");
    check("RCV\n\nx: J x", "line 3: the request takes more than 100000 instructions");
}

/// A row of three bytes and a column of two is the longest address.
#[test]
fn an_address_that_does_not_fit_is_a_fault() {
    let last = BusRequest { block: 0xFFFF, page: 0xFF, offset: 0xFFFF, ..WRITE };
    assert_eq!(serve("RCV\nSND r0", &[last]).0, Ok(Cycles::new(2)));
    let long = [
        BusRequest { block: 0x1_0000, page: 0, ..WRITE },
        BusRequest { block: u32::MAX, ..WRITE },
        BusRequest { offset: 0x1_0000, ..WRITE },
    ];
    for request in long {
        let expected = Fault { line: 1, cause: Cause::LongAddress };
        assert_eq!(serve("RCV\nSND r0", &[request]).0, Err(expected));
    }
}

/// A fault leaves nothing behind that the next request would stumble over.
#[test]
fn a_machine_serves_on_after_a_fault() {
    let text = "RCV\nCE+ chip\nDIN len\nCE-\nSND r0";
    let none = BusRequest { bytes: 0, ..WRITE };
    assert!(serve(text, &[none]).0.is_err());
    assert_eq!(serve(text, &[none, WRITE]), serve(text, &[WRITE]));
}

/// Pins that write down when they see what.
#[derive(Default)]
struct Diary(Vec<String>);

impl Pins for Diary {
    fn enable(&mut self, chip: u32, at: Cycles) {
        self.0.push(format!("{} enable {chip}", at.get()));
    }
    fn disable(&mut self, at: Cycles) {
        self.0.push(format!("{} disable", at.get()));
    }
    fn write_register(&mut self, byte: u8, at: Cycles) {
        self.0.push(format!("{} write {byte}", at.get()));
    }
    fn read_register(&mut self, at: Cycles) -> u8 {
        self.0.push(format!("{} read", at.get()));
        0x41
    }
}

#[test]
fn pins_see_when_things_happen_and_answer() {
    let text = "RCV\nCE+ r0\nWRR len\nWRR chip\nRDR r1\nCE-\nSND r1";
    let mut steps = [Step::UNUSED; 7];
    let program = assemble(text, &mut steps).expect("it is right");
    let mut machine = Machine::new(program, [], TimingSet::FRAMEWORK, 1);
    let mut pins = Diary::default();
    let served = machine.serve(&BusRequest { block: 0, ..WRITE }, &mut pins);
    assert_eq!(served, Ok(Cycles::new(13)));
    assert_eq!(pins.0, ["1 enable 0", "2 write 0", "5 write 3", "9 read", "11 disable"]);
    assert_eq!(machine.response().map(|response| response.status), Some(0x41));
}
