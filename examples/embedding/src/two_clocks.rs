//! Co-simulation with two clocks: the host has a queue of events and counts cycles, the drive
//! counts nanoseconds. The host keeps exactly one wake-up for the drive, at the time before which
//! nothing can be over, and moves it after each submission and each look.

use flashyard_core::request::{Request, RequestOp};
use flashyard_core::units::Time;
use flashyard_run::plan::Plan;
use flashyard_sim::own::OwnParts;
use flashyard_sim::session::{Session, Stop};
use std::collections::BTreeMap;

/// Cycles of the host a nanosecond: 3 GHz.
const CYCLES_PER_NS: u64 = 3;

/// The first cycle that is not before a time of the drive.
const fn cycle_of(at: Time) -> u64 {
    at.as_ns() * CYCLES_PER_NS
}

/// The first time of the drive that is not before a cycle: what the host does in it reaches the
/// drive then.
const fn time_of(cycle: u64) -> Time {
    Time::from_ns(cycle.div_ceil(CYCLES_PER_NS))
}

/// What happens on the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Event {
    /// A thread has worked on what it read, and reads again.
    Reads { thread: u64 },
    /// The drive may have something.
    WakeUp,
}

/// A host of some threads that read, work and read again.
struct Host {
    drive: Session,
    /// Events by cycle, those of one cycle in the order in which they were made.
    events: BTreeMap<(u64, u64), Event>,
    made: u64,
    /// The place of the only wake-up.
    wake_up: Option<(u64, u64)>,
    /// The thread of each read, and how many reads each is to do.
    of_request: BTreeMap<u64, u64>,
    left: Vec<u64>,
    /// When reads were over, in cycles.
    ends: Vec<u64>,
}

impl Host {
    fn new(threads: usize, reads: u64) -> anyhow::Result<Self> {
        // Without a map on flash every read takes the same time.
        let set = [("", "map.store=resident".to_string())];
        let drive = Plan::of_device(OwnParts::default(), "embedded-2x2", &set)?.session(false)?;
        let (events, of_request, ends) = (BTreeMap::new(), BTreeMap::new(), Vec::new());
        let left = vec![reads; threads];
        let mut host = Self { drive, events, made: 0, wake_up: None, of_request, left, ends };
        for thread in 0..threads as u64 {
            host.add(thread, Event::Reads { thread });
        }
        Ok(host)
    }

    fn add(&mut self, cycle: u64, event: Event) -> (u64, u64) {
        self.made += 1;
        self.events.insert((cycle, self.made), event);
        (cycle, self.made)
    }

    /// Moves the wake-up to where the drive may have something.
    fn set_wake_up(&mut self, now: u64) {
        if let Some(place) = self.wake_up.take() {
            self.events.remove(&place);
        }
        if let Some(next) = self.drive.next_event() {
            self.wake_up = Some(self.add(cycle_of(next).max(now), Event::WakeUp));
        }
    }

    /// Runs until nothing happens any more.
    fn run(mut self) -> anyhow::Result<Vec<u64>> {
        while let Some(((cycle, place), event)) = self.events.pop_first() {
            match event {
                Event::Reads { thread } => self.reads(cycle, thread)?,
                Event::WakeUp => {
                    debug_assert_eq!(self.wake_up, Some((cycle, place)));
                    self.wake_up = None;
                    self.look(cycle)?;
                }
            }
            self.set_wake_up(cycle);
        }
        Ok(self.ends)
    }

    fn reads(&mut self, cycle: u64, thread: u64) -> anyhow::Result<()> {
        let index = usize::try_from(thread)?;
        let unit = thread * 100 + self.left[index];
        let request = Request::new(RequestOp::Read, unit * 8, 8).at(time_of(cycle));
        let id = self.drive.submit(&request)?;
        self.of_request.insert(id, thread);
        self.left[index] -= 1;
        Ok(())
    }

    /// Takes what is over; a thread works 30,000 cycles on what it has read.
    fn look(&mut self, cycle: u64) -> anyhow::Result<()> {
        self.drive.advance(Time::from_ns(cycle / CYCLES_PER_NS), Stop::At)?;
        while let Some(over) = self.drive.poll() {
            let thread = self.of_request.remove(&over.id).expect("it was read");
            self.ends.push(cycle_of(over.at));
            if self.left[usize::try_from(thread)?] > 0 {
                self.add(cycle + 30_000, Event::Reads { thread });
            }
        }
        Ok(())
    }
}

/// Four threads that read a hundred times.
pub(crate) fn main() -> anyhow::Result<String> {
    let ends = Host::new(4, 100)?.run()?;
    let last = ends.last().copied().unwrap_or(0);
    Ok(format!("two clocks: {} reads, the last one over in cycle {last}", ends.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One thread finds the closed form: each read takes what the first does, and the work between.
    #[test]
    fn one_thread_takes_turns_with_the_drive() {
        let ends = Host::new(1, 20).unwrap().run().unwrap();
        let read = ends[0];
        let nth = |n: u64| n * (read + 30_000) + read;
        assert_eq!(ends, (0..20).map(nth).collect::<Vec<_>>());
    }

    /// The wake-up changes nothing: a host that looks every nanosecond sees the same ends.
    #[test]
    fn a_host_that_polls_sees_the_same() {
        let by_wake_up = Host::new(3, 10).unwrap().run().unwrap();
        let mut host = Host::new(3, 10).unwrap();
        let mut cycle = 0;
        while host.ends.len() < by_wake_up.len() {
            while let Some(entry) = host.events.first_entry().filter(|e| e.key().0 <= cycle) {
                let ((at, _), event) = entry.remove_entry();
                if let Event::Reads { thread } = event {
                    host.reads(at, thread).unwrap();
                }
            }
            host.look(cycle).unwrap();
            cycle += CYCLES_PER_NS;
        }
        assert_eq!(host.ends, by_wake_up);
    }
}
