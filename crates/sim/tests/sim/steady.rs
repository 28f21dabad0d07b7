//! A preset in its constructed steady state goes on as after ten fills of the drive, under a load
//! that leaves its dies no idle time.

use crate::common::Random;
use flashyard_core::command::Op;
use flashyard_core::request::{Request, RequestOp};
use flashyard_sim::config::{DeviceKeys, Settings, apply_setting, read_toml};
use flashyard_sim::device::{Device, PhaseKeys};
use flashyard_sim::observe::{CommandDone, Observer, RequestDone, Shared};
use flashyard_sim::stream::{Pacing, Stream, StreamKeys};
use std::convert::Infallible;

/// A preset by its name and text, and what makes it small: one die of fewer and smaller blocks.
/// Thresholds of garbage collection are shares of the spare space, so that small devices work as
/// large ones do.
struct Small(&'static str, &'static str, [&'static str; 3]);

macro_rules! small {
    ($name:literal, $($setting:literal),*) => {
        Small(
            $name,
            include_str!(concat!("../../../run/devices/", $name, ".toml")),
            [$(concat!("geometry.", $setting)),*],
        )
    };
}

/// The small preset in steady state.
fn settings_of(small: &Small) -> Settings {
    let Small(name, text, shape) = small;
    let mut keys = DeviceKeys::default();
    let mut problems = Vec::new();
    read_toml(name, text, &mut keys, &["base"], &mut problems);
    let one_die = ["geometry.channels=1", "geometry.ways=1", "geometry.dies_per_way=1"];
    let steady = ["state.initial=steady", "buffer.bytes=524288"];
    for setting in one_die.iter().chain(&steady).chain(shape) {
        apply_setting("--set", setting, &mut keys, &mut problems);
    }
    assert!(problems.is_empty(), "{problems:?}");
    Settings::new(keys).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// Windows of a fill.
const FIFTHS: usize = 5;

/// What a part of a run has: latencies of reads and of writes, in nanoseconds, and units that were
/// programmed.
#[derive(Clone, Default)]
struct Window {
    latencies: [Vec<u64>; 2],
    programmed: u64,
}

/// Windows one after the other, of so many writes each.
struct Recorder {
    writes: usize,
    windows: Shared<Vec<Window>>,
}

impl Observer for Recorder {
    fn request_done(&mut self, done: &RequestDone) {
        let mut windows = self.windows.get();
        if windows.last().is_none_or(|last| last.latencies[1].len() == self.writes) {
            windows.push(Window::default());
        }
        let class = usize::from(done.request.op == RequestOp::Write);
        let latency = done.completion.since(done.request.arrival).as_ns();
        windows.last_mut().expect("one is there").latencies[class].push(latency);
    }

    fn command_done(&mut self, command: &CommandDone) {
        if let Some(last) = self.windows.get().last_mut() {
            last.programmed += u64::from(command.op == Op::Program);
        }
    }
}

/// What one window or several brought: write amplification, and of reads and of writes the mean,
/// the 99th and the 99.9th percentile of the latency in microseconds.
#[derive(Clone, Copy, Debug)]
struct Found {
    amplification: f64,
    mean: [f64; 2],
    p99: [f64; 2],
    p999: [f64; 2],
}

impl Found {
    /// Every write has one unit.
    fn new(windows: &[Window]) -> Self {
        let all = |class: usize| windows.iter().flat_map(move |window| &window.latencies[class]);
        let mut latencies = [0, 1].map(|class| all(class).copied().collect::<Vec<u64>>());
        for all in &mut latencies {
            all.sort_unstable();
        }
        let percentile = |class: usize, per_mille: usize| {
            let all = &latencies[class];
            all[(all.len() * per_mille).div_ceil(1_000) - 1] as f64 / 1e3
        };
        let p99 = [percentile(0, 990), percentile(1, 990)];
        let p999 = [percentile(0, 999), percentile(1, 999)];
        let mean = [0, 1].map(|class| {
            let all = &latencies[class];
            all.iter().sum::<u64>() as f64 / all.len() as f64 / 1e3
        });
        let programmed: u64 = windows.iter().map(|window| window.programmed).sum();
        let amplification = programmed as f64 / latencies[1].len() as f64;
        Self { amplification, mean, p99, p999 }
    }
}

/// Fills of a drive one after the other without a pause, each in fifths, by random requests of
/// 4 KiB of which 70 % read, `depth` of them outstanding at any time.
fn fills(settings: &Settings, count: usize, depth: u64) -> Vec<Window> {
    let sectors = settings.capacity_sectors();
    let writes = usize::try_from(sectors / 8).expect("a small drive") / FIFTHS;
    let windows = Shared::new(Vec::new());
    let mut device = Device::new(settings);
    device.observe(Box::new(Recorder { writes, windows: windows.clone() }));
    let keys = StreamKeys { pacing: Pacing::Closed, depth, ..StreamKeys::default() };
    let (mut random, mut left) = (Random(1), count * FIFTHS * writes);
    let next = || -> Result<Option<Request>, Infallible> {
        let op = if random.below(10) < 7 { RequestOp::Read } else { RequestOp::Write };
        let first_sector = random.below(sectors / 8) * 8;
        let request = Request::new(op, first_sector, 8);
        let due = left > 0;
        left -= usize::from(due && op == RequestOp::Write);
        Ok(due.then_some(request))
    };
    let stream = Stream { name: "host".to_string(), keys, source: Box::new(next) };
    device.run_phase(&PhaseKeys::default(), vec![stream]).expect("it fits");
    windows.take()
}

/// The quantile of Student's t with 8 degrees of freedom that one value in 200 exceeds.
const T: f64 = 3.355;

/// What nine fills lead to expect of one more: the middle of the prediction interval at 99 %, and
/// half its width. It must be narrow to mean something.
fn expect(others: &[f64], most: f64) -> (f64, f64) {
    let count = others.len() as f64;
    let mean = others.iter().sum::<f64>() / count;
    let variance = others.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / (count - 1.0);
    let width = T * (variance * (1.0 + 1.0 / count)).sqrt();
    assert!(width < most * mean, "{mean} +- {width} tells nothing");
    (mean, width)
}

type Figure = (&'static str, fn(&Found) -> f64);

/// Compares the first fill with the nine that follow it, and its tails with the tails of all fifths
/// of these fills.
#[track_caller]
fn check(small: &Small) {
    let windows = fills(&settings_of(small), 10, 32);
    let fills: Vec<_> = windows.chunks_exact(FIFTHS).map(Found::new).collect();
    let means: [Figure; 3] = [
        ("write amplification", |found| found.amplification),
        ("mean of reads", |found| found.mean[0]),
        ("mean of writes", |found| found.mean[1]),
    ];
    for ((what, figure), most) in means.into_iter().zip([0.03, 0.25, 0.1]) {
        let values: Vec<f64> = fills.iter().map(figure).collect();
        let (mean, width) = expect(&values[1..], most);
        assert!((values[0] - mean).abs() <= width, "{}: {what} {values:?}", small.0);
    }
    // A percentile is where the commands that it waited for end, and jumps from one such time to
    // the next: no interval of Student's is right for it.
    let fifths: Vec<_> = windows[FIFTHS..].chunks_exact(1).map(Found::new).collect();
    let tails: [Figure; 4] = [
        ("p99 of reads", |found| found.p99[0]),
        ("p99 of writes", |found| found.p99[1]),
        ("p99.9 of reads", |found| found.p999[0]),
        ("p99.9 of writes", |found| found.p999[1]),
    ];
    for (what, figure) in tails {
        let (first, others) = (figure(&fills[0]), fifths.iter().map(figure));
        let least = others.clone().fold(f64::MAX, f64::min);
        let most = others.fold(0.0, f64::max);
        let fits = 0.9 * least <= first && first <= 1.1 * most;
        assert!(fits, "{}: {what} {first}, later {least} to {most}", small.0);
    }
}

#[test]
fn nvme_tlc_is_steady_from_the_first_fill() {
    check(&small!("nvme-tlc", "planes=1", "blocks_per_plane=96", "pages_per_block=96"));
}

#[test]
fn nvme_enterprise_is_steady_from_the_first_fill() {
    check(&small!("nvme-enterprise", "planes=1", "blocks_per_plane=96", "pages_per_block=96"));
}

#[test]
fn nvme_qlc_is_steady_from_the_first_fill() {
    check(&small!("nvme-qlc", "planes=1", "blocks_per_plane=96", "pages_per_block=128"));
}

#[test]
fn sata_mlc_is_steady_from_the_first_fill() {
    check(&small!("sata-mlc", "planes=1", "blocks_per_plane=128", "pages_per_block=128"));
}

#[test]
fn ufs_is_steady_from_the_first_fill() {
    check(&small!("ufs-3.1", "planes=1", "blocks_per_plane=128", "pages_per_block=96"));
}
