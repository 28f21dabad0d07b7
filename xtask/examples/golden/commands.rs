//! Worked examples of command policies on a device with a map cache.
//!
//! A file holds `cases`, each with `config` (K entries a line, map_ent entries a map page, depth,
//! deadline_rrq_us, deadline_wrq_us, tR, tP, clt_lru_to_mru), `trace` (req, arr, type R or W, lpn,
//! pages) and `expect` by policy (fot, completion, schedule, queue_events, avg_read, avg_write).
//! Times are whole microseconds, except averages, which are rounded to three digits.

use super::tally::{Tally, list, number};
use anyhow::{Context, Result, bail, ensure};
use flashyard_core::request::{Request, RequestOp};
use flashyard_core::units::Time;
use flashyard_sim::config::{DeviceKeys, Settings, apply_setting};
use flashyard_sim::device::Device;
use flashyard_sim::observe::{CommandDone, CommandName, Observer, Queued, RequestDone, Shared};
use serde_json::{Map, Value, json};

/// Runs every case under every policy that it expects something of.
pub(super) fn run(all: &Value, tally: &mut Tally) -> Result<()> {
    tally.known(all, &["cases", "commands"]);
    for case in list(all, "cases")? {
        let name = format!("case {}", case["name"].as_str().unwrap_or("?"));
        tally.part(&name, |tally| run_case(case, tally));
    }
    Ok(())
}

fn run_case(case: &Value, tally: &mut Tally) -> Result<()> {
    tally.known(case, &["config", "trace", "expect"]);
    let expected = case["expect"].as_object().context("there is no `expect`")?;
    let requests = requests(list(case, "trace")?, tally)?;
    let config = case["config"].as_object().context("there is no `config`")?;
    for (policy, expected) in expected {
        tally.part(policy, |tally| {
            let (settings, lines) = settings(config, &policy.to_lowercase(), &requests)?;
            tally.runs += 1;
            // Times are whole microseconds, averages are given to three digits behind them.
            let found = simulate(&settings, &lines, &requests)?;
            tally.within("expect", expected, &found, 0.000_6);
            Ok(())
        });
    }
    Ok(())
}

fn requests(rows: &[Value], tally: &mut Tally) -> Result<Vec<Request>> {
    rows.iter()
        .enumerate()
        .map(|(place, row)| {
            tally.known(row, &["req", "arr", "lpn", "pages"]);
            tally.same("req", &row["req"], &json!(place + 1));
            let op = match row["type"].as_str() {
                Some("R") => RequestOp::Read,
                Some("W") => RequestOp::Write,
                other => bail!("type {other:?} is neither R nor W"),
            };
            Ok(Request::new(op, number(row, "lpn")? * 8, u32::try_from(number(row, "pages")? * 8)?)
                .at(Time::from_us(number(row, "arr")?)))
        })
        .collect()
}

/// The device of a case and the lines of its cache, empty ones left out.
fn settings(
    config: &Map<String, Value>,
    policy: &str,
    requests: &[Request],
) -> Result<(Settings, Vec<(u64, bool)>)> {
    let all = Value::Object(config.clone());
    let lines = config.get("clt_lru_to_mru").and_then(Value::as_array);
    let lines = lines.context("clt_lru_to_mru is no list")?;
    let entries = number(&all, "K")?;
    let mut assignments = vec![
        format!("policy.command={policy}"),
        format!("map.entries_per_line={entries}"),
        format!("map.cache_bytes={}", lines.len() as u64 * entries * 4),
        "ftl.over_provisioning_percent=400".to_string(),
    ];
    for (name, value) in config {
        let whole = || value.as_u64().with_context(|| format!("{name} is no whole number"));
        match name.as_str() {
            "K" | "clt_lru_to_mru" => {}
            "map_ent" => assignments.push(format!("map.entries_per_page={}", whole()?)),
            "depth" => assignments.push(format!("queue.depth={}", whole()?)),
            "tR" => assignments.push(format!("nand.read_us={}", whole()?)),
            "tP" => assignments.push(format!("nand.program_us={}", whole()?)),
            "deadline_rrq_us" => assignments.extend(deadlines(&["fot", "drs"], "read", whole()?)),
            "deadline_wrq_us" => {
                assignments.extend(deadlines(&["rrf", "fot", "drs"], "write", whole()?));
            }
            _ => bail!("config key {name} is unknown"),
        }
    }
    let filled = lines.iter().filter(|line| line.get("slpn").is_some_and(Value::is_u64));
    let filled: Vec<(u64, bool)> = filled
        .map(|line| Ok((number(line, "slpn")?, line["dirty"].as_bool().context("dirty")?)))
        .collect::<Result<_>>()?;
    let ends = requests.iter().filter_map(Request::end_sector).map(|sector| sector / 8);
    let pages = ends.chain(filled.iter().map(|line| line.0 + entries)).max().unwrap_or(1);
    assignments.push(format!("geometry.blocks_per_plane={}", 64 + pages.div_ceil(128) * 5));
    let mut keys = DeviceKeys::default();
    let mut problems = Vec::new();
    for assignment in &assignments {
        apply_setting("case", assignment, &mut keys, &mut problems);
    }
    ensure!(problems.is_empty(), "{}", problems[0]);
    Ok((Settings::new(keys)?, filled))
}

fn deadlines(policies: &[&str], class: &str, us: u64) -> Vec<String> {
    let ms = format!("{}.{:03}", us / 1_000, us % 1_000);
    policies.iter().map(|policy| format!("policy.{policy}.{class}_deadline_ms={ms}")).collect()
}

#[derive(Default)]
struct Log {
    schedule: Vec<Value>,
    queue_events: Vec<Value>,
    requests: Vec<(u64, u64, u64)>,
}

struct Recorder(Shared<Log>);

fn us(ns: u64) -> u64 {
    ns / 1_000
}

fn row(name: &CommandName, queue: &str) -> Value {
    let request = name.request.expect("worked examples have no work of the device's own");
    json!({"req": request + 1, "page": name.page, "cmd": name.stage, "queue": queue})
}

impl Observer for Recorder {
    fn queued(&mut self, event: &Queued) {
        let mut row = row(&event.command, event.queue);
        let by_time = matches!(event.queue, "RRQ" | "WRQ");
        row["t"] = us(event.at.as_ns()).into();
        row["event"] = if event.moved { "requeue" } else { "enqueue" }.into();
        row["key"] = if by_time { us(event.key) } else { event.key }.into();
        self.0.get().queue_events.push(row);
    }

    fn command_done(&mut self, done: &CommandDone) {
        let mut row = row(&done.command, done.queue);
        row["start"] = us(done.start.as_ns()).into();
        row["end"] = us(done.end.as_ns()).into();
        self.0.get().schedule.push(row);
    }

    fn request_done(&mut self, done: &RequestDone) {
        let row = (done.order, us(done.completion.as_ns()), us(done.fot_ns));
        self.0.get().requests.push(row);
    }
}

fn simulate(settings: &Settings, lines: &[(u64, bool)], requests: &[Request]) -> Result<Value> {
    let mut device = Device::new(settings);
    device.check();
    device.preload_map(lines)?;
    let log = Shared::new(Log::default());
    device.observe(Box::new(Recorder(log.clone())));
    let mut source = requests.iter().copied();
    let report = device.run(|| Ok::<_, std::convert::Infallible>(source.next()));
    let report = report.map_err(|error| anyhow::anyhow!("{error:?}"))?;
    let mut log = log.take();
    log.requests.sort_unstable();
    let average = |class: &str| {
        let mean = report.latency_ns[class].mean;
        mean.map(|mean| mean / 1_000.0)
    };
    Ok(json!({
        "schedule": log.schedule,
        "queue_events": log.queue_events,
        "completion": log.requests.iter().map(|row| row.1).collect::<Vec<_>>(),
        "fot": log.requests.iter().map(|row| row.2).collect::<Vec<_>>(),
        "avg_read": average("read"),
        "avg_write": average("write"),
    }))
}
