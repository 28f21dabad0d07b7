//! What the integration tests share: small devices, random numbers, recorded runs.
#![allow(
    dead_code,
    unreachable_pub,
    clippy::allow_attributes,
    reason = "a plain interface of which each test uses a part"
)]

pub mod phases;
pub mod samples;
pub mod statistics;

use flashyard_core::host::{HostPolicyKeys, HostPolicyName};
use flashyard_core::policy::PolicyName;
use flashyard_core::request::{Request, RequestOp};
use flashyard_core::units::Time;
use flashyard_sim::config::{
    DeviceKeys, InitialBuffer, InitialState, Sections, Settings, apply_setting,
};
use flashyard_sim::device::{Device, RunError, SimError};
use flashyard_sim::observe::{CommandDone, Observer, Queued, RequestDone, Shared};
use flashyard_sim::report::Report;
use flashyard_sim::saved::RestoreError;
use std::convert::Infallible;
use std::ops::Range;

/// Which seeds random tests run: a third of all, every one with `SEEDS=all`, or those of
/// `SEEDS=first..end`.
pub fn seeds(all: Range<u64>) -> Range<u64> {
    let third = all.start..all.start + (all.end - all.start).div_ceil(3);
    asked_seeds(&all).unwrap_or(third)
}

/// The same without a third: all are run with each change.
pub fn every_seed(all: Range<u64>) -> Range<u64> {
    asked_seeds(&all).unwrap_or(all)
}

/// Whether other seeds are asked for than those whose sums tests know.
pub fn seeds_are_given() -> bool {
    std::env::var("SEEDS").is_ok_and(|asked| asked != "all")
}

fn asked_seeds(all: &Range<u64>) -> Option<Range<u64>> {
    let asked = std::env::var("SEEDS").ok()?;
    if asked == "all" {
        return Some(all.clone());
    }
    let (first, end) = asked.split_once("..").expect("SEEDS=all or SEEDS=first..end");
    Some(first.parse().expect("a seed")..end.parse().expect("a seed"))
}

/// Splitmix64.
#[derive(Clone, Debug)]
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// A number below `bound`.
    pub fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound
    }

    /// One of the choices.
    pub fn pick<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[usize::try_from(self.below(choices.len() as u64)).unwrap()]
    }
}

/// Settings from `section.key=value` strings.
pub fn try_settings<S: AsRef<str>>(assignments: &[S]) -> Result<Settings, String> {
    Settings::new(keys(assignments)).map_err(|error| error.to_string())
}

/// The keys of a device with these assignments.
#[track_caller]
pub fn keys<S: AsRef<str>>(assignments: &[S]) -> DeviceKeys {
    let mut keys = DeviceKeys::default();
    let mut problems = Vec::new();
    for assignment in assignments {
        apply_setting("--set", assignment.as_ref(), &mut keys, &mut problems);
    }
    assert!(problems.is_empty(), "{problems:?}");
    keys
}

/// As [`try_settings`], for a device that must exist.
#[track_caller]
pub fn settings<S: AsRef<str>>(assignments: &[S]) -> Settings {
    try_settings(assignments).unwrap_or_else(|error| panic!("{error}"))
}

/// What a device saves.
pub fn saved(device: &Device) -> Vec<u8> {
    let mut bytes = Vec::new();
    device.save(&mut |part| bytes.extend_from_slice(part));
    bytes
}

/// The device that was saved as these bytes.
pub fn restored(settings: &Settings, mut bytes: &[u8]) -> Result<Device, RestoreError> {
    Device::restore(settings, &mut |slice| {
        let count = slice.len().min(bytes.len());
        slice[..count].copy_from_slice(&bytes[..count]);
        bytes = &bytes[count..];
        count
    })
}

/// Whether a built-in host policy starts single pages and flushes the buffer itself.
pub fn starts_pages(policy: &str) -> bool {
    let place = HostPolicyName::WORDS.iter().position(|known| *known == policy);
    place.is_some_and(|place| {
        HostPolicyKeys::default().policy(HostPolicyName::ALL[place]).by_pages()
    })
}

/// The command policies that random devices draw from: all policies before `fair`. A longer list
/// would move the draws of all random devices, so `fair` has random devices of its own.
pub const DRAWN_POLICIES: &[&str] = PolicyName::WORDS.split_at(8).0;

/// Some keys of policies, victim rules and schemes, whichever there are, at the other value that
/// their declaration names.
pub fn keys_of_parts(random: &mut Random) -> Vec<String> {
    let families = ["policy.", "host.", "gc.", "ftl."];
    let device = DeviceKeys::default();
    let parts = device
        .sections()
        .into_iter()
        .filter(|(section, ..)| families.iter().any(|family| section.starts_with(family)))
        .filter(|(section, ..)| section != "policy.fair");
    let keys = parts.flat_map(|(section, keys, _)| {
        keys.iter().map(move |key| format!("{section}.{}={}", key.name, key.flip))
    });
    keys.filter(|_| random.below(4) == 0).collect()
}

/// Dirty units in the write buffer of a device at its start, unless it is given some.
pub fn dirty_at_start(settings: &Settings) -> u64 {
    let (keys, lines) = (&settings.keys, u64::from(settings.buffer_units));
    let steady = keys.state.initial == InitialState::Steady;
    match keys.buffer.initial {
        InitialBuffer::Dirty => lines,
        InitialBuffer::Auto if steady => {
            let written = keys.state.fill_percent.of(u64::from(settings.exported_units));
            let high = keys.buffer.high_percent.of(lines);
            (if keys.state.rested { high } else { lines }).min(written / 2)
        }
        InitialBuffer::Auto | InitialBuffer::Empty => 0,
    }
}

/// Dies with a resident map whose programs take 700 us, reads 60 us and nothing else, and a buffer
/// whose accesses take no time.
pub fn buffered(keys: &[&str]) -> Settings {
    let base = [
        "map.store=resident",
        "policy.command=fifo",
        "geometry.blocks_per_plane=64",
        "geometry.pages_per_block=32",
        "ftl.over_provisioning_percent=100",
        "buffer.bytes=262144",
        "buffer.access_ns=0",
        "buffer.ps_per_byte=0",
    ];
    settings(&[&base, keys].concat())
}

/// A small full device of four dies that collects garbage, with map misses and transfers.
pub fn collecting(keys: &[&str]) -> Settings {
    let base = [
        "state.initial=full",
        "geometry.channels=2",
        "geometry.ways=2",
        "geometry.blocks_per_plane=64",
        "geometry.pages_per_block=8",
        "ftl.over_provisioning_percent=100",
        "channel.ps_per_byte=2500",
        "map.cache_bytes=256",
        "map.entries_per_page=64",
        "gc.soft_free_blocks=16",
        "gc.hard_free_blocks=8",
        "gc.reserve_blocks=4",
        "gc.background_free_blocks=32",
    ];
    settings(&[&base, keys].concat())
}

/// One full die that collects when a host block is opened until three blocks are free.
pub fn one_full_die(blocks: u32, pages: u32, spare_percent: u32, keys: &[&str]) -> Settings {
    let shape = [
        format!("geometry.blocks_per_plane={blocks}"),
        format!("geometry.pages_per_block={pages}"),
        format!("ftl.over_provisioning_percent={spare_percent}"),
    ];
    let base = [
        "map.store=resident",
        "policy.command=fifo",
        "state.initial=full",
        "nand.read_us=1",
        "nand.program_us=1",
        "nand.erase_us=1",
        "gc.soft_free_blocks=2",
        "gc.hard_free_blocks=2",
        "gc.reserve_blocks=2",
    ];
    settings(&[&shape.each_ref().map(String::as_str)[..], &base, keys].concat())
}

/// The report of a run, without the checker.
#[track_caller]
pub fn unchecked(settings: &Settings, requests: &[Request]) -> Report {
    let mut requests = requests.iter().copied();
    Device::new(settings).run(|| Ok::<_, Infallible>(requests.next())).expect("the writes fit")
}

/// A request of whole 4 kB pages.
pub fn request(us: u64, op: RequestOp, lpn: u64, pages: u32) -> Request {
    Request::new(op, lpn * 8, pages * 8).at(Time::from_us(us))
}

/// A write of a page.
pub fn write(us: u64, lpn: u64) -> Request {
    request(us, RequestOp::Write, lpn, 1)
}

/// A read of a page.
pub fn read(us: u64, lpn: u64) -> Request {
    request(us, RequestOp::Read, lpn, 1)
}

/// A flush.
pub fn flush(us: u64) -> Request {
    request(us, RequestOp::Flush, 0, 1).over(0, 0)
}

/// Three bits a cell in one shot, two planes, four units of 4 KiB a page: a program unit has 12.
pub const ONE_SHOT: [&str; 6] = [
    "geometry.planes=2",
    "geometry.page_bytes=16384",
    "geometry.pages_per_block=24",
    "ftl.mapping_unit_bytes=4096",
    "nand.bits_per_cell=3",
    "nand.one_shot=true",
];

/// Everything that a run tells.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Recorded {
    pub queued: Vec<Queued>,
    pub commands: Vec<CommandDone>,
    pub requests: Vec<RequestDone>,
}

pub struct Recorder(pub Shared<Recorded>);

impl Observer for Recorder {
    fn queued(&mut self, event: &Queued) {
        self.0.get().queued.push(*event);
    }
    fn command_done(&mut self, event: &CommandDone) {
        self.0.get().commands.push(*event);
    }
    fn request_done(&mut self, event: &RequestDone) {
        self.0.get().requests.push(*event);
    }
}

/// The generator of the small traces that other programs have counted: `count` writes of one page.
pub fn page_writes(seed: u64, count: u32, pages: u64) -> Vec<Request> {
    let mut random = Random(seed);
    let mut below = |bound: u64| {
        let product = u128::from(random.next() >> 11) * u128::from(bound);
        u64::try_from(product >> 53).expect("below the bound")
    };
    let draws = (0..count).map(|_| {
        // Kind, whether it follows on, length.
        let _ = (below(100), below(100), below(1));
        below(pages)
    });
    draws.map(|lpn| request(0, RequestOp::Write, lpn, 1)).collect()
}

/// Runs requests under the checker and records everything.
pub fn try_record(
    settings: &Settings,
    lines: &[(u64, bool)],
    requests: &[Request],
) -> Result<(Report, Recorded), SimError> {
    let mut device = Device::new(settings);
    device.check();
    if !lines.is_empty() {
        device.preload_map(lines)?;
    }
    let recorded = Shared::new(Recorded::default());
    device.observe(Box::new(Recorder(recorded.clone())));
    let mut requests = requests.iter().copied();
    let report = match device.run(|| Ok::<_, Infallible>(requests.next())) {
        Ok(report) => report,
        Err(RunError::Sim(error)) => return Err(error),
        Err(RunError::Workload(never)) => match never {},
    };
    let mut recorded = recorded.take();
    recorded.requests.sort_by_key(|request| request.order);
    Ok((report, recorded))
}

/// As [`try_record`], for runs that must succeed.
#[track_caller]
pub fn record(
    settings: &Settings,
    lines: &[(u64, bool)],
    requests: &[Request],
) -> (Report, Recorded) {
    try_record(settings, lines, requests).unwrap_or_else(|error| panic!("{error}"))
}
