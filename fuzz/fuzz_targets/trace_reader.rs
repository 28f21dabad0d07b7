//! Any bytes as a trace file of any format: never a panic, and arrivals never decrease.
//!
//! The first bytes choose how it is read: the format (by name, by detection, or by a descriptor in
//! the first line), the column that makes streams, the capacity of the device, and values of any
//! keys of `[trace]`, the event among them. Choices that do not fit each other must be refused.

#![no_main]

use flashyard_core::key::{Kind, Value};
use flashyard_workload::input::Input;
use flashyard_workload::trace::{Trace, TraceKeys, TraceOptions};
use flashyard_workload::{FormatInfo, RequestSource};
use libfuzzer_sys::fuzz_target;

/// The bytes in front of the text; `cargo xtask fuzz` writes them as well.
const CHOICES: usize = 11;

/// Requests that are read of one input.
const MOST_REQUESTS: usize = 10_000;

fuzz_target!(|data: &[u8]| {
    let Some((choices, text)) = data.split_first_chunk::<CHOICES>() else { return };
    let &[format, split, capacity, ..] = choices;
    let mut keys = TraceKeys::default();
    for pair in choices[3..].chunks_exact(2) {
        let key = &TraceKeys::KEYS[usize::from(pair[0]) % TraceKeys::KEYS.len()];
        assert!(keys.set(key.name, value(&key.kind, pair[1])));
    }
    let formats: Vec<&FormatInfo> = FormatInfo::all().collect();
    let at = usize::from(format) % (formats.len() + 2);
    let (format, text) = match formats.get(at) {
        Some(format) => (Some(format.name.to_owned()), text),
        None if at == formats.len() => (None, text),
        None => match described(text) {
            Some((descriptor, rest)) => (Some(descriptor), rest),
            None => return,
        },
    };
    let options = TraceOptions {
        format,
        split: split_of(formats.get(at).copied(), split),
        capacity_sectors: (capacity > 0).then(|| u64::from(capacity) * 1_000),
    };
    let Ok(mut trace) = Trace::open(Input::memory("fuzz", text), &keys, &options) else {
        return;
    };
    let mut last = None;
    // A trace may repeat a thousand million times.
    for _ in 0..MOST_REQUESTS {
        let Ok(Some(request)) = trace.next_request() else { break };
        assert!(last <= Some(request.arrival));
        last = Some(request.arrival);
        // The names in a binary trace are those of its writer, who may have named only some.
        let names = trace.stream_names();
        let all_named = names.is_empty() || usize::from(request.stream) < names.len();
        assert!(all_named || trace.format_name() == "flashyard");
    }
    assert!(trace.notes().iter().all(|note| !note.is_empty()));
});

/// A value of a key: its least ones, and powers of two up to its greatest.
fn value(kind: &Kind, choice: u8) -> Value {
    match kind {
        Kind::Bool => Value::Bool(choice & 1 == 1),
        Kind::Choice(words) => Value::Choice(usize::from(choice) % words.len()),
        Kind::Number { min, max, .. } => Value::Number(match choice {
            0..128 => (*min).saturating_add(u64::from(choice)).min(*max),
            _ => (1_u64 << (choice & 63)).clamp(*min, *max),
        }),
        Kind::List { .. } => unreachable!("traces have no keys that are lists"),
    }
}

/// A descriptor of one line in front of a text; never the name of a file.
fn described(text: &[u8]) -> Option<(String, &[u8])> {
    let end = text.iter().position(|&byte| byte == b'\n')?;
    let line = std::str::from_utf8(&text[..end]).ok()?;
    let is_one = line.contains(':') && !line.ends_with(".toml");
    is_one.then(|| (line.to_owned(), &text[end + 1..]))
}

/// A column that makes streams: the format's own choice, one of its columns, or one that it may
/// not have.
fn split_of(format: Option<&FormatInfo>, choice: u8) -> Option<String> {
    let splits = format.map_or(&[][..], |format| format.splits);
    let name = match usize::from(choice) % (splits.len() + 2) {
        0 => return None,
        1 => "device",
        at => splits[at - 2],
    };
    Some(name.to_owned())
}
