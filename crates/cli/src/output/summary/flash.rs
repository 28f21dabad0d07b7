//! What flash, map, collection and buffer did; and what a disk did.

use crate::output::text::line;
use flashyard_run::headline;
use flashyard_run::units::percent;
use flashyard_run::units::{NONE, count, energy, or_dash, size, time};
use flashyard_sim::device::Share;
use flashyard_sim::report::{Report, Wear, YEAR_DAYS};

/// Lines on a disk.
pub(super) fn of_disk(report: &Report) -> Vec<String> {
    let cache = &report.buffer;
    let reads = cache.read_hits + cache.read_misses;
    let said = format!(
        "{} of {} reads hit, {} writes acknowledged, {} waited for room, {} operations of the arm \
         wrote",
        count(cache.read_hits),
        count(reads),
        count(cache.dirtied_units),
        count(cache.stalls),
        count(cache.flushed_units)
    );
    let busy = format!("arm {} of the time", share(&report.utilisation.dies));
    vec![line("busy", &busy), line("cache", &said)]
}

/// Lines on a device of flash.
pub(super) fn figures(merges: bool, report: &Report) -> Vec<String> {
    let flash = &report.flash;
    let sum = |operation: &str| count(flash.array_ops[operation].values().sum::<u64>());
    let busy = format!(
        "dies {}, channels {} of the time",
        share(&report.utilisation.dies),
        share(&report.utilisation.channels)
    );
    let (programs, erases) = (sum("programs"), sum("erases"));
    let reads = sum("reads") + " reads";
    let again = flash.retried_reads.map(|reads| format!(" ({} sensed again)", count(reads)));
    let reads = reads + &again.unwrap_or_default();
    let mut lines = vec![
        line("busy", &busy),
        line("flash", &format!("{reads}, {programs} programs, {erases} erases")),
    ];
    lines.extend(amplification(report));
    lines.extend(handles(report));
    lines.extend(map_cache(report));
    lines.push(if merges { merged(report) } else { collected(report) });
    lines.extend(slc_cache(report));
    lines.extend(endurance(report));
    lines.extend(memory(report));
    lines.extend(buffer(report));
    lines.extend(waits(report));
    lines
}

/// Write amplification and its parts. They exist if the host wrote something.
fn amplification(report: &Report) -> Option<String> {
    let flash = &report.flash;
    let parts = |name: &str| flash.write_amplification_by.get(name).copied().flatten();
    let factor = flash.write_amplification?;
    let mut said = format!("{factor:.3} = {:.3} host data", parts("host")?);
    let named = [
        ("padding", "padding"),
        ("gc", "garbage collection"),
        ("fold", "folding"),
        ("wear", "wear levelling"),
        ("map", "map pages"),
        ("merge", "merges"),
        ("journal", "journal"),
    ];
    for (part, name) in named {
        let factor = parts(part).filter(|factor| *factor > 0.0);
        let Some(factor) = factor else { continue };
        said += &format!(" + {factor:.3} {name}");
        if part == "padding" {
            let causes = flash.padded_units_by.iter().filter(|(_, units)| **units > 0);
            let all = flash.padded_units as f64;
            let of = |(cause, units): (&&str, &u64)| {
                let share = factor * *units as f64 / all;
                format!("{share:.3} {}", padding_cause(cause))
            };
            said += &format!(" ({})", causes.map(of).collect::<Vec<_>>().join(", "));
        }
    }
    Some(line("written", &format!("write amplification {said}")))
}

/// What the blocks bear. It is known if the host wrote something.
fn endurance(report: &Report) -> Option<String> {
    let endurance = report.wear.endurance?;
    endurance.host_bytes?;
    let [tbw, dwpd, years] = ["tbw", "dwpd", "life_years"].map(|name| {
        let figure = headline::named(name);
        figure.show(figure.value(report))
    });
    let days = endurance.life_s? / 86_400.0;
    let life = if days < YEAR_DAYS { format!("{days:.1} days") } else { format!("{years} years") };
    let said = format!(
        "{} erases a block: {tbw} TB of the host, {dwpd} times the capacity a day for 5 years, \
         {life} of this load",
        count(endurance.cycles)
    );
    Some(line("endurance", &said))
}

/// Programs that were not filled, by their cause.
fn padding_cause(cause: &str) -> &str {
    match cause {
        "asked" => "of flushes and FUA",
        "host" => "of other host data",
        "gc" => "of garbage collection",
        "wear" => "of wear levelling",
        "merge" => "of merges",
        "fold" => "of folding",
        "journal" => "of the journal",
        _ => "of map pages",
    }
}

/// The work of the map cache, if the device has one.
fn map_cache(report: &Report) -> Option<String> {
    let map = &report.map;
    (report.memory.cache_bytes > 0).then(|| {
        let said = format!(
            "{} lookups, {} hits ({}), {} dirty evictions, {} stalls",
            count(map.lookups),
            count(map.hits),
            percent(map.hits as f64, map.lookups as f64),
            count(map.dirty_evictions),
            count(map.stalls)
        );
        line("map cache", &said)
    })
}

/// What garbage collection did.
fn collected(report: &Report) -> String {
    let (gc, wear) = (&report.gc, &report.wear);
    let victims = match gc.jobs {
        0 => "no victims".to_string(),
        jobs => {
            format!("{} victims with {} valid pages", count(jobs), count(gc.valid_pages_copied))
        }
    };
    let said = format!(
        "{victims}, {} searches, {} programs waited for room, {}",
        count(gc.searches),
        count(gc.programs_that_waited_for_room),
        erases(wear)
    );
    line("collection", &said)
}

/// Placement handles that the summary shows; all of them are in the JSON.
const HANDLES: usize = 8;

/// What the data of each placement handle cost, if there are several.
fn handles(report: &Report) -> Option<String> {
    let rows = report.placement.as_ref()?;
    let mut written: Vec<_> = rows.iter().filter(|row| row.media_bytes > 0).collect();
    let more = written.len().saturating_sub(HANDLES);
    written.truncate(HANDLES);
    let said = written.iter().map(|row| {
        let copied = format!("{} copied", size(row.copied_bytes));
        match (row.handle, row.write_amplification) {
            (Some(handle), Some(factor)) => {
                format!("{handle}: {factor:.3} ({} written, {copied})", size(row.host_bytes))
            }
            (Some(handle), None) => format!("{handle}: {copied}"),
            (None, _) => format!("shared: {copied}"),
        }
    });
    let mut said = said.collect::<Vec<_>>().join(", ");
    if more > 0 {
        said += &format!(", {more} more in --json");
    }
    (!said.is_empty()).then(|| line("handles", &said))
}

/// What went through the SLC cache, if the device has one.
fn slc_cache(report: &Report) -> Option<String> {
    let slc = report.slc?;
    let said = format!(
        "{} pages written to it, {} past it, {} read from it, {} blocks folded with {} valid \
         units, {} blocks with {} units at the end",
        count(slc.cached_pages),
        count(slc.direct_pages),
        count(slc.read_hits),
        count(slc.folds),
        count(slc.folded_units),
        count(slc.blocks_at_end),
        count(slc.units_at_end)
    );
    Some(line("SLC cache", &said))
}

/// What the merges of a scheme with log blocks did.
fn merged(report: &Report) -> String {
    let (merges, wear) = (&report.gc.merges, &report.wear);
    let said = format!(
        "{} switch, {} partial, {} full, {} dead, {} searches, {}",
        count(merges.switch),
        count(merges.partial),
        count(merges.full),
        count(merges.dead),
        count(report.gc.searches),
        erases(wear)
    );
    line("merges", &said)
}

fn erases(wear: &Wear) -> String {
    format!("{} to {} erases a block", wear.erases_min, wear.erases_max)
}

/// The tables of the translation layer, if their size is known.
fn memory(report: &Report) -> Option<String> {
    let memory = &report.memory;
    (memory.table_bytes + memory.cache_bytes > 0).then(|| {
        let cache = match memory.cache_bytes {
            0 => String::new(),
            bytes => format!(", {} of map cache", size(bytes)),
        };
        let accesses = count(memory.table_accesses);
        line(
            "memory",
            &format!("{} of tables{cache}, {accesses} accesses", size(memory.table_bytes)),
        )
    })
}

/// The work of the write buffer, if the device has one.
fn buffer(report: &Report) -> Option<String> {
    let buffer = &report.buffer;
    if buffer.units == 0 {
        return None;
    }
    let share = |value: Option<f64>| or_dash(value, |value| percent(value, 1.0));
    let hits = |hits: u64, misses: u64, ratio: Option<f64>, class: &str| {
        (hits + misses > 0).then(|| {
            format!("{} of {} {class} hit ({})", count(hits), count(hits + misses), share(ratio))
        })
    };
    let reads = hits(buffer.read_hits, buffer.read_misses, buffer.hit_ratio_read, "page reads");
    let writes =
        hits(buffer.write_hits, buffer.write_misses, buffer.hit_ratio_write, "page writes");
    let mut said: Vec<String> = reads.into_iter().chain(writes).collect();
    said.push(format!("{} waited for a line", count(buffer.stalls)));
    said.push(format!("{} units flushed", count(buffer.flushed_units)));
    said.push(format!("{} dirty at the end", count(buffer.dirty_at_end)));
    if buffer.hidden_read_ratio.is_some() {
        said.push(format!(
            "hidden read ratio {} of the port time of gets",
            share(buffer.hidden_read_ratio)
        ));
    }
    if let Some(ahead) = &buffer.read_ahead {
        let unread = energy(ahead.unread_pj as f64);
        said.push(format!(
            "{} units read ahead, {} of them for nobody ({unread})",
            count(ahead.units),
            count(ahead.unread_units)
        ));
    }
    let standby = report.energy_pj.by_resource["buffer_standby"];
    if standby > 0 {
        said.push(format!("{} standby", energy(standby as f64)));
    }
    Some(line("buffer", &said.join(", ")))
}

/// Waiting times as one publication defines them, of devices with one die.
fn waits(report: &Report) -> Option<String> {
    let all = &report.waits_ns.as_ref()?["all"];
    let mean = |value: Option<f64>| or_dash(value, time);
    let said = format!(
        "{} for the first slot, {} own commands, {} flash queue",
        mean(all.request_queue_mean),
        mean(all.own_commands_mean),
        mean(all.flash_queue_mean)
    );
    Some(line("mean wait", &said))
}

/// Says how busy several parts of a kind were: their mean, and their range if they differ.
fn share(share: &Share) -> String {
    let (Some(mean), Some(min), Some(max)) = (share.mean, share.min, share.max) else {
        return NONE.to_string();
    };
    let mean = percent(mean, 1.0);
    let (min, max) = (format!("{:.1}", 100.0 * min), percent(max, 1.0));
    if max == mean { mean } else { format!("{mean} ({min} to {max})") }
}
