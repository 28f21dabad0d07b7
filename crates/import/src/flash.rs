//! MQSim's `Flash_Parameter_Set`: the shape and the times of dies.

use crate::facts::Facts;
use crate::found::Fate::Idle;
use crate::found::{Outcome, thousandths};
use crate::table::Becomes::{Always, By, Same, Us};
use crate::table::Kind::{Whole, WholeBy, Word};
use crate::table::{Key, Value, changed, idle, key, optional, taken, taken_as};

/// Why nothing of MQSim's is ever suspended.
pub(crate) const NO_SUSPENSION: &str = "its scheduler never suspends a command";

/// Longest time of an operation, in nanoseconds.
const LONGEST: u64 = 4_000_000_000_000;

const LARGEST: u64 = u32::MAX as u64;

/// The keys of reads and programs of the first, the second and the third type of page.
const READ: [&str; 3] = ["nand.read_us", "nand.read_2_us", "nand.read_3_us"];
const PROGRAM: [&str; 3] = ["nand.program_us", "nand.program_2_us", "nand.program_3_us"];

/// The keys; the last one is of older versions.
pub(crate) const FLASH: &[Key<Facts>] = &[
    key(
        "Flash_Technology",
        Word(&["SLC", "MLC", "TLC"]),
        By(|facts, _| taken(&[("nand.bits_per_cell", facts.bits_per_cell.to_string())])),
    ),
    key(
        "CMD_Suspension_Support",
        Word(&["NONE", "PROGRAM", "PROGRAM_ERASE", "ERASE"]),
        Always(Idle, NO_SUSPENSION),
    ),
    key("Page_Read_Latency_LSB", Whole(1, LONGEST), Us(READ[0])),
    key("Page_Read_Latency_CSB", WholeBy(|of| time(csb(of))), By(|of, ns| read(of, csb(of), ns))),
    key("Page_Read_Latency_MSB", WholeBy(|of| time(msb(of))), By(|of, ns| read(of, msb(of), ns))),
    key("Page_Program_Latency_LSB", Whole(1, LONGEST), Us(PROGRAM[0])),
    key(
        "Page_Program_Latency_CSB",
        WholeBy(|of| time(csb(of))),
        By(|of, ns| program(of, csb(of), ns)),
    ),
    key(
        "Page_Program_Latency_MSB",
        WholeBy(|of| time(msb(of))),
        By(|of, ns| program(of, msb(of), ns)),
    ),
    key("Block_Erase_Latency", Whole(1, LONGEST), Us("nand.erase_us")),
    key("Block_PE_Cycles_Limit", Whole(0, 1 << 30), Same("nand.rated_cycles")),
    key("Suspend_Erase_Time", Whole(0, u64::MAX), Always(Idle, NO_SUSPENSION)),
    key("Suspend_Program_Time", Whole(0, u64::MAX), Always(Idle, NO_SUSPENSION)),
    key("Die_No_Per_Chip", Whole(1, LARGEST), Same("geometry.dies_per_way")),
    key("Plane_No_Per_Die", Whole(1, LARGEST), Same("geometry.planes")),
    key("Block_No_Per_Plane", Whole(1, LARGEST), Same("geometry.blocks_per_plane")),
    key("Page_No_Per_Block", Whole(1, LARGEST), By(pages)),
    key("Page_Capacity", Whole(1, LARGEST), Same("geometry.page_bytes")),
    key(
        "Page_Metadat_Capacity",
        Whole(0, u64::MAX),
        Always(Idle, "MQSim transfers no spare bytes"),
    ),
    optional("Suspend_Write_Time", Whole(0, u64::MAX), Always(Idle, NO_SUSPENSION)),
];

/// Returns the number of the second of three types of pages. Numbers begin with 0. With fewer types
/// there is none.
fn csb(facts: &Facts) -> Option<usize> {
    (facts.bits_per_cell == 3).then_some(1)
}

/// Returns the number of the last type of pages, unless the first is the last.
fn msb(facts: &Facts) -> Option<usize> {
    (1..READ.len()).find(|last| *last as u64 + 1 == facts.bits_per_cell)
}

/// The range of the time of a type of page. Where there is no such type, 0 will do.
fn time(kind: Option<usize>) -> (u64, u64) {
    (u64::from(kind.is_some()), LONGEST)
}

fn read(facts: &Facts, kind: Option<usize>, ns: &Value<'_>) -> Outcome {
    of_pages(READ, facts.read_ns, kind, ns.whole)
}

fn program(facts: &Facts, kind: Option<usize>, ns: &Value<'_>) -> Outcome {
    of_pages(PROGRAM, facts.program_ns, kind, ns.whole)
}

/// The time of a type of page, the first of which takes `first`.
fn of_pages(keys: [&'static str; 3], first: u64, kind: Option<usize>, ns: u64) -> Outcome {
    match kind {
        None => idle("the technology has no such pages"),
        Some(_) if ns == first => taken_as(format!("as {}", keys[0])),
        Some(kind) => taken(&[(keys[kind], thousandths(ns))]),
    }
}

fn pages(facts: &Facts, count: &Value<'_>) -> Outcome {
    const PAGES: &str = "geometry.pages_per_block";
    let (count, rest) = (count.whole, count.whole % facts.bits_per_cell);
    if rest == 0 || count <= rest {
        return taken(&[(PAGES, count.to_string())]);
    }
    let why = "a block has whole word lines, which have a page for each bit of a cell";
    changed(&[(PAGES, (count - rest).to_string())], why)
}
