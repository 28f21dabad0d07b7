//! Priority: out of order by what a command is for. Commands of the map come first, then garbage
//! collection of a plane at its hard threshold, then array reads of requests, then their programs,
//! then all other garbage collection.
//!
//! Source: the order of the queues of MQSim (Tavakkol et al., FAST 2018) under its scheduling
//! `PRIORITY_OUT_OF_ORDER`, which is per chip there and per die here. Two deviations: MQSim's last
//! version queues programs of the map and never takes one from that queue, here they come first as
//! reads of the map do; and its priority classes of host flows are left out, since streams have
//! their turns at the host interface. A read of old data for a partial write is a read. Each queue
//! is served first in, first out, reads of the map before its programs. O(log n) a command.
//!
//! Programs starve while reads keep a die busy: [deadline](super::deadline) limits that.

use super::interface::{CommandPolicy, CommandView, Placement};
use crate::command::{Op, Purpose};
use crate::units::Time;

crate::keys! {
    /// The policy has no keys.
    pub struct PriorityKeys {}
}

impl CommandPolicy for PriorityKeys {
    fn queue_names(&self) -> &'static [&'static str] {
        &["MAP", "READ", "PROGRAM"]
    }

    fn queues_before_urgent_gc(&self) -> u8 {
        1
    }

    fn reads_fot(&self) -> bool {
        false
    }

    #[inline]
    fn place(&self, command: &CommandView, _now: Time) -> Placement {
        let programs = command.op == Op::Program;
        match command.purpose {
            Purpose::MapFetch | Purpose::MapWriteback => Placement::new(0, programs.into()),
            _ => Placement::new(1 + u8::from(programs), 0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::interface::views::command;
    use super::*;

    /// The purpose decides, whoever asked: the map's work for a write goes before a host's read.
    #[test]
    fn the_map_goes_before_reads_and_reads_before_programs() {
        let place = |purpose, op, is_read| {
            let view = CommandView { purpose, ..command(op, is_read, 4, 60) };
            let place = PriorityKeys {}.place(&view, Time::from_us(50));
            assert_eq!(place.deadline, None);
            (place.queue, place.key)
        };
        let order = [
            place(Purpose::MapFetch, Op::Read, false),
            place(Purpose::MapWriteback, Op::Program, true),
            place(Purpose::Host, Op::Read, true),
            place(Purpose::Host, Op::Program, false),
        ];
        assert!(order.is_sorted_by(|a, b| a < b), "{order:?}");
        assert_eq!(order[0], place(Purpose::MapWriteback, Op::Read, true));
        assert_eq!(order[2], place(Purpose::Host, Op::Read, false), "of a partial write");
    }

    /// Of the queues, only the map's goes before urgent garbage collection.
    #[test]
    fn only_the_map_goes_before_urgent_collection() {
        let policy = PriorityKeys {};
        let first = usize::from(policy.queues_before_urgent_gc());
        assert_eq!(policy.queue_names()[..first], ["MAP"]);
    }
}
