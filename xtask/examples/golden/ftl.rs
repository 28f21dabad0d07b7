//! Worked examples of translation layers.
//!
//! A file holds `examples` and `oracle_runs`, each with `ftl` (page, dftl, block, bast, fast,
//! last), `config`, `steps` and what they cost (`expect` or `counts`). Steps: `pre` (every page has
//! been written once), `W l n` and `R l n` (n pages from page l), `RND seed n pw sq mx` (n requests
//! drawn from splitmix64), `I` (merge every log block), `G` (one collection), `F` (write dirty map
//! entries back). `energy_uJ` and `time_us` are those of an operation, of Park et al. 2011, Table 1
//! where a file has none; `mapping_table_bytes` is the memory of the tables by capacity.

use super::tally::{Tally, entries, list};
use anyhow::{Context, Result, bail, ensure};
use flashyard_core::request::{Request, RequestOp};
use flashyard_sim::config::{DeviceKeys, Settings, apply_setting};
use flashyard_sim::device::{Device, PhaseKeys, Upkeep};
use flashyard_sim::observe::{CommandDone, Observer, Shared};
use flashyard_sim::parts::memory::{DemandTable, Extent};
use flashyard_sim::report::Report;
use flashyard_sim::stream::{Stream, StreamKeys};
use flashyard_workload::random::SplitMix64;
use serde_json::{Map, Value, json};
use std::convert::Infallible;

/// Sectors of a page of 2 KB.
const SECTORS: u64 = 4;

/// One die, no time on the channel, one page after the other.
const BASE: &[&str] = &["geometry.page_bytes=2048", "queue.depth=1", "policy.command=fifo"];

const LOG_BLOCKS: &[&str] =
    &["map.store=resident", "nand.program_order=any", "ftl.merge_first=true"];

const PAGE_MAP: &[&str] = &[
    "ftl.generations=0",
    "ftl.map_generations=0",
    "gc.start=needed",
    "gc.policy=window",
    "gc.reserve_blocks=1",
];

const CACHED_MAP: &[&str] = &[
    "map.store=cmt",
    "map.cache_bytes=32768",
    "map.moved_entries=join_cached",
    "map.rewrite_order=moved",
    "map.unwritten_read=zero",
    "queue.admission=page",
    "gc.emergency=true",
    "gc.erase_after_map=true",
    "gc.map_reserve=as_data",
    "gc.reserve_blocks=8",
];

/// The settings of what a read, a program and an erase take and cost, in a file or as published.
fn costs(all: &Value, tally: &mut Tally) -> Result<Vec<String>> {
    let parts = [
        ("time_us", "nand", "us", 1.0, [130.9, 405.9, 1_500.0]),
        ("energy_uJ", "energy", "pj", 1e6, [4.72, 38.04, 527.68]),
    ];
    let mut settings = Vec::new();
    for (name, section, unit, scale, published) in parts {
        let ops = ["read", "program", "erase"];
        let given = all.get(name);
        given.inspect(|given| tally.known(given, &ops));
        for (op, published) in ops.into_iter().zip(published) {
            let value = match given {
                None => published,
                Some(given) => given[op].as_f64().with_context(|| format!("{name}: {op}"))?,
            };
            // Whole picojoules; tenths of a microsecond are whole nanoseconds.
            settings.push(format!("{section}.{op}_{unit}={:.1}", value * scale).replace(".0", ""));
        }
    }
    Ok(settings)
}

/// Runs every example of a file.
pub(super) fn run(all: &Value, tally: &mut Tally) -> Result<()> {
    let parts = ["energy_uJ", "time_us", "examples", "oracle_runs", "mapping_table_bytes"];
    tally.known(all, &parts);
    let costs = costs(all, tally)?;
    let rows = |name: &str| all.get(name).and_then(Value::as_array).into_iter().flatten();
    let examples = rows("examples").map(|example| (example, "expect"));
    let runs = rows("oracle_runs").map(|run| (run, "counts"));
    for (example, expected) in examples.chain(runs) {
        let id = format!("example {}", example["id"].as_str().unwrap_or("?"));
        tally.part(&id, |tally| {
            tally.known(example, &["config", "steps", expected]);
            run_example(example, &example[expected], &costs, tally)
        });
    }
    for row in rows("mapping_table_bytes") {
        tally.part("mapping_table_bytes", |tally| tables(row, tally));
    }
    Ok(())
}

fn run_example(
    example: &Value,
    expected: &Value,
    costs: &[String],
    tally: &mut Tally,
) -> Result<()> {
    let config = example["config"].as_object().context("there is no `config`")?;
    let steps =
        list(example, "steps")?.iter().map(|step| step.as_str().context("a step is no text"));
    let steps: Vec<&str> = steps.collect::<Result<_>>()?;
    let full = steps.first() == Some(&"pre");
    let ftl = example["ftl"].as_str().context("there is no `ftl`")?;
    let settings = settings(ftl, config, full, costs)?;
    let (report, busy) = simulate(&settings, &steps[usize::from(full)..])?;
    tally.runs += 1;
    for (what, expected) in entries(expected)? {
        match found(&report, busy, what) {
            // Energies and times are rounded to hundredths.
            Some(found) => tally.within(what, expected, &json!(found), 0.005),
            None => tally.unknown(what, expected),
        }
    }
    Ok(())
}

/// The memory of the tables of the study's device at a capacity.
fn tables(row: &Value, tally: &mut Tally) -> Result<()> {
    let mebibytes = row["capacity_MB"].as_u64().context("capacity_MB is no whole number")?;
    let extent = Extent::study(mebibytes);
    let blocks = extent.logical / extent.pages_per_block;
    tally.runs += 1;
    for (name, expected) in entries(row)? {
        let found = match name.as_str() {
            "capacity_MB" => continue,
            "pages" => extent.logical,
            "page_entry_B" => extent.entry(extent.physical),
            "blocks" => blocks,
            "block_entry_B" => extent.entry(blocks),
            "log_blocks" => extent.log_pages / extent.pages_per_block,
            "log_pages" => extent.log_pages,
            "page_map_B" => extent.page_table(),
            "block_map_B" => extent.block_table(),
            "fast_last_B" => extent.block_table() + extent.shared_log(),
            // Beside its cache of 32 KiB.
            "dftl_B" => extent.demand(DemandTable::BlockTable) + 32 * 1_024,
            _ => {
                tally.unknown(name, expected);
                continue;
            }
        };
        tally.same(&format!("{mebibytes} MB: {name}"), expected, &json!(found));
    }
    Ok(())
}

fn settings(
    ftl: &str,
    config: &Map<String, Value>,
    full: bool,
    costs: &[String],
) -> Result<Settings> {
    let whole = |name: &str| {
        let value = config.get(name).and_then(Value::as_u64);
        value.with_context(|| format!("{name} is no whole number"))
    };
    let (logical, physical) = (whole("lblocks")?, whole("pblocks")?);
    ensure!(physical > logical && logical > 0, "pblocks: no spare blocks");
    let spare = (physical - logical) * 1_000_000 / logical;
    let mut assignments: Vec<String> = match ftl {
        "page" => [BASE, PAGE_MAP, &["map.store=resident"]].concat(),
        "dftl" => [BASE, PAGE_MAP, CACHED_MAP].concat(),
        "block" | "bast" | "fast" | "last" => [BASE, LOG_BLOCKS].concat(),
        other => bail!("ftl {other} is unknown"),
    }
    .into_iter()
    .map(String::from)
    .collect();
    assignments.extend(costs.iter().cloned());
    let scheme = if ftl == "dftl" { "page" } else { ftl };
    assignments.push(format!("ftl.scheme={scheme}"));
    assignments.push(format!("state.initial={}", if full { "full" } else { "fresh" }));
    assignments.push(format!("geometry.blocks_per_plane={physical}"));
    let percent = format!("{}.{:04}", spare / 10_000, spare % 10_000);
    assignments.push(format!("ftl.over_provisioning_percent={percent}"));
    for (name, value) in config {
        assignments.extend(assignment(ftl, name, value)?);
    }
    let mut keys = DeviceKeys::default();
    let mut problems = Vec::new();
    for assignment in &assignments {
        apply_setting("example", assignment, &mut keys, &mut problems);
    }
    ensure!(problems.is_empty(), "{}", problems[0]);
    let settings = Settings::new(keys)?;
    let pages = logical * whole("ppb")?;
    ensure!(u64::from(settings.exported_units) == pages, "not {pages} pages are exported");
    Ok(settings)
}

/// The keys that a name of an example's configuration stands for.
fn assignment(ftl: &str, name: &str, value: &Value) -> Result<Option<String>> {
    let number = || value.as_f64().or_else(|| value.as_str()?.parse().ok());
    let share = || number().with_context(|| format!("{name} is no number"));
    let percent = |share: f64| format!("{:.4}", share * 100.0);
    let is_set = || share().map(|number| number != 0.0);
    Ok(Some(match name {
        "lblocks" | "pblocks" => return Ok(None),
        "ppb" => format!("geometry.pages_per_block={value}"),
        "logblocks" => format!("ftl.{ftl}.log_blocks={value}"),
        "seqlog" => format!("ftl.last.sequential_blocks={value}"),
        "hot" => format!("ftl.last.hot_percent={}", percent(share()?)),
        "thr" => format!("ftl.last.threshold_bytes={}", share()? * 2048.0),
        "bastfifo" => format!("ftl.bast.victim={}", if is_set()? { "fifo" } else { "lru" }),
        "fastseq" => format!("ftl.fast.broken_run={}", if is_set()? { "keep" } else { "merge" }),
        "coalesce" => format!("ftl.block.coalesce={}", is_set()?),
        "reserve" => format!("gc.reserve_blocks={value}"),
        "window" if value == "const" => "gc.window.share_percent=0".to_string(),
        "window" => format!("gc.window.share_percent={}", percent(share()?)),
        "gcfrontier" => format!("ftl.generations={}", u8::from(is_set()?)),
        "epp" => format!("map.entries_per_page={value}"),
        "cmt" => format!("map.cache_bytes={}", share()? * 8.0),
        "prot" => format!("map.protected_percent={}", percent(share()?)),
        "batch" => format!("map.batch_update={}", is_set()?),
        "lazy" => format!("map.lazy_copying={}", is_set()?),
        _ => bail!("config key {name} is unknown"),
    }))
}

/// Adds up how long the die works, in nanoseconds: upkeep too.
struct Busy(Shared<u64>);

impl Observer for Busy {
    fn command_done(&mut self, done: &CommandDone) {
        *self.0.get() += done.end.since(done.start).as_ns();
    }
}

/// Returns the report and how long the die worked, in nanoseconds.
fn simulate(settings: &Settings, steps: &[&str]) -> Result<(Report, u64)> {
    let mut device = Device::new(settings);
    device.check();
    let busy = Shared::new(0);
    device.observe(Box::new(Busy(busy.clone())));
    let mut requests = Vec::new();
    let pages = u64::from(settings.exported_units);
    for step in steps {
        let (name, numbers) = step.split_once(' ').unwrap_or((step, ""));
        let numbers = numbers.split_whitespace().map(str::parse);
        let numbers: Vec<u64> =
            numbers.collect::<Result<_, _>>().with_context(|| (*step).to_string())?;
        let upkeep = match (name, numbers.as_slice()) {
            ("W" | "R", [first, rest @ ..]) => {
                let count = rest.first().copied().unwrap_or(1);
                requests.push(request(name == "W", *first, count)?);
                continue;
            }
            ("RND", &[seed, count, writes, follows, longest]) => {
                let drawn = draw(seed, [count, writes, follows, longest], pages);
                requests.extend(drawn.collect::<Result<Vec<_>>>()?);
                continue;
            }
            ("I", []) => Upkeep::Merge,
            ("G", []) => Upkeep::Collect,
            ("F", []) => Upkeep::FlushMap,
            _ => bail!("step {step} is unknown"),
        };
        serve(&mut device, std::mem::take(&mut requests))?;
        device.upkeep(upkeep)?;
    }
    serve(&mut device, requests)?;
    Ok((device.finish()?, busy.take()))
}

fn serve(device: &mut Device, requests: Vec<Request>) -> Result<()> {
    if requests.is_empty() {
        return Ok(());
    }
    let mut requests = requests.into_iter();
    let source = Box::new(move || Ok::<_, Infallible>(requests.next()));
    let stream = Stream { name: "example".to_string(), keys: StreamKeys::default(), source };
    let phase = device.run_phase(&PhaseKeys::default(), vec![stream]);
    phase.map_err(|error| anyhow::anyhow!("{error:?}"))?;
    Ok(())
}

fn request(writes: bool, first: u64, pages: u64) -> Result<Request> {
    Ok(Request::new(
        if writes { RequestOp::Write } else { RequestOp::Read },
        first * SECTORS,
        u32::try_from(pages * SECTORS)?,
    ))
}

/// Draws requests. The draws of each are, in this order: whether it writes, whether it follows on
/// the request before it, its number of pages, its first page.
fn draw(
    seed: u64,
    [count, writes, follows, longest]: [u64; 4],
    pages: u64,
) -> impl Iterator<Item = Result<Request>> {
    let mut random = SplitMix64::new(seed);
    let mut end = 0;
    (0..count).map(move |_| {
        let mut below = |bound: u64| {
            let product = u128::from(random.next_u64() >> 11) * u128::from(bound);
            u64::try_from(product >> 53).expect("below the bound")
        };
        let (is_write, goes_on) = (below(100) < writes, below(100) < follows);
        let length = 1 + below(longest);
        let mut first = below(pages);
        if goes_on && end + length <= pages {
            first = end;
        }
        first = first.min(pages - length);
        end = first + length;
        request(is_write, first, length)
    })
}

/// A figure of a run by its name in the examples.
fn found(report: &Report, busy: u64, what: &str) -> Option<f64> {
    let pages = &report.flash.pages;
    let of = |op: &str, purposes: &[&str]| {
        purposes.iter().map(|purpose| pages[op][purpose]).sum::<u64>()
    };
    let all = |op: &str| pages[op].values().sum::<u64>();
    let merges = &report.gc.merges;
    let array = || {
        ["array_read", "array_program", "array_erase"].map(|op| report.energy_pj.by_resource[op])
    };
    Some(match what {
        "energy_uJ" | "uJ" => return Some(array().iter().sum::<u64>() as f64 / 1e6),
        "busy_us" | "us" => return Some(busy as f64 / 1e3),
        "hostR" => of("reads", &["host"]),
        "hostW" => of("programs", &["host"]),
        "copyR" => of("reads", &["gc", "merge"]),
        "copyW" => of("programs", &["gc", "merge"]),
        "mapR" => of("reads", &["map_fetch", "map_writeback"]),
        "mapW" => of("programs", &["map_writeback"]),
        "gmapR" => of("reads", &["map_gc"]),
        "gmapW" => of("programs", &["map_gc"]),
        "erase" => all("erases"),
        "reads" => all("reads"),
        "programs" => all("programs"),
        "switch" => merges.switch,
        "partial" => merges.partial,
        "full" => merges.full,
        "dead" => merges.dead,
        "gc" => report.gc.jobs,
        "search" => report.gc.searches,
        "hit" => report.map.hits,
        "miss" => report.map.misses,
        _ => return None,
    } as f64)
}
