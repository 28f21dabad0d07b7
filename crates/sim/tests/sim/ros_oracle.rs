//! Read-while-write scheduling over a buffer with banks: the device against a naive machine that
//! shares no code with it. Every put, get, read from flash and program, every completion, and the
//! time of gets that puts hide, on random runs of the policies and of their variants.

use crate::common::{request, settings};
use crate::naive_ros::cases::{Case, random_case};
use crate::naive_ros::{Allocate, Event, Line, Params, Policy, Req, Run, What, run};
use flashyard_core::request::RequestOp;
use flashyard_sim::device::Device;
use flashyard_sim::observe::{BufferAccess, CommandDone, Observer, RequestDone, Shared};
use flashyard_sim::report::Report;
use std::convert::Infallible;

/// Something that took time, told alike by both sides.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Work {
    start_us: u64,
    end_us: u64,
    what: What,
    page: u64,
    request: Option<u64>,
    /// Of what happens in the buffer.
    bank: Option<u32>,
}

/// What the device tells.
#[derive(Default)]
struct Told {
    work: Vec<Work>,
    done: Vec<RequestDone>,
}

struct Listener(Shared<Told>);

impl Observer for Listener {
    fn buffer_access(&mut self, event: &BufferAccess) {
        let what = match (event.put, event.request) {
            (true, _) => What::Put,
            (false, Some(_)) => What::Get,
            (false, None) => What::FlushGet,
        };
        let (start_us, end_us) = (us(event.start.as_ns()), us(event.end.as_ns()));
        let (page, request, bank) = (u64::from(event.lpn), event.request, event.bank);
        let work = Work { start_us, end_us, what, page, request, bank };
        self.0.get().work.push(work);
    }

    fn command_done(&mut self, event: &CommandDone) {
        let what = match event.command.stage {
            "DR" => What::FlashRead,
            "DP" => What::Program,
            other => panic!("the device does nothing else, but {other}"),
        };
        let (start_us, end_us) = (us(event.start.as_ns()), us(event.end.as_ns()));
        let page = u64::from(event.lpn.expect("it moves data"));
        let request = event.command.request.filter(|_| what == What::FlashRead);
        let work = Work { start_us, end_us, what, page, request, bank: None };
        self.0.get().work.push(work);
    }

    fn request_done(&mut self, event: &RequestDone) {
        self.0.get().done.push(*event);
    }
}

/// Everything takes whole microseconds.
#[track_caller]
fn us(ns: u64) -> u64 {
    assert_eq!(ns % 1_000, 0);
    ns / 1_000
}

/// The bare device: one die whose operations take so long as a whole, so many lines, and a queue.
fn keys(case: &Case) -> Vec<String> {
    let params = &case.params;
    let fixed = [
        "map.store=resident",
        "geometry.blocks_per_plane=64",
        "geometry.pages_per_block=32",
        "ftl.over_provisioning_percent=100",
        "channel.ps_per_byte=0",
        "policy.command=fifo",
        "buffer.access_ns=0",
        "buffer.ps_per_byte=0",
        "buffer.ports=read_and_write",
        "buffer.eviction=full",
        "buffer.flush_width=1",
        "buffer.flush_reads=true",
        "buffer.after_flush=free",
    ];
    let named = |name: &str, value: String| format!("{name}={value}");
    let policy = match params.policy {
        Policy::Is => "is",
        Policy::Ris => "ris",
        Policy::Ros => "ros",
    };
    let recency = if params.gets_refresh { "reads_and_writes" } else { "writes" };
    let order = if params.newest_first { "newest" } else { "oldest" };
    let mut keys = fixed.map(str::to_string).to_vec();
    keys.extend([
        named("nand.read_us", params.flash_read.to_string()),
        named("nand.program_us", params.program.to_string()),
        named("buffer.bytes", (case.lines.len() * 4096).to_string()),
        named("buffer.read_ns", (params.get * 1_000).to_string()),
        named("buffer.write_ns", (params.put * 1_000).to_string()),
        named("buffer.banks", case.banks.to_string()),
        named("buffer.recency", recency.to_string()),
        named("interface.fetch_depth", params.depth.to_string()),
        named("host.policy", policy.to_string()),
    ]);
    match params.policy {
        Policy::Is => {}
        Policy::Ris => keys.extend(overlaps("ris", params)),
        Policy::Ros => keys.extend([
            named("host.ros.hoist", params.hoist.to_string()),
            named("host.ros.early_flush", params.early_flush.to_string()),
            named("host.ros.hoist_order", order.to_string()),
            named("host.ros.pairing", params.pairing.to_string()),
            named("host.ros.watermark_lines", params.watermark.to_string()),
        ]),
    }
    if params.policy == Policy::Ros {
        keys.extend(overlaps("ros", params));
    }
    let allocate = match params.allocate {
        Allocate::Never => return keys,
        Allocate::Clean => "clean",
        Allocate::Displace => "displace",
    };
    // What was never written is not kept.
    keys.extend(["state.initial=full".to_string(), named("buffer.read_allocate", allocate.into())]);
    keys
}

/// What may overlap under a policy besides a get and a put.
fn overlaps(policy: &str, params: &Params) -> [String; 3] {
    [
        format!("host.{policy}.overlap_flushes={}", params.overlap_flushes),
        format!("host.{policy}.overlap_reads={}", params.overlap_reads),
        format!("host.{policy}.overlap_programs={}", params.overlap_programs),
    ]
}

/// Orders the lines of a case as the device does. Lines that never held data come last, each in the
/// bank of its number. The other lines are in the banks that the case gives them.
fn empty_last(case: &mut Case) {
    case.lines.sort_by_key(|line| line.page.is_none());
    for (number, line) in (0..).zip(&mut case.lines) {
        if line.page.is_none() {
            line.bank = number % case.banks;
        }
    }
}

fn simulate(case: &Case) -> (Report, Told) {
    let mut device = Device::new(&settings(&keys(case)));
    device.check();
    let held = case
        .lines
        .iter()
        .filter_map(|&Line { bank, page, dirty }| Some((page?, Some(bank), dirty)));
    device.preload_buffer(&held.collect::<Vec<_>>()).unwrap();
    let told = Shared::new(Told::default());
    device.observe(Box::new(Listener(told.clone())));
    let mut requests = case.requests.iter().map(|asked| {
        let op = if asked.write { RequestOp::Write } else { RequestOp::Read };
        request(asked.arrival, op, asked.first, u32::try_from(asked.pages).unwrap())
    });
    let report = device.run(|| Ok::<_, Infallible>(requests.next()));
    let report = report.unwrap_or_else(|error| panic!("{error:?}"));
    let mut told = told.take();
    told.done.sort_by_key(|done| done.order);
    told.work.sort_unstable();
    (report, told)
}

/// The events of the naive machine, as the device tells them.
fn expected_work(run: &Run) -> Vec<Work> {
    let one = |event: &Event| Work {
        start_us: event.start,
        end_us: event.end,
        what: event.what,
        page: event.page,
        request: event.request.map(|request| request as u64),
        bank: event.bank.filter(|_| event.what != What::Program),
    };
    // The device tells of accesses by requests and flushes.
    let told = run.events.iter().filter(|event| event.what != What::Fill);
    let mut work: Vec<Work> = told.map(one).collect();
    work.sort_unstable();
    work
}

#[track_caller]
fn compare(case: &Case) {
    let expected = run(&case.params, &case.lines, &case.requests);
    let (report, told) = simulate(case);
    let work = expected_work(&expected);
    for (at, (ours, theirs)) in told.work.iter().zip(&work).enumerate() {
        assert_eq!(ours, theirs, "event {at}");
    }
    assert_eq!(told.work.len(), work.len());
    let done = |done: &RequestDone| us(done.completion.as_ns());
    assert_eq!(told.done.iter().map(done).collect::<Vec<_>>(), expected.completion);
    for done in &told.done {
        let latency = done.completion.since(done.request.arrival).as_ns();
        assert_eq!(done.parts.0.iter().sum::<u64>(), latency, "request {}", done.order);
    }
    let buffer = &report.buffer;
    assert_eq!(us(buffer.hidden_read_ns), expected.hidden);
    assert_eq!(us(buffer.get_ns + buffer.flush_get_ns), expected.got);
}

/// The variants of a case; every one must occur.
fn variants(case: &Case) -> impl Iterator<Item = usize> {
    let params = &case.params;
    let ros = params.policy == Policy::Ros;
    let ris = params.policy == Policy::Ris;
    let plain = params.hoist && params.early_flush && !params.newest_first && !params.pairing;
    let [flushes, reads, programs] =
        [params.overlap_flushes, params.overlap_reads, params.overlap_programs];
    let published = flushes && reads && programs;
    [
        params.policy == Policy::Is,
        ris && !flushes && !reads,
        ris && flushes,
        ris && reads,
        ris && programs,
        ros && !flushes,
        ros && !reads,
        ros && !programs,
        ros && plain && published && params.watermark == 0,
        ros && !params.hoist,
        ros && !params.early_flush,
        ros && params.newest_first,
        ros && params.pairing,
        ros && params.watermark > 0,
        params.allocate == Allocate::Clean,
        ris && params.allocate == Allocate::Displace,
        ros && params.allocate == Allocate::Displace,
    ]
    .into_iter()
    .enumerate()
    .filter_map(|(number, has)| has.then_some(number))
}

/// A random case; some with a full queue, some with requests that come faster, some longer.
fn case_of(seed: u64) -> Case {
    let mut case = random_case(seed);
    empty_last(&mut case);
    if seed.is_multiple_of(3) {
        case.params.depth = 32;
    }
    if seed.is_multiple_of(7) {
        let start = case.requests.last().expect("it has some").arrival;
        let again = case.requests.clone().into_iter();
        let later = again.map(|asked| Req { arrival: asked.arrival + start, ..asked });
        case.requests.extend(later);
    }
    if seed.is_multiple_of(5) {
        case.requests.iter_mut().for_each(|asked| asked.arrival /= 5);
    }
    case
}

/// Catches any difference in order, timing, banks or lines, in all policies and ablations.
#[test]
fn random_runs_equal_the_naive_machine() {
    let mut counts = [0; 17];
    // The last two have what is rare: a read of flash that is due while a flush is got, and while
    // its die programs.
    for seed in (0..900).chain([5_726, 5_200]) {
        let case = case_of(seed);
        let result = std::panic::catch_unwind(|| compare(&case));
        assert!(result.is_ok(), "seed {seed}: {case:?}");
        variants(&case).for_each(|number| counts[number] += 1);
    }
    assert!(counts.iter().all(|&count| count >= 20), "{counts:?}");
}
