//! MQSim's `Flash_Parameter_Set`: the shape and the times of dies.

use super::facts::Facts;
use super::found::{Found, thousandths};
use super::xml::{Entry, Group};

const NAMES: [&str; 18] = [
    "Flash_Technology",
    "CMD_Suspension_Support",
    "Page_Read_Latency_LSB",
    "Page_Read_Latency_CSB",
    "Page_Read_Latency_MSB",
    "Page_Program_Latency_LSB",
    "Page_Program_Latency_CSB",
    "Page_Program_Latency_MSB",
    "Block_Erase_Latency",
    "Block_PE_Cycles_Limit",
    "Suspend_Erase_Time",
    "Suspend_Program_Time",
    "Die_No_Per_Chip",
    "Plane_No_Per_Die",
    "Block_No_Per_Plane",
    "Page_No_Per_Block",
    "Page_Capacity",
    "Page_Metadat_Capacity",
];

/// Names of older versions.
const OPTIONAL: [&str; 1] = ["Suspend_Write_Time"];

/// Why nothing of MQSim's is ever suspended.
pub(super) const NO_SUSPENSION: &str = "its scheduler never suspends a command";

/// Longest time of an operation, in nanoseconds.
const LONGEST: u64 = 4_000_000_000_000;

pub(super) fn read(group: &Group, facts: &Facts, found: &mut Found) {
    found.check(group, &NAMES, &[]);
    for entry in &group.entries {
        if !times(entry, facts, found) && !shape(entry, facts, found) {
            found.unknown(entry, group, &[&NAMES[..], &OPTIONAL].concat());
        }
    }
}

fn shape(entry: &Entry, facts: &Facts, found: &mut Found) -> bool {
    let key = match entry.name.as_str() {
        "Die_No_Per_Chip" => "geometry.dies_per_way",
        "Plane_No_Per_Die" => "geometry.planes",
        "Block_No_Per_Plane" => "geometry.blocks_per_plane",
        "Page_No_Per_Block" => "geometry.pages_per_block",
        "Page_Capacity" => "geometry.page_bytes",
        "Page_Metadat_Capacity" => {
            found.whole(entry, 0, u64::MAX);
            found.idle(entry, &[], "MQSim transfers no spare bytes");
            return true;
        }
        "Block_PE_Cycles_Limit" => {
            found.whole(entry, 0, u64::MAX);
            found.idle(entry, &[], "MQSim retires no block");
            return true;
        }
        "CMD_Suspension_Support" => {
            found.word(entry, &["NONE", "PROGRAM", "PROGRAM_ERASE", "ERASE"]);
            found.idle(entry, &[], NO_SUSPENSION);
            return true;
        }
        "Suspend_Erase_Time" | "Suspend_Program_Time" | "Suspend_Write_Time" => {
            found.whole(entry, 0, u64::MAX);
            found.idle(entry, &[], NO_SUSPENSION);
            return true;
        }
        _ => return false,
    };
    let count = found.whole(entry, 1, u64::from(u32::MAX));
    let rest = if key == "geometry.pages_per_block" { count % facts.bits_per_cell } else { 0 };
    if rest > 0 && count > rest {
        let why = "a block has whole word lines, which have a page for each bit of a cell";
        found.changed(entry, &[(key, (count - rest).to_string())], why);
    } else {
        found.taken(entry, &[(key, count.to_string())]);
    }
    true
}

fn times(entry: &Entry, facts: &Facts, found: &mut Found) -> bool {
    let bits = facts.bits_per_cell;
    let (kind, first) = match entry.name.as_str() {
        "Flash_Technology" => {
            found.word(entry, &["SLC", "MLC", "TLC"]);
            found.taken(entry, &[("nand.bits_per_cell", bits.to_string())]);
            return true;
        }
        "Block_Erase_Latency" => {
            let ns = found.whole(entry, 1, LONGEST);
            found.taken(entry, &[("nand.erase_us", us(ns))]);
            return true;
        }
        name if name.starts_with("Page_Read_Latency_") => ("read", facts.read_ns),
        name if name.starts_with("Page_Program_Latency_") => ("program", facts.program_ns),
        _ => return false,
    };
    // Which type of page it is for, the first being 1.
    let number = match entry.name.rsplit('_').next() {
        Some("LSB") => 1,
        Some("CSB") if bits == 3 => 2,
        Some("MSB") if bits > 1 => bits,
        Some("CSB" | "MSB") => {
            found.whole(entry, 0, LONGEST);
            found.idle(entry, &[], "the technology has no such pages");
            return true;
        }
        _ => return false,
    };
    let ns = found.whole(entry, 1, LONGEST);
    let key = if number == 1 { String::new() } else { format!("_{number}") };
    if number > 1 && ns == first {
        found.taken_as(entry, &format!("as nand.{kind}_us"));
    } else {
        found.taken(entry, &[(&format!("nand.{kind}{key}_us"), us(ns))]);
    }
    true
}

/// Nanoseconds as microseconds.
fn us(ns: u64) -> String {
    thousandths(ns)
}
