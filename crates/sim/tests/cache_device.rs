//! The device against the naive implementation of scheduling that knows the buffer and the chips:
//! on random cases every request is answered at the same nanosecond, in runs under the checker,
//! and as many picks are held back.

mod common;
mod naive_cache;

use common::{request, settings};
use flashyard_core::request::{Request, RequestOp};
use flashyard_core::units::Time;
use flashyard_sim::device::Device;
use flashyard_sim::observe::{Observer, RequestDone};
use flashyard_sim::report::Report;
use naive_cache::{Params, Policy, Req, random_case, run};
use std::cell::RefCell;
use std::convert::Infallible;
use std::rc::Rc;

const KEYS: [&str; 18] = [
    "ftl.over_provisioning_percent=100",
    "geometry.blocks_per_plane=64",
    "geometry.pages_per_block=64",
    "ftl.allocation=static",
    "map.store=resident",
    "policy.command=fifo",
    "queue.depth=1000000",
    "buffer.ps_per_byte=0",
    "buffer.eviction=full",
    "buffer.after_flush=free",
    "buffer.flush_width=1000000",
    "buffer.recency=reads_and_writes",
    "buffer.acknowledge=buffer",
    "interface.transfer=page",
    "host.idle.ignores_buffer=true",
    "host.idle.window=65536",
    "channel.command_ns=0",
    "metrics.bin_ms=0",
];

/// The keys of a policy.
fn policy(policy: Policy) -> &'static [&'static str] {
    match policy {
        Policy::Fifo => &["host.policy=fifo"],
        Policy::Idle => &["host.policy=idle"],
        Policy::StrictIdle => &["host.policy=idle", "host.idle.strict=true"],
        Policy::Ready => &["host.policy=cache-read-aware"],
        Policy::OnePass => {
            &["host.policy=cache-read-aware", "host.cache-read-aware.dependencies=one_pass"]
        }
        Policy::OnePassBySlot => {
            &["host.policy=cache-read-aware", "host.cache-read-aware.dependencies=one_pass_by_slot"]
        }
    }
}

/// Nanoseconds of a page at a rate in picoseconds a byte, and that rate.
fn whole(ns: u64) -> (u64, u64) {
    let steps = ns.div_ceil(512);
    (512 * steps, 125 * steps)
}

/// When each request is answered, in the order of arrival.
#[derive(Default)]
struct Answers(Vec<(u64, u64)>);

struct Recorder(Rc<RefCell<Answers>>);

impl Observer for Recorder {
    fn request_done(&mut self, event: &RequestDone) {
        self.0.borrow_mut().0.push((event.order, event.completion.as_ns()));
    }
}

fn micros(ns: u64) -> String {
    format!("{}.{:03}", ns / 1_000, ns % 1_000)
}

/// The device of the case, with other keys too: its report, and when it answers each request.
fn simulate(params: &Params, extra: &[&str], trace: &[Req]) -> (Report, Vec<u64>) {
    let mut keys: Vec<String> =
        KEYS.iter().chain(policy(params.policy)).chain(extra).map(ToString::to_string).collect();
    keys.extend([
        format!("geometry.channels={}", params.channels),
        format!("geometry.ways={}", params.ways),
        format!("nand.read_us={}", micros(params.read_ns)),
        format!("nand.program_us={}", micros(params.program_ns)),
        format!("channel.ps_per_byte={}", whole(params.channel_ns).1),
        format!("buffer.bytes={}", 4096 * params.lines),
        format!("buffer.access_ns={}", params.buffer_ns),
        format!("interface.link_ps_per_byte={}", whole(params.link_ns).1),
        format!("interface.duplex={}", if params.duplex { "full" } else { "half" }),
        format!("interface.fetch_depth={}", params.depth),
        format!("host.dispatch_width={}", params.width),
        format!("host.dispatch_ns={}", params.dispatch_ns),
    ]);
    let mut device = Device::new(&settings(&keys));
    device.check();
    let lines: Vec<_> = params.initial.iter().map(|&page| (page, None, true)).collect();
    device.preload_buffer(&lines).unwrap();
    let answers = Rc::new(RefCell::new(Answers::default()));
    device.observe(Box::new(Recorder(Rc::clone(&answers))));
    let mut requests = trace.iter().map(|one| {
        let op = if one.read { RequestOp::Read } else { RequestOp::Write };
        let pages = u32::try_from(one.pages).unwrap();
        Request { arrival: Time::from_ns(one.at_ns), ..request(0, op, one.first, pages) }
    });
    let report = device.run(|| Ok::<_, Infallible>(requests.next())).unwrap();
    let mut answers = std::mem::take(&mut answers.borrow_mut().0);
    answers.sort_unstable();
    (report, answers.into_iter().map(|(_, at)| at).collect())
}

const POLICIES: [Policy; 6] = [
    Policy::Fifo,
    Policy::Idle,
    Policy::StrictIdle,
    Policy::Ready,
    Policy::OnePass,
    Policy::OnePassBySlot,
];

/// The case as the device can have it.
fn for_device(params: &Params, width: usize, policy: Policy) -> Params {
    Params {
        channel_ns: whole(params.channel_ns).0,
        link_ns: whole(params.link_ns).0,
        at_once: false,
        holds: true,
        width,
        policy,
        ..params.clone()
    }
}

#[test]
fn probe() {
    let mut table = std::collections::BTreeMap::new();
    for seed in 0..200 {
        let case = random_case(seed);
        for width in 1..=4 {
            for policy in POLICIES {
                let params = for_device(&case.params, width, policy);
                let naive = run(&params, &case.trace);
                let out = std::panic::catch_unwind(|| simulate(&params, &[], &case.trace));
                let Ok((report, answers)) = out else {
                    println!("STUCK {seed} {width} {policy:?}");
                    continue;
                };
                let hazards = (naive.queued_hazards + naive.flying_hazards) as u64;
                if answers != naive.done_ns
                    && (width, seed)
                        == std::env::var("PROBE").map_or((0, 0), |v| {
                            let v: Vec<_> = v.split(',').collect();
                            if format!("{policy:?}") == v[0] {
                                (v[1].parse().unwrap(), v[2].parse().unwrap())
                            } else {
                                (0, 0)
                            }
                        })
                {
                    println!("{params:?}");
                    for (n, r) in case.trace.iter().enumerate() {
                        println!("{n} {r:?} naive {} device {}", naive.done_ns[n], answers[n]);
                    }
                    println!("{:?} {:?}", naive.picks, naive.evictions);
                }
                let same = (answers == naive.done_ns, report.map.hazard_picks == hazards);
                let entry = table.entry((width, format!("{policy:?}"), same)).or_insert((0, seed));
                entry.0 += 1;
            }
        }
    }
    for line in table {
        println!("{line:?}");
    }
}
