//! Who flushes the buffer, and what holds that back: programs that free no line, a hot unit, host
//! policies that flush it themselves.

use crate::common::{Random, record, request, settings, starts_pages, try_settings};
use flashyard_core::host::HostPolicyName;
use flashyard_core::request::{Flags, Request, RequestOp};
use flashyard_sim::config::{DeviceKeys, Sections, Settings};

/// A resident map, programs of 700 us and reads of 60 us; accesses of the buffer take no time.
fn buffered(keys: &[&str]) -> Settings {
    let base = [
        "map.store=resident",
        "policy.command=fifo",
        "geometry.blocks_per_plane=64",
        "geometry.pages_per_block=32",
        "ftl.over_provisioning_percent=100",
        "buffer.access_ns=0",
        "buffer.ps_per_byte=0",
    ];
    settings(&[&base, keys].concat())
}

fn write(us: u64, lpn: u64) -> Request {
    request(us, RequestOp::Write, lpn, 1)
}

fn durable(us: u64, lpn: u64) -> Request {
    write(us, lpn).with(Flags::FUA)
}

/// Many programs of one unit are under way at once, with one to three lines.
#[test]
fn a_hot_unit_with_fua_ends_however_many_programs_it_has() {
    for lines in 1..=3 {
        for depth in [2, 21, 64] {
            let keys = [format!("buffer.bytes={}", lines * 4_096), format!("queue.depth={depth}")];
            let keys = [&keys[0], &keys[1], "buffer.eviction=ahead"];
            let settings = buffered(&[&keys[..], &["geometry.ways=2"]].concat());
            let mut random = Random(lines + depth);
            let hot = |at: u64| {
                let cold = write(at, 10 + random.below(5));
                if random.below(4) == 0 { cold } else { durable(at, 0) }
            };
            let requests: Vec<_> = (0..120).map(hot).collect();
            let (report, run) = record(&settings, &[], &requests);
            assert_eq!(run.requests.len(), 120);
            let buffer = &report.buffer;
            let gone = buffer.flushed_units + buffer.trimmed_units + buffer.dirty_at_end;
            assert_eq!(buffer.dirtied_units, gone);
            let programs: Vec<_> = (0..64).map(|at| durable(at, 0)).collect();
            assert_eq!(record(&settings, &[], &programs).1.requests.len(), 64);
        }
    }
}

/// Unit 2 needs a line at 50 us. That of unit 0 has 20 programs before it, 14 ms; unit 1 is dirty,
/// and its die is idle.
#[test]
fn programs_that_free_no_line_hold_no_flush_back() {
    let keys = ["buffer.bytes=8192", "buffer.eviction=full", "geometry.ways=4"];
    let mut requests = vec![write(0, 1)];
    requests.extend((1..=20).map(|at| durable(at, 0)));
    requests.push(write(50, 2));
    let (_, run) = record(&buffered(&keys), &[], &requests);
    let last = run.requests.iter().find(|done| done.request.first_sector == 16).unwrap();
    assert_eq!(last.completion.since(last.request.arrival).as_ns(), 700_000);
}

/// A device whose host policy flushes the buffer, out of order.
const ROS: [&str; 11] = [
    "state.initial=full",
    "geometry.blocks_per_plane=64",
    "geometry.pages_per_block=32",
    "ftl.over_provisioning_percent=100",
    "policy.command=fifo",
    "buffer.flush_reads=true",
    "buffer.ports=read_and_write",
    "buffer.banks=4",
    "buffer.write_ns=100000",
    "host.policy=ros",
    "interface.fetch_depth=32",
];

fn mixed() -> Vec<Request> {
    let mut random = Random(5);
    let mut now = 0;
    (0..1_500)
        .map(|_| {
            now += random.pick(&[0, 0, 100, 3_000]);
            let op = random.pick(&[RequestOp::Read, RequestOp::Write]);
            let some = request(now, op, random.below(200), random.pick(&[1, 2, 3]));
            match random.below(50) {
                0 => Request::new(RequestOp::Flush, 0, 0).at(some.arrival).over(0, 0),
                _ => some,
            }
        })
        .collect()
}

/// Under a host policy that flushes, each key of the buffer changes a result, is refused, or says
/// that it does nothing there.
#[test]
fn no_key_of_the_buffer_is_dead_under_a_policy_that_flushes() {
    let (mut refused, mut documented) = (Vec::new(), Vec::new());
    let requests = mixed();
    let device = DeviceKeys::default();
    let (_, keys, _) = device.sections().into_iter().find(|(name, ..)| name == "buffer").unwrap();
    for key in keys {
        let name = format!("buffer.{}=", key.name);
        let flip = format!("{name}{}", key.flip);
        let others = ROS.iter().filter(|setting| !setting.starts_with(&name));
        let base: Vec<_> = others.chain(key.with).copied().collect();
        let flipped = [&base[..], &[&flip]].concat();
        match try_settings(&flipped) {
            Err(why) if why.contains("this host.policy flushes") => refused.push(key.name),
            Err(why) => panic!("{flip}: {why}"),
            Ok(flipped) => {
                let report = |settings| format!("{:?}", record(settings, &[], &requests).0);
                if report(&flipped) == report(&settings(&base)) {
                    let says = ["start pages", "starts pages"];
                    assert!(says.iter().any(|says| key.doc.contains(says)), "{flip} is dead");
                    documented.push(key.name);
                }
            }
        }
    }
    let flushers = ["release_us", "release_bytes", "ahead_requests", "flush_when_idle", "idle_ms"];
    assert_eq!(refused, flushers);
    assert_eq!(documented, ["eviction", "high_percent", "low_percent"]);
    for policy in HostPolicyName::WORDS.iter().filter(|name| starts_pages(name)) {
        for eviction in ["ahead", "at_once"] {
            let keys = [format!("host.policy={policy}"), format!("buffer.eviction={eviction}")];
            let why = try_settings(&[&keys[0], &keys[1]]).unwrap_err();
            assert!(why.contains("set buffer.eviction = \"full\""), "{why}");
        }
    }
}
