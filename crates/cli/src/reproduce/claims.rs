//! What the paper states, beside what the runs show.

use super::drs::{Results, mean};
use crate::output::table;
use serde_json::{Value, json};

/// A statement and its judgement.
pub(crate) struct Claim {
    statement: String,
    form: String,
    found: String,
    holds: bool,
}

impl Claim {
    /// As JSON.
    pub(crate) fn object(&self) -> Value {
        json!({"statement": self.statement, "form": self.form, "found": self.found, "holds": self.holds})
    }
}

/// Two ratios closer than this are a tie: shifting arrivals by a fraction of a millisecond moves a
/// ratio about as much.
const TIE: f64 = 0.005;

/// Judges every statement of the study.
pub(crate) fn judge(results: &Results) -> Vec<Claim> {
    let judged = results.study.published.iter().map(|published| {
        let (found, holds) = check(results, &published.check);
        let form = published.form().to_string();
        Claim { statement: published.statement.clone(), form, found, holds }
    });
    judged.collect()
}

/// The table of all statements.
pub(crate) fn table(claims: &[Claim]) -> String {
    let mut table = table::table(&["the paper states", "as", "holds", "found here"]);
    for index in [1, 2, 3] {
        if let Some(column) = table.column_mut(index) {
            column.set_cell_alignment(comfy_table::CellAlignment::Left);
        }
    }
    for claim in claims {
        let holds = if claim.holds { "yes" } else { "no" };
        table.add_row(vec![&claim.statement, &claim.form, &holds.to_string(), &claim.found]);
    }
    table::render(&table)
}

/// Evaluates one statement: what was found, and whether it holds.
fn check(results: &Results, name: &str) -> (String, bool) {
    let read = |policy: &str| results.ratios("read", policy);
    let write = |policy: &str| results.ratios("write", policy);
    let place = |name: &str| {
        results.workloads.iter().position(|known| known == name).expect("the study names it")
    };
    match name {
        "best_read_gain" => best_read_gain(results),
        "rrf_below_rcf" => {
            let rrf = mean(&read("rrf"));
            (format!("{rrf:.3}"), rrf < 1.0)
        }
        "rrf_youtube" => {
            let rrf = read("rrf")[place("YouTube")];
            (format!("{rrf:.3}"), rrf > 1.0)
        }
        "rrf_radio" => {
            let (radio, message) = (read("rrf")[place("Radio")], read("rrf")[place("RadioMsg")]);
            (format!("{radio:.3} and {message:.3}"), radio < 1.0 && message < 1.0)
        }
        "fot_size_rcf" => {
            let (fot, size) = (mean(&read("fot")), mean(&read("size")));
            (format!("FOT {fot:.3}, Size {size:.3}"), fot < size && size < 1.0)
        }
        "drs_lowest_read" => lowest(results, "read", "drs", &["rcf", "size", "rrf", "fot"], 8),
        "fot_lowest_read" => {
            let wanted = ["Booting", "Facebook", "Radio", "RadioWB"];
            let others = ["rcf", "size", "rrf"].map(read);
            let fot = read("fot");
            let is_lowest = |row: usize| others.iter().all(|other| fot[row] <= other[row] + TIE);
            let failing: Vec<&str> =
                wanted.into_iter().filter(|name| !is_lowest(place(name))).collect();
            let found = if failing.is_empty() {
                "in all four".to_string()
            } else {
                format!("not in {}", failing.join(", "))
            };
            (found, failing.is_empty())
        }
        "size_booting_write" => {
            let row = place("Booting");
            let all: Vec<f64> = ["rrf", "fot", "drs"].iter().map(|p| write(p)[row]).collect();
            let size = write("size")[row];
            let holds = size <= 1.0 && all.iter().all(|other| size <= other + TIE);
            (format!("Size {size:.3}, DRS {:.3}", all[2]), holds)
        }
        "drs_lowest_write" => lowest(results, "write", "drs", &["rcf", "size", "rrf", "fot"], 5),
        "breakdown" => breakdown(results),
        "cache_trend" => cache_trend(results),
        "depth_trend" => depth_trend(results, place("Booting")),
        _ => unreachable!("the experiment file names an unknown check {name}"),
    }
}

/// The largest gain; it holds if it is within 5 percentage points of 51 %, about what shifting the
/// arrivals of the best workload by a fraction of a millisecond does.
fn best_read_gain(results: &Results) -> (String, bool) {
    let ratios = results.ratios("read", "drs");
    let best = (0..ratios.len()).min_by(|a, b| ratios[*a].total_cmp(&ratios[*b])).unwrap_or(0);
    let gain = 100.0 * (1.0 - ratios[best]);
    (format!("{gain:.0} % in {}", results.workloads[best]), (gain - 51.0).abs() <= 5.0)
}

/// In how many workloads a policy is the lowest, ties included.
fn lowest(
    results: &Results,
    class: &str,
    policy: &str,
    others: &[&str],
    needed: usize,
) -> (String, bool) {
    let own = results.ratios(class, policy);
    let others: Vec<Vec<f64>> = others.iter().map(|other| results.ratios(class, other)).collect();
    let count = (0..own.len())
        .filter(|&row| others.iter().all(|other| own[row] <= other[row] + TIE))
        .count();
    (format!("in {count} of {}", own.len()), count >= needed)
}

fn breakdown(results: &Results) -> (String, bool) {
    let drs = results.study.policies.len() - 1;
    let waits = |policy: usize| {
        let mut sums = [0.0; 3];
        for row in &results.main {
            if let Some(waits) = &row[policy].waits_ns {
                let all = &waits["all"];
                sums[0] += all.request_queue_mean.unwrap_or(0.0);
                sums[1] += all.own_commands_mean.unwrap_or(0.0);
                sums[2] += all.flash_queue_mean.unwrap_or(0.0);
            }
        }
        sums
    };
    let (before, after) = (waits(0), waits(drs));
    if before[1] == 0.0 {
        return ("only a device with one die has these".to_string(), false);
    }
    let own = after[1] / before[1];
    let falls = [before[0] - after[0], before[2] - after[2]];
    let found = format!(
        "own time x {own:.3}; request queue {:+.1} ms, flash queue {:+.1} ms",
        -falls[0] / 1e6 / results.main.len() as f64,
        -falls[1] / 1e6 / results.main.len() as f64
    );
    // The sums are dominated by Booting; the share of its own wait that each queue loses decides.
    let shares = [falls[0] / before[0].max(1.0), falls[1] / before[2].max(1.0)];
    (found, (own - 1.0).abs() < 0.1 && shares[1] > 0.0 && shares[1] >= shares[0])
}

fn cache_trend(results: &Results) -> (String, bool) {
    let ratios: Vec<f64> =
        (0..results.cache.len()).map(|size| results.cache_ratio(size, 2)).collect();
    let best = (0..ratios.len()).min_by(|a, b| ratios[*a].total_cmp(&ratios[*b])).unwrap_or(0);
    let kb = |size: usize| results.study.cache_bytes[size] as f64 / 1024.0;
    let last = ratios.len() - 1;
    let found = format!(
        "{:.3} at {} kB, lowest {:.3} at {} kB, {:.3} at {} kB",
        ratios[0],
        kb(0),
        ratios[best],
        kb(best),
        ratios[last],
        kb(last)
    );
    (found, kb(best) <= 1.0 && ratios[last] > ratios[best])
}

fn depth_trend(results: &Results, booting: usize) -> (String, bool) {
    let at = |depth: usize, row: usize| Results::mean(&results.depth[depth][row], "all");
    let last = results.depth.len() - 1;
    let improved = (0..results.workloads.len()).filter(|&row| at(last, row) < at(0, row)).count();
    let saturated = (0..results.workloads.len())
        .filter(|&row| row != booting && at(last, row) > 0.98 * at(last - 1, row))
        .count();
    let booting_last = at(last, booting) / at(last - 1, booting);
    let depths = &results.study.depths;
    let found = format!(
        "{improved} of {} gain; {saturated} of {} saturate; Booting x {booting_last:.2} from {} to {}",
        results.workloads.len(),
        results.workloads.len() - 1,
        depths[last - 1],
        depths[last]
    );
    (found, improved == results.workloads.len() && booting_last < 1.0)
}
