//! Array times with a greatest value, those of parts of pages, and times of firmware.

use crate::config::{DeviceKeys, FirmwareKeys, MapStore};
use flashyard_core::geometry::Geometry;
use flashyard_core::request::SECTOR_BYTES;
use flashyard_core::units::Span;

/// Times that cannot be, or that nothing takes.
pub(super) fn check(keys: &DeviceKeys, geometry: &Geometry, fail: &mut impl FnMut(String)) {
    check_longest(keys, fail);
    check_codewords(keys, geometry, fail);
    check_part(keys, geometry, fail);
    check_retry(keys, fail);
    check_firmware(keys, fail);
}

/// Greatest times that are no greatest ones.
fn check_longest(keys: &DeviceKeys, fail: &mut impl FnMut(String)) {
    let nand = &keys.nand;
    let programs = [nand.program_us, nand.program_2_us, nand.program_3_us, nand.program_4_us];
    let typical = [
        ("read", [nand.read_us, nand.read_2_us, nand.read_3_us, nand.read_4_us], nand.read_max_us),
        ("program", programs, nand.program_max_us),
        ("erase", [nand.erase_us; 4], nand.erase_max_us),
    ];
    for (name, times, most) in typical {
        let longest = times.into_iter().max().expect("there are four");
        let us = |ns: u64| ns as f64 / 1e3;
        if most > Span::ZERO && most < longest {
            fail(format!(
                "nand.{name}_max_us: {} is below the typical {} us; raise it, or set it to 0",
                us(most.as_ns()),
                us(longest.as_ns())
            ));
        }
        if most > Span::ZERO && !nand.spread_percent.is_zero() {
            fail(format!(
                "nand.{name}_max_us: nand.spread_percent spreads the times too; set one of them to 0"
            ));
        }
    }
}

/// Mapping units have whole codewords, and codewords whole sectors.
fn check_codewords(keys: &DeviceKeys, geometry: &Geometry, fail: &mut impl FnMut(String)) {
    let (codeword, unit) = (keys.nand.codeword_bytes, u64::from(geometry.unit_bytes()));
    let sector = u64::from(SECTOR_BYTES);
    if codeword > 0 && (!codeword.is_multiple_of(sector) || !unit.is_multiple_of(codeword)) {
        fail(format!(
            "nand.codeword_bytes: a mapping unit of {unit} bytes has no whole codewords of {codeword} \
             bytes, in sectors of {sector}; set it to a multiple of {sector} that divides the \
             mapping unit, or to 0"
        ));
    }
}

/// A part of a page is less than a page, and some read is one of a part.
fn check_part(keys: &DeviceKeys, geometry: &Geometry, fail: &mut impl FnMut(String)) {
    let (nand, page) = (&keys.nand, keys.geometry.page_bytes);
    if nand.read_part_us.is_zero() {
        return;
    }
    let us = |ns: u64| ns as f64 / 1e3;
    if nand.read_part_us > nand.read_us {
        fail(format!(
            "nand.read_part_us: {} is above nand.read_us = {}, so a part would take longer than its \
             page; lower it, or set it to 0",
            us(nand.read_part_us.as_ns()),
            us(nand.read_us.as_ns())
        ));
    }
    let part = nand.read_part_bytes;
    if part >= page {
        fail(format!(
            "nand.read_part_bytes: {part} is no part of a page of {page} bytes; set it below \
             geometry.page_bytes, or nand.read_part_us = 0"
        ));
    }
    let unit = u64::from(geometry.unit_bytes());
    let fetched = match (keys.map.store, keys.map.fetch_bytes) {
        (MapStore::Resident, _) | (_, 0) => unit,
        (_, bytes) => bytes.min(unit),
    };
    let least = if nand.codeword_bytes == 0 { unit } else { nand.codeword_bytes };
    if part < fetched.min(least) {
        fail(format!(
            "nand.read_part_bytes: no read needs as little as {part} bytes, since mapping units have \
             {unit}; set it to a mapping unit or more, lower ftl.mapping_unit_bytes or \
             nand.codeword_bytes, or set nand.read_part_us = 0"
        ));
    }
}

/// The rows of the table of read retry have rising cycles, and each chance has a row.
fn check_retry(keys: &DeviceKeys, fail: &mut impl FnMut(String)) {
    let retry = &keys.retry;
    let rows = [
        (2, retry.age_2_cycles, retry.chance_2_percent),
        (3, retry.age_3_cycles, retry.chance_3_percent),
        (4, retry.age_4_cycles, retry.chance_4_percent),
    ];
    let mut before = 0;
    for (row, cycles, chance) in rows {
        if cycles == 0 && !chance.is_zero() {
            fail(format!(
                "retry.chance_{row}_percent: no block has this chance, since retry.age_{row}_cycles \
                 = 0; set it to the cycles of the row, or retry.chance_{row}_percent = 0"
            ));
        }
        if cycles > 0 && cycles <= before {
            fail(format!(
                "retry.age_{row}_cycles: {cycles} is not above the {before} of a row before it; \
                 rows have rising cycles"
            ));
        }
        before = before.max(cycles);
    }
}

/// Firmware takes no time where it has no cores.
fn check_firmware(keys: &DeviceKeys, fail: &mut impl FnMut(String)) {
    let FirmwareKeys { cores, read_ns, write_ns, trim_ns, trim_unit_ns, flush_ns, unit_ns, .. } =
        keys.firmware;
    let FirmwareKeys { read_tail_ns, write_tail_ns, stall_units, .. } = keys.firmware;
    let times = [
        ("read_ns", read_ns),
        ("write_ns", write_ns),
        ("trim_ns", trim_ns),
        ("flush_ns", flush_ns),
        ("trim_unit_ns", trim_unit_ns),
        ("unit_ns", unit_ns),
        ("read_tail_ns", read_tail_ns),
        ("write_tail_ns", write_tail_ns),
        ("stall_units", stall_units),
    ];
    for (name, _) in times.into_iter().filter(|(_, ns)| cores == 0 && *ns > 0) {
        fail(format!(
            "firmware.{name}: no core takes this time, since firmware.cores = 0; set firmware.cores \
             to 1 or more, or firmware.{name} = 0"
        ));
    }
}
