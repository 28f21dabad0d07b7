//! Tables for people.

use super::verdict;
use crate::inputs::Inputs;
use comfy_table::{CellAlignment, Table, presets};
use flashyard_core::request::RequestOp;
use flashyard_sim::device::Share;
use flashyard_sim::metrics::parts::{Part, Parts};
use flashyard_sim::report::{LatencyReport, Report, Wear};
use std::fmt::Write;

/// A table without lines, the first column to the left, the others to the right.
pub(crate) fn table(header: &[&str]) -> Table {
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    table.set_header(header.to_vec());
    for (index, column) in table.column_iter_mut().enumerate() {
        column.set_padding((0, 2));
        column.set_cell_alignment(if index == 0 {
            CellAlignment::Left
        } else {
            CellAlignment::Right
        });
    }
    table
}

/// A finished table without the spaces at the ends of its lines.
pub(crate) fn render(table: &Table) -> String {
    table.lines().fold(String::new(), |mut text, line| {
        let _ = writeln!(text, "{}", line.trim_end());
        text
    })
}

/// Nanoseconds as microseconds with one digit.
pub(crate) fn us(ns: f64) -> String {
    format!("{:.1}", ns / 1e3)
}

fn whole_us(ns: Option<u64>) -> String {
    ns.map_or_else(|| "-".to_string(), |ns| us(ns as f64))
}

/// A share in percent with one digit.
pub(crate) fn percent(part: f64, whole: f64) -> String {
    if whole > 0.0 { format!("{:.1} %", 100.0 * part / whole) } else { "-".to_string() }
}

/// How busy several of a kind were: mean, and range where they differ.
fn share(share: &Share) -> String {
    let (Some(mean), Some(min), Some(max)) = (share.mean, share.min, share.max) else {
        return "-".to_string();
    };
    let mean = percent(mean, 1.0);
    let (min, max) = (format!("{:.1}", 100.0 * min), percent(max, 1.0));
    if max == mean { mean } else { format!("{mean} ({min} to {max})") }
}

/// The summary of a run.
pub(crate) fn summary(inputs: &Inputs, report: &Report) -> String {
    let (device, workload) = (&inputs.device_name, inputs.workload_name());
    let mut text = format!("device {device}, workload {workload}\n\n");
    let measured = report.phases.iter().any(|phase| phase.measured);
    if report.phases.len() > 1 || !measured {
        text += &phases(report);
        text += "\n";
    }
    if !measured {
        return text + "nothing was measured: set measure = true in a phase\n";
    }
    text += &latencies(report);
    text += "\n";
    if !report.streams.is_empty() {
        text += &streams(report);
        text += "\n";
    }
    text += &if inputs.sections.device.is_disk() {
        of_disk(report)
    } else {
        figures(verdict::merges(inputs), report)
    };
    text += "\n";
    text += &parts(report);
    text += "\n";
    text += &verdict::sentence(inputs, report);
    text
}

fn latencies(report: &Report) -> String {
    let mut table = table(&["latency (us)", "count", "mean", "p50", "p90", "p99", "p99.9", "max"]);
    for name in RequestOp::ALL.map(RequestOp::name).into_iter().chain(["all"]) {
        let latency: &LatencyReport = &report.latency_ns[name];
        if latency.count == 0 {
            continue;
        }
        table.add_row(vec![
            name.to_string(),
            latency.count.to_string(),
            latency.mean.map_or_else(|| "-".to_string(), us),
            whole_us(latency.p50),
            whole_us(latency.p90),
            whole_us(latency.p99),
            whole_us(latency.p999),
            whole_us(latency.max),
        ]);
    }
    render(&table)
}

/// What each phase did, measured or not.
fn phases(report: &Report) -> String {
    let mut table =
        table(&["phase", "measured", "requests", "seconds", "requests/s", "WA", "ended by"]);
    for phase in &report.phases {
        let seconds = phase.makespan_ns as f64 / 1e9;
        let or_dash = |text: Option<String>| text.unwrap_or_else(|| "-".to_string());
        table.add_row(vec![
            phase.name.clone(),
            if phase.measured { "yes" } else { "no" }.to_string(),
            phase.requests.to_string(),
            format!("{seconds:.3}"),
            or_dash((seconds > 0.0).then(|| format!("{:.0}", phase.requests as f64 / seconds))),
            or_dash(phase.write_amplification.map(|factor| format!("{factor:.3}"))),
            phase.ended_by.to_string(),
        ]);
    }
    render(&table)
}

/// The measured requests of each stream. How long rate limits held some is shown where they did.
fn streams(report: &Report) -> String {
    let held = report.streams.values().any(|stream| stream.rate_limited_ns > 0);
    let mut columns = vec![
        "stream (us)",
        "requests",
        "IOPS",
        "read",
        "p99",
        "p99.9",
        "write",
        "p99",
        "p99.9",
        "slowdown",
    ];
    columns.extend(held.then_some("rate limited (s)"));
    let mut table = table(&columns);
    for (name, stream) in &report.streams {
        let iops = stream.iops.map_or_else(|| "-".to_string(), |iops| format!("{iops:.1}"));
        let mut row = vec![name.clone(), stream.requests.to_string(), iops];
        for class in ["read", "write"] {
            let latency = &stream.latency_ns[class];
            row.push(latency.mean.map_or_else(|| "-".to_string(), us));
            row.extend([whole_us(latency.p99), whole_us(latency.p999)]);
        }
        row.push(stream.slowdown.map_or_else(|| "-".to_string(), |times| format!("{times:.2}")));
        row.extend(held.then(|| format!("{:.3}", stream.rate_limited_ns as f64 / 1e9)));
        table.add_row(row);
    }
    render(&table)
}

/// Requests and bytes a second.
fn throughput(report: &Report) -> String {
    let rate = |value: Option<f64>, scale: f64| {
        value.map_or_else(|| "-".to_string(), |value| format!("{:.1}", value / scale))
    };
    format!(
        "throughput   {} IOPS, read {} MB/s, write {} MB/s, makespan {:.3} s",
        rate(report.throughput.iops, 1.0),
        rate(report.throughput.read_bytes_per_s, 1e6),
        rate(report.throughput.write_bytes_per_s, 1e6),
        report.throughput.makespan_ns as f64 / 1e9
    )
}

/// All energy, and how much of it no request took.
fn energy(report: &Report) -> String {
    let energy = &report.energy_pj;
    format!(
        "energy       {:.3} mJ, {} of it of no request",
        energy.total as f64 / 1e9,
        percent(energy.unattributed as f64, energy.total as f64)
    )
}

/// What a disk did.
fn of_disk(report: &Report) -> String {
    let cache = &report.buffer;
    let reads = cache.read_hits + cache.read_misses;
    let by = report.energy_pj.by_resource.iter();
    let by = by.filter(|(name, _)| **name != "sleep" || report.power.sleep.is_some());
    let shares = by
        .map(|(name, pj)| format!("{name} {}", percent(*pj as f64, report.energy_pj.total as f64)));
    let mut lines = vec![
        throughput(report),
        format!("busy         arm {} of the time", share(&report.utilisation.dies)),
        format!(
            "cache        {} of {reads} reads hit, {} writes acknowledged, {} waited for room, {} \
             operations of the arm wrote",
            cache.read_hits, cache.dirtied_units, cache.stalls, cache.flushed_units
        ),
        format!("{}: {}", energy(report), shares.collect::<Vec<_>>().join(", ")),
        power(report),
    ];
    lines.extend(efficiency(report));
    lines.extend(sleep(report));
    lines.join("\n") + "\n"
}

fn figures(merges: bool, report: &Report) -> String {
    let flash = &report.flash;
    let sum = |operation: &str| flash.array_ops[operation].values().sum::<u64>();
    let amplification =
        flash.write_amplification.map_or_else(|| "-".to_string(), |factor| format!("{factor:.3}"));
    let mut lines = vec![
        throughput(report),
        format!(
            "busy         dies {}, channels {} of the time",
            share(&report.utilisation.dies),
            share(&report.utilisation.channels)
        ),
        format!(
            "flash        {} reads, {} programs, {} erases, write amplification {amplification}",
            sum("reads"),
            sum("programs"),
            sum("erases"),
        ),
    ];
    lines.extend(amplification_parts(report));
    lines.extend(map_cache(report));
    lines.push(if merges { merged(report) } else { collected(report) });
    lines.extend(memory(report));
    lines.extend([energy(report), power(report)]);
    lines.extend(efficiency(report));
    lines.extend(sleep(report));
    lines.extend(buffer(report));
    if let Some(waits) = &report.waits_ns {
        let all = &waits["all"];
        let mean = |value: Option<f64>| value.map_or_else(|| "-".to_string(), us);
        lines.push(format!(
            "mean wait    {} us for the first slot, {} us own commands, {} us flash queue",
            mean(all.request_queue_mean),
            mean(all.own_commands_mean),
            mean(all.flash_queue_mean)
        ));
    }
    lines.join("\n") + "\n"
}

/// What write amplification is made of, where the host wrote anything.
fn amplification_parts(report: &Report) -> Option<String> {
    let flash = &report.flash;
    let parts = |name: &str| flash.write_amplification_by[name];
    let mut line = format!("amplified by host data {:.3}", parts("host")?);
    let named = [
        ("padding", "padding"),
        ("gc", "garbage collection"),
        ("wear", "wear levelling"),
        ("map", "map pages"),
        ("merge", "merges"),
    ];
    for (part, name) in named {
        let factor = parts(part).filter(|factor| *factor > 0.0);
        let Some(factor) = factor else { continue };
        let _ = write!(line, ", {name} {factor:.3}");
        let causes = flash.padded_units_by.iter().filter(|(_, units)| **units > 0);
        if part == "padding" {
            let all = flash.padded_units as f64;
            let of = |(cause, units): (&&str, &u64)| {
                let share = factor * *units as f64 / all;
                format!("{} {share:.3}", padding_cause(cause))
            };
            let _ = write!(line, " ({})", causes.map(of).collect::<Vec<_>>().join(", "));
        }
    }
    Some(line)
}

/// Programs that were not filled, by their cause.
fn padding_cause(cause: &str) -> &str {
    match cause {
        "asked" => "of flushes and FUA",
        "host" => "of other host data",
        "gc" => "of garbage collection",
        "wear" => "of wear levelling",
        "merge" => "of merges",
        _ => "of map pages",
    }
}

/// What the map cache did, if there is one.
fn map_cache(report: &Report) -> Option<String> {
    let map = &report.map;
    (report.memory.cache_bytes > 0).then(|| {
        format!(
            "map cache    {} lookups, {} hits ({}), {} dirty evictions, {} stalls",
            map.lookups,
            map.hits,
            percent(map.hits as f64, map.lookups as f64),
            map.dirty_evictions,
            map.stalls
        )
    })
}

/// What garbage collection did.
fn collected(report: &Report) -> String {
    let (gc, wear) = (&report.gc, &report.wear);
    format!(
        "collection   {} victims, {} searches, {} valid pages, {} programs waited for room, {}",
        gc.jobs,
        gc.searches,
        gc.valid_pages_copied,
        gc.programs_that_waited_for_room,
        erases(wear)
    )
}

/// What the merges of a scheme with log blocks did.
fn merged(report: &Report) -> String {
    let (merges, wear) = (&report.gc.merges, &report.wear);
    format!(
        "merges       {} switch, {} partial, {} full, {} dead, {} searches, {}",
        merges.switch,
        merges.partial,
        merges.full,
        merges.dead,
        report.gc.searches,
        erases(wear)
    )
}

fn erases(wear: &Wear) -> String {
    format!("erases a block {} to {}", wear.erases_min, wear.erases_max)
}

/// Tables of the translation layer, where their size is known.
fn memory(report: &Report) -> Option<String> {
    let memory = &report.memory;
    (memory.table_bytes + memory.cache_bytes > 0).then(|| {
        let cache = match memory.cache_bytes {
            0 => String::new(),
            bytes => format!(", {bytes} bytes of map cache"),
        };
        format!(
            "memory       {} bytes of tables{cache}, {} accesses",
            memory.table_bytes, memory.table_accesses
        )
    })
}

/// Mean and highest power, where energy goes by phase, and waits for power.
fn power(report: &Report) -> String {
    let (power, energy) = (&report.power, &report.energy_pj);
    let milliwatts = |value: Option<f64>| {
        value.map_or_else(|| "-".to_string(), |value| format!("{value:.3} mW"))
    };
    let mut line = format!("power        {} on average", milliwatts(power.mean_mw));
    if power.peak_mw.is_some() {
        line += &format!(", {} in the highest bin", milliwatts(power.peak_mw));
    }
    if let Some(meter) = power.meter.as_ref().filter(|meter| meter.peak_mw.is_some()) {
        line += &format!(", {} in the highest sample", milliwatts(meter.peak_mw));
    }
    for phase in ["idle", "post"] {
        let share = percent(energy.by_phase[phase] as f64, energy.total as f64);
        line += &format!(", {share} {phase}");
    }
    if power.waits > 0 {
        let mean = power.waited_ns as f64 / power.waits as f64;
        line += &format!(", dies waited {} times for power, {} us each", power.waits, us(mean));
    }
    line
}

/// Joules a megabyte, with the rate and the power that it comes from, where data was moved.
fn efficiency(report: &Report) -> Option<String> {
    let (joules, rate) = (report.power.j_per_mb?, report.throughput.bytes_per_s?);
    let watts = report.power.mean_mw? / 1e3;
    Some(format!("efficiency   {joules:.4} J/MB, {:.2} MB/s, {watts:.3} W", rate / 1e6))
}

/// How the device slept, if it may.
fn sleep(report: &Report) -> Option<String> {
    let (sleep, span) = (report.power.sleep?, report.power.span_ns as f64);
    let mut line = format!("sleep        {} of the time", percent(sleep.asleep_ns as f64, span));
    if sleep.deep_asleep_ns > 0 {
        line += &format!(", {} at the deeper level", percent(sleep.deep_asleep_ns as f64, span));
    }
    let energy = report.energy_pj.by_resource["sleep"];
    line += &format!(", woke {} times, {:.3} mJ", sleep.wakes, energy as f64 / 1e9);
    Some(line)
}

/// What the write buffer did, if there is one.
fn buffer(report: &Report) -> Option<String> {
    let buffer = &report.buffer;
    if buffer.units == 0 {
        return None;
    }
    let share = |value: Option<f64>| value.map_or_else(|| "-".to_string(), |v| percent(v, 1.0));
    let mut line = format!(
        "buffer       page accesses: {} of {} reads ({}) and {} of {} writes ({}) hit, {} waited for \
         a line; {} units flushed, {} dirty at the end",
        buffer.read_hits,
        buffer.read_hits + buffer.read_misses,
        share(buffer.hit_ratio_read),
        buffer.write_hits,
        buffer.write_hits + buffer.write_misses,
        share(buffer.hit_ratio_write),
        buffer.stalls,
        buffer.flushed_units,
        buffer.dirty_at_end
    );
    if buffer.hidden_read_ratio.is_some() {
        let ratio = share(buffer.hidden_read_ratio);
        line += &format!(", hidden read ratio {ratio} of the port time of gets");
    }
    let standby = report.energy_pj.by_resource["buffer_standby"];
    if standby > 0 {
        line += &format!(", {:.3} mJ standby", standby as f64 / 1e9);
    }
    Some(line)
}

fn parts(report: &Report) -> String {
    let classes: Vec<&str> =
        ["read", "write"].into_iter().filter(|class| report.latency_ns[class].count > 0).collect();
    let mut header = vec!["latency is (us, mean)".to_string()];
    for class in &classes {
        header.extend([class.to_string(), "share".to_string(), "slowest 1 %".to_string()]);
    }
    let mut table = table(&header.iter().map(String::as_str).collect::<Vec<_>>());
    for part in Part::ALL {
        if classes.iter().all(|class| report.latency_parts_ns[class].get(part) == 0) {
            continue;
        }
        let mut row = vec![part.name().to_string()];
        for class in &classes {
            let all: &Parts = &report.latency_parts_ns[class];
            let tail = &report.latency_parts_tail_ns[class].p99;
            let time = all.get(part) as f64;
            row.push(us(time / report.latency_ns[class].count as f64));
            row.push(percent(time, all.total() as f64));
            row.push(percent(tail.get(part) as f64, tail.total() as f64));
        }
        table.add_row(row);
    }
    render(&table)
}

/// Why a run has no latencies, where all its requests are among those that do not count.
pub(crate) fn nothing_counted(skip: u64, report: &Report) -> Option<String> {
    let requests = report.workload.requests;
    (requests > 0 && skip >= requests).then(|| {
        format!(
            "no latency counts: metrics.skip_requests is {skip}, and {requests} requests were \
             measured; set it below that"
        )
    })
}
