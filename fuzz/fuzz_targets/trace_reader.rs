//! Any bytes as a trace file: never a panic, and arrivals never decrease.

#![no_main]

use flashyard_workload::RequestSource;
use flashyard_workload::input::Input;
use flashyard_workload::trace::{Fold, TimeOrder, Trace, TraceKeys, TraceOptions};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let Some((&[choice, small], text)) = data.split_first_chunk::<2>().map(|(a, b)| (a, b)) else {
        return;
    };
    let keys = TraceKeys {
        time_order: TimeOrder::ALL[usize::from(choice % 3)],
        sort_window: 1 + u64::from(small % 8),
        duration_ms: u64::from(choice & 4) * 1_000_000,
        fold: Fold::ALL[usize::from(choice >> 3 & 1)],
        ..TraceKeys::default()
    };
    let capacity_sectors = (choice & 16 != 0).then(|| u64::from(small) * 1_000);
    let options = TraceOptions { capacity_sectors, ..TraceOptions::default() };
    let Ok(mut trace) = Trace::open(Input::memory("fuzz", text), &keys, &options) else {
        return;
    };
    let mut last = None;
    while let Ok(Some(request)) = trace.next_request() {
        assert!(last <= Some(request.arrival));
        last = Some(request.arrival);
    }
});
