//! Any bytes as a trace file of any format: never a panic, and arrivals never decrease.
//!
//! The first bytes choose how it is read: the format (or detection), the event, the column that
//! makes streams, and the transforms. Choices that do not fit each other must be refused.

#![no_main]

use flashyard_workload::format::FORMATS;
use flashyard_workload::input::Input;
use flashyard_workload::trace::{BadRows, Event, Fold, TimeOrder, Trace, TraceKeys, TraceOptions};
use flashyard_workload::{FormatInfo, RequestSource};
use libfuzzer_sys::fuzz_target;

/// The bytes in front of the text.
const CHOICES: usize = 6;

fuzz_target!(|data: &[u8]| {
    let Some((&[format, event, split, order, flags, small], text)) =
        data.split_first_chunk::<CHOICES>()
    else {
        return;
    };
    let format = FORMATS.get(usize::from(format) % (FORMATS.len() + 1));
    let options = TraceOptions {
        format: format.map(|format| format.name.to_owned()),
        split: split_of(format, split),
        capacity_sectors: (flags & 1 != 0).then(|| u64::from(small) * 1_000),
        ..TraceOptions::default()
    };
    let keys = TraceKeys {
        event: Event::ALL[usize::from(event) % Event::ALL.len()],
        skip_lines: u64::from(flags >> 6),
        bad_rows: BadRows::ALL[usize::from(flags >> 1 & 1)],
        time_order: TimeOrder::ALL[usize::from(order) % TimeOrder::ALL.len()],
        sort_window: 1 + u64::from(small % 8),
        duration_ms: u64::from(flags >> 2 & 1) * 4_000_000,
        fold: Fold::ALL[usize::from(flags >> 3 & 1)],
        time_quantum_us: u64::from(flags >> 4 & 1) * 1_000,
        rebase: flags >> 5 & 1 == 0,
        ..TraceKeys::default()
    };
    let Ok(mut trace) = Trace::open(Input::memory("fuzz", text), &keys, &options) else {
        return;
    };
    let mut last = None;
    while let Ok(Some(request)) = trace.next_request() {
        assert!(last <= Some(request.arrival));
        last = Some(request.arrival);
        // A format that names its streams names every one of them.
        let names = if request.stream < 256 { trace.stream_names() } else { Vec::new() };
        assert!(names.is_empty() || usize::from(request.stream) < names.len());
    }
    assert!(trace.notes().iter().all(|note| !note.is_empty()));
});

/// A column that makes streams: one of the format's, its own choice, or one that it may not have.
fn split_of(format: Option<&FormatInfo>, choice: u8) -> Option<String> {
    let splits = format.map_or(&[][..], |format| format.splits);
    let name = match usize::from(choice) % (splits.len() + 2) {
        0 => return None,
        1 => "device",
        at => splits[at - 2],
    };
    Some(name.to_owned())
}
