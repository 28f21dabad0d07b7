//! Worked examples of the bus level for `cargo xtask golden`.
//!
//! A file holds some of these, each with its own parameters: `microcode` (cycles of instructions,
//! programs and how long each kind of request holds the bus), `single_op_ns` (one operation on an
//! idle bus), `timelines` and `timelines_ns` (operations on chips, in units of time or with the
//! durations of the programs, under the three models of Ozone), `fair_queueing` (schedules).
//!
//! A read and a program of the examples move whole chunks. Where a file names no array times
//! (`tR`, `tP`, `tE`, in nanoseconds), they are those of the framework: 75 us, 1.5 ms, 5 ms.

mod fair;
mod microcode;

use super::tally::{Tally, entries, list, number};
use anyhow::{Context, Result, bail};
use flashyard_core::bus::channel::{Channel, FixedTimes, Lane, Order, Sent, Sequencer};
use flashyard_core::bus::policy::decoupled::DecoupledKeys;
use flashyard_core::bus::policy::out_of_order::OutOfOrderKeys;
use flashyard_core::bus::policy::sequential::SequentialKeys;
use flashyard_core::bus::policy::{AnyBusPolicy, BusPolicy as _};
use flashyard_core::bus::request::{BusKind, Operation};
use flashyard_core::command::Op;
use flashyard_core::units::{Span, Time};
use microcode::Microcode;
use serde_json::{Map, Value, json};
use std::collections::VecDeque;

/// What a file of the bus level may hold.
const PARTS: [&str; 5] =
    ["microcode", "single_op_ns", "timelines", "timelines_ns", "fair_queueing"];

/// Whether a file is one of the bus level.
pub(crate) fn is_one(all: &Value) -> bool {
    PARTS.iter().any(|part| all.get(part).is_some())
}

/// Runs every example of a file.
pub(super) fn run(all: &Value, tally: &mut Tally) -> Result<()> {
    let mut microcode = Microcode::of(all.get("microcode"))?;
    tally.known(all, &PARTS);
    for (part, value) in entries(all)? {
        tally.part(part, |tally| match part.as_str() {
            "microcode" => microcode.check(value, tally),
            "single_op_ns" => single_operations(value, &mut microcode, tally),
            "timelines" => {
                let units = Units::of(value.get("units").context("there are no `units`")?, tally)?;
                timelines(value, &["units", "examples"], &units, tally)
            }
            "timelines_ns" => {
                let units = Units::of_programs(value, &mut microcode)?;
                let known = ["chunk", "chunks", "durations", "tR", "tP", "tE", "examples"];
                timelines(value, &known, &units, tally)
            }
            "fair_queueing" => fair::run(value, tally),
            _ => Ok(()),
        });
    }
    Ok(())
}

/// How an example counts time: what requests and arrays take, and whether a read asks for its
/// status before its data.
#[derive(Clone, Debug)]
struct Units {
    times: FixedTimes,
    /// By number of the operation.
    arrays: [Span; Op::ALL.len()],
    /// Data requests of a page.
    chunks: u32,
    polls: bool,
}

impl Units {
    /// Units of time of an example.
    fn of(units: &Value, tally: &mut Tally) -> Result<Self> {
        let unit = |name: &str| number(units, name).map(Span::from_ns);
        tally.known(units, &["ACT", "DATA", "ST", "tR", "tP", "tE", "CH"]);
        let (short, data, status) = (unit("ACT")?, unit("DATA")?, unit("ST")?);
        let kinds = BusKind::ALL.map(|kind| match kind {
            BusKind::DataIn | BusKind::DataOut => data,
            BusKind::Status => status,
            _ => short,
        });
        let arrays = [unit("tR")?, unit("tP")?, unit("tE")?];
        let chunks = u32::try_from(number(units, "CH")?)?;
        Ok(Self { times: FixedTimes { kinds, ps_per_byte: 0 }, arrays, chunks, polls: false })
    }

    /// What the programs take, or what `durations` says in their place.
    fn of_programs(value: &Value, microcode: &mut Microcode) -> Result<Self> {
        let chunk = u32::try_from(number(value, "chunk")?)?;
        let mut kinds = [Span::ZERO; BusKind::ALL.len()];
        for kind in BusKind::ALL {
            kinds[kind.index()] = match value.get("durations") {
                Some(Value::Object(durations)) => given(durations, kind, chunk)?,
                _ => microcode.duration(kind, chunk)?,
            };
        }
        let array = |name: &str, published_us: u64| match value.get(name) {
            Some(_) => number(value, name).map(Span::from_ns),
            None => Ok(Span::from_us(published_us)),
        };
        let arrays = [array("tR", 75)?, array("tP", 1_500)?, array("tE", 5_000)?];
        let chunks = u32::try_from(number(value, "chunks")?)?;
        Ok(Self { times: FixedTimes { kinds, ps_per_byte: 0 }, arrays, chunks, polls: true })
    }

    fn operation(&self, id: u32, op: Op, chip: u32) -> Operation {
        Operation {
            id,
            op,
            stream: 0,
            since: Time::ZERO,
            chip,
            block: 0,
            page: 0,
            pages: 1,
            page_bytes: self.chunks,
            chunk_bytes: 1,
            array: self.arrays[op as usize],
            polls: self.polls,
        }
    }
}

/// The duration of a kind of request that a file gives, by size of a chunk if it moves data.
fn given(durations: &Map<String, Value>, kind: BusKind, chunk: u32) -> Result<Span> {
    let name = kind.name();
    let value = durations.get(name).with_context(|| format!("durations: {name} is missing"))?;
    let value = if value.is_object() { &value[chunk.to_string()] } else { value };
    let ns = value.as_u64().with_context(|| format!("durations: {name} of {chunk} B"))?;
    Ok(Span::from_ns(ns))
}

/// One operation of each sort on an idle bus.
fn single_operations(value: &Value, microcode: &mut Microcode, tally: &mut Tally) -> Result<()> {
    let units = Units::of_programs(value, microcode)?;
    let operations = [("read", Op::Read), ("program", Op::Program), ("erase", Op::Erase)];
    let parameters = ["chunk", "chunks", "durations", "tR", "tP", "tE", "read", "program", "erase"];
    tally.known(value, &parameters);
    for (name, op) in operations {
        let Some(expected) = value.get(name) else { continue };
        let policy = AnyBusPolicy::OutOfOrder(OutOfOrderKeys {});
        let sent = serve(&policy, &[units.operation(0, op, 0)], units.times);
        let found = sent.last().context("nothing was sent")?.until.as_ns();
        tally.runs += 1;
        tally.same(name, expected, &json!(found));
    }
    Ok(())
}

/// Every example under every model.
fn timelines(value: &Value, parameters: &[&str], units: &Units, tally: &mut Tally) -> Result<()> {
    tally.known(value, parameters);
    for (name, example) in entries(value.get("examples").context("there are no `examples`")?)? {
        tally.part(name, |tally| timeline(example, units, tally));
    }
    Ok(())
}

fn timeline(example: &Value, units: &Units, tally: &mut Tally) -> Result<()> {
    let words = list(example, "ops_in_arrival_order")?;
    let names = words.iter().map(|word| word.as_str().context("an operation is no word"));
    let names = names.collect::<Result<Vec<_>>>()?;
    let operations = names.iter().enumerate().map(|(id, word)| operation(id, word, units));
    let operations = operations.collect::<Result<Vec<_>>>()?;
    let names: Vec<&str> = names.iter().filter_map(|word| word.split('@').next()).collect();
    for (model, expected) in entries(example)? {
        let policy = match model.as_str() {
            "sequential" => AnyBusPolicy::Sequential(SequentialKeys {}),
            "decoupled" => AnyBusPolicy::Decoupled(DecoupledKeys {}),
            "out-of-order" | "out_of_order" => AnyBusPolicy::OutOfOrder(OutOfOrderKeys {}),
            "ops_in_arrival_order" => continue,
            _ => {
                tally.unknown(model, expected);
                continue;
            }
        };
        tally.part(model, |tally| {
            tally.runs += 1;
            tally.known(expected, &["bus", "completion", "total"]);
            tally.same("sent", expected, &found(&serve(&policy, &operations, units.times), &names));
            Ok(())
        });
    }
    Ok(())
}

/// The operation of a word such as `R2@chip3`.
fn operation(id: usize, word: &str, units: &Units) -> Result<Operation> {
    let wrong = || format!("operation {word} is not of the form R0@chip0");
    let (name, chip) = word.split_once("@chip").with_context(wrong)?;
    let op = match name.as_bytes().first() {
        Some(b'R') => Op::Read,
        Some(b'P') => Op::Program,
        Some(b'E') => Op::Erase,
        _ => bail!(wrong()),
    };
    Ok(units.operation(u32::try_from(id)?, op, chip.parse().with_context(wrong)?))
}

/// What was sent, by the names of the operations.
fn found(sent: &[Sent], names: &[&str]) -> Value {
    let name = |sent: &Sent| names[sent.request.operation as usize];
    let row = |sent: &Sent| {
        let (kind, chip) = (sent.request.kind.name(), sent.request.chip);
        json!([name(sent), kind, chip, sent.from.as_ns(), sent.until.as_ns()])
    };
    let over = sent.iter().filter(|sent| sent.completes);
    let over: Map<String, Value> =
        over.map(|sent| (name(sent).to_owned(), sent.until.as_ns().into())).collect();
    let total = sent.last().map_or(0, |sent| sent.until.as_ns());
    json!({"bus": sent.iter().map(row).collect::<Vec<_>>(), "completion": over, "total": total})
}

/// Runs operations that have all arrived. Each chip serves its own in order, or all chips together
/// where the policy gates that.
fn serve(policy: &AnyBusPolicy, operations: &[Operation], mut times: FixedTimes) -> Vec<Sent> {
    let chips = operations.iter().map(|one| one.chip as usize + 1).max().unwrap_or(1);
    let mut channel = Channel::new(0, vec![Lane::IDLE; chips], vec![None; chips]);
    let (mut order, mut now, mut sent) = (Order::default(), Time::ZERO, Vec::new());
    let mut waiting: VecDeque<&Operation> = operations.iter().collect();
    // When the array of each chip is done; when its operation has left the bus.
    let (mut arrays, mut over) = (vec![None; chips], vec![Time::ZERO; chips]);
    loop {
        let mut blocked = vec![false; chips];
        waiting.retain(|operation| {
            let chip = operation.chip as usize;
            let is_free = channel.lane(chip).served().is_none() && over[chip] <= now;
            if is_free && !blocked[chip] {
                channel.take(chip, operation, &mut order);
                return false;
            }
            let waits = if policy.gates_dispatch() { 0..chips } else { chip..chip + 1 };
            blocked[waits].fill(true);
            true
        });
        for (chip, array) in arrays.iter_mut().enumerate() {
            if array.is_some_and(|end| end <= now) {
                *array = None;
                channel.ready(chip, &mut order);
            }
        }
        if let Some(chip) = channel.pick(policy, &order, now) {
            let array = channel.lane(chip).served().map(|served| served.operation().array);
            let duration = times.duration(&channel.next_request(chip));
            let request = channel.send(chip, (now, duration), false, &mut order);
            if request.starts_array {
                arrays[chip] = array.map(|array| request.until + array);
            } else if request.request.kind == BusKind::Status && !request.completes {
                // The status is known to be "ready": the data of the read follow.
                channel.ready(chip, &mut order);
            } else if request.completes {
                over[chip] = request.until;
            }
            sent.push(request);
        }
        let events = arrays.iter().flatten().chain(&over).copied().chain([channel.free()]);
        match events.filter(|at| *at > now).min() {
            None => return sent,
            Some(next) => now = next,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A read and an erase of two chips, in units of its own.
    fn example() -> Value {
        let bus = json!([
            ["R1", "RA", 0, 0, 2],
            ["E0", "EA", 1, 2, 4],
            ["R1", "OD", 0, 7, 10],
            ["E0", "ST", 1, 24, 25],
        ]);
        let expected = json!({"bus": bus, "completion": {"E0": 25, "R1": 10}, "total": 25});
        let operations = json!(["E0@chip1", "R1@chip0"]);
        let units = json!({"ACT": 2, "DATA": 3, "ST": 1, "tR": 5, "tP": 9, "tE": 20, "CH": 1});
        let one = json!({"ops_in_arrival_order": operations, "out-of-order": expected});
        json!({"timelines": {"rules": "ideal", "units": units, "examples": {"one": one}}})
    }

    /// Runs and values that were compared, or what differs.
    fn checked(all: &Value) -> Result<(usize, usize)> {
        let mut tally = Tally::default();
        run(all, &mut tally)?;
        tally.end()
    }

    #[test]
    fn each_difference_is_named() {
        let mut all = example();
        assert_eq!(checked(&all).expect("it is right"), (1, 4 * 5 + 2 + 1));
        let error = |all: &Value| {
            let text = format!("{:#}", checked(all).expect_err("it is wrong"));
            text.split_once("\n  ").expect("a line").1.to_owned()
        };
        all["timelines"]["examples"]["one"]["out-of-order"]["bus"][2][3] = 8.into();
        assert_eq!(
            error(&all),
            "timelines: one: out-of-order: sent.bus[2][3]: expected 8, found 7"
        );
        let mut all = example();
        all["timelines"]["examples"]["one"]["out-of-order"]["polls"] = 3.into();
        assert_eq!(
            error(&all),
            "timelines: one: out-of-order: polls is unknown\n  \
             timelines: one: out-of-order: sent.polls: expected 3, found null"
        );
        let mut all = example();
        all["timelines"]["energy"] = 1.into();
        assert_eq!(error(&all), "timelines: energy is unknown");
    }

    /// Cycles of 20 ns, two chunks of 2 KiB: a read is RA, the array, ST and two times OD. Only the
    /// status program is the file's; the others are the standard ones.
    #[test]
    fn single_operations_follow_the_parameters_of_the_file() {
        // Delays of the standard programs are in nanoseconds: half as many cycles as at 10 ns.
        let ns = 20 * (31 + 3 + 19 + 2 * (27 + 2_048));
        let cycles =
            json!({"RCV": 1, "CMD": 3, "WAIT n": "n", "DIN/DOUT n": "n (1 byte per cycle)"});
        let programs = json!({"ST": ["RCV x1", "DSP x1", "CE+ x1", "CMD 70h x1", "WAIT tWHR x8",
            "RDR x1", "CE- x1", "SND x1"]});
        let microcode = json!({"cycle_ns": 20, "instruction_cycles": cycles, "programs": programs});
        let single = json!({"chunk": 2_048, "chunks": 2, "tR": 60, "read": ns});
        let found = checked(&json!({"microcode": microcode, "single_op_ns": single}));
        assert_eq!(found.expect("it is right"), (1, 5 + 1));
    }
}
