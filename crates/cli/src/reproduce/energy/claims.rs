//! What the paper states, beside what the runs show.

use super::tables::{dram_mw, normalised, sizes};
use super::{Mix, Parts, Results, searches};
use crate::output::table;
use serde_json::{Value, json};

/// A statement and its judgement.
pub(super) struct Claim {
    statement: String,
    form: &'static str,
    found: String,
    holds: bool,
}

impl Claim {
    /// As JSON.
    pub(super) fn object(&self) -> Value {
        json!({"statement": self.statement, "form": self.form, "found": self.found, "holds": self.holds})
    }
}

/// Judges every statement of the study.
pub(super) fn judge(results: &Results) -> Vec<Claim> {
    let judged = results.study.published.iter().map(|published| {
        let (found, holds) = check(results, &published.check);
        Claim { statement: published.statement.clone(), form: published.form(), found, holds }
    });
    judged.collect()
}

/// The table of all statements.
pub(super) fn table(claims: &[Claim]) -> String {
    let mut table = table::table(&["the paper states", "as", "holds", "found here"]);
    for index in [1, 2, 3] {
        if let Some(column) = table.column_mut(index) {
            column.set_cell_alignment(comfy_table::CellAlignment::Left);
        }
    }
    for claim in claims {
        let holds = if claim.holds { "yes" } else { "no" };
        table.add_row(vec![&claim.statement, claim.form, holds, &claim.found]);
    }
    table::render(&table)
}

/// Evaluates one statement: what was found, and whether it holds.
fn check(results: &Results, name: &str) -> (String, bool) {
    match name {
        "order_fresh" => order(results, "fresh"),
        "order_full" => order(results, "full"),
        "post" => post(results),
        "no_merges" => no_merges(results),
        "oltp_mix" => mix(&results.mixes[0], &[4.38, 91.0, 98.0, 133.5, 11.97]),
        "olap_mix" => mix(&results.mixes[1], &[12.82, 5.0, 82.0, 155.56, 10.29]),
        "window_response" => window_response(results),
        "window_searches" => window_searches(results),
        "page_table" => {
            let bytes = sizes(results, 512)[0].1;
            (format!("{} KiB", bytes as f64 / 1024.0), bytes == 768 << 10)
        }
        "log_share" => log_share(results),
        "table_order" => table_order(results),
        "erase_read" => {
            let ratio = erase_over_read(results);
            (format!("{ratio:.1} times, by its table 1"), (ratio / 100.0 - 1.0).abs() < 0.5)
        }
        _ => unreachable!("the experiment file names an unknown check {name}"),
    }
}

/// Page < DFTL < FAST in energy, FAST by half as much again as DFTL, on every OLTP workload.
fn order(results: &Results, initial: &str) -> (String, bool) {
    let cases = results.study.case.iter();
    let cases = cases.filter(|case| case.initial == initial && case.workload.starts_with("oltp"));
    let (mut found, mut holds) = (Vec::new(), true);
    for case in cases {
        let total = |ftl| results.find(&case.name, ftl).map_or(0.0, |row| row.parts().total as f64);
        let [page, dftl, fast] = ["page", "dftl", "fast"].map(total);
        found.push(format!("{} 1 : {:.2} : {:.2}", case.name, dftl / page, fast / page));
        holds &= page < dftl && 1.5 * dftl < fast;
    }
    (found.join(", "), holds)
}

/// The share of the energy that is taken after the last request, of FAST.
fn post(results: &Results) -> (String, bool) {
    let rows = results.rows.iter().filter(|row| row.ftl == "fast");
    let share = |parts: Parts| 100.0 * parts.post as f64 / parts.total as f64;
    let shares: Vec<f64> = rows.map(|row| share(row.parts())).collect();
    let least = shares.iter().copied().fold(f64::INFINITY, f64::min);
    let most = shares.iter().copied().fold(0.0, f64::max);
    (format!("{least:.1} to {most:.1} % of the energy of FAST"), least > 0.0)
}

fn no_merges(results: &Results) -> (String, bool) {
    let rows = results.rows.iter().filter(|row| row.ftl == "page" || row.ftl == "dftl");
    let (merges, jobs) = rows.fold((0, 0), |(merges, jobs), row| {
        let own: u64 = super::merges(&row.report).iter().sum();
        (merges + own, jobs + row.report.gc.jobs)
    });
    (format!("{merges} merges; {jobs} garbage collections in their place"), merges == 0)
}

/// Size, writes, randomness, gap and length; within 1 % of the published ones.
fn mix(mix: &Mix, published: &[f64; 5]) -> (String, bool) {
    let own = [mix.kib, mix.write_percent, mix.random_percent, mix.interarrival_ms, mix.hours];
    let near = |(own, published): (&f64, &f64)| (own / published - 1.0).abs() < 0.01;
    let found = format!(
        "{:.2} KiB, {:.1} % writes, {:.1} % random, {:.1} ms, {:.2} h",
        own[0], own[1], own[2], own[3], own[4]
    );
    (found, own.iter().zip(published).all(near))
}

/// From one candidate to all of them.
fn window_response(results: &Results) -> (String, bool) {
    let window = &results.study.window;
    let last = window.share_percent.len() - 1;
    let (mut found, mut holds) = (Vec::new(), true);
    for (layer, ftl) in window.ftls.iter().enumerate() {
        let [narrow, wide] = [0, last].map(|place| normalised(results, layer, place));
        let title = &results.study.layer(ftl).title;
        let least = (0..=last).map(|place| (normalised(results, layer, place), place));
        let least = least.min_by(|a, b| a.0.total_cmp(&b.0)).map_or(last, |(_, place)| place);
        let at = window.share_percent[least] / 100.0;
        let lowest = if least == last { String::new() } else { format!(" (lowest at {at})") };
        found.push(format!("{title} {narrow:.3} to {wide:.3}{lowest}"));
        holds &= wide < narrow;
    }
    (found.join(", "), holds)
}

fn window_searches(results: &Results) -> (String, bool) {
    let window = &results.study.window;
    let (mut found, mut holds) = (Vec::new(), true);
    for (layer, ftl) in window.ftls.iter().enumerate() {
        let row: Vec<u64> = results.window[layer].iter().map(searches).collect();
        let title = &results.study.layer(ftl).title;
        found.push(format!("{title} {} to {}", row[0], row[row.len() - 1]));
        holds &= row[0] < row[row.len() - 1];
    }
    (found.join(", "), holds)
}

/// At each capacity more than ten times as large as any other table.
fn table_order(results: &Results) -> (String, bool) {
    let tables = &results.study.tables;
    let ratios = tables.capacity_mib.iter().map(|&mebibytes| {
        let sizes = sizes(results, mebibytes);
        let others = sizes[1..].iter().map(|(_, bytes)| *bytes).max().unwrap_or(1);
        sizes[0].1 as f64 / others as f64
    });
    let least = ratios.fold(f64::INFINITY, f64::min);
    let most = tables.capacity_mib.last().map_or(0, |&mebibytes| sizes(results, mebibytes)[0].1);
    let (chips, _) = dram_mw(results, most, tables.sdram_mw);
    (format!("{least:.1} times the next one at least; up to {chips} mW of DRAM"), least > 10.0)
}

/// The spare blocks but two, and what they are of the exported ones.
fn log_share(results: &Results) -> (String, bool) {
    let geometry = &results.settings.geometry;
    let exported = f64::from(results.settings.exported_units / geometry.units_per_block());
    let log = f64::from(geometry.blocks()) - exported - 2.0;
    let block_mib = f64::from(geometry.units_per_block() * geometry.unit_bytes()) / 1_048_576.0;
    let share = 100.0 * log / exported;
    let (log, exported) = (log * block_mib, exported * block_mib);
    (format!("{log} MiB of {exported} MiB: {share:.2} %"), (share - 5.0).abs() < 0.5)
}

/// tBERS / tR of the device.
fn erase_over_read(results: &Results) -> f64 {
    let nand = &results.settings.keys.nand;
    nand.erase_us as f64 / nand.read_us as f64
}
