//! What the paper states, beside what the runs show.

use super::tables::{dram_mw, normalised, share_name as name, sizes};
use super::{Mix, Parts, Results, searches};
use crate::output::table;
use serde_json::{Value, json};

/// A statement and its judgement.
pub(super) struct Claim {
    statement: String,
    form: &'static str,
    found: String,
    verdict: Verdict,
}

/// Whether a statement holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    Yes,
    No,
    /// It holds whatever the runs do: it follows from settings or from the rules of a layer.
    ByDefinition,
}

/// What was found, and what that says of the statement.
type Found = (String, Verdict);

impl Verdict {
    const fn of(holds: bool) -> Self {
        if holds { Self::Yes } else { Self::No }
    }

    /// Of what no run can change.
    const fn defined(holds: bool) -> Self {
        if holds { Self::ByDefinition } else { Self::No }
    }

    const fn word(self) -> &'static str {
        match self {
            Self::Yes => "yes",
            Self::No => "no",
            Self::ByDefinition => "by definition",
        }
    }
}

impl Claim {
    /// As JSON.
    pub(super) fn object(&self) -> Value {
        json!({
            "statement": self.statement,
            "form": self.form,
            "found": self.found,
            "holds": self.verdict.word(),
        })
    }
}

/// Judges every statement of the study; those on the window once for each layer.
pub(super) fn judge(results: &Results) -> Vec<Claim> {
    let mut claims = Vec::new();
    for published in &results.study.published {
        let claim = |layer: &str, (found, verdict): Found| Claim {
            statement: format!("{}{layer}", published.statement),
            form: published.form(),
            found,
            verdict,
        };
        let by_layer = match published.check.as_str() {
            "window_response" => window_response,
            "window_searches" => window_searches,
            check => {
                claims.push(claim("", found(results, check)));
                continue;
            }
        };
        for (layer, ftl) in results.study.window.ftls.iter().enumerate() {
            let title = &results.study.layer(ftl).title;
            claims.push(claim(&format!(": {title}"), by_layer(results, layer)));
        }
    }
    claims
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
        table.add_row(vec![&claim.statement, claim.form, claim.verdict.word(), &claim.found]);
    }
    table::render(&table)
}

/// Evaluates one statement.
fn found(results: &Results, name: &str) -> Found {
    match name {
        "order_fresh" => order(results, "fresh"),
        "order_full" => order(results, "full"),
        "post" => post(results),
        "no_merges" => no_merges(results),
        "oltp_mix" => mix(&results.mixes[0], &[4.38, 91.0, 98.0, 133.5, 11.97]),
        "olap_mix" => mix(&results.mixes[1], &[12.82, 5.0, 82.0, 155.56, 10.29]),
        "page_table" => {
            let bytes = sizes(results, 512)[0].1;
            (format!("{} KiB", bytes as f64 / 1024.0), Verdict::defined(bytes == 768 << 10))
        }
        "log_share" => log_share(results),
        "table_order" => table_order(results),
        "erase_read" => erase_over_read(results),
        _ => unreachable!("the experiment file names an unknown check {name}"),
    }
}

/// Page < DFTL < FAST in energy, DFTL by less than half as much again as the page map, FAST by
/// more than half as much again as DFTL, on every OLTP workload. The others are printed alone.
pub(super) fn order(results: &Results, initial: &str) -> Found {
    let cases = results.study.case.iter().filter(|case| case.initial == initial);
    let (mut judged, mut others, mut holds) = (Vec::new(), Vec::new(), true);
    for case in cases {
        let [page, dftl, fast] = ["page", "dftl", "fast"].map(|ftl| {
            let row = results.find(&case.name, ftl);
            row.expect("every case has page map, DFTL and FAST").parts().total as f64
        });
        let text = format!("{} 1 : {:.2} : {:.2}", case.name, dftl / page, fast / page);
        if case.workload.starts_with("oltp") {
            judged.push(text);
            holds &= page < dftl && dftl < 1.5 * page && 1.5 * dftl < fast;
        } else {
            others.push(text);
        }
    }
    let mut found = judged.join(", ");
    if !others.is_empty() {
        found += &format!("; not judged: {}", others.join(", "));
    }
    (found, Verdict::of(holds))
}

/// The share of the energy that is taken after the last request, of each layer with log blocks.
fn post(results: &Results) -> Found {
    let (mut found, mut holds) = (Vec::new(), true);
    for ftl in ["fast", "last", "bast"] {
        let rows = results.rows.iter().filter(|row| row.ftl == ftl);
        let share = |parts: Parts| 100.0 * parts.post as f64 / parts.total as f64;
        let shares: Vec<f64> = rows.map(|row| share(row.parts())).collect();
        let least = shares.iter().copied().fold(f64::INFINITY, f64::min);
        let most = shares.iter().copied().fold(0.0, f64::max);
        let title = &results.study.layer(ftl).title;
        found.push(format!("{title} {least:.1} to {most:.1} %"));
        holds &= least > 0.0;
    }
    (format!("of the energy: {}", found.join(", ")), Verdict::of(holds))
}

/// A page map has no log blocks.
fn no_merges(results: &Results) -> Found {
    let rows = results.rows.iter().filter(|row| row.ftl == "page" || row.ftl == "dftl");
    let (merges, jobs) = rows.fold((0, 0), |(merges, jobs), row| {
        let own: u64 = super::merges(&row.report).iter().sum();
        (merges + own, jobs + row.report.gc.jobs)
    });
    let found = format!("{merges} merges; {jobs} garbage collections in their place");
    (found, Verdict::defined(merges == 0))
}

/// Size, writes, randomness, gap and length; within 1 % of the published ones.
fn mix(mix: &Mix, published: &[f64; 5]) -> Found {
    let own = [mix.kib, mix.write_percent, mix.random_percent, mix.interarrival_ms, mix.hours];
    let near = |(own, published): (&f64, &f64)| (own / published - 1.0).abs() < 0.01;
    let found = format!(
        "{:.2} KiB, {:.1} % writes, {:.1} % random, {:.1} ms, {:.2} h",
        own[0], own[1], own[2], own[3], own[4]
    );
    (found, Verdict::of(own.iter().zip(published).all(near)))
}

/// No window has a longer response than a narrower one; one hundredth of the longest counts as
/// the same.
fn window_response(results: &Results, layer: usize) -> Found {
    let shares = &results.study.window.share_percent;
    let responses: Vec<f64> =
        (0..shares.len()).map(|place| normalised(results, layer, place)).collect();
    let longer = lengthened(&responses);
    let last = shares.len() - 1;
    let mut found = format!(
        "{} {:.3}, {} {:.3}",
        name(shares[0]),
        responses[0],
        name(shares[last]),
        responses[last]
    );
    if !longer.is_empty() {
        let places: Vec<String> = longer
            .iter()
            .map(|&place| format!("{} ({:.3})", name(shares[place]), responses[place]))
            .collect();
        found += &format!("; longer than with a narrower one: {}", places.join(", "));
    }
    (found, Verdict::of(longer.is_empty()))
}

/// The places whose value is by more than 0.01 larger than the least one before them.
pub(super) fn lengthened(responses: &[f64]) -> Vec<usize> {
    let mut least = f64::INFINITY;
    let mut places = Vec::new();
    for (place, &response) in responses.iter().enumerate() {
        if response > least + 0.01 {
            places.push(place);
        }
        least = least.min(response);
    }
    places
}

/// Each window looks at more candidates than the one before; one candidate, drawn, is one look a
/// search by definition and not judged.
fn window_searches(results: &Results, layer: usize) -> Found {
    let shares = &results.study.window.share_percent;
    let all: Vec<u64> = results.window[layer].iter().map(searches).collect();
    let judged: Vec<usize> = (0..shares.len()).filter(|&place| shares[place] > 0.0).collect();
    let fewer: Vec<String> = judged
        .windows(2)
        .filter(|pair| all[pair[1]] <= all[pair[0]])
        .map(|pair| format!("{} ({})", name(shares[pair[1]]), all[pair[1]]))
        .collect();
    let [first, last] = [judged[0], judged[judged.len() - 1]];
    let mut found =
        format!("{} {}, {} {}", name(shares[first]), all[first], name(shares[last]), all[last]);
    for place in (0..shares.len()).filter(|&place| shares[place] == 0.0) {
        found += &format!("; Const. {}: one a search by definition", all[place]);
    }
    if !fewer.is_empty() {
        found += &format!("; fewer than with the next narrower one: {}", fewer.join(", "));
    }
    (found, Verdict::of(fewer.is_empty()))
}

/// At each capacity more than ten times as large as any other table.
fn table_order(results: &Results) -> Found {
    let tables = &results.study.tables;
    let ratios = tables.capacity_mib.iter().map(|&mebibytes| {
        let sizes = sizes(results, mebibytes);
        let others = sizes[1..].iter().map(|(_, bytes)| *bytes).max().unwrap_or(1);
        sizes[0].1 as f64 / others as f64
    });
    let least = ratios.fold(f64::INFINITY, f64::min);
    let most = tables.capacity_mib.last().map_or(0, |&mebibytes| sizes(results, mebibytes)[0].1);
    let (chips, _) = dram_mw(results, most, tables.sdram_mw);
    let found = format!("{least:.1} times the next one at least; up to {chips} mW of DRAM");
    (found, Verdict::defined(least > 10.0))
}

/// The spare blocks of the device but two, and what they are of the exported ones.
fn log_share(results: &Results) -> Found {
    let geometry = &results.settings.geometry;
    let exported = f64::from(results.settings.exported_units / geometry.units_per_block());
    let log = f64::from(geometry.blocks()) - exported - 2.0;
    let block_mib = f64::from(geometry.units_per_block() * geometry.unit_bytes()) / 1_048_576.0;
    let share = 100.0 * log / exported;
    let (log, exported) = (log * block_mib, exported * block_mib);
    let found = format!("{log} MiB of {exported} MiB on this device: {share:.2} %");
    (found, Verdict::defined((share - 5.0).abs() < 0.5))
}

/// tBERS / tR of the device of the run.
fn erase_over_read(results: &Results) -> Found {
    let nand = &results.settings.keys.nand;
    let [erase, read] = [nand.erase_us, nand.read_us].map(|ns| ns as f64 / 1_000.0);
    let ratio = erase / read;
    let found = format!("{ratio:.1} times: {erase} us and {read} us on this device");
    (found, Verdict::defined((ratio / 100.0 - 1.0).abs() < 0.5))
}
