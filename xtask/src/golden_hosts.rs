//! Worked examples of host policies and buffers for `cargo xtask golden`.
//!
//! Each object of a file is told by what it holds, at any depth:
//! - `NCQ_oldest_first` (W or R and a page) with `time_units` of the buffer and the array,
//!   `cache_lines`, `initial_LRU_to_MRU` (page, bank, dirty or clean) and, by policy (IS, RIS,
//!   ROS), `total`, `hidden_read`, `read_total`, `events` (name, start, end, bank), `completion`;
//! - `RQ_oldest_first` with `CB_lru_to_mru`, `capacity` and what `FIFO` and `HIT_FIRST` do, one
//!   request at a time, in the `units` of the object around it;
//! - `units` with `NAND_read`, `transfer` and `NAND_program`: two reads and a write of one chip;
//! - `priority`: the classes of requests; `dependency`: queues, the values that one pass gives them
//!   and who goes first.

use anyhow::{Context, Result, bail, ensure};
use flashyard_core::command::Op;
use flashyard_core::host::cache_read_aware::{Entry, class_of, pass_once};
use flashyard_core::request::{Flags, Request, RequestOp};
use flashyard_core::units::Time;
use flashyard_sim::config::{DeviceKeys, Settings, apply_setting};
use flashyard_sim::device::Device;
use flashyard_sim::observe::{BufferAccess, CommandDone, Observer, RequestDone};
use flashyard_sim::report::Report;
use serde_json::{Map, Value, json};
use std::cell::RefCell;
use std::convert::Infallible;
use std::rc::Rc;

/// One chip that does one thing at a time, pages of 4 KiB, times in microseconds.
const BASE: &[&str] = &[
    "geometry.channels=1",
    "geometry.ways=1",
    "geometry.page_bytes=4096",
    "channel.ps_per_byte=0",
    "channel.command_ns=0",
    "map.store=resident",
    "policy.command=fifo",
    "buffer.access_ns=0",
    "buffer.ps_per_byte=0",
    "buffer.eviction=full",
    "buffer.after_flush=free",
];

/// Runs every example of a file; an error names the first difference. Returns how many there are.
pub(crate) fn run(all: &Value) -> Result<usize> {
    let mut passed = 0;
    visit(all, &Map::new(), "", &mut passed)?;
    ensure!(passed > 0, "there is no example of a known kind");
    Ok(passed)
}

fn visit(at: &Value, units: &Map<String, Value>, path: &str, passed: &mut usize) -> Result<()> {
    let Some(object) = at.as_object() else { return Ok(()) };
    let has = |name: &str| object.contains_key(name);
    let own = object.get("units").and_then(Value::as_object);
    let units = own.unwrap_or(units);
    let count = if has("NCQ_oldest_first") {
        overlap_example(object)
    } else if has("RQ_oldest_first") {
        serial_example(object, units)
    } else if units.contains_key("transfer") && has("in_order") {
        chip_example(object, units)
    } else {
        for (name, child) in object {
            let path = format!("{path}/{name}");
            match (name.as_str(), child) {
                ("priority", Value::Array(rows)) => *passed += classes(rows).context(path)?,
                ("dependency", Value::Object(queues)) => {
                    *passed += dependencies(queues).context(path)?;
                }
                _ => visit(child, units, &path, passed)?,
            }
        }
        return Ok(());
    };
    *passed += count.with_context(|| path.to_string())?;
    Ok(())
}

/// What a run did.
#[derive(Default)]
struct Seen {
    /// Name, start, end, bank.
    events: Vec<(String, u64, u64, u32)>,
    /// When each request was answered, by order.
    completions: Vec<u64>,
    /// The unit that was got for a flush last, and the bank of its line.
    flushed: (u32, u32),
    names: Vec<String>,
}

struct Recorder(Rc<RefCell<Seen>>);

impl Observer for Recorder {
    fn buffer_access(&mut self, event: &BufferAccess) {
        let mut seen = self.0.borrow_mut();
        let name = match event.request {
            Some(order) => seen.names[usize::try_from(order).expect("few requests")].clone(),
            None => format!("F{}", event.lpn),
        };
        if event.request.is_none() {
            seen.flushed = (event.lpn, event.bank.unwrap_or(u32::MAX));
        }
        let bank = event.bank.unwrap_or(u32::MAX);
        seen.events.push((name, event.start.as_ns(), event.end.as_ns(), bank));
    }

    fn command_done(&mut self, event: &CommandDone) {
        let mut seen = self.0.borrow_mut();
        let (Op::Program, Some(lpn)) = (event.op, event.lpn) else { return };
        let bank = if seen.flushed.0 == lpn { seen.flushed.1 } else { 0 };
        seen.events.push((format!("P{lpn}"), event.start.as_ns(), event.end.as_ns(), bank));
    }

    fn request_done(&mut self, event: &RequestDone) {
        let order = usize::try_from(event.order).expect("few requests");
        self.0.borrow_mut().completions[order] = event.completion.as_ns();
    }
}

/// Runs requests that all arrive at once, each a page, on a device with these lines in its buffer.
fn simulate(
    settings: &[String],
    lines: &[(u64, Option<u32>, bool)],
    requests: &[(RequestOp, u64)],
) -> Result<(Report, Seen)> {
    let mut keys = DeviceKeys::default();
    let mut problems = Vec::new();
    for assignment in BASE.iter().copied().chain(settings.iter().map(String::as_str)) {
        apply_setting("the example", assignment, &mut keys, &mut problems);
    }
    ensure!(problems.is_empty(), "{problems:?}");
    let mut device = Device::new(&Settings::new(keys)?);
    device.preload_buffer(lines)?;
    device.check();
    let name = |(op, page): &(RequestOp, u64)| match op {
        RequestOp::Read => format!("R{page}"),
        _ => format!("W{page}"),
    };
    let seen = Rc::new(RefCell::new(Seen {
        completions: vec![0; requests.len()],
        names: requests.iter().map(name).collect(),
        ..Seen::default()
    }));
    device.observe(Box::new(Recorder(Rc::clone(&seen))));
    let mut requests = requests.iter().map(|&(op, page)| Request {
        arrival: Time::ZERO,
        first_sector: page * 8,
        sectors: 8,
        stream: 0,
        op,
        flags: Flags::NONE,
    });
    let report = device.run(|| Ok::<_, Infallible>(requests.next()));
    let report = report.map_err(|error| anyhow::anyhow!("{error:?}"))?;
    let seen = Rc::try_unwrap(seen).map_err(|_| anyhow::anyhow!("the device is gone"))?;
    Ok((report, seen.into_inner()))
}

fn number(object: &Map<String, Value>, name: &str) -> Result<u64> {
    let value = object.get(name).and_then(Value::as_u64);
    value.with_context(|| format!("{name} is no whole number"))
}

fn list<'a>(object: &'a Map<String, Value>, name: &str) -> Result<&'a Vec<Value>> {
    object.get(name).and_then(Value::as_array).with_context(|| format!("{name} is no list"))
}

fn named_request(name: &Value) -> Result<(RequestOp, u64)> {
    let name = name.as_str().context("a request is no text")?;
    let (op, page) = name.split_at(1);
    let op = match op {
        "W" => RequestOp::Write,
        "R" => RequestOp::Read,
        _ => bail!("{name} is neither R nor W and a page"),
    };
    Ok((op, page.parse().with_context(|| name.to_string())?))
}

/// The number of a bank: its label in the order of labels.
fn bank_of(label: &Value) -> Result<u32> {
    let digits = label.as_str().and_then(|label| label.strip_prefix("bank"));
    digits.and_then(|digits| digits.parse().ok()).with_context(|| format!("{label} is no bank"))
}

/// Reads beside writes of a banked buffer.
fn overlap_example(example: &Map<String, Value>) -> Result<usize> {
    let units = example.get("time_units").and_then(Value::as_object).context("time_units")?;
    let mut lines = Vec::new();
    for line in list(example, "initial_LRU_to_MRU")? {
        let page = line[0].as_u64().context("a line has no page")?;
        lines.push((page, Some(bank_of(&line[1])?), line[2] == "dirty"));
    }
    let banks = lines.iter().filter_map(|line| line.1).max().unwrap_or(0) + 1;
    let requests: Vec<_> =
        list(example, "NCQ_oldest_first")?.iter().map(named_request).collect::<Result<_>>()?;
    let mut runs = 0;
    for policy in ["IS", "RIS", "ROS"] {
        let Some(expected) = example.get(policy).and_then(Value::as_object) else { continue };
        let settings = [
            format!("host.policy={}", policy.to_lowercase()),
            format!("buffer.bytes={}", number(example, "cache_lines")? * 4096),
            format!("buffer.banks={banks}"),
            format!("buffer.write_ns={}", number(units, "PRAM_write")?),
            format!("buffer.read_ns={}", number(units, "PRAM_read")?),
            format!("nand.program_us={}", number(units, "NAND_program")? as f64 / 1e3),
            "buffer.ports=read_and_write".to_string(),
            "buffer.flush_reads=true".to_string(),
            "buffer.recency=writes".to_string(),
        ];
        let (report, seen) = simulate(&settings, &lines, &requests)?;
        compare_overlap(expected, &report, &seen).with_context(|| policy.to_string())?;
        runs += 1;
    }
    ensure!(runs > 0, "there is no IS, RIS or ROS");
    Ok(runs)
}

fn compare_overlap(expected: &Map<String, Value>, report: &Report, seen: &Seen) -> Result<()> {
    let total = seen.completions.iter().max().copied().unwrap_or(0);
    same("total", &expected["total"], &json!(total))?;
    let buffer = &report.buffer;
    same("hidden_read", &expected["hidden_read"], &json!(buffer.hidden_read_ns))?;
    let read = buffer.get_ns + buffer.flush_get_ns;
    same("read_total", &expected["read_total"], &json!(read))?;
    if let Some(events) = expected.get("events").and_then(Value::as_array) {
        let mut found = seen.events.clone();
        let mut wanted = Vec::new();
        for event in events {
            let name = event[0].as_str().context("an event has no name")?.to_string();
            let time = |at: usize| event[at].as_u64().context("an event has no time");
            wanted.push((name, time(1)?, time(2)?, bank_of(&event[3])?));
        }
        let key = |event: &(String, u64, u64, u32)| (event.1, event.0.clone());
        wanted.sort_by_key(key);
        found.sort_by_key(key);
        for (index, (wanted, found)) in wanted.iter().zip(&found).enumerate() {
            ensure!(wanted == found, "events[{index}]: expected {wanted:?}, found {found:?}");
        }
        ensure!(wanted.len() == found.len(), "{} events are expected: {found:?}", wanted.len());
    }
    for (name, expected) in
        expected.get("completion").and_then(Value::as_object).into_iter().flatten()
    {
        let place = seen.names.iter().position(|known| known == name);
        let place = place.with_context(|| format!("completion: there is no request {name}"))?;
        same(name, expected, &json!(seen.completions[place]))?;
    }
    Ok(())
}

fn same(what: &str, expected: &Value, found: &Value) -> Result<()> {
    let equal = match (expected.as_f64(), found.as_f64()) {
        (Some(expected), Some(found)) => (expected - found).abs() < 1e-9,
        _ => expected == found,
    };
    ensure!(equal, "{what}: expected {expected}, found {found}");
    Ok(())
}

/// One request at a time in front of a full buffer: in order, and hits first.
fn serial_example(example: &Map<String, Value>, units: &Map<String, Value>) -> Result<usize> {
    let pages = |name: &str| -> Result<Vec<u64>> {
        list(example, name)?.iter().map(|page| page.as_u64().context("no page")).collect()
    };
    let lines: Vec<_> =
        pages("CB_lru_to_mru")?.into_iter().map(|page| (page, None, true)).collect();
    let requests: Vec<_> =
        pages("RQ_oldest_first")?.into_iter().map(|page| (RequestOp::Write, page)).collect();
    let mut runs = 0;
    for (name, policy) in [("FIFO", "fifo"), ("HIT_FIRST", "cache-read-aware")] {
        let Some(expected) = example.get(name).and_then(Value::as_object) else { continue };
        let settings = [
            format!("host.policy={policy}"),
            "host.dispatch_width=1".to_string(),
            format!("buffer.bytes={}", number(example, "capacity")? * 4096),
            format!("buffer.write_ns={}", number(units, "CB_write")?),
            format!("nand.program_us={}", number(units, "NAND_write")? as f64 / 1e3),
        ];
        let (_, seen) = simulate(&settings, &lines, &requests)?;
        compare_serial(expected, &seen).with_context(|| name.to_string())?;
        runs += 1;
    }
    ensure!(runs > 0, "there is no FIFO or HIT_FIRST");
    Ok(runs)
}

fn compare_serial(expected: &Map<String, Value>, seen: &Seen) -> Result<()> {
    let all = &seen.completions;
    let total = all.iter().max().copied().unwrap_or(0);
    let mean = all.iter().sum::<u64>() as f64 / all.len().max(1) as f64;
    let programs = seen.events.iter().filter(|event| event.0.starts_with('P')).count();
    let mut order: Vec<_> = all.iter().zip(&seen.names).collect();
    order.sort();
    let order: Vec<u64> =
        order.iter().map(|(_, name)| name[1..].parse().expect("a page")).collect();
    for (what, expected) in expected {
        let found = match what.as_str() {
            "total" => json!(total),
            "nand_writes" => json!(programs),
            "mean_latency" => json!(mean),
            "order" => json!(order),
            "schedule" => {
                compare_schedule(expected, seen)?;
                continue;
            }
            _ => continue,
        };
        same(what, expected, &found)?;
    }
    Ok(())
}

/// Each request of a schedule: when it is over, and its array and buffer events.
fn compare_schedule(expected: &Value, seen: &Seen) -> Result<()> {
    for entry in expected.as_array().context("schedule is no list")? {
        let name = format!("W{}", entry["req"]);
        let place = seen.names.iter().position(|known| *known == name);
        let place = place.with_context(|| format!("there is no request {name}"))?;
        same(&name, &entry["end"], &json!(seen.completions[place]))?;
        for event in entry["events"].as_array().context("there are no events")? {
            let kind = event[0].as_str().context("an event has no name")?;
            let letter = if kind.starts_with("NAND") { 'P' } else { 'W' };
            let wanted = (format!("{letter}{}", event[1]), event[2].as_u64(), event[3].as_u64());
            let found = |(name, start, end, _): &(String, u64, u64, u32)| {
                (name.clone(), Some(*start), Some(*end)) == wanted
            };
            ensure!(seen.events.iter().any(found), "{wanted:?} is not among {:?}", seen.events);
        }
    }
    Ok(())
}

/// Two reads and a write of one chip, in order and reads first.
fn chip_example(example: &Map<String, Value>, units: &Map<String, Value>) -> Result<usize> {
    let unit = |name: &str| number(units, name);
    let orders = [
        ("in_order", "fifo", "T1", "host_completion_in_order"),
        ("reads_first", "cache-read-aware", "T2", "host_completion_reads_first"),
    ];
    for (_, policy, total, completions) in orders {
        let settings = [
            format!("host.policy={policy}"),
            "host.dispatch_width=1".to_string(),
            "buffer.bytes=65536".to_string(),
            "buffer.eviction=at_once".to_string(),
            "interface.transfer=page".to_string(),
            "interface.duplex=half".to_string(),
            // A page of 4,096 bytes in whole nanoseconds.
            format!("interface.link_ps_per_byte={}", unit("transfer")? * 250),
            format!("nand.read_us={}", unit("NAND_read")? as f64 * 1.024),
            format!("nand.program_us={}", unit("NAND_program")? as f64 * 1.024),
        ];
        let requests = [(RequestOp::Read, 10), (RequestOp::Write, 20), (RequestOp::Read, 11)];
        let (_, seen) = simulate(&settings, &[], &requests)?;
        let times: Vec<u64> = seen.completions.iter().map(|ns| ns / 1_024).collect();
        let context = || policy.to_string();
        let last = times.iter().max().copied();
        same(total, &example[total], &json!(last)).with_context(context)?;
        let expected = example.get(completions).and_then(Value::as_object);
        for (name, time) in ["R0", "W0", "R1"].iter().zip(times) {
            if let Some(expected) = expected.and_then(|all| all.get(*name)) {
                same(name, expected, &json!(time)).with_context(context)?;
            }
        }
    }
    Ok(orders.len())
}

fn classes(rows: &[Value]) -> Result<usize> {
    for row in rows {
        let found = class_of(row["kind"] == "R", row["cb"] == "hit", row["nand"] == "idle");
        same(&row.to_string(), &row["priority"], &json!(found))?;
    }
    Ok(rows.len())
}

/// A queue of a dependency example: `#number KIND[first..last] class value`.
fn entries(rows: &Value) -> Result<Vec<Entry>> {
    let rows = rows.as_array().context("array_order is no list")?;
    let parse = |row: &Value| -> Option<Entry> {
        let (number, rest) = row.as_str()?.strip_prefix('#')?.split_once(' ')?;
        let (range, class) = rest.split_once("] class ")?;
        let (kind, range) = range.split_once('[')?;
        let (first, last) = range.split_once("..")?;
        let (first, last): (u32, u32) = (first.parse().ok()?, last.parse().ok()?);
        Some(Entry {
            place: number.parse().ok()?,
            first,
            pages: (last + 1).checked_sub(first)?,
            reads: kind == "R",
            value: class.parse().ok()?,
        })
    };
    rows.iter().map(|row| parse(row).with_context(|| format!("{row} is no entry"))).collect()
}

fn dependencies(queues: &Map<String, Value>) -> Result<usize> {
    for (name, queue) in queues {
        let before = entries(&queue["array_order"]).with_context(|| name.clone())?;
        compare_queue(queue, &before).with_context(|| name.clone())?;
    }
    Ok(queues.len())
}

fn compare_queue(queue: &Value, before: &[Entry]) -> Result<()> {
    let by_number = |entries: &[Entry]| -> Map<String, Value> {
        entries.iter().map(|entry| (entry.place.to_string(), json!(entry.value))).collect()
    };
    let least = |entries: &[Entry]| {
        entries.iter().min_by_key(|entry| entry.value).copied().context("a queue is empty")
    };
    let (mut after, mut updates) = (before.to_vec(), Vec::new());
    pass_once(&mut after, |i, j| updates.push((before[i].place, before[j].place)));
    let pass = &queue["fig5_one_pass"];
    same("values", &pass["values"], &json!(by_number(&after)))?;
    let expected = pass["updates"].as_array().context("updates are no list")?;
    let expected: Vec<_> = expected.iter().map(|update| json!([update[0], update[1]])).collect();
    same("updates", &json!(expected), &json!(updates))?;
    let pick = least(&after)?;
    same("picks", &pass["picks"], &json!(pick.place))?;
    let waits = |entry: &Entry| before.iter().any(|other| entry.depends_on(other));
    same("hazard", &pass["hazard"], &json!(waits(&pick)))?;

    let mut ready: Vec<_> = before.iter().filter(|entry| !waits(entry)).copied().collect();
    ready.sort_by_key(|entry| entry.place);
    let places: Vec<_> = ready.iter().map(|entry| entry.place).collect();
    same("eligible", &queue["ready_set"]["eligible"], &json!(places))?;
    same("ready set picks", &queue["ready_set"]["picks"], &json!(least(&ready)?.place))
}
