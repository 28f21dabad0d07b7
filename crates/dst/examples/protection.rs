//! What protection against losses of power costs, on a drive by name: the capacitor that a write
//! buffer needs, how long recovery takes, and what journal, checkpoints and flushes cost a load.
//!
//!     cargo run --release -p flashyard-dst --example protection

#![expect(clippy::print_stdout, reason = "an example says what it found")]

use flashyard_core::request::{Request, RequestOp};
use flashyard_core::units::{Span, Time};
use flashyard_run::plan::Plan;
use flashyard_sim::cut::Cut;
use flashyard_sim::drive::Drive;
use flashyard_sim::own::OwnParts;
use flashyard_sim::report::Report;
use flashyard_sim::session::{Session, Stop};

const DRIVE: &str = "nvme-tlc";

/// Random writes of 4 KiB, `depth` at a time, and a flush behind every `flush` of them, 0 for none.
struct Load {
    writes: u64,
    depth: u64,
    flush: u64,
}

/// Runs a load on the drive with this capacity and further keys; what a cut at its end does, and
/// the report of it.
fn run(gb: u64, keys: &[&str], load: &Load) -> (Cut, Report) {
    let capacity = format!("capacity={gb}GB");
    let keys = keys.iter().map(|key| (*key).to_string()).chain([capacity]);
    let keys: Vec<(&str, String)> = keys.map(|key| ("", key)).collect();
    let plan = Plan::of_device(OwnParts::default(), DRIVE, &keys).expect("a device");
    let settings = plan.settings().expect("a device that can exist");
    let mut session = Session::new(Drive::new(&settings));
    let units = session.capacity_sectors() / 8;
    let (mut state, mut left) = (1u64, load.writes);
    let mut submit = |session: &mut Session, left: &mut u64, now: Time| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963);
        let flushes = load.flush > 0 && (*left).is_multiple_of(load.flush);
        let request = if flushes {
            Request::new(RequestOp::Flush, 0, 0)
        } else {
            Request::new(RequestOp::Write, (state >> 20) % units * 8, 8)
        };
        session.submit(&request.at(now)).expect("it fits");
        *left -= 1;
    };
    for _ in 0..load.depth {
        submit(&mut session, &mut left, Time::ZERO);
    }
    while left > 0 {
        let now = session.advance(Time::MAX, Stop::AtCompletion).expect("it runs");
        while session.poll().is_some() {
            if left > 0 {
                submit(&mut session, &mut left, now);
            }
        }
    }
    let (_, cut) = session.fork().cut(1).expect("it can be cut");
    (cut, session.finish().expect("it ends"))
}

fn ms(span: Span) -> f64 {
    span.as_ns() as f64 / 1e6
}

/// The capacitor that a buffer needs.
fn capacitor() {
    println!("| buffer | dirty units saved | energy of the capacitor |");
    for mib in [1, 4, 16, 64] {
        let bytes = format!("buffer.bytes={}", mib << 20);
        let keys = [
            "power.oob_scan=true",
            "power.plp=capacitor",
            "power.journal_entries=256",
            "buffer.volatile=false",
            "state.initial=fresh",
            &bytes,
        ];
        let (cut, _) = run(16, &keys, &Load { writes: 60_000, depth: 32, flush: 0 });
        let uj = cut.needed_pj as f64 / 1e6;
        println!("| {mib} MiB | {} | {uj:.0} uJ |", cut.dumped_units);
    }
}

/// How long recovery takes, by capacity and by checkpoints.
fn recovery() {
    println!(
        "| capacity | scan of all spare areas | with a checkpoint a GiB | a checkpoint in 64 MiB |"
    );
    for gb in [4, 16] {
        let mut row = format!("| {gb} GB |");
        for mib in [0, 1_024, 64] {
            let every = format!("power.checkpoint_mib={mib}");
            let keys =
                ["power.oob_scan=true", "power.journal_entries=256", "state.initial=full", &every];
            let (cut, _) = run(gb, &keys, &Load { writes: 80_000, depth: 32, flush: 0 });
            row += &format!(" {:.0} ms ({} reads) |", ms(cut.recovery), cut.reads.all());
        }
        println!("{row}");
    }
}

/// What protection costs a load on an empty drive, where nothing is collected.
fn load() {
    println!("| keys | write amplification | of the journal | mean write | makespan |");
    let off: &[&str] = &[];
    let scan = ["power.oob_scan=true"];
    let journal = ["power.oob_scan=true", "power.journal_entries=256"];
    let small = ["power.oob_scan=true", "power.journal_entries=16"];
    let both = ["power.oob_scan=true", "power.journal_entries=256", "power.checkpoint_mib=64"];
    for (name, keys, flush) in [
        ("scan", &scan[..], 0),
        ("journal 256", &journal[..], 0),
        ("journal 16", &small[..], 0),
        ("journal 256, checkpoint 64 MiB", &both[..], 0),
        ("journal 256, a flush each 64 writes", &journal[..], 64),
        ("journal 256, a flush each 8 writes", &journal[..], 8),
    ] {
        let state = ["state.initial=fresh"];
        let keys = [off, &state, keys].concat();
        let (_, report) = run(16, &keys, &Load { writes: 60_000, depth: 32, flush });
        let factor = |value: Option<f64>| value.map_or("-".to_string(), |one| format!("{one:.3}"));
        println!(
            "| {name} | {} | {} | {:.0} us | {:.0} ms |",
            factor(report.flash.write_amplification),
            factor(report.flash.write_amplification_by.get("journal").copied().flatten()),
            report.latency_ns["write"].mean.unwrap_or(0.0) / 1e3,
            report.throughput.makespan_ns as f64 / 1e6,
        );
    }
}

fn main() {
    load();
    capacitor();
    recovery();
}
