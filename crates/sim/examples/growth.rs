//! Processor time a request against the depth of the queue, for work whose cost must not grow with
//! the number of requests under way.
//!
//! ```text
//! cargo build --release -p flashyard-sim --example growth
//! target/release/examples/growth one-page 64 4096
//! ```
//!
//! Arguments: what to do, then depths of the queue. `one-page` writes one page again and again;
//! `flush` writes random pages, every sixteenth request is a flush; `conflicts` writes and reads
//! random pages through the host policy `idle`; `large` reads 1 MiB at random places under DRS,
//! whose pages get slots one by one; `map-lines` and `map-entries` read random pages through a map
//! cache of 1 MiB; `streams` reads random pages from as many streams as the queue is deep. One
//! closed loop, or one loop a stream, keeps as many requests outstanding as the queue is deep, and
//! eight times as many are run. Further settings: `section.key=value`.

mod keys;

use flashyard_core::request::{Request, RequestOp};
use flashyard_sim::config::Settings;
use flashyard_sim::device::{Device, PhaseKeys};
use flashyard_sim::stream::{Pacing, Stream, StreamKeys};
use std::cell::RefCell;
use std::convert::Infallible;
use std::error::Error;
use std::io::Write;
use std::time::Instant;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let work = arguments.first().map_or("flush", String::as_str);
    let (more, depths): (Vec<_>, Vec<_>) =
        arguments.iter().skip(1).cloned().partition(|argument| argument.contains('='));
    for depth in depths {
        let depth: u64 = depth.parse()?;
        let ns = run(work, depth, &more)?;
        writeln!(std::io::stdout(), "{work}, depth {depth}: {:.2} us a request", ns / 1e3)?;
    }
    Ok(())
}

/// Processor time a request, in ns.
fn run(work: &str, depth: u64, more: &[String]) -> Result<f64, Box<dyn Error>> {
    let settings = settings(work, depth, more)?;
    let mut device = Device::new(&settings);
    let units = u64::from(settings.exported_units);
    let sectors = settings.geometry.unit_sectors();
    let count = 8 * depth;
    let (mut random, mut at) = (1u64, 0);
    let next = move || {
        random =
            random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let lpn = u64::try_from((u128::from(random) * u128::from(units)) >> 64).expect("fits");
        at += 1;
        let (op, lpn) = match work {
            "one-page" => (RequestOp::Write, 0),
            "flush" if at % 16 == 0 => (RequestOp::Flush, 0),
            "conflicts" if at % 2 == 0 => (RequestOp::Read, lpn),
            "large" => (RequestOp::Read, lpn / 256 * 256),
            "map-lines" | "map-entries" | "streams" => (RequestOp::Read, lpn),
            _ => (RequestOp::Write, lpn),
        };
        let request = Request::new(
            op,
            lpn * u64::from(sectors),
            match op {
                RequestOp::Flush => 0,
                _ if work == "large" => 2_048,
                _ => sectors,
            },
        );
        Ok::<_, Infallible>((at <= count).then_some(request))
    };
    let (count_of_streams, depth_of_stream) =
        if work == "streams" { (depth, 1) } else { (1, depth) };
    let keys =
        StreamKeys { pacing: Pacing::Closed, depth: depth_of_stream, ..StreamKeys::default() };
    let next = RefCell::new(next);
    let stream =
        |_| Stream { name: work.to_string(), keys, source: Box::new(|| next.borrow_mut()()) };
    let streams = (0..count_of_streams).map(stream).collect();
    let began = Instant::now();
    device.run_phase(&PhaseKeys::default(), streams).map_err(|error| format!("{error:?}"))?;
    let elapsed = began.elapsed().as_secs_f64();
    device.finish()?;
    Ok(elapsed * 1e9 / f64::from(u32::try_from(count)?))
}

fn settings(work: &str, depth: u64, more: &[String]) -> Result<Settings, Box<dyn Error>> {
    let mut assignments: Vec<String> = [
        "geometry.channels=8",
        "geometry.ways=8",
        "geometry.blocks_per_plane=128",
        "geometry.pages_per_block=256",
        "geometry.page_bytes=4096",
        "channel.command_ns=200",
        "map.store=resident",
    ]
    .map(str::to_string)
    .to_vec();
    assignments.push(format!("queue.depth={depth}"));
    let special: &[_] = match work {
        "conflicts" => &["host.policy=idle"],
        "large" => &["queue.admission=page", "policy.command=drs"],
        "map-lines" => &["map.store=line_cache", "map.cache_bytes=1048576"],
        "map-entries" => &["map.store=cmt", "map.cache_bytes=1048576"],
        _ => &[],
    };
    assignments.extend(special.iter().map(ToString::to_string));
    assignments.extend_from_slice(more);
    let keys = keys::of(&assignments)?;
    Ok(Settings::new(keys)?)
}
