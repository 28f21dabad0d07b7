//! Deadline: commands of reads go before commands of writes, but at most `reads_before_write` of
//! them pass a write that waits; a command whose request is too old goes before both, the one that
//! is the longest overdue first.
//!
//! Source: the idea is that of Linux's mq-deadline scheduler, which limits how often reads are
//! preferred to waiting writes (2 batches of 16 requests) and serves what has expired first. Its
//! limits of 500 ms and 5 s are made for disks; the defaults here are the target latencies of
//! Linux's Kyber scheduler. Deviations: there are no batches in the order of addresses, which mean
//! nothing on flash; and each die counts for itself. Expired reads pass waiting writes beyond the
//! limit, until these have expired too.
//!
//! One queue is enough: the key of a read is the number of reads placed on the die before it, that
//! of a write the same plus the limit, so that exactly so many later reads precede it. O(log n) a
//! command.

use super::interface::{CommandPolicy, CommandView, DeadlineFrom, Placement, due};
use crate::key::Kind;
use crate::units::{Span, Time};

crate::keys! {
    /// Keys of `[policy.deadline]`.
    pub struct DeadlineKeys {
        /// Age at which a command of a read goes first. 0: no limit.
        read_deadline_us: Span = Span::from_ms(2) => {
            kind: Kind::micros(0, 1_000_000_000_000),
            source: "Linux's Kyber scheduler: a target of 2 ms for reads",
            flip: "100000",
            with: &["policy.command=deadline"],
        },
        /// Age at which a command of a write, a trim or a flush goes first. 0: no limit.
        write_deadline_us: Span = Span::from_ms(10) => {
            kind: Kind::micros(0, 1_000_000_000_000),
            source: "Linux's Kyber scheduler: a target of 10 ms for writes",
            flip: "100000",
            with: &["policy.command=deadline"],
        },
        /// Largest number of commands of reads that pass a waiting command of a write. 0: the order
        /// of insertion.
        reads_before_write: u64 = 32 => {
            kind: Kind::count("commands", 0, 1_000_000_000),
            source: "Linux's mq-deadline scheduler: writes_starved 2 x fifo_batch 16",
            flip: "0",
            with: &["policy.command=deadline"],
        },
        /// Instant from which the age counts.
        deadline_from: DeadlineFrom = DeadlineFrom::Arrival => {
            kind: Kind::Choice(DeadlineFrom::WORDS),
            source: "Linux's mq-deadline scheduler: a request's time in the scheduler",
            flip: "insertion",
            with: &["policy.command=deadline"],
        },
    }
}

impl CommandPolicy for DeadlineKeys {
    fn queue_names(&self) -> &'static [&'static str] {
        &["DLQ"]
    }

    fn reads_fot(&self) -> bool {
        false
    }

    #[inline]
    fn place(&self, command: &CommandView, now: Time) -> Placement {
        let request = command.request.as_ref();
        let reads = request.is_some_and(|request| request.is_read);
        let (limit, passed_by) = if reads {
            (self.read_deadline_us, 0)
        } else {
            (self.write_deadline_us, self.reads_before_write)
        };
        let deadline = due(self.deadline_from, limit, request, now);
        Placement { queue: 0, key: command.reads_before + passed_by, deadline }
    }
}

#[cfg(test)]
mod tests {
    use super::super::interface::views::command;
    use super::*;
    use crate::command::Op;
    use crate::heap::{ABSENT, Entry};
    use crate::queue::{CommandQueue, Link, Positions};

    /// The order in which a die would serve `commands` (is it a read's?), all inserted at 50 us,
    /// at `at`.
    fn served<const N: usize>(keys: DeadlineKeys, commands: [bool; N], at: Time) -> [u32; N] {
        let mut queue = CommandQueue::new([Entry::vacant(0); N], [Entry::vacant(0); N]);
        let (ready, deadline, links) = ([ABSENT; N], [ABSENT; N], [Link::VACANT; N]);
        let mut positions = Positions { ready, deadline, links };
        let mut reads_before = 0;
        for (member, is_read) in (0..).zip(commands) {
            let view = CommandView { reads_before, ..command(Op::Read, is_read, 1, 60) };
            let place = keys.place(&view, Time::from_us(50));
            queue.insert(&mut positions, member, &place, member.into());
            reads_before += u64::from(is_read);
        }
        [(); N].map(|()| {
            let next = queue.peek(at).expect("all are still there");
            queue.remove(&mut positions, next);
            next
        })
    }

    const R: bool = true;
    const W: bool = false;

    #[test]
    fn so_many_reads_pass_a_write_and_no_more() {
        let with = |reads_before_write| {
            let keys = DeadlineKeys { reads_before_write, ..DeadlineKeys::default() };
            served(keys, [R, W, R, R, W, R, R], Time::from_us(50))
        };
        assert_eq!(with(0), [0, 1, 2, 3, 4, 5, 6], "in order");
        assert_eq!(with(1), [0, 2, 1, 3, 5, 4, 6]);
        assert_eq!(with(2), [0, 2, 3, 1, 5, 6, 4]);
        assert_eq!(with(4), [0, 2, 3, 5, 6, 1, 4], "reads first");
    }

    /// The request has arrived at 10 us.
    #[test]
    fn the_longest_overdue_command_goes_first() {
        let keys = DeadlineKeys {
            read_deadline_us: Span::from_us(300),
            write_deadline_us: Span::from_us(200),
            ..DeadlineKeys::default()
        };
        let at = |us| served(keys, [R, W, R], Time::from_us(us));
        assert_eq!(at(209), [0, 2, 1]);
        assert_eq!(at(210), [1, 0, 2], "200 us after the arrival");
        assert_eq!(at(310), [1, 0, 2], "the write is longer overdue than the reads");
        let inserted = DeadlineKeys { deadline_from: DeadlineFrom::Insertion, ..keys };
        assert_eq!(served(inserted, [R, W, R], Time::from_us(249)), [0, 2, 1]);
        assert_eq!(served(inserted, [R, W, R], Time::from_us(250)), [1, 0, 2]);
        let never = DeadlineKeys { write_deadline_us: Span::ZERO, ..keys };
        assert_eq!(served(never, [R, W, R], Time::from_us(309)), [0, 2, 1], "no limit");
    }
}
