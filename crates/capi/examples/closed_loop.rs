//! A closed loop by hand, with a command policy of one's own: what `closed_loop.c` does, in Rust.

use flashyard_core::key::NoKeys;
use flashyard_core::policy::{CommandPolicy, CommandView, Placement};
use flashyard_core::request::{Request, RequestOp};
use flashyard_core::units::Time;
use flashyard_run::plan::Plan;
use flashyard_sim::own::Parts;
use flashyard_sim::session::Stop;
use std::io::Write;

const DEPTH: u64 = 8;
const REQUESTS: u64 = 20_000;

/// Small requests first, in one queue; the device's own work before all.
#[derive(Debug)]
struct SmallFirst;

impl CommandPolicy for SmallFirst {
    fn queue_names(&self) -> &'static [&'static str] {
        &["C0"]
    }

    fn place(&self, command: &CommandView<'_>, _: Time) -> Placement {
        let pages = command.request.map_or(0, |request| request.pages);
        Placement { queue: 0, key: pages.into(), deadline: None }
    }
}

/// Splitmix64.
fn draw(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let mut z = *state;
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

/// The next request: a write of one to eight units of 4 KiB, one of four a read.
fn next(state: &mut u64, now: Time) -> Request {
    let drawn = draw(state);
    let op = if drawn.is_multiple_of(4) { RequestOp::Read } else { RequestOp::Write };
    let units = u32::try_from((drawn >> 40) % 8 + 1).expect("at most eight");
    Request::new(op, (drawn >> 8) % 17_000 * 8, units * 8).at(now)
}

fn main() -> anyhow::Result<()> {
    run(&mut std::io::stdout().lock())
}

/// Runs the loop, and prints what it finds.
pub(crate) fn run(out: &mut impl Write) -> anyhow::Result<()> {
    let parts =
        Parts::new().command_policy("small-first", "A policy in Rust.", |_: NoKeys| SmallFirst);
    let set = ["policy.command=small-first", "queue.admission=page"];
    let plan = Plan::of_device(parts.share(), "small-full", &set.map(|set| ("", set.to_string())))?;
    let mut session = plan.session(false)?;
    let (mut state, mut latency, mut checksum) = (1, 0, 0_u64);
    for _ in 0..DEPTH {
        session.submit(&next(&mut state, Time::ZERO))?;
    }
    let mut submitted = DEPTH;
    loop {
        session.advance(Time::MAX, Stop::AtCompletion)?;
        let Some(over) = session.poll() else { break };
        latency += over.parts.total();
        checksum = checksum.wrapping_mul(31).wrapping_add(over.id);
        if submitted < REQUESTS {
            session.submit(&next(&mut state, session.now()))?;
            submitted += 1;
        }
    }
    let figures = session.figures();
    let report = session.finish()?;
    writeln!(out, "{REQUESTS} requests, {latency} ns of latency, order {checksum}")?;
    writeln!(out, "{} bytes programmed, the policy was asked", figures.programmed_bytes)?;
    writeln!(out, "{}", plan.object_of_session(&report))?;
    Ok(())
}
