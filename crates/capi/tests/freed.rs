//! A device that is closed leaves nothing behind, names and policies of the caller included.

use flashyard_capi::{
    FY_NEVER, FyBusPolicy, FyChannel, FyCommand, FyCommandPolicy, FyCompletion, FyHostRequest,
    FyOptions, FyPlacement, fy_advance, fy_close, fy_fork, fy_open, fy_submit,
};
use stats_alloc::{INSTRUMENTED_SYSTEM, StatsAlloc};
use std::alloc::System;
use std::ffi::{CString, c_void};
use std::ptr::{null, null_mut};

/// A device that is built at once.
const SMALL: &str = "\
base = \"none\"
state.initial = \"fresh\"
geometry.blocks_per_plane = 64
geometry.pages_per_block = 16
ftl.over_provisioning_percent = 80
map.store = \"resident\"
";

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

/// Bytes that have not been given back, of the whole process: this file has a single test, so
/// nothing runs beside it.
fn held() -> usize {
    let stats = ALLOCATOR.stats();
    stats.bytes_allocated - stats.bytes_deallocated
}

extern "C" fn place(_: *mut c_void, _: *const FyCommand, _: u64, _: *mut FyPlacement) {}

extern "C" fn pick(_: *mut c_void, _: *const FyChannel) -> i64 {
    -1
}

/// Opens a device under policies of this number, asks it something, copies it, closes both.
#[expect(unsafe_code, reason = "the border to C")]
fn round(number: u32) {
    let text = |text: String| CString::new(text).expect("it has no zero byte");
    let names = [text(format!("commands-{number:04}")), text(format!("bus-{number:04}"))];
    let commands = FyCommandPolicy {
        name: names[0].as_ptr(),
        context: null_mut(),
        queues: 1,
        place: Some(place),
    };
    let bus = FyBusPolicy { name: names[1].as_ptr(), context: null_mut(), pick: Some(pick) };
    let set = text(format!("policy.command=commands-{number:04}"));
    let (device, settings) = (text(SMALL.to_string()), [set.as_ptr()]);
    let options = FyOptions {
        device: device.as_ptr(),
        settings: settings.as_ptr(),
        settings_count: settings.len(),
        command_policies: &raw const commands,
        command_policies_count: 1,
        bus_policies: &raw const bus,
        bus_policies_count: 1,
        check: false,
    };
    // SAFETY: the options and what they point to stay during the call; no text is asked for.
    let drive = unsafe { fy_open(&raw const options, null_mut(), 0) };
    assert!(!drive.is_null());
    let read = FyHostRequest { bytes: 4_096, placement: u16::MAX, ..FyHostRequest::default() };
    // SAFETY: the device is open, and there is one request.
    assert_eq!(unsafe { fy_submit(drive, &raw const read, 1) }, 1);
    // SAFETY: the device is open.
    let copy = unsafe { fy_fork(drive) };
    for drive in [drive, copy] {
        let mut over = FyCompletion::default();
        // SAFETY: the device is open, and there is room for one.
        assert_eq!(unsafe { fy_advance(drive, FY_NEVER, &raw mut over, 1) }, 1);
        // SAFETY: the device is open.
        unsafe { fy_close(drive) };
    }
    let options = FyOptions { device: null(), ..options };
    // SAFETY: as above; without a device it is refused.
    assert!(unsafe { fy_open(&raw const options, null_mut(), 0) }.is_null());
}

#[test]
fn a_thousand_devices_with_policies_leave_nothing_behind() {
    // What is made once for the process or the thread is there after the first rounds.
    (0..8).for_each(round);
    let before = held();
    (8..1_008).for_each(round);
    assert_eq!(held(), before);
}
