//! The device against the naive implementation of scheduling that knows the buffer and the chips:
//! on random cases every request is answered at the same nanosecond, in runs under the checker,
//! and as many picks are held back.

use crate::common::{Random, request, seeds, settings};
use crate::naive_cache::{Params, Policy, Req, random_case, run};
use flashyard_core::request::RequestOp;
use flashyard_core::units::Time;
use flashyard_sim::device::Device;
use flashyard_sim::observe::{Observer, RequestDone, Shared};
use flashyard_sim::report::Report;
use std::convert::Infallible;

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

struct Recorder(Shared<Answers>);

impl Observer for Recorder {
    fn request_done(&mut self, event: &RequestDone) {
        self.0.get().0.push((event.order, event.completion.as_ns()));
    }
}

fn micros(ns: u64) -> String {
    format!("{}.{:03}", ns / 1_000, ns % 1_000)
}

/// The device of the case, with other keys too: its report, and when it answers each request.
fn simulate(params: &Params, extra: &[&str], trace: &[Req]) -> (Report, Vec<u64>) {
    let mut keys: Vec<String> =
        KEYS.iter().chain(policy(params.policy)).map(ToString::to_string).collect();
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
    for policy in ["hit_first", "read_first"].iter().zip([params.hit_first, params.read_first]) {
        keys.push(format!("host.cache-read-aware.{}={}", policy.0, policy.1));
    }
    keys.push(format!("host.idle.skip_conflicts={}", params.skips));
    keys.extend(extra.iter().map(ToString::to_string));
    let mut device = Device::new(&settings(&keys));
    device.check();
    let lines: Vec<_> = params.initial.iter().map(|&page| (page, None, true)).collect();
    device.preload_buffer(&lines).unwrap();
    let answers = Shared::new(Answers::default());
    device.observe(Box::new(Recorder(answers.clone())));
    let mut requests = trace.iter().map(|one| {
        let op = if one.read { RequestOp::Read } else { RequestOp::Write };
        let pages = u32::try_from(one.pages).unwrap();
        request(0, op, one.first, pages).at(Time::from_ns(one.at_ns))
    });
    let report = device.run(|| Ok::<_, Infallible>(requests.next())).unwrap();
    let mut answers = std::mem::take(&mut answers.get().0);
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
fn the_device_and_the_naive_implementation_agree_to_the_nanosecond() {
    let (mut flushes, mut held, mut larger) = (0, [0; 6], 0);
    // In the last one a request is over while a flush is under way.
    for seed in seeds(0..120).chain([200_104]) {
        let case = random_case(seed);
        for width in [1, 2, 4] {
            for (place, policy) in POLICIES.into_iter().enumerate() {
                let params = for_device(&case.params, width, policy);
                let naive = run(&params, &case.trace);
                let (report, answers) = simulate(&params, &[], &case.trace);
                assert_eq!(answers, naive.done_ns, "seed {seed}, {width} out, {policy:?}");
                let flushed = report.buffer.flushed_units;
                assert_eq!(flushed, naive.evictions.len() as u64, "seed {seed}, {policy:?}");
                let hazards = (naive.queued_hazards + naive.flying_hazards) as u64;
                assert_eq!(report.map.hazard_picks, hazards, "seed {seed}, {width}, {policy:?}");
                flushes += flushed;
                held[place] += hazards;
            }
        }
        let is_larger = |one: &&Req| !one.read && one.pages > case.params.lines as u64;
        larger += case.trace.iter().filter(is_larger).count();
    }
    assert!(flushes > 0 && larger > 0, "lines are evicted, also by writes larger than the buffer");
    let [fifo, idle, strict, ready, one_pass, by_slot] = held;
    assert_eq!((fifo, ready), (0, 0), "they pick nothing that has to wait");
    assert!(idle > 0 && strict > 0 && one_pass > 0 && by_slot > one_pass, "{held:?}");
}

/// The keys that switch parts of the policies off and on, drawn for each run.
#[test]
fn with_parts_of_a_policy_off_they_agree_too() {
    let (mut moved, mut waits) = ([0; 6], [0; 6]);
    for seed in seeds(0..80) {
        let case = random_case(seed);
        let mut random = Random(!seed);
        for width in [1, 2, 4] {
            for (place, policy) in POLICIES.into_iter().enumerate().skip(1) {
                let whole = for_device(&case.params, width, policy);
                let mut flag = || random.below(2) == 0;
                let (hit_first, read_first) = (flag(), flag());
                let params = Params { hit_first, read_first, skips: true, ..whole.clone() };
                let naive = run(&params, &case.trace);
                let (report, answers) = simulate(&params, &[], &case.trace);
                assert_eq!(answers, naive.done_ns, "seed {seed}, {width} out, {params:?}");
                let hazards = (naive.queued_hazards + naive.flying_hazards) as u64;
                assert_eq!(report.map.hazard_picks, hazards, "seed {seed}, {width}, {policy:?}");
                moved[place] += u32::from(naive.picks != run(&whole, &case.trace).picks);
                waits[place] += hazards;
            }
        }
    }
    assert!(moved[1..].iter().all(|&moved| moved > 15), "{moved:?}");
    assert_eq!(waits[..4], [0; 4], "who skips picks nothing that has to wait");
}

/// Of the proposed policy without both parts what is left is: the oldest whose chips are idle, then
/// the oldest, of those that wait for no other.
#[test]
fn without_both_parts_the_proposed_policy_is_idle_that_skips_conflicts() {
    let mut moved = 0;
    for seed in seeds(0..60) {
        let case = random_case(seed);
        for width in [1, 2, 4] {
            let of = |policy| Params {
                hit_first: false,
                read_first: false,
                skips: true,
                ..for_device(&case.params, width, policy)
            };
            let bare = simulate(&of(Policy::Ready), &[], &case.trace);
            let knows = ["host.idle.ignores_buffer=false"];
            let idle = simulate(&of(Policy::Idle), &knows, &case.trace);
            assert_eq!(bare.1, idle.1, "seed {seed}, {width} out");
            moved += u32::from(bare.1 != simulate(&of(Policy::Fifo), &[], &case.trace).1);
        }
    }
    assert!(moved > 20, "it is not the order of arrival: {moved}");
}

/// Requests of more pages than there are slots, which write pages that they evict, are answered.
#[test]
fn few_slots_hold_no_line_for_ever() {
    for seed in seeds(0..120) {
        let case = random_case(seed);
        let params = for_device(&case.params, usize::try_from(1 + seed % 3).unwrap(), Policy::Fifo);
        for slots in ["queue.depth=1", "queue.depth=3"] {
            let (_, answers) = simulate(&params, &[slots], &case.trace);
            assert_eq!(answers.len(), case.trace.len(), "seed {seed}, {slots}");
        }
    }
}

/// Reads and a few writes of one page, more than the device can serve.
fn overload(seed: u64) -> Vec<Req> {
    let mut random = Random(seed);
    let mut now = 0;
    let one = |_| {
        now += random.below(20_000);
        Req { at_ns: now, first: random.below(200), pages: 1, read: random.below(20) > 0 }
    };
    (0..1_500).map(one).collect()
}

/// From when to when each request was served, one at a time, and when it came into the queue of
/// `depth` requests, which it leaves when it is answered: all told by the answers.
fn served(trace: &[Req], answers: &[u64], depth: usize) -> Vec<(u64, u64, u64)> {
    let mut order: Vec<usize> = (0..trace.len()).collect();
    order.sort_unstable_by_key(|&one| answers[one]);
    let mut served = vec![(0, 0, 0); trace.len()];
    let mut free = 0;
    for &one in &order {
        let place = one.checked_sub(depth).map_or(0, |before| answers[order[before]]);
        let entered = place.max(trace[one].at_ns);
        served[one] = (entered, free.max(entered), answers[one]);
        free = answers[one];
    }
    served
}

/// One request runs at a time, with aging. When a write reaches the age A, the policy picks the
/// oldest request from then on, so no request that arrived later starts before the write. The write
/// waits for A, the rest of the current service, and the services of earlier requests. In a queue
/// of D requests that is at most A + D x S, where S is the longest service. Without aging writes
/// wait longer.
#[test]
fn aging_bounds_the_wait_of_every_write() {
    const AGE_NS: u64 = 1_000_000;
    let aged = ["host.cache-read-aware.age_us=1000"];
    for seed in 0..4 {
        let case = random_case(seed);
        let trace = overload(seed);
        for policy in [Policy::Ready, Policy::OnePass, Policy::OnePassBySlot] {
            let lines = 16;
            let params = Params {
                lines,
                initial: (1_000..1_000 + lines as u64).collect(),
                read_ns: 60_101,
                program_ns: 100_003,
                depth: 32,
                ..for_device(&case.params, 1, policy)
            };
            let longest_wait = |extra: &[&str], holds: bool| {
                let (_, answers) = simulate(&params, extra, &trace);
                let served = served(&trace, &answers, params.depth);
                let longest = served.iter().map(|one| one.2 - one.1).max().unwrap();
                let mut most = 0;
                for write in (0..trace.len()).filter(|&one| !trace[one].read) {
                    let (entered, start, _) = served[write];
                    let due = entered + AGE_NS;
                    let before = |(one, span): (usize, &(u64, u64, u64))| {
                        let counts = one < write || (span.1 < due && one > write);
                        if counts { span.2.saturating_sub(span.1.max(due)) } else { 0 }
                    };
                    let others: u64 = served.iter().enumerate().map(before).sum();
                    assert!(!holds || start <= due + others, "seed {seed}, {policy:?}: {write}");
                    most = most.max(start - entered);
                }
                (most, AGE_NS + params.depth as u64 * longest)
            };
            let (wait, bound) = longest_wait(&aged, true);
            assert!((AGE_NS..=bound).contains(&wait), "seed {seed}, {policy:?}: {wait} of {bound}");
            let (wait, bound) = longest_wait(&[], false);
            assert!(wait > bound, "seed {seed}, {policy:?}: {wait} of {bound} without aging");
        }
    }
}
