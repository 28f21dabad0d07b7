//! Devices and requests under which a key changes some result: those that its `with` names.

use crate::common::Random;
use crate::common::phases::named;
use flashyard_core::request::{Request, RequestOp, ZoneAction};
use flashyard_core::units::Time;
use flashyard_sim::config::{DeviceKeys, Settings, apply_setting};
use flashyard_sim::stream::{Pacing, Stream, StreamKeys};
use std::convert::Infallible;

/// What `@full` in the `with` of a key stands for: a device so small and so full that the workload
/// makes it collect garbage, with room to flip any key of `[gc]`, `[ftl]` and `[geometry]`.
const FULL: &[&str] = &[
    "state.initial=full",
    "geometry.blocks_per_plane=64",
    "geometry.pages_per_block=8",
    "ftl.over_provisioning_percent=100",
    "map.cache_bytes=256",
    "map.entries_per_page=64",
];

/// What `@log` stands for: the same for a scheme with log blocks.
const LOG: &[&str] = &[
    "state.initial=full",
    "geometry.blocks_per_plane=64",
    "geometry.pages_per_block=8",
    "ftl.over_provisioning_percent=30",
    "map.store=resident",
    "nand.program_order=any",
    "ftl.scheme=fast",
];

/// What `@raw` stands for: host addresses are physical. The requests are reads then.
const RAW: &[&str] = &["ftl.scheme=none", "map.store=resident"];

/// What `@zoned` stands for: zones of 16 pages on two dies. The requests are those to zones then.
const ZONED: &[&str] = &[
    "ftl.scheme=zns",
    "map.store=resident",
    "geometry.channels=2",
    "geometry.ways=1",
    "geometry.planes=1",
    "geometry.blocks_per_plane=20",
    "geometry.pages_per_block=8",
];

/// Pages that the requests to a full device touch: fewer than any flip leaves.
const FULL_PAGES: u64 = 200;

/// Pages that the requests to a fresh device touch: 64 map pages of the default device.
const FRESH_PAGES: u64 = 65_536;

pub fn is_full(with: &[&str]) -> bool {
    with.contains(&"@full") || with.contains(&"@log")
}

/// Whether the `with` of a key has `@streams`: two streams take turns in the requests and issue
/// them as fast as the device takes them. One stream has four times the weight of the other.
fn has_streams(with: &[&str]) -> bool {
    with.contains(&"@streams")
}

/// Settings from a key's `with` and, for the flipped run, one assignment more.
pub fn settings(with: &[&str], flip: Option<&str>) -> Result<Settings, String> {
    let full = match () {
        () if with.contains(&"@log") => LOG,
        () if with.contains(&"@raw") => RAW,
        () if with.contains(&"@zoned") => ZONED,
        () if is_full(with) => FULL,
        () => &[],
    };
    let named = with.iter().filter(|setting| !setting.starts_with('@'));
    let mut keys = DeviceKeys::default();
    let mut problems = Vec::new();
    for setting in full.iter().chain(named).copied().chain(flip) {
        apply_setting("--set", setting, &mut keys, &mut problems);
    }
    match problems.as_slice() {
        [] => Settings::new(keys).map_err(|error| error.to_string()),
        _ => Err(format!("{problems:?}")),
    }
}

/// Bursts of all operations on a hot, a warm and a cold range, in sectors so that every device
/// gets the same ones. Some bursts fill 256 slots, some pauses let every queue run empty.
pub fn requests(full: bool) -> Vec<Request> {
    let mut random = Random(7);
    let pages = if full { FULL_PAGES } else { FRESH_PAGES };
    let mut requests = Vec::new();
    let mut now_us = 0;
    for burst in 0..60 {
        now_us += random.pick(&[3, 2_000, 300_000]);
        let count = if burst % 20 == 10 { 400 } else { 1 + random.below(60) };
        for _ in 0..count {
            now_us += random.pick(&[0, 0, 0, 7, 150]);
            let op = match random.below(40) {
                0 => RequestOp::Trim,
                1 => RequestOp::Flush,
                2..20 => RequestOp::Write,
                _ => RequestOp::Read,
            };
            let reach = random.pick(&[48, 48, 4_096, pages]).min(pages);
            let longest = random.pick(&[1, 1, 4, 16]);
            let length = 1 + random.below(longest);
            // Some writes end in the middle of a page.
            let cut = u64::from(op == RequestOp::Write && length == 3);
            requests.push(
                Request::new(
                    op,
                    random.below(reach).min(pages - length) * 8,
                    u32::try_from(length * 8 - cut).expect("a short request"),
                )
                .at(Time::from_us(now_us))
                .of_stream(u16::from(reach == 48)),
            );
        }
    }
    requests
}

/// Appends to zones, and all actions on them.
fn zone_requests() -> impl Iterator<Item = Request> {
    let zone = |zone: u64| zone * 16 * 8;
    let mut requests = vec![Request::zone(ZoneAction::Open, zone(0))];
    for round in 0..3 {
        requests.extend((0..4).map(|at| Request::append(zone(at), 8 * (2 + round))));
    }
    requests.push(Request::zone(ZoneAction::Close, zone(0)));
    requests.extend((0..4).map(|at| Request::new(RequestOp::Read, zone(at), 48)));
    requests.push(Request::zone(ZoneAction::Finish, zone(1)));
    requests.extend((0..3).map(|at| Request::zone(ZoneAction::Reset, zone(at))));
    requests.push(Request::append(zone(0), 64));
    (0..).zip(requests).map(|(at, request)| request.at(Time::from_us(400 * at)))
}

/// The requests as the streams that a key's `with` asks for: one that keeps their times, or two.
pub fn streams<'a>(with: &[&str], requests: &'a [Request]) -> Vec<Stream<'a, Infallible>> {
    if with.contains(&"@raw") {
        let reads = |request: &&Request| request.op == RequestOp::Read;
        let mut reads = requests.iter().filter(reads).copied();
        let source = Box::new(move || Ok::<_, Infallible>(reads.next()));
        return vec![Stream { name: "host".to_string(), keys: StreamKeys::default(), source }];
    }
    if with.contains(&"@zoned") {
        let mut requests = zone_requests();
        let source = Box::new(move || Ok::<_, Infallible>(requests.next()));
        return vec![Stream { name: "host".to_string(), keys: StreamKeys::default(), source }];
    }
    if !has_streams(with) {
        return vec![named("host", StreamKeys::default(), requests)];
    }
    let stream = |first: usize, weight: u64| {
        let keys = StreamKeys { pacing: Pacing::Fast, weight, ..StreamKeys::default() };
        let mut requests = requests.iter().copied().skip(first).step_by(2);
        let source = Box::new(move || Ok::<_, Infallible>(requests.next()));
        Stream { name: format!("{weight}"), keys, source }
    };
    vec![stream(0, 1), stream(1, 4)]
}
