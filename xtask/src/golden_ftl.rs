//! Worked examples of translation layers for `cargo xtask golden`.
//!
//! A file holds `examples` and `oracle_runs`, each with `ftl` (page, dftl, block, bast, fast,
//! last), `config`, `steps` and what they cost (`expect` or `counts`). Steps: `pre` (every page has
//! been written once), `W l n` and `R l n` (n pages from page l), `RND seed n pw sq mx` (n requests
//! drawn from splitmix64), `I` (merge every log block), `G` (one collection), `F` (write dirty map
//! entries back). Energy and time are those of the operations of Park et al. 2011, Table 1.

use anyhow::{Context, Result, bail, ensure};
use flashyard_core::request::{Flags, Request, RequestOp};
use flashyard_core::units::Time;
use flashyard_sim::config::{DeviceKeys, Settings, apply_setting};
use flashyard_sim::device::{Device, PhaseKeys, Upkeep};
use flashyard_sim::report::Report;
use flashyard_sim::stream::{Stream, StreamKeys};
use flashyard_workload::random::SplitMix64;
use serde_json::{Map, Value};
use std::convert::Infallible;

/// Sectors of a page of 2 KB.
const SECTORS: u64 = 4;

/// One die, no time on the channel, one page after the other.
const BASE: &[&str] = &[
    "geometry.page_bytes=2048",
    "nand.read_us=130.9",
    "nand.program_us=405.9",
    "nand.erase_us=1500",
    "queue.depth=1",
    "policy.command=fifo",
];

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

/// Runs every example of a file; an error names the first difference. Returns how many there are.
pub(crate) fn run(all: &Value) -> Result<usize> {
    let list = |name: &str| all.get(name).and_then(Value::as_array).into_iter().flatten();
    let examples = list("examples").map(|example| (example, "expect"));
    let runs = list("oracle_runs").map(|run| (run, "counts"));
    let mut passed = 0;
    for (example, expected) in examples.chain(runs) {
        let id = example["id"].as_str().unwrap_or("?");
        run_example(example, &example[expected]).with_context(|| format!("example {id}"))?;
        passed += 1;
    }
    Ok(passed)
}

fn run_example(example: &Value, expected: &Value) -> Result<()> {
    let config = example["config"].as_object().context("there is no `config`")?;
    let steps = example["steps"].as_array().context("there are no `steps`")?;
    let steps = steps.iter().map(|step| step.as_str().context("a step is no text"));
    let steps: Vec<&str> = steps.collect::<Result<_>>()?;
    let full = steps.first() == Some(&"pre");
    let ftl = example["ftl"].as_str().context("there is no `ftl`")?;
    let settings = settings(ftl, config, full)?;
    let report = simulate(&settings, &steps[usize::from(full)..])?;
    for (what, expected) in expected.as_object().context("there are no counts")? {
        let expected = expected.as_f64().with_context(|| format!("{what} is no number"))?;
        let found = found(&report, what).with_context(|| format!("{what} is unknown"))?;
        ensure!((expected - found).abs() < 0.005, "{what}: expected {expected}, found {found}");
    }
    Ok(())
}

fn settings(ftl: &str, config: &Map<String, Value>, full: bool) -> Result<Settings> {
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

fn simulate(settings: &Settings, steps: &[&str]) -> Result<Report> {
    let mut device = Device::new(settings);
    device.check();
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
    Ok(device.finish()?)
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
    Ok(Request {
        arrival: Time::ZERO,
        first_sector: first * SECTORS,
        sectors: u32::try_from(pages * SECTORS)?,
        stream: 0,
        op: if writes { RequestOp::Write } else { RequestOp::Read },
        flags: Flags::NONE,
    })
}

/// In this order for each request: whether it writes, whether it follows on the one before, its
/// pages, the first of them.
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

/// A figure of a report by its name in the examples.
fn found(report: &Report, what: &str) -> Option<f64> {
    let pages = &report.flash.pages;
    let of = |op: &str, purposes: &[&str]| {
        purposes.iter().map(|purpose| pages[op][purpose]).sum::<u64>()
    };
    let all = |op: &str| pages[op].values().sum::<u64>();
    let merges = &report.gc.merges;
    let cost = |read: u64, program: u64, erase: u64| {
        let sum = all("reads") * read + all("programs") * program + all("erases") * erase;
        sum as f64 / 100.0
    };
    Some(match what {
        // In hundredths of a microjoule and of a microsecond.
        "energy_uJ" | "uJ" => return Some(cost(472, 3_804, 52_768)),
        "busy_us" | "us" => return Some(cost(13_090, 40_590, 150_000)),
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
