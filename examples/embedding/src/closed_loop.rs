//! A closed loop by hand: as many random reads are outstanding as the depth says, and the next one
//! is submitted at the instant at which one is over. The caller could choose it by what it read.

use flashyard_core::request::{Request, RequestOp};
use flashyard_core::units::Time;
use flashyard_run::plan::Plan;
use flashyard_sim::own::OwnParts;
use flashyard_sim::session::{Session, Stop};

/// Reads units of 4 KiB at these places, so many at a time; the latency of each in nanoseconds, in
/// the order in which they are over.
fn read_all(session: &mut Session, places: &[u64], depth: usize) -> anyhow::Result<Vec<u64>> {
    let read = |place: u64, now: Time| Request::new(RequestOp::Read, place * 8, 8).at(now);
    let (first, rest) = places.split_at(depth.min(places.len()));
    for place in first {
        session.submit(&read(*place, session.now()))?;
    }
    let (mut rest, mut latencies) = (rest.iter(), Vec::new());
    loop {
        session.advance(Time::MAX, Stop::AtCompletion)?;
        let Some(over) = session.poll() else { return Ok(latencies) };
        latencies.push(over.parts.total());
        if let Some(place) = rest.next() {
            session.submit(&read(*place, session.now()))?;
        }
    }
}

/// A drive by name, and what a closed loop finds on it.
pub(crate) fn main() -> anyhow::Result<String> {
    let set = ["capacity=64GB", "state.initial=steady", "state.rested=true"];
    let set = set.map(|setting| ("", setting.to_string()));
    let mut session = Plan::of_device(OwnParts::default(), "nvme-tlc", &set)?.session(false)?;
    let units = session.capacity_sectors() / 8;
    // Odd multiples of a large number are places all over the device.
    let places: Vec<u64> = (1..=10_000).map(|n: u64| n.wrapping_mul(0x9E37_79B9) % units).collect();
    let mut latencies = read_all(&mut session, &places, 32)?;
    latencies.sort_unstable();
    let (seconds, p99) = (session.now().as_ns() as f64 / 1e9, latencies[9_899] / 1_000);
    Ok(format!("closed loop: {:.0} reads a second, p99 {p99} us", 10_000.0 / seconds))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// At depth 1 the latencies of all reads are the time of the run.
    #[test]
    fn one_read_at_a_time_takes_the_sum_of_all() {
        let plan = Plan::of_device(OwnParts::default(), "embedded-2x2", &[]).unwrap();
        let mut session = plan.session(true).unwrap();
        let latencies = read_all(&mut session, &[5, 900, 5, 77], 1).unwrap();
        assert_eq!(latencies.len(), 4);
        assert_eq!(latencies.iter().sum::<u64>(), session.now().as_ns());
        let mut session = plan.session(true).unwrap();
        read_all(&mut session, &[5, 900, 5, 77], 4).unwrap();
        assert!(session.now().as_ns() < latencies.iter().sum());
    }
}
