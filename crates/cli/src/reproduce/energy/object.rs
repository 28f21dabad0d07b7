//! The results as JSON; docs/JSON.md describes it.

use super::claims::Claim;
use super::tables::{dram_mw, normalised, sizes};
use super::{Parts, Results, Row, erases, merges, searches};
use crate::args::ReproduceArgs;
use crate::output::json::SCHEMA_VERSION;
use serde_json::{Map, Value, json};

/// Everything, as one object.
pub(super) fn object(
    results: &Results,
    claims: &[Claim],
    args: &ReproduceArgs,
    device: &str,
) -> Value {
    let study = &results.study;
    let errata = study.erratum.iter().map(
        |erratum| json!({"text": erratum.text, "problem": erratum.problem, "here": erratum.here}),
    );
    let traces = results
        .traces
        .iter()
        .map(|trace| (trace.name.clone(), trace.notes.iter().cloned().map(Value::from).collect()));
    json!({
        "schema_version": SCHEMA_VERSION,
        "study": "energy",
        "source": study.source,
        "device": device,
        "seed": study.seed,
        "traces": args.traces.as_ref().map(|dir| dir.display().to_string()),
        "traces_missing": results.missing,
        "trace_notes": traces.collect::<Map<String, Value>>(),
        "energy": results.rows.iter().map(|row| energy(results, row)).collect::<Vec<_>>(),
        "window": windows(results),
        "tables": tables(results),
        "published": claims.iter().map(Claim::object).collect::<Vec<_>>(),
        "errata": errata.collect::<Vec<_>>(),
    })
}

fn energy(results: &Results, row: &Row) -> Value {
    let case = results.study.case.iter().find(|case| case.name == row.case);
    let report = &row.report;
    let Parts { total, post, host, copy, map, erase, other } = row.parts();
    let [switch, partial, full, dead] = merges(report);
    json!({
        "case": row.case,
        "workload": case.map_or(&row.case, |case| &case.workload),
        "footprint_percent": case.map(|case| case.footprint_percent),
        "initial_state": row.initial,
        "ftl": row.ftl,
        "energy_pj": {
            "total": total,
            "post": post,
            "host_read": host[0],
            "host_write": host[1],
            "copy_read": copy[0],
            "copy_write": copy[1],
            "map_read": map[0],
            "map_write": map[1],
            "erase": erase,
            "other": other,
        },
        "erases": erases(report),
        "programs_per_host_page": report.flash.programs_per_host_page,
        "mean_ns": report.latency_ns["all"].mean,
        "p99_ns": report.latency_ns["all"].p99,
        "merges": {"switch": switch, "partial": partial, "full": full, "dead": dead},
        "gc_jobs": report.gc.jobs,
        "searches": searches(report),
        "memory": report.memory,
    })
}

fn windows(results: &Results) -> Value {
    let window = &results.study.window;
    let layer = |(layer, ftl): (usize, &String)| {
        let shares = window.share_percent.iter().enumerate().map(|(place, share)| {
            let report = &results.window[layer][place];
            json!({
                "share_percent": share,
                "mean_ns": report.latency_ns["all"].mean,
                "normalised": normalised(results, layer, place),
                "searches": searches(report),
                "energy_pj": report.energy_pj.total,
            })
        });
        json!({"case": window.case, "ftl": ftl, "shares": shares.collect::<Vec<_>>()})
    };
    window.ftls.iter().enumerate().map(layer).collect()
}

fn tables(results: &Results) -> Value {
    let tables = &results.study.tables;
    let capacity = |&mebibytes: &u64| {
        let sizes = sizes(results, mebibytes);
        let power = |chip_mw: u64| -> Map<String, Value> {
            let of = |(name, bytes): (&str, u64)| {
                let (chips, share) = dram_mw(results, bytes, chip_mw);
                (name.to_string(), json!({"chips": chips, "by_size": share}))
            };
            sizes.map(of).into_iter().collect()
        };
        let bytes: Map<String, Value> =
            sizes.map(|(name, bytes)| (name.to_string(), bytes.into())).into_iter().collect();
        json!({
            "capacity_mib": mebibytes,
            "bytes": bytes,
            "sdram_mw": power(tables.sdram_mw),
            "low_power_mw": power(tables.low_power_mw),
        })
    };
    tables.capacity_mib.iter().map(capacity).collect()
}
