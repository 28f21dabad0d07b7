//! How many requests or page operations a second of processor time a large device simulates.
//!
//! ```text
//! cargo build --release -p flashyard-sim --example throughput
//! target/release/examples/throughput random-read 64 4000000
//! valgrind --tool=callgrind --callgrind-out-file=/dev/null target/release/examples/throughput ...
//! ```
//!
//! Arguments: what to do (random-read, sequential-read, random-write, fill), the exported capacity
//! in GiB (64), the number of requests (4,000,000), further settings (`section.key=value`; of
//! streams `stream.depth` alone). The device has 8 channels, 64 dies, pages and mapping units of
//! 4 KiB, NV-DDR3 at 800 MT/s with command and address phases, a resident map; one closed loop
//! keeps 256 requests (`stream.depth`) outstanding; all statistics are kept. Reads find a device
//! that was written once in random order, writes one in steady state.

mod keys;

use flashyard_core::request::{Request, RequestOp};
use flashyard_sim::config::Settings;
use flashyard_sim::device::{Device, PhaseKeys};
use flashyard_sim::stream::{Pacing, Stream, StreamKeys};
use std::convert::Infallible;
use std::error::Error;
use std::io::Write;
use std::time::Instant;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let argument = |at: usize| arguments.get(at).map(String::as_str);
    let work = argument(0).unwrap_or("random-read");
    let gib: u64 = argument(1).map_or(Ok(64), str::parse)?;
    let count: u64 = argument(2).map_or(Ok(4_000_000), str::parse)?;
    let mut more = arguments.get(3..).unwrap_or(&[]).to_vec();
    let depth = more.iter().position(|setting| setting.starts_with("stream.depth="));
    let depth = depth.map(|at| more.remove(at)["stream.depth=".len()..].parse()).transpose()?;
    let settings = settings(work, gib, &more)?;
    let began = Instant::now();
    let mut device = Device::new(&settings);
    let started = began.elapsed();
    let units = u64::from(settings.exported_units);
    let sectors = settings.geometry.unit_sectors();
    let (mut random, mut at) = (1u64, 0);
    let source = move || {
        random =
            random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let lpn = if work.starts_with("random") {
            u64::try_from((u128::from(random) * u128::from(units)) >> 64).expect("below the units")
        } else {
            at % units
        };
        at += 1;
        let op = if work.ends_with("read") { RequestOp::Read } else { RequestOp::Write };
        let request = Request::new(op, lpn * u64::from(sectors), sectors);
        Ok::<_, Infallible>((at <= count).then_some(request))
    };
    let keys =
        StreamKeys { pacing: Pacing::Closed, depth: depth.unwrap_or(256), ..StreamKeys::default() };
    let stream = Stream { name: work.to_string(), keys, source: Box::new(source) };
    let began = Instant::now();
    device.run_phase(&PhaseKeys::default(), vec![stream]).map_err(|error| format!("{error:?}"))?;
    let seconds = began.elapsed().as_secs_f64();
    let report = device.finish()?;
    let sum = |op: &str| report.flash.pages[op].values().sum::<u64>();
    let operations = sum("reads") + sum("programs") + sum("erases");
    let text = format!(
        "{work}, {gib} GiB: start {started:?}, {:.3} M requests/s, {:.3} M page operations/s \
         ({operations}), {:.0} IOPS, write amplification {:?}\n",
        count as f64 / seconds / 1e6,
        operations as f64 / seconds / 1e6,
        report.throughput.iops.unwrap_or(0.0),
        report.flash.write_amplification,
    );
    std::io::stdout().write_all(text.as_bytes())?;
    Ok(())
}

fn settings(work: &str, gib: u64, more: &[String]) -> Result<Settings, Box<dyn Error>> {
    let initial = match work {
        "random-write" => "steady",
        "fill" => "fresh",
        _ => "random",
    };
    let mut assignments: Vec<String> = [
        "geometry.channels=8",
        "geometry.ways=8",
        "geometry.pages_per_block=256",
        "geometry.page_bytes=4096",
        "nand.read_us=45",
        "nand.program_us=660",
        "nand.erase_us=3500",
        "channel.ps_per_byte=1250",
        "channel.command_ns=200",
        "map.store=resident",
        "policy.command=rcf",
        "queue.depth=100000",
        "gc.soft_free_blocks=4",
        "gc.hard_free_blocks=2",
        "gc.reserve_blocks=2",
    ]
    .map(str::to_string)
    .to_vec();
    assignments.push(format!("state.initial={initial}"));
    assignments.extend_from_slice(more);
    let mut keys = keys::of(&assignments)?;
    // As many blocks as the capacity and the spare space take.
    let spare = keys.ftl.over_provisioning_percent;
    let bytes_of_die = u128::from(gib << 30) / 64 * u128::from(1_000_000 + spare.ppm());
    let block_bytes = u128::from(keys.geometry.pages_per_block * keys.geometry.page_bytes);
    let blocks = bytes_of_die.div_ceil(1_000_000 * block_bytes);
    keys.geometry.blocks_per_plane = u64::try_from(blocks)?;
    Ok(Settings::new(keys)?)
}
