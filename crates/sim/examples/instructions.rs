//! A saturated one-die device for counting instructions, which repeat exactly where times do not.
//!
//! ```text
//! cargo build --release -p flashyard-sim --example instructions
//! cd target/release/examples
//! valgrind --tool=callgrind --callgrind-out-file=/dev/null ./instructions drs 20000
//! valgrind --tool=callgrind --callgrind-out-file=/dev/null ./instructions drs 40000
//! ```
//!
//! Instructions a command = the difference of the two counts ("Collected") / the difference of the
//! two numbers of commands that are printed: start and report drop out. Arguments: the command
//! policy (drs) and the number of requests (20,000). The queue is 256 deep all the time; half of
//! the requests write, all of one random page, behind a map cache of 512 lines.

mod keys;

use flashyard_core::request::{Request, RequestOp};
use flashyard_core::units::Time;
use flashyard_sim::config::Settings;
use flashyard_sim::device::Device;
use flashyard_sim::report::Report;
use std::convert::Infallible;
use std::error::Error;
use std::io::Write;

/// Time between arrivals behind the first 512: a little less than a request takes.
const GAP_NS: u64 = 530_000;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let policy = arguments.next().unwrap_or_else(|| "drs".to_string());
    let count = arguments.next().map_or(Ok(20_000), |count| count.parse())?;
    let report = run(&policy, count)?;
    let commands: u64 = report.flash.array_ops.values().flat_map(|ops| ops.values()).sum();
    let most = report.verdict.most_outstanding;
    let text = format!("{policy}: {count} requests, {commands} commands, {most} outstanding\n");
    std::io::stdout().write_all(text.as_bytes())?;
    Ok(())
}

fn run(policy: &str, count: u64) -> Result<Report, Box<dyn Error>> {
    let policy = format!("policy.command={policy}");
    let assignments = ["geometry.blocks_per_plane=4096", "map.cache_bytes=16384", &policy];
    let keys = keys::of(&assignments)?;
    let mut random = 1u64;
    let mut requests = (0..count).map(|at| {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        Request::new(
            if random >> 63 == 0 { RequestOp::Read } else { RequestOp::Write },
            (random >> 40) % 65_536 * 8,
            8,
        )
        .at(Time::from_ns(GAP_NS * at.saturating_sub(512)))
    });
    let device = Device::new(&Settings::new(keys)?);
    let report = device.run(|| Ok::<_, Infallible>(requests.next()));
    report.map_err(|error| format!("{error:?}").into())
}
