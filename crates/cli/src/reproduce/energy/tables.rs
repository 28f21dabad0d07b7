//! The results as tables.

use super::claims::{self, Claim};
use super::{Parts, Results, Row, TraceRead, erases, response_ms};
use crate::args::ReproduceArgs;
use crate::output::table;
use flashyard_sim::ftl::memory::{DemandTable, Extent, LogTable, Tables};
use std::fmt::Write;

/// Everything, for people.
pub(super) fn text(
    results: &Results,
    claims: &[Claim],
    args: &ReproduceArgs,
    device: &str,
) -> String {
    let study = &results.study;
    let mut text = format!(
        "{}\n{}\n{}\n\ndevice {device}; workloads: generated with seed {}",
        study.title, study.source, study.notes, study.seed
    );
    text += &match &args.traces {
        Some(dir) => format!(", and the traces in {}{}\n", dir.display(), missing(results)),
        None => "; with --traces DIR real ones besides\n".to_string(),
    };
    text += "\nEnergy by operation (figure 5), J; map: reads and programs of map pages; copy:\n\
             those of merges and garbage collection; other: all that is no operation of the\n\
             array; post: of the total, operations after the last request\n";
    for group in groups(&results.rows) {
        text += &format!("\n{}", energy_table(results, group));
    }
    if !results.traces.is_empty() {
        text += &format!("\n{}", trace_table(results));
    }
    text += &format!("\n{}", findings(results));
    text += &format!("\n{}", window_table(results));
    text += &format!("\n{}", size_table(results));
    text += &format!("\n{}", claims::table(claims));
    text += "\nWhere the paper contradicts itself or cannot be right:\n";
    for erratum in &study.erratum {
        let _ = writeln!(text, "  {}: {}. Here: {}.", erratum.text, erratum.problem, erratum.here);
    }
    text
}

/// The traces that were not found.
fn missing(results: &Results) -> String {
    let files = results.missing.join(", ");
    if files.is_empty() { files } else { format!("; missing there: {files}") }
}

/// Runs of one case in one initial state, next to each other.
pub(super) fn groups(rows: &[Row]) -> impl Iterator<Item = &[Row]> {
    rows.chunk_by(|a, b| a.case == b.case && a.initial == b.initial)
}

/// Picojoules as joules with as many digits as they have with microjoules a page.
fn joules(pj: u64) -> String {
    format!("{:.2}", pj as f64 / 1e12)
}

fn energy_table(results: &Results, rows: &[Row]) -> String {
    let case = results.study.case.iter().find(|case| case.name == rows[0].case);
    let title = case.map_or_else(
        || format!("{}, {}", rows[0].case, rows[0].initial),
        |case| format!("{}, {} % used, {}", case.workload, case.footprint_percent, case.initial),
    );
    let header = [
        title.as_str(),
        "total",
        "post",
        "host read",
        "write",
        "copy read",
        "write",
        "map read",
        "write",
        "erase",
        "other",
        "erases",
        "WA",
        "mean ms",
        "p99 ms",
        "switch/partial/full/dead",
        "GC",
        "table accesses",
    ];
    let mut table = table::table(&header);
    for row in rows {
        table.add_row(energy_row(results, row));
    }
    table::render(&table)
}

fn energy_row(results: &Results, row: &Row) -> Vec<String> {
    let (report, parts) = (&row.report, Parts::of(&row.report));
    let Parts { total, post, host, copy, map, erase, other } = parts;
    let mut cells = vec![results.study.layer(&row.ftl).title.clone()];
    let energies = [total, post, host[0], host[1], copy[0], copy[1], map[0], map[1], erase, other];
    cells.extend(energies.map(joules));
    cells.push(erases(report).to_string());
    let programs = report.flash.programs_per_host_page;
    cells.push(programs.map_or_else(|| "-".to_string(), |programs| format!("{programs:.3}")));
    cells.push(format!("{:.3}", response_ms(report)));
    let p99 = report.latency_ns["all"].p99.unwrap_or(0);
    cells.push(format!("{:.1}", p99 as f64 / 1e6));
    let merges = super::merges(report);
    cells.push(merges.map(|count| count.to_string()).join("/"));
    cells.push(report.gc.jobs.to_string());
    cells.push(report.memory.table_accesses.to_string());
    cells
}

/// What the traces are like, and what was changed in them.
fn trace_table(results: &Results) -> String {
    let mut table =
        table::table(&["traces", "requests", "mean KiB", "writes %", "random %", "ms apart"]);
    let mut notes = String::new();
    for TraceRead { name, mix, notes: own } in &results.traces {
        let mut cells = vec![name.clone(), mix.requests.to_string()];
        let figures = [mix.kib, mix.write_percent, mix.random_percent, mix.interarrival_ms];
        cells.extend(figures.map(|figure| format!("{figure:.2}")));
        table.add_row(cells);
        for note in own {
            _ = writeln!(notes, "  {name}: {note}");
        }
    }
    table::render(&table) + &notes
}

/// What the initial state does to the order of the layers.
fn findings(results: &Results) -> String {
    let mut text = "The initial state decides the order of the layers:\n".to_string();
    for group in groups(&results.rows) {
        let mut order: Vec<&Row> = group.iter().collect();
        order.sort_by_key(|row| row.parts().total);
        let names: Vec<&str> =
            order.iter().map(|row| results.study.layer(&row.ftl).title.as_str()).collect();
        let total = |ftl: &str| {
            let row = group.iter().find(|row| row.ftl == ftl)?;
            Some(row.parts().total as f64)
        };
        let ratio = match (total("dftl"), total("fast")) {
            (Some(dftl), Some(fast)) => format!("; DFTL takes {:.2} x FAST", dftl / fast),
            _ => String::new(),
        };
        let (case, initial) = (&group[0].case, &group[0].initial);
        let _ = writeln!(text, "  {case} ({initial}): {}{ratio}", names.join(" < "));
    }
    text
}

fn window_table(results: &Results) -> String {
    let window = &results.study.window;
    let title = format!("search window (figure 6), {}", window.case);
    let mut header = vec![title];
    for ftl in &window.ftls {
        let name = &results.study.layer(ftl).title;
        header.extend([format!("{name}: response"), "searches".to_string(), "J".to_string()]);
    }
    let mut table = table::table(&header.iter().map(String::as_str).collect::<Vec<_>>());
    for (place, share) in window.share_percent.iter().enumerate() {
        let mut cells = vec![share_name(*share)];
        for layer in 0..window.ftls.len() {
            let report = &results.window[layer][place];
            cells.push(format!("{:.3}", normalised(results, layer, place)));
            cells.push(super::searches(report).to_string());
            cells.push(joules(report.energy_pj.total));
        }
        table.add_row(cells);
    }
    table::render(&table)
}

/// A width of the window, in percent, as the share that the tables name.
pub(super) fn share_name(share_percent: f64) -> String {
    if share_percent > 0.0 { format!("{}", share_percent / 100.0) } else { "Const.".to_string() }
}

/// The mean response at a window over the longest one of the layer.
pub(super) fn normalised(results: &Results, layer: usize, place: usize) -> f64 {
    let row = &results.window[layer];
    let longest = row.iter().map(response_ms).fold(0.0, f64::max);
    response_ms(&row[place]) / longest
}

/// The bytes of the tables of a device of this capacity: a name and bytes.
pub(super) fn sizes(results: &Results, mebibytes: u64) -> [(&'static str, u64); 6] {
    let extent = Extent::study(mebibytes);
    let cache = results.study.tables.cache_bytes;
    [
        ("page", extent.bytes(Tables::Page)),
        ("block", extent.bytes(Tables::Block)),
        ("bast", extent.bytes(Tables::Bast)),
        ("fast_last", extent.bytes(Tables::SharedLog(LogTable::PageEntry))),
        ("dftl", extent.bytes(Tables::Demand(DemandTable::BlockTable)) + cache),
        ("dftl_with_directory", extent.bytes(Tables::Demand(DemandTable::Both)) + cache),
    ]
}

/// Power of the DRAM that holds a table, in milliwatts: of whole chips, and of as much of one.
pub(super) fn dram_mw(results: &Results, bytes: u64, chip_mw: u64) -> (u64, f64) {
    let chip = results.study.tables.chip_mib << 20;
    (bytes.div_ceil(chip) * chip_mw, bytes as f64 / chip as f64 * chip_mw as f64)
}

fn size_table(results: &Results) -> String {
    let tables = &results.study.tables;
    let header = [
        "tables (figure 7), bytes",
        "page",
        "block",
        "BAST",
        "FAST, LAST",
        "DFTL",
        "with directory",
        "DRAM of page",
        "by size",
        "low power",
        "by size",
    ];
    let mut table = table::table(&header);
    for &mebibytes in &tables.capacity_mib {
        let sizes = sizes(results, mebibytes);
        let mut cells = vec![format!("{mebibytes} MiB")];
        cells.extend(sizes.map(|(_, bytes)| bytes.to_string()));
        for power in [tables.sdram_mw, tables.low_power_mw] {
            let (chips, share) = dram_mw(results, sizes[0].1, power);
            cells.extend([format!("{chips} mW"), format!("{share:.1} mW")]);
        }
        table.add_row(cells);
    }
    format!(
        "{}DFTL as the paper counts it: a block table and {} bytes of cache. DRAM: chips of {} MiB (assumed) of\n\
         {} mW, low power {} mW (the paper: a few hundred, around a hundred); by size: as if chips came in every size\n",
        table::render(&table),
        tables.cache_bytes,
        tables.chip_mib,
        tables.sdram_mw,
        tables.low_power_mw
    )
}
