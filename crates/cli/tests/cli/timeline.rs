//! `--timeline`: the file is a trace of Perfetto. Every field of it is one of Perfetto's own
//! definitions, and what it shows agrees with the results of the run.

use crate::perfetto::Definitions;
use crate::support::{Folder, int};
use serde_json::Value;
use std::collections::BTreeMap;

/// A field of a message: its number, and its value.
#[derive(Clone, Debug)]
enum Field {
    Number(u64),
    Bytes(Vec<u8>),
}

/// The fields of a message by number, in order.
type Message = BTreeMap<u64, Vec<Field>>;

pub(crate) fn varint(bytes: &[u8], at: &mut usize) -> u64 {
    let (mut value, mut shift) = (0, 0);
    loop {
        let byte = bytes[*at];
        *at += 1;
        value |= u64::from(byte & 0x7F) << shift;
        shift += 7;
        if byte < 0x80 {
            return value;
        }
    }
}

/// Reads a message of the wire format of protocol buffers.
fn message(bytes: &[u8]) -> Message {
    let (mut fields, mut at) = (Message::new(), 0);
    while at < bytes.len() {
        let tag = varint(bytes, &mut at);
        let field = match tag & 7 {
            0 => Field::Number(varint(bytes, &mut at)),
            1 => {
                at += 8;
                Field::Number(u64::from_le_bytes(bytes[at - 8..at].try_into().unwrap()))
            }
            2 => {
                let count = usize::try_from(varint(bytes, &mut at)).unwrap();
                at += count;
                Field::Bytes(bytes[at - count..at].to_vec())
            }
            kind => panic!("wire type {kind}"),
        };
        fields.entry(tag >> 3).or_default().push(field);
    }
    fields
}

fn numbers(of: &Message, field: u64) -> Vec<u64> {
    let fields = of.get(&field).map_or(&[][..], Vec::as_slice);
    let number = |field: &Field| match field {
        Field::Number(number) => *number,
        Field::Bytes(_) => panic!("{field:?} is no number"),
    };
    fields.iter().map(number).collect()
}

fn number(of: &Message, field: u64) -> Option<u64> {
    numbers(of, field).last().copied()
}

fn messages(of: &Message, field: u64) -> Vec<Message> {
    let fields = of.get(&field).map_or(&[][..], Vec::as_slice);
    let read = |field: &Field| match field {
        Field::Bytes(bytes) => message(bytes),
        Field::Number(_) => panic!("{field:?} is no message"),
    };
    fields.iter().map(read).collect()
}

fn text(of: &Message, field: u64) -> Option<String> {
    match of.get(&field)?.last()? {
        Field::Bytes(bytes) => Some(String::from_utf8(bytes.clone()).unwrap()),
        Field::Number(_) => panic!("no text"),
    }
}

/// A slice, or an instant, of a track.
#[derive(Debug)]
struct Slice {
    track: String,
    name: String,
    span: (u64, u64),
    notes: BTreeMap<String, String>,
}

/// What a trace shows.
#[derive(Debug, Default)]
struct Seen {
    slices: Vec<Slice>,
    /// By name: times and values.
    counters: BTreeMap<String, Vec<(u64, f64)>>,
    /// By flow: how many events it joins, and how many of them end it.
    flows: BTreeMap<u64, (u64, u64)>,
}

/// Reads a trace and checks its rules: tracks are described before their events, times do not go
/// back, each beginning has an end on its track, and no slice of a track overlaps another one.
fn read(bytes: &[u8]) -> Seen {
    let mut seen = Seen::default();
    let mut tracks: BTreeMap<u64, String> = BTreeMap::new();
    let mut open: BTreeMap<u64, usize> = BTreeMap::new();
    let mut now = 0;
    for packet in messages(&message(bytes), 1) {
        assert!(number(&packet, 10).is_some_and(|sequence| sequence > 0));
        for track in messages(&packet, 60) {
            let (uuid, name) = (number(&track, 1).unwrap(), text(&track, 2).unwrap());
            if let Some(parent) = number(&track, 5) {
                assert!(tracks.contains_key(&parent), "{name} before its parent");
            }
            assert!(tracks.insert(uuid, name).is_none(), "track {uuid} twice");
        }
        for event in messages(&packet, 11) {
            let at = number(&packet, 8).expect("events have times");
            assert!(at >= now, "time goes back");
            now = at;
            let uuid = number(&event, 11).unwrap();
            let track = tracks.get(&uuid).expect("the track is known").clone();
            for (field, ends) in [(47, 0), (48, 1)] {
                for flow in numbers(&event, field) {
                    let flow = seen.flows.entry(flow).or_default();
                    assert_eq!(flow.1, 0, "a flow goes on behind its end");
                    *flow = (flow.0 + 1, flow.1 + ends);
                }
            }
            match number(&event, 9).unwrap() {
                kind @ (1 | 3) => {
                    let note = |note: &Message| {
                        let value = number(note, 3).map(|value| value.to_string());
                        (text(note, 10).unwrap(), value.or_else(|| text(note, 6)).unwrap())
                    };
                    let notes = messages(&event, 4).iter().map(note).collect();
                    let name = text(&event, 23).unwrap();
                    let begun = open.contains_key(&uuid);
                    assert!(!begun, "{name} overlaps on {track}");
                    if kind == 1 {
                        open.insert(uuid, seen.slices.len());
                    }
                    seen.slices.push(Slice { track, name, span: (at, at), notes });
                }
                2 => {
                    let begun = open.remove(&uuid).expect("an end has a beginning");
                    seen.slices[begun].span.1 = at;
                }
                4 => {
                    let value = number(&event, 30).map(|value| value as f64);
                    let value = value.or_else(|| number(&event, 44).map(f64::from_bits)).unwrap();
                    seen.counters.entry(track).or_default().push((at, value));
                }
                kind => panic!("event type {kind}"),
            }
        }
    }
    assert!(open.is_empty(), "{open:?} have no ends");
    assert!(seen.flows.values().all(|flow| flow.0 > 1 && flow.1 == 1), "{:?}", seen.flows);
    seen
}

/// Runs with a timeline; returns the results and what the timeline shows.
fn run(args: &[&str]) -> (Folder, Value, Seen) {
    let folder = Folder::new();
    let with = [&["run", "--json", "--timeline", "t.pftrace"], args].concat();
    let run = folder.run(&with).json();
    let bytes = folder.read("t.pftrace");
    assert_eq!(Definitions::read().check("Trace", &bytes), Ok(()), "{args:?}");
    let seen = read(&bytes);
    (folder, run, seen)
}

/// Whether a counter has this value.
fn is(value: f64, count: u64) -> bool {
    value.to_bits() == (count as f64).to_bits()
}

/// The last value of a counter at an instant.
fn value(counter: &[(u64, f64)], at: u64) -> Option<f64> {
    counter.iter().rfind(|one| one.0 <= at).map(|one| one.1)
}

#[test]
fn slices_and_counters_are_those_of_the_run() {
    let work = ["small-full", "mixed-70-30", "--set", "pattern.requests=1500"];
    let more = ["--set", "metrics.bin_ms=10", "--commands", "c.csv", "--power", "p.csv"];
    let (folder, run, seen) = run(&[&work[..], &more].concat());
    let of = |track: &str| -> Vec<&Slice> {
        seen.slices.iter().filter(|one| one.track.starts_with(track)).collect()
    };
    assert_eq!(of("host queue").len() as u64, int(&run, "workload.requests"));
    // Every command is a slice on its die with its times.
    let text = String::from_utf8(folder.read("c.csv")).unwrap();
    let commands: Vec<Vec<&str>> =
        text.lines().skip(1).map(|row| row.split(',').collect()).collect();
    assert_eq!(of("die ").len(), commands.len());
    for command in &commands {
        let span: (u64, u64) = (command[10].parse().unwrap(), command[11].parse().unwrap());
        let waited = span.0 - command[9].parse::<u64>().unwrap();
        let same = |slice: &&Slice| {
            slice.span == span
                && slice.name == format!("{} {}", command[2], command[4])
                && slice.notes.get("ppn").map_or("", String::as_str) == command[6]
                && slice.notes["waited_ns"] == waited.to_string()
        };
        let die = format!("die {}", command[5]);
        assert!(of(&die).iter().any(same), "{command:?}");
    }
    assert!(!of("channel ").is_empty());
    // Free blocks at the end of each bin, and power, as the run reports them.
    let width = int(&run, "series.bin_ns");
    let free = &seen.counters["free blocks"];
    let bins = run["series"]["bins"].as_array().unwrap();
    let mut compared = 0;
    for (number, bin) in bins.iter().enumerate() {
        // A block that is taken at the very instant belongs to the next bin.
        let end = (number as u64 + 1) * width - 1;
        if let Some(blocks) = value(free, end) {
            assert!(is(blocks, int(bin, "free_blocks")), "bin {number}: {blocks}");
            compared += 1;
        }
    }
    assert!(compared > 10);
    let power = &seen.counters["power"];
    let text = String::from_utf8(folder.read("p.csv")).unwrap();
    for row in text.lines().skip(1) {
        let cells: Vec<&str> = row.split(',').collect();
        if let Ok(mw) = cells[3].parse::<f64>() {
            assert_eq!(value(power, cells[0].parse().unwrap()), Some(mw), "{row}");
        }
    }
    let queue = &seen.counters["outstanding requests"];
    assert!(is(queue.last().unwrap().1, 0));
    assert!(is(queue.iter().map(|one| one.1).fold(0.0, f64::max), 32), "32 are outstanding");
}

#[test]
fn a_window_shows_what_is_under_way_in_it() {
    let work = ["small-full", "mixed-70-30", "--set", "pattern.requests=1500"];
    let (_, _, all) = run(&work);
    let (folder, _, seen) = run(&[&work[..], &["--window", "10ms..12.5ms"]].concat());
    let inside = |slice: &&Slice| slice.span.0 <= 12_500_000 && slice.span.1 >= 10_000_000;
    assert_eq!(seen.slices.len(), all.slices.iter().filter(inside).count());
    assert!(!seen.slices.is_empty() && seen.slices.len() < all.slices.len() / 4);
    // The same bytes again.
    let again = Folder::new();
    let args = ["run", "--timeline", "t.pftrace", "--window", "10ms..12.5ms"];
    again.run(&[&args[..], &work].concat()).text();
    assert_eq!(again.read("t.pftrace"), folder.read("t.pftrace"));
}

/// Suspended programs, cache reads, buffers, bus requests, merges, disks.
#[test]
fn timelines_of_all_kinds_of_devices_keep_the_rules() {
    for args in [
        &[
            "small-full",
            "mixed-70-30",
            "nand.program_suspends=2",
            "policy.command=rcf",
            "nand.cache_read=true",
        ][..],
        &["embedded-2x2", "mixed-70-30", "buffer.bytes=262144"],
        &["small-full", "mixed-70-30", "retry.chance_percent=30"],
        &["embedded-2x2", "mixed-70-30", "bus.precision=requests"],
        &["drive-mlc", "mixed-70-30"],
        &["wd1600bekt", "mixed-70-30"],
    ] {
        let mut inputs = args[..2].to_vec();
        args[2..].iter().for_each(|setting| inputs.extend(["--set", setting]));
        inputs.extend(["--set", "pattern.requests=400"]);
        let (_, found, seen) = run(&inputs);
        let requests = seen.slices.iter().filter(|one| one.track.starts_with("host queue"));
        assert_eq!(requests.count() as u64, int(&found, "workload.requests"), "{args:?}");
        let suspended = seen.slices.iter().filter(|one| one.notes.contains_key("ends")).count();
        assert_eq!(suspended as u64, int(&found, "flash.suspensions"), "{args:?}");
        let retried = seen.slices.iter().filter(|one| one.notes.contains_key("retries")).count();
        assert_eq!(retried > 0, args[2..].iter().any(|one| one.starts_with("retry")), "{args:?}");
    }
}

#[test]
fn wrong_windows_are_refused() {
    let folder = Folder::new();
    for (args, said) in [
        (&["--timeline", "t", "--window", "2ms..1ms"][..], "FROM must be before TO"),
        (&["--timeline", "t", "--window", "5..6"], "the units are ns, us, ms and s"),
        (&["--window", "1ms..2ms"], "--timeline"),
    ] {
        let ran = folder.run(&[&["run", "drs"], args].concat());
        assert_eq!(ran.status, Some(2), "{ran:?}");
        assert!(ran.stderr.contains(said) && folder.files().is_empty(), "{ran:?}");
    }
}
