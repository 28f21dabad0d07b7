//! Any line as the descriptor of a format, and any bytes behind it as a trace: never a panic, and
//! arrivals never decrease.

#![no_main]

use flashyard_workload::RequestSource;
use flashyard_workload::input::Input;
use flashyard_workload::trace::{TimeOrder, Trace, TraceKeys, TraceOptions};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let Some(end) = data.iter().position(|&byte| byte == b'\n') else { return };
    let Ok(format) = std::str::from_utf8(&data[..end]) else { return };
    // A name or the path of a file is none of its business.
    if !format.contains(':') || format.to_ascii_lowercase().ends_with(".toml") {
        return;
    }
    let keys = TraceKeys { time_order: TimeOrder::Sort, ..TraceKeys::default() };
    let options = TraceOptions { format: Some(format.to_owned()), ..TraceOptions::default() };
    let Ok(mut trace) = Trace::open(Input::memory("fuzz", &data[end + 1..]), &keys, &options)
    else {
        return;
    };
    let mut last = None;
    while let Ok(Some(request)) = trace.next_request() {
        assert!(last <= Some(request.arrival));
        last = Some(request.arrival);
    }
});
